//! `eval-harness power`.

use super::args::{ListFormat, PowerArgs, SuiteArgs};
use super::compare::{ProjectLocator, SideResolver};
use super::console::Console;
use super::{CliFailure, CliResult, suite};
use crate::gate::ExitCode;
use crate::load::{LoadOverrides, PlanPurpose};
use crate::model::Plan;
use crate::report::power as page;
use crate::run::{self, power as planned};

pub fn power(console: &Console, args: &PowerArgs) -> CliResult {
    let (plan, filters) = plan(console, args)?;
    let run = match &args.run {
        Some(word) => {
            let places = ProjectLocator::of_plan(&plan)?;
            Some(
                SideResolver {
                    console,
                    places: &places,
                    target: None,
                }
                .run_alone(word)?,
            )
        }
        None => None,
    };
    let request = planned::PowerRequest {
        filters,
        effect: args.effect,
        power: args.power,
        rate: args.rate,
        samples: args.samples.clone(),
        run: run.as_ref(),
    };
    let report = planned::power(&plan, &request).map_err(CliFailure::wrong)?;
    match args.format {
        ListFormat::Json => {
            let mut out = Vec::new();
            page::json(&report, &mut out)?;
            console.result(&out)?;
        }
        ListFormat::Human => console.page(&page::page(&report))?,
    }
    Ok(ExitCode::Pass)
}

/// The plan with its numbers of samples, and the filters in words. Nothing is run, so that a suite
/// that only lacks what a run would give it does.
fn plan(console: &Console, args: &PowerArgs) -> Result<(Plan, Vec<String>), CliFailure> {
    let of = SuiteArgs {
        suite: args.suite.clone(),
        vars: args.vars.clone(),
        filters: args.filters.clone(),
        ..SuiteArgs::default()
    };
    let overrides = || LoadOverrides {
        output_dir: args.output_dir.clone(),
        asks_nobody: true,
        ..LoadOverrides::default()
    };
    let selected = suite::load(&of, PlanPurpose::List, overrides())?;
    let listed = suite::plan_or_problems(console, selected.loaded)?;
    // How many samples a recording holds is known once it is opened.
    let settled = match suite::load(&of, PlanPurpose::Run, overrides())?.loaded {
        loaded if loaded.problems.error_count() == 0 => loaded.plan,
        _ => None,
    };
    let settled = settled
        .and_then(|plan| {
            // Every prompt has the same samples.
            let prompt = plan
                .open_prompts()
                .first()
                .map(|prompt| (*prompt).to_owned());
            let plan = match prompt {
                Some(prompt) => plan.under(&prompt),
                None => plan,
            };
            run::prepare(plan).ok()
        })
        .map(|prepared| prepared.plan);
    Ok((settled.unwrap_or(listed), selected.filters))
}
