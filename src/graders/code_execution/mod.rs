//! The code grader `code_execution`: the candidate's program against tests in its language (`shared`),
//! against what it should print (`stdio`), or against rows (`rows`).

mod around;
mod compiled;
pub(crate) mod demands;
mod rows;
mod shared;
mod stdio;
mod tested;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::programs::{
    BoxedFuture, CandidateCode, CodeLimits, ProgramContext, ReferenceSolution, RunSettings,
    TestBench, allows_in_process, candidate, is_callable, resolve_reference, resolve_sandbox,
    source,
};
use super::settings::CaseExpectation;
use super::{CodeGrader, CodeMethod, MethodSettings, ResolvedGraders};
use crate::load::{ChosenExecutor, Code, Node, Problem, SuiteDesk, choose_executor, seconds};
use crate::model::{Executor, Grade, OutputValue, StdoutComparison, TestsTrust, TestsWord};
use crate::spec::{OneOrMany, ToleranceSpec};
use eval_match::Tolerance;

pub use around::ProgramTests;
pub(crate) use around::{END_VARIABLE, random};
pub(crate) use compiled::CompiledPrograms;
pub(crate) use shared::NEVER_CALLED;
pub(crate) use stdio::{SLOWEST, StdioBench, StdioTest, grade_stdio, transpiled};

const METHOD: &str = "code_execution";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeExecutionSpec {
    /// The language: `python` (default), `javascript`, `typescript`, `bash`, `sql`, `c`, `cpp`,
    /// `csharp`, `go`, `haskell`, `java`, `kotlin`, `lua`, `perl`, `php`, `r`, `ruby`, `rust`, or a
    /// name of the suite's `executors:`.
    #[schemars(extend("x-aliases" = ["language"]))]
    pub executor: Option<String>,
    /// Text to add before the output's code, such as the prompt of a benchmark.
    pub prefix: Option<String>,
    /// Text to add after the output's code, with `stdio`. If it contains `{{ answer }}` or
    /// `{{ answer | tojson }}`, it is the whole program: the code, or the code as a string literal
    /// in JSON, is put there.
    pub suffix: Option<String>,
    /// Kind of the tests, for readers; it must match the tests that are set.
    pub tests: Option<TestsWord>,
    /// Code that defines `check(candidate)`; for JavaScript, TypeScript and bash, any program that
    /// fails if the output's code is wrong; for other languages, such a program with a line
    /// `END_OF_TESTS` behind the last test.
    pub test: Option<String>,
    /// Assert statements, run in order: a list, or one text with several of them. For bash, a list
    /// of commands that must succeed.
    #[serde(default)]
    pub asserts: OneOrMany<String>,
    /// Tests of whole programs: their input, and what they must print.
    #[serde(default)]
    pub stdio: Vec<StdioCaseSpec>,
    /// Comparison of stdout. Default `text`.
    pub compare: Option<StdoutComparison>,
    /// Allowed deviation of numbers, with `compare: tokens` and in rows of SQL.
    pub tolerance: Option<ToleranceSpec>,
    /// The rows that the SQL must return.
    pub rows: Option<Vec<Vec<Value>>>,
    /// Names of the columns that the SQL must return, in order.
    pub columns: Option<Vec<String>>,
    /// SQL that returns the correct rows; it runs on a separate database.
    pub reference: Option<String>,
    /// For SQL that changes data: a query that runs after the output's SQL (and after `reference`),
    /// and whose rows are compared.
    pub check: Option<String>,
    /// Whether the order of rows counts. Default false.
    pub ordered: Option<bool>,
    /// Code that runs after the output's code and before the tests; for whole programs and SQL,
    /// before the output's code.
    pub setup: Option<String>,
    /// The function to test: `check` is called with it. With `asserts`, it may have the name of a
    /// builtin.
    pub entry_point: Option<String>,
    /// `in_process` runs Python tests in the same interpreter as the code, for tests that patch
    /// modules, create files for the code, or inspect objects that are not plain data. The code can
    /// then forge the verdict.
    pub trust: Option<TestsTrust>,
    /// Time limit in seconds for the whole program. Default 10.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// A correct solution in Python, which must pass; with `timeout_factor`, its time sets the time
    /// limit of the output's code.
    pub reference_solution: Option<String>,
    /// Time limit of the code, as a multiple of the time that `reference_solution` takes alone on
    /// this machine: at least 0.5 s, at most `timeout_seconds`.
    #[schemars(range(min = 1.01, max = 1000000.0))]
    pub timeout_factor: Option<f64>,
    /// Memory limit in megabytes for the program. Default: that of the executor or of the suite's
    /// `sandbox`.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Kilobytes to keep of stdout and of stderr. Default 1024.
    #[schemars(range(min = 1, max = 16384))]
    pub output_kb: Option<u64>,
    /// Limit in megabytes for the return value of one call. Default 128.
    #[schemars(range(min = 1, max = 1024))]
    pub max_return_mb: Option<u64>,
    /// `false` runs the code without a sandbox and requires `--allow-unsandboxed`. Default true.
    pub sandbox: Option<bool>,
}

/// A test of a whole program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StdioCaseSpec {
    /// Text for stdin.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["input"]))]
    pub stdin: String,
    /// The expected stdout; not with `compare: exit_code`.
    #[schemars(extend("x-aliases" = ["output", "expected"]))]
    pub stdout: Option<String>,
    /// Arguments for the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The expected exit code. Default 0.
    #[schemars(range(min = 0, max = 255))]
    pub exit_code: Option<i32>,
}

/// A candidate's code run against tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodeExecution {
    pub executor: Executor,
    /// Text before the output's code (HumanEval's prompt), empty if none.
    pub prefix: String,
    pub tests: CodeTests,
    /// Text behind the output's code, or around it (see [`CodeExecutionSpec`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suffix: String,
    /// Runs before the tests: imports and set-up code.
    pub setup: String,
    /// The function that is tested, if the tests name one.
    pub entry_point: Option<String>,
    pub limits: CodeLimits,
    /// Tests in Python run in the interpreter of the code, whether they need it or not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_process: bool,
    pub sandbox: bool,
    /// `limits.wall` is then the most that it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceSolution>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeTests {
    /// Program text that defines `check(candidate)`; the harness calls it with the entry point.
    Check { code: String },
    /// Program text that defines `check(solution)`. The harness calls it with the code of the
    /// candidate as a text; the code runs only if the tests execute it.
    AnswerText { code: String },
    /// Assert statements, in order.
    Asserts { asserts: Vec<String> },
    /// A whole program's stdout is compared, given stdin.
    Stdio {
        /// At least one.
        cases: Vec<StdioCase>,
        #[serde(default, skip_serializing_if = "is_default")]
        compare: StdoutComparison,
        /// For `compare: tokens`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tolerance: Option<Tolerance>,
    },
    /// The rows that SQL gives.
    Rows(RowsTest),
    /// Text around the answer, which ends with a statement that prints a secret.
    Program(Box<ProgramTests>),
}

/// One run of a whole program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StdioCase {
    pub stdin: String,
    pub stdout: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub exit_code: i32,
}

/// What SQL must give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowsTest {
    pub wanted: WantedRows,
    /// Names of columns; for `reference`, `None` compares no names.
    pub columns: Option<Vec<String>>,
    /// A query whose rows are compared in place of the candidate's (and the reference's) own.
    pub check: Option<String>,
    pub ordered: bool,
    pub tolerance: Option<Tolerance>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedRows {
    /// Cells are null, numbers, texts, booleans (1 and 0), or `{"$bytes": hexadecimal}`.
    Rows(Vec<Vec<Value>>),
    /// SQL that gives them.
    Reference(String),
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl MethodSettings for CodeExecutionSpec {
    const OWN_KEYS: &'static [&'static str] = &["test", "asserts", "stdio", "rows", "reference"];
    const FROM_SETTINGS: bool = true;

    fn resolve(
        &self,
        desk: &mut SuiteDesk,
        node: &Node,
        _case: CaseExpectation,
    ) -> ResolvedGraders {
        let chosen = choose_executor(desk, self.executor.as_deref(), node.locate("/executor"))?;
        let tests = tested::tests(desk, self, node, &chosen.executor)?;
        if let Some(name) = self.entry_point.as_deref()
            && !is_callable(desk, name, &chosen.executor, node.locate("/entry_point"))
        {
            return None;
        }
        let in_process = in_process(desk, self, node, &chosen.executor, &tests)?;
        let ChosenExecutor {
            executor,
            timeout,
            memory_mb,
        } = chosen;
        let wall = self
            .timeout_seconds
            .map(seconds)
            .or(timeout)
            .unwrap_or(desk.demands().limits.wall);
        if let (CodeTests::Rows(_), Some(_)) = (&tests, &self.prefix) {
            let at = node.key_span("/prefix");
            return desk.refuse(
                Problem::error(
                    Code::GraderConflict,
                    at,
                    "`prefix` is not supported for SQL",
                )
                .hint("use `setup:`"),
            );
        }
        Some(vec![CodeGrader::CodeExecution(CodeExecution {
            executor,
            prefix: self.prefix.clone().unwrap_or_default(),
            tests,
            suffix: self.suffix.clone().unwrap_or_default(),
            setup: self.setup.clone().unwrap_or_default(),
            entry_point: self.entry_point.clone(),
            limits: CodeLimits::resolve(
                desk,
                wall,
                self.memory_mb.or(memory_mb),
                (self.output_kb, self.max_return_mb),
            ),
            in_process,
            sandbox: resolve_sandbox(desk, self.sandbox, node),
            reference: resolve_reference(
                desk,
                (&self.reference_solution, self.timeout_factor),
                node,
            )?,
        })])
    }
}

/// Whether the tests are to share the interpreter of the code; `None` after saying why they can't.
fn in_process(
    desk: &mut SuiteDesk,
    spec: &CodeExecutionSpec,
    node: &Node,
    executor: &Executor,
    tests: &CodeTests,
) -> Option<bool> {
    if spec.trust.is_none() {
        return Some(false);
    }
    let at = node.key_span("/trust");
    let in_python = *executor == Executor::Python;
    if !(in_python && matches!(tests, CodeTests::Check { .. } | CodeTests::Asserts { .. })) {
        let message = "`trust: in_process` applies only to `test` and `asserts` in Python";
        return desk.refuse(Problem::error(Code::GraderConflict, at, message).hint("remove it"));
    }
    allows_in_process(desk, at, "`trust: in_process`").then_some(true)
}

impl CodeMethod for CodeExecution {
    fn candidate_code(&self) -> Option<&dyn CandidateCode> {
        Some(self)
    }
}

impl CandidateCode for CodeExecution {
    fn settings(&self) -> RunSettings<'_> {
        RunSettings {
            executor: &self.executor,
            limits: self.limits,
            sandboxed: self.sandbox,
            reference: self.reference.as_ref(),
        }
    }

    fn with_limits(&self, limits: CodeLimits) -> CodeGrader {
        CodeGrader::CodeExecution(CodeExecution {
            limits,
            ..self.clone()
        })
    }

    fn continues_prefix(&self) -> bool {
        !self.prefix.trim().is_empty()
    }

    fn expects_failure(&self) -> bool {
        matches!(&self.tests, CodeTests::Stdio { cases, .. } if cases.iter().any(|case| case.exit_code != 0))
    }

    fn searched_tests(&self) -> usize {
        if self.executor != Executor::Python || self.entry_point.is_some() {
            return 0;
        }
        match &self.tests {
            CodeTests::Check { code } | CodeTests::AnswerText { code } => code.len(),
            CodeTests::Asserts { asserts } => asserts.iter().map(|assert| assert.len() + 1).sum(),
            CodeTests::Stdio { .. } | CodeTests::Rows(_) | CodeTests::Program(_) => 0,
        }
    }

    fn program(&self, value: &OutputValue) -> Result<String, String> {
        let tests_text = match &self.tests {
            CodeTests::Check { code } | CodeTests::AnswerText { code } => code.clone(),
            CodeTests::Asserts { asserts } => asserts.join("\n"),
            CodeTests::Stdio { .. } | CodeTests::Rows(_) => String::new(),
            CodeTests::Program(tests) if tests.definition.is_empty() => {
                return around::plain_program(value, self, tests);
            }
            CodeTests::Program(tests) => return around::program(value, self, tests),
        };
        let entry_point = self.entry_point.as_deref();
        let code = match &self.executor {
            Executor::Python => candidate(
                value,
                ProgramContext {
                    prefix: &self.prefix,
                    entry_point,
                    tests: &tests_text,
                },
            ),
            other => source(value, other, &self.prefix, entry_point),
        }?;
        Ok(around::with_suffix(code, &self.suffix))
    }

    fn refuse<'g>(&'g self, bench: &'g TestBench<'g>) -> BoxedFuture<'g, Option<Grade>> {
        Box::pin(demands::refuse(
            self,
            bench.demand,
            bench.sandbox,
            bench.modes,
        ))
    }

    fn grade<'g>(&'g self, program: String, bench: &'g TestBench<'g>) -> BoxedFuture<'g, Grade> {
        Box::pin(async move {
            match &self.tests {
                CodeTests::Check { .. }
                | CodeTests::AnswerText { .. }
                | CodeTests::Asserts { .. } => shared::grade(self, program, bench).await,
                CodeTests::Stdio {
                    cases,
                    compare,
                    tolerance,
                } => {
                    let test = StdioTest {
                        cases,
                        compare: *compare,
                        tolerance: tolerance.as_ref(),
                    };
                    grade_stdio(self, &program, &test, bench.programs()).await
                }
                CodeTests::Rows(test) => rows::grade(self, test, program, bench.sandbox).await,
                CodeTests::Program(tests) => around::grade(self, tests, program, bench).await,
            }
        })
    }
}
