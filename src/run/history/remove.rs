//! Removing runs: which must stay, and how the files of the others go.
//!
//! What must stay follows from facts alone. Files are removed while the results folder is locked,
//! so that no run, resume or regrade begins in between.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::entries::shard_identity;
use super::stored::{files, is_running, size};
use crate::journal::{self, JournalError, RunPaths};
use eval_base::files::{LockState, lock};

/// Bytes of the first line of a journal that is only looked at for what it refers to.
const FIRST_LINE: u64 = 64 << 20;
/// The name of a journal whose run is being removed ends so. What is left of such a run, after a
/// crash, is no run.
const REMOVED: &str = "removed";

/// What is known of a run before it is removed.
#[derive(Debug, Clone)]
pub struct RemovalCandidate {
    pub paths: RunPaths,
    pub bytes: u64,
    /// When it began, by its journal or else by its name.
    pub began: Option<Timestamp>,
    /// True when its journal has a beginning that this version can't read.
    pub unreadable: bool,
    /// True when its journal has a beginning that was read.
    pub has_beginning: bool,
    /// What the shards of one run have in common.
    shards: Option<String>,
    /// The run whose outputs it graded again.
    regrade_of: Option<String>,
    /// Why it can't be removed, whatever else is.
    fixed: Option<KeptReason>,
}

impl RemovalCandidate {
    /// The same for all shards of a run, and for no other run.
    pub fn group(&self) -> &str {
        self.shards.as_deref().unwrap_or(&self.paths.run_id)
    }
}

/// Why a run stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptReason {
    Running,
    Latest,
    Linked,
    NamedIn(PathBuf),
    GradedBy(String),
    ShardOf(String),
}

impl fmt::Display for KeptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeptReason::Running => f.write_str("it is in progress"),
            KeptReason::Latest => f.write_str("it is the latest run"),
            KeptReason::Linked => f.write_str("a link in the results folder leads to it"),
            KeptReason::NamedIn(file) => write!(f, "{} refers to it", file.display()),
            KeptReason::GradedBy(run) => write!(f, "{run} graded its outputs again"),
            KeptReason::ShardOf(run) => write!(f, "{run} is a shard of the same run"),
        }
    }
}

/// The runs of a results folder, oldest first. `named` are runs that files refer to.
///
/// # Errors
/// When a part of the folder can't be read: what is in it may need any other run.
pub fn removal_candidates(
    results: &Path,
    named: &BTreeMap<String, PathBuf>,
) -> Result<Vec<RemovalCandidate>, JournalError> {
    let (runs, unreadable) = journal::scan_runs(results);
    if let Some(error) = unreadable.into_iter().next() {
        return Err(error);
    }
    let last = runs.len().saturating_sub(1);
    let mut places: HashMap<PathBuf, usize> = HashMap::new();
    for paths in &runs {
        *places.entry(real(paths)).or_default() += 1;
    }
    let candidate = |(at, paths): (usize, RunPaths)| {
        let by_two_paths = places.get(&real(&paths)).is_some_and(|n| *n > 1);
        let fixed = if by_two_paths || is_linked(&paths) {
            Some(KeptReason::Linked)
        } else if at == last {
            Some(KeptReason::Latest)
        } else if is_running(&paths) {
            Some(KeptReason::Running)
        } else {
            named.get(&paths.run_id).cloned().map(KeptReason::NamedIn)
        };
        let bytes = files(&paths).iter().map(|file| size(file)).sum();
        let started = journal::started(&paths.journal());
        let (timestamp, shards, regrade_of) = match &started {
            Ok(started) => (
                Some(started.run.timestamp.clone()),
                shard_identity(started),
                started.run.regrade_of.clone(),
            ),
            Err(_) => (None, None, graded_by_unreadable(&paths.journal())),
        };
        let timestamp = timestamp.and_then(|text| text.parse().ok());
        RemovalCandidate {
            began: timestamp.or_else(|| time_of(&paths.run_id)),
            has_beginning: started.is_ok(),
            unreadable: !matches!(started, Ok(_) | Err(JournalError::Empty { .. })),
            paths,
            bytes,
            shards,
            regrade_of,
            fixed,
        }
    };
    Ok(runs.into_iter().enumerate().map(candidate).collect())
}

/// Of the runs that are to go those that must stay, with the reason: a run that stays keeps the one
/// that it graded again, and shards stay together.
pub fn kept(runs: &[RemovalCandidate], wanted: &BTreeSet<String>) -> BTreeMap<String, KeptReason> {
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    let mut by_shards: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, run) in runs.iter().enumerate() {
        by_id.insert(&run.paths.run_id, at);
        if let Some(shards) = &run.shards {
            by_shards.entry(shards).or_default().push(at);
        }
    }
    let mut staying = vec![false; runs.len()];
    let mut reasons = BTreeMap::new();
    let mut open: Vec<(usize, Option<KeptReason>)> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        match (&run.fixed, wanted.contains(&run.paths.run_id)) {
            (Some(reason), true) => open.push((at, Some(reason.clone()))),
            (_, false) => open.push((at, None)),
            (None, true) => {}
        }
    }
    while let Some((at, reason)) = open.pop() {
        if std::mem::replace(&mut staying[at], true) {
            continue;
        }
        let run = &runs[at];
        if let Some(reason) = reason.filter(|_| wanted.contains(&run.paths.run_id)) {
            reasons.insert(run.paths.run_id.clone(), reason);
        }
        let id = || run.paths.run_id.clone();
        let graded = run.regrade_of.as_deref().and_then(|of| by_id.get(of));
        let graded = graded.map(|at| (*at, Some(KeptReason::GradedBy(id()))));
        let shards = run.shards.as_deref().and_then(|of| by_shards.get(of));
        let shards = shards.into_iter().flatten();
        let shards = shards.map(|at| (*at, Some(KeptReason::ShardOf(id()))));
        open.extend(
            graded
                .into_iter()
                .chain(shards)
                .filter(|(at, _)| !staying[*at]),
        );
    }
    reasons
}

/// The journal's path without links.
fn real(paths: &RunPaths) -> PathBuf {
    let journal = paths.journal();
    fs::canonicalize(&journal).unwrap_or(journal)
}

/// True when the journal, or the folder of its day, is a link.
fn is_linked(paths: &RunPaths) -> bool {
    let is_link = |path: &Path| {
        fs::symlink_metadata(path).map_or(true, |metadata| metadata.file_type().is_symlink())
    };
    is_link(&paths.dir) || is_link(&paths.journal())
}

/// The time in a run's id.
fn time_of(run_id: &str) -> Option<Timestamp> {
    let form = "eval-%Y%m%d-%H%M%S";
    let time = DateTime::strptime(form, run_id.get(.."eval-20260304-101500".len())?).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// What a journal of another version graded again, as far as its first line says so.
fn graded_by_unreadable(journal: &Path) -> Option<String> {
    let file = BufReader::new(File::open(journal).ok()?.take(FIRST_LINE));
    let line = file.split(b'\n').next()?.ok()?;
    let event: Value = serde_json::from_slice(&line).ok()?;
    let of = event.pointer("/run_started/run/regrade_of")?.as_str()?;
    Some(of.to_owned())
}

/// Removes the files of a run; the folder of its day goes with the last one.
///
/// The journal gets another name first, which makes the run none: what a crash leaves is removed by
/// [`sweep`].
pub fn remove(paths: &RunPaths) -> io::Result<()> {
    let journal = File::open(paths.journal())?;
    // A process that does not lock the folder may still write this run.
    if lock(&journal, Duration::ZERO, Duration::ZERO)? == LockState::Busy {
        return Err(io::Error::new(
            io::ErrorKind::WouldBlock,
            "it is in progress",
        ));
    }
    let removed = paths.report(REMOVED);
    fs::rename(paths.journal(), &removed)?;
    finish(paths, &removed)
}

fn finish(paths: &RunPaths, removed: &Path) -> io::Result<()> {
    for file in files(paths).iter().filter(|file| *file != removed) {
        // Neither follows a link.
        match fs::symlink_metadata(file)?.is_dir() {
            true => fs::remove_dir_all(file)?,
            false => fs::remove_file(file)?,
        }
    }
    fs::remove_file(removed)?;
    // Other runs of the day keep their folder.
    let _ = fs::remove_dir(&paths.dir);
    Ok(())
}

/// Removes what removals that were cut off have left; how many there were.
pub fn sweep(results: &Path) -> io::Result<usize> {
    let mut swept = 0;
    for day in journal::days(results, &mut Vec::new()) {
        if fs::symlink_metadata(&day)?.file_type().is_symlink() {
            continue;
        }
        for entry in fs::read_dir(&day)? {
            let path = entry?.path();
            let stem = path.file_name().and_then(|name| {
                let stem = name.to_str()?.strip_suffix(REMOVED)?;
                stem.strip_suffix('.')
            });
            let journal = stem.map(|stem| day.join(format!("{stem}.journal.jsonl")));
            let Some(paths) = journal.and_then(|journal| RunPaths::of_journal(&journal)) else {
                continue;
            };
            // A run that has got the same name since stays.
            if !paths.journal().exists() {
                finish(&paths, &path)?;
                swept += 1;
            }
        }
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidate(at: usize, facts: &(Option<usize>, Option<u8>, bool)) -> RemovalCandidate {
        let (regrade_of, shards, fixed) = facts;
        let run_id = format!("run-{at}");
        RemovalCandidate {
            paths: RunPaths {
                stem: run_id.clone(),
                run_id,
                dir: PathBuf::new(),
            },
            bytes: 0,
            began: None,
            unreadable: false,
            has_beginning: true,
            shards: shards.map(|shards| shards.to_string()),
            regrade_of: regrade_of.map(|of| format!("run-{of}")),
            fixed: fixed.then_some(KeptReason::Latest),
        }
    }

    proptest! {
        #[test]
        fn what_a_run_that_stays_needs_stays(
            facts in prop::collection::vec(
                (prop::option::weighted(0.4, 0usize..12), prop::option::weighted(0.3, 0u8..3), prop::bool::weighted(0.2)),
                0..12,
            ),
            chosen in prop::collection::vec(any::<bool>(), 12),
        ) {
            let runs: Vec<RemovalCandidate> =
                facts.iter().enumerate().map(|(at, facts)| candidate(at, facts)).collect();
            let wanted: BTreeSet<String> = (0..runs.len())
                .filter(|at| chosen[*at])
                .map(|at| format!("run-{at}"))
                .collect();
            // The oracle: again and again over all pairs.
            let mut stays: Vec<bool> = (0..runs.len()).map(|at| !chosen[at] || facts[at].2).collect();
            for _ in 0..runs.len() {
                for one in 0..runs.len() {
                    for other in 0..runs.len() {
                        let needs = facts[one].0 == Some(other)
                            || facts[one].1.is_some() && facts[one].1 == facts[other].1;
                        stays[other] |= stays[one] && needs;
                    }
                }
            }
            let expected: BTreeSet<String> = (0..runs.len())
                .filter(|at| chosen[*at] && stays[*at])
                .map(|at| format!("run-{at}"))
                .collect();
            let reasons = kept(&runs, &wanted);
            prop_assert_eq!(reasons.keys().cloned().collect::<BTreeSet<_>>(), expected);
        }
    }

    #[test]
    fn a_removal_that_was_cut_off_leaves_no_run_and_is_finished_later() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |text: &str| text.parse::<Timestamp>().expect("a time");
        let first = RunPaths::create(dir.path(), at("2026-03-04T05:06:07Z")).expect("a run");
        let second = RunPaths::create(dir.path(), at("2026-03-04T05:06:08Z")).expect("a run");
        fs::create_dir(first.report("outputs")).expect("a folder");
        fs::write(first.report("outputs").join("x"), "y").expect("a file");
        std::os::unix::fs::symlink(dir.path(), first.report("outputs").join("out"))
            .expect("a link");
        fs::write(first.report("json"), "{}").expect("a file");
        // As a crash leaves it.
        fs::rename(first.journal(), first.report(REMOVED)).expect("renamed");
        assert_eq!(
            journal::list_runs(dir.path()),
            std::slice::from_ref(&second)
        );
        assert_eq!(sweep(dir.path()).expect("swept"), 1);
        assert_eq!(sweep(dir.path()).expect("swept"), 0);
        assert!(!first.report("json").exists() && second.journal().exists());
        remove(&second).expect("removed");
        assert!(!second.dir.exists() && dir.path().exists());
        assert_eq!(
            time_of("eval-20260304-050607-2"),
            Some(at("2026-03-04T05:06:07Z"))
        );
        assert_eq!(time_of("run"), None);
    }
}
