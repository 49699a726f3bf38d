//! A run: its report, an overview where the report would be too large, or how far it is.

use axum::http::StatusCode;
use axum::response::Response;

use super::cases::{self, Listing};
use super::{message, remarks, run_address, unindexed};
use crate::report::html;
use crate::report::html::page::policy;
use crate::report::limits::view as limits;
use crate::report::page::html::escape;
use crate::report::page::{
    Page, PageTable, StyledText, Symbol, TableColumn, TextTone, bold, dim, linked, mark, outside,
    own, text,
};
use crate::report::{figures, runs};
use crate::run;
use crate::run::history::RunTotals;
use crate::server::{QueryFields, html_page};
use crate::view::folder::{ListedRun, RunFolder, RunState};
use crate::view::index::{CaseCursor, CaseFilter, CaseSet, EvalRow};
use crate::view::shell::{ViewPage, around};
use eval_base::text::{group_digits, one_line, plural};

pub fn page(folder: &RunFolder, run: &ListedRun) -> Response {
    match &run.state {
        RunState::Running(_) => going(folder, run),
        RunState::Unreadable(why) => {
            let words = format!("Run {} can't be read: {why}", run.paths.run_id);
            message(StatusCode::OK, "Unreadable run", words)
        }
        RunState::Read(totals) if is_large(run, totals) => overview(folder, run, totals),
        RunState::Waiting if run.journal.bytes > limits::JOURNAL => waiting(folder, run),
        RunState::Read(_) | RunState::Waiting => report(run),
    }
}

fn is_large(run: &ListedRun, totals: &RunTotals) -> bool {
    run.journal.bytes > limits::JOURNAL || totals.cases.total > limits::REPORT_CASES
}

/// The HTML report of a run, as `report` writes it.
pub fn report(run: &ListedRun) -> Response {
    let read = match run::reread(&run.paths.journal()) {
        Ok(read) => read,
        Err(error) => {
            let words = format!("Run {} can't be read: {error}", run.paths.run_id);
            return message(StatusCode::OK, "Unreadable run", words);
        }
    };
    let links = around(&[("Cases", format!("{}/cases", run_address(&run.paths.run_id)))]);
    let mut body = Vec::new();
    match html::render_within(&read.summary, &links, &mut body) {
        Ok(()) => html_page(StatusCode::OK, policy(), body),
        Err(error) => message(
            StatusCode::INTERNAL_SERVER_ERROR,
            "No report",
            error.to_string(),
        ),
    }
}

fn waiting(folder: &RunFolder, run: &ListedRun) -> Response {
    let list = folder.list();
    let mut page = Page::default();
    page.title(outside(&run.paths.run_id));
    page.words("This run is large and is being read for the first time.");
    remarks(&mut page, &list);
    let mut view = ViewPage::new(run.paths.run_id.as_str(), "");
    view.events = Some(format!("/events?version={}", list.version));
    view.blocks(&page);
    view.response(StatusCode::OK)
}

/// What a report begins with, from the index; cases page by page.
fn overview(folder: &RunFolder, run: &ListedRun, totals: &RunTotals) -> Response {
    let id = &run.paths.run_id;
    let title = format!("{} ({id})", one_line(&totals.identity.suite_name));
    let mut view = ViewPage::new(title, "");
    let mut page = Page::default();
    header(&mut page, run, totals);
    page.words(text![
        "The whole ",
        linked("HTML report", Some(format!("{}/report", run_address(id)))),
        " of a run of this size takes a moment."
    ]);
    match folder.index.evals(&run.key) {
        Ok(Some(rows)) if rows.len() > 1 => evals(&mut page, id, rows),
        Ok(_) => {}
        Err(error) => return unindexed(&error),
    }
    view.blocks(&page);
    let filter = CaseFilter {
        set: CaseSet::NotPassed,
        ..CaseFilter::default()
    };
    let found = folder
        .index
        .cases(&run.key, &filter, CaseCursor::default(), limits::CASES);
    match found {
        Ok(found) => {
            let query = QueryFields::default().with("outcome", "unpassed");
            let listing = Listing {
                run: id,
                query: &query,
                heading: own("Not passed"),
            };
            cases::listed(&mut view, &listing, found);
        }
        Err(error) => return unindexed(&error),
    }
    view.response(StatusCode::OK)
}

/// Suite, gate and figures of a run.
pub fn header(page: &mut Page, run: &ListedRun, totals: &RunTotals) {
    let past = totals.clone().into_run();
    let identity = &totals.identity;
    page.title(outside(&identity.suite_name));
    if let Some(gate) = totals.gate {
        let words = own(format!("Gate {}", figures::decision_label(gate)));
        page.lead(text![Symbol::of_decision(gate), " ", words].toned(TextTone::of_decision(gate)));
    }
    let counts = |counts: &crate::model::Counts| {
        let named: Vec<String> = figures::occurring(counts)
            .map(|(name, n)| format!("{} {name}", group_digits(n)))
            .collect();
        own(format!(
            "{}: {} ({})",
            group_digits(counts.total),
            named.join(", "),
            figures::percent_or_none(counts.pass_rate)
        ))
    };
    let notes = runs::notes(&past);
    let facts = [
        ("Run", outside(&run.paths.run_id)),
        ("Cases", counts(&totals.cases)),
        ("Evals", counts(&totals.counts)),
        ("Target", outside(&identity.environment.target)),
        ("Began", outside(&identity.timestamp)),
        (
            "Duration",
            own(figures::duration_seconds(totals.duration_seconds)),
        ),
        ("Notes", notes),
    ];
    let facts = facts.into_iter().filter(|(_, words)| !words.is_empty());
    page.facts(facts.map(|(label, words)| (StyledText::from(label), words)));
}

fn evals(page: &mut Page, run: &str, mut rows: Vec<EvalRow>) {
    let all = rows.len();
    rows.sort_by_key(|eval| figures::urgency(eval.outcome).unwrap_or(usize::MAX));
    page.section(own(plural(all, "eval")));
    let mut table = PageTable::new([
        TableColumn::left("Eval"),
        TableColumn::left("Outcome"),
        TableColumn::right("Passed"),
        TableColumn::right("Cases"),
    ]);
    for eval in rows.iter().take(limits::EVALS) {
        let address = QueryFields::default().with("eval", &eval.id);
        let address = address.address(&format!("{}/cases", run_address(run)));
        table.row([
            linked(&eval.id, Some(address)),
            text![mark(eval.outcome), " ", own(eval.outcome.name())],
            own(figures::percent_or_none(eval.counts.pass_rate)),
            own(group_digits(eval.counts.total)),
        ]);
    }
    page.table(table);
    if all > limits::EVALS {
        page.words(dim(own(format!(
            "... and {}; the report lists them",
            plural(all - limits::EVALS, "more eval")
        ))));
    }
}

/// A run that another process writes: its script draws what comes.
fn going(folder: &RunFolder, run: &ListedRun) -> Response {
    let id = &run.paths.run_id;
    let identity = run.identity();
    let suite = identity.map_or("", |identity| identity.suite_name.as_str());
    let mut page = Page::default();
    page.title(match suite {
        "" => outside(id),
        suite => outside(suite),
    });
    page.lead(own("Running").toned(TextTone::Wait));
    let facts = identity.into_iter().flat_map(|identity| {
        [
            ("Run", outside(id)),
            ("Target", outside(&identity.environment.target)),
            ("Began", outside(&identity.timestamp)),
        ]
    });
    page.facts(facts.map(|(label, words)| (StyledText::from(label), words)));
    let words = match folder.live(run) {
        Ok(state) => state.words,
        Err(error) => format!("The journal can't be followed: {error}"),
    };
    let words = escape(&words);
    let mut view = ViewPage::new(format!("Running: {}", one_line(suite)), "");
    view.events = Some(format!("{}/events", run_address(id)));
    view.blocks(&page);
    view.html(&format!(
        "<section class=\"card live\" aria-labelledby=\"progress\"><h2 id=\"progress\">Progress</h2>\n\
         <progress data-live=\"bar\" value=\"0\" max=\"1\" aria-label=\"Finished samples\"></progress>\n\
         <p><span data-live=\"words\">{words}</span>; of what is graded, <span data-live=\"rate\">none</span> passed</p>\n\
         <ul class=\"outcomes\" data-live=\"outcomes\"></ul></section>\n\
         <section class=\"card live\" aria-labelledby=\"unpassed\"><h2 id=\"unpassed\">Not passed, newest first</h2>\n\
         <p class=\"soft\" data-live=\"no-unpassed\">None so far.</p><ol data-live=\"unpassed\"></ol></section>\n\
         <section class=\"card live\" aria-labelledby=\"newest\"><h2 id=\"newest\">Newest samples</h2>\n\
         <p class=\"soft\" data-live=\"no-newest\">None so far.</p><ol data-live=\"newest\"></ol></section>\n"
    ));
    view.response(StatusCode::OK)
}

/// `Run ID` with a link, on pages below it.
pub fn back_to(run: &str) -> StyledText {
    text!["Run ", bold(linked(run, Some(run_address(run))))]
}
