//! The workspace of one sample, from an untouched copy of its template to what its target left.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::finished::FinishedWorkspace;
use super::service::ServiceFault;
use super::store::LiveFolder;
use super::template::{HISTORIES, WorkspaceTemplate, fault};
use super::{ATTRIBUTES, OpenWorkspaces, WorkspaceFault, WorkspaceMode, blocking};
use crate::isolation::tree_output;
use crate::model::{CaseWorkspace, Cause, NetworkAccess, WorkspaceOutput, limits};
use eval_base::globs::path_glob;
use eval_base::text::{hex, truncate_bytes};
use eval_sandbox::process_tree::{self, StartError, TreeCommand, TreeOutput};
use eval_sandbox::{CellPorts, ProgramResult, ReadOnlyBind, WorkspaceMount, WorkspaceRoot};
use eval_workspace::{
    AfterView, CompareBounds, DiffText, EntryNow, FileChange, WorkspaceChanges, WorkspaceEdits,
    WorkspacePath, write_file,
};

/// Where programs in the sandbox find files of the suite.
const CARRIED: &str = "/tmp/suite";

/// Where programs in the sandbox find contents that are theirs alone.
pub(super) const PRIVATE: &str = "/tmp/private";

/// Bytes of one file that a command wrote and that is read.
const WRITTEN_BYTES: u64 = 256 << 20;

/// Where the files of a workspace are.
#[derive(Debug, Clone)]
pub(super) enum SampleFiles {
    /// What changed, above the template's layers.
    Upper(PathBuf),
    /// All of it.
    Folder {
        path: PathBuf,
        /// When the copy was complete.
        copied_at: SystemTime,
    },
}

impl SampleFiles {
    pub fn view(&self) -> AfterView<'_> {
        match self {
            SampleFiles::Upper(upper) => AfterView::Overlay {
                upper,
                attributes: ATTRIBUTES,
            },
            SampleFiles::Folder { path, copied_at } => AfterView::Tree {
                root: path,
                copied_at: Some(*copied_at),
            },
        }
    }
}

/// What a sample works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderKind {
    /// A layer above the template.
    Layer,
    /// A copy, for programs in the sandbox.
    Programs,
    /// A copy, for a program outside of it.
    Host,
    /// An empty folder, for what was recorded.
    Empty,
}

/// A workspace in which a target works.
#[derive(Debug)]
pub struct SampleWorkspace {
    pub(super) open: Arc<OpenWorkspaces>,
    pub(super) template: Arc<WorkspaceTemplate>,
    pub(super) definition: Arc<CaseWorkspace>,
    pub(super) place: LiveFolder,
    pub(super) files: SampleFiles,
    kind: FolderKind,
}

/// A program of the suite's author in a workspace.
#[derive(Debug)]
pub struct WorkspaceProgram<'c> {
    /// `dir` is the suite's folder.
    pub command: &'c TreeCommand,
    /// Words of the command that may name files of `dir`. In the sandbox these are shown to the
    /// program, elsewhere than in the workspace.
    pub named: &'c [String],
    /// Contents that the program reads. In `argv`, `\0/NAME` stands for the place of one.
    pub private: Vec<PrivateFile>,
    /// Its variables are not replaced by those of the workspace.
    pub keeps_variables: bool,
}

/// A content that a program reads, by its relative path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    pub name: String,
    pub content: Vec<u8>,
    pub is_executable: bool,
}

impl PrivateFile {
    pub fn new(name: String, content: Vec<u8>) -> PrivateFile {
        PrivateFile {
            name,
            content,
            is_executable: false,
        }
    }
}

/// Copies of files that programs wrote.
pub struct WrittenFiles {
    /// Goes with the workspace.
    pub folder: PathBuf,
    /// What is not there: sentences.
    pub unread: Vec<String>,
}

impl SampleWorkspace {
    pub(super) async fn new(
        open: Arc<OpenWorkspaces>,
        template: Arc<WorkspaceTemplate>,
        definition: Arc<CaseWorkspace>,
        kind: FolderKind,
    ) -> Result<SampleWorkspace, WorkspaceFault> {
        blocking(move || {
            let root = open.store.root.display();
            let cannot =
                |error: io::Error| fault(format!("cannot create a workspace in {root}: {error}"));
            let place = open.store.place().map_err(cannot)?;
            let files = match kind {
                FolderKind::Layer => {
                    let upper = place.path().join("upper");
                    SampleFiles::Upper(open.store.folder(upper).map_err(cannot)?)
                }
                FolderKind::Empty => {
                    let path = place.path().join("workspace");
                    SampleFiles::Folder {
                        path: open.store.folder(path).map_err(cannot)?,
                        // Any file may be different.
                        copied_at: SystemTime::UNIX_EPOCH,
                    }
                }
                FolderKind::Programs | FolderKind::Host => {
                    let path = place.path().join("workspace");
                    let path = open.store.folder(path).map_err(cannot)?;
                    // On the host programs run as the user of this process.
                    let owner = open.store.owner.filter(|_| kind == FolderKind::Programs);
                    template.copy_to(&path, owner).map_err(|error| {
                        fault(format!("cannot copy a workspace to {root}: {error}"))
                    })?;
                    if kind == FolderKind::Host && open.store.owner.is_some() {
                        std::os::unix::fs::lchown(&path, Some(0), Some(0)).map_err(cannot)?;
                    }
                    let copied_at = time_of(place.path()).map_err(cannot)?;
                    SampleFiles::Folder { path, copied_at }
                }
            };
            Ok(SampleWorkspace {
                open,
                template,
                definition,
                place,
                files,
                kind,
            })
        })
        .await
    }

    /// Why it is a copy, if it is one for lack of overlays.
    fn copied(&self) -> Option<String> {
        match &self.open.mode {
            WorkspaceMode::Copy { why } if self.kind != FolderKind::Host => Some(why.clone()),
            _ => None,
        }
    }

    /// The same without a network, whatever the case allows a target.
    pub fn offline(mut self) -> SampleWorkspace {
        Arc::make_mut(&mut self.definition).network = NetworkAccess::None;
        self
    }

    /// Runs a program in the workspace to its end or its time limit. Whatever it started has ended
    /// then.
    pub async fn run(&self, program: WorkspaceProgram<'_>) -> Result<TreeOutput, StartError> {
        self.run_until(std::future::pending(), program, None).await
    }

    /// Runs a program until it is not needed any more. In the sandbox `ports` reach those that it
    /// listens on.
    pub(super) async fn run_until(
        &self,
        unneeded: impl Future<Output = ()>,
        program: WorkspaceProgram<'_>,
        ports: Option<Arc<CellPorts>>,
    ) -> Result<TreeOutput, StartError> {
        match &self.files {
            SampleFiles::Folder { path, .. } if self.kind == FolderKind::Host => {
                self.run_on_host(unneeded, path, program).await
            }
            _ => self.run_in_sandbox(unneeded, program, ports).await,
        }
    }

    /// Whether its programs run outside of the sandbox.
    pub(super) fn is_on_host(&self) -> bool {
        self.kind == FolderKind::Host
    }

    /// Whether its programs use the network of the host.
    pub(super) fn is_on_host_network(&self) -> bool {
        self.is_on_host() || self.definition.network == NetworkAccess::All
    }

    /// Why a program of it can't be a service.
    pub(super) fn service_hindrance(&self) -> Option<ServiceFault> {
        if self.kind != FolderKind::Host && self.open.shares_files() {
            return Some(ServiceFault::NoNetwork);
        }
        let is_taken = self.definition.env.contains_key("PORT");
        is_taken.then_some(ServiceFault::PortVariable)
    }

    async fn run_on_host(
        &self,
        unneeded: impl Future<Output = ()>,
        folder: &Path,
        program: WorkspaceProgram<'_>,
    ) -> Result<TreeOutput, StartError> {
        let mut command = program.command.clone();
        let private = self.place.path().join("private");
        let written = || {
            self.open.store.folder(private.clone())?;
            write_all(&private, &program.private)
        };
        written().map_err(|error: io::Error| StartError {
            reason: format!("cannot write input.json: {error}"),
        })?;
        let own = private.to_string_lossy();
        for word in &mut command.argv {
            *word = word.replace(crate::isolation::PRIVATE_FOLDER, &own);
        }
        let own = |path: &Path| Ok(path.to_string_lossy().into_owned());
        let named = CarriedFiles::of(&command.dir, program.named, own);
        command.argv = named
            .map_err(|reason| StartError { reason })?
            .words(&command.argv);
        for (name, value) in &self.definition.env {
            let is_set = command.env.iter().any(|(of, _)| of == name);
            if program.keeps_variables && is_set {
                continue;
            }
            command.env.retain(|(of, _)| of != name);
            command.env.push((name.clone(), value.into()));
        }
        command.dir = folder.join(&self.definition.cwd);
        process_tree::run_until(unneeded, &command).await
    }

    async fn run_in_sandbox(
        &self,
        unneeded: impl Future<Output = ()>,
        program: WorkspaceProgram<'_>,
        ports: Option<Arc<CellPorts>>,
    ) -> Result<TreeOutput, StartError> {
        let stopped = |reason: String| StartError { reason };
        let command = program.command;
        let (mut read_only, carried) = self.carry(&program).map_err(stopped)?;
        let mut argv = carried.words(&command.argv);
        let private = match self.show_private(program.private, &mut read_only) {
            Ok(private) => private,
            Err(error) => return Err(stopped(format!("cannot write input.json: {error}"))),
        };
        for word in &mut argv {
            *word = word.replace(crate::isolation::PRIVATE_FOLDER, &private);
        }
        let root = self.root().map_err(|error| stopped(error.to_string()))?;
        let mut job = self.open.job(&self.definition, argv, root);
        let of_cell: &[&str] = match program.keeps_variables {
            true => &["TMPDIR", "PATH"],
            false => &["TMPDIR", "PATH", "HOME"],
        };
        if program.keeps_variables {
            let is_set = |name: &str| command.env.iter().any(|(of, _)| of == name);
            job.env
                .retain(|(name, _)| of_cell.contains(&name.as_str()) || !is_set(name));
        }
        for (name, value) in &command.env {
            let is_own = of_cell.contains(&name.as_str());
            let is_set = job.env.iter().any(|(of, _)| of == name);
            // What is no text is left out, as what is not listed is.
            if let (false, false, Some(value)) = (is_own, is_set, value.to_str()) {
                job.env.push((name.clone(), value.to_owned()));
            }
        }
        job.stdin.clone_from(&command.stdin);
        job.read_only = read_only;
        job.limits.wall = command.timeout;
        job.stdout_file = command
            .stdout_file
            .clone()
            .map(|path| (path, command.keep_stdout as u64));
        let in_memory = match job.stdout_file {
            Some(_) => command.keep_stderr,
            None => command.keep_stdout.max(command.keep_stderr),
        };
        job.limits.output_bytes = in_memory as u64;
        job.limits.stderr_tail = true;
        let sandbox = self.open.sandbox(self.definition.network).await;
        let sandbox = sandbox.map_err(|fault| stopped(fault.reason))?;
        match sandbox.serve_in_workspace(unneeded, job, ports).await {
            Ok(ran) => {
                let limits = &self.definition.limits;
                let limits = (limits.memory_mb, limits.disk_mb);
                Ok(tree_output(ran.result, command, limits))
            }
            Err(error) => Err(stopped(format!(
                "cannot run `{}`: {error}",
                command.argv.join(" ")
            ))),
        }
    }

    fn root(&self) -> io::Result<WorkspaceRoot> {
        Ok(match &self.files {
            SampleFiles::Upper(upper) => WorkspaceRoot::Overlay(WorkspaceMount {
                lowers: self.template.layers.clone(),
                upper: upper.clone(),
                work: self.open.work_folder(self.place.path())?,
            }),
            SampleFiles::Folder { path, .. } => WorkspaceRoot::Folder(path.clone()),
        })
    }

    /// Copies files of the suite into the store, and shows them to the program.
    fn carry(
        &self,
        program: &WorkspaceProgram<'_>,
    ) -> Result<(Vec<ReadOnlyBind>, CarriedFiles), String> {
        let store = self.place.path().join("suite");
        let command = program.command;
        let files = CarriedFiles::of::<String>(&command.dir, program.named, |path| {
            let outside = || format!("{} is not in the suite's folder", path.display());
            let name = path.strip_prefix(&command.dir);
            let name = name.map_err(|_| outside())?;
            let to = store.join(name);
            let copy = || -> io::Result<()> {
                std::fs::create_dir_all(to.parent().unwrap_or(&store))?;
                std::fs::copy(path, &to).map(drop)
            };
            copy().map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            let at = self.shown_at(&store, Path::new(CARRIED));
            Ok(at.join(name).to_string_lossy().into_owned())
        })?;
        if !store.exists() {
            return Ok((Vec::new(), files));
        }
        give(&store, self.open.store.owner)
            .map_err(|error| format!("cannot pass files to the program: {error}"))?;
        let at = self.shown_at(&store, Path::new(CARRIED));
        Ok((vec![ReadOnlyBind { from: store, at }], files))
    }

    fn show_private(
        &self,
        files: Vec<PrivateFile>,
        read_only: &mut Vec<ReadOnlyBind>,
    ) -> io::Result<String> {
        if files.is_empty() {
            return Ok(String::new());
        }
        let from = self.open.store.folder(self.place.path().join("private"))?;
        write_all(&from, &files)?;
        give(&from, self.open.store.owner)?;
        let at = self.shown_at(&from, Path::new(PRIVATE));
        let shown = at.to_string_lossy().into_owned();
        read_only.push(ReadOnlyBind { from, at });
        Ok(shown)
    }

    /// Where a folder of the store is seen: where it is, in the tiers that share the host's file
    /// system.
    fn shown_at(&self, from: &Path, at: &Path) -> PathBuf {
        match self.open.shares_files() {
            true => from.to_owned(),
            false => at.to_owned(),
        }
    }

    /// Runs the command of a step to its end or its time limit. Both streams are whole: more than
    /// `output_bytes` in one of them ends the command.
    ///
    /// # Errors
    /// When it can't be run; what it does is in the answer.
    pub async fn run_command(
        &self,
        argv: &[String],
        timeout: Duration,
        output_bytes: u64,
    ) -> Result<ProgramResult, WorkspaceFault> {
        let root = self.root();
        let root = root.map_err(|error| fault(format!("cannot use a workspace: {error}")))?;
        let mut job = self.open.job(&self.definition, argv.to_vec(), root);
        job.limits.wall = timeout;
        job.limits.output_bytes = output_bytes;
        job.limits.output_end = output_bytes;
        let sandbox = self.open.sandbox(self.definition.network).await?;
        let ran = sandbox.run_in_workspace(job).await;
        Ok(ran.map_err(WorkspaceFault::of_sandbox)?.result)
    }

    /// Copies the files that programs added or changed, and that one of the globs fits.
    ///
    /// # Errors
    /// When there is no place for them.
    pub async fn copy_written(&self, globs: Vec<String>) -> Result<WrittenFiles, WorkspaceFault> {
        let (template, files) = (Arc::clone(&self.template), self.files.clone());
        let to = self.place.path().join("written");
        blocking(move || {
            let unread = |error: &dyn std::fmt::Display| {
                let reason = format!("the files that the command wrote can't be read: {error}");
                WorkspaceFault::new(Cause::Harness, reason)
            };
            let globs = globs.iter().map(|glob| path_glob(glob));
            let globs: Result<Vec<_>, _> = globs.collect();
            let globs = globs.map_err(|error| unread(&error))?;
            let edits = WorkspaceEdits::read(&template.view, &files.view());
            let edits = edits.map_err(|error| unread(&error))?;
            std::fs::create_dir_all(&to).map_err(|error| unread(&error))?;
            let mut unread_files = Vec::new();
            for path in edits.written() {
                let name = path.as_path();
                if !globs.iter().any(|glob| glob.is_match(name)) {
                    continue;
                }
                let why = match edits.look(path, WRITTEN_BYTES) {
                    Ok(EntryNow::File { bytes, .. }) if bytes > WRITTEN_BYTES => {
                        "is larger than 256 MiB".to_owned()
                    }
                    Ok(EntryNow::File { content, .. }) => {
                        let written = write_file(&to, path, &content, false, None);
                        written.map_err(|error| unread(&error))?;
                        continue;
                    }
                    Ok(_) => "is a link, which is not followed".to_owned(),
                    Err(error) => format!("can't be read: {error}"),
                };
                unread_files.push(format!("`{path}` {why}"));
            }
            Ok(WrittenFiles {
                folder: to,
                unread: unread_files,
            })
        })
        .await
    }

    /// Runs the commands of `teardown`.
    ///
    /// # Errors
    /// The first that does not succeed.
    pub async fn tear_down(&self) -> Result<(), WorkspaceFault> {
        for (at, argv) in self.definition.teardown.iter().enumerate() {
            let root = self.root();
            let root = root.map_err(|error| fault(format!("cannot use a workspace: {error}")))?;
            let what = format!("teardown[{at}] (`{}`)", argv.join(" "));
            self.open
                .run_step(&self.definition, argv, root, &what)
                .await?;
        }
        Ok(())
    }

    /// Looks at what the target left. `exit_code` is that of its program.
    pub async fn finish(self, exit_code: Option<i32>) -> Result<FinishedWorkspace, WorkspaceFault> {
        blocking(move || {
            let unread = |error| {
                let reason = format!("the workspace that the target left can't be read: {error}");
                WorkspaceFault::new(Cause::Harness, reason)
            };
            let (changes, diff, protected, left, is_in_diff) = {
                let edits = WorkspaceEdits::read(&self.template.view, &self.files.view());
                let edits = edits.map_err(unread)?;
                if edits.unread().is_some() {
                    return Err(too_many_files());
                }
                // Also those that take no room, since they would where they are copied.
                let most = self.definition.limits.disk_mb;
                if edits.bytes() >> 20 > most {
                    return Err(too_much(&format!(
                        "files of more than {most} MB (`disk_mb`)"
                    )));
                }
                let ignored = super::globs(&[HISTORIES.to_owned()])?;
                let compared = edits.compare(&ignored, &CompareBounds::default());
                let (changes, diff) = compared.map_err(unread)?;
                let plan = edits.restore_plan(&self.template.kept_globs);
                let plan = plan.map_err(unread)?;
                (
                    changes,
                    diff,
                    [plan.edited, plan.deleted, plan.added].concat(),
                    hex(&edits.digest().map_err(unread)?),
                    edits.fit_in_a_diff(&ignored),
                )
            };
            let copied = self.copied();
            let SampleWorkspace {
                open,
                template,
                definition,
                place,
                files,
                kind: _,
            } = self;
            let recorded = recorded_diff(&diff);
            let is_recorded = is_in_diff && !recorded.truncated;
            let output = WorkspaceOutput {
                diff: recorded,
                changes: recorded_changes(&changes),
                exit_code,
                template: template.digest.clone(),
                hidden: template.hidden_files_digest(),
                left,
                copied,
                kept: None,
                record: None,
                tree: None,
            };
            Ok(FinishedWorkspace {
                output,
                is_recorded,
                changes,
                diff,
                protected,
                open,
                template,
                definition,
                place,
                files,
            })
        })
        .await
    }
}

fn too_much(what: &str) -> WorkspaceFault {
    let reason = format!("the target left {what} in its workspace");
    WorkspaceFault::new(Cause::OutputLimit, reason)
}

pub(super) fn too_many_files() -> WorkspaceFault {
    too_much("more files, or deeper folders, than can be read")
}

/// The diff, if it is short enough to be recorded; else whole sections of its beginning.
fn recorded_diff(diff: &DiffText) -> DiffText {
    if diff.text.len() <= limits::WORKSPACE_DIFF {
        return diff.clone();
    }
    let begin = truncate_bytes(&diff.text, limits::WORKSPACE_DIFF);
    let whole = begin.rfind("\ndiff --git ").map_or(0, |at| at + 1);
    DiffText {
        text: begin.get(..whole).unwrap_or_default().to_owned(),
        truncated: true,
    }
}

/// As many changes as are recorded.
fn recorded_changes(changes: &WorkspaceChanges) -> WorkspaceChanges {
    let mut kept = changes.clone();
    let mut left = limits::WORKSPACE_PATH_BYTES;
    let lists = [
        &mut kept.added,
        &mut kept.modified,
        &mut kept.deleted,
        &mut kept.special,
        &mut kept.outside_links,
    ];
    for list in lists {
        let fits = |path: &&WorkspacePath| {
            let enough = left.checked_sub(path.as_bytes().len() + 4);
            enough.is_some_and(|rest| {
                left = rest;
                true
            })
        };
        let count = list.iter().take_while(fits).count();
        kept.truncated |= count < list.len();
        list.truncate(count);
    }
    let of_file = |file: &FileChange| 200 + 2 * file.path.as_bytes().len();
    let mut left = limits::WORKSPACE_PATH_BYTES;
    let fits = |file: &&FileChange| {
        let enough = left.checked_sub(of_file(file));
        enough.is_some_and(|rest| {
            left = rest;
            true
        })
    };
    let count = kept.files.iter().take_while(fits).count();
    kept.truncated |= count < kept.files.len();
    kept.files.truncate(count);
    kept
}

/// Writes files below a folder.
fn write_all(folder: &Path, files: &[PrivateFile]) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    for file in files {
        let path = folder.join(&file.name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(&path, &file.content)?;
        if file.is_executable {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// The time of the file system now, as its files have it.
fn time_of(folder: &Path) -> io::Result<SystemTime> {
    use std::os::unix::fs::MetadataExt as _;
    let path = folder.join("time");
    let meta = std::fs::File::create(&path)?.metadata()?;
    std::fs::remove_file(&path)?;
    let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or(0);
    let since = Duration::new(u64::try_from(meta.ctime()).unwrap_or(0), nanos);
    Ok(SystemTime::UNIX_EPOCH + since)
}

/// Gives a folder of files to those that programs run as.
pub(super) fn give(path: &Path, owner: super::store::Owner) -> io::Result<()> {
    let Some((user, group)) = owner else {
        return Ok(());
    };
    std::os::unix::fs::lchown(path, Some(user), Some(group))?;
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path)? {
            give(&entry?.path(), owner)?;
        }
    }
    Ok(())
}

/// Files of the suite that a command names, and the words by which the program finds them.
pub(crate) struct CarriedFiles(BTreeMap<String, String>);

impl CarriedFiles {
    /// `dir`: the suite's folder; `carry` takes a file of it, and says where the program finds it.
    pub fn of<E>(
        dir: &Path,
        argv: &[String],
        mut carry: impl FnMut(&Path) -> Result<String, E>,
    ) -> Result<CarriedFiles, E> {
        let mut found = BTreeMap::new();
        for (at, word) in argv.iter().enumerate() {
            let path = dir.join(word);
            let is_plain = !word.is_empty() && !word.contains('\0') && !word.starts_with('-');
            let is_own = path.starts_with(dir) && !word.split('/').any(|part| part == "..");
            // The first word without a slash is a program of PATH.
            let is_program = at == 0 && !word.contains('/');
            // Folders may hold what the target must not see.
            if is_plain && is_own && !is_program && !found.contains_key(word) && path.is_file() {
                found.insert(word.clone(), carry(&path)?);
            }
        }
        Ok(CarriedFiles(found))
    }

    pub fn words(&self, argv: &[String]) -> Vec<String> {
        let word = |word: &String| self.0.get(word).unwrap_or(word).clone();
        argv.iter().map(word).collect()
    }
}
