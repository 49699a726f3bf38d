//! One record of a recording: its keys, and what they may hold.
//!
//! Read twice: when a recording is opened its outputs are checked and not kept ([`Shape`]); when a sample is asked for, its
//! record is read whole ([`Value`]). Both ways run through the same parser, so that what was checked is what is read.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::{Output, OutputValue, Usage};
use eval_base::text::sanitize;
use eval_base::unique_keys::UniqueKeySet;

/// Sample indexes from here on are refused: one stray number would plan as many samples.
pub(super) const MAX_SAMPLE: u32 = 1_000_000;

/// A record as it is written. Unknown keys are skipped without being kept.
#[derive(Deserialize)]
#[serde(bound(deserialize = "V: Deserialize<'de>"))]
pub(super) struct Line<'a, V> {
    #[serde(default, borrow)]
    case: Option<Short<'a>>,
    #[serde(default, borrow)]
    task_id: Option<Short<'a>>,
    #[serde(default, borrow)]
    eval: Option<Short<'a>>,
    #[serde(default)]
    sample: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    output: Option<V>,
    #[serde(default, deserialize_with = "present")]
    completion: Option<V>,
    #[serde(default, deserialize_with = "present")]
    response: Option<V>,
    #[serde(default, deserialize_with = "present")]
    solution: Option<V>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default, borrow)]
    model: Option<Short<'a>>,
    #[serde(default)]
    truncated: Option<Value>,
}

/// Keeps a null apart from a key that is not there.
fn present<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<V>, D::Error> {
    V::deserialize(deserializer).map(Some)
}

/// A [`Line`] from an object and from nothing else: a derived struct would take an array's elements by position.
pub(super) struct Object<'a, V>(pub Line<'a, V>);

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Object<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<'a, V>(PhantomData<(&'a (), V)>);
        impl<'de: 'a, 'a, V: Deserialize<'de>> Visitor<'de> for ObjectVisitor<'a, V> {
            type Value = Object<'a, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<'a, V>, A::Error> {
                Line::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// A value that is mostly a text, and then is not copied.
enum Short<'a> {
    Text(Cow<'a, str>),
    Other(Value),
}

impl<'de: 'a, 'a> Deserialize<'de> for Short<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShortVisitor;
        impl<'de> Visitor<'de> for ShortVisitor {
            type Value = Short<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any valid JSON value")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Short<'de>, E> {
                Ok(Short::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Short<'de>, E> {
                Ok(Short::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E: Error>(self) -> Result<Short<'de>, E> {
                Ok(Short::Other(Value::Null))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Short<'de>, E> {
                Ok(Short::Other(Value::Bool(value)))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Short<'de>, E> {
                Ok(Short::Other(Value::from(value)))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Short<'de>, E> {
                Ok(Short::Other(Value::from(value)))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Short<'de>, E> {
                Ok(Short::Other(Value::from(value)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Short<'de>, A::Error> {
                Value::deserialize(SeqAccessDeserializer::new(seq)).map(Short::Other)
            }

            /// Numbers that a machine's don't hold exactly come here, too: that is how their digits are kept.
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Short<'de>, A::Error> {
                Value::deserialize(MapAccessDeserializer::new(map)).map(Short::Other)
            }
        }
        deserializer.deserialize_any(ShortVisitor)
    }
}

/// What kind of value stands there; the value itself was checked and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Null,
    Text,
    Json,
}

impl<'de> Deserialize<'de> for Shape {
    /// Not `IgnoredAny`, which accepts what can't be read later: lone surrogates, and nesting without bound. A key that its object
    /// has twice is refused.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShapeVisitor;
        impl<'de> Visitor<'de> for ShapeVisitor {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any valid JSON value")
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<Shape, E> {
                Ok(Shape::Text)
            }

            fn visit_unit<E: Error>(self) -> Result<Shape, E> {
                Ok(Shape::Null)
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Shape, E> {
                Ok(Shape::Json)
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Shape, E> {
                Ok(Shape::Json)
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Shape, E> {
                Ok(Shape::Json)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Shape, E> {
                Ok(Shape::Json)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
                while seq.next_element::<Shape>()?.is_some() {}
                Ok(Shape::Json)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
                let mut keys = UniqueKeySet::default();
                while let Some(key) = map.next_key::<String>()? {
                    let _: Shape = map.next_value()?;
                    keys.insert(key)?;
                }
                Ok(Shape::Json)
            }
        }
        deserializer.deserialize_any(ShapeVisitor)
    }
}

/// What an output was read as.
pub(super) trait Content {
    fn shape(&self) -> Shape;
}

impl Content for Shape {
    fn shape(&self) -> Shape {
        *self
    }
}

impl Content for Value {
    fn shape(&self) -> Shape {
        match self {
            Value::Null => Shape::Null,
            Value::String(_) => Shape::Text,
            _ => Shape::Json,
        }
    }
}

/// A record whose keys name a sample.
pub(super) struct Checked<'a, V> {
    pub case: Cow<'a, str>,
    pub eval: Option<Cow<'a, str>>,
    pub sample: Option<u32>,
    /// What was recorded of the sample, or why that can't be used.
    pub content: Result<RecordContent<'a, V>, String>,
}

/// What a record holds beside the name of its sample.
pub(super) struct RecordContent<'a, V> {
    /// A whole program.
    program: bool,
    output: V,
    usage: Option<Usage>,
    model: Option<Cow<'a, str>>,
    truncated: bool,
}

impl<'a, V: Content> Line<'a, V> {
    /// Fails when the record does not name a sample: that is a fault of the file, whatever a target answered.
    pub fn check(self) -> Result<Checked<'a, V>, String> {
        let case = case_of(self.case, self.task_id)?;
        let sample = self.sample.map(sample_of).transpose()?;
        let eval = self.eval.map(|eval| text_of(eval, "eval")).transpose()?;
        let outputs = [
            ("output", self.output),
            ("completion", self.completion),
            ("response", self.response),
            ("solution", self.solution),
        ];
        let content = record_content(outputs, self.usage, self.model, self.truncated);
        Ok(Checked {
            case,
            eval,
            sample,
            content,
        })
    }
}

fn record_content<'a, V: Content>(
    outputs: [(&'static str, Option<V>); 4],
    usage: Option<Value>,
    model: Option<Short<'a>>,
    truncated: Option<Value>,
) -> Result<RecordContent<'a, V>, String> {
    let (key, output) = content_of(outputs)?;
    let usage = usage.map(usage_of).transpose()?;
    let model = model.map(|model| text_of(model, "model")).transpose()?;
    let truncated = match truncated {
        None => false,
        Some(Value::Bool(truncated)) => truncated,
        Some(_) => return Err("`truncated` must be true or false".to_owned()),
    };
    Ok(RecordContent {
        program: key == "solution",
        output,
        usage,
        model,
        truncated,
    })
}

impl RecordContent<'_, Value> {
    /// The output; `None` when it is an explicit null.
    pub fn output(self) -> Option<Output> {
        let value = match self.output {
            Value::Null => return None,
            Value::String(text) if self.program => OutputValue::Program(text),
            Value::String(text) => OutputValue::Text(text),
            value => OutputValue::Json(value),
        };
        let model = self.model.map(Cow::into_owned);
        Some(Output {
            value,
            truncated: self.truncated,
            usage: self.usage,
            model,
            finish: None,
            thoughts: None,
        })
    }
}

/// An id that is written as a number.
pub(super) fn number_id(number: &serde_json::Number) -> String {
    number.to_string()
}

/// Why a line is not a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineFault {
    /// From 1, in bytes; `None` when the whole line is meant.
    pub column: Option<usize>,
    pub message: String,
}

/// The record that a line or an element of an array holds.
pub(super) fn parse_record<'a, V: Deserialize<'a>>(
    bytes: &'a [u8],
) -> Result<Line<'a, V>, LineFault> {
    let text = std::str::from_utf8(bytes).map_err(|error| LineFault {
        column: Some(error.valid_up_to() + 1),
        message: "the file is not UTF-8 here".to_owned(),
    })?;
    serde_json::from_str::<Object<V>>(text)
        .map(|Object(record)| record)
        .map_err(|error| {
            let mut message = without_position(&error);
            if error.is_eof() && text.trim() == "{" {
                message.push_str("; each line must hold one whole JSON object");
            }
            LineFault {
                column: Some(error.column().max(1)),
                message,
            }
        })
}

/// What a parser says, without the position.
pub(super) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(message, _)| message);
    if error.is_data() {
        sanitize(message).into_owned()
    } else {
        format!("not JSON: {message}")
    }
}

pub(super) fn shown(id: &str) -> String {
    format!("`{}`", sanitize(id))
}

fn case_of<'a>(case: Option<Short<'a>>, task: Option<Short<'a>>) -> Result<Cow<'a, str>, String> {
    let read = |value: Short<'a>, key: &str| match value {
        Short::Text(text) => Ok(text),
        Short::Other(Value::Number(number)) => Ok(Cow::Owned(number_id(&number))),
        Short::Other(_) => Err(format!("`{key}` must be a text or a number")),
    };
    let case = case.map(|value| read(value, "case")).transpose()?;
    let task = task.map(|value| read(value, "task_id")).transpose()?;
    match (case, task) {
        (Some(case), Some(task)) if case != task => Err(format!(
            "`case` says {} and `task_id` says {}",
            shown(&case),
            shown(&task)
        )),
        (Some(id), _) | (None, Some(id)) => Ok(id),
        (None, None) => Err("names no case: `case` (or `task_id`) is missing".to_owned()),
    }
}

/// The one output among those that may be there, with its key.
fn content_of<V: Content>(
    outputs: [(&'static str, Option<V>); 4],
) -> Result<(&'static str, V), String> {
    let mut given = outputs
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    let Some((key, value)) = given.next() else {
        return Err("has no output: `output`, `completion` or `solution` is missing".to_owned());
    };
    if let Some((other, _)) = given.next() {
        return Err(format!("has both `{key}` and `{other}`"));
    }
    if value.shape() == Shape::Json && key != "output" {
        return Err(format!("`{key}` must be a text"));
    }
    Ok((key, value))
}

fn text_of<'a>(value: Short<'a>, key: &str) -> Result<Cow<'a, str>, String> {
    match value {
        Short::Text(text) => Ok(text),
        Short::Other(_) => Err(format!("`{key}` must be a text")),
    }
}

fn sample_of(value: Value) -> Result<u32, String> {
    let number = value
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| *n < MAX_SAMPLE);
    number.ok_or_else(|| {
        format!(
            "`sample` must be an index from 0 to {}, not {value}",
            MAX_SAMPLE - 1
        )
    })
}

fn usage_of(value: Value) -> Result<Usage, String> {
    serde_json::from_value(value).map_err(|error| {
        format!(
            "`usage` must hold input_tokens, output_tokens, cost_usd: {}",
            sanitize(&error.to_string())
        )
    })
}
