//! A model server on 127.0.0.1 that a script rules: it speaks OpenAI's chat completions and
//! Anthropic's messages, answers well or misbehaves in every way that servers do, dies and comes
//! back on its port, and keeps a log of its own of what it read and what it did, which tests hold
//! against what the program says.
//!
//! For a test: `#[path = "support/model_server.rs"] mod model_server;`. A server ends with its
//! value.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

/// Bytes of the answer that is too long for anybody; they are made as they are sent.
pub const HUGE: usize = 500 << 20;

/// A question that the server read whole.
#[derive(Debug, Clone)]
pub struct Ask {
    /// From 0, over all questions.
    pub serial: usize,
    /// The content of the last message.
    pub prompt: String,
    /// How often this prompt came before.
    pub nth: usize,
    /// From `Authorization: Bearer` or `x-api-key`.
    pub key: Option<String>,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub path: String,
    /// `Null` when the body is no JSON, as after a redirect that dropped it.
    pub body: Value,
}

impl Ask {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    fn is_anthropic(&self) -> bool {
        self.path.ends_with("/messages")
    }
}

/// What the server does about one question.
#[derive(Debug, Clone)]
pub struct Step {
    pub delay: Duration,
    pub act: Act,
}

impl From<Act> for Step {
    fn from(act: Act) -> Step {
        Step {
            delay: Duration::ZERO,
            act,
        }
    }
}

impl Step {
    pub fn after(ms: u64, act: Act) -> Step {
        Step {
            delay: Duration::from_millis(ms),
            act,
        }
    }
}

/// Why a model ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Stop,
    Length,
    /// The text, if any, is the refusal.
    Refused,
}

/// How a good answer travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Chunked,
    /// In pieces with pauses of milliseconds between them.
    Trickled,
    /// JSON that calls itself a web page.
    OddType,
}

/// A good answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub end: End,
    /// Input and output tokens; `None` leaves `usage` out.
    pub tokens: Option<(u64, u64)>,
    pub packing: Packing,
}

impl Said {
    pub fn new(text: impl Into<String>, tokens: (u64, u64)) -> Said {
        Said {
            text: text.into(),
            end: End::Stop,
            tokens: Some(tokens),
            packing: Packing::Plain,
        }
    }

    /// `right PROMPT #NTH`, and tokens that hardly any other answer has.
    pub fn right(ask: &Ask) -> Said {
        Said::new(format!("right {} #{}", ask.prompt, ask.nth), tokens_of(ask))
    }
}

/// Counts of tokens that tell answers apart.
pub fn tokens_of(ask: &Ask) -> (u64, u64) {
    let drawn = draw(77, &ask.prompt, ask.nth);
    (10 + drawn % 991, 1 + (drawn >> 32) % 499)
}

/// How long to wait, as servers say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Unsaid,
    Seconds(u64),
    /// `retry-after-ms`.
    Millis(u64),
    /// An HTTP date so many seconds from now.
    Date(u64),
}

/// What is done. All but [`Act::Say`] are faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Say(Said),
    /// A status with an error in the API's own form.
    Status(u16, After),
    /// A status with this body as `application/json`.
    Body(u16, String),
    /// A web page with this status.
    Html(u16),
    /// 200 with an error in the API's own form.
    ErrorBody,
    /// 200 with a text that is no JSON.
    NotJson,
    /// 200 with an answer that says nothing and tells tokens.
    Empty,
    /// RST in the middle of the body.
    Reset,
    /// The connection ends before the head.
    Fin,
    /// A body that is shorter than its content-length.
    Truncated,
    /// A chunk whose length is no number.
    BrokenChunks,
    /// A body that claims to be gzip and is damaged.
    BrokenGzip,
    /// No head, until the client goes away.
    StallHead,
    /// A head and a beginning, and then a byte now and then until the client goes away.
    StallBody,
    /// [`HUGE`] bytes of white space before the answer.
    Huge,
    /// 307 to this address.
    Redirect(String),
}

impl Act {
    /// A name for tables.
    pub fn name(&self) -> String {
        match self {
            Act::Say(said) => format!("say {:?} {:?}", said.end, said.packing).to_lowercase(),
            Act::Status(status, _) | Act::Body(status, _) => status.to_string(),
            Act::Html(status) => format!("html {status}"),
            Act::Redirect(_) => "redirect".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Still at it.
    Open,
    /// What the script says was done, to the last byte that it says. The client may have been gone
    /// by then.
    Done,
    /// The connection ended before that: the client went away, or the server died.
    Cut,
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub ask: Ask,
    pub act: Act,
    pub fate: Fate,
}

impl Entry {
    /// The good answer, when it was sent whole.
    pub fn answered(&self) -> Option<&Said> {
        match &self.act {
            Act::Say(said) if self.fate == Fate::Done => Some(said),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Log {
    entries: Vec<Entry>,
    /// How often each prompt came.
    seen: BTreeMap<String, usize>,
}

type Script = dyn Fn(&Ask) -> Step + Send + Sync;

struct State {
    script: Box<Script>,
    log: Mutex<Log>,
    /// Questions in hand now and at most.
    busy: AtomicUsize,
    peak: AtomicUsize,
    /// Connections that are open, by number.
    open: Mutex<BTreeMap<usize, TcpStream>>,
    connections: AtomicUsize,
    /// Of the life of the listener that accepts now.
    alive: Mutex<Arc<AtomicBool>>,
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub struct ModelServer {
    pub address: SocketAddr,
    state: Arc<State>,
    /// Bound, never listening: keeps the port from others while the server is down.
    _port: tokio::net::TcpSocket,
}

impl ModelServer {
    pub fn start<S: Into<Step>>(script: impl Fn(&Ask) -> S + Send + Sync + 'static) -> ModelServer {
        let port = tokio::net::TcpSocket::new_v4().expect("a socket");
        port.set_reuseaddr(true).expect("a socket of ours");
        port.bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .expect("a port");
        let address = port.local_addr().expect("an address");
        let state = State {
            script: Box::new(move |ask| script(ask).into()),
            log: Mutex::default(),
            busy: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            open: Mutex::default(),
            connections: AtomicUsize::new(0),
            alive: Mutex::new(Arc::new(AtomicBool::new(false))),
        };
        let server = ModelServer {
            address,
            state: Arc::new(state),
            _port: port,
        };
        server.up();
        server
    }

    /// A server that answers everything well after so many milliseconds.
    pub fn kind(ms: u64) -> ModelServer {
        ModelServer::start(move |ask| Step::after(ms, Act::Say(Said::right(ask))))
    }

    /// `http://127.0.0.1:PORT/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Accepts connections again.
    pub fn up(&self) {
        let listener = TcpListener::bind(self.address).expect("the port is ours");
        let alive = Arc::new(AtomicBool::new(true));
        *hold(&self.state.alive) = Arc::clone(&alive);
        let state = Arc::clone(&self.state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if !alive.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let number = state.connections.fetch_add(1, Ordering::SeqCst);
                let Ok(copy) = stream.try_clone() else {
                    continue;
                };
                hold(&state.open).insert(number, copy);
                let (state, alive) = (Arc::clone(&state), Arc::clone(&alive));
                thread::spawn(move || {
                    converse(stream, &state, &alive);
                    hold(&state.open).remove(&number);
                });
            }
        });
    }

    /// Dies: connections end, and new ones are refused.
    pub fn down(&self) {
        hold(&self.state.alive).store(false, Ordering::SeqCst);
        for stream in hold(&self.state.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the one that waits for connections, and waits until it has gone: then they are
        // refused.
        while TcpStream::connect(self.address).is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
        for stream in hold(&self.state.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Everything so far, in the order in which it was read.
    pub fn log(&self) -> Vec<Entry> {
        hold(&self.state.log).entries.clone()
    }

    /// The log, once nothing in it is open any more: a client may have its answer before it is
    /// written down that it has.
    pub fn settled(&self) -> Vec<Entry> {
        for _ in 0..3000 {
            let log = self.log();
            if log.iter().all(|entry| entry.fate != Fate::Open) {
                return log;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("questions stay open");
    }

    /// Questions that were read.
    pub fn asked(&self) -> usize {
        hold(&self.state.log).entries.len()
    }

    /// Good answers that were sent whole.
    pub fn answers(&self) -> usize {
        hold(&self.state.log)
            .entries
            .iter()
            .filter(|entry| entry.answered().is_some())
            .count()
    }

    /// The most questions that were in hand at once.
    pub fn peak(&self) -> usize {
        self.state.peak.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The settled log by prompt, each in its order.
    pub fn by_prompt(&self) -> BTreeMap<String, Vec<Entry>> {
        let mut by_prompt: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for entry in self.settled() {
            by_prompt
                .entry(entry.ask.prompt.clone())
                .or_default()
                .push(entry);
        }
        by_prompt
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.down();
    }
}

/// A number for a text and a count, the same for all time (SplitMix64 over FNV-1a).
pub fn draw(seed: u64, text: &str, nth: usize) -> u64 {
    let mut x = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    x = x
        .wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add((nth as u64) << 17);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn converse(stream: TcpStream, state: &State, alive: &AtomicBool) {
    let _ = stream.set_nodelay(true);
    let Ok(reading) = stream.try_clone() else {
        return;
    };
    let mut reading = BufReader::new(reading);
    while let Some((ask, step)) = read_ask(&mut reading, state) {
        let busy = state.busy.fetch_add(1, Ordering::SeqCst) + 1;
        state.peak.fetch_max(busy, Ordering::SeqCst);
        if !step.delay.is_zero() {
            thread::sleep(step.delay);
        }
        // A client that has its answer may ask again before anything is done here.
        state.busy.fetch_sub(1, Ordering::SeqCst);
        let done = match alive.load(Ordering::SeqCst) {
            true => act(&step.act, &ask, &stream, alive),
            false => None,
        };
        if let Some(entry) = hold(&state.log).entries.get_mut(ask.serial) {
            entry.fate = if done.is_some() {
                Fate::Done
            } else {
                Fate::Cut
            };
        }
        if done != Some(true) {
            return;
        }
    }
}

/// Reads a question, and writes it down.
fn read_ask(reading: &mut BufReader<TcpStream>, state: &State) -> Option<(Ask, Step)> {
    let mut line = String::new();
    if reading.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        if reading.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let text = line.trim_end();
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let find = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    let mut body = vec![
        0;
        find("content-length")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    ];
    reading.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let key = find("authorization")
        .and_then(|text| text.strip_prefix("Bearer "))
        .or(find("x-api-key"));
    let mut ask = Ask {
        serial: 0,
        prompt: prompt_of(&body),
        nth: 0,
        key: key.map(str::to_owned),
        headers,
        path,
        body,
    };
    let mut log = hold(&state.log);
    let times = log.seen.entry(ask.prompt.clone()).or_default();
    ask.nth = *times;
    *times += 1;
    ask.serial = log.entries.len();
    let step = (state.script)(&ask);
    log.entries.push(Entry {
        ask: ask.clone(),
        act: step.act.clone(),
        fate: Fate::Open,
    });
    Some((ask, step))
}

/// The text of the last message.
fn prompt_of(body: &Value) -> String {
    let content = body["messages"]
        .as_array()
        .and_then(|all| all.last())
        .map(|last| &last["content"]);
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

/// The body of a good answer in the question's own API.
pub fn body_of(ask: &Ask, said: &Said) -> String {
    let model = ask.body["model"].as_str().unwrap_or("none");
    let mut body = if ask.is_anthropic() {
        let content = if said.text.is_empty() {
            json!([])
        } else {
            json!([{"type": "text", "text": said.text}])
        };
        let reason = match said.end {
            End::Stop => "end_turn",
            End::Length => "max_tokens",
            End::Refused => "refusal",
        };
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content, "stop_reason": reason})
    } else {
        let (content, refusal) = match said.end {
            End::Refused => (
                Value::Null,
                if said.text.is_empty() {
                    Value::Null
                } else {
                    json!(said.text)
                },
            ),
            _ => (json!(said.text), Value::Null),
        };
        let reason = match said.end {
            End::Stop => "stop",
            End::Length => "length",
            End::Refused => "content_filter",
        };
        let message = json!({"role": "assistant", "content": content, "refusal": refusal});
        json!({"id": "chatcmpl-1", "object": "chat.completion", "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
    };
    if let Some((input, output)) = said.tokens {
        body["usage"] = match ask.is_anthropic() {
            true => json!({"input_tokens": input, "output_tokens": output}),
            false => {
                json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
            }
        };
    }
    body.to_string()
}

/// The body of an error in the question's own API.
fn error_of(ask: &Ask, status: u16) -> String {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let error = json!({"type": kind, "message": format!("scripted {status}")});
    match ask.is_anthropic() {
        true => json!({"type": "error", "error": error}).to_string(),
        false => json!({"error": error}).to_string(),
    }
}

/// A head; `length` is what it claims.
fn head(status: u16, kind: &str, extra: &str, length: Option<usize>) -> String {
    let length = length.map_or("transfer-encoding: chunked".to_owned(), |n| {
        format!("content-length: {n}")
    });
    format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n{extra}{length}\r\n\r\n")
}

const JSON: &str = "application/json";

fn send(mut wire: &TcpStream, bytes: &[u8]) -> Option<()> {
    wire.write_all(bytes).ok()
}

fn whole(wire: &TcpStream, status: u16, kind: &str, extra: &str, body: &[u8]) -> Option<bool> {
    let mut bytes = head(status, kind, extra, Some(body.len())).into_bytes();
    bytes.extend_from_slice(body);
    send(wire, &bytes).map(|()| true)
}

/// Does it. `None`: could not be done to its end; `Some(true)`: the connection may be used again.
fn act(act: &Act, ask: &Ask, wire: &TcpStream, alive: &AtomicBool) -> Option<bool> {
    let good = body_of(ask, &Said::new("this never arrives", tokens_of(ask)));
    match act {
        Act::Say(said) => say(said, ask, wire),
        Act::Status(status, after) => whole(
            wire,
            *status,
            JSON,
            &after.header(),
            error_of(ask, *status).as_bytes(),
        ),
        Act::Body(status, body) => whole(wire, *status, JSON, "", body.as_bytes()),
        Act::Html(status) => {
            let page = "<!DOCTYPE html><html><head><title>Scripted gateway</title></head><body>no</body></html>";
            whole(
                wire,
                *status,
                "text/html; charset=utf-8",
                "",
                page.as_bytes(),
            )
        }
        Act::ErrorBody => whole(wire, 200, JSON, "", error_of(ask, 500).as_bytes()),
        Act::NotJson => whole(wire, 200, JSON, "", b"{\"choices\": [oops"),
        Act::Empty => whole(
            wire,
            200,
            JSON,
            "",
            body_of(ask, &Said::new("", tokens_of(ask))).as_bytes(),
        ),
        Act::Reset => {
            send(wire, head(200, JSON, "", Some(good.len())).as_bytes())?;
            send(wire, &good.as_bytes()[..good.len() / 2])?;
            // What was sent should be there before the connection is torn.
            thread::sleep(Duration::from_millis(5));
            tear(wire);
            Some(false)
        }
        Act::Fin => Some(false),
        Act::Truncated => {
            send(wire, head(200, JSON, "", Some(good.len() + 100)).as_bytes())?;
            send(wire, good.as_bytes()).map(|()| false)
        }
        Act::BrokenChunks => {
            send(wire, head(200, JSON, "", None).as_bytes())?;
            send(wire, b"5\r\n{\"cho\r\nno number\r\n").map(|()| false)
        }
        Act::BrokenGzip => {
            let mut packed = gzip(good.as_bytes());
            let middle = packed.len() / 2;
            packed[middle..].iter_mut().for_each(|byte| *byte ^= 0x5a);
            whole(wire, 200, JSON, "content-encoding: gzip\r\n", &packed)
        }
        Act::StallHead => stall(wire, alive, b""),
        Act::StallBody => {
            send(wire, head(200, JSON, "", Some(1 << 20)).as_bytes())?;
            stall(wire, alive, b" ")
        }
        Act::Huge => huge(ask, &good, wire, alive),
        Act::Redirect(to) => whole(wire, 307, JSON, &format!("location: {to}\r\n"), b"{}"),
    }
}

impl After {
    fn header(self) -> String {
        match self {
            After::Unsaid => String::new(),
            After::Seconds(n) => format!("retry-after: {n}\r\n"),
            After::Millis(n) => format!("retry-after-ms: {n}\r\n"),
            After::Date(n) => format!("retry-after: {}\r\n", http_date(n)),
        }
    }
}

/// Now and so many seconds, as HTTP writes it.
fn http_date(seconds: u64) -> String {
    let at = jiff::Timestamp::try_from(SystemTime::now() + Duration::from_secs(seconds))
        .expect("a time");
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packing.write_all(bytes).expect("memory");
    packing.finish().expect("memory")
}

fn say(said: &Said, ask: &Ask, wire: &TcpStream) -> Option<bool> {
    let body = body_of(ask, said);
    match said.packing {
        Packing::Plain => whole(wire, 200, JSON, "", body.as_bytes()),
        Packing::OddType => whole(wire, 200, "text/html", "", body.as_bytes()),
        Packing::Gzip
            if ask
                .header("accept-encoding")
                .is_some_and(|text| text.contains("gzip")) =>
        {
            whole(
                wire,
                200,
                JSON,
                "content-encoding: gzip\r\n",
                &gzip(body.as_bytes()),
            )
        }
        Packing::Gzip => whole(wire, 200, JSON, "", body.as_bytes()),
        Packing::Chunked => {
            let mut bytes = head(200, JSON, "", None).into_bytes();
            for piece in body.as_bytes().chunks(50) {
                bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                bytes.extend_from_slice(piece);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            send(wire, &bytes).map(|()| true)
        }
        Packing::Trickled => {
            send(wire, head(200, JSON, "", Some(body.len())).as_bytes())?;
            for piece in body.as_bytes().chunks(body.len() / 8 + 1) {
                thread::sleep(Duration::from_millis(3));
                send(wire, piece)?;
            }
            Some(true)
        }
    }
}

/// White space without end and then the answer, with and without a length.
fn huge(ask: &Ask, good: &str, wire: &TcpStream, alive: &AtomicBool) -> Option<bool> {
    let piece = vec![b' '; 64 << 10];
    let chunked = ask.serial.is_multiple_of(2);
    let length = if chunked {
        None
    } else {
        Some(HUGE + good.len())
    };
    send(wire, head(200, JSON, "", length).as_bytes())?;
    let frame = format!("{:x}\r\n", piece.len());
    for _ in 0..HUGE / piece.len() {
        // Who reads no further has got what the script says.
        let sent = match chunked {
            true => send(wire, frame.as_bytes())
                .and_then(|()| send(wire, &piece))
                .and_then(|()| send(wire, b"\r\n")),
            false => send(wire, &piece),
        };
        if sent.is_none() {
            return alive.load(Ordering::SeqCst).then_some(false);
        }
    }
    Some(false)
}

/// Waits until the client goes away or the server dies, and sends a byte now and then.
fn stall(mut wire: &TcpStream, alive: &AtomicBool, byte: &[u8]) -> Option<bool> {
    let _ = wire.set_read_timeout(Some(Duration::from_millis(50)));
    loop {
        let waits = match wire.read(&mut [0; 16]) {
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            Ok(_) => false,
        };
        if !waits || send(wire, byte).is_none() {
            // Who ended it? A server that dies says so first.
            return alive.load(Ordering::SeqCst).then_some(false);
        }
    }
}

/// The next end of the connection is an RST.
fn tear(wire: &TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: the descriptor is open as long as `wire`, and the option is read from a value of its
    // own type and size.
    let told = unsafe {
        libc::setsockopt(
            wire.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(told, 0, "a socket of ours");
}
