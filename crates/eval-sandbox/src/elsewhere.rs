//! Where no tier exists: everything says so.

use std::sync::Arc;

use super::error::SandboxError;
use super::languages::LanguageRuntime;
use super::settings::*;
use super::types::*;

/// Never made on this system: [`Sandbox::open`] always fails.
#[derive(Clone)]
pub struct Sandbox {
    never: std::convert::Infallible,
}

/// The ports of a job, of which there is none.
#[derive(Debug, Default)]
pub struct CellPorts;

impl CellPorts {
    /// The listener never comes.
    pub fn listening(
        _: u16,
    ) -> (
        CellPorts,
        tokio::sync::oneshot::Receiver<std::net::TcpListener>,
    ) {
        (CellPorts, tokio::sync::oneshot::channel().1)
    }

    /// # Errors
    /// Always.
    pub fn connect(&self, _: u16) -> std::io::Result<std::net::TcpStream> {
        Err(std::io::ErrorKind::NotConnected.into())
    }

    pub fn close(&self) {}
}

/// There are no cells on this system.
pub fn cell_main() -> ! {
    std::process::exit(97)
}

impl Sandbox {
    pub async fn open(_: SandboxConfig) -> Result<Sandbox, SandboxError> {
        let reason = (Tier::Userns, "it needs Linux".to_owned());
        let remedy = "run on Linux, for example in a container or a virtual machine".to_owned();
        Err(SandboxError::Unavailable {
            reasons: vec![reason],
            remedy,
        })
    }

    pub async fn unsandboxed(config: SandboxConfig) -> Result<Sandbox, SandboxError> {
        Sandbox::open(config).await
    }

    pub fn state(&self) -> &SandboxReport {
        match self.never {}
    }

    pub fn shows(&self, _: &std::path::Path) -> bool {
        match self.never {}
    }

    pub fn with_python(&self, _: &std::path::Path) -> Result<Sandbox, SandboxError> {
        match self.never {}
    }

    pub fn named_python(&self) -> Option<&std::path::Path> {
        match self.never {}
    }

    pub fn servers(&self) -> ServerReport {
        match self.never {}
    }

    pub fn python(&self) -> Result<&Interpreter, SandboxError> {
        match self.never {}
    }

    pub async fn run_program(&self, _: ProgramJob) -> Result<ProgramResult, SandboxError> {
        match self.never {}
    }

    pub async fn run_in_workspace(&self, _: WorkspaceJob) -> Result<WorkspaceResult, SandboxError> {
        match self.never {}
    }

    pub async fn serve_in_workspace(
        &self,
        _: impl Future<Output = ()>,
        _: WorkspaceJob,
        _: Option<Arc<CellPorts>>,
    ) -> Result<WorkspaceResult, SandboxError> {
        match self.never {}
    }

    pub async fn mount_ability(&self) -> Result<MountAbility, SandboxError> {
        match self.never {}
    }

    pub async fn run_script(&self, _: ScriptJob) -> Result<ProgramResult, SandboxError> {
        match self.never {}
    }

    pub async fn call_functions<T, R>(
        &self,
        _: FunctionJob,
        _: R,
    ) -> Result<FunctionReport<T>, SandboxError> {
        match self.never {}
    }

    pub async fn build(&self, _: ProgramJob) -> Result<BuildResult, SandboxError> {
        match self.never {}
    }

    pub async fn observe(&self, _: ProgramJob) -> Result<SyscallObservation, SandboxError> {
        match self.never {}
    }

    pub async fn run_query(&self, _: QueryJob) -> Result<QueryReport, SandboxError> {
        match self.never {}
    }

    pub async fn run_node(
        &self,
        _: Arc<LanguageRuntime>,
        _: ScriptJob,
    ) -> Result<ProgramResult, SandboxError> {
        match self.never {}
    }

    pub async fn call_node<T, R>(
        &self,
        _: Arc<LanguageRuntime>,
        _: FunctionJob,
        _: R,
    ) -> Result<FunctionReport<T>, SandboxError> {
        match self.never {}
    }

    pub async fn transpile(
        &self,
        _: Arc<LanguageRuntime>,
        _: Vec<String>,
    ) -> Result<Result<Vec<String>, RunFailure>, SandboxError> {
        match self.never {}
    }

    pub async fn run_tests_in(
        &self,
        _: Arc<LanguageRuntime>,
        _: TestJob,
    ) -> Result<TestReport, SandboxError> {
        match self.never {}
    }

    pub async fn run_tests(&self, _: TestJob) -> Result<TestReport, SandboxError> {
        match self.never {}
    }

    pub async fn test_mode(
        &self,
        _: TestJob,
    ) -> Result<Result<ModeChoice, TestVerdict>, SandboxError> {
        match self.never {}
    }
}
