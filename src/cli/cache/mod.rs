//! `eval-harness cache`: what is kept of models' answers, and how it is removed.

mod page;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::args::{
    CacheClearArgs, CachePlaceArgs, CachePruneArgs, CacheStatsArgs, CacheVerb, ListFormat,
};
use super::console::Console;
use super::{CliFailure, CliResult, suite};
use crate::gate::ExitCode;
use crate::load::cache_folder;
use eval_base::globs::IdGlobs;
use eval_base::text::plural;
use eval_models::CACHE_FILE_NAME;
use eval_models::cache::{self, CacheCleanup, CacheError};

pub fn cache(console: &Console, verb: &CacheVerb) -> CliResult {
    match verb {
        CacheVerb::Stats(args) => stats(console, args),
        CacheVerb::Prune(args) => prune(console, args),
        CacheVerb::Clear(args) => clear(console, args),
    }
}

fn stats(console: &Console, args: &CacheStatsArgs) -> CliResult {
    let file = place(&args.place)?;
    let stats = cache::stats(&file).map_err(failure)?;
    match args.format {
        ListFormat::Json => {
            let mut out = Vec::new();
            page::json(&file, stats.as_ref(), &mut out)?;
            console.result(&out)?;
        }
        ListFormat::Human => console.page(&page::page(&file, stats.as_ref()))?,
    }
    Ok(ExitCode::Pass)
}

fn prune(console: &Console, args: &CachePruneArgs) -> CliResult {
    let file = place(&args.place)?;
    let now = Timestamp::now().as_second();
    let before = args.older_than.map(|age| (now - age.0).div_euclid(86_400));
    write_cleanup(
        console,
        &file,
        cache::prune(&file, before, args.max_size).map_err(failure)?,
    )
}

fn clear(console: &Console, args: &CacheClearArgs) -> CliResult {
    let file = place(&args.place)?;
    let globs =
        IdGlobs::new(&args.model).map_err(|why| CliFailure::wrong(format!("--model: {why}")))?;
    let fits = |model: &str| globs.fit_or_empty(model);
    let there = cache::stats(&file).map_err(failure)?.unwrap_or_default();
    let entries: u64 = there
        .models
        .iter()
        .filter(|model| fits(&model.model))
        .map(|model| model.entries)
        .sum();
    if entries == 0 && !args.model.is_empty() && there.entries > 0 {
        let known: Vec<&str> = there
            .models
            .iter()
            .map(|model| model.model.as_str())
            .take(8)
            .collect();
        return Err(
            CliFailure::wrong("the cache has no answers of this model").hint(format!(
                "`eval-harness cache stats` lists the models: {}",
                known.join(", ")
            )),
        );
    }
    if entries > 0 && !args.yes && !agreed(&file, entries)? {
        console.note("nothing was removed");
        return Ok(ExitCode::Pass);
    }
    let fits: Option<&dyn Fn(&str) -> bool> = if args.model.is_empty() {
        None
    } else {
        Some(&fits)
    };
    write_cleanup(console, &file, cache::clear(&file, fits).map_err(failure)?)
}

/// Asks on the terminal. Where nobody can answer, nothing is removed unasked.
fn agreed(file: &Path, entries: u64) -> Result<bool, CliFailure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let message = format!(
            "this would remove {} from {}",
            answers(entries),
            file.display()
        );
        return Err(CliFailure::wrong(message).hint("pass --yes to confirm"));
    }
    let _ = write!(
        io::stderr(),
        "Remove {} from {}? [y/N] ",
        answers(entries),
        file.display()
    );
    let _ = io::stderr().flush();
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(matches!(
        line.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

fn write_cleanup(console: &Console, file: &Path, freed: Option<CacheCleanup>) -> CliResult {
    let text = match freed {
        None => format!("there is no cache at {}\n", file.display()),
        Some(freed) => page::freed(&freed),
    };
    console.result(eval_base::text::sanitize(&text).as_bytes())?;
    if freed.is_some_and(|freed| freed.busy) {
        console.note("another run has the cache open: the next prune will free the disk space");
    }
    Ok(ExitCode::Pass)
}

fn answers(entries: u64) -> String {
    plural(usize::try_from(entries).unwrap_or(usize::MAX), "answer")
}

fn place(args: &CachePlaceArgs) -> Result<PathBuf, CliFailure> {
    let folder = args
        .dir
        .clone()
        .or_else(|| cache_folder(&suite::environment()));
    let folder = folder.ok_or_else(|| {
        CliFailure::wrong("the cache has no folder")
            .hint("set HOME or EVAL_HARNESS_CACHE_DIR, or pass --dir")
    })?;
    Ok(suite::cwd()?.join(folder).join(CACHE_FILE_NAME))
}

fn failure(error: CacheError) -> CliFailure {
    let hint = match &error {
        CacheError::Damaged { .. } => Some("the next run renames it and creates a new one"),
        CacheError::Newer(_) => {
            Some("use that version, or set EVAL_HARNESS_CACHE_DIR to another folder")
        }
        _ => None,
    };
    let failure = CliFailure::wrong(&error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
