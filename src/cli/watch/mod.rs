//! `run --watch`: runs again what a changed file touches, shows what flipped, and waits.

mod files;
mod keys;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver};

use self::files::WatchedFiles;
use self::keys::{KeyReader, WatchKey};
use super::args::{CiMode, RunArgs};
use super::ci::is_ci;
use super::console::Console;
use super::run::{LoadedSuite, ReadyRun, conclude_with, overrides};
use super::{CliFailure, CliResult, resume, signals, suite};
use crate::gate::ExitCode;
use crate::load::PlanPurpose;
use crate::model::{Outcome, Plan, Summary, private_cases};
use crate::report::notices;
use crate::report::page::{
    ListItem, ListMark, Page, StyledText, TextTone, outside, own, span, text,
};
use crate::report::run::verdict;
use crate::run::{self, FinishedRun};
use eval_base::text::{one_line, plural};

/// How long nothing may change before a change is looked at: editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(100);

/// Files that a line names.
const NAMED: usize = 3;

/// What ends the waiting.
enum WatchEvent {
    Changed(PathBuf),
    Key(WatchKey),
}

/// What is run next.
enum NextRun {
    Changed,
    All,
    /// The cases that did not pass in this run.
    NotPassed(String),
}

/// The outcomes of cases, by eval and case.
type CaseOutcomes = BTreeMap<(String, String), Outcome>;

/// The last run of everything that is watched.
struct LastRun {
    id: String,
    outcomes: CaseOutcomes,
}

/// Runs, waits for changes, and runs again, until a signal or a key ends it.
pub fn watch(console: &Console, args: &RunArgs, words: Vec<String>) -> CliResult {
    if args.suite.target.len() > 1 || args.suite.prompt.len() > 1 {
        return Err(CliFailure::wrong(
            "`--watch` supports one target and one prompt; select them with `--target` and `--prompt`",
        ));
    }
    if is_ci() || args.session.ci.mode == CiMode::Github {
        return Err(CliFailure::wrong(
            "`--watch` waits for files to change, so it is not allowed in CI",
        )
        .hint("use `run` without `--watch`"));
    }
    let mut words = resume::without(words, "--since");
    words.retain(|word| !matches!(word.as_str(), "--watch" | "--changed"));
    let (sender, events) = mpsc::unbounded_channel();
    let changes = sender.clone();
    let files = WatchedFiles::new(move |path| {
        // The receiver is gone at the end.
        let _ = changes.send(WatchEvent::Changed(path));
    })?;
    let keys = KeyReader::start(move |key| sender.send(WatchEvent::Key(key)).is_ok());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliFailure::incomplete(format!("cannot start: {error}")))?;
    let stop = {
        let _entered = runtime.enter();
        signals::StopSignals::new().map_err(|error| {
            CliFailure::incomplete(format!("cannot listen for signals: {error}"))
        })?
    };
    let session = WatchSession {
        console,
        words,
        since: args.since.clone(),
        files,
        keys,
        events,
        runtime,
        stop,
        last: None,
        changed_by_run: BTreeSet::new(),
        ends_with: ExitCode::Wrong,
    };
    session.run()
}

struct WatchSession<'a> {
    console: &'a Console,
    /// The arguments of every run.
    words: Vec<String>,
    /// The run that the first one reuses, if one is named.
    since: Option<String>,
    files: WatchedFiles,
    keys: Option<KeyReader>,
    events: UnboundedReceiver<WatchEvent>,
    runtime: tokio::runtime::Runtime,
    stop: signals::StopSignals,
    last: Option<LastRun>,
    /// Files that changed during the last run, unless others changed after it.
    changed_by_run: BTreeSet<PathBuf>,
    /// The exit code when the waiting is over.
    ends_with: ExitCode,
}

impl WatchSession<'_> {
    fn run(mut self) -> CliResult {
        let mut next = NextRun::Changed;
        loop {
            match self.run_once(&next) {
                Ok(ExitCode::Interrupted) => return Ok(ExitCode::Interrupted),
                // A run of some cases leaves the verdict on all of them as it is.
                Ok(_) if matches!(next, NextRun::NotPassed(_)) => {}
                Ok(code) => self.ends_with = code,
                // While files are edited they are often wrong.
                Err(failure) if self.files.is_watching() => {
                    self.ends_with = failure.code;
                    self.console
                        .error(&failure.message, failure.hint.as_deref());
                }
                Err(failure) => return Err(failure),
            }
            next = match self.wait() {
                Some(next) => next,
                None => return Ok(self.ends_with),
            };
        }
    }

    /// Loads the suite and runs it, as `next` requires.
    fn run_once(&mut self, next: &NextRun) -> CliResult {
        let mut words = self.words.clone();
        match next {
            NextRun::All => {}
            NextRun::NotPassed(run) => words.extend(["--failed-in".to_owned(), run.clone()]),
            NextRun::Changed => {
                words.push("--changed".to_owned());
                let since = self.last.as_ref().map(|last| last.id.clone());
                let since = since.or_else(|| self.since.clone());
                words.extend(
                    since
                        .into_iter()
                        .flat_map(|run| ["--since".to_owned(), run]),
                );
            }
        }
        let args = resume::parse(&words).map_err(|error| CliFailure::wrong(error.to_string()))?;
        self.files.stamp();
        let mut selected = suite::load(&args.suite, PlanPurpose::Run, overrides(&args))?;
        let open = selected.loaded.plan.as_ref().map(Plan::open_prompts);
        let refusal = open.filter(|open| !open.is_empty()).map(|open| {
            CliFailure::wrong(format!(
                "`--watch` supports one prompt, but the suite has several: {}",
                open.join(", ")
            ))
            .hint("select one with `--prompt NAME`")
        });
        // At the first run nothing is watched then, and this ends.
        if refusal.is_none() || self.files.is_watching() {
            self.files.add(std::mem::take(&mut selected.loaded.read));
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let loaded = LoadedSuite::of(self.console, selected)?;
        let ready = ReadyRun::of(self.console, &args, words, None, loaded)?;
        self.files.ignore(&ready.prepared.plan.reporting.output_dir);
        let (finished, after) = ready.drive(self.console, &args, None)?;
        let is_first = self.last.is_none();
        let shows = is_first || args.session.verbose;
        let after = after.without_notifications();
        let code = conclude_with(self.console, &args, &finished, &after, shows)?;
        let outcomes = run::outcomes(&finished.paths.journal()).map_err(super::run::failure)?;
        if !shows {
            self.show(&finished, &outcomes)?;
        }
        match (&mut self.last, next) {
            // A part of the cases: the next run reuses the last whole one.
            (Some(_), NextRun::NotPassed(_)) => {}
            (last, _) => {
                *last = Some(LastRun {
                    id: finished.paths.run_id.clone(),
                    outcomes,
                });
            }
        }
        Ok(code)
    }

    /// What flipped, and the gate.
    fn show(&self, finished: &FinishedRun, outcomes: &CaseOutcomes) -> Result<(), CliFailure> {
        let summary = &finished.summary;
        let before = self.last.as_ref().map(|last| &last.outcomes);
        let mut page = Page::default();
        let private = |flip: &CaseFlip<'_>| {
            let mut evals = summary.evals.iter();
            evals.any(|eval| eval.private && eval.id == flip.eval)
        };
        let (hidden, shown): (Vec<_>, Vec<_>) =
            flips(before, outcomes).into_iter().partition(private);
        page.list(shown.iter().map(|flip| flip.item(summary)));
        if !hidden.is_empty() {
            let cases = private_cases(hidden.len());
            page.words(own(format!(
                "{cases} with another outcome than before, not listed"
            )));
        }
        page.words(own(counts(summary, outcomes)));
        let unsandboxed = notices::is_unsandboxed(summary);
        verdict(
            &mut page,
            summary.gate.decision,
            &summary.gate.reasons,
            unsandboxed,
        );
        Ok(self.console.page(&page)?)
    }

    fn say_that_it_waits(&self) {
        let files = plural(self.files.len(), "file");
        let keys = match &self.keys {
            Some(_) => ": a runs all, f failed, r or Enter changed, q quits",
            None => "",
        };
        self.console.note(&format!("watching {files}{keys}"));
    }

    /// What to run next; `None` when this is to end.
    fn wait(&mut self) -> Option<NextRun> {
        let _raw = self.keys.as_ref().map(KeyReader::raw);
        let (paths, key) = self.changes_until_quiet(Vec::new());
        let changed = self.changed_during_run(paths);
        if !changed.is_empty() && !matches!(key, Some(WatchKey::Quit | WatchKey::All)) {
            self.console.note(&format!("{} changed", listed(&changed)));
            return Some(NextRun::Changed);
        }
        let mut next = key.map(WatchEvent::Key);
        self.say_that_it_waits();
        loop {
            let event = match next.take() {
                Some(event) => Some(event),
                None => self.next_event(),
            };
            let Some(event) = event else {
                self.ends_with = ExitCode::Interrupted;
                return None;
            };
            match event {
                WatchEvent::Key(WatchKey::Quit) => return None,
                WatchEvent::Key(WatchKey::All) => return Some(NextRun::All),
                WatchEvent::Key(WatchKey::Changed) => return Some(NextRun::Changed),
                WatchEvent::Key(WatchKey::NotPassed) => match self.not_passed() {
                    Some(run) => return Some(NextRun::NotPassed(run)),
                    None => self.console.note("every case passed"),
                },
                WatchEvent::Changed(path) => {
                    let (paths, key) = self.changes_until_quiet(vec![path]);
                    let changed = self.changed_files(paths);
                    next = key.map(WatchEvent::Key);
                    let decides = matches!(key, Some(WatchKey::Quit | WatchKey::All));
                    if !changed.is_empty() && !decides {
                        self.changed_by_run.clear();
                        self.console.note(&format!("{} changed", listed(&changed)));
                        return Some(NextRun::Changed);
                    }
                }
            }
        }
    }

    /// The last run, if a case of it did not pass.
    fn not_passed(&self) -> Option<String> {
        let last = self.last.as_ref()?;
        let mut outcomes = last.outcomes.values();
        outcomes
            .any(|outcome| *outcome != Outcome::Passed)
            .then(|| last.id.clone())
    }

    /// The next change or key; `None` after a signal.
    fn next_event(&mut self) -> Option<WatchEvent> {
        self.runtime.block_on(async {
            tokio::select! {
                () = self.stop.received() => None,
                event = self.events.recv() => event,
            }
        })
    }

    /// Paths that change, after `paths`, until nothing changes for a moment or a key is pressed.
    fn changes_until_quiet(&mut self, mut paths: Vec<PathBuf>) -> (Vec<PathBuf>, Option<WatchKey>) {
        let events = &mut self.events;
        self.runtime.block_on(async {
            while let Ok(Some(event)) = tokio::time::timeout(QUIET, events.recv()).await {
                match event {
                    WatchEvent::Changed(path) => paths.push(path),
                    WatchEvent::Key(key) => return (paths, Some(key)),
                }
            }
            (paths, None)
        })
    }

    /// The watched files among `paths`.
    fn changed_files(&mut self, mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
        paths.sort();
        paths.dedup();
        paths.retain(|path| self.files.has_changed(path));
        paths
    }

    /// The files that changed during a run, without those that also did so during the run before:
    /// the runs change them, and would go on forever.
    fn changed_during_run(&mut self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut changed = self.changed_files(paths);
        let again = |path: &&PathBuf| self.changed_by_run.contains(*path);
        let ignored: Vec<PathBuf> = changed.iter().filter(again).cloned().collect();
        for path in &ignored {
            self.files.ignore(path);
        }
        if !ignored.is_empty() {
            self.console.warn(&format!(
                "{} changed during two runs in a row; further changes are ignored",
                listed(&ignored)
            ));
        }
        changed.retain(|path| !ignored.contains(path));
        self.changed_by_run = changed.iter().cloned().collect();
        changed
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        one_line(&name.to_string_lossy())
    };
    let mut names: Vec<String> = paths.iter().take(NAMED).map(|path| name(path)).collect();
    if paths.len() > NAMED {
        names.push(plural(paths.len() - NAMED, "more file"));
    }
    names.join(", ")
}

/// A case whose outcome is not that of before.
struct CaseFlip<'a> {
    eval: &'a str,
    case: &'a str,
    /// `None` for a new case.
    before: Option<Outcome>,
    now: Outcome,
}

/// Cases with another outcome than before, and new ones that did not pass; nothing of a first run.
fn flips<'a>(before: Option<&CaseOutcomes>, now: &'a CaseOutcomes) -> Vec<CaseFlip<'a>> {
    let Some(before) = before else {
        return Vec::new();
    };
    let flip = |((eval, case), now): (&'a (String, String), &'a Outcome)| {
        let before = before.get(&(eval.clone(), case.clone())).copied();
        let is_news = match before {
            Some(before) => before != *now,
            None => *now != Outcome::Passed,
        };
        is_news.then_some(CaseFlip {
            eval,
            case,
            before,
            now: *now,
        })
    };
    now.iter().filter_map(flip).collect()
}

impl CaseFlip<'_> {
    fn item(&self, summary: &Summary) -> ListItem {
        let tone = TextTone::of(self.now);
        let before = self.before.map_or("new", Outcome::name);
        let name = match self.eval == self.case {
            true => self.eval.to_owned(),
            false => format!("{}/{}", self.eval, self.case),
        };
        let mut failures = summary.failures.iter();
        let failure = failures.find(|f| f.eval_id == self.eval && f.case_id == self.case);
        let reason = failure.map(|failure| one_line(&failure.reason));
        let reason = reason.filter(|reason| !reason.is_empty());
        let mut line: StyledText = text![
            outside(&name),
            own(format!(": {before}, now ")),
            span(tone, self.now.name())
        ];
        if let Some(reason) = reason {
            line = text![line, own(": "), outside(&reason)];
        }
        ListItem::new(ListMark::Dash, line)
    }
}

fn counts(summary: &Summary, outcomes: &CaseOutcomes) -> String {
    let passed = outcomes
        .values()
        .filter(|outcome| **outcome == Outcome::Passed);
    let cases = format!(
        "{} of {} passed",
        passed.count(),
        plural(outcomes.len(), "case")
    );
    match notices::reused(summary) {
        Some(reused) => format!("{cases}; {reused}"),
        None => cases,
    }
}
