//! `run --changed`: the run whose samples are reused, and what a dry run shows of it.

use std::sync::Arc;

use super::CliFailure;
use super::args::RunArgs;
use super::compare::{OppositeSide, previous};
use super::console::Console;
use crate::journal;
use crate::model::{Plan, ReuseCounts};
use crate::report::page::{StyledText, outside, own, place, text};
use crate::run::{ChangeOutline, ChangeSource, ChangedSamples, SampleAction};
use eval_base::text::{group_digits, one_line, plural};

/// The run that `--since` names, else the latest one of this suite and target; `None`, with a note,
/// when there is none.
pub fn source(
    console: &Console,
    args: &RunArgs,
    plan: &Plan,
    filters: &[String],
) -> Result<Option<Arc<ChangeSource>>, CliFailure> {
    let results = &plan.reporting.output_dir;
    let paths = match &args.since {
        Some(run) => journal::find_run(results, run)?,
        None => {
            let beside = OppositeSide {
                suite: plan.suite.name.clone(),
                target: plan.target_name.clone(),
                filters: filters.to_vec(),
                ..OppositeSide::default()
            };
            match previous(console, results, &beside)? {
                Some(paths) => paths,
                None => {
                    console.note("no earlier run of this suite and target; running all samples");
                    return Ok(None);
                }
            }
        }
    };
    let source = ChangeSource::read(paths).map_err(super::run::failure)?;
    if source.suite() != plan.suite.name {
        return Err(CliFailure::wrong(format!(
            "run {} belongs to suite `{}`, not `{}`",
            source.run_id(),
            one_line(source.suite()),
            one_line(&plan.suite.name)
        )));
    }
    Ok(Some(Arc::new(source)))
}

/// What would be reused, graded again and run, and why: labels with lines below each other.
pub fn facts(outline: &ChangeOutline) -> Vec<(&'static str, StyledText)> {
    let mut facts = vec![("changed", own(format!("since {}", outline.run_id)))];
    let mut last = None;
    for ((action, cause), of_kind) in &outline.counts {
        let label = match action {
            SampleAction::Reuse => "reuse",
            SampleAction::GradeAgain => "grade again",
            SampleAction::Run => "run",
        };
        let label = if last.replace(*action) == Some(*action) {
            ""
        } else {
            label
        };
        let samples = own(plural(of_kind.samples, "sample"));
        let cause = outside(&one_line(&cause.to_string()));
        facts.push(match action {
            SampleAction::Reuse => (label, text![samples, ": ", cause]),
            _ => (label, text![samples, " (", names(of_kind), "): ", cause]),
        });
    }
    let surroundings = outline.needs_surroundings.then(|| {
        "code is graded again if the sandbox or an interpreter differs from the earlier run"
            .to_owned()
    });
    let notes = surroundings
        .into_iter()
        .chain(ReuseCounts::unlisted_warning(outline.unlisted_files));
    let labels = std::iter::once("note").chain(std::iter::repeat(""));
    facts.extend(labels.zip(notes.map(own)));
    facts
}

/// The first cases, and how many more there are.
fn names(samples: &ChangedSamples) -> StyledText {
    let first = samples.first.iter().map(|(eval, case)| place(eval, case));
    let more = samples.cases - samples.first.len();
    let more = (more > 0).then(|| own(format!("{} more", group_digits(more))));
    StyledText::joined(first.chain(more), ", ")
}
