//! A prompt that takes the place of what an author wrote as an input's text.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::fingerprint::Fingerprint;

/// A template over a case's `input` and `context`, and over the suite's variables. It compiles.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptTemplate {
    pub text: String,
    /// What the template may read in addition to the case: variables, `vars` and `env`.
    pub values: Arc<BTreeMap<String, Value>>,
    /// Whether it reads the case's context, so that a model is not told it twice.
    pub reads_context: bool,
    /// True for a prompt of the suite, false for one that the eval defines.
    pub is_of_suite: bool,
    /// Place among the prompts as written.
    pub position: usize,
    /// Over the text and the values that it reads.
    pub fingerprint: Fingerprint,
}
