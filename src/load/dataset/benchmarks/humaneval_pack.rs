//! HumanEvalPack: HumanEval in six languages, with a right and a wrong solution for each task. The
//! program is `declaration`, an answer that goes on from it, and `test`. In Go the prompt takes the
//! declaration's place, and the imports of `import` and `test_setup` come first.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::fields::{Record, task_id, text, text_if_any};
use super::languages::{JAVASCRIPT_GUARD, ProgramLanguage, go_end};
use super::{BenchmarkFormat, BenchmarkTask};
use crate::graders::{CodeExecution, ProgramTests};
use crate::model::{CodeGrader, CodeLimits, CodeTests, Executor, OutputValue};
use crate::spec::HumanevalPackTask;

/// Packages that Go's answers may use without an import, each with something of it that keeps it
/// from being an unused one.
const GO_PACKAGES: [(&str, &str); 12] = [
    ("bytes", "bytes.Equal"),
    ("crypto/md5", "md5.New"),
    ("errors", "errors.New"),
    ("fmt", "fmt.Sprint"),
    ("math", "math.Abs"),
    ("math/rand", "rand.Int"),
    ("regexp", "regexp.MustCompile"),
    ("sort", "sort.Ints"),
    ("strconv", "strconv.Itoa"),
    ("strings", "strings.Contains"),
    ("time", "time.Now"),
    ("unicode", "unicode.IsUpper"),
];

/// The part of [`GO_ASSERT_MODULE`] that they use, as a file of the same package.
const GO_ASSERT: &str = include_str!("assert.go.txt");
/// The module that the tests import.
const GO_ASSERT_MODULE: &str = "github.com/stretchr/testify/assert";

#[derive(Debug)]
pub(super) struct HumanEvalPack {
    pub limits: CodeLimits,
    pub task: HumanevalPackTask,
}

/// What stands around an answer.
struct PackProgram {
    executor: Executor,
    prefix: String,
    tests: CodeTests,
}

impl BenchmarkFormat for HumanEvalPack {
    fn task(&self, record: &Record, _index: usize) -> Result<BenchmarkTask, String> {
        let id = task_id(record)?;
        let entry_point = text(record, &["entry_point"])?;
        let prompt = text(record, &["prompt"])?;
        let declaration = text(record, &["declaration"])?;
        let test = text(record, &["test"])?;
        let solution = text(record, &["canonical_solution"])?;
        let head = id.split('/').next().unwrap_or_default();
        let (word, fence, program) = match head {
            "Python" => {
                let check = format!("check({entry_point})");
                let tests = test.trim_end().strip_suffix(&check).unwrap_or(test);
                if !tests.contains("def check(") {
                    return Err("`test` does not define `check`".to_owned());
                }
                let program = PackProgram {
                    executor: Executor::Python,
                    prefix: prompt.to_owned(),
                    tests: CodeTests::Check {
                        code: tests.to_owned(),
                    },
                };
                ("Python", "python", program)
            }
            _ => {
                let language = match head {
                    "CPP" => ProgramLanguage::Cpp,
                    "Go" => ProgramLanguage::Go,
                    "Java" => ProgramLanguage::Java,
                    "JavaScript" => ProgramLanguage::Javascript,
                    "Rust" => ProgramLanguage::Rust,
                    _ => {
                        return Err(format!(
                            "`task_id` is `{id}`, expected CPP/, Go/, Java/, JavaScript/, Python/ or Rust/"
                        ));
                    }
                };
                let (word, fence) = language.words();
                let program = around(language, record, entry_point, (declaration, test))?;
                (word, fence, program)
            }
        };
        let asked = match self.task {
            HumanevalPackTask::Synthesize => format!(
                "Complete this {word} function. Answer with the whole function in one fenced code block.\n\n\
                 ```{fence}\n{}\n```\n",
                prompt.trim()
            ),
            HumanevalPackTask::Fix => format!(
                "Fix the bug in `{entry_point}`. Answer with the whole function in one fenced code block.\n\n\
                 ```{fence}\n{}{}\n```\n\nIts tests:\n\n```{fence}\n{}\n```\n",
                declaration.trim_start(),
                text(record, &["buggy_solution"])?.trim_end(),
                test.trim()
            ),
        };
        Ok(BenchmarkTask {
            context: json!({ "task_id": id, "prompt": prompt, "entry_point": entry_point }),
            id,
            name: Some(entry_point.to_owned()),
            prompt: asked,
            extract: Vec::new(),
            graders: vec![CodeGrader::CodeExecution(CodeExecution {
                executor: program.executor,
                prefix: program.prefix,
                tests: program.tests,
                setup: String::new(),
                suffix: String::new(),
                entry_point: Some(entry_point.to_owned()),
                limits: self.limits,
                in_process: false,
                sandbox: true,
                reference: None,
            })],
            solution: Some(OutputValue::Text(solution.to_owned())),
            metrics: Vec::new(),
            tags: text_if_any(record, &["bug_type"])?
                .filter(|_| self.task == HumanevalPackTask::Fix)
                .map(|bug| format!("bug:{bug}"))
                .into_iter()
                .collect(),
        })
    }
}

fn around(
    language: ProgramLanguage,
    record: &Record,
    entry_point: &str,
    (declaration, test): (&str, &str),
) -> Result<PackProgram, String> {
    let mut tests = language.syntax(entry_point);
    let (mut prefix, mut test) = (declaration.to_owned(), test.to_owned());
    let solution = text(record, &["canonical_solution"])?;
    let mut include = None;
    match language {
        ProgramLanguage::Cpp => {
            include = ["boost/any.hpp", "openssl/md5.h"]
                .into_iter()
                .find(|path| declaration.contains(&format!("<{path}>")));
            prefix = up_to_signature(declaration, entry_point).to_owned();
        }
        ProgramLanguage::Java => {
            tests.class = r"^\s*(?:public\s+|final\s+)*class\s+Solution\b".to_owned();
            tests.close_class = "}".to_owned();
        }
        ProgramLanguage::Javascript => {
            // `console.assert` reports and goes on.
            let asserting = "console.assert = require('node:assert');\n";
            prefix = format!("{asserting}{JAVASCRIPT_GUARD}{declaration}");
            if [declaration, solution]
                .iter()
                .any(|code| code.contains("require('js-md5')"))
            {
                tests.missing = Some("the npm package js-md5".to_owned());
            }
        }
        ProgramLanguage::Rust => {
            let crates = [("rand", "rand::"), ("regex", "Regex"), ("md5", "md5::")];
            let used = |sign: &str| solution.contains(sign) || test.contains(sign);
            let missing = crates.into_iter().find(|(_, sign)| used(sign));
            tests.missing = missing.map(|(name, _)| format!("the crate {name}"));
            let foreign = ["use rand::Rng;", "use regex::Regex;", "use md5;"];
            let own = |line: &&str| !foreign.contains(&line.trim());
            prefix = declaration
                .lines()
                .filter(own)
                .collect::<Vec<_>>()
                .join("\n")
                + "\n";
            test = called_tests(&test)?;
        }
        ProgramLanguage::Go => {
            let setup = format!(
                "{}\n{}",
                text_if_any(record, &["test_setup"])?.unwrap_or_default(),
                text_if_any(record, &["import"])?.unwrap_or_default()
            );
            let prompt = text(record, &["prompt"])?;
            prefix = format!("{}{}", go_imports(&setup), without_go_imports(prompt));
            tests.files = BTreeMap::from([
                ("assert_test.go".to_owned(), GO_ASSERT.to_owned()),
                ("end_test.go".to_owned(), go_end("humaneval", &test)?),
            ]);
        }
        _ => {}
    }
    tests.suffix = language.ended(&test)?;
    Ok(PackProgram {
        executor: language.executor("Main", include)?,
        prefix,
        tests: CodeTests::Program(Box::new(ProgramTests { ..tests })),
    })
}

/// `mod tests` as functions that `main` calls, so that what ends the process early is seen.
fn called_tests(test: &str) -> Result<String, String> {
    let marks = ["#[cfg(test)]", "#[test]"];
    let (mut names, mut lines, mut marked) = (Vec::new(), Vec::new(), false);
    for line in test.lines() {
        let bare = line.trim();
        if marks.contains(&bare) {
            marked |= bare == "#[test]";
            continue;
        }
        if marked && let Some(rest) = bare.strip_prefix("fn ") {
            names.push(rest.split('(').next().unwrap_or_default().to_owned());
            marked = false;
            lines.push(format!("pub {bare}"));
            continue;
        }
        lines.push(line.to_owned());
    }
    if names.is_empty() || !test.contains("mod tests") {
        return Err(
            "`test` has no `#[test]` in `mod tests`, so nothing would be tested".to_owned(),
        );
    }
    let calls = names.iter().map(|name| format!("    tests::{name}();\n"));
    Ok(format!(
        "{}\nfn main() {{\n{}}}\n",
        lines.join("\n"),
        calls.collect::<String>()
    ))
}

/// A declaration without what follows the line of the signature; that of CPP/38 has a part of the
/// body, too.
fn up_to_signature<'d>(declaration: &'d str, entry_point: &str) -> &'d str {
    let signature = declaration.rfind(&format!("{entry_point}("));
    let line = signature.and_then(|at| Some(at + declaration.get(at..)?.find('\n')? + 1));
    line.and_then(|end| declaration.get(..end))
        .unwrap_or(declaration)
}

/// A prompt without its block of imports. Unlike the declaration it has the functions that the
/// answer may call (`IsPalindrome` in Go/10).
fn without_go_imports(prompt: &str) -> &str {
    let Some(block) = prompt.trim_start().strip_prefix("import (") else {
        return prompt;
    };
    block.split_once("\n)").map_or(prompt, |(_, rest)| rest)
}

/// One block with the packages of the record's own imports and [`GO_PACKAGES`].
fn go_imports(setup: &str) -> String {
    let quoted = setup.split('"').skip(1).step_by(2);
    let all: BTreeSet<&str> = quoted
        .filter(|path| *path != GO_ASSERT_MODULE)
        .chain(GO_PACKAGES.iter().map(|(path, _)| *path))
        .collect();
    let imports = all.iter().map(|path| format!("    \"{path}\"\n"));
    let uses = GO_PACKAGES
        .iter()
        .map(|(_, use_)| format!("    _ = {use_}\n"));
    format!(
        "package humaneval\n\nimport (\n{})\n\nvar (\n{})\n\n",
        imports.collect::<String>(),
        uses.collect::<String>()
    )
}
