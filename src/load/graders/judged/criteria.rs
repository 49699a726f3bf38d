//! What a judge scores: criteria that are written as such, those that stand in a rubric's text, or
//! the rubric as a whole.

use std::collections::BTreeMap;

use super::rubric::{self, RubricItem};
use super::scoring::{check_range, unknown_category};
use crate::load::problem::{Code, Problem};
use crate::load::scope::SuiteDesk;
use crate::load::source::Span;
use crate::load::tree::Node;
use crate::model::{Criterion, JudgeScoring, folded_name};
use crate::spec::CriterionSpec;

/// The criterion of a rubric that is judged as a whole.
pub(super) const OVERALL: &str = "overall";
/// How far from 1 the weights may sum up to without a word.
const WEIGHT_SLACK: f64 = 0.001;
/// Characters of a rubric that hardly leave room for what is judged.
const LONG_RUBRIC: usize = 100_000;

/// How weights are written so that they are read.
const WEIGHTS: &str =
    "write each as `1. **Name** (weight: 0.4)`, or the criteria under `criteria:`";

/// What judges read, and what they score.
pub(super) struct JudgeRubric {
    pub text: String,
    pub criteria: Vec<Criterion>,
}

/// `None` after saying what is wrong. `text` is the rubric, with its place.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    written: &[CriterionSpec],
    text: Option<(String, Span)>,
    scoring: &JudgeScoring,
    node: &Node,
) -> Option<JudgeRubric> {
    let at = text.as_ref().map_or(node.span, |(_, at)| *at);
    let text = text.map(|(text, _)| text).unwrap_or_default();
    if text.chars().nth(LONG_RUBRIC).is_some() {
        let message = format!(
            "the rubric has {} characters: it may not fit into the judge's context",
            text.chars().count()
        );
        desk.push(
            Problem::warning(Code::SuspiciousValue, at, message)
                .hint("say what decides, and leave the rest out"),
        );
    }
    let scored = if written.is_empty() {
        of_text(desk, &text, scoring, at)?
    } else {
        if rubric::mentions_weights(&text) {
            let message = "the weights in the rubric count for nothing: those of `criteria` do";
            let hint = "say them under `criteria:` alone";
            desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
        }
        JudgeRubric {
            text: text.clone(),
            criteria: of_specs(desk, written, scoring, node)?,
        }
    };
    warn_of_scale(desk, &text, &scored.criteria, scoring, at);
    Some(scored)
}

fn of_specs(
    desk: &mut SuiteDesk,
    written: &[CriterionSpec],
    scoring: &JudgeScoring,
    node: &Node,
) -> Option<Vec<Criterion>> {
    let mut whole = true;
    let mut criteria = Vec::new();
    for (i, spec) in written.iter().enumerate() {
        let at = |key: &str| format!("/criteria/{i}/{key}");
        let scale = match (scoring, spec.scale) {
            (JudgeScoring::Numeric { range }, own) => Some(own.unwrap_or(*range)),
            (_, None) => None,
            (_, Some(_)) => {
                let message = "`scale` belongs to numeric scoring";
                desk.push(
                    Problem::error(Code::GraderConflict, node.key_span(&at("scale")), message)
                        .hint("leave it out"),
                );
                whole = false;
                None
            }
        };
        if let Some(scale) = scale {
            whole &= check_range(desk, scale, node.locate(&at("scale")));
        }
        for level in spec.levels.keys() {
            let place = node.key_span(&at(&format!(
                "levels/{}",
                level.replace('~', "~0").replace('/', "~1")
            )));
            if let Some(problem) = stray_level(level, scoring, scale) {
                desk.push(problem.at(place));
                whole = false;
            }
        }
        criteria.push(Criterion {
            name: spec.name.trim().to_owned(),
            description: spec.description.clone().unwrap_or_default(),
            weight: spec.weight.unwrap_or(0.0),
            scale,
            levels: spec.levels.clone(),
        });
    }
    let place = |i: usize, key: &str| node.locate(&format!("/criteria/{i}/{key}"));
    whole &= distinct(desk, &criteria, &|i| place(i, "name"));
    let weights: Vec<Option<f64>> = written.iter().map(|spec| spec.weight).collect();
    let are_parts = weights
        .iter()
        .flatten()
        .all(|weight| *weight >= 1.0 && weight.fract() == 0.0);
    let weights = weigh(desk, &weights, are_parts, node.locate("/criteria"))?;
    criteria
        .iter_mut()
        .zip(weights)
        .for_each(|(criterion, weight)| criterion.weight = weight);
    whole.then_some(criteria)
}

/// Why a level is none of the scale.
fn stray_level(level: &str, scoring: &JudgeScoring, scale: Option<[f64; 2]>) -> Option<Problem> {
    match scoring {
        JudgeScoring::Numeric { range } => {
            let [low, high] = scale.unwrap_or(*range);
            match point(level) {
                None => {
                    let message =
                        format!("`{level}` is no point of the scale from {low} to {high}");
                    Some(Problem::general(Code::BadFormat, message))
                }
                Some(point) if !(low..=high).contains(&point) => {
                    let message =
                        format!("the level {level} is outside of the scale from {low} to {high}");
                    Some(
                        Problem::general(Code::OutOfRange, message)
                            .hint("set `scale`, or `range` under `scoring`"),
                    )
                }
                Some(_) => None,
            }
        }
        JudgeScoring::Categorical { categories } => unknown_category(level, categories),
        JudgeScoring::Boolean => {
            let message = format!("`{level}` is neither `true` nor `false`");
            (!["true", "false"].contains(&level))
                .then(|| Problem::general(Code::UnknownValue, message))
        }
    }
}

fn point(level: &str) -> Option<f64> {
    let digits = level.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    level
        .parse::<f64>()
        .ok()
        .filter(|point| digits && point.is_finite())
}

fn of_text(
    desk: &mut SuiteDesk,
    text: &str,
    scoring: &JudgeScoring,
    at: Span,
) -> Option<JudgeRubric> {
    if matches!(scoring, JudgeScoring::Boolean) {
        if rubric::mentions_weights(text) {
            let message =
                "the weights in the rubric count for nothing: its verdict is one of the whole";
            let hint = "write `criteria:` to have each of them judged, or leave `scoring` out";
            desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
        }
        return Some(JudgeRubric {
            text: text.to_owned(),
            criteria: Vec::new(),
        });
    }
    let scale = match scoring {
        JudgeScoring::Numeric { range } => Some(*range),
        JudgeScoring::Categorical { .. } | JudgeScoring::Boolean => None,
    };
    let is_level = |name: &str| match scoring {
        JudgeScoring::Categorical { categories } => categories
            .iter()
            .any(|category| folded_name(&category.name) == folded_name(name)),
        JudgeScoring::Numeric { .. } | JudgeScoring::Boolean => point(name).is_some(),
    };
    let Some(items) = rubric::split(text, &is_level) else {
        if rubric::mentions_weights(text) {
            let message =
                "the weights in the rubric are not read: not every item of it is a criterion";
            desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(WEIGHTS));
        }
        let overall = of_item(
            RubricItem {
                name: OVERALL.to_owned(),
                ..RubricItem::default()
            },
            1.0,
            scale,
        );
        return Some(JudgeRubric {
            text: text.to_owned(),
            criteria: vec![overall],
        });
    };
    let weights: Vec<Option<f64>> = items.iter().map(|item| item.weight).collect();
    if weights.iter().all(Option::is_none) && rubric::mentions_weights(text) {
        let message = "the weights in the rubric are not read: all its criteria count alike";
        desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(WEIGHTS));
    }
    let weights = weigh(desk, &weights, false, at)?;
    let items = items.into_iter().zip(weights);
    let criteria: Vec<Criterion> = items
        .map(|(item, weight)| of_item(item, weight, scale))
        .collect();
    distinct(desk, &criteria, &|_| at).then_some(JudgeRubric {
        text: text.to_owned(),
        criteria,
    })
}

fn of_item(item: RubricItem, weight: f64, scale: Option<[f64; 2]>) -> Criterion {
    Criterion {
        name: item.name,
        description: item.description,
        weight,
        scale,
        levels: item.levels,
    }
}

fn distinct(desk: &mut SuiteDesk, criteria: &[Criterion], at: &dyn Fn(usize) -> Span) -> bool {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut whole = true;
    for (i, criterion) in criteria.iter().enumerate() {
        let name = folded_name(&criterion.name);
        let hint = "case, spaces, `_`, `-` and `*` don't tell criteria apart in a judge's answer";
        let problem = if name.is_empty() {
            Problem::error(
                Code::BadFormat,
                at(i),
                format!("`{}` is no name of a criterion", criterion.name),
            )
        } else if let Some(first) = seen.get(&name) {
            let problem = Problem::error(
                Code::DuplicateId,
                at(i),
                format!("two criteria are named `{}`", criterion.name),
            );
            if at(*first) == at(i) {
                problem
            } else {
                problem.related(at(*first), "the first one")
            }
        } else {
            seen.insert(name, i);
            continue;
        };
        desk.push(problem.hint(hint));
        whole = false;
    }
    whole
}

/// Weights that sum to 1. `are_parts`: they are meant in proportion, such as 2, 1 and 1.
fn weigh(
    desk: &mut SuiteDesk,
    written: &[Option<f64>],
    are_parts: bool,
    at: Span,
) -> Option<Vec<f64>> {
    let given: Vec<f64> = written.iter().copied().flatten().collect();
    if given.is_empty() {
        return Some(vec![1.0 / written.len().max(1) as f64; written.len()]);
    }
    let sum: f64 = given.iter().sum();
    let (message, hint) = if given.len() < written.len() {
        (
            "some criteria have a weight and others have none",
            "give each of them one, or none",
        )
    } else if !sum.is_finite() || sum <= 0.0 {
        (
            "the weights of all criteria are 0",
            "a weight above 0 for what counts",
        )
    } else {
        let is_near = |whole: f64| (sum / whole - 1.0).abs() <= WEIGHT_SLACK;
        if !are_parts && !is_near(1.0) && !is_near(100.0) {
            let message = format!(
                "the weights sum to {}, not to 1: each counts in proportion",
                rounded(sum)
            );
            desk.push(
                Problem::warning(Code::SuspiciousValue, at, message)
                    .hint("make them sum to 1, or to 100%"),
            );
        }
        return Some(given.iter().map(|weight| weight / sum).collect());
    };
    desk.refuse(Problem::error(Code::GraderConflict, at, message).hint(hint))
}

/// Without the last digits, which are rounding.
fn rounded(sum: f64) -> f64 {
    (sum * 1e6).round() / 1e6
}

/// Warns of a rubric that speaks of another scale than the one the judge is given.
fn warn_of_scale(
    desk: &mut SuiteDesk,
    text: &str,
    criteria: &[Criterion],
    scoring: &JudgeScoring,
    at: Span,
) {
    let range = match scoring {
        JudgeScoring::Numeric { range } => Some(*range),
        JudgeScoring::Categorical { .. } | JudgeScoring::Boolean => None,
    };
    let own = criteria.iter().filter_map(|criterion| criterion.scale);
    let scales: Vec<[f64; 2]> = range.into_iter().chain(own).collect();
    let same = |a: f64, b: f64| (a - b).abs() < f64::EPSILON;
    let is_ours = |low: Option<f64>, high: f64| {
        scales
            .iter()
            .any(|[from, to]| same(*to, high) && low.is_none_or(|low| same(*from, low)))
    };
    let given = match range {
        Some([low, high]) => format!("the judge scores from {low} to {high}"),
        None => "the judge gives no numbers".to_owned(),
    };
    let texts = criteria
        .iter()
        .map(|criterion| criterion.description.as_str());
    let named = std::iter::once(text).chain(texts).flat_map(rubric::scales);
    let other = named
        .into_iter()
        .find(|(low, high, _)| !is_ours(*low, *high));
    let stray = || {
        let levels = criteria
            .iter()
            .flat_map(|criterion| criterion.levels.keys().map(move |level| (criterion, level)));
        let mut points = levels.filter_map(|(of, level)| Some((of.scale?, point(level)?)));
        points
            .find(|([low, high], point)| !(low..=high).contains(&point))
            .map(|(_, point)| point)
    };
    let (message, [low, high]) = match (other, stray()) {
        (Some((low, high, words)), _) => (
            format!("the rubric names another scale (`{words}`): {given}"),
            [low.unwrap_or(range.unwrap_or_default()[0]), high],
        ),
        (None, Some(point)) => {
            let [low, high] = range.unwrap_or_default();
            (
                format!("the rubric has a level {point}: {given}"),
                [low.min(point), high.max(point)],
            )
        }
        (None, None) => return,
    };
    let hint = format!("set `scoring: {{type: numeric, range: [{low}, {high}]}}` if that is meant");
    desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
}
