//! Reading events back.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::JournalError;
use crate::model::{Event, JOURNAL_VERSION};

/// A journal being read: an iterator over its events.
pub struct Journal {
    path: PathBuf,
    reader: BufReader<File>,
    line: usize,
    /// True once a torn last line was left out.
    torn: bool,
    buffer: Vec<u8>,
}

/// Opens a journal. Fails when it holds no run or was written by a later version.
pub fn read(path: &Path) -> Result<impl Iterator<Item = Result<Event, JournalError>>, JournalError> {
    let file = File::open(path).map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
    let mut journal = Journal {
        path: path.to_owned(),
        reader: BufReader::with_capacity(1 << 16, file),
        line: 0,
        torn: false,
        buffer: Vec::new(),
    };
    let first = journal.next().ok_or_else(|| JournalError::Empty { path: path.to_owned() })??;
    match &first {
        Event::RunStarted(started) if started.journal_version > JOURNAL_VERSION => {
            return Err(JournalError::Version { path: path.to_owned(), version: started.journal_version });
        }
        Event::RunStarted(_) => {}
        _ => {
            let message = "the first event is not `run_started`".to_owned();
            return Err(JournalError::Line { path: path.to_owned(), line: 1, message });
        }
    }
    Ok(std::iter::once(Ok(first)).chain(journal))
}

impl Iterator for Journal {
    type Item = Result<Event, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.torn {
            return None;
        }
        self.buffer.clear();
        match self.reader.read_until(b'\n', &mut self.buffer) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(source) => {
                self.torn = true;
                return Some(Err(JournalError::Read { path: self.path.clone(), source }));
            }
        }
        self.line += 1;
        if self.buffer.last() != Some(&b'\n') {
            self.torn = true;
            return None;
        }
        Some(serde_json::from_slice(&self.buffer).map_err(|e| {
            self.torn = true;
            JournalError::Line { path: self.path.clone(), line: self.line, message: e.to_string() }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JournalWriter, RunPaths};
    use super::*;
    use crate::base::redact::Redactor;
    use crate::model::{
        Attempt, Cause, Grade, GraderType, Outcome, Output, RunFinished, RunStarted, SampleFinished,
        SampleSkipped, Verdict,
    };

    fn started() -> Event {
        Event::RunStarted(Box::new(RunStarted {
            journal_version: JOURNAL_VERSION,
            run_id: "eval-20260304-050607".into(),
            timestamp: "2026-03-04T05:06:07.000Z".into(),
            harness_version: "0.1.0".into(),
            suite_name: "with hunter2secret inside".into(),
            suite_version: None,
            suite_description: None,
            suite_path: "evals/eval-suite.yaml".into(),
            environment: Default::default(),
            gate: Default::default(),
            composites: Vec::new(),
            ks: vec![1],
            seed: 18_446_744_073_709_551_615,
            formats: vec![],
            include_details: true,
            filters: vec![],
            target_hash: String::new(),
            shard: None,
            regrade_of: None,
            arguments: vec![],
        }))
    }

    fn skipped() -> Event {
        Event::SampleSkipped(SampleSkipped {
            eval: "e".into(),
            case: "c".into(),
            sample: 3,
            cause: Cause::Interrupted,
        })
    }

    fn finished() -> Event {
        Event::RunFinished(RunFinished {
            timestamp: "2026-03-04T05:06:08.000Z".into(),
            duration_seconds: 0.1,
            interrupted: false,
        })
    }

    fn journal_of(events: &[Event]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let paths = RunPaths::create(dir.path(), "2026-03-04T05:06:07Z".parse().unwrap()).unwrap();
        let redactor = Redactor::new(["hunter2secret".to_owned()]);
        let mut writer = JournalWriter::open(&paths.journal(), redactor).unwrap();
        for event in events {
            writer.append(event.clone()).unwrap();
        }
        let journal = paths.journal();
        (dir, journal)
    }

    #[test]
    fn events_come_back_as_recorded_and_without_secrets() {
        let (_dir, path) = journal_of(&[started(), skipped(), finished()]);
        assert!(!std::fs::read_to_string(&path).unwrap().contains("hunter2secret"));
        let events: Vec<Event> = read(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(&events[1..], &[skipped(), finished()]);
        let Event::RunStarted(first) = &events[0] else { panic!("{events:?}") };
        assert_eq!(first.suite_name, "with [redacted] inside");
        assert_eq!(first.seed, u64::MAX);
    }

    fn finished_sample(output: Output, score: f64, duration_ms: f64) -> Event {
        let grade = Grade::passed(GraderType::Code, "exact_match");
        let verdict = Verdict {
            outcome: Outcome::Passed,
            score: Some(score),
            cause: None,
            reason: String::new(),
            grades: vec![grade.with_score(score)],
        };
        let attempt = Attempt {
            output: Some(output),
            stored: None,
            extracted: None,
            verdict,
            latency_ms: None,
            duration_ms,
            infrastructure_retries: 0,
        };
        Event::SampleFinished(Box::new(SampleFinished {
            eval: "e".into(),
            case: "c".into(),
            sample: 0,
            attempts: vec![attempt],
            finished_at: "2026-03-04T05:06:08.300Z".into(),
        }))
    }

    #[test]
    fn a_secret_that_is_a_word_or_a_number_of_the_journal_breaks_no_line() {
        let secrets = ["passed", "300000", "output", "sample", "reason", "finished_at"].map(str::to_owned);
        let said: serde_json::Value = serde_json::from_str(
            r#"{"n": 300000, "output": ["it passed"], "other": 300000000000000000000000}"#,
        )
        .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let paths = RunPaths::create(dir.path(), "2026-03-04T05:06:07Z".parse().unwrap()).unwrap();
        let mut writer = JournalWriter::open(&paths.journal(), Redactor::new(secrets)).unwrap();
        writer.append(started()).unwrap();
        let recorded = writer.append(finished_sample(Output::json(said), 0.5, 300_000.0)).unwrap();
        let events: Vec<Event> = read(&paths.journal()).unwrap().map(Result::unwrap).collect();
        assert_eq!(events[1], recorded);
        let clean =
            serde_json::json!({ "n": "[redacted]", "[redacted]": ["it [redacted]"], "other": "[redacted]" });
        assert_eq!(recorded, finished_sample(Output::json(clean), 0.5, 300_000.0));
    }

    proptest::proptest! {
        /// A report from the journal has the same bytes only if every number comes back to the last bit.
        #[test]
        fn numbers_come_back_to_the_last_bit(score in 0.0f64..1.0, duration in 0.0f64..1e7) {
            let event = finished_sample(Output::text("x"), score, duration);
            let line = serde_json::to_vec(&event).unwrap();
            proptest::prop_assert_eq!(serde_json::from_slice::<Event>(&line).unwrap(), event);
        }
    }

    #[test]
    fn a_torn_last_line_is_left_out_at_every_length() {
        let (_dir, path) = journal_of(&[started(), skipped()]);
        let whole = std::fs::read(&path).unwrap();
        let first_line = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        for length in first_line..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let events: Vec<_> = read(&path).unwrap().collect::<Result<_, _>>().unwrap();
            assert_eq!(events.len(), 1, "cut at byte {length}");
        }
    }

    #[test]
    fn a_broken_line_in_the_middle_is_an_error_with_its_number() {
        let (_dir, path) = journal_of(&[started()]);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"what\": 1}\n");
        std::fs::write(&path, text).unwrap();
        let error = read(&path).unwrap().last().unwrap().unwrap_err().to_string();
        assert!(error.contains(":2: not a journal line: unknown variant `what`"), "{error}");
    }

    #[test]
    fn an_empty_file_and_a_later_version_are_refused_in_words() {
        let (_dir, path) = journal_of(&[]);
        assert!(read(&path).err().unwrap().to_string().contains("holds no run"));
        let Event::RunStarted(mut later) = started() else { unreachable!() };
        later.journal_version = JOURNAL_VERSION + 1;
        let (_dir, path) = journal_of(&[Event::RunStarted(later)]);
        assert!(read(&path).err().unwrap().to_string().contains("later version"));
    }
}
