//! Comparisons of random sides, against a recount from the definitions.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A case of whose samples some were graded at their first attempt, and some (others, after
/// retries) in the end.
fn a_case() -> impl Strategy<Value = CaseRecord> {
    let metrics = prop::option::of(prop::sample::select(vec![0.0, 0.25, 7.0]));
    (
        1u32..4,
        0u32..4,
        0u32..4,
        0u32..4,
        0u32..4,
        prop::bool::weighted(0.1),
        metrics,
    )
        .prop_map(|(samples, n, c, passed, failed, changed, metric)| {
            let n = n.min(samples);
            let c = c.min(n);
            let passed = passed.min(samples);
            let failed = failed.min(samples - passed);
            let ungraded = samples - passed - failed;
            let outcome = match () {
                () if failed > 0 => Outcome::Failed,
                () if ungraded > 0 => Outcome::Pending,
                () => Outcome::Passed,
            };
            CaseRecord {
                id: String::new(),
                outcome: Some(outcome),
                samples,
                n,
                c,
                ungraded,
                score: (passed + failed > 0)
                    .then(|| f64::from(passed) / f64::from(passed + failed)),
                fingerprint: Some(if changed { "changed" } else { "same" }.to_owned()),
                metrics: metric
                    .map(|m| ("edit_rate".to_owned(), m))
                    .into_iter()
                    .collect(),
                ..CaseRecord::default()
            }
        })
}

/// A side of up to 4 evals with up to 6 cases each, of which some are missing.
fn a_side(label: &'static str) -> impl Strategy<Value = RunScores> {
    let cases = || prop::collection::vec(prop::option::weighted(0.8, a_case()), 1..6);
    let an_eval = || (cases(), 1u8..4, any::<bool>());
    prop::collection::vec(prop::option::weighted(0.9, an_eval()), 1..5).prop_map(move |evals| {
        let mut all = Vec::new();
        for (e, found) in evals.into_iter().enumerate() {
            let Some((cases, weight, regression)) = found else {
                continue;
            };
            let mut of = Vec::new();
            for (c, case) in cases.into_iter().enumerate() {
                of.extend(case.map(|case| CaseRecord {
                    id: format!("c{c}"),
                    ..case
                }));
            }
            if of.is_empty() {
                continue;
            }
            let mut one = eval(&format!("e{e}"), of);
            // As a fold says it: open unless every case passed or one failed.
            one.weight = Some(f64::from(if e % 2 == 0 { 2 } else { weight }));
            one.kind = Some(if e % 2 == 1 && regression {
                EvalType::Regression
            } else {
                EvalType::Capability
            });
            all.push(one);
        }
        RunScores {
            ks: vec![1, 2, 3],
            ..side(label, all)
        }
    })
}

#[derive(Clone, Copy, PartialEq)]
enum As {
    Graded,
    Failed,
    Passed,
}

fn other(how: As) -> As {
    match how {
        As::Graded => As::Graded,
        As::Failed => As::Passed,
        As::Passed => As::Failed,
    }
}

fn firsts(case: &CaseRecord, how: As) -> (u32, u32) {
    match how {
        As::Graded => (case.n, case.c),
        As::Failed => (case.samples, case.c),
        As::Passed => (case.samples, case.c + case.samples - case.n),
    }
}

/// The share of the subsets of size k that have a pass, or are all passes, by counting them.
fn by_subsets(n: u32, c: u32, k: u32, wanted: impl Fn(u32) -> bool) -> Option<f64> {
    let (mut good, mut all) = (0u32, 0u32);
    for subset in 0u32..1 << n {
        if subset.count_ones() == k {
            all += 1;
            good += u32::from(wanted((subset & ((1 << c) - 1)).count_ones()));
        }
    }
    (all > 0).then(|| f64::from(good) / f64::from(all))
}

fn passes(outcome: Outcome, how: As) -> Option<f64> {
    match (outcome, how) {
        (Outcome::Passed, _) => Some(1.0),
        (Outcome::Failed, _) => Some(0.0),
        (_, As::Graded) => None,
        (_, As::Failed) => Some(0.0),
        (_, As::Passed) => Some(1.0),
    }
}

fn score(case: &CaseRecord, how: As) -> Option<f64> {
    let graded = case.samples - case.ungraded;
    let sum = case.score.map_or(0.0, |score| score * f64::from(graded));
    match how {
        As::Graded => case.score,
        As::Failed => Some(sum / f64::from(case.samples)),
        As::Passed => Some((sum + f64::from(case.ungraded)) / f64::from(case.samples)),
    }
}

fn of_case(name: &str, case: &CaseRecord, how: As) -> Option<f64> {
    let (n, c) = firsts(case, how);
    match name {
        "pass_at_1" => (n > 0).then(|| f64::from(c) / f64::from(n)),
        "pass_at_2" => by_subsets(n, c, 2, |passes| passes > 0),
        "pass_at_3" => by_subsets(n, c, 3, |passes| passes > 0),
        "pass_hat_2_unbiased" => by_subsets(n, c, 2, |passes| passes == 2),
        "pass_hat_2" => (n >= 2).then(|| (f64::from(c) / f64::from(n)).powi(2)),
        "case_pass_rate" => passes(case.outcome?, how),
        "score" => score(case, how),
        _ => case.metrics.get(name).copied(),
    }
}

fn mean_score(eval: &EvalRecord, how: As) -> Option<f64> {
    let scores: Vec<f64> = eval
        .cases
        .iter()
        .filter_map(|case| score(case, how))
        .collect();
    (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
}

/// Pairs of values with weights, by the slowest search.
fn pairs(name: &str, a: &RunScores, b: &RunScores, how: As) -> Vec<(f64, f64, f64)> {
    let mut found = Vec::new();
    for now in &b.evals {
        let Some(then) = a.evals.iter().find(|eval| eval.id == now.id) else {
            continue;
        };
        let twin = |case: &CaseRecord| {
            let same =
                |other: &&CaseRecord| other.id == case.id && other.fingerprint == case.fingerprint;
            then.cases.iter().find(same)
        };
        let whole = then.cases.len() == now.cases.len()
            && now.cases.iter().all(|case| twin(case).is_some());
        let even = now
            .cases
            .iter()
            .all(|case| twin(case).is_some_and(|twin| twin.samples == case.samples));
        let same_weight = then.weight == now.weight;
        match name {
            "pass_rate" | "regression_pass_rate" => {
                let mine = name == "pass_rate" || now.kind == Some(EvalType::Regression);
                let values = (passes(then.outcome, other(how)), passes(now.outcome, how));
                if let ((Some(x), Some(y)), true) = (values, mine && whole && even && same_weight) {
                    found.push((x, y, 1.0));
                }
            }
            "weighted_score" => {
                let graded =
                    how != As::Graded || then.outcome.is_graded() && now.outcome.is_graded();
                let values = (mean_score(then, other(how)), mean_score(now, how));
                if let ((Some(x), Some(y)), true) = (values, graded && whole && same_weight) {
                    found.push((x, y, now.weight.unwrap()));
                }
            }
            _ => {
                for case in &now.cases {
                    let Some(old) = twin(case) else { continue };
                    let even = match name {
                        "case_pass_rate" => old.samples == case.samples,
                        "pass_hat_2" => firsts(old, other(how)).0 == firsts(case, how).0,
                        _ => true,
                    };
                    let values = (of_case(name, old, other(how)), of_case(name, case, how));
                    if let ((Some(x), Some(y)), true) = (values, even) {
                        found.push((x, y, 1.0));
                    }
                }
            }
        }
    }
    found
}

fn difference(pairs: &[(f64, f64, f64)]) -> Option<f64> {
    let total: f64 = pairs.iter().map(|(.., weight)| weight).sum();
    (!pairs.is_empty()).then(|| {
        pairs
            .iter()
            .map(|(x, y, weight)| weight * (y - x))
            .sum::<f64>()
            / total
    })
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a == b,
    }
}

fn settings() -> CompareSettings {
    CompareSettings {
        resamples: 200,
        pairs: 10,
        seed: 7,
        listed: 1000,
        ..CompareSettings::default()
    }
}

fn anyway(a: &RunScores, b: &RunScores) -> Comparison {
    compare_anyway(a, &[b], &settings()).unwrap().remove(0)
}

/// Every case of either side with what became of it.
fn fates(a: &RunScores, b: &RunScores) -> BTreeMap<(String, String), &'static str> {
    let mut fates = BTreeMap::new();
    let case = |run: &RunScores, eval: &str, case: &str| {
        let eval = run.evals.iter().find(|other| other.id == eval)?;
        eval.cases.iter().find(|other| other.id == case).cloned()
    };
    for run in [a, b] {
        for eval in &run.evals {
            for known in &eval.cases {
                let fate = match (case(a, &eval.id, &known.id), case(b, &eval.id, &known.id)) {
                    (None, _) => "new",
                    (_, None) => "gone",
                    (Some(old), Some(now)) if old.fingerprint != now.fingerprint => "changed",
                    (Some(old), Some(now)) => match (old.outcome.unwrap(), now.outcome.unwrap()) {
                        (Outcome::Passed, Outcome::Passed) => "still passing",
                        (Outcome::Passed, Outcome::Failed) => "broken",
                        (Outcome::Failed, Outcome::Passed) => "fixed",
                        (Outcome::Failed, Outcome::Failed) => "still failing",
                        _ => "ungraded",
                    },
                };
                fates.insert((eval.id.clone(), known.id.clone()), fate);
            }
        }
    }
    fates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_figure_is_that_of_a_recount(a in a_side("a"), b in a_side("b")) {
        let compared = anyway(&a, &b);
        let cases = &compared.cases;
        let fates = fates(&a, &b);
        let lists = [
            ("broken", &cases.broken), ("fixed", &cases.fixed), ("still failing", &cases.still_failing),
            ("new", &cases.new), ("gone", &cases.gone), ("changed", &cases.changed), ("ungraded", &cases.ungraded),
        ];
        for (fate, list) in lists {
            let mut listed: Vec<_> = list.cases.iter().map(|c| (c.eval_id.clone(), c.case_id.clone())).collect();
            listed.sort();
            let wanted: Vec<_> = fates.iter().filter(|(_, f)| **f == fate).map(|(id, _)| id.clone()).collect();
            prop_assert_eq!(list.count, wanted.len());
            prop_assert_eq!(listed, wanted, "{}", fate);
        }
        prop_assert_eq!(cases.still_passing, fates.values().filter(|fate| **fate == "still passing").count());
        prop_assert_eq!(cases.compared, fates.values().filter(|f| f.starts_with("still") || ["broken", "fixed"].contains(f)).count());
        let names = [
            "pass_at_1", "pass_at_2", "pass_at_3", "pass_hat_2", "pass_hat_2_unbiased", "case_pass_rate", "score", "edit_rate",
            "pass_rate", "regression_pass_rate", "weighted_score",
        ];
        for name in names {
            let wanted = pairs(name, &a, &b, As::Graded);
            let Some(row) = compared.metrics.iter().find(|metric| metric.name == name) else {
                prop_assert!(wanted.is_empty(), "{} is not there", name);
                continue;
            };
            prop_assert_eq!(row.n, wanted.len(), "{}", name);
            prop_assert!(close(row.difference, difference(&wanted)), "{name}: {row:?}");
            prop_assert!(close(row.difference, row.candidate.zip(row.reference).map(|(b, a)| b - a)), "{name}: {row:?}");
            let bounds = match name {
                "edit_rate" => [None, None],
                _ => [As::Failed, As::Passed].map(|how| difference(&pairs(name, &a, &b, how))),
            };
            prop_assert!(close(row.worst, bounds[0]) && close(row.best, bounds[1]), "{name}: {row:?} {bounds:?}");
        }
        // What may have broken: everything that could have, if nobody knows.
        let unknown = fates.iter().filter(|(_, fate)| **fate == "ungraded");
        let outcome = |run: &RunScores, id: &(String, String)| {
            let eval = run.evals.iter().find(|eval| eval.id == id.0).unwrap();
            eval.cases.iter().find(|case| case.id == id.1).unwrap().outcome.unwrap()
        };
        let may = unknown.filter(|(id, _)| outcome(&a, id) != Outcome::Failed && outcome(&b, id) != Outcome::Passed);
        prop_assert_eq!(cases.may_be_broken, may.count());
    }

    /// Which side is called the reference turns everything round, and nothing else.
    #[test]
    fn sides_that_change_places_turn_everything_round(a in a_side("a"), b in a_side("b")) {
        let (one, turned) = (anyway(&a, &b), anyway(&b, &a));
        prop_assert_eq!(one.cases.broken.count, turned.cases.fixed.count);
        prop_assert_eq!(one.cases.new.count, turned.cases.gone.count);
        // An eval that changed its type is of that which the candidate says.
        let turnable = |comparison: &Comparison| {
            let by_type = ["capability_pass_rate", "regression_pass_rate"];
            let rows = comparison.metrics.iter().filter(|metric| !by_type.contains(&metric.name.as_str()));
            rows.cloned().collect::<Vec<MetricDifference>>()
        };
        let (one, turned) = (turnable(&one), turnable(&turned));
        prop_assert_eq!(one.len(), turned.len());
        for (one, turned) in one.iter().zip(&turned) {
            prop_assert_eq!((&one.name, one.n), (&turned.name, turned.n));
            prop_assert!(close(one.difference, turned.difference.map(|d| -d)));
            prop_assert!(close(one.worst, turned.best.map(|d| -d)), "{one:?} {turned:?}");
            if let (Some(p), Some(q)) = (&one.test, &turned.test) {
                prop_assert!((p.p_worse - q.p_better).abs() < 1e-9, "{one:?} {turned:?}");
                prop_assert!((p.p_better - q.p_worse).abs() < 1e-9, "{one:?} {turned:?}");
            }
        }
    }

    /// The order in which the reference lists its evals and cases means nothing.
    #[test]
    fn the_order_of_the_reference_changes_nothing(a in a_side("a"), b in a_side("b"), turn in 0usize..5) {
        let mut other = a.clone();
        other.evals.reverse();
        for eval in &mut other.evals {
            let len = eval.cases.len();
            eval.cases.rotate_left(turn % len);
        }
        let (mut one, mut two) = (anyway(&a, &b), anyway(&other, &b));
        for comparison in [&mut one, &mut two] {
            // A sum in another order may differ in its last bit.
            let round = |value: &mut Option<f64>| *value = value.map(|value| (value * 1e9).round() / 1e9);
            for metric in &mut comparison.metrics {
                round(&mut metric.worst);
                round(&mut metric.best);
            }
            comparison.cases.gone.cases.sort_by(|a, b| (&a.eval_id, &a.case_id).cmp(&(&b.eval_id, &b.case_id)));
        }
        prop_assert_eq!(one, two);
    }

    /// Twice the same, to the last digit; and several candidates at once are each as they are
    /// alone, but for the adjustment.
    #[test]
    fn one_seed_gives_one_comparison(a in a_side("a"), b in a_side("b"), c in a_side("c")) {
        let all = compare_anyway(&a, &[&b, &c], &settings()).unwrap();
        let again = compare_anyway(&a, &[&b, &c], &settings()).unwrap();
        prop_assert_eq!(&all, &again);
        for (together, side) in all.iter().zip([&b, &c]) {
            let alone = anyway(&a, side);
            prop_assert_eq!(&together.cases, &alone.cases);
            for (x, y) in together.metrics.iter().zip(&alone.metrics) {
                prop_assert_eq!((&x.name, x.difference, x.ci, x.n), (&y.name, y.difference, y.ci, y.n));
                let p = |row: &MetricDifference| row.test.as_ref().map(|test| (test.p_worse, test.p_better));
                prop_assert_eq!(p(x), p(y));
                let adjusted = |row: &MetricDifference| row.test.as_ref().and_then(|test| test.p_worse_adjusted);
                prop_assert!(adjusted(x) >= adjusted(y));
            }
        }
    }
}
