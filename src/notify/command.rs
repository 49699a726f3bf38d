//! Programs that are told.

use crate::model::NotifyCommand;
use crate::notify::NotifyMessage;
use eval_base::redact::Redactor;
use eval_sandbox::process_tree::{self, TreeCommand, TreeEnd, printable, signal_name};

/// Bytes of stderr that a warning is made of.
const KEEP_STDERR: usize = 2 << 10;

/// Runs the program with the message as JSON on its stdin, to its end or its time limit.
pub async fn run(command: &NotifyCommand, message: &NotifyMessage) -> Result<(), String> {
    let stdin = serde_json::to_vec(message).map_err(|error| error.to_string())?;
    let seconds = command.timeout.as_secs_f64();
    let env: Vec<_> = std::env::vars_os().collect();
    let tree = TreeCommand {
        argv: command.argv.clone(),
        dir: command.dir.clone(),
        env: env
            .iter()
            .filter_map(|(name, value)| Some((name.clone().into_string().ok()?, value.clone())))
            .collect(),
        stdin,
        timeout: command.timeout,
        keep_stdout: 0,
        stdout_file: None,
        keep_stderr: KEEP_STDERR,
    };
    let output = process_tree::run(&tree)
        .await
        .map_err(|error| error.to_string())?;
    let why = match output.end {
        TreeEnd::Exited(0) => return Ok(()),
        TreeEnd::Exited(code) => format!("it exited with code {code}"),
        TreeEnd::Signaled(signal) => format!("it was ended by {}", signal_name(signal)),
        TreeEnd::TimedOut => {
            format!(
                "it did not end within {seconds} s; it and all processes that it started were stopped"
            )
        }
        TreeEnd::Stopped(why) => format!("it was stopped: {why}"),
    };
    let said = printable(&output.stderr_tail);
    // A warning gets into the report of a phase.
    let said = Redactor::of_environment(&env).redact(&said).unwrap_or(said);
    let last = said
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    Err(match last {
        "" => why,
        last => format!(
            "{why}: {}",
            eval_base::text::truncate_width(last.trim(), 300)
        ),
    })
}
