//! Ending a run early, in two steps.

use std::sync::Arc;

use tokio::sync::watch;

/// How far a run is to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CancelLevel {
    Run,
    /// Start nothing more and let what runs finish.
    Finish,
    /// Stop what runs, too.
    Stop,
}

/// A switch that anyone may turn further and the run listens to.
#[derive(Debug, Clone)]
pub struct CancelSwitch {
    sender: Arc<watch::Sender<CancelLevel>>,
}

impl Default for CancelSwitch {
    fn default() -> Self {
        CancelSwitch {
            sender: Arc::new(watch::Sender::new(CancelLevel::Run)),
        }
    }
}

impl CancelSwitch {
    pub fn level(&self) -> CancelLevel {
        *self.sender.borrow()
    }

    /// One step further: run, finish, stop. Returns the new level.
    pub fn escalate(&self) -> CancelLevel {
        self.sender.send_modify(|level| {
            *level = if *level == CancelLevel::Run {
                CancelLevel::Finish
            } else {
                CancelLevel::Stop
            };
        });
        self.level()
    }

    /// Waits until the level is at least this.
    pub async fn reached(&self, level: CancelLevel) {
        let mut receiver = self.sender.subscribe();
        // The sender lives as long as self, so this can't fail before the level is reached.
        let _ = receiver.wait_for(|now| *now >= level).await;
    }
}
