//! Side by side as a page: a column for each target.

use super::{CaseLine, RunSides};
use crate::model::{Outcome, Summary};
use crate::report::limits;
use crate::report::page::{
    ListItem, NarrowLayout, Page, PageBlock, PageNotice, PageTable, PageView, StyledText,
    TableColumn, TextTone, bold, code, dim, mark, outside, own, place, span, text,
};
use crate::report::{commands, figures, run};
use eval_base::text::{group_digits, plural};

/// Columns of the names of lines that are kept.
const NAME: usize = 14;

pub fn page(sides: &RunSides, view: &PageView) -> Page {
    let mut page = Page::default();
    let name = sides
        .runs
        .first()
        .map(|run| outside(&run.metadata.suite_name));
    let title = own(format!(": {} side by side", sides.count()));
    page.title(text![name.unwrap_or_default(), title]);
    for caution in sides.cautions() {
        page.push(PageBlock::Notice(PageNotice::quiet(caution)));
    }
    figures(&mut page, sides, view);
    pairs(&mut page, sides);
    let differing = sides.cases();
    evals(&mut page, sides, differing.as_deref(), view);
    cases(&mut page, sides, differing.as_deref(), view);
    if let Some(command) = sides.compare() {
        page.push(PageBlock::Gap);
        page.push(PageBlock::Copy("compare", command));
    }
    for (run, label) in sides.runs.iter().zip(sides.labels()) {
        let commands = [
            ("show", commands::show_failed(run)),
            ("rerun", commands::run_failed_again(run)),
        ];
        if !run.gate.reasons.is_empty() || commands.iter().any(|(_, command)| command.is_some()) {
            let title = text![outside(&label), ": ", run::decided(run.gate.decision)];
            page.subsection(title);
            page.list(run.gate.reasons.iter().map(ListItem::dash));
        }
        for (label, command) in commands {
            let command = command.map(|command| PageBlock::Copy(label, command));
            page.blocks.extend(command);
        }
    }
    page
}

/// A table with a column for each run.
fn columns(sides: &RunSides, first: &'static str) -> PageTable {
    let label = |label: &String| TableColumn {
        keeps_end: true,
        ..TableColumn::left(bold(outside(label)))
    };
    let labels = sides.labels();
    let first = TableColumn::left(first).least(NAME);
    let mut table = PageTable::new(std::iter::once(first).chain(labels.iter().map(label)));
    table.narrow = NarrowLayout::Split;
    table
}

fn figures(page: &mut Page, sides: &RunSides, view: &PageView) {
    let mut table = columns(sides, "");
    let mut line = |name: StyledText, cell: &dyn Fn(&Summary) -> StyledText| {
        table.row(std::iter::once(name).chain(sides.runs.iter().map(|run| cell(run))));
    };
    line("gate".into(), &|run| run::decided(run.gate.decision));
    line("cases passed".into(), &|run| {
        let counts = &run.summary.cases;
        let [passed, total] = [counts.passed, counts.total].map(group_digits);
        own(format!("{passed} of {total}"))
    });
    if !view.is_terminal() {
        line("model".into(), &|run| {
            let model = run.metadata.environment.model.as_deref();
            model.map(code).unwrap_or_default()
        });
        line("time".into(), &|run| {
            own(figures::duration_seconds(run.metadata.duration_seconds))
        });
        line("run".into(), &|run| code(&run.metadata.run_id));
    }
    for metric in sides.metrics() {
        line(outside(&figures::shown_metric(metric)), &|run| {
            let row = figures::metric_row(run, metric);
            match row.interval.is_empty() {
                true => own(row.value),
                false => text![
                    own(row.value),
                    StyledText::line_break(),
                    dim(own(row.interval))
                ],
            }
        });
    }
    page.push(PageBlock::Gap);
    page.table(table);
    page.words(dim("In brackets: the 95 % interval of each run."));
}

/// Whether the runs differ, a line for each pair.
fn pairs(page: &mut Page, sides: &RunSides) {
    if sides.pairs.is_empty() {
        return;
    }
    page.section("Differences");
    let mut table = PageTable::new([
        TableColumn::left("From").least(NAME),
        TableColumn::left("To").least(NAME),
        TableColumn::right(outside(&sides.pair_metric())),
        TableColumn::left("95 % CI"),
        TableColumn::right("p"),
        TableColumn::right("n"),
        TableColumn::right("Broke"),
        TableColumn::right("Fixed"),
        TableColumn::left("Verdict"),
    ]);
    table.narrow = NarrowLayout::Split;
    for row in sides.pair_rows() {
        let tone = match row.is_better {
            Some(true) => TextTone::Good,
            Some(false) => TextTone::Bad,
            None => TextTone::Plain,
        };
        table.row([
            outside(&row.first),
            outside(&row.second),
            own(row.difference),
            own(row.interval),
            own(row.p),
            own(row.n),
            own(row.only_first),
            own(row.only_second),
            text![span(tone, row.verdict)],
        ]);
    }
    page.table(table);
    for note in sides.pair_notes() {
        page.words(dim(own(note)));
    }
}

/// `cases`: those that differ; `None` when they are not all known.
fn evals(page: &mut Page, sides: &RunSides, cases: Option<&[CaseLine<'_>]>, view: &PageView) {
    let lines = sides.evals();
    let all = lines.len();
    let differing: Vec<_> = lines.into_iter().filter(|line| line.differs()).collect();
    if differing.is_empty() {
        page.push(PageBlock::Gap);
        page.words("Every eval had the same outcome in each run.");
        return;
    }
    // The table of cases has the same rows where each of these evals has one case.
    let mut runs = differing.iter().flat_map(|line| line.runs.iter().flatten());
    let ids = differing.iter().map(|line| line.id);
    let same_rows = cases.is_some_and(|cases| cases.iter().map(|case| case.eval).eq(ids));
    if !same_rows || runs.any(|eval| eval.counts.total > 1) {
        let most = view.limits.evals.min(limits::SIDES_ROWS);
        page.section("Evals that differ");
        let mut table = columns(sides, "Eval");
        for line in differing.iter().take(most) {
            let cell = |eval: &Option<&crate::model::EvalResult>| match eval {
                None => dim("not run"),
                Some(eval) => {
                    let counts = format!(" {}/{}", eval.counts.passed, eval.counts.total);
                    text![mark(eval.outcome), span(TextTone::of(eval.outcome), counts)]
                }
            };
            table.row(std::iter::once(outside(line.id)).chain(line.runs.iter().map(cell)));
        }
        page.table(table);
        page.more(view, differing.len().saturating_sub(most), "eval");
    } else if all > differing.len() {
        page.push(PageBlock::Gap);
    }
    if all > differing.len() {
        let alike = plural(all - differing.len(), "eval");
        page.words(own(format!("{alike} had the same outcome in each run.")));
    }
}

fn cases(page: &mut Page, sides: &RunSides, cases: Option<&[CaseLine<'_>]>, view: &PageView) {
    let Some(lines) = cases else {
        page.words("The runs are too large to list the cases with different outcomes.");
        return;
    };
    if lines.is_empty() {
        return;
    }
    let most = view.limits.evals.min(limits::SIDES_ROWS);
    page.section("Cases that differ");
    let mut table = columns(sides, "Case");
    for line in lines.iter().take(most) {
        let cell = |case: &Option<&crate::model::CaseResult>| match case {
            None => dim("not run"),
            Some(case) => {
                let cause = case.cause.filter(|_| case.outcome != Outcome::Passed);
                let word = cause.map_or(case.outcome.name(), |cause| cause.name());
                let word = span(TextTone::of(case.outcome), word);
                text![mark(case.outcome), " ", word]
            }
        };
        let name = place(line.eval, line.case);
        table.row(std::iter::once(name).chain(line.runs.iter().map(cell)));
    }
    page.table(table);
    page.more(view, lines.len().saturating_sub(most), "case");
}
