//! One eval, run by run.

use std::collections::BTreeMap;
use std::io;

use super::page::{Columns, flaky, header};
use super::{cause, commit, day, legend};
use crate::model::{Counts, Criticality, EvalType, Outcome};
use crate::report::TerminalOptions;
use crate::report::figures;
use crate::report::terminal::page::{Page, Tone, pad_left, pad_right, plain, span};
use crate::report::terminal::{glyph, tone_of};
use crate::run::history::{EvalHistory, Group, PastEval, PastRun};
use eval_base::text;

/// Runs and cases that are shown.
const MANY: usize = 30;

pub fn eval(
    page: &mut Page,
    group: &Group,
    eval: &EvalHistory,
    options: &TerminalOptions,
) -> io::Result<()> {
    header(page, group)?;
    page.blank()?;
    let latest = eval.latest;
    let (id, name) = (text::one_line(&latest.id), text::one_line(&latest.name));
    let mut title = vec![span(Tone::Bold, id.clone())];
    if name != id {
        title.push(plain(format!("  {name}")));
    }
    page.line(&title)?;
    facts(page, eval)?;
    page.blank()?;
    runs(page, group, eval, options)?;
    cases(page, group, eval, options)?;
    flaky(page, group, |id| id == &*eval.latest.id, options)
}

fn kind(eval: &PastEval) -> String {
    let kind = match eval.kind {
        EvalType::Capability => "capability",
        EvalType::Regression => "regression",
    };
    let criticality = eval.criticality.map(|criticality| match criticality {
        Criticality::Low => ", criticality low",
        Criticality::Medium => ", criticality medium",
        Criticality::High => ", criticality high",
        Criticality::Critical => ", criticality critical",
    });
    format!("{kind}{}", criticality.unwrap_or_default())
}

fn facts(page: &mut Page, eval: &EvalHistory) -> io::Result<()> {
    let counts = &eval.counts;
    let mut words = vec![kind(eval.latest)];
    let parts: Vec<String> = Outcome::ALL
        .into_iter()
        .map(|outcome| (outcome, figures::count_of(counts, outcome)))
        .filter(|(_, n)| *n > 0)
        .map(|(outcome, n)| format!("{} {outcome}", text::group_digits(n)))
        .collect();
    let rate = figures::percent_or_none(counts.pass_rate);
    words.push(format!(
        "{}: {}, pass rate {rate}",
        text::plural(counts.total, "run"),
        parts.join(", ")
    ));
    page.wrapped(&[plain("  ")], Tone::Dim, &words.join("; "), 3)?;
    for (word, outcome) in [
        ("last passed", Outcome::Passed),
        ("last failed", Outcome::Failed),
    ] {
        let told = eval.last(outcome).map_or_else(|| "never".to_owned(), when);
        page.line(&[plain(format!("  {}", pad_right(word, 13))), plain(told)])?;
    }
    if eval.partial > 0 {
        let words = format!(
            "{} had only some of its cases: they are listed and not counted",
            text::plural(eval.partial, "run")
        );
        page.wrapped(&[plain("  ")], Tone::Dim, &words, 2)?;
    }
    Ok(())
}

/// Day, time and commit of a run.
fn when(run: &PastRun) -> String {
    let time = run.timestamp.get(11..19).unwrap_or_default();
    let commit = commit(run);
    let at = if commit.is_empty() {
        String::new()
    } else {
        format!("  {commit}")
    };
    format!("{} {}{at}", day(&run.timestamp), text::one_line(time))
}

fn runs(
    page: &mut Page,
    group: &Group,
    eval: &EvalHistory,
    options: &TerminalOptions,
) -> io::Result<()> {
    let id = &eval.latest.id;
    let all: Vec<(&PastRun, &PastEval)> = group
        .runs
        .iter()
        .flat_map(|run| {
            run.evals
                .iter()
                .filter(|eval| eval.id == *id)
                .map(move |eval| (run, eval))
        })
        .collect();
    let most = if options.verbose { usize::MAX } else { MANY };
    let outcome = page
        .width()
        .saturating_sub(2 + 22 + 2 + 8 + 2 + 2 + 7 + 2 + 5 + 2 + 8)
        .clamp(9, 26);
    let head = format!(
        "  {}  {}  {}  {}  {}  {}",
        pad_right("run", 22),
        pad_right("commit", 8),
        pad_right("outcome", outcome),
        pad_left("cases", 7),
        pad_left("score", 5),
        pad_left("latency", 8)
    );
    page.line(&[span(Tone::Dim, head)])?;
    for (run, eval) in all.iter().rev().take(most) {
        let word = cause(eval).map_or(eval.outcome.name(), |cause| cause.name());
        let part = if eval.partial { " (part)" } else { "" };
        let told = format!("{} {word}{part}", glyph(eval.outcome, page));
        let told = text::truncate_width_with(&told, outcome, page.ellipsis()).into_owned();
        let cases = format!("{}/{}", eval.counts.passed, eval.counts.total);
        let latency = eval
            .median_latency_ms()
            .map_or_else(|| "-".to_owned(), figures::duration_ms);
        let id =
            text::truncate_width_with(&text::one_line(&run.id), 22, page.ellipsis()).into_owned();
        page.line(&[
            plain(format!("  {}  ", pad_right(&id, 22))),
            span(Tone::Dim, format!("{}  ", pad_right(&commit(run), 8))),
            span(tone_of(eval.outcome), pad_right(&told, outcome)),
            plain(format!("  {}", pad_left(&cases, 7))),
            plain(format!(
                "  {}",
                pad_left(&eval.score.map_or_else(|| "-".to_owned(), figures::rate), 5)
            )),
            span(Tone::Dim, format!("  {}", pad_left(&latency, 8))),
        ])?;
    }
    if all.len() > most {
        let words = format!(
            "and {} earlier; --verbose shows all",
            text::plural(all.len() - most, "run")
        );
        page.line(&[plain("  "), span(Tone::Dim, words)])?;
    }
    Ok(())
}

/// Its cases, when it has several.
fn cases(
    page: &mut Page,
    group: &Group,
    eval: &EvalHistory,
    options: &TerminalOptions,
) -> io::Result<()> {
    let mut by_id: BTreeMap<&str, Vec<(&PastRun, Outcome)>> = BTreeMap::new();
    for run in &group.runs {
        for of_run in run
            .evals
            .iter()
            .filter(|of_run| of_run.id == eval.latest.id)
        {
            for case in &of_run.cases {
                by_id.entry(&case.id).or_default().push((run, case.outcome));
            }
        }
    }
    if by_id.len() < 2 {
        return legend_if(page, false);
    }
    page.blank()?;
    let columns = Columns::within(page.width());
    columns.head(page, "case")?;
    let many = by_id.len() > MANY && !options.verbose;
    let passed = |tries: &[(&PastRun, Outcome)]| {
        tries.iter().all(|(_, outcome)| *outcome == Outcome::Passed)
    };
    let most = if many { MANY } else { usize::MAX };
    let listed: Vec<_> = by_id
        .iter()
        .filter(|(_, tries)| !many || !passed(tries))
        .take(most)
        .collect();
    for (id, tries) in &listed {
        let outcomes: Vec<Outcome> = tries.iter().map(|(_, outcome)| *outcome).collect();
        let mut counts = Counts::default();
        outcomes.iter().for_each(|outcome| counts.add(*outcome));
        let last = tries
            .iter()
            .rev()
            .find(|(_, outcome)| *outcome == Outcome::Passed)
            .map(|(run, _)| *run);
        columns.row(page, id, &outcomes, counts.pass_rate, last)?;
    }
    if by_id.len() > listed.len() {
        let more = text::plural(by_id.len() - listed.len(), "case");
        page.line(&[
            plain("  "),
            span(Tone::Dim, format!("and {more} more; --verbose shows all")),
        ])?;
    }
    legend_if(page, true)
}

fn legend_if(page: &mut Page, needed: bool) -> io::Result<()> {
    if needed { legend(page) } else { Ok(()) }
}
