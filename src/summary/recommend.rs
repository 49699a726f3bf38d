//! What to do about a run. Every piece of advice rests on what the summary holds - counts, causes,
//! reasons, scores - and names what it speaks of; nothing guesses at a cause.
//!
//! No duration, time or run id gets into it: two runs with the same outcomes give the same advice,
//! word by word, unless time is what it speaks of (how near to a limit programs came, which cases
//! are slowest).

mod causes;
mod patterns;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{HashMap, HashSet};

use crate::model::limits;
use crate::model::{
    CaseResult, Cause, Criticality, Decision, EvalResult, EvalType, Failure, Gate, JudgeHealth,
    Omitted, Outcome, Totals,
};

use eval_base::text::{group_digits, plural};
use words::{FailurePlaces, reason, samples, title};

/// How the advice begins that is about too little data: it presses less than anything else.
pub const LITTLE_DATA: &str = "Do not rely on small differences between these figures";

/// Failed evals that are told one by one; more are told in one sentence.
const SINGLES: usize = 3;

/// What is known of a run.
pub(super) struct RunFindings<'a> {
    pub evals: &'a [EvalResult],
    pub totals: &'a Totals,
    pub failures: &'a [Failure],
    pub gate: &'a Gate,
    pub judges: Option<&'a JudgeHealth>,
    pub omitted: Omitted,
    /// The run whose outputs were graded again.
    pub regrade_of: Option<&'a str>,
    /// The suite file, as it was given.
    pub suite: Option<&'a str>,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AdviceRank {
    /// Programs that tampered with their verdict: no figure can be trusted before they were read.
    Tampering,
    /// Regressions that no threshold forgives.
    Critical,
    /// What could not be found out.
    Unknown,
    /// One more pass would do.
    Near,
    /// What most failures have in common.
    Shared,
    /// Failed evals.
    Fix,
    /// Failures of one kind.
    Kind,
    Pending,
    /// Thresholds on time and cost.
    Slow,
    Flaky,
    Skipped,
    /// Too little data.
    Thin,
}

struct Advice {
    rank: AdviceRank,
    text: String,
}

fn advice(rank: AdviceRank, text: impl Into<String>) -> Advice {
    Advice {
        rank,
        text: text.into(),
    }
}

/// The most pressing first, each one sentence without a full stop.
pub(super) fn recommend(known: &RunFindings<'_>) -> Vec<String> {
    let index = FailuresByCase::new(known);
    // Evals that a sentence of their own names.
    let mut told: HashSet<&str> = HashSet::new();
    let mut all = causes::all(known);
    all.extend(critical(known, &index, &mut told));
    all.extend(patterns::near_miss(known, &mut told));
    all.extend(patterns::shared(known));
    all.extend(fixes(known, &index, &told));
    all.extend(pending(known));
    all.extend(patterns::slow(known));
    all.extend(flaky(known));
    all.extend(thin(known));
    // Stable: what was said first stays first within its rank.
    all.sort_by_key(|advice| advice.rank);
    let mut seen = HashSet::new();
    all.retain(|advice| seen.insert(advice.text.clone()));
    all.truncate(limits::RECOMMENDATIONS);
    all.into_iter().map(|advice| advice.text).collect()
}

/// Failures by what they are failures of.
struct FailuresByCase<'a> {
    failures: HashMap<(&'a str, &'a str), &'a Failure>,
}

impl<'a> FailuresByCase<'a> {
    fn new(known: &RunFindings<'a>) -> Self {
        let failed = known
            .failures
            .iter()
            .filter(|failure| failure.outcome == Outcome::Failed);
        let failures = failed
            .map(|f| ((f.eval_id.as_str(), f.case_id.as_str()), f))
            .collect();
        FailuresByCase { failures }
    }

    /// The first failed case of an eval, and what is told of it.
    fn first<'e>(&self, eval: &'e EvalResult) -> Option<(&'e CaseResult, Option<&'a Failure>)> {
        let case = eval
            .cases
            .iter()
            .find(|case| case.outcome == Outcome::Failed)?;
        Some((
            case,
            self.failures
                .get(&(eval.id.as_str(), case.id.as_str()))
                .copied(),
        ))
    }

    /// What is wrong with an eval, after its title; empty when nothing is told of it.
    fn why(&self, eval: &EvalResult) -> String {
        let counts = &eval.counts;
        let Some((case, failure)) = self.first(eval) else {
            return String::new();
        };
        let told = failure
            .map(|failure| reason(&failure.reason))
            .unwrap_or_default();
        let told = if told.is_empty() {
            String::new()
        } else {
            format!(": {told}")
        };
        if counts.total > 1 {
            let id = words::short(&case.id);
            return format!(
                ": {} of {} failed, first {id}{told}",
                group_digits(counts.failed),
                plural(counts.total, "case")
            );
        }
        match failure {
            Some(failure) if failure.samples > 1 => {
                format!(": {} failed{told}", samples(failure.samples))
            }
            _ => told,
        }
    }
}

fn failed<'a>(known: &RunFindings<'a>) -> impl Iterator<Item = &'a EvalResult> {
    known
        .evals
        .iter()
        .filter(|eval| eval.outcome == Outcome::Failed)
}

fn is_critical(eval: &EvalResult) -> bool {
    eval.kind == EvalType::Regression && eval.criticality == Some(Criticality::Critical)
}

fn critical<'a>(
    known: &RunFindings<'a>,
    index: &FailuresByCase<'_>,
    told: &mut HashSet<&'a str>,
) -> Vec<Advice> {
    let evals = known
        .evals
        .iter()
        .filter(|eval| eval.outcome == Outcome::Failed && is_critical(eval));
    let evals: Vec<&EvalResult> = evals.collect();
    told.extend(evals.iter().map(|eval| eval.id.as_str()));
    let which = "a critical regression, which fails the gate whatever the thresholds are";
    match evals.as_slice() {
        evals if evals.len() <= SINGLES => evals
            .iter()
            .map(|eval| {
                let why = index.why(eval);
                advice(
                    AdviceRank::Critical,
                    format!("Fix {} first, {which}{why}", title(eval)),
                )
            })
            .collect(),
        evals => {
            let names = words::listed(
                evals.iter().map(|eval| title(eval)),
                evals.len(),
                "critical regression",
            );
            vec![advice(
                AdviceRank::Critical,
                format!(
                    "Fix the critical regressions first, which fail the gate whatever the thresholds are: {names}"
                ),
            )]
        }
    }
}

/// Causes that say nothing more than that an answer was wrong.
fn is_wrong(cause: Option<Cause>) -> bool {
    matches!(
        cause,
        None | Some(Cause::WrongAnswer | Cause::Exception | Cause::Threshold | Cause::Refused)
    )
}

/// Evals whose answers were wrong: regressions first, then in the suite's order.
fn fixes(known: &RunFindings<'_>, index: &FailuresByCase<'_>, told: &HashSet<&str>) -> Vec<Advice> {
    let wrong = |eval: &&EvalResult| {
        !told.contains(eval.id.as_str())
            && index
                .first(eval)
                .is_none_or(|(case, _)| is_wrong(case.cause))
    };
    let mut evals: Vec<&EvalResult> = failed(known).filter(wrong).collect();
    evals.sort_by_key(|eval| eval.kind != EvalType::Regression);
    if evals.len() <= SINGLES {
        let fix = |eval: &&EvalResult| format!("Fix {}{}", title(eval), index.why(eval));
        return evals
            .iter()
            .map(|eval| advice(AdviceRank::Fix, fix(eval)))
            .collect();
    }
    let others = if told.is_empty() { "" } else { "other " };
    let names = words::listed(evals.iter().map(|eval| title(eval)), evals.len(), "eval");
    vec![advice(
        AdviceRank::Fix,
        format!(
            "Fix the {} {others}failed evals: {names}",
            group_digits(evals.len())
        ),
    )]
}

fn pending(known: &RunFindings<'_>) -> Option<Advice> {
    let waiting = known.totals.samples.pending;
    let places = FailurePlaces::of_cases(known, |case| case.outcome == Outcome::Pending);
    let verb = if waiting == 1 { "waits" } else { "wait" };
    let then = "review them with `eval-harness review`, then `eval-harness regrade --people`";
    let then = match known.gate.decision {
        Decision::Pending => format!("{then}; the gate is pending until then"),
        _ => then.to_owned(),
    };
    (waiting > 0).then(|| {
        let text = format!(
            "{}{} {verb} for a human grade: {then}",
            samples(waiting),
            places.of()
        );
        advice(AdviceRank::Pending, text)
    })
}

fn flaky(known: &RunFindings<'_>) -> Option<Advice> {
    let n = known.totals.flaky;
    let places = FailurePlaces::of_cases(known, |case| case.flaky);
    (n > 0).then(|| {
        let text = format!(
            "{}{} passed on a later attempt only: find out what varies before you raise retries; pass@k and pass^k count \
             first attempts",
            samples(n),
            places.of()
        );
        advice(AdviceRank::Flaky, text)
    })
}

/// Graded evals, and planned samples, from which on nobody needs to be told that intervals are
/// wide.
const ENOUGH_EVALS: usize = 10;
const ENOUGH_SAMPLES: usize = 30;

fn thin(known: &RunFindings<'_>) -> Option<Advice> {
    let evals = known
        .evals
        .iter()
        .filter(|eval| eval.outcome.is_graded())
        .count();
    let of_samples = &known.totals.samples;
    // Where nothing is held against a figure nobody reads much into it.
    let held = !known.gate.thresholds.is_empty();
    let thin = held && evals > 0 && evals < ENOUGH_EVALS && of_samples.total < ENOUGH_SAMPLES;
    thin.then(|| {
        let graded = samples(of_samples.passed + of_samples.failed);
        advice(
            AdviceRank::Thin,
            format!("{LITTLE_DATA}: with {graded} graded the intervals are wide"),
        )
    })
}
