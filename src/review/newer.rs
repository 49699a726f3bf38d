//! Ratings that a run does not count yet.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::ReviewError;
use crate::grade::by_store;
use crate::journal;
use crate::model::{Event, HumanReview};
use crate::ratings::RatingStore;

/// Human grades of a run that would be different with the ratings of a store as they are now.
pub fn changed_grades(journal: &Path, store: &RatingStore) -> Result<usize, ReviewError> {
    let mut grades: HashMap<(String, String, u32), Vec<HumanReview>> = HashMap::new();
    for event in journal::read_counts(journal)? {
        if let Event::SampleFinished(sample) = event? {
            let last = sample.attempts.last().into_iter();
            let all = last.flat_map(|attempt| &attempt.verdict.grades);
            let reviews: Vec<HumanReview> = all
                .filter_map(|grade| grade.review.as_deref().cloned())
                .collect();
            grades.insert((sample.eval, sample.case, sample.sample), reviews);
        }
    }
    let ids = |review: &HumanReview| -> BTreeSet<String> {
        review
            .ratings
            .iter()
            .map(|rating| rating.id.clone())
            .collect()
    };
    let differs = |review: &&HumanReview| ids(review) != ids(&by_store((*review).clone(), store).0);
    Ok(grades.values().flatten().filter(differs).count())
}
