//! MBPP: the solution, then set-up code and imports, then each assert; the sanitized set says
//! `prompt` for `text` and brings `test_imports`.

use serde_json::{Value, json};

use super::fields::{Record, task_id, text, text_if_any, texts};
use super::{BenchmarkFormat, BenchmarkTask, PythonSettings, PythonTask};
use crate::model::{CodeTests, OutputValue};

/// MBPP+ with tests as text would otherwise be reported as passed by its base tests alone.
const MORE_TESTS: &str = "the record has more tests in `test`, as those of MBPP+ have, and this format would not \
     run them; set `format: evalplus`";

#[derive(Debug)]
pub(super) struct Mbpp(pub PythonSettings);

impl BenchmarkFormat for Mbpp {
    fn task(&self, record: &Record, _index: usize) -> Result<BenchmarkTask, String> {
        let id = task_id(record)?;
        let problem = text(record, &["text", "prompt"])?;
        if record.get("test").is_some_and(Value::is_string) {
            return Err(MORE_TESTS.to_owned());
        }
        let asserts = texts(record, "test_list")?;
        if asserts.is_empty() {
            return Err("`test_list` is empty, so nothing would be tested".to_owned());
        }
        let mut setup = text_if_any(record, &["test_setup_code"])?
            .unwrap_or_default()
            .to_owned();
        for import in texts(record, "test_imports")? {
            if !setup.is_empty() && !setup.ends_with('\n') {
                setup.push('\n');
            }
            setup.push_str(&import);
        }
        let solution = text_if_any(record, &["code"])?;
        Ok(BenchmarkTask {
            context: json!({ "task_id": id, "prompt": problem }),
            id,
            name: None,
            prompt: format!(
                "{}\n\nThe code must pass these tests:\n\n```python\n{}\n```\n\nAnswer with the code in one fenced code block.\n",
                problem.trim_end(),
                asserts.join("\n")
            ),
            extract: Vec::new(),
            graders: vec![self.0.grader(PythonTask {
                prefix: String::new(),
                tests: CodeTests::Asserts { asserts },
                setup,
                entry_point: None,
                solution: (solution, "code"),
            })?],
            metrics: Vec::new(),
            solution: solution.map(|code| OutputValue::Program(code.to_owned())),
            tags: Vec::new(),
        })
    }
}
