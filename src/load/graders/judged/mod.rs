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
use crate::model::{Judge, JudgeScoring, PanelRule};
use crate::spec::ModelGraderConfig;

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
        repairs: config.repairs.unwrap_or(Judge::REPAIRS).min(Judge::REPAIRS),
        structured: config.structured.unwrap_or(true),
        timeout: config.timeout_seconds.map_or(Judge::TIMEOUT, seconds),
    };
    if config.panel.is_some() && judge.all_votes() == 1 {
        let message = "`panel` says how several votes become one verdict, and there is one";
        let hint = "ask for more `votes`, or several `models`";
        desk.push(
            Problem::warning(Code::SuspiciousValue, node.key_span("/panel"), message).hint(hint),
        );
    }
    (desk.problems.error_count() == errors).then_some(judge)
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
            let message = "what is expected is empty, and there is neither `rubric` nor `criteria`: any output would do";
            let hint = "write what a good output says, or what is judged under `rubric:`";
            return desk
                .refuse(Problem::error(Code::GraderIncomplete, node.span, message).hint(hint));
        }
        return Some((own(wanted::OF_REFERENCE), numeric));
    }
    if wanted.has_items() {
        return Some((own(wanted::OF_ITEMS), JudgeScoring::Boolean));
    }
    let message = "nothing says what is judged: there is neither `rubric` nor `criteria`, and nothing is expected";
    let hint =
        "write what a good output is under `rubric:`, or `expected: {type: semantic, value: ...}`";
    desk.refuse(Problem::error(Code::GraderIncomplete, node.span, message).hint(hint))
}

/// Tells of a prompt that keeps from the judge what is expected. `by_reference`: nothing else is
/// judged.
fn tell_unshown(desk: &mut SuiteDesk, at: Span, by_reference: bool) {
    let message = "the prompt does not show what is expected";
    let problem = if by_reference {
        let message = format!("{message}, and nothing else is judged");
        Problem::error(Code::GraderIncomplete, at, message)
    } else {
        Problem::warning(Code::SuspiciousValue, at, message)
    };
    desk.push(problem.hint("write `{{ expected }}` (or `{expected}`) where it belongs"));
}
