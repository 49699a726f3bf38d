//! An answer of a model API on its way to the agent: passed on as it arrives, counted and recorded
//! on the side.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use eval_base::sync::lock;
use eval_models::net::HttpResponse;
use eval_models::{TokenCounts, TokenPrice};
use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::answer_reading::AnswerReader;
use crate::bodies::PassedPiece;
use crate::keeper::{OpenRecord, PassedBody};
use crate::ledger::{CallEnd, CallSpending};
use crate::provider_tools::replaced;
use crate::recording::RecordedAnswer;
use crate::session::SessionState;
use crate::sse::SseSplitter;
use crate::{ApiProtocol, SessionEnd};

/// Bytes of an answer that are passed on.
const LONGEST_ANSWER: u64 = 256 << 20;
/// Bytes of an answer that are kept to be counted and recorded.
const LONGEST_KEPT: usize = 16 << 20;
/// Bytes of an event that may be a report of usage.
const LONGEST_REPORT: usize = 64 << 10;
/// How long an answer is read that the agent gave up.
pub(crate) const GIVEN_UP: Duration = Duration::from_secs(60);
/// Bytes of an error that an agent gets.
const ERROR_BYTES: usize = 64 << 10;
/// Bytes of a stream for each token of it, about: most of an event is not text.
const STREAM_BYTES: usize = 40;

/// The accounts of one call of a model: it is ended exactly once, also when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenTurn {
    session: Arc<SessionState>,
    model: Option<String>,
    price: Option<TokenPrice>,
    spent: CallSpending,
    /// What the call may take at most.
    most: TokenCounts,
    reserved: CallSpending,
    is_open: bool,
}

impl OpenTurn {
    /// Of a call that the ledger admitted.
    pub fn new(
        session: Arc<SessionState>,
        model: Option<String>,
        most: TokenCounts,
        reserved: CallSpending,
    ) -> OpenTurn {
        let price = session.price_of(model.as_deref());
        OpenTurn {
            session,
            model,
            price,
            spent: CallSpending::default(),
            most,
            reserved,
            is_open: true,
        }
    }

    /// Ends it without an answer.
    pub fn fail(mut self, kind: &str) {
        lock(&self.session.ledger).add_turn_fault(kind);
        self.end(CallEnd::Failed, None, 0);
    }

    /// Ends it as a call that was not made.
    pub fn cancel(mut self) {
        self.end(CallEnd::Failed, None, 0);
    }

    /// Ends it with an answer from a recording.
    pub fn answer(mut self, reader: &AnswerReader, bytes: usize) {
        self.end(CallEnd::Answered, Some(reader), bytes);
    }

    fn update(&mut self, reader: &AnswerReader) {
        let Some(usage) = reader.usage() else {
            return;
        };
        self.find_price(reader);
        let mut ledger = lock(&self.session.ledger);
        let reached = ledger.update(&mut self.spent, &usage, self.price.as_ref());
        drop(ledger);
        self.session.reach(reached);
    }

    /// An answer may name its model with the date that the price has, or another model: the dearer
    /// price counts.
    fn find_price(&mut self, reader: &AnswerReader) {
        let answered = self.session.price_of(reader.model());
        let sum = |price: &TokenPrice| price.input + price.output;
        self.price = match (self.price, answered) {
            (Some(known), Some(other)) if sum(&other) > sum(&known) => Some(other),
            (known, other) => known.or(other),
        };
    }

    fn end(&mut self, end: CallEnd, reader: Option<&AnswerReader>, answer_tokens: usize) {
        if !std::mem::replace(&mut self.is_open, false) {
            return;
        }
        if let Some(reader) = reader {
            self.find_price(reader);
        }
        let model = self.model.as_deref();
        let model = model.or(reader.and_then(|reader| reader.model()));
        let estimate = TokenCounts {
            input: self.most.input,
            output: answer_tokens as u64,
            ..TokenCounts::default()
        };
        let mut ledger = lock(&self.session.ledger);
        ledger.release(self.reserved);
        let reached = ledger.end_turn(
            end,
            model,
            self.price.as_ref(),
            self.spent,
            reader.and_then(AnswerReader::usage),
            estimate,
        );
        drop(ledger);
        self.session.turn_ended.notify_waiters();
        self.session.reach(reached);
    }
}

impl Drop for OpenTurn {
    /// The agent closed the connection before there was an answer, which the model may have made all
    /// the same.
    fn drop(&mut self) {
        // It may be of any length.
        let most = usize::try_from(self.most.output).unwrap_or(usize::MAX);
        self.end(CallEnd::Answered, None, most);
    }
}

/// How the bytes of an answer are read.
#[derive(Debug)]
enum AnswerForm {
    Events {
        splitter: SseSplitter,
        /// What the agent gets.
        passed: Vec<u8>,
        held: Option<HeldEvent>,
    },
    Whole(Vec<u8>),
    /// Compressed against the request, or too long to be kept.
    Unread,
}

/// The event under way of a stream whose last events only the proxy requested: it is held back until
/// it is known which one it is.
#[derive(Debug, Default)]
struct HeldEvent {
    bytes: Vec<u8>,
    /// It is too long to be a report of usage.
    is_passed: bool,
}

/// An answer under way to the agent.
pub(crate) struct PassingAnswer(Option<Box<AnswerUnderWay>>);

/// An answer that is read.
pub(crate) struct AnswerUnderWay {
    response: HttpResponse,
    session: Arc<SessionState>,
    /// Of the session.
    end: watch::Receiver<Option<SessionEnd>>,
    turn: Option<OpenTurn>,
    record: Option<OpenRecord>,
    /// Of a call that is no turn.
    _place: Option<OwnedSemaphorePermit>,
    reader: Option<AnswerReader>,
    form: AnswerForm,
    status: u16,
    content_type: Option<String>,
    received: u64,
    kept: usize,
    began: Instant,
    /// A usage report was taken out of the stream.
    has_own_usage: bool,
    /// The agent closed the connection.
    given_up: bool,
    is_settled: bool,
}

/// What is known of a call whose answer begins.
pub(crate) struct BegunCall {
    pub turn: Option<OpenTurn>,
    pub record: OpenRecord,
    pub place: Option<OwnedSemaphorePermit>,
    pub protocol: Option<ApiProtocol>,
    /// Choices that the answer has.
    pub choices: u64,
    pub began: Instant,
    /// The proxy requested a final event with usage, which the agent did not.
    pub hides_usage: bool,
}

impl PassingAnswer {
    pub fn new(session: Arc<SessionState>, response: HttpResponse, call: BegunCall) -> Self {
        let status = response.status();
        let header = |name: &str| {
            let found = response.headers().find(|(other, _)| *other == name);
            found.map(|(_, value)| String::from_utf8_lossy(value).to_ascii_lowercase())
        };
        let content_type = header("content-type");
        let is_stream = content_type
            .as_deref()
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        // An error is read as a whole.
        let is_stream = is_stream && status < 400;
        let is_plain = header("content-encoding").is_none_or(|coding| coding == "identity");
        let form = match (is_plain, is_stream) {
            (false, _) => AnswerForm::Unread,
            (true, true) => AnswerForm::Events {
                splitter: SseSplitter::default(),
                passed: Vec::new(),
                held: call.hides_usage.then(HeldEvent::default),
            },
            (true, false) => AnswerForm::Whole(Vec::new()),
        };
        PassingAnswer(Some(Box::new(AnswerUnderWay {
            reader: call
                .protocol
                .map(|protocol| AnswerReader::with_choices(protocol, call.choices)),
            response,
            end: session.watch_end(),
            session,
            turn: call.turn,
            record: Some(call.record),
            _place: call.place,
            form,
            status,
            content_type,
            received: 0,
            kept: 0,
            began: call.began,
            has_own_usage: false,
            given_up: false,
            is_settled: false,
        })))
    }

    /// The next bytes for the agent; `None` at the end.
    pub async fn next(mut self) -> (PassingAnswer, PassedPiece) {
        let piece = match &mut self.0 {
            Some(answer) => answer.next().await,
            None => None,
        };
        (self, piece)
    }
}

impl Drop for PassingAnswer {
    /// The agent has all, or closed the connection. In a replay it may request the same, so what it
    /// did not read is recorded, too.
    fn drop(&mut self) {
        let Some(mut answer) = self.0.take() else {
            return;
        };
        let is_complete = answer
            .reader
            .as_ref()
            .is_some_and(AnswerReader::is_complete);
        let is_over = answer.is_settled || is_complete || answer.session.end().is_some();
        if is_over || !answer.session.is_recorded() {
            return;
        }
        answer.given_up = true;
        answer.end_given_up();
        let session = Arc::clone(&answer.session);
        session.spawn_call(async move {
            let rest = async { while let Some(Ok(_)) = answer.next().await {} };
            let _ = tokio::time::timeout(GIVEN_UP, rest).await;
        });
    }
}

impl AnswerUnderWay {
    async fn next(&mut self) -> PassedPiece {
        loop {
            if self.is_settled {
                return None;
            }
            // A limit that is reached ends answers, also those of other calls; one that has only its
            // end to come is passed on and recorded as a whole.
            let is_final = self.is_final();
            if let (false, Some(end)) = (is_final, &*self.end.borrow()) {
                let cut = io::Error::other(end.to_string());
                return Some(Err(cut));
            }
            let chunk = tokio::select! {
                biased;
                chunk = self.response.chunk() => chunk,
                // A limit that another call reaches ends this one at once.
                _ = self.end.changed(), if !is_final => continue,
            };
            match chunk {
                Ok(Some(bytes)) => {
                    self.received += bytes.len() as u64;
                    if self.received > LONGEST_ANSWER {
                        self.settle(Some("too_long"));
                        let cut = io::Error::other("the answer exceeds 256 MiB");
                        return Some(Err(cut));
                    }
                    let passed = self.take(bytes);
                    if !passed.is_empty() {
                        return Some(Ok(passed.into()));
                    }
                }
                Ok(None) => {
                    let rest = self.take_end();
                    self.settle(None);
                    // The stream of the upstream repeats its end.
                    return (!rest.is_empty()).then_some(Ok(Bytes::from(rest)));
                }
                Err(error) => {
                    self.settle(Some("cut_off"));
                    let cut = io::Error::other(error.to_string());
                    return Some(Err(cut));
                }
            }
        }
    }

    fn is_refusal(&self) -> bool {
        self.status >= 400
    }

    /// Reads bytes on the side, and returns what is passed on now.
    fn take(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        self.kept += bytes.len();
        let is_too_long = self.kept > LONGEST_KEPT;
        let mut out = None;
        let mut changed = false;
        if let (true, AnswerForm::Whole(kept)) = (self.is_refusal(), &mut self.form) {
            // Of an error only this much, as a whole: a server may repeat the key in it.
            let room = ERROR_BYTES.saturating_sub(kept.len());
            kept.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
            return Vec::new();
        }
        match &mut self.form {
            AnswerForm::Unread => {}
            AnswerForm::Whole(_) if is_too_long => self.form = AnswerForm::Unread,
            AnswerForm::Whole(kept) => kept.extend_from_slice(&bytes),
            AnswerForm::Events {
                splitter,
                passed,
                held,
            } => {
                let mut at = 0;
                let mut free = Vec::new();
                splitter.push(&bytes, |block| {
                    if let Some(reader) = &mut self.reader {
                        changed |= reader.event(&block);
                    }
                    let Some(held) = held else {
                        return;
                    };
                    held.bytes
                        .extend_from_slice(bytes.get(at..block.end).unwrap_or_default());
                    at = block.end;
                    // Replayed answers have what the agent got.
                    let is_own = !held.is_passed && is_usage_chunk(block.data.as_deref());
                    self.has_own_usage |= is_own;
                    match is_own {
                        true => held.bytes.clear(),
                        false => free.append(&mut held.bytes),
                    }
                    held.is_passed = false;
                });
                if let Some(held) = held {
                    held.bytes
                        .extend_from_slice(bytes.get(at..).unwrap_or_default());
                    if held.is_passed || held.bytes.len() > LONGEST_REPORT {
                        held.is_passed = true;
                        free.append(&mut held.bytes);
                    }
                    out = Some(free);
                }
                match is_too_long {
                    true => *passed = Vec::new(),
                    false => passed.extend_from_slice(out.as_ref().unwrap_or(&bytes)),
                }
            }
        }
        if changed && let (Some(turn), Some(reader)) = (&mut self.turn, &self.reader) {
            turn.update(reader);
        }
        out.unwrap_or(bytes)
    }

    /// Reads what the end of the answer ends.
    fn take_end(&mut self) -> Vec<u8> {
        match &mut self.form {
            AnswerForm::Events {
                splitter,
                passed,
                held,
            } => {
                let held = held.take().unwrap_or_default();
                let last = splitter.finish();
                if let Some(reader) = &mut self.reader {
                    if let Some(block) = &last {
                        reader.event(block);
                    }
                    reader.close();
                }
                if let Some(block) = last
                    && !held.bytes.is_empty()
                    && is_usage_chunk(block.data.as_deref())
                {
                    self.has_own_usage = true;
                    return Vec::new();
                }
                passed.extend_from_slice(&held.bytes);
                held.bytes
            }
            AnswerForm::Whole(kept) if self.status >= 400 => {
                let text = String::from_utf8_lossy(kept).into_owned();
                let text = self.session.redact(text);
                *kept = text.clone().into_bytes();
                text.into_bytes()
            }
            AnswerForm::Whole(kept) => {
                if let (Some(reader), Ok(value)) =
                    (&mut self.reader, serde_json::from_slice::<Value>(kept))
                {
                    reader.body(&value);
                }
                Vec::new()
            }
            AnswerForm::Unread => Vec::new(),
        }
    }

    /// Counts and records the answer, once. `cut` is why it has no end.
    fn settle(&mut self, cut: Option<&str>) {
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        let is_good = (200..300).contains(&self.status);
        let is_stream = matches!(self.form, AnswerForm::Events { .. });
        let reader = self.reader.as_ref();
        let is_whole = match reader {
            // One that can't be read was made all the same.
            Some(reader) if is_good && (is_stream || reader.fault().is_some()) => {
                reader.is_complete()
            }
            _ => cut.is_none(),
        };
        let fault = match (is_good, is_whole) {
            (false, _) => Some(self.status.to_string()),
            (true, true) => None,
            (true, false) => {
                let own = reader.and_then(AnswerReader::fault);
                Some(own.or(cut).unwrap_or("cut_off").to_owned())
            }
        };
        if let Some(fault) = fault.as_ref().filter(|_| !self.given_up) {
            let mut ledger = lock(&self.session.ledger);
            match self.turn {
                Some(_) => ledger.add_turn_fault(fault),
                None => ledger.add_fault(fault),
            }
        }
        if let Some(mut turn) = self.turn.take() {
            let end = match fault {
                None => CallEnd::Answered,
                Some(_) => CallEnd::Failed,
            };
            turn.end(end, reader, self.estimate());
        }
        // A refusal that another request would get, too, is an answer.
        let is_answer =
            !is_good && cut.is_none() && matches!(self.status, 400 | 404 | 405 | 413 | 422);
        self.record(fault.filter(|_| !is_answer), cut.is_some());
    }

    fn is_final(&self) -> bool {
        self.reader.as_ref().is_some_and(AnswerReader::is_final)
    }

    /// The agent closed the connection before the end of an answer, or a limit ended it.
    fn abandon(&mut self) {
        let is_complete = self.reader.as_ref().is_some_and(AnswerReader::is_complete);
        if is_complete || !(200..300).contains(&self.status) {
            self.settle(None);
            return;
        }
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        self.end_given_up();
        match (self.session.end(), self.record.take()) {
            // In a replay the same part of the answer reaches the same limit.
            (Some(SessionEnd::Limit(_)), record) => {
                self.record = record;
                self.record(None, false);
            }
            (Some(SessionEnd::Diverged(_)), Some(record)) => record.forget(),
            (None, record) => {
                (self.record, self.given_up) = (record, true);
                self.record(None, true);
            }
            _ => {}
        }
    }

    fn end_given_up(&mut self) {
        let estimate = self.estimate();
        if let Some(mut turn) = self.turn.take() {
            turn.end(CallEnd::Answered, self.reader.as_ref(), estimate);
        }
    }

    /// About how many tokens the answer has so far.
    fn estimate(&self) -> usize {
        let bytes = usize::try_from(self.received).unwrap_or(usize::MAX);
        match &self.form {
            AnswerForm::Events { .. } => bytes / STREAM_BYTES,
            AnswerForm::Whole(_) | AnswerForm::Unread => bytes / 4,
        }
    }

    fn record(&mut self, fault: Option<String>, is_cut: bool) {
        let Some(record) = self.record.take() else {
            return;
        };
        let answer = RecordedAnswer {
            status: self.status,
            content_type: self.content_type.take(),
            usage: self
                .reader
                .as_ref()
                .filter(|_| self.has_own_usage)
                .map(AnswerReader::report),
            given_up: self.given_up,
            fault,
            is_cut,
            ..RecordedAnswer::default()
        };
        let body = match std::mem::replace(&mut self.form, AnswerForm::Unread) {
            _ if self.kept > LONGEST_KEPT => None,
            AnswerForm::Events { passed, .. } => Some(PassedBody::Events(passed)),
            AnswerForm::Whole(bytes) => Some(PassedBody::Whole(bytes)),
            AnswerForm::Unread => None,
        };
        let took = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        match body {
            Some(body) => record.answer(answer, body, took),
            None if answer.is_last_resort() => record.forget(),
            None => record.fail("an answer is compressed, or exceeds 16 MiB"),
        }
    }
}

impl Drop for AnswerUnderWay {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// The last chunk of a chat that has usage and no text.
fn is_usage_chunk(data: Option<&str>) -> bool {
    let Some(data) = data.filter(|data| data.contains("\"usage\"")) else {
        return false;
    };
    serde_json::from_str::<Value>(data).is_ok_and(|chunk| {
        let is_empty = |choices: &Value| choices.as_array().is_some_and(Vec::is_empty);
        chunk.get("choices").is_some_and(is_empty)
            && chunk.get("usage").is_some_and(Value::is_object)
    })
}

/// Whether usage may be requested of an upstream's streams of chats: it is, until it was refused.
#[derive(Debug, Default)]
pub(crate) struct UsageRequests(AtomicBool);

impl UsageRequests {
    pub fn are_refused(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn refuse(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The body of a chat that streams with a request of its usage; `None` where the agent has one,
    /// or no stream. Put in as text: the order of fields is part of what the model reads.
    pub fn add(&self, protocol: Option<ApiProtocol>, value: &Value, body: &Bytes) -> Option<Bytes> {
        let is_stream = value.get("stream").and_then(Value::as_bool) == Some(true);
        let options = value.get("stream_options");
        let is_requested =
            options.is_some_and(|options| options.get("include_usage") == Some(&Value::Bool(true)));
        if protocol != Some(ApiProtocol::OpenaiChat)
            || !is_stream
            || is_requested
            || self.are_refused()
        {
            return None;
        }
        if options.is_some() {
            let own = |name: Option<&str>, text: &[u8]| match name {
                Some("stream_options") => Some(br#"{"include_usage":true}"#.to_vec()),
                _ => Some(text.to_vec()),
            };
            return replaced(body, own).map(Bytes::from);
        }
        let at = body.iter().position(|byte| *byte == b'{')? + 1;
        let (begin, rest) = body.split_at_checked(at)?;
        let option = br#""stream_options":{"include_usage":true},"#;
        Some([begin, option, rest].concat().into())
    }
}
