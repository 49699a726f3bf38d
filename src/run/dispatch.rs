//! The dispatcher: starts samples, records what comes back, and ends the run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::{Id, JoinError, JoinSet};

use super::cancel::{Cancel, Level};
use super::environment::{environment, harness_version};
use super::prepare::Prepared;
use super::queue::{Queue, Work};
use super::sample::{Bench, milliseconds, run_sample};
use super::{RunError, conclude};
use crate::base::clock::{Clock, rfc3339};
use crate::base::redact::Redactor;
use crate::grade::{Graders, GradersConfig};
use crate::journal::{JournalWriter, RunPaths};
use crate::model::{
    Attempt, CasePlanned, CasesPlanned, Cause, EvalPlanned, Event, GitState, JOURNAL_VERSION, Outcome, Plan,
    RunFinished, RunStarted, SampleFinished, SampleSkipped, Summary, Verdict,
};
use crate::summary::Fold;

/// Cases in one `cases_planned` event.
const CHUNK: usize = 500;

/// Hears of every event, after it was recorded, and of what is under way.
pub trait Observer {
    fn event(&mut self, event: &Event);

    /// A sample is about to run. That is not recorded: a run that is killed has nothing to show for it.
    fn started(&mut self, _eval: &str, _case: &str, _sample: u32) {}
}

/// Everything that a run needs from outside.
pub struct RunRequest<'a> {
    pub prepared: Prepared,
    /// The program that builds sandbox cells: this one.
    pub helper: PathBuf,
    pub clock: &'a dyn Clock,
    pub git: Option<GitState>,
    /// The filters in words.
    pub filters: Vec<String>,
    pub cancel: Cancel,
    pub observers: Vec<&'a mut dyn Observer>,
}

/// A run that came to its end.
#[derive(Debug)]
pub struct Finished {
    pub paths: RunPaths,
    pub summary: Summary,
}

/// Why samples that did not start were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Complete,
    Early(Cause),
}

/// Runs a prepared plan. Graders are prepared first, so that a missing sandbox is told before a run exists.
pub async fn run(request: RunRequest<'_>) -> Result<Finished, RunError> {
    let RunRequest { prepared, helper, clock, git, filters, cancel, observers } = request;
    let plan = &prepared.plan;
    let graders = Graders::new(GradersConfig {
        allow_unsandboxed: plan.settings.allow_unsandboxed,
        helper,
        workers: plan.settings.max_workers,
    });
    let sandbox = graders.prepare(plan).await?;
    let mut environment = environment(plan, git);
    environment.sandbox = sandbox;
    environment.interpreters = graders.interpreters();

    let started_at = clock.now();
    let clock_started = Instant::now();
    let paths = RunPaths::create(&plan.reporting.output_dir, started_at)?;
    let redactor = Redactor::new(plan.secrets.iter().cloned());
    let journal = JournalWriter::open(&paths.journal(), redactor.clone())?;
    let mut recorder = Recorder { journal, fold: Fold::new(), observers };
    let started = RunStarted {
        journal_version: JOURNAL_VERSION,
        run_id: paths.run_id.clone(),
        timestamp: rfc3339(started_at),
        harness_version: harness_version().to_owned(),
        suite_name: plan.suite.name.clone(),
        suite_version: plan.suite.version.clone(),
        suite_description: plan.suite.description.clone(),
        suite_path: plan.suite.path.clone(),
        environment,
        gate: plan.gate.clone(),
        composites: plan.composites.clone(),
        ks: plan.settings.ks.clone(),
        seed: plan.settings.seed,
        formats: plan.reporting.formats.clone(),
        include_details: plan.reporting.include_details,
        filters,
        target_hash: String::new(),
        shard: None,
        regrade_of: None,
        arguments: Vec::new(),
    };
    recorder.record(Event::RunStarted(Box::new(started)))?;
    record_plan(plan, &mut recorder)?;

    let bench = Bench {
        targets: Arc::clone(&prepared.targets),
        graders: Arc::new(graders),
        retry_failed: plan.settings.retry_failed,
        redactor,
    };
    let ending = Dispatcher { plan, bench, clock, cancel, recorder: &mut recorder }.drive().await?;

    let interrupted = matches!(ending, Ending::Early(Cause::Interrupted));
    recorder.record(Event::RunFinished(RunFinished {
        timestamp: rfc3339(clock.now()),
        duration_seconds: milliseconds(clock_started.elapsed()) / 1000.0,
        interrupted,
    }))?;
    recorder.journal.sync()?;
    Ok(Finished { paths, summary: conclude(&recorder.fold)? })
}

/// Journal, then fold, then observers.
struct Recorder<'a> {
    journal: JournalWriter,
    fold: Fold,
    observers: Vec<&'a mut dyn Observer>,
}

impl Recorder<'_> {
    fn record(&mut self, event: Event) -> Result<(), RunError> {
        let recorded = self.journal.append(event)?;
        self.fold.push(&recorded)?;
        for observer in &mut self.observers {
            observer.event(&recorded);
        }
        Ok(())
    }
}

fn record_plan(plan: &Plan, recorder: &mut Recorder<'_>) -> Result<(), RunError> {
    for eval in &plan.evals {
        recorder
            .record(Event::EvalPlanned(EvalPlanned { eval: eval.info.clone(), cases: eval.cases.len() }))?;
        for chunk in eval.cases.chunks(CHUNK) {
            let cases = chunk
                .iter()
                .map(|case| CasePlanned {
                    id: case.id.clone(),
                    name: case.name.clone(),
                    samples: Prepared::samples(case),
                    graders: {
                        let types: BTreeSet<_> =
                            case.grading.graders.iter().map(|grader| grader.kind.grader_type()).collect();
                        types.into_iter().collect()
                    },
                    input_hash: case.input_hash.clone(),
                    grading_hash: case.grading_hash.clone(),
                    target_hash: None,
                    position: None,
                })
                .collect();
            recorder.record(Event::CasesPlanned(CasesPlanned { eval: eval.info.id.clone(), cases }))?;
        }
    }
    Ok(())
}

struct Dispatcher<'a, 'b> {
    plan: &'a Plan,
    bench: Bench,
    clock: &'a dyn Clock,
    cancel: Cancel,
    recorder: &'a mut Recorder<'b>,
}

/// What one task runs, in order.
struct Running {
    task: Id,
    batch: Vec<Work>,
}

/// Samples in one task when all they need is at hand: short enough that little is lost with a run that is killed.
const BATCH: usize = 32;

impl Dispatcher<'_, '_> {
    /// Runs everything, or what can be run before the run is ended early; records what was left out.
    async fn drive(mut self) -> Result<Ending, RunError> {
        let mut queue = Queue::new(self.plan);
        let mut tasks: JoinSet<Vec<Vec<Attempt>>> = JoinSet::new();
        let mut running: Vec<Running> = Vec::new();
        let mut ending = Ending::Complete;
        let mut failed = 0usize;
        let deadline = async {
            match self.plan.settings.timeout_global {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(deadline);
        loop {
            // Ctrl-C may have come while the sandbox was opened: then nothing starts.
            let cancelled = self.cancel.level() >= Level::Finish;
            if ending == Ending::Complete && cancelled && !queue.is_empty() {
                ending = Ending::Early(Cause::Interrupted);
            }
            if ending == Ending::Complete {
                self.start(&mut queue, &mut tasks, &mut running);
            }
            if tasks.is_empty() {
                break;
            }
            tokio::select! {
                biased;
                () = self.cancel.reached(Level::Stop) => {
                    ending = Ending::Early(Cause::Interrupted);
                    break;
                }
                () = self.cancel.reached(Level::Finish), if ending == Ending::Complete => {
                    ending = Ending::Early(Cause::Interrupted);
                }
                // What is only being finished is held to the run's time, too.
                () = &mut deadline => {
                    if ending == Ending::Complete {
                        ending = Ending::Early(Cause::GlobalTimeout);
                    }
                    break;
                }
                Some(joined) = tasks.join_next_with_id() => {
                    for (work, attempts) in take(&mut running, joined) {
                        queue.done(&work);
                        let outcome = attempts.last().map(|attempt| attempt.verdict.outcome);
                        failed += usize::from(outcome == Some(Outcome::Failed));
                        self.finished(&work, attempts)?;
                    }
                    let limit = self.plan.settings.max_fail;
                    if ending == Ending::Complete && limit.is_some_and(|limit| failed >= limit) && !queue.is_empty() {
                        ending = Ending::Early(Cause::MaxFail);
                    }
                }
            }
        }
        tasks.shutdown().await;
        if let Ending::Early(cause) = ending {
            for work in running.into_iter().flat_map(|running| running.batch).chain(queue.drain()) {
                self.skipped(&work, cause)?;
            }
        }
        Ok(ending)
    }

    fn start(&self, queue: &mut Queue, tasks: &mut JoinSet<Vec<Vec<Attempt>>>, running: &mut Vec<Running>) {
        // With a limit of failures each sample is counted before the next one starts.
        let most = if self.plan.settings.max_fail.is_some() { 1 } else { BATCH };
        while running.len() < self.plan.settings.max_workers.max(1) {
            let batch = queue.next_batch(most, |work| self.bench.is_cheap(work));
            if batch.is_empty() {
                return;
            }
            let (bench, its_batch) = (self.bench.clone(), batch.clone());
            let handle = tasks.spawn(async move {
                let mut results = Vec::with_capacity(its_batch.len());
                for work in &its_batch {
                    results.push(run_sample(&bench, work).await);
                }
                results
            });
            running.push(Running { task: handle.id(), batch });
        }
    }

    fn finished(&mut self, work: &Work, attempts: Vec<Attempt>) -> Result<(), RunError> {
        self.recorder.record(Event::SampleFinished(Box::new(SampleFinished {
            eval: work.eval.info.id.clone(),
            case: work.case.id.clone(),
            sample: work.sample,
            attempts,
            finished_at: rfc3339(self.clock.now()),
        })))
    }

    fn skipped(&mut self, work: &Work, cause: Cause) -> Result<(), RunError> {
        self.recorder.record(Event::SampleSkipped(SampleSkipped {
            eval: work.eval.info.id.clone(),
            case: work.case.id.clone(),
            sample: work.sample,
            cause,
        }))
    }
}

/// Pairs what a task gave with its work. A task that panicked is an error of the harness, not of the outputs.
fn take(
    running: &mut Vec<Running>,
    joined: Result<(Id, Vec<Vec<Attempt>>), JoinError>,
) -> Vec<(Work, Vec<Attempt>)> {
    let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
    let Some(at) = running.iter().position(|running| running.task == id) else { return Vec::new() };
    let batch = running.swap_remove(at).batch;
    match joined {
        Ok((_, results)) => batch.into_iter().zip(results).collect(),
        Err(error) => {
            let fault = || {
                let reason = format!("a fault of eval-harness itself: {error}");
                let verdict = Verdict::without_grades(Cause::Harness, reason);
                Attempt {
                    output: None,
                    stored: None,
                    extracted: None,
                    verdict,
                    latency_ms: None,
                    duration_ms: 0.0,
                    infrastructure_retries: 0,
                }
            };
            batch.into_iter().map(|work| (work, vec![fault()])).collect()
        }
    }
}
