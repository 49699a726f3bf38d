//! What a target is shown of a case's input.

use serde_json::Value;

use crate::input::{InputError, Rendered};
use crate::model::{Cause, Input, Output, OutputValue};

use super::TargetFailure;

/// A fault of the input is a fault of the eval, not of its target.
impl From<InputError> for TargetFailure {
    fn from(error: InputError) -> TargetFailure {
        TargetFailure::new(Cause::Harness, error.to_string())
    }
}

/// The input as its own answer: texts as text, everything else as JSON.
pub(super) async fn echo(input: &Input) -> Result<Output, TargetFailure> {
    let rendered = Rendered::of(input).await?;
    let value = match (rendered.text, rendered.whole) {
        (Some(text), _) | (None, Value::String(text)) => OutputValue::Text(text),
        (None, whole) => OutputValue::Json(whole),
    };
    Ok(Output {
        value,
        ..Output::text("")
    })
}
