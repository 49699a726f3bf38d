//! The scripted model server does what its script says, seen by a client that takes nothing for
//! granted.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::model_server::{
    Act, After, End, Fate, HUGE, ModelServer, Packing, Said, Step, body_of, tokens_of,
};
use serde_json::{Value, json};

/// Sends a question and does not wait.
fn put(stream: &mut TcpStream, path: &str, prompt: &str) {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": prompt}]}).to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nAuthorization: Bearer k-1\r\nAccept-Encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .expect("a server");
}

fn connect(server: &ModelServer) -> TcpStream {
    let stream = TcpStream::connect(server.address).expect("a server");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a socket");
    stream
}

/// All bytes until the end, and how the end looked.
fn all(stream: &mut TcpStream) -> (Vec<u8>, Option<ErrorKind>) {
    let mut bytes = Vec::new();
    let end = stream
        .read_to_end(&mut bytes)
        .err()
        .map(|error| error.kind());
    (bytes, end)
}

/// What a server answers that closes after it.
fn once(act: Act) -> (String, Option<ErrorKind>) {
    let server = ModelServer::start(move |_| act.clone());
    let mut stream = connect(&server);
    put(&mut stream, "/v1/chat/completions", "p");
    let (bytes, end) = all(&mut stream);
    let log = server.settled();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].fate, Fate::Done);
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

/// Reads one answer that has a content-length.
fn sized(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .expect("a length");
    let mut body = vec![0; length.parse().expect("a number")];
    stream.read_exact(&mut body).expect("a body");
    (head, body)
}

#[test]
fn both_apis_are_spoken_on_one_connection_and_the_log_tells_of_it() {
    let server = ModelServer::kind(0);
    let mut stream = connect(&server);
    put(&mut stream, "/v1/chat/completions", "one");
    let (head, body) = sized(&mut stream);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["choices"][0]["message"]["content"], "right one #0");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    put(&mut stream, "/v1/messages", "one");
    let other: Value = serde_json::from_slice(&sized(&mut stream).1).unwrap();
    assert_eq!(other["content"][0]["text"], "right one #1");
    let log = server.settled();
    assert_eq!(server.connections(), 1);
    let keys: Vec<_> = log.iter().map(|entry| entry.ask.key.as_deref()).collect();
    assert_eq!(keys, [Some("k-1"); 2]);
    let said: Vec<(u64, u64)> = log
        .iter()
        .map(|entry| entry.answered().unwrap().tokens.unwrap())
        .collect();
    assert_eq!(said, [tokens_of(&log[0].ask), tokens_of(&log[1].ask)]);
    assert_ne!(said[0], said[1]);
    let told = |body: &Value, name: &str| body["usage"][name].to_string();
    assert_eq!(told(&body, "prompt_tokens"), said[0].0.to_string());
    assert_eq!(told(&other, "output_tokens"), said[1].1.to_string());
}

#[test]
fn answers_come_packed_as_the_script_says() {
    for packing in [Packing::Gzip, Packing::Trickled, Packing::OddType] {
        let server = ModelServer::start(move |ask| {
            Act::Say(Said {
                packing,
                ..Said::right(ask)
            })
        });
        let mut stream = connect(&server);
        put(&mut stream, "/v1/chat/completions", "one");
        let (head, mut body) = sized(&mut stream);
        assert_eq!(
            head.contains("content-encoding: gzip"),
            packing == Packing::Gzip,
            "{head}"
        );
        assert_eq!(
            head.contains("text/html"),
            packing == Packing::OddType,
            "{head}"
        );
        if packing == Packing::Gzip {
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(&body[..])
                .read_to_end(&mut plain)
                .unwrap();
            body = plain;
        }
        let ask = server.settled()[0].ask.clone();
        assert_eq!(
            String::from_utf8(body).unwrap(),
            body_of(&ask, &Said::right(&ask)),
            "{packing:?}"
        );
    }
    let server = ModelServer::start(|ask| {
        Act::Say(Said {
            packing: Packing::Chunked,
            ..Said::right(ask)
        })
    });
    let mut stream = connect(&server);
    put(&mut stream, "/v1/chat/completions", "one");
    let mut bytes = Vec::new();
    let mut piece = [0; 512];
    while !bytes.ends_with(b"\r\n0\r\n\r\n") {
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "the end of the chunks");
        bytes.extend_from_slice(&piece[..n]);
    }
    assert!(String::from_utf8_lossy(&bytes).contains("transfer-encoding: chunked\r\n\r\n32\r\n{"));
    let refusal = Said {
        end: End::Refused,
        tokens: None,
        ..Said::new("I can't", (1, 1))
    };
    let ask = server.settled()[0].ask.clone();
    assert!(!body_of(&ask, &refusal).contains("usage"));
    assert!(
        body_of(&ask, &refusal).contains(r#""refusal":"I can't""#),
        "{}",
        body_of(&ask, &refusal)
    );
}

#[test]
fn each_fault_looks_on_the_wire_as_its_name_says() {
    let (text, end) = once(Act::Fin);
    assert_eq!((text.as_str(), end), ("", None));
    let (text, end) = once(Act::Reset);
    assert_eq!(end, Some(ErrorKind::ConnectionReset), "{text}");
    let (text, end) = once(Act::Truncated);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let claimed: usize = head
        .rsplit("content-length: ")
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!((claimed - body.len(), end), (100, None));
    let (text, _) = once(Act::BrokenChunks);
    assert!(text.ends_with("no number\r\n"), "{text}");
    for (act, wanted) in [
        (
            Act::Status(429, After::Seconds(1)),
            "429 Scripted\r\ncontent-type: application/json\r\nretry-after: 1\r\n",
        ),
        (
            Act::Status(429, After::Millis(20)),
            "retry-after-ms: 20\r\n",
        ),
        (Act::Status(429, After::Date(1)), " GMT\r\n"),
        (
            Act::Status(401, After::Unsaid),
            r#"{"error":{"message":"scripted 401","type":"authentication_error"}}"#,
        ),
        (Act::Html(502), "<title>Scripted gateway</title>"),
        (Act::ErrorBody, r#"200 Scripted"#),
        (Act::NotJson, "oops"),
        (Act::Empty, r#""content":"""#),
        (Act::BrokenGzip, "content-encoding: gzip"),
        (
            Act::Redirect("http://127.0.0.1:1/x".into()),
            "307 Scripted\r\ncontent-type: application/json\r\nlocation: http://127.0.0.1:1/x\r\n",
        ),
    ] {
        let server = ModelServer::start({
            let act = act.clone();
            move |_| act.clone()
        });
        let mut stream = connect(&server);
        put(&mut stream, "/v1/chat/completions", "p");
        let (head, body) = sized(&mut stream);
        let text = format!("{head}{}", String::from_utf8_lossy(&body));
        assert!(text.contains(wanted), "{act:?}: {text}");
        if act == Act::BrokenGzip {
            assert!(
                flate2::read::GzDecoder::new(&body[..])
                    .read_to_end(&mut Vec::new())
                    .is_err()
            );
        }
    }
}

#[test]
fn a_stall_ends_when_the_client_goes_and_a_huge_answer_when_it_reads_no_further() {
    for act in [Act::StallHead, Act::StallBody, Act::Huge] {
        let server = ModelServer::start({
            let act = act.clone();
            move |_| act.clone()
        });
        let mut stream = connect(&server);
        put(&mut stream, "/v1/chat/completions", "p");
        stream
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let mut bytes = vec![0; 1 << 16];
        let first = stream.read(&mut bytes);
        match act {
            Act::StallHead => assert_eq!(first.unwrap_err().kind(), ErrorKind::WouldBlock),
            _ => assert!(first.unwrap() > 0),
        }
        assert_eq!(server.log()[0].fate, Fate::Open, "{act:?}");
        drop(stream);
        assert_eq!(server.settled()[0].fate, Fate::Done, "{act:?}");
    }
    assert_eq!(HUGE, 524_288_000);
}

#[test]
fn a_server_that_dies_refuses_connections_and_comes_back_at_its_port() {
    let server = ModelServer::start(|ask| {
        Step::after(
            if ask.prompt == "slow" { 300 } else { 0 },
            Act::Say(Said::right(ask)),
        )
    });
    let mut stream = connect(&server);
    put(&mut stream, "/v1/chat/completions", "slow");
    while server.asked() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    server.down();
    assert_eq!(all(&mut stream).0, b"");
    assert_eq!(server.settled()[0].fate, Fate::Cut);
    assert_eq!(
        TcpStream::connect(server.address).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
    for _ in 0..3 {
        server.up();
        let mut stream = connect(&server);
        put(&mut stream, "/v1/chat/completions", "again");
        sized(&mut stream);
        server.down();
    }
    let fates: Vec<Fate> = server.settled().iter().map(|entry| entry.fate).collect();
    assert_eq!(fates, [Fate::Cut, Fate::Done, Fate::Done, Fate::Done]);
    assert_eq!(server.answers(), 3);
    assert_eq!(server.by_prompt()["again"].len(), 3);
}
