//! Completes what is left out, before the schema check: the method of a code grader, the grader of a
//! case, the format of a dataset. Short forms are made long first.
//!
//! Works on the positioned tree with either spelling of a key. What is put in has an empty span,
//! which is how [`was_inferred`] knows it later.

use super::kinds::{DocumentPart, parts};
use super::problem::{Code, Problem, Problems};
use super::short;
use super::template::is_template;
use super::tree::{Node, NodeValue};
use crate::graders::known_methods;
use crate::graders::settings::method_of_expectation;

/// Completes the graders of every part of an eval document (or of an inline eval).
pub(super) fn infer_evals(node: &mut Node, problems: &mut Problems) {
    short::evals(node, problems);
    for part in parts(node) {
        match part {
            DocumentPart::Capability(definition) => infer_case(definition, problems),
            DocumentPart::Regression(regression) | DocumentPart::Document(regression) => {
                infer_regression(regression, problems);
            }
            DocumentPart::File(file) => infer_file(file, problems),
        }
    }
}

/// Completes the named graders of a graders document, whose cases are not known.
pub(super) fn infer_named(graders: &mut Node, problems: &mut Problems) {
    short::named_graders(graders);
    for (_, grader) in graders.map_mut("graders") {
        complete(grader, None, problems);
    }
}

/// Completes the grader of one case; without one, puts in what its expectation means.
pub(super) fn infer_case(case: &mut Node, problems: &mut Problems) {
    let expected = expected_type(case);
    let hint = expected.as_deref().and_then(method_of_expectation);
    let templated = expected.as_deref().is_some_and(is_template);
    let mut found = Problems::new();
    let has_graders = each_grader(case, |grader| complete(grader, hint, &mut found));
    if !templated {
        problems.extend(found);
    }
    let Some(method) = hint.filter(|_| !has_graders) else {
        return;
    };
    let at = case
        .get("expected")
        .or_else(|| case.get("expected_output"))
        .map_or(case.span, |e| e.span)
        .at_start();
    let (mut config, mut grader) = (Node::of_entries(at, vec![]), Node::of_entries(at, vec![]));
    config.insert("method", Node::of_text(at, method));
    grader.insert("type", Node::of_text(at, "code"));
    grader.insert("config", config);
    case.insert("grader", grader);
}

fn infer_file(file: &mut Node, problems: &mut Problems) {
    file.get_mut("dataset").into_iter().for_each(infer_format);
    let shared = take_open_graders(file, problems);
    let has_default = file.get("grader").is_some() || file.get("graders").is_some();
    let combine = file.get("combine").cloned();
    let mut cases: Vec<&mut Node> = Vec::new();
    if let NodeValue::Map(entries) = &mut file.value {
        for (key, value) in entries {
            if &*key.name == "dataset" {
                cases.extend(value.get_mut("case"));
            } else if let ("test_cases", NodeValue::Seq(items)) = (&*key.name, &mut value.value) {
                cases.extend(items.iter_mut());
            }
        }
    }
    for case in cases {
        let own = case.get("grader").is_some() || case.get("graders").is_some();
        if case.as_map().is_none() || (has_default && !own) {
            continue;
        }
        if let Some((key, grader)) = shared.as_ref().filter(|_| !own) {
            case.insert(key, grader.clone());
            if let Some(combine) = combine.as_ref().filter(|_| case.get("combine").is_none()) {
                case.insert("combine", combine.clone());
            }
        }
        infer_case(case, problems);
    }
}

/// The format of a dataset of rows, from the name of its file.
fn infer_format(dataset: &mut Node) {
    if dataset.get("format").is_some() || dataset.get("case").is_none() {
        return;
    }
    let Some(path) = dataset.get("path") else {
        return;
    };
    let Some(format) = path.as_text().and_then(format_of_rows) else {
        return;
    };
    let format = Node::of_text(path.span.at_start(), format);
    dataset.insert("format", format);
}

/// The format of a file of rows, by its name.
pub(super) fn format_of_rows(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "jsonl" | "ndjson" => Some("jsonl"),
        "json" => Some("json"),
        "csv" => Some("csv"),
        _ => None,
    }
}

/// Takes a file's default grader out when its method depends on the case, so that each case gets
/// its own copy.
fn take_open_graders(file: &mut Node, problems: &mut Problems) -> Option<(&'static str, Node)> {
    for key in ["grader", "graders"] {
        let Some(node) = file.get(key) else { continue };
        let open = match &node.value {
            NodeValue::Seq(items) => items.iter().any(is_open),
            _ => is_open(node),
        };
        if open && let NodeValue::Map(entries) = &mut file.value {
            let at = entries.iter().position(|(k, _)| &*k.name == key)?;
            return Some((key, entries.remove(at).1));
        }
    }
    each_grader(file, |grader| complete(grader, None, problems));
    None
}

/// A code grader whose settings alone do not say its method.
fn is_open(grader: &Node) -> bool {
    let config = grader.get("config");
    is_code(grader)
        && config.is_none_or(|c| c.as_map().is_some() && c.get("method").is_none())
        && sure_method(config).is_none()
}

fn infer_regression(node: &mut Node, problems: &mut Problems) {
    let holder = ["current", "test_case"]
        .iter()
        .find_map(|key| node.get(key));
    let comparison = node
        .get("comparison")
        .or_else(|| holder.and_then(|c| c.get("comparison")));
    let kind = comparison
        .and_then(|c| c.get("type"))
        .and_then(Node::as_text);
    let hint = match kind {
        Some("exact") => "exact_match",
        _ => "structural_match",
    };
    each_grader(node, |grader| complete(grader, Some(hint), problems));
}

/// Calls `f` for the grader or graders of a case; true when there is any.
fn each_grader(case: &mut Node, mut f: impl FnMut(&mut Node)) -> bool {
    let mut any = false;
    if let Some(grader) = case.get_mut("grader") {
        any = true;
        f(grader);
    }
    let items = case.seq_mut("graders");
    any |= !items.is_empty();
    items.iter_mut().for_each(f);
    any
}

fn is_code(grader: &Node) -> bool {
    grader.get("type").and_then(Node::as_text) == Some("code")
}

/// Gives a code grader its `config.method` when it has none.
fn complete(grader: &mut Node, hint: Option<&'static str>, problems: &mut Problems) {
    if !is_code(grader) || grader.get("judge").is_some() {
        return;
    }
    let at = grader.span.at_start();
    if grader.get("config").is_none() {
        grader.insert("config", Node::of_entries(at, vec![]));
    }
    // A key that belongs into `config` is an error of its own.
    let of_grader =
        |key: &str| ["type", "config"].contains(&key) || short::OF_GRADERS.contains(&key);
    let mut keys = grader.as_map().unwrap_or(&[]).iter();
    let misplaced = keys.any(|(key, _)| !of_grader(&key.name));
    let span = grader.span;
    let Some(config) = grader.get_mut("config") else {
        return;
    };
    if config.as_map().is_none() || config.get("method").is_some() {
        return;
    }
    let (method, sure) = choose(config, hint);
    if !sure && !misplaced {
        let message = "the grader has no `method`, and neither its settings nor `expected.type` determine one";
        let names: Vec<&str> = known_methods().iter().map(|m| m.name).collect();
        problems.push(
            Problem::error(Code::CannotInferGrader, span, message).hint(format!(
                "add `method:` under `config:`, one of {}",
                names.join(", ")
            )),
        );
    }
    let at = config.span.at_start();
    config.insert("method", Node::of_text(at, method));
}

/// The method that the settings and the expectation mean, and whether that is sure.
fn choose(config: &Node, hint: Option<&'static str>) -> (&'static str, bool) {
    if let Some(sure) = sure_method(Some(config)) {
        return (sure, true);
    }
    let keys: Vec<&str> = config
        .as_map()
        .unwrap_or(&[])
        .iter()
        .map(|(k, _)| &*k.name)
        .collect();
    let fitting: Vec<&'static str> = known_methods()
        .iter()
        .filter(|m| m.from_settings)
        .filter(|m| keys.iter().all(|key| m.keys.contains(*key)))
        .map(|m| m.name)
        .collect();
    match (hint, fitting.as_slice()) {
        (Some(hint), fits) if fits.contains(&hint) || fits.is_empty() => (hint, true),
        (_, [only]) => (only, true),
        (_, [first, ..]) => (first, false),
        (_, []) => (nearest(&keys), false),
    }
}

fn sure_method(config: Option<&Node>) -> Option<&'static str> {
    let config = config?;
    known_methods()
        .iter()
        .find(|method| method.own_keys.iter().any(|key| config.get(key).is_some()))
        .map(|method| method.name)
}

/// The method that knows most of the keys, so that the schema's errors speak of the likeliest one.
fn nearest(keys: &[&str]) -> &'static str {
    known_methods()
        .iter()
        .rev()
        .max_by_key(|m| keys.iter().filter(|key| m.keys.contains(**key)).count())
        .map_or("exact_match", |m| m.name)
}

/// The word after `expected.type`; a bare text is an exact expectation.
fn expected_type(case: &Node) -> Option<String> {
    let expected = case
        .get("expected")
        .or_else(|| case.get("expected_output"))?;
    match &expected.value {
        NodeValue::Text(_) => Some("exact".to_owned()),
        _ => expected
            .get("type")
            .and_then(Node::as_text)
            .map(str::to_owned),
    }
}

/// True when the method of this grader was put in here.
pub(super) fn was_inferred(grader: &Node) -> bool {
    grader
        .get("config")
        .and_then(|config| config.key_place("method"))
        .is_some_and(|key| key.start == key.end)
}
