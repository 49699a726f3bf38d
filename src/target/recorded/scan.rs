//! The one pass over a recording: every record is checked, and its place in the file is kept.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::model::LostRecords;
use eval_base::blocks::{BlockError, FileBlocks};
use eval_base::nearest::did_you_mean;
use eval_base::text::listed;
use eval_base::unique_keys::JsonShape;

use super::super::line::{
    LineFault, RecordLine, RecordObject, parse_record, shown_id, without_position,
};
use super::asked::{RecordFit, RecordedCases};
use super::index::{IndexEntry, MAX_RECORDS, RecordIndex, RecordSpan};
use super::partial::PartialRecord;
use super::{RecordingForm, RecordingProblem, RecordingProblems};

/// Problems that are listed one by one; the others are counted.
const LISTED: usize = 20;

/// Unknown cases that are named.
const NAMED: usize = 3;

/// With more cases than these no likely id is searched for one that is unknown: it would take seconds.
const SEARCHED: usize = 20_000;

/// Bytes of the longest line. Outputs of 100 MB exist.
pub(super) const LONGEST: usize = 512 << 20;

/// Bytes of the longest line that is held while the file is scanned.
const HELD: usize = 4 << 20;

/// The length of a record that is longer than what is read.
pub(super) const TOO_LONG: u32 = u32::MAX;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// What a pass over the lines came to.
pub(super) enum ScanEnding {
    AtTheEnd,
    /// The file is one JSON array, to be read whole.
    Array,
}

/// The records of a file whose readable ones are without contradictions.
#[derive(Debug)]
pub(in crate::target) struct ScannedRecords {
    pub(super) index: RecordIndex,
    pub(super) form: RecordingForm,
    /// Records that can't be read and whose case is not known.
    pub lost: LostRecords,
}

/// Problems of which the first ones are kept, with the number of their place.
#[derive(Default)]
struct ListedProblems {
    first: Vec<(u32, RecordingProblem)>,
    count: usize,
}

impl ListedProblems {
    fn add(&mut self, place: u32, problem: RecordingProblem) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push((place, problem));
        }
    }
}

pub(super) struct RecordingScan<'a> {
    asked: &'a RecordedCases,
    form: RecordingForm,
    longest: usize,
    entries: Vec<IndexEntry>,
    /// What is wrong with the file as a whole: nothing of it is used.
    problems: ListedProblems,
    /// What keeps single records from being read.
    unreadable: ListedProblems,
    /// Records that could be read, those of unknown cases among them.
    readable: usize,
    lost: LostRecords,
    /// Place of the record that was counted last among the lost ones.
    last_lost: Option<u32>,
    /// The first records that fit no case: place and what they name.
    unknown: Vec<(u32, String)>,
    unknown_count: usize,
    /// Number of the case that the record before named.
    last: u32,
    /// Folders and archives that records name.
    pub trees: BTreeSet<String>,
}

impl<'a> RecordingScan<'a> {
    /// Lines of more than `longest` bytes can't be read.
    pub fn new(asked: &'a RecordedCases, longest: usize) -> Self {
        RecordingScan {
            asked,
            form: RecordingForm::Lines,
            longest,
            entries: Vec::new(),
            problems: ListedProblems::default(),
            unreadable: ListedProblems::default(),
            readable: 0,
            lost: LostRecords::default(),
            last_lost: None,
            unknown: Vec::new(),
            unknown_count: 0,
            last: u32::MAX,
            trees: BTreeSet::new(),
        }
    }

    /// Checks a file of lines from its start, in memory that does not grow with the longest line that is no record. `blocks` is
    /// the same file, to read a long line whole. Stops where the file turns out to be an array.
    pub fn lines(
        &mut self,
        reader: &mut impl BufRead,
        blocks: &FileBlocks,
    ) -> io::Result<ScanEnding> {
        let held = HELD.min(self.longest);
        let (mut line, mut number, mut offset, mut blank) = (Vec::new(), 0u32, 0u64, true);
        loop {
            line.clear();
            line.shrink_to(HELD);
            // With room for `\r\n`.
            let read = reader
                .by_ref()
                .take(held as u64 + 2)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(ScanEnding::AtTheEnd);
            }
            number += 1;
            let marked = if number == 1 && line.starts_with(BOM) {
                BOM.len()
            } else {
                0
            };
            let start = offset + marked as u64;
            offset += read as u64;
            let bytes = without_line_end(line.get(marked..).unwrap_or_default());
            if blank && bytes.trim_ascii_start().starts_with(b"[") {
                return Ok(ScanEnding::Array);
            }
            blank &= bytes.trim_ascii().is_empty();
            if line.ends_with(b"\n") || read < held + 2 {
                self.line(bytes, number, start);
            } else {
                let long = LongLine::read(line.get(marked..).unwrap_or_default(), reader)?;
                offset += long.further;
                blank = false;
                self.long_line(&long, number, start, blocks)?;
            }
            if number == MAX_RECORDS {
                let message = format!("a recording may have up to {MAX_RECORDS} lines");
                self.wrong(number, message);
                return Ok(ScanEnding::AtTheEnd);
            }
        }
    }

    fn line(&mut self, bytes: &[u8], place: u32, offset: u64) {
        if bytes.trim_ascii().is_empty() {
            return;
        }
        // Lines are at most `longest` bytes.
        let span = RecordSpan {
            place,
            offset,
            length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        };
        match parse_record::<JsonShape>(bytes) {
            Ok(record) => self.take(record, span),
            Err(mut fault) => {
                if place == 1 && offset > 0 {
                    fault.column = fault.column.map(|column| column + BOM.len());
                }
                self.broken(fault, span, PartialRecord::read(bytes.iter().copied()));
            }
        }
    }

    /// A line that is too long to be held while the file is scanned.
    fn long_line(
        &mut self,
        long: &LongLine,
        place: u32,
        offset: u64,
        blocks: &FileBlocks,
    ) -> io::Result<()> {
        let length = usize::try_from(long.length).unwrap_or(usize::MAX);
        let scanned = if length <= self.longest {
            blocks
                .read(offset, length)
                .map(|piece| self.line(piece.bytes(), place, offset))
        } else {
            partial_record(long.length, offset, blocks).map(|partial| {
                let fault = LineFault {
                    column: None,
                    message: too_long(self.longest),
                };
                self.broken(
                    fault,
                    RecordSpan {
                        place,
                        offset,
                        length: TOO_LONG,
                    },
                    partial,
                );
            })
        };
        match scanned {
            // The whole file is then refused.
            Ok(()) | Err(BlockError::Changed) => Ok(()),
            Err(BlockError::Io(error)) => Err(error),
        }
    }

    /// Checks a file that is one array.
    pub fn array(&mut self, bytes: &[u8]) {
        self.form = RecordingForm::Array;
        let marked = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let content = bytes.get(marked..).unwrap_or_default();
        // Record by record: what can't be read must not stop the others.
        for (place, element) in (1..).zip(elements(content)) {
            let is_cut = element.is_cut;
            let span = RecordSpan {
                place,
                offset: (marked + element.range.start) as u64,
                length: u32::try_from(element.range.len()).unwrap_or(u32::MAX),
            };
            let record = content.get(element.range).unwrap_or_default();
            match parse_record::<JsonShape>(record) {
                Ok(record) if element.is_whole => self.take(record, span),
                Ok(_) => {
                    let message = "the array is truncated, or text follows its end".to_owned();
                    self.broken(
                        LineFault {
                            column: None,
                            message,
                        },
                        span,
                        PartialRecord::read(record.iter().copied()),
                    );
                }
                Err(fault) => self.broken(
                    LineFault {
                        column: None,
                        ..fault
                    },
                    span,
                    PartialRecord::read(record.iter().copied()),
                ),
            }
            // What followed it is not known.
            if is_cut {
                self.lose(place);
            }
        }
        if self.readable == 0
            && let Some(fault) = array_fault(content)
        {
            // What the parser says of the whole names the line.
            self.unreadable = ListedProblems::default();
            self.unreadable.add(u32::MAX, fault);
        }
    }

    fn wrong(&mut self, place: u32, message: String) {
        self.problems.add(place, self.form.problem(place, message));
    }

    /// What is wrong with a record: a sentence may quote it.
    fn quoted(&self, message: String) -> String {
        match self.asked.private {
            true => "the record is not valid".to_owned(),
            false => message,
        }
    }

    fn take(&mut self, record: RecordLine<JsonShape>, span: RecordSpan) {
        let record = match record.check() {
            Ok(record) => record,
            Err(message) => return self.wrong(span.place, self.quoted(message)),
        };
        match self
            .asked
            .fit(record.eval.as_deref(), &record.case, &mut self.last)
        {
            RecordFit::Slot(slot) => {
                self.entries.push(match record.content {
                    Ok(_) => IndexEntry::new(span, slot, record.sample),
                    Err(_) => IndexEntry::unreadable(span, slot, record.sample),
                });
            }
            RecordFit::None => self.not_of_the_suite(span.place, record.case),
            RecordFit::Several(first, second) => {
                let message = format!(
                    "case {} is in the evals {} and {}: select one with `eval`",
                    self.asked.shown(&record.case),
                    shown_id(first),
                    shown_id(second)
                );
                self.wrong(span.place, message);
            }
        }
        match record.content {
            Ok(content) => {
                self.readable += 1;
                self.trees.extend(content.files().map(str::to_owned));
            }
            Err(message) => {
                let problem = self.form.problem(span.place, self.quoted(message));
                self.unreadable.add(span.place, problem);
            }
        }
    }

    /// A record that can't be read: its sample is there all the same when it says which one it is.
    fn broken(&mut self, fault: LineFault, span: RecordSpan, partial: PartialRecord) {
        let place = span.place;
        let problem = RecordingProblem {
            column: fault.column,
            ..self.form.problem(place, self.quoted(fault.message))
        };
        self.unreadable.add(place, problem);
        let mut is_lost = partial.holds_more;
        match &partial.sample {
            None => is_lost = true,
            Some(name) => match self
                .asked
                .fit(name.eval.as_deref(), &name.case, &mut self.last)
            {
                RecordFit::Slot(slot) => {
                    self.entries
                        .push(IndexEntry::unreadable(span, slot, name.index));
                }
                RecordFit::None => self.not_of_the_suite(place, name.case.clone()),
                RecordFit::Several(..) => is_lost = true,
            },
        }
        if is_lost {
            self.lose(place);
        }
    }

    /// Counts a record, once for each place.
    fn lose(&mut self, place: u32) {
        if self.last_lost.replace(place) == Some(place) {
            return;
        }
        self.lost.count += 1;
        if self.lost.first.len() < LISTED {
            self.lost.first.push(place);
        }
    }

    fn not_of_the_suite(&mut self, place: u32, case: String) {
        self.unknown_count += 1;
        if self.unknown.len() < NAMED {
            self.unknown.push((place, case));
        }
    }

    /// What was found, at the end of the file. A file without any readable record is not a recording.
    pub fn finish(self, path: &Path) -> Result<ScannedRecords, RecordingProblems> {
        let RecordingScan {
            asked,
            form,
            entries,
            mut problems,
            unreadable,
            readable,
            lost,
            ..
        } = self;
        let is_recording = readable > 0 || unreadable.count == 0;
        match RecordIndex::build(entries, asked.slots(), LISTED) {
            Ok(index) if problems.count == 0 && is_recording => {
                return Ok(ScannedRecords { index, form, lost });
            }
            Ok(_) => {}
            Err(faults) => {
                problems.count += faults.count;
                for fault in faults.first {
                    let message = fault.words(asked, form);
                    problems
                        .first
                        .push((fault.place, form.problem(fault.place, message)));
                }
            }
        }
        let count = problems.count + unreadable.count;
        let mut first = problems.first;
        first.extend(unreadable.first);
        first.sort_by_key(|(place, _)| *place);
        first.truncate(LISTED);
        let more = count - first.len();
        Err(RecordingProblems {
            path: path.to_owned(),
            problems: first.into_iter().map(|(_, problem)| problem).collect(),
            more,
        })
    }

    /// What people should know of the file, one sentence each.
    pub fn warnings(&self, name: &str) -> Vec<String> {
        self.unknown_warning(name)
            .into_iter()
            .chain(self.unreadable_warning(name))
            .collect()
    }

    fn unreadable_warning(&self, name: &str) -> Option<String> {
        let ListedProblems { first, count } = &self.unreadable;
        if *count == 0 {
            return None;
        }
        let named = first.iter().map(|(place, problem)| {
            let column = problem
                .column
                .map(|column| format!(", column {column}"))
                .unwrap_or_default();
            let of_record = format!("record {place}: ");
            let message = problem
                .message
                .strip_prefix(&of_record)
                .unwrap_or(&problem.message);
            format!("{}{column}: {message}", self.form.place(*place))
        });
        let says = if *count == 1 {
            "record that cannot be read is"
        } else {
            "records that cannot be read are"
        };
        Some(format!(
            "{name}: {count} {says} graded as errored: {}",
            listed(named, NAMED, *count, "; ")
        ))
    }

    fn unknown_warning(&self, name: &str) -> Option<String> {
        if self.unknown_count == 0 {
            return None;
        }
        let known = self.asked.cases();
        let mut named: Vec<String> = Vec::new();
        for (place, case) in &self.unknown {
            let known = known
                .iter()
                .take(if known.len() > SEARCHED { 0 } else { SEARCHED });
            let closest = did_you_mean(case, known).filter(|_| !self.asked.private);
            let hint = closest
                .map(|id| format!(", did you mean {}?", shown_id(id)))
                .unwrap_or_default();
            named.push(format!(
                "{} ({}{hint})",
                self.asked.shown(case),
                self.form.place(*place)
            ));
        }
        let says = if self.unknown_count == 1 {
            "record is"
        } else {
            "records are"
        };
        Some(format!(
            "{name}: {} {says} for no case of this suite: {}",
            self.unknown_count,
            listed(&named, named.len(), self.unknown_count, ", ")
        ))
    }
}

/// Why a line that is too long is not read.
pub(super) fn too_long(longest: usize) -> String {
    format!(
        "a line may have up to {} MiB, but this one is longer",
        longest >> 20
    )
}

fn without_line_end(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

/// Reads which sample a line belongs to that is too long to be read whole.
fn partial_record(
    length: u64,
    offset: u64,
    blocks: &FileBlocks,
) -> Result<PartialRecord, BlockError> {
    let mut failed = None;
    let pieces = (0..length).step_by(HELD).map_while(|at| {
        let size = usize::try_from(length - at).unwrap_or(usize::MAX).min(HELD);
        let piece = blocks.read(offset + at, size);
        piece.map_err(|error| failed = Some(error)).ok()
    });
    let partial = PartialRecord::read(pieces.flat_map(|piece| piece.bytes().to_vec()));
    failed.map_or(Ok(partial), Err)
}

/// A line that was not held.
struct LongLine {
    /// Without its line end.
    length: u64,
    /// Bytes that were taken from the reader, its line end among them.
    further: u64,
}

impl LongLine {
    /// Reads on to the end of the line that begins with `beginning`.
    fn read(beginning: &[u8], reader: &mut impl BufRead) -> io::Result<LongLine> {
        let (mut further, mut end, mut last) = (0, 0, beginning.last().copied());
        loop {
            let bytes = reader.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            let line_end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = bytes
                .get(..line_end.unwrap_or(bytes.len()))
                .unwrap_or_default();
            last = piece.last().copied().or(last);
            let taken = piece.len() + usize::from(line_end.is_some());
            reader.consume(taken);
            further += taken as u64;
            if line_end.is_some() {
                end = if last == Some(b'\r') { 2 } else { 1 };
                break;
            }
        }
        Ok(LongLine {
            length: beginning.len() as u64 + further - end,
            further,
        })
    }
}

/// What is wrong with an array as a whole.
fn array_fault(content: &[u8]) -> Option<RecordingProblem> {
    let text = match std::str::from_utf8(content) {
        Ok(text) => text,
        Err(error) => {
            let before = content.get(..error.valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|b| **b == b'\n').count() + 1;
            let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
            return Some(RecordingProblem {
                line: Some(line),
                column: Some(column),
                message: "the file is not UTF-8 here".to_owned(),
            });
        }
    };
    let error = serde_json::from_str::<Vec<RecordObject<JsonShape>>>(text).err()?;
    Some(RecordingProblem {
        line: Some(error.line()),
        column: Some(error.column().max(1)),
        message: without_position(&error),
    })
}

/// An element of an array.
struct ArrayElement {
    range: std::ops::Range<usize>,
    /// False for what is cut by the end of the file, and for what follows the end of the array.
    is_whole: bool,
    /// True for the last element of an array that has no end.
    is_cut: bool,
}

/// The elements of an array, by its brackets, texts and commas alone: in text that is sound JSON exactly its elements. A comma
/// that no element follows gives an empty element.
fn elements(content: &[u8]) -> impl Iterator<Item = ArrayElement> {
    let opened = content
        .iter()
        .position(|byte| *byte == b'[')
        .map_or(content.len(), |at| at + 1);
    let (mut at, mut is_over, mut after_comma) = (opened, false, false);
    std::iter::from_fn(move || {
        loop {
            if at >= content.len() && !after_comma {
                return None;
            }
            let rest = content.get(at..).unwrap_or_default();
            let (length, end) = if is_over {
                (rest.len(), None)
            } else {
                element_end(rest)
            };
            let element = rest.get(..length).unwrap_or_default();
            let start = at + element.len() - element.trim_ascii_start().len();
            let range = start..start + element.trim_ascii().len();
            let is_whole = !is_over && end.is_some();
            let is_cut = !is_over && end.is_none();
            at += length + usize::from(end.is_some());
            is_over |= end == Some(b']');
            let is_expected = std::mem::replace(&mut after_comma, end == Some(b','));
            // Otherwise blanks before the end of the array, or after it.
            if !range.is_empty() || after_comma || is_expected {
                return Some(ArrayElement {
                    range,
                    is_whole,
                    is_cut,
                });
            }
        }
    })
}

/// The length of the element that begins here, and the comma or the bracket behind it; `None` when there is neither.
fn element_end(bytes: &[u8]) -> (usize, Option<u8>) {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(inside) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *inside == b'\\' { 2 } else { 1 };
                }
            }
            b'[' | b'{' => depth += 1,
            b',' | b']' if depth == 0 => return (at, Some(*byte)),
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    (bytes.len(), None)
}
