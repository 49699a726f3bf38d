//! What judges said: the verdict of a panel with its table of criteria, and every word that was
//! exchanged.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outcome::{Cause, Outcome};
use super::reading::detail;
use eval_models::{FinishReason, ModelCall, Usage};

/// All data of a grade by a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Criteria in the order of the rubric; empty for an overall verdict, and if no vote could be
    /// used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<JudgedCriterion>,
    /// Required and forbidden content of the output.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub checks: Vec<JudgedCheck>,
    /// The weighted score on the scale of the rubric (numeric scoring), or its share (otherwise),
    /// computed from the criteria.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The scale of the rubric, for numeric scoring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 2]>,
    /// The share of the scale that passes.
    pub pass_threshold: f64,
    /// Justification of the vote nearest to the verdict.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub justification: String,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub feedback: Vec<String>,
    /// Combination of several votes, in words; empty if there is one vote.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub panel: String,
    /// Votes, at least one, by model and then in order.
    pub votes: Vec<JudgeVote>,
    /// Notices on the verdict: the output was truncated, marks in it were neutralised.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub notices: Vec<String>,
    /// True if the middle of a text was omitted because the text was too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// True if a text contained marks that could have steered the judge, and was neutralised.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub neutralised: bool,
    /// Fingerprint (hex) of the judge: models, votes, prompt, rubric and scale; absent in journals of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// The first request, which all votes share.
    pub asked: JudgeQuestion,
    /// The rubric with its criteria, as people who review the output see it.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub rubric: String,
}

/// The request to a judge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeQuestion {
    /// Fingerprint (hex) of the request; equal ones are the same request about the same output.
    pub id: String,
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub system: String,
    #[serde(deserialize_with = "detail")]
    pub prompt: String,
}

/// A criterion with the panel's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedCriterion {
    pub name: String,
    /// Share of the score, in [0, 1].
    pub weight: f64,
    /// Score on the criterion's scale: a number, a category, or true or false.
    pub score: Value,
    /// Score as a share of the scale, in [0, 1].
    pub share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 2]>,
    /// The lowest and the highest score of the votes, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<[Value; 2]>,
}

/// A required or forbidden text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedCheck {
    pub text: String,
    /// True if the text is required, false if it is forbidden.
    pub wanted: bool,
    /// True if the requirement is met.
    pub met: bool,
}

/// One vote: one model, one independent answer, with its repairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeVote {
    /// `provider:model` as the suite names it.
    pub model: String,
    /// Number of the vote of this model, from 0.
    pub index: u32,
    /// Outcome: passed, failed or errored.
    pub outcome: Outcome,
    /// Cause, if the vote is errored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Reason, if the vote is errored.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub reason: String,
    /// Score in [0, 1], computed from the criteria; absent if errored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Scores by criterion.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "detail"
    )]
    pub scores: BTreeMap<String, Value>,
    /// The judge's own overall verdict: recorded, but not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_passed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_score: Option<f64>,
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub justification: String,
    /// Criteria in the answer that are not in the rubric.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub unknown: Vec<String>,
    /// All answers in order; empty if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<JudgeReply>,
    /// Calls of the model, one per request, with or without an answer.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub calls: Vec<JudgeCall>,
}

/// An answer of a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeReply {
    #[serde(deserialize_with = "detail")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// Fault that makes it unusable; absent if it is the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ReplyFault>,
    /// Explanation of the fault.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub why: String,
    /// The repair request that followed; empty if there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repair: String,
}

/// A request to a judge's model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeCall {
    pub call: ModelCall,
    /// Usage of the answer; absent if there is no answer or it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// True if there was an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// Wall time of the last try in milliseconds; absent if nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
}

macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// Fault that makes a judge's answer unusable.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        pub enum ReplyFault { $($(#[$doc])* #[serde(rename = $name)] $variant),* }

        impl ReplyFault {
            pub const ALL: &'static [ReplyFault] = &[$(ReplyFault::$variant),*];

            /// The name as written in journals and reports.
            pub fn name(self) -> &'static str {
                match self { $(ReplyFault::$variant => $name),* }
            }
        }
    };
}

faults! {
    /// The answer contains no complete JSON object.
    NoJson = "no_json";
    /// The answer reached its token limit before its JSON ended.
    Cut = "cut";
    /// The judge refused to answer.
    Refused = "refused";
    /// A duplicate key makes the verdict ambiguous.
    DuplicateKey = "duplicate_key";
    /// The token of the request is missing or wrong: the verdict may be a copy.
    WrongToken = "wrong_token";
    /// The same JSON object is in the judged output.
    Copied = "copied";
    /// The scores, or the score of a criterion, are missing.
    MissingScore = "missing_score";
    /// Two names in the answer refer to the same criterion.
    AmbiguousScore = "ambiguous_score";
    /// A score is not a number (or not a category, or neither true nor false).
    WrongType = "wrong_type";
    /// A score is outside its scale, or not a category of the rubric.
    OffScale = "off_scale";
    /// The answer does not cover all required and forbidden texts.
    MissingCheck = "missing_check";
    /// The answer does not contain the overall verdict, which is required.
    MissingVerdict = "missing_verdict";
}
