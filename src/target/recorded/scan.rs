//! The one pass over a recording: every record is checked, and where it lies is kept.

use std::io::{self, BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::base::text::sanitize;

use super::super::line::{Line, Object, Shape, shown};
use super::asked::{Asked, Fit};
use super::index::{Entry, Index, MAX_RECORDS};
use super::{Form, Place, Problem};

/// Problems that are listed one by one; the others are counted.
const LISTED: usize = 20;

/// Unknown cases that are named.
const NAMED: usize = 3;

/// With more cases than these no likely id is searched for one that is unknown: it would take seconds.
const SEARCHED: usize = 20_000;

/// Bytes of the longest line. Outputs of 100 MB exist.
pub(super) const LONGEST: usize = 512 << 20;

/// Bytes of a line's memory that are kept for the next line.
const SPARE: usize = 4 << 20;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// What a pass over the lines came to.
pub(super) enum Ended {
    AtTheEnd,
    /// The file is one JSON array, to be read whole.
    Array,
}

/// A file without faults.
pub(super) struct Sound {
    pub index: Index,
    pub form: Form,
    pub warnings: Vec<String>,
}

/// What is wrong with a file.
pub(super) struct Wrong {
    /// The first ones, in the order of the file.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub more: usize,
}

pub(super) struct Scan<'a> {
    asked: &'a Asked,
    form: Form,
    longest: usize,
    entries: Vec<Entry>,
    /// The first ones, with the number of their place.
    problems: Vec<(u32, Problem)>,
    problem_count: usize,
    /// The first records that fit no case: place and what they name.
    unknown: Vec<(Place, String)>,
    unknown_count: usize,
    /// Number of the case that the record before named.
    last: u32,
}

impl<'a> Scan<'a> {
    /// Lines of more than `longest` bytes are problems.
    pub fn new(asked: &'a Asked, longest: usize) -> Self {
        Scan {
            asked,
            form: Form::Lines,
            longest,
            entries: Vec::new(),
            problems: Vec::new(),
            problem_count: 0,
            unknown: Vec::new(),
            unknown_count: 0,
            last: u32::MAX,
        }
    }

    /// Checks a file of lines from its start. Stops where the file turns out to be an array, and where it is not UTF-8.
    pub fn lines(&mut self, reader: &mut impl BufRead) -> io::Result<Ended> {
        let (mut line, mut number, mut offset, mut blank) = (Vec::new(), 0u32, 0u64, true);
        loop {
            line.clear();
            line.shrink_to(SPARE);
            let read = reader.by_ref().take(self.longest as u64 + 1).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(Ended::AtTheEnd);
            }
            number += 1;
            let mut start = offset;
            offset += read as u64;
            let mut bytes = line.strip_suffix(b"\n").unwrap_or(&line);
            bytes = if bytes.len() < line.len() { bytes.strip_suffix(b"\r").unwrap_or(bytes) } else { bytes };
            let marked = if number == 1 && bytes.starts_with(BOM) { BOM.len() } else { 0 };
            bytes = bytes.get(marked..).unwrap_or_default();
            start += marked as u64;
            if blank && bytes.trim_ascii_start().starts_with(b"[") {
                return Ok(Ended::Array);
            }
            if bytes.len() > self.longest {
                let mebibytes = self.longest >> 20;
                self.problem(
                    number,
                    None,
                    format!("a line may hold up to {mebibytes} MiB, and this one is longer"),
                );
                offset += if line.ends_with(b"\n") { 0 } else { reader.skip_until(b'\n')? as u64 };
                blank = false;
                continue;
            }
            match std::str::from_utf8(bytes) {
                Ok(text) => {
                    blank &= text.trim().is_empty();
                    self.line(text, number, start);
                }
                Err(error) => {
                    let column = marked + error.valid_up_to() + 1;
                    self.problem(number, Some(column), "the file is not UTF-8 here".to_owned());
                    return Ok(Ended::AtTheEnd);
                }
            }
            if number == MAX_RECORDS {
                self.problem(number, None, format!("a recording may have up to {MAX_RECORDS} lines"));
                return Ok(Ended::AtTheEnd);
            }
        }
    }

    fn line(&mut self, text: &str, number: u32, start: u64) {
        if text.trim().is_empty() {
            return;
        }
        match serde_json::from_str::<Object<Shape>>(text) {
            Ok(Object(record)) => {
                // Lines are at most `longest` bytes.
                let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                self.take(record, number, start, length);
            }
            Err(error) => {
                let mut message = without_position(&error);
                if error.is_eof() && text.trim() == "{" {
                    message.push_str("; each line must hold one whole JSON object");
                }
                self.problem(number, Some(error.column().max(1)), message);
            }
        }
    }

    /// Checks a file that is one array.
    pub fn array(&mut self, bytes: &[u8]) {
        self.form = Form::Array;
        let marked = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.get(marked..).unwrap_or_default(),
            Err(error) => {
                let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let line = before.iter().filter(|b| **b == b'\n').count() + 1;
                let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
                return self.problem_at(0, Some(line), Some(column), "the file is not UTF-8 here".to_owned());
            }
        };
        let mut json = serde_json::Deserializer::from_str(text);
        let read = Records { scan: self }.deserialize(&mut json).and_then(|()| json.end());
        match read {
            Ok(()) => self.place_elements(text, marked),
            Err(error) => {
                let (line, column) = (error.line(), error.column().max(1));
                self.problem_at(u32::MAX, Some(line), Some(column), without_position(&error));
            }
        }
    }

    /// Tells each record of an array that was found sound where it lies.
    fn place_elements(&mut self, text: &str, marked: usize) {
        let mut entries = self.entries.iter_mut().peekable();
        for (number, range) in (1..).zip(elements(text)) {
            if let Some(entry) = entries.next_if(|entry| entry.place == number) {
                entry.offset = (marked + range.start) as u64;
                entry.length = u32::try_from(range.len()).unwrap_or(u32::MAX);
            }
        }
    }

    fn problem(&mut self, place: u32, column: Option<usize>, message: String) {
        self.problem_at(place, Some(place as usize), column, message);
    }

    fn problem_at(&mut self, place: u32, line: Option<usize>, column: Option<usize>, message: String) {
        self.problem_count += 1;
        if self.problems.len() < LISTED {
            self.problems.push((place, Problem { line, column, message }));
        }
    }

    fn take(&mut self, record: Line<Shape>, place: u32, offset: u64, length: u32) {
        if let Err(message) = self.store(record, place, offset, length) {
            let problem = self.form.problem(place, message);
            self.problem_at(place, problem.line, problem.column, problem.message);
        }
    }

    fn store(&mut self, record: Line<Shape>, place: u32, offset: u64, length: u32) -> Result<(), String> {
        let record = record.check()?;
        match self.asked.fit(record.eval.as_deref(), &record.case, &mut self.last) {
            Fit::Slot(slot) => {
                self.entries.push(Entry::new(offset, length, place, slot, record.sample));
                Ok(())
            }
            Fit::None => {
                self.unknown_count += 1;
                if self.unknown.len() < NAMED {
                    self.unknown.push((self.form.place(place), record.case.into_owned()));
                }
                Ok(())
            }
            Fit::Several(first, second) => Err(format!(
                "case {} is in the evals {} and {}: say which with `eval`",
                shown(&record.case),
                shown(first),
                shown(second)
            )),
        }
    }

    /// What was found, at the end of the file.
    pub fn finish(self, name: &str) -> Result<Sound, Wrong> {
        let warnings = self.warnings(name);
        let Scan { asked, form, entries, mut problems, mut problem_count, .. } = self;
        match Index::build(entries, asked.slots(), LISTED) {
            Ok(index) if problem_count == 0 => return Ok(Sound { index, form, warnings }),
            Ok(_) => {}
            Err(faults) => {
                problem_count += faults.count;
                for fault in faults.first {
                    let message = fault.words(asked, form);
                    problems.push((fault.place, form.problem(fault.place, message)));
                }
            }
        }
        problems.sort_by_key(|(place, _)| *place);
        problems.truncate(LISTED);
        let more = problem_count - problems.len();
        Err(Wrong { problems: problems.into_iter().map(|(_, problem)| problem).collect(), more })
    }

    fn warnings(&self, name: &str) -> Vec<String> {
        if self.unknown_count == 0 {
            return Vec::new();
        }
        let known = self.asked.cases();
        let mut named: Vec<String> = Vec::new();
        for (place, case) in &self.unknown {
            let closest = known
                .iter()
                .take(if known.len() > SEARCHED { 0 } else { SEARCHED })
                .map(|id| (strsim::normalized_damerau_levenshtein(id, case), id))
                .filter(|(likeness, _)| *likeness >= 0.6 && *likeness < 1.0)
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
            let hint = closest.map(|(_, id)| format!(", did you mean {}?", shown(id))).unwrap_or_default();
            named.push(format!("{} ({}{hint})", shown(case), place.words()));
        }
        let more = self.unknown_count - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let says = if self.unknown_count == 1 { "record is" } else { "records are" };
        vec![format!(
            "{name}: {} {says} of no case of this suite: {}{more}",
            self.unknown_count,
            named.join(", ")
        )]
    }
}

/// Takes the elements of an array one after the other, without keeping them.
struct Records<'s, 'a> {
    scan: &'s mut Scan<'a>,
}

impl<'de> DeserializeSeed<'de> for Records<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut number = 0u32;
        while let Some(Object(record)) = seq.next_element::<Object<Shape>>()? {
            number += 1;
            self.scan.take(record, number, 0, 0);
        }
        Ok(())
    }
}

/// Where the elements of an array of objects lie, in text that is sound JSON.
fn elements(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut bytes = text.bytes().enumerate();
    let mut depth = 0usize;
    std::iter::from_fn(move || {
        let mut start = 0;
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    while let Some((_, inside)) = bytes.next() {
                        match inside {
                            b'\\' => _ = bytes.next(),
                            b'"' => break,
                            _ => {}
                        }
                    }
                }
                b'[' | b'{' => {
                    depth += 1;
                    if depth == 2 {
                        start = at;
                    }
                }
                b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 1 {
                        return Some(start..at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    })
}

fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    if error.is_data() { sanitize(message).into_owned() } else { format!("not JSON: {message}") }
}
