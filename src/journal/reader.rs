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
    use crate::model::{Cause, RunFinished, RunStarted, SampleSkipped};

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
            ks: vec![1],
            seed: 18_446_744_073_709_551_615,
            formats: vec![],
            include_details: true,
            filters: vec![],
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
