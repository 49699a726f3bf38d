//! A run beside accepted scores, in words and rows: one place, so that every report says the same.

use crate::base::text;
use crate::model::{BaselineComparison, CaseName, Metric, MetricChange};
use crate::report::figures;

/// The one thing that nobody should get wrong about it.
pub const INFORMS: &str = "It informs: the gate does not look at it.";

/// A metric of both runs.
pub struct Row {
    pub name: String,
    pub before: String,
    pub now: String,
    /// With its sign; empty when the two can't be subtracted.
    pub change: String,
}

/// Whose scores: `of 2026-03-01, commit a1b2c3d, run eval-...`.
pub fn origin(comparison: &BaselineComparison) -> String {
    let day = comparison.captured_at.get(..10).unwrap_or(&comparison.captured_at);
    let mut words = vec![format!("of {}", text::one_line(day))];
    if let Some(commit) = &comparison.commit {
        let short = text::one_line(commit.get(..7).unwrap_or(commit));
        let dirty = if comparison.dirty { " with changes" } else { "" };
        words.push(format!("commit {short}{dirty}"));
    }
    words.push(format!("run {}", text::one_line(&comparison.run_id)));
    if let Some(rev) = &comparison.rev {
        words.push(format!("read at {}", text::one_line(rev)));
    }
    words.join(", ")
}

/// What became of the cases, and what else is to be known.
pub fn sentences(comparison: &BaselineComparison) -> Vec<String> {
    let counted = |n: usize, what: &str| (n > 0).then(|| format!("{} {what}", text::group_digits(n)));
    let flips = [counted(comparison.broken.count, "broken"), counted(comparison.fixed.count, "fixed")];
    let flips: Vec<String> = flips.into_iter().flatten().collect();
    let cases = text::plural(comparison.compared_cases, "case");
    let mut said = vec![match flips.is_empty() {
        true => format!("{cases} compared: none changed its outcome"),
        false => format!("{cases} compared: {}", flips.join(", ")),
    }];
    let apart: Vec<String> = [
        counted(comparison.new.count, "new"),
        counted(comparison.gone.count, "gone"),
        counted(comparison.changed.count, "changed (another input or grading)"),
        counted(comparison.not_comparable.count, "without a grade now"),
        counted(comparison.not_selected, "left out of this run"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !apart.is_empty() {
        said.push(format!("not compared: {}", apart.join(", ")));
    }
    if !comparison.same_cases {
        said.push(
            "the two runs have other cases: the figures are those of the compared cases alone".to_owned(),
        );
    }
    if comparison.other_samples > 0 {
        let cases = text::plural(comparison.other_samples, "case");
        said.push(format!("{cases} had another number of samples"));
    }
    said.extend(comparison.notes.iter().map(|note| text::one_line(note)));
    said
}

/// The metrics that tell something, in reading order.
pub fn rows(comparison: &BaselineComparison) -> Vec<Row> {
    let mut changes: Vec<&MetricChange> =
        comparison.metrics.iter().filter(|change| is_telling(change)).collect();
    changes.sort_by(|a, b| {
        figures::order_of(&a.name).cmp(&figures::order_of(&b.name)).then_with(|| a.name.cmp(&b.name))
    });
    changes.into_iter().map(row).collect()
}

fn row(change: &MetricChange) -> Row {
    Row {
        name: figures::metric_name(&change.name),
        before: figures::figure_or_none(&change.name, change.baseline),
        now: figures::figure_or_none(&change.name, change.now),
        change: change.delta.map_or_else(String::new, |delta| signed(&change.name, delta)),
    }
}

/// A difference with its sign; nothing that is not 0 is written as 0.
fn signed(metric: &str, delta: f64) -> String {
    // Sums of shares differ in their last bits though they are the same.
    if delta.abs() < 1e-12 {
        return "=".to_owned();
    }
    let sign = if delta > 0.0 { '+' } else { '-' };
    format!("{sign}{}", figures::figure(metric, delta.abs()))
}

/// False for pass^1, which is pass@1, and for counts that are 0 in both.
fn is_telling(change: &MetricChange) -> bool {
    match change.name.parse::<Metric>() {
        Ok(Metric::PassHat(1) | Metric::PassHatUnbiased(1)) => false,
        Ok(Metric::FailedSamples | Metric::ErroredSamples | Metric::FlakySamples) => {
            change.baseline != change.now
        }
        // Of judges only what differs is worth a line: how they did has a section of its own.
        Ok(metric) if metric.is_of_judges() => change.baseline != change.now,
        _ => true,
    }
}

/// `eval / case`, or the one name of both.
pub fn case_name(case: &CaseName) -> String {
    if case.eval_id == case.case_id {
        text::one_line(&case.eval_id)
    } else {
        text::one_line(&format!("{} / {}", case.eval_id, case.case_id))
    }
}
