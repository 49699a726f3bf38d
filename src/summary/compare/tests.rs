//! What is said of pairs whose figures are known.

mod folds;
mod held;
mod mismatches;
mod oracle;
mod said;

use super::*;
use crate::model::*;

/// A run of suite `S` with these evals.
pub(super) fn side(label: &str, evals: Vec<EvalRecord>) -> RunScores {
    RunScores {
        side: testing::compared_side(label),
        ks: vec![1],
        interval_scope: crate::model::IntervalScope::default(),
        score_metrics: vec![],
        evals,
    }
}

pub(super) fn eval(id: &str, cases: Vec<CaseRecord>) -> EvalRecord {
    let all = |wanted: Outcome| cases.iter().all(|case| case.outcome == Some(wanted));
    let any = |wanted: Outcome| cases.iter().any(|case| case.outcome == Some(wanted));
    let outcome = match () {
        () if all(Outcome::Passed) => Outcome::Passed,
        () if any(Outcome::Failed) => Outcome::Failed,
        () => Outcome::Errored,
    };
    let scores: Vec<f64> = cases.iter().filter_map(|case| case.score).collect();
    EvalRecord {
        private: false,
        id: id.into(),
        outcome,
        score: (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64),
        kind: Some(EvalType::Capability),
        category: None,
        tags: vec![],
        difficulty: None,
        criticality: None,
        weight: Some(1.0),
        score_threshold: None,
        cases,
    }
}

/// A case of `samples`, of which `n` were graded and `c` passed.
pub(super) fn case(id: &str, samples: u32, n: u32, c: u32) -> CaseRecord {
    let outcome = match () {
        () if c < n => Outcome::Failed,
        () if n < samples => Outcome::Errored,
        () => Outcome::Passed,
    };
    CaseRecord {
        id: id.into(),
        outcome: Some(outcome),
        samples,
        n,
        c,
        ungraded: samples - n,
        score: (n > 0).then(|| f64::from(c) / f64::from(n)),
        fingerprint: Some(format!("of {id}")),
        ..CaseRecord::default()
    }
}

/// One eval of cases of one sample: 1 passed, 0 failed, `?` errored.
pub(super) fn of(label: &str, outcomes: &str) -> RunScores {
    let cases = outcomes.chars().enumerate().map(|(at, c)| match c {
        '1' => case(&format!("c{at}"), 1, 1, 1),
        '0' => case(&format!("c{at}"), 1, 1, 0),
        _ => case(&format!("c{at}"), 1, 0, 0),
    });
    side(label, vec![eval("e", cases.collect())])
}

pub(super) fn one(reference: &RunScores, candidate: &RunScores) -> Comparison {
    compare(reference, &[candidate], &CompareSettings::default())
        .unwrap()
        .remove(0)
}

#[test]
fn a_fall_that_chance_does_not_explain_is_a_regression() {
    let (a, b) = (
        of("a", &"1".repeat(100)),
        of("b", &format!("{}{}", "0".repeat(10), "1".repeat(90))),
    );
    let compared = one(&a, &b);
    assert_eq!(compared.verdict, ComparisonVerdict::Regression);
    assert_eq!(
        (compared.cases.broken.count, compared.cases.still_passing),
        (10, 90)
    );
    let metric = &compared.metrics[0];
    assert_eq!(
        (metric.name.as_str(), metric.n, metric.unit.as_str()),
        ("pass_at_1", 100, "case")
    );
    assert_eq!((metric.reference, metric.candidate), (Some(1.0), Some(0.9)));
    // 10 flips of 10 in one direction: mid-p is half of 2^-10.
    let test = metric.test.as_ref().unwrap();
    assert!((test.p_worse - 0.5f64.powi(11)).abs() < 1e-12, "{test:?}");
    assert_eq!(
        (test.decides, test.p_worse_adjusted),
        (true, Some(test.p_worse))
    );
    assert_eq!(one(&b, &a).verdict, ComparisonVerdict::Improvement);
    assert_eq!(one(&a, &a).verdict, ComparisonVerdict::None);
}
