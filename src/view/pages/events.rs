//! Events for the scripts of pages: that the list has changed, and how far runs are.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;

use super::PageSource;
use crate::server::{EventSender, QueryFields, event_stream};
use crate::view::folder::{ListedRun, RunFolder, RunState};
use crate::view::live::LiveState;

/// Between two looks at the folder.
const PAUSE: Duration = Duration::from_millis(500);
/// Looks without news after which a comment is sent, which shows whether the page is still there.
const QUIET: u32 = 20;
/// Looks between two changes of a list that is still being read.
const PATIENCE: u32 = 4;

/// What happens to the list: `changed` once it is not what the page shows, `runs` with the progress
/// of runs.
pub async fn list(State(source): State<PageSource>, uri: Uri) -> Response {
    let query = QueryFields::of(&uri);
    let shown = query
        .get("version")
        .and_then(|version| version.parse().ok());
    let (sender, response) = event_stream();
    tokio::spawn(follow(source, sender, move |folder, looks, before| {
        let list = folder.list();
        if Some(list.version) != shown && (list.waiting == 0 || looks >= PATIENCE) {
            return LiveNews::Changed;
        }
        let going = list
            .runs
            .iter()
            .filter(|run| matches!(run.state, RunState::Running(_)));
        let words = going.filter_map(|run| Some((run.paths.run_id.clone(), words(folder, run)?)));
        let words: BTreeMap<String, String> = words.collect();
        match before != Some(&words) && !words.is_empty() {
            true => LiveNews::Runs(words),
            false => LiveNews::None,
        }
    }));
    response
}

fn words(folder: &RunFolder, run: &ListedRun) -> Option<String> {
    folder.live(run).ok().map(|state| state.words)
}

/// What happens to a run: `run` with its state, `ended` once it is over.
pub async fn run(State(source): State<PageSource>, Path(id): Path<String>) -> Response {
    let (sender, response) = event_stream();
    let mut last: Option<LiveState> = None;
    tokio::spawn(follow(source, sender, move |folder, _, _| {
        let list = folder.list();
        let run = list.find(&id);
        let Some(run) = run.filter(|run| matches!(run.state, RunState::Running(_))) else {
            return LiveNews::Ended;
        };
        match folder.live(run) {
            Ok(state) if last.as_ref() != Some(&state) => {
                last = Some(state.clone());
                LiveNews::Run(Box::new(state))
            }
            _ => LiveNews::None,
        }
    }));
    response
}

/// What a look finds.
enum LiveNews {
    None,
    Changed,
    Runs(BTreeMap<String, String>),
    Run(Box<LiveState>),
    Ended,
}

/// Looks again and again, and sends what is new until the page is gone or the server stops.
async fn follow(
    mut source: PageSource,
    sender: EventSender,
    look: impl FnMut(&RunFolder, u32, Option<&BTreeMap<String, String>>) -> LiveNews + Send + 'static,
) {
    let (mut looks, mut quiet) = (0, 0);
    let mut before = None;
    let mut look = Some(look);
    loop {
        let folder = std::sync::Arc::clone(&source.folder);
        let Some(mut job) = look.take() else { return };
        let known = before.take();
        let looked = tokio::task::spawn_blocking(move || {
            let news = job(&folder, looks, known.as_ref());
            (news, job, known)
        });
        let Ok((news, job, known)) = looked.await else {
            return;
        };
        (look, before) = (Some(job), known);
        looks = looks.saturating_add(1);
        quiet = if matches!(news, LiveNews::None) {
            quiet + 1
        } else {
            0
        };
        let goes_on = match &news {
            LiveNews::None if quiet % QUIET == 0 => sender.ping().await,
            LiveNews::None => true,
            LiveNews::Changed => {
                sender.send("changed", &()).await;
                false
            }
            LiveNews::Ended => {
                sender.send("ended", &()).await;
                false
            }
            LiveNews::Runs(words) => sender.send("runs", words).await,
            LiveNews::Run(state) => sender.send("run", state).await,
        };
        if let LiveNews::Runs(words) = news {
            before = Some(words);
        }
        if !goes_on {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = source.stop.stopped() => return,
        }
    }
}
