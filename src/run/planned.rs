//! The plan as the journal tells it.

use std::sync::Arc;

use super::RunError;
use super::inputs::InputRenderer;
use super::prepare::PreparedRun;
use super::recorder::RunRecorder;
use crate::model::{
    Case, CasePlanned, CasesPlanned, Eval, EvalInfo, EvalPlanned, Event, Fingerprint, Plan,
};

/// Cases in one `cases_planned` event.
pub(super) const CHUNK: usize = 500;
/// Bytes of inputs in one event.
const CHUNK_BYTES: usize = 1 << 20;
/// About how much memory cases may take that are held until they run because they were built for
/// their inputs.
const BUILT_BYTES: usize = 32 << 20;

/// The cases of an eval, in its order, without their inputs. In a shard each says its place in the
/// whole eval.
pub(super) fn case_planned(eval: &Eval, shard: bool) -> impl Iterator<Item = CasePlanned> + '_ {
    eval.cases
        .outlines()
        .enumerate()
        .map(move |(at, case)| CasePlanned {
            id: case.id.to_owned(),
            name: case.name.map(str::to_owned),
            samples: PreparedRun::samples(case),
            graders: case.profile.grader_types(),
            input_hash: case.input_hash.to_string(),
            grading_hash: case.grading_hash.to_string(),
            data_hash: Some(case.data_hash.to_string()),
            target_hash: case.profile.target_hash.map(|hash| hash.to_string()),
            call_hash: Some(Fingerprint::of(&case.profile.call).to_string()),
            tags: case
                .profile
                .tags
                .iter()
                .filter(|tag| !eval.info.tags.contains(tag))
                .cloned()
                .collect(),
            position: eval
                .cases
                .position(at)
                .filter(|_| shard)
                .and_then(|place| u32::try_from(place).ok()),
            input: None,
            combine: case.profile.combine.clone().map(Box::new),
        })
}

/// Cases that were built for their inputs, by their places in their eval.
pub(super) type BuiltCases = Vec<(usize, Arc<Case>)>;

/// Records every eval and all its cases. Returns, by eval, cases that were built for that and need
/// not be built again.
pub(super) fn record_plan(
    plan: &Plan,
    shard: bool,
    inputs: InputRenderer<'_>,
    recorder: &mut RunRecorder<'_>,
) -> Result<Vec<BuiltCases>, RunError> {
    let mut room = BUILT_BYTES;
    let mut all = Vec::new();
    for eval in &plan.evals {
        record_eval(&eval.info, eval.cases.len(), recorder)?;
        let mut built = BuiltCases::new();
        let cases = case_planned(eval, shard).enumerate();
        record_cases(eval, cases, inputs, recorder, |at, bytes, case| {
            if bytes > 0 && bytes <= room {
                room -= bytes;
                built.push((at, case));
            }
        })?;
        all.push(built);
    }
    Ok(all)
}

pub(super) fn record_eval(
    eval: &EvalInfo,
    cases: usize,
    recorder: &mut RunRecorder<'_>,
) -> Result<(), RunError> {
    recorder.record(Event::EvalPlanned(EvalPlanned {
        eval: eval.clone(),
        cases,
    }))
}

/// Records cases of an eval in chunks, each given with its place there, ascending. `built` is given
/// those that had to be built for their inputs, with their places and about how much memory they
/// take.
pub(super) fn record_cases(
    eval: &Eval,
    cases: impl Iterator<Item = (usize, CasePlanned)>,
    inputs: InputRenderer<'_>,
    recorder: &mut RunRecorder<'_>,
    mut built: impl FnMut(usize, usize, Arc<Case>),
) -> Result<(), RunError> {
    let id = &eval.info.id;
    if !inputs.are_kept() {
        return record_chunks(id, cases.map(|(_, case)| case), recorder);
    }
    // Few enough to be held.
    let (places, cases): (Vec<usize>, Vec<CasePlanned>) = cases.unzip();
    let whole = eval.cases.stream(|at| places.binary_search(&at).is_ok());
    let with_input = cases.into_iter().zip(whole).map(|(mut planned, streamed)| {
        // One that can't be built any more says so in its samples.
        if let Ok(case) = streamed.case {
            planned.input = inputs.show(eval, &case);
            built(streamed.at, streamed.bytes, case);
        }
        planned
    });
    record_chunks(id, with_input, recorder)
}

fn record_chunks(
    eval: &str,
    mut cases: impl Iterator<Item = CasePlanned>,
    recorder: &mut RunRecorder<'_>,
) -> Result<(), RunError> {
    loop {
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        while chunk.len() < CHUNK
            && bytes < CHUNK_BYTES
            && let Some(case) = cases.next()
        {
            bytes += case.input.as_ref().map_or(0, |input| input.bytes());
            chunk.push(case);
        }
        if chunk.is_empty() {
            return Ok(());
        }
        recorder.record(Event::CasesPlanned(CasesPlanned {
            eval: eval.to_owned(),
            cases: chunk,
        }))?;
    }
}
