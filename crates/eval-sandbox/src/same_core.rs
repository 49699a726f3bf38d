//! A worker's thread and its job on one core, as long as the job answers soon.
//!
//! The thread, the fork server and the candidate wait for each other, so that only one of them ever
//! runs. Waking a process on another core, which may sleep, takes longer than most of what they do.
//! So a job begins on the core that the thread is on. One that takes longer than [`PATIENCE`] is
//! freed, so that it may use every core; after some quick answers it is bound again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_getcpu, sched_setaffinity};

use super::memory;

/// This number of quick answers in a row binds a job that was freed.
const QUICK_ANSWERS: u32 = 3;
/// An answer within this time is quick.
const QUICK: Duration = Duration::from_micros(500);
/// How long the thread waits for a sign of the job before it frees it.
pub(super) const PATIENCE: Duration = Duration::from_millis(5);

/// Cores that some thread of this process is bound to. Two jobs on one core would wait for each
/// other.
static TAKEN: [AtomicBool; CpuSet::MAX_CPU] = [const { AtomicBool::new(false) }; CpuSet::MAX_CPU];

/// The binding of the calling thread and of the processes of one job. Dropping it frees the thread.
#[derive(Default)]
pub(super) struct SameCore {
    quick: u32,
    bound: Option<CoreBinding>,
}

struct CoreBinding {
    core: usize,
    /// The cores that the thread could use before.
    before: CpuSet,
}

impl SameCore {
    /// Binds the calling thread to the core that it is on, unless another thread is bound to that.
    pub fn bind() -> SameCore {
        SameCore {
            quick: 0,
            bound: CoreBinding::here(),
        }
    }

    /// The core; `None` when nothing is bound.
    pub fn core(&self) -> Option<usize> {
        self.bound.as_ref().map(|bound| bound.core)
    }

    /// Lets a process use the cores that the thread may use now.
    pub fn apply(&self, process: u32) {
        if let Some(set) = allowed_here() {
            set_allowed(process, &set);
        }
    }

    /// Takes note of how long an answer took, and binds a job that was freed when it pays.
    /// `processes`: those of the job.
    pub fn answered(&mut self, took: Duration, processes: impl FnOnce() -> Vec<u32>) {
        self.quick = if took <= QUICK {
            self.quick.saturating_add(1)
        } else {
            0
        };
        if self.quick == QUICK_ANSWERS && self.bound.is_none() {
            self.bound = CoreBinding::here();
            if self.bound.is_some() {
                memory::thread_ids(&processes()).for_each(|thread| self.apply(thread));
            }
        }
    }

    /// Frees the thread and all threads of these processes, those of the job.
    pub fn free(&mut self, processes: impl Fn() -> Vec<u32>) {
        self.quick = 0;
        let Some(bound) = self.release() else { return };
        // The second look finds what was started during the first.
        for _ in 0..2 {
            memory::thread_ids(&processes()).for_each(|thread| set_allowed(thread, &bound.before));
        }
    }

    fn release(&mut self) -> Option<CoreBinding> {
        let bound = self.bound.take()?;
        set_allowed(0, &bound.before);
        if let Some(taken) = TAKEN.get(bound.core) {
            taken.store(false, Ordering::Relaxed);
        }
        Some(bound)
    }
}

impl Drop for SameCore {
    fn drop(&mut self) {
        self.release();
    }
}

impl CoreBinding {
    fn here() -> Option<CoreBinding> {
        let before = allowed_here()?;
        let core = sched_getcpu();
        let taken = TAKEN.get(core)?;
        if before.count() < 2 || taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        let mut only = CpuSet::new();
        only.set(core);
        set_allowed(0, &only);
        Some(CoreBinding { core, before })
    }
}

/// The cores that the calling thread may use.
fn allowed_here() -> Option<CpuSet> {
    sched_getaffinity(None).ok()
}

/// Of a thread, 0 for the calling one. Without effect on one that has ended: where a thread runs
/// changes no result.
fn set_allowed(thread: u32, set: &CpuSet) {
    let _ = sched_setaffinity(Pid::from_raw(thread as i32), set);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores() -> Vec<usize> {
        let set = allowed_here().unwrap();
        (0..CpuSet::MAX_CPU)
            .filter(|core| set.is_set(*core))
            .collect()
    }

    #[test]
    fn a_thread_is_bound_until_its_job_is_freed_or_over() {
        std::thread::spawn(|| {
            let before = cores();
            let mut same = SameCore::bind();
            assert_eq!(
                cores().len(),
                if before.len() > 1 { 1 } else { before.len() }
            );
            same.free(Vec::new);
            assert_eq!(cores(), before);
            same.answered(Duration::ZERO, Vec::new);
            same.answered(QUICK * 2, Vec::new);
            (1..QUICK_ANSWERS).for_each(|_| same.answered(Duration::ZERO, Vec::new));
            assert_eq!(cores(), before, "not enough quick answers in a row");
            same.answered(Duration::ZERO, Vec::new);
            assert_eq!(
                cores().len(),
                if before.len() > 1 { 1 } else { before.len() }
            );
            drop(same);
            assert_eq!(cores(), before, "the thread serves other jobs next");
        })
        .join()
        .unwrap();
    }
}
