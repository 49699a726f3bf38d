//! The tests of `code_execution`: one kind of them, that fits the language and tests something.

use std::sync::OnceLock;

use serde_json::Value;

use super::around::wrong_place;
use super::{
    CodeExecutionSpec, CodeTests, END_VARIABLE, ProgramTests, RowsTest, StdioCase, StdioCaseSpec,
    WantedRows,
};
use crate::graders::programs::allows_in_process;
use crate::graders::settings::{incomplete, tolerance};
use crate::load::{Code, DescribedLanguage, Node, Problem, Span, SuiteDesk, language_of_executor};
use crate::model::{ConfiguredExecutor, Executor, StdoutComparison, TestsWord};

/// The key of each kind of tests.
fn test_keys(spec: &CodeExecutionSpec) -> Vec<(&'static str, TestsWord)> {
    [
        ("test", TestsWord::Test, spec.test.is_some()),
        ("asserts", TestsWord::Asserts, !spec.asserts.0.is_empty()),
        ("stdio", TestsWord::Stdin, !spec.stdio.is_empty()),
        ("rows", TestsWord::Rows, spec.rows.is_some()),
        ("reference", TestsWord::Rows, spec.reference.is_some()),
    ]
    .into_iter()
    .filter(|(_, _, there)| *there)
    .map(|(key, word, _)| (key, word))
    .collect()
}

/// What a language can be tested by, as keys.
fn possible(executor: &Executor) -> &'static [&'static str] {
    match executor {
        Executor::Python | Executor::Javascript | Executor::Typescript | Executor::Bash => {
            &["test", "asserts", "stdio"]
        }
        Executor::Sql => &["rows", "reference"],
        Executor::Configured(_) => &["test", "stdio"],
    }
}

fn ways(keys: &[&str]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}:`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

pub(crate) fn tests(
    desk: &mut SuiteDesk,
    spec: &CodeExecutionSpec,
    node: &Node,
    executor: &Executor,
) -> Option<CodeTests> {
    let possible = possible(executor);
    let given = test_keys(spec);
    let (key, word) = match given.as_slice() {
        [] => {
            let message = "`code_execution` has no tests, so it would test nothing";
            return desk.refuse(incomplete(
                node.span,
                message,
                &format!("add {}", ways(possible)),
            ));
        }
        [one] => *one,
        [(first, _), (second, _), ..] => {
            let at = node.key_span(&format!("/{second}"));
            let message =
                format!("use `{first}` or `{second}`, not both: only one kind of tests is run");
            return desk.refuse(
                Problem::error(Code::GraderConflict, at, message)
                    .hint("use two graders under `graders:`")
                    .related(node.key_span(&format!("/{first}")), "the other one"),
            );
        }
    };
    if !possible.contains(&key) {
        let at = node.key_span(&format!("/{key}"));
        let message = format!(
            "programs of `executor: {}` can't be tested by `{key}`",
            executor.name()
        );
        let hint = format!("test them with {}", ways(possible));
        return desk.refuse(Problem::error(Code::GraderConflict, at, message).hint(hint));
    }
    if let Some(said) = spec.tests.filter(|said| *said != word) {
        let said = format!("{said:?}").to_lowercase();
        let at = node.key_span("/tests");
        let message =
            format!("`tests: {said}` does not fit `{key}`, which is a different kind of tests");
        return desk.refuse(
            Problem::error(Code::GraderConflict, at, message)
                .related(node.key_span(&format!("/{key}")), "the tests"),
        );
    }
    if !settings_fit(desk, spec, node, word) {
        return None;
    }
    match word {
        TestsWord::Test => check(desk, spec, node, executor),
        TestsWord::Asserts => asserts(desk, spec, node, executor),
        TestsWord::Stdin => stdio(desk, spec, node),
        TestsWord::Rows => rows(desk, spec, node).map(CodeTests::Rows),
    }
}

/// Settings that count only with another kind of tests would be believed to do something.
fn settings_fit(
    desk: &mut SuiteDesk,
    spec: &CodeExecutionSpec,
    node: &Node,
    word: TestsWord,
) -> bool {
    let tokens = spec.compare == Some(StdoutComparison::Tokens);
    let of = [
        (
            "compare",
            spec.compare.is_some(),
            word == TestsWord::Stdin,
            "`stdio:`",
        ),
        (
            "tolerance",
            spec.tolerance.is_some(),
            word == TestsWord::Rows || tokens,
            "`compare: tokens` and rows",
        ),
        (
            "suffix",
            spec.suffix.is_some(),
            word == TestsWord::Stdin,
            "`stdio:`",
        ),
        (
            "columns",
            spec.columns.is_some(),
            word == TestsWord::Rows,
            "`executor: sql`",
        ),
        (
            "check",
            spec.check.is_some(),
            word == TestsWord::Rows,
            "`executor: sql`",
        ),
        (
            "ordered",
            spec.ordered.is_some(),
            word == TestsWord::Rows,
            "`executor: sql`",
        ),
    ];
    let misplaced: Vec<_> = of
        .into_iter()
        .filter(|(_, there, fits, _)| *there && !fits)
        .collect();
    for (key, _, _, with) in &misplaced {
        let at = node.key_span(&format!("/{key}"));
        let message = format!("`{key}` applies only with {with}");
        desk.push(Problem::error(Code::GraderConflict, at, message));
    }
    misplaced.is_empty()
}

fn check(
    desk: &mut SuiteDesk,
    spec: &CodeExecutionSpec,
    node: &Node,
    executor: &Executor,
) -> Option<CodeTests> {
    let code = spec.test.as_ref()?;
    let at = node.locate("/test");
    if let Executor::Configured(own) = executor {
        return program(desk, code, own, at);
    }
    if *executor == Executor::Python {
        if !defines_check(code) {
            return desk.refuse(incomplete(
                at,
                "`test` does not define `check(candidate)`, so nothing would be tested",
                "define `def check(candidate):`, or put assert statements under `asserts:`",
            ));
        }
        if spec.entry_point.is_none() {
            return desk.refuse(incomplete(
                at,
                "`check(candidate)` needs the function to test",
                "add `entry_point: NAME`",
            ));
        }
    }
    if !tests_something(code, executor) {
        let message = match executor {
            Executor::Python => "`check` neither asserts nor raises, so every output would pass",
            Executor::Bash => "`test` runs no command, so every output would pass",
            _ => "`test` neither asserts nor throws, so every output would pass",
        };
        return desk.refuse(Problem::error(Code::GraderIncomplete, at, message));
    }
    Some(CodeTests::Check { code: code.clone() })
}

/// Tests behind the answer, which say where they end.
fn program(
    desk: &mut SuiteDesk,
    code: &str,
    own: &ConfiguredExecutor,
    at: Span,
) -> Option<CodeTests> {
    let language = language_of_executor(own);
    let ends = code.lines().filter(|line| is_end(line)).count();
    let (message, hint) = match language {
        Some(_) if ends == 0 => (
            format!(
                "`test` has no line `{END_VARIABLE}`, so a program that exits early would pass"
            ),
            "write it on a line of its own behind the last test",
        ),
        Some(_) if ends > 1 => (
            format!("`test` has {ends} lines `{END_VARIABLE}`, and the first would end the tests"),
            "write it once, behind the last test",
        ),
        None if !code.contains(END_VARIABLE) => (
            format!(
                "`test` does not contain {END_VARIABLE}, so a program that exits early would pass"
            ),
            "after the last test, print the value of the environment variable END_OF_TESTS on a line",
        ),
        _ => (String::new(), ""),
    };
    if !message.is_empty() {
        return desk.refuse(incomplete(at, &message, hint));
    }
    let executor = Executor::Configured(Box::new(own.clone()));
    let ignored = language.and_then(|language| language.never_fails.as_deref());
    if let Some(ignored) = ignored.filter(|ignored| code.contains(ignored)) {
        let message = format!("`{ignored}` does nothing when it fails, so every output would pass");
        let problem = Problem::error(Code::GraderIncomplete, at, message);
        return desk.refuse(problem.hint("throw an exception where the result is wrong"));
    }
    if !tests_something(code, &executor) {
        let message = "`test` neither asserts nor fails, so every output would pass";
        return desk.refuse(Problem::error(Code::GraderIncomplete, at, message));
    }
    if !allows_in_process(desk, at, &format!("`test` in {}", own.name)) {
        return None;
    }
    Some(CodeTests::Program(Box::new(match language {
        Some(language) => ProgramTests {
            suffix: ended(code, language),
            once: language.once.clone(),
            ..ProgramTests::default()
        },
        None => ProgramTests {
            suffix: code.to_owned(),
            ..ProgramTests::default()
        },
    })))
}

fn is_end(line: &str) -> bool {
    line.trim().trim_end_matches(';') == END_VARIABLE
}

/// With the language's statement in place of the line that says only where the tests end.
fn ended(code: &str, language: &DescribedLanguage) -> String {
    let lines = code.lines().map(|line| match is_end(line) {
        true => {
            let indent = line.len() - line.trim_start().len();
            format!("{}{}", &line[..indent], language.end_of_tests)
        }
        false => line.to_owned(),
    });
    let lines: Vec<String> = lines.collect();
    format!("{}{}\n", language.end_needs, lines.join("\n"))
}

fn asserts(
    desk: &mut SuiteDesk,
    spec: &CodeExecutionSpec,
    node: &Node,
    executor: &Executor,
) -> Option<CodeTests> {
    let block = node
        .get("asserts")
        .filter(|asserts| asserts.as_text().is_some());
    if let Some(block) = block.filter(|_| *executor == Executor::Bash) {
        // Of one text, only the last command would decide.
        let message = "in bash, `asserts` must be a list of commands";
        return desk.refuse(
            Problem::error(Code::WrongType, block.span, message).hint(
                "put each command on its own line with `- `, or write the text under `test:`",
            ),
        );
    }
    let empty: Vec<_> = spec
        .asserts
        .0
        .iter()
        .enumerate()
        .filter(|(_, line)| !tests_something(line, executor))
        .collect();
    for (i, line) in &empty {
        let at = block.map_or_else(|| node.locate(&format!("/asserts/{i}")), |block| block.span);
        let message = format!("{:?} asserts nothing, so it would always pass", line.trim());
        let way = match executor {
            Executor::Python => "`assert ...`",
            Executor::Bash => "a command that fails when the code is wrong",
            _ => "`assert(...)` or `assert.strictEqual(..., ...)`",
        };
        let count = |bracket: char| line.matches(bracket).count();
        let hint = if count('(') == count(')') {
            format!("write {way}; put code that prepares the tests under `setup:`")
        } else {
            "in `[...]`, a comma ends an element: put quotes around each assert".to_owned()
        };
        desk.push(Problem::error(Code::GraderIncomplete, at, message).hint(hint));
    }
    empty.is_empty().then(|| CodeTests::Asserts {
        asserts: spec.asserts.0.clone(),
    })
}

fn stdio(desk: &mut SuiteDesk, spec: &CodeExecutionSpec, node: &Node) -> Option<CodeTests> {
    if let Some(wrong) = spec.suffix.as_deref().and_then(wrong_place) {
        let at = node.locate("/suffix");
        let message = format!("`{wrong}` is not filled with the answer");
        let problem = Problem::error(Code::BadFormat, at, message);
        return desk.refuse(problem.hint("write `{{ answer }}` or `{{ answer | tojson }}`"));
    }
    let ignored = spec.compare == Some(StdoutComparison::ExitCode);
    if ignored && !allows_in_process(desk, node.key_span("/compare"), "`compare: exit_code`") {
        return None;
    }
    for (i, case) in spec.stdio.iter().enumerate() {
        if case.stdout.is_none() && !ignored {
            let at = node.locate(&format!("/stdio/{i}"));
            let hint = "add `stdout:`; with `compare: exit_code` only the exit code is checked";
            return desk.refuse(incomplete(
                at,
                "this run does not set what the program must print",
                hint,
            ));
        }
        if case.stdout.is_some() && ignored {
            let at = node.locate(&format!("/stdio/{i}/stdout"));
            let message = "`compare: exit_code` ignores what the program prints";
            let problem = Problem::error(Code::GraderConflict, at, message);
            return desk.refuse(
                problem.hint("remove `stdout`, or compare it by `text`, `lines` or `tokens`"),
            );
        }
    }
    let case = |c: &StdioCaseSpec| StdioCase {
        stdin: c.stdin.clone(),
        stdout: c.stdout.clone().unwrap_or_default(),
        args: c.args.clone(),
        exit_code: c.exit_code.unwrap_or(0),
    };
    Some(CodeTests::Stdio {
        cases: spec.stdio.iter().map(case).collect(),
        compare: spec.compare.unwrap_or_default(),
        tolerance: spec.tolerance.map(tolerance),
    })
}

fn rows(desk: &mut SuiteDesk, spec: &CodeExecutionSpec, node: &Node) -> Option<RowsTest> {
    for (key, text) in [("reference", &spec.reference), ("check", &spec.check)] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return desk.refuse(incomplete(
                node.locate(&format!("/{key}")),
                &format!("`{key}` is empty"),
                "write SQL",
            ));
        }
    }
    let wanted = match (&spec.rows, &spec.reference) {
        (Some(rows), _) => {
            let width = spec
                .columns
                .as_ref()
                .map(Vec::len)
                .or(rows.first().map(Vec::len));
            for (i, row) in rows.iter().enumerate() {
                let at = || node.locate(&format!("/rows/{i}"));
                if let Some(width) = width.filter(|width| row.len() != *width) {
                    let message = format!(
                        "this row has {} cells where {width} are expected",
                        row.len()
                    );
                    return desk.refuse(Problem::error(Code::BadShape, at(), message));
                }
                if let Some(cell) = row.iter().find(|cell| !is_cell(cell)) {
                    let message = format!("{cell} is not an SQLite value");
                    let hint = "write null, a number, a text, true or false for 1 and 0, or {\"$bytes\": \"00ff\"}";
                    return desk.refuse(Problem::error(Code::BadShape, at(), message).hint(hint));
                }
            }
            WantedRows::Rows(rows.clone())
        }
        (None, Some(sql)) => WantedRows::Reference(sql.clone()),
        (None, None) => return None,
    };
    Some(RowsTest {
        wanted,
        columns: spec.columns.clone(),
        check: spec.check.clone(),
        ordered: spec.ordered.unwrap_or(false),
        tolerance: spec.tolerance.map(tolerance),
    })
}

fn is_cell(value: &Value) -> bool {
    match value {
        Value::Array(_) => false,
        Value::Object(map) => {
            let hex = map.get("$bytes").and_then(Value::as_str);
            map.len() == 1
                && hex.is_some_and(|h| h.len() % 2 == 0 && h.bytes().all(|b| b.is_ascii_hexdigit()))
        }
        _ => true,
    }
}

fn defines_check(code: &str) -> bool {
    static CHECK: OnceLock<Option<regex::Regex>> = OnceLock::new();
    let check = CHECK
        .get_or_init(|| regex::Regex::new(r"(?m)^(async\s+)?def\s+check\s*\(|^check\s*=").ok());
    check.as_ref().is_none_or(|check| check.is_match(code))
}

fn tests_something(code: &str, executor: &Executor) -> bool {
    let words: &[&str] = match executor {
        Executor::Bash => {
            return code
                .lines()
                .map(str::trim)
                .any(|line| !line.is_empty() && !line.starts_with('#'));
        }
        Executor::Javascript | Executor::Typescript => &["assert", "throw", "fail("],
        Executor::Configured(_) => &[
            "assert", "throw", "raise", "die", "error", "fail", "exit", "abort", "panic", "stop",
            "check", "require", "return",
        ],
        _ => &["assert", "raise", "fail("],
    };
    words.iter().any(|word| code.contains(word))
}
