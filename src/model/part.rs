//! Names of metrics as thresholds say them: a metric of the whole run, or of a part of it, such as
//! `pass_rate[tag=critical]`.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;

use super::metric::{Metric, UnknownMetric};
use crate::spec::words::EvalType;

/// The beginning of the tag of a case with the month in which its task was published.
pub const MONTH_TAG: &str = "month:";

/// The beginning of the tag of a case with the day on which its task was published.
pub const RELEASED_TAG: &str = "released:";

/// A part of a run: the cases of some of its evals, or those with a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartSelector {
    Type(EvalType),
    /// A category of the author's.
    Category(String),
    /// Of the eval, or of the case itself.
    Tag(String),
    /// A glob over eval ids, which takes an id that is its own text, too.
    Eval(String),
    /// `until DATE` or `after DATE`: the cases whose task was published by that day, or later.
    Released(String),
}

/// A metric, and the part of the run that it is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricName {
    pub metric: Metric,
    /// `None`: of the whole run.
    pub part: Option<PartSelector>,
}

/// Why a text is no metric's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoMetric {
    #[error(transparent)]
    Unknown(#[from] UnknownMetric),
    /// The metric is one, but what stands in brackets names no part of a run.
    #[error("`{name}` selects no part of a run: {why}")]
    Part { name: String, why: String },
}

/// The words before `=`.
pub const PART_KINDS: [&str; 5] = ["type", "category", "tag", "eval", "released"];

impl PartSelector {
    /// # Errors
    /// Why there is no such part.
    pub fn new(kind: &str, value: &str) -> Result<PartSelector, String> {
        if value.is_empty() {
            return Err(format!("`{kind}` has no value"));
        }
        if value.contains(char::is_control) {
            return Err(format!(
                "the value of `{kind}` contains a line break or another control character"
            ));
        }
        let text = value.to_owned();
        match kind {
            "type" => match value {
                "capability" => Ok(PartSelector::Type(EvalType::Capability)),
                "regression" => Ok(PartSelector::Type(EvalType::Regression)),
                _ => Err(format!(
                    "types are `capability` and `regression`, not `{value}`"
                )),
            },
            "category" => Ok(PartSelector::Category(text)),
            "tag" => Ok(PartSelector::Tag(text)),
            "eval" => Ok(PartSelector::Eval(text)),
            "released" => match ReleasePart::read(value) {
                Some(_) => Ok(PartSelector::Released(text)),
                None => Err(format!(
                    "write `until DATE` or `after DATE`, such as `after 2024-09-01`, not `{value}`"
                )),
            },
            _ => Err(format!(
                "parts are selected by {}, not by `{kind}`",
                PART_KINDS.map(|k| format!("`{k}`")).join(", ")
            )),
        }
    }

    /// What tells the part from others, such as the `tag` in `tag=critical`.
    pub fn kind(&self) -> &'static str {
        match self {
            PartSelector::Type(_) => "type",
            PartSelector::Category(_) => "category",
            PartSelector::Tag(_) => "tag",
            PartSelector::Eval(_) => "eval",
            PartSelector::Released(_) => "released",
        }
    }

    pub fn value(&self) -> &str {
        match self {
            PartSelector::Type(EvalType::Capability) => "capability",
            PartSelector::Type(EvalType::Regression) => "regression",
            PartSelector::Category(text)
            | PartSelector::Tag(text)
            | PartSelector::Eval(text)
            | PartSelector::Released(text) => text,
        }
    }
}

/// The value of [`PartSelector::Released`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleasePart {
    day: Date,
    /// Or not later than the day.
    is_after: bool,
}

impl ReleasePart {
    pub fn read(value: &str) -> Option<ReleasePart> {
        let (word, day) = value.split_once(' ')?;
        let is_after = match word {
            "until" => false,
            "after" => true,
            _ => return None,
        };
        let day = day.parse().ok()?;
        Some(ReleasePart { day, is_after })
    }

    /// Whether a case with these tags was published in that time; none without a date was.
    pub fn takes(&self, tags: &[String]) -> bool {
        let day = |tag: &String| tag.strip_prefix(RELEASED_TAG)?.parse::<Date>().ok();
        let day = tags.iter().find_map(day);
        day.is_some_and(|day| (day > self.day) == self.is_after)
    }
}

/// The parts of a run before and after the training cut-off of a model: the day itself, and the
/// whole of a month such as `2024-09`, count as before. `None` if the text is not a date.
pub fn cutoff_parts(cutoff: &str) -> Option<[PartSelector; 2]> {
    let cutoff = cutoff.trim();
    let of_month = || {
        let first: Date = format!("{cutoff}-01").parse().ok()?;
        Some(first.last_of_month())
    };
    let day = cutoff.parse::<Date>().ok().or_else(of_month)?;
    Some(["until", "after"].map(|word| PartSelector::Released(format!("{word} {day}"))))
}

impl fmt::Display for PartSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kind(), self.value())
    }
}

impl MetricName {
    pub fn whole(metric: Metric) -> MetricName {
        MetricName { metric, part: None }
    }

    /// True when the part has no eval that the metric is about, whatever the suite is.
    pub fn is_contradictory(&self) -> bool {
        matches!(
            self.metric,
            Metric::CapabilityPassRate | Metric::RegressionPassRate
        ) && matches!(self.part, Some(PartSelector::Type(_)))
    }
}

/// The metric of a name and what stands in its brackets, without looking at either:
/// `("pass_rate", Some("tag=critical"))`.
pub fn split_part(name: &str) -> (&str, Option<&str>) {
    match name.strip_suffix(']').and_then(|open| open.split_once('[')) {
        Some((metric, part)) => (metric, Some(part)),
        None => (name, None),
    }
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{}[{part}]", self.metric),
            None => self.metric.fmt(f),
        }
    }
}

impl FromStr for MetricName {
    type Err = NoMetric;

    /// `METRIC` or `METRIC[KIND=VALUE]`. Everything between the first `=` and the last bracket is
    /// the value, so that it may hold brackets, quotes and further `=` as they are.
    fn from_str(text: &str) -> Result<Self, NoMetric> {
        let (metric, part) = split_part(text);
        if part.is_none() && metric.contains('[') {
            let why = "the closing bracket is missing".to_owned();
            return Err(NoMetric::Part {
                name: text.to_owned(),
                why,
            });
        }
        let metric: Metric = metric.parse()?;
        let Some(part) = part else {
            return Ok(MetricName::whole(metric));
        };
        let read = match part.split_once('=') {
            Some((kind, value)) => PartSelector::new(kind, value),
            None => Err("write KIND=VALUE in the brackets, such as `[tag=critical]`".to_owned()),
        };
        match read {
            Ok(part) => Ok(MetricName {
                metric,
                part: Some(part),
            }),
            Err(why) => Err(NoMetric::Part {
                name: text.to_owned(),
                why,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        match text.parse::<MetricName>() {
            Ok(name) => name.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn names_have_one_spelling_and_values_hold_anything_but_line_breaks() {
        for (text, says) in [
            ("pass_rate", "pass_rate"),
            ("pass@3[tag=critical]", "pass_at_3[tag=critical]"),
            ("pass^3[type=regression]", "pass_hat_3[type=regression]"),
            ("score[eval=cap-[ab]*]", "score[eval=cap-[ab]*]"),
            ("score[tag=a]=b\"'|`]", "score[tag=a]=b\"'|`]"),
            ("lint_pass[category= odd ]", "lint_pass[category= odd ]"),
            (
                "pass_rate[tag=]",
                "`pass_rate[tag=]` selects no part of a run: `tag` has no value",
            ),
            (
                "pass_rate[tag]",
                "`pass_rate[tag]` selects no part of a run: write KIND=VALUE in the brackets, such as \
                     `[tag=critical]`",
            ),
            (
                "pass_rate[tag=a",
                "`pass_rate[tag=a` selects no part of a run: the closing bracket is missing",
            ),
            (
                "pass_rate[type=code]",
                "`pass_rate[type=code]` selects no part of a run: types are `capability` and `regression`, not `code`",
            ),
            (
                "pass_rate[label=a]",
                "`pass_rate[label=a]` selects no part of a run: parts are selected by `type`, `category`, `tag`, `eval`, `released`, not by `label`",
            ),
            (
                "pass_rate[tag=a\nb]",
                "`pass_rate[tag=a\nb]` selects no part of a run: the value of `tag` contains a line break or another control character",
            ),
            ("Pass[tag=a]", "`Pass` is not a metric"),
            ("[tag=a]", "`` is not a metric"),
        ] {
            assert_eq!(read(text), says, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(kind in prop::sample::select(&PART_KINDS[1..4]), value in "\\PC{1,12}", k in 1u32..9) {
            prop_assume!(!value.contains(char::is_control));
            for metric in [Metric::PassRate, Metric::PassAt(k), Metric::Named("lint_pass".into())] {
                let name = MetricName { metric, part: Some(PartSelector::new(kind, &value).unwrap()) };
                prop_assert_eq!(name.to_string().parse(), Ok(name));
            }
        }
    }
}
