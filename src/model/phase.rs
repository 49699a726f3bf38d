//! Phases: what is to be done, and what came of it. The JSON phase report is [`PhaseReportFile`],
//! serialised.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::GitState;
use super::part::MetricName;
use super::plan::Threshold;
use super::summary::{Decision, Summary};
use super::workspace::CaseWorkspace;
use crate::spec::words::GateRequirement;
use crate::spec::{FailureAction, StepType};

/// A phase plan or a trigger, ready to be worked off.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// The file, as given on the command line.
    pub path: PathBuf,
    /// The folder of the file. Absolute.
    pub dir: PathBuf,
    /// The nearest ancestor of the file with a `.git`, else `dir`. Absolute.
    pub root: PathBuf,
    pub steps: Vec<PhaseStep>,
    /// The git revision that the implementation is measured from.
    pub base: Option<String>,
    /// Where the Markdown report goes; `None`: `phases/phase-<id>.md` in the results folder.
    /// Absolute.
    pub report_path: Option<PathBuf>,
    /// Whether channels are told of a phase that did not pass.
    pub notification: bool,
    /// Whether the results of a phase that passed are copied to the archive.
    pub archive: bool,
    /// The moment of a trigger; `None` for a plan.
    pub when: Option<String>,
}

/// One step of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseStep {
    pub kind: StepType,
    pub name: String,
    /// What happens when it does not pass.
    pub action: FailureAction,
    pub work: StepWork,
}

impl PhaseStep {
    /// What its command works in a copy of, if it does.
    pub fn copy_of(&self) -> Option<&str> {
        match &self.work {
            StepWork::Command(command) => match &command.place {
                StepPlacement::Copy(workspace) => Some(workspace.copied_from()),
                StepPlacement::InPlace(_) => None,
            },
            StepWork::Eval(_) | StepWork::Unchecked | StepWork::Junit(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum StepWork {
    /// Nothing is run here: people or agents do it.
    Unchecked,
    Command(StepCommand),
    /// Test results that others wrote: globs of JUnit files. Absolute.
    Junit(Vec<String>),
    Eval(Box<EvalStep>),
}

/// A program that a step runs.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCommand {
    pub argv: Vec<String>,
    pub place: StepPlacement,
    pub timeout: Duration,
    /// Globs of JUnit files that it writes. Absolute; in a copy, relative to its top.
    pub junit: Vec<String>,
}

/// Where the command of a step runs.
#[derive(Debug, Clone, PartialEq)]
pub enum StepPlacement {
    /// In a folder of the user's, in the user's own environment. Absolute.
    InPlace(PathBuf),
    /// In a fresh workspace, in the sandbox; `cwd` of the workspace is the folder.
    Copy(Arc<CaseWorkspace>),
}

/// A suite that a step runs.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalStep {
    /// Absolute.
    pub suite: PathBuf,
    /// The suite as the phase file names it.
    pub shown: String,
    pub filters: crate::spec::FilterSpec,
    pub demands: Vec<AskedThreshold>,
    pub max_regressions: Option<u32>,
    pub require: Option<GateRequirement>,
    pub preset: Option<String>,
    /// Canonical names of metrics that reports show whether or not a threshold is on them.
    pub metrics: Vec<String>,
    pub target: Option<String>,
    pub prompt: Option<String>,
    pub samples: Option<u32>,
    /// Name and value, as `--var` gives them.
    pub vars: Vec<(String, String)>,
}

/// A threshold that is asked for from outside of the suite.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedThreshold {
    /// The metric of the threshold.
    pub name: MetricName,
    pub threshold: Threshold,
    /// A number without a word on whether it is a minimum or a maximum; the metric decides.
    pub bare: bool,
}

/// The root of a JSON phase report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseReportFile {
    pub phase_report: PhaseReport,
}

/// The result of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseReport {
    pub metadata: PhaseMetadata,
    pub gate: PhaseGate,
    /// Changes since the start of the phase; absent without git, unless `--base` is given.
    pub implementation: Option<Implementation>,
    pub steps: Vec<StepResult>,
    pub recommendations: Vec<String>,
    /// Problems that do not affect the gate, in sentences: a failed archive, a failed notification.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseMetadata {
    pub phase_id: String,
    pub name: String,
    pub description: Option<String>,
    /// The plan or trigger, relative to the project root.
    pub file: String,
    /// The moment of the trigger.
    pub when: Option<String>,
    /// Start of the phase (RFC 3339, UTC).
    pub timestamp: String,
    pub duration_seconds: f64,
    pub harness_version: String,
    pub git: Option<GitState>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseGate {
    /// The worst decision of the steps whose action is `block`, in the order `fail`, `incomplete`,
    /// `pending`.
    pub decision: Decision,
    /// Exit code: 0, 1, 2, 3, 4 or 130.
    pub exit_code: u8,
    /// Reasons why it did not pass, in sentences, followed by problems that did not block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// Changes since the start of the phase: commits and uncommitted changes, including untracked
/// files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Implementation {
    /// The requested revision; `HEAD` by default.
    pub base: String,
    /// The compared commit: the merge base of this branch and the revision.
    pub base_commit: String,
    /// Number of files that differ.
    pub files_modified: usize,
    pub lines_added: usize,
    pub lines_removed: usize,
    /// The files, by path, relative to the project root; at most 200.
    pub files: Vec<FileChange>,
    /// Number of files that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_files: usize,
}

/// One file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    pub path: String,
    /// Number of added lines; `null` for binary files.
    pub added: Option<usize>,
    pub removed: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepResult {
    #[serde(rename = "type")]
    pub kind: StepType,
    pub name: String,
    pub action: FailureAction,
    pub status: StepStatus,
    /// Reason why it did not pass; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    pub duration_seconds: f64,
    /// The folder, repository or archive in a copy of which the command ran, or in copies of which
    /// all cases of an eval step ran; relative to the project root. Absent: the command ran in place,
    /// or not all cases have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
    /// Exit code of the command, if it was not killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of the output of a command that did not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_tail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestResults>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval: Option<Box<EvalStepResult>>,
}

impl StepResult {
    /// A result with a status and nothing else to say.
    pub fn plain(step: &PhaseStep, status: StepStatus) -> StepResult {
        StepResult {
            kind: step.kind,
            name: step.name.clone(),
            action: step.action,
            status,
            reason: String::new(),
            duration_seconds: 0.0,
            copy_of: step
                .copy_of()
                .filter(|_| status != StepStatus::NotReached)
                .map(str::to_owned),
            exit_code: None,
            output_tail: String::new(),
            tests: None,
            eval: None,
        }
    }

    /// Every text that a command or its tests may have written.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let tests = self.tests.iter_mut().flat_map(|tests| {
            let failures = tests.failures.iter_mut();
            let failures = failures.flat_map(|f| [&mut f.suite, &mut f.name, &mut f.message]);
            failures.chain(&mut tests.notes)
        });
        tests.chain([&mut self.reason, &mut self.output_tail])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Passed,
    Failed,
    /// The result is unknown: no test ran, a command could not be started, or samples errored.
    Incomplete,
    /// Human grades are missing.
    Pending,
    /// The step has no command; check it by other means.
    NotChecked,
    /// An earlier step ended the phase.
    NotReached,
}

impl StepStatus {
    pub fn name(self) -> &'static str {
        match self {
            StepStatus::Passed => "passed",
            StepStatus::Failed => "failed",
            StepStatus::Incomplete => "incomplete",
            StepStatus::Pending => "pending",
            StepStatus::NotChecked => "not_checked",
            StepStatus::NotReached => "not_reached",
        }
    }

    pub fn of(decision: Decision) -> StepStatus {
        match decision {
            Decision::Pass => StepStatus::Passed,
            Decision::Fail => StepStatus::Failed,
            Decision::Pending => StepStatus::Pending,
            Decision::Incomplete | Decision::Undecided => StepStatus::Incomplete,
        }
    }
}

/// The results of the tests of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestResults {
    pub total: usize,
    pub passed: usize,
    /// Number of failures and errors.
    pub failed: usize,
    pub skipped: usize,
    /// Source of the numbers: `junit`, `cargo-nextest`, `cargo-test`, `pytest`, `go-test`,
    /// `vitest`, `jest`.
    pub source: String,
    /// The JUnit files, relative to the project root, sorted; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Failed tests in the order of the source, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<TestFailure>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_failures: usize,
    /// Notes on the numbers, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A test that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestFailure {
    /// Class, module or suite, if the source names one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    pub name: String,
    /// Message in one line, at most 500 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A run of an eval step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EvalStepResult {
    /// The suite as the phase file names it.
    pub suite: String,
    /// The journal, relative to the project root.
    pub journal: String,
    /// Canonical names of the requested metrics.
    pub metrics: Vec<String>,
    /// The summary of the run, without samples and inputs, which are in the journal.
    pub eval_report: Summary,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}
