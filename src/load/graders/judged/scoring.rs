//! The scale of a judge, where on it a grade passes, and examples of scores.

use serde_json::Value;

use crate::load::problem::{Code, Problem};
use crate::load::scope::SuiteDesk;
use crate::load::tree::Node;
use crate::model::{Criterion, Judge, JudgeExample, JudgeScoring, ScoreCategory, folded_name};
use crate::spec::{ModelGraderConfig, ScoringKind, ScoringSpec};
use eval_stats::reaches;

/// `None` after saying what is wrong. `usual` is what nobody wrote.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    spec: Option<&ScoringSpec>,
    node: &Node,
    usual: JudgeScoring,
) -> Option<JudgeScoring> {
    let Some(spec) = spec else { return Some(usual) };
    let usual_range = match usual {
        JudgeScoring::Numeric { range } => range,
        JudgeScoring::Categorical { .. } | JudgeScoring::Boolean => Judge::RANGE,
    };
    let kind = match spec.kind {
        ScoringKind::Numeric => "numeric",
        ScoringKind::Categorical => "categorical",
        ScoringKind::Boolean => "boolean",
    };
    let stray = [
        (
            "range",
            spec.range.is_some() && spec.kind != ScoringKind::Numeric,
            "numeric",
        ),
        (
            "categories",
            !spec.categories.is_empty() && spec.kind != ScoringKind::Categorical,
            "categorical",
        ),
    ];
    let mut whole = true;
    for (key, _, of) in stray.into_iter().filter(|(_, is_stray, _)| *is_stray) {
        let message = format!("`{key}` does not fit `type: {kind}`");
        let at = node.key_span(&format!("/scoring/{key}"));
        desk.push(
            Problem::error(Code::GraderConflict, at, message)
                .hint(format!("write `type: {of}`, or leave it out")),
        );
        whole = false;
    }
    let scoring = match spec.kind {
        ScoringKind::Boolean => Some(JudgeScoring::Boolean),
        ScoringKind::Numeric => {
            let range = spec.range.unwrap_or(usual_range);
            check_range(desk, range, node.locate("/scoring/range"))
                .then_some(JudgeScoring::Numeric { range })
        }
        ScoringKind::Categorical => categories(desk, spec, node),
    };
    scoring.filter(|_| whole)
}

/// Whether a scale has two ends.
pub(super) fn check_range(
    desk: &mut SuiteDesk,
    [low, high]: [f64; 2],
    at: crate::load::source::Span,
) -> bool {
    let fits = low.is_finite() && high.is_finite() && low < high && (high - low).is_finite();
    if !fits {
        let message = format!("[{low}, {high}] is no scale: its first number must be the lower");
        desk.push(Problem::error(Code::GraderConflict, at, message));
    }
    fits
}

fn categories(desk: &mut SuiteDesk, spec: &ScoringSpec, node: &Node) -> Option<JudgeScoring> {
    let at = node.locate("/scoring");
    if spec.categories.len() < 2 {
        let message = "categorical scoring needs at least two categories";
        let hint = "such as `categories: [{name: good, score: 1}, {name: bad, score: 0}]`";
        return desk.refuse(Problem::error(Code::GraderIncomplete, at, message).hint(hint));
    }
    let mut whole = true;
    let mut seen: Vec<String> = Vec::new();
    for (i, category) in spec.categories.iter().enumerate() {
        let name = folded_name(&category.name);
        if name.is_empty() || seen.contains(&name) {
            let at = node.locate(&format!("/scoring/categories/{i}/name"));
            let message = match name.is_empty() {
                true => format!("`{}` is no name of a category", category.name),
                false => format!("two categories are named `{}`", category.name),
            };
            let hint = "case, spaces, `_`, `-` and `*` don't tell names apart";
            desk.push(Problem::error(Code::DuplicateId, at, message).hint(hint));
            whole = false;
        }
        seen.push(name);
    }
    let categories = spec.categories.iter().map(|category| ScoreCategory {
        name: category.name.clone(),
        score: category.score,
        description: category.description.clone().unwrap_or_default(),
    });
    whole.then(|| JudgeScoring::Categorical {
        categories: categories.collect(),
    })
}

/// The share of the scale that passes; `None` after saying what is wrong.
pub(super) fn pass_threshold(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    scoring: &JudgeScoring,
    criteria: &[Criterion],
    node: &Node,
) -> Option<f64> {
    let at = node.locate("/pass_threshold");
    let by_verdict = matches!(scoring, JudgeScoring::Boolean) && criteria.is_empty();
    let usual = if matches!(scoring, JudgeScoring::Boolean) {
        1.0
    } else {
        Judge::PASS_THRESHOLD
    };
    let threshold = match config.pass_threshold {
        Some(_) if by_verdict => {
            let message = "`pass_threshold` has nothing to be held against: a boolean verdict over the whole rubric has no score";
            let hint = "leave it out, or write `criteria:` of which a share must be met";
            return desk.refuse(Problem::error(Code::GraderConflict, at, message).hint(hint));
        }
        Some(written) if written <= 0.0 => {
            let message = "`pass_threshold: 0` passes whatever the judge says";
            return desk.refuse(
                Problem::error(Code::SuspiciousValue, at, message).hint("a threshold above 0"),
            );
        }
        written => written.unwrap_or(usual),
    };
    if let JudgeScoring::Categorical { categories } = scoring {
        let passing = categories
            .iter()
            .filter(|category| reaches(category.score, threshold))
            .count();
        let message = match passing {
            0 => "no category's score reaches the threshold: the grade never passes",
            all if all == categories.len() => {
                "every category's score reaches the threshold: the grade always passes"
            }
            _ => return Some(threshold),
        };
        let hint = format!(
            "a category passes when its score is at least `pass_threshold`, which is {threshold}"
        );
        return desk.refuse(
            Problem::error(
                Code::GraderConflict,
                node.locate("/scoring/categories"),
                message,
            )
            .hint(hint),
        );
    }
    Some(threshold)
}

/// Examples whose scores fit; `None` after saying which do not.
pub(super) fn examples(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    scoring: &JudgeScoring,
    criteria: &[Criterion],
    node: &Node,
) -> Option<Vec<JudgeExample>> {
    let mut whole = true;
    for (i, example) in config.examples.iter().enumerate() {
        let pointer = format!("/examples/{i}/score");
        let problems = match &example.score {
            Value::Object(by_name) => by_criterion(by_name, scoring, criteria, node, &pointer),
            one => {
                let scale = match scoring {
                    JudgeScoring::Numeric { range } => Some(*range),
                    JudgeScoring::Categorical { .. } | JudgeScoring::Boolean => None,
                };
                misfit(one, scoring, scale)
                    .map(|misfit| misfit.at(node.locate(&pointer)))
                    .into_iter()
                    .collect()
            }
        };
        whole &= problems.is_empty();
        problems.into_iter().for_each(|problem| desk.push(problem));
    }
    let examples = config.examples.iter().map(|example| JudgeExample {
        input: example.input.clone(),
        output: example.output.clone(),
        expected: example.expected.clone(),
        score: example.score.clone(),
        justification: example.justification.clone(),
    });
    whole.then(|| examples.collect())
}

fn by_criterion(
    by_name: &serde_json::Map<String, Value>,
    scoring: &JudgeScoring,
    criteria: &[Criterion],
    node: &Node,
    pointer: &str,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, score) in by_name {
        let place = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match criteria
            .iter()
            .find(|criterion| folded_name(&criterion.name) == folded_name(name))
        {
            Some(criterion) => {
                problems.extend(
                    misfit(score, scoring, criterion.scale)
                        .map(|misfit| misfit.at(node.locate(&place))),
                );
            }
            None => {
                let known = criteria.iter().map(|criterion| criterion.name.as_str());
                let message = format!("no criterion is named `{name}`");
                let problem = Problem::error(Code::UnknownKey, node.key_span(&place), message);
                problems.push(problem.near(name, known));
            }
        }
    }
    let lacking = criteria.iter().filter(|of| {
        !by_name
            .keys()
            .any(|name| folded_name(name) == folded_name(&of.name))
    });
    let lacking: Vec<String> = lacking
        .map(|criterion| format!("`{}`", criterion.name))
        .collect();
    if !lacking.is_empty() && problems.is_empty() {
        let message = format!("the example has no score for {}", lacking.join(", "));
        let hint = "an example shows the judge a whole answer";
        problems.push(Problem::error(Code::MissingKey, node.locate(pointer), message).hint(hint));
    }
    problems
}

/// Why a name is none of the categories'.
pub(super) fn unknown_category(name: &str, categories: &[ScoreCategory]) -> Option<Problem> {
    let known: Vec<&str> = categories
        .iter()
        .map(|category| category.name.as_str())
        .collect();
    let problem = Problem::general(Code::UnknownValue, format!("`{name}` is no category"))
        .near(name, known.iter().copied())
        .or_hint(format!("the categories are {}", known.join(", ")));
    (!known.contains(&name)).then_some(problem)
}

/// Why a score is none of the scale.
fn misfit(score: &Value, scoring: &JudgeScoring, scale: Option<[f64; 2]>) -> Option<Problem> {
    let shown = || serde_json::to_string(score).unwrap_or_default();
    match (scoring, score) {
        (JudgeScoring::Boolean, Value::Bool(_)) => None,
        (JudgeScoring::Boolean, _) => Some(Problem::general(
            Code::WrongType,
            format!("{} is neither true nor false", shown()),
        )),
        (JudgeScoring::Categorical { categories }, Value::String(name)) => {
            unknown_category(name, categories)
        }
        (JudgeScoring::Categorical { .. }, _) => Some(Problem::general(
            Code::WrongType,
            format!("{} is no category", shown()),
        )),
        (JudgeScoring::Numeric { range }, Value::Number(number)) => {
            let [low, high] = scale.unwrap_or(*range);
            let fits = number
                .as_f64()
                .is_some_and(|number| (low..=high).contains(&number));
            let message = format!("{number} is outside of the scale from {low} to {high}");
            (!fits).then(|| Problem::general(Code::OutOfRange, message))
        }
        (JudgeScoring::Numeric { .. }, _) => Some(Problem::general(
            Code::WrongType,
            format!("{} is no number", shown()),
        )),
    }
}
