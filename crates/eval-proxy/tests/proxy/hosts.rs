//! Other hosts: tunnels and requests with a whole address.

use eval_proxy::{AllowedHosts, SessionSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::scripted::*;

/// The first answer to raw bytes, up to the end of the connection or of the head.
async fn raw(port: u16, text: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut got = Vec::new();
    while !got.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        if stream.read_buf(&mut got).await.unwrap() == 0 {
            break;
        }
    }
    (String::from_utf8(got).unwrap(), stream)
}

fn allowing(hosts: &[String]) -> SessionSettings {
    SessionSettings {
        hosts: AllowedHosts::new(hosts).unwrap(),
        ..settings()
    }
}

#[tokio::test]
async fn tunnel_to_an_allowed_host_passes_bytes_both_ways() {
    let echo = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = echo.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = echo.accept().await.unwrap();
        let (mut read, mut write) = stream.split();
        tokio::io::copy(&mut read, &mut write).await.unwrap();
    });
    let allowed = [format!("localhost:{port}")];
    let agent = Agent::start(&proxy_alone(), allowing(&allowed)).await;
    let (head, mut stream) = raw(
        agent.port,
        &format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"),
    )
    .await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    stream.write_all(b"\x17\x03\x01 any bytes").await.unwrap();
    let mut got = [0; 13];
    stream.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"\x17\x03\x01 any bytes");
    // The end of the session ends the tunnel.
    agent.session.finish().await;
    assert_eq!(stream.read(&mut got).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn tunnel_whose_tls_names_another_host_ends() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let allowed = [format!("localhost:{port}")];
    let agent = Agent::start(&proxy_alone(), allowing(&allowed)).await;
    // A ClientHello without other extensions than the name.
    let hello = |name: &str| {
        let size = name.len() as u8;
        let mut bytes = vec![22, 3, 1, 0, size + 56, 1, 0, 0, size + 52, 3, 3];
        bytes.extend([7; 32]);
        bytes.extend([
            0,
            0,
            2,
            19,
            1,
            1,
            0,
            0,
            size + 9,
            0,
            0,
            0,
            size + 5,
            0,
            size + 3,
            0,
            0,
            size,
        ]);
        bytes.extend(name.as_bytes());
        bytes
    };
    for (name, passes) in [("localhost", true), ("evil.example", false)] {
        let request =
            format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
        let (head, mut stream) = raw(agent.port, &request).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let (mut there, _) = server.accept().await.unwrap();
        let sent = hello(name);
        stream.write_all(&sent).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut got = Vec::new();
        there.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, if passes { sent } else { Vec::new() }, "{name}");
    }
    let report = agent.session.finish().await;
    assert_eq!(report.denied, [format!("localhost:{port} (evil.example)")]);
}

#[tokio::test]
async fn other_hosts_ports_and_private_addresses_are_refused() {
    let server = ScriptedServer::start(|_, _| Script::json(200, serde_json::json!({}))).await;
    let port = server.port;
    let allowed = ["*.example.com".to_owned(), "pypi.org".to_owned()];
    let agent = Agent::start(&proxy_alone(), allowing(&allowed)).await;
    let mut shown = String::new();
    for target in [
        "evil.example:443".to_owned(),
        "pypi.org:22".to_owned(),
        "pypi.org:80".to_owned(),
        "127.0.0.1:443".to_owned(),
        "169.254.169.254:80".to_owned(),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ] {
        let request =
            format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n");
        let (head, mut stream) = raw(agent.port, &request).await;
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        let status = head.lines().next().unwrap_or_default().to_owned();
        let body = head.split("\r\n\r\n").nth(1).unwrap_or_default();
        let line = format!("{target}: {status} {body}{rest}\n");
        shown.push_str(&line.replace(&port.to_string(), "PORT"));
    }
    insta::assert_snapshot!(shown, @r#"
    evil.example:443: HTTP/1.1 403 Forbidden {"error":{"code":null,"message":"evil.example:443 is not among the allowed hosts","param":null,"type":"permission_error"}}
    pypi.org:22: HTTP/1.1 403 Forbidden {"error":{"code":null,"message":"pypi.org:22 is not among the allowed hosts","param":null,"type":"permission_error"}}
    pypi.org:80: HTTP/1.1 403 Forbidden {"error":{"code":null,"message":"pypi.org:80 is reached through a tunnel only when its port is allowed","param":null,"type":"permission_error"}}
    127.0.0.1:443: HTTP/1.1 403 Forbidden {"error":{"code":null,"message":"127.0.0.1:443 is not among the allowed hosts","param":null,"type":"permission_error"}}
    169.254.169.254:80: HTTP/1.1 403 Forbidden {"error":{"code":null,"message":"169.254.169.254:80 is not among the allowed hosts","param":null,"type":"permission_error"}}
    127.0.0.1:PORT: HTTP/1.1 403 Forbidden {"error":{"code":null,"message":"127.0.0.1:PORT is not among the allowed hosts","param":null,"type":"permission_error"}}
    [::1]:PORT: HTTP/1.1 403 Forbidden {"error":{"code":null,"message":"[::1]:PORT is not among the allowed hosts","param":null,"type":"permission_error"}}
    "#);
    let report = agent.session.finish().await;
    assert_eq!(report.denied.len(), 7, "{:?}", report.denied);
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn request_with_a_whole_address_is_passed_on_without_the_proxys_headers() {
    let server = ScriptedServer::start(|_, _| Script::json(200, serde_json::json!({"a": 1}))).await;
    let allowed = [format!("localhost:{}", server.port)];
    let agent = Agent::start(&proxy_alone(), allowing(&allowed)).await;
    let target = format!("localhost:{}", server.port);
    let request = format!(
        "POST http://{target}/x?y=1 HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: Basic a\r\n\
         Connection: close, X-Hop\r\nX-Hop: 1\r\nX-Kept: 2\r\nContent-Length: 3\r\n\r\nabc"
    );
    let (head, _) = raw(agent.port, &request).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /x?y=1 HTTP/1.1");
    assert_eq!(seen.header("host"), Some(target.as_str()));
    assert_eq!(
        (seen.header("x-kept"), &*seen.body),
        (Some("2"), &b"abc"[..])
    );
    for gone in ["proxy-authorization", "x-hop"] {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
}

#[tokio::test]
async fn whole_address_of_the_base_url_is_the_api_itself() {
    let server = ScriptedServer::start(|_, _| Script::json(200, answer("x", 5, 2))).await;
    let agent = Agent::start(&proxy_to(server.port), settings()).await;
    let body = question("q").to_string();
    let (port, length) = (agent.port, body.len());
    let request = format!(
        "POST http://127.0.0.1:{port}/anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
         x-api-key: {TOKEN}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let (head, _) = raw(port, &request).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(server.seen()[0].line, "POST /real/messages HTTP/1.1");
}
