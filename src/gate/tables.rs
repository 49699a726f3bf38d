//! Tables of what gates decide: presets, bounds and parts with samples that errored, wait or were
//! skipped (DESIGN 4).

use std::collections::BTreeMap;

use super::{ExitCode, decide};
use crate::model::*;
use eval_stats::likelihood::of_counts;

/// Evals of which so many passed and failed; the rest has no grade.
#[derive(Debug, Clone, Copy)]
struct EvalOutcomes {
    passed: u64,
    failed: u64,
    errored: u64,
    skipped: u64,
    pending: u64,
}

fn evals(passed: u64, failed: u64, errored: u64, skipped: u64, pending: u64) -> EvalOutcomes {
    EvalOutcomes {
        passed,
        failed,
        errored,
        skipped,
        pending,
    }
}

const NAMES: [&str; 5] = [
    "pass_rate",
    "pass_at_1",
    "pass_rate[type=regression]",
    "score[tag=critical]",
    "case_pass_rate[eval=cap-*]",
];

impl EvalOutcomes {
    fn open(self) -> u64 {
        self.errored + self.skipped + self.pending
    }

    fn tally(self, passed: u64, failed: u64) -> RunTally {
        let n = passed + failed;
        let interval = of_counts(passed as f64, n.max(1) as f64, 0.95).unwrap();
        let estimate = Estimate {
            value: (n > 0).then(|| passed as f64 / n as f64),
            ci: (n > 0).then_some([interval.low, interval.high]),
            level: 0.95,
            method: "empirical_likelihood".into(),
            n_cases: n as usize,
            worst: None,
            best: None,
            undefined: (n == 0).then(|| "no data".to_owned()),
            note: None,
        };
        let eval = |at, outcome| EvalTally {
            id: format!("e{at}"),
            kind: EvalType::Capability,
            criticality: None,
            outcome,
        };
        let outcomes = (0..passed).map(|at| eval(at, Outcome::Passed));
        let outcomes = outcomes.chain((0..failed).map(|at| eval(at, Outcome::Failed)));
        let evals = outcomes
            .chain((n..n.max(self.passed + self.failed)).map(|at| eval(at, Outcome::Errored)));
        let mut metrics: BTreeMap<String, Estimate> = NAMES
            .iter()
            .map(|name| ((*name).to_owned(), estimate.clone()))
            .collect();
        // The worst latency that a sample without a grade might have had is unknown.
        let latency = |value: Option<f64>| Estimate {
            value,
            ci: None,
            undefined: value
                .is_none()
                .then(|| "samples without a grade have no upper bound".to_owned()),
            ..estimate.clone()
        };
        let known =
            self.open() == 0 || (passed, failed) != (self.passed, self.failed + self.open());
        metrics.insert("latency_p95_ms".into(), latency(known.then_some(100.0)));
        let shares = NAMES
            .iter()
            .map(|name| ((*name).to_owned(), [passed, n]))
            .collect();
        RunTally {
            evals: evals.collect(),
            metrics,
            shares,
        }
    }

    fn tallies(self) -> GateTallies {
        GateTallies {
            lacks: Vec::new(),
            actual: self.tally(self.passed, self.failed),
            worst: self.tally(self.passed, self.failed + self.open()),
            best: self.tally(self.passed + self.open(), self.failed),
            errored: self.errored as usize,
            skipped: self.skipped as usize,
            pending: self.pending as usize,
        }
    }
}

fn decided(run: EvalOutcomes, metric: &str, (bound, on): (Bound, Figure), value: f64) -> Gate {
    let threshold = Threshold {
        metric: metric.into(),
        bound,
        value,
        on,
    };
    decide(
        &GateSpec {
            thresholds: vec![threshold],
            ..GateSpec::default()
        },
        &run.tallies(),
        false,
        &[],
    )
}

const MIN: (Bound, Figure) = (Bound::Min, Figure::Value);
const MAX: (Bound, Figure) = (Bound::Max, Figure::Value);
const MIN_LOWER: (Bound, Figure) = (Bound::Min, Figure::CiLower);
const MIN_UPPER: (Bound, Figure) = (Bound::Min, Figure::CiUpper);
const MAX_UPPER: (Bound, Figure) = (Bound::Max, Figure::CiUpper);
const MAX_LOWER: (Bound, Figure) = (Bound::Max, Figure::CiLower);

#[test]
fn every_bound_with_every_kind_of_sample_without_a_grade() {
    // 18 of 20 is [0.699, 0.972], 16 of 20 is [0.584, 0.919], 20 of 20 is [0.839, 1].
    let whole = evals(18, 2, 0, 0, 0);
    let rows: [(EvalOutcomes, (Bound, Figure), f64, u8); 30] = [
        // Everything is graded.
        (whole, MIN, 0.9, 0),
        (whole, MIN, 0.91, 1),
        (whole, MAX, 0.9, 0),
        (whole, MAX, 0.89, 1),
        (whole, MIN_LOWER, 0.69, 0),
        (whole, MIN_LOWER, 0.7, 1),
        (whole, MIN_UPPER, 0.97, 0),
        (whole, MIN_UPPER, 0.99, 1),
        (whole, MAX_UPPER, 0.99, 0),
        (whole, MAX_UPPER, 0.97, 1),
        (whole, MAX_LOWER, 0.7, 0),
        (whole, MAX_LOWER, 0.69, 1),
        // 16 passed and 2 failed: between 16 and 18 of 20.
        (evals(16, 2, 2, 0, 0), MIN, 0.8, 0),
        (evals(16, 2, 2, 0, 0), MIN, 0.81, 3),
        (evals(16, 2, 0, 2, 0), MIN, 0.9, 3),
        (evals(16, 2, 0, 0, 2), MIN, 0.9, 4),
        (evals(16, 2, 1, 0, 1), MIN, 0.9, 3),
        (evals(16, 2, 0, 1, 1), MIN, 0.9, 3),
        (evals(16, 2, 0, 0, 2), MIN, 0.8, 0),
        (evals(16, 2, 0, 0, 2), MIN, 0.91, 1),
        (evals(16, 2, 2, 0, 0), MIN, 0.91, 1),
        (evals(16, 2, 0, 2, 0), MAX, 0.9, 0),
        (evals(16, 2, 0, 2, 0), MAX, 0.85, 3),
        (evals(16, 2, 0, 0, 2), MAX, 0.79, 1),
        (evals(16, 2, 2, 0, 0), MIN_LOWER, 0.57, 0),
        (evals(16, 2, 2, 0, 0), MIN_LOWER, 0.6, 3),
        (evals(16, 2, 0, 0, 2), MIN_LOWER, 0.6, 4),
        (evals(16, 2, 2, 0, 0), MIN_LOWER, 0.7, 1),
        // Nothing is graded: nothing is known.
        (evals(0, 0, 20, 0, 0), MIN, 0.1, 3),
        (evals(0, 0, 0, 0, 20), MIN, 0.1, 4),
    ];
    for metric in NAMES {
        for (run, bound, value, code) in &rows {
            let gate = decided(*run, metric, *bound, *value);
            assert_eq!(
                gate.exit_code, *code,
                "{metric} {bound:?} {value} of {run:?}: {:?}",
                gate.reasons
            );
            assert_eq!(gate.reasons.is_empty(), *code == 0, "{:?}", gate.reasons);
            let status = match code {
                0 => Decision::Pass,
                1 => Decision::Fail,
                3 => Decision::Incomplete,
                _ => Decision::Pending,
            };
            assert_eq!((gate.decision, gate.thresholds[0].status), (status, status));
        }
    }
    // A latency has no upper bound where something has no grade.
    for (run, value, code) in [
        (whole, 100.0, 0),
        (whole, 99.0, 1),
        (evals(16, 2, 2, 0, 0), 100.0, 3),
        (evals(16, 2, 0, 0, 2), 100.0, 4),
        (evals(16, 2, 0, 2, 0), 99.0, 1),
    ] {
        assert_eq!(
            decided(run, "latency_p95_ms", MAX, value).exit_code,
            code,
            "{run:?} {value}"
        );
    }
}

#[test]
fn of_two_thresholds_the_worse_decides() {
    let run = evals(16, 2, 1, 0, 0).tallies();
    let waits = evals(16, 2, 0, 0, 1).tallies();
    let gate = |run: &GateTallies, first: f64, second: f64, interrupted: bool| {
        let threshold = |metric: &str, value| Threshold {
            metric: metric.into(),
            bound: Bound::Min,
            value,
            on: Figure::Value,
        };
        let thresholds = vec![
            threshold("pass_rate", first),
            threshold("score[tag=critical]", second),
        ];
        decide(
            &GateSpec {
                thresholds,
                ..GateSpec::default()
            },
            run,
            interrupted,
            &[],
        )
        .exit_code
    };
    // 16 to 17 of 19: 0.842 to 0.895.
    for (first, second, errored, pending) in [
        (0.8, 0.8, ExitCode::Pass, ExitCode::Pass),
        (0.8, 0.88, ExitCode::Incomplete, ExitCode::Pending),
        (0.88, 0.9, ExitCode::Fail, ExitCode::Fail),
        (0.9, 0.8, ExitCode::Fail, ExitCode::Fail),
        (0.88, 0.88, ExitCode::Incomplete, ExitCode::Pending),
    ] {
        assert_eq!(
            gate(&run, first, second, false),
            errored.code(),
            "{first} {second}"
        );
        assert_eq!(
            gate(&waits, first, second, false),
            pending.code(),
            "{first} {second}"
        );
        assert_eq!(
            gate(&run, first, second, true),
            130,
            "an interrupted run is that first"
        );
    }
}

#[test]
fn words_of_near_misses_are_only_for_what_is_settled() {
    let said = |run: EvalOutcomes, metric: &str, bound, value| {
        decided(run, metric, bound, value).reasons.join(" / ")
    };
    assert_eq!(
        said(
            evals(18, 2, 0, 0, 0),
            "pass_rate[type=regression]",
            MIN,
            0.95
        ),
        "pass rate [type=regression] is 0.900, but at least 0.95 is required: 18 of 20 evals passed; 1 more would have met it"
    );
    assert_eq!(
        said(evals(18, 2, 0, 0, 0), "pass_rate", MIN_LOWER, 0.75),
        "the lower end of the interval of pass rate is 0.692, but at least 0.75 is required: the value itself, 0.9, meets it, but there is too little data: 17 more evals, 15 of them passing (the same rate), would have met it"
    );
    // With samples that have no grade nobody can say what more of them would do.
    assert_eq!(
        said(evals(10, 8, 0, 0, 2), "pass_rate", MIN, 0.9),
        "pass rate is 0.556, but at least 0.9 is required"
    );
}
