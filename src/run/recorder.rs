//! Journal first, then the fold, then everybody who watches.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::RunError;
use crate::journal::JournalWriter;
use crate::model::{Cause, Event, Outcome, SampleFinished};
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

    /// Whether [`RunObserver::case_ended`] is called.
    fn wants_cases(&self) -> bool {
        false
    }

    /// The last sample that this session runs of a case has ended. Comes after the sample's event,
    /// and not for cases of private datasets.
    fn case_ended(&mut self, _ended: &EndedCase<'_>) {}
}

/// A case as it ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndedCase<'a> {
    pub eval: &'a str,
    pub case: &'a str,
    pub outcome: Outcome,
    /// The most common cause of the samples that ended so.
    pub cause: Option<Cause>,
    pub passed: u32,
    pub samples: u32,
    pub flaky: bool,
    /// Output and grade of all its samples are those of an earlier run.
    pub reused: bool,
    /// All samples of this session together, without reused ones.
    pub duration_ms: f64,
}

/// Pause between two words on how models are asked.
pub(super) const TRAFFIC: Duration = Duration::from_millis(500);

pub(super) struct RunRecorder<'a> {
    pub journal: JournalWriter,
    pub fold: SummaryFold,
    pub observers: Vec<&'a mut dyn RunObserver>,
    /// `None` when no observer wants to know.
    cases: Option<OpenCases>,
}

/// Cases of which some samples have ended in this session, by eval and case.
#[derive(Default)]
struct OpenCases(HashMap<(String, String), OpenCase>);

struct OpenCase {
    /// Samples that are still to end.
    left: usize,
    duration_ms: f64,
}

impl OpenCases {
    /// To be called before the fold takes an event: what it knows by then is kept from earlier
    /// sessions.
    fn before(&mut self, fold: &SummaryFold, event: &Event) {
        let Event::SampleFinished(sample) = event else {
            return;
        };
        let key = (sample.eval.clone(), sample.case.clone());
        self.0.entry(key).or_insert_with(|| {
            let case = fold.case(&sample.eval, &sample.case);
            let open = |case: crate::summary::CaseView<'_>| {
                let samples = case.samples().iter();
                samples.filter(|packed| !packed.is_settled()).count()
            };
            OpenCase {
                left: case.map_or(0, open),
                duration_ms: 0.0,
            }
        });
    }

    /// To be called after the fold took the event: the case that it was the last of.
    fn after<'e>(&mut self, fold: &SummaryFold, event: &'e Event) -> Option<EndedCase<'e>> {
        let is_reused = |sample: &SampleFinished| {
            let from = sample.reused_from.as_ref();
            from.is_some_and(|from| !from.graded_again)
        };
        let (eval, case, attempts) = match event {
            Event::SampleFinished(sample) if is_reused(sample) => {
                (&sample.eval, &sample.case, &[][..])
            }
            Event::SampleFinished(sample) => (&sample.eval, &sample.case, &sample.attempts[..]),
            Event::SampleSkipped(sample) => (&sample.eval, &sample.case, &[][..]),
            _ => return None,
        };
        let key = (eval.clone(), case.clone());
        let open = self.0.get_mut(&key)?;
        open.left = open.left.saturating_sub(1);
        open.duration_ms += attempts.iter().map(|one| one.duration_ms).sum::<f64>();
        if open.left > 0 {
            return None;
        }
        let duration_ms = self.0.remove(&key)?.duration_ms;
        let view = fold.case(eval, case)?;
        if view.eval.info.is_private() {
            return None;
        }
        let counts = view.finals();
        let outcome = counts.outcome(view.eval.info.pass_rate_threshold);
        Some(EndedCase {
            eval,
            case,
            outcome,
            cause: view.commonest_cause(outcome),
            passed: counts.passed,
            samples: counts.total(),
            flaky: view.flaky_samples() > 0,
            reused: view.is_reused(),
            duration_ms,
        })
    }
}

impl<'a> RunRecorder<'a> {
    pub fn new(journal: JournalWriter, observers: Vec<&'a mut dyn RunObserver>) -> Self {
        let wants_cases = observers.iter().any(|observer| observer.wants_cases());
        RunRecorder {
            journal,
            fold: SummaryFold::new(),
            observers,
            cases: wants_cases.then(OpenCases::default),
        }
    }

    pub fn record(&mut self, event: Event) -> Result<(), RunError> {
        self.record_all(vec![event])
    }

    /// Records events with one write.
    pub fn record_all(&mut self, mut events: Vec<Event>) -> Result<(), RunError> {
        self.journal.append_all(&mut events)?;
        for event in &events {
            if let Some(cases) = &mut self.cases {
                cases.before(&self.fold, event);
            }
            self.fold.push(event)?;
            for observer in &mut self.observers {
                observer.event(event);
            }
            let ended = self
                .cases
                .as_mut()
                .and_then(|cases| cases.after(&self.fold, event));
            if let Some(ended) = ended {
                for observer in &mut self.observers {
                    observer.case_ended(&ended);
                }
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
