//! Taking samples of an earlier run into a new one: those whose output and grade stay are recorded
//! at once, those that are graded again wait for their turn.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::RunError;
use super::changed::{ChangePlanner, ChangeSource, SampleAction, has_unlisted_files};
use super::planned::CHUNK;
use super::prepare::PreparedRun;
use super::queue::SampleWork;
use super::recorder::RunRecorder;
use super::remaining::RemainingSamples;
use crate::journal::{load_trajectory, output_of};
use crate::model::{Environment, Event, ReuseCounts, ReusedFrom, SampleFinished};

/// Bytes of outputs in one write, about.
const CHUNK_BYTES: usize = 1 << 20;

/// Outputs of an earlier run that are graded again.
#[derive(Debug)]
pub(super) struct StoredSamples {
    pub source: Arc<ChangeSource>,
    samples: RemainingSamples,
    /// Eval and case, by their places in the plan, of commands that may read unlisted files.
    unlisted: HashSet<(usize, usize)>,
}

impl StoredSamples {
    /// The stored sample, when it is one of those and its outputs can still be read.
    pub fn get(&self, work: &SampleWork) -> Option<SampleFinished> {
        let (eval, case) = work.place;
        if !self.samples.wants(eval, case, work.sample) {
            return None;
        }
        let stored = load(
            &self.source,
            &work.eval.info.id,
            work.case_id(),
            work.sample,
        )?;
        let origin = ReusedFrom {
            run: origin(&self.source, &stored),
            graded_again: true,
            unlisted_files: self.unlisted.contains(&work.place),
        };
        Some(from(origin, stored))
    }
}

/// What is left after samples were taken over.
pub(super) struct ReusedSamples {
    pub remaining: RemainingSamples,
    pub stored: StoredSamples,
}

/// Records every sample that can be reused, after the plan.
pub(super) fn record_reused(
    prepared: &PreparedRun,
    source: &Arc<ChangeSource>,
    environment: &Environment,
    recorder: &mut RunRecorder<'_>,
) -> Result<ReusedSamples, RunError> {
    let planner = ChangePlanner::new(prepared, source, Some(environment));
    let (mut remaining, mut stored) = (RemainingSamples::none(), RemainingSamples::none());
    let (mut kept, mut unlisted) = (BTreeMap::new(), 0);
    let mut unlisted_cases = HashSet::new();
    let (mut events, mut bytes) = (Vec::new(), 0);
    for (eval_at, eval) in prepared.plan.evals.iter().enumerate() {
        remaining.add_eval();
        stored.add_eval();
        for (case_at, case) in eval.cases.outlines().enumerate() {
            let change = planner.case(eval, case);
            let unlisted_files = has_unlisted_files(prepared, eval, case);
            let samples = PreparedRun::samples(case);
            let (mut done, mut graded) = (Vec::new(), Vec::new());
            for sample in 0..samples {
                let ending = source.index.ending(&eval.info.id, case.id, sample);
                let (action, _) = change.sample(ending);
                // One whose output is gone runs.
                let taken = (action == SampleAction::Reuse)
                    .then(|| load(source, &eval.info.id, case.id, sample))
                    .flatten();
                done.push(taken.is_some());
                graded.push(action == SampleAction::GradeAgain);
                if action == SampleAction::GradeAgain && unlisted_files {
                    unlisted += 1;
                    unlisted_cases.insert((eval_at, case_at));
                }
                let Some(taken) = taken else { continue };
                unlisted += usize::from(unlisted_files);
                if let Some(ending) = ending {
                    *kept.entry(ending.outcome).or_default() += 1;
                }
                bytes += size(&taken);
                let origin = ReusedFrom {
                    run: origin(source, &taken),
                    graded_again: false,
                    unlisted_files,
                };
                let mut taken = from(origin, taken);
                for attempt in &mut taken.attempts {
                    let output = attempt.output.as_mut();
                    if let Some(left) = output.and_then(|output| output.workspace.as_mut()) {
                        left.refer_to(&source.paths.dir);
                    }
                }
                events.push(Event::SampleFinished(Box::new(taken)));
                if events.len() >= CHUNK || bytes > CHUNK_BYTES {
                    recorder.record_all(std::mem::take(&mut events))?;
                    bytes = 0;
                }
            }
            let is = |list: &[bool], sample: u32| list.get(sample as usize).copied() == Some(true);
            remaining.add_case(samples, |sample| is(&done, sample));
            stored.add_case(samples, |sample| !is(&graded, sample));
        }
    }
    recorder.record_all(events)?;
    recorder.resumed(prepared.total_samples(), &kept);
    if let Some(warning) = ReuseCounts::unlisted_warning(unlisted) {
        recorder.warned(&warning);
    }
    Ok(ReusedSamples {
        remaining,
        stored: StoredSamples {
            source: Arc::clone(source),
            samples: stored,
            unlisted: unlisted_cases,
        },
    })
}

/// A sample with its outputs, large ones included; `None` when one of them can't be read.
fn load(source: &ChangeSource, eval: &str, case: &str, sample: u32) -> Option<SampleFinished> {
    let mut stored = source.index.get(eval, case, sample)?.ok()?;
    for attempt in &mut stored.attempts {
        if attempt.stored.is_some() {
            attempt.output = output_of(&source.paths, attempt).ok()?;
            attempt.stored = None;
        }
        if let Some(output) = &mut attempt.output {
            load_trajectory(&source.paths, output).ok()?;
        }
    }
    Some(stored)
}

/// The run that called the target: it may be one before the earlier one.
fn origin(source: &ChangeSource, sample: &SampleFinished) -> String {
    let before = sample.reused_from.as_ref().map(|from| from.run.as_str());
    before.unwrap_or_else(|| source.called_in()).to_owned()
}

/// The sample as one of this run.
fn from(origin: ReusedFrom, sample: SampleFinished) -> SampleFinished {
    SampleFinished {
        reused_from: Some(Box::new(origin)),
        ..sample
    }
}

/// About how much memory a sample takes.
fn size(sample: &SampleFinished) -> usize {
    sample.attempts.iter().map(super::regrade::size).sum()
}
