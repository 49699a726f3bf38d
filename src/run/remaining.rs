//! Which samples of a plan are still to be run.

use std::collections::HashSet;

/// Everything but what is finished.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    finished: HashSet<(usize, usize, u32)>,
}

impl Remaining {
    /// Of a run that begins.
    pub fn all() -> Remaining {
        Remaining::default()
    }

    /// Takes a sample out.
    #[cfg(test)]
    pub fn finish(&mut self, eval: usize, case: usize, sample: u32) {
        self.finished.insert((eval, case, sample));
    }

    /// True when a sample has to be run; `eval` is its eval's place in the plan, `case` its case's among the eval's cases.
    pub fn wants(&self, eval: usize, case: usize, sample: u32) -> bool {
        self.finished.is_empty() || !self.finished.contains(&(eval, case, sample))
    }
}
