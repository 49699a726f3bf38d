//! Thresholds on an interval's end that not even the best of outcomes could meet, for want of cases: told before anything runs.

use super::decide::number;
use crate::model::{Bound, EvalType, Figure, GateSpec, Metric, MetricName, Part, Threshold};
use crate::stats::power::Demand;
use crate::stats::{CLUSTERS, reaches, stays_within, wilson_of_share};

/// Confidence of the intervals that thresholds look at.
const LEVEL: f64 = 0.95;

/// An eval, with its cases that count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planned {
    pub kind: EvalType,
    pub weight: f64,
    pub cases: u64,
}

/// Thresholds on an end of an interval that can't be met by what is planned even if all of it passes (of an upper end that must be
/// low: if none of it does), in sentences that say what it takes. `planned` of `None` is that of the whole run.
pub fn out_of_reach(spec: &GateSpec, planned: impl Fn(Option<&Part>) -> Vec<Planned>) -> Vec<String> {
    let one_sided = |t: &&Threshold| {
        matches!((t.on, t.bound), (Figure::CiLower, Bound::Min) | (Figure::CiUpper, Bound::Max))
    };
    let told = |threshold: &Threshold| {
        let name: MetricName = threshold.metric.parse().ok()?;
        let evals: Vec<Planned> =
            planned(name.part.as_ref()).into_iter().filter(|eval| eval.cases > 0).collect();
        missed(threshold, &size(&name.metric, &evals)?)
    };
    spec.thresholds.iter().filter(one_sided).filter_map(told).collect()
}

/// True when intervals over cases of such evals are those of whole evals.
pub fn count_together(cases: impl Iterator<Item = u64>) -> bool {
    let (evals, several) =
        cases.fold((0, false), |(evals, several), cases| (evals + 1, several || cases > 1));
    evals >= CLUSTERS && several
}

/// How many units an interval is over.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Size {
    unit: &'static str,
    units: u64,
    /// As how many equal and independent ones they count.
    effective: f64,
    together: bool,
}

/// `None`: the metric is no share, or nothing of it is planned.
fn size(metric: &Metric, evals: &[Planned]) -> Option<Size> {
    let plain = |unit, units: u64| Size { unit, units, effective: units as f64, together: false };
    let of_kind = |kind| evals.iter().filter(|eval| eval.kind == kind).count() as u64;
    let cases: u64 = evals.iter().map(|eval| eval.cases).sum();
    // Kish's effective size.
    let kish =
        |weights: &[f64]| weights.iter().sum::<f64>().powi(2) / weights.iter().map(|w| w * w).sum::<f64>();
    let size = match metric {
        Metric::PassRate => plain("eval", evals.len() as u64),
        Metric::CapabilityPassRate => plain("eval", of_kind(EvalType::Capability)),
        Metric::RegressionPassRate => plain("eval", of_kind(EvalType::Regression)),
        Metric::WeightedScore => {
            let weights: Vec<f64> =
                evals.iter().map(|eval| eval.weight).filter(|weight| *weight > 0.0).collect();
            Size { effective: kish(&weights), ..plain("eval", weights.len() as u64) }
        }
        Metric::PassAt(_)
        | Metric::PassHat(_)
        | Metric::PassHatUnbiased(_)
        | Metric::Score
        | Metric::CasePassRate => {
            if count_together(evals.iter().map(|eval| eval.cases)) {
                let sizes: Vec<f64> = evals.iter().map(|eval| eval.cases as f64).collect();
                Size { effective: kish(&sizes), together: true, ..plain("eval", evals.len() as u64) }
            } else {
                plain("case", cases)
            }
        }
        _ => return None,
    };
    (size.units > 0 && size.effective > 0.0).then_some(size)
}

fn missed(threshold: &Threshold, size: &Size) -> Option<String> {
    let upper = threshold.bound == Bound::Max;
    let ends = wilson_of_share(if upper { 0.0 } else { 1.0 }, size.effective, LEVEL).ok()?;
    let end = if upper { ends.high } else { ends.low };
    let met = if upper { stays_within(end, threshold.value) } else { reaches(end, threshold.value) };
    if met {
        return None;
    }
    let plural = |n: u64| if n == 1 { size.unit.to_owned() } else { format!("{}s", size.unit) };
    let units = format!("{} {}", size.units, plural(size.units));
    let asked = if upper { "an upper end of at most" } else { "a lower end of at least" };
    let best = match (upper, size.units) {
        (true, _) => "none passes",
        (false, 1) => "it passes",
        (false, _) => "all pass",
    };
    let (planned, reached) = (if size.units == 1 { "is" } else { "are" }, number(end, 4));
    let metric = &threshold.metric;
    let said = format!(
        "the threshold on {metric} asks for {asked} {}, and {units} {planned} planned: even if {best} the interval ends at {reached}",
        number(threshold.value, 4)
    );
    let fewest = Demand { upper, value: threshold.value, level: LEVEL }.fewest_at_best();
    let plain = size.effective == size.units as f64;
    let why = if size.together { " (cases of one eval count together)" } else { "" };
    Some(match fewest {
        None => format!("{said}, and no number of {} would be enough", plural(2)),
        Some(fewest) if plain => format!("{said}; it takes {fewest} {}{why}", plural(fewest)),
        Some(fewest) => {
            let like = (fewest as f64 * size.units as f64 / size.effective).ceil() as u64;
            format!("{said}; it takes about {like} {} like these{why}", plural(like))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVAL: Planned = Planned { kind: EvalType::Capability, weight: 1.0, cases: 1 };

    fn said(metric: &str, value: f64, evals: &[Planned]) -> String {
        let (bound, on) =
            if metric == "errors" { (Bound::Max, Figure::CiUpper) } else { (Bound::Min, Figure::CiLower) };
        let metric = if metric == "errors" { "pass_rate" } else { metric };
        let threshold = Threshold { metric: metric.into(), bound, value, on };
        let spec = GateSpec { thresholds: vec![threshold], ..GateSpec::default() };
        out_of_reach(&spec, |part| if part.is_some() { evals[..1].to_vec() } else { evals.to_vec() })
            .join("\n")
    }

    #[test]
    fn says_how_many_it_takes() {
        insta::assert_snapshot!(said("pass_rate", 0.9, &[EVAL; 12]), @"the threshold on pass_rate asks for a lower end of at least 0.9, and 12 evals are planned: even if all pass the interval ends at 0.7575; it takes 35 evals");
        insta::assert_snapshot!(said("pass_at_1", 0.9, &[EVAL; 34]), @"the threshold on pass_at_1 asks for a lower end of at least 0.9, and 34 cases are planned: even if all pass the interval ends at 0.8985; it takes 35 cases");
        assert_eq!(said("pass_at_1", 0.9, &[EVAL; 35]), "");
        insta::assert_snapshot!(said("case_pass_rate[tag=a]", 0.5, &[EVAL; 35]), @"the threshold on case_pass_rate[tag=a] asks for a lower end of at least 0.5, and 1 case is planned: even if it passes the interval ends at 0.2065; it takes 4 cases");
        insta::assert_snapshot!(said("errors", 0.05, &[EVAL; 12]), @"the threshold on pass_rate asks for an upper end of at most 0.05, and 12 evals are planned: even if none passes the interval ends at 0.2425; it takes 73 evals");
        insta::assert_snapshot!(said("pass_rate", 1.0, &[EVAL; 12]), @"the threshold on pass_rate asks for a lower end of at least 1, and 12 evals are planned: even if all pass the interval ends at 0.7575, and no number of evals would be enough");
        assert_eq!(said("latency_p95_ms", 0.9, &[EVAL; 2]), "");
        assert_eq!(said("regression_pass_rate", 0.9, &[EVAL; 2]), "");
    }

    #[test]
    fn what_counts_as_fewer_needs_more() {
        let several = Planned { cases: 10, ..EVAL };
        insta::assert_snapshot!(said("pass_at_3", 0.9, &[several; 12]), @"the threshold on pass_at_3 asks for a lower end of at least 0.9, and 12 evals are planned: even if all pass the interval ends at 0.7575; it takes 35 evals (cases of one eval count together)");
        // Fewer evals than 10: every case counts.
        assert_eq!(said("pass_at_3", 0.9, &[several; 9]), "");
        assert!(!said("case_pass_rate", 0.9, &[several; 12]).is_empty());
        let heavy = Planned { weight: 3.0, ..EVAL };
        insta::assert_snapshot!(said("weighted_score", 0.6, &[EVAL, EVAL, EVAL, heavy]), @"the threshold on weighted_score asks for a lower end of at least 0.6, and 4 evals are planned: even if all pass the interval ends at 0.4385; it takes about 8 evals like these");
    }

    /// What is said to be out of reach is so in the gate's own interval, and what it takes is enough.
    #[test]
    fn agrees_with_the_gates_interval() {
        for n in 1..120usize {
            let ends_at = crate::stats::wilson(n as u64, n as u64, LEVEL).unwrap().low;
            for value in [0.5, 0.8, 0.9, 0.95] {
                let text = said("pass_rate", value, &vec![EVAL; n]);
                assert_eq!(text.is_empty(), reaches(ends_at, value), "{n} {value} {text}");
            }
        }
    }
}
