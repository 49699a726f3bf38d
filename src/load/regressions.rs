//! Regressions: the baseline, how it is compared, and the grader that this makes.

use serde_json::Value;

use super::graders::{self, CaseBaseline, GradedCase, WrittenGraders, from_comparison};
use super::problem::{Code, Problem};
use super::scope::SuiteDesk;
use super::source::Span;
use super::tree::Node;
use crate::model::{CaseGrading, CodeGrader, Combine, Grader, GraderKind, GraderType};
use crate::spec::{CodeConfig, ComparisonSpec, ComparisonType, CurrentSpec, GraderSpec, NameOr};

/// The comparison, which may stand in the definition or under `current:`; both is an error.
pub(super) fn comparison<'a>(
    desk: &mut SuiteDesk,
    own: Option<&'a ComparisonSpec>,
    current: &'a CurrentSpec,
    node: &Node,
) -> Option<(&'a ComparisonSpec, Span)> {
    match (own, current.comparison.as_ref()) {
        (Some(own), Some(_)) => {
            let at = node.key_span("/current/comparison");
            desk.push(
                Problem::error(Code::BothSpellings, at, "`comparison` is set twice")
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
    desk: &mut SuiteDesk,
    mut written: WrittenGraders,
    comparison: Option<(&ComparisonSpec, Span)>,
    (baseline, graded): (Option<&Value>, GradedCase),
    at: Span,
) -> Option<CaseGrading> {
    let case = |baseline| GradedCase { baseline, ..graded };
    let needs_baseline = written.is_empty() || comparison.is_some();
    let Some(known) = baseline else {
        if needs_baseline {
            if desk.suite.lenient {
                let message = "there is no baseline to compare with";
                let hint = "write `baseline: {output: ...}`, or capture one with `eval-harness baseline capture`";
                desk.push(Problem::warning(Code::GraderIncomplete, at, message).hint(hint));
            }
            return Some(alone(CodeGrader::NoBaseline));
        }
        return graders::resolve(desk, &written, case(CaseBaseline::Missing), at);
    };
    let grader_type = desk.suite.grader_type;
    let has_default = grader_type.is_some_and(|t| desk.suite.shelf.defaults.contains_key(&t));
    // What has no grader of another type is reported if it is selected.
    let code_counts =
        grader_type.is_none_or(|t| t == GraderType::Code) || written.is_empty() && !has_default;
    if written.is_empty() && code_counts && (comparison.is_some() || !has_default) {
        let usual = ComparisonSpec::default();
        let (comparison, at) = comparison.unwrap_or((&usual, at));
        return from_comparison(desk, comparison, known, at).map(alone);
    }
    let Some((comparison, comparison_at)) = comparison.filter(|_| !written.is_empty()) else {
        return graders::resolve(desk, &written, case(CaseBaseline::Baseline(known)), at);
    };
    let taken = merge(desk, &mut written, comparison, comparison_at)?;
    let mut grading = graders::resolve(desk, &written, case(CaseBaseline::Baseline(known)), at)?;
    if !taken && code_counts {
        let own = alone(from_comparison(desk, comparison, known, comparison_at)?);
        if grading.combine != Combine::All {
            let message = "with `combine`, it is not defined how `comparison` counts";
            return desk.refuse(
                Problem::error(Code::GraderConflict, comparison_at, message)
                    .hint("write the comparison as one of the `graders:`"),
            );
        }
        grading.graders.extend(own.graders);
    }
    Some(grading)
}

/// Puts a comparison's settings into the graders beside it, which must mean the same. Whether one
/// of them does what the comparison asks for: what is alike in meaning a judge or a person may say,
/// whether a structure or a number is the same they may not.
fn merge(
    desk: &mut SuiteDesk,
    written: &mut WrittenGraders,
    comparison: &ComparisonSpec,
    at: Span,
) -> Option<bool> {
    use ComparisonType::{Exact, Numeric, Semantic, Structural};
    let mut taken = false;
    // Of tolerances, and paths that must exist, a judge knows nothing.
    let leaves_word = comparison.kind == Semantic && !has_settings(comparison);
    for (grader, node) in &mut written.graders {
        let spec = match grader {
            NameOr::Inline(spec) => spec,
            NameOr::Name(name) => {
                let named = desk.suite.shelf.graders.get(name);
                taken |= leaves_word && named.is_some_and(|named| decides(&named.spec));
                continue;
            }
        };
        let GraderSpec::Code(code) = spec else {
            taken |= leaves_word && decides(spec);
            continue;
        };
        match (&mut code.config, comparison.kind) {
            (CodeConfig::StructuralMatch(s), Structural | Exact | Numeric) => {
                *s = graders::merged(comparison, s);
            }
            (CodeConfig::ExactMatch(_), Exact)
            | (CodeConfig::Numeric(_), Numeric)
            | (CodeConfig::Similarity(_), Semantic)
                if !has_settings(comparison) => {}
            _ => return conflict(desk, at, node.span),
        }
        taken = true;
    }
    Some(taken)
}

/// Whether this is a judge, or a person, whose word counts.
fn decides(spec: &GraderSpec) -> bool {
    match spec {
        GraderSpec::Code(_) => false,
        GraderSpec::Model(model) => !model.informative,
        GraderSpec::Human(human) => !human.is_informative(),
    }
}

fn has_settings(comparison: &ComparisonSpec) -> bool {
    let ComparisonSpec {
        kind: _,
        tolerance,
        ignore_fields,
        ignore_values,
        require_keys,
        options,
    } = comparison;
    let paths = [ignore_fields, ignore_values, require_keys];
    tolerance.is_some() || options.is_some() || paths.iter().any(|paths| !paths.is_empty())
}

fn conflict<T>(desk: &mut SuiteDesk, at: Span, other: Span) -> Option<T> {
    let message = "`comparison` and `grader` define two different ways to compare";
    desk.refuse(
        Problem::error(Code::GraderConflict, at, message)
            .hint("keep one of them")
            .related(other, "the grader"),
    )
}

fn alone(grader: CodeGrader) -> CaseGrading {
    let kind = GraderKind::Code(grader);
    let grader = Grader {
        inferred: true,
        ..Grader::of(kind)
    };
    CaseGrading {
        python: None,
        graders: vec![grader],
        combine: Combine::All,
        demands: None,
    }
}
