//! What a run will do, resolved: nothing here remembers which file shape it came from.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::words::{
    Bound, Criticality, Difficulty, EvalType, Figure, IntervalScope, Message, ReportFormat,
};
use eval_base::ordered::OrderedValue;
use eval_models::ModelSettings;

use super::agent::AgentTarget;
use super::baseline::{BaselineOrigin, BaselineSettings};
use super::cases::EvalCases;
use super::check::ProbeExcuse;
use super::dataset::{DatasetRead, private_case_id};
use super::dependency::Dependencies;
use super::event::{Against, Shard};
use super::fingerprint::Fingerprint;
use super::grade::OutputValue;
use super::grader::{CaseGrading, ExtractMethod};
use super::metric::Composite;
use super::notify::NotifyChannel;
use super::prompt::PromptTemplate;
use super::sandbox::SandboxDemand;
use super::summary::{Decision, ThresholdResult};
use super::target::{ModelTarget, Target};
use super::workspace::{CaseWorkspace, SolutionWork};

/// A suite, ready to run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub suite: SuiteInfo,
    /// The name under `targets:` (or the kind, for a lone `target:`) with the prompt in brackets, as
    /// in `small [v2]`; reports show it.
    pub target_name: String,
    /// `None` when the suite names no target: `list` and `validate` accept that, `run` does not.
    pub target: Option<Target>,
    /// Over `target`: with another one a run can't be resumed. Empty without one.
    pub target_hash: String,
    /// The prompt of the run, a name among those of its evals; `None` when inputs are given
    /// to the target unchanged, or none was chosen.
    pub prompt: Option<String>,
    /// What outputs of `target` depend on besides; empty unless the plan is to be run.
    pub dependencies: Dependencies,
    pub evals: Vec<Arc<Eval>>,
    /// Over all cases of the suite, whatever part of it this plan is; empty but in a shard.
    pub whole_hash: String,
    /// Every eval of the suite when `evals` are a selection, else empty. Only who reads recordings
    /// needs it: which case a line means must not depend on what was selected.
    pub whole: Vec<Arc<Eval>>,
    /// Present when the plan is one part of the suite. It then holds every eval, also those of
    /// which this part has no case.
    pub shard: Option<Shard>,
    pub settings: PlanSettings,
    pub gate: GateSpec,
    /// Metrics that the suite computes from others.
    pub composites: Vec<Composite>,
    /// Metrics of graders' own that are scores, ascending: those that lie in [0, 1].
    pub score_metrics: Vec<String>,
    /// The cases are those that did not pass in an earlier run: nobody chose them by what
    /// thresholds need.
    pub again: bool,
    pub reporting: ReportSettings,
    /// Probes of `check` that may pass.
    pub excuses: Vec<ProbeExcuse>,
    pub baselines: BaselineSettings,
    /// Present when accepted baselines were read at a git revision.
    pub against: Option<Against>,
    /// Variables of the command line that no file of the suite defines or reads: those of other
    /// suites of a phase.
    pub unread_vars: BTreeSet<String>,
    /// Folders that the suite's executors need to read, absolute.
    pub readable: Vec<PathBuf>,
    /// Values of the `env:` names that the suite may read, to be redacted from all that is written.
    pub secrets: Vec<String>,
}

impl Plan {
    /// The agents that its cases may be given to.
    pub fn agents(&self) -> impl Iterator<Item = &AgentTarget> {
        let own = self.evals.iter().flat_map(|eval| eval.cases.profiles());
        let own = own.filter_map(|profile| profile.target.as_ref());
        own.chain(&self.target).filter_map(|target| match target {
            Target::Agent(agent) => Some(&**agent),
            _ => None,
        })
    }

    /// What the programs of its agents consist of, besides what every sandbox shows.
    pub fn agent_folders(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = self
            .agents()
            .flat_map(|agent| &agent.readable)
            .cloned()
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// Versions of the programs of its agents, by the agent's name, as far as they are known.
    pub fn agent_versions(&self) -> BTreeMap<String, String> {
        let version = |agent: &AgentTarget| Some((agent.name().to_owned(), agent.version.clone()?));
        self.agents().filter_map(version).collect()
    }

    /// The prompts to choose from, while none is chosen: those of the selected evals whose outputs
    /// are not recorded. They are in the order in which they are written, those of the suite first.
    pub fn open_prompts(&self) -> Vec<&str> {
        if self.prompt.is_some() {
            return Vec::new();
        }
        let evals = self.evals.iter();
        let prompts = evals
            .filter(|eval| eval.is_asked(self.target.as_ref()))
            .flat_map(|eval| eval.prompts.iter());
        let mut places: BTreeMap<&str, (bool, usize)> = BTreeMap::new();
        for (name, prompt) in prompts {
            let place = (!prompt.is_of_suite, prompt.position);
            let first = places.entry(name).or_insert(place);
            *first = place.min(*first);
        }
        let mut names: Vec<&str> = places.keys().copied().collect();
        names.sort_by_key(|name| places[name]);
        names
    }

    /// The same plan with this prompt.
    pub fn under(mut self, prompt: &str) -> Plan {
        let all = if self.whole.is_empty() {
            &self.evals
        } else {
            &self.whole
        };
        self.target_hash =
            Fingerprint::of(&(&self.target_hash, prompt_hashes(prompt, all))).to_string();
        self.target_name = format!("{} [{prompt}]", self.target_name)
            .trim_start()
            .to_owned();
        self.prompt = Some(prompt.to_owned());
        self
    }

    /// Every model that judges cases of this plan, each once: two that differ in nothing are the
    /// same.
    pub fn judge_models(&self) -> Vec<&ModelTarget> {
        judge_models(&self.evals)
    }
}

/// What tells the prompts of that name from those of another plan: the suite's, and that of each
/// eval that has its own. A new eval with the suite's changes nothing.
fn prompt_hashes<'a>(name: &str, evals: &'a [Arc<Eval>]) -> Vec<(String, Vec<&'a str>)> {
    let mut by_hash: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for eval in evals {
        if let Some(prompt) = eval.prompts.get(name) {
            let own = by_hash.entry(prompt.fingerprint.to_string()).or_default();
            if !prompt.is_of_suite {
                own.push(&eval.info.id);
            }
        }
    }
    by_hash.into_iter().collect()
}

/// Every model that judges cases of these evals, each once, in the order in which they come.
pub fn judge_models(evals: &[Arc<Eval>]) -> Vec<&ModelTarget> {
    let mut all: Vec<&ModelTarget> = Vec::new();
    let profiles = evals.iter().flat_map(|eval| eval.cases.profiles());
    let panels = profiles.flat_map(|profile| {
        profile
            .graders
            .iter()
            .filter_map(|grader| grader.panel.as_ref())
    });
    for model in panels.flat_map(|panel| &panel.models) {
        if !all.contains(&model) {
            all.push(model);
        }
    }
    all
}

/// Who the suite is and where it lies.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct SuiteInfo {
    pub name: String,
    pub version: Option<String>,
    pub description: Option<String>,
    /// The suite file, as given on the command line.
    pub path: PathBuf,
    /// The folder of the suite file: where commands run, and what relative paths of the suite start
    /// from. Absolute.
    pub dir: PathBuf,
    /// The nearest ancestor with a `.git`, else `dir`. Absolute.
    pub root: PathBuf,
}

/// How a plan is run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSettings {
    /// Samples that may be in flight at once, at least 1. `parallel_execution: false` makes it 1.
    pub max_workers: usize,
    /// Samples that may be under way at once, at least `max_workers`: those beyond it only wait for
    /// a model.
    pub in_flight: usize,
    /// The k of pass@k and pass^k that are reported, ascending and without repeats; 1 is always
    /// among them.
    pub ks: Vec<u32>,
    /// What intervals speak about.
    pub interval_scope: IntervalScope,
    /// Seed of the bootstrap, so that the same journal gives the same interval.
    pub seed: u64,
    pub timeout_global: Option<Duration>,
    /// Wall time of one grader that looks at an output, and of `extract`.
    pub grade_timeout: Duration,
    /// Further attempts at a sample whose grade failed, when its case does not say.
    pub retry_failed: u32,
    /// Stop starting samples after this many failed ones.
    pub max_fail: Option<usize>,
    pub allow_unsandboxed: bool,
    pub sandbox: SandboxDemand,
    pub models: ModelSettings,
}

impl PlanSettings {
    /// What a grader that looks at an output may take when the suite does not say.
    pub const GRADE_TIMEOUT: Duration = Duration::from_secs(10);
}

/// What is written when the run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportSettings {
    pub formats: Vec<ReportFormat>,
    /// Absolute.
    pub output_dir: PathBuf,
    pub include_details: bool,
    pub notify_on_failure: bool,
    /// Who can be told.
    pub channels: Vec<NotifyChannel>,
}

/// Requirements of the gate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateSpec {
    pub thresholds: Vec<Threshold>,
    /// Number of regression evals that may fail without failing the gate (critical ones never may).
    pub max_regressions: Option<u32>,
    /// Every eval must pass, and every threshold must be met; without thresholds, every eval must
    /// always pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_all_evals: bool,
}

/// A required value of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Threshold {
    /// A metric's canonical name, such as `pass_at_1`, `pass_rate` or `latency_p95_ms`.
    pub metric: String,
    pub bound: Bound,
    pub value: f64,
    /// The figure that is compared with `value`.
    pub on: Figure,
}

impl Threshold {
    /// The threshold before a figure is compared with it.
    pub fn undecided(&self) -> ThresholdResult {
        ThresholdResult {
            metric: self.metric.clone(),
            value: None,
            bound: self.bound,
            threshold: self.value,
            on: self.on,
            status: Decision::Undecided,
        }
    }
}

/// Data of an eval for reports, stored in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EvalInfo {
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type")]
    pub kind: EvalType,
    pub category: Option<String>,
    pub tags: Vec<String>,
    /// Finite and at least 0.
    pub weight: f64,
    pub difficulty: Option<Difficulty>,
    pub criticality: Option<Criticality>,
    /// Share of a case's samples that must pass, in (0, 1].
    pub pass_rate_threshold: f64,
    /// Mean score of the cases from which the eval passes even if cases failed, in [0, 1].
    pub score_threshold: Option<f64>,
    /// File and line of its definition; absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Place>,
    /// What its outputs depend on, if it has `depends_on` or a target of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Box<Dependencies>>,
    /// The data file of its cases; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Box<DatasetRead>>,
}

impl EvalInfo {
    /// Whether reports show only aggregates of it, and none of its cases.
    pub fn is_private(&self) -> bool {
        self.dataset.as_ref().is_some_and(|dataset| dataset.private)
    }

    /// What sentences call one of its cases.
    pub fn shown_case<'a>(&self, id: &'a str) -> &'a str {
        match self.is_private() {
            true => "(private)",
            false => id,
        }
    }

    /// The id of one of its cases in what is compared and kept for comparisons.
    pub fn case_id<'a>(&self, id: &'a str) -> Cow<'a, str> {
        match self.is_private() {
            true => private_case_id(&self.id, id).into(),
            false => id.into(),
        }
    }

    /// Whether both say the same of an eval, wherever it stands and whatever its files hold.
    pub fn agrees(&self, other: &EvalInfo) -> bool {
        EvalInfo {
            source: None,
            dependencies: None,
            ..self.clone()
        } == EvalInfo {
            source: None,
            dependencies: None,
            ..other.clone()
        }
    }
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Path, relative to the project root, with `/` between folders; absolute if it is outside.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// One capability or regression definition.
#[derive(Debug, Clone)]
pub struct Eval {
    pub info: EvalInfo,
    /// `false`: its samples run one after the other.
    pub parallel: bool,
    /// Its prompts by name, the suite's among them.
    pub prompts: Arc<BTreeMap<String, PromptTemplate>>,
    pub cases: EvalCases,
}

impl Eval {
    /// True when some case asks a target for its output: its own, else that of the suite.
    pub fn is_asked(&self, target: Option<&Target>) -> bool {
        let profiles = self.cases.profiles();
        let mut targets = profiles
            .iter()
            .map(|profile| profile.target.as_ref().or(target));
        targets.any(|target| !matches!(target, Some(Target::Recorded { .. })))
    }
}

/// One input with its expectation and its graders.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub id: String,
    pub name: Option<String>,
    pub input: CaseInput,
    /// True when the prompt itself says what its context holds, so that a model is not told it
    /// twice.
    pub context_told: bool,
    pub grading: CaseGrading,
    /// Steps that turn the target's output into what is graded, in order.
    pub extract: Vec<ExtractMethod>,
    /// Independent samples, at least 1; `None` when nobody said, so that the run decides (what
    /// thresholds need, what a recording holds, else 1).
    pub samples: Option<u32>,
    /// Wall time of one target call.
    pub timeout: Duration,
    /// Further attempts after a failed grade; `None` asks `Settings::retry_failed`.
    pub retries: Option<u32>,
    /// A slower answer fails with cause `threshold`.
    pub max_latency: Option<Duration>,
    /// A regression's own execution, which takes the place of the suite's target.
    pub target: Option<Target>,
    /// What was expected, for reports; not used to grade.
    pub expected: Option<Value>,
    /// A right answer, as a target would give it; not used to grade.
    pub solution: Option<OutputValue>,
    /// What `solution` says to do in the workspace, if it is no output.
    pub solution_work: Option<Arc<SolutionWork>>,
    /// The layout of the public benchmark that it is a record of, as `dataset.format` names it.
    pub dataset_format: Option<Arc<str>>,
    /// Of a regression: where `expected` comes from; `None` when there is no baseline yet.
    pub baseline: Option<Box<BaselineOrigin>>,
    /// The folder in which each sample is made.
    pub workspace: Option<Arc<CaseWorkspace>>,
    pub tags: Vec<String>,
    pub difficulty: Option<Difficulty>,
    /// Over the input and the content of an input file: a changed one can't be resumed.
    pub input_hash: Fingerprint,
    /// Over grading and extraction: a changed one asks for `regrade`.
    pub grading_hash: Fingerprint,
    /// Over the data that the input is made of: the dataset's row, the input's context, a request
    /// or a free-form input. With the same data and grading another input is another way to ask for
    /// the same thing.
    pub data_hash: Fingerprint,
    /// Where the case was written, as `file:line:column`.
    pub origin: String,
}

/// What the target is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseInput {
    Prompt {
        text: String,
        context: Option<Value>,
    },
    /// A file whose content is the input; `path` is absolute and inside the project.
    File {
        path: PathBuf,
        context: Option<Value>,
    },
    ApiCall {
        method: String,
        /// Serialised without the values of parameters that are secrets.
        #[serde(serialize_with = "super::target::without_parameters")]
        endpoint: String,
        /// Serialised without the values of those that are secrets.
        #[serde(serialize_with = "eval_base::redact::serialize_headers")]
        headers: BTreeMap<String, String>,
        /// Sent with its keys in the order in which they are written.
        body: Option<OrderedValue>,
    },
    Messages {
        messages: Vec<Message>,
        context: Option<Value>,
    },
    /// A regression's free-form input.
    Data { value: Value },
}
