//! Phase plans and triggers: from a file to a [`Phase`], with every suite that it names loaded
//! before anything runs.
//!
//! `plan` reads phases and `trigger` triggers, `step` judges what a step says, `asked` what an eval
//! step asks of its suite, `report_path` where reports may lie, `suites` loads the suites and puts
//! what is wrong with them where they are named.

mod asked;
mod plan;
mod report_path;
mod step;
mod suites;
#[cfg(test)]
mod tests;
mod trigger;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::kinds::detect;
use super::problem::{Code, Problem, Problems, Severity};
use super::refs::{PathFence, lexical, project_root};
use super::request::{LoadOverrides, LoadRequest, PlanPurpose};
use super::scope::{SuiteDesk, SuiteScope};
use super::session::LoadSession;
use super::source::{SourceFiles, Span};
use super::suite::check_vars;
use super::tree::Node;
use super::workspace::{self, LevelWorkspace, PhaseWorkspace};
use crate::model::{Phase, Plan, StepPlacement, StepWork};
use crate::spec::{SchemaKind, WorkspaceSetting};

pub(crate) use step::absolute_glob;

/// The moment of a trigger whose evals wait for tests that pass.
pub const AFTER_TESTS_PASS: &str = "after_tests_pass";

/// Stands for the id of a trigger that is only checked.
const ANY_ID: &str = "id";

/// Which of the two kinds of files is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseFileName {
    /// `phase:` or `phases:`. Relative to `cwd`.
    Plan(PathBuf),
    /// `eval_trigger:`. Relative to `cwd`.
    Trigger(PathBuf),
}

/// One phase to load. Environment and working folder are handed in.
#[derive(Debug, Clone)]
pub struct PhaseRequest {
    pub file: PhaseFileName,
    /// Which phase of a plan; the id of a trigger.
    pub phase_id: Option<String>,
    /// The moment that it is now; a trigger for another one has nothing to do.
    pub when: Option<String>,
    /// Globs of JUnit files that are judged before the evals of a trigger. Relative to `cwd`.
    pub junit: Vec<String>,
    pub base: Option<String>,
    /// Where the Markdown report goes, whatever the file says. Relative to `cwd`.
    pub report_path: Option<PathBuf>,
    /// What the command line says in place of what the steps and suites say.
    pub overrides: LoadOverrides,
    pub env: BTreeMap<String, String>,
    /// Absolute.
    pub cwd: PathBuf,
    pub cpus: usize,
}

/// A suite of an eval step, loaded.
#[derive(Debug, Clone)]
pub struct StepSuite {
    pub plan: Plan,
    /// What was loaded, so that it can be loaded again when a command has run since.
    pub request: LoadRequest,
}

/// What came of a request.
#[derive(Debug, Default)]
pub struct LoadedPhase {
    /// `None` when there are errors, and when it is not the trigger's moment.
    pub phase: Option<Phase>,
    /// The suites of the eval steps, in their order.
    pub suites: Vec<StepSuite>,
    /// The folder of results: that of the first suite. Absolute.
    pub results: PathBuf,
    /// The moment of a trigger that waits for another one.
    pub waits_for: Option<String>,
    pub problems: Problems,
    pub sources: SourceFiles,
}

/// Loads a phase plan or a trigger with every suite that it names, or every problem of all of these
/// files.
pub fn phase(request: &PhaseRequest) -> LoadedPhase {
    let mut session = LoadSession {
        cwd: request.cwd.clone(),
        purpose: PlanPurpose::Run,
        ..LoadSession::default()
    };
    let (PhaseFileName::Plan(given) | PhaseFileName::Trigger(given)) = &request.file;
    let path = lexical(&request.cwd.join(given));
    let read = session.parse(&path, None).and_then(|node| {
        let mut desk = PhaseDesk::new(&mut session, given, &path, true);
        desk.document(node, request)
    });
    let mut loaded = LoadedPhase::default();
    match read {
        Some(PhaseReading::Waits(moment)) => loaded.waits_for = Some(moment),
        Some(PhaseReading::Phase(phase)) => {
            let mut phase = *phase;
            loaded.suites = suites::load_all(&mut session, request, &phase);
            loaded.results = suites::results(request, &phase.phase, &loaded.suites);
            leave_out_results(&mut phase.phase, &loaded);
            if let Some(path) = &request.report_path {
                phase.phase.report_path = Some(lexical(&request.cwd.join(path)));
            }
            loaded.phase = Some(phase.phase).filter(|_| !session.problems.has_errors());
        }
        None => {}
    }
    // Another phase of the plan may read it.
    if loaded.phase.is_some() {
        check_vars(&request.overrides.vars, &mut session, Severity::Warning);
    }
    let LoadSession {
        problems, sources, ..
    } = session;
    LoadedPhase {
        problems,
        sources,
        ..loaded
    }
}

/// What the phase writes while it runs is not part of what its commands work in a copy of.
fn leave_out_results(phase: &mut Phase, loaded: &LoadedPhase) {
    let of_suites = loaded.suites.iter();
    let of_suites = of_suites.map(|suite| suite.plan.reporting.output_dir.clone());
    let results: Vec<PathBuf> = of_suites.chain([loaded.results.clone()]).collect();
    for step in &mut phase.steps {
        if let StepWork::Command(command) = &mut step.work
            && let StepPlacement::Copy(workspace) = &mut command.place
        {
            Arc::make_mut(workspace).results.clone_from(&results);
        }
    }
}

/// Judges a plan or a trigger that is checked alone: every phase of it, with the suites that it
/// names. `named`: a suite that is not there is an error, since the file was meant, and not found
/// in a folder.
pub(super) fn check(
    session: &mut LoadSession,
    mut node: Node,
    path: &Path,
    named: bool,
    vars: &[(String, String)],
    env: &BTreeMap<String, String>,
) {
    let request = PhaseRequest {
        file: PhaseFileName::Plan(path.to_owned()),
        phase_id: None,
        when: None,
        junit: Vec::new(),
        base: None,
        report_path: None,
        overrides: LoadOverrides {
            vars: vars.to_vec(),
            ..LoadOverrides::default()
        },
        env: env.clone(),
        cwd: session.cwd.clone(),
        cpus: 1,
    };
    let mut desk = PhaseDesk::new(session, path, path, named);
    let phases = if detect(&node) == Some(SchemaKind::Phase) {
        let spec = desk.session.read(SchemaKind::Phase, &mut node);
        spec.map_or_else(Vec::new, |spec| plan::phases(&mut desk, spec, &node))
    } else {
        let spec = desk.session.read(SchemaKind::Trigger, &mut node);
        let phase = spec.and_then(|spec| trigger::phase(&mut desk, spec, &node, ANY_ID, &[]));
        phase.into_iter().collect()
    };
    for phase in phases {
        suites::load_all(session, &request, &phase);
    }
}

/// A phase with the places of its eval steps.
struct PlacedPhase {
    phase: Phase,
    /// Of each eval step, in order.
    places: Vec<StepPlace>,
}

/// Where an eval step says what.
#[derive(Debug, Clone)]
struct StepPlace {
    /// What is said of the suite.
    node: Node,
    /// Each metric that is to be shown, by its canonical name.
    metrics: Vec<(String, Span)>,
    /// Where somebody asks to be told.
    notification: Option<Span>,
    /// The level above the workspace of the suite.
    workspace: Option<PhaseWorkspace>,
}

impl StepPlace {
    fn of(&self, key: &str) -> Option<Span> {
        self.node.get(key).map(|node| node.span)
    }
}

enum PhaseReading {
    Phase(Box<PlacedPhase>),
    /// It is another moment than this one.
    Waits(String),
}

/// One file that is read: where it lies, and where problems go.
struct PhaseDesk<'a> {
    session: &'a mut LoadSession,
    /// The file as given.
    given: PathBuf,
    /// Absolute.
    path: PathBuf,
    dir: PathBuf,
    root: PathBuf,
    /// False: what the file refers to may be missing.
    strict: bool,
}

impl<'a> PhaseDesk<'a> {
    fn new(session: &'a mut LoadSession, given: &Path, path: &Path, strict: bool) -> Self {
        let dir = path.parent().unwrap_or(path).to_path_buf();
        let root = project_root(&dir);
        PhaseDesk {
            session,
            given: given.to_owned(),
            path: path.to_owned(),
            dir,
            root,
            strict,
        }
    }

    /// Looks at workspaces, whose paths are relative to this file.
    fn in_suite<T>(&mut self, look: impl FnOnce(&mut SuiteDesk) -> T) -> T {
        let scope = SuiteScope {
            dir: self.dir.clone(),
            root: self.root.clone(),
            cwd: self.session.cwd.clone(),
            fence: PathFence::new([self.root.as_path(), self.dir.as_path()]),
            ..SuiteScope::default()
        };
        look(&mut self.session.desk(&scope, &self.dir))
    }

    /// The workspace of a phase or a step; `outer` is that of the phase.
    fn workspace(
        &mut self,
        setting: &WorkspaceSetting,
        holder: &Node,
        outer: Option<&Arc<LevelWorkspace>>,
    ) -> Option<Arc<LevelWorkspace>> {
        self.in_suite(|desk| workspace::of_level(desk, setting, holder, outer))
    }

    fn problem(&mut self, problem: Problem) {
        self.session.problems.push(problem);
    }

    /// The document as the kind of file that was asked for.
    fn document(&mut self, mut node: Node, request: &PhaseRequest) -> Option<PhaseReading> {
        let (wanted, other) = match request.file {
            PhaseFileName::Plan(_) => (SchemaKind::Phase, SchemaKind::Trigger),
            PhaseFileName::Trigger(_) => (SchemaKind::Trigger, SchemaKind::Phase),
        };
        let found = detect(&node);
        if found != Some(wanted) {
            let word = if wanted == SchemaKind::Phase {
                "phase plan"
            } else {
                "trigger"
            };
            let message = match found {
                Some(kind) => format!("this is a file of kind `{}`, not a {word}", kind.name()),
                None => format!("this is not a {word}"),
            };
            let hint = match wanted {
                _ if found == Some(other) && wanted == SchemaKind::Phase => {
                    "pass it with `--trigger`"
                }
                _ if found == Some(other) => "pass it with `--plan`",
                SchemaKind::Phase => "a plan begins with `phase:` or `phases:`",
                _ => "a trigger begins with `eval_trigger:`",
            };
            let at = node.span.at_start();
            self.problem(Problem::error(Code::UnknownShape, at, message).hint(hint));
            return None;
        }
        if wanted == SchemaKind::Trigger {
            let spec = self.session.read(wanted, &mut node)?;
            return trigger::read(self, spec, &node, request);
        }
        let spec = self.session.read(wanted, &mut node)?;
        let phases = plan::phases(self, spec, &node);
        let mut chosen = plan::choose(self, phases, request.phase_id.as_deref(), &node)?;
        chosen.phase.base = request.base.clone().or(chosen.phase.base);
        Some(PhaseReading::Phase(Box::new(chosen)))
    }
}
