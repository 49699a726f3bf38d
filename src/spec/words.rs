//! The closed word lists that authors choose from; `model` uses the same types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use eval_models::{CacheMode, FinishReason};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    Terminal,
    Json,
    Markdown,
    Html,
    Junit,
    /// Markdown for a comment on a pull request: short, at most 60,000 bytes.
    Comment,
}

/// What becomes of the reasoning with which an answer opens (`<think>...</think>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtsMode {
    /// It is shown beside the output, and not graded.
    Separate,
    /// It is part of the output, and graded.
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Min,
    Max,
}

/// The figure of an estimate that a threshold looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    #[default]
    Value,
    /// The lower end of the 95 % interval: the claim holds even if this run was lucky.
    CiLower,
    CiUpper,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EvalType {
    Capability,
    Regression,
}

impl EvalType {
    /// As authors write it.
    pub fn name(self) -> &'static str {
        match self {
            EvalType::Capability => "capability",
            EvalType::Regression => "regression",
        }
    }

    /// At the beginning of a title.
    pub fn title(self) -> &'static str {
        match self {
            EvalType::Capability => "Capability",
            EvalType::Regression => "Regression",
        }
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Criticality {
    Low,
    Medium,
    High,
    Critical,
}

impl Criticality {
    /// As authors write it.
    pub fn name(self) -> &'static str {
        match self {
            Criticality::Low => "low",
            Criticality::Medium => "medium",
            Criticality::High => "high",
            Criticality::Critical => "critical",
        }
    }
}

/// What intervals and tests generalize to: the random part of a figure.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IntervalScope {
    /// More samples of these very cases: only samples are random.
    TheseCases,
    /// Cases like these in these evals: cases and samples are random, evals are strata.
    #[default]
    SimilarCases,
    /// Evals like these: evals, their cases and samples are random, evals are clusters.
    SimilarEvals,
}

impl IntervalScope {
    /// Evals below which nothing is said of evals like these.
    pub const FEWEST_EVALS: u64 = 5;

    /// True when so many evals have no interval.
    pub fn has_too_few(self, evals: u64) -> bool {
        self == IntervalScope::SimilarEvals && evals < IntervalScope::FEWEST_EVALS
    }

    /// What is random, as it completes "intervals are for ...".
    pub fn about(self) -> &'static str {
        match self {
            IntervalScope::TheseCases => "more samples of these cases",
            IntervalScope::SimilarCases => "cases like these, in these evals",
            IntervalScope::SimilarEvals => "evals like these",
        }
    }

    /// True when an event or a file can leave it out.
    pub fn is_default(&self) -> bool {
        *self == IntervalScope::default()
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Difficulty {
    Easy,
    Medium,
    Hard,
}

/// Which difference to a reference fails a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailOn {
    /// A regression beyond what chance explains.
    Significant,
    /// Any case that passed and fails now.
    Any,
    /// A case of a critical eval that passed and fails now.
    Critical,
    /// None: the comparison informs.
    Never,
}

impl FailOn {
    pub fn name(self) -> &'static str {
        match self {
            FailOn::Significant => "significant",
            FailOn::Any => "any",
            FailOn::Critical => "critical",
            FailOn::Never => "never",
        }
    }
}

/// What cases are grouped by in a comparison.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    Type,
    Category,
    Tag,
    Eval,
    Difficulty,
}

impl Grouping {
    pub fn name(self) -> &'static str {
        match self {
            Grouping::Type => "type",
            Grouping::Category => "category",
            Grouping::Tag => "tag",
            Grouping::Eval => "eval",
            Grouping::Difficulty => "difficulty",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub role: String,
    pub content: String,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GraderType {
    Code,
    Model,
    Human,
}

impl GraderType {
    pub fn name(self) -> &'static str {
        match self {
            GraderType::Code => "code",
            GraderType::Model => "model",
            GraderType::Human => "human",
        }
    }
}

/// Which kind of tests a `code_execution` grader has; it must agree with what is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsWord {
    /// `test:`.
    Test,
    /// `asserts:`.
    Asserts,
    /// `stdio:`: whole programs, by what they read and print.
    Stdin,
    /// `rows:` or `reference:`: SQL, by the rows that it gives.
    Rows,
}

/// How the stdout of a program is compared with the expected one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StdoutComparison {
    /// As one text, without white space at its ends; CR LF is LF.
    #[default]
    Text,
    /// Line by line, without white space at the ends of lines; empty lines at the end do not count.
    Lines,
    /// By what white space separates: numbers by value and within `tolerance`, everything else
    /// exactly.
    Tokens,
    /// Not at all: only the exit code counts, which a program may choose without doing its task.
    /// Such a grade says `trust: in_process`.
    ExitCode,
}

/// The ground that a grader or a dataset asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsTrust {
    /// The tests share the interpreter of the code, which could forge the verdict.
    InProcess,
}

/// What a gate that has thresholds requires of evals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateRequirement {
    /// Every eval passes, beside every threshold that is met.
    AllEvals,
    /// Thresholds decide, and regressions that failed (the default).
    Thresholds,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandVerdict {
    #[default]
    ExitCode,
    Json,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    First,
    #[default]
    Last,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JsonMode {
    /// Whole, then fenced, then embedded.
    #[default]
    Any,
    Whole,
    Fenced,
    Embedded,
}

/// How several votes of judges become one verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PanelRule {
    /// Each criterion counts with the median of its scores, of two middle ones the worse.
    #[default]
    Median,
    /// Each criterion counts with the mean of its scores.
    Mean,
    /// More than half of the votes must pass.
    Majority,
}

/// What a non-zero exit code of a command target means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The sample is errored: `target_failed`.
    #[default]
    Error,
    /// The sample failed: the program's crash is its answer.
    Fail,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    #[default]
    Text,
    Json,
}

/// How a sample, a case or an eval ended.
///
/// `Failed` means that an output was judged and is wrong; `Errored` that nothing could be found
/// out. The two are never mixed: an errored sample counts neither as a pass nor as a failure.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    Failed,
    Errored,
    Skipped,
    Pending,
}

impl Outcome {
    pub const ALL: [Outcome; 5] = [
        Outcome::Passed,
        Outcome::Failed,
        Outcome::Errored,
        Outcome::Skipped,
        Outcome::Pending,
    ];

    /// The name as written in journals and reports.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::Errored => "errored",
            Outcome::Skipped => "skipped",
            Outcome::Pending => "pending",
        }
    }

    /// Passed or failed: somebody looked at an output and decided.
    pub fn is_graded(self) -> bool {
        matches!(self, Outcome::Passed | Outcome::Failed)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
