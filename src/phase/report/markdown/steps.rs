//! Steps that run no suite: test results, and all others.

use std::io::Write;

use crate::model::{StepResult, StepStatus, TestFailure, TestResults};
use crate::report::ReportError;
use crate::report::markdown::escape::{fence, inline, sentence};
use crate::spec::{FailureAction, StepType};
use eval_base::text;

/// Failed tests that are listed of a step, and notes.
const FAILURES: usize = 20;
const NOTES: usize = 5;
/// How much of what a failed command wrote is shown, from its end.
const TAIL_LINES: usize = 30;
const TAIL_BYTES: usize = 3_000;

/// The test steps; nothing when there is none.
pub fn tests(steps: &[StepResult], out: &mut dyn Write) -> Result<(), ReportError> {
    let of_tests: Vec<&StepResult> = steps
        .iter()
        .filter(|step| step.kind == StepType::Test)
        .collect();
    if of_tests.is_empty() {
        return Ok(());
    }
    writeln!(out, "### Test Results\n")?;
    for step in of_tests {
        writeln!(out, "- {}: {}", inline(&step.name), tested(step))?;
        below(step, out)?;
    }
    writeln!(out)?;
    Ok(())
}

/// Steps that are neither tests nor evals, with a box that is ticked only for what passed.
pub fn others(steps: &[StepResult], out: &mut dyn Write) -> Result<(), ReportError> {
    let is_other = |step: &&StepResult| !matches!(step.kind, StepType::Test | StepType::Eval);
    if !steps.iter().any(|step| is_other(&step)) {
        return Ok(());
    }
    writeln!(out, "### Other Steps\n")?;
    for step in steps.iter().filter(is_other) {
        let tick = if step.status == StepStatus::Passed {
            "x"
        } else {
            " "
        };
        let words = status_words(step.status);
        let counts = step.tests.as_ref().filter(|tests| tests.total > 0);
        let counts = counts
            .map(|tests| format!(", {}", counted(tests)))
            .unwrap_or_default();
        let name = inline(&step.name);
        let kind = if step.name == step.kind.name() {
            String::new()
        } else {
            format!(" ({})", step.kind.name())
        };
        writeln!(
            out,
            "- [{tick}] {name}{kind}: {words}{counts}{}",
            blocking(step)
        )?;
        below(step, out)?;
    }
    writeln!(out)?;
    Ok(())
}

/// What a status means, in words.
pub fn status_words(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Passed => "passed",
        StepStatus::Failed => "failed",
        StepStatus::Incomplete => "incomplete",
        StepStatus::Pending => "pending",
        StepStatus::NotChecked => "not checked: nothing was run for it here",
        StepStatus::NotReached => "not reached: the phase ended before it",
    }
}

/// `45/45 passed`, with what else became of them.
pub fn counted(tests: &TestResults) -> String {
    let number = text::group_digits;
    let mut words = format!("{}/{} passed", number(tests.passed), number(tests.total));
    for (n, what) in [(tests.failed, "failed"), (tests.skipped, "skipped")] {
        if n > 0 {
            words.push_str(&format!(", {} {what}", number(n)));
        }
    }
    words
}

/// Counts, where they are known, and how the step ended when they don't say it.
fn tested(step: &StepResult) -> String {
    match (&step.tests, step.status) {
        (Some(tests), _) if tests.total > 0 => format!("{}{}", counted(tests), marks(step)),
        (_, StepStatus::Passed) => "passed (how many tests ran is not known)".to_owned(),
        (_, status) => format!("{}{}", status_words(status), blocking(step)),
    }
}

/// ` (FAILED)`, and whether that blocks; empty for what passed and for what is told in words.
fn marks(step: &StepResult) -> String {
    let label = match step.status {
        StepStatus::Failed => " (FAILED)",
        StepStatus::Incomplete => " (INCOMPLETE)",
        StepStatus::Pending => " (PENDING)",
        StepStatus::Passed | StepStatus::NotChecked | StepStatus::NotReached => {
            return String::new();
        }
    };
    format!("{label}{}", blocking(step))
}

/// What is to be known of a step that did not pass and ends nothing.
pub fn blocking(step: &StepResult) -> &'static str {
    match step.status {
        StepStatus::Failed | StepStatus::Incomplete | StepStatus::Pending
            if step.action != FailureAction::Block =>
        {
            ", which does not block"
        }
        _ => "",
    }
}

/// Why a step did not pass: its reason, failed tests, notes, and where no test is named the end of
/// what the command wrote.
fn below(step: &StepResult, out: &mut dyn Write) -> Result<(), ReportError> {
    let tests = step.tests.as_ref();
    let passed = step.status == StepStatus::Passed;
    if !passed && !step.reason.trim().is_empty() {
        writeln!(out, "  - Reason: {}", sentence(&step.reason))?;
    }
    let failures = tests.map_or(&[][..], |tests| &tests.failures);
    for failure in failures.iter().take(FAILURES) {
        let message = sentence(&failure.message);
        let told = if message.is_empty() {
            String::new()
        } else {
            format!(": {message}")
        };
        writeln!(out, "  - {}{told}", test_name(failure))?;
    }
    let listed = failures.len().min(FAILURES);
    let more = tests
        .map_or(0, |tests| {
            tests.failed.max(failures.len() + tests.omitted_failures)
        })
        .saturating_sub(listed);
    if more > 0 && listed > 0 {
        writeln!(
            out,
            "  - ... and {}",
            text::plural(more, "more failed test")
        )?;
    }
    for note in tests.iter().flat_map(|tests| &tests.notes).take(NOTES) {
        writeln!(out, "  - Note: {}", sentence(note))?;
    }
    let tail = tail(&step.output_tail);
    if !passed && failures.is_empty() && !tail.is_empty() {
        writeln!(out, "  - Its last words:")?;
        out.write_all(indented(&fence("text", &tail), "    ").as_bytes())?;
    }
    Ok(())
}

fn test_name(failure: &TestFailure) -> String {
    if failure.name.trim().is_empty() {
        "(no name)".to_owned()
    } else if failure.suite.trim().is_empty() {
        inline(&failure.name)
    } else {
        format!("{} › {}", inline(&failure.suite), inline(&failure.name))
    }
}

/// The last lines, sanitised.
fn tail(written: &str) -> String {
    let from = written.len().saturating_sub(TAIL_BYTES);
    let end = written
        .get(written.ceil_char_boundary(from)..)
        .unwrap_or_default();
    let clean = text::sanitize(end);
    let lines: Vec<&str> = clean.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(TAIL_LINES);
    let kept = lines.get(skipped..).unwrap_or_default().join("\n");
    let cut = from > 0 || skipped > 0;
    if cut && !kept.is_empty() {
        format!("{}\n{kept}", text::ELLIPSIS)
    } else {
        kept
    }
}

/// A block as part of a list item; no line of it can end the item.
pub fn indented(block: &str, indent: &str) -> String {
    let mut out = String::with_capacity(block.len() * 5 / 4);
    for line in block.lines() {
        if !line.is_empty() {
            out.push_str(indent);
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}
