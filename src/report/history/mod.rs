//! The past runs of a suite: a page for people, and JSON.

mod detail;
mod json;
mod page;
mod spark;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::Value;

use crate::model::{Cause, Outcome};
use crate::report::TerminalOptions;
use crate::report::terminal::page::{Page, Tone, plain, span};
use crate::run::history::{EvalHistory, Group, History, PastEval, PastRun};
use eval_base::text;

/// What of a history is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown<'a> {
    /// Only evals whose id it takes; `None` takes all.
    pub evals: Option<&'a dyn EvalFilter>,
}

/// Says which evals are meant.
pub trait EvalFilter: std::fmt::Debug {
    fn takes(&self, id: &str) -> bool;
}

impl Shown<'_> {
    fn takes(&self, id: &str) -> bool {
        self.evals.is_none_or(|filter| filter.takes(id))
    }

    /// The evals of a group that are shown, by id.
    fn evals<'g>(&self, group: &'g Group) -> BTreeMap<&'g str, EvalHistory<'g>> {
        let mut evals = group.evals();
        evals.retain(|id, _| self.takes(id));
        evals
    }
}

/// Writes the page for people: every suite and target; of a single eval that is asked for, each of
/// its runs.
pub fn render(
    history: &History,
    shown: Shown<'_>,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(out, options);
    let groups: Vec<&Group> = history
        .groups
        .iter()
        .filter(|group| !shown.evals(group).is_empty())
        .collect();
    for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            page.blank()?;
            page.blank()?;
        }
        let evals = shown.evals(group);
        match (shown.evals, evals.values().next()) {
            (Some(_), Some(eval)) if evals.len() == 1 => {
                detail::eval(&mut page, group, eval, options)?
            }
            _ => page::group(&mut page, group, &evals, shown, options)?,
        }
        if group
            .runs
            .iter()
            .any(|run| run.environment.git.as_ref().is_some_and(|git| git.dirty))
        {
            page.line(&[span(
                Tone::Dim,
                "  * the checkout had changes that no commit has",
            )])?;
        }
    }
    left_out(&mut page, history, groups.is_empty())
}

/// The same as JSON, with an end of line. Outcomes of cases are told when evals were asked for.
pub fn json(history: &History, shown: Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    let value: Value = json::history(history, shown);
    eval_base::json::to_writer_pretty(&mut *out, &value)?;
    out.write_all(b"\n")
}

/// What is there and was not asked for.
fn left_out(page: &mut Page, history: &History, nothing_shown: bool) -> io::Result<()> {
    let left = &history.left_out;
    let names = |of: &BTreeMap<String, usize>| {
        let mut names: Vec<String> = of.keys().take(5).map(|name| text::one_line(name)).collect();
        if of.len() > names.len() {
            names.push(format!("{} more", of.len() - names.len()));
        }
        names.join(", ")
    };
    let runs = |of: &BTreeMap<String, usize>| text::plural(of.values().sum(), "run");
    let mut said = Vec::new();
    if !left.other_suites.is_empty() {
        let (runs, names) = (runs(&left.other_suites), names(&left.other_suites));
        said.push(format!(
            "{runs} of other suites ({names}); --all-suites shows them"
        ));
    }
    if !left.other_targets.is_empty() {
        said.push(format!(
            "{} against other targets ({})",
            runs(&left.other_targets),
            names(&left.other_targets)
        ));
    }
    if left.earlier > 0 {
        said.push(format!(
            "{} before those that were asked for",
            text::plural(left.earlier, "run")
        ));
    }
    if left.captures > 0 {
        said.push(format!(
            "{} made to capture baselines",
            text::plural(left.captures, "run")
        ));
    }
    if !said.is_empty() && !nothing_shown {
        page.blank()?;
    }
    for words in said {
        page.wrapped(&[plain("  ")], Tone::Dim, &format!("left out: {words}"), 3)?;
    }
    Ok(())
}

/// The sign of an outcome in a row of many.
fn mark(outcome: Outcome, page: &Page) -> &'static str {
    match outcome {
        Outcome::Passed => page.pick("●", "+"),
        Outcome::Failed => page.pick("✗", "x"),
        Outcome::Errored => "!",
        Outcome::Skipped => page.pick("·", "-"),
        Outcome::Pending => "?",
    }
}

/// What the marks mean.
fn legend(page: &mut Page) -> io::Result<()> {
    let words: Vec<String> = Outcome::ALL
        .iter()
        .map(|outcome| format!("{} {outcome}", mark(*outcome, page)))
        .collect();
    page.line(&[plain("  "), span(Tone::Dim, words.join("   "))])
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
