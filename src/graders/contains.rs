//! The code grader `contains`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::output::{MethodVerdict, SmallOutput, as_text};
use super::patterns::PatternCache;
use super::settings::{CaseExpectation, incomplete, misfit};
use super::show::in_reason;
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, Span, SuiteDesk};
use crate::model::limits;
use crate::model::{Grade, OutputValue};
use crate::spec::{ContainsValue, ExpectedSpec, OneOrMany};
use eval_match::text;

const METHOD: &str = "contains";

/// Texts that an output must contain, and texts that it must not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContainsSpec {
    /// Texts that the output must contain.
    #[serde(default)]
    pub must_include: OneOrMany<String>,
    /// Texts that the output must not contain.
    #[serde(default)]
    pub must_not_include: OneOrMany<String>,
    /// Whether case matters. Default true.
    pub case_sensitive: Option<bool>,
}

/// The output holds all of these texts and none of those.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContainsMatch {
    pub must_include: Vec<String>,
    pub must_not_include: Vec<String>,
    pub case_sensitive: bool,
}

impl MethodSettings for ContainsSpec {
    const EXPECTATION: Option<&'static str> = Some("contains");

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        let from_case: Vec<ContainsValue> = match case.expected.map(|e| (e, e.spec)) {
            None => Vec::new(),
            Some((_, ExpectedSpec::Contains(c))) => std::iter::once(&c.value)
                .chain(&c.alternatives)
                .cloned()
                .collect(),
            Some((e, ExpectedSpec::Exact(_) | ExpectedSpec::Semantic(_))) => {
                let read = |v: Value| serde_json::from_value::<ContainsValue>(v).ok();
                match e.values().into_iter().map(read).collect::<Option<Vec<_>>>() {
                    Some(values) => values,
                    None => {
                        return desk.refuse(misfit(METHOD, e));
                    }
                }
            }
            Some(_) if !self.must_include.0.is_empty() || !self.must_not_include.0.is_empty() => {
                Vec::new()
            }
            Some((e, _)) => {
                return desk.refuse(misfit(METHOD, e));
            }
        };
        let none = [ContainsValue(ContainsSpec::default())];
        let ways = if from_case.is_empty() {
            &none[..]
        } else {
            &from_case[..]
        };
        let at = case
            .expected
            .filter(|_| !from_case.is_empty())
            .map_or(node.span, |e| e.span);
        ways.iter()
            .map(|way| self.one(desk, &way.0, at).map(CodeGrader::Contains))
            .collect()
    }
}

impl ContainsSpec {
    /// The grader of these settings together with one of the alternatives of the case.
    fn one(&self, desk: &mut SuiteDesk, way: &ContainsSpec, at: Span) -> Option<ContainsMatch> {
        let join = |a: &[String], b: &[String]| {
            let mut all: Vec<String> = Vec::new();
            for text in a.iter().chain(b) {
                if !all.contains(text) {
                    all.push(text.clone());
                }
            }
            all
        };
        let must_include = join(&self.must_include.0, &way.must_include.0);
        let must_not_include = join(&self.must_not_include.0, &way.must_not_include.0);
        let case_sensitive = self.case_sensitive.or(way.case_sensitive).unwrap_or(true);
        let lists = [
            &self.must_include.0,
            &way.must_include.0,
            &self.must_not_include.0,
            &way.must_not_include.0,
        ];
        if lists.iter().any(|list| list.iter().any(String::is_empty)) {
            return desk.refuse(incomplete(
                at,
                "every output contains the empty text, so it tests nothing",
                "write the text to look for",
            ));
        }
        if must_include.is_empty() && must_not_include.is_empty() {
            return desk.refuse(incomplete(at,
                "`contains` has no text to look for",
                "add `must_include:` or `must_not_include:`, or `expected: {type: contains, value: [...]}`",
            ));
        }
        let fold = |t: &str| {
            if case_sensitive {
                t.to_owned()
            } else {
                t.to_lowercase()
            }
        };
        if let Some(both) = must_include
            .iter()
            .find(|t| must_not_include.iter().any(|n| fold(t).contains(&fold(n))))
        {
            let message =
                format!("no output can pass: {both:?} must be included, but a part of it must not");
            return desk.refuse(Problem::error(Code::GraderConflict, at, message));
        }
        Some(ContainsMatch {
            must_include,
            must_not_include,
            case_sensitive,
        })
    }
}

impl OutputCheck for ContainsMatch {
    fn grade(&self, value: &OutputValue, _patterns: &PatternCache) -> Grade {
        let parts = text::contains(
            &as_text(value),
            &self.must_include,
            &self.must_not_include,
            self.case_sensitive,
        );
        let finding = if parts.matched() {
            MethodVerdict::passed()
        } else {
            lacking(&parts)
        };
        finding.grade(METHOD, None, value)
    }

    fn is_quick(&self, output: &SmallOutput, _patterns: &PatternCache) -> bool {
        let texts = self.must_include.len();
        output.compares(texts.saturating_add(self.must_not_include.len()))
    }
}

/// The reason and the lists of a text's missing and forbidden parts.
fn lacking(parts: &text::PartMismatches) -> MethodVerdict {
    let mut details = Map::new();
    for (key, list) in [("missing", &parts.missing), ("forbidden", &parts.forbidden)] {
        if !list.is_empty() {
            let listed: Vec<String> = list
                .iter()
                .take(limits::GRADE_ENTRIES)
                .map(|t| in_reason(t))
                .collect();
            details.insert(key.to_owned(), json!(listed));
        }
    }
    MethodVerdict::failed_with(parts.reason(), details)
}
