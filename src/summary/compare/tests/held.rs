//! Verdicts that would not hold: of rounding, of many tests, of unlike numbers of samples.

use super::*;
use crate::model::IntervalScope;

fn with(settings: CompareSettings, reference: &RunScores, candidate: &RunScores) -> Comparison {
    compare(reference, &[candidate], &settings)
        .unwrap()
        .remove(0)
}

fn cases(n: usize, of: impl Fn(usize) -> (u32, u32)) -> Vec<CaseRecord> {
    (0..n)
        .map(|at| (at, of(at)))
        .map(|(at, (n, c))| case(&format!("c{at}"), n, n, c))
        .collect()
}

#[test]
fn rounding_is_no_difference() {
    // In each of 12 evals a case goes from 2/5 to 3/5 and one from 2/5 to 1/5, which in binary sums
    // to -5.6e-17.
    let run = |label: &str, c: [u32; 2]| {
        side(
            label,
            (0..12)
                .map(|e| eval(&format!("e{e}"), cases(2, |at| (5, c[at]))))
                .collect(),
        )
    };
    let compared = one(&run("a", [2, 2]), &run("b", [3, 1]));
    let metric = &compared.metrics[0];
    let test = metric.test.as_ref().unwrap();
    assert_eq!(test.method, "within_cases");
    assert!(
        (test.p_worse - 0.5).abs() < 1e-9 && (test.p_better - 0.5).abs() < 1e-9,
        "{test:?}"
    );
    assert_eq!(
        (compared.verdict, metric.difference),
        (ComparisonVerdict::None, Some(0.0))
    );
    assert!(
        metric
            .ci
            .is_some_and(|[low, high]| low < -0.05 && high > 0.05),
        "{:?}",
        metric.ci
    );
    assert!(
        compared.sentences[0].contains("pass@1 is 0.400 on both sides"),
        "{:?}",
        compared.sentences
    );
}

/// As many suites are: some evals written by hand, and a benchmark.
#[test]
fn a_benchmark_beside_small_evals_can_regress() {
    let run = |label: &str, passed: usize| {
        let mut evals: Vec<EvalRecord> = (0..30)
            .map(|e| eval(&format!("e{e}"), cases(5, |at| (1, u32::from(at > 0)))))
            .collect();
        evals.push(eval(
            "humaneval",
            cases(164, |at| (1, u32::from(at < passed))),
        ));
        side(label, evals)
    };
    let compared = one(&run("a", 140), &run("b", 80));
    assert_eq!(
        compared.verdict,
        ComparisonVerdict::Regression,
        "{:?}",
        compared.sentences
    );
    assert_eq!(
        compared.metrics[0].test.as_ref().unwrap().method,
        "mcnemar_mid_p"
    );
    assert_eq!(
        one(&run("b", 80), &run("a", 140)).verdict,
        ComparisonVerdict::Improvement
    );
}

#[test]
fn that_everything_broke_is_seen_among_hundreds_of_groups() {
    let run = |label: &str, c: u32| {
        side(
            label,
            (0..600)
                .map(|e| eval(&format!("e{e}"), cases(2, |_| (1, c))))
                .collect(),
        )
    };
    let settings = || CompareSettings {
        by: vec![Grouping::Eval],
        ..CompareSettings::default()
    };
    let compared = with(settings(), &run("a", 1), &run("b", 0));
    assert_eq!(
        compared.verdict,
        ComparisonVerdict::Regression,
        "{}",
        compared.sentences[0]
    );
    assert_eq!(
        with(settings(), &run("a", 0), &run("b", 1)).verdict,
        ComparisonVerdict::Improvement
    );
}

#[test]
fn more_samples_see_more_failures_and_are_not_worse() {
    // Of 20 cases that all passed at one sample 8 fail once of ten: as of equals that pass 19 times
    // of 20.
    let once = side("a", vec![eval("e", cases(20, |_| (1, 1)))]);
    let often = side(
        "b",
        vec![eval("e", cases(20, |at| (10, if at < 8 { 9 } else { 10 })))],
    );
    let compared = one(&once, &often);
    let test = compared.metrics[0].test.as_ref().unwrap();
    // The failure is dealt to the ten with chance 10/11: (10/11)^8 that all are, of which half
    // counts.
    assert!(
        (test.p_worse - (10.0f64 / 11.0).powi(8) / 2.0).abs() < 1e-9,
        "{test:?}"
    );
    assert_eq!(compared.verdict, ComparisonVerdict::None);
    assert_eq!(one(&often, &once).verdict, ComparisonVerdict::None);
    // What is worse is still found.
    let worse = side(
        "b",
        vec![eval("e", cases(20, |at| (10, if at < 8 { 2 } else { 10 })))],
    );
    assert_eq!(one(&once, &worse).verdict, ComparisonVerdict::Regression);
}

#[test]
fn four_cases_of_one_sample_can_lose_everything_unseen() {
    // Four flips of four cases: half of 1/16 is below 5 %, but three of them are not; so large a
    // drop is no sure find.
    let compared = one(&of("a", "1111"), &of("b", "0001"));
    assert_eq!(compared.verdict, ComparisonVerdict::None);
    insta::assert_snapshot!(compared.sentences.join("\n"), @"
    no evidence of a difference: pass@1 fell from 1.000 to 0.250, -75.0 points [-95.4, 10.7], p = 0.063 (one-sided: is it worse?, McNemar with mid-p, these 4 cases)
    No drop could be found with 80 % chance by this test of these cases: add cases.
    ");
}

#[test]
fn four_cases_that_lose_all_samples_are_a_regression() {
    let of = |label: &str, c: u32| side(label, vec![eval("e", cases(4, |_| (3, c)))]);
    let compared = one(&of("a", 3), &of("b", 0));
    assert_eq!(compared.verdict, ComparisonVerdict::Regression);
    insta::assert_snapshot!(compared.sentences.join("\n"), @"regression: pass@1 fell from 1.000 to 0.000, -100.0 points [-100.0, -2.0], p < 0.0001 (one-sided, permutation within cases, these 4 cases)");
}

#[test]
fn whole_evals_are_tested_where_the_suite_asks_for_evals_like_these() {
    let run = |label: &str, c: [u32; 2], evals: usize| RunScores {
        interval_scope: IntervalScope::SimilarEvals,
        ..side(
            label,
            (0..evals)
                .map(|e| eval(&format!("e{e}"), cases(4, |at| (3, c[at % 2]))))
                .collect(),
        )
    };
    let compared = one(&run("a", [3, 3], 8), &run("b", [3, 1], 8));
    assert_eq!(compared.scope, IntervalScope::SimilarEvals);
    insta::assert_snapshot!(compared.sentences.join("\n"), @"
    regression: pass@1 fell from 1.000 to 0.667, -33.3 points [-66.1, 9.9], p = 0.004 (one-sided, sign flips of whole evals, 32 cases of evals like these)
    The interval includes 0, but the test is significant at 5 %: they use different methods, and the test decides.
    ");
    let few = one(&run("a", [3, 3], 4), &run("b", [3, 1], 4));
    assert_eq!(few.scope, IntervalScope::TheseCases);
    insta::assert_snapshot!(few.notes.join("\n"), @"4 evals are too few to test evals like these: cases are tested instead, and the verdict applies to these cases only");
}
