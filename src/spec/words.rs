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
    /// Markdown for a pull request comment, at most 60,000 bytes.
    Comment,
    /// An SVG image with the gate and the number of cases that passed.
    Badge,
}

/// Handling of the reasoning at the beginning of an answer (`<think>...</think>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtsMode {
    /// It is shown next to the output, and not graded.
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

/// The figure of an estimate that is compared with a threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    #[default]
    Value,
    /// The lower end of the 95 % interval.
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

/// Scope of intervals and tests: the random part of a figure.
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
    /// More samples of the same cases: only samples are random.
    TheseCases,
    /// Similar cases in these evals: cases and samples are random, evals are strata.
    #[default]
    SimilarCases,
    /// Similar evals: evals, their cases and samples are random, evals are clusters.
    SimilarEvals,
}

impl IntervalScope {
    /// Lowest number of evals for intervals over similar evals.
    pub const FEWEST_EVALS: u64 = 5;

    /// True if this number of evals has no interval.
    pub fn has_too_few(self, evals: u64) -> bool {
        self == IntervalScope::SimilarEvals && evals < IntervalScope::FEWEST_EVALS
    }

    /// The random part, as it completes "intervals are for ...".
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

/// Difference from a reference that fails a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailOn {
    /// A regression beyond what chance explains.
    Significant,
    /// Any case that passed and now fails.
    Any,
    /// A case of a critical eval that passed and now fails.
    Critical,
    /// None: the comparison does not affect the gate.
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

/// Groups of cases in a comparison.
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

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The role, such as `system`, `user` or `assistant`.
    #[schemars(extend("examples" = ["system", "user", "assistant"]))]
    pub role: String,
    /// The text of the message.
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

/// Kind of tests of a `code_execution` grader; it must match the tests that are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsWord {
    /// `test:`.
    Test,
    /// `asserts:`.
    Asserts,
    /// `stdio:`: whole programs, tested by their input and output.
    Stdin,
    /// `rows:` or `reference:`: SQL, tested by its result rows.
    Rows,
}

/// Comparison of a program's stdout with the expected one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StdoutComparison {
    /// As one text, without whitespace at its ends; CR LF equals LF.
    #[default]
    Text,
    /// Line by line, without whitespace at the ends of lines; empty lines at the end are ignored.
    Lines,
    /// By tokens between whitespace: numbers by value and within `tolerance`, other tokens exactly.
    Tokens,
    /// Line by line, without whitespace at the ends of lines and of the text; a line that differs is
    /// compared by its words as decimal numbers. The rule of LiveCodeBench.
    Decimals,
    /// Only by exit code, which a program can choose without doing its task. Such a grade has
    /// `trust: in_process`.
    ExitCode,
}

/// The trust level that a grader or a dataset accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsTrust {
    /// The tests share the interpreter of the code, which can then forge the verdict.
    InProcess,
}

/// Requirement of a gate with thresholds for evals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateRequirement {
    /// Every eval passes, and every threshold is met.
    AllEvals,
    /// Every threshold is met, and no regression fails (the default).
    Thresholds,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandVerdict {
    #[default]
    ExitCode,
    Json,
    JsonFile,
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

/// Combination of several votes of judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PanelRule {
    /// Each criterion has the median of its scores; of two middle ones, the lower (with `negate`, the higher).
    #[default]
    Median,
    /// Each criterion has the mean of its scores.
    Mean,
    /// More than half of the votes must pass.
    Majority,
}

/// Meaning of a non-zero exit code of a command target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The sample is errored: `target_failed`.
    #[default]
    Error,
    /// The sample failed: the crash counts as the answer.
    Fail,
}

/// Where a command runs whose case has a workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetIsolation {
    /// In the workspace, in the sandbox.
    #[default]
    Sandbox,
    /// In the workspace, with your rights.
    Workspace,
    /// In the suite's folder, like the command of a case that has no workspace.
    None,
}

/// A coding agent that can be run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AgentName {
    ClaudeCode,
    Codex,
    GeminiCli,
    Opencode,
    Aider,
    MiniSweAgent,
    /// The program of `command`.
    Command,
}

/// Workspaces that stay in the results folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepWorkspace {
    #[default]
    Never,
    /// Those of samples that did not pass.
    Failed,
    Always,
}

/// The network of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    #[default]
    None,
    All,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    #[default]
    Text,
    Json,
}

/// Outcome of a sample, a case or an eval.
///
/// `Failed` means that an output was graded and is wrong; `Errored` that it could not be graded. An
/// errored sample counts neither as a pass nor as a failure.
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

    /// Passed or failed: an output was graded.
    pub fn is_graded(self) -> bool {
        matches!(self, Outcome::Passed | Outcome::Failed)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
