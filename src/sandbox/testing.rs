//! Tests written in Python, run by a judge that never loads the candidate's code.

use std::io::Read;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::capture::Lines;
use super::channel::{pipe, stream_pair};
use super::error::SandboxError;
use super::messages::{disguised, forged, load_failure, number, object, raised, silent_end, text};
use super::pool::Worker;
use super::python::{Python, PythonJob, Runner};
use super::running::{Ended, Heard, Running, bounded};
use super::types::*;

/// How long the candidate may take to end once nobody asks it anything more.
const GRACE: Duration = Duration::from_millis(500);

/// The judge's word, and what became of the processes.
struct Judged {
    /// `None`: it came to no verdict; how the processes ended says why.
    verdict: Option<Map<String, Value>>,
    /// We ended the job at a limit.
    stopped: bool,
    wall: Duration,
    ended: Vec<Ended>,
}

pub(super) fn run_tests(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    python: &Python,
    job: &TestJob,
) -> Result<TestReport, SandboxError> {
    if job.mode == Some(TestMode::InProcess) {
        return in_process(worker, cancel, python, job, "asked for".to_owned(), &[]);
    }
    let judged = split(worker, cancel, python, job)?;
    if let Some(verdict) = judged.verdict.as_ref().filter(|v| text(v, "verdict") == "mode") {
        let choice = choice(verdict);
        return in_process(worker, cancel, python, job, choice.why, &choice.names);
    }
    // The judge stands first, the candidate second.
    let candidate = judged.ended.get(1).ok_or_else(|| SandboxError::lost("a job without a candidate"))?;
    let verdict = match &judged.verdict {
        Some(map) => interpret(map, candidate)?,
        None => no_verdict(&judged)?,
    };
    Ok(report(verdict, TestMode::Split, String::new(), judged, 1))
}

/// The mode that the tests would get; `Err` when they can't be read.
pub(super) fn choose_mode(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    python: &Python,
    job: &TestJob,
) -> Result<Result<ModeChoice, TestVerdict>, SandboxError> {
    let token = token()?;
    let (running, (read, _nobody)) = worker.start(python, cancel, &job.limits, || {
        let (read, write) = pipe().map_err(SandboxError::lost)?;
        let (nobody, channel) = stream_pair().map_err(SandboxError::lost)?;
        let request = judge_request(job, python, &token, json!("choose"));
        Ok((vec![PythonJob::new(Runner::Judge, &request, vec![write, channel])?], (read, nobody)))
    })?;
    let judged = hear_verdict(running, read, &token, &job.limits)?;
    match judged.verdict {
        Some(map) if text(&map, "verdict") == "mode" => Ok(Ok(choice(&map))),
        Some(map) => Ok(Err(TestVerdict::TestError(raised(map.get("e"))))),
        None => Err(SandboxError::lost("the judge came to no verdict")),
    }
}

fn choice(map: &Map<String, Value>) -> ModeChoice {
    let why = text(map, "why");
    let names = map.get("names").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    ModeChoice {
        mode: if why.is_empty() { TestMode::Split } else { TestMode::InProcess },
        names: names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        why,
    }
}

fn judge_request(job: &TestJob, python: &Python, token: &str, mode: Value) -> Value {
    json!({
        "token": token,
        "setup": job.setup,
        "tests": job.tests,
        "entry": job.entry_point,
        "check": job.check,
        "mode": mode,
        "site": python.site(),
    })
}

/// The judge and the candidate, in two processes joined by a socket.
fn split(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    python: &Python,
    job: &TestJob,
) -> Result<Judged, SandboxError> {
    let token = token()?;
    let (running, read) = worker.start(python, cancel, &job.limits, || {
        let (read, write) = pipe().map_err(SandboxError::lost)?;
        let (judge_end, candidate_end) = stream_pair().map_err(SandboxError::lost)?;
        let mode = job.mode.map_or(Value::Null, |_| json!("split"));
        let to_judge = judge_request(job, python, &token, mode);
        let to_candidate =
            json!({"code": job.code, "imports": import_lines(&job.setup), "site": python.site()});
        let jobs = vec![
            PythonJob::new(Runner::Judge, &to_judge, vec![write, judge_end])?,
            PythonJob::new(Runner::Candidate, &to_candidate, vec![candidate_end])?,
        ];
        Ok((jobs, read))
    })?;
    hear_verdict(running, read, &token, &job.limits)
}

/// Candidate and tests in one interpreter.
fn in_process(
    worker: &mut Worker,
    cancel: BorrowedFd<'_>,
    python: &Python,
    job: &TestJob,
    why: String,
    names: &[String],
) -> Result<TestReport, SandboxError> {
    let token = token()?;
    let (running, read) = worker.start(python, cancel, &job.limits, || {
        let (read, write) = pipe().map_err(SandboxError::lost)?;
        let mut request = judge_request(job, python, &token, Value::Null);
        if let Value::Object(map) = &mut request {
            map.insert("code".to_owned(), json!(job.code));
            map.insert("names".to_owned(), json!(names));
        }
        Ok((vec![PythonJob::new(Runner::InProcess, &request, vec![write])?], read))
    })?;
    let judged = hear_verdict(running, read, &token, &job.limits)?;
    let process = judged.ended.first().ok_or_else(|| SandboxError::lost("a job without a process"))?;
    let verdict = match &judged.verdict {
        Some(map) => interpret(map, process)?,
        None => TestVerdict::Failed(silent_end(process)?),
    };
    Ok(report(verdict, TestMode::InProcess, why, judged, 0))
}

fn report(
    verdict: TestVerdict,
    mode: TestMode,
    mode_reason: String,
    judged: Judged,
    candidate: usize,
) -> TestReport {
    let calls = judged.verdict.as_ref().and_then(|v| number(v, "calls")).unwrap_or(0);
    let cpu = judged.ended.iter().map(|e| e.cpu).sum();
    let streams = judged.ended.into_iter().nth(candidate).map(|e| e.streams).unwrap_or_default();
    TestReport { verdict, mode, mode_reason, calls, streams, wall: judged.wall, cpu, adjudicated: false }
}

/// Waits for the line with the verdict and ends the job. Lines without the token are not verdicts.
fn hear_verdict(
    mut running: Running<'_>,
    result: std::os::fd::OwnedFd,
    token: &str,
    limits: &Limits,
) -> Result<Judged, SandboxError> {
    let mut lines = Lines::new(result).map_err(SandboxError::lost)?;
    let until = running.started + bounded(limits.wall);
    let heard = running.hear(&mut lines, until)?;
    let started = running.started;
    let finished = |verdict, stopped, ended| Judged { verdict, stopped, wall: started.elapsed(), ended };
    match heard {
        Heard::Line(line) => {
            let verdict = object(&line).filter(|map| text(map, "token") == token).unwrap_or_else(|| {
                // Only a program that shares the interpreter with its tests can write here.
                Map::from_iter([("verdict".to_owned(), json!("tampered"))])
            });
            lines.close();
            running.let_end(GRACE)?;
            Ok(finished(Some(verdict), false, running.end()?))
        }
        Heard::Late => Ok(finished(None, true, running.end_late()?)),
        Heard::Stopped => Ok(finished(None, true, running.finish()?)),
        Heard::End(_) | Heard::TooLong => {
            lines.close();
            running.let_end(GRACE)?;
            Ok(finished(None, false, running.end()?))
        }
    }
}

/// The judge said nothing: a limit ended the job, or what it was given was too much for it.
fn no_verdict(judged: &Judged) -> Result<TestVerdict, SandboxError> {
    let of_limit = judged.ended.iter().rev().filter_map(|e| e.ending.as_ref().ok()).find(|ending| {
        matches!(ending, Ending::TimedOut | Ending::MemoryLimit | Ending::OutputLimit | Ending::Violation(_))
    });
    if let Some(ending) = of_limit {
        return Ok(TestVerdict::Failed(RunFailure::Ended(ending.clone())));
    }
    if judged.stopped {
        return Ok(TestVerdict::Failed(RunFailure::Ended(Ending::TimedOut)));
    }
    let said = judged.ended.first().map(|judge| match &judge.ending {
        Ok(ending) => format!("{ending}; {}", String::from_utf8_lossy(&judge.streams.stderr).trim()),
        Err(reason) => reason.clone(),
    });
    Err(SandboxError::lost(format!("the judge came to no verdict: {}", said.unwrap_or_default())))
}

fn interpret(map: &Map<String, Value>, candidate: &Ended) -> Result<TestVerdict, SandboxError> {
    let error = map.get("e");
    let index = number(map, "index").and_then(|i| usize::try_from(i).ok()).unwrap_or(0);
    let failed = TestVerdict::Failed;
    Ok(match text(map, "verdict").as_str() {
        "passed" => TestVerdict::Passed,
        "assertion" => TestVerdict::AssertionFailed {
            index,
            line: number(map, "line").unwrap_or(0),
            source: text(map, "source"),
            message: raised(error).message,
        },
        "raised" => {
            let raised = raised(error);
            disguised(&raised, error).map_or(TestVerdict::CandidateRaised(raised), failed)
        }
        "test_raised" => {
            let raised = raised(error);
            disguised(&raised, error).map_or(TestVerdict::TestRaised(raised), failed)
        }
        "test_error" => TestVerdict::TestError(raised(error)),
        "load" => failed(load_failure(&text(map, "phase"), error, number(map, "line"))),
        "ended" => failed(silent_end(candidate)?),
        "large" => failed(RunFailure::Ended(Ending::OutputLimit)),
        "opaque" => TestVerdict::Opaque { type_name: text(map, "kind") },
        "needs_in_process" => TestVerdict::NeedsInProcess { why: text(map, "why") },
        "protocol" => failed(forged("the answers broke the protocol between judge and candidate")),
        "tampered" => failed(forged("a false verdict was written to the channel of verdicts")),
        _ => failed(forged("an unknown verdict")),
    })
}

/// The import statements of a set-up that stand on one line at its top level. In one program they would serve the
/// candidate too; nothing else of the tests does it get to see.
fn import_lines(setup: &str) -> Vec<&str> {
    setup
        .lines()
        .map(str::trim_end)
        .filter(|line| {
            line.starts_with("import ") || (line.starts_with("from ") && line.contains(" import "))
        })
        .filter(|line| {
            !line.ends_with('\\') && line.contains('(') == line.contains(')') && !line.contains(';')
        })
        .collect()
}

/// What only the judge knows.
fn token() -> Result<String, SandboxError> {
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut f| f.read_exact(&mut bytes))
        .map_err(SandboxError::lost)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_import_lines_reach_the_candidate() {
        let setup = "import math\r\nfrom a import (b,\n  c)\nfrom d import e\nexpected = [1]\nimport x; y = 2\n  import z\n\
                     from f import (g)\nimportant = 1\n";
        assert_eq!(import_lines(setup), ["import math", "from d import e", "from f import (g)"]);
    }
}
