//! The cases of a run, page by page, and one case in full.

use axum::http::StatusCode;
use axum::response::Response;

use super::forms::{FilterForm, pages};
use super::{case_address, message, missing, run, run_address, unindexed};
use crate::journal::{self, JournalError};
use crate::model::Outcome;
use crate::report::limits::view as limits;
use crate::report::page::{
    Page, PageTable, StyledText, TableColumn, TextTone, dim, linked, mark, outside, own, text,
};
use crate::report::{figures, show};
use crate::run::case_of;
use crate::server::QueryFields;
use crate::view::folder::{ListedRun, RunFolder, RunState};
use crate::view::index::{CaseCursor, CaseFilter, CasePage, CaseRow, CaseSet, TextMatcher};
use crate::view::shell::ViewPage;
use eval_base::text::{one_line, truncate_width};

/// Filters by outcome, with the words of their fields.
const SETS: [(&str, &str, CaseSet); 8] = [
    ("", "All", CaseSet::All),
    ("unpassed", "Not passed", CaseSet::NotPassed),
    ("failed", "Failed", CaseSet::Of(Outcome::Failed)),
    ("errored", "Errored", CaseSet::Of(Outcome::Errored)),
    ("flaky", "Flaky", CaseSet::Flaky),
    ("pending", "Pending", CaseSet::Of(Outcome::Pending)),
    ("skipped", "Skipped", CaseSet::Of(Outcome::Skipped)),
    ("passed", "Passed", CaseSet::Of(Outcome::Passed)),
];

/// The filter that an address names.
pub fn filter(query: &QueryFields) -> CaseFilter {
    let wanted = query.get("outcome").unwrap_or_default();
    let found = SETS.iter().find(|(name, _, _)| *name == wanted);
    CaseFilter {
        set: found.map_or(CaseSet::All, |(_, _, set)| *set),
        eval: query.get("eval").map(str::to_owned),
        text: TextMatcher::new(query.get("q").unwrap_or_default()),
    }
}

/// Adds the choice of outcomes to a form.
pub fn choose_outcome(form: &mut FilterForm<'_>) {
    let options = SETS.map(|(name, words, _)| (name.to_owned(), words.to_owned()));
    form.choice("outcome", "Outcome", &options, None);
}

pub fn page(folder: &RunFolder, run: &ListedRun, query: &QueryFields) -> Response {
    let totals = match &run.state {
        RunState::Read(totals) => totals,
        RunState::Unreadable(_) => return run::page(folder, run),
        RunState::Running(_) | RunState::Waiting => {
            let words = format!(
                "The cases of run {} are listed once it has ended and was read.",
                run.paths.run_id
            );
            return message(StatusCode::OK, "No cases yet", words);
        }
    };
    let id = &run.paths.run_id;
    let address = format!("{}/cases", run_address(id));
    let mut view = ViewPage::new(format!("Cases of {id}"), "");
    let mut page = Page::default();
    page.title(text!["Cases of ", outside(&totals.identity.suite_name)]);
    page.words(run::back_to(id));
    view.blocks(&page);
    let mut form = FilterForm::new(&address, query);
    choose_outcome(&mut form);
    let evals = match folder.index.evals(&run.key) {
        Ok(evals) => evals.unwrap_or_default(),
        Err(error) => return unindexed(&error),
    };
    if evals.len() > 1 {
        let all = std::iter::once((String::new(), "All".to_owned()));
        let evals = evals.iter().take(limits::EVALS);
        let chosen = evals.map(|eval| (eval.id.clone(), eval.id.clone()));
        form.choice("eval", "Eval", &all.chain(chosen).collect::<Vec<_>>(), None);
    }
    form.words("q", "Contains");
    view.html(&form.html("Show"));
    let after = query
        .get("after")
        .and_then(CaseCursor::parse)
        .unwrap_or_default();
    let filter = filter(query);
    match folder.index.cases(&run.key, &filter, after, limits::CASES) {
        Ok(found) => {
            let listing = Listing {
                run: id,
                query,
                heading: own("Cases"),
            };
            listed(&mut view, &listing, found);
        }
        Err(error) => return unindexed(&error),
    }
    view.response(StatusCode::OK)
}

/// A list of cases of a run.
pub struct Listing<'a> {
    pub run: &'a str,
    pub query: &'a QueryFields,
    pub heading: StyledText,
}

/// Adds a page of a list, with a link to the next one. `found` is `None` when the index does not
/// have the run.
pub fn listed(view: &mut ViewPage, listing: &Listing<'_>, found: Option<CasePage>) {
    let mut page = Page::default();
    page.section(listing.heading.clone());
    let Some(found) = found else {
        page.words("The cases of this run are not in the index yet.");
        view.blocks(&page);
        return;
    };
    match found.rows.is_empty() {
        true => page.words("No case fits."),
        false => {
            let rows = found.rows.iter().map(|row| (listing.run, row));
            page.table(table(rows, None));
        }
    }
    view.blocks(&page);
    let path = format!("{}/cases", run_address(listing.run));
    let mut links = Vec::new();
    if listing.query.get("after").is_some() {
        links.push(("First page", listing.query.without("after").address(&path)));
    }
    if let Some(next) = found.next {
        let next = listing.query.with("after", next.to_string());
        links.push(("Next page", next.address(&path)));
    }
    view.html(&pages(&links));
}

/// A table of cases, each with the id of its run; `runs` is the head of a column that shows it.
pub fn table<'a>(
    rows: impl Iterator<Item = (&'a str, &'a CaseRow)>,
    runs: Option<&'static str>,
) -> PageTable {
    let columns = [
        TableColumn::left("Case"),
        TableColumn::left("Outcome"),
        TableColumn::right("Score"),
        TableColumn::left("Reason"),
        TableColumn::left("Output"),
    ];
    let run_column = runs.map(TableColumn::left);
    let mut table = PageTable::new(columns.into_iter().chain(run_column));
    for (run, case) in rows {
        let name = match case.eval == case.id {
            true => case.id.clone(),
            false => format!("{} › {}", case.eval, case.id),
        };
        let mut name = linked(&name, Some(case_address(run, case.at)));
        if !case.name.is_empty() {
            name = text![name, StyledText::line_break(), dim(outside(&case.name))];
        }
        let words = case.cause.as_deref().unwrap_or(case.outcome.name());
        let words = own(words).toned(TextTone::of(case.outcome));
        let mut outcome = text![mark(case.outcome), " ", words];
        if case.flaky {
            outcome = text![outcome, " ", own("flaky").toned(TextTone::Warn)];
        }
        let score = case.score.filter(|score| ![0.0, 1.0].contains(score));
        let cells = [
            name,
            outcome,
            own(score.map_or_else(String::new, figures::rate)),
            brief(&case.reason, limits::REASON),
            brief(&case.output, limits::OUTPUT),
        ];
        let of_run = runs.map(|_| linked(run, Some(run_address(run))));
        table.row(cells.into_iter().chain(of_run));
    }
    table
}

/// A text from outside on one line, of a bounded width.
pub fn brief(words: &str, columns: usize) -> StyledText {
    outside(&truncate_width(&one_line(words), columns))
}

/// One case in full, as `show` prints it.
pub fn case(folder: &RunFolder, run: &ListedRun, at: u32) -> Response {
    let id = &run.paths.run_id;
    let place = match place_of(folder, run, at) {
        Ok(Some(place)) => place,
        Ok(None) => return missing("There is no such case in this run."),
        Err(error) => return unreadable(id, &error.to_string()),
    };
    let (eval, case) = place;
    match journal::private_evals(&run.paths.journal()) {
        Ok(private) if private.contains(&eval) => {
            return missing("Cases of a private dataset are not shown.");
        }
        Ok(_) => {}
        Err(error) => return unreadable(id, &error.to_string()),
    }
    let selected = match case_of(&run.paths, &eval, &case) {
        Ok(selected) => selected,
        Err(error) => return unreadable(id, &error.to_string()),
    };
    let cases: Vec<show::ShownCase<'_>> = selected
        .evals
        .iter()
        .flat_map(|eval| {
            let cases = eval.cases.iter();
            cases.map(move |case| show::ShownCase { eval, case })
        })
        .collect();
    let mut view = ViewPage::new(format!("{case} ({id})"), "");
    let mut page = Page::default();
    page.title(crate::report::page::place(&eval, &case));
    page.words(run::back_to(id));
    if cases.is_empty() {
        page.words("It is planned, and none of its samples has ended.");
    }
    page.blocks.extend(show::page(&cases, id).blocks);
    view.blocks(&page);
    let mut links = Vec::new();
    if at > 1 {
        links.push(("Previous case", case_address(id, at - 1)));
    }
    let last = run
        .totals()
        .map_or(u32::MAX as usize, |totals| totals.cases.total);
    if (at as usize) < last {
        links.push(("Next case", case_address(id, at + 1)));
    }
    links.push(("All cases", format!("{}/cases", run_address(id))));
    view.html(&pages(&links));
    view.response(StatusCode::OK)
}

/// Eval and case at a place in the plan: from the index, or from the journal while it is not there.
fn place_of(
    folder: &RunFolder,
    run: &ListedRun,
    at: u32,
) -> Result<Option<(String, String)>, JournalError> {
    let indexed = run
        .totals()
        .and_then(|_| folder.index.case(&run.key, at).ok().flatten());
    if let Some(row) = indexed {
        return Ok(Some((row.eval, row.id)));
    }
    let planned = journal::planned_cases(&run.paths.journal())?;
    let place = at
        .checked_sub(1)
        .and_then(|at| planned.into_iter().nth(at as usize));
    Ok(place)
}

fn unreadable(run: &str, why: &str) -> Response {
    let words = format!("Run {run} can't be read: {why}");
    message(StatusCode::OK, "Unreadable run", words)
}
