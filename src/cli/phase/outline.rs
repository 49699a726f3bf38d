//! What `phase --dry-run` shows.

use crate::cli::console::Console;
use crate::cli::{CliResult, list};
use crate::gate::ExitCode;
use crate::model::{PhaseStep, StepPlacement, StepWork};
use crate::phase::ReadyPhase;
use crate::report::page::{Page, PageBlock, own, text};
use crate::spec::FailureAction;

/// The steps, and what they would run.
pub fn dry_run(console: &Console, ready: &ReadyPhase) -> CliResult {
    let mut page = Page::default();
    let mut suites = ready.suites.iter();
    let of = ready.phase.steps.len();
    for (index, step) in ready.phase.steps.iter().enumerate() {
        let number = format!("Step {} of {of}: ", index + 1);
        page.section(text![own(number), outlined(step)]);
        if matches!(step.work, StepWork::Eval(_))
            && let Some(suite) = suites.next()
        {
            let planned = list::planned(&suite.prepared, None, None)?;
            page.blocks.extend(planned.blocks);
        }
    }
    page.push(PageBlock::Gap);
    let report = ready.files.markdown.display().to_string();
    page.push(PageBlock::Copy("report", report));
    page.lead(list::NOTHING_RUN);
    console.page(&page)?;
    Ok(ExitCode::Pass)
}

fn in_a_copy(of: &str) -> String {
    format!(" in a copy of {of}")
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
            "{head}: `{}`{}, at most {} s",
            command.argv.join(" "),
            match &command.place {
                StepPlacement::InPlace(dir) => format!(" in {}", dir.display()),
                StepPlacement::Copy(workspace) => in_a_copy(workspace.copied_from()),
            },
            command.timeout.as_secs_f64()
        ),
    }
}
