//! One record of a recording: its keys, and what they may hold.

use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::base::text::sanitize;
use crate::model::{OutputValue, Usage};

/// Sample indexes from here on are refused: one stray number would plan as many samples.
const MAX_SAMPLE: u32 = 1_000_000;

/// A record as it is written. Unknown keys are skipped without being kept.
#[derive(Deserialize)]
pub(super) struct Line {
    #[serde(default)]
    pub case: Option<Value>,
    #[serde(default)]
    pub task_id: Option<Value>,
    #[serde(default)]
    pub eval: Option<Value>,
    #[serde(default)]
    pub sample: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub output: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub completion: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub response: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub solution: Option<Value>,
    #[serde(default)]
    pub usage: Option<Value>,
    #[serde(default)]
    pub model: Option<Value>,
}

/// Keeps a null apart from a key that is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A [`Line`] from an object and from nothing else: a derived struct would take an array's elements by position.
pub(super) struct Object(pub Line);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Object, A::Error> {
                Line::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

pub(super) fn shown(id: &str) -> String {
    format!("`{}`", sanitize(id))
}

pub(super) fn case_of(record: &Line) -> Result<String, String> {
    let read = |value: &Value, key: &str| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("`{key}` must be a text or a number")),
    };
    let case = record.case.as_ref().map(|value| read(value, "case")).transpose()?;
    let task = record.task_id.as_ref().map(|value| read(value, "task_id")).transpose()?;
    match (case, task) {
        (Some(case), Some(task)) if case != task => {
            Err(format!("`case` says {} and `task_id` says {}", shown(&case), shown(&task)))
        }
        (Some(id), _) | (None, Some(id)) => Ok(id),
        (None, None) => Err("names no case: `case` (or `task_id`) is missing".to_owned()),
    }
}

/// The output; `None` when it is an explicit null.
pub(super) fn value_of(record: &mut Line) -> Result<Option<OutputValue>, String> {
    let mut given = [
        ("output", record.output.take()),
        ("completion", record.completion.take()),
        ("response", record.response.take()),
        ("solution", record.solution.take()),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)));
    let Some((key, value)) = given.next() else {
        return Err("has no output: `output`, `completion` or `solution` is missing".to_owned());
    };
    if let Some((other, _)) = given.next() {
        return Err(format!("has both `{key}` and `{other}`"));
    }
    match (key, value) {
        (_, Value::Null) => Ok(None),
        ("solution", Value::String(text)) => Ok(Some(OutputValue::Program(text))),
        (_, Value::String(text)) => Ok(Some(OutputValue::Text(text))),
        ("output", value) => Ok(Some(OutputValue::Json(value))),
        (key, _) => Err(format!("`{key}` must be a text")),
    }
}

pub(super) fn text_of(value: Value, key: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(format!("`{key}` must be a text")),
    }
}

pub(super) fn sample_of(value: Value) -> Result<u32, String> {
    let number = value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n < MAX_SAMPLE);
    number.ok_or_else(|| format!("`sample` must be an index from 0 to {}, not {value}", MAX_SAMPLE - 1))
}

pub(super) fn usage_of(value: Value) -> Result<Usage, String> {
    serde_json::from_value(value).map_err(|error| {
        format!("`usage` must hold input_tokens, output_tokens, cost_usd: {}", sanitize(&error.to_string()))
    })
}
