//! The handle that the rest of the program has.

use std::sync::Arc;

use super::detect::detect;
use super::error::SandboxError;
use super::languages::{self, Found, node};
use super::pool::Pool;
use super::python::Python;
use super::types::*;
use super::{functions, programs, sql, testing};

/// Runs untrusted code. Cheap to clone; the workers end with the last clone.
///
/// All methods may be called at the same time from many tasks; as many jobs run at once as there are workers. Dropping a
/// future kills its job.
#[derive(Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool,
    report: SandboxReport,
    python: Result<Arc<Python>, String>,
}

impl Sandbox {
    /// Finds the first tier that works by building a cell and running a job in it.
    ///
    /// Errors: [`SandboxError::Unavailable`] when none does. A missing Python is no error here, see [`Sandbox::python`].
    pub async fn open(config: SandboxConfig) -> Result<Sandbox, SandboxError> {
        tokio::task::spawn_blocking(move || Sandbox::open_now(&config)).await.map_err(SandboxError::lost)?
    }

    /// A sandbox in name only (tier `none`), for graders that say `sandbox: false` when the user allowed it.
    pub async fn unsandboxed(config: SandboxConfig) -> Result<Sandbox, SandboxError> {
        Sandbox::open(SandboxConfig { tiers: vec![Tier::None], ..config }).await
    }

    fn open_now(config: &SandboxConfig) -> Result<Sandbox, SandboxError> {
        let python = Python::find(config.python.as_deref()).map(Arc::new);
        let binds = python.as_ref().map_or(&[][..], |p| p.binds.as_slice());
        let (settings, report) = detect(config, binds)?;
        let pool = Pool::start(settings, config.workers)?;
        Ok(Sandbox { inner: Arc::new(Inner { pool, report, python }) })
    }

    /// Which tier is at work.
    pub fn state(&self) -> &SandboxReport {
        &self.inner.report
    }

    /// The Python that runs candidates, or [`SandboxError::InterpreterMissing`].
    pub fn python(&self) -> Result<&Interpreter, SandboxError> {
        match &self.inner.python {
            Ok(python) => Ok(&python.interpreter),
            Err(reason) => Err(SandboxError::InterpreterMissing(reason.clone())),
        }
    }

    fn shared_python(&self) -> Result<Arc<Python>, SandboxError> {
        self.inner.python.clone().map_err(SandboxError::InterpreterMissing)
    }

    /// Runs a program as it is. A program that is missing in the sandbox is [`SandboxError::CannotStart`].
    pub async fn run_program(&self, program: Program) -> Result<ProgramResult, SandboxError> {
        self.inner.pool.run(move |worker, cancel| programs::run_program(worker, cancel, program)).await
    }

    /// Runs a Python program for the sake of what it prints. A program that runs into the memory limit of the kernel and
    /// dies of its MemoryError ends with [`Ending::MemoryLimit`].
    pub async fn run_script(&self, script: Script) -> Result<ProgramResult, SandboxError> {
        let python = self.shared_python()?;
        self.inner.pool.run(move |worker, cancel| programs::run_script(worker, cancel, &python, script)).await
    }

    /// Calls a Python function with each of the job's arguments and returns what it returned.
    pub async fn call_functions(&self, job: FunctionJob) -> Result<FunctionReport, SandboxError> {
        let python = self.shared_python()?;
        self.inner
            .pool
            .run(move |worker, cancel| functions::call_python(worker, cancel, &python, &job))
            .await
    }

    /// Runs a program and keeps the files that it leaves, such as what a compiler makes.
    pub async fn build(&self, program: Program) -> Result<Built, SandboxError> {
        self.inner.pool.run(move |worker, cancel| programs::build(worker, cancel, program)).await
    }

    /// Runs SQL on a new SQLite database.
    pub async fn run_query(&self, job: QueryJob) -> Result<QueryReport, SandboxError> {
        self.inner.pool.run(move |worker, cancel| sql::run_query(worker, cancel, &job)).await
    }

    /// Runs a JavaScript program for the sake of what it prints.
    pub async fn run_node(&self, node: Arc<Found>, script: Script) -> Result<ProgramResult, SandboxError> {
        self.inner.pool.run(move |worker, cancel| node::run_script(worker, cancel, &node, script)).await
    }

    /// [`Sandbox::call_functions`] for JavaScript.
    pub async fn call_node(&self, node: Arc<Found>, job: FunctionJob) -> Result<FunctionReport, SandboxError> {
        self.inner.pool.run(move |worker, cancel| node::call(worker, cancel, &node, &job)).await
    }

    /// Turns TypeScript into JavaScript, text by text; what does not parse is the inner error.
    pub async fn transpile(
        &self,
        node: Arc<Found>,
        texts: Vec<String>,
    ) -> Result<Result<Vec<String>, RunFailure>, SandboxError> {
        self.inner.pool.run(move |worker, cancel| node::transpile(worker, cancel, &node, &texts)).await
    }

    /// Runs tests written in JavaScript or bash in the process of the candidate; `mode` of the job is not looked at.
    pub async fn run_tests_in(&self, language: Arc<Found>, job: TestJob) -> Result<TestReport, SandboxError> {
        self.inner.pool.run(move |worker, cancel| languages::run_tests(worker, cancel, &language, &job)).await
    }

    /// Runs Python tests against a candidate.
    pub async fn run_tests(&self, job: TestJob) -> Result<TestReport, SandboxError> {
        let python = self.shared_python()?;
        self.inner.pool.run(move |worker, cancel| testing::run_tests(worker, cancel, &python, &job)).await
    }

    /// Which mode the tests of a job get, found out without the candidate's code, which is not looked at.
    pub async fn test_mode(&self, job: TestJob) -> Result<Result<ModeChoice, TestVerdict>, SandboxError> {
        let python = self.shared_python()?;
        self.inner.pool.run(move |worker, cancel| testing::choose_mode(worker, cancel, &python, &job)).await
    }
}
