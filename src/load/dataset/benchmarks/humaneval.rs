//! HumanEval: `prompt + completion`, then `test`, then `check(entry_point)` (`context` is read for
//! `prompt`).

use std::sync::OnceLock;

use serde_json::json;

use super::fields::{Record, task_id, text, text_if_any};
use super::{BenchmarkFormat, BenchmarkTask, PythonSettings, PythonTask};
use crate::model::{CodeTests, OutputValue};

#[derive(Debug)]
pub(super) struct HumanEval(pub PythonSettings);

impl BenchmarkFormat for HumanEval {
    fn task(&self, record: &Record, _index: usize) -> Result<BenchmarkTask, String> {
        let id = task_id(record)?;
        let prompt = text(record, &["prompt", "context"])?;
        let test = text(record, &["test"])?;
        let entry_point = text(record, &["entry_point"])?;
        if !defines_check(test) {
            return Err("`test` does not define `check`, so nothing would be tested".to_owned());
        }
        let solution = text_if_any(record, &["canonical_solution"])?;
        let end = if prompt.ends_with('\n') { "" } else { "\n" };
        Ok(BenchmarkTask {
            context: json!({ "task_id": id, "prompt": prompt, "entry_point": entry_point }),
            id,
            name: Some(entry_point.to_owned()),
            prompt: format!(
                "Complete this Python function. Answer with the whole function in one fenced code block.\n\n\
                 ```python\n{prompt}{end}```\n"
            ),
            extract: Vec::new(),
            graders: vec![self.0.grader(PythonTask {
                prefix: prompt.to_owned(),
                tests: CodeTests::Check {
                    code: test.to_owned(),
                },
                setup: String::new(),
                entry_point: Some(entry_point.to_owned()),
                solution: (solution, "canonical_solution"),
            })?],
            metrics: Vec::new(),
            solution: solution.map(|code| OutputValue::Text(code.to_owned())),
            tags: Vec::new(),
        })
    }
}

fn defines_check(test: &str) -> bool {
    static CHECK: OnceLock<Option<regex::Regex>> = OnceLock::new();
    let check = CHECK
        .get_or_init(|| regex::Regex::new(r"(?m)^(async\s+)?def\s+check\s*\(|^check\s*=").ok());
    check.as_ref().is_none_or(|check| check.is_match(test))
}
