//! The pages and their addresses.

mod cases;
mod compare;
mod events;
mod forms;
mod list;
mod run;
mod search;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use tokio::sync::Semaphore;

use super::folder::{ListedRun, RunFolder, RunList};
use super::shell::ViewPage;
use crate::report::page::{Page, dim, own};
use crate::report::percent_encoded;
use crate::server::{QueryFields, ServerStop};

/// Pages that are made at once: each may read a whole journal.
static PAGES: Semaphore = Semaphore::const_new(4);

/// What the pages show, and until when.
#[derive(Clone)]
pub(super) struct PageSource {
    folder: Arc<RunFolder>,
    /// The suite whose runs are listed unless another is chosen.
    suite: Option<Arc<str>>,
    stop: ServerStop,
}

/// The routes of all pages.
pub fn routes(folder: Arc<RunFolder>, suite: Option<String>, stop: ServerStop) -> Router {
    let source = PageSource {
        folder,
        suite: suite.map(Arc::from),
        stop,
    };
    Router::new()
        .route("/", get(list_page))
        .route("/events", get(events::list))
        .route("/search", get(search_page))
        .route("/compare", get(compare_page))
        .route("/runs/{run}", get(run_page))
        .route("/runs/{run}/events", get(events::run))
        .route("/runs/{run}/report", get(report_page))
        .route("/runs/{run}/cases", get(cases_page))
        .route("/runs/{run}/cases/{at}", get(case_page))
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .fallback(|| async { missing("There is no such page.") })
        .with_state(source)
}

async fn list_page(State(source): State<PageSource>, uri: Uri) -> Response {
    blocking(move || list::page(&source, &QueryFields::of(&uri))).await
}

async fn search_page(State(source): State<PageSource>, uri: Uri) -> Response {
    blocking(move || search::page(&source.folder, &QueryFields::of(&uri))).await
}

async fn compare_page(State(source): State<PageSource>, uri: Uri) -> Response {
    blocking(move || compare::page(&source.folder, &QueryFields::of(&uri))).await
}

async fn run_page(State(source): State<PageSource>, Path(id): Path<String>) -> Response {
    of_run(source, id, run::page).await
}

async fn report_page(State(source): State<PageSource>, Path(id): Path<String>) -> Response {
    of_run(source, id, |_, run| run::report(run)).await
}

async fn cases_page(
    State(source): State<PageSource>,
    Path(id): Path<String>,
    uri: Uri,
) -> Response {
    let query = QueryFields::of(&uri);
    of_run(source, id, move |folder, run| {
        cases::page(folder, run, &query)
    })
    .await
}

async fn case_page(
    State(source): State<PageSource>,
    Path((id, at)): Path<(String, u32)>,
) -> Response {
    of_run(source, id, move |folder, run| cases::case(folder, run, at)).await
}

/// A page of a run that is there.
async fn of_run(
    source: PageSource,
    id: String,
    page: impl FnOnce(&RunFolder, &ListedRun) -> Response + Send + 'static,
) -> Response {
    let make = move || match source.folder.list().find(&id) {
        Some(run) => page(&source.folder, run),
        None => missing("There is no such run. It may have been removed."),
    };
    blocking(make).await
}

/// Makes a page where it may take time.
async fn blocking(make: impl FnOnce() -> Response + Send + 'static) -> Response {
    let permit = PAGES.acquire().await;
    let make = move || {
        // Until the page is made, also where the browser has left.
        let _permit = permit;
        make()
    };
    let made = tokio::task::spawn_blocking(make).await;
    made.unwrap_or_else(|_| {
        let words = "Internal error in eval-harness while this page was made.";
        message(
            StatusCode::INTERNAL_SERVER_ERROR,
            "No page",
            words.to_owned(),
        )
    })
}

fn missing(words: &'static str) -> Response {
    message(StatusCode::NOT_FOUND, "Not found", words.to_owned())
}

/// A page that says why there is no other one. `words` may contain texts from outside.
fn message(status: StatusCode, title: &'static str, words: String) -> Response {
    let mut page = Page::default();
    page.title(title);
    page.words(words);
    let mut view = ViewPage::new(title, "");
    view.blocks(&page);
    view.response(status)
}

/// The index can't be read, even after it was replaced.
fn unindexed(error: &rusqlite::Error) -> Response {
    let words = format!("The index can't be read: {error}");
    message(StatusCode::INTERNAL_SERVER_ERROR, "No index", words)
}

fn run_address(id: &str) -> String {
    format!("/runs/{}", percent_encoded(id.as_bytes()))
}

fn case_address(id: &str, at: u32) -> String {
    format!("{}/cases/{at}", run_address(id))
}

/// What of the folder is not on a page yet.
fn remarks(page: &mut Page, list: &RunList) {
    use eval_base::text::plural;
    if list.waiting > 0 {
        let runs = plural(list.waiting, "run");
        page.words(dim(own(format!(
            "{runs} still to be read; this page is updated meanwhile."
        ))));
    }
}
