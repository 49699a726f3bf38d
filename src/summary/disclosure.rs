//! What a report discloses of a benchmark.

use super::metrics::CountedEval;
use crate::model::{DisclosedDataset, Disclosure, RunStarted};

/// `None` of a run without a dataset.
pub(super) fn disclosure(
    started: &RunStarted,
    evals: &[CountedEval<'_>],
) -> Option<Box<Disclosure>> {
    let environment = &started.run.environment;
    let datasets: Vec<DisclosedDataset> = evals
        .iter()
        .filter_map(|eval| {
            let info = eval.info();
            let samples = || eval.cases().map(|case| case.samples().len());
            Some(DisclosedDataset {
                eval: info.id.clone(),
                dataset: info.dataset.as_deref()?.clone(),
                cases: eval.cases().count(),
                samples_per_case: [
                    samples().min().unwrap_or_default(),
                    samples().max().unwrap_or_default(),
                ],
            })
        })
        .collect();
    let sampling = environment.sampling.as_deref().cloned();
    (!datasets.is_empty()).then(|| {
        Box::new(Disclosure {
            harness: "eval-harness".to_owned(),
            harness_version: started.run.harness_version.clone(),
            model: match &environment.model {
                Some(model) => model.clone(),
                None => environment.target.clone(),
            },
            training_cutoff: sampling
                .as_ref()
                .and_then(|sampling| sampling.training_cutoff.clone()),
            sampling,
            budget: environment.budget,
            known_faults_left_out: Vec::new(),
            datasets,
        })
    })
}
