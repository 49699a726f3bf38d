//! The validator's errors as problems: one cause, one problem, at the key that is to be changed.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value, json};

use crate::load::infer::format_of_rows;
use crate::load::problem::{Code, Problem, Problems, TextFix, only_near};
use crate::load::tree::{Node, NodeValue};
use eval_base::nearest::did_you_mean;

use super::derive::{aliases, branches, flatten};
use super::placement::{Placement, levels, placement};
use super::words::{describe, listed, quoted, subject};

/// Where lists of commands are, each of them a list.
const COMMANDS: [&str; 2] = ["/workspace/setup", "/workspace/teardown"];

const ASSERTS: &str = "to test code with assert statements, write `asserts: [\"assert add(1, 2) == 3\"]` beside the input, instead of `expected`";

/// Adds a problem for every cause among these errors.
pub(super) fn explain(
    derived: &Value,
    root: &Node,
    errors: &[ValidationError<'_>],
    problems: &mut Problems,
) {
    let mut explainer = SchemaExplainer {
        derived,
        root,
        found: Vec::new(),
        meant: HashSet::new(),
        placements: HashMap::new(),
    };
    explainer.errors(errors);
    if explainer.found.is_empty() {
        // Nothing is silent: what could not be put into words is still an error.
        let first = errors
            .first()
            .map_or_else(String::new, |e| e.masked().to_string());
        explainer.add(
            "",
            Code::BadShape,
            format!("the document is not valid: {first}"),
            None,
        );
    }
    let meant = explainer.meant;
    let consequence =
        |missing: &Option<(String, String)>| missing.as_ref().is_some_and(|m| meant.contains(m));
    problems.extend(
        explainer
            .found
            .into_iter()
            .filter(|(_, m)| !consequence(m))
            .map(|(problem, _)| problem),
    );
}

struct SchemaExplainer<'e> {
    derived: &'e Value,
    root: &'e Node,
    /// Each problem; for a missing key also its map and name.
    found: Vec<(Problem, Option<(String, String)>)>,
    /// Keys (map and name) that an unknown key seems to mean: that they are missing is no problem
    /// of its own.
    meant: HashSet<(String, String)>,
    /// Where misplaced keys belong, by evaluation path and key: of many cases each may have one.
    placements: HashMap<(String, String), Option<Placement>>,
}

impl SchemaExplainer<'_> {
    fn errors(&mut self, errors: &[ValidationError<'_>]) {
        // A value of the wrong type breaks other rules as well: only the type is reported.
        let wrong_type: HashSet<&str> = errors
            .iter()
            .filter(|e| matches!(e.kind(), Kind::Type { .. }))
            .map(path)
            .collect();
        for error in errors {
            if matches!(error.kind(), Kind::Type { .. }) || !wrong_type.contains(path(error)) {
                self.error(error);
            }
        }
    }

    fn error(&mut self, error: &ValidationError<'_>) {
        let at = path(error);
        let schema = self.owner(error);
        let name = subject(at);
        match error.kind() {
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                for key in unexpected {
                    self.unknown_key((at, error.evaluation_path().as_str()), key, &[&schema]);
                }
            }
            Kind::Required { property } => self.missing(at, property, &schema),
            Kind::Type { .. } => {
                let wanted = describe(self.derived, &Value::Object(schema));
                let levels = levels(self.derived, error.evaluation_path().as_str());
                let or_text = levels.last().is_some_and(|schemas| {
                    let is_text = |schema: &&Value| schema["if"] == json!({ "type": "string" });
                    schemas.iter().any(is_text)
                });
                let text = if or_text { "a text or " } else { "" };
                self.wrong_type(at, &format!("{text}{wanted}"));
            }
            Kind::Enum { options } => {
                self.unknown_value(at, options.as_array().map_or(&[], Vec::as_slice), &schema);
            }
            Kind::Constant { expected_value } => {
                self.unknown_value(at, std::slice::from_ref(&**expected_value), &schema);
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.union((at, error.evaluation_path().as_str()), &schema, context)
            }
            Kind::FalseSchema => {
                self.add(
                    at,
                    Code::UnknownKey,
                    format!("{name} is not allowed here"),
                    None,
                );
            }
            Kind::PropertyNames { error } => {
                let message = format!("a key of {name} is not allowed: {}", error.masked());
                self.add(at, Code::BadFormat, message, None);
            }
            kind => {
                let node = self.root.at_pointer(at);
                let (code, message) = bound(kind, &name, node).unwrap_or_else(|| {
                    (
                        Code::BadShape,
                        format!("{name} is not valid: {}", error.masked_with("the value")),
                    )
                });
                self.add(at, code, message, None);
            }
        }
    }

    /// The schema that an error's keyword stands in.
    fn owner(&self, error: &ValidationError<'_>) -> Map<String, Value> {
        let place = error.schema_path().as_str();
        let owner = place.rsplit_once('/').map_or("", |(owner, _)| owner);
        self.derived
            .pointer(owner)
            .map(|schema| flatten(self.derived, schema))
            .unwrap_or_default()
    }

    fn add(&mut self, at: &str, code: Code, message: String, hint: Option<String>) {
        let span = match self.root.at_pointer(at).map(|n| &n.value) {
            None | Some(NodeValue::Null | NodeValue::Map(_) | NodeValue::Seq(_)) => {
                self.root.key_span(at)
            }
            Some(_) => self.root.locate(at),
        };
        self.found
            .push((Problem::error(code, span, message).maybe_hint(hint), None));
    }

    /// `path` is the evaluation path of the error.
    fn unknown_key(
        &mut self,
        (at, path): (&str, &str),
        key: &str,
        schemas: &[&Map<String, Value>],
    ) {
        let mut known: Vec<&str> = Vec::new();
        for (name, property) in schemas.iter().flat_map(|s| properties(s)) {
            known.push(name);
            known.extend(aliases(property, "x-aliases"));
        }
        let there = self.root.at_pointer(at);
        let is_free = |name: &&str| there.is_none_or(|node| node.get(name).is_none());
        let near = did_you_mean(key, known.iter().copied().filter(is_free));
        let fix =
            only_near(key, known.iter().copied().filter(is_free)).map(|right| TextFix::Name {
                wrong: key.to_owned(),
                right: right.to_owned(),
            });
        let derived = self.derived;
        let placed = self
            .placements
            .entry((path.to_owned(), key.to_owned()))
            .or_insert_with(|| placement(derived, schemas, (at, path), (key, near.is_some())))
            .clone();
        // A key that belongs elsewhere is not misspelt.
        let fix = fix.filter(|_| placed.is_none());
        let is_test = ["test", "tests", "assert", "asserts"].contains(&key);
        let fix = fix.filter(|_| !(is_test && self.is_functional_value(at)));
        let hint = match (placed, near) {
            _ if is_test && self.is_functional_value(at) => {
                let meant = ["function_name", "test_cases"];
                self.meant
                    .extend(meant.map(|meant| (at.to_owned(), meant.to_owned())));
                ASSERTS.to_owned()
            }
            (Some(Placement { hint, meant }), _) => {
                self.meant.extend(meant.map(|meant| (at.to_owned(), meant)));
                hint
            }
            (None, Some(near)) => {
                let names = meant_by(schemas, near);
                self.meant
                    .extend(names.map(|name| (at.to_owned(), name.to_owned())));
                format!("did you mean `{near}`?")
            }
            (None, None) if known.is_empty() => "no keys are allowed here".to_owned(),
            (None, None) => {
                let canonical = schemas
                    .iter()
                    .flat_map(|s| properties(s))
                    .map(|(name, _)| format!("`{name}`"));
                format!("valid keys: {}", listed(canonical))
            }
        };
        let span = there
            .and_then(|node| node.key_place(key))
            .unwrap_or_else(|| self.root.key_span(at));
        let shown = quoted(&Value::String(key.to_owned()));
        let problem = Problem::error(Code::UnknownKey, span, format!("unknown key {shown}"));
        self.found.push((problem.hint(hint).maybe_fix(fix), None));
    }

    fn missing(&mut self, at: &str, property: &Value, schema: &Map<String, Value>) {
        let key = property.as_str().unwrap_or_default();
        let lacks_case = key == "format" && self.is_dataset_without_case(at);
        let key = if lacks_case { "case" } else { key };
        let wanted = schema
            .get("properties")
            .and_then(|p| p.get(key))
            .map(|s| describe(self.derived, s));
        let short_forms: Vec<String> = properties(schema)
            .filter(|(_, property)| aliases(property, "x-instead-of").any(|place| place == key))
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        let hint = match wanted.filter(|wanted| wanted != "any value") {
            _ if lacks_case => Some("add `case: {input: ..., expected: ...}` with templates over `row.*`; for a benchmark, add its `format`, such as `humaneval`".to_owned()),
            _ if !short_forms.is_empty() => Some(format!(
                "add `{key}`, or its short form {}",
                short_forms.join(" or ")
            )),
            Some(wanted) if key == "type" => Some(self.of_type(at, schema, &wanted)),
            Some(wanted) => Some(format!("add `{key}`: {wanted}")),
            None => None,
        };
        let message = format!("{} lacks the key `{key}`", subject(at));
        let span = match self.root.at_pointer(at).map(|n| &n.value) {
            // An element of a list has no key: its first key shows where it begins.
            Some(NodeValue::Map(entries)) if self.root.key_span(at) == self.root.locate(at) => {
                entries
                    .first()
                    .map_or_else(|| self.root.key_span(at), |(first, _)| first.span)
            }
            _ => self.root.key_span(at),
        };
        let part = NonZeroU32::new(self.root.locate(at).start.saturating_add(1));
        let problem = Problem {
            part,
            ..Problem::error(Code::MissingKey, span, message).maybe_hint(hint)
        };
        self.found
            .push((problem, Some((at.to_owned(), key.to_owned()))));
    }

    /// True for a dataset whose format follows from its file name as soon as it has a `case`.
    fn is_dataset_without_case(&self, at: &str) -> bool {
        let dataset = self
            .root
            .at_pointer(at)
            .filter(|_| at.ends_with("/dataset"));
        dataset.is_some_and(|dataset| {
            let path = dataset.get("path").and_then(Node::as_text);
            dataset.get("case").is_none() && path.and_then(format_of_rows).is_some()
        })
    }

    /// True for the `value` of an expectation of type `functional`.
    fn is_functional_value(&self, at: &str) -> bool {
        let expected = at
            .strip_suffix("/value")
            .and_then(|at| self.root.at_pointer(at));
        let kind = expected.and_then(|expected| expected.get("type"));
        kind.and_then(Node::as_text) == Some("functional")
    }

    /// What to do about a map without `type`. A key of it may be a word that belongs there, and under
    /// `expected` it may be a literal.
    fn of_type(&self, at: &str, schema: &Map<String, Value>, wanted: &str) -> String {
        let there = self.root.at_pointer(at);
        let types = schema
            .get("properties")
            .and_then(|p| p.get("type")?.get("enum")?.as_array());
        let mut types = types.into_iter().flatten().filter_map(Value::as_str);
        let own = types.find(|word| there.is_some_and(|node| node.get(word).is_some()));
        match own {
            Some(word) => format!("write `{{type: {word}, ...}}`"),
            None if at.ends_with("/expected") => {
                format!("add `type`: {wanted}; a literal map is `{{type: exact, value: {{...}}}}`")
            }
            None => format!("add `type`: {wanted}"),
        }
    }

    fn wrong_type(&mut self, at: &str, wanted: &str) {
        let node = self.root.at_pointer(at);
        if self.is_word_of_command(at) && !at.ends_with("/0") {
            // Reported for the first word.
            return;
        }
        let name = subject(at);
        let (found, hint) = match node.map(|n| (n, &n.value)) {
            None | Some((_, NodeValue::Null)) => {
                let message = format!("{name} is empty: expected {wanted}");
                return self.add(at, Code::WrongType, message, None);
            }
            Some((node, NodeValue::Text(text))) => {
                let plain = crate::load::scalar::plain(text);
                let hint = match plain {
                    NodeValue::Number(_) if wanted.contains("number") => {
                        Some("remove the quotes".to_owned())
                    }
                    _ if self.is_functional_value(at) => Some(ASSERTS.to_owned()),
                    _ if at.ends_with("/current") || at.ends_with("/test_case") => Some(
                        "write `current: {input: ...}`, or its short form `input: ...`".to_owned(),
                    ),
                    _ if at.ends_with("/target") => {
                        Some("write `target: {type: model, model: \"PROVIDER:MODEL\"}`".to_owned())
                    }
                    _ if wanted.contains("true or false") => {
                        Some("write `true` or `false`".to_owned())
                    }
                    _ => self.right_shape(at, wanted, text),
                };
                (describe_found(node), hint)
            }
            Some((node, NodeValue::Number(_) | NodeValue::Bool(_))) => (
                describe_found(node),
                wanted
                    .contains("a text")
                    .then(|| "put quotes around it".to_owned()),
            ),
            Some((node, _)) => (describe_found(node), None),
        };
        self.add(
            at,
            Code::WrongType,
            format!("{name}: expected {wanted}, found {found}"),
            hint,
        );
        let fix = node.and_then(|node| other_quotes(node, wanted));
        if let Some((problem, _)) = self.found.pop() {
            self.found.push((problem.maybe_fix(fix), None));
        }
    }

    /// Whether a text is in a list of commands, with no other than texts beside it: it is a word, and
    /// the list around it is missing.
    fn is_word_of_command(&self, at: &str) -> bool {
        let list = at.rsplit_once('/').map(|(list, _)| list);
        let words = list
            .filter(|list| COMMANDS.iter().any(|key| list.ends_with(key)))
            .and_then(|list| self.root.at_pointer(list)?.as_seq());
        words.is_some_and(|words| words.iter().all(|word| word.as_text().is_some()))
    }

    /// How a text is written where a list or a map is wanted.
    fn right_shape(&self, at: &str, wanted: &str, text: &str) -> Option<String> {
        let key = at.rsplit('/').next()?;
        if wanted.contains("a text") && !wanted.starts_with("a list of texts") {
            return None;
        }
        if self.is_word_of_command(at) {
            let (list, _) = at.rsplit_once('/')?;
            let words = self.root.at_pointer(list)?.as_seq()?;
            let words: Vec<&str> = words.iter().filter_map(Node::as_text).collect();
            let key = list.rsplit('/').next()?;
            let commands = match words.iter().any(|word| word.contains(' ')) {
                true => words.iter().map(|text| as_command(text)).collect(),
                false => vec![flow_list(&words)],
            };
            let commands = commands.join(", ");
            return Some(format!("each command is a list: `{key}: [{commands}]`"));
        }
        let command = as_command(text);
        match key {
            "from" if at.ends_with("/workspace/from") => {
                Some(format!("write `from: {{dir: {}}}`", flow_word(text)))
            }
            _ if COMMANDS.iter().any(|key| at.ends_with(key)) => {
                Some(format!("write a list of commands: `{key}: [{command}]`"))
            }
            "command" | "compile" | "run" | "api_key_command" if wanted.starts_with("a list") => {
                Some(format!(
                    "write the program and its arguments as a list: `{key}: {command}`"
                ))
            }
            "args" if wanted.starts_with("a list") => {
                Some(format!("write a list: `{key}: {command}`"))
            }
            _ if wanted == "a list of texts" && key.parse::<usize>().is_err() => {
                Some(format!("write a list: `{key}: {}`", flow_list(&[text])))
            }
            _ => None,
        }
    }

    fn unknown_value(&mut self, at: &str, options: &[Value], schema: &Map<String, Value>) {
        let Some(text) = self.root.at_pointer(at).and_then(Node::as_text) else {
            let wanted = format!("one of {}", listed(options.iter().map(quoted)));
            return self.wrong_type(at, &wanted);
        };
        let schema = Value::Object(schema.clone());
        let known = options.iter().filter_map(Value::as_str);
        let known: Vec<&str> = known.chain(aliases(&schema, "x-tag-aliases")).collect();
        let shown = quoted(&Value::String(text.to_owned()));
        let message = match options {
            [only] => format!("{} must be {}, not {shown}", subject(at), quoted(only)),
            _ => format!(
                "{shown} is not a valid value of {}: expected one of {}",
                subject(at),
                listed(options.iter().map(quoted))
            ),
        };
        self.add(at, Code::UnknownValue, message, None);
        if let Some((problem, _)) = self.found.pop() {
            let mut problem = problem.near(text, known);
            if at.ends_with("/expected/type") {
                problem = problem.or_hint("a literal map is `{type: exact, value: {...}}`");
            }
            self.found.push((problem, None));
        }
    }

    /// A union that no discriminator tells apart: the branch that was most likely meant.
    fn union(
        &mut self,
        (at, path): (&str, &str),
        schema: &Map<String, Value>,
        context: &[Vec<ValidationError<'_>>],
    ) {
        let wanted = describe(self.derived, &Value::Object(schema.clone()));
        let Some(node) = self.root.at_pointer(at) else {
            return self.wrong_type(at, &wanted);
        };
        let listed_branches = schema
            .get("anyOf")
            .or_else(|| schema.get("oneOf"))
            .and_then(Value::as_array);
        let all = listed_branches.map_or(&[][..], Vec::as_slice);
        let fitting: Vec<(Map<String, Value>, &Vec<ValidationError<'_>>)> = all
            .iter()
            .zip(context)
            .map(|(branch, errors)| (flatten(self.derived, branch), errors))
            .filter(|(branch, _)| takes(self.derived, branch, node, 4))
            .collect();
        if fitting.is_empty() {
            return self.wrong_type(at, &wanted);
        }
        let schemas: Vec<&Map<String, Value>> = fitting.iter().map(|(branch, _)| branch).collect();
        if let (Some(entries), true) = (node.as_map(), fitting.len() > 1) {
            let unknown: Vec<String> = entries
                .iter()
                .filter(|(key, _)| {
                    !schemas
                        .iter()
                        .any(|s| properties(s).any(|(name, _)| *name == *key.name))
                })
                .map(|(key, _)| key.name.to_string())
                .collect();
            let open = schemas
                .iter()
                .any(|s| s.get("additionalProperties") != Some(&Value::Bool(false)));
            if !unknown.is_empty() && !open {
                return unknown
                    .iter()
                    .for_each(|key| self.unknown_key((at, path), key, &schemas));
            }
        }
        if let (Some(text), true) = (node.as_text(), fitting.len() > 1) {
            let options: Vec<Value> = schemas.iter().flat_map(|s| fixed(s)).collect();
            if !options.is_empty()
                && options.iter().all(|o| o != text)
                && schemas.iter().all(|s| !fixed(s).is_empty())
            {
                return self.unknown_value(at, &options, schema);
            }
        }
        if let Some((_, errors)) = fitting.iter().min_by_key(|(_, errors)| errors.len()) {
            self.errors(errors);
        }
    }
}

fn path<'a>(error: &'a ValidationError<'_>) -> &'a str {
    error.instance_path().as_str()
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// The key that a spelling stands for, and those whose place it takes.
fn meant_by<'s>(
    schemas: &[&'s Map<String, Value>],
    spelling: &'s str,
) -> impl Iterator<Item = &'s str> {
    let all = || schemas.iter().flat_map(|s| properties(s));
    let of = all()
        .find(|(name, _)| *name == spelling)
        .or_else(|| all().find(|(_, p)| aliases(p, "x-aliases").any(|a| a == spelling)));
    let places = of.map(|(_, property)| aliases(property, "x-instead-of"));
    let name = of.map_or(spelling, |(name, _)| name);
    std::iter::once(name).chain(places.into_iter().flatten())
}

/// A list of texts as YAML on one line.
fn flow_list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| flow_word(word)).collect();
    format!("[{}]", words.join(", "))
}

/// The words of a command, or a shell with the text where it has more than words.
pub(in crate::load) fn as_command(text: &str) -> String {
    match text.contains(['"', '\'', '|', '&', ';', '$', '<', '>', '`', '*']) {
        true => flow_list(&["sh", "-c", text]),
        false => flow_list(&text.split_whitespace().collect::<Vec<_>>()),
    }
}

fn flow_word(word: &str) -> String {
    let is_plain = word
        .chars()
        .all(|c| c.is_alphanumeric() || "_-./=+".contains(c));
    let stays_text = matches!(crate::load::scalar::plain(word), NodeValue::Text(_));
    match is_plain && stays_text && word != "-" {
        true => word.to_owned(),
        false => quoted_text(word),
    }
}

/// In double quotes, as in JSON.
fn quoted_text(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// The values that a schema lists.
fn fixed(schema: &Map<String, Value>) -> Vec<Value> {
    let one = schema.get("const").cloned();
    one.into_iter()
        .chain(
            schema
                .get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .cloned(),
        )
        .collect()
}

/// The value as the type that is wanted, where only its quotes are wrong or missing.
fn other_quotes(node: &Node, wanted: &str) -> Option<TextFix> {
    let (wrong, right) = match (&node.value, wanted) {
        (NodeValue::Number(_) | NodeValue::Bool(_), "a text") => {
            let plain = node.to_json().to_string();
            (plain.clone(), format!("\"{plain}\""))
        }
        (NodeValue::Text(text), "a number" | "a whole number") => {
            match crate::load::scalar::plain(text) {
                NodeValue::Number(number)
                    if wanted == "a number" || number.is_i64() || number.is_u64() =>
                {
                    (text.to_string(), text.to_string())
                }
                _ => return None,
            }
        }
        (NodeValue::Text(text), "true or false") => {
            let right = match text.to_ascii_lowercase().as_str() {
                "yes" | "on" | "true" => "true",
                "no" | "off" | "false" => "false",
                _ => return None,
            };
            (text.to_string(), right.to_owned())
        }
        _ => return None,
    };
    Some(TextFix::Value { wrong, right })
}

/// What a value is, with the value where it is short enough to help.
fn describe_found(node: &Node) -> String {
    match &node.value {
        NodeValue::Text(_) | NodeValue::Number(_) => {
            format!(
                "{} {}",
                node.kind().replacen("a ", "the ", 1),
                quoted(&node.to_json())
            )
        }
        NodeValue::Bool(b) => format!("`{b}`"),
        NodeValue::Special(name) => format!("`{name}`, which is not finite"),
        _ => node.kind().to_owned(),
    }
}

/// Whether a (flattened) schema takes values of this node's kind at all.
fn takes(root: &Value, schema: &Map<String, Value>, node: &Node, depth: usize) -> bool {
    if let (Some(inner), Some(depth)) = (branches(schema), depth.checked_sub(1)) {
        return inner
            .iter()
            .any(|branch| takes(root, &flatten(root, branch), node, depth));
    }
    let kinds: &[&str] = match &node.value {
        NodeValue::Null => &["null"],
        NodeValue::Bool(_) => &["boolean"],
        NodeValue::Number(_) => &["number", "integer"],
        NodeValue::Text(_) => &["string"],
        NodeValue::Seq(_) => &["array"],
        NodeValue::Map(_) | NodeValue::Special(_) => &["object"],
    };
    match schema.get("type") {
        Some(Value::String(one)) => kinds.contains(&one.as_str()),
        Some(Value::Array(many)) => many
            .iter()
            .filter_map(Value::as_str)
            .any(|t| kinds.contains(&t)),
        _ => {
            let values = fixed(schema);
            values.is_empty()
                || values.iter().any(|v| v.is_string()) && matches!(node.value, NodeValue::Text(_))
        }
    }
}

/// What to say of a bound that is broken.
fn bound(kind: &Kind, name: &str, node: Option<&Node>) -> Option<(Code, String)> {
    let number = || node.map_or_else(String::new, |n| format!(", found {}", quoted(&n.to_json())));
    let range = |words: &str, limit: &dyn std::fmt::Display| {
        let message = format!("{name} must be {words} {limit}{}", number());
        (Code::OutOfRange, message)
    };
    let size = |words: &str, limit: u64, what: &str| {
        let length = match node.map(|n| &n.value) {
            Some(NodeValue::Text(text)) => text.chars().count(),
            Some(NodeValue::Seq(items)) => items.len(),
            Some(NodeValue::Map(entries)) => entries.len(),
            _ => 0,
        };
        let s = if limit == 1 { "" } else { "s" };
        let message = format!("{name} {words} {limit} {what}{s}, but has {length}");
        (Code::WrongLength, message)
    };
    let (least, most) = ("needs at least", "may have at most");
    Some(match kind {
        Kind::Minimum { limit } => range("at least", limit),
        Kind::Maximum { limit } => range("at most", limit),
        Kind::ExclusiveMinimum { limit } => range("more than", limit),
        Kind::ExclusiveMaximum { limit } => range("less than", limit),
        Kind::MultipleOf { multiple_of } => range("a multiple of", multiple_of),
        Kind::MinLength { limit: 1 }
        | Kind::MinItems { limit: 1 }
        | Kind::MinProperties { limit: 1 } => {
            (Code::WrongLength, format!("{name} must not be empty"))
        }
        Kind::MinLength { limit } => size(least, *limit, "character"),
        Kind::MaxLength { limit } => size(most, *limit, "character"),
        Kind::MinItems { limit } => size(least, *limit, "element"),
        Kind::MaxItems { limit } => size(most, *limit, "element"),
        Kind::MinProperties { limit } => size(least, *limit, "key"),
        Kind::MaxProperties { limit } => size(most, *limit, "key"),
        Kind::UniqueItems => (
            Code::BadShape,
            format!("{name} contains the same element twice"),
        ),
        Kind::Pattern { pattern } => (
            Code::BadFormat,
            format!("{name} does not match the pattern `{pattern}`{}", number()),
        ),
        Kind::Format { format } => (
            Code::BadFormat,
            format!("{name} is not a valid {format}{}", number()),
        ),
        _ => return None,
    })
}
