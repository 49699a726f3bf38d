//! What `phase --dry-run` shows.

use crate::cli::console::Console;
use crate::cli::{CliResult, list};
use crate::gate::ExitCode;
use crate::model::{PhaseStep, StepWork};
use crate::phase::ReadyPhase;
use crate::spec::FailureAction;
use eval_base::text::one_line;

/// The steps, and what they would run.
pub fn dry_run(console: &Console, ready: &ReadyPhase) -> CliResult {
    let mut suites = ready.suites.iter();
    let of = ready.phase.steps.len();
    for (index, step) in ready.phase.steps.iter().enumerate() {
        let lead = if index == 0 { "" } else { "\n" };
        let line = format!(
            "{lead}step {} of {of}: {}\n",
            index + 1,
            one_line(&outlined(step))
        );
        console.result(line.as_bytes())?;
        if matches!(step.work, StepWork::Eval(_))
            && let Some(suite) = suites.next()
        {
            list::dry_run(console, &suite.prepared, None)?;
        }
    }
    console.result(format!("\nreport: {}\n", ready.files.markdown.display()).as_bytes())?;
    Ok(ExitCode::Pass)
}

fn outlined(step: &PhaseStep) -> String {
    let action = if step.action == FailureAction::Block {
        ""
    } else {
        ", does not block"
    };
    let head = format!("{} ({}{action})", step.name, step.kind.name());
    match &step.work {
        StepWork::Unchecked => format!("{head}: nothing to run, not checked"),
        StepWork::Junit(globs) => format!("{head}: reads {}", globs.join(", ")),
        StepWork::Eval(eval) => format!("{head}: runs {}", eval.shown),
        StepWork::Command(command) => format!(
            "{head}: `{}` in {}, at most {} s",
            command.argv.join(" "),
            command.dir.display(),
            command.timeout.as_secs_f64()
        ),
    }
}
