//! Metrics that a suite computes from others.

use std::collections::BTreeMap;

use super::metrics::{blank, undefined_because};
use crate::model::{Composite, Estimate};

/// Puts the composites among the metrics of one reading. In the worst and in the best one they are
/// computed from their components' values there: the loader sees to it that a composite gets no
/// better when a component gets worse.
pub(super) fn add(composites: &[Composite], metrics: &mut BTreeMap<String, Estimate>) {
    for composite in composites {
        let estimate = composite_estimate(composite, metrics);
        metrics.insert(composite.name.clone(), estimate);
    }
}

/// Sum of weight x share over the sum of weights, the shares as in
/// [`crate::model::Component::share`]. Undefined when a component is, or when no weight is above 0.
/// It carries no interval: its components are no independent figures.
fn composite_estimate(composite: &Composite, metrics: &BTreeMap<String, Estimate>) -> Estimate {
    let (mut sum, mut total, mut fewest) = (0.0, 0.0, usize::MAX);
    for component in &composite.components {
        let name = &component.metric;
        let Some(estimate) = metrics.get(name) else {
            return undefined_because(format!("its component `{name}` was not measured"));
        };
        let Some(value) = estimate.value else {
            let reason = estimate.undefined.as_deref().unwrap_or("it has no value");
            return undefined_because(format!("its component `{name}` is undefined: {reason}"));
        };
        sum += component.weight * component.share(value);
        total += component.weight;
        fewest = fewest.min(estimate.n_cases);
    }
    let value = sum / total;
    if total > 0.0 && value.is_finite() {
        Estimate {
            value: Some(value.clamp(0.0, 1.0)),
            n_cases: fewest,
            ..blank()
        }
    } else {
        undefined_because("the sum of its weights is not above 0".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Component;

    fn known(value: f64) -> Estimate {
        let empty = composite_estimate(&composite(&[]), &BTreeMap::new());
        Estimate {
            value: Some(value),
            undefined: None,
            n_cases: 5,
            ..empty
        }
    }

    fn part(metric: &str, weight: f64, invert: bool, range: [f64; 2]) -> Component {
        Component {
            metric: metric.into(),
            weight,
            invert,
            range,
        }
    }

    fn composite(components: &[Component]) -> Composite {
        Composite {
            name: "code_quality".into(),
            components: components.to_vec(),
        }
    }

    fn metrics(values: &[(&str, f64)]) -> BTreeMap<String, Estimate> {
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), known(*value)))
            .collect()
    }

    fn seeds() -> Composite {
        composite(&[
            part("pass_at_1", 0.35, false, [0.0, 1.0]),
            part("edit_rate", 0.25, true, [0.0, 1.0]),
            part("build_pass", 0.15, false, [0.0, 1.0]),
            part("latency_p50_ms", 0.10, true, [0.0, 2000.0]),
        ])
    }

    #[test]
    fn the_code_quality_of_the_seeds() {
        let run = metrics(&[
            ("pass_at_1", 0.8),
            ("edit_rate", 0.2),
            ("build_pass", 0.9),
            ("latency_p50_ms", 500.0),
        ]);
        // (0.35 x 0.8 + 0.25 x 0.8 + 0.15 x 0.9 + 0.10 x 0.75) / 0.85 = 0.69 / 0.85
        let estimate = composite_estimate(&seeds(), &run);
        assert!(
            (estimate.value.unwrap() - 0.69 / 0.85).abs() < 1e-12,
            "{estimate:?}"
        );
        assert_eq!(
            (estimate.ci, estimate.method.as_str(), estimate.n_cases),
            (None, "none", 5)
        );
        let mut edited = run.clone();
        edited.insert("edit_rate".into(), known(3.0));
        edited.insert("latency_p50_ms".into(), known(9000.0));
        let value = composite_estimate(&seeds(), &edited).value.unwrap();
        assert!(
            (value - (0.35 * 0.8 + 0.15 * 0.9) / 0.85).abs() < 1e-12,
            "beyond the range nothing more is lost"
        );
    }

    #[test]
    fn without_a_component_there_is_no_value() {
        let mut run = metrics(&[("pass_at_1", 0.8), ("edit_rate", 0.2), ("build_pass", 0.9)]);
        let why =
            |run: &BTreeMap<String, Estimate>| composite_estimate(&seeds(), run).undefined.unwrap();
        assert_eq!(why(&run), "its component `latency_p50_ms` was not measured");
        let open = Estimate {
            value: None,
            undefined: Some("no data".into()),
            ..known(0.0)
        };
        run.insert("latency_p50_ms".into(), open);
        assert_eq!(
            why(&run),
            "its component `latency_p50_ms` is undefined: no data"
        );
        add(&[seeds()], &mut run);
        assert_eq!(run["code_quality"].value, None);
        let weightless = composite(&[part("pass_at_1", 0.0, false, [0.0, 1.0])]);
        assert_eq!(
            composite_estimate(&weightless, &run).undefined.unwrap(),
            "the sum of its weights is not above 0"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn in_range_and_no_better_for_a_worse_component(
            parts in prop::collection::vec((0.1..5.0f64, any::<bool>(), -5.0..5.0f64, 0.1..9.0f64), 1..6),
            worse in 0.0..4.0f64,
            at in 0..6usize,
        ) {
            let name = |at: usize| format!("m{at}");
            let components: Vec<Component> = parts
                .iter()
                .enumerate()
                .map(|(at, (weight, invert, _, width))| part(&name(at), *weight, *invert, [-1.0, width - 1.0]))
                .collect();
            let whole = composite(&components);
            let mut run: BTreeMap<String, Estimate> =
                parts.iter().enumerate().map(|(at, (_, _, value, _))| (name(at), known(*value))).collect();
            let before = composite_estimate(&whole, &run).value.unwrap();
            prop_assert!((0.0..=1.0).contains(&before));
            let at = at % parts.len();
            let value = parts[at].2 + if parts[at].1 { worse } else { -worse };
            run.insert(name(at), known(value));
            prop_assert!(composite_estimate(&whole, &run).value.unwrap() <= before + 1e-12);
        }
    }
}
