//! The short way from a row to its case, for the usual template: a fixed shape in which the row
//! gives the id, the name, the prompt and the exact expectation, and nothing else.
//!
//! Whatever is fixed in such a template was judged with its first row, and what the row gives is
//! free text (or a number or boolean where any value is good), so that no other row can be judged
//! otherwise. That the texts really end where they are put here is tried with marked texts first. A
//! row that is in any way unusual goes the long way, and so does every row of any other template.

use minijinja::{Environment, Value as Jinja};
use serde::Serialize;
use serde_json::Value;

use super::cells::{TEXT_KEYS, TemplateCell, compile, lookup, row_path};
use crate::load::inputs::{grading_hashed, input_hashed, row_data_hash};
use crate::load::source::Span;
use crate::load::template::{has_template, to_jinja};
use crate::load::tree::{Node, NodeValue};
use crate::model::{
    Case, CaseInput, CodeGrader, ExactMatch, Fingerprint, Grader, GraderKind, JsonMatch,
};

/// Rows that are tried before a template is given up.
const TRIES: usize = 8;

/// What a row gives, where the template asks for it.
#[derive(Debug, Clone, Default, PartialEq)]
struct RowValues {
    id: Option<String>,
    name: Option<String>,
    prompt: Option<String>,
    expected: Option<Value>,
}

/// A place of the template that a row fills.
struct TemplateHole<'e> {
    cell: TemplateCell<'e>,
    /// Of a text: its parts, when it is made of nothing but plain ones.
    parts: Option<Vec<TextSegment>>,
    /// Numbers are written out here.
    is_text: bool,
    /// The way to it.
    path: &'static [&'static str],
}

enum TextSegment {
    Fixed(String),
    Row(Vec<String>, Span),
}

pub(super) struct DirectTemplate<'e> {
    id: Option<TemplateHole<'e>>,
    name: Option<TemplateHole<'e>>,
    prompt: Option<TemplateHole<'e>>,
    expected: Option<TemplateHole<'e>>,
    /// `input.context`, which is fixed.
    context: Option<Jinja>,
    max_latency_ms: Option<f64>,
    state: PatternState,
}

enum PatternState {
    Open { tries: usize },
    Known(Box<CasePattern>),
    GivenUp,
}

/// A case of the template, without what a row gives.
struct CasePattern {
    case: Case,
    /// The texts that are hashed, cut where a row's values go.
    input: CutJsonText,
    grading: CutJsonText,
}

impl<'e> DirectTemplate<'e> {
    /// `None` for a template that is not of the usual form. `max_latency_ms` is the file's.
    pub fn of(
        case: &'e Node,
        environment: &'e Environment<'static>,
        context: Option<&TemplateCell>,
        max_latency_ms: Option<f64>,
    ) -> Option<DirectTemplate<'e>> {
        let context = match context {
            None => None,
            Some(TemplateCell::Fixed(node)) => Some(to_jinja(&node.to_json())),
            Some(_) => return None,
        };
        let own_latency = match case.get("max_latency_ms").map(|node| &node.value) {
            Some(NodeValue::Number(n)) => n.as_f64(),
            _ => None,
        };
        let max_latency_ms = own_latency.or(max_latency_ms);
        let mut direct = DirectTemplate {
            id: None,
            name: None,
            prompt: None,
            expected: None,
            context,
            max_latency_ms,
            state: PatternState::Open { tries: 0 },
        };
        for (key, node) in case.as_map()?.iter().filter(|(_, node)| has_template(node)) {
            let is_map = node.as_map().is_some();
            let hole = |node, path| TemplateHole::of(node, environment, path);
            // A list where a text belongs makes no hole.
            match &*key.name {
                "id" => direct.id = Some(hole(node, &["id"])?),
                "name" => direct.name = Some(hole(node, &["name"])?),
                "input" if !is_map => direct.prompt = Some(hole(node, &["input"])?),
                "input" => {
                    let inner = only_hole(node, "prompt", "content")?;
                    direct.prompt = Some(hole(inner, &["input", "content"])?);
                }
                "expected" if !is_map => direct.expected = Some(hole(node, &["expected"])?),
                "expected" => {
                    let inner = only_hole(node, "exact", "value")?;
                    direct.expected = Some(hole(inner, &["expected", "value"])?);
                }
                _ => return None,
            }
        }
        Some(direct)
    }

    /// True as long as it is not known whether rows may take the short way.
    pub fn is_open(&self) -> bool {
        matches!(self.state, PatternState::Open { .. })
    }

    /// The case of a row, without its origin; `None` when the row has to go the long way.
    pub fn case(&self, row: &Value) -> Option<Case> {
        let PatternState::Known(pattern) = &self.state else {
            return None;
        };
        let case = pattern.build(self.gift(row)?);
        Some(Case {
            data_hash: row_data_hash(row, &case.input),
            ..case
        })
    }

    /// Learns from a row that went the long way: to `case`, by way of `filled`. `judge` goes that
    /// way with another filled template.
    pub fn learn(
        &mut self,
        row: &Value,
        case: &Case,
        filled: &Node,
        judge: &dyn Fn(Node) -> Option<Case>,
    ) {
        let PatternState::Open { tries } = self.state else {
            return;
        };
        // Which paths it names is looked at for every row.
        if case.workspace.is_some() {
            self.state = PatternState::GivenUp;
            return;
        }
        let Some(gift) = self.gift(row) else {
            self.state = if tries < TRIES {
                PatternState::Open { tries: tries + 1 }
            } else {
                PatternState::GivenUp
            };
            return;
        };
        let (marked, marks) = self.marked(filled);
        let known = judge(marked).and_then(|marked| {
            let pattern = CasePattern::of(&marked, &marks, self.max_latency_ms)?;
            (with_origin(pattern.build(marks), &marked) == marked
                && with_origin(pattern.build(gift), case) == *case)
                .then_some(pattern)
        });
        self.state = known.map_or(PatternState::GivenUp, |pattern| {
            PatternState::Known(Box::new(pattern))
        });
    }

    fn gift(&self, row: &Value) -> Option<RowValues> {
        let mut names = None;
        let mut value = |hole: &Option<TemplateHole>| match hole {
            None => Some(None),
            Some(hole) => hole.value(row, self.context.as_ref(), &mut names).map(Some),
        };
        let text = |value: Option<Value>| match value {
            None => Some(None),
            Some(Value::String(text)) => Some(Some(text)),
            Some(_) => None,
        };
        let id = text(value(&self.id)?)?;
        let name = text(value(&self.name)?)?;
        let prompt = text(value(&self.prompt)?)?;
        let expected = value(&self.expected)?;
        let bare = self
            .expected
            .as_ref()
            .is_some_and(|hole| hole.path.len() == 1);
        let usual = id.as_deref() != Some("")
            && prompt.as_ref().is_none_or(|text| !text.trim().is_empty())
            && (!bare || expected.as_ref().is_some_and(Value::is_string))
            // To a judge that has nothing else an empty text says nothing.
            && expected.as_ref().and_then(Value::as_str).is_none_or(|text| !text.trim().is_empty());
        usual.then_some(RowValues {
            id,
            name,
            prompt,
            expected,
        })
    }

    /// A filled template with marked texts in all holes, and those texts.
    fn marked(&self, filled: &Node) -> (Node, RowValues) {
        let mut node = filled.clone();
        let mut mark = |hole: &Option<TemplateHole>| {
            let hole = hole.as_ref()?;
            // Nobody writes texts of private characters.
            let text = format!("\u{E000}\u{F8FF}{}", hole.path.join("\u{E001}"));
            let place = hole
                .path
                .iter()
                .try_fold(&mut node, |node, key| node.get_mut(key))?;
            place.value = NodeValue::Text(text.as_str().into());
            Some(text)
        };
        let gift = RowValues {
            id: mark(&self.id),
            name: mark(&self.name),
            prompt: mark(&self.prompt),
            expected: mark(&self.expected).map(Value::String),
        };
        (node, gift)
    }
}

/// The value of `key` in a map that has the fixed tag `kind`, and in which nothing else is to be
/// filled in.
fn only_hole<'n>(node: &'n Node, kind: &str, key: &str) -> Option<&'n Node> {
    let fixed = node
        .as_map()?
        .iter()
        .all(|(k, v)| &*k.name == key || !has_template(v));
    let is_kind = node.get("type")?.as_text() == Some(kind);
    node.get(key).filter(|_| fixed && is_kind)
}

/// The case with what the row itself gives.
fn with_origin(case: Case, like: &Case) -> Case {
    Case {
        origin: like.origin.clone(),
        data_hash: like.data_hash,
        ..case
    }
}

impl<'e> TemplateHole<'e> {
    fn of(
        node: &'e Node,
        environment: &'e Environment<'static>,
        path: &'static [&'static str],
    ) -> Option<TemplateHole<'e>> {
        let cell = compile(environment, node).ok()?;
        let parts = match &cell {
            TemplateCell::Literal(_) | TemplateCell::Written(..) => return None,
            TemplateCell::Path(..) | TemplateCell::Lone(..) => None,
            TemplateCell::Text(..) => parts(node.as_text()?, node.span),
            TemplateCell::Fixed(_) | TemplateCell::Seq(..) | TemplateCell::Map(..) => return None,
        };
        let is_text = path.last().is_some_and(|key| TEXT_KEYS.contains(key));
        Some(TemplateHole {
            cell,
            parts,
            is_text,
            path,
        })
    }

    /// What a row puts in: a text, a number or a boolean; `None` for anything else, and for what
    /// can't be had.
    fn value(
        &self,
        row: &Value,
        context: Option<&Jinja>,
        names: &mut Option<Jinja>,
    ) -> Option<Value> {
        if let Some(text) = self.parts.as_ref().and_then(|parts| joined(parts, row)) {
            return Some(Value::String(text));
        }
        let value = match &self.cell {
            TemplateCell::Path(path, at) => lookup(row, path, *at).ok()?.clone(),
            TemplateCell::Text(template, _) => Value::String(
                template
                    .render(names.get_or_insert_with(|| scope(row, context)).clone())
                    .ok()?,
            ),
            TemplateCell::Lone(expression, _) => {
                let value = expression
                    .eval(names.get_or_insert_with(|| scope(row, context)).clone())
                    .ok()?;
                let value = Some(value).filter(|value| !value.is_undefined())?;
                serde_json::to_value(&value).ok()?
            }
            _ => return None,
        };
        match value {
            Value::String(text) => Some(Value::String(text)),
            Value::Number(n) if self.is_text => Some(Value::String(n.to_string())),
            Value::Bool(b) if self.is_text => Some(Value::String(b.to_string())),
            Value::Bool(_) => Some(value),
            // On the long way a case goes through serde, which makes a 0 of -0.
            Value::Number(_) => serde_json::from_value(value).ok(),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

fn scope(row: &Value, context: Option<&Jinja>) -> Jinja {
    let context = context.map(|context| ("context", context.clone()));
    Jinja::from_pairs([("row", to_jinja(row))].into_iter().chain(context))
}

/// The parts of a text in which nothing but `{{ row.x }}` is to be filled in.
fn parts(text: &str, at: Span) -> Option<Vec<TextSegment>> {
    if text.contains("{%") || text.contains("{#") {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((fixed, after)) = rest.split_once("{{") {
        let (expression, after) = after.split_once("}}")?;
        let path = row_path(expression.trim_matches(|c: char| c.is_ascii_whitespace()))?;
        let is_name = |key: &String| {
            key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && key.is_ascii()
        };
        path.iter().all(is_name).then_some(())?;
        parts.push(TextSegment::Fixed(fixed.to_owned()));
        parts.push(TextSegment::Row(path, at));
        rest = after;
    }
    parts.push(TextSegment::Fixed(rest.to_owned()));
    Some(parts)
}

/// The text, when all that is filled in is text: how numbers and lists are written is the template
/// engine's affair.
fn joined(parts: &[TextSegment], row: &Value) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TextSegment::Fixed(fixed) => text.push_str(fixed),
            TextSegment::Row(path, at) => text.push_str(lookup(row, path, *at).ok()?.as_str()?),
        }
    }
    Some(text)
}

impl CasePattern {
    /// From a case that was made with marked texts; `None` when one of them ended where it is more
    /// than a text.
    fn of(marked: &Case, marks: &RowValues, max_latency_ms: Option<f64>) -> Option<CasePattern> {
        let input = CutJsonText::of(&input_hashed(&marked.input), marks.prompt.as_deref());
        let mark = marks.expected.as_ref().and_then(Value::as_str);
        let grading = CutJsonText::of(
            &grading_hashed(&marked.grading, &marked.extract, max_latency_ms),
            mark,
        );
        let mut case = marked.clone();
        if let Some(mark) = &marks.expected {
            for grader in &mut case.grading.graders {
                let slot = slot(grader).filter(|value| *value == mark)?;
                *slot = Value::Null;
            }
            case.expected = None;
        }
        Some(CasePattern {
            case,
            input,
            grading,
        })
    }

    /// The case with what a row gives.
    fn build(&self, gift: RowValues) -> Case {
        let fixed = &self.case;
        let (input, input_hash) = match (gift.prompt, &fixed.input) {
            (Some(text), CaseInput::Prompt { context, .. }) => {
                let hash = self.input.hash(&text);
                (
                    CaseInput::Prompt {
                        text,
                        context: context.clone(),
                    },
                    hash,
                )
            }
            _ => (fixed.input.clone(), fixed.input_hash),
        };
        let mut grading = fixed.grading.clone();
        let mut hash = fixed.grading_hash;
        if let Some(value) = &gift.expected {
            grading
                .graders
                .iter_mut()
                .filter_map(slot)
                .for_each(|slot| slot.clone_from(value));
            hash = self.grading.hash(value);
        }
        Case {
            id: gift.id.unwrap_or_else(|| fixed.id.clone()),
            name: gift.name.or_else(|| fixed.name.clone()),
            input,
            context_told: fixed.context_told,
            grading,
            extract: fixed.extract.clone(),
            expected: gift.expected.or_else(|| fixed.expected.clone()),
            solution: fixed.solution.clone(),
            solution_work: None,
            dataset_format: None,
            baseline: None,
            workspace: None,
            tags: fixed.tags.clone(),
            target: fixed.target.clone(),
            origin: String::new(),
            input_hash,
            grading_hash: hash,
            data_hash: fixed.data_hash,
            samples: fixed.samples,
            timeout: fixed.timeout,
            retries: fixed.retries,
            max_latency: fixed.max_latency,
            difficulty: fixed.difficulty,
        }
    }
}

/// A JSON text that was cut where a marked text stood.
struct CutJsonText(Vec<Vec<u8>>);

impl CutJsonText {
    fn of(hashed: &impl Serialize, mark: Option<&str>) -> CutJsonText {
        let text = serde_json::to_string(hashed).unwrap_or_default();
        let mark = mark.and_then(|mark| serde_json::to_string(mark).ok());
        let parts = match &mark {
            Some(mark) => text
                .split(mark.as_str())
                .map(|part| part.as_bytes().to_vec())
                .collect(),
            None => vec![text.into_bytes()],
        };
        CutJsonText(parts)
    }

    /// What [`Fingerprint::of`] says of the whole, with this value in all cuts.
    fn hash(&self, value: &impl Serialize) -> Fingerprint {
        let mut text = Vec::with_capacity(512);
        for (at, part) in self.0.iter().enumerate() {
            if at > 0 && serde_json::to_writer(&mut text, value).is_err() {
                // A half-written value is no other case's whole one.
                text.push(0);
            }
            text.extend_from_slice(part);
        }
        Fingerprint::of_bytes(&text)
    }
}

/// Where a grader holds the case's expected value; `None` for graders that do more with it than to
/// compare.
fn slot(grader: &mut Grader) -> Option<&mut Value> {
    match &mut grader.kind {
        GraderKind::Code(
            CodeGrader::ExactMatch(ExactMatch { any_of, .. })
            | CodeGrader::Json(JsonMatch { any_of, .. }),
        ) => any_of.first_mut(),
        GraderKind::Model(judge) => judge.reference.as_mut(),
        GraderKind::Human { expected, .. } => expected.as_mut(),
        GraderKind::Code(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::load::problem::Problems;
    use crate::load::source::SourceFiles;
    use crate::load::{template, tree};
    use crate::model::testing;
    use crate::spec::{CaseSpec, schema_of};

    /// What goes the short way is not held against the schema: this must be all that it says of it.
    #[test]
    fn the_schema_asks_nothing_of_the_texts_that_are_taken_over() {
        let schema = schema_of::<CaseSpec>();
        let asked = |pointer: &str| {
            let mut asked = schema.pointer(pointer).cloned().unwrap_or_default();
            asked
                .as_object_mut()
                .into_iter()
                .for_each(|words| drop(words.remove("description")));
            asked
        };
        assert_eq!(
            asked("/properties/id"),
            json!({ "type": "string", "minLength": 1 })
        );
        assert_eq!(
            asked("/properties/name"),
            json!({ "type": ["string", "null"] })
        );
        assert_eq!(
            asked("/$defs/InputSpec/oneOf/0/properties/type"),
            json!({ "type": "string", "const": "prompt" })
        );
        assert_eq!(
            asked("/$defs/InputSpec/oneOf/0/properties/content"),
            json!({ "type": "string" })
        );
        assert_eq!(
            asked("/$defs/ExpectedSpec/oneOf/0/properties/type"),
            json!({ "type": "string", "const": "exact" })
        );
        assert_eq!(
            asked("/$defs/ExpectedSpec/oneOf/0/properties/value"),
            json!({})
        );
    }

    fn shape(case: &str) -> String {
        let mut sources = SourceFiles::new();
        let file = sources.add("case", case);
        let node = tree::parse(&sources, file, &mut Problems::new()).unwrap();
        let environment = template::environment(true);
        let Some(direct) = DirectTemplate::of(&node, &environment, None, None) else {
            return "none".to_owned();
        };
        let holes = [&direct.id, &direct.name, &direct.prompt, &direct.expected];
        holes
            .into_iter()
            .flatten()
            .map(|hole| hole.path.join("/"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn the_short_way_is_for_templates_of_the_usual_form() {
        let table = [
            (
                "{id: '{{ row.a }}', input: '{{ row.b }}', expected: '{{ row.c }}'}",
                "id input expected",
            ),
            (
                "{id: x, name: '{{ row.n }}', input: {type: prompt, content: 'a {{ row.b }}'}}",
                "name input/content",
            ),
            (
                "{id: x, expected: {type: exact, value: '{{ row.c }}', alternatives: [1]}, tags: [a]}",
                "expected/value",
            ),
            (
                "{id: x, expected: {type: exact, value: '{{ row.c }}', alternatives: ['{{ row.d }}']}}",
                "none",
            ),
            (
                "{id: x, expected: {type: numeric, value: '{{ row.c }}'}}",
                "none",
            ),
            (
                "{id: x, expected: {type: '{{ row.t }}', value: '{{ row.c }}'}}",
                "none",
            ),
            (
                "{id: x, input: {type: file, content: '{{ row.b }}'}}",
                "none",
            ),
            ("{id: x, input: ['{{ row.b }}']}", "none"),
            ("{id: x, tags: ['{{ row.t }}']}", "none"),
            ("{id: x, difficulty: '{{ row.d }}'}", "none"),
        ];
        for (case, expected) in table {
            assert_eq!(shape(case), expected, "of {case}");
        }
    }

    #[test]
    fn a_template_is_learnt_from_a_row_and_unusual_rows_are_left_to_the_long_way() {
        let text = "{id: '{{ row.a }}', input: 'Say {{ row.b }}'}";
        let mut sources = SourceFiles::new();
        let file = sources.add("case", text);
        let node = tree::parse(&sources, file, &mut Problems::new()).unwrap();
        let environment = template::environment(true);
        let mut direct = DirectTemplate::of(&node, &environment, None, None).unwrap();
        let of = |node: &Node| {
            let input = CaseInput::Prompt {
                text: node.get("input").unwrap().as_text().unwrap().to_owned(),
                context: None,
            };
            Case {
                input_hash: crate::load::inputs::input_hash(&input),
                input,
                ..testing::case(node.get("id").unwrap().as_text().unwrap())
            }
        };
        let row = json!({ "a": "1", "b": "x" });
        let mut filled = node.clone();
        filled.get_mut("id").unwrap().value = NodeValue::Text("1".into());
        filled.get_mut("input").unwrap().value = NodeValue::Text("Say x".into());
        assert!(direct.case(&row).is_none() && direct.is_open());
        let case = of(&filled);
        direct.learn(&row, &case, &filled, &|node| Some(of(&node)));
        assert_eq!(
            direct.case(&row).map(|found| with_origin(found, &case)),
            Some(case)
        );
        let prompt = |row: Value| {
            direct
                .case(&row)
                .map(|case| serde_json::to_value(case.input).unwrap()["prompt"]["text"].clone())
        };
        assert_eq!(prompt(json!({ "a": 7, "b": 1.5 })), Some(json!("Say 1.5")));
        for unusual in [
            json!({ "a": "", "b": "x" }),
            json!({ "a": null, "b": "x" }),
            json!({ "a": "1" }),
            json!({ "b": "x" }),
        ] {
            assert_eq!(prompt(unusual), None);
        }
        // What the marked texts do not show as they are put in is not believed.
        let mut direct = DirectTemplate::of(&node, &environment, None, None).unwrap();
        let twisted = of(&filled);
        direct.learn(&row, &twisted, &filled, &|node| {
            Some(Case {
                name: Some(node.get("id")?.as_text()?.to_owned()),
                ..of(&node)
            })
        });
        assert!(direct.case(&row).is_none() && !direct.is_open());
    }
}
