//! DS-1000: a program of the record's gets the answer as a text, puts it into programs of its own
//! and compares what they leave.

use serde_json::{Value, json};

use super::fields::{Record, text, text_if_any};
use super::gsm8k::last_match;
use super::{BenchmarkFormat, BenchmarkTask};
use crate::graders::CodeExecution;
use crate::model::{CodeGrader, CodeLimits, CodeTests, Executor, OutputValue};

/// What every record defines.
const RUNS: &str = "def test_execution(";

/// Calls the functions of the record. Its `exec` refuses what the benchmark's comparisons can't
/// refuse: classes of the answer that decide what they equal. A missing module is the machine's
/// fault where the record imports it, else the answer's.
const CHECK: &str = "

def exec(code, scope=None, *more):
    import builtins, sys
    scope = sys._getframe(1).f_globals if scope is None else scope
    builtins.exec(code, scope, *more)
    for value in list(scope.values()):
        for c in (value if isinstance(value, type) else type(value)).__mro__:
            own = c.__module__ == 'builtins' and c.__flags__ & 512 and '__dataclass_fields__' not in vars(c)
            assert not (own and {'__eq__', '__ne__'} & set(vars(c))), 'a class of the answer decides what it equals'

def check(solution):
    functions = [test_execution] + [f for f in [globals().get('test_string')] if f]
    for function in functions:
        try:
            function(solution)
        except ImportError as e:
            import re
            module = (e.name or '').split('.')[0]
            if re.search(r'\\b%s\\b' % re.escape(module), globals().get('exec_context', module)):
                raise
            raise AssertionError('the answer imports `%s`, which is not installed' % module) from None
";

/// Of an answer what is between its marks, if it has any: `<code>` or `BEGIN SOLUTION`, and
/// `</code>` or `END SOLUTION`.
const ANSWER: &str = r"(?s)\A(?:.*?(?:BEGIN SOLUTION\s*<code>|<code>|BEGIN SOLUTION)[ \t]*\n?)?(.*?)(?:</code>.*|\n[# \t]*END SOLUTION.*|\n# SOLUTION END.*)?\z";

/// Seconds for a program and its tests, and MiB, by default.
pub(super) const SECONDS: f64 = 120.0;
pub(super) const MEMORY_MB: u64 = 4096;

#[derive(Debug)]
pub(super) struct Ds1000(pub CodeLimits);

impl BenchmarkFormat for Ds1000 {
    fn task(&self, record: &Record, _index: usize) -> Result<BenchmarkTask, String> {
        let metadata = match record.get("metadata") {
            Some(Value::Object(metadata)) => metadata,
            Some(_) => return Err("`metadata` is not an object".to_owned()),
            None => return Err("the record has no `metadata`".to_owned()),
        };
        let id = match metadata.get("problem_id") {
            Some(Value::Number(id)) => id.to_string(),
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(_) => {
                return Err("`metadata.problem_id` is neither a number nor a text".to_owned());
            }
            None => return Err("`metadata` has no `problem_id`".to_owned()),
        };
        let tests = text(record, &["code_context"])?;
        if !tests.contains(RUNS) {
            return Err(
                "`code_context` does not define `test_execution`, so nothing would be tested"
                    .to_owned(),
            );
        }
        let prompt = format!(
            "Complete this program. Answer only with the code that is missing, between <code> and </code>, with the \
             indentation that it needs in its place.\n\n{}\n",
            text(record, &["prompt"])?.trim_end()
        );
        let solution = text_if_any(record, &["reference_code"])?;
        let library = text_if_any(metadata, &["library"])?;
        Ok(BenchmarkTask {
            context: json!({ "problem_id": id, "library": library }),
            id,
            name: None,
            prompt,
            extract: vec![last_match(ANSWER)],
            graders: vec![CodeGrader::CodeExecution(CodeExecution {
                executor: Executor::Python,
                prefix: String::new(),
                tests: CodeTests::AnswerText {
                    code: format!("{tests}{CHECK}"),
                },
                setup: String::new(),
                suffix: String::new(),
                entry_point: None,
                limits: self.0,
                in_process: true,
                sandbox: true,
                reference: None,
            })],
            metrics: Vec::new(),
            solution: solution.map(|code| OutputValue::Text(code.to_owned())),
            tags: library
                .map(|name| format!("library:{}", name.to_lowercase()))
                .into_iter()
                .collect(),
        })
    }
}
