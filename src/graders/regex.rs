//! The code grader `regex`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::output::{MethodVerdict, SmallOutput, as_text, compiled_size};
use super::patterns::PatternCache;
use super::settings::{CaseExpectation, incomplete, misfit};
use super::show::in_reason;
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, Span, SuiteDesk};
use crate::model::{Grade, OutputValue};
use crate::spec::ExpectedSpec;
use eval_match::{CompiledPattern, RegexFlags};

const METHOD: &str = "regex";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RegexFlag {
    Ignorecase,
    Multiline,
    Dotall,
    Verbose,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegexSpec {
    /// The pattern, when `expected.value` does not hold it.
    pub pattern: Option<String>,
    #[serde(default)]
    pub flags: Vec<RegexFlag>,
    /// `false`: the pattern must not match. Default true.
    pub must_match: Option<bool>,
    /// Names (or numbers) of groups whose text the report shows.
    #[serde(default)]
    pub capture_groups: Vec<String>,
}

/// One of these patterns matches the output, or none may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegexMatch {
    /// One must match (or, with `must_match: false`, none may).
    pub patterns: Vec<String>,
    pub flags: RegexFlags,
    pub must_match: bool,
    /// Groups whose text goes into the details; a name, or the group's number.
    pub capture_groups: Vec<String>,
}

impl MethodSettings for RegexSpec {
    const OWN_KEYS: &'static [&'static str] = &["pattern", "must_match"];
    const EXPECTATION: Option<&'static str> = Some("pattern");

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        let mut patterns: Vec<(String, Span)> = Vec::new();
        if let Some(pattern) = &self.pattern {
            patterns.push((pattern.clone(), node.locate("/pattern")));
        }
        if let Some(e) = case.expected {
            match e.spec {
                ExpectedSpec::Pattern(p) => {
                    let values = std::iter::once(&p.value).chain(&p.alternatives);
                    if self.pattern.as_ref().is_some_and(|own| *own != p.value) {
                        let at = node.key_span("/pattern");
                        let message = "the grader's `pattern` and the case's expectation are two different patterns";
                        return desk.refuse(
                            Problem::error(Code::GraderConflict, at, message)
                                .related(e.span, "the other one"),
                        );
                    }
                    patterns = values.map(|v| (v.clone(), e.span)).collect();
                }
                _ if patterns.is_empty() => {
                    return desk.refuse(misfit(METHOD, e));
                }
                _ => {}
            }
        }
        if patterns.is_empty() {
            return desk.refuse(incomplete(
                node.span,
                "`regex` has no pattern",
                "add `pattern:` to the grader's `config`",
            ));
        }
        let must_match = self.must_match.unwrap_or(true);
        let flags = regex_flags(&self.flags);
        let mut whole = true;
        for (pattern, at) in &patterns {
            whole &= check_pattern(
                desk,
                pattern,
                flags,
                &self.capture_groups,
                *at,
                node.locate("/capture_groups"),
            );
            if pattern.is_empty() {
                let what = if must_match {
                    "matches every output"
                } else {
                    "matches every output, so none can pass"
                };
                desk.push(incomplete(
                    *at,
                    &format!("the empty pattern {what}"),
                    "write the pattern that is meant",
                ));
                whole = false;
            }
        }
        if !must_match && !self.capture_groups.is_empty() {
            let at = node.key_span("/capture_groups");
            let message = "`capture_groups` never hold anything under `must_match: false`";
            desk.push(Problem::warning(Code::GraderConflict, at, message));
        }
        let patterns = patterns.into_iter().map(|(p, _)| p).collect();
        whole.then(|| {
            vec![CodeGrader::Regex(RegexMatch {
                patterns,
                flags,
                must_match,
                capture_groups: self.capture_groups.clone(),
            })]
        })
    }
}

/// Compiles a pattern and looks for its groups.
pub(crate) fn check_pattern(
    desk: &mut SuiteDesk,
    pattern: &str,
    flags: RegexFlags,
    groups: &[String],
    at: Span,
    groups_at: Span,
) -> bool {
    let compiled = match CompiledPattern::compile(pattern, flags) {
        Ok(compiled) => compiled,
        Err(error) => {
            desk.push(Problem::error(
                Code::BadRegex,
                at,
                format!("not a regular expression: {error}"),
            ));
            return false;
        }
    };
    let mut whole = true;
    for group in groups.iter().filter(|g| !compiled.has_group(g)) {
        let names = compiled.group_names();
        let hint = match (names.as_slice(), compiled.group_count()) {
            ([], 0) => format!("the pattern has no groups; name one by `(?P<{group}>...)`"),
            ([], n) => {
                format!(
                    "the pattern's {n} group(s) have no names; use a number, or `(?P<{group}>...)`"
                )
            }
            (names, _) => format!("the pattern's groups are {}", names.join(", ")),
        };
        let message = format!("the pattern has no group `{group}`");
        desk.push(Problem::error(Code::BadCaptureGroup, groups_at, message).hint(hint));
        whole = false;
    }
    whole
}

/// Regular-expression flags as the matchers want them.
pub(crate) fn regex_flags(flags: &[RegexFlag]) -> RegexFlags {
    RegexFlags {
        ignorecase: flags.contains(&RegexFlag::Ignorecase),
        multiline: flags.contains(&RegexFlag::Multiline),
        dotall: flags.contains(&RegexFlag::Dotall),
        verbose: flags.contains(&RegexFlag::Verbose),
    }
}

impl OutputCheck for RegexMatch {
    fn grade(&self, value: &OutputValue, patterns: &PatternCache) -> Grade {
        self.find(value, patterns).grade(METHOD, None, value)
    }

    fn is_quick(&self, output: &SmallOutput, patterns: &PatternCache) -> bool {
        let sizes = self.patterns.iter();
        output.is_searched_by(
            sizes
                .map(|source| compiled_size(source, self.flags, patterns))
                .sum(),
        )
    }
}

impl RegexMatch {
    fn find(&self, value: &OutputValue, patterns: &PatternCache) -> MethodVerdict {
        let output = as_text(value);
        for source in &self.patterns {
            let pattern = match patterns.get(source, self.flags) {
                Ok(pattern) => pattern,
                Err(why) => return MethodVerdict::Broken(why),
            };
            let hit = match pattern.search(&output) {
                Ok(hit) => hit,
                Err(error) => {
                    return MethodVerdict::Broken(format!(
                        "the pattern `{source}` gave up: {error}"
                    ));
                }
            };
            let Some(hit) = hit else { continue };
            if !self.must_match {
                return MethodVerdict::failed(format!(
                    "`{source}` matches {:?}, which nothing may match",
                    in_reason(hit.text())
                ));
            }
            let mut details = Map::new();
            for group in &self.capture_groups {
                let text = hit
                    .group(group)
                    .map_or(Value::Null, |text| Value::String(in_reason(text)));
                details.insert(group.clone(), text);
            }
            let captured = Map::from_iter([("groups".to_owned(), Value::Object(details))]);
            return if self.capture_groups.is_empty() {
                MethodVerdict::passed()
            } else {
                MethodVerdict::Passed { details: captured }
            };
        }
        match (self.patterns.as_slice(), self.must_match) {
            ([], _) => MethodVerdict::Broken("regex has no pattern".to_owned()),
            (_, false) => MethodVerdict::passed(),
            ([one], true) => MethodVerdict::failed(format!("`{one}` does not match")),
            (all, true) => MethodVerdict::failed(format!("none of {} patterns matches", all.len())),
        }
    }
}
