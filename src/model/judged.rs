//! What judges said: the verdict of a panel with its table of criteria, and every word that was
//! exchanged.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outcome::{Cause, Outcome};
use super::reading::detail;
use eval_models::{FinishReason, ModelCall, Usage};

/// A model-based grade in full.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// In the rubric's order; empty for a verdict over the whole, and when no vote could be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<JudgedCriterion>,
    /// What the output had to say and not to say.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub checks: Vec<JudgedCheck>,
    /// The weighted score on the scale of the rubric (numeric scoring), or its share (otherwise);
    /// computed from the criteria.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The rubric's scale, of numeric scoring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 2]>,
    /// The share of the scale that passes.
    pub pass_threshold: f64,
    /// Of the vote nearest to the verdict.
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
    /// How several votes became one verdict, in words; empty when there is one.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub panel: String,
    /// At least one: by model, then in order.
    pub votes: Vec<JudgeVote>,
    /// What was to be told with the verdict: the output was cut, marks in it were made harmless.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub notices: Vec<String>,
    /// True when the middle of a text was left out, because it was too long to be shown whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// True when a text held what could have been taken for more than text, and was made harmless.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub neutralised: bool,
    /// The first turn, which all votes share.
    pub asked: JudgeQuestion,
}

/// What a judge was asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeQuestion {
    /// A fingerprint (hex) of the question: equal ones are the same question about the same output.
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
    /// Its share of the score, in [0, 1].
    pub weight: f64,
    /// On the criterion's scale: a number, a category, or true and false.
    pub score: Value,
    /// As a share of its scale, in [0, 1].
    pub share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 2]>,
    /// The lowest and the highest score of the votes, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<[Value; 2]>,
}

/// One text that the output had to say, or not to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedCheck {
    pub text: String,
    /// False: it must not be said.
    pub wanted: bool,
    /// True when the output is as it should be.
    pub met: bool,
}

/// One vote: one model, one independent answer, with its repairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeVote {
    /// `provider:model` as the suite names it.
    pub model: String,
    /// From 0, of this model.
    pub index: u32,
    /// Passed, failed or errored.
    pub outcome: Outcome,
    /// Of an errored one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Why it is errored.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub reason: String,
    /// In [0, 1], computed from the criteria; absent when errored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// By criterion.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "detail"
    )]
    pub scores: BTreeMap<String, Value>,
    /// What the judge itself said of the whole: kept, and not believed.
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
    /// Criteria of its answer that the rubric does not have.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub unknown: Vec<String>,
    /// Every answer in order; empty when none came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<JudgeReply>,
    /// How the model was asked, one for each question that was put, whether or not an answer came.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "detail"
    )]
    pub calls: Vec<JudgeCall>,
}

/// What a judge answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeReply {
    #[serde(deserialize_with = "detail")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// Why it can't be used; absent when it is the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ReplyFault>,
    /// In a sentence.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub why: String,
    /// What was asked next; empty when nothing was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repair: String,
}

/// One question to a judge's model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeCall {
    pub call: ModelCall,
    /// Of its answer; absent when there is none, or it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// True when an answer came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// Wall time of its last try, milliseconds; absent when nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
}

macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// Why a judge's answer can't be used.
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
    /// There is no whole JSON object in it.
    NoJson = "no_json";
    /// It ended at its limit of tokens before its JSON did.
    Cut = "cut";
    /// The judge declined to answer.
    Refused = "refused";
    /// A key stands there twice, so that two readers would read two verdicts.
    DuplicateKey = "duplicate_key";
    /// The word that only who was asked can know is missing or wrong: the verdict is a copy.
    WrongToken = "wrong_token";
    /// The very same object stands in the output that is judged.
    Copied = "copied";
    /// There are no scores, or one of a criterion is missing.
    MissingScore = "missing_score";
    /// Two of its names mean the same criterion.
    AmbiguousScore = "ambiguous_score";
    /// A score is no number (or no category, or neither true nor false).
    WrongType = "wrong_type";
    /// A score is outside its scale, or no category of the rubric.
    OffScale = "off_scale";
    /// It does not say of everything whether the output says it.
    MissingCheck = "missing_check";
    /// It does not say whether the output passed, where that is the verdict.
    MissingVerdict = "missing_verdict";
}
