//! Runs a program in its mode and says what became of it, in the labels of reports.

use eval_harness::internals::Comparator;
use eval_match::{Datum, compare};
use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, ProgramEnding, ProgramJob, ProgramLimits,
    ProgramResult, RaisedException, RunFailure, Sandbox, SandboxError, ScriptJob, TestJob,
    TestMode, TestVerdict, signal_name,
};
use serde_json::{Value, json};

use crate::programs::Language;

/// The label of one program. `Err`: the harness could not find out, which no program may bring
/// about.
pub async fn label(
    sandbox: &Sandbox,
    language: Language,
    mode: &str,
    source: String,
    limits: &ProgramLimits,
) -> Result<String, SandboxError> {
    match (mode, language) {
        ("script", Language::Python) => {
            let script = ScriptJob {
                code: source,
                limits: limits.clone(),
                ..ScriptJob::default()
            };
            Ok(label_of_program(&sandbox.run_script(script).await?))
        }
        ("script", _) => {
            let (interpreter, file) = if language == Language::Bash {
                ("bash", "main.sh")
            } else {
                ("node", "main.js")
            };
            let program = ProgramJob {
                argv: vec![interpreter.into(), file.into()],
                files: vec![(file.into(), source.into_bytes())],
                limits: limits.clone(),
                ..ProgramJob::default()
            };
            Ok(label_of_program(&sandbox.run_program(program).await?))
        }
        ("fn", _) => functions(sandbox, source, limits).await,
        ("split", _) => tests(sandbox, source, limits, Some(TestMode::Split), CHECK).await,
        ("compared", _) => tests(sandbox, source, limits, None, ASSERTS).await,
        ("check", _) => tests(sandbox, source, limits, Some(TestMode::InProcess), CHECK).await,
        ("inproc", _) => {
            tests(
                sandbox,
                source,
                limits,
                Some(TestMode::InProcess),
                "assert 1 + 1 == 2",
            )
            .await
        }
        (other, _) => panic!("unknown mode {other}"),
    }
}

const CHECK: &str = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(10, -3) == 7\n    assert candidate(0, 0) == 0\n";
const ASSERTS: &str =
    "assert solve(1, 2) == 3\nassert solve(10, -3) == 7\nassert solve(0, 0) == 0\n";

fn label_of_ending(ending: &ProgramEnding) -> String {
    match ending {
        ProgramEnding::Exited(_) => "exited".into(),
        ProgramEnding::Signaled(signal) => format!("crashed({})", signal_name(*signal)),
        ProgramEnding::TimedOut => "timeout".into(),
        ProgramEnding::MemoryLimit => "memory_limit".into(),
        ProgramEnding::OutputLimit => "output_limit".into(),
        ProgramEnding::DiskLimit => "disk_limit".into(),
        ProgramEnding::Violation(_) => "sandbox_violation".into(),
    }
}

fn label_of_exception(raised: &RaisedException) -> String {
    if raised.is("AssertionError") {
        "wrong_answer".into()
    } else {
        "exception".into()
    }
}

fn label_of_failure(failure: &RunFailure) -> String {
    match failure {
        RunFailure::SyntaxError { .. } => "syntax_error".into(),
        RunFailure::LoadRaised(raised) => label_of_exception(raised),
        RunFailure::Exited { .. } => "exited".into(),
        RunFailure::Ended(ending) => label_of_ending(ending),
        RunFailure::ReturnLimit | RunFailure::ReturnTotal { .. } => "output_limit".into(),
        RunFailure::Forged { .. } => "forged".into(),
    }
}

fn label_of_program(result: &ProgramResult) -> String {
    let stderr = String::from_utf8_lossy(&result.streams.stderr).into_owned();
    let last = stderr.trim_end().lines().last().unwrap_or_default();
    // Node prints the lines of the stack behind it.
    let asserted = stderr
        .lines()
        .rfind(|line| line.starts_with("AssertionError"));
    match (&result.ending, asserted) {
        (ProgramEnding::Exited(0), _) => "passed".into(),
        (ProgramEnding::Exited(_), Some(line)) => {
            println!("{line}");
            "wrong_answer".into()
        }
        (ProgramEnding::Exited(_), None) if last.starts_with("SyntaxError") => {
            "syntax_error".into()
        }
        (ProgramEnding::Exited(_), None) => "exception".into(),
        (other, _) => label_of_ending(other),
    }
}

async fn functions(
    sandbox: &Sandbox,
    code: String,
    limits: &ProgramLimits,
) -> Result<String, SandboxError> {
    let arguments = [[1, 2], [10, -3], [0, 0]];
    let expected = [json!(3), json!(7), json!(0)];
    let call = |args: &[i32; 2]| FunctionCall {
        args: args.iter().map(|a| json!(a)).collect(),
        kwargs: Vec::new(),
    };
    let job = FunctionJob {
        code,
        entry_point: "solve".into(),
        calls: arguments.iter().map(call).collect(),
        per_call: Some(limits.wall),
        limits: limits.clone(),
        ..FunctionJob::default()
    };
    let report = sandbox.call_functions(job, |_, value| value).await?;
    assert_eq!(report.calls.len(), 3);
    for (call, want) in report.calls.iter().zip(expected) {
        match &call.outcome {
            CallOutcome::Value(value) if same(value, &want) => {}
            CallOutcome::Value(_) => return Ok("wrong_answer".into()),
            CallOutcome::Raised(raised) => return Ok(label_of_exception(raised)),
            CallOutcome::Failed(failure) => return Ok(label_of_failure(failure)),
            CallOutcome::NotRun => return Ok("not_run".into()),
        }
    }
    Ok("passed".into())
}

/// As the grader compares: what can't be read equals nothing.
pub fn same(value: &Value, want: &Value) -> bool {
    match (Datum::from_tagged(value), Datum::from_json(want)) {
        (Ok(value), Ok(want)) => {
            compare(Comparator::Equals, &value, &want, None).is_ok_and(|c| c.matched)
        }
        _ => false,
    }
}

async fn tests(
    sandbox: &Sandbox,
    code: String,
    limits: &ProgramLimits,
    mode: Option<TestMode>,
    tests: &str,
) -> Result<String, SandboxError> {
    let job = TestJob {
        code,
        tests: vec![tests.into()],
        entry_point: Some("solve".into()),
        check: (tests == CHECK).then(|| "check".to_owned()),
        mode,
        limits: limits.clone(),
        ..TestJob::default()
    };
    let report = sandbox.run_tests(job).await?;
    match mode {
        Some(mode) => assert_eq!(report.mode, mode),
        None => assert_ne!(
            report.mode,
            TestMode::InProcess,
            "the candidate chose its judge"
        ),
    }
    Ok(match &report.verdict {
        TestVerdict::Passed => "passed".into(),
        TestVerdict::AssertionFailed { .. } | TestVerdict::Opaque { .. } => "wrong_answer".into(),
        TestVerdict::CandidateRaised(_) | TestVerdict::TestRaised(_) => "exception".into(),
        TestVerdict::Failed(failure) => label_of_failure(failure),
        other => format!("{other:?}"),
    })
}
