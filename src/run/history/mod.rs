//! What the runs of a results folder came to: read from their journals, counted as their reports
//! count.
//!
//! Runs that were made to capture baselines are left out. A regrade takes the place of the run
//! whose outputs it graded. The shards of one run count as one run when all are there; else each
//! stands for its part. Runs of different suites or targets are kept apart.

mod entries;
mod figures;
mod named;
mod rates;
mod read;
mod remove;
mod stored;
mod totals;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::journal;
use crate::model::{Cause, Counts, Criticality, Decision, EvalType, Outcome, RunIdentity};
#[cfg(test)]
use crate::model::{Environment, GitState};

pub(super) use rates::PastRatesReader;

pub use named::named_runs;
use read::TextInterner;
pub use remove::{KeptReason, RemovalCandidate, kept, removal_candidates, remove, sweep};
pub use stored::{StoredRun, StoredRuns, is_running, run_sizes, stored_runs, whole_run};
pub use totals::RunTotals;

pub use figures::{EvalHistory, FlakyCommit};

/// Which runs are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryRequest<'a> {
    /// Only runs of this suite.
    pub suite: Option<&'a str>,
    /// Only runs against this target.
    pub target: Option<&'a str>,
    /// Only runs that began then or later.
    pub since: Option<Timestamp>,
    /// Of each suite and target only so many, the latest.
    pub last: Option<usize>,
    /// Journals that are read at once; 0 counts as 1.
    pub threads: usize,
}

/// The runs that were asked for.
#[derive(Debug, Default)]
pub struct RunHistory {
    /// By suite, then by target.
    pub groups: Vec<HistoryGroup>,
    /// What could not be read, or not wholly, each in a sentence that names it.
    pub warnings: Vec<String>,
    pub left_out: LeftOut,
}

/// Runs that are there and were not asked for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Made to capture baselines.
    pub captures: usize,
    pub other_suites: BTreeMap<String, usize>,
    pub other_targets: BTreeMap<String, usize>,
    /// Before `since`, or beyond `last`.
    pub earlier: usize,
}

/// The runs of one suite against one target, oldest first.
#[derive(Debug, Default)]
pub struct HistoryGroup {
    pub suite: String,
    pub target: String,
    pub target_type: String,
    pub runs: Vec<PastRun>,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    /// Of shards that make one run the first one's; `shard` is there only without the others, and
    /// `regrade_of` only without the run whose outputs it graded.
    pub identity: RunIdentity,
    /// It was ended early, or its journal breaks off.
    pub interrupted: bool,
    /// The other shards that make one run with it.
    pub joined: Vec<String>,
    /// The regrades whose outcomes took the place of its own, in order.
    pub regraded_by: Vec<String>,
    /// Evals by outcome.
    pub counts: Counts,
    pub cases: Counts,
    /// `None` when it was graded again in part: nobody decided over what it then came to.
    pub gate: Option<Decision>,
    pub duration_seconds: f64,
    pub evals: Vec<PastEval>,
    /// False when it was resumed in another state of the checkout: nobody says which of its
    /// outcomes came from which.
    pub(super) one_checkout: bool,
    /// Equal for two runs that asked one target (and read the same recordings) with one version of
    /// this program.
    pub(super) conditions: u64,
}

/// The fields of the identity are fields of the run.
impl std::ops::Deref for PastRun {
    type Target = RunIdentity;

    fn deref(&self) -> &RunIdentity {
        &self.identity
    }
}

impl PastRun {
    /// A run of all that the suite had, to its end: its pass rate can stand beside that of others.
    pub fn is_whole(&self) -> bool {
        self.filters.is_empty() && !self.interrupted && self.shard.is_none()
    }

    /// The commit that was checked out without changes, all the time.
    pub fn clean_commit(&self) -> Option<&str> {
        self.environment
            .git
            .as_ref()
            .filter(|git| !git.dirty && self.one_checkout)
            .map(|git| git.commit.as_str())
    }
}

/// One eval in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PastEval {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub kind: EvalType,
    pub criticality: Option<Criticality>,
    pub outcome: Outcome,
    pub score: Option<f64>,
    /// The run had not all of its cases, so that its outcome is none of the eval.
    pub partial: bool,
    /// Its cases by outcome.
    pub counts: Counts,
    /// Its dataset is private, in this run or in another: its cases are not listed.
    pub private: bool,
    pub cases: Vec<PastCase>,
}

/// One case in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCase {
    pub id: Arc<str>,
    pub outcome: Outcome,
    pub score: Option<f64>,
    pub cause: Option<Cause>,
    /// Some sample that the run ran passed only on a later attempt.
    pub flaky: bool,
    /// Of samples that the run ran.
    pub latencies_ms: Vec<f64>,
    /// Outputs of its samples were taken from an earlier run: its outcome is no further evidence.
    pub reused: bool,
    /// Equal for two cases with one input, one grading and one target of their own.
    pub(super) definition: u64,
}

#[cfg(test)]
impl PastCase {
    pub fn new(
        id: &str,
        outcome: Outcome,
        cause: Option<Cause>,
        latencies_ms: Vec<f64>,
    ) -> PastCase {
        PastCase {
            id: id.into(),
            outcome,
            score: None,
            cause,
            flaky: false,
            latencies_ms,
            reused: false,
            definition: 0,
        }
    }
}

#[cfg(test)]
impl PastRun {
    pub fn new(id: &str, timestamp: &str, git: Option<GitState>, evals: Vec<PastEval>) -> PastRun {
        PastRun {
            identity: RunIdentity {
                run_id: id.into(),
                timestamp: timestamp.into(),
                harness_version: "0.1.0".into(),
                environment: Environment {
                    git,
                    ..Environment::default()
                },
                ..RunIdentity::default()
            },
            interrupted: false,
            joined: Vec::new(),
            regraded_by: Vec::new(),
            counts: Counts::default(),
            cases: Counts::default(),
            gate: None,
            duration_seconds: 1.0,
            evals,
            one_checkout: true,
            conditions: 0,
        }
    }

    pub fn with(self, counts: Counts, gate: Decision) -> PastRun {
        PastRun {
            counts,
            gate: Some(gate),
            ..self
        }
    }
}

/// What is known of one eval over all its runs, in whatever target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvalTrackRecord {
    /// Runs that had all of its cases.
    pub runs: usize,
    pub passes: usize,
    /// How often it failed.
    pub failure_count: usize,
    /// RFC 3339, UTC: when the last run began in which it passed, or failed.
    pub last_passed: Option<String>,
    pub last_failed: Option<String>,
}

/// Reads the journals of a results folder.
pub fn history(results: &Path, request: &HistoryRequest<'_>) -> RunHistory {
    let (runs, unreadable) = journal::scan_runs(results);
    let mut history = RunHistory::default();
    history
        .warnings
        .extend(unreadable.iter().map(ToString::to_string));
    let heads = entries::heads(runs, request.threads, &mut history.warnings);
    let entries = entries::entries(heads, &mut history.left_out);
    let chosen = entries::choose(entries, request, &mut history.left_out);
    history
        .warnings
        .extend(entries::suites_of_one_name(&chosen, results));
    history.groups = read::read(chosen, request.threads, &mut history.warnings);
    history.groups.iter_mut().for_each(figures::mark_parts);
    history
}

/// The records of a suite's evals by id, over all targets, and what could not be read.
pub fn eval_records(
    results: &Path,
    suite: &str,
    threads: usize,
) -> (BTreeMap<String, EvalTrackRecord>, Vec<String>) {
    let history = history(
        results,
        &HistoryRequest {
            suite: Some(suite),
            threads,
            ..Default::default()
        },
    );
    let mut records: BTreeMap<String, EvalTrackRecord> = BTreeMap::new();
    for (run, eval) in history.groups.iter().flat_map(HistoryGroup::outcomes) {
        let record = match records.get_mut(&*eval.id) {
            Some(record) => record,
            None => records.entry(eval.id.to_string()).or_default(),
        };
        record.runs += 1;
        let last = match eval.outcome {
            Outcome::Passed => {
                record.passes += 1;
                &mut record.last_passed
            }
            Outcome::Failed => {
                record.failure_count += 1;
                &mut record.last_failed
            }
            _ => continue,
        };
        // All timestamps have one form, in which the order of texts is that of times.
        if last.as_ref().is_none_or(|last| *last < run.timestamp) {
            *last = Some(run.timestamp.clone());
        }
    }
    (records, history.warnings)
}
