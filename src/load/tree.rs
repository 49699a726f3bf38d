//! A YAML or JSON document as a tree in which every key and value knows its place.

use std::sync::Arc;

use serde_json::{Number, Value};

use super::problem::Problems;
use super::source::{FileId, Sources, Span};

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub span: Span,
    pub value: NodeValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(Arc<str>),
    Seq(Vec<Node>),
    /// Keys are distinct, in the order of the document.
    Map(Vec<(Key, Node)>),
}

/// The key of a map and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub name: Arc<str>,
    pub span: Span,
}

/// Parses one document. What is wrong is added to `problems`; `None` when nothing usable came out.
pub fn parse(sources: &Sources, file: FileId, problems: &mut Problems) -> Option<Node> {
    let _ = (sources, file, problems);
    None
}

impl Node {
    /// The value of a key; `None` also when this is no map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let _ = key;
        None
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let _ = key;
        None
    }

    /// A key with its place.
    pub fn get_key(&self, key: &str) -> Option<&Key> {
        let _ = key;
        None
    }

    pub fn as_map(&self) -> Option<&[(Key, Node)]> {
        None
    }

    pub fn as_seq(&self) -> Option<&[Node]> {
        None
    }

    pub fn as_text(&self) -> Option<&str> {
        None
    }

    /// "a text", "a list", ... for messages.
    pub fn kind(&self) -> &'static str {
        ""
    }

    /// The value without its places.
    pub fn to_json(&self) -> Value {
        Value::Null
    }

    /// The node at a JSON pointer.
    pub fn at_pointer(&self, pointer: &str) -> Option<&Node> {
        let _ = pointer;
        None
    }

    /// Where a JSON pointer leads; when it leads nowhere, its deepest ancestor that is there.
    pub fn locate(&self, pointer: &str) -> Span {
        let _ = pointer;
        self.span
    }

    /// The place of the key that a JSON pointer ends in; for an element of a list, of the element.
    pub fn key_span(&self, pointer: &str) -> Span {
        let _ = pointer;
        self.span
    }
}
