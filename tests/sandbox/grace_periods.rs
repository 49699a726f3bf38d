//! No worker waits for a program that has nothing more to do: the harness signals the end of the
//! questions and of the tests, and an honest program ends at once. The period here is so long that
//! only a lost signal lets it expire, on any machine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use eval_sandbox::languages::{BuiltinLanguage, LanguageRuntime, find};
use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, ProgramLimits, Sandbox, SandboxConfig, TestJob,
    TestMode, TestVerdict,
};
use serde_json::{Value, json};

/// How often each job runs: whether a signal is lost depends on who is first.
const TIMES: usize = 15;

async fn sandbox(grace: Duration) -> Option<Sandbox> {
    let helper = env!("CARGO_BIN_EXE_eval-harness").into();
    match Sandbox::open(SandboxConfig {
        grace,
        ..SandboxConfig::new(helper)
    })
    .await
    {
        Ok(sandbox) => Some(sandbox),
        Err(reason) => {
            println!("SKIPPED: {reason}");
            None
        }
    }
}

async fn patient() -> Option<Sandbox> {
    sandbox(Duration::from_secs(30)).await
}

fn wide() -> ProgramLimits {
    ProgramLimits {
        wall: Duration::from_secs(120),
        ..ProgramLimits::default()
    }
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

fn found(language: BuiltinLanguage) -> Option<Arc<LanguageRuntime>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match find(language, &path, Path::new(env!("CARGO_MANIFEST_DIR"))) {
        Ok(found) => Some(Arc::new(found)),
        Err(missing) => {
            println!("SKIPPED: {} ({missing})", language.name());
            None
        }
    }
}

fn tests(code: &str, test: &str) -> TestJob {
    TestJob {
        code: code.to_owned(),
        tests: vec![test.to_owned()],
        entry_point: Some("f".to_owned()),
        limits: wide(),
        ..TestJob::default()
    }
}

#[tokio::test]
async fn python_calls_leave_no_grace_period_to_expire() {
    let Some(sandbox) = patient().await else {
        return;
    };
    for code in [
        "def f(x): return x",
        "def f(x): raise ValueError(x)",
        "print('loaded')\ndef f(x): print(x)",
        "def g(x): return x",
    ] {
        for calls in [1, 2, 10, 100] {
            for _ in 0..TIMES {
                let report = sandbox
                    .call_functions(function(code, calls), |_, value| value)
                    .await
                    .unwrap();
                assert_eq!(report.processes, 1);
            }
        }
    }
    let broken = sandbox
        .call_functions(function("def f(", 2), |_, value| value)
        .await
        .unwrap();
    assert!(broken.load_failure.is_some());
    assert_eq!(sandbox.servers().expired_graces, 0);
}

#[tokio::test]
async fn python_tests_leave_no_grace_period_to_expire() {
    let Some(sandbox) = patient().await else {
        return;
    };
    let right = "def f(x): return x + 1";
    let raises = "def f(x): raise ValueError(x)";
    let in_process = "assert f.__name__ == 'f'\nassert f(1) == 2";
    for (code, test, mode) in [
        (
            right,
            "assert f(1) == 2\nassert f(2) == 3",
            TestMode::Compared,
        ),
        ("def f(x): return x", "assert f(1) == 2", TestMode::Compared),
        (raises, "assert f(1) == 2", TestMode::Compared),
        (
            right,
            "for n in range(50):\n    if f(n) != n + 1: raise AssertionError(n)",
            TestMode::Split,
        ),
        (
            "def f(x): return x",
            "for n in range(50):\n    if f(n) != n + 1: raise AssertionError(n)",
            TestMode::Split,
        ),
        (
            raises,
            "for n in range(50):\n    if f(n) != n + 1: raise AssertionError(n)",
            TestMode::Split,
        ),
        (right, in_process, TestMode::InProcess),
        ("def f(x): return x", in_process, TestMode::InProcess),
    ] {
        for _ in 0..TIMES {
            let report = sandbox.run_tests(tests(code, test)).await.unwrap();
            assert_eq!(report.mode, mode, "{test}");
            assert_eq!(
                report.verdict == TestVerdict::Passed,
                code == right,
                "{:?}",
                report.verdict
            );
        }
    }
    assert_eq!(sandbox.servers().expired_graces, 0);
}

#[tokio::test]
async fn other_languages_leave_no_grace_period_to_expire() {
    let Some(sandbox) = patient().await else {
        return;
    };
    if let Some(node) = found(BuiltinLanguage::Javascript) {
        for code in [
            "function f(x) { return x }",
            "function f(x) { throw new Error(x) }",
            "function f(",
        ] {
            let job = function(code, 3);
            sandbox
                .call_node(Arc::clone(&node), job, |_, value| value)
                .await
                .unwrap();
        }
        for code in [
            "function f(x) { return x + 1 }",
            "function f(x) { return x }",
        ] {
            sandbox
                .run_tests_in(Arc::clone(&node), tests(code, "assert(f(1) === 2)"))
                .await
                .unwrap();
        }
    }
    if let Some(bash) = found(BuiltinLanguage::Bash) {
        for code in ["f() { echo $(($1 + 1)); }", "f() { echo $1; }"] {
            sandbox
                .run_tests_in(Arc::clone(&bash), tests(code, "[ \"$(f 1)\" = 2 ]"))
                .await
                .unwrap();
        }
    }
    assert_eq!(sandbox.servers().expired_graces, 0);
}

/// The count is not 0 whatever happens: a program that stays after its last answer uses up its
/// period.
#[tokio::test]
async fn a_program_that_stays_is_counted_and_its_answers_hold() {
    let Some(sandbox) = sandbox(Duration::from_millis(50)).await else {
        return;
    };
    let stays = "import os, time\nos._exit = lambda code: None\nimport posix\nposix._exit = os._exit\n\
                 import sys\nsys.stdout.flush = lambda: time.sleep(60)\ndef f(x): return x";
    let report = sandbox
        .call_functions(function(stays, 2), |_, value| value)
        .await
        .unwrap();
    let values: Vec<&CallOutcome<Value>> = report.calls.iter().map(|call| &call.outcome).collect();
    assert_eq!(
        values,
        [&CallOutcome::Value(json!(0)), &CallOutcome::Value(json!(1))]
    );
    assert_eq!(sandbox.servers().expired_graces, 1);
}
