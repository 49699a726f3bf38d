//! Counts, metrics and thresholds.

use crate::model::{Counts, MONTH_TAG, Metric, MetricName, Outcome, PartSelector, Summary};
use crate::report::figures::{self, count_of, percent_or_none};
use crate::report::page::{
    Page, PageMedium, PageTable, PageView, StyledText, TableColumn, TableRow, TextTone, bold, dim,
    outside, own, span, text,
};
use crate::report::{notices, run};
use eval_base::text::group_digits;

/// Outcomes of evals, cases and samples.
pub fn counts(page: &mut Page, summary: &Summary, view: &PageView) {
    let totals = &summary.summary;
    let evals = figures::eval_counts(totals);
    let mut rows = vec![("Evals", &evals), ("Cases", &totals.cases)];
    // What is said of one eval is said of its cases.
    if totals.total_evals == 1 {
        rows.remove(0);
    }
    if totals.samples.total != totals.cases.total {
        rows.push(("Samples", &totals.samples));
    }
    page.section("Summary");
    let rows = rows.into_iter().map(|(name, counts)| (bold(name), counts));
    page.table(counts_table("", rows.collect()));
    match (view.medium, notices::trust(summary)) {
        (PageMedium::Terminal, Some(trust)) if view.verbose => {
            page.facts([(bold("Trust"), own(trust))])
        }
        (PageMedium::Markdown, _) => {
            page.words("Pass rates are over what was graded: passed / (passed + failed).");
            if let Some(score) = totals.weighted_score.filter(|_| totals.total_evals > 1) {
                page.words(own(format!("Weighted score: {}.", figures::rate(score))));
            }
        }
        _ => {}
    }
    if view.medium != PageMedium::Comment {
        for retried in notices::retries(summary) {
            page.words(span(TextTone::Warn, retried));
        }
    }
}

/// Counts in a row each; outcomes that nothing had are left out.
fn counts_table(head: &'static str, rows: Vec<(StyledText, &Counts)>) -> PageTable {
    let had = |outcome: &Outcome| {
        *outcome == Outcome::Passed || rows.iter().any(|(_, c)| count_of(c, *outcome) > 0)
    };
    let outcomes: Vec<Outcome> = Outcome::ALL.into_iter().filter(had).collect();
    let names = outcomes
        .iter()
        .map(|outcome| TableColumn::right(own(figures::capitalized(outcome.name()))));
    let columns = [
        TableColumn::left(head),
        TableColumn::right("Total"),
        TableColumn::right("Pass rate"),
    ];
    let mut table = PageTable::new(columns.into_iter().chain(names));
    for (name, counts) in rows {
        let mut cells = vec![
            name,
            own(group_digits(counts.total)),
            own(percent_or_none(counts.pass_rate)),
        ];
        cells.extend(outcomes.iter().map(|outcome| {
            let n = count_of(counts, *outcome);
            let tone = if n == 0 {
                TextTone::Dim
            } else {
                TextTone::of(*outcome)
            };
            StyledText::from(span(tone, group_digits(n)))
        }));
        table.row(cells);
    }
    table
}

/// Counts by type and category, causes, and what verdicts over code rest on.
pub fn groups(page: &mut Page, summary: &Summary, view: &PageView) {
    let totals = &summary.summary;
    let kinds = totals
        .by_type
        .iter()
        .map(|(kind, counts)| (own(format!("type: {}", kind.name())), counts));
    let categories = totals.by_category.iter().take(view.limits.groups);
    let categories = categories.map(|(name, counts)| (text!["category: ", name], counts));
    let rows: Vec<(StyledText, &Counts)> = kinds.chain(categories).collect();
    if !rows.is_empty() && totals.total_evals > 1 {
        page.subsection("By type and category");
        page.table(counts_table("Group", rows));
    }
    let more = totals.by_category.len().saturating_sub(view.limits.groups);
    page.more(view, more, "category");
    if !totals.by_cause.is_empty() {
        page.subsection("By cause");
        let mut table = PageTable::new([TableColumn::left("Cause"), TableColumn::right("Samples")]);
        for (cause, n) in &totals.by_cause {
            table.row([outside(cause), own(group_digits(*n))]);
        }
        page.table(table);
    }
    if !totals.by_trust.is_empty() {
        page.subsection("By trust");
        let mut table = PageTable::new([
            TableColumn::left("Trust"),
            TableColumn::right("Samples"),
            TableColumn::right("Grades"),
            TableColumn::left("What it means"),
        ]);
        for (level, counts) in &totals.by_trust {
            table.row([
                own(level.name()),
                own(group_digits(counts.samples)),
                own(group_digits(counts.grades)),
                own(notices::trust_meaning(*level)),
            ]);
        }
        page.table(table);
    }
}

/// Columns that a metric's name keeps however narrow the terminal is.
const NAME: usize = 24;

/// The metrics; on a short page only pass@k and pass^k that no threshold shows.
pub fn metrics(page: &mut Page, summary: &Summary, view: &PageView) {
    let mut rows = figures::metric_rows(summary);
    if view.is_terminal() && !view.verbose {
        let is_shown = |name: &str| summary.gate.thresholds.iter().any(|t| t.metric == name);
        let mut names = figures::telling_metrics(summary);
        names.retain(|name| {
            let Ok(MetricName { metric, part }) = name.parse() else {
                return false;
            };
            // Thresholds on parts are shown with the gate; nothing else requires parts by date.
            let by_date = |part: PartSelector| match part {
                PartSelector::Tag(tag) => tag.starts_with(MONTH_TAG),
                PartSelector::Released(_) => true,
                _ => false,
            };
            (matches!(metric, Metric::PassAt(_) | Metric::PassHat(_)) || metric.is_pass_of_tests())
                && part.is_none_or(by_date)
                && !is_shown(name)
        });
        let row = |name: &&str| figures::metric_row(summary, name);
        rows = names.iter().map(row).collect();
    }
    if rows.is_empty() {
        return;
    }
    let ranged = |row: &figures::MetricRow| row.undefined.is_empty() && !row.range.is_empty();
    let ranged = rows.iter().any(ranged);
    page.section("Metrics");
    let mut table = PageTable::new([
        TableColumn::left("Metric").least(NAME),
        TableColumn::right("Value"),
        TableColumn::left(own(figures::interval_label(summary))),
        TableColumn::right("Cases"),
        TableColumn::left("Worst, best"),
    ]);
    for row in rows {
        let known = row.undefined.is_empty();
        let mut note = outside(&row.undefined);
        if !known && !row.range.is_empty() {
            note.push(own(format!("; worst and best {}", row.range)));
        }
        let mut cells = vec![outside(&row.name)];
        match known {
            true => cells.extend([row.value, row.interval, row.cases, row.range].map(own)),
            false => {
                let blank = StyledText::default();
                let value = StyledText::from(span(TextTone::Warn, row.value));
                cells.extend([value, blank.clone(), blank.clone(), blank]);
            }
        }
        table.rows.push(TableRow { cells, note });
    }
    page.table(table);
    if view.is_terminal() && !view.verbose {
        return;
    }
    for note in figures::interval_notes(summary) {
        page.words(dim(outside(&note)));
    }
    if ranged {
        page.words(dim(
            "Worst, best: the value if all samples without a grade had failed, or had passed.",
        ));
    }
}

/// What the gate requires, and how far it is met.
pub fn thresholds(page: &mut Page, summary: &Summary, view: &PageView) {
    let all = &summary.gate.thresholds;
    let mut table = PageTable::new([
        TableColumn::left("Threshold").least(NAME),
        TableColumn::right("Value"),
        TableColumn::left(own(figures::interval_label(summary))).optional(),
        TableColumn::left("Needs"),
        TableColumn::left("Status"),
    ]);
    for threshold in all.iter().take(view.limits.metrics) {
        let row = figures::threshold_row(threshold);
        table.row([
            outside(&row.metric),
            own(row.value),
            own(figures::interval_of(summary, &threshold.metric)),
            own(row.needs),
            run::decided(row.status),
        ]);
    }
    if view.is_terminal() && !all.is_empty() {
        page.section("Thresholds");
    }
    page.table(table);
    let more = all.len().saturating_sub(view.limits.metrics);
    page.more(view, more, "threshold");
}
