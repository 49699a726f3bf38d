//! What phase files demand of the suites that they run.

use super::read::located;
use super::{WrittenSet, read_set};
use crate::load::problem::{Code, Problems};
use crate::load::source::Span;
use crate::model::{AskedThreshold, Bound, Figure, Metric, Threshold};

/// The thresholds of a step or a trigger and its `max_regressions`; what is wrong with them is noted where it is written.
pub(in crate::load) fn asked(
    set: &WrittenSet,
    problems: &mut Problems,
) -> (Vec<AskedThreshold>, Option<u32>) {
    let read = read_set(set, problems);
    let asked = |demand: super::Demand| AskedThreshold { threshold: demand.threshold, bare: demand.bare };
    (read.demands.into_iter().map(asked).collect(), read.max_regressions)
}

/// Puts `required_pass_rate` among the thresholds `asked` of the same step, which `set` holds as they are written. Another
/// demand on `pass_rate` beside it is a contradiction, unless it is the same.
pub(in crate::load) fn required_pass_rate(
    rate: f64,
    at: Option<Span>,
    set: &WrittenSet,
    asked: &mut Vec<AskedThreshold>,
    problems: &mut Problems,
) {
    let metric = Metric::PassRate.to_string();
    let required = Threshold { metric: metric.clone(), bound: Bound::Min, value: rate, on: Figure::Value };
    let of_it = |other: &&AskedThreshold| other.threshold.metric == metric;
    if asked.iter().any(|other| other.threshold == required) {
        return;
    }
    let differs =
        |other: &&AskedThreshold| other.threshold.bound == Bound::Min || other.threshold.value < rate;
    if let Some(other) = asked.iter().filter(of_it).find(differs) {
        let Threshold { value, bound, .. } = other.threshold;
        let word = if bound == Bound::Min { "at least" } else { "at most" };
        let message = format!(
            "`required_pass_rate` asks for {rate}, and the threshold on `pass_rate` for {word} {value}"
        );
        let written = set.1.as_ref().and_then(|node| node.get_key("pass_rate")).map(|key| key.span);
        let problem =
            located(Code::BothSpellings, at, message).hint("both speak of the same rate: keep one of them");
        problems.push(match written {
            Some(written) => problem.related(written, "the threshold"),
            None => problem,
        });
        return;
    }
    asked.push(AskedThreshold { threshold: required, bare: false });
}
