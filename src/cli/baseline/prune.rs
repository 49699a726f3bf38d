//! `eval-harness baseline prune`: files of evals that are gone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::inventory::{Inventory, Row, inventory};
use super::{failure, refuse_in_ci, relative};
use crate::base::text::plural;
use crate::baseline::status::State;
use crate::baseline::{Store, is_leftover};
use crate::cli::args::PruneArgs;
use crate::cli::console::Console;
use crate::cli::{Exit, Failure};
use crate::gate::ExitCode;
use crate::model::{Standing, baseline_file_name, output_file_name};

pub fn prune(console: &Console, args: &PruneArgs) -> Exit {
    if !args.dry_run {
        refuse_in_ci("prune")?;
    }
    let inventory = inventory(console, &args.of)?;
    let (gone, kept): (Vec<&Row>, Vec<&Row>) = inventory
        .rows
        .iter()
        .filter(|row| row.states.contains(&State::Orphaned))
        .partition(|row| is_ours(row));
    for row in kept {
        let why = if row.states.contains(&State::Broken) { "it can't be read" } else { "it names no suite" };
        console
            .warn(&format!("`{}` is orphaned, but {why}, so it may be another suite's: left alone", row.id));
    }
    let files = files(&inventory, &gone)?;
    let mut page: String = files.iter().map(|path| format!("{}\n", relative(path))).collect();
    if files.is_empty() {
        console.result(b"nothing to prune\n")?;
        return Ok(ExitCode::Pass);
    }
    if args.dry_run {
        page.push_str(&format!("\nwould remove {}\n", plural(files.len(), "file")));
        console.result(page.as_bytes())?;
        return Ok(ExitCode::Pass);
    }
    let store = Store::new(inventory.dir.clone());
    // Taking the lock removes what writers left that never came to their end.
    let locked = store.lock().map_err(failure)?;
    for row in &gone {
        locked.remove(&row.id).map_err(failure)?;
    }
    for path in files.iter().filter(|path| path.exists()) {
        std::fs::remove_file(path)
            .map_err(|error| Failure::incomplete(format!("cannot remove {}: {error}", relative(path))))?;
    }
    drop(locked);
    page.push_str(&format!("\nremoved {}\n", plural(files.len(), "file")));
    console.result(page.as_bytes())?;
    console.note("what git tracks comes back with `git checkout -- FILE`");
    Ok(ExitCode::Pass)
}

/// Only what surely was captured for this suite.
fn is_ours(row: &Row) -> bool {
    let files = [&row.accepted, &row.pending];
    files.into_iter().flatten().all(|read| read.as_ref().is_ok_and(|kept| kept.file.suite.is_some()))
}

/// Every file that would go: of evals that are gone, outputs that no baseline names, and what writers left.
fn files(inventory: &Inventory, gone: &[&Row]) -> Result<Vec<PathBuf>, Failure> {
    let names = match inventory.dir.read_dir() {
        Ok(entries) => {
            let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
            let names: std::io::Result<Vec<Option<String>>> = names.collect();
            let cannot =
                |error| Failure::incomplete(format!("cannot list {}: {error}", relative(&inventory.dir)));
            names.map_err(cannot)?.into_iter().flatten().collect()
        }
        // Not there: the inventory would have told of anything else.
        Err(_) => Vec::new(),
    };
    let standings = [Standing::Accepted, Standing::Pending];
    let of_gone: BTreeSet<String> = gone
        .iter()
        .flat_map(|row| {
            standings
                .map(|standing| [baseline_file_name(&row.id, standing), output_file_name(&row.id, standing)])
        })
        .flatten()
        .collect();
    let mut wanted: Vec<PathBuf> = names
        .iter()
        .filter(|name| of_gone.contains(*name) || is_leftover(name) || is_lost_output(name, &inventory.dir))
        .map(|name| inventory.dir.join(name))
        .collect();
    wanted.sort();
    Ok(wanted)
}

/// An output file beside which there is no baseline file at all.
fn is_lost_output(name: &str, dir: &Path) -> bool {
    let Some(stem) = name.strip_suffix(".output.json") else { return false };
    !name.starts_with('.') && !dir.join(format!("{stem}.yaml")).exists()
}
