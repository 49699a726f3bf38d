//! MMLU in its generative form: the model writes the letter of its choice. What log-likelihoods of
//! the choices give is another figure.

use serde_json::{Value, json};

use super::fields::{Record, record_id, text, text_if_any, texts};
use super::gsm8k::last_match;
use super::{BenchmarkFormat, BenchmarkTask};
use crate::graders::ExactMatch;
use crate::model::{CodeGrader, OutputValue};

/// The columns of its CSV files, which have no header.
pub(in crate::load::dataset) const COLUMNS: [&str; 6] = ["question", "A", "B", "C", "D", "answer"];

const LETTERS: [&str; 10] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];

/// A letter after "answer is" or "answer:", or alone on its line; `last` is the letter of the last
/// choice. What follows must end the choice, so that `a` of "a planet" is none.
fn letter_pattern(last: &str) -> String {
    let ends = r"(?=[)\]*.,:;]|\s*$|\s+(?:because|since|as)\b)";
    format!(
        r"(?m)(?:\b[Aa]nswer(?:\s+is:?|:)\s*\**\(?(?=[A-{last}]{ends})|^\s*\**\(?(?=[A-{last}]\)?\**\.?\s*$))([A-{last}])"
    )
}

#[derive(Debug)]
pub(super) struct Mmlu;

impl BenchmarkFormat for Mmlu {
    fn task(&self, record: &Record, index: usize) -> Result<BenchmarkTask, String> {
        let question = text(record, &["question"])?;
        let choices = if record.contains_key("choices") {
            texts(record, "choices")?
        } else {
            let columns = LETTERS.iter().map_while(|letter| record.get(*letter));
            columns
                .map(|choice| choice.as_str().map(str::to_owned))
                .collect::<Option<Vec<String>>>()
                .ok_or("a choice is not a text")?
        };
        if !(2..=LETTERS.len()).contains(&choices.len()) {
            return Err(format!(
                "the record has {} choices, expected 2 to {}",
                choices.len(),
                LETTERS.len()
            ));
        }
        let place = match record.get("answer") {
            Some(Value::Number(n)) => n.as_u64().and_then(|n| usize::try_from(n).ok()),
            Some(Value::String(written)) => {
                let written = written.trim();
                LETTERS.iter().position(|letter| *letter == written)
            }
            Some(_) => None,
            None => return Err("the record has no `answer`".to_owned()),
        };
        let letter = place
            .filter(|place| *place < choices.len())
            .and_then(|place| LETTERS.get(place))
            .ok_or("`answer` is neither the place of a choice, from 0, nor its letter")?;
        let last = LETTERS.get(choices.len() - 1).unwrap_or(&"J");
        let subject = text_if_any(record, &["subject"])?.filter(|subject| !subject.is_empty());
        let listed: String = LETTERS
            .iter()
            .zip(&choices)
            .map(|(letter, choice)| format!("{letter}. {choice}\n"))
            .collect();
        Ok(BenchmarkTask {
            context: json!({ "question": question, "choices": choices }),
            id: record_id(record, index),
            name: None,
            prompt: format!(
                "{}\n\n{listed}\nAnswer with one line: `The answer is (X)`, where X is the letter of the right choice.\n",
                question.trim_end()
            ),
            extract: vec![last_match(&letter_pattern(last))],
            graders: vec![CodeGrader::ExactMatch(ExactMatch {
                any_of: vec![Value::from(*letter)],
                case_sensitive: true,
                trim_whitespace: true,
                normalize_newlines: true,
            })],
            metrics: Vec::new(),
            solution: Some(OutputValue::Text(format!("The answer is ({letter})"))),
            tags: subject
                .map(|subject| format!("subject:{subject}"))
                .into_iter()
                .collect(),
        })
    }
}
