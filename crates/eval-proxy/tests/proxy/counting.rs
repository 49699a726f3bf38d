//! Tokens and dollars of every API, streamed or not.

use std::sync::{Arc, Mutex};

use eval_proxy::{ApiProtocol, SessionReport};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::scripted::*;

const CHAT: &str = "/openai/v1/chat/completions";
const RESPONSES: &str = "/openai/v1/responses";
const GEMINI: &str = "/gemini/v1beta/models/m:streamGenerateContent?alt=sse";

/// Counts of one call with a scripted answer.
async fn counted(
    path: &str,
    body: Value,
    script: impl Fn() -> Script + Send + Sync + 'static,
) -> SessionReport {
    let server = ScriptedServer::start(move |_, _| script()).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    agent.post(path, &body).await;
    agent.session.finish().await
}

fn counts(report: &SessionReport) -> [u64; 4] {
    let usage = report.usage;
    [
        usage.input,
        usage.output,
        usage.cached_input,
        usage.cache_write,
    ]
}

fn chat_chunks(usage: Option<Value>) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let call = |fields: Value| chunk(json!({"tool_calls": [fields]}), Value::Null);
    let mut chunks = vec![
        chunk(json!({"role": "assistant", "content": ""}), Value::Null),
        chunk(json!({"content": "Hel"}), Value::Null),
        chunk(json!({"content": "lo"}), Value::Null),
        call(json!({"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "read", "arguments": ""}})),
        call(json!({"index": 0, "function": {"arguments": "{\"a\":"}})),
        call(json!({"index": 0, "function": {"arguments": "1}"}})),
        chunk(json!({}), json!("tool_calls")),
    ];
    chunks.extend(usage.map(|usage| json!({"id": "chatcmpl-1", "choices": [], "usage": usage})));
    chunks.push(json!("[DONE]"));
    chunks
}

#[tokio::test]
async fn anthropic_counts_caches_and_dollars() {
    let usage = json!({"input_tokens": 3, "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20, "output_tokens": 7});
    let mut whole = answer("x", 0, 0);
    whole["usage"] = usage.clone();
    let report = counted("/anthropic/v1/messages", question("q"), move || {
        Script::json(200, whole.clone())
    })
    .await;
    assert_eq!(counts(&report), [123, 7, 100, 20]);
    let dollars = (3.0 * 3.0 + 100.0 * 0.3 + 20.0 * 3.75 + 7.0 * 15.0) / 1e6;
    assert!((report.cost_usd.unwrap() - dollars).abs() < 1e-12);
    let mut events = stream("some text", 3, 7);
    events[0]["message"]["usage"] = json!({"input_tokens": 3, "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20, "output_tokens": 1});
    let report = counted("/anthropic/v1/messages", question("q"), move || {
        Script::events(&events)
    })
    .await;
    assert_eq!(counts(&report), [123, 7, 100, 20]);
    assert!((report.cost_usd.unwrap() - dollars).abs() < 1e-12);
    assert!(!report.is_lower_bound);
    let exchange = &report.exchanges[0];
    assert_eq!(
        exchange.answer["content"],
        json!([{"type": "text", "text": "some text"}])
    );
    assert_eq!(exchange.answer["usage"]["output_tokens"], 7);
}

#[tokio::test]
async fn anthropic_what_prices_do_not_cover_makes_a_lower_bound() {
    for extra in [
        json!({"cache_creation": {"ephemeral_1h_input_tokens": 5}}),
        json!({"server_tool_use": {"web_search_requests": 1}}),
    ] {
        let mut whole = answer("x", 10, 1);
        whole["usage"]
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let report = counted("/anthropic/v1/messages", question("q"), move || {
            Script::json(200, whole.clone())
        })
        .await;
        assert!(
            report.is_lower_bound && report.cost_usd.is_some(),
            "{report:?}"
        );
    }
}

#[tokio::test]
async fn chat_usage_that_only_the_proxy_requests_is_hidden_from_the_agent() {
    let usage = json!({"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55,
        "prompt_tokens_details": {"cached_tokens": 40}});
    let with = chat_chunks(Some(usage));
    let server = ScriptedServer::start(move |_, _| Script::events(&with)).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let without = chat_chunks(None).iter().map(event_text).collect::<String>();
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "q"}]});
    assert_eq!(agent.post(CHAT, &body).await.body, without);
    let mut own = body.clone();
    own["stream_options"] = json!({"include_usage": true});
    assert!(agent.post(CHAT, &own).await.body.contains("\"usage\""));
    let mut plain = body.clone();
    plain["stream"] = json!(false);
    agent.post(CHAT, &plain).await;
    let seen = server.seen();
    assert!(
        seen[0]
            .body
            .starts_with(br#"{"stream_options":{"include_usage":true},"messages""#)
    );
    assert_eq!(seen[1].json(), own);
    assert_eq!(seen[2].json(), plain);
    let report = agent.session.finish().await;
    assert_eq!(counts(&report), [150, 15, 120, 0]);
    assert_eq!(report.exchanges[0].request, body);
    assert_eq!(
        report.exchanges[0].answer["choices"][0]["message"],
        json!({"role": "assistant", "content": "Hello", "tool_calls": [{"index": 0, "id": "call_1",
            "type": "function", "function": {"name": "read", "arguments": "{\"a\":1}"}}]})
    );
}

#[tokio::test]
async fn chat_server_without_usage_in_streams_gets_the_request_of_the_agent() {
    let server = ScriptedServer::start(|seen, _| match seen.json().get("stream_options") {
        Some(_) => Script::json(
            422,
            json!({"error": {"message": "unknown field stream_options"}}),
        ),
        None => Script::events(&chat_chunks(None)),
    })
    .await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "q"}]});
    for _ in 0..2 {
        assert_eq!(agent.post(CHAT, &body).await.status, 200);
    }
    assert_eq!(
        server.seen().len(),
        3,
        "the second call is made as the agent makes it"
    );
    let report = agent.session.finish().await;
    assert_eq!((report.turns, report.turns_without_usage), (2, 2));
    assert_eq!((report.calls, report.sent), (2, 3));
    assert_eq!((report.cost_usd, report.is_lower_bound), (None, true));
    assert!(report.upstream_faults.is_empty(), "{report:?}");
}

#[tokio::test]
async fn responses_and_gemini_are_counted_from_bodies_and_streams() {
    let whole = json!({"id": "resp_1", "model": "m", "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}],
        "usage": {"input_tokens": 50, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 40}}});
    let events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "output": [], "usage": null}}),
        json!({"type": "response.output_text.delta", "delta": "hi \"response.completed\" \"usage\""}),
        json!({"type": "response.completed", "response": whole}),
    ];
    let ask = json!({"model": "m", "input": "q", "stream": true});
    let copy = whole.clone();
    for report in [
        counted(RESPONSES, ask.clone(), move || {
            Script::json(200, copy.clone())
        })
        .await,
        counted(RESPONSES, ask.clone(), move || Script::events(&events)).await,
    ] {
        assert_eq!(counts(&report), [50, 5, 40, 0]);
        assert_eq!(report.exchanges[0].answer, whole);
        assert_eq!(report.exchanges[0].protocol, ApiProtocol::OpenaiResponses);
    }
    let piece = |text: &str, usage: Value, finish: Value| {
        json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]},
            "finishReason": finish}], "usageMetadata": usage, "modelVersion": "m"})
    };
    let pieces = vec![
        piece("Hel", json!({"promptTokenCount": 50}), Value::Null),
        piece(
            "lo",
            json!({"promptTokenCount": 50, "cachedContentTokenCount": 40,
            "candidatesTokenCount": 5, "thoughtsTokenCount": 6}),
            json!("STOP"),
        ),
    ];
    let list = Value::from(pieces.clone());
    let ask = json!({"contents": [{"role": "user", "parts": [{"text": "q"}]}]});
    for report in [
        counted(GEMINI, ask.clone(), move || Script::json(200, list.clone())).await,
        counted(GEMINI, ask.clone(), move || Script::events(&pieces)).await,
    ] {
        assert_eq!(counts(&report), [50, 11, 40, 0]);
        let content = &report.exchanges[0].answer["candidates"][0]["content"];
        assert_eq!(content["parts"], json!([{"text": "Hello"}]));
        assert_eq!(report.models, ["m"]);
    }
}

#[tokio::test]
async fn failed_calls_are_counted_by_kind_and_are_no_turns() {
    let server = ScriptedServer::start(|_, number| {
        let mut events = stream("one two three", 5, 2);
        match number {
            0 => Script::json(429, json!({"type": "error"})),
            1 => Script::json(529, json!({"type": "error"})),
            2 => {
                events[4] = json!({"type": "error", "error": {"type": "overloaded_error"}});
                events.truncate(5);
                Script::events(&events)
            }
            3 => {
                events.truncate(4);
                Script::events(&events)
            }
            4 => Script(vec![Step::Break]),
            _ => Script::json(200, answer("x", 5, 2)),
        }
    })
    .await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(agent.message(&question("q")).await.status);
    }
    assert_eq!(statuses, [429, 529, 200, 200, 502, 200]);
    let report = agent.session.finish().await;
    insta::assert_debug_snapshot!(report.upstream_faults, @r#"
    {
        "429": 1,
        "529": 1,
        "cut_off": 1,
        "network": 1,
        "overloaded_error": 1,
    }
    "#);
    let whole = report.exchanges.iter().filter(|one| one.is_whole);
    assert_eq!((report.calls, report.turns, whole.count()), (6, 1, 1));
    // What failed answers are known to have used is part of the sum.
    assert_eq!(counts(&report), [15, 4, 0, 0]);
    assert!(report.is_lower_bound);
}

#[tokio::test]
async fn unknown_price_makes_the_cost_unknown() {
    let report = counted(
        "/anthropic/v1/messages",
        json!({"model": "other", "messages": []}),
        || Script::json(200, answer("x", 5, 2)),
    )
    .await;
    // The answer says that it is of a model with a price.
    assert_eq!(
        (report.cost_usd.is_some(), report.unpriced.len()),
        (true, 0)
    );
    let mut whole = answer("x", 5, 2);
    whole["model"] = json!("other-2");
    let ask = json!({"model": "other", "messages": []});
    let report = counted("/anthropic/v1/messages", ask, move || {
        Script::json(200, whole.clone())
    })
    .await;
    assert_eq!(
        (report.cost_usd, report.unpriced),
        (None, vec!["other".to_owned()])
    );
    assert_eq!(report.usage.input, 5);
}

#[tokio::test]
async fn exchanges_of_a_conversation_have_only_what_is_new() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let mut body = question("q");
    body["system"] = json!("You are an agent.");
    let mut whole = Vec::new();
    for turn in 0..40 {
        agent.message(&body).await;
        whole.push(body.clone());
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": format!("answer {turn}")}));
        messages.push(json!({"role": "user", "content": format!("result {turn}")}));
    }
    let report = agent.session.finish().await;
    assert_eq!(report.exchanges.len(), 40);
    let all: Vec<_> = report.whole_requests().map(|(_, whole)| whole).collect();
    assert_eq!(all, whole);
    for (at, exchange) in report.exchanges.iter().enumerate() {
        let new = exchange.request["messages"].as_array().unwrap().len();
        assert_eq!(
            (new, exchange.conversation),
            (if at == 0 { 1 } else { 2 }, 0)
        );
        assert_eq!(report.whole_request(at).as_ref(), Some(&whole[at]));
    }
}

/// Cuts a text at any bytes; counts and the answer stay the same.
#[test]
fn streams_cut_anywhere_give_equal_counts() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let streams: Vec<(&str, Vec<Value>)> = vec![
        (
            "/anthropic/v1/messages",
            stream("a\nb é \u{1f600} \"usage\" x", 9, 4),
        ),
        (
            CHAT,
            chat_chunks(Some(json!({"prompt_tokens": 9, "completion_tokens": 4}))),
        ),
    ];
    let pieces = std::sync::Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
    let held = std::sync::Arc::clone(&pieces);
    let (server, proxy) = runtime.block_on(async {
        let server = ScriptedServer::start(move |_, _| {
            let pieces = held.lock().unwrap().clone();
            let texts = pieces.iter().map(|piece| text_of(piece));
            Script(
                [Script::stream_head()]
                    .into_iter()
                    .chain(texts.map(Step::Send))
                    .collect(),
            )
        })
        .await;
        let proxy = proxy_to(server.port);
        (server, proxy)
    });
    proptest!(ProptestConfig::with_cases(24), |(which in 0..2usize, cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12), crlf in any::<bool>())| {
        let (path, events) = &streams[which];
        let mut text = events.iter().map(event_text).collect::<String>();
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        // Between characters: a script is a text.
        let mut at: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len()))).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        *pieces.lock().unwrap() = at.windows(2).map(|pair| text.as_bytes()[pair[0]..pair[1]].to_vec()).collect();
        let (got, report) = runtime.block_on(async {
            let agent = Agent::start(&proxy, settings()).await;
            let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "q"}]});
            let got = agent.post(path, &body).await;
            (got, agent.session.finish().await)
        });
        prop_assert_eq!(counts(&report), [9, 4, 0, 0]);
        prop_assert!(!report.is_lower_bound);
        if which == 0 {
            prop_assert_eq!(got.body, text);
            prop_assert_eq!(&report.exchanges[0].answer["content"][0]["text"], "a\nb é \u{1f600} \"usage\" x");
        } else {
            prop_assert!(!got.body.contains("prompt_tokens"));
            prop_assert_eq!(&report.exchanges[0].answer["choices"][0]["message"]["content"], "Hello");
        }
    });
    assert!(!server.seen().is_empty());
}

fn text_of(piece: &[u8]) -> String {
    String::from_utf8(piece.to_vec()).unwrap()
}

#[tokio::test]
async fn answer_that_cannot_be_read_is_a_turn_of_unknown_usage() {
    let text = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello";
    let report = counted("/anthropic/v1/messages", question("q"), || {
        Script(vec![Step::Send(text.to_owned())])
    })
    .await;
    assert_eq!((report.turns, report.turns_without_usage), (1, 1));
    let ask = json!({"model": "m", "input": "q", "background": true});
    let report = counted(RESPONSES, ask, || Script::json(200, json!({}))).await;
    assert_eq!(
        report.denied,
        ["background responses are not supported, because their tokens cannot be counted"]
    );
    assert_eq!(report.turns, 0);
}

/// A piece of one of several choices, from a server that reports what was used so far.
fn piece(index: u64, finish: Option<&str>, output: u64) -> Value {
    json!({"model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": output},
        "choices": [{"index": index, "delta": {"content": "a"}, "finish_reason": finish}]})
}

#[tokio::test]
async fn answer_with_several_choices_is_one_turn_with_the_tokens_of_all() {
    let body = json!({"model": "m", "messages": [], "n": 2, "stream": true,
        "stream_options": {"include_usage": true}});
    let both = [piece(0, Some("stop"), 5), piece(1, Some("stop"), 11)];
    // Some servers make one choice, whatever is requested.
    for (events, tokens) in [(&both[..], 11), (&both[..1], 5)] {
        let events = events.to_vec();
        let report = counted(CHAT, body.clone(), move || Script::events(&events)).await;
        assert_eq!((report.turns, report.usage.output), (1, tokens));
        assert!(report.upstream_faults.is_empty(), "{report:?}");
    }
    let gemini = json!({"contents": [], "generationConfig": {"candidateCount": 3}});
    let one = json!({"candidates": [{"index": 0, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 2, "candidatesTokenCount": 7}});
    let report = counted(GEMINI, gemini, move || {
        Script::events(std::slice::from_ref(&one))
    })
    .await;
    assert_eq!((report.turns, report.usage.output), (1, 7));
    assert!(!report.is_lower_bound, "{report:?}");
}

#[tokio::test]
async fn choices_that_the_agent_does_not_wait_for_make_a_lower_bound() {
    let never = Arc::new(Notify::new());
    let server = ScriptedServer::start(move |_, _| {
        let mut script = Script::events(&[piece(0, Some("stop"), 5)]);
        script.0.push(Step::Wait(Arc::clone(&never)));
        script
    })
    .await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let body = json!({"model": "m", "messages": [], "n": 9, "stream": true,
        "stream_options": {"include_usage": true}});
    let headers = [("x-api-key", TOKEN), ("content-type", "application/json")];
    let mut response = agent.open("POST", CHAT, &headers, Some(&body)).await;
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    let report = agent.session.finish().await;
    assert_eq!((report.turns, report.turns_without_usage), (1, 1));
    assert_eq!((report.usage.output, report.is_lower_bound), (5, true));
}
