//! The dispatcher: starts samples and records what comes back, until all are done or the run is
//! ended early.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::MissedTickBehavior;

use super::RunError;
use super::cancel::{Cancel, Level};
use super::queue::{Queue, Work};
use super::recorder::{Recorder, TRAFFIC};
use super::sample::{Bench, fault, run_sample, unrecorded};
use crate::model::{Attempt, Cause, Eval, Event, Outcome, SampleFinished, SampleSkipped, Settings};
use eval_base::clock::{Clock, rfc3339};

/// Why samples that did not start were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    Early(Cause),
}

pub(super) struct Dispatcher<'a, 'b> {
    pub settings: &'a Settings,
    pub bench: Bench,
    pub clock: &'a dyn Clock,
    pub cancel: Cancel,
    pub recorder: &'a mut Recorder<'b>,
}

/// What tasks run, each in order, by their task.
type Running = HashMap<Id, Vec<Work>>;

/// Samples in one task when all they need is at hand: short enough that little is lost with a run
/// that is killed.
const BATCH: usize = 32;

/// Samples that are recorded as skipped with one write.
const SKIPPED: usize = 1000;

/// A task's samples and what came of them.
type Tasks = JoinSet<Vec<Vec<Attempt>>>;

impl Dispatcher<'_, '_> {
    /// Runs everything, or what can be run before the run is ended early; records what was left
    /// out, but for samples that never started in a run that was interrupted: of those a journal
    /// need say nothing, and there may be very many.
    pub async fn drive(mut self, mut queue: Queue) -> Result<Ending, RunError> {
        let mut tasks = Tasks::new();
        let mut running = Running::new();
        let ending = self.run(&mut queue, &mut tasks, &mut running).await;
        // Also when the journal could not be written: nothing goes on unseen.
        tasks.shutdown().await;
        self.look();
        let ending = ending?;
        if let Ending::Early(cause) = ending {
            let mut stopped: Vec<&Work> = running.values().flatten().collect();
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
        queue: &mut Queue,
        tasks: &mut Tasks,
        running: &mut Running,
    ) -> Result<Ending, RunError> {
        let mut ending = Ending::Complete;
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
            let cancelled = cancel.level() >= Level::Finish;
            if ending == Ending::Complete && cancelled && !queue.is_empty() {
                ending = Ending::Early(Cause::Interrupted);
            }
            if ending == Ending::Complete {
                self.start(queue, tasks, running);
            }
            if tasks.is_empty() {
                return Ok(ending);
            }
            tokio::select! {
                biased;
                () = cancel.reached(Level::Stop) => {
                    return Ok(Ending::Early(Cause::Interrupted));
                }
                () = cancel.reached(Level::Finish), if !interrupted => {
                    interrupted = true;
                    self.bench.graders.interrupt();
                    // Also when the run is being ended for another reason: what is under way may be
                    // given up.
                    ending = Ending::Early(Cause::Interrupted);
                }
                // What is only being finished is held to the run's time, too.
                () = &mut deadline => {
                    let early = Ending::Early(Cause::GlobalTimeout);
                    return Ok(if ending == Ending::Complete { early } else { ending });
                }
                Some(joined) = tasks.join_next_with_id() => {
                    let mut done = take(running, joined);
                    // What has ended meanwhile goes into the same write.
                    while done.len() < BATCH && let Some(joined) = tasks.try_join_next_with_id() {
                        done.extend(take(running, joined));
                    }
                    for (work, attempts) in &done {
                        queue.done(work);
                        let outcome = attempts.last().map(|attempt| attempt.verdict.outcome);
                        failed += usize::from(outcome == Some(Outcome::Failed));
                    }
                    let refused = self.finished(done)?;
                    if ending == Ending::Complete && refused && !queue.is_empty() {
                        ending = Ending::Early(Cause::Budget);
                    }
                    let limit = self.settings.max_fail;
                    if ending == Ending::Complete && limit.is_some_and(|limit| failed >= limit) && !queue.is_empty() {
                        ending = Ending::Early(Cause::MaxFail);
                    }
                }
                _ = looks.tick() => self.look(),
            }
        }
    }

    fn start(&mut self, queue: &mut Queue, tasks: &mut Tasks, running: &mut Running) {
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
    fn finished(&mut self, done: Vec<(Work, Vec<Attempt>)>) -> Result<bool, RunError> {
        let finished_at = rfc3339(self.clock.now());
        let refused = done.iter().any(|(_, attempts)| attempts.is_empty());
        let event = |(work, attempts): (Work, Vec<Attempt>)| match unrecorded(&attempts) {
            Some(cause) => skipped(&work.eval, work.case_id(), work.sample, cause),
            None => Event::SampleFinished(Box::new(SampleFinished {
                eval: work.eval.info.id.clone(),
                case: work.case_id().to_owned(),
                sample: work.sample,
                attempts,
                finished_at: finished_at.clone(),
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
    running: &mut Running,
    joined: Result<(Id, Vec<Vec<Attempt>>), JoinError>,
) -> Vec<(Work, Vec<Attempt>)> {
    let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
    let Some(batch) = running.remove(&id) else {
        return Vec::new();
    };
    match joined {
        Ok((_, results)) => batch.into_iter().zip(results).collect(),
        Err(error) => {
            let reason = format!("a fault of eval-harness itself: {error}");
            batch
                .into_iter()
                .map(|work| (work, vec![fault(reason.clone())]))
                .collect()
        }
    }
}
