//! What judges said of a sample, as words: the same in every format. Nothing here is escaped.

use serde_json::Value;

use crate::model::{
    CaseResult, Failure, Grade, JudgeVote, Judged, JudgedCheck, JudgedCriterion, Outcome,
    SampleResult, Summary,
};
use crate::report::figures;
use eval_base::text;
use eval_stats::reaches;

/// One verdict of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedVerdict<'a> {
    /// The grader's name, or its type.
    pub by: &'a str,
    pub outcome: Outcome,
    /// `3.4 of 1-5, needs 3.8`; empty when there is none.
    pub score: String,
    pub rows: Vec<CriterionRow<'a>>,
    /// Whether each is as it should be, and in words what it is.
    pub checks: Vec<(bool, String)>,
    pub judged: &'a Judged,
    pub votes: Vec<ReportedVote<'a>>,
}

/// A criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionRow<'a> {
    pub name: &'a str,
    pub weight: String,
    pub score: String,
    /// `1-5`; empty for categories, and for true and false.
    pub scale: String,
    pub share: String,
    /// `3-4`: the lowest and the highest of the votes, where they differ.
    pub spread: String,
}

/// A vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedVote<'a> {
    pub model: &'a str,
    pub outcome: Outcome,
    pub score: String,
    /// Why it could not be used, and what else is odd about it; often empty.
    pub words: String,
}

impl ReportedVerdict<'_> {
    /// True when the votes tell more than the verdict: there are several, or what is odd about the
    /// one.
    pub fn has_telling_votes(&self) -> bool {
        self.votes.len() > 1 || self.votes.iter().any(|vote| !vote.words.is_empty())
    }
}

/// The verdicts of a sample.
pub fn reported_verdicts(sample: &SampleResult) -> impl Iterator<Item = ReportedVerdict<'_>> {
    sample
        .grades
        .iter()
        .filter_map(|grade| Some(one(grade, grade.judged.as_deref()?)))
}

fn is_judged(sample: &SampleResult) -> bool {
    sample.grades.iter().any(|grade| grade.judged.is_some())
}

/// The sample that a failure speaks of, when judges had a say in it and details are there.
pub fn of_failure<'a>(summary: &'a Summary, failure: &Failure) -> Option<&'a SampleResult> {
    // Most runs have no judges, and need not look.
    summary.judges.as_ref()?;
    let evals = summary
        .evals
        .iter()
        .filter(|eval| eval.id == failure.eval_id);
    let case = evals
        .flat_map(|eval| &eval.cases)
        .find(|case| case.id == failure.case_id)?;
    case.samples
        .iter()
        .find(|sample| sample.outcome == failure.outcome)
        .filter(|sample| is_judged(sample))
}

/// What judges said where nothing failed or errored: eval, case and its first such sample.
pub fn not_failed(summary: &Summary) -> impl Iterator<Item = (&str, &CaseResult, &SampleResult)> {
    let evals = summary.evals.iter().filter(|_| summary.judges.is_some());
    let cases = evals.flat_map(|eval| eval.cases.iter().map(move |case| (eval.id.as_str(), case)));
    cases.filter_map(|(eval, case)| {
        let bad =
            |sample: &&SampleResult| matches!(sample.outcome, Outcome::Failed | Outcome::Errored);
        if case.samples.iter().any(|sample| bad(&sample)) {
            return None;
        }
        Some((
            eval,
            case,
            case.samples.iter().find(|sample| is_judged(sample))?,
        ))
    })
}

pub fn one<'a>(grade: &'a Grade, judged: &'a Judged) -> ReportedVerdict<'a> {
    ReportedVerdict {
        by: grade.grader.as_deref().unwrap_or("model"),
        outcome: grade.outcome,
        score: score(judged),
        rows: judged.criteria.iter().map(row).collect(),
        checks: judged
            .checks
            .iter()
            .map(|check| (check.met, check_words(check)))
            .collect(),
        judged,
        votes: judged.votes.iter().map(vote).collect(),
    }
}

fn score(judged: &Judged) -> String {
    let Some(score) = judged.score.filter(|_| !judged.criteria.is_empty()) else {
        return String::new();
    };
    let needed = judged.pass_threshold;
    let (of, needed) = match judged.scale {
        Some([low, high]) => (
            format!(" of {}", scale([low, high])),
            low + needed * (high - low),
        ),
        None => (String::new(), needed),
    };
    let (score, needed) = apart(score, needed);
    format!("{score}{of}, needs {needed}")
}

/// Two numbers with as many decimals as it takes to see whether the first reaches the second, 2 at
/// least.
fn apart(value: f64, needed: f64) -> (String, String) {
    let met = reaches(value, needed);
    let shows = |decimals: &usize| {
        let read = |number: f64| {
            format!("{number:.decimals$}", decimals = *decimals)
                .parse::<f64>()
                .unwrap_or(number)
        };
        (read(value) >= read(needed)) == met
    };
    let decimals = (2..=15).find(shows).unwrap_or(15);
    (number(value, decimals), number(needed, decimals))
}

/// At most so many decimals, without zeros at the end.
fn number(value: f64, decimals: usize) -> String {
    if !value.is_finite() || value.abs() >= 1e12 {
        return figures::count(value);
    }
    let written = format!("{value:.decimals$}");
    let short = written.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" {
        "0".to_owned()
    } else {
        short.to_owned()
    }
}

fn scale([low, high]: [f64; 2]) -> String {
    let [low, high] = [low, high].map(|end| number(end, 3));
    // Beside a minus sign a dash would be read as another.
    if low.starts_with('-') || high.starts_with('-') {
        format!("{low} to {high}")
    } else {
        format!("{low}-{high}")
    }
}

pub fn plain(score: &Value) -> String {
    match score {
        Value::String(name) => name.clone(),
        Value::Number(score) => score
            .as_f64()
            .map_or_else(|| score.to_string(), |score| number(score, 2)),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

fn row(criterion: &JudgedCriterion) -> CriterionRow<'_> {
    let JudgedCriterion {
        name,
        weight,
        score,
        share,
        scale: own,
        spread,
    } = criterion;
    CriterionRow {
        name,
        weight: figures::percent(*weight),
        score: plain(score),
        scale: own.map(scale).unwrap_or_default(),
        share: figures::rate(*share),
        spread: spread
            .as_ref()
            .map_or(String::new(), |[low, high]| match (low, high) {
                (Value::Number(_), Value::Number(_)) => {
                    format!("{} to {}", plain(low), plain(high))
                }
                _ => format!("{} / {}", plain(low), plain(high)),
            }),
    }
}

fn check_words(check: &JudgedCheck) -> String {
    let text = text::one_line(text::truncate_bytes(&check.text, 4096));
    match (check.wanted, check.met) {
        (true, true) => format!("says: {text}"),
        (true, false) => format!("does not say: {text}"),
        (false, true) => format!("does not say, as required: {text}"),
        (false, false) => format!("says, but must not: {text}"),
    }
}

fn vote(vote: &JudgeVote) -> ReportedVote<'_> {
    let mut words = Vec::new();
    if vote.outcome == Outcome::Errored {
        let cause = vote.cause.map_or("", |cause| cause.name());
        let why = text::one_line(&vote.reason);
        words.push(
            [cause, &why]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(": "),
        );
    }
    let repairs = vote
        .replies
        .iter()
        .filter(|reply| !reply.repair.is_empty())
        .count();
    if repairs > 0 {
        words.push(format!("after {}", text::plural(repairs, "repair request")));
    }
    let said = vote
        .said_passed
        .filter(|said| vote.outcome.is_graded() && *said != (vote.outcome == Outcome::Passed));
    if let Some(said) = said {
        let said = if said { "passed" } else { "failed" };
        words.push(format!("its stated verdict ({said}) does not count"));
    }
    if !vote.unknown.is_empty() {
        let names: Vec<String> = vote
            .unknown
            .iter()
            .take(3)
            .map(|name| text::one_line(name))
            .collect();
        let more = if vote.unknown.len() > names.len() {
            ", ..."
        } else {
            ""
        };
        words.push(format!(
            "scored criteria that are not in the rubric: {}{more}",
            names.join(", ")
        ));
    }
    ReportedVote {
        model: &vote.model,
        outcome: vote.outcome,
        score: vote.score.map_or(String::new(), figures::rate),
        words: words.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_never_shown_on_the_wrong_side_of_what_it_needs() {
        for (value, needed, shown) in [
            (2.4, 3.8, ("2.4", "3.8")),
            (3.8, 3.8, ("3.8", "3.8")),
            (3.799, 3.8, ("3.799", "3.8")),
            (3.799_999, 3.8, ("3.799999", "3.8")),
            (3.8 - 1e-12, 3.8, ("3.8", "3.8")),
            (3.33, 1.0 / 0.3, ("3.33", "3.333")),
            (0.0, 1.0, ("0", "1")),
            (-0.001, 0.5, ("0", "0.5")),
            (100.0, 70.0, ("100", "70")),
        ] {
            let (value, needed) = apart(value, needed);
            assert_eq!((value.as_str(), needed.as_str()), shown);
        }
    }
}
