//! What samples said: outputs, grades and reasons, of as many samples as fit.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::{
    Attempt, CountedRating, EarlierAttempt, Grade, HumanReview, JudgeCall, JudgeReply, JudgeVote,
    Judged, JudgedCheck, JudgedCriterion, ModelCall, Outcome, Output, OutputValue, SampleFinished,
    SampleResult, Stored, TrajectoryRecord, Usage, WorkspaceOutput,
};

/// Where a sample stands in the plan: eval, rank of the case, number of the case (should two have
/// one rank), sample.
pub(super) type DetailKey = (u32, u32, u32, u32);

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct DetailBudget {
    pub samples: usize,
    pub bytes: usize,
}

/// The details of those samples that come first in the plan's order, as many as there is room for.
///
/// What is kept does not depend on the order in which samples finish. Of all samples that ever
/// came, each with its cost, it is the longest prefix in the plan's order whose number and sum of
/// costs fit: when there is too little room the last one goes and becomes the ceiling, and nothing
/// at or beyond a ceiling comes in again. That is sound because costs only grow: the samples up to
/// the ceiling were too many for the room once and for all. A sample that comes again with other
/// details is therefore charged the most that it ever cost, and one that is withdrawn keeps its
/// charge.
#[derive(Debug)]
pub(super) struct SampleDetails {
    room: DetailBudget,
    bytes: usize,
    kept: BTreeMap<DetailKey, KeptDetail>,
    ceiling: Option<DetailKey>,
}

#[derive(Debug)]
struct KeptDetail {
    cost: usize,
    /// `None` when a later event of the sample belongs elsewhere.
    result: Option<Box<SampleResult>>,
}

impl SampleDetails {
    pub fn new(room: DetailBudget) -> Self {
        SampleDetails {
            room,
            bytes: 0,
            kept: BTreeMap::new(),
            ceiling: None,
        }
    }

    /// Takes a sample's details if there is room for them; `result` is only asked for then.
    pub fn put(&mut self, key: DetailKey, cost: usize, result: impl FnOnce() -> SampleResult) {
        if self.ceiling.is_some_and(|ceiling| key >= ceiling) {
            return;
        }
        let kept = self.kept.entry(key).or_insert(KeptDetail {
            cost: 0,
            result: None,
        });
        let more = cost.saturating_sub(kept.cost);
        kept.cost += more;
        kept.result = None;
        self.bytes += more;
        while self.kept.len() > self.room.samples || self.bytes > self.room.bytes {
            let Some((last, gone)) = self.kept.pop_last() else {
                break;
            };
            self.bytes -= gone.cost;
            self.ceiling = Some(last);
        }
        if let Some(kept) = self.kept.get_mut(&key) {
            kept.result = Some(Box::new(result()));
        }
    }

    /// Forgets what a sample said, because it ended otherwise after all; its charge stays.
    pub fn withdraw(&mut self, key: DetailKey) {
        if let Some(kept) = self.kept.get_mut(&key) {
            kept.result = None;
        }
    }

    pub fn get(&self, key: DetailKey) -> Option<&SampleResult> {
        self.kept.get(&key)?.result.as_deref()
    }

    /// Forgets everything for good.
    pub fn close(&mut self) {
        self.kept.clear();
        self.bytes = 0;
        self.ceiling = Some((0, 0, 0, 0));
    }
}

/// What a sample's details take, in bytes: the texts and what holds them.
pub(super) fn cost(sample: &SampleFinished) -> usize {
    let (last, earlier) = match sample.attempts.split_last() {
        Some((last, earlier)) => (Some(last), earlier),
        None => (None, &[][..]),
    };
    let before: usize = earlier
        .iter()
        .map(|attempt| size_of::<EarlierAttempt>() + attempt.verdict.reason.len())
        .sum();
    size_of::<SampleResult>() + before + last.map_or(0, attempt_cost)
}

fn attempt_cost(attempt: &Attempt) -> usize {
    let output = attempt
        .output
        .as_ref()
        .map_or(0, |output| match &output.value {
            OutputValue::Text(text) | OutputValue::Program(text) => text.len(),
            OutputValue::Json(value) => value_cost(value),
        });
    let stored = attempt
        .stored
        .as_ref()
        .map_or(0, |stored| stored.head.len() + 64);
    let stored = stored + thoughts_of(attempt).map_or(0, String::len);
    let stored = stored + workspace_of(attempt).map_or(0, WorkspaceOutput::bytes);
    let stored = stored + trajectory_of(attempt).map_or(0, TrajectoryRecord::bytes_in_summary);
    let grades: usize = attempt.verdict.grades.iter().map(grade_cost).sum();
    let extracted = attempt.extracted.as_ref().map_or(0, value_cost);
    let call = attempt
        .call
        .as_ref()
        .map_or(0, |call| size_of::<ModelCall>() + call_cost(call));
    output + stored + extracted + attempt.verdict.reason.len() + grades + call
}

fn grade_cost(grade: &Grade) -> usize {
    let texts =
        grade.method.len() + grade.grader.as_ref().map_or(0, String::len) + grade.reason.len();
    let values = grade
        .expected
        .iter()
        .chain(&grade.actual)
        .map(value_cost)
        .sum::<usize>();
    let details = grade
        .details
        .iter()
        .map(|(key, value)| key.len() + 64 + value_cost(value))
        .sum::<usize>();
    let metrics = grade
        .metrics
        .keys()
        .map(|name| name.len() + 64)
        .sum::<usize>();
    let judged = grade.judged.as_deref().map_or(0, judged_cost);
    let review = grade.review.as_deref().map_or(0, review_cost);
    size_of::<Grade>() + texts + values + details + metrics + judged + review
}

fn review_cost(review: &HumanReview) -> usize {
    let rating = |rating: &CountedRating| {
        let comment = rating.comment.as_ref().map_or(0, String::len);
        size_of::<CountedRating>() + rating.id.len() + rating.reviewer.len() + comment + 128
    };
    let ratings = review.ratings.iter().chain(&review.repeats).map(rating);
    let reference = review.reference.as_ref().map_or(0, value_cost);
    size_of::<HumanReview>() + 512 + review.rubric.len() + reference + ratings.sum::<usize>()
}

fn judged_cost(judged: &Judged) -> usize {
    let Judged {
        criteria,
        checks,
        justification,
        feedback,
        panel,
        votes,
        notices,
        asked,
        rubric,
        ..
    } = judged;
    let texts = |texts: &[String]| texts.iter().map(|text| text.len() + 24).sum::<usize>();
    let criteria: usize = criteria
        .iter()
        .map(|row| {
            let values = std::iter::once(&row.score).chain(row.spread.iter().flatten());
            size_of::<JudgedCriterion>() + row.name.len() + values.map(value_cost).sum::<usize>()
        })
        .sum();
    let checks: usize = checks
        .iter()
        .map(|check| size_of::<JudgedCheck>() + check.text.len())
        .sum();
    let own = justification.len() + rubric.len() + texts(feedback) + panel.len() + texts(notices);
    let asked = asked.id.len() + asked.system.len() + asked.prompt.len();
    size_of::<Judged>()
        + criteria
        + checks
        + own
        + asked
        + votes.iter().map(vote_cost).sum::<usize>()
}

fn vote_cost(vote: &JudgeVote) -> usize {
    let scores: usize = vote
        .scores
        .iter()
        .map(|(name, score)| name.len() + 64 + value_cost(score))
        .sum();
    let unknown: usize = vote.unknown.iter().map(|name| name.len() + 24).sum();
    let replies: usize = vote
        .replies
        .iter()
        .map(|reply| {
            size_of::<JudgeReply>() + reply.text.len() + reply.why.len() + reply.repair.len()
        })
        .sum();
    let calls: usize = vote
        .calls
        .iter()
        .map(|asked| size_of::<JudgeCall>() + call_cost(&asked.call))
        .sum();
    let own = vote.model.len() + vote.reason.len() + vote.justification.len();
    size_of::<JudgeVote>() + own + scores + unknown + replies + calls
}

fn call_cost(call: &ModelCall) -> usize {
    call.model.len()
        + call
            .faults
            .keys()
            .map(|label| label.len() + 64)
            .sum::<usize>()
}

fn value_cost(value: &Value) -> usize {
    let within = match value {
        Value::Null | Value::Bool(_) => 0,
        // Numbers keep their digits.
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_cost).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| key.len() + 64 + value_cost(value))
            .sum(),
    };
    size_of::<Value>() + within
}

/// A sample as reports show it; `last` is the last of its attempts.
pub(super) fn sample_result(sample: &SampleFinished, last: &Attempt) -> SampleResult {
    let verdict = &last.verdict;
    let output = match (&last.output, &last.stored) {
        (Some(output), _) => Some(output_json(output)),
        (None, Some(stored)) => Some(Value::String(beginning(stored))),
        (None, None) => None,
    };
    let is_cut = last.output.as_ref().is_some_and(|output| output.truncated)
        || last.stored.as_ref().is_some_and(|stored| stored.truncated);
    let earlier = sample
        .attempts
        .split_last()
        .map_or(&[][..], |(_, earlier)| earlier);
    let mut call = last.call.clone();
    if let Some(call) = &mut call {
        // The usage is that of all attempts.
        let calls = sample
            .attempts
            .iter()
            .map(|attempt| attempt.call.as_deref());
        call.usage_is_lower_bound = calls.into_iter().any(ModelCall::has_lower_bound);
    }
    SampleResult {
        index: sample.sample,
        outcome: verdict.outcome,
        score: verdict.score,
        cause: verdict.cause,
        reason: verdict.reason.clone(),
        output,
        output_truncated: is_cut,
        thoughts: thoughts_of(last).cloned(),
        workspace: workspace_of(last).cloned().map(Box::new),
        trajectory: trajectory_of(last).cloned().map(Box::new),
        extracted: last.extracted.clone(),
        grades: verdict.grades.clone(),
        metrics: metrics(&verdict.grades),
        attempts: sample.attempts.len(),
        earlier: earlier
            .iter()
            .map(|attempt| EarlierAttempt {
                outcome: attempt.verdict.outcome,
                cause: attempt.verdict.cause,
                reason: attempt.verdict.reason.clone(),
            })
            .collect(),
        infrastructure_retries: infrastructure_retries(sample),
        flaky: is_flaky(sample, verdict.outcome),
        latency_ms: last.latency_ms,
        duration_ms: sample
            .attempts
            .iter()
            .map(|attempt| attempt.duration_ms)
            .sum(),
        usage: usage(sample),
        finish: last.finish(),
        call,
        reused_from: sample.reused_from.clone(),
        not_run: verdict.not_run.clone(),
    }
}

fn workspace_of(attempt: &Attempt) -> Option<&WorkspaceOutput> {
    let stored = attempt.stored.as_ref();
    let stored = stored.and_then(|stored| stored.workspace.as_deref());
    let output = attempt.output.as_ref();
    output
        .and_then(|output| output.workspace.as_deref())
        .or(stored)
}

fn trajectory_of(attempt: &Attempt) -> Option<&TrajectoryRecord> {
    let stored = attempt.stored.as_ref();
    let stored = stored.and_then(|stored| stored.trajectory.as_deref());
    let output = attempt.output.as_ref();
    output
        .and_then(|output| output.trajectory.as_deref())
        .or(stored)
}

fn thoughts_of(attempt: &Attempt) -> Option<&String> {
    let stored = attempt
        .stored
        .as_ref()
        .and_then(|stored| stored.thoughts.as_ref());
    attempt
        .output
        .as_ref()
        .and_then(|output| output.thoughts.as_ref())
        .or(stored)
}

fn output_json(output: &Output) -> Value {
    match &output.value {
        OutputValue::Text(text) | OutputValue::Program(text) => text.clone().into(),
        OutputValue::Json(value) => value.clone(),
    }
}

fn beginning(stored: &Stored) -> String {
    format!(
        "{}\n[... {} bytes in total, stored next to the journal]",
        stored.head, stored.bytes
    )
}

/// The numbers that graders measured; of several grades with one name the first counts. Not a
/// number: what was to be measured and could not be.
pub(super) fn metrics(grades: &[Grade]) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::new();
    for (name, value) in grades.iter().flat_map(|grade| &grade.metrics) {
        if !metrics.contains_key(name) {
            metrics.insert(name.clone(), *value);
        }
    }
    for name in grades.iter().flat_map(|grade| &grade.unmeasured) {
        metrics.entry(name.clone()).or_insert(f64::NAN);
    }
    metrics
}

/// How many grades have each level of trust, in the order of `Trust::ALL`.
pub(super) fn trust(grades: &[Grade]) -> [u32; 4] {
    let mut counts = [0u32; 4];
    for trust in grades.iter().filter_map(|grade| grade.trust) {
        counts[trust as usize] += 1;
    }
    counts
}

pub(super) fn is_flaky(sample: &SampleFinished, outcome: Outcome) -> bool {
    let before = sample
        .attempts
        .split_last()
        .map_or(&[][..], |(_, earlier)| earlier);
    outcome == Outcome::Passed
        && before
            .iter()
            .any(|attempt| attempt.verdict.outcome == Outcome::Failed)
}

pub(super) fn infrastructure_retries(sample: &SampleFinished) -> u32 {
    sample
        .attempts
        .iter()
        .map(|attempt| attempt.infrastructure_retries)
        .fold(0, u32::saturating_add)
}

/// What all attempts together used; `None` when none told.
pub(super) fn usage(sample: &SampleFinished) -> Option<Usage> {
    sample
        .attempts
        .iter()
        .filter_map(Attempt::usage)
        .reduce(add_usage)
}

/// Whether some outputs of a sample don't tell their tokens, and whether the cost of some is not
/// known. What the others tell is then not what the sample took.
pub(super) fn untold(sample: &SampleFinished) -> [bool; 2] {
    let outputs = sample
        .attempts
        .iter()
        .filter(|a| a.output.is_some() || a.stored.is_some());
    outputs.fold([false; 2], |[untold, unpriced], attempt| {
        let (usage, in_part) = (
            attempt.usage(),
            ModelCall::has_lower_bound(attempt.call.as_deref()),
        );
        [
            untold || usage.is_none() || in_part,
            unpriced || usage.is_none_or(|usage| usage.cost_usd.is_none()) || in_part,
        ]
    })
}

/// True when an answer of a model was not asked for now, so that nobody knows how long it takes.
pub(super) fn is_kept(attempt: &Attempt) -> bool {
    attempt.latency_ms.is_none()
        && attempt
            .call
            .as_ref()
            .is_some_and(|call| !call.is_from_network())
}

/// True when an empty output passed, and every grade that counts is of a method that may only
/// forbid: `contains`, `regex` or a negated one.
pub(super) fn is_empty_pass(attempt: &Attempt) -> bool {
    let is_empty = attempt.output.as_ref().is_some_and(|output| {
        let text = match &output.value {
            OutputValue::Text(text) | OutputValue::Program(text) => Some(text.as_str()),
            OutputValue::Json(value) => value.as_str(),
        };
        text.is_some_and(|text| text.trim().is_empty())
    });
    let verdict = &attempt.verdict;
    let mut counted = verdict.grades.iter().filter(|grade| !grade.informative);
    // Of a journal that is read without details, methods and outputs are unknown.
    let forbids = |grade: &Grade| {
        let method = grade.method.as_str();
        matches!(method, "contains" | "regex") || grade.negated && !method.is_empty()
    };
    is_empty
        && verdict.outcome == Outcome::Passed
        && counted.clone().next().is_some()
        && counted.all(forbids)
}

fn add_usage(a: Usage, b: Usage) -> Usage {
    Usage {
        input_tokens: a.input_tokens.saturating_add(b.input_tokens),
        output_tokens: a.output_tokens.saturating_add(b.output_tokens),
        cost_usd: match (a.cost_usd, b.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            (one, other) => one.or(other),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(index: u32, reason: usize) -> SampleResult {
        said_with(index, reason, None)
    }

    fn said_with(index: u32, reason: usize, output: Option<Output>) -> SampleResult {
        let sample = SampleFinished {
            eval: String::new(),
            case: String::new(),
            sample: index,
            attempts: vec![],
            finished_at: String::new(),
            reused_from: None,
        };
        let verdict =
            crate::model::Verdict::without_grades(crate::model::Cause::Timeout, "x".repeat(reason));
        let attempt = Attempt {
            output,
            ..crate::model::testing::attempt(verdict)
        };
        sample_result(&sample, &attempt)
    }

    #[test]
    fn an_output_that_is_not_all_says_so() {
        let cut = |truncated| {
            said_with(
                0,
                0,
                Some(Output {
                    truncated,
                    ..Output::text("the begin")
                }),
            )
            .output_truncated
        };
        assert_eq!([cut(true), cut(false)], [true, false]);
    }

    proptest! {
        /// The longest prefix in the plan's order that fits, in whatever order samples come; of one
        /// that comes twice the larger cost is charged and the later details are kept.
        #[test]
        fn what_is_kept_is_the_longest_prefix_that_fits(
            events in prop::collection::vec((0u32..12, 1usize..40, any::<bool>()), 0..40),
            samples in 0usize..12,
            bytes in 0usize..200,
        ) {
            let mut details = SampleDetails::new(DetailBudget { samples, bytes });
            let mut charged: BTreeMap<u32, usize> = BTreeMap::new();
            let mut latest: BTreeMap<u32, Option<usize>> = BTreeMap::new();
            for (sample, cost, withdrawn) in events {
                let key = (0, sample / 4, 0, sample % 4);
                if withdrawn {
                    details.withdraw(key);
                    latest.entry(sample).and_modify(|cost| *cost = None);
                } else {
                    details.put(key, cost, || said(sample % 4, cost));
                    let most = charged.entry(sample).or_default();
                    *most = cost.max(*most);
                    latest.insert(sample, Some(cost));
                }
            }
            let (mut number, mut sum, mut fits) = (0, 0, true);
            for sample in 0..12 {
                let cost = charged.get(&sample).copied();
                if let Some(cost) = cost {
                    number += 1;
                    sum += cost;
                    fits &= number <= samples && sum <= bytes;
                }
                let kept = details.get((0, sample / 4, 0, sample % 4)).map(|result| result.reason.len());
                prop_assert_eq!(kept, latest.get(&sample).copied().flatten().filter(|_| fits && cost.is_some()));
            }
        }
    }
}
