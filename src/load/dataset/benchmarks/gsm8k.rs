//! GSM8K: word problems whose answer ends with `#### NUMBER`.

use serde_json::{Value, json};

use super::fields::{Record, record_id, text};
use super::{BenchmarkFormat, BenchmarkTask};
use crate::graders::NumericMatch;
use crate::model::{CodeGrader, ExtractMethod, OutputValue, RegexFlags, Which};
use crate::spec::Gsm8kAnswer;

/// The number after the last `####`.
const MARKED: &str = r"####\s*([-+]?\$?[0-9][0-9,]*(?:\.[0-9]+)?)";
/// The last number of the text. A hyphen behind a word or number is no sign, as in `17-18`.
const LAST: &str = r"((?:(?<![\w.,])[-+])?\$?[0-9][0-9,]*(?:\.[0-9]+)?)";

#[derive(Debug)]
pub(super) struct Gsm8k(pub Gsm8kAnswer);

impl BenchmarkFormat for Gsm8k {
    fn task(&self, record: &Record, index: usize) -> Result<BenchmarkTask, String> {
        let id = record_id(record, index);
        let question = text(record, &["question"])?;
        let answer = text(record, &["answer"])?;
        let (_, number) = answer
            .rsplit_once("####")
            .ok_or("`answer` has no `####` before its number")?;
        let number = number.trim().replace([',', '$'], "");
        let value: Value = serde_json::from_str(&number)
            .ok()
            .filter(Value::is_number)
            .ok_or_else(|| format!("`answer` ends with `#### {number}`, which is not a number"))?;
        let pattern = match self.0 {
            Gsm8kAnswer::Strict => MARKED,
            Gsm8kAnswer::Flexible => LAST,
        };
        Ok(BenchmarkTask {
            context: json!({ "question": question }),
            id,
            name: None,
            prompt: format!(
                "{}\n\nThink step by step. End the answer with a line that has only `#### ` and the number.\n",
                question.trim_end()
            ),
            extract: vec![last_match(pattern)],
            graders: vec![CodeGrader::Numeric(NumericMatch {
                any_of: vec![value],
                absolute: None,
                relative: None,
                min: None,
                max: None,
            })],
            metrics: Vec::new(),
            solution: Some(OutputValue::Text(answer.to_owned())),
            tags: Vec::new(),
        })
    }
}

/// The first group of the last match.
pub(super) fn last_match(pattern: &str) -> ExtractMethod {
    ExtractMethod::Regex {
        pattern: pattern.to_owned(),
        flags: RegexFlags::default(),
        group: "1".to_owned(),
        which: Which::Last,
    }
}
