//! Graders that run the candidate's code: what runs it, its limits, and the sandbox switch. Tests
//! lie in `tested`.

use std::time::Duration;

use super::super::executors::{self, Chosen};
use super::super::problem::{Code, Problem};
use super::super::scope::{Desk, seconds};
use super::super::source::Span;
use super::super::tree::Node;
use super::Expected;
use super::code::{check_pattern, lacks, misfit};
use super::relative::reference;
use super::structural::tolerance;
use super::tested;
use crate::model::{
    CodeExecution, CodeGrader, CodeLimits, Comparator, Executor, Expectation, FunctionCase,
    FunctionOutput, RegexFlags, Tests, Trust,
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
    let name = spec
        .function_name
        .as_deref()
        .or(of_case.and_then(|v| v.function_name.as_deref()));
    let Some(name) = name else {
        lacks(
            desk,
            node.span,
            "`function_output` does not say which function to call",
            "add `function_name:`",
        );
        return None;
    };
    let chosen = executors::choose(desk, spec.executor.as_deref(), node.locate("/executor"))?;
    if !(chosen.executor == Executor::Python || chosen.executor.is_node()) {
        let message = format!(
            "`function_output` calls functions of Python, JavaScript and TypeScript, not of {}",
            chosen.executor.language()
        );
        let problem = Problem::error(Code::GraderConflict, node.locate("/executor"), message);
        desk.push(problem.hint("`method: code_execution` with `stdio:` runs whole programs"));
        return None;
    }
    if !is_callable(desk, name, &chosen.executor, node.locate("/function_name")) {
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
        if chosen.executor.is_node() && !call.kwargs.is_empty() {
            let message = format!(
                "call {i} has `kwargs`, which {} does not know",
                chosen.executor.language()
            );
            desk.push(
                Problem::error(Code::GraderConflict, call_at, message)
                    .hint("give an object as last of `args`"),
            );
            return None;
        }
        cases.push(function_case(desk, call, i, call_at));
    }
    let cases: Vec<FunctionCase> = cases.into_iter().collect::<Option<_>>()?;
    let per_case = seconds(spec.timeout_per_case.unwrap_or(TIMEOUT_PER_CASE));
    let needed = per_case.saturating_mul(u32::try_from(cases.len()).unwrap_or(u32::MAX));
    let needed = needed.clamp(desk.suite.demands.limits.wall, Duration::from_secs(86_400));
    let wall = spec
        .timeout_seconds
        .map(seconds)
        .or(desk.suite.demands.timeout)
        .unwrap_or(needed);
    let limits = limits(
        desk,
        wall,
        spec.memory_mb,
        (spec.output_kb, spec.max_return_mb),
    );
    Some(CodeGrader::FunctionOutput(FunctionOutput {
        executor: chosen.executor,
        function_name: name.to_owned(),
        prefix: spec.prefix.clone().unwrap_or_default(),
        cases,
        timeout_per_case: per_case,
        limits,
        sandbox: sandbox(desk, spec.sandbox, node),
        reference: reference(desk, (&spec.reference_solution, spec.timeout_factor), node)?,
    }))
}

fn function_case(
    desk: &mut Desk,
    call: &FunctionCaseSpec,
    index: usize,
    at: Span,
) -> Option<FunctionCase> {
    let expected = match (&call.expected, &call.raises) {
        (Some(_), Some(_)) => {
            let message = format!(
                "call {index} demands both a result (`expected`) and an exception (`raises`)"
            );
            desk.push(Problem::error(Code::GraderConflict, at, message));
            return None;
        }
        (Some(value), None) => Expectation::Value(value.clone()),
        (None, Some(exception)) => Expectation::Raises(exception.clone()),
        (None, None) => {
            let message =
                format!("call {index} says neither what is `expected` nor what it `raises`");
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
        desk.push(
            Problem::error(Code::GraderConflict, at, message).hint("add `comparator: approx`"),
        );
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

pub(super) fn code_execution(
    desk: &mut Desk,
    spec: &CodeExecutionSpec,
    node: &Node,
) -> Option<CodeGrader> {
    let chosen = executors::choose(desk, spec.executor.as_deref(), node.locate("/executor"))?;
    let tests = tested::tests(desk, spec, node, &chosen.executor)?;
    if let Some(name) = spec.entry_point.as_deref()
        && !is_callable(desk, name, &chosen.executor, node.locate("/entry_point"))
    {
        return None;
    }
    let in_process = in_process(desk, spec, node, &chosen.executor, &tests)?;
    let Chosen {
        executor,
        timeout,
        memory_mb,
    } = chosen;
    let wall = spec
        .timeout_seconds
        .map(seconds)
        .or(timeout)
        .unwrap_or(desk.suite.demands.limits.wall);
    if let (Tests::Rows(_), Some(_)) = (&tests, &spec.prefix) {
        let at = node.key_span("/prefix");
        desk.push(
            Problem::error(Code::GraderConflict, at, "`prefix` has no meaning for SQL")
                .hint("use `setup:`"),
        );
        return None;
    }
    Some(CodeGrader::CodeExecution(CodeExecution {
        executor,
        prefix: spec.prefix.clone().unwrap_or_default(),
        tests,
        setup: spec.setup.clone().unwrap_or_default(),
        entry_point: spec.entry_point.clone(),
        limits: limits(
            desk,
            wall,
            spec.memory_mb.or(memory_mb),
            (spec.output_kb, spec.max_return_mb),
        ),
        in_process,
        sandbox: sandbox(desk, spec.sandbox, node),
        reference: reference(desk, (&spec.reference_solution, spec.timeout_factor), node)?,
    }))
}

/// Whether the tests are to share the interpreter of the code; `None` after saying why they can't.
fn in_process(
    desk: &mut Desk,
    spec: &CodeExecutionSpec,
    node: &Node,
    executor: &Executor,
    tests: &Tests,
) -> Option<bool> {
    if spec.trust.is_none() {
        return Some(false);
    }
    let at = node.key_span("/trust");
    let in_python = *executor == Executor::Python;
    if !(in_python && matches!(tests, Tests::Check { .. } | Tests::Asserts { .. })) {
        let message = "`trust: in_process` counts only with `test` and `asserts` in Python";
        desk.push(Problem::error(Code::GraderConflict, at, message).hint("remove it"));
        return None;
    }
    allows_in_process(desk, at, "`trust: in_process`").then_some(true)
}

/// Whether the suite accepts verdicts that the code could forge; says so if not.
pub(in crate::load) fn allows_in_process(desk: &mut Desk, at: Span, what: &str) -> bool {
    let sandbox = &desk.suite.demands.sandbox;
    let Some(demanded) = sandbox.trust.filter(|_| !sandbox.accepts(Trust::InProcess)) else {
        return true;
    };
    let message = format!(
        "{what} contradicts the suite's `sandbox: {{trust: {}}}`",
        demanded.name()
    );
    let problem = Problem::error(Code::GraderConflict, at, message);
    desk.push(problem.hint("remove one of them: the suite's is the least that it accepts"));
    false
}

/// Whether a name can be that of a function; says so if not.
fn is_callable(desk: &mut Desk, name: &str, executor: &Executor, at: Span) -> bool {
    // `$` is a letter of JavaScript's.
    let plain = if executor.is_node() {
        name.replace(['$', '#'], "_")
    } else {
        name.to_owned()
    };
    let callable = is_path(&plain) && !name.contains('#');
    if !callable {
        let message = format!(
            "`{name}` is not the name of a {} function",
            executor.language()
        );
        desk.push(Problem::error(Code::BadFormat, at, message));
    }
    callable
}

fn is_path(name: &str) -> bool {
    !name.is_empty()
        && name.split('.').all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
}

fn limits(
    desk: &Desk,
    wall: Duration,
    memory_mb: Option<u64>,
    (output_kb, return_mb): (Option<u64>, Option<u64>),
) -> CodeLimits {
    let usual = desk.suite.demands.limits;
    CodeLimits {
        wall,
        memory_mb: memory_mb.unwrap_or(usual.memory_mb),
        output_bytes: output_kb.map_or(usual.output_bytes, |kb| kb.saturating_mul(1024)),
        return_mb: return_mb.or(desk.suite.demands.return_mb),
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
