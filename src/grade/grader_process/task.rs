//! What is done with an output, wherever it is done, and how a task and its answer cross between this
//! program and its grader processes.
//!
//! A request is two lines: the task in JSON, or its number when the process has it, and the value in
//! JSON. A reply is one line of JSON. A task has a line of its own, so that the depth of its JSON is
//! that of the task alone.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::grade::extract::{ExtractFailure, extract};
use crate::graders::patterns::PatternCache;
use crate::model::{Cause, CodeGrader, ExtractMethod, Fingerprint, Grade, GraderType, OutputValue};
use eval_base::json::is_deeper;

/// The first line of a process, which says that it waits for work.
pub(super) const READY: &str = "ready";

/// Levels of a value in a grade; deeper ones are written as texts, as the journal does. The parser
/// refuses 128.
const DEEPEST: usize = 96;

/// Bytes of the tasks that a process keeps.
const KEPT_BYTES: usize = 16 << 20;

/// One piece of work on one output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum GraderTask<'a> {
    Extract(Cow<'a, [ExtractMethod]>),
    /// By a grader that only looks.
    Grade(Cow<'a, CodeGrader>),
    /// Find the program that a grader runs.
    Program(Cow<'a, CodeGrader>),
}

/// What came of it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum TaskAnswer {
    Extracted(Result<OutputValue, ExtractFailure>),
    Graded(Box<Grade>),
    Program(Result<String, String>),
}

impl GraderTask<'_> {
    pub fn perform(&self, value: &OutputValue, patterns: &PatternCache) -> TaskAnswer {
        match self {
            GraderTask::Extract(steps) => TaskAnswer::Extracted(extract(steps, value, patterns)),
            GraderTask::Grade(grader) => {
                let grade = grader.as_method().check().map_or_else(
                    || {
                        let why = "this grader does not check text";
                        Grade::errored(GraderType::Code, grader.method(), Cause::Harness, why)
                    },
                    |check| check.grade(value, patterns),
                );
                TaskAnswer::Graded(Box::new(grade))
            }
            GraderTask::Program(grader) => {
                TaskAnswer::Program(match grader.as_method().candidate_code() {
                    Some(code) => code.program(value),
                    None => Err(format!("{} does not run a program", grader.method())),
                })
            }
        }
    }
}

/// The numbers of the tasks that a process was sent, in the order of [`KeptTasks`].
#[derive(Debug, Default)]
pub(super) struct SentTasks {
    numbers: HashMap<Fingerprint, usize>,
    bytes: usize,
}

impl SentTasks {
    /// The first line of a request: the task when the process does not have it, else its number.
    pub fn line(&mut self, task: &str) -> String {
        let key = Fingerprint::of_bytes(task.as_bytes());
        if let Some(number) = self.numbers.get(&key) {
            return format!("{number}\n");
        }
        if is_full(&mut self.bytes, task.len()) {
            self.numbers.clear();
        }
        self.numbers.insert(key, self.numbers.len());
        format!("{task}\n")
    }
}

/// The tasks that a process was sent, or why one can't be read.
#[derive(Debug, Default)]
pub(super) struct KeptTasks {
    tasks: Vec<Result<GraderTask<'static>, String>>,
    bytes: usize,
}

impl KeptTasks {
    fn task(&mut self, line: &str) -> Result<&GraderTask<'static>, String> {
        let mut number = line.parse().ok();
        if line.starts_with('{') {
            if is_full(&mut self.bytes, line.len()) {
                self.tasks.clear();
            }
            number = Some(self.tasks.len());
            let task = serde_json::from_str(line).map_err(|error| error.to_string());
            self.tasks.push(task);
        }
        let task = number.and_then(|number: usize| self.tasks.get(number));
        let task = task.ok_or("a task that was not sent")?;
        task.as_ref().map_err(String::clone)
    }
}

/// Counts a task that both ends keep; true when they forget all others first.
fn is_full(kept: &mut usize, bytes: usize) -> bool {
    let is_full = kept.saturating_add(bytes) > KEPT_BYTES;
    *kept = if is_full { bytes } else { *kept + bytes };
    is_full
}

/// What a process answers; an error says why the request or its answer can't be passed.
#[derive(Debug, Serialize, Deserialize)]
struct TaskReply {
    answer: Result<TaskAnswer, String>,
    /// JSON has no `Some(null)`: whether `expected` and `actual` of a grade are.
    nulls: [bool; 2],
}

/// A value whose JSON is a text, so that its depth is that of the value alone.
fn packed(value: &OutputValue) -> Cow<'_, OutputValue> {
    match value {
        OutputValue::Json(value) => Cow::Owned(OutputValue::Json(value.to_string().into())),
        text => Cow::Borrowed(text),
    }
}

fn unpacked(value: OutputValue) -> serde_json::Result<OutputValue> {
    Ok(match value {
        OutputValue::Json(text) => {
            OutputValue::Json(serde_json::from_str(text.as_str().unwrap_or_default())?)
        }
        text => text,
    })
}

/// A task and the value that it is for, as they are sent.
pub(super) fn request(
    task: &GraderTask<'_>,
    value: &OutputValue,
) -> serde_json::Result<[String; 2]> {
    let value = serde_json::to_string(&packed(value))? + "\n";
    Ok([serde_json::to_string(task)?, value])
}

/// Performs the task of a request; the line that answers it.
pub(super) fn answer(
    [task, value]: [&str; 2],
    kept: &mut KeptTasks,
    patterns: &PatternCache,
) -> serde_json::Result<String> {
    let performed = kept.task(task).and_then(|task| {
        let value = serde_json::from_str(value).and_then(unpacked);
        let value = value.map_err(|error| error.to_string())?;
        Ok(task.perform(&value, patterns))
    });
    reply(performed).or_else(|error| reply(Err(error.to_string())))
}

fn reply(mut answer: Result<TaskAnswer, String>) -> serde_json::Result<String> {
    let mut nulls = [false; 2];
    match &mut answer {
        Ok(TaskAnswer::Extracted(Ok(value))) => *value = packed(value).into_owned(),
        Ok(TaskAnswer::Graded(grade)) => {
            let Grade {
                expected,
                actual,
                details,
                ..
            } = grade.as_mut();
            for value in expected
                .iter_mut()
                .chain(&mut *actual)
                .chain(details.values_mut())
            {
                if is_deeper(value, DEEPEST) {
                    *value = Value::String(value.take().to_string());
                }
            }
            nulls = [expected, actual].map(|value| *value == Some(Value::Null));
        }
        _ => {}
    }
    Ok(serde_json::to_string(&TaskReply { answer, nulls })? + "\n")
}

pub(super) fn read_reply(line: &str) -> Result<TaskAnswer, String> {
    let read = serde_json::from_str(line.trim_end()).map_err(|error| error.to_string());
    let TaskReply { answer, nulls } = read?;
    Ok(match answer? {
        TaskAnswer::Extracted(Ok(value)) => {
            TaskAnswer::Extracted(Ok(unpacked(value).map_err(|error| error.to_string())?))
        }
        TaskAnswer::Graded(mut grade) => {
            let values = [&mut grade.expected, &mut grade.actual];
            for (value, _) in values.into_iter().zip(nulls).filter(|(_, null)| *null) {
                *value = Some(Value::Null);
            }
            TaskAnswer::Graded(grade)
        }
        answer => answer,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{JsonMatch, Outcome};

    fn crossed(answer: TaskAnswer) -> TaskAnswer {
        read_reply(&reply(Ok(answer)).unwrap()).unwrap()
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn answers_cross_as_they_are() {
        let failed =
            Grade::failed(GraderType::Code, "json", Cause::WrongAnswer, "x").with_score(0.1 + 0.2);
        let grade = failed
            .with_expected(Value::Null)
            .with_actual(json!([1.0, 1e2, "x"]));
        let answers = || {
            [
                TaskAnswer::Graded(Box::new(grade.clone())),
                TaskAnswer::Extracted(Ok(OutputValue::Text("a\n\u{0}\"".to_owned()))),
                TaskAnswer::Extracted(Ok(OutputValue::Json(json!({"a": [null, 1]})))),
                TaskAnswer::Extracted(Ok(OutputValue::Json(nested(127)))),
                TaskAnswer::Extracted(Ok(OutputValue::Json(json!("a text")))),
                TaskAnswer::Extracted(Err(ExtractFailure::Absent {
                    what: "no code".to_owned(),
                    code: true,
                })),
                TaskAnswer::Extracted(Err(ExtractFailure::Broken("why".to_owned()))),
                TaskAnswer::Extracted(Err(ExtractFailure::GivenUp("why".to_owned()))),
                TaskAnswer::Program(Ok("print()\n".to_owned())),
                TaskAnswer::Program(Err("none".to_owned())),
            ]
        };
        for (answer, same) in answers().into_iter().zip(answers()) {
            assert_eq!(crossed(answer), same);
        }
    }

    #[test]
    fn deep_values_of_grades_cross_as_texts() {
        let failed = Grade::failed(GraderType::Code, "json", Cause::WrongAnswer, "x");
        let deep = failed
            .with_expected(nested(96))
            .with_actual(nested(127))
            .with_detail("at", nested(97));
        let TaskAnswer::Graded(grade) = crossed(TaskAnswer::Graded(Box::new(deep))) else {
            panic!("a grade")
        };
        assert_eq!(
            (grade.outcome, grade.cause),
            (Outcome::Failed, Some(Cause::WrongAnswer))
        );
        assert_eq!(grade.expected, Some(nested(96)));
        assert_eq!(grade.actual, Some(nested(127).to_string().into()));
        assert_eq!(
            grade.details.get("at"),
            Some(&nested(97).to_string().into())
        );
    }

    /// The lines of a request, without their ends.
    fn lines(sent: &mut SentTasks, task: &GraderTask<'_>, value: &OutputValue) -> [String; 2] {
        let [task, value] = request(task, value).unwrap();
        [sent.line(&task), value].map(|line| line.strip_suffix('\n').unwrap().to_owned())
    }

    fn answered([task, value]: [&str; 2], kept: &mut KeptTasks) -> Result<TaskAnswer, String> {
        read_reply(&answer([task, value], kept, &PatternCache::default()).unwrap())
    }

    #[test]
    fn requests_cross_and_cut_lines_are_unreadable() {
        // 124 levels, which a file of graders may hold.
        let schema = (0..123).fold(json!({}), |inner, _| json!({"not": inner}));
        let grader = CodeGrader::Json(JsonMatch {
            any_of: vec![json!({"a": 265252859812191058636308480000000u128 as f64})],
            schema: Some(schema),
        });
        let task = GraderTask::Grade(Cow::Borrowed(&grader));
        let value = OutputValue::Json(nested(127));
        let [sent, text] = &lines(&mut SentTasks::default(), &task, &value);
        let there = answered([sent, text], &mut KeptTasks::default());
        let performed = task.perform(&value, &PatternCache::default());
        let [TaskAnswer::Graded(here), TaskAnswer::Graded(there)] = [performed, there.unwrap()]
        else {
            panic!("grades")
        };
        assert_eq!((here.outcome, &here.reason), (there.outcome, &there.reason));
        for cut in [0, 7, 9, sent.len() - 1] {
            assert!(answered([&sent[..cut], text], &mut KeptTasks::default()).is_err());
        }
        for cut in [0, 7, 9, text.len() - 1] {
            assert!(answered([sent, &text[..cut]], &mut KeptTasks::default()).is_err());
        }
    }

    #[test]
    fn task_is_sent_to_a_process_once() {
        let (mut sent, mut kept) = (SentTasks::default(), KeptTasks::default());
        let mut short = Vec::new();
        // The third task takes all the room that there is.
        for text in ["a", "b", "a", "b", &"c".repeat(KEPT_BYTES), "a", "a"] {
            let task = GraderTask::Extract(Cow::Owned(vec![ExtractMethod::AfterLast {
                marker: text.to_owned(),
            }]));
            let value = OutputValue::Text(format!("x{text}y"));
            let [line, value] = &lines(&mut sent, &task, &value);
            short.extend(line.parse::<usize>());
            let answer = answered([line, value], &mut kept).unwrap();
            let found = OutputValue::Text("y".to_owned());
            assert_eq!(answer, TaskAnswer::Extracted(Ok(found)));
        }
        assert_eq!(short, [0, 1, 0]);
        assert_eq!((sent.numbers.len(), kept.tasks.len()), (1, 1));
    }

    #[test]
    fn unreadable_task_keeps_its_number() {
        let mut kept = KeptTasks::default();
        let value = r#"{"Text":"x"}"#;
        let error = answered(["{", value], &mut kept).unwrap_err();
        assert!(error.starts_with("EOF while parsing"), "{error}");
        assert_eq!(answered(["0", value], &mut kept).unwrap_err(), error);
        let trimmed = answered([r#"{"Extract":["Trim"]}"#, value], &mut kept);
        assert_eq!(answered(["1", value], &mut kept), trimmed);
        let error = answered(["2", value], &mut kept).unwrap_err();
        assert_eq!(error, "a task that was not sent");
    }
}
