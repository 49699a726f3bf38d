//! The run before another one.

use std::path::Path;

use super::side::OppositeSide;
use crate::cli::CliFailure;
use crate::cli::console::Console;
use crate::journal::{self, RunPaths};
use crate::model::RunStarted;

/// The latest run of the same suite and target that began before `beside`; without one that began,
/// the latest of all. Runs that captured baselines are none, nor are shards, nor those with other
/// filters than `beside`, which may lack whatever got worse, nor the run whose outputs `beside`
/// grades again.
pub fn previous(
    console: &Console,
    results: &Path,
    beside: &OppositeSide,
) -> Result<Option<RunPaths>, CliFailure> {
    let runs = journal::list_runs(results);
    let own = runs
        .iter()
        .position(|run| Some(&run.run_id) == beside.run_id.as_ref());
    let mut same_outputs = beside.regrade_of.clone();
    for (at, run) in runs.iter().enumerate().rev() {
        if Some(&run.run_id) == beside.run_id.as_ref() {
            continue;
        }
        let started = match journal::started(&run.journal()) {
            Ok(started) => started,
            Err(error) => {
                console.warn(&format!("{error}; it is passed over"));
                continue;
            }
        };
        let earlier = match &beside.timestamp {
            None => true,
            Some(began) if started.run.timestamp == *began => own.is_some_and(|own| at < own),
            Some(began) => started.run.timestamp < *began,
        };
        let is_source = same_outputs.as_ref() == Some(&started.run.run_id);
        if is_source || same_outputs.is_some() && started.run.regrade_of == same_outputs {
            // A regrade of a regrade: all of them have the outputs of one run.
            same_outputs = started
                .run
                .regrade_of
                .filter(|_| is_source)
                .or(same_outputs);
        } else if earlier && is_like(&started, beside) {
            return Ok(Some(run.clone()));
        }
    }
    Ok(None)
}

fn is_like(started: &RunStarted, beside: &OppositeSide) -> bool {
    started.run.suite_name == beside.suite
        && started.run.environment.target == beside.target
        && !started.capture
        && started.run.shard.is_none()
        && (started.run.filters.is_empty() || started.run.filters == beside.filters)
}
