//! Checks a positioned tree against a JSON Schema and says what is wrong in plain words.

use serde_json::Value;

use super::problem::Problems;
use super::source::Sources;
use super::tree::Node;

/// A schema of ours that cannot be compiled: a defect of the program, not of a file.
#[derive(Debug, thiserror::Error)]
#[error("the schema of {what} does not compile: {reason}")]
pub struct SchemaError {
    pub what: String,
    pub reason: String,
}

/// A schema, compiled once.
#[derive(Debug)]
pub struct Validator {}

impl Validator {
    /// `canonical` is what schemars makes of our types, with `x-aliases` and `x-tag-aliases`.
    ///
    /// # Errors
    /// When the schema does not compile.
    pub fn new(canonical: Value) -> Result<Validator, SchemaError> {
        let _ = canonical;
        Ok(Validator {})
    }

    /// Normalises the tree, then checks it: the JSON of a tree that fits, `None` after adding problems.
    pub fn check(&self, sources: &Sources, node: &mut Node, problems: &mut Problems) -> Option<Value> {
        self.normalise(sources, node, problems);
        self.validate(node, problems)
    }

    /// See [`super::normalise::Shapes::normalise`].
    pub fn normalise(&self, sources: &Sources, node: &mut Node, problems: &mut Problems) {
        let _ = (sources, node, problems);
    }

    /// Checks a tree that was normalised: its JSON when it fits, else `None` after adding problems.
    pub fn validate(&self, node: &Node, problems: &mut Problems) -> Option<Value> {
        let _ = (node, problems);
        None
    }
}

/// The schema for editors: aliases are accepted (and marked deprecated), our own `x-` words are gone.
pub fn published(canonical: &Value) -> Value {
    canonical.clone()
}
