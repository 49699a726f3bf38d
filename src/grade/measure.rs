//! What graders measure beside their verdicts: numbers under names, or the word that there is none.

use super::combine::negate;
use crate::model::{Case, Cause, Grade, Grader, GraderKind, NumberKind, Outcome, Verdict};

/// A grade with what its grader says besides its kind.
pub(super) fn finished(grader: &Grader, grade: Grade) -> Grade {
    let grade = if grader.negate { negate(grade) } else { grade };
    record(
        grader,
        Grade {
            grader: grader.name.clone(),
            informative: grader.informative,
            ..grade
        },
    )
}

/// A grade with the metrics that its grader promises: a score under the author's name, the numbers
/// of the method under theirs. What is missing, because the grade is errored or pending, is named
/// as unmeasured.
fn record(grader: &Grader, mut grade: Grade) -> Grade {
    if let Some(name) = &grader.metric {
        let own = match &grader.kind {
            GraderKind::Code(code) => code.as_method().number(),
            GraderKind::Model(_) | GraderKind::Human { .. } => None,
        };
        let number = match own {
            Some((own, _)) => grade.metrics.remove(own),
            None => grade.score.filter(|_| grade.outcome.is_graded()),
        };
        if let Some(number) = number {
            grade.metrics.insert(name.clone(), number);
        }
    }
    if let GraderKind::Code(code) = &grader.kind
        && grade.outcome.is_graded()
    {
        let passed = f64::from(u8::from(grade.outcome == Outcome::Passed));
        for name in code.as_method().pass_numbers() {
            grade.metrics.entry((*name).to_owned()).or_insert(passed);
        }
    }
    grade.metrics.retain(|_, number| number.is_finite());
    let missing = grader
        .measures()
        .into_iter()
        .filter(|(name, _)| !grade.metrics.contains_key(*name));
    grade.unmeasured = missing.map(|(name, _)| name.to_owned()).collect();
    grade
}

/// The verdict over an output that is not there to be graded, or not whole. Scores of a failure are
/// 0, as the sample's own is; other numbers are not known of what nobody saw.
pub fn without_output(case: &Case, cause: Cause, reason: impl Into<String>) -> Verdict {
    let verdict = Verdict::without_grades(cause, reason);
    let grades = case
        .grading
        .graders
        .iter()
        .filter(|grader| !grader.measures().is_empty())
        .map(|grader| {
            let (grader_type, method) = (grader.kind.grader_type(), grader.kind.method());
            let mut grade = if verdict.outcome == Outcome::Failed {
                Grade::failed(grader_type, method, cause, verdict.reason.clone())
            } else {
                Grade::errored(grader_type, method, cause, verdict.reason.clone())
            };
            for (name, kind) in grader.measures() {
                if verdict.outcome == Outcome::Failed && kind == NumberKind::Score {
                    grade.metrics.insert(name.to_owned(), 0.0);
                } else {
                    grade.unmeasured.push(name.to_owned());
                }
            }
            Grade {
                grader: grader.name.clone(),
                informative: grader.informative,
                ..grade
            }
        });
    Verdict {
        grades: grades.collect(),
        ..verdict
    }
}
