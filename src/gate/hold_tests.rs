//! Every word under every combination of readings, and a comparison beside the gate's own demands.

use super::*;
use crate::model::testing;
use crate::model::{ComparisonVerdict::*, DifferenceTest, FlipList, RunTally, ThresholdResult};

fn compared(verdicts: [ComparisonVerdict; 3], tested: bool) -> Comparison {
    let mut comparison = testing::comparison();
    [
        comparison.verdict,
        comparison.verdict_worst,
        comparison.verdict_best,
    ] = verdicts;
    comparison.sentences = vec!["SAID".into()];
    comparison.cases.compared = 10;
    if let Some(metric) = comparison.metrics.first_mut() {
        metric.test = tested.then(|| DifferenceTest {
            method: "sign_flip".into(),
            p_worse: 0.5,
            p_better: 0.5,
            p_worse_adjusted: Some(0.5),
            p_better_adjusted: Some(0.5),
            decides: true,
        });
    }
    comparison
}

fn said(fail_on: FailOn, comparison: &Comparison) -> String {
    let (decision, reasons) = hold(fail_on, &[comparison]);
    format!("{decision:?} {}", reasons.join(" | "))
}

#[test]
fn significant_fails_only_when_all_three_readings_say_regression() {
    let mut table = String::new();
    for graded in [Regression, None, Improvement] {
        for worst in [Regression, None] {
            for best in [Regression, None, Improvement] {
                for tested in [true, false] {
                    let held = said(
                        FailOn::Significant,
                        &compared([graded, worst, best], tested),
                    );
                    table += &format!("{graded:?} {worst:?} {best:?} {tested}: {held}\n");
                    let regressions = [graded, worst, best]
                        .iter()
                        .filter(|v| **v == Regression)
                        .count();
                    let decision = held.split(' ').next().unwrap();
                    let wanted = match regressions {
                        3 => "Fail",
                        0 if tested => "Pass",
                        _ => "Incomplete",
                    };
                    assert_eq!(decision, wanted, "{graded:?} {worst:?} {best:?} {tested}");
                    // The other words look at cases alone.
                    for word in [FailOn::Any, FailOn::Critical, FailOn::Never] {
                        assert_eq!(
                            said(word, &compared([graded, worst, best], tested)),
                            "Pass "
                        );
                    }
                }
            }
        }
    }
    let line = |start: &str| {
        table
            .lines()
            .find(|line| line.starts_with(start))
            .unwrap()
            .to_owned()
    };
    insta::assert_snapshot!([
        line("Regression Regression Regression true"),
        line("Regression Regression None true"),
        line("None Regression None true"),
        line("None None None false"),
        line("None Regression None false"),
    ].join("\n"), @r"
    Regression Regression Regression true: Fail SAID
    Regression Regression None true: Incomplete SAID; samples without a grade could change that
    None Regression None true: Incomplete samples without a grade leave open whether the candidate is worse
    None None None false: Incomplete SAID, so a regression can't be ruled out
    None Regression None false: Incomplete SAID, so a regression can't be ruled out
    ");
}

#[test]
fn of_several_metrics_each_must_have_been_tested() {
    let mut comparison = compared([None; 3], true);
    comparison.settings.metrics.push("score".into());
    assert_eq!(
        said(FailOn::Significant, &comparison),
        "Incomplete score could not be compared, so a regression of it can't be ruled out"
    );
    let mut other = comparison.metrics[0].clone();
    other.name = "score".into();
    comparison.metrics.push(other);
    assert_eq!(said(FailOn::Significant, &comparison), "Pass ");
}

#[test]
fn flips_fail_and_what_may_have_flipped_is_incomplete() {
    let mut table = String::new();
    for (broken, critical) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
        for (open, open_critical) in [(0, 0), (1, 0), (4, 2)] {
            let mut comparison = compared([None; 3], true);
            comparison.cases.broken = FlipList {
                private: 0,
                count: broken,
                cases: vec![],
            };
            comparison.cases.broken_critical = critical;
            (
                comparison.cases.may_be_broken,
                comparison.cases.may_be_broken_critical,
            ) = (open, open_critical);
            let [any, only] = [FailOn::Any, FailOn::Critical].map(|word| said(word, &comparison));
            table += &format!("{broken}/{critical} {open}/{open_critical} any: {any}\n");
            table += &format!("{broken}/{critical} {open}/{open_critical} critical: {only}\n");
            assert_eq!(said(FailOn::Never, &comparison), "Pass ");
            assert_eq!(said(FailOn::Significant, &comparison), "Pass ");
        }
    }
    insta::assert_snapshot!(table, @r"
    0/0 0/0 any: Pass 
    0/0 0/0 critical: Pass 
    0/0 1/0 any: Incomplete 1 case may have broken, but has no outcome in the reference or in the candidate
    0/0 1/0 critical: Pass 
    0/0 4/2 any: Incomplete 4 cases may have broken, but have no outcome in the reference or in the candidate
    0/0 4/2 critical: Incomplete 2 cases of a critical eval may have broken, but have no outcome in the reference or in the candidate
    1/0 0/0 any: Fail 1 case that passed in the reference fails now
    1/0 0/0 critical: Pass 
    1/0 1/0 any: Fail 1 case that passed in the reference fails now
    1/0 1/0 critical: Pass 
    1/0 4/2 any: Fail 1 case that passed in the reference fails now
    1/0 4/2 critical: Incomplete 2 cases of a critical eval may have broken, but have no outcome in the reference or in the candidate
    2/1 0/0 any: Fail 2 cases that passed in the reference fail now
    2/1 0/0 critical: Fail 1 case of a critical eval that passed in the reference fails now
    2/1 1/0 any: Fail 2 cases that passed in the reference fail now
    2/1 1/0 critical: Fail 1 case of a critical eval that passed in the reference fails now
    2/1 4/2 any: Fail 2 cases that passed in the reference fail now
    2/1 4/2 critical: Fail 1 case of a critical eval that passed in the reference fails now
    3/2 0/0 any: Fail 3 cases that passed in the reference fail now
    3/2 0/0 critical: Fail 2 cases of a critical eval that passed in the reference fail now
    3/2 1/0 any: Fail 3 cases that passed in the reference fail now
    3/2 1/0 critical: Fail 2 cases of a critical eval that passed in the reference fail now
    3/2 4/2 any: Fail 3 cases that passed in the reference fail now
    3/2 4/2 critical: Fail 2 cases of a critical eval that passed in the reference fail now
    ");
}

#[test]
fn with_nothing_to_compare_only_never_passes() {
    let mut nothing = compared([None; 3], false);
    nothing.cases.compared = 0;
    for word in [FailOn::Significant, FailOn::Any, FailOn::Critical] {
        assert_eq!(hold(word, &[]).0, Decision::Incomplete);
        assert_eq!(hold(word, &[&nothing]).0, Decision::Incomplete);
    }
    assert_eq!(hold(FailOn::Never, &[]), (Decision::Pass, vec![]));
    assert_eq!(hold(FailOn::Never, &[&nothing]), (Decision::Pass, vec![]));
}

#[test]
fn critical_cases_that_were_all_written_anew_or_renamed_are_not_well() {
    let mut comparison = compared([None; 3], true);
    let mut of = |there: usize, compared: usize| {
        (
            comparison.cases.reference_critical,
            comparison.cases.compared_critical,
        ) = (there, compared);
        let other = [FailOn::Any, FailOn::Significant].map(|word| said(word, &comparison));
        assert_eq!(other, ["Pass ", "Pass "]);
        said(FailOn::Critical, &comparison)
    };
    assert_eq!([of(0, 0), of(3, 1), of(3, 3), of(0, 2)], ["Pass "; 4]);
    insta::assert_snapshot!([of(1, 0), of(3, 0)].join("\n"), @r"
    Incomplete the only case of a critical eval in the reference was not compared, so it may be worse now
    Incomplete none of the 3 cases of critical evals in the reference was compared, so any of them may be worse now
    ");
}

#[test]
fn of_several_candidates_the_worst_decides_and_each_is_named() {
    let [good, bad, open] =
        [[None; 3], [Regression; 3], [None, Regression, None]].map(|v| compared(v, true));
    let named = |mut comparison: Comparison, label: &str| {
        comparison.candidate.label = label.into();
        comparison
    };
    let (good, bad, open) = (named(good, "good"), named(bad, "bad"), named(open, "open"));
    let (decision, reasons) = hold(FailOn::Significant, &[&good, &open, &bad]);
    assert_eq!(decision, Decision::Fail);
    insta::assert_snapshot!(reasons.join("\n"), @r"
    bad: SAID
    open: samples without a grade leave open whether the candidate is worse
    ");
    assert_eq!(
        hold(FailOn::Significant, &[&good, &open]).0,
        Decision::Incomplete
    );
    assert_eq!(
        hold(FailOn::Significant, &[&good, &good]),
        (Decision::Pass, vec![])
    );
}

#[test]
fn the_graver_of_gate_and_comparison_counts() {
    use Decision::{Fail, Incomplete, Pass, Pending, Undecided};
    let [good, bad, open] =
        [[None; 3], [Regression; 3], [None, Regression, None]].map(|v| compared(v, true));
    let table = [
        // The gate's own, and with a good, an open and a bad comparison.
        (Pass, [Pass, Incomplete, Fail]),
        (Pending, [Pending, Incomplete, Fail]),
        (Incomplete, [Incomplete, Incomplete, Fail]),
        (Fail, [Fail, Fail, Fail]),
        (Undecided, [Undecided, Undecided, Undecided]),
    ];
    for (own, wanted) in table {
        for (comparison, wanted) in [&good, &open, &bad].into_iter().zip(wanted) {
            for interrupted in [false, true] {
                let exit_code = ExitCode::of(own, interrupted).code();
                let thresholds: Vec<ThresholdResult> = vec![];
                let gate = Gate {
                    decision: own,
                    exit_code,
                    thresholds,
                    reasons: vec!["own".into()],
                };
                let gate = add_comparison(
                    gate,
                    FailOn::Significant,
                    Some(comparison),
                    &lacking(0, 0, 0),
                    interrupted,
                );
                assert_eq!(gate.decision, wanted, "{own:?}");
                assert_eq!(gate.exit_code, ExitCode::of(wanted, interrupted).code());
                assert_eq!(gate.reasons[0], "own");
                let more = own != Undecided && !std::ptr::eq(comparison, &good);
                assert_eq!(gate.reasons.len(), if more { 2 } else { 1 });
            }
        }
    }
    let gate = Gate {
        decision: Pass,
        exit_code: 0,
        thresholds: vec![],
        reasons: vec![],
    };
    let gate = add_comparison(gate, FailOn::Any, Option::None, &lacking(0, 0, 0), false);
    assert_eq!((gate.decision, gate.exit_code), (Incomplete, 3));
    insta::assert_snapshot!(gate.reasons.join("\n"), @"compared with the reference: nothing could be compared, so a regression can't be ruled out");
}

/// A run of which so many samples errored, were skipped and wait for a human grade.
fn lacking(errored: usize, skipped: usize, pending: usize) -> GateTallies {
    let [actual, worst, best] = [
        RunTally::default(),
        RunTally::default(),
        RunTally::default(),
    ];
    GateTallies {
        lacks: Vec::new(),
        actual,
        worst,
        best,
        errored,
        skipped,
        pending,
    }
}

#[test]
fn where_only_human_grades_of_the_run_are_missing_people_decide() {
    use Decision::{Fail, Incomplete, Pass, Pending};
    let mut table = Vec::new();
    for (errored, skipped, pending) in [(0, 0, 2), (1, 0, 2), (0, 1, 2), (1, 0, 0)] {
        for reference in [0, 1] {
            let mut open = compared([None, Regression, None], true);
            (
                open.cases.ungraded_samples_reference,
                open.cases.ungraded_samples_candidate,
            ) = (reference, 2);
            let gate = Gate {
                decision: Pass,
                exit_code: 0,
                thresholds: vec![],
                reasons: vec![],
            };
            let held = add_comparison(
                gate,
                FailOn::Significant,
                Some(&open),
                &lacking(errored, skipped, pending),
                false,
            );
            table.push((held.decision, held.exit_code));
        }
    }
    assert_eq!(table[0], (Pending, 4));
    assert_eq!(table[1..], [(Incomplete, 3); 7]);
    // What people can't mend is none of theirs, and what failed has failed.
    for (verdicts, wanted) in [([None; 3], Pass), ([Regression; 3], Fail)] {
        let gate = Gate {
            decision: Pass,
            exit_code: 0,
            thresholds: vec![],
            reasons: vec![],
        };
        let one = compared(verdicts, true);
        assert_eq!(
            add_comparison(
                gate,
                FailOn::Significant,
                Some(&one),
                &lacking(0, 0, 2),
                false
            )
            .decision,
            wanted
        );
    }
}
