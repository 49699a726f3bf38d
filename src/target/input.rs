//! What a target is shown of a case's input.

use serde_json::Value;

use crate::input::{InputError, RenderedInput};
use crate::model::{CaseInput, Cause, Output, OutputValue};

use super::TargetFailure;

/// A fault of the input is a fault of the eval, not of its target.
impl From<InputError> for TargetFailure {
    fn from(error: InputError) -> TargetFailure {
        TargetFailure::new(Cause::Harness, error.to_string())
    }
}

/// The input as its own answer: texts as text, everything else as JSON.
pub(super) async fn echo(input: &CaseInput) -> Result<Output, TargetFailure> {
    let rendered = RenderedInput::of(input).await?;
    let value = match (rendered.text, rendered.whole) {
        (Some(text), _) | (None, Value::String(text)) => OutputValue::Text(text),
        (None, whole) => OutputValue::Json(whole),
    };
    Ok(Output {
        value,
        ..Output::text("")
    })
}
