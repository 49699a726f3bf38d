//! Outputs as they were, wherever they lie: in the journal's line or in a file beside it.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{JournalError, RunPaths};
use crate::model::{Attempt, Output, OutputValue, StoredKind};

/// The output of an attempt; `None` when the target gave none.
///
/// # Errors
/// When the output lies in a file that can't be read or holds something else.
pub fn output_of(run: &RunPaths, attempt: &Attempt) -> Result<Option<Output>, JournalError> {
    let Some(stored) = &attempt.stored else { return Ok(attempt.output.clone()) };
    let path = run.outputs().join(&stored.sha256);
    let fail = |source| JournalError::Read { path: path.clone(), source };
    let bytes = std::fs::read(&path).map_err(fail)?;
    let mut name = String::with_capacity(64);
    for byte in Sha256::digest(&bytes) {
        let _ = write!(name, "{byte:02x}");
    }
    if name != stored.sha256 {
        return Err(fail(std::io::Error::other("the file is not what was stored: its SHA-256 differs")));
    }
    let text = String::from_utf8(bytes).map_err(|error| fail(std::io::Error::other(error)))?;
    let value = match stored.kind {
        StoredKind::Text => OutputValue::Text(text),
        StoredKind::Program => OutputValue::Program(text),
        StoredKind::Json => {
            OutputValue::Json(serde_json::from_str(&text).map_err(|error| fail(error.into()))?)
        }
    };
    let (truncated, usage, model) = (stored.truncated, stored.usage, stored.model.clone());
    Ok(Some(Output { value, truncated, usage, model }))
}
