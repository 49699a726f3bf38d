//! Answers that need no question: from recordings or the cache, whichever the run's settings name.
//!
//! [`KeptAnswers::look`] comes before each call of a model, [`KeptAnswers::keep`] after it and before
//! its answer is given on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use jiff::Timestamp;

use super::cache::{AnswerCache, CacheError, StoredAnswer};
use super::key::{KeyedQuestion, QuestionKey};
use super::recordings::{ExchangeRecorder, RecordingIndex, RecordingsError};
use super::{Completion, FaultKind, ModelFault, ModelRequest};
use crate::{AnswerSource, CacheMode, Endpoint, FinishReason, ModelSettings};
use eval_base::clock::{Clock, rfc3339};
use eval_base::redact::Redactor;
use eval_base::sync::lock;

/// What a run can't do without is not there (exit code 2).
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("{0}; with --cache only every answer comes from there")]
    Cache(CacheError),
    #[error(
        "there is no place for the cache: neither EVAL_HARNESS_CACHE_DIR nor a home folder is set"
    )]
    NoPlace,
    #[error("{0}")]
    Recordings(#[from] RecordingsError),
    #[error("nothing can be recorded in {}: {source}", dir.display())]
    Recorder {
        dir: PathBuf,
        source: std::io::Error,
    },
}

/// What is known before anybody is asked.
#[derive(Debug)]
pub enum AnswerLookup {
    /// Nobody need be asked. The key is that of the cache, when it is from there and another answer
    /// may take its place.
    Found(StoredAnswer, AnswerSource, Option<QuestionKey>),
    /// The answer, once there is one, goes to [`KeptAnswers::keep`] with this.
    Ask(UnansweredQuestion),
}

/// A question that has no answer yet.
#[derive(Debug)]
pub struct UnansweredQuestion {
    pub key: QuestionKey,
    /// `None` when nothing is recorded.
    question: Option<Box<KeyedQuestion>>,
}

/// The cache and the recordings of one run, each opened when a model needs it.
pub struct KeptAnswers {
    settings: ModelSettings,
    redactor: Redactor,
    clock: Arc<dyn Clock>,
    /// When the run began (its first session). With `refresh`, answers that were given before this
    /// don't count.
    since: OnceLock<Timestamp>,
    cache: OnceLock<Option<AnswerCache>>,
    recorder: OnceLock<Option<ExchangeRecorder>>,
    replays: Mutex<HashMap<PathBuf, Arc<RecordingIndex>>>,
    warnings: Mutex<Vec<String>>,
}

impl KeptAnswers {
    /// Opens nothing yet. The redactor's secrets don't get into recordings.
    pub fn new(settings: ModelSettings, redactor: Redactor, clock: Arc<dyn Clock>) -> KeptAnswers {
        KeptAnswers {
            settings,
            redactor,
            clock,
            since: OnceLock::new(),
            cache: OnceLock::new(),
            recorder: OnceLock::new(),
            replays: Mutex::default(),
            warnings: Mutex::default(),
        }
    }

    /// Without this the run begins with its first question.
    pub fn resumes(&self, began: Timestamp) {
        // A second session of the run names the same moment.
        _ = self.since.set(began);
    }

    fn since(&self) -> Timestamp {
        *self.since.get_or_init(|| self.clock.now())
    }

    /// Opens what this model's answers come from and go to. Called before a run for each of its
    /// models, it finds what would stop the run; questions to models that it was not called for
    /// open their part themselves.
    pub fn prepare(&self, endpoint: &Endpoint) -> Result<(), KeptError> {
        match self.replay(endpoint) {
            Some(dir) => self.recordings(dir).map(|_| ()),
            None => {
                self.cache()?;
                self.recorder()?;
                Ok(())
            }
        }
    }

    /// What people should know and were not yet told.
    pub fn take_warnings(&self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut *lock(&self.warnings));
        if let Some(Some(cache)) = self.cache.get() {
            warnings.extend(cache.take_warnings());
        }
        if let Some(Some(recorder)) = self.recorder.get() {
            warnings.extend(recorder.take_warning());
        }
        warnings
    }

    /// Looks for the answer to a question. Without `in_cache` only where the model may not be
    /// called.
    ///
    /// # Errors
    /// When there is none, and the model may not be called.
    pub async fn look(
        &self,
        endpoint: &Endpoint,
        call: &ModelRequest,
        in_cache: bool,
    ) -> Result<AnswerLookup, ModelFault> {
        let in_cache = in_cache || self.settings.cache == CacheMode::Only;
        // The run begins now at the latest.
        self.since();
        let question = KeyedQuestion::of(endpoint, call);
        let key = question.key();
        if let Some(dir) = self.replay(endpoint) {
            let found = self
                .recordings(dir)
                .map_err(|error| error.to_string())
                .and_then(|recordings| recordings.find(&key, &question, &self.redactor));
            return match found {
                Ok(kept) => Ok(AnswerLookup::Found(kept, AnswerSource::Recording, None)),
                // With --record alone it would be looked for here again.
                Err(why) if self.settings.replay.is_none() => Err(not_recorded(format!(
                    "{why}; take `replay` out of the target (or judge) first, which calls no model"
                ))),
                Err(why) => Err(not_recorded(why)),
            };
        }
        let unusable = |error: KeptError| ModelFault::new(FaultKind::Settings, error.to_string());
        let cache = self.cache().map_err(unusable)?;
        let recorder = self.recorder().map_err(unusable)?;
        let cache = cache.filter(|_| in_cache);
        let kept = cache
            .and_then(|cache| cache.get(&key))
            .filter(|kept| self.counts(kept));
        if let Some(kept) = kept {
            if let Some(recorder) = recorder {
                recorder.keep(endpoint, &question, &key, &kept);
            }
            let key = Some(key).filter(|_| self.is_kept());
            return Ok(AnswerLookup::Found(kept, AnswerSource::Cache, key));
        }
        if self.settings.cache == CacheMode::Only {
            return Err(not_recorded(format!(
                "the cache has no answer of {} to this question, and --cache only calls no model; run it once with --cache use",
                endpoint.name()
            )));
        }
        Ok(AnswerLookup::Ask(UnansweredQuestion {
            key,
            question: recorder.map(|_| Box::new(question)),
        }))
    }

    /// Keeps an answer that a model gave just now; returns when a killed run would find it again.
    pub async fn keep(
        &self,
        asked: &UnansweredQuestion,
        endpoint: &Endpoint,
        completion: &Completion,
    ) {
        let kept = StoredAnswer {
            completion: completion.clone(),
            answered_at: rfc3339(self.clock.now()),
        };
        if is_usable(completion)
            && !self.holds_secret(completion)
            && let Ok(Some(cache)) = self.cache()
        {
            let is_refresh = self.settings.cache == CacheMode::Refresh;
            let replaced = is_refresh.then(|| self.since());
            let model = endpoint.name();
            cache.put(&asked.key, &model, &kept, replaced).await;
        }
        if let (Some(question), Ok(Some(recorder))) = (&asked.question, self.recorder()) {
            recorder.keep(endpoint, question, &asked.key, &kept);
        }
    }

    /// True when answers are put into the cache.
    pub fn is_kept(&self) -> bool {
        matches!(self.settings.cache, CacheMode::Use | CacheMode::Refresh)
    }

    /// Removes an answer from the cache that whoever asked can't use; returns when the next one who
    /// asks does not find it.
    pub async fn remove(&self, key: &QuestionKey) {
        if let Ok(Some(cache)) = self.cache() {
            cache.remove(key).await;
        }
        if let Ok(Some(recorder)) = self.recorder() {
            recorder.forget(key);
        }
    }

    /// Such an answer goes into no file: without its secret it would be another one.
    fn holds_secret(&self, completion: &Completion) -> bool {
        let text = serde_json::to_string(completion).unwrap_or_default();
        !self.redactor.is_empty() && self.redactor.redact(&text).is_some()
    }

    fn counts(&self, kept: &StoredAnswer) -> bool {
        self.settings.cache != CacheMode::Refresh || kept.answered_at >= rfc3339(self.since())
    }

    fn replay<'s>(&'s self, endpoint: &'s Endpoint) -> Option<&'s Path> {
        self.settings
            .replay
            .as_deref()
            .or(endpoint.replay.as_deref())
    }

    fn warn(&self, warning: String) {
        lock(&self.warnings).push(warning);
    }

    /// The cache, if this run has one; an error only where it can't do without.
    fn cache(&self) -> Result<Option<&AnswerCache>, KeptError> {
        if let Some(cache) = self.cache.get() {
            return Ok(cache.as_ref());
        }
        let opened = match (&self.settings.cache_file, self.settings.cache) {
            (_, CacheMode::Off) => None,
            (None, CacheMode::Only) => return Err(KeptError::NoPlace),
            (None, _) => {
                self.warn(
                    "answers are not kept: neither EVAL_HARNESS_CACHE_DIR nor a home folder is set"
                        .into(),
                );
                None
            }
            (Some(file), CacheMode::Only) => {
                Some(AnswerCache::open_present(file, self.clock.now()).map_err(KeptError::Cache)?)
            }
            (Some(file), _) => match AnswerCache::open(file, self.clock.now()) {
                Ok(cache) => Some(cache),
                Err(error) => {
                    self.warn(format!("{error}; this run has no cache"));
                    None
                }
            },
        };
        Ok(self.cache.get_or_init(|| opened).as_ref())
    }

    fn recorder(&self) -> Result<Option<&ExchangeRecorder>, KeptError> {
        if let Some(recorder) = self.recorder.get() {
            return Ok(recorder.as_ref());
        }
        let opened = match &self.settings.record {
            None => None,
            Some(dir) => Some(ExchangeRecorder::open(dir, self.redactor.clone()).map_err(
                |source| KeptError::Recorder {
                    dir: dir.clone(),
                    source,
                },
            )?),
        };
        Ok(self.recorder.get_or_init(|| opened).as_ref())
    }

    fn recordings(&self, dir: &Path) -> Result<Arc<RecordingIndex>, KeptError> {
        let mut replays = lock(&self.replays);
        if let Some(known) = replays.get(dir) {
            return Ok(Arc::clone(known));
        }
        let (opened, warnings) = RecordingIndex::open(dir)?;
        let opened = Arc::new(opened);
        lock(&self.warnings).extend(warnings);
        replays.insert(dir.to_owned(), Arc::clone(&opened));
        Ok(opened)
    }
}

fn not_recorded(why: String) -> ModelFault {
    ModelFault::new(FaultKind::NotRecorded, why)
}

/// Whether an answer is worth keeping: one that says something. A refusal without a word is asked
/// for again.
fn is_usable(completion: &Completion) -> bool {
    let says = !completion.is_silent() || completion.tool_calls.is_some();
    says || completion.finish == FinishReason::Length
}

#[cfg(test)]
mod tests;
