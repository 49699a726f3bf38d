//! Outputs of targets and what graders said of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judged::Judged;
use super::outcome::{Cause, Outcome};
use super::reading::detail;
use super::review::HumanReview;
use super::trajectory::TrajectoryRecord;
use super::workspace::WorkspaceOutput;
use crate::spec::words::{FinishReason, GraderType};
use eval_models::Usage;

/// The output of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Output {
    #[serde(deserialize_with = "detail")]
    pub value: OutputValue,
    /// True if the output is truncated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that answered, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reason why the model ended its answer, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// The reasoning of the model before its answer; never graded.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub thoughts: Option<String>,
    /// What the target left in its workspace, if it had one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub workspace: Option<Box<WorkspaceOutput>>,
    /// What the agent did, if it reports that.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub trajectory: Option<Box<TrajectoryRecord>>,
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
            workspace: None,
            trajectory: None,
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

/// An output that is too large for a line of the journal, stored in a separate file next to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stored {
    /// SHA-256 (hex) of the file's bytes, which is also its name.
    pub sha256: String,
    pub bytes: u64,
    pub kind: StoredKind,
    /// The beginning, for reports.
    #[serde(deserialize_with = "detail")]
    pub head: String,
    /// The fields of the output beside its value.
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
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub workspace: Option<Box<WorkspaceOutput>>,
    /// What the agent did, if it reports that.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub trajectory: Option<Box<TrajectoryRecord>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoredKind {
    Text,
    Json,
    Program,
}

/// The result of a grader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Grade {
    #[serde(rename = "type")]
    pub grader_type: GraderType,
    /// The code grader's method; `model` or `human` for the others; `combined` for a list.
    #[serde(deserialize_with = "detail")]
    pub method: String,
    /// The grader's name under `graders:`, if it has one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub grader: Option<String>,
    /// Outcome: passed, failed, errored or pending.
    pub outcome: Outcome,
    /// Score in [0, 1]; absent if errored or pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Cause, if failed or errored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Reason in one sentence; may be empty if passed.
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
    /// Metrics that the grader could not measure; they are unknown, not 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// True if the grade is only shown and does not affect the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub informative: bool,
    /// True if the grader is negated: outcome and score are inverted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub negated: bool,
    /// Trust level of the verdict; absent if no candidate's code ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// True if a program exceeded its time limit and was run again, alone, to confirm it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjudicated: bool,
    /// Most resident memory of a process of the candidate, in MB, where the sandbox knows it. Only
    /// `check` looks at it; journals don't keep it.
    #[serde(skip)]
    pub peak_mb: Option<f64>,
    /// Data of the judges, for a grade by a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Box<Judged>>,
    /// The question and the ratings, for a grade by people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<HumanReview>>,
}

/// Trust level of a verdict over a candidate's code, the most reliable first.
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
    /// The harness compared what the candidate returned or printed; expected values never entered
    /// its process.
    Harness,
    /// The tests ran in a judge process that never loads the candidate's code.
    Split,
    /// The candidate's code shared an interpreter with its tests, and could have forged the
    /// verdict.
    InProcess,
    /// The code ran without isolation.
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
            peak_mb: None,
            judged: None,
            review: None,
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

    /// `peak_kib`: as the sandbox reports it.
    pub fn with_peak(mut self, peak_kib: Option<u64>) -> Self {
        self.peak_mb = peak_kib.map(|kib| kib as f64 / 1024.0);
        self
    }

    pub fn with_score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }
}

/// The grades of an output and their combined verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verdict {
    pub outcome: Outcome,
    /// Score in [0, 1]; absent if errored or pending.
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
    /// One grade per grader, in the order of the file, without graders that were not needed for the
    /// verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grades: Vec<Grade>,
    /// Graders that did not run because the others decided the verdict, by name or method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<String>,
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
            not_run: Vec::new(),
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
