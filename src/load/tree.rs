//! A YAML or JSON document as a tree in which every key and value knows its place.
//!
//! JSON is read as the YAML that it is. `build` makes the tree from the parser's events (with `map`
//! and `tag`), `syntax` puts the parser's errors into words; this file holds the tree itself and
//! the ways to find things in it.

mod build;
mod map;
mod syntax;
mod tag;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::source::Span;

pub use build::{MAX_DEPTH, MAX_EXPANDED, parse};

/// A value and where it stands.
///
/// The span of a flow collection goes from bracket to bracket, of a block collection from its first
/// child to the end of its last one. The span of a value that came through an alias is the alias;
/// its children lie at the anchor.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub span: Span,
    pub value: NodeValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    Null,
    Bool(bool),
    /// With the digits of the document.
    Number(Number),
    /// A float that JSON lacks: `nan`, `inf` or `-inf`. In JSON it is `{"$float": "nan"}`.
    Special(&'static str),
    Text(Arc<str>),
    Seq(Vec<Node>),
    /// Keys are distinct, in the order of the document.
    Map(Vec<(MappingKey, Node)>),
}

/// The key of a map and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct MappingKey {
    pub name: Arc<str>,
    pub span: Span,
}

impl Node {
    pub fn of_text(span: Span, text: &str) -> Node {
        let value = NodeValue::Text(text.into());
        Node { span, value }
    }

    pub fn of_entries(span: Span, entries: Vec<(MappingKey, Node)>) -> Node {
        let value = NodeValue::Map(entries);
        Node { span, value }
    }

    /// The value of a key; `None` also when this is no map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?
            .iter()
            .find(|(k, _)| &*k.name == key)
            .map(|(_, v)| v)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.value {
            NodeValue::Map(entries) => entries
                .iter_mut()
                .find(|(k, _)| &*k.name == key)
                .map(|(_, v)| v),
            _ => None,
        }
    }

    /// Where a key is.
    pub fn key_place(&self, key: &str) -> Option<Span> {
        let (key, _) = self.as_map()?.iter().find(|(k, _)| &*k.name == key)?;
        Some(key.span)
    }

    /// The elements of the list under a key; none where there is no list.
    pub fn seq(&self, key: &str) -> &[Node] {
        self.get(key).and_then(Node::as_seq).unwrap_or(&[])
    }

    pub fn seq_mut(&mut self, key: &str) -> &mut [Node] {
        match self.get_mut(key).map(|node| &mut node.value) {
            Some(NodeValue::Seq(items)) => items,
            _ => &mut [],
        }
    }

    /// The entries of the map under a key; none where there is no map.
    pub fn map_mut(&mut self, key: &str) -> &mut [(MappingKey, Node)] {
        match self.get_mut(key).map(|node| &mut node.value) {
            Some(NodeValue::Map(entries)) => entries,
            _ => &mut [],
        }
    }

    /// Calls `f` for every text at or below the node, with its place.
    pub fn each_text_mut(&mut self, f: &mut dyn FnMut(&mut Arc<str>, Span)) {
        match &mut self.value {
            NodeValue::Text(text) => f(text, self.span),
            NodeValue::Seq(items) => items.iter_mut().for_each(|item| item.each_text_mut(f)),
            NodeValue::Map(entries) => {
                entries
                    .iter_mut()
                    .for_each(|(_, value)| value.each_text_mut(f));
            }
            _ => {}
        }
    }

    /// Adds an entry to a map, at the place of its value.
    pub fn insert(&mut self, name: &str, value: Node) {
        if let NodeValue::Map(entries) = &mut self.value {
            let span = value.span.at_start();
            let name = Arc::from(name);
            entries.push((MappingKey { name, span }, value));
        }
    }

    pub fn as_map(&self) -> Option<&[(MappingKey, Node)]> {
        match &self.value {
            NodeValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub fn as_seq(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::Seq(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.value {
            NodeValue::Bool(b) => Some(b),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, NodeValue::Null)
    }

    /// What a message calls this value: "a text", "a list", ...
    pub fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Number(_) | NodeValue::Special(_) => "a number",
            NodeValue::Text(_) => "a text",
            NodeValue::Seq(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }

    /// The value without its places.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(b) => Value::Bool(*b),
            NodeValue::Number(n) => Value::Number(n.clone()),
            NodeValue::Special(name) => Value::Object(Map::from_iter([(
                "$float".to_owned(),
                Value::String((*name).to_owned()),
            )])),
            NodeValue::Text(text) => Value::String(text.to_string()),
            NodeValue::Seq(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            NodeValue::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(k, v)| (k.name.to_string(), v.to_json()))
                    .collect(),
            ),
        }
    }

    /// A value as a node; everything in it is at one place.
    pub fn of_json(value: &Value, span: Span) -> Node {
        let value = match value {
            Value::Null => NodeValue::Null,
            Value::Bool(b) => NodeValue::Bool(*b),
            Value::Number(n) => NodeValue::Number(n.clone()),
            Value::String(s) => NodeValue::Text(s.as_str().into()),
            Value::Array(items) => {
                NodeValue::Seq(items.iter().map(|v| Node::of_json(v, span)).collect())
            }
            Value::Object(map) => {
                let entry = |(name, value): (&String, &Value)| {
                    let name = name.as_str().into();
                    (MappingKey { name, span }, Node::of_json(value, span))
                };
                NodeValue::Map(map.iter().map(entry).collect())
            }
        };
        Node { span, value }
    }

    /// The node at a JSON pointer.
    pub fn at_pointer(&self, pointer: &str) -> Option<&Node> {
        steps(pointer).try_fold(self, |node, step| node.child(&step).map(|(_, child)| child))
    }

    /// Where a JSON pointer leads; when it leads nowhere, its deepest ancestor that is there.
    pub fn locate(&self, pointer: &str) -> Span {
        self.walk(pointer).1
    }

    /// The place of the key that a JSON pointer ends in: for an element of a list, of the element;
    /// for the root and for a pointer that leads nowhere, of the deepest key on the way that is
    /// there.
    pub fn key_span(&self, pointer: &str) -> Span {
        self.walk(pointer).0
    }

    /// The spans of the last key (or element) and the last node that a pointer reaches.
    fn walk(&self, pointer: &str) -> (Span, Span) {
        let mut node = self;
        // The whole document would underline everything; its first line says as much.
        let mut key = self.span.at_start();
        for step in steps(pointer) {
            let Some((span, child)) = node.child(&step) else {
                break;
            };
            (key, node) = (span, child);
        }
        (key, node.span)
    }

    fn child(&self, step: &str) -> Option<(Span, &Node)> {
        match &self.value {
            NodeValue::Map(entries) => entries
                .iter()
                .find(|(k, _)| &*k.name == step)
                .map(|(k, v)| (k.span, v)),
            NodeValue::Seq(items) => step
                .parse::<usize>()
                .ok()
                .and_then(|i| items.get(i))
                .map(|item| (item.span, item)),
            _ => None,
        }
    }
}

/// The unescaped steps of a JSON pointer (RFC 6901). A pointer that does not begin with `/` is the
/// root.
fn steps(pointer: &str) -> impl Iterator<Item = String> {
    pointer
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
}
