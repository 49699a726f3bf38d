//! Checks a positioned tree against a JSON Schema and says what is wrong in plain words.
//!
//! `derive` makes the copy of a schema that is compiled, `publish` the one that editors read,
//! `explain` turns the validator's errors into problems, `placement` finds where a misplaced key
//! belongs, `words` describes schemas.

mod derive;
mod explain;
mod placement;
mod publish;
mod words;

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::normalise::SchemaShapes;
use super::problem::Problems;
use super::source::{SourceFiles, Span};
use super::tree::{Node, NodeValue};

pub(super) use derive::{aliases, branches, discriminator, flatten, null_is_absent, plain_values};
pub(super) use explain::as_command;

/// A schema of ours that cannot be compiled: a defect of the program, not of a file.
#[derive(Debug, thiserror::Error)]
#[error("the schema `{title}` does not compile: {reason}")]
pub struct SchemaError {
    pub title: String,
    pub reason: String,
}

/// A schema, compiled once.
#[derive(Debug)]
pub struct SchemaValidator {
    derived: Value,
    compiled: jsonschema::Validator,
    shapes: SchemaShapes,
}

impl SchemaValidator {
    /// `canonical` is what schemars makes of our types, with our own words (see `derive`).
    ///
    /// # Errors
    /// When the schema does not compile.
    pub fn new(canonical: &Value) -> Result<SchemaValidator, SchemaError> {
        let derived = derive::for_errors(canonical);
        let compiled = jsonschema::validator_for(&derived).map_err(|e| SchemaError {
            title: canonical
                .get("title")
                .and_then(Value::as_str)
                .unwrap_or("?")
                .to_owned(),
            reason: e.to_string(),
        })?;
        Ok(SchemaValidator {
            derived,
            compiled,
            shapes: SchemaShapes::new(canonical),
        })
    }

    /// Normalises the tree, then checks it: the JSON of a tree that fits, `None` after adding
    /// problems.
    pub fn check(
        &self,
        sources: &SourceFiles,
        node: &mut Node,
        problems: &mut Problems,
    ) -> Option<Value> {
        let before = problems.error_count();
        self.normalise(sources, node, problems);
        let clean = problems.error_count() == before;
        self.validate(node, problems).filter(|_| clean)
    }

    /// See [`SchemaShapes::normalise`].
    pub fn normalise(&self, sources: &SourceFiles, node: &mut Node, problems: &mut Problems) {
        self.shapes.normalise(sources, node, problems);
    }

    /// Checks a tree that was normalised: its JSON when it fits, else `None` after adding problems.
    pub fn validate(&self, node: &Node, problems: &mut Problems) -> Option<Value> {
        let json = node.to_json();
        if self.compiled.is_valid(&json) {
            return Some(json);
        }
        let errors: Vec<_> = self.compiled.iter_errors(&json).collect();
        explain::explain(&self.derived, node, &errors, problems);
        None
    }

    /// As [`SchemaValidator::validate`], after texts were filled. Texts of unused parts that could not be
    /// filled are removed where the schema wants another value: which one is not known.
    pub fn validate_filled(&self, node: &mut Node, problems: &mut Problems) -> Option<Value> {
        let mut found = Problems::new();
        let json = self.validate(node, &mut found);
        let spans = found.iter().filter_map(|problem| problem.span);
        let unfilled: Vec<Span> = spans.filter(|span| problems.is_unfilled(*span)).collect();
        if unfilled.is_empty() {
            problems.extend(found);
            return json;
        }
        remove_texts(node, &unfilled);
        self.validate(node, problems)
    }
}

/// Removes the texts at these places.
fn remove_texts(node: &mut Node, places: &[Span]) {
    let is_kept = |node: &Node| node.as_text().is_none() || !places.contains(&node.span);
    match &mut node.value {
        NodeValue::Map(entries) => {
            entries.retain(|(_, value)| is_kept(value));
            entries
                .iter_mut()
                .for_each(|(_, value)| remove_texts(value, places));
        }
        NodeValue::Seq(items) => {
            items.retain(is_kept);
            items.iter_mut().for_each(|item| remove_texts(item, places));
        }
        _ => {}
    }
}

/// The schema for editors: other spellings are accepted (and marked deprecated), but not two at
/// once, and our own words are gone.
pub fn published(canonical: &Value) -> Value {
    publish::for_editors(canonical)
}
