//! What a report says of the people who graded a run: how many ratings there are, and how far they
//! agree.

use schemars::JsonSchema;
use serde::Serialize;

/// Ratings by people, as the grades of a run recorded them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PeopleSummary {
    /// Outputs that people are to grade.
    pub outputs: u64,
    /// Of these, outputs that lack reviewers.
    pub waiting: u64,
    /// Number of missing reviews.
    pub missing_reviews: u64,
    /// Outputs about which reviewers differ, and which a further one must decide.
    pub to_adjudicate: u64,
    /// Outputs that a further reviewer decided.
    pub adjudicated: u64,
    /// Ratings that took longer than the time limit. They count.
    pub over_time: u64,
    pub reviewers: Vec<ReviewerSummary>,
    /// Agreement of reviewers, by grader and criterion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agreement: Vec<PeopleAgreement>,
    /// Agreement of people and the judge on whether an output passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_judge: Option<JudgeAgreement>,
    /// Results of rankings, by grader.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rankings: Vec<RankingSummary>,
}

/// The ratings of one person.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReviewerSummary {
    pub name: String,
    pub ratings: u64,
    /// Items that the reviewer rated twice, and how far the two ratings agree.
    pub repeats: u64,
    pub repeat_agreement: Option<f64>,
}

/// A figure with its interval, or the reason why it is undefined.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PeopleFigure {
    pub value: Option<f64>,
    /// 95 % interval over outputs like these; absent if there are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
    /// Why the figure, or its interval, is undefined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undefined: Option<String>,
}

/// Agreement of reviewers with each other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PeopleAgreement {
    pub grader: String,
    /// Empty for a scale without criteria.
    pub criterion: String,
    /// Outputs with at least two ratings.
    pub outputs: u64,
    /// Share of equal pairs of ratings.
    pub percent: PeopleFigure,
    /// Krippendorff's alpha: ordinal for points of a scale, otherwise nominal.
    pub alpha: PeopleFigure,
    /// Gwet's AC1; for points of a scale AC2 with ordinal weights.
    pub gwet: PeopleFigure,
}

/// Agreement of people and the judge.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct JudgeAgreement {
    /// Outputs that both graded.
    pub outputs: u64,
    pub percent: PeopleFigure,
    /// Gwet's AC1.
    pub gwet: PeopleFigure,
    /// Outputs on which they differ.
    pub differ: u64,
    /// The first of them, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<DifferingCase>,
}

/// An output on which people and the judge differ.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DifferingCase {
    pub eval: String,
    pub case: String,
    pub sample: u32,
    pub judge_passed: bool,
    pub people_passed: bool,
}

/// Results of rankings: win rates and strengths by target.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RankingSummary {
    pub grader: String,
    pub rankings: u64,
    pub targets: Vec<RankedTarget>,
    /// Share of comparisons won by the output that was shown first, ties as one half: 0.5 without
    /// order bias.
    pub first: PeopleFigure,
}

/// How a target did in rankings.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RankedTarget {
    pub target: String,
    /// Share of comparisons won, ties as one half.
    pub win_rate: PeopleFigure,
    /// Logarithm of the Bradley-Terry strength; their mean over targets is 0.
    pub score: PeopleFigure,
}
