//! Keeps a line of the journal short: a large output goes into a file of its own beside the
//! journal.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::stored::trajectory_file;
use crate::model::limits;
use crate::model::{
    Attempt, Grade, Judged, Output, OutputValue, SampleFinished, Stored, StoredKind, json_of,
};
use eval_base::json::is_deeper;
use eval_base::redact::Redactor;
use eval_base::text::{group_digits, hex, shortened, truncate_bytes};
use eval_base::whole_file::write_whole;

/// Bytes above which an output is stored beside the journal.
pub(super) const LARGE: usize = 64 << 10;

/// Levels of arrays and objects that a value in a line may have: with what is around it, a reader
/// of JSON (128 levels) and a report take it.
const DEEPEST: usize = 96;

/// What stands for the words of one reply, where there are too many of them.
const LEFT_OUT: &str = "(omitted: too long)";

/// The files of one run's large outputs, each under the SHA-256 of its bytes.
#[derive(Debug)]
pub(super) struct OutputStore {
    dir: PathBuf,
    /// Written by this process. What an earlier one left may be incomplete (it lost its power) and
    /// is written again.
    written: HashSet<[u8; 32]>,
}

/// A file that can't be written, and why.
pub(super) type StoreError = (PathBuf, io::Error);

impl OutputStore {
    pub fn new(dir: PathBuf) -> Self {
        OutputStore {
            dir,
            written: HashSet::new(),
        }
    }

    /// True when some output is certainly too large for a line, or a value too deep; cheap.
    pub fn is_large(sample: &SampleFinished) -> bool {
        let outputs = sample
            .attempts
            .iter()
            .filter_map(|attempt| attempt.output.as_ref());
        let large = |output: &Output| match &output.value {
            OutputValue::Text(text) | OutputValue::Program(text) => text.len() > LARGE,
            OutputValue::Json(Value::String(text)) => text.len() > LARGE,
            OutputValue::Json(_) => false,
        };
        outputs.into_iter().any(large) || sample.attempts.iter().any(holds_deep)
    }

    /// Stores large outputs, and shortens what else makes the line too long. `line` is the length
    /// of the line as it is, or `None` when that is not known.
    pub fn shrink(
        &mut self,
        sample: &mut SampleFinished,
        line: Option<usize>,
    ) -> Result<(), StoreError> {
        for attempt in &mut sample.attempts {
            self.shrink_attempt(attempt, LARGE)?;
        }
        let too_long = |length: usize| length > limits::JOURNAL_LINE;
        if !too_long(line.unwrap_or(usize::MAX)) || !too_long(json_length(sample)) {
            return Ok(());
        }
        for attempt in &mut sample.attempts {
            self.shrink_attempt(attempt, limits::EXCERPT)?;
            cut(&mut attempt.verdict.reason);
            attempt.verdict.grades.iter_mut().for_each(shorten);
        }
        Ok(())
    }

    fn shrink_attempt(&mut self, attempt: &mut Attempt, limit: usize) -> Result<(), StoreError> {
        let unfit = |output: &mut Output| {
            matches!(&output.value, OutputValue::Json(value) if is_deeper(value, DEEPEST))
                || length(&output.value) > limit
        };
        if let Some(output) = attempt.output.take_if(unfit) {
            attempt.stored = Some(self.store(output)?);
        }
        flatten(attempt);
        if let Some(extracted) = &mut attempt.extracted {
            let bytes = value_length(extracted);
            if bytes > limit {
                let note = format!(
                    "(omitted: {} bytes, which are part of the stored output)",
                    group_digits(bytes)
                );
                *extracted = Value::String(note);
            }
        }
        Ok(())
    }

    /// Stores trajectories, of which a line has the digest and a timeline.
    pub fn store_trajectories(
        &mut self,
        sample: &mut SampleFinished,
        redactor: &Redactor,
    ) -> Result<(), StoreError> {
        let outputs = sample
            .attempts
            .iter_mut()
            .filter_map(|attempt| attempt.output.as_mut());
        for record in outputs.filter_map(|output| output.trajectory.as_mut()) {
            record.seal(redactor);
            let Some(content) = record.content.take() else {
                continue;
            };
            let json = json_of(&content);
            let digest: [u8; 32] = Sha256::digest(&json).into();
            if self.written.insert(digest) {
                let path = self.dir.join(trajectory_file(&record.sha256));
                fs::create_dir_all(&self.dir).map_err(|error| (self.dir.clone(), error))?;
                let written = write_whole(&path, |file| {
                    let mut out = GzEncoder::new(file, Compression::fast());
                    out.write_all(&json)?;
                    out.finish().map(drop)
                });
                written.map_err(|error| (path, error))?;
            }
        }
        Ok(())
    }

    fn store(&mut self, output: Output) -> Result<Stored, StoreError> {
        let (kind, text) = match output.value {
            OutputValue::Text(text) => (StoredKind::Text, text),
            OutputValue::Program(text) => (StoredKind::Program, text),
            OutputValue::Json(value) => (StoredKind::Json, value.to_string()),
        };
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let sha256 = hex(&digest);
        if !self.written.contains(&digest) {
            let path = self.dir.join(&sha256);
            fs::create_dir_all(&self.dir).map_err(|error| (self.dir.clone(), error))?;
            write_whole(&path, |file| file.write_all(text.as_bytes()))
                .map_err(|error| (path, error))?;
            self.written.insert(digest);
        }
        Ok(Stored {
            sha256,
            bytes: text.len() as u64,
            kind,
            head: truncate_bytes(&text, limits::OUTPUT_HEAD).to_owned(),
            truncated: output.truncated,
            finish: output.finish,
            usage: output.usage,
            model: output.model,
            thoughts: output.thoughts,
            workspace: output.workspace,
            trajectory: output.trajectory,
        })
    }
}

/// True when a value of an attempt is nested too deeply for a line.
fn holds_deep(attempt: &Attempt) -> bool {
    let output = attempt
        .output
        .as_ref()
        .and_then(|output| match &output.value {
            OutputValue::Json(value) => Some(value),
            _ => None,
        });
    let excerpts = attempt.verdict.grades.iter().flat_map(|grade| {
        grade
            .expected
            .iter()
            .chain(&grade.actual)
            .chain(grade.details.values())
    });
    output
        .into_iter()
        .chain(&attempt.extracted)
        .chain(excerpts)
        .any(|value| is_deeper(value, DEEPEST))
}

/// Writes values that are nested too deeply as texts.
fn flatten(attempt: &mut Attempt) {
    let excerpts = attempt.verdict.grades.iter_mut().flat_map(|grade| {
        let Grade {
            expected,
            actual,
            details,
            ..
        } = grade;
        expected
            .iter_mut()
            .chain(actual)
            .chain(details.values_mut())
    });
    for value in attempt.extracted.iter_mut().chain(excerpts) {
        if is_deeper(value, DEEPEST) {
            *value = Value::String(value.take().to_string());
        }
    }
}

fn length(value: &OutputValue) -> usize {
    match value {
        OutputValue::Text(text) | OutputValue::Program(text) => text.len(),
        OutputValue::Json(value) => value_length(value),
    }
}

fn value_length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        value => json_length(value),
    }
}

/// Counts bytes instead of keeping them.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn json_length<T: serde::Serialize + ?Sized>(value: &T) -> usize {
    let mut count = ByteCounter(0);
    serde_json::to_writer(&mut count, value).map_or(0, |()| count.0)
}

fn shorten(grade: &mut Grade) {
    cut(&mut grade.reason);
    for excerpt in [&mut grade.expected, &mut grade.actual]
        .into_iter()
        .flatten()
    {
        cut_value(excerpt);
    }
    grade.details.values_mut().for_each(cut_value);
    grade
        .judged
        .as_deref_mut()
        .into_iter()
        .for_each(shorten_judged);
    if let Some(review) = grade.review.as_deref_mut() {
        cut_to(&mut review.rubric, 16 * limits::EXCERPT);
        review.reference.as_mut().into_iter().for_each(cut_value);
    }
    if json_length(&grade.details) > 16 * limits::EXCERPT {
        grade.details.clear();
        grade.details.insert(
            "left_out".to_owned(),
            "the details were too long to be stored".into(),
        );
    }
}

/// Words are shortened, and where there are too many votes those of them are left out. What is
/// counted stays: outcomes, scores, faults, calls, and that a repair was asked for.
fn shorten_judged(judged: &mut Judged) {
    let Judged {
        justification,
        feedback,
        notices,
        asked,
        votes,
        checks,
        ..
    } = judged;
    cut_to(&mut asked.prompt, 16 * limits::EXCERPT);
    cut_to(&mut asked.system, 4 * limits::EXCERPT);
    let words = std::iter::once(justification)
        .chain(feedback)
        .chain(notices);
    words
        .chain(checks.iter_mut().map(|check| &mut check.text))
        .for_each(cut);
    for vote in votes.iter_mut() {
        cut(&mut vote.reason);
        cut(&mut vote.justification);
        vote.unknown
            .iter_mut()
            .for_each(|name| cut_to(name, limits::VOTE_SENTENCE));
        for reply in &mut vote.replies {
            [&mut reply.text, &mut reply.why, &mut reply.repair]
                .into_iter()
                .for_each(cut);
        }
    }
    if json_length(votes) <= limits::JOURNAL_LINE / 2 {
        return;
    }
    for vote in votes {
        cut_to(&mut vote.reason, limits::VOTE_SENTENCE);
        cut_to(&mut vote.justification, limits::VOTE_SENTENCE);
        vote.unknown.clear();
        for reply in &mut vote.replies {
            let words = [&mut reply.text, &mut reply.why, &mut reply.repair].into_iter();
            words
                .filter(|words| !words.is_empty())
                .for_each(|words| *words = LEFT_OUT.to_owned());
        }
    }
}

fn cut(text: &mut String) {
    cut_to(text, limits::EXCERPT);
}

fn cut_to(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        *text = shortened(text, bytes).into_owned();
    }
}

fn cut_value(value: &mut Value) {
    if value_length(value) > limits::EXCERPT {
        let mut text = match value.take() {
            Value::String(text) => text,
            other => other.to_string(),
        };
        cut(&mut text);
        *value = Value::String(text);
    }
}
