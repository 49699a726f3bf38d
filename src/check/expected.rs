//! The value that a case expects, as its reference where it has no other.

use serde_json::Value;

use crate::model::{Case, CodeGrader, Combine, ExtractMethod, Grader, GraderKind, OutputValue};
use eval_match::holds_matcher;

/// An output that the case must pass, if a grader compares with a literal that every right answer
/// equals.
pub(super) fn expected_value(case: &Case) -> Option<OutputValue> {
    let deciding = || {
        case.grading
            .graders
            .iter()
            .filter(|grader| !grader.informative)
    };
    let is_only = deciding().count() == 1;
    // With other rules, an answer may pass without this grader.
    if !is_only && case.grading.combine != Combine::All {
        return None;
    }
    let value = deciding().find_map(|grader| literal(grader, is_only))?;
    let steps = &case.extract;
    let fits = steps.iter().all(|step| match step {
        ExtractMethod::Trim => true,
        ExtractMethod::Json { .. } => !value.is_string(),
        _ => false,
    });
    let parses = |grader: &Grader| matches!(grader.kind, GraderKind::Code(CodeGrader::Json(_)));
    let is_json = deciding().any(parses);
    fits.then(|| match value {
        Value::String(text) if !is_json => OutputValue::Text(text),
        // As a target would write it.
        value => OutputValue::Text(value.to_string()),
    })
}

/// What a grader compares with; `is_only` says that no other grader decides.
fn literal(grader: &Grader, is_only: bool) -> Option<Value> {
    let GraderKind::Code(code) = &grader.kind else {
        return None;
    };
    if grader.negate {
        return None;
    }
    match code {
        CodeGrader::ExactMatch(exact) => exact.any_of.first().cloned(),
        CodeGrader::Json(json) => json.any_of.first().cloned(),
        CodeGrader::Numeric(number) => number.any_of.first().cloned(),
        CodeGrader::StructuralMatch(options) => {
            Some(options.expected.clone()).filter(|value| !holds_matcher(value))
        }
        // A text that is only similar may be what the other graders want.
        CodeGrader::Similarity(similar) if is_only => {
            similar.references.first().cloned().map(Value::from)
        }
        _ => None,
    }
}
