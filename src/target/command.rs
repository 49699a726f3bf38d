//! Command targets: the prompt on stdin, the answer on stdout.
//!
//! stdin is the prompt's text (or the file's content); an input that is no text (messages, an API call, data) comes as
//! JSON, the same that `{{ input_file }}` names a file of. No shell is involved.

use std::fmt::Write as _;

use crate::input::RenderedInput;
use crate::isolation::{CommandSandbox, PRIVATE_FOLDER, PrivateFolder};
use crate::model::limits;
use crate::model::{
    Case, Cause, CommandTarget, OnError, Output, OutputFormat, OutputValue, SkillTarget,
};
use eval_base::placeholders::fill;
use eval_base::unique_keys;
use eval_sandbox::process_tree::{
    self, SandboxStop, StartError, TreeCommand, TreeEnd, TreeOutput, signal_name,
};

use crate::workspace::{PrivateFile, SampleWorkspace, WorkspaceProgram};

use super::thoughts::answer_of;
use super::{TargetAnswer, TargetFailure};

/// The file that `{{ input_file }}` names.
const INPUT_FILE: &str = "input.json";

/// Where a command runs.
#[derive(Clone, Copy)]
pub(super) enum CommandPlace<'p> {
    /// In the suite's folder.
    Suite,
    /// There, in a sandbox; `None` if it was not opened.
    Sandbox(Option<&'p CommandSandbox>),
    Workspace(&'p SampleWorkspace),
}

impl<'p> CommandPlace<'p> {
    pub fn of(
        target: &CommandTarget,
        sandbox: Option<&'p CommandSandbox>,
        workspace: Option<&'p SampleWorkspace>,
    ) -> CommandPlace<'p> {
        match (workspace, target.sandbox) {
            (Some(workspace), _) => CommandPlace::Workspace(workspace),
            (None, true) => CommandPlace::Sandbox(sandbox),
            (None, false) => CommandPlace::Suite,
        }
    }
}

/// Runs the command once, with the words of a skill if it is one.
pub(super) async fn ask(
    target: &CommandTarget,
    skill: Option<&SkillTarget>,
    case: &Case,
    place: CommandPlace<'_>,
) -> Result<TargetAnswer, TargetFailure> {
    let is_private = !matches!(place, CommandPlace::Suite);
    let prepared = prepare(target, skill, case, is_private).await?;
    let ended = match place {
        CommandPlace::Suite => process_tree::run(&prepared.command).await,
        CommandPlace::Sandbox(Some(inside)) => inside.run(&prepared.command, prepared.files).await,
        CommandPlace::Sandbox(None) => Err(StartError {
            reason: "the sandbox of the target was not opened".to_owned(),
        }),
        CommandPlace::Workspace(workspace) => {
            let program = WorkspaceProgram {
                command: &prepared.command,
                named: &prepared.command.argv,
                private: prepared
                    .files
                    .into_iter()
                    .map(|(name, content)| PrivateFile::new(name, content))
                    .collect(),
                keeps_variables: false,
            };
            workspace.run(program).await
        }
    };
    let ended =
        ended.map_err(|error| TargetFailure::new(Cause::TargetUnreachable, error.reason))?;
    Ok(TargetAnswer {
        latency: Some(ended.elapsed),
        exit_code: match ended.end {
            TreeEnd::Exited(code) => Some(code),
            _ => None,
        },
        result: judge_ending(target, prepared.command.timeout.as_secs_f64(), ended),
        call: None,
    })
}

struct PreparedCommand {
    command: TreeCommand,
    /// For the private folder, when it runs in the sandbox.
    files: Vec<(String, Vec<u8>)>,
    /// Holds `input.json` until the call is over.
    _folder: Option<PrivateFolder>,
}

async fn prepare(
    target: &CommandTarget,
    skill: Option<&SkillTarget>,
    case: &Case,
    is_private: bool,
) -> Result<PreparedCommand, TargetFailure> {
    let rendered = RenderedInput::of(&case.input).await?;
    let mut argv = target.argv.clone();
    let (mut folder, mut files) = (None, Vec::new());
    let named =
        |word: &str, path: &str| fill(word, |name| (name == "input_file").then(|| path.to_owned()));
    let mut path = String::new();
    if skill.is_some_and(SkillTarget::wants_file)
        || argv.iter().any(|word| named(word, "").is_some())
    {
        path = if is_private {
            files.push((
                INPUT_FILE.to_owned(),
                rendered.whole.to_string().into_bytes(),
            ));
            format!("{PRIVATE_FOLDER}/{INPUT_FILE}")
        } else {
            let content = rendered.whole.to_string();
            let (made, file) =
                PrivateFolder::with_file(INPUT_FILE, content.as_bytes()).map_err(|error| {
                    TargetFailure::new(Cause::Harness, format!("cannot write input.json: {error}"))
                        .retryable()
                })?;
            folder = Some(made);
            file
        };
    }
    let filled = match skill {
        Some(skill) => skill.fill(&mut argv, &rendered, &path)?,
        None => Vec::new(),
    };
    for (_, word) in argv
        .iter_mut()
        .enumerate()
        .filter(|(place, _)| !filled.contains(place))
    {
        if let Some(with_path) = named(word, &path) {
            *word = with_path;
        }
    }
    let command = TreeCommand {
        argv,
        dir: target.dir.clone(),
        env: target.env_file.environment_of(&target.env),
        stdin: rendered.into_text().into_bytes(),
        timeout: target.timeout.unwrap_or(case.timeout),
        keep_stdout: limits::TARGET_STDOUT,
        stdout_file: None,
        keep_stderr: limits::TARGET_STDERR,
    };
    Ok(PreparedCommand {
        command,
        files,
        _folder: folder,
    })
}

fn judge_ending(
    target: &CommandTarget,
    limit_seconds: f64,
    ended: TreeOutput,
) -> Result<Output, TargetFailure> {
    let name = target.argv.first().map(String::as_str).unwrap_or_default();
    match ended.end {
        TreeEnd::Exited(0) => return read_output(target, name, &ended),
        TreeEnd::TimedOut => {
            let reason = format!(
                "{name} did not end within {limit_seconds} s; it and all processes that it started were stopped"
            );
            return Err(with_partial(
                TargetFailure::new(Cause::TargetTimeout, reason).retryable(),
                &ended,
            ));
        }
        TreeEnd::Exited(_) | TreeEnd::Signaled(_) | TreeEnd::Stopped(_) => {}
    }
    let (mut reason, crashed) = match ended.end {
        TreeEnd::Signaled(signal) => (format!("{name} was ended by {}", signal_name(signal)), true),
        TreeEnd::Exited(code) => (format!("{name} exited with code {code}"), false),
        TreeEnd::Stopped(why) => (format!("{name} was stopped: {why}"), true),
        TreeEnd::TimedOut => (String::new(), false),
    };
    let stderr = process_tree::printable(&ended.stderr_tail);
    if stderr.is_empty() {
        reason.push_str(", and printed nothing to stderr");
    } else {
        let _ = write!(reason, ": {stderr}");
    }
    let failure = match (target.on_error, crashed) {
        // As for one that ends before it is seen: a failure may not depend on that.
        _ if matches!(ended.end, TreeEnd::Stopped(SandboxStop::Disk(_))) => {
            TargetFailure::new(Cause::OutputLimit, reason)
        }
        (OnError::Error, _) => TargetFailure::new(Cause::TargetFailed, reason).retryable(),
        (OnError::Fail, true) => TargetFailure::new(Cause::Crashed, reason),
        (OnError::Fail, false) => TargetFailure::new(Cause::Exception, reason),
    };
    Err(with_partial(failure, &ended))
}

fn with_partial(mut failure: TargetFailure, ended: &TreeOutput) -> TargetFailure {
    if !ended.stdout.is_empty() {
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        failure.output = Some(Box::new(Output {
            truncated: ended.stdout_truncated,
            ..Output::text(text)
        }));
    }
    failure
}

/// An output whose bytes are not what they should be is not repaired: a replaced character would be judged as if the
/// target had written it.
fn read_output(
    target: &CommandTarget,
    name: &str,
    ended: &TreeOutput,
) -> Result<Output, TargetFailure> {
    let fault = |why: String| with_partial(TargetFailure::new(Cause::TargetFailed, why), ended);
    let bytes = if ended.stdout_truncated {
        whole_characters(&ended.stdout)
    } else {
        &ended.stdout
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        fault(format!(
            "the output of {name} is not UTF-8 (byte {})",
            error.valid_up_to()
        ))
    })?;
    let (text, thoughts) = match target.separate_thoughts {
        true => answer_of(text).map_err(|why| fault(why.to_owned()))?,
        false => (text, None),
    };
    let value = match target.output {
        OutputFormat::Text => OutputValue::Text(text.to_owned()),
        OutputFormat::Json if ended.stdout_truncated => {
            return Err(fault(format!(
                "the output of {name} is longer than {} MiB",
                limits::TARGET_STDOUT >> 20
            )));
        }
        OutputFormat::Json => OutputValue::Json(
            unique_keys::from_str(text)
                .map_err(|error| fault(format!("the output of {name} is not JSON: {error}")))?,
        ),
    };
    Ok(Output {
        value,
        truncated: ended.stdout_truncated,
        thoughts,
        ..Output::text("")
    })
}

/// Without the character that the limit cut in two.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or(bytes)
        }
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_character_is_dropped_and_a_wrong_one_is_not() {
        assert_eq!(whole_characters("aé".as_bytes().get(..2).unwrap()), b"a");
        assert_eq!(whole_characters(b"a\xffb"), b"a\xffb");
    }
}
