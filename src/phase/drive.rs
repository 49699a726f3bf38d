//! Works the steps off, in order, and makes one report of what they came to.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::changes;
use super::checked::{command_step, copy_step, junit_step, redact};
use super::command;
use super::decide::gate;
use super::places;
use super::ready::{BaseCommit, ReadyPhase, ReadySuite};
use super::report::recommendations;
use super::steps::{EvalEnd, StepContext, StepRun, eval_step};
use super::written::ReportFiles;
use crate::gate::ExitCode;
use crate::load::AFTER_TESTS_PASS;
use crate::model::{
    Decision, Implementation, NotifyChannel, Phase, PhaseGate, PhaseMetadata, PhaseReport,
    PhaseStep, StepPlacement, StepResult, StepStatus, StepWork,
};
use crate::run::{self, CancelLevel, CancelSwitch, RunObserver, harness_version};
use crate::spec::FailureAction;
use crate::workspace::RunWorkspaces;
use eval_base::clock::{Clock, rfc3339};
use eval_base::redact::Redactor;

/// Hears of each step.
pub trait PhaseWatcher {
    /// A step is about to run; `number` counts from 1.
    fn begins(&mut self, number: usize, of: usize, step: &PhaseStep);

    fn ended(&mut self, result: &StepResult);

    /// A piece of what the command of a step wrote.
    fn heard(&mut self, bytes: &[u8]);

    /// Who watches the run of the step that has begun.
    fn observers(&mut self) -> Vec<&mut dyn RunObserver>;
}

/// Everything that a phase needs from outside.
pub struct PhaseRun<'a> {
    pub ready: ReadyPhase,
    /// The program that builds sandbox cells: this one.
    pub helper: PathBuf,
    /// Where layers of workspaces are kept; `None` for a folder of temporary files.
    pub cache: Option<PathBuf>,
    pub clock: &'a dyn Clock,
    pub cancel: CancelSwitch,
    pub watcher: &'a mut dyn PhaseWatcher,
}

/// A phase that was worked off.
pub struct FinishedPhase {
    pub phase: Phase,
    pub report: PhaseReport,
    /// The runs of its eval steps.
    pub runs: Vec<StepRun>,
    pub files: ReportFiles,
    pub results: PathBuf,
    /// Who is told, each once.
    pub channels: Vec<NotifyChannel>,
}

impl FinishedPhase {
    /// Whether everything that was checked passed, and not only what blocks.
    pub fn passed_whole(&self) -> bool {
        let fine =
            |step: &StepResult| matches!(step.status, StepStatus::Passed | StepStatus::NotChecked);
        self.report.gate.exit_code == 0 && self.report.steps.iter().all(fine)
    }
}

/// Works off a phase. It comes to an end whatever its steps do.
pub async fn drive(run: PhaseRun<'_>) -> FinishedPhase {
    let PhaseRun {
        ready,
        helper,
        cache,
        clock,
        cancel,
        watcher,
    } = run;
    let ReadyPhase {
        phase,
        suites,
        results,
        files,
        comment,
        begun,
        channels,
        warnings: _,
    } = ready;
    let (started, timer) = (clock.now(), Instant::now());
    // What this program writes is nobody's implementation.
    let mut own = vec![results.clone()];
    own.extend(files.all().into_iter().cloned());
    own.extend(comment.and_then(|path| std::path::absolute(path).ok()));
    own.extend(
        suites
            .iter()
            .map(|suite| suite.prepared.plan.reporting.output_dir.clone()),
    );
    let git = run::git_state(&phase.root);
    let secrets = suites.iter().flat_map(|suite| &suite.prepared.plan.secrets);
    let redactor = Redactor::new(secrets.cloned());
    let mut line = PhaseDriver {
        phase: &phase,
        suites: suites.into_iter(),
        workspaces: command::workspaces(helper.clone(), phase.root.clone(), cache),
        helper,
        clock,
        cancel,
        watcher,
        commanded: false,
        wrong: false,
        notes: Vec::new(),
        runs: Vec::new(),
        redactor,
    };
    let metadata = PhaseMetadata {
        phase_id: phase.id.clone(),
        name: phase.name.clone(),
        description: phase.description.clone(),
        file: relative(&phase),
        when: phase.when.clone(),
        timestamp: rfc3339(started),
        duration_seconds: 0.0,
        harness_version: harness_version().to_owned(),
        git,
    };
    // An earlier report must not speak for this phase, should it be killed. That it can't be
    // written is told at the end.
    let _ = files.write(&unfinished(&phase, metadata.clone()));
    let steps = line.all().await;
    line.workspaces.close().await;
    let PhaseDriver {
        cancel,
        wrong,
        mut notes,
        runs,
        ..
    } = line;
    let interrupted = cancel.level() > CancelLevel::Run;
    let (implementation, untold) = implementation(&phase.root, begun.as_ref(), &own);
    notes.extend(untold);
    let metadata = PhaseMetadata {
        duration_seconds: timer.elapsed().as_secs_f64(),
        ..metadata
    };
    let report = PhaseReport {
        metadata,
        gate: gate(&steps, interrupted, wrong),
        implementation,
        recommendations: recommendations(&steps),
        steps,
        notes,
    };
    FinishedPhase {
        phase,
        report,
        runs,
        files,
        results,
        channels,
    }
}

/// What the report says until the phase has come to its end.
fn unfinished(phase: &Phase, metadata: PhaseMetadata) -> PhaseReport {
    let reached = |step: &PhaseStep| StepResult::plain(step, StepStatus::NotReached);
    let gate = PhaseGate {
        decision: Decision::Incomplete,
        exit_code: ExitCode::Incomplete.code(),
        reasons: vec![
            "the phase has not finished: it is still running, or it was killed".to_owned(),
        ],
        interrupted: false,
    };
    PhaseReport {
        metadata,
        gate,
        implementation: None,
        steps: phase.steps.iter().map(reached).collect(),
        recommendations: Vec::new(),
        notes: Vec::new(),
    }
}

/// The steps as they are worked off.
struct PhaseDriver<'a> {
    phase: &'a Phase,
    suites: std::vec::IntoIter<ReadySuite>,
    helper: PathBuf,
    clock: &'a dyn Clock,
    cancel: CancelSwitch,
    watcher: &'a mut dyn PhaseWatcher,
    /// Of the steps whose commands run in copies.
    workspaces: RunWorkspaces,
    /// A command has run in place, which may have changed what was loaded.
    commanded: bool,
    wrong: bool,
    notes: Vec<String>,
    runs: Vec<StepRun>,
    /// What suites keep secret, commands may print.
    redactor: Redactor,
}

impl PhaseDriver<'_> {
    async fn all(&mut self) -> Vec<StepResult> {
        let phase = self.phase;
        let of = phase.steps.len();
        let mut over: Option<String> = None;
        let mut results = Vec::with_capacity(of);
        for (index, step) in phase.steps.iter().enumerate() {
            if over.is_none() && self.cancel.level() > CancelLevel::Run {
                over = Some("interrupted".to_owned());
            }
            if let Some(why) = &over {
                let result = StepResult {
                    reason: why.clone(),
                    ..StepResult::plain(step, StepStatus::NotReached)
                };
                self.watcher.ended(&result);
                results.push(result);
                continue;
            }
            self.watcher.begins(index + 1, of, step);
            let mut result = self.one(step).await;
            redact(&mut result, &self.redactor);
            places::from_root(&mut result, &phase.root);
            self.watcher.ended(&result);
            if ends_the_phase(phase, step, &result) {
                over = Some(format!("{} did not pass", step.name));
            }
            results.push(result);
        }
        results
    }

    async fn one(&mut self, step: &PhaseStep) -> StepResult {
        match &step.work {
            StepWork::Unchecked => StepResult::plain(step, StepStatus::NotChecked),
            StepWork::Command(command) => {
                self.commanded |= matches!(command.place, StepPlacement::InPlace(_));
                let watcher = &mut *self.watcher;
                let mut heard = |bytes: &[u8]| watcher.heard(bytes);
                match &command.place {
                    StepPlacement::InPlace(dir) => {
                        let (command, root) = ((command, dir.as_path()), &self.phase.root);
                        command_step(step, command, &self.cancel, &mut heard, root).await
                    }
                    StepPlacement::Copy(workspace) => {
                        let command = (command, workspace);
                        copy_step(step, command, &self.workspaces, &self.cancel, &mut heard).await
                    }
                }
            }
            StepWork::Junit(globs) => {
                let timer = Instant::now();
                let result = junit_step(step, globs, &self.phase.root);
                StepResult {
                    duration_seconds: timer.elapsed().as_secs_f64(),
                    ..result
                }
            }
            StepWork::Eval(eval) => {
                let Some(suite) = self.suites.next() else {
                    let reason = "its suite was not loaded".to_owned();
                    return StepResult {
                        reason,
                        ..StepResult::plain(step, StepStatus::Incomplete)
                    };
                };
                let outside = StepContext {
                    helper: self.helper.clone(),
                    clock: self.clock,
                    cancel: self.cancel.clone(),
                    observers: self.watcher.observers(),
                    root: &self.phase.root,
                };
                let EvalEnd {
                    result,
                    run,
                    wrong,
                    note,
                } = eval_step(step, eval, suite, self.commanded, outside).await;
                self.wrong |= wrong;
                self.notes.extend(note);
                self.runs.extend(run);
                result
            }
        }
    }
}

/// A step that blocks and did not pass ends the phase. Test results before a trigger's evals end it
/// only when the evals wait for tests that pass; else both are told.
fn ends_the_phase(phase: &Phase, step: &PhaseStep, result: &StepResult) -> bool {
    let fine = matches!(result.status, StepStatus::Passed | StepStatus::NotChecked);
    let waits = phase
        .when
        .as_deref()
        .is_none_or(|when| when == AFTER_TESTS_PASS);
    !fine
        && step.action == FailureAction::Block
        && (waits || !matches!(step.work, StepWork::Junit(_)))
}

/// What changed in git since the phase began, or a note on why nobody can tell.
fn implementation(
    root: &Path,
    begun: Option<&BaseCommit>,
    leave_out: &[PathBuf],
) -> (Option<Implementation>, Option<String>) {
    let Some(begun) = begun else {
        return (None, None);
    };
    let base = begun.base.clone();
    match changes::since(root, &begun.commit, leave_out) {
        Ok(found) => (Some(Implementation { base, ..found }), None),
        Err(error) => {
            let note = format!("the changes since `{base}` are unknown: {error}");
            (None, Some(note))
        }
    }
}

/// The file of the phase, relative to the project root.
fn relative(phase: &Phase) -> String {
    let name = phase.path.file_name().unwrap_or_default();
    let path = phase.dir.join(name);
    path.strip_prefix(&phase.root)
        .unwrap_or(&path)
        .display()
        .to_string()
}
