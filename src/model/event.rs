//! What happens in a run. The journal is a list of these, and every report is a fold over them.
//!
//! Enums here are externally tagged: internally tagged ones would buffer numbers and lose their
//! digits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dataset::SamplingRead;
use super::dependency::{Dependencies, ReusedFrom};
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
use eval_models::{ModelCall, RunBudget};

/// The version of the journal's format; a reader refuses every other one.
pub const JOURNAL_VERSION: u32 = 3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The first event of a journal.
    RunStarted(Box<RunStarted>),
    /// A further session of the same run (`--resume`). Its gate, k, formats and environment replace
    /// the earlier ones; the id and the first timestamp of the run stay. Its plan events follow.
    RunResumed(Box<RunStarted>),
    /// One per eval, in the plan's order, before the first sample.
    EvalPlanned(EvalPlanned),
    /// The cases of an eval, in chunks, in the plan's order.
    CasesPlanned(CasesPlanned),
    SampleFinished(Box<SampleFinished>),
    /// A sample that will not run in this session.
    SampleSkipped(SampleSkipped),
    /// The last event of a session that was not killed, also if it was cancelled.
    RunFinished(RunFinished),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunStarted {
    pub journal_version: u32,
    pub run: RunIdentity,
    pub config: RunConfig,
    pub suite_path: PathBuf,
    /// Fingerprint (hex) of the suite's target: a run can't be resumed with a different one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target_hash: String,
    /// In a shard: fingerprint (hex) of all cases of the suite, including those of the other
    /// shards.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub whole_hash: String,
    /// Further attempts after a failed grade, of cases that do not set it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_failed: u32,
    /// What outputs of the suite's target depend on; absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// The recordings that outputs were taken from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recordings: Vec<RecordingRead>,
    /// True if the run captured baselines: it is not part of the history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capture: bool,
    /// The arguments of `run` as given, without the program and the verb; `--resume` starts from
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The folder to which paths in `arguments` are relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Ids of the runs that the same command made before this one, on other targets or with other
    /// prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<String>,
}

/// The git revision whose accepted baselines were used, instead of those on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Against {
    /// The revision, as on the command line.
    pub rev: String,
    /// The full hash of the commit.
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

/// The content of a recording when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RecordingRead {
    /// Path, relative to the project root if it is inside.
    pub path: PathBuf,
    pub bytes: u64,
    /// The first half of the SHA-256 (hex) of its content.
    pub sha256: String,
    /// Unreadable records whose case is unknown; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostRecords>,
}

/// Unreadable records of a recording whose case is unknown: the run may lack as many samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LostRecords {
    /// Numbers (from 1) of the first lines or array elements, at most 20.
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

/// The environment and the target of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Environment {
    pub target: String,
    pub target_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The address of the model's API; absent unless an environment variable set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_address: Option<String>,
    /// Settings of the model; absent without one, and in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Box<SamplingRead>>,
    /// Budget of the run for models; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RunBudget>,
    /// The prompt; absent if inputs were given to the target unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<UsedPrompt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// The sandbox; absent if no grader ran code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxState>,
    pub os: String,
    pub arch: String,
    pub cpus: usize,
    /// Versions of the interpreters that ran code, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub interpreters: BTreeMap<String, String>,
}

/// A prompt of the suite's `prompts:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UsedPrompt {
    pub name: String,
    /// The suite's template; absent if no eval of the run uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Templates of evals that have their own, by eval id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evals: BTreeMap<String, String>,
}

impl Environment {
    /// The target's name under `targets:`, without the prompt.
    pub fn target_alone(&self) -> &str {
        let prompt = self.prompt.as_ref();
        let suffix = prompt.map(|prompt| format!("[{}]", prompt.name));
        let alone = suffix.and_then(|suffix| self.target.strip_suffix(&suffix));
        alone.map_or(&self.target, str::trim_end)
    }
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
    /// What the tier does not provide, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The kernel's Landlock version, if the tier uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlock_abi: Option<u32>,
    /// Limits by control groups, such as `v1 memory, pids`; absent if memory is only monitored.
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
    /// Fingerprint (hex) of the input of the target.
    pub input_hash: String,
    pub grading_hash: String,
    /// Fingerprint (hex) of the data in the input: the dataset's row, the input's context, a
    /// request or a free-form input. Absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    /// Fingerprint (hex) of the case's own target, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_hash: Option<String>,
    /// Fingerprint (hex) of how the target is called: time limit, retries, and whether the prompt
    /// contains the context. Absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_hash: Option<String>,
    /// Tags of the case, without those of its eval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Position of the case in the whole eval, from 0; only in shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// The input of the target; only if reports show details, and in plans of at most 20,000
    /// samples. If a later session plans the case without it, the earlier one stays.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub input: Option<Box<InputShown>>,
    /// Combination of the grades of the case; absent if all of them must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub combine: Option<Box<CombineRule>>,
}

/// Combination of grades to a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CombineRule {
    pub how: Combine,
    /// Weight of each grader whose grade counts, in the order of the file.
    pub weights: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SampleFinished {
    pub eval: String,
    pub case: String,
    /// Number of the sample, from 0.
    pub sample: u32,
    /// The attempts, at least one; the last one counts for the case, the first one for pass@k and
    /// pass^k.
    pub attempts: Vec<Attempt>,
    /// Time of the end (RFC 3339, UTC).
    #[serde(deserialize_with = "detail")]
    pub finished_at: String,
    /// The source of a sample that was taken from an earlier run; absent if this run ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<Box<ReusedFrom>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Attempt {
    /// The output; absent if the target returned none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// The file of an output that is too large for the journal; `output` is then absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Stored>,
    /// The graded text, if extraction changed the output.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub extracted: Option<Value>,
    pub verdict: Verdict,
    /// Wall time of the target's call in milliseconds; absent if there was none (recorded outputs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Wall time of the whole attempt in milliseconds.
    pub duration_ms: f64,
    /// Number of failed calls of the target that were retried before this answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub infrastructure_retries: u32,
    /// The model call for the output; absent if no model was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<ModelCall>>,
    /// True if the target gave no answer: `output` is what it returned before it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// True if a secret was redacted in the output, so it differs from the graded one.
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
                | Cause::Limit
                | Cause::ReplayDiverged
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
    /// Time of the end (RFC 3339, UTC).
    pub timestamp: String,
    pub duration_seconds: f64,
    /// True if a user or a signal ended the run early.
    pub interrupted: bool,
    /// Earlier runs of the same suite and target, for reports; those of the last session apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastRate>,
    /// Number of sandboxed programs in this session that were done but did not exit within half a
    /// second; absent if no sandbox was opened. Each delays a worker by that time; regular programs
    /// cause none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired_graces: Option<u64>,
    /// Files on which outputs depend that changed during this session, relative to the project root
    /// if they are inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
}
