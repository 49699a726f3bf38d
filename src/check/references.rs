//! Right answers: of the suite, of a file, or the value that a case expects.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::CheckError;
use super::expected::expected_value;
use crate::grade::RunGraders;
use crate::model::{
    Case, CaseWorkspace, CommandTarget, EnvFile, OnError, OutputFormat, OutputValue, Plan,
    SolutionWork, Target,
};
use crate::run::{CancelLevel, CancelSwitch, RunError, graders};
use crate::target::RunTargets;
use crate::workspace::{CHANGES_FILE, FinishedWorkspace, RecordedWork, WorkspaceFault};
use eval_base::redact::Redactor;

/// The folder of the work of references, in that of the probes.
const FOLDER: &str = "references";

/// A right answer.
pub(super) struct Reference {
    pub output: OutputValue,
    /// It is the value that the case expects, in place of a `solution`.
    pub is_expected: bool,
    /// The file or folder of its work in a workspace, relative to the folder of probes.
    pub work: Option<String>,
    /// Why there is none.
    pub not_made: Option<String>,
}

impl Reference {
    fn written(output: OutputValue) -> Reference {
        Reference {
            output,
            is_expected: false,
            work: None,
            not_made: None,
        }
    }

    /// Whether it is work in a workspace, and no patch.
    pub fn is_work(&self) -> bool {
        self.work.is_some() || self.not_made.is_some()
    }

    fn not_made(why: &str) -> Reference {
        Reference {
            not_made: Some(format!("the reference could not be made: {why}")),
            ..Reference::written(OutputValue::Text(String::new()))
        }
    }
}

/// Where right answers come from.
pub(super) struct References {
    oracle: Option<RunTargets>,
    /// Runs the commands of solutions.
    commands: RunTargets,
    graders: RunGraders,
    folder: PathBuf,
    cancel: CancelSwitch,
    made: AtomicUsize,
}

impl References {
    /// `oracle`: a file of references. `folder`: that of the probes.
    pub fn open(
        plan: &Plan,
        oracle: Option<&Path>,
        folder: &Path,
        helper: &Path,
        cancel: CancelSwitch,
    ) -> Result<References, CheckError> {
        let open = |plan: &Plan| RunTargets::open(plan).map_err(RunError::from);
        let oracle = oracle.map(|path| Plan {
            target: Some(super::recorded(path)),
            ..plan.clone()
        });
        let none = Plan {
            evals: Vec::new(),
            whole: Vec::new(),
            target: None,
            ..plan.clone()
        };
        let commands = open(&none)?;
        Ok(References {
            oracle: oracle.as_ref().map(open).transpose()?,
            graders: graders(plan, helper.to_owned(), commands.models(), &None),
            commands,
            folder: folder.to_owned(),
            cancel,
            made: AtomicUsize::new(0),
        })
    }

    /// What is wrong with the file of references, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let oracle = self.oracle.as_ref();
        oracle.map_or_else(Vec::new, |oracle| oracle.warnings().to_vec())
    }

    /// Removes what was needed to make references.
    pub async fn close(&self) {
        self.graders.close_workspaces().await;
    }

    /// A right answer of a file, else the case's own, else the value that it expects.
    pub async fn of(&self, eval: &str, case: &Case) -> Result<Option<Reference>, CheckError> {
        if let Some(oracle) = &self.oracle
            && oracle.recorded_samples(eval, &case.id, None).unwrap_or(0) > 0
        {
            let answer = oracle.ask(eval, case, (0, 0), None).await.result;
            let output = answer.map_err(|failure| CheckError::Oracle(failure.reason))?;
            let Some(left) = output.workspace else {
                return Ok(Some(Reference::written(output.value)));
            };
            return Ok(Some(match (left.tree, &case.workspace) {
                (None, _) => Reference::written(OutputValue::Text(left.diff.text)),
                (Some(tree), Some(workspace)) => {
                    let made = self.laid(workspace, RecordedWork::of_tree(tree)).await;
                    self.reference(made.map(|left| (left, output.value))).await
                }
                (Some(_), None) => {
                    let why = format!("the case `{}` has no workspace", case.id);
                    return Err(CheckError::Oracle(why));
                }
            }));
        }
        if let (Some(work), Some(workspace)) = (&case.solution_work, &case.workspace) {
            let made = match &**work {
                SolutionWork::Files(tree) => {
                    let made = self
                        .laid(workspace, RecordedWork::Files(tree.clone()))
                        .await;
                    made.map(|left| (left, OutputValue::Text(String::new())))
                }
                SolutionWork::Command { argv, dir } => tokio::select! {
                    biased;
                    () = self.cancel.reached(CancelLevel::Finish) => {
                        Err("the check was interrupted".to_owned())
                    }
                    made = self.worked(eval, case, workspace, (argv, dir)) => made,
                },
            };
            return Ok(Some(self.reference(made).await));
        }
        let expected = || {
            let output = expected_value(case)?;
            Some(Reference {
                is_expected: true,
                ..Reference::written(output)
            })
        };
        let own = case.solution.clone().map(Reference::written);
        Ok(own.or_else(expected))
    }

    async fn laid(
        &self,
        workspace: &Arc<CaseWorkspace>,
        work: RecordedWork,
    ) -> Result<FinishedWorkspace, String> {
        let workspaces = self.graders.workspaces().await;
        let made = workspaces.recorded(workspace, work).await;
        made.map_err(|fault| fault.reason)
    }

    /// Runs a command in the workspace, without a network.
    async fn worked(
        &self,
        eval: &str,
        case: &Case,
        workspace: &Arc<CaseWorkspace>,
        (argv, dir): (&[String], &Path),
    ) -> Result<(FinishedWorkspace, OutputValue), String> {
        let said = |fault: WorkspaceFault| fault.reason;
        let workspaces = self.graders.workspaces().await;
        let place = workspaces.sample(workspace, false).await.map_err(said)?;
        let place = place.offline();
        let command = CommandTarget {
            argv: argv.to_vec(),
            dir: dir.to_owned(),
            env: Vec::new(),
            env_file: EnvFile::default(),
            timeout: None,
            on_error: OnError::Error,
            output: OutputFormat::Text,
            sandbox: true,
            isolation: None,
            separate_thoughts: false,
            depends_on: None,
        };
        let case = Case {
            target: Some(Target::Command(command)),
            ..case.clone()
        };
        let answer = self.commands.ask(eval, &case, (0, 0), Some(&place)).await;
        let output = answer.result.map_err(|failure| failure.reason)?;
        let left = place.finish(answer.exit_code).await.map_err(said)?;
        Ok((left, output.value))
    }

    /// Records the work of a reference beside the probes: what is different, or all of it where that is
    /// too much.
    async fn reference(&self, made: Result<(FinishedWorkspace, OutputValue), String>) -> Reference {
        let (left, output) = match made {
            Ok(made) => made,
            Err(why) => return Reference::not_made(&why),
        };
        let changes = left.changes();
        let mut odd = changes.special.iter().chain(&changes.outside_links);
        if let Some(path) = odd.next() {
            let why = format!("it leaves `{path}`, a pipe, a socket or a link that leads out");
            return Reference::not_made(&why);
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let mut work = format!("{FOLDER}/{number}{CHANGES_FILE}");
        let recorded = left.record(self.folder.join(&work), Redactor::default());
        let written = match recorded.await {
            Ok(true) => Ok(()),
            Ok(false) => {
                work = format!("{FOLDER}/{number}");
                left.keep(self.folder.join(&work)).await
            }
            Err(fault) => Err(fault),
        };
        if let Err(fault) = written {
            return Reference::not_made(&fault.reason);
        }
        Reference {
            work: Some(work),
            ..Reference::written(output)
        }
    }
}
