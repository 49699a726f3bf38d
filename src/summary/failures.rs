//! Failures as people want to read them.

use serde_json::Value;

use crate::model::{EvalInfo, Failure, Grade, Outcome, SampleResult};

/// Whose failure it is.
pub(super) struct FailureSubject<'a> {
    pub eval: &'a EvalInfo,
    pub case_id: &'a str,
    pub case_name: Option<&'a str>,
}

/// The failure that `sample` tells of, the first of `samples` of its case that ended so.
pub(super) fn failure(
    listed: FailureSubject<'_>,
    sample: &SampleResult,
    samples: usize,
) -> Failure {
    let FailureSubject {
        eval,
        case_id,
        case_name,
    } = listed;
    let grade = telling_grade(&sample.grades, sample.outcome);
    let name = match case_name {
        Some(name) if name != eval.name => format!("{}: {name}", eval.name),
        _ => eval.name.clone(),
    };
    Failure {
        eval_id: eval.id.clone(),
        case_id: case_id.to_owned(),
        name,
        outcome: sample.outcome,
        cause: sample.cause,
        reason: sample.reason.clone(),
        expected: grade.and_then(|grade| grade.expected.clone()),
        actual: grade
            .and_then(|grade| grade.actual.clone())
            .or_else(|| sample.extracted.clone())
            .or_else(|| sample.output.clone().filter(|_| is_answer(sample))),
        details: grade.map(|grade| grade.details.clone()).unwrap_or_default(),
        samples,
    }
}

/// Whether the text of an output is something to compare. A target that failed, or whose work is
/// what it left in a workspace, need not print any.
fn is_answer(sample: &SampleResult) -> bool {
    let is_empty = sample.output.as_ref().and_then(Value::as_str) == Some("");
    !is_empty || (sample.outcome == Outcome::Failed && sample.workspace.is_none())
}

/// The first grade that ended as the sample did; one that decided nothing tells nothing of it.
fn telling_grade(grades: &[Grade], outcome: Outcome) -> Option<&Grade> {
    let mut deciding = grades.iter().filter(|grade| !grade.informative);
    deciding
        .clone()
        .find(|grade| grade.outcome == outcome)
        .or_else(|| deciding.next())
}

/// The same without what the target said, for `include_details: false`.
pub(super) fn without_output(failure: Failure) -> Failure {
    Failure {
        actual: None,
        details: serde_json::Map::new(),
        ..failure
    }
}
