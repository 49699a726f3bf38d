//! `eval-harness review`: outputs of a run, rated by a person.

mod page;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::args::RunReviewArgs;
use super::console::Console;
use super::report::results_dir;
use super::{CliFailure, CliResult, suite};
use crate::gate::ExitCode;
use crate::journal;
use crate::load::project_root;
use crate::model::RunStarted;
use crate::ratings::{RatingStore, store_dir};
use crate::review::{self, ReviewError, ReviewQueue, ReviewSession, SessionOptions};
use crate::review_page::SessionOpener;
use crate::run::harness_version;
use eval_base::clock::SystemClock;
use eval_base::text::{one_line, plural};

/// Problems of the reviews that are listed.
const SHOWN_PROBLEMS: usize = 5;

pub fn review(console: &Console, args: &RunReviewArgs) -> CliResult {
    if !args.import.is_empty() {
        return page::take_back(console, args);
    }
    let first = args.reviewers.first().map(String::as_str);
    let name = reviewer(args.reviewer.as_deref().or(first))?;
    let session = opened(console, args, &name, args.queue)?;
    if let Some(address) = args.serve {
        return page::serve(console, args, address, session);
    }
    if session.is_empty() {
        console.note(&format!(
            "there is nothing to review for {} in run {}; `--queue all` offers every output",
            one_line(session.reviewer()),
            session.run()
        ));
        return Ok(ExitCode::Pass);
    }
    match &args.export {
        Some(path) => page::write_page(console, args, path, &session),
        None if args.cli => terminal::review(console, session),
        None => page::page(console, args, session),
    }
}

/// What opens the session of a reviewer of the run that the arguments name.
fn opener(args: &RunReviewArgs, queue: ReviewQueue) -> Result<SessionOpener, CliFailure> {
    let results = results_dir(
        args.place.suite.as_deref(),
        args.place.output_dir.as_deref(),
    )?;
    let paths = journal::find_run(&results, &args.run)?;
    let started = journal::started(&paths.journal())?;
    let root = root(args.place.suite.as_deref(), &started)?;
    let store = store_dir(&root, &started.run.suite_name);
    // `latest` may be another run later.
    let run = match args.run.as_str() {
        "latest" => paths.run_id,
        named => named.to_owned(),
    };
    let beside = args.beside.clone();
    let blind = args.blind.then_some(true);
    let (seed, repeats) = (args.seed, args.repeats);
    Ok(Box::new(move |reviewer: &str| {
        ReviewSession::open(SessionOptions {
            results: results.clone(),
            run: run.clone(),
            beside: beside.clone(),
            store: store.clone(),
            reviewer: reviewer.to_owned(),
            queue,
            blind,
            seed,
            repeats,
            clock: Arc::new(SystemClock),
            tool: harness_version().to_owned(),
        })
    }))
}

/// The session of a reviewer; says what it leaves out.
fn opened(
    console: &Console,
    args: &RunReviewArgs,
    reviewer: &str,
    queue: ReviewQueue,
) -> Result<ReviewSession, CliFailure> {
    let session = opener(args, queue)?(reviewer);
    let session = session.map_err(failure)?;
    for problem in session.problems().iter().take(SHOWN_PROBLEMS) {
        console.warn(&problem.to_string());
    }
    if session.problems().len() > SHOWN_PROBLEMS {
        let more = plural(session.problems().len() - SHOWN_PROBLEMS, "more line");
        console.warn(&format!("{more} of the reviews can't be read"));
    }
    if session.private_samples() > 0 {
        let outputs = plural(session.private_samples(), "output");
        console.note(&format!("{outputs} of a private dataset not shown"));
    }
    Ok(session)
}

/// Says how many grades of a run have changed by ratings that came later.
pub fn say_newer(
    console: &Console,
    suite: Option<&Path>,
    journal: &Path,
) -> Result<(), CliFailure> {
    let started = journal::started(journal)?;
    let root = root(suite, &started)?;
    let store = RatingStore::read(&store_dir(&root, &started.run.suite_name));
    // A report does not depend on the reviews.
    let Ok(store) = store else { return Ok(()) };
    let changed = review::changed_grades(journal, &store).map_err(failure)?;
    if changed > 0 {
        let run = &started.run.run_id;
        let grades = plural(changed, "grade");
        let verb = if changed == 1 { "has" } else { "have" };
        console.note(&format!(
            "{grades} by people {verb} changed since: `eval-harness regrade --people --run {run}`"
        ));
    }
    Ok(())
}

pub(super) fn failure(error: ReviewError) -> CliFailure {
    let failure = match &error {
        ReviewError::Ratings(_) | ReviewError::Random(_) => CliFailure::incomplete(&error),
        _ => CliFailure::wrong(&error),
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The project of the suite: where its reviews are.
pub(super) fn root(suite: Option<&Path>, started: &RunStarted) -> Result<PathBuf, CliFailure> {
    let here = suite::cwd()?;
    let path = match suite {
        Some(path) => here.join(path),
        None => {
            // A project that was moved goes on from here.
            let there = started
                .cwd
                .as_deref()
                .map(|dir| dir.join(&started.suite_path));
            there
                .filter(|path| path.is_file())
                .unwrap_or_else(|| here.join(&started.suite_path))
        }
    };
    let dir = path.parent().filter(|dir| dir.is_dir()).unwrap_or(&here);
    Ok(project_root(dir))
}

/// As given, or as git or the system names the user.
fn reviewer(given: Option<&str>) -> Result<String, CliFailure> {
    if let Some(name) = given {
        return Ok(name.to_owned());
    }
    let git = Command::new("git")
        .args(["config", "user.name"])
        .output()
        .ok();
    let git = git.filter(|out| out.status.success());
    let git = git.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    let user = || std::env::var("USER").ok();
    git.filter(|name| !name.is_empty())
        .or_else(user)
        .filter(|name| !name.trim().is_empty())
        .ok_or_else(|| {
            CliFailure::wrong("the name of the reviewer is not known").hint("pass it with --as")
        })
}
