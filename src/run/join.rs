//! The shards of a suite, joined to one report: their journals are folded as if they were one.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::environment::joined_sandbox;
use super::refused::RunRefusal;
use super::{RunError, conclude};
use crate::journal::{self, JournalError};
use crate::model::{
    ComparisonReference, EvalPlanned, EvalRecord, Event, RunScores, RunStarted, RunWarning,
    ScoresSource, Shard, Summary,
};
use crate::spec::ScoreBaselineFile;
use crate::summary::{SummaryError, SummaryFold};
use eval_base::text::listed;

/// One shard: its journal and what its last session said.
struct JoinedShard<'a> {
    journal: &'a Path,
    shard: Shard,
    session: RunStarted,
}

/// The summary of all shards together, gate included.
///
/// # Errors
/// When the runs are no shards of one suite, or not all of its shards.
pub fn join(journals: &[PathBuf]) -> Result<Summary, RunError> {
    let mut sessions = Vec::new();
    for journal in journals {
        let session = journal::sessions(journal)?
            .pop()
            .ok_or(SummaryError::NotStarted)?;
        sessions.push((journal.as_path(), session));
    }
    let parts = check(sessions, true).map_err(|reasons| refuse(reasons, EVERY_SHARD))?;
    let mut evals = Some(evals(&parts)?);
    let mut fold = SummaryFold::new();
    for part in &parts {
        fold_part(&mut fold, journal::read(part.journal)?, &mut evals)?;
    }
    let sandbox = parts
        .iter()
        .map(|part| part.session.run.environment.sandbox.clone());
    let mut summary = conclude(&fold)?;
    summary.metadata.environment.sandbox = sandbox.reduce(joined_sandbox).flatten();
    Ok(summary)
}

/// Folds a part's events. Behind the first one come all evals in the suite's order, before any case
/// of theirs.
fn fold_part(
    fold: &mut SummaryFold,
    events: impl Iterator<Item = Result<Event, JournalError>>,
    evals: &mut Option<Vec<EvalPlanned>>,
) -> Result<(), RunError> {
    for event in events {
        fold.push(&event?)?;
        for eval in evals.take().into_iter().flatten() {
            fold.push(&Event::EvalPlanned(eval))?;
        }
    }
    Ok(())
}

/// One side of a comparison, read from a journal, or from those of shards of one suite: of all that
/// there are, or of some. `label` and `shown` are how the command line named the side, and its
/// journals.
///
/// Returned beside it are the reasons why its figures may be wrong.
///
/// # Errors
/// When a journal can't be read, or when several are no shards of one suite.
pub fn run_scores(
    journals: &[PathBuf],
    label: String,
    shown: Vec<String>,
) -> Result<(RunScores, Vec<RunWarning>), RunError> {
    let mut fold = SummaryFold::scoring();
    match journals {
        [journal] => fold_part(&mut fold, journal::read_counts(journal)?, &mut None)?,
        several => {
            let mut sessions = Vec::new();
            for journal in several {
                let mut session = journal::sessions(journal)?
                    .pop()
                    .ok_or(SummaryError::NotStarted)?;
                session.config.comparison.reference = None;
                sessions.push((journal.as_path(), session));
            }
            let parts = check(sessions, false).map_err(|reasons| refuse(reasons, ANY_SHARDS))?;
            let mut evals = Some(evals(&parts)?);
            let mut unplanned = Vec::new();
            for part in &parts {
                let mut whole = false;
                let events = journal::read_counts(part.journal)?
                    .inspect(|event| whole |= event.as_ref().is_ok_and(ends_the_plan));
                fold_part(&mut fold, events, &mut evals)?;
                if !whole {
                    unplanned.push(format!(
                        "shard {} ({}) was interrupted before its first sample, so its cases are unknown",
                        part.shard.index, part.session.run.run_id
                    ));
                }
            }
            if !unplanned.is_empty() {
                return Err(refuse(
                    unplanned,
                    "omit it, or continue it with `run --resume`",
                ));
            }
        }
    }
    let warnings = fold.warnings();
    Ok((
        fold.run_scores(label, ScoresSource::Journals(shown))?,
        warnings,
    ))
}

/// What comes only when all cases are planned.
fn ends_the_plan(event: &Event) -> bool {
    matches!(
        event,
        Event::SampleFinished(_) | Event::SampleSkipped(_) | Event::RunFinished(_)
    )
}

/// True when any of the runs is a shard.
pub fn any_shard(journals: &[PathBuf]) -> Result<bool, RunError> {
    for journal in journals {
        let session = journal::sessions(journal)?
            .pop()
            .ok_or(SummaryError::NotStarted)?;
        if session.run.shard.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

const EVERY_SHARD: &str = "pass every shard of one suite once: `report --run A --run B ...`";
const ANY_SHARDS: &str =
    "`A+B` joins shards of one suite; pass runs that are not shards separately";

fn refuse(reasons: Vec<String>, hint: &str) -> RunError {
    let hint = Some(hint.to_owned());
    RunError::Refused(RunRefusal {
        what: "the runs can't be joined".to_owned(),
        reasons,
        hint,
    })
}

/// The shards in their order, or everything that keeps them from being one run, or from being parts
/// of one when that does.
fn check(
    sessions: Vec<(&Path, RunStarted)>,
    whole: bool,
) -> Result<Vec<JoinedShard<'_>>, Vec<String>> {
    let mut reasons = Vec::new();
    let mut parts: Vec<JoinedShard> = Vec::new();
    for (journal, session) in sessions {
        match session.run.shard {
            Some(shard) => parts.push(JoinedShard {
                journal,
                shard,
                session,
            }),
            None => reasons.push(format!("run {} is not a shard", session.run.run_id)),
        }
    }
    parts.sort_by_key(|part| part.shard.index);
    if let Some((first, others)) = parts.split_first() {
        for part in others {
            differences(first, part, whole, &mut reasons);
        }
        for pair in parts.windows(2) {
            if let [a, b] = pair
                && a.shard.index == b.shard.index
            {
                let (a_id, b_id) = (&a.session.run.run_id, &b.session.run.run_id);
                reasons.push(format!(
                    "shard {} is given twice: {a_id} and {b_id}",
                    a.shard.index
                ));
            }
        }
        let of = first.shard.of;
        let there: BTreeSet<u32> = parts.iter().map(|part| part.shard.index).collect();
        let missing: Vec<String> = (1..=of)
            .filter(|index| !there.contains(index))
            .map(|index| format!("{index}/{of}"))
            .collect();
        if whole && !missing.is_empty() {
            let shown = listed(&missing, 10, missing.len(), ", ");
            let noun = if missing.len() == 1 {
                "shard"
            } else {
                "shards"
            };
            reasons.push(format!("{noun} {shown} missing"));
        }
    }
    if reasons.is_empty() {
        Ok(parts)
    } else {
        Err(reasons)
    }
}

fn differences(first: &JoinedShard, part: &JoinedShard, whole: bool, reasons: &mut Vec<String>) {
    let (a, b) = (&first.session, &part.session);
    let (x, y) = (&a.config, &b.config);
    // What only the report of all of them says.
    let reported = [
        (x.gate == y.gate, "thresholds"),
        (
            x.composites == y.composites && x.score_metrics == y.score_metrics,
            "composite metrics",
        ),
        (x.seed == y.seed, "seed"),
        (x.interval_scope == y.interval_scope, "interval scope"),
        (
            compared(a) == compared(b),
            "reference, since they are compared with different scores",
        ),
        (
            x.comparison.fail_on == y.comparison.fail_on,
            "value of --fail-on",
        ),
        (
            x.comparison.allow_changed == y.comparison.allow_changed,
            "comparison, since only one has --allow-changed",
        ),
    ];
    let checks = [
        (
            a.run.suite_name == b.run.suite_name && a.run.suite_version == b.run.suite_version,
            "suite or its version",
        ),
        (a.target_hash == b.target_hash, "target"),
        (x.ks == y.ks, "list of k"),
        (
            a.run.regrade_of.is_some() == b.run.regrade_of.is_some(),
            "grading, since only one was graded again",
        ),
        (
            commit(a) == commit(b),
            "baselines, since they were read at different revisions",
        ),
        (a.run.filters == b.run.filters, "filters"),
        (first.shard.of == part.shard.of, "number of shards"),
        (
            a.whole_hash == b.whole_hash,
            "cases (inputs, graders or samples)",
        ),
        (contents(a) == contents(b), "recorded outputs"),
    ];
    let reported = reported.iter().filter(|_| whole);
    for (_, what) in checks.iter().chain(reported).filter(|(same, _)| !same) {
        reasons.push(format!(
            "{} and {} differ in their {what}",
            a.run.run_id, b.run.run_id
        ));
    }
}

/// What a run is compared with, wherever it was read.
fn compared(session: &RunStarted) -> (Option<(&str, &[EvalRecord])>, Option<&ScoreBaselineFile>) {
    match &session.config.comparison.reference {
        Some(ComparisonReference::Run(run)) => (Some((&run.side.run_id, &run.evals)), None),
        Some(ComparisonReference::ScoreBaseline(read)) => (None, Some(&read.file)),
        None => (None, None),
    }
}

fn commit(session: &RunStarted) -> Option<&str> {
    session
        .run
        .against
        .as_ref()
        .map(|against| against.commit.as_str())
}

/// What the recordings held; they may lie elsewhere on another machine.
fn contents(session: &RunStarted) -> Vec<(u64, &str)> {
    session
        .recordings
        .iter()
        .map(|read| (read.bytes, read.sha256.as_str()))
        .collect()
}

/// The evals of all shards, each once, in the suite's order as far as it can be told: every shard
/// has them in that order.
fn evals(parts: &[JoinedShard]) -> Result<Vec<EvalPlanned>, RunError> {
    let mut order = MergedOrder::default();
    for part in parts {
        let mut own: Vec<EvalPlanned> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for planned in journal::evals(part.journal)? {
            // A later session's word takes the place of an earlier one's.
            match places.get(&planned.eval.id).and_then(|at| own.get_mut(*at)) {
                Some(known) => *known = planned,
                None => {
                    places.insert(planned.eval.id.clone(), own.len());
                    own.push(planned);
                }
            }
        }
        order.merge(own).map_err(|eval| {
            refuse(
                vec![format!(
                    "the definition of eval {eval} differs between the shards"
                )],
                EVERY_SHARD,
            )
        })?;
    }
    Ok(order.into_list())
}

/// A list that others with the same order are merged into.
#[derive(Default)]
struct MergedOrder {
    evals: Vec<EvalPlanned>,
    places: HashMap<String, usize>,
    first: Option<usize>,
    /// What follows each eval.
    next: Vec<Option<usize>>,
}

impl MergedOrder {
    /// Adds what is new of a list, each behind what stands before it there. Fails with an eval that
    /// is told differently.
    fn merge(&mut self, list: Vec<EvalPlanned>) -> Result<(), String> {
        let mut before: Option<usize> = None;
        for planned in list {
            if let Some(at) = self.places.get(&planned.eval.id) {
                if self
                    .evals
                    .get(*at)
                    .is_some_and(|known| !known.eval.agrees(&planned.eval))
                {
                    return Err(planned.eval.id);
                }
                before = Some(*at);
                continue;
            }
            let at = self.evals.len();
            self.places.insert(planned.eval.id.clone(), at);
            self.evals.push(planned);
            let follows = match before {
                Some(before) => self.next.get_mut(before).and_then(|next| next.replace(at)),
                None => self.first.replace(at),
            };
            self.next.push(follows);
            before = Some(at);
        }
        Ok(())
    }

    fn into_list(self) -> Vec<EvalPlanned> {
        let mut at = self.first;
        let places = std::iter::from_fn(|| {
            let this = at?;
            at = self.next.get(this).copied().flatten();
            Some(this)
        });
        places
            .filter_map(|at| self.evals.get(at).cloned())
            .collect()
    }
}
