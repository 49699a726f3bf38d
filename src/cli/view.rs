//! `eval-harness view`: a local page of all runs.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use axum::Router;

use super::args::ViewArgs;
use super::console::Console;
use super::report::results_dir;
use super::signals::StopSignals;
use super::{CliFailure, CliResult, suite};
use crate::gate::ExitCode;
use crate::journal::{self, RunPaths};
use crate::report::percent_encoded;
use crate::server::{LocalServer, ServerStop};
use crate::view::{self, RunFolder};

/// Programs that open an address in the browser of a desktop.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

pub fn view(console: &Console, args: &ViewArgs) -> CliResult {
    let results = results(args)?;
    let page = match &args.run {
        Some(run) => {
            let id = run_id(&results, run)?;
            format!("/runs/{}", percent_encoded(id.as_bytes()))
        }
        None => "/".to_owned(),
    };
    let chosen = match &args.suite {
        Some(path) => suite::listed(path.clone())?.map(|plan| plan.suite.name),
        None => None,
    };
    // May wait for another `view` that writes.
    let folder = RunFolder::open(&results);
    if folder.index.is_in_memory() && results.is_dir() {
        console.note(
            "the index in the results folder can't be written, so each `view` reads all runs again",
        );
    }
    let place = PagePlace {
        port: args.port,
        no_open: args.no_open,
        page: &page,
    };
    serve_pages(console, &place, |stop| view::routes(folder, chosen, stop))
}

/// Where pages are served, and which one is opened.
pub(super) struct PagePlace<'a> {
    /// Any free one without.
    pub port: Option<u16>,
    pub no_open: bool,
    pub page: &'a str,
}

/// Serves pages on this machine until a signal; prints the address, and opens a browser.
pub(super) fn serve_pages(
    console: &Console,
    place: &PagePlace<'_>,
    routes: impl FnOnce(ServerStop) -> Router,
) -> CliResult {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let mut signals = StopSignals::new()?;
        let server = LocalServer::bind(place.port).await.map_err(|error| {
            let port = place.port.map(|port| format!(" port {port} of"));
            let port = port.unwrap_or_default();
            CliFailure::wrong(format!("cannot listen on{port} 127.0.0.1: {error}"))
                .hint("without --port any free port is used")
        })?;
        let url = server.url(place.page);
        console.result(format!("{url}\n").as_bytes())?;
        console.note("Ctrl-C ends the server");
        if !place.no_open && std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
            open(&url);
        }
        let routes = routes(server.stop_signal());
        server
            .serve(routes, async move { signals.received().await })
            .await?;
        CliResult::Ok(ExitCode::Pass)
    });
    // What is being read for a page is not waited for.
    runtime.shutdown_background();
    served
}

/// The folder as an absolute path, which pages show.
fn results(args: &ViewArgs) -> Result<PathBuf, CliFailure> {
    let dir = results_dir(args.suite.as_deref(), args.output_dir.as_deref())?;
    Ok(suite::cwd()?.join(dir))
}

/// The id of a run of the folder, which its id, `latest` or the path of its journal names.
fn run_id(results: &Path, run: &str) -> Result<String, CliFailure> {
    let given = Path::new(run);
    if !given.is_file() {
        return Ok(journal::find_run(results, run)?.run_id);
    }
    let real = fs::canonicalize(given).unwrap_or_else(|_| given.to_owned());
    let mut runs = journal::list_runs(results).into_iter();
    let is_it = |one: &RunPaths| fs::canonicalize(one.journal()).is_ok_and(|path| path == real);
    let found = runs.find(is_it).map(|one| one.run_id);
    found.ok_or_else(|| {
        let results = results.display();
        CliFailure::wrong(format!("{run} is not the journal of a run in {results}")).hint(
            "`--output-dir` selects another results folder; `eval-harness report` writes the report of any journal",
        )
    })
}

/// Opens the address in a browser. It is not an error if there is no browser: the address was
/// printed.
fn open(url: &str) {
    for program in OPENERS {
        let mut command = Command::new(program);
        command
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if command.spawn().is_ok() {
            return;
        }
    }
}
