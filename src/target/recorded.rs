//! Outputs that were recorded earlier: JSON lines (or one JSON array), checked once and read again when a sample needs them.
//!
//! A line names its case by `case` (or `task_id`, a text or a number) and holds one of `output` (text or JSON),
//! `completion`/`response` (text) and `solution` (a whole program); `eval`, `sample`, `usage`, `model` and `truncated` may be
//! there. Other keys are of no concern.
//!
//! A record that can't be read (broken JSON, a lone surrogate, any depth, any length) is an error of its own sample and of no
//! other. Where it doesn't say which sample it is, it counts as lost: a run that may lack a sample never passes its gate.
//!
//! Of a file only the place of each record stays in memory, so its size doesn't matter. A file that changes meanwhile gives
//! errors, never another output.

mod asked;
mod index;
mod layouts;
mod partial;
mod scan;
mod trees;

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use eval_agents::trajectory::Trajectory;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::model::{Fingerprint, LostRecords, Output, OutputValue, TrajectoryRecord, limits};
use eval_base::blocks::{BlockError, FileBlocks, FileExpectation};
use eval_base::files::{open_file, open_stream};
use eval_base::text::{listed, sanitize};
use eval_base::unique_keys::JsonShape;

use super::TargetError;
use super::line::{LineFault, RecordedTrajectory, parse_record, shown_id};
pub(super) use asked::RecordedCases;
use index::IndexEntry;
use scan::{LONGEST, RecordingScan, ScanEnding, ScannedRecords, TOO_LONG, too_long};
use trees::RecordedTrees;

/// Bytes of the largest file that is one array, and of what comes through a pipe: they are read whole.
const LARGEST_WHOLE: u64 = 1 << 30;

/// Everything that is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RecordingProblems {
    pub path: PathBuf,
    /// The first ones, in the order of the file.
    pub problems: Vec<RecordingProblem>,
    /// How many more there are.
    pub more: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingProblem {
    /// From 1; `None` for records of an array, and when the whole file is meant.
    pub line: Option<usize>,
    /// From 1, in bytes; `None` when the whole line is meant.
    pub column: Option<usize>,
    pub message: String,
}

impl fmt::Display for RecordingProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}", self.path.display())?;
            for position in [problem.line, problem.column].into_iter().flatten() {
                write!(f, ":{position}")?;
            }
            write!(f, ": {}", problem.message)?;
        }
        if self.more > 0 {
            let noun = if self.more == 1 {
                "problem"
            } else {
                "problems"
            };
            write!(f, "\nand {} more {noun}", self.more)?;
        }
        Ok(())
    }
}

/// What the places of a file count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordingForm {
    Lines,
    Array,
}

impl RecordingForm {
    /// What a place is called, for messages.
    fn noun(self) -> &'static str {
        match self {
            RecordingForm::Lines => "line",
            RecordingForm::Array => "record",
        }
    }

    /// Where a record is, for messages.
    fn place(self, number: u32) -> String {
        format!("{} {number}", self.noun())
    }

    /// A problem of a whole record.
    fn problem(self, place: u32, message: String) -> RecordingProblem {
        match self {
            RecordingForm::Lines => RecordingProblem {
                line: Some(place as usize),
                column: None,
                message,
            },
            RecordingForm::Array => RecordingProblem {
                line: None,
                column: None,
                message: format!("record {place}: {message}"),
            },
        }
    }
}

/// A file of recorded outputs.
#[derive(Debug)]
pub(super) struct Recording {
    name: String,
    pub records: ScannedRecords,
    asked: RecordedCases,
    blocks: FileBlocks,
    longest: usize,
    trees: RecordedTrees,
    /// Its length and the fingerprint of its content.
    pub content: (u64, Fingerprint),
}

/// Digests what is read through it.
struct DigestReader<R> {
    inner: R,
    digest: Sha256,
    bytes: u64,
}

impl<R: Read> DigestReader<R> {
    fn new(inner: R) -> Self {
        DigestReader {
            inner,
            digest: Sha256::new(),
            bytes: 0,
        }
    }

    fn content(self) -> (u64, Fingerprint) {
        (self.bytes, Fingerprint::of_digest(&self.digest.finalize()))
    }
}

impl<R: Read> Read for DigestReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.digest.update(buffer.get(..n).unwrap_or_default());
        self.bytes += n as u64;
        Ok(n)
    }
}

/// Length and fingerprint of the first `bytes` of a file.
pub(super) fn beginning(path: &Path, bytes: u64) -> std::io::Result<(u64, Fingerprint)> {
    let mut reader = DigestReader::new(open_file(path)?.take(bytes));
    let mut buffer = vec![0; 256 << 10];
    while reader.read(&mut buffer)? > 0 {}
    Ok(reader.content())
}

/// A recording and warnings.
type OpenedRecording = (Recording, Vec<String>);

impl Recording {
    /// Checks every record of a file. Without `hold` the file is not kept open.
    ///
    /// Fails when the file can't be read, and with all its problems when one of its records is wrong.
    pub fn open(
        path: &Path,
        asked: RecordedCases,
        hold: bool,
    ) -> Result<OpenedRecording, TargetError> {
        Recording::open_within(path, asked, hold, LONGEST, LARGEST_WHOLE)
    }

    fn open_within(
        path: &Path,
        asked: RecordedCases,
        hold: bool,
        longest: usize,
        largest_whole: u64,
    ) -> Result<OpenedRecording, TargetError> {
        let unreadable = |source| TargetError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let whole_file = |message: String| {
            let problems = vec![RecordingProblem {
                line: None,
                column: None,
                message,
            }];
            TargetError::Recording(RecordingProblems {
                path: path.to_owned(),
                problems,
                more: 0,
            })
        };
        let too_large = |what: &str, remedy: &str| {
            let mebibytes = largest_whole >> 20;
            whole_file(format!(
                "{what} is read into memory and may have up to {mebibytes} MiB: {remedy}"
            ))
        };
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        let lines = layouts::as_lines(path, &asked, largest_whole).map_err(unreadable)?;
        let file = match lines {
            Some(_) => None,
            None => Some(open_stream(path).map_err(unreadable)?),
        };
        let regular = match &file {
            Some(file) => file.metadata().map_err(unreadable)?.is_file(),
            None => false,
        };
        let mut scan = RecordingScan::new(&asked, longest);
        let (blocks, content) = if let Some(file) = file.as_ref().filter(|_| regular) {
            let blocks = FileBlocks::of_file(
                file.try_clone().map_err(unreadable)?,
                path,
                FileExpectation::Unchanged,
                hold,
            )
            .map_err(unreadable)?;
            let mut reader = BufReader::with_capacity(256 << 10, DigestReader::new(file));
            let mut content = None;
            if let ScanEnding::Array = scan.lines(&mut reader, &blocks).map_err(unreadable)? {
                (&mut &*file).seek(SeekFrom::Start(0)).map_err(unreadable)?;
                let Some(bytes) = whole(file, largest_whole).map_err(unreadable)? else {
                    return Err(too_large(
                        "a JSON array",
                        "write one JSON object per line instead",
                    ));
                };
                content = Some((bytes.len() as u64, Fingerprint::of_bytes(&bytes)));
                scan.array(&bytes);
            }
            blocks.check().map_err(|error| match error {
                BlockError::Changed => whole_file("the file changed while it was read".to_owned()),
                BlockError::Io(source) => unreadable(source),
            })?;
            (
                blocks,
                content.unwrap_or_else(|| reader.into_inner().content()),
            )
        } else {
            // A pipe can't be read a second time, and other layouts are read whole.
            let bytes = match (lines, &file) {
                (Some(lines), _) => Some(lines),
                (None, Some(file)) => whole(file, largest_whole).map_err(unreadable)?,
                (None, None) => None,
            };
            let Some(bytes) = bytes else {
                return Err(too_large(
                    "a special file (such as a pipe)",
                    "write it to a regular file first",
                ));
            };
            let content = (bytes.len() as u64, Fingerprint::of_bytes(&bytes));
            let length = bytes.len();
            let blocks = FileBlocks::of_memory(bytes);
            let whole = blocks
                .read(0, length)
                .map_err(|_| whole_file("it can't be read".to_owned()))?;
            if let ScanEnding::Array = scan
                .lines(&mut whole.bytes(), &blocks)
                .map_err(unreadable)?
            {
                scan.array(whole.bytes());
            }
            (blocks, content)
        };
        let warnings = scan.warnings(&name);
        let trees = RecordedTrees::of(path, std::mem::take(&mut scan.trees));
        let (bytes, fingerprint) = content;
        let content = (bytes, trees.with(fingerprint));
        let recording = Recording {
            name,
            records: scan.finish(path)?,
            asked,
            blocks,
            longest,
            trees,
            content,
        };
        Ok((recording, warnings))
    }

    /// How many samples of a case can be asked for: one more than the highest index.
    pub fn samples(&self, eval: &str, case: &str) -> u32 {
        self.asked
            .slot(eval, case)
            .map_or(0, |slot| self.records.index.samples(slot))
    }

    /// The output of a sample, or why there is none.
    pub fn output(&self, eval: &str, case: &str, sample: u32) -> Result<Output, String> {
        let name = &self.name;
        let found = self
            .asked
            .slot(eval, case)
            .map_or(Err(0), |slot| self.records.index.find(slot, sample));
        let entry = found.map_err(|held| {
            let missing = match held {
                0 => format!("{name} has no output for this case"),
                held => format!(
                    "{name} has {held} of this case's samples, but not sample {sample} (counted from 0)"
                ),
            };
            match self.lost_words() {
                None => missing,
                Some(lost) => format!("{missing}; {lost} cannot be read and may contain it"),
            }
        })?;
        self.record(entry, eval, case, sample)
    }

    fn record(
        &self,
        entry: &IndexEntry,
        eval: &str,
        case: &str,
        sample: u32,
    ) -> Result<Output, String> {
        let name = &self.name;
        let place = || self.records.form.place(entry.span.place);
        let cannot = |fault: LineFault| {
            let column = fault
                .column
                .filter(|_| self.records.form == RecordingForm::Lines);
            let column = column
                .map(|column| format!(" (column {column})"))
                .unwrap_or_default();
            format!(
                "{} of {name} cannot be read{column}: {}",
                place(),
                fault.message
            )
        };
        if entry.span.length == TOO_LONG {
            return Err(cannot(LineFault {
                column: None,
                message: too_long(self.longest),
            }));
        }
        let changed = || {
            format!(
                "{name} has changed since it was checked, so its {} is not used",
                place()
            )
        };
        let piece = self
            .blocks
            .read(entry.span.offset, entry.span.length as usize)
            .map_err(|error| match error {
                BlockError::Changed => changed(),
                BlockError::Io(error) => {
                    format!("cannot read {} of {name} again: {error}", place())
                }
            })?;
        // A value that is read keeps the last of two keys; only the check finds both.
        if let Err(fault) = parse_record::<JsonShape>(piece.bytes()) {
            return Err(cannot(fault));
        }
        match read_again(piece.bytes(), eval, case, sample) {
            RecordRead::Output(Some(mut output), trajectory) => {
                let left = output.workspace.as_mut();
                if let Some(tree) = left.and_then(|left| left.tree.as_mut()) {
                    tree.path = self.trees.find(&tree.name).map_err(|why| {
                        let tree = match self.asked.private {
                            true => "its workspace".to_owned(),
                            false => format!("the workspace `{}`", tree.name),
                        };
                        format!("{} of {name}: {tree} {why}", place())
                    })?;
                }
                if let Some((trajectory, is_output)) = trajectory {
                    let trajectory = self
                        .trajectory(trajectory)
                        .map_err(|why| format!("{} of {name}: {why}", place()))?;
                    if is_output && let Some(text) = trajectory.final_message() {
                        output.value = OutputValue::Text(text);
                    } else if is_output && output.workspace.is_none() {
                        let why = "no output, and its trajectory has no message of the agent";
                        return Err(format!("{} of {name} has {why}", place()));
                    }
                    output.trajectory = Some(Box::new(TrajectoryRecord::new(trajectory)));
                }
                Ok(*output)
            }
            RecordRead::Output(None, _) => {
                let at = match self.records.form {
                    RecordingForm::Lines => entry.span.place.to_string(),
                    RecordingForm::Array => place(),
                };
                Err(format!("{name}:{at} records no output (null)"))
            }
            RecordRead::Unreadable(fault) => Err(cannot(fault)),
            RecordRead::OtherSample => Err(changed()),
        }
    }

    fn trajectory(&self, recorded: RecordedTrajectory) -> Result<Trajectory, String> {
        let name = match recorded {
            RecordedTrajectory::Content(content) => return Ok(*content),
            RecordedTrajectory::File(name) => name,
        };
        let fault = |why: String| format!("the trajectory {} {why}", shown_id(&name));
        let path = self.trees.find(&name).map_err(fault)?;
        let unread = |error: std::io::Error| fault(format!("cannot be read: {error}"));
        let file = open_file(&path).map_err(unread)?;
        let mut json = Vec::new();
        let most = limits::TRAJECTORY_FILE;
        file.take(most + 1).read_to_end(&mut json).map_err(unread)?;
        if json.len() as u64 > most {
            return Err(fault(format!("has more than {} MiB", most >> 20)));
        }
        Trajectory::from_json(&json)
            .map_err(|error| fault(format!("is not one: {}", sanitize(&error.to_string()))))
    }

    /// `its line 3`, `its lines 3, 7 and 2 more`; `None` when every record says its case.
    fn lost_words(&self) -> Option<String> {
        let LostRecords { first, count } = &self.records.lost;
        let noun = self.records.form.noun();
        let plural = if *count == 1 { "" } else { "s" };
        (*count > 0).then(|| format!("its {noun}{plural} {}", listed(first, 3, *count, ", ")))
    }
}

/// What the bytes of a record hold.
enum RecordRead {
    /// The output of the sample; `None` for an explicit null.
    Output(Option<Box<Output>>, Option<(RecordedTrajectory, bool)>),
    Unreadable(LineFault),
    /// A record of another sample.
    OtherSample,
}

fn read_again(bytes: &[u8], eval: &str, case: &str, sample: u32) -> RecordRead {
    let record = match parse_record::<Value>(bytes) {
        Ok(record) => record,
        Err(fault) => return RecordRead::Unreadable(fault),
    };
    let Ok(record) = record.check() else {
        return RecordRead::OtherSample;
    };
    let same_case = record.case == case && record.eval.as_deref().is_none_or(|said| said == eval);
    match record.content {
        _ if !same_case => RecordRead::OtherSample,
        Err(message) => RecordRead::Unreadable(LineFault {
            column: None,
            message,
        }),
        Ok(mut content) if record.sample.is_none_or(|said| said == sample) => {
            let trajectory = content.take_trajectory();
            RecordRead::Output(content.output().map(Box::new), trajectory)
        }
        Ok(_) => RecordRead::OtherSample,
    }
}

/// The rest of a file; `None` when there is more than `largest` bytes.
fn whole(file: &File, largest: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = file
        .take(largest.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((read as u64 <= largest).then_some(bytes))
}

#[cfg(test)]
mod tests;
