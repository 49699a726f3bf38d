//! Judges: a rubric and an output go to a model, a typed verdict comes back, or the word that there
//! is none.
//!
//! `prompt` builds the question out of data that `quote` made harmless and the `form` of the
//! answer; `ask` puts it to a model as often as it has votes; `answer` reads what comes back;
//! `vote` makes one verdict of all. Only `ask` and `structured` know that there is a network.

mod answer;
mod ask;
mod form;
mod found;
mod prompt;
mod quote;
mod shown;
mod structured;
#[cfg(test)]
mod tests;
mod verdict;
mod vote;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use crate::input::InputText;
use crate::model::{Case, Cause, Grade, GraderType, Judge, Output, OutputValue};
use crate::workspace::FinishedWorkspace;
use eval_base::redact::Redactor;

use super::{GradersConfig, SampleAttempt};
use answer::AnswerRequirements;
use ask::{VoteContext, VoteResult};
use prompt::PromptError;
pub(super) use structured::SchemaEndpoints;
use vote::VoteAgenda;

/// In grades.
pub(super) const METHOD: &str = "model";

fn errored(cause: Cause, reason: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Model, METHOD, cause, reason)
}

/// Votes of one panel that are under way at a time: each holds the question.
const AT_ONCE: usize = 32;

/// Asks the panel about one output. `negated`: what it passes will have failed.
pub(super) async fn grade(
    judge: &Judge,
    negated: bool,
    asked: SampleAttempt,
    case: &Case,
    (value, output, workspace): (&OutputValue, &Output, Option<&FinishedWorkspace>),
    config: &GradersConfig,
    structured: &SchemaEndpoints,
) -> Grade {
    let Some(models) = &config.models else {
        return errored(Cause::JudgeUnreachable, "no judge was called");
    };
    let mut input = match InputText::of(&case.input).await {
        Ok(input) => input,
        Err(error) => return errored(Cause::Harness, error.to_string()),
    };
    if case.context_told {
        input.context = None;
    }
    let shown = match shown::texts(judge, output, workspace).await {
        Ok(shown) => shown,
        Err(grade) => return grade,
    };
    let question = match prompt::question(judge, input, value, shown, &config.redactor) {
        Ok(question) => question,
        Err(PromptError::PartCut(name)) => return shown::too_long(&name, judge),
        Err(error) => return errored(Cause::Harness, error.to_string()),
    };
    let (criteria, checks) = (form::criteria(judge), form::checks(judge));
    let wanted = AnswerRequirements {
        judge,
        criteria: &criteria,
        checks: &checks,
        token: &question.marks.token,
        copies: &question.copies,
    };
    let agenda = VoteAgenda {
        judge,
        criteria: &criteria,
        checks: &checks,
        negated,
    };
    let asking = VoteContext {
        judge,
        question: &question,
        wanted: &wanted,
        agenda: &agenda,
        asked,
        models,
        structured,
    };
    let mut votes: Vec<VoteFuture<'_>> = Vec::new();
    for model in &judge.models {
        for index in 0..judge.votes.max(1) {
            votes.push(Box::pin(asking.vote(model, index)));
        }
    }
    verdict::grade(&agenda, &question, side_by_side(votes).await)
}

/// Bytes of what a judge is told of a case, but for the output, which is not there yet, and for its
/// own system prompt; `None` when the input can't be read now.
pub async fn question_bytes(judge: &Judge, case: &Case) -> Option<usize> {
    let mut input = InputText::of(&case.input).await.ok()?;
    if case.context_told {
        input.context = None;
    }
    let nothing = OutputValue::Text(String::new());
    let question =
        prompt::question(judge, input, &nothing, Vec::new(), &Redactor::default()).ok()?;
    Some(question.system.len() + question.prompt.len())
}

/// A vote that is under way.
type VoteFuture<'a> = Pin<Box<dyn Future<Output = VoteResult> + Send + 'a>>;

/// What all of them come to, in their order. At most [`AT_ONCE`] are begun and not done.
async fn side_by_side(mut waiting: Vec<VoteFuture<'_>>) -> Vec<VoteResult> {
    let mut done: Vec<Option<VoteResult>> = waiting.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut pending = 0;
        for (future, done) in waiting.iter_mut().zip(&mut done) {
            if done.is_none() && pending < AT_ONCE {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *done = Some(output),
                    Poll::Pending => pending += 1,
                }
            }
        }
        if pending > 0 {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
