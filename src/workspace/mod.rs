//! Workspaces while a suite runs: templates are made once, each sample gets a folder of its own, and
//! graders look at what the target left in it or run tests in a cell above it.

mod agent;
mod archive;
mod finished;
mod guarded;
mod record;
mod recorded;
mod sample;
mod service;
mod store;
mod template;

use std::any::Any;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use crate::isolation::{SandboxRefusal, SandboxRequest};
use crate::model::limits::WORKSPACE_RECORDS;
use crate::model::{CaseWorkspace, Cause, Fingerprint, NetworkAccess, SandboxState};
use eval_sandbox::{
    MountAbility, ProgramEnding, Sandbox, SandboxError, Tier, WorkspaceJob, WorkspaceMount,
    WorkspaceNetwork, WorkspaceRoot, WorkspaceSettings,
};
use eval_workspace::{
    CopyRules, Listing, OverlayAttributes, TemplateView, TreeEntry, WorkspacePath, list_source,
};
use sample::FolderKind;
use store::{WorkspaceStore, random_name};
use template::{LayerKey, StagedFiles, WorkspaceTemplate, fault, foreseen, globs, list, stage};

pub use agent::{AgentFolders, AgentPort};
pub use finished::{BESIDE, FinishedWorkspace, WorkspaceTestJob, WorkspaceTestRun};
pub(crate) use guarded::CODE_ENDINGS;
pub use record::CHANGES_FILE;
pub use recorded::RecordedWork;
pub(crate) use sample::CarriedFiles;
pub use sample::{PrivateFile, SampleWorkspace, WorkspaceProgram, WrittenFiles};
pub use service::{ServiceAnswer, ServiceFault};

/// The attributes by which overlays mark what changed: none is mounted by root.
const ATTRIBUTES: OverlayAttributes = OverlayAttributes::User;

/// The digest of what targets see, in a stored layer.
const DIGEST: &str = "digest";

/// Why something could not be done in a workspace: the sample is errored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct WorkspaceFault {
    pub cause: Cause,
    /// One sentence for people.
    pub reason: String,
    /// It is of the workspace's definition, so that it would be the same again.
    is_lasting: bool,
}

impl WorkspaceFault {
    pub fn new(cause: Cause, reason: impl Into<String>) -> WorkspaceFault {
        WorkspaceFault {
            cause,
            reason: reason.into(),
            is_lasting: false,
        }
    }

    fn lasting(self) -> WorkspaceFault {
        WorkspaceFault {
            is_lasting: true,
            ..self
        }
    }

    fn of_sandbox(error: SandboxError) -> WorkspaceFault {
        let cause = match &error {
            SandboxError::Unavailable { .. } => Cause::SandboxUnavailable,
            SandboxError::CannotStart { .. } => Cause::ExecutorMissing,
            _ => Cause::Harness,
        };
        WorkspaceFault::new(cause, error.to_string())
    }
}

/// How workspaces are made on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkspaceMode {
    /// A layer of its own for each sample, above a template that all share. `renames`: folders of
    /// the template can be renamed.
    Overlay {
        renames: bool,
    },
    Copy {
        why: String,
    },
}

impl WorkspaceMode {
    fn is_copy(&self) -> bool {
        matches!(self, WorkspaceMode::Copy { .. })
    }

    fn name(&self) -> &'static str {
        match self {
            WorkspaceMode::Overlay { .. } => "overlay",
            WorkspaceMode::Copy { .. } => "copy",
        }
    }
}

/// The workspaces of one run.
#[derive(Debug)]
pub struct RunWorkspaces {
    request: SandboxRequest,
    /// Where layers are kept; `None` for a folder that goes with the run.
    cache: Option<PathBuf>,
    /// PATH in the environment of this process.
    path: Option<std::ffi::OsString>,
    opened: OnceCell<Result<Arc<OpenWorkspaces>, SandboxRefusal>>,
    templates: Mutex<HashMap<TemplateKey, Arc<TemplateCell>>>,
}

/// The definition, and the files and folders that it names.
type TemplateKey = (Fingerprint, Vec<PathBuf>);

type TemplateCell = OnceCell<Result<Arc<WorkspaceTemplate>, WorkspaceFault>>;

/// The store, and the sandboxes that work in it.
pub(crate) struct OpenWorkspaces {
    store: WorkspaceStore,
    mode: WorkspaceMode,
    /// Without a network.
    closed: Sandbox,
    online: OnceCell<Result<Sandbox, SandboxRefusal>>,
    request: SandboxRequest,
    /// What test commands showed where no target has been, as their graders read it.
    before: Mutex<HashMap<Fingerprint, Arc<BeforeCell>>>,
    /// Folders of PATH that programs see.
    path: String,
    /// Bytes that records of the run may still have.
    records: Mutex<u64>,
}

impl std::fmt::Debug for OpenWorkspaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenWorkspaces")
            .field("store", &self.store)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

type BeforeCell = OnceCell<Arc<dyn Any + Send + Sync>>;

impl RunWorkspaces {
    /// `cache` is where layers are kept for other runs; `path` the PATH of the environment.
    pub fn new(
        request: SandboxRequest,
        cache: Option<PathBuf>,
        path: Option<std::ffi::OsString>,
    ) -> RunWorkspaces {
        RunWorkspaces {
            request,
            cache,
            path,
            opened: OnceCell::new(),
            templates: Mutex::default(),
        }
    }

    /// Opens the sandbox of workspaces; what it is.
    ///
    /// # Errors
    /// When what the suite requires of a sandbox is not possible here.
    pub async fn prepare(&self) -> Result<SandboxState, SandboxRefusal> {
        let open = self.open().await?;
        let mut state = SandboxState::from(open.closed.state());
        state.workspaces.extend(match &open.mode {
            WorkspaceMode::Copy { why } => Some(format!(
                "Workspaces are copies, because overlays are not possible here: {why}"
            )),
            WorkspaceMode::Overlay { renames: false } => Some(
                "Programs in workspaces can't rename folders of the template in one step (EXDEV)"
                    .to_owned(),
            ),
            WorkspaceMode::Overlay { renames: true } => None,
        });
        Ok(state)
    }

    async fn open(&self) -> Result<Arc<OpenWorkspaces>, SandboxRefusal> {
        let opened = self.opened.get_or_init(|| async {
            let open =
                OpenWorkspaces::open(&self.request, self.cache.as_deref(), self.path.as_deref());
            open.await.map(Arc::new)
        });
        opened.await.clone()
    }

    /// Looks at all sources again: what was copied from them may have changed since.
    pub fn forget_templates(&self) {
        let mut templates = self
            .templates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        templates.clear();
    }

    /// A workspace for one sample. `on_host`: a plain folder, for a program outside of the sandbox.
    ///
    /// # Errors
    /// A source that can't be copied, and a setup that fails.
    pub async fn sample(
        &self,
        workspace: &Arc<CaseWorkspace>,
        on_host: bool,
    ) -> Result<SampleWorkspace, WorkspaceFault> {
        let (open, template) = self.template(workspace).await?;
        template.check_cwd(&workspace.cwd)?;
        let kind = match (on_host, &open.mode) {
            (true, _) => FolderKind::Host,
            (false, WorkspaceMode::Overlay { .. }) => FolderKind::Layer,
            (false, WorkspaceMode::Copy { .. }) => FolderKind::Programs,
        };
        SampleWorkspace::new(open, template, Arc::clone(workspace), kind).await
    }

    /// The workspace that a target left, made again from what is recorded of it.
    ///
    /// # Errors
    /// Also what can't be read, or does not apply.
    pub async fn recorded(
        &self,
        workspace: &Arc<CaseWorkspace>,
        work: RecordedWork,
    ) -> Result<FinishedWorkspace, WorkspaceFault> {
        let (open, template) = self.template(workspace).await?;
        let kind = work.folder_kind(&open.mode);
        let sample = SampleWorkspace::new(open, template, Arc::clone(workspace), kind).await?;
        sample.lay(work).await?.finish(None).await
    }

    /// SHA-256 (hex) of what targets find in a workspace.
    ///
    /// # Errors
    /// As for [`RunWorkspaces::sample`].
    pub async fn digest(&self, workspace: &Arc<CaseWorkspace>) -> Result<String, WorkspaceFault> {
        let (_, template) = self.template(workspace).await?;
        Ok(template.digest.clone())
    }

    async fn template(
        &self,
        workspace: &Arc<CaseWorkspace>,
    ) -> Result<(Arc<OpenWorkspaces>, Arc<WorkspaceTemplate>), WorkspaceFault> {
        let open = self.open().await.map_err(|refused| {
            let cause = Cause::SandboxUnavailable;
            WorkspaceFault::new(cause, refused.to_string())
        })?;
        let cell = {
            let mut templates = self
                .templates
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // Names of sources are relative to a project, and evals may be of several.
            let key = (Fingerprint::of(&**workspace), workspace.paths());
            Arc::clone(templates.entry(key).or_default())
        };
        // A full disk, say, may not be full for the next sample.
        let made = cell.get_or_try_init(|| async {
            match open.make_template(workspace).await {
                Err(fault) if !fault.is_lasting => Err(fault),
                made => Ok(made),
            }
        });
        let template = made.await?.clone()?;
        Ok((Arc::clone(&open), template))
    }

    /// Removes what the run has on disk, as far as it is not kept for other runs. Every sample must
    /// have ended.
    pub async fn close(&self) {
        if let Some(Ok(open)) = self.opened.get() {
            let open = Arc::clone(open);
            let _ = spawn_blocking(move || open.store.remove_live()).await;
        }
    }
}

/// What a template is made from, with the lock that keeps it.
enum FoundLayer {
    Stored(Box<WorkspaceTemplate>, File),
    Staged(StagedFiles, File),
}

impl OpenWorkspaces {
    async fn open(
        request: &SandboxRequest,
        cache: Option<&Path>,
        path: Option<&std::ffi::OsStr>,
    ) -> Result<OpenWorkspaces, SandboxRefusal> {
        let as_root = rustix::process::geteuid().is_root();
        let usual = cache.map_or_else(private_parent, |cache| Ok(cache.to_owned()));
        let mut store = usual
            .and_then(|parent| WorkspaceStore::open(&parent, as_root))
            .map_err(|error| no_store(&error))?;
        let mut closed = open_sandbox(request, &store, WorkspaceNetwork::None).await?;
        // In this tier programs use the folders of the host with their own rights.
        if closed.state().tier == Tier::Landlock && as_root && !may_enter(&store.root) {
            let elsewhere = private_parent()
                .and_then(|parent| WorkspaceStore::open(&parent, as_root))
                .map_err(|error| no_store(&error))?;
            closed = open_sandbox(request, &elsewhere, WorkspaceNetwork::None).await?;
            store = elsewhere;
        }
        let mode = match closed.mount_ability().await {
            Ok(MountAbility::Overlay { renames }) => WorkspaceMode::Overlay { renames },
            Ok(MountAbility::Copy { why }) => WorkspaceMode::Copy { why },
            Err(error) => return Err(refusal(error)),
        };
        let mut folders: Vec<PathBuf> = path
            .into_iter()
            .flat_map(std::env::split_paths)
            .filter(|folder| folder.is_absolute() && closed.shows(folder))
            .collect();
        // Programs of a toolchain that PATH has stand-ins for.
        let toolchains = request.readable.iter().map(|folder| folder.join("bin"));
        folders.extend(toolchains.filter(|folder| folder.is_dir()));
        folders.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
        let mut seen = Vec::new();
        folders.retain(|folder| {
            !seen.contains(folder) && {
                seen.push(folder.clone());
                true
            }
        });
        let path = std::env::join_paths(folders).ok();
        let path = path.and_then(|path| path.into_string().ok());
        Ok(OpenWorkspaces {
            store,
            mode,
            closed,
            online: OnceCell::new(),
            request: request.clone(),
            before: Mutex::default(),
            path: path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned()),
            records: Mutex::new(WORKSPACE_RECORDS),
        })
    }

    async fn sandbox(&self, network: NetworkAccess) -> Result<&Sandbox, WorkspaceFault> {
        if network == NetworkAccess::None {
            return Ok(&self.closed);
        }
        let online = self.online.get_or_init(|| async {
            open_sandbox(&self.request, &self.store, WorkspaceNetwork::All).await
        });
        online.await.as_ref().map_err(|refused| {
            let reason = format!("a workspace with a network is not possible here: {refused}");
            WorkspaceFault::new(Cause::SandboxUnavailable, reason)
        })
    }

    /// A job with the limits and the environment of a workspace.
    fn job(
        &self,
        workspace: &CaseWorkspace,
        argv: Vec<String>,
        root: WorkspaceRoot,
    ) -> WorkspaceJob {
        let mut job = WorkspaceJob::new(argv, root);
        job.env = vec![("PATH".to_owned(), self.path.clone())];
        set_all(&mut job.env, &workspace.env);
        job.cwd = PathBuf::from(&workspace.cwd);
        job.limits.memory_mb = workspace.limits.memory_mb;
        job.limits.processes = workspace.limits.processes;
        job.disk_mb = workspace.limits.disk_mb;
        // What is beyond is read and dropped.
        job.limits.output_end = u64::MAX;
        job
    }

    async fn make_template(
        self: &Arc<Self>,
        workspace: &Arc<CaseWorkspace>,
    ) -> Result<Arc<WorkspaceTemplate>, WorkspaceFault> {
        let (open, definition) = (Arc::clone(self), Arc::clone(workspace));
        let layer = blocking(move || open.find_layer(&definition)).await?;
        let (template, used) = match layer {
            FoundLayer::Stored(template, used) => (*template, used),
            FoundLayer::Staged(staged, used) => {
                self.set_up(workspace, &staged).await?;
                let (open, definition) = (Arc::clone(self), Arc::clone(workspace));
                let made = blocking(move || {
                    let layer = open.store.layer(&staged.layer.name);
                    open.keep_layer(&definition, staged.place.path(), &layer)
                });
                (made.await?, used)
            }
        };
        Ok(Arc::new(WorkspaceTemplate {
            _used: Some(used),
            ..template
        }))
    }

    /// The layer of an earlier run, or what it is to be made of.
    fn find_layer(&self, workspace: &CaseWorkspace) -> Result<FoundLayer, WorkspaceFault> {
        // What runs a setup is a part of what comes of it.
        let around = format!("{} {}", self.closed.state().tier, self.path);
        let cannot = |error: io::Error| fault(format!("a stored workspace can't be used: {error}"));
        let definition = (workspace, workspace.paths(), self.mode.name(), &around);
        let definition = Fingerprint::of(&definition);
        // The source is read to see whether it is as it was, or once to be copied.
        let was_made = self.store.was_made(&definition);
        self.store.note_made(&definition);
        if was_made
            && let Some(key) = foreseen(&self.store, workspace, &self.mode, &around)
            && self.store.layer(&key.name).exists()
        {
            let used = self.store.use_layer(&key.name).map_err(cannot)?;
            if let Some(template) = self.stored(&key, workspace) {
                return Ok(FoundLayer::Stored(Box::new(template), used));
            }
        }
        let staged = stage(&self.store, workspace, &self.mode, &around)?;
        let name = &staged.layer.name;
        let used = self.store.use_layer(name).map_err(cannot)?;
        let is_there = self.store.layer(name).exists();
        if let Some(template) = self.stored(&staged.layer, workspace) {
            return Ok(FoundLayer::Stored(Box::new(template), used));
        }
        if is_there {
            self.store.discard_layer(name).map_err(cannot)?;
        }
        Ok(FoundLayer::Staged(staged, used))
    }

    /// The template of an earlier run, if it is there as it was made.
    fn stored(&self, key: &LayerKey, workspace: &CaseWorkspace) -> Option<WorkspaceTemplate> {
        let layer = self.store.layer(&key.name);
        let template = read_template(&layer, workspace, &self.mode).ok()?;
        let [shown, hidden] = key.digests;
        // In place, a setup changes the files.
        let is_before = !self.mode.is_copy() || workspace.setup.is_empty();
        let is_right = (!is_before || template.files_digest == shown)
            && template.hidden_digest == eval_base::text::hex(&hidden)
            && fs::read_to_string(layer.join(DIGEST)).ok()? == template.digest;
        is_right.then_some(template)
    }

    /// Runs the commands of `setup`.
    async fn set_up(
        &self,
        workspace: &CaseWorkspace,
        staged: &StagedFiles,
    ) -> Result<(), WorkspaceFault> {
        let root = self.store.root.display();
        let cannot =
            |error: io::Error| fault(format!("cannot create a workspace in {root}: {error}"));
        let changed = staged.place.path().join("setup");
        self.store.folder(changed.clone()).map_err(cannot)?;
        for (at, argv) in workspace.setup.iter().enumerate() {
            let root = match &self.mode {
                WorkspaceMode::Overlay { .. } => WorkspaceRoot::Overlay(WorkspaceMount {
                    lowers: vec![staged.tree.clone()],
                    upper: changed.clone(),
                    work: self.work_folder(staged.place.path()).map_err(cannot)?,
                }),
                WorkspaceMode::Copy { .. } => WorkspaceRoot::Folder(staged.tree.clone()),
            };
            let what = format!("setup[{at}] (`{}`)", argv.join(" "));
            self.run_step(workspace, argv, root, &what).await?;
        }
        Ok(())
    }

    fn work_folder(&self, place: &Path) -> io::Result<PathBuf> {
        self.store
            .folder(place.join(format!("work-{}", random_name())))
    }

    /// Runs a command of `setup` or `teardown`.
    async fn run_step(
        &self,
        workspace: &CaseWorkspace,
        argv: &[String],
        root: WorkspaceRoot,
        what: &str,
    ) -> Result<(), WorkspaceFault> {
        let mut job = self.job(workspace, argv.to_vec(), root);
        job.limits.wall = workspace.setup_timeout;
        job.limits.stderr_tail = true;
        job.limits.output_bytes = 4 << 10;
        let sandbox = self.sandbox(workspace.network).await?;
        let ran = sandbox.run_in_workspace(job).await.map_err(|error| {
            let reason = format!("{what} could not run: {error}");
            WorkspaceFault::new(Cause::SetupFailed, reason)
        })?;
        if ran.result.ending == ProgramEnding::Exited(0) {
            return Ok(());
        }
        let streams = ran.result.streams;
        let said = [streams.stderr, streams.stdout]
            .map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        let said = said.into_iter().find(|text| !text.is_empty());
        let said = said.map(|text| format!(": {text}")).unwrap_or_default();
        Err(fault(format!("{what} {}{said}", ran.result.ending)).lasting())
    }

    /// Moves a complete layer to its place, where another process may have put the same one; the
    /// template.
    fn keep_layer(
        &self,
        workspace: &CaseWorkspace,
        from: &Path,
        to: &Path,
    ) -> Result<WorkspaceTemplate, WorkspaceFault> {
        let root = self.store.root.display();
        let cannot = |error: io::Error| fault(format!("cannot store a layer in {root}: {error}"));
        let complete = self.store.place().map_err(cannot)?;
        for name in ["tree", "hidden", "setup"] {
            let (from, to) = (from.join(name), complete.path().join(name));
            if from.exists() {
                fs::rename(from, to).map_err(cannot)?;
            }
        }
        let made = read_template(complete.path(), workspace, &self.mode)?;
        fs::write(complete.path().join(DIGEST), &made.digest).map_err(cannot)?;
        match fs::rename(complete.path(), to) {
            Err(_) if to.exists() => read_template(to, workspace, &self.mode),
            // What was read is open, so that it need not be read again.
            result => result
                .map_err(cannot)
                .map(|()| made.moved(complete.path(), to)),
        }
    }
}

/// Sets variables, each in the place of one of the same name.
fn set_all<'v>(
    env: &mut Vec<(String, String)>,
    values: impl IntoIterator<Item = (&'v String, &'v String)>,
) {
    for (name, value) in values {
        env.retain(|(of, _)| of != name);
        env.push((name.clone(), value.clone()));
    }
}

/// Reads a complete layer.
fn read_template(
    layer: &Path,
    workspace: &CaseWorkspace,
    mode: &WorkspaceMode,
) -> Result<WorkspaceTemplate, WorkspaceFault> {
    let tree = layer.join("tree");
    // In place, a setup may have made links that lead out, as it may in a layer.
    let rules = CopyRules {
        outside_links: mode.is_copy() && !workspace.setup.is_empty(),
        ..CopyRules::default()
    };
    let listing = list_source(&tree, &rules);
    let listing =
        listing.map_err(|error| fault(format!("the workspace can't be created: {error}")))?;
    let files_digest = listing.digest();
    let mut view = TemplateView::new(&tree, listing)
        .map_err(|error| fault(format!("cannot read a layer: {error}")))?;
    let mut layers = vec![tree];
    if !mode.is_copy() && !workspace.setup.is_empty() {
        let setup = layer.join("setup");
        view = view.with_layer(&setup, ATTRIBUTES).map_err(|error| {
            fault(format!(
                "the files that `setup` wrote can't be read: {error}"
            ))
        })?;
        layers.insert(0, setup);
    }
    let hidden = globs(&workspace.hidden)?;
    let listing = view.listing();
    if let Some((path, _)) = listing.entries().find(|(path, _)| hidden.fit(path)) {
        return Err(fault(format!(
            "`setup` wrote `{path}`, which matches `hidden`: the target would see it"
        ))
        .lasting());
    }
    let kept = [&workspace.hidden[..], &workspace.protected].concat();
    let hidden = layer.join("hidden");
    let hidden_listing = list(&hidden)?;
    Ok(WorkspaceTemplate {
        layers,
        files: [files_of(&listing), files_of(&hidden_listing)],
        hidden_digest: eval_base::text::hex(&hidden_listing.digest()),
        hidden,
        files_digest,
        digest: eval_base::text::hex(&listing.digest()),
        view,
        kept_globs: globs(&kept)?,
        watched: Mutex::default(),
        _used: None,
    })
}

/// Files and links of a tree.
fn files_of(listing: &Listing) -> Vec<WorkspacePath> {
    let files = listing
        .entries()
        .filter(|(_, entry)| **entry != TreeEntry::Folder);
    files.map(|(path, _)| path.clone()).collect()
}

async fn open_sandbox(
    request: &SandboxRequest,
    store: &WorkspaceStore,
    network: WorkspaceNetwork,
) -> Result<Sandbox, SandboxRefusal> {
    let settings = WorkspaceSettings {
        store: store.root.clone(),
        network,
        ..WorkspaceSettings::default()
    };
    request.open_for_workspaces(settings).await
}

fn refusal(error: SandboxError) -> SandboxRefusal {
    SandboxRefusal {
        reason: format!("workspaces can't be created: {error}"),
        remedy: "run `eval-harness doctor`".to_owned(),
        error,
    }
}

fn no_store(error: &io::Error) -> SandboxRefusal {
    let error = SandboxError::BadRequest(format!(
        "the folder of workspaces can't be created: {error}"
    ));
    SandboxRefusal {
        reason: error.to_string(),
        remedy: "set EVAL_HARNESS_CACHE_DIR to a folder that can be written to".to_owned(),
        error,
    }
}

/// A folder of this user's among the system's for temporary files.
fn private_parent() -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let parent = std::env::temp_dir().join(format!("eval-harness-{user}"));
    match fs::DirBuilder::new().mode(0o711).create(&parent) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = fs::symlink_metadata(&parent)?;
    if !meta.is_dir() || meta.uid() != user || meta.permissions().mode() & 0o022 != 0 {
        let why = format!("{} belongs to another user", parent.display());
        return Err(io::Error::other(why));
    }
    Ok(parent)
}

/// Whether other users may enter all folders above.
fn may_enter(path: &Path) -> bool {
    let mut above = path.ancestors().skip(1);
    above
        .all(|folder| fs::metadata(folder).is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceFault> + Send + 'static,
) -> Result<T, WorkspaceFault> {
    spawn_blocking(work).await.unwrap_or_else(|error| {
        let reason = format!("a task of a workspace was aborted: {error}");
        Err(WorkspaceFault::new(Cause::Harness, reason))
    })
}
