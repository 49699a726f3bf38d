//! `eval-harness compare`.

mod metrics;
mod places;
mod previous;
mod runs;
mod side;

use std::io::Write;

use super::args::{CiMode, CompareArgs, CompareFormat};
use super::ci::{self, GithubStep};
use super::console::Console;
use super::{CliFailure, CliResult};
use crate::gate::{self, ExitCode};
use crate::model::Comparisons;
use crate::report::comparison as page;
use crate::report::html::{self, ComparedRuns};
use crate::report::{ReportError, TerminalOptions};
use crate::run;
use crate::summary::compare::{self as engine, CompareSettings, ComparisonError};
use eval_base::whole_file::write_whole;

pub use places::ProjectLocator;
pub use previous::previous;
use side::NamedSides;
pub use side::{OppositeSide, SideResolver, is_of_run};

/// Cases of each kind that are listed: all, as far as anybody may want to read them.
const LISTED: usize = usize::MAX;

pub fn compare(console: &Console, args: &CompareArgs) -> CliResult {
    let places = ProjectLocator::new(args.suite.as_deref(), args.output_dir.as_deref())?;
    let words = SideResolver {
        console,
        places: &places,
        target: args.target.as_deref(),
    };
    let candidates = match args.candidates.as_slice() {
        [] => vec!["latest".to_owned()],
        named => named.to_vec(),
    };
    let NamedSides {
        reference,
        candidates,
        journals,
        warnings,
    } = words.sides(&args.reference, &candidates)?;
    let mut settings = CompareSettings {
        by: args.by.clone(),
        effect: args.effect,
        resamples: args.resamples,
        listed: LISTED,
        allow_changed: args.allow_changed,
        ..CompareSettings::default()
    };
    let recorded = || {
        let (reference, candidates) = journals.split_first()?;
        run::recorded_seed(candidates.iter().flatten().chain(reference))
    };
    if let Some(seed) = args.seed.or_else(recorded) {
        settings.seed = seed;
    }
    let candidates: Vec<_> = candidates.iter().collect();
    if !args.metrics.is_empty() {
        let sides = candidates.iter().copied().chain([&reference]);
        settings.metrics = metrics::named(&args.metrics, sides)?;
    }
    let compared = match engine::compare(&reference, &candidates, &settings) {
        Ok(compared) => compared,
        // Shown all the same, so that every format has its document and other candidates have their
        // verdicts.
        Err(error @ ComparisonError::NoSharedCase { .. }) => {
            console.warn(&error.to_string());
            console.hint(error.hint().as_deref());
            engine::compare_anyway(&reference, &candidates, &settings)
                .map_err(|error| incomparable(&error))?
        }
        Err(error) => return Err(incomparable(&error)),
    };
    let comparisons = gate::decided_comparisons(args.fail_on, compared, &warnings);
    let runs = match args.format {
        CompareFormat::Html => runs::read(console, &comparisons, &journals, args.output.as_deref()),
        _ => ComparedRuns::default(),
    };
    show(console, args, &comparisons, &runs)?;
    Ok(ExitCode::of(comparisons.decision, false))
}

/// Sides that can't be compared: the words of the command line are wrong.
pub fn incomparable(error: &ComparisonError) -> CliFailure {
    let failure = CliFailure::wrong(error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn show(
    console: &Console,
    args: &CompareArgs,
    comparisons: &Comparisons,
    runs: &ComparedRuns,
) -> Result<(), CliFailure> {
    if let Some(file) = &args.output {
        let options = TerminalOptions {
            verbose: args.verbose,
            ..TerminalOptions::default()
        };
        let written = write_whole(file, |out| {
            render(args.format, comparisons, runs, &options, out)
        });
        return written.map_err(|error| {
            CliFailure::incomplete(format!("cannot write {}: {error}", file.display()))
        });
    }
    let mut out = Vec::new();
    let options = console.terminal_options(args.verbose);
    render(args.format, comparisons, runs, &options, &mut out).map_err(CliFailure::incomplete)?;
    // What people read; other formats stay whole.
    if !matches!(args.format, CompareFormat::Json | CompareFormat::Html) {
        out = ci::for_log(GithubStep::of(CiMode::Auto).as_ref(), out);
    }
    Ok(console.result(&out)?)
}

fn render(
    format: CompareFormat,
    comparisons: &Comparisons,
    runs: &ComparedRuns,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    match format {
        CompareFormat::Human => Ok(page::terminal(comparisons, options, out)?),
        CompareFormat::Json => page::json(comparisons, out),
        CompareFormat::Markdown => page::markdown(comparisons, out),
        CompareFormat::Html => html::comparison(comparisons, runs, out),
        CompareFormat::Comment => page::comment(comparisons, out),
    }
}
