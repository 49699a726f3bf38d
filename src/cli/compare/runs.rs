//! The runs behind the sides of a comparison, read for its HTML page: what was given, what came
//! back, and why it was graded so.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::cli::console::Console;
use crate::cli::report::page_of;
use crate::journal::{self, JournalError, RunPaths};
use crate::model::{Comparisons, EvalResult};
use crate::report::comparison::words::FlipKind;
use crate::report::html::{ComparedRun, ComparedRuns};
use crate::report::page_address;
use crate::run::{self, RunError};
use eval_base::text::one_line;

/// Reads the cases that the page lists, of each side whose journals are at hand. `journals` are
/// those of the reference, then of each candidate; `output` is the file of the page, from which it
/// links to the pages of the runs.
///
/// The scores were read before: what can't be read now costs the page its details, not its verdict.
pub fn read(
    console: &Console,
    comparisons: &Comparisons,
    journals: &[Vec<PathBuf>],
    output: Option<&Path>,
) -> ComparedRuns {
    let kinds = FlipKind::ALL.into_iter();
    let lists = kinds.flat_map(|kind| {
        let candidates = comparisons.candidates.iter();
        candidates.map(move |candidate| kind.of(&candidate.cases))
    });
    let flips = lists.flat_map(|list| &list.cases);
    let listed: HashSet<(&str, &str)> = flips
        .map(|flip| (flip.eval_id.as_str(), flip.case_id.as_str()))
        .collect();
    let takes = |eval: &str, case: &str| listed.contains(&(eval, case));
    let mut sides = journals.iter().map(|journals| {
        let evals = journals.iter().map(|journal| cases(journal, takes));
        let evals: Result<Vec<_>, _> = evals.collect();
        let evals = evals.unwrap_or_else(|error| {
            console.warn(&format!(
                "the page shows no outputs of this run: {}",
                one_line(&error.to_string())
            ));
            Vec::new()
        });
        let page = match journals.as_slice() {
            [journal] => output
                .and_then(|file| page_address(file.parent().unwrap_or(file), &page_of(journal))),
            _ => None,
        };
        ComparedRun {
            evals: evals.into_iter().flatten().collect(),
            page,
        }
    });
    ComparedRuns {
        reference: sides.next().unwrap_or_default(),
        candidates: sides.collect(),
    }
}

fn cases(journal: &Path, takes: impl Fn(&str, &str) -> bool) -> Result<Vec<EvalResult>, RunError> {
    let sessions = journal::sessions(journal)?;
    let last = sessions.last();
    if last.is_some_and(|session| !session.config.include_details) {
        // The suite keeps inputs and outputs out of reports.
        return Ok(Vec::new());
    }
    let paths = paths_of(journal)?;
    Ok(run::cases_of(&paths, takes)?.evals)
}

fn paths_of(journal: &Path) -> Result<RunPaths, JournalError> {
    match RunPaths::of_journal(journal) {
        Some(paths) => Ok(paths),
        None => journal::find_run(Path::new(""), &journal.to_string_lossy()),
    }
}
