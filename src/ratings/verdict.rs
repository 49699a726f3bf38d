//! What ratings of one output mean together.

use std::collections::BTreeSet;

use crate::model::{AdjudicationState, CountedRating, HumanReview, Judge, Rating, ReviewPolicy};
use crate::spec::RatingKind;
use eval_stats::reaches;

/// What people say of an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PeopleVerdict {
    /// So many reviewers are missing.
    Missing(u32),
    /// Reviewers differ: a further one must decide.
    Adjudication,
    /// `passed` is absent for a ranking without a threshold.
    Decided { passed: Option<bool>, score: f64 },
}

/// Fills in what the ratings of a question mean. `lines` are all standing ratings, oldest first, and
/// `output` is the digest of the output, which has a place in a ranking.
///
/// The first `max_allowed` reviewers count. If fewer pairs of them agree than the threshold demands,
/// or half of them say pass and half fail, the newest adjudicator decides alone.
pub fn assessed(
    mut review: HumanReview,
    lines: Vec<(CountedRating, bool)>,
    output: &str,
) -> (HumanReview, PeopleVerdict) {
    let fits = |rating: &CountedRating| fits(&review.policy, &rating.rating);
    let (repeats, first): (Vec<_>, Vec<_>) = lines
        .into_iter()
        .filter(|(rating, _)| fits(rating))
        .partition(|(_, repeat)| *repeat);
    let (mut adjudicators, mut counted): (Vec<CountedRating>, Vec<CountedRating>) = first
        .into_iter()
        .map(|(rating, _)| rating)
        .partition(|rating| rating.adjudicates);
    let policy = &review.policy;
    if let Some(most) = policy
        .max_allowed
        .and_then(|most| usize::try_from(most).ok())
    {
        counted.truncate(most);
    }
    let raters: BTreeSet<&str> = counted
        .iter()
        .map(|rating| rating.reviewer.as_str())
        .collect();
    // Who rated before does not adjudicate.
    adjudicators.retain(|rating| !raters.contains(rating.reviewer.as_str()));
    let present = u32::try_from(counted.len()).unwrap_or(u32::MAX);
    let ratings: Vec<&Rating> = counted.iter().map(|counted| &counted.rating).collect();
    let agreement = agreement(policy, &ratings);
    let missing = policy.min_required.saturating_sub(present);
    let too_low = match (agreement, policy.agreement_threshold) {
        (Some(share), Some(least)) => !reaches(share, least),
        _ => false,
    };
    let (mut state, verdict) = if missing > 0 {
        (None, PeopleVerdict::Missing(missing))
    } else if too_low || is_tie(&ratings) {
        match adjudicators.pop() {
            Some(judge) => {
                let verdict = decided(policy, &[&judge.rating], output);
                counted.push(judge);
                (Some(AdjudicationState::Done), verdict)
            }
            None => (Some(AdjudicationState::Needed), PeopleVerdict::Adjudication),
        }
    } else {
        (None, decided(policy, &ratings, output))
    };
    if verdict == PeopleVerdict::Adjudication {
        state = Some(AdjudicationState::Needed);
    }
    review.repeats = repeats.into_iter().map(|(rating, _)| rating).collect();
    review.ratings = counted;
    review.missing = missing;
    review.agreement = agreement;
    review.adjudication = state;
    (review, verdict)
}

/// Whether a rating is one of the scale.
fn fits(policy: &ReviewPolicy, rating: &Rating) -> bool {
    match (policy.scale.kind, rating) {
        (RatingKind::Likert, Rating::Likert { scores }) => {
            let [low, high] = policy.range();
            let is_point = |criterion: &String| {
                scores
                    .get(criterion)
                    .is_some_and(|score| (low..=high).contains(score))
            };
            let criteria = policy.criteria();
            scores.len() == criteria.len() && criteria.iter().all(is_point)
        }
        (RatingKind::Binary, Rating::Binary { .. })
        | (RatingKind::Ranking, Rating::Ranking { .. }) => true,
        _ => false,
    }
}

fn decided(policy: &ReviewPolicy, ratings: &[&Rating], output: &str) -> PeopleVerdict {
    let shares = ratings.iter().filter_map(|rating| match rating {
        Rating::Ranking { order } => rank_share(order, output),
        other => rating_share(policy, other),
    });
    let shares: Vec<f64> = shares.collect();
    if shares.is_empty() {
        return PeopleVerdict::Missing(policy.min_required);
    }
    let score = (shares.iter().sum::<f64>() / shares.len() as f64).clamp(0.0, 1.0);
    let passed = match policy.scale.kind {
        RatingKind::Binary => Some(score > 0.5),
        RatingKind::Likert => {
            let least = policy.pass_threshold.unwrap_or(Judge::PASS_THRESHOLD);
            Some(reaches(score, least))
        }
        RatingKind::Ranking => policy.pass_threshold.map(|least| reaches(score, least)),
    };
    PeopleVerdict::Decided { passed, score }
}

/// The share of the scale that a rating reaches, the mean over criteria; `None` for a ranking and a
/// skipped item.
pub fn rating_share(policy: &ReviewPolicy, rating: &Rating) -> Option<f64> {
    match rating {
        Rating::Binary { value } => Some(f64::from(u8::from(*value))),
        Rating::Likert { scores } if !scores.is_empty() => {
            let [low, high] = policy.range();
            let width = (high - low) as f64;
            let share = |score: &i64| ((score - low) as f64 / width).clamp(0.0, 1.0);
            Some(scores.values().map(share).sum::<f64>() / scores.len() as f64)
        }
        _ => None,
    }
}

/// The share of the other outputs that one was ranked before, those of the same group as one half.
pub fn rank_share(order: &[Vec<String>], output: &str) -> Option<f64> {
    let at = order
        .iter()
        .position(|group| group.iter().any(|ranked| ranked == output))?;
    let others = order.iter().map(Vec::len).sum::<usize>().checked_sub(1)?;
    if others == 0 {
        return None;
    }
    let worse: usize = order.iter().skip(at + 1).map(Vec::len).sum();
    let equal = order.get(at).map_or(0, |group| group.len() - 1);
    Some((worse as f64 + equal as f64 / 2.0) / others as f64)
}

/// Binary ratings of which as many pass as fail.
fn is_tie(ratings: &[&Rating]) -> bool {
    let count = |wanted: bool| {
        let is = |rating: &&&Rating| matches!(rating, Rating::Binary { value } if *value == wanted);
        ratings.iter().filter(is).count()
    };
    let passed = count(true);
    passed > 0 && passed == count(false)
}

/// The share of pairs of ratings that agree; `None` of fewer than two.
fn agreement(policy: &ReviewPolicy, ratings: &[&Rating]) -> Option<f64> {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for (at, one) in ratings.iter().enumerate() {
        for other in ratings.iter().skip(at + 1) {
            sum += agree(policy, one, other);
            pairs += 1.0;
        }
    }
    (pairs > 0.0).then(|| sum / pairs)
}

/// How far two ratings agree: of likert ratings the share of criteria that differ by one step at
/// most, otherwise 1 if they are equal and 0 if not. Rankings are equal if the outputs that both have
/// are in the same order.
pub fn agree(policy: &ReviewPolicy, one: &Rating, other: &Rating) -> f64 {
    let equal = |is: bool| f64::from(u8::from(is));
    match (one, other) {
        (Rating::Likert { scores }, Rating::Likert { scores: others }) => {
            let criteria = policy.criteria();
            let near = |criterion: &&String| match (scores.get(*criterion), others.get(*criterion))
            {
                (Some(score), Some(other)) => score.abs_diff(*other) <= 1,
                _ => false,
            };
            criteria.iter().filter(near).count() as f64 / criteria.len().max(1) as f64
        }
        (Rating::Ranking { order }, Rating::Ranking { order: others }) => {
            let common: BTreeSet<&String> = order.iter().flatten().collect();
            let common: BTreeSet<&String> = others
                .iter()
                .flatten()
                .filter(|ranked| common.contains(ranked))
                .collect();
            let of_common = |order: &[Vec<String>]| -> Vec<BTreeSet<String>> {
                let groups = order.iter().map(|group| {
                    let kept = group.iter().filter(|ranked| common.contains(ranked));
                    kept.cloned().collect::<BTreeSet<String>>()
                });
                groups.filter(|group| !group.is_empty()).collect()
            };
            equal(of_common(order) == of_common(others))
        }
        (one, other) => equal(one == other),
    }
}
