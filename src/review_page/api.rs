//! What the page and programs exchange with the server, as JSON. `schemas/review.openapi.json`
//! describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::markup::{self, MarkupNode};
use crate::model::Rating;
use crate::report::limits::review as limits;
use crate::review::{OtherRating, ReviewProgress};
use crate::spec::RatingScale;
use eval_base::text::{group_digits, truncate_bytes};

/// What a reviewer is to do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReviewOverview {
    /// Names this review among others in a browser.
    pub id: String,
    /// The name of the reviewer; absent in a page that requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// Number of items.
    pub items: usize,
    /// Items that are decided, from 0.
    pub decided: Vec<usize>,
    pub progress: ReviewProgress,
    pub review: ReviewSource,
}

/// What decisions are about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewSource {
    pub suite: String,
    pub run: String,
    /// Version of the program.
    pub tool: String,
}

/// One item of a review.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReviewScreen {
    /// From 0.
    pub index: usize,
    /// Names the question: equal wherever input, output and rubric are.
    pub key: String,
    pub eval: String,
    pub case: String,
    pub input: ScreenText,
    /// One, or several to rank, in random order.
    pub outputs: Vec<ScreenOutput>,
    /// The expected output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    pub rubric: ScreenText,
    pub scale: RatingScale,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_minutes: Option<f64>,
    /// True if target, model, verdicts and names of others are hidden.
    pub blind: bool,
    /// True if other reviewers differ, so that this rating decides.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub adjudication: bool,
    /// Ratings of others, for adjudication only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherRating>,
    /// Target, model and verdicts; empty in a blind review.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ScreenContext>,
    /// The decision that was taken, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ScreenDecision>,
}

/// An output.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ScreenOutput {
    /// Its digest, by which a ranking refers to it.
    pub id: String,
    #[serde(flatten)]
    pub shown: ScreenText,
    /// What the target changed in its workspace, in git's unified format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ScreenText>,
    /// The target; absent in a blind review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A text, and its Markdown as a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScreenText {
    pub text: String,
    /// Absent where rendering would change nothing, or would take too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markup: Option<Vec<MarkupNode>>,
    /// True if the text was written as Markdown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_markdown: bool,
    /// How much of the text is shown, if not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// What is known of an output besides itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScreenContext {
    pub name: String,
    pub value: String,
}

/// A decision that was taken earlier.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ScreenDecision {
    pub rating: Rating,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A decision that was written and synced.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReviewReceipt {
    /// The id of its line in the reviews.
    pub id: String,
    /// True if it took longer than the time limit.
    pub over_time: bool,
    /// The first item without a decision; `null` if there is none.
    pub next: Option<usize>,
    pub progress: ReviewProgress,
}

/// The item whose decision was withdrawn; `null` if there was none.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UndoneDecision {
    pub index: Option<usize>,
    pub progress: ReviewProgress,
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApiFailure {
    /// A word for programs.
    pub error: String,
    /// A sentence for people.
    pub message: String,
}

impl ScreenText {
    /// With its Markdown.
    pub fn of(text: &str) -> ScreenText {
        let plain = ScreenText::plain(text);
        let rendered = markup::render(&plain.text);
        ScreenText {
            is_markdown: rendered.as_ref().is_some_and(|it| it.is_markdown),
            markup: rendered.map(|it| it.nodes),
            ..plain
        }
    }

    /// As it is.
    pub fn plain(text: &str) -> ScreenText {
        let kept = truncate_bytes(text, limits::TEXT);
        ScreenText {
            text: kept.to_owned(),
            cut: (kept.len() < text.len()).then(|| {
                let [kept, all] = [kept.len(), text.len()].map(group_digits);
                format!("Truncated: {kept} of {all} bytes are shown.")
            }),
            ..ScreenText::default()
        }
    }
}
