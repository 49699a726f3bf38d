//! Values of a document replaced at the place where they are written; every other byte stays.
//!
//! An edit is tried in the styles that read best, and each result is parsed: it counts only when
//! the document then has the new value, is otherwise equal, and has lost no comment. Pure: texts
//! in, texts out.

use std::ops::Range;

use granit_parser::{Event, Parser, options};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::problem::Problems;
use super::source::{SourceFiles, Span};
use super::tree::{self, Node, NodeValue};
use super::yaml;
use eval_base::json::escaped;

/// Columns by which the lines of a block literal are indented, unless the old one says otherwise.
const STEP: usize = 2;

/// Why a value can't be replaced in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditError {
    /// An anchor, an alias or a merge key: other parts of the document would change as well.
    Shared,
    /// A comment inside the old value would be lost.
    Comment,
    /// No style of YAML holds the new value there.
    Unfit,
}

/// A document that was parsed without a problem.
pub(super) struct DocumentText<'a> {
    text: &'a str,
    root: &'a Node,
    is_json: bool,
    comments: Option<Vec<String>>,
}

/// What surrounds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodePlace {
    /// Inside brackets, where line breaks mean nothing.
    Flow,
    /// In a block whose keys (or dashes) are in this column, from 0; `after` is where the key (or
    /// the dash) ends.
    Block { column: usize, after: usize },
}

/// What surrounds a whole document.
const WHOLE: NodePlace = NodePlace::Block {
    column: 0,
    after: 0,
};

/// How much of the old value is kept, and in which style the new one is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EditStyle {
    /// Only the texts and numbers that differ, where the structure is the same.
    Leaves,
    /// The whole value, in the style of the old one.
    Whole,
    /// The whole value, on one line, its texts in quotes.
    Quoted,
}

struct TextEdit {
    range: Range<usize>,
    text: String,
}

impl<'a> DocumentText<'a> {
    pub fn new(text: &'a str, root: &'a Node) -> DocumentText<'a> {
        DocumentText {
            text,
            root,
            is_json: is_json(text),
            comments: comments(text),
        }
    }

    /// The document with `new` in place of the value `old` of its tree. `wanted` is the whole
    /// document as JSON afterwards.
    pub fn replaced(&self, old: &Node, new: &Value, wanted: &Value) -> Result<String, EditError> {
        let place = self
            .place_of(self.root, WHOLE, old.span)
            .ok_or(EditError::Shared)?;
        let mut failure = EditError::Unfit;
        for style in [EditStyle::Leaves, EditStyle::Whole, EditStyle::Quoted] {
            let mut edits = Vec::new();
            self.collect(old, new, place, style, &mut edits);
            match self.proved(edits, wanted) {
                Ok(text) => return Ok(text),
                Err(EditError::Unfit) => {}
                Err(other) => failure = other,
            }
        }
        Err(failure)
    }

    /// The document with one more `$ref` at the end of a list that is not empty.
    pub fn with_reference(
        &self,
        list: &Node,
        reference: &str,
        wanted: &Value,
    ) -> Result<String, EditError> {
        let place = self
            .place_of(self.root, WHOLE, list.span)
            .ok_or(EditError::Shared)?;
        let last = list
            .as_seq()
            .and_then(<[Node]>::last)
            .ok_or(EditError::Unfit)?;
        let inner = self.place_in(list, place, last.span);
        let end = self.end_of(last, inner);
        let (at, text) = match inner {
            NodePlace::Flow => {
                let item = serde_json::json!({ "$ref": reference });
                (end, format!(", {}", self.flow(&item, EditStyle::Whole)))
            }
            NodePlace::Block { column, .. } => {
                let text = self.inline(reference, inner, EditStyle::Whole, None);
                let line_end = self.line_end(end);
                (line_end, format!("\n{}- $ref: {text}", " ".repeat(column)))
            }
        };
        let range = at..at;
        self.proved(vec![TextEdit { range, text }], wanted)
    }

    /// What surrounds the first node with this span below `node`; an alias shares the spans of its
    /// anchor, which comes before it.
    fn place_of(&self, node: &Node, place: NodePlace, target: Span) -> Option<NodePlace> {
        if node.span == target {
            return Some(place);
        }
        let below = |(at, child): (Span, &Node)| {
            self.place_of(child, self.place_in(node, place, at), target)
        };
        match &node.value {
            NodeValue::Map(entries) => entries
                .iter()
                .map(|(key, value)| (key.span, value))
                .find_map(below),
            NodeValue::Seq(items) => items.iter().map(|item| (item.span, item)).find_map(below),
            _ => None,
        }
    }

    /// What surrounds a value of the collection `parent`; `at` is its key, or the element.
    fn place_in(&self, parent: &Node, place: NodePlace, at: Span) -> NodePlace {
        if place == NodePlace::Flow || self.is_flow(parent) {
            return NodePlace::Flow;
        }
        let start = at.start as usize;
        let (start, after) = match (&parent.value, self.dash_before(start)) {
            (NodeValue::Seq(_), Some(dash)) => (dash, dash + 1),
            (NodeValue::Seq(_), None) => (start.saturating_sub(STEP), start),
            _ => (start, at.end as usize),
        };
        NodePlace::Block {
            column: start - self.line_start(start),
            after,
        }
    }

    /// The dash of the element that begins here; the lines of a block scalar begin below it.
    fn dash_before(&self, start: usize) -> Option<usize> {
        let before = self.text.get(..start)?.trim_end();
        let line = before.get(self.line_start(before.len())..)?;
        let line = line.split(" #").next()?.trim_end();
        let unsigned = line.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
        let line = match unsigned.strip_suffix(['|', '>']) {
            Some(head) => head.trim_end(),
            None => line,
        };
        let dash = line.strip_suffix('-')?;
        Some(self.line_start(before.len()) + dash.len())
    }

    fn collect(
        &self,
        old: &Node,
        new: &Value,
        place: NodePlace,
        style: EditStyle,
        edits: &mut Vec<TextEdit>,
    ) {
        if style == EditStyle::Leaves {
            match (&old.value, new) {
                (NodeValue::Map(entries), Value::Object(fields))
                    if entries.len() == fields.len()
                        && entries
                            .iter()
                            .all(|(key, _)| fields.contains_key(&*key.name)) =>
                {
                    for (key, value) in entries {
                        let inner = self.place_in(old, place, key.span);
                        if let Some(new) = fields.get(&*key.name) {
                            self.collect(value, new, inner, style, edits);
                        }
                    }
                    return;
                }
                (NodeValue::Seq(items), Value::Array(values)) if items.len() == values.len() => {
                    for (item, new) in items.iter().zip(values) {
                        let inner = self.place_in(old, place, item.span);
                        self.collect(item, new, inner, style, edits);
                    }
                    return;
                }
                _ if old.to_json() == *new => return,
                _ => {}
            }
        }
        edits.push(self.edit(old, new, place, style));
    }

    /// One value in place of another. What follows the old one on its line, such as a comment,
    /// stays on the line where the new one begins.
    fn edit(&self, old: &Node, new: &Value, place: NodePlace, style: EditStyle) -> TextEdit {
        let header = self.block_header(old, place);
        let start = match &header {
            Some(header) => header.start,
            None => self.start_of(old),
        };
        let end = self.end_of(old, place);
        let (column, natural) = match place {
            NodePlace::Block { column, .. } => (column, style != EditStyle::Quoted),
            NodePlace::Flow => (0, false),
        };
        let is_lines = place != NodePlace::Flow && is_collection(old) && !self.is_flow(old);
        let own = start - self.line_start(start);
        // The elements of a list may begin below its key; nothing else may.
        let shift = if is_lines && own <= column { STEP } else { 0 };
        let head_end = header.clone().map_or(end, |at| at.end);
        let is_block = header.is_some();
        let line_end = self.line_end(head_end);
        let rest = self.text.get(head_end..line_end).unwrap_or_default();
        match new {
            Value::String(text) if natural && self.fits_block(text, end.max(line_end)) => {
                let own = header.and_then(|header| self.content_column(header, column));
                let own = own.map(|own| own.saturating_sub(column));
                let step = own.filter(|own| (1..=9).contains(own)).unwrap_or(STEP);
                let mut written = " ".repeat(shift) + &literal_header(text, step);
                written.push_str(rest);
                for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                    written.push('\n');
                    if !line.is_empty() {
                        written.push_str(&" ".repeat(column + step));
                        written.push_str(line);
                    }
                }
                TextEdit {
                    range: start..end.max(line_end),
                    text: written,
                }
            }
            Value::Array(_) | Value::Object(_) if natural && is_lines && !is_empty(new) => {
                let lines = yaml::lines(new);
                let lines = lines.trim_end_matches('\n').split('\n').enumerate();
                let indented = |(at, line): (usize, &str)| match (at, line) {
                    (0, _) => format!("{}{line}", " ".repeat(shift)),
                    (_, "") => String::new(),
                    _ => format!("{}{line}", " ".repeat(own + shift)),
                };
                TextEdit {
                    range: start..end,
                    text: lines.map(indented).collect::<Vec<_>>().join("\n"),
                }
            }
            _ => {
                let text = match new {
                    Value::String(text) => self.inline(text, place, style, self.text.get(start..)),
                    other => self.flow(other, style),
                };
                let rest = if is_block { rest } else { "" };
                TextEdit {
                    range: start..end,
                    text: format!("{}{text}{rest}", " ".repeat(shift)),
                }
            }
        }
    }

    /// Whether a block literal that ends here can hold a text. At the end of a file without a line
    /// break, readers differ on whether the last line has one.
    fn fits_block(&self, text: &str, end: usize) -> bool {
        let is_last = self.text.get(end..).is_none_or(str::is_empty);
        yaml::is_block(text) && !text.ends_with("\n\n") && !(is_last && text.ends_with('\n'))
    }

    /// A text on one line, in the quotes of the old value where it has some.
    fn inline(&self, text: &str, place: NodePlace, style: EditStyle, old: Option<&str>) -> String {
        let mut out = String::new();
        let quote = old.and_then(|old| old.chars().next());
        let flow = place == NodePlace::Flow && text.contains([',', '[', ']', '{', '}']);
        match quote {
            _ if self.is_json => {
                return escaped(&Value::from(text).to_string()).into_owned();
            }
            _ if style == EditStyle::Quoted => yaml::double_quoted(&mut out, text),
            Some('"') => yaml::double_quoted(&mut out, text),
            Some('\'') if yaml::single_quoted(&mut out, text) => {}
            _ if flow => yaml::quoted(&mut out, text),
            _ => yaml::inline_text(&mut out, text),
        }
        out
    }

    /// A value on one line, in brackets.
    fn flow(&self, value: &Value, style: EditStyle) -> String {
        let text = |text: &str| self.inline(text, NodePlace::Flow, style, None);
        match value {
            Value::String(own) => text(own),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.flow(item, style)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(fields) => {
                let entry = |(key, value): (&String, &Value)| {
                    format!("{}: {}", text(key), self.flow(value, style))
                };
                let entries: Vec<String> = fields.iter().map(entry).collect();
                format!("{{{}}}", entries.join(", "))
            }
            other => other.to_string(),
        }
    }

    /// Where the text of a value ends; of a block without the line break behind it.
    fn end_of(&self, node: &Node, place: NodePlace) -> usize {
        let own = node.span.end as usize;
        let NodePlace::Block { column, .. } = place else {
            return own;
        };
        if self.is_flow(node) {
            return own;
        }
        match &node.value {
            NodeValue::Map(entries) => entries.last().map_or(own, |(key, value)| {
                self.end_of(value, self.place_in(node, place, key.span))
            }),
            NodeValue::Seq(items) => items.last().map_or(own, |item| {
                self.end_of(item, self.place_in(node, place, item.span))
            }),
            _ => self
                .block_header(node, place)
                .map_or(own, |header| self.block_end(header, column)),
        }
    }

    /// The indicators of a block scalar, such as `|-`; its span begins at its first line.
    fn block_header(&self, node: &Node, place: NodePlace) -> Option<Range<usize>> {
        let NodePlace::Block { after, .. } = place else {
            return None;
        };
        // The span of an empty one begins at its header.
        let start = node.span.start as usize + usize::from(self.begins_with(node, ['|', '>']));
        let before = self.text.get(after..start)?.split(" #").next()?;
        let begins = |at: usize| {
            before
                .get(..at)
                .is_some_and(|text| text.ends_with([' ', '\t']))
        };
        let mut signs = before.match_indices(['|', '>']);
        let (sign, _) = signs.find(|(at, _)| begins(*at) && !is_collection(node))?;
        let start = after + sign;
        let signs = self.text.get(start..)?.bytes();
        let length = signs.take_while(|byte| b"|>+-0123456789".contains(byte));
        Some(start..start + length.count())
    }

    /// The column of the content of a block scalar: as its header says, or as its first line is
    /// indented.
    fn content_column(&self, header: Range<usize>, column: usize) -> Option<usize> {
        let signs = self.text.get(header.clone())?;
        if let Some(digit) = signs.chars().find_map(|c| c.to_digit(10)) {
            return Some(column + digit as usize);
        }
        let lines = self.text.get(self.line_end(header.end)..)?.lines().skip(1);
        let first = lines.map(indentation).find(|(_, blank)| !blank);
        first.map(|(own, _)| own)
    }

    /// The end of the last line of a block scalar that is not blank.
    fn block_end(&self, header: Range<usize>, column: usize) -> usize {
        let mut end = self.line_end(header.end);
        let Some(content) = self.content_column(header, column) else {
            return end;
        };
        let mut next = end;
        while let Some(at) = self.next_line(next) {
            next = self.line_end(at);
            let (own, blank) = indentation(self.text.get(at..next).unwrap_or_default());
            match () {
                () if blank => {}
                () if own >= content && content > 0 => end = next,
                () => break,
            }
        }
        end
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.rfind('\n').map_or(0, |end| end + 1)
    }

    /// The end of the line, before its line break.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// The start of the line after the one that ends here.
    fn next_line(&self, end: usize) -> Option<usize> {
        let rest = self.text.get(end..)?;
        let line = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n')?;
        (!line.is_empty()).then(|| self.text.len() - line.len())
    }

    /// Whether a list or a map is in brackets. The span of one that is not may begin with that of
    /// its first child.
    fn is_flow(&self, node: &Node) -> bool {
        let first = match &node.value {
            NodeValue::Map(entries) => entries.first().map(|(key, _)| key.span),
            NodeValue::Seq(items) => items.first().map(|item| item.span),
            // A block scalar's span begins at its text, which may begin with a bracket.
            _ => return false,
        };
        self.begins_with(node, ['{', '[']) && first.is_none_or(|at| at.start != node.span.start)
    }

    /// Where the text of a value begins: of a list at its first dash.
    fn start_of(&self, node: &Node) -> usize {
        let start = node.span.start as usize;
        let first = node.as_seq().and_then(<[Node]>::first);
        let dash = first.filter(|first| first.span.start == node.span.start);
        dash.and_then(|_| self.dash_before(start)).unwrap_or(start)
    }

    fn begins_with(&self, node: &Node, signs: [char; 2]) -> bool {
        let text = self.text.get(node.span.start as usize..);
        text.is_some_and(|text| text.starts_with(signs))
    }

    /// The text with the edits, in the line endings of the document, if it is what was meant.
    fn proved(&self, mut edits: Vec<TextEdit>, wanted: &Value) -> Result<String, EditError> {
        let line_break = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        edits.sort_by_key(|edit| edit.range.start);
        let mut text = self.text.to_owned();
        let mut room = text.len();
        for TextEdit { range, text: new } in edits.into_iter().rev() {
            if range.end > room || text.get(range.clone()).is_none() {
                return Err(EditError::Unfit);
            }
            room = range.start;
            text.replace_range(range, &new.replace('\n', line_break));
        }
        let mut sources = SourceFiles::new();
        let mut problems = Problems::new();
        let file = sources.add("", text.as_str());
        let tree = tree::parse(&sources, file, &mut problems);
        let tree = tree.filter(|_| !problems.has_errors());
        let after = tree.ok_or(EditError::Unfit)?.to_json();
        match () {
            () if self.is_json && !is_json(&text) => Err(EditError::Unfit),
            () if after != *wanted && differs_beside(&self.root.to_json(), &after, wanted) => {
                Err(EditError::Shared)
            }
            () if after != *wanted => Err(EditError::Unfit),
            () if self.comments.is_none() || comments(&text) != self.comments => {
                Err(EditError::Comment)
            }
            () => Ok(text),
        }
    }
}

/// True when a value changed that should have stayed.
fn differs_beside(before: &Value, after: &Value, wanted: &Value) -> bool {
    match (before, after, wanted) {
        _ if before == wanted => after != wanted,
        (Value::Object(old), Value::Object(new), Value::Object(all)) if new.len() == all.len() => {
            let missing = Value::Null;
            all.iter().any(|(key, wanted)| {
                let old = old.get(key).unwrap_or(&missing);
                differs_beside(old, new.get(key).unwrap_or(&missing), wanted)
            })
        }
        (Value::Array(old), Value::Array(new), Value::Array(all)) if new.len() == all.len() => {
            let missing = Value::Null;
            all.iter().zip(new).enumerate().any(|(at, (wanted, new))| {
                differs_beside(old.get(at).unwrap_or(&missing), new, wanted)
            })
        }
        _ => false,
    }
}

fn is_collection(node: &Node) -> bool {
    matches!(node.value, NodeValue::Seq(_) | NodeValue::Map(_))
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(|map| map.is_empty())
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Blanks at the beginning of a line, and whether there is nothing else.
fn indentation(line: &str) -> (usize, bool) {
    let own = line.bytes().take_while(|byte| *byte == b' ').count();
    (own, line.trim().is_empty())
}

/// The first line of a block literal, whose lines are indented by `step`.
fn literal_header(text: &str, step: usize) -> String {
    let indicator = if text.starts_with(' ') {
        step.to_string()
    } else {
        String::new()
    };
    let end = if text.ends_with('\n') { "" } else { "-" };
    format!("|{indicator}{end}")
}

/// Every comment of a document, in order; `None` when they can't be read.
fn comments(text: &str) -> Option<Vec<String>> {
    let options = options! {
        emit_comments: true,
        emit_unresolved_aliases: true,
        simple_key_max_lookahead: 1 << 16,
        flow_nesting_limit: tree::MAX_DEPTH,
        block_nesting_limit: tree::MAX_DEPTH,
    };
    let mut found = Vec::new();
    for next in Parser::new_from_str_with_options(text, options) {
        if let (Event::Comment(text, _), _) = next.ok()? {
            found.push(text.into_owned());
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests;
