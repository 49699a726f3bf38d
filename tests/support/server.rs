//! HTTP servers on 127.0.0.1: routes as closures, requests recorded; and such that misbehave, by
//! hand. With TLS, too.
//!
//! For a test: `#[path = "support/server.rs"] mod server;`. A server ends with its value.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    /// Path and query as written.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// All of it as JSON, as an echo answers.
    pub fn echo(&self) -> Value {
        let headers: serde_json::Map<String, Value> = self
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect();
        serde_json::json!({"method": self.method, "target": self.target, "headers": headers, "body": self.text()})
    }
}

/// An orderly answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Reply {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Reply {
            status,
            headers,
            body: body.into(),
        }
    }

    pub fn json(value: &Value) -> Reply {
        Reply::new(200, "application/json", value.to_string())
    }

    pub fn status(status: u16) -> Reply {
        Reply {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub fn redirect(status: u16, location: &str) -> Reply {
        Reply::status(status).with("location", location)
    }

    pub fn with(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A connection.
pub trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

/// A certificate with its key, both in PEM.
#[derive(Clone)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

pub struct Server {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    connections: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

type Handler = dyn Fn(&Received, &mut dyn Wire) -> bool + Send + Sync;

impl Server {
    /// A server that answers each request; connections are kept.
    pub fn start(handler: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Server {
        Server::serve(
            None,
            Arc::new(move |request, wire| answer(&handler(request), request, wire)),
        )
    }

    /// A server that, after each request, writes what it will; then the connection is closed.
    pub fn raw(handler: impl Fn(&Received, &mut dyn Wire) + Send + Sync + 'static) -> Server {
        Server::serve(
            None,
            Arc::new(move |request, wire| {
                handler(request, wire);
                false
            }),
        )
    }

    /// A server that, after each request, writes what it will, and says whether the connection is
    /// kept.
    pub fn kept(
        handler: impl Fn(&Received, &mut dyn Wire) -> bool + Send + Sync + 'static,
    ) -> Server {
        Server::serve(None, Arc::new(handler))
    }

    /// As [`Server::start`], over TLS.
    pub fn tls(
        identity: &Identity,
        handler: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> Server {
        use rustls::pki_types::pem::PemObject as _;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let chain = vec![
            CertificateDer::from_pem_slice(identity.certificate.as_bytes()).expect("a certificate"),
        ];
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("a key");
        let config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a certificate that fits its key");
        Server::serve(
            Some(Arc::new(config)),
            Arc::new(move |request, wire| answer(&handler(request), request, wire)),
        )
    }

    /// A server that does with each connection what it will, without reading a request first.
    pub fn unread(handler: impl Fn(&mut dyn Wire) + Send + Sync + 'static) -> Server {
        let handler = Arc::new(handler);
        Server::listen(move |mut stream, _| handler(&mut stream))
    }

    fn serve(tls: Option<Arc<rustls::ServerConfig>>, handler: Arc<Handler>) -> Server {
        Server::listen(move |stream, log| match &tls {
            None => converse(stream, &handler, log),
            Some(config) => {
                let Ok(session) = rustls::ServerConnection::new(Arc::clone(config)) else {
                    return;
                };
                converse(rustls::StreamOwned::new(session, stream), &handler, log);
            }
        })
    }

    fn listen(
        connection: impl Fn(TcpStream, &Mutex<Vec<Received>>) + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let received = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (log, stopped) = (Arc::clone(&received), Arc::clone(&stop));
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        let connection = Arc::new(connection);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                accepted.fetch_add(1, Ordering::SeqCst);
                let (connection, log) = (Arc::clone(&connection), Arc::clone(&log));
                thread::spawn(move || connection(stream, &log));
            }
        });
        Server {
            address,
            received,
            connections,
            stop,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Connections that were accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received
            .lock()
            .expect("no test fails while it holds this")
            .clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the one that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

/// Waits until the other side goes away.
pub fn hang(wire: &mut dyn Wire) {
    let mut nothing = [0; 64];
    while wire.read(&mut nothing).is_ok_and(|n| n > 0) {}
}

fn converse(mut wire: impl Wire, handler: &Arc<Handler>, log: &Mutex<Vec<Received>>) {
    while let Some(request) = read_request(&mut wire) {
        log.lock()
            .expect("no test fails while it holds this")
            .push(request.clone());
        if !handler(&request, &mut wire) {
            let _ = wire.flush();
            return;
        }
    }
}

fn read_request(wire: &mut impl Read) -> Option<Received> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if wire.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![
        0;
        length
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or(0)
    ];
    wire.read_exact(&mut body).ok()?;
    Some(Received {
        method,
        target,
        headers,
        body,
    })
}

/// Writes an answer; true when the connection may be used again.
fn answer(reply: &Reply, request: &Received, wire: &mut dyn Wire) -> bool {
    let mut head = format!("HTTP/1.1 {} Status\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let bodiless = matches!(reply.status, 204 | 304) || request.method == "HEAD";
    if !matches!(reply.status, 204 | 304) {
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    if !bodiless {
        bytes.extend_from_slice(&reply.body);
    }
    wire.write_all(&bytes).and_then(|()| wire.flush()).is_ok()
}
