//! The judge and the candidate, in two processes joined by a socket.

use serde_json::json;

use super::{Judged, Place, candidate_request, hear_verdict, interpret, report, token};
use crate::channel::{pipe, stream_pair};
use crate::conversation::longest_answer;
use crate::error::SandboxError;
use crate::plans::TestPlan;
use crate::python::{PythonJob, RunnerKind};
use crate::types::*;

pub(super) fn run(
    place: &mut Place<'_>,
    job: &TestJob,
    plan: &TestPlan,
) -> Result<TestReport, SandboxError> {
    let judged = judge(place, job, plan)?;
    // The judge stands first, the candidate second.
    let candidate = judged
        .ended
        .get(1)
        .ok_or_else(|| SandboxError::lost("a job without a candidate"))?;
    let verdict = match &judged.verdict {
        Some(map) => interpret(map, candidate)?,
        None => no_verdict(&judged)?,
    };
    let verdict = uncertain(verdict, plan);
    Ok(report(verdict, TestMode::Split, "", judged, 1))
}

/// A failure of tests that share more with the code than plain data may be the judge's own. What
/// they share was read from the tests alone; only that an object is of a package's class is the
/// candidate's word, which makes no pass of a failure.
fn uncertain(verdict: TestVerdict, plan: &TestPlan) -> TestVerdict {
    let foreign = |type_name: &str| {
        let package = type_name.split_once('.').map(|(package, _)| package);
        package.is_some_and(|package| plan.values.iter().any(|module| module == package))
    };
    match verdict {
        TestVerdict::Opaque { type_name } if foreign(&type_name) => TestVerdict::Uncertain {
            why: format!("look at a {type_name} object, which is no plain data"),
        },
        TestVerdict::AssertionFailed { .. }
        | TestVerdict::CandidateRaised(_)
        | TestVerdict::TestRaised(_)
        | TestVerdict::Opaque { .. }
            if !plan.state.is_empty() =>
        {
            TestVerdict::Uncertain {
                why: plan.state.clone(),
            }
        }
        verdict => verdict,
    }
}

fn judge(place: &mut Place<'_>, job: &TestJob, plan: &TestPlan) -> Result<Judged, SandboxError> {
    let (token, python) = (token()?, place.python);
    let (running, read) = place.start(&job.limits, || {
        let (read, write) = pipe()?;
        let (judge_end, candidate_end) = stream_pair()?;
        let to_judge = json!({
            "token": token,
            "setup": job.setup,
            "tests": job.tests,
            "code": plan.code,
            "entry": job.entry_point,
            "check": job.check,
            "names": plan.names,
            "modules": plan.modules,
            "most": longest_answer(&job.limits),
            "site": python.site(),
        });
        let jobs = vec![
            PythonJob::new(RunnerKind::Judge, &to_judge, vec![write, judge_end])?,
            PythonJob::new(
                RunnerKind::Candidate,
                &candidate_request(job, python, job.limits.return_bytes, None),
                vec![candidate_end],
            )?,
        ];
        Ok((jobs, read))
    })?;
    hear_verdict(running, read, &token, &job.limits)
}

/// The judge said nothing: a limit ended the job, or what it was given was too much for it.
fn no_verdict(judged: &Judged) -> Result<TestVerdict, SandboxError> {
    let of_limit = judged
        .ended
        .iter()
        .rev()
        .filter_map(|e| e.ending.as_ref().ok())
        .find(|ending| {
            matches!(
                ending,
                ProgramEnding::TimedOut
                    | ProgramEnding::MemoryLimit
                    | ProgramEnding::OutputLimit
                    | ProgramEnding::Violation(_)
            )
        });
    if let Some(ending) = of_limit {
        return Ok(TestVerdict::Failed(RunFailure::Ended(ending.clone())));
    }
    if judged.stopped {
        return Ok(TestVerdict::Failed(RunFailure::Ended(
            ProgramEnding::TimedOut,
        )));
    }
    let said = judged.ended.first().map(|judge| match &judge.ending {
        Ok(ending) => format!(
            "{ending}; {}",
            String::from_utf8_lossy(&judge.streams.stderr).trim()
        ),
        Err(reason) => reason.clone(),
    });
    Err(SandboxError::lost(format!(
        "the judge came to no verdict: {}",
        said.unwrap_or_default()
    )))
}
