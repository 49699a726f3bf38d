//! What a suite could find, as a page for people and for programs.

use std::io::{self, Write};

use super::TerminalOptions;
use super::comparison::words;
use super::figures;
use super::terminal::page::{Page, Tone, pad_left, pad_right, plain, span};
use crate::model::{Bound, Figure, PlannedPower, PowerReport, ThresholdPower};
use eval_base::text::{group_digits, one_line, plural, two_digits};
use eval_stats::power::{MANY, MOST_SAMPLES};

/// Columns of a cell of the table.
const CELL: usize = 22;
const NAME: usize = 10;

/// The same for programs.
pub fn json(report: &PowerReport, out: &mut dyn Write) -> io::Result<()> {
    eval_base::json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// One screen for people who are no statisticians.
pub fn terminal(
    report: &PowerReport,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::new(out, options);
    let dot = page.pick(" · ", ", ");
    page.line(&[
        span(Tone::Bold, one_line(&report.suite)),
        plain(": what a comparison of two of its runs could find"),
    ])?;
    let mut facts = vec![
        format!(
            "{} in {}",
            plural(report.cases, "case"),
            plural(report.evals, "eval")
        ),
        format!(
            "{} planned of each",
            plural(report.samples as usize, "sample")
        ),
    ];
    facts.extend(report.filters.iter().map(|filter| one_line(filter)));
    page.wrapped(&[plain("  ")], Tone::Dim, &facts.join(dot), 3)?;
    page.wrapped(&[plain("  ")], Tone::Dim, &basis(report), 3)?;
    page.blank()?;
    answer(&mut page, report)?;
    page.blank()?;
    table(&mut page, report)?;
    if !report.thresholds.is_empty() {
        page.blank()?;
        thresholds(&mut page, report)?;
    }
    if !report.sentences.is_empty() {
        page.blank()?;
    }
    for sentence in &report.sentences {
        page.wrapped(&[plain("  ")], Tone::Dim, sentence, 4)?;
    }
    Ok(())
}

/// What the figures rest on.
fn basis(report: &PowerReport) -> String {
    let basis = &report.basis;
    let rate = figures::percent(basis.rate);
    match (&basis.run, basis.measured) {
        (Some(run), true) => format!(
            "as run {} measured it: {rate} of its samples passed",
            one_line(run)
        ),
        (Some(run), false) => format!(
            "{rate} of samples pass, as in run {}; how much samples of one case differ is assumed, since it has one of each",
            one_line(run)
        ),
        (None, _) => format!("if {rate} of samples pass (--rate, or --run to measure it)"),
    }
}

/// Points of a share that was computed.
fn points(share: f64) -> String {
    let text = words::points(share);
    let text = text.trim_start_matches('+');
    in_points(text.strip_suffix(".0").unwrap_or(text))
}

/// Points of a share that somebody asked for: as it was written.
fn asked(share: f64) -> String {
    // 0.07 * 100 is a little more than 7.
    let points = (share * 1e10).round() / 1e8;
    if points > 0.0 {
        in_points(&points.to_string())
    } else {
        in_points(&format!("{:e}", share * 100.0))
    }
}

fn in_points(text: &str) -> String {
    format!("{text} {}", if text == "1" { "point" } else { "points" })
}

fn chance(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 99.0 => "over 99 %".to_owned(),
        percent if percent < 1.0 => "under 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// The plan's own answer, in a sentence or two.
fn answer(page: &mut Page, report: &PowerReport) -> io::Result<()> {
    let planned = report
        .plans
        .iter()
        .find(|plan| plan.samples == report.samples)
        .or(report.plans.first());
    let Some(plan) = planned else { return Ok(()) };
    let (effect, sure) = (asked(report.effect), chance(report.power));
    let enough = plan.chance >= report.power;
    let (tone, mark) = if enough {
        (Tone::Good, page.pick("✓", "+"))
    } else {
        (Tone::Warn, "!")
    };
    let met = match chance(plan.chance) {
        met if !enough && met == sure => format!("just under {sure}"),
        met => met,
    };
    let smallest = match plan.detectable {
        Some(drop) => format!("the smallest that is found with {sure} is {}", points(drop)),
        None => format!("no drop, however large, is found with {sure}"),
    };
    let found =
        format!("a true drop of {effect} would be found with a chance of {met}; {smallest}");
    page.wrapped(&[span(tone, format!("{mark} "))], Tone::Plain, &found, 4)?;
    if enough {
        return Ok(());
    }
    let cases = match plan.cases_needed {
        Some(cases) => {
            format!(
                "about {} cases like these",
                group_digits(usize::try_from(two_digits(cases)).unwrap_or(usize::MAX))
            )
        }
        None if report.effect > report.basis.rate => {
            "no number of cases like these would be enough".to_owned()
        }
        None => format!("more than {} million cases", MANY / 1_000_000),
    };
    let samples = match report.samples_needed {
        Some(samples) => format!(
            "or {} of each of these cases",
            plural(samples as usize, "sample")
        ),
        None => format!("and {MOST_SAMPLES} samples of each of these cases would not be enough"),
    };
    let text = format!("to find {effect} with a chance of {sure}: {cases}, {samples}");
    page.wrapped(&[plain("  ")], Tone::Plain, &text, 4)
}

fn table(page: &mut Page, report: &PowerReport) -> io::Result<()> {
    let effect = asked(report.effect);
    // The sentence above tells one with many digits.
    let effect = if "chance for  ".len() + effect.len() > CELL {
        "that"
    } else {
        &effect
    };
    let head = [
        format!("found with {}", chance(report.power)),
        format!("chance for {effect}"),
        format!("cases for {effect}"),
    ];
    let cells: String = head.iter().map(|cell| pad_left(cell, CELL)).collect();
    page.line(&[span(
        Tone::Bold,
        format!("  {}{cells}", pad_right("samples", NAME)),
    )])?;
    for plan in &report.plans {
        page.line(&[plain(format!("  {}", row(plan, report)))])?;
    }
    Ok(())
}

fn row(plan: &PlannedPower, report: &PowerReport) -> String {
    let needed = match plan.cases_needed {
        Some(cases) => group_digits(usize::try_from(two_digits(cases)).unwrap_or(usize::MAX)),
        None if report.effect > report.basis.rate => "none".to_owned(),
        None => format!("> {} million", MANY / 1_000_000),
    };
    let cells = [
        plan.detectable.map_or_else(|| "none".to_owned(), points),
        chance(plan.chance),
        needed,
    ];
    let cells: String = cells.iter().map(|cell| pad_left(cell, CELL)).collect();
    format!("{}{cells}", pad_right(&plan.samples.to_string(), NAME))
}

/// Demands on an interval's end.
fn thresholds(page: &mut Page, report: &PowerReport) -> io::Result<()> {
    page.line(&[span(Tone::Bold, "  thresholds on an interval's end")])?;
    for threshold in &report.thresholds {
        let tone = match threshold.chance {
            Some(chance) if chance >= report.power => Tone::Plain,
            _ => Tone::Warn,
        };
        page.wrapped(&[plain("  ")], tone, &demand(threshold, report), 4)?;
    }
    Ok(())
}

fn demand(threshold: &ThresholdPower, report: &PowerReport) -> String {
    let end = match threshold.on {
        Figure::Value => "",
        Figure::CiLower => "lower end of ",
        Figure::CiUpper => "upper end of ",
    };
    let sign = if threshold.bound == Bound::Min {
        "at least"
    } else {
        "at most"
    };
    let name = figures::metric_name(&threshold.metric);
    let value = figures::figure(&threshold.metric, threshold.value);
    let met = match threshold.chance {
        Some(met) => format!(
            "met with a chance of {} if the true rate is {}",
            chance(met),
            figures::rate(report.basis.rate)
        ),
        None => "no chance is computed for this metric".to_owned(),
    };
    let needed = match (threshold.chance, threshold.needed) {
        (Some(met), _) if met >= report.power => String::new(),
        (Some(_), Some(needed)) => {
            let needed = usize::try_from(needed).unwrap_or(usize::MAX);
            format!(
                "; {} would make it {}",
                group_digits(needed),
                chance(report.power)
            )
        }
        (Some(_), None) => "; no number of cases would change that".to_owned(),
        (None, _) => String::new(),
    };
    format!(
        "{end}{name} {sign} {value}, over {}: {met}{needed}",
        group_digits(threshold.n)
    )
}
