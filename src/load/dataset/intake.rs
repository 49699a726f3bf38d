//! Takes the rows of a data file in: fills in and checks every one, keeps an outline of its case,
//! and tells what does not fit.
//!
//! Rows do not depend on each other, so that several threads judge them; what they found is put
//! together in the file's order.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock};
use std::thread::available_parallelism;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{Map, Value};

use super::records::{RecordBatch, RecordStream, RecordsError};
use super::source::DataFile;
use super::{CaseMaker, RowMisfit, RowPlace};
use crate::load::cases::UniqueCases;
use crate::load::problem::{Code, Problem};
use crate::load::scope::SuiteDesk;
use crate::load::source::Span;
use crate::load::workspace::WorkspaceInputs;
use crate::model::{Case, CaseOutlines};
use eval_base::text::plural;

/// Broken rows that are told one by one; the rest is counted.
pub(super) const SHOWN: usize = 20;
/// Threads that judge rows, at most.
const MOST_WORKERS: usize = 4;

/// What became of the rows of a batch.
#[derive(Default)]
struct JudgedBatch {
    /// For every row the line that it begins on, and what became of it.
    rows: Vec<(usize, RowResult)>,
    /// Of the rows with which nothing is wrong.
    outlines: CaseOutlines,
    inputs: WorkspaceInputs,
}

enum RowResult {
    Taken,
    Unselected,
    Misfit(RowMisfit),
}

pub(super) struct RowIntake<'a> {
    /// As written, for messages.
    file: String,
    at: Span,
    bad: usize,
    rows: usize,
    /// Places of rows that are not selected, ascending.
    unselected: Vec<u32>,
    /// Nothing of the rows is shown.
    private: bool,
    cases: &'a mut UniqueCases,
    /// Lines of the outlines that were taken in; outlines before `first` are of written cases.
    lines: Vec<u32>,
    first: usize,
    /// Places of outlines, by the id that they hold.
    ids: HashTable<u32>,
    hasher: RandomState,
}

impl<'a> RowIntake<'a> {
    pub fn new(file: String, at: Span, private: bool, cases: &'a mut UniqueCases) -> RowIntake<'a> {
        let first = cases.outlines.len();
        let (ids, hasher) = (HashTable::new(), RandomState::new());
        RowIntake {
            file,
            at,
            bad: 0,
            rows: 0,
            unselected: Vec::new(),
            private,
            cases,
            lines: Vec::new(),
            first,
            ids,
            hasher,
        }
    }

    /// Reads all rows: their number, good or bad, and at least 1 when there is a problem; and the
    /// places of those that are not selected.
    pub fn read(mut self, desk: &mut SuiteDesk, data: &DataFile) -> (usize, Vec<u32>) {
        if let Err(error) = self.read_all(desk, data, workers()) {
            let message = format!("`{}` {error}", self.file);
            desk.push(Problem::error(Code::DatasetUnreadable, self.at, message));
            self.rows += 1;
        }
        let unselected = std::mem::take(&mut self.unselected);
        (self.close(desk, unselected.len()), unselected)
    }

    /// One group of batches is judged while what was found in the one before is taken in and the
    /// next one is read.
    fn read_all(
        &mut self,
        desk: &mut SuiteDesk,
        data: &DataFile,
        workers: Option<&ThreadPool>,
    ) -> Result<(), RecordsError> {
        let size = 2 * workers.map_or(1, ThreadPool::current_num_threads);
        let (mut records, sources) = (data.records()?, desk.sources);
        let idle: Mutex<Vec<Box<dyn CaseMaker + '_>>> = Mutex::default();
        let judged = |batch: RecordBatch| {
            let line = batch.line(0);
            let known = idle.lock().ok().and_then(|mut idle| idle.pop());
            let mut make = known.or_else(|| data.recipe.open(sources, true))?;
            let judged = catch_unwind(AssertUnwindSafe(|| judge(make.as_mut(), batch)));
            if let Ok(mut idle) = idle.lock() {
                idle.push(make);
            }
            Some(judged.unwrap_or_else(|_| JudgedBatch::fault(line)))
        };
        let read = |records: &mut RecordStream| records.take(size).collect::<Vec<_>>();
        let (mut ended, mut done) = (Ok(()), Vec::new());
        let mut group = read(&mut records);
        while !group.is_empty() {
            let good = group
                .into_iter()
                .map_while(|batch| batch.map_err(|e| ended = Err(e)).ok());
            let batches: Vec<RecordBatch> = good.collect();
            let mut meanwhile = || {
                done.drain(..).for_each(|judged| self.take(desk, judged));
                read(&mut records)
            };
            (group, done) = match workers {
                Some(workers) => workers.join(meanwhile, || {
                    batches.into_par_iter().filter_map(judged).collect()
                }),
                None => (
                    meanwhile(),
                    batches.into_iter().filter_map(judged).collect(),
                ),
            };
        }
        done.into_iter().for_each(|judged| self.take(desk, judged));
        ended
    }

    fn take(&mut self, desk: &mut SuiteDesk, judged: JudgedBatch) {
        let mut place = self.cases.outlines.len();
        if let Err(error) = self.cases.outlines.append(judged.outlines) {
            let message = format!("{}: {error}", self.file);
            desk.push(Problem::error(Code::DatasetUnreadable, self.at, message));
        }
        self.cases.inputs.extend(judged.inputs);
        for (line, result) in judged.rows {
            self.rows += 1;
            match result {
                RowResult::Misfit(misfit) if self.private => {
                    self.refuse(desk, line, misfit.hidden());
                }
                RowResult::Misfit(misfit) => self.refuse(desk, line, misfit),
                RowResult::Unselected => self
                    .unselected
                    .push(u32::try_from(self.rows - 1).unwrap_or(u32::MAX)),
                RowResult::Taken => {
                    self.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
                    self.claim(desk, place, line);
                    place += 1;
                }
            }
        }
    }

    /// Tells of a row that does not fit.
    fn refuse(&mut self, desk: &mut SuiteDesk, line: usize, misfit: RowMisfit) {
        self.bad += 1;
        if self.bad <= SHOWN {
            let message = format!("{}:{line}: {}", self.file, misfit.message);
            let problem = Problem::error(Code::DatasetRow, misfit.at.unwrap_or(self.at), message);
            desk.push(problem.maybe_hint(misfit.hint));
        }
    }

    /// Notes the id of an outline; a second row (or a written case) of the same id is refused.
    fn claim(&mut self, desk: &mut SuiteDesk, place: usize, line: usize) {
        let outlines = &self.cases.outlines;
        let id_at = |place: usize| outlines.get(place).map_or("", |outline| outline.id);
        let id = id_at(place);
        let Ok(new) = u32::try_from(place) else {
            return;
        };
        let entry = self.ids.entry(
            self.hasher.hash_one(id),
            |other| id_at(*other as usize) == id,
            |other| self.hasher.hash_one(id_at(*other as usize)),
        );
        let taken_by = match entry {
            Entry::Occupied(first) => {
                let line = self
                    .lines
                    .get((*first.get() as usize).wrapping_sub(self.first));
                Some(format!("on line {}", line.copied().unwrap_or_default()))
            }
            Entry::Vacant(free) => match self.cases.written_at(id) {
                Some(span) => Some(format!(
                    "by the case on line {}",
                    desk.sources.position(span).line
                )),
                None => {
                    free.insert(new);
                    None
                }
            },
        };
        if let Some(taken_by) = taken_by {
            let id = match self.private {
                true => "its id".to_owned(),
                false => format!("the id `{id}`"),
            };
            let message = format!("{id} is already used {taken_by}");
            let hint = Some("ids must be unique in an eval".to_owned());
            self.refuse(
                desk,
                line,
                RowMisfit {
                    at: None,
                    message,
                    hint,
                },
            );
        }
    }

    fn close(self, desk: &mut SuiteDesk, unselected: usize) -> usize {
        if self.bad > SHOWN {
            let message = format!("{}: {} more rows have errors", self.file, self.bad - SHOWN);
            desk.push(Problem::error(Code::DatasetRow, self.at, message));
        }
        if self.rows == 0 && self.bad == 0 {
            let message = format!(
                "`{}` contains no rows, so the eval would pass without a test",
                self.file
            );
            desk.push(Problem::error(Code::EmptyCases, self.at, message));
            return 1;
        }
        if self.rows == unselected && self.bad == 0 {
            let message = format!(
                "`released` selects none of the {} of `{}`",
                plural(self.rows, "record"),
                self.file
            );
            desk.push(Problem::error(Code::EmptyCases, self.at, message));
        }
        self.rows
    }
}

impl JudgedBatch {
    /// Of a batch that begins on `line`, and could not be judged.
    fn fault(line: usize) -> JudgedBatch {
        let misfit =
            RowMisfit::plain("internal error in eval-harness, in this row or one of the next");
        JudgedBatch {
            rows: vec![(line, RowResult::Misfit(misfit))],
            ..JudgedBatch::default()
        }
    }
}

/// The threads that judge rows; `None` where they can't be started.
fn workers() -> Option<&'static ThreadPool> {
    static WORKERS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let start = || {
        let processors = available_parallelism().map_or(1, |number| number.get());
        let builder = ThreadPoolBuilder::new().num_threads(processors.min(MOST_WORKERS));
        builder.build().ok()
    };
    WORKERS.get_or_init(start).as_ref()
}

fn judge(make: &mut dyn CaseMaker, mut batch: RecordBatch) -> JudgedBatch {
    let mut judged = JudgedBatch {
        rows: Vec::with_capacity(batch.len()),
        ..JudgedBatch::default()
    };
    for at in 0..batch.len() {
        let line = batch.line(at);
        let made = match batch.take(at) {
            Ok(row) => selected(make, row, batch.place(at)),
            Err(reason) => Err(RowMisfit::plain(reason)),
        };
        let kept = made.and_then(|case| {
            let Some(case) = case else {
                return Ok(RowResult::Unselected);
            };
            judged.inputs.extend_of(case.workspace.as_deref());
            let pushed = judged.outlines.push(&case);
            pushed
                .map(|()| RowResult::Taken)
                .map_err(|error| RowMisfit::plain(error.to_string()))
        });
        judged
            .rows
            .push((line, kept.unwrap_or_else(RowResult::Misfit)));
    }
    judged
}

/// The case of a row; `None` if it is not selected.
fn selected(
    make: &mut dyn CaseMaker,
    row: Map<String, Value>,
    place: RowPlace,
) -> Result<Option<Case>, RowMisfit> {
    match make.selects(&row)? {
        true => make.case(Value::Object(row), place).map(Some),
        false => Ok(None),
    }
}
