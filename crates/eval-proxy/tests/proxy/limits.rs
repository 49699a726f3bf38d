//! Limits that end a sample.

use std::sync::Arc;

use eval_proxy::{ProxyLimits, ReachedLimit, SessionEnd, SessionSettings};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

use super::scripted::*;

fn limited(limits: ProxyLimits) -> SessionSettings {
    SessionSettings {
        limits,
        ..settings()
    }
}

#[tokio::test]
async fn call_after_the_last_turn_ends_the_sample() {
    let server = ScriptedServer::start(|_, number| match number {
        0 => Script::json(429, json!({})),
        _ => Script::json(200, answer("x", 5, 2)),
    })
    .await;
    let limits = ProxyLimits {
        turns: Some(2),
        ..ProxyLimits::default()
    };
    let agent = Agent::start(&proxy_to(server.port), limited(limits)).await;
    // A failed call, a count of tokens and a list are no turns.
    for status in [429, 200, 200] {
        assert_eq!(agent.message(&question("q")).await.status, status);
    }
    let count = "/anthropic/v1/messages/count_tokens";
    assert_eq!(agent.post(count, &question("q")).await.status, 200);
    assert_eq!(agent.session.end(), None);
    let got = agent.message(&question("q")).await;
    assert_eq!(got.status, 403);
    assert_eq!(
        got.json(),
        json!({"type": "error", "error": {"type": "permission_error",
            "message": "the limit of 2 turns is reached"}})
    );
    assert_eq!(
        agent.session.ended().await,
        SessionEnd::Limit(ReachedLimit::Turns(2))
    );
    assert_eq!(agent.post(count, &question("q")).await.status, 403);
    let report = agent.session.finish().await;
    assert_eq!(
        (report.limit, report.turns),
        (Some(ReachedLimit::Turns(2)), 2)
    );
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn answer_that_exceeds_the_tokens_ends_the_sample_after_it() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 50, 10))).await;
    let limits = ProxyLimits {
        tokens: Some(119),
        ..ProxyLimits::default()
    };
    let agent = Agent::start(&proxy_to(server.port), limited(limits)).await;
    agent.message(&question("q")).await;
    assert_eq!(agent.session.end(), None);
    assert_eq!(
        agent.message(&question("q")).await.json(),
        answer("x", 50, 10)
    );
    assert_eq!(
        agent.session.ended().await,
        SessionEnd::Limit(ReachedLimit::Tokens(119))
    );
    assert_eq!(agent.session.finish().await.usage.input, 100);
}

#[tokio::test]
async fn stream_is_cut_where_its_usage_exceeds_the_dollars() {
    let never = Arc::new(Notify::new());
    let held = Arc::clone(&never);
    let server = ScriptedServer::start(move |_, _| {
        let mut script = Script::events(&stream("one two", 1_000_000, 2)[..3]);
        script.0.push(Step::Wait(Arc::clone(&held)));
        script
    })
    .await;
    // A million tokens of input are 3 dollars.
    let limits = ProxyLimits {
        cost_usd: Some(2.5),
        ..ProxyLimits::default()
    };
    let agent = Agent::start(&proxy_to(server.port), limited(limits)).await;
    let port = agent.port;
    let mut agent_side = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .unwrap();
    let body = question("q").to_string();
    let request = format!(
        "POST /anthropic/v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: {TOKEN}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    agent_side.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(
        agent.session.ended().await,
        SessionEnd::Limit(ReachedLimit::CostUsd(2.5))
    );
    // The connection ends, and not as a whole answer ends.
    let mut got = Vec::new();
    agent_side.read_to_end(&mut got).await.unwrap();
    assert!(!got.ends_with(b"0\r\n\r\n"));
    let report = agent.session.finish().await;
    assert_eq!((report.turns, report.turns_without_usage), (1, 1));
    assert!(
        report.cost_usd.unwrap() > 2.9 && report.is_lower_bound,
        "{report:?}"
    );
}

#[tokio::test]
async fn model_without_a_price_is_refused_under_a_limit_of_dollars() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let limits = ProxyLimits {
        cost_usd: Some(1.0),
        ..ProxyLimits::default()
    };
    let agent = Agent::start(&proxy_to(server.port), limited(limits)).await;
    let got = agent
        .message(&json!({"model": "dear", "messages": []}))
        .await;
    assert_eq!(got.status, 403);
    let why = "the model dear has no price, which the limit `cost_usd` requires";
    assert_eq!(got.json()["error"]["message"], why);
    assert_eq!(agent.message(&question("q")).await.status, 200);
    let report = agent.session.finish().await;
    assert_eq!((report.denied, report.turns), (vec![why.to_owned()], 1));
}

#[tokio::test]
async fn parallel_calls_do_not_exceed_the_turns() {
    let go = Arc::new(Notify::new());
    let held = Arc::clone(&go);
    let server = ScriptedServer::start(move |_, _| {
        let mut script = Script::json(200, answer("x", 5, 2));
        script.0.insert(0, Step::Wait(Arc::clone(&held)));
        script
    })
    .await;
    let limits = ProxyLimits {
        turns: Some(3),
        ..ProxyLimits::default()
    };
    let agent = Agent::start(&proxy_to(server.port), limited(limits)).await;
    let calls = async {
        let asks = question("q");
        let all = tokio::join!(
            agent.message(&asks),
            agent.message(&asks),
            agent.message(&asks),
            agent.message(&asks),
            agent.message(&asks),
            agent.message(&asks),
        );
        let all = [all.0, all.1, all.2, all.3, all.4, all.5];
        all.map(|got| got.status)
    };
    let release = async {
        while server.seen().len() < 3 {
            tokio::task::yield_now().await;
        }
        for _ in 0..3 {
            go.notify_one();
            tokio::task::yield_now().await;
            go.notify_waiters();
        }
        agent.session.ended().await
    };
    let (mut statuses, end) = tokio::join!(calls, release);
    statuses.sort_unstable();
    assert_eq!(end, SessionEnd::Limit(ReachedLimit::Turns(3)));
    assert_eq!(
        (statuses, server.seen().len()),
        ([200, 200, 200, 403, 403, 403], 3)
    );
}

#[tokio::test]
async fn call_that_the_agent_gives_up_is_a_turn_of_unknown_usage() {
    let never = Arc::new(Notify::new());
    let held = Arc::clone(&never);
    let server =
        ScriptedServer::start(move |_, _| Script(vec![Step::Wait(Arc::clone(&held))])).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let body = question("q");
    let headers = [("x-api-key", TOKEN)];
    let call = agent.open("POST", "/anthropic/v1/messages", &headers, Some(&body));
    let arrived = async {
        while server.seen().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    // Dropped with its connection.
    tokio::select! {
        _ = call => panic!("there is no answer"),
        () = arrived => {}
    }
    let report = agent.session.finish().await;
    assert_eq!((report.turns, report.turns_without_usage), (1, 1));
    assert_eq!((report.cost_usd, report.is_lower_bound), (None, true));
}
