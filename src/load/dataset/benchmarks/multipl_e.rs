//! MultiPL-E: HumanEval and MBPP in other languages. The program is `prompt`, an answer that goes
//! on from it and ends before a stop token, and `tests`. The benchmark believes the exit code; here
//! the tests must have run to their end.

use serde_json::json;

use super::fields::{Record, text, text_if_any, texts};
use super::languages::{JAVASCRIPT_GUARD, ProgramLanguage, go_end};
use super::{BenchmarkFormat, BenchmarkTask};
use crate::graders::{CodeExecution, ProgramTests};
use crate::model::{CodeGrader, CodeLimits, CodeTests};

/// Seconds for a program and its tests, and MiB, by default.
pub(super) const SECONDS: f64 = 15.0;
pub(super) const MEMORY_MB: u64 = 4096;

#[derive(Debug)]
pub(super) struct MultiplE(pub CodeLimits);

impl BenchmarkFormat for MultiplE {
    fn task(&self, record: &Record, _index: usize) -> Result<BenchmarkTask, String> {
        let id = text(record, &["name", "task_id"])?;
        let written = text(record, &["language"])?;
        let language = ProgramLanguage::named(written).ok_or_else(|| {
            format!(
                "`language` is `{written}`, expected one of cpp, rs, go_test.go, java, js, ts, sh, pl, rb, php, lua, r"
            )
        })?;
        let prompt = text(record, &["prompt"])?;
        let tests = text(record, &["tests", "test"])?;
        let name = function_name(language, prompt, tests)?;
        let mut around = ProgramTests {
            stop: texts(record, "stop_tokens")?,
            ..language.syntax(&name)
        };
        // Tests that begin by closing the function that the prompt opens.
        let tests = match tests.trim_start().strip_prefix('}') {
            Some(rest) => {
                around.close = "}".to_owned();
                rest
            }
            None => tests,
        };
        around.suffix = language.ended(tests)?;
        let guard = match language {
            ProgramLanguage::Javascript | ProgramLanguage::Typescript => JAVASCRIPT_GUARD,
            _ => "",
        };
        match language {
            ProgramLanguage::Java => {
                around.class = r"^\s*(?:public\s+|final\s+)*class\s+Problem\b".to_owned();
                around.open_class = true;
            }
            ProgramLanguage::Go => {
                let package = prompt
                    .lines()
                    .find_map(|line| line.trim().strip_prefix("package "))
                    .ok_or("`prompt` names no package")?;
                let end = go_end(package.trim(), tests)?;
                around.files.insert("end_test.go".to_owned(), end);
            }
            _ => {}
        }
        let (word, fence) = language.words();
        let end = if prompt.ends_with('\n') { "" } else { "\n" };
        Ok(BenchmarkTask {
            context: json!({ "name": id, "language": written, "prompt": prompt }),
            id: id.to_owned(),
            name: text_if_any(record, &["entry_point"])?.map(str::to_owned),
            prompt: format!(
                "Complete this {word} function. Answer with the whole function in one fenced code block.\n\n\
                 ```{fence}\n{prompt}{end}```\n"
            ),
            extract: Vec::new(),
            graders: vec![CodeGrader::CodeExecution(CodeExecution {
                executor: language.executor("Problem", None)?,
                prefix: format!("{guard}{prompt}"),
                tests: CodeTests::Program(Box::new(around)),
                setup: String::new(),
                suffix: String::new(),
                entry_point: Some(name),
                limits: self.0,
                in_process: false,
                sandbox: true,
                reference: None,
            })],
            solution: None,
            metrics: Vec::new(),
            tags: vec![format!("language:{written}")],
        })
    }
}

/// The function that the prompt opens: the last word before the last parameter list, or the one
/// that the tests call the candidate.
fn function_name(language: ProgramLanguage, prompt: &str, tests: &str) -> Result<String, String> {
    use ProgramLanguage::*;
    let pattern = match language {
        Rust => r"fn\s+(\w+)",
        Go => r"func\s+(\w+)",
        Javascript | Typescript => r"(?:function\*?|const|let|var)\s+([\w$]+)",
        Php => r"function\s+(\w+)",
        Bash => r"^(\w+)\s*\(\)",
        Perl => r"sub\s+(\w+)",
        Ruby => r"def\s+(\w+[?!]?)",
        Lua => r"function\s+(\w+)",
        R => r"^([\w.]+)\s*<-\s*function",
        Cpp | Java => r"(\w+)\s*\(",
    };
    let pattern = regex::Regex::new(pattern)
        .map_err(|error| format!("internal error: invalid pattern: {error}"))?;
    let comment = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("//")
            && !line.starts_with('*')
            && !line.starts_with("--")
            && (!line.starts_with('#') || line.starts_with("#!"))
    };
    let found = prompt
        .lines()
        .filter(comment)
        .filter_map(|line| pattern.captures(line)?.get(1))
        .next_back();
    match found {
        Some(name) if tests.contains(name.as_str()) => Ok(name.as_str().to_owned()),
        Some(name) => Err(format!(
            "`tests` does not call `{}`, so nothing would be tested",
            name.as_str()
        )),
        None => Err(format!("`prompt` opens no {} function", language.words().0)),
    }
}
