//! Outputs that were recorded earlier: JSON lines (or one JSON array), read and checked once.
//!
//! A line names its case by `case` (or `task_id`, a text or a number) and holds one of `output` (text or JSON),
//! `completion`/`response` (text) and `solution` (a whole program); `eval`, `sample`, `usage` and `model` may be there.
//! Other keys are of no concern.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::base::text::sanitize;
use crate::model::{OutputValue, Usage};

use super::line::{Line, Object, case_of, sample_of, shown, text_of, usage_of, value_of};

/// Problems that are listed one by one; the others are counted.
const LISTED: usize = 20;

/// Unknown cases that are named.
const NAMED: usize = 3;

/// Which cases a recording is asked for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    evals: Vec<String>,
    /// Positions in `evals`, by case.
    by_case: HashMap<String, Vec<usize>>,
}

impl Asked {
    pub fn add(&mut self, eval: &str, case: &str) {
        if self.evals.last().is_none_or(|last| last != eval) && !self.evals.iter().any(|e| e == eval) {
            self.evals.push(eval.to_owned());
        }
        let Some(index) = self.evals.iter().rposition(|e| e == eval) else { return };
        self.by_case.entry(case.to_owned()).or_default().push(index);
    }
}

/// Everything that is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RecordingProblems {
    pub path: PathBuf,
    /// The first ones, in the order of the file.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub more: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; `None` for records of an array.
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
            let noun = if self.more == 1 { "problem" } else { "problems" };
            write!(f, "\nand {} more {noun}", self.more)?;
        }
        Ok(())
    }
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Line(usize),
    /// The n-th element of an array, from 1.
    Record(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, "{n}"),
            Place::Record(n) => write!(f, "record {n}"),
        }
    }
}

impl Place {
    fn words(self) -> String {
        match self {
            Place::Line(n) => format!("line {n}"),
            Place::Record(n) => format!("record {n}"),
        }
    }
}

/// One record, checked.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    /// `None` for an explicit null.
    pub value: Option<OutputValue>,
    pub usage: Option<Usage>,
    pub model: Option<String>,
    pub place: Place,
}

#[derive(Debug, Default)]
struct Samples {
    /// Whether the records say their index; none does or all do.
    indexed: Option<(bool, Option<Place>)>,
    by_index: BTreeMap<u32, Recorded>,
}

/// A file of recorded outputs.
#[derive(Debug)]
pub(super) struct Recording {
    name: String,
    /// By eval, then by case.
    evals: HashMap<String, HashMap<String, Samples>>,
}

impl Recording {
    /// Reads a file's bytes; gives warnings beside the recording.
    pub fn read(
        path: &Path,
        bytes: Vec<u8>,
        asked: &Asked,
    ) -> Result<(Recording, Vec<String>), RecordingProblems> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut reader = Reader {
            asked,
            evals: HashMap::new(),
            problems: Vec::new(),
            problem_count: 0,
            unknown: Vec::new(),
            unknown_count: 0,
        };
        match String::from_utf8(bytes) {
            Ok(text) => reader.read(text.strip_prefix('\u{feff}').unwrap_or(&text)),
            Err(error) => {
                let sound = error.utf8_error().valid_up_to();
                let before = error.as_bytes().get(..sound).unwrap_or_default();
                let line = before.iter().filter(|b| **b == b'\n').count() + 1;
                let column = sound - before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1) + 1;
                reader.problem(Some(line), Some(column), "the file is not UTF-8 here".to_owned());
            }
        }
        if reader.problem_count > 0 {
            let more = reader.problem_count - reader.problems.len();
            return Err(RecordingProblems { path: path.to_owned(), problems: reader.problems, more });
        }
        let warnings = reader.warnings(&name);
        Ok((Recording { name, evals: reader.evals }, warnings))
    }

    /// The file's name, without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many samples of a case can be asked for: one more than the highest index.
    pub fn samples(&self, eval: &str, case: &str) -> u32 {
        let samples = self.evals.get(eval).and_then(|cases| cases.get(case));
        samples.and_then(|s| s.by_index.last_key_value()).map_or(0, |(index, _)| index + 1)
    }

    /// The record of a sample, or how many others of its case there are.
    pub fn find(&self, eval: &str, case: &str, sample: u32) -> Result<&Recorded, usize> {
        match self.evals.get(eval).and_then(|cases| cases.get(case)) {
            None => Err(0),
            Some(samples) => samples.by_index.get(&sample).ok_or(samples.by_index.len()),
        }
    }
}

struct Reader<'a> {
    asked: &'a Asked,
    evals: HashMap<String, HashMap<String, Samples>>,
    problems: Vec<Problem>,
    problem_count: usize,
    /// The first records that fit no case: place and what they name.
    unknown: Vec<(Place, String)>,
    unknown_count: usize,
}

impl Reader<'_> {
    fn read(&mut self, text: &str) {
        if text.trim_start().starts_with('[') {
            return self.read_array(text);
        }
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let place = Place::Line(index + 1);
            match serde_json::from_str::<Object>(line) {
                Ok(Object(record)) => self.take(record, place),
                Err(error) => {
                    let mut message = without_position(&error);
                    if error.is_eof() && line.trim() == "{" {
                        message.push_str("; each line must hold one whole JSON object");
                    }
                    self.problem(Some(index + 1), Some(error.column().max(1)), message);
                }
            }
        }
    }

    fn read_array(&mut self, text: &str) {
        match serde_json::from_str::<Vec<Object>>(text) {
            Ok(records) => {
                for (index, Object(record)) in records.into_iter().enumerate() {
                    self.take(record, Place::Record(index + 1));
                }
            }
            Err(error) => {
                self.problem(Some(error.line()), Some(error.column().max(1)), without_position(&error));
            }
        }
    }

    fn problem(&mut self, line: Option<usize>, column: Option<usize>, message: String) {
        self.problem_count += 1;
        if self.problems.len() < LISTED {
            self.problems.push(Problem { line, column, message });
        }
    }

    fn take(&mut self, record: Line, place: Place) {
        if let Err(message) = self.store(record, place) {
            match place {
                Place::Line(line) => self.problem(Some(line), None, message),
                Place::Record(n) => self.problem(None, None, format!("record {n}: {message}")),
            }
        }
    }

    fn store(&mut self, mut record: Line, place: Place) -> Result<(), String> {
        let case = case_of(&record)?;
        let value = value_of(&mut record)?;
        let usage = record.usage.map(usage_of).transpose()?;
        let model = record.model.map(|model| text_of(model, "model")).transpose()?;
        let index = record.sample.map(sample_of).transpose()?;
        let eval = record.eval.map(|eval| text_of(eval, "eval")).transpose()?;
        let Some(eval) = self.eval_of(eval, &case)? else {
            self.unknown_count += 1;
            if self.unknown.len() < NAMED {
                self.unknown.push((place, case));
            }
            return Ok(());
        };
        let samples = self.evals.entry(eval).or_default().entry(case.clone()).or_default();
        match samples.indexed {
            None => samples.indexed = Some((index.is_some(), Some(place))),
            Some((indexed, Some(first))) if indexed != index.is_some() => {
                let (says, other) = if indexed {
                    ("says its `sample`", "this one does not")
                } else {
                    ("has no `sample`", "this one has")
                };
                return Err(format!(
                    "{} of case {} {says} and {other}: give all of them an index or none",
                    first.words(),
                    shown(&case)
                ));
            }
            Some(_) => {}
        }
        let index = index.unwrap_or(u32::try_from(samples.by_index.len()).unwrap_or(u32::MAX));
        if let Some(earlier) = samples.by_index.get(&index) {
            return Err(format!(
                "sample {index} of case {} was already recorded at {}",
                shown(&case),
                earlier.place.words()
            ));
        }
        samples.by_index.insert(index, Recorded { value, usage, model, place });
        Ok(())
    }

    /// The eval that a record belongs to; `None` when the plan has no such case.
    fn eval_of(&self, said: Option<String>, case: &str) -> Result<Option<String>, String> {
        let fitting: &[usize] = self.asked.by_case.get(case).map_or(&[], Vec::as_slice);
        let names: Vec<&String> = fitting.iter().filter_map(|i| self.asked.evals.get(*i)).collect();
        match (said, names.as_slice()) {
            (Some(eval), names) => Ok(names.iter().find(|name| ***name == eval).map(|name| (*name).clone())),
            (None, []) => Ok(None),
            (None, [one]) => Ok(Some((*one).clone())),
            (None, [first, second, ..]) => Err(format!(
                "case {} is in the evals {} and {}: say which with `eval`",
                shown(case),
                shown(first),
                shown(second)
            )),
        }
    }

    fn warnings(&self, name: &str) -> Vec<String> {
        if self.unknown_count == 0 {
            return Vec::new();
        }
        let known: HashSet<&str> = self.asked.by_case.keys().map(String::as_str).collect();
        let mut named: Vec<String> = Vec::new();
        for (place, case) in &self.unknown {
            let closest = known
                .iter()
                .map(|id| (strsim::normalized_damerau_levenshtein(id, case), *id))
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

fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    if error.is_data() { sanitize(message).into_owned() } else { format!("not JSON: {message}") }
}
