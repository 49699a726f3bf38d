//! Search over the cases of all runs, newest run first.

use axum::http::StatusCode;
use axum::response::Response;

use super::cases::{choose_outcome, filter, table};
use super::forms::{FilterForm, pages};
use super::{remarks, unindexed};
use crate::report::limits::view as limits;
use crate::report::page::{Page, own};
use crate::server::QueryFields;
use crate::view::folder::{ListedRun, RunFolder};
use crate::view::index::{CaseCursor, SearchCursor};
use crate::view::shell::ViewPage;
use eval_base::text::plural;

pub fn page(folder: &RunFolder, query: &QueryFields) -> Response {
    let list = folder.list();
    let mut view = ViewPage::new("Search", "/search");
    let mut page = Page::default();
    page.title("Search");
    page.words(
        "Cases of all runs, by eval, id, name, reason and the beginning of the output. Each word must occur; \
         upper and lower case are equal.",
    );
    remarks(&mut page, &list);
    view.blocks(&page);
    let mut form = FilterForm::new("/search", query);
    form.words("q", "Contains");
    choose_outcome(&mut form);
    view.html(&form.html("Search"));
    if query.get("q").is_none() && query.get("outcome").is_none() {
        return view.response(StatusCode::OK);
    }
    let runs: Vec<&ListedRun> = list
        .runs
        .iter()
        .filter(|run| run.totals().is_some())
        .collect();
    let keys: Vec<String> = runs.iter().map(|run| run.key.clone()).collect();
    let place = |id: &str| runs.iter().position(|run| run.paths.run_id == id);
    let after = query.get("after").and_then(|after| {
        let (run, case) = after.split_once(' ')?;
        Some(SearchCursor {
            run: place(run)?,
            case: CaseCursor::parse(case)?,
        })
    });
    let found = folder.index.search(
        &keys,
        &filter(query),
        after.unwrap_or_default(),
        limits::MATCHES,
    );
    let found = match found {
        Ok(found) => found,
        Err(error) => return unindexed(&error),
    };
    let id = |run: usize| runs.get(run).map_or("", |run| run.paths.run_id.as_str());
    let mut page = Page::default();
    page.section(match (found.rows.len(), &found.next) {
        (0, _) if found.missing > 0 => "No case found yet".into(),
        (0, None) => "No case fits".into(),
        (0, Some(_)) => "No case fits in the runs up to here".into(),
        (n, _) => own(plural(n, "case")),
    });
    if found.missing > 0 {
        let runs = plural(found.missing, "run");
        page.words(own(format!(
            "The cases of {runs} are not in the index yet."
        )));
    }
    let rows = found.rows.iter().map(|(run, case)| (id(*run), case));
    page.table(table(rows, Some("Run")));
    view.blocks(&page);
    let mut links = Vec::new();
    if after.is_some() {
        links.push(("First page", query.without("after").address("/search")));
    }
    if let Some(next) = found.next {
        let after = format!("{} {}", id(next.run), next.case);
        links.push((
            "Further cases",
            query.with("after", after).address("/search"),
        ));
    }
    view.html(&pages(&links));
    view.response(StatusCode::OK)
}
