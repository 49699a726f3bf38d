//! Graders that run code, with the real sandbox and a real interpreter.

use std::collections::BTreeMap;
use std::time::Duration;

use eval_base::redact::Redactor;
use eval_harness::internals::*;
use serde_json::{Value, json};

use crate::code_case::case;

fn graders() -> RunGraders {
    RunGraders::new(GradersConfig {
        models: None,
        redactor: Redactor::default(),
        // The verdicts must be the same on machines without any isolation.
        allow_unsandboxed: true,
        helper: env!("CARGO_BIN_EXE_eval-harness").into(),
        workers: 2,
        grade_timeout: PlanSettings::GRADE_TIMEOUT,
        demand: Default::default(),
        dir: std::env::temp_dir(),
        readable: Vec::new(),
        agents: Vec::new(),
    })
}

fn limits() -> CodeLimits {
    CodeLimits {
        wall: Duration::from_secs(20),
        ..CodeLimits::default()
    }
}

fn short(graded: &GradedOutput) -> String {
    let v = &graded.verdict;
    let score = v
        .score
        .map_or("-".to_owned(), |score| format!("{score:.2}"));
    format!(
        "{} {score} {} {}",
        v.outcome,
        v.cause.map_or("-", Cause::name),
        v.reason
    )
    .trim_end()
    .to_owned()
}

fn function_case(args: Value, expected: CallExpectation) -> FunctionCase {
    FunctionCase {
        args: args.as_array().cloned().unwrap_or_default(),
        kwargs: BTreeMap::new(),
        expected,
        comparator: Comparator::Equals,
        tolerance: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_called_in_the_sandbox_and_compared_outside() {
    let case = case(CodeGrader::FunctionOutput(FunctionOutput {
        prefix: String::new(),
        executor: Executor::Python,
        function_name: "solve".into(),
        cases: vec![
            function_case(json!([1, 2]), CallExpectation::Value(json!(3))),
            function_case(json!([[1], [2]]), CallExpectation::Value(json!([1, 2]))),
            function_case(json!([1, "a"]), CallExpectation::Raises("TypeError".into())),
        ],
        timeout_per_case: Duration::from_secs(20),
        limits: limits(),
        sandbox: true,
        reference: None,
        expected_by: None,
        evalplus: None,
        tagged_args: false,
    }));
    let graders = graders();
    let outputs = [
        "def solve(a, b):\n    return a + b\n",
        "Here:\n```python\ndef solve(a, b):\n    return a + b\n```\nDone.",
        "def solve(a, b):\n    return a - b\n",
        "def solve(a, b):\n    return None\n",
        "def other(): pass\n",
        "def solve(a, b):\n    return 1)\n",
        "import os\ndef solve(a, b):\n    os._exit(0)\n",
        "import sys\nsys.exit(0)\n",
        "class Liar:\n    def __eq__(self, other): return True\ndef solve(a, b):\n    return Liar()\n",
        "",
    ];
    let mut told = Vec::new();
    for output in outputs {
        told.push(short(
            &graders
                .grade(&case, &Output::text(output), SampleAttempt::default(), None)
                .await,
        ));
    }
    insta::assert_snapshot!(told.join("\n"), @r##"
    passed 1.00 -
    passed 1.00 -
    failed 0.33 wrong_answer solve(1, 2) returned -1, expected 3 (2 of 3 calls failed)
    failed 0.00 wrong_answer solve(1, 2) returned None, expected 3 (3 of 3 calls failed)
    failed 0.00 exception solve(1, 2) raised NameError: name 'solve' is not defined, expected 3 (3 of 3 calls failed)
    failed 0.00 syntax_error the code does not parse: unmatched ')' (line 2)
    failed 0.00 exited solve(1, 2): the program ended with exit code 0 before its tests did (3 of 3 calls failed)
    failed 0.00 exited the program ended with exit code 0 before its tests did
    failed 0.00 wrong_answer solve(1, 2) returned <Liar object>, expected 3 (3 of 3 calls failed)
    failed 0.00 no_code the output is empty
    "##);
    assert!(graders.interpreters().contains_key("python"));
}

fn check(prefix: &str) -> Case {
    case(CodeGrader::CodeExecution(CodeExecution {
        in_process: false,
        executor: Executor::Python,
        prefix: prefix.into(),
        tests: CodeTests::Check {
            code: "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate([1]) == [1, 1], 'lists too'\n".into(),
        },
        setup: String::new(),
        suffix: String::new(),
        entry_point: Some("double".into()),
        limits: limits(),
        sandbox: true,
        reference: None,
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_is_run_against_completions() {
    let case = check("def double(x):\n    \"\"\"Twice x.\"\"\"\n");
    let graders = graders();
    let outputs = [
        Output::text("    return x * 2\n"),
        Output::text("```python\ndef double(x):\n    return x + x\n```"),
        Output {
            value: OutputValue::Program("def double(x): return 2 * x".into()),
            ..Output::text("")
        },
        Output::text("    return None\n"),
        Output::text("    return 2 * x if x == 2 else x\n"),
        Output::text("    raise ValueError('no')\n"),
        Output::text("    return x)\n"),
        Output::text("    import sys; sys.exit(0)\n"),
        Output::text("    pass\nimport os\nos._exit(0)\n"),
        Output::text("    pass\nraise SystemExit\n"),
        Output::text(
            "    class Liar:\n        def __eq__(self, other): return True\n    return Liar()\n",
        ),
    ];
    let mut told = Vec::new();
    for output in outputs {
        told.push(short(
            &graders
                .grade(&case, &output, SampleAttempt::default(), None)
                .await,
        ));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    passed 1.00 -
    passed 1.00 -
    passed 1.00 -
    failed 0.00 wrong_answer line 2 of the tests does not hold: assert candidate(2) == 4; the call returned None
    failed 0.00 wrong_answer line 3 of the tests does not hold: assert candidate([1]) == [1, 1], 'lists too' (lists too); the call returned [1]
    failed 0.00 exception the code raised ValueError: no
    failed 0.00 syntax_error the code does not parse: unmatched ')' (line 3)
    failed 0.00 exited the program ended with exit code 0 before its tests did
    failed 0.00 exited the program ended with exit code 0 before its tests did
    failed 0.00 exited the program ended with exit code 0 before its tests did
    failed 0.00 wrong_answer the code returned a Liar object, whose comparisons prove nothing
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_are_judged_by_what_they_print() {
    let stdio = |stdin: &str, stdout: &str| StdioCase {
        stdin: stdin.into(),
        stdout: stdout.into(),
        ..StdioCase::default()
    };
    let case = case(CodeGrader::CodeExecution(CodeExecution {
        in_process: false,
        executor: Executor::Python,
        prefix: String::new(),
        tests: CodeTests::Stdio {
            cases: vec![stdio("1 2\n", "3\n"), stdio("4 5\n", "9\n")],
            compare: StdoutComparison::Text,
            tolerance: None,
        },
        setup: String::new(),
        suffix: String::new(),
        entry_point: None,
        limits: limits(),
        sandbox: true,
        reference: None,
    }));
    let graders = graders();
    let outputs = [
        "print(sum(map(int, input().split())))",
        "print(3)",
        "print(1))",
        "print(3)\nraise ValueError('x')",
        " ",
    ];
    let mut told = Vec::new();
    for output in outputs {
        told.push(short(
            &graders
                .grade(&case, &Output::text(output), SampleAttempt::default(), None)
                .await,
        ));
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    passed 1.00 -
    failed 0.50 wrong_answer given "4 5": expected "9", got "3"
    failed 0.00 syntax_error given "1 2": the program ended with exit code 1: SyntaxError: unmatched ')'
    failed 0.00 exception given "1 2": the program ended with exit code 1: ValueError: x
    failed 0.00 no_code the output is empty
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authors_program_reads_the_output_and_the_expectation() {
    let command = |script: &str, verdict| {
        case(CodeGrader::Command(CommandGrader {
            env_file: Default::default(),
            argv: vec!["sh".into(), "-c".into(), script.into()],
            dir: std::env::temp_dir(),
            env: vec![],
            timeout: Duration::from_secs(20),
            verdict,
            metrics: vec![],
            expected: Some(json!("right")),
            sandbox: false,
            workspace: None,
        }))
    };
    let exit = command(
        "test \"$(cat)\" = \"$EVAL_EXPECTED\" || { echo wrong; exit 1; }",
        CommandVerdict::ExitCode,
    );
    let verdict = command(
        "cat >/dev/null; echo '{\"passed\": false, \"score\": 0.5, \"reason\": \"half\"}'",
        CommandVerdict::Json,
    );
    let graders = graders();
    let told = [
        short(
            &graders
                .grade(
                    &exit,
                    &Output::text("right"),
                    SampleAttempt::default(),
                    None,
                )
                .await,
        ),
        short(
            &graders
                .grade(&exit, &Output::text("left"), SampleAttempt::default(), None)
                .await,
        ),
        short(
            &graders
                .grade(&verdict, &Output::text("x"), SampleAttempt::default(), None)
                .await,
        ),
    ];
    insta::assert_snapshot!(told.join("\n"), @r##"
    passed 1.00 -
    failed 0.00 wrong_answer wrong
    failed 0.50 wrong_answer half
    "##);
}
