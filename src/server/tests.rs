//! The servers over real connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::access::REFUSAL;
use super::bearer::ApiServerError;
use super::{
    ApiServer, CallerName, CertificateFiles, LocalServer, ServerStop, event_stream, html_page,
};

struct RunningServer {
    url: String,
    port: u16,
    stop: Arc<Notify>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

async fn ticks(State(mut stop): State<ServerStop>) -> Response {
    let (sender, response) = event_stream();
    tokio::spawn(async move {
        sender.send("tick", &["a\nb"]).await;
        sender.ping().await;
        stop.stopped().await;
    });
    response
}

async fn started() -> RunningServer {
    let server = LocalServer::bind(None).await.unwrap();
    let page = || async {
        html_page(
            StatusCode::OK,
            "default-src 'none'; style-src 'self'",
            b"<p>page</p>".to_vec(),
        )
    };
    let pages = Router::new()
        .route("/", get(page))
        .route("/ticks", get(ticks))
        .with_state(server.stop_signal());
    let (url, stop) = (server.url("/"), Arc::new(Notify::new()));
    let port = server.access.port();
    let stopped = Arc::clone(&stop);
    let served = tokio::spawn(server.serve(pages, async move { stopped.notified().await }));
    RunningServer {
        url,
        port,
        stop,
        served,
    }
}

impl RunningServer {
    fn token(&self) -> &str {
        self.url.split_once("token=").unwrap().1
    }

    fn cookie(&self) -> String {
        format!("Cookie: eval-harness-{}={}", self.port, self.token())
    }

    async fn connect(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Sends a request with these lines of headers; gives the response as it came.
    async fn ask(&self, line: &str, headers: &[&str]) -> String {
        let host = format!("Host: 127.0.0.1:{}", self.port);
        let own = if headers.iter().any(|header| header.starts_with("Host:")) {
            vec![]
        } else {
            vec![host.as_str()]
        };
        let headers = [own.as_slice(), headers, &["Connection: close"]].concat();
        let request = format!("{line} HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n"));
        let mut stream = self.connect(&request).await;
        let mut response = String::new();
        // Cut off by the server, as after a request that is not one.
        let _ = stream.read_to_string(&mut response).await;
        response
    }
}

/// The line of the status.
fn status(response: &str) -> &str {
    response.lines().next().unwrap_or("")
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").unwrap_or(("", "")).1
}

#[tokio::test]
async fn first_visit_leaves_a_cookie_and_no_token() {
    let server = started().await;
    let entered = server
        .ask(&format!("GET /?a=1&token={}", server.token()), &[])
        .await;
    assert_eq!(status(&entered), "HTTP/1.1 303 See Other");
    assert!(entered.contains("\r\nlocation: /?a=1\r\n"), "{entered}");
    let cookie = format!(
        "\r\nset-cookie: eval-harness-{}={}; HttpOnly; SameSite=Strict; Path=/\r\n",
        server.port,
        server.token()
    );
    assert!(entered.contains(&cookie), "{entered}");
    let page = server.ask("GET /", &[&server.cookie()]).await;
    assert_eq!(status(&page), "HTTP/1.1 200 OK");
    assert_eq!(body(&page), "<p>page</p>");
    for header in [
        "content-security-policy: default-src 'none'; style-src 'self'; frame-ancestors 'none'",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "x-frame-options: DENY",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
        "content-type: text/html; charset=utf-8",
    ] {
        assert!(
            page.contains(&format!("\r\n{header}\r\n")),
            "{header}: {page}"
        );
    }
    let head = server.ask("HEAD /", &[&server.cookie()]).await;
    assert_eq!((status(&head), body(&head)), ("HTTP/1.1 200 OK", ""));
}

#[tokio::test]
async fn refusals_show_nothing_of_the_pages() {
    let server = started().await;
    let cookie = server.cookie();
    let own = format!("Origin: http://127.0.0.1:{}", server.port);
    for (line, headers) in [
        ("GET /", vec![]),
        ("GET /nowhere", vec![]),
        ("GET /?token=wrong", vec![cookie.as_str()]),
        ("GET /", vec![&cookie, "Host: evil.example"]),
        ("GET /", vec![&cookie, "Origin: http://evil.example"]),
        ("GET /", vec![&cookie, "Sec-Fetch-Site: cross-site"]),
        ("POST /", vec![cookie.as_str()]),
        ("GET /", vec![own.as_str()]),
    ] {
        let refused = server.ask(line, &headers).await;
        let told = (status(&refused), body(&refused));
        let expected = ("HTTP/1.1 403 Forbidden", REFUSAL);
        assert_eq!(told, expected, "{line} {headers:?}");
        assert!(refused.contains("content-security-policy: default-src 'none'"));
        assert!(refused.contains("cache-control: no-store"));
    }
    for (line, expected) in [
        ("POST /", "HTTP/1.1 405 Method Not Allowed"),
        ("DELETE /ticks", "HTTP/1.1 405 Method Not Allowed"),
        ("GET /nowhere", "HTTP/1.1 404 Not Found"),
        ("GET /../", "HTTP/1.1 404 Not Found"),
    ] {
        let answer = server.ask(line, &[&cookie, &own]).await;
        assert_eq!(status(&answer), expected, "{line}");
    }
    let long = format!("X: {}", "x".repeat(100_000));
    let refused = server.ask("GET /", &[&cookie, &long]).await;
    assert_eq!(
        status(&refused),
        "HTTP/1.1 431 Request Header Fields Too Large"
    );
}

#[tokio::test]
async fn events_come_and_end_with_the_server() {
    let server = started().await;
    let request = format!(
        "GET /ticks HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n",
        server.cookie()
    );
    let mut stream = server.connect(&request).await;
    let mut seen = Vec::new();
    let expected = "event: tick\ndata: [\"a\\nb\"]\n\n";
    while !String::from_utf8_lossy(&seen).contains(expected) {
        assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
    }
    server.stop.notify_one();
    stream.read_to_end(&mut seen).await.unwrap();
    let text = String::from_utf8_lossy(&seen);
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    assert!(text.ends_with("0\r\n\r\n"), "the response is whole: {text}");
    server.served.await.unwrap().unwrap();
    let port = server.port;
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

#[tokio::test]
async fn idle_connections_do_not_hold_up_the_end() {
    let server = started().await;
    // Neither has sent a whole request.
    let _silent = server.connect("").await;
    let _slow = server.connect("GET / HTTP/1.1\r\nHost: 127").await;
    let page = server.ask("GET /", &[&server.cookie()]).await;
    assert_eq!(status(&page), "HTTP/1.1 200 OK");
    server.stop.notify_one();
    let ended = tokio::time::timeout(Duration::from_secs(20), server.served);
    ended.await.expect("it ends").unwrap().unwrap();
}

/// Answers with the name of the caller; `/open` is for everyone.
async fn served_api(
    certificate: Option<&CertificateFiles>,
) -> (
    SocketAddr,
    tokio::task::JoinHandle<std::io::Result<()>>,
    Arc<Notify>,
) {
    let tokens = [("ana", "a".repeat(40)), ("ben", "b".repeat(40))];
    let tokens = tokens.map(|(name, token)| (name.to_owned(), token));
    let local = "127.0.0.1:0".parse().unwrap();
    let server = ApiServer::bind(local, certificate, &tokens).await.unwrap();
    let address = server.url().split_once("://").unwrap().1.parse().unwrap();
    let name = |Extension(caller): Extension<CallerName>| async move { caller.0.to_string() };
    let guarded = Router::new().route("/name", get(name).post(name));
    let open = Router::new().route("/open", get(|| async { "open" }));
    let stop = Arc::new(Notify::new());
    let stopped = Arc::clone(&stop);
    let serving = server.serve(open, guarded, async move { stopped.notified().await });
    (address, tokio::spawn(serving), stop)
}

fn api_request(line: &str, headers: &[&str]) -> String {
    let own = match headers.iter().any(|header| header.starts_with("Host:")) {
        true => "",
        false => "Host: localhost:1\r\n",
    };
    let headers: String = headers
        .iter()
        .map(|header| format!("{header}\r\n"))
        .collect();
    format!("{line} HTTP/1.1\r\n{own}{headers}Connection: close\r\n\r\n")
}

#[tokio::test]
async fn api_callers_have_the_name_of_their_token() {
    let (address, served, stop) = served_api(None).await;
    let ask = async |line: &str, headers: &[&str]| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = api_request(line, headers);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        (
            status(&response).to_owned(),
            body(&response).to_owned(),
            response,
        )
    };
    let [ana, ben, wrong] =
        ["a", "b", "c"].map(|c| format!("Authorization: Bearer {}", c.repeat(40)));
    for (header, name) in [(&ana, "ana"), (&ben, "ben")] {
        let (status, body, response) = ask("GET /name", &[header]).await;
        assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", name));
        assert!(response.contains("cache-control: no-store"), "{response}");
    }
    let (status, body, _) = ask("GET /open", &[]).await;
    assert_eq!(
        (status.as_str(), body.as_str()),
        ("HTTP/1.1 200 OK", "open")
    );
    let basic = format!("Authorization: Basic {}", "a".repeat(40));
    for headers in [
        vec![],
        vec![wrong.as_str()],
        vec![&basic],
        vec!["Authorization: x"],
        vec![&ana, &ben],
    ] {
        let (status, body, response) = ask("GET /name", &headers).await;
        assert_eq!(status, "HTTP/1.1 401 Unauthorized", "{headers:?}");
        assert!(body.starts_with("{\"error\":\"unauthorized\""), "{body}");
        assert!(response.contains("www-authenticate: Bearer"), "{response}");
    }
    for headers in [
        [ana.as_str(), "Host: evil.example"],
        [&ana, "Origin: http://evil.example"],
        [&ana, "Origin: https://localhost:1"],
        [&ana, "Sec-Fetch-Site: cross-site"],
    ] {
        for line in ["GET /name", "POST /name", "GET /open"] {
            let (status, body, _) = ask(line, &headers).await;
            assert_eq!(status, "HTTP/1.1 403 Forbidden", "{headers:?}");
            assert!(body.starts_with("{\"error\":\"foreign_request\""), "{body}");
        }
    }
    let (status, _, _) = ask("POST /name", &[&ana, "Origin: http://localhost:1"]).await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    stop.notify_one();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn api_beyond_this_machine_is_encrypted() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let refused = ApiServer::bind(everywhere, None, &[]).await.unwrap_err();
    assert!(
        matches!(refused, ApiServerError::Unencrypted(_)),
        "{refused}"
    );
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = CertificateFiles {
        chain: folder.path().join("cert.pem"),
        key: folder.path().join("key.pem"),
    };
    std::fs::write(&files.chain, made.cert.pem()).unwrap();
    let unusable = ApiServer::bind(everywhere, Some(&files), &[])
        .await
        .unwrap_err();
    assert!(unusable.to_string().contains("key.pem: "), "{unusable}");
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    ApiServer::bind(everywhere, Some(&files), &[])
        .await
        .unwrap();

    let (address, served, stop) = served_api(Some(&files)).await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    // Neither plain text nor silence holds up the others.
    let _silent = TcpStream::connect(address).await.unwrap();
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain
        .write_all(b"GET /open HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let stream = TcpStream::connect(address).await.unwrap();
    let name = "localhost".try_into().unwrap();
    let mut stream = connector.connect(name, stream).await.unwrap();
    let token = format!("Authorization: Bearer {}", "b".repeat(40));
    let request = api_request("GET /name", &[&token, "Origin: https://localhost:1"]);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    let _ = stream.read_to_string(&mut response).await;
    assert_eq!(
        (status(&response), body(&response)),
        ("HTTP/1.1 200 OK", "ben")
    );
    stop.notify_one();
    served.await.unwrap().unwrap();
}
