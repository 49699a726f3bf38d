//! Lines of recordings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of a recording: `case` and `output`, or `task_id` and `completion` (or `solution`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedLine {
    pub case: Option<String>,
    pub eval: Option<String>,
    /// From 0; without it, samples count in order of appearance.
    pub sample: Option<u32>,
    pub output: Option<Value>,
    /// A benchmark's task: a text or a number.
    pub task_id: Option<Value>,
    pub completion: Option<String>,
    /// A whole program.
    pub solution: Option<String>,
    pub model: Option<String>,
    pub usage: Option<Value>,
    /// The target said more than is kept here.
    pub truncated: Option<bool>,
}
