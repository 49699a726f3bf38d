//! Thresholds that a plan can't answer: definition errors, before anything runs.

use std::collections::BTreeSet;

use crate::model::{
    Composite, EvalType, GateSpec, Metric, MetricName, PartSelector, PlannedSamples,
};

/// How much data a run, or a part of it, will have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedExtent {
    pub samples: PlannedSamples,
    /// The kinds of its evals.
    pub kinds: BTreeSet<EvalType>,
    /// Whether a case is graded by a model, or nobody knows.
    pub judged: bool,
}

/// Thresholds that the planned samples can't answer, in sentences. A threshold on a composite needs
/// what its components need. `extent` of `None` is that of the whole run.
pub fn unanswerable(
    spec: &GateSpec,
    composites: &[Composite],
    extent: impl Fn(Option<&PartSelector>) -> PlannedExtent,
) -> Vec<String> {
    let mut problems = Vec::new();
    for threshold in &spec.thresholds {
        let Ok(MetricName { metric, part }) = threshold.metric.parse() else {
            continue;
        };
        let composite = composites
            .iter()
            .find(|composite| metric == Metric::Named(composite.name.clone()));
        let parts = composite
            .into_iter()
            .flat_map(|composite| &composite.components);
        let parts = parts.filter_map(|component| component.metric.parse::<Metric>().ok());
        let PlannedExtent {
            samples,
            kinds,
            judged,
        } = extent(part.as_ref());
        for metric in std::iter::once(metric).chain(parts) {
            let name = MetricName {
                metric: metric.clone(),
                part: part.clone(),
            };
            let lacks = |kind: EvalType, word: &str| {
                let message =
                    format!("the threshold on {name} needs a {word} eval, but none is selected");
                (!kinds.contains(&kind)).then_some(message)
            };
            problems.extend(match metric {
                Metric::CapabilityPassRate => lacks(EvalType::Capability, "capability"),
                Metric::RegressionPassRate => lacks(EvalType::Regression, "regression"),
                metric if metric.is_of_judges() || metric.is_of_calibrations() => {
                    let message =
                        format!("the threshold on {name} needs a grader of type `model`, but no selected case has \
                             one");
                    (!judged).then_some(message)
                }
                metric => metric.k().and_then(|k| Some((k, samples.fewer_than(k)?))).map(|(k, short)| {
                    let every = if part.is_some() { "every case of that part" } else { "every case" };
                    format!(
                        "the threshold on {name} needs {k} samples of {every}, but {short}; set `samples: {k}` or lower k"
                    )
                }),
            });
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Bound, Figure, Threshold, testing};

    const CAP: EvalType = EvalType::Capability;
    const REG: EvalType = EvalType::Regression;

    fn said(metric: &str, fewest: u32, kinds: &[EvalType]) -> Vec<String> {
        let threshold = Threshold {
            metric: metric.into(),
            bound: Bound::Min,
            value: 0.5,
            on: Figure::Value,
        };
        let spec = GateSpec {
            thresholds: vec![threshold],
            ..GateSpec::default()
        };
        // The whole run has more than its parts.
        let samples = |n| {
            let eval = testing::eval("e", [Arc::new(testing::case("c"))].into_iter().collect());
            PlannedSamples::of(&[Arc::new(eval)], |_, _| Some(n))
        };
        let extent = |part: Option<&PartSelector>| match part {
            None => PlannedExtent {
                samples: samples(fewest),
                kinds: kinds.iter().copied().collect(),
                judged: true,
            },
            Some(_) => PlannedExtent {
                samples: samples(fewest - 1),
                kinds: [CAP].into(),
                judged: false,
            },
        };
        unanswerable(&spec, &[], extent)
    }

    #[test]
    fn a_k_above_the_samples_is_a_definition_error() {
        assert_eq!(said("pass_hat_3", 3, &[CAP]), Vec::<String>::new());
        assert_eq!(
            said("pass_hat_3", 2, &[CAP]),
            [
                "the threshold on pass_hat_3 needs 3 samples of every case, but `e` has 2; set `samples: 3` or lower k"
            ]
        );
        assert_eq!(
            said("pass_hat_3[tag=a]", 3, &[CAP]),
            [
                "the threshold on pass_hat_3[tag=a] needs 3 samples of every case of that part, but `e` has 2; set `samples: 3` or lower k"
            ]
        );
    }

    #[test]
    fn what_judges_did_is_a_definition_error_without_judges() {
        assert_eq!(said("judge_errored_rate", 1, &[CAP]), Vec::<String>::new());
        assert_eq!(
            said("judge_consistency[tag=a]", 1, &[CAP]),
            [
                "the threshold on judge_consistency[tag=a] needs a grader of type `model`, but no selected case \
                     has one"
            ]
        );
    }

    #[test]
    fn a_rate_of_evals_that_were_filtered_out_is_a_definition_error() {
        assert_eq!(
            said("regression_pass_rate", 1, &[CAP, REG]),
            Vec::<String>::new()
        );
        assert_eq!(
            said("regression_pass_rate", 1, &[CAP]),
            ["the threshold on regression_pass_rate needs a regression eval, but none is selected"]
        );
        assert_eq!(
            said("regression_pass_rate[tag=a]", 1, &[CAP, REG]),
            [
                "the threshold on regression_pass_rate[tag=a] needs a regression eval, but none is selected"
            ]
        );
    }
}
