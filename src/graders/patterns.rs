//! Patterns, JSON Schemas: compiled once, kept for all cases.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::model::RegexFlags;
use eval_match::CompiledPattern;

/// More are compiled anew each time: a data set may write a pattern into every row.
const KEPT: usize = 4096;

type CompileCache<T> = Mutex<HashMap<String, Result<Arc<T>, String>>>;

#[derive(Debug, Default)]
pub(crate) struct PatternCache {
    patterns: CompileCache<CompiledPattern>,
    schemas: CompileCache<jsonschema::Validator>,
}

impl PatternCache {
    /// A compiled pattern, or one sentence why it can't be.
    pub fn get(&self, pattern: &str, flags: RegexFlags) -> Result<Arc<CompiledPattern>, String> {
        let RegexFlags {
            ignorecase,
            multiline,
            dotall,
            verbose,
        } = flags;
        let bits =
            [ignorecase, multiline, dotall, verbose].map(|flag| if flag { '1' } else { '0' });
        let key = format!("{}{pattern}", bits.iter().collect::<String>());
        kept(&self.patterns, key, || {
            CompiledPattern::compile(pattern, flags)
                .map_err(|error| format!("the pattern `{pattern}` does not compile: {error}"))
        })
    }

    /// A compiled JSON Schema, or one sentence why it can't be.
    pub fn schema(&self, schema: &Value) -> Result<Arc<jsonschema::Validator>, String> {
        kept(&self.schemas, schema.to_string(), || {
            jsonschema::validator_for(schema)
                .map_err(|error| format!("the JSON Schema is not one: {error}"))
        })
    }
}

fn kept<T>(
    cache: &CompileCache<T>,
    key: String,
    make: impl FnOnce() -> Result<T, String>,
) -> Result<Arc<T>, String> {
    let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = lock().get(&key) {
        return found.clone();
    }
    let made = make().map(Arc::new);
    let mut cache = lock();
    if cache.len() < KEPT {
        cache.insert(key, made.clone());
    }
    made
}
