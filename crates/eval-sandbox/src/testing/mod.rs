//! Tests written in Python, in the place that their plan allows (`plans.rs`): compared by the
//! harness, run by a judge that never loads the candidate's code, or in the candidate's own
//! interpreter.

mod compared;
mod expression;
mod in_process;
mod split;

use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use serde_json::{Map, Value, json};

use compared::ComparedOutcome;
pub(super) use compared::Compiled;

use super::capture::ChannelLines;
use super::ending::EndedProcess;
use super::error::SandboxError;
use super::messages::{disguised, forged, load_failure, number, object, raised, silent_end, text};
use super::plans::{PlanCache, PlannedTests, TestPlan};
use super::pool::SandboxWorker;
use super::python::{PythonJob, PythonRuntime};
use super::running::{ChannelEvent, RunningJob, bounded};
use super::types::*;
use eval_base::text::hex;

/// What the answers of a candidate did that are none.
const BROKEN_PROTOCOL: &str = "the answers violate the protocol between judge and candidate";

/// The judge's word, and what became of the processes.
struct Judged {
    /// `None`: it came to no verdict; how the processes ended says why.
    verdict: Option<Map<String, Value>>,
    /// We ended the job at a limit.
    stopped: bool,
    wall: Duration,
    ended: Vec<EndedProcess>,
}

/// A place to run a job.
struct Place<'w> {
    worker: &'w mut SandboxWorker,
    cancel: BorrowedFd<'w>,
    python: &'w PythonRuntime,
}

impl Place<'_> {
    fn start<T>(
        &mut self,
        limits: &ProgramLimits,
        make: impl Fn() -> Result<(Vec<PythonJob>, T), SandboxError>,
    ) -> Result<(RunningJob<'_>, T), SandboxError> {
        self.worker.start(self.python, self.cancel, limits, make)
    }
}

pub(super) fn run_tests(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    python: &PythonRuntime,
    plans: &PlanCache,
    job: &TestJob,
) -> Result<TestReport, SandboxError> {
    let planned = plans.of(worker, cancel, python, job)?;
    let mut place = Place {
        worker,
        cancel,
        python,
    };
    let not_run = |verdict| TestReport::new(verdict, TestMode::Split);
    let plan = match &*planned {
        PlannedTests::Plan(plan) => plan,
        PlannedTests::Broken(raised) => return Ok(not_run(TestVerdict::TestError(raised.clone()))),
    };
    if job.mode == Some(TestMode::InProcess) || job.mode.is_none() && !plan.why.is_empty() {
        return in_process::run(&mut place, job, plan);
    }
    if job.mode.is_none() && !plan.patched.is_empty() {
        let why = plan.patched.clone();
        return Ok(not_run(TestVerdict::Uncertain { why }));
    }
    match &plan.compiled {
        Some(compiled) if job.mode != Some(TestMode::Split) => {
            compared_or_split(place, job, plan, compiled)
        }
        _ => split::run(&mut place, job, plan),
    }
}

/// A judge decides what the harness can't. That loosens nothing: its verdict is worth as much,
/// whatever the candidate did to get there. An assert that failed has failed: a judge may only word
/// it, or a candidate would have two tries. What its calls returned is then not told: they are those
/// of another process than the judge's, in which the assert that the judge names may hold.
fn compared_or_split(
    mut place: Place<'_>,
    job: &TestJob,
    plan: &TestPlan,
    compiled: &Compiled,
) -> Result<TestReport, SandboxError> {
    let failed = match compared::run(&mut place, job, compiled)? {
        ComparedOutcome::Decided(report) => return Ok(report),
        ComparedOutcome::Failed(report) => Some(report),
        ComparedOutcome::Undecided => None,
    };
    let judged = split::run(&mut place, job, plan)?;
    Ok(match failed {
        Some(failed) if !matches!(judged.verdict, TestVerdict::AssertionFailed { .. }) => failed,
        _ => judged,
    })
}

/// The mode that the tests would get; `Err` when they can't be read.
pub(super) fn choose_mode(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    python: &PythonRuntime,
    plans: &PlanCache,
    job: &TestJob,
) -> Result<Result<ModeChoice, TestVerdict>, SandboxError> {
    Ok(match &*plans.of(worker, cancel, python, job)? {
        PlannedTests::Plan(plan) => Ok(ModeChoice {
            mode: plan.mode(),
            names: plan.names.clone(),
            why: plan.why.clone(),
        }),
        PlannedTests::Broken(raised) => Err(TestVerdict::TestError(raised.clone())),
    })
}

impl TestReport {
    /// Of tests that took no process; the caller adds what the processes left.
    pub(super) fn new(verdict: TestVerdict, mode: TestMode) -> TestReport {
        TestReport {
            verdict,
            mode,
            mode_reason: String::new(),
            adjudicated: false,
            calls: 0,
            streams: ProgramStreams::default(),
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
        }
    }
}

/// `candidate`: which of the processes is the candidate's.
fn report(
    verdict: TestVerdict,
    mode: TestMode,
    mode_reason: &str,
    judged: Judged,
    candidate: usize,
) -> TestReport {
    let said = judged.verdict.as_ref();
    let calls = said.and_then(|verdict| number(verdict, "calls"));
    let cpu = judged.ended.iter().map(|e| e.cpu).sum();
    let ended = judged.ended.into_iter().nth(candidate);
    TestReport {
        mode_reason: mode_reason.to_owned(),
        calls: calls.unwrap_or(0),
        streams: ended.map(|e| e.streams).unwrap_or_default(),
        wall: judged.wall,
        cpu,
        ..TestReport::new(verdict, mode)
    }
}

/// Waits for the line with the verdict and ends the job. Lines without the token are not verdicts.
fn hear_verdict(
    mut running: RunningJob<'_>,
    result: OwnedFd,
    token: &str,
    limits: &ProgramLimits,
) -> Result<Judged, SandboxError> {
    let mut lines = ChannelLines::new(result)?;
    let until = running.started + bounded(limits.wall);
    let heard = running.hear(&mut lines, until)?;
    let started = running.started;
    let of_candidate = |what: &str| Map::from_iter([("verdict".to_owned(), json!(what))]);
    let verdict = match heard {
        // Only a program that shares the interpreter with its tests can write here.
        ChannelEvent::Line(ref line) => object(line)
            .filter(|map| text(map, "token") == token)
            .or_else(|| Some(of_candidate("tampered"))),
        // A judge bounds its verdicts: an endless line is the work of the candidate, and no fault
        // of the harness.
        ChannelEvent::TooLong => Some(of_candidate("endless")),
        ChannelEvent::End(_) | ChannelEvent::Late | ChannelEvent::Stopped => None,
    };
    let stopped = matches!(heard, ChannelEvent::Late | ChannelEvent::Stopped);
    let ended = match heard {
        ChannelEvent::Late => running.end_late()?,
        ChannelEvent::Stopped => running.finish()?,
        ChannelEvent::Line(_) | ChannelEvent::TooLong | ChannelEvent::End(_) => {
            lines.close();
            running.let_end()?;
            running.end()?
        }
    };
    Ok(Judged {
        verdict,
        stopped,
        wall: started.elapsed(),
        ended,
    })
}

pub(super) fn interpret(
    map: &Map<String, Value>,
    candidate: &EndedProcess,
) -> Result<TestVerdict, SandboxError> {
    let error = map.get("e");
    let index = number(map, "index")
        .and_then(|i| usize::try_from(i).ok())
        .unwrap_or(0);
    let failed = TestVerdict::Failed;
    Ok(match text(map, "verdict").as_str() {
        "passed" => TestVerdict::Passed,
        "assertion" => TestVerdict::AssertionFailed {
            index,
            line: number(map, "line").unwrap_or(0),
            source: text(map, "source"),
            message: raised(error).message,
            returned: Vec::new(),
        },
        "raised" => raised_verdict(error),
        "test_raised" => {
            let raised = raised(error);
            disguised(&raised, error).map_or(TestVerdict::TestRaised(raised), failed)
        }
        "test_error" => TestVerdict::TestError(raised(error)),
        "load" => failed(load_failure(
            &text(map, "phase"),
            error,
            number(map, "line"),
        )),
        "ended" => failed(silent_end(candidate)?),
        "large" => failed(RunFailure::ReturnLimit),
        "full" => failed(RunFailure::Ended(ProgramEnding::OutputLimit)),
        "unsound" => TestVerdict::Unsound {
            why: text(map, "why"),
        },
        "opaque" => TestVerdict::Opaque {
            type_name: text(map, "kind"),
        },
        "needs_in_process" => TestVerdict::NeedsInProcess {
            why: text(map, "why"),
        },
        "protocol" => failed(forged(BROKEN_PROTOCOL)),
        "endless" => failed(forged("a verdict that exceeds the size limit")),
        "tampered" => failed(forged(
            "a forged verdict was written to the verdict channel",
        )),
        _ => failed(forged("an unknown verdict")),
    })
}

/// An exception of the candidate that came out of a test.
fn raised_verdict(error: Option<&Value>) -> TestVerdict {
    let raised = raised(error);
    disguised(&raised, error).map_or(TestVerdict::CandidateRaised(raised), TestVerdict::Failed)
}

/// The import statements of a set-up that stand on one line at its top level. In one program they
/// would serve the candidate too; nothing else of the tests does it get to see.
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

/// What the candidate's process is started with. `most`: bytes of an answer's text; `most_weight`:
/// bytes of memory that its values may take, where the harness reads them.
fn candidate_request(
    job: &TestJob,
    python: &PythonRuntime,
    most: u64,
    most_weight: Option<usize>,
) -> Value {
    json!({
        "code": job.code,
        "imports": import_lines(&job.setup),
        "site": python.site(),
        "most": most,
        "most_weight": most_weight,
    })
}

/// What only the judge knows.
pub(super) fn token() -> Result<String, SandboxError> {
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes))?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_import_lines_reach_the_candidate() {
        let setup = "import math\r\nfrom a import (b,\n  c)\nfrom d import e\nexpected = [1]\nimport x; y = 2\n  import z\n\
                     from f import (g)\nimportant = 1\n";
        assert_eq!(
            import_lines(setup),
            ["import math", "from d import e", "from f import (g)"]
        );
    }
}
