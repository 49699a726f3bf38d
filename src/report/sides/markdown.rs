//! Side by side as Markdown.

use std::io::Write;

use super::{MAX_CASES, Sides};
use crate::model::Outcome;
use crate::report::markdown::escape::{code, code_whole, inline, sentence};
use crate::report::markdown::{decision_sign, outcome_sign, table};
use crate::report::{ReportError, figures};
use eval_base::text;

pub fn render(sides: &Sides, out: &mut dyn Write) -> Result<(), ReportError> {
    let name = sides
        .runs
        .first()
        .map(|run| inline(&run.metadata.suite_name))
        .unwrap_or_default();
    writeln!(
        out,
        "# {name}: {} side by side\n",
        text::plural(sides.runs.len(), "target")
    )?;
    let labels: Vec<String> = sides.labels().iter().map(|label| inline(label)).collect();
    for caution in sides.cautions() {
        writeln!(out, "> ⚠️ {}\n", sentence(&caution))?;
    }
    gates(sides, &labels, out)?;
    metrics(sides, &labels, out)?;
    evals(sides, &labels, out)?;
    cases(sides, &labels, out)
}

/// The head of a table with a column for each run.
fn head<'a>(first: &'a str, labels: &'a [String]) -> (Vec<&'a str>, Vec<bool>) {
    let names = std::iter::once(first)
        .chain(labels.iter().map(String::as_str))
        .collect();
    (names, vec![false; labels.len() + 1])
}

fn gates(sides: &Sides, labels: &[String], out: &mut dyn Write) -> Result<(), ReportError> {
    writeln!(out, "## Gates\n")?;
    let rows: Vec<Vec<String>> = sides
        .runs
        .iter()
        .zip(labels)
        .map(|(run, label)| {
            let decision = run.gate.decision;
            let model = run
                .metadata
                .environment
                .model
                .as_deref()
                .map(code)
                .unwrap_or_default();
            let gate = format!(
                "{} {}",
                decision_sign(decision),
                figures::decision_label(decision)
            );
            let counts = &run.summary.cases;
            let cases = format!("{} of {}", counts.passed, text::group_digits(counts.total));
            let duration = figures::duration_seconds(run.metadata.duration_seconds);
            vec![
                label.clone(),
                model,
                gate,
                cases,
                duration,
                code(&run.metadata.run_id),
            ]
        })
        .collect();
    let right = [false, false, false, true, true, false];
    table(
        out,
        &["target", "model", "gate", "cases passed", "time", "run"],
        &right,
        &rows,
    )?;
    for (run, label) in sides.runs.iter().zip(labels) {
        for reason in &run.gate.reasons {
            writeln!(out, "- {label}: {}", sentence(reason))?;
        }
    }
    if sides.runs.iter().any(|run| !run.gate.reasons.is_empty()) {
        writeln!(out)?;
    }
    Ok(())
}

fn metrics(sides: &Sides, labels: &[String], out: &mut dyn Write) -> Result<(), ReportError> {
    writeln!(out, "## Metrics\n")?;
    let rows: Vec<Vec<String>> = sides
        .metrics()
        .into_iter()
        .map(|metric| {
            let cell = |run: &&crate::model::Summary| {
                let row = figures::metric_row(run, metric);
                format!("{} {}", row.value, row.interval)
                    .trim_end()
                    .to_owned()
            };
            std::iter::once(inline(&figures::metric_name(metric)))
                .chain(sides.runs.iter().map(cell))
                .collect()
        })
        .collect();
    let (names, mut right) = head("metric", labels);
    right.iter_mut().skip(1).for_each(|right| *right = true);
    table(out, &names, &right, &rows)?;
    writeln!(
        out,
        "In brackets: intervals at 95 %. They are of each target alone; nothing here tests a difference.{}\n",
        sides
            .compare()
            .map(|command| format!(" {} does.", code_whole(&command)))
            .unwrap_or_default()
    )?;
    Ok(())
}

fn evals(sides: &Sides, labels: &[String], out: &mut dyn Write) -> Result<(), ReportError> {
    let lines = sides.evals();
    let differing: Vec<_> = lines.iter().filter(|line| line.differs()).collect();
    writeln!(out, "## Evals\n")?;
    if differing.is_empty() {
        writeln!(out, "Every eval ended alike on each target.\n")?;
        return Ok(());
    }
    let rows: Vec<Vec<String>> = differing
        .iter()
        .take(MAX_CASES)
        .map(|line| {
            let cell = |eval: &Option<&crate::model::EvalResult>| match eval {
                Some(eval) => {
                    format!(
                        "{} {}/{}",
                        outcome_sign(eval.outcome),
                        eval.counts.passed,
                        eval.counts.total
                    )
                }
                None => "not run".to_owned(),
            };
            std::iter::once(code(line.id))
                .chain(line.runs.iter().map(cell))
                .collect()
        })
        .collect();
    let (names, right) = head("eval", labels);
    table(out, &names, &right, &rows)?;
    let alike = lines.len() - differing.len();
    more(out, differing.len().saturating_sub(MAX_CASES), "eval")?;
    if alike > 0 {
        writeln!(
            out,
            "{} more ended alike on each target.\n",
            text::group_digits(alike)
        )?;
    }
    Ok(())
}

fn cases(sides: &Sides, labels: &[String], out: &mut dyn Write) -> Result<(), ReportError> {
    let Some(lines) = sides.cases() else {
        writeln!(
            out,
            "The runs are too large to list the cases that ended differently.\n"
        )?;
        return Ok(());
    };
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Cases that ended differently\n")?;
    let cell = |case: &Option<&crate::model::CaseResult>| match case {
        None => "not run".to_owned(),
        Some(case) => match case.cause.filter(|_| case.outcome != Outcome::Passed) {
            Some(cause) => format!("{} {}", outcome_sign(case.outcome), inline(cause.name())),
            None => format!("{} {}", outcome_sign(case.outcome), case.outcome),
        },
    };
    let rows: Vec<Vec<String>> = lines
        .iter()
        .take(MAX_CASES)
        .map(|line| {
            std::iter::once(code(&line.name()))
                .chain(line.runs.iter().map(cell))
                .collect()
        })
        .collect();
    let (names, right) = head("case", labels);
    table(out, &names, &right, &rows)?;
    more(out, lines.len().saturating_sub(MAX_CASES), "case")
}

fn more(out: &mut dyn Write, hidden: usize, noun: &str) -> Result<(), ReportError> {
    if hidden > 0 {
        writeln!(
            out,
            "and {} more; the JSON report lists all.\n",
            text::plural(hidden, noun)
        )?;
    }
    Ok(())
}
