//! Tests of JavaScript and bash, which share the candidate's process.
//!
//! A verdict stands behind a token that is made for the job and that the runner reads before (node)
//! or after (bash) the candidate's program ran. Whoever looks for it in the process finds it: such
//! a grade says `trust: in_process`.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::super::capture::ChannelLines;
use super::super::channel::{pipe, sealed_file};
use super::super::ending::EndedProcess;
use super::super::error::SandboxError;
use super::super::launch::{ProcessLaunch, process_limits};
use super::super::messages::{forged, number, object, raised, silent_end, text};
use super::super::pool::SandboxWorker;
use super::super::running::{ChannelEvent, RunningJob, bounded};
use super::super::testing::{interpret, token};
use super::super::types::*;
use super::{BuiltinLanguage, LanguageRuntime, node};

const DRIVER: &str = include_str!("driver.sh");

/// Runs tests in the language of the candidate, in its process.
pub(crate) fn run_tests(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    found: &LanguageRuntime,
    job: &TestJob,
) -> Result<TestReport, SandboxError> {
    let token = token()?;
    let (read, write) = pipe()?;
    let launch = match found.language {
        BuiltinLanguage::Bash => shell(found, &token, write, job)?,
        _ => {
            let entry = job.entry_point.as_deref();
            let request =
                json!({"code": job.code, "setup": job.setup, "tests": job.tests, "entry": entry});
            node::tests_runner(
                found,
                format!("{token}\n{request}").as_bytes(),
                write,
                &job.limits,
            )?
        }
    };
    let mut running = worker.run(cancel, vec![launch], &job.limits)?;
    let started = running.started;
    let mut lines = ChannelLines::new(read)?;
    let heard = hear(
        &mut running,
        &mut lines,
        &token,
        started + bounded(job.limits.wall),
    )?;
    lines.close();
    if !matches!(heard, InProcessOutcome::Late) {
        running.let_end()?;
    }
    let ended = match heard {
        InProcessOutcome::Late => running.end_late()?,
        InProcessOutcome::Stopped => running.finish()?,
        _ => running.end()?,
    };
    let process = ended
        .into_iter()
        .next()
        .ok_or_else(|| SandboxError::lost("the job has no process"))?;
    let verdict = match heard {
        InProcessOutcome::Verdict { map, held, said } => match found.language {
            BuiltinLanguage::Bash => of_shell(&map, held, &said, job, &process.streams.stderr),
            _ => of_node(&map, &process)?,
        },
        InProcessOutcome::Tampered => TestVerdict::Failed(forged(
            "a forged verdict was written to the verdict channel",
        )),
        _ => match silent_end(&process)? {
            RunFailure::Ended(ProgramEnding::Signaled(_))
                if node::ran_out_of_memory(&process.streams.stderr) =>
            {
                TestVerdict::Failed(RunFailure::Ended(ProgramEnding::MemoryLimit))
            }
            failure => TestVerdict::Failed(failure),
        },
    };
    Ok(TestReport {
        mode_reason: "the tests run in the candidate's process".to_owned(),
        streams: process.streams,
        wall: started.elapsed(),
        cpu: process.cpu,
        ..TestReport::new(verdict, TestMode::InProcess)
    })
}

enum InProcessOutcome {
    /// The last word; how many tests were told to hold before; what the failing command was.
    Verdict {
        map: Map<String, Value>,
        held: u64,
        said: String,
    },
    Tampered,
    Late,
    Stopped,
    Silent,
}

/// Lines behind the token until the verdict. Anything else on this channel is nobody's but the
/// candidate's.
fn hear(
    running: &mut RunningJob<'_>,
    lines: &mut ChannelLines,
    token: &str,
    until: Instant,
) -> Result<InProcessOutcome, SandboxError> {
    let (mut held, mut said) = (0, String::new());
    loop {
        let line = match running.hear(lines, until)? {
            ChannelEvent::Line(line) => line,
            ChannelEvent::Late => return Ok(InProcessOutcome::Late),
            ChannelEvent::Stopped => return Ok(InProcessOutcome::Stopped),
            ChannelEvent::TooLong => return Ok(InProcessOutcome::Tampered),
            ChannelEvent::End(_) => return Ok(InProcessOutcome::Silent),
        };
        let rest = line
            .strip_prefix(token.as_bytes())
            .and_then(|rest| rest.strip_prefix(b" "));
        let Some(rest) = rest else {
            return Ok(InProcessOutcome::Tampered);
        };
        let cut = rest.iter().position(|b| *b == b'\t').unwrap_or(rest.len());
        let (json, tail) = rest.split_at_checked(cut).unwrap_or((rest, b""));
        let Some(map) = object(json) else {
            return Ok(InProcessOutcome::Tampered);
        };
        if !tail.is_empty() {
            said = String::from_utf8_lossy(tail).trim().to_owned();
        }
        if map.contains_key("verdict") {
            return Ok(InProcessOutcome::Verdict { map, held, said });
        }
        held += u64::from(map.contains_key("held"));
    }
}

/// node's runner has no judge and no border to cross, so that it says less than Python's.
fn of_node(map: &Map<String, Value>, process: &EndedProcess) -> Result<TestVerdict, SandboxError> {
    match text(map, "verdict").as_str() {
        "passed" | "assertion" | "raised" | "test_error" | "unsound" | "load" => {
            interpret(map, process)
        }
        "test_raised" => Ok(TestVerdict::TestRaised(raised(map.get("e")))),
        _ => Ok(TestVerdict::Failed(forged("an unknown verdict"))),
    }
}

fn of_shell(
    map: &Map<String, Value>,
    held: u64,
    said: &str,
    job: &TestJob,
    stderr: &[u8],
) -> TestVerdict {
    match text(map, "verdict").as_str() {
        // A test that was left early, by an `exit 0` of the candidate's, did not say that it holds.
        "passed" if held == job.tests.len() as u64 => TestVerdict::Passed,
        "passed" => TestVerdict::Failed(RunFailure::Exited { code: Some(0) }),
        "syntax" => TestVerdict::Failed(RunFailure::SyntaxError {
            message: said.to_owned(),
            line: None,
        }),
        "unsound" => TestVerdict::Unsound {
            why: said.to_owned(),
        },
        "failed" => {
            let index = number(map, "index")
                .and_then(|i| usize::try_from(i).ok())
                .unwrap_or(0);
            let of_test = job
                .tests
                .get(index)
                .map(|test| test.trim().to_owned())
                .unwrap_or_default();
            let lone = !of_test.contains('\n');
            let source = if said.is_empty() && !lone {
                "the script failed".to_owned()
            } else if said.is_empty() {
                of_test
            } else {
                said.to_owned()
            };
            let stderr = String::from_utf8_lossy(stderr);
            let last = stderr
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default();
            TestVerdict::AssertionFailed {
                index,
                line: 0,
                source,
                message: last.to_owned(),
                returned: Vec::new(),
            }
        }
        _ => TestVerdict::Failed(forged("an unknown verdict")),
    }
}

/// bash with our driver, the candidate's script in a file, and the tests on descriptor 3.
fn shell(
    bash: &LanguageRuntime,
    token: &str,
    channel: std::os::fd::OwnedFd,
    job: &TestJob,
) -> Result<ProcessLaunch, SandboxError> {
    let mode = if job.check.is_some() {
        "test"
    } else {
        "asserts"
    };
    let entry = job.entry_point.as_deref().unwrap_or_default();
    let mut request = format!("{token}\n{mode}\n{entry}\n").into_bytes();
    for part in std::iter::once(&job.setup).chain(&job.tests) {
        // NUL ends a part, and no script can hold one.
        request.extend(part.bytes().filter(|b| *b != 0));
        request.push(0);
    }
    let flags = ["--noprofile", "--norc", "-c", DRIVER].map(str::to_owned);
    let argv = std::iter::once(bash.path.to_string_lossy().into_owned())
        .chain(flags)
        .collect();
    let mut launch = ProcessLaunch::new(argv, &[], process_limits(&job.limits));
    launch.add_file("solution.sh".to_owned(), job.code.clone().into_bytes());
    launch.extra = vec![sealed_file(&request)?, channel];
    Ok(launch)
}
