//! Reading events back.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use regex::bytes::Regex;

use super::JournalError;
use super::tail::is_json;
use crate::model::{
    EvalInfo, EvalPlanned, Event, InputShown, JOURNAL_VERSION, RunStarted, without_details,
};
use eval_base::blocks::{FileBlocks, FileExpectation};
use eval_base::files::open_file;

/// A journal being read: an iterator over its events. A torn tail is left out.
pub struct JournalReader {
    path: PathBuf,
    reader: BufReader<File>,
    line: usize,
    /// Bytes that were read.
    end: u64,
    /// Set at the end and after an error.
    over: bool,
    buffer: Vec<u8>,
    /// How a line becomes an event.
    parse: EventParser,
}

type EventParser = fn(&[u8]) -> serde_json::Result<Event>;

/// Where a line is in its file.
pub(super) struct LinePlace {
    /// From 1.
    pub line: usize,
    pub offset: u64,
    pub length: usize,
}

/// Opens a journal. Fails when it holds no run or has a different version.
pub fn read(
    path: &Path,
) -> Result<impl Iterator<Item = Result<Event, JournalError>> + use<>, JournalError> {
    read_by(JournalReader::open(path)?)
}

/// As [`read`], without the texts that samples, graders and judges gave, and without what the run is
/// compared with. Several times as fast, for callers that only count.
pub fn read_counts(
    path: &Path,
) -> Result<impl Iterator<Item = Result<Event, JournalError>> + use<>, JournalError> {
    read_by(JournalReader::without_details(path)?)
}

/// What a run said of itself when it began.
pub fn started(path: &Path) -> Result<RunStarted, JournalError> {
    match read(path)?.next() {
        Some(Ok(Event::RunStarted(started))) => Ok(*started),
        Some(Err(error)) => Err(error),
        _ => Err(JournalError::Empty {
            path: path.to_owned(),
        }),
    }
}

fn read_by(
    mut journal: JournalReader,
) -> Result<impl Iterator<Item = Result<Event, JournalError>> + use<>, JournalError> {
    let first = journal.next().ok_or_else(|| journal.empty())??;
    if !matches!(first, Event::RunStarted(_)) {
        return Err(JournalError::Line {
            path: journal.path,
            line: 1,
            message: "the first event is not `run_started`".to_owned(),
        });
    }
    Ok(std::iter::once(Ok(first)).chain(journal))
}

/// What was said at the start of each session of a run: the first one, then every one that resumed
/// it. At least one.
pub fn sessions(path: &Path) -> Result<Vec<RunStarted>, JournalError> {
    let mut journal = JournalReader::open(path)?;
    let mut sessions = Vec::new();
    while let Some(event) = journal.next_of(|line| line.starts_with(b"{\"run_")) {
        match event? {
            Event::RunStarted(started) | Event::RunResumed(started) => sessions.push(*started),
            _ => {}
        }
    }
    if sessions.is_empty() {
        Err(journal.empty())
    } else {
        Ok(sessions)
    }
}

/// As [`read`], of the samples only those of cases with this id; the others are not even parsed.
pub fn read_case(
    path: &Path,
    case: &str,
) -> Result<impl Iterator<Item = Result<Event, JournalError>> + use<>, JournalError> {
    let mut journal = JournalReader::open(path)?;
    // The id as a line has it; a pattern that is too large for an engine takes every line.
    let id = serde_json::to_string(case).unwrap_or_default();
    let id = Regex::new(&regex::escape(&id)).ok();
    let wanted = move |line: &[u8]| {
        let is_sample = line.starts_with(b"{\"sample_");
        !is_sample || id.as_ref().is_none_or(|id| id.is_match(line))
    };
    Ok(std::iter::from_fn(move || journal.next_of(&wanted)))
}

/// The cases of a run, as eval and case, in the order in which they were first planned.
pub fn planned_cases(path: &Path) -> Result<Vec<(String, String)>, JournalError> {
    let mut journal = JournalReader::open(path)?;
    let (mut cases, mut seen) = (Vec::new(), HashSet::new());
    while let Some(event) = journal.next_of(|line| line.starts_with(b"{\"cases_planned\"")) {
        if let Event::CasesPlanned(planned) = event? {
            for case in planned.cases {
                let place = (planned.eval.clone(), case.id);
                if seen.insert(place.clone()) {
                    cases.push(place);
                }
            }
        }
    }
    Ok(cases)
}

/// The inputs of the cases of a run that the journal contains, by eval and case.
pub fn planned_inputs(
    path: &Path,
) -> Result<HashMap<(String, String), Box<InputShown>>, JournalError> {
    let mut journal = JournalReader::open(path)?;
    let mut inputs = HashMap::new();
    while let Some(event) = journal.next_of(|line| line.starts_with(b"{\"cases_planned\"")) {
        if let Event::CasesPlanned(planned) = event? {
            for case in planned.cases {
                if let Some(input) = case.input {
                    inputs.insert((planned.eval.clone(), case.id), input);
                }
            }
        }
    }
    Ok(inputs)
}

/// What was said of the evals of a run, in the journal's order; a later session may say it again.
pub fn evals(path: &Path) -> Result<Vec<EvalPlanned>, JournalError> {
    let mut journal = JournalReader::open(path)?;
    let mut evals = Vec::new();
    while let Some(event) = journal.next_of(|line| line.starts_with(b"{\"eval_planned\"")) {
        if let Event::EvalPlanned(planned) = event? {
            evals.push(planned);
        }
    }
    Ok(evals)
}

/// The evals of a run whose datasets are private, as of any session.
pub fn private_evals(path: &Path) -> Result<HashSet<String>, JournalError> {
    let private = evals(path)?.into_iter().map(|planned| planned.eval);
    let private = private.filter(EvalInfo::is_private).map(|eval| eval.id);
    Ok(private.collect())
}

impl JournalReader {
    pub(super) fn open(path: &Path) -> Result<JournalReader, JournalError> {
        let file = open_file(path).map_err(|source| JournalError::Read {
            path: path.to_owned(),
            source,
        })?;
        let reader = BufReader::with_capacity(1 << 16, file);
        Ok(JournalReader {
            path: path.to_owned(),
            reader,
            line: 0,
            end: 0,
            over: false,
            buffer: Vec::new(),
            parse: |line| serde_json::from_slice(line),
        })
    }

    /// See [`read_counts`].
    pub(super) fn without_details(path: &Path) -> Result<JournalReader, JournalError> {
        let parse: EventParser = |line| without_details(|| serde_json::from_slice(line));
        Ok(JournalReader {
            parse,
            ..JournalReader::open(path)?
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Goes on behind the last whole line, where more may have been written since. False when the
    /// file is now shorter than that: it is not the same any more.
    pub(super) fn resume(&mut self) -> Result<bool, JournalError> {
        let torn = match self.buffer.last() {
            Some(b'\n') | None => 0,
            Some(_) => self.buffer.len() as u64,
        };
        self.end -= torn;
        self.line -= usize::from(self.over);
        self.over = false;
        self.buffer.clear();
        let length = self.reader.seek(SeekFrom::Start(self.end)).and_then(|_| {
            let metadata = self.reader.get_ref().metadata()?;
            Ok(metadata.len())
        });
        let length = length.map_err(|source| JournalError::Read {
            path: self.path.clone(),
            source,
        })?;
        Ok(length >= self.end)
    }

    /// Where the line of the last event is.
    pub(super) fn place(&self) -> LinePlace {
        LinePlace {
            line: self.line,
            offset: self.end - self.buffer.len() as u64,
            length: self.buffer.len(),
        }
    }

    /// The file, to read lines of again.
    pub(super) fn into_blocks(self) -> Result<FileBlocks, JournalError> {
        if self.end == 0 {
            return Err(self.empty());
        }
        let file = self.reader.into_inner();
        FileBlocks::of_file(file, &self.path, FileExpectation::Growth, true).map_err(|source| {
            JournalError::Read {
                path: self.path,
                source,
            }
        })
    }

    fn empty(&self) -> JournalError {
        JournalError::Empty {
            path: self.path.clone(),
        }
    }

    /// The next event among the lines that `wanted` takes.
    fn next_of(&mut self, wanted: impl Fn(&[u8]) -> bool) -> Option<Result<Event, JournalError>> {
        while !self.over {
            match self.next_line() {
                Ok(true) if wanted(&self.buffer) => return self.event(),
                Ok(true) => {}
                Ok(false) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// Reads a whole line into the buffer; `false` at the end and for a line without one.
    fn next_line(&mut self) -> Result<bool, JournalError> {
        self.buffer.clear();
        self.end += self
            .reader
            .read_until(b'\n', &mut self.buffer)
            .map_err(|source| JournalError::Read {
                path: self.path.clone(),
                source,
            })? as u64;
        self.line += 1;
        Ok(self.buffer.last() == Some(&b'\n'))
    }

    /// The event of the line in the buffer; `None` when the line begins a torn tail.
    fn event(&mut self) -> Option<Result<Event, JournalError>> {
        let error = match (self.parse)(&self.buffer) {
            Ok(Event::RunStarted(said) | Event::RunResumed(said))
                if said.journal_version != JOURNAL_VERSION =>
            {
                let harness = said.run.harness_version;
                return self.end(wrong_version(&self.path, said.journal_version, harness));
            }
            Ok(event) => return Some(Ok(event)),
            Err(error) => error,
        };
        let line = self.line;
        let message = error.to_string();
        if is_json(&self.buffer) {
            return self.end(match other_version(&self.buffer) {
                Some((version, harness)) => wrong_version(&self.path, version, harness),
                None => JournalError::Line {
                    path: self.path.clone(),
                    line,
                    message,
                },
            });
        }
        loop {
            match self.next_line() {
                Ok(true) if is_json(&self.buffer) => {
                    return self.end(JournalError::Line {
                        path: self.path.clone(),
                        line,
                        message,
                    });
                }
                Ok(true) => {}
                Ok(false) => {
                    self.over = true;
                    return None;
                }
                Err(error) => return self.end(error),
            }
        }
    }

    fn end(&mut self, error: JournalError) -> Option<Result<Event, JournalError>> {
        self.over = true;
        Some(Err(error))
    }
}

fn wrong_version(path: &Path, version: u32, harness: String) -> JournalError {
    let path = path.to_owned();
    if version > JOURNAL_VERSION {
        JournalError::LaterVersion { path, version }
    } else {
        JournalError::EarlierVersion {
            path,
            version,
            harness,
        }
    }
}

/// The journal's and the program's version that a line names, if it begins a session in a
/// different version of the journal.
fn other_version(line: &[u8]) -> Option<(u32, String)> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    let said = value
        .get("run_started")
        .or_else(|| value.get("run_resumed"))?;
    let version = u32::try_from(said.get("journal_version")?.as_u64()?).ok()?;
    // Up to version 2 the identity was not a separate object.
    let identity = said.get("run").unwrap_or(said);
    let harness = identity
        .get("harness_version")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    (version != JOURNAL_VERSION).then(|| (version, harness.to_owned()))
}

impl Iterator for JournalReader {
    type Item = Result<Event, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_of(|_| true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JournalWriter, RunPaths};
    use super::*;
    use crate::model::testing::{self, run_started};
    use crate::model::{
        Attempt, Cause, Grade, GraderType, Outcome, Output, RunFinished, SampleFinished,
        SampleSkipped, Verdict,
    };
    use eval_base::redact::Redactor;

    fn started() -> Event {
        let mut started = run_started();
        started.run.suite_name = "with hunter2secret inside".into();
        started.config.seed = u64::MAX;
        Event::RunStarted(Box::new(started))
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
            history: Vec::new(),
            expired_graces: None,
            changed_files: Vec::new(),
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
        assert!(
            !std::fs::read_to_string(&path)
                .unwrap()
                .contains("hunter2secret")
        );
        let events: Vec<Event> = read(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(&events[1..], &[skipped(), finished()]);
        let Event::RunStarted(first) = &events[0] else {
            panic!("{events:?}")
        };
        assert_eq!(first.run.suite_name, "with [redacted] inside");
        assert_eq!(first.config.seed, u64::MAX);
    }

    fn finished_sample(output: Output, score: f64, duration_ms: f64) -> Event {
        let grade = Grade::passed(GraderType::Code, "exact_match");
        let verdict = Verdict {
            outcome: Outcome::Passed,
            score: Some(score),
            cause: None,
            reason: String::new(),
            grades: vec![grade.with_score(score)],
            not_run: Vec::new(),
        };
        let attempt = Attempt {
            output: Some(output),
            duration_ms,
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

    #[test]
    fn a_secret_that_is_a_word_or_a_number_of_the_journal_breaks_no_line() {
        let secrets = [
            "passed",
            "300000",
            "output",
            "sample",
            "reason",
            "finished_at",
        ]
        .map(str::to_owned);
        let said: serde_json::Value = serde_json::from_str(
            r#"{"n": 300000, "output": ["it passed"], "other": 300000000000000000000000}"#,
        )
        .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let paths = RunPaths::create(dir.path(), "2026-03-04T05:06:07Z".parse().unwrap()).unwrap();
        let mut writer = JournalWriter::open(&paths.journal(), Redactor::new(secrets)).unwrap();
        writer.append(started()).unwrap();
        let recorded = writer
            .append(finished_sample(Output::json(said), 0.5, 300_000.0))
            .unwrap();
        let events: Vec<Event> = read(&paths.journal())
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(events[1], recorded);
        let clean = serde_json::json!({ "n": "[redacted]", "[redacted]": ["it [redacted]"], "other": "[redacted]" });
        let mut expected = finished_sample(Output::json(clean), 0.5, 300_000.0);
        if let Event::SampleFinished(sample) = &mut expected {
            sample.attempts[0].redacted = true;
        }
        assert_eq!(recorded, expected);
    }

    #[test]
    fn a_secret_that_is_a_word_of_how_models_answered_breaks_no_line() {
        use crate::model::testing::{judged, judged_grade, vote};
        use crate::model::{ModelCall, ReplyFault};
        use crate::spec::words::FinishReason;
        let secrets = ["network", "no_json", "length", "openai:judge"].map(str::to_owned);
        let dir = tempfile::tempdir().unwrap();
        let paths = RunPaths::create(dir.path(), "2026-03-04T05:06:07Z".parse().unwrap()).unwrap();
        let mut writer = JournalWriter::open(&paths.journal(), Redactor::new(secrets)).unwrap();
        writer.append(started()).unwrap();
        let mut event = finished_sample(
            Output {
                finish: Some(FinishReason::Length),
                ..Output::text("x")
            },
            0.5,
            1.0,
        );
        if let Event::SampleFinished(sample) = &mut event {
            let mut said = judged();
            said.votes
                .push(vote("openai:judge", Err(ReplyFault::NoJson)));
            said.votes[1].replies[0].text = "no network".to_owned();
            sample.attempts[0].verdict.grades = vec![judged_grade(said, Outcome::Passed, None)];
            sample.attempts[0].call = Some(Box::new(ModelCall {
                requests: 1,
                ..ModelCall::default()
            }));
        }
        let recorded = writer.append(event).unwrap();
        let events: Vec<Event> = read(&paths.journal())
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(events[1], recorded);
        let Event::SampleFinished(sample) = &recorded else {
            panic!("{recorded:?}")
        };
        let vote = &sample.attempts[0].verdict.grades[0]
            .judged
            .as_ref()
            .unwrap()
            .votes[1];
        assert_eq!(
            (vote.model.as_str(), vote.replies[0].text.as_str()),
            ("[redacted]", "no [redacted]")
        );
        assert_eq!(vote.replies[0].fault, Some(ReplyFault::NoJson));
    }

    proptest::proptest! {
        /// A report from the journal has the same bytes only if every number comes back to the last
        /// bit.
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
        let error = read(&path)
            .unwrap()
            .last()
            .unwrap()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(":2: not a journal line: unknown variant `what`"),
            "{error}"
        );
    }

    #[test]
    fn an_empty_file_and_a_later_version_are_refused_in_words() {
        let (_dir, path) = journal_of(&[]);
        assert!(
            read(&path)
                .err()
                .unwrap()
                .to_string()
                .contains("contains no run")
        );
        let Event::RunStarted(mut later) = started() else {
            unreachable!()
        };
        later.journal_version = JOURNAL_VERSION + 1;
        let (_dir, path) = journal_of(&[Event::RunStarted(later)]);
        assert!(
            read(&path)
                .err()
                .unwrap()
                .to_string()
                .contains("later version")
        );
    }
}
