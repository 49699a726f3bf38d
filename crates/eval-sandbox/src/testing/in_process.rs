//! Candidate and tests in one interpreter, for tests that need the candidate's own classes or
//! module.

use serde_json::json;

use super::{Place, hear_verdict, interpret, report, token};
use crate::channel::pipe;
use crate::error::SandboxError;
use crate::messages::silent_end;
use crate::plans::TestPlan;
use crate::python::{PythonJob, RunnerKind};
use crate::types::*;

pub(super) fn run(
    place: &mut Place<'_>,
    job: &TestJob,
    plan: &TestPlan,
) -> Result<TestReport, SandboxError> {
    let (token, python) = (token()?, place.python);
    let (running, read) = place.start(&job.limits, || {
        let (read, write) = pipe()?;
        let request = json!({
            "token": token,
            "code": job.code,
            "setup": job.setup,
            "tests": job.tests,
            "entry": job.entry_point,
            "check": job.check,
            "names": plan.names,
            "builtins": plan.builtins,
            "guard": job.mode == Some(TestMode::InProcess),
            // Tests that take only plain data have no use for an object of a class that the code
            // defines.
            "strict": job.mode == Some(TestMode::InProcess) && plan.why.is_empty(),
            "site": python.site(),
        });
        Ok((
            vec![PythonJob::new(
                RunnerKind::InProcess,
                &request,
                vec![write],
            )?],
            read,
        ))
    })?;
    let judged = hear_verdict(running, read, &token, &job.limits)?;
    let process = judged
        .ended
        .first()
        .ok_or_else(|| SandboxError::lost("a job without a process"))?;
    let verdict = match &judged.verdict {
        Some(map) => interpret(map, process)?,
        None => TestVerdict::Failed(silent_end(process)?),
    };
    Ok(report(verdict, TestMode::InProcess, &plan.why, judged, 0))
}
