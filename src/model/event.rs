//! What happens in a run. The journal is a list of these, and every report is a fold over them.
//!
//! Enums here are externally tagged: internally tagged ones would buffer numbers and lose their
//! digits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::grade::{Output, Stored, Verdict};
use super::grader::Combine;
use super::input_shown::InputShown;
use super::outcome::Cause;
use super::plan::EvalInfo;
use super::reading::detail;
use super::run::{RunConfig, RunIdentity};
use super::summary::PastRate;
use crate::spec::words::GraderType;
use eval_base::text;
use eval_models::ModelCall;

/// The version of the journal's format; a reader refuses every other one.
pub const JOURNAL_VERSION: u32 = 3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The first event of a journal.
    RunStarted(Box<RunStarted>),
    /// A further session of the same run (`--resume`). What it says of gate, k, formats and
    /// environment takes the place of what was said before; the run's id and its first timestamp
    /// stay. Its plan events follow.
    RunResumed(Box<RunStarted>),
    /// One per eval, in the plan's order, before the first sample.
    EvalPlanned(EvalPlanned),
    /// The cases of an eval, in chunks, in the plan's order.
    CasesPlanned(CasesPlanned),
    SampleFinished(Box<SampleFinished>),
    /// A sample that will not run in this session.
    SampleSkipped(SampleSkipped),
    /// The last event of a session that ended by itself, also when it was cancelled.
    RunFinished(RunFinished),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunStarted {
    pub journal_version: u32,
    pub run: RunIdentity,
    pub config: RunConfig,
    pub suite_path: PathBuf,
    /// A fingerprint (hex) of the suite's target: with another one a run can't be resumed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target_hash: String,
    /// In a shard: a fingerprint (hex) of all cases of the suite, those of the other shards
    /// included.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub whole_hash: String,
    /// The recordings that outputs were taken from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recordings: Vec<RecordingRead>,
    /// True when the run was made to capture baselines: its outcomes are no history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capture: bool,
    /// The arguments of `run` as typed, without the program and the verb; `--resume` starts from
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Where relative paths of `arguments` start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
}

/// The git revision whose accepted baselines were compared with, in place of those on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Against {
    /// As the command line named it.
    pub rev: String,
    /// The full hash that it stood for.
    pub commit: String,
}

impl std::fmt::Display for Against {
    /// `main (0123456789ab)`, or the commit alone when it was named by its hash.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = text::short_commit(&self.commit);
        if self.commit.starts_with(&self.rev) {
            f.write_str(short)
        } else {
            write!(f, "{} ({short})", self.rev)
        }
    }
}

/// What a recording held when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RecordingRead {
    /// Relative to the project's root when it lies below.
    pub path: PathBuf,
    pub bytes: u64,
    /// The first half of the SHA-256 (hex) of its content.
    pub sha256: String,
    /// Records that could not be read and whose case is not known; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostRecords>,
}

/// Records of a recording that could not be read and don't say which case they belong to: the run
/// may lack as many samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LostRecords {
    /// Numbers (from 1) of the first lines, or elements of an array, at most 20.
    pub first: Vec<u32>,
    pub count: usize,
}

/// One part of a suite that is run in parts: part `index` (from 1) of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    pub index: u32,
    pub of: u32,
}

/// Where and against what a run took place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Environment {
    pub target: String,
    pub target_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// Absent when no grader ran code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxState>,
    pub os: String,
    pub arch: String,
    pub cpus: usize,
    /// Versions of the interpreters that ran code, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub interpreters: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GitState {
    pub commit: String,
    pub dirty: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SandboxState {
    /// `userns`, `rootns`, `landlock`, or `none`.
    pub tier: String,
    /// False when code ran, or may have run, without isolation.
    pub enforced: bool,
    /// What the tier does not give, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The kernel's Landlock version, when the tier rests on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlock_abi: Option<u32>,
    /// What control groups bound, as `v1 memory, pids`; absent when memory is only watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EvalPlanned {
    pub eval: EvalInfo,
    pub cases: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CasesPlanned {
    pub eval: String,
    pub cases: Vec<CasePlanned>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CasePlanned {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub samples: u32,
    pub graders: Vec<GraderType>,
    /// Over what the case gives the target.
    pub input_hash: String,
    pub grading_hash: String,
    /// Over the data that the input is made of: the dataset's row, the input's context, a request
    /// or a free-form input. Absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    /// Over the case's own target, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_hash: Option<String>,
    /// The case's own tags, without those of its eval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The case's place in the whole eval, from 0; only in shards, whose cases are not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// What the target is given; only where reports show details, of plans of at most 20,000
    /// samples. A later session that plans the case again without it leaves what was said.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub input: Option<Box<InputShown>>,
    /// How the grades of the case become a verdict; absent when all of them must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub combine: Option<Box<CombineRule>>,
}

/// How grades become a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CombineRule {
    pub how: Combine,
    /// Of each grader whose grade counts, in the order written.
    pub weights: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SampleFinished {
    pub eval: String,
    pub case: String,
    /// From 0.
    pub sample: u32,
    /// At least one; the last one is what counts for the case, the first one for pass@k and pass^k.
    pub attempts: Vec<Attempt>,
    /// RFC 3339, UTC.
    #[serde(deserialize_with = "detail")]
    pub finished_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Attempt {
    /// Absent when the target gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// Where the output lies when it is too large for the journal; `output` is then absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Stored>,
    /// What the graders saw, when extraction changed the output.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub extracted: Option<Value>,
    pub verdict: Verdict,
    /// Wall time of the target's call, milliseconds; absent when there was none (recorded outputs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Wall time of the whole attempt, milliseconds.
    pub duration_ms: f64,
    /// Calls of the target that did not get through and were made again before this answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub infrastructure_retries: u32,
    /// How a model was asked for the output; absent when no model was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<ModelCall>>,
    /// True when the target gave no answer: what `output` holds it had said before it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// True when a secret was cut out of the output, so that graders would not see what they saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

impl Attempt {
    /// True when the target gave an answer that graders may judge (again).
    pub fn is_answer(&self) -> bool {
        let verdict = &self.verdict;
        let by_target = match verdict.cause {
            // Only a target gives these.
            Some(
                Cause::TargetUnreachable
                | Cause::TargetFailed
                | Cause::TargetTimeout
                | Cause::MissingOutput,
            ) => true,
            // With `on_error: fail`, in a journal that does not say it otherwise.
            Some(Cause::Exception | Cause::Crashed) => verdict.grades.is_empty(),
            _ => false,
        };
        !self.unanswered && !by_target
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SampleSkipped {
    pub eval: String,
    pub case: String,
    pub sample: u32,
    pub cause: Cause,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunFinished {
    /// RFC 3339, UTC.
    pub timestamp: String,
    pub duration_seconds: f64,
    /// True when a person or a signal ended the run early.
    pub interrupted: bool,
    /// Earlier runs of the same suite and target, for reports that show them beside this one: what
    /// the last session found counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastRate>,
    /// Programs in the sandbox that had nothing more to do and did not end within half a second, in
    /// this session; `None`: no sandbox was opened. Each costs a worker that time; honest programs
    /// cause none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired_graces: Option<u64>,
}
