//! The cases of one eval while its file is read.

use std::collections::HashMap;
use std::sync::Arc;

use super::problem::{Code, Problem};
use super::scope::SuiteDesk;
use super::source::Span;
use super::workspace::WorkspaceInputs;
use crate::model::{self, Case, CaseOutlines, CaseSource, ChainedCases, MemoryCases};

/// Cases of one eval, whose ids are unique: first those that are written, then those of a data
/// file.
#[derive(Debug, Default)]
pub(super) struct UniqueCases {
    list: Vec<Arc<Case>>,
    pub outlines: CaseOutlines,
    pub data: Option<Arc<dyn CaseSource>>,
    /// What their workspaces are made of.
    pub inputs: WorkspaceInputs,
    claimed: HashMap<String, Span>,
}

impl UniqueCases {
    /// Notes an id of a case that is written in the file.
    pub fn claim(&mut self, desk: &mut SuiteDesk, id: &str, at: Span) {
        match self.claimed.get(id) {
            Some(first) => {
                let message = format!("two cases have the id `{id}`");
                desk.push(
                    Problem::error(Code::DuplicateId, at, message)
                        .related(*first, "the first one")
                        .hint(format!(
                            "the first one is on line {}",
                            desk.sources.position(*first).line
                        )),
                );
            }
            None => drop(self.claimed.insert(id.to_owned(), at)),
        }
    }

    /// Ids of written cases, good or bad.
    pub fn claimed(&self) -> usize {
        self.claimed.len()
    }

    /// Takes a written case in.
    pub fn add(&mut self, case: Case) {
        // More written cases than can be counted do not fit into memory.
        if self.outlines.push(&case).is_ok() {
            self.inputs.extend_of(case.workspace.as_deref());
            self.list.push(Arc::new(case));
        }
    }

    pub fn whole(self) -> model::EvalCases {
        let written = MemoryCases(self.list);
        match self.data {
            None => model::EvalCases::new(self.outlines, Arc::new(written)),
            Some(data) if written.0.is_empty() => model::EvalCases::new(self.outlines, data),
            Some(data) => {
                model::EvalCases::new(self.outlines, Arc::new(ChainedCases { written, data }))
            }
        }
    }

    /// Where a case with this id is written in the file.
    pub fn written_at(&self, id: &str) -> Option<Span> {
        self.claimed.get(id).copied()
    }
}
