//! Outputs of targets and what graders said of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judged::Judged;
use super::outcome::{Cause, Outcome};
use super::reading::detail;
use crate::spec::words::{FinishReason, GraderType};
use eval_models::Usage;

/// What a target returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Output {
    #[serde(deserialize_with = "detail")]
    pub value: OutputValue,
    /// True when the target said more than is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that answered, when the target said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why the model ended its answer, when it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// What the model thought aloud before it answered; never graded.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub thoughts: Option<String>,
}

impl Output {
    pub fn text(text: impl Into<String>) -> Self {
        Output {
            value: OutputValue::Text(text.into()),
            truncated: false,
            usage: None,
            model: None,
            finish: None,
            thoughts: None,
        }
    }

    pub fn json(value: Value) -> Self {
        Output {
            value: OutputValue::Json(value),
            ..Output::text("")
        }
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

impl Default for OutputValue {
    fn default() -> Self {
        OutputValue::Text(String::new())
    }
}

/// An output that is too large for a line of the journal and lies in a file of its own beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stored {
    /// SHA-256 (hex) of the file's bytes, which is also its name.
    pub sha256: String,
    pub bytes: u64,
    pub kind: StoredKind,
    /// The beginning, for reports.
    #[serde(deserialize_with = "detail")]
    pub head: String,
    /// The fields of [`Output`] beside its value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub thoughts: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoredKind {
    Text,
    Json,
    Program,
}

/// A grader's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Grade {
    #[serde(rename = "type")]
    pub grader_type: GraderType,
    /// The code grader's method; `model` or `human` for the others; `combined` for a list.
    #[serde(deserialize_with = "detail")]
    pub method: String,
    /// The grader's name under `graders:`, when it has one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
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
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub reason: String,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub expected: Option<Value>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub actual: Option<Value>,
    #[serde(
        default,
        skip_serializing_if = "serde_json::Map::is_empty",
        deserialize_with = "detail"
    )]
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
    /// True when the grader is negated: outcome and score are the opposite of what it found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub negated: bool,
    /// Who can have had a hand in the verdict; absent when no candidate's code ran for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// True when a program ran out of time and was run once more, alone, before that was believed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjudicated: bool,
    /// What judges said, of a grade by a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Box<Judged>>,
}

/// What a verdict over a candidate's code rests on, the most reliable first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// What the candidate returned or printed was compared in the harness; expected values never
    /// entered its process.
    Harness,
    /// The tests ran in a judge process that never loads the candidate's code.
    Split,
    /// The candidate's code shared an interpreter with its tests: a determined program could forge
    /// the verdict.
    InProcess,
    /// The code ran without isolation, whatever compared the results.
    Unsandboxed,
}

impl Trust {
    pub const ALL: [Trust; 4] = [
        Trust::Harness,
        Trust::Split,
        Trust::InProcess,
        Trust::Unsandboxed,
    ];

    /// The name as written in journals and reports.
    pub fn name(self) -> &'static str {
        match self {
            Trust::Harness => "harness",
            Trust::Split => "split",
            Trust::InProcess => "in_process",
            Trust::Unsandboxed => "unsandboxed",
        }
    }
}

impl Grade {
    pub fn passed(grader_type: GraderType, method: &str) -> Self {
        Grade::new(
            grader_type,
            method,
            Outcome::Passed,
            Some(1.0),
            None,
            String::new(),
        )
    }

    /// A failed grade with score 0.
    pub fn failed(
        grader_type: GraderType,
        method: &str,
        cause: Cause,
        reason: impl Into<String>,
    ) -> Self {
        debug_assert_eq!(cause.outcome(), Outcome::Failed);
        Grade::new(
            grader_type,
            method,
            Outcome::Failed,
            Some(0.0),
            Some(cause),
            reason.into(),
        )
    }

    pub fn errored(
        grader_type: GraderType,
        method: &str,
        cause: Cause,
        reason: impl Into<String>,
    ) -> Self {
        debug_assert_eq!(cause.outcome(), Outcome::Errored);
        Grade::new(
            grader_type,
            method,
            Outcome::Errored,
            None,
            Some(cause),
            reason.into(),
        )
    }

    pub fn pending(grader_type: GraderType, method: &str, reason: impl Into<String>) -> Self {
        Grade::new(
            grader_type,
            method,
            Outcome::Pending,
            None,
            None,
            reason.into(),
        )
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
            negated: false,
            trust: None,
            adjudicated: false,
            judged: None,
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

    pub fn with_trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Whether a program was run once more, alone.
    pub fn with_adjudicated(mut self, adjudicated: bool) -> Self {
        self.adjudicated = adjudicated;
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
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub reason: String,
    /// One per grader, in the order written; a grader that was not needed (the verdict was decided)
    /// is absent.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_of_earlier_journals_are_read_and_new_ones_say_only_what_there_is() {
        let plain = r#"{"type":"code","method":"exact_match","outcome":"passed","score":1.0}"#;
        let read: Grade = serde_json::from_str(plain).unwrap();
        assert_eq!((read.trust, read.adjudicated), (None, false));
        assert_eq!(serde_json::to_string(&read).unwrap(), plain);
        for (written, trust) in [
            ("in_process", Trust::InProcess),
            ("unsandboxed", Trust::Unsandboxed),
        ] {
            let text = plain.replace('}', &format!(r#","trust":"{written}"}}"#));
            assert_eq!(
                serde_json::from_str::<Grade>(&text).unwrap().trust,
                Some(trust)
            );
        }
        for trust in Trust::ALL {
            assert_eq!(serde_json::to_value(trust).unwrap(), trust.name());
        }
    }
}
