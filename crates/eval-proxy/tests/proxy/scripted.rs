//! A scripted model API, a client, and a session between them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use eval_models::TokenPrice;
use eval_models::net::{ClientSettings, HttpClients, HttpResponse, NetworkRequest, read_url};
use eval_proxy::{
    AgentApi, AgentProxy, ApiUpstream, ProxySession, ProxySettings, RecordingPlan, SessionSettings,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

pub const KEY: &str = "sk-real-key-0123456789abcdef";
pub const TOKEN: &str = "sample-token-0123456789abcdef";

/// A request as the server read it.
#[derive(Debug, Clone, Default)]
pub struct SeenRequest {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl SeenRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A part of an answer.
pub enum Step {
    Send(String),
    /// Until somebody notifies.
    Wait(Arc<Notify>),
    /// Breaks the connection off.
    Break,
}

/// An answer, from the status line on.
pub struct Script(pub Vec<Step>);

impl Script {
    pub fn json(status: u16, body: Value) -> Script {
        let body = body.to_string();
        let length = body.len();
        Script(vec![Step::Send(format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             request-id: r-1\r\nset-cookie: a=b\r\nx-internal: z\r\n\r\n{body}"
        ))])
    }

    pub fn events(events: &[Value]) -> Script {
        let texts = events.iter().map(event_text).map(Step::Send);
        let mut steps = vec![Script::stream_head()];
        steps.extend(texts);
        Script(steps)
    }

    /// Ends with the connection.
    pub fn stream_head() -> Step {
        Step::Send(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
                .into(),
        )
    }
}

/// A text is an event as it is; others are named by their `type`, as Anthropic's and OpenAI's are.
pub fn event_text(event: &Value) -> String {
    match (event, event.get("type").and_then(Value::as_str)) {
        (Value::String(text), _) => format!("data: {text}\n\n"),
        (_, Some(name)) => format!("event: {name}\ndata: {event}\n\n"),
        (_, None) => format!("data: {event}\n\n"),
    }
}

type Handler = dyn Fn(&SeenRequest, usize) -> Script + Send + Sync;

/// A server whose answers are scripted.
pub struct ScriptedServer {
    pub port: u16,
    pub seen: Arc<Mutex<Vec<SeenRequest>>>,
}

impl ScriptedServer {
    pub async fn start(
        handler: impl Fn(&SeenRequest, usize) -> Script + Send + Sync + 'static,
    ) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (all, handler): (_, Arc<Handler>) = (Arc::clone(&seen), Arc::new(handler));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                tokio::spawn(talk(stream, Arc::clone(&all), Arc::clone(&handler)));
            }
        });
        ScriptedServer { port, seen }
    }

    pub fn seen(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }
}

async fn talk(mut stream: TcpStream, seen: Arc<Mutex<Vec<SeenRequest>>>, handler: Arc<Handler>) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(request.clone());
            seen.len() - 1
        };
        let script = handler(&request, number);
        let mut closes = false;
        for step in script.0 {
            match step {
                Step::Send(text) => {
                    closes |= text.contains("connection: close");
                    if stream.write_all(text.as_bytes()).await.is_err() {
                        return;
                    }
                }
                Step::Wait(notify) => notify.notified().await,
                Step::Break => return,
            }
        }
        if closes {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<SeenRequest> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut request = SeenRequest {
        line,
        headers,
        body: Vec::new(),
    };
    let length: usize = request
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while buffer.len() < end + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    request.body = buffer[end + 4..end + 4 + length].to_vec();
    buffer.drain(..end + 4 + length);
    Some(request)
}

pub const PRICE: TokenPrice = TokenPrice {
    input: 3.0,
    output: 15.0,
    cached_input: Some(0.3),
    cache_write: Some(3.75),
};

/// A proxy whose three APIs are one server.
pub fn proxy_to(port: u16) -> AgentProxy {
    let upstreams = AgentApi::ALL.map(|api| ApiUpstream {
        base_url: format!("http://127.0.0.1:{port}/real"),
        key: Some(KEY.to_owned().into()),
        ..ApiUpstream::new(api)
    });
    AgentProxy::new(ProxySettings {
        upstreams: upstreams.into(),
        prices: BTreeMap::from([("m".to_owned(), PRICE)]),
        ..ProxySettings::default()
    })
    .unwrap()
}

/// A proxy without servers and keys, as in a replay.
pub fn proxy_alone() -> AgentProxy {
    AgentProxy::new(ProxySettings {
        prices: BTreeMap::from([("m".to_owned(), PRICE)]),
        ..ProxySettings::default()
    })
    .unwrap()
}

pub fn settings() -> SessionSettings {
    SessionSettings {
        folders: vec![("/workspace".to_owned(), "workspace".to_owned())],
        ..SessionSettings::new(TOKEN.to_owned())
    }
}

pub fn writing(path: &Path) -> SessionSettings {
    SessionSettings {
        recording: RecordingPlan::Write(path.to_owned()),
        ..settings()
    }
}

pub fn reading(path: &Path) -> SessionSettings {
    SessionSettings {
        recording: RecordingPlan::Read(path.to_owned()),
        ..settings()
    }
}

/// A session, and what an agent does with it.
pub struct Agent {
    pub session: ProxySession,
    pub port: u16,
    clients: HttpClients,
}

/// An answer as an agent got it.
#[derive(Debug, Clone, PartialEq)]
pub struct GotAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The body ended early.
    pub is_cut: bool,
}

impl GotAnswer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Agent {
    pub async fn start(proxy: &AgentProxy, settings: SessionSettings) -> Agent {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        Agent {
            session: proxy.start(listener, settings).unwrap(),
            port,
            clients: HttpClients::default(),
        }
    }

    pub async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> HttpResponse {
        let request = NetworkRequest {
            method: method.to_owned(),
            url: read_url(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap(),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: body.map(|body| body.to_string().into_bytes().into()),
            timeout: Duration::from_secs(60),
            first_byte: None,
            redirects: 0,
        };
        let settings = ClientSettings::default();
        self.clients.open(&settings, &request).await.unwrap()
    }

    pub async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> GotAnswer {
        read_answer(self.open(method, path, headers, body).await).await
    }

    /// Posts with the token.
    pub async fn post(&self, path: &str, body: &Value) -> GotAnswer {
        let headers = [("x-api-key", TOKEN), ("content-type", "application/json")];
        self.call("POST", path, &headers, Some(body)).await
    }

    pub async fn message(&self, body: &Value) -> GotAnswer {
        self.post("/anthropic/v1/messages", body).await
    }
}

pub async fn read_answer(mut response: HttpResponse) -> GotAnswer {
    let headers = response.headers();
    let headers = headers
        .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned()))
        .collect();
    let mut body = Vec::new();
    let is_cut = response.read(&mut body, usize::MAX).await.is_err();
    GotAnswer {
        status: response.status(),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
        is_cut,
    }
}

/// A question in Anthropic's form.
pub fn question(text: &str) -> Value {
    json!({"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": text}]})
}

/// An answer in Anthropic's form.
pub fn answer(text: &str, input: u64, output: u64) -> Value {
    json!({"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": input, "output_tokens": output}})
}

/// A stream of events in Anthropic's form.
pub fn stream(text: &str, input: u64, output: u64) -> Vec<Value> {
    let start = json!({"type": "message_start", "message": {"type": "message", "role": "assistant",
        "model": "m", "content": [], "usage": {"input_tokens": input, "output_tokens": 1}}});
    let mut events = vec![
        start,
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
    ];
    for piece in text.split_inclusive(' ') {
        events.push(json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": piece}}));
    }
    events.extend([
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": output}}),
        json!({"type": "message_stop"}),
    ]);
    events
}
