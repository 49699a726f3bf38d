//! What the suite demands of verdicts: tests that need weaker ground are not run on it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::model::{
    Cause, CodeExecution, CodeTests, Executor, Fingerprint, Grade, GraderType, MinimumTrust,
    Outcome, SandboxDemand, StdoutComparison, Trust,
};
use eval_sandbox::{ModeChoice, Sandbox, TestMode};

use super::METHOD;
use super::shared::test_job;
use crate::graders::programs::not_run;
use crate::graders::show::in_reason;

/// Tests whose mode is remembered; beyond, it is found out again.
const REMEMBERED: usize = 10_000;

/// The modes that tests get, found out once for each.
#[derive(Default)]
pub(crate) struct TestModes(Mutex<HashMap<Fingerprint, Option<ModeChoice>>>);

/// What a verdict in this mode rests on.
pub(crate) fn trust_of(mode: TestMode) -> Trust {
    match mode {
        TestMode::Compared => Trust::Harness,
        TestMode::Split => Trust::Split,
        TestMode::InProcess => Trust::InProcess,
    }
}

/// The grade of tests that would rest on less than is demanded. It follows from the tests alone: no
/// candidate is looked at.
pub(crate) async fn refuse(
    execution: &CodeExecution,
    demand: &SandboxDemand,
    sandbox: &Sandbox,
    modes: &TestModes,
) -> Option<Grade> {
    if demand.accepts(Trust::InProcess) {
        return None;
    }
    if execution.executor != Executor::Python {
        let shared = match &execution.tests {
            CodeTests::Check { .. }
            | CodeTests::AnswerText { .. }
            | CodeTests::Asserts { .. }
            | CodeTests::Program(_) => true,
            CodeTests::Stdio { compare, .. } => *compare == StdoutComparison::ExitCode,
            CodeTests::Rows(_) => false,
        };
        return shared.then(|| too_weak(METHOD, demand, Trust::InProcess, ""));
    }
    let believed = matches!(
        execution.tests,
        CodeTests::Stdio {
            compare: StdoutComparison::ExitCode,
            ..
        }
    );
    if execution.in_process || believed {
        let why = if believed {
            "`compare: exit_code` relies on the program's exit code"
        } else {
            ""
        };
        return Some(too_weak(METHOD, demand, Trust::InProcess, why));
    }
    match modes.of(execution, sandbox).await {
        Ok(choice) => {
            let choice = choice.filter(|choice| !demand.accepts(trust_of(choice.mode)))?;
            Some(too_weak(METHOD, demand, trust_of(choice.mode), &choice.why))
        }
        Err(grade) => Some(*grade),
    }
}

impl TestModes {
    /// `None` for tests that have no mode: they compare what programs print, or can't be read.
    async fn of(
        &self,
        execution: &CodeExecution,
        sandbox: &Sandbox,
    ) -> Result<Option<ModeChoice>, Box<Grade>> {
        let Ok(job) = test_job(execution, String::new()) else {
            return Ok(None);
        };
        let key = Fingerprint::of(&(
            &job.tests,
            &job.setup,
            &job.entry_point,
            &job.check,
            sandbox.named_python(),
        ));
        let known = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        if let Some(choice) = known {
            return Ok(choice);
        }
        let choice = match sandbox.test_mode(job).await {
            // What is wrong with tests that can't be read is told when they are run.
            Ok(choice) => choice.ok(),
            Err(error) => return Err(Box::new(not_run(METHOD, &error))),
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < REMEMBERED {
            known.insert(key, choice.clone());
        }
        Ok(choice)
    }
}

/// A grade that rests on less than is demanded is an error. The exception: where an answer that the
/// harness can't compare took the tests to a judge, a failure remains one, so that no candidate
/// turns its failure into an error.
pub(crate) fn keep(demand: &SandboxDemand, grade: Grade) -> Grade {
    match grade.trust {
        Some(Trust::Split) if grade.outcome == Outcome::Failed => grade,
        Some(trust) if !demand.accepts(trust) => too_weak(&grade.method, demand, trust, ""),
        _ => grade,
    }
}

pub(crate) fn too_weak(method: &str, demand: &SandboxDemand, trust: Trust, why: &str) -> Grade {
    let demanded = demand.trust.map_or("", MinimumTrust::name);
    let what = match trust {
        Trust::Unsandboxed => "the code would run without isolation",
        Trust::InProcess => "these tests must share an interpreter with the code that they test",
        Trust::Split | Trust::Harness => "these tests need a separate judge process",
    };
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(" ({})", in_reason(why))
    };
    let reason = format!(
        "the suite requires `trust: {demanded}`, but {what}{why}: rewrite the tests, or allow it with `sandbox: {{trust: \
         {}}}` in the suite",
        trust.name()
    );
    Grade::errored(GraderType::Code, method, Cause::Harness, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_on_weaker_ground_than_demanded_is_none() {
        let demand = |trust| SandboxDemand {
            trust: Some(trust),
            ..SandboxDemand::default()
        };
        let passed = |trust| Grade::passed(GraderType::Code, METHOD).with_trust(trust);
        let kept = keep(&demand(MinimumTrust::Split), passed(Trust::Split));
        assert_eq!(kept, passed(Trust::Split));
        let plain = Grade::passed(GraderType::Code, "exact_match");
        assert_eq!(keep(&demand(MinimumTrust::Harness), plain.clone()), plain);
        let refused = keep(&demand(MinimumTrust::Split), passed(Trust::InProcess));
        assert_eq!(
            (refused.cause, refused.score, refused.trust),
            (Some(Cause::Harness), None, None)
        );
        insta::assert_snapshot!(refused.reason, @"the suite requires `trust: split`, but these tests must share an interpreter with the code that they test: rewrite the tests, or allow it with `sandbox: {trust: in_process}` in the suite");
        let failed = Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, "no")
            .with_trust(Trust::Split);
        assert_eq!(keep(&demand(MinimumTrust::Harness), failed.clone()), failed);
        let refused = keep(
            &demand(MinimumTrust::Split),
            failed.with_trust(Trust::InProcess),
        );
        assert_eq!(refused.cause, Some(Cause::Harness));
        let refused = keep(&demand(MinimumTrust::Harness), passed(Trust::Split));
        insta::assert_snapshot!(refused.reason, @"the suite requires `trust: harness`, but these tests need a separate judge process: rewrite the tests, or allow it with `sandbox: {trust: split}` in the suite");
    }
}
