//! The verdicts of the judges of a run, and the labels that belong to them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{JudgeIdentity, JudgedOutput, JudgedOutputs, LabelsFile, RatedOutput};
use crate::grade::input_digest;
use crate::journal::{self, JournalError, RunPaths};
use crate::model::{
    Attempt, Event, Grade, JudgeVote, Judged, LabelledOutput, Outcome, OutputValue,
    QuestionDigests, ReviewPolicy, output_digest, rubric_digest,
};
use crate::ratings::question_key;
use crate::spec::HumanGraderConfig;
use eval_base::text::plural;
use eval_stats::reaches;

/// What the judges of a run said of its outputs, by judge. Evals of private datasets are left out,
/// since their cases are not shown; their ids are returned.
///
/// # Errors
/// For a journal that can't be read.
pub fn judged_outputs(
    paths: &RunPaths,
) -> Result<(Vec<JudgedOutputs>, BTreeSet<String>), JournalError> {
    let journal = paths.journal();
    let private: BTreeSet<String> = journal::private_evals(&journal)?.into_iter().collect();
    let categories: BTreeMap<String, Option<String>> = journal::evals(&journal)?
        .into_iter()
        .map(|planned| (planned.eval.id, planned.eval.category))
        .collect();
    let mut inputs: HashMap<(String, String), String> = HashMap::new();
    for event in journal::read_counts(&journal)? {
        if let Event::CasesPlanned(planned) = event? {
            let eval = planned.eval;
            let cases = planned.cases.into_iter();
            inputs.extend(
                cases.map(|case| ((eval.clone(), case.id), input_digest(&case.input_hash))),
            );
        }
    }
    let index = journal::index_samples(&journal, |eval, _| !private.contains(eval))?;
    let mut judges: BTreeMap<String, RunJudge> = BTreeMap::new();
    for sample in index.iter() {
        let sample = sample?;
        let Some(attempt) = sample.attempts.last() else {
            continue;
        };
        let input = inputs.get(&(sample.eval.clone(), sample.case.clone()));
        let rated = match input {
            Some(input) => rated(paths, attempt, input)?,
            None => None,
        };
        for grade in &attempt.verdict.grades {
            let (Some(judged), Some(passed)) = (&grade.judged, own_verdict(grade)) else {
                continue;
            };
            let name = grade.grader.as_ref().unwrap_or(&sample.eval);
            // Without a fingerprint, what two judges of a name are is not known.
            let key = match judged.fingerprint.as_str() {
                "" => format!(" {name}"),
                fingerprint => fingerprint.to_owned(),
            };
            let judge = judges.entry(key).or_insert_with(|| RunJudge {
                name: name.clone(),
                eval: sample.eval.clone(),
                judged: JudgedOutputs {
                    judge: String::new(),
                    identity: identity(judged),
                    outputs: Vec::new(),
                },
            });
            let output = JudgedOutput {
                output: LabelledOutput {
                    eval: sample.eval.clone(),
                    case: sample.case.clone(),
                    sample: sample.sample,
                    target: None,
                },
                category: categories.get(&sample.eval).cloned().flatten(),
                length: length(attempt),
                passed: Some(passed),
                score: judged.score,
                doubt: judge_doubt(judged),
                key: rated
                    .as_ref()
                    .map_or_else(String::new, |rated| rating_key(rated, judged)),
                rated: rated.clone(),
                ..JudgedOutput::default()
            };
            let criteria = judged.criteria.iter().map(|criterion| JudgedOutput {
                criterion: Some(criterion.name.clone()),
                passed: Some(reaches(criterion.share, judged.pass_threshold)),
                score: criterion.score.as_f64(),
                ..output.clone()
            });
            judge.judged.outputs.extend(criteria);
            judge.judged.outputs.push(output);
        }
    }
    Ok((named(judges), private))
}

struct RunJudge {
    name: String,
    eval: String,
    judged: JudgedOutputs,
}

/// Judges with names that are different: that of the grader, with the eval's and then the beginning
/// of the fingerprint where others have it, too.
fn named(judges: BTreeMap<String, RunJudge>) -> Vec<JudgedOutputs> {
    let count = |of: &dyn Fn(&RunJudge) -> String| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for judge in judges.values() {
            *counts.entry(of(judge)).or_default() += 1;
        }
        counts
    };
    let within = |judge: &RunJudge| match judge.name == judge.eval {
        true => judge.name.clone(),
        false => format!("{}.{}", judge.eval, judge.name),
    };
    let (short, long) = (count(&|judge| judge.name.clone()), count(&within));
    let mut named: Vec<JudgedOutputs> = judges
        .iter()
        .map(|(key, judge)| {
            let name = within(judge);
            let name = match (short.get(&judge.name), long.get(&name)) {
                (Some(1), _) => judge.name.clone(),
                (_, Some(1)) => name,
                _ => format!("{name}.{}", key.get(..8).unwrap_or(key).trim()),
            };
            JudgedOutputs {
                judge: name,
                ..judge.judged.clone()
            }
        })
        .collect();
    named.sort_by(|a, b| a.judge.cmp(&b.judge));
    named
}

/// What the judge itself said, before a negation.
fn own_verdict(grade: &Grade) -> Option<bool> {
    match grade.outcome {
        Outcome::Passed => Some(!grade.negated),
        Outcome::Failed => Some(grade.negated),
        _ => None,
    }
}

fn identity(judged: &Judged) -> Option<JudgeIdentity> {
    let mut models: Vec<String> = Vec::new();
    for vote in &judged.votes {
        if !models.contains(&vote.model) {
            models.push(vote.model.clone());
        }
    }
    let votes = judged.votes.iter().map(|vote| vote.index + 1).max();
    (!judged.fingerprint.is_empty()).then(|| JudgeIdentity {
        fingerprint: judged.fingerprint.clone(),
        models,
        votes: votes.unwrap_or(1),
    })
}

/// What ratings of an output are about; `None` without an output that people could see.
fn rated(
    paths: &RunPaths,
    attempt: &Attempt,
    input: &str,
) -> Result<Option<RatedOutput>, JournalError> {
    let reviews = || {
        let grades = attempt.verdict.grades.iter();
        grades.filter_map(|grade| grade.review.as_deref())
    };
    let policies = reviews().map(|review| (review.digests.rubric.clone(), review.policy.clone()));
    let mut rated = RatedOutput {
        input: input.to_owned(),
        output: String::new(),
        policies: policies.collect(),
    };
    if let Some(review) = reviews().next() {
        rated.output.clone_from(&review.digests.output);
        return Ok(Some(rated));
    }
    let Some(value) = journal::graded_value(paths, attempt)? else {
        return Ok(None);
    };
    let left = attempt.output.as_ref().map(|output| &output.workspace);
    let left = left.or(attempt.stored.as_ref().map(|stored| &stored.workspace));
    let left = left.and_then(Option::as_ref).map(|left| left.left.as_str());
    rated.output = output_digest(&value, left);
    Ok(Some(rated))
}

/// The name of the question to reviewers about an output: that of its human grader, or the one that
/// queues make of its judge's rubric.
fn rating_key(rated: &RatedOutput, judged: &Judged) -> String {
    let rubric = match rated.policies.first() {
        Some((rubric, _)) => rubric.clone(),
        None => {
            let policy = ReviewPolicy::of(&HumanGraderConfig::default());
            rubric_digest(&judged.rubric, &policy.scale, None)
        }
    };
    question_key(&QuestionDigests {
        input: rated.input.clone(),
        output: rated.output.clone(),
        rubric,
    })
}

/// Characters of an output; bytes of one that is stored in a separate file.
fn length(attempt: &Attempt) -> Option<f64> {
    let length = match (&attempt.output, &attempt.stored) {
        (Some(output), _) => match &output.value {
            OutputValue::Text(text) | OutputValue::Program(text) => text.chars().count() as u64,
            OutputValue::Json(value) => value.to_string().chars().count() as u64,
        },
        (None, Some(stored)) => stored.bytes,
        (None, None) => return None,
    };
    Some(length as f64)
}

/// 1 where half of the votes pass, or the share of the scale is at the threshold; 0 where all votes
/// agree far from it.
pub fn judge_doubt(judged: &Judged) -> f64 {
    let usable = |vote: &&JudgeVote| vote.outcome.is_graded();
    let votes = judged.votes.iter().filter(usable).count();
    let passed = judged
        .votes
        .iter()
        .filter(|vote| vote.outcome == Outcome::Passed)
        .count();
    let split = match votes {
        0 | 1 => 0.0,
        votes => {
            let share = passed as f64 / votes as f64;
            4.0 * share * (1.0 - share)
        }
    };
    let share = match (judged.score, judged.scale) {
        (Some(score), Some([low, high])) if high > low => Some((score - low) / (high - low)),
        (score, None) if !judged.criteria.is_empty() => score,
        _ => None,
    };
    let near = share.map_or(0.0, |share| {
        (1.0 - 4.0 * (share - judged.pass_threshold).abs()).max(0.0)
    });
    f64::max(split, near).clamp(0.0, 1.0)
}

/// Puts the labels of a file to the outputs of a run; what matches nothing is said.
pub fn join(judges: &mut [JudgedOutputs], file: &LabelsFile) -> Vec<String> {
    let (mut unmatched, mut ambiguous) = (0usize, 0usize);
    let mut unknown: BTreeSet<&str> = BTreeSet::new();
    for labelled in &file.judges {
        let is_named = judges.iter().any(|judge| judge.judge == labelled.judge);
        if !is_named && labelled.judge != super::UNNAMED_JUDGE {
            unknown.insert(&labelled.judge);
            continue;
        }
        for item in labelled
            .outputs
            .iter()
            .filter(|item| !item.labels.is_empty())
        {
            let mut found: Vec<&mut JudgedOutput> = judges
                .iter_mut()
                .filter(|judge| !is_named || judge.judge == labelled.judge)
                .flat_map(|judge| &mut judge.outputs)
                .filter(|output| is_same(output, item))
                .collect();
            let evals: BTreeSet<&str> = found
                .iter()
                .map(|output| output.output.eval.as_str())
                .collect();
            match evals.len() {
                0 => unmatched += 1,
                1 => found.iter_mut().for_each(|output| {
                    output.labels.extend(item.labels.iter().cloned());
                    output.position = output.position.take().or(item.position.clone());
                }),
                _ => ambiguous += 1,
            }
        }
    }
    let mut notes = Vec::new();
    for (count, why) in [
        (unmatched, "of no judged output of the run"),
        (
            ambiguous,
            "whose case is in several evals; add a column `eval`",
        ),
    ] {
        if count > 0 {
            notes.push(format!("{} {why}", plural(count, "label")));
        }
    }
    notes.extend(unknown.iter().map(|name| {
        format!("labels for judge `{name}`, which the run does not have, are left out")
    }));
    notes
}

fn is_same(output: &JudgedOutput, label: &JudgedOutput) -> bool {
    let (of, to) = (&output.output, &label.output);
    (of.case.as_str(), of.sample) == (to.case.as_str(), to.sample)
        && (to.eval.is_empty() || to.eval == of.eval)
        && output.criterion == label.criterion
}
