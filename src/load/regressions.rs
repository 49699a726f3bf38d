//! Regressions: the baseline, how it is compared, and the grader that this makes.

use serde_json::Value;

use super::graders::{self, Known, Written, from_comparison};
use super::problem::{Code, Problem};
use super::scope::Desk;
use super::source::Span;
use super::tree::Node;
use crate::model::{CodeGrader, Combine, Grader, GraderKind, Grading};
use crate::spec::{CodeConfig, ComparisonSpec, ComparisonType, CurrentSpec, GraderSpec, NameOr};

/// The comparison, which may stand in the definition or under `current:`; both is an error.
pub(super) fn comparison<'a>(
    desk: &mut Desk,
    own: Option<&'a ComparisonSpec>,
    current: &'a CurrentSpec,
    node: &Node,
) -> Option<(&'a ComparisonSpec, Span)> {
    match (own, current.comparison.as_ref()) {
        (Some(own), Some(_)) => {
            let at = node.key_span("/current/comparison");
            desk.push(
                Problem::error(Code::BothSpellings, at, "`comparison` is given twice")
                    .related(node.key_span("/comparison"), "the other one"),
            );
            Some((own, node.locate("/comparison")))
        }
        (Some(own), None) => Some((own, node.locate("/comparison"))),
        (None, Some(inner)) => Some((inner, node.locate("/current/comparison"))),
        (None, None) => None,
    }
}

/// The grading of a regression from its comparison and its graders.
pub(super) fn grading(
    desk: &mut Desk,
    mut written: Written,
    comparison: Option<(&ComparisonSpec, Span)>,
    baseline: Option<&Value>,
    at: Span,
) -> Option<Grading> {
    let needs_baseline = written.is_empty() || comparison.is_some();
    let Some(known) = baseline else {
        if needs_baseline {
            if desk.suite.lenient {
                let message = "there is no baseline to compare with";
                let hint =
                    "write `baseline: {output: ...}`, or capture one with `eval-harness baseline capture`";
                desk.push(Problem::warning(Code::GraderIncomplete, at, message).hint(hint));
            }
            return Some(alone(CodeGrader::NoBaseline, true));
        }
        return graders::resolve(desk, &written, None, Known::Missing, at);
    };
    let Some((comparison, comparison_at)) = comparison else {
        if written.is_empty() && desk.suite.grader_type.is_none() {
            let usual = ComparisonSpec {
                kind: ComparisonType::Structural,
                tolerance: None,
                ignore_fields: Vec::new(),
                ignore_values: Vec::new(),
                require_keys: Vec::new(),
                options: None,
            };
            return from_comparison(desk, &usual, known, at).map(|g| alone(g, true));
        }
        return graders::resolve(desk, &written, None, Known::Baseline(known), at);
    };
    if written.is_empty() {
        if desk.suite.grader_type.is_some_and(|t| t != crate::model::GraderType::Code) {
            return graders::resolve(desk, &written, None, Known::Baseline(known), at);
        }
        return from_comparison(desk, comparison, known, comparison_at).map(|g| alone(g, true));
    }
    merge(desk, &mut written, comparison, comparison_at)?;
    graders::resolve(desk, &written, None, Known::Baseline(known), at)
}

/// Puts a comparison's settings into the graders beside it, which must mean the same.
fn merge(desk: &mut Desk, written: &mut Written, comparison: &ComparisonSpec, at: Span) -> Option<()> {
    for (grader, node) in &mut written.graders {
        let NameOr::Inline(spec) = grader else { continue };
        match (comparison.kind, spec) {
            (ComparisonType::Structural | ComparisonType::Exact, GraderSpec::Code(code)) => {
                match &mut code.config {
                    CodeConfig::StructuralMatch(s) => *s = graders::merged(comparison, s),
                    CodeConfig::ExactMatch(_) if comparison.kind == ComparisonType::Exact => {}
                    _ => return conflict(desk, at, node.span),
                }
            }
            (ComparisonType::Numeric, GraderSpec::Code(code)) => match &mut code.config {
                CodeConfig::StructuralMatch(s) => *s = graders::merged(comparison, s),
                CodeConfig::Numeric(_) => {}
                _ => return conflict(desk, at, node.span),
            },
            (ComparisonType::Semantic, GraderSpec::Code(code)) => match &code.config {
                CodeConfig::Similarity(_) => {}
                _ => return conflict(desk, at, node.span),
            },
            (_, GraderSpec::Model(_) | GraderSpec::Human(_)) => {}
        }
    }
    Some(())
}

fn conflict(desk: &mut Desk, at: Span, other: Span) -> Option<()> {
    let message = "`comparison` and `grader` say two different ways to compare";
    desk.push(
        Problem::error(Code::GraderConflict, at, message)
            .hint("keep one of them")
            .related(other, "the grader"),
    );
    None
}

fn alone(grader: CodeGrader, inferred: bool) -> Grading {
    let kind = GraderKind::Code(grader);
    let grader = Grader { inferred, ..Grader::of(kind) };
    Grading { graders: vec![grader], combine: Combine::All, demands: None }
}
