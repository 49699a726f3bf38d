//! Model targets: an input becomes messages, and what the model says an output.

use serde_json::{Value, json};

use crate::input::messages_of;
use crate::model::{
    AnswerSource, Case, Cause, FinishReason, ModelTarget, Output, OutputValue, Usage,
};
use eval_models::{
    CallIndex, Completion, FaultKind, ModelAnswer, ModelRequest, QuestionKey, RunModels,
};

use super::thoughts::apart;
use super::{TargetAnswer, TargetFailure};

/// Asks for one output.
pub(super) async fn ask(
    target: &ModelTarget,
    case: &Case,
    sample: u32,
    attempt: u32,
    models: &RunModels,
) -> Result<TargetAnswer, TargetFailure> {
    let shown = target.show_context && !case.context_told;
    let messages = messages_of(&case.input, shown).await?;
    let call = ModelRequest {
        system: target.system.clone(),
        messages,
        sampling: target.sampling.clone(),
        index: CallIndex {
            sample,
            attempt,
            vote: 0,
        },
        timeout: case.timeout,
    };
    let mut asked = once(target, case, &call, models).await;
    // What can't be used is not kept; an answer that only the cache gave may be another one now.
    if let (Err(_), Some(key)) = (&asked.0.result, asked.1) {
        models.forget(&[key]).await;
        if asked
            .0
            .call
            .as_ref()
            .is_some_and(|call| call.source == AnswerSource::Cache)
        {
            asked = once(target, case, &call, models).await;
            if let (Err(_), Some(key)) = (&asked.0.result, asked.1) {
                models.forget(&[key]).await;
            }
        }
    }
    Ok(asked.0)
}

/// One answer, and its key in the cache.
async fn once(
    target: &ModelTarget,
    case: &Case,
    call: &ModelRequest,
    models: &RunModels,
) -> (TargetAnswer, Option<QuestionKey>) {
    let ModelAnswer {
        result,
        usage,
        call: made,
        latency,
        key,
    } = match case.max_latency {
        Some(_) => models.ask_timed(&target.endpoint, call).await,
        None => models.ask(&target.endpoint, call).await,
    };
    let result = match result {
        Ok(completion) => output(completion, usage, target.keep_thoughts),
        Err(fault) => Err(TargetFailure::new(cause_of(fault.kind), fault.reason)),
    };
    (
        TargetAnswer {
            result,
            latency,
            call: Some(Box::new(made)),
            exit_code: None,
        },
        key,
    )
}

/// What a fault makes of the sample.
fn cause_of(kind: FaultKind) -> Cause {
    match kind {
        FaultKind::TimedOut => Cause::TargetTimeout,
        FaultKind::NotRecorded => Cause::MissingOutput,
        FaultKind::BudgetSpent => Cause::Budget,
        FaultKind::Settings => Cause::Harness,
        FaultKind::BadRequest
        | FaultKind::ErrorBody
        | FaultKind::Unreadable
        | FaultKind::Empty
        | FaultKind::Cut
        | FaultKind::OnlyThoughts
        | FaultKind::TooLarge => Cause::TargetFailed,
        _ => Cause::TargetUnreachable,
    }
}

/// Bytes of text that a model is told of a case; `None` when its input can't be read now.
pub async fn question_bytes(target: &ModelTarget, case: &Case) -> Option<usize> {
    let messages = messages_of(&case.input, target.show_context && !case.context_told)
        .await
        .ok()?;
    let said = messages.iter().map(|message| match &message.content {
        Value::String(text) => text.len(),
        parts => parts.to_string().len(),
    });
    Some(said.sum::<usize>() + target.system.as_ref().map_or(0, String::len))
}

/// A refusal without a word has nothing to grade; it fails as what it is.
fn output(
    completion: Completion,
    usage: Option<Usage>,
    keep_thoughts: bool,
) -> Result<Output, TargetFailure> {
    let silent = completion.is_silent();
    let Completion {
        text,
        tool_calls,
        finish,
        model,
        thoughts,
        ..
    } = completion;
    let value = match tool_calls {
        Some(calls) => OutputValue::Json(json!({ "text": text, "tool_calls": calls })),
        // No text would pass whatever looks for what must not be there.
        None if silent => {
            let (cause, why) = match finish {
                FinishReason::Refused => (
                    Cause::Refused,
                    "the model declined to answer, and gave no text",
                ),
                FinishReason::Length => (
                    Cause::TargetFailed,
                    "the answer reached its token limit before its first word (`max_tokens` may be too low)",
                ),
                _ => (Cause::TargetFailed, "the model answered with an empty text"),
            };
            let said = Output {
                usage,
                model,
                finish: Some(finish),
                thoughts,
                ..Output::text(text)
            };
            return Err(TargetFailure {
                output: Some(Box::new(said)),
                ..TargetFailure::new(cause, why)
            });
        }
        None => OutputValue::Text(text),
    };
    let declined = finish == FinishReason::Refused;
    let output = Output {
        value,
        truncated: false,
        usage,
        model,
        finish: Some(finish),
        thoughts,
        workspace: None,
        trajectory: None,
    };
    if keep_thoughts {
        return Ok(output);
    }
    apart(output).map_err(|failure| match declined {
        true => TargetFailure {
            cause: Cause::Refused,
            reason: "the model declined to answer while it still reasoned".to_owned(),
            ..failure
        },
        false => failure,
    })
}

#[cfg(test)]
mod tests;
