//! `eval-harness regrade`.

use super::args::RegradeArgs;
use super::console::Console;
use super::report::results_dir;
use super::run::{AfterRun, conclude, drive, overrides};
use super::{Exit, resume, suite};
use crate::load::{Overrides, Purpose};
use crate::run::{self, RegradeRequest, Said};
use eval_base::clock::SystemClock;

pub fn regrade(console: &Console, args: &RegradeArgs) -> Exit {
    let dir = results_dir(
        args.suite.suite.as_deref(),
        args.session.output_dir.as_deref(),
    )?;
    // What `regrade` takes `run` takes, too.
    let words = resume::typed("regrade", "--run");
    let again = resume::again(&dir, &args.run, words)?;
    // Judges are asked, the target is not.
    let overrides = Overrides {
        asks_only_judges: true,
        ..overrides(&again.args)
    };
    let selected = suite::load(&again.args.suite, Purpose::Run, overrides)?;
    let plan = suite::plan_or_problems(console, selected.loaded)?;
    let after = AfterRun::of(&plan);
    let said = Said {
        filters: selected.filters,
        arguments: resume::recorded(again.words, selected.failed_in.as_deref()),
        cwd: suite::cwd().ok(),
        ..Said::default()
    };
    let source = again.run.paths;
    let finished = drive(console, &again.args, async |helper, cancel, observers| {
        let clock = &SystemClock;
        run::regrade(RegradeRequest {
            plan,
            source,
            helper,
            clock,
            said,
            cancel,
            observers,
        })
        .await
    })?;
    conclude(console, &again.args, &finished, &after)
}
