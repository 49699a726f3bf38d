//! The parts of a `case:` template, compiled once and filled for each row.

use minijinja::{Environment, Expression, Value as Jinja};
use serde_json::Value;

use super::RowMisfit;
use crate::load::problem::Problem;
use crate::load::source::Span;
use crate::load::template::{self, has_template, lone_expression};
use crate::load::tree::{MappingKey, Node, NodeValue};
use eval_base::nearest::did_you_mean;
use eval_match::{literal, validate_matcher};

/// Keys whose values are texts, so that a row's number is written out there.
pub(super) const TEXT_KEYS: [&str; 6] =
    ["id", "name", "description", "content", "endpoint", "input"];

/// Keys below which everything is data that is compared or passed on: there a row's number stays a
/// number, whatever key it stands under.
const DATA_KEYS: [&str; 7] = [
    "expected",
    "solution",
    "value",
    "alternatives",
    "context",
    "body",
    "args",
];

/// Settings of a judge whose braces are none of a row's.
const OF_JUDGES: [&str; 3] = ["prompt", "examples", "request"];

/// Where in a template a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateRegion {
    /// The case itself.
    Case,
    Other,
    /// The case's workspace.
    Workspace,
    /// Its files and environment variables, which are texts.
    WorkspaceTexts,
    /// In the expectation or a grader.
    Judging,
    /// In a known-good structure: what the author wrote as a matcher is one, what a row gives never
    /// is.
    Structure,
    /// What a judge is asked with: filled when it is asked.
    Asked,
}

impl TemplateRegion {
    /// The part that stands under a key of a map.
    pub fn under(self, map: &Node, key: &str) -> TemplateRegion {
        let says = |key: &str, word: &str| map.get(key).and_then(Node::as_text) == Some(word);
        match self {
            TemplateRegion::Case if ["expected", "grader", "graders"].contains(&key) => {
                TemplateRegion::Judging
            }
            TemplateRegion::Case if key == "workspace" => TemplateRegion::Workspace,
            TemplateRegion::Workspace if ["files", "env"].contains(&key) => {
                TemplateRegion::WorkspaceTexts
            }
            TemplateRegion::Case | TemplateRegion::Workspace | TemplateRegion::Other => {
                TemplateRegion::Other
            }
            TemplateRegion::WorkspaceTexts => self,
            TemplateRegion::Judging
                if key == "value"
                    && (says("type", "structural") || says("method", "structural_match")) =>
            {
                TemplateRegion::Structure
            }
            TemplateRegion::Judging
                if OF_JUDGES.contains(&key)
                    && ["model", "models"].iter().any(|who| map.get(who).is_some()) =>
            {
                TemplateRegion::Asked
            }
            TemplateRegion::Judging | TemplateRegion::Structure | TemplateRegion::Asked => self,
        }
    }

    /// Whether a text of the template is a matcher and so no template.
    pub fn is_matcher(self, text: &str) -> bool {
        self == TemplateRegion::Structure && validate_matcher(text).is_some()
    }
}

/// A part of the template.
pub(super) enum TemplateCell<'e> {
    Fixed(Node),
    /// Texts of it are written so that they mean themselves.
    Literal(Box<TemplateCell<'e>>),
    /// A value that is written out as a text.
    Written(Box<TemplateCell<'e>>, Span),
    /// `{{ row.a.b }}` alone: the value as it is.
    Path(Vec<String>, Span),
    /// Any other lone expression: its value.
    Lone(Expression<'e, 'static>, Span),
    Text(minijinja::Template<'e, 'e>, Span),
    Seq(Vec<TemplateCell<'e>>, Span),
    Map(Vec<(MappingKey, TemplateCell<'e>)>, Span),
}

pub(super) fn compile<'e>(
    environment: &'e Environment<'static>,
    node: &'e Node,
) -> Result<TemplateCell<'e>, Box<Problem>> {
    compile_part(environment, node, TemplateRegion::Case)
}

fn compile_part<'e>(
    environment: &'e Environment<'static>,
    node: &'e Node,
    part: TemplateRegion,
) -> Result<TemplateCell<'e>, Box<Problem>> {
    let matcher = node.as_text().is_some_and(|text| part.is_matcher(text));
    if matcher || part == TemplateRegion::Asked || !has_template(node) {
        return Ok(TemplateCell::Fixed(node.clone()));
    }
    if part == TemplateRegion::Structure && node.as_text().is_some() {
        return Ok(TemplateCell::Literal(Box::new(compile_part(
            environment,
            node,
            TemplateRegion::Judging,
        )?)));
    }
    if part == TemplateRegion::WorkspaceTexts && node.as_text().is_some() {
        let cell = compile_part(environment, node, TemplateRegion::Other)?;
        return Ok(TemplateCell::Written(Box::new(cell), node.span));
    }
    let bad = |error: minijinja::Error| Box::new(template::bad_template(&error, node.span));
    Ok(match &node.value {
        NodeValue::Text(text) => match lone_expression(text) {
            Some(expression) => match row_path(expression) {
                Some(path) => TemplateCell::Path(path, node.span),
                None => {
                    let compiled = environment
                        .compile_expression_owned(expression.to_owned())
                        .map_err(bad)?;
                    TemplateCell::Lone(compiled, node.span)
                }
            },
            None => TemplateCell::Text(
                environment
                    .template_from_named_str("case", text)
                    .map_err(bad)?,
                node.span,
            ),
        },
        NodeValue::Seq(items) => {
            let cells = items
                .iter()
                .map(|item| compile_part(environment, item, part))
                .collect::<Result<_, _>>()?;
            TemplateCell::Seq(cells, node.span)
        }
        NodeValue::Map(entries) => {
            let cells = entries
                .iter()
                .map(|(key, value)| {
                    let part = part.under(node, &key.name);
                    compile_part(environment, value, part).map(|cell| (key.clone(), cell))
                })
                .collect::<Result<_, _>>()?;
            TemplateCell::Map(cells, node.span)
        }
        _ => TemplateCell::Fixed(node.clone()),
    })
}

/// `row.a.b` as its keys.
pub(super) fn row_path(expression: &str) -> Option<Vec<String>> {
    let mut parts = expression.split('.');
    let plain =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let path: Vec<String> = (parts.next()? == "row").then(|| parts.map(str::to_owned).collect())?;
    (!path.is_empty() && path.iter().all(|p| plain(p))).then_some(path)
}

/// The whole template, filled.
pub(super) fn fill(cell: &TemplateCell, row: &Value, context: &Jinja) -> Result<Node, RowMisfit> {
    fill_in(cell, row, context, false)
}

/// A part of the template that is data, filled.
pub(super) fn fill_data(
    cell: &TemplateCell,
    row: &Value,
    context: &Jinja,
) -> Result<Node, RowMisfit> {
    fill_in(cell, row, context, true)
}

fn fill_in(
    cell: &TemplateCell,
    row: &Value,
    context: &Jinja,
    data: bool,
) -> Result<Node, RowMisfit> {
    Ok(match cell {
        TemplateCell::Fixed(node) => node.clone(),
        TemplateCell::Literal(cell) => {
            let mut node = fill_in(cell, row, context, data)?;
            node.each_text_mut(&mut |text, _| *text = literal(text).into());
            node
        }
        TemplateCell::Written(cell, span) => {
            let mut node = fill_in(cell, row, context, data)?;
            spell_out(&mut node);
            // A row that lacks a value leaves out no file, and names none to copy.
            if node.as_text().is_none() {
                return Err(RowMisfit {
                    at: Some(*span),
                    message: format!("expected a text, found {}", node.kind()),
                    hint: Some("write `{{ ... | tojson }}` for a value as JSON".to_owned()),
                });
            }
            node
        }
        TemplateCell::Path(path, span) => Node::of_json(lookup(row, path, *span)?, *span),
        TemplateCell::Lone(expression, span) => {
            let value = expression
                .eval(context)
                .map_err(|e| misfit(&e, *span, row))?;
            if value.is_undefined() {
                return Err(RowMisfit {
                    at: Some(*span),
                    message: "the expression has no value".to_owned(),
                    hint: None,
                });
            }
            Node::of_json(&serde_json::to_value(&value).unwrap_or(Value::Null), *span)
        }
        TemplateCell::Text(template, span) => {
            let text = template
                .render(context)
                .map_err(|e| misfit(&e, *span, row))?;
            Node {
                span: *span,
                value: NodeValue::Text(text.into()),
            }
        }
        TemplateCell::Seq(cells, span) => {
            let items = cells
                .iter()
                .map(|c| fill_in(c, row, context, data))
                .collect::<Result<_, _>>()?;
            Node {
                span: *span,
                value: NodeValue::Seq(items),
            }
        }
        TemplateCell::Map(cells, span) => {
            let mut entries = Vec::with_capacity(cells.len());
            for (key, cell) in cells {
                let data = data || DATA_KEYS.contains(&&*key.name);
                let mut value = fill_in(cell, row, context, data)?;
                if !data
                    && TEXT_KEYS.contains(&&*key.name)
                    && !matches!(cell, TemplateCell::Fixed(_))
                {
                    spell_out(&mut value);
                }
                entries.push((key.clone(), value));
            }
            Node {
                span: *span,
                value: NodeValue::Map(entries),
            }
        }
    })
}

pub(super) fn lookup<'r>(
    row: &'r Value,
    path: &[String],
    at: Span,
) -> Result<&'r Value, RowMisfit> {
    let mut here = row;
    for (i, part) in path.iter().enumerate() {
        let next = match here {
            Value::Array(items) => part.parse::<usize>().ok().and_then(|at| items.get(at)),
            other => other.get(part),
        };
        here = next.ok_or_else(|| {
            let known = here
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, _)| key.as_str());
            let parent = path
                .get(..i)
                .unwrap_or(&[])
                .iter()
                .fold("row".to_owned(), |p, k| format!("{p}.{k}"));
            RowMisfit {
                at: Some(at),
                message: format!("the row has no `{parent}.{part}`"),
                hint: did_you_mean(part, known)
                    .map(|near| format!("did you mean `{parent}.{near}`?")),
            }
        })?;
    }
    Ok(here)
}

fn misfit(error: &minijinja::Error, at: Span, row: &Value) -> RowMisfit {
    if error.kind() == minijinja::ErrorKind::UndefinedError {
        let keys: Vec<&str> = row
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, _)| k.as_str())
            .collect();
        let name = error
            .range()
            .and_then(|r| {
                error
                    .template_source()
                    .and_then(|s| s.get(r))
                    .map(str::to_owned)
            })
            .map_or_else(|| "a name".to_owned(), |name| format!("`{name}`"));
        let message = format!("the row has no value for {name} in the template");
        return RowMisfit {
            at: Some(at),
            message,
            hint: Some(format!("the row's keys are {}", keys.join(", "))),
        };
    }
    RowMisfit {
        at: Some(at),
        message: format!("the template cannot be rendered: {error}"),
        hint: None,
    }
}

fn spell_out(node: &mut Node) {
    let text = match &node.value {
        NodeValue::Number(n) => n.to_string(),
        NodeValue::Bool(b) => b.to_string(),
        _ => return,
    };
    node.value = NodeValue::Text(text.into());
}
