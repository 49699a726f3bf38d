//! One decision of a reviewer, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{CountedRating, QuestionDigests, RankedSide, Rating};

/// The version of the format of lines.
pub const RATING_VERSION: u32 = 1;

/// A line of `reviews/<suite>/<reviewer>.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatingLine {
    pub version: u32,
    /// Random, 32 hex digits.
    pub id: String,
    /// Time of the decision (RFC 3339).
    pub at: String,
    pub reviewer: String,
    pub suite: String,
    pub eval: String,
    pub case: String,
    /// The grader's name, or its method.
    pub grader: String,
    /// Digest of the input. The rating counts wherever input, output and rubric have these digests.
    pub input: String,
    /// Digest of the output, or of all outputs of a ranking.
    pub output: String,
    /// Digest of rubric, scale and reference.
    pub rubric: String,
    /// `null` withdraws the line that `replaces` names.
    pub rating: Option<Rating>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Time taken.
    #[serde(default)]
    pub seconds: f64,
    /// True if it took longer than the time limit.
    #[serde(default)]
    pub over_time: bool,
    /// True if target, model, verdicts and other ratings were hidden.
    #[serde(default)]
    pub blind: bool,
    /// True if the reviewer was shown the item for a second time; the rating then only measures how
    /// consistent the reviewer is.
    #[serde(default)]
    pub repeat: bool,
    /// True if the rating decides between others that differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjudicates: bool,
    /// Outputs of a ranking in the order in which they were shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<RankedSide>,
    /// Version of the program.
    pub tool: String,
    /// Id of an earlier line of the same reviewer, which this one replaces.
    #[serde(default)]
    pub replaces: Option<String>,
}

impl RatingLine {
    pub fn digests(&self) -> QuestionDigests {
        QuestionDigests {
            input: self.input.clone(),
            output: self.output.clone(),
            rubric: self.rubric.clone(),
        }
    }

    /// As a grade records it; `None` for a withdrawal and for a skipped item.
    pub fn counted(&self) -> Option<CountedRating> {
        let rating = self
            .rating
            .clone()
            .filter(|rating| *rating != Rating::Skip)?;
        Some(CountedRating {
            id: self.id.clone(),
            reviewer: self.reviewer.clone(),
            rating,
            comment: self.comment.clone(),
            shown: self.shown.clone(),
            over_time: self.over_time,
            adjudicates: self.adjudicates,
        })
    }
}
