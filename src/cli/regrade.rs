//! `eval-harness regrade`.

use super::args::RegradeArgs;
use super::console::Console;
use super::report::results_dir;
use super::run::{AfterRun, conclude, drive, overrides};
use super::{CliResult, resume, suite};
use crate::load::{LoadOverrides, PlanPurpose};
use crate::run::{self, RegradeRequest, RunInvocation};
use eval_base::clock::SystemClock;

pub fn regrade(console: &Console, args: &RegradeArgs) -> CliResult {
    let dir = results_dir(
        args.suite.suite.as_deref(),
        args.session.output_dir.as_deref(),
    )?;
    // What `regrade` takes `run` takes, too.
    let mut words = resume::typed("regrade", "--run");
    words.retain(|word| word != "--people");
    let again = resume::again(&dir, &args.run, words)?;
    // Judges are asked, the target is not.
    let overrides = LoadOverrides {
        asks_only_judges: true,
        ..overrides(&again.args)
    };
    let selected = suite::load(&again.args.suite, PlanPurpose::Run, overrides)?;
    let plan = suite::plan_or_problems(console, selected.loaded)?;
    let after = AfterRun::of(&plan);
    let said = RunInvocation {
        filters: selected.filters,
        arguments: resume::recorded(again.words, selected.failed_in.as_deref()),
        cwd: suite::cwd().ok(),
        ..RunInvocation::default()
    };
    let source = again.run.paths;
    let finished = drive(
        console,
        &again.args,
        None,
        async |helper, cancel, observers| {
            let clock = &SystemClock;
            run::regrade(RegradeRequest {
                plan,
                source,
                helper,
                clock,
                said,
                cancel,
                observers,
                people_only: args.people,
            })
            .await
        },
    )?;
    conclude(console, &again.args, &finished, &after)
}
