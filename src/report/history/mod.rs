//! The past runs of a suite: a page for people, and JSON.

mod json;
mod page;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::Value;

use crate::model::Cause;
use crate::report::TerminalOptions;
use crate::report::page::{PageView, terminal};
use crate::run::history::{EvalHistory, HistoryGroup, PastEval, PastRun, RunHistory};
use eval_base::globs::IdGlobs;
use eval_base::text;

pub use page::pass_rates;

/// What of a history is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryFilter<'a> {
    /// Only evals whose id it takes; `None` takes all.
    pub evals: Option<&'a IdGlobs>,
}

impl HistoryFilter<'_> {
    fn takes(&self, id: &str) -> bool {
        self.evals.is_none_or(|globs| globs.fit(id))
    }

    /// The evals of a group that are shown, by id.
    fn evals<'g>(&self, group: &'g HistoryGroup) -> BTreeMap<&'g str, EvalHistory<'g>> {
        let mut evals = group.evals();
        evals.retain(|id, _| self.takes(id));
        evals
    }
}

/// Writes the page for people: every suite and target; of a single eval that is asked for, each of
/// its runs.
pub fn render(
    history: &RunHistory,
    shown: HistoryFilter<'_>,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = page::page(history, shown, &PageView::terminal(options));
    terminal::write(&page, options, out)
}

/// The same as JSON, with an end of line. Outcomes of cases are told when evals were asked for.
pub fn json(history: &RunHistory, shown: HistoryFilter<'_>, out: &mut dyn Write) -> io::Result<()> {
    let value: Value = json::history(history, shown);
    eval_base::json::to_writer_pretty(&mut *out, &value)?;
    out.write_all(b"\n")
}

/// The day of a timestamp.
fn day(timestamp: &str) -> String {
    text::one_line(timestamp.get(..10).unwrap_or(timestamp))
}

/// The beginning of the commit; `*` behind it says that the checkout had changes.
fn commit(run: &PastRun) -> String {
    run.environment
        .git
        .as_ref()
        .map_or_else(String::new, |git| {
            let short = git.commit.get(..7).unwrap_or(&git.commit);
            format!(
                "{}{}",
                text::one_line(short),
                if git.dirty { "*" } else { "" }
            )
        })
}

/// The commonest cause among the cases that ended as the eval did; of equals the first in the list
/// of causes.
fn cause(eval: &PastEval) -> Option<Cause> {
    let mut tally: BTreeMap<Cause, usize> = BTreeMap::new();
    for case in eval
        .cases
        .iter()
        .filter(|case| case.outcome == eval.outcome)
    {
        if let Some(cause) = case.cause {
            *tally.entry(cause).or_default() += 1;
        }
    }
    tally
        .into_iter()
        .max_by_key(|(cause, n)| (*n, std::cmp::Reverse(*cause)))
        .map(|(cause, _)| cause)
}
