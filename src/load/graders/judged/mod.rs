//! Graders that are no code. What is written of a model that judges becomes a [`Judge`]: who is
//! asked, what for, and when it passes. Settings of graders by people are kept as written.

mod criteria;
mod human;
mod models;
mod rubric;
mod scoring;
mod text;
mod wanted;

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::graders::settings::CaseExpectation;
use crate::load::problem::{Code, Problem};
use crate::load::scope::{SuiteDesk, seconds};
use crate::load::source::Span;
use crate::load::tree::Node;
use crate::model::{Judge, JudgeScoring, PanelRule, ShownParts};
use crate::spec::{ModelGraderConfig, ShownPartSpec};
use eval_workspace::WorkspacePath;

pub(super) use human::human;
use wanted::JudgeExpectation;

/// A judge with everything in place; `None` after saying what is wrong. `dir` is the folder of the
/// file that says it.
pub(super) fn model(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    node: &Node,
    dir: &Path,
    case: CaseExpectation,
) -> Option<Judge> {
    let node = node.get("config").unwrap_or(node);
    let errors = desk.problems.error_count();
    // Whatever is wrong is told at once, so nothing waits for what stands before it.
    let models = models::resolve(desk, config, node, dir);
    let prompt = config
        .prompt
        .as_ref()
        .map(|prompt| text::prompt(desk, prompt, node.locate("/prompt")));
    let shown = shown(desk, config, node, case);
    let wanted = wanted::resolve(desk, case)?;
    let written = config.rubric.as_ref().map(|rubric| {
        let at = node.locate("/rubric");
        text::rubric(desk, rubric, at).map(|text| (text, at))
    });
    let by_reference = written.is_none() && config.criteria.is_empty();
    if let Some(Some(prompt)) = &prompt
        && wanted.reference.is_some()
        && !text::shows(prompt, "expected")
    {
        tell_unshown(desk, node.locate("/prompt"), by_reference);
    }
    let (text, usual) = match written {
        Some(text) => {
            let (text, at) = text?;
            let range = rubric::named_scale(&text).unwrap_or(Judge::RANGE);
            (Some((text, at)), JudgeScoring::Numeric { range })
        }
        None => unwritten(desk, config, &wanted, node)?,
    };
    let scoring = scoring::resolve(desk, config.scoring.as_ref(), node, usual)?;
    let scored = criteria::resolve(desk, &config.criteria, text, &scoring, node)?;
    let pass_threshold = scoring::pass_threshold(desk, config, &scoring, &scored.criteria, node);
    let examples = scoring::examples(desk, config, &scoring, &scored.criteria, node);
    let judge = Judge {
        models: models?,
        votes: config.votes.unwrap_or(1).max(1),
        panel: config.panel.unwrap_or(match scoring {
            JudgeScoring::Numeric { .. } => PanelRule::Median,
            JudgeScoring::Categorical { .. } | JudgeScoring::Boolean => PanelRule::Majority,
        }),
        rubric: scored.text,
        criteria: scored.criteria,
        scoring,
        pass_threshold: pass_threshold?,
        examples: examples?,
        prompt: match prompt {
            Some(prompt) => Some(prompt?),
            None => None,
        },
        reference: wanted.reference,
        alternatives: wanted.alternatives,
        must_include: wanted.must_include,
        must_not_include: wanted.must_not_include,
        max_chars: config.max_chars.unwrap_or(Judge::MAX_CHARS),
        shown,
        repairs: config.repairs.unwrap_or(Judge::REPAIRS).min(Judge::REPAIRS),
        structured: config.structured.unwrap_or(true),
        timeout: config.timeout_seconds.map_or(Judge::TIMEOUT, seconds),
    };
    if config.panel.is_some() && judge.all_votes() == 1 {
        let message = "`panel` combines several votes, but there is only one";
        let hint = "set more `votes`, or list several `models`";
        desk.push(
            Problem::warning(Code::SuspiciousValue, node.key_span("/panel"), message).hint(hint),
        );
    }
    (desk.problems.error_count() == errors).then_some(judge)
}

/// What a judge sees besides the output; what is wrong with it is reported.
fn shown(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    node: &Node,
    case: CaseExpectation,
) -> ShownParts {
    let mut shown = ShownParts::default();
    if config.show.is_empty() {
        return shown;
    }
    // A workspace that is missing is reported, and then the paths are checked all the same.
    if config
        .show
        .iter()
        .any(|part| *part != ShownPartSpec::Trajectory)
    {
        let _ = case.require_workspace(desk, "show", node.key_span("/show"));
    }
    for (at, part) in config.show.iter().enumerate() {
        let files = match part {
            ShownPartSpec::Files(files) => files,
            ShownPartSpec::Diff => {
                shown.diff = true;
                continue;
            }
            ShownPartSpec::Trajectory => {
                let at = node.locate(&format!("/show/{at}"));
                case.warn_without_trajectory(desk, "show", at);
                shown.trajectory = true;
                continue;
            }
        };
        for (index, path) in files.iter().enumerate() {
            match path.parse::<WorkspacePath>() {
                Ok(path) if shown.files.contains(&path) => {}
                Ok(path) => shown.files.push(path),
                Err(error) => {
                    let at = node.locate(&format!("/show/{at}/files/{index}"));
                    let problem = Problem::error(Code::BadPath, at, error.to_string());
                    desk.push(problem.hint("paths are relative to the top of the workspace"));
                }
            }
        }
    }
    shown
}

/// What is judged when nobody wrote a rubric, and how it is scored then.
type DefaultRubric = (Option<(String, Span)>, JudgeScoring);

/// The criteria alone, or the rubric that an expectation means by itself.
fn unwritten(
    desk: &mut SuiteDesk,
    config: &ModelGraderConfig,
    wanted: &JudgeExpectation,
    node: &Node,
) -> Option<DefaultRubric> {
    let numeric = JudgeScoring::Numeric {
        range: Judge::RANGE,
    };
    let own = |text: &str| Some((text.to_owned(), node.span));
    if !config.criteria.is_empty() {
        return Some((None, numeric));
    }
    if let Some(reference) = &wanted.reference {
        if wanted::says_nothing(reference) {
            let message = "the expected value is empty and there is neither `rubric` nor `criteria`, so every output would pass";
            let hint = "write an expected value, or describe a good output under `rubric:`";
            return desk
                .refuse(Problem::error(Code::GraderIncomplete, node.span, message).hint(hint));
        }
        return Some((own(wanted::OF_REFERENCE), numeric));
    }
    if wanted.has_items() {
        return Some((own(wanted::OF_ITEMS), JudgeScoring::Boolean));
    }
    let message = "the judge has nothing to judge by: there is no `rubric`, no `criteria` and no expected value";
    let hint =
        "describe a good output under `rubric:`, or add `expected: {type: semantic, value: ...}`";
    desk.refuse(Problem::error(Code::GraderIncomplete, node.span, message).hint(hint))
}

/// Tells of a prompt that keeps from the judge what is expected. `by_reference`: nothing else is
/// judged.
fn tell_unshown(desk: &mut SuiteDesk, at: Span, by_reference: bool) {
    let message = "the prompt does not show `expected`";
    let problem = if by_reference {
        let message = format!("{message}, so the judge has nothing to judge by");
        Problem::error(Code::GraderIncomplete, at, message)
    } else {
        Problem::warning(Code::SuspiciousValue, at, message)
    };
    desk.push(problem.hint("write `{{ expected }}` (or `{expected}`) where it belongs"));
}
