//! `eval-harness history`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::args::{HistoryArgs, ListFormat};
use super::console::Console;
use super::{CliFailure, CliResult, report, suite};
use crate::gate::ExitCode;
use crate::load::{self, LoadOverrides, LoadRequest, PlanPurpose};
use crate::model::Plan;
use crate::report::history::{self as page, HistoryFilter};
use crate::run::history::{self, HistoryRequest, RunHistory};
use eval_base::globs::IdGlobs;

pub fn history(console: &Console, args: &HistoryArgs) -> CliResult {
    let wanted = HistoryGlobs::of(args)?;
    let asked = history_source(console, args)?;
    let name = asked.plan.as_ref().map(|plan| plan.suite.name.as_str());
    let request = HistoryRequest {
        suite: name.filter(|_| !args.all_suites),
        target: args.target.as_deref(),
        since: args.since,
        last: args.last,
        threads: suite::cpus(),
    };
    let history = history::history(&asked.results, &request);
    history
        .warnings
        .iter()
        .for_each(|warning| console.warn(warning));
    let known = eval_ids(&history, &asked);
    if let Some(wanted) = &wanted {
        wanted.check(&known)?;
    }
    let shown = HistoryFilter {
        evals: wanted.as_ref().map(|wanted| &wanted.0),
    };
    let mut out = Vec::new();
    match args.format {
        ListFormat::Json => page::json(&history, shown, &mut out)?,
        ListFormat::Human => {
            let seen = history
                .groups
                .iter()
                .flat_map(|group| &group.runs)
                .flat_map(|run| &run.evals);
            if !seen
                .into_iter()
                .any(|eval| wanted.as_ref().is_none_or(|wanted| wanted.0.fit(&eval.id)))
            {
                out.extend(nothing(&asked, wanted.is_some()).as_bytes());
            }
            page::render(
                &history,
                shown,
                &console.terminal_options(args.verbose),
                &mut out,
            )?;
        }
    }
    console.result(&out)?;
    Ok(ExitCode::Pass)
}

/// Where to look, and the suite at hand.
struct HistorySource {
    results: PathBuf,
    plan: Option<Plan>,
}

fn history_source(console: &Console, args: &HistoryArgs) -> Result<HistorySource, CliFailure> {
    let path = match &args.suite {
        Some(path) => Some(path.clone()),
        None => suite::suite_path(None).ok(),
    };
    let Some(path) =
        path.filter(|_| args.suite.is_some() || !args.all_suites || args.output_dir.is_none())
    else {
        return Ok(HistorySource {
            results: report::results_dir(None, args.output_dir.as_deref())?,
            plan: None,
        });
    };
    let request = LoadRequest {
        suite: path,
        purpose: PlanPurpose::List,
        overrides: LoadOverrides {
            output_dir: args.output_dir.clone(),
            ..LoadOverrides::default()
        },
        env: suite::environment(),
        cwd: suite::cwd()?,
        cpus: suite::cpus(),
        ..LoadRequest::default()
    };
    let loaded = load::load(&request);
    // A suite that only lacks what a run would give it is no news here.
    let plan = match loaded.plan {
        Some(plan) if loaded.problems.error_count() == 0 => plan,
        plan => suite::plan_or_problems(console, load::LoadedPlan { plan, ..loaded })?,
    };
    Ok(HistorySource {
        results: plan.reporting.output_dir.clone(),
        plan: Some(plan),
    })
}

/// Ids of evals that are there, or were.
fn eval_ids(history: &RunHistory, asked: &HistorySource) -> BTreeSet<String> {
    let past = history
        .groups
        .iter()
        .flat_map(|group| &group.runs)
        .flat_map(|run| &run.evals);
    let planned = asked.plan.iter().flat_map(|plan| &plan.evals);
    past.map(|eval| eval.id.to_string())
        .chain(planned.map(|eval| eval.info.id.clone()))
        .collect()
}

fn nothing(asked: &HistorySource, some: bool) -> String {
    let of = match &asked.plan {
        Some(plan) => format!(" of suite {}", plan.suite.name),
        None => String::new(),
    };
    let with = if some { " with a matching eval" } else { "" };
    let text = format!("no run{of}{with} in {}\n", asked.results.display());
    eval_base::text::sanitize(&text).into_owned()
}

/// The evals that `--eval` names.
#[derive(Debug)]
struct HistoryGlobs(IdGlobs);

impl HistoryGlobs {
    fn of(args: &HistoryArgs) -> Result<Option<HistoryGlobs>, CliFailure> {
        let globs = IdGlobs::new(&args.eval).map_err(|error| {
            CliFailure::wrong(format!("`--eval {}` is not a glob: {error}", error.pattern))
        })?;
        Ok((!globs.is_empty()).then_some(HistoryGlobs(globs)))
    }

    /// Fails when a pattern fits no eval.
    fn check(&self, known: &BTreeSet<String>) -> Result<(), CliFailure> {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        match self.0.unmatched(&known).first() {
            None => Ok(()),
            Some(pattern) => Err(CliFailure::wrong(format!("no eval matches `--eval {pattern}`"))
                .hint("`eval-harness list` shows the suite's evals, `eval-harness history` those that ran")),
        }
    }
}
