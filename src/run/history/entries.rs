//! Which journals make one run: shards are joined, regrades follow the run that they graded again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;

use super::{HistoryRequest, LeftOut};
use crate::journal::{self, JournalError, RunPaths};
use crate::model::{RunStarted, Shard};
use crate::run::in_parallel;

/// A journal and what its run said when it began.
#[derive(Debug, Clone)]
pub(super) struct JournalHead {
    pub journal: PathBuf,
    pub started: RunStarted,
}

/// What counts as one run.
#[derive(Debug, Clone)]
pub(super) struct HistoryEntry {
    /// One journal, or those of shards. At least one.
    pub heads: Vec<JournalHead>,
    /// Grading again of the same outputs, oldest first, each made of one journal or those of
    /// shards.
    pub regrades: Vec<Vec<JournalHead>>,
}

impl HistoryEntry {
    pub fn first(&self) -> &RunStarted {
        &self.heads[0].started
    }

    /// The earliest start of its journals. All timestamps have one form, in which the order of
    /// texts is that of times.
    pub fn began(&self) -> &str {
        self.heads
            .iter()
            .map(|head| head.started.run.timestamp.as_str())
            .min()
            .unwrap_or_default()
    }

    /// Suite, target and the kind of target.
    pub fn group(&self) -> (String, String, String) {
        let started = self.first();
        let environment = &started.run.environment;
        (
            started.run.suite_name.clone(),
            environment.target.clone(),
            environment.target_type.clone(),
        )
    }
}

/// The beginnings of all journals, oldest first by what they say themselves, those of one moment in
/// the order of their names; who has none is told in a warning.
pub(super) fn heads(
    runs: Vec<RunPaths>,
    threads: usize,
    warnings: &mut Vec<String>,
) -> Vec<JournalHead> {
    let read = |run: &RunPaths| (run.journal(), journal::started(&run.journal()));
    let mut heads = Vec::new();
    for (journal, started) in in_parallel(&runs, threads, read) {
        match started {
            Ok(mut started) => {
                // As large as all cases together, and nothing that a history tells.
                started.config.comparison.reference = None;
                heads.push(JournalHead { journal, started });
            }
            Err(error) => warnings.push(left_out(&error)),
        }
    }
    heads.sort_by(|a, b| a.started.run.timestamp.cmp(&b.started.run.timestamp));
    heads
}

/// The end of a warning about a journal that does not count.
pub(super) const SKIPPED: &str = "; it is skipped";

/// In words why a journal does not count.
pub(super) fn left_out(error: &JournalError) -> String {
    format!("{error}{SKIPPED}")
}

/// What the shards of one run have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ShardIdentity {
    suite: (String, Option<String>),
    target: (String, String),
    whole: String,
    of: u32,
    commit: Option<(String, bool)>,
    filters: Vec<String>,
    regrade: bool,
}

fn common(started: &RunStarted, shard: Shard) -> ShardIdentity {
    ShardIdentity {
        suite: (
            started.run.suite_name.clone(),
            started.run.suite_version.clone(),
        ),
        target: (
            started.run.environment.target.clone(),
            started.target_hash.clone(),
        ),
        whole: started.whole_hash.clone(),
        of: shard.of,
        commit: started
            .run
            .environment
            .git
            .as_ref()
            .map(|git| (git.commit.clone(), git.dirty)),
        filters: started.run.filters.clone(),
        regrade: started.run.regrade_of.is_some(),
    }
}

/// What the shards of one run have in common, as a text; `None` of a run that is no shard.
pub(super) fn shard_identity(started: &RunStarted) -> Option<String> {
    let shard = started.run.shard?;
    Some(format!("{:?}", common(started, shard)))
}

/// Joins shards. Of one suite run twice in shards, each shard goes to the oldest run that still
/// lacks it.
fn joined(heads: Vec<JournalHead>) -> Vec<Vec<JournalHead>> {
    let mut runs: Vec<Vec<JournalHead>> = Vec::new();
    let mut open: HashMap<ShardIdentity, Vec<usize>> = HashMap::new();
    for head in heads {
        let Some(shard) = head.started.run.shard else {
            runs.push(vec![head]);
            continue;
        };
        let places = open.entry(common(&head.started, shard)).or_default();
        let has =
            |run: &[JournalHead]| run.iter().any(|head| head.started.run.shard == Some(shard));
        match places
            .iter()
            .find(|at| runs.get(**at).is_some_and(|run| !has(run)))
        {
            Some(at) => runs[*at].push(head),
            None => {
                places.push(runs.len());
                runs.push(vec![head]);
            }
        }
    }
    // Shards that are not all there are runs of their own: nobody knows that they belong together.
    let whole = |run: &Vec<JournalHead>| {
        run[0]
            .started
            .run
            .shard
            .is_none_or(|shard| run.len() == shard.of as usize)
    };
    runs.into_iter()
        .flat_map(|mut run| match whole(&run) {
            true => {
                run.sort_by_key(|head| head.started.run.shard.map(|shard| shard.index));
                vec![run]
            }
            false => run.into_iter().map(|head| vec![head]).collect(),
        })
        .collect()
}

/// The runs that count, oldest first.
pub(super) fn entries(heads: Vec<JournalHead>, left_out: &mut LeftOut) -> Vec<HistoryEntry> {
    let captured = |run: &[JournalHead]| run.iter().any(|head| head.started.capture);
    let mut entries: Vec<HistoryEntry> = Vec::new();
    // Where the outcomes of a run went; `None` for one that is left out.
    let mut places: HashMap<String, Option<usize>> = HashMap::new();
    for heads in runs_first(joined(heads)) {
        let graded = heads[0].started.run.regrade_of.clone();
        let at = match graded.as_ref().and_then(|of| places.get(of).copied()) {
            Some(Some(at)) => {
                places.extend(ids(&heads).map(|id| (id, Some(at))));
                if let Some(entry) = entries.get_mut(at) {
                    entry.regrades.push(heads);
                }
                continue;
            }
            Some(None) => None,
            None if captured(&heads) => None,
            None => Some(entries.len()),
        };
        places.extend(ids(&heads).map(|id| (id, at)));
        match at {
            Some(_) => entries.push(HistoryEntry {
                heads,
                regrades: Vec::new(),
            }),
            None => left_out.captures += 1,
        }
    }
    entries.sort_by(|a, b| a.began().cmp(b.began()));
    entries
}

/// Runs before the regrades of them, also where the clock was set back in between; else in their
/// order.
fn runs_first(runs: Vec<Vec<JournalHead>>) -> Vec<Vec<JournalHead>> {
    let (mut ordered, mut waiting): (Vec<_>, Vec<_>) = runs
        .into_iter()
        .partition(|heads| heads[0].started.run.regrade_of.is_none());
    let mut to_come: HashSet<String> = waiting.iter().flat_map(|heads| ids(heads)).collect();
    // A regrade may be one of a regrade: each round takes those that wait for no other.
    while !waiting.is_empty() {
        let (free, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|heads: &Vec<JournalHead>| {
                heads[0]
                    .started
                    .run
                    .regrade_of
                    .as_ref()
                    .is_none_or(|of| !to_come.contains(of))
            });
        // Journals that name each other in a circle were written by hand.
        let (free, rest) = if free.is_empty() {
            (rest, Vec::new())
        } else {
            (free, rest)
        };
        free.iter()
            .flat_map(|heads| ids(heads))
            .for_each(|id| _ = to_come.remove(&id));
        ordered.extend(free);
        waiting = rest;
    }
    ordered
}

fn ids(heads: &[JournalHead]) -> impl Iterator<Item = String> {
    heads.iter().map(|head| head.started.run.run_id.clone())
}

/// A warning for each suite whose runs are those of several files of the project: a history knows
/// suites by name.
pub(super) fn suites_of_one_name(entries: &[HistoryEntry], results: &Path) -> Vec<String> {
    let Some(root) = results.parent().filter(|root| root.is_absolute()) else {
        return Vec::new();
    };
    let mut files: BTreeMap<&str, BTreeSet<PathBuf>> = BTreeMap::new();
    for started in entries.iter().map(HistoryEntry::first) {
        // Of a run on another machine the files are elsewhere.
        let file = started
            .cwd
            .as_ref()
            .map(|cwd| plain(&cwd.join(&started.suite_path)));
        if let Some(file) = file.as_ref().and_then(|file| file.strip_prefix(root).ok()) {
            files
                .entry(&started.run.suite_name)
                .or_default()
                .insert(file.to_owned());
        }
    }
    files.retain(|_, files| files.len() > 1);
    let warning = |(name, files): (&str, BTreeSet<PathBuf>)| {
        let files: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        format!(
            "the runs of suite `{name}` come from {} files and are counted together ({}); give each suite its own \
                 name to separate them",
            files.len(),
            files.join(", ")
        )
    };
    files.into_iter().map(warning).collect()
}

/// A path without `.` and `..`, as it is written.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

/// The entries that are asked for, with their groups.
pub(super) fn choose(
    entries: Vec<HistoryEntry>,
    request: &HistoryRequest<'_>,
    left_out: &mut LeftOut,
) -> Vec<HistoryEntry> {
    let mut chosen = Vec::new();
    for entry in entries {
        let (suite, target, _) = entry.group();
        let began = entry.began().parse::<Timestamp>().ok();
        if request.suite.is_some_and(|wanted| wanted != suite) {
            *left_out.other_suites.entry(suite).or_default() += 1;
        } else if request
            .target
            .is_some_and(|wanted| !is_of_target(&target, wanted))
        {
            *left_out.other_targets.entry(target).or_default() += 1;
        } else if request
            .since
            .zip(began)
            .is_some_and(|(since, began)| began < since)
        {
            left_out.earlier += 1;
        } else {
            chosen.push(entry);
        }
    }
    let Some(last) = request.last else {
        return chosen;
    };
    let mut counts: HashMap<(String, String, String), usize> = HashMap::new();
    let mut kept: Vec<HistoryEntry> = Vec::new();
    for entry in chosen.into_iter().rev() {
        let count = counts.entry(entry.group()).or_default();
        *count += 1;
        if *count <= last {
            kept.push(entry);
        } else {
            left_out.earlier += 1;
        }
    }
    kept.reverse();
    kept
}

/// True of the target's name, with and without a prompt: `small [v2]` is `small`.
fn is_of_target(name: &str, wanted: &str) -> bool {
    let prompt = name.strip_prefix(wanted);
    prompt.is_some_and(|prompt| {
        prompt.is_empty() || prompt.starts_with(" [") && prompt.ends_with(']')
    })
}
