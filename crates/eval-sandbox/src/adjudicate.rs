//! Time-outs on a busy machine: whether a program lacked the processor is measured, and one that
//! did is tried once more, alone.
//!
//! A program that ran out of time is slow, or it was not let run. The scheduler knows: it counts
//! for each thread how long it ran and how long it was ready to run and had to wait. Those counts
//! are read before a late job is killed ([`CpuShortage`]).

use std::future::Future;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::SandboxError;
use super::memory::ScheduledTime;
use super::types::{
    BuildResult, CallOutcome, FunctionReport, ProgramEnding, ProgramResult, QueryFailure,
    QueryReport, RunFailure, TestReport, TestVerdict,
};

/// Jobs per worker that may stand in the pool's own queue, so that no worker waits for the gate.
const QUEUED: usize = 4;

/// What a late job had of the processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuShortage {
    /// How long its processes have existed.
    pub age: Duration,
    /// The time that ran out: that of the whole program, or that of one call.
    pub window: Duration,
    /// Processor time of the whole tree, also of what ended.
    pub cpu: Duration,
    /// Of the threads that lived at the end; `None`: the kernel does not tell.
    pub living: Option<ScheduledTime>,
    /// How long our own thread, which talks to the job, waited for a processor.
    pub ours: Duration,
    /// What a hypervisor took away, for one processor on average.
    pub stolen: Duration,
}

impl CpuShortage {
    /// Whether the job might have been in time on a machine of its own. `others`: jobs of ours ran
    /// meanwhile.
    pub fn starved(&self, others: bool) -> bool {
        let tenth = self.window / 10;
        // It ran for all of its time but a tenth: no second try would help.
        let missing = self.age.saturating_sub(self.cpu);
        if missing <= tenth {
            return false;
        }
        let Some(living) = self.living else {
            return others;
        };
        let waited = living
            .delay
            .saturating_add(self.ours)
            .saturating_add(self.stolen);
        // Nobody knows how long processes that have ended waited.
        let unknown = self.cpu.saturating_sub(living.cpu);
        waited >= self.window / 20 || (others && unknown >= tenth)
    }
}

/// What a job that is over came to.
pub(super) trait JobOutcome {
    fn out_of_time(&self) -> bool;
    fn mark_adjudicated(&mut self);
}

impl JobOutcome for ProgramResult {
    fn out_of_time(&self) -> bool {
        self.ending == ProgramEnding::TimedOut
    }
    fn mark_adjudicated(&mut self) {
        self.adjudicated = true;
    }
}

const TIMED_OUT: RunFailure = RunFailure::Ended(ProgramEnding::TimedOut);

impl<T> JobOutcome for FunctionReport<T> {
    fn out_of_time(&self) -> bool {
        let late = |outcome: &CallOutcome<T>| match outcome {
            CallOutcome::Failed(failure) => *failure == TIMED_OUT,
            CallOutcome::NotRun => true,
            _ => false,
        };
        self.load_failure.as_ref() == Some(&TIMED_OUT)
            || self.calls.iter().any(|call| late(&call.outcome))
    }
    fn mark_adjudicated(&mut self) {
        self.adjudicated = true;
    }
}

impl JobOutcome for TestReport {
    fn out_of_time(&self) -> bool {
        self.verdict == TestVerdict::Failed(TIMED_OUT)
    }
    fn mark_adjudicated(&mut self) {
        self.adjudicated = true;
    }
}

impl JobOutcome for BuildResult {
    fn out_of_time(&self) -> bool {
        self.result.out_of_time()
    }
    fn mark_adjudicated(&mut self) {
        self.result.mark_adjudicated();
    }
}

impl JobOutcome for QueryReport {
    fn out_of_time(&self) -> bool {
        self.outcome.as_ref().err() == Some(&QueryFailure::Ended(ProgramEnding::TimedOut))
    }
    fn mark_adjudicated(&mut self) {
        self.adjudicated = true;
    }
}

/// Lets many jobs through at once, or one alone, in the order in which they ask.
#[derive(Debug)]
pub(super) struct AdmissionGate {
    places: Semaphore,
    all: u32,
}

impl AdmissionGate {
    pub fn new(workers: usize) -> AdmissionGate {
        let all = workers
            .max(1)
            .saturating_mul(QUEUED)
            .min(Semaphore::MAX_PERMITS >> 1);
        let all = u32::try_from(all).unwrap_or(u32::MAX >> 1);
        AdmissionGate {
            places: Semaphore::new(all as usize),
            all,
        }
    }

    /// Waits for a place among the many, which is given back when the answer is dropped.
    pub async fn enter(&self) -> Result<SemaphorePermit<'_>, SandboxError> {
        self.places.acquire().await.map_err(SandboxError::lost)
    }

    /// Whether anything but the caller's own job is under way.
    fn others(&self) -> bool {
        self.places.available_permits() + 1 < self.all as usize
    }
}

/// Runs a job and, when it ran out of time for lack of a processor, once more with the gate closed
/// to all others; then the second result counts. `run` gives what the job came to and the shortages
/// of its time-outs. Dropping the future opens the gate again.
pub(super) async fn adjudicated<T: JobOutcome, Running>(
    gate: &AdmissionGate,
    run: impl Fn() -> Running,
    starved: impl Fn(&CpuShortage, bool) -> bool,
) -> Result<T, SandboxError>
where
    Running: Future<Output = Result<(T, Vec<CpuShortage>), SandboxError>>,
{
    let place = gate.enter().await?;
    let (first, shortages) = run().await?;
    let others = gate.others();
    // Whoever waits for all places must not keep one.
    drop(place);
    if !first.out_of_time() || !shortages.iter().any(|shortage| starved(shortage, others)) {
        return Ok(first);
    }
    let _alone = gate
        .places
        .acquire_many(gate.all)
        .await
        .map_err(SandboxError::lost)?;
    let (mut second, _) = run().await?;
    second.mark_adjudicated();
    Ok(second)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A program with a limit of one second: milliseconds on the processor and waiting for one.
    fn shortage(cpu: u64, delay: u64) -> CpuShortage {
        let ms = Duration::from_millis;
        let living = Some(ScheduledTime {
            cpu: ms(cpu),
            delay: ms(delay),
        });
        CpuShortage {
            age: SECOND,
            window: SECOND,
            cpu: ms(cpu),
            living,
            ours: ms(0),
            stolen: ms(0),
        }
    }

    #[test]
    fn who_had_the_processor_or_slept_was_not_starved() {
        assert!(!shortage(995, 5).starved(true), "busy all the time");
        assert!(!shortage(900, 100).starved(true), "a tenth missing");
        assert!(
            !shortage(3_900, 4_000).starved(true),
            "threads that only hindered each other"
        );
        assert!(!shortage(20, 2).starved(true), "it slept, whoever else ran");
    }

    #[test]
    fn who_waited_for_a_processor_was_starved() {
        assert!(shortage(500, 490).starved(false));
        assert!(
            shortage(10, 50).starved(false),
            "half-asleep, but kept waiting when it woke"
        );
        assert!(
            CpuShortage {
                ours: SECOND / 2,
                ..shortage(100, 0)
            }
            .starved(false),
            "we asked late"
        );
        assert!(
            CpuShortage {
                stolen: SECOND / 2,
                ..shortage(400, 0)
            }
            .starved(false),
            "the hypervisor was elsewhere"
        );
    }

    #[test]
    fn what_is_not_known_counts_only_when_others_ran() {
        let untold = CpuShortage {
            living: None,
            ..shortage(300, 0)
        };
        assert!(untold.starved(true) && !untold.starved(false));
        // Most of its time was used by children that have ended.
        let ended = CpuShortage {
            cpu: SECOND / 2,
            ..shortage(10, 0)
        };
        assert!(ended.starved(true) && !ended.starved(false));
    }

    #[test]
    fn a_late_call_is_measured_by_its_own_time() {
        // Nine seconds of work, then a call of one second that got half of it.
        let ms = Duration::from_millis;
        let living = Some(ScheduledTime {
            cpu: ms(9_500),
            delay: ms(480),
        });
        let late = CpuShortage {
            age: ms(10_000),
            window: SECOND,
            cpu: ms(9_500),
            living,
            ..shortage(0, 0)
        };
        assert!(late.starved(false));
        let slow = ScheduledTime {
            cpu: ms(9_990),
            delay: ms(5),
        };
        assert!(
            !CpuShortage {
                cpu: ms(9_990),
                living: Some(slow),
                ..late
            }
            .starved(false)
        );
    }

    #[derive(Debug, PartialEq)]
    struct Told {
        late: bool,
        adjudicated: bool,
    }

    impl JobOutcome for Told {
        fn out_of_time(&self) -> bool {
            self.late
        }
        fn mark_adjudicated(&mut self) {
            self.adjudicated = true;
        }
    }

    fn told(late: bool) -> (Told, Vec<CpuShortage>) {
        (
            Told {
                late,
                adjudicated: false,
            },
            vec![shortage(0, 0)],
        )
    }

    #[tokio::test]
    async fn only_a_starved_time_out_is_tried_again_and_the_second_result_counts() {
        for (late, starved, tries) in [(false, true, 1), (true, false, 1), (true, true, 2)] {
            let gate = AdmissionGate::new(2);
            let tried = Cell::new(0);
            let run = || async {
                tried.set(tried.get() + 1);
                Ok(told(late && tried.get() == 1))
            };
            let result = adjudicated(&gate, run, |_, _| starved).await.unwrap();
            assert_eq!(tried.get(), tries);
            assert_eq!(
                result,
                Told {
                    late: late && tries == 1,
                    adjudicated: tries == 2
                }
            );
        }
    }

    #[tokio::test]
    async fn a_second_time_out_stands() {
        let gate = AdmissionGate::new(1);
        let result = adjudicated(&gate, || async { Ok(told(true)) }, |_, _| true)
            .await
            .unwrap();
        assert_eq!(
            result,
            Told {
                late: true,
                adjudicated: true
            }
        );
    }

    /// Ten jobs that all time out at once, each of which must be alone at its second try.
    #[tokio::test]
    async fn second_tries_are_alone_and_do_not_block_each_other() {
        let gate = AdmissionGate::new(2);
        let under_way = Cell::new(0);
        let most = RefCell::new(Vec::new());
        let job = async |late: bool| {
            let tried = Cell::new(0);
            let run = || async {
                tried.set(tried.get() + 1);
                under_way.set(under_way.get() + 1);
                for _ in 0..5 {
                    tokio::task::yield_now().await;
                    if tried.get() == 2 {
                        most.borrow_mut().push(under_way.get());
                    }
                }
                under_way.set(under_way.get() - 1);
                Ok(told(late))
            };
            adjudicated(&gate, run, |_, _| true)
                .await
                .unwrap()
                .adjudicated
        };
        let (a, b, c, d, e) = tokio::join!(job(true), job(true), job(false), job(true), job(true));
        let (f, g, h) = tokio::join!(job(false), job(true), job(true));
        assert_eq!(
            [a, b, c, d, e, f, g, h],
            [true, true, false, true, true, false, true, true]
        );
        assert_eq!(most.borrow().len(), 6 * 5);
        assert!(most.borrow().iter().all(|n| *n == 1), "{most:?}");
    }

    #[tokio::test]
    async fn who_gives_up_waiting_to_be_alone_leaves_the_gate_open() {
        let gate = AdmissionGate::new(1);
        let held = gate.places.acquire().await.unwrap();
        let waiting = adjudicated(&gate, || async { Ok(told(true)) }, |_, _| true);
        // It comes to its second try and waits there, because one place is taken.
        assert!(futures_poll_once(waiting).await.is_none());
        drop(held);
        assert_eq!(gate.places.available_permits(), QUEUED);
        let after = adjudicated(&gate, || async { Ok(told(false)) }, |_, _| true)
            .await
            .unwrap();
        assert!(!after.adjudicated);
    }

    /// Polls a future until it would wait, then drops it.
    async fn futures_poll_once<F: Future>(future: F) -> Option<F::Output> {
        let mut future = std::pin::pin!(future);
        tokio::select! {
            biased;
            output = &mut future => Some(output),
            () = tokio::task::yield_now() => None,
        }
    }

    #[tokio::test]
    async fn others_are_seen_and_oneself_is_not() {
        let gate = AdmissionGate::new(1);
        let seen = RefCell::new(Vec::new());
        let note = |_: &CpuShortage, others| {
            seen.borrow_mut().push(others);
            false
        };
        adjudicated(&gate, || async { Ok(told(true)) }, note)
            .await
            .unwrap();
        let other = gate.places.acquire().await.unwrap();
        adjudicated(&gate, || async { Ok(told(true)) }, note)
            .await
            .unwrap();
        drop(other);
        assert_eq!(*seen.borrow(), [false, true]);
    }
}
