//! Languages beside Python, with the real sandbox and the real interpreters. A test whose program
//! is not installed says so by name and is passed over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use eval_base::redact::Redactor;
use eval_harness::internals::*;
use eval_sandbox::languages::{BuiltinLanguage, find};
use serde_json::{Value, json};

use crate::code_case::case;

fn graders_in(dir: &Path) -> RunGraders {
    RunGraders::new(GradersConfig {
        models: None,
        redactor: Redactor::default(),
        // The verdicts must be the same on machines without any isolation.
        allow_unsandboxed: true,
        helper: env!("CARGO_BIN_EXE_eval-harness").into(),
        workers: 2,
        grade_timeout: PlanSettings::GRADE_TIMEOUT,
        demand: SandboxDemand::default(),
        dir: dir.to_owned(),
        readable: vec![],
        agents: Vec::new(),
    })
}

fn graders() -> RunGraders {
    graders_in(Path::new(env!("CARGO_MANIFEST_DIR")))
}

/// Whether a language is here; says so when it is not.
fn has(language: BuiltinLanguage) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match find(language, &path, Path::new(env!("CARGO_MANIFEST_DIR"))) {
        Ok(_) => true,
        Err(missing) => {
            eprintln!("skipped: {} is missing here ({missing})", language.name());
            false
        }
    }
}

fn has_program(path: &str) -> bool {
    let there = Path::new(path).exists();
    if !there {
        eprintln!("skipped: {path} is missing here");
    }
    there
}

fn limits() -> CodeLimits {
    CodeLimits {
        wall: Duration::from_secs(20),
        ..CodeLimits::default()
    }
}

fn execution(executor: Executor, tests: CodeTests) -> CodeExecution {
    CodeExecution {
        in_process: false,
        reference: None,
        executor,
        prefix: String::new(),
        tests,
        setup: String::new(),
        suffix: String::new(),
        entry_point: None,
        limits: limits(),
        sandbox: true,
    }
}

fn stdio(cases: &[(&str, &str)]) -> CodeTests {
    let case = |(stdin, stdout): &(&str, &str)| StdioCase {
        stdin: (*stdin).into(),
        stdout: (*stdout).into(),
        ..StdioCase::default()
    };
    CodeTests::Stdio {
        cases: cases.iter().map(case).collect(),
        compare: StdoutComparison::Text,
        tolerance: None,
    }
}

fn function(executor: Executor, name: &str, calls: Vec<(Value, CallExpectation)>) -> CodeGrader {
    let call = |(args, expected): (Value, CallExpectation)| FunctionCase {
        args: args.as_array().cloned().unwrap_or_default(),
        kwargs: BTreeMap::new(),
        expected,
        comparator: Comparator::Equals,
        tolerance: None,
    };
    CodeGrader::FunctionOutput(FunctionOutput {
        prefix: String::new(),
        reference: None,
        expected_by: None,
        evalplus: None,
        tagged_args: false,
        executor,
        function_name: name.into(),
        cases: calls.into_iter().map(call).collect(),
        timeout_per_case: Duration::from_secs(10),
        limits: limits(),
        sandbox: true,
    })
}

fn value(value: Value) -> CallExpectation {
    CallExpectation::Value(value)
}

async fn grade(graders: &RunGraders, code: &CodeGrader, output: &str) -> GradedOutput {
    let output = Output::text(output);
    graders
        .grade(&case(code.clone()), &output, SampleAttempt::default(), None)
        .await
}

fn short(graded: &GradedOutput) -> String {
    let v = &graded.verdict;
    format!(
        "{} {} {}",
        v.outcome,
        v.cause.map_or("-", Cause::name),
        v.reason
    )
    .trim_end()
    .to_owned()
}

async fn told(graders: &RunGraders, code: &CodeGrader, output: &str) -> String {
    short(&grade(graders, code, output).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_javascript_cross_as_what_they_are() {
    if !has(BuiltinLanguage::Javascript) {
        return;
    }
    // (what `f()` returns, what is expected, whether that passes)
    let table = [
        ("1", json!(1), true),
        ("1.5", json!(1.5), true),
        ("1e21", json!(1e21), true),
        ("-0", json!(0), true),
        ("NaN", json!({"$float": "nan"}), true),
        ("-Infinity", json!({"$float": "-inf"}), true),
        (
            "2n ** 70n",
            serde_json::from_str("1180591620717411303424").unwrap(),
            true,
        ),
        (
            "2 ** 70 + 1",
            serde_json::from_str("1180591620717411303425").unwrap(),
            false,
        ),
        ("undefined", json!(null), false),
        ("undefined", json!({"$undefined": true}), true),
        ("null", json!({"$undefined": true}), false),
        ("null", json!(null), true),
        ("[1, undefined]", json!([1, null]), false),
        ("[1, , 2]", json!([1, null, 2]), false),
        (
            "({a: 1, b: [true, 'x']})",
            json!({"b": [true, "x"], "a": 1}),
            true,
        ),
        ("({a: undefined})", json!({}), false),
        ("({$int: '0x1'})", json!(1), false),
        ("new Map([['a', 1]])", json!({"a": 1}), true),
        ("new Map([[{}, 1]])", json!({"a": 1}), false),
        ("new Set([1, 2])", json!([1, 2]), false),
        ("new Uint8Array([1, 2])", json!([1, 2]), true),
        ("Buffer.from('ab')", json!([97, 98]), true),
        (
            "new Date(0)",
            json!({"$date": "1970-01-01T00:00:00.000Z"}),
            true,
        ),
        (
            "new Date(NaN)",
            json!({"$date": "1970-01-01T00:00:00.000Z"}),
            false,
        ),
        (
            "(() => { const a = [1]; a.push(a); return a })()",
            json!([1, [1]]),
            false,
        ),
        ("new (class Point { x = 1 })()", json!({"x": 1}), false),
        (
            "Object.assign(Object.create(null), {x: 1})",
            json!({"x": 1}),
            true,
        ),
        ("'\\ud800'", json!("?"), false),
        (
            "'a\\ud83d\\ude00\\u2028'",
            json!("a\u{1f600}\u{2028}"),
            true,
        ),
        ("(function*() { yield 1 })()", json!([1]), false),
        ("Promise.resolve([1])", json!([1]), true),
        (
            "(() => { let x = []; for (let i = 0; i < 500; i++) x = [x]; return x })()",
            json!([]),
            false,
        ),
        ("new Proxy([1, 2], {})", json!([1, 2]), true),
        ("true", json!(1), false),
        ("Symbol('x')", json!("x"), false),
    ];
    let graders = graders();
    for (returned, expected, passes) in table {
        let grader = function(
            Executor::Javascript,
            "f",
            vec![(json!([]), value(expected.clone()))],
        );
        let said = told(
            &graders,
            &grader,
            &format!("function f() {{ return {returned} }}"),
        )
        .await;
        assert_eq!(
            said.starts_with("passed"),
            passes,
            "{returned} against {expected}: {said}"
        );
        assert!(
            passes || said.starts_with("failed wrong_answer"),
            "{returned}: {said}"
        );
    }
    let echo =
        "const kind = (x) => x instanceof Date ? 'date' : x instanceof Map ? 'map' : typeof x";
    let arguments =
        json!([{"$date": "2024-01-31T00:00:00Z"}, {"$map": [["a", 1]]}, {"$undefined": true}]);
    for (argument, kind) in arguments
        .as_array()
        .unwrap()
        .iter()
        .zip(["date", "map", "undefined"])
    {
        let grader = function(
            Executor::Javascript,
            "kind",
            vec![(json!([argument]), value(json!(kind)))],
        );
        assert_eq!(
            told(&graders, &grader, echo).await,
            "passed -",
            "{argument}"
        );
    }
    let big: Value = serde_json::from_str("[[9007199254740993, 7, 1.5]]").unwrap();
    let grader = function(
        Executor::Javascript,
        "f",
        vec![(big, value(json!(["bigint", "number", "number"])))],
    );
    assert_eq!(
        told(&graders, &grader, "const f = (a) => a.map((x) => typeof x)").await,
        "passed -"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_of_javascript_are_found_in_every_form() {
    if !has(BuiltinLanguage::Javascript) {
        return;
    }
    let graders = graders();
    let grader = function(
        Executor::Javascript,
        "add",
        vec![
            (json!([1, 2]), value(json!(3))),
            (json!([2, 2]), value(json!(4))),
        ],
    );
    let forms = [
        "function add(a, b) { return a + b }",
        "const add = (a, b) => a + b",
        "module.exports = { add: (a, b) => a + b }",
        "module.exports = function(a, b) { return a + b }",
        "exports.add = (a, b) => a + b",
        "export function add(a, b) { return a + b }",
        "import path from 'path';\nexport default (a, b) => a + b;\nconst x = path.sep;",
        "import fs from 'fs';\nfunction add(a, b) { return a + b }",
        "async function add(a, b) { await new Promise((r) => setTimeout(r, 5)); return a + b }",
        "'use strict'; var add = function(a, b) { console.log('noise', a); process.stdout.write('x'); return a + b }",
        "JSON.stringify = () => '{}'; Array.prototype.push = null; Object.defineProperty = null; const add = (a, b) => a + b",
        "String.prototype.slice = () => 'x'; Map.prototype.forEach = () => {}; globalThis.Buffer = 1; const add = (a, b) => a + b",
        "const { readFileSync } = require('fs'); function add(a, b) { return a + b } if (require.main === module) process.exit(3)",
        // Names that the runner has, too.
        "const fs = require('fs'), vm = 1, parse = 2, ME = 3, find = 4; let buffered; function say() {}\nfunction add(a, b) { return a + b }",
    ];
    for form in forms {
        assert_eq!(told(&graders, &grader, form).await, "passed -", "{form}");
    }
    let of_runner = function(
        Executor::Javascript,
        "nextLine",
        vec![(json!([]), value(json!(null)))],
    );
    assert_eq!(
        told(&graders, &of_runner, "function nextLine() { return null }").await,
        "passed -"
    );
    let undefined = told(&graders, &of_runner, "function other() {}").await;
    assert_eq!(
        undefined,
        "failed exception nextLine() raised ReferenceError: nextLine is not defined, expected null"
    );
    let of_class = function(
        Executor::Javascript,
        "Solution.add",
        vec![(json!([1, 2]), value(json!(3)))],
    );
    assert_eq!(
        told(
            &graders,
            &of_class,
            "class Solution { add(a, b) { return a + b } }"
        )
        .await,
        "passed -"
    );
    assert_eq!(
        told(
            &graders,
            &of_class,
            "class Solution { static add(a, b) { return a + b } }"
        )
        .await,
        "passed -"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_and_hostile_javascript_gets_its_label() {
    if !has(BuiltinLanguage::Javascript) {
        return;
    }
    let graders = graders();
    let grader = |expected| function(Executor::Javascript, "f", vec![(json!([1]), expected)]);
    let three = grader(value(json!(3)));
    let mut lines = Vec::new();
    for code in [
        "function f(x) { return {a: x} }",
        "function f( {",
        "const x = null; x.y",
        "function g() {}",
        "function f() { throw new RangeError('no') }",
        "function f() { throw 'text' }",
        "function f() { return f() }",
        "function f() { process.exit(0) }",
        "process.exit(0)",
        "function f() { require('fs').writeSync(4, '{\"i\":0,\"v\":3}\\n{\"i\":0,\"v\":3}\\n') }",
        "require('fs').writeSync(4, '{\"ready\":true}\\n{\"i\":0,\"v\":3}\\n'); function f() {}",
        "function f() { return new Promise(() => {}) }",
        "setTimeout(() => { throw new Error('later') }, 1); const f = () => new Promise((r) => setTimeout(r, 200))",
        "function f() { process.kill(process.pid, 'SIGSEGV') }",
    ] {
        lines.push(told(&graders, &three, code).await);
    }
    lines.push(
        told(
            &graders,
            &grader(CallExpectation::Raises("Error".into())),
            "function g() {}",
        )
        .await,
    );
    lines.push(
        told(
            &graders,
            &grader(CallExpectation::Raises("RangeError".into())),
            "function f() { throw new RangeError('x') }",
        )
        .await,
    );
    lines.push(
        told(
            &graders,
            &grader(CallExpectation::Raises("Mine".into())),
            "class Mine extends Error {}; function f() { throw new Mine() }",
        )
        .await,
    );
    lines.push(
        told(
            &graders,
            &function(
                Executor::Javascript,
                "structuredClone",
                vec![(json!([1]), value(json!(1)))],
            ),
            "let x",
        )
        .await,
    );
    insta::assert_snapshot!(lines.join("\n"), @r###"
    failed wrong_answer f(1) returned {"a":1}, expected 3
    failed syntax_error the code does not parse: Unexpected end of input (line 1)
    failed exception the code raised TypeError: Cannot read properties of null (reading 'y') when it was loaded
    failed exception f(1) raised ReferenceError: f is not defined, expected 3
    failed exception f(1) raised RangeError: no, expected 3
    failed exception f(1) raised string: text, expected 3
    failed exception f(1) raised RangeError: Maximum call stack size exceeded, expected 3
    failed exited f(1): the program ended with exit code 0 before its tests did
    failed exited the program ended with exit code 0 before its tests did
    failed forged f(1): the program tampered with the verdict: an answer without a call
    failed forged f(1): the program tampered with the verdict: an answer without a call
    failed exited f(1): the program ended with exit code 0 before its tests did
    failed exited f(1): the program ended with exit code 1 before its tests did
    failed crashed f(1): the program was ended by SIGSEGV
    failed exception there is no f to call (ReferenceError: f is not defined), expected it to raise Error
    passed -
    passed -
    failed exception structuredClone(1) raised ReferenceError: structuredClone is not defined, expected 1
    "###);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_for_node() {
    if !has(BuiltinLanguage::Javascript) {
        return;
    }
    let graders = graders();
    let CodeGrader::FunctionOutput(mut f) = function(
        Executor::Javascript,
        "f",
        vec![(json!([]), value(json!(0)))],
    ) else {
        return;
    };
    f.timeout_per_case = Duration::from_millis(700);
    let grader = CodeGrader::FunctionOutput(f);
    let endless = told(&graders, &grader, "function f() { for (;;); }").await;
    assert_eq!(
        endless,
        "failed timeout f(): the program did not end within 0.7 s"
    );
    let CodeGrader::FunctionOutput(mut f) = grader else {
        return;
    };
    f.timeout_per_case = Duration::from_secs(15);
    let grader = CodeGrader::FunctionOutput(f);
    for hog in [
        "function f() { const a = []; for (;;) a.push(new Array(1000).fill(a.length)); }",
        "function f() { const a = []; for (;;) a.push(Buffer.alloc(1 << 24, 1)); }",
    ] {
        let said = told(&graders, &grader, hog).await;
        assert!(said.starts_with("failed memory_limit"), "{hog}: {said}");
    }
    let wasm = "const bytes = new Uint8Array([0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,7,5,1,1,102,0,0,10,6,1,4,0,65,0,11]);\n\
                const f = () => new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f();";
    assert_eq!(told(&graders, &grader, wasm).await, "passed -");
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_in_javascript_share_the_process_and_say_so() {
    if !has(BuiltinLanguage::Javascript) {
        return;
    }
    let graders = graders();
    let asserts = CodeGrader::CodeExecution(CodeExecution {
        setup: "const three = 3;".into(),
        ..execution(
            Executor::Javascript,
            CodeTests::Asserts {
                asserts: vec![
                    "assert.strictEqual(add(1, 2), three)".into(),
                    "assert(add(2, 2) === 4, 'four')".into(),
                ],
            },
        )
    });
    let mut lines = Vec::new();
    for code in [
        "const assert = require('assert'); function add(a, b) { return a + b }",
        "function add(a, b) { return 3 }",
        "function add(a, b) { return undefined.x }",
        "function sub() {}",
        "process.exit(0)",
        "function add() { process.exit(0) }",
        "function add( {",
        "require('fs').writeSync(4, 'x {\"verdict\":\"passed\"}\\n')",
    ] {
        let graded = grade(&graders, &asserts, code).await;
        assert!(
            graded.verdict.grades[0]
                .trust
                .is_some_and(|trust| trust >= Trust::InProcess),
            "{code}"
        );
        lines.push(short(&graded));
    }
    let check = |test: &str, entry: Option<&str>| {
        CodeGrader::CodeExecution(CodeExecution {
            entry_point: entry.map(str::to_owned),
            ..execution(Executor::Javascript, CodeTests::Check { code: test.into() })
        })
    };
    let with_check = check(
        "const check = async (candidate) => {\n  assert.equal(await candidate(1, 2), 3);\n};",
        Some("add"),
    );
    lines.push(
        told(
            &graders,
            &with_check,
            "module.exports = { add: async (a, b) => a + b }",
        )
        .await,
    );
    lines.push(told(&graders, &with_check, "const add = async () => 1").await);
    let humaneval_x = check(
        "const testAdd = () => {\n  console.assert(add(1, 2) === 3)\n}\n\ntestAdd()",
        None,
    );
    lines.push(told(&graders, &humaneval_x, "const add = (a, b) => a + b").await);
    lines.push(told(&graders, &humaneval_x, "const add = (a, b) => a - b").await);
    let requiring = check(
        "const assert = require('node:assert');\nconst { add } = require('./solution');\nassert.deepEqual(add(1, 2), 3);",
        None,
    );
    lines.push(told(&graders, &requiring, "exports.add = (a, b) => a + b").await);
    lines.push(told(&graders, &check("assert(", None), "let x").await);
    insta::assert_snapshot!(lines.join("\n"), @r###"
    passed -
    failed wrong_answer test 2 of 2 does not hold: assert(add(2, 2) === 4, 'four') (four)
    failed exception the code raised TypeError: Cannot read properties of undefined (reading 'x')
    failed exception the code raised ReferenceError: add is not defined
    failed exited the program ended with exit code 0 before its tests did
    failed exited the program ended with exit code 0 before its tests did
    failed syntax_error the code does not parse: Unexpected end of input (line 1)
    failed forged the program tampered with the verdict: a forged verdict was written to the verdict channel
    passed -
    failed wrong_answer line 2 of the tests does not hold: assert.equal(await candidate(1, 2), 3); (1 == 3)
    passed -
    failed wrong_answer line 2 of the tests does not hold: console.assert(add(1, 2) === 3) (console.assert)
    passed -
    errored harness the test itself is broken: SyntaxError: Unexpected token ';'
    "###);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_in_javascript_and_bash_read_and_print() {
    let graders = graders();
    if has(BuiltinLanguage::Javascript) {
        let grader = CodeGrader::CodeExecution(execution(
            Executor::Javascript,
            stdio(&[("1 2\n", "3\n"), ("4 5\n", "9")]),
        ));
        let mut lines = Vec::new();
        for code in [
            "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number); console.log(a + b)",
            "import { readFileSync } from 'fs';\nconst [a, b] = readFileSync('/dev/stdin', 'utf8').split(' ').map(Number);\nconsole.log(a + b);",
            "let d = ''; process.stdin.on('data', (x) => d += x).on('end', () => console.log(d.split(' ').reduce((a, b) => a - -b, 0)))",
            "console.log(3)",
            "let x = ;",
            "JSON.parse('{')",
            "process.exit(4)",
        ] {
            lines.push(told(&graders, &grader, code).await);
        }
        insta::assert_snapshot!(lines.join("\n"), @r###"
    passed -
    passed -
    passed -
    failed wrong_answer given "4 5": expected "9", got "3"
    failed syntax_error given "1 2": the program ended with exit code 1: SyntaxError: Unexpected token ';'
    failed exception given "1 2": the program ended with exit code 1: SyntaxError: Expected property name or '}' in JSON at position 1
    failed exception given "1 2": the program ended with exit code 4
    "###);
    }
    if has(BuiltinLanguage::Bash) {
        let mut grader = execution(Executor::Bash, stdio(&[("b\na\n", "a\nb")]));
        if let CodeTests::Stdio { cases, .. } = &mut grader.tests {
            cases.push(StdioCase {
                stdout: "x y".into(),
                args: vec!["x y".into()],
                exit_code: 3,
                ..StdioCase::default()
            });
        }
        let grader = CodeGrader::CodeExecution(grader);
        let mut lines = Vec::new();
        for code in [
            "```bash\nif [ $# -gt 0 ]; then echo \"$1\"; exit 3; fi\nsort\n```",
            "sort",
            "if then",
            "exit 7",
        ] {
            lines.push(told(&graders, &grader, code).await);
        }
        insta::assert_snapshot!(lines.join("\n"), @r###"
        passed -
        failed wrong_answer given no input and the arguments ["x y"]: the program ended with exit code 0, expected 3
        failed syntax_error given "b\na": the program ended with exit code 2: main.sh: line 1: syntax error near unexpected token `then'
        failed exception given "b\na": the program ended with exit code 7
        "###);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_in_bash_run_after_the_script() {
    if !has(BuiltinLanguage::Bash) {
        return;
    }
    let graders = graders();
    let asserts = CodeGrader::CodeExecution(execution(
        Executor::Bash,
        CodeTests::Asserts {
            asserts: vec![
                "[ \"$(add 1 2)\" = 3 ]".into(),
                "add 2 2 >/dev/null; [ \"$(add 2 2)\" = 4 ]".into(),
            ],
        },
    ));
    let script = CodeGrader::CodeExecution(execution(
        Executor::Bash,
        CodeTests::Check {
            code: "x=$(add 1 2)\n[ \"$x\" = 3 ]\nadd 5 5 >out\ngrep -q 10 out\n".into(),
        },
    ));
    let mut lines = Vec::new();
    for code in [
        "add() { echo $(($1 + $2)); }",
        "add() { echo 3; }",
        "add() { exit 0; }",
        "exit 0",
        "if then",
        "return 0; add() { :; }",
        "add() { echo $(($1 + $2)); }; read() { :; }; printf() { :; }; trap() { :; }; set() { :; }; unset() { :; }; exit() { :; }; eval() { :; }",
        "echo '{\"verdict\":\"passed\",\"held\":2}' >&4",
        "set -e; set -u; false_thing() { false; }; add() { echo $(($1 + $2)); }",
    ] {
        lines.push(format!(
            "{} | {}",
            told(&graders, &asserts, code).await,
            told(&graders, &script, code).await
        ));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    passed - | passed -
    failed wrong_answer test 2 of 2 does not hold: add 2 2 >/dev/null; [ "$(add 2 2)" = 4 ] | failed wrong_answer the test does not hold: grep -q 10 out
    failed wrong_answer test 1 of 2 does not hold: [ "$(add 1 2)" = 3 ] | failed wrong_answer the test does not hold: [ "$x" = 3 ]
    failed exited the program ended with exit code 0 before its tests did | failed exited the program ended with exit code 0 before its tests did
    failed syntax_error the code does not parse: ./solution.sh: line 1: syntax error near unexpected token `then' ./solution.sh: line 1: `if then' | failed syntax_error the code does not parse: ./solution.sh: line 1: syntax error near unexpected token `then' ./solution.sh: line 1: `if then'
    failed wrong_answer test 1 of 2 does not hold: [ "$(add 1 2)" = 3 ] (/usr/bin/bash: line 85: add: command not found) | failed wrong_answer the test does not hold: x=$(add 1 2) (/usr/bin/bash: line 89: add: command not found)
    passed - | passed -
    failed forged the program tampered with the verdict: a forged verdict was written to the verdict channel | failed forged the program tampered with the verdict: a forged verdict was written to the verdict channel
    passed - | passed -
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_assert_of_several_commands_fails_with_any_of_them() {
    if !has(BuiltinLanguage::Bash) {
        return;
    }
    let graders = graders();
    let mut lines = Vec::new();
    for assert in [
        "[ \"$(add 1 2)\" = 4 ]\ntrue",
        "[ \"$(add 1 2)\" = 4 ] && [ \"$(add 2 2)\" = 4 ]\ntrue",
        "! add 1 2\ntrue",
        "false; true",
        "if false; then :; fi\ngrep -q 7 <<<\"$(add 3 3)\"\necho done",
        "true\nif then\ntrue",
        "false \\\n  || false\ntrue",
        "[ 1 = 2 ]\n[ \"$(add 1 1)\" = 2 ]; echo $?",
        // Each of these holds.
        "x=$(cat <<E\n5\n\nE\n)\n[ \"$(add 2 3)\" = \"$x\" ]",
        "if add 1 1 | grep -q 3; then\n  exit 1\nfi\ngrep -q 4 <<<\"$(add 1 1)\" || true",
        "add 1 1 | grep -q 3\n[ $? = 1 ]\nadd 1 1 | grep -q 3; [ $? = 1 ]",
        "for i in 1 2; do\n  add $i 1\ndone |\n  tail -1 \\\n  | grep -q 3\n! false",
        "add 0 0",
    ] {
        let asserts = vec!["true".to_owned(), assert.to_owned()];
        let grader =
            CodeGrader::CodeExecution(execution(Executor::Bash, CodeTests::Asserts { asserts }));
        let code = "add() { local n=0; ((n++)); false; echo $(($1 + $2)); }";
        lines.push(told(&graders, &grader, code).await);
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    failed wrong_answer test 2 of 2 does not hold: [ "$(add 1 2)" = 4 ]
    failed wrong_answer test 2 of 2 does not hold: [ "$(add 1 2)" = 4 ] && [ "$(add 2 2)" = 4 ]
    failed wrong_answer test 2 of 2 does not hold: ! add 1 2
    failed wrong_answer test 2 of 2 does not hold: false; true
    failed wrong_answer test 2 of 2 does not hold: grep -q 7 <<<"$(add 3 3)"
    failed wrong_answer test 2 of 2 does not hold: if then true (/usr/bin/bash: eval: line 89: `if then')
    failed wrong_answer test 2 of 2 does not hold: false \   || false
    failed wrong_answer test 2 of 2 does not hold: [ 1 = 2 ]
    passed -
    passed -
    passed -
    passed -
    passed -
    "#);
}

/// What code sets while an assert runs, its variables and traps, does not hold the assert.
#[tokio::test(flavor = "multi_thread")]
async fn bash_assert_does_not_depend_on_what_the_code_sets() {
    if !has(BuiltinLanguage::Bash) {
        return;
    }
    let graders = graders();
    let mut lines = Vec::new();
    for (code, assert) in [
        (
            "split() { _rest=$1; _eh_rest=; part=x; _rest=; }",
            "split a-b\n[ \"$part\" = WRONG ]",
        ),
        ("f() { trap 'echo cleanup' ERR; x=3; }", "f; [ \"$x\" = 4 ]"),
        (
            "f() { trap 'echo cleanup' ERR; x=3; }",
            "f\n[ \"$x\" = 4 ]\ntrue",
        ),
        ("f() { out=x; }", "f; [ $? = 1 ]; [ \"$out\" = x ]"),
        ("f() { echo 1; return 5; }", "f; [ $? = 0 ]; true"),
        ("f() { echo 1; }", "[ \"$(f)\" = 2 ] && true; true"),
        ("f() { echo 1; }", "! f; true"),
        // Each of these holds.
        ("f() { echo 1; return 5; }", "f; [ $? = 5 ]; [ 1 = 1 ]"),
        ("f() { echo 1; return 5; }", "f || true; [ \"$(f)\" = 1 ]"),
        (
            "f() { echo 'a;b'; }",
            "[ \"$(f)\" = 'a;b' ]; f | grep -q ';' # ends; here",
        ),
    ] {
        let asserts = vec![assert.to_owned()];
        let grader =
            CodeGrader::CodeExecution(execution(Executor::Bash, CodeTests::Asserts { asserts }));
        let told = told(&graders, &grader, code).await;
        lines.push(told.chars().take(60).collect::<String>());
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    failed wrong_answer the test does not hold: [ "$part" = WRON
    failed wrong_answer the test does not hold: f; [ "$x" = 4 ]
    failed wrong_answer the test does not hold: [ "$x" = 4 ]
    failed wrong_answer the test does not hold: f; [ $? = 1 ]; [
    failed wrong_answer the test does not hold: f; [ $? = 0 ]; t
    failed wrong_answer the test does not hold: [ "$(f)" = 2 ] &
    failed wrong_answer the test does not hold: ! f; true
    passed -
    passed -
    passed -
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_that_changes_what_tests_rest_on_does_not_pass() {
    if !has(BuiltinLanguage::Bash) {
        return;
    }
    let graders = graders();
    let of = |tests: CodeTests, entry: Option<&str>| {
        CodeGrader::CodeExecution(CodeExecution {
            entry_point: entry.map(str::to_owned),
            ..execution(Executor::Bash, tests)
        })
    };
    let asserts = |entry| {
        let asserts = vec![
            "[ \"$(add 1 2)\" = 3 ]".into(),
            "add 2 2 | grep -q '^4$'".into(),
        ];
        of(CodeTests::Asserts { asserts }, entry)
    };
    let script = |entry| {
        let code =
            "x=$(add 1 2)\n[ \"$x\" = 3 ]\nadd 2 2 >out\ngrep -q '^4$' out\necho done\n".into();
        of(CodeTests::Check { code }, entry)
    };
    // Right for the first question only.
    let half = "add() { if [ $1 = 1 ]; then echo 3; else echo no; fi; }";
    for trick in [
        "enable -n set",
        "enable -n unset set enable builtin exit trap",
        "set() { :; }; readonly -f set",
        "eval() { :; }; readonly -f eval",
        "enable() { :; }; readonly -f enable; enable -n set",
        "readonly POSIXLY_CORRECT; enable -n set",
        "readonly _eh_mode=asserts",
        "readonly _eh_rest=",
        "readonly _eh_fails=:",
        "declare -n _eh_mode=other; readonly other=asserts",
        "command_not_found_handle() { return 0; }; unset -f add",
        "mkdir b; printf '#!/bin/sh\\n' >b/grep; chmod +x b/grep; PATH=$PWD/b:$PATH",
        "mkdir b; printf '#!/bin/sh\\n' >b/grep; chmod +x b/grep; readonly PATH=$PWD/b:$PATH",
        "hash -p /bin/true grep",
        "shopt -s expand_aliases; alias grep=true; enable -n unalias",
        "trap 'exit 0' EXIT ERR",
        "exec 5>&4; set -x; BASH_XTRACEFD=4",
    ] {
        let code = format!("{half}; {trick}");
        for grader in [asserts(None), script(None)] {
            let said = told(&graders, &grader, &code).await;
            assert!(said.starts_with("failed"), "{trick}: {said}");
        }
    }
    let mut lines = Vec::new();
    for trick in [
        "grep() { :; }",
        "shopt -s nocasematch",
        "log() { :; }; sort() { :; }",
    ] {
        lines.push(told(&graders, &asserts(None), &format!("{half}; {trick}")).await);
    }
    let own = of(
        CodeTests::Asserts {
            asserts: vec!["grep; [ $? = 7 ]".into()],
        },
        Some("grep"),
    );
    lines.push(told(&graders, &own, "grep() { return 7; }").await);
    lines.push(told(&graders, &own, "grep() { return 8; }").await);
    insta::assert_snapshot!(lines.join("\n"), @r"
    errored harness the tests prove nothing: the code defines `grep`, which they call; if it is what they test, say `entry_point: grep`
    errored harness the tests prove nothing: the code sets `nocasematch`, which changes how tests compare
    failed wrong_answer test 2 of 2 does not hold: add 2 2 | grep -q '^4$'
    passed -
    failed wrong_answer the test does not hold: grep; [ $? = 7 ]
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn javascript_that_changes_what_tests_rest_on_does_not_pass() {
    if !has(BuiltinLanguage::Javascript) {
        return;
    }
    let graders = graders();
    let asserts = |lines: &[&str]| {
        let asserts = lines.iter().map(|line| (*line).to_owned()).collect();
        CodeGrader::CodeExecution(execution(
            Executor::Javascript,
            CodeTests::Asserts { asserts },
        ))
    };
    let suites = [
        asserts(&[
            "assert.strictEqual(add(1, 2), 3)",
            "assert.deepEqual([add(2, 2)], [4])",
        ]),
        asserts(&["const a = require('node:assert'); a.equal(add(1, 2), 3)"]),
        asserts(&["console.assert(JSON.stringify([add(1, 2)]) === JSON.stringify([3]))"]),
        asserts(&["assert([[add(1, 2)]].every((x) => x.join() === '3'))"]),
    ];
    let wrong = "function add() { return 0 }";
    for trick in [
        "const t = require('assert'); for (const k of Object.keys(t)) t[k] = () => {}; t.strict = t",
        "for (const k of ['strictEqual', 'deepEqual']) Object.defineProperty(require('assert'), k, { value() {} })",
        "const t = () => {}; t.equal = t.strictEqual = t.deepEqual = t; globalThis.assert = t; globalThis.require = () => t",
        "const t = () => {}; t.equal = t; require('module')._load = () => t",
        "JSON.stringify = () => ''",
        "Array.prototype.toJSON = () => 0",
        "require('vm').Script.prototype.runInThisContext = () => () => () => {}",
        "Object.getPrototypeOf(require('vm').Script.prototype).runInContext = () => () => () => {}",
        "Promise.prototype.then = (f) => f && f()",
        "process.on('uncaughtException', () => {})",
        "Array.prototype.every = () => true",
        "Array.prototype.join = () => '3'",
    ] {
        for (i, grader) in suites.iter().enumerate() {
            let said = told(&graders, grader, &format!("{wrong}; {{ {trick} }}")).await;
            assert!(!said.starts_with("passed"), "{trick}, suite {i}: {said}");
        }
    }
    let mut lines = vec![
        told(
            &graders,
            &suites[3],
            &format!("{wrong}; Array.prototype.every = () => true"),
        )
        .await,
    ];
    let near = asserts(&["assert(Math.abs(add(1, 2) - 3) < 1e-6)"]);
    lines.push(
        told(
            &graders,
            &near,
            &format!("{wrong}; const Math = {{ abs: () => 0 }}"),
        )
        .await,
    );
    lines.push(
        told(
            &graders,
            &near,
            &format!("{wrong}; globalThis.Math = {{ abs: () => 0 }}"),
        )
        .await,
    );
    let honest = [
        "export function add(a, b) { return a + b }",
        "import fs from 'fs'; export const add = (a, b) => a + b",
        "module.exports = { add: (a, b) => a + b }",
        "Array.prototype.last = function() { return this[this.length - 1] }; const add = (a, b) => [a, a + b].last()",
        "if (!Array.prototype.at) Array.prototype.at = () => 0; class E extends Error { name = 'E' } const add = (a, b) => a + b",
    ];
    for code in honest {
        lines.push(told(&graders, &suites[0], code).await);
    }
    let nested = function(
        Executor::Javascript,
        "a.b.c",
        vec![(json!([]), CallExpectation::Raises("TypeError".into()))],
    );
    lines.push(told(&graders, &nested, "const a = {}").await);
    insta::assert_snapshot!(lines.join("\n"), @r"
    errored harness the tests prove nothing: the code replaces `Array.prototype.every`, which the tests may use
    errored harness the tests prove nothing: the code replaces `Math`, which the tests may use
    errored harness the tests prove nothing: the code replaces `Math`, which the tests may use
    passed -
    passed -
    passed -
    passed -
    passed -
    failed exception there is no a.b.c to call (TypeError: a.b.c is not a function), expected it to raise TypeError
    ");
}

/// A folder from which TypeScript can be run: node reads it, or `scripts/test` put the compiler
/// there.
fn typescript() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = [root.to_owned(), root.join("target/typescript")]
        .into_iter()
        .find(|dir| find(BuiltinLanguage::Typescript, &path, dir).is_ok());
    if found.is_none() {
        eprintln!(
            "skipped: typescript is missing here (`npm install --prefix target/typescript typescript`)"
        );
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_is_graded_like_javascript() {
    let Some(dir) = typescript() else { return };
    let graders = graders_in(&dir);
    let mut lines = Vec::new();
    let add = "type N = number;\nenum Op { Add = 1 }\nexport function add(a: N, b: N, op: Op = Op.Add): N { return a + b * op }";
    let wrong = "const add = (a: number, b: number): number => a - b;";
    let broken = "const x: number = 1;\nfunction add(a: number { return a }";
    let calls = vec![(json!([1, 2]), value(json!(3)))];
    let called = function(Executor::Typescript, "add", calls);
    let asserts = CodeGrader::CodeExecution(CodeExecution {
        setup: "const three: number = 3;".into(),
        ..execution(
            Executor::Typescript,
            CodeTests::Asserts {
                asserts: vec!["assert.strictEqual(add(1, 2), three);".into()],
            },
        )
    });
    let check = CodeGrader::CodeExecution(CodeExecution {
        entry_point: Some("add".into()),
        ..execution(
            Executor::Typescript,
            CodeTests::Check {
                code: "function check(candidate: (a: number, b: number) => number): void {\n  assert.equal(candidate(1, 2), 3);\n}".into(),
            },
        )
    });
    for code in [add, wrong, broken, "process.exit(0)"] {
        for grader in [&called, &asserts, &check] {
            lines.push(told(&graders, grader, &format!("```ts\n{code}\n```")).await);
        }
    }
    let program =
        CodeGrader::CodeExecution(execution(Executor::Typescript, stdio(&[("1 2", "3")])));
    let adds = "import * as fs from 'fs';\nconst [a, b]: number[] = fs.readFileSync(0, 'utf8').split(' ').map(Number);\nconsole.log(a + b);";
    for code in [adds, "console.log(4 as number)", "let x: = 1"] {
        lines.push(told(&graders, &program, code).await);
    }
    lines.push(
        told(
            &graders,
            &called,
            "```python\ndef add(a, b): return a + b\n```",
        )
        .await,
    );
    let broken_tests = CodeGrader::CodeExecution(execution(
        Executor::Typescript,
        CodeTests::Asserts {
            asserts: vec!["assert(add(1, 2) === 3".into()],
        },
    ));
    lines.push(told(&graders, &broken_tests, add).await);
    // What a compiler says of a mistake differs from node's own reader to the package.
    let plain: Vec<String> = lines
        .iter()
        .map(|line| match line.split_once("does not parse") {
            Some((head, _)) => format!("{head}does not parse"),
            None => match line.split_once("do not parse") {
                Some((head, _)) => format!("{head}do not parse"),
                None => line.clone(),
            },
        })
        .collect();
    insta::assert_snapshot!(plain.join("\n"), @r#"
    passed -
    passed -
    passed -
    failed wrong_answer add(1, 2) returned -1, expected 3
    failed wrong_answer the test does not hold: assert.strictEqual(add(1, 2), three); (Expected values to be strictly equal:

    -1 !== 3)
    failed wrong_answer line 2 of the tests does not hold: assert.equal(candidate(1, 2), 3); (-1 == 3)
    failed syntax_error the code does not parse
    failed syntax_error the code does not parse
    failed syntax_error the code does not parse
    failed exited the program ended with exit code 0 before its tests did
    failed exited the program ended with exit code 0 before its tests did
    failed exited the program ended with exit code 0 before its tests did
    passed -
    failed wrong_answer given "1 2": expected "3", got "4"
    failed syntax_error the code does not parse
    failed no_code the output's code is python, not TypeScript
    errored harness the tests do not parse
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_is_graded_by_its_rows() {
    let graders = graders();
    let setup = "CREATE TABLE emp(name TEXT, dept TEXT, pay REAL); INSERT INTO emp VALUES ('a', 'x', 10), ('b', 'x', 20.5), ('c', 'y', 7);";
    let rows = |test: RowsTest| {
        CodeGrader::CodeExecution(CodeExecution {
            setup: setup.into(),
            limits: CodeLimits {
                wall: Duration::from_secs(2),
                ..limits()
            },
            ..execution(Executor::Sql, CodeTests::Rows(test))
        })
    };
    let plain = RowsTest {
        wanted: WantedRows::Rows(vec![
            vec![json!("x"), json!(30.5)],
            vec![json!("y"), json!(7)],
        ]),
        columns: None,
        check: None,
        ordered: false,
        tolerance: None,
    };
    let mut lines = Vec::new();
    let query = rows(plain.clone());
    for sql in [
        "```sql\nSELECT dept, SUM(pay) FROM emp GROUP BY dept ORDER BY 1 DESC;\n```",
        "SELECT dept, MAX(pay) FROM emp GROUP BY dept",
        "SELECT dept FROM emp",
        "SELEC 1",
        "SELECT wages FROM emp",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "ATTACH '/tmp/x.db' AS x",
        "SELECT load_extension('/tmp/x.so')",
        "CREATE TABLE x(a)",
        "-- I can't help with that",
        "```python\nprint(1)\n```",
    ] {
        lines.push(told(&graders, &query, sql).await);
    }
    let changing = rows(RowsTest {
        wanted: WantedRows::Reference("DELETE FROM emp WHERE dept = 'x'".into()),
        check: Some("SELECT * FROM emp ORDER BY name".into()),
        ordered: true,
        ..plain.clone()
    });
    for sql in [
        "DELETE FROM emp WHERE pay > 9",
        "DELETE FROM emp",
        "DROP TABLE emp",
        "CREATE TEMP TABLE emp AS SELECT 'c' AS name, 'y' AS dept, 7.0 AS pay",
    ] {
        lines.push(told(&graders, &changing, sql).await);
    }
    let broken = rows(RowsTest {
        wanted: WantedRows::Reference("SELECT * FROM nowhere".into()),
        ..plain.clone()
    });
    lines.push(told(&graders, &broken, "SELECT 1").await);
    insta::assert_snapshot!(lines.join("\n"), @r###"
    passed -
    failed wrong_answer the row ('x', 30.5) is missing, found ('x', 20.5) instead
    failed wrong_answer expected 2 columns, got 1
    failed syntax_error the SQL does not parse: near "SELEC": syntax error
    failed exception the SQL failed: no such column: wages
    failed timeout the program did not end within 2 s
    failed sandbox_violation the SQL tried a forbidden operation: not authorized
    failed exception the SQL failed: not authorized to use function: load_extension
    failed wrong_answer no statement of the SQL returns rows
    failed wrong_answer no statement of the SQL returns rows
    failed no_code the output's code is python, not SQL
    passed -
    failed wrong_answer expected 1 rows, got 0
    failed exception after the SQL, the check failed: no such table: emp
    failed wrong_answer row 1: expected ('c', 'y', 7.0), got ('a', 'x', 10.0)
    errored harness the reference can't be run: the SQL failed: no such table: nowhere
    "###);
}

fn c_compiler(compile: &[&str]) -> Executor {
    Executor::Configured(Box::new(ConfiguredExecutor {
        compiles_alone: false,
        name: "c".into(),
        file: "main.c".into(),
        compile: compile.iter().map(|word| (*word).to_owned()).collect(),
        run: vec!["./prog".into()],
        languages: vec!["c".into()],
        compile_timeout: Duration::from_secs(30),
        compile_memory_mb: 1024,
        env: BTreeMap::new(),
        readable: Vec::<PathBuf>::new(),
        probe: Some("int main(void) { return 0; }".into()),
        hint: Some("apt install gcc".into()),
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_of_the_suite_is_compiled_once_and_run_for_each_input() {
    if !has_program("/usr/bin/gcc") {
        return;
    }
    let graders = graders();
    let gcc = c_compiler(&["gcc", "-O1", "-o", "prog", "main.c", "-lm"]);
    let grader = CodeGrader::CodeExecution(execution(gcc, stdio(&[("1 2", "3"), ("40 2", "42")])));
    let mut lines = Vec::new();
    for code in [
        "```c\n#include <stdio.h>\nint main(void) { int a, b; scanf(\"%d %d\", &a, &b); printf(\"%d\\n\", a + b); }\n```",
        "#include <stdio.h>\nint main(void) { printf(\"3\"); }",
        "int main(void) { return 0 }",
        "int main(void) { *(volatile int *)0 = 1; }",
        "int main(void) { return 5; }",
        "#include \"/etc/shadow\"\nint main(void) { return 0; }",
    ] {
        lines.push(told(&graders, &grader, code).await);
    }
    let missing = CodeGrader::CodeExecution(execution(
        c_compiler(&["no-such-compiler", "main.c"]),
        stdio(&[("", "")]),
    ));
    lines.push(told(&graders, &missing, "int main(void) {}").await);
    insta::assert_snapshot!(lines.join("\n"), @r###"
    passed -
    failed wrong_answer given "40 2": expected "42", got "3"
    failed syntax_error the code does not compile: main.c:1:26: error: expected ‘;’ before ‘}’ token
    failed crashed given "1 2": the program was ended by SIGSEGV
    failed exception given "1 2": the program ended with exit code 5
    failed syntax_error the code does not compile: main.c:1:10: fatal error: /etc/shadow: No such file or directory
    errored executor_missing no-such-compiler could not be started in the sandbox: it is not in /usr/local/bin:/usr/bin:/bin; apt install gcc
    "###);

    let none = c_compiler(&["gcc", "-c", "main.c"]);
    let grader = CodeGrader::CodeExecution(execution(none, stdio(&[("", "")])));
    let said = told(&graders, &grader, "int main(void) { return 0; }").await;
    assert!(
        said.starts_with("errored executor_missing `c` can't be used here"),
        "{said}"
    );
    // A compiler that leaves a program for the probe only: the code decides about that.
    let own = "grep -q leave main.c || { cp main.c prog; chmod +x prog; }";
    let Executor::Configured(mut own) = c_compiler(&["sh", "-c", own]) else {
        return;
    };
    own.probe = Some("#!/bin/sh\nexit 0\n".into());
    let grader =
        CodeGrader::CodeExecution(execution(Executor::Configured(own), stdio(&[("", "")])));
    let said = told(&graders, &grader, "leave nothing").await;
    assert_eq!(
        said,
        "failed syntax_error the compiler of `c` did not create `prog`, or it is larger than 64 MiB"
    );

    let bombs = c_compiler(&["gcc", "-O0", "-o", "prog", "main.c"]);
    let grader = CodeGrader::CodeExecution(execution(bombs, stdio(&[("", "root")])));
    for code in [
        "#include \"/dev/zero\"\nint main(void) {}",
        "#include \"/dev/stdin\"\n",
        "int a[1 << 28] = {1}; int main(void) {}",
    ] {
        let said = told(&graders, &grader, code).await;
        assert!(said.starts_with("failed"), "{code}: {said}");
    }

    let Executor::Configured(mut slow) = c_compiler(&["sleep", "30"]) else {
        return;
    };
    (slow.compile_timeout, slow.probe) = (Duration::from_millis(200), None);
    let grader =
        CodeGrader::CodeExecution(execution(Executor::Configured(slow), stdio(&[("", "")])));
    assert_eq!(
        told(&graders, &grader, "x").await,
        "failed timeout the code did not compile within 0.2 s"
    );
}
