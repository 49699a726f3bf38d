//! The runs behind the sides of a comparison, read for its HTML page: what was given, what came
//! back, and why it was graded so.

use std::path::{Path, PathBuf};

use crate::cli::console::Console;
use crate::cli::report::page_of;
use crate::model::Comparisons;
use crate::report::html::{ComparedRun, ComparedRuns, flipped_cases};
use crate::report::page_address;
use crate::run;
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
    let listed = flipped_cases(comparisons);
    let takes = |eval: &str, case: &str| listed.contains(&(eval, case));
    let mut sides = journals.iter().map(|journals| {
        let evals = journals
            .iter()
            .map(|journal| run::reported_cases(journal, takes));
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
