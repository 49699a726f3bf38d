//! `eval-harness baseline prune`: files of evals that are gone.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::inventory::{BaselineInventory, InventoryRow, inventory};
use super::{failure, refuse_in_ci, relative};
use crate::baseline::BaselineStore;
use crate::baseline::status::BaselineState;
use crate::cli::args::PruneArgs;
use crate::cli::console::Console;
use crate::cli::{CliFailure, CliResult};
use crate::gate::ExitCode;
use crate::model::{BaselineStage, baseline_file_name, output_file_name};
use eval_base::text::plural;
use eval_base::whole_file::is_leftover;

pub fn prune(console: &Console, args: &PruneArgs) -> CliResult {
    if !args.dry_run {
        refuse_in_ci("prune")?;
    }
    let first = inventory(console, &args.of)?;
    for row in orphans(&first).filter(|row| !is_ours(row, &first.suite)) {
        let why = match () {
            () if row.states.contains(&BaselineState::Broken) => {
                "it can't be read, so it may be another suite's"
            }
            () if names_another(row, &first.suite) => "another suite has its part in it",
            () => "it names no suite, so it may be another suite's",
        };
        console.warn(&format!("`{}` is orphaned, but {why}: left alone", row.id));
    }
    let mut files = files(&first)?;
    let mut page: String = files
        .iter()
        .map(|path| format!("{}\n", relative(path)))
        .collect();
    if files.is_empty() {
        console.result(b"nothing to prune\n")?;
        return Ok(ExitCode::Pass);
    }
    if args.dry_run {
        page.push_str(&format!("\nwould remove {}\n", plural(files.len(), "file")));
        console.result(page.as_bytes())?;
        return Ok(ExitCode::Pass);
    }
    let store = BaselineStore::new(first.dir.clone());
    // Taking the lock removes what writers left that never came to their end.
    let locked = store.lock().map_err(failure)?;
    // A writer that was at work while we looked may have finished what seemed to be lost.
    let still: BTreeSet<PathBuf> = self::files(&inventory(console, &args.of)?)?
        .into_iter()
        .collect();
    let removed_by_lock = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(is_leftover)
    };
    if !files
        .iter()
        .all(|path| still.contains(path) || removed_by_lock(path))
    {
        files.retain(|path| still.contains(path) || removed_by_lock(path));
        page = files
            .iter()
            .map(|path| format!("{}\n", relative(path)))
            .collect();
    }
    for path in files.iter().filter(|path| still.contains(*path)) {
        std::fs::remove_file(path).map_err(|error| {
            CliFailure::incomplete(format!("cannot remove {}: {error}", relative(path)))
        })?;
    }
    drop(locked);
    page.push_str(&format!("\nremoved {}\n", plural(files.len(), "file")));
    console.result(page.as_bytes())?;
    console.note("what git tracks comes back with `git checkout -- FILE`");
    Ok(ExitCode::Pass)
}

fn orphans(inventory: &BaselineInventory) -> impl Iterator<Item = &InventoryRow> {
    inventory
        .rows
        .iter()
        .filter(|row| row.states.contains(&BaselineState::Orphaned))
}

/// The suites that the files of a row name; `None` for one that names none or can't be read.
fn suites(row: &InventoryRow) -> impl Iterator<Item = Option<&str>> {
    let files = [&row.accepted, &row.pending];
    files
        .into_iter()
        .flatten()
        .map(|read| read.as_ref().ok()?.file.suite.as_deref())
}

/// Only what surely was captured for this suite.
fn is_ours(row: &InventoryRow, suite: &str) -> bool {
    suites(row).all(|named| named == Some(suite))
}

fn names_another(row: &InventoryRow, suite: &str) -> bool {
    suites(row).flatten().any(|named| named != suite)
}

/// Every file that would go: of evals that are gone, outputs that no baseline names, and what
/// writers left.
fn files(inventory: &BaselineInventory) -> Result<Vec<PathBuf>, CliFailure> {
    let names = match inventory.dir.read_dir() {
        Ok(entries) => {
            let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
            let names: std::io::Result<Vec<Option<String>>> = names.collect();
            let cannot = |error| {
                CliFailure::incomplete(format!("cannot list {}: {error}", relative(&inventory.dir)))
            };
            names.map_err(cannot)?.into_iter().flatten().collect()
        }
        // Not there: the inventory would have told of anything else.
        Err(_) => Vec::new(),
    };
    let standings = [BaselineStage::Accepted, BaselineStage::Pending];
    let of_gone: BTreeSet<String> = orphans(inventory)
        .filter(|row| is_ours(row, &inventory.suite))
        .flat_map(|row| {
            standings.map(|standing| {
                [
                    baseline_file_name(&row.id, standing),
                    output_file_name(&row.id, standing),
                ]
            })
        })
        .flatten()
        .collect();
    let mut wanted: Vec<PathBuf> = names
        .iter()
        .filter(|name| {
            of_gone.contains(*name) || is_leftover(name) || is_lost_output(name, inventory)
        })
        .map(|name| inventory.dir.join(name))
        .collect();
    wanted.sort();
    Ok(wanted)
}

/// An output file beside which there is no baseline file at all, and which none names.
fn is_lost_output(name: &str, inventory: &BaselineInventory) -> bool {
    let Some(stem) = name.strip_suffix(".output.json") else {
        return false;
    };
    let beside = inventory.dir.join(format!("{stem}.yaml"));
    let named = inventory
        .named_outputs
        .as_ref()
        .is_none_or(|named| named.contains(name));
    !name.starts_with('.') && !named && beside.symlink_metadata().is_err()
}
