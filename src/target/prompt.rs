//! A case as it is asked under a prompt.

use std::borrow::Cow;

use minijinja::Value as Jinja;
use serde_json::Value;

use super::{RunTargets, TargetFailure};
use crate::input::RenderedInput;
use crate::load::{environment, to_jinja};
use crate::model::{Case, CaseInput, Cause, Eval, PromptTemplate};

impl RunTargets {
    /// The case as its target is asked: the prompt of the run takes the place of the input's text.
    /// Conversations, requests, data and recorded cases stay as they are.
    ///
    /// # Errors
    /// When the input can't be read or the prompt can't be filled with it.
    pub async fn prompted<'a>(
        &self,
        eval: &Eval,
        case: &'a Case,
    ) -> Result<Cow<'a, Case>, TargetFailure> {
        let prompt = self.prompt.as_ref().and_then(|name| eval.prompts.get(name));
        match prompt {
            Some(prompt) if !self.is_recorded(case.target.as_ref()) => prompted(prompt, case).await,
            _ => Ok(Cow::Borrowed(case)),
        }
    }
}

async fn prompted<'a>(
    prompt: &PromptTemplate,
    case: &'a Case,
) -> Result<Cow<'a, Case>, TargetFailure> {
    let context = match &case.input {
        CaseInput::Prompt { context, .. } | CaseInput::File { context, .. } => context.clone(),
        CaseInput::Data {
            value: Value::String(_),
        } => None,
        CaseInput::Messages { .. } | CaseInput::ApiCall { .. } | CaseInput::Data { .. } => {
            return Ok(Cow::Borrowed(case));
        }
    };
    let input = match &case.input {
        CaseInput::Data {
            value: Value::String(text),
        } => text.clone(),
        input => RenderedInput::of(input).await?.into_text(),
    };
    let text = filled(prompt, input, context.as_ref()).map_err(|error| {
        let why = format!("the prompt can't be filled with this input: {error}");
        TargetFailure::new(Cause::Harness, why)
    })?;
    let mut asked = case.clone();
    asked.input = CaseInput::Prompt { text, context };
    asked.context_told |= prompt.reads_context;
    Ok(Cow::Owned(asked))
}

/// The text of a prompt with the text and the context of an input.
pub fn filled(
    prompt: &PromptTemplate,
    input: String,
    context: Option<&Value>,
) -> Result<String, minijinja::Error> {
    // A context that is not there is undefined, not an empty text.
    let context_read = context.iter().map(|context| ("context", to_jinja(context)));
    let of_case = std::iter::once(("input", Jinja::from(input))).chain(context_read);
    let values = prompt.values.iter();
    let values = values.map(|(name, value)| (name.as_str(), to_jinja(value)));
    let values = Jinja::from_pairs(values.chain(of_case));
    environment(false).render_str(&prompt.text, values)
}
