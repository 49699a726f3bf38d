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
use crate::report::page::{
    Page, PageBlock, PageTable, StyledText, TableColumn, outside, own, text,
};
use crate::run::history::{EvalTrackRecord, eval_records};
use eval_base::json::escaped;
use eval_base::text::plural;

pub fn list(console: &Console, args: &BaselineListArgs) -> CliResult {
    let inventory = inventory(console, &args.of)?;
    let results = args.output_dir.as_deref().unwrap_or(&inventory.results_dir);
    let (records, warnings) = eval_records(results, &inventory.suite, suite::cpus());
    warnings.iter().for_each(|warning| console.warn(warning));
    let (table, scores) = scores::listed(console, &args.of)?;
    match args.format {
        ListFormat::Json => {
            let mut listing = as_json(&inventory, &records);
            listing["scores"] = scores;
            console.result(escaped(&format!("{listing:#}\n")).as_bytes())?;
        }
        ListFormat::Human => {
            console.page(&page(&inventory, &records, table))?;
            inventory
                .broken()
                .for_each(|broken| pending::tell(console, broken));
            advise(console, &inventory);
        }
    }
    Ok(if inventory.broken().next().is_some() {
        ExitCode::Wrong
    } else {
        ExitCode::Pass
    })
}

type TrackRecords = BTreeMap<String, EvalTrackRecord>;

fn page(inventory: &BaselineInventory, records: &TrackRecords, scores: PageTable) -> Page {
    let mut table = PageTable::new([
        TableColumn::left("Eval").least(12),
        TableColumn::left("Baseline"),
        TableColumn::left("Captured"),
        TableColumn::left("Passed"),
        TableColumn::right("Fails"),
        TableColumn::left("From").least(20),
    ]);
    let between = || text![",", StyledText::line_break()];
    for row in &inventory.rows {
        let states = row.states.iter();
        let states = states.filter(|state| **state != BaselineState::OverridesInline);
        let captured = row.accepted_at().map(|at| day(&at));
        let (passed, failed) = match records.get(&row.id) {
            None => Default::default(),
            Some(record) => (
                record.last_passed.as_deref().map_or("never".into(), day),
                own(record.failure_count.to_string()),
            ),
        };
        table.row([
            outside(&row.id),
            StyledText::joined(states.map(|state| own(state.words())), between()),
            captured.unwrap_or_default(),
            passed,
            failed,
            StyledText::joined(about(row), between()),
        ]);
    }
    let mut page = Page::default();
    page.table(table);
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
    if !scores.rows.is_empty() {
        page.section("Scores");
        page.table(scores);
    }
    page.push(PageBlock::Gap);
    page.lead(match inventory.rows.len() {
        0 => "No regression of the suite compares with a baseline.".into(),
        n => own(format!("{}: {}", plural(n, "baseline"), words.join(", "))),
    });
    if inventory.of_others > 0 {
        let files = plural(inventory.of_others, "file");
        page.lead(own(format!("{files} of other suites in the same folder")));
    }
    page
}

/// What is said of a capture.
fn about(row: &InventoryRow) -> Vec<StyledText> {
    let kept = row.accepted.as_ref().and_then(|read| read.as_ref().ok());
    let file = kept.map(|kept| &kept.file);
    let version = file.and_then(|file| file.baseline_version.as_ref());
    let of = file.and_then(|file| file.target.as_ref());
    let waiting = row.pending.as_ref().and_then(|read| read.as_ref().ok());
    let since = waiting.and_then(|kept| kept.file.captured_at.as_deref());
    let inline = row.states.contains(&BaselineState::OverridesInline);
    let about = [
        inline.then(|| "overrides inline".into()),
        version.map(|version| text!["version ", version]),
        of.map(|of| text!["target ", target(of)]),
        (file.is_some_and(|file| file.dirty)).then(|| "uncommitted changes".into()),
        since.map(|at| text!["pending ", day(at)]),
    ];
    about.into_iter().flatten().collect()
}

/// The day of a time stamp.
pub(super) fn day(at: &str) -> StyledText {
    outside(at.get(..10).unwrap_or(at))
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
