//! Recording, and answers from a recording.

use std::path::PathBuf;
use std::sync::Arc;

use eval_proxy::{
    ProxyError, ProxyLimits, ReachedLimit, SessionEnd, SessionReport, SessionSettings,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::scripted::*;

/// A conversation of an agent that runs tools, as it would be in one of its runs: `run` stands for
/// what varies.
fn conversation(run: usize, topic: &str, turns: usize) -> Vec<Value> {
    let mut body = question(&format!("{topic}: fix the bug in /workspace/src"));
    body["stream"] = json!(true);
    body["system"] = json!(format!(
        "You are an agent. Today's date: 2026-11-2{run}. Session 0b9d1f3e-1111-4222-8333-12345678900{run}"
    ));
    body["metadata"] = json!({"user_id": format!("user-{run}")});
    let mut all = Vec::new();
    for turn in 0..turns {
        all.push(body.clone());
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": format!("step {turn}")}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result",
            "tool_use_id": format!("toolu_0{run}Ab{turn}cdef"),
            "content": format!("ok in 0.{run}3s, wrote /tmp/tmp{run}x{turn}, port 127.0.0.1:4000{run}")}]}));
    }
    all
}

async fn record(turns: usize) -> (TempDir, PathBuf, Vec<String>, SessionReport) {
    let server = ScriptedServer::start(|seen, number| {
        let text = format!(
            "answer {number} to {}",
            seen.json()["messages"].as_array().unwrap().len()
        );
        Script::events(&stream(&text, 100 + number as u64, 5))
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/folder/sample.jsonl");
    let agent = Agent::start(&proxy_to(server.port), writing(&path)).await;
    let (a, b) = (conversation(0, "one", turns), conversation(0, "two", turns));
    let mut answers = Vec::new();
    for (a, b) in a.iter().zip(&b) {
        answers.push(agent.message(a).await.body);
        answers.push(agent.message(b).await.body);
    }
    assert!(
        !path.exists(),
        "the recording appears when the session finishes"
    );
    let report = agent.session.finish().await;
    (folder, path, answers, report)
}

#[tokio::test]
async fn recorded_conversations_replay_to_the_same_answers_in_any_interleaving() {
    let (_folder, path, answers, recorded) = record(5).await;
    let agent = Agent::start(&proxy_alone(), reading(&path)).await;
    let (a, b) = (conversation(1, "one", 5), conversation(1, "two", 5));
    // The second conversation first.
    for (at, body) in b.iter().enumerate() {
        assert_eq!(agent.message(body).await.body, answers[2 * at + 1]);
    }
    for (at, body) in a.iter().enumerate() {
        let got = agent.message(body).await;
        assert_eq!(
            (got.status, got.header("content-type")),
            (200, Some("text/event-stream"))
        );
        assert_eq!(got.body, answers[2 * at]);
    }
    assert_eq!(agent.session.end(), None);
    let report = agent.session.finish().await;
    assert_eq!((report.turns, report.usage), (10, recorded.usage));
    let (cost, before) = (report.cost_usd.unwrap(), recorded.cost_usd.unwrap());
    assert!((cost - before).abs() < 1e-12, "{cost} {before}");
    assert_eq!((report.unused, &report.divergence), (0, &None));
    // What the agent did is known as it was then.
    let answers = |report: &SessionReport| {
        let all = report.exchanges.iter();
        let mut all: Vec<String> = all.map(|one| one.answer.to_string()).collect();
        all.sort();
        all
    };
    assert_eq!(answers(&report), answers(&recorded));
}

#[tokio::test]
async fn folders_may_have_other_paths_in_a_replay() {
    let (_folder, path, answers, _) = record(2).await;
    let other = "/var/other/place-1a2b3c4d";
    let settings = SessionSettings {
        folders: vec![(other.to_owned(), "workspace".to_owned())],
        ..reading(&path)
    };
    let agent = Agent::start(&proxy_alone(), settings).await;
    for (at, body) in conversation(1, "one", 2).iter().enumerate() {
        let body = body.to_string().replace("/workspace", other);
        let body = serde_json::from_str(&body).unwrap();
        assert_eq!(agent.message(&body).await.body, answers[2 * at]);
    }
    // The folder as it was is now another one.
    let got = agent.message(&conversation(1, "two", 1)[0]).await;
    assert_eq!(got.status, 403);
}

#[tokio::test]
async fn recording_is_lines_of_json_with_only_what_is_new() {
    let (_folder, path, ..) = record(2).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let mut shown = String::new();
    for line in text.lines().skip(1).step_by(2) {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line["at"].is_string() {
            line["at"] = json!("[TIME]");
            line["duration_ms"] = json!(0);
            let events = line["answer"]["events"].as_array_mut().unwrap();
            events.drain(1..events.len() - 2);
        }
        shown.push_str(&format!("{line}\n"));
    }
    insta::assert_snapshot!(shown, @r#"
    {"answer":{"content_type":"text/event-stream","events":["event: message_start\ndata: {\"message\":{\"content\":[],\"model\":\"m\",\"role\":\"assistant\",\"type\":\"message\",\"usage\":{\"input_tokens\":100,\"output_tokens\":1}},\"type\":\"message_start\"}","event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"},\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}}","event: message_stop\ndata: {\"type\":\"message_stop\"}"],"status":200},"at":"[TIME]","conversation":0,"duration_ms":0,"exchange":0,"method":"POST","path":"/anthropic/v1/messages","protocol":"anthropic_messages","request":{"max_tokens":10,"messages":[{"content":"one: fix the bug in /workspace/src","role":"user"}],"metadata":{"user_id":"user-0"},"model":"m","stream":true,"system":"You are an agent. Today's date: 2026-11-20. Session 0b9d1f3e-1111-4222-8333-123456789000"}}
    {"answer":{"content_type":"text/event-stream","events":["event: message_start\ndata: {\"message\":{\"content\":[],\"model\":\"m\",\"role\":\"assistant\",\"type\":\"message\",\"usage\":{\"input_tokens\":102,\"output_tokens\":1}},\"type\":\"message_start\"}","event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"},\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}}","event: message_stop\ndata: {\"type\":\"message_stop\"}"],"status":200},"at":"[TIME]","continues":{"exchange":0,"items":{"messages":1},"same":["max_tokens","metadata","model","stream","system"]},"conversation":0,"duration_ms":0,"exchange":2,"method":"POST","path":"/anthropic/v1/messages","protocol":"anthropic_messages","request":{"messages":[{"content":"step 0","role":"assistant"},{"content":[{"content":"ok in 0.03s, wrote /tmp/tmp0x0, port 127.0.0.1:40000","tool_use_id":"toolu_00Ab0cdef","type":"tool_result"}],"role":"user"}]}}
    "#);
}

#[tokio::test]
async fn first_difference_ends_the_sample_with_its_place_and_both_values() {
    let (_folder, path, ..) = record(3).await;
    let mut shown = String::new();
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 5] = [
        ("/messages/2/content/0/content", |body| {
            body["messages"][2]["content"][0]["content"] = json!("failed in 0.5s");
        }),
        ("/temperature", |body| body["temperature"] = json!(0.5)),
        ("", |body| {
            body["messages"][0]["content"] = json!("three: another task")
        }),
        ("/messages/4", |body| {
            body["messages"].as_array_mut().unwrap().pop();
        }),
        ("none left", |_| {}),
    ];
    for (name, change) in changes {
        let agent = Agent::start(&proxy_alone(), reading(&path)).await;
        let bodies = conversation(1, "one", 3);
        for body in &bodies[..2] {
            assert_eq!(agent.message(body).await.status, 200);
        }
        let mut body = bodies[2].clone();
        if name == "none left" {
            assert_eq!(agent.message(&body).await.status, 200);
        }
        change(&mut body);
        let got = agent.message(&body).await;
        assert_eq!(got.status, 403, "{name}");
        assert!(matches!(
            agent.session.ended().await,
            SessionEnd::Diverged(_)
        ));
        let report = agent.session.finish().await;
        let divergence = report.divergence.unwrap();
        assert_eq!(got.json()["error"]["message"], divergence.message);
        let (pointer, exchange) = (&divergence.pointer, divergence.exchange);
        shown.push_str(&format!(
            "{pointer:?} {exchange:?}\n  {}\n",
            divergence.message
        ));
    }
    insta::assert_snapshot!(shown, @r#"
    "/messages/2/content/0/content" Some(4)
      the agent's request differs from recorded exchange 4 at `/messages/2/content/0/content`: recorded "ok in <duration>, wrote /tmp/<temp>, port 127.0.0.1:<port>", requested "failed in <duration>"
    "/temperature" Some(4)
      the agent's request differs from recorded exchange 4 at `/temperature`: recorded nothing, requested "0.5"
    "/messages/0/content" Some(1)
      the agent's request differs from recorded exchange 1 at `/messages/0/content`: recorded "two: fix the bug in <workspace>/src", requested "three: another task"
    "/messages/4" Some(4)
      the agent's request differs from recorded exchange 4 at `/messages/4`: recorded "{"content":[{"content":"ok in <duration>, wrote /tmp/<temp>, port 127.0.0.1:<port>","tool_use_id":"toolu_<id>","type":"tool_result"}],"role":"user"}", requested nothing
    "" None
      the agent made a request after the last recorded one of this conversation
    "#);
}

#[tokio::test]
async fn failed_calls_that_were_repeated_are_not_replayed_and_refusals_are() {
    let server = ScriptedServer::start(|_, number| match number {
        0 => Script::json(529, json!({"type": "error"})),
        1 => Script::events(&stream("one two", 5, 2)[..4]),
        2 => Script::json(
            400,
            json!({"type": "error", "error": {"message": "too long"}}),
        ),
        3 => Script::json(200, json!({"input_tokens": 12})),
        _ => Script::json(200, answer("x", 5, 2)),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.jsonl.gz");
    let agent = Agent::start(&proxy_to(server.port), writing(&path)).await;
    let count = "/anthropic/v1/messages/count_tokens";
    let body = question("q");
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(agent.message(&body).await.status);
    }
    assert_eq!(
        agent.post(count, &body).await.json(),
        json!({"input_tokens": 12})
    );
    statuses.push(agent.message(&body).await.status);
    assert_eq!(statuses, [529, 200, 400, 200]);
    let report = agent.session.finish().await;
    assert_eq!(report.recording_fault, None);
    let exchanges = report.exchanges.iter();
    let seen: Vec<_> = exchanges.map(|one| (one.status, one.is_whole)).collect();
    assert_eq!(seen, [(529, false), (200, false), (400, true), (200, true)]);
    let agent = Agent::start(&proxy_alone(), reading(&path)).await;
    for _ in 0..2 {
        assert_eq!(
            agent.post(count, &body).await.json(),
            json!({"input_tokens": 12})
        );
    }
    assert_eq!(agent.post(count, &question("other")).await.status, 404);
    assert_eq!(agent.message(&body).await.status, 400);
    assert_eq!(agent.message(&body).await.json(), answer("x", 5, 2));
    let report = agent.session.finish().await;
    assert_eq!((report.turns, report.usage.input), (1, 5));
}

#[tokio::test]
async fn call_that_failed_for_good_fails_the_same_way_in_a_replay() {
    let server = ScriptedServer::start(|_, number| {
        match number {
        0 => Script::json(529, json!({"type": "error", "error": {"message": "busy"}})),
        1 => Script::json(503, json!({"type": "error"})),
        // Broken off in mid-answer.
        2 => Script(
            std::iter::once(Step::Send(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n"
                    .to_owned(),
            ))
            .chain(stream("one", 5, 2)[..3].iter().map(event_text).map(Step::Send))
            .chain([Step::Break])
            .collect(),
        ),
        _ => Script(vec![Step::Break]),
    }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("failed.jsonl");
    let mut seen = Vec::new();
    for (proxy, plan) in [
        (proxy_to(server.port), writing(&path)),
        (proxy_alone(), reading(&path)),
    ] {
        let agent = Agent::start(&proxy, plan).await;
        let mut answers = Vec::new();
        for _ in 0..4 {
            let got = agent.message(&question("q")).await;
            answers.push((got.status, got.is_cut, got.body));
        }
        let report = agent.session.finish().await;
        assert_eq!((report.turns, report.divergence), (0, None));
        assert_eq!(report.last_fault.as_deref(), Some("network"));
        seen.push((answers, report.upstream_faults));
    }
    let statuses: Vec<_> = seen[0]
        .0
        .iter()
        .map(|(status, cut, _)| (*status, *cut))
        .collect();
    assert_eq!(
        statuses,
        [(529, false), (503, false), (200, true), (502, false)]
    );
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn answer_that_the_agent_gave_up_is_recorded_as_far_as_the_server_sent_it() {
    let go_on = Arc::new(Notify::new());
    let waits = Arc::clone(&go_on);
    let server = ScriptedServer::start(move |seen, _| {
        let mut steps = Script::events(&stream("one two", 5, 2)).0;
        let waits = match seen.json()["messages"][0]["content"] == "whole" {
            true => Arc::clone(&waits),
            // For ever.
            false => Arc::new(Notify::new()),
        };
        steps.insert(4, Step::Wait(waits));
        Script(steps)
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("given-up.jsonl");
    let agent = Agent::start(&proxy_to(server.port), writing(&path)).await;
    let headers = [("x-api-key", TOKEN)];
    let messages = "/anthropic/v1/messages";
    for text in ["whole", "part"] {
        let body = question(text);
        let mut response = agent.open("POST", messages, &headers, Some(&body)).await;
        assert!(response.chunk().await.unwrap().is_some());
        drop(response);
    }
    go_on.notify_one();
    let report = agent.session.finish().await;
    assert_eq!((report.turns, report.recording_fault), (2, None));
    assert!(report.exchanges.iter().all(|one| !one.is_whole));
    let agent = Agent::start(&proxy_alone(), reading(&path)).await;
    let expected: String = stream("one two", 5, 2).iter().map(event_text).collect();
    assert_eq!(agent.message(&question("whole")).await.body, expected);
    let body = question("part");
    let mut response = agent.open("POST", messages, &headers, Some(&body)).await;
    let part = response.chunk().await.unwrap().unwrap();
    assert!(expected.starts_with(&String::from_utf8(part).unwrap()));
    // The agent gives up again.
    drop(response);
    let report = agent.session.finish().await;
    assert_eq!((report.turns, report.divergence), (2, None));
}

#[tokio::test]
async fn limits_hold_in_a_replay() {
    let (_folder, path, ..) = record(3).await;
    let limits = ProxyLimits {
        tokens: Some(150),
        ..ProxyLimits::default()
    };
    let settings = SessionSettings {
        limits,
        ..reading(&path)
    };
    let agent = Agent::start(&proxy_alone(), settings).await;
    let bodies = conversation(1, "one", 3);
    for body in &bodies[..2] {
        assert_eq!(agent.message(body).await.status, 200);
    }
    assert_eq!(
        agent.session.end(),
        Some(SessionEnd::Limit(ReachedLimit::Tokens(150)))
    );
    assert_eq!(agent.session.finish().await.unused, 4);
}

#[tokio::test]
async fn answer_that_a_limit_cut_is_recorded_and_reaches_it_again() {
    let server = ScriptedServer::start(|_, _| Script::events(&stream("one two", 1_000, 5))).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.jsonl");
    let limits = ProxyLimits {
        tokens: Some(500),
        ..ProxyLimits::default()
    };
    for (proxy, plan) in [
        (proxy_to(server.port), writing(&path)),
        (proxy_alone(), reading(&path)),
    ] {
        let agent = Agent::start(&proxy, SessionSettings { limits, ..plan }).await;
        agent.message(&question("q")).await;
        assert_eq!(
            agent.session.ended().await,
            SessionEnd::Limit(ReachedLimit::Tokens(500))
        );
        let report = agent.session.finish().await;
        assert_eq!(
            (report.limit, report.turns),
            (Some(ReachedLimit::Tokens(500)), 1)
        );
    }
}

#[tokio::test]
async fn dropped_session_leaves_no_recording() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::start(
        &proxy_to(server.port),
        writing(&folder.path().join("a.jsonl")),
    )
    .await;
    agent.message(&question("q")).await;
    let port = agent.port;
    drop(agent);
    // Ended tasks let go of the file.
    while std::fs::read_dir(folder.path()).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(
        tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn files_that_are_no_recordings_are_refused_with_the_line() {
    let (folder, path, ..) = record(2).await;
    let sound = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = sound.lines().collect();
    let mut shown = String::new();
    for text in [
        String::new(),
        "{}\n".to_owned(),
        sound.replace("\"version\":1", "\"version\":9"),
        format!("{}\nnot json\n", lines[0]),
        format!("{}\n{}\n", lines[0], lines[2]),
        sound.replace("{\"messages\":1}", "{\"messages\":9}"),
    ] {
        let path = folder.path().join("broken.jsonl");
        std::fs::write(&path, text).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        match proxy_alone().start(listener, reading(&path)).unwrap_err() {
            ProxyError::Recording { why, .. } => shown.push_str(&format!("{why}\n")),
            other => panic!("{other}"),
        }
    }
    insta::assert_snapshot!(shown, @r"
    it is empty
    it is not a recording of an agent
    version 9 is not supported; this version reads 1
    line 2: expected ident at line 1 column 2
    line 2: expected exchange 0
    line 4: the exchange that it continues is missing or different
    ");
}

#[tokio::test]
async fn recording_of_another_task_answers_nothing() {
    let (_folder, path, ..) = record(1).await;
    let other = || SessionSettings {
        fingerprint: "other".to_owned(),
        ..reading(&path)
    };
    // The same request, another in what is not compared otherwise, and another word.
    let mut later = conversation(0, "one", 1).remove(0);
    later["system"] = json!(
        "You are an agent. Today's date: 2026-11-29. Session 0b9d1f3e-1111-4222-8333-123456789000"
    );
    let mut shown = String::new();
    for request in [
        conversation(0, "one", 1).remove(0),
        later,
        conversation(0, "six", 1).remove(0),
    ] {
        let agent = Agent::start(&proxy_alone(), other()).await;
        let got = agent.message(&request).await;
        let divergence = agent.session.finish().await.divergence.unwrap();
        assert_eq!(got.json()["error"]["message"], divergence.message);
        shown.push_str(&format!("{}\n", divergence.message));
    }
    insta::assert_snapshot!(shown, @r#"
    the recording was made with a different prompt, model or settings of the agent
    the agent's request differs from recorded exchange 0 at `/system`: recorded "You are an agent. Today's date: 2026-11-20. Session 0b9d1f3e-1111-4222-8333-123456789000", requested "You are an agent. Today's date: 2026-11-29. Session 0b9d1f3e-1111-4222-8333-123456789000"
    the agent's request differs from recorded exchange 0 at `/messages/0/content`: recorded "one: fix the bug in <workspace>/src", requested "six: fix the bug in <workspace>/src"
    "#);
}

#[tokio::test]
async fn usage_that_only_the_proxy_requested_is_part_of_the_recording() {
    let server = ScriptedServer::start(|_, _| {
        Script::events(&[
            json!({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
            json!("[DONE]"),
        ])
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.jsonl");
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "q"}]});
    for (proxy, plan) in [
        (proxy_to(server.port), writing(&path)),
        (proxy_alone(), reading(&path)),
    ] {
        let agent = Agent::start(&proxy, plan).await;
        let got = agent.post("/openai/v1/chat/completions", &body).await;
        assert!(!got.body.contains("usage"), "{}", got.body);
        let report = agent.session.finish().await;
        assert_eq!((report.usage.input, report.usage.output), (9, 4));
        for exchange in &report.exchanges {
            assert_eq!(exchange.usage.map(|usage| usage.input), Some(9));
        }
    }
}

#[tokio::test]
async fn secret_that_is_spread_over_events_is_not_recorded() {
    let (first, rest) = TOKEN.split_at(9);
    let text = format!("{first} {rest}").replace(' ', "\u{0}");
    let mut events = stream("x", 5, 2);
    let delta = |text: &str| {
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}})
    };
    events.splice(3..4, text.split('\u{0}').map(delta));
    let server = ScriptedServer::start(move |_, _| Script::events(&events)).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.jsonl");
    let agent = Agent::start(&proxy_to(server.port), writing(&path)).await;
    agent.message(&question("q")).await;
    let report = agent.session.finish().await;
    assert_eq!(
        report.exchanges[0].answer["content"][0]["text"],
        "[redacted]"
    );
    let recorded = std::fs::read_to_string(&path).unwrap();
    assert!(!recorded.contains(rest), "{recorded}");
    // An agent that reads a stream gets one.
    let agent = Agent::start(&proxy_alone(), reading(&path)).await;
    let got = agent.message(&question("q")).await;
    assert_eq!(got.header("content-type"), Some("text/event-stream"));
    let expected = stream("[redacted]", 5, 2);
    let texts = |events: &str| -> Vec<Value> {
        let data = events
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap())
            .collect()
    };
    let mut replayed = texts(&got.body);
    // The place of the second piece is empty.
    assert_eq!(replayed.remove(4)["delta"]["text"], "");
    assert_eq!(replayed, expected);
}
