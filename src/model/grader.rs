//! Graders with everything that they need: expectations and settings are merged, defaults are
//! filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::executor::Executor;
use super::judge::Judge;
use super::metric::Measured;
use crate::spec::words::{CommandVerdict, GraderType, JsonMode, StdoutComparison, Which};

pub use eval_match::{
    Comparator, EditUnit, Likeness, RegexFlags, SimilarityMetric, Structural, Tokenizer, Tolerance,
};

/// The graders of a case and how their verdicts become one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grading {
    /// At least one.
    pub graders: Vec<Grader>,
    pub combine: Combine,
    /// What the suite demands of the sandbox and what could change a verdict, as text; only where a
    /// grader runs a program in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demands: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    #[default]
    All,
    Any,
    /// Weighted mean of the scores against a threshold in [0, 1].
    Weighted {
        pass_threshold: f64,
    },
    AtLeast {
        n: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grader {
    /// Its name under `graders:`, when it has one.
    pub name: Option<String>,
    /// For `combine: weighted`; finite and at least 0.
    pub weight: f64,
    /// Turns passed into failed and failed into passed; errored and pending stay what they are.
    pub negate: bool,
    /// True when the method was inferred from the expectation.
    pub inferred: bool,
    /// The name of the metric that its score is recorded as; of `similarity`, the name of its
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// True when its verdict is shown and decides nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub informative: bool,
    pub kind: GraderKind,
}

impl Grader {
    /// A grader without a name or any settings beside its kind's.
    pub fn of(kind: GraderKind) -> Grader {
        Grader {
            name: None,
            weight: 1.0,
            negate: false,
            inferred: false,
            metric: None,
            informative: false,
            kind,
        }
    }

    /// The metrics that it measures for each output that it grades.
    pub fn measures(&self) -> Vec<(&str, Measured)> {
        let mut all = Vec::new();
        match &self.kind {
            GraderKind::Code(CodeGrader::Similarity(rule)) => {
                let kind = match rule.measure {
                    SimilarityMetric::EditRate => Measured::Rate,
                    _ => Measured::Score,
                };
                all.push((self.metric.as_deref().unwrap_or(rule.measure.name()), kind));
            }
            kind => {
                all.extend(self.metric.as_deref().map(|name| (name, Measured::Score)));
                if let GraderKind::Code(CodeGrader::Command(command)) = kind {
                    all.extend(
                        command
                            .metrics
                            .iter()
                            .map(|name| (name.as_str(), Measured::Number)),
                    );
                }
            }
        }
        all
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // few of them, and nearly all are the large one
pub enum GraderKind {
    Code(CodeGrader),
    /// A model, or several, as judge.
    Model(Box<Judge>),
    /// People: their settings as written.
    Human {
        config: Value,
        expected: Option<Value>,
    },
}

impl GraderKind {
    pub fn grader_type(&self) -> GraderType {
        match self {
            GraderKind::Code(_) => GraderType::Code,
            GraderKind::Model(_) => GraderType::Model,
            GraderKind::Human { .. } => GraderType::Human,
        }
    }

    /// The judge, when models judge.
    pub fn judge(&self) -> Option<&Judge> {
        match self {
            GraderKind::Model(judge) => Some(judge),
            GraderKind::Code(_) | GraderKind::Human { .. } => None,
        }
    }

    /// The method of a code grader, else the type's name.
    pub fn method(&self) -> &'static str {
        match self {
            GraderKind::Code(c) => c.method(),
            GraderKind::Model(_) => "model",
            GraderKind::Human { .. } => "human",
        }
    }

    /// Whether the grader runs the candidate's code, and if so whether in the sandbox.
    pub fn sandbox(&self) -> Option<bool> {
        match self {
            GraderKind::Code(CodeGrader::FunctionOutput(function)) => Some(function.sandbox),
            GraderKind::Code(CodeGrader::CodeExecution(execution)) => Some(execution.sandbox),
            _ => None,
        }
    }

    /// What runs the candidate's code, if the grader runs it.
    pub fn executor(&self) -> Option<&Executor> {
        match self {
            GraderKind::Code(CodeGrader::FunctionOutput(function)) => Some(&function.executor),
            GraderKind::Code(CodeGrader::CodeExecution(execution)) => Some(&execution.executor),
            _ => None,
        }
    }

    /// True for a command of the author's that runs inside the sandbox.
    pub fn is_sandboxed_command(&self) -> bool {
        matches!(self, GraderKind::Code(CodeGrader::Command(command)) if command.sandbox)
    }

    /// True when the grader starts no process and calls nothing.
    pub fn only_looks(&self) -> bool {
        match self {
            GraderKind::Code(code) => {
                !code.runs_candidate() && !matches!(code, CodeGrader::Command(_))
            }
            GraderKind::Model(_) => false,
            GraderKind::Human { .. } => true,
        }
    }
}

/// Graders that decide by code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeGrader {
    ExactMatch {
        /// The expected value and its alternatives; one must match. Texts are compared as texts
        /// after the steps below; when both sides are JSON values that are not texts, by value.
        any_of: Vec<Value>,
        case_sensitive: bool,
        trim_whitespace: bool,
        normalize_newlines: bool,
    },
    Contains {
        must_include: Vec<String>,
        must_not_include: Vec<String>,
        case_sensitive: bool,
    },
    Regex {
        /// One must match (or, with `must_match: false`, none may).
        patterns: Vec<String>,
        flags: RegexFlags,
        must_match: bool,
        /// Groups whose text goes into the details; a name, or the group's number.
        capture_groups: Vec<String>,
    },
    Numeric {
        /// The expected value and its alternatives.
        any_of: Vec<Value>,
        absolute: Option<f64>,
        relative: Option<f64>,
        min: Option<f64>,
        max: Option<f64>,
    },
    Json {
        /// The value that the output's JSON must equal, if any, and its alternatives.
        any_of: Vec<Value>,
        /// A JSON Schema that the output's JSON must match.
        schema: Option<Value>,
    },
    StructuralMatch(Structural),
    FunctionOutput(FunctionOutput),
    CodeExecution(CodeExecution),
    Similarity(Similarity),
    Command(CommandGrader),
    /// There is no baseline to compare with yet: every grade is `errored: no_baseline`.
    NoBaseline,
}

impl CodeGrader {
    pub fn method(&self) -> &'static str {
        match self {
            CodeGrader::ExactMatch { .. } => "exact_match",
            CodeGrader::Contains { .. } => "contains",
            CodeGrader::Regex { .. } => "regex",
            CodeGrader::Numeric { .. } => "numeric",
            CodeGrader::Json { .. } => "json",
            CodeGrader::StructuralMatch(_) => "structural_match",
            CodeGrader::FunctionOutput(_) => "function_output",
            CodeGrader::CodeExecution(_) => "code_execution",
            CodeGrader::Similarity(_) => "similarity",
            CodeGrader::Command(_) => "command",
            CodeGrader::NoBaseline => "no_baseline",
        }
    }

    /// True when the grader runs the candidate's code.
    pub fn runs_candidate(&self) -> bool {
        matches!(
            self,
            CodeGrader::FunctionOutput(_) | CodeGrader::CodeExecution(_)
        )
    }
}

/// How alike the output is to the closest of its references.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// At least one.
    pub references: Vec<String>,
    pub measure: SimilarityMetric,
    /// Of `edit_rate` alone.
    pub unit: EditUnit,
    /// As written; else the texts decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<Tokenizer>,
    /// The least likeness that passes, in (0, 1]; for `edit_rate` the highest rate that passes, at
    /// least 0.
    pub threshold: f64,
    pub case_sensitive: bool,
    pub trim_whitespace: bool,
    pub normalize_newlines: bool,
}

/// Limits of one candidate program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLimits {
    pub wall: Duration,
    pub memory_mb: u64,
    /// Bytes of stdout and of stderr that are kept, each.
    pub output_bytes: u64,
    /// MiB that what one call returns may take, if some key sets it: a default is no part of the
    /// hash of a grading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_mb: Option<u64>,
}

impl CodeLimits {
    /// The default is that of tests; for `function_output` see `grade::functions`.
    pub fn return_mb_or_default(&self) -> u64 {
        self.return_mb.unwrap_or(128)
    }
}

impl Default for CodeLimits {
    fn default() -> Self {
        CodeLimits {
            wall: Duration::from_secs(10),
            memory_mb: 256,
            output_bytes: 1 << 20,
            return_mb: None,
        }
    }
}

/// A solution by whose own time a candidate's is limited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// As a model would have answered: after a prefix its continuation, else a whole program.
    pub code: String,
    /// Above 1.
    pub factor: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionOutput {
    pub executor: Executor,
    pub function_name: String,
    /// Text before the output's code, empty if none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// At least one.
    pub cases: Vec<FunctionCase>,
    pub timeout_per_case: Duration,
    pub limits: CodeLimits,
    pub sandbox: bool,
    /// `limits.wall` is then the most that it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
}

/// One call of the candidate's function. Values are as read from YAML or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionCase {
    pub args: Vec<Value>,
    pub kwargs: BTreeMap<String, Value>,
    pub expected: Expectation,
    pub comparator: Comparator,
    /// For `comparator: approx`.
    pub tolerance: Option<Tolerance>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    Value(Value),
    /// The call must raise an exception of this type (or a subclass).
    Raises(String),
}

/// A candidate's code run against tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodeExecution {
    pub executor: Executor,
    /// Text before the output's code (HumanEval's prompt), empty if none.
    pub prefix: String,
    pub tests: Tests,
    /// Runs before the tests: imports and set-up code.
    pub setup: String,
    /// The function that is tested, if the tests name one.
    pub entry_point: Option<String>,
    pub limits: CodeLimits,
    /// Tests in Python run in the interpreter of the code, whether they need it or not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_process: bool,
    pub sandbox: bool,
    /// `limits.wall` is then the most that it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tests {
    /// Program text that defines `check(candidate)`; the harness calls it with the entry point.
    Check { code: String },
    /// Assert statements, in order.
    Asserts { asserts: Vec<String> },
    /// A whole program's stdout is compared, given stdin.
    Stdio {
        /// At least one.
        cases: Vec<StdioCase>,
        #[serde(default, skip_serializing_if = "is_default")]
        compare: StdoutComparison,
        /// For `compare: tokens`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tolerance: Option<Tolerance>,
    },
    /// The rows that SQL gives.
    Rows(RowsTest),
}

/// One run of a whole program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StdioCase {
    pub stdin: String,
    pub stdout: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub exit_code: i32,
}

/// What SQL must give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowsTest {
    pub wanted: WantedRows,
    /// Names of columns; for `reference`, `None` compares no names.
    pub columns: Option<Vec<String>>,
    /// A query whose rows are compared in place of the candidate's (and the reference's) own.
    pub check: Option<String>,
    pub ordered: bool,
    pub tolerance: Option<Tolerance>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedRows {
    /// Cells are null, numbers, texts, booleans (1 and 0), or `{"$bytes": hexadecimal}`.
    Rows(Vec<Vec<Value>>),
    /// SQL that gives them.
    Reference(String),
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The author's own program as grader: it reads the output on stdin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandGrader {
    pub argv: Vec<String>,
    /// Where it runs. No part of what tells graders apart, which is the same on every machine.
    #[serde(skip)]
    pub dir: PathBuf,
    pub env: Vec<String>,
    pub timeout: Duration,
    /// `exit_code`: 0 passes, 1 fails, anything else is errored. `json`: stdout is
    /// `{"passed": bool, "score": 0..1, "reason": text, "metrics": {name: number}}`.
    pub verdict: CommandVerdict,
    /// The numbers that a JSON verdict holds under `metrics`, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    pub expected: Option<Value>,
    /// It runs inside the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
}

/// One step from the target's output to what is graded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extract {
    Trim,
    /// A Markdown code fence, optionally of one language.
    CodeBlock {
        language: Option<String>,
        which: Which,
    },
    /// The output's JSON: whole, in a fence, or embedded in text.
    Json {
        mode: JsonMode,
    },
    Regex {
        pattern: String,
        flags: RegexFlags,
        group: String,
        which: Which,
    },
    /// RFC 9535.
    JsonPath {
        path: String,
    },
    /// The text after the last occurrence of a marker.
    AfterLast {
        marker: String,
    },
}
