//! What to do about a phase.

use crate::model::StepResult;

pub fn of_steps(steps: &[StepResult]) -> Vec<String> {
    let evals = steps.iter().filter_map(|step| step.eval.as_ref());
    evals.flat_map(|eval| eval.eval_report.recommendations.iter().cloned()).collect()
}
