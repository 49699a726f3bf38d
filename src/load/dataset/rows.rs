//! Rows through a `case:` template: compiled once, filled for each row, then judged like a case that is written.

use std::path::Path;

use minijinja::{Environment, Expression, Value as Jinja};
use serde_json::{Map, Value};

use super::Intake;
use super::records::{self, Layout};
use crate::load::evals::{Draft, Header, finish};
use crate::load::infer::infer_case;
use crate::load::problem::{Code, Problem, Problems, Severity, did_you_mean};
use crate::load::schema::Validator;
use crate::load::scope::Desk;
use crate::load::session::case_validator;
use crate::load::source::Span;
use crate::load::template::{self, Engine, has_template, is_template, lone_expression, to_jinja};
use crate::load::tree::{Key, Node, NodeValue};
use crate::spec::CaseSpec;

/// Keys whose values are texts, so that a row's number is written out there.
const TEXT_KEYS: [&str; 6] = ["id", "name", "description", "content", "endpoint", "input"];

pub(super) fn load(
    desk: &mut Desk,
    node: &mut Node,
    file: &Path,
    layout: Layout,
    limit: Option<usize>,
    header: &Header,
    intake: &mut Intake,
) {
    let (Some(validator), Some(case)) = (case_validator(), node.get_mut("case")) else { return };
    if !check_template(desk, validator, case) {
        intake.rows += 1;
        return;
    }
    let engine = Engine::new(&desk.suite.templates);
    let mut environment = template::environment(true);
    for (name, value) in engine.globals() {
        environment.add_global(name.to_owned(), value.clone());
    }
    let cell = match compile(&environment, case) {
        Ok(cell) => cell,
        Err(problem) => {
            desk.push(*problem);
            intake.rows += 1;
            return;
        }
    };
    let context = case.at_pointer("/input/context").cloned();
    let context = context.as_ref().and_then(|c| compile(&environment, c).ok());
    let read = records::each(file, layout, &mut |line, record| {
        if limit.is_some_and(|limit| intake.rows >= limit) {
            return false;
        }
        intake.rows += 1;
        match record {
            Err(reason) => intake.refuse(desk, line, None, &reason, None),
            Ok(row) => one_row(desk, validator, &cell, context.as_ref(), row, line, header, intake),
        }
        true
    });
    if let Err(error) = read {
        let message = format!("`{}` {error}", intake.file);
        desk.push(Problem::error(Code::DatasetUnreadable, intake.at, message));
        intake.rows += 1;
    }
}

/// Checks the template itself: its keys, and every name that is not the row's.
fn check_template(desk: &mut Desk, validator: &Validator, case: &mut Node) -> bool {
    let mut found = Problems::new();
    validator.normalise(desk.sources, case, &mut found);
    validator.validate(case, &mut found);
    let mut templates = Vec::new();
    texts(case, &mut templates);
    // What a row will put in is judged with the row.
    let known: Vec<Problem> = found
        .into_iter()
        .filter(|p| p.span.is_none_or(|s| !templates.iter().any(|(_, t)| *t == s)))
        .collect();
    let mut whole = !known.iter().any(|p| p.severity == Severity::Error);
    desk.problems.extend(known);
    let engine = Engine::new(&desk.suite.templates);
    for (text, span) in templates {
        whole &= engine.check(&text, span, &["row", "context"], desk.sources, desk.problems);
    }
    whole
}

fn texts(node: &Node, out: &mut Vec<(String, Span)>) {
    match &node.value {
        NodeValue::Text(text) if is_template(text) => out.push((text.to_string(), node.span)),
        NodeValue::Seq(items) => items.iter().for_each(|n| texts(n, out)),
        NodeValue::Map(entries) => entries.iter().for_each(|(_, n)| texts(n, out)),
        _ => {}
    }
}

/// A part of the template.
enum Cell<'e> {
    Fixed(Node),
    /// `{{ row.a.b }}` alone: the value as it is.
    Path(Vec<String>, Span),
    /// Any other lone expression: its value.
    Lone(Expression<'e, 'static>, Span),
    Text(minijinja::Template<'e, 'e>, Span),
    Seq(Vec<Cell<'e>>, Span),
    Map(Vec<(Key, Cell<'e>)>, Span),
}

fn compile<'e>(environment: &'e Environment<'static>, node: &'e Node) -> Result<Cell<'e>, Box<Problem>> {
    if !has_template(node) {
        return Ok(Cell::Fixed(node.clone()));
    }
    let bad = |error: minijinja::Error| Box::new(template::bad_template(&error, node.span));
    Ok(match &node.value {
        NodeValue::Text(text) => match lone_expression(text) {
            Some(expression) => match row_path(expression) {
                Some(path) => Cell::Path(path, node.span),
                None => {
                    let compiled =
                        environment.compile_expression_owned(expression.to_owned()).map_err(bad)?;
                    Cell::Lone(compiled, node.span)
                }
            },
            None => Cell::Text(environment.template_from_named_str("case", text).map_err(bad)?, node.span),
        },
        NodeValue::Seq(items) => {
            let cells = items.iter().map(|item| compile(environment, item)).collect::<Result<_, _>>()?;
            Cell::Seq(cells, node.span)
        }
        NodeValue::Map(entries) => {
            let cells = entries
                .iter()
                .map(|(key, value)| compile(environment, value).map(|cell| (key.clone(), cell)))
                .collect::<Result<_, _>>()?;
            Cell::Map(cells, node.span)
        }
        _ => Cell::Fixed(node.clone()),
    })
}

/// `row.a.b` as its keys.
fn row_path(expression: &str) -> Option<Vec<String>> {
    let mut parts = expression.split('.');
    let plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let path: Vec<String> = (parts.next()? == "row").then(|| parts.map(str::to_owned).collect())?;
    (!path.is_empty() && path.iter().all(|p| plain(p))).then_some(path)
}

/// What is wrong with a row, and where in the template.
struct Misfit {
    at: Span,
    message: String,
    hint: Option<String>,
}

fn fill(cell: &Cell, row: &Value, context: &Jinja) -> Result<Node, Misfit> {
    Ok(match cell {
        Cell::Fixed(node) => node.clone(),
        Cell::Path(path, span) => from_json(lookup(row, path, *span)?, *span),
        Cell::Lone(expression, span) => {
            let value = expression.eval(context).map_err(|e| misfit(&e, *span, row))?;
            if value.is_undefined() {
                return Err(Misfit {
                    at: *span,
                    message: "the expression has no value".to_owned(),
                    hint: None,
                });
            }
            from_json(&serde_json::to_value(&value).unwrap_or(Value::Null), *span)
        }
        Cell::Text(template, span) => {
            let text = template.render(context).map_err(|e| misfit(&e, *span, row))?;
            Node { span: *span, value: NodeValue::Text(text.into()) }
        }
        Cell::Seq(cells, span) => {
            let items = cells.iter().map(|c| fill(c, row, context)).collect::<Result<_, _>>()?;
            Node { span: *span, value: NodeValue::Seq(items) }
        }
        Cell::Map(cells, span) => {
            let mut entries = Vec::with_capacity(cells.len());
            for (key, cell) in cells {
                let mut value = fill(cell, row, context)?;
                if TEXT_KEYS.contains(&&*key.name) && !matches!(cell, Cell::Fixed(_)) {
                    spell_out(&mut value);
                }
                entries.push((key.clone(), value));
            }
            Node { span: *span, value: NodeValue::Map(entries) }
        }
    })
}

fn lookup<'r>(row: &'r Value, path: &[String], at: Span) -> Result<&'r Value, Misfit> {
    let mut here = row;
    for (i, part) in path.iter().enumerate() {
        let next = match here {
            Value::Array(items) => part.parse::<usize>().ok().and_then(|at| items.get(at)),
            other => other.get(part),
        };
        here = next.ok_or_else(|| {
            let known = here.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
            let parent =
                path.get(..i).unwrap_or(&[]).iter().fold("row".to_owned(), |p, k| format!("{p}.{k}"));
            Misfit {
                at,
                message: format!("the row has no `{parent}.{part}`"),
                hint: did_you_mean(part, known).map(|near| format!("did you mean `{parent}.{near}`?")),
            }
        })?;
    }
    Ok(here)
}

fn misfit(error: &minijinja::Error, at: Span, row: &Value) -> Misfit {
    if error.kind() == minijinja::ErrorKind::UndefinedError {
        let keys: Vec<&str> = row.as_object().into_iter().flatten().map(|(k, _)| k.as_str()).collect();
        let name = error
            .range()
            .and_then(|r| error.template_source().and_then(|s| s.get(r)).map(str::to_owned))
            .map_or_else(|| "a name".to_owned(), |name| format!("`{name}`"));
        let message = format!("{name} of the template is not in the row");
        return Misfit { at, message, hint: Some(format!("the row's keys are {}", keys.join(", "))) };
    }
    Misfit { at, message: format!("the template cannot be rendered: {error}"), hint: None }
}

/// A row's value as a tree that stands where the template stands.
fn from_json(value: &Value, span: Span) -> Node {
    let value = match value {
        Value::Null => NodeValue::Null,
        Value::Bool(b) => NodeValue::Bool(*b),
        Value::Number(n) => NodeValue::Number(n.clone()),
        Value::String(s) => NodeValue::Text(s.as_str().into()),
        Value::Array(items) => NodeValue::Seq(items.iter().map(|v| from_json(v, span)).collect()),
        Value::Object(map) => NodeValue::Map(
            map.iter().map(|(k, v)| (Key { name: k.as_str().into(), span }, from_json(v, span))).collect(),
        ),
    };
    Node { span, value }
}

fn spell_out(node: &mut Node) {
    let text = match &node.value {
        NodeValue::Number(n) => n.to_string(),
        NodeValue::Bool(b) => b.to_string(),
        _ => return,
    };
    node.value = NodeValue::Text(text.into());
}

#[allow(clippy::too_many_arguments)] // one row's whole surroundings; a struct would be filled and emptied once
fn one_row(
    desk: &mut Desk,
    validator: &Validator,
    cell: &Cell,
    context_cell: Option<&Cell>,
    row: Map<String, Value>,
    line: usize,
    header: &Header,
    intake: &mut Intake,
) {
    let row = Value::Object(row);
    let mut names = vec![("row", to_jinja(&row))];
    if let Some(cell) = context_cell {
        match fill(cell, &row, &Jinja::from_pairs(names.clone())) {
            Ok(context) => names.push(("context", to_jinja(&context.to_json()))),
            Err(m) => return intake.refuse(desk, line, Some(m.at), &m.message, m.hint),
        }
    }
    let mut node = match fill(cell, &row, &Jinja::from_pairs(names)) {
        Ok(node) => node,
        Err(m) => return intake.refuse(desk, line, Some(m.at), &m.message, m.hint),
    };
    let mut found = Problems::new();
    // The file's graders hold for a case that has none, whatever its expectation would mean.
    let own = node.get("grader").is_some() || node.get("graders").is_some();
    if own || header.written.is_empty() {
        infer_case(&mut node, &mut found);
    }
    validator.normalise(desk.sources, &mut node, &mut found);
    let origin = intake.origin(line);
    let mut case = None;
    if let Some(json) = validator.validate(&node, &mut found) {
        match serde_json::from_value::<CaseSpec>(json) {
            Ok(spec) => {
                let mut inner =
                    Desk { sources: desk.sources, problems: &mut found, suite: desk.suite, dir: desk.dir };
                case = finish(&mut inner, Draft { spec, node: &node, origin }, header);
            }
            Err(error) => found.push(Problem::error(Code::BadShape, node.span, error.to_string())),
        }
    }
    if let Some(first) = found.iter().find(|p| p.severity == Severity::Error) {
        return intake.refuse(desk, line, first.span, &first.message, first.hint.clone());
    }
    let Some(case) = case else { return };
    if intake.claim(desk, &case.id, line) {
        intake.add(case);
    }
}
