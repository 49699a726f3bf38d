//! `eval-harness check`.

use std::path::Path;

use super::args::{CheckArgs, CheckFormat, ProgressMode, SuiteArgs};
use super::console::Console;
use super::progress::RunProgress;
use super::run::{attend, failure};
use super::{CliFailure, CliResult, suite};
use crate::check::{self, CheckError, CheckRequest, FinishedCheck};
use crate::gate::ExitCode;
use crate::isolation::PrivateFolder;
use crate::load::{LoadOverrides, PlanPurpose};
use crate::model::{CheckDecision, CheckReport};
use crate::report::check as pages;
use crate::report::page::{PageView, markdown, terminal};
use crate::run::{CheckStamp, CheckedContent, GradingTools, harness_version};
use eval_base::clock::{Clock, SystemClock, rfc3339};
use eval_base::whole_file::write_whole;

pub fn check(console: &Console, args: &CheckArgs) -> CliResult {
    let folder = PrivateFolder::new(&std::env::temp_dir()).map_err(|error| {
        let place = std::env::temp_dir();
        let place = place.display();
        CliFailure::incomplete(format!("cannot create a folder in {place}: {error}"))
    })?;
    // Recorded outputs take the place of every target; they are written when the suite is read.
    let outputs = folder.path().join(check::PROBES);
    std::fs::File::create(&outputs)?;
    let of = SuiteArgs {
        suite: args.suite.clone(),
        vars: args.vars.clone(),
        filters: args.filters.clone(),
        outputs: Some(outputs),
        ..SuiteArgs::default()
    };
    let overrides = LoadOverrides {
        jobs: args.jobs,
        output_dir: args.output_dir.clone(),
        allow_unsandboxed: args.allow_unsandboxed,
        budget: args.budget,
        models: args.models.overrides(),
        gateless: true,
        asks_nobody: !args.judges,
        ..LoadOverrides::default()
    };
    let selected = suite::load(&of, PlanPurpose::Run, overrides)?;
    let plan = suite::plan_or_problems(console, selected.loaded)?;
    if let Some(oracle) = &args.oracle {
        std::fs::metadata(oracle).map_err(|error| {
            CliFailure::wrong(format!(
                "cannot read --oracle {}: {error}",
                oracle.display()
            ))
        })?;
    }
    // Before the run, so that a file that changes meanwhile is not taken for what was checked.
    let content = CheckedContent::of(&plan.evals, &plan.excuses).map_err(CliFailure::incomplete)?;
    // Most probes fail as they should: a log needs no count of them.
    let mode = match args.progress {
        ProgressMode::Auto if !console.stderr_is_terminal() => ProgressMode::None,
        mode => mode,
    };
    let progress = RunProgress::of_probes(mode, console);
    let results = plan.reporting.output_dir.clone();
    let path = folder.path().to_owned();
    let filters = selected.filters;
    let checked = attend(progress, false, async |helper, cancel, observers| {
        check::check(CheckRequest {
            plan,
            filters,
            oracle: args.oracle.clone(),
            judges: args.judges,
            require_references: args.require_references,
            folder: path,
            helper,
            clock: &SystemClock,
            cancel,
            observers,
        })
        .await
    })?;
    let FinishedCheck {
        mut report,
        tools,
        warnings,
    } = checked.map_err(refused)?;
    for warning in &warnings {
        console.warn(warning);
    }
    let mut unwritten = None;
    if report.decision == CheckDecision::Holds && proves_all(&report) {
        match stamp(&report, tools, content, &results) {
            Ok(path) => report.stamp = Some(path),
            Err(failure) => unwritten = Some(failure),
        }
    }
    show(console, args, &report)?;
    match unwritten {
        Some(failure) => Err(failure),
        None => Ok(exit_code(&report)),
    }
}

fn refused(error: CheckError) -> CliFailure {
    match error {
        CheckError::Run(error) => failure(error),
        CheckError::Oracle(_) => CliFailure::wrong(error),
        CheckError::Case(_) | CheckError::Write { .. } | CheckError::KnownFaults(_) => {
            CliFailure::incomplete(error)
        }
    }
}

/// Cases that were left out, or on which nothing was tried, are not proved, so that a run may not
/// rest on them.
fn proves_all(report: &CheckReport) -> bool {
    report.left_out.is_empty() && report.checked_cases == report.cases
}

fn exit_code(report: &CheckReport) -> ExitCode {
    match report.decision {
        _ if report.interrupted => ExitCode::Interrupted,
        CheckDecision::Holds => ExitCode::Pass,
        CheckDecision::Fails => ExitCode::Fail,
        CheckDecision::Unknown => ExitCode::Incomplete,
    }
}

/// Writes the stamp that `run --checked` demands; its path.
fn stamp(
    report: &CheckReport,
    tools: GradingTools,
    content: CheckedContent,
    results: &Path,
) -> Result<String, CliFailure> {
    let excused = report.findings.iter().filter_map(|finding| {
        let reason = finding.excused.as_ref()?;
        Some(format!("{}/{}: {reason}", finding.eval, finding.case))
    });
    let stamp = CheckStamp {
        suite: report.suite.clone(),
        checked_at: rfc3339(SystemClock.now()),
        harness_version: harness_version().to_owned(),
        cases: report.checked_cases,
        proved_cases: report.proved_cases,
        expected_references: report.expected_references,
        tools,
        excused: excused.collect(),
    };
    let path = content.stamp(results);
    let cwd = suite::cwd()?;
    let shown = path.strip_prefix(&cwd).unwrap_or(&path).display();
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
        write_whole(&path, |file| -> std::io::Result<()> {
            eval_base::json::to_writer_pretty(&mut *file, &stamp)?;
            Ok(())
        })
    };
    write().map_err(|error| {
        CliFailure::incomplete(format!("the stamp {shown} could not be written: {error}"))
    })?;
    Ok(shown.to_string())
}

fn show(console: &Console, args: &CheckArgs, report: &CheckReport) -> Result<(), CliFailure> {
    let mut out = Vec::new();
    match args.format {
        CheckFormat::Json => pages::json(report, &mut out)?,
        CheckFormat::Markdown => {
            let view = PageView {
                verbose: args.verbose,
                ..PageView::markdown()
            };
            let page = pages::page(report, &view);
            out.extend(markdown::write(&page, markdown::MarkdownOptions::default()).bytes());
        }
        CheckFormat::Human => {
            let options = console.terminal_options(args.verbose);
            let page = pages::page(report, &PageView::terminal(&options));
            terminal::write(&page, &options, &mut out)?;
        }
    }
    Ok(console.result(&out)?)
}
