//! What people rated of a run's outputs, as labels of its judges.

use std::collections::HashMap;

use super::{JudgedOutput, JudgedOutputs, PersonLabel};
use crate::model::{Judge, Rating, ReviewPolicy};
use crate::ratings::{RatingLine, RatingStore, rating_share};
use eval_stats::reaches;

/// What ratings of an output are about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RatedOutput {
    /// Digests of the input and of the output. A rating of both is a label, whichever grader asked
    /// for it.
    pub input: String,
    pub output: String,
    /// The scales of the graders of this output, by the digests of their rubrics.
    pub policies: Vec<(String, ReviewPolicy)>,
}

/// Puts the ratings of a store to the outputs that they are of. Of ratings that were adjudicated the
/// newest adjudication counts; second ratings of the same person don't.
pub fn add_ratings(judges: &mut [JudgedOutputs], store: &RatingStore) {
    let mut known: HashMap<(&str, &str), Vec<&RatingLine>> = HashMap::new();
    for line in store.standing().filter(|line| !line.repeat) {
        let key = (line.input.as_str(), line.output.as_str());
        known.entry(key).or_default().push(line);
    }
    for output in judges.iter_mut().flat_map(|judge| &mut judge.outputs) {
        let Some(rated) = output.rated.clone() else {
            continue;
        };
        let key = (rated.input.as_str(), rated.output.as_str());
        let lines = known.get(&key).map_or(&[][..], Vec::as_slice);
        let adjudicated = lines.iter().rev().find(|line| line.adjudicates);
        let lines = match adjudicated {
            Some(line) => std::slice::from_ref(line),
            None => lines,
        };
        for line in lines {
            let label = label(&rated, output.criterion.as_deref(), line);
            if let Some(label) = label.filter(|label| is_new(output, label)) {
                output.labels.push(label);
            }
        }
    }
}

/// One label of each person: two graders may have asked the same one.
fn is_new(output: &JudgedOutput, label: &PersonLabel) -> bool {
    let mut labels = output.labels.iter();
    labels.all(|known| known.reviewer != label.reviewer)
}

fn label(rated: &RatedOutput, criterion: Option<&str>, line: &RatingLine) -> Option<PersonLabel> {
    let label = |passed, score| {
        Some(PersonLabel {
            reviewer: line.reviewer.clone(),
            passed: Some(passed),
            score,
        })
    };
    match (line.rating.as_ref()?, criterion) {
        (Rating::Binary { value }, None) => label(*value, None),
        (Rating::Likert { scores }, criterion) => {
            let mut policies = rated.policies.iter();
            let (_, policy) = policies.find(|(rubric, _)| *rubric == line.rubric)?;
            let (rating, score) = match criterion {
                None => (
                    Rating::Likert {
                        scores: scores.clone(),
                    },
                    None,
                ),
                Some(name) => {
                    let score = *scores.get(name)?;
                    let scores = [(name.to_owned(), score)].into();
                    (Rating::Likert { scores }, Some(score as f64))
                }
            };
            let least = policy.pass_threshold.unwrap_or(Judge::PASS_THRESHOLD);
            label(reaches(rating_share(policy, &rating)?, least), score)
        }
        _ => None,
    }
}
