//! A line for each eval; of many only those that did not pass, and of very many the first of those.

use std::io;

use crate::model::{EvalResult, Outcome, Summary};
use crate::report::figures;
use crate::report::terminal::page::{Page, Tone, pad_left, pad_right, plain, span};
use crate::report::terminal::{TerminalOptions, glyph, tone_of};
use eval_base::text;

/// With more evals than this, those that passed are only counted; and so many of the others are
/// shown.
const MANY_EVALS: usize = 40;
const MAX_ID: usize = 30;

pub fn section(page: &mut Page, summary: &Summary, options: &TerminalOptions) -> io::Result<()> {
    let many = summary.evals.len() > MANY_EVALS && !options.verbose;
    let most = if many { MANY_EVALS } else { usize::MAX };
    let listed = |eval: &&EvalResult| !many || eval.outcome != Outcome::Passed;
    let shown: Vec<&EvalResult> = summary.evals.iter().filter(listed).take(most).collect();
    page.blank()?;
    let id_width = shown
        .iter()
        .map(|eval| text::width(&text::one_line(&eval.id)))
        .max()
        .unwrap_or(0)
        .min(MAX_ID);
    let rows: Vec<EvalRow> = shown
        .iter()
        .map(|eval| EvalRow::new(eval, summary.truncated))
        .collect();
    let widest = |column: fn(&EvalRow) -> &str| {
        rows.iter()
            .map(|row| text::width(column(row)))
            .max()
            .unwrap_or(0)
    };
    let cases = widest(|row| &row.cases).max("cases".len());
    let score = widest(|row| &row.score).max("score".len());
    let latency = widest(|row| &row.latency);
    let latency = if latency > 0 {
        latency.max("latency".len())
    } else {
        0
    };
    let right = cases + 2 + score + if latency > 0 { latency + 2 } else { 0 };
    let name_width = page.width().saturating_sub(4 + id_width + 2 + right + 2);
    if !rows.is_empty() {
        let lead = " ".repeat(4 + id_width + 2 + name_width + 2);
        let last = if latency > 0 {
            pad_left("latency", latency)
        } else {
            String::new()
        };
        let head = format!(
            "{lead}{}  {}  {last}",
            pad_left("cases", cases),
            pad_left("score", score)
        );
        page.line(&[span(Tone::Dim, head.trim_end().to_owned())])?;
    }
    for row in &rows {
        let id = text::truncate_width_with(&row.id, id_width, page.ellipsis()).into_owned();
        let name = text::truncate_width_with(&row.name, name_width, page.ellipsis()).into_owned();
        page.line(&[
            span(
                tone_of(row.outcome),
                format!("  {} ", glyph(row.outcome, page)),
            ),
            span(
                if row.outcome == Outcome::Passed {
                    Tone::Plain
                } else {
                    Tone::Bold
                },
                pad_right(&id, id_width + 2),
            ),
            plain(pad_right(&name, name_width + 2)),
            span(tone_of(row.outcome), pad_left(&row.cases, cases)),
            plain(format!("  {}", pad_left(&row.score, score))),
            span(
                Tone::Dim,
                if latency > 0 {
                    format!("  {}", pad_left(&row.latency, latency))
                } else {
                    String::new()
                },
            ),
        ])?;
    }
    if many {
        rest(page, summary, &shown)?;
    }
    Ok(())
}

/// How many evals are not shown, by outcome.
fn rest(page: &mut Page, summary: &Summary, shown: &[&EvalResult]) -> io::Result<()> {
    let all = figures::eval_counts(&summary.summary);
    for outcome in Outcome::ALL {
        let of_shown = shown.iter().filter(|eval| eval.outcome == outcome).count();
        let more = figures::count_of(&all, outcome).saturating_sub(of_shown);
        if more == 0 {
            continue;
        }
        let lead = if more == all.total { "all" } else { "and" };
        let also = if of_shown > 0 { " more" } else { "" };
        let evals = if of_shown > 0 {
            text::group_digits(more)
        } else {
            text::plural(more, "eval")
        };
        page.line(&[
            span(tone_of(outcome), format!("  {} ", glyph(outcome, page))),
            plain(format!("{lead} {evals}{also} {outcome}")),
        ])?;
    }
    Ok(())
}

/// An eval's line before it is laid out.
struct EvalRow {
    outcome: Outcome,
    id: String,
    name: String,
    cases: String,
    score: String,
    latency: String,
}

impl EvalRow {
    fn new(eval: &EvalResult, truncated: bool) -> Self {
        let (id, name) = (text::one_line(&eval.id), text::one_line(&eval.name));
        EvalRow {
            outcome: eval.outcome,
            name: if name == id { String::new() } else { name },
            id,
            cases: format!(
                "{}/{}",
                text::group_digits(eval.counts.passed),
                text::group_digits(eval.counts.total)
            ),
            score: eval.score.map_or_else(|| "-".to_owned(), figures::rate),
            latency: median_latency(eval)
                .filter(|_| !truncated)
                .map(figures::duration_ms)
                .unwrap_or_default(),
        }
    }
}

/// The median latency of an eval's samples, in milliseconds.
fn median_latency(eval: &EvalResult) -> Option<f64> {
    let samples = eval.cases.iter().flat_map(|case| &case.samples);
    let mut all: Vec<f64> = samples.filter_map(|sample| sample.latency_ms).collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    match all.len() % 2 {
        0 if middle > 0 => Some((all.get(middle - 1)? + all.get(middle)?) / 2.0),
        _ => all.get(middle).copied(),
    }
}
