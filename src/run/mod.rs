//! The scheduler: drives a plan, owns cancellation, writes the journal first and then tells the
//! observers.
//!
//! One task (the dispatcher) owns everything that is written or shown; each sample runs in a task
//! of its own and hands its result back. An event is appended to the journal before the fold or any
//! observer hears of it, so that what was shown survives a `kill -9`, and every report is a fold
//! over the same events.

mod cancel;
mod changed;
mod check;
mod checked;
mod dispatch;
mod earlier;
mod environment;
mod feed;
pub mod history;
mod inputs;
mod join;
mod parallel;
mod planned;
pub mod power;
mod prepare;
mod queue;
mod recorder;
mod recordings;
mod refused;
mod regrade;
mod remade;
mod remaining;
mod reuse;
mod sample;
mod scores;
mod session;
mod windows;

pub use cancel::{CancelLevel, CancelSwitch};
pub use changed::{ChangeOutline, ChangeSource, ChangedSamples, SampleAction, SamplesToDo};
pub use checked::{CheckStamp, CheckedContent, GradingTools, demand_check};
pub use environment::{git_state, harness_version};
pub use join::{any_shard, join, run_scores};
use parallel::in_parallel;
mod reach;
pub use prepare::{PreparedRun, prepare, too_few};
pub use recorder::{EndedCase, RunObserver};
pub use refused::RunRefusal;
pub use regrade::{RegradeRequest, regrade};
pub use scores::{ScoreBaselineResult, scores};
pub(crate) use session::graders;
pub use session::{FinishedRun, RunInvocation, RunRequest, run};

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::calibration::CalibrationStore;
use crate::gate::{add_comparison, decide, doubted};
use crate::grade::GradeError;
use crate::journal::{self, JournalError, RunPaths};
use crate::model::limits::DETAILED_SAMPLES;
use crate::model::{
    CalibrationFile, CaseResult, EvalResult, Event, Failure, Omitted, Outcome, RunStarted, Summary,
};
use crate::summary::{SummaryError, SummaryFold, UngatedSummary};
use crate::target::TargetError;

/// Why a run could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A target can't be opened; nothing ran.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A grader can't do its work here (no isolation, say); nothing ran.
    #[error(transparent)]
    Grade(#[from] GradeError),
    /// A target can't run in the sandbox that it asks for; nothing ran.
    #[error(transparent)]
    Sandbox(#[from] crate::isolation::SandboxRefusal),
    /// Thresholds that the planned samples can't answer; nothing ran.
    #[error("{}", .0.join("\n"))]
    Unanswerable(Vec<String>),
    /// A run can't go on with what is asked, or runs can't be joined; nothing ran.
    #[error(transparent)]
    Refused(RunRefusal),
    /// The journal could not be written, so the run was stopped.
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the journal contradicts itself: {0}")]
    Summary(#[from] SummaryError),
}

impl RunError {
    /// True when nothing ran and a definition or setting is at fault (exit code 2).
    pub fn is_definition(&self) -> bool {
        match self {
            RunError::Target(_)
            | RunError::Grade(_)
            | RunError::Sandbox(_)
            | RunError::Unanswerable(_)
            | RunError::Refused(_) => true,
            RunError::Journal(error) => !matches!(error, JournalError::Write { .. }),
            RunError::Summary(_) => false,
        }
    }

    /// What a user can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            RunError::Sandbox(refused) | RunError::Grade(GradeError::Sandbox(refused)) => {
                Some(refused.remedy.clone()).filter(|text| !text.is_empty())
            }
            RunError::Refused(refused) => refused.hint.clone(),
            RunError::Journal(error) => error.hint(),
            _ => None,
        }
    }
}

/// The summary of a finished fold, gate included: the one way from events to figures.
pub fn conclude(fold: &SummaryFold) -> Result<Summary, SummaryError> {
    let report = fold.finish()?;
    let mut gate = decide(
        report.gate_spec(),
        &report.tallies,
        report.interrupted,
        &report.shards,
    );
    if let Some(fail_on) = report.started.config.comparison.fail_on {
        gate = add_comparison(
            gate,
            fail_on,
            report.comparison.as_deref(),
            &report.tallies,
            report.interrupted,
        );
    }
    let gate = doubted(gate, &report.warnings, report.interrupted);
    Ok(report.with_gate(gate))
}

/// What a journal says, folded again.
pub struct RereadRun {
    pub summary: Summary,
    pub started: crate::model::RunStarted,
}

/// Reads a run back from its journal.
pub fn reread(journal: &Path) -> Result<RereadRun, RunError> {
    let mut started = None;
    let mut fold = folded(journal, |event| {
        if let Event::RunStarted(first) = event {
            started.get_or_insert_with(|| (**first).clone());
        }
    })?;
    if fold.has_judged()
        && let Some(started) = &started
    {
        fold.calibrate(later_calibrations(started));
    }
    let summary = conclude(&fold)?;
    Ok(RereadRun {
        summary,
        started: started.ok_or(SummaryError::NotStarted)?,
    })
}

/// The calibrations that rest on labels of the run itself, which came after it. Others count as they
/// were when it ran.
fn later_calibrations(started: &RunStarted) -> Vec<CalibrationFile> {
    let cwd = started.cwd.clone().unwrap_or_default();
    let suite = cwd.join(&started.suite_path);
    let dir = suite.parent().unwrap_or(&cwd);
    let root = dir.ancestors().find(|dir| dir.join(".git").exists());
    // A store that can't be read is reported where a run uses it.
    let stored = CalibrationStore::of_project(root.unwrap_or(dir)).read();
    let mut files = stored.unwrap_or_default();
    let id = Some(started.run.run_id.as_str());
    files.retain(|file| file.labels.run.as_deref() == id);
    files
}

/// Bytes of outputs stored beside the journal that are read as a whole, all together: less than a
/// summary keeps of details.
const WHOLE_OUTPUTS: u64 = 32 << 20;

/// Selected cases of a run.
pub struct SelectedCases {
    pub run_id: String,
    /// The evals that have a selected case, with these cases.
    pub evals: Vec<EvalResult>,
    /// Cases and samples that were selected and are not among them, because they are too many.
    pub omitted: Omitted,
}

/// Reads the cases that `takes` selects, by eval and case, with all that the journal contains of
/// them. Outputs that are stored beside it are read while they are not too large; of others the
/// beginning is kept.
pub fn cases_of(
    paths: &RunPaths,
    takes: impl Fn(&str, &str) -> bool,
) -> Result<SelectedCases, RunError> {
    cases_among(paths, journal::read(&paths.journal())?, takes)
}

/// As [`cases_of`], one case; faster in a large journal.
pub fn case_of(paths: &RunPaths, eval: &str, case: &str) -> Result<SelectedCases, RunError> {
    let events = journal::read_case(&paths.journal(), case)?;
    cases_among(paths, events, |of, id| of == eval && id == case)
}

/// The cases of a journal that `takes` selects, unless its suite keeps inputs and outputs out of
/// reports: then none.
pub fn reported_cases(
    journal: &Path,
    takes: impl Fn(&str, &str) -> bool,
) -> Result<Vec<EvalResult>, RunError> {
    let sessions = journal::sessions(journal)?;
    let last = sessions.last();
    if last.is_some_and(|session| !session.config.include_details) {
        return Ok(Vec::new());
    }
    let paths = match RunPaths::of_journal(journal) {
        Some(paths) => paths,
        None => journal::find_run(Path::new(""), &journal.to_string_lossy())?,
    };
    Ok(cases_of(&paths, takes)?.evals)
}

fn cases_among(
    paths: &RunPaths,
    events: impl Iterator<Item = Result<Event, JournalError>>,
    takes: impl Fn(&str, &str) -> bool,
) -> Result<SelectedCases, RunError> {
    let mut room = WHOLE_OUTPUTS;
    let report = selected(events, takes, |event| {
        match event {
            Event::RunStarted(session) | Event::RunResumed(session) => {
                session.config.include_details = true;
            }
            Event::SampleFinished(sample) => {
                for attempt in &mut sample.attempts {
                    let Some(bytes) = attempt.stored.as_ref().map(|stored| stored.bytes) else {
                        continue;
                    };
                    // A journal that was copied alone still has the beginning.
                    if bytes <= room
                        && let Ok(output) = journal::output_of(paths, attempt)
                    {
                        room -= bytes;
                        (attempt.output, attempt.stored) = (output, None);
                    }
                }
                let last = sample.attempts.last_mut();
                if let Some(output) = last.and_then(|attempt| attempt.output.as_mut())
                    && let Some(bytes) = output.trajectory.as_ref().map(|record| record.bytes)
                    && bytes <= room
                    && journal::load_trajectory(paths, output).is_ok()
                {
                    room -= bytes;
                }
            }
            _ => {}
        }
    })?;
    let mut evals = report.evals;
    evals.retain(|eval| !eval.cases.is_empty() || eval.private && eval.counts.total > 0);
    Ok(SelectedCases {
        run_id: report.started.run.run_id,
        evals,
        omitted: report.omitted,
    })
}

/// A run as if it had the cases that `takes` selects, and no others. `see` may change what is read.
fn selected(
    events: impl Iterator<Item = Result<Event, JournalError>>,
    takes: impl Fn(&str, &str) -> bool,
    mut see: impl FnMut(&mut Event),
) -> Result<UngatedSummary, RunError> {
    let mut fold = SummaryFold::new();
    for event in events {
        let mut event = event?;
        match &mut event {
            Event::CasesPlanned(planned) => {
                let eval = &planned.eval;
                planned.cases.retain(|case| takes(eval, &case.id));
            }
            Event::SampleFinished(sample) if !takes(&sample.eval, &sample.case) => continue,
            Event::SampleSkipped(sample) if !takes(&sample.eval, &sample.case) => continue,
            _ => {}
        }
        see(&mut event);
        fold.push(&event)?;
    }
    Ok(fold.finish()?)
}

/// What the summaries of journals list of selected cases.
#[derive(Default)]
struct SelectedLists {
    /// By eval.
    cases: HashMap<String, Vec<CaseResult>>,
    failures: Vec<Failure>,
    omitted: Omitted,
    /// Whether cases are omitted, perhaps, that did not pass or were flaky.
    full: bool,
}

impl SelectedLists {
    fn read(
        journals: &[PathBuf],
        takes: impl Fn(&str, &str) -> bool,
    ) -> Result<SelectedLists, RunError> {
        let mut lists = SelectedLists::default();
        for journal in journals {
            let part = selected(journal::read(journal)?, &takes, |_| ())?;
            let listed: usize = part.evals.iter().map(|eval| eval.cases.len()).sum();
            lists.full |= listed >= DETAILED_SAMPLES;
            for eval in part.evals {
                lists.cases.entry(eval.id).or_default().extend(eval.cases);
            }
            lists.failures.extend(part.failures);
            let Omitted {
                cases,
                samples,
                unpassed_samples,
                failures,
            } = part.omitted;
            lists.omitted.cases += cases;
            lists.omitted.samples += samples;
            lists.omitted.unpassed_samples += unpassed_samples;
            lists.omitted.failures += failures;
        }
        Ok(lists)
    }
}

/// Leaves in the lists of a summary the cases that `takes` selects, by eval and case, and of them
/// those that `keeps` takes, which takes none that passed at once; its figures and its gate stay
/// those of the whole run. Of a large run the lists are read again from its journals, since a
/// summary lacks most of its cases; it is still truncated when they are not complete. True when
/// `takes` selects any.
pub fn list_only(
    summary: &mut Summary,
    journals: &[PathBuf],
    takes: impl Fn(&str, &str) -> bool,
    keeps: Option<&dyn Fn(&CaseResult) -> bool>,
) -> Result<bool, RunError> {
    let kept_by = |case: &CaseResult| keeps.is_none_or(|keeps| keeps(case));
    let mut any = false;
    if summary.truncated {
        let mut lists = SelectedLists::read(journals, &takes)?;
        any = lists.omitted.cases > 0 || lists.cases.values().any(|cases| !cases.is_empty());
        if keeps.is_some() && lists.omitted != Omitted::default() {
            // What was omitted of cases that are not to be listed is nothing that the lists lack.
            let mut kept: HashMap<String, HashSet<String>> = HashMap::new();
            for (eval, cases) in &lists.cases {
                let ids = cases.iter().filter(|case| kept_by(case));
                let ids = ids.map(|case| case.id.clone());
                kept.insert(eval.clone(), ids.collect());
            }
            let unlisted = lists.full.then_some(lists.omitted.cases);
            lists = SelectedLists::read(journals, |eval, case| {
                kept.get(eval).is_some_and(|ids| ids.contains(case))
            })?;
            lists.omitted.cases += unlisted.unwrap_or_default();
        }
        for eval in &mut summary.evals {
            eval.cases = lists.cases.remove(&eval.id).unwrap_or_default();
        }
        summary.failures = lists.failures;
        summary.truncated = lists.omitted != Omitted::default();
        summary.omitted = summary.truncated.then_some(lists.omitted);
    }
    let mut kept: HashSet<(String, String)> = HashSet::new();
    for eval in &mut summary.evals {
        let id = &eval.id;
        eval.cases.retain(|case| {
            let taken = takes(id, &case.id);
            any |= taken;
            taken && kept_by(case) && kept.insert((id.clone(), case.id.clone()))
        });
    }
    // Of a private dataset no case has an id to filter by.
    let private = |eval: &EvalResult| eval.private && takes(&eval.id, "");
    any |= summary.evals.iter().any(private);
    summary
        .evals
        .retain(|eval| !eval.cases.is_empty() || private(eval));
    summary
        .failures
        .retain(|failure| kept.contains(&(failure.eval_id.clone(), failure.case_id.clone())));
    Ok(any)
}

/// All cases of a run that passed, or all that did not, as eval and case; a summary lists a bounded
/// number of them.
pub fn cases(journal: &Path, passed: bool) -> Result<BTreeSet<(String, String)>, RunError> {
    let fold = folded(journal, |_| ())?;
    Ok(fold
        .cases_that(passed)
        .map(|(eval, case)| (eval.to_owned(), case.to_owned()))
        .collect())
}

/// How each case of a run ended, by eval and case.
pub fn outcomes(journal: &Path) -> Result<BTreeMap<(String, String), Outcome>, RunError> {
    let fold = folded(journal, |_| ())?;
    let outcome = |(eval, case, outcome): (&str, &str, Outcome)| {
        ((eval.to_owned(), case.to_owned()), outcome)
    };
    Ok(fold.outcomes().map(outcome).collect())
}

/// The seed of the first journal that can be read. A comparison names its candidates before the
/// reference, so that the figures are those of the candidate's own `--compare-to`.
pub fn recorded_seed(journals: impl IntoIterator<Item = impl AsRef<Path>>) -> Option<u64> {
    let mut journals = journals.into_iter();
    let started = journals.find_map(|journal| journal::started(journal.as_ref()).ok())?;
    Some(started.config.seed)
}

fn folded(journal: &Path, mut see: impl FnMut(&Event)) -> Result<SummaryFold, RunError> {
    let mut fold = SummaryFold::new();
    for event in journal::read(journal)? {
        let event = event?;
        see(&event);
        fold.push(&event)?;
    }
    Ok(fold)
}
