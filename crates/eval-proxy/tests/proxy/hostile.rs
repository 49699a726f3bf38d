//! Agents that attack the proxy.

use std::sync::Arc;

use eval_proxy::{ProxyLimits, ReachedLimit, SessionSettings};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::scripted::*;

/// Everything that the proxy answers to raw bytes, until it closes or a whole answer is there.
async fn raw(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    // It may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got).await;
    String::from_utf8_lossy(&got).into_owned()
}

#[tokio::test]
async fn bytes_that_are_no_sound_request_reach_no_server() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let head = format!(
        "POST /anthropic/v1/messages HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: {TOKEN}\r\n"
    );
    let long = "x".repeat(200 << 10);
    for bytes in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        vec![0; 100_000],
        b"GET\r\n\r\n".to_vec(),
        format!("{head}Content-Length: 2\r\nContent-Length: 30\r\n\r\n{{}}").into_bytes(),
        format!("{head}Content-Length: -1\r\n\r\n{{}}").into_bytes(),
        format!("{head}Content-Length: 99999999999\r\n\r\n{{}}").into_bytes(),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n").into_bytes(),
        format!("{head}Content-Length: 2\r\n\r\n[]").into_bytes(),
        format!("{head}Content-Length: 5\r\n\r\nhello").into_bytes(),
        format!("{head}X-Long: {long}\r\n\r\n").into_bytes(),
        format!("GET /anthropic/v1/models/{long} HTTP/1.1\r\nx-api-key: {TOKEN}\r\n\r\n").into_bytes(),
        format!("POST /openai/v1/../../admin HTTP/1.1\r\nConnection: close\r\nx-api-key: {TOKEN}\r\n\r\n").into_bytes(),
        format!("POST /gemini/v1beta/models/a/../../x:generateContent HTTP/1.1\r\nConnection: close\r\nx-goog-api-key: {TOKEN}\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(),
        format!("POST /gemini/v1beta/models/a%2f..%2fx:generateContent HTTP/1.1\r\nConnection: close\r\nx-goog-api-key: {TOKEN}\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(),
    ] {
        let got = raw(agent.port, &bytes).await;
        let status = got.split(' ').nth(1).unwrap_or("closed");
        assert!(["400", "403", "413", "414", "431"].contains(&status), "{got}");
    }
    assert!(server.seen().is_empty());
    // And the session still serves.
    assert_eq!(agent.message(&question("q")).await.status, 200);
}

#[tokio::test]
async fn second_request_within_a_body_is_not_sent() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let body = question("q").to_string();
    let inner = "POST /real/secret HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    // Both framings at once: the proxy reads one of them and sends its own.
    let request = format!(
        "POST /anthropic/v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: {TOKEN}\r\n\
         Connection: close\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{inner}"
    );
    raw(agent.port, request.as_bytes()).await;
    for seen in server.seen() {
        assert_eq!(seen.line, "POST /real/messages HTTP/1.1");
        assert_eq!(seen.body, body.as_bytes());
        assert_eq!(seen.header("transfer-encoding"), None);
    }
}

#[tokio::test]
async fn json_that_would_fill_the_memory_is_refused() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let lists = format!("{{\"a\":[{}1]}}", "[],".repeat(2_000_000));
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for body in [lists, deep] {
        let request = format!(
            "POST /anthropic/v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: {TOKEN}\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let got = raw(agent.port, request.as_bytes()).await;
        assert!(got.starts_with("HTTP/1.1 400"), "{got}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn long_bodies_of_one_sample_leave_memory_for_others() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let proxy = proxy_to(server.port);
    let (greedy, other) = (
        Agent::start(&proxy, settings()).await,
        Agent::start(&proxy, settings()).await,
    );
    let head = |length: usize| {
        format!(
            "POST /anthropic/v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: {TOKEN}\r\n\
             Connection: close\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    // Twelve announce the longest body, and send nothing of it.
    let mut held = Vec::new();
    for _ in 0..12 {
        let mut stream = TcpStream::connect(("127.0.0.1", greedy.port))
            .await
            .unwrap();
        stream.write_all(head(32 << 20).as_bytes()).await.unwrap();
        held.push(stream);
    }
    // Another sample is served meanwhile, also with a long one.
    let long = question(&"x".repeat(2 << 20));
    assert_eq!(other.message(&long).await.status, 200);
    let got = raw(greedy.port, head((32 << 20) + 1).as_bytes()).await;
    assert!(got.starts_with("HTTP/1.1 413"), "{got}");
}

#[tokio::test]
async fn keys_twice_or_in_other_case_reach_no_server() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    for body in [
        r#"{"model":"m","messages":[],"model":"dear"}"#,
        r#"{"model":"m","messages":[{"a":1,"\u0061":2}]}"#,
        r#"{"model":"m","Model":"dear","messages":[]}"#,
        r#"{"model":"m","messages":[],"Stream":true}"#,
    ] {
        let request = format!(
            "POST /anthropic/v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: {TOKEN}\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let got = raw(agent.port, request.as_bytes()).await;
        assert!(got.starts_with("HTTP/1.1 400"), "{got}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn tools_of_the_provider_are_taken_out_or_refused() {
    let server =
        ScriptedServer::start(|_, _| Script::json(200, json!({"status": "completed"}))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let own = json!({"type": "function", "name": "shell"});
    let search = json!({"type": "web_search", "external_web_access": true});
    let body = |tools| json!({"model": "m", "input": "q", "tools": tools});
    let path = "/openai/v1/responses";
    assert_eq!(
        agent.post(path, &body(json!([own, search]))).await.status,
        200
    );
    assert_eq!(server.seen()[0].json(), body(json!([own])));
    assert_eq!(agent.post(path, &body(json!([search]))).await.status, 400);
    let report = agent.session.finish().await;
    assert_eq!(
        report.denied,
        [
            "the provider would execute the tool web_search",
            "the provider's tool web_search"
        ]
    );
    let allowing = SessionSettings {
        provider_tools: true,
        ..settings()
    };
    let agent = Agent::start(&proxy_to(server.port), allowing).await;
    assert_eq!(agent.post(path, &body(json!([search]))).await.status, 200);
    assert_eq!(server.seen()[1].json(), body(json!([search])));
}

#[tokio::test]
async fn calls_that_are_no_turns_have_an_end() {
    let server = ScriptedServer::start(|_, _| Script::json(200, json!({"data": []}))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let headers = [("x-api-key", TOKEN)];
    let path = "/anthropic/v1/models";
    for _ in 0..1_000 {
        assert_eq!(agent.call("GET", path, &headers, None).await.status, 200);
    }
    assert_eq!(agent.call("GET", path, &headers, None).await.status, 403);
    let limit = agent.session.finish().await.limit;
    assert_eq!(limit, Some(ReachedLimit::OtherCalls(1_000)));
}

#[tokio::test]
async fn chat_that_wants_no_usage_is_counted_all_the_same() {
    let piece = |choices| json!({"model": "m", "choices": choices});
    let server = ScriptedServer::start(move |request, _| {
        let options = json!({"include_usage": true});
        assert_eq!(request.json()["stream_options"], options);
        let mut last = piece(json!([]));
        last["usage"] = json!({"prompt_tokens": 5, "completion_tokens": 2});
        let text = json!([{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]);
        Script::events(&[piece(text), last, json!("[DONE]")])
    })
    .await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    for options in [json!({"include_usage": false}), json!({}), json!(null)] {
        let body = json!({"model": "m", "stream": true, "stream_options": options, "messages": []});
        let got = agent.post("/openai/v1/chat/completions", &body).await;
        assert!(
            !got.body.contains("usage") && got.body.contains("[DONE]"),
            "{}",
            got.body
        );
    }
    let report = agent.session.finish().await;
    assert_eq!((report.usage.input, report.turns_without_usage), (15, 0));
}

#[tokio::test]
async fn connections_that_send_nothing_do_not_keep_out_those_that_do() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let proxy = proxy_to(server.port);
    let (slow, other) = (
        Agent::start(&proxy, settings()).await,
        Agent::start(&proxy, settings()).await,
    );
    let mut idle = Vec::new();
    for _ in 0..120 {
        let mut stream = TcpStream::connect(("127.0.0.1", slow.port)).await.unwrap();
        stream
            .write_all(b"POST /anthropic/v1/messages HT")
            .await
            .unwrap();
        idle.push(stream);
    }
    // Another sample is not concerned; the same one is served once a place is free.
    assert_eq!(other.message(&question("q")).await.status, 200);
    let body = question("q");
    let waiting = slow.message(&body);
    idle.truncate(0);
    assert_eq!(waiting.await.status, 200);
}

#[tokio::test]
async fn thousands_of_calls_keep_lists_and_exchanges_bounded() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let limits = ProxyLimits {
        turns: Some(1_000),
        ..ProxyLimits::default()
    };
    let agent = Agent::start(
        &proxy_to(server.port),
        SessionSettings {
            limits,
            ..settings()
        },
    )
    .await;
    for number in 0..500 {
        let path = format!("/anthropic/v1/other-{number}");
        assert_eq!(agent.post(&path, &json!({})).await.status, 403);
        let body = json!({"model": format!("m-{number}"), "messages": [{"role": "user", "content": number.to_string()}]});
        assert_eq!(agent.message(&body).await.status, 200);
    }
    let report = agent.session.finish().await;
    assert_eq!(
        (report.calls, report.turns, report.exchanges.len()),
        (500, 500, 500)
    );
    assert_eq!((report.denied.len(), report.models.len()), (100, 100));
}

#[tokio::test]
async fn counts_of_tokens_at_once_are_bounded() {
    let go_on = Arc::new(Notify::new());
    let held = Arc::clone(&go_on);
    let server = ScriptedServer::start(move |_, _| {
        let mut script = Script::json(200, json!({"input_tokens": 1}));
        script.0.insert(0, Step::Wait(Arc::clone(&held)));
        script
    })
    .await;
    let agent = Arc::new(Agent::start(&proxy_to(server.port), settings()).await);
    let mut calls = JoinSet::new();
    for _ in 0..12 {
        let agent = Arc::clone(&agent);
        calls.spawn(async move {
            let body = question("q");
            let count = "/anthropic/v1/messages/count_tokens";
            agent.post(count, &body).await.status
        });
    }
    while server.seen().len() < 8 {
        tokio::task::yield_now().await;
    }
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.seen().len(), 8);
    let mut statuses = Vec::new();
    while statuses.len() < 12 {
        go_on.notify_waiters();
        tokio::task::yield_now().await;
        while let Some(status) = calls.try_join_next() {
            statuses.push(status.unwrap());
        }
    }
    assert_eq!((statuses, server.seen().len()), (vec![200; 12], 12));
}
