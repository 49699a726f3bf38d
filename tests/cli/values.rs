//! Every kind of value and exception crosses between tests and a candidate, and none can hang or
//! poison a judge.

use std::time::Duration;

use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, ProgramEnding, ProgramLimits, RunFailure, Sandbox,
    SandboxConfig, TestJob, TestMode, TestVerdict,
};

use serde_json::json;

/// `None`, said by name, where no tier works.
async fn sandbox() -> Option<Sandbox> {
    match Sandbox::open(SandboxConfig::new(
        env!("CARGO_BIN_EXE_eval-harness").into(),
    ))
    .await
    {
        Ok(sandbox) => Some(sandbox),
        Err(reason) => {
            println!("SKIPPED: {reason}");
            None
        }
    }
}

macro_rules! sandbox_or_skip {
    () => {
        match sandbox().await {
            Some(sandbox) => sandbox,
            None => return,
        }
    };
}

fn job(code: &str, tests: &str, mode: Option<TestMode>) -> TestJob {
    TestJob {
        code: code.into(),
        tests: vec![tests.into()],
        mode,
        limits: ProgramLimits {
            wall: Duration::from_secs(30),
            ..ProgramLimits::default()
        },
        ..TestJob::default()
    }
}

#[tokio::test]
async fn values_of_every_kind_cross_both_ways() {
    let sandbox = sandbox_or_skip!();
    // Given back as it came, each must be what it was, and of the same type.
    let values = [
        "None",
        "True",
        "0",
        "-1",
        "2 ** 53",
        "-(2 ** 70)",
        "7 ** 4000",
        "0.0",
        "-0.0",
        "1e308 * 10",
        "-1e308 * 10",
        "5e-324",
        "''",
        "'\\x00\\n$\\u2028'",
        "'\\ud800x'",
        "'\\udcff'",
        "'\\U0001f600'",
        "b'\\x00\\xff'",
        "bytearray(b'ab')",
        "1j",
        "complex(-0.0, 2)",
        "()",
        "(1,)",
        "[]",
        "[[], [[]]]",
        "{}",
        "{'$tuple': 1}",
        "{'a': 1, 'b': {'c': ()}}",
        "{None: 1, 1.5: 2, (1, 'x'): 3, b'k': 4}",
        "{'é': 1}",
        "set()",
        "{1, 'a', (2, 3)}",
        "frozenset([1])",
        "{frozenset([1]): {2}}",
        "range(5)",
        "range(3, -4, -2)",
        "Ellipsis",
        "int",
        "[None, (True, [1.5])]",
        "{'a': None, 'b': [float('inf')]}",
    ];
    let tests: String = values
        .iter()
        .map(|v| {
            format!("x = f({v})\nassert repr(x) == repr({v}) and type(x) is type({v}), {v:?}\n")
        })
        .collect();
    let report = sandbox
        .run_tests(job("def f(x): return x", &tests, None))
        .await
        .unwrap();
    assert_eq!(
        (report.verdict, report.mode),
        (TestVerdict::Passed, TestMode::Split)
    );
    let compared: String = values
        .iter()
        .map(|v| format!("assert f({v}) == {v}, {v:?}\n"))
        .collect();
    for mode in [None, Some(TestMode::Split)] {
        let report = sandbox
            .run_tests(job("def f(x): return x", &compared, mode))
            .await
            .unwrap();
        assert_eq!(report.verdict, TestVerdict::Passed);
        assert_ne!(report.mode, TestMode::InProcess);
    }
    let nan =
        "assert f(float('nan')) != f(float('nan'))\nassert repr(f([float('nan')])) == '[nan]'";
    let report = sandbox
        .run_tests(job("def f(x): return x", nan, None))
        .await
        .unwrap();
    assert_eq!(report.verdict, TestVerdict::Passed);
}

#[tokio::test]
async fn changes_in_place_that_python_calls_equal_are_changes() {
    let sandbox = sandbox_or_skip!();
    let code = "def f(x):\n  x[0] = True\n  return x\ndef g(x):\n  x[0] = float(x[0])\ndef by_value(d):\n  \
                items = sorted(d.items(), key=lambda i: i[1])\n  d.clear()\n  d.update(items)\n  return d\n";
    let tests = "x = [1]\nassert type(f(x)[0]) is bool and type(x[0]) is bool\ny = [2]\ng(x=y)\nassert str(y) == '[2.0]'\n\
                 assert list(by_value({'a': 2, 'b': 1})) == ['b', 'a']";
    let report = sandbox.run_tests(job(code, tests, None)).await.unwrap();
    assert_eq!(
        (report.verdict, report.mode),
        (TestVerdict::Passed, TestMode::Split)
    );
    // The harness tells True from 1 too.
    let call = FunctionCall {
        args: vec![json!([1])],
        kwargs: Vec::new(),
    };
    let calls = FunctionJob {
        code: code.into(),
        entry_point: "f".into(),
        calls: vec![call],
        ..FunctionJob::default()
    };
    let report = sandbox
        .call_functions(calls, |_, value| value)
        .await
        .unwrap();
    assert_eq!(report.calls[0].outcome, CallOutcome::Value(json!([true])));
}

#[tokio::test]
async fn exceptions_arrive_as_the_standard_type_that_they_are() {
    let sandbox = sandbox_or_skip!();
    let table = [
        (
            "raise KeyError('a')",
            "except KeyError as e:\n  assert str(e) == \"'a'\" and e.args == ('a',)",
        ),
        (
            "open('/nowhere')",
            "except FileNotFoundError as e:\n  assert e.errno == 2",
        ),
        (
            "raise ValueError(1, 'two', None)",
            "except ValueError as e:\n  assert e.args == (1, 'two', None)",
        ),
        (
            "b'\\xff'.decode()",
            "except UnicodeDecodeError as e:\n  assert e.start == 0 and 'utf-8' in str(e)",
        ),
        (
            "class Mine(LookupError):\n    def __str__(self): return 'own words'\n  raise Mine(3)",
            "except LookupError as e:\n  assert str(e) == 'own words'",
        ),
        (
            "class Far(Exception):\n    pass\n  raise Far([object()])",
            "except Exception as e:\n  assert '<object object' in str(e)",
        ),
        (
            "raise ValueError('\\ud800')",
            "except ValueError as e:\n  assert str(e)",
        ),
        (
            "raise StopIteration(5)",
            "except StopIteration as e:\n  assert e.value == 5",
        ),
        (
            "raise type('N' * 5000, (OSError,), {})('m' * 10 ** 6)",
            "except OSError as e:\n  assert len(str(e)) == 2000",
        ),
    ];
    for (act, handler) in table {
        let tests = format!("try:\n  f()\n  assert False, 'nothing was raised'\n{handler}\n");
        let report = sandbox
            .run_tests(job(&format!("def f():\n  {act}\n"), &tests, None))
            .await
            .unwrap();
        assert_eq!(report.verdict, TestVerdict::Passed, "{act}");
    }
}

#[tokio::test]
async fn exception_groups_arrive_with_their_members() {
    let sandbox = sandbox_or_skip!();
    let code = "def f():\n  raise ExceptionGroup('two', [ValueError('a'), ExceptionGroup('in', [KeyError('b')])])\n";
    let tests = "try:\n  f()\nexcept ExceptionGroup as e:\n  assert e.message == 'two' and len(e.exceptions) == 2\n  \
                 assert e.subgroup(KeyError) is not None and e.subgroup(OSError) is None\n";
    let report = sandbox
        .run_tests(job(code, tests, Some(TestMode::Split)))
        .await
        .unwrap();
    let version = sandbox.python().unwrap().version.clone();
    let minor: u32 = version
        .split('.')
        .nth(1)
        .and_then(|m| m.parse().ok())
        .unwrap();
    if minor >= 11 {
        assert_eq!(report.verdict, TestVerdict::Passed);
    } else {
        println!("SKIPPED: Python {version} has no exception groups");
    }
}

#[tokio::test]
async fn data_without_end_gets_a_verdict() {
    let sandbox = sandbox_or_skip!();
    let opaque = |kind: &str| TestVerdict::Opaque {
        type_name: kind.into(),
    };
    let table = [
        (
            "a = []\n  a.append(a)\n  return a",
            "assert f() == []",
            "fails",
        ),
        (
            "a = {}\n  a['a'] = a\n  return a",
            "assert f() == {'a': 1}",
            "fails",
        ),
        (
            "a = []\n  a += [a, a]\n  return a",
            "assert f() == [[], []]",
            "large",
        ),
        (
            "a = {}\n  a.update(x=a, y=a, z=(a, a))\n  return a",
            "assert f() == {}",
            "large",
        ),
        (
            "a = []\n  for _ in range(5000): a = [a]\n  return a",
            "assert f() == []",
            "fails",
        ),
        (
            "a = (i for i in iter(int, 1))\n  return a",
            "assert f() == 1",
            "opaque generator",
        ),
        (
            "a = []\n  for _ in range(30): a = [a, a]\n  return a",
            "assert f() == []",
            "large",
        ),
    ];
    for (body, tests, want) in table {
        for mode in [None, Some(TestMode::Split)] {
            let code = format!("def f():\n  {body}\n");
            let report = sandbox.run_tests(job(&code, tests, mode)).await.unwrap();
            let right = match want {
                // Which limit it meets first is a matter of the interpreter.
                "large" => matches!(
                    report.verdict,
                    TestVerdict::Failed(
                        RunFailure::ReturnLimit
                            | RunFailure::Ended(
                                ProgramEnding::OutputLimit | ProgramEnding::MemoryLimit
                            )
                    )
                ),
                "opaque generator" => report.verdict == opaque("generator"),
                _ => {
                    matches!(
                        report.verdict,
                        TestVerdict::AssertionFailed { .. } | TestVerdict::Opaque { .. }
                    )
                }
            };
            assert!(right, "{body} {mode:?}: {:?}", report.verdict);
        }
    }
}
