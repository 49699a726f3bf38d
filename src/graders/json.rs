//! The code grader `json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::output::{MethodVerdict, SmallOutput, among, as_json, equal, not_json, one_of};
use super::patterns::PatternCache;
use super::settings::{CaseExpectation, wanted};
use super::show::in_reason;
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, SuiteDesk};
use crate::model::limits;
use crate::model::{Grade, OutputValue};
use crate::spec::ExpectedSpec;

const METHOD: &str = "json";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonSpec {
    /// The JSON that the output must equal, if the case has no `expected`.
    pub value: Option<Value>,
    /// A JSON Schema that the output must match.
    pub schema: Option<Value>,
}

/// The output is JSON: valid, equal to one of these values, or fitting a JSON Schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonMatch {
    /// The value that the output's JSON must equal, if any, and its alternatives.
    pub any_of: Vec<Value>,
    /// A JSON Schema that the output's JSON must match.
    pub schema: Option<Value>,
}

impl MethodSettings for JsonSpec {
    const EXPECTATION: Option<&'static str> = Some("json");

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        let any_of = wanted(desk, METHOD, self.value.as_ref(), node, case)?;
        let (of_case, case_at) = match case.expected.map(|e| (e.spec, e.span)) {
            Some((ExpectedSpec::Json(j), at)) => (j.schema.as_ref(), at),
            _ => (None, node.span),
        };
        let (schema, at) = match (&self.schema, of_case) {
            (Some(_), Some(_)) => {
                let message = "the grader and the case's expectation both set a `schema`";
                return desk.refuse(
                    Problem::error(Code::GraderConflict, node.key_span("/schema"), message)
                        .related(case_at, "the other one"),
                );
            }
            (Some(own), None) => (Some(own), node.locate("/schema")),
            (None, theirs) => (theirs, case_at),
        };
        if let Some(schema) = schema
            && let Err(error) = jsonschema::validator_for(schema)
        {
            let message = format!("not a valid JSON Schema: {error}");
            return desk.refuse(Problem::error(Code::BadSchema, at, message));
        }
        Some(vec![CodeGrader::Json(JsonMatch {
            any_of,
            schema: schema.cloned(),
        })])
    }

    fn needs_expectation(&self) -> bool {
        self.value.is_none() && self.schema.is_none()
    }
}

impl OutputCheck for JsonMatch {
    fn grade(&self, value: &OutputValue, patterns: &PatternCache) -> Grade {
        self.find(value, patterns)
            .grade(METHOD, one_of(&self.any_of), value)
    }

    fn is_quick(&self, output: &SmallOutput, _patterns: &PatternCache) -> bool {
        self.schema.is_none() && output.compares_json(&self.any_of)
    }
}

impl JsonMatch {
    fn find(&self, value: &OutputValue, patterns: &PatternCache) -> MethodVerdict {
        let actual = match as_json(value) {
            Ok(actual) => actual,
            Err(error) => return not_json(value, &error),
        };
        if let Some(schema) = &self.schema {
            let validator = match patterns.schema(schema) {
                Ok(validator) => validator,
                Err(why) => return MethodVerdict::Broken(why),
            };
            let errors: Vec<String> = validator
                .iter_errors(&actual)
                .take(limits::GRADE_ENTRIES)
                .map(|error| {
                    let place = error.instance_path().to_string();
                    format!(
                        "{}: {}",
                        if place.is_empty() { "(root)" } else { &place },
                        in_reason(&error.to_string())
                    )
                })
                .collect();
            if let Some(first) = errors.first() {
                let more = match errors.len() {
                    1 => String::new(),
                    limits::GRADE_ENTRIES => {
                        format!("; and at least {} more", limits::GRADE_ENTRIES - 1)
                    }
                    n => format!("; and {} more", n - 1),
                };
                let reason = format!("does not match the schema: {first}{more}");
                let details = Map::from_iter([("schema_errors".to_owned(), json!(errors))]);
                return MethodVerdict::failed_with(reason, details);
            }
        }
        let mut first = None;
        for expected in &self.any_of {
            match equal(expected, &actual) {
                Ok(comparison) if comparison.matched => return MethodVerdict::passed(),
                Ok(comparison) => first.get_or_insert(comparison.reason),
                Err(why) => return MethodVerdict::Broken(why),
            };
        }
        first.map_or(MethodVerdict::passed(), |reason| {
            MethodVerdict::failed(among(self.any_of.len(), reason))
        })
    }
}
