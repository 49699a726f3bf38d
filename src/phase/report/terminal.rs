//! The page at the end of `phase`: a line for each step, what did not pass, and last the decision
//! and where to look.

use std::collections::HashSet;
use std::io::{self, Write};

use super::markdown::figures::{self, Row};
use crate::model::{
    EvalResult, EvalStepResult, Failure, Outcome, PhaseReport, StepResult, StepStatus, Summary,
    TestFailure, TestResults,
};
use crate::report::figures::duration_seconds;
use crate::report::terminal::page::{Page, Tone, pad_left, pad_right, plain, span};
use crate::report::terminal::{failures, glyph, tone_of, verdict};
use crate::report::{ReportError, TerminalOptions, notices};
use crate::spec::FailureAction;
use eval_base::text;

/// Failed tests, and evals that did not pass, of one step.
const SHOWN: usize = 5;
const SHOWN_VERBOSE: usize = 100;
/// Lines of what a failed command wrote, from its end.
const TAIL: usize = 10;
const TAIL_VERBOSE: usize = 100;
const LONGEST_NAME: usize = 34;

pub fn render(
    report: &PhaseReport,
    options: &TerminalOptions,
    written: &[String],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let mut page = Page::new(out, options);
    header(&mut page, report)?;
    steps(&mut page, report)?;
    for step in &report.steps {
        below(&mut page, step, &report.gate.reasons, options)?;
    }
    recommendations(&mut page, report)?;
    let mut evals = report.steps.iter().filter_map(|step| step.eval.as_ref());
    let unsandboxed = evals.any(|eval| notices::is_unsandboxed(&eval.eval_report));
    verdict(
        &mut page,
        report.gate.decision,
        &report.gate.reasons,
        unsandboxed,
    )?;
    for (at, path) in written.iter().enumerate() {
        page.uncut(if at == 0 { "reports  " } else { "         " }, path)?;
    }
    Ok(())
}

fn header(page: &mut Page, report: &PhaseReport) -> io::Result<()> {
    let metadata = &report.metadata;
    let mut title = vec![span(
        Tone::Bold,
        format!("Phase: {}", text::one_line(&metadata.name)),
    )];
    if metadata.phase_id != metadata.name {
        title.push(span(
            Tone::Dim,
            format!(" ({})", text::one_line(&metadata.phase_id)),
        ));
    }
    page.line(&title)?;
    let mut facts = vec![text::one_line(&metadata.file)];
    facts.extend(metadata.when.as_deref().map(text::one_line));
    facts.push(duration_seconds(metadata.duration_seconds));
    if let Some(changed) = &report.implementation {
        facts.push(format!(
            "{} since {}: +{} -{}",
            text::plural(changed.files_modified, "file"),
            text::one_line(&changed.base),
            text::group_digits(changed.lines_added),
            text::group_digits(changed.lines_removed)
        ));
    }
    let separator = page.pick(" · ", ", ");
    page.wrapped(&[plain("  ")], Tone::Dim, &facts.join(separator), 3)?;
    if report.gate.interrupted {
        page.wrapped(
            &[span(Tone::Alarm, "!! ")],
            Tone::Alarm,
            "INTERRUPTED: the phase was ended early",
            2,
        )?;
    }
    Ok(())
}

fn mark(status: StepStatus, page: &Page) -> (&'static str, Tone) {
    match status {
        StepStatus::Passed => (glyph(Outcome::Passed, page), Tone::Good),
        StepStatus::Failed => (glyph(Outcome::Failed, page), Tone::Bad),
        StepStatus::Incomplete => (glyph(Outcome::Errored, page), Tone::Warn),
        StepStatus::Pending => (glyph(Outcome::Pending, page), Tone::Wait),
        StepStatus::NotChecked => (page.pick("○", "o"), Tone::Warn),
        StepStatus::NotReached => (glyph(Outcome::Skipped, page), Tone::Dim),
    }
}

/// One line each.
fn steps(page: &mut Page, report: &PhaseReport) -> io::Result<()> {
    page.blank()?;
    let widest =
        |column: fn(&StepResult) -> usize| report.steps.iter().map(column).max().unwrap_or(0);
    let name = widest(|step| text::width(&text::one_line(&step.name))).min(LONGEST_NAME);
    let kind = widest(|step| step.kind.name().len());
    for step in &report.steps {
        let (sign, tone) = mark(step.status, page);
        let shown = text::one_line(&step.name);
        let shown = text::truncate_width_with(&shown, name, page.ellipsis()).into_owned();
        let blocks = match step.status {
            StepStatus::Failed | StepStatus::Incomplete | StepStatus::Pending
                if step.action != FailureAction::Block =>
            {
                " (does not block)"
            }
            _ => "",
        };
        page.line(&[
            span(tone, format!("  {sign} ")),
            plain(pad_right(&shown, name + 2)),
            span(Tone::Dim, pad_right(step.kind.name(), kind + 2)),
            span(
                tone,
                format!("{}{blocks}", step.status.name().replace('_', " ")),
            ),
            plain(facts(step)),
        ])?;
    }
    Ok(())
}

/// What a step counted.
fn facts(step: &StepResult) -> String {
    let number = text::group_digits;
    if let Some(eval) = &step.eval {
        let totals = &eval.eval_report.summary;
        return format!(
            "  {}/{} evals",
            number(totals.passed),
            number(totals.total_evals)
        );
    }
    match &step.tests {
        Some(tests) if tests.total > 0 => format!("  {}", tested(tests)),
        _ => String::new(),
    }
}

fn tested(tests: &TestResults) -> String {
    let number = text::group_digits;
    let skipped = if tests.skipped > 0 {
        format!(", {} skipped", number(tests.skipped))
    } else {
        String::new()
    };
    format!(
        "{}/{} tests{skipped}",
        number(tests.passed),
        number(tests.total)
    )
}

/// What is to be said of a step beside its line; nothing of most that passed.
fn below(
    page: &mut Page,
    step: &StepResult,
    told: &[String],
    options: &TerminalOptions,
) -> io::Result<()> {
    let passed = step.status == StepStatus::Passed;
    let notes = step.tests.as_ref().map_or(&[][..], |tests| &tests.notes);
    let says =
        !step.reason.trim().is_empty() || step.tests.as_ref().is_some_and(|tests| tests.failed > 0);
    if step.eval.is_none() && notes.is_empty() && (passed || !says && step.output_tail.is_empty()) {
        return Ok(());
    }
    let (_, tone) = mark(step.status, page);
    page.blank()?;
    page.line(&[span(
        if passed { Tone::Bold } else { tone },
        text::one_line(&step.name),
    )])?;
    if !passed && step.eval.is_none() {
        page.wrapped(&[plain("  ")], Tone::Plain, &step.reason, 4)?;
    }
    for note in notes {
        page.wrapped(&[span(Tone::Warn, "  ! ")], Tone::Plain, note, 3)?;
    }
    if let Some(tests) = &step.tests {
        failed_tests(page, tests, options)?;
    }
    if let Some(eval) = &step.eval {
        return suite(page, told, eval, options);
    }
    let tests_told = step
        .tests
        .as_ref()
        .is_some_and(|tests| !tests.failures.is_empty());
    if !passed && (options.verbose || !tests_told) {
        tail(page, &step.output_tail, options)?;
    }
    Ok(())
}

fn failed_tests(page: &mut Page, tests: &TestResults, options: &TerminalOptions) -> io::Result<()> {
    let most = if options.verbose {
        SHOWN_VERBOSE
    } else {
        SHOWN
    };
    for failure in tests.failures.iter().take(most) {
        let TestFailure {
            suite,
            name,
            message,
        } = failure;
        let (suite, name) = (text::one_line(suite), text::one_line(name));
        let sign = glyph(Outcome::Failed, page);
        let place = if suite.is_empty() {
            name
        } else {
            format!("{suite} {} {name}", page.pick("›", ">"))
        };
        page.line(&[span(Tone::Bad, format!("  {sign} ")), plain(place)])?;
        if !message.trim().is_empty() {
            page.wrapped(&[plain("      ")], Tone::Dim, message, 3)?;
        }
    }
    let shown = tests.failures.len().min(most);
    let more = tests.failed.max(tests.failures.len()).saturating_sub(shown);
    if more > 0 && shown > 0 {
        let dots = page.ellipsis();
        page.line(&[span(
            Tone::Dim,
            format!("    {dots} and {}", text::plural(more, "more failed test")),
        )])?;
    }
    Ok(())
}

/// The last lines of what a command wrote.
fn tail(page: &mut Page, written: &str, options: &TerminalOptions) -> io::Result<()> {
    let clean = text::sanitize(written);
    let lines: Vec<&str> = clean.trim_end().lines().collect();
    let most = if options.verbose { TAIL_VERBOSE } else { TAIL };
    for line in lines.iter().skip(lines.len().saturating_sub(most)) {
        page.line(&[span(Tone::Dim, page.pick("  │ ", "  | ")), plain(*line)])?;
    }
    Ok(())
}

/// A suite: its remarks, its metrics, and the evals that did not pass.
fn suite(
    page: &mut Page,
    told: &[String],
    eval: &EvalStepResult,
    options: &TerminalOptions,
) -> io::Result<()> {
    let summary = &eval.eval_report;
    for notice in notices::notices(summary) {
        let (mark, tone) = if notice.loud {
            ("!! ", Tone::Alarm)
        } else {
            ("!  ", Tone::Warn)
        };
        page.wrapped(&[plain("  "), span(tone, mark)], tone, &notice.headline, 4)?;
    }
    metrics(page, &figures::rows(eval))?;
    let most = if options.verbose {
        SHOWN_VERBOSE
    } else {
        SHOWN
    };
    let open = || {
        summary
            .evals
            .iter()
            .filter(|eval| eval.outcome != Outcome::Passed)
    };
    for result in open().take(most) {
        let (tone, sign) = (tone_of(result.outcome), glyph(result.outcome, page));
        let name = match result.name == result.id {
            true => String::new(),
            false => format!("  {}", text::one_line(&result.name)),
        };
        page.line(&[
            span(tone, format!("  {sign} ")),
            span(Tone::Bold, text::one_line(&result.id)),
            span(tone, format!("  {}", result.outcome)),
            plain(name),
        ])?;
        if let Some(failure) = telling(summary, result) {
            if failure.expected.is_none() || failure.actual.is_none() {
                page.wrapped(&[plain("    ")], Tone::Plain, &failure.reason, 3)?;
            }
            failures::sides(page, failure, options)?;
        }
    }
    let more = open().count().saturating_sub(most);
    if more > 0 {
        let dots = page.ellipsis();
        let words = format!(
            "    {dots} and {} that did not pass",
            text::plural(more, "more eval")
        );
        page.line(&[span(Tone::Dim, words)])?;
    }
    // What the end of the page says need not be said here.
    let new = |reason: &&String| !told.iter().any(|told| told.contains(reason.as_str()));
    for reason in summary.gate.reasons.iter().filter(new) {
        page.wrapped(&[plain("  - ")], Tone::Plain, reason, 3)?;
    }
    Ok(())
}

/// The first failure of an eval that made it what it is: a case that passed may have samples that
/// failed.
fn telling<'a>(summary: &'a Summary, eval: &EvalResult) -> Option<&'a Failure> {
    let mut told = summary
        .failures
        .iter()
        .filter(|f| f.eval_id == eval.id && f.outcome == eval.outcome);
    let alike = eval
        .cases
        .iter()
        .filter(|case| case.outcome == eval.outcome);
    let cases: HashSet<&str> = alike.map(|case| case.id.as_str()).collect();
    told.clone()
        .find(|failure| cases.contains(failure.case_id.as_str()))
        .or_else(|| told.next())
}

fn metrics(page: &mut Page, rows: &[Row]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let widest = |head: &str, column: fn(&Row) -> &str| {
        rows.iter()
            .map(|row| text::width(column(row)))
            .max()
            .unwrap_or(0)
            .max(head.len())
    };
    let name = widest("metric", |row| &row.name).min(LONGEST_NAME);
    let value = widest("value", |row| &row.value);
    let interval = widest("95 % interval", |row| &row.interval);
    let needs = widest("threshold", |row| &row.threshold);
    let lay = |cells: [&str; 4], ellipsis: &str| {
        let shown = text::truncate_width_with(cells[0], name, ellipsis).into_owned();
        let (value, interval) = (pad_left(cells[1], value), pad_right(cells[2], interval));
        format!(
            "  {}  {value}  {interval}  {}  ",
            pad_right(&shown, name),
            pad_right(cells[3], needs)
        )
    };
    let ellipsis = page.ellipsis();
    page.line(&[
        span(
            Tone::Dim,
            lay(["metric", "value", "95 % interval", "threshold"], ellipsis),
        ),
        span(Tone::Dim, "status"),
    ])?;
    for row in rows {
        let threshold = page.pick(
            row.threshold.clone(),
            row.threshold.replace('≥', ">=").replace('≤', "<="),
        );
        let line = lay([&row.name, &row.value, &row.interval, &threshold], ellipsis);
        let tone = match row.status {
            "PASS" => Tone::Good,
            "FAIL" => Tone::Bad,
            figures::NO_THRESHOLD => Tone::Dim,
            _ => Tone::Warn,
        };
        page.line(&[plain(line), span(tone, row.status)])?;
    }
    Ok(())
}

fn recommendations(page: &mut Page, report: &PhaseReport) -> io::Result<()> {
    if report.recommendations.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(&[span(Tone::Bold, "Next")])?;
    for advice in &report.recommendations {
        page.wrapped(&[plain("  - ")], Tone::Plain, advice, 4)?;
    }
    Ok(())
}
