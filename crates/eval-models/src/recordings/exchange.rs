//! The file of one exchange.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cache::StoredAnswer;
use crate::key::{KeyedQuestion, QuestionKey};
use crate::{Completion, FinishReason};
use eval_base::clock::rfc3339;
use eval_base::ordered::OrderedValue;
use eval_base::redact::Redactor;

pub(super) const FORMAT_VERSION: u32 = 1;

/// A part of which a secret was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RedactedPart {
    Request,
    Answer,
}

/// What the file holds. People may have written it, with no more than a request and an answer,
/// which is a [`Completion`] or its text alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedExchange<A> {
    pub format_version: Option<u32>,
    pub key: Option<String>,
    pub request: KeyedQuestion,
    pub answer: A,
    pub answered_at: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<RedactedPart>,
}

/// A sound recording.
#[derive(Debug)]
pub(super) struct SoundRecording {
    pub key: QuestionKey,
    pub kept: StoredAnswer,
    /// The answer is not what the model said.
    pub is_cut: bool,
}

impl RecordedExchange<Completion> {
    /// The exchange without secrets.
    pub fn of(
        key: &QuestionKey,
        question: &KeyedQuestion,
        kept: &StoredAnswer,
        redactor: &Redactor,
    ) -> Self {
        let mut exchange = RecordedExchange {
            format_version: Some(FORMAT_VERSION),
            key: Some(key.to_string()),
            request: question.clone(),
            answer: kept.completion.clone(),
            answered_at: Some(kept.answered_at.clone()),
            redacted: Vec::new(),
        };
        if redactor.is_empty() {
            return exchange;
        }
        if cut_request(&mut exchange.request, redactor) {
            exchange.redacted.push(RedactedPart::Request);
        }
        let answer = &mut exchange.answer;
        let mut cut = cut_text(&mut answer.text, redactor);
        cut |= answer
            .tool_calls
            .as_mut()
            .is_some_and(|calls| cut_value(calls, redactor));
        // Not graded, so that an answer beside it is whole.
        if let Some(thoughts) = &mut answer.thoughts {
            cut_text(thoughts, redactor);
        }
        cut |= answer
            .model
            .as_mut()
            .is_some_and(|model| cut_text(model, redactor));
        if cut {
            exchange.redacted.push(RedactedPart::Answer);
        }
        exchange
    }

    pub fn bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// True when a file says the same, whenever it was written.
    pub fn is_in(&self, there: &[u8]) -> bool {
        let Ok(there) = serde_json::from_slice::<RecordedExchange<Value>>(there) else {
            return false;
        };
        let answer = serde_json::to_value(&self.answer).is_ok_and(|answer| answer == there.answer);
        answer
            && there.answered_at.is_some()
            && there.format_version == self.format_version
            && there.key == self.key
            && there.redacted == self.redacted
            && there.request == self.request
    }
}

/// Everything of a request that a text of the suite went into.
fn cut_request(request: &mut KeyedQuestion, redactor: &Redactor) -> bool {
    let mut cut =
        cut_text(&mut request.base_url, redactor) | cut_text(&mut request.model, redactor);
    for value in request.headers.values_mut() {
        cut |= cut_text(value, redactor);
    }
    if let Some(dialect) = &mut request.dialect {
        cut |= cut_text(&mut dialect.path, redactor) | cut_ordered(&mut dialect.body, redactor);
    }
    cut |= request
        .system
        .as_mut()
        .is_some_and(|system| cut_text(system, redactor));
    for message in &mut request.messages {
        cut |= cut_value(&mut message.content, redactor);
    }
    let sampling = &mut request.sampling;
    for stop in &mut sampling.stop {
        cut |= cut_text(stop, redactor);
    }
    cut |= sampling
        .json_schema
        .as_mut()
        .is_some_and(|schema| cut_ordered(schema, redactor));
    for value in sampling.options.values_mut() {
        cut |= cut_ordered(value, redactor);
    }
    cut
}

fn cut_ordered(ordered: &mut OrderedValue, redactor: &Redactor) -> bool {
    let mut value = ordered.to_value();
    let cut = cut_value(&mut value, redactor);
    // A recording has its keys sorted anyway.
    *ordered = value.into();
    cut
}

fn cut_text(text: &mut String, redactor: &Redactor) -> bool {
    match redactor.redact(text) {
        Some(cut) => {
            *text = cut;
            true
        }
        None => false,
    }
}

fn cut_value(value: &mut Value, redactor: &Redactor) -> bool {
    let before = value.clone();
    redactor.redact_value(value);
    *value != before
}

/// Reads the file of an exchange; the error is one sentence without the file's name.
pub(super) fn read(bytes: &[u8]) -> Result<SoundRecording, String> {
    let written: RecordedExchange<Value> =
        serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if let Some(version) = written
        .format_version
        .filter(|version| *version != FORMAT_VERSION)
    {
        return Err(format!(
            "its format_version is {version}, and {FORMAT_VERSION} is what this version reads"
        ));
    }
    let computed = written.request.key();
    let key = match written.key {
        None => computed,
        Some(text) => {
            let key = QuestionKey::parse(&text).ok_or("its key is not 64 hex digits")?;
            // What was cut from a request is part of its key.
            if key != computed && !written.redacted.contains(&RedactedPart::Request) {
                return Err("its request was changed by hand: it is not the one that its key is of; without `key` it would \
                            be taken as it is"
                    .to_owned());
            }
            key
        }
    };
    let completion = completion(written.answer).map_err(|error| format!("its answer: {error}"))?;
    if completion.is_silent()
        && completion.tool_calls.is_none()
        && matches!(
            completion.finish,
            FinishReason::Stop | FinishReason::Other | FinishReason::ToolCalls
        )
    {
        return Err("its answer says nothing".to_owned());
    }
    // Who writes one by hand may not know when.
    let answered_at = written.answered_at.as_deref().map(moment).transpose()?;
    Ok(SoundRecording {
        key,
        kept: StoredAnswer {
            completion,
            answered_at: answered_at.unwrap_or_default(),
        },
        is_cut: written.redacted.contains(&RedactedPart::Answer),
    })
}

fn completion(answer: Value) -> Result<Completion, String> {
    match answer {
        Value::String(text) => Ok(Completion::new(text, FinishReason::Stop)),
        Value::Object(mut map) => {
            // As of an API: a list of no calls is none, and would be an output that says nothing.
            if map.get("tool_calls").is_some_and(is_nothing) {
                map.remove("tool_calls");
            }
            let finish = if map.contains_key("tool_calls") {
                "tool_calls"
            } else {
                "stop"
            };
            map.entry("finish")
                .or_insert_with(|| Value::String(finish.to_owned()));
            serde_json::from_value(Value::Object(map)).map_err(|error| error.to_string())
        }
        _ => Err("a text or an object with `text` belongs here".to_owned()),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A time in the form that all answers have, so that the oldest is found among them; a day alone is
/// its beginning.
fn moment(text: &str) -> Result<String, String> {
    let day = || {
        text.parse::<Date>()
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()
            .map(|day| day.timestamp())
    };
    let at = text.parse::<Timestamp>().ok().or_else(day);
    at.map(rfc3339)
        .ok_or_else(|| "its answered_at is no time such as 2026-03-04T05:06:07Z".to_owned())
}
