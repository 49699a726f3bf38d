//! A workspace after its target has ended.

use std::time::Duration;

use super::WorkspaceFault;
use crate::model::{Cause, WorkspaceOutput};
use eval_sandbox::ProgramEnding;
use eval_workspace::{EntryNow, WorkspacePath};

/// What a target left, frozen: no process that could write to it is alive.
#[derive(Debug)]
pub struct FinishedWorkspace {
    output: WorkspaceOutput,
}

/// A command that tests a workspace, in a cell of its own above what the target left: hidden files
/// are there, protected and hidden ones are as the template has them, the network is off. What it
/// writes to the workspace is thrown away.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkspaceTestJob {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Relative to the workspace; empty: there.
    pub cwd: String,
    /// Laid on the workspace before, by path.
    pub files: Vec<(String, Vec<u8>)>,
    /// Read-only files outside of the workspace, by name: each is at `/tmp/tests/NAME`.
    pub beside: Vec<(String, Vec<u8>)>,
    pub timeout: Duration,
    pub memory_mb: u64,
    /// Bytes of stdout, and of stderr, that are kept.
    pub output_bytes: u64,
}

/// What became of a test command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceTestRun {
    pub ending: ProgramEnding,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub output_truncated: bool,
    /// What it wrote below `/results`: relative path, content.
    pub results: Vec<(String, Vec<u8>)>,
}

impl FinishedWorkspace {
    /// What is recorded of it.
    pub fn output(&self) -> &WorkspaceOutput {
        &self.output
    }

    /// What is at a path now, with the first `most` bytes of a file. Links are not followed.
    pub async fn file(&self, path: &WorkspacePath, most: u64) -> Result<EntryNow, WorkspaceFault> {
        let _ = (path, most);
        Err(WorkspaceFault::new(Cause::Harness, "not there yet"))
    }

    /// What was at a path before the target ran.
    pub async fn file_before(
        &self,
        path: &WorkspacePath,
        most: u64,
    ) -> Result<EntryNow, WorkspaceFault> {
        let _ = (path, most);
        Err(WorkspaceFault::new(Cause::Harness, "not there yet"))
    }

    /// Protected and hidden paths that the target changed, deleted or added: they are put back before
    /// tests run.
    pub fn protected_edits(&self) -> &[WorkspacePath] {
        &[]
    }

    /// Runs a test command.
    pub async fn test(&self, job: WorkspaceTestJob) -> Result<WorkspaceTestRun, WorkspaceFault> {
        let _ = job;
        Err(WorkspaceFault::new(Cause::Harness, "not there yet"))
    }

    /// Runs it where no target has been. The same job on the same template runs once in a run.
    pub async fn test_before(
        &self,
        job: WorkspaceTestJob,
    ) -> Result<WorkspaceTestRun, WorkspaceFault> {
        let _ = job;
        Err(WorkspaceFault::new(Cause::Harness, "not there yet"))
    }
}
