//! A workspace after its target has ended.

use std::any::Any;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::guarded::GuardedFiles;
use super::sample::{SampleFiles, give};
use super::store::LiveFolder;
use super::template::{WorkspaceTemplate, fault, list};
use super::{OpenWorkspaces, WorkspaceFault, blocking, record, set_all};
use crate::model::limits::WORKSPACE_RECORD;
use crate::model::{CaseWorkspace, Cause, Fingerprint, WorkspaceOutput};
use eval_base::redact::Redactor;
use eval_base::text::hex;
use eval_sandbox::{ProgramEnding, ReadOnlyBind, WorkspaceJob, WorkspaceMount, WorkspaceRoot};
use eval_workspace::{
    CopyRules, DiffText, EntryNow, PathGlobs, TemplateView, WorkspaceChanges, WorkspaceEdits,
    WorkspacePath, copy_tree, remove_tree, write_file,
};

/// Where test commands find files that are not in the workspace.
pub const BESIDE: &str = "/tmp/tests";

/// What a target left, frozen: no process that could write to it is alive.
#[derive(Debug)]
pub struct FinishedWorkspace {
    pub(super) output: WorkspaceOutput,
    /// The diff of `output` has all that is different.
    pub(super) is_recorded: bool,
    pub(super) changes: WorkspaceChanges,
    pub(super) diff: DiffText,
    pub(super) protected: Vec<WorkspacePath>,
    pub(super) open: Arc<OpenWorkspaces>,
    pub(super) template: Arc<WorkspaceTemplate>,
    pub(super) definition: Arc<CaseWorkspace>,
    pub(super) place: LiveFolder,
    pub(super) files: SampleFiles,
}

/// A command that tests a workspace, in a cell of its own above what the target left: hidden files
/// are there, protected and hidden ones are as the template has them, the network is off. What it
/// writes to the workspace is thrown away.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkspaceTestJob {
    pub argv: Vec<String>,
    /// Empty: the program reads the end at once.
    pub stdin: Vec<u8>,
    /// What the program reads once, from descriptor 3.
    pub given_once: Option<Vec<u8>>,
    /// Name of a file below `/results` that exists when the program starts, whose content counts only
    /// if it was opened once. Nothing else is in [`WorkspaceTestRun::results`] then.
    pub verdict: Option<String>,
    pub env: Vec<(String, String)>,
    /// Relative to the workspace; empty: there.
    pub cwd: String,
    /// Laid on the workspace before, by path.
    pub files: Vec<(String, Vec<u8>)>,
    /// Read-only files outside of the workspace, by name: each is at `/tmp/tests/NAME`, which words and
    /// variables may begin with.
    pub beside: Vec<(String, Vec<u8>)>,
    pub timeout: Duration,
    pub memory_mb: u64,
    /// Bytes of stdout, and of stderr, that are kept.
    pub output_bytes: u64,
    /// Globs of files whose changes are in [`WorkspaceTestRun::rewritten`], besides those of hidden and
    /// protected ones and `files`.
    pub watched: Vec<String>,
    /// Globs of files of which none may be added either.
    pub steering: Vec<String>,
    /// Put back as the template has them, like protected ones.
    pub put_back: Vec<WorkspacePath>,
    /// Whether the end of stderr is kept, and not its beginning.
    pub stderr_tail: bool,
}

/// What became of a test command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceTestRun {
    pub ending: ProgramEnding,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub stdout_truncated: bool,
    /// Whether stdout or stderr was cut.
    pub output_truncated: bool,
    /// What it wrote below `/results`: relative path, content.
    pub results: Vec<(String, Vec<u8>)>,
    /// Whether files were left out of `results`.
    pub results_cut: bool,
    /// Whether any process may have written the file for the verdict.
    pub verdict_doubted: bool,
    /// Watched files that were there before and that it opened for writing, replaced or deleted, and
    /// those of `steering` that it added; data that it only opened is not among them.
    pub rewritten: Vec<WorkspacePath>,
}

impl FinishedWorkspace {
    /// What is recorded of it.
    pub fn output(&self) -> &WorkspaceOutput {
        &self.output
    }

    /// As the case describes it.
    pub fn definition(&self) -> &CaseWorkspace {
        &self.definition
    }

    /// What changed; `output` may have fewer.
    pub fn changes(&self) -> &WorkspaceChanges {
        &self.changes
    }

    /// The whole diff, where that of `output` is cut.
    pub fn diff(&self) -> &DiffText {
        &self.diff
    }

    /// Protected and hidden paths that the target changed, deleted or added: they are put back before
    /// tests run.
    pub fn protected_edits(&self) -> &[WorkspacePath] {
        &self.protected
    }

    /// Files that no target saw.
    pub fn hidden_files(&self) -> &[WorkspacePath] {
        let [_, hidden] = &self.template.files;
        hidden
    }

    /// What is at a path now, with the first `most` bytes of a file. Links are not followed.
    ///
    /// # Errors
    /// A file that can't be read.
    pub async fn file(&self, path: &WorkspacePath, most: u64) -> Result<EntryNow, WorkspaceFault> {
        let (template, view) = (Arc::clone(&self.template), self.files.clone());
        let path = path.clone();
        blocking(move || {
            let edits = WorkspaceEdits::read(&template.view, &view.view()).map_err(unread)?;
            edits.look(&path, most).map_err(unread)
        })
        .await
    }

    /// What was at a path before the target ran; hidden files are not among it.
    ///
    /// # Errors
    /// A file that can't be read.
    pub async fn file_before(
        &self,
        path: &WorkspacePath,
        most: u64,
    ) -> Result<EntryNow, WorkspaceFault> {
        let (template, path) = (Arc::clone(&self.template), path.clone());
        blocking(move || template.view.look(&path, most).map_err(unread)).await
    }

    /// Whether the target found or left something at a path that is neither protected nor hidden.
    ///
    /// # Errors
    /// A file that can't be read.
    pub async fn is_in_hands_of_target(
        &self,
        path: &WorkspacePath,
    ) -> Result<bool, WorkspaceFault> {
        Ok(!self.template.kept_globs.fit(path)
            && (self.file(path, 0).await? != EntryNow::Absent
                || self.file_before(path, 0).await? != EntryNow::Absent))
    }

    /// Runs a test command.
    ///
    /// # Errors
    /// When it can't be run; what it does is in the answer.
    pub async fn test(&self, job: WorkspaceTestJob) -> Result<WorkspaceTestRun, WorkspaceFault> {
        self.open
            .test(&self.template, &self.definition, Some(&self.files), job)
            .await
    }

    /// Runs it where no target has been. The same job on the same template runs once in a run, and what
    /// `read` makes of it is kept: streams and files of results may be large. `reading` tells apart
    /// different readings of the same job.
    ///
    /// # Errors
    /// As for [`FinishedWorkspace::test`]; then the next call tries again.
    pub async fn test_before<T: Any + Send + Sync>(
        &self,
        job: WorkspaceTestJob,
        reading: impl Serialize,
        read: impl FnOnce(WorkspaceTestRun) -> T,
    ) -> Result<Arc<T>, WorkspaceFault> {
        let digests = |files: &[(String, Vec<u8>)]| -> Vec<(String, String)> {
            let digest = |content: &[u8]| hex(&Sha256::digest(content));
            files
                .iter()
                .map(|(name, content)| (name.clone(), digest(content)))
                .collect()
        };
        let key = Fingerprint::of(&(
            (
                &self.template.digest,
                &self.template.hidden_digest,
                &*self.definition,
            ),
            (
                &job.argv,
                &job.env,
                &job.cwd,
                hex(&Sha256::digest(&job.stdin)),
                (&job.given_once, &job.verdict),
            ),
            (digests(&job.files), digests(&job.beside)),
            (job.timeout, job.memory_mb, job.output_bytes),
            (&job.watched, &job.steering, job.stderr_tail, reading),
        ));
        let cell = {
            let before = self.open.before.lock();
            let mut before = before.unwrap_or_else(PoisonError::into_inner);
            Arc::clone(before.entry(key).or_default())
        };
        let kept = cell.get_or_try_init(|| async {
            let run = self.open.test(&self.template, &self.definition, None, job);
            let kept: Arc<dyn Any + Send + Sync> = Arc::new(read(run.await?));
            Ok::<_, WorkspaceFault>(kept)
        });
        Arc::clone(kept.await?).downcast().map_err(|_| {
            let reason = "internal error: the result of a test command has an unexpected type";
            WorkspaceFault::new(Cause::Harness, reason)
        })
    }

    /// Runs the commands of `teardown`, in the sandbox whatever the target ran in.
    ///
    /// # Errors
    /// The first that does not succeed.
    pub async fn tear_down(&self) -> Result<(), WorkspaceFault> {
        if self.definition.teardown.is_empty() {
            return Ok(());
        }
        if let SampleFiles::Folder { path, .. } = &self.files {
            let (path, owner) = (path.clone(), self.open.store.owner);
            let given = blocking(move || give(&path, owner).map_err(|e| fault(e.to_string())));
            given.await?;
        }
        for (at, argv) in self.definition.teardown.iter().enumerate() {
            let what = format!("teardown[{at}] (`{}`)", argv.join(" "));
            let failed = |why: String| {
                let reason = format!("{what} {why}");
                WorkspaceFault::new(Cause::SetupFailed, reason)
            };
            let root = match &self.files {
                SampleFiles::Folder { path, .. } => WorkspaceRoot::Folder(path.clone()),
                SampleFiles::Upper(upper) => {
                    let work = self.open.work_folder(self.place.path());
                    WorkspaceRoot::Overlay(WorkspaceMount {
                        lowers: self.template.layers.clone(),
                        upper: upper.clone(),
                        work: work.map_err(|error| failed(error.to_string()))?,
                    })
                }
            };
            self.open
                .run_step(&self.definition, argv, root, &what)
                .await?;
        }
        Ok(())
    }

    /// Copies what the target left to `to`, a new folder.
    ///
    /// # Errors
    /// When it can't be written.
    pub async fn keep(&self, to: PathBuf) -> Result<(), WorkspaceFault> {
        let (template, files) = (Arc::clone(&self.template), self.files.clone());
        let left_out = unfit(&self.changes);
        blocking(move || {
            let cannot = |why: String| {
                let reason = format!("the workspace can't be kept at {}: {why}", to.display());
                WorkspaceFault::new(Cause::Harness, reason)
            };
            // Of an attempt whose end was not recorded.
            remove_tree(&to).map_err(|error| cannot(error.to_string()))?;
            std::fs::create_dir_all(&to).map_err(|error| cannot(error.to_string()))?;
            let written = || {
                let edits = WorkspaceEdits::read(&template.view, &files.view())?;
                template.copy_to(&to, None)?;
                edits.put_on(&to, &left_out, None)
            };
            written().map_err(|error| cannot(error.to_string()))
        })
        .await
    }

    /// Whether the diff of `output` has all that is different.
    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// Records all that is different in the file `to`: whether it was recorded. Where there is too much
    /// of it, or a secret in it, nothing is.
    ///
    /// # Errors
    /// When it can't be written.
    pub async fn record(&self, to: PathBuf, redactor: Redactor) -> Result<bool, WorkspaceFault> {
        let (template, files) = (Arc::clone(&self.template), self.files.clone());
        let open = Arc::clone(&self.open);
        blocking(move || {
            let edits = WorkspaceEdits::read(&template.view, &files.view()).map_err(unread)?;
            let bytes = edits.bytes();
            if bytes > WORKSPACE_RECORD || !record::reserve(&open.records, bytes) {
                return Ok(false);
            }
            record::write(&edits, &to, &redactor).map_err(|error| {
                let to = to.display();
                let reason = format!("the workspace can't be recorded in {to}: {error}");
                WorkspaceFault::new(Cause::Harness, reason)
            })
        })
        .await
    }
}

/// What a copy may hold.
pub(super) fn most_bytes(template: &WorkspaceTemplate, definition: &CaseWorkspace) -> u64 {
    let left = (definition.limits.disk_mb + 1) << 20;
    template.view.listing().bytes().saturating_add(left)
}

/// Pipes, devices and links that lead out, which are not copied.
fn unfit(changes: &eval_workspace::WorkspaceChanges) -> PathGlobs {
    let paths = changes.special.iter().chain(&changes.outside_links);
    PathGlobs::of_paths(paths)
}

fn unread(error: eval_workspace::TreeError) -> WorkspaceFault {
    let reason = format!("a file of the workspace can't be read: {error}");
    WorkspaceFault::new(Cause::Harness, reason)
}

/// The workspace in which a test command runs.
struct TestPlace {
    /// Goes when the command has ended.
    _place: LiveFolder,
    root: WorkspaceRoot,
    beside: Option<PathBuf>,
    guarded: GuardedFiles,
}

impl OpenWorkspaces {
    async fn test(
        self: &Arc<Self>,
        template: &Arc<WorkspaceTemplate>,
        definition: &CaseWorkspace,
        files: Option<&SampleFiles>,
        test: WorkspaceTestJob,
    ) -> Result<WorkspaceTestRun, WorkspaceFault> {
        let (open, template, files) = (Arc::clone(self), Arc::clone(template), files.cloned());
        let of_case = definition.clone();
        let (test, place) = blocking(move || {
            let place = open.test_place(&template, &of_case, files.as_ref(), &test)?;
            Ok((test, place))
        })
        .await?;
        let mut job: WorkspaceJob = self.job(definition, test.argv, place.root);
        set_all(
            &mut job.env,
            test.env.iter().map(|(name, value)| (name, value)),
        );
        job.stdin = test.stdin;
        job.given_once = test.given_once;
        job.verdict = test.verdict;
        job.cwd = PathBuf::from(test.cwd);
        job.limits.wall = test.timeout;
        job.limits.memory_mb = test.memory_mb;
        job.limits.output_bytes = test.output_bytes;
        job.limits.stderr_tail = test.stderr_tail;
        if let Some(from) = place.beside {
            let at = PathBuf::from(BESIDE);
            job.read_only.push(ReadOnlyBind { from, at });
        }
        let ran = self.closed.run_in_workspace(job).await;
        let ran = ran.map_err(WorkspaceFault::of_sandbox)?;
        let guarded = place.guarded;
        let rewritten = blocking(move || {
            let changed = guarded.changed();
            changed.map_err(|error| {
                let reason = format!("cannot check whether test files changed: {error}");
                WorkspaceFault::new(Cause::Harness, reason)
            })
        });
        let rewritten = rewritten.await?;
        let streams = ran.result.streams;
        Ok(WorkspaceTestRun {
            ending: ran.result.ending,
            stdout_truncated: streams.stdout_truncated,
            output_truncated: streams.stdout_truncated || streams.stderr_truncated,
            stdout: streams.stdout,
            stderr: streams.stderr,
            results: ran.results,
            results_cut: ran.results_cut,
            verdict_doubted: ran.verdict_doubted,
            rewritten,
        })
    }

    /// Whether programs see the host's files at their own places.
    pub(super) fn shares_files(&self) -> bool {
        self.closed.state().tier == eval_sandbox::Tier::Landlock
    }

    fn test_place(
        &self,
        template: &WorkspaceTemplate,
        definition: &CaseWorkspace,
        files: Option<&SampleFiles>,
        test: &WorkspaceTestJob,
    ) -> Result<TestPlace, WorkspaceFault> {
        let cannot = |why: String| {
            let reason = format!("the workspace of the tests can't be created: {why}");
            WorkspaceFault::new(Cause::Harness, reason)
        };
        let io = |error: io::Error| cannot(error.to_string());
        let tree = |error: eval_workspace::TreeError| cannot(error.to_string());
        let owner = self.store.owner;
        let place = self.store.place().map_err(io)?;
        let folder = |name: &str| self.store.folder(place.path().join(name)).map_err(io);
        let edits = files.map(|files| WorkspaceEdits::read(&template.view, &files.view()));
        let edits = edits.transpose().map_err(tree)?;
        let kept = template.kept_globs.clone();
        let kept = kept.with_paths(test.put_back.iter().cloned());
        let plan = edits.as_ref().map(|edits| edits.restore_plan(&kept));
        let plan = plan.transpose().map_err(tree)?;
        let is_copy = self.mode.is_copy();
        let (root, tests) = match files {
            Some(SampleFiles::Upper(_)) | None if !is_copy => {
                let tests = folder("tests")?;
                let mut lowers = vec![tests.clone(), template.hidden.clone()];
                if let (Some(SampleFiles::Upper(upper)), Some(plan)) = (files, &plan) {
                    let restored = folder("restored")?;
                    plan.write_layer(&restored, owner).map_err(tree)?;
                    lowers.extend([restored, upper.clone()]);
                }
                lowers.extend(template.layers.iter().cloned());
                let root = WorkspaceRoot::Overlay(WorkspaceMount {
                    lowers,
                    upper: folder("upper")?,
                    work: folder("work")?,
                });
                (root, tests)
            }
            _ => {
                let copy = folder("workspace")?;
                match (files, &edits) {
                    // As in the layers of an overlay, where links that lead out end in the cell.
                    (Some(SampleFiles::Folder { .. }), Some(edits)) if !is_copy => {
                        template.copy_to(&copy, owner).map_err(tree)?;
                        edits
                            .put_on(&copy, &PathGlobs::default(), owner)
                            .map_err(tree)?;
                    }
                    (Some(SampleFiles::Folder { path, .. }), _) => {
                        let (changes, _) = match &edits {
                            Some(edits) => edits
                                .compare(&PathGlobs::default(), &nothing_compared())
                                .map_err(tree)?,
                            None => Default::default(),
                        };
                        let rules = CopyRules {
                            leave_out: unfit(&changes),
                            owner,
                            // Those of the setup; the target's are left out.
                            outside_links: true,
                            max_bytes: most_bytes(template, definition),
                            ..CopyRules::default()
                        };
                        copy_tree(path, &copy, &rules).map_err(tree)?;
                    }
                    _ => template.copy_to(&copy, owner).map_err(tree)?,
                }
                if let Some(plan) = &plan {
                    plan.restore_tree(&copy, owner).map_err(tree)?;
                }
                let hidden = TemplateView::new(&template.hidden, list(&template.hidden)?);
                let hidden = hidden.map_err(io)?;
                hidden
                    .write_tree(&copy, &PathGlobs::default(), owner)
                    .map_err(tree)?;
                (WorkspaceRoot::Folder(copy.clone()), copy)
            }
        };
        for (name, content) in &test.files {
            let path = WorkspacePath::new(name.as_bytes());
            let path = path.map_err(|error| cannot(error.to_string()))?;
            write_file(&tests, &path, content, false, owner).map_err(tree)?;
        }
        let mut beside = None;
        if !test.beside.is_empty() {
            let folder = folder("beside")?;
            for (name, content) in &test.beside {
                let path = WorkspacePath::new(name.as_bytes());
                let path = path.map_err(|error| cannot(error.to_string()))?;
                write_file(&folder, &path, content, true, owner).map_err(tree)?;
            }
            beside = Some(folder);
        }
        let steering = super::globs(&test.steering)?;
        let watched = template.watched([&test.watched, &test.steering])?;
        let mut watched = watched.to_vec();
        watched.extend(test.files.iter().filter_map(|(name, _)| name.parse().ok()));
        let guarded = match &root {
            WorkspaceRoot::Overlay(mount) => {
                let (upper, lowers) = (mount.upper.clone(), mount.lowers.clone());
                GuardedFiles::below(upper, lowers, watched, steering)
            }
            WorkspaceRoot::Folder(folder) => {
                let watches = GuardedFiles::in_folder(folder.clone(), watched, steering);
                watches.map_err(|error| {
                    cannot(format!(
                        "the folders of its tests can't be watched ({error}); raise `fs.inotify.max_user_instances` \
                         and `fs.inotify.max_user_watches`"
                    ))
                })?
            }
        };
        Ok(TestPlace {
            _place: place,
            root,
            beside,
            guarded,
        })
    }
}

/// Paths alone, all of them.
fn nothing_compared() -> eval_workspace::CompareBounds {
    eval_workspace::CompareBounds {
        paths: usize::MAX,
        files: 0,
        read_bytes: 0,
        ..eval_workspace::CompareBounds::default()
    }
}
