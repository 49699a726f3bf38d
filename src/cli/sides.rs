//! `eval-harness run` on several targets: a run on each, one after the other, and a report that
//! puts them side by side.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::args::RunArgs;
use super::ci::{self, GithubStep};
use super::console::Console;
use super::run::{ReadyRun, conclude_with};
use super::{CliFailure, CliResult, list, resume, suite};
use crate::gate::ExitCode;
use crate::model::{ReportFormat, Summary};
use crate::report::page::{Page, PageBlock, outside, text};
use crate::report::sides::RunSides;
use crate::run::FinishedRun;
use eval_base::text::one_line;
use eval_models::ModelSpending;

/// Runs the plan on each target. Every target's plan is loaded and checked before any of them runs.
pub fn run(console: &Console, args: &RunArgs, words: &[String]) -> CliResult {
    let mut seen = BTreeSet::new();
    let targets: Vec<&String> = args
        .suite
        .target
        .iter()
        .filter(|target| seen.insert(*target))
        .collect();
    if args.since.is_some() && targets.len() > 1 {
        return Err(CliFailure::wrong(
            "`--since` names the run of one target, but several are selected",
        )
        .hint("without it, the latest run of each target is reused"));
    }
    let mut ready = Vec::with_capacity(targets.len());
    for target in targets {
        let mut words = resume::without(words.to_vec(), "--target");
        words.extend(["--target".to_owned(), target.clone()]);
        let own = resume::parse(&words).map_err(|error| CliFailure::wrong(error.to_string()))?;
        ready.push((ReadyRun::of(console, &own, words, None)?, own, target));
    }
    if args.dry_run {
        let mut page = Page::default();
        for (ready, _, target) in &ready {
            page.section(text!["Target ", outside(target)]);
            let planned = list::planned(
                &ready.prepared,
                ready.compared.as_deref(),
                ready.changed.as_deref(),
            )?;
            page.blocks.extend(planned.blocks);
        }
        page.push(PageBlock::Gap);
        page.lead(list::NOTHING_RUN);
        console.page(&page)?;
        return Ok(ExitCode::Pass);
    }
    let mut codes = Vec::new();
    let mut finished: Vec<FinishedRun> = Vec::new();
    let mut formats = Vec::new();
    // One budget was asked for, not one for each.
    let mut spent = ModelSpending::default();
    for (ready, own, target) in ready {
        if !args.session.quiet {
            console.note(&format!("target {}", one_line(target)));
        }
        let models = Arc::clone(ready.prepared.targets.models());
        models.spent_before(spent);
        let (done, after) = match ready.drive(console, &own) {
            Ok(done) => done,
            Err(failure) if finished.is_empty() => return Err(failure),
            // What the targets before it came to stands, and is shown.
            Err(failure) => {
                console.error(&failure.message, failure.hint.as_deref());
                codes.push(failure.code);
                break;
            }
        };
        spent = models.spent();
        drop(models);
        let code = conclude_with(console, &own, &done, &after, args.session.verbose)?;
        codes.push(code);
        // All of them are of one suite and one command line.
        formats = after.formats().to_vec();
        finished.push(done);
        if code == ExitCode::Interrupted {
            break;
        }
    }
    let mut worst = ExitCode::gravest(&codes);
    if finished.len() > 1 {
        let untold = show(console, args, &finished, &formats)?;
        if untold && matches!(worst, ExitCode::Pass | ExitCode::Pending) {
            worst = ExitCode::Incomplete;
        }
    }
    Ok(worst)
}

/// Writes and shows the runs side by side; true when a file could not be written.
fn show(
    console: &Console,
    args: &RunArgs,
    finished: &[FinishedRun],
    formats: &[ReportFormat],
) -> Result<bool, CliFailure> {
    let summaries: Vec<&Summary> = finished.iter().map(|run| &run.summary).collect();
    let sides = RunSides::of(summaries).map_err(CliFailure::incomplete)?;
    let (written, failed) = match finished.first() {
        Some(first) => sides.write_files(&first.paths, formats),
        None => Default::default(),
    };
    failed
        .iter()
        .for_each(|message| console.error(message, None));
    if !args.session.events {
        let mut page = Vec::new();
        match args.session.quiet {
            true => {
                for run in finished {
                    let target = one_line(&run.summary.metadata.environment.target);
                    let line = format!("{target}: {}\n", run.summary.gate.decision.name());
                    page.extend_from_slice(line.as_bytes());
                }
            }
            false => {
                sides.render(&console.terminal_options(args.session.verbose), &mut page)?;
                page.extend_from_slice(paths(console, &written)?.as_bytes());
            }
        }
        console.result(&ci::for_log(
            GithubStep::of(args.session.ci.mode).as_ref(),
            page,
        ))?;
    }
    Ok(!failed.is_empty())
}

/// Where the reports are, for people.
fn paths(console: &Console, written: &[PathBuf]) -> Result<String, CliFailure> {
    let cwd = suite::cwd()?;
    let line = |(at, path): (usize, &PathBuf)| {
        let path = console.path(&cwd, path);
        format!(
            "{}{path}\n",
            if at == 0 { "\nreports  " } else { "         " }
        )
    };
    Ok(written.iter().enumerate().map(line).collect())
}
