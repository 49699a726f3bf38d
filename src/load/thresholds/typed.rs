//! `--threshold METRIC=VALUE`.

use super::Demand;
use super::read::unknown_metric;
use crate::load::problem::{Code, Problem};
use crate::model::{Bound, Figure, Metric, Threshold};

/// `METRIC=VALUE`, or with the direction: `METRIC>=VALUE`, `METRIC<=VALUE`.
pub(super) fn override_of(text: &str) -> Result<Demand, Box<Problem>> {
    let wrong = |message: String| Box::new(Problem::general(Code::UnknownMetric, message));
    let directed = [(">=", Bound::Min), ("<=", Bound::Max)]
        .into_iter()
        .find_map(|(sign, bound)| text.split_once(sign).map(|parts| (parts, Some(bound))));
    let Some(((name, value), direction)) = directed.or(text.split_once('=').map(|parts| (parts, None)))
    else {
        return Err(Box::new(
            wrong(format!("`--threshold {text}` is not METRIC=VALUE")).hint("for example `pass_at_1=0.9`"),
        ));
    };
    let metric: Metric = match name.trim().parse() {
        Ok(metric) => metric,
        Err(_) => {
            let mut problem = unknown_metric(name.trim(), None, &[]);
            problem.message = format!("`--threshold`: {}", problem.message);
            return Err(Box::new(problem));
        }
    };
    let value: f64 = value
        .trim()
        .parse()
        .map_err(|_| wrong(format!("`--threshold {text}`: `{}` is not a number", value.trim())))?;
    let bound = direction.unwrap_or(metric.bound());
    let threshold = Threshold { metric: metric.to_string(), bound, value, on: Figure::Value };
    Ok(Demand { threshold, at: None, bare: direction.is_none() })
}
