//! `--threshold METRIC=VALUE`.

use super::read::{DemandSet, MAX_REGRESSIONS, REQUIRE, metric_name};
use super::{DemandSource, ThresholdDemand};
use crate::load::problem::{Code, Problem};
use crate::model::{Bound, Figure};

/// `METRIC=VALUE`, or with the direction: `METRIC>=VALUE`, `METRIC<=VALUE`. The metric may be of a
/// part of the run: `pass_rate[tag=critical]=1`. `VALUE@lower` and `VALUE@upper` look at an end of
/// the interval.
pub(super) fn read_typed(text: &str, set: &mut DemandSet) -> Result<(), Box<Problem>> {
    let wrong = |message: String| Box::new(Problem::general(Code::UnknownMetric, message));
    let (name, direction, value) = parts(text).ok_or_else(|| {
        let problem = wrong(format!("`--threshold {text}` is not METRIC=VALUE"));
        Box::new(problem.hint("for example `pass@1=0.9` or `pass_rate[tag=critical]=1`"))
    })?;
    let no_number = || wrong(format!("`--threshold {text}`: `{value}` is not a number"));
    if name == MAX_REGRESSIONS {
        let most = value.parse().ok().filter(|_| direction != Some(Bound::Min));
        set.max_regressions = Some(most.ok_or_else(|| {
            wrong(format!(
                "`--threshold {text}`: `{MAX_REGRESSIONS}` must be a whole number: how many failed regressions the gate allows"
            ))
        })?);
        return Ok(());
    }
    if name == REQUIRE {
        let word = serde_json::from_value(value.into())
            .ok()
            .filter(|_| direction.is_none());
        set.require = Some(word.ok_or_else(|| {
            wrong(format!(
                "`--threshold {text}`: `{REQUIRE}` must be `all_evals` or `thresholds`"
            ))
        })?);
        return Ok(());
    }
    let name = metric_name(name, None, &[]).map_err(|mut problem| {
        problem.message = format!("`--threshold`: {}", problem.message);
        problem
    })?;
    let (value, on) = match value.rsplit_once('@') {
        Some((value, "lower")) => (value, Figure::CiLower),
        Some((value, "upper")) => (value, Figure::CiUpper),
        _ => (value, Figure::Value),
    };
    let value: f64 = value.parse().map_err(|_| no_number())?;
    let bound = direction.unwrap_or(name.metric.bound());
    set.demands.push(ThresholdDemand {
        bare: direction.is_none(),
        ..ThresholdDemand::new(name, bound, value, on, DemandSource::CommandLine)
    });
    Ok(())
}

/// Name, direction and value. What stands in brackets belongs to the name, whatever it holds; no
/// value holds a bracket.
fn parts(text: &str) -> Option<(&str, Option<Bound>, &str)> {
    let sign_at = |text: &str| text.find(['=', '<', '>']);
    let bracketed = text
        .find('[')
        .is_some_and(|open| sign_at(text).is_none_or(|sign| open < sign));
    let from = if bracketed { text.rfind(']')? } else { 0 };
    let sign = from + sign_at(text.get(from..)?)?;
    let (name, rest) = text.split_at_checked(sign)?;
    let (direction, value) = match rest.strip_prefix(">=") {
        Some(value) => (Some(Bound::Min), value),
        None => match rest.strip_prefix("<=") {
            Some(value) => (Some(Bound::Max), value),
            None => (None, rest.strip_prefix('=')?),
        },
    };
    Some((name.trim(), direction, value.trim()))
}
