//! The page of a review, its API for several reviewers, and pages for people without the program.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use axum::extract::Extension;

use super::{failure, opener};
use crate::cli::args::RunReviewArgs;
use crate::cli::console::Console;
use crate::cli::signals::StopSignals;
use crate::cli::view::{PagePlace, serve_pages};
use crate::cli::{CliFailure, CliResult};
use crate::gate::ExitCode;
use crate::review::{ReviewQueue, ReviewSession};
use crate::review_page::{
    OfflineError, ReviewDesk, api_routes, export, import, page_routes, read_decisions,
};
use crate::server::{ApiServer, CallerName, CertificateFiles, random_token};
use eval_base::text::{one_line, plural};
use eval_base::whole_file;

/// Serves the page of a session on this machine.
pub(super) fn page(console: &Console, args: &RunReviewArgs, session: ReviewSession) -> CliResult {
    let reviewer = CallerName(session.reviewer().into());
    let left = session.len() - session.progress().done;
    console.note(&format!(
        "{} to review for {}; decisions are written to {}",
        plural(left, "item"),
        one_line(session.reviewer()),
        session.file().display()
    ));
    let desk = Arc::new(ReviewDesk::new(opener(args, args.queue)?, vec![session]));
    let place = PagePlace {
        port: args.port,
        no_open: args.no_open,
        page: "/",
    };
    serve_pages(console, &place, |_| {
        page_routes().merge(api_routes(desk).layer(Extension(reviewer)))
    })
}

/// Serves the API and the page to reviewers with tokens.
pub(super) fn serve(
    console: &Console,
    args: &RunReviewArgs,
    address: SocketAddr,
    session: ReviewSession,
) -> CliResult {
    let reviewers = match args.reviewers.as_slice() {
        [] => vec![session.reviewer().to_owned()],
        names => names.to_vec(),
    };
    let tokens = tokens(args.tokens.as_deref(), &reviewers)?;
    let certificate = match (&args.cert, &args.key) {
        (Some(chain), Some(key)) => Some(CertificateFiles {
            chain: chain.clone(),
            key: key.clone(),
        }),
        _ => None,
    };
    let desk = Arc::new(ReviewDesk::new(opener(args, args.queue)?, vec![session]));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let mut signals = StopSignals::new()?;
        let server = ApiServer::bind(address, certificate.as_ref(), &tokens)
            .await
            .map_err(CliFailure::wrong)?;
        let url = server.url();
        for (name, token) in &tokens {
            let line = format!("{url}/#token={token}  {}\n", one_line(name));
            console.result(line.as_bytes())?;
        }
        console.note("each reviewer opens one of these links, or sends its token with requests; Ctrl-C ends the server");
        let stop = async move { signals.received().await };
        server.serve(page_routes(), api_routes(desk), stop).await?;
        CliResult::Ok(ExitCode::Pass)
    });
    runtime.shutdown_background();
    served
}

/// The token of each reviewer: those of the file, where new ones are added.
fn tokens(file: Option<&Path>, reviewers: &[String]) -> Result<Vec<(String, String)>, CliFailure> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    if let Some(path) = file
        && path.exists()
    {
        let wrong = |why: String| {
            CliFailure::wrong(format!("{}: {why}", path.display()))
                .hint("the file maps names of reviewers to tokens; without it new ones are made")
        };
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        known = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if let Some((name, _)) = known.iter().find(|(_, token)| token.len() < 32) {
            return Err(wrong(format!(
                "the token of `{name}` has fewer than 32 characters"
            )));
        }
    }
    let before = known.len();
    for name in reviewers {
        if !known.contains_key(name) {
            known.insert(name.clone(), random_token()?);
        }
    }
    if let Some(path) = file
        && known.len() > before
    {
        let text = format!("{:#}\n", serde_json::json!(known));
        let written = whole_file::write_whole::<io::Error>(path, |file| {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
            file.write_all(text.as_bytes())
        });
        written.map_err(|error| CliFailure::wrong(format!("{}: {error}", path.display())))?;
    }
    Ok(known.into_iter().collect())
}

/// Writes a page that works without the program.
pub(super) fn write_page(
    console: &Console,
    args: &RunReviewArgs,
    path: &Path,
    session: &ReviewSession,
) -> CliResult {
    let mut page = Vec::new();
    let items = export(session, args.reviewer.is_some(), &mut page).map_err(offline)?;
    fs::write(path, page)
        .map_err(|error| CliFailure::wrong(format!("{}: {error}", path.display())))?;
    console.note(&format!(
        "wrote {} with {}; `eval-harness review --import FILE` takes the decisions back",
        path.display(),
        plural(items, "item")
    ));
    Ok(ExitCode::Pass)
}

/// Records the decisions of files.
pub(super) fn take_back(console: &Console, args: &RunReviewArgs) -> CliResult {
    for path in &args.import {
        let named = |error: OfflineError| {
            let failed = offline(error);
            CliFailure {
                message: format!("{}: {}", path.display(), failed.message),
                ..failed
            }
        };
        let text = fs::read_to_string(path)
            .map_err(|error| CliFailure::wrong(format!("{}: {error}", path.display())))?;
        let file = read_decisions(&text).map_err(named)?;
        let session = super::opened(console, args, &file.reviewer, ReviewQueue::All)?;
        let new = import(&session, &file).map_err(named)?;
        let known = match file.decisions.len() - new {
            0 => String::new(),
            known => format!("; {} recorded before", plural(known, "decision")),
        };
        let words = format!(
            "{}: {} by {} recorded in {}{known}\n",
            path.display(),
            plural(new, "decision"),
            one_line(&file.reviewer),
            session.file().display()
        );
        console.result(words.as_bytes())?;
    }
    Ok(ExitCode::Pass)
}

fn offline(error: OfflineError) -> CliFailure {
    match error {
        OfflineError::Review(error) => failure(error),
        other => CliFailure::wrong(other),
    }
}
