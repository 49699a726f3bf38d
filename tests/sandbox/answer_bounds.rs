//! A candidate can't fill the harness's memory with its answers: each is judged when it arrives and
//! dropped, and a job has a budget of bytes. The harness is this process, so its own peak is what
//! is measured.

use std::time::Duration;

use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, ProgramEnding, ProgramLimits, RunFailure, Sandbox,
    SandboxConfig, TestJob, TestMode, TestVerdict,
};
use serde_json::{Value, json};

/// A million zeros: 3 MB as JSON, about 85 MB as values.
const LARGE: &str = "L = [0] * 1000000\ndef f(x): return L\n";
/// Far below what all answers together take, far above what two of them do.
const MOST_KIB: u64 = 700 << 10;

async fn sandbox() -> Option<Sandbox> {
    let helper = env!("CARGO_BIN_EXE_eval-harness").into();
    Sandbox::open(SandboxConfig::new(helper))
        .await
        .inspect_err(|reason| println!("SKIPPED: {reason}"))
        .ok()
}

fn wide() -> ProgramLimits {
    ProgramLimits {
        wall: Duration::from_secs(120),
        ..ProgramLimits::default()
    }
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn function(code: &str, calls: usize) -> FunctionJob {
    FunctionJob {
        code: code.to_owned(),
        entry_point: "f".to_owned(),
        calls: (0..calls)
            .map(|n| FunctionCall {
                args: vec![json!(n)],
                kwargs: Vec::new(),
            })
            .collect(),
        per_call: None,
        limits: wide(),
        ..FunctionJob::default()
    }
}

fn tests(code: &str, test: &str) -> TestJob {
    TestJob {
        code: code.to_owned(),
        tests: vec![test.to_owned()],
        limits: wide(),
        ..TestJob::default()
    }
}

#[tokio::test]
async fn large_answers_of_a_function_are_read_one_after_the_other() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let length = |_, value: Value| value.as_array().map(Vec::len);
    let report = sandbox
        .call_functions(function(LARGE, 14), length)
        .await
        .unwrap();
    assert!(
        report
            .calls
            .iter()
            .all(|call| call.outcome == CallOutcome::Value(Some(1_000_000)))
    );
    assert!(peak_kib() < MOST_KIB, "{} KiB", peak_kib());
}

#[tokio::test]
async fn answers_beyond_the_budget_of_a_job_exceed_the_output_limit() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let code = "S = 'x' * 7000000\ndef f(x): return S\n";
    let report = sandbox
        .call_functions(function(code, 45), |_, value| value.is_string())
        .await
        .unwrap();
    let limit = CallOutcome::Failed(RunFailure::ReturnTotal { most_mb: 256 });
    let answered = report
        .calls
        .iter()
        .take_while(|call| call.outcome == CallOutcome::Value(true))
        .count();
    assert_eq!(answered, (256 << 20) / 7_000_020, "as many as 256 MiB hold");
    assert_eq!(report.calls[answered].outcome, limit);
}

/// Calls that end their process do not start the budget again.
#[tokio::test]
async fn the_budget_of_a_job_holds_for_all_its_processes() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let code =
        "import os\nS = 'x' * 7000000\ndef f(x):\n    if x % 12 == 11: os._exit(1)\n    return S\n";
    let report = sandbox
        .call_functions(function(code, 60), |_, value| value.is_string())
        .await
        .unwrap();
    let answered = report
        .calls
        .iter()
        .filter(|call| call.outcome == CallOutcome::Value(true))
        .count();
    assert_eq!(answered, (256 << 20) / 7_000_020);
    assert!(report.processes > 3, "{}", report.processes);
}

#[tokio::test]
async fn time_that_the_harness_takes_is_not_the_candidates() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let limits = ProgramLimits {
        wall: Duration::from_secs(3),
        ..ProgramLimits::default()
    };
    let job = FunctionJob {
        per_call: Some(Duration::from_secs(3)),
        limits,
        ..function("def f(x): return x", 8)
    };
    let slow = |_, _: Value| std::thread::sleep(Duration::from_millis(500));
    let report = sandbox.call_functions(job, slow).await.unwrap();
    assert!(
        report
            .calls
            .iter()
            .all(|call| call.outcome == CallOutcome::Value(())),
        "{:?}",
        report.calls
    );
    assert_eq!(report.processes, 1);
}

#[tokio::test]
async fn large_answers_to_asserts_are_dropped_after_their_step() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let test: String = (0..14)
        .map(|n| format!("assert len(f({n})) == 1000000\n"))
        .collect();
    let report = sandbox.run_tests(tests(LARGE, &test)).await.unwrap();
    assert_eq!(
        (report.verdict, report.mode),
        (TestVerdict::Passed, TestMode::Compared)
    );
    assert!(peak_kib() < MOST_KIB, "{} KiB", peak_kib());
}

#[tokio::test]
async fn answers_that_asserts_keep_are_bounded() {
    let Some(sandbox) = sandbox().await else {
        return;
    };
    let kept: String = (0..30).map(|n| format!("a{n} = f({n})\n")).collect();
    let used: String = (0..30)
        .map(|n| format!("assert len(a{n}) == 1000000\n"))
        .collect();
    let report = sandbox
        .run_tests(tests(LARGE, &format!("{kept}{used}")))
        .await
        .unwrap();
    let limit = TestVerdict::Failed(RunFailure::Ended(ProgramEnding::OutputLimit));
    // A judge in a process of its own may hold more than the harness, and is bounded in its turn.
    assert_eq!((report.verdict, report.mode), (limit, TestMode::Split));
    let few: String = (0..2).map(|n| format!("a{n} = f({n})\n")).collect();
    let report = sandbox
        .run_tests(tests(LARGE, &format!("{few}assert len(a0) == len(a1)\n")))
        .await
        .unwrap();
    assert_eq!(report.verdict, TestVerdict::Passed, "two may be kept");
    assert!(peak_kib() < MOST_KIB, "{} KiB", peak_kib());
}
