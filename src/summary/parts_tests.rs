//! Metrics of a part against those of a run that has nothing but the part.

use proptest::prelude::*;

use super::fold::ListingLimits;
use super::random_run::{Dice, RandomRun, RunCase, RunEval, a_run, finished, report, summary};
use crate::model::*;

const METRICS: [&str; 21] = [
    "pass_at_1",
    "pass_at_2",
    "pass_hat_2",
    "pass_hat_3_unbiased",
    "pass_rate",
    "capability_pass_rate",
    "regression_pass_rate",
    "case_pass_rate",
    "score",
    "weighted_score",
    "latency_mean_ms",
    "latency_p50_ms",
    "latency_p95_ms",
    "tokens_input",
    "tokens",
    "cost_usd",
    "failed_samples",
    "errored_samples",
    "flaky_samples",
    "lint_pass",
    "quality",
];

const PARTS: [&str; 9] = [
    "type=capability",
    "type=regression",
    "category=math",
    "category=none",
    "tag=a",
    "tag=b",
    "tag=c",
    "eval=eval 1*",
    "eval=*",
];

/// The evals of a part, by the rule as the documentation says it.
fn filtered(run: &RandomRun, part: &str) -> RandomRun {
    let (kind, value) = part.split_once('=').unwrap();
    let whole = |eval: &RunEval| match kind {
        "type" => (eval.info.kind == EvalType::Regression) == (value == "regression"),
        "category" => eval.info.category.as_deref() == Some(value),
        "tag" => eval.info.tags.iter().any(|tag| tag == value),
        _ => value == "*" || eval.info.id.starts_with("eval 1"),
    };
    let keeps = |case: &RunCase| kind == "tag" && case.tags.iter().any(|tag| tag == value);
    let mut evals = run.evals.clone();
    for eval in &mut evals {
        if !whole(eval) {
            eval.cases.retain(keeps);
        }
    }
    evals.retain(|eval| !eval.cases.is_empty());
    RandomRun {
        evals,
        ..run.clone()
    }
}

fn gate() -> GateSpec {
    let names = PARTS.iter().flat_map(|part| {
        METRICS
            .iter()
            .map(move |metric| format!("{metric}[{part}]"))
    });
    let threshold = |metric| Threshold {
        metric,
        bound: Bound::Min,
        value: 0.5,
        on: Figure::Value,
    };
    GateSpec {
        thresholds: names.map(threshold).collect(),
        ..GateSpec::default()
    }
}

fn quality() -> Composite {
    let part = |metric: &str, invert, high| Component {
        metric: metric.to_owned(),
        weight: 1.0,
        invert,
        range: [0.0, high],
    };
    let components = vec![
        part("pass_at_1", false, 1.0),
        part("latency_mean_ms", true, 100.0),
    ];
    Composite {
        name: "quality".into(),
        components,
    }
}

/// Lets the run begin with this gate and a composite.
fn with_gate(mut events: Vec<Event>, gate: GateSpec) -> Vec<Event> {
    for event in &mut events {
        if let Event::RunStarted(started) | Event::RunResumed(started) = event {
            started.config.gate = gate.clone();
            started.config.composites = vec![quality()];
            started.config.score_metrics = vec!["lint_pass".into()];
        }
    }
    events
}

/// Everything of a part's metric, as text: `None` is a metric that nothing measured.
fn of_part(summary: &Summary, name: &str) -> Option<Estimate> {
    summary.estimates.get(name).cloned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_metric_of_a_part_is_that_of_the_run_of_that_part(run in a_run(6), seed: u64) {
        let all = summary(&with_gate(run.whole(&mut Dice(seed)), gate()), ListingLimits::default());
        for part in PARTS {
            let alone = filtered(&run, part);
            let empty = alone.evals.is_empty();
            let alone = summary(&with_gate(alone.whole(&mut Dice(seed)), GateSpec::default()), ListingLimits::default());
            for metric in METRICS {
                let name = format!("{metric}[{part}]");
                let found = of_part(&all, &name).unwrap();
                prop_assert_eq!(summary_value(&all, &name), found.value);
                match of_part(&alone, metric) {
                    _ if empty => prop_assert_eq!(found.undefined.unwrap(), format!("no case of this run is of `{part}`")),
                    Some(expected) => prop_assert_eq!(found, expected, "{}", name),
                    None => prop_assert_eq!(found.undefined.unwrap(), "nothing of this part was measured"),
                }
            }
        }
    }

    #[test]
    fn joined_shards_and_resumed_runs_have_the_same_parts(run in a_run(4), seed: u64, of in 2u32..4) {
        let dice = &mut Dice(seed);
        let whole = summary(&with_gate(run.whole(dice), gate()), ListingLimits::default());
        let mut joined = Vec::new();
        for index in 1..=of {
            let mine = |e: usize, c: usize| ((e + c) as u32) % of + 1 == index;
            joined.push(run.started(&format!("part {index}"), Some(Shard { index, of })));
            joined.extend(run.plan(true, mine));
            joined.extend(run.samples(dice, mine));
            joined.push(finished(1.0, false));
        }
        let joined = report(&with_gate(joined, gate()), ListingLimits::default());
        prop_assert!(joined.shards.is_empty());
        // Counts are those that the shares were computed from.
        for (name, [passed, n]) in &joined.tallies.actual.shares {
            let value = joined.tallies.actual.metrics[name].value;
            prop_assert_eq!(value.is_some(), *n > 0, "{}", name);
            prop_assert!(value.is_none_or(|value| (value - *passed as f64 / *n as f64).abs() < 1e-12), "{}", name);
        }
        prop_assert!(joined.tallies.actual.shares.contains_key("case_pass_rate[eval=*]"));
        let names: Vec<String> = gate().thresholds.into_iter().map(|t| t.metric).collect();
        for name in &names {
            let (a, b) = (joined.tallies.actual.metrics.get(name), whole.estimates.get(name));
            let apart = |e: &Estimate| Estimate { worst: None, best: None, ..e.clone() };
            prop_assert_eq!(a.map(apart), b.map(apart), "{}", name);
        }
        // The tags of a case that is planned again are the new ones.
        let mut resumed = with_gate(run.whole(dice), GateSpec::default());
        let mut untagged = run.clone();
        untagged.evals.iter_mut().flat_map(|eval| &mut eval.cases).for_each(|case| case.tags.clear());
        let mut again = vec![match untagged.started("again", None) {
            Event::RunStarted(started) => Event::RunResumed(started),
            other => other,
        }];
        again.extend(untagged.plan(false, |_, _| true));
        resumed.extend(with_gate(again, gate()));
        let resumed = report(&resumed, ListingLimits::default());
        let untagged = report(&with_gate(untagged.whole(dice), gate()), ListingLimits::default());
        for name in &names {
            prop_assert_eq!(resumed.tallies.best.metrics.get(name), untagged.tallies.best.metrics.get(name), "{}", name);
        }
    }
}

fn summary_value(summary: &Summary, name: &str) -> Option<f64> {
    summary.metrics.get(name).copied().flatten()
}
