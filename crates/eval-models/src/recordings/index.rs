//! A folder of recordings, found by what was asked.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::exchange::{self, SoundRecording};
use crate::cache::StoredAnswer;
use crate::key::{KeyedQuestion, QuestionKey};
use eval_base::redact::Redactor;
use eval_base::text::{exact_line, plural, truncate_width};

/// A longer file is no recording.
const LONGEST: u64 = 64 << 20;

/// Folders below folders.
const DEEPEST: usize = 16;

/// Warnings that are told one by one.
const MOST_WARNINGS: usize = 10;

/// A folder of recordings can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingsError {
    #[error("the recordings {} can't be read: {source}", dir.display())]
    Unreadable { dir: PathBuf, source: io::Error },
    #[error("{} and {} are two answers to one question; remove one of them", first.display(), second.display())]
    Twice { first: PathBuf, second: PathBuf },
}

/// The answers of a folder.
#[derive(Debug)]
pub struct RecordingIndex {
    dir: PathBuf,
    pub(super) answers: HashMap<QuestionKey, (PathBuf, SoundRecording)>,
}

impl RecordingIndex {
    /// Reads every `*.json` of the folder and of those below it. Also returns a
    /// warning for each file that can't be used.
    ///
    /// # Errors
    /// When the folder can't be read, and when two files answer the same question differently.
    pub fn open(dir: &Path) -> Result<(RecordingIndex, Vec<String>), RecordingsError> {
        let unreadable = |source| RecordingsError::Unreadable {
            dir: dir.to_owned(),
            source,
        };
        let mut recordings = RecordingIndex {
            dir: dir.to_owned(),
            answers: HashMap::new(),
        };
        let mut warnings = Vec::new();
        for path in files(dir).map_err(unreadable)? {
            match read(&path) {
                Ok(recorded) => recordings.add(path, recorded)?,
                Err(why) => warnings.push(format!("{}: {why}; it is not used", path.display())),
            }
        }
        let all = warnings.len();
        if all > MOST_WARNINGS {
            warnings.truncate(MOST_WARNINGS);
            warnings.push(format!(
                "{} more in {} can't be used",
                plural(all - MOST_WARNINGS, "recording"),
                dir.display()
            ));
        }
        Ok((recordings, warnings))
    }

    fn add(&mut self, path: PathBuf, recorded: SoundRecording) -> Result<(), RecordingsError> {
        match self.answers.get(&recorded.key) {
            Some((first, known)) if known.kept.completion != recorded.kept.completion => {
                Err(RecordingsError::Twice {
                    first: first.clone(),
                    second: path,
                })
            }
            Some(_) => Ok(()),
            None => {
                self.answers.insert(recorded.key, (path, recorded));
                Ok(())
            }
        }
    }

    /// The recorded answer, or one sentence for people why there is none, which holds none of the
    /// redactor's secrets.
    pub fn find(
        &self,
        key: &QuestionKey,
        question: &KeyedQuestion,
        redactor: &Redactor,
    ) -> Result<StoredAnswer, String> {
        match self.answers.get(key) {
            Some((path, recorded)) if recorded.is_cut => Err(format!(
                "the recorded answer {} held a secret, which was cut: what was graded then is not known; record it again \
                 with --record where its answers hold none",
                path.display()
            )),
            Some((_, recorded)) => Ok(recorded.kept.clone()),
            None => Err(format!(
                "no recorded answer in {} to this question ({}); record it with --record",
                self.dir.display(),
                told(question, redactor)
            )),
        }
    }
}

/// Where each question is recorded. What can't be read is left out.
pub(super) fn places(dir: &Path) -> HashMap<QuestionKey, PathBuf> {
    let paths = files(dir).unwrap_or_default();
    paths
        .into_iter()
        .rev()
        .filter_map(|path| Some((read(&path).ok()?.key, path)))
        .collect()
}

/// The beginning of a question, and which of several answers is meant.
fn told(question: &KeyedQuestion, redactor: &Redactor) -> String {
    let whole = question.beginning();
    // Before it is shortened: nobody would know half of a secret for one.
    let beginning = redactor.redact(&whole).unwrap_or(whole);
    let start: String = beginning.chars().take(200).collect();
    let mut text = format!("\"{}\"", truncate_width(&exact_line(&start), 48));
    if question.sample > 0 {
        text += &format!(", sample {}", question.sample);
    }
    if question.attempt > 0 {
        text += &format!(", attempt {}", question.attempt);
    }
    text
}

fn read(path: &Path) -> Result<SoundRecording, String> {
    let mut bytes = Vec::new();
    // Before it is opened: a pipe would wait for somebody to write.
    if !std::fs::metadata(path)
        .map_err(|error| error.to_string())?
        .is_file()
    {
        return Err("it is no ordinary file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LONGEST {
        return Err("it is longer than 64 MiB".to_owned());
    }
    exchange::read(&bytes)
}

/// All files that end with `.json`, in order of their paths. Links to folders are not followed:
/// they may lead back.
fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![(dir.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                if depth < DEEPEST {
                    folders.push((path, depth + 1));
                }
            } else if path.extension().is_some_and(|end| end == "json") && !path.is_dir() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
