//! What a run is compared with, found before anything runs: `--compare-to`, `--baseline`,
//! `--fail-on`.

use std::collections::{BTreeSet, HashSet};

use super::args::RunArgs;
use super::compare::{OppositeSide, ProjectLocator, SideResolver, is_of_run};
use super::console::Console;
use super::resume::ResumedRun;
use super::{CliFailure, scores};
use crate::journal;
use crate::model::{ComparisonConfig, ComparisonReference, Plan, RunScores, RunStarted};
use crate::spec::words::FailOn;
use eval_base::text::{one_line, plural};

/// What the arguments ask for. A run that goes on keeps what it began with unless the words typed
/// now name something else.
///
/// # Errors
/// When there is no such thing, or when it can't be compared with: nothing ran.
pub fn requested_comparison(
    console: &Console,
    args: &RunArgs,
    plan: &Plan,
    filters: &[String],
    resumed: Option<&ResumedRun>,
) -> Result<ComparisonConfig, CliFailure> {
    let session = match resumed {
        Some(resumed) => {
            let mut sessions = journal::sessions(&resumed.paths.journal())?;
            // The run before it is the one before it began, however often it went on since.
            let began = sessions
                .first()
                .map(|first| first.run.timestamp.clone())
                .unwrap_or_default();
            sessions.pop().map(|mut said| {
                said.run.timestamp = began;
                said
            })
        }
        None => None,
    };
    let (fail_on, allow_changed) = (args.compared.fail_on, args.compared.allow_changed);
    let has_side = session
        .as_ref()
        .is_some_and(|said| said.config.comparison.reference.is_some());
    let names_one = args.compared.name_a_side()
        && resumed.is_none_or(|resumed| resumed.compares_anew || !has_side);
    if !names_one {
        if fail_on.is_some() && !has_side {
            return Err(CliFailure::wrong(
                "`--fail-on` requires a reference to compare the run with",
            )
            .hint(
                "add a reference: `--compare-to previous`, or `--baseline` for the accepted scores",
            ));
        }
        if allow_changed && !has_side {
            return Err(CliFailure::wrong(
                "`--allow-changed` requires a reference to compare the run with",
            )
            .hint(
                "add a reference: `--compare-to previous`, or `--baseline` for the accepted scores",
            ));
        }
        return Ok(ComparisonConfig {
            reference: None,
            fail_on,
            allow_changed,
        });
    }
    let (reference, fail_on) = match &args.compared.compare_to {
        Some(word) => {
            let side = side(console, word, plan, filters, session.as_ref())?;
            let private = plan.evals.iter().filter(|eval| eval.info.is_private());
            let private = private.map(|eval| eval.info.id.clone()).collect();
            let side = side.hiding(&private).into_owned();
            let run = ComparisonReference::Run(Box::new(side));
            (Some(run), fail_on.or(Some(FailOn::Significant)))
        }
        None => {
            let accepted = scores::asked(args, plan)?;
            (accepted.map(ComparisonReference::ScoreBaseline), fail_on)
        }
    };
    let compared = ComparisonConfig {
        reference,
        fail_on,
        allow_changed,
    };
    let before = session.and_then(|said| said.config.comparison.reference);
    if let Some(was) = before.as_ref().map(reference_words) {
        console.note(&format!(
            "the run was compared with {was}; now it is compared with {}",
            described(&compared).unwrap_or_default()
        ));
    }
    Ok(compared)
}

/// The side that `--compare-to` names, if the plan can be compared with it.
fn side(
    console: &Console,
    word: &str,
    plan: &Plan,
    filters: &[String],
    session: Option<&RunStarted>,
) -> Result<RunScores, CliFailure> {
    let places = ProjectLocator::of_plan(plan)?;
    let beside = OppositeSide {
        suite: plan.suite.name.clone(),
        target: plan.target_name.clone(),
        run_id: session.map(|said| said.run.run_id.clone()),
        timestamp: session.map(|said| said.run.timestamp.clone()),
        regrade_of: None,
        filters: filters.to_vec(),
        file: None,
    };
    let side = SideResolver {
        console,
        places: &places,
        target: None,
    }
    .reference(word, &beside)?;
    if session.is_some_and(|said| is_of_run(&side, &said.run.run_id)) {
        return Err(CliFailure::wrong(format!(
            "`{}` is the run that is being resumed",
            one_line(word)
        ))
        .hint("`previous` is the run before it"));
    }
    if side.side.suite != plan.suite.name {
        let (other, own) = (one_line(&side.side.suite), one_line(&plan.suite.name));
        let message = format!(
            "`{}` contains the scores of suite `{other}`, not `{own}`",
            one_line(word)
        );
        return Err(CliFailure::wrong(message)
            .hint("`previous` is the latest run of this suite and target"));
    }
    // A shard has a part of the cases, and need share none with a run that had another part of
    // them.
    if plan.shard.is_none() && !shares_a_case(&side, plan) {
        let cases = plural(side.evals.iter().map(|eval| eval.cases.len()).sum(), "case");
        return Err(CliFailure::wrong(format!(
            "`{}` ({}, {cases}) has none of the selected cases",
            one_line(word),
            side.side.run_id
        )));
    }
    Ok(side)
}

fn shares_a_case(side: &RunScores, plan: &Plan) -> bool {
    let private = plan.evals.iter().filter(|eval| eval.info.is_private());
    let side = side.hiding(&private.map(|eval| eval.info.id.clone()).collect());
    let known: HashSet<(&str, &str)> = side
        .evals
        .iter()
        .flat_map(|eval| {
            eval.cases
                .iter()
                .map(|case| (eval.id.as_str(), case.id.as_str()))
        })
        .collect();
    let private: BTreeSet<String> = side.private_evals().collect();
    let planned = plan.evals.iter().flat_map(|eval| {
        let id_of = |id| RunScores::id_of(&private, &eval.info, id);
        eval.cases
            .outlines()
            .map(move |case| (eval.info.id.as_str(), id_of(case.id)))
    });
    let mut planned = planned.peekable();
    planned.peek().is_none() || planned.any(|(eval, case)| known.contains(&(eval, &*case)))
}

fn reference_words(reference: &ComparisonReference) -> String {
    match reference {
        ComparisonReference::Run(run) if run.side.label == run.side.run_id => {
            run.side.run_id.clone()
        }
        ComparisonReference::Run(run) => {
            format!("{} ({})", one_line(&run.side.label), run.side.run_id)
        }
        ComparisonReference::ScoreBaseline(read) => {
            let rev = read.rev.as_deref();
            let at = rev.map_or_else(String::new, |rev| format!(" at {}", one_line(rev)));
            format!("{}{at} ({})", one_line(&read.path), read.file.run_id)
        }
    }
}

/// What a run is compared with and what a difference costs, in words; `None` when it is compared
/// with nothing.
pub fn described(comparison: &ComparisonConfig) -> Option<String> {
    let what = reference_words(comparison.reference.as_ref()?);
    Some(match comparison.fail_on {
        None | Some(FailOn::Never) => format!("{what}; for information only"),
        Some(word) => format!("{what}; fails on {}", word.name()),
    })
}
