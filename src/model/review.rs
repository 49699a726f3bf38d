//! Grades by people: the question that reviewers answer, their ratings, and what a grade rests on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::grade::OutputValue;
use super::reading::detail;
use crate::spec::words::GraderType;
use crate::spec::{Evaluators, HumanGraderConfig, RatingKind, RatingScale};
use eval_base::text::hex;

/// A rating by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RatingFields", into = "RatingFields")]
#[schemars(with = "RatingFields")]
pub enum Rating {
    /// A point of the scale for each criterion; the name is empty if the scale has no criteria.
    Likert {
        scores: BTreeMap<String, i64>,
    },
    Binary {
        value: bool,
    },
    /// Digests of outputs, the best first; those of one group are equal.
    Ranking {
        order: Vec<Vec<String>>,
    },
    /// The reviewer has no opinion.
    Skip,
}

/// A rating as it is written: `scores` of `likert`, `value` of `binary`, `order` of `ranking`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RatingFields {
    #[serde(rename = "type")]
    kind: RatingWord,
    /// A point of the scale by criterion; the name is empty if the scale has no criteria.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scores: Option<BTreeMap<String, i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<bool>,
    /// Digests of outputs, the best first; those of one group are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Vec<Vec<String>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RatingWord {
    Likert,
    Binary,
    Ranking,
    Skip,
}

impl TryFrom<RatingFields> for Rating {
    type Error = String;

    fn try_from(fields: RatingFields) -> Result<Rating, String> {
        let RatingFields {
            kind,
            scores,
            value,
            order,
        } = fields;
        match (kind, scores, value, order) {
            (RatingWord::Likert, Some(scores), None, None) => Ok(Rating::Likert { scores }),
            (RatingWord::Binary, None, Some(value), None) => Ok(Rating::Binary { value }),
            (RatingWord::Ranking, None, None, Some(order)) => Ok(Rating::Ranking { order }),
            (RatingWord::Skip, None, None, None) => Ok(Rating::Skip),
            (RatingWord::Likert, ..) => Err("a `likert` rating has `scores`, only".to_owned()),
            (RatingWord::Binary, ..) => Err("a `binary` rating has a `value`, only".to_owned()),
            (RatingWord::Ranking, ..) => Err("a `ranking` rating has an `order`, only".to_owned()),
            (RatingWord::Skip, ..) => Err("a `skip` rating has no other fields".to_owned()),
        }
    }
}

impl From<Rating> for RatingFields {
    fn from(rating: Rating) -> RatingFields {
        let mut fields = RatingFields {
            kind: RatingWord::Skip,
            scores: None,
            value: None,
            order: None,
        };
        match rating {
            Rating::Likert { scores } => {
                (fields.kind, fields.scores) = (RatingWord::Likert, Some(scores));
            }
            Rating::Binary { value } => {
                (fields.kind, fields.value) = (RatingWord::Binary, Some(value));
            }
            Rating::Ranking { order } => {
                (fields.kind, fields.order) = (RatingWord::Ranking, Some(order));
            }
            Rating::Skip => {}
        }
        fields
    }
}

/// What a rating is about, as digests (`sha256:...`): a rating counts wherever all three are equal.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct QuestionDigests {
    pub input: String,
    /// The output, or of a ranking all of them.
    pub output: String,
    /// Rubric, scale and reference.
    pub rubric: String,
}

/// The scale of ratings, and how many of them make a grade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewPolicy {
    pub scale: RatingScale,
    /// Number of reviewers that an output needs.
    pub min_required: u32,
    /// Number of reviewers whose ratings count at most; absent if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_allowed: Option<u32>,
    /// Share of pairs of reviewers that must agree; absent if disagreement does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement_threshold: Option<f64>,
    /// Share of the scale from which the grade passes; absent if it was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_threshold: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_minutes: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blind: bool,
}

impl ReviewPolicy {
    /// The points of a likert scale if none are given.
    pub const RANGE: [i64; 2] = [1, 5];
    /// Outputs that a ranking needs if the scale does not say it.
    pub const RANKED: usize = 2;

    /// With the defaults of what is not set: one reviewer, pass or fail.
    pub fn of(config: &HumanGraderConfig) -> ReviewPolicy {
        let Evaluators {
            min_required,
            max_allowed,
            agreement_threshold,
        } = config.evaluators.clone().unwrap_or_default();
        ReviewPolicy {
            scale: config.rating_scale.clone().unwrap_or_default(),
            min_required: min_required.unwrap_or(1).max(1),
            max_allowed,
            agreement_threshold,
            pass_threshold: config.pass_threshold,
            time_limit_minutes: config.time_limit_minutes,
            blind: config.blind_evaluation.unwrap_or(false),
        }
    }

    /// Lowest and highest point of a likert scale.
    pub fn range(&self) -> [i64; 2] {
        self.scale.range.unwrap_or(ReviewPolicy::RANGE)
    }

    /// Criteria of a likert scale: one with an empty name if there are none.
    pub fn criteria(&self) -> Vec<String> {
        match self.scale.criteria.as_slice() {
            [] => vec![String::new()],
            criteria => criteria.to_vec(),
        }
    }

    /// Outputs that a ranking needs, and the most that it may have.
    pub fn ranked(&self) -> [usize; 2] {
        let number = |count: Option<u32>| count.and_then(|count| usize::try_from(count).ok());
        let least = number(self.scale.min_items).unwrap_or(ReviewPolicy::RANKED);
        [
            least.max(ReviewPolicy::RANKED),
            number(self.scale.max_items).unwrap_or(usize::MAX),
        ]
    }

    pub fn is_ranking(&self) -> bool {
        self.scale.kind == RatingKind::Ranking
    }
}

/// The question to reviewers about an output, and the ratings that they gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanReview {
    /// The grader's name, or `human`.
    pub grader: String,
    pub digests: QuestionDigests,
    pub policy: ReviewPolicy,
    /// Instructions to reviewers.
    #[serde(
        default,
        skip_serializing_if = "String::is_empty",
        deserialize_with = "detail"
    )]
    pub rubric: String,
    /// The expected output that reviewers see.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "detail"
    )]
    pub reference: Option<Value>,
    /// The ratings that count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<CountedRating>,
    /// Second ratings of the same item by a reviewer who also gave a first one. They do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<CountedRating>,
    /// Number of reviewers that are missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u32,
    /// Share of pairs of reviewers that agree; absent with fewer than two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// State of the adjudication of ratings that differ; absent if there was no need for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjudication: Option<AdjudicationState>,
}

impl HumanReview {
    /// Without ratings.
    pub fn open(digests: QuestionDigests, policy: ReviewPolicy) -> HumanReview {
        HumanReview {
            grader: GraderType::Human.name().to_owned(),
            digests,
            policy,
            rubric: String::new(),
            reference: None,
            ratings: Vec::new(),
            repeats: Vec::new(),
            missing: 0,
            agreement: None,
            adjudication: None,
        }
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Adjudication by a further reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdjudicationState {
    /// A further reviewer must decide.
    Needed,
    /// A further reviewer decided.
    Done,
}

/// A rating that a grade rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedRating {
    /// Id of its line in the reviews.
    pub id: String,
    pub reviewer: String,
    pub rating: Rating,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Outputs of a ranking in the order in which they were shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<RankedSide>,
    /// True if it took longer than the time limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over_time: bool,
    /// True if it decides between ratings that differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjudicates: bool,
}

/// An output of a ranking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankedSide {
    /// Digest of the output.
    pub output: String,
    /// The target that gave it.
    pub target: String,
}

/// `sha256:...` of bytes.
pub fn sha256_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// The digest of a graded output: of a text its bytes, of anything else its JSON. `left` is the
/// digest of what the target left in a workspace.
pub fn output_digest(value: &OutputValue, left: Option<&str>) -> String {
    let digest = match value {
        OutputValue::Text(text) | OutputValue::Program(text) => sha256_of(text.as_bytes()),
        OutputValue::Json(Value::String(text)) => sha256_of(text.as_bytes()),
        OutputValue::Json(value) => sha256_of(&serde_json::to_vec(value).unwrap_or_default()),
    };
    match left.filter(|left| !left.is_empty()) {
        Some(left) => sha256_of(format!("{digest} {left}").as_bytes()),
        None => digest,
    }
}

/// The digest of all that a reviewer is asked.
pub fn rubric_digest(rubric: &str, scale: &RatingScale, reference: Option<&Value>) -> String {
    let asked = json!({"rubric": rubric, "scale": scale, "reference": reference});
    sha256_of(asked.to_string().as_bytes())
}

/// The digest of the outputs that are ranked, in any order.
pub fn ranked_digest(outputs: &[String]) -> String {
    let mut outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    outputs.sort_unstable();
    outputs.dedup();
    sha256_of(outputs.join(" ").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_are_read_back_and_half_ones_are_refused() {
        let lines = [
            r#"{"type":"likert","scores":{"":4}}"#,
            r#"{"type":"binary","value":true}"#,
            r#"{"type":"ranking","order":[["a"],["b","c"]]}"#,
            r#"{"type":"skip"}"#,
        ];
        for line in lines {
            let rating: Rating = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&rating).unwrap(), line);
        }
        let wrong = [
            r#"{"type":"likert"}"#,
            r#"{"type":"binary","value":true,"scores":{}}"#,
            r#"{"type":"skip","value":false}"#,
            r#"{"type":"stars","value":true}"#,
        ];
        let refused = wrong.map(|line| {
            serde_json::from_str::<Rating>(line)
                .unwrap_err()
                .to_string()
        });
        insta::assert_snapshot!(refused.join("\n"), @r"
        a `likert` rating has `scores`, only
        a `binary` rating has a `value`, only
        a `skip` rating has no other fields
        unknown variant `stars`, expected one of `likert`, `binary`, `ranking`, `skip` at line 1 column 15
        ");
    }

    #[test]
    fn digest_of_an_output_is_that_of_what_the_journal_keeps() {
        let text = OutputValue::Text("x".into());
        let read_back = OutputValue::Json("x".into());
        assert_eq!(output_digest(&text, None), output_digest(&read_back, None));
        assert_ne!(output_digest(&text, None), output_digest(&text, Some("ab")));
        assert_eq!(output_digest(&text, Some("")), output_digest(&text, None));
        let order = ranked_digest(&["b".into(), "a".into(), "b".into()]);
        assert_eq!(order, ranked_digest(&["a".into(), "b".into()]));
    }
}
