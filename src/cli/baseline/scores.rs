//! The verbs with `--scores`: what whole runs came to, in place of outputs.

use serde_json::{Value, json};

use super::{overview, refuse_in_ci, relative};
use crate::baseline::{
    ScoreChanges, ScoreStore, ScoresEntry, ScoresError, ScoresOf, score_changes,
};
use crate::cli::args::{CaptureArgs, DiffArgs, DiffFormat, OfSuiteArgs};
use crate::cli::console::Console;
use crate::cli::scores::failure;
use crate::cli::{CliFailure, CliResult, report, run as run_verb};
use crate::gate::ExitCode;
use crate::journal;
use crate::report::figures;
use crate::run::{self, ScoreBaselineResult};
use crate::spec::ScoreBaselineFile;
use eval_base::json::escaped;
use eval_base::text::{one_line, plural};

/// Cases of each kind that a diff shows.
const SHOWN: usize = 40;

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
                "the scores of {} are those of something else:{}",
                paths.run_id,
                why.concat()
            );
            return Err(CliFailure::wrong(message)
                .hint("run the whole suite to its end, and capture that run"));
        }
    };
    if file.suite != suite.name {
        let message = format!(
            "{} is a run of suite `{}`, not of `{}`",
            paths.run_id, file.suite, suite.name
        );
        return Err(
            CliFailure::wrong(message).hint("name the run with --run, or the suite with --suite")
        );
    }
    let store = ScoreStore::new(&suite.baselines.dir);
    let (target, cases) = (one_line(&file.target.name), cases(&file));
    let path = store.capture(file).map_err(failure)?;
    let page = format!(
        "captured  {target}  {cases} of {}  {}\n",
        paths.run_id,
        relative(&path)
    );
    console.result(page.as_bytes())?;
    console.note(
        "`eval-harness baseline diff --scores` shows what it changes, `baseline accept --scores` accepts it",
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
    let (mut page, mut failed) = (String::new(), 0);
    for entry in entries.iter().filter(|entry| entry.pending.is_some()) {
        let tell = |error: &ScoresError| console.error(&error.to_string(), error.hint().as_deref());
        if let Some(error) = broken(entry) {
            failed += 1;
            tell(error);
            continue;
        }
        match store.accept(of_entry(&suite, entry), force) {
            Ok(path) => {
                page.push_str(&format!(
                    "accepted  {}  {}\n",
                    one_line(&entry.target),
                    relative(&path)
                ));
            }
            Err(error) => {
                failed += 1;
                tell(&error);
            }
        }
    }
    if page.is_empty() && failed == 0 {
        page.push_str("nothing is pending\n");
    }
    console.result(page.as_bytes())?;
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
    let (mut page, mut failed) = (String::new(), 0);
    for entry in entries.iter().filter(|entry| entry.pending.is_some()) {
        if let Some(error) = broken(entry) {
            failed += 1;
            console.error(
                &error.to_string(),
                Some("its target is unknown: remove the file by hand"),
            );
        } else if store.reject(of_entry(&suite, entry)).map_err(failure)? {
            page.push_str(&format!("rejected  {}\n", one_line(&entry.target)));
        }
    }
    if page.is_empty() && failed == 0 {
        page.push_str("nothing is pending\n");
    }
    console.result(page.as_bytes())?;
    Ok(if failed > 0 {
        ExitCode::Wrong
    } else {
        ExitCode::Pass
    })
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
    let page = match args.format {
        DiffFormat::Json => escaped(&format!("{:#}\n", as_json(&suite, &shown))).into_owned(),
        DiffFormat::Markdown => format!("```text\n{}```\n", human(&shown).replace("```", "'''")),
        DiffFormat::Human => human(&shown),
    };
    console.result(page.as_bytes())?;
    Ok(match () {
        () if failed > 0 => ExitCode::Wrong,
        () if args.exit_code && differ => ExitCode::Fail,
        () => ExitCode::Pass,
    })
}

fn human(shown: &[(&str, Option<ScoreChanges>)]) -> String {
    if shown.is_empty() {
        return "nothing is pending\n".to_owned();
    }
    let mut page = String::new();
    for (target, changes) in shown {
        page.push_str(&format!("target {}\n", one_line(target)));
        let Some(changes) = changes else {
            page.push_str("  nothing was accepted yet\n");
            continue;
        };
        if changes.is_empty() {
            page.push_str("  no case and no metric differs\n");
        }
        for (name, before, after) in &changes.metrics {
            let (before, after) = (
                figures::figure_or_none(name, *before),
                figures::figure_or_none(name, *after),
            );
            page.push_str(&format!(
                "  {:32}  {before:>10}  {after:>10}\n",
                figures::metric_name(name)
            ));
        }
        for (word, cases) in changes.lists() {
            for (eval, case) in cases.iter().take(SHOWN) {
                page.push_str(&format!(
                    "  {word:8}  {}\n",
                    one_line(&format!("{eval} / {case}"))
                ));
            }
            if cases.len() > SHOWN {
                page.push_str(&format!("  {word:8}  and {} more\n", cases.len() - SHOWN));
            }
        }
    }
    page
}

fn as_json(suite: &str, shown: &[(&str, Option<ScoreChanges>)]) -> Value {
    let changes = |changes: &ScoreChanges| {
        let metric = |(name, before, after): &(String, Option<f64>, Option<f64>)| json!({"name": name, "accepted": before, "pending": after});
        let mut value = json!({"metrics": changes.metrics.iter().map(metric).collect::<Vec<_>>()});
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

/// What `baseline list` says of scores: a line a target, and the same as JSON.
pub(super) fn listed(console: &Console, of: &OfSuiteArgs) -> Result<(String, Value), CliFailure> {
    let (_, _, entries) = gathered(console, of)?;
    let mut page = String::new();
    let mut rows = Vec::new();
    for entry in &entries {
        let state = |read: &Option<Result<ScoreBaselineFile, ScoresError>>| match read {
            None => None,
            Some(Ok(file)) => Some(one_line(
                file.captured_at.get(..10).unwrap_or(&file.captured_at),
            )),
            Some(Err(_)) => Some("broken".to_owned()),
        };
        let (accepted, pending) = (state(&entry.accepted), state(&entry.pending));
        let words: Vec<String> = [("accepted", &accepted), ("pending", &pending)]
            .into_iter()
            .filter_map(|(word, at)| Some(format!("{word} {}", at.as_ref()?)))
            .collect();
        page.push_str(&format!(
            "scores  {}  {}\n",
            one_line(&entry.target),
            words.join(", ")
        ));
        let scores_of = |read: &Option<Result<ScoreBaselineFile, ScoresError>>| {
            read.as_ref().map(|read| match read {
                Ok(file) => {
                    json!({"captured_at": file.captured_at, "run_id": file.run_id, "commit": file.commit})
                }
                Err(error) => json!({"message": error.to_string()}),
            })
        };
        rows.push(json!({"target": entry.target, "accepted": scores_of(&entry.accepted), "pending": scores_of(&entry.pending)}));
    }
    Ok((page, rows.into()))
}
