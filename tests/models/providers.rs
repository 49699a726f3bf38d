//! One try of a call of a model against real servers: good ones, and such that misbehave in every
//! way there is.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use eval_base::clock::SystemClock;
use eval_harness::internals::{
    ApiKey, CacheMode, CallLimits, Endpoint, KeySource, KeyValue, LaneLimits, ModelSettings,
    ProviderApi, SamplingOptions,
};
use eval_models::net::{ClientSettings, HttpClients, NetworkRequest, read_url};
use eval_models::{
    CallIndex, ChatMessage, FaultKind, ModelAnswer, ModelRequest, ModelSpending, ModelsConfig,
    RunModels,
};
use serde_json::{Value, json};

use crate::server::{Identity, Reply, Server, Wire, hang};

const KEY: &str = "sk-secret-0123456789";

fn endpoint(base_url: &str) -> Endpoint {
    Endpoint {
        address_variable: None,
        api: ProviderApi::Openai,
        provider: "mine".to_owned(),
        model: "small".to_owned(),
        base_url: base_url.to_owned(),
        headers: BTreeMap::new(),
        dialect: None,
        key: Some(ApiKey {
            source: KeySource::Variable("KEY".to_owned()),
            value: KEY.to_owned().into(),
        }),
        limits: LaneLimits {
            lane: base_url.to_owned(),
            ..LaneLimits::default()
        },
        patience: CallLimits {
            retries: 0,
            max_answer_bytes: 1 << 20,
            ..CallLimits::default()
        },
        ca_file: None,
        insecure: false,
        price: None,
        replay: None,
    }
}

fn call() -> ModelRequest {
    ModelRequest {
        system: None,
        messages: vec![ChatMessage::user("What is the capital of France?")],
        sampling: SamplingOptions::default(),
        index: CallIndex::default(),
        timeout: Duration::from_secs(30),
    }
}

fn models() -> RunModels {
    RunModels::new(ModelsConfig {
        settings: ModelSettings {
            cache: CacheMode::Off,
            ..ModelSettings::default()
        },
        spent: ModelSpending::default(),
        clock: Arc::new(SystemClock),
        redactor: eval_base::redact::Redactor::default(),
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn ask(endpoint: &Endpoint) -> ModelAnswer {
    runtime().block_on(models().ask(endpoint, &call()))
}

/// What came of it, in one line, without the port.
fn told(endpoint: &Endpoint, answer: &ModelAnswer) -> String {
    let port = endpoint
        .base_url
        .rsplit(':')
        .next()
        .and_then(|rest| rest.split('/').next())
        .unwrap_or_default();
    match &answer.result {
        Ok(completion) => format!("{:?} {:?}", completion.finish, completion.text),
        Err(fault) => {
            assert!(
                !fault.reason.contains("capital") && !fault.reason.contains(KEY),
                "{}",
                fault.reason
            );
            let again = if fault.kind.is_retryable() {
                " (again)"
            } else {
                ""
            };
            let reason = match port {
                "" => fault.reason.clone(),
                port => fault.reason.replace(&format!(":{port}"), ":PORT"),
            };
            format!("{}{again}: {reason}", fault.kind.label())
        }
    }
}

fn good() -> Value {
    json!({"model": "small-1", "choices": [{"message": {"content": "Paris"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 8, "completion_tokens": 1}})
}

fn head(more: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{more}\r\n")
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).expect("memory takes it");
    packed.finish().expect("memory takes it")
}

/// Writes as long as the other side takes it.
fn write(wire: &mut dyn Wire, bytes: impl AsRef<[u8]>) {
    let _ = wire.write_all(bytes.as_ref()).and_then(|()| wire.flush());
}

#[test]
fn a_good_answer_is_a_completion_with_its_tokens_and_its_time() {
    let server = Server::start(|request| {
        assert_eq!(request.header("accept-encoding"), Some("gzip"));
        Reply::new(
            200,
            "application/json",
            gzipped(good().to_string().as_bytes()),
        )
        .with("content-encoding", "gzip")
    });
    let own = endpoint(&format!("{}/v1", server.url()));
    let answer = ask(&own);
    let completion = answer.result.expect("a completion");
    let tokens = completion.tokens.expect("tokens");
    assert_eq!(
        (completion.text.as_str(), completion.model.as_deref()),
        ("Paris", Some("small-1"))
    );
    assert_eq!((tokens.input, tokens.output), (8, 1));
    assert!(answer.latency.is_some());
    assert_eq!(answer.call.requests, 1);
    let received = &server.received()[0];
    assert_eq!(
        (received.method.as_str(), received.target.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(
        received.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    insta::assert_snapshot!(received.text(), @r#"{"messages":[{"content":"What is the capital of France?","role":"user"}],"model":"small"}"#);
}

#[test]
fn reasoning_in_parts_is_no_answer() {
    let chunks = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Rome? no"}]}]);
    let mistral = |content: Value| json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]});
    let anthropic = |content: Value| json!({"content": content, "stop_reason": "end_turn"});
    let redacted = json!({"type": "redacted_thinking", "data": "EmwKAhgB"});
    let answer = json!({"type": "text", "text": "Paris"});
    let cases = [
        (ProviderApi::Openai, mistral(chunks.clone())),
        (ProviderApi::Openai, mistral(json!([chunks[0], answer]))),
        (ProviderApi::Anthropic, anthropic(json!([redacted]))),
        (ProviderApi::Anthropic, anthropic(json!([redacted, answer]))),
    ];
    let mut shown = String::new();
    for (api, body) in cases {
        let server = Server::start(move |_| Reply::json(&body));
        let own = Endpoint {
            api,
            ..endpoint(&server.url())
        };
        let answer = ask(&own);
        let thoughts = answer
            .result
            .as_ref()
            .ok()
            .and_then(|completion| completion.thoughts.clone());
        shown.push_str(&format!("{} {thoughts:?}\n", told(&own, &answer)));
    }
    insta::assert_snapshot!(shown, @r#"
    only_reasoning: 127.0.0.1:PORT answered with reasoning and no text; raise `max_tokens`, or lower the model's reasoning effort None
    Stop "Paris" Some("Rome? no")
    only_reasoning: 127.0.0.1:PORT answered with reasoning and no text; raise `max_tokens`, or lower the model's reasoning effort None
    Stop "Paris" Some("[reasoning that the API does not show]")
    "#);
}

#[test]
fn answers_that_are_none_are_labelled() {
    let mut said = String::new();
    let mut see = |name: &str, server: Server| {
        let own = endpoint(&server.url());
        said.push_str(&format!("{name}: {}\n", told(&own, &ask(&own))));
    };
    let whole = good().to_string();
    let packed = gzipped(whole.as_bytes());
    see("no answer", Server::raw(|_, _| {}));
    see(
        "no HTTP",
        Server::raw(|_, wire| write(wire, "SSH-2.0-OpenSSH_9.6\r\n")),
    );
    see("cut", {
        let half = whole[..20].to_owned();
        Server::raw(move |_, wire| write(wire, head("content-length: 100\r\n") + &half))
    });
    see(
        "broken chunk",
        Server::raw(|_, wire| {
            write(
                wire,
                head("transfer-encoding: chunked\r\n") + "ZZ\r\n{}\r\n",
            )
        }),
    );
    see(
        "cut in a chunk",
        Server::raw(|_, wire| {
            write(
                wire,
                head("transfer-encoding: chunked\r\n") + "ff\r\n{\"cho",
            )
        }),
    );
    see("no last chunk", {
        let whole = whole.clone();
        let length = whole.len();
        Server::raw(move |_, wire| {
            write(
                wire,
                head("transfer-encoding: chunked\r\n") + &format!("{length:x}\r\n{whole}\r\n"),
            );
        })
    });
    let gzip = |body: Vec<u8>| {
        Server::start(move |_| {
            Reply::new(200, "application/json", body.clone()).with("content-encoding", "gzip")
        })
    };
    see("no gzip", gzip(whole.clone().into_bytes()));
    see("cut gzip", gzip(packed[..packed.len() - 12].to_vec()));
    see("broken gzip", {
        let mut broken = packed.clone();
        let middle = broken.len() / 2;
        broken[middle..].fill(0xff);
        gzip(broken)
    });
    see("gzip bomb", gzip(gzipped(&vec![b' '; 20 << 20])));
    let plain = |kind: &'static str, body: String| {
        Server::start(move |_| Reply::new(200, kind, body.clone()))
    };
    see("words", plain("text/plain", "All is well.".to_owned()));
    see(
        "HTML",
        plain(
            "text/html",
            "<!doctype html><html><head><title>Sign in</title>".to_owned(),
        ),
    );
    see(
        "cut JSON",
        plain("application/json", whole[..whole.len() - 9].to_owned()),
    );
    see(
        "other JSON",
        plain("application/json", "{\"ok\": true}".to_owned()),
    );
    see("no body", plain("application/json", String::new()));
    let json = |value: Value| Server::start(move |_| Reply::json(&value));
    see(
        "error body",
        json(json!({"error": {"message": "CUDA out of memory", "type": "server_error"}})),
    );
    let finish = |content: Value, reason: &str| {
        json(json!({"choices": [{"message": {"content": content}, "finish_reason": reason}]}))
    };
    see("empty", finish(json!(""), "stop"));
    see(
        "refused",
        finish(json!("I can't help with that."), "content_filter"),
    );
    see(
        "refused without a word",
        finish(Value::Null, "content_filter"),
    );
    see("length", finish(json!("The capital of Fr"), "length"));
    see("length without a word", finish(json!(""), "length"));
    see(
        "HTML of a gateway",
        Server::start(|_| Reply::new(502, "text/html", "<html><title>502 Bad Gateway</title>")),
    );
    see("bad key", {
        Server::start(|request| {
            let sent = request.header("authorization").unwrap_or_default();
            let error =
                json!({"error": {"message": format!("Incorrect API key provided: {sent}")}});
            Reply::new(401, "application/json", error.to_string())
        })
    });
    see(
        "cut error",
        Server::raw(|_, wire| {
            write(
                wire,
                "HTTP/1.1 503 Busy\r\ncontent-length: 99\r\n\r\n{\"err",
            )
        }),
    );
    insta::assert_snapshot!(said, @r#"
    no answer: reset (again): 127.0.0.1:PORT closed the connection without an answer
    no HTTP: unreadable (again): the response of 127.0.0.1:PORT is not HTTP: invalid HTTP version parsed
    cut: reset (again): 127.0.0.1:PORT closed the connection after 20 bytes of the body
    broken chunk: unreadable (again): the response of 127.0.0.1:PORT is not HTTP: Invalid chunk size line: missing size digit
    cut in a chunk: reset (again): 127.0.0.1:PORT closed the connection after 5 bytes of the body
    no last chunk: reset (again): 127.0.0.1:PORT closed the connection after 136 bytes of the body
    no gzip: unreadable (again): the compressed response of 127.0.0.1:PORT cannot be decompressed: Invalid gzip header
    cut gzip: unreadable (again): the compressed response of 127.0.0.1:PORT cannot be decompressed: unexpected end of file
    broken gzip: unreadable (again): the compressed response of 127.0.0.1:PORT cannot be decompressed: unexpected end of file
    gzip bomb: too_large: the answer of 127.0.0.1:PORT exceeds the limit of 1048576 bytes
    words: unreadable (again): 127.0.0.1:PORT answered with text that is not JSON
    HTML: unreadable (again): 127.0.0.1:PORT answered with an HTML page titled `Sign in`
    cut JSON: unreadable (again): 127.0.0.1:PORT answered with JSON that ends early, after 127 bytes
    other JSON: unreadable (again): 127.0.0.1:PORT answered with JSON that is not an answer: it has no `choices`
    no body: empty (again): 127.0.0.1:PORT answered without a body
    error body: error_body (again): 127.0.0.1:PORT answered with an error, although the HTTP status is a success: CUDA out of memory
    empty: empty (again): 127.0.0.1:PORT answered with an empty text
    refused: Refused "I can't help with that."
    refused without a word: Refused ""
    length: Length "The capital of Fr"
    length without a word: cut: 127.0.0.1:PORT reached the token limit before the answer had any text; raise `max_tokens`
    HTML of a gateway: 5xx (again): 127.0.0.1:PORT answered 502: an HTML page titled `502 Bad Gateway`
    bad key: unauthorized: 127.0.0.1:PORT answered 401: Incorrect API key provided: Bearer [redacted]
    cut error: 503 (again): 127.0.0.1:PORT answered 503: {"err
    "#);
}

#[test]
fn a_reset_in_an_answer_is_one() {
    // What was not read when a connection is closed makes it a reset.
    let server = Server::unread(|wire| {
        let _ = wire.read(&mut [0]);
        write(wire, head("content-length: 100\r\n") + "{\"choices\"");
    });
    let own = endpoint(&server.url());
    assert_eq!(
        ask(&own).result.expect_err("no completion").kind,
        FaultKind::Reset
    );
}

#[test]
fn waiting_has_an_end_for_the_head_and_for_the_whole() {
    let short = |server: &Server, first_byte: Option<u64>, total: u64| {
        let mut own = endpoint(&server.url());
        own.patience.first_byte = first_byte.map(Duration::from_millis);
        own.patience.total = Some(Duration::from_millis(total));
        told(&own, &ask(&own))
    };
    let silent = Server::raw(|_, wire| hang(wire));
    let stalled = Server::raw(|_, wire| {
        write(wire, head("content-length: 100\r\n") + "{\"choices");
        hang(wire);
    });
    // A byte at a time, and never the last.
    let trickling = Server::raw(|_, wire| {
        write(wire, head("content-length: 1000000\r\n"));
        while wire.write_all(b" ").and_then(|()| wire.flush()).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut said = format!("{}\n", short(&silent, None, 300));
    said.push_str(&format!("{}\n", short(&silent, Some(200), 60_000)));
    said.push_str(&format!("{}\n", short(&stalled, Some(30_000), 400)));
    let trickled = short(&trickling, Some(30_000), 400);
    said.push_str(trickled.split(" (").next().expect("a beginning"));
    insta::assert_snapshot!(said, @r#"
    timeout (again): 127.0.0.1:PORT did not answer within 0.3 s
    timeout (again): 127.0.0.1:PORT did not answer within 0.2 s
    timeout (again): 127.0.0.1:PORT did not complete its answer (9 bytes of the body were received) within 0.4 s
    timeout
    "#);
}

#[test]
fn an_endless_answer_is_left_at_its_bound() {
    let written = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&written);
    let server = Server::raw(move |_, wire| {
        write(wire, head("content-length: 500000000\r\n"));
        let piece = vec![b' '; 64 << 10];
        for _ in 0..8000 {
            if wire.write_all(&piece).is_err() {
                return;
            }
            count.fetch_add(piece.len() as u64, Ordering::SeqCst);
        }
    });
    let own = endpoint(&server.url());
    let said = told(&own, &ask(&own));
    insta::assert_snapshot!(said, @"too_large: the answer of 127.0.0.1:PORT exceeds the limit of 1048576 bytes");
    // What the machine's own buffers took is all that came besides.
    assert!(written.load(Ordering::SeqCst) < 100 << 20);
}

#[test]
fn what_cannot_be_reached_is_labelled_and_counts_as_not_sent() {
    let free = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port");
    let mut said = String::new();
    let mut see = |own: Endpoint| {
        let answer = ask(&own);
        assert_eq!((answer.call.requests, answer.latency), (0, None));
        said.push_str(&format!("{}\n", told(&own, &answer)));
    };
    see(endpoint(&format!("http://{free}")));
    see(endpoint("http://no-such-host.invalid:80"));
    let (_, identity) = signed("127.0.0.1");
    let strange = Server::tls(&identity, |_| Reply::json(&good()));
    see(endpoint(&strange.url().replace("http://", "https://")));
    let no_tls = Server::unread(|wire| {
        let _ = wire.read(&mut [0; 4096]);
        write(wire, "HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    see(endpoint(&no_tls.url().replace("http://", "https://")));
    let plain = Server::start(|_| Reply::json(&good()));
    let mut unset = endpoint(&plain.url());
    unset.key = Some(ApiKey {
        source: KeySource::Variable("MY_KEY".to_owned()),
        value: KeyValue::default(),
    });
    see(unset);
    let mut spoiled = endpoint(&plain.url());
    spoiled
        .headers
        .insert("X-A".to_owned(), "line\nbreak".to_owned());
    see(spoiled);
    assert!(plain.received().is_empty());
    insta::assert_snapshot!(said, @r#"
    unreachable (again): 127.0.0.1:PORT refuses the connection: no server listens on this port
    unreachable (again): the host name of no-such-host.invalid:PORT cannot be resolved; check its spelling and the network
    tls: no TLS connection to 127.0.0.1:PORT: its certificate is signed by an authority that this machine does not trust; set `ca_file` to the authority's certificate
    tls: no TLS connection to 127.0.0.1:PORT: it does not use TLS; if it speaks plain HTTP, write `http://`
    unauthorized: the key of mine:small is not set: the variable MY_KEY
    settings: the value of the header `X-A` contains a line break or another control character
    "#);
}

#[test]
fn a_server_says_when_to_come_again() {
    let server = Server::start(|_| {
        Reply::status(429)
            .with("retry-after-ms", "1500")
            .with("retry-after", "2")
    });
    let own = endpoint(&server.url());
    let fault = ask(&own).result.expect_err("no completion");
    assert_eq!(
        (fault.kind, fault.status),
        (FaultKind::RateLimited, Some(429))
    );
    assert_eq!(fault.retry_after, Some(Duration::from_millis(1500)));
}

#[test]
fn redirects_take_the_key_to_no_other_host() {
    let mut sent = String::new();
    for api in [ProviderApi::Openai, ProviderApi::Anthropic] {
        let elsewhere = Server::start(|_| Reply::status(401));
        let away = format!("{}/chat", elsewhere.url());
        let home = Server::start(move |request| match request.target.as_str() {
            "/chat/completions" | "/messages" => Reply::redirect(308, "/next"),
            _ => Reply::redirect(307, &away),
        });
        let mut own = endpoint(&home.url());
        own.api = api;
        own.headers
            .insert("X-Team-Token".to_owned(), "team-0123456".to_owned());
        assert_eq!(
            ask(&own).result.expect_err("no completion").kind,
            FaultKind::Unauthorized
        );
        for request in home.received().iter().chain(&elsewhere.received()) {
            let secret = ["authorization", "x-api-key", "x-team-token"];
            let secrets = secret.iter().filter(|name| request.header(name).is_some());
            let secrets: Vec<&str> = secrets.copied().collect();
            let asked = request.text().contains("capital");
            sent.push_str(&format!(
                "{} {} {secrets:?} {asked}\n",
                request.method, request.target
            ));
        }
    }
    insta::assert_snapshot!(sent, @r#"
    POST /chat/completions ["authorization", "x-team-token"] true
    POST /next ["authorization", "x-team-token"] true
    POST /chat [] true
    POST /messages ["x-api-key", "x-team-token"] true
    POST /next ["x-api-key", "x-team-token"] true
    POST /chat [] true
    "#);
}

#[test]
fn an_answer_to_what_a_redirect_made_of_the_question_is_none() {
    let mut said = String::new();
    for status in [301, 302, 303] {
        let server = Server::start(move |request| match request.method.as_str() {
            "POST" => Reply::redirect(status, "/other"),
            _ => Reply::json(&good()),
        });
        let own = endpoint(&server.url());
        said.push_str(&format!("{}\n", told(&own, &ask(&own))));
    }
    insta::assert_snapshot!(said, @r#"
    unknown_model: 127.0.0.1:PORT redirects the request as GET, which drops its body; set `base_url` to the final address
    unknown_model: 127.0.0.1:PORT redirects the request as GET, which drops its body; set `base_url` to the final address
    unknown_model: 127.0.0.1:PORT redirects the request as GET, which drops its body; set `base_url` to the final address
    "#);
}

#[test]
fn a_compressed_answer_that_is_cut_off_is_a_reset() {
    let packed = gzipped(good().to_string().as_bytes());
    let length = packed.len();
    let cut = Server::raw(move |_, wire| {
        write(
            wire,
            head(&format!(
                "content-encoding: gzip\r\ncontent-length: {length}\r\n"
            )),
        );
        write(wire, &packed[..length / 2]);
    });
    let own = endpoint(&cut.url());
    let fault = ask(&own).result.expect_err("no completion");
    assert_eq!(fault.kind, FaultKind::Reset, "{}", fault.reason);
}

#[test]
fn a_kept_connection_that_the_server_closes_is_a_reset_and_the_next_call_gets_through() {
    let count = AtomicU64::new(0);
    let server = Server::kept(move |_, wire| {
        if count.fetch_add(1, Ordering::SeqCst) == 1 {
            return false;
        }
        let body = good().to_string();
        write(
            wire,
            head(&format!("content-length: {}\r\n", body.len())) + &body,
        );
        true
    });
    let own = endpoint(&server.url());
    let models = models();
    let kinds = runtime().block_on(async {
        let mut kinds = Vec::new();
        for _ in 0..3 {
            kinds.push(
                models
                    .ask(&own, &call())
                    .await
                    .result
                    .map(|answer| answer.text)
                    .map_err(|fault| fault.kind),
            );
        }
        kinds
    });
    assert_eq!(
        kinds,
        [
            Ok("Paris".to_owned()),
            Err(FaultKind::Reset),
            Ok("Paris".to_owned())
        ]
    );
    // The second call went over the connection of the first.
    assert_eq!(server.connections(), 2);
}

#[test]
fn hundreds_of_calls_of_one_host_are_in_flight_at_once_and_their_connections_are_kept() {
    const CALLS: usize = 200;
    let barrier = Barrier::new(CALLS);
    // No answer before all have asked: with a bound on connections none would ever come.
    let server = Server::start(move |_| {
        barrier.wait();
        Reply::status(204)
    });
    let client = Arc::new(HttpClients::default());
    let url = read_url(&server.url()).expect("an address");
    runtime().block_on(async {
        for _ in 0..2 {
            let calls: Vec<_> = (0..CALLS)
                .map(|_| {
                    let (client, url) = (Arc::clone(&client), url.clone());
                    tokio::spawn(async move {
                        let request = NetworkRequest {
                            method: "POST".to_owned(),
                            url,
                            headers: Vec::new(),
                            body: Some(b"x".to_vec().into()),
                            timeout: Duration::from_secs(60),
                            first_byte: None,
                            redirects: 0,
                        };
                        let mut answer = client
                            .open(&ClientSettings::default(), &request)
                            .await
                            .expect("an answer");
                        assert_eq!(answer.chunk().await.expect("an end"), None);
                    })
                })
                .collect();
            for call in calls {
                call.await.expect("a call that ends");
            }
        }
    });
    assert_eq!(
        (server.received().len(), server.connections()),
        (2 * CALLS, CALLS)
    );
}

/// The certificate of an authority, and a server's own for a name.
fn signed(name: &str) -> (String, Identity) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut authority = rcgen::CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root = authority.self_signed(&key).expect("a certificate");
    let issuer = rcgen::Issuer::new(authority, key);
    let params = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("a name");
    let own = rcgen::KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&own, &issuer).expect("a certificate");
    (
        root.pem(),
        Identity {
            certificate: certificate.pem(),
            key: own.serialize_pem(),
        },
    )
}

/// A proxy that opens tunnels to one server, whatever it is asked for; says what it was asked for.
fn tunnels_to(server: &Server) -> (String, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (log, address) = (Arc::clone(&asked), server.address);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut near) = stream else { continue };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && near.read(&mut byte).is_ok_and(|n| n > 0) {
                head.push(byte[0]);
            }
            let line = String::from_utf8_lossy(&head)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            log.lock()
                .expect("no test fails while it holds this")
                .push(line);
            let Ok(far) = TcpStream::connect(address) else {
                continue;
            };
            let _ = near.write_all(b"HTTP/1.1 200 Open\r\n\r\n");
            for (mut from, mut to) in [
                (
                    near.try_clone().expect("a handle"),
                    far.try_clone().expect("a handle"),
                ),
                (far, near),
            ] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    (url, asked)
}

/// The variable that makes this test the asking side, and names the address.
const ASKING: &str = "ASKED_BY_A_TEST_OF_PROVIDERS";

/// What a process comes to that asks there with this environment, and without any other variable of
/// proxies.
fn asked_with(base_url: &str, env: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    let test = crate::support::full_name(
        module_path!(),
        "proxies_and_authorities_of_the_environment_count",
    );
    child.args(["--exact", &test, "--nocapture", "--test-threads=1"]);
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ] {
        child.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = child
        .env(ASKING, base_url)
        .envs(env.iter().copied())
        .output()
        .expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text
        .lines()
        .find_map(|line| line.split_once("came of it: "));
    line.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
        .1
        .to_owned()
}

#[test]
fn proxies_and_authorities_of_the_environment_count() {
    if let Ok(base_url) = std::env::var(ASKING) {
        let own = endpoint(&base_url);
        println!("\ncame of it: {}", told(&own, &ask(&own)));
        return;
    }
    // Only a proxy can know this name.
    let (root, identity) = signed("models.invalid");
    let secure = Server::tls(&identity, |_| Reply::json(&good()));
    let (tunnel, tunnels) = tunnels_to(&secure);
    let plain = Server::start(|_| Reply::json(&good()));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, root).expect("a file");
    let strangers = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&strangers, signed("models.invalid").0).expect("a file");
    let (file, folder) = (
        file.to_str().expect("a text"),
        folder.path().to_str().expect("a text"),
    );
    let strangers = strangers.path().to_str().expect("a text");
    let mut said = String::new();
    for (name, base_url, env) in [
        (
            "HTTP_PROXY",
            "http://models.invalid/v1",
            &[("HTTP_PROXY", plain.url().as_str())][..],
        ),
        (
            "http_proxy",
            "http://models.invalid/v1",
            &[("http_proxy", plain.url().as_str())],
        ),
        (
            "HTTPS_PROXY",
            "https://models.invalid/v1",
            &[("HTTPS_PROXY", &tunnel), ("SSL_CERT_FILE", file)],
        ),
        (
            "https_proxy",
            "https://models.invalid/v1",
            &[("https_proxy", &tunnel), ("SSL_CERT_DIR", folder)],
        ),
        (
            "unknown authority",
            "https://models.invalid/v1",
            &[("HTTPS_PROXY", &tunnel), ("SSL_CERT_FILE", strangers)],
        ),
        (
            "NO_PROXY",
            "http://models.invalid/v1",
            &[("HTTP_PROXY", &plain.url()), ("NO_PROXY", ".invalid")],
        ),
        (
            "no_proxy",
            "http://models.invalid/v1",
            &[("http_proxy", &plain.url()), ("no_proxy", "models.invalid")],
        ),
    ] {
        said.push_str(&format!("{name}: {}\n", asked_with(base_url, env)));
    }
    let targets: Vec<String> = plain
        .received()
        .iter()
        .map(|request| request.target.clone())
        .collect();
    assert_eq!(targets, ["http://models.invalid/v1/chat/completions"; 2]);
    assert_eq!(
        *tunnels.lock().expect("whole"),
        ["CONNECT models.invalid:443 HTTP/1.1"; 3]
    );
    insta::assert_snapshot!(said, @r#"
    HTTP_PROXY: Stop "Paris"
    http_proxy: Stop "Paris"
    HTTPS_PROXY: Stop "Paris"
    https_proxy: Stop "Paris"
    unknown authority: tls: no TLS connection to models.invalid:443: its certificate is signed by an authority that this machine does not trust; set `ca_file` to the authority's certificate
    NO_PROXY: unreachable (again): the host name of models.invalid:80 cannot be resolved; check its spelling and the network
    no_proxy: unreachable (again): the host name of models.invalid:80 cannot be resolved; check its spelling and the network
    "#);
}
