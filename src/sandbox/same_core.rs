//! Asker and candidate on one core, while short questions and answers alternate.
//!
//! Only one of the two ever runs, and a wake-up of a process on another core, which may sleep, takes longer than both of them
//! together. So after some quick answers the asking thread and the candidate are bound to the core that the thread is on. The
//! first answer that takes longer frees both, so that a call may use every core.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::memory;

/// So many quick answers in a row before the two are bound.
const QUICK_ANSWERS: u32 = 3;
/// An answer within this time is quick.
const QUICK: Duration = Duration::from_micros(500);
/// How long an answer may take before the two are freed.
pub(super) const PATIENCE: Duration = Duration::from_millis(1);

/// Cores that some thread of this process is bound to. Two pairs on one core would wait for each other.
static TAKEN: [AtomicBool; libc::CPU_SETSIZE as usize] =
    [const { AtomicBool::new(false) }; libc::CPU_SETSIZE as usize];

/// The binding of the calling thread and of the processes of one job.
#[derive(Default)]
pub(super) struct SameCore {
    quick: u32,
    bound: Option<Bound>,
}

struct Bound {
    core: usize,
    /// The cores that the thread could use before.
    before: libc::cpu_set_t,
}

impl SameCore {
    /// Whether thread and candidate are bound, so that an answer should not be waited for longer than [`PATIENCE`].
    pub fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// Takes note of how long an answer took, and binds the two when it pays. `processes`: those of the job.
    pub fn answered(&mut self, took: Duration, processes: impl FnOnce() -> Vec<u32>) {
        self.quick = if took <= QUICK { self.quick.saturating_add(1) } else { 0 };
        if self.quick == QUICK_ANSWERS && self.bound.is_none() {
            self.bind(&processes());
        }
    }

    fn bind(&mut self, processes: &[u32]) {
        let Some(before) = allowed(0) else { return };
        // SAFETY: no arguments; -1 on failure.
        let Ok(core) = usize::try_from(unsafe { libc::sched_getcpu() }) else { return };
        let Some(taken) = TAKEN.get(core) else { return };
        // SAFETY: the set is a live local and `core` is below CPU_SETSIZE.
        if unsafe { libc::CPU_COUNT(&before) } < 2 || taken.swap(true, Ordering::Relaxed) {
            return;
        }
        self.bound = Some(Bound { core, before });
        // SAFETY: all bytes zero is the empty set; `core` is below CPU_SETSIZE.
        let only = unsafe {
            let mut only: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut only);
            only
        };
        set_allowed(0, &only);
        processes.iter().for_each(|pid| set_allowed(*pid, &only));
    }

    /// Frees thread and processes; `processes` are those of the job.
    pub fn free(&mut self, processes: impl FnOnce() -> Vec<u32>) {
        self.quick = 0;
        let Some(bound) = self.release() else { return };
        memory::thread_ids(&processes()).for_each(|thread| set_allowed(thread, &bound.before));
    }

    /// Frees the thread alone.
    fn release(&mut self) -> Option<Bound> {
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

/// The cores that a thread may use; 0 is the calling one.
fn allowed(thread: u32) -> Option<libc::cpu_set_t> {
    // SAFETY: all bytes zero is the empty set; the kernel writes at most the size given into a live local.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let read = libc::sched_getaffinity(thread as libc::pid_t, size_of::<libc::cpu_set_t>(), &mut set);
        (read == 0).then_some(set)
    }
}

/// Without effect on a thread that has ended: where a thread runs changes no result.
fn set_allowed(thread: u32, set: &libc::cpu_set_t) {
    // SAFETY: the set is live and of the size given.
    unsafe { libc::sched_setaffinity(thread as libc::pid_t, size_of::<libc::cpu_set_t>(), set) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores() -> Vec<usize> {
        let set = allowed(0).unwrap();
        // SAFETY: the set is live and every number is below CPU_SETSIZE.
        (0..libc::CPU_SETSIZE as usize).filter(|core| unsafe { libc::CPU_ISSET(*core, &set) }).collect()
    }

    #[test]
    fn quick_answers_bind_the_thread_and_a_slow_one_frees_it() {
        std::thread::spawn(|| {
            let before = cores();
            let mut same = SameCore::default();
            for _ in 0..QUICK_ANSWERS {
                assert_eq!(cores(), before);
                same.answered(Duration::ZERO, Vec::new);
            }
            if before.len() > 1 && same.is_bound() {
                assert_eq!(cores().len(), 1);
            }
            same.free(Vec::new);
            assert_eq!(cores(), before);
            same.answered(QUICK * 2, Vec::new);
            (1..QUICK_ANSWERS).for_each(|_| same.answered(Duration::ZERO, Vec::new));
            assert_eq!(cores(), before, "not enough in a row");
            same.answered(Duration::ZERO, Vec::new);
            drop(same);
            assert_eq!(cores(), before, "the thread serves other jobs next");
        })
        .join()
        .unwrap();
    }
}
