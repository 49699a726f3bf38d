//! Takes the rows of a data file in: fills in and checks every one, keeps an outline of its case,
//! and tells what does not fit.
//!
//! Rows do not depend on each other, so that several threads judge them; what they found is put
//! together in the file's order.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use serde_json::Value;

use super::records::{Batch, Records, RecordsError};
use super::source::DataFile;
use super::{Make, Misfit};
use crate::load::cases::Cases;
use crate::load::problem::{Code, Problem};
use crate::load::scope::Desk;
use crate::load::source::{Sources, Span};
use crate::model::Outlines;

/// Broken rows that are told one by one; the rest is counted.
pub(super) const SHOWN: usize = 20;
/// Batches that are judged before other threads are asked to help: smaller files are through by
/// then.
const ALONE: usize = 2;
/// More threads wait for each other more than they help.
const MOST_WORKERS: usize = 4;

/// What became of the rows of a batch.
#[derive(Default)]
struct Judged {
    /// For every row the line that it begins on, and what is wrong with it.
    rows: Vec<(usize, Option<Misfit>)>,
    /// Of the rows with which nothing is wrong.
    outlines: Outlines,
}

pub(super) struct Intake<'a> {
    /// As written, for messages.
    file: String,
    at: Span,
    bad: usize,
    rows: usize,
    cases: &'a mut Cases,
    /// Lines of the outlines that were taken in; outlines before `first` are of written cases.
    lines: Vec<u32>,
    first: usize,
    /// Places of outlines, by the id that they hold.
    ids: HashTable<u32>,
    hasher: RandomState,
}

impl<'a> Intake<'a> {
    pub fn new(file: String, at: Span, cases: &'a mut Cases) -> Intake<'a> {
        let first = cases.outlines.len();
        let (ids, hasher) = (HashTable::new(), RandomState::new());
        Intake {
            file,
            at,
            bad: 0,
            rows: 0,
            cases,
            lines: Vec::new(),
            first,
            ids,
            hasher,
        }
    }

    /// Reads all rows: their number, good or bad, and at least 1 when there is a problem.
    pub fn read(mut self, desk: &mut Desk, data: &DataFile) -> usize {
        let sources = desk.sources;
        let read = data.records().and_then(|mut records| {
            let Some(mut make) = data.recipe.open(sources, true) else {
                return Ok(());
            };
            for batch in records.by_ref().take(ALONE) {
                let judged = judge(make.as_mut(), batch?);
                self.take(desk, judged);
            }
            let workers = thread::available_parallelism().map_or(1, |n| n.get().min(MOST_WORKERS));
            if workers > 1 {
                self.read_together(desk, data, &mut records, workers)?;
            }
            for batch in records {
                let judged = judge(make.as_mut(), batch?);
                self.take(desk, judged);
            }
            Ok(())
        });
        if let Err(error) = read {
            let message = format!("`{}` {error}", self.file);
            desk.push(Problem::error(Code::DatasetUnreadable, self.at, message));
            self.rows += 1;
        }
        self.close(desk)
    }

    /// Lets `workers` threads judge batches; returns early when none can be started.
    fn read_together(
        &mut self,
        desk: &mut Desk,
        data: &DataFile,
        records: &mut Records,
        workers: usize,
    ) -> Result<(), RecordsError> {
        let Some(first) = records.next() else {
            return Ok(());
        };
        let mut batch = Some(first?);
        let most = workers * 2;
        let (jobs, waiting) = sync_channel(most);
        let (results, judged) = sync_channel(most);
        let (waiting, sources) = (Mutex::new(waiting), desk.sources);
        thread::scope(|scope| {
            let mut started = 0;
            for _ in 0..workers {
                let (waiting, results) = (&waiting, results.clone());
                let work = move || work(data, sources, waiting, &results);
                started += usize::from(thread::Builder::new().spawn_scoped(scope, work).is_ok());
            }
            drop(results);
            if started == 0 {
                let Some(mut make) = data.recipe.open(sources, true) else {
                    return Ok(());
                };
                batch
                    .take()
                    .into_iter()
                    .for_each(|batch| self.take(desk, judge(make.as_mut(), batch)));
                return Ok(());
            }
            let mut ended = Ok(());
            let (mut sent, mut next) = (0usize, 0usize);
            let mut early: BTreeMap<usize, Judged> = BTreeMap::new();
            loop {
                while sent - next < most
                    && let Some(job) = batch.take()
                {
                    if jobs.send((sent, job)).is_err() {
                        break;
                    }
                    sent += 1;
                    match records.next() {
                        Some(Ok(more)) => batch = Some(more),
                        Some(Err(error)) => ended = Err(error),
                        None => {}
                    }
                }
                if next == sent {
                    break;
                }
                let Ok((index, done)) = judged.recv() else {
                    break;
                };
                early.insert(index, done);
                while let Some(done) = early.remove(&next) {
                    next += 1;
                    self.take(desk, done);
                }
            }
            drop(jobs);
            ended
        })
    }

    fn take(&mut self, desk: &mut Desk, judged: Judged) {
        let mut place = self.cases.outlines.len();
        if let Err(error) = self.cases.outlines.append(judged.outlines) {
            let message = format!("{}: {error}", self.file);
            desk.push(Problem::error(Code::DatasetUnreadable, self.at, message));
        }
        for (line, misfit) in judged.rows {
            self.rows += 1;
            match misfit {
                Some(misfit) => self.refuse(desk, line, misfit),
                None => {
                    self.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
                    self.claim(desk, place, line);
                    place += 1;
                }
            }
        }
    }

    /// Tells of a row that does not fit.
    fn refuse(&mut self, desk: &mut Desk, line: usize, misfit: Misfit) {
        self.bad += 1;
        if self.bad <= SHOWN {
            let message = format!("{}:{line}: {}", self.file, misfit.message);
            let problem = Problem::error(Code::DatasetRow, misfit.at.unwrap_or(self.at), message);
            desk.push(problem.maybe_hint(misfit.hint));
        }
    }

    /// Notes the id of an outline; a second row (or a written case) of the same id is refused.
    fn claim(&mut self, desk: &mut Desk, place: usize, line: usize) {
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
                Some(format!("line {}", line.copied().unwrap_or_default()))
            }
            Entry::Vacant(free) => match self.cases.written_at(id) {
                Some(span) => Some(format!(
                    "a case on line {}",
                    desk.sources.position(span).line
                )),
                None => {
                    free.insert(new);
                    None
                }
            },
        };
        if let Some(taken_by) = taken_by {
            let message = format!("the id `{id}` is taken by {taken_by}");
            let hint = Some("ids are unique in an eval".to_owned());
            self.refuse(
                desk,
                line,
                Misfit {
                    at: None,
                    message,
                    hint,
                },
            );
        }
    }

    fn close(self, desk: &mut Desk) -> usize {
        if self.bad > SHOWN {
            let message = format!("{}: {} more rows do not fit", self.file, self.bad - SHOWN);
            desk.push(Problem::error(Code::DatasetRow, self.at, message));
        }
        if self.rows == 0 && self.bad == 0 {
            let message = format!(
                "`{}` holds no rows, so the eval would pass without a test",
                self.file
            );
            desk.push(Problem::error(Code::EmptyCases, self.at, message));
            return 1;
        }
        self.rows
    }
}

type Job = (usize, Batch);

/// Judges batches as long as there are any.
fn work(
    data: &DataFile,
    sources: &Sources,
    waiting: &Mutex<Receiver<Job>>,
    results: &SyncSender<(usize, Judged)>,
) {
    let mut make = data.recipe.open(sources, true);
    loop {
        let job = waiting.lock().ok().and_then(|jobs| jobs.recv().ok());
        let Some((index, batch)) = job else { return };
        let line = batch.line(0);
        let judged = catch_unwind(AssertUnwindSafe(|| {
            make.as_mut().map(|make| judge(make.as_mut(), batch))
        }));
        let judged = judged.ok().flatten().unwrap_or_else(|| {
            let misfit =
                Misfit::plain("a fault of eval-harness itself in this row or one of the next");
            Judged {
                rows: vec![(line, Some(misfit))],
                outlines: Outlines::default(),
            }
        });
        if results.send((index, judged)).is_err() {
            return;
        }
    }
}

fn judge(make: &mut dyn Make, mut batch: Batch) -> Judged {
    let mut judged = Judged {
        rows: Vec::with_capacity(batch.len()),
        outlines: Outlines::default(),
    };
    for at in 0..batch.len() {
        let line = batch.line(at);
        let case = match batch.take(at) {
            Ok(row) => make.case(Value::Object(row), line),
            Err(reason) => Err(Misfit::plain(reason)),
        };
        let kept = case.and_then(|case| {
            judged
                .outlines
                .push(&case)
                .map_err(|error| Misfit::plain(error.to_string()))
        });
        judged.rows.push((line, kept.err()));
    }
    judged
}
