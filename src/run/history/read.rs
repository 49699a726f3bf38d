//! From the journals of a run to what it came to.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::entries::{HistoryEntry, JournalHead, SKIPPED, left_out};
use super::{HistoryGroup, PastCase, PastEval, PastRun};
use crate::gate::{decide, doubted};
use crate::journal::{self, JournalError};
use crate::model::{CasePlanned, Counts, Event, GitState, RunStarted};
use crate::run::{RunError, conclude, in_parallel};
use crate::summary::{CaseView, CountedEval, SummaryError, SummaryFold};

/// Texts that come again in every run, each held once.
#[derive(Default)]
pub(super) struct TextInterner(Mutex<HashSet<Arc<str>>>);

impl TextInterner {
    fn keep(&self, text: &str) -> Arc<str> {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match texts.get(text) {
            Some(kept) => Arc::clone(kept),
            None => {
                let kept: Arc<str> = text.into();
                texts.insert(Arc::clone(&kept));
                kept
            }
        }
    }
}

/// Reads the entries, and sorts them into groups.
pub(super) fn read(
    entries: Vec<HistoryEntry>,
    threads: usize,
    warnings: &mut Vec<String>,
) -> Vec<HistoryGroup> {
    let texts = TextInterner::default();
    let read = in_parallel(&entries, threads, |entry| {
        let mut said = Vec::new();
        let run = entry_run(entry, &texts, &mut said);
        (run, said)
    });
    let mut groups: BTreeMap<(String, String, String), Vec<PastRun>> = BTreeMap::new();
    for (entry, (run, said)) in entries.iter().zip(read) {
        warnings.extend(said);
        if let Some(run) = run {
            groups.entry(entry.group()).or_default().push(run);
        }
    }
    let group = |((suite, target, target_type), mut runs): (_, Vec<PastRun>)| {
        // A clock that was set back must not turn a history around within a day's folder, so the
        // time that each run told counts.
        runs.sort_by(|a, b| a.timestamp.cmp(&b.timestamp));
        let evals = || runs.iter().flat_map(|run| &run.evals);
        let private = evals().filter(|eval| eval.private);
        let private: HashSet<Arc<str>> = private.map(|eval| Arc::clone(&eval.id)).collect();
        for eval in runs.iter_mut().flat_map(|run| &mut run.evals) {
            eval.private = private.contains(&eval.id);
        }
        HistoryGroup {
            suite,
            target,
            target_type,
            runs,
        }
    };
    groups.into_iter().map(group).collect()
}

/// What one entry came to; `None` when none of its journals can be read.
fn entry_run(
    entry: &HistoryEntry,
    texts: &TextInterner,
    warnings: &mut Vec<String>,
) -> Option<PastRun> {
    let mut run = heads_run(&entry.heads, texts, warnings);
    for heads in &entry.regrades {
        let Some(again) = heads_run(heads, texts, warnings) else {
            continue;
        };
        match &mut run {
            Some(_) if again.interrupted => warnings.push(format!(
                "the regrade {} did not finish; the outcomes before it still count",
                again.run_id
            )),
            Some(run) => replace(run, again),
            // The graded run itself can't be read: its regrade stands where it stood.
            None => {
                let mut again = again;
                entry.began().clone_into(&mut again.identity.timestamp);
                run = Some(again);
            }
        }
    }
    run
}

/// Puts the outcomes of a regrade in the place of a run's own. An eval that was graded again only
/// in part keeps its own.
fn replace(run: &mut PastRun, again: PastRun) {
    let PastRun {
        evals,
        identity,
        counts,
        cases,
        gate,
        ..
    } = again;
    let mut by_id: HashMap<Arc<str>, PastEval> = evals
        .into_iter()
        .map(|eval| (Arc::clone(&eval.id), eval))
        .collect();
    let mut whole = true;
    for eval in &mut run.evals {
        match by_id.remove(&eval.id) {
            Some(graded) if graded.counts.total == eval.counts.total => *eval = graded,
            _ => whole = false,
        }
    }
    if whole && by_id.is_empty() {
        (run.counts, run.cases, run.gate) = (counts, cases, gate);
    } else {
        (run.counts, run.cases, run.gate) = (Counts::default(), Counts::default(), None);
        for eval in &run.evals {
            run.counts.add(eval.outcome);
            eval.cases
                .iter()
                .for_each(|case| run.cases.add(case.outcome));
        }
    }
    run.regraded_by.push(identity.run_id);
}

/// The run of one journal.
pub(super) fn run_of_head(
    head: &JournalHead,
    texts: &TextInterner,
    warnings: &mut Vec<String>,
) -> Option<PastRun> {
    heads_run(std::slice::from_ref(head), texts, warnings)
}

/// The run of one journal, whose events `read` reads.
pub(super) fn run_of_head_by<I: Iterator<Item = Result<Event, JournalError>>>(
    head: &JournalHead,
    texts: &TextInterner,
    warnings: &mut Vec<String>,
    read: impl Fn(&Path) -> Result<I, JournalError>,
) -> Option<PastRun> {
    let folded = folded_by(&[head], read).map_err(|(_, message)| message);
    let run = folded.and_then(|folded| folded.past_run(texts).map_err(|e| contradiction(&e)));
    run.map_err(|message| warnings.push(message)).ok()
}

fn contradiction(error: &SummaryError) -> String {
    format!("a journal contradicts itself: {error}{SKIPPED}")
}

/// The run of one journal, or of shards. A shard that can't be read is left out with a warning.
fn heads_run(
    heads: &[JournalHead],
    texts: &TextInterner,
    warnings: &mut Vec<String>,
) -> Option<PastRun> {
    let mut readable: Vec<&JournalHead> = heads.iter().collect();
    while !readable.is_empty() {
        match folded(&readable) {
            Ok(folded) => {
                warnings.extend(folded.cut_off.iter().map(|run| {
                    format!("run {run} did not finish: it was interrupted or is still running; its recorded \
                         samples count")
                }));
                let run = folded.past_run(texts);
                return run
                    .map_err(|error| warnings.push(contradiction(&error)))
                    .ok();
            }
            Err((at, message)) => {
                warnings.push(message);
                readable.remove(at);
            }
        }
    }
    None
}

/// Journals folded as if they were one.
struct FoldedJournals {
    fold: SummaryFold,
    /// Over what a case is, by a number of eval and case.
    definitions: HashMap<u64, u64>,
    /// What the sessions of all journals had in common, or did not: each of them once.
    conditions: BTreeSet<u64>,
    /// The state of the checkout at the first session, and whether every other session had the
    /// same.
    git: Option<GitState>,
    one_checkout: bool,
    /// Ids of the runs whose journals break off.
    cut_off: Vec<String>,
}

/// Fails with the place of the journal that can't be read, and why.
fn folded(heads: &[&JournalHead]) -> Result<FoldedJournals, (usize, String)> {
    // What a gate with `--fail-on` was compared with is in whole events only.
    let holds = |head: &&JournalHead| head.started.config.comparison.fail_on.is_some();
    if heads.iter().any(holds) {
        return folded_by(heads, journal::read);
    }
    let counted = folded_by(heads, journal::read_counts)?;
    // A later session may have added it.
    match counted.fold.started() {
        Ok(started) if started.config.comparison.fail_on.is_some() => {
            folded_by(heads, journal::read)
        }
        _ => Ok(counted),
    }
}

fn folded_by<I: Iterator<Item = Result<Event, JournalError>>>(
    heads: &[&JournalHead],
    read: impl Fn(&Path) -> Result<I, JournalError>,
) -> Result<FoldedJournals, (usize, String)> {
    let mut folded = FoldedJournals {
        fold: SummaryFold::counting(),
        definitions: HashMap::new(),
        conditions: BTreeSet::new(),
        git: heads
            .first()
            .and_then(|head| head.started.run.environment.git.clone()),
        one_checkout: true,
        cut_off: Vec::new(),
    };
    for (at, head) in heads.iter().enumerate() {
        let ended = read(&head.journal)
            .map_err(RunError::from)
            .and_then(|events| folded.take(events));
        let ended = ended.map_err(|error| (at, told(head, error)))?;
        if !ended {
            folded.cut_off.push(head.started.run.run_id.clone());
        }
    }
    Ok(folded)
}

fn told(head: &JournalHead, error: RunError) -> String {
    match error {
        RunError::Journal(error) => left_out(&error),
        error => format!("{}: {error}{SKIPPED}", head.journal.display()),
    }
}

impl FoldedJournals {
    /// Takes the events of a journal; false when it has no end.
    fn take(
        &mut self,
        events: impl Iterator<Item = Result<Event, JournalError>>,
    ) -> Result<bool, RunError> {
        let mut ended = false;
        for event in events {
            let event = event?;
            ended = matches!(event, Event::RunFinished(_));
            if let Event::RunStarted(session) | Event::RunResumed(session) = &event {
                self.conditions.insert(conditions(session));
                self.one_checkout &= session.run.environment.git == self.git;
            }
            if let Event::CasesPlanned(planned) = &event {
                let case = |case: &CasePlanned| {
                    let definition = (&case.input_hash, &case.grading_hash, &case.target_hash);
                    (place(&planned.eval, &case.id), number(&definition))
                };
                self.definitions.extend(planned.cases.iter().map(case));
            }
            self.fold.push(&event)?;
        }
        Ok(ended)
    }

    fn past_run(&self, texts: &TextInterner) -> Result<PastRun, SummaryError> {
        let (started, sessions) = (self.fold.started()?, self.fold.sessions());
        let evals: Vec<PastEval> = self
            .fold
            .counted_evals()
            .iter()
            .map(|eval| self.past_eval(eval, texts))
            .collect();
        let (mut counts, mut cases) = (Counts::default(), Counts::default());
        for eval in &evals {
            counts.add(eval.outcome);
            eval.cases.iter().for_each(|case| cases.add(case.outcome));
        }
        let interrupted = sessions.interrupted();
        let gate = match started.config.comparison.fail_on {
            Some(_) => conclude(&self.fold)?.gate,
            None => doubted(
                decide(
                    &started.config.gate,
                    &self.fold.tallies()?,
                    interrupted,
                    &sessions.lone_shards(),
                ),
                &self.fold.warnings(),
                interrupted,
            ),
        };
        Ok(PastRun {
            identity: sessions.identity(started),
            interrupted,
            joined: sessions.joined(),
            regraded_by: Vec::new(),
            counts,
            cases,
            gate: Some(gate.decision),
            duration_seconds: sessions.duration_seconds(),
            evals,
            one_checkout: self.one_checkout,
            conditions: number(&self.conditions),
        })
    }

    fn past_eval(&self, eval: &CountedEval<'_>, texts: &TextInterner) -> PastEval {
        let info = eval.info();
        let (mut counter, mut counts) = (eval.counter(), Counts::default());
        let case = |case: CaseView<'_>| {
            let finals = case.finals();
            let outcome = counter.add(&finals);
            counts.add(outcome);
            let definition = self.definitions.get(&place(&info.id, case.id()));
            PastCase {
                reused: case.has_earlier_outputs(),
                id: texts.keep(case.id()),
                outcome,
                score: finals.score(),
                cause: case.commonest_cause(outcome),
                flaky: case.newly_flaky_samples() > 0,
                latencies_ms: case.latencies_ms().collect(),
                definition: definition.copied().unwrap_or(0),
            }
        };
        let cases = eval.cases().map(case).collect();
        PastEval {
            id: texts.keep(&info.id),
            name: texts.keep(&info.name),
            kind: info.kind,
            criticality: info.criticality,
            outcome: counter.outcome(),
            score: counter.score(),
            partial: false,
            counts,
            private: info.is_private(),
            cases,
        }
    }
}

fn place(eval: &str, case: &str) -> u64 {
    number(&(eval, case))
}

/// A number for a value; equal for equal values of this process.
fn number(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What else must be equal before two outcomes at one commit say that a case is flaky.
fn conditions(started: &RunStarted) -> u64 {
    let recordings: Vec<(u64, &str)> = started
        .recordings
        .iter()
        .map(|read| (read.bytes, read.sha256.as_str()))
        .collect();
    let model = &started.run.environment.model;
    number(&(
        &started.target_hash,
        &started.run.environment.target,
        model,
        &started.run.harness_version,
        recordings,
    ))
}
