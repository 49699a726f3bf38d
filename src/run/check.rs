//! Whether a run may go on with the plan as it is now, and what of it is left: a comparison of
//! data, without side effects.

use std::collections::{HashMap, HashSet};

use super::earlier::{EarlierCase, EarlierRun, HashPrefix, about};
use super::planned::case_planned;
use super::prepare::PreparedRun;
use super::refused::{RefusedCases, RunRefusal, listed};
use super::remaining::RemainingSamples;
use crate::model::{CasePlanned, Eval, RunStarted, SandboxDemand};
use crate::summary::SummaryFold;

/// What a session that goes on has to do.
pub(super) struct ResumePlan {
    pub remaining: RemainingSamples,
    /// Samples that are still to run.
    pub left: usize,
    /// By eval of the plan: the places of cases that are new, or of which something else is said
    /// now.
    pub again: Vec<Vec<usize>>,
    /// True when an eval is new or something else is said of one.
    pub evals_differ: bool,
}

/// Compares the plan with what was done. `now` is what this session would say of itself;
/// `recordings` are sentences on recordings that changed, which matters when anything is left to
/// run.
pub(super) fn check(
    prepared: &PreparedRun,
    now: &RunStarted,
    earlier: &EarlierRun,
    fold: &SummaryFold,
    recordings: Vec<String>,
) -> Result<ResumePlan, RunRefusal> {
    let run = &earlier.started.run.run_id;
    let mut refused = RunRefusal {
        what: format!("run {run} can't be resumed"),
        reasons: Vec::new(),
        hint: None,
    };
    refused.reasons.extend(run_reasons(now, earlier));
    let weaker = weaker_sandbox(&prepared.plan.settings.sandbox, earlier);
    let grade_again = weaker.is_some();
    refused.reasons.extend(weaker);
    let mut found = CaseMismatches::default();
    let mut next = ResumePlan {
        remaining: RemainingSamples::none(),
        left: 0,
        again: Vec::new(),
        evals_differ: false,
    };
    for eval in &prepared.plan.evals {
        compare_eval(
            eval,
            (earlier, fold),
            now.run.shard.is_some(),
            &mut found,
            &mut next,
        );
    }
    refused
        .reasons
        .extend(found.reasons(run, earlier, prepared));
    if next.left > 0 && !earlier.kept.is_empty() {
        refused.reasons.extend(recordings);
    }
    if found.grading.count > 0 || grade_again {
        let command = format!("`eval-harness regrade --run {run}`");
        refused.hint = Some(format!(
            "grade what is there with {command}, or take the change back"
        ));
    }
    if refused.reasons.is_empty() {
        Ok(next)
    } else {
        Err(refused)
    }
}

/// What concerns the run as a whole.
fn run_reasons(now: &RunStarted, earlier: &EarlierRun) -> Vec<String> {
    let (was, first) = (&earlier.session, &earlier.started);
    let mut reasons = Vec::new();
    if let Some(other) = &first.run.regrade_of {
        reasons.push(format!(
            "it graded the outputs of {other} again; start `regrade --run {other}` again"
        ));
    }
    if was.run.shard != now.run.shard {
        let name = |shard: Option<crate::model::Shard>| match shard {
            Some(shard) => format!("shard {}/{}", shard.index, shard.of),
            None => "the whole suite".to_owned(),
        };
        reasons.push(format!(
            "it is a run of {}, and now {} is asked for",
            name(was.run.shard),
            name(now.run.shard)
        ));
    }
    if was.run.against.as_ref().map(|a| &a.commit) != now.run.against.as_ref().map(|a| &a.commit) {
        let name = |said: &RunStarted| match &said.run.against {
            Some(against) => format!("those of {against}"),
            None => "those on disk".to_owned(),
        };
        reasons.push(format!(
            "the baselines to compare with were {} and are {}",
            name(was),
            name(now)
        ));
    }
    if was.target_hash != now.target_hash && !earlier.kept.is_empty() {
        let name = |said: &RunStarted| {
            format!(
                "`{}` ({})",
                said.run.environment.target, said.run.environment.target_type
            )
        };
        let (then, now) = (name(was), name(now));
        reasons.push(if then == now {
            format!("the target changed: the settings of {now} are not what they were")
        } else {
            format!("the target changed: it was {then} and is {now}")
        });
    }
    reasons
}

/// The demand that what is kept does not meet: it counts as it was graded then.
fn weaker_sandbox(demand: &SandboxDemand, earlier: &EarlierRun) -> Option<String> {
    let minimum = demand.minimum.filter(|_| !earlier.kept.is_empty())?;
    let sessions = [&earlier.session, &earlier.started].into_iter();
    let state = sessions
        .filter_map(|said| said.run.environment.sandbox.as_ref())
        .find(|state| !demand.admits(state))?;
    let how = if state.enforced {
        format!("in `{}`", state.tier)
    } else {
        "without isolation".to_owned()
    };
    Some(format!(
        "its programs ran {how}, and the suite now demands `minimum: {}`",
        minimum.name()
    ))
}

/// What is wrong with cases.
#[derive(Default)]
struct CaseMismatches {
    input: RefusedCases,
    grading: RefusedCases,
    target: RefusedCases,
    fewer: RefusedCases,
    /// Samples then and now, of the first case that has fewer.
    samples: (u32, u32),
    /// Cases of the run that the plan has, by eval.
    matched: Vec<(String, usize)>,
}

fn compare_eval(
    eval: &Eval,
    (earlier, fold): (&EarlierRun, &SummaryFold),
    shard: bool,
    found: &mut CaseMismatches,
    next: &mut ResumePlan,
) {
    next.remaining.add_eval();
    let known = earlier.evals.get(&eval.info.id);
    next.evals_differ |= known.is_none_or(|known| !known.info.agrees(&eval.info));
    let (mut again, mut matched) = (Vec::new(), 0);
    for (at, planned) in case_planned(eval, shard).enumerate() {
        let case = known.and_then(|known| known.case(&planned.id));
        let view = fold.case(&eval.info.id, &planned.id);
        let done = |sample| view.is_some_and(|view| view.is_settled(sample));
        next.remaining.add_case(planned.samples, done);
        next.left += (0..planned.samples).filter(|sample| !done(*sample)).count();
        if case.is_none_or(|case| case.about != about(&planned)) {
            again.push(at);
        }
        if let Some(case) = case {
            matched += 1;
            let kept = (0..case.samples).any(done);
            compare_case(&eval.info.id, &planned, case, kept, found);
        }
    }
    next.again.push(again);
    found.matched.push((eval.info.id.clone(), matched));
}

/// Of a case without any judged sample only the number of samples counts: nothing was found out
/// that a change belies.
fn compare_case(
    eval: &str,
    planned: &CasePlanned,
    case: &EarlierCase,
    kept: bool,
    found: &mut CaseMismatches,
) {
    if planned.samples < case.samples {
        if found.fewer.count == 0 {
            found.samples = (case.samples, planned.samples);
        }
        found.fewer.add(eval, &planned.id);
    }
    if !kept {
        return;
    }
    if !case.input.is(HashPrefix::of(&planned.input_hash)) {
        found.input.add(eval, &planned.id);
    }
    if !case.grading.is(HashPrefix::of(&planned.grading_hash)) {
        found.grading.add(eval, &planned.id);
    }
    let same_target = match (case.target, &planned.target_hash) {
        (None, None) => true,
        (Some(then), Some(now)) => then.is(HashPrefix::of(now)),
        _ => false,
    };
    if !same_target {
        found.target.add(eval, &planned.id);
    }
}

impl CaseMismatches {
    fn reasons(&self, run: &str, earlier: &EarlierRun, prepared: &PreparedRun) -> Vec<String> {
        let (then, now) = self.samples;
        [
            self.input.say(|cases| format!("the input of {cases} changed")),
            self.target.say(|cases| format!("the target of {cases} changed")),
            self.grading.say(|cases| format!("the grader of {cases} changed")),
            self.fewer.say(|cases| {
                format!("{cases} was planned with {then} samples, and only {now} are asked for now; more can be added, none taken away")
            }),
            self.gone(earlier, prepared).map(|gone| format!("the suite (or what is selected of it) no longer has {gone} of {run}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The evals and cases of the run that the plan lacks.
    fn gone(&self, earlier: &EarlierRun, prepared: &PreparedRun) -> Option<String> {
        let mut names = Vec::new();
        let planned: HashMap<&str, usize> = self
            .matched
            .iter()
            .map(|(eval, matched)| (eval.as_str(), *matched))
            .collect();
        for (id, known) in &earlier.evals {
            match planned.get(id.as_str()) {
                None => names.push(format!("eval {id}")),
                Some(matched) if *matched < known.len() => {
                    let eval = prepared.plan.evals.iter().find(|eval| eval.info.id == *id);
                    let ids: HashSet<String> = eval
                        .into_iter()
                        .flat_map(|eval| case_planned(eval, false))
                        .map(|case| case.id)
                        .collect();
                    let gone = known.cases().filter(|(case, _)| !ids.contains(*case));
                    names.extend(gone.map(|(case, _)| format!("{id}/{case}")));
                }
                Some(_) => {}
            }
        }
        (!names.is_empty()).then(|| listed(names))
    }
}
