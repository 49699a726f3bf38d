//! BigCodeBench: `unittest` classes that share a module with the answer, patch what it imports and
//! make files for it.
//!
//! Both of its layouts are read: that of the published dataset (`complete_prompt`,
//! `instruct_prompt`, `code_prompt`) and that of its repository (`prompt`, `instruction`,
//! `prompt_wo_doc`).

use serde_json::json;

use super::fields::{Record, task_id, text, text_if_any};
use super::{BenchmarkFormat, BenchmarkTask};
use crate::graders::CodeExecution;
use crate::model::{CodeGrader, CodeLimits, CodeTests, Executor, OutputValue};
use crate::spec::BigcodebenchVariant;

/// Runs all tests of the class, at least one. What a failed test says last is the reason.
const CHECK: &str = "

def check(candidate):
    import unittest
    found = unittest.defaultTestLoader.loadTestsFromTestCase(TestCases)
    result = unittest.TestResult()
    found.run(result)
    wrong, why = result.failures + result.errors, 'a test passed that must fail'
    if wrong:
        name, text = wrong[0][0].id().split('.')[-1], wrong[0][1].strip().splitlines()[-1]
        why = '%s: %s; %d of %d tests failed' % (name, text, len(wrong), result.testsRun)
    names = unittest.defaultTestLoader.getTestCaseNames(TestCases)
    marked = sum(1 for name in names if getattr(getattr(TestCases, name), '__unittest_skip__', False))
    assert len(result.skipped) <= marked, 'the answer skipped a test'
    assert result.testsRun > len(result.skipped), 'no test ran'
    assert result.wasSuccessful(), why
";

/// Seconds for a program and its tests, and MiB, by default.
pub(super) const SECONDS: f64 = 60.0;
pub(super) const MEMORY_MB: u64 = 4096;

#[derive(Debug)]
pub(super) struct BigCodeBench {
    pub limits: CodeLimits,
    pub variant: BigcodebenchVariant,
}

impl BenchmarkFormat for BigCodeBench {
    fn task(&self, record: &Record, _index: usize) -> Result<BenchmarkTask, String> {
        let id = task_id(record)?;
        let tests = text(record, &["test"])?;
        if !tests.contains("class TestCases") {
            return Err("`test` has no class `TestCases`, so nothing would be tested".to_owned());
        }
        let entry_point = text_if_any(record, &["entry_point"])?.unwrap_or("task_func");
        let code_prompt = text(record, &["code_prompt", "prompt_wo_doc"])?;
        let prompt = match self.variant {
            BigcodebenchVariant::Complete => {
                let prompt = text(record, &["complete_prompt", "prompt"])?;
                format!(
                    "Complete this Python function. Answer with the whole function, with its imports, in one fenced code \
                     block.\n\n```python\n{}\n```\n",
                    prompt.trim_end()
                )
            }
            BigcodebenchVariant::Instruct => {
                let prompt = text(record, &["instruct_prompt", "instruction"])?;
                format!(
                    "{}\n\nAnswer with the whole code in one fenced code block.\n",
                    prompt.trim_end()
                )
            }
        };
        let solution = text_if_any(record, &["canonical_solution"])?;
        Ok(BenchmarkTask {
            context: json!({ "task_id": id, "entry_point": entry_point }),
            id,
            name: None,
            prompt,
            extract: Vec::new(),
            graders: vec![CodeGrader::CodeExecution(CodeExecution {
                executor: Executor::Python,
                prefix: code_prompt.to_owned(),
                tests: CodeTests::Check {
                    code: format!("{tests}{CHECK}"),
                },
                setup: String::new(),
                suffix: String::new(),
                entry_point: Some(entry_point.to_owned()),
                limits: self.limits,
                in_process: true,
                sandbox: true,
                reference: None,
            })],
            metrics: Vec::new(),
            solution: solution.map(|code| OutputValue::Text(code.to_owned())),
            tags: Vec::new(),
        })
    }
}
