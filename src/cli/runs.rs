//! `eval-harness runs`: which runs there are, and how they are removed.

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::args::{ListFormat, RunsArgs, RunsPlaceArgs, RunsPruneArgs, RunsRmArgs, RunsVerb};
use super::cache::bytes;
use super::console::Console;
use super::report::results_dir;
use super::{CliFailure, CliResult, suite};
use crate::gate::ExitCode;
use crate::journal::{self, RunPaths};
use crate::run::history::{StoredRun, is_running, remove, stored_runs};
use eval_base::text::{group_digits, plural};

pub fn runs(console: &Console, args: &RunsArgs) -> CliResult {
    match &args.verb {
        None => list(console, args),
        Some(RunsVerb::Rm(args)) => rm(console, args),
        Some(RunsVerb::Prune(args)) => prune(console, args),
    }
}

fn folder(place: &RunsPlaceArgs) -> Result<PathBuf, CliFailure> {
    results_dir(place.suite.as_deref(), place.output_dir.as_deref())
}

fn read(console: &Console, results: &Path, last: Option<usize>) -> Vec<StoredRun> {
    let (stored, warnings) = stored_runs(results, last, suite::cpus());
    warnings.iter().for_each(|warning| console.warn(warning));
    stored
}

fn list(console: &Console, args: &RunsArgs) -> CliResult {
    let results = folder(&args.place)?;
    let last = (!args.all).then_some(args.last);
    let stored = read(console, &results, last);
    let hidden = journal::list_runs(&results).len() - stored.len();
    let mut out = Vec::new();
    match args.format {
        ListFormat::Json => page::json(&stored, &mut out)?,
        ListFormat::Human => {
            if stored.is_empty() {
                console.note(&format!("no runs in {}", results.display()));
            }
            let options = console.terminal_options(false);
            page::write(&stored, hidden, Timestamp::now(), &options, &mut out)?;
        }
    }
    console.result(&out)?;
    Ok(ExitCode::Pass)
}

/// Why runs may not be removed, by their ids.
fn protected(
    results: &Path,
    suite: Option<&Path>,
    stored: &[&RunPaths],
) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    for paths in stored {
        if is_running(paths) {
            reasons.insert(paths.run_id.clone(), "it is running".to_owned());
        }
    }
    for (file, text) in scores(results, suite) {
        for paths in stored.iter().filter(|paths| text.contains(&paths.run_id)) {
            let reason = format!("the scores in {} were captured from it", file.display());
            reasons.insert(paths.run_id.clone(), reason);
        }
    }
    if let Some(latest) = stored.last() {
        reasons.insert(latest.run_id.clone(), "it is the latest run".to_owned());
    }
    reasons
}

/// The score baselines of the project that the results belong to, with their texts.
fn scores(results: &Path, given: Option<&Path>) -> Vec<(PathBuf, String)> {
    let root = results.parent().unwrap_or(Path::new("."));
    let mut found = Vec::new();
    let mut folders = vec![root.join("baselines"), root.join("evals/baselines")];
    if let Ok(path) = suite::suite_path(given)
        && let Ok(Some(plan)) = suite::listed(path)
    {
        folders.push(plan.baselines.dir);
    }
    let folders: BTreeSet<PathBuf> = folders.into_iter().collect();
    for folder in folders {
        let files = std::fs::read_dir(folder.join("scores"))
            .into_iter()
            .flatten()
            .flatten();
        for path in files.map(|file| file.path()) {
            if let Ok(text) = eval_base::files::read_text(&path) {
                found.push((path, text));
            }
        }
    }
    found
}

fn rm(console: &Console, args: &RunsRmArgs) -> CliResult {
    let results = folder(&args.place)?;
    let all = journal::list_runs(&results);
    let ids: Vec<&RunPaths> = all.iter().collect();
    let reasons = protected(&results, args.place.suite.as_deref(), &ids);
    let mut chosen = Vec::new();
    for run in &args.runs {
        let paths = journal::find_run(&results, run)?;
        if let Some(reason) = reasons.get(&paths.run_id) {
            return Err(CliFailure::wrong(format!("run {run} is kept: {reason}")));
        }
        if !all.contains(&paths) {
            return Err(
                CliFailure::wrong(format!("{run} is not in {}", results.display()))
                    .hint("remove a copied journal as any other file"),
            );
        }
        chosen.push(paths);
    }
    removed(console, &chosen)
}

fn prune(console: &Console, args: &RunsPruneArgs) -> CliResult {
    let results = folder(&args.place)?;
    let stored = read(console, &results, None);
    let ids: Vec<&RunPaths> = stored.iter().map(|run| &run.paths).collect();
    let reasons = protected(&results, args.place.suite.as_deref(), &ids);
    let mut kept: BTreeSet<String> = reasons.into_keys().collect();
    let newest = stored.len().saturating_sub(args.keep.unwrap_or(0));
    let limit = args
        .older_than
        .map(|age| Timestamp::now().as_second() - age.0);
    for (at, run) in stored.iter().enumerate() {
        let began = run.run.as_ref().map(|run| run.identity.timestamp.as_str());
        let began = began.and_then(|time| time.parse::<Timestamp>().ok());
        // The age of a run that can't be read is not known: only its place counts.
        let young = limit.is_some_and(|limit| began.is_none_or(|at| at.as_second() > limit));
        if at >= newest || young {
            kept.insert(run.paths.run_id.clone());
        }
    }
    // The newest come last, and a regrade is newer than what it graded.
    for run in stored.iter().rev().filter_map(|run| run.run.as_ref()) {
        if let Some(graded) = &run.identity.regrade_of
            && kept.contains(&run.identity.run_id)
        {
            kept.insert(graded.clone());
        }
    }
    let gone: Vec<RunPaths> = stored
        .iter()
        .filter(|run| !kept.contains(&run.paths.run_id))
        .map(|run| run.paths.clone())
        .collect();
    if args.dry_run {
        let freed: u64 = stored
            .iter()
            .filter(|run| !kept.contains(&run.paths.run_id))
            .map(|run| run.bytes)
            .sum();
        for run in &gone {
            console.result(format!("{}\n", run.run_id).as_bytes())?;
        }
        let runs = plural(gone.len(), "run");
        console.note(&format!("would remove {runs} ({})", bytes(freed)));
        return Ok(ExitCode::Pass);
    }
    removed(console, &gone)
}

fn removed(console: &Console, runs: &[RunPaths]) -> CliResult {
    let mut freed = 0;
    for (done, run) in runs.iter().enumerate() {
        freed += remove(run).map_err(|error| {
            CliFailure::incomplete(format!("cannot remove run {}: {error}", run.run_id)).hint(
                format!(
                    "{} of {} were removed",
                    group_digits(done),
                    plural(runs.len(), "run")
                ),
            )
        })?;
    }
    console.note(&format!(
        "removed {} ({})",
        plural(runs.len(), "run"),
        bytes(freed)
    ));
    Ok(ExitCode::Pass)
}
