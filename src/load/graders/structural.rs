//! Comparison of JSON with a known-good value: `structural_match`, and the `comparison:` of regressions.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::problem::{Code, Problem};
use super::super::scope::Desk;
use super::super::source::Span;
use super::super::tree::{Node, NodeValue};
use super::Expected;
use super::code::{lacks, wanted};
use crate::matching::{holds_a_matcher_within, validate_matcher};
use crate::model::{CodeGrader, Structural, Tolerance};
use crate::spec::{ComparisonSpec, ComparisonType, StructuralSpec, ToleranceSpec};

pub(super) fn resolve(
    desk: &mut Desk,
    spec: &StructuralSpec,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<CodeGrader> {
    let mut values =
        wanted(desk, "structural_match", spec.value.as_ref(), node, expected, baseline)?.into_iter();
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
        desk.push(Problem::error(Code::GraderConflict, at, "`structural_match` knows no `alternatives`"));
        return None;
    }
    if let Some(own) = node.get("value") {
        check_matchers(desk, own);
    }
    for key in ["allow_additional_fields", "allow_field_reordering"] {
        if spec.strict && node.get(key).and_then(Node::as_bool) == Some(true) {
            let message = format!("`strict: true` and `{key}: true` contradict each other");
            desk.push(
                Problem::error(Code::GraderConflict, node.key_span(&format!("/{key}")), message)
                    .related(node.key_span("/strict"), "`strict`"),
            );
            return None;
        }
    }
    Some(CodeGrader::StructuralMatch(Structural {
        expected: value,
        allow_additional_fields: spec.allow_additional_fields.unwrap_or(!spec.strict),
        allow_field_reordering: spec.allow_field_reordering.unwrap_or(false),
        ignore_fields: spec.ignore_fields.clone(),
        ignore_values: spec.ignore_values.clone(),
        require_keys: spec.require_keys.clone(),
        tolerance: spec.tolerance.iter().map(|(path, t)| (path.clone(), tolerance(*t))).collect(),
    }))
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
        NodeValue::Text(text) => {
            match validate_matcher(text) {
                Some(Err(reason)) => desk.push(Problem::error(Code::BadMatcher, node.span, reason).hint(
                    "a text that is to mean itself is written `{{literal(\"...\")}}`, with a JSON string",
                )),
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
            }
        }
        NodeValue::Seq(items) => items.iter().for_each(|item| check_matchers(desk, item)),
        NodeValue::Map(entries) => entries.iter().for_each(|(_, v)| check_matchers(desk, v)),
        _ => {}
    }
}

/// The code grader that a `comparison:` means; `None` for `semantic`, which needs a judge.
pub(in crate::load) fn from_comparison(
    desk: &mut Desk,
    comparison: &ComparisonSpec,
    baseline: &Value,
    at: Span,
) -> Option<CodeGrader> {
    let options = comparison.options.clone().unwrap_or_default();
    let allowed = comparison.tolerance.clone().unwrap_or_default();
    let join = |a: &[String], b: &[String]| a.iter().chain(b).cloned().collect::<Vec<_>>();
    let exact = comparison.kind == ComparisonType::Exact;
    let strict = options.strict.unwrap_or(exact);
    let mut structural = Structural {
        expected: baseline.clone(),
        allow_additional_fields: allowed
            .allow_additional_fields
            .or(options.allow_additional_fields)
            .unwrap_or(!strict),
        allow_field_reordering: allowed
            .allow_field_reordering
            .or(options.allow_field_reordering)
            .unwrap_or(false),
        ignore_fields: join(&comparison.ignore_fields, &options.ignore_fields),
        ignore_values: join(&comparison.ignore_values, &options.ignore_values),
        require_keys: join(&comparison.require_keys, &options.require_keys),
        tolerance: allowed.by_path.iter().map(|(path, t)| (path.clone(), tolerance(*t))).collect(),
    };
    match comparison.kind {
        ComparisonType::Structural => Some(CodeGrader::StructuralMatch(structural)),
        ComparisonType::Exact if baseline.is_object() || baseline.is_array() => {
            Some(CodeGrader::StructuralMatch(structural))
        }
        ComparisonType::Exact => Some(CodeGrader::ExactMatch {
            any_of: vec![baseline.clone()],
            case_sensitive: true,
            trim_whitespace: true,
            normalize_newlines: true,
        }),
        ComparisonType::Numeric => {
            numbers_only(&mut structural);
            if structural.expected.is_null() {
                let message = "`comparison: numeric` finds no number in the baseline where it looks";
                desk.push(Problem::error(Code::GraderIncomplete, at, message));
                return None;
            }
            Some(CodeGrader::StructuralMatch(structural))
        }
        ComparisonType::Semantic => None,
    }
}

/// Leaves in the expectation only its numbers: those that tolerances name, or all of them when none is named.
fn numbers_only(structural: &mut Structural) {
    let paths: Vec<crate::matching::paths::PathPattern> =
        structural.tolerance.keys().map(|p| crate::matching::paths::PathPattern::parse(p)).collect();
    let mut kept = Kept { paths, ignored: Vec::new() };
    let expected = kept.numbers(&structural.expected, &mut Vec::new());
    structural.expected = expected.unwrap_or(Value::Null);
    structural.allow_additional_fields = true;
    structural.ignore_fields.append(&mut kept.ignored);
}

struct Kept {
    paths: Vec<crate::matching::paths::PathPattern>,
    /// Elements of arrays that are no numbers: they can't be dropped without moving the others.
    ignored: Vec<String>,
}

impl Kept {
    fn wanted(&self, place: &[String]) -> bool {
        let fits = |step: &crate::matching::paths::Step, key: &String| match step {
            crate::matching::paths::Step::Named(name) => name == key,
            crate::matching::paths::Step::Any => true,
        };
        self.paths.is_empty()
            || self
                .paths
                .iter()
                .any(|p| p.0.len() <= place.len() && p.0.iter().zip(place).all(|(step, key)| fits(step, key)))
    }

    fn numbers(&mut self, value: &Value, place: &mut Vec<String>) -> Option<Value> {
        match value {
            Value::Number(_) => self.wanted(place).then(|| value.clone()),
            Value::Object(map) => {
                let mut kept = Map::new();
                for (key, inner) in map {
                    place.push(key.clone());
                    if let Some(number) = self.numbers(inner, place) {
                        kept.insert(key.clone(), number);
                    }
                    place.pop();
                }
                (!kept.is_empty()).then_some(Value::Object(kept))
            }
            Value::Array(items) => {
                let before = self.ignored.len();
                let mut any = false;
                let mut kept = Vec::new();
                for (i, inner) in items.iter().enumerate() {
                    place.push(i.to_string());
                    match self.numbers(inner, place) {
                        Some(number) => {
                            any = true;
                            kept.push(number);
                        }
                        None => {
                            self.ignored.push(place.join("."));
                            kept.push(inner.clone());
                        }
                    }
                    place.pop();
                }
                if !any {
                    self.ignored.truncate(before);
                }
                any.then_some(Value::Array(kept))
            }
            _ => None,
        }
    }
}

/// The settings of a `structural_match` grader and of a `comparison:` beside it, as one.
pub(in crate::load) fn merged(comparison: &ComparisonSpec, spec: &StructuralSpec) -> StructuralSpec {
    let options = comparison.options.clone().unwrap_or_default();
    let allowed = comparison.tolerance.clone().unwrap_or_default();
    let mut all = spec.clone();
    let add = |into: &mut Vec<String>, from: [&[String]; 2]| into.extend(from.concat());
    add(&mut all.ignore_fields, [&comparison.ignore_fields, &options.ignore_fields]);
    add(&mut all.ignore_values, [&comparison.ignore_values, &options.ignore_values]);
    add(&mut all.require_keys, [&comparison.require_keys, &options.require_keys]);
    all.allow_additional_fields =
        all.allow_additional_fields.or(allowed.allow_additional_fields).or(options.allow_additional_fields);
    all.allow_field_reordering =
        all.allow_field_reordering.or(allowed.allow_field_reordering).or(options.allow_field_reordering);
    all.strict |= options.strict.unwrap_or(false);
    if comparison.kind == ComparisonType::Exact {
        all.allow_additional_fields = all.allow_additional_fields.or(Some(false));
    }
    let by_path: BTreeMap<String, ToleranceSpec> = allowed.by_path;
    for (path, tolerance) in by_path {
        all.tolerance.entry(path).or_insert(tolerance);
    }
    all
}
