//! Whether a run may go on with the plan as it is now, and what of it is left: a comparison of
//! data, without side effects.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::earlier::{EarlierCase, EarlierRun, HashPrefix, about};
use super::planned::case_planned;
use super::prepare::PreparedRun;
use super::refused::{RefusedCases, RunRefusal, listed};
use super::remaining::RemainingSamples;
use crate::model::{
    CasePlanned, Dependencies, Dependency, Eval, EvalInfo, FileStamps, RunStarted, SandboxDemand,
    UnseenDependencies,
};
use crate::summary::SummaryFold;

/// What a session that goes on has to do.
pub(super) struct ResumePlan {
    pub remaining: RemainingSamples,
    /// Samples that are still to run.
    pub left: usize,
    /// By eval of the plan: the places of cases that are new, or of which something else is said
    /// now.
    pub again: Vec<Vec<usize>>,
    /// By eval of the plan: whether any of its samples is still to run.
    pub runs: Vec<bool>,
    /// True when an eval is new or something else is said of one.
    pub evals_differ: bool,
    /// What may have changed outputs without being a reason to refuse.
    pub warnings: Vec<String>,
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
        runs: Vec::new(),
        evals_differ: false,
        warnings: Vec::new(),
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
        let of_target = earlier.dependency_sets();
        let of_target = of_target.map(|then| (then, &prepared.plan.dependencies));
        let changes = DependencyChanges::of(of_target.chain(found.dependencies));
        if !changes.files.is_empty() {
            let command = format!("`eval-harness run --changed --since {run}`");
            let hint = format!("{command} reuses what the change does not affect");
            refused.hint = Some(hint);
        }
        let files = changes.files.into_iter();
        let changed = files.map(|name| format!("`{name}` changed since the run began"));
        refused.reasons.extend(changed);
        next.warnings.extend(changes.others.into_iter().map(|name| {
            format!("`{name}` changed since the run began; finished samples are kept")
        }));
    }
    if found.grading.count > 0 || grade_again {
        let command = format!("`eval-harness regrade --run {run}`");
        refused.hint = Some(format!(
            "grade the stored outputs with {command}, or revert the change"
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
            "it regraded the outputs of {other}; run `regrade --run {other}` again"
        ));
    }
    if was.run.shard != now.run.shard {
        let name = |shard: Option<crate::model::Shard>| match shard {
            Some(shard) => format!("shard {}/{}", shard.index, shard.of),
            None => "the whole suite".to_owned(),
        };
        reasons.push(format!(
            "it is a run of {}, but {} is requested now",
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
            "the baselines were {}, but are {} now",
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
            format!("the target changed: the settings of {now} differ now")
        } else {
            format!("the target changed: it was {then}, but is {now} now")
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
        "its programs ran {how}, but the suite now requires `minimum: {}`",
        minimum.name()
    ))
}

/// Names of what outputs depend on that is not as it was.
#[derive(Default)]
struct DependencyChanges<'a> {
    /// Of what `depends_on` completes, and of what workspaces are made of: files that were changed,
    /// added or removed, and `depends_on` if it was removed.
    files: BTreeSet<&'a str>,
    /// Files that a command names and may have written, or that were mended because it failed;
    /// programs that are elsewhere; variables, such as a new key.
    others: BTreeSet<&'a str>,
}

impl<'a> DependencyChanges<'a> {
    fn of(
        all: impl Iterator<Item = (&'a Dependencies, &'a Dependencies)>,
    ) -> DependencyChanges<'a> {
        let mut changes = DependencyChanges::default();
        for (then, now) in all {
            let is_declared = then.declared || now.declared;
            for changed in missing(now, then).chain(missing(then, now)) {
                let name = changed.name.as_str();
                let is_file = !name.starts_with("env ") && !name.starts_with("program ");
                match is_file && (is_declared || changed.workspace) {
                    true => changes.files.insert(name),
                    false => changes.others.insert(name),
                };
            }
            if then.declared && !now.declared {
                changes.files.insert("depends_on");
            }
        }
        changes.others = &changes.others - &changes.files;
        changes
    }
}

/// Those of the first that the second lacks, or has with another content.
fn missing<'a>(
    all: &'a Dependencies,
    other: &'a Dependencies,
) -> impl Iterator<Item = &'a Dependency> {
    let all = all.found.iter();
    all.filter(move |one| !other.found.contains(one))
}

/// Of an eval without `depends_on` and without its own target.
static NO_DEPENDENCIES: Dependencies = Dependencies {
    found: Vec::new(),
    declared: false,
    unseen: UnseenDependencies::Nothing,
    stamps: FileStamps(Vec::new()),
};

/// What is wrong with cases.
#[derive(Default)]
struct CaseMismatches<'a> {
    input: RefusedCases,
    grading: RefusedCases,
    target: RefusedCases,
    fewer: RefusedCases,
    /// Samples then and now, of the first case that has fewer.
    samples: (u32, u32),
    /// Cases of the run that the plan has, by eval.
    matched: Vec<(String, usize)>,
    /// Of evals with kept samples and samples left to run: what outputs depend on, then and now.
    dependencies: Vec<(&'a Dependencies, &'a Dependencies)>,
}

fn compare_eval<'a>(
    eval: &'a Eval,
    (earlier, fold): (&'a EarlierRun, &SummaryFold),
    shard: bool,
    found: &mut CaseMismatches<'a>,
    next: &mut ResumePlan,
) {
    next.remaining.add_eval();
    let known = earlier.evals.get(&eval.info.id);
    next.evals_differ |= known.is_none_or(|known| !known.info.agrees(&eval.info));
    let (mut again, mut matched, mut keeps) = (Vec::new(), 0, false);
    let left = next.left;
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
            keeps |= kept;
            compare_case(&eval.info, &planned, case, kept, found);
        }
    }
    // Earlier versions recorded no dependencies.
    if keeps && next.left > left && earlier.session.dependencies.is_some() {
        let now = eval.info.dependencies.as_deref();
        let now = now.unwrap_or(&NO_DEPENDENCIES);
        let then = known.into_iter().flat_map(|known| &known.dependency_sets);
        found.dependencies.extend(then.map(|then| (then, now)));
    }
    next.again.push(again);
    next.runs.push(next.left > left);
    found.matched.push((eval.info.id.clone(), matched));
}

/// Of a case without any judged sample only the number of samples counts: nothing was found out
/// that a change belies.
fn compare_case(
    eval: &EvalInfo,
    planned: &CasePlanned,
    case: &EarlierCase,
    kept: bool,
    found: &mut CaseMismatches<'_>,
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

impl CaseMismatches<'_> {
    fn reasons(&self, run: &str, earlier: &EarlierRun, prepared: &PreparedRun) -> Vec<String> {
        let (then, now) = self.samples;
        let was = if self.fewer.count == 1 { "was" } else { "were" };
        [
            self.input.say(|cases| format!("the input of {cases} changed")),
            self.target.say(|cases| format!("the target of {cases} changed")),
            self.grading.say(|cases| format!("the grader of {cases} changed")),
            self.fewer.say(|cases| {
                format!("{cases} {was} planned with {then} samples, but only {now} are requested now; samples can be \
                     added, not removed")
            }),
            self.gone(earlier, prepared).map(|gone| format!("the suite (or the selection) no longer has {gone} of \
                 {run}")),
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
                    let shown = |case| eval.map_or(case, |eval| eval.info.shown_case(case));
                    names.extend(gone.map(|(case, _)| format!("{id}/{}", shown(case))));
                }
                Some(_) => {}
            }
        }
        (!names.is_empty()).then(|| listed(names))
    }
}
