//! What channels are told.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::{Decision, Outcome, PhaseReport, StepResult, StepStatus, Summary};
use eval_base::text;

/// Reasons and failures that are listed, and metrics.
const LISTED: usize = 20;
const METRICS: usize = 100;
/// Columns of an id, of a name and of a reason.
const COLUMNS: usize = 200;
const REASON: usize = 500;

/// The news of one run or one phase: texts are sanitised, on one line each, and bounded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotifyMessage {
    /// Of a phase: the suites that it ran, joined with `, `.
    pub suite: Option<String>,
    /// The name of a phase.
    pub phase: Option<String>,
    pub decision: Decision,
    pub exit_code: u8,
    pub reasons: Vec<String>,
    pub failures: Vec<NotifyFailure>,
    /// Failures that are not listed.
    pub more_failures: usize,
    /// By name, `null` when undefined; of a phase with several evals `STEP: METRIC`.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Of a phase: of its last eval.
    pub run_id: Option<String>,
    /// Where the report lies.
    pub report: Option<String>,
}

/// What did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotifyFailure {
    /// `case`, `test` or `step`.
    pub kind: &'static str,
    /// `EVAL/CASE` (or `EVAL` alone when its only case has its id), the suite of a test, or the
    /// type of a step.
    pub id: String,
    pub name: String,
    pub outcome: &'static str,
}

impl NotifyMessage {
    /// Of a run; `report` is where its report lies.
    pub fn of_run(summary: &Summary, report: Option<&str>) -> NotifyMessage {
        let (failures, more) = cases(summary);
        NotifyMessage {
            suite: Some(short(&summary.metadata.suite_name)),
            phase: None,
            decision: summary.gate.decision,
            exit_code: summary.gate.exit_code,
            reasons: reasons(&summary.gate.reasons),
            failures,
            more_failures: more,
            metrics: metrics(summary, ""),
            run_id: Some(short(&summary.metadata.run_id)),
            report: report.map(short),
        }
    }

    /// Of a phase; `path` is where its report lies.
    pub fn of_phase(report: &PhaseReport, path: Option<&str>) -> NotifyMessage {
        let (mut failures, mut more) = (Vec::new(), 0);
        let (mut suites, mut all_metrics, mut run_id) = (Vec::new(), BTreeMap::new(), None);
        let evals = report
            .steps
            .iter()
            .filter(|step| step.eval.is_some())
            .count();
        for step in &report.steps {
            more += of_step(step, &mut failures);
            let Some(eval) = &step.eval else { continue };
            let summary = &eval.eval_report;
            let suite = short(&summary.metadata.suite_name);
            if !suites.contains(&suite) {
                suites.push(suite);
            }
            let before = if evals > 1 {
                format!("{}: ", short(&step.name))
            } else {
                String::new()
            };
            all_metrics.extend(metrics(summary, &before));
            run_id = Some(short(&summary.metadata.run_id));
        }
        more += failures.len().saturating_sub(LISTED);
        failures.truncate(LISTED);
        NotifyMessage {
            suite: (!suites.is_empty()).then(|| short(&suites.join(", "))),
            phase: Some(short(&report.metadata.name)),
            decision: report.gate.decision,
            exit_code: report.gate.exit_code,
            reasons: reasons(&report.gate.reasons),
            failures,
            more_failures: more,
            metrics: all_metrics,
            run_id,
            report: path.map(short),
        }
    }
}

/// The step itself, and what failed in it; the number of those that its lists leave out.
fn of_step(step: &StepResult, failures: &mut Vec<NotifyFailure>) -> usize {
    if !matches!(
        step.status,
        StepStatus::Failed | StepStatus::Incomplete | StepStatus::Pending
    ) {
        return 0;
    }
    failures.push(NotifyFailure {
        kind: "step",
        id: step.kind.name().to_owned(),
        name: short(&step.name),
        outcome: step.status.name(),
    });
    let mut more = 0;
    if let Some(tests) = &step.tests {
        failures.extend(tests.failures.iter().map(|test| NotifyFailure {
            kind: "test",
            id: short(&test.suite),
            name: short(&test.name),
            outcome: Outcome::Failed.name(),
        }));
        more += tests.omitted_failures;
    }
    if let Some(eval) = &step.eval {
        let (cases, left_out) = cases(&eval.eval_report);
        failures.extend(cases);
        more += left_out;
    }
    more
}

/// The cases that did not pass, at most [`LISTED`], and how many more there are.
fn cases(summary: &Summary) -> (Vec<NotifyFailure>, usize) {
    let listed = summary.failures.iter().take(LISTED);
    let failures = listed.map(|failure| NotifyFailure {
        kind: "case",
        id: match failure.eval_id == failure.case_id {
            true => short(&failure.eval_id),
            false => short(&format!("{}/{}", failure.eval_id, failure.case_id)),
        },
        name: short(&failure.name),
        outcome: failure.outcome.name(),
    });
    let unlisted = summary.omitted.map_or(0, |omitted| omitted.failures);
    (
        failures.collect(),
        summary.failures.len().saturating_sub(LISTED) + unlisted,
    )
}

fn metrics(summary: &Summary, before: &str) -> BTreeMap<String, Option<f64>> {
    let all = summary.metrics.iter().take(METRICS);
    all.map(|(name, value)| (format!("{before}{}", short(name)), *value))
        .collect()
}

fn reasons(all: &[String]) -> Vec<String> {
    let mut told: Vec<String> = all
        .iter()
        .take(LISTED)
        .map(|reason| line(reason, REASON))
        .collect();
    if all.len() > LISTED {
        told.push(format!(
            "... and {}",
            text::plural(all.len() - LISTED, "more reason")
        ));
    }
    told
}

fn short(raw: &str) -> String {
    line(raw, COLUMNS)
}

fn line(raw: &str, columns: usize) -> String {
    let line = text::one_line(text::truncate_bytes(raw, 64 * 1024));
    text::truncate_width(&line, columns).into_owned()
}
