//! Grades the stored outputs of a run again, without asking its target: a new run with its own
//! journal.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::cancel::{CancelLevel, CancelSwitch};
use super::checked::GradingTools;
use super::dispatch::DispatchEnd;
use super::earlier::{EarlierEval, EarlierRun, HashPrefix};
use super::history::PastRatesReader;
use super::inputs::InputRenderer;
use super::planned::{case_planned, record_cases, record_eval};
use super::prepare::{has_judges, prepare_judges, unanswered};
use super::recorder::{RunObserver, RunRecorder, TRAFFIC};
use super::refused::{RefusedCases, RunRefusal, listed};
use super::remade::remade;
use super::sample::{
    GradedAnswer, add_reason, fault, is_unpaid, judge, milliseconds, tear_down, unrecorded,
};
use super::session::{
    FinishedRun, RunInvocation, calibrations, config, end, graders, identity, workers,
};
use super::windows::CaseWindows;
use super::{RunError, conclude};
use crate::grade::{RunGraders, SampleAttempt, apply_finish, apply_latency, without_output};
use crate::journal::{self, JournalError, JournalWriter, RunPaths, load_trajectory, output_of};
use crate::model::{
    Attempt, Case, CaseFault, CaseOutline, Cause, Eval, EvalInfo, Event, JOURNAL_VERSION, Outcome,
    Plan, RunIdentity, RunStarted, SampleFinished, SampleSkipped,
};
use crate::summary::SummaryFold;
use eval_base::clock::{Clock, SystemClock, rfc3339};
use eval_base::redact::Redactor;
use eval_models::{ModelSpending, ModelsConfig, RunModels};

/// Everything that grading again needs from outside.
pub struct RegradeRequest<'a> {
    /// The suite as it is now. Its target is not looked at.
    pub plan: Plan,
    /// The run whose outputs are graded.
    pub source: RunPaths,
    /// The program that builds sandbox cells: this one.
    pub helper: PathBuf,
    pub clock: &'a dyn Clock,
    pub said: RunInvocation,
    pub cancel: CancelSwitch,
    pub observers: Vec<&'a mut dyn RunObserver>,
    /// Only grades by people are renewed, where the grading is still the same: nothing runs and no
    /// judge is asked.
    pub people_only: bool,
}

/// Samples in one task, when their graders only look at them.
const BATCH: usize = 32;

/// Bytes of outputs in one task, about.
const BATCH_BYTES: usize = 1 << 20;

/// Why an output that is not what the target gave has no new grade.
const REDACTED: &str =
    "a secret was redacted in the stored output, so it can't be graded again; run it again";

/// Grades every stored output of a run with the plan's graders. Judges are asked, the target is
/// not.
///
/// An attempt without an output keeps its end, and so does one that the target itself ended: what
/// it had said until then is no answer. Attempts after the first one that does not fail now are
/// left out, as a run would not have made them.
pub async fn regrade(request: RegradeRequest<'_>) -> Result<FinishedRun, RunError> {
    let RegradeRequest {
        plan,
        source,
        helper,
        clock,
        said,
        cancel,
        observers,
        people_only,
    } = request;
    // Its outputs are needed until the end.
    let _source = match source.dir.parent() {
        Some(results) => journal::hold_results(results)?,
        None => None,
    };
    let mut earlier = EarlierRun::read(&source.journal(), &mut SummaryFold::counting(), |_| ())?;
    let selected = select(&plan, &said, &mut earlier).map_err(RunError::Refused)?;
    let samples = |eval: &Eval, case: CaseOutline<'_>| {
        earlier
            .evals
            .get(&eval.info.id)?
            .case(case.id)
            .map(|case| case.samples)
    };
    let problems = unanswered(&plan, samples);
    if !problems.is_empty() {
        return Err(RunError::Unanswerable(problems));
    }
    let models = Arc::new(RunModels::new(ModelsConfig {
        settings: plan.settings.models.clone(),
        spent: ModelSpending::default(),
        clock: Arc::new(SystemClock),
        redactor: Redactor::new(plan.secrets.iter().cloned()),
    }));
    let workers = workers(&plan).filter(|_| has_judges(&plan));
    let graders = graders(&plan, helper, &models, &workers);
    let sandbox = graders.prepare(&plan).await?;
    prepare_judges(&plan, &models)?;
    let calibrations = calibrations(&plan)?;
    let (started_at, timer) = (clock.now(), Instant::now());
    let paths = RunPaths::create(&plan.reporting.output_dir, started_at)?;
    let redactor = Redactor::new(plan.secrets.iter().cloned());
    let journal = JournalWriter::open(&paths.journal(), redactor.clone())?;
    let mut recorder = RunRecorder::new(journal, observers);
    let mut started = introduction(&plan, said, &earlier, selected.part);
    started.config.calibrations = calibrations;
    started.run.run_id = paths.run_id.clone();
    started.run.timestamp = rfc3339(started_at);
    started.run.environment.sandbox = sandbox;
    started.run.environment.interpreters = graders.interpreters();
    let history = PastRatesReader::of(&plan, &started, &started.run.timestamp);
    recorder.record(Event::RunStarted(Box::new(started)))?;
    let inputs = InputRenderer::of(&plan, selected.samples(&plan, &earlier), &redactor);
    record_selected(&plan, &selected, &earlier, inputs, &mut recorder)?;
    let graders = Arc::new(graders);
    let bench = RegradeContext {
        graders: Arc::clone(&graders),
        redactor,
        source: Arc::new(source),
        models,
        people_only,
    };
    let places = plan
        .evals
        .iter()
        .enumerate()
        .map(|(at, eval)| (eval.info.id.as_str(), at))
        .collect();
    let again = RegradeDriver {
        plan: &plan,
        places,
        windows: CaseWindows::default(),
        earlier: &mut earlier,
        bench,
        clock,
        cancel,
        recorder: &mut recorder,
    };
    let ending = again.drive().await;
    graders.close_workspaces().await;
    let ending = ending?;
    let seconds = milliseconds(timer.elapsed()) / 1000.0;
    end(
        &mut recorder,
        clock,
        seconds,
        ending,
        history,
        graders.expired_graces(),
        earlier.changed_files,
    )?;
    Ok(FinishedRun {
        paths,
        summary: conclude(&recorder.fold)?,
        ran: true,
        tools: GradingTools::default(),
    })
}

/// Which cases are graded again: by eval of the plan the places of its cases.
struct RegradeSelection {
    cases: Vec<Vec<usize>>,
    /// True when the suite has cases that the run has not.
    part: bool,
}

impl RegradeSelection {
    /// Samples of the selected cases, as the run planned them.
    fn samples(&self, plan: &Plan, earlier: &EarlierRun) -> usize {
        let of = |eval: &Eval, at: usize| {
            let known = earlier
                .evals
                .get(&eval.info.id)?
                .case(eval.cases.outline(at)?.id)?;
            Some(known.samples as usize)
        };
        let evals = plan.evals.iter().zip(&self.cases);
        evals
            .flat_map(|(eval, places)| places.iter().filter_map(move |at| of(eval, *at)))
            .sum()
    }
}

/// The cases of the plan that the run has, if their inputs are what they were. Notes the places in
/// `earlier`.
fn select(
    plan: &Plan,
    said: &RunInvocation,
    earlier: &mut EarlierRun,
) -> Result<RegradeSelection, RunRefusal> {
    let run = earlier.started.run.run_id.clone();
    let (mut changed, mut gone) = (RefusedCases::default(), Vec::new());
    let mut selected = RegradeSelection {
        cases: Vec::new(),
        part: false,
    };
    for eval in &plan.evals {
        let mut places = Vec::new();
        let mut known = earlier.evals.get_mut(&eval.info.id);
        for (at, planned) in case_planned(eval, false).enumerate() {
            let Some(case) = known.as_mut().and_then(|known| known.case_mut(&planned.id)) else {
                selected.part = true;
                continue;
            };
            if !case.input.is(HashPrefix::of(&planned.input_hash)) {
                changed.add(&eval.info, &planned.id);
            }
            case.at = u32::try_from(at).ok();
            places.push(at);
        }
        selected.cases.push(places);
    }
    for (id, known) in &earlier.evals {
        gone.extend(
            known
                .cases()
                .filter(|(_, case)| case.at.is_none())
                .map(|(case, _)| format!("{id}/{}", known.info.shown_case(case))),
        );
    }
    let mut reasons = Vec::new();
    reasons.extend(changed.say(|cases| {
        format!("the input of {cases} changed, so its output belongs to a different input")
    }));
    // What the filters leave out is left out on purpose.
    if said.filters.is_empty() && !gone.is_empty() {
        reasons.push(format!("the suite no longer has {}", listed(gone)));
    } else if selected.cases.iter().all(Vec::is_empty) {
        reasons.push("it has none of the selected cases".to_owned());
    }
    if reasons.is_empty() {
        return Ok(selected);
    }
    Err(RunRefusal {
        what: format!("run {run} can't be graded again"),
        reasons,
        hint: None,
    })
}

/// As the run said it, with the graders, thresholds and names of today.
fn introduction(plan: &Plan, said: RunInvocation, earlier: &EarlierRun, part: bool) -> RunStarted {
    let was = earlier.session.clone();
    let run = &earlier.started.run.run_id;
    let mut filters = said.filters;
    if part {
        filters.push(format!("the cases of {run}"));
    }
    let config = config(plan, was.config.comparison, &was.run.environment);
    RunStarted {
        journal_version: JOURNAL_VERSION,
        config,
        run: RunIdentity {
            filters,
            shard: was.run.shard,
            regrade_of: Some(run.clone()),
            ..identity(plan, was.run.environment)
        },
        dependencies: earlier.dependencies().cloned(),
        suite_path: plan.suite.path.clone(),
        capture: false,
        arguments: said.arguments,
        cwd: said.cwd,
        siblings: Vec::new(),
        ..was
    }
}

fn record_selected(
    plan: &Plan,
    selected: &RegradeSelection,
    earlier: &EarlierRun,
    inputs: InputRenderer<'_>,
    recorder: &mut RunRecorder<'_>,
) -> Result<(), RunError> {
    for (eval, places) in plan
        .evals
        .iter()
        .zip(&selected.cases)
        .filter(|(_, places)| !places.is_empty())
    {
        let known = earlier.evals.get(&eval.info.id);
        // The outputs are those of then.
        let info = EvalInfo {
            dependencies: known.and_then(EarlierEval::dependencies),
            ..eval.info.clone()
        };
        record_eval(&info, places.len(), recorder)?;
        let mut wanted = places.iter().copied().peekable();
        let cases = case_planned(eval, false)
            .enumerate()
            .filter(|(at, _)| wanted.next_if_eq(at).is_some());
        let cases = cases.map(|(at, mut planned)| {
            if let Some(case) = known.and_then(|known| known.case(&planned.id)) {
                planned.samples = case.samples;
                planned.position = case.position;
                planned.call_hash = case.call.hex();
                planned.target_hash = case.target.and_then(HashPrefix::hex);
            }
            (at, planned)
        });
        record_cases(eval, cases, inputs, recorder, |_, _, _| ())?;
    }
    Ok(())
}

/// What all tasks share.
#[derive(Clone)]
pub(super) struct RegradeContext {
    pub graders: Arc<RunGraders>,
    pub redactor: Redactor,
    pub source: Arc<RunPaths>,
    /// Of judges.
    pub models: Arc<RunModels>,
    pub people_only: bool,
}

/// A finished sample and the case as it is now.
pub(super) struct RegradeItem {
    pub case: Result<Arc<Case>, CaseFault>,
    pub sample: SampleFinished,
    /// The case is graded as it was.
    pub same_grading: bool,
}

struct RegradeDriver<'a, 'b> {
    plan: &'a Plan,
    /// Where each eval is in the plan.
    places: HashMap<&'a str, usize>,
    windows: CaseWindows<'a>,
    earlier: &'a mut EarlierRun,
    bench: RegradeContext,
    clock: &'a dyn Clock,
    cancel: CancelSwitch,
    recorder: &'a mut RunRecorder<'b>,
}

type RegradeTasks = JoinSet<Vec<SampleFinished>>;

impl RegradeDriver<'_, '_> {
    /// Reads the journal and grades what it holds, in its order, as many at once as there are
    /// workers, and more where most of them wait for a judge.
    async fn drive(mut self) -> Result<DispatchEnd, RunError> {
        let mut tasks = RegradeTasks::new();
        let ending = self.run(&mut tasks).await;
        tasks.shutdown().await;
        self.recorder.look(&self.bench.models);
        ending
    }

    async fn run(&mut self, tasks: &mut RegradeTasks) -> Result<DispatchEnd, RunError> {
        let mut events = journal::read(&self.bench.source.journal())?;
        let mut ending = DispatchEnd::Complete;
        let mut over = false;
        let settings = &self.plan.settings;
        let under_way = if has_judges(self.plan) {
            settings.in_flight
        } else {
            0
        };
        let under_way = under_way.max(settings.max_workers).max(1);
        let mut looks = tokio::time::interval(TRAFFIC);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let cancel = self.cancel.clone();
        let mut interrupted = false;
        loop {
            if cancel.level() >= CancelLevel::Finish && !over {
                (over, ending) = (true, DispatchEnd::Early(Cause::Interrupted));
            }
            while !over && tasks.len() < under_way {
                let batch = self.batch(&mut events)?;
                over = batch.is_empty();
                if !over {
                    self.start(batch, tasks);
                }
            }
            if tasks.is_empty() {
                return Ok(ending);
            }
            tokio::select! {
                biased;
                () = cancel.reached(CancelLevel::Stop) => return Ok(DispatchEnd::Early(Cause::Interrupted)),
                () = cancel.reached(CancelLevel::Finish), if !interrupted => {
                    interrupted = true;
                    // What is under way may be given up, also when nothing is left to start.
                    (over, ending) = (true, DispatchEnd::Early(Cause::Interrupted));
                    self.bench.graders.interrupt();
                }
                Some(joined) = tasks.join_next() => self.finished(joined.map_err(|error| error.to_string()))?,
                _ = looks.tick() => self.recorder.look(&self.bench.models),
            }
        }
    }

    /// The next samples to grade, for one task; empty at the journal's end. Records what was
    /// skipped then, too.
    fn batch(
        &mut self,
        events: &mut impl Iterator<Item = Result<Event, JournalError>>,
    ) -> Result<Vec<RegradeItem>, RunError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for event in events.by_ref() {
            match event? {
                Event::SampleSkipped(skipped)
                    if self.place(&skipped.eval, &skipped.case).is_some() =>
                {
                    self.recorder.record(Event::SampleSkipped(skipped))?;
                }
                Event::SampleFinished(sample) if self.earlier.is_last(&sample) => {
                    let Some(case) = self.case(&sample.eval, &sample.case) else {
                        continue;
                    };
                    let alone = case.as_ref().is_ok_and(|case| {
                        !case.grading.graders.iter().all(|g| g.kind.only_looks())
                    });
                    bytes += sample.attempts.iter().map(size).sum::<usize>();
                    let same_grading = self.is_graded_alike(&sample.eval, &case);
                    batch.push(RegradeItem {
                        case,
                        sample: *sample,
                        same_grading,
                    });
                    if alone || batch.len() >= BATCH || bytes > BATCH_BYTES {
                        break;
                    }
                }
                _ => {}
            }
        }
        Ok(batch)
    }

    /// Where a case of the run is in the plan.
    fn place(&self, eval: &str, case: &str) -> Option<usize> {
        self.earlier
            .evals
            .get(eval)?
            .case(case)?
            .at
            .map(|at| at as usize)
    }

    fn case(&mut self, eval: &str, case: &str) -> Option<Result<Arc<Case>, CaseFault>> {
        let at = self.place(eval, case)?;
        let eval = *self.places.get(eval)?;
        Some(
            self.windows
                .case(&self.plan.evals.get(eval)?.cases, eval, at),
        )
    }

    fn is_graded_alike(&self, eval: &str, case: &Result<Arc<Case>, CaseFault>) -> bool {
        case.as_ref().is_ok_and(|case| {
            let known = self
                .earlier
                .evals
                .get(eval)
                .and_then(|known| known.case(&case.id));
            known.is_some_and(|known| {
                known
                    .grading
                    .is(HashPrefix::of(&case.grading_hash.to_string()))
            })
        })
    }

    fn start(&mut self, batch: Vec<RegradeItem>, tasks: &mut RegradeTasks) {
        for item in &batch {
            self.recorder
                .started(&item.sample.eval, &item.sample.case, item.sample.sample);
        }
        let bench = self.bench.clone();
        tasks.spawn(async move {
            let mut done = Vec::with_capacity(batch.len());
            for item in batch {
                // What has not begun is left out.
                if !done.is_empty() && bench.graders.is_interrupted() {
                    break;
                }
                done.push(grade_sample(&bench, item).await);
            }
            done
        });
    }

    fn finished(&mut self, joined: Result<Vec<SampleFinished>, String>) -> Result<(), RunError> {
        let finished_at = rfc3339(self.clock.now());
        // A task that panicked says nothing of its samples: they stay open, and the gate with them.
        let samples = joined.unwrap_or_default().into_iter();
        let event = |sample: SampleFinished| match unrecorded(&sample.attempts) {
            Some(cause) => {
                let SampleFinished {
                    eval, case, sample, ..
                } = sample;
                Event::SampleSkipped(SampleSkipped {
                    eval,
                    case,
                    sample,
                    cause,
                })
            }
            None => Event::SampleFinished(Box::new(SampleFinished {
                finished_at: finished_at.clone(),
                ..sample
            })),
        };
        self.recorder.record_all(samples.map(event).collect())
    }
}

/// About how much memory an attempt takes.
pub(super) fn size(attempt: &Attempt) -> usize {
    use crate::model::OutputValue::{Json, Program, Text};
    match (
        &attempt.stored,
        attempt.output.as_ref().map(|output| &output.value),
    ) {
        (Some(stored), _) => usize::try_from(stored.bytes).unwrap_or(usize::MAX / 2),
        (None, Some(Text(text) | Program(text))) => text.len(),
        (None, Some(Json(_))) => BATCH_BYTES / BATCH,
        (None, None) => 0,
    }
}

/// Without attempts when the budget was spent before a judge was asked.
pub(super) async fn grade_sample(bench: &RegradeContext, item: RegradeItem) -> SampleFinished {
    let RegradeItem {
        case,
        mut sample,
        same_grading,
    } = item;
    if let Some(from) = &mut sample.reused_from {
        from.graded_again = true;
    }
    let case = match case {
        Ok(case) => case,
        Err(error) => {
            return SampleFinished {
                attempts: vec![fault(error.to_string())],
                ..sample
            };
        }
    };
    let before = std::mem::take(&mut sample.attempts);
    for (number, attempt) in before.into_iter().enumerate() {
        let asked = SampleAttempt {
            sample: sample.sample,
            attempt: u32::try_from(number).unwrap_or(u32::MAX),
            latency: None,
        };
        let by_people = bench.people_only && same_grading;
        let attempt = grade_attempt(bench, &case, attempt, asked, by_people).await;
        // What came before may not stand for a further output that is there and was not judged.
        if number == 0 && is_unpaid(&bench.models, None, &attempt.verdict) {
            break;
        }
        let failed = attempt.verdict.outcome == Outcome::Failed;
        sample.attempts.push(attempt);
        if !failed {
            break;
        }
    }
    sample
}

async fn grade_attempt(
    bench: &RegradeContext,
    case: &Case,
    attempt: Attempt,
    asked: SampleAttempt,
    by_people: bool,
) -> Attempt {
    let mut attempt = attempt;
    // The new run may be of another day.
    let output = attempt.output.as_mut().map(|output| &mut output.workspace);
    let stored = attempt.stored.as_mut().map(|stored| &mut stored.workspace);
    for left in output.into_iter().chain(stored).flatten() {
        left.refer_to(&bench.source.dir);
    }
    if !attempt.is_answer() {
        // Nothing is graded; where the file is gone, its digest stays.
        if let Some(output) = &mut attempt.output {
            let _ = load_trajectory(&bench.source, output);
        }
        return attempt;
    }
    let by_people = match by_people {
        true => bench.graders.by_people(case, &attempt.verdict),
        false => None,
    };
    if attempt.redacted && by_people.is_none() {
        // A grader that looks for what was cut out would not find it.
        let verdict = without_output(case, Cause::Harness, REDACTED);
        return Attempt {
            extracted: None,
            verdict,
            ..attempt
        };
    }
    let started = Instant::now();
    let output = output_of(&bench.source, &attempt).and_then(|mut output| {
        if let Some(output) = &mut output {
            load_trajectory(&bench.source, output)?;
        }
        Ok(output)
    });
    let (output, extracted, verdict) = match output {
        Ok(None) => return attempt,
        Ok(Some(output)) => {
            let latency = attempt
                .latency_ms
                .and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
            let made = match by_people {
                Some(verdict) => {
                    let verdict = apply_finish(verdict, output.finish);
                    let verdict = apply_latency(verdict, latency, case.max_latency);
                    let duration_ms = attempt.duration_ms;
                    return Attempt {
                        output: Some(output),
                        stored: None,
                        verdict,
                        duration_ms,
                        ..attempt
                    };
                }
                None => remade(bench, case, &output).await,
            };
            let (extracted, verdict) = match made {
                Ok(workspace) => {
                    let answer = GradedAnswer {
                        case,
                        output: &output,
                        asked,
                        latency,
                        workspace: workspace.as_ref(),
                    };
                    let (extracted, mut verdict) =
                        judge(&bench.graders, &bench.redactor, answer).await;
                    if let Some(workspace) = &workspace {
                        let then = output
                            .workspace
                            .as_ref()
                            .and_then(|left| left.hidden.as_ref());
                        if then.is_some() && then != workspace.output().hidden.as_ref() {
                            let why = "the hidden files are not those of the run";
                            add_reason(&mut verdict, why);
                        }
                        tear_down(case, workspace, &mut verdict).await;
                    }
                    (extracted, verdict)
                }
                Err(fault) => (None, without_output(case, fault.cause, fault.reason)),
            };
            (Some(output), extracted, verdict)
        }
        Err(error) => (
            None,
            None,
            without_output(case, Cause::Harness, error.to_string()),
        ),
    };
    let duration_ms = attempt.latency_ms.unwrap_or(0.0) + milliseconds(started.elapsed());
    Attempt {
        output,
        stored: None,
        extracted,
        verdict,
        duration_ms,
        ..attempt
    }
}
