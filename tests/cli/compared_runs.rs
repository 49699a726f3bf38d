//! Tests that were compiled into calls and comparisons give the verdicts that a judge gives, word
//! for word.

use std::time::Duration;

use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, ProgramLimits, ProgramStreams, RunFailure, Sandbox,
    SandboxConfig, TestJob, TestMode, TestReport, TestVerdict,
};

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

fn job(code: &str, tests: &[&str], mode: Option<TestMode>) -> TestJob {
    TestJob {
        code: code.into(),
        tests: tests.iter().map(|t| (*t).to_owned()).collect(),
        mode,
        // Time enough for the busiest machine.
        limits: ProgramLimits {
            wall: Duration::from_secs(30),
            ..ProgramLimits::default()
        },
        ..TestJob::default()
    }
}

fn check(code: &str, entry: &str, tests: &str, mode: Option<TestMode>) -> TestJob {
    TestJob {
        entry_point: Some(entry.into()),
        check: Some("check".into()),
        ..job(code, &[tests], mode)
    }
}

async fn planned(sandbox: &Sandbox, job: &TestJob) -> TestMode {
    sandbox.test_mode(job.clone()).await.unwrap().unwrap().mode
}

/// A verdict without the values that calls returned, which only a comparison knows.
fn without_returned(verdict: TestVerdict) -> TestVerdict {
    match verdict {
        TestVerdict::AssertionFailed {
            index,
            line,
            source,
            message,
            ..
        } => TestVerdict::AssertionFailed {
            index,
            line,
            source,
            message,
            returned: Vec::new(),
        },
        other => other,
    }
}

/// The job's report by comparison, after a judge has said the same.
async fn both(sandbox: &Sandbox, job: TestJob) -> TestReport {
    let place = format!("{:?}\n{}", job.tests, job.code);
    assert_eq!(planned(sandbox, &job).await, TestMode::Compared, "{place}");
    let split = sandbox
        .run_tests(TestJob {
            mode: Some(TestMode::Split),
            ..job.clone()
        })
        .await
        .unwrap();
    assert_eq!(split.mode, TestMode::Split);
    let report = sandbox.run_tests(job).await.unwrap();
    assert_eq!(
        without_returned(report.verdict.clone()),
        without_returned(split.verdict.clone()),
        "{place}"
    );
    // A candidate that failed may have answered questions that a judge had not come to.
    if report.verdict == TestVerdict::Passed {
        assert_eq!(
            (report.calls, without_memory(&report.streams)),
            (split.calls, without_memory(&split.streams)),
            "{place}"
        );
    }
    report
}

/// What a program wrote, without the memory that it took, which differs from run to run.
fn without_memory(streams: &ProgramStreams) -> ProgramStreams {
    ProgramStreams {
        peak_kib: None,
        ..streams.clone()
    }
}

const TESTS: [&str; 23] = [
    "assert f(1) == 1",
    "assert f(1)==1, 'one'\nassert f(2) != 1, ('two', 3)",
    "assert f(1) == (1, [2, {'a': {3}}], None)",
    "assert f([1, 2]) == [2, 1]\nassert f([]) == []",
    "assert not f(0)\nassert f(1)",
    "assert f(0) is None",
    "assert f(1) is True and f(0) is False",
    "assert abs(f(1.5) - 0.5) < 1e-6",
    "import math\nassert math.isclose(f(2), 2.0, rel_tol=0.001)",
    "from math import isclose\nassert isclose(f(2), 2.0, rel_tol=0.001)",
    "assert tuple(f([3])) == tuple([3])",
    "assert sorted(f([3, 1])) == [1, 3]\nassert len(f([3, 1])) == 2",
    "assert set(f([3, 1])) == {1, 3}",
    "assert f('a') in ['a', 'b']\nassert f('a') not in ('c',)",
    "assert 0 < f(1) <= 1",
    "for i in range(3):\n    assert f(i) == i, 'loop'",
    "x = [1, 2]\nassert f(x) == x",
    "x = [1, 2]\nassert f(x) == [1, 2]\nassert f(x) == [1, 2]",
    "a, b = 1, (2, 3)\nassert f(a) == b[0] - 1",
    "r = f(1)\nassert r == 1\nassert r",
    "f(1)\nassert f(1) == 1",
    "assert f(1) == f(True)",
    "assert f(1,\n  ) == 1, 'over two lines'",
];

const CANDIDATES: [&str; 28] = [
    "def f(x): return x",
    "def f(x): return 1",
    "def f(x): return 1.0",
    "def f(x): return True",
    "def f(x): return None",
    "def f(x): return (1, [2, {'a': {3}}], None)",
    "def f(x): x.reverse(); return x",
    "def f(x): x.append(1); return list(x)",
    "def f(x): return not x and None",
    "def f(x): return {1, 3}",
    "def f(x): return frozenset([3])",
    "def f(x): return float('nan')",
    "def f(x): return [float('nan')]",
    "def f(x): return 'a'",
    "def f(x): return (i for i in [1, 3])",
    "def f(x): return {1: 3}.items()",
    "def f(x):\n  print('said'); raise ValueError('no')",
    "def f(x): return x / 0",
    "def f(x): return f(x)",
    "def f(x, y): return x",
    "def g(x): return x",
    "import sys\ndef f(x): sys.exit(3)",
    "import re\ndef f(x): return re.match('a', 'a')",
    "class A:\n  def __eq__(s, o): return True\n  def __bool__(s): return True\ndef f(x): return A()",
    "class A:\n  def __eq__(s, o): return True\ndef f(x): return [1, A()]",
    "n = 0\ndef f(x):\n  global n\n  n += 1\n  return n",
    "def f(x): raise MemoryError",
    "from decimal import Decimal\ndef f(x): return Decimal('1')",
];

#[tokio::test]
async fn every_candidate_gets_the_verdict_that_a_judge_gives() {
    let sandbox = sandbox_or_skip!();
    // Every test with every third candidate, so that each pair of neighbours meets.
    let pairs: Vec<(&str, &str)> = TESTS
        .iter()
        .enumerate()
        .flat_map(|(i, tests)| {
            CANDIDATES
                .iter()
                .skip(i % 3)
                .step_by(3)
                .map(move |code| (*tests, *code))
        })
        .collect();
    let mut compared = 0;
    for (tests, code) in &pairs {
        let report = both(&sandbox, job(code, &["pass", tests], None)).await;
        compared += usize::from(report.mode == TestMode::Compared);
    }
    // A judge is asked for what only an interpreter can tell: odd operands, and the line of a long
    // assert that failed.
    assert!(
        compared * 100 >= pairs.len() * 75,
        "{compared} of {}",
        pairs.len()
    );
}

#[tokio::test]
async fn programs_that_do_not_load_or_end_get_the_verdict_that_a_judge_gives() {
    let sandbox = sandbox_or_skip!();
    for code in [
        "def f(:",
        "raise KeyError('k')",
        "raise SystemExit",
        "import os; os._exit(0)",
        "import os\ndef f(x): os._exit(7)",
        "import os\ndef f(x): os.close(4); os._exit(0)",
        "import ctypes\ndef f(x): ctypes.string_at(0)",
        "def f(x): return 'x' * (20 << 20)",
        "def f(x): return [0] * 10 ** 9",
        "import threading, sys\nsys.stdout.write('begun')\ndef f(x): return x - 1",
        "import math\ndef f(x): return math.floor(x)",
        "def f(x): return later(x)",
    ] {
        let mut job = job(code, &["assert f(1.5) == 1"], None);
        job.setup = "from math import floor as later".into();
        both(&sandbox, job).await;
    }
}

#[tokio::test]
async fn a_check_function_is_compiled_too() {
    let sandbox = sandbox_or_skip!();
    let tests = "METADATA = {'author': 'a', 'dataset': 'test'}\n\n\ndef check(candidate):\n    '''Doc.'''\n    import math\n\n    \
                 assert True, 'always'\n    assert candidate(2) == 3, 'two'\n    # more\n    for x in range(-1, 2):\n        \
                 assert candidate(x) == x + 1, 'Test ' + str(x)\n    assert abs(helper([1.0]) - math.pi) < 1e-6\n    print\n";
    let good = "import math\ndef f(x): return x + 1\ndef helper(x): return math.pi\n";
    let report = both(&sandbox, check(good, "f", tests, None)).await;
    assert_eq!((report.verdict, report.calls), (TestVerdict::Passed, 5));
    let report = both(
        &sandbox,
        check(&format!("{good}def f(x): return 3"), "f", tests, None),
    )
    .await;
    let TestVerdict::AssertionFailed {
        index,
        line,
        source,
        message,
        returned,
    } = report.verdict
    else {
        panic!("{:?}", report.verdict)
    };
    insta::assert_snapshot!(
        format!("{index}:{line} {source} [{message}] {returned:?}"),
        @"0:12 assert candidate(x) == x + 1, 'Test ' + str(x) [Test -1] [Number(3)]"
    );
}

#[tokio::test]
async fn what_is_not_certain_to_mean_the_same_is_not_compiled() {
    let sandbox = sandbox_or_skip!();
    for tests in [
        "assert f(1) == 1 or f(2) == 2",
        "assert not (f(1) == 1 and f(2) == 2)",
        "assert f(f(1)) == 1",
        "x = f(1)\nassert x == x",
        "assert f(1) == float('nan')",
        "assert f(1) == [float('nan')]",
        "assert f(1) is 5",
        "a = [1]\nassert f(a) is a",
        "x = [1]\nf(x)\nx.append(2)\nassert x == [1, 2]",
        "def helper(x): return x\nassert helper(f(1)) == 1",
        "import random\nassert f(random.random()) < 2",
        "import os\nassert f(os.getcwd())",
        "assert f(open('/dev/null').read()) == ''",
        "assert f(__import__('os').getpid())",
        "assert f(1) == 1 if True else False",
        "try:\n  f(1)\nexcept ValueError: pass",
        "with open('/dev/null'): assert f(1) == 1",
        "assert (f(1) == 2, 'always true')",
        "assert f(1) == 1\nassert 1 == 2",
        "assert f(10 ** 10 ** 10) == 1",
        "assert f('a' * 10 ** 9) == 1",
        "assert f([0] * 10 ** 9) == 1",
        "assert f(range(10 ** 9)) == sum(range(10 ** 9))",
        "print('x')\nassert f(1) == 1",
        "assert f(iter([1])) == 1",
        "assert f(1).upper() == 'A'",
        "assert f(*[1, 2]) == 1",
        "x = 0\nwhile x < 2:\n  x += 1\nassert f(x) == 2",
        "global x\nx = 1\nassert f(x) == 1",
        "lambda: f(1)\nassert f(1) == 1",
        "assert [f(x) for x in (1, 2)] == [1, 2]",
        "x = [float('nan')]\nassert f(x) == f(x)",
        "assert f([[0] * 2] * 2) == [[1, 0], [0, 0]]",
        "x = []\nassert f(x, [x]) == 1",
        "pass",
    ] {
        let job = job("", &[tests], None);
        assert_eq!(planned(&sandbox, &job).await, TestMode::Split, "{tests}");
    }
}

#[tokio::test]
async fn a_check_that_is_rebound_is_what_python_would_call() {
    let sandbox = sandbox_or_skip!();
    for after in [
        "check = None",
        "import math as check",
        "from math import pi as check",
        "for check in [1]: pass",
    ] {
        let tests = format!("def check(candidate):\n    assert candidate(1) == 1\n{after}\n");
        let report = sandbox
            .run_tests(check("def f(x): return x", "f", &tests, None))
            .await
            .unwrap();
        assert!(
            matches!(report.verdict, TestVerdict::TestError(_)),
            "{after}: {:?}",
            report.verdict
        );
    }
}

/// A judge words what an assert over several lines says. A candidate that notices a judge gets no
/// second try there.
#[tokio::test]
async fn an_assert_that_failed_once_is_not_tried_again() {
    let sandbox = sandbox_or_skip!();
    // Questions of a judge only come once the program has loaded.
    let code = "import select, time\ntime.sleep(0.3)\nahead = bool(select.select([4], [], [], 0)[0])\ndef f(x): return ahead\n";
    let tests = "assert (\n  f(1)\n  == VALUE\n)";
    let mut failed = 0;
    for value in ["True", "False"] {
        let job = job(code, &[&tests.replace("VALUE", value)], None);
        let report = sandbox.run_tests(job).await.unwrap();
        failed += usize::from(matches!(
            report.verdict,
            TestVerdict::AssertionFailed { .. }
        ));
    }
    assert_eq!(failed, 1);
}

/// A candidate that reads ahead what it will be asked.
const READS_AHEAD: &str = "import json, os, socket, time
time.sleep(0.3)
s = socket.socket(fileno=os.dup(4))
s.setblocking(False)
try:
    ahead = [json.loads(line) for line in s.recv(1 << 16, socket.MSG_PEEK).decode().splitlines()]
except BlockingIOError:
    ahead = []
s.detach()
def enc(x): return ahead[1]['a'][0]
def dec(x): return ahead[0]['a'][0]
";

#[tokio::test]
async fn later_questions_tell_nothing_of_earlier_answers() {
    let sandbox = sandbox_or_skip!();
    let tests = "assert enc('abc') == 'bcd'\nassert dec('bcd') == 'abc'";
    let report = sandbox
        .run_tests(job(READS_AHEAD, &[tests], None))
        .await
        .unwrap();
    assert!(
        matches!(report.verdict, TestVerdict::CandidateRaised(_)),
        "{:?}",
        report.verdict
    );
    assert_eq!(report.mode, TestMode::Compared);
    let honest = "def enc(x): return ''.join(chr(ord(c) + 1) for c in x)\ndef dec(x): return ''.join(chr(ord(c) - 1) for c in x)";
    assert_eq!(
        both(&sandbox, job(honest, &[tests], None)).await.verdict,
        TestVerdict::Passed
    );
    let call = |x: &str| FunctionCall {
        args: vec![x.into()],
        kwargs: Vec::new(),
    };
    let calls = vec![call("abc"), call("bcd")];
    let (code, entry_point) = (READS_AHEAD.to_owned(), "enc".to_owned());
    let job = FunctionJob {
        code,
        entry_point,
        calls,
        ..FunctionJob::default()
    };
    let report = sandbox.call_functions(job, |_, value| value).await.unwrap();
    assert!(
        !matches!(report.calls[0].outcome, CallOutcome::Value(_)),
        "{:?}",
        report.calls
    );
}

#[tokio::test]
async fn tests_that_never_call_the_candidate_are_left_to_a_judge_that_says_so() {
    let sandbox = sandbox_or_skip!();
    let report = sandbox
        .run_tests(job("def f(x): return x", &["assert True"], None))
        .await
        .unwrap();
    assert_eq!(
        (report.verdict, report.mode, report.calls),
        (TestVerdict::Passed, TestMode::Split, 0)
    );
}

/// Each of these answers what it was not asked, or in a way that no honest runner does.
#[tokio::test]
async fn false_answers_are_never_believed() {
    let sandbox = sandbox_or_skip!();
    let forged = [
        r#"os.write(4, b'{"i":1,"v":1}\n{"i":2,"v":1}\n{"i":3,"left":true}\n{"i":3,"v":2}\n')"#,
        r#"os.write(4, b'{"i":7,"v":1}\n')"#,
        r#"os.write(4, b'{"i":1.0,"v":1}\n')"#,
        r#"os.write(4, b'no json\n')"#,
        r#"os.write(4, b'{"i":1,"v":' + b'[' * 200 + b']' * 200 + b'}\n')"#,
        r#"os.write(4, b'{"i":1}\n')"#,
        r#"os.write(4, b'{"i":1,"same":9}\n')"#,
    ];
    for act in forged {
        let code = format!("import os\ndef f(x):\n  {act}\n  return 0\n");
        let report = sandbox
            .run_tests(job(&code, &["assert f(1) == 1\nassert f(2) == 2"], None))
            .await
            .unwrap();
        let failed = match &report.verdict {
            TestVerdict::Failed(RunFailure::Forged { .. }) => true,
            // It may have answered wrongly before it overdid it.
            TestVerdict::AssertionFailed { .. } => act.contains("left"),
            _ => false,
        };
        assert!(failed, "{act}: {:?}", report.verdict);
    }
    // All answers given by the first call, and the leave taken: the second answer to a question is
    // one too many.
    let early = "import os\ndef f(x):\n  os.write(4, b'{\"i\":1,\"v\":1}\\n{\"i\":2,\"v\":2}\\n{\"i\":3,\"left\":true}\\n')\n  return x\n";
    let report = sandbox
        .run_tests(job(early, &["assert f(1) == 1\nassert f(2) == 2"], None))
        .await
        .unwrap();
    assert_eq!(
        report.calls, 2,
        "answers that are right are right, whoever wrote them: {:?}",
        report.verdict
    );
}

#[tokio::test]
async fn long_questions_and_answers_do_not_block_each_other() {
    let sandbox = sandbox_or_skip!();
    let tests = "for i in range(60):\n    assert f('x' * 20000, i) == 'x' * 20000";
    let report = both(&sandbox, job("def f(x, i): return x", &[tests], None)).await;
    assert_eq!(
        (report.verdict, report.mode, report.calls),
        (TestVerdict::Passed, TestMode::Compared, 60)
    );
    let big = "assert len(f('y' * 190000)) == 1900000";
    let report = both(&sandbox, job("def f(x): return x * 10", &[big], None)).await;
    assert_eq!(
        (report.verdict, report.mode),
        (TestVerdict::Passed, TestMode::Compared)
    );
}

#[tokio::test]
async fn a_failed_assert_decides_whatever_would_come_after_it() {
    let sandbox = sandbox_or_skip!();
    let code = "def f(x):\n  while x > 1: pass\n  return x\n";
    let mut job = job(code, &["assert f(1) == 0\nassert f(2) == 2"], None);
    job.limits.wall = Duration::from_secs(5);
    let report = sandbox.run_tests(job.clone()).await.unwrap();
    assert!(
        matches!(
            &report.verdict,
            TestVerdict::AssertionFailed { line: 1, .. }
        ),
        "{:?}",
        report.verdict
    );
    job.tests = vec!["assert f(1) == 1\nassert f(2) == 2".into()];
    job.limits.wall = Duration::from_secs(1);
    let report = both(&sandbox, job).await;
    assert_eq!(report.calls, 1);
}
