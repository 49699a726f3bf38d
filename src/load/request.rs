//! What the loader is asked for, and what it answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::models::KeyValues;
use super::problem::Problems;
use super::refs::ReadFiles;
use super::source::SourceFiles;
use super::workspace::PhaseWorkspace;
use crate::model::{
    AskedThreshold, BaselineSettings, Criticality, Difficulty, GraderType, OutputValue, Plan,
    ReportFormat, RunBudget, Shard,
};
use crate::spec::words::{CacheMode, GateRequirement};

/// What the plan is for. A suite that is only looked at may lack what a run needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlanPurpose {
    /// A missing target or variable is a warning.
    #[default]
    Validate,
    /// As `Validate`: `list` shows what would run.
    List,
    /// A missing target or variable is an error.
    Run,
}

/// One suite to load. Environment and working folder are handed in.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// A suite file, or an eval file, which is then a suite of one.
    pub suite: PathBuf,
    pub purpose: PlanPurpose,
    pub overrides: LoadOverrides,
    /// The process environment, of which templates see what the suite lists under `env:`.
    pub env: BTreeMap<String, String>,
    /// Keys that an earlier load of the same run has read.
    pub keys: KeyValues,
    /// Where relative paths of the command line start. Absolute.
    pub cwd: PathBuf,
    /// Samples in flight at once when neither the suite nor the command line says; 0 counts as 1.
    pub cpus: usize,
}

/// What the command line says instead of the files.
#[derive(Debug, Clone, Default)]
pub struct LoadOverrides {
    /// A name under `targets:`.
    pub target: Option<String>,
    /// The workspace of a phase's step: the level above the suite's.
    pub workspace: Option<PhaseWorkspace>,
    /// A name under `prompts:`.
    pub prompt: Option<String>,
    /// Recorded outputs that take the place of every target. Relative to `cwd`.
    pub outputs: Option<PathBuf>,
    /// Suite variables, the last of a name counts.
    pub vars: Vec<(String, String)>,
    /// Some of `vars` may be for other suites: those that this one does not read are no error.
    pub shared_vars: bool,
    pub samples: Option<u32>,
    pub jobs: Option<usize>,
    /// Seconds for one call of the target.
    pub timeout: Option<f64>,
    pub max_fail: Option<usize>,
    /// `METRIC=VALUE`.
    pub thresholds: Vec<String>,
    pub preset: Option<String>,
    /// Demands of a phase, which replace those of the suite on the same metric; `thresholds` come
    /// after them.
    pub asked: Vec<AskedThreshold>,
    /// Canonical names of metrics that are reported whether or not a threshold is on them: their k
    /// is needed.
    pub metrics: Vec<String>,
    /// Failed regressions that the gate forgives, in place of the suite's `max_regressions`.
    pub max_regressions: Option<u32>,
    /// What the gate requires of evals, in place of the suite's `require`.
    pub require: Option<GateRequirement>,
    /// Relative to `cwd`.
    pub output_dir: Option<PathBuf>,
    pub formats: Option<Vec<ReportFormat>>,
    pub grader_type: Option<GraderType>,
    pub allow_unsandboxed: bool,
    /// Where models' answers come from and go to.
    pub models: ModelOverrides,
    /// No model is asked, so that no key is needed.
    pub asks_nobody: bool,
    /// Outputs are there already: judges are asked, and no target.
    pub asks_only_judges: bool,
    /// What may be spent on models, in place of the suite's.
    pub budget: Option<RunBudget>,
    pub filters: CaseFilters,
    /// Only the cases of one part of the suite.
    pub shard: Option<Shard>,
    /// Nobody asks the gate: thresholds on what is not selected are no error.
    pub gateless: bool,
    /// Outputs by eval id that are known to be good, in place of what the store and the files say:
    /// what a capture would write.
    pub known_good: Arc<BTreeMap<String, OutputValue>>,
    /// Texts in place of those of files on disk, by absolute path: what an edit would write.
    pub texts: Arc<BTreeMap<PathBuf, String>>,
    /// Accepted baselines as they were at this git revision, in place of those on disk.
    pub against: Option<String>,
    /// Baselines of the store are not read, so that broken ones stop nobody: for the verbs that
    /// repair them.
    pub without_store: bool,
}

/// What the command line says of models.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelOverrides {
    pub cache: Option<CacheMode>,
    /// Relative to `cwd`.
    pub record: Option<PathBuf>,
    /// Relative to `cwd`.
    pub replay: Option<PathBuf>,
}

/// Which cases are meant: of one kind any, of different kinds all must fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseFilters {
    /// `capability`, `regression` or a category's name.
    pub category: Vec<String>,
    pub tag: Vec<String>,
    /// Globs over eval ids.
    pub eval: Vec<String>,
    /// Globs over case ids.
    pub case: Vec<String>,
    pub difficulty: Vec<Difficulty>,
    pub criticality: Vec<Criticality>,
    /// Exactly these (eval, case) pairs: what failed in another run.
    pub only: Option<BTreeSet<(String, String)>>,
}

impl CaseFilters {
    pub fn is_empty(&self) -> bool {
        *self == CaseFilters::default()
    }
}

/// What came of a request.
#[derive(Debug, Default)]
pub struct LoadedPlan {
    /// `None` when there are errors.
    pub plan: Option<Plan>,
    pub problems: Problems,
    pub sources: SourceFiles,
    /// Every eval and case that the suite defines, before filters.
    pub total: SuiteCounts,
    pub selected: SuiteCounts,
    /// What it was read from.
    pub read: ReadFiles,
}

/// What a suite says of itself, when its evals don't matter.
#[derive(Debug, Default)]
pub struct LoadedOverview {
    /// `None` when there are errors.
    pub suite: Option<SuiteOverview>,
    pub problems: Problems,
    pub sources: SourceFiles,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SuiteOverview {
    pub name: String,
    pub baselines: BaselineSettings,
    /// The project's root. Absolute.
    pub root: PathBuf,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SuiteCounts {
    pub evals: usize,
    pub cases: usize,
}

/// What files are checked with when no suite says more.
#[derive(Debug, Clone, Default)]
pub struct CheckRequest {
    /// Files, folders (searched for YAML and JSON files) and globs. Relative to `cwd`.
    pub paths: Vec<PathBuf>,
    pub vars: Vec<(String, String)>,
    pub env: BTreeMap<String, String>,
    /// Absolute.
    pub cwd: PathBuf,
}

/// What came of checking files.
#[derive(Debug, Default)]
pub struct CheckedFiles {
    pub problems: Problems,
    pub sources: SourceFiles,
    /// Files that were read and judged.
    pub files: usize,
}
