//! `eval-harness run` on several targets or prompts: a run on each target with each prompt, one
//! after the other, and a report that puts them side by side.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::args::RunArgs;
use super::ci::{self, GithubStep};
use super::console::Console;
use super::run::{ReadyRun, conclude_with, load};
use super::{CliFailure, CliResult, list, resume, suite};
use crate::gate::ExitCode;
use crate::model::{ReportFormat, RunScores, Summary};
use crate::report::page::{Page, PageBlock, outside, text};
use crate::report::sides::RunSides;
use crate::run::{self, FinishedRun};
use eval_base::text::one_line;
use eval_models::ModelSpending;

/// Runs the plan on each target with each prompt. Every plan is loaded and checked before any of
/// them runs.
pub fn run(console: &Console, args: &RunArgs, words: &[String]) -> CliResult {
    if words.is_empty() {
        return Err(CliFailure::wrong(
            "several targets or prompts need arguments that are valid UTF-8",
        ));
    }
    if args.since.is_some() {
        return Err(CliFailure::wrong(
            "`--since` names the run of one target and prompt, but several are selected",
        )
        .hint("without it, the latest run of each is reused"));
    }
    let mut ready = Vec::new();
    for words in arguments(args, words) {
        let own = parse(&words)?;
        let loaded = load(console, &own)?;
        let open = loaded.plan.open_prompts();
        let open: Vec<String> = open.into_iter().map(str::to_owned).collect();
        if open.is_empty() {
            ready.push((ReadyRun::of(console, &own, words, None, loaded)?, own));
            continue;
        }
        for prompt in open {
            let words = with(&words, "--prompt", &prompt);
            let own = parse(&words)?;
            let mut loaded = loaded.clone();
            loaded.plan = loaded.plan.under(&prompt);
            ready.push((ReadyRun::of(console, &own, words, None, loaded)?, own));
        }
    }
    if args.dry_run {
        let mut page = Page::default();
        for (ready, _) in &ready {
            page.section(text!["Run on ", outside(&ready.prepared.plan.target_name)]);
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
    for (ready, own) in ready {
        let target = ready.prepared.plan.target_name.clone();
        if !args.session.quiet {
            console.note(&format!("run on {}", one_line(&target)));
        }
        let models = Arc::clone(ready.prepared.targets.models());
        models.spent_before(spent);
        let (done, after) = match ready.after(&finished).drive(console, &own, Some(&target)) {
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

/// The arguments of a run on each target that is named, under each prompt that is named.
fn arguments(args: &RunArgs, words: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![words.to_vec()];
    for (flag, names) in [
        ("--target", &args.suite.target),
        ("--prompt", &args.suite.prompt),
    ] {
        if names.is_empty() {
            continue;
        }
        let mut seen = BTreeSet::new();
        let names: Vec<&String> = names.iter().filter(|name| seen.insert(*name)).collect();
        all = all
            .iter()
            .flat_map(|words| names.iter().map(|name| with(words, flag, name)))
            .collect();
    }
    all
}

/// The words with this value of an option, and no other.
fn with(words: &[String], flag: &str, value: &str) -> Vec<String> {
    let mut words = resume::without(words.to_vec(), flag);
    words.push(format!("{flag}={value}"));
    words
}

fn parse(words: &[String]) -> Result<RunArgs, CliFailure> {
    resume::parse(words).map_err(|error| CliFailure::wrong(error.to_string()))
}

/// Writes and shows the runs side by side; true when a file could not be written.
fn show(
    console: &Console,
    args: &RunArgs,
    finished: &[FinishedRun],
    formats: &[ReportFormat],
) -> Result<bool, CliFailure> {
    let summaries: Vec<&Summary> = finished.iter().map(|run| &run.summary).collect();
    let mut sides = RunSides::of(summaries).map_err(CliFailure::incomplete)?;
    let journals: Vec<PathBuf> = finished.iter().map(|run| run.paths.journal()).collect();
    compare_pairs(console, &mut sides, &journals);
    let pages = finished.iter().map(|run| run.paths.report("html"));
    let (written, failed) = match finished.first() {
        Some(first) => {
            sides = sides.linked(&first.paths.dir, pages);
            sides.write_files(&first.paths, formats)
        }
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

/// Tests the runs of these journals in pairs; a warning when that is not possible.
pub fn compare_pairs(console: &Console, sides: &mut RunSides<'_>, journals: &[PathBuf]) {
    let scores = journals.iter().map(|journal| {
        let (scores, _) = run::run_scores(
            std::slice::from_ref(journal),
            String::new(),
            vec![journal.display().to_string()],
        )
        .map_err(|error| error.to_string())?;
        Ok(scores)
    });
    let compared = scores
        .collect::<Result<Vec<RunScores>, String>>()
        .and_then(|scores| {
            sides
                .compare_pairs(&scores)
                .map_err(|error| error.to_string())
        });
    if let Err(error) = compared {
        console.warn(&format!("the runs are not compared in pairs: {error}"));
    }
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
