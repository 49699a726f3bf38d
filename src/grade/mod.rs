//! From a target's output to a verdict: extraction, graders, and how their grades become one.
//!
//! Nothing here knows where the output came from. Code graders are in the module `graders`; what
//! asks models is in `judge`.

mod combine;
mod contradiction;
mod extract;
mod finish;
mod grader_process;
mod installed;
mod interrupt;
mod judge;
mod measure;
mod people;
mod probes;
mod reference;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::graders::code_execution::CompiledPrograms;
use crate::graders::code_execution::demands::{self, TestModes};
use crate::graders::programs::{
    BoxedFuture, CandidateCode, LanguageLookup, TestBench, language_of, not_run,
};
use crate::graders::sample_view::SampleView;
use crate::graders::{
    ExpectedValues, GradedSample, WorkspaceBench, WorkspaceCheck, no_baseline, run_command,
};
use crate::isolation::CommandSandbox;
use crate::isolation::{SandboxRefusal, SandboxRequest};
use crate::model::{
    Case, CaseOutline, Cause, CodeGrader, CommandGrader, ConfiguredExecutor, Executor, Grade,
    Grader, GraderKind, GraderType, NamedPython, Output, OutputValue, Plan, SandboxDemand,
    SandboxState, Trust, Verdict,
};
use crate::workspace::{FinishedWorkspace, RunWorkspaces};
use eval_base::redact::Redactor;
use eval_models::RunModels;
use eval_sandbox::languages::BuiltinLanguage;
use eval_sandbox::{Sandbox, SandboxError, Tier};

pub use contradiction::{Contradiction, contradiction};
pub use finish::{apply_finish, apply_latency};
pub use grader_process::{GRADER_ARGUMENT, grader_process_main};
pub use interrupt::finishing;
pub use judge::question_bytes as judge_question_bytes;
pub use measure::without_output;
pub use people::{KnownRatings, by_store, input_digest};

use combine::{joined, stands};
use extract::ExtractFailure;
use grader_process::{PoolConfig, TextWork};
use probes::LanguageProbes;
use reference::ReferenceTimes;

/// What graders need to know of the run.
#[derive(Debug, Clone)]
pub struct GradersConfig {
    /// The user accepts that untrusted code runs without isolation.
    pub allow_unsandboxed: bool,
    /// The executable that serves as the sandbox's helper (see `eval_sandbox::cell_main`).
    pub helper: PathBuf,
    /// Programs that may run at once, at least 1.
    pub workers: usize,
    /// Wall time of one grader that looks at an output, and of `extract`.
    pub grade_timeout: Duration,
    /// What the suite demands of the sandbox.
    pub demand: SandboxDemand,
    /// The suite's folder, absolute: where the author's commands run.
    pub dir: PathBuf,
    /// More folders that candidates' programs may read.
    pub readable: Vec<PathBuf>,
    /// What the programs of agents consist of, which programs in workspaces see.
    pub agents: Vec<PathBuf>,
    /// What judges are asked through; `None` where no judge is to be asked.
    pub models: Option<Arc<RunModels>>,
    /// What judges must not be shown.
    pub redactor: Redactor,
}

/// Grading as the plan asks for it is not possible here; nothing has run (exit code 2).
#[derive(Debug, thiserror::Error)]
pub enum GradeError {
    #[error(
        "case `{case}` of eval `{eval}` sets `sandbox: false`, which requires --allow-unsandboxed"
    )]
    UnsandboxedNotAllowed { eval: String, case: String },
    #[error(transparent)]
    Sandbox(#[from] SandboxRefusal),
}

/// Which output of a case is graded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleAttempt {
    /// From 0, as `attempt`.
    pub sample: u32,
    pub attempt: u32,
    /// Wall time of the target's call, where it is known.
    pub latency: Option<Duration>,
}

/// What an output was graded as.
#[derive(Debug, Clone, PartialEq)]
pub struct GradedOutput {
    /// What the graders saw, when extraction changed the output.
    pub extracted: Option<Value>,
    pub verdict: Verdict,
}

/// The reason of a grade that needs a workspace.
const NO_TRAJECTORY: &str =
    "the target reported no trajectory (a recorded output needs a `trajectory`)";
const NO_WORKSPACE: &str = "the target left no workspace to look at (a recorded output needs a `patch` or a `workspace`, a command must not have `isolation: none`)";

/// The graders of one run: the sandbox, opened when first needed, and what looks at texts.
pub struct RunGraders {
    config: GradersConfig,
    text: TextWork,
    sandbox: OnceCell<Result<Sandbox, SandboxRefusal>>,
    unsandboxed: OnceCell<Result<Sandbox, SandboxError>>,
    languages: LanguageLookup,
    /// Those that the plan's graders need; all of them until a plan was seen.
    needed: OnceLock<Vec<BuiltinLanguage>>,
    /// Folders that executors of benchmarks read.
    folders: OnceLock<Vec<PathBuf>>,
    /// Interpreters that single evals of the plan name.
    pythons: OnceLock<Vec<NamedPython>>,
    /// Of the author's commands that say `sandbox: true`.
    commands: CommandSandbox,
    workspaces: OnceCell<Arc<RunWorkspaces>>,
    /// Where layers of workspaces are kept for other runs.
    cache: Option<PathBuf>,
    modes: TestModes,
    references: ReferenceTimes,
    expected: ExpectedValues,
    compiled: CompiledPrograms,
    probes: LanguageProbes,
    /// What is known of the endpoints of judges.
    structured: judge::SchemaEndpoints,
    /// One for each worker of the run, shared with its targets.
    places: Option<Arc<Semaphore>>,
    /// Of people; none are known without them.
    ratings: Option<KnownRatings>,
}

impl RunGraders {
    pub fn new(config: GradersConfig) -> RunGraders {
        let commands = CommandSandbox::new(wanted(&config), config.dir.clone());
        let text = TextWork::new(PoolConfig {
            helper: config.helper.clone(),
            workers: config.workers,
            limit: config.grade_timeout,
        });
        RunGraders {
            languages: LanguageLookup::new(config.dir.clone()),
            config,
            text,
            sandbox: OnceCell::new(),
            unsandboxed: OnceCell::new(),
            needed: OnceLock::new(),
            folders: OnceLock::new(),
            pythons: OnceLock::new(),
            commands,
            workspaces: OnceCell::new(),
            cache: None,
            modes: TestModes::default(),
            references: ReferenceTimes::default(),
            expected: ExpectedValues::default(),
            compiled: CompiledPrograms::default(),
            probes: LanguageProbes::default(),
            structured: judge::SchemaEndpoints::default(),
            places: None,
            ratings: None,
        }
    }

    /// With the workers of the run: work waits for one of them, and who waits for a judge holds
    /// none. Without them whoever asks for grades bounds the work.
    pub fn sharing(self, places: Option<Arc<Semaphore>>) -> RunGraders {
        RunGraders { places, ..self }
    }

    /// With a folder for what reference solutions return and compilers make, which other runs then
    /// read.
    pub fn keeping(self, cache: Option<&Path>) -> RunGraders {
        RunGraders {
            expected: ExpectedValues::new(cache),
            compiled: CompiledPrograms::new(cache),
            cache: cache.map(Path::to_owned),
            ..self
        }
    }

    /// With the ratings of people.
    pub fn rated(self, ratings: Option<KnownRatings>) -> RunGraders {
        RunGraders { ratings, ..self }
    }

    /// The run is being ended: graders that look at an output, commands and judges are given up
    /// half a second later, unless their work is [`finishing`]. Such an output's verdict has the cause
    /// `interrupted`, which is not recorded. Candidates' programs keep their own limits.
    pub fn interrupt(&self) {
        self.text.interrupt();
    }

    pub fn is_interrupted(&self) -> bool {
        self.text.is_interrupted()
    }

    /// Opens the sandbox when a case of the plan runs a program in it; `None` when none does.
    ///
    /// Fails when what the suite demands is not possible here and, where it demands nothing, the
    /// user did not allow to go without isolation.
    pub async fn prepare(&self, plan: &Plan) -> Result<Option<SandboxState>, GradeError> {
        let (mut isolated, mut open, mut commands) = (false, false, false);
        let mut needed: Vec<BuiltinLanguage> = plan
            .evals
            .iter()
            .flat_map(|eval| eval.cases.profiles())
            .flat_map(|profile| &profile.graders)
            .filter_map(|grader| language_of(grader.executor.as_ref()?))
            .collect();
        needed.sort_unstable();
        needed.dedup();
        let _ = self.needed.set(needed);
        let executors = configured_executors(plan);
        let _ = self.folders.set(self.folders_of(&executors));
        self.languages.look_up_versions(&executors).await;
        let named: BTreeSet<&NamedPython> = plan
            .evals
            .iter()
            .flat_map(|eval| eval.cases.profiles())
            .filter_map(|profile| profile.python.as_ref())
            .collect();
        let _ = self.pythons.set(named.into_iter().cloned().collect());
        for eval in &plan.evals {
            for grader in eval
                .cases
                .profiles()
                .into_iter()
                .flat_map(|profile| &profile.graders)
            {
                isolated |= grader.sandbox == Some(true);
                open |= grader.sandbox == Some(false);
                commands |= grader.sandboxed_command;
            }
            if open && !self.open_is_allowed() {
                let unboxed = |case: &CaseOutline<'_>| {
                    case.profile
                        .graders
                        .iter()
                        .any(|g| g.sandbox == Some(false))
                };
                let case = eval
                    .cases
                    .outlines()
                    .find(unboxed)
                    .map(|case| eval.info.shown_case(case.id).to_owned())
                    .unwrap_or_default();
                return Err(GradeError::UnsandboxedNotAllowed {
                    eval: eval.info.id.clone(),
                    case,
                });
            }
        }
        let mut state: Option<SandboxState> = None;
        if isolated {
            state = Some(self.isolated().await?.state().into());
        }
        if commands {
            let own = SandboxState::from(&self.commands.prepare().await?);
            state = Some(match state {
                Some(state) => state.joined(own),
                None => own,
            });
        }
        let mut profiles = plan.evals.iter().flat_map(|eval| eval.cases.profiles());
        if profiles.any(|profile| profile.has_workspace) {
            let own = self.workspaces().await.prepare().await?;
            state = Some(match state {
                Some(state) => state.joined(own),
                None => own,
            });
        }
        if open {
            self.open().await.map_err(|error| {
                let reason = format!("untrusted code can't be run: {error}");
                SandboxRefusal {
                    reason,
                    remedy: "run `eval-harness doctor`".to_owned(),
                    error,
                }
            })?;
            let state = state.get_or_insert_with(|| SandboxState {
                tier: Tier::None.name().to_owned(),
                enforced: false,
                notes: Vec::new(),
                workspaces: Vec::new(),
                landlock_abi: None,
                cgroup: None,
            });
            state.enforced = false;
            state
                .notes
                .push("graders with `sandbox: false` ran code without isolation".to_owned());
        }
        Ok(state)
    }

    /// Whether graders that say `sandbox: false` may run.
    fn open_is_allowed(&self) -> bool {
        self.config.allow_unsandboxed && !self.config.demand.needs_isolation()
    }

    /// Grades one output of a case: that of the sample and attempt, by which judges tell outputs
    /// apart that are the same.
    /// `workspace` is what the target left in the case's workspace.
    pub async fn grade(
        &self,
        case: &Case,
        output: &Output,
        asked: SampleAttempt,
        workspace: Option<&FinishedWorkspace>,
    ) -> GradedOutput {
        if output.truncated {
            // Whatever the graders would say of the beginning, the rest could belie it.
            let reason = "the output is longer than the limit, so it can't be judged in full";
            return GradedOutput {
                extracted: None,
                verdict: without_output(case, Cause::OutputLimit, reason),
            };
        }
        let mut place = WorkerSlot::of(self.places.as_deref());
        place.take().await;
        let value = match self.text.extract(&case.extract, &output.value).await {
            Ok(value) => value,
            Err(nothing) => {
                return GradedOutput {
                    extracted: None,
                    verdict: not_extracted(case, nothing),
                };
            }
        };
        let sample = GradedSample {
            case,
            output,
            value: &value,
            latency: asked.latency,
            workspace,
        };
        let verdict = self.verdict(sample, asked, &mut place).await;
        GradedOutput {
            extracted: changed(&output.value, &value),
            verdict,
        }
    }

    /// What the graders of a case see of an output; else, in words, why they see nothing.
    pub async fn extracted(&self, case: &Case, output: &Output) -> Result<OutputValue, String> {
        let value = self.text.extract(&case.extract, &output.value).await;
        value.map_err(|nothing| not_extracted(case, nothing).reason)
    }

    /// Grades in the order written, those that cost nothing first; with `all` and `any` the others
    /// are left out once the verdict stands. Those that measure are always asked: a mean over only
    /// the outputs that passed otherwise would flatter.
    async fn verdict(
        &self,
        sample: GradedSample<'_>,
        asked: SampleAttempt,
        place: &mut WorkerSlot<'_>,
    ) -> Verdict {
        let grading = &sample.case.grading;
        let mut grades: Vec<Option<Grade>> = vec![None; grading.graders.len()];
        for cheap in [true, false] {
            for (index, grader) in grading.graders.iter().enumerate() {
                let measures = grader.informative || !grader.measures().is_empty();
                if grader.kind.only_looks() != cheap
                    || (!cheap && !measures && stands(grading, &grades))
                {
                    continue;
                }
                match grader.kind.judge() {
                    Some(_) => place.give_back(),
                    None => place.take().await,
                }
                let grade = self.one(grader, sample, asked).await;
                if grade.cause == Some(Cause::Interrupted) {
                    return Verdict::without_grades(Cause::Interrupted, grade.reason);
                }
                if let Some(place) = grades.get_mut(index) {
                    *place = Some(grade);
                }
            }
        }
        joined(grading, grades)
    }

    async fn one(&self, grader: &Grader, sample: GradedSample<'_>, asked: SampleAttempt) -> Grade {
        let grade = match &grader.kind {
            GraderKind::Code(code) => match code.as_method().workspace_check() {
                Some(check) => self.in_workspace(code, check, sample).await,
                None => self.code(code, sample).await,
            },
            GraderKind::Model(judge) => {
                let grade = judge::grade(
                    judge,
                    grader.negate,
                    asked,
                    sample.case,
                    (sample.value, sample.output, sample.workspace),
                    &self.config,
                    &self.structured,
                );
                let grade = self.text.until_interrupted(grade).await;
                let mut grade = grade.unwrap_or_else(|failure| failure.grade(judge::METHOD));
                if let Some(judged) = &mut grade.judged {
                    judged.rubric = judge.rubric_text();
                }
                grade
            }
            GraderKind::Human { config, expected } => {
                let left = sample.workspace.map(|left| left.output().left.as_str());
                let known = people::digests(sample.case, sample.value, left, &self.config.redactor);
                let ratings = self.ratings.as_ref();
                people::grade(
                    (grader.name.as_deref(), config),
                    expected.as_ref(),
                    sample.case,
                    known,
                    ratings,
                )
            }
        };
        measure::finished(grader, grade)
    }

    async fn in_workspace(
        &self,
        grader: &CodeGrader,
        check: &dyn WorkspaceCheck,
        sample: GradedSample<'_>,
    ) -> Grade {
        let Some(workspace) = sample.workspace else {
            let cause = Cause::MissingOutput;
            return Grade::errored(GraderType::Code, grader.method(), cause, NO_WORKSPACE);
        };
        let bench = WorkspaceBench {
            workspace,
            sample,
            texts: &self.text,
        };
        let grade = self.text.until_interrupted(check.grade(&bench)).await;
        grade.unwrap_or_else(|failure| failure.grade(grader.method()))
    }

    async fn code(&self, grader: &CodeGrader, sample: GradedSample<'_>) -> Grade {
        let GradedSample { case, value, .. } = sample;
        let check = grader.as_method().check();
        let view = check
            .filter(|check| check.looks_at_trajectory())
            .map(|_| SampleView::encode(&sample));
        let looked_at = view.as_ref().unwrap_or(value);
        if let Some(grade) = self.text.grade(grader, looked_at).await {
            return grade;
        }
        if let CodeGrader::Command(command) = grader {
            let grade = async {
                let _place = self.references.place().await;
                self.command(command, sample).await
            };
            let grade = self.text.until_interrupted(grade).await;
            return grade.unwrap_or_else(|failure| failure.grade(grader.method()));
        }
        let Some(code) = grader.as_method().candidate_code() else {
            return no_baseline(&case.id);
        };
        let sandboxed = code.settings().sandboxed;
        if !sandboxed && !self.open_is_allowed() {
            let why = "`sandbox: false` needs --allow-unsandboxed";
            let cause = Cause::SandboxUnavailable;
            return Grade::errored(GraderType::Code, grader.method(), cause, why);
        }
        let opened = if sandboxed {
            self.isolated().await.map_err(|refused| refused.error)
        } else {
            self.open().await
        };
        let sandbox = match opened {
            Ok(sandbox) => sandbox,
            Err(error) => return not_run(grader.method(), &error),
        };
        let named = case.grading.python.as_ref();
        let chosen = match named
            .map(|named| sandbox.with_python(&named.path))
            .transpose()
        {
            Ok(chosen) => chosen,
            Err(error) => return not_run(grader.method(), &error),
        };
        let sandbox = chosen.as_ref().unwrap_or(sandbox);
        let bench = TestBench {
            sandbox,
            languages: &self.languages,
            demand: &self.config.demand,
            modes: &self.modes,
            expected: &self.expected,
            compiled: &self.compiled,
        };
        if let Some(grade) = code.refuse(&bench).await {
            return grade;
        }
        let again = |output: OutputValue| -> BoxedFuture<'_, Grade> {
            let bench = &bench;
            Box::pin(async move { self.run(grader, code, &output, bench).await })
        };
        let limited = self.references.limited(grader, named, &again).await;
        let limited = match limited.transpose() {
            Ok(limited) => limited,
            Err(grade) => return grade,
        };
        let _place = self.references.place().await;
        let grader = limited.as_ref().unwrap_or(grader);
        let code = grader.as_method().candidate_code().unwrap_or(code);
        self.run(grader, code, value, &bench).await
    }

    /// Runs the candidate's code; what the grade rests on is what it says, and at least what is
    /// demanded.
    async fn run(
        &self,
        grader: &CodeGrader,
        code: &dyn CandidateCode,
        value: &OutputValue,
        bench: &TestBench<'_>,
    ) -> Grade {
        let program = match self.text.program(grader, value).await {
            Ok(Ok(program)) => program,
            Ok(Err(why)) => {
                return Grade::failed(GraderType::Code, grader.method(), Cause::NoCode, why);
            }
            Err(unfinished) => return unfinished.grade(grader.method()),
        };
        let grade = code.grade(program, bench).await;
        let probed = self
            .probes
            .check(code, grade, bench.sandbox, bench.languages);
        let grade = probed.await;
        let unsandboxed = !bench.sandbox.state().enforced && may_have_run(&grade);
        let grade = if unsandboxed {
            grade.with_trust(Trust::Unsandboxed)
        } else {
            grade
        };
        demands::keep(bench.demand, grade)
    }

    async fn command(&self, command: &CommandGrader, sample: GradedSample<'_>) -> Grade {
        let grade = run_command(command, &sample, &self.commands).await;
        let open = command.sandbox
            && self
                .commands
                .prepare()
                .await
                .is_ok_and(|report| !report.enforced);
        if open && grade.cause != Some(Cause::ExecutorMissing) {
            grade.with_trust(Trust::Unsandboxed)
        } else {
            grade
        }
    }

    /// With what the languages of the plan need to be visible.
    async fn wanted(&self) -> SandboxRequest {
        let needed = self
            .needed
            .get()
            .map_or(&BuiltinLanguage::ALL[1..], Vec::as_slice);
        let mut readable = self.config.readable.clone();
        readable.extend(self.folders.get().cloned().unwrap_or_default());
        readable.extend(self.languages.readable(needed).await);
        SandboxRequest {
            readable,
            pythons: self.pythons.get().cloned().unwrap_or_default(),
            ..wanted(&self.config)
        }
    }

    /// The workspaces of the run: targets work in them, and graders look at what is left.
    pub async fn workspaces(&self) -> &Arc<RunWorkspaces> {
        let made = self.workspaces.get_or_init(async || {
            let mut request = wanted(&self.config);
            // Whatever is installed: what tests and targets start is not known.
            request.readable = self.languages.toolchains();
            request.readable.extend(self.config.agents.iter().cloned());
            let path = std::env::var_os("PATH");
            Arc::new(RunWorkspaces::new(request, self.cache.clone(), path))
        });
        made.await
    }

    /// Removes what workspaces have on disk. Every sample must have ended.
    pub async fn close_workspaces(&self) {
        if let Some(workspaces) = self.workspaces.get() {
            workspaces.close().await;
        }
    }

    /// Folders that executors read.
    fn folders_of(&self, executors: &[&ConfiguredExecutor]) -> Vec<PathBuf> {
        let folders = executors.iter().flat_map(|own| self.languages.folders(own));
        let mut folders: Vec<PathBuf> = folders.collect();
        folders.sort();
        folders.dedup();
        folders
    }

    async fn isolated(&self) -> Result<&Sandbox, SandboxRefusal> {
        let opened = self
            .sandbox
            .get_or_init(async || self.wanted().await.open().await)
            .await;
        opened.as_ref().map_err(Clone::clone)
    }

    async fn open(&self) -> Result<&Sandbox, SandboxError> {
        let config = self.wanted().await.config();
        let opened = self
            .unsandboxed
            .get_or_init(|| Sandbox::unsandboxed(config))
            .await;
        opened.as_ref().map_err(Clone::clone)
    }
}

/// A worker's place, while there is work to do.
struct WorkerSlot<'a> {
    places: Option<&'a Semaphore>,
    held: Option<SemaphorePermit<'a>>,
}

impl<'a> WorkerSlot<'a> {
    fn of(places: Option<&'a Semaphore>) -> WorkerSlot<'a> {
        WorkerSlot { places, held: None }
    }

    async fn take(&mut self) {
        if let (Some(places), None) = (self.places, &self.held) {
            // It is never closed.
            self.held = places.acquire().await.ok();
        }
    }

    fn give_back(&mut self) {
        self.held = None;
    }
}

fn wanted(config: &GradersConfig) -> SandboxRequest {
    SandboxRequest {
        helper: config.helper.clone(),
        workers: config.workers,
        allow_unsandboxed: config.allow_unsandboxed,
        demand: config.demand.clone(),
        readable: Vec::new(),
        pythons: Vec::new(),
    }
}

/// Those of the plan's graders.
fn configured_executors(plan: &Plan) -> Vec<&ConfiguredExecutor> {
    let profiles = plan.evals.iter().flat_map(|eval| eval.cases.profiles());
    let executors = profiles
        .flat_map(|profile| &profile.graders)
        .filter_map(|grader| grader.executor.as_ref());
    executors
        .filter_map(|executor| match executor {
            Executor::Configured(own) => Some(&**own),
            _ => None,
        })
        .collect()
}

/// A sandbox that was lost on the way may have run something before.
fn may_have_run(grade: &Grade) -> bool {
    grade.trust.is_some() || grade.cause == Some(Cause::SandboxUnavailable)
}

fn not_extracted(case: &Case, nothing: ExtractFailure) -> Verdict {
    match nothing {
        ExtractFailure::Broken(why) => {
            without_output(case, Cause::Harness, format!("extract: {why}"))
        }
        ExtractFailure::GivenUp(why) => {
            without_output(case, Cause::GraderTimeout, format!("extract: {why}"))
        }
        ExtractFailure::Unfinished(unfinished) => match unfinished.explain() {
            (Cause::Interrupted, why) => Verdict::without_grades(Cause::Interrupted, why),
            (cause, why) => without_output(case, cause, format!("extract: {why}")),
        },
        ExtractFailure::Absent { what, code } => {
            let runs = case.grading.graders.iter().any(
                |grader| matches!(&grader.kind, GraderKind::Code(code) if code.runs_candidate()),
            );
            let cause = if code && runs {
                Cause::NoCode
            } else {
                Cause::WrongAnswer
            };
            without_output(case, cause, format!("extract: {what} in the output"))
        }
    }
}

/// What the graders saw, if it differs from what the target said. Compared by spelling: nothing is
/// graded by it.
fn changed(before: &OutputValue, after: &OutputValue) -> Option<Value> {
    (before != after).then(|| match after {
        OutputValue::Text(text) | OutputValue::Program(text) => Value::String(text.clone()),
        OutputValue::Json(value) => value.clone(),
    })
}

#[cfg(test)]
mod tests;
