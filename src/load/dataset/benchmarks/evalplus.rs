//! HumanEval+ and MBPP+, in the two layouts of their releases: inputs and the canonical solution
//! (`HumanEvalPlus.jsonl`), which are compared call by call, and tests as text
//! (`HumanEvalPlus-OriginFmt.jsonl`).

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};

use eval_match::{Comparator, Datum};

use super::fields::{Record, task_id, text, text_if_any, texts};
use super::mbpp_inputs::mbpp_arguments;
use super::{BenchmarkFormat, BenchmarkTask, PythonSettings, PythonTask};
use crate::graders::{EvalplusOracle, EvalplusRule, PASS_BASE, PASS_PLUS};
use crate::model::{
    CallExpectation, CodeGrader, CodeLimits, CodeTests, EvalplusCalls, Executor, FunctionCase,
    FunctionOutput, OutputValue, ReferenceFunction,
};

/// Seconds for one call, at least.
pub(super) const CALL_SECONDS: f64 = 4.0;
/// How many times the canonical solution's time one call may take.
pub(super) const TIME_FACTOR: f64 = 4.0;
/// Seconds for all calls of a program.
pub(super) const SECONDS: f64 = 60.0;
/// Megabytes for a program.
pub(super) const MEMORY_MB: u64 = 4096;
/// Megabytes for the value of a call, where whole values are compared.
pub(super) const RETURN_MB: u64 = 128;

#[derive(Debug)]
pub(super) struct Evalplus {
    pub limits: CodeLimits,
    pub per_call: Duration,
    pub time_factor: f64,
}

/// The set of a record with inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlusSet {
    HumanEval,
    /// With the number of the task.
    Mbpp(u32),
}

impl BenchmarkFormat for Evalplus {
    fn task(&self, record: &Record, index: usize) -> Result<BenchmarkTask, String> {
        if record.contains_key("base_input") || record.contains_key("plus_input") {
            return self.task_by_inputs(record);
        }
        if !record.contains_key("test") {
            return Err(
                "the record has no tests: records of HumanEval+ and MBPP+ have `base_input` and \
                 `plus_input`, or `test`"
                    .to_owned(),
            );
        }
        if record.contains_key("test_list") {
            self.mbpp_by_text(record)
        } else {
            let format = super::humaneval::HumanEval(self.python());
            let task = format.task(record, index)?;
            Ok(BenchmarkTask {
                metrics: vec![PASS_PLUS],
                ..task
            })
        }
    }
}

impl Evalplus {
    fn python(&self) -> PythonSettings {
        PythonSettings {
            limits: self.limits,
            factor: None,
            in_process: false,
        }
    }

    fn task_by_inputs(&self, record: &Record) -> Result<BenchmarkTask, String> {
        let id = task_id(record)?;
        let set = plus_set(&id)?;
        let prompt = text(record, &["prompt"])?;
        let entry_point = text(record, &["entry_point"])?;
        let solution = format!("{prompt}{}", text(record, &["canonical_solution"])?);
        let tolerance = record
            .get("atol")
            .ok_or("the record has no `atol`")?
            .as_f64()
            .filter(|tolerance| *tolerance >= 0.0 && tolerance.is_finite())
            .ok_or("`atol` is not a number of at least 0")?;
        let mut cases = calls(record, "base_input", set)?;
        let base = cases.len();
        if base == 0 {
            return Err("`base_input` is empty, so nothing would be tested".to_owned());
        }
        cases.extend(calls(record, "plus_input", set)?);
        let rule = match set {
            PlusSet::HumanEval => EvalplusRule::of_humaneval(entry_point),
            PlusSet::Mbpp(_) => EvalplusRule::of_mbpp(entry_point),
        };
        let end = if prompt.ends_with('\n') { "" } else { "\n" };
        let question = match set {
            PlusSet::HumanEval => format!(
                "Complete this Python function. Answer with the whole function in one fenced code block.\n\n\
                 ```python\n{prompt}{end}```\n"
            ),
            PlusSet::Mbpp(_) => format!(
                "Write the Python function that this text asks for. Answer with the code in one fenced code \
                 block.\n\n```python\n{prompt}{end}```\n"
            ),
        };
        let grader = FunctionOutput {
            executor: Executor::Python,
            function_name: entry_point.to_owned(),
            prefix: prompt.to_owned(),
            cases,
            timeout_per_case: self.per_call,
            limits: self.limits,
            sandbox: true,
            reference: None,
            expected_by: Some(ReferenceFunction {
                code: solution.clone(),
            }),
            tagged_args: true,
            evalplus: Some(EvalplusCalls {
                oracle: EvalplusOracle { rule, tolerance },
                base,
                time_factor: self.time_factor,
            }),
        };
        Ok(BenchmarkTask {
            context: json!({ "task_id": id, "prompt": prompt, "entry_point": entry_point }),
            id,
            name: Some(entry_point.to_owned()),
            prompt: question,
            extract: Vec::new(),
            graders: vec![CodeGrader::FunctionOutput(grader)],
            metrics: Vec::new(),
            solution: Some(OutputValue::Program(solution)),
            tags: Vec::new(),
        })
    }

    /// The base tests are `test_list`; `test` is a loop over the inputs of both.
    fn mbpp_by_text(&self, record: &Record) -> Result<BenchmarkTask, String> {
        let id = task_id(record)?;
        let problem = text(record, &["prompt"])?;
        let asserts = texts(record, "test_list")?;
        if asserts.is_empty() {
            return Err("`test_list` is empty, so nothing would be tested".to_owned());
        }
        let (check, entry_point) = check_of(text(record, &["test"])?).ok_or(
            "`test` does not end in a loop over `inputs` that calls `assertion` with the function's value",
        )?;
        let setup = texts(record, "test_imports")?.join("\n");
        let solution = text_if_any(record, &["code"])?;
        let grader = |tests: CodeTests, entry_point: Option<&str>| {
            self.python().grader(PythonTask {
                prefix: String::new(),
                tests,
                setup: setup.clone(),
                entry_point: entry_point.map(str::to_owned),
                solution: (solution, "code"),
            })
        };
        let shown = asserts.join("\n");
        Ok(BenchmarkTask {
            context: json!({ "task_id": id, "prompt": problem }),
            id,
            name: Some(entry_point.clone()),
            prompt: format!(
                "{}\n\nThe code must pass these tests:\n\n```python\n{shown}\n```\n\nAnswer with the code in one \
                 fenced code block.\n",
                problem.trim_end()
            ),
            extract: Vec::new(),
            graders: vec![
                grader(CodeTests::Asserts { asserts }, None)?,
                grader(CodeTests::Check { code: check }, Some(&entry_point))?,
            ],
            metrics: vec![PASS_BASE, PASS_PLUS],
            solution: solution.map(|code| OutputValue::Program(code.to_owned())),
            tags: Vec::new(),
        })
    }
}

fn plus_set(id: &str) -> Result<PlusSet, String> {
    if id.starts_with("HumanEval/") {
        return Ok(PlusSet::HumanEval);
    }
    let number = id.strip_prefix("Mbpp/").and_then(|n| n.parse().ok());
    number.map(PlusSet::Mbpp).ok_or_else(|| {
        format!("the record's `task_id` is `{id}`, not one as `HumanEval/0` or `Mbpp/2`")
    })
}

/// The calls of a list of argument lists, with tagged arguments.
fn calls(record: &Record, key: &str, set: PlusSet) -> Result<Vec<FunctionCase>, String> {
    let inputs = match record.get(key) {
        Some(Value::Array(inputs)) => inputs.as_slice(),
        // So the plus inputs of Mbpp/793 are written.
        Some(Value::Object(map)) if map.is_empty() => &[],
        Some(_) => return Err(format!("`{key}` is not a list of lists of arguments")),
        None => return Err(format!("the record has no `{key}`")),
    };
    let call = |(input, number): (&Value, usize)| {
        let read = || {
            let args = input.as_array().ok_or("it is not a list of arguments")?;
            let args = args.iter().map(Datum::from_json);
            let args: Vec<Datum> = args.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
            match set {
                PlusSet::HumanEval => Ok(args),
                PlusSet::Mbpp(task) => mbpp_arguments(task, args),
            }
        };
        let args: Result<Vec<Datum>, String> = read();
        let args = args.map_err(|why| format!("input {number} of `{key}` can't be used: {why}"))?;
        Ok(FunctionCase {
            args: args.iter().map(Datum::to_tagged).collect(),
            kwargs: BTreeMap::new(),
            expected: CallExpectation::Reference,
            comparator: Comparator::default(),
            tolerance: None,
        })
    };
    inputs.iter().zip(1..).map(call).collect()
}

/// The text of tests as a function `check`, so that the loop at its end calls the candidate, and the
/// name of the function that it called. A task's function may have the name of a builtin (`sum`) or
/// of a variable of the tests.
fn check_of(test: &str) -> Option<(String, String)> {
    static CALL: OnceLock<Option<Regex>> = OnceLock::new();
    let call = CALL.get_or_init(|| Regex::new(r"\bassertion\((\w+)\(\*inp\)").ok());
    let at = test.rfind("\nfor ")? + 1;
    let (before, tail) = test.split_at_checked(at)?;
    let name = call.as_ref()?.captures(tail)?.get(1)?;
    let mut check = format!("{before}\ndef check(candidate):\n");
    let tail = [
        tail.get(..name.start())?,
        "candidate",
        tail.get(name.end()..)?,
    ]
    .concat();
    for line in tail.trim_end().lines() {
        check.push_str("    ");
        check.push_str(line);
        check.push('\n');
    }
    Some((check, name.as_str().to_owned()))
}

#[cfg(test)]
#[path = "evalplus_tests.rs"]
mod tests;
