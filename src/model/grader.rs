//! Graders with everything that they need: expectations and settings are merged, defaults are
//! filled in.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::executor::Executor;
use super::judge::Judge;
use super::metric::NumberKind;
use crate::graders::programs::CandidateCode;
use crate::spec::words::{GraderType, JsonMode, Which};

pub use crate::graders::{
    CallExpectation, CodeExecution, CodeGrader, CodeLimits, CodeTests, CommandGrader,
    EvalplusCalls, ExactMatch, FunctionCase, FunctionOutput, JsonMatch, ReferenceFunction,
    ReferenceSolution, RowsTest, Similarity, StdioCase, WantedRows,
};

pub use eval_match::{Comparator, RegexFlags, SimilarityBound, StructuralOptions, Tolerance};
#[cfg(test)]
pub use eval_match::{EditUnit, SimilarityMetric, Tokenizer};

/// The graders of a case and how their verdicts become one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseGrading {
    /// At least one.
    pub graders: Vec<Grader>,
    pub combine: Combine,
    /// What the suite demands of the sandbox and what could change a verdict, as text; only where a
    /// grader runs a program in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demands: Option<String>,
    /// What runs Python in place of the suite's interpreter. `demands` says it, too, so that
    /// gradings are told apart by what was written.
    #[serde(skip)]
    pub python: Option<NamedPython>,
}

impl CaseGrading {
    /// Whether all that decides looks at the workspace, so that an output makes no difference.
    pub fn is_of_workspace(&self) -> bool {
        let mut deciding = self
            .graders
            .iter()
            .filter(|grader| !grader.informative)
            .peekable();
        let looks = |kind: &GraderKind| match kind {
            GraderKind::Code(code) => code.as_method().workspace_check().is_some(),
            _ => false,
        };
        deciding.peek().is_some() && deciding.all(|grader| looks(&grader.kind))
    }
}

/// An interpreter that an eval names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedPython {
    /// For reports: a name in PATH, or the path from the suite's folder.
    pub name: String,
    /// Absolute.
    pub path: PathBuf,
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

    /// Its name, or its method.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.kind.method())
    }

    /// The metrics that it measures for each output that it grades.
    pub fn measures(&self) -> Vec<(&str, NumberKind)> {
        let mut all = Vec::new();
        let method = match &self.kind {
            GraderKind::Code(code) => Some(code.as_method()),
            GraderKind::Model(_) | GraderKind::Human { .. } => None,
        };
        let number = method.and_then(|method| method.number());
        match (&self.metric, number) {
            (Some(name), number) => {
                all.push((
                    name.as_str(),
                    number.map_or(NumberKind::Score, |(_, kind)| kind),
                ));
            }
            (None, number) => all.extend(number),
        }
        let passes = method.map_or(&[][..], |method| method.pass_numbers());
        all.extend(passes.iter().map(|name| (*name, NumberKind::Score)));
        all.extend(
            method
                .into_iter()
                .flat_map(|method| method.further_numbers()),
        );
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

    /// What is run, when the grader runs the candidate's code.
    pub(crate) fn candidate_code(&self) -> Option<&dyn CandidateCode> {
        match self {
            GraderKind::Code(code) => code.as_method().candidate_code(),
            GraderKind::Model(_) | GraderKind::Human { .. } => None,
        }
    }

    /// Whether the grader runs the candidate's code, and if so whether in the sandbox.
    pub fn sandbox(&self) -> Option<bool> {
        Some(self.candidate_code()?.settings().sandboxed)
    }

    /// What runs the candidate's code, if the grader runs it.
    pub fn executor(&self) -> Option<&Executor> {
        Some(self.candidate_code()?.settings().executor)
    }

    /// True for a command of the author's that runs inside the sandbox.
    pub fn is_sandboxed_command(&self) -> bool {
        matches!(self, GraderKind::Code(CodeGrader::Command(command)) if command.sandbox)
    }

    /// True when the grader starts no process and calls nothing.
    pub fn only_looks(&self) -> bool {
        match self {
            GraderKind::Code(code) => code.only_looks(),
            GraderKind::Model(_) => false,
            GraderKind::Human { .. } => true,
        }
    }
}

/// One step from the target's output to what is graded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractMethod {
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
