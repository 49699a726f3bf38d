//! When a case and an eval pass.

use crate::model::Outcome;
use eval_stats::reaches;

/// How the samples without a grade are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutcomeReading {
    /// As what they are: unknown.
    Graded,
    /// As failures with score 0.
    Worst,
    /// As passes with score 1.
    Best,
}

/// The samples of a case, counted by final outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SampleCounts {
    pub passed: u32,
    pub failed: u32,
    pub errored: u32,
    pub skipped: u32,
    pub pending: u32,
    /// Sum of the scores of graded samples.
    pub score_sum: f64,
}

impl SampleCounts {
    pub fn add(&mut self, outcome: Outcome, score: Option<f64>) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Errored => self.errored += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Pending => self.pending += 1,
        }
        if outcome.is_graded() {
            self.score_sum += score.unwrap_or(if outcome == Outcome::Passed { 1.0 } else { 0.0 });
        }
    }

    pub fn ungraded(&self) -> u32 {
        self.errored + self.skipped + self.pending
    }

    pub fn total(&self) -> u32 {
        self.passed + self.failed + self.ungraded()
    }

    /// The same case with its unknown samples read one way.
    pub fn read(&self, reading: OutcomeReading) -> SampleCounts {
        match reading {
            OutcomeReading::Graded => *self,
            OutcomeReading::Worst => SampleCounts {
                passed: self.passed,
                failed: self.failed + self.ungraded(),
                score_sum: self.score_sum,
                ..SampleCounts::default()
            },
            OutcomeReading::Best => SampleCounts {
                passed: self.passed + self.ungraded(),
                failed: self.failed,
                score_sum: self.score_sum + f64::from(self.ungraded()),
                ..SampleCounts::default()
            },
        }
    }

    /// Mean score of graded samples.
    pub fn score(&self) -> Option<f64> {
        let graded = self.passed + self.failed;
        (graded > 0).then(|| self.score_sum / f64::from(graded))
    }

    /// Passed when the share of samples that passed reaches `threshold` whatever the unknown ones
    /// were; failed when it can't be reached; else the name of what is missing.
    pub fn outcome(&self, threshold: f64) -> Outcome {
        let needed = threshold * f64::from(self.total());
        if self.total() == 0 {
            Outcome::Skipped
        } else if reaches(f64::from(self.passed), needed) {
            Outcome::Passed
        } else if !reaches(f64::from(self.passed + self.ungraded()), needed) {
            Outcome::Failed
        } else {
            undecided(self.errored > 0, self.skipped > 0)
        }
    }
}

/// What an outcome that is still open is called: an error outweighs a skip, a skip a missing human
/// grade.
fn undecided(errored: bool, skipped: bool) -> Outcome {
    match (errored, skipped) {
        (true, _) => Outcome::Errored,
        (false, true) => Outcome::Skipped,
        (false, false) => Outcome::Pending,
    }
}

/// The outcome of an eval and its score, from its cases as they come.
#[derive(Debug, Clone)]
pub(crate) struct EvalCounter {
    pass_rate_threshold: f64,
    score_threshold: Option<f64>,
    cases: usize,
    passed: usize,
    failed: usize,
    /// Some case, or a sample of one, errored or was skipped.
    errored: bool,
    skipped: bool,
    score: RunningMean,
    worst: RunningMean,
    best: RunningMean,
}

impl EvalCounter {
    pub fn new(pass_rate_threshold: f64, score_threshold: Option<f64>) -> Self {
        EvalCounter {
            pass_rate_threshold,
            score_threshold,
            cases: 0,
            passed: 0,
            failed: 0,
            errored: false,
            skipped: false,
            score: RunningMean::default(),
            worst: RunningMean::default(),
            best: RunningMean::default(),
        }
    }

    /// Counts a case, and says how it ended.
    pub fn add(&mut self, case: &SampleCounts) -> Outcome {
        let outcome = case.outcome(self.pass_rate_threshold);
        self.cases += 1;
        self.passed += usize::from(outcome == Outcome::Passed);
        self.failed += usize::from(outcome == Outcome::Failed);
        self.errored |= outcome == Outcome::Errored || case.errored > 0;
        self.skipped |= outcome == Outcome::Skipped || case.skipped > 0;
        self.score.add(case.score());
        if self.score_threshold.is_some() {
            self.worst.add(case.read(OutcomeReading::Worst).score());
            self.best.add(case.read(OutcomeReading::Best).score());
        }
        outcome
    }

    /// Mean over the cases that have a score.
    pub fn score(&self) -> Option<f64> {
        self.score.value()
    }

    /// Passed when all cases passed or the score reaches its threshold, whatever the unknown
    /// samples were.
    pub fn outcome(&self) -> Outcome {
        if self.cases > 0 && self.passed == self.cases {
            return Outcome::Passed;
        }
        let reached = self.score_threshold.map(|threshold| {
            let at = |mean: &RunningMean| reaches(mean.value().unwrap_or(0.0), threshold);
            (at(&self.worst), at(&self.best))
        });
        match (reached, self.failed > 0) {
            (Some((true, _)), _) => Outcome::Passed,
            (None | Some((_, false)), true) => Outcome::Failed,
            _ => undecided(self.errored, self.skipped),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunningMean {
    sum: f64,
    n: u32,
}

impl RunningMean {
    pub fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.n += 1;
        }
    }

    fn value(self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / f64::from(self.n))
    }

    /// `None` also where the sum is too large for a number: JSON has no infinity.
    pub fn finite(self) -> Option<f64> {
        self.value().filter(|mean| mean.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(passed: u32, failed: u32, errored: u32, skipped: u32, pending: u32) -> SampleCounts {
        let score_sum = f64::from(passed);
        SampleCounts {
            passed,
            failed,
            errored,
            skipped,
            pending,
            score_sum,
        }
    }

    fn eval_outcome(
        cases: &[SampleCounts],
        pass_rate: f64,
        score: Option<f64>,
    ) -> (Outcome, Option<f64>) {
        let mut counter = EvalCounter::new(pass_rate, score);
        for case in cases {
            counter.add(case);
        }
        (counter.outcome(), counter.score())
    }

    #[test]
    fn an_error_leaves_a_case_open_only_when_it_could_decide() {
        assert_eq!(counts(3, 0, 0, 0, 0).outcome(1.0), Outcome::Passed);
        assert_eq!(counts(2, 0, 1, 0, 0).outcome(1.0), Outcome::Errored);
        assert_eq!(counts(2, 1, 1, 0, 0).outcome(1.0), Outcome::Failed);
        assert_eq!(counts(2, 0, 1, 0, 0).outcome(0.66), Outcome::Passed);
        assert_eq!(counts(0, 0, 0, 2, 1).outcome(1.0), Outcome::Skipped);
        assert_eq!(counts(0, 0, 0, 0, 1).outcome(1.0), Outcome::Pending);
    }

    #[test]
    fn a_mean_that_json_cannot_hold_is_none() {
        let of = |values: &[f64]| {
            let mut mean = RunningMean::default();
            values.iter().for_each(|value| mean.add(Some(*value)));
            mean.finite()
        };
        assert_eq!(
            [of(&[]), of(&[1.0, 2.0]), of(&[f64::MAX, f64::MAX])],
            [None, Some(1.5), None]
        );
    }

    #[test]
    fn a_third_of_three_is_a_third() {
        assert_eq!(counts(1, 2, 0, 0, 0).outcome(1.0 / 3.0), Outcome::Passed);
        assert_eq!(counts(7, 3, 0, 0, 0).outcome(0.7), Outcome::Passed);
    }

    #[test]
    fn no_pass_at_all_reaches_no_threshold_however_small() {
        assert_eq!(counts(0, 3, 0, 0, 0).outcome(1e-10), Outcome::Failed);
        assert_eq!(
            eval_outcome(&[counts(0, 1, 0, 0, 0)], 1.0, Some(1e-10)).0,
            Outcome::Failed
        );
    }

    #[test]
    fn a_score_threshold_forgives_failed_cases_but_not_unknown_ones() {
        let (good, bad, lost) = (
            counts(1, 0, 0, 0, 0),
            counts(0, 1, 0, 0, 0),
            counts(0, 0, 1, 0, 0),
        );
        assert_eq!(
            eval_outcome(&[good, good, good, bad], 1.0, Some(0.75)).0,
            Outcome::Passed
        );
        assert_eq!(
            eval_outcome(&[good, good, bad, bad], 1.0, Some(0.75)).0,
            Outcome::Failed
        );
        assert_eq!(
            eval_outcome(&[good, good, bad, lost], 1.0, Some(0.75)).0,
            Outcome::Errored
        );
        assert_eq!(
            eval_outcome(&[good, bad, lost], 1.0, None).0,
            Outcome::Failed
        );
        assert_eq!(eval_outcome(&[], 1.0, None).0, Outcome::Pending);
    }

    proptest! {
        /// A decided outcome is the one under both extremes; an open one differs between them.
        #[test]
        fn decided_means_that_both_extremes_agree(
            cases in prop::collection::vec((0u32..4, 0u32..4, 0u32..3, 0u32..3, 0u32..3), 1..6),
            threshold in prop::sample::select(vec![0.25, 1.0 / 3.0, 0.5, 0.75, 1.0]),
            score in prop::option::of(prop::sample::select(vec![0.25, 0.5, 0.9])),
        ) {
            let cases: Vec<SampleCounts> = cases.into_iter()
                .map(|(p, f, e, s, w)| counts(p, f, e, s, w))
                .filter(|c| c.total() > 0)
                .collect();
            prop_assume!(!cases.is_empty());
            let (outcome, _) = eval_outcome(&cases, threshold, score);
            let under = |reading| {
                let read: Vec<SampleCounts> = cases.iter().map(|case| case.read(reading)).collect();
                eval_outcome(&read, threshold, score).0
            };
            let (worst, best) = (under(OutcomeReading::Worst), under(OutcomeReading::Best));
            prop_assert!(worst.is_graded() && best.is_graded());
            if outcome.is_graded() {
                prop_assert_eq!(outcome, worst);
                prop_assert_eq!(outcome, best);
            } else {
                prop_assert_eq!((worst, best), (Outcome::Failed, Outcome::Passed));
            }
        }
    }
}
