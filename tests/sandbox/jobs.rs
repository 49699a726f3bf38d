//! What the sandbox promises to its callers, in real cells with a real interpreter.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use eval_sandbox::{
    CallOutcome, FunctionCall, FunctionJob, FunctionReport, Isolation, ModeChoice, ProgramEnding,
    ProgramJob, ProgramLimits, RunFailure, Sandbox, SandboxConfig, SandboxError, ScriptJob,
    TestJob, TestMode, TestReport, TestVerdict, Tier,
};
use serde_json::{Value, json};

fn config() -> SandboxConfig {
    SandboxConfig::new(env!("CARGO_BIN_EXE_eval-harness").into())
}

/// `None`, said by name, where no tier works.
async fn sandbox() -> Option<Sandbox> {
    match Sandbox::open(config()).await {
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

/// Time enough for the busiest machine.
fn wide() -> ProgramLimits {
    ProgramLimits {
        wall: Duration::from_secs(30),
        ..ProgramLimits::default()
    }
}

fn argv(words: &[&str]) -> ProgramJob {
    ProgramJob {
        argv: words.iter().map(|w| (*w).to_owned()).collect(),
        limits: wide(),
        ..ProgramJob::default()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_program_gets_its_input_and_gives_its_streams_and_its_code() {
    let sandbox = sandbox_or_skip!();
    let mut program = argv(&["sh", "-c", "cat; cat d/f >&2; echo $X; exit 3"]);
    program.stdin = b"in\0put\n".to_vec();
    program.env = vec![("X".into(), "y z".into())];
    program.files = vec![("d/f".into(), b"file\xff".to_vec())];
    let result = sandbox.run_program(program).await.unwrap();
    assert_eq!(result.ending, ProgramEnding::Exited(3));
    assert_eq!(text(&result.streams.stdout), "in\0put\ny z\n");
    assert_eq!(result.streams.stderr, b"file\xff");
    assert!(!result.streams.stdout_truncated && !result.streams.stderr_truncated);
}

#[tokio::test]
async fn the_environment_is_clean_and_the_hash_seed_fixed() {
    let sandbox = sandbox_or_skip!();
    let result = sandbox.run_program(argv(&["env"])).await.unwrap();
    let mut names: Vec<String> = text(&result.streams.stdout)
        .lines()
        .filter_map(|l| l.split('=').next().map(str::to_owned))
        .collect();
    names.sort();
    let expected = "HOME LANG LC_ALL OPENBLAS_NUM_THREADS PATH PYTHONDONTWRITEBYTECODE PYTHONHASHSEED TMPDIR TZ";
    assert_eq!(names.join(" "), expected);
    let print = |code: &str| ScriptJob {
        code: code.into(),
        limits: wide(),
        ..ScriptJob::default()
    };
    let code = "import sys\nprint(hash('a'), sys.flags.no_site, sys.argv, __name__)";
    let first = sandbox.run_script(print(code)).await.unwrap();
    let second = sandbox.run_script(print(code)).await.unwrap();
    assert_eq!(first.streams.stdout, second.streams.stdout);
    assert_eq!(first.streams.stderr, second.streams.stderr);
    assert!(
        text(&first.streams.stdout).ends_with(" 1 ['main.py'] __main__\n"),
        "{:?}",
        first.streams
    );
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let sandbox = sandbox_or_skip!();
    let missing = sandbox
        .run_program(argv(&["no-such-program"]))
        .await
        .unwrap_err();
    assert!(
        matches!(&missing, SandboxError::CannotStart { program, .. } if program == "no-such-program"),
        "{missing}"
    );
    let missing = sandbox
        .run_program(argv(&["/no/such/program"]))
        .await
        .unwrap_err();
    assert_eq!(
        missing.to_string(),
        "/no/such/program could not be started in the sandbox: No such file or directory (os error 2)"
    );
    let empty = sandbox.run_program(argv(&[])).await.unwrap_err();
    assert_eq!(empty.to_string(), "the command is empty");
    let mut outside = argv(&["true"]);
    outside.files = vec![("../x".into(), Vec::new())];
    assert!(matches!(
        sandbox.run_program(outside).await,
        Err(SandboxError::BadRequest(_))
    ));
}

#[tokio::test]
async fn long_output_is_cut_and_endless_output_ends_the_job() {
    let sandbox = sandbox_or_skip!();
    let mut program = argv(&["sh", "-c", "head -c 3000000 /dev/zero; echo end >&2"]);
    program.limits.output_bytes = 1000;
    let result = sandbox.run_program(program).await.unwrap();
    assert_eq!(result.ending, ProgramEnding::Exited(0));
    assert_eq!(
        (result.streams.stdout.len(), result.streams.stdout_truncated),
        (1000, true)
    );
    assert_eq!(text(&result.streams.stderr), "end\n");
    let result = sandbox
        .run_program(argv(&["cat", "/dev/zero"]))
        .await
        .unwrap();
    assert_eq!(result.ending, ProgramEnding::OutputLimit);
}

#[tokio::test]
async fn a_dropped_job_frees_its_worker() {
    let sandbox = sandbox_or_skip!();
    let mut sleep = argv(&["sleep", "1000"]);
    sleep.limits.wall = Duration::from_secs(900);
    let dropped =
        tokio::time::timeout(Duration::from_millis(300), sandbox.run_program(sleep)).await;
    assert!(dropped.is_err());
    // There is one worker: this would wait for the sleeper.
    let result = sandbox.run_program(argv(&["true"])).await.unwrap();
    assert_eq!(result.ending, ProgramEnding::Exited(0));
}

#[tokio::test]
async fn jobs_of_several_workers_run_at_once() {
    let sandbox = match Sandbox::open(SandboxConfig {
        workers: 2,
        ..config()
    })
    .await
    {
        Ok(sandbox) => sandbox,
        Err(reason) => return println!("SKIPPED: {reason}"),
    };
    let mut sleeper = argv(&["sleep", "1000"]);
    sleeper.limits.wall = Duration::from_secs(900);
    let other = sandbox.clone();
    let task = tokio::spawn(async move { other.run_program(sleeper).await });
    for _ in 0..3 {
        let result = sandbox.run_program(argv(&["true"])).await.unwrap();
        assert_eq!(result.ending, ProgramEnding::Exited(0));
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn no_isolation_is_refused_or_said_aloud() {
    let nothing = SandboxConfig {
        tiers: Vec::new(),
        ..config()
    };
    let Err(SandboxError::Unavailable { reasons, remedy }) = Sandbox::open(nothing.clone()).await
    else {
        panic!("it must be unavailable")
    };
    assert!(
        reasons.is_empty() && remedy.contains("--allow-unsandboxed"),
        "{remedy}"
    );
    let broken = SandboxConfig {
        helper: PathBuf::from("/no/such/helper"),
        ..config()
    };
    let Err(SandboxError::Unavailable { reasons, .. }) = Sandbox::open(broken).await else {
        panic!("it must be unavailable")
    };
    let tiers: Vec<Tier> = reasons.iter().map(|(tier, _)| *tier).collect();
    assert_eq!(tiers, [Tier::Userns, Tier::Rootns, Tier::Landlock]);
    assert!(reasons[0].1.contains("/no/such/helper"), "{reasons:?}");

    let open = Sandbox::open(SandboxConfig {
        isolation: Isolation::AllowNone,
        ..nothing
    })
    .await
    .unwrap();
    assert_eq!(
        (open.state().tier, open.state().enforced),
        (Tier::None, false)
    );
    let result = open
        .run_program(argv(&["sh", "-c", "pwd; echo $HOME; ls"]))
        .await
        .unwrap();
    let said = text(&result.streams.stdout);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "an empty folder: {said}");
    assert_eq!(lines[0], lines[1], "the home is the private folder");
    let report = open
        .run_tests(asserts("def f(x): return x", &["assert f(1) == 1"]))
        .await
        .unwrap();
    assert_eq!(report.verdict, TestVerdict::Passed);
    let folder = PathBuf::from(lines[0]);
    let above = folder.parent().unwrap();
    assert!(
        above.exists() && !folder.exists(),
        "the folder ends with its job"
    );
    drop(open);
    assert!(!above.exists(), "{} was left behind", above.display());
}

#[tokio::test]
async fn a_missing_python_is_said_when_it_is_needed() {
    let config = SandboxConfig {
        python: Some("/no/such/python".into()),
        ..config()
    };
    let Ok(sandbox) = Sandbox::open(config).await else {
        return println!("SKIPPED: no tier");
    };
    assert!(matches!(
        sandbox.python(),
        Err(SandboxError::InterpreterMissing(_))
    ));
    let refused = sandbox.run_tests(asserts("", &[])).await.unwrap_err();
    assert!(
        matches!(&refused, SandboxError::InterpreterMissing(why) if why.contains("/no/such/python")),
        "{refused}"
    );
    assert_eq!(
        sandbox.run_program(argv(&["true"])).await.unwrap().ending,
        ProgramEnding::Exited(0)
    );
}

#[tokio::test]
async fn programs_may_use_proc_and_the_standard_devices() {
    let sandbox = sandbox_or_skip!();
    let code = "import os\nprint(open('/dev/stdin').read(), open('/proc/self/comm').read() != '', os.listdir('/proc').count('1'))";
    let script = ScriptJob {
        code: code.into(),
        stdin: b"given".to_vec(),
        args: vec![],
        limits: wide(),
    };
    let result = sandbox.run_script(script).await.unwrap();
    assert_eq!(
        text(&result.streams.stdout),
        "given True 0\n",
        "{}",
        text(&result.streams.stderr)
    );
}

#[tokio::test]
async fn limits_beyond_all_measure_are_no_accident() {
    let sandbox = sandbox_or_skip!();
    let limits = ProgramLimits {
        wall: Duration::MAX,
        cpu: None,
        memory_mb: u64::MAX,
        output_bytes: u64::MAX,
        output_end: u64::MAX,
        stderr_tail: false,
        processes: u64::MAX,
        open_files: 4096,
        file_mb: u64::MAX,
        return_bytes: u64::MAX,
    };
    let program = ProgramJob {
        limits: limits.clone(),
        ..argv(&["echo", "fine"])
    };
    assert_eq!(
        text(&sandbox.run_program(program).await.unwrap().streams.stdout),
        "fine\n"
    );
    let mut job = calls("def f(x): return x", "f", &[json!([1])]);
    job.limits = limits.clone();
    job.per_call = Some(Duration::MAX);
    assert_eq!(
        outcomes(&sandbox.call_functions(job, |_, value| value).await.unwrap()),
        ["1"]
    );
    let job = TestJob {
        limits,
        ..asserts("def f(x): return x", &["assert f(1) == 1"])
    };
    assert_eq!(
        sandbox.run_tests(job).await.unwrap().verdict,
        TestVerdict::Passed
    );
}

// ---------------------------------------------------------------- calls of functions

fn calls(code: &str, entry_point: &str, args: &[Value]) -> FunctionJob {
    let call = |args: &Value| FunctionCall {
        args: args.as_array().unwrap().clone(),
        kwargs: Vec::new(),
    };
    FunctionJob {
        code: code.into(),
        entry_point: entry_point.into(),
        calls: args.iter().map(call).collect(),
        per_call: None,
        limits: wide(),
        ..FunctionJob::default()
    }
}

fn outcomes(report: &FunctionReport) -> Vec<String> {
    let show = |outcome: &CallOutcome| match outcome {
        CallOutcome::Value(value) => value.to_string(),
        CallOutcome::Raised(raised) => format!("{}: {}", raised.type_name, raised.message),
        CallOutcome::Failed(failure) => format!("{failure:?}"),
        CallOutcome::NotRun => "not run".into(),
    };
    report
        .calls
        .iter()
        .map(|call| show(&call.outcome))
        .collect()
}

#[tokio::test]
async fn values_come_back_as_what_they_are() {
    let sandbox = sandbox_or_skip!();
    let cases = [
        ("1", "1"),
        ("1.0", "1.0"),
        ("True", "true"),
        ("None", "null"),
        ("2 ** 53 - 1", "9007199254740991"),
        ("2 ** 53", r#"{"$int":"0x20000000000000"}"#),
        ("float('nan')", r#"{"$float":"nan"}"#),
        ("-float('inf')", r#"{"$float":"-inf"}"#),
        ("(1, [2])", r#"{"$tuple":[1,[2]]}"#),
        ("{'a': 1}", r#"{"a":1}"#),
        ("{'$int': '0x1'}", r#"{"$dict":[["$int","0x1"]]}"#),
        ("{1: 2, (3,): 4}", r#"{"$dict":[[1,2],[{"$tuple":[3]},4]]}"#),
        ("{1}", r#"{"$set":[1]}"#),
        ("frozenset([1])", r#"{"$frozenset":[1]}"#),
        ("b'\\x00\\xff'", r#"{"$bytes":"00ff"}"#),
        ("1j", r#"{"$complex":[0.0,1.0]}"#),
        ("range(1, 9, 2)", r#"{"$range":[1,9,2]}"#),
        ("'\\ud800'", r#"{"$wtf8":"eda080"}"#),
        (
            "collections.Counter('aab')",
            r#"{"$counter":[["a",2],["b",1]]}"#,
        ),
        (
            "collections.OrderedDict([(2, 1), (1, 2)])",
            r#"{"$odict":[[2,1],[1,2]]}"#,
        ),
        (
            "collections.defaultdict(list, {1: [2]})",
            r#"{"$defaultdict":[[1,[2]]]}"#,
        ),
        ("collections.deque([1, 2], 5)", r#"{"$deque":[[1,2],5]}"#),
        (
            "collections.namedtuple('P', 'x y')(1, 2)",
            r#"{"$tuple":[1,2]}"#,
        ),
        ("(x for x in [1, 2])", r#"{"$iter":[1,2]}"#),
        ("map(abs, [-1])", r#"{"$iter":[1]}"#),
        ("{1: 2}.keys()", r#"{"$dict_keys":[1]}"#),
        ("decimal.Decimal('1.50')", r#"{"$decimal":"1.50"}"#),
        ("fractions.Fraction(1, 3)", r#"{"$fraction":[1,3]}"#),
        ("int", r#"{"$type":"int"}"#),
        ("Plain(3)", "3"),
        ("Liar(3)", r#"{"$opaque":"Liar"}"#),
        ("Own()", r#"{"$opaque":"Own"}"#),
        ("re.match('a', 'a')", r#"{"$opaque":"Match","truth":true}"#),
        ("print", r#"{"$opaque":"builtin_function_or_method"}"#),
        ("datetime.date(2024, 2, 29)", r#"{"$date":"2024-02-29"}"#),
        (
            "datetime.timedelta(hours=-1)",
            r#"{"$timedelta":[-1,82800,0]}"#,
        ),
        (
            "pathlib.PurePosixPath('a')",
            r#"{"$opaque":"PurePosixPath","only_truth":true}"#,
        ),
    ];
    let mut code = String::from(
        "import collections, datetime, decimal, fractions, pathlib, re\nclass Plain(int): pass\nclass Liar(int):\n  def __eq__(s, o): return True\nclass Own:\n  def __bool__(s): return True\n",
    );
    for (i, (expression, _)) in cases.iter().enumerate() {
        code += &format!("def f{i}(): return {expression}\n");
    }
    code += "def f(i): return globals()['f%d' % i]()\n";
    let job = calls(
        &code,
        "f",
        &(0..cases.len()).map(|i| json!([i])).collect::<Vec<_>>(),
    );
    let report = sandbox.call_functions(job, |_, value| value).await.unwrap();
    for ((expression, want), got) in cases.iter().zip(outcomes(&report)) {
        assert_eq!(got, *want, "{expression}");
    }
    assert_eq!(report.processes, 1);
}

#[tokio::test]
async fn arguments_arrive_as_what_they_are() {
    let sandbox = sandbox_or_skip!();
    let values = [
        json!({"$int": "0x-ff"}),
        json!({"$int": "-0xff"}),
        json!({"$tuple": [1, {"$set": [2]}]}),
        json!({"$dict": [[{"$tuple": [1]}, null]]}),
        json!({"$bytes": "00"}),
        json!({"a": {"$float": "inf"}}),
    ];
    let job = calls("def f(x): return repr(x)", "f", &values.map(|v| json!([v])));
    let report = sandbox.call_functions(job, |_, value| value).await.unwrap();
    let want = [
        "ValueError: invalid literal for int() with base 16: '0x-ff'",
        "\"-255\"",
        "\"(1, {2})\"",
        "\"{(1,): None}\"",
        "\"b'\\\\x00'\"",
        "\"{'a': inf}\"",
    ];
    assert_eq!(outcomes(&report), want);
}

#[tokio::test]
async fn functions_of_every_kind_are_called() {
    let sandbox = sandbox_or_skip!();
    let code = "import asyncio\nasync def later(x):\n  await asyncio.sleep(0)\n  return x + 1\nclass S:\n  @staticmethod\n  def twice(x, by=2): return x * by\ndef same(x):\n  x.append(1)\n  return x\n";
    let report = sandbox
        .call_functions(calls(code, "later", &[json!([1])]), |_, value| value)
        .await
        .unwrap();
    assert_eq!(outcomes(&report), ["2"]);
    let mut job = calls(code, "S.twice", &[json!([4])]);
    job.calls[0].kwargs = vec![("by".into(), json!(5))];
    assert_eq!(
        outcomes(&sandbox.call_functions(job, |_, value| value).await.unwrap()),
        ["20"]
    );
    let report = sandbox
        .call_functions(calls(code, "same", &[json!([[0]])]), |_, value| value)
        .await
        .unwrap();
    assert_eq!(outcomes(&report), ["[0,1]"]);
    let report = sandbox
        .call_functions(calls(code, "missing", &[json!([])]), |_, value| value)
        .await
        .unwrap();
    assert_eq!(
        outcomes(&report),
        ["NameError: name 'missing' is not defined"]
    );
}

#[tokio::test]
async fn a_stuck_call_does_not_take_the_others_with_it() {
    let sandbox = sandbox_or_skip!();
    let code = "import os, sys\nprint('hello', flush=True)\ndef f(x):\n  if x == 1:\n    while True: pass\n  if x == 2: os._exit(4)\n  if x == 3: sys.exit(5)\n  if x == 4: return 1 // 0\n  return x\n";
    let mut job = calls(code, "f", &[0, 1, 2, 3, 4, 5].map(|x| json!([x])));
    job.per_call = Some(Duration::from_secs(3));
    let report = sandbox.call_functions(job, |_, value| value).await.unwrap();
    let want = [
        "0",
        "Ended(TimedOut)",
        "Exited { code: Some(4) }",
        "Exited { code: Some(5) }",
        "ZeroDivisionError: integer division or modulo by zero",
        "5",
    ];
    assert_eq!(outcomes(&report), want);
    assert_eq!(report.processes, 3);
    assert_eq!(text(&report.streams.stdout), "hello\n");
    let CallOutcome::Raised(raised) = &report.calls[4].outcome else {
        panic!()
    };
    assert_eq!(
        raised.traceback,
        "line 8, in f\n    if x == 4: return 1 // 0"
    );
}

#[tokio::test]
async fn a_call_does_not_pay_for_the_time_of_those_before_it() {
    let sandbox = sandbox_or_skip!();
    let code = "import time\ndef f(x):\n  time.sleep(1.5)\n  return x\n";
    let mut job = calls(code, "f", &[json!([1]), json!([2]), json!([3])]);
    job.per_call = Some(Duration::from_secs(60));
    job.limits.wall = Duration::from_secs(4);
    let report = sandbox.call_functions(job, |_, value| value).await.unwrap();
    assert_eq!(outcomes(&report), ["1", "2", "3"]);
    assert!(report.processes > 1);
}

#[tokio::test]
async fn calls_that_end_every_process_are_bounded() {
    let sandbox = sandbox_or_skip!();
    let code = "import os\ndef f(x): os._exit(0)";
    let report = sandbox
        .call_functions(calls(code, "f", &vec![json!([1]); 20]), |_, value| value)
        .await
        .unwrap();
    let outcomes = outcomes(&report);
    assert_eq!(report.processes, 8);
    assert!(
        outcomes[..8]
            .iter()
            .all(|o| o == "Exited { code: Some(0) }"),
        "{outcomes:?}"
    );
    assert!(outcomes[8..].iter().all(|o| o == "not run"), "{outcomes:?}");
}

#[tokio::test]
async fn a_program_that_does_not_load_fails_every_call() {
    let sandbox = sandbox_or_skip!();
    let cases = [
        (
            "def f(:\n",
            "SyntaxError { message: \"invalid syntax (solution.py, line 1)\", line: Some(1) }",
        ),
        ("x = 'a\0b'", "SyntaxError"),
        ("import sys; sys.exit(2)", "Exited { code: Some(2) }"),
        ("import os; os._exit(0)", "Exited { code: Some(0) }"),
        (
            "raise KeyError(1)",
            "LoadRaised(RaisedException { type_name: \"KeyError\"",
        ),
        (
            "import no_such_module",
            "LoadRaised(RaisedException { type_name: \"ModuleNotFoundError\"",
        ),
        ("x = bytearray(10 ** 9)", "Ended(MemoryLimit)"),
        ("import os; os.abort()", "Ended(Signaled(6))"),
    ];
    for (code, want) in cases {
        let report = sandbox
            .call_functions(calls(code, "f", &[json!([]), json!([])]), |_, value| value)
            .await
            .unwrap();
        let failure = format!("{:?}", report.load_failure.as_ref().unwrap());
        assert!(failure.starts_with(want), "{code:?}: {failure}");
        assert_eq!(outcomes(&report), [failure.clone(), failure]);
    }
}

// ---------------------------------------------------------------- tests

fn asserts(code: &str, tests: &[&str]) -> TestJob {
    TestJob {
        code: code.into(),
        tests: tests.iter().map(|t| (*t).to_owned()).collect(),
        limits: wide(),
        ..TestJob::default()
    }
}

async fn verdict(sandbox: &Sandbox, job: TestJob) -> TestReport {
    sandbox.run_tests(job).await.unwrap()
}

#[tokio::test]
async fn tests_that_hold_pass_apart_from_the_candidate() {
    let sandbox = sandbox_or_skip!();
    let table = [
        ("def f(x): return x + 1", "assert f(1) == 2"),
        ("def sum(a, b): return a + b", "assert sum(10, 15) == 25"),
        (
            "def f(x): x.sort()",
            "a = [3, 1]\nassert f(a) is None\nassert a == [1, 3]",
        ),
        (
            "def f(x): x[0].append(2)",
            "inner = [1]\nf([inner])\nassert inner == [1, 2]",
        ),
        ("def f(x): return x", "a = [1]\nassert f(a) is a"),
        (
            "def f(d, k): d[k] = 1; d.pop('x')",
            "d = {'x': 0}\nf(d, k='y')\nassert d == {'y': 1}",
        ),
        ("def f(s): s.add(2)", "s = {1}\nf(s)\nassert s == {1, 2}"),
        ("async def f(x): return x", "assert f(1) == 1"),
        (
            "from collections import Counter\ndef f(x): return Counter(x)",
            "assert f('aab') == {'a': 2, 'b': 1}\nassert f('aab').most_common(1) == [('a', 2)]\nassert f('a')['z'] == 0",
        ),
        (
            "from collections import defaultdict\ndef f():\n  d = defaultdict(list)\n  d[1].append(2)\n  return d",
            "assert f() == {1: [2]}",
        ),
        (
            "from collections import OrderedDict as O\ndef f(): return O([(1, 2), (3, 4)])",
            "from collections import OrderedDict\nassert f() == OrderedDict([(1, 2), (3, 4)])\nassert f() != OrderedDict([(3, 4), (1, 2)])",
        ),
        (
            "from collections import namedtuple\ndef f(): return namedtuple('P', 'x')(1)",
            "assert f() == (1,)",
        ),
        (
            "import re\ndef f(s): return re.search('b', s)",
            "assert f('abc')\nassert not f('xyz')\nassert (f('b') == True) is False",
        ),
        (
            "def f(n): return (i for i in range(n))",
            "assert list(f(3)) == [0, 1, 2]\nassert f(3) != [0, 1, 2]",
        ),
        (
            "def f(x): raise ValueError('no')",
            "try:\n  f(1)\n  assert False\nexcept ValueError as e:\n  assert str(e) == 'no'",
        ),
        (
            "import json\ndef f(x): return json.loads(x)",
            "try:\n  f('{')\n  assert False\nexcept ValueError:\n  pass",
        ),
        (
            "def f(b): return b.decode()",
            "try:\n  f(b'\\xff')\n  assert False\nexcept ValueError:\n  pass",
        ),
        (
            "def f(t): return isinstance(3, t)",
            "assert f(int) and not f(str)",
        ),
        (
            "def f(g, x): return g(x)\ndef h(x): return x * 2",
            "assert f(h, 4) == 8",
        ),
        (
            "def enc(s): return s[::-1]\ndef dec(s): return s[::-1]",
            "s = 'abc'\nassert dec(enc(s)) == s",
        ),
        ("def f(n): return 7 ** n", "assert f(20000) == 7 ** 20000"),
        (
            "def f(): return '\\ud800', 1e400, b'x'",
            "assert f() == ('\\ud800', float('inf'), b'x')",
        ),
        (
            "def f(): return {frozenset([1]): 2}",
            "assert f() == {frozenset([1]): 2}",
        ),
        (
            "def f(x): return x",
            "assert list(map(f, [1, 2])) == [1, 2]",
        ),
        (
            "def f(x): return x",
            "import sys\nassert f(sys.maxsize) == sys.maxsize",
        ),
        ("def f(x): print('loud'); return x", "assert f(1) == 1"),
        (
            "import datetime as d\ndef f(y): return d.date(y, 1, 2), d.datetime(y, 1, 2, 3, tzinfo=d.timezone.utc), d.timedelta(0, y)",
            "from datetime import date, datetime, timedelta, timezone\nassert f(7) == (date(7, 1, 2), datetime(7, 1, 2, 3, tzinfo=timezone.utc), timedelta(seconds=7))",
        ),
        (
            "import uuid\ndef f(): return uuid.UUID(int=5)",
            "import uuid\nassert f() == uuid.UUID(int=5)",
        ),
    ];
    for (code, tests) in table {
        for mode in [None, Some(TestMode::Split)] {
            let report = verdict(
                &sandbox,
                TestJob {
                    mode,
                    ..asserts(code, &[tests])
                },
            )
            .await;
            assert_eq!(report.verdict, TestVerdict::Passed, "{code}\n{tests}");
            assert_ne!(
                report.mode,
                TestMode::InProcess,
                "{tests}: {}",
                report.mode_reason
            );
            assert!(report.calls > 0);
        }
    }
}

fn show(verdict: &TestVerdict) -> String {
    match verdict {
        TestVerdict::AssertionFailed {
            index,
            line,
            source,
            message,
            ..
        } => {
            format!("test {index}:{line} {source} [{message}]")
        }
        TestVerdict::CandidateRaised(r) => {
            format!("candidate raised {}: {}", r.type_name, r.message)
        }
        TestVerdict::TestRaised(r) => format!("test raised {}: {}", r.type_name, r.message),
        TestVerdict::TestError(r) => format!("test error {}: {}", r.type_name, r.message),
        TestVerdict::Failed(RunFailure::LoadRaised(r)) => format!("load raised {}", r.type_name),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn tests_that_do_not_hold_say_why() {
    let sandbox = sandbox_or_skip!();
    let own = "class A:\n  def __eq__(s, o): return True\n  def __bool__(s): return True\ndef f(*x): return A()";
    let table = [
        (
            "def f(x): return x",
            "x = 1\nassert f(x) == 2, 'two'",
            "test 1:2 assert f(x) == 2, 'two' [two]",
        ),
        (
            "def f(x): return 1 // x",
            "assert f(0) == 0",
            "candidate raised ZeroDivisionError: integer division or modulo by zero",
        ),
        (
            "def f(x): assert x > 1, 'mine'",
            "f(0)",
            "candidate raised AssertionError: mine",
        ),
        (
            "def g(x): return x",
            "assert f(0) == 0",
            "candidate raised NameError: name 'f' is not defined",
        ),
        (
            "def f(x): return None",
            "assert abs(f(1) - 2) < 1",
            "test raised TypeError: unsupported operand type(s) for -: 'NoneType' and 'int'",
        ),
        (
            "def f(x): return x",
            "assert no_such_helper_here.x == f(1)",
            "candidate raised",
        ),
        (
            "def f(x): return x",
            "assert f(1 ==",
            "test error SyntaxError: '(' was never closed (tests.py, line 1)",
        ),
        (
            "def f(x): return x",
            "import no_such_module\nassert f(1) == 1",
            "test error ModuleNotFoundError: No module named 'no_such_module'",
        ),
        (
            "def f(x): return x",
            "1 / 0\nassert f(1) == 1",
            "test error ZeroDivisionError: division by zero",
        ),
        (own, "assert f(1) == 1", "Opaque { type_name: \"A\" }"),
        (own, "assert f(1)", "Opaque { type_name: \"A\" }"),
        (own, "assert [f(1)] == [1]", "Opaque { type_name: \"A\" }"),
        (
            own,
            "try:\n  assert f(1) == 1\nexcept BaseException: pass",
            "Opaque { type_name: \"A\" }",
        ),
        (own, "assert f(f(1)) == 1", "Opaque { type_name: \"A\" }"),
        (
            "import sys\ndef f(x): sys.exit(0)",
            "assert f(1) == 1",
            "Failed(Exited { code: Some(0) })",
        ),
        (
            "import os\ndef f(x): os._exit(0)",
            "assert f(1) == 1",
            "Failed(Exited { code: Some(0) })",
        ),
        (
            "def f(x): return [0] * 10 ** 9",
            "assert f(1) == 1",
            "Failed(Ended(MemoryLimit))",
        ),
        (
            "def f(x): return 'x' * (20 << 20)",
            "assert f(1) == 1",
            "Failed(ReturnLimit)",
        ),
        (
            "import ctypes\ndef f(x): ctypes.string_at(0)",
            "assert f(1) == 1",
            "Failed(Ended(Signaled(11)))",
        ),
        ("raise KeyError", "assert f(1) == 1", "load raised KeyError"),
        (
            "raise SystemExit",
            "assert f(1) == 1",
            "Failed(Exited { code: Some(0) })",
        ),
    ];
    for (code, tests, want) in table {
        let report = verdict(&sandbox, asserts(code, &["pass", tests])).await;
        let got = show(&report.verdict);
        if tests.contains("no_such_helper_here") {
            // An attribute of something unknown: only the candidate's interpreter could tell.
            assert_eq!(report.mode, TestMode::InProcess);
            assert_eq!(
                got,
                "candidate raised NameError: name 'no_such_helper_here' is not defined"
            );
        } else {
            assert_eq!(got, want, "{code}\n{tests}");
            assert_ne!(report.mode, TestMode::InProcess, "{}", report.mode_reason);
        }
    }
}

#[tokio::test]
async fn the_mode_follows_from_the_tests_alone() {
    let sandbox = sandbox_or_skip!();
    let choose = async |tests: &str| -> ModeChoice {
        let job = asserts("raise SystemExit", &[tests]);
        sandbox.test_mode(job).await.unwrap().unwrap()
    };
    let in_process = [
        (
            "root = Node(1)\nroot.left = Node(2)\nassert height(root) == 2",
            "a test reads the attribute left of a value that the candidate returned",
        ),
        (
            "assert chain([Pair(1, 2)], 1) == 1",
            "a test passes to chain an object that Pair of the candidate made",
        ),
        (
            "assert Solution().run(3) == 3",
            "a test reads the attribute run of a value that the candidate returned",
        ),
        (
            "assert f(3)(4) == 7",
            "a test calls a value that the candidate returned",
        ),
        (
            "assert f(lambda x: x) == 3",
            "a test passes to f a function of its own",
        ),
        (
            "def own(x): return x\nassert f(own) == 3",
            "a test passes to f its own object own",
        ),
        (
            "assert isinstance(f(1), Thing)",
            "a test uses Thing of the candidate as a class",
        ),
        (
            "assert LIMIT == 3",
            "a test uses LIMIT of the candidate without calling it",
        ),
        (
            "try:\n  f(1)\nexcept Bad: pass",
            "a test uses Bad of the candidate without calling it",
        ),
        (
            "x = f(1)\ny = x\nassert y.size == 3",
            "a test reads the attribute size of a value that the candidate returned",
        ),
    ];
    for (tests, why) in in_process {
        let choice = choose(tests).await;
        assert_eq!(
            (choice.mode, choice.why.as_str()),
            (TestMode::InProcess, why),
            "{tests}"
        );
    }
    let (split, compared) = (TestMode::Split, TestMode::Compared);
    let apart: [(&str, &[&str], TestMode); 7] = [
        ("assert f(1).upper() == 'A'", &["f"], split),
        (
            "import random\nr = random.Random(1)\nassert f(r.random()) > 0",
            &["f"],
            split,
        ),
        ("assert g(f(1)) == len(h(2))", &["g", "f", "h"], split),
        ("assert g(1) == len(h(2))", &["g", "h"], compared),
        ("assert max(1, 2) == 2", &["max"], compared),
        ("assert max(f(1), 2) == 2", &["f"], split),
        (
            "assert f((1, 'x')) == sys.getsizeof((1, 'x'))",
            &["f"],
            split,
        ),
    ];
    for (tests, names, mode) in apart {
        let choice = choose(tests).await;
        assert_eq!((choice.mode, choice.why.as_str()), (mode, ""), "{tests}");
        assert_eq!(choice.names, names, "{tests}");
    }
    let broken = sandbox
        .test_mode(asserts("", &["def f(:"]))
        .await
        .unwrap()
        .unwrap_err();
    assert!(
        matches!(&broken, TestVerdict::TestError(r) if r.is("SyntaxError")),
        "{broken:?}"
    );
}

#[tokio::test]
async fn tests_with_the_candidates_classes_run_in_its_interpreter_and_say_so() {
    let sandbox = sandbox_or_skip!();
    let code = "class P:\n  def __init__(s, a): s.a = a\ndef f(p): return p.a\n";
    let report = verdict(&sandbox, asserts(code, &["assert f(P(3)) == 3"])).await;
    assert_eq!(report.verdict, TestVerdict::Passed);
    assert_eq!(report.mode, TestMode::InProcess);
    assert_eq!(
        report.mode_reason,
        "a test passes to f an object that P of the candidate made"
    );
    let report = verdict(&sandbox, asserts(code, &["pass", "assert f(P(3)) == 4"])).await;
    assert_eq!(show(&report.verdict), "test 1:1 assert f(P(3)) == 4 []");
    for (more, want) in [
        (
            "import sys; sys.exit(0)",
            "Failed(Exited { code: Some(0) })",
        ),
        ("import os; os._exit(0)", "Failed(Exited { code: Some(0) })"),
        ("1 / 0", "load raised ZeroDivisionError"),
        (
            "def f(p): raise SystemExit",
            "Failed(Exited { code: Some(0) })",
        ),
        (
            "def f(p): return p.b",
            "candidate raised AttributeError: 'P' object has no attribute 'b'",
        ),
        (
            "x = (",
            "Failed(SyntaxError { message: \"'(' was never closed (solution.py, line 4)\", line: Some(4) })",
        ),
    ] {
        let report = verdict(
            &sandbox,
            asserts(&format!("{code}{more}\n"), &["assert f(P(3)) == 3"]),
        )
        .await;
        assert_eq!(show(&report.verdict), want, "{more}");
    }
}

/// An answer that is handed on must not be a way into the tests' interpreter.
#[tokio::test]
async fn no_answer_leads_to_the_tests_interpreter() {
    let sandbox = sandbox_or_skip!();
    for answer in [
        r#"b"[" * 120 + b"]" * 120"#,
        r#"b"[" * 120 + b'{"$decimal":"1"}' + b"]" * 120"#,
        r#"b'{"$iter":[' + b"0," * 100001 + b'0]}'"#,
    ] {
        let code = format!(
            "import os\nA = {answer}\ndef f(x):\n    os.write(4, b'{{\"i\":1,\"v\":' + A + b'}}\\n')\n    os.read(4, 1 << 20)\n"
        );
        let report = verdict(&sandbox, asserts(&code, &["assert f(f(1)) == 1"])).await;
        assert_eq!(show(&report.verdict), "Failed(ReturnLimit)", "{answer}");
    }
}

#[tokio::test]
async fn what_a_standard_object_equals_is_not_guessed() {
    let sandbox = sandbox_or_skip!();
    let code = "from pathlib import PurePosixPath\ndef f(): return PurePosixPath('a')\n";
    for tests in [
        "assert f()\nassert f() != PurePosixPath('a')",
        "assert f() == PurePosixPath('a')",
    ] {
        let report = verdict(
            &sandbox,
            asserts(
                code,
                &[&format!("from pathlib import PurePosixPath\n{tests}")],
            ),
        )
        .await;
        assert_eq!(
            report.verdict,
            TestVerdict::Opaque {
                type_name: "PurePosixPath".into()
            },
            "{tests}"
        );
    }
}

#[tokio::test]
async fn asked_for_apart_a_test_that_cannot_be_says_so() {
    let sandbox = sandbox_or_skip!();
    let mut job = asserts("def f(g): return g(1)", &["assert f(lambda x: x) == 1"]);
    job.mode = Some(TestMode::Split);
    let report = verdict(&sandbox, job).await;
    let why = "the tests pass the candidate a function".to_owned();
    assert_eq!(report.verdict, TestVerdict::NeedsInProcess { why });
}

/// As `django.conf.settings` is: looking at its class loads what is not there.
#[tokio::test]
async fn lazy_object_beside_the_answer_is_not_looked_into() {
    let sandbox = sandbox_or_skip!();
    let job = asserts(
        "class Lazy:\n    ready = False\n    @property\n    def __class__(self):\n        raise RuntimeError('not configured')\nsettings = Lazy()\ndef f(): return 1",
        &["if not settings.ready:\n    assert f() == 1"],
    );
    let report = verdict(&sandbox, job).await;
    assert_eq!(
        (report.verdict, report.mode),
        (TestVerdict::Passed, TestMode::InProcess)
    );
}

#[tokio::test]
async fn a_check_function_gets_the_entry_point_and_set_up_imports_reach_the_candidate() {
    let sandbox = sandbox_or_skip!();
    let mut job = asserts(
        "def area(r): return math.floor(r)",
        &["def check(candidate):\n    assert candidate(2.5) == 2\n"],
    );
    job.entry_point = Some("area".into());
    job.check = Some("check".into());
    job.setup = "import math\nexpected = 2".into();
    let report = verdict(&sandbox, job.clone()).await;
    assert_eq!((report.verdict, report.calls), (TestVerdict::Passed, 1));
    // The rest of the set-up stays with the judge.
    job.code = "def area(r): return expected".into();
    let report = verdict(&sandbox, job.clone()).await;
    assert_eq!(
        show(&report.verdict),
        "candidate raised NameError: name 'expected' is not defined"
    );
    // The parameter may have the name of the function; builtins of the tests stay builtins.
    let mut named = asserts(
        "def part(x): return x % 1.0",
        &["def check(part):\n    assert abs(part(1.25) - 0.25) < 1e-6\n"],
    );
    named.entry_point = Some("part".into());
    named.check = Some("check".into());
    let report = verdict(&sandbox, named).await;
    assert_eq!((report.verdict, report.calls), (TestVerdict::Passed, 1));
    // A test that only defines `check` proves nothing unless it is called.
    job.code = "def area(r): return 0".into();
    let report = verdict(&sandbox, job).await;
    assert_eq!(
        show(&report.verdict),
        "test 0:2 assert candidate(2.5) == 2 []"
    );
}

#[tokio::test]
async fn out_of_time_is_the_programs_end_and_not_the_harness() {
    let sandbox = sandbox_or_skip!();
    let mut job = asserts("def f(x):\n  while True: pass", &["assert f(1) == 1"]);
    job.limits.wall = Duration::from_secs(2);
    let report = verdict(&sandbox, job).await;
    assert_eq!(
        report.verdict,
        TestVerdict::Failed(RunFailure::Ended(ProgramEnding::TimedOut))
    );
    let mut program = argv(&["sh", "-c", "sleep 1000 & sleep 1000"]);
    program.limits.wall = Duration::from_secs(1);
    let result = sandbox.run_program(program).await.unwrap();
    assert_eq!(result.ending, ProgramEnding::TimedOut);
}

// ---------------------------------------------------------------- kill -9

const VICTIM: &str = "SANDBOX_TEST_VICTIM";
/// A number that no other process has on its command line.
const MARK: &str = "7351.0912";

fn marked_processes() -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|e| std::fs::read(e.path().join("cmdline")).ok());
    lines
        .filter(|line| {
            text(line).starts_with("sleep\0") || text(line).starts_with("/usr/bin/sleep\0")
        })
        .filter(|line| text(line).contains(MARK))
        .count()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{what} did not happen"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Not a test of its own: what `a_killed_harness_leaves_nothing_running` kills.
#[tokio::test]
async fn victim() {
    if std::env::var_os(VICTIM).is_some() {
        let sandbox = sandbox().await.unwrap();
        let mut program = argv(&["sh", "-c", &format!("sleep {MARK} & setsid sleep {MARK}")]);
        program.limits.wall = Duration::from_secs(900);
        let _ = sandbox.run_program(program).await;
    }
}

#[tokio::test]
async fn a_killed_harness_leaves_nothing_running() {
    drop(sandbox_or_skip!());
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            &crate::support::full_name(module_path!(), "victim"),
            "--exact",
        ])
        .env(VICTIM, "1")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("the start of the job", || marked_processes() == 2);
    victim.kill().unwrap();
    victim.wait().unwrap();
    until("the end of the job", || marked_processes() == 0);
}
