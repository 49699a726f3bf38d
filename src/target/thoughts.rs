//! Outputs apart from the reasoning that they open with.

use serde_json::Value;

use crate::model::{Cause, Output, OutputValue};
use eval_models::SplitAnswer;

use super::TargetFailure;

/// The answer of a text, and what was thought before it.
///
/// # Errors
/// A sentence, when there is reasoning and no answer.
pub(super) fn answer_of(text: &str) -> Result<(&str, Option<String>), &'static str> {
    let SplitAnswer { thoughts, answer } = SplitAnswer::of(text);
    let Some(thoughts) = thoughts else {
        return Ok((text, None));
    };
    let thoughts = Some(thoughts).filter(|thoughts| !thoughts.is_empty());
    match answer {
        None => Err(
            "the output ends during the reasoning (which has no closing tag): raise the model's token limit \
                 (`max_tokens`), or set `thoughts: keep` to grade the reasoning",
        ),
        Some(answer) if answer.trim().is_empty() => Err(
            "the model reasoned but gave no answer: raise its token limit (`max_tokens`), or set `thoughts: keep` \
                 to grade the reasoning",
        ),
        Some(answer) => Ok((answer, thoughts)),
    }
}

/// The output without the reasoning that its text opens with, which is kept beside it.
pub(super) fn apart(output: Output) -> Result<Output, TargetFailure> {
    let text = match &output.value {
        OutputValue::Text(text) => Some(text.as_str()),
        // Beside calls of tools.
        OutputValue::Json(value) if value.get("tool_calls").is_some() => {
            value.get("text").and_then(Value::as_str)
        }
        OutputValue::Json(_) | OutputValue::Program(_) => None,
    };
    let split = match text.map(answer_of) {
        Some(Ok((answer, thoughts))) if Some(answer) != text || thoughts.is_some() => {
            Ok((answer.to_owned(), thoughts))
        }
        None | Some(Ok(_)) => return Ok(output),
        Some(Err(why)) => Err(why),
    };
    let (answer, thoughts) = match split {
        Ok(split) => split,
        // A call of a tool is an answer.
        Err(_) if matches!(output.value, OutputValue::Json(_)) => (
            String::new(),
            text.and_then(|text| SplitAnswer::of(text).thoughts),
        ),
        Err(why) => {
            let failure = TargetFailure::new(Cause::TargetFailed, why);
            return Err(TargetFailure {
                output: Some(Box::new(output)),
                ..failure
            });
        }
    };
    let before = output.thoughts.iter().cloned();
    let thoughts: Vec<String> = before.chain(thoughts).collect();
    let value = match output.value {
        OutputValue::Json(mut value) => {
            if let Some(text) = value.get_mut("text") {
                *text = Value::String(answer);
            }
            OutputValue::Json(value)
        }
        _ => OutputValue::Text(answer),
    };
    let thoughts = Some(thoughts.join("\n\n")).filter(|text| !text.is_empty());
    Ok(Output {
        value,
        thoughts,
        ..output
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasoning_is_kept_beside_the_answer() {
        let said = apart(Output::text("<think>Rome? no</think> Paris")).unwrap();
        assert_eq!(
            (said.value, said.thoughts.as_deref()),
            (OutputValue::Text("Paris".into()), Some("Rome? no"))
        );
        let both = Output {
            thoughts: Some("first".into()),
            ..Output::text("<think>second</think>\nParis")
        };
        assert_eq!(
            apart(both).unwrap().thoughts.as_deref(),
            Some("first\n\nsecond")
        );
        // An empty block is taken off as well.
        let said = apart(Output::text("<think>\n\n</think>\n\nParis")).unwrap();
        assert_eq!(
            (said.value, said.thoughts),
            (OutputValue::Text("Paris".into()), None)
        );
        for untouched in [
            Output::text("Paris <think>Rome</think>"),
            Output::json(json!({"body": "<think>a</think>b"})),
            Output {
                value: OutputValue::Program("<think>a</think>b".into()),
                ..Output::text("")
            },
        ] {
            assert_eq!(apart(untouched.clone()).unwrap(), untouched);
        }
        let calls = Output::json(json!({"text": "<think>a", "tool_calls": [{"name": "f"}]}));
        let said = apart(calls).unwrap();
        assert_eq!(
            said.value,
            OutputValue::Json(json!({"text": "", "tool_calls": [{"name": "f"}]}))
        );
        assert_eq!(said.thoughts.as_deref(), Some("a"));
    }

    #[test]
    fn reasoning_without_an_answer_is_no_output() {
        for (text, begin) in [
            (
                "<think>Rome",
                "the output ends during the reasoning (which has no closing tag): raise",
            ),
            (
                "<think>Rome</think>\n",
                "the model reasoned but gave no answer: raise its token limit",
            ),
        ] {
            let failure = apart(Output::text(text)).unwrap_err();
            assert_eq!(failure.cause, Cause::TargetFailed);
            assert!(failure.reason.starts_with(begin), "{}", failure.reason);
            assert_eq!(
                failure.output.unwrap().value,
                OutputValue::Text(text.into())
            );
        }
    }
}
