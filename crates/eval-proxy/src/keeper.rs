//! The keeper of a session's log: takes requests and answers in the order in which they came, and
//! writes them, away from the connections. A request is on its way to the server meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::ApiProtocol;
use crate::assemble::{joined_texts, whole_body};
use crate::bodies::ReadBody;
use crate::conversation::{NormalizedParts, ShortDigest};
use crate::recording::{ExchangeLog, RecordedAnswer, RequestRecord};
use crate::session::SessionState;
use crate::sse::SseSplitter;

/// Compressed bytes of exchanges that all sessions of a run keep for their reports.
const MOST_SHARED: usize = 64 << 20;
/// Entries that are taken at once.
const BATCH: usize = 64;

/// What one session takes of the memory of the run.
#[derive(Debug, Default)]
pub(crate) struct KeptBytes {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl KeptBytes {
    pub fn of_run(all: &Arc<AtomicUsize>) -> KeptBytes {
        KeptBytes {
            all: Arc::clone(all),
            own: 0,
        }
    }

    /// Whether there is room.
    pub fn take(&mut self, bytes: usize) -> bool {
        let before = self.all.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before + bytes <= MOST_SHARED;
        match has_room {
            true => self.own += bytes,
            false => {
                self.all.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
        has_room
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// A request as it arrived.
#[derive(Debug)]
pub(crate) struct ArrivedRequest {
    pub protocol: Option<ApiProtocol>,
    pub method: String,
    pub path: String,
    pub at: jiff::Timestamp,
    pub body: Bytes,
    pub _memory: Arc<ReadBody>,
}

/// The body of an answer as it was passed on.
#[derive(Debug)]
pub(crate) enum PassedBody {
    Events(Vec<u8>),
    Whole(Vec<u8>),
    /// The answer has it: it is from a recording.
    Known,
}

#[derive(Debug)]
pub(crate) enum LogEntry {
    Request(u64, ArrivedRequest),
    Answer(u64, RecordedAnswer, PassedBody, u64),
    /// The call is not recorded.
    Dropped(u64),
    /// The recording has a gap.
    Fault(&'static str),
}

/// A call whose answer is to be recorded.
#[derive(Debug)]
pub(crate) struct OpenRecord {
    session: Arc<SessionState>,
    number: u64,
    is_open: bool,
}

impl OpenRecord {
    pub fn new(session: Arc<SessionState>, number: u64, request: ArrivedRequest) -> OpenRecord {
        session.log(LogEntry::Request(number, request));
        OpenRecord {
            session,
            number,
            is_open: true,
        }
    }

    pub fn answer(mut self, answer: RecordedAnswer, body: PassedBody, duration_ms: u64) {
        self.is_open = false;
        let entry = LogEntry::Answer(self.number, answer, body, duration_ms);
        self.session.log(entry);
    }

    pub fn fail(mut self, why: &'static str) {
        self.is_open = false;
        self.session.log(LogEntry::Fault(why));
        self.session.log(LogEntry::Dropped(self.number));
    }

    pub fn forget(mut self) {
        self.is_open = false;
        self.session.log(LogEntry::Dropped(self.number));
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        // The end of the session ends its calls.
        if self.session.end().is_some() {
            self.session.log(LogEntry::Dropped(self.number));
            return;
        }
        let answer = RecordedAnswer {
            given_up: true,
            is_cut: true,
            ..RecordedAnswer::default()
        };
        let body = PassedBody::Whole(Vec::new());
        self.session
            .log(LogEntry::Answer(self.number, answer, body, 0));
    }
}

/// Keeps the log until the session sends nothing more.
pub(crate) async fn keep(
    log: ExchangeLog,
    mut entries: UnboundedReceiver<LogEntry>,
    session: Arc<SessionState>,
) -> Option<ExchangeLog> {
    let mut keeper = LogKeeper {
        log,
        open: HashMap::new(),
        parts: NormalizedParts::default(),
    };
    while let Some(first) = entries.recv().await {
        let mut batch = vec![first];
        // A few at a time of the whole run: a request takes a multiple of its size.
        let place = session.keeping().acquire_owned().await.ok()?;
        while batch.len() < BATCH
            && let Ok(more) = entries.try_recv()
        {
            batch.push(more);
        }
        let session = Arc::clone(&session);
        let keeping = tokio::task::spawn_blocking(move || {
            for entry in batch {
                keeper.take(entry, &session);
            }
            drop(place);
            keeper
        });
        keeper = keeping.await.ok()?;
    }
    Some(keeper.log)
}

pub(crate) type LogSender = UnboundedSender<LogEntry>;

struct LogKeeper {
    log: ExchangeLog,
    /// Requests without an answer until now.
    open: HashMap<u64, RequestRecord>,
    parts: NormalizedParts,
}

impl LogKeeper {
    fn take(&mut self, entry: LogEntry, session: &SessionState) {
        match entry {
            LogEntry::Request(number, request) => {
                let record = self.record(request, session);
                self.open.insert(number, record);
            }
            LogEntry::Answer(number, mut answer, body, duration_ms) => {
                let Some(request) = self.open.remove(&number) else {
                    return;
                };
                read_body(&mut answer, body, request.protocol, session);
                self.log.append(request, answer, duration_ms);
            }
            LogEntry::Dropped(number) => {
                self.open.remove(&number);
            }
            LogEntry::Fault(why) => self.log.fail(why),
        }
    }

    fn record(&mut self, request: ArrivedRequest, session: &SessionState) -> RequestRecord {
        // It was parsed before, unless it is empty.
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let redact = |value: &mut Value| session.redact_value(value);
        let key = match request.protocol {
            Some(protocol) => self
                .parts
                .conversation(protocol, &body, &session.rules, &|_| {}),
            None => ShortDigest::default(),
        };
        let path = session.redact(request.path);
        let head = (request.method.as_str(), path, request.at);
        self.log.prepare(request.protocol, head, key, body, &redact)
    }
}

/// Fills in what was passed on, without secrets.
fn read_body(
    answer: &mut RecordedAnswer,
    body: PassedBody,
    protocol: Option<ApiProtocol>,
    session: &SessionState,
) {
    match body {
        PassedBody::Known => {}
        PassedBody::Events(bytes) => {
            let mut events = Vec::new();
            let mut splitter = SseSplitter::default();
            splitter.push(&bytes, |block| events.extend(block.text()));
            if !answer.is_cut {
                events.extend(splitter.finish().and_then(|block| block.text()));
            }
            let mut events: Vec<String> = events
                .into_iter()
                .map(|event| session.redact(event))
                .collect();
            // A secret may be spread over several events.
            if let Some(protocol) = protocol
                && has_secret(&events, protocol, session)
            {
                joined_texts(&mut events, |text| session.redact(text));
                if has_secret(&events, protocol, session) {
                    let mut whole = whole_body(protocol, events.iter().map(String::as_str));
                    session.redact_value(&mut whole);
                    answer.body = Some(whole.into());
                    return;
                }
            }
            answer.events = Some(events);
        }
        PassedBody::Whole(bytes) => {
            let text = session.redact(String::from_utf8_lossy(&bytes).into_owned());
            if text.is_empty() {
                return;
            }
            match serde_json::from_str(&text) {
                Ok(body) if !answer.is_cut => answer.body = Some(body),
                _ => answer.text = Some(text),
            }
        }
    }
}

fn has_secret(events: &[String], protocol: ApiProtocol, session: &SessionState) -> bool {
    let whole = whole_body(protocol, events.iter().map(String::as_str));
    let mut clean = whole.clone();
    session.redact_value(&mut clean);
    clean != whole
}
