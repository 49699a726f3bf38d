//! What is done with an output, wherever it is done, and how a task and its answer cross between this
//! program and its grader processes: as a line of JSON each.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::grade::extract::{ExtractFailure, extract};
use crate::graders::patterns::PatternCache;
use crate::model::{Cause, CodeGrader, ExtractMethod, Grade, GraderType, OutputValue};
use eval_base::json::is_deeper;

/// The first line of a process, which says that it waits for work.
pub(super) const READY: &str = "ready";

/// Levels of a value in a grade; deeper ones are written as texts, as the journal does. The parser
/// refuses 128.
const DEEPEST: usize = 96;

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
                        let why = "it looks at no text";
                        Grade::errored(GraderType::Code, grader.method(), Cause::Harness, why)
                    },
                    |check| check.grade(value, patterns),
                );
                TaskAnswer::Graded(Box::new(grade))
            }
            GraderTask::Program(grader) => {
                TaskAnswer::Program(match grader.as_method().candidate_code() {
                    Some(code) => code.program(value),
                    None => Err(format!("{} runs no program", grader.method())),
                })
            }
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct TaskRequest<'a> {
    task: Cow<'a, GraderTask<'a>>,
    value: Cow<'a, OutputValue>,
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

/// The line that has a process perform a task.
pub(super) fn request(task: &GraderTask<'_>, value: &OutputValue) -> serde_json::Result<String> {
    let (task, value) = (Cow::Borrowed(task), packed(value));
    Ok(serde_json::to_string(&TaskRequest { task, value })? + "\n")
}

/// Performs the task of a line; the line that answers it.
pub(super) fn answer(request: &str, patterns: &PatternCache) -> serde_json::Result<String> {
    let performed = serde_json::from_str(request).and_then(|TaskRequest { task, value }| {
        Ok(task.perform(&unpacked(value.into_owned())?, patterns))
    });
    let reply = performed.and_then(|answer| reply(Ok(answer)));
    reply.or_else(|error| self::reply(Err(error.to_string())))
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

    #[test]
    fn requests_cross_and_cut_lines_are_unreadable() {
        let grader = CodeGrader::Json(JsonMatch {
            any_of: vec![json!({"a": 265252859812191058636308480000000u128 as f64})],
            schema: None,
        });
        let task = GraderTask::Grade(Cow::Borrowed(&grader));
        let value = OutputValue::Json(nested(127));
        let line = request(&task, &value).unwrap();
        let reply = answer(&line, &PatternCache::default()).unwrap();
        let performed = task.perform(&value, &PatternCache::default());
        let [TaskAnswer::Graded(here), TaskAnswer::Graded(there)] =
            [performed, read_reply(&reply).unwrap()]
        else {
            panic!("grades")
        };
        assert_eq!((here.outcome, &here.reason), (there.outcome, &there.reason));
        for cut in [0, 7, 9, line.len() - 2] {
            let reply = answer(&line[..cut], &PatternCache::default()).unwrap();
            assert!(read_reply(&reply).is_err(), "{cut}");
        }
    }
}
