//! The verdicts of the judges of a run, and the labels that belong to them.

use std::collections::{BTreeMap, BTreeSet};

use super::{JudgeIdentity, JudgedOutput, JudgedOutputs, LabelsFile};
use crate::journal::{self, JournalError, RunPaths};
use crate::model::{Attempt, Grade, JudgeVote, Judged, LabelledOutput, Outcome, OutputValue};
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
    let index = journal::index_samples(&journal, |eval, _| !private.contains(eval))?;
    let mut judges: BTreeMap<String, RunJudge> = BTreeMap::new();
    for sample in index.iter() {
        let sample = sample?;
        let Some(attempt) = sample.attempts.last() else {
            continue;
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
                doubt: doubt(judged),
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
fn doubt(judged: &Judged) -> f64 {
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
