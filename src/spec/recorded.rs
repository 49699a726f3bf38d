//! Lines of recordings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of a recording: `case` and `output`, or `task_id` and `completion` (or `solution`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedLine {
    /// Id of the case.
    pub case: Option<String>,
    /// Id of the eval; required if several evals have a case with this id.
    pub eval: Option<String>,
    /// Number of the sample, from 0. Default: the order in the file.
    pub sample: Option<u32>,
    /// The output.
    pub output: Option<Value>,
    /// The task of a benchmark, instead of `case`: a text or a number.
    pub task_id: Option<Value>,
    /// The output of a benchmark's task: a completion of the prompt.
    pub completion: Option<String>,
    /// The output of a benchmark's task: a whole program.
    pub solution: Option<String>,
    /// The changes that a target made to its workspace, in git's format, for a case with a
    /// workspace.
    pub patch: Option<String>,
    /// All that a target left in its workspace, instead of `patch`: a folder, a tar file (plain or
    /// compressed by gzip), or the changes that a run recorded (`.changes.jsonl.gz`), relative to the
    /// recording and in its folder.
    pub workspace: Option<String>,
    /// The task of SWE-bench, instead of `case`.
    pub instance_id: Option<String>,
    /// The same as `patch`, as SWE-bench writes it.
    pub model_patch: Option<String>,
    /// The model that produced the output.
    pub model: Option<String>,
    /// Usage of the call: `input_tokens`, `output_tokens` and `cost_usd`.
    pub usage: Option<Value>,
    /// `true` if the recorded output is shorter than the target's.
    pub truncated: Option<bool>,
}
