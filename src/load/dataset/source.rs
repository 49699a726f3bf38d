//! Cases out of a data file, whenever they are wanted.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::records::{Batch, Layout, Records, RecordsError};
use super::{Make, Recipe};
use crate::load::source::Sources;
use crate::model::{Case, CaseFault, CaseSource, Stream, Streamed, Wanted};

/// A data file whose rows all fit when the suite was loaded.
#[derive(Debug)]
pub(super) struct DataFile {
    /// As written, for messages.
    pub name: String,
    /// Absolute.
    pub path: PathBuf,
    pub layout: Layout,
    pub limit: Option<usize>,
    /// Rows that make cases: all of them, when the suite is loaded.
    pub rows: usize,
    pub recipe: Arc<dyn Recipe>,
    /// Authored texts are of no concern any more.
    pub nowhere: Sources,
}

impl DataFile {
    pub fn records(&self) -> Result<Records, RecordsError> {
        Records::open(&self.path, self.layout, self.limit)
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
    fn stream<'a>(&'a self, wanted: Wanted<'a>) -> Stream<'a> {
        let state = match self.records() {
            Ok(records) => State::Reading(records),
            Err(error) => State::Ended(self.unreadable(&error)),
        };
        Box::new(Rows {
            file: self,
            wanted,
            state,
            make: None,
            batch: Batch::default(),
            next: 0,
            at: 0,
        })
    }
}

enum State {
    Reading(Records),
    /// Why what comes now can't be had any more.
    Ended(CaseFault),
}

struct Rows<'a> {
    file: &'a DataFile,
    wanted: Wanted<'a>,
    state: State,
    /// Made when it is first needed: in the thread that streams.
    make: Option<Box<dyn Make + 'a>>,
    batch: Batch,
    /// The next row of the batch, and its place among all.
    next: usize,
    at: usize,
}

impl Rows<'_> {
    fn end(&mut self, fault: CaseFault) {
        self.state = State::Ended(fault);
        self.batch = Batch::default();
    }

    fn case(&mut self, next: usize) -> Result<Arc<Case>, CaseFault> {
        if let State::Ended(fault) = &self.state {
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
        let case = make.case(Value::Object(row), line);
        case.map(Arc::new).map_err(|misfit| {
            self.file
                .changed(format!("line {line}: {}", misfit.message))
        })
    }
}

impl Iterator for Rows<'_> {
    type Item = Streamed;

    fn next(&mut self) -> Option<Streamed> {
        loop {
            if self.at >= self.file.rows {
                return None;
            }
            let ended = matches!(self.state, State::Ended(_));
            if ended || self.next < self.batch.len() {
                let (next, at) = (self.next, self.at);
                self.next += 1;
                self.at += 1;
                if (self.wanted)(at) {
                    return Some(Streamed {
                        at,
                        bytes: self.batch.bytes(next),
                        case: self.case(next),
                    });
                }
                continue;
            }
            match &mut self.state {
                State::Reading(records) => match records.next() {
                    Some(Ok(batch)) => (self.batch, self.next) = (batch, 0),
                    Some(Err(error)) => self.end(self.file.unreadable(&error)),
                    None => self.end(self.file.changed("it has become shorter")),
                },
                State::Ended(_) => {}
            }
        }
    }
}
