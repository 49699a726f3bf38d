//! Right answers that used to fail for reasons other than the answer: what crosses between
//! processes, the interpreter's own names, and languages that lack a part. Each suite is run as a
//! user runs it, with a real interpreter.

use serde_json::{Value, json};

use crate::support::Project;

/// One case with this grader, the answer to it, and more keys of the suite.
fn graded(grader: &Value, answer: &str, more: &Value) -> (Option<i32>, String) {
    let (code, sample) = sample(grader, answer, more);
    let grade = &sample["grades"][0];
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let said = format!(
        "{} {} {}",
        text(&sample["outcome"]),
        text(&sample["cause"]),
        text(&grade["reason"])
    );
    (code, said.trim_end().to_owned())
}

fn sample(grader: &Value, answer: &str, more: &Value) -> (Option<i32>, Value) {
    let mut suite = json!({
        "name": "Right", "target": {"type": "recorded", "path": "outputs.jsonl"},
        "evals": [{"id": "e", "input": "solve", "grader": {"type": "code", "config": grader}}],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        suite[key] = value.clone();
    }
    let outputs = json!({"case": "e", "output": answer}).to_string();
    let suite = json!({ "eval_suite": suite }).to_string();
    let project = Project::with(&[("suite.yaml", &suite), ("outputs.jsonl", &outputs)]);
    let call = project.call(&[
        "run",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--format",
        "json",
    ]);
    assert!(
        matches!(call.code, Some(0 | 1 | 3)),
        "{:?}\n{}\n{}",
        call.code,
        call.stdout,
        call.stderr
    );
    let report = project.report();
    (
        call.code,
        report["evals"][0]["cases"][0]["samples"][0].clone(),
    )
}

fn passes(grader: &Value, answer: &str) {
    assert_eq!(
        graded(grader, answer, &json!({})),
        (Some(0), "passed - -".to_owned()),
        "{answer}"
    );
}

/// The message of a suite that is refused.
fn refused(grader: &Value, more: &Value) -> String {
    let mut suite = json!({
        "name": "Right", "target": {"type": "echo"},
        "evals": [{"id": "e", "input": "solve", "grader": {"type": "code", "config": grader}}],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        suite[key] = value.clone();
    }
    let suite = json!({ "eval_suite": suite }).to_string();
    let call = Project::with(&[("suite.yaml", &suite)])
        .call(&["validate", "--suite", "suite.yaml"])
        .expect(2);
    call.stderr + &call.stdout
}

#[test]
fn large_return_passes_and_the_limit_is_named() {
    let code = "def pile(n):\n    return [1000000 + i for i in range(n)]\n";
    // Compared by the harness, run by a judge, and called.
    let compared = json!({"asserts": ["assert pile(1000000) == list(range(1000000, 2000000))"], "timeout_seconds": 60});
    passes(&compared, code);
    let judged = json!({"asserts": ["assert all(pile(1000000)) and len(pile(1000000)) == 10 ** 6"], "timeout_seconds": 60});
    passes(&judged, code);
    let called = |more: Value| {
        let mut grader = json!({
            "function_name": "pile", "timeout_per_case": 60, "timeout_seconds": 60,
            "test_cases": [{"args": [1000000], "expected": 999999, "comparator": "contains"}],
        });
        grader["test_cases"][0]["expected"] = json!(1000005);
        for (key, value) in more.as_object().into_iter().flatten() {
            grader[key] = value.clone();
        }
        grader
    };
    passes(&called(json!({})), code);
    let (exit, said) = graded(&called(json!({"max_return_mb": 4})), code, &json!({}));
    assert_eq!(exit, Some(1));
    assert_eq!(
        said,
        "failed output_limit pile(1000000): the returned value takes more than 4 MB as text or 64 MB as values; if a correct \
         answer does, raise `max_return_mb`"
    );
    let (_, said) = graded(
        &called(json!({})),
        code,
        &json!({"sandbox": {"max_return_mb": 4}}),
    );
    assert!(said.contains("more than 4 MB"), "{said}");
    // Short numbers take far more memory than text.
    let digits = json!({
        "function_name": "pile", "timeout_per_case": 60, "max_return_mb": 64,
        "test_cases": [{"args": [1200000], "expected": 7, "comparator": "contains"}],
    });
    passes(
        &digits,
        "def pile(n):\n    return [i % 10 for i in range(n)]\n",
    );
}

const PATCHED: &str = "import os\nfrom unittest.mock import patch\n\ndef check(candidate):\n    \
    with patch('os.getcwd', return_value='/elsewhere'):\n        assert candidate() == '/elsewhere'\n";
const FILES: &str = "import os\n\ndef check(candidate):\n    with open('numbers.txt', 'w') as f:\n        f.write('1 2 3')\n    \
    assert candidate('numbers.txt') == 6\n";

#[test]
fn tests_that_share_more_than_data_are_errored_unless_one_process_is_set() {
    let where_am_i = "import os\ndef where():\n    return os.getcwd()\n";
    let total = "def total(path):\n    return sum(map(int, open(path).read().split()))\n";
    let shown =
        [(PATCHED, "where", where_am_i), (FILES, "total", total)].map(|(test, name, code)| {
            let mut grader = json!({"test": test, "entry_point": name});
            let (exit, said) = graded(&grader, code, &json!({}));
            assert_eq!(exit, Some(3));
            grader["trust"] = json!("in_process");
            let (exit, sample) = sample(&grader, code, &json!({}));
            assert_eq!(
                (exit, &sample["grades"][0]["trust"]),
                (Some(0), &json!("in_process")),
                "{sample}"
            );
            said
        });
    insta::assert_snapshot!(shown.join("\n"), @"
    errored harness the tests replace parts of modules (`patch`), but the code runs in a separate process, so a correct answer could fail; set `trust: in_process` on the grader or dataset to run both in one process
    errored harness the tests create or change files (`open`), but the code runs in a separate process, so a correct answer could fail; set `trust: in_process` on the grader or dataset to run both in one process
    ");
}

#[test]
fn tests_in_one_process_keep_their_defences() {
    let grader = json!({"test": FILES, "entry_point": "total", "trust": "in_process"});
    let equal = "class Equal:\n    def __eq__(self, other): return True\n";
    for answer in [
        "def total(path): return None\n",
        "import sys\ndef total(path): sys.exit(0)\n",
        "import os\ndef total(path): os._exit(0)\n",
        "import sys\nsys.exit(0)\ndef total(path): return 6\n",
        &format!("{equal}def total(path): return Equal()\n"),
        &format!("{equal}def total(path): return [Equal()]\n"),
        "import unittest.mock\ndef total(path): return unittest.mock.ANY\n",
        "import builtins\nbuiltins.open = lambda *a: None\ndef total(path): return 7\n",
    ] {
        let (exit, said) = graded(&grader, answer, &json!({}));
        assert!(
            exit == Some(1) && said.starts_with("failed "),
            "{answer}\n{said}"
        );
    }
    // Each of these would pass if the interpreter had no defence.
    let wins = |test: &str, answer: &str, outcome: &str| {
        let test = format!("import unittest, unittest.mock\n{test}");
        let grader = json!({"test": test, "entry_point": "total", "trust": "in_process"});
        let (_, said) = graded(&grader, answer, &json!({}));
        assert!(said.starts_with(outcome), "{answer}\n{said}");
        said
    };
    let unit = "def check(candidate):\n    class T(unittest.TestCase):\n        def test_it(self):\n            got = candidate('n')\n            \
                self.assertEqual(got, 6)\n    result = unittest.TextTestRunner().run(T('test_it'))\n    assert result.wasSuccessful()\n";
    let plain = "def check(candidate):\n    assert candidate('n') == [1, 2]\n    assert sorted(candidate('n')) == [1, 2]\n";
    let near = "def check(candidate):\n    assert abs(candidate('n') - 6.0) < 1e-6\n";
    for (test, answer) in [
        (
            plain,
            "import builtins\n__builtins__ = dict(vars(builtins), sorted=lambda x: [1, 2])\nclass L(list):\n    pass\ndef total(p): return 1\n",
        ),
        (
            unit,
            "import unittest\nunittest.TextTestResult.addFailure = lambda *a: None\ndef total(p): return None\n",
        ),
        (
            unit,
            "import unittest\nunittest.TestCase._classSetupFailed = True\ndef total(p): return None\n",
        ),
        (
            unit,
            "import unittest\nunittest.TestCase.assertEqual.__code__ = (lambda *a, **k: None).__code__\ndef total(p): return None\n",
        ),
        (
            plain,
            "import functools, unittest.mock\ntotal = functools.partial(lambda p: [unittest.mock.ANY] * 2)\n",
        ),
        (
            near,
            "class total:\n    def __init__(self, p): pass\n    def __sub__(self, other): return 0\n",
        ),
        (
            plain,
            "import unittest.mock\nclass L(list): pass\ndef total(p): return L([1, unittest.mock.ANY])\n",
        ),
        (
            near,
            "class N:\n    def __sub__(self, other): return 0\ndef total(p): return N()\n",
        ),
        (near, "abs = abs\nopen = open\ndef total(p): return None\n"),
    ] {
        wins(test, answer, "failed ");
    }
    // What is replaced while the tests run makes them worthless, and is never a pass.
    let answer = "def total(path):\n    import unittest\n    unittest.TestCase.assertEqual = lambda *a: None\n";
    let said = wins(unit, answer, "errored ");
    insta::assert_snapshot!(said, @"errored harness the tests prove nothing: the code replaced `assertEqual` of `TestCase`, which the tests use");
    let back = "def total(p):\n    import unittest\n    T = unittest.TestCase\n    real = T.assertEqual\n    def fake(*a): T.assertEqual = real\n    \
                T.assertEqual = fake\n";
    wins(unit, back, "errored ");
}

#[test]
fn entry_point_named_like_a_writing_function_fails_if_wrong() {
    for name in ["rename", "touch", "seed", "unlink", "symlink"] {
        let grader =
            json!({"asserts": [format!("assert list({name}(2)) == [2]")], "entry_point": name});
        let (_, said) = graded(&grader, &format!("def {name}(n): return [3]\n"), &json!({}));
        assert!(said.starts_with("failed wrong_answer"), "{said}");
    }
}

#[test]
fn wrong_answers_to_tests_that_share_more_than_data_fail() {
    let seeds = "import random\ndef check(candidate):\n    random.seed(0)\n    n = random.randint(1, 9)\n    assert candidate(n) == 2 * n\n";
    for (test, answer, outcome) in [
        (seeds, "def total(n): return None\n", "failed wrong_answer"),
        (
            seeds,
            "import random\ndef total(n): return 3 * n\n",
            "failed wrong_answer",
        ),
        (PATCHED, "def total(:\n", "failed "),
        (
            PATCHED,
            "def total(): return '/here'\n",
            "failed wrong_answer",
        ),
        (
            PATCHED,
            "import os\ndef total(): return os.getcwd()\n",
            "errored harness",
        ),
    ] {
        let grader = json!({"test": test, "entry_point": "total"});
        let (_, said) = graded(&grader, answer, &json!({}));
        assert!(said.starts_with(outcome), "{answer}\n{said}");
        let (_, said) = graded(&grader, answer, &json!({"sandbox": {"trust": "split"}}));
        assert!(!said.starts_with("passed"), "{answer}\n{said}");
    }
}

#[test]
fn right_answers_in_one_process_pass() {
    let power = "def check(candidate):\n    assert candidate(600) == pow(600, 1, 1000)\n";
    for answer in [
        "from math import *\ndef total(n): return n\n",
        "def total(n): return 0 if n == 0 else 1 + total(n - 1)\n",
        "def pow(a, b): return a\ndef total(n): return pow(n, 2)\n",
    ] {
        passes(
            &json!({"test": power, "entry_point": "total", "trust": "in_process"}),
            answer,
        );
    }
    let pair = "def check(candidate):\n    assert candidate(1) == (1, 2)\n";
    let named = "import collections\nP = collections.namedtuple('P', 'x y')\ndef total(n): return P(n, 2)\n";
    passes(
        &json!({"test": pair, "entry_point": "total", "trust": "in_process"}),
        named,
    );
}

#[test]
fn one_process_contradicts_a_suite_that_demands_more() {
    let grader = json!({"test": FILES, "entry_point": "total", "trust": "in_process"});
    let said = refused(&grader, &json!({"sandbox": {"trust": "split"}}));
    assert!(
        said.contains("`trust: in_process` contradicts the suite's `sandbox: {trust: split}`"),
        "{said}"
    );
    let stdio = json!({"stdio": [{"input": ""}], "compare": "exit_code"});
    let said = refused(&stdio, &json!({"sandbox": {"trust": "split"}}));
    assert!(
        said.contains("`compare: exit_code` contradicts the suite's `sandbox: {trust: split}`"),
        "{said}"
    );
    let said = refused(
        &json!({"stdio": [{"output": "x"}], "trust": "in_process"}),
        &json!({}),
    );
    assert!(
        said.contains("`trust: in_process` applies only to `test` and `asserts` in Python"),
        "{said}"
    );
}

#[test]
fn exit_and_quit_end_a_program() {
    for end in ["exit()", "quit(0)"] {
        let code = format!("print(input())\n{end}\nprint('more')\n");
        passes(&json!({"stdio": [{"input": "5", "output": "5"}]}), &code);
        passes(
            &json!({"stdio": [{"input": "5", "output": "5", "args": ["-v"]}]}),
            &code,
        );
    }
}

#[test]
fn packet_socket_pairs_connect_as_rust_needs_them() {
    let code = "import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\na.send(b'exec')\nprint(b.recv(9).decode())\n";
    passes(&json!({"stdio": [{"output": "exec"}]}), code);
}

#[test]
fn method_of_a_class_is_called_on_an_instance() {
    let config = |name: &str| {
        json!({
            "function_name": name, "prefix": "from typing import List\nSTEP = 1",
            "test_cases": [{"args": [[1, 2]], "expected": [2, 3]}],
        })
    };
    let method = "class Solution:\n    def up(self, xs: List[int]) -> List[int]:\n        return [x + STEP for x in xs]\n";
    passes(&config("Solution.up"), method);
    let fixed = "from __future__ import annotations\nclass Solution:\n    @staticmethod\n    def up(xs: List[int]): return [x + STEP for x in xs]\n";
    passes(&config("Solution.up"), fixed);
    passes(
        &config("Solution.up"),
        "class Solution:\n    def up(xs): return [x + STEP for x in xs]\n",
    );
    passes(
        &config("up"),
        "def up(xs: List[int]): return [x + STEP for x in xs]\n",
    );
}

#[test]
fn exit_code_alone_decides_where_stdout_is_ignored() {
    let grader =
        json!({"stdio": [{"input": "1"}, {"input": "2", "exit_code": 3}], "compare": "exit_code"});
    let code =
        "import sys\nprint('test result: ok in 0.1 s')\nsys.exit(3 if input() == '2' else 0)\n";
    let (exit, sample) = sample(&grader, code, &json!({}));
    // A program may choose its exit code, which the grade says.
    assert_eq!(
        (exit, &sample["grades"][0]["trust"]),
        (Some(0), &json!("in_process"))
    );
    assert_eq!(graded(&grader, "print(input())", &json!({})).0, Some(1));
    let said = refused(&json!({"stdio": [{"input": "1"}]}), &json!({}));
    assert!(
        said.contains("this run does not set what the program must print"),
        "{said}"
    );
    let said = refused(
        &json!({"stdio": [{"output": "1"}], "compare": "exit_code"}),
        &json!({}),
    );
    assert!(
        said.contains("`compare: exit_code` ignores what the program prints"),
        "{said}"
    );
}

#[test]
fn integers_of_any_size_are_compared() {
    let digits = "7".repeat(30_000);
    let call: Value = serde_json::from_str(&format!(
        "{{\"function_name\": \"f\", \"test_cases\": [{{\"args\": [30000], \"expected\": {digits}}}]}}"
    ))
    .unwrap();
    let code = "def f(n):\n    return 7 * (10 ** n - 1) // 9\n";
    passes(&call, code);
    passes(
        &json!({ "asserts": [format!("assert f(5000) == {}", "7".repeat(5_000))] }),
        code,
    );
    let (exit, _) = graded(
        &json!({ "asserts": [format!("assert f(5000) == {}", "7".repeat(4_999))] }),
        code,
        &json!({}),
    );
    assert_eq!(exit, Some(1));
}

#[test]
fn function_may_be_named_like_a_builtin_or_a_local_name() {
    let rows = "def same(out, exp):\n    assert out == exp, out\nfor inp, exp in [([10, 15], 6), ([100, 150], 93)]:\n    same(sum(*inp), exp)\n";
    let code = "import math\ndef sum(a, b):\n    return {10: 6, 100: 93}[a]\n";
    passes(&json!({ "asserts": [rows] }), code);
    let local = "import collections\ndef ref(xs):\n    count = collections.Counter(xs)\n    return count\nfor xs in [[1, 1], [2]]:\n    \
                 assert count(xs) == ref(xs)\n";
    passes(
        &json!({ "asserts": [local] }),
        "import collections\ndef count(xs):\n    return collections.Counter(xs)\n",
    );
    let (exit, said) = graded(
        &json!({ "asserts": [local] }),
        "def count(xs):\n    return {}\n",
        &json!({}),
    );
    assert!(
        exit == Some(1) && said.starts_with("failed wrong_answer"),
        "{said}"
    );
}

#[test]
fn language_that_lacks_a_part_is_errored_with_what_its_probe_printed() {
    let suite = |language: Value| json!({"executors": {"fake": language}});
    let grader = json!({"executor": "fake", "stdio": [{"output": "5"}]});
    let linker = "echo 'error: could not exec the linker `cc`' >&2; exit 1";
    let broken = json!({"file": "main.c", "compile": ["sh", "-c", linker], "run": ["./prog"], "hint": "apt install gcc"});
    let (exit, said) = graded(&grader, "int main() {}", &suite(broken.clone()));
    assert_eq!(exit, Some(3));
    assert_eq!(
        said,
        "errored executor_missing `fake` can't be used here, since a program that does nothing fails: the code does not \
         compile: error: could not exec the linker `cc`; apt install gcc; to use a different program, set `probe` of the \
         executor `fake`"
    );
    // A compiler that works fails a program for its text alone.
    let picky = "grep -q 'int main' main.c || { echo 'main.c:1: error: no main' >&2; exit 1; }; cp main.c prog; chmod +x prog";
    let works =
        json!({"file": "main.c", "compile": ["sh", "-c", picky], "run": ["sh", "-c", "echo 5"]});
    assert_eq!(
        graded(&grader, "int main() {}", &suite(works.clone())),
        (Some(0), "passed - -".to_owned())
    );
    let (exit, said) = graded(&grader, "void f() {}", &suite(works));
    assert_eq!(
        (exit, said.as_str()),
        (
            Some(1),
            "failed syntax_error the code does not compile: main.c:1: error: no main"
        )
    );
    // Without a probe nobody can tell; one may be given.
    let unknown = |probe: Option<&str>| {
        let mut language = broken.clone();
        language["file"] = json!("main.xyz");
        language["probe"] = json!(probe);
        graded(&grader, "x", &suite(language)).1
    };
    assert!(
        unknown(None).starts_with("failed syntax_error"),
        "{}",
        unknown(None)
    );
    assert!(
        unknown(Some("main")).starts_with("errored executor_missing"),
        "{}",
        unknown(Some("main"))
    );
    // A shell reports a missing compiler with exit code 127.
    let absent = json!({"file": "main.xyz", "compile": ["sh", "-c", "no-such-xyz main.xyz"], "run": ["./prog"], "hint": "get xyz"});
    let said = graded(&grader, "x", &suite(absent.clone())).1;
    assert!(
        said.starts_with("errored executor_missing the compiler of `fake` can't be run"),
        "{said}"
    );
    assert!(said.ends_with("; get xyz"), "{said}");
    let suite = json!({"eval_suite": {
        "name": "Right", "target": {"type": "echo"}, "executors": {"fake": absent},
        "evals": [{"id": "e", "input": "x", "grader": {"type": "code", "config": grader}}],
    }});
    let call = Project::with(&[("suite.yaml", &suite.to_string())]).call(&[
        "validate",
        "--suite",
        "suite.yaml",
    ]);
    let said = call.stdout + &call.stderr;
    assert!(
        said.contains("the executor `fake` has a compiler but no probe"),
        "{said}"
    );
}

#[test]
fn program_that_passes_clears_a_probe_that_failed() {
    // The harness wants an answer, which the probe has not. What fails ends after what passes.
    let run = "grep answer main.xyz && exit 0; sleep 2; exit 1";
    let language = json!({"file": "main.xyz", "run": ["sh", "-c", run], "probe": "none"});
    let grader =
        json!({"type": "code", "config": {"executor": "fake", "stdio": [{"output": "answer"}]}});
    let eval = |id: &str| json!({"id": id, "input": "solve", "grader": grader});
    let suite = json!({"eval_suite": {
        "name": "Right", "target": {"type": "recorded", "path": "outputs.jsonl"},
        "executors": {"fake": language}, "evals": [eval("a"), eval("b"), eval("c")],
    }});
    let outputs = [("a", "answer"), ("b", "nothing"), ("c", "nothing")]
        .map(|(case, output)| json!({"case": case, "output": output}).to_string());
    let project = Project::with(&[
        ("suite.yaml", &suite.to_string()),
        ("outputs.jsonl", &outputs.join("\n")),
    ]);
    let call = project.call(&[
        "run",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--format",
        "json",
    ]);
    let report = project.report();
    let outcome = |at: usize| report["evals"][at]["cases"][0]["samples"][0]["outcome"].clone();
    assert_eq!(
        [outcome(0), outcome(1), outcome(2)],
        ["passed", "failed", "failed"],
        "{}",
        call.stderr
    );
}

#[test]
fn readable_folder_below_tmp_is_no_part_of_what_a_compiler_made() {
    let shared = tempfile::Builder::new()
        .prefix("readable")
        .tempdir_in("/tmp")
        .unwrap();
    for i in 0..300 {
        std::fs::write(shared.path().join(format!("part{i}")), "x").unwrap();
    }
    let folder = shared.path().to_str().unwrap();
    let language = json!({
        "file": "main.c", "compile": ["sh", "-c", "cp main.c zz; chmod +x zz"], "run": ["./zz"], "readable": [folder],
    });
    let grader = json!({"executor": "fake", "stdio": [{"output": "5"}]});
    let more = json!({"executors": {"fake": language}, "allow_paths": [folder]});
    assert_eq!(
        graded(&grader, "#!/bin/sh\necho 5\n", &more),
        (Some(0), "passed - -".to_owned())
    );
}
