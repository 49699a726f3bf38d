//! The code grader `numeric`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::output::{MethodVerdict, SmallOutput, one_of};
use super::patterns::PatternCache;
use super::settings::{CaseExpectation, incomplete, wanted};
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, SuiteDesk};
use crate::model::{Grade, OutputValue};
use crate::spec::{ExpectedSpec, ToleranceSpec};
use eval_match::numeric;

const METHOD: &str = "numeric";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumericSpec {
    /// The expected number, when the case has no `expected`.
    pub value: Option<Value>,
    pub tolerance: Option<ToleranceSpec>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// The output is a number close to one of these, or within bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NumericMatch {
    /// The expected value and its alternatives.
    pub any_of: Vec<Value>,
    pub absolute: Option<f64>,
    pub relative: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

impl MethodSettings for NumericSpec {
    const EXPECTATION: Option<&'static str> = Some("numeric");

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        let any_of = wanted(desk, METHOD, self.value.as_ref(), node, case)?;
        let of_case = match case.expected.map(|e| e.spec) {
            Some(ExpectedSpec::Numeric(n)) => Some(n),
            _ => None,
        };
        let at = case.span_or(node);
        let tolerance = self
            .tolerance
            .or(of_case.and_then(|n| n.tolerance))
            .unwrap_or_default();
        let min = self.min.or(of_case.and_then(|n| n.min));
        let max = self.max.or(of_case.and_then(|n| n.max));
        if any_of.is_empty() && min.is_none() && max.is_none() {
            return desk.refuse(incomplete(
                at,
                "`numeric` has neither a value nor bounds",
                "add `value:`, or `min:` and `max:`",
            ));
        }
        if let Some(bad) = any_of.iter().find(|v| !is_number(v)) {
            let message = format!("`numeric` expects a number, and {bad} is none");
            return desk.refuse(Problem::error(Code::GraderIncomplete, at, message));
        }
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            return desk.refuse(Problem::error(
                Code::GraderConflict,
                at,
                format!("no number is between {min} and {max}"),
            ));
        }
        if tolerance.min_delta.is_some() || tolerance.max_delta.is_some() {
            let message = "`min_delta` and `max_delta` belong to comparisons with a baseline";
            return desk.refuse(
                Problem::error(Code::GraderConflict, at, message)
                    .hint("use `absolute`, `relative`, `min` or `max`"),
            );
        }
        if any_of.is_empty() && tolerance != ToleranceSpec::default() {
            desk.push(Problem::warning(
                Code::GraderConflict,
                at,
                "`tolerance` without a value does nothing",
            ));
        }
        Some(vec![CodeGrader::Numeric(NumericMatch {
            any_of,
            absolute: tolerance.absolute,
            relative: tolerance.relative,
            min,
            max,
        })])
    }

    fn needs_expectation(&self) -> bool {
        self.value.is_none() && self.min.is_none() && self.max.is_none()
    }
}

fn is_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => numeric::read(text).is_ok(),
        _ => false,
    }
}

impl OutputCheck for NumericMatch {
    fn grade(&self, value: &OutputValue, _patterns: &PatternCache) -> Grade {
        let rule = numeric::NumberRule {
            any_of: &self.any_of,
            absolute: self.absolute,
            relative: self.relative,
            min: self.min,
            max: self.max,
        };
        let compared = match value {
            OutputValue::Json(value) => numeric::compare_json(value, &rule),
            OutputValue::Text(text) | OutputValue::Program(text) => {
                numeric::compare_text(text, &rule)
            }
        };
        MethodVerdict::of(compared).grade(METHOD, one_of(&self.any_of), value)
    }

    fn is_quick(&self, output: &SmallOutput, _patterns: &PatternCache) -> bool {
        output.compares(self.any_of.len())
    }
}
