//! APPS: programs that read stdin, and calls of a function or of a method of `Solution`.

use eval_match::{Datum, Tolerance};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fields::{Record, record_id, text, text_if_any};
use super::{BenchmarkFormat, BenchmarkTask, contest};
use crate::graders::programs::prefixed;
use crate::graders::{CallExpectation, FunctionOutput};
use crate::model::{CodeGrader, CodeLimits, OutputValue, StdoutComparison};

/// Names that answers use without importing them. The benchmark also imports NumPy.
const IMPORTS: &str = "\
import sys, time, itertools, collections, math, fractions, random, heapq
from itertools import accumulate, product, permutations, combinations
from collections import Counter, OrderedDict, deque, defaultdict, ChainMap
from functools import lru_cache
from math import sqrt, sin, cos, tan, ceil, fabs, floor, gcd, exp, log, log2
from typing import List, Tuple
from heapq import *
";

/// Names that programs use without importing them, besides.
const STREAMS: &str = "stdin, stdout = sys.stdin, sys.stdout\n";

/// Seconds for one test, by default.
pub(super) const SECONDS: f64 = 4.0;

/// That of NumPy's `allclose`, with which the benchmark compares numbers.
const TOLERANCE: Tolerance = Tolerance {
    absolute: Some(1e-8),
    relative: Some(1e-5),
    min_delta: None,
    max_delta: None,
};

#[derive(Debug)]
pub(super) struct Apps(pub CodeLimits);

/// `input_output`.
#[derive(Debug, Deserialize)]
struct AppsTests {
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    fn_name: Option<String>,
}

impl BenchmarkFormat for Apps {
    fn task(&self, record: &Record, index: usize) -> Result<BenchmarkTask, String> {
        let question = text(record, &["question"])?;
        let starter = text_if_any(record, &["starter_code"])?.unwrap_or_default();
        let difficulty = text_if_any(record, &["difficulty"])?;
        let solution = first_solution(record)?;
        let written = text(record, &["input_output"])?;
        if written.trim().is_empty() {
            return Err(NO_TESTS.to_owned());
        }
        let tests: AppsTests = serde_json::from_str(written).map_err(|error| {
            format!("`input_output` is not JSON with lists `inputs` and `outputs`: {error}")
        })?;
        let (inputs, outputs) = (tests.inputs.len(), tests.outputs.len());
        if inputs != outputs {
            return Err(format!(
                "`input_output` has {inputs} inputs and {outputs} outputs"
            ));
        }
        if inputs == 0 {
            return Err(NO_TESTS.to_owned());
        }
        let pairs = tests.inputs.into_iter().zip(tests.outputs);
        let (grader, prompt) = match &tests.fn_name {
            Some(name) => {
                // The benchmark looks for the class in each answer.
                let in_class = match starter.trim() {
                    "" => solution.as_deref().is_some_and(has_class),
                    starter => has_class(starter),
                };
                let opening = match (in_class, starter.trim()) {
                    (true, "") => format!("class Solution:\n    def {name}(self, ...):"),
                    (false, "") => format!("def {name}(...):"),
                    _ => starter.to_owned(),
                };
                let name = match in_class {
                    true => format!("Solution.{name}"),
                    false => name.clone(),
                };
                let grader = CodeGrader::FunctionOutput(self.calls(name, pairs)?);
                (grader, contest::prompt(question, &opening))
            }
            None => (self.programs(pairs)?, contest::prompt(question, "")),
        };
        Ok(BenchmarkTask {
            id: record_id(record, index),
            name: None,
            context: json!({ "question": question, "starter_code": starter }),
            prompt,
            extract: Vec::new(),
            graders: vec![grader],
            metrics: Vec::new(),
            // Nothing is put before a whole program.
            solution: solution.map(|code| {
                let names = format!("{IMPORTS}{STREAMS}");
                OutputValue::Program(prefixed(&names, &code))
            }),
            tags: difficulty
                .map(|word| format!("difficulty:{word}"))
                .into_iter()
                .collect(),
        })
    }
}

const NO_TESTS: &str = "the record has no tests, so nothing would be tested";

impl Apps {
    fn programs(&self, pairs: impl Iterator<Item = (Value, Value)>) -> Result<CodeGrader, String> {
        let tests = pairs
            .map(|(input, output)| Ok((lines("input", input)?, lines("output", output)?)))
            .collect::<Result<Vec<_>, String>>()?;
        let has_fraction = tests.iter().any(|(_, output)| {
            let mut words = output.split_whitespace();
            words.any(|word| word.contains('.') && word.parse::<f64>().is_ok())
        });
        let compare = (StdoutComparison::Tokens, has_fraction.then_some(TOLERANCE));
        let prefix = format!("{IMPORTS}{STREAMS}");
        Ok(contest::stdin_grader(&prefix, tests, compare, self.0))
    }

    fn calls(
        &self,
        function_name: String,
        pairs: impl Iterator<Item = (Value, Value)>,
    ) -> Result<FunctionOutput, String> {
        let calls = pairs
            .map(|(input, output)| {
                let Value::Array(args) = input else {
                    return Err("an input of a call is not a list of arguments".to_owned());
                };
                // Whether a list of one stands for its element is not said in the data.
                let expected = match &output {
                    Value::Array(items) if items.len() == 1 => {
                        CallExpectation::OneOf(items.iter().chain([&output]).cloned().collect())
                    }
                    _ => CallExpectation::Value(output),
                };
                Ok((tagged(&args)?, expected))
            })
            .collect::<Result<Vec<_>, String>>()?;
        Ok(FunctionOutput {
            tagged_args: true,
            ..contest::call_grader(IMPORTS, function_name, calls, self.0)
        })
    }
}

fn has_class(code: &str) -> bool {
    code.contains("class Solution")
}

/// A text, or lines of it.
fn lines(what: &str, value: Value) -> Result<String, String> {
    let items = match value {
        Value::String(text) => return Ok(text),
        Value::Array(items) => items,
        _ => return Err(format!("an {what} is neither a text nor a list of texts")),
    };
    let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    match texts {
        Some(texts) => Ok(texts.join("\n")),
        None => Err(format!("an {what} is neither a text nor a list of texts")),
    }
}

/// Arguments of a call as tagged JSON. Keys of a dict that is the first argument are integers if
/// all of them can be.
fn tagged(args: &[Value]) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for (place, value) in args.iter().enumerate() {
        let mut datum = Datum::from_json(value)
            .map_err(|why| format!("an argument of a call can't be used: {why}"))?;
        if let (0, Datum::Dict(entries)) = (place, &mut datum) {
            let numbers: Option<Vec<Datum>> = entries.iter().map(|(key, _)| integer(key)).collect();
            for (entry, number) in entries.iter_mut().zip(numbers.unwrap_or_default()) {
                entry.0 = number;
            }
        }
        all.push(datum.to_tagged());
    }
    Ok(all)
}

fn integer(key: &Datum) -> Option<Datum> {
    match key {
        Datum::Text(text) => Some(Datum::Int(text.parse().ok()?)),
        _ => None,
    }
}

/// The first of `solutions`, which may be empty.
fn first_solution(record: &Record) -> Result<Option<String>, String> {
    let written = text_if_any(record, &["solutions"])?.unwrap_or_default();
    if written.trim().is_empty() {
        return Ok(None);
    }
    let all: Vec<String> = serde_json::from_str(written)
        .map_err(|error| format!("`solutions` is not a JSON list of texts: {error}"))?;
    Ok(all.into_iter().next())
}
