//! What `phase --dry-run` shows.

use crate::cli::console::Console;
use crate::cli::{Exit, list};
use crate::gate::ExitCode;
use crate::model::{Step, Work};
use crate::phase::Ready;
use crate::report::page::{Block, Page, own, text};
use crate::spec::FailureAction;

/// The steps, and what they would run.
pub fn dry_run(console: &Console, ready: &Ready) -> Exit {
    let mut page = Page::default();
    let mut suites = ready.suites.iter();
    let of = ready.phase.steps.len();
    for (index, step) in ready.phase.steps.iter().enumerate() {
        let number = format!("Step {} of {of}: ", index + 1);
        page.section(text![own(number), outlined(step)]);
        if matches!(step.work, Work::Eval(_))
            && let Some(suite) = suites.next()
        {
            let planned = list::planned(&suite.prepared, None)?;
            page.blocks.extend(planned.blocks);
        }
    }
    page.push(Block::Gap);
    let report = ready.files.markdown.display().to_string();
    page.push(Block::Copy("report", report));
    page.lead(list::NOTHING_RUN);
    console.page(&page)?;
    Ok(ExitCode::Pass)
}

fn outlined(step: &Step) -> String {
    let action = if step.action == FailureAction::Block {
        ""
    } else {
        ", does not block"
    };
    let head = format!("{} ({}{action})", step.name, step.kind.name());
    match &step.work {
        Work::Unchecked => format!("{head}: nothing to run, not checked"),
        Work::Junit(globs) => format!("{head}: reads {}", globs.join(", ")),
        Work::Eval(eval) => format!("{head}: runs {}", eval.shown),
        Work::Command(command) => format!(
            "{head}: `{}` in {}, at most {} s",
            command.argv.join(" "),
            command.dir.display(),
            command.timeout.as_secs_f64()
        ),
    }
}
