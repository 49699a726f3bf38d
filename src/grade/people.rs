//! Grades by people: the question about an output, and what the ratings in the project's reviews
//! make of it.

use std::sync::Arc;

use serde_json::Value;

use super::RunGraders;
use super::combine::joined;
use super::measure::finished;
use crate::model::{
    Case, CaseInput, Cause, CountedRating, Grade, GraderKind, GraderType, HumanReview, Outcome,
    OutputValue, QuestionDigests, Rating, ReviewPolicy, Verdict, output_digest, rubric_digest,
};
use crate::ratings::{PeopleVerdict, RatingStore, assessed};
use crate::spec::{HumanGraderConfig, RatingKind};
use eval_base::redact::Redactor;
use eval_base::text::{one_line, plural, shortened};

pub(super) const METHOD: &str = "human";

/// Bytes of an input that `{input_summary}` shows, and of a comment in a reason.
const SUMMARY: usize = 300;

/// The ratings of the suite, or why they can't be read.
pub type KnownRatings = Result<Arc<RatingStore>, String>;

impl RunGraders {
    /// A verdict with the grades that people have given by now; the other grades stay. `None` where
    /// the grades are not those of the case's graders.
    pub fn by_people(&self, case: &Case, verdict: &Verdict) -> Option<Verdict> {
        let grading = &case.grading;
        let mut earlier = verdict.grades.iter().peekable();
        let mut grades: Vec<Option<Grade>> = Vec::with_capacity(grading.graders.len());
        for grader in &grading.graders {
            let is_of = |grade: &&Grade| {
                grade.grader_type == grader.kind.grader_type()
                    && grade.method == grader.kind.method()
                    && grade.grader == grader.name
            };
            let known = earlier.next_if(is_of).cloned();
            grades.push(match (&grader.kind, known) {
                (GraderKind::Human { config, expected }, Some(earlier)) => {
                    let known = earlier.review?.digests;
                    let ratings = self.ratings.as_ref();
                    let renewed = grade(
                        (grader.name.as_deref(), config),
                        expected.as_ref(),
                        case,
                        known,
                        ratings,
                    );
                    Some(finished(grader, renewed))
                }
                (_, known) => known,
            });
        }
        // One that is left is of another grader.
        let has_people = || grades.iter().flatten().any(|grade| grade.review.is_some());
        (earlier.next().is_none() && has_people()).then(|| joined(grading, grades))
    }
}

/// The digests of input and output as the journal keeps them: without secrets.
pub(super) fn digests(
    case: &Case,
    value: &OutputValue,
    left: Option<&str>,
    redactor: &Redactor,
) -> QuestionDigests {
    let kept = match value {
        OutputValue::Text(text) => redactor.redact(text).map(OutputValue::Text),
        OutputValue::Program(text) => redactor.redact(text).map(OutputValue::Program),
        OutputValue::Json(value) => {
            let mut value = value.clone();
            redactor.redact_value(&mut value);
            Some(OutputValue::Json(value))
        }
    };
    QuestionDigests {
        input: input_digest(&case.input_hash.to_string()),
        output: output_digest(kept.as_ref().unwrap_or(value), left),
        rubric: String::new(),
    }
}

/// The digest of an input by the fingerprint that the journal has of it.
pub fn input_digest(fingerprint: &str) -> String {
    format!("sha256:{fingerprint}")
}

/// The grade of an output by the ratings that there are. `known` has the digests of its input and
/// output.
pub(super) fn grade(
    (name, config): (Option<&str>, &Value),
    reference: Option<&Value>,
    case: &Case,
    known: QuestionDigests,
    ratings: Option<&KnownRatings>,
) -> Grade {
    let errored = |why: String| Grade::errored(GraderType::Human, METHOD, Cause::Harness, why);
    let config: HumanGraderConfig = match serde_json::from_value(config.clone()) {
        Ok(config) => config,
        Err(error) => return errored(format!("the settings of the human grader: {error}")),
    };
    let policy = ReviewPolicy::of(&config);
    let rubric = filled(
        config.rubric.as_deref().unwrap_or_default(),
        &policy,
        case,
        reference,
    );
    let digests = QuestionDigests {
        rubric: rubric_digest(&rubric, &policy.scale, reference),
        ..known
    };
    let open = HumanReview::open(digests, policy);
    let review = HumanReview {
        grader: name.map_or(open.grader.clone(), str::to_owned),
        rubric,
        reference: reference.cloned(),
        ..open
    };
    let none = Arc::default();
    let store = match ratings {
        Some(Ok(store)) => store,
        Some(Err(why)) => return errored(why.clone()),
        None => &none,
    };
    let (review, verdict) = by_store(review, store);
    let mut grade = of_verdict(&review, verdict);
    if grade.outcome == Outcome::Pending && !store.problems().is_empty() {
        let lines = plural(store.problems().len(), "line");
        grade.reason = format!("{} ({lines} of the reviews can't be read)", grade.reason);
    }
    grade.review = Some(Box::new(review));
    grade
}

/// What the ratings of a store mean for a question.
pub fn by_store(review: HumanReview, store: &RatingStore) -> (HumanReview, PeopleVerdict) {
    let digests = review.digests.clone();
    let lines = match review.policy.is_ranking() {
        true => store.rankings_of(&digests.input, &digests.rubric, &digests.output),
        false => store.of_question(&digests),
    };
    let counted = lines
        .into_iter()
        .filter_map(|line| Some((line.counted()?, line.repeat)));
    assessed(review, counted.collect(), &digests.output)
}

fn of_verdict(review: &HumanReview, verdict: PeopleVerdict) -> Grade {
    let pending = |reason: String| Grade::pending(GraderType::Human, METHOD, reason);
    match verdict {
        PeopleVerdict::Missing(missing) => {
            let needed = review.policy.min_required;
            let missing = plural(missing as usize, "review");
            pending(match needed {
                1 => "waits for a review".to_owned(),
                _ => format!("waits for {missing} of {needed}"),
            })
        }
        PeopleVerdict::Adjudication => pending(format!(
            "reviewers differ, so a further one must decide ({})",
            said(&review.ratings)
        )),
        PeopleVerdict::Decided { passed, score } => {
            let reason = said(&review.ratings);
            let cause = match review.policy.scale.kind {
                RatingKind::Binary => Cause::WrongAnswer,
                RatingKind::Likert | RatingKind::Ranking => Cause::Threshold,
            };
            let grade = match passed {
                Some(false) => Grade::failed(GraderType::Human, METHOD, cause, reason),
                // A ranking without a threshold decides nothing: it is informative.
                Some(true) | None => Grade {
                    reason,
                    ..Grade::passed(GraderType::Human, METHOD)
                },
            };
            grade.with_score(score)
        }
    }
}

/// Who said what: `ana: pass; ben: 2 (wrong units)`.
fn said(ratings: &[CountedRating]) -> String {
    let of = |counted: &CountedRating| {
        let rating = match &counted.rating {
            Rating::Binary { value: true } => "pass".to_owned(),
            Rating::Binary { value: false } => "fail".to_owned(),
            Rating::Likert { scores } => {
                let score = |(criterion, score): (&String, &i64)| match criterion.as_str() {
                    "" => score.to_string(),
                    criterion => format!("{} {score}", one_line(criterion)),
                };
                scores.iter().map(score).collect::<Vec<_>>().join(", ")
            }
            Rating::Ranking { .. } => "ranked".to_owned(),
            Rating::Skip => "skipped".to_owned(),
        };
        let comment = counted
            .comment
            .as_deref()
            .filter(|comment| !comment.trim().is_empty());
        let comment =
            comment.map(|comment| format!(" ({})", one_line(&shortened(comment, SUMMARY))));
        let late = if counted.over_time { ", over time" } else { "" };
        format!(
            "{}: {rating}{late}{}",
            one_line(&counted.reviewer),
            comment.unwrap_or_default()
        )
    };
    ratings.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The rubric with its placeholders filled in; those that have no value stay.
fn filled(rubric: &str, policy: &ReviewPolicy, case: &Case, reference: Option<&Value>) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let value = |name: &str| -> Option<String> {
        match name {
            "task_description" => Some(case.name.clone().unwrap_or_else(|| case.id.clone())),
            "input_summary" => Some(summary(&case.input)),
            "requirements" => reference.map(text),
            _ => {
                let (number, part) = name.strip_prefix("criterion_")?.split_once('_')?;
                let at = number.parse::<usize>().ok()?.checked_sub(1)?;
                let criterion = policy.scale.criteria.get(at)?;
                let (name, description) = criterion.split_once(':').unwrap_or((criterion, ""));
                match part {
                    "name" => Some(name.trim().to_owned()),
                    "description" => Some(description.trim().to_owned()),
                    _ => None,
                }
            }
        }
    };
    let (mut out, mut rest) = (String::new(), rubric);
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after
            .split_once('}')
            .and_then(|(name, behind)| Some((value(name)?, behind)))
        {
            Some((value, behind)) => {
                out.push_str(&value);
                rest = behind;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The beginning of an input.
fn summary(input: &CaseInput) -> String {
    let text = match input {
        CaseInput::Prompt { text, .. } => text.clone(),
        CaseInput::File { path, .. } => {
            let name = path.file_name().unwrap_or_default();
            format!("the file {}", name.to_string_lossy())
        }
        CaseInput::Messages { messages, .. } => {
            let last = messages.last();
            last.map(|message| message.content.clone())
                .unwrap_or_default()
        }
        CaseInput::ApiCall {
            method, endpoint, ..
        } => format!("{method} {endpoint}"),
        CaseInput::Data { value } => value.to_string(),
    };
    one_line(&shortened(&text, SUMMARY))
}
