//! One step of a phase, as the page shows it.

use serde_json::{Value, json};

use super::evals;
use crate::model::{StepResult, StepStatus, TestResults};
use crate::phase::report::page as steps;
use crate::report::figures;
use eval_base::text;

pub fn of(step: &StepResult, room: &mut usize) -> Value {
    let status = step.status.name().replace('_', " ");
    // What a status means beyond its word.
    let means = steps::status_words(step.status)
        .strip_prefix(&status)
        .unwrap_or_default();
    let ran = !matches!(step.status, StepStatus::NotChecked | StepStatus::NotReached);
    json!({
        "kind": step.kind.name(),
        "name": step.name,
        "status": status,
        "means": means.trim_start_matches([':', ' ']),
        "tone": tone(step.status),
        "blocks": steps::blocking(step).is_empty(),
        "action": step.action,
        "duration": ran.then(|| figures::duration_seconds(step.duration_seconds)),
        "reason": step.reason,
        "exit_code": step.exit_code.map(|code| code.to_string()),
        "tail": text::sanitize(&step.output_tail).trim_end(),
        "counted": counted(step),
        "tests": step.tests.as_ref().map(tests),
        "eval": step.eval.as_deref().map(|eval| evals::of(eval, room)),
    })
}

fn tone(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Passed => "passed",
        StepStatus::Failed => "failed",
        StepStatus::Incomplete | StepStatus::NotChecked => "errored",
        StepStatus::Pending => "pending",
        StepStatus::NotReached => "skipped",
    }
}

/// What a step counted.
fn counted(step: &StepResult) -> Option<String> {
    if let Some(eval) = &step.eval {
        let totals = &eval.eval_report.summary;
        let number = text::group_digits;
        return Some(format!(
            "{}/{} evals passed",
            number(totals.passed),
            number(totals.total_evals)
        ));
    }
    match &step.tests {
        Some(tests) if tests.total > 0 => Some(format!("tests: {}", steps::counted(tests))),
        _ if step.kind.name() == "test" && step.status == StepStatus::Passed => {
            Some("how many tests ran is not known".to_owned())
        }
        _ => None,
    }
}

fn tests(tests: &TestResults) -> Value {
    let failures = tests
        .failures
        .iter()
        .map(|failure| (&failure.suite, &failure.name, &failure.message));
    let told = tests
        .failed
        .max(tests.failures.len() + tests.omitted_failures);
    let more = told.saturating_sub(tests.failures.len());
    json!({
        "source": tests.source,
        "files": tests.files,
        "notes": tests.notes,
        "failures": failures.collect::<Vec<_>>(),
        "more": (more > 0).then(|| text::plural(more, "more failed test")),
    })
}
