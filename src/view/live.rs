//! A run that goes on, followed by its journal.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::journal::{JournalError, JournalFollower};
use crate::model::{CasesPlanned, Counts, Event, Outcome, SampleFinished};
use crate::report::figures;
use eval_base::text::{group_digits, one_line, shortened};

/// Samples of each list.
const LISTED: usize = 12;
/// Bytes of a reason, and of the name of a case.
const TEXT: usize = 200;
/// Events that are read at once, so that a page comes early of a run that has many already.
const EVENTS: usize = 400_000;
/// How soon a journal is looked at again.
const PAUSE: Duration = Duration::from_millis(200);

/// A sample that ended.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct LiveSample {
    /// The place of its case in the plan, from 1.
    pub at: u32,
    /// `eval › case`, and the sample where the case has several.
    pub name: String,
    pub outcome: &'static str,
    pub reason: String,
}

/// What a run has done up to now, as the script of its page shows it.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct LiveState {
    pub done: usize,
    pub planned: usize,
    /// `312 of 1,000 samples`.
    pub words: String,
    /// Outcomes with their numbers, those that did not occur left out.
    pub outcomes: Vec<(&'static str, String)>,
    /// Of what was graded.
    pub rate: String,
    pub newest: Vec<LiveSample>,
    pub unpassed: Vec<LiveSample>,
}

/// A journal that is followed.
pub struct LiveRun {
    follower: JournalFollower,
    polled: Option<Instant>,
    progress: LiveProgress,
}

/// What is counted of a run.
#[derive(Default)]
struct LiveProgress {
    cases: HashMap<(String, String), PlannedCase>,
    /// Evals whose samples are only counted.
    private: HashSet<String>,
    planned: usize,
    /// By the place of the case and the number of the sample.
    samples: HashMap<(u32, u32), Outcome>,
    newest: VecDeque<LiveSample>,
    unpassed: VecDeque<LiveSample>,
}

#[derive(Debug, Clone, Copy)]
struct PlannedCase {
    at: u32,
    samples: u32,
}

impl LiveRun {
    pub fn open(journal: &Path) -> Result<LiveRun, JournalError> {
        Ok(LiveRun {
            follower: JournalFollower::open(journal)?,
            polled: None,
            progress: LiveProgress::default(),
        })
    }

    /// Reads what was written since the last call.
    pub fn poll(&mut self) -> Result<(), JournalError> {
        if self.polled.is_some_and(|polled| polled.elapsed() < PAUSE) {
            return Ok(());
        }
        let progress = &mut self.progress;
        self.follower.poll(EVENTS, |event| progress.see(event))?;
        self.polled = Some(Instant::now());
        Ok(())
    }

    pub fn state(&self) -> LiveState {
        self.progress.state()
    }
}

impl LiveProgress {
    fn see(&mut self, event: &Event) {
        match event {
            Event::CasesPlanned(planned) => self.plan(planned),
            Event::SampleFinished(sample) => self.finish(sample),
            Event::SampleSkipped(sample) => {
                if let Some(case) = self.case(&sample.eval, &sample.case) {
                    let key = (case.at, sample.sample);
                    self.samples.insert(key, Outcome::Skipped);
                }
            }
            Event::EvalPlanned(planned) if planned.eval.is_private() => {
                self.private.insert(planned.eval.id.clone());
            }
            Event::RunStarted(_)
            | Event::RunResumed(_)
            | Event::EvalPlanned(_)
            | Event::RunFinished(_) => {}
        }
    }

    fn plan(&mut self, planned: &CasesPlanned) {
        for case in &planned.cases {
            let next = u32::try_from(self.cases.len() + 1).unwrap_or(u32::MAX);
            let key = (planned.eval.clone(), case.id.clone());
            let before = self.cases.get(&key).copied();
            let at = before.map_or(next, |case| case.at);
            let samples = case.samples;
            self.cases.insert(key, PlannedCase { at, samples });
            self.planned += samples as usize;
            self.planned -= before.map_or(0, |case| case.samples as usize);
        }
    }

    fn case(&self, eval: &str, case: &str) -> Option<PlannedCase> {
        let key = (eval.to_owned(), case.to_owned());
        self.cases.get(&key).copied()
    }

    fn finish(&mut self, sample: &SampleFinished) {
        let case = self.case(&sample.eval, &sample.case);
        let (Some(case), Some(last)) = (case, sample.attempts.last()) else {
            return;
        };
        let outcome = last.verdict.outcome;
        self.samples.insert((case.at, sample.sample), outcome);
        if self.private.contains(&sample.eval) {
            return;
        }
        let mut name = match sample.eval == sample.case {
            true => sample.case.clone(),
            false => format!("{} › {}", sample.eval, sample.case),
        };
        if case.samples > 1 {
            name = format!("{name}, sample {}", sample.sample + 1);
        }
        let shown = |text: &str| shortened(&one_line(text), TEXT).into_owned();
        let ended = LiveSample {
            at: case.at,
            name: shown(&name),
            outcome: outcome.name(),
            reason: shown(&last.verdict.reason),
        };
        if outcome != Outcome::Passed {
            push(&mut self.unpassed, ended.clone());
        }
        push(&mut self.newest, ended);
    }

    fn state(&self) -> LiveState {
        let mut counts = Counts::default();
        self.samples
            .values()
            .for_each(|outcome| counts.add(*outcome));
        let outcomes = figures::occurring(&counts);
        LiveState {
            done: counts.total,
            planned: self.planned,
            words: format!(
                "{} of {} samples",
                group_digits(counts.total),
                group_digits(self.planned)
            ),
            outcomes: outcomes.map(|(name, n)| (name, group_digits(n))).collect(),
            rate: figures::percent_or_none(counts.pass_rate),
            newest: self.newest.iter().cloned().collect(),
            unpassed: self.unpassed.iter().cloned().collect(),
        }
    }
}

fn push(list: &mut VecDeque<LiveSample>, sample: LiveSample) {
    list.push_front(sample);
    list.truncate(LISTED);
}
