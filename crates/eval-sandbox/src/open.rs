//! The handle that the rest of the program has.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OnceCell;

use super::adjudicate::{AdmissionGate, CpuShortage, JobOutcome, adjudicated};
use super::cgroup::CellGroups;
use super::detect::detect;
use super::error::SandboxError;
use super::languages::{self, LanguageRuntime, node};
use super::plans::PlanCache;
use super::pool::{SandboxWorker, WorkerPool};
use super::ports::CellPorts;
use super::python::PythonRuntime;
use super::settings::*;
use super::types::*;
use super::{functions, observe, programs, sql, testing, workspace};

/// Runs untrusted code. Cheap to clone; the workers end with the last clone.
///
/// All methods may be called at the same time from many tasks; as many jobs run at once as there
/// are workers. Dropping a future kills its job.
#[derive(Clone)]
pub struct Sandbox {
    inner: Arc<SandboxCore>,
    python: Arc<PythonChoice>,
}

/// An interpreter, and what it read of tests.
struct PythonChoice {
    runtime: Result<Arc<PythonRuntime>, String>,
    plans: Arc<PlanCache>,
    /// As in [`SandboxConfig::pythons`]; `None`: the one of [`SandboxConfig::python`].
    named: Option<PathBuf>,
}

impl PythonChoice {
    fn find(wanted: Option<&Path>, named: Option<PathBuf>) -> PythonChoice {
        PythonChoice {
            runtime: PythonRuntime::find(wanted).map(Arc::new),
            plans: Arc::default(),
            named,
        }
    }

    fn binds(&self) -> &[String] {
        self.runtime.as_ref().map_or(&[], |python| &python.binds)
    }
}

struct SandboxCore {
    gate: AdmissionGate,
    pool: WorkerPool,
    report: SandboxReport,
    /// Host paths that jobs can read; empty: all.
    shown: Vec<PathBuf>,
    /// By their paths in [`SandboxConfig::pythons`].
    pythons: BTreeMap<PathBuf, Arc<PythonChoice>>,
    /// With real paths.
    workspaces: Option<Arc<WorkspaceSettings>>,
    mount_ability: OnceCell<MountAbility>,
}

impl Sandbox {
    /// Finds the first tier that works by building a cell and running a job in it.
    ///
    /// Errors: [`SandboxError::Unavailable`] when none does. A missing Python is no error here, see
    /// [`Sandbox::python`].
    pub async fn open(config: SandboxConfig) -> Result<Sandbox, SandboxError> {
        tokio::task::spawn_blocking(move || Sandbox::open_now(config))
            .await
            .map_err(SandboxError::lost)?
    }

    /// A sandbox in name only (tier `none`), for graders that say `sandbox: false` when the user
    /// allowed it.
    pub async fn unsandboxed(config: SandboxConfig) -> Result<Sandbox, SandboxError> {
        Sandbox::open(SandboxConfig {
            tiers: vec![Tier::None],
            ..config
        })
        .await
    }

    fn open_now(mut config: SandboxConfig) -> Result<Sandbox, SandboxError> {
        if let Some(settings) = &mut config.workspaces {
            *settings = workspace::real_settings(settings, &config.readable)?;
        }
        let config = &config;
        let python = Arc::new(PythonChoice::find(config.python.as_deref(), None));
        let mut pythons = BTreeMap::new();
        for path in &config.pythons {
            let choose = || Arc::new(PythonChoice::find(Some(path), Some(path.clone())));
            pythons.entry(path.clone()).or_insert_with(choose);
        }
        let mut binds: Vec<String> = Vec::new();
        for bind in std::iter::once(&python)
            .chain(pythons.values())
            .flat_map(|python| python.binds())
        {
            if !binds.contains(bind) {
                binds.push(bind.clone());
            }
        }
        let (mut settings, mut report) = detect(config, &binds)?;
        match CellGroups::prepare(&config.helper) {
            Ok(groups) => {
                report.cgroup = Some(groups.to_string());
                settings.cgroups = Some(groups);
            }
            Err(why) => report.notes.push(format!(
                "memory is checked, but not limited by a control group: {}",
                why.reason
            )),
        }
        let shown = if report.tier == Tier::None {
            Vec::new()
        } else {
            settings.binds.iter().map(Into::into).collect()
        };
        let pool = WorkerPool::start(settings, config.workers)?;
        Ok(Sandbox {
            inner: Arc::new(SandboxCore {
                gate: AdmissionGate::new(config.workers),
                pool,
                report,
                shown,
                pythons,
                workspaces: config.workspaces.clone().map(Arc::new),
                mount_ability: OnceCell::new(),
            }),
            python,
        })
    }

    /// The same sandbox, with the same workers, where one of [`SandboxConfig::pythons`] runs what
    /// is written in Python. Errors: [`SandboxError::InterpreterMissing`] for other paths and for
    /// one that can't be used.
    pub fn with_python(&self, path: &Path) -> Result<Sandbox, SandboxError> {
        let Some(python) = self.inner.pythons.get(path) else {
            let why = format!("{} was not prepared", path.display());
            return Err(SandboxError::InterpreterMissing(why));
        };
        let sandbox = Sandbox {
            inner: Arc::clone(&self.inner),
            python: Arc::clone(python),
        };
        sandbox.python()?;
        Ok(sandbox)
    }

    /// The path that [`Sandbox::with_python`] got.
    pub fn named_python(&self) -> Option<&Path> {
        self.python.named.as_deref()
    }

    /// Which tier is at work.
    pub fn state(&self) -> &SandboxReport {
        &self.inner.report
    }

    /// Whether jobs can read what lies there on this machine.
    pub fn shows(&self, path: &Path) -> bool {
        self.inner.shown.is_empty() || self.inner.shown.iter().any(|shown| path.starts_with(shown))
    }

    /// The Python that runs candidates, or [`SandboxError::InterpreterMissing`].
    pub fn python(&self) -> Result<&Interpreter, SandboxError> {
        match &self.python.runtime {
            Ok(python) => Ok(&python.interpreter),
            Err(reason) => Err(SandboxError::InterpreterMissing(reason.clone())),
        }
    }

    /// What its warm interpreters did.
    pub fn servers(&self) -> ServerReport {
        let mut report = self.inner.pool.counts.report();
        if let Ok(python) = &self.python.runtime {
            report.given_up = report.given_up.or_else(|| python.cold().map(str::to_owned));
        }
        report
    }

    fn shared_python(&self) -> Result<Arc<PythonRuntime>, SandboxError> {
        self.python
            .runtime
            .clone()
            .map_err(SandboxError::InterpreterMissing)
    }

    /// Runs a job, and once more alone when it ran out of time for lack of a processor.
    async fn run<T, F>(&self, job: F) -> Result<T, SandboxError>
    where
        T: JobOutcome + Send + 'static,
        F: Fn(&mut SandboxWorker, BorrowedFd<'_>) -> Result<T, SandboxError>
            + Send
            + Sync
            + 'static,
    {
        self.run_when(job, CpuShortage::starved).await
    }

    /// The same, where `starved` says whether a late job lacked the processor.
    async fn run_when<T, F>(
        &self,
        job: F,
        starved: fn(&CpuShortage, bool) -> bool,
    ) -> Result<T, SandboxError>
    where
        T: JobOutcome + Send + 'static,
        F: Fn(&mut SandboxWorker, BorrowedFd<'_>) -> Result<T, SandboxError>
            + Send
            + Sync
            + 'static,
    {
        let job = Arc::new(job);
        let once = || {
            let job = Arc::clone(&job);
            self.inner.pool.run(move |worker, cancel| {
                worker.take_late();
                let outcome = job(worker, cancel)?;
                Ok((outcome, worker.take_late()))
            })
        };
        adjudicated(&self.inner.gate, once, starved).await
    }

    /// Runs a program as it is. A program that is missing in the sandbox is
    /// [`SandboxError::CannotStart`].
    pub async fn run_program(&self, program: ProgramJob) -> Result<ProgramResult, SandboxError> {
        let starved = if program.once {
            |_: &CpuShortage, _| false
        } else {
            CpuShortage::starved
        };
        let job = move |worker: &mut SandboxWorker, cancel: BorrowedFd<'_>| {
            programs::run_program(worker, cancel, program.clone())
        };
        self.run_when(job, starved).await
    }

    /// Runs a program in a workspace. Only for a sandbox whose [`SandboxConfig::workspaces`] is set.
    /// It is never run a second time.
    ///
    /// Errors: [`SandboxError::BadRequest`] for paths outside of the store, and for an overlay in a
    /// tier that has none; [`SandboxError::CannotStart`] when the workspace can't be mounted or the
    /// program is missing in it.
    pub async fn run_in_workspace(
        &self,
        job: WorkspaceJob,
    ) -> Result<WorkspaceResult, SandboxError> {
        self.serve_in_workspace(std::future::pending(), job, None)
            .await
    }

    /// The same for a service: it is killed once it is not needed any more, and the answer comes when
    /// nothing of it is left. `ports` reach those of 127.0.0.1 that it listens on, where the sandbox
    /// has no network but that between the programs of a job.
    pub async fn serve_in_workspace(
        &self,
        unneeded: impl Future<Output = ()>,
        job: WorkspaceJob,
        ports: Option<Arc<CellPorts>>,
    ) -> Result<WorkspaceResult, SandboxError> {
        let settings = self.workspaces()?;
        let renames = matches!(job.root, WorkspaceRoot::Overlay(_))
            && settings.renames
            && self.mount_ability().await? == MountAbility::Overlay { renames: true };
        let _place = self.inner.gate.enter().await?;
        let run = move |worker: &mut SandboxWorker, cancel: BorrowedFd<'_>| {
            workspace::run(worker, cancel, &settings, job, renames, ports.as_deref())
        };
        self.inner.pool.run_until(unneeded, run).await
    }

    /// How workspaces can be made in the store of [`SandboxConfig::workspaces`], found out once by
    /// mounting one.
    pub async fn mount_ability(&self) -> Result<MountAbility, SandboxError> {
        let ability = &self.inner.mount_ability;
        ability
            .get_or_try_init(|| self.probe_mounts())
            .await
            .cloned()
    }

    async fn probe_mounts(&self) -> Result<MountAbility, SandboxError> {
        let settings = self.workspaces()?;
        let _place = self.inner.gate.enter().await?;
        let probe = move |worker: &mut SandboxWorker, cancel: BorrowedFd<'_>| {
            workspace::mount_ability(worker, cancel, &settings)
        };
        self.inner.pool.run(probe).await
    }

    fn workspaces(&self) -> Result<Arc<WorkspaceSettings>, SandboxError> {
        let missing =
            || SandboxError::BadRequest("the sandbox was opened without workspaces".into());
        self.inner.workspaces.clone().ok_or_else(missing)
    }

    /// Runs a Python program for the sake of what it prints. A program that runs into the memory
    /// limit of the kernel and dies of its MemoryError ends with [`Ending::MemoryLimit`].
    pub async fn run_script(&self, script: ScriptJob) -> Result<ProgramResult, SandboxError> {
        let python = self.shared_python()?;
        self.run(move |worker, cancel| {
            programs::run_script(worker, cancel, &python, script.clone())
        })
        .await
    }

    /// Calls a Python function with each of the job's arguments. `read` gets what each call (by its
    /// index) returned, as tagged JSON, when it arrives; what it returns is kept. It may be called
    /// again for a job that is run once more.
    pub async fn call_functions<T, R>(
        &self,
        job: FunctionJob,
        read: R,
    ) -> Result<FunctionReport<T>, SandboxError>
    where
        T: Send + 'static,
        R: Fn(usize, Value) -> T + Send + Sync + 'static,
    {
        let python = self.shared_python()?;
        self.run(move |worker, cancel| functions::call_python(worker, cancel, &python, &job, &read))
            .await
    }

    /// Runs a program and keeps the files that it leaves, such as what a compiler makes.
    pub async fn build(&self, program: ProgramJob) -> Result<BuildResult, SandboxError> {
        self.run(move |worker, cancel| programs::build(worker, cancel, program.clone()))
            .await
    }

    /// Runs a program and counts its system calls. Only for a sandbox whose
    /// [`SandboxConfig::observed`] is set.
    pub async fn observe(&self, program: ProgramJob) -> Result<SyscallObservation, SandboxError> {
        self.inner
            .pool
            .run(move |worker, cancel| observe::observe(worker, cancel, program))
            .await
    }

    /// Runs SQL on a new SQLite database.
    pub async fn run_query(&self, job: QueryJob) -> Result<QueryReport, SandboxError> {
        self.run(move |worker, cancel| sql::run_query(worker, cancel, &job))
            .await
    }

    /// Runs a JavaScript program for the sake of what it prints.
    pub async fn run_node(
        &self,
        node: Arc<LanguageRuntime>,
        script: ScriptJob,
    ) -> Result<ProgramResult, SandboxError> {
        self.run(move |worker, cancel| node::run_script(worker, cancel, &node, script.clone()))
            .await
    }

    /// [`Sandbox::call_functions`] for JavaScript.
    pub async fn call_node<T, R>(
        &self,
        node: Arc<LanguageRuntime>,
        job: FunctionJob,
        read: R,
    ) -> Result<FunctionReport<T>, SandboxError>
    where
        T: Send + 'static,
        R: Fn(usize, Value) -> T + Send + Sync + 'static,
    {
        self.run(move |worker, cancel| node::call(worker, cancel, &node, &job, &read))
            .await
    }

    /// Turns TypeScript into JavaScript, text by text; what does not parse is the inner error.
    pub async fn transpile(
        &self,
        node: Arc<LanguageRuntime>,
        texts: Vec<String>,
    ) -> Result<Result<Vec<String>, RunFailure>, SandboxError> {
        self.inner
            .pool
            .run(move |worker, cancel| node::transpile(worker, cancel, &node, &texts))
            .await
    }

    /// Runs tests written in JavaScript or bash in the process of the candidate; `mode` of the job
    /// is not looked at.
    pub async fn run_tests_in(
        &self,
        language: Arc<LanguageRuntime>,
        job: TestJob,
    ) -> Result<TestReport, SandboxError> {
        self.run(move |worker, cancel| languages::run_tests(worker, cancel, &language, &job))
            .await
    }

    /// Runs Python tests against a candidate.
    pub async fn run_tests(&self, job: TestJob) -> Result<TestReport, SandboxError> {
        let python = self.shared_python()?;
        let plans = Arc::clone(&self.python.plans);
        self.run(move |worker, cancel| testing::run_tests(worker, cancel, &python, &plans, &job))
            .await
    }

    /// Which mode the tests of a job get, found out without the candidate's code, which is not
    /// looked at.
    pub async fn test_mode(
        &self,
        job: TestJob,
    ) -> Result<Result<ModeChoice, TestVerdict>, SandboxError> {
        let python = self.shared_python()?;
        let _place = self.inner.gate.enter().await?;
        let plans = Arc::clone(&self.python.plans);
        let choose = move |worker: &mut _, cancel: BorrowedFd<'_>| {
            testing::choose_mode(worker, cancel, &python, &plans, &job)
        };
        self.inner.pool.run(choose).await
    }
}
