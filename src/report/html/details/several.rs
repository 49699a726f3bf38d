//! One case in several runs: what each was given, what came back and why it was graded so.

use std::borrow::Cow;

use serde::Serialize;

use super::sample::{self, InputOnPage};
use super::shown::{self, ShownText};
use crate::model::{CaseResult, Grade, Outcome, SampleResult};
use crate::report::limits::html as limits;

/// A case as one run has it; `None` where a run does not have it.
pub type RunOfCase<'a> = Option<&'a CaseResult>;

/// What a page shows of a case in several runs: of each run one sample, as the run's own page shows
/// all of them.
#[derive(Serialize)]
pub struct CaseInRuns<'a> {
    /// What the last run that has the case was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<InputOnPage<'a>>,
    runs: Vec<Option<ShownRun<'a>>>,
}

#[derive(Serialize)]
struct ShownRun<'a> {
    outcome: &'static str,
    /// Where the run was given something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<InputOnPage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<ShownSample<'a>>,
}

#[derive(Serialize)]
struct ShownSample<'a> {
    /// Its number, from 1, and the number of samples as far as it is known.
    number: u32,
    of: usize,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    output_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ShownText<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grades: Vec<ShownGrade<'a>>,
}

/// A grader's reason, where it says more than the sample's.
#[derive(Serialize)]
struct ShownGrade<'a> {
    name: Cow<'a, str>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ShownText<'a>>,
    /// What a judge wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    justification: Option<ShownText<'a>>,
}

impl<'a> CaseInRuns<'a> {
    /// Texts are cut to `limit` bytes.
    pub fn of(runs: &[RunOfCase<'a>], limit: usize) -> CaseInRuns<'a> {
        let given = runs.iter().rev().flatten();
        let given = given.filter_map(|case| case.input.as_deref()).next();
        let shown = |case: &'a CaseResult| {
            let own = case.input.as_deref().filter(|own| Some(*own) != given);
            ShownRun {
                outcome: case.outcome.name(),
                input: own.map(|own| sample::input(own, limit)),
                sample: typical(case).map(|sample| of_sample(case, sample, limit)),
            }
        };
        CaseInRuns {
            input: given.map(|given| sample::input(given, limit)),
            runs: runs.iter().map(|case| case.map(shown)).collect(),
        }
    }
}

/// The first sample that ended as its case did.
pub fn typical(case: &CaseResult) -> Option<&SampleResult> {
    let same = case.samples.iter().find(|one| one.outcome == case.outcome);
    same.or(case.samples.first())
}

fn of_sample<'a>(case: &CaseResult, sample: &'a SampleResult, limit: usize) -> ShownSample<'a> {
    let reason = sample.reason.trim();
    let grades = sample
        .grades
        .iter()
        .filter(|grade| says_more(grade, reason));
    ShownSample {
        number: sample.index.saturating_add(1),
        // How many are not listed is known at least.
        of: (case.samples.len() + sample::unlisted_passes(case)).max(sample.index as usize + 1),
        outcome: sample.outcome.name(),
        cause: sample.cause.map(|cause| cause.name()),
        output: sample
            .output
            .as_ref()
            .map(|output| shown::of_value(output, limit)),
        output_truncated: sample.output_truncated,
        reason: (!reason.is_empty()).then(|| shown::of_text(reason, limit)),
        grades: grades
            .take(limits::ENTRIES)
            .map(|grade| of_grade(grade, reason, limit))
            .collect(),
    }
}

fn says_more(grade: &Grade, reason: &str) -> bool {
    let own = grade.reason.trim();
    let differs = !own.is_empty() && own != reason;
    differs && grade.outcome != Outcome::Passed || justification(grade).is_some()
}

fn justification(grade: &Grade) -> Option<&str> {
    let judged = grade.judged.as_deref()?;
    Some(judged.justification.trim()).filter(|words| !words.is_empty())
}

fn of_grade<'a>(grade: &'a Grade, reason: &str, limit: usize) -> ShownGrade<'a> {
    let own = grade.reason.trim();
    let name = grade.grader.as_deref().unwrap_or(&grade.method);
    ShownGrade {
        name: shown::name(name, limit),
        outcome: grade.outcome.name(),
        reason: (!own.is_empty() && own != reason).then(|| shown::of_text(own, limit)),
        justification: justification(grade).map(|words| shown::of_text(words, limit)),
    }
}
