//! What people rated, and how far they agree.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    AdjudicationState, CountedRating, DifferingCase, Grade, GraderType, HumanReview,
    JudgeAgreement, Outcome, PeopleAgreement, PeopleFigure, PeopleSummary, RankedSide,
    RankedTarget, RankingSummary, Rating, ReviewPolicy, ReviewerSummary, SampleFinished,
};
use crate::ratings::agree;
use crate::spec::RatingKind;
use eval_stats::{
    AgreementMeasure, Interval, PairVerdict, RatingDistance, RatingTable, RatingWeights,
    ShareEstimate, UndefinedReason, agreement_interval, pairwise_scores,
};

const LEVEL: f64 = 0.95;

/// Cases on which people and the judge differ that are listed.
const LISTED: usize = 20;

/// The place of a human grade.
type GradePlace = (String, String, u32, String);

/// Grades by people, the last one of each sample and grader.
#[derive(Debug, Default)]
pub(super) struct PeopleFold {
    grades: BTreeMap<GradePlace, PeopleGrade>,
}

#[derive(Debug)]
struct PeopleGrade {
    review: HumanReview,
    /// Whether people and the judge pass the output, where they say it. A negated grade is turned
    /// back.
    passed: Option<bool>,
    judge: Option<bool>,
    is_private: bool,
}

impl PeopleFold {
    pub fn see(&mut self, sample: &SampleFinished, grades: &[Grade], is_private: bool) {
        let passed = |grade: &Grade| {
            let passed = grade.outcome == Outcome::Passed;
            grade.outcome.is_graded().then_some(passed != grade.negated)
        };
        let judge = grades.iter().find(|grade| grade.judged.is_some());
        for grade in grades
            .iter()
            .filter(|grade| grade.grader_type == GraderType::Human)
        {
            let Some(review) = grade.review.as_deref() else {
                continue;
            };
            let place = (
                sample.eval.clone(),
                sample.case.clone(),
                sample.sample,
                review.grader.clone(),
            );
            let decides = !review.policy.is_ranking();
            let of = PeopleGrade {
                review: HumanReview {
                    rubric: String::new(),
                    reference: None,
                    ..review.clone()
                },
                passed: passed(grade).filter(|_| decides),
                judge: judge.and_then(passed),
                is_private,
            };
            self.grades.insert(place, of);
        }
    }

    /// `None` if no output is to be graded by people.
    pub fn finish(&self, seed: u64) -> Option<Box<PeopleSummary>> {
        if self.grades.is_empty() {
            return None;
        }
        let reviews = || self.grades.values().map(|grade| &grade.review);
        let in_state = |state: AdjudicationState| {
            let of = reviews().filter(|review| review.adjudication == Some(state));
            of.count() as u64
        };
        let ratings = reviews().flat_map(|review| &review.ratings);
        Some(Box::new(PeopleSummary {
            outputs: self.grades.len() as u64,
            waiting: reviews().filter(|review| review.missing > 0).count() as u64,
            missing_reviews: reviews().map(|review| u64::from(review.missing)).sum(),
            to_adjudicate: in_state(AdjudicationState::Needed),
            adjudicated: in_state(AdjudicationState::Done),
            over_time: ratings.filter(|rating| rating.over_time).count() as u64,
            reviewers: self.reviewers(),
            agreement: self.agreement(seed),
            with_judge: self.with_judge(seed),
            rankings: self.rankings(),
        }))
    }

    fn reviewers(&self) -> Vec<ReviewerSummary> {
        let mut of: BTreeMap<&str, (u64, Vec<f64>)> = BTreeMap::new();
        for review in self.grades.values().map(|grade| &grade.review) {
            for rating in &review.ratings {
                of.entry(&rating.reviewer).or_default().0 += 1;
            }
            for repeat in &review.repeats {
                let mut first = review.ratings.iter();
                let first = first.find(|rating| rating.reviewer == repeat.reviewer);
                if let Some(first) = first {
                    let agreement = agree(&review.policy, &first.rating, &repeat.rating);
                    of.entry(&repeat.reviewer).or_default().1.push(agreement);
                }
            }
        }
        let summary = |(name, (ratings, repeats)): (&str, (u64, Vec<f64>))| ReviewerSummary {
            name: name.to_owned(),
            ratings,
            repeats: repeats.len() as u64,
            repeat_agreement: eval_stats::mean(&repeats).ok(),
        };
        of.into_iter().map(summary).collect()
    }

    /// Adjudicators saw the other ratings, so they are left out.
    fn agreement(&self, seed: u64) -> Vec<PeopleAgreement> {
        let mut found = Vec::new();
        let mut scales: Vec<(&String, &ReviewPolicy, String)> = Vec::new();
        for ((_, _, _, grader), grade) in &self.grades {
            let policy = &grade.review.policy;
            let criteria = match policy.scale.kind {
                RatingKind::Ranking => Vec::new(),
                RatingKind::Binary => vec![String::new()],
                RatingKind::Likert => policy.criteria(),
            };
            for criterion in criteria {
                let is_known = |known: &(&String, &ReviewPolicy, String)| {
                    known.0 == grader && known.1.scale == policy.scale && known.2 == criterion
                };
                if !scales.iter().any(is_known) {
                    scales.push((grader, policy, criterion));
                }
            }
        }
        for (grader, policy, criterion) in scales {
            let Ok(mut table) = table_of(policy) else {
                continue;
            };
            for ((_, _, _, other), grade) in &self.grades {
                if other == grader && grade.review.policy.scale == policy.scale {
                    let ratings = grade.review.ratings.iter();
                    let first = ratings.filter(|rating| !rating.adjudicates);
                    let points: Vec<usize> = first
                        .filter_map(|rating| point(policy, &criterion, rating))
                        .collect();
                    // A point outside of the scale is in no rating that counts.
                    let _ = table.push(&points);
                }
            }
            if table.pairable() == 0 {
                continue;
            }
            let is_points = policy.scale.kind == RatingKind::Likert;
            let (distance, gwet) = match is_points {
                true => (
                    RatingDistance::Ordinal,
                    AgreementMeasure::GwetAc2(RatingWeights::Ordinal),
                ),
                false => (RatingDistance::Nominal, AgreementMeasure::GwetAc1),
            };
            let figure = |measure| figure(&table, measure, seed);
            found.push(PeopleAgreement {
                grader: grader.clone(),
                outputs: table.pairable() as u64,
                percent: figure(AgreementMeasure::Percent),
                alpha: figure(AgreementMeasure::KrippendorffAlpha(distance)),
                gwet: figure(gwet),
                criterion,
            });
        }
        found
    }

    fn with_judge(&self, seed: u64) -> Option<JudgeAgreement> {
        let both = || {
            self.grades
                .iter()
                .filter_map(|(place, grade)| Some((place, grade, grade.passed?, grade.judge?)))
        };
        let mut table = RatingTable::binary();
        let mut cases = Vec::new();
        let mut differ = 0;
        for ((eval, case, sample, _), grade, people, judge) in both() {
            let _ = table.push(&[usize::from(people), usize::from(judge)]);
            if people == judge {
                continue;
            }
            differ += 1;
            if !grade.is_private && cases.len() < LISTED {
                cases.push(DifferingCase {
                    eval: eval.clone(),
                    case: case.clone(),
                    sample: *sample,
                    judge_passed: judge,
                    people_passed: people,
                });
            }
        }
        (table.pairable() > 0).then(|| JudgeAgreement {
            outputs: table.pairable() as u64,
            percent: figure(&table, AgreementMeasure::Percent, seed),
            gwet: figure(&table, AgreementMeasure::GwetAc1, seed),
            differ,
            cases,
        })
    }

    fn rankings(&self) -> Vec<RankingSummary> {
        // A ranking is in the grades of several samples if their outputs are equal.
        let mut by_grader: BTreeMap<&str, BTreeMap<&str, (usize, &CountedRating)>> =
            BTreeMap::new();
        for (item, ((_, _, _, grader), grade)) in self.grades.iter().enumerate() {
            for rating in &grade.review.ratings {
                if matches!(rating.rating, Rating::Ranking { .. }) {
                    let of = by_grader.entry(grader).or_default();
                    of.entry(&rating.id).or_insert((item, rating));
                }
            }
        }
        let summaries = by_grader.into_iter().filter_map(|(grader, ratings)| {
            let targets: BTreeSet<&str> = ratings
                .values()
                .flat_map(|(_, rating)| &rating.shown)
                .map(|side| side.target.as_str())
                .collect();
            let targets: Vec<&str> = targets.into_iter().collect();
            let verdicts: Vec<PairVerdict> = ratings
                .values()
                .flat_map(|(item, rating)| pairs(*item, rating, &targets))
                .collect();
            let scores = pairwise_scores(targets.len(), &verdicts, LEVEL).ok()?;
            let share = |share: Result<ShareEstimate, UndefinedReason>| match share {
                Ok(share) => known(share.value, Ok(share.interval)),
                Err(reason) => unknown(reason),
            };
            let score = |at: usize| match &scores.scores {
                Ok(all) => all
                    .get(at)
                    .map(|(value, interval)| known(*value, *interval)),
                Err(reason) => Some(unknown(*reason)),
            };
            let of_target = |(at, target): (usize, &&str)| {
                Some(RankedTarget {
                    target: (*target).to_owned(),
                    win_rate: share(*scores.win_rates.get(at)?),
                    score: score(at)?,
                })
            };
            Some(RankingSummary {
                grader: grader.to_owned(),
                rankings: ratings.len() as u64,
                targets: targets.iter().enumerate().filter_map(of_target).collect(),
                first: share(scores.first),
            })
        });
        summaries.collect()
    }
}

/// Every pair of outputs of a ranking, in the order in which they were shown.
fn pairs(item: usize, rating: &CountedRating, targets: &[&str]) -> Vec<PairVerdict> {
    let Rating::Ranking { order } = &rating.rating else {
        return Vec::new();
    };
    let rank = |side: &RankedSide| {
        let mut groups = order.iter();
        groups.position(|group| group.contains(&side.output))
    };
    let player = |side: &RankedSide| targets.iter().position(|target| *target == side.target);
    let mut pairs = Vec::new();
    for (at, first) in rating.shown.iter().enumerate() {
        for second in rating.shown.iter().skip(at + 1) {
            let (Some(rank_first), Some(rank_second)) = (rank(first), rank(second)) else {
                continue;
            };
            if let (Some(a), Some(b)) = (player(first), player(second))
                && a != b
            {
                let to_first = match rank_first.cmp(&rank_second) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 0.0,
                };
                pairs.push(PairVerdict {
                    item,
                    first: a,
                    second: b,
                    to_first,
                });
            }
        }
    }
    pairs
}

/// Longest scale whose points are told apart one by one.
const POINTS: i64 = 101;

fn table_of(policy: &ReviewPolicy) -> Result<RatingTable, UndefinedReason> {
    if policy.scale.kind == RatingKind::Binary {
        return Ok(RatingTable::binary());
    }
    let [low, high] = policy.range();
    if high.saturating_sub(low) >= POINTS {
        return Err(UndefinedReason::Scale);
    }
    RatingTable::new((low..=high).map(|point| point as f64).collect())
}

/// The number of the category of a rating.
fn point(policy: &ReviewPolicy, criterion: &str, rating: &CountedRating) -> Option<usize> {
    match &rating.rating {
        Rating::Binary { value } => Some(usize::from(*value)),
        Rating::Likert { scores } => {
            let score = scores.get(criterion)?;
            usize::try_from(score.checked_sub(policy.range()[0])?).ok()
        }
        _ => None,
    }
}

fn figure(table: &RatingTable, measure: AgreementMeasure, seed: u64) -> PeopleFigure {
    match table.agreement(measure) {
        Ok(agreement) => known(
            agreement.coefficient,
            agreement_interval(table, measure, seed, LEVEL),
        ),
        Err(reason) => unknown(reason),
    }
}

fn known(value: f64, interval: Result<Interval, UndefinedReason>) -> PeopleFigure {
    PeopleFigure {
        value: Some(value),
        undefined: interval.as_ref().err().map(ToString::to_string),
        ci: interval.ok().map(|interval| [interval.low, interval.high]),
    }
}

fn unknown(reason: UndefinedReason) -> PeopleFigure {
    PeopleFigure {
        value: None,
        ci: None,
        undefined: Some(reason.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{QuestionDigests, testing};
    use crate::spec::{HumanGraderConfig, RatingScale};

    fn review(kind: RatingKind) -> HumanReview {
        let config = HumanGraderConfig {
            rating_scale: Some(RatingScale {
                kind,
                ..RatingScale::default()
            }),
            ..HumanGraderConfig::default()
        };
        HumanReview::open(QuestionDigests::default(), ReviewPolicy::of(&config))
    }

    fn rated(reviewer: &str, rating: Rating) -> CountedRating {
        CountedRating {
            id: format!("{reviewer}-{rating:?}"),
            reviewer: reviewer.into(),
            rating,
            comment: None,
            shown: Vec::new(),
            over_time: false,
            adjudicates: false,
        }
    }

    fn binary(reviewer: &str, value: bool) -> CountedRating {
        rated(reviewer, Rating::Binary { value })
    }

    /// Sees a sample of case `number` with a human grade and, unless absent, a judge's.
    fn see(
        fold: &mut PeopleFold,
        number: usize,
        review: HumanReview,
        outcome: Outcome,
        judge: Option<bool>,
    ) {
        let mut grade = Grade::pending(GraderType::Human, "human", "");
        grade.outcome = outcome;
        grade.review = Some(Box::new(review));
        let mut grades = vec![grade];
        if let Some(passed) = judge {
            let mut grade = Grade::passed(GraderType::Model, "model");
            grade.outcome = if passed {
                Outcome::Passed
            } else {
                Outcome::Failed
            };
            grade.judged = Some(Box::new(testing::judged()));
            grades.push(grade);
        }
        let sample = SampleFinished {
            eval: "e".into(),
            case: format!("c{number:02}"),
            sample: 0,
            attempts: Vec::new(),
            finished_at: String::new(),
            reused_from: None,
        };
        fold.see(&sample, &grades, false);
    }

    #[test]
    fn reviewers_agree_beside_chance_and_differ_from_the_judge() {
        let mut fold = PeopleFold::default();
        assert_eq!(fold.finish(7), None);
        for number in 0..12 {
            // Ben differs from Ana in two of twelve, and the judge from both in one.
            let (ana, ben) = (
                number % 3 != 0,
                number % 3 != 0 || number == 3 || number == 6,
            );
            let mut rated = HumanReview {
                ratings: vec![binary("ana", ana), binary("ben", ben)],
                ..review(RatingKind::Binary)
            };
            rated.repeats.push(binary("ana", number != 5));
            rated
                .repeats
                .truncate(usize::from(number == 4 || number == 5));
            let outcome = if ana {
                Outcome::Passed
            } else {
                Outcome::Failed
            };
            see(
                &mut fold,
                number,
                rated,
                outcome,
                Some(ana != (number == 1)),
            );
        }
        let people = fold.finish(7).unwrap();
        assert_eq!((people.outputs, people.waiting), (12, 0));
        let [agreement] = people.agreement.as_slice() else {
            panic!("{:?}", people.agreement)
        };
        assert!((agreement.percent.value.unwrap() - 10.0 / 12.0).abs() < 1e-12);
        // 24 ratings, 18 of them pass: AC1 = (10/12 - 2*0.75*0.25) / (1 - 2*0.75*0.25).
        assert!((agreement.gwet.value.unwrap() - (10.0 / 12.0 - 0.375) / 0.625).abs() < 1e-12);
        assert!(agreement.gwet.ci.is_some() && agreement.alpha.ci.is_some());
        let judge = people.with_judge.unwrap();
        assert_eq!((judge.outputs, judge.differ), (12, 1));
        assert_eq!(
            (judge.cases[0].case.as_str(), judge.cases[0].people_passed),
            ("c01", true)
        );
        let ana = &people.reviewers[0];
        assert_eq!(
            (ana.ratings, ana.repeats, ana.repeat_agreement),
            (12, 2, Some(0.5))
        );
    }

    #[test]
    fn too_few_outputs_have_no_interval() {
        let mut fold = PeopleFold::default();
        for number in 0..3 {
            let rated = HumanReview {
                ratings: vec![binary("ana", true), binary("ben", number > 0)],
                ..review(RatingKind::Binary)
            };
            see(&mut fold, number, rated, Outcome::Passed, None);
        }
        let people = fold.finish(7).unwrap();
        let percent = &people.agreement[0].percent;
        assert_eq!(percent.ci, None);
        assert_eq!(
            percent.undefined.as_deref(),
            Some("needs at least 10 items with two or more ratings, but found 3")
        );
        assert_eq!(people.with_judge, None);
    }

    #[test]
    fn rankings_become_win_rates_and_order_bias() {
        let mut fold = PeopleFold::default();
        let side = |target: &str| RankedSide {
            output: format!("d-{target}"),
            target: target.into(),
        };
        for number in 0..20 {
            // Large wins three of four, whatever its side; sides alternate.
            let mut shown = vec![side("large"), side("small")];
            let mut order: Vec<Vec<String>> =
                shown.iter().map(|side| vec![side.output.clone()]).collect();
            if number % 4 == 3 {
                order.reverse();
            }
            if number % 2 == 1 {
                shown.reverse();
            }
            let ranking = CountedRating {
                id: format!("r{number}"),
                shown,
                ..rated("ana", Rating::Ranking { order })
            };
            let rated = HumanReview {
                ratings: vec![ranking],
                ..review(RatingKind::Ranking)
            };
            see(&mut fold, number, rated, Outcome::Passed, Some(true));
        }
        let people = fold.finish(7).unwrap();
        // A ranking is no verdict that a judge could share.
        assert_eq!(
            (people.with_judge.clone(), people.agreement.len()),
            (None, 0)
        );
        let ranking = &people.rankings[0];
        let large = &ranking.targets[0];
        assert_eq!(
            (large.target.as_str(), large.win_rate.value),
            ("large", Some(0.75))
        );
        assert!(large.win_rate.ci.unwrap()[0] > 0.5, "{large:?}");
        // Log odds of 3 to 1, half on each side of 0.
        assert!((large.score.value.unwrap() - 3f64.ln() / 2.0).abs() < 1e-9);
        assert_eq!(ranking.first.value, Some(0.75));
    }
}
