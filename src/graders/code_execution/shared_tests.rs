use std::time::Duration;

use super::*;
use crate::model::{CodeLimits, Executor};
use eval_sandbox::{ProgramEnding, ProgramStreams, RaisedException, RunFailure};

fn grader(tests: CodeTests) -> CodeExecution {
    CodeExecution {
        in_process: false,
        executor: Executor::Python,
        prefix: String::new(),
        tests,
        setup: String::new(),
        suffix: String::new(),
        entry_point: Some("f".into()),
        limits: CodeLimits::default(),
        sandbox: true,
        reference: None,
    }
}

fn told(grader: &CodeExecution, verdict: TestVerdict, calls: u64) -> String {
    let report = TestReport {
        verdict,
        mode: TestMode::Split,
        mode_reason: String::new(),
        calls,
        streams: ProgramStreams::default(),
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        adjudicated: false,
    };
    let g = judge(grader, &report);
    format!(
        "{} {} {}",
        g.outcome,
        g.cause.map_or("-", Cause::name),
        g.reason
    )
    .trim_end()
    .to_owned()
}

#[test]
fn every_verdict_of_the_tests_has_its_cause_and_sentence() {
    let asserts = grader(CodeTests::Asserts {
        asserts: vec!["assert f(1) == 1".into(), "assert f(2) == 2".into()],
    });
    let check = grader(CodeTests::Check {
        code: "def check(candidate): pass".into(),
    });
    let raised = || RaisedException {
        type_name: "TypeError".into(),
        message: "no len()".into(),
        ..RaisedException::default()
    };
    let lines = [
        told(&asserts, TestVerdict::Passed, 2),
        told(&check, TestVerdict::Passed, 0),
        told(
            &CodeExecution {
                entry_point: None,
                ..asserts.clone()
            },
            TestVerdict::Passed,
            0,
        ),
        told(
            &asserts,
            TestVerdict::AssertionFailed {
                index: 1,
                line: 1,
                source: "assert f(2) == 2".into(),
                message: String::new(),
                returned: vec![serde_json::json!({"$tuple": [3, "x"]})],
            },
            2,
        ),
        told(
            &check,
            TestVerdict::AssertionFailed {
                index: 0,
                line: 7,
                source: "assert candidate(1)".into(),
                message: "one".into(),
                returned: Vec::new(),
            },
            2,
        ),
        told(&asserts, TestVerdict::CandidateRaised(raised()), 1),
        told(&asserts, TestVerdict::TestRaised(raised()), 1),
        told(&asserts, TestVerdict::TestError(raised()), 0),
        told(
            &asserts,
            TestVerdict::Opaque {
                type_name: "Liar".into(),
            },
            1,
        ),
        told(
            &asserts,
            TestVerdict::Failed(RunFailure::Exited { code: Some(0) }),
            0,
        ),
        told(
            &asserts,
            TestVerdict::Failed(RunFailure::Ended(ProgramEnding::TimedOut)),
            0,
        ),
    ];
    insta::assert_snapshot!(lines.join("\n"), @"
    passed -
    errored harness the tests passed without calling the candidate: they prove nothing
    errored harness the tests passed without calling the candidate: they prove nothing
    failed wrong_answer test 2 of 2 does not hold: assert f(2) == 2; the call returned (3, 'x')
    failed wrong_answer line 7 of the tests does not hold: assert candidate(1) (one)
    failed exception the code raised TypeError: no len()
    failed wrong_answer what the code returned made the test raise TypeError: no len()
    errored harness the test itself is broken: TypeError: no len()
    failed wrong_answer the code returned a Liar object, whose comparisons prove nothing
    failed exited the program ended with exit code 0 before its tests did
    failed timeout the program did not end within 10 s
    ");
}
