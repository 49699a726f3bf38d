//! `eval-harness baseline`: its verbs, one file each, and what they share.

mod accept;
mod accept_output;
mod candidates;
mod capture;
mod diff;
mod inventory;
mod keep;
mod list;
mod outputs;
mod pending;
mod prune;
mod reject;
mod review;
mod scores;
mod shown;

use std::path::Path;

use super::args::{BaselineVerb, OfSuiteArgs};
use super::console::Console;
use super::{CliFailure, CliResult, ci, suite};
use crate::baseline::StoreError;
use crate::load::{self, LoadOverrides, LoadRequest, PlanPurpose, SuiteOverview, render};
use crate::report::page::{PageTable, StyledText, TableColumn, TableRow, outside};
use eval_base::globs::IdGlobs;
use eval_base::text::{plural, sanitize};

pub use accept_output::accept_output;
pub(super) use capture::{block_on, looking_graders};
pub(super) use outputs::{CaseAnswers, of_run};
pub(super) use shown::text_lines;

pub fn baseline(console: &Console, verb: &BaselineVerb) -> CliResult {
    match verb {
        BaselineVerb::Capture(args) if args.scores => scores::capture(console, args),
        BaselineVerb::Capture(args) => capture::capture(console, args),
        BaselineVerb::Diff(args) if args.scores => scores::diff(console, args),
        BaselineVerb::Diff(args) => diff::diff(console, args),
        BaselineVerb::Review(args) => review::review(console, args),
        BaselineVerb::Accept(args) if args.scores => scores::accept(console, &args.of, args.force),
        BaselineVerb::Accept(args) => accept::accept(console, args),
        BaselineVerb::Reject(args) if args.scores => scores::reject(console, &args.of),
        BaselineVerb::Reject(args) => reject::reject(console, args),
        BaselineVerb::List(args) => list::list(console, args),
        BaselineVerb::Prune(args) => prune::prune(console, args),
    }
}

fn refuse_in_ci(verb: &str) -> Result<(), CliFailure> {
    ci::refuse(&format!("baseline {verb}"), "baselines")
}

/// What the store could not do: a lock or a disk that was not to be had leaves it undecided, a file
/// that is wrong is wrong.
fn failure(error: StoreError) -> CliFailure {
    let failure = match &error {
        StoreError::Busy { .. } | StoreError::Io { .. } => CliFailure::incomplete(&error),
        _ => CliFailure::wrong(&error),
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A path as people read it: from where they stand.
pub(in crate::cli) fn relative(path: &Path) -> String {
    let shown = std::env::current_dir()
        .ok()
        .and_then(|cwd| path.strip_prefix(cwd).ok().map(Path::to_owned));
    sanitize(&shown.unwrap_or_else(|| path.to_owned()).to_string_lossy()).into_owned()
}

const NOTHING: &str = "nothing is pending";

/// A row for each baseline: what was done, to which one, and its file.
fn decisions() -> PageTable {
    PageTable::new(["", "", ""].map(TableColumn::left))
}

fn decision(word: &'static str, id: &str, path: &str, note: StyledText) -> TableRow {
    TableRow {
        cells: vec![word.into(), outside(id), outside(path)],
        note,
    }
}

/// Evals by their ids.
fn id_globs(patterns: &[String]) -> Result<IdGlobs, CliFailure> {
    IdGlobs::new(patterns)
        .map_err(|error| CliFailure::wrong(format!("`{}` is not a glob: {error}", error.pattern)))
}

/// What a suite says of itself; its evals are not looked at.
fn overview(console: &Console, of: &OfSuiteArgs) -> Result<SuiteOverview, CliFailure> {
    let request = LoadRequest {
        suite: suite::suite_path(of.suite.as_deref())?,
        purpose: PlanPurpose::List,
        overrides: LoadOverrides {
            vars: of.vars.clone(),
            gateless: true,
            without_store: true,
            ..LoadOverrides::default()
        },
        env: suite::environment(),
        cwd: suite::cwd()?,
        cpus: 1,
        ..LoadRequest::default()
    };
    let load::LoadedOverview {
        suite,
        problems,
        sources,
    } = load::overview(&request);
    suite.ok_or_else(|| {
        console.note(render::human(&problems, &sources, suite::human_options(console)).trim_end());
        CliFailure::wrong(format!(
            "{} in the suite; nothing was changed",
            plural(problems.error_count(), "problem")
        ))
    })
}
