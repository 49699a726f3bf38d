//! HTTP targets against real servers: what is sent, what becomes an output, and what is said of
//! servers that misbehave.

use std::collections::BTreeMap;
use std::path::Path;

use eval_harness::internals::{
    LoadOverrides, LoadRequest, OutputValue, Plan, PlanPurpose, RunTargets, SourceFiles,
    TargetAnswer, load, render,
};
use serde_json::{Value, json};

use crate::server::{Identity, Reply, Server, hang};
use crate::support::Project;

/// A suite of one eval with this target and this input, both in flow style.
fn suite(target: &str, input: &str) -> String {
    format!(
        "eval_suite:\n  name: s\n  target: {target}\n  evals:\n    - id: e\n      input: {input}\n      \
         grader: {{type: human, config: {{}}}}\n"
    )
}

fn try_plan(dir: &Path, vars: &[(&str, &str)]) -> Result<Plan, String> {
    let loaded = load(&LoadRequest {
        suite: "suite.yaml".into(),
        purpose: PlanPurpose::Run,
        overrides: LoadOverrides {
            vars: vars
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            ..LoadOverrides::default()
        },
        env: BTreeMap::new(),
        cwd: dir.to_owned(),
        cpus: 1,
        ..LoadRequest::default()
    });
    let told = |sources: &SourceFiles| {
        render::human(&loaded.problems, sources, render::HumanOptions::default())
    };
    loaded.plan.ok_or_else(|| told(&loaded.sources))
}

/// What asking for the first case comes to.
fn ask_in(project: &Project) -> TargetAnswer {
    let plan = try_plan(project.path(), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let case = plan.evals[0]
        .cases
        .get(0)
        .expect("a case")
        .expect("a whole case");
    let targets = RunTargets::open(&plan).expect("targets");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(targets.ask("e", &case, (0, 0), None))
}

fn ask(target: &str, input: &str) -> TargetAnswer {
    ask_in(&Project::with(&[("suite.yaml", &suite(target, input))]))
}

fn get(server: &Server, more: &str) -> TargetAnswer {
    ask(
        &format!("{{type: http, base_url: \"{}\"{more}}}", server.url()),
        "{type: api_call, endpoint: /x}",
    )
}

fn output(answer: TargetAnswer) -> Value {
    match answer.result.expect("an output").value {
        OutputValue::Json(value) => value,
        other => panic!("no data: {other:?}"),
    }
}

/// `cause (retryable or final): reason`, or the output, with the server's port left out.
fn said(answer: &TargetAnswer, server: &Server) -> String {
    let said = match &answer.result {
        Ok(output) => {
            let value = serde_json::to_string(&output.value).unwrap();
            format!(
                "{}{value}",
                if output.truncated { "truncated " } else { "" }
            )
        }
        Err(failure) => {
            let again = if failure.retryable { "again" } else { "final" };
            let part = failure
                .output
                .as_ref()
                .map(|output| serde_json::to_string(&output.value).unwrap());
            let part = part.map(|part| format!(" -- {part}")).unwrap_or_default();
            format!("{} ({again}): {}{part}", failure.cause, failure.reason)
        }
    };
    said.replace(&server.port().to_string(), "PORT")
}

#[test]
fn a_request_is_what_its_author_wrote() {
    let server = Server::start(|request| Reply::json(&request.echo()));
    let target = format!(
        "{{type: http, base_url: \"{}/api/\", headers: {{X-Both: target, x-target: t, Accept: text/plain}}}}",
        server.url()
    );
    let echo = |input: &str| output(ask(&target, input))["body"].clone();
    let whole = echo(
        "{type: api_call, method: patch, endpoint: '/v1/users?a=%2F+x&a=&b', query: {c: 1, d: [x y, true]}, \
         headers: {x-both: input, Authorization: Bearer t}, body: {n: 12345678901234567890123, t: é}}",
    );
    assert_eq!(
        (whole["method"].as_str(), whole["target"].as_str()),
        (
            Some("PATCH"),
            Some("/api/v1/users?a=%2F+x&a=&b&c=1&d=x%20y&d=true")
        )
    );
    assert_eq!(whole["body"], "{\"n\":12345678901234567890123,\"t\":\"é\"}");
    let headers = &whole["headers"];
    let told = [
        "x-both",
        "x-target",
        "authorization",
        "accept",
        "content-type",
    ]
    .map(|name| &headers[name]);
    assert_eq!(
        told,
        ["input", "t", "Bearer t", "text/plain", "application/json"]
    );
    assert!(
        headers["user-agent"]
            .as_str()
            .is_some_and(|agent| agent.starts_with("eval-harness/"))
    );
    assert_eq!(headers["accept-encoding"], Value::Null);

    let text = echo("{type: api_call, method: POST, endpoint: v1, body: 'a text'}");
    assert_eq!(
        (&text["body"], &text["headers"]["content-type"]),
        (&json!("a text"), &json!("text/plain; charset=utf-8"))
    );
    let own = echo(
        "{type: api_call, method: POST, endpoint: v1, headers: {CONTENT-TYPE: application/x-own}, body: {a: 1}}",
    );
    assert_eq!(
        (&own["body"], &own["headers"]["content-type"]),
        (&json!("{\"a\":1}"), &json!("application/x-own"))
    );
    let bare = echo("{type: api_call, endpoint: ''}");
    assert_eq!(
        (&bare["method"], &bare["target"]),
        (&json!("GET"), &json!("/api"))
    );
    assert_eq!(
        (
            &bare["headers"]["content-type"],
            &bare["headers"]["content-length"]
        ),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn any_status_is_an_output_and_none_is_asked_twice() {
    for status in [200, 201, 204, 206, 304, 400, 401, 404, 429, 500, 503] {
        let server = Server::start(move |_| Reply {
            status,
            ..Reply::new(status, "application/json", "{\"a\": 1}")
        });
        let value = output(get(&server, ""));
        assert_eq!(value["status"], status);
        let body = if matches!(status, 204 | 304) {
            json!("")
        } else {
            json!({"a": 1})
        };
        assert_eq!(value["body"], body, "{status}");
        assert_eq!(server.received().len(), 1);
    }
}

#[test]
fn answers_become_outputs_whatever_they_hold() {
    let cases: [(&str, &str, &[u8]); 8] = [
        ("names twice", "application/json", b"{\"a\": 1, \"a\": 2}"),
        ("broken JSON", "application/json", b"{\"a\": 1"),
        ("bytes", "application/octet-stream", b"\xff\xfe\x00"),
        ("bad UTF-8", "text/plain; charset=utf-8", b"caf\xe9"),
        ("Latin-1", "text/plain; charset=iso-8859-1", b"caf\xe9"),
        (
            "gzip not asked for",
            "application/json",
            b"\x1f\x8b\x08\x00\x00",
        ),
        (
            "problem",
            "application/problem+json",
            b"{\"title\": \"no\"}",
        ),
        ("nothing", "application/json", b""),
    ];
    let mut told = String::new();
    for (name, kind, body) in cases {
        let server = Server::start(move |_| Reply::new(200, kind, body));
        told.push_str(&format!("{name}: {}\n", output(get(&server, ""))["body"]));
    }
    insta::assert_snapshot!(told, @r##"
    names twice: "{\"a\": 1, \"a\": 2}"
    broken JSON: "{\"a\": 1"
    bytes: {"base64":"//4A"}
    bad UTF-8: {"base64":"Y2Fm6Q=="}
    Latin-1: "café"
    gzip not asked for: {"base64":"H4sIAAA="}
    problem: {"title":"no"}
    nothing: ""
    "##);
    let server = Server::start(|_| {
        Reply::status(200)
            .with("Set-Cookie", "sid=12345")
            .with("Set-Cookie", "b=2")
            .with("Vary", "a")
            .with("vary", "b")
    });
    let headers = output(get(&server, ""))["headers"].clone();
    assert_eq!(
        headers,
        json!({"set-cookie": "[redacted]", "vary": "a, b", "content-length": "0"})
    );
}

#[test]
fn every_framing_of_a_body_is_read() {
    let framings: [(&str, &'static [u8]); 5] = [
        (
            "chunked",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
        ),
        ("to the end", b"HTTP/1.1 200 OK\r\n\r\nabcde"),
        ("HTTP/1.0", b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nabcde"),
        ("more than told", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcdefgh"),
        ("after 100", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde"),
    ];
    for (name, bytes) in framings {
        let server = Server::raw(move |_, wire| wire.write_all(bytes).unwrap());
        assert_eq!(output(get(&server, ""))["body"], "abcde", "{name}");
    }
}

#[test]
fn servers_that_misbehave_are_told_apart() {
    let start = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc";
    let hurried = ", timeout_seconds: 0.4";
    let mut told = String::new();
    let mut tell = |name: &str, server: Server, more: &str| {
        told.push_str(&format!("{name}: {}\n", said(&get(&server, more), &server)));
    };
    tell("no answer", Server::raw(|_, _| {}), "");
    tell(
        "cut in the head",
        Server::raw(|_, wire| wire.write_all(b"HTTP/1.1 200 OK\r\ncont").unwrap()),
        "",
    );
    tell(
        "cut in the body",
        Server::raw(move |_, wire| wire.write_all(start.as_bytes()).unwrap()),
        "",
    );
    let chunk = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab";
    tell(
        "cut in a chunk",
        Server::raw(move |_, wire| wire.write_all(chunk.as_bytes()).unwrap()),
        "",
    );
    let bad = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nab";
    tell(
        "a bad chunk",
        Server::raw(move |_, wire| wire.write_all(bad.as_bytes()).unwrap()),
        "",
    );
    tell(
        "garbage",
        Server::raw(|_, wire| wire.write_all(b"SSH-2.0-OpenSSH_9.6\r\n\r\n").unwrap()),
        "",
    );
    tell(
        "noise",
        Server::raw(|_, wire| wire.write_all(&[0; 4096]).unwrap()),
        "",
    );
    let twice = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab";
    tell(
        "two lengths",
        Server::raw(move |_, wire| wire.write_all(twice.as_bytes()).unwrap()),
        "",
    );
    tell(
        "an endless head",
        Server::raw(|_, wire| {
            let mut line = b"HTTP/1.1 200 OK\r\nx: ".to_vec();
            while wire.write_all(&line).is_ok() {
                line = vec![b'x'; 65536];
            }
        }),
        "",
    );
    tell("hangs", Server::raw(|_, wire| hang(wire)), hurried);
    tell(
        "hangs in the body",
        Server::raw(move |_, wire| {
            wire.write_all(start.as_bytes()).unwrap();
            hang(wire);
        }),
        hurried,
    );
    insta::assert_snapshot!(told, @r##"
    no answer: target_unreachable (again): 127.0.0.1:PORT closed the connection without an answer
    cut in the head: target_unreachable (again): 127.0.0.1:PORT closed the connection without an answer
    cut in the body: target_failed (final): 127.0.0.1:PORT closed the connection after 3 bytes of the body -- {"json":{"body":"abc","headers":{"content-length":"10"},"status":200}}
    cut in a chunk: target_failed (final): 127.0.0.1:PORT closed the connection after 2 bytes of the body -- {"json":{"body":"ab","headers":{"transfer-encoding":"chunked"},"status":200}}
    a bad chunk: target_failed (final): the response of 127.0.0.1:PORT is not HTTP: Invalid chunk size line: missing size digit -- {"json":{"body":"","headers":{"transfer-encoding":"chunked"},"status":200}}
    garbage: target_failed (final): the response of 127.0.0.1:PORT is not HTTP: invalid HTTP version parsed
    noise: target_failed (final): the response of 127.0.0.1:PORT is not HTTP: invalid HTTP version parsed
    two lengths: target_failed (final): the response of 127.0.0.1:PORT is not HTTP: invalid content-length parsed
    an endless head: target_failed (final): the response of 127.0.0.1:PORT is not HTTP: message head is too large
    hangs: target_timeout (final): 127.0.0.1:PORT did not answer within 0.4 s
    hangs in the body: target_timeout (final): 127.0.0.1:PORT did not complete its answer (3 bytes of the body were received) within 0.4 s -- {"json":{"body":"abc","headers":{"content-length":"10"},"status":200}}
    "##);
}

#[test]
fn a_slow_drip_ends_with_the_time_and_a_flood_with_the_bound() {
    let drip = Server::raw(|_, wire| {
        let mut bytes = &b"HTTP/1.1 200 OK\r\n\r\nx"[..];
        while wire.write_all(bytes).is_ok() {
            bytes = b"x";
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let answer = get(&drip, ", timeout_seconds: 0.5");
    let failure = answer.result.unwrap_err();
    assert_eq!(failure.cause.to_string(), "target_timeout");
    assert!(
        failure.reason.contains("did not complete its answer")
            && failure.reason.ends_with("within 0.5 s")
    );

    let flood = Server::raw(|_, wire| {
        let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n".to_vec();
        while wire.write_all(&bytes).is_ok() {
            bytes = vec![b'x'; 65536];
        }
    });
    let answer = get(&flood, ", max_body_bytes: 1000");
    let output = answer.result.unwrap();
    assert!(output.truncated);
    let OutputValue::Json(value) = output.value else {
        panic!()
    };
    assert_eq!(value["body"].as_str().map(str::len), Some(1000));
    let exact = Server::start(|_| Reply::new(200, "text/plain", vec![b'x'; 1000]));
    assert!(
        !get(&exact, ", max_body_bytes: 1000")
            .result
            .unwrap()
            .truncated
    );
}

#[test]
fn ten_megabytes_of_json_are_one_output() {
    let rows: Vec<Value> = (0..100_000)
        .map(|n| json!({"id": n, "text": "x".repeat(80)}))
        .collect();
    let text = json!(rows).to_string();
    assert!(text.len() > 10_000_000);
    let server = Server::start(move |_| Reply::new(200, "application/json", text.clone()));
    let value = output(get(&server, ""));
    assert_eq!(value["body"].as_array().map(Vec::len), Some(100_000));
    assert_eq!(value["body"][99_999]["id"], 99_999);
}

#[test]
fn what_nobody_answers_is_unreachable() {
    let gone = Server::start(|_| Reply::status(200));
    let (url, port) = (gone.url(), gone.port());
    drop(gone);
    let mut told = String::new();
    let mut tell = |target: String| {
        let answer = ask(
            &format!("{{type: http, {target}}}"),
            "{type: api_call, endpoint: /x}",
        );
        let failure = answer.result.unwrap_err();
        let reason = failure.reason.replace(&port.to_string(), "PORT");
        told.push_str(&format!(
            "{} {}: {reason}\n",
            failure.cause,
            if failure.retryable { "again" } else { "final" }
        ));
    };
    // The listener goes a moment after its server.
    crate::support::eventually("the port is closed", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_err()
    });
    tell(format!(
        "base_url: \"{}\"",
        url.replace("http://", "http://user:hunter22@")
    ));
    tell("base_url: \"http://no-such-host.invalid/secret-path?\"".replace('?', ""));
    insta::assert_snapshot!(told, @r##"
    target_unreachable again: 127.0.0.1:PORT refuses the connection: no server listens on this port
    target_unreachable again: the host name of no-such-host.invalid:80 cannot be resolved; check its spelling and the network
    "##);
}

#[test]
fn a_full_queue_of_connections_is_a_time_out_of_connecting() {
    // Nobody accepts, and the queue holds one.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = Vec::new();
    while let Ok(stream) =
        std::net::TcpStream::connect_timeout(&address, std::time::Duration::from_millis(200))
    {
        held.push(stream);
        if held.len() > 10_000 {
            panic!("the queue never fills");
        }
    }
    let target =
        format!("{{type: http, base_url: \"http://{address}\", connect_timeout_seconds: 0.3}}");
    let failure = ask(&target, "{type: api_call, endpoint: /x}")
        .result
        .unwrap_err();
    assert_eq!(
        failure.reason.replace(&address.port().to_string(), "PORT"),
        "127.0.0.1:PORT did not accept a connection within 0.3 s"
    );
    assert_eq!(
        (failure.cause.to_string().as_str(), failure.retryable),
        ("target_unreachable", true)
    );
}

#[test]
fn redirects_are_followed_as_far_as_was_said() {
    let server = Server::start(|request| match request.target.as_str() {
        "/x" => Reply::redirect(302, "/y?q=1"),
        "/y?q=1" => Reply::redirect(307, "z"),
        "/z" => Reply::json(&json!({"method": request.method, "body": request.text()})),
        "/loop" => Reply::redirect(302, "/loop"),
        "/far" => Reply::redirect(301, &format!("/far{}", "x")),
        target if target.starts_with("/far") => Reply::redirect(302, &format!("{target}x")),
        "/elsewhere" => Reply::redirect(302, "ftp://h/x"),
        "/nowhere" => Reply::status(302),
        "/see" => Reply::redirect(303, "/z"),
        "/keep" => Reply::redirect(308, "/z"),
        _ => Reply::status(404),
    });
    let mut told = String::new();
    for (call, more) in [
        ("endpoint: /x", ""),
        ("endpoint: /x", ", redirects: 0"),
        ("endpoint: /x", ", redirects: 1"),
        ("endpoint: /x", ", redirects: 2"),
        ("endpoint: /loop", ""),
        ("endpoint: /far", ", redirects: 3"),
        ("endpoint: /elsewhere", ""),
        ("endpoint: /nowhere", ""),
        ("method: POST, body: b, endpoint: /x", ""),
        ("method: PUT, body: b, endpoint: /see", ""),
        ("method: POST, body: b, endpoint: /keep", ""),
    ] {
        let target = format!("{{type: http, base_url: \"{}\"{more}}}", server.url());
        let mut answer = ask(&target, &format!("{{type: api_call, {call}}}"));
        if let Ok(output) = &mut answer.result
            && let OutputValue::Json(value) = &mut output.value
        {
            *value = json!([value["status"], value["headers"]["location"], value["body"]]);
        }
        told.push_str(&format!("{call}{more}: {}\n", said(&answer, &server)));
    }
    insta::assert_snapshot!(told, @r##"
    endpoint: /x: {"json":[200,null,{"body":"","method":"GET"}]}
    endpoint: /x, redirects: 0: {"json":[302,"/y?q=1",""]}
    endpoint: /x, redirects: 1: target_failed (final): 127.0.0.1:PORT exceeds the limit of 1 redirects
    endpoint: /x, redirects: 2: {"json":[200,null,{"body":"","method":"GET"}]}
    endpoint: /loop: target_failed (final): 127.0.0.1:PORT redirects in a circle
    endpoint: /far, redirects: 3: target_failed (final): 127.0.0.1:PORT exceeds the limit of 3 redirects
    endpoint: /elsewhere: target_failed (final): 127.0.0.1:PORT redirects to an address that is not HTTP
    endpoint: /nowhere: {"json":[302,null,""]}
    method: POST, body: b, endpoint: /x: {"json":[200,null,{"body":"","method":"GET"}]}
    method: PUT, body: b, endpoint: /see: {"json":[200,null,{"body":"","method":"GET"}]}
    method: POST, body: b, endpoint: /keep: {"json":[200,null,{"body":"b","method":"POST"}]}
    "##);
}

#[test]
fn a_redirect_to_a_stranger_takes_no_secrets_along() {
    let stranger = Server::start(|request| Reply::json(&request.echo()));
    let place = format!("{}/there", stranger.url());
    let server = Server::start(move |request| match request.target.as_str() {
        "/x" => Reply::redirect(307, "/again"),
        _ => Reply::redirect(307, &place),
    });
    let target = format!(
        "{{type: http, base_url: \"{}\", headers: {{X-Api-Key: k-123456, X-Plain: p}}}}",
        server.url().replace("http://", "http://user:hunter22@")
    );
    let input = "{type: api_call, method: POST, endpoint: /x, body: b, headers: {Authorization: Bearer t-123456, Cookie: a=b}}";
    let echo = output(ask(&target, input))["body"].clone();
    assert_eq!(
        (&echo["method"], &echo["target"], &echo["body"]),
        (&json!("POST"), &json!("/there"), &json!("b"))
    );
    let headers = &echo["headers"];
    assert_eq!(
        ["authorization", "x-api-key", "cookie", "x-plain"].map(|name| headers[name].clone()),
        [Value::Null, Value::Null, Value::Null, json!("p")]
    );
    // At home they come along.
    let home = server.received();
    assert_eq!(home[1].header("authorization"), Some("Bearer t-123456"));
    assert_eq!(home[1].header("x-api-key"), Some("k-123456"));
}

#[test]
fn at_home_the_user_of_the_address_comes_along_however_the_redirect_is_written() {
    let server = Server::start(|request| match request.target.as_str() {
        "/absolute" => Reply::redirect(
            302,
            &format!("http://{}/end", request.header("host").unwrap_or_default()),
        ),
        "/relative" => Reply::redirect(302, "/end"),
        _ => Reply::json(&request.echo()),
    });
    let target = format!(
        "{{type: http, base_url: \"{}\"}}",
        server.url().replace("http://", "http://user:hunter22@")
    );
    for place in ["absolute", "relative"] {
        let echo = output(ask(
            &target,
            &format!("{{type: api_call, endpoint: /{place}}}"),
        ))["body"]
            .clone();
        assert_eq!(
            echo["headers"]["authorization"], "Basic dXNlcjpodW50ZXIyMg==",
            "{place}"
        );
    }
}

/// Certificates for 127.0.0.1 signed by an authority of the test's own.
fn signed(change: impl FnOnce(&mut rcgen::CertificateParams), name: &str) -> (String, Identity) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root = authority.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::new(authority, key);
    let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    change(&mut params);
    let own = rcgen::KeyPair::generate().unwrap();
    let certificate = params.signed_by(&own, &issuer).unwrap();
    (
        root.pem(),
        Identity {
            certificate: certificate.pem(),
            key: own.serialize_pem(),
        },
    )
}

/// A certificate as `openssl req -x509` makes it: its own authority.
fn self_signed(name: &str) -> (String, Identity) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().pem();
    (
        certificate.clone(),
        Identity {
            certificate,
            key: key.serialize_pem(),
        },
    )
}

#[test]
fn certificates_are_checked() {
    let (root, good) = signed(|_| {}, "127.0.0.1");
    let (other_root, _) = signed(|_| {}, "127.0.0.1");
    let (expired_root, expired) = signed(
        |params| {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        },
        "127.0.0.1",
    );
    let (early_root, early) = signed(
        |params| params.not_before = rcgen::date_time_ymd(4000, 1, 1),
        "127.0.0.1",
    );
    let (named_root, named) = signed(|_| {}, "elsewhere.example");
    let (own_root, own) = self_signed("127.0.0.1");
    let (other_own_root, _) = self_signed("127.0.0.1");
    let (misnamed_root, misnamed) = self_signed("elsewhere.example");
    let mut told = String::new();
    for (name, identity, trusted, more) in [
        ("self-signed", &own, &own_root, ""),
        ("another self-signed", &own, &other_own_root, ""),
        ("self-signed, wrong name", &misnamed, &misnamed_root, ""),
        ("known", &good, &root, ""),
        ("unknown", &good, &other_root, ""),
        ("insecure", &good, &other_root, ", insecure: true"),
        ("expired", &expired, &expired_root, ""),
        ("too early", &early, &early_root, ""),
        ("wrong name", &named, &named_root, ""),
        (
            "wrong name, insecure",
            &named,
            &named_root,
            ", insecure: true",
        ),
    ] {
        let server = Server::tls(identity, |_| Reply::json(&json!({"secure": true})));
        let url = server.url().replace("http://", "https://");
        let target = format!("{{type: http, base_url: \"{url}\", ca_file: certs/ca.pem{more}}}");
        let project = Project::with(&[
            (
                "suite.yaml",
                &suite(&target, "{type: api_call, endpoint: /x}"),
            ),
            ("certs/ca.pem", trusted),
        ]);
        let mut answer = ask_in(&project);
        if let Ok(output) = &mut answer.result
            && let OutputValue::Json(value) = &mut output.value
        {
            *value = value["body"].take();
        }
        told.push_str(&format!("{name}: {}\n", said(&answer, &server)));
    }
    let plain = Server::unread(|wire| {
        let _ = wire.read(&mut [0; 100]);
        let _ = wire.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    let url = plain.url().replace("http://", "https://");
    let answer = ask(
        &format!("{{type: http, base_url: \"{url}\"}}"),
        "{type: api_call, endpoint: /x}",
    );
    told.push_str(&format!("no TLS there: {}\n", said(&answer, &plain)));
    let secure = Server::tls(&good, |_| Reply::status(200));
    told.push_str(&format!(
        "TLS there: {}\n",
        said(&get(&secure, ""), &secure)
    ));
    insta::assert_snapshot!(told, @r##"
    self-signed: {"json":{"secure":true}}
    another self-signed: target_unreachable (final): no TLS connection to 127.0.0.1:PORT: its certificate is self-signed and is not in `ca_file`; set `ca_file` to this certificate
    self-signed, wrong name: target_unreachable (final): no TLS connection to 127.0.0.1:PORT: its certificate is for a different host name
    known: {"json":{"secure":true}}
    unknown: target_unreachable (final): no TLS connection to 127.0.0.1:PORT: its certificate is signed by an authority that this machine does not trust; set `ca_file` to the authority's certificate
    insecure: {"json":{"secure":true}}
    expired: target_unreachable (final): no TLS connection to 127.0.0.1:PORT: its certificate has expired
    too early: target_unreachable (final): no TLS connection to 127.0.0.1:PORT: its certificate is not valid yet; check the clock of this machine
    wrong name: target_unreachable (final): no TLS connection to 127.0.0.1:PORT: its certificate is for a different host name
    wrong name, insecure: {"json":{"secure":true}}
    no TLS there: target_unreachable (final): no TLS connection to 127.0.0.1:PORT: it does not use TLS; if it speaks plain HTTP, write `http://`
    TLS there: target_failed (final): the response of 127.0.0.1:PORT is not HTTP: invalid HTTP version parsed
    "##);
}
