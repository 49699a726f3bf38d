//! `eval-harness baseline list`: every regression's baseline and how it stands.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::inventory::{BaselineInventory, InventoryRow, inventory};
use super::review::target;
use super::{pending, relative, scores};
use crate::baseline::status::BaselineState;
use crate::cli::args::{BaselineListArgs, ListFormat};
use crate::cli::console::Console;
use crate::cli::{CliResult, suite};
use crate::gate::ExitCode;
use crate::run::history::{EvalTrackRecord, eval_records};
use eval_base::json::escaped;
use eval_base::text::{one_line, plural, truncate_width, width};

/// Columns of an id.
const ID: usize = 31;

pub fn list(console: &Console, args: &BaselineListArgs) -> CliResult {
    let inventory = inventory(console, &args.of)?;
    let results = args.output_dir.as_deref().unwrap_or(&inventory.results_dir);
    let (records, warnings) = eval_records(results, &inventory.suite, suite::cpus());
    warnings.iter().for_each(|warning| console.warn(warning));
    let (lines, scores) = scores::listed(console, &args.of)?;
    let page = match args.format {
        ListFormat::Json => {
            let mut listing = as_json(&inventory, &records);
            listing["scores"] = scores;
            escaped(&format!("{listing:#}\n")).into_owned()
        }
        ListFormat::Human => human(&inventory, &records) + &lines,
    };
    console.result(page.as_bytes())?;
    if args.format == ListFormat::Human {
        inventory
            .broken()
            .for_each(|broken| pending::tell(console, broken));
        advise(console, &inventory);
    }
    Ok(if inventory.broken().next().is_some() {
        ExitCode::Wrong
    } else {
        ExitCode::Pass
    })
}

type TrackRecords = BTreeMap<String, EvalTrackRecord>;

fn human(inventory: &BaselineInventory, records: &TrackRecords) -> String {
    let mut page = format!(
        "{:ID$}  {:16}  {:10}  {:10}  FAILS\n",
        "EVAL", "BASELINE", "CAPTURED", "PASSED"
    );
    for row in &inventory.rows {
        let id = truncate_width(&one_line(&row.id), ID).into_owned();
        let states = row
            .states
            .iter()
            .filter(|state| **state != BaselineState::OverridesInline);
        let states: Vec<&str> = states.map(|state| state.words()).collect();
        let captured = row
            .accepted_at()
            .map_or_else(|| "-".to_owned(), |at| day(&at));
        let pad = " ".repeat(ID.saturating_sub(width(&id)));
        let (passed, failed) = match records.get(&row.id) {
            None => ("-".to_owned(), "-".to_owned()),
            Some(record) => {
                let passed = record
                    .last_passed
                    .as_deref()
                    .map_or_else(|| "never".to_owned(), day);
                (passed, record.failure_count.to_string())
            }
        };
        page.push_str(&format!(
            "{id}{pad}  {:16}  {captured:10}  {passed:10}  {failed:>5}\n",
            states.join(", ")
        ));
        let about = about(row);
        if !about.is_empty() {
            page.push_str(&format!("    {}\n", truncate_width(&about.join(", "), 75)));
        }
    }
    let mut counts: BTreeMap<BaselineState, usize> = BTreeMap::new();
    inventory
        .rows
        .iter()
        .flat_map(|row| row.states.first())
        .for_each(|state| *counts.entry(*state).or_default() += 1);
    let words: Vec<String> = counts
        .iter()
        .map(|(state, n)| format!("{n} {}", state.words()))
        .collect();
    if inventory.rows.is_empty() {
        page = "no regression of the suite compares with a baseline\n".to_owned();
    } else {
        page.push_str(&format!(
            "\n{}: {}\n",
            plural(inventory.rows.len(), "baseline"),
            words.join(", ")
        ));
    }
    if inventory.of_others > 0 {
        page.push_str(&format!(
            "{} of other suites in the same folder\n",
            plural(inventory.of_others, "file")
        ));
    }
    page
}

/// What is said of a capture, in words.
fn about(row: &InventoryRow) -> Vec<String> {
    let mut about = Vec::new();
    if row.states.contains(&BaselineState::OverridesInline) {
        about.push("overrides the inline one".to_owned());
    }
    if let Some(kept) = row.accepted.as_ref().and_then(|read| read.as_ref().ok()) {
        let file = &kept.file;
        about.extend(
            file.baseline_version
                .as_deref()
                .map(|version| format!("version {}", one_line(version))),
        );
        about.extend(
            file.target
                .as_ref()
                .map(|of| format!("target {}", target(of))),
        );
        if file.dirty {
            about.push("captured with uncommitted changes".to_owned());
        }
    }
    if let Some(Ok(kept)) = &row.pending {
        about.extend(
            kept.file
                .captured_at
                .as_deref()
                .map(|at| format!("pending since {}", day(at))),
        );
    }
    about
}

/// The day of a time stamp.
fn day(at: &str) -> String {
    one_line(at.get(..10).unwrap_or(at))
}

fn advise(console: &Console, inventory: &BaselineInventory) {
    let count = |wanted: BaselineState| {
        inventory
            .rows
            .iter()
            .filter(|row| row.states.contains(&wanted))
            .count()
    };
    let (none, stale, orphaned) = (
        count(BaselineState::None),
        count(BaselineState::Stale),
        count(BaselineState::Orphaned),
    );
    let waiting = count(BaselineState::New) + count(BaselineState::Changed);
    if none > 0 {
        console.note(
            "none: there is nothing to compare with; `eval-harness baseline capture` captures it",
        );
    }
    if stale > 0 {
        console.note("stale: the input has changed since the capture; `eval-harness baseline capture` captures it again");
    }
    if waiting > 0 {
        console.note(
            "new, changed: something is pending; `eval-harness baseline review` shows it and accepts it",
        );
    }
    if orphaned > 0 {
        console.note("orphaned: no regression of the suite has this id; `eval-harness baseline prune --dry-run` shows what would go");
    }
}

fn as_json(inventory: &BaselineInventory, records: &TrackRecords) -> Value {
    let rows: Vec<Value> = inventory
        .rows
        .iter()
        .map(|row| row_as_json(row, records.get(&row.id)))
        .collect();
    json!({
        "suite": inventory.suite,
        "dir": relative(&inventory.dir),
        "baselines": rows,
        "other_suites": inventory.of_others,
    })
}

fn row_as_json(row: &InventoryRow, record: Option<&EvalTrackRecord>) -> Value {
    let states: Vec<&str> = row.states.iter().map(|state| state.name()).collect();
    let accepted = row
        .accepted
        .as_ref()
        .and_then(|read| read.as_ref().ok())
        .map(|kept| &kept.file);
    let path = match &row.accepted {
        Some(Ok(kept)) => Some(relative(&kept.path)),
        Some(Err(broken)) => Some(relative(&broken.path)),
        None => None,
    };
    let pending = row.pending.as_ref().map(|read| match read {
        Ok(kept) => json!({"path": relative(&kept.path), "captured_at": kept.file.captured_at}),
        Err(broken) => json!({"path": relative(&broken.path), "message": broken.to_string()}),
    });
    let message = row
        .accepted
        .as_ref()
        .and_then(|read| read.as_ref().err())
        .map(ToString::to_string);
    json!({
        "eval": row.id,
        "name": row.name,
        "criticality": row.criticality.map(|criticality| criticality.name()),
        "states": states,
        "path": path,
        "message": message,
        "captured_at": row.accepted_at(),
        "baseline_version": accepted.and_then(|file| file.baseline_version.clone()),
        "target": accepted.and_then(|file| file.target.clone()),
        "commit": accepted.and_then(|file| file.commit.clone()),
        "dirty": accepted.is_some_and(|file| file.dirty),
        "pending": pending,
        "last_passed": record.and_then(|record| record.last_passed.clone()),
        "failure_count": record.map_or(0, |record| record.failure_count),
        "runs": record.map_or(0, |record| record.runs),
    })
}
