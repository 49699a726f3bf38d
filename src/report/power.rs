//! What a suite could find, as a page for people and for programs.

use std::io::{self, Write};

use super::comparison::words;
use super::figures;
use super::page::{
    ListItem, ListMark, Page, PageBlock, PageTable, TableColumn, TextTone, dim, mark, outside, own,
    text,
};
use crate::model::{Bound, Figure, Outcome, PlannedPower, PowerReport, ThresholdPower};
use eval_base::text::{group_digits, one_line, plural, two_digits};
use eval_stats::power::{MANY, MOST_SAMPLES};

/// Columns of a drop that the heads of the table repeat.
const LONG_EFFECT: usize = 10;

/// The same for programs.
pub fn json(report: &PowerReport, out: &mut dyn Write) -> io::Result<()> {
    eval_base::json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// One screen for people who are not statisticians.
pub fn page(report: &PowerReport) -> Page {
    let mut page = Page::default();
    let about = ": what a comparison of two of its runs could find";
    page.title(text![outside(&report.suite), about]);
    let (cases, evals) = (plural(report.cases, "case"), plural(report.evals, "eval"));
    let samples = plural(report.samples as usize, "sample");
    let facts = [
        format!("{cases} in {evals}"),
        format!("{samples} planned per case"),
    ];
    let filters = report.filters.iter().map(|filter| outside(filter));
    page.line(facts.map(own).into_iter().chain(filters));
    page.words(dim(outside(&basis(report))));
    page.push(PageBlock::Gap);
    answer(&mut page, report);
    table(&mut page, report);
    if !report.thresholds.is_empty() {
        page.section("Thresholds on an interval's end");
    }
    for threshold in &report.thresholds {
        let tone = match threshold.chance {
            Some(chance) if chance >= report.power => TextTone::Plain,
            _ => TextTone::Warn,
        };
        page.words(outside(&demand(threshold, report)).toned(tone));
    }
    page.push(PageBlock::Gap);
    for sentence in &report.sentences {
        page.words(dim(outside(sentence)));
    }
    page
}

/// What the figures rest on.
fn basis(report: &PowerReport) -> String {
    let basis = &report.basis;
    let rate = figures::percent(basis.rate);
    match (&basis.run, basis.measured) {
        (Some(run), true) => format!(
            "as measured by run {}: {rate} of its samples passed",
            one_line(run)
        ),
        (Some(run), false) => format!(
            "{rate} of samples pass, as in run {}; how much samples of one case differ is assumed, since the run has one \
             sample per case",
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
fn written_points(share: f64) -> String {
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

/// How many cases it would take.
fn cases_needed(plan: &PlannedPower, report: &PowerReport) -> Result<String, &'static str> {
    match plan.cases_needed {
        Some(cases) => {
            let cases = usize::try_from(two_digits(cases)).unwrap_or(usize::MAX);
            Ok(group_digits(cases))
        }
        None if report.effect > report.basis.rate => Err("none"),
        None => Err("too many"),
    }
}

/// The plan's own answer, in a sentence or two.
fn answer(page: &mut Page, report: &PowerReport) {
    let planned = report
        .plans
        .iter()
        .find(|plan| plan.samples == report.samples);
    let Some(plan) = planned.or(report.plans.first()) else {
        return;
    };
    let (effect, sure) = (written_points(report.effect), chance(report.power));
    let enough = plan.chance >= report.power;
    let outcome = if enough {
        Outcome::Passed
    } else {
        Outcome::Errored
    };
    let met = match chance(plan.chance) {
        met if !enough && met == sure => format!("just under {sure}"),
        met => met,
    };
    let smallest = match plan.detectable {
        Some(drop) => format!(
            "the smallest drop that would be found with a chance of {sure} is {}",
            points(drop)
        ),
        None => format!("no drop, however large, would be found with a chance of {sure}"),
    };
    let found =
        format!("a true drop of {effect} would be found with a chance of {met}; {smallest}");
    page.list([ListItem::new(ListMark::Sign(mark(outcome)), own(found))]);
    if enough {
        return;
    }
    let cases = match cases_needed(plan, report) {
        Ok(cases) => format!("about {cases} cases like these"),
        Err("none") => "no number of cases like these would be enough".to_owned(),
        Err(_) => format!("more than {} million cases", MANY / 1_000_000),
    };
    let samples = match report.samples_needed {
        Some(samples) => {
            format!(
                "or {} of each of these cases",
                plural(samples as usize, "sample")
            )
        }
        None => format!("and {MOST_SAMPLES} samples of each of these cases would not be enough"),
    };
    let text = format!("to find {effect} with a chance of {sure}: {cases}, {samples}");
    page.words(own(text));
}

fn table(page: &mut Page, report: &PowerReport) {
    let effect = written_points(report.effect);
    // The sentence above says one with many digits.
    let effect = if effect.len() > LONG_EFFECT {
        "that"
    } else {
        &effect
    };
    let mut table = PageTable::new([
        TableColumn::right("Samples"),
        TableColumn::right(own(format!("Found with {}", chance(report.power)))),
        TableColumn::right(own(format!("Chance for {effect}"))),
        TableColumn::right(own(format!("Cases for {effect}"))),
    ]);
    for plan in &report.plans {
        let needed = cases_needed(plan, report).unwrap_or_else(|none| match none {
            "none" => none.to_owned(),
            _ => format!("> {} million", MANY / 1_000_000),
        });
        let found = plan.detectable.map_or_else(|| "none".to_owned(), points);
        table.row([plan.samples.to_string(), found, chance(plan.chance), needed].map(own));
    }
    page.table(table);
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
    let name = figures::shown_metric(&threshold.metric);
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
