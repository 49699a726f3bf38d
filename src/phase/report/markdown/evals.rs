//! What suites came to: metrics, and every eval with a box; expected and actual of those that did
//! not pass.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;

use super::{figures, steps};
use crate::model::{
    CaseResult, Cause, EvalResult, EvalStepResult, EvalType, Failure, Outcome, PhaseReport,
    StepResult, Summary,
};
use crate::report::markdown::escape::{code, fence, inline, sentence};
use crate::report::markdown::{decision_sign, notes, type_name};
use crate::report::notices::{self, Notice};
use crate::report::values::{self, Comparison, Excerpt, Limits, LineKind};
use crate::report::{ReportError, differences, figures::decision_label};
use crate::spec::StepType;
use eval_base::text;

/// Evals of a type that are listed: those that did not pass before those that did.
const LISTED: usize = 100;
/// Cases that are listed below an eval.
const CASES: usize = 3;
/// Bytes of expected and actual values in a report: one that is too long is not shown by those who
/// host it.
const TOLD_BYTES: usize = 120_000;
/// Columns of a value that stands on the line.
const ON_THE_LINE: usize = 100;
const LIMITS: Limits = Limits {
    lines: 16,
    bytes: 1_200,
    context: 2,
    unicode: true,
};
const PLACES: differences::Limits = differences::Limits {
    rows: 10,
    columns: 100,
    unicode: true,
};

pub fn sections(report: &PhaseReport, out: &mut dyn Write) -> Result<(), ReportError> {
    let steps: Vec<&StepResult> = report
        .steps
        .iter()
        .filter(|step| step.kind == StepType::Eval)
        .collect();
    let mut room = TOLD_BYTES;
    for step in &steps {
        let name = if steps.len() > 1 {
            format!(": {}", inline(&step.name))
        } else {
            String::new()
        };
        writeln!(out, "### Eval Results{name}\n")?;
        match &step.eval {
            Some(eval) => section(report, step, eval, &mut room, out)?,
            None => {
                let reason = sentence(&step.reason);
                let told = if reason.is_empty() {
                    String::new()
                } else {
                    format!(": {reason}")
                };
                let words = steps::status_words(step.status);
                writeln!(out, "**{}**{}{told}\n", words, steps::blocking(step))?;
            }
        }
    }
    Ok(())
}

fn section(
    report: &PhaseReport,
    step: &StepResult,
    eval: &EvalStepResult,
    room: &mut usize,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let summary = &eval.eval_report;
    let decision = summary.gate.decision;
    writeln!(
        out,
        "{} {}: **{}**{}\n",
        decision_sign(decision),
        code(&eval.suite),
        decision_label(decision),
        steps::blocking(step)
    )?;
    // A command to go on names the run.
    let remarks: Vec<Notice> = notices::notices(summary)
        .into_iter()
        .map(|notice| Notice {
            command: None,
            ..notice
        })
        .collect();
    notes(&remarks, out)?;
    let said = |reason: &&String| {
        !report
            .gate
            .reasons
            .iter()
            .any(|told| told.contains(reason.as_str()))
    };
    let mut reasons = summary.gate.reasons.iter().filter(said).peekable();
    let any = reasons.peek().is_some();
    for reason in reasons {
        writeln!(out, "- {}", sentence(reason))?;
    }
    if any {
        writeln!(out)?;
    }
    figures::section(eval, out)?;
    ungraded(summary, out)?;
    let mut told = Told::new(summary, room);
    for kind in [EvalType::Capability, EvalType::Regression] {
        list(summary, kind, &mut told, out)?;
    }
    Ok(())
}

/// Samples that no figure counts.
fn ungraded(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    if let Some(words) = ungraded_words(summary) {
        writeln!(out, "{words}\n")?;
    }
    Ok(())
}

/// Samples that no figure counts, in words; `None` when every sample has a grade.
pub fn ungraded_words(summary: &Summary) -> Option<String> {
    let samples = &summary.summary.samples;
    let counted = [
        (samples.errored, "errored"),
        (samples.skipped, "skipped"),
        (samples.pending, "pending"),
    ];
    let parts: Vec<String> = counted
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", text::group_digits(n)))
        .collect();
    let of = text::plural(samples.total, "sample");
    let words = format!(
        "Without a grade, of {of}: {}. They count neither as passed nor as failed.",
        parts.join(", ")
    );
    (!parts.is_empty()).then_some(words)
}

fn list(
    summary: &Summary,
    kind: EvalType,
    told: &mut Told<'_>,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let evals: Vec<&EvalResult> = summary
        .evals
        .iter()
        .filter(|eval| eval.kind == kind)
        .collect();
    if evals.is_empty() {
        return Ok(());
    }
    let passed = evals
        .iter()
        .filter(|eval| eval.outcome == Outcome::Passed)
        .count();
    let number = text::group_digits;
    writeln!(
        out,
        "#### {} Evals ({}/{} passed)\n",
        type_name(kind),
        number(passed),
        number(evals.len())
    )?;
    let listed = chosen(&evals);
    for eval in &listed {
        item(eval, told, out)?;
    }
    let parts: Vec<String> = [
        Outcome::Failed,
        Outcome::Errored,
        Outcome::Pending,
        Outcome::Skipped,
        Outcome::Passed,
    ]
    .into_iter()
    .filter_map(|outcome| {
        let of =
            |evals: &[&EvalResult]| evals.iter().filter(|eval| eval.outcome == outcome).count();
        let more = of(&evals) - of(&listed);
        (more > 0).then(|| format!("{} {outcome}", number(more)))
    })
    .collect();
    if !parts.is_empty() {
        let more = text::plural(evals.len() - listed.len(), "more eval");
        writeln!(out, "- ... and {more}: {}", parts.join(", "))?;
    }
    writeln!(out)?;
    Ok(())
}

/// Those that are listed, in the suite's order: when there are too many, failed ones before
/// errored, pending, skipped and passed.
fn chosen<'a>(evals: &[&'a EvalResult]) -> Vec<&'a EvalResult> {
    let urgency = |outcome: Outcome| match outcome {
        Outcome::Failed => 0,
        Outcome::Errored => 1,
        Outcome::Pending => 2,
        Outcome::Skipped => 3,
        Outcome::Passed => 4,
    };
    let mut order: Vec<usize> = (0..evals.len()).collect();
    order.sort_by_key(|at| evals.get(*at).map(|eval| urgency(eval.outcome)));
    order.truncate(LISTED);
    order.sort_unstable();
    order
        .into_iter()
        .filter_map(|at| evals.get(at).copied())
        .collect()
}

/// `eval › case`, or the one name of both.
pub fn place(eval: &str, case: &str) -> String {
    if eval == case {
        inline(eval)
    } else {
        format!("{} › {}", inline(eval), inline(case))
    }
}

/// `: Name`, unless it is one of the ids that stand before it.
pub fn named(name: &str, ids: &[&str]) -> String {
    let shown = inline(name);
    if shown.is_empty() || ids.contains(&name) {
        String::new()
    } else {
        format!(": {shown}")
    }
}

fn item(eval: &EvalResult, told: &mut Told<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let passed = eval.outcome == Outcome::Passed;
    let (tick, label) = if passed {
        ("x", String::new())
    } else {
        (" ", format!(" ({})", eval.outcome.name().to_uppercase()))
    };
    let name = named(&eval.name, &[&eval.id]);
    let cases = match eval.counts.total {
        0 | 1 => String::new(),
        total => {
            format!(
                ", {} of {} passed",
                text::group_digits(eval.counts.passed),
                text::plural(total, "case")
            )
        }
    };
    writeln!(out, "- [{tick}] {}{name}{label}{cases}", inline(&eval.id))?;
    if !passed {
        told.below(eval, out)?;
    }
    Ok(())
}

/// What is told of failures, as long as there is room.
struct Told<'a> {
    failures: HashMap<(&'a str, &'a str, Outcome), &'a Failure>,
    room: &'a mut usize,
}

impl<'a> Told<'a> {
    fn new(summary: &'a Summary, room: &'a mut usize) -> Self {
        let key = |f: &'a Failure| ((f.eval_id.as_str(), f.case_id.as_str(), f.outcome), f);
        Told {
            failures: summary.failures.iter().map(key).collect(),
            room,
        }
    }

    /// The first cases that ended as their eval did.
    fn below(&mut self, eval: &EvalResult, out: &mut dyn Write) -> Result<(), ReportError> {
        let mut cases = eval
            .cases
            .iter()
            .filter(|case| case.outcome == eval.outcome);
        let lone = eval.counts.total <= 1;
        for case in cases.by_ref().take(CASES) {
            if !lone {
                let cause = case.cause.map_or(case.outcome.name(), Cause::name);
                writeln!(out, "  - {} ({cause})", inline(&case.id))?;
            }
            self.case(eval, case, if lone { "  " } else { "    " }, out)?;
        }
        let more = cases.count();
        if more > 0 {
            writeln!(out, "  - ... and {}", text::plural(more, "more case"))?;
        }
        Ok(())
    }

    fn case(
        &mut self,
        eval: &EvalResult,
        case: &CaseResult,
        indent: &str,
        out: &mut dyn Write,
    ) -> Result<(), ReportError> {
        let key = (eval.id.as_str(), case.id.as_str(), case.outcome);
        let Some(failure) = self.failures.get(&key).copied() else {
            // Skipped and pending ones have no entry; their cause is all there is.
            if let Some(cause) = case.cause.filter(|_| eval.counts.total <= 1) {
                writeln!(out, "{indent}- Cause: `{cause}`")?;
            }
            return Ok(());
        };
        let body = told_of(failure, indent);
        if body.len() <= *self.room {
            *self.room -= body.len();
            out.write_all(body.as_bytes())?;
        } else {
            writeln!(out, "{indent}- Expected and actual are in the JSON report")?;
        }
        Ok(())
    }
}

/// The reason where it says more than the two sides, then the sides.
fn told_of(failure: &Failure, indent: &str) -> String {
    let mut body = String::new();
    let by_path = differences::of_details(&failure.details, PLACES);
    let both = failure.expected.is_some() && failure.actual.is_some();
    let wrong = failure.cause == Some(Cause::WrongAnswer);
    if !failure.reason.trim().is_empty() && (by_path.is_none() && !both || !wrong) {
        let _ = writeln!(body, "{indent}- Reason: {}", sentence(&failure.reason));
    }
    if let Some(rows) = by_path {
        let block = fence("diff", &differences::as_diff(&rows, 2 * ON_THE_LINE));
        let more = if rows.more == 0 {
            String::new()
        } else {
            format!(", and {}", text::plural(rows.more, "more difference"))
        };
        let _ = writeln!(body, "{indent}- By path (`-` expected, `+` actual){more}:");
        body.push_str(&steps::indented(&block, &format!("{indent}  ")));
        return body;
    }
    match values::compare(failure.expected.as_ref(), failure.actual.as_ref(), LIMITS) {
        Comparison::Nothing => {}
        Comparison::Sides { expected, actual } => {
            side("Expected", expected, indent, &mut body);
            side("Actual", actual, indent, &mut body);
        }
        Comparison::Diff { lines, more } => {
            let mut diff = String::new();
            for line in lines {
                let _ = match line.kind {
                    LineKind::Gap => writeln!(diff, "@@ {} @@", line.text),
                    kind => writeln!(diff, "{}{}", kind.sign(), line.text),
                };
            }
            let more = if more == 0 {
                String::new()
            } else {
                format!(", and {}", text::plural(more, "more line"))
            };
            let _ = writeln!(body, "{indent}- Expected (`-`) and actual (`+`){more}:");
            body.push_str(&steps::indented(
                &fence("diff", &diff),
                &format!("{indent}  "),
            ));
        }
    }
    body
}

/// A short value on its line, another in a fence.
fn side(label: &str, side: Option<Excerpt>, indent: &str, body: &mut String) {
    let Some(side) = side else { return };
    let fits = text::width(&side.text) <= ON_THE_LINE && text::one_line(&side.text) == side.text;
    if fits && side.more == 0 && !side.text.is_empty() {
        let _ = writeln!(body, "{indent}- {label}: {}", inline(&side.text));
        return;
    }
    let more = if side.more == 0 {
        String::new()
    } else {
        format!(", and {}", text::plural(side.more, "more line"))
    };
    let _ = writeln!(body, "{indent}- {label}{more}:");
    body.push_str(&steps::indented(
        &fence("text", &side.text),
        &format!("{indent}  "),
    ));
}
