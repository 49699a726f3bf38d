//! Thresholds on an interval's end that not even the best of outcomes could meet, for lack of
//! cases: found before anything runs.

use crate::gate::number;
use crate::model::{
    Bound, EvalType, Figure, IntervalScope, IntervalShortfall, Metric, MetricName, PartSelector,
    Threshold, shown_metric,
};
use crate::summary::{CaseSamples, IntervalDesign, OverCases};

/// An eval, with its cases that count and the samples of each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedEval {
    pub kind: EvalType,
    pub weight: f64,
    pub samples: Vec<u32>,
}

/// Thresholds on an end of an interval that can't be met by what is planned even if all of it
/// passes (of an upper end that must be low: if none of it does), in sentences with what it takes.
/// `planned` of `None` is that of the whole run.
pub(super) fn out_of_reach(
    thresholds: &[Threshold],
    scope: IntervalScope,
    planned: impl Fn(Option<&PartSelector>) -> Vec<PlannedEval>,
) -> Vec<String> {
    let one_sided = |t: &&Threshold| {
        matches!(
            (t.on, t.bound),
            (Figure::CiLower, Bound::Min) | (Figure::CiUpper, Bound::Max)
        )
    };
    let sentence = |threshold: &Threshold| {
        let name: MetricName = threshold.metric.parse().ok()?;
        let mut evals = planned(name.part.as_ref());
        evals.retain(|eval| !eval.samples.is_empty());
        missed(
            threshold,
            &best(&name.metric, &evals, scope, threshold.bound == Bound::Min)?,
        )
    };
    thresholds
        .iter()
        .filter(one_sided)
        .filter_map(sentence)
        .collect()
}

/// What is planned if all of it passes, or none. `None`: the metric is no share, or nothing of it
/// is planned.
fn best(
    metric: &Metric,
    evals: &[PlannedEval],
    scope: IntervalScope,
    passes: bool,
) -> Option<IntervalDesign> {
    let value = f64::from(u8::from(passes));
    let of_evals = |of: Option<EvalType>| {
        let n = evals
            .iter()
            .filter(|eval| of.is_none_or(|kind| eval.kind == kind))
            .count() as f64;
        (n > 0.0).then(|| IntervalDesign::of_verdicts(value * n, n, "eval"))
    };
    let of_cases = |has_samples: bool| {
        let mut cases = OverCases::of_metric(scope, metric);
        for (at, eval) in evals.iter().enumerate() {
            for n in &eval.samples {
                let samples = CaseSamples {
                    n: *n,
                    sum: value * f64::from(*n),
                    planned: *n,
                };
                cases.add(at, value, has_samples.then_some(samples));
            }
        }
        (!cases.is_empty()).then_some(cases)
    };
    match metric {
        Metric::PassRate => of_evals(None),
        Metric::CapabilityPassRate => of_evals(Some(EvalType::Capability)),
        Metric::RegressionPassRate => of_evals(Some(EvalType::Regression)),
        Metric::PassAt(_) | Metric::PassHat(_) | Metric::PassHatUnbiased(_) | Metric::Score => {
            of_cases(true).map(|cases| cases.design(None))
        }
        Metric::CasePassRate => of_cases(false).map(|cases| cases.design(None)),
        Metric::WeightedScore => {
            let weight = |at: usize| evals.get(at).map_or(0.0, |eval| eval.weight);
            let weighs = evals.iter().any(|eval| eval.weight > 0.0);
            of_cases(true)
                .filter(|_| weighs)
                .map(|cases| cases.design(Some(&weight)))
        }
        _ => None,
    }
}

fn missed(threshold: &Threshold, best: &IntervalDesign) -> Option<String> {
    let IntervalShortfall {
        end, units, needed, ..
    } = best.lack(threshold)?;
    let upper = threshold.bound == Bound::Max;
    let plural = |n: u64| {
        if n == 1 {
            best.unit.to_owned()
        } else {
            format!("{}s", best.unit)
        }
    };
    let demand = if upper {
        "an upper end of at most"
    } else {
        "a lower end of at least"
    };
    let at_best = match (upper, units) {
        (true, _) => "none passes",
        (false, 1) => "it passes",
        (false, _) => "all pass",
    };
    let (are, metric) = (
        if units == 1 { "is" } else { "are" },
        shown_metric(&threshold.metric),
    );
    let (value, reached) = (number(threshold.value, 4), number(end, 4));
    let needed = match needed {
        None => format!(", and no number of {} would be enough", plural(2)),
        Some(fewest) => format!("; it takes {fewest} {}", plural(fewest)),
    };
    Some(format!(
        "the threshold on {metric} requires {demand} {value}, but {units} {} {are} planned: even if {at_best}, the \
             interval ends at {reached}{needed}",
        plural(units)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_stats::{likelihood::of_counts, reaches};

    const SIMILAR: IntervalScope = IntervalScope::SimilarCases;

    fn eval(samples: &[u32]) -> PlannedEval {
        PlannedEval {
            kind: EvalType::Capability,
            weight: 1.0,
            samples: samples.to_vec(),
        }
    }

    fn warning(metric: &str, value: f64, scope: IntervalScope, evals: &[PlannedEval]) -> String {
        let (bound, on) = if metric == "errors" {
            (Bound::Max, Figure::CiUpper)
        } else {
            (Bound::Min, Figure::CiLower)
        };
        let metric = if metric == "errors" {
            "pass_rate"
        } else {
            metric
        };
        let threshold = Threshold {
            metric: metric.into(),
            bound,
            value,
            on,
        };
        out_of_reach(&[threshold], scope, |part| {
            if part.is_some() {
                evals[..1].to_vec()
            } else {
                evals.to_vec()
            }
        })
        .join("\n")
    }

    #[test]
    fn small_plan_gets_the_number_that_it_takes() {
        let said = |metric: &str, value: f64, n: usize| {
            warning(metric, value, SIMILAR, &vec![eval(&[1]); n])
        };
        insta::assert_snapshot!(said("pass_rate", 0.9, 12), @"the threshold on pass rate requires a lower end of at least 0.9, but 12 evals are planned: even if all pass, the interval ends at 0.7526; it takes 33 evals");
        insta::assert_snapshot!(said("pass_at_1", 0.9, 32), @"the threshold on pass@1 requires a lower end of at least 0.9, but 32 cases are planned: even if all pass, the interval ends at 0.8976; it takes 33 cases");
        assert_eq!(said("pass_at_1", 0.9, 33), "");
        insta::assert_snapshot!(said("case_pass_rate[tag=a]", 0.5, 35), @"the threshold on case pass rate [tag=a] requires a lower end of at least 0.5, but 1 case is planned: even if it passes, the interval ends at 0.0552; it takes 5 cases");
        insta::assert_snapshot!(said("errors", 0.05, 12), @"the threshold on pass rate requires an upper end of at most 0.05, but 12 evals are planned: even if none passes, the interval ends at 0.2474; it takes 68 evals");
        insta::assert_snapshot!(said("pass_rate", 1.0, 12), @"the threshold on pass rate requires a lower end of at least 1, but 12 evals are planned: even if all pass, the interval ends at 0.7526, and no number of evals would be enough");
        assert_eq!(said("latency_p95_ms", 0.9, 2), "");
        assert_eq!(said("regression_pass_rate", 0.9, 2), "");
    }

    #[test]
    fn units_are_those_of_the_scope() {
        let several = vec![eval(&[10; 10]); 4];
        let said = |scope| warning("pass_at_3", 0.95, scope, &several);
        assert_eq!(
            warning("pass_at_3", 0.95, IntervalScope::TheseCases, &several),
            ""
        );
        insta::assert_snapshot!(said(IntervalScope::SimilarCases), @"the threshold on pass@3 requires a lower end of at least 0.95, but 40 cases are planned: even if all pass, the interval ends at 0.9134; it takes 70 cases");
        insta::assert_snapshot!(said(IntervalScope::SimilarEvals), @"the threshold on pass@3 requires a lower end of at least 0.95, but 4 evals are planned: even if all pass, the interval ends at 0.4406; it takes 68 evals");
        insta::assert_snapshot!(warning("pass_at_1", 0.97, IntervalScope::TheseCases, &vec![eval(&[5; 10]); 2]), @"the threshold on pass@1 requires a lower end of at least 0.97, but 100 samples are planned: even if all pass, the interval ends at 0.9652; it takes 117 samples");
        let heavy = PlannedEval {
            weight: 3.0,
            ..eval(&[1])
        };
        let weighted = [eval(&[1]), eval(&[1]), eval(&[1]), heavy];
        insta::assert_snapshot!(warning("weighted_score", 0.6, SIMILAR, &weighted), @"the threshold on weighted score requires a lower end of at least 0.6, but 4 cases are planned: even if all pass, the interval ends at 0.3875; it takes 9 cases");
    }

    /// What is out of reach is so in the gate's own interval, and the number that it takes is
    /// enough.
    #[test]
    fn warnings_agree_with_the_gates_interval() {
        for n in 1..80usize {
            let ends_at = of_counts(n as f64, n as f64, 0.95).unwrap().low;
            for value in [0.5, 0.8, 0.9, 0.95] {
                for metric in ["pass_rate", "pass_at_1"] {
                    let text = warning(metric, value, SIMILAR, &vec![eval(&[1]); n]);
                    assert_eq!(
                        text.is_empty(),
                        reaches(ends_at, value),
                        "{n} {value} {text}"
                    );
                }
            }
        }
    }
}
