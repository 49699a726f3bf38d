//! One record of a recording: its keys, and what they may hold.
//!
//! Read twice: when a recording is opened its outputs are checked and not kept ([`JsonShape`]); when a sample is asked for, its
//! record is read whole ([`Value`]). Both ways run through the same parser, so that what was checked is what is read.

use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

use eval_agents::trajectory::Trajectory;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::{Output, OutputValue, RecordedTree, Usage, WorkspaceOutput};
use eval_base::text::sanitize;
use eval_base::unique_keys::JsonShape;

/// Sample indexes from here on are refused: one stray number would plan as many samples.
pub(super) const MAX_SAMPLE: u32 = 1_000_000;

/// A record as it is written. Unknown keys are skipped without being kept.
#[derive(Deserialize)]
#[serde(bound(deserialize = "V: Deserialize<'de>"))]
pub(super) struct RecordLine<V> {
    #[serde(default)]
    case: Option<Value>,
    #[serde(default)]
    task_id: Option<Value>,
    #[serde(default)]
    eval: Option<Value>,
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
    /// Of a sample with a workspace: its changes.
    #[serde(default)]
    patch: Option<Value>,
    #[serde(default)]
    instance_id: Option<Value>,
    #[serde(default)]
    model_patch: Option<Value>,
    /// Of a sample with a workspace: a folder or an archive of all that is in it.
    #[serde(default)]
    workspace: Option<Value>,
    /// What the agent did: an ATIF object, or the path of a file with one.
    #[serde(default)]
    trajectory: Option<Value>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    model: Option<Value>,
    #[serde(default)]
    truncated: Option<Value>,
}

/// Keeps a null apart from a key that is not there.
fn present<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<V>, D::Error> {
    V::deserialize(deserializer).map(Some)
}

/// A [`RecordLine`] from an object and from nothing else: a derived struct would take an array's elements by position.
pub(super) struct RecordObject<V>(pub RecordLine<V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for RecordObject<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for ObjectVisitor<V> {
            type Value = RecordObject<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RecordObject<V>, A::Error> {
                RecordLine::deserialize(MapAccessDeserializer::new(map)).map(RecordObject)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// What an output was read as.
pub(super) trait OutputContent {
    fn shape(&self) -> JsonShape;
}

impl OutputContent for JsonShape {
    fn shape(&self) -> JsonShape {
        *self
    }
}

impl OutputContent for Value {
    fn shape(&self) -> JsonShape {
        match self {
            Value::Null => JsonShape::Null,
            Value::String(_) => JsonShape::Text,
            _ => JsonShape::Other,
        }
    }
}

/// A record whose keys name a sample.
pub(super) struct CheckedRecord<V> {
    pub case: String,
    pub eval: Option<String>,
    pub sample: Option<u32>,
    /// What was recorded of the sample, or why that can't be used.
    pub content: Result<RecordContent<V>, String>,
}

/// What a target did in its workspace, as a record says it.
enum RecordedChange {
    Patch(String),
    /// A folder or an archive, relative to the recording.
    Tree(String),
}

/// What an agent did, as a record says it.
pub(super) enum RecordedTrajectory {
    Content(Box<Trajectory>),
    /// A file, relative to the recording.
    File(String),
}

/// What a record holds beside an output.
struct RecordedSides {
    change: Option<RecordedChange>,
    trajectory: Option<RecordedTrajectory>,
}

/// What a record holds beside the name of its sample.
pub(super) struct RecordContent<V> {
    /// A whole program.
    program: bool,
    /// `None` beside a patch, a workspace or a trajectory.
    output: Option<V>,
    change: Option<RecordedChange>,
    trajectory: Option<RecordedTrajectory>,
    usage: Option<Usage>,
    model: Option<String>,
    truncated: bool,
}

impl<V: OutputContent> RecordLine<V> {
    /// Fails when the record does not name a sample: that is a fault of the file, whatever a target answered.
    pub fn check(self) -> Result<CheckedRecord<V>, String> {
        let case = case_of(self.case, self.task_id.or(self.instance_id))?;
        let sample = self.sample.map(sample_of).transpose()?;
        let eval = self.eval.map(|eval| text_of(eval, "eval")).transpose()?;
        let outputs = [
            ("output", self.output),
            ("completion", self.completion),
            ("response", self.response),
            ("solution", self.solution),
        ];
        let changes = [
            ("patch", self.patch),
            ("model_patch", self.model_patch),
            ("workspace", self.workspace),
        ];
        let trajectory = self.trajectory.map(trajectory_of).transpose();
        let content = change_of(changes).and_then(|change| {
            let beside = RecordedSides {
                change,
                trajectory: trajectory?,
            };
            record_content(outputs, beside, self.usage, self.model, self.truncated)
        });
        Ok(CheckedRecord {
            case,
            eval,
            sample,
            content,
        })
    }
}

fn record_content<V: OutputContent>(
    outputs: [(&'static str, Option<V>); 4],
    beside: RecordedSides,
    usage: Option<Value>,
    model: Option<Value>,
    truncated: Option<Value>,
) -> Result<RecordContent<V>, String> {
    let is_empty = outputs.iter().all(|(_, output)| output.is_none());
    let RecordedSides { change, trajectory } = beside;
    let has_other = change.is_some() || trajectory.is_some();
    let (key, output) = match is_empty && has_other {
        true => ("patch", None),
        false => content_of(outputs).map(|(key, output)| (key, Some(output)))?,
    };
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
        change,
        trajectory,
        usage,
        model,
        truncated,
    })
}

impl<V> RecordContent<V> {
    /// Folders, archives and files that it names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let tree = match &self.change {
            Some(RecordedChange::Tree(name)) => Some(name.as_str()),
            _ => None,
        };
        let trajectory = match &self.trajectory {
            Some(RecordedTrajectory::File(name)) => Some(name.as_str()),
            _ => None,
        };
        tree.into_iter().chain(trajectory)
    }

    /// The trajectory, and whether its last message is the output.
    pub fn take_trajectory(&mut self) -> Option<(RecordedTrajectory, bool)> {
        let is_output = self.output.is_none();
        self.trajectory
            .take()
            .map(|trajectory| (trajectory, is_output))
    }
}

impl RecordContent<Value> {
    /// The output; `None` when it is an explicit null.
    pub fn output(self) -> Option<Output> {
        let value = match self.output {
            None => OutputValue::Text(String::new()),
            Some(Value::Null) => return None,
            Some(Value::String(text)) if self.program => OutputValue::Program(text),
            Some(Value::String(text)) => OutputValue::Text(text),
            Some(value) => OutputValue::Json(value),
        };
        Some(Output {
            value,
            truncated: self.truncated,
            usage: self.usage,
            model: self.model,
            finish: None,
            thoughts: None,
            trajectory: None,
            workspace: self.change.map(|change| {
                Box::new(match change {
                    RecordedChange::Patch(patch) => WorkspaceOutput::of_patch(patch),
                    RecordedChange::Tree(name) => WorkspaceOutput::of_tree(RecordedTree {
                        path: PathBuf::from(&name),
                        name,
                    }),
                })
            }),
        })
    }
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
) -> Result<RecordLine<V>, LineFault> {
    let text = std::str::from_utf8(bytes).map_err(|error| LineFault {
        column: Some(error.valid_up_to() + 1),
        message: "the file is not UTF-8 here".to_owned(),
    })?;
    serde_json::from_str::<RecordObject<V>>(text)
        .map(|RecordObject(record)| record)
        .map_err(|error| {
            let mut message = without_position(&error);
            if error.is_eof() && text.trim() == "{" {
                message.push_str("; each line must contain one complete JSON object");
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

pub(super) fn shown_id(id: &str) -> String {
    format!("`{}`", sanitize(id))
}

fn case_of(case: Option<Value>, task: Option<Value>) -> Result<String, String> {
    let read = |value: Value, key: &str| match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("`{key}` must be a text or a number")),
    };
    let case = case.map(|value| read(value, "case")).transpose()?;
    let task = task.map(|value| read(value, "task_id")).transpose()?;
    match (case, task) {
        (Some(case), Some(task)) if case != task => Err(format!(
            "`case` is {}, but `task_id` is {}",
            shown_id(&case),
            shown_id(&task)
        )),
        (Some(id), _) | (None, Some(id)) => Ok(id),
        (None, None) => Err("has no case: `case` (or `task_id`) is missing".to_owned()),
    }
}

/// The one description of the changes among those that may be there.
fn change_of(
    changes: [(&'static str, Option<Value>); 3],
) -> Result<Option<RecordedChange>, String> {
    let mut given = changes
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    let Some((key, value)) = given.next() else {
        return Ok(None);
    };
    if let Some((other, _)) = given.next() {
        return Err(format!("has both `{key}` and `{other}`"));
    }
    let text = text_of(value, key)?;
    Ok(Some(match key {
        "workspace" => RecordedChange::Tree(text),
        _ => RecordedChange::Patch(text),
    }))
}

fn trajectory_of(value: Value) -> Result<RecordedTrajectory, String> {
    match value {
        Value::String(name) => Ok(RecordedTrajectory::File(name)),
        value @ Value::Object(_) => Trajectory::from_value(value)
            .map(|trajectory| RecordedTrajectory::Content(Box::new(trajectory)))
            .map_err(|error| format!("`trajectory` is not one: {}", sanitize(&error.to_string()))),
        _ => Err("`trajectory` must be an ATIF object or the path of a file with one".to_owned()),
    }
}

/// The one output among those that may be there, with its key.
fn content_of<V: OutputContent>(
    outputs: [(&'static str, Option<V>); 4],
) -> Result<(&'static str, V), String> {
    let mut given = outputs
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    let Some((key, value)) = given.next() else {
        return Err(
            "has no output: `output`, `completion` or `solution` is missing (or, of an agent, `patch`, `workspace` or \
             `trajectory`)"
                .to_owned(),
        );
    };
    if let Some((other, _)) = given.next() {
        return Err(format!("has both `{key}` and `{other}`"));
    }
    if value.shape() == JsonShape::Other && key != "output" {
        return Err(format!("`{key}` must be a text"));
    }
    Ok((key, value))
}

fn text_of(value: Value, key: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(format!("`{key}` must be a text")),
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
            "`usage` must contain input_tokens, output_tokens, cost_usd: {}",
            sanitize(&error.to_string())
        )
    })
}
