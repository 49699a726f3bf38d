//! The verbs with `--scores`: what whole runs came to, in place of outputs.

use serde_json::{Value, json};

use super::list::day;
use super::{NOTHING, decisions, overview, refuse_in_ci, relative};
use crate::baseline::{
    ScoreChanges, ScoreStore, ScoresEntry, ScoresError, ScoresOf, score_changes,
};
use crate::cli::args::{CaptureArgs, DiffArgs, DiffFormat, OfSuiteArgs};
use crate::cli::console::Console;
use crate::cli::scores::failure;
use crate::cli::{CliFailure, CliResult, report, run as run_verb};
use crate::gate::ExitCode;
use crate::journal;
use crate::model::private_cases;
use crate::report::figures;
use crate::report::limits;
use crate::report::page::markdown::{self, MarkdownOptions};
use crate::report::page::{
    ListItem, Page, PageTable, StyledText, TableColumn, code, dim, outside, own, place, text,
};
use crate::run::{self, ScoreBaselineResult};
use crate::spec::ScoreBaselineFile;
use eval_base::json::escaped;
use eval_base::text::plural;

/// Makes the scores of a finished run pending.
pub fn capture(console: &Console, args: &CaptureArgs) -> CliResult {
    refuse_in_ci("capture")?;
    let suite = overview(console, &args.of)?;
    let results = report::results_dir(args.of.suite.as_deref(), args.output_dir.as_deref())?;
    let run = args.run.as_deref().unwrap_or("latest");
    let paths = journal::find_run(&results, run)?;
    let file = match run::scores(&paths.journal()).map_err(run_verb::failure)? {
        ScoreBaselineResult::Taken(file) => *file,
        ScoreBaselineResult::Refused(reasons) => {
            let why: Vec<String> = reasons
                .iter()
                .map(|reason| format!("\n  - {reason}"))
                .collect();
            let message = format!(
                "the scores of {} can't be a baseline of the suite:{}",
                paths.run_id,
                why.concat()
            );
            return Err(CliFailure::wrong(message)
                .hint("run the whole suite until it finishes, and capture that run"));
        }
    };
    if file.suite != suite.name {
        let message = format!(
            "{} belongs to suite `{}`, not `{}`",
            paths.run_id, file.suite, suite.name
        );
        return Err(
            CliFailure::wrong(message).hint("select the run with --run, or the suite with --suite")
        );
    }
    let store = ScoreStore::new(&suite.baselines.dir);
    let (target, cases) = (outside(&file.target.name), cases(&file));
    let path = outside(&relative(&store.capture(file).map_err(failure)?));
    let cases = own(format!("{cases} of {}", paths.run_id));
    let mut table = PageTable::new(["", "", "", ""].map(TableColumn::left));
    table.row(["captured".into(), target, cases, path]);
    let mut page = Page::default();
    page.table(table);
    console.page(&page)?;
    console.note(
        "`eval-harness baseline diff --scores` shows the changes, `eval-harness baseline accept --scores` accepts \
             them",
    );
    Ok(ExitCode::Pass)
}

fn cases(file: &ScoreBaselineFile) -> String {
    plural(file.evals.iter().map(|eval| eval.cases.len()).sum(), "case")
}

/// The store of a suite, with what it holds.
fn gathered(
    console: &Console,
    of: &OfSuiteArgs,
) -> Result<(ScoreStore, String, Vec<ScoresEntry>), CliFailure> {
    let suite = overview(console, of)?;
    let store = ScoreStore::new(&suite.baselines.dir);
    let entries = store.of_suite(&suite.name).map_err(failure)?;
    Ok((store, suite.name, entries))
}

/// Accepts the pending scores of every target of the suite.
pub fn accept(console: &Console, of: &OfSuiteArgs, force: bool) -> CliResult {
    refuse_in_ci("accept")?;
    let (store, suite, entries) = gathered(console, of)?;
    let (mut table, mut failed) = (decisions(), 0);
    for entry in entries.iter().filter(|entry| entry.pending.is_some()) {
        let tell = |error: &ScoresError| console.error(&error.to_string(), error.hint().as_deref());
        if let Some(error) = broken(entry) {
            failed += 1;
            tell(error);
            continue;
        }
        match store.accept(of_entry(&suite, entry), force) {
            Ok(path) => table.row([
                "accepted".into(),
                outside(&entry.target),
                outside(&relative(&path)),
            ]),
            Err(error) => {
                failed += 1;
                tell(&error);
            }
        }
    }
    decided(console, table, failed)
}

/// What was done with each target's scores.
fn decided(console: &Console, table: PageTable, failed: usize) -> CliResult {
    let mut page = Page::default();
    if table.rows.is_empty() && failed == 0 {
        page.lead(NOTHING);
    }
    page.table(table);
    console.page(&page)?;
    Ok(if failed > 0 {
        ExitCode::Wrong
    } else {
        ExitCode::Pass
    })
}

fn of_entry<'a>(suite: &'a str, entry: &'a ScoresEntry) -> ScoresOf<'a> {
    ScoresOf {
        suite,
        target: &entry.target,
    }
}

/// Why pending scores can't be used.
fn broken(entry: &ScoresEntry) -> Option<&ScoresError> {
    entry.pending.as_ref().and_then(|read| read.as_ref().err())
}

/// Throws the pending scores of every target of the suite away.
pub fn reject(console: &Console, of: &OfSuiteArgs) -> CliResult {
    refuse_in_ci("reject")?;
    let (store, suite, entries) = gathered(console, of)?;
    let (mut table, mut failed) = (decisions(), 0);
    for entry in entries.iter().filter(|entry| entry.pending.is_some()) {
        if let Some(error) = broken(entry) {
            failed += 1;
            console.error(
                &error.to_string(),
                Some("its target is unknown: delete the file"),
            );
        } else if store.reject(of_entry(&suite, entry)).map_err(failure)? {
            table.row([
                "rejected".into(),
                outside(&entry.target),
                StyledText::default(),
            ]);
        }
    }
    decided(console, table, failed)
}

/// Shows what accepting the pending scores would change.
pub fn diff(console: &Console, args: &DiffArgs) -> CliResult {
    let (_, suite, entries) = gathered(console, &args.of)?;
    let mut failed = 0;
    let mut shown: Vec<(&str, Option<ScoreChanges>)> = Vec::new();
    for entry in &entries {
        match (&entry.accepted, &entry.pending) {
            (_, None) => {}
            (Some(Ok(accepted)), Some(Ok(pending))) => {
                shown.push((&entry.target, Some(score_changes(accepted, pending))));
            }
            (None, Some(Ok(_))) => shown.push((&entry.target, None)),
            (Some(Err(error)), _) | (_, Some(Err(error))) => {
                failed += 1;
                console.error(&error.to_string(), error.hint().as_deref());
            }
        }
    }
    let differ = shown
        .iter()
        .any(|(_, changes)| changes.as_ref().is_none_or(|changes| !changes.is_empty()));
    match args.format {
        DiffFormat::Human => console.page(&page(&shown))?,
        DiffFormat::Markdown => {
            let page = markdown::write(&page(&shown), MarkdownOptions::default());
            console.result(page.as_bytes())?;
        }
        DiffFormat::Json => {
            let json = format!("{:#}\n", as_json(&suite, &shown));
            console.result(escaped(&json).as_bytes())?;
        }
    }
    Ok(match () {
        () if failed > 0 => ExitCode::Wrong,
        () if args.exit_code && differ => ExitCode::Fail,
        () => ExitCode::Pass,
    })
}

fn page(shown: &[(&str, Option<ScoreChanges>)]) -> Page {
    let mut page = Page::default();
    if shown.is_empty() {
        page.lead(NOTHING);
    }
    for (target, changes) in shown {
        page.section(text!["Target ", code(target)]);
        let Some(changes) = changes else {
            page.words("no scores are accepted yet");
            continue;
        };
        if changes.is_empty() {
            page.words("no case or metric differs");
        }
        let heads = ["Accepted", "Pending"].map(TableColumn::right);
        let mut table = PageTable::new([TableColumn::left("Metric")].into_iter().chain(heads));
        for (name, before, after) in &changes.metrics {
            let figures = [before, after].map(|value| own(figures::figure_or_none(name, *value)));
            table.row(
                [outside(&figures::shown_metric(name))]
                    .into_iter()
                    .chain(figures),
            );
        }
        page.table(table);
        for (word, cases) in changes.lists() {
            if cases.is_empty() {
                continue;
            }
            let names = cases.iter().take(limits::terminal::SCORE_CASES);
            let items = names.map(|(eval, case)| ListItem::dash(place(eval, case)));
            let mut below = Page::default();
            below.list(items);
            if cases.len() > limits::terminal::SCORE_CASES {
                let more = plural(cases.len() - limits::terminal::SCORE_CASES, "more case");
                below.words(dim(own(format!(
                    "... and {more}; `--format json` lists all"
                ))));
            }
            page.part(own(figures::capitalized(word)), false, below.blocks);
        }
        if changes.private > 0 {
            let differ = if changes.private == 1 {
                "differs"
            } else {
                "differ"
            };
            let cases = private_cases(changes.private);
            page.words(own(format!("{cases} {differ}; not listed")));
        }
    }
    page
}

fn as_json(suite: &str, shown: &[(&str, Option<ScoreChanges>)]) -> Value {
    let changes = |changes: &ScoreChanges| {
        let metric = |(name, before, after): &(String, Option<f64>, Option<f64>)| json!({"name": name, "accepted": before, "pending": after});
        let mut value = json!({"metrics": changes.metrics.iter().map(metric).collect::<Vec<_>>()});
        if changes.private > 0 {
            value["private"] = changes.private.into();
        }
        for (word, cases) in changes.lists() {
            let cases = cases
                .iter()
                .map(|(eval, case)| json!({"eval_id": eval, "case_id": case}));
            value[word] = cases.collect::<Vec<_>>().into();
        }
        value
    };
    let scores = shown
        .iter()
        .map(|(target, of)| json!({"target": target, "changes": of.as_ref().map(changes)}));
    json!({"suite": suite, "scores": scores.collect::<Vec<_>>()})
}

/// What `baseline list` says of scores: a row a target, and the same as JSON.
pub(super) fn listed(
    console: &Console,
    of: &OfSuiteArgs,
) -> Result<(PageTable, Value), CliFailure> {
    let (_, _, entries) = gathered(console, of)?;
    let mut table = PageTable::new(["Target", "Accepted", "Pending"].map(TableColumn::left));
    let mut rows = Vec::new();
    type Read = Option<Result<ScoreBaselineFile, ScoresError>>;
    for entry in &entries {
        let state = |read: &Read| match read {
            None => StyledText::default(),
            Some(Ok(file)) => day(&file.captured_at),
            Some(Err(_)) => StyledText::from("broken"),
        };
        let (accepted, pending) = (&entry.accepted, &entry.pending);
        table.row([outside(&entry.target), state(accepted), state(pending)]);
        let scores_of = |read: &Read| {
            read.as_ref().map(|read| match read {
                Ok(file) => {
                    json!({"captured_at": file.captured_at, "run_id": file.run_id, "commit": file.commit})
                }
                Err(error) => json!({"message": error.to_string()}),
            })
        };
        rows.push(json!({"target": entry.target, "accepted": scores_of(accepted), "pending": scores_of(pending)}));
    }
    Ok((table, rows.into()))
}
