//! How a sandbox is made, and what it says of itself.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::types::Tier;

/// See [`SandboxConfig::grace`].
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// What [`super::Sandbox::state`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxReport {
    pub tier: Tier,
    /// False exactly for tier `none`.
    pub enforced: bool,
    /// Reasons why better tiers do not work, and what is missing in this one.
    pub notes: Vec<String>,
    /// The version of Landlock, in the tier that stands on it.
    pub landlock_abi: Option<u32>,
    /// What control groups bound, as `v1 memory, pids`; `None`: memory is only watched, and `notes`
    /// say why.
    pub cgroup: Option<String>,
}

/// Why cells get no control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCgroup {
    pub reason: String,
    /// What a user can do about it.
    pub remedy: String,
}

/// What the warm interpreters of a sandbox did so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// Fork servers started.
    pub started: u64,
    /// Jobs that were forks of them.
    pub jobs: u64,
    /// Grace periods that expired: programs that had nothing more to do and did not end within half
    /// a second.
    pub expired_graces: u64,
    /// Why every job, or every job of some worker, gets an interpreter started for itself.
    pub given_up: Option<String>,
}

/// Whether running without isolation is acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Required,
    /// Tier `none` when nothing else works; the state then says so.
    AllowNone,
}

#[derive(Debug, Clone)]
pub struct SandboxConfig {
    pub isolation: Isolation,
    /// The executable that calls [`super::cell_main`] when its first argument is `__cell`.
    pub helper: PathBuf,
    /// Cells, hence jobs at the same time.
    pub workers: usize,
    /// Tiers to try, in order.
    pub tiers: Vec<Tier>,
    /// The Python to use; `None`: `python3` or `python` of PATH.
    pub python: Option<PathBuf>,
    /// Further ones, for [`super::Sandbox::with_python`].
    pub pythons: Vec<PathBuf>,
    /// More host folders that jobs may read.
    pub readable: Vec<PathBuf>,
    /// After so many jobs a warm interpreter is replaced.
    pub jobs_per_server: u32,
    /// How long a program that has nothing more to do may take to end; 500 ms by default.
    pub grace: Duration,
    /// For [`super::Sandbox::observe`] only, which needs separate cells.
    pub observed: bool,
    /// For [`super::Sandbox::run_in_workspace`], which needs separate cells: jobs may use sockets,
    /// and get an error where a job outside of a workspace would be ended.
    pub workspaces: Option<WorkspaceSettings>,
}

/// Where the folders of workspaces are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkspaceSettings {
    /// Contains every layer, upper folder and work folder. Programs can't reach it except through
    /// what their workspace is made of. When this process is root the folders must belong to the
    /// user [`WORKSPACE_USER`].
    pub store: PathBuf,
    /// Further folders that [`super::ReadOnlyBind::from`] may be in.
    pub sources: Vec<PathBuf>,
    /// Lets programs rename the folders of layers where that works: overlays are mounted by this
    /// process when it is root, and what is written has attributes `trusted.overlay.*` (`opaque`,
    /// `redirect`) in place of `user.overlay.opaque`. Layers that were written with and without it
    /// can't be mixed.
    #[serde(default)]
    pub renames: bool,
    #[serde(default)]
    pub network: WorkspaceNetwork,
}

/// What programs in workspaces reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum WorkspaceNetwork {
    /// Each other, within a cell, on 127.0.0.1.
    #[default]
    None,
    /// Whatever this process reaches, its own 127.0.0.1 included, by IP. Not in the tiers that share
    /// the host's file system.
    All,
}

/// The user, and the group, that programs in workspaces run as when this process is root: `nobody`.
pub const WORKSPACE_USER: u32 = 65534;

impl SandboxConfig {
    pub fn new(helper: PathBuf) -> Self {
        SandboxConfig {
            isolation: Isolation::Required,
            helper,
            workers: 1,
            tiers: vec![Tier::Userns, Tier::Rootns, Tier::Landlock],
            python: None,
            pythons: Vec::new(),
            readable: Vec::new(),
            jobs_per_server: 1000,
            grace: GRACE,
            observed: false,
            workspaces: None,
        }
    }
}

/// The Python that runs candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The real executable, not a shim or a link.
    pub path: PathBuf,
    /// As `3.11.7`.
    pub version: String,
    /// Folders of installed packages.
    pub site: Vec<PathBuf>,
}
