//! `--metric`: names that somebody typed, held against those that there are.

use std::collections::BTreeSet;

use crate::cli::CliFailure;
use crate::model::{Metric, PLAIN_METRICS, RunScores};
use crate::summary::compare::{COST_PER_SAMPLE, TOKENS_PER_SAMPLE};

/// Names that a comparison gives what a run sums up.
const OF_COMPARISONS: [&str; 2] = [TOKENS_PER_SAMPLE, COST_PER_SAMPLE];

/// The metrics of these names, each once.
///
/// # Errors
/// When a name is that of no metric, or of none that any of the sides has.
pub fn named<'a>(
    names: &[String],
    sides: impl Iterator<Item = &'a RunScores>,
) -> Result<Vec<Metric>, CliFailure> {
    let mut own: BTreeSet<&str> = BTreeSet::new();
    for side in sides {
        let cases = side.evals.iter().flat_map(|eval| &eval.cases);
        cases.for_each(|case| own.extend(case.metrics.keys().map(String::as_str)));
    }
    let mut metrics = Vec::with_capacity(names.len());
    for name in names {
        let metric = match name.parse::<Metric>() {
            Ok(Metric::Named(name)) if name == TOKENS_PER_SAMPLE => Ok(Metric::Tokens),
            Ok(Metric::Named(name)) if name == COST_PER_SAMPLE => Ok(Metric::CostUsd),
            Ok(Metric::Named(name)) if !own.contains(name.as_str()) => Err(()),
            Ok(metric) => Ok(metric),
            Err(_) => Err(()),
        };
        let metric = metric.map_err(|()| unknown(name, &own))?;
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    Ok(metrics)
}

fn unknown(name: &str, own: &BTreeSet<&str>) -> CliFailure {
    let failure = CliFailure::wrong(format!("neither side has a metric `{name}`"));
    let patterns = ["pass_at_1", "pass_hat_1", "pass@1", "pass^1"];
    let built_in = PLAIN_METRICS.iter().map(|(_, name)| *name);
    let own = OF_COMPARISONS.into_iter().chain(own.iter().copied());
    let known: Vec<&str> = patterns.into_iter().chain(built_in).chain(own).collect();
    match eval_base::nearest::did_you_mean(name, known.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure
            .hint("such as pass_at_1, pass^3, case_pass_rate, score, or one that graders measure"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        match named(&names, std::iter::empty()) {
            Ok(metrics) => metrics
                .iter()
                .map(Metric::to_string)
                .collect::<Vec<_>>()
                .join(" "),
            Err(failure) => format!("{} ({})", failure.message, failure.hint.unwrap_or_default()),
        }
    }

    #[test]
    fn a_name_is_read_in_any_spelling_and_a_slip_is_answered_with_what_is_near() {
        insta::assert_snapshot!(
            [said(&["pass@3", "pass_at_3", "score"]), said(&["tokens_per_sample", "cost_usd_per_sample", "tokens"]), said(&["pas_rate"]), said(&["tokens_per_samples"]), said(&["edit_rate"]), said(&["Score"])].join("\n"),
            @"
        pass_at_3 score
        tokens cost_usd
        neither side has a metric `pas_rate` (did you mean `pass_rate`?)
        neither side has a metric `tokens_per_samples` (did you mean `tokens_per_sample`?)
        neither side has a metric `edit_rate` (such as pass_at_1, pass^3, case_pass_rate, score, or one that graders measure)
        neither side has a metric `Score` (did you mean `score`?)
        "
        );
    }
}
