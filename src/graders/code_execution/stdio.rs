//! Whole programs of any language: compiled once where that is needed, then run for each input.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

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
use crate::graders::programs::{
    self, CauseReason, LanguageLookup, missing, not_run, sandbox_limits,
};
use crate::graders::show::{bounded_text, in_reason};

/// The detail that says how many milliseconds the slowest run took.
pub(crate) const SLOWEST: &str = "slowest_ms";

/// Inputs and outputs that a grade lists.
const LISTED: usize = 20;

/// How the program is started for an input.
enum StdioProgram {
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
        files: Vec<(String, Vec<u8>)>,
        executables: Vec<String>,
    },
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
    sandbox: &Sandbox,
    languages: &LanguageLookup,
) -> Grade {
    if test.cases.is_empty() {
        return errored("there are no inputs to run");
    }
    let program = if grader.setup.trim().is_empty() {
        code.to_owned()
    } else {
        format!("{}\n{code}", grader.setup)
    };
    let ready = match prepare(grader, program, sandbox, languages).await {
        Ok(ready) => ready,
        Err(grade) => return *grade,
    };
    let mut listed = Vec::new();
    let mut passed = 0usize;
    let mut first = None;
    let (mut adjudicated, mut slowest, mut refused) = (false, Duration::ZERO, None);
    for case in test.cases {
        let result = match ready
            .run(case, sandbox_limits(&grader.limits), sandbox)
            .await
        {
            Ok(result) => result,
            Err(error) => return ready.not_run(&error),
        };
        adjudicated |= result.adjudicated;
        slowest = slowest.max(result.wall);
        refused = refused.or(result.streams.refused_call);
        let stdout = String::from_utf8_lossy(&result.streams.stdout).into_owned();
        let verdict = judge(grader, case, test, &result, &stdout);
        if listed.len() < LISTED {
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
        .with_detail(SLOWEST, programs::milliseconds(slowest))
        .with_detail("inputs", Value::Array(listed))
        .with_detail("passed", passed)
        .with_detail("total", total)
}

/// Any program can end with the exit code that is expected; what it prints is compared here.
fn ground(compare: StdoutComparison) -> Trust {
    match compare {
        StdoutComparison::ExitCode => Trust::InProcess,
        StdoutComparison::Text | StdoutComparison::Lines | StdoutComparison::Tokens => {
            Trust::Harness
        }
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

/// Everything before the first run; the error is the grade.
async fn prepare(
    grader: &CodeExecution,
    code: String,
    sandbox: &Sandbox,
    languages: &LanguageLookup,
) -> Result<StdioProgram, Box<Grade>> {
    let get = |language: BuiltinLanguage| async move {
        languages
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
            let mut made = transpiled(&node, vec![code], &grader.limits, METHOD, sandbox).await?;
            StdioProgram::Node {
                node,
                code: made.pop().unwrap_or_default(),
            }
        }
        Executor::Bash => StdioProgram::Bash {
            bash: get(BuiltinLanguage::Bash).await?,
            code,
        },
        Executor::Sql => return Err(Box::new(errored("SQL is no program that reads and prints"))),
        Executor::Configured(own) => compiled(own, code, grader, sandbox).await?,
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

/// The program's files, or what the compiler made of them.
async fn compiled(
    own: &ConfiguredExecutor,
    code: String,
    grader: &CodeExecution,
    sandbox: &Sandbox,
) -> Result<StdioProgram, Box<Grade>> {
    let files = vec![(own.file.clone(), code.into_bytes())];
    let own = Box::new(own.clone());
    if own.compile.is_empty() {
        return Ok(StdioProgram::Own {
            own,
            files,
            executables: Vec::new(),
        });
    }
    let usual = ProgramLimits::default();
    let limits = ProgramLimits {
        wall: own.compile_timeout,
        memory_mb: own.compile_memory_mb,
        file_mb: usual.file_mb * 4,
        output_bytes: grader.limits.output_bytes,
        ..usual
    };
    let program = ProgramJob {
        argv: own.compile.clone(),
        env: env(&own),
        files,
        limits,
        ..ProgramJob::default()
    };
    let built = match sandbox.build(program).await {
        Ok(built) => built,
        Err(error) => return Err(Box::new(hinted(not_run(METHOD, &error), &own))),
    };
    let streams = &built.result.streams;
    let said = String::from_utf8_lossy(if streams.stderr.is_empty() {
        &streams.stdout
    } else {
        &streams.stderr
    });
    match built.result.ending {
        ProgramEnding::Exited(0) => match lacking(&own, &built.files) {
            Some(program) => {
                let why = format!(
                    "the compiler of `{}` left no `{program}` of up to 64 MiB",
                    own.name
                );
                Err(Box::new(
                    failed(Cause::SyntaxError, why).with_detail("compiler", bounded_text(&said)),
                ))
            }
            None => Ok(StdioProgram::Own {
                own,
                files: built.files,
                executables: built.executables,
            }),
        },
        // As shells report a missing program. A probe says more, where there is one.
        ProgramEnding::Exited(126 | 127) if own.probe.is_none() => {
            let why = format!(
                "the compiler of `{}` can't be run: {}",
                own.name,
                in_reason(said.trim())
            );
            let grade = Grade::errored(GraderType::Code, METHOD, Cause::ExecutorMissing, why);
            Err(Box::new(
                hinted(grade, &own).with_detail("compiler", bounded_text(&said)),
            ))
        }
        ProgramEnding::Exited(_) => {
            let why = format!(
                "the code does not compile: {}",
                in_reason(first_message(&said))
            );
            Err(Box::new(
                failed(Cause::SyntaxError, why).with_detail("compiler", bounded_text(&said)),
            ))
        }
        ProgramEnding::TimedOut => {
            let limit = own.compile_timeout.as_secs_f64();
            Err(Box::new(failed(
                Cause::Timeout,
                format!("the code did not compile within {limit} s"),
            )))
        }
        other => {
            let (cause, why) =
                programs::ending_of(&other, own.compile_timeout, own.compile_memory_mb);
            Err(Box::new(failed(cause, format!("the compiler: {why}"))))
        }
    }
}

/// The program below the working folder that should be run and that nobody made.
fn lacking<'o>(own: &'o ConfiguredExecutor, files: &[(String, Vec<u8>)]) -> Option<&'o str> {
    let program = own.run.first()?.strip_prefix("./")?;
    (!files.iter().any(|(path, _)| path == program)).then_some(program)
}

/// The first line that speaks of an error, else the first that says anything.
fn first_message(said: &str) -> &str {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.contains("error:") || line.starts_with("error");
    lines()
        .find(is_error)
        .or_else(|| lines().next())
        .unwrap_or("the compiler does not say why")
}

fn env(own: &ConfiguredExecutor) -> Vec<(String, String)> {
    own.env
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn hinted(mut grade: Grade, own: &ConfiguredExecutor) -> Grade {
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
                        files,
                        limits,
                        ..ProgramJob::default()
                    })
                    .await
            }
            StdioProgram::Own {
                own,
                files,
                executables,
            } => {
                let argv = own.run.iter().cloned().chain(args).collect();
                let (files, executables) = (files.clone(), executables.clone());
                let env = env(own);
                let program = ProgramJob {
                    argv,
                    stdin,
                    env,
                    files,
                    executables,
                    limits,
                    ..ProgramJob::default()
                };
                sandbox.run_program(program).await
            }
        }
    }

    fn not_run(&self, error: &SandboxError) -> Grade {
        let grade = not_run(METHOD, error);
        match self {
            StdioProgram::Own { own, .. } => hinted(grade, own),
            _ => grade,
        }
    }
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
                let why = format!(
                    "the program wrote more than {kept} KB; `output_kb` sets how much is kept"
                );
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

    #[test]
    fn a_compilers_first_error_is_told() {
        let gcc = "main.c: In function 'main':\nmain.c:2:3: warning: unused\nmain.c:3:5: error: expected ';'\n";
        assert_eq!(first_message(gcc), "main.c:3:5: error: expected ';'");
        assert_eq!(first_message("\nsomething\n"), "something");
        assert_eq!(first_message(""), "the compiler does not say why");
    }
}
