//! Answers from a recording: which recorded exchange a request is, or where it differs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use eval_base::text::truncate_bytes;
use serde_json::Value;

use crate::ApiProtocol;
use crate::conversation::{BodyShape, NormalizedParts, ShortDigest, digest_of};
use crate::normalize::Normalization;
use crate::recording::{RecordedAnswer, RecordedExchange, RecordingReader, compressed, unpacked};
use crate::report::{ReplayDivergence, whole_request};

/// Bytes of a value in a divergence.
const SHOWN: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UseState {
    Unused,
    /// The answer is under way.
    InUse,
    Used,
}

#[derive(Debug)]
struct ReplayExchange {
    protocol: Option<ApiProtocol>,
    /// Without the query.
    path: String,
    shape: BodyShape,
    /// Compressed JSON of its answer.
    answer: Vec<u8>,
    /// It failed, or the agent gave it up: only a request that has no other answer gets it, the last
    /// one any number of times.
    is_last_resort: bool,
    state: UseState,
}

/// A recording that answers.
#[derive(Debug)]
pub(crate) struct ReplayIndex {
    file: PathBuf,
    /// With the folders as they were then.
    recorded_rules: Normalization,
    /// It was recorded for another task, agent or model, and answers nothing.
    is_other: bool,
    /// Calls of models by their numbers, then the others.
    exchanges: Vec<ReplayExchange>,
    conversations: HashMap<ShortDigest, Vec<usize>>,
    /// Of the agent's requests.
    parts: NormalizedParts,
}

/// The answer to a request, and the exchange that it is from.
#[derive(Debug)]
pub(crate) struct ReplayedAnswer {
    pub index: usize,
    pub answer: RecordedAnswer,
}

/// What a count of tokens or a list of models is found by.
fn side_key(method: &str, path: &str, body: &BodyShape) -> ShortDigest {
    let mut bytes = format!("{method} {}\n", without_query(path)).into_bytes();
    bytes.extend(body.digest());
    digest_of(&bytes)
}

fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

impl ReplayIndex {
    /// # Errors
    /// A sentence, when the file is not a sound recording.
    pub fn open(
        path: &Path,
        rules: &Normalization,
        fingerprint: &str,
    ) -> Result<ReplayIndex, String> {
        let mut models: Vec<ReplayExchange> = Vec::new();
        let mut sides: Vec<(ShortDigest, ReplayExchange)> = Vec::new();
        let mut keys: HashMap<usize, ShortDigest> = HashMap::new();
        let mut conversations: HashMap<ShortDigest, Vec<usize>> = HashMap::new();
        let mut reader = RecordingReader::open(path)?;
        let is_other = reader.fingerprint != fingerprint;
        let rules = &rules.with_folders(&reader.folders);
        let (mut parts, redacted) = (NormalizedParts::default(), |_: &mut Value| {});
        while let Some(line) = reader.next()? {
            let answer = serde_json::to_vec(&line.answer).map_err(|error| error.to_string())?;
            let mut exchange = ReplayExchange {
                protocol: line.protocol,
                path: without_query(&line.path).to_owned(),
                shape: BodyShape::default(),
                answer: compressed(&answer).map_err(|error| error.to_string())?,
                is_last_resort: line.answer.is_last_resort(),
                state: UseState::Unused,
            };
            let Some(protocol) = line.protocol else {
                let body = parts.shape(&line.request, rules, &redacted);
                let key = side_key(&line.method, &line.path, &body);
                sides.push((key, exchange));
                continue;
            };
            if line.exchange != Some(models.len()) {
                return Err(reader.at(&format!("expected exchange {}", models.len())));
            }
            let written = parts.shape(&line.request, rules, &redacted);
            let shape = match &line.continues {
                None => Some(written),
                Some(continues) => models
                    .get(continues.exchange)
                    .and_then(|earlier| BodyShape::continued(&earlier.shape, written, continues)),
            };
            let Some(shape) = shape else {
                return Err(reader.at(&"the exchange that it continues is missing or different"));
            };
            exchange.shape = shape;
            let known = line.conversation.and_then(|number| keys.get(&number));
            let key = match (known, line.conversation, &line.continues) {
                (Some(key), ..) => *key,
                (None, Some(number), None) => {
                    let key = parts.conversation(protocol, &line.request, rules, &redacted);
                    *keys.entry(number).or_insert(key)
                }
                _ => return Err(reader.at(&"the first exchange of the conversation is missing")),
            };
            conversations.entry(key).or_default().push(models.len());
            models.push(exchange);
        }
        for (key, exchange) in sides {
            conversations.entry(key).or_default().push(models.len());
            models.push(exchange);
        }
        Ok(ReplayIndex {
            file: path.to_owned(),
            recorded_rules: rules.clone(),
            is_other,
            exchanges: models,
            conversations,
            parts: NormalizedParts::default(),
        })
    }

    /// The answer to a count of tokens or a list of models; it may be requested often.
    pub fn find_side(
        &mut self,
        (method, path): (&str, &str),
        body: &Value,
        rules: &Normalization,
        redact: &dyn Fn(&mut Value),
    ) -> Option<ReplayedAnswer> {
        let body = self.parts.shape(body, rules, redact);
        let list = self.conversations.get(&side_key(method, path, &body))?;
        let is_free = |at: &&usize| self.is_unused(**at);
        let is_good = |at: &&usize| !self.is_last_resort(**at);
        let good = list.iter().find(is_free).or(list.iter().rfind(is_good));
        let index = *good.or(list.last())?;
        self.take(index)
    }

    /// The first unused exchange of the conversation that is this request, or else one that failed.
    /// `redact` takes out the secrets of the body.
    ///
    /// # Errors
    /// Where the request differs from what the recording has next.
    pub fn find(
        &mut self,
        protocol: ApiProtocol,
        path: &str,
        body: &Value,
        rules: &Normalization,
        redact: &dyn Fn(&mut Value),
    ) -> Result<ReplayedAnswer, ReplayDivergence> {
        let path = without_query(path);
        let shape = self.parts.shape(body, rules, redact);
        let key = self.parts.conversation(protocol, body, rules, redact);
        let list = self.conversations.get(&key).cloned().unwrap_or_default();
        let is_same = |at: &&usize| {
            let exchange = self.exchanges.get(**at);
            exchange.is_some_and(|exchange| exchange.path == path && exchange.shape == shape)
        };
        let same: Vec<usize> = list.iter().filter(is_same).copied().collect();
        let unused = same.iter().find(|at| self.is_unused(**at));
        let failed = || {
            let mut failed = same.iter().filter(|at| self.is_last_resort(**at));
            let unused = failed.clone().find(|at| !self.is_used(**at));
            unused.or_else(|| failed.next_back())
        };
        if let Some(index) = unused.or_else(failed).copied()
            && !self.is_other
            && let Some(found) = self.take(index)
        {
            return Ok(found);
        }
        // The next one of the conversation; of a new conversation, the next beginning of one.
        let is_known = !list.is_empty();
        let next = match is_known {
            true => list.iter().copied().find(|at| self.is_unused(*at)),
            false => {
                let mut firsts: Vec<usize> = self
                    .conversations
                    .values()
                    .filter_map(|list| list.first().copied())
                    .collect();
                firsts.sort_unstable();
                firsts.into_iter().find(|at| {
                    self.is_unused(*at)
                        && self
                            .exchanges
                            .get(*at)
                            .is_some_and(|exchange| exchange.protocol == Some(protocol))
                })
            }
        };
        let mut body = body.clone();
        redact(&mut body);
        Err(self.divergence(next, is_known, path, &body, rules))
    }

    /// An answer that may be used once, and was not.
    fn is_unused(&self, index: usize) -> bool {
        let exchange = self.exchanges.get(index);
        exchange.is_some_and(|exchange| !exchange.is_last_resort) && !self.is_used(index)
    }

    fn is_used(&self, index: usize) -> bool {
        let exchange = self.exchanges.get(index);
        exchange.is_none_or(|exchange| exchange.state != UseState::Unused)
    }

    fn is_last_resort(&self, index: usize) -> bool {
        let exchange = self.exchanges.get(index);
        exchange.is_some_and(|exchange| exchange.is_last_resort)
    }

    fn take(&mut self, index: usize) -> Option<ReplayedAnswer> {
        let exchange = self.exchanges.get_mut(index)?;
        let answer = unpacked(&exchange.answer)?;
        exchange.state = UseState::InUse;
        Some(ReplayedAnswer { index, answer })
    }

    /// The answer was passed on as a whole; or it was not, so that the same request gets it again. One
    /// that failed is followed by the next failure.
    pub fn settle(&mut self, index: usize, is_delivered: bool) {
        if let Some(exchange) = self.exchanges.get_mut(index) {
            exchange.state = match is_delivered || exchange.is_last_resort {
                true => UseState::Used,
                false => UseState::Unused,
            };
        }
    }

    /// Recorded answers of models that were not requested.
    pub fn unused(&self) -> u64 {
        let models = (0..).zip(&self.exchanges);
        let models = models.filter(|(_, exchange)| exchange.protocol.is_some());
        models.filter(|(index, _)| self.is_unused(*index)).count() as u64
    }

    fn divergence(
        &self,
        next: Option<usize>,
        is_known: bool,
        path: &str,
        body: &Value,
        rules: &Normalization,
    ) -> ReplayDivergence {
        let requested = normalized(body, rules);
        let Some(index) = next else {
            let message = match is_known {
                true => "the agent made a request after the last recorded one of this conversation",
                false => "the agent started a conversation that is not in the recording",
            };
            let last = last_item(&requested);
            return ReplayDivergence {
                exchange: None,
                pointer: String::new(),
                recorded: None,
                requested: Some(truncate_bytes(&last, SHOWN).to_owned()),
                message: message.to_owned(),
            };
        };
        let recorded_path = self
            .exchanges
            .get(index)
            .map_or("", |exchange| &exchange.path);
        let difference = match recorded_path == path {
            false => Some((
                String::new(),
                Some(Value::from(recorded_path)),
                Some(Value::from(path)),
            )),
            true => {
                let whole = self.whole_request(index).unwrap_or_default();
                let recorded = normalized(&whole, &self.recorded_rules);
                let exactly = || first_difference(&whole, body).filter(|_| self.is_other);
                first_difference(&recorded, &requested).or_else(exactly)
            }
        };
        let (pointer, recorded, requested) = match difference {
            None if self.is_other => {
                return ReplayDivergence {
                    exchange: Some(index),
                    pointer: String::new(),
                    recorded: None,
                    requested: None,
                    message: "the recording was made with a different prompt, model or settings of the agent"
                        .to_owned(),
                };
            }
            difference => difference.unwrap_or_default(),
        };
        let (recorded, requested) = excerpts(recorded, requested);
        let place = match pointer.as_str() {
            "" => "the request".to_owned(),
            pointer => format!("`{pointer}`"),
        };
        let message = format!(
            "the agent's request differs from recorded exchange {index} at {place}: recorded {}, requested {}",
            recorded.as_deref().unwrap_or("nothing"),
            requested.as_deref().unwrap_or("nothing"),
        );
        ReplayDivergence {
            exchange: Some(index),
            pointer,
            recorded,
            requested,
            message,
        }
    }

    /// Read from the file again: a replay diverges once.
    fn whole_request(&self, index: usize) -> Option<Value> {
        let mut lines: Vec<RecordedExchange> = Vec::new();
        let mut reader = RecordingReader::open(&self.file).ok()?;
        // As far as it can be read.
        while let Ok(Some(mut line)) = reader.next() {
            line.answer = RecordedAnswer::default();
            if line.exchange.is_some() {
                lines.push(line);
            }
        }
        let at = |index: usize| {
            let line = lines.get(index)?;
            Some((&line.request, line.continues.as_ref()))
        };
        whole_request(at, index)
    }
}

/// A body as it is compared.
fn normalized(body: &Value, rules: &Normalization) -> Value {
    let Value::Object(fields) = body else {
        return rules.field("", body).unwrap_or_default();
    };
    let fields = fields.iter().filter_map(|(name, value)| {
        let value = match value {
            Value::Array(items) => {
                rules.field(name, &Value::Null)?;
                items.iter().map(|item| rules.item(name, item)).collect()
            }
            value => rules.field(name, value)?,
        };
        Some((name.clone(), value))
    });
    Value::Object(fields.collect())
}

/// The last message of a request, as JSON.
fn last_item(body: &Value) -> String {
    let lists = ["messages", "input", "contents"];
    let list = lists.iter().find_map(|name| body.get(name)?.as_array());
    list.and_then(|list| list.last())
        .unwrap_or(body)
        .to_string()
}

/// A JSON pointer, and the two values there.
type ValueDifference = (String, Option<Value>, Option<Value>);

/// The first place where two values differ, in the order of keys and items; `None` when they are
/// equal.
fn first_difference(recorded: &Value, requested: &Value) -> Option<ValueDifference> {
    let below = |part: &str, recorded: Option<&Value>, requested: Option<&Value>| {
        let part = part.replace('~', "~0").replace('/', "~1");
        match (recorded, requested) {
            (Some(recorded), Some(requested)) => first_difference(recorded, requested)
                .map(|(pointer, a, b)| (format!("/{part}{pointer}"), a, b)),
            (a, b) => Some((format!("/{part}"), a.cloned(), b.cloned())),
        }
    };
    match (recorded, requested) {
        (Value::Object(a), Value::Object(b)) => {
            let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
            names.sort();
            names.dedup();
            let mut differences = names
                .into_iter()
                .filter(|name| a.get(*name) != b.get(*name));
            differences.find_map(|name| below(name, a.get(name), b.get(name)))
        }
        (Value::Array(a), Value::Array(b)) => {
            let mut places = 0..a.len().max(b.len());
            let at = places.find(|at| a.get(*at) != b.get(*at))?;
            below(&at.to_string(), a.get(at), b.get(at))
        }
        (a, b) if a == b => None,
        (a, b) => Some((String::new(), Some(a.clone()), Some(b.clone()))),
    }
}

/// Both values as short texts, which show the place of their first difference.
fn excerpts(a: Option<Value>, b: Option<Value>) -> (Option<String>, Option<String>) {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let (a, b) = (a.map(text), b.map(text));
    let common = match (&a, &b) {
        (Some(a), Some(b)) => a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    let cut = |text: String| {
        let mut start = common.saturating_sub(SHOWN / 4).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let rest = text.get(start..).unwrap_or_default();
        let shown = truncate_bytes(rest, SHOWN);
        let (before, after) = (start > 0, shown.len() < rest.len());
        let mark = |is_cut| if is_cut { "…" } else { "" };
        format!("\"{}{shown}{}\"", mark(before), mark(after))
    };
    (a.map(cut), b.map(cut))
}
