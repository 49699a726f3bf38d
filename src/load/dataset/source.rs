//! Cases out of a data file, whenever they are wanted.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::records::{RecordBatch, RecordLayout, RecordStream, RecordsError};
use super::{CaseMaker, CaseRecipe};
use crate::load::source::SourceFiles;
use crate::model::{Case, CaseFault, CaseSource, CaseStream, PlaceFilter, StreamedCase};

/// A data file whose rows all fit when the suite was loaded.
#[derive(Debug)]
pub(super) struct DataFile {
    /// As written, for messages.
    pub name: String,
    /// Absolute.
    pub path: PathBuf,
    pub layout: RecordLayout,
    pub limit: Option<usize>,
    /// Rows that make cases: all of them, when the suite is loaded.
    pub rows: usize,
    /// Places of rows of which no case is made, ascending.
    pub unselected: Vec<u32>,
    pub recipe: Arc<dyn CaseRecipe>,
    /// Nothing of the rows is shown.
    pub private: bool,
    /// Authored texts are of no concern any more.
    pub nowhere: SourceFiles,
}

impl DataFile {
    pub fn records(&self) -> Result<RecordStream, RecordsError> {
        RecordStream::open(&self.path, self.layout, self.limit)
    }

    fn changed(&self, what: impl Into<String>) -> CaseFault {
        CaseFault::Changed {
            file: self.name.clone(),
            what: what.into(),
        }
    }

    fn unreadable(&self, error: &RecordsError) -> CaseFault {
        CaseFault::Unreadable {
            file: self.name.clone(),
            reason: error.to_string(),
        }
    }
}

impl CaseSource for DataFile {
    fn stream<'a>(&'a self, wanted: PlaceFilter<'a>) -> CaseStream<'a> {
        let state = match self.records() {
            Ok(records) => RowStreamState::Reading(records),
            Err(error) => RowStreamState::Ended(self.unreadable(&error)),
        };
        Box::new(RowStream {
            file: self,
            wanted,
            state,
            make: None,
            batch: RecordBatch::default(),
            next: 0,
            row: 0,
            at: 0,
        })
    }
}

enum RowStreamState {
    Reading(RecordStream),
    /// Why what comes now can't be had any more.
    Ended(CaseFault),
}

struct RowStream<'a> {
    file: &'a DataFile,
    wanted: PlaceFilter<'a>,
    state: RowStreamState,
    /// Made when it is first needed: in the thread that streams.
    make: Option<Box<dyn CaseMaker + 'a>>,
    batch: RecordBatch,
    /// The next row of the batch, its place among all rows, and among those of which cases are made.
    next: usize,
    row: u32,
    at: usize,
}

impl RowStream<'_> {
    fn end(&mut self, fault: CaseFault) {
        self.state = RowStreamState::Ended(fault);
        self.batch = RecordBatch::default();
    }

    fn case(&mut self, next: usize) -> Result<Arc<Case>, CaseFault> {
        if let RowStreamState::Ended(fault) = &self.state {
            return Err(fault.clone());
        }
        let line = self.batch.line(next);
        let row = self
            .batch
            .take(next)
            .map_err(|reason| self.file.changed(format!("line {line}: {reason}")))?;
        if self.make.is_none() {
            self.make = self.file.recipe.open(&self.file.nowhere, false);
        }
        let make = self
            .make
            .as_mut()
            .ok_or_else(|| self.file.changed("its template is broken"))?;
        let case = make.case(Value::Object(row), self.batch.place(next));
        case.map(Arc::new).map_err(|misfit| {
            let misfit = match self.file.private {
                true => misfit.hidden(),
                false => misfit,
            };
            self.file
                .changed(format!("line {line}: {}", misfit.message))
        })
    }
}

impl Iterator for RowStream<'_> {
    type Item = StreamedCase;

    fn next(&mut self) -> Option<StreamedCase> {
        loop {
            if self.at >= self.file.rows {
                return None;
            }
            let ended = matches!(self.state, RowStreamState::Ended(_));
            if ended || self.next < self.batch.len() {
                let (next, row, at) = (self.next, self.row, self.at);
                self.next += 1;
                self.row = self.row.saturating_add(1);
                if !ended && self.file.unselected.binary_search(&row).is_ok() {
                    continue;
                }
                self.at += 1;
                if (self.wanted)(at) {
                    return Some(StreamedCase {
                        at,
                        bytes: self.batch.bytes(next),
                        case: self.case(next),
                    });
                }
                continue;
            }
            match &mut self.state {
                RowStreamState::Reading(records) => match records.next() {
                    Some(Ok(batch)) => (self.batch, self.next) = (batch, 0),
                    Some(Err(error)) => self.end(self.file.unreadable(&error)),
                    None => self.end(self.file.changed("it has become shorter")),
                },
                RowStreamState::Ended(_) => {}
            }
        }
    }
}
