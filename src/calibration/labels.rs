//! Files of labels: CSV with a header or JSON lines, one label a row.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::{JudgedOutput, JudgedOutputs, PersonLabel, UNNAMED_JUDGE};
use crate::load::table_rows;
use crate::model::LabelledOutput;
use eval_base::nearest::did_you_mean;
use eval_base::text::{one_line, plural};

/// The columns that are read.
const COLUMNS: [&str; 15] = [
    "eval",
    "case",
    "sample",
    "target",
    "judge",
    "verdict",
    "score",
    "label",
    "reviewer",
    "criterion",
    "category",
    "output",
    "length",
    "position",
    "doubt",
];

/// The labels of a file, by judge.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabelsFile {
    pub judges: Vec<JudgedOutputs>,
    /// Whether every row is without `verdict` and `score`: these come from a run.
    pub labels_only: bool,
    /// What was left out, in sentences.
    pub notes: Vec<String>,
}

/// What is wrong with a file of labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LabelsError {
    pub message: String,
    pub hint: Option<String>,
}

fn wrong(message: impl Into<String>) -> LabelsError {
    LabelsError {
        message: message.into(),
        hint: None,
    }
}

impl LabelsError {
    fn hint(self, hint: impl Into<String>) -> LabelsError {
        LabelsError {
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// Reads a file of labels. Scores of people (and of the judge, where there is no verdict) from
/// `pass_from` on pass.
///
/// # Errors
/// The first row that is wrong.
pub fn read_labels(path: &Path, pass_from: Option<f64>) -> Result<LabelsFile, LabelsError> {
    let rows = table_rows(path)
        .map_err(|why| wrong(format!("cannot read labels from {}: {why}", path.display())))?;
    let mut reader = LabelReader {
        pass_from,
        binary: rows
            .iter()
            .filter_map(|(_, row)| row.get("label"))
            .all(|value| is_blank(value) || truth(value).is_some()),
        outputs: BTreeMap::new(),
    };
    check_columns(&rows)?;
    for (line, row) in &rows {
        reader.row(row).map_err(|error| LabelsError {
            message: format!("{}:{line}: {}", path.display(), error.message),
            hint: error.hint,
        })?;
    }
    reader.finish(&rows)
}

fn check_columns(rows: &[(usize, Map<String, Value>)]) -> Result<(), LabelsError> {
    let known = format!("columns: {}", COLUMNS.join(", "));
    if rows.is_empty() {
        return Err(wrong("the file of labels has no row").hint(known));
    }
    for needed in ["case", "label"] {
        if rows.iter().any(|(_, row)| row.contains_key(needed)) {
            continue;
        }
        let others = rows.iter().flat_map(|(_, row)| row.keys());
        let unknown = others.filter(|name| !COLUMNS.contains(&name.as_str()));
        let near = unknown
            .map(String::as_str)
            .find(|name| did_you_mean(name, [needed]).is_some());
        let near = near.map(|name| format!("`{name}` is not a column; did you mean `{needed}`?"));
        let message = format!("the file of labels has no column `{needed}`");
        return Err(wrong(message).hint(near.unwrap_or(known)));
    }
    Ok(())
}

/// The key of an output among those of a file.
type OutputKey = (String, Option<String>, LabelledOutput);

struct LabelReader {
    pass_from: Option<f64>,
    /// Whether labels pass or fail; else they are scores.
    binary: bool,
    outputs: BTreeMap<OutputKey, JudgedOutput>,
}

impl LabelReader {
    fn row(&mut self, row: &Map<String, Value>) -> Result<(), LabelsError> {
        let text = |name: &str| text_of(row, name);
        let case = text("case").ok_or_else(|| wrong("the row has no `case`"))?;
        let sample = match number(row, "sample")? {
            None => 0,
            Some(n) if n >= 0.0 && n.fract() == 0.0 && n <= f64::from(u32::MAX) => n as u32,
            Some(n) => {
                return Err(wrong(format!(
                    "`sample` is {n}, but must be a whole number"
                )));
            }
        };
        let score = number(row, "score")?;
        let passed = match row.get("verdict").filter(|value| !is_blank(value)) {
            None => score.zip(self.pass_from).map(|(score, from)| score >= from),
            Some(value) => Some(truth(value).ok_or_else(|| not_truth("verdict", value))?),
        };
        let doubt = number(row, "doubt")?.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&doubt) {
            return Err(wrong(format!(
                "`doubt` is {doubt}, but must be from 0 to 1"
            )));
        }
        let length = match number(row, "length")? {
            None => text("output").map(|output| output.chars().count() as f64),
            length => length,
        };
        let read = JudgedOutput {
            output: LabelledOutput {
                eval: text("eval").unwrap_or_default(),
                case,
                sample,
                target: text("target"),
            },
            criterion: text("criterion"),
            category: text("category"),
            length,
            position: text("position"),
            passed,
            score,
            doubt,
            ..JudgedOutput::default()
        };
        let label = self.label(row)?;
        let judge = text("judge").unwrap_or_else(|| UNNAMED_JUDGE.to_owned());
        let key = (judge, read.criterion.clone(), read.output.clone());
        let known = self.outputs.entry(key).or_insert_with(|| read.clone());
        if (known.passed, known.score) != (read.passed, read.score) {
            return Err(wrong(format!(
                "the judge's verdict on case `{}` differs from an earlier row",
                one_line(&read.output.case)
            )));
        }
        let Some(label) = label else { return Ok(()) };
        if known
            .labels
            .iter()
            .any(|other| other.reviewer == label.reviewer)
        {
            let by = match label.reviewer.as_str() {
                "" => String::new(),
                name => format!(" by `{}`", one_line(name)),
            };
            return Err(wrong(format!(
                "case `{}` already has a label{by}",
                one_line(&read.output.case)
            ))
            .hint(
                "to give several labels of one output, name their authors in a column `reviewer`",
            ));
        }
        known.labels.push(label);
        Ok(())
    }

    fn label(&self, row: &Map<String, Value>) -> Result<Option<PersonLabel>, LabelsError> {
        let Some(value) = row.get("label").filter(|value| !is_blank(value)) else {
            return Ok(None);
        };
        let score = if self.binary {
            None
        } else {
            number(row, "label")?
        };
        let passed = match (self.binary, score) {
            (true, _) => truth(value),
            (false, score) => score.zip(self.pass_from).map(|(score, from)| score >= from),
        };
        Ok(Some(PersonLabel {
            reviewer: text_of(row, "reviewer").unwrap_or_default(),
            passed,
            score,
        }))
    }

    fn finish(self, rows: &[(usize, Map<String, Value>)]) -> Result<LabelsFile, LabelsError> {
        if !self
            .outputs
            .values()
            .any(|output| !output.labels.is_empty())
        {
            return Err(wrong("every `label` of the file is empty"));
        }
        let mut file = LabelsFile {
            labels_only: self
                .outputs
                .values()
                .all(|output| output.passed.is_none() && output.score.is_none()),
            ..LabelsFile::default()
        };
        let without = |output: &&JudgedOutput| output.passed.is_none() && output.score.is_none();
        let left_out = self.outputs.values().filter(without).count();
        if left_out > 0 && !file.labels_only {
            file.notes.push(format!(
                "{} without a verdict or score of the judge left out",
                plural(left_out, "output")
            ));
        }
        let mut others: Vec<&str> = rows
            .iter()
            .flat_map(|(_, row)| row.keys())
            .map(String::as_str)
            .filter(|name| !COLUMNS.contains(name))
            .collect();
        others.sort_unstable();
        others.dedup();
        if !others.is_empty() {
            file.notes.push(format!(
                "columns not read: {}",
                one_line(&others.join(", "))
            ));
        }
        for ((judge, ..), output) in self.outputs {
            if !file.labels_only && without(&&output) {
                continue;
            }
            match file.judges.last_mut().filter(|last| last.judge == judge) {
                Some(last) => last.outputs.push(output),
                None => file.judges.push(JudgedOutputs {
                    judge,
                    identity: None,
                    outputs: vec![output],
                }),
            }
        }
        Ok(file)
    }
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

fn text_of(row: &Map<String, Value>, name: &str) -> Option<String> {
    match row.get(name).filter(|value| !is_blank(value))? {
        Value::String(text) => Some(text.trim().to_owned()),
        other => Some(other.to_string()),
    }
}

/// A finite number, if there is one.
fn number(row: &Map<String, Value>, name: &str) -> Result<Option<f64>, LabelsError> {
    let Some(text) = text_of(row, name) else {
        return Ok(None);
    };
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Some(number)),
        _ => Err(wrong(format!(
            "`{name}` is `{}`, but must be a number",
            one_line(&text)
        ))),
    }
}

/// Pass or fail, in one of their spellings.
fn truth(value: &Value) -> Option<bool> {
    let text = match value {
        Value::Bool(truth) => return Some(*truth),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_ascii_lowercase(),
        _ => return None,
    };
    match text.as_str() {
        "pass" | "passed" | "true" | "yes" | "1" | "1.0" => Some(true),
        "fail" | "failed" | "false" | "no" | "0" | "0.0" => Some(false),
        _ => None,
    }
}

fn not_truth(name: &str, value: &Value) -> LabelsError {
    let text = match value {
        Value::String(text) => one_line(text),
        other => one_line(&other.to_string()),
    };
    wrong(format!(
        "`{name}` is `{text}`, but must be `pass` or `fail`"
    ))
    .hint("also `1` and `0`, `true` and `false`; scores of the judge belong to `score`")
}
