//! From votes to the grade that people read. Pure.

use serde_json::Value;

use super::answer::JudgeAnswer;
use super::ask::VoteResult;
use super::form::short;
use super::prompt::{JudgePrompt, shown_scale};
use super::vote::{PanelVerdict, VoteAgenda, cause_of, in_words, rounded};
use super::{METHOD, errored};
use crate::graders::show::in_reason;
use crate::model::{
    AnswerSource, Cause, Grade, GraderType, Judge, JudgeVote, Judged, JudgedCheck, JudgedCriterion,
    ModelTarget, Outcome, PanelRule,
};
use eval_base::text::{plural, quoted};
use eval_stats::reaches;

/// The panel's grade.
pub(super) fn grade(
    agenda: &VoteAgenda<'_>,
    question: &JudgePrompt,
    votes: Vec<VoteResult>,
) -> Grade {
    let (votes, readings): (Vec<JudgeVote>, Vec<Option<JudgeAnswer>>) = votes.into_iter().unzip();
    let judge = agenda.judge;
    let own = |model: &ModelTarget| model.system.clone();
    let scale = shown_scale(judge);
    let judged = Judged {
        scale,
        pass_threshold: judge.pass_threshold,
        panel: in_words(judge.panel, &votes),
        notices: notices(question, &votes, scale),
        cut: question.cut,
        neutralised: question.neutralised,
        fingerprint: judge.fingerprint().to_string(),
        asked: question.told(judge.models.first().and_then(own).as_deref()),
        ..Judged::default()
    };
    let Some(panel) = agenda.decide(&readings) else {
        let (cause, reason) = undecided(&votes, &judged);
        let judged = Judged { votes, ..judged };
        return Grade {
            judged: Some(Box::new(judged)),
            ..errored(cause, reason)
        };
    };
    let checks_met = panel.checks.iter().filter(|check| check.met).count();
    let mut score = match panel.checks.len() {
        0 => panel.share,
        all if checks_met == all => panel.share,
        all => panel.share.min(checks_met as f64 / all as f64),
    };
    if judge.panel == PanelRule::Majority && !panel.passed && reaches(score, judge.pass_threshold) {
        // Criterion by criterion the votes may be good where hardly one of them is good as a whole.
        score = score.min(panel.passing);
    }
    let (justification, feedback) = nearest(&panel, &votes, &readings);
    let judged = Judged {
        score: Some(match scale {
            Some([low, high]) => rounded(low + panel.share * (high - low)),
            None => rounded(panel.share),
        }),
        criteria: panel.criteria.clone(),
        checks: panel.checks.clone(),
        justification,
        feedback,
        votes,
        ..judged
    };
    let (cause, mut reason) = told(judge, &panel, &judged);
    if !judged.panel.is_empty() && cause.is_some() {
        reason = format!("{reason} ({})", judged.panel);
    }
    let grade = match cause {
        None => Grade::passed(GraderType::Model, METHOD),
        Some(cause) => Grade::failed(GraderType::Model, METHOD, cause, reason),
    };
    Grade {
        score: Some(score.clamp(0.0, 1.0)),
        judged: Some(Box::new(judged)),
        ..grade
    }
}

/// Why the panel has no verdict.
fn undecided(votes: &[JudgeVote], judged: &Judged) -> (Cause, String) {
    let cause = cause_of(votes);
    let counts = |vote: &&JudgeVote| {
        vote.outcome == Outcome::Errored
            && (vote.cause == Some(Cause::JudgeUnparseable)) == (cause == Cause::JudgeUnparseable)
    };
    let first = votes.iter().find(counts);
    let why = first.map_or("no judge was called", |vote| vote.reason.as_str());
    let repaired = first.map_or(0, |vote| {
        vote.replies
            .iter()
            .filter(|reply| !reply.repair.is_empty())
            .count()
    });
    let mut reason = match cause {
        Cause::JudgeUnparseable if repaired > 0 => {
            format!(
                "the judge's answers could not be used ({why}), after {}; {}",
                plural(repaired, "repair request"),
                asks_again(votes)
            )
        }
        Cause::JudgeUnparseable => {
            format!(
                "the judge's answer could not be used ({why}); {}",
                asks_again(votes)
            )
        }
        _ => format!("the judge could not be called: {why}"),
    };
    if !judged.panel.is_empty() {
        reason = format!("{}; {reason}", judged.panel);
    }
    (cause, reason)
}

/// What gets another answer in place of one that can't be used. A vote that was only partly
/// answered by the cache has left it.
fn asks_again(votes: &[JudgeVote]) -> &'static str {
    let from = |source| {
        let mut unusable = votes
            .iter()
            .filter(|vote| vote.cause == Some(Cause::JudgeUnparseable));
        unusable.any(|vote| vote.calls.iter().all(|asked| asked.call.source == source))
    };
    if from(AnswerSource::Recording) {
        "it is recorded: to record another, run with `--record` and without `--replay` or the judge's `replay`"
    } else if from(AnswerSource::Cache) {
        "it is in the cache: run again with `--cache use` to call the judge again"
    } else {
        "it is not cached: `run --resume` or another run calls the judge again"
    }
}

/// What it failed for, and a sentence; no cause when it passed.
fn told(judge: &Judge, panel: &PanelVerdict, judged: &Judged) -> (Option<Cause>, String) {
    if panel.passed {
        return (None, String::new());
    }
    let unmet: Vec<&JudgedCheck> = panel.checks.iter().filter(|check| !check.met).collect();
    let mut said = Vec::new();
    for (wanted, words) in [(true, "does not say"), (false, "says")] {
        let texts: Vec<String> = unmet
            .iter()
            .filter(|check| check.wanted == wanted)
            .map(|check| quoted(&in_reason(&check.text)))
            .collect();
        if !texts.is_empty() {
            said.push(format!("{words} {}", texts.join(", ")));
        }
    }
    let low = !reaches(panel.share, judge.pass_threshold);
    if panel.criteria.is_empty() {
        if low || unmet.is_empty() {
            said.push(match judged.justification.trim() {
                "" => "the judge failed the output".to_owned(),
                why => format!("the judge failed the output: {}", in_reason(why)),
            });
        }
        return (Some(Cause::WrongAnswer), said.join("; "));
    }
    if low {
        said.push(scored(judge, panel, judged));
    } else if unmet.is_empty() {
        said.push("too few votes pass the output as a whole".to_owned());
    }
    let cause = if unmet.is_empty() {
        Cause::Threshold
    } else {
        Cause::WrongAnswer
    };
    (Some(cause), said.join("; "))
}

/// `scored 2.4 of 1-5 (needs 3.8): Correctness 2, Readability 3`.
fn scored(judge: &Judge, panel: &PanelVerdict, judged: &Judged) -> String {
    let (score, of, needs) = match judged.scale {
        Some([low, high]) => {
            let on_scale = |share: f64| low + share * (high - low);
            let of = format!(" of {}-{}", short(low), short(high));
            (on_scale(panel.share), of, on_scale(judge.pass_threshold))
        }
        None => (panel.share, String::new(), judge.pass_threshold),
    };
    let shown =
        |criterion: &JudgedCriterion| format!("{} {}", criterion.name, plain(&criterion.score));
    let all: Vec<String> = panel.criteria.iter().map(shown).collect();
    format!(
        "scored {}{of} (needs {}): {}",
        short(score),
        short(needs),
        in_reason(&all.join(", "))
    )
}

fn plain(score: &Value) -> String {
    match score {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), short),
        other => other.to_string(),
    }
}

/// Justification and feedback of the vote that is nearest to the verdict.
fn nearest(
    panel: &PanelVerdict,
    votes: &[JudgeVote],
    readings: &[Option<JudgeAnswer>],
) -> (String, Vec<String>) {
    let outcome = if panel.passed {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    let far = |vote: &JudgeVote| {
        let distance = (vote.score.unwrap_or_default() - panel.share).abs();
        (u8::from(vote.outcome != outcome), distance)
    };
    let usable = votes
        .iter()
        .zip(readings)
        .filter_map(|(vote, reading)| Some((vote, reading.as_ref()?)));
    let best = usable.min_by(|(a, _), (b, _)| {
        let ((a, near), (b, other)) = (far(a), far(b));
        a.cmp(&b).then(near.total_cmp(&other))
    });
    best.map(|(_, reading)| (reading.justification.clone(), reading.feedback.clone()))
        .unwrap_or_default()
}

/// What was done to the data, and where a judge contradicts its own scores.
fn notices(question: &JudgePrompt, votes: &[JudgeVote], scale: Option<[f64; 2]>) -> Vec<String> {
    let mut notices = question.notices.clone();
    let whose = |n: usize| match votes.len() {
        1 => "the judge".to_owned(),
        all => format!("{n} of {all} votes"),
    };
    for (said, word, outcome) in [
        (true, "passed", Outcome::Failed),
        (false, "failed", Outcome::Passed),
    ] {
        let contradicts =
            |vote: &&JudgeVote| vote.said_passed == Some(said) && vote.outcome == outcome;
        let n = votes.iter().filter(contradicts).count();
        if n > 0 {
            notices.push(format!(
                "{} gave the overall verdict `{word}`, but the details result in `{outcome}`, which counts",
                whose(n)
            ));
        }
    }
    let [low, high] = scale.unwrap_or([0.0, 1.0]);
    let misses = |vote: &&JudgeVote| {
        let computed = vote.score.map(|share| low + share * (high - low));
        // A judge may round.
        vote.said_score
            .zip(computed)
            .is_some_and(|(said, score)| (said - score).abs() > 0.05 * (high - low))
    };
    let n = votes.iter().filter(misses).count();
    if n > 0 && scale.is_some() {
        notices.push(format!(
            "{} gave an overall score that differs from the weighted scores; the weighted scores count",
            whose(n)
        ));
    }
    let mut unknown: Vec<&str> = votes
        .iter()
        .flat_map(|vote| &vote.unknown)
        .map(String::as_str)
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        let names: Vec<String> = unknown
            .iter()
            .take(5)
            .map(|name| quoted(&in_reason(name)))
            .collect();
        notices.push(format!(
            "scores for criteria that are not in the rubric were ignored: {}",
            names.join(", ")
        ));
    }
    notices
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hint_depends_on_where_all_answers_of_a_vote_come_from() {
        let vote = |cause: &str, sources: &[&str]| -> JudgeVote {
            let call = |source: &&str| json!({"call": {"model": "m:j", "source": source}});
            let calls: Vec<_> = sources.iter().map(call).collect();
            serde_json::from_value(
                json!({"model": "m:j", "index": 0, "outcome": "errored", "cause": cause, "calls": calls}),
            )
            .unwrap()
        };
        let unusable = |sources: &[&str]| vote("judge_unparseable", sources);
        let asked = "it is not cached: `run --resume` or another run calls the judge again";
        // A request for repair was sent, and the cached answer before it was removed.
        assert_eq!(asks_again(&[unusable(&["cache", "network"])]), asked);
        assert_eq!(
            asks_again(&[
                unusable(&["network"]),
                vote("judge_unreachable", &["cache"])
            ]),
            asked
        );
        let cached = asks_again(&[unusable(&["cache", "cache"])]);
        assert_eq!(
            cached,
            "it is in the cache: run again with `--cache use` to call the judge again"
        );
        let recorded = asks_again(&[unusable(&["network"]), unusable(&["recording"])]);
        assert!(
            recorded.contains("without `--replay` or the judge's `replay`"),
            "{recorded}"
        );
    }
}
