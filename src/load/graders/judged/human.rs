//! Graders that ask people: their settings are kept as written, with the rubric in place of its
//! name.

use serde_json::Value;

use super::text;
use crate::graders::settings::without_nulls;
use crate::load::problem::{Code, Problem};
use crate::load::scope::SuiteDesk;
use crate::load::tree::Node;
use crate::spec::{HumanGraderConfig, RatingKind};

pub(in crate::load::graders) fn human(
    desk: &mut SuiteDesk,
    config: &HumanGraderConfig,
    node: &Node,
) -> Option<Value> {
    let mut config = config.clone();
    if let Some(written) = &config.rubric {
        config.rubric = Some(text::rubric(desk, written, node.locate("/config/rubric"))?);
    }
    let mut faults: Vec<(&str, String)> = Vec::new();
    if let Some(people) = &config.evaluators
        && let (Some(min), Some(max)) = (people.min_required, people.max_allowed)
        && min > max
    {
        faults.push((
            "/config/evaluators",
            format!("`min_required: {min}` is more than `max_allowed: {max}`"),
        ));
    }
    if let Some(scale) = &config.rating_scale {
        let at = "/config/rating_scale";
        match (scale.kind, scale.range) {
            (RatingKind::Likert, Some([low, high])) if low >= high => {
                faults.push((
                    at,
                    "the `range` is empty: its first number must be lower".to_owned(),
                ));
            }
            (RatingKind::Binary, _)
                if scale
                    .options
                    .iter()
                    .any(|option| !option.value.is_boolean()) =>
            {
                let why = "the `value` of an option of a `binary` scale is true or false";
                faults.push((at, why.to_owned()));
            }
            (RatingKind::Ranking, _)
                if scale.min_items > scale.max_items && scale.max_items.is_some() =>
            {
                faults.push((at, "`min_items` is more than `max_items`".to_owned()));
            }
            _ => {}
        }
    }
    let whole = faults.is_empty();
    for (at, message) in faults {
        desk.push(Problem::error(
            Code::GraderConflict,
            node.locate(at),
            message,
        ));
    }
    whole.then(|| without_nulls(serde_json::to_value(&config).unwrap_or(Value::Null)))
}
