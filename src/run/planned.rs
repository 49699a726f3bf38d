//! The plan as the journal tells it.

use super::RunError;
use super::prepare::Prepared;
use super::recorder::Recorder;
use crate::model::{CasePlanned, CasesPlanned, Eval, EvalPlanned, Event, Plan};

/// Cases in one `cases_planned` event.
const CHUNK: usize = 500;

/// The cases of an eval, in its order. In a shard each says its place in the whole eval.
pub(super) fn case_planned(eval: &Eval, shard: bool) -> impl Iterator<Item = CasePlanned> + '_ {
    eval.cases.outlines().enumerate().map(move |(at, case)| CasePlanned {
        id: case.id.to_owned(),
        name: case.name.map(str::to_owned),
        samples: Prepared::samples(case),
        graders: case.profile.grader_types(),
        input_hash: case.input_hash.to_string(),
        grading_hash: case.grading_hash.to_string(),
        target_hash: case.profile.target_hash.map(|hash| hash.to_string()),
        tags: case.profile.tags.iter().filter(|tag| !eval.info.tags.contains(tag)).cloned().collect(),
        position: eval.cases.position(at).filter(|_| shard).and_then(|place| u32::try_from(place).ok()),
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
