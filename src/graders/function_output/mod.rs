//! The code grader `function_output`: calls of a function that the output's code defines. `calls`
//! makes and compares them.

mod calls;
mod evalplus;
mod expected;
mod reference;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::programs::{
    BoxedFuture, CandidateCode, CodeLimits, ProgramContext, ReferenceSolution, RunSettings,
    TestBench, candidate, is_callable, prefixed, resolve_reference, resolve_sandbox, source,
};
use super::regex::check_pattern;
use super::settings::{CaseExpectation, incomplete, misfit, tolerance};
use super::{CodeGrader, CodeMethod, MethodSettings, ResolvedGraders};
use crate::load::{Code, Node, Problem, Span, SuiteDesk, choose_executor, seconds};
use crate::model::{Executor, Grade, OutputValue};
use crate::spec::{ExpectedSpec, ToleranceSpec, present};
use eval_match::{Comparator, RegexFlags, Tolerance};

pub use evalplus::{EvalplusOracle, EvalplusRule};
pub(crate) use expected::ExpectedValues;

const METHOD: &str = "function_output";

/// Whether the base tests of EvalPlus pass, as a metric; and whether all pass.
pub(crate) const PASS_BASE: &str = "pass_at_1_base";
pub(crate) const PASS_PLUS: &str = "pass_at_1_plus";

/// Seconds for one call.
const TIMEOUT_PER_CASE: f64 = 5.0;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionOutputSpec {
    /// The language: `python` (default), `javascript` or `typescript`.
    #[schemars(extend("x-aliases" = ["language"]))]
    pub executor: Option<String>,
    /// The function to call, if `expected.value.function_name` is not set.
    pub function_name: Option<String>,
    /// Text to add before the output's code, such as `from typing import List`.
    pub prefix: Option<String>,
    /// Calls and their expected results, if `expected.value.test_cases` is not set.
    #[serde(default)]
    pub test_cases: Vec<FunctionCaseSpec>,
    /// Time limit in seconds for one call. Default 5.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_per_case: Option<f64>,
    /// Time limit in seconds for the whole program. Default 10, or more if the calls need it.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// A correct solution. It gives the expected value of each of `test_cases` that has only `args`;
    /// with `timeout_factor` it must pass, and its time sets the time limit of the output's code.
    pub reference_solution: Option<String>,
    /// Time limit of the code, as a multiple of the time that `reference_solution` takes alone on
    /// this machine: at least 0.5 s, at most `timeout_seconds`.
    #[schemars(range(min = 1.01, max = 1000000.0))]
    pub timeout_factor: Option<f64>,
    /// Memory limit in megabytes for the program. Default: `sandbox.memory_mb` of the suite.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Kilobytes to keep of stdout and of stderr. Default 1024.
    #[schemars(range(min = 1, max = 16384))]
    pub output_kb: Option<u64>,
    /// Limit in megabytes for the return value of one call, which the harness compares. Default 16.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
    /// `false` runs the code without a sandbox and requires `--allow-unsandboxed`. Default true.
    pub sandbox: Option<bool>,
}

/// A call of the function, and its expected result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = crate::spec::rules::call()))]
pub struct FunctionCaseSpec {
    /// Arguments of the call.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["input"]))]
    pub args: Vec<Value>,
    /// Keyword arguments of the call (Python).
    #[serde(default)]
    pub kwargs: BTreeMap<String, Value>,
    /// The value that the call must return. Without it and `raises`: what `reference_solution`
    /// returns.
    #[serde(default, deserialize_with = "present")]
    #[schemars(extend("x-aliases" = ["output"]))]
    pub expected: Option<Value>,
    /// The exception type that the call must raise, instead of `expected`.
    pub raises: Option<String>,
    /// Comparison of the returned value.
    #[serde(default)]
    pub comparator: Comparator,
    /// Allowed deviation of numbers, with `approx`.
    pub tolerance: Option<ToleranceSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionOutput {
    pub executor: Executor,
    pub function_name: String,
    /// Text before the output's code, empty if none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// At least one.
    pub cases: Vec<FunctionCase>,
    pub timeout_per_case: Duration,
    pub limits: CodeLimits,
    pub sandbox: bool,
    /// `limits.wall` is then the most that it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceSolution>,
    /// What gives the values of [`CallExpectation::Reference`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_by: Option<ReferenceFunction>,
    /// The calls are a benchmark's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evalplus: Option<EvalplusCalls>,
    /// Arguments are tagged JSON, as those of [`EvalplusCalls`]: they have values that JSON does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tagged_args: bool,
}

impl FunctionOutput {
    fn has_tagged_args(&self) -> bool {
        self.tagged_args || self.evalplus.is_some()
    }
}

/// A solution that returns the expected values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceFunction {
    /// A whole program that defines the function.
    pub code: String,
}

/// Calls of a task of EvalPlus: arguments are tagged JSON, and no call is made after one that
/// failed. The original verdicts need no more, and a solution that hangs would use up its time
/// again and again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalplusCalls {
    pub oracle: EvalplusOracle,
    /// The first calls, which are the base tests; the others are the plus tests.
    pub base: usize,
    /// A call may take this many times what the canonical solution takes for it, if that is more
    /// than `timeout_per_case`.
    pub time_factor: f64,
}

/// One call of the candidate's function. Values are as read from YAML or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionCase {
    pub args: Vec<Value>,
    pub kwargs: BTreeMap<String, Value>,
    pub expected: CallExpectation,
    pub comparator: Comparator,
    /// For `comparator: approx`.
    pub tolerance: Option<Tolerance>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallExpectation {
    Value(Value),
    /// One of these values; at least one.
    OneOf(Vec<Value>),
    /// The call must raise an exception of this type (or a subclass).
    Raises(String),
    /// What [`FunctionOutput::expected_by`] returns.
    Reference,
}

impl MethodSettings for FunctionOutputSpec {
    const OWN_KEYS: &'static [&'static str] = &["function_name"];
    const EXPECTATION: Option<&'static str> = Some("functional");

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        let of_case = match case.expected.map(|e| (e, e.spec)) {
            Some((_, ExpectedSpec::Functional(f))) => Some(&f.value),
            Some((e, _)) if self.test_cases.is_empty() => {
                return desk.refuse(misfit(METHOD, e));
            }
            _ => None,
        };
        let at = case.span_or(node);
        let name = self
            .function_name
            .as_deref()
            .or(of_case.and_then(|v| v.function_name.as_deref()));
        let Some(name) = name else {
            return desk.refuse(incomplete(
                node.span,
                "`function_output` has no function to call",
                "add `function_name:`",
            ));
        };
        let chosen = choose_executor(desk, self.executor.as_deref(), node.locate("/executor"))?;
        if !(chosen.executor == Executor::Python || chosen.executor.is_node()) {
            let message = format!(
                "`function_output` calls functions of Python, JavaScript and TypeScript, not of {}",
                chosen.executor.language()
            );
            let problem = Problem::error(Code::GraderConflict, node.locate("/executor"), message);
            return desk.refuse(
                problem.hint("`method: code_execution` with `stdio:` runs whole programs"),
            );
        }
        if !is_callable(desk, name, &chosen.executor, node.locate("/function_name")) {
            return None;
        }
        let (calls, calls_at, calls_node): (&[FunctionCaseSpec], Span, Option<&Node>) =
            match (&self.test_cases, of_case) {
                (own, Some(theirs)) if !own.is_empty() && *own != theirs.test_cases => {
                    let problem = Problem::error(
                        Code::GraderConflict,
                        node.key_span("/test_cases"),
                        "the grader and the case's expectation both set `test_cases`",
                    );
                    return desk.refuse(problem.related(at, "the other ones"));
                }
                (own, None) => (own, node.locate("/test_cases"), node.get("test_cases")),
                (_, Some(theirs)) => (&theirs.test_cases, at, None),
            };
        if calls.is_empty() {
            return desk.refuse(incomplete(
                calls_at,
                "`function_output` has no calls to compare, so it would test nothing",
                "add `test_cases:` with `args` and `expected`",
            ));
        }
        let mut cases = Vec::new();
        for (i, call) in calls.iter().enumerate() {
            let call_at = calls_node.map_or(calls_at, |n| n.locate(&format!("/{i}")));
            if chosen.executor.is_node() && !call.kwargs.is_empty() {
                let message = format!(
                    "call {} has `kwargs`, which {} does not support",
                    i + 1,
                    chosen.executor.language()
                );
                return desk.refuse(
                    Problem::error(Code::GraderConflict, call_at, message)
                        .hint("pass an object as the last of `args`"),
                );
            }
            let has_reference = self.reference_solution.is_some();
            cases.push(function_case(desk, call, i + 1, call_at, has_reference));
        }
        let cases: Vec<FunctionCase> = cases.into_iter().collect::<Option<_>>()?;
        let expected_by = cases
            .iter()
            .any(|case| case.expected == CallExpectation::Reference)
            .then(|| self.reference_solution.clone())
            .flatten()
            .map(|code| ReferenceFunction { code });
        let per_case = seconds(self.timeout_per_case.unwrap_or(TIMEOUT_PER_CASE));
        let needed = per_case.saturating_mul(u32::try_from(cases.len()).unwrap_or(u32::MAX));
        let needed = needed.clamp(desk.demands().limits.wall, Duration::from_secs(86_400));
        let wall = self
            .timeout_seconds
            .map(seconds)
            .or(desk.demands().timeout)
            .unwrap_or(needed);
        let limits = CodeLimits::resolve(
            desk,
            wall,
            self.memory_mb,
            (self.output_kb, self.max_return_mb),
        );
        Some(vec![CodeGrader::FunctionOutput(FunctionOutput {
            executor: chosen.executor,
            function_name: name.to_owned(),
            prefix: self.prefix.clone().unwrap_or_default(),
            cases,
            timeout_per_case: per_case,
            limits,
            sandbox: resolve_sandbox(desk, self.sandbox, node),
            reference: match (&expected_by, self.timeout_factor) {
                (Some(_), None) => None,
                _ => {
                    resolve_reference(desk, (&self.reference_solution, self.timeout_factor), node)?
                }
            },
            expected_by,
            evalplus: None,
            tagged_args: false,
        })])
    }
}

/// Checks the calls of a functional expectation, whoever grades it; `None` after reporting what is
/// wrong.
pub(crate) fn check_calls(
    desk: &mut SuiteDesk,
    calls: &[FunctionCaseSpec],
    at: Span,
) -> Option<()> {
    let calls = (1..).zip(calls);
    let mut read = calls.map(|(number, call)| function_case(desk, call, number, at, false));
    read.all(|call| call.is_some()).then_some(())
}

fn function_case(
    desk: &mut SuiteDesk,
    call: &FunctionCaseSpec,
    number: usize,
    at: Span,
    has_reference: bool,
) -> Option<FunctionCase> {
    let expected = match (&call.expected, &call.raises) {
        (Some(_), Some(_)) => {
            let message = format!(
                "call {number} sets both a result (`expected`) and an exception (`raises`)"
            );
            return desk.refuse(Problem::error(Code::GraderConflict, at, message));
        }
        (Some(value), None) => CallExpectation::Value(value.clone()),
        (None, Some(exception)) => CallExpectation::Raises(exception.clone()),
        (None, None) if has_reference => CallExpectation::Reference,
        (None, None) => {
            let message = format!("call {number} has neither `expected` nor `raises`");
            let hint = "add `expected:`, or `reference_solution:` to the grader";
            return desk.refuse(incomplete(at, &message, hint));
        }
    };
    if let (Comparator::Regex, CallExpectation::Value(value)) = (call.comparator, &expected) {
        let Some(pattern) = value.as_str() else {
            return desk.refuse(incomplete(
                at,
                "`comparator: regex` needs a pattern as `expected`",
                "write a regular expression as a text",
            ));
        };
        if !check_pattern(desk, pattern, RegexFlags::default(), &[], at, at) {
            return None;
        }
    }
    if call.comparator == Comparator::Regex && expected == CallExpectation::Reference {
        let message = format!("call {number} has `comparator: regex` but no pattern");
        return desk.refuse(incomplete(at, &message, "add a pattern as `expected:`"));
    }
    if call.tolerance.is_some() && call.comparator != Comparator::Approx {
        let message = "`tolerance` applies only with `comparator: approx`";
        return desk.refuse(
            Problem::error(Code::GraderConflict, at, message).hint("add `comparator: approx`"),
        );
    }
    Some(FunctionCase {
        args: call.args.clone(),
        kwargs: call.kwargs.clone(),
        expected,
        comparator: call.comparator,
        tolerance: call.tolerance.map(tolerance),
    })
}

impl CodeMethod for FunctionOutput {
    fn candidate_code(&self) -> Option<&dyn CandidateCode> {
        Some(self)
    }

    fn pass_numbers(&self) -> &[&'static str] {
        match &self.evalplus {
            Some(_) => &[PASS_BASE, PASS_PLUS],
            None => &[],
        }
    }
}

impl CandidateCode for FunctionOutput {
    fn settings(&self) -> RunSettings<'_> {
        RunSettings {
            executor: &self.executor,
            limits: self.limits,
            sandboxed: self.sandbox,
            reference: self.reference.as_ref(),
        }
    }

    fn with_limits(&self, limits: CodeLimits) -> CodeGrader {
        CodeGrader::FunctionOutput(FunctionOutput {
            limits,
            ..self.clone()
        })
    }

    fn program(&self, value: &OutputValue) -> Result<String, String> {
        let entry_point = Some(self.function_name.as_str());
        match &self.executor {
            Executor::Python => {
                // A benchmark's prefix is the prompt, which an answer may continue.
                let prompt = match self.evalplus {
                    Some(_) => self.prefix.as_str(),
                    None => "",
                };
                let code = candidate(
                    value,
                    ProgramContext {
                        prefix: prompt,
                        entry_point,
                        ..ProgramContext::default()
                    },
                )?;
                let whole = matches!(value, OutputValue::Program(_)) || self.evalplus.is_some();
                Ok(if whole {
                    code
                } else {
                    prefixed(&self.prefix, &code)
                })
            }
            other => source(value, other, &self.prefix, entry_point),
        }
    }

    fn grade<'g>(&'g self, program: String, bench: &'g TestBench<'g>) -> BoxedFuture<'g, Grade> {
        Box::pin(calls::grade(self, program, bench))
    }
}
