//! A journal that is being written: its events as they come.

use std::path::Path;

use super::{JournalError, JournalReader};
use crate::model::Event;

/// Reads a journal from its beginning, and then what is added to it.
pub struct JournalFollower {
    reader: JournalReader,
}

impl JournalFollower {
    pub fn open(path: &Path) -> Result<JournalFollower, JournalError> {
        let reader = JournalReader::open(path)?;
        Ok(JournalFollower { reader })
    }

    /// Gives the events that were written since the last call to `see`, up to the last whole line;
    /// at most `most` of them. True when there may be more already.
    ///
    /// # Errors
    /// Also when the file has become shorter: a resumed run cuts off what a crash left.
    pub fn poll(&mut self, most: usize, mut see: impl FnMut(&Event)) -> Result<bool, JournalError> {
        if !self.reader.resume()? {
            return Err(JournalError::Empty {
                path: self.reader.path().to_owned(),
            });
        }
        for _ in 0..most {
            match self.reader.next() {
                Some(event) => see(&event?),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;
    use crate::model::{Cause, SampleSkipped};

    fn line(case: &str) -> String {
        let event = Event::SampleSkipped(SampleSkipped {
            eval: "e".into(),
            case: case.into(),
            sample: 0,
            cause: Cause::Interrupted,
        });
        format!("{}\n", serde_json::to_string(&event).unwrap())
    }

    #[test]
    fn events_come_as_their_lines_become_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run-1.journal.jsonl");
        std::fs::write(&path, "").unwrap();
        let mut follower = JournalFollower::open(&path).unwrap();
        let mut polled = |most: usize| {
            let mut seen = Vec::new();
            let more = follower.poll(most, |event| {
                if let Event::SampleSkipped(sample) = event {
                    seen.push(sample.case.clone());
                }
            });
            (more.map_err(|error| error.to_string()), seen)
        };
        let append = |text: &str| {
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        assert_eq!(polled(9), (Ok(false), vec![]));
        let whole = line("b");
        append(&line("a"));
        for (at, piece) in [&whole[..1], &whole[1..30], &whole[30..]]
            .into_iter()
            .enumerate()
        {
            append(piece);
            let expected = [vec!["a"], vec![], vec!["b"]];
            assert_eq!(polled(9).1, expected[at], "{piece}");
        }
        append(&format!("{}{}{}", line("c"), line("d"), &line("e")[..9]));
        assert_eq!(polled(1), (Ok(true), vec!["c".to_owned()]));
        assert_eq!(polled(9), (Ok(false), vec!["d".to_owned()]));
        assert_eq!(polled(9), (Ok(false), vec![]));
        append("garbage");
        append(&format!("\n{}", line("f")));
        let (error, _) = polled(9);
        assert!(error.unwrap_err().contains(":5: not a journal line"));
        std::fs::write(&path, line("a")).unwrap();
        assert!(polled(9).0.is_err());
    }
}
