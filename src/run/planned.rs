//! The plan as the journal tells it.

use std::collections::BTreeSet;

use super::RunError;
use super::prepare::Prepared;
use super::recorder::Recorder;
use crate::model::{CasePlanned, CasesPlanned, Eval, EvalPlanned, Event, Plan};

/// Cases in one `cases_planned` event.
const CHUNK: usize = 500;

/// The cases of an eval, in its order. In a shard each says its place in the whole eval.
pub(super) fn case_planned(eval: &Eval, shard: bool) -> impl Iterator<Item = CasePlanned> + '_ {
    let _ = shard;
    eval.cases.iter().map(|case| CasePlanned {
        id: case.id.clone(),
        name: case.name.clone(),
        samples: Prepared::samples(case),
        graders: {
            let types: BTreeSet<_> =
                case.grading.graders.iter().map(|grader| grader.kind.grader_type()).collect();
            types.into_iter().collect()
        },
        input_hash: case.input_hash.clone(),
        grading_hash: case.grading_hash.clone(),
        target_hash: None,
        position: None,
    })
}

/// Records every eval and all its cases.
pub(super) fn record_plan(plan: &Plan, shard: bool, recorder: &mut Recorder<'_>) -> Result<(), RunError> {
    for eval in &plan.evals {
        record_eval(eval, eval.cases.len(), recorder)?;
        record_cases(&eval.info.id, case_planned(eval, shard), recorder)?;
    }
    Ok(())
}

pub(super) fn record_eval(eval: &Eval, cases: usize, recorder: &mut Recorder<'_>) -> Result<(), RunError> {
    recorder.record(Event::EvalPlanned(EvalPlanned { eval: eval.info.clone(), cases }))
}

/// Records cases in chunks.
pub(super) fn record_cases(
    eval: &str,
    mut cases: impl Iterator<Item = CasePlanned>,
    recorder: &mut Recorder<'_>,
) -> Result<(), RunError> {
    loop {
        let chunk: Vec<CasePlanned> = cases.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            return Ok(());
        }
        recorder.record(Event::CasesPlanned(CasesPlanned { eval: eval.to_owned(), cases: chunk }))?;
    }
}

/// A fingerprint of the suite's target; empty without one.
pub(super) fn target_hash(plan: &Plan) -> String {
    use sha2::{Digest, Sha256};
    let Some(target) = &plan.target else { return String::new() };
    let text = serde_json::to_string(target).unwrap_or_default();
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
