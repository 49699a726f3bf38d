//! Outputs of targets and what graders said of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outcome::{Cause, Outcome};
use crate::spec::words::GraderType;

/// What a target returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Output {
    pub value: OutputValue,
    /// True when the target said more than is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that answered, when the target said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Output {
    pub fn text(text: impl Into<String>) -> Self {
        Output { value: OutputValue::Text(text.into()), truncated: false, usage: None, model: None }
    }

    pub fn json(value: Value) -> Self {
        Output { value: OutputValue::Json(value), truncated: false, usage: None, model: None }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputValue {
    Text(String),
    Json(Value),
    /// A whole program (a benchmark's `solution`): the case's prefix is not put before it.
    Program(String),
}

/// An output that is too large for a line of the journal and lies in a file of its own beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stored {
    /// SHA-256 (hex) of the file's bytes, which is also its name.
    pub sha256: String,
    pub bytes: u64,
    pub kind: StoredKind,
    /// The beginning, for reports.
    pub head: String,
    /// The fields of [`Output`] beside its value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoredKind {
    Text,
    Json,
    Program,
}

/// What a call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A grader's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Grade {
    #[serde(rename = "type")]
    pub grader_type: GraderType,
    /// The code grader's method; `model` or `human` for the others; `combined` for a list.
    pub method: String,
    /// The grader's name under `graders:`, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grader: Option<String>,
    /// Passed, failed, errored or pending.
    pub outcome: Outcome,
    /// In [0, 1]; absent when errored or pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Present exactly when failed or errored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// One sentence for people; empty when passed and there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub details: serde_json::Map<String, Value>,
    /// Named numbers that the grader measured, such as `lint_pass` or `edit_rate`; finite.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
    /// Metrics that the grader was to measure and could not; they are unknown, not 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// True when the grade is only shown: it took no part in the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub informative: bool,
    /// `in_process` when the candidate's code shared an interpreter with its tests and a determined program could forge the verdict;
    /// `unsandboxed` when it ran without isolation.
    #[serde(default, skip_serializing_if = "Trust::is_full")]
    pub trust: Trust,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    #[default]
    Full,
    InProcess,
    Unsandboxed,
}

impl Trust {
    pub fn is_full(&self) -> bool {
        *self == Trust::Full
    }
}

impl Grade {
    pub fn passed(grader_type: GraderType, method: &str) -> Self {
        Grade::new(grader_type, method, Outcome::Passed, Some(1.0), None, String::new())
    }

    /// A failed grade with score 0.
    pub fn failed(grader_type: GraderType, method: &str, cause: Cause, reason: impl Into<String>) -> Self {
        debug_assert_eq!(cause.outcome(), Outcome::Failed);
        Grade::new(grader_type, method, Outcome::Failed, Some(0.0), Some(cause), reason.into())
    }

    pub fn errored(grader_type: GraderType, method: &str, cause: Cause, reason: impl Into<String>) -> Self {
        debug_assert_eq!(cause.outcome(), Outcome::Errored);
        Grade::new(grader_type, method, Outcome::Errored, None, Some(cause), reason.into())
    }

    pub fn pending(grader_type: GraderType, method: &str, reason: impl Into<String>) -> Self {
        Grade::new(grader_type, method, Outcome::Pending, None, None, reason.into())
    }

    fn new(
        grader_type: GraderType,
        method: &str,
        outcome: Outcome,
        score: Option<f64>,
        cause: Option<Cause>,
        reason: String,
    ) -> Self {
        Grade {
            grader_type,
            method: method.to_owned(),
            grader: None,
            outcome,
            score,
            cause,
            reason,
            expected: None,
            actual: None,
            details: serde_json::Map::new(),
            metrics: BTreeMap::new(),
            unmeasured: Vec::new(),
            informative: false,
            trust: Trust::Full,
        }
    }

    pub fn with_expected(mut self, expected: Value) -> Self {
        self.expected = Some(expected);
        self
    }

    pub fn with_actual(mut self, actual: Value) -> Self {
        self.actual = Some(actual);
        self
    }

    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    pub fn with_score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }
}

/// The grades of one output and the verdict that follows from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verdict {
    pub outcome: Outcome,
    /// In [0, 1]; absent when errored or pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// One per grader, in the order written; a grader that was not needed (the verdict was decided) is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grades: Vec<Grade>,
}

impl Verdict {
    /// An outcome that no grader was asked for.
    pub fn without_grades(cause: Cause, reason: impl Into<String>) -> Self {
        let score = (cause.outcome() == Outcome::Failed).then_some(0.0);
        Verdict {
            outcome: cause.outcome(),
            score,
            cause: Some(cause),
            reason: reason.into(),
            grades: Vec::new(),
        }
    }
}
