//! From a plan to what will run: targets opened, samples counted, thresholds answerable.

use std::sync::Arc;

use super::RunError;
use super::planned::BuiltCases;
use super::reach::{PlannedEval, out_of_reach};
use crate::gate::{PlannedExtent, unanswerable};
use crate::load::{part_of_plan, too_few_evals};
use crate::model::{CaseOutline, Eval, EvalType, MetricName, PartSelector, Plan, PlannedSamples};
use crate::target::{RunTargets, TargetError};
use eval_models::RunModels;

/// A plan whose targets are open and whose cases all know their number of samples.
pub struct PreparedRun {
    pub plan: Plan,
    pub targets: Arc<RunTargets>,
    /// Sentences for people, before the run.
    pub warnings: Vec<String>,
}

impl PreparedRun {
    /// Samples of a case; [`prepare`] has settled them all.
    pub fn samples(case: CaseOutline<'_>) -> u32 {
        case.samples.unwrap_or(1)
    }

    /// Keeps cases that were built until they run.
    pub(super) fn hold(&mut self, built: Vec<BuiltCases>) {
        for (eval, built) in self.plan.evals.iter_mut().zip(built) {
            if !built.is_empty() {
                let cases = eval.cases.holding(built);
                *eval = Arc::new(Eval {
                    cases,
                    info: eval.info.clone(),
                    parallel: eval.parallel,
                    prompts: eval.prompts.clone(),
                });
            }
        }
    }

    pub fn total_samples(&self) -> usize {
        let cases = self
            .plan
            .evals
            .iter()
            .flat_map(|eval| eval.cases.outlines());
        cases.map(|case| PreparedRun::samples(case) as usize).sum()
    }
}

/// Thresholds that this plan can't answer, in sentences. `samples` of a case of an eval; `None`
/// when it is not among those that are meant.
pub(super) fn unanswered(
    plan: &Plan,
    samples: impl Fn(&Eval, CaseOutline<'_>) -> Option<u32>,
) -> Vec<String> {
    let extent = |part: Option<&PartSelector>, evals: &[Arc<Eval>]| {
        // Of what is run again nobody chose the types; a threshold on one that is not among them
        // stays undecided. And a shard need not have of a part of the run what the others have.
        let open = plan.again || part.is_some() && plan.shard.is_some();
        let kinds = match open {
            true => [EvalType::Capability, EvalType::Regression].into(),
            false => evals.iter().map(|eval| eval.info.kind).collect(),
        };
        let samples = PlannedSamples::of(evals, &samples);
        let mut profiles = evals.iter().flat_map(|eval| eval.cases.profiles());
        let judged =
            open || profiles.any(|profile| profile.graders.iter().any(|g| g.panel.is_some()));
        PlannedExtent {
            samples,
            kinds,
            judged,
        }
    };
    let whole = extent(None, &plan.evals);
    // As above: what is run again, or a shard, is not all that the thresholds look at.
    let whole_gate = !plan.again && plan.shard.is_none();
    let scope = plan.settings.interval_scope;
    let thresholds = plan.gate.thresholds.iter().filter(|_| whole_gate);
    let mut problems: Vec<String> = thresholds
        .filter_map(|threshold| too_few_evals(threshold, &plan.evals, scope))
        .collect();
    problems.extend(unanswerable(
        &plan.gate,
        &plan.composites,
        |part| match part {
            None => whole.clone(),
            Some(part) => extent(Some(part), &part_of_plan(part, &plan.evals)),
        },
    ));
    problems
}

/// Thresholds on ends of intervals that this plan is too small to meet, in sentences. A shard
/// decides no gate.
pub fn too_few(plan: &Plan) -> Vec<String> {
    let planned = |evals: &[Arc<Eval>]| {
        let of = |eval: &Arc<Eval>| PlannedEval {
            kind: eval.info.kind,
            weight: eval.info.weight,
            samples: eval.cases.outlines().map(PreparedRun::samples).collect(),
        };
        evals.iter().map(of).collect::<Vec<PlannedEval>>()
    };
    if plan.shard.is_some() {
        return Vec::new();
    }
    out_of_reach(
        &plan.gate.thresholds,
        plan.settings.interval_scope,
        |part| match part {
            None => planned(&plan.evals),
            Some(part) => planned(&part_of_plan(part, &plan.evals)),
        },
    )
}

/// True when a model judges anything.
pub(super) fn has_judges(plan: &Plan) -> bool {
    let mut profiles = plan.evals.iter().flat_map(|eval| eval.cases.profiles());
    profiles.any(|profile| profile.graders.iter().any(|grader| grader.panel.is_some()))
}

/// Opens what answers of the plan's judges come from and go to.
pub(super) fn prepare_judges(plan: &Plan, models: &RunModels) -> Result<(), RunError> {
    for judge in plan.judge_models() {
        models.prepare(&judge.endpoint).map_err(TargetError::from)?;
    }
    Ok(())
}

/// Opens the targets and settles how many samples each case has: what its author said, else what a
/// recording holds, else the largest k that a threshold or the list of k names.
pub fn prepare(mut plan: Plan) -> Result<PreparedRun, RunError> {
    let targets = RunTargets::open(&plan)?;
    // Outlines that nobody else holds are settled without a copy.
    plan.whole = Vec::new();
    let asked = plan.settings.ks.iter().copied().chain(
        plan.gate
            .thresholds
            .iter()
            .filter_map(|t| t.metric.parse::<MetricName>().ok()?.metric.k()),
    );
    let largest_k = asked.max().unwrap_or(1).max(1);
    for eval in &mut plan.evals {
        if eval.cases.outlines().any(|case| case.samples.is_none()) {
            // The plan alone holds its evals, so that nothing is copied here.
            let Eval { info, cases, .. } = Arc::make_mut(eval);
            cases.settle(|case| {
                targets
                    .recorded_samples(&info.id, case.id, case.profile.target.as_ref())
                    .unwrap_or(largest_k)
            });
        }
    }
    let problems = unanswered(&plan, |_, case| Some(PreparedRun::samples(case)));
    if !problems.is_empty() {
        return Err(RunError::Unanswerable(problems));
    }
    let mut warnings = targets.warnings().to_vec();
    warnings.extend(too_few(&plan));
    Ok(PreparedRun {
        plan,
        targets: Arc::new(targets),
        warnings,
    })
}
