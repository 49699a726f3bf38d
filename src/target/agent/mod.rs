//! Agent targets: a coding agent is started in the workspace of a sample, and calls its model through
//! a proxy that counts, bounds and records what it does.

mod recording;
mod trajectory;
mod wrapper;

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::spawn_blocking;

use crate::input::RenderedInput;
use crate::model::{
    AgentCalls, AgentFile, AgentLaunch, AgentPrompt, AgentStream, AgentTarget, AgentValues,
    AnswerSource, CacheMode, Case, Cause, Endpoint, ModelCall, ModelSettings, Output,
    TrajectoryRecord, Usage, limits,
};
use crate::spec::words::AgentName;
use crate::workspace::{AgentFolders, AgentPort, PrivateFile, SampleWorkspace, WorkspaceProgram};
use eval_agents::streams::{AgentReading, StreamFormat, read_stream};
use eval_base::files::open_file;
use eval_base::redact::Redactor;
use eval_base::text::truncate_bytes;
use eval_models::{KeptError, ModelSpending, RunModels};
use eval_proxy::{
    AgentProxy, AllowedHosts, ApiUpstream, ProxyError, ProxyLimits, ProxySettings, RecordingPlan,
    SessionEnd, SessionReport, SessionSettings, new_token,
};
use eval_sandbox::process_tree::{
    self, SandboxStop, StartError, TreeCommand, TreeEnd, TreeOutput, signal_name,
};

use super::{TargetAnswer, TargetError, TargetFailure};
use recording::{RECORDED, fingerprint_of};
use wrapper::{WRAPPER_WORDS, settings, wrapped};

/// Agents whose output and conversations are read at once.
const READERS: usize = 2;

/// The prompt, among the files for the agent.
const PROMPT_FILE: &str = "prompt";

/// What the agents of a run share.
#[derive(Debug)]
pub(super) struct RunAgents {
    record: Option<PathBuf>,
    replay: Option<PathBuf>,
    /// The name of the run's prompt.
    prompt: Option<String>,
    /// Models are not called over the network.
    is_offline: bool,
    redactor: Redactor,
    /// With the models that they were made for.
    proxies: Mutex<Vec<(Option<Endpoint>, AgentProxy)>>,
    /// Places to read what an agent did, which takes a multiple of its size in memory.
    reading: Arc<Semaphore>,
}

/// What is asked of an agent.
#[derive(Clone, Copy)]
pub(super) struct AgentSample<'s> {
    pub eval_id: &'s str,
    pub case: &'s Case,
    pub sample: u32,
    pub attempt: u32,
}

impl RunAgents {
    pub fn new(settings: &ModelSettings, prompt: Option<String>, redactor: Redactor) -> RunAgents {
        RunAgents {
            record: settings.record.clone(),
            replay: settings.replay.clone(),
            prompt,
            is_offline: settings.cache == CacheMode::Only,
            redactor,
            proxies: Mutex::default(),
            reading: Arc::new(Semaphore::new(READERS)),
        }
    }

    fn proxy(&self, target: &AgentTarget) -> Result<AgentProxy, ProxyError> {
        let mut known = self.proxies.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known
            .iter()
            .find(|(endpoint, _)| *endpoint == target.endpoint);
        if let Some((_, proxy)) = found {
            return Ok(proxy.clone());
        }
        let mut settings = ProxySettings {
            redactor: self.redactor.clone(),
            ..ProxySettings::default()
        };
        if let (Some(endpoint), Some(api)) = (&target.endpoint, target.api) {
            settings.upstreams.push(ApiUpstream {
                api,
                base_url: endpoint.base_url.clone(),
                key: endpoint.key.as_ref().map(|key| key.value.clone()),
                headers: endpoint.headers.clone(),
                ca_file: endpoint.ca_file.clone(),
                insecure: endpoint.insecure,
            });
            let price = endpoint.price.as_ref();
            settings.prices = price
                .map(|price| (endpoint.model.clone(), *price))
                .into_iter()
                .collect();
        }
        let proxy = AgentProxy::new(settings)?;
        known.push((target.endpoint.clone(), proxy.clone()));
        Ok(proxy)
    }

    /// Finds out before a run what would stop each of its samples.
    pub fn check_folders<'t>(
        &self,
        targets: impl Iterator<Item = &'t AgentTarget>,
    ) -> Result<(), TargetError> {
        for endpoint in targets.filter_map(|target| target.endpoint.as_ref()) {
            match (
                self.replay.as_ref().or(endpoint.replay.as_ref()),
                &self.record,
            ) {
                (Some(folder), _) => {
                    let path = folder.join(RECORDED);
                    if !path.is_dir() {
                        return Err(TargetError::NoExchanges { path });
                    }
                }
                (None, Some(dir)) => std::fs::create_dir_all(dir).map_err(|source| {
                    let dir = dir.clone();
                    KeptError::Recorder { dir, source }
                })?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Runs the agent once.
pub(super) async fn ask(
    target: &AgentTarget,
    asked: AgentSample<'_>,
    workspace: Option<&SampleWorkspace>,
    (agents, models): (&RunAgents, &RunModels),
) -> Result<TargetAnswer, TargetFailure> {
    let harness = |why: String| TargetFailure::new(Cause::Harness, why);
    let Some(workspace) = workspace else {
        return Err(harness("an agent needs a workspace".to_owned()));
    };
    if target.endpoint.is_some() && models.is_spent() {
        return Err(TargetFailure::new(Cause::Budget, "the budget is spent"));
    }
    let recording = agents.recording(target, asked);
    let is_replay = matches!(recording, RecordingPlan::Read(_));
    if let RecordingPlan::Read(file) = &recording
        && !file.exists()
    {
        let why = format!(
            "the sample has no recording: {} does not exist",
            file.display()
        );
        return Err(TargetFailure::new(Cause::MissingOutput, why));
    }
    if agents.is_offline && target.endpoint.is_some() && !is_replay {
        let why = "calls of agents are not cached, so `--cache only` cannot answer them; use `--replay DIR`";
        return Err(TargetFailure::new(Cause::MissingOutput, why));
    }
    let proxy = agents.proxy(target);
    let proxy = proxy.map_err(|error| harness(format!("the proxy of the agent: {error}")))?;
    let port = workspace.agent_port().await;
    let port = port
        .map_err(|error| harness(format!("cannot use a port of 127.0.0.1: {error}")))?
        .ok_or_else(|| {
            let why = "an agent in the sandbox needs network namespaces, which are not available here; \
                       `isolation: workspace` runs it outside of the sandbox";
            TargetFailure::new(Cause::SandboxUnavailable, why)
        })?;
    let folders = workspace.agent_folders();
    let folders =
        folders.map_err(|error| harness(format!("cannot make a home folder: {error}")))?;
    let token = new_token().map_err(|error| harness(format!("no random numbers: {error}")))?;
    let prompt = RenderedInput::of(&asked.case.input).await?.into_text();
    let settings = SessionSettings {
        limits: ProxyLimits {
            turns: target.limits.turns,
            tokens: target.limits.tokens,
            cost_usd: target.limits.cost_usd,
        },
        hosts: AllowedHosts::new(&target.hosts).map_err(|error| harness(error.to_string()))?,
        recording,
        provider_tools: target.provider_tools,
        agent: target.name().to_owned(),
        fingerprint: fingerprint_of(target, &prompt),
        folders: vec![
            (folders.workspace.clone(), "workspace".to_owned()),
            (folders.home.clone(), "home".to_owned()),
        ],
        ..SessionSettings::new(token.clone())
    };
    let asked = (prompt.as_str(), asked.case.timeout);
    let stdout = workspace.output_file();
    let mut prepared = prepare(target, asked, &folders, (&token, port.number)).await?;
    prepared.command.stdout_file = Some(stdout.clone());
    let mut ran = run(
        workspace,
        &prepared,
        port,
        (&proxy, settings),
        &agents.reading,
    )
    .await?;
    let form = form_of(target.stream);
    let program = trajectory::RanProgram {
        name: target.name().to_owned(),
        version: target.version.clone(),
        is_known: AgentLaunch::of(target.agent).is_some(),
        form,
        is_replay,
    };
    let reading = spawn_blocking(move || {
        let mut printed = Vec::new();
        open_file(&stdout)?.read_to_end(&mut printed)?;
        let mut reading = read_stream(form, &printed);
        ran.is_cut = reading.is_cut();
        trajectory::complete(&mut reading, program, &ran.report);
        reading.trajectory.add_prompt(&prompt);
        ran.report.exchanges = Vec::new();
        ran.place = None;
        io::Result::Ok((reading, ran))
    });
    let reading = reading.await.map_err(io::Error::from).flatten();
    let (reading, ran) =
        reading.map_err(|error| harness(format!("the output cannot be read: {error}")))?;
    let usage = usage_of(&ran.report);
    let call = target.endpoint.as_ref().map(|endpoint| {
        Box::new(ModelCall {
            model: endpoint.name(),
            source: match is_replay {
                true => AnswerSource::Recording,
                false => AnswerSource::Network,
            },
            requests: small(ran.report.sent),
            faults: ran
                .report
                .upstream_faults
                .iter()
                .map(|(kind, count)| (kind.clone(), small(*count)))
                .collect(),
            usage_is_lower_bound: ran.report.is_lower_bound,
            agent: Some(Box::new(agent_calls(&endpoint.model, &ran))),
            ..ModelCall::default()
        })
    });
    if let (false, Some(usage)) = (is_replay, usage) {
        models.spent_before(ModelSpending::from(usage));
    }
    Ok(TargetAnswer {
        // A replay does not take the time of the model.
        latency: (!is_replay).then_some(ran.ended.elapsed),
        exit_code: match ran.ended.end {
            TreeEnd::Exited(code) => Some(code),
            _ => None,
        },
        result: judge_ending(target, &prepared.command, (ran, reading), usage),
        call,
    })
}

/// What is known of the calls that an agent made. A session that was ended has its reason, so what it
/// left of a recording says nothing more.
fn agent_calls(model: &str, ran: &RanAgent) -> AgentCalls {
    let RanAgent { end, report, .. } = ran;
    let is_other = |called: &&String| !is_model(model, called);
    AgentCalls {
        answers: report.turns,
        without_usage: report.turns_without_usage,
        models: report.models.iter().filter(is_other).cloned().collect(),
        not_requested: if end.is_none() { report.unused } else { 0 },
    }
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

struct PreparedAgent {
    command: TreeCommand,
    /// Words of the suite's author, who may name files of the suite; those of the table don't.
    named: Vec<String>,
    /// Files that it can read.
    files: Vec<PrivateFile>,
}

async fn prepare(
    target: &AgentTarget,
    (prompt, timeout): (&str, Duration),
    folders: &AgentFolders,
    (token, port): (&str, u16),
) -> Result<PreparedAgent, TargetFailure> {
    let base = target.api.map_or("", |api| api.base_path());
    let base = format!("http://127.0.0.1:{port}{base}");
    let endpoint = target.endpoint.as_ref();
    let values = AgentValues {
        api: target.api,
        model: endpoint.map_or("", |endpoint| &endpoint.model),
        base_url: &base,
        token,
        home: &folders.home,
    };
    let launch = AgentLaunch::of(target.agent);
    let mut files = Vec::new();
    for (path, file) in &target.home {
        let (content, is_executable) = match file {
            AgentFile::Text(text) => (text.clone().into_bytes(), false),
            AgentFile::Copy {
                path, executable, ..
            } => {
                let content = tokio::fs::read(path).await.map_err(|error| {
                    let why = format!("cannot read {}: {error}", path.display());
                    TargetFailure::new(Cause::Harness, why)
                })?;
                (content, *executable)
            }
        };
        files.push(PrivateFile {
            name: format!("home/{path}"),
            content,
            is_executable,
        });
    }
    if let Some((path, usual)) = launch.and_then(|launch| launch.settings) {
        let path = format!("home/{path}");
        let known = files.iter().position(|file| file.name == path);
        let written = known.map(|at| files.swap_remove(at).content);
        files.push(PrivateFile::new(path, settings(usual(), written)));
    }
    let mut argv = target.command.argv.clone();
    if let (Some(program), false) = (argv.first_mut(), target.program.as_os_str().is_empty()) {
        *program = target.program.to_string_lossy().into_owned();
    }
    argv.extend(launch.map_or_else(Vec::new, |launch| (launch.arguments)(&values)));
    argv.extend(target.args.iter().cloned());
    let form = launch.map_or(AgentPrompt::Stdin, |launch| launch.prompt);
    let stream = launch.map_or(AgentStream::Own, |launch| launch.stream);
    if let AgentPrompt::File(option) = form {
        argv.extend([option.to_owned(), format!("{}/{PROMPT_FILE}", folders.own)]);
    }
    if form != AgentPrompt::Stdin {
        let content = prompt.as_bytes().to_owned();
        files.push(PrivateFile::new(PROMPT_FILE.to_owned(), content));
    }
    let mut env = vec![
        ("HOME".to_owned(), OsString::from(&folders.home)),
        ("LANG".to_owned(), "C.UTF-8".into()),
        ("TERM".to_owned(), "dumb".into()),
    ];
    let variables = AgentLaunch::variables_of(target.agent, &values);
    env.extend(
        variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into())),
    );
    if !target.hosts.is_empty() {
        let address = OsString::from(format!("http://127.0.0.1:{port}"));
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
            env.push((name.to_owned(), address.clone()));
        }
        for name in ["no_proxy", "NO_PROXY"] {
            env.push((name.to_owned(), "127.0.0.1,localhost".into()));
        }
    }
    for (name, value) in target.command.env_file.environment_of(&target.command.env) {
        if !env.iter().any(|(of, _)| *of == name) {
            env.push((name, value));
        }
    }
    let named = target.command.argv.iter().chain(&target.args);
    Ok(PreparedAgent {
        named: named.cloned().collect(),
        command: TreeCommand {
            argv: wrapped(argv, &folders.own, form, stream),
            dir: target.command.dir.clone(),
            env,
            stdin: match form {
                AgentPrompt::Stdin => prompt.as_bytes().to_owned(),
                AgentPrompt::File(_) | AgentPrompt::Word(_) => Vec::new(),
            },
            timeout: target.command.timeout.unwrap_or(timeout),
            keep_stdout: limits::AGENT_STDOUT,
            stdout_file: None,
            keep_stderr: limits::TARGET_STDERR,
        },
        files,
    })
}

struct RanAgent {
    ended: TreeOutput,
    end: Option<SessionEnd>,
    report: SessionReport,
    /// What it printed lacks its end.
    is_cut: bool,
    /// To read it.
    place: Option<OwnedSemaphorePermit>,
}

async fn run(
    workspace: &SampleWorkspace,
    prepared: &PreparedAgent,
    port: AgentPort,
    (proxy, settings): (&AgentProxy, SessionSettings),
    reading: &Arc<Semaphore>,
) -> Result<RanAgent, TargetFailure> {
    let program = WorkspaceProgram {
        command: &prepared.command,
        named: &prepared.named,
        private: prepared.files.clone(),
        keeps_variables: true,
    };
    let (needed, unneeded) = oneshot::channel::<()>();
    let unneeded = async {
        let _ = unneeded.await;
    };
    let (listener, running) = workspace.run_agent(unneeded, program, port);
    let unstarted = |error: StartError| {
        // The command as the user knows it.
        let command = &prepared.command.argv;
        let own = command.get(WRAPPER_WORDS..).unwrap_or_default();
        let reason = error.reason.replace(&command.join(" "), &own.join(" "));
        TargetFailure::new(
            Cause::Harness,
            format!("the agent could not be run: {reason}"),
        )
    };
    tokio::pin!(running);
    let opened = tokio::select! {
        biased;
        listener = listener.open() => listener,
        ended = &mut running => {
            let ended = ended.map_err(unstarted)?;
            let place = Arc::clone(reading).acquire_owned().await.ok();
            return Ok(RanAgent { ended, end: None, report: SessionReport::default(), is_cut: false, place });
        }
    };
    let is_replay = matches!(settings.recording, RecordingPlan::Read(_));
    let session = match opened
        .map_err(ProxyError::from)
        .and_then(|listener| proxy.start(listener, settings))
    {
        Ok(session) => session,
        Err(error) => {
            drop(needed);
            // The job that did not begin knows better why.
            let _ = running.await.map_err(unstarted)?;
            let cause = match &error {
                ProxyError::Recording { .. } if is_replay => Cause::MissingOutput,
                _ => Cause::Harness,
            };
            return Err(TargetFailure::new(
                cause,
                format!("the proxy of the agent: {error}"),
            ));
        }
    };
    let ended = tokio::select! {
        biased;
        ended = &mut running => ended,
        _ = session.ended() => {
            drop(needed);
            running.await
        }
    };
    let end = session.end();
    // Never closed.
    let place = Arc::clone(reading).acquire_owned().await.ok();
    let report = session.finish().await;
    let ended = ended.map_err(unstarted)?;
    Ok(RanAgent {
        ended,
        end,
        report,
        is_cut: false,
        place,
    })
}

fn form_of(stream: AgentName) -> StreamFormat {
    match stream {
        AgentName::ClaudeCode => StreamFormat::ClaudeCode,
        AgentName::Codex => StreamFormat::Codex,
        AgentName::GeminiCli => StreamFormat::GeminiCli,
        AgentName::Opencode => StreamFormat::Opencode,
        AgentName::Aider => StreamFormat::Aider,
        AgentName::MiniSweAgent => StreamFormat::MiniSweAgent,
        AgentName::Command => StreamFormat::Text,
    }
}

/// What was reported, also of calls that failed in the end; `None` where nothing was.
fn usage_of(report: &SessionReport) -> Option<Usage> {
    let has_tokens = report.usage.input > 0 || report.usage.output > 0;
    (has_tokens || report.turns > report.turns_without_usage).then_some(Usage {
        input_tokens: report.usage.input,
        output_tokens: report.usage.output,
        cost_usd: report.cost_usd,
    })
}

fn judge_ending(
    target: &AgentTarget,
    command: &TreeCommand,
    (ran, reading): (RanAgent, AgentReading),
    usage: Option<Usage>,
) -> Result<Output, TargetFailure> {
    let RanAgent {
        ended,
        end,
        report,
        is_cut,
        place: _,
    } = ran;
    let name = target.name();
    let endpoint = target.endpoint.as_ref();
    let AgentReading {
        trajectory,
        text,
        error,
    } = reading;
    let mut text = text.unwrap_or_default();
    let kept = truncate_bytes(&text, limits::TARGET_STDOUT).len();
    let truncated = ended.stdout_truncated || kept < text.len();
    text.truncate(kept);
    let output = Output {
        truncated,
        usage,
        model: endpoint.map(Endpoint::name).filter(|_| usage.is_some()),
        trajectory: Some(Box::new(TrajectoryRecord::new(trajectory))),
        ..Output::text(text)
    };
    let failed = |cause, reason: String, output: Output| {
        Err(TargetFailure {
            output: Some(Box::new(output)),
            ..TargetFailure::new(cause, reason)
        })
    };
    match end {
        Some(SessionEnd::Limit(limit)) => {
            let reason = format!("{name} was ended: {limit}");
            return failed(Cause::Limit, reason, output);
        }
        Some(SessionEnd::Diverged(divergence)) => {
            return failed(Cause::ReplayDiverged, divergence.message, output);
        }
        None => {}
    }
    // Whatever it then printed, and however it ended, is no work of its model.
    if report.turns == 0 && !report.upstream_faults.is_empty() {
        let faults = report.upstream_faults.iter();
        let faults: Vec<String> = faults.map(|(kind, n)| format!("{kind} x {n}")).collect();
        let reason = format!("the model of {name} gave no answer ({})", faults.join(", "));
        return failed(Cause::TargetUnreachable, reason, output);
    }
    if let Some(fault) = &report.last_fault {
        let reason = format!("the last call of the model of {name} failed ({fault})");
        return failed(Cause::TargetUnreachable, reason, output);
    }
    let reported = error.is_some();
    let stderr = process_tree::printable(&ended.stderr_tail);
    let said = match error.unwrap_or(stderr) {
        said if said.is_empty() => ", and printed nothing to stderr".to_owned(),
        said => format!(": {said}"),
    };
    match ended.end {
        TreeEnd::TimedOut => {
            let reason = format!(
                "{name} did not end within {} s; it and all processes that it started were stopped",
                command.timeout.as_secs_f64()
            );
            return failed(Cause::Timeout, reason, output);
        }
        TreeEnd::Signaled(signal) => {
            let reason = format!("{name} was ended by {}{said}", signal_name(signal));
            return failed(Cause::Crashed, reason, output);
        }
        TreeEnd::Stopped(why) => {
            let cause = match why {
                SandboxStop::Memory(_) => Cause::MemoryLimit,
                SandboxStop::Disk(_) => Cause::OutputLimit,
                SandboxStop::Output | SandboxStop::Forbidden => Cause::Crashed,
            };
            return failed(cause, format!("{name} was stopped: {why}"), output);
        }
        TreeEnd::Exited(0) if reported => {
            let reason = format!("{name} reported an error{said}");
            return failed(Cause::TargetFailed, reason, output);
        }
        // A text before the end is not the final answer.
        TreeEnd::Exited(0) if is_cut && !ended.stdout_truncated => {
            let reason = format!("{name} exited without the end of its output{said}");
            return failed(Cause::TargetFailed, reason, output);
        }
        TreeEnd::Exited(0) => {}
        TreeEnd::Exited(code) => {
            let reason = format!("{name} exited with code {code}{said}");
            return failed(Cause::TargetFailed, reason, output);
        }
    }
    // What ended well without a word to its model has done nothing that could be measured.
    if endpoint.is_some() && report.turns == 0 {
        let denied = match report.denied.is_empty() {
            true => String::new(),
            false => format!(" (refused: {})", report.denied.join(", ")),
        };
        let reason = format!("{name} did not call its model{denied}{said}");
        return failed(Cause::TargetFailed, reason, output);
    }
    let model = endpoint.map_or("", |endpoint| &endpoint.model);
    let is_own = |called: &String| endpoint.is_none() || is_model(model, called);
    if !report.models.is_empty() && !report.models.iter().any(is_own) {
        let models = report.models.join("`, `");
        let reason = format!("{name} called `{models}`, never its model `{model}`");
        return failed(Cause::TargetFailed, reason, output);
    }
    if let Some(fault) = report.recording_fault {
        return failed(Cause::Harness, fault, output);
    }
    Ok(output)
}

/// Whether an agent that is given `model` calls it as `called`: by the same name, with a date or
/// another version of the API after it, or for a word such as `sonnet` a name with that word.
fn is_model(model: &str, called: &str) -> bool {
    let (model, called) = (model.to_lowercase(), called.to_lowercase());
    let own = model.rsplit('/').next().unwrap_or(&model);
    let called = called.rsplit('/').next().unwrap_or(&called);
    let rest = called.strip_prefix(own);
    let is_version = |rest: &str| {
        let rest = rest.trim_start_matches(['-', '@', ':']);
        let digits = rest.chars().filter(char::is_ascii_digit).count();
        let is_date = rest.chars().all(|c| c.is_ascii_digit() || c == '-');
        matches!(rest, "latest" | "preview") || (is_date && digits >= 3)
    };
    // An alias such as `sonnet`.
    let is_word = own.len() > 2 && own.chars().all(|c| c.is_ascii_alphabetic());
    rest.is_some_and(|rest| rest.is_empty() || is_version(rest))
        || (is_word && called.split('-').any(|word| word == own))
}

#[cfg(test)]
mod tests {
    use eval_models::TokenCounts;
    use eval_proxy::SessionReport;

    use super::{is_model, usage_of};

    #[test]
    fn usage_of_calls_that_all_failed_counts() {
        let mut report = SessionReport::default();
        assert!(usage_of(&report).is_none());
        report.turns = 2;
        report.turns_without_usage = 2;
        assert!(usage_of(&report).is_none());
        report.usage = TokenCounts {
            input: 900,
            output: 100,
            ..TokenCounts::default()
        };
        let usage = usage_of(&report).unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens), (900, 100));
    }

    #[test]
    fn model_is_called_by_its_name_with_a_date_or_by_a_word() {
        for (model, called, expected) in [
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "openai/GPT-5", true),
            ("gpt-5", "gpt-5-2025-08-07", true),
            ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true),
            ("claude-sonnet-4-5", "claude-sonnet-4-5@20250929", true),
            ("gemini-2.0-flash", "gemini-2.0-flash-001", true),
            ("sonnet", "claude-sonnet-4-5-20250929", true),
            ("gpt-5", "gpt-5-mini", false),
            ("gpt-4", "gpt-4.1", false),
            ("claude-sonnet-4", "claude-sonnet-4-5", false),
            ("claude-sonnet-4-5", "claude-opus-4-1", false),
            ("m", "other", false),
        ] {
            assert_eq!(is_model(model, called), expected, "{model} {called}");
        }
    }
}
