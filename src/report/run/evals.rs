//! A line for each eval; of many only those that did not pass.

use crate::model::{EvalResult, Outcome, Summary};
use crate::report::page::{
    Page, PageMedium, PageTable, PageView, StyledText, TableColumn, TextTone, bold, dim, mark,
    outside, own, text,
};
use crate::report::{figures, limits};
use eval_base::text::{group_digits, plural};

pub fn section(page: &mut Page, summary: &Summary, view: &PageView) {
    // A short page of one eval is about its cases, one of many about those that did not pass.
    let short = view.is_terminal() && !view.verbose;
    if summary.evals.is_empty() || short && summary.evals.len() == 1 {
        return;
    }
    let most = match short {
        true => limits::terminal::EVALS,
        false => view.limits.evals,
    };
    let many = summary.evals.len() > most;
    let listed = |eval: &&EvalResult| !many || eval.outcome != Outcome::Passed;
    let shown: Vec<&EvalResult> = summary.evals.iter().filter(listed).take(most).collect();
    if short && shown.is_empty() {
        return;
    }
    page.section("Evals");
    let mut table = PageTable::new([
        TableColumn::left("Eval").least(12),
        TableColumn::left("Name").least(8).optional(),
        TableColumn::left("Type"),
        TableColumn::right("Cases"),
        TableColumn::right("Score"),
        TableColumn::right("Latency"),
    ]);
    for eval in &shown {
        let passed = eval.outcome == Outcome::Passed;
        let id = outside(&eval.id);
        let id = if passed || !view.is_terminal() {
            id
        } else {
            bold(id)
        };
        let name = (eval.name != eval.id).then(|| outside(&eval.name));
        let (of_passed, total) = (eval.counts.passed, eval.counts.total);
        let cases = own(format!(
            "{}/{}",
            group_digits(of_passed),
            group_digits(total)
        ));
        // Of a part of the samples the median says nothing of the whole.
        let latency =
            median_latency(eval).filter(|_| !summary.truncated && summary.list_filters.is_empty());
        let latency = latency.map(figures::duration_ms).unwrap_or_default();
        let document = view.medium == PageMedium::Markdown;
        table.row([
            text![mark(eval.outcome), " ", id],
            name.unwrap_or_default(),
            own(if document { eval.kind.name() } else { "" }),
            cases.toned(TextTone::of(eval.outcome)),
            own(eval.score.map_or_else(|| "-".to_owned(), figures::rate)),
            dim(own(latency)),
        ]);
    }
    page.table(table);
    if many {
        rest(page, summary, &shown, view);
    }
}

/// How many evals are not shown, by outcome.
fn rest(page: &mut Page, summary: &Summary, shown: &[&EvalResult], view: &PageView) {
    let all = figures::eval_counts(&summary.summary);
    let more = |outcome: Outcome| {
        let of_shown = shown.iter().filter(|eval| eval.outcome == outcome);
        figures::count_of(&all, outcome).saturating_sub(of_shown.count())
    };
    let outcomes = Outcome::ALL
        .into_iter()
        .filter(|outcome| more(*outcome) > 0);
    let words = outcomes.map(|outcome| {
        let evals = plural(more(outcome), "eval");
        text![mark(outcome), own(format!(" {evals} {outcome}"))]
    });
    let lead = if shown.is_empty() { "" } else { "not listed: " };
    let words = StyledText::joined(words, ", ");
    if words.is_empty() {
        return;
    }
    page.words(text![lead, words, dim(own(format!("; {}", view.rest())))]);
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
