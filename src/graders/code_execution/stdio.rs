//! Whole programs of any language: compiled once where that is needed, then run for each input.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::model::limits;
use crate::model::{
    Cause, CodeExecution, CodeLimits, ConfiguredExecutor, Executor, Grade, GraderType, StdioCase,
    StdoutComparison, Tolerance, Trust,
};
use eval_match::text::{TextOptions, exact};
use eval_match::{MatchResult, printed};
use eval_sandbox::languages::{BuiltinLanguage, LanguageRuntime};
use eval_sandbox::{
    ProgramEnding, ProgramJob, ProgramLimits, ProgramResult, Sandbox, SandboxError, ScriptJob,
};

use super::METHOD;
use super::compiled::{CompiledFiles, CompiledPrograms, compiled};
use crate::graders::programs::{
    self, CauseReason, LanguageLookup, missing, not_run, sandbox_limits,
};
use crate::graders::show::{bounded_text, in_reason};

/// The detail that says how many milliseconds the slowest run took.
pub(crate) const SLOWEST: &str = "slowest_ms";

/// How the program is started for an input.
pub(super) enum StdioProgram {
    Python {
        code: String,
    },
    Node {
        node: Arc<LanguageRuntime>,
        code: String,
    },
    Bash {
        bash: Arc<LanguageRuntime>,
        code: String,
    },
    Own {
        own: Box<ConfiguredExecutor>,
        /// What runs it, without the arguments of a case.
        argv: Vec<String>,
        made: Arc<CompiledFiles>,
    },
}

/// What whole programs are run with.
#[derive(Clone, Copy)]
pub(crate) struct StdioBench<'b> {
    pub sandbox: &'b Sandbox,
    pub languages: &'b LanguageLookup,
    /// `None` compiles every program again.
    pub compiled: Option<&'b CompiledPrograms>,
}

/// What is compared.
pub(crate) struct StdioTest<'a> {
    pub cases: &'a [StdioCase],
    pub compare: StdoutComparison,
    pub tolerance: Option<&'a Tolerance>,
}

pub(crate) async fn grade_stdio(
    grader: &CodeExecution,
    code: &str,
    test: &StdioTest<'_>,
    bench: StdioBench<'_>,
) -> Grade {
    if test.cases.is_empty() {
        return errored("there are no inputs to run");
    }
    let program = if grader.setup.trim().is_empty() {
        code.to_owned()
    } else {
        format!("{}\n{code}", grader.setup)
    };
    let ready = match prepare(grader, program, Vec::new(), bench).await {
        Ok(ready) => ready,
        Err(grade) => return *grade,
    };
    let mut listed = Vec::new();
    let mut passed = 0usize;
    let mut first = None;
    let (mut adjudicated, mut slowest) = (false, Duration::ZERO);
    let (mut refused, mut peak) = (None, None);
    for case in test.cases {
        let result = match ready
            .run(case, sandbox_limits(&grader.limits), bench.sandbox)
            .await
        {
            Ok(result) => result,
            Err(error) => return ready.not_run(&error),
        };
        adjudicated |= result.adjudicated;
        slowest = slowest.max(result.wall);
        refused = refused.or(result.streams.refused_call);
        peak = peak.max(result.streams.peak_kib);
        let stdout = String::from_utf8_lossy(&result.streams.stdout).into_owned();
        let verdict = judge(grader, case, test, &result, &stdout);
        if listed.len() < limits::GRADE_ENTRIES {
            listed.push(entry(case, &result, &stdout, verdict.is_ok()));
        }
        match verdict {
            Ok(()) => passed += 1,
            Err((cause, why)) => {
                let costly = matches!(
                    cause,
                    Cause::Timeout | Cause::MemoryLimit | Cause::OutputLimit
                );
                first.get_or_insert((cause, why, case, stdout));
                // What ran into a limit once is not given the chance for every input that is left.
                if costly {
                    break;
                }
            }
        }
    }
    let total = test.cases.len();
    let grade = match first {
        None => Grade::passed(GraderType::Code, METHOD),
        Some((cause, why, case, stdout)) => {
            failed(cause, format!("given {}: {why}", shown_input(case)))
                .with_score(passed as f64 / total as f64)
                .with_expected(bounded_text(&case.stdout))
                .with_actual(bounded_text(&stdout))
        }
    };
    programs::with_refused_call(grade, refused)
        .with_trust(ground(test.compare))
        .with_adjudicated(adjudicated)
        .with_peak(peak)
        .with_detail(SLOWEST, programs::milliseconds(slowest))
        .with_detail("inputs", Value::Array(listed))
        .with_detail("passed", passed)
        .with_detail("total", total)
}

/// Any program can end with the exit code that is expected; what it prints is compared here.
fn ground(compare: StdoutComparison) -> Trust {
    match compare {
        StdoutComparison::ExitCode => Trust::InProcess,
        StdoutComparison::Text
        | StdoutComparison::Lines
        | StdoutComparison::Tokens
        | StdoutComparison::Decimals => Trust::Harness,
    }
}

fn errored(why: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, Cause::Harness, why)
}

fn failed(cause: Cause, why: impl Into<String>) -> Grade {
    Grade::failed(GraderType::Code, METHOD, cause, why)
}

/// One run as the grade's details list it.
fn entry(case: &StdioCase, result: &ProgramResult, stdout: &str, passed: bool) -> Value {
    let mut entry = json!({
        "stdin": bounded_text(&case.stdin),
        "expected": bounded_text(&case.stdout),
        "actual": bounded_text(stdout),
        "passed": passed,
        "ms": programs::milliseconds(result.wall),
    });
    if let Some(map) = entry.as_object_mut() {
        if !case.args.is_empty() {
            map.insert("args".to_owned(), json!(case.args));
        }
        if let ProgramEnding::Exited(code) = result.ending
            && (code != 0 || case.exit_code != 0)
        {
            map.insert("exit_code".to_owned(), json!(code));
        }
    }
    entry
}

/// Everything before the first run, with files beside the program in the languages that a suite
/// describes; the error is the grade.
pub(super) async fn prepare(
    grader: &CodeExecution,
    code: String,
    files: Vec<(String, Vec<u8>)>,
    bench: StdioBench<'_>,
) -> Result<StdioProgram, Box<Grade>> {
    let get = |language: BuiltinLanguage| async move {
        bench
            .languages
            .get(language)
            .await
            .map_err(|why| Box::new(missing(METHOD, &why)))
    };
    Ok(match &grader.executor {
        Executor::Python => StdioProgram::Python { code },
        Executor::Javascript => StdioProgram::Node {
            node: get(BuiltinLanguage::Javascript).await?,
            code,
        },
        Executor::Typescript => {
            let node = get(BuiltinLanguage::Typescript).await?;
            let mut made =
                transpiled(&node, vec![code], &grader.limits, METHOD, bench.sandbox).await?;
            StdioProgram::Node {
                node,
                code: made.pop().unwrap_or_default(),
            }
        }
        Executor::Bash => StdioProgram::Bash {
            bash: get(BuiltinLanguage::Bash).await?,
            code,
        },
        Executor::Sql => {
            return Err(Box::new(errored(
                "SQL does not read stdin and print to stdout",
            )));
        }
        Executor::Configured(own) => compiled(own, (code, files), grader, bench).await?,
    })
}

/// TypeScript as JavaScript, in order; the error is the grade.
pub(crate) async fn transpiled(
    node: &Arc<LanguageRuntime>,
    texts: Vec<String>,
    limits: &CodeLimits,
    method: &str,
    sandbox: &Sandbox,
) -> Result<Vec<String>, Box<Grade>> {
    match sandbox.transpile(Arc::clone(node), texts).await {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(failure)) => {
            let (cause, why) = programs::explain_failure(
                &failure,
                &CodeLimits {
                    wall: Duration::from_secs(30),
                    ..*limits
                },
            );
            Err(Box::new(Grade::failed(
                GraderType::Code,
                method,
                cause,
                why,
            )))
        }
        Err(error) => Err(Box::new(not_run(method, &error))),
    }
}

pub(super) fn hinted(mut grade: Grade, own: &ConfiguredExecutor) -> Grade {
    if let Some(hint) = own
        .hint
        .as_ref()
        .filter(|_| grade.cause == Some(Cause::ExecutorMissing))
    {
        grade.reason = format!("{}; {hint}", grade.reason);
    }
    grade
}

impl StdioProgram {
    async fn run(
        &self,
        case: &StdioCase,
        limits: ProgramLimits,
        sandbox: &Sandbox,
    ) -> Result<ProgramResult, SandboxError> {
        self.run_with(case, &[], limits, sandbox).await
    }

    /// With more variables in its environment; programs of Python and node get none.
    pub(super) async fn run_with(
        &self,
        case: &StdioCase,
        variables: &[(String, String)],
        limits: ProgramLimits,
        sandbox: &Sandbox,
    ) -> Result<ProgramResult, SandboxError> {
        let stdin = case.stdin.clone().into_bytes();
        let args = case.args.clone();
        match self {
            StdioProgram::Python { code } => {
                sandbox
                    .run_script(ScriptJob {
                        code: code.clone(),
                        stdin,
                        args,
                        limits,
                    })
                    .await
            }
            StdioProgram::Node { node, code } => {
                let script = ScriptJob {
                    code: code.clone(),
                    stdin,
                    args,
                    limits,
                };
                sandbox.run_node(Arc::clone(node), script).await
            }
            StdioProgram::Bash { bash, code } => {
                let mut argv = vec![
                    bash.path.to_string_lossy().into_owned(),
                    "main.sh".to_owned(),
                ];
                argv.extend(args);
                let files = vec![("main.sh".to_owned(), code.clone().into_bytes())];
                sandbox
                    .run_program(ProgramJob {
                        argv,
                        stdin,
                        env: variables.to_vec(),
                        files,
                        limits,
                        ..ProgramJob::default()
                    })
                    .await
            }
            StdioProgram::Own { own, argv, made } => {
                let mut env: Vec<(String, String)> = own.env.clone().into_iter().collect();
                env.extend_from_slice(variables);
                let program = ProgramJob {
                    argv: argv.iter().cloned().chain(args).collect(),
                    stdin,
                    env,
                    files: made.files.clone(),
                    executables: made.executables.clone(),
                    limits,
                    ..ProgramJob::default()
                };
                sandbox.run_program(program).await
            }
        }
    }

    pub(super) fn not_run(&self, error: &SandboxError) -> Grade {
        let grade = not_run(METHOD, error);
        match self {
            StdioProgram::Own { own, .. } => hinted(grade, own),
            _ => grade,
        }
    }
}

/// Whether a program ended as it must, whatever it printed.
pub(super) fn judge_ending(
    grader: &CodeExecution,
    case: &StdioCase,
    result: &ProgramResult,
) -> Result<(), CauseReason> {
    let test = StdioTest {
        cases: &[],
        compare: StdoutComparison::ExitCode,
        tolerance: None,
    };
    judge(grader, case, &test, result, "")
}

fn judge(
    grader: &CodeExecution,
    case: &StdioCase,
    test: &StdioTest,
    result: &ProgramResult,
    stdout: &str,
) -> Result<(), CauseReason> {
    match &result.ending {
        ProgramEnding::Exited(code) if *code == case.exit_code => {
            if test.compare == StdoutComparison::ExitCode {
                return Ok(());
            }
            if result.streams.stdout_truncated {
                let kept = grader.limits.output_bytes >> 10;
                let why =
                    format!("the program wrote more than {kept} KB; `output_kb` sets this limit");
                return Err((Cause::OutputLimit, why));
            }
            let compared = printed_as(stdout, &case.stdout, test);
            match std::str::from_utf8(&result.streams.stdout) {
                _ if !compared.matched => Err((Cause::WrongAnswer, compared.reason)),
                Ok(_) => Ok(()),
                // Every byte that is no text was read as U+FFFD, which may be what is expected.
                Err(error) => {
                    let why = format!(
                        "the program's stdout is not UTF-8 (byte {})",
                        error.valid_up_to()
                    );
                    Err((Cause::WrongAnswer, why))
                }
            }
        }
        ProgramEnding::Exited(code) if case.exit_code != 0 => {
            let wanted = case.exit_code;
            Err((
                Cause::WrongAnswer,
                format!("the program ended with exit code {code}, expected {wanted}"),
            ))
        }
        ProgramEnding::Exited(code) => {
            let stderr = String::from_utf8_lossy(&result.streams.stderr);
            let (cause, last) = complaint(&grader.executor, *code, &stderr);
            let last = in_reason(last);
            let said = if last.is_empty() {
                String::new()
            } else {
                format!(": {last}")
            };
            Err((
                cause,
                format!("the program ended with exit code {code}{said}"),
            ))
        }
        other => Err(programs::ending_of(
            other,
            grader.limits.wall,
            grader.limits.memory_mb,
        )),
    }
}

fn printed_as(stdout: &str, wanted: &str, test: &StdioTest) -> MatchResult {
    match test.compare {
        StdoutComparison::Text => {
            let options = TextOptions {
                trim_whitespace: true,
                normalize_newlines: true,
                case_sensitive: true,
            };
            exact(stdout, wanted, options)
        }
        StdoutComparison::Lines => printed::lines(stdout, wanted),
        StdoutComparison::Tokens => printed::tokens(stdout, wanted, test.tolerance),
        StdoutComparison::Decimals => printed::decimals(stdout, wanted),
        StdoutComparison::ExitCode => MatchResult::matched(),
    }
}

/// What an interpreter says last of a program that failed, and whether it was that it can't read
/// it.
fn complaint<'s>(executor: &Executor, code: i32, stderr: &'s str) -> (Cause, &'s str) {
    let lines = || {
        stderr
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.trim().is_empty())
    };
    let last = lines().next_back().unwrap_or_default();
    let cause = |syntax: bool| {
        if syntax {
            Cause::SyntaxError
        } else {
            Cause::Exception
        }
    };
    match executor {
        Executor::Python => (
            cause(last.starts_with("SyntaxError") || last.starts_with("IndentationError")),
            last,
        ),
        Executor::Javascript | Executor::Typescript => {
            let is_error = |line: &&str| {
                let head = line.split(':').next().unwrap_or_default();
                !line.starts_with(' ') && (head.ends_with("Error") || line.starts_with("Uncaught "))
            };
            let said = lines().find(is_error).unwrap_or(last);
            // An error of its own, of JSON.parse for instance, is thrown in some frame of the
            // program.
            let thrown =
                lines().any(|line| line.trim_start().starts_with("at ") && line.contains("/main."));
            (
                cause(code == 1 && said.starts_with("SyntaxError") && !thrown),
                said,
            )
        }
        Executor::Bash => {
            let syntax = lines().find(|line| line.contains(": syntax error"));
            (
                cause(code == 2 && syntax.is_some()),
                syntax.filter(|_| code == 2).unwrap_or(last),
            )
        }
        _ => (Cause::Exception, last),
    }
}

fn shown_input(case: &StdioCase) -> String {
    let stdin = if case.stdin.is_empty() {
        "no input".to_owned()
    } else {
        format!("{:?}", in_reason(&case.stdin))
    };
    if case.args.is_empty() {
        stdin
    } else {
        format!("{stdin} and the arguments {:?}", case.args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_say_why_in_their_own_places() {
        use Executor::{Bash, Javascript, Python};
        let node_syntax = "/tmp/main.js:1\nlet x = ;\n        ^\n\nSyntaxError: Unexpected token ';'\n    at wrapSafe (node:internal)\n\nNode.js v20";
        let node_json = "<anonymous_script>:1\n{\n\nSyntaxError: Expected property name\n    at JSON.parse (<anonymous>)\n    at Object.<anonymous> (/tmp/main.js:1:6)\n\nNode.js v20";
        let node_own = "/tmp/main.js:1\nthrow new TypeError('x')\n\nTypeError: x\n    at Object.<anonymous> (/tmp/main.js:1:7)\n\nNode.js v20";
        let lines = [
            complaint(
                &Python,
                1,
                "  File \"main.py\"\nSyntaxError: invalid syntax",
            ),
            complaint(&Python, 1, "ValueError: x\n"),
            complaint(&Javascript, 1, node_syntax),
            complaint(&Javascript, 1, node_json),
            complaint(&Javascript, 1, node_own),
            complaint(
                &Bash,
                2,
                "main.sh: line 2: syntax error near unexpected token `fi'\nmain.sh: line 2: `fi'",
            ),
            complaint(&Bash, 1, "grep: syntax error: no"),
            complaint(&Bash, 3, ""),
        ];
        let lines: Vec<String> = lines
            .iter()
            .map(|(cause, said)| format!("{} {said}", cause.name()))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        syntax_error SyntaxError: invalid syntax
        exception ValueError: x
        syntax_error SyntaxError: Unexpected token ';'
        exception SyntaxError: Expected property name
        exception TypeError: x
        syntax_error main.sh: line 2: syntax error near unexpected token `fi'
        exception grep: syntax error: no
        exception 
        ");
    }
}
