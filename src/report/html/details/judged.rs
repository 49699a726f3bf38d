//! What judges said, with every word that was exchanged.

use std::borrow::Cow;

use serde::Serialize;

use super::sample::{LabelledFact, call_facts, tokens};
use super::shown::{self, ShownText};
use crate::model::{Grade, JudgeReply, JudgeVote, Judged};
use crate::report::json::word;
use crate::report::limits::html as limits;
use crate::report::{figures, judged as words};

#[derive(Debug, Serialize)]
pub struct JudgedOnPage<'a> {
    /// `3.4 of 1-5, needs 3.8`.
    score: String,
    /// Name, weight, score, scale, share, spread.
    criteria: Vec<[Cow<'a, str>; 6]>,
    /// Whether each is as it should be, and what it is.
    checks: Vec<(bool, String)>,
    /// Of these three lists, what is not shown.
    more: [usize; 3],
    panel: Cow<'a, str>,
    justification: ShownText<'a>,
    feedback: Vec<ShownText<'a>>,
    notices: Vec<ShownText<'a>>,
    system: ShownText<'a>,
    prompt: ShownText<'a>,
    votes: Vec<VoteOnPage<'a>>,
}

#[derive(Debug, Serialize)]
struct VoteOnPage<'a> {
    model: Cow<'a, str>,
    index: u32,
    outcome: &'static str,
    score: String,
    words: Cow<'a, str>,
    /// By criterion.
    scores: Vec<LabelledFact<'a>>,
    justification: ShownText<'a>,
    replies: Vec<ReplyOnPage<'a>>,
    facts: Vec<(&'static str, String)>,
}

#[derive(Debug, Serialize)]
struct ReplyOnPage<'a> {
    text: ShownText<'a>,
    fault: Option<&'static str>,
    finish: String,
    why: ShownText<'a>,
    repair: ShownText<'a>,
}

pub fn judged_details<'a>(grade: &'a Grade, judged: &'a Judged, limit: usize) -> JudgedOnPage<'a> {
    let told = words::one(grade, judged);
    let owned = |text: &str| Cow::Owned(shown::name(text, limit).into_owned());
    let rows = told.rows.iter().take(limits::ENTRIES);
    let criteria = rows.map(|row| {
        [
            row.name,
            &row.weight,
            &row.score,
            &row.scale,
            &row.share,
            &row.spread,
        ]
        .map(owned)
    });
    let check = |(met, words): &(bool, String)| (*met, shown::name(words, limit).into_owned());
    let votes = judged.votes.iter().zip(&told.votes).take(limits::ENTRIES);
    let texts = |texts: &'a [String]| {
        texts
            .iter()
            .take(limits::ENTRIES)
            .map(|text| shown::of_text(text, limit))
            .collect()
    };
    JudgedOnPage {
        criteria: criteria.collect(),
        checks: told
            .checks
            .iter()
            .take(limits::ENTRIES)
            .map(check)
            .collect(),
        more: [told.rows.len(), told.checks.len(), judged.votes.len()]
            .map(|n| n.saturating_sub(limits::ENTRIES)),
        panel: shown::name(&judged.panel, limit),
        justification: shown::of_text(&judged.justification, limit),
        feedback: texts(&judged.feedback),
        notices: texts(&judged.notices),
        system: shown::of_text(&judged.asked.system, limit),
        prompt: shown::of_text(&judged.asked.prompt, limit),
        votes: votes
            .map(|(vote, words)| one_vote(vote, words, limit))
            .collect(),
        score: told.score,
    }
}

fn one_vote<'a>(
    vote: &'a JudgeVote,
    told: &words::ReportedVote<'_>,
    limit: usize,
) -> VoteOnPage<'a> {
    let scores = vote.scores.iter().take(limits::ENTRIES);
    VoteOnPage {
        model: shown::name(&vote.model, limit),
        index: vote.index,
        outcome: vote.outcome.name(),
        score: told.score.clone(),
        words: Cow::Owned(shown::of_text(&told.words, limit).text.into_owned()),
        scores: scores
            .map(|(name, score)| {
                let score = shown::name(&words::plain(score), limit).into_owned();
                (shown::name(name, limit), Cow::Owned(score))
            })
            .collect(),
        justification: shown::of_text(&vote.justification, limit),
        replies: vote
            .replies
            .iter()
            .take(limits::ENTRIES)
            .map(|reply| one_reply(reply, limit))
            .collect(),
        facts: facts(vote, limit),
    }
}

fn one_reply(reply: &JudgeReply, limit: usize) -> ReplyOnPage<'_> {
    ReplyOnPage {
        text: shown::of_text(&reply.text, limit),
        fault: reply.fault.map(|fault| fault.name()),
        finish: reply.finish.as_ref().map(word).unwrap_or_default(),
        why: shown::of_text(&reply.why, limit),
        repair: shown::of_text(&reply.repair, limit),
    }
}

/// Of every question that was put.
fn facts(vote: &JudgeVote, limit: usize) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    for call in vote.calls.iter().take(limits::ENTRIES) {
        facts.extend(call_facts(&call.call, limit));
        facts.extend(
            call.latency_ms
                .map(|ms| ("Latency", figures::duration_ms(ms))),
        );
        if let Some(usage) = &call.usage {
            facts.push(("Tokens", tokens(usage)));
            facts.extend(usage.cost_usd.map(|cost| ("Cost", figures::cost(cost))));
        }
    }
    facts
}
