//! Code graders over texts and values: exact, contains, regex, numeric, json. The other methods
//! have files of their own.

use serde_json::Value;

use super::super::problem::{Code, Problem};
use super::super::scope::{Desk, seconds};
use super::super::source::Span;
use super::super::tree::Node;
use super::{Expected, execution, regex_flags, similarity, structural};
use crate::model::{CodeGrader, CommandGrader, CommandVerdict, Structural};
use crate::spec::{
    CodeConfig, CommandGraderSpec, ContainsSpec, ContainsValue, ExactMatchSpec, ExpectedSpec,
    JsonSpec, NumericSpec, RegexSpec, ToleranceSpec,
};
use eval_match::{Pattern, holds_matcher, numeric, without_literals};

/// The graders of one `config:`; several when `contains` has alternatives.
pub(super) fn resolve(
    desk: &mut Desk,
    config: &CodeConfig,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<Vec<CodeGrader>> {
    let one = |grader: Option<CodeGrader>| grader.map(|g| vec![g]);
    match config {
        CodeConfig::ExactMatch(spec) => one(exact(desk, spec, node, expected, baseline)),
        CodeConfig::Contains(spec) => contains(desk, spec, node, expected),
        CodeConfig::Regex(spec) => one(regex(desk, spec, node, expected)),
        CodeConfig::Numeric(spec) => one(numeric_grader(desk, spec, node, expected, baseline)),
        CodeConfig::Json(spec) => one(json(desk, spec, node, expected, baseline)),
        CodeConfig::StructuralMatch(spec) => {
            one(structural::resolve(desk, spec, node, expected, baseline))
        }
        CodeConfig::FunctionOutput(spec) => {
            one(execution::function_output(desk, spec, node, expected))
        }
        CodeConfig::CodeExecution(spec) => one(execution::code_execution(desk, spec, node)),
        CodeConfig::Similarity(spec) => {
            one(similarity::resolve(desk, spec, node, expected, baseline))
        }
        CodeConfig::Command(spec) => one(command(desk, spec, node, expected, baseline)),
    }
}

/// An error about an expectation that a method cannot read.
pub(super) fn misfit(method: &str, expected: Expected) -> Problem {
    let kind = expected.kind();
    let message = format!("`{method}` cannot grade an expectation of type `{kind}`");
    let problem = Problem::error(Code::GraderConflict, expected.span, message);
    match super::super::infer::method_of_expectation(kind) {
        Some(fitting) if fitting != method => problem.hint(format!(
            "`method: {fitting}` grades it, or change `expected.type`"
        )),
        _ => problem.hint("a judge (`type: model`) grades it"),
    }
}

pub(super) fn lacks(desk: &mut Desk, at: Span, message: &str, hint: &str) {
    desk.push(Problem::error(Code::GraderIncomplete, at, message).hint(hint));
}

/// The expected values: of the case, of the grader's `value`, or the baseline. Two that differ are
/// a conflict.
pub(super) fn wanted(
    desk: &mut Desk,
    method: &str,
    own: Option<&Value>,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<Vec<Value>> {
    let from_case = match expected {
        Some(e) => match e.spec {
            ExpectedSpec::Exact(_) | ExpectedSpec::Json(_) | ExpectedSpec::Numeric(_) => e.values(),
            ExpectedSpec::Structural(_) if method != "numeric" => e.values(),
            ExpectedSpec::Semantic(s) if own.is_none() && s.value.is_string() => e.values(),
            _ if own.is_some() => Vec::new(),
            _ => {
                desk.push(misfit(method, e));
                return None;
            }
        },
        // A structural comparison reads literals itself.
        None if method == "structural_match" => baseline.into_iter().cloned().collect(),
        None => baseline.into_iter().map(without_literals).collect(),
    };
    match (own, from_case.is_empty()) {
        (Some(own), true) => Some(vec![own.clone()]),
        (Some(own), false) if from_case.first() == Some(own) => Some(from_case),
        (Some(_), false) => {
            let at = node.key_span("/value");
            let message =
                "the grader's `value` and the case's expectation are two different answers";
            let problem = Problem::error(Code::GraderConflict, at, message);
            desk.push(match expected {
                Some(e) => problem.related(e.span, "the other one"),
                None => problem,
            });
            None
        }
        (None, _) => Some(from_case),
    }
}

fn exact(
    desk: &mut Desk,
    spec: &ExactMatchSpec,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<CodeGrader> {
    if let (None, None, Some(known)) = (&spec.value, expected, baseline)
        && holds_matcher(known)
    {
        let levels = [
            spec.case_sensitive,
            spec.trim_whitespace,
            spec.normalize_newlines,
        ];
        if levels.contains(&Some(false)) {
            let message =
                "the baseline holds matchers, beside which texts are compared as they are";
            let hint = "drop `case_sensitive`, `trim_whitespace` and `normalize_newlines`";
            desk.push(Problem::error(Code::GraderConflict, node.span, message).hint(hint));
            return None;
        }
        return Some(CodeGrader::StructuralMatch(Structural::as_it_stands(
            known.clone(),
        )));
    }
    let any_of = wanted(
        desk,
        "exact_match",
        spec.value.as_ref(),
        node,
        expected,
        baseline,
    )?;
    if any_of.is_empty() {
        lacks(
            desk,
            node.span,
            "`exact_match` has no value to compare with",
            "add `expected: {type: exact, value: ...}`",
        );
        return None;
    }
    Some(CodeGrader::ExactMatch {
        any_of,
        case_sensitive: spec.case_sensitive.unwrap_or(true),
        trim_whitespace: spec.trim_whitespace.unwrap_or(true),
        normalize_newlines: spec.normalize_newlines.unwrap_or(true),
    })
}

fn contains(
    desk: &mut Desk,
    spec: &ContainsSpec,
    node: &Node,
    expected: Option<Expected>,
) -> Option<Vec<CodeGrader>> {
    let from_case: Vec<ContainsValue> = match expected.map(|e| (e, e.spec)) {
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
                    desk.push(misfit("contains", e));
                    return None;
                }
            }
        }
        Some(_) if !spec.must_include.0.is_empty() || !spec.must_not_include.0.is_empty() => {
            Vec::new()
        }
        Some((e, _)) => {
            desk.push(misfit("contains", e));
            return None;
        }
    };
    let none = [ContainsValue(ContainsSpec::default())];
    let ways = if from_case.is_empty() {
        &none[..]
    } else {
        &from_case[..]
    };
    let at = expected
        .filter(|_| !from_case.is_empty())
        .map_or(node.span, |e| e.span);
    ways.iter()
        .map(|way| one_contains(desk, spec, &way.0, at))
        .collect()
}

fn one_contains(
    desk: &mut Desk,
    own: &ContainsSpec,
    way: &ContainsSpec,
    at: Span,
) -> Option<CodeGrader> {
    let join = |a: &[String], b: &[String]| {
        let mut all: Vec<String> = Vec::new();
        a.iter()
            .chain(b)
            .filter(|t| !t.is_empty() || all_empty(a, b))
            .for_each(|t| {
                if !all.contains(t) {
                    all.push(t.clone());
                }
            });
        all
    };
    let must_include = join(&own.must_include.0, &way.must_include.0);
    let must_not_include = join(&own.must_not_include.0, &way.must_not_include.0);
    let case_sensitive = own.case_sensitive.or(way.case_sensitive).unwrap_or(true);
    let lists = [
        &own.must_include.0,
        &way.must_include.0,
        &own.must_not_include.0,
        &way.must_not_include.0,
    ];
    if lists.iter().any(|list| list.iter().any(String::is_empty)) {
        lacks(
            desk,
            at,
            "an empty text is in every output, so it tests nothing",
            "write the text that is meant",
        );
        return None;
    }
    if must_include.is_empty() && must_not_include.is_empty() {
        lacks(
            desk,
            at,
            "`contains` has no text to look for",
            "add `must_include:` or `must_not_include:`, or `expected: {type: contains, value: [...]}`",
        );
        return None;
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
            format!("no output can pass: {both:?} must be included, and what it holds must not");
        desk.push(Problem::error(Code::GraderConflict, at, message));
        return None;
    }
    Some(CodeGrader::Contains {
        must_include,
        must_not_include,
        case_sensitive,
    })
}

fn all_empty(a: &[String], b: &[String]) -> bool {
    a.iter().chain(b).all(String::is_empty)
}

fn regex(
    desk: &mut Desk,
    spec: &RegexSpec,
    node: &Node,
    expected: Option<Expected>,
) -> Option<CodeGrader> {
    let mut patterns: Vec<(String, Span)> = Vec::new();
    if let Some(pattern) = &spec.pattern {
        patterns.push((pattern.clone(), node.locate("/pattern")));
    }
    if let Some(e) = expected {
        match e.spec {
            ExpectedSpec::Pattern(p) => {
                let values = std::iter::once(&p.value).chain(&p.alternatives);
                if spec.pattern.as_ref().is_some_and(|own| *own != p.value) {
                    let at = node.key_span("/pattern");
                    let message = "the grader's `pattern` and the case's expectation are two different patterns";
                    desk.push(
                        Problem::error(Code::GraderConflict, at, message)
                            .related(e.span, "the other one"),
                    );
                    return None;
                }
                patterns = values.map(|v| (v.clone(), e.span)).collect();
            }
            _ if patterns.is_empty() => {
                desk.push(misfit("regex", e));
                return None;
            }
            _ => {}
        }
    }
    if patterns.is_empty() {
        lacks(
            desk,
            node.span,
            "`regex` has no pattern",
            "add `pattern:` to the grader's `config`",
        );
        return None;
    }
    let must_match = spec.must_match.unwrap_or(true);
    let flags = regex_flags(&spec.flags);
    let mut whole = true;
    for (pattern, at) in &patterns {
        whole &= check_pattern(
            desk,
            pattern,
            flags,
            &spec.capture_groups,
            *at,
            node.locate("/capture_groups"),
        );
        if pattern.is_empty() {
            let what = if must_match {
                "matches every output"
            } else {
                "matches every output, so none can pass"
            };
            lacks(
                desk,
                *at,
                &format!("the empty pattern {what}"),
                "write the pattern that is meant",
            );
            whole = false;
        }
    }
    if !must_match && !spec.capture_groups.is_empty() {
        let at = node.key_span("/capture_groups");
        let message = "`capture_groups` never hold anything under `must_match: false`";
        desk.push(Problem::warning(Code::GraderConflict, at, message));
    }
    let patterns = patterns.into_iter().map(|(p, _)| p).collect();
    whole.then(|| CodeGrader::Regex {
        patterns,
        flags,
        must_match,
        capture_groups: spec.capture_groups.clone(),
    })
}

/// Compiles a pattern and looks for its groups.
pub(super) fn check_pattern(
    desk: &mut Desk,
    pattern: &str,
    flags: crate::model::RegexFlags,
    groups: &[String],
    at: Span,
    groups_at: Span,
) -> bool {
    let compiled = match Pattern::compile(pattern, flags) {
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

fn numeric_grader(
    desk: &mut Desk,
    spec: &NumericSpec,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<CodeGrader> {
    let any_of = wanted(
        desk,
        "numeric",
        spec.value.as_ref(),
        node,
        expected,
        baseline,
    )?;
    let of_case = match expected.map(|e| e.spec) {
        Some(ExpectedSpec::Numeric(n)) => Some(n),
        _ => None,
    };
    let at = expected.map_or(node.span, |e| e.span);
    let tolerance = spec
        .tolerance
        .or(of_case.and_then(|n| n.tolerance))
        .unwrap_or_default();
    let min = spec.min.or(of_case.and_then(|n| n.min));
    let max = spec.max.or(of_case.and_then(|n| n.max));
    if any_of.is_empty() && min.is_none() && max.is_none() {
        lacks(
            desk,
            at,
            "`numeric` has neither a value nor bounds",
            "add `value:`, or `min:` and `max:`",
        );
        return None;
    }
    if let Some(bad) = any_of.iter().find(|v| !is_number(v)) {
        let message = format!("`numeric` expects a number, and {bad} is none");
        desk.push(Problem::error(Code::GraderIncomplete, at, message));
        return None;
    }
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        desk.push(Problem::error(
            Code::GraderConflict,
            at,
            format!("no number is between {min} and {max}"),
        ));
        return None;
    }
    if tolerance.min_delta.is_some() || tolerance.max_delta.is_some() {
        let message = "`min_delta` and `max_delta` belong to comparisons with a baseline";
        desk.push(
            Problem::error(Code::GraderConflict, at, message)
                .hint("use `absolute`, `relative`, `min` or `max`"),
        );
        return None;
    }
    if any_of.is_empty() && tolerance != ToleranceSpec::default() {
        desk.push(Problem::warning(
            Code::GraderConflict,
            at,
            "`tolerance` without a value does nothing",
        ));
    }
    Some(CodeGrader::Numeric {
        any_of,
        absolute: tolerance.absolute,
        relative: tolerance.relative,
        min,
        max,
    })
}

fn is_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => numeric::read(text).is_ok(),
        _ => false,
    }
}

fn json(
    desk: &mut Desk,
    spec: &JsonSpec,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<CodeGrader> {
    let any_of = wanted(desk, "json", spec.value.as_ref(), node, expected, baseline)?;
    let (of_case, case_at) = match expected.map(|e| (e.spec, e.span)) {
        Some((ExpectedSpec::Json(j), at)) => (j.schema.as_ref(), at),
        _ => (None, node.span),
    };
    let (schema, at) = match (&spec.schema, of_case) {
        (Some(_), Some(_)) => {
            let message = "the grader and the case's expectation both give a `schema`";
            desk.push(
                Problem::error(Code::GraderConflict, node.key_span("/schema"), message)
                    .related(case_at, "the other one"),
            );
            return None;
        }
        (Some(own), None) => (Some(own), node.locate("/schema")),
        (None, theirs) => (theirs, case_at),
    };
    if let Some(schema) = schema
        && let Err(error) = jsonschema::validator_for(schema)
    {
        let message = format!("not a JSON Schema: {error}");
        desk.push(Problem::error(Code::BadSchema, at, message));
        return None;
    }
    Some(CodeGrader::Json {
        any_of,
        schema: schema.cloned(),
    })
}

fn command(
    desk: &mut Desk,
    spec: &CommandGraderSpec,
    node: &Node,
    expected: Option<Expected>,
    baseline: Option<&Value>,
) -> Option<CodeGrader> {
    let at = node.locate("/command");
    super::super::targets::check_program(desk, &spec.command, at)?;
    if !spec.metrics.is_empty() && spec.verdict != CommandVerdict::Json {
        let message =
            "`metrics` are said in a JSON verdict, and this grader's verdict is its exit code";
        let problem = Problem::error(Code::GraderConflict, node.key_span("/metrics"), message);
        desk.push(problem.hint(
            "add `verdict: json`; for 1 or 0, write `metric: NAME` beside the grader's type",
        ));
        return None;
    }
    Some(CodeGrader::Command(CommandGrader {
        argv: spec.command.clone(),
        dir: desk.suite.dir.clone(),
        env: spec.env.clone(),
        timeout: seconds(spec.timeout_seconds.unwrap_or(30.0)),
        verdict: spec.verdict,
        metrics: spec.metrics.clone(),
        expected: super::reference(expected, baseline),
        sandbox: spec.sandbox,
    }))
}
