//! Short forms of evals as long ones: `prompt:`, `asserts:`, `judge:` in a grader, a regression's
//! `input:`, and literals under `expected:` and `baseline:`.
//!
//! The tree is rewritten before anything else looks at it, so that nothing else knows them. Each
//! value keeps its place, and what is put in has the place of the short form. `spec::short` has
//! their schemas.

use super::kinds::{DocumentPart, parts};
use super::problem::{Code, Problem, Problems};
use super::source::Span;
use super::tree::{MappingKey, Node, NodeValue};
use crate::spec::EXPECTATION_KEYS;
use eval_base::nearest::did_you_mean;

/// Keys of a grader that its settings don't have.
pub(super) const OF_GRADERS: [&str; 4] = ["negate", "weight", "metric", "informative"];

/// Every part of an eval document (or of an inline eval).
pub(super) fn evals(document: &mut Node, problems: &mut Problems) {
    for part in parts(document) {
        match part {
            DocumentPart::Capability(node) => case(node, problems),
            DocumentPart::Regression(node) | DocumentPart::Document(node) => {
                regression(node, problems);
            }
            DocumentPart::File(file) => {
                graders(file);
                let row = file
                    .get_mut("dataset")
                    .and_then(|data| data.get_mut("case"));
                row.into_iter().for_each(|row| case(row, problems));
                let cases = file.seq_mut("test_cases");
                cases.iter_mut().for_each(|node| case(node, problems));
            }
        }
    }
}

/// One case, which may be one of a row.
pub(super) fn case(case: &mut Node, problems: &mut Problems) {
    prompt(case, problems);
    asserts(case, problems);
    for key in ["expected", "expected_output"] {
        let node = case.get_mut(key);
        node.into_iter().for_each(|node| expected(node, problems));
    }
    graders(case);
}

/// The named graders of a graders document.
pub(super) fn named_graders(document: &mut Node) {
    for (_, grader) in document.map_mut("graders") {
        judge(grader);
    }
}

fn regression(node: &mut Node, problems: &mut Problems) {
    let short = if node.get("prompt").is_some() {
        "prompt"
    } else {
        "input"
    };
    prompt(node, problems);
    let other = place_of(node, &["current", "test_case"]);
    if let Some((key, input)) = take(node, "input") {
        match other {
            Some((other, at)) => {
                problems
                    .push(both(short, key.span, other, at).hint(
                        "put the input under `current:`, which may also have an `execution`",
                    ));
                // Avoids a second error for the missing `input`.
                if let Some(current) = node.get_mut(other).filter(|c| c.get("input").is_none()) {
                    put(current, "input", key.span, input);
                }
            }
            None => put(
                node,
                "current",
                key.span,
                Node::of_entries(key.span, vec![(key, input)]),
            ),
        }
    }
    for key in ["current", "test_case"] {
        let current = node.get_mut(key);
        current.into_iter().for_each(|node| prompt(node, problems));
    }
    if let Some(baseline) = node.get_mut("baseline")
        && !matches!(baseline.value, NodeValue::Null | NodeValue::Map(_))
    {
        wrap(baseline, "output");
    }
    graders(node);
}

/// `prompt: TEXT` is `input: TEXT`; a map is an input of the type `prompt`.
fn prompt(node: &mut Node, problems: &mut Problems) {
    let other = place_of(node, &["input"]);
    let Some((key, mut value)) = take(node, "prompt") else {
        return;
    };
    if let Some((other, at)) = other {
        return problems.push(both("prompt", key.span, other, at));
    }
    if let Some(at) = value.key_place("type") {
        let message = "`prompt` has no `type`: it is always a prompt";
        problems.push(
            Problem::error(Code::UnknownKey, at, message)
                .hint("for any other type, write `input: {type: ...}`"),
        );
        take(&mut value, "type");
    }
    match &value.value {
        NodeValue::Text(_) => {}
        NodeValue::Map(_) => value.insert("type", Node::of_text(key.span.at_start(), "prompt")),
        other => {
            let message = match other {
                NodeValue::Null => "`prompt` is empty: expected a text".to_owned(),
                _ => format!("`prompt`: expected a text, found {}", value.kind()),
            };
            problems.push(Problem::error(Code::WrongType, key.span, message));
            value = Node::of_text(key.span, "");
        }
    }
    put(node, "input", key.span, value);
}

/// `asserts:` of a case is a grader of the method `code_execution`.
fn asserts(case: &mut Node, problems: &mut Problems) {
    let others = ["grader", "graders", "expected", "expected_output"];
    let other = place_of(case, &others);
    let Some((key, value)) = take(case, "asserts") else {
        return;
    };
    if let Some((other, at)) = other {
        let long = "`{type: code, config: {asserts: [...]}}` under `graders:`";
        let hint = if other.starts_with("expected") {
            format!(
                "`asserts` run the output's code, and `expected` is compared with its text; keep one, or write the asserts as {long}"
            )
        } else {
            format!("write the asserts as {long}, beside the other graders")
        };
        return problems.push(both("asserts", key.span, other, at).hint(hint));
    }
    if value.is_null() {
        return;
    }
    // The place of `method` must not be empty: that is how an inferred one is known.
    let method = Node::of_text(key.span, "code_execution");
    let mut config = Node::of_entries(key.span, Vec::new());
    put(&mut config, "method", key.span, method);
    put(&mut config, "asserts", key.span, value);
    let mut grader = Node::of_entries(key.span, Vec::new());
    grader.insert("type", Node::of_text(key.span.at_start(), "code"));
    put(&mut grader, "config", key.span, config);
    put(case, "grader", key.span, grader);
}

/// A literal is an exact expectation. A text is one as it is.
fn expected(node: &mut Node, problems: &mut Problems) {
    if !is_literal(node) {
        return;
    }
    let keys = node.as_map().unwrap_or_default().iter();
    let mut misspelt = keys.filter_map(|(key, _)| {
        // `tax` and `bin` are words, not misspelt `max` and `min`.
        let marks = EXPECTATION_KEYS.into_iter().filter(|mark| mark.len() > 3);
        let near = did_you_mean(&key.name, marks)?;
        Some((key, near))
    });
    if let Some((key, near)) = misspelt.next() {
        let name = &key.name;
        let message = format!("`{name}` makes this map a literal; did you mean `{near}`?");
        problems.push(
            Problem::warning(Code::SuspiciousValue, key.span, message)
                .hint("for a literal write `{type: exact, value: {...}}`"),
        );
    }
    wrap(node, "value");
    node.insert("type", Node::of_text(node.span.at_start(), "exact"));
}

/// True for a value under `expected:` that is short for `{type: exact, value: VALUE}`; a text is
/// not rewritten.
pub(super) fn is_literal(expected: &Node) -> bool {
    match &expected.value {
        NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::Seq(_) => true,
        NodeValue::Null | NodeValue::Special(_) | NodeValue::Text(_) => false,
        NodeValue::Map(entries) => {
            let is_mark = |key: &str| EXPECTATION_KEYS.contains(&key);
            !entries.is_empty() && !entries.iter().any(|(key, _)| is_mark(&key.name))
        }
    }
}

fn graders(node: &mut Node) {
    node.get_mut("grader").into_iter().for_each(judge);
    node.seq_mut("graders").iter_mut().for_each(judge);
}

/// `{judge: MODEL, ...}` is a model grader: what is not a grader's own goes into its `config`.
fn judge(grader: &mut Node) {
    let is_model = grader
        .get("type")
        .is_none_or(|kind| kind.is_null() || kind.as_text() == Some("model"));
    let is_named = grader.get("judge").is_some_and(|model| !model.is_null());
    let clashes = ["config", "model", "models"];
    let has_clash = clashes.iter().any(|key| grader.get(key).is_some());
    if !is_model || !is_named || has_clash {
        return;
    }
    take(grader, "type");
    let at = grader.span.at_start();
    let NodeValue::Map(entries) = &mut grader.value else {
        return;
    };
    let (own, mut settings): (Vec<_>, Vec<_>) = std::mem::take(entries)
        .into_iter()
        .partition(|(key, _)| OF_GRADERS.contains(&&*key.name));
    *entries = own;
    for (key, model) in &mut settings {
        if &*key.name == "judge" {
            let is_list = model.as_seq().is_some();
            key.name = if is_list { "models" } else { "model" }.into();
        }
    }
    grader.insert("type", Node::of_text(at, "model"));
    put(
        grader,
        "config",
        at,
        Node::of_entries(grader.span, settings),
    );
}

/// Puts a value under a key of a new map with the span of the value.
fn wrap(node: &mut Node, key: &str) {
    let span = node.span;
    let value = std::mem::replace(&mut node.value, NodeValue::Map(Vec::new()));
    node.insert(key, Node { span, value });
}

fn take(node: &mut Node, key: &str) -> Option<(MappingKey, Node)> {
    let NodeValue::Map(entries) = &mut node.value else {
        return None;
    };
    let at = entries.iter().position(|(k, _)| &*k.name == key)?;
    Some(entries.remove(at))
}

/// Adds a key; a null under the same key is replaced.
fn put(node: &mut Node, name: &str, at: Span, value: Node) {
    if let NodeValue::Map(entries) = &mut node.value {
        entries.retain(|(key, _)| &*key.name != name);
        let name = name.into();
        entries.push((MappingKey { name, span: at }, value));
    }
}

/// The first of these keys that has a value in a map, and its place.
fn place_of<'k>(node: &Node, keys: &[&'k str]) -> Option<(&'k str, Span)> {
    let has_value = |key: &&&str| node.get(key).is_some_and(|value| !value.is_null());
    let mut keys = keys.iter().filter(has_value);
    keys.find_map(|key| Some((*key, node.key_place(key)?)))
}

fn both(short: &str, at: Span, other: &str, other_at: Span) -> Problem {
    let message = format!("use `{short}` or `{other}`, not both");
    let problem = Problem::error(Code::BothSpellings, at, message);
    problem.related(other_at, "the other one")
}

#[cfg(test)]
#[path = "short_tests.rs"]
mod tests;
