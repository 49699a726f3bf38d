//! `doctor --observe COMMAND...`: which system calls a program makes in the sandbox, and which of
//! them are refused.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::CliFailure;
use crate::report::TerminalOptions;
use crate::report::page::{
    self, Page, PageBlock, PageTable, TableColumn, TextTone, dim, outside, own, span,
};
use eval_base::text::plural;
use eval_sandbox::{
    ProgramEnding, ProgramJob, ProgramLimits, Sandbox, SandboxConfig, SandboxError,
    SyscallObservation,
};

/// Each call waits for the harness, so that a program takes many times as long as it does else.
const WALL: Duration = Duration::from_secs(120);
const MEMORY_MB: u64 = 1024;

/// A program that ran to its end.
pub struct ObservedProgram {
    tier: &'static str,
    command: Vec<String>,
    observation: SyscallObservation,
}

/// Runs the command in the folder where the user is, which it can read and not write.
pub async fn observe(helper: &Path, command: &[String]) -> Result<ObservedProgram, CliFailure> {
    let dir = std::env::current_dir().map_err(|error| {
        CliFailure::incomplete(format!("cannot find the working folder: {error}"))
    })?;
    let config = SandboxConfig {
        observed: true,
        readable: vec![dir.clone()],
        ..SandboxConfig::new(helper.to_owned())
    };
    let sandbox = Sandbox::open(config).await.map_err(failure)?;
    let mut argv = command.to_vec();
    // The interpreter that candidates run in, not a shim that can't be seen inside.
    if let (Some("python" | "python3"), Ok(python)) =
        (argv.first().map(String::as_str), sandbox.python())
    {
        argv.splice(..1, [python.path.to_string_lossy().into_owned()]);
    }
    let program = ProgramJob {
        argv,
        dir: Some(dir),
        limits: ProgramLimits {
            wall: WALL,
            memory_mb: MEMORY_MB,
            ..ProgramLimits::default()
        },
        ..ProgramJob::default()
    };
    let observation = sandbox.observe(program).await.map_err(failure)?;
    Ok(ObservedProgram {
        tier: sandbox.state().tier.name(),
        command: command.to_vec(),
        observation,
    })
}

fn failure(error: SandboxError) -> CliFailure {
    let failure = CliFailure::incomplete(&error);
    match error {
        SandboxError::Unavailable { remedy, .. } => failure.hint(remedy),
        SandboxError::CannotStart { .. } => failure.hint(
            "inside, a program sees /usr, the Python interpreter and the working folder; give its path or run another folder's \
             program from there",
        ),
        _ => failure,
    }
}

pub fn as_json(observed: &ObservedProgram) -> Value {
    let SyscallObservation { result, calls } = &observed.observation;
    json!({
        "sandbox": { "tier": observed.tier },
        "command": observed.command,
        "ending": result.ending.to_string(),
        "stderr": last_line(&result.streams.stderr),
        "calls": calls,
    })
}

pub fn write(
    observed: &ObservedProgram,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    page::terminal::write(&page(observed), options, out)
}

fn page(observed: &ObservedProgram) -> Page {
    let SyscallObservation { result, calls } = &observed.observation;
    let mut page = Page::default();
    let total: u64 = calls.iter().map(|call| call.count).sum();
    let (kinds, tier) = (plural(calls.len(), "kind"), observed.tier);
    let ended_well = result.ending == ProgramEnding::Exited(0);
    let tone = if ended_well {
        TextTone::Good
    } else {
        TextTone::Warn
    };
    let head = format!(
        "{total} system calls of {kinds}, tier {tier}: {}",
        result.ending
    );
    page.lead(span(tone, head));
    if !ended_well {
        page.words(dim(outside(&last_line(&result.streams.stderr))));
    }
    let mut table = PageTable::new([
        TableColumn::left(""),
        TableColumn::right(""),
        TableColumn::left(""),
    ]);
    for call in calls {
        let refused = match (call.ends_program, call.refused) {
            (true, _) => "refused: it ends a program at once".to_owned(),
            (_, 0) => String::new(),
            (_, all) if all == call.count => "refused".to_owned(),
            (_, some) => format!("{some} refused"),
        };
        table.row([
            outside(&call.name),
            own(call.count.to_string()),
            own(refused).toned(TextTone::Bad),
        ]);
    }
    page.table(table);
    page.push(PageBlock::Gap);
    page.lead(match calls.iter().filter(|call| call.refused > 0).count() {
        0 => span(TextTone::Good, "The sandbox refuses none of these calls."),
        some => span(
            TextTone::Plain,
            format!("The sandbox refuses {some} of these kinds."),
        ),
    });
    page
}

fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or_default()
        .chars()
        .take(300)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_sandbox::{ObservedCall, ProgramResult, ProgramStreams};

    fn observed() -> ObservedProgram {
        let call = |name: &str, count, refused, ends_program| ObservedCall {
            name: name.into(),
            count,
            refused,
            ends_program,
        };
        let streams = ProgramStreams {
            stderr: b"first\nno aio here\n\n".to_vec(),
            ..ProgramStreams::default()
        };
        let result = ProgramResult {
            ending: ProgramEnding::Exited(3),
            streams,
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            adjudicated: false,
        };
        let calls = vec![
            call("read", 1200, 0, false),
            call("fcntl", 4, 1, false),
            call("io_setup", 1, 1, false),
            call("ptrace", 1, 1, true),
        ];
        ObservedProgram {
            tier: "userns",
            command: vec!["db".into(), "--fast".into()],
            observation: SyscallObservation { result, calls },
        }
    }

    #[test]
    fn page_names_calls_and_what_is_refused() {
        let mut bytes = Vec::new();
        write(&observed(), &TerminalOptions::default(), &mut bytes).unwrap();
        insta::assert_snapshot!(String::from_utf8(bytes).unwrap(), @"
        1206 system calls of 4 kinds, tier userns: exited with 3
          no aio here

          read      1200
          fcntl        4  1 refused
          io_setup     1  refused
          ptrace       1  refused: it ends a program at once

        The sandbox refuses 3 of these kinds.
        ");
    }

    #[test]
    fn json_has_every_call() {
        let value = as_json(&observed());
        assert_eq!(
            value["calls"][2],
            json!({"name": "io_setup", "count": 1, "refused": 1, "ends_program": false})
        );
        assert_eq!(value["command"], json!(["db", "--fast"]));
        assert_eq!(value["ending"], "exited with 3");
        assert_eq!(value["stderr"], "no aio here");
    }
}
