//! Asks targets for outputs: a case goes in, an output or the reason why there is none comes out.
//!
//! Nothing here judges an output.

mod agent;
mod command;
mod http;
mod input;
mod line;
mod model;
mod prompt;
mod recorded;
mod skill;
mod thoughts;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::isolation::CommandSandbox;
use crate::isolation::{SandboxRefusal, SandboxRequest};
use crate::model::{
    Case, Cause, Fingerprint, LostRecords, ModelCall, ModelTarget, Output, Plan, SandboxState,
    Target, TargetIsolation,
};
use crate::workspace::SampleWorkspace;
use eval_base::clock::SystemClock;
use eval_base::redact::Redactor;
use eval_models::net::HttpClients;
use eval_models::{KeptError, ModelSpending, ModelsConfig, RunModels};

use agent::{AgentSample, RunAgents};
use command::CommandPlace;
pub use model::question_bytes;
pub use prompt::filled;
pub use recorded::RecordingProblems;
use recorded::{RecordedCases, Recording};

/// Recordings that are kept open; further ones are opened for each read.
const HELD: usize = 8;

/// What asking a target came to.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetAnswer {
    pub result: Result<Output, TargetFailure>,
    /// Wall time of the call; `None` when there was none (recorded outputs).
    pub latency: Option<Duration>,
    /// How a model was asked; `None` when no model was.
    pub call: Option<Box<ModelCall>>,
    /// Of a program that ended by itself.
    pub exit_code: Option<i32>,
}

/// How a target works in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceUse {
    Nothing,
    /// Its program runs there, in the sandbox.
    Sandbox,
    /// Its program runs there, outside of the sandbox.
    Host,
    /// What it did is recorded.
    Recorded,
}

/// Why there is no output to judge.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetFailure {
    /// A cause of `errored`; or, with `on_error: fail`, `exception` or `crashed`, which are causes of `failed`.
    pub cause: Cause,
    /// One sentence for people.
    pub reason: String,
    /// What the target said before it failed.
    pub output: Option<Box<Output>>,
    /// True when asking again may help.
    pub retryable: bool,
}

impl TargetFailure {
    pub fn new(cause: Cause, reason: impl Into<String>) -> Self {
        TargetFailure {
            cause,
            reason: reason.into(),
            output: None,
            retryable: false,
        }
    }

    fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}

/// A plan's targets can't be opened; nothing has run (exit code 2).
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("the suite has no target; add `target:`, or pass --target or --outputs")]
    NoTarget,
    #[error("the suite has several prompts; select one with `--prompt`: {0}")]
    NoPrompt(String),
    #[error("cannot read the recorded outputs {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{0}")]
    Recording(#[from] RecordingProblems),
    #[error("{} has no recordings of agents; `run --record` writes them", path.display())]
    NoExchanges { path: PathBuf },
    #[error("a recording supports up to 2,147,483,648 cases")]
    TooManyCases,
    #[error(transparent)]
    Kept(#[from] KeptError),
}

/// The targets of one run, opened once.
#[derive(Debug)]
pub struct RunTargets {
    target: Option<Target>,
    /// The name of the run's prompt.
    prompt: Option<String>,
    /// The number of the recording that `target` is.
    main: Option<usize>,
    recordings: Vec<Recording>,
    /// Numbers in `recordings`.
    paths: HashMap<PathBuf, usize>,
    warnings: Vec<String>,
    /// The sandbox of commands that ask for one, once it is open.
    commands: OnceLock<CommandSandbox>,
    /// Of HTTP targets, with their open connections.
    clients: HttpClients,
    models: Arc<RunModels>,
    agents: RunAgents,
}

impl RunTargets {
    /// Reads and checks every recording that the plan uses. Which case a line means is told by the whole suite, whatever
    /// part of it the plan is: a line that fits two cases must not become sure because one of them was filtered away. Lines
    /// of cases that the suite doesn't hold are warnings.
    ///
    /// Fails when a case has no target and when a recording can't be read or understood; all problems of a recording at
    /// once, each with its line.
    pub fn open(plan: &Plan) -> Result<RunTargets, TargetError> {
        let open = plan.open_prompts();
        if !open.is_empty() {
            return Err(TargetError::NoPrompt(open.join(", ")));
        }
        let mut asked: Vec<(&Path, RecordedCases)> = Vec::new();
        let mut numbers: HashMap<&Path, usize> = HashMap::new();
        let mut number_of = |path, asked: &mut Vec<_>| {
            *numbers.entry(path).or_insert_with(|| {
                asked.push((path, RecordedCases::default()));
                asked.len() - 1
            })
        };
        let main = match &plan.target {
            // Also a recording that no case asks is checked: the author named it.
            Some(Target::Recorded { path, .. }) => Some(number_of(path.as_path(), &mut asked)),
            _ => None,
        };
        for profile in plan.evals.iter().flat_map(|eval| eval.cases.profiles()) {
            match (&profile.target, &plan.target) {
                (None, None) => return Err(TargetError::NoTarget),
                (Some(Target::Recorded { path, .. }), _) => {
                    _ = number_of(path.as_path(), &mut asked)
                }
                _ => {}
            }
        }
        let evals = if plan.whole.is_empty() {
            &plan.evals
        } else {
            &plan.whole
        };
        let private = evals.iter().any(|eval| eval.info.is_private());
        asked
            .iter_mut()
            .for_each(|(_, asked)| asked.private = private);
        for eval in evals {
            for case in eval.cases.outlines() {
                let number = match &case.profile.target {
                    None => main,
                    Some(Target::Recorded { path, .. }) => numbers.get(path.as_path()).copied(),
                    Some(_) => None,
                };
                let asked = number.and_then(|number| asked.get_mut(number));
                let Some((_, asked)) = asked else { continue };
                if case.profile.has_workspace {
                    asked.in_workspaces.insert(case.id.to_owned());
                }
                if !asked.add(&eval.info.id, case.id) {
                    return Err(TargetError::TooManyCases);
                }
            }
        }
        let paths = numbers
            .into_iter()
            .map(|(path, number)| (path.to_owned(), number))
            .collect();
        let redactor = Redactor::new(plan.secrets.iter().cloned());
        let mut targets = RunTargets {
            agents: RunAgents::new(&plan.settings.models, plan.prompt.clone(), redactor.clone()),
            target: plan.target.clone(),
            prompt: plan.prompt.clone(),
            main,
            recordings: Vec::new(),
            paths,
            warnings: Vec::new(),
            commands: OnceLock::new(),
            clients: HttpClients::default(),
            models: Arc::new(RunModels::new(ModelsConfig {
                settings: plan.settings.models.clone(),
                spent: ModelSpending::default(),
                clock: Arc::new(SystemClock),
                redactor,
            })),
        };
        let mut free = plan
            .agents()
            .filter(|agent| agent.command.isolation == Some(TargetIsolation::Workspace));
        if let Some(agent) = free.next() {
            targets.warnings.push(format!(
                "`isolation: workspace`: {} runs outside of the sandbox, with your rights and the network of this machine",
                agent.name()
            ));
        }
        if plan.settings.models.record.is_some() && !calls_models(plan) {
            let why = "`--record` writes nothing: the run calls no model, neither for a target or an agent nor as a judge";
            targets.warnings.push(why.to_owned());
        }
        targets.agents.check_folders(plan.agents())?;
        for (number, (path, asked)) in asked.into_iter().enumerate() {
            let (recording, warnings) = Recording::open(path, asked, number < HELD)?;
            targets.warnings.extend(warnings);
            targets.recordings.push(recording);
        }
        Ok(targets)
    }

    /// Opens the sandbox when a target of the plan is a command that asks for it; `None` when none does. `helper` is the program
    /// that builds sandbox cells.
    ///
    /// Fails when what the suite demands is not possible here.
    pub async fn prepare(
        &self,
        plan: &Plan,
        helper: &Path,
    ) -> Result<Option<SandboxState>, SandboxRefusal> {
        let asks =
            |target: &Option<Target>| matches!(target, Some(Target::Command(c)) if c.sandbox);
        let mut profiles = plan.evals.iter().flat_map(|eval| eval.cases.profiles());
        if !asks(&self.target) && !profiles.any(|profile| asks(&profile.target)) {
            return Ok(None);
        }
        let wanted = SandboxRequest {
            pythons: Vec::new(),
            helper: helper.to_owned(),
            workers: plan.settings.max_workers,
            allow_unsandboxed: plan.settings.allow_unsandboxed,
            demand: plan.settings.sandbox.clone(),
            readable: Vec::new(),
        };
        let commands = self
            .commands
            .get_or_init(|| CommandSandbox::new(wanted, plan.suite.dir.clone()));
        Ok(Some((&commands.prepare().await?).into()))
    }

    /// Opens what answers of the plan's models come from and go to.
    ///
    /// # Errors
    /// When that is not there, and the run can't do without.
    pub fn prepare_models(&self, plan: &Plan) -> Result<(), TargetError> {
        let own = plan
            .evals
            .iter()
            .flat_map(|eval| eval.cases.profiles())
            .map(|profile| &profile.target);
        // The suite's target only where a case has none of its own.
        let mut asked: Vec<&ModelTarget> = Vec::new();
        for target in own {
            if let Some(Target::Model(target)) = target.as_ref().or(plan.target.as_ref())
                && !asked.contains(&&**target)
            {
                self.models.prepare(&target.endpoint)?;
                asked.push(target);
            }
        }
        Ok(())
    }

    /// True when the answers of cases with this own target (or none) come from a model.
    pub fn is_model(&self, own: Option<&Target>) -> bool {
        matches!(own.or(self.target.as_ref()), Some(Target::Model(_)))
    }

    /// The models of the run, with what they spent and do now.
    pub fn models(&self) -> &Arc<RunModels> {
        &self.models
    }

    /// What people should know before the run, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What each recording held when it was read, by its path: its length, the fingerprint of its content, and records that were
    /// lost.
    pub fn recordings(&self) -> Vec<(&Path, u64, Fingerprint, &LostRecords)> {
        let mut all = Vec::with_capacity(self.paths.len());
        for (path, number) in &self.paths {
            if let Some(recording) = self.recordings.get(*number) {
                let (bytes, fingerprint) = recording.content;
                all.push((path.as_path(), bytes, fingerprint, &recording.records.lost));
            }
        }
        all.sort_unstable_by_key(|(path, ..)| *path);
        all
    }

    /// Length and fingerprint of the first `bytes` of a recording.
    pub fn beginning(path: &Path, bytes: u64) -> std::io::Result<(u64, Fingerprint)> {
        recorded::beginning(path, bytes)
    }

    /// How many samples of a case its recording holds (at least 0); `None` when its target is no recording. `own` is the
    /// case's own target.
    pub fn recorded_samples(
        &self,
        eval_id: &str,
        case_id: &str,
        own: Option<&Target>,
    ) -> Option<u32> {
        Some(self.recording_of(own)?.samples(eval_id, case_id))
    }

    /// The recording that a case with this own target (or none) asks.
    fn recording_of(&self, own: Option<&Target>) -> Option<&Recording> {
        let number = match own {
            None => self.main,
            Some(Target::Recorded { path, .. }) => self.paths.get(path).copied(),
            Some(_) => None,
        };
        self.recordings.get(number?)
    }

    /// True when the answers of cases with this own target (or none) are recorded.
    pub fn is_recorded(&self, own: Option<&Target>) -> bool {
        matches!(own.or(self.target.as_ref()), Some(Target::Recorded { .. }))
    }

    /// Asks the case's target for one output. `attempt` counts, from 0, the tries of a sample whose grade failed: each gets an
    /// answer of its own. Dropping the future ends what it started.
    /// A command works in `workspace`, if it is given one.
    pub async fn ask(
        &self,
        eval_id: &str,
        case: &Case,
        (sample, attempt): (u32, u32),
        workspace: Option<&SampleWorkspace>,
    ) -> TargetAnswer {
        let started = Instant::now();
        let uncalled = |result, latency| TargetAnswer {
            result,
            latency,
            call: None,
            exit_code: None,
        };
        let asked = match self.target_of(case) {
            None => {
                let why = "the suite has no target";
                let result = Err(TargetFailure::new(Cause::TargetUnreachable, why));
                Ok(uncalled(result, Some(started.elapsed())))
            }
            Some(Target::Recorded {
                path,
                separate_thoughts,
            }) => {
                let result = self.recorded(path, eval_id, case, sample);
                let result = match separate_thoughts {
                    true => result.and_then(thoughts::apart),
                    false => result,
                };
                Ok(uncalled(result, None))
            }
            Some(Target::Echo) => {
                let result = input::echo(&case.input).await;
                Ok(uncalled(result, Some(started.elapsed())))
            }
            Some(Target::Command(target)) => {
                let place = CommandPlace::of(target, self.commands.get(), workspace);
                command::ask(target, None, case, place).await
            }
            Some(Target::Skill(target)) => {
                let place = CommandPlace::of(&target.command, None, workspace);
                skill::ask(target, case, place).await
            }
            Some(Target::Http(target)) => match &target.serve {
                Some(service) => http::call_service(target, service, case, workspace).await,
                None => http::ask(target, case, &self.clients).await,
            },
            Some(Target::Model(target)) => {
                model::ask(target, case, sample, attempt, &self.models).await
            }
            Some(Target::Agent(target)) => {
                let asked = AgentSample {
                    eval_id,
                    case,
                    sample,
                    attempt,
                };
                agent::ask(target, asked, workspace, (&self.agents, &self.models)).await
            }
        };
        asked.unwrap_or_else(|failure| uncalled(Err(failure), None))
    }

    /// How the target of a case works in its workspace, if it has one.
    pub fn workspace_use(&self, case: &Case) -> WorkspaceUse {
        let command = match self.target_of(case) {
            _ if case.workspace.is_none() => return WorkspaceUse::Nothing,
            Some(Target::Command(command)) => command,
            Some(Target::Skill(skill)) => &skill.command,
            Some(Target::Agent(agent)) => &agent.command,
            Some(Target::Http(http)) => match &http.serve {
                Some(service) => service,
                None => return WorkspaceUse::Nothing,
            },
            _ => return WorkspaceUse::Recorded,
        };
        match command.isolation.unwrap_or_default() {
            TargetIsolation::Sandbox => WorkspaceUse::Sandbox,
            TargetIsolation::Workspace => WorkspaceUse::Host,
            TargetIsolation::None => WorkspaceUse::Nothing,
        }
    }

    /// Further tries of a call that did not get through, where the author of the case's target may say it; at least 0.
    pub fn retries(&self, case: &Case) -> Option<u32> {
        match self.target_of(case) {
            // A service that was started again would find what it left in its workspace.
            Some(Target::Http(target)) if target.serve.is_some() => Some(0),
            Some(Target::Http(target)) => Some(target.retries),
            // It would find what it left in its workspace.
            Some(Target::Agent(_)) => Some(0),
            // Models are asked again where they are asked, which knows better when that helps.
            Some(Target::Model(_)) => Some(0),
            _ => None,
        }
    }

    fn target_of<'a>(&'a self, case: &'a Case) -> Option<&'a Target> {
        case.target.as_ref().or(self.target.as_ref())
    }

    fn recorded(
        &self,
        path: &Path,
        eval_id: &str,
        case: &Case,
        sample: u32,
    ) -> Result<Output, TargetFailure> {
        let output = match self.recording_of(case.target.as_ref()) {
            Some(recording) => recording.output(eval_id, &case.id, sample),
            None => Err(format!("the recording {} was not opened", path.display())),
        };
        output.map_err(|reason| TargetFailure::new(Cause::MissingOutput, reason))
    }
}

/// Whether targets, agents or judges of a plan call models.
fn calls_models(plan: &Plan) -> bool {
    let own = plan.evals.iter().flat_map(|eval| eval.cases.profiles());
    let mut targets = own
        .filter_map(|profile| profile.target.as_ref())
        .chain(&plan.target);
    targets.any(|target| matches!(target, Target::Model(_)))
        || plan.agents().any(|agent| agent.endpoint.is_some())
        || plan.judge_models().into_iter().next().is_some()
}

#[cfg(test)]
mod tests;
