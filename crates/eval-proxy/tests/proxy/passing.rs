//! What is passed on in both directions, and when.

use std::sync::Arc;

use eval_proxy::SessionSettings;
use serde_json::json;
use tokio::sync::Notify;

use super::scripted::*;

#[tokio::test]
async fn real_key_and_only_harmless_headers_are_passed_on() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("hi", 5, 2))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let body = question("hello");
    let headers = [
        ("authorization", &*format!("Bearer {TOKEN}")),
        ("x-api-key", TOKEN),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "a,b"),
        ("content-type", "application/json"),
        ("cookie", "a=b"),
        ("proxy-connection", "keep-alive"),
        ("x-forwarded-for", "10.0.0.1"),
        ("x-note", TOKEN),
        ("accept-encoding", "gzip, br"),
        ("user-agent", "agent/1.0"),
    ];
    let path = format!("/anthropic/v1/messages?beta=true&key={TOKEN}");
    let got = agent.call("POST", &path, &headers, Some(&body)).await;
    assert_eq!((got.status, got.json()), (200, answer("hi", 5, 2)));
    assert_eq!(got.header("request-id"), Some("r-1"));
    assert_eq!(
        (got.header("set-cookie"), got.header("x-internal")),
        (None, None)
    );
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /real/messages?beta=true HTTP/1.1");
    assert_eq!(seen.json(), body);
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("accept-encoding"), Some("identity"));
    assert_eq!(seen.header("anthropic-beta"), Some("a,b"));
    assert_eq!(seen.header("user-agent"), Some("agent/1.0"));
    for gone in [
        "authorization",
        "cookie",
        "proxy-connection",
        "x-forwarded-for",
        "x-note",
    ] {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
    assert!(!format!("{seen:?}").contains(TOKEN));
}

#[tokio::test]
async fn every_api_has_its_path_and_its_key() {
    let server = ScriptedServer::start(|_, _| Script::json(200, json!({"ok": true}))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let body = json!({"model": "m"});
    let bearer = format!("Bearer {TOKEN}");
    for (method, path, header, value) in [
        (
            "POST",
            "/openai/v1/chat/completions",
            "authorization",
            bearer.as_str(),
        ),
        ("POST", "/openai/v1/responses", "authorization", &bearer),
        ("GET", "/openai/v1/models", "authorization", &bearer),
        ("GET", "/openai/v1/models/a-b.c", "authorization", &bearer),
        (
            "POST",
            "/anthropic/v1/messages/count_tokens",
            "x-api-key",
            TOKEN,
        ),
        ("GET", "/anthropic/v1/models?limit=3", "x-api-key", TOKEN),
        (
            "POST",
            "/gemini/v1beta/models/g-2:generateContent",
            "x-goog-api-key",
            TOKEN,
        ),
        (
            "POST",
            "/gemini/v1beta/models/g-2:countTokens",
            "x-goog-api-key",
            TOKEN,
        ),
    ] {
        let body = (method == "POST").then_some(&body);
        let got = agent.call(method, path, &[(header, value)], body).await;
        assert_eq!(got.status, 200, "{path}");
    }
    let path = format!("/gemini/v1beta/models/g-2:streamGenerateContent?alt=sse&key={TOKEN}");
    assert_eq!(
        agent.call("POST", &path, &[], Some(&body)).await.status,
        200
    );
    let mut shown = String::new();
    for seen in server.seen() {
        let keys = ["authorization", "x-api-key", "x-goog-api-key"];
        let keys = keys.iter().filter(|name| seen.header(name).is_some());
        let keys: Vec<_> = keys
            .map(|name| format!("{name}: {}", seen.header(name).unwrap()))
            .collect();
        shown.push_str(&format!(
            "{} {}\n",
            seen.line.replace(" HTTP/1.1", ""),
            keys.join(", ")
        ));
    }
    insta::assert_snapshot!(shown, @r"
    POST /real/chat/completions authorization: Bearer sk-real-key-0123456789abcdef
    POST /real/responses authorization: Bearer sk-real-key-0123456789abcdef
    GET /real/models authorization: Bearer sk-real-key-0123456789abcdef
    GET /real/models/a-b.c authorization: Bearer sk-real-key-0123456789abcdef
    POST /real/messages/count_tokens x-api-key: sk-real-key-0123456789abcdef
    GET /real/models?limit=3 x-api-key: sk-real-key-0123456789abcdef
    POST /real/v1beta/models/g-2:generateContent x-goog-api-key: sk-real-key-0123456789abcdef
    POST /real/v1beta/models/g-2:countTokens x-goog-api-key: sk-real-key-0123456789abcdef
    POST /real/v1beta/models/g-2:streamGenerateContent?alt=sse x-goog-api-key: sk-real-key-0123456789abcdef
    ");
}

#[tokio::test]
async fn other_tokens_and_paths_are_refused_in_the_form_of_the_api() {
    let server = ScriptedServer::start(|_, _| Script::json(200, json!({}))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let body = question("x");
    let mut shown = String::new();
    let wrong = "Bearer wrong-token-0123456789";
    let right = format!("Bearer {TOKEN}");
    for (method, path, headers) in [
        ("POST", "/anthropic/v1/messages", vec![]),
        ("POST", "/anthropic/v1/messages", vec![("x-api-key", KEY)]),
        (
            "POST",
            "/anthropic/v1/messages",
            vec![("x-api-key", TOKEN), ("authorization", wrong)],
        ),
        (
            "POST",
            "/openai/v1/responses",
            vec![("authorization", wrong)],
        ),
        (
            "POST",
            "/gemini/v1beta/models/m:generateContent?key=wrong",
            vec![],
        ),
        ("POST", "/anthropic/v1/files", vec![("x-api-key", TOKEN)]),
        ("GET", "/anthropic/v1/messages", vec![("x-api-key", TOKEN)]),
        (
            "POST",
            "/openai/v1/../../admin",
            vec![("authorization", &right)],
        ),
        (
            "POST",
            "/openai/v1/models/..%2f..%2fadmin",
            vec![("authorization", &right)],
        ),
        (
            "POST",
            "/gemini/v1beta/models/a/../../x:generateContent",
            vec![("x-goog-api-key", TOKEN)],
        ),
        (
            "POST",
            "/openaix/v1/responses",
            vec![("authorization", &right)],
        ),
        ("GET", "/", vec![]),
    ] {
        let body = (method == "POST").then_some(&body);
        let got = agent.call(method, path, &headers, body).await;
        shown.push_str(&format!("{method} {path}: {} {}\n", got.status, got.body));
    }
    insta::assert_snapshot!(shown, @r#"
    POST /anthropic/v1/messages: 401 {"error":{"message":"the API key is not the token of this sample","type":"authentication_error"},"type":"error"}
    POST /anthropic/v1/messages: 401 {"error":{"message":"the API key is not the token of this sample","type":"authentication_error"},"type":"error"}
    POST /anthropic/v1/messages: 401 {"error":{"message":"the API key is not the token of this sample","type":"authentication_error"},"type":"error"}
    POST /openai/v1/responses: 401 {"error":{"code":null,"message":"the API key is not the token of this sample","param":null,"type":"authentication_error"}}
    POST /gemini/v1beta/models/m:generateContent?key=wrong: 401 {"error":{"code":401,"message":"the API key is not the token of this sample","status":"UNAUTHENTICATED"}}
    POST /anthropic/v1/files: 403 {"error":{"message":"the proxy does not forward this method and path of the API","type":"permission_error"},"type":"error"}
    GET /anthropic/v1/messages: 403 {"error":{"message":"the proxy does not forward this method and path of the API","type":"permission_error"},"type":"error"}
    POST /openai/v1/../../admin: 403 {"error":{"code":null,"message":"this path is not part of a model API","param":null,"type":"permission_error"}}
    POST /openai/v1/models/..%2f..%2fadmin: 403 {"error":{"code":null,"message":"the proxy does not forward this method and path of the API","param":null,"type":"permission_error"}}
    POST /gemini/v1beta/models/a/../../x:generateContent: 403 {"error":{"code":403,"message":"the proxy does not forward this method and path of the API","status":"PERMISSION_DENIED"}}
    POST /openaix/v1/responses: 403 {"error":{"code":null,"message":"this path is not part of a model API","param":null,"type":"permission_error"}}
    GET /: 403 {"error":{"code":null,"message":"this path is not part of a model API","param":null,"type":"permission_error"}}
    "#);
    assert!(server.seen().is_empty());
    let report = agent.session.finish().await;
    assert_eq!((report.unauthorized, report.calls, report.turns), (5, 0, 0));
    insta::assert_debug_snapshot!(report.denied, @r#"
    [
        "GET /",
        "GET /anthropic/v1/messages",
        "POST /admin",
        "POST /anthropic/v1/files",
        "POST /gemini/v1beta/x:generateContent",
        "POST /openai/v1/models/..%2f..%2fadmin",
        "POST /openaix/v1/responses",
    ]
    "#);
}

#[tokio::test]
async fn first_byte_is_passed_before_the_server_sends_the_second() {
    let second = Arc::new(Notify::new());
    let (held, events) = (Arc::clone(&second), stream("one two", 5, 2));
    let server = ScriptedServer::start(move |_, _| {
        let mut steps = vec![Script::stream_head()];
        for event in &events {
            // Half an event, so that the proxy has to pass on what it cannot read yet.
            let text = event_text(event);
            let (first, rest) = text.split_at(9);
            steps.push(Step::Send(first.to_owned()));
            steps.push(Step::Wait(Arc::clone(&held)));
            steps.push(Step::Send(rest.to_owned()));
        }
        Script(steps)
    })
    .await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let headers = [("x-api-key", TOKEN)];
    let body = question("hello");
    let path = "/anthropic/v1/messages";
    let mut response = agent.open("POST", path, &headers, Some(&body)).await;
    let (mut got, mut reported) = (Vec::new(), 0);
    let expected: Vec<String> = stream("one two", 5, 2).iter().map(event_text).collect();
    while let Some(bytes) = response.chunk().await.unwrap() {
        got.extend(bytes);
        // The server goes on only now.
        let halves = |reported: usize| expected[..reported].concat().len() + 9;
        while reported < expected.len() && got.len() >= halves(reported) {
            second.notify_one();
            reported += 1;
        }
    }
    assert_eq!(String::from_utf8(got).unwrap(), expected.concat());
    assert_eq!(reported, expected.len());
    let report = agent.session.finish().await;
    assert_eq!(
        (report.usage.input, report.usage.output, report.turns),
        (5, 2, 1)
    );
}

#[tokio::test]
async fn keys_and_tokens_are_in_no_recording_and_no_report() {
    // A server that repeats the key, whole and in its events.
    let server = ScriptedServer::start(|seen, number| {
        let key = seen.header("x-api-key").unwrap_or_default();
        match number {
            0 => Script::json(200, answer(&format!("your key is {key}"), 5, 2)),
            1 => Script::events(&stream(&format!("again {key} end"), 5, 2)),
            _ => Script::json(401, json!({"error": {"message": format!("bad {key}")}})),
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "b.jsonl.gz"] {
        server.seen.lock().unwrap().clear();
        let path = folder.path().join(name);
        let agent = Agent::start(&proxy_to(server.port), writing(&path)).await;
        for _ in 0..3 {
            agent
                .message(&question(&format!("env: ANTHROPIC_API_KEY={TOKEN}")))
                .await;
        }
        let report = format!("{:?}", agent.session.finish().await);
        let mut recorded = Vec::new();
        match name.ends_with(".gz") {
            true => {
                let file = std::fs::File::open(&path).unwrap();
                let mut file = flate2::read::MultiGzDecoder::new(file);
                std::io::Read::read_to_end(&mut file, &mut recorded).unwrap();
            }
            false => recorded = std::fs::read(&path).unwrap(),
        }
        let recorded = String::from_utf8(recorded).unwrap();
        assert_eq!(recorded.lines().count(), 4, "{recorded}");
        for text in [&report, &recorded] {
            assert!(text.contains("your key is [redacted]"), "{text}");
            assert!(!text.contains(KEY) && !text.contains(TOKEN), "{text}");
        }
    }
}

#[tokio::test]
async fn session_without_a_server_or_a_sound_token_is_refused() {
    let agent = Agent::start(&proxy_alone(), settings()).await;
    let got = agent.message(&question("x")).await;
    assert_eq!(got.status, 403);
    assert!(
        got.body.contains("no server is configured for this API"),
        "{}",
        got.body
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let short = SessionSettings::new("short".to_owned());
    let error = proxy_alone().start(listener, short).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the token of a session needs at least 16 characters of letters, digits, `-` and `_`"
    );
}

#[tokio::test]
async fn errors_reach_the_agent_without_the_key() {
    let server = ScriptedServer::start(|seen, _| {
        let key = seen.header("x-api-key").unwrap_or_default();
        Script::json(401, json!({"error": {"message": format!("bad key {key}")}}))
    })
    .await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let got = agent.message(&question("q")).await;
    assert_eq!(got.status, 401);
    assert_eq!(got.json()["error"]["message"], "bad key [redacted]");
}

#[tokio::test]
async fn headers_and_parameters_that_change_server_or_answer_are_dropped() {
    let server = ScriptedServer::start(|_, _| Script::json(200, json!({}))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let headers = [
        ("x-goog-api-key", TOKEN),
        ("x-goog-fieldmask", "candidates"),
        ("x-http-method-override", "GET"),
        ("helicone-target-url", "http://evil.example"),
        ("openai-organization", "other"),
    ];
    let path = "/gemini/v1beta/models/m:generateContent?alt=proto&fields=candidates&beta=true";
    agent.call("POST", path, &headers, Some(&json!({}))).await;
    let seen = &server.seen()[0];
    assert_eq!(
        seen.line,
        "POST /real/v1beta/models/m:generateContent?beta=true HTTP/1.1"
    );
    for (name, _) in &headers[1..] {
        assert_eq!(seen.header(name), None, "{name}");
    }
}
