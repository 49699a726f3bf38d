//! What a reference solution returns: computed once for a list of calls, and kept by content, in the
//! run and in the user's cache folder.
//!
//! Small values are kept as tagged JSON, large ones as digests: the values of one public set take
//! 1.7 GB, and an answer with an equal digest needs no value to be compared with.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::graders::packed_files::PackedFiles;
use crate::model::{Fingerprint, Grade};

/// Part of every key: raised when values are written differently.
const VERSION: u32 = 1;
/// Bytes of values that a run keeps in memory.
const MOST_KEPT: usize = 64 << 20;

/// What the reference solution returned for one call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ExpectedAnswer {
    /// Tagged JSON, or `{"$digest": hex, "floats": bool}`.
    pub value: Box<str>,
    /// How long the call took, in seconds.
    pub seconds: f64,
}

impl ExpectedAnswer {
    pub fn wall(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }
}

/// The answers to all calls of a grader, in order.
pub(super) type ExpectedAnswers = Arc<Vec<ExpectedAnswer>>;

/// Why there are no answers: the grade of every sample.
type AnswersResult = Result<ExpectedAnswers, Box<Grade>>;

/// The expected values of a run.
#[derive(Debug, Default)]
pub(crate) struct ExpectedValues {
    /// Where they are kept between runs, if anywhere.
    files: PackedFiles,
    made: Mutex<HashMap<Fingerprint, Arc<OnceCell<AnswersResult>>>>,
}

impl ExpectedValues {
    /// `cache`: the folder of the user's caches.
    pub fn new(cache: Option<&Path>) -> ExpectedValues {
        ExpectedValues {
            files: PackedFiles::new(cache, "expected", ".json.gz"),
            made: Mutex::default(),
        }
    }

    /// The answers under this key, from the run, from the folder, or from `make`. A failure is kept
    /// for the run, unless the run was interrupted.
    pub(super) async fn get(
        &self,
        content: &impl Serialize,
        make: impl AsyncFnOnce() -> AnswersResult,
    ) -> AnswersResult {
        let key = Fingerprint::of(&(VERSION, content));
        let cell = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            forget(&mut made, key);
            Arc::clone(made.entry(key).or_default())
        };
        let answers = cell
            .get_or_init(async || {
                let kept = self.files.read(key);
                if let Some(answers) = kept.and_then(|text| serde_json::from_slice(&text).ok()) {
                    return Ok(Arc::new(answers));
                }
                let answers = make().await?;
                self.files
                    .write(key, |file| Ok(serde_json::to_writer(file, &*answers)?));
                Ok(answers)
            })
            .await;
        answers.clone()
    }
}

/// Drops answers beyond [`MOST_KEPT`]; whoever uses them still has them.
fn forget(made: &mut HashMap<Fingerprint, Arc<OnceCell<AnswersResult>>>, wanted: Fingerprint) {
    let size = |cell: &Arc<OnceCell<AnswersResult>>| match cell.get() {
        Some(Ok(answers)) => answers.iter().map(|answer| answer.value.len() + 40).sum(),
        _ => 0,
    };
    let kept: usize = made.values().map(size).sum();
    if kept > MOST_KEPT {
        made.retain(|key, cell| *key == wanted || size(cell) == 0);
    }
}

/// The digest in a value, and whether the value is a list or a tuple of floats only.
pub(super) fn digest(value: &Value) -> Option<(&str, bool)> {
    let map = value.as_object()?;
    let digest = map.get("$digest")?.as_str()?;
    Some((digest, map.get("floats") == Some(&Value::Bool(true))))
}

#[cfg(test)]
#[path = "expected_tests.rs"]
mod tests;
