//! Graders that run the candidate's code: tests that test something, limits, and the sandbox switch.

use std::sync::OnceLock;
use std::time::Duration;

use super::super::problem::{Code, Problem};
use super::super::scope::{Desk, seconds};
use super::super::source::Span;
use super::super::tree::Node;
use super::Expected;
use super::code::{check_pattern, lacks, misfit};
use super::structural::tolerance;
use crate::model::{
    CodeExecution, CodeGrader, CodeLimits, Comparator, Expectation, FunctionCase, FunctionOutput, RegexFlags,
    StdioCase, Tests,
};
use crate::spec::{CodeExecutionSpec, ExpectedSpec, FunctionCaseSpec, FunctionOutputSpec};

/// Seconds for one call.
const TIMEOUT_PER_CASE: f64 = 5.0;

pub(super) fn function_output(
    desk: &mut Desk,
    spec: &FunctionOutputSpec,
    node: &Node,
    expected: Option<Expected>,
) -> Option<CodeGrader> {
    let of_case = match expected.map(|e| (e, e.spec)) {
        Some((_, ExpectedSpec::Functional(f))) => Some(&f.value),
        Some((e, _)) if spec.test_cases.is_empty() => {
            desk.push(misfit("function_output", e));
            return None;
        }
        _ => None,
    };
    let at = expected.map_or(node.span, |e| e.span);
    let name = spec.function_name.as_deref().or(of_case.and_then(|v| v.function_name.as_deref()));
    let Some(name) = name else {
        lacks(
            desk,
            node.span,
            "`function_output` does not say which function to call",
            "add `function_name:`",
        );
        return None;
    };
    if !is_python_path(name) {
        let at = node.locate("/function_name");
        desk.push(Problem::error(
            Code::BadFormat,
            at,
            format!("`{name}` is not the name of a Python function"),
        ));
        return None;
    }
    let (calls, calls_at, calls_node): (&[FunctionCaseSpec], Span, Option<&Node>) =
        match (&spec.test_cases, of_case) {
            (own, Some(theirs)) if !own.is_empty() && *own != theirs.test_cases => {
                let problem = Problem::error(
                    Code::GraderConflict,
                    node.key_span("/test_cases"),
                    "the grader and the case's expectation both give `test_cases`",
                );
                desk.push(problem.related(at, "the other ones"));
                return None;
            }
            (own, None) => (own, node.locate("/test_cases"), node.get("test_cases")),
            (_, Some(theirs)) => (&theirs.test_cases, at, None),
        };
    if calls.is_empty() {
        lacks(
            desk,
            calls_at,
            "`function_output` has no calls to compare, so it would test nothing",
            "add `test_cases:` with `args` and `expected`",
        );
        return None;
    }
    let mut cases = Vec::new();
    for (i, call) in calls.iter().enumerate() {
        let call_at = calls_node.map_or(calls_at, |n| n.locate(&format!("/{i}")));
        cases.push(function_case(desk, call, i, call_at));
    }
    let cases: Vec<FunctionCase> = cases.into_iter().collect::<Option<_>>()?;
    let per_case = seconds(spec.timeout_per_case.unwrap_or(TIMEOUT_PER_CASE));
    let needed = per_case.saturating_mul(u32::try_from(cases.len()).unwrap_or(u32::MAX));
    let needed = needed.clamp(desk.suite.demands.limits.wall, Duration::from_secs(86_400));
    let wall = spec.timeout_seconds.map(seconds).or(desk.suite.demands.timeout).unwrap_or(needed);
    let limits = limits(desk, wall, spec.memory_mb, spec.output_kb);
    Some(CodeGrader::FunctionOutput(FunctionOutput {
        executor: spec.executor,
        function_name: name.to_owned(),
        cases,
        timeout_per_case: per_case,
        limits,
        sandbox: sandbox(desk, spec.sandbox, node),
    }))
}

fn function_case(desk: &mut Desk, call: &FunctionCaseSpec, index: usize, at: Span) -> Option<FunctionCase> {
    let expected = match (&call.expected, &call.raises) {
        (Some(_), Some(_)) => {
            let message =
                format!("call {index} demands both a result (`expected`) and an exception (`raises`)");
            desk.push(Problem::error(Code::GraderConflict, at, message));
            return None;
        }
        (Some(value), None) => Expectation::Value(value.clone()),
        (None, Some(exception)) => Expectation::Raises(exception.clone()),
        (None, None) => {
            let message = format!("call {index} says neither what is `expected` nor what it `raises`");
            lacks(desk, at, &message, "add `expected:`");
            return None;
        }
    };
    if let (Comparator::Regex, Expectation::Value(value)) = (call.comparator, &expected) {
        let Some(pattern) = value.as_str() else {
            lacks(
                desk,
                at,
                "`comparator: regex` needs a pattern as `expected`",
                "a text with a regular expression",
            );
            return None;
        };
        if !check_pattern(desk, pattern, RegexFlags::default(), &[], at, at) {
            return None;
        }
    }
    if call.tolerance.is_some() && call.comparator != Comparator::Approx {
        let message = "`tolerance` counts only with `comparator: approx`";
        desk.push(Problem::error(Code::GraderConflict, at, message).hint("add `comparator: approx`"));
        return None;
    }
    Some(FunctionCase {
        args: call.args.clone(),
        kwargs: call.kwargs.clone(),
        expected,
        comparator: call.comparator,
        tolerance: call.tolerance.map(tolerance),
    })
}

pub(super) fn code_execution(desk: &mut Desk, spec: &CodeExecutionSpec, node: &Node) -> Option<CodeGrader> {
    let tests = tests(desk, spec, node)?;
    if let Some(name) = spec.entry_point.as_deref().filter(|name| !is_python_path(name)) {
        let at = node.locate("/entry_point");
        desk.push(Problem::error(
            Code::BadFormat,
            at,
            format!("`{name}` is not the name of a Python function"),
        ));
        return None;
    }
    let wall = spec.timeout_seconds.map_or(desk.suite.demands.limits.wall, seconds);
    Some(CodeGrader::CodeExecution(CodeExecution {
        executor: spec.executor,
        prefix: spec.prefix.clone().unwrap_or_default(),
        tests,
        setup: spec.setup.clone().unwrap_or_default(),
        entry_point: spec.entry_point.clone(),
        limits: limits(desk, wall, spec.memory_mb, spec.output_kb),
        sandbox: sandbox(desk, spec.sandbox, node),
    }))
}

fn tests(desk: &mut Desk, spec: &CodeExecutionSpec, node: &Node) -> Option<Tests> {
    let given: Vec<&str> = [
        ("test", spec.test.is_some()),
        ("asserts", !spec.asserts.is_empty()),
        ("stdio", !spec.stdio.is_empty()),
    ]
    .into_iter()
    .filter(|(_, there)| *there)
    .map(|(key, _)| key)
    .collect();
    match given.as_slice() {
        [] => {
            lacks(
                desk,
                node.span,
                "`code_execution` has no tests, so it would test nothing",
                "add `test:`, `asserts:` or `stdio:`",
            );
            None
        }
        [_] => one_kind_of_tests(desk, spec, node),
        [first, second, ..] => {
            let at = node.key_span(&format!("/{second}"));
            let message = format!("`{first}` and `{second}` stand side by side; one kind of tests is run");
            desk.push(
                Problem::error(Code::GraderConflict, at, message)
                    .hint("use two graders under `graders:`")
                    .related(node.key_span(&format!("/{first}")), "the other one"),
            );
            None
        }
    }
}

fn one_kind_of_tests(desk: &mut Desk, spec: &CodeExecutionSpec, node: &Node) -> Option<Tests> {
    if let Some(code) = &spec.test {
        let at = node.locate("/test");
        if !defines_check(code) {
            lacks(
                desk,
                at,
                "`test` does not define `check(candidate)`, so nothing would be tested",
                "define `def check(candidate):`, or put assert statements under `asserts:`",
            );
            return None;
        }
        if spec.entry_point.is_none() {
            lacks(desk, at, "`check(candidate)` needs the function to test", "add `entry_point: NAME`");
            return None;
        }
        if !tests_something(code) {
            let message = "`check` neither asserts nor raises, so it would pass everything";
            desk.push(Problem::error(Code::GraderIncomplete, at, message));
            return None;
        }
        return Some(Tests::Check { code: code.clone() });
    }
    if !spec.asserts.is_empty() {
        for (i, line) in spec.asserts.iter().enumerate().filter(|(_, line)| !tests_something(line)) {
            let at = node.locate(&format!("/asserts/{i}"));
            let message = format!("{:?} asserts nothing, so it would always pass", line.trim());
            desk.push(
                Problem::error(Code::GraderIncomplete, at, message)
                    .hint("write `assert ...`; what prepares the tests goes under `setup:`"),
            );
        }
        return spec
            .asserts
            .iter()
            .all(|line| tests_something(line))
            .then(|| Tests::Asserts { asserts: spec.asserts.clone() });
    }
    let cases = spec.stdio.iter().map(|c| StdioCase { stdin: c.stdin.clone(), stdout: c.stdout.clone() });
    Some(Tests::Stdio { cases: cases.collect() })
}

fn defines_check(code: &str) -> bool {
    static CHECK: OnceLock<Option<regex::Regex>> = OnceLock::new();
    let check = CHECK.get_or_init(|| regex::Regex::new(r"(?m)^(async\s+)?def\s+check\s*\(|^check\s*=").ok());
    check.as_ref().is_none_or(|check| check.is_match(code))
}

fn tests_something(code: &str) -> bool {
    ["assert", "raise", "fail("].iter().any(|word| code.contains(word))
}

fn is_python_path(name: &str) -> bool {
    !name.is_empty()
        && name.split('.').all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
}

fn limits(desk: &Desk, wall: Duration, memory_mb: Option<u64>, output_kb: Option<u64>) -> CodeLimits {
    let usual = desk.suite.demands.limits;
    CodeLimits {
        wall,
        memory_mb: memory_mb.unwrap_or(usual.memory_mb),
        output_bytes: output_kb.map_or(usual.output_bytes, |kb| kb.saturating_mul(1024)),
    }
}

/// `sandbox: false` is a request that the command line must confirm.
fn sandbox(desk: &mut Desk, written: Option<bool>, node: &Node) -> bool {
    if written == Some(false) && desk.suite.demands.sandbox.needs_isolation() {
        let at = node.key_span("/sandbox");
        let message = "`sandbox: false` contradicts what the suite demands under `sandbox:`";
        desk.push(Problem::error(Code::GraderConflict, at, message));
        return true;
    }
    if written == Some(false) && !desk.suite.allow_unsandboxed {
        let at = node.key_span("/sandbox");
        let message = "`sandbox: false` runs the output's code with your own rights";
        desk.push_lenient(
            Problem::error(Code::UnavailableHere, at, message)
                .hint("`run` needs `--allow-unsandboxed` for that"),
        );
    }
    written.unwrap_or(true)
}
