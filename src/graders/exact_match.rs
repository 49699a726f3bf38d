//! The code grader `exact_match`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::output::{MethodVerdict, SmallOutput, among, as_json, as_text, equal, one_of};
use super::patterns::PatternCache;
use super::settings::{CaseExpectation, incomplete, wanted};
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, SuiteDesk};
use crate::model::{Grade, OutputValue};
use eval_match::{MatchResult, StructuralOptions, holds_matcher, text};

const METHOD: &str = "exact_match";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExactMatchSpec {
    /// The expected value, when the case has no `expected`.
    pub value: Option<Value>,
    /// Default true.
    pub case_sensitive: Option<bool>,
    /// Default true.
    pub trim_whitespace: Option<bool>,
    /// Default true.
    pub normalize_newlines: Option<bool>,
}

/// The output equals one of these values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExactMatch {
    /// The expected value and its alternatives; one must match. Texts are compared as texts
    /// after the steps below; when both sides are JSON values that are not texts, by value.
    pub any_of: Vec<Value>,
    pub case_sensitive: bool,
    pub trim_whitespace: bool,
    pub normalize_newlines: bool,
}

impl MethodSettings for ExactMatchSpec {
    const EXPECTATION: Option<&'static str> = Some("exact");

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        if let (None, None, Some(known)) = (&self.value, case.expected, case.baseline)
            && holds_matcher(known)
        {
            let levels = [
                self.case_sensitive,
                self.trim_whitespace,
                self.normalize_newlines,
            ];
            if levels.contains(&Some(false)) {
                let message =
                    "the baseline holds matchers, beside which texts are compared as they are";
                let hint = "drop `case_sensitive`, `trim_whitespace` and `normalize_newlines`";
                return desk
                    .refuse(Problem::error(Code::GraderConflict, node.span, message).hint(hint));
            }
            let structural = StructuralOptions::as_it_stands(known.clone());
            return Some(vec![CodeGrader::StructuralMatch(structural)]);
        }
        let any_of = wanted(desk, METHOD, self.value.as_ref(), node, case)?;
        if any_of.is_empty() {
            return desk.refuse(incomplete(
                node.span,
                "`exact_match` has no value to compare with",
                "add `expected: {type: exact, value: ...}`",
            ));
        }
        Some(vec![CodeGrader::ExactMatch(ExactMatch {
            any_of,
            case_sensitive: self.case_sensitive.unwrap_or(true),
            trim_whitespace: self.trim_whitespace.unwrap_or(true),
            normalize_newlines: self.normalize_newlines.unwrap_or(true),
        })])
    }

    fn needs_expectation(&self) -> bool {
        self.value.is_none()
    }
}

impl OutputCheck for ExactMatch {
    fn grade(&self, value: &OutputValue, _patterns: &PatternCache) -> Grade {
        self.find(value).grade(METHOD, one_of(&self.any_of), value)
    }

    fn is_quick(&self, output: &SmallOutput, _patterns: &PatternCache) -> bool {
        let is_text = |value: &Value| !value.is_array() && !value.is_object();
        let by_value = match output.value {
            OutputValue::Json(value) => !value.is_string(),
            OutputValue::Text(_) | OutputValue::Program(_) => false,
        };
        output.compares(self.any_of.len())
            && (!by_value && self.any_of.iter().all(is_text) || output.compares_json(&self.any_of))
    }
}

impl ExactMatch {
    fn find(&self, value: &OutputValue) -> MethodVerdict {
        let options = text::TextOptions {
            trim_whitespace: self.trim_whitespace,
            normalize_newlines: self.normalize_newlines,
            case_sensitive: self.case_sensitive,
        };
        if self.any_of.is_empty() {
            return MethodVerdict::Broken("exact_match has no expected value".to_owned());
        }
        let mut first = None;
        for expected in &self.any_of {
            let comparison = match compare(expected, value, options) {
                Ok(comparison) if comparison.matched => return MethodVerdict::passed(),
                Ok(comparison) => comparison,
                Err(why) => return MethodVerdict::Broken(why),
            };
            first.get_or_insert(comparison.reason);
        }
        MethodVerdict::failed(among(self.any_of.len(), first.unwrap_or_default()))
    }
}

fn compare(
    expected: &Value,
    value: &OutputValue,
    options: text::TextOptions,
) -> Result<MatchResult, String> {
    let by_value = match (expected, value) {
        (Value::String(_), _) | (_, OutputValue::Json(Value::String(_))) => None,
        (_, OutputValue::Json(actual)) => Some(actual.clone()),
        // A text that is to equal an object or array is read as JSON: no two programs space them
        // alike.
        (Value::Object(_) | Value::Array(_), _) => as_json(value).ok(),
        _ => None,
    };
    match (by_value, expected) {
        (Some(actual), _) => equal(expected, &actual),
        (None, Value::String(expected)) => Ok(text::exact(&as_text(value), expected, options)),
        (None, expected) => Ok(text::exact(&as_text(value), &expected.to_string(), options)),
    }
}
