//! The code grader `structural_match`: comparison of JSON with a known-good value.

mod numbers;
mod vacuous;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::output::{MethodVerdict, SmallOutput, as_json, differences_word, not_json};
use super::patterns::PatternCache;
use super::settings::{CaseExpectation, incomplete, tolerance, wanted};
use super::show::bounded;
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, NodeValue, Problem, SuiteDesk};
use crate::model::limits;
use crate::model::{Grade, OutputValue};
use crate::spec::ToleranceSpec;
use eval_match::{
    StructuralOptions, holds_a_matcher_within, is_matcher, structural, text, validate_matcher,
};

pub(crate) use numbers::{check_tolerances, only_numbers};
pub(crate) use vacuous::warn_of_vacuous;

const METHOD: &str = "structural_match";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StructuralSpec {
    /// The expected structure, if neither the case nor a baseline has one.
    pub value: Option<Value>,
    /// `true` forbids additional fields and reordered arrays. Default false.
    #[serde(default)]
    pub strict: bool,
    /// Whether the output may have additional fields. Default: the opposite of `strict`.
    pub allow_additional_fields: Option<bool>,
    /// Whether arrays may be in any order. Default false.
    pub allow_field_reordering: Option<bool>,
    /// Paths to ignore; they may be absent.
    #[serde(default)]
    pub ignore_fields: Vec<String>,
    /// Paths that must exist, with any value.
    #[serde(default)]
    pub ignore_values: Vec<String>,
    /// Paths that must exist.
    #[serde(default)]
    pub require_keys: Vec<String>,
    /// Allowed deviation of numbers, by path.
    #[serde(default)]
    pub tolerance: BTreeMap<String, ToleranceSpec>,
}

impl StructuralSpec {
    /// The settings with the structure that is compared with.
    pub(crate) fn against(&self, expected: Value) -> StructuralOptions {
        StructuralOptions {
            expected,
            allow_additional_fields: self.allow_additional_fields.unwrap_or(!self.strict),
            allow_field_reordering: self.allow_field_reordering.unwrap_or(false),
            ignore_fields: self.ignore_fields.clone(),
            ignore_values: self.ignore_values.clone(),
            require_keys: self.require_keys.clone(),
            tolerance: self
                .tolerance
                .iter()
                .map(|(path, t)| (path.clone(), tolerance(*t)))
                .collect(),
            likeness: None,
        }
    }
}

impl MethodSettings for StructuralSpec {
    const EXPECTATION: Option<&'static str> = Some("structural");

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        let mut values = wanted(desk, METHOD, self.value.as_ref(), node, case)?.into_iter();
        let Some(value) = values.next() else {
            return desk.refuse(incomplete(
                node.span,
                "`structural_match` has no structure to compare with",
                "add `expected: {type: structural, value: ...}`",
            ));
        };
        if values.next().is_some() {
            let at = case.span_or(node);
            return desk.refuse(Problem::error(
                Code::GraderConflict,
                at,
                "`structural_match` does not support `alternatives`",
            ));
        }
        if let Some(own) = node.get("value") {
            check_matchers(desk, own);
        }
        for key in ["allow_additional_fields", "allow_field_reordering"] {
            if self.strict && node.get(key).and_then(Node::as_bool) == Some(true) {
                let message = format!("`strict: true` and `{key}: true` contradict each other");
                return desk.refuse(
                    Problem::error(
                        Code::GraderConflict,
                        node.key_span(&format!("/{key}")),
                        message,
                    )
                    .related(node.key_span("/strict"), "`strict`"),
                );
            }
        }
        let structural = self.against(value);
        if !check_tolerances(desk, &structural, node.locate("/tolerance")) {
            return None;
        }
        warn_of_vacuous(desk, &structural, node.span);
        Some(vec![CodeGrader::StructuralMatch(structural)])
    }

    fn needs_expectation(&self) -> bool {
        self.value.is_none()
    }
}

/// Refuses texts of a known-good value that look like matchers and are none.
pub(crate) fn check_matchers(desk: &mut SuiteDesk, node: &Node) {
    match &node.value {
        NodeValue::Text(text) => match validate_matcher(text) {
            Some(Err(reason)) => desk.push(Problem::error(Code::BadMatcher, node.span, reason)),
            Some(Ok(())) => {}
            None if holds_a_matcher_within(text) => {
                let message = "a matcher must be the whole text";
                let hint = if validate_matcher(text.trim()).is_some() {
                    "remove the whitespace around it; for a text with a variable part use `{{any_regex(\"...\")}}`"
                } else {
                    "use `{{any_regex(\"...\")}}` for a text with a variable part, and `{{literal(\"...\")}}` for exactly \
                     this text"
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

impl OutputCheck for StructuralOptions {
    fn grade(&self, value: &OutputValue, _patterns: &PatternCache) -> Grade {
        let expected = match &self.expected {
            text @ Value::String(_) => eval_match::without_literals(text),
            large => bounded(large),
        };
        structure(self, value).grade(METHOD, Some(expected), value)
    }

    fn is_quick(&self, output: &SmallOutput, _patterns: &PatternCache) -> bool {
        match (&self.expected, output.value) {
            (_, OutputValue::Json(value)) if !value.is_string() => false,
            (Value::String(wanted), _) => !is_matcher(wanted),
            _ => false,
        }
    }
}

/// A baseline that is a text is compared with the output as a text, any other with the output as
/// JSON.
fn structure(rule: &StructuralOptions, value: &OutputValue) -> MethodVerdict {
    if let Value::String(wanted) = &rule.expected
        && let Some(judged) = text_structure(rule, wanted, value)
    {
        return judged;
    }
    let parsed;
    let actual = match value {
        OutputValue::Json(actual) => actual,
        other => match as_json(other) {
            Ok(actual) => {
                parsed = actual;
                &parsed
            }
            Err(error) => return not_json(value, &error),
        },
    };
    structural_verdict(rule, structural::compare(rule, actual))
}

/// `None` where the output has to be read as JSON after all.
fn text_structure(
    rule: &StructuralOptions,
    wanted: &str,
    value: &OutputValue,
) -> Option<MethodVerdict> {
    let text = match value {
        OutputValue::Text(text)
        | OutputValue::Program(text)
        | OutputValue::Json(Value::String(text)) => text,
        OutputValue::Json(_) => return None,
    };
    let options = text::TextOptions::default();
    if is_matcher(wanted) {
        let levelled = Value::String(options.apply(text).into_owned());
        let result = structural::compare(rule, &levelled);
        // In a text a number can only be written out.
        let written_out =
            matches!(value, OutputValue::Text(_)) && !result.matched && as_json(value).is_ok();
        return (!written_out).then(|| structural_verdict(rule, result));
    }
    let meant = eval_match::literal_text(wanted);
    let comparison = text::exact(text, meant.as_deref().unwrap_or(wanted), options);
    Some(if comparison.matched {
        MethodVerdict::passed()
    } else {
        MethodVerdict::failed(comparison.reason)
    })
}

fn structural_verdict(
    rule: &StructuralOptions,
    result: structural::StructuralResult,
) -> MethodVerdict {
    let mut details = Map::new();
    if !result.warnings.is_empty() {
        details.insert(
            "warnings".to_owned(),
            json!(
                result
                    .warnings
                    .iter()
                    .take(limits::GRADE_ENTRIES)
                    .collect::<Vec<_>>()
            ),
        );
    }
    if let Some(likeness) = rule.likeness {
        let lowest = result.lowest_likeness.unwrap_or(1.0);
        details.insert(
            "similarity".to_owned(),
            json!({"metric": likeness.measure, "threshold": likeness.threshold, "lowest": lowest}),
        );
    }
    if result.matched {
        return MethodVerdict::Passed { details };
    }
    if let Some(why) = result.undecided {
        return MethodVerdict::Broken(why);
    }
    let listed: Vec<Value> = result
        .differences
        .iter()
        .take(limits::GRADE_PLACES)
        .map(|d| json!({"path": d.path, "kind": d.kind.name(), "expected": d.expected, "actual": d.actual}))
        .collect();
    details.insert("differences".to_owned(), Value::Array(listed));
    details.insert("difference_count".to_owned(), json!(result.total));
    let reason = match result.differences.as_slice() {
        [] => "the output differs from the baseline".to_owned(),
        [one] => one.to_string(),
        [first, ..] => format!(
            "{first}; and {} more",
            differences_word(result.total.saturating_sub(1))
        ),
    };
    MethodVerdict::Failed {
        reason,
        score: result.score.min(1.0 - f64::EPSILON),
        details,
    }
}
