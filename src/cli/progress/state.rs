//! How far a run is: counts by outcome, what is under way, and how fast it goes.
//!
//! Times are spans since the program began, handed in. Events come by the ten thousands a second,
//! so they only count; whatever is written or looked for is found when somebody draws.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::model::{Event, Outcome, RunStarted};
use eval_base::text;
use eval_models::TrafficNow;

/// Pause between two marks of the window.
const MARK_EVERY: Duration = Duration::from_secs(1);
/// The rate is taken over at least this time and this many samples, where there are so many.
const SHORTEST: Duration = Duration::from_secs(10);
const FEWEST: u64 = 20;
/// What is older says nothing of how fast it goes now.
const LONGEST: Duration = Duration::from_secs(600);
/// Samples after which a guess of the end is more than a guess.
const ENOUGH: u64 = 3;
/// Bytes of an id that are kept of what runs.
const KEPT: usize = 240;

#[derive(Debug, Default)]
pub struct ProgressState {
    pub suite: String,
    pub run: String,
    pub evals: usize,
    pub cases: usize,
    total: u64,
    /// By [`Outcome`], in the order of [`Outcome::ALL`].
    counts: [u64; 5],
    /// Samples that were there before the first one began: an earlier session's.
    before: u64,
    began: Option<Duration>,
    running: RunningSamples,
    /// Evals whose cases are not named.
    private: HashSet<String>,
    window: RateWindow,
    pub ending: Option<ProgressEnding>,
    /// Samples are probes of a check, most of which must fail: outcomes are not shown.
    pub of_probes: bool,
    /// How models are asked, in a run that asks any.
    pub traffic: Option<TrafficNow>,
}

/// How the run said that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressEnding {
    Finished,
    Interrupted,
}

impl ProgressState {
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::SampleFinished(sample) => {
                self.running
                    .ended(&sample.eval, &sample.case, sample.sample);
                if let Some(attempt) = sample.attempts.last() {
                    self.counts[attempt.verdict.outcome as usize] += 1;
                }
            }
            Event::SampleSkipped(sample) => {
                self.running
                    .ended(&sample.eval, &sample.case, sample.sample);
                self.counts[Outcome::Skipped as usize] += 1;
            }
            Event::CasesPlanned(planned) => {
                self.total += planned
                    .cases
                    .iter()
                    .map(|case| u64::from(case.samples))
                    .sum::<u64>();
            }
            Event::EvalPlanned(planned) => {
                self.evals += 1;
                self.cases += planned.cases;
                if planned.eval.is_private() {
                    self.private.insert(planned.eval.id.clone());
                }
            }
            Event::RunStarted(started) => self.named(started),
            Event::RunResumed(started) => {
                // The plan follows once more, and what was skipped is to run now.
                (self.evals, self.cases, self.total) = (0, 0, 0);
                self.counts[Outcome::Skipped as usize] = 0;
                self.ending = None;
                self.named(started);
            }
            Event::RunFinished(finished) => {
                self.ending = Some(if finished.interrupted {
                    ProgressEnding::Interrupted
                } else {
                    ProgressEnding::Finished
                });
            }
        }
    }

    /// An earlier session left these samples; `total` are planned in all, whatever plan events
    /// said.
    pub fn resumed(&mut self, total: usize, kept: &BTreeMap<Outcome, usize>) {
        self.total = total as u64;
        self.counts = [0; 5];
        for (outcome, n) in kept {
            self.counts[*outcome as usize] = *n as u64;
        }
    }

    /// A sample is about to run.
    pub fn started(&mut self, eval: &str, case: &str, sample: u32, now: Duration) {
        if self.began.is_none() {
            self.before = self.done();
            self.window = RateWindow::default();
            self.window.mark(now, self.before);
            self.began = Some(now);
        }
        let shown = if self.private.contains(eval) {
            eval
        } else {
            case
        };
        self.running.started([eval, case, shown], sample, now);
    }

    fn named(&mut self, started: &RunStarted) {
        self.suite = text::one_line(&started.run.suite_name);
        self.run = text::one_line(&started.run.run_id);
    }

    /// Keeps the rate's window; to be called about every second or oftener.
    pub fn tick(&mut self, now: Duration) {
        if self.began.is_some() {
            self.window.mark(now, self.done());
        }
    }

    pub fn count(&self, outcome: Outcome) -> u64 {
        self.counts[outcome as usize]
    }

    pub fn done(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Samples of the whole run; never fewer than are done.
    pub fn total(&self) -> u64 {
        self.total.max(self.done())
    }

    /// Samples that an earlier session left.
    pub fn before(&self) -> u64 {
        self.before
    }

    /// True from the first sample that began in this session.
    pub fn has_begun(&self) -> bool {
        self.began.is_some()
    }

    pub fn running(&self) -> usize {
        self.running.now.len()
    }

    /// Samples a second lately, or nothing to go by.
    pub fn rate(&self, now: Duration) -> Option<f64> {
        self.window.rate(now, self.done())
    }

    /// Samples a second over the whole session.
    pub fn mean_rate(&self, now: Duration) -> Option<f64> {
        rate_of(self.done() - self.before, now.checked_sub(self.began?)?)
    }

    /// How long it will take, at the rate of late.
    pub fn left(&self, now: Duration) -> Option<Duration> {
        let left = self.total() - self.done();
        if left == 0 || self.done() - self.before < ENOUGH {
            return None;
        }
        let rate = self.rate(now)?;
        Duration::try_from_secs_f64((left as f64 / rate).ceil()).ok()
    }

    /// What runs for at least `least`, the longest first.
    pub fn slowest(&self, most: usize, least: Duration, now: Duration) -> Vec<(String, Duration)> {
        let mut slow: Vec<&RunningSample> = self.running.now.values().collect();
        slow.retain(|sample| now.saturating_sub(sample.since) >= least);
        slow.sort_by(|a, b| a.order().cmp(&b.order()));
        slow.iter()
            .take(most)
            .map(|sample| (sample.label(), now.saturating_sub(sample.since)))
            .collect()
    }
}

/// What is under way. Bounded by the samples in flight; the texts of those that ended are used
/// again.
#[derive(Debug, Default)]
struct RunningSamples {
    now: HashMap<u64, RunningSample>,
    spare: Vec<RunningSample>,
}

#[derive(Debug, Default)]
struct RunningSample {
    eval: String,
    case: String,
    index: u32,
    since: Duration,
}

impl RunningSample {
    fn order(&self) -> (Duration, &str, &str, u32) {
        (self.since, &self.eval, &self.case, self.index)
    }

    /// `eval/case#1`, clean and on one line; samples count from 1.
    fn label(&self) -> String {
        let (eval, case) = (text::one_line(&self.eval), text::one_line(&self.case));
        let number = u64::from(self.index) + 1;
        if eval == case {
            format!("{eval}#{number}")
        } else {
            format!("{eval}/{case}#{number}")
        }
    }
}

impl RunningSamples {
    /// `shown` is what the case is called.
    fn started(&mut self, [eval, case, shown]: [&str; 3], index: u32, since: Duration) {
        let mut sample = self.spare.pop().unwrap_or_default();
        sample.eval.clear();
        sample.eval.push_str(text::truncate_bytes(eval, KEPT));
        sample.case.clear();
        sample.case.push_str(text::truncate_bytes(shown, KEPT));
        (sample.index, sample.since) = (index, since);
        self.now.insert(key(eval, case, index), sample);
    }

    fn ended(&mut self, eval: &str, case: &str, index: u32) {
        if !self.now.is_empty() {
            self.spare.extend(self.now.remove(&key(eval, case, index)));
        }
    }
}

/// 64 bits of hash: two of the few samples in flight that fall together would only be shown as one.
fn key(eval: &str, case: &str, index: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (eval, case, index).hash(&mut hasher);
    hasher.finish()
}

/// How many were done when, over the last minutes.
#[derive(Debug, Default)]
struct RateWindow {
    marks: VecDeque<(Duration, u64)>,
}

impl RateWindow {
    fn mark(&mut self, now: Duration, done: u64) {
        if self
            .marks
            .back()
            .is_some_and(|(at, _)| now.saturating_sub(*at) < MARK_EVERY)
        {
            return;
        }
        self.marks.push_back((now, done));
        while self.marks.len() > 1
            && self
                .marks
                .front()
                .is_some_and(|(at, _)| now.saturating_sub(*at) > LONGEST)
        {
            self.marks.pop_front();
        }
    }

    /// Since the youngest mark that is far enough back in time and samples, else since the oldest.
    fn rate(&self, now: Duration, done: u64) -> Option<f64> {
        let far = |(at, n): &&(Duration, u64)| {
            now.saturating_sub(*at) >= SHORTEST && done.saturating_sub(*n) >= FEWEST
        };
        let (at, n) = self.marks.iter().rev().find(far).or(self.marks.front())?;
        rate_of(done.saturating_sub(*n), now.checked_sub(*at)?)
    }
}

/// Nothing before a second has gone by: what two samples took says little.
fn rate_of(samples: u64, time: Duration) -> Option<f64> {
    (samples > 0 && time >= Duration::from_secs(1)).then(|| samples as f64 / time.as_secs_f64())
}
