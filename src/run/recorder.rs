//! Journal first, then the fold, then everybody who watches.

use std::collections::BTreeMap;
use std::time::Duration;

use super::RunError;
use crate::journal::JournalWriter;
use crate::model::{Event, Outcome};
use crate::summary::SummaryFold;
use eval_models::{RunModels, TrafficNow};

/// Hears of every event, after it was recorded, and of what is under way.
pub trait RunObserver {
    fn event(&mut self, event: &Event);

    /// A sample is about to run. That is not recorded: a run that is killed has nothing to show for
    /// it.
    fn started(&mut self, _eval: &str, _case: &str, _sample: u32) {}

    /// A run goes on that was begun earlier, or outputs are graded again: `total` samples are
    /// planned in all, and those in `kept` were finished before. Comes after the plan's events,
    /// which then need not name every case.
    fn resumed(&mut self, _total: usize, _kept: &BTreeMap<Outcome, usize>) {}

    /// How models are asked now; comes a few times a second while any is, and once at the end.
    fn traffic(&mut self, _now: &TrafficNow) {}

    /// Something that people should know, and that ends no run.
    fn warned(&mut self, _warning: &str) {}
}

/// Pause between two words on how models are asked.
pub(super) const TRAFFIC: Duration = Duration::from_millis(500);

pub(super) struct RunRecorder<'a> {
    pub journal: JournalWriter,
    pub fold: SummaryFold,
    pub observers: Vec<&'a mut dyn RunObserver>,
}

impl<'a> RunRecorder<'a> {
    pub fn new(journal: JournalWriter, observers: Vec<&'a mut dyn RunObserver>) -> Self {
        RunRecorder {
            journal,
            fold: SummaryFold::new(),
            observers,
        }
    }

    pub fn record(&mut self, event: Event) -> Result<(), RunError> {
        self.record_all(vec![event])
    }

    /// Records events with one write.
    pub fn record_all(&mut self, mut events: Vec<Event>) -> Result<(), RunError> {
        self.journal.append_all(&mut events)?;
        for event in &events {
            self.fold.push(event)?;
            for observer in &mut self.observers {
                observer.event(event);
            }
        }
        Ok(())
    }

    pub fn started(&mut self, eval: &str, case: &str, sample: u32) {
        for observer in &mut self.observers {
            observer.started(eval, case, sample);
        }
    }

    pub fn resumed(&mut self, total: usize, kept: &BTreeMap<Outcome, usize>) {
        for observer in &mut self.observers {
            observer.resumed(total, kept);
        }
    }

    /// Tells how models are asked, in a run that asks any, and what there is to be warned of.
    pub fn look(&mut self, models: &RunModels) {
        let now = models.now();
        if now.calls + now.kept > 0 {
            self.traffic(&now);
        }
        for warning in models.take_warnings() {
            self.warned(&warning);
        }
    }

    fn traffic(&mut self, now: &TrafficNow) {
        for observer in &mut self.observers {
            observer.traffic(now);
        }
    }

    pub fn warned(&mut self, warning: &str) {
        for observer in &mut self.observers {
            observer.warned(warning);
        }
    }
}
