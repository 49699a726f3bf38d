//! What benchmarks of programming contests share: programs that read stdin, and calls, in Python.

use eval_match::{Comparator, Tolerance};
use serde_json::Value;

use crate::graders::{CallExpectation, CodeExecution, FunctionCase, FunctionOutput, StdioCase};
use crate::model::{CodeGrader, CodeLimits, CodeTests, Executor, StdoutComparison};

/// Asks for a program, or for what completes the starter code unless that is empty.
pub(super) fn prompt(content: &str, starter: &str) -> String {
    let content = content.trim_end();
    if starter.trim().is_empty() {
        return format!(
            "{content}\n\nWrite a Python program that reads the input from stdin and prints the answer to stdout. \
             Answer with the whole program in one fenced code block.\n"
        );
    }
    let starter = starter.trim_end();
    let whole = match starter.contains("class ") {
        true => "class",
        false => "function",
    };
    format!(
        "{content}\n\nComplete this Python code. Answer with the whole {whole} in one fenced code block.\n\n\
         ```python\n{starter}\n```\n"
    )
}

/// Runs a program once for each pair of stdin and expected stdout.
pub(super) fn stdin_grader(
    imports: &str,
    tests: impl IntoIterator<Item = (String, String)>,
    (compare, tolerance): (StdoutComparison, Option<Tolerance>),
    limits: CodeLimits,
) -> CodeGrader {
    let cases = tests.into_iter().map(|(stdin, stdout)| StdioCase {
        stdin,
        stdout,
        ..StdioCase::default()
    });
    CodeGrader::CodeExecution(CodeExecution {
        executor: Executor::Python,
        prefix: imports.to_owned(),
        tests: CodeTests::Stdio {
            cases: cases.collect(),
            compare,
            tolerance,
        },
        setup: String::new(),
        suffix: String::new(),
        entry_point: None,
        limits,
        in_process: false,
        sandbox: true,
        reference: None,
    })
}

/// Calls a function or a method, `limits.wall` being the time for one call.
pub(super) fn call_grader(
    imports: &str,
    function_name: String,
    calls: Vec<(Vec<Value>, CallExpectation)>,
    limits: CodeLimits,
) -> FunctionOutput {
    let per_call = limits.wall;
    let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    let cases = calls.into_iter().map(|(args, expected)| FunctionCase {
        args,
        kwargs: Default::default(),
        expected,
        comparator: Comparator::Equals,
        tolerance: None,
    });
    FunctionOutput {
        executor: Executor::Python,
        function_name,
        prefix: imports.to_owned(),
        cases: cases.collect(),
        timeout_per_case: per_call,
        limits: CodeLimits {
            wall: per_call.saturating_mul(count),
            ..limits
        },
        sandbox: true,
        reference: None,
        expected_by: None,
        evalplus: None,
        tagged_args: false,
    }
}
