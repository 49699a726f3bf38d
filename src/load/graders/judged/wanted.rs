//! What an output is held against besides the rubric: a reference, and what it must and must not
//! say.

use serde_json::{Map, Value, json};

use crate::graders::settings::{CaseExpectation, PlacedExpectation, without_nulls};
use crate::load::problem::{Code, Problem};
use crate::load::scope::SuiteDesk;
use crate::load::source::Span;
use crate::load::tree::Node;
use crate::spec::{ExpectedSpec, JsonExpected, NumericExpected, SemanticExpected};
use eval_match::without_literals;

/// The keys that make a semantic expectation one of things that are said.
const ITEM_KEYS: [&str; 2] = ["must_include", "must_not_include"];

/// The rubric of a case that has a reference and no rubric.
pub(super) const OF_REFERENCE: &str = "Does the output say what the reference says? Judge the meaning, not the wording, the order or the \
length. A good output says everything that matters in the reference and contradicts none of it. An output that leaves out something \
that matters, or contradicts it, is a bad one, however well it is written. What it says beyond the reference counts only when it is wrong.";
/// The rubric of a case that only says what must be and must not be said.
pub(super) const OF_ITEMS: &str = "Does the output say everything that it must say, in whatever words, and nothing that it must not say?";

/// Empty where nothing is expected.
#[derive(Debug, Default, PartialEq)]
pub(super) struct JudgeExpectation {
    pub reference: Option<Value>,
    pub alternatives: Vec<Value>,
    pub must_include: Vec<String>,
    pub must_not_include: Vec<String>,
}

impl JudgeExpectation {
    pub fn has_items(&self) -> bool {
        !(self.must_include.is_empty() && self.must_not_include.is_empty())
    }
}

/// Whether a reference holds nothing that an output could say.
pub(super) fn says_nothing(reference: &Value) -> bool {
    match reference {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(says_nothing),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a semantic expectation says what must be said, in place of a reference.
fn items_of(semantic: &SemanticExpected) -> Option<&Map<String, Value>> {
    semantic
        .value
        .as_object()
        .filter(|map| ITEM_KEYS.iter().any(|key| map.contains_key(*key)))
}

/// `None` after saying what is wrong.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    CaseExpectation {
        expected, baseline, ..
    }: CaseExpectation,
) -> Option<JudgeExpectation> {
    let Some(expected) = expected else {
        // Matchers stay as they are: the judge is shown them, and they mean nothing more.
        return Some(JudgeExpectation {
            reference: baseline.map(without_literals),
            ..JudgeExpectation::default()
        });
    };
    if let ExpectedSpec::Semantic(semantic) = expected.spec
        && let Some(items) = items_of(semantic)
    {
        return of_items(desk, semantic, items, &expected);
    }
    if let ExpectedSpec::Semantic(semantic) = expected.spec
        && semantic.value.as_object().is_some_and(Map::is_empty)
    {
        // Such as a row leaves of `must_include: "{{ row.x }}"` when it has none.
        let message = "the expected value is empty: it requires nothing and forbids nothing";
        let hint =
            "write at least one text under `must_include` or `must_not_include`, or a reference";
        return desk
            .refuse(Problem::error(Code::GraderIncomplete, expected.span, message).hint(hint));
    }
    let mut values = match expected.spec {
        ExpectedSpec::Contains(contains) => std::iter::once(&contains.value)
            .chain(&contains.alternatives)
            .filter_map(|value| serde_json::to_value(value).ok().map(without_nulls))
            .collect(),
        _ => expected.values(),
    }
    .into_iter();
    let reference = values.next().or_else(|| of_bounds(expected.spec));
    Some(JudgeExpectation {
        reference,
        alternatives: values.collect(),
        ..JudgeExpectation::default()
    })
}

/// Of an expectation without a value: what else it asks for.
fn of_bounds(expected: &ExpectedSpec) -> Option<Value> {
    match expected {
        ExpectedSpec::Numeric(NumericExpected { min, max, .. }) => {
            Some(without_nulls(json!({"min": min, "max": max})))
        }
        ExpectedSpec::Json(JsonExpected {
            schema: Some(schema),
            ..
        }) => Some(json!({"schema": schema})),
        _ => None,
    }
}

fn of_items(
    desk: &mut SuiteDesk,
    semantic: &SemanticExpected,
    items: &Map<String, Value>,
    expected: &PlacedExpectation,
) -> Option<JudgeExpectation> {
    let value = expected.node.and_then(|node| node.get("value"));
    let at = |key: &str| {
        value
            .and_then(|node| node.get(key))
            .map_or(expected.span, |node| node.span)
    };
    let mut whole = true;
    if !semantic.alternatives.is_empty() {
        let at = expected
            .node
            .map_or(expected.span, |node| node.key_span("/alternatives"));
        let message = "`alternatives` needs a reference text, but the value lists what outputs must or must not include";
        desk.push(Problem::error(Code::GraderConflict, at, message).hint("remove `alternatives`"));
        whole = false;
    }
    let must_include = texts(
        desk,
        items.get("must_include"),
        at("must_include"),
        node_of(value, "must_include"),
    );
    let must_not_include = texts(
        desk,
        items.get("must_not_include"),
        at("must_not_include"),
        node_of(value, "must_not_include"),
    );
    let wanted = JudgeExpectation {
        must_include: must_include?,
        must_not_include: must_not_include?,
        ..JudgeExpectation::default()
    };
    if whole && !wanted.has_items() {
        let message =
            "the expected value requires nothing and forbids nothing, so every output would pass";
        let hint = "write at least one text under `must_include` or `must_not_include`";
        desk.push(Problem::error(Code::GraderIncomplete, at("must_include"), message).hint(hint));
        whole = false;
    }
    let both = wanted
        .must_include
        .iter()
        .find(|text| wanted.must_not_include.contains(text));
    if let Some(text) = both {
        let message = format!("`{text}` is in both `must_include` and `must_not_include`");
        desk.push(Problem::error(
            Code::GraderConflict,
            at("must_not_include"),
            message,
        ));
        whole = false;
    }
    whole.then_some(wanted)
}

fn node_of<'n>(value: Option<&'n Node>, key: &str) -> Option<&'n Node> {
    value.and_then(|value| value.get(key))
}

/// A text or a list of texts, none of them empty; `None` after saying what is wrong.
fn texts(
    desk: &mut SuiteDesk,
    written: Option<&Value>,
    at: Span,
    node: Option<&Node>,
) -> Option<Vec<String>> {
    let all: Vec<&Value> = match written {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(all)) => all.iter().collect(),
        Some(one) => vec![one],
    };
    let mut texts = Vec::new();
    for (i, value) in all.iter().enumerate() {
        let at = node
            .and_then(Node::as_seq)
            .and_then(|items| items.get(i))
            .map_or(at, |item| item.span);
        match value {
            Value::String(text) if !text.trim().is_empty() => texts.push(text.clone()),
            Value::String(_) => {
                desk.push(Problem::error(
                    Code::GraderIncomplete,
                    at,
                    "every output contains the empty text, so it tests nothing",
                ));
            }
            other => {
                let message = format!(
                    "an element must be a text, not {}",
                    serde_json::to_string(other).unwrap_or_default()
                );
                desk.push(Problem::error(Code::WrongType, at, message));
            }
        }
    }
    (texts.len() == all.len()).then_some(texts)
}
