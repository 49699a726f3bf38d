//! Comparison of JSON with a known-good value: `structural_match`, and the `comparison:` of
//! regressions.

use serde_json::Value;

use super::super::problem::{Code, Problem};
use super::super::scope::Desk;
use super::super::tree::{Node, NodeValue};
use super::code::{lacks, wanted};
use super::{Expected, numbers, vacuous};
use crate::model::{CodeGrader, Structural, Tolerance};
use crate::spec::{StructuralSpec, ToleranceSpec};
use eval_match::{holds_a_matcher_within, validate_matcher};

pub(super) fn resolve(
    desk: &mut Desk,
    spec: &StructuralSpec,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<CodeGrader> {
    let mut values = wanted(
        desk,
        "structural_match",
        spec.value.as_ref(),
        node,
        expected,
        baseline,
    )?
    .into_iter();
    let Some(value) = values.next() else {
        lacks(
            desk,
            node.span,
            "`structural_match` has no structure to compare with",
            "add `expected: {type: structural, value: ...}`",
        );
        return None;
    };
    if values.next().is_some() {
        let at = expected.map_or(node.span, |e| e.span);
        desk.push(Problem::error(
            Code::GraderConflict,
            at,
            "`structural_match` knows no `alternatives`",
        ));
        return None;
    }
    if let Some(own) = node.get("value") {
        check_matchers(desk, own);
    }
    for key in ["allow_additional_fields", "allow_field_reordering"] {
        if spec.strict && node.get(key).and_then(Node::as_bool) == Some(true) {
            let message = format!("`strict: true` and `{key}: true` contradict each other");
            desk.push(
                Problem::error(
                    Code::GraderConflict,
                    node.key_span(&format!("/{key}")),
                    message,
                )
                .related(node.key_span("/strict"), "`strict`"),
            );
            return None;
        }
    }
    let structural = Structural {
        expected: value,
        allow_additional_fields: spec.allow_additional_fields.unwrap_or(!spec.strict),
        allow_field_reordering: spec.allow_field_reordering.unwrap_or(false),
        ignore_fields: spec.ignore_fields.clone(),
        ignore_values: spec.ignore_values.clone(),
        require_keys: spec.require_keys.clone(),
        tolerance: spec
            .tolerance
            .iter()
            .map(|(path, t)| (path.clone(), tolerance(*t)))
            .collect(),
        likeness: None,
    };
    if !numbers::check_tolerances(desk, &structural, node.locate("/tolerance")) {
        return None;
    }
    vacuous::warn(desk, &structural, node.span);
    Some(CodeGrader::StructuralMatch(structural))
}

pub(super) fn tolerance(spec: ToleranceSpec) -> Tolerance {
    Tolerance {
        absolute: spec.absolute,
        relative: spec.relative,
        min_delta: spec.min_delta,
        max_delta: spec.max_delta,
    }
}

/// Refuses texts of a known-good value that look like matchers and are none.
pub(in crate::load) fn check_matchers(desk: &mut Desk, node: &Node) {
    match &node.value {
        NodeValue::Text(text) => match validate_matcher(text) {
            Some(Err(reason)) => desk.push(Problem::error(Code::BadMatcher, node.span, reason)),
            Some(Ok(())) => {}
            None if holds_a_matcher_within(text) => {
                let message = "a matcher must be the whole text";
                let hint = if validate_matcher(text.trim()).is_some() {
                    "drop the white space around it; for a text with a variable part use `{{any_regex(\"...\")}}`"
                } else {
                    "use `{{any_regex(\"...\")}}` for a text with a variable part, and `{{literal(\"...\")}}` for this very text"
                };
                desk.push(Problem::error(Code::BadMatcher, node.span, message).hint(hint));
            }
            None => {}
        },
        NodeValue::Seq(items) => items.iter().for_each(|item| check_matchers(desk, item)),
        NodeValue::Map(entries) => entries.iter().for_each(|(_, v)| check_matchers(desk, v)),
        _ => {}
    }
}
