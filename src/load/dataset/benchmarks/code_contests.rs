//! CodeContests: programs that read stdin, with public, private and generated tests.

use serde::Deserialize;
use serde_json::{Value, json};

use super::fields::{Record, text};
use super::{BenchmarkFormat, BenchmarkTask, contest};
use crate::model::{CodeLimits, OutputValue, StdoutComparison};

/// What the data calls Python 3 among the languages of solutions.
const PYTHON3: u64 = 3;

#[derive(Debug)]
pub(super) struct CodeContests(pub CodeLimits);

#[derive(Debug, Default, Deserialize)]
struct TestPairs {
    input: Vec<String>,
    output: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
struct ContestSolutions {
    language: Vec<u64>,
    solution: Vec<String>,
}

impl BenchmarkFormat for CodeContests {
    fn task(&self, record: &Record, _index: usize) -> Result<BenchmarkTask, String> {
        let id = text(record, &["name"])?;
        let description = text(record, &["description"])?;
        let mut cases = Vec::new();
        for key in ["public_tests", "private_tests", "generated_tests"] {
            let Some(value) = record.get(key) else {
                continue;
            };
            let pairs = TestPairs::deserialize(value).map_err(|error| {
                format!("`{key}` is not a map with lists `input` and `output`: {error}")
            })?;
            if pairs.input.len() != pairs.output.len() {
                return Err(format!(
                    "`{key}` has {} inputs and {} outputs",
                    pairs.input.len(),
                    pairs.output.len()
                ));
            }
            cases.extend(pairs.input.into_iter().zip(pairs.output));
        }
        if cases.is_empty() {
            return Err("the record has no tests, so nothing would be tested".to_owned());
        }
        Ok(BenchmarkTask {
            context: json!({ "name": id, "description": description }),
            id: id.to_owned(),
            name: None,
            prompt: contest::prompt(description, ""),
            extract: Vec::new(),
            graders: vec![contest::stdin_grader(
                "",
                cases,
                (StdoutComparison::Tokens, None),
                self.0,
            )],
            metrics: Vec::new(),
            solution: python_solution(record.get("solutions"))?,
            tags: Vec::new(),
        })
    }
}

/// The first solution in Python 3.
fn python_solution(solutions: Option<&Value>) -> Result<Option<OutputValue>, String> {
    let Some(value) = solutions else {
        return Ok(None);
    };
    let solutions = ContestSolutions::deserialize(value).map_err(|error| {
        format!("`solutions` is not a map with lists `language` and `solution`: {error}")
    })?;
    let mut all = solutions.language.iter().zip(solutions.solution);
    let found = all.find(|(language, _)| **language == PYTHON3);
    Ok(found.map(|(_, code)| OutputValue::Program(code)))
}
