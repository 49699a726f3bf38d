//! Comparisons made by hand, and what each form makes of them.

mod documents;
mod forms;
mod hostile;
mod in_reports;
mod page;
mod words;

use crate::model::{
    CaseChanges, CaseFlip, ComparedSide, Comparison, ComparisonSettings, ComparisonVerdict,
    Comparisons, Decision, Detectable, DifferenceTest, FlipList, GroupDifference, MetricDifference,
    ScoresSource,
};
use crate::report::comparison;
use crate::report::{TerminalOptions, limits};
use crate::spec::words::{Criticality, FailOn, Grouping};

pub(super) fn side(label: &str, run: &str) -> ComparedSide {
    ComparedSide {
        label: label.to_owned(),
        source: ScoresSource::Journals(vec![format!("results/2026-01-02/{run}.journal.jsonl")]),
        suite: "Parser suite".to_owned(),
        suite_version: Some("1.2.0".to_owned()),
        target: "solver".to_owned(),
        target_type: "model".to_owned(),
        target_hash: None,
        model: Some("openai:gpt-4o-mini".to_owned()),
        run_id: run.to_owned(),
        timestamp: "2026-01-02T12:00:00Z".to_owned(),
        commit: Some("0123456789abcdef".to_owned()),
        dirty: false,
        harness_version: "0.1.0".to_owned(),
        filters: Vec::new(),
        shards: Vec::new(),
        interrupted: false,
        regrade_of: None,
        changed_since: None,
        reused_from: Vec::new(),
        capture: false,
    }
}

pub(super) fn metric(name: &str, sides: [f64; 2], ci: [f64; 2], p_worse: f64) -> MetricDifference {
    MetricDifference {
        name: name.to_owned(),
        n: 400,
        unit: "case".to_owned(),
        reference: Some(sides[0]),
        candidate: Some(sides[1]),
        difference: Some(sides[1] - sides[0]),
        ci: Some(ci),
        method: "bootstrap".to_owned(),
        higher_is_better: Some(!name.ends_with("_ms") && !name.ends_with("_usd")),
        test: Some(DifferenceTest {
            method: "sign_flip".to_owned(),
            p_worse,
            p_better: 1.0 - p_worse,
            p_worse_adjusted: None,
            p_better_adjusted: None,
            decides: false,
        }),
        worst: None,
        best: None,
        undefined: None,
    }
}

/// The metric that the verdict rests on.
pub(super) fn deciding(mut metric: MetricDifference, tests: f64) -> MetricDifference {
    if let Some(test) = &mut metric.test {
        test.p_worse_adjusted = Some((test.p_worse * tests).min(1.0));
        test.p_better_adjusted = Some((test.p_better * tests).min(1.0));
        test.decides = true;
    }
    metric
}

pub(super) fn flip(eval: &str, case: &str, counts: [Option<[u32; 2]>; 2]) -> CaseFlip {
    CaseFlip {
        eval_id: eval.to_owned(),
        case_id: case.to_owned(),
        criticality: None,
        reference: counts[0],
        candidate: counts[1],
        changed: vec![],
    }
}

pub(super) fn flips(count: usize, counts: [Option<[u32; 2]>; 2]) -> FlipList {
    let cases = (0..count)
        .map(|n| flip("cap-code-002", &format!("case-{n:02}"), counts))
        .collect();
    FlipList {
        count,
        private: 0,
        cases,
    }
}

pub(super) fn group(
    by: Grouping,
    name: &str,
    metric: MetricDifference,
    flips: [usize; 2],
) -> GroupDifference {
    GroupDifference {
        by,
        group: name.to_owned(),
        verdict: ComparisonVerdict::None,
        metric,
        broken: flips[0],
        fixed: flips[1],
    }
}

/// A run that is worse: 5 samples a case, flips of every kind, groups, notes.
pub(super) fn regression() -> Comparison {
    let mut broken = flips(24, [Some([5, 5]), Some([1, 5])]);
    broken.cases[20].criticality = Some(Criticality::Critical);
    let verdict = ComparisonVerdict::Regression;
    let mut code = group(
        Grouping::Category,
        "code",
        deciding(
            metric("pass_at_1", [0.9, 0.76], [-0.19, -0.092], 0.000_02),
            3.0,
        ),
        [22, 4],
    );
    code.metric.n = 200;
    code.verdict = verdict;
    let mut math = group(
        Grouping::Category,
        "math and everything else that counts",
        deciding(metric("pass_at_1", [0.81, 0.83], [-0.02, 0.06], 0.81), 3.0),
        [2, 8],
    );
    math.metric.n = 190;
    let mut alike = group(
        Grouping::Category,
        "chat",
        metric("pass_at_1", [0.7, 0.7], [-0.1, 0.1], 0.5),
        [0, 0],
    );
    (alike.metric.n, alike.metric.test) = (10, None);
    Comparison {
        scope: crate::model::IntervalScope::TheseCases,
        reference: side("main", "eval-20260101-120000"),
        candidate: ComparedSide {
            commit: Some("fedcba9876543210".to_owned()),
            dirty: true,
            timestamp: "2026-01-03T09:30:00Z".to_owned(),
            ..side("latest", "eval-20260103-093000")
        },
        verdict,
        verdict_worst: verdict,
        verdict_best: verdict,
        sentences: vec![
            "regression: pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9], p = 0.0004 (one-sided, sign flips, 400 cases)"
                .to_owned(),
            "A true drop of 4.1 points would have been found with 80 % chance.".to_owned(),
        ],
        metrics: vec![
            metric("latency_mean_ms", [812.0, 934.0], [80.0, 164.0], 0.000_01),
            deciding(metric("pass_at_1", [0.85, 0.79], [-0.091, -0.029], 0.000_4), 1.0),
            metric("pass_at_5", [0.95, 0.9496], [-0.01, 0.009], 0.46),
            metric("pass_hat_1", [0.85, 0.79], [-0.091, -0.029], 0.000_4),
            metric("pass_hat_5_unbiased", [0.614, 0.541], [-0.12, -0.026], 0.001_2),
            MetricDifference {
                reference: None,
                candidate: None,
                difference: None,
                ci: None,
                method: "none".to_owned(),
                test: None,
                n: 0,
                undefined: Some("10 samples of a case are needed; there are 5".to_owned()),
                ..metric("pass_at_10", [0.0, 0.0], [0.0, 0.0], 0.5)
            },
            MetricDifference { n: 38, unit: "eval".to_owned(), ..metric("pass_rate", [0.5, 0.5], [-0.1, 0.1], 0.5) },
            MetricDifference {
                higher_is_better: None,
                ..metric("edits", [3.25, 3.2504], [-0.2, 0.21], 0.5)
            },
        ],
        groups: vec![code, math, alike],
        cases: CaseChanges {
            compared: 398,
            still_passing: 301,
            broken,
            fixed: flips(12, [Some([0, 5]), Some([5, 5])]),
            still_failing: flips(61, [Some([0, 5]), Some([0, 5])]),
            new: flips(1, [None, Some([3, 5])]),
            gone: flips(7, [Some([5, 5]), None]),
            changed: flips(2, [Some([5, 5]), Some([4, 5])]),
            changed_input: 0,
            changed_target: 0,
            allowed: 0,
            ungraded: FlipList::default(),
            not_selected: 4,
            reference_critical: 20,
            compared_critical: 18,
            broken_critical: 1,
            may_be_broken: 0,
            may_be_broken_critical: 0,
            other_samples: 3,
            ungraded_samples_reference: 0,
            ungraded_samples_candidate: 0,
        },
        detectable: Some(Detectable {
            metric: "pass_at_1".to_owned(),
            drop: Some(0.041),
            effect: Some(0.06),
            cases: Some(190),
            samples: Some(2),
        }),
        notes: vec!["the suite had version 1.1.0 and has 1.2.0".to_owned()],
        settings: ComparisonSettings {
            alpha: 0.05,
            level: 0.95,
            power: 0.8,
            resamples: 10_000,
            seed: 7,
            metrics: vec!["pass_at_1".to_owned()],
            by: vec![Grouping::Category],
            effect: None,
            candidates: 1,
            allow_changed: false,
        },
    }
}

/// One metric and nothing else, over a single sample of each of `n` cases.
fn small(sides: [f64; 2], ci: [f64; 2], p_worse: f64, n: usize, sentences: &[&str]) -> Comparison {
    let verdict = ComparisonVerdict::None;
    Comparison {
        verdict,
        verdict_worst: verdict,
        verdict_best: verdict,
        sentences: sentences.iter().map(|&words| words.to_owned()).collect(),
        metrics: vec![MetricDifference {
            n,
            ..deciding(metric("pass_at_1", sides, ci, p_worse), 1.0)
        }],
        groups: Vec::new(),
        cases: CaseChanges {
            compared: n,
            still_passing: n - 3,
            broken: flips(1, [Some([1, 1]), Some([0, 1])]),
            fixed: flips(2, [Some([0, 1]), Some([1, 1])]),
            ..CaseChanges::default()
        },
        detectable: None,
        notes: Vec::new(),
        ..regression()
    }
}

pub(super) fn improvement() -> Comparison {
    let verdict = ComparisonVerdict::Improvement;
    Comparison {
        verdict,
        verdict_worst: verdict,
        verdict_best: verdict,
        ..small(
            [0.79, 0.85],
            [0.029, 0.091],
            0.9996,
            400,
            &[
                "improvement: pass@1 rose from 0.790 to 0.850, +6.0 points [+2.9, +9.1], p = 0.0004 (one-sided, McNemar with mid-p, 400 cases)",
            ],
        )
    }
}

/// Nothing found though a drop of 2 points would have been.
pub(super) fn none_with_power() -> Comparison {
    small(
        [0.85, 0.8496],
        [-0.011, 0.01],
        0.47,
        4_000,
        &[
            "no evidence of a difference: pass@1 is 0.850 and 0.850, -0.04 points [-1.1, +1.0], p = 0.47 (one-sided, McNemar with mid-p, 4000 cases)",
            "A true drop of 1.6 points would have been found with 80 % chance.",
        ],
    )
}

pub(super) fn none_with_few_cases() -> Comparison {
    small(
        [0.9, 0.8],
        [-0.41, 0.22],
        0.31,
        10,
        &[
            "no evidence of a difference: pass@1 fell from 0.900 to 0.800, -10.0 points [-41.0, +22.0], p = 0.31 (one-sided, McNemar with mid-p, 10 cases)",
            "With 10 cases only a true drop of 47 points would have been found with 80 % chance; for the observed 10 points about 220 cases like these would be needed.",
        ],
    )
}

/// Errors of the target leave the verdict open.
pub(super) fn undecided() -> Comparison {
    let mut open = none_with_few_cases();
    (open.verdict_worst, open.verdict_best) = (
        ComparisonVerdict::Regression,
        ComparisonVerdict::Improvement,
    );
    (open.metrics[0].worst, open.metrics[0].best) = (Some(-0.4), Some(0.3));
    open.cases.ungraded = flips(6, [Some([1, 1]), Some([0, 0])]);
    open.sentences.push("7 samples of the compared cases have no grade (1 of the reference, 6 of the candidate): if they \
                         counted against the candidate, the verdict would be `regression`, and if they counted for it, \
                         `improvement`.".to_owned());
    open.cases.ungraded_samples_candidate = 6;
    open.cases.ungraded_samples_reference = 1;
    open
}

/// Nothing can be paired.
pub(super) fn all_changed() -> Comparison {
    let mut comparison = none_with_few_cases();
    comparison.sentences =
        vec!["no verdict: every case on both sides changed in data or grading; `--allow-changed` compares them anyway".to_owned()];
    comparison.metrics[0] = MetricDifference {
        n: 0,
        reference: None,
        candidate: None,
        difference: None,
        ci: None,
        test: None,
        undefined: Some("no pairs".to_owned()),
        ..comparison.metrics[0].clone()
    };
    comparison.cases = CaseChanges {
        changed: flips(400, [Some([1, 1]), Some([0, 1])]),
        ..CaseChanges::default()
    };
    comparison
}

pub(super) fn of(candidates: Vec<Comparison>, decision: Decision, reasons: &[&str]) -> Comparisons {
    let worst = candidates
        .iter()
        .map(|one| one.verdict)
        .min()
        .unwrap_or(ComparisonVerdict::None);
    Comparisons {
        format_version: 1,
        verdict: worst,
        fail_on: FailOn::Significant,
        decision,
        exit_code: if decision == Decision::Pass { 0 } else { 1 },
        reasons: reasons.iter().map(|&words| words.to_owned()).collect(),
        candidates,
    }
}

pub(super) fn on_terminal(comparisons: &Comparisons, options: &TerminalOptions) -> String {
    let mut out = Vec::new();
    comparison::terminal(comparisons, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(super) fn as_markdown(comparisons: &Comparisons) -> String {
    let mut out = Vec::new();
    comparison::markdown(comparisons, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(super) fn as_comment(comparisons: &Comparisons) -> String {
    let mut out = Vec::new();
    comparison::comment(comparisons, &mut out).unwrap();
    assert!(out.len() <= limits::comment::LARGEST);
    String::from_utf8(out).unwrap()
}

/// Four candidates of every kind.
pub(super) fn several() -> Comparisons {
    let mut all = of(
        vec![regression(), improvement(), undecided(), none_with_power()],
        Decision::Fail,
        &["small: regression: pass@1 fell from 0.850 to 0.790"],
    );
    let labels = [
        "small",
        "results/2026-01-03/run-093000",
        "eval-20260103-093001",
        "v2",
    ];
    for (candidate, label) in all.candidates.iter_mut().zip(labels) {
        candidate.candidate.label = label.to_owned();
        candidate.settings.candidates = 4;
    }
    all
}
