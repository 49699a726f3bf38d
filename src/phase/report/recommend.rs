//! What to do about a phase: failed tests and commands, what the suites recommend, and what nobody
//! checked.

use std::collections::HashSet;

use crate::model::{StepResult, StepStatus, TestFailure};
use crate::spec::{FailureAction, StepType};
use crate::summary::LITTLE_DATA;
use eval_base::text;

/// The most pieces of advice that a phase gives.
pub const MOST: usize = 10;
/// Columns of a name and of a reason.
const NAME: usize = 60;
const REASON: usize = 120;

/// Steps that block come before those that don't, and what failed before what could not be found
/// out; else in the steps' order.
pub fn of_steps(steps: &[StepResult]) -> Vec<String> {
    let mut ranked: Vec<(u8, String)> = Vec::new();
    for step in steps {
        let behind = if step.action == FailureAction::Block {
            0
        } else {
            10
        };
        match &step.eval {
            Some(eval) => ranked.extend(eval.eval_report.recommendations.iter().cloned().map(
                |advice| {
                    let rank = if advice.starts_with(LITTLE_DATA) {
                        30
                    } else {
                        behind + 1
                    };
                    (rank, advice)
                },
            )),
            None => ranked.extend(of_step(step).map(|(rank, advice)| (behind + rank, advice))),
        }
    }
    ranked.extend(unchecked(steps).map(|advice| (20, advice)));
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut seen = HashSet::new();
    let mut all: Vec<String> = ranked.into_iter().map(|(_, advice)| advice).collect();
    all.retain(|advice| seen.insert(advice.clone()));
    if all
        .iter()
        .filter(|advice| advice.starts_with(LITTLE_DATA))
        .count()
        > 1
    {
        // Each suite says its own number; of them all it is one thing to know.
        all.retain(|advice| !advice.starts_with(LITTLE_DATA));
        all.push(format!(
            "{LITTLE_DATA}: with so few samples graded the intervals are wide"
        ));
    }
    all.truncate(MOST);
    all
}

fn of_step(step: &StepResult) -> Option<(u8, String)> {
    let name = short(&step.name);
    let why = reason(&step.reason);
    let detail = if why.is_empty() {
        String::new()
    } else {
        format!(": {why}")
    };
    match step.status {
        StepStatus::Failed => Some((
            0,
            tests(step).unwrap_or_else(|| format!("Fix {name}{detail}")),
        )),
        StepStatus::Incomplete => Some((2, format!("Find out why {name} is incomplete{detail}"))),
        StepStatus::Pending => Some((2, format!("Complete {name}{detail}"))),
        StepStatus::Passed | StepStatus::NotChecked | StepStatus::NotReached => None,
    }
}

/// `Fix 3 failed tests of Unit tests, first auth › expires: ...`; `None` when no test is known to
/// have failed.
fn tests(step: &StepResult) -> Option<String> {
    let tests = step.tests.as_ref().filter(|tests| tests.failed > 0)?;
    let first = |test: &TestFailure| {
        let suite = if test.suite.trim().is_empty() {
            String::new()
        } else {
            format!("{} › ", short(&test.suite))
        };
        let message = reason(&test.message);
        let detail = if message.is_empty() {
            String::new()
        } else {
            format!(": {message}")
        };
        let order = if tests.failed > 1 { "first " } else { "" };
        format!(", {order}{suite}{}{detail}", short(&test.name))
    };
    let first = tests.failures.first().map(first).unwrap_or_default();
    Some(format!(
        "Fix {} of {}{first}",
        text::plural(tests.failed, "failed test"),
        short(&step.name)
    ))
}

/// Steps that others are to check. That the code was written is what tests and evals check.
fn unchecked(steps: &[StepResult]) -> Option<String> {
    let open = |step: &&StepResult| {
        step.status == StepStatus::NotChecked && step.kind != StepType::Implement
    };
    let names: Vec<String> = steps
        .iter()
        .filter(open)
        .map(|step| short(&step.name))
        .collect();
    let (last, before) = names.split_last()?;
    let all = if before.is_empty() {
        last.clone()
    } else {
        format!("{} and {last}", before.join(", "))
    };
    let it = if before.is_empty() { "it" } else { "them" };
    Some(format!(
        "Check {all} yourself, or give {it} a `command`: nothing was run for {it}"
    ))
}

fn short(name: &str) -> String {
    let line = text::one_line(text::truncate_bytes(name, 4096));
    if line.is_empty() {
        "(no name)".to_owned()
    } else {
        text::truncate_width(&line, NAME).into_owned()
    }
}

fn reason(reason: &str) -> String {
    let line = text::one_line(text::truncate_bytes(reason, 16 * 1024));
    text::truncate_width(line.trim_end_matches(['.', ' ']), REASON).into_owned()
}
