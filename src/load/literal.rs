//! The literal that a case expects, where it is written: found, and replaced by an output.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::edit::{DocumentText, EditError};
use super::kinds::{DocumentPart, detect, inline_evals, parts};
use super::problem::Problems;
use super::short;
use super::source::SourceFiles;
use super::template::{has_template, is_template};
use super::tree::{self, Node, NodeValue};
use crate::graders::output::as_json;
use crate::model::{Case, CodeGrader, GraderKind, OutputValue};
use crate::spec::SchemaKind;
use eval_match::numeric;
use eval_match::paths::{PathPattern, PlaceStep};

/// A file with a new expectation in it.
#[derive(Debug, Clone, PartialEq)]
pub struct LiteralEdit {
    /// Of the value that is replaced, as `file:line:column`.
    pub place: String,
    /// The texts of the file, without a byte order mark.
    pub before: String,
    pub after: String,
}

/// Why an output can't become the expectation of a case, and what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct EditRefusal {
    pub message: String,
    pub hint: String,
}

/// Kinds of expectations with one literal value.
const LITERALS: [&str; 4] = ["exact", "json", "numeric", "structural"];

/// Where an eval is defined.
#[derive(Debug, Clone, Copy)]
pub struct WrittenEval<'a> {
    pub id: &'a str,
    pub path: &'a Path,
    /// The path as messages show it.
    pub display: &'a str,
    /// Of its id, from 1.
    pub line: u32,
}

impl WrittenEval<'_> {
    fn has_id(&self, sources: &SourceFiles, id: &Node) -> bool {
        id.as_text() == Some(self.id) && sources.position(id.span).line == self.line as usize
    }
}

/// A document as it is written, with its text.
fn document(path: &Path, display: &str) -> Result<(SourceFiles, Node), EditRefusal> {
    let mut sources = SourceFiles::new();
    let mut problems = Problems::new();
    let unreadable = |message: String| refusal(message, "check it with `eval-harness validate`");
    let file = sources
        .read(path, display)
        .map_err(|problem| unreadable(problem.message))?;
    let root = tree::parse(&sources, file, &mut problems)
        .filter(|_| !problems.has_errors())
        .ok_or_else(|| unreadable(format!("{display} cannot be read")))?;
    Ok((sources, root))
}

/// What the file of a case says of its grading, as it is written: `extract`, `grader`, `graders`,
/// `combine` and `expected`, each of the case or else of its eval.
///
/// # Errors
/// When the file can't be read.
pub fn written_grading(
    eval: WrittenEval<'_>,
    case: &str,
) -> Result<BTreeMap<String, Value>, EditRefusal> {
    const KEYS: [&str; 6] = [
        "extract",
        "grader",
        "graders",
        "combine",
        "expected",
        "expected_output",
    ];
    let (sources, mut root) = document(eval.path, eval.display)?;
    // Graders may be written as `asserts:` or `judge:`. The file was loaded, so it has no problems.
    for document in eval_documents(&mut root) {
        short::evals(document, &mut Problems::new());
    }
    let is_eval = |id: &Node| eval.has_id(&sources, id);
    let mut found = BTreeMap::new();
    let (mut whole, mut own) = (root.clone(), root);
    let whole = written_eval(&mut whole, &is_eval);
    let levels = [
        written_case(&mut own, &is_eval, case).map(|node| &*node),
        whole.as_ref().map(DocumentPart::node),
    ];
    for node in levels.into_iter().flatten() {
        // Graders of a case replace those of its eval, all of them.
        let is_graded = found.keys().any(|key: &String| key.starts_with("grader"));
        for key in KEYS {
            let of_grader = key.starts_with("grader") || key == "combine";
            if let Some(value) = node.get(key).filter(|_| !(is_graded && of_grader)) {
                let key = key.trim_end_matches("_output").to_owned();
                found.entry(key).or_insert_with(|| value.to_json());
            }
        }
    }
    Ok(found)
}

/// A suite with one more file in the list of its evals; `None` where it has no list with an eval.
///
/// # Errors
/// When the file can't be read, or can't be changed there.
pub fn added_reference(
    path: &Path,
    display: &str,
    reference: &str,
) -> Result<Option<LiteralEdit>, EditRefusal> {
    let (sources, root) = document(path, display)?;
    let evals = root.at_pointer("/eval_suite/evals");
    let Some(list) = evals.filter(|list| list.as_seq().is_some_and(|all| !all.is_empty())) else {
        return Ok(None);
    };
    let mut wanted = root.to_json();
    if let Some(Value::Array(all)) = wanted.pointer_mut("/eval_suite/evals") {
        all.push(serde_json::json!({ "$ref": reference }));
    }
    let text = sources.text(root.span.file);
    let place = sources.place(list.span);
    let after = DocumentText::new(text, &root).with_reference(list, reference, &wanted);
    let after = after.map_err(|_| {
        refusal(
            format!("{place}: the file cannot be added to this list"),
            format!("add `- $ref: {reference}` by hand"),
        )
    })?;
    Ok(Some(LiteralEdit {
        place,
        before: text.to_owned(),
        after,
    }))
}

/// The file of a case with an output as its expectation; `None` when that is written there already.
///
/// # Errors
/// When the expectation is not a literal of its own, or when the file can't hold the output there.
pub fn accepted_literal(
    eval: WrittenEval<'_>,
    case: &Case,
    output: &OutputValue,
) -> Result<Option<LiteralEdit>, EditRefusal> {
    let (sources, root) = document(eval.path, eval.display)?;
    let mut after = root.clone();
    let is_eval = |id: &Node| eval.has_id(&sources, id);
    let written = written_case(&mut after, &is_eval, &case.id)
        .ok_or_else(|| not_written(case, eval.display))?;
    let (value, kind) = literal(written, &sources)?;
    let place = sources.place(value.span);
    let refuse = |message: &str, hint: &str| refusal(format!("{place}: {message}"), hint);
    if sources.slice(value.span).starts_with('*') {
        return Err(refuse(
            "the expected value is an alias",
            "write the value out there, and accept again",
        ));
    }
    if has_template(value) {
        return Err(refuse(
            "the expected value is a template or contains a matcher",
            "edit it by hand: the output does not say which part of it is variable",
        ));
    }
    let old = value.clone();
    let new = new_value(kind, &old, case, output)
        .map_err(|why| refuse(&why, "change `expected` by hand"))?;
    if old.to_json() == new {
        return Ok(None);
    }
    *value = Node::of_json(&new, old.span);
    let text = sources.text(root.span.file);
    let edited = DocumentText::new(text, &root).replaced(&old, &new, &after.to_json());
    let after = edited.map_err(|error| match error {
        EditError::Shared => refuse(
            "other parts of the file would change as well (an anchor, an alias or a merge key)",
            "write the value out where the case is defined, and accept again",
        ),
        EditError::Comment => refuse(
            "a comment inside the expected value would be lost",
            "move the comment above `expected`, and accept again",
        ),
        EditError::Unfit => refuse(
            "no style of YAML fits the output into the place of the expected value",
            "write the expected value in quotes, or `expected` as a block (`type:` and `value:` on separate lines), and \
             accept again",
        ),
    })?;
    Ok(Some(LiteralEdit {
        place,
        before: text.to_owned(),
        after,
    }))
}

fn refusal(message: impl Into<String>, hint: impl Into<String>) -> EditRefusal {
    EditRefusal {
        message: message.into(),
        hint: hint.into(),
    }
}

fn not_written(case: &Case, display: &str) -> EditRefusal {
    let message = format!(
        "case `{}` is not written in {display}: it comes from {}",
        case.id, case.origin
    );
    refusal(message, "change the expected value in the data there")
}

/// The eval with the id that is meant.
fn written_eval<'t>(
    root: &'t mut Node,
    is_eval: &impl Fn(&Node) -> bool,
) -> Option<DocumentPart<'t>> {
    let is_it = |part: &DocumentPart<'_>| {
        let id = part.head().and_then(|head| head.get("id"));
        id.is_some_and(is_eval)
    };
    eval_documents(root).into_iter().flat_map(parts).find(is_it)
}

/// A document of evals, or the inline evals of a suite.
fn eval_documents(root: &mut Node) -> Vec<&mut Node> {
    match detect(root) {
        Some(SchemaKind::Suite) => inline_evals(root),
        _ => vec![root],
    }
}

/// The definition of a case: that of its eval, or its test case of this id.
fn written_case<'t>(
    root: &'t mut Node,
    is_eval: &impl Fn(&Node) -> bool,
    id: &str,
) -> Option<&'t mut Node> {
    match written_eval(root, is_eval)? {
        DocumentPart::Capability(node)
        | DocumentPart::Regression(node)
        | DocumentPart::Document(node) => Some(node),
        DocumentPart::File(node) => node
            .seq_mut("test_cases")
            .iter_mut()
            .find(|case| case.get("id").and_then(Node::as_text) == Some(id)),
    }
}

/// A value without a type, which is an exact one.
const BARE: &str = "";

/// The one literal that a case expects, and the type of its expectation.
fn literal<'t>(
    case: &'t mut Node,
    sources: &SourceFiles,
) -> Result<(&'t mut Node, &'static str), EditRefusal> {
    let at = sources.place(case.span);
    let key = ["expected", "expected_output"]
        .into_iter()
        .find(|key| case.get(key).is_some());
    let Some(expected) = key.and_then(|key| case.get_mut(key)) else {
        return Err(refusal(
            format!("{at}: the case has no `expected`: its grader defines what passes"),
            "change the grader by hand",
        ));
    };
    let at = sources.place(expected.span);
    let kind = expected.get("type").and_then(Node::as_text);
    let kind = kind.map(|kind| LITERALS.into_iter().find(|literal| *literal == kind));
    if expected.as_text().is_some() || short::is_literal(expected) {
        return Ok((expected, BARE));
    }
    // Only a map has a type.
    if let Some(Some(kind)) = kind {
        if !expected.seq("alternatives").is_empty() {
            return Err(refusal(
                format!("{at}: the case has several expectations"),
                "add the output to `alternatives` by hand, or remove them",
            ));
        }
        if let Some(value) = expected.get_mut("value") {
            return Ok((value, kind));
        }
    }
    Err(refusal(
        format!("{at}: `expected` is not a literal value"),
        "only `expected` of type exact, json, numeric or structural with a `value` can be accepted; change it by hand",
    ))
}

/// What is written for an output.
fn new_value(kind: &str, old: &Node, case: &Case, output: &OutputValue) -> Result<Value, String> {
    let json = || as_json(output).map_err(|error| format!("the output is not JSON: {error}"));
    let new = match (kind, output) {
        ("json", _) => json()?,
        ("structural", _) => {
            let mut new = json()?;
            IgnoredPaths::of(case).settle(&mut new, Some(&old.to_json()), &mut Vec::new());
            if has_template(&Node::of_json(&new, old.span)) {
                return Err("the output contains `{{`, which is a matcher there".to_owned());
            }
            return Ok(new);
        }
        (_, OutputValue::Json(value)) if !value.is_string() => value.clone(),
        (_, OutputValue::Json(Value::String(text)))
        | (_, OutputValue::Text(text) | OutputValue::Program(text)) => {
            if kind == "numeric" {
                numeric::read(text)?;
            }
            let of_kind = |new: &Value| Node::of_json(new, old.span).kind() == old.kind();
            let value = serde_json::from_str(text.trim()).ok().filter(of_kind);
            match value {
                Some(value) if !matches!(old.value, NodeValue::Text(_)) => value,
                _ => Value::String(as_compared(text, old, case)),
            }
        }
        (_, OutputValue::Json(value)) => value.clone(),
    };
    let new = not_rendered(new);
    if kind != BARE || new.is_string() {
        return Ok(new);
    }
    let node = Node::of_json(&new, old.span);
    Ok(if node.kind() == old.kind() && short::is_literal(&node) {
        new
    } else {
        serde_json::json!({ "type": "exact", "value": new })
    })
}

/// What the structural graders of a case ignore.
struct IgnoredPaths {
    fields: Vec<PathPattern>,
    values: Vec<PathPattern>,
}

impl IgnoredPaths {
    fn of(case: &Case) -> IgnoredPaths {
        let mut ignored = IgnoredPaths {
            fields: Vec::new(),
            values: Vec::new(),
        };
        for grader in &case.grading.graders {
            if let GraderKind::Code(CodeGrader::StructuralMatch(rule)) = &grader.kind {
                let parse = |path: &String| PathPattern::parse(path);
                ignored.fields.extend(rule.ignore_fields.iter().map(parse));
                ignored.values.extend(rule.ignore_values.iter().map(parse));
            }
        }
        ignored
    }

    /// Keeps the old value where it is ignored, so that only what counts changes; an ignored field
    /// that was not there is left out.
    fn settle(&self, new: &mut Value, old: Option<&Value>, place: &mut Vec<PlaceStep>) {
        let covered = |patterns: &[PathPattern], place: &[PlaceStep]| {
            patterns.iter().any(|pattern| pattern.covers(place))
        };
        match new {
            Value::Object(fields) => {
                let names: Vec<String> = fields.keys().cloned().collect();
                for name in names {
                    let before = old.and_then(|old| old.get(&name));
                    place.push(PlaceStep::Key(name.clone()));
                    let is_ignored = covered(&self.fields, place);
                    match (before, fields.get_mut(&name)) {
                        (None, _) if is_ignored => {
                            fields.remove(&name);
                        }
                        (Some(before), Some(value))
                            if is_ignored || covered(&self.values, place) =>
                        {
                            value.clone_from(before);
                        }
                        (before, Some(value)) => self.settle(value, before, place),
                        (_, None) => {}
                    }
                    place.pop();
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter_mut().enumerate() {
                    place.push(PlaceStep::Index(at));
                    self.settle(value, old.and_then(|old| old.get(at)), place);
                    place.pop();
                }
            }
            _ => {}
        }
    }
}

/// A text without what its graders ignore: blanks at its ends, and CR LF for LF. A last line break
/// stays, so that a block remains one.
fn as_compared(text: &str, old: &Node, case: &Case) -> String {
    let graders = case.grading.graders.iter();
    let exact = graders.filter_map(|grader| match &grader.kind {
        GraderKind::Code(CodeGrader::ExactMatch(exact)) => Some(exact),
        _ => None,
    });
    let mut text = text.to_owned();
    if exact.clone().all(|exact| exact.normalize_newlines) {
        text = text.replace("\r\n", "\n");
    }
    if exact.clone().all(|exact| exact.trim_whitespace) {
        text = text.trim().to_owned();
        if old.as_text().is_some_and(|old| old.ends_with('\n')) && !text.is_empty() {
            text.push('\n');
        }
    }
    text
}

/// The value with texts that would be taken for templates marked as plain.
pub fn not_rendered(value: Value) -> Value {
    match value {
        Value::String(text) if is_template(&text) => {
            Value::String(format!("{{% raw %}}{text}{{% endraw %}}"))
        }
        Value::Array(items) => items.into_iter().map(not_rendered).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (key, not_rendered(value)))
            .collect(),
        other => other,
    }
}
