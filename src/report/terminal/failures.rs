//! What did not pass, on a terminal: cause, reason, and where expected and actual part.

use std::io;

use serde_json::Value;

use crate::model::{Failure, Outcome, Summary};
use crate::report::differences::{self, Rows};
use crate::report::terminal::judged as of_judges;
use crate::report::terminal::page::{Page, Span, Tone, marked, pad_right, plain, span};
use crate::report::terminal::{TerminalOptions, glyph};
use crate::report::values::{self, Comparison, Excerpt, Limits, LineKind};
use crate::report::{flaky, judged, notices};
use eval_base::text;

/// Failures that are shown unless all are asked for.
const SHOWN: usize = 10;
/// Failures that are shown when all are asked for: nobody reads more of them on a terminal.
const SHOWN_VERBOSE: usize = 1_000;
const FLAKY: usize = 5;
const BRIEF: Limits = Limits {
    lines: 12,
    bytes: 4_000,
    context: 1,
    unicode: true,
};
const VERBOSE: Limits = Limits {
    lines: 60,
    bytes: 20_000,
    context: 3,
    unicode: true,
};
/// Places of one failure that are shown.
const PLACES: usize = 12;
const PLACES_VERBOSE: usize = 60;
const INDENT: &str = "    ";

pub fn section(page: &mut Page, summary: &Summary, options: &TerminalOptions) -> io::Result<()> {
    if summary.failures.is_empty() {
        return Ok(());
    }
    page.blank()?;
    page.line(&[span(Tone::Bold, "Not passed")])?;
    let shown = if options.verbose {
        SHOWN_VERBOSE
    } else {
        SHOWN
    };
    for failure in summary.failures.iter().take(shown) {
        page.blank()?;
        headline(page, failure)?;
        body(page, summary, failure, options)?;
    }
    let more = summary.failures.len().saturating_sub(shown) + notices::unlisted_failures(summary);
    if more > 0 {
        page.blank()?;
        let more = text::group_digits(more);
        let where_to = if options.verbose {
            "the JSON report"
        } else {
            "--verbose, or the JSON report"
        };
        let dots = page.ellipsis();
        page.line(&[span(
            Tone::Dim,
            format!("  {dots} and {more} more ({where_to})"),
        )])?;
    }
    Ok(())
}

/// Samples that passed on a later attempt only.
pub fn flaky(page: &mut Page, summary: &Summary, options: &TerminalOptions) -> io::Result<()> {
    let shown = if options.verbose {
        SHOWN_VERBOSE
    } else {
        FLAKY
    };
    let mut more = 0;
    for (at, flaky) in flaky::flaky(summary).enumerate() {
        if at == 0 {
            page.blank()?;
            page.line(&[span(Tone::Bold, "Flaky")])?;
        }
        if at >= shown {
            more += 1;
            continue;
        }
        let words = flaky.words();
        let room = page.width().saturating_sub(text::width(&words) + 6);
        let place = place(page, flaky.eval, flaky.case, room);
        page.line(&[
            span(Tone::Warn, "  ~ "),
            plain(place),
            plain("  "),
            span(Tone::Warn, words),
        ])?;
    }
    if more > 0 {
        let dots = page.ellipsis();
        page.line(&[span(
            Tone::Dim,
            format!("  {dots} and {} more", text::group_digits(more)),
        )])?;
    }
    Ok(())
}

/// `eval › case`, or the eval alone when it has the case's name.
pub fn place(page: &Page, eval: &str, case: &str, room: usize) -> String {
    let mut place = text::one_line(eval);
    if case != eval {
        place = format!("{place} {} {}", page.pick("›", ">"), text::one_line(case));
    }
    text::truncate_width_with(&place, room, page.ellipsis()).into_owned()
}

fn headline(page: &mut Page, failure: &Failure) -> io::Result<()> {
    let tone = if failure.outcome == Outcome::Errored {
        Tone::Warn
    } else {
        Tone::Bad
    };
    let cause = failure
        .cause
        .map_or(failure.outcome.name(), |cause| cause.name());
    let times = if failure.samples > 1 {
        format!(" ({})", text::plural(failure.samples, "sample"))
    } else {
        String::new()
    };
    // The cause must stay in sight however long the ids are.
    let room = page
        .width()
        .saturating_sub(text::width(cause) + text::width(&times) + 6);
    let place = place(page, &failure.eval_id, &failure.case_id, room);
    page.line(&[
        span(tone, format!("  {} ", glyph(failure.outcome, page))),
        span(Tone::Bold, place),
        plain("  "),
        span(tone, cause),
        span(Tone::Dim, times),
    ])
}

fn body(
    page: &mut Page,
    summary: &Summary,
    failure: &Failure,
    options: &TerminalOptions,
) -> io::Result<()> {
    if let Some(name) = own_name(summary, failure) {
        page.line(&[plain(INDENT), span(Tone::Dim, name)])?;
    }
    if !failure.reason.trim().is_empty() {
        let lines = if options.verbose { 20 } else { 4 };
        page.wrapped(&[plain(INDENT)], Tone::Plain, &failure.reason, lines)?;
    }
    if let Some(sample) = judged::of_failure(summary, failure) {
        of_judges::verdicts(page, sample, options)?;
    }
    let told = sides(page, failure, options)?;
    if options.verbose {
        let shown = [differences::LISTED, differences::COUNTED];
        for (key, value) in failure
            .details
            .iter()
            .filter(|(key, _)| !(told && shown.contains(&key.as_str())))
        {
            detail(page, key, value)?;
        }
    }
    Ok(())
}

/// Expected and actual: path by path where a grader listed differences (then it says true), else
/// whole.
pub(crate) fn sides(
    page: &mut Page,
    failure: &Failure,
    options: &TerminalOptions,
) -> io::Result<bool> {
    let told = path_by_path(page, failure, options)?;
    if !told {
        whole(page, failure, options)?;
    }
    Ok(told)
}

/// The differences that a grader listed; false when it listed none.
fn path_by_path(page: &mut Page, failure: &Failure, options: &TerminalOptions) -> io::Result<bool> {
    let Some(rows) = differences::of_details(&failure.details, limits(options)) else {
        return Ok(false);
    };
    page.line(&legend())?;
    places(page, &rows, options.verbose)?;
    Ok(true)
}

pub fn limits(options: &TerminalOptions) -> differences::Limits {
    let rows = if options.verbose {
        PLACES_VERBOSE
    } else {
        PLACES
    };
    let columns = options.width.saturating_sub(text::width(INDENT) + 4);
    differences::Limits {
        rows,
        columns,
        unicode: options.unicode,
    }
}

fn legend() -> [Span<'static>; 4] {
    [
        plain(INDENT),
        span(Tone::Good, "- expected"),
        plain("  "),
        span(Tone::Bad, "+ actual"),
    ]
}

/// One place after the other: its path, then both sides. With `wrap` long sides take several lines.
pub fn places(page: &mut Page, rows: &Rows, wrap: bool) -> io::Result<()> {
    for row in &rows.rows {
        let note = if row.note.is_empty() {
            String::new()
        } else {
            format!("  {}", row.note)
        };
        page.line(&[
            plain(INDENT),
            span(Tone::Bold, row.path.as_str()),
            span(Tone::Dim, note),
        ])?;
        for (sign, tone, side) in [
            ("- ", Tone::Good, &row.expected),
            ("+ ", Tone::Bad, &row.actual),
        ] {
            let Some(side) = side else { continue };
            let first = [plain(INDENT), plain("  "), span(tone, sign)];
            if wrap {
                page.wrapped_marked(&first, tone, &side.text, &side.marks, 4)?;
            } else {
                let mut spans = first.to_vec();
                spans.extend(marked(tone, &side.text, &side.marks));
                page.line(&spans)?;
            }
        }
    }
    if rows.more > 0 {
        let dots = page.ellipsis();
        let more = text::plural(rows.more, "more difference");
        page.line(&[plain(INDENT), span(Tone::Dim, format!("{dots} and {more}"))])?;
    }
    Ok(())
}

/// Both sides whole, or the lines in which they differ.
fn whole(page: &mut Page, failure: &Failure, options: &TerminalOptions) -> io::Result<()> {
    let limits = Limits {
        unicode: options.unicode,
        ..if options.verbose { VERBOSE } else { BRIEF }
    };
    match values::compare(failure.expected.as_ref(), failure.actual.as_ref(), limits) {
        Comparison::Nothing => {}
        Comparison::Sides { expected, actual } => {
            side(page, "expected", Tone::Good, expected)?;
            side(page, "actual", Tone::Bad, actual)?;
        }
        Comparison::Diff { lines, more } => {
            page.line(&legend())?;
            for line in lines {
                let (sign, tone) = match line.kind {
                    LineKind::Same => (" ", Tone::Plain),
                    LineKind::Missing => ("-", Tone::Good),
                    LineKind::Extra => ("+", Tone::Bad),
                    LineKind::Gap => (page.pick("⋯", ":"), Tone::Dim),
                };
                let mut spans = vec![plain(INDENT), span(tone, format!("{sign} "))];
                spans.extend(marked(tone, &line.text, &line.marks));
                page.line(&spans)?;
            }
            left_out(page, more)?;
        }
    }
    Ok(())
}

/// The case's name, where it says more than its id and the eval's name, which stands above.
fn own_name(summary: &Summary, failure: &Failure) -> Option<String> {
    let eval = summary.evals.iter().find(|eval| eval.id == failure.eval_id);
    let of_eval = eval.map_or("", |eval| eval.name.as_str());
    let rest = failure
        .name
        .strip_prefix(of_eval)
        .map_or(failure.name.as_str(), |rest| rest.trim_start_matches(": "));
    let known = rest == failure.eval_id || rest == failure.case_id;
    let name = text::one_line(rest);
    (!known && !name.is_empty()).then_some(name)
}

fn side(page: &mut Page, label: &str, tone: Tone, side: Option<Excerpt>) -> io::Result<()> {
    let Some(side) = side else { return Ok(()) };
    let first: [Span; 2] = [plain(INDENT), span(Tone::Dim, pad_right(label, 10))];
    if side.text.contains('\n') {
        page.line(&first)?;
        for line in side.text.lines() {
            page.line(&[plain(INDENT), span(tone, format!("  {line}"))])?;
        }
    } else if side.text.trim() == side.text && !side.text.contains("  ") {
        page.wrapped_marked(&first, tone, &side.text, &side.marks, 4)?;
    } else {
        // Words must not be moved where blanks count.
        let mut spans = first.to_vec();
        spans.extend(marked(tone, &side.text, &side.marks));
        page.line(&spans)?;
    }
    left_out(page, side.more)
}

fn left_out(page: &mut Page, more: usize) -> io::Result<()> {
    if more == 0 {
        return Ok(());
    }
    let dots = page.ellipsis();
    page.line(&[
        plain(INDENT),
        span(
            Tone::Dim,
            format!("  {dots} {}", text::plural(more, "more line")),
        ),
    ])
}

fn detail(page: &mut Page, key: &str, value: &Value) -> io::Result<()> {
    let label = format!("{} ", text::one_line(key));
    match values::compare(None, Some(value), VERBOSE) {
        Comparison::Sides {
            actual: Some(excerpt),
            ..
        } if excerpt.text.contains('\n') => {
            page.line(&[plain(INDENT), span(Tone::Dim, label)])?;
            for line in excerpt.text.lines() {
                page.line(&[plain(INDENT), plain(format!("  {line}"))])?;
            }
            left_out(page, excerpt.more)
        }
        _ => {
            let room = page.width().saturating_mul(4);
            page.wrapped(
                &[plain(INDENT), span(Tone::Dim, label)],
                Tone::Plain,
                &values::inline(value, room),
                4,
            )
        }
    }
}
