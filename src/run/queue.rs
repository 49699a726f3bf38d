//! Which sample is next.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::prepare::Prepared;
use crate::model::{Case, Eval, Plan};

/// One sample to run.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub eval: Arc<Eval>,
    pub case: Arc<Case>,
    pub sample: u32,
}

/// The samples of a plan in its order. Of an eval with `parallel: false` at most one is out at a time.
pub(super) struct Queue {
    waiting: VecDeque<Work>,
    /// Evals that are not parallel and have a sample out.
    busy: HashSet<String>,
}

impl Queue {
    pub fn new(plan: &Plan) -> Self {
        let waiting = plan
            .evals
            .iter()
            .flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)))
            .flat_map(|(eval, case)| {
                (0..Prepared::samples(case)).map(move |sample| Work {
                    eval: Arc::clone(eval),
                    case: Arc::clone(case),
                    sample,
                })
            })
            .collect();
        Queue { waiting, busy: HashSet::new() }
    }

    /// The next sample that may start now.
    pub fn next(&mut self) -> Option<Work> {
        let free = |work: &Work| work.eval.parallel || !self.busy.contains(&work.eval.info.id);
        let at = match self.waiting.front() {
            Some(first) if free(first) => 0,
            _ => self.waiting.iter().position(free)?,
        };
        let work = self.waiting.remove(at)?;
        if !work.eval.parallel {
            self.busy.insert(work.eval.info.id.clone());
        }
        Some(work)
    }

    /// The next samples that may start now, to be run one after the other by one task: one, or up to `most` that are all
    /// `cheap` (a task each would cost more than they do).
    pub fn next_batch(&mut self, most: usize, cheap: impl Fn(&Work) -> bool) -> Vec<Work> {
        let Some(first) = self.next() else { return Vec::new() };
        let joinable = |work: &Work| work.eval.parallel && cheap(work);
        let mut batch = vec![first];
        while batch.len() < most && joinable(&batch[0]) && self.waiting.front().is_some_and(joinable) {
            batch.extend(self.waiting.pop_front());
        }
        batch
    }

    /// A sample is done (or given up).
    pub fn done(&mut self, work: &Work) {
        if !work.eval.parallel {
            self.busy.remove(&work.eval.info.id);
        }
    }

    /// Everything that has not started.
    pub fn drain(&mut self) -> impl Iterator<Item = Work> + '_ {
        self.waiting.drain(..)
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
