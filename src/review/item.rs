//! What a reviewer sees and decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{InputShown, OutputValue, Rating};
use crate::spec::RatingScale;

/// One question to a reviewer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReviewItem {
    /// Identifies the question; two items are the same question if one is a repetition.
    pub key: String,
    pub eval: String,
    pub case: String,
    pub input: String,
    /// One output, or several to rank, in random order.
    pub outputs: Vec<ShownOutput>,
    /// The expected output.
    pub reference: Option<String>,
    pub rubric: String,
    /// With `range` filled in for `likert`. Without `criteria`, the only criterion has an empty name.
    pub scale: RatingScale,
    pub time_limit_minutes: Option<f64>,
    pub blind: bool,
    /// True if other reviewers differ, so that this rating decides.
    pub adjudication: bool,
    /// Ratings by others, for adjudication only; of a blind review without names.
    pub others: Vec<OtherRating>,
    /// Target, model and verdicts, unless the review is blind.
    pub context: Option<ReviewContext>,
    /// The reviewer's decision, if there is one.
    pub decided: Option<Rating>,
    pub comment: Option<String>,
}

/// An output as a reviewer sees it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShownOutput {
    /// `A`, `B` and so on, in the order in which they are shown; empty for a single output.
    pub label: String,
    /// Its digest, by which a ranking refers to it.
    pub digest: String,
    pub text: String,
    /// True if the text is JSON.
    pub json: bool,
    /// What the target changed in its workspace, in git's unified format.
    pub diff: Option<String>,
    /// The target, unless the review is blind.
    pub target: Option<String>,
}

/// A rating by another reviewer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherRating {
    pub reviewer: String,
    pub rating: Rating,
    pub comment: Option<String>,
}

/// What is known of an output besides itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReviewContext {
    pub target: String,
    pub model: Option<String>,
    pub verdicts: Vec<ShownVerdict>,
}

/// The verdict of a judge or of code.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShownVerdict {
    pub grader: String,
    pub outcome: String,
    pub score: Option<f64>,
    pub reason: String,
}

/// What a reviewer decides about an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    pub rating: Rating,
    #[serde(default)]
    pub comment: Option<String>,
    /// Time taken.
    #[serde(default)]
    pub seconds: f64,
}

/// A decision that was taken elsewhere, with what the reviewer was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FiledDecision {
    /// The key of the item.
    pub key: String,
    /// Random, 32 hex digits. A decision that is imported twice counts once.
    pub id: String,
    /// Time of the decision (RFC 3339).
    pub at: String,
    pub rating: Rating,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(default)]
    pub seconds: f64,
    #[serde(default)]
    pub blind: bool,
    #[serde(default)]
    pub adjudicates: bool,
    /// Digests of the outputs of a ranking, in the order in which they were shown.
    #[serde(default)]
    pub shown: Vec<String>,
}

/// A decision that was written and synced.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Recorded {
    /// Id of its line.
    pub id: String,
    pub at: String,
    pub over_time: bool,
    pub progress: ReviewProgress,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct ReviewProgress {
    /// Items with a decision, skipped ones among them.
    pub done: usize,
    pub total: usize,
    pub skipped: usize,
    /// Time taken per item, the mean over the reviewer's decisions in this queue.
    pub mean_seconds: Option<f64>,
}

/// A value as text, and whether it is JSON.
pub(super) fn text_of(value: &OutputValue) -> (String, bool) {
    match value {
        OutputValue::Text(text)
        | OutputValue::Program(text)
        | OutputValue::Json(Value::String(text)) => (text.clone(), false),
        OutputValue::Json(value) => (pretty(value), true),
    }
}

/// Texts as they are, everything else as JSON.
pub(super) fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

/// The input as text; conversations as `role: content`.
pub(super) fn input_text(input: Option<&InputShown>) -> String {
    let Some(input) = input else {
        return "(the journal of the run does not contain inputs)".to_owned();
    };
    let message = |message: &Value| {
        let role = message.get("role")?.as_str()?;
        Some(format!("{role}: {}", pretty(message.get("content")?)))
    };
    let messages = input
        .value
        .as_array()
        .and_then(|all| all.iter().map(message).collect());
    let mut text = match messages {
        Some(messages) => {
            let messages: Vec<String> = messages;
            messages.join("\n\n")
        }
        None => pretty(&input.value),
    };
    if let Some(context) = &input.context {
        text = format!("{text}\n\nContext:\n{}", pretty(context));
    }
    if input.truncated {
        text.push_str("\n(truncated)");
    }
    text
}
