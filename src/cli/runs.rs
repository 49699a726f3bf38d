//! `eval-harness runs`: which runs there are, and how they are removed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::args::{
    CiMode, ListFormat, RunsArgs, RunsPlaceArgs, RunsPruneArgs, RunsRmArgs, RunsVerb,
};
use super::ci::{self, GithubStep};
use super::console::Console;
use super::report::results_dir;
use super::{CliFailure, CliResult, suite};
use crate::gate::ExitCode;
use crate::journal::{self, JournalError};
use crate::report::runs as page;
use crate::run::history::{
    KeptReason, RemovalCandidate, kept, named_runs, removal_candidates, remove, stored_runs, sweep,
};
use crate::view::remove_index;
use eval_base::text::{byte_size, plural};

pub fn runs(console: &Console, args: &RunsArgs) -> CliResult {
    match &args.verb {
        None => list(console, args),
        Some(RunsVerb::Rm(args)) => rm(console, args),
        Some(RunsVerb::Prune(args)) => prune(console, args),
    }
}

fn list(console: &Console, args: &RunsArgs) -> CliResult {
    let place = &args.place;
    let results = results_dir(place.suite.as_deref(), place.output_dir.as_deref())?;
    let last = (!args.all).then_some(args.last);
    let listed = stored_runs(&results, last, suite::cpus());
    listed
        .warnings
        .iter()
        .for_each(|warning| console.warn(warning));
    let mut out = Vec::new();
    match args.format {
        ListFormat::Json => page::json(&listed.runs, &mut out)?,
        ListFormat::Human => {
            if listed.runs.is_empty() {
                console.note(&format!("no runs in {}", results.display()));
            }
            let options = console.terminal_options(false);
            page::write(&listed, Timestamp::now(), &options, &mut out)?;
            out = ci::for_log(GithubStep::of(CiMode::Auto).as_ref(), out);
        }
    }
    console.result(&out)?;
    Ok(ExitCode::Pass)
}

/// A results folder of which runs are to be removed.
struct RemovalFolder {
    results: PathBuf,
    /// Folders whose files may name runs.
    roots: Vec<PathBuf>,
    /// Open, and locked, until the end; not where nothing is removed.
    _lock: Option<fs::File>,
}

impl RemovalFolder {
    /// # Errors
    /// When the suite does not load: its folders are then unknown.
    fn open(place: &RunsPlaceArgs, dry_run: bool) -> Result<RemovalFolder, CliFailure> {
        let path = match &place.suite {
            Some(path) => Some(path.clone()),
            None => suite::suite_path(None).ok(),
        };
        let plan = match path {
            Some(path) => Some(suite::listed(path.clone())?.ok_or_else(|| {
                let path = path.display();
                CliFailure::wrong(format!(
                    "{path} does not load, so the runs that its files refer to are unknown; nothing was removed"
                ))
                .hint(format!("`eval-harness validate --suite {path}` shows why"))
            })?),
            None => None,
        };
        let results = match (&place.output_dir, &plan) {
            (Some(dir), _) => dir.clone(),
            (None, Some(plan)) => plan.reporting.output_dir.clone(),
            (None, None) => results_dir(None, None)?,
        };
        if !results.exists() {
            return Err(JournalError::NoRuns { dir: results }.into());
        }
        let lock = match dry_run {
            true => None,
            false => Some(journal::lock_results(&results).map_err(CliFailure::incomplete)?),
        };
        let real = fs::canonicalize(&results).unwrap_or_else(|_| results.clone());
        let project = real.ancestors().find(|dir| dir.join(".git").exists());
        let project = project.or(real.parent()).unwrap_or(Path::new("."));
        let mut roots = vec![project.to_owned()];
        if let Some(plan) = &plan {
            let folders = [&plan.suite.root, &plan.suite.dir, &plan.baselines.dir];
            roots.extend(folders.into_iter().filter(|dir| dir.exists()).cloned());
        }
        Ok(RemovalFolder {
            results,
            roots,
            _lock: lock,
        })
    }

    fn candidates(&self) -> Result<Vec<RemovalCandidate>, CliFailure> {
        let named = named_runs(&self.roots, &self.results).map_err(|(path, error)| {
            CliFailure::incomplete(format!(
                "cannot read {}, which may refer to runs: {error}; nothing was removed",
                path.display()
            ))
        })?;
        removal_candidates(&self.results, &named).map_err(CliFailure::incomplete)
    }

    /// The run that is meant, by its id or by the path of its journal.
    fn find(&self, run: &str, all: &[RemovalCandidate]) -> Result<String, CliFailure> {
        let given = Path::new(run);
        if given.is_file() {
            let real = fs::canonicalize(given)?;
            let is_it = |one: &&RemovalCandidate| {
                fs::canonicalize(one.paths.journal()).is_ok_and(|journal| journal == real)
            };
            let found = all.iter().find(is_it).map(|one| one.paths.run_id.clone());
            return found.ok_or_else(|| {
                let results = self.results.display();
                CliFailure::wrong(format!("{run} is not the journal of a run in {results}"))
                    .hint("remove a copied journal as any other file")
            });
        }
        Ok(journal::find_run(&self.results, run)?.run_id)
    }

    /// Removes runs, or only lists them.
    fn remove(&self, console: &Console, runs: &[&RemovalCandidate], dry_run: bool) -> CliResult {
        let total: u64 = runs.iter().map(|run| run.bytes).sum();
        let mut freed = 0;
        for (done, run) in runs.iter().enumerate() {
            let id = &run.paths.run_id;
            if !dry_run {
                remove(&run.paths).map_err(|error| {
                    CliFailure::incomplete(format!("cannot remove run {id}: {error}")).hint(
                        format!(
                            "{done} of {} were removed ({})",
                            plural(runs.len(), "run"),
                            byte_size(freed)
                        ),
                    )
                })?;
            }
            freed += run.bytes;
            console.result(format!("{id}  {}\n", byte_size(run.bytes)).as_bytes())?;
        }
        let is_any = !runs.is_empty();
        let verb = if dry_run { "would remove" } else { "removed" };
        let runs = plural(runs.len(), "run");
        console.note(&format!("{verb} {runs} ({})", byte_size(total)));
        if !dry_run {
            sweep(&self.results).map_err(|error| {
                CliFailure::incomplete(format!(
                    "cannot remove the remaining files of an earlier removal in {}: {error}",
                    self.results.display()
                ))
            })?;
        }
        if !dry_run && is_any {
            // It has texts of the removed runs.
            remove_index(&self.results).map_err(|error| {
                CliFailure::incomplete(format!(
                    "cannot remove the index of `view` in {}: {error}",
                    self.results.display()
                ))
            })?;
        }
        Ok(ExitCode::Pass)
    }
}

fn rm(console: &Console, args: &RunsRmArgs) -> CliResult {
    let folder = RemovalFolder::open(&args.place, args.dry_run)?;
    let all = folder.candidates()?;
    let mut wanted = BTreeSet::new();
    for run in &args.runs {
        wanted.insert(folder.find(run, &all)?);
    }
    let reasons = kept(&all, &wanted);
    if let Some((run, reason)) = reasons.first_key_value() {
        let others = match reasons.len() - 1 {
            0 => String::new(),
            more => format!("; {} can't be removed either", plural(more, "more run")),
        };
        let failure = CliFailure::wrong(format!(
            "run {run} can't be removed: {reason}{others}; nothing was removed"
        ));
        return Err(match reason {
            KeptReason::GradedBy(_) | KeptReason::ShardOf(_) => {
                failure.hint("remove both in one command")
            }
            _ => failure,
        });
    }
    let gone = all.iter().filter(|run| wanted.contains(&run.paths.run_id));
    folder.remove(console, &gone.collect::<Vec<_>>(), args.dry_run)
}

fn prune(console: &Console, args: &RunsPruneArgs) -> CliResult {
    let folder = RemovalFolder::open(&args.place, args.dry_run)?;
    let all = folder.candidates()?;
    let limit = args
        .older_than
        .map(|age| Timestamp::now().as_second().saturating_sub(age.0));
    let mut newest = HashSet::new();
    let mut wanted = BTreeSet::new();
    for run in all.iter().rev() {
        // A journal without a readable beginning is no result, so it counts for none.
        if run.has_beginning {
            newest.insert(run.group());
        }
        let newer = newest.len() - usize::from(run.has_beginning);
        let is_new = args.keep.is_some_and(|keep| newer < keep);
        // The age of a run that does not say when it began is not known.
        let is_young =
            limit.is_some_and(|limit| run.began.is_none_or(|began| began.as_second() > limit));
        if !is_new && !is_young && !run.unreadable {
            wanted.insert(run.paths.run_id.clone());
        }
    }
    let reasons: BTreeMap<String, KeptReason> = kept(&all, &wanted);
    let gone = all.iter().filter(|run| {
        let id = &run.paths.run_id;
        wanted.contains(id) && !reasons.contains_key(id)
    });
    let gone: Vec<&RemovalCandidate> = gone.collect();
    for (run, reason) in &reasons {
        console.note(&format!("kept {run}: {reason}"));
    }
    folder.remove(console, &gone, args.dry_run)
}
