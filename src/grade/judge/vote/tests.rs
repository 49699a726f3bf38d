use proptest::prelude::*;
use serde_json::json;

use super::super::form::checks as checks_of;
use super::*;
use crate::model::{JudgeScoring, testing};

/// Scores out of 10 by criterion, and what is said of two checks (one wanted, one not).
#[derive(Debug, Clone)]
struct Cast {
    scores: Vec<u32>,
    says: [bool; 2],
    passed: bool,
}

impl Cast {
    fn reading(&self) -> JudgeAnswer {
        let scored = |n: &u32| CriterionScore {
            value: number_value(f64::from(*n)),
            share: f64::from(*n) / 10.0,
        };
        JudgeAnswer {
            scores: self.scores.iter().map(scored).collect(),
            says: self.says.to_vec(),
            passed: Some(self.passed),
            ..JudgeAnswer::default()
        }
    }
}

fn judge_of(weights: &[u32], threshold: u32, panel: PanelRule) -> Judge {
    let total: u32 = weights.iter().sum();
    let criteria = weights.iter().enumerate().map(|(at, weight)| Criterion {
        name: format!("c{at}"),
        description: String::new(),
        weight: f64::from(*weight) / f64::from(total),
        scale: Some([0.0, 10.0]),
        levels: Default::default(),
    });
    Judge {
        criteria: criteria.collect(),
        scoring: if weights.is_empty() {
            JudgeScoring::Boolean
        } else {
            JudgeScoring::Numeric { range: [0.0, 10.0] }
        },
        pass_threshold: f64::from(threshold) / 20.0,
        panel,
        must_include: vec!["a".into()],
        must_not_include: vec!["b".into()],
        ..testing::judge()
    }
}

fn decide(judge: &Judge, votes: &[Option<Cast>]) -> Option<PanelVerdict> {
    let checks = checks_of(judge);
    let agenda = VoteAgenda {
        judge,
        criteria: &judge.criteria,
        checks: &checks,
        negated: false,
    };
    let votes: Vec<Option<JudgeAnswer>> = votes
        .iter()
        .map(|vote| vote.as_ref().map(Cast::reading))
        .collect();
    agenda.decide(&votes)
}

/// By the definitions, in whole numbers.
fn naive(weights: &[u32], threshold: u32, panel: PanelRule, votes: &[Cast]) -> bool {
    let n = votes.len() as u32;
    let total: u32 = weights.iter().sum();
    let lower = |mut values: Vec<u32>| {
        values.sort_unstable();
        values[(values.len() - 1) / 2]
    };
    // Shares are out of 10 (times the number of votes, of a mean); thresholds out of 20.
    let enough = |points: u32, of: u32| 20 * points >= threshold * of;
    let own = |vote: &Cast| {
        let points: u32 = vote
            .scores
            .iter()
            .zip(weights)
            .map(|(score, weight)| score * weight)
            .sum();
        let verdict = if weights.is_empty() {
            vote.passed
        } else {
            enough(points, 10 * total)
        };
        verdict && vote.says == [true, false]
    };
    let included = 2 * votes.iter().filter(|vote| vote.says[0]).count() > votes.len();
    let excluded = 2 * votes.iter().filter(|vote| vote.says[1]).count() >= votes.len();
    let column = |at: usize| {
        votes
            .iter()
            .map(|vote| vote.scores[at])
            .collect::<Vec<u32>>()
    };
    let yes: Vec<u32> = votes.iter().map(|vote| u32::from(vote.passed)).collect();
    let score = match (panel, weights.is_empty()) {
        (PanelRule::Majority, _) => {
            return 2 * votes.iter().filter(|vote| own(vote)).count() > votes.len();
        }
        (PanelRule::Median, true) => enough(lower(yes), 1),
        (PanelRule::Mean, true) => enough(yes.iter().sum(), n),
        (PanelRule::Median, false) => {
            let points = weights
                .iter()
                .enumerate()
                .map(|(at, weight)| weight * lower(column(at)))
                .sum();
            enough(points, 10 * total)
        }
        (PanelRule::Mean, false) => {
            let points = weights
                .iter()
                .enumerate()
                .map(|(at, w)| w * column(at).iter().sum::<u32>())
                .sum();
            enough(points, 10 * total * n)
        }
    };
    score && included && !excluded
}

fn rules() -> impl Strategy<Value = PanelRule> {
    prop_oneof![
        Just(PanelRule::Median),
        Just(PanelRule::Mean),
        Just(PanelRule::Majority)
    ]
}

fn votes() -> impl Strategy<Value = Vec<Option<Cast>>> {
    let cast = (
        prop::collection::vec(0..=10u32, 3),
        any::<[bool; 4]>(),
        any::<bool>(),
    )
        .prop_map(|(scores, odds, passed)| {
            // Checks are mostly as they should be, so that scores get to decide.
            Cast {
                scores,
                says: [odds[0] || odds[1], odds[2] && odds[3]],
                passed,
            }
        });
    prop::collection::vec(prop::option::weighted(0.8, cast), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_panel_decides_as_by_hand_and_only_what_is_sure(
        weights in prop::collection::vec(1..5u32, 0..4),
        threshold in 1..=20u32,
        panel in rules(),
        votes in votes(),
        others in prop::collection::vec((prop::collection::vec(0..=10u32, 3), any::<[bool; 2]>(), any::<bool>()), 8),
    ) {
        let k = weights.len();
        let fit = |cast: &Cast| Cast { scores: cast.scores[..k].to_vec(), ..cast.clone() };
        let votes: Vec<Option<Cast>> = votes.iter().map(|vote| vote.as_ref().map(fit)).collect();
        let judge = judge_of(&weights, threshold, panel);
        let found = decide(&judge, &votes);
        let filled = |best: bool| -> Vec<Cast> {
            let lacking = Cast { scores: vec![if best { 10 } else { 0 }; k], says: [best, !best], passed: best };
            votes.iter().map(|vote| vote.clone().unwrap_or_else(|| lacking.clone())).collect()
        };
        let (worst, best) = (
            naive(&weights, threshold, panel, &filled(false)),
            naive(&weights, threshold, panel, &filled(true)),
        );
        let expected = (worst == best && votes.iter().any(Option::is_some)).then_some(worst);
        prop_assert_eq!(found.as_ref().map(|panel| panel.passed), expected);
        // Whatever those that are lacking would have said, it would have come to the same.
        if let Some(panel_found) = found {
            let mut others = others.iter();
            let completed: Vec<Option<Cast>> = votes.iter().map(|vote| {
                Some(vote.clone().unwrap_or_else(|| {
                    let (scores, says, passed) = others.next().unwrap();
                    Cast { scores: scores[..k].to_vec(), says: *says, passed: *passed }
                }))
            }).collect();
            prop_assert_eq!(decide(&judge, &completed).map(|panel| panel.passed), Some(panel_found.passed));
            prop_assert!((0.0..=1.0).contains(&panel_found.share));
            // The table and the score agree.
            if k > 0 {
                let sum: f64 = panel_found.criteria.iter().map(|c| c.weight * c.share).sum();
                prop_assert!((sum - panel_found.share).abs() < 1e-9);
            }
        }
    }
}

fn cast(scores: &[u32]) -> Option<Cast> {
    Some(Cast {
        scores: scores.to_vec(),
        says: [true, false],
        passed: true,
    })
}

#[test]
fn ties_are_decided_for_the_worse_and_spread_is_shown() {
    let of = |panel: PanelRule, votes: &[Option<Cast>]| {
        decide(&judge_of(&[1], 14, panel), votes).unwrap()
    };
    let two = [cast(&[5]), cast(&[9])];
    let median = of(PanelRule::Median, &two);
    assert_eq!(
        (median.passed, median.criteria[0].score.clone()),
        (false, json!(5))
    );
    assert_eq!(median.criteria[0].spread, Some([json!(5), json!(9)]));
    let mean = of(PanelRule::Mean, &two);
    assert_eq!(
        (mean.passed, mean.criteria[0].score.clone()),
        (true, json!(7))
    );
    assert!(!of(PanelRule::Majority, &two).passed);
    assert!(of(PanelRule::Majority, &[cast(&[9]), cast(&[5]), cast(&[7])]).passed);
    let alike = of(PanelRule::Median, &[cast(&[8]), cast(&[8])]);
    assert_eq!(
        (alike.passed, alike.criteria[0].spread.clone()),
        (true, None)
    );
    // Half are enough to break what must not be said, and too few for what must.
    let says = |says| {
        Some(Cast {
            scores: vec![10],
            says,
            passed: true,
        })
    };
    let judged = of(
        PanelRule::Median,
        &[says([true, true]), says([false, false])],
    );
    assert_eq!(
        judged
            .checks
            .iter()
            .map(|check| check.met)
            .collect::<Vec<_>>(),
        [false, false]
    );
}

#[test]
fn what_is_lacking_counts_both_ways() {
    let of = |panel: PanelRule, votes: &[Option<Cast>]| {
        decide(&judge_of(&[1], 14, panel), votes).map(|panel| panel.passed)
    };
    let (good, bad) = (cast(&[9]), cast(&[1]));
    assert_eq!(of(PanelRule::Median, &[None]), None);
    assert_eq!(of(PanelRule::Median, &[good.clone(), None]), None);
    assert_eq!(
        of(PanelRule::Median, &[good.clone(), good.clone(), None]),
        Some(true)
    );
    assert_eq!(
        of(PanelRule::Majority, &[good.clone(), bad.clone(), None]),
        None
    );
    assert_eq!(
        of(PanelRule::Majority, &[bad.clone(), bad.clone(), None]),
        Some(false)
    );
    assert_eq!(of(PanelRule::Mean, &[bad.clone(), None]), Some(false));
    assert_eq!(of(PanelRule::Mean, &[good, None]), None);
}
