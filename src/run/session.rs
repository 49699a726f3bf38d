//! A session of a run, from its first event to its last: a run that begins, or one that goes on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;

use super::cancel::CancelSwitch;
use super::changed::ChangeSource;
use super::check::{ResumePlan, check};
use super::checked::{CheckStamp, GradingTools};
use super::dispatch::{DispatchEnd, Dispatcher};
use super::earlier::EarlierRun;
use super::environment::{environment, harness_version, joined_sandbox};
use super::history::PastRatesReader;
use super::inputs::InputRenderer;
use super::planned::{case_planned, record_cases, record_eval, record_plan};
use super::prepare::{PreparedRun, has_judges, prepare_judges};
use super::queue::SampleQueue;
use super::recorder::{RunObserver, RunRecorder};
use super::recordings::{changed, recordings};
use super::refused::RunRefusal;
use super::remaining::RemainingSamples;
use super::reuse::{StoredSamples, record_reused};
use super::sample::{SampleContext, milliseconds};
use super::{RunError, conclude};
use crate::calibration::CalibrationStore;
use crate::grade::{GradersConfig, KnownRatings, RunGraders};
use crate::journal::{JournalWriter, RunPaths};
use crate::load::files_changed_since_load;
use crate::model::{
    CalibrationFile, CaseProfile, Cause, ComparisonConfig, Environment, Event, GitState,
    GraderType, JOURNAL_VERSION, MONTH_TAG, Metric, MetricName, PartSelector, Plan, RELEASED_TAG,
    RunConfig, RunFinished, RunIdentity, RunStarted, Summary, cutoff_parts,
};
use crate::ratings::{RatingStore, store_dir};
use eval_base::clock::{Clock, rfc3339};
use eval_base::redact::Redactor;
use eval_base::text;
use eval_models::{CacheMode, ModelSpending, RunModels};

/// Everything that a run needs from outside.
pub struct RunRequest<'a> {
    pub prepared: PreparedRun,
    /// The program that builds sandbox cells: this one.
    pub helper: PathBuf,
    pub clock: &'a dyn Clock,
    pub git: Option<GitState>,
    pub said: RunInvocation,
    pub cancel: CancelSwitch,
    pub observers: Vec<&'a mut dyn RunObserver>,
    /// The run that goes on; `None` for a new one.
    pub resume: Option<RunPaths>,
    /// The run whose samples are reused where nothing changed; of a run that goes on they are in
    /// its journal already.
    pub changed: Option<Arc<ChangeSource>>,
}

/// What the command line said, for the journal.
#[derive(Debug, Clone, Default)]
pub struct RunInvocation {
    /// The filters in words.
    pub filters: Vec<String>,
    /// The run is made to capture baselines.
    pub capture: bool,
    /// What reports compare the run with. One that goes on keeps what it began with when no
    /// reference is named.
    pub comparison: ComparisonConfig,
    /// As typed after the verb; see [`RunStarted::arguments`].
    pub arguments: Vec<String>,
    pub cwd: Option<PathBuf>,
    /// See [`RunStarted::siblings`].
    pub siblings: Vec<String>,
    /// The check whose tools must be those of the run.
    pub checked: Option<CheckStamp>,
}

/// A run that came to its end.
#[derive(Debug)]
pub struct FinishedRun {
    pub paths: RunPaths,
    pub summary: Summary,
    /// False when every sample had been finished before.
    pub ran: bool,
    /// What graded programs in this session.
    pub tools: GradingTools,
}

/// Runs a prepared plan, or what is left of it.
pub async fn run(mut request: RunRequest<'_>) -> Result<FinishedRun, RunError> {
    match request.resume.take() {
        None => begin(request).await,
        Some(paths) => resume(request, paths).await,
    }
}

/// Graders are prepared first, so that a missing sandbox is told before a run exists.
async fn begin(request: RunRequest<'_>) -> Result<FinishedRun, RunError> {
    let RunRequest {
        mut prepared,
        helper,
        clock,
        git,
        said,
        cancel,
        observers,
        resume: _,
        changed,
    } = request;
    let plan = &prepared.plan;
    let workers = workers(plan);
    let graders = graders(plan, helper.clone(), prepared.targets.models(), &workers);
    let (mut environment, tools) =
        prepared_environment(plan, git, &graders, said.checked.as_ref()).await?;
    let of_target = prepared.targets.prepare(plan, &helper).await?;
    prepared.targets.prepare_models(plan)?;
    prepare_judges(plan, prepared.targets.models())?;
    let calibrations = calibrations(plan)?;
    environment.sandbox = joined_sandbox(of_target, environment.sandbox);
    let started_at = clock.now();
    let timer = Instant::now();
    let paths = RunPaths::create(&plan.reporting.output_dir, started_at)?;
    let redactor = Redactor::new(plan.secrets.iter().cloned());
    let journal = JournalWriter::open(&paths.journal(), redactor.clone())?;
    let mut recorder = RunRecorder::new(journal, observers);
    let mut started = introduction(plan, said, environment.clone());
    started.config.calibrations = calibrations;
    started.run.changed_since = changed.as_ref().map(|source| source.run_id().to_owned());
    started.run.run_id = paths.run_id.clone();
    started.run.timestamp = rfc3339(started_at);
    started.recordings = recordings(&prepared);
    let shard = started.run.shard.is_some();
    let history = PastRatesReader::of(plan, &started, &started.run.timestamp);
    recorder.record(Event::RunStarted(Box::new(started)))?;
    let built = record_plan(
        plan,
        shard,
        InputRenderer::of(plan, prepared.total_samples(), &redactor),
        &mut recorder,
    )?;
    prepared.hold(built);
    let (mut remaining, mut stored) = (RemainingSamples::all(), None);
    if let Some(source) = &changed {
        let reused = record_reused(&prepared, source, &environment, &mut recorder)?;
        (remaining, stored) = (reused.remaining, Some(Arc::new(reused.stored)));
    }
    let drive = SessionDriver {
        prepared: &prepared,
        kept: paths.workspaces_dir(),
        graders,
        workers,
        redactor,
        clock,
        cancel,
        timer,
        history,
        stored,
    };
    drive.run(&mut recorder, remaining).await?;
    Ok(FinishedRun {
        paths,
        summary: conclude(&recorder.fold)?,
        ran: true,
        tools,
    })
}

async fn resume(request: RunRequest<'_>, paths: RunPaths) -> Result<FinishedRun, RunError> {
    let RunRequest {
        prepared,
        helper,
        clock,
        git,
        said,
        cancel,
        observers,
        resume: _,
        changed: _,
    } = request;
    let plan = &prepared.plan;
    let timer = Instant::now();
    let redactor = Redactor::new(plan.secrets.iter().cloned());
    // From here on nobody else writes this run.
    let journal = JournalWriter::open(&paths.journal(), redactor.clone())?;
    let mut recorder = RunRecorder::new(journal, observers);
    let mut spent = ModelSpending::default();
    let earlier = EarlierRun::read(&paths.journal(), &mut recorder.fold, |event| {
        if let Event::SampleFinished(sample) = event {
            spent.add(sample.spent());
        }
    })?;
    prepared.targets.models().spent_before(spent);
    let checked = said.checked.clone();
    let mut now = introduction(plan, said, environment(plan, git.clone()));
    now.config.calibrations = calibrations(plan)?;
    now.run.run_id = earlier.started.run.run_id.clone();
    now.run.timestamp = rfc3339(clock.now());
    now.run
        .changed_since
        .clone_from(&earlier.session.run.changed_since);
    now.siblings.clone_from(&earlier.session.siblings);
    now.recordings = recordings(&prepared);
    let compares = |said: &RunStarted| said.config.comparison.reference.is_some();
    if !compares(&now) {
        let (comparison, was) = (
            &mut now.config.comparison,
            &earlier.session.config.comparison,
        );
        comparison.reference.clone_from(&was.reference);
        comparison.fail_on = comparison.fail_on.or(was.fail_on);
        comparison.allow_changed |= was.allow_changed;
    }
    let others = changed(&prepared, &earlier.session.recordings, &now.recordings);
    let next =
        check(&prepared, &now, &earlier, &recorder.fold, others).map_err(RunError::Refused)?;
    if next.left == 0 && earlier.finished.is_some() && says_nothing_new(&now, &next, &earlier) {
        return Ok(FinishedRun {
            paths,
            summary: conclude(&recorder.fold)?,
            ran: false,
            tools: GradingTools::default(),
        });
    }
    let workers = workers(plan);
    let graders = graders(plan, helper.clone(), prepared.targets.models(), &workers);
    let mut tools = GradingTools::default();
    if next.left == 0 {
        // Nothing comes from what is there now.
        now.run.environment = earlier.session.run.environment.clone();
        now.recordings = earlier.session.recordings.clone();
        now.dependencies = earlier.session.dependencies.clone();
    } else {
        let before = &earlier.session.run.environment;
        let (mut environment, own) =
            prepared_environment(plan, git, &graders, checked.as_ref()).await?;
        tools = own;
        let of_target = prepared.targets.prepare(plan, &helper).await?;
        if let Ok(began) = earlier.started.run.timestamp.parse() {
            prepared.targets.models().resumes(began);
        }
        prepared.targets.prepare_models(plan)?;
        prepare_judges(plan, prepared.targets.models())?;
        environment.sandbox = joined_sandbox(of_target, environment.sandbox);
        environment.sandbox = joined_sandbox(before.sandbox.clone(), environment.sandbox);
        for (name, version) in &before.interpreters {
            environment
                .interpreters
                .entry(name.clone())
                .or_insert_with(|| version.clone());
        }
        now.run.environment = environment;
    }
    let shard = now.run.shard.is_some();
    // A comparison tells by what each case is. A first session that had none did not keep that, and
    // a later one that had may have broken off before it said it again. And it may have kept no
    // inputs, for reports that did not show them.
    let inputs = InputRenderer::of(plan, prepared.total_samples(), &redactor);
    let all_again =
        compares(&now) && !compares(&earlier.started) || inputs.are_kept() && !earlier.has_inputs;
    // What ran since the run began is not among what came before.
    let history = PastRatesReader::of(plan, &now, &earlier.started.run.timestamp);
    for warning in &next.warnings {
        recorder.warned(warning);
    }
    recorder.record(Event::RunResumed(Box::new(now)))?;
    for ((eval, again), runs) in plan.evals.iter().zip(&next.again).zip(&next.runs) {
        let mut info = eval.info.clone();
        // The outputs of an eval with nothing left to run are those of the earlier files.
        if let Some(known) = earlier.evals.get(&info.id).filter(|_| !runs) {
            info.dependencies.clone_from(&known.info.dependencies);
        }
        record_eval(&info, eval.cases.len(), &mut recorder)?;
        let mut wanted = again.iter().copied().peekable();
        let cases = case_planned(eval, shard)
            .enumerate()
            .filter(|(at, _)| wanted.next_if_eq(at).is_some() || all_again);
        record_cases(eval, cases, inputs, &mut recorder, |_, _, _| ())?;
    }
    recorder.resumed(prepared.total_samples(), &earlier.kept);
    let left = next.left;
    // What was compared is no longer needed; of a large run it is large.
    drop(earlier);
    let drive = SessionDriver {
        prepared: &prepared,
        kept: paths.workspaces_dir(),
        graders,
        workers,
        redactor,
        clock,
        cancel,
        timer,
        history,
        stored: None,
    };
    drive.run(&mut recorder, next.remaining).await?;
    Ok(FinishedRun {
        paths,
        summary: conclude(&recorder.fold)?,
        ran: left > 0,
        tools,
    })
}

/// True when a further session would change nothing that a report shows.
fn says_nothing_new(now: &RunStarted, next: &ResumePlan, earlier: &EarlierRun) -> bool {
    let was = &earlier.session;
    let interrupted = earlier
        .finished
        .as_ref()
        .is_some_and(|finished| finished.interrupted);
    !interrupted
        && !next.evals_differ
        && next.again.iter().all(Vec::is_empty)
        && now.run.is_session_of(&was.run)
        && now.config == was.config
}

/// One for each worker, where more samples are under way than there are workers: those beyond them
/// only wait for a model.
pub(super) fn workers(plan: &Plan) -> Option<Arc<Semaphore>> {
    let workers = plan.settings.max_workers.max(1);
    let more = plan.settings.in_flight > workers;
    more.then(|| Arc::new(Semaphore::new(workers.min(Semaphore::MAX_PERMITS))))
}

pub(crate) fn graders(
    plan: &Plan,
    helper: PathBuf,
    models: &Arc<RunModels>,
    workers: &Option<Arc<Semaphore>>,
) -> RunGraders {
    let graders = RunGraders::new(GradersConfig {
        allow_unsandboxed: plan.settings.allow_unsandboxed,
        helper,
        workers: plan.settings.max_workers,
        grade_timeout: plan.settings.grade_timeout,
        demand: plan.settings.sandbox.clone(),
        dir: plan.suite.dir.clone(),
        readable: plan.readable.clone(),
        agents: plan.agent_folders(),
        models: Some(Arc::clone(models)),
        redactor: Redactor::new(plan.secrets.iter().cloned()),
    });
    let models = &plan.settings.models;
    let cache = models.cache_file.as_deref().and_then(Path::parent);
    let cache = cache.filter(|_| models.cache != CacheMode::Off);
    graders
        .sharing(workers.clone())
        .keeping(cache)
        .rated(ratings(plan))
}

/// The ratings of people, if the plan has a case that they grade.
fn ratings(plan: &Plan) -> Option<KnownRatings> {
    let mut profiles = plan.evals.iter().flat_map(|eval| eval.cases.profiles());
    let by_people = profiles.any(|profile| {
        let mut graders = profile.graders.iter();
        graders.any(|grader| grader.grader_type == GraderType::Human)
    });
    by_people.then(|| {
        let read = RatingStore::read(&store_dir(&plan.suite.root, &plan.suite.name));
        read.map(Arc::new).map_err(|error| error.to_string())
    })
}

async fn prepared_environment(
    plan: &Plan,
    git: Option<GitState>,
    graders: &RunGraders,
    checked: Option<&CheckStamp>,
) -> Result<(Environment, GradingTools), RunError> {
    let sandbox = graders.prepare(plan).await?;
    let mut environment = environment(plan, git);
    environment.sandbox = sandbox;
    environment.interpreters = graders.interpreters();
    let tools = GradingTools::new(
        environment.interpreters.clone(),
        graders.packages(),
        environment.sandbox.as_ref(),
    );
    environment.interpreters.extend(plan.agent_versions());
    if let Some(stamp) = checked {
        stamp.verify(&tools).map_err(RunError::Refused)?;
    }
    Ok((environment, tools))
}

/// What a session says of itself, but for the run's id and the time.
fn introduction(plan: &Plan, said: RunInvocation, environment: Environment) -> RunStarted {
    let config = config(plan, said.comparison, &environment);
    RunStarted {
        journal_version: JOURNAL_VERSION,
        config,
        run: RunIdentity {
            filters: said.filters,
            shard: plan.shard,
            ..identity(plan, environment)
        },
        suite_path: plan.suite.path.clone(),
        target_hash: plan.target_hash.clone(),
        whole_hash: plan.whole_hash.clone(),
        retry_failed: plan.settings.retry_failed,
        dependencies: Some(plan.dependencies.clone()),
        recordings: Vec::new(),
        capture: said.capture,
        arguments: said.arguments,
        cwd: said.cwd,
        siblings: said.siblings,
    }
}

/// The identity of a run of the whole plan, but for its id and the time.
pub(super) fn identity(plan: &Plan, environment: Environment) -> RunIdentity {
    RunIdentity {
        suite_name: plan.suite.name.clone(),
        suite_version: plan.suite.version.clone(),
        harness_version: harness_version().to_owned(),
        environment,
        against: plan.against.clone(),
        ..RunIdentity::default()
    }
}

/// pass@1 of each month in which tasks of a benchmark were published, and of those before and after
/// the training cut-off of the model.
fn release_parts(plan: &Plan, environment: &Environment) -> Vec<String> {
    let profiles = || plan.evals.iter().flat_map(|eval| eval.cases.profiles());
    let months: BTreeSet<&String> = profiles()
        .flat_map(|profile| &profile.tags)
        .filter(|tag| is_month(tag))
        .collect();
    let months = months.into_iter().cloned();
    let mut parts: Vec<PartSelector> = months.map(PartSelector::Tag).collect();
    let is_dated = |profile: &&CaseProfile| {
        let mut tags = profile.tags.iter();
        tags.any(|tag| tag.starts_with(RELEASED_TAG))
    };
    let dated: Vec<&CaseProfile> = profiles().filter(is_dated).collect();
    let sampling = environment.sampling.as_deref();
    let cutoff = sampling.and_then(|sampling| sampling.training_cutoff.as_deref());
    // Of the suite's target, which is not that of cases with their own.
    if !dated.is_empty() && dated.iter().all(|profile| profile.target.is_none()) {
        parts.extend(cutoff.and_then(cutoff_parts).into_iter().flatten());
    }
    let metric = |part: PartSelector| MetricName {
        metric: Metric::PassAt(1),
        part: Some(part),
    };
    parts
        .into_iter()
        .map(|part| metric(part).to_string())
        .collect()
}

/// `month:2024-03`.
fn is_month(tag: &str) -> bool {
    let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    let month = tag.strip_prefix(MONTH_TAG);
    month
        .and_then(|month| month.split_once('-'))
        .is_some_and(|(year, month)| digits(year, 4) && digits(month, 2))
}

/// The calibrations of the project's judges, if judges grade.
///
/// # Errors
/// For one that can't be read: figures would lack it.
pub(super) fn calibrations(plan: &Plan) -> Result<Vec<CalibrationFile>, RunError> {
    if !has_judges(plan) {
        return Ok(Vec::new());
    }
    let stored = CalibrationStore::of_project(&plan.suite.root).read();
    stored.map_err(|error| {
        RunError::Refused(RunRefusal {
            what: "a calibration of a judge can't be read".to_owned(),
            reasons: vec![error.to_string()],
            hint: error.hint(),
        })
    })
}

pub(super) fn config(
    plan: &Plan,
    comparison: ComparisonConfig,
    environment: &Environment,
) -> RunConfig {
    RunConfig {
        suite_description: plan.suite.description.clone(),
        gate: plan.gate.clone(),
        reported_parts: release_parts(plan, environment),
        composites: plan.composites.clone(),
        score_metrics: plan.score_metrics.clone(),
        ks: plan.settings.ks.clone(),
        interval_scope: plan.settings.interval_scope,
        seed: plan.settings.seed,
        formats: plan.reporting.formats.clone(),
        include_details: plan.reporting.include_details,
        comparison,
        calibrations: Vec::new(),
    }
}

/// What drives the samples of a session.
struct SessionDriver<'a> {
    prepared: &'a PreparedRun,
    /// The folder of workspaces that are kept.
    kept: PathBuf,
    graders: RunGraders,
    workers: Option<Arc<Semaphore>>,
    redactor: Redactor,
    clock: &'a dyn Clock,
    cancel: CancelSwitch,
    timer: Instant,
    history: PastRatesReader,
    stored: Option<Arc<StoredSamples>>,
}

impl SessionDriver<'_> {
    /// Runs what remains and records the end.
    async fn run(
        self,
        recorder: &mut RunRecorder<'_>,
        remaining: RemainingSamples,
    ) -> Result<(), RunError> {
        let plan = &self.prepared.plan;
        let graders = Arc::new(self.graders);
        let bench = SampleContext {
            targets: Arc::clone(&self.prepared.targets),
            graders: Arc::clone(&graders),
            retry_failed: plan.settings.retry_failed,
            redactor: self.redactor,
            workers: self.workers,
            stored: self.stored,
            kept: self.kept.into(),
        };
        let queue = SampleQueue::new(plan, remaining);
        let dispatcher = Dispatcher {
            settings: &plan.settings,
            bench,
            clock: self.clock,
            cancel: self.cancel,
            recorder: &mut *recorder,
        };
        let ending = dispatcher.drive(queue).await;
        graders.close_workspaces().await;
        let ending = ending?;
        let seconds = milliseconds(self.timer.elapsed()) / 1000.0;
        let changed_files = files_changed_since_load(plan);
        if let Some(first) = changed_files.first() {
            let more = match changed_files.len() - 1 {
                0 => String::new(),
                more => format!(" and {}", text::plural(more, "more file")),
            };
            recorder.warned(&format!(
                "{first}{more} changed during the run; `run --changed` reuses no sample of it"
            ));
        }
        end(
            recorder,
            self.clock,
            seconds,
            ending,
            self.history,
            graders.expired_graces(),
            changed_files,
        )
    }
}

/// The last event of a session, and the journal on the disk.
pub(super) fn end(
    recorder: &mut RunRecorder<'_>,
    clock: &dyn Clock,
    duration_seconds: f64,
    ending: DispatchEnd,
    history: PastRatesReader,
    expired_graces: Option<u64>,
    changed_files: Vec<String>,
) -> Result<(), RunError> {
    let interrupted = matches!(ending, DispatchEnd::Early(Cause::Interrupted));
    let timestamp = rfc3339(clock.now());
    let history = history.done();
    let finished = RunFinished {
        timestamp,
        duration_seconds,
        interrupted,
        history,
        expired_graces,
        changed_files,
    };
    recorder.record(Event::RunFinished(finished))?;
    Ok(recorder.journal.sync()?)
}
