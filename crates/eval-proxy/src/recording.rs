//! The recording of a session: lines of JSON, the first one a head, then one for each exchange.
//!
//! ```text
//! {"format":"eval-harness agent recording","version":1,"agent":"claude-code"}
//! {"exchange":0,"conversation":0,"protocol":"anthropic_messages","method":"POST",
//!  "path":"/anthropic/v1/messages","at":"...","duration_ms":1200,"request":{...},
//!  "answer":{"status":200,"events":["event: message_start\ndata: {...}", ...]}}
//! ```
//!
//! A request that continues an earlier one has only its difference, see [`ContinuedRequest`].

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Lines, Read, Write};
use std::path::Path;

use eval_base::clock::rfc3339;
use eval_base::json;
use eval_base::ordered::OrderedValue;
use eval_base::whole_file::WholeFile;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ApiProtocol;
use crate::conversation::{BodyShape, ShortDigest, difference};
use crate::keeper::KeptBytes;
use crate::report::ContinuedRequest;

const FORMAT: &str = "eval-harness agent recording";
const VERSION: u32 = 1;

/// Bytes of a whole recording before compression.
const MOST_RECORDED: u64 = 1 << 30;
/// Bytes of lines that are kept, compressed, for the report of one session.
const MOST_KEPT: usize = 32 << 20;
/// Bytes of digests of the latest requests of all conversations.
const MOST_SHAPES: usize = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct RecordingHead {
    format: String,
    version: u32,
    #[serde(default)]
    agent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    fingerprint: String,
    /// Folders as the agent saw them, with their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    folders: Vec<(String, String)>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedExchange {
    /// Calls of models are numbered from 0; counts of tokens and lists of models are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ApiProtocol>,
    pub method: String,
    /// As the agent requests it, without host.
    pub path: String,
    /// RFC 3339, UTC.
    pub at: String,
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<ContinuedRequest>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub request: Value,
    pub answer: RecordedAnswer,
}

/// What was answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedAnswer {
    /// 0 where the agent gave the call up before there was one.
    pub status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Of a stream, each without the blank line behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<OrderedValue>,
    /// The usage report of a stream that only the proxy requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// A body that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it is no usable answer: a status, or a kind of failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The agent closed the connection before the end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub given_up: bool,
    /// The end is not known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_cut: bool,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

impl RecordedAnswer {
    /// One that an agent mostly requests again.
    pub fn is_last_resort(&self) -> bool {
        self.fault.is_some() || self.given_up
    }
}

/// A request as it will be recorded.
#[derive(Debug)]
pub(crate) struct RequestRecord {
    pub protocol: Option<ApiProtocol>,
    pub method: String,
    pub path: String,
    pub at: jiff::Timestamp,
    /// Of its conversation.
    pub key: ShortDigest,
    shape: BodyShape,
    /// JSON of what the request that `continues` names has not.
    difference: String,
    continues: Option<ContinuedRequest>,
}

#[derive(Debug)]
struct ConversationTail {
    number: usize,
    last: usize,
    /// `None` when it takes too much memory.
    shape: Option<BodyShape>,
}

/// Where exchanges are kept: a file, and compressed lines in memory for the report.
#[derive(Debug, Default)]
pub(crate) struct ExchangeLog {
    out: Option<WholeFile>,
    compresses: bool,
    written: u64,
    fault: Option<String>,
    kept: Vec<Vec<u8>>,
    kept_bytes: usize,
    /// What `kept` takes of the run's memory.
    shared: KeptBytes,
    left_out: u64,
    count: usize,
    tails: HashMap<ShortDigest, ConversationTail>,
    shape_bytes: usize,
}

impl ExchangeLog {
    /// A log that writes no file.
    pub fn new(shared: KeptBytes) -> ExchangeLog {
        ExchangeLog {
            shared,
            ..ExchangeLog::default()
        }
    }

    /// A log that writes a file.
    pub fn create(
        path: &Path,
        agent: &str,
        fingerprint: &str,
        folders: &[(String, String)],
        shared: KeptBytes,
    ) -> io::Result<ExchangeLog> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder)?;
        }
        let mut log = ExchangeLog {
            out: Some(WholeFile::create(path)?),
            compresses: is_compressed(path),
            ..ExchangeLog::new(shared)
        };
        let head = RecordingHead {
            format: FORMAT.to_owned(),
            version: VERSION,
            agent: agent.to_owned(),
            fingerprint: fingerprint.to_owned(),
            folders: folders.to_vec(),
        };
        log.write(&serde_json::to_vec(&head)?);
        Ok(log)
    }

    /// What will be recorded of a request: the part that no earlier one of its conversation has,
    /// from which `redact` takes out secrets.
    pub fn prepare(
        &self,
        protocol: Option<ApiProtocol>,
        (method, path, at): (&str, String, jiff::Timestamp),
        key: ShortDigest,
        body: Value,
        redact: &dyn Fn(&mut Value),
    ) -> RequestRecord {
        let shape = match protocol {
            Some(_) => BodyShape::of(&body),
            None => BodyShape::default(),
        };
        let tail = self.tails.get(&key).filter(|_| protocol.is_some());
        let earlier = tail.and_then(|tail| Some((tail.shape.as_ref()?, tail.last)));
        let (mut difference, continues) = match earlier {
            Some((earlier, last)) => difference(body, &shape, earlier, last),
            None => (body, None),
        };
        redact(&mut difference);
        RequestRecord {
            protocol,
            method: method.to_owned(),
            path,
            at,
            key,
            shape,
            difference: difference.to_string(),
            continues,
        }
    }

    /// Adds an exchange. The answer is without secrets.
    pub fn append(&mut self, request: RequestRecord, answer: RecordedAnswer, duration_ms: u64) {
        let numbers = request.protocol.map(|_| self.number(&request));
        let line = RecordedExchange {
            exchange: numbers.map(|(exchange, _)| exchange),
            conversation: numbers.map(|(_, conversation)| conversation),
            protocol: request.protocol,
            method: request.method,
            path: request.path,
            at: rfc3339(request.at),
            duration_ms,
            continues: request.continues,
            // It was written from a value.
            request: serde_json::from_str(&request.difference).unwrap_or_default(),
            answer,
        };
        let mut bytes = Vec::new();
        if let Err(error) = json::to_writer(&mut bytes, &line) {
            self.fail(&error.to_string());
            return;
        }
        self.write(&bytes);
        if numbers.is_none() {
            return;
        }
        // Later ones may refer to one that was left out.
        if self.left_out == 0
            && self.kept_bytes + bytes.len() <= MOST_KEPT
            && let Ok(compressed) = compressed(&bytes)
            && self.shared.take(compressed.len())
        {
            self.kept_bytes += bytes.len();
            self.kept.push(compressed);
        } else {
            self.left_out += 1;
        }
    }

    /// Gives an exchange its number and that of its conversation.
    fn number(&mut self, request: &RequestRecord) -> (usize, usize) {
        let exchange = self.count;
        self.count += 1;
        let conversations = self.tails.len();
        let tail = self.tails.entry(request.key).or_insert(ConversationTail {
            number: conversations,
            last: exchange,
            shape: None,
        });
        let number = tail.number;
        tail.last = exchange;
        let size = request.shape.size();
        let before = tail.shape.replace(request.shape.clone());
        self.shape_bytes =
            (self.shape_bytes + size).saturating_sub(before.as_ref().map_or(0, BodyShape::size));
        if self.shape_bytes > MOST_SHAPES {
            for tail in self.tails.values_mut() {
                tail.shape = None;
            }
            self.shape_bytes = 0;
        }
        (exchange, number)
    }

    fn write(&mut self, line: &[u8]) {
        let Some(out) = &mut self.out else {
            return;
        };
        self.written += line.len() as u64 + 1;
        let result = match self.compresses {
            true => compressed_line(line).and_then(|bytes| out.write_all(&bytes)),
            false => out.write_all(line).and_then(|()| out.write_all(b"\n")),
        };
        if let Err(error) = result {
            self.fail(&error.to_string());
        } else if self.written > MOST_RECORDED {
            self.fail("it exceeds 1 GiB");
        }
    }

    /// Gives the recording up: one with a gap would not replay.
    pub fn fail(&mut self, why: &str) {
        if self.out.take().is_some() {
            self.fault = Some(format!("the exchanges are not recorded: {why}"));
        }
    }

    /// Puts the file in its place, and returns the lines of calls of models.
    pub fn finish(&mut self) -> FinishedLog {
        if let Some(out) = self.out.take()
            && let Err(error) = out.keep()
        {
            self.fault = Some(format!("the recording cannot be written: {error}"));
        }
        let kept = std::mem::take(&mut self.kept);
        let lines = kept.iter().map_while(|bytes| unpacked(bytes));
        FinishedLog {
            exchanges: lines.collect(),
            left_out: self.left_out,
            fault: self.fault.take(),
        }
    }
}

/// What a log leaves.
#[derive(Debug, Default)]
pub(crate) struct FinishedLog {
    pub exchanges: Vec<RecordedExchange>,
    pub left_out: u64,
    pub fault: Option<String>,
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Bytes in a gzip stream of their own.
pub(crate) fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes)?;
    out.finish()
}

fn compressed_line(line: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(line)?;
    out.write_all(b"\n")?;
    out.finish()
}

/// A value from [`compressed`] JSON.
pub(crate) fn unpacked<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut text = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A recording that is read, an exchange at a time.
pub(crate) struct RecordingReader {
    /// As the agent saw them then, with their names.
    pub folders: Vec<(String, String)>,
    /// Of the task, where one was set.
    pub fingerprint: String,
    lines: Lines<BufReader<Box<dyn Read>>>,
    number: usize,
}

impl RecordingReader {
    /// # Errors
    /// A sentence.
    pub fn open(path: &Path) -> Result<RecordingReader, String> {
        let file = eval_base::files::open_file(path).map_err(|error| error.to_string())?;
        let reader: Box<dyn Read> = match is_compressed(path) {
            true => Box::new(MultiGzDecoder::new(BufReader::new(file))),
            false => Box::new(file),
        };
        let mut lines = BufReader::new(reader).lines();
        let head = match lines.next() {
            Some(line) => line.map_err(|error| error.to_string())?,
            None => return Err("it is empty".to_owned()),
        };
        let head: RecordingHead = serde_json::from_str(&head)
            .ok()
            .filter(|head: &RecordingHead| head.format == FORMAT)
            .ok_or("it is not a recording of an agent")?;
        if head.version != VERSION {
            return Err(format!(
                "version {} is not supported; this version reads {VERSION}",
                head.version
            ));
        }
        Ok(RecordingReader {
            folders: head.folders,
            fingerprint: head.fingerprint,
            lines,
            number: 1,
        })
    }

    /// The next exchange; `None` at the end.
    ///
    /// # Errors
    /// A sentence, with the line.
    pub fn next(&mut self) -> Result<Option<RecordedExchange>, String> {
        for line in self.lines.by_ref() {
            self.number += 1;
            let line = line.map_err(|error| format!("line {}: {error}", self.number))?;
            if !line.trim().is_empty() {
                let exchange = serde_json::from_str(&line);
                return exchange.map(Some).map_err(|error| self.at(&error));
            }
        }
        Ok(None)
    }

    /// What is wrong, with the line.
    pub fn at(&self, why: &dyn std::fmt::Display) -> String {
        format!("line {}: {why}", self.number)
    }
}
