//! The votes of a panel and what they come to. Pure.
//!
//! A vote that is lacking is read once as the worst and once as the best that it could have been: a
//! verdict stands only when both readings agree.

use serde_json::Value;

use super::answer::{CriterionScore, JudgeAnswer, number_value};
use super::form::{TextCheck, scale_of};
use crate::model::{
    Cause, Criterion, Judge, JudgeVote, JudgedCheck, JudgedCriterion, Outcome, PanelRule,
};
use eval_stats::reaches;

/// What is put to the vote.
#[derive(Debug)]
pub(super) struct VoteAgenda<'a> {
    pub judge: &'a Judge,
    /// Empty when the verdict is over the whole.
    pub criteria: &'a [Criterion],
    pub checks: &'a [TextCheck],
    /// A yes of the panel fails the output: what is undecided between two readings is a yes then,
    /// so that no tie passes.
    pub negated: bool,
}

/// A panel's verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PanelVerdict {
    pub passed: bool,
    pub criteria: Vec<JudgedCriterion>,
    pub checks: Vec<JudgedCheck>,
    /// The weighted score as a share of the scale, in [0, 1].
    pub share: f64,
    /// The share of the usable votes that pass by themselves.
    pub passing: f64,
}

/// One way to read all votes.
struct VoteTally {
    shares: Vec<f64>,
    met: Vec<bool>,
    share: f64,
    passing: f64,
    passed: bool,
}

/// A vote in numbers.
#[derive(Debug, Clone, PartialEq)]
struct Ballot {
    /// By criterion.
    shares: Vec<f64>,
    /// Whether each check is as it should be.
    met: Vec<bool>,
    /// The verdict over the whole, as 0 or 1, where there are no criteria.
    whole: f64,
}

impl VoteAgenda<'_> {
    /// The weighted share of one vote, and whether it passes by itself.
    pub fn vote(&self, reading: &JudgeAnswer) -> (f64, bool) {
        let ballot = self.ballot(reading);
        let share = self.weighted(&ballot.shares, ballot.whole);
        (share, self.passes(&ballot))
    }

    fn ballot(&self, reading: &JudgeAnswer) -> Ballot {
        Ballot {
            shares: reading.scores.iter().map(|scored| scored.share).collect(),
            met: self
                .checks
                .iter()
                .zip(&reading.says)
                .map(|(check, says)| *says == check.wanted)
                .collect(),
            whole: f64::from(u8::from(reading.passed == Some(true))),
        }
    }

    fn uniform(&self, best: bool) -> Ballot {
        let share = f64::from(u8::from(best));
        Ballot {
            shares: vec![share; self.criteria.len()],
            met: vec![best; self.checks.len()],
            whole: share,
        }
    }

    /// The sum of weight and share; of a verdict over the whole the verdict.
    fn weighted(&self, shares: &[f64], whole: f64) -> f64 {
        if self.criteria.is_empty() {
            return whole;
        }
        let sum: f64 = self
            .criteria
            .iter()
            .zip(shares)
            .map(|(criterion, share)| criterion.weight * share)
            .sum();
        // They sum to 1; should they ever not, nothing passes by that.
        let total: f64 = self.criteria.iter().map(|criterion| criterion.weight).sum();
        if total > 0.0 {
            (sum / total).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    fn is_enough(&self, share: f64) -> bool {
        reaches(share, self.judge.pass_threshold)
    }

    fn passes(&self, ballot: &Ballot) -> bool {
        let share = self.weighted(&ballot.shares, ballot.whole);
        let enough = if self.criteria.is_empty() {
            ballot.whole == 1.0
        } else {
            self.is_enough(share)
        };
        enough && ballot.met.iter().all(|met| *met)
    }

    /// At least one ballot.
    fn tally(&self, ballots: &[Ballot]) -> VoteTally {
        let joined = |values: Vec<f64>| match self.judge.panel {
            PanelRule::Mean => values.iter().sum::<f64>() / values.len().max(1) as f64,
            PanelRule::Median | PanelRule::Majority => self.median(values),
        };
        let column = |at: usize| {
            ballots
                .iter()
                .filter_map(|ballot| ballot.shares.get(at).copied())
                .collect()
        };
        let shares: Vec<f64> = (0..self.criteria.len())
            .map(|at| joined(column(at)))
            .collect();
        let whole = joined(ballots.iter().map(|ballot| ballot.whole).collect());
        let share = self.weighted(&shares, whole);
        // More than half must say what is wanted; of what is not, half are enough to break it. Of
        // `met` both are the same.
        let met: Vec<bool> = (0..self.checks.len())
            .map(|at| {
                let said = ballots
                    .iter()
                    .filter(|ballot| ballot.met.get(at) == Some(&true))
                    .count();
                self.is_most(said, ballots.len())
            })
            .collect();
        let passing = ballots.iter().filter(|ballot| self.passes(ballot)).count();
        let passed = match self.judge.panel {
            PanelRule::Majority => self.is_most(passing, ballots.len()),
            PanelRule::Median | PanelRule::Mean => {
                self.is_enough(share) && met.iter().all(|met| *met)
            }
        };
        let passing = passing as f64 / ballots.len().max(1) as f64;
        VoteTally {
            shares,
            met,
            share,
            passing,
            passed,
        }
    }

    /// More than half; half are enough where a yes fails the output.
    fn is_most(&self, n: usize, all: usize) -> bool {
        if self.negated {
            2 * n >= all
        } else {
            2 * n > all
        }
    }

    /// Of an even number the lower of the two middle ones; the higher where a yes fails the output.
    fn median(&self, mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        let middle = if self.negated {
            values.len() / 2
        } else {
            values.len().saturating_sub(1) / 2
        };
        values.get(middle).copied().unwrap_or_default()
    }

    /// The verdict of the votes, `None` for those that are lacking; `None` when what is lacking
    /// could decide it.
    pub fn decide(&self, votes: &[Option<JudgeAnswer>]) -> Option<PanelVerdict> {
        let usable: Vec<&JudgeAnswer> = votes.iter().flatten().collect();
        if usable.is_empty() {
            return None;
        }
        let ballots: Vec<Ballot> = usable.iter().map(|reading| self.ballot(reading)).collect();
        let lacking = votes.len() - usable.len();
        let [worst, best] = [false, true].map(|best| {
            let mut all = ballots.clone();
            all.extend(std::iter::repeat_with(|| self.uniform(best)).take(lacking));
            self.tally(&all).passed
        });
        if worst != best {
            return None;
        }
        let tally = self.tally(&ballots);
        let criteria = self.criteria.iter().enumerate().map(|(at, criterion)| {
            let share = tally.shares.get(at).copied().unwrap_or_default();
            let scores: Vec<&CriterionScore> = usable
                .iter()
                .filter_map(|reading| reading.scores.get(at))
                .collect();
            self.judged(criterion, share, &scores)
        });
        let checks = self
            .checks
            .iter()
            .zip(&tally.met)
            .map(|(check, met)| JudgedCheck {
                text: check.text.clone(),
                wanted: check.wanted,
                met: *met,
            });
        Some(PanelVerdict {
            passed: worst,
            criteria: criteria.collect(),
            checks: checks.collect(),
            share: tally.share,
            passing: tally.passing,
        })
    }

    fn judged(
        &self,
        criterion: &Criterion,
        share: f64,
        scores: &[&CriterionScore],
    ) -> JudgedCriterion {
        let scale = scale_of(self.judge, criterion);
        let given = scores
            .iter()
            .find(|scored| scored.share == share)
            .map(|scored| scored.value.clone());
        let computed = || match scale {
            Some([low, high]) => number_value(rounded(low + share * (high - low))),
            None => number_value(rounded(share)),
        };
        let by_share = |a: &&&CriterionScore, b: &&&CriterionScore| a.share.total_cmp(&b.share);
        let (lowest, highest) = (
            scores.iter().min_by(by_share),
            scores.iter().max_by(by_share),
        );
        let spread = lowest
            .zip(highest)
            .filter(|(low, high)| low.share < high.share)
            .map(|(low, high)| [low.value.clone(), high.value.clone()]);
        JudgedCriterion {
            name: criterion.name.clone(),
            weight: criterion.weight,
            score: given.unwrap_or_else(computed),
            share,
            scale,
            spread,
        }
    }
}

/// Without the last digits, which are not what anybody said.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}

/// How several votes became one verdict, in words; empty when there is one.
pub(super) fn in_words(rule: PanelRule, votes: &[JudgeVote]) -> String {
    if votes.len() < 2 {
        return String::new();
    }
    let count = |outcome: Outcome| votes.iter().filter(|vote| vote.outcome == outcome).count();
    let (passed, failed, lacking) = (
        count(Outcome::Passed),
        count(Outcome::Failed),
        count(Outcome::Errored),
    );
    let rule = match rule {
        PanelRule::Median => "median",
        PanelRule::Mean => "mean",
        PanelRule::Majority => "majority",
    };
    let mut said = Vec::new();
    for (n, what) in [
        (passed, "passed"),
        (failed, "failed"),
        (lacking, "could not be used"),
    ] {
        if n > 0 {
            said.push(format!("{n} {what}"));
        }
    }
    format!("{rule} of {} votes: {}", votes.len(), said.join(", "))
}

/// What a panel that is undecided is errored with: an answer that can't be used weighs more than
/// none.
pub(super) fn cause_of(votes: &[JudgeVote]) -> Cause {
    if votes
        .iter()
        .any(|vote| vote.cause == Some(Cause::JudgeUnparseable))
    {
        Cause::JudgeUnparseable
    } else {
        Cause::JudgeUnreachable
    }
}

/// The scores of a vote by the names of the criteria.
pub(super) fn by_name(
    criteria: &[Criterion],
    scores: &[CriterionScore],
) -> std::collections::BTreeMap<String, Value> {
    criteria
        .iter()
        .zip(scores)
        .map(|(criterion, scored)| (criterion.name.clone(), scored.value.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
