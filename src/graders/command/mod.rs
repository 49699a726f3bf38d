//! The code grader `command`: the author's own program.
//!
//! The output comes on stdin: text as it is, other JSON as JSON. `EVAL_CASE` holds the case's id
//! and `EVAL_EXPECTED` what is expected (a text as it is, other values as JSON; absent when there
//! is none or when it is too long for the environment). `EVAL_CONTEXT` names a file with the whole
//! sample as JSON (`sample_file`). With `workspace: true` the program runs over what the target left
//! (`workspace`).

mod sample_file;
mod workspace;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::output::as_text;
use super::settings::CaseExpectation;
use super::show::{bounded, bounded_text, compared, in_reason};
use super::{
    CodeGrader, CodeMethod, GradedSample, MethodSettings, ResolvedGraders, TestFilesSpec,
    WorkspaceCheck,
};
use crate::isolation::{CommandSandbox, PRIVATE_FOLDER, PrivateFolder};
use crate::load::{Code, Node, Problem, SuiteDesk, check_program, seconds};
use crate::model::limits;
use crate::model::{Cause, CommandVerdict, EnvFile, Grade, GraderType, NumberKind};
use eval_base::unique_keys::JsonShape;
use eval_sandbox::process_tree::{self, TreeCommand, TreeEnd, TreeOutput, printable, signal_name};

pub use workspace::CommandWorkspace;

const METHOD: &str = "command";

/// The file that `EVAL_CONTEXT` names.
const SAMPLE_FILE: &str = "context.json";

/// One variable may hold 128 KiB on Linux.
const LONGEST_VARIABLE: usize = 100 << 10;

/// How a Python program that died of an exception says so; it exits with 1, which would read as
/// "failed".
const TRACEBACK: &str = "Traceback (most recent call last):";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandGraderSpec {
    /// Program and arguments; the program reads the output on stdin.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Environment variables to pass to the program.
    #[serde(default)]
    pub env: Vec<String>,
    /// Time limit in seconds. Default 30, with `workspace: true` 120.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Source of the verdict: the exit code, JSON on stdout, or JSON in the file that the environment
    /// variable `EVAL_VERDICT` names (only with `workspace: true`).
    #[serde(default)]
    pub verdict: CommandVerdict,
    /// Names of the numbers that the program reports in `metrics` of its JSON verdict; each verdict
    /// must contain all of them.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub metrics: Vec<String>,
    /// `true` runs the program in the sandbox: it sees the suite's folder read-only, a private
    /// `/tmp`, and no network. Default false.
    #[serde(default)]
    pub sandbox: bool,
    /// `true` runs the program in the sandbox, in the workspace that the target left: hidden files are
    /// present, protected ones are as before, there is no network, and what it writes is thrown away.
    /// Files of the suite's folder that words of the command name are copied. Default false.
    #[serde(default)]
    pub workspace: bool,
    /// With `workspace: true`: files that are written to the workspace before the program runs, and
    /// that the target never sees: `{dir: FOLDER}` for the files of a folder, or a text or
    /// `{file: FILE}` by path.
    #[serde(default)]
    pub files: TestFilesSpec,
}

/// The author's own program as grader: it reads the output on stdin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandGrader {
    pub argv: Vec<String>,
    /// Where it runs. No part of what tells graders apart, which is the same on every machine.
    #[serde(skip)]
    pub dir: PathBuf,
    pub env: Vec<String>,
    /// Of the suite: holds variables that the process environment lacks.
    #[serde(skip)]
    pub env_file: EnvFile,
    pub timeout: Duration,
    /// `exit_code`: 0 passes, 1 fails, anything else is errored; in a workspace, all but 126 and 127
    /// fail. `json`: stdout is
    /// `{"passed": bool, "score": 0..1, "reason": text, "metrics": {name: number}}`; `json_file`: the
    /// same, in a file.
    pub verdict: CommandVerdict,
    /// The numbers in `metrics` of a JSON verdict, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    pub expected: Option<Value>,
    /// Whether the program runs in the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
    /// Of a program that runs in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<CommandWorkspace>,
}

impl MethodSettings for CommandGraderSpec {
    const OWN_KEYS: &'static [&'static str] = &["command"];

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        let at = node.locate("/command");
        let workspace = match self.workspace {
            true => Some(CommandWorkspace::resolve(self, desk, node, case)?),
            false => {
                workspace::refuse_settings(self, desk, node)?;
                check_program(desk, &self.command, at)?;
                None
            }
        };
        if !self.metrics.is_empty() && self.verdict == CommandVerdict::ExitCode {
            let message =
                "`metrics` require a JSON verdict, but this grader's verdict is its exit code";
            let problem = Problem::error(Code::GraderConflict, node.key_span("/metrics"), message);
            return desk.refuse(problem.hint(
                "add `verdict: json`; to measure 1 or 0, set `metric: NAME` next to the grader's type",
            ));
        }
        Some(vec![CodeGrader::Command(CommandGrader {
            argv: self.command.clone(),
            dir: desk.suite_dir().to_owned(),
            env: self.env.clone(),
            env_file: desk.env_file_for(&self.env),
            timeout: seconds(self.timeout_seconds.unwrap_or(if self.workspace {
                120.0
            } else {
                30.0
            })),
            verdict: self.verdict,
            metrics: self.metrics.clone(),
            expected: case.reference(),
            sandbox: self.sandbox,
            workspace,
        })])
    }
}

impl CommandGrader {
    /// Whether an exit code is a failure of the workspace. With 126 and 127 a shell says that a
    /// program could not be run.
    fn fails_with(&self, code: i32) -> bool {
        self.workspace.is_some() && !matches!(code, 0 | 126 | 127)
    }
}

impl CodeMethod for CommandGrader {
    fn workspace_check(&self) -> Option<&dyn WorkspaceCheck> {
        self.workspace
            .is_some()
            .then_some(self as &dyn WorkspaceCheck)
    }

    fn further_numbers(&self) -> Vec<(&str, NumberKind)> {
        let names = self.metrics.iter();
        names
            .map(|name| (name.as_str(), NumberKind::Number))
            .collect()
    }
}

/// Runs a program that is not in a workspace.
pub(crate) async fn run_command(
    grader: &CommandGrader,
    sample: &GradedSample<'_>,
    inside: &CommandSandbox,
) -> Grade {
    let file = match sample_file::of(grader, sample).await {
        Ok(file) => file,
        Err(why) => return errored(Cause::Harness, why),
    };
    let (mut files, mut folder) = (Vec::new(), None);
    let path = if grader.sandbox {
        files.push((SAMPLE_FILE.to_owned(), file));
        format!("{PRIVATE_FOLDER}/{SAMPLE_FILE}")
    } else {
        match PrivateFolder::with_file(SAMPLE_FILE, &file) {
            Ok((made, path)) => {
                folder = Some(made);
                path
            }
            Err(error) => {
                let why = format!("cannot write {SAMPLE_FILE}: {error}");
                return errored(Cause::Harness, why);
            }
        }
    };
    let command = TreeCommand {
        argv: grader.argv.clone(),
        dir: grader.dir.clone(),
        env: environment(grader, sample, &path),
        stdin: as_text(sample.value).into_bytes(),
        timeout: grader.timeout,
        keep_stdout: limits::GRADER_STDOUT,
        stdout_file: None,
        keep_stderr: limits::GRADER_STDERR,
    };
    let ended = if grader.sandbox {
        inside.run(&command, files).await
    } else {
        process_tree::run(&command).await
    };
    drop(folder);
    let grade = match ended {
        Err(error) => errored(Cause::ExecutorMissing, error.reason),
        Ok(ended) => read_verdict(grader, &ended, None, false),
    };
    compared(grade, grader.expected.clone(), sample.value)
}

fn errored(cause: Cause, reason: impl Into<String>) -> Grade {
    Grade::errored(GraderType::Code, METHOD, cause, reason)
}

fn expected_text(expected: &Value) -> String {
    match expected {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// What is expected is not among it in a workspace, whose code would inherit it. `file`: the path of
/// the sample's file.
fn environment(
    grader: &CommandGrader,
    sample: &GradedSample<'_>,
    file: &str,
) -> Vec<(String, OsString)> {
    let mut env = grader.env_file.environment_of(&grader.env);
    let shown = grader
        .expected
        .as_ref()
        .filter(|_| grader.workspace.is_none());
    let expected = shown.map(expected_text);
    for (name, value) in [
        ("EVAL_CASE", Some(sample.case.id.clone())),
        ("EVAL_EXPECTED", expected),
    ] {
        if let Some(value) = value.filter(|v| v.len() <= LONGEST_VARIABLE && !v.contains('\0')) {
            env.push((name.to_owned(), value.into()));
        }
    }
    env.push(("EVAL_CONTEXT".to_owned(), file.into()));
    env
}

/// `file`: what the program wrote to the file for its verdict, if it is not `doubted`.
fn read_verdict(
    grader: &CommandGrader,
    ended: &TreeOutput,
    file: Option<&[u8]>,
    doubted: bool,
) -> Grade {
    let name = grader.argv.first().map(String::as_str).unwrap_or_default();
    let stderr = printable(&ended.stderr_tail);
    let traced = stderr.lines().any(|line| line == TRACEBACK);
    // The last line of a traceback names the exception.
    let message = match traced {
        true => stderr.lines().last().unwrap_or_default(),
        false => stderr.as_str(),
    };
    let suffix = |message: &str| match message {
        "" => String::new(),
        message => format!(": {}", in_reason(message)),
    };
    let ending = suffix(message);
    let code = match ended.end {
        TreeEnd::Exited(code) => code,
        TreeEnd::Signaled(signal) => {
            return errored(
                Cause::Harness,
                format!(
                    "the grader {name} was ended by {}{ending}",
                    signal_name(signal)
                ),
            );
        }
        TreeEnd::Stopped(why) => {
            return errored(
                Cause::Harness,
                format!("the grader {name} was ended: {why}{ending}"),
            );
        }
        TreeEnd::TimedOut => {
            let limit = grader.timeout.as_secs_f64();
            return errored(
                Cause::GraderTimeout,
                format!("the grader {name} did not end within {limit} s"),
            );
        }
    };
    match (grader.verdict, code) {
        (CommandVerdict::ExitCode, 0) => Grade::passed(GraderType::Code, METHOD),
        // Warnings may come before the traceback.
        (CommandVerdict::ExitCode, 1) if !traced => {
            let stdout = printable(&ended.stdout);
            let why = [stdout, stderr].into_iter().find(|text| !text.is_empty());
            let why = why.map_or_else(
                || format!("the grader {name} exited with code 1"),
                |text| in_reason(&text),
            );
            Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, why)
        }
        // `make` fails with 2, `cargo` with 101. Of no cause that `negate` turns into a pass: a check
        // that broke off has shown nothing.
        (CommandVerdict::ExitCode, code) if grader.fails_with(code) => {
            let ending = match stderr.is_empty() {
                true => suffix(&printable(&ended.stdout)),
                false => ending,
            };
            let why = format!("the grader {name} exited with code {code}{ending}");
            let grade = Grade::failed(GraderType::Code, METHOD, Cause::Exited, why);
            match traced {
                true => grade.with_detail("stderr", bounded_text(&stderr)),
                false => grade,
            }
        }
        (CommandVerdict::Json | CommandVerdict::JsonFile, 0) => {
            let verdict = match (grader.verdict, file) {
                (CommandVerdict::JsonFile, Some(file)) => {
                    Ok((file, file.len() > limits::GRADER_STDOUT))
                }
                (CommandVerdict::JsonFile, None) if doubted => Err(
                    "the file that EVAL_VERDICT names was opened several times, replaced or moved, so another \
                     process may have written it; open it once and write to it"
                        .to_owned(),
                ),
                (CommandVerdict::JsonFile, None) => {
                    Err("it did not write the file that EVAL_VERDICT names".to_owned())
                }
                _ => Ok((ended.stdout.as_slice(), ended.stdout_truncated)),
            };
            let parsed = verdict.and_then(|(text, is_cut)| match is_cut {
                // What was cut off could say otherwise.
                true => Err(format!(
                    "it wrote more than {} bytes",
                    limits::GRADER_STDOUT
                )),
                false => parse(text, &grader.metrics),
            });
            parsed.unwrap_or_else(|why| {
                errored(
                    Cause::Harness,
                    format!("the grader {name} gave no verdict: {why}"),
                )
            })
        }
        (_, code) => {
            let grade = errored(
                Cause::Harness,
                format!("the grader {name} exited with code {code}{ending}"),
            );
            if traced {
                grade.with_detail("stderr", bounded_text(&stderr))
            } else {
                grade
            }
        }
    }
}

/// `{"passed": bool, "score": 0..1, "reason": text, "metrics": {name: number}}`; other keys go into
/// the details.
fn parse(text: &[u8], names: &[String]) -> Result<Grade, String> {
    let mut verdict: Map<String, Value> =
        serde_json::from_slice(text).map_err(|error| error.to_string())?;
    // Of two values the later one would be believed.
    serde_json::from_slice::<JsonShape>(text).map_err(|error| error.to_string())?;
    let passed = match verdict.remove("passed") {
        Some(Value::Bool(passed)) => passed,
        Some(other) => {
            return Err(format!(
                "`passed` must be true or false, not {}",
                in_reason(&other.to_string())
            ));
        }
        None => return Err("`passed` is missing".to_owned()),
    };
    let score = match verdict.remove("score") {
        None | Some(Value::Null) => None,
        Some(value) => match value.as_f64().filter(|score| (0.0..=1.0).contains(score)) {
            Some(score) => Some(score),
            None => {
                return Err(format!(
                    "`score` must be a number from 0 to 1, not {}",
                    in_reason(&value.to_string())
                ));
            }
        },
    };
    let reason = match verdict.remove("reason") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => in_reason(&printable(text.as_bytes())),
        Some(_) => return Err("`reason` must be a text".to_owned()),
    };
    let metrics = numbers(verdict.remove("metrics"), names)?;
    let mut grade = if passed {
        Grade {
            reason,
            ..Grade::passed(GraderType::Code, METHOD)
        }
    } else {
        let reason = if reason.is_empty() {
            "the grader gave no reason".to_owned()
        } else {
            reason
        };
        Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, reason)
    };
    if let Some(score) = score {
        grade.score = Some(score);
    }
    grade.metrics = metrics;
    for (key, value) in verdict.into_iter().take(20) {
        grade.details.insert(in_reason(&key), bounded(&value));
    }
    Ok(grade)
}

/// The numbers that the grader's `metrics:` declares: each of them, and no other. A number that is
/// there for some outputs only would be averaged over those.
fn numbers(given: Option<Value>, names: &[String]) -> Result<BTreeMap<String, f64>, String> {
    let mut given = match given {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(map)) => map,
        Some(other) => {
            return Err(format!(
                "`metrics` must be an object, not {}",
                in_reason(&other.to_string())
            ));
        }
    };
    let mut numbers = BTreeMap::new();
    for name in names {
        let value = given
            .remove(name)
            .ok_or_else(|| format!("`metrics` has no `{name}`"))?;
        let number = value
            .as_f64()
            .filter(|number| number.is_finite())
            .ok_or_else(|| {
                format!(
                    "the metric `{name}` must be a finite number, not {}",
                    in_reason(&value.to_string())
                )
            })?;
        numbers.insert(name.clone(), number);
    }
    match given.keys().next() {
        None => Ok(numbers),
        Some(name) => Err(format!(
            "`metrics` contains `{}`, which the grader's `metrics:` does not list",
            in_reason(name)
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use std::time::Duration;

    fn grader(verdict: CommandVerdict, timeout_ms: u64) -> CommandGrader {
        CommandGrader {
            argv: vec!["./grade".into()],
            dir: "/".into(),
            env: vec![],
            env_file: EnvFile::default(),
            timeout: Duration::from_millis(timeout_ms),
            verdict,
            metrics: vec![],
            expected: None,
            sandbox: false,
            workspace: None,
        }
    }

    fn shown(verdict: CommandVerdict, end: TreeEnd, stdout: &str, stderr: &str) -> String {
        let ended = TreeOutput {
            end,
            stdout: stdout.into(),
            stdout_truncated: false,
            stderr_tail: stderr.into(),
            elapsed: Duration::ZERO,
        };
        let g = read_verdict(&grader(verdict, 1500), &ended, None, false);
        let score = g.score.map_or("-".into(), |s| s.to_string());
        format!(
            "{} {score} {} {} {}",
            g.outcome,
            g.cause.map_or("-", Cause::name),
            g.reason,
            json!(g.details)
        )
    }

    #[test]
    fn every_ending_is_read() {
        use CommandVerdict::{ExitCode, Json};
        use TreeEnd::{Exited, Signaled, TimedOut};
        let lines = [
            shown(ExitCode, Exited(0), "", ""),
            shown(ExitCode, Exited(1), "too long\n", "noise"),
            shown(ExitCode, Exited(1), "", ""),
            shown(
                ExitCode,
                Exited(1),
                "",
                "Traceback (most recent call last):\n  File ...\nKeyError: 'x'",
            ),
            shown(
                ExitCode,
                Exited(1),
                "",
                "w.py:1: UserWarning: old\nTraceback (most recent call last):\nKeyError: 'x'",
            ),
            shown(ExitCode, Exited(2), "", "usage"),
            shown(ExitCode, Signaled(11), "", ""),
            shown(ExitCode, TimedOut, "", ""),
            shown(Json, Exited(0), r#"{"passed": true}"#, ""),
            shown(
                Json,
                Exited(0),
                r#"{"passed": false, "score": 0.25, "reason": "half", "seen": [1]}"#,
                "",
            ),
            shown(Json, Exited(0), r#"{"passed": false}"#, ""),
            shown(Json, Exited(0), r#"{"passed": "yes"}"#, ""),
            shown(Json, Exited(0), r#"{"passed": true, "score": 5}"#, ""),
            shown(Json, Exited(0), r#"{"score": 1}"#, ""),
            shown(Json, Exited(0), "passed", ""),
            shown(Json, Exited(0), r#"{"passed": false, "passed": true}"#, ""),
            shown(Json, Exited(1), r#"{"passed": true}"#, ""),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r##"
        passed 1 -  {}
        failed 0 wrong_answer too long {}
        failed 0 wrong_answer the grader ./grade exited with code 1 {}
        errored - harness the grader ./grade exited with code 1: KeyError: 'x' {"stderr":"Traceback (most recent call last):\n  File ...\nKeyError: 'x'"}
        errored - harness the grader ./grade exited with code 1: KeyError: 'x' {"stderr":"w.py:1: UserWarning: old\nTraceback (most recent call last):\nKeyError: 'x'"}
        errored - harness the grader ./grade exited with code 2: usage {}
        errored - harness the grader ./grade was ended by SIGSEGV {}
        errored - grader_timeout the grader ./grade did not end within 1.5 s {}
        passed 1 -  {}
        failed 0.25 wrong_answer half {"seen":[1]}
        failed 0 wrong_answer the grader gave no reason {}
        errored - harness the grader ./grade gave no verdict: `passed` must be true or false, not "yes" {}
        errored - harness the grader ./grade gave no verdict: `score` must be a number from 0 to 1, not 5 {}
        errored - harness the grader ./grade gave no verdict: `passed` is missing {}
        errored - harness the grader ./grade gave no verdict: expected value at line 1 column 1 {}
        errored - harness the grader ./grade gave no verdict: duplicate key `passed` at line 1 column 33 {}
        errored - harness the grader ./grade exited with code 1 {}
        "##);
    }

    #[test]
    fn a_verdict_that_was_cut_off_is_none() {
        let ended = TreeOutput {
            end: TreeEnd::Exited(0),
            stdout: br#"{"passed": true}   "#.to_vec(),
            stdout_truncated: true,
            stderr_tail: Vec::new(),
            elapsed: Duration::ZERO,
        };
        let g = read_verdict(&grader(CommandVerdict::Json, 1500), &ended, None, false);
        assert_eq!(g.outcome, crate::model::Outcome::Errored);
        assert_eq!(
            g.reason,
            "the grader ./grade gave no verdict: it wrote more than 65536 bytes"
        );
        // An exit code is whole, whatever was written.
        assert_eq!(
            read_verdict(&grader(CommandVerdict::ExitCode, 1500), &ended, None, false).outcome,
            crate::model::Outcome::Passed
        );
    }

    #[test]
    fn numbers_are_those_that_were_declared() {
        let names: Vec<String> = vec!["coverage".into(), "lint_warnings".into()];
        let shown = |stdout: &str| match parse(stdout.as_bytes(), &names) {
            Ok(grade) => format!(
                "{} {:?} {}",
                grade.outcome,
                grade.metrics,
                json!(grade.details)
            ),
            Err(why) => why,
        };
        let lines = [
            shown(
                r#"{"passed": false, "metrics": {"coverage": 0.83, "lint_warnings": 3}, "tool": "x"}"#,
            ),
            shown(r#"{"passed": true, "metrics": {"coverage": 1}}"#),
            shown(r#"{"passed": true}"#),
            shown(r#"{"passed": true, "metrics": {"coverage": 1, "lint_warnings": null}}"#),
            shown(r#"{"passed": true, "metrics": {"coverage": 1e999, "lint_warnings": 0}}"#),
            shown(r#"{"passed": true, "metrics": {"coverage": true, "lint_warnings": 0}}"#),
            shown(
                r#"{"passed": true, "metrics": {"coverage": 1, "lint_warnings": 0, "pass_rate": 1}}"#,
            ),
            shown(r#"{"passed": true, "metrics": [1]}"#),
            shown(
                r#"{"passed": true, "metrics": {"coverage": 1, "lint_warnings": 9, "lint_warnings": 0}}"#,
            ),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r##"
        failed {"coverage": 0.83, "lint_warnings": 3.0} {"tool":"x"}
        `metrics` has no `lint_warnings`
        `metrics` has no `coverage`
        the metric `lint_warnings` must be a finite number, not null
        the metric `coverage` must be a finite number, not 1e+999
        the metric `coverage` must be a finite number, not true
        `metrics` contains `pass_rate`, which the grader's `metrics:` does not list
        `metrics` must be an object, not [1]
        duplicate key `lint_warnings` at line 1 column 83
        "##);
    }
}
