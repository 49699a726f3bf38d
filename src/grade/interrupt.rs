//! The first interrupt of a run: graders that work then have half a second left.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::grader_process::TaskFailure;

/// How long graders may still work after the interrupt.
const GRACE: Duration = Duration::from_millis(500);

tokio::task_local! {
    /// Set in tasks that finish their grading after the interrupt.
    static FINISHES: ();
}

/// Grades what would be lost with its grading: the interrupt ends none of this work.
pub async fn finishing<T>(grading: impl Future<Output = T>) -> T {
    FINISHES.scope((), grading).await
}

/// The instant of the interrupt, when there was one.
#[derive(Debug)]
pub(super) struct GraderInterrupt(watch::Sender<Option<Instant>>);

impl Default for GraderInterrupt {
    fn default() -> GraderInterrupt {
        GraderInterrupt(watch::Sender::new(None))
    }
}

impl GraderInterrupt {
    pub fn interrupt(&self) {
        self.0.send_if_modified(|at| {
            let first = at.is_none();
            at.get_or_insert_with(Instant::now);
            first
        });
    }

    pub fn is_interrupted(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Performs work until [`GRACE`] after the interrupt. All work of a run ends at the same
    /// instant, and later work does not start, except for that which is [`finishing`].
    pub async fn bound<T>(&self, work: impl Future<Output = T>) -> Result<T, TaskFailure> {
        if FINISHES.try_with(|()| ()).is_ok() {
            return Ok(work.await);
        }
        let mut instant = self.0.subscribe();
        let over = async {
            // The sender lives as long as `self`.
            match instant
                .wait_for(Option::is_some)
                .await
                .ok()
                .and_then(|at| *at)
            {
                Some(at) => sleep_until(at + GRACE).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = over => Err(TaskFailure::Interrupted),
            done = work => Ok(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn works_share_one_half_second() {
        let interrupt = GraderInterrupt::default();
        assert_eq!(interrupt.bound(tokio::time::sleep(4 * GRACE)).await, Ok(()));
        interrupt.interrupt();
        assert!(interrupt.is_interrupted());
        let started = Instant::now();
        assert_eq!(
            interrupt.bound(tokio::time::sleep(GRACE / 5 * 4)).await,
            Ok(())
        );
        // A second interrupt gives no more time.
        interrupt.interrupt();
        let endless = std::future::pending::<()>();
        assert_eq!(
            interrupt.bound(endless).await,
            Err(TaskFailure::Interrupted)
        );
        assert!(started.elapsed() < GRACE + GRACE / 5);
        assert_eq!(
            interrupt.bound(async {}).await,
            Err(TaskFailure::Interrupted)
        );
        let long = interrupt.bound(tokio::time::sleep(8 * GRACE));
        assert_eq!(finishing(long).await, Ok(()));
    }
}
