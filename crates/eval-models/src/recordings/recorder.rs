//! Writes exchanges.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use super::exchange::RecordedExchange;
use super::index::places;
use crate::Endpoint;
use crate::cache::StoredAnswer;
use crate::key::{KeyedQuestion, QuestionKey};
use eval_base::redact::Redactor;
use eval_base::sync::lock;
use eval_base::text::{escape_path_component, sanitize};
use eval_base::whole_file::write_whole;

/// Letters of the prompt in a file's name.
const SLUG: usize = 40;

/// Digits of the key in a file's name.
const DIGITS: usize = 12;

/// Writes one file for each exchange below a folder.
#[derive(Debug)]
pub struct ExchangeRecorder {
    dir: PathBuf,
    redactor: Redactor,
    /// Where what was recorded before lies, by what name ever.
    there: OnceLock<HashMap<QuestionKey, PathBuf>>,
    state: Mutex<RecorderState>,
}

#[derive(Debug, Default)]
struct RecorderState {
    /// In this run: the first answer to a question stays, as in a cache.
    written: HashSet<QuestionKey>,
    failed: usize,
    warning: Option<String>,
}

impl ExchangeRecorder {
    /// Makes the folder, so that a run does not find at its end that nothing was recorded.
    pub fn open(dir: &Path, redactor: Redactor) -> io::Result<ExchangeRecorder> {
        std::fs::create_dir_all(dir)?;
        tried(dir)?;
        Ok(ExchangeRecorder {
            dir: dir.to_owned(),
            redactor,
            there: OnceLock::new(),
            state: Mutex::default(),
        })
    }

    /// Records an exchange; one that is there with the same answer stays as it is, day and all. A
    /// failure is told by [`ExchangeRecorder::take_warning`].
    pub fn keep(
        &self,
        endpoint: &Endpoint,
        question: &KeyedQuestion,
        key: &QuestionKey,
        kept: &StoredAnswer,
    ) {
        if !lock(&self.state).written.insert(*key) {
            return;
        }
        if let Err(error) = self.write(endpoint, question, key, kept) {
            let mut state = lock(&self.state);
            let more = match state.failed {
                0 => String::new(),
                before => format!(" (and {before} before it)"),
            };
            state.failed += 1;
            state.warning = Some(format!("an exchange can't be recorded{more}: {error}"));
        }
    }

    /// The next answer to the question takes the place of the one that this run recorded, which
    /// could not be used.
    pub fn forget(&self, key: &QuestionKey) {
        lock(&self.state).written.remove(key);
    }

    pub fn take_warning(&self) -> Option<String> {
        lock(&self.state).warning.take()
    }

    fn write(
        &self,
        endpoint: &Endpoint,
        question: &KeyedQuestion,
        key: &QuestionKey,
        kept: &StoredAnswer,
    ) -> io::Result<()> {
        let exchange = RecordedExchange::of(key, question, kept, &self.redactor);
        let there = self.there.get_or_init(|| places(&self.dir));
        let path = match there.get(key) {
            Some(path) => path.clone(),
            None => {
                let folder = escape_path_component(&format!(
                    "{}-{}",
                    endpoint.provider, exchange.request.model
                ));
                let digits: String = key.to_string().chars().take(DIGITS).collect();
                let name = match slug(&exchange.request.beginning()) {
                    slug if slug.is_empty() => format!("{digits}.json"),
                    slug => format!("{slug}-{digits}.json"),
                };
                self.dir.join(folder).join(name)
            }
        };
        if std::fs::read(&path).is_ok_and(|there| exchange.is_in(&there)) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let bytes = exchange.bytes()?;
        write_whole(&path, |file| file.write_all(&bytes))
    }
}

/// Whether files can be written there.
fn tried(dir: &Path) -> io::Result<()> {
    let path = dir.join(format!(".eval-harness-{}.tmp", std::process::id()));
    std::fs::write(&path, b"")?;
    std::fs::remove_file(&path)
}

/// The beginning of a text as part of a file's name: words of letters and digits.
fn slug(text: &str) -> String {
    let start: String = text.chars().take(400).collect();
    let mut slug = String::new();
    for c in sanitize(&start).chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= SLUG {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}
