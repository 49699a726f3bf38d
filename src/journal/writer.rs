//! Appending events.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::durable::DurableFile;
use super::outputs::{LARGE, OutputStore};
use super::paths::{hold_results, outputs_of};
use super::tail::sound_length;
use super::{JournalError, RunPaths};

use crate::model::{Attempt, Event};
use eval_base::files::{LockState, lock};
use eval_base::json;
use eval_base::redact::Redactor;

/// How long another writer is waited for. A child that was being started when its parent was killed
/// holds the lock for a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Fields that hold words of the journal's own format and nothing from outside. A secret may well
/// be such a word (`passed`).
const OWN_WORDS: [&str; 30] = [
    "outcome",
    "cause",
    "fault",
    "finish",
    "type",
    "trust",
    "metric",
    "bound",
    "on",
    "formats",
    "graders",
    "difficulty",
    "criticality",
    "timestamp",
    "finished_at",
    "run_id",
    "harness_version",
    "input_hash",
    "grading_hash",
    "data_hash",
    "target_hash",
    "call_hash",
    "whole_hash",
    "hash",
    "regrade_of",
    "changed_since",
    "sha256",
    "kind",
    "fail_on",
    "fingerprint",
];
/// A word of the journal's own, where it is a text: elsewhere a place in a file has this name.
const SOURCE: &str = "source";
/// Fields that hold any JSON from outside, keys and numbers included.
const FROM_OUTSIDE: [&str; 5] = ["json", "extracted", "expected", "actual", "details"];
/// What a case gives its target: fields of the journal's own, and beside them all that comes from
/// outside.
const INPUT: &str = "input";

/// The event without secrets. Only what came from outside is looked at: a secret that is also a
/// word of the journal's format, or a number in it, must not break the line.
fn redacted(event: &Event, redactor: &Redactor) -> serde_json::Result<Event> {
    let mut value = serde_json::to_value(event)?;
    redact_fields(&mut value, redactor);
    let mut clean = serde_json::from_value(value)?;
    if let (Event::SampleFinished(before), Event::SampleFinished(after)) = (event, &mut clean) {
        for (before, after) in before.attempts.iter().zip(&mut after.attempts) {
            // Reasoning beside an output is not graded.
            let graded = |attempt: &Attempt| {
                let output = attempt.output.clone()?;
                Some((output.value, output.workspace))
            };
            after.redacted |= graded(before) != graded(after);
        }
    }
    Ok(clean)
}

fn redact_fields(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Some(clean) = redactor.redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| redact_fields(item, redactor)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if FROM_OUTSIDE.contains(&name.as_str()) {
                    redactor.redact_value(field);
                } else if let (INPUT, Some(input)) = (name.as_str(), field.as_object_mut()) {
                    let from_outside = input
                        .iter_mut()
                        .filter(|(name, _)| *name == "value" || *name == "context");
                    from_outside.for_each(|(_, field)| redactor.redact_value(field));
                    redact_fields(field, redactor);
                } else if !(OWN_WORDS.contains(&name.as_str()) && !field.is_object()
                    || name == SOURCE && field.is_string())
                {
                    redact_fields(field, redactor);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Memory that is kept for lines between two writes.
const KEPT_BUFFER: usize = 4 << 20;

/// Appends events to a journal, without secrets. As long as it lives no other process can write the
/// same run.
#[derive(Debug)]
pub struct JournalWriter {
    path: PathBuf,
    file: Arc<File>,
    durable: DurableFile,
    redactor: Redactor,
    outputs: OutputStore,
    lines: Vec<u8>,
    /// Bytes of whole lines in the file.
    length: u64,
    /// As long as it is open no run of the folder is removed.
    _results: Option<File>,
    /// Set when a write failed: nothing may follow, for events that were lost can't be told from
    /// events that never were.
    broken: bool,
}

impl JournalWriter {
    /// Opens an existing (possibly empty) journal for appending, and cuts off a torn tail.
    ///
    /// Fails when another process writes the same run.
    pub fn open(path: &Path, redactor: Redactor) -> Result<Self, JournalError> {
        let fail = |source| JournalError::Open {
            path: path.to_owned(),
            source,
        };
        let results = match path.parent().and_then(Path::parent) {
            Some(results) => hold_results(results)?,
            None => None,
        };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(path)
            .map_err(fail)?;
        if lock(&file, LOCK_PATIENCE, LOCK_PAUSE).map_err(fail)? == LockState::Busy {
            let run = RunPaths::of_journal(path).map(|paths| paths.run_id);
            return Err(JournalError::Locked {
                run: run.unwrap_or_else(|| path.display().to_string()),
            });
        }
        let length = sound_length(&file).map_err(fail)?;
        if length < file.metadata().map_err(fail)?.len() {
            file.set_len(length).map_err(fail)?;
        }
        let file = Arc::new(file);
        Ok(JournalWriter {
            path: path.to_owned(),
            durable: DurableFile::new(Arc::clone(&file)),
            file,
            redactor,
            outputs: OutputStore::new(outputs_of(path)),
            lines: Vec::new(),
            length,
            _results: results,
            broken: false,
        })
    }

    /// Writes one event and returns it as it was recorded, that is, without secrets and with large
    /// outputs stored beside the journal. When this returns, the event survives the process.
    #[cfg(test)]
    pub fn append(&mut self, mut event: Event) -> Result<Event, JournalError> {
        self.append_all(std::slice::from_mut(&mut event))?;
        Ok(event)
    }

    /// Writes events with one call of the system, and leaves them as they were recorded. When this
    /// fails, some of them may have been recorded, from the first on; no line is torn.
    pub fn append_all(&mut self, events: &mut [Event]) -> Result<(), JournalError> {
        if self.broken {
            return Err(self.failed(io::Error::other("an earlier write failed")));
        }
        self.lines.clear();
        for event in events {
            if let Err(error) = self.add_line(event) {
                self.broken = true;
                return Err(error);
            }
        }
        let written = self.write().and_then(|()| self.durable.written());
        self.lines.shrink_to(KEPT_BUFFER);
        written.map_err(|source| {
            self.broken = true;
            self.failed(source)
        })
    }

    /// Asks the device itself to keep what was written; called at the end of a run.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        let kept = self.durable.finish().and_then(|()| still_there(&self.file));
        kept.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::Write {
            path: self.path.clone(),
            source,
        }
    }

    fn add_line(&mut self, event: &mut Event) -> Result<(), JournalError> {
        let start = self.lines.len();
        if let Event::SampleFinished(sample) = event {
            // First: whatever rewrites the event only has what lines have.
            self.outputs
                .store_trajectories(sample, &self.redactor)
                .map_err(|(path, source)| JournalError::Write { path, source })?;
        }
        if let Event::SampleFinished(sample) = event
            && OutputStore::is_large(sample)
        {
            if !self.redactor.is_empty() {
                *event = redacted(event, &self.redactor).map_err(|e| self.failed(e.into()))?;
            }
            self.shrink(event, None)?;
        }
        self.serialise(event, start)?;
        let line = self.lines.get(start..).unwrap_or_default();
        let holds_secret = !self.redactor.is_empty()
            && std::str::from_utf8(line).is_ok_and(|text| self.redactor.redact(text).is_some());
        if holds_secret {
            *event = redacted(event, &self.redactor).map_err(|e| self.failed(e.into()))?;
            self.serialise(event, start)?;
        }
        self.escape(start);
        if self.lines.len() - start > LARGE {
            self.shrink(event, Some(self.lines.len() - start))?;
            self.serialise(event, start)?;
            self.escape(start);
        }
        self.lines.push(b'\n');
        Ok(())
    }

    /// Without the escapes of [`json`]: which characters of a secret they change depends on what
    /// follows it.
    fn serialise(&mut self, event: &Event, start: usize) -> Result<(), JournalError> {
        self.lines.truncate(start);
        serde_json::to_writer(&mut self.lines, event).map_err(|e| self.failed(e.into()))
    }

    fn escape(&mut self, start: usize) {
        let line = self.lines.get(start..).unwrap_or_default();
        if let Ok(Cow::Owned(escaped)) = std::str::from_utf8(line).map(json::escaped) {
            self.lines.truncate(start);
            self.lines.extend_from_slice(escaped.as_bytes());
        }
    }

    fn shrink(&mut self, event: &mut Event, line: Option<usize>) -> Result<(), JournalError> {
        let Event::SampleFinished(sample) = event else {
            return Ok(());
        };
        self.outputs
            .shrink(sample, line)
            .map_err(|(path, source)| JournalError::Write { path, source })
    }

    fn write(&mut self) -> io::Result<()> {
        let mut done = 0;
        let outcome = loop {
            let rest = self.lines.get(done..).unwrap_or_default();
            if rest.is_empty() {
                break still_there(&self.file);
            }
            match self.file.as_ref().write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        let written = self.lines.get(..done).unwrap_or_default();
        let whole = written
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        self.length += whole as u64;
        if whole < done {
            // Best effort: what can't be cut off now is cut off by the next session, and readers
            // leave it out.
            let _ = self.file.set_len(self.length);
        }
        outcome
    }
}

/// A file that was deleted takes every write, and keeps none.
fn still_there(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if file.metadata()?.nlink() == 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, DELETED));
        }
    }
    Ok(())
}

/// What is said of a journal that vanished under the run.
const DELETED: &str = "it was deleted during the run";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Cause, Grade, GraderType, Output, OutputValue, RunFinished, SampleFinished, SampleSkipped,
        Verdict, testing,
    };

    fn skipped(sample: u32) -> Event {
        let (eval, case) = ("e".to_owned(), "c".to_owned());
        Event::SampleSkipped(SampleSkipped {
            eval,
            case,
            sample,
            cause: Cause::Interrupted,
        })
    }

    fn run() -> (tempfile::TempDir, RunPaths) {
        let dir = tempfile::tempdir().unwrap();
        let paths = RunPaths::create(dir.path(), "2026-03-04T05:06:07Z".parse().unwrap()).unwrap();
        (dir, paths)
    }

    fn open(paths: &RunPaths) -> Result<JournalWriter, JournalError> {
        JournalWriter::open(
            &paths.journal(),
            Redactor::new(["hunter2secret".to_owned()]),
        )
    }

    fn finished(output: OutputValue, grade: Grade) -> Event {
        let verdict = Verdict {
            outcome: grade.outcome,
            score: grade.score,
            cause: grade.cause,
            reason: grade.reason.clone(),
            grades: vec![grade],
            not_run: Vec::new(),
        };
        let attempt = Attempt {
            output: Some(Output {
                value: output,
                ..Output::text("")
            }),
            ..testing::attempt(verdict)
        };
        Event::SampleFinished(Box::new(SampleFinished {
            eval: "e".into(),
            case: "c".into(),
            sample: 0,
            attempts: vec![attempt],
            finished_at: "2026-03-04T05:06:08.300Z".into(),
            reused_from: None,
        }))
    }

    fn attempt(event: &Event) -> &Attempt {
        let Event::SampleFinished(sample) = event else {
            panic!("{event:?}")
        };
        &sample.attempts[0]
    }

    #[test]
    fn a_second_writer_is_refused_until_the_first_has_ended() {
        let (_dir, paths) = run();
        let first = open(&paths).unwrap();
        let error = open(&paths).unwrap_err().to_string();
        assert_eq!(
            error,
            "run eval-20260304-050607 is being written by another process; wait until it ends"
        );
        drop(first);
        open(&paths).unwrap();
    }

    #[test]
    fn events_after_a_torn_tail_stand_on_lines_of_their_own() {
        let (_dir, paths) = run();
        open(&paths)
            .unwrap()
            .append_all(&mut [skipped(0), skipped(1)])
            .unwrap();
        let whole = std::fs::read(paths.journal()).unwrap();
        for cut in 0..=whole.len() {
            for tail in [b"".as_slice(), b"\0\0\0", b"\0\n\xff"] {
                std::fs::write(paths.journal(), [&whole[..cut], tail].concat()).unwrap();
                open(&paths).unwrap().append(skipped(2)).unwrap();
                let text = std::fs::read_to_string(paths.journal()).unwrap();
                let events: Vec<Event> = text
                    .lines()
                    .map(|line| serde_json::from_str(line).unwrap())
                    .collect();
                let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
                assert_eq!(events.len(), lines + 1, "cut at {cut}, {tail:?}");
                assert_eq!(events.last(), Some(&skipped(2)));
            }
        }
    }

    #[test]
    fn no_escape_hides_a_secret() {
        for secret in ["hunter2##[x", "hunter2\u{9b}x", "hunter2secret##"] {
            let (_dir, paths) = run();
            let mut writer =
                JournalWriter::open(&paths.journal(), Redactor::new([secret.to_owned()])).unwrap();
            let text = format!("a {secret}[b] \u{202e}");
            writer
                .append(finished(
                    OutputValue::Text(text),
                    Grade::passed(GraderType::Code, "m"),
                ))
                .unwrap();
            let line = std::fs::read_to_string(paths.journal()).unwrap();
            assert!(line.contains(r"a [redacted][b] \u202e"), "{line}");
            assert!(!line.contains("hunter2"), "{line}");
        }
    }

    #[test]
    fn a_large_output_is_stored_once_and_without_secrets() {
        let (_dir, paths) = run();
        let mut writer = open(&paths).unwrap();
        let text = format!("hunter2secret{}é", "x".repeat(LARGE));
        let passed = || Grade::passed(GraderType::Code, "exact_match");
        let mut events = [
            finished(OutputValue::Text(text.clone()), passed()),
            finished(OutputValue::Text(text.clone()), passed()),
            finished(
                OutputValue::Json(serde_json::json!({ "said": [text] })),
                passed(),
            ),
            finished(OutputValue::Text("y".repeat(LARGE)), passed()),
        ];
        writer.append_all(&mut events).unwrap();
        let names: Vec<_> = std::fs::read_dir(paths.outputs_dir())
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
        for name in names {
            let stored = std::fs::read_to_string(name).unwrap();
            assert!(stored.contains("[redacted]xxx") && !stored.contains("hunter2secret"));
        }
        let back = |event: &Event| {
            super::super::output_of(&paths, attempt(event))
                .unwrap()
                .unwrap()
                .value
        };
        let clean = text.replace("hunter2secret", "[redacted]");
        assert_eq!(back(&events[0]), OutputValue::Text(clean.clone()));
        assert_eq!(
            back(&events[2]),
            OutputValue::Json(serde_json::json!({ "said": [clean] }))
        );
        assert!(
            attempt(&events[0])
                .stored
                .as_ref()
                .unwrap()
                .head
                .starts_with("[redacted]xxx")
        );
        assert_eq!(
            attempt(&events[3]).stored,
            None,
            "what fits stays in its line"
        );
    }

    #[test]
    fn no_line_is_longer_than_a_mebibyte_whatever_graders_say() {
        let (_dir, paths) = run();
        let mut writer = open(&paths).unwrap();
        let long = "é".repeat(400_000);
        let mut grade = Grade::failed(
            GraderType::Code,
            "exact_match",
            Cause::WrongAnswer,
            long.as_str(),
        )
        .with_expected(long.as_str().into())
        .with_actual(serde_json::json!([long]));
        for n in 0..400 {
            grade = grade.with_detail(&format!("d{n}"), long.as_str());
        }
        let recorded = writer
            .append(finished(OutputValue::Text("short".into()), grade))
            .unwrap();
        let text = std::fs::read_to_string(paths.journal()).unwrap();
        assert!(text.len() < 1 << 20, "{}", text.len());
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), recorded);
        assert_eq!(attempt(&recorded).output, Some(Output::text("short")));
        assert!(attempt(&recorded).verdict.reason.ends_with("é…"));
    }

    /// A panel whose judges rambled: what they did still counts as it did.
    #[test]
    fn no_line_is_longer_than_a_mebibyte_whatever_judges_say() {
        use crate::model::ReplyFault;
        use crate::model::testing::{judged, judged_grade, vote};
        let (_dir, paths) = run();
        let mut writer = open(&paths).unwrap();
        for (votes, long, replies_are_there) in [(3, 64 << 10, true), (100, 2 << 10, false)] {
            let long = "é".repeat(long);
            let mut lost = vote("openai:judge", Err(ReplyFault::NoJson));
            let reply = &mut lost.replies[0];
            (reply.text, reply.repair) = (long.clone(), long);
            lost.replies = vec![reply.clone(); 3];
            let mut said = judged();
            said.asked.prompt = "é".repeat(1 << 19);
            said.votes.extend(vec![lost.clone(); votes]);
            let grade = judged_grade(
                said,
                crate::model::Outcome::Errored,
                Some(Cause::JudgeUnparseable),
            );
            let before = std::fs::read_to_string(paths.journal()).unwrap().len();
            let recorded = writer
                .append(finished(OutputValue::Text("short".into()), grade))
                .unwrap();
            let text = std::fs::read_to_string(paths.journal()).unwrap();
            let line = &text[before..];
            assert!(line.len() < 1 << 20, "{}", line.len());
            assert_eq!(serde_json::from_str::<Event>(line).unwrap(), recorded);
            let told = attempt(&recorded).verdict.grades[0]
                .judged
                .as_deref()
                .unwrap();
            assert_eq!(told.votes.len(), votes + 1);
            assert_eq!(told.votes[0].justification, judged().justification);
            for vote in &told.votes[1..] {
                assert!(
                    vote.replies
                        .iter()
                        .all(|r| r.fault == Some(ReplyFault::NoJson) && !r.repair.is_empty())
                );
                assert_eq!(vote.replies[0].text.starts_with('é'), replies_are_there);
            }
        }
    }

    #[test]
    fn a_journal_that_was_deleted_takes_no_more_events() {
        let (dir, paths) = run();
        let mut writer = open(&paths).unwrap();
        writer.append(skipped(0)).unwrap();
        std::fs::remove_dir_all(dir.path().join("2026-03-04")).unwrap();
        let error = writer.append(skipped(1)).unwrap_err();
        assert!(
            error.to_string().ends_with("it was deleted during the run"),
            "{error}"
        );
        assert_eq!(
            error.hint().unwrap(),
            "the recorded results are lost: run again"
        );
        let end = RunFinished {
            timestamp: String::new(),
            duration_seconds: 0.0,
            interrupted: false,
            history: Vec::new(),
            expired_graces: None,
            changed_files: Vec::new(),
        };
        assert!(
            writer.append(Event::RunFinished(end)).is_err(),
            "and no more after that"
        );
    }

    /// What a case gives its target is from outside, keys and numbers included; what kind of input
    /// it is is not.
    #[test]
    fn secrets_in_inputs_are_redacted_and_the_line_stays_whole() {
        use crate::model::{CasePlanned, CasesPlanned, InputKind, InputShown};
        let (_dir, paths) = run();
        let secrets = ["messages", "12345678", "hunter2secret"].map(str::to_owned);
        let mut journal = JournalWriter::open(&paths.journal(), Redactor::new(secrets)).unwrap();
        let value = serde_json::json!([{"hunter2secret": 12345678, "said": "type messages"}]);
        let context = Some(serde_json::json!({"key": "hunter2secret"}));
        let input = InputShown::bounded(
            InputKind::Messages,
            value,
            Some("hunter2secret.txt".into()),
            context,
        );
        let case = CasePlanned {
            input: Some(Box::new(input)),
            ..testing::planned_case("c", 1)
        };
        let event = Event::CasesPlanned(CasesPlanned {
            eval: "e".into(),
            cases: vec![case],
        });
        let Event::CasesPlanned(recorded) = journal.append(event).unwrap() else {
            panic!("another event")
        };
        assert_eq!(
            serde_json::to_string(&recorded.cases[0].input).unwrap(),
            r#"{"type":"messages","value":[{"[redacted]":"[redacted]","said":"type [redacted]"}],"path":"[redacted].txt","context":{"key":"[redacted]"}}"#
        );
    }
}
