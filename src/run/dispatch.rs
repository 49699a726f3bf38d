//! The dispatcher: starts samples and records what comes back, until all are done or the run is
//! ended early.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::MissedTickBehavior;

use super::RunError;
use super::cancel::{CancelLevel, CancelSwitch};
use super::queue::{SampleQueue, SampleWork};
use super::recorder::{RunRecorder, TRAFFIC};
use super::sample::{SampleAttempts, SampleContext, fault, run_sample, unrecorded};
use crate::model::{Cause, Eval, Event, Outcome, PlanSettings, SampleFinished, SampleSkipped};
use eval_base::clock::{Clock, rfc3339};

/// Why samples that did not start were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DispatchEnd {
    Complete,
    Early(Cause),
}

pub(super) struct Dispatcher<'a, 'b> {
    pub settings: &'a PlanSettings,
    pub bench: SampleContext,
    pub clock: &'a dyn Clock,
    pub cancel: CancelSwitch,
    pub recorder: &'a mut RunRecorder<'b>,
}

/// What tasks run, each in order, by their task.
type RunningTasks = HashMap<Id, Vec<SampleWork>>;

/// Samples in one task when all they need is at hand: short enough that little is lost with a run
/// that is killed.
const BATCH: usize = 32;

/// Samples that are recorded as skipped with one write.
const SKIPPED: usize = 1000;

/// A task's samples and what came of them.
type SampleTasks = JoinSet<Vec<SampleAttempts>>;

impl Dispatcher<'_, '_> {
    /// Runs everything, or what can be run before the run is ended early; records what was left
    /// out, but for samples that never started in a run that was interrupted: of those a journal
    /// need say nothing, and there may be very many.
    pub async fn drive(mut self, mut queue: SampleQueue) -> Result<DispatchEnd, RunError> {
        let mut tasks = SampleTasks::new();
        let mut running = RunningTasks::new();
        let ending = self.run(&mut queue, &mut tasks, &mut running).await;
        // Also when the journal could not be written: nothing goes on unseen.
        tasks.shutdown().await;
        self.look();
        let ending = ending?;
        if let DispatchEnd::Early(cause) = ending {
            let mut stopped: Vec<&SampleWork> = running.values().flatten().collect();
            stopped.sort_unstable_by_key(|work| (work.place, work.sample));
            let stopped = stopped
                .into_iter()
                .map(|work| skipped(&work.eval, work.case_id(), work.sample, cause));
            self.recorder.record_all(stopped.collect())?;
            if cause != Cause::Interrupted {
                let mut rest = queue
                    .drain()
                    .map(|left| skipped(&left.eval, left.case_id(), left.sample, cause));
                loop {
                    let some: Vec<Event> = rest.by_ref().take(SKIPPED).collect();
                    if some.is_empty() {
                        break;
                    }
                    self.recorder.record_all(some)?;
                }
            }
        }
        Ok(ending)
    }

    async fn run(
        &mut self,
        queue: &mut SampleQueue,
        tasks: &mut SampleTasks,
        running: &mut RunningTasks,
    ) -> Result<DispatchEnd, RunError> {
        let mut ending = DispatchEnd::Complete;
        let mut failed = 0usize;
        let limit: Option<Duration> = self.settings.timeout_global;
        let deadline = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(deadline);
        let mut looks = tokio::time::interval(TRAFFIC);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let cancel = self.cancel.clone();
        let mut interrupted = false;
        loop {
            // Ctrl-C may have come while the sandbox was opened: then nothing starts.
            let cancelled = cancel.level() >= CancelLevel::Finish;
            if ending == DispatchEnd::Complete && cancelled && !queue.is_empty() {
                ending = DispatchEnd::Early(Cause::Interrupted);
            }
            if ending == DispatchEnd::Complete {
                self.start(queue, tasks, running);
            }
            if tasks.is_empty() {
                return Ok(ending);
            }
            tokio::select! {
                biased;
                () = cancel.reached(CancelLevel::Stop) => {
                    return Ok(DispatchEnd::Early(Cause::Interrupted));
                }
                () = cancel.reached(CancelLevel::Finish), if !interrupted => {
                    interrupted = true;
                    self.bench.graders.interrupt();
                    // Also when the run is being ended for another reason: what is under way may be
                    // given up.
                    ending = DispatchEnd::Early(Cause::Interrupted);
                }
                // What is only being finished is held to the run's time, too.
                () = &mut deadline => {
                    let early = DispatchEnd::Early(Cause::GlobalTimeout);
                    return Ok(if ending == DispatchEnd::Complete { early } else { ending });
                }
                Some(joined) = tasks.join_next_with_id() => {
                    let mut done = take(running, joined);
                    // What has ended meanwhile goes into the same write.
                    while done.len() < BATCH && let Some(joined) = tasks.try_join_next_with_id() {
                        done.extend(take(running, joined));
                    }
                    for (work, ran) in &done {
                        queue.done(work);
                        let outcome = ran.attempts.last().map(|attempt| attempt.verdict.outcome);
                        failed += usize::from(outcome == Some(Outcome::Failed));
                    }
                    let refused = self.finished(done)?;
                    if ending == DispatchEnd::Complete && refused && !queue.is_empty() {
                        ending = DispatchEnd::Early(Cause::Budget);
                    }
                    let limit = self.settings.max_fail;
                    if ending == DispatchEnd::Complete && limit.is_some_and(|limit| failed >= limit) && !queue.is_empty() {
                        ending = DispatchEnd::Early(Cause::MaxFail);
                    }
                }
                _ = looks.tick() => self.look(),
            }
        }
    }

    fn start(
        &mut self,
        queue: &mut SampleQueue,
        tasks: &mut SampleTasks,
        running: &mut RunningTasks,
    ) {
        // With a limit of failures each sample is counted before the next one starts.
        let most = if self.settings.max_fail.is_some() {
            1
        } else {
            BATCH
        };
        let under_way = self
            .settings
            .in_flight
            .max(self.settings.max_workers)
            .max(1);
        while running.len() < under_way {
            let batch = queue.next_batch(most, |case| self.bench.is_cheap(case));
            if batch.is_empty() {
                return;
            }
            for work in &batch {
                self.recorder
                    .started(&work.eval.info.id, work.case_id(), work.sample);
            }
            let (bench, its_batch) = (self.bench.clone(), batch.clone());
            let handle = tasks.spawn(async move {
                let mut results = Vec::with_capacity(its_batch.len());
                for work in &its_batch {
                    // What has not begun is left for the run that goes on.
                    if !results.is_empty() && bench.graders.is_interrupted() {
                        break;
                    }
                    results.push(run_sample(&bench, work).await);
                }
                results
            });
            running.insert(handle.id(), batch);
        }
    }

    /// Records what came of samples; true when one was not asked for because the budget is spent.
    fn finished(&mut self, done: Vec<(SampleWork, SampleAttempts)>) -> Result<bool, RunError> {
        let finished_at = rfc3339(self.clock.now());
        let refused = done.iter().any(|(_, ran)| ran.attempts.is_empty());
        let event = |(work, ran): (SampleWork, SampleAttempts)| match unrecorded(&ran.attempts) {
            Some(cause) => skipped(&work.eval, work.case_id(), work.sample, cause),
            None => Event::SampleFinished(Box::new(SampleFinished {
                eval: work.eval.info.id.clone(),
                case: work.case_id().to_owned(),
                sample: work.sample,
                attempts: ran.attempts,
                finished_at: finished_at.clone(),
                reused_from: ran.reused_from,
            })),
        };
        self.recorder
            .record_all(done.into_iter().map(event).collect())?;
        Ok(refused)
    }

    fn look(&mut self) {
        self.recorder.look(self.bench.targets.models());
    }
}

fn skipped(eval: &Eval, case: &str, sample: u32, cause: Cause) -> Event {
    let (eval, case) = (eval.info.id.clone(), case.to_owned());
    Event::SampleSkipped(SampleSkipped {
        eval,
        case,
        sample,
        cause,
    })
}

/// Pairs what a task gave with its work. A task that panicked is an error of the harness, not of
/// the outputs.
fn take(
    running: &mut RunningTasks,
    joined: Result<(Id, Vec<SampleAttempts>), JoinError>,
) -> Vec<(SampleWork, SampleAttempts)> {
    let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
    let Some(batch) = running.remove(&id) else {
        return Vec::new();
    };
    match joined {
        Ok((_, results)) => batch.into_iter().zip(results).collect(),
        Err(error) => {
            let reason = format!("internal error in eval-harness: {error}");
            batch
                .into_iter()
                .map(|work| (work, vec![fault(reason.clone())].into()))
                .collect()
        }
    }
}
