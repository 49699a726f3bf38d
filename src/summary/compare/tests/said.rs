//! The verdict and its sentences.

use super::*;

/// Sentences without the ends of intervals and p-values that come from resampling.
fn said(comparison: &Comparison) -> String {
    let text = comparison.sentences.join("\n");
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        inside = (inside && c != ']') || c == '[';
        if !inside || c == '[' {
            out.push(c);
        }
    }
    out
}

fn with(settings: CompareSettings, reference: &RunScores, candidate: &RunScores) -> Comparison {
    compare(reference, &[candidate], &settings)
        .unwrap()
        .remove(0)
}

fn settings() -> CompareSettings {
    CompareSettings {
        pairs: 100,
        ..CompareSettings::default()
    }
}

#[test]
fn a_regression_an_improvement_and_neither() {
    let a = of("a", &format!("{}{}", "1".repeat(340), "0".repeat(60)));
    // 40 break, 16 are fixed.
    let b = of(
        "b",
        &format!(
            "{}{}{}{}",
            "0".repeat(40),
            "1".repeat(300),
            "1".repeat(16),
            "0".repeat(44)
        ),
    );
    let said = |comparison: Comparison| comparison.sentences.join("\n");
    let text = [said(one(&a, &b)), said(one(&b, &a)), said(one(&a, &a))].join("\n\n");
    insta::assert_snapshot!(text, @"
    regression: pass@1 fell from 0.850 to 0.790, -6.0 points [-9.8, -2.4], p = 0.0006 (one-sided, McNemar with mid-p, these 400 cases)

    improvement: pass@1 rose from 0.790 to 0.850, +6.0 points [2.4, 9.8], p = 0.0006 (one-sided, McNemar with mid-p, these 400 cases)

    no evidence of a difference: pass@1 is 0.850 on both sides, 0.0 points [-1.0, 1.0], p = 0.50 (one-sided: is it worse?, McNemar with mid-p, these 400 cases)
    A true drop of 1.4 points would have been found with 80 % chance; for half of that, 0.7 points, about 800 cases like these would be needed, or 2 samples of each.
    ");
}

#[test]
fn what_could_have_been_found_is_said_when_nothing_was() {
    // 12 break, 8 are fixed of 400.
    let a = of("a", &format!("{}{}", "1".repeat(340), "0".repeat(60)));
    let b = of(
        "b",
        &format!(
            "{}{}{}{}",
            "0".repeat(12),
            "1".repeat(328),
            "1".repeat(8),
            "0".repeat(52)
        ),
    );
    let seen = one(&a, &b);
    let found = seen.detectable.as_ref().unwrap();
    // (1.6449 + 0.8416) x sqrt(20) / 400 at most; the observed drop is 4 of 400.
    assert!(
        (found.drop.unwrap() - 2.4865 * 20f64.sqrt() / 400.0).abs() < 1.2e-2,
        "{found:?}"
    );
    assert!((found.effect.unwrap() - 0.01).abs() < 1e-12);
    assert_eq!(found.metric, "pass_at_1");
    let asked = with(
        CompareSettings {
            effect: Some(0.005),
            ..settings()
        },
        &a,
        &b,
    );
    let enough = with(
        CompareSettings {
            effect: Some(0.1),
            ..settings()
        },
        &a,
        &b,
    );
    let half = one(&b, &a);
    let lines = [&seen, &asked, &enough, &half].map(|c| c.sentences[1].clone());
    insta::assert_snapshot!(lines.join("\n"), @"
    A true drop of 3.5 points would have been found with 80 % chance; for the observed 1.0 points about 3,700 cases like these would be needed, or 9 samples of each.
    A true drop of 3.4 points would have been found with 80 % chance; for the required 0.5 points about 14,000 cases like these would be needed, or 32 samples of each.
    A true drop of 3.4 points would have been found with 80 % chance; for the required 10.0 points the 400 cases here are enough.
    A true drop of 3.5 points would have been found with 80 % chance; for half of that, 1.7 points, about 1,400 cases like these would be needed, or 4 samples of each.
    ");
}

/// Cases of five samples whose counts are told.
fn fives(label: &str, counts: &[u32]) -> RunScores {
    let cases = counts
        .iter()
        .enumerate()
        .map(|(at, c)| case(&format!("c{at}"), 5, 5, *c));
    side(label, vec![eval("e", cases.collect())])
}

#[test]
fn needed_samples_rest_on_how_samples_of_one_case_vary() {
    // Cases alike, at 4 of 5 in the mean: all that varies is sampling.
    let a: Vec<u32> = (0..200).map(|at| [5, 4, 3, 4][at % 4]).collect();
    let b: Vec<u32> = (0..200).map(|at| [4, 5, 4, 3][at % 4]).collect();
    let compared = with(
        CompareSettings {
            effect: Some(0.01),
            ..settings()
        },
        &fives("a", &a),
        &fives("b", &b),
    );
    let found = compared.detectable.as_ref().unwrap();
    assert!(
        found.samples.is_some_and(|samples| samples > 5),
        "{found:?}"
    );
    // Cases that are one way or the other, and flip whole: more samples tell nothing more.
    let a: Vec<u32> = (0..200)
        .map(|at| if at % 10 == 0 { 0 } else { 5 })
        .collect();
    let b: Vec<u32> = (0..200)
        .map(|at| if at % 10 == 1 { 0 } else { 5 })
        .collect();
    let whole = with(
        CompareSettings {
            effect: Some(0.01),
            ..settings()
        },
        &fives("a", &a),
        &fives("b", &b),
    );
    assert!(whole.detectable.as_ref().unwrap().samples.is_some());
    let tail = |c: &Comparison| {
        c.sentences[1]
            .split("; ")
            .skip(1)
            .collect::<Vec<_>>()
            .join("; ")
    };
    insta::assert_snapshot!([tail(&compared), tail(&whole)].join("\n"), @"
    for the required 1.0 points about 4,100 cases like these would be needed, or 108 samples of each.
    for the required 1.0 points about 1,500 cases like these would be needed, or 32 samples of each.
    ");
}

#[test]
fn where_nothing_moves_nobody_knows_what_could_have_been_found() {
    let a = of("a", "1110");
    let compared = one(&a, &of("b", "1110"));
    assert_eq!(compared.verdict, ComparisonVerdict::None);
    insta::assert_snapshot!(said(&compared), @"
    no evidence of a difference: pass@1 is 0.750 on both sides, 0.0 points [], p = 0.50 (one-sided: is it worse?, McNemar with mid-p, these 4 cases)
    No drop could be found with 80 % chance by this test of these cases: add cases.
    ");
}

#[test]
fn samples_without_a_grade_are_read_both_ways() {
    // Without the 9 that errored nothing broke; with them 9 of 60 may have.
    let a = of("a", &"1".repeat(60));
    let b = of("b", &format!("{}{}", "?".repeat(9), "1".repeat(51)));
    let compared = one(&a, &b);
    use ComparisonVerdict::{None, Regression};
    assert_eq!(
        [
            compared.verdict,
            compared.verdict_worst,
            compared.verdict_best
        ],
        [None, Regression, None]
    );
    assert_eq!(
        (compared.cases.ungraded.count, compared.cases.may_be_broken),
        (9, 9)
    );
    let metric = &compared.metrics[0];
    assert_eq!((metric.n, metric.difference), (51, Some(0.0)));
    assert_eq!((metric.worst, metric.best), (Some(-0.15), Some(0.0)));
    // A single one changes nothing.
    let few = one(&a, &of("b", &format!("?{}", "1".repeat(59))));
    // In the reference it is read the other way: had it failed there, the candidate would be as
    // good.
    let other = one(
        &of("a", &format!("{}{}", "?".repeat(9), "1".repeat(51))),
        &a,
    );
    assert_eq!(
        [other.verdict, other.verdict_worst, other.verdict_best],
        [None, None, ComparisonVerdict::Improvement]
    );
    let last = |c: &Comparison| c.sentences.last().unwrap().clone();
    insta::assert_snapshot!([last(&compared), last(&few), last(&other)].join("\n"), @r"
    9 samples of the compared cases have no grade (0 of the reference, 9 of the candidate): if they counted against the candidate, the verdict would be `regression`, and if they counted for it, `no evidence of a difference`.
    1 sample of the compared cases has no grade (0 of the reference, 1 of the candidate); the verdict is the same whether they count for or against the candidate.
    9 samples of the compared cases have no grade (9 of the reference, 0 of the candidate): if they counted against the candidate, the verdict would be `no evidence of a difference`, and if they counted for it, `improvement`.
    ");
}

#[test]
fn several_metrics_and_candidates_share_the_level() {
    let a = of("a", &"1".repeat(100));
    // 5 broken: mid-p of 2^-6 = 0.0156 alone.
    let b = of("b", &format!("{}{}", "0".repeat(5), "1".repeat(95)));
    let c = of("c", &format!("{}{}", "0".repeat(6), "1".repeat(94)));
    assert_eq!(one(&a, &b).verdict, ComparisonVerdict::Regression);
    let four = CompareSettings {
        metrics: vec![
            Metric::PassAt(1),
            Metric::CasePassRate,
            Metric::Score,
            Metric::PassAt(1),
        ],
        ..settings()
    };
    let all = compare(&a, &[&b, &a, &c], &four).unwrap();
    assert_eq!(
        all[0].settings.metrics,
        ["pass_at_1", "case_pass_rate", "score"]
    );
    assert_eq!(all[0].settings.candidates, 3);
    // Nine tests: c's three of 2^-7 come first, times 9, 8, 7, of which the first is above 0.05.
    let adjusted = |c: &Comparison| {
        c.metrics[0]
            .test
            .as_ref()
            .unwrap()
            .p_worse_adjusted
            .unwrap()
    };
    assert!(
        (adjusted(&all[2]) - 9.0 / 128.0).abs() < 1e-12,
        "{}",
        adjusted(&all[2])
    );
    assert!(
        (adjusted(&all[0]) - 6.0 / 64.0).abs() < 1e-12,
        "{}",
        adjusted(&all[0])
    );
    assert!(
        all.iter()
            .all(|comparison| comparison.verdict == ComparisonVerdict::None)
    );
    insta::assert_snapshot!(said(&all[2]), @"
    no evidence of a difference: pass@1 fell from 1.000 to 0.940, -6.0 points [], p = 0.070 after Holm over 9 tests (one-sided: is it worse?, McNemar with mid-p, these 100 cases)
    The interval excludes 0, but it is not adjusted for several tests; the verdict allows 5 % for all 9 tests together.
    A true drop of 13.2 points would have been found with 80 % chance; for the observed 6.0 points about 350 cases like these would be needed, or 4 samples of each.
    ");
}

/// Twelve evals of ten cases, of which eval 3 breaks.
fn grouped() -> (RunScores, RunScores) {
    let run = |label: &str, broken: bool| {
        let evals = (0..12).map(|e| {
            let c = |at: usize| u32::from(!(broken && e == 3 && at < 8 || at == 9));
            let mut eval = eval(
                &format!("e{e}"),
                (0..10)
                    .map(|at| case(&format!("c{at}"), 1, 1, c(at)))
                    .collect(),
            );
            eval.category = Some(if e < 6 { "math" } else { "code" }.to_owned());
            eval.kind = Some(EvalType::Capability);
            eval.tags = if e == 3 {
                vec!["hard".into(), "hard".into()]
            } else {
                vec![]
            };
            eval.difficulty = (e == 3).then_some(Difficulty::Hard);
            for case in eval.cases.iter_mut().take(1) {
                case.tags = vec!["first".into(), "hard".into()];
            }
            eval
        });
        let interval_scope = crate::model::IntervalScope::SimilarEvals;
        RunScores {
            interval_scope,
            ..side(label, evals.collect())
        }
    };
    (run("a", false), run("b", true))
}

#[test]
fn groups_inform_and_decide_when_asked() {
    let (a, b) = grouped();
    let informed = one(&a, &b);
    assert_eq!(
        informed.verdict,
        ComparisonVerdict::None,
        "one eval of twelve moved, whatever its cases"
    );
    let list = |c: &Comparison| {
        let line = |group: &GroupDifference| {
            let (metric, test) = (&group.metric, group.metric.test.as_ref());
            format!(
                "{} {}: {} {:?} {} -{} +{} {}",
                group.by.name(),
                group.group,
                metric.n,
                group.verdict,
                test.map_or("untested", |test| if test.decides {
                    "decides"
                } else {
                    "informs"
                }),
                group.broken,
                group.fixed,
                metric
                    .difference
                    .map_or("none".to_owned(), |d| format!("{d:.3}")),
            )
        };
        c.groups.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(list(&informed), @"
    category code: 60 None informs -0 +0 0.000
    category math: 60 None informs -8 +0 -0.133
    tag first: 12 None informs -1 +0 -0.083
    tag hard: 21 None informs -8 +0 -0.381
    difficulty hard: 10 Regression informs -8 +0 -0.800
    eval e0: 10 None informs -0 +0 0.000
    eval e1: 10 None informs -0 +0 0.000
    eval e2: 10 None informs -0 +0 0.000
    eval e3: 10 Regression informs -8 +0 -0.800
    eval e4: 10 None informs -0 +0 0.000
    eval e5: 10 None informs -0 +0 0.000
    eval e6: 10 None informs -0 +0 0.000
    eval e7: 10 None informs -0 +0 0.000
    eval e8: 10 None informs -0 +0 0.000
    eval e9: 10 None informs -0 +0 0.000
    eval e10: 10 None informs -0 +0 0.000
    eval e11: 10 None informs -0 +0 0.000
    ");
    let by = with(
        CompareSettings {
            by: vec![Grouping::Eval],
            ..settings()
        },
        &a,
        &b,
    );
    assert_eq!(by.verdict, ComparisonVerdict::Regression);
    assert!(
        by.groups
            .iter()
            .filter(|group| group.by == Grouping::Eval)
            .all(|group| group.metric.test.as_ref().unwrap().decides)
    );
    // 13 tests; 8 of 8 in one direction.
    let eval = by.groups.iter().find(|group| group.group == "e3").unwrap();
    let test = eval.metric.test.as_ref().unwrap();
    assert!(
        (test.p_worse_adjusted.unwrap() - 13.0 * 0.5f64.powi(9)).abs() < 1e-12,
        "{test:?}"
    );
    insta::assert_snapshot!([informed.sentences.last().unwrap().clone(), said(&by)].join("\n"), @"
    Taken alone, difficulty hard is worse: pass@1 fell from 0.900 to 0.100, -80.0 points [-94.3, -30.0], p = 0.002. This does not affect the verdict; with `--by difficulty`, such groups do.
    regression in eval e3: pass@1 fell from 0.900 to 0.100, -80.0 points [], p = 0.025 after Holm over 13 tests (one-sided, McNemar with mid-p, these 10 cases)
    ");
}

#[test]
fn where_less_is_better_more_is_worse() {
    let run = |label: &str, ms: f64| {
        let mut run = of(label, &"1".repeat(40));
        for (at, case) in run.evals[0].cases.iter_mut().enumerate() {
            case.latency_ms = Some(ms + at as f64);
            case.tokens = Some(100.0);
        }
        run
    };
    let (a, b) = (run("a", 100.0), run("b", 130.0));
    let latency = CompareSettings {
        metrics: vec![Metric::LatencyMeanMs],
        ..settings()
    };
    let slower = with(latency.clone(), &a, &b);
    assert_eq!(slower.verdict, ComparisonVerdict::Regression);
    assert_eq!(
        with(latency.clone(), &b, &a).verdict,
        ComparisonVerdict::Improvement
    );
    let row = &slower.metrics[0];
    assert_eq!(
        (row.name.as_str(), row.difference, row.worst),
        ("latency_mean_ms", Some(30.0), None)
    );
    assert_eq!(row.higher_is_better, Some(false));
    let names: Vec<&str> = slower
        .metrics
        .iter()
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(
        names[..3],
        ["latency_mean_ms", "pass_at_1", "case_pass_rate"]
    );
    assert!(
        names.contains(&TOKENS_PER_SAMPLE) && !names.contains(&"tokens"),
        "{names:?}"
    );
    // Nothing bounds how slow a sample without a grade may have been.
    let mut open = run("b", 100.0);
    open.evals[0].cases[3] = CaseRecord {
        latency_ms: Some(103.0),
        ..case("c3", 2, 1, 1)
    };
    let open = with(latency, &a, &open);
    assert_eq!(
        (open.verdict_worst, open.verdict_best),
        (
            ComparisonVerdict::Regression,
            ComparisonVerdict::Improvement
        )
    );
    insta::assert_snapshot!(said(&slower), @"regression: latency_mean_ms rose from 120 ms to 150 ms, +30.0 ms, p < 0.0001 (one-sided, sign flips, these 40 cases)");
}

#[test]
fn metrics_that_no_case_has_are_no_ground_for_a_verdict() {
    let a = of("a", "11");
    let refused = |metric: Metric| {
        let settings = CompareSettings {
            metrics: vec![metric],
            ..settings()
        };
        let error = compare(&a, &[&a], &settings).unwrap_err();
        assert!(error.hint().unwrap().contains("pass_at_1"));
        error.to_string()
    };
    insta::assert_snapshot!([
        refused(Metric::LatencyP95Ms),
        refused(Metric::TokensInput),
        refused(Metric::JudgeConsistency),
        refused(Metric::Named("edit_rate".into())),
    ].join("\n"), @r"
    the verdict can't be based on `latency_p95_ms`: it is a percentile, which a single case does not have
    the verdict can't be based on `tokens_input`: it is a sum over the run, which a single case does not have
    the verdict can't be based on `judge_consistency`: it measures judges, not the target
    the verdict can't be based on `edit_rate`: it has no direction: whether higher or lower is better is unknown
    ");
    let mut scored = a.clone();
    scored.score_metrics = vec!["lint_pass".into()];
    scored.evals[0]
        .cases
        .iter_mut()
        .for_each(|case| _ = case.metrics.insert("lint_pass".into(), 0.5));
    let settings = CompareSettings {
        metrics: vec![Metric::Named("lint_pass".into())],
        ..settings()
    };
    let compared = compare(&scored, &[&scored], &settings).unwrap().remove(0);
    assert_eq!(
        (compared.metrics[0].n, compared.metrics[0].difference),
        (2, Some(0.0))
    );
    assert_eq!(
        compare(&a, &[], &CompareSettings::default()),
        Err(ComparisonError::Nothing)
    );
}
