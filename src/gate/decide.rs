//! The decision, as a pure function of tallies.

use super::{ExitCode, near};
use crate::model::{
    Bound, Criticality, Decision, Estimate, EvalTally, EvalType, Figure, Gate, GateSpec,
    GateTallies, MetricName, Outcome, RunTally, Shard, Threshold, ThresholdResult, shown_metric,
};
use eval_stats::{reaches, stays_within};

/// The row of `require: all_evals` among thresholds.
const ALL_EVALS: &str = "all_evals";

/// Decides. `interrupted` sets the exit code, not the decision. `shards` are the parts of a suite
/// that were run, when they are not all of them: these decide nothing.
pub fn decide(spec: &GateSpec, tallies: &GateTallies, interrupted: bool, shards: &[Shard]) -> Gate {
    if !shards.is_empty() {
        return undecided(spec, tallies, interrupted, shards);
    }
    // A figure that has no value even with all human grades is missing for another reason.
    let lacking = spec
        .thresholds
        .iter()
        .any(|threshold| meets(threshold, &tallies.best).is_none());
    let undecided = if people_decide(tallies) && !lacking {
        Decision::Pending
    } else {
        Decision::Incomplete
    };
    let mut thresholds: Vec<ThresholdResult> = spec
        .thresholds
        .iter()
        .map(|threshold| hold(threshold, tallies, undecided))
        .collect();
    thresholds.extend(all_evals(spec, tallies, undecided));
    // One after the other: what misses one demand at worst and another at best may meet both in
    // between.
    let demands = demands(spec, tallies);
    let decision = if demands.iter().all(|both| *both == (Some(true), Some(true))) {
        Decision::Pass
    } else if demands
        .iter()
        .any(|both| matches!(both, (Some(false) | None, Some(false))))
    {
        // An upper bound on a pass rate is met by the worst reading and missed by the best: that
        // decides nothing.
        Decision::Fail
    } else {
        undecided
    };
    let reasons = reasons(spec, tallies, &thresholds, decision);
    Gate {
        decision,
        exit_code: ExitCode::of(decision, interrupted).code(),
        thresholds,
        reasons,
    }
}

/// Only where nothing but human grades is missing do people decide.
pub(super) fn people_decide(tallies: &GateTallies) -> bool {
    tallies.pending > 0 && tallies.errored + tallies.skipped == 0
}

/// The gate of a part of a suite: its figures beside the thresholds, but no decision.
fn undecided(spec: &GateSpec, tallies: &GateTallies, interrupted: bool, shards: &[Shard]) -> Gate {
    let decision = Decision::Undecided;
    let shown = |threshold| ThresholdResult {
        status: decision,
        ..hold(threshold, tallies, decision)
    };
    let required = all_evals(spec, tallies, decision).map(|row| ThresholdResult {
        status: decision,
        ..row
    });
    let indices: Vec<String> = shards.iter().map(|shard| shard.index.to_string()).collect();
    let of = shards.first().map_or(0, |shard| shard.of);
    let (noun, verb) = if shards.len() == 1 {
        ("shard", "does")
    } else {
        ("shards", "do")
    };
    let reason = format!(
        "{noun} {} of {of} {verb} not decide the gate; join the shards with `eval-harness report --run A --run B ...`",
        indices.join(", ")
    );
    Gate {
        decision,
        exit_code: ExitCode::of(decision, interrupted).code(),
        thresholds: spec.thresholds.iter().map(shown).chain(required).collect(),
        reasons: vec![reason],
    }
}

/// Whether each demand of the gate is met at worst and at best; `None` when a metric that it needs
/// has no value there.
fn demands(spec: &GateSpec, tallies: &GateTallies) -> Vec<(Option<bool>, Option<bool>)> {
    let GateTallies { worst, best, .. } = tallies;
    let evals = |tally: &RunTally| Some(!tally.evals.is_empty() && evals_allow(spec, tally));
    let thresholds = spec
        .thresholds
        .iter()
        .map(|threshold| (meets(threshold, worst), meets(threshold, best)));
    std::iter::once((evals(worst), evals(best)))
        .chain(thresholds)
        .collect()
}

fn evals_must_pass(spec: &GateSpec) -> bool {
    spec.thresholds.is_empty() || spec.require_all_evals
}

/// The part of the gate that is about evals: without thresholds every eval must pass, with them
/// only regressions count unless all evals are required; `max_regressions` forgives regressions
/// that are not critical.
fn evals_allow(spec: &GateSpec, tally: &RunTally) -> bool {
    let bad = |eval: &&EvalTally| eval.outcome != Outcome::Passed;
    let failed = |kind: EvalType| {
        tally
            .evals
            .iter()
            .filter(move |eval| eval.kind == kind)
            .filter(bad)
    };
    let critical =
        failed(EvalType::Regression).any(|eval| eval.criticality == Some(Criticality::Critical));
    let regressions = failed(EvalType::Regression).count();
    let capabilities_allow =
        !evals_must_pass(spec) || failed(EvalType::Capability).next().is_none();
    !critical && regressions <= spec.max_regressions.unwrap_or(0) as usize && capabilities_allow
}

fn figure(threshold: &Threshold, estimate: &Estimate) -> Option<f64> {
    match threshold.on {
        Figure::Value => estimate.value,
        Figure::CiLower => estimate.ci.map(|ci| ci[0]),
        Figure::CiUpper => estimate.ci.map(|ci| ci[1]),
    }
}

fn meets(threshold: &Threshold, tally: &RunTally) -> Option<bool> {
    let value = figure(threshold, tally.metrics.get(&threshold.metric)?)?;
    Some(within(value, threshold))
}

/// Inclusive. A share that was computed as 0.7 must not miss 0.7 by the last bit.
pub(super) fn within(value: f64, threshold: &Threshold) -> bool {
    match threshold.bound {
        Bound::Min => reaches(value, threshold.value),
        Bound::Max => stays_within(value, threshold.value),
    }
}

fn hold(threshold: &Threshold, tallies: &GateTallies, undecided: Decision) -> ThresholdResult {
    let status = match (
        meets(threshold, &tallies.worst),
        meets(threshold, &tallies.best),
    ) {
        (Some(true), Some(true)) => Decision::Pass,
        (Some(false), Some(false)) => Decision::Fail,
        _ => undecided,
    };
    ThresholdResult {
        metric: threshold.metric.clone(),
        value: tallies
            .actual
            .metrics
            .get(&threshold.metric)
            .and_then(|estimate| figure(threshold, estimate)),
        bound: threshold.bound,
        threshold: threshold.value,
        on: threshold.on,
        status,
    }
}

/// `require: all_evals` as a row beside the thresholds: the share of graded evals that passed.
fn all_evals(
    spec: &GateSpec,
    tallies: &GateTallies,
    undecided: Decision,
) -> Option<ThresholdResult> {
    let pass = |tally: &RunTally| evals_allow(spec, tally) && !tally.evals.is_empty();
    let status = match (pass(&tallies.worst), pass(&tallies.best)) {
        (true, true) => Decision::Pass,
        (_, false) => Decision::Fail,
        (false, true) => undecided,
    };
    let ended = |outcome| {
        tallies
            .actual
            .evals
            .iter()
            .filter(|eval| eval.outcome == outcome)
            .count()
    };
    let (passed, graded) = (
        ended(Outcome::Passed),
        ended(Outcome::Passed) + ended(Outcome::Failed),
    );
    spec.require_all_evals.then(|| ThresholdResult {
        metric: ALL_EVALS.to_owned(),
        value: (graded > 0).then(|| passed as f64 / graded as f64),
        bound: Bound::Min,
        threshold: 1.0,
        on: Figure::Value,
        status,
    })
}

fn reasons(
    spec: &GateSpec,
    tallies: &GateTallies,
    thresholds: &[ThresholdResult],
    decision: Decision,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let evals = &tallies.actual.evals;
    if evals.is_empty() {
        reasons.push("no eval was run".to_owned());
    }
    let is_open = matches!(decision, Decision::Incomplete | Decision::Pending);
    let (mut undefined, mut open) = (Vec::new(), Vec::new());
    for (threshold, result) in spec.thresholds.iter().zip(thresholds) {
        let name = figure_name(result);
        match (result.value, result.status) {
            (_, Decision::Pass) => {}
            (None, _) => undefined.push((name, why_undefined(result, tallies))),
            (Some(value), Decision::Fail) => {
                reasons.push(missed(threshold, result, value, tallies));
            }
            // Of an open decision one sentence says why, whatever waits for it.
            (Some(value), _) if is_open => open.push(still_open(result, value, tallies)),
            (Some(value), _) => reasons.push(format!(
                "{}; samples without a grade decide it",
                still_open(result, value, tallies)
            )),
        }
    }
    while let Some((name, why)) = undefined.first().cloned() {
        let same = undefined.extract_if(.., |(_, other)| *other == why);
        let names: Vec<String> = same.map(|(name, _)| name).collect();
        reasons.push(match names.as_slice() {
            [_] => format!("{name} is undefined: {why}"),
            names => format!("{} are undefined: {why}", names.join(", ")),
        });
    }
    let failed = |kind: EvalType| {
        evals
            .iter()
            .filter(|eval| eval.kind == kind && eval.outcome == Outcome::Failed)
            .collect::<Vec<_>>()
    };
    let capabilities = failed(EvalType::Capability);
    if evals_must_pass(spec) && !capabilities.is_empty() {
        let required = if spec.require_all_evals {
            ", but `require: all_evals` is set"
        } else {
            ""
        };
        reasons.push(format!("{} failed{required}", named(&capabilities, "eval")));
    }
    let regressions = failed(EvalType::Regression);
    let (critical, other): (Vec<&EvalTally>, Vec<&EvalTally>) = regressions
        .into_iter()
        .partition(|eval| eval.criticality == Some(Criticality::Critical));
    if !critical.is_empty() {
        reasons.push(format!(
            "{} failed, which always fails the gate",
            named(&critical, "critical regression")
        ));
    }
    let allowed = spec.max_regressions.unwrap_or(0) as usize;
    if !other.is_empty() && other.len() + critical.len() > allowed {
        reasons.push(format!(
            "{} failed ({allowed} allowed)",
            named(&other, "regression")
        ));
    }
    if is_open {
        let metrics = match open.as_slice() {
            [] => String::new(),
            open => format!("; {}", open.join("; ")),
        };
        reasons.push(open_reason(tallies) + &metrics);
    }
    reasons
}

fn figure_name(result: &ThresholdResult) -> String {
    let of = match result.on {
        Figure::Value => "",
        Figure::CiLower => "the lower end of the interval of ",
        Figure::CiUpper => "the upper end of the interval of ",
    };
    format!("{of}{}", shown_metric(&result.metric))
}

/// `at least 0.8 is required`, and the value beside it.
fn required(result: &ThresholdResult, value: f64) -> (String, String) {
    let sign = match result.bound {
        Bound::Min => "at least",
        Bound::Max => "at most",
    };
    let name = result.metric.parse::<MetricName>();
    let is_share = name.is_ok_and(|name| name.metric.is_share());
    let (value, bound) = apart(value, result.threshold, is_share);
    (value, format!("{sign} {bound} is required"))
}

fn missed(
    threshold: &Threshold,
    result: &ThresholdResult,
    value: f64,
    tallies: &GateTallies,
) -> String {
    let name = &result.metric;
    let near = settled(tallies, name).and_then(|estimate| {
        let lack = tallies
            .lacks
            .iter()
            .find(|lack| lack.threshold == *threshold);
        let share = tallies.actual.shares.get(name).copied();
        near::miss(threshold, estimate, share, lack)
    });
    let near = near.map(|near| format!(": {near}")).unwrap_or_default();
    let (value, required) = required(result, value);
    format!("{} is {value}, but {required}{near}", figure_name(result))
}

/// A figure that samples without a grade may still change.
fn still_open(result: &ThresholdResult, value: f64, tallies: &GateTallies) -> String {
    let (value, required) = required(result, value);
    // A worst case that has no value says itself what is missing.
    let worst = tallies.worst.metrics.get(&result.metric);
    let missing = worst.and_then(|worst| worst.undefined.as_deref());
    let missing = missing.map_or_else(String::new, |missing| format!("; {missing}"));
    let name = figure_name(result);
    format!("{name} is {value} over what was graded ({required}{missing})")
}

fn why_undefined(result: &ThresholdResult, tallies: &GateTallies) -> String {
    let why = match tallies.actual.metrics.get(&result.metric) {
        Some(Estimate {
            undefined: Some(reason),
            ..
        }) => reason,
        Some(Estimate {
            note: Some(note), ..
        }) => note,
        Some(Estimate { value: Some(_), .. }) => "too few cases for an interval",
        _ => "it has no value here",
    };
    why.to_owned()
}

/// The estimate of a metric that nothing without a grade could change.
fn settled<'a>(tallies: &'a GateTallies, name: &str) -> Option<&'a Estimate> {
    let [actual, worst, best] =
        [&tallies.actual, &tallies.worst, &tallies.best].map(|tally| tally.metrics.get(name));
    let closed = tallies.errored + tallies.skipped + tallies.pending == 0;
    let same = |other: Option<&Estimate>| {
        other
            .zip(actual)
            .is_some_and(|(other, actual)| (other.value, other.ci) == (actual.value, actual.ci))
    };
    actual.filter(|_| closed && same(worst) && same(best))
}

fn open_reason(tallies: &GateTallies) -> String {
    let parts: Vec<String> = [
        (tallies.errored, "errored"),
        (tallies.skipped, "skipped"),
        (tallies.pending, "pending"),
    ]
    .iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, word)| format!("{n} {word}"))
    .collect();
    if parts.is_empty() {
        "a metric that the gate needs has no value".to_owned()
    } else {
        format!(
            "samples without a grade leave the decision open: {}",
            parts.join(", ")
        )
    }
}

/// `1 eval (a)`, `3 evals (a, b, c)`, `9 evals (a, b, c, ...)`.
fn named(evals: &[&EvalTally], noun: &str) -> String {
    let mut ids: Vec<&str> = evals.iter().take(3).map(|eval| eval.id.as_str()).collect();
    if evals.len() > 3 {
        ids.push("...");
    }
    format!(
        "{} {noun}{} ({})",
        evals.len(),
        if evals.len() == 1 { "" } else { "s" },
        ids.join(", ")
    )
}

/// A share with 3 decimals, as in tables, or another value with up to 4; each with as many more as
/// it takes to see on which side of the bound it is. And the bound as it was written.
fn apart(value: f64, bound: f64, is_share: bool) -> (String, String) {
    let written = if bound.abs() >= 1e12 {
        number(bound, 0)
    } else {
        bound.to_string()
    };
    let stands_right = |decimals: &usize| {
        let shown = number(value, *decimals).parse::<f64>();
        let ends: &[f64] = if is_share {
            &[bound, 0.0, 1.0]
        } else {
            &[bound]
        };
        let is_right = |shown: f64| {
            let mut ends = ends.iter();
            ends.all(|end| shown.partial_cmp(end) == value.partial_cmp(end))
        };
        shown.is_ok_and(is_right)
    };
    let least = if is_share { 3 } else { 4 };
    let decimals = (least..17).find(stands_right).unwrap_or(17);
    let shown = if is_share {
        format!("{value:.decimals$}")
    } else {
        number(value, decimals)
    };
    (shown, written)
}

/// Without trailing zeros.
pub fn number(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e12 {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn estimate(value: Option<f64>, ci: Option<[f64; 2]>) -> Estimate {
        Estimate {
            value,
            ci,
            level: 0.95,
            method: "empirical_likelihood".into(),
            n_cases: 10,
            worst: None,
            best: None,
            undefined: value.is_none().then(|| "no data".to_owned()),
            note: None,
        }
    }

    fn tally(
        evals: &[(EvalType, Option<Criticality>, Outcome)],
        pass_at_1: Option<f64>,
    ) -> RunTally {
        let evals = evals
            .iter()
            .enumerate()
            .map(|(n, (kind, criticality, outcome))| EvalTally {
                id: format!("e{n}"),
                kind: *kind,
                criticality: *criticality,
                outcome: *outcome,
            })
            .collect();
        let ci = pass_at_1.map(|value| [value - 0.1, value + 0.1]);
        let metrics = BTreeMap::from([("pass_at_1".to_owned(), estimate(pass_at_1, ci))]);
        RunTally {
            evals,
            metrics,
            shares: BTreeMap::new(),
        }
    }

    fn settled(tally: RunTally) -> GateTallies {
        GateTallies {
            lacks: Vec::new(),
            actual: tally.clone(),
            worst: tally.clone(),
            best: tally,
            errored: 0,
            skipped: 0,
            pending: 0,
        }
    }

    fn at_least(value: f64, on: Figure) -> GateSpec {
        let threshold = Threshold {
            metric: "pass_at_1".into(),
            bound: Bound::Min,
            value,
            on,
        };
        GateSpec {
            thresholds: vec![threshold],
            ..GateSpec::default()
        }
    }

    const CAP: EvalType = EvalType::Capability;
    const REG: EvalType = EvalType::Regression;

    #[test]
    fn without_thresholds_every_eval_must_pass() {
        let spec = GateSpec::default();
        let good = settled(tally(
            &[(CAP, None, Outcome::Passed), (REG, None, Outcome::Passed)],
            None,
        ));
        assert_eq!(decide(&spec, &good, false, &[]).exit_code, 0);
        let bad = settled(tally(
            &[(CAP, None, Outcome::Passed), (CAP, None, Outcome::Failed)],
            None,
        ));
        let gate = decide(&spec, &bad, false, &[]);
        assert_eq!((gate.decision, gate.exit_code), (Decision::Fail, 1));
        assert_eq!(gate.reasons, ["1 eval (e1) failed"]);
    }

    #[test]
    fn all_evals_may_be_required_beside_thresholds() {
        let spec = GateSpec {
            require_all_evals: true,
            ..at_least(0.5, Figure::Value)
        };
        let of = |outcomes: [Outcome; 2], kind| {
            tally(
                &outcomes.map(|outcome| (kind, Some(Criticality::Low), outcome)),
                Some(0.9),
            )
        };
        let rows = |gate: &Gate| -> Vec<(String, Option<f64>, Decision)> {
            gate.thresholds
                .iter()
                .map(|row| (row.metric.clone(), row.value, row.status))
                .collect()
        };
        let both = |evals: Option<f64>, status| {
            vec![
                ("pass_at_1".to_owned(), Some(0.9), Decision::Pass),
                ("all_evals".to_owned(), evals, status),
            ]
        };
        use Outcome::{Errored, Failed, Passed};
        let gate = decide(&spec, &settled(of([Passed, Passed], CAP)), false, &[]);
        assert_eq!(
            (gate.exit_code, rows(&gate)),
            (0, both(Some(1.0), Decision::Pass))
        );
        let gate = decide(&spec, &settled(of([Passed, Failed], CAP)), false, &[]);
        assert_eq!(
            (gate.exit_code, rows(&gate)),
            (1, both(Some(0.5), Decision::Fail))
        );
        assert_eq!(
            gate.reasons,
            ["1 eval (e1) failed, but `require: all_evals` is set"]
        );
        let gate = decide(&spec, &settled(of([Passed, Failed], REG)), false, &[]);
        assert_eq!(
            (gate.exit_code, rows(&gate)),
            (1, both(Some(0.5), Decision::Fail))
        );
        // What has no grade is read both ways.
        let open = |worst: [Outcome; 2], best: [Outcome; 2], pending| GateTallies {
            lacks: Vec::new(),
            actual: of([Passed, Errored], CAP),
            worst: of(worst, CAP),
            best: of(best, CAP),
            errored: 1 - pending,
            skipped: 0,
            pending,
        };
        let gate = decide(
            &spec,
            &open([Passed, Failed], [Passed, Passed], 0),
            false,
            &[],
        );
        assert_eq!(
            (gate.exit_code, rows(&gate)),
            (3, both(Some(1.0), Decision::Incomplete))
        );
        let gate = decide(
            &spec,
            &open([Passed, Failed], [Passed, Passed], 1),
            false,
            &[],
        );
        assert_eq!(
            (gate.exit_code, rows(&gate)),
            (4, both(Some(1.0), Decision::Pending))
        );
        let gate = decide(
            &spec,
            &open([Failed, Failed], [Failed, Passed], 0),
            false,
            &[],
        );
        assert_eq!(
            (gate.exit_code, rows(&gate)),
            (1, both(Some(1.0), Decision::Fail))
        );
        let gate = decide(
            &spec,
            &open([Passed, Passed], [Passed, Passed], 0),
            false,
            &[],
        );
        assert_eq!(
            (gate.exit_code, rows(&gate)),
            (0, both(Some(1.0), Decision::Pass))
        );
        // A missed threshold fails it all the same, and a shard decides neither.
        let high = GateSpec {
            require_all_evals: true,
            ..at_least(0.95, Figure::Value)
        };
        assert_eq!(
            decide(&high, &settled(of([Passed, Passed], CAP)), false, &[]).exit_code,
            1
        );
        let shard = [Shard { index: 1, of: 2 }];
        let gate = decide(&spec, &settled(of([Passed, Failed], CAP)), false, &shard);
        assert_eq!(
            rows(&gate)[1],
            ("all_evals".to_owned(), Some(0.5), Decision::Undecided)
        );
        // Alone it is the rule of a gate without thresholds.
        let alone = GateSpec {
            require_all_evals: true,
            ..GateSpec::default()
        };
        assert_eq!(
            decide(&alone, &settled(of([Passed, Failed], CAP)), false, &[]).exit_code,
            1
        );
    }

    #[test]
    fn a_run_of_nothing_never_passes() {
        assert_eq!(
            decide(&GateSpec::default(), &settled(tally(&[], None)), false, &[]).decision,
            Decision::Fail
        );
    }

    #[test]
    fn with_thresholds_failed_capabilities_are_listed_but_decide_nothing() {
        let run = settled(tally(
            &[(CAP, None, Outcome::Failed), (CAP, None, Outcome::Passed)],
            Some(0.9),
        ));
        assert_eq!(
            decide(&at_least(0.9, Figure::Value), &run, false, &[]).decision,
            Decision::Pass
        );
        let gate = decide(&at_least(0.95, Figure::Value), &run, false, &[]);
        assert_eq!(gate.decision, Decision::Fail);
        assert_eq!(
            gate.reasons,
            ["pass@1 is 0.900, but at least 0.95 is required: 0.05 short"]
        );
        assert_eq!(
            decide(&at_least(0.85, Figure::CiLower), &run, false, &[]).decision,
            Decision::Fail
        );
    }

    #[test]
    fn a_reason_never_says_that_a_number_misses_itself() {
        let run = settled(tally(&[(CAP, None, Outcome::Passed)], Some(0.849_99)));
        let gate = decide(&at_least(0.85, Figure::Value), &run, false, &[]);
        assert_eq!(
            gate.reasons,
            ["pass@1 is 0.84999, but at least 0.85 is required: 0.00001 short"]
        );
        assert_eq!(
            apart(2000.0, 100.0, false),
            ("2000".to_owned(), "100".to_owned())
        );
        assert_eq!(
            apart(0.5655, 0.99999, true),
            ("0.566".to_owned(), "0.99999".to_owned())
        );
        assert_eq!(
            apart(0.99996, 0.99999, true),
            ("0.99996".to_owned(), "0.99999".to_owned())
        );
    }

    #[test]
    fn a_critical_regression_fails_whatever_is_allowed() {
        let other = settled(tally(
            &[(REG, Some(Criticality::High), Outcome::Failed)],
            Some(1.0),
        ));
        let critical = settled(tally(
            &[(REG, Some(Criticality::Critical), Outcome::Failed)],
            Some(1.0),
        ));
        let mut spec = at_least(0.5, Figure::Value);
        assert_eq!(decide(&spec, &other, false, &[]).decision, Decision::Fail);
        spec.max_regressions = Some(1);
        assert_eq!(decide(&spec, &other, false, &[]).decision, Decision::Pass);
        let gate = decide(&spec, &critical, false, &[]);
        assert_eq!(gate.decision, Decision::Fail);
        assert_eq!(
            gate.reasons,
            ["1 critical regression (e0) failed, which always fails the gate"]
        );
    }

    #[test]
    fn an_open_gate_says_why_in_one_reason() {
        let at = |value| tally(&[(CAP, None, Outcome::Passed)], Some(value));
        let run = GateTallies {
            lacks: Vec::new(),
            actual: at(0.9),
            worst: at(0.8),
            best: at(1.0),
            errored: 2,
            skipped: 0,
            pending: 0,
        };
        let mut spec = at_least(0.85, Figure::Value);
        spec.thresholds
            .extend(at_least(0.95, Figure::Value).thresholds);
        let gate = decide(&spec, &run, false, &[]);
        assert_eq!(gate.decision, Decision::Incomplete);
        insta::assert_snapshot!(gate.reasons.join("\n"), @"samples without a grade leave the decision open: 2 errored; pass@1 is 0.900 over what was graded (at least 0.85 is required); pass@1 is 0.900 over what was graded (at least 0.95 is required)");
    }

    #[test]
    fn errors_leave_the_gate_open_only_when_they_could_decide() {
        let open = |worst: f64, best: f64, errored, pending| GateTallies {
            lacks: Vec::new(),
            actual: tally(&[(CAP, None, Outcome::Errored)], Some(best)),
            worst: tally(&[(CAP, None, Outcome::Failed)], Some(worst)),
            best: tally(&[(CAP, None, Outcome::Passed)], Some(best)),
            errored,
            skipped: 0,
            pending,
        };
        let spec = at_least(0.7, Figure::Value);
        assert_eq!(
            decide(&spec, &open(0.8, 0.9, 1, 0), false, &[]).decision,
            Decision::Pass
        );
        assert_eq!(
            decide(&spec, &open(0.5, 0.6, 1, 0), false, &[]).decision,
            Decision::Fail
        );
        assert_eq!(
            decide(&spec, &open(0.5, 0.9, 1, 0), false, &[]).exit_code,
            3
        );
        assert_eq!(
            decide(&spec, &open(0.5, 0.9, 0, 2), false, &[]).exit_code,
            4
        );
        assert_eq!(
            decide(&spec, &open(0.5, 0.9, 1, 2), false, &[]).exit_code,
            3
        );
        assert_eq!(
            decide(&spec, &open(0.8, 0.9, 1, 0), true, &[]).exit_code,
            130
        );
    }

    #[test]
    fn an_undefined_metric_never_passes() {
        let run = settled(tally(&[(CAP, None, Outcome::Passed)], None));
        let gate = decide(&at_least(0.0, Figure::Value), &run, false, &[]);
        // No human grade is missing, so nobody is to be sent to review it.
        assert_eq!((gate.decision, gate.exit_code), (Decision::Incomplete, 3));
        assert_eq!(gate.thresholds[0].status, Decision::Incomplete);
        assert_eq!(gate.reasons[0], "pass@1 is undefined: no data");
        let mut alone = settled(tally(&[(CAP, None, Outcome::Passed)], Some(1.0)));
        for reading in [&mut alone.actual, &mut alone.worst, &mut alone.best] {
            reading.metrics.get_mut("pass_at_1").unwrap().ci = None;
        }
        let gate = decide(&at_least(0.5, Figure::CiLower), &alone, false, &[]);
        assert_eq!(gate.exit_code, 3);
        assert_eq!(
            gate.reasons[0],
            "the lower end of the interval of pass@1 is undefined: too few cases for an interval"
        );
        let waits = GateTallies { pending: 1, ..run };
        assert_eq!(
            decide(&at_least(0.0, Figure::Value), &waits, false, &[]).exit_code,
            3
        );
    }

    #[test]
    fn an_upper_bound_on_a_rate_is_open_between_the_extremes() {
        let passed = |rate| tally(&[(CAP, None, Outcome::Passed)], Some(rate));
        let run = GateTallies {
            lacks: Vec::new(),
            actual: passed(0.5),
            worst: passed(0.4),
            best: passed(0.9),
            errored: 1,
            skipped: 0,
            pending: 0,
        };
        let mut spec = at_least(0.8, Figure::Value);
        spec.thresholds[0].bound = Bound::Max;
        let gate = decide(&spec, &run, false, &[]);
        assert_eq!((gate.decision, gate.exit_code), (Decision::Incomplete, 3));
        // At worst the one is missed, at best the other; in between both may be met.
        spec.thresholds
            .extend(at_least(0.45, Figure::Value).thresholds);
        let gate = decide(&spec, &run, false, &[]);
        assert_eq!((gate.decision, gate.exit_code), (Decision::Incomplete, 3));
        spec.thresholds[0].value = 0.3;
        assert_eq!(decide(&spec, &run, false, &[]).decision, Decision::Fail);
    }

    #[test]
    fn a_shard_decides_nothing() {
        let bad = settled(tally(&[(CAP, None, Outcome::Failed)], Some(0.5)));
        let gate = decide(
            &at_least(0.9, Figure::Value),
            &bad,
            false,
            &[Shard { index: 1, of: 3 }],
        );
        assert_eq!((gate.decision, gate.exit_code), (Decision::Undecided, 0));
        assert_eq!(
            (gate.thresholds[0].value, gate.thresholds[0].status),
            (Some(0.5), Decision::Undecided)
        );
        assert_eq!(
            gate.reasons,
            [
                "shard 1 of 3 does not decide the gate; join the shards with `eval-harness report --run A --run B ...`"
            ]
        );
        let two = [Shard { index: 1, of: 3 }, Shard { index: 3, of: 3 }];
        let gate = decide(&GateSpec::default(), &bad, true, &two);
        assert_eq!((gate.decision, gate.exit_code), (Decision::Undecided, 130));
        assert!(gate.reasons[0].starts_with("shards 1, 3 of 3 do not decide the gate"));
    }
}
