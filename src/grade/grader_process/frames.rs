//! What crosses between this program and its grader processes: frames, each a length (8 bytes,
//! little endian) and its bytes.
//!
//! A request is three frames: a head in JSON, the task in JSON (empty when the process has it), and
//! the value as it is. A reply is two: a head in JSON and a value. Values have a frame of their
//! own, so that texts are not escaped and the depth of JSON is that of the value alone.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::task::{GraderTask, TaskAnswer};
use crate::grade::extract::Nothing;
use crate::model::{Fingerprint, Grade, OutputValue};
use eval_base::json::is_deeper;

/// The first frame of a process, which says that it waits for work.
pub(super) const READY: &[u8] = b"ready";

/// Bytes of a frame at most.
const LONGEST: u64 = 4 << 30;

/// Levels of a value in a grade; deeper ones are written as texts, as the journal does. The parser
/// refuses 128.
const DEEPEST: usize = 96;

/// Bytes of the tasks that a process keeps.
const KEPT_BYTES: usize = 16 << 20;

/// Head, task and value.
pub(super) type RequestFrames = [Vec<u8>; 3];

/// Head and value.
pub(super) type ReplyFrames = [Vec<u8>; 2];

/// What was sent to a process, by fingerprint. Both ends keep one and add to it alike, so that they
/// hold the same tasks.
#[derive(Debug)]
pub(super) struct KeptTasks<T> {
    tasks: HashMap<String, T>,
    bytes: usize,
}

impl<T> Default for KeptTasks<T> {
    fn default() -> KeptTasks<T> {
        KeptTasks {
            tasks: HashMap::new(),
            bytes: 0,
        }
    }
}

impl<T> KeptTasks<T> {
    /// Forgets all others when they exceed [`KEPT_BYTES`] together.
    fn insert(&mut self, key: String, bytes: usize, task: T) {
        if self.bytes.saturating_add(bytes) > KEPT_BYTES {
            *self = KeptTasks::default();
        }
        self.bytes += bytes;
        self.tasks.insert(key, task);
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum ValueKind {
    Text,
    Json,
    Program,
}

#[derive(Debug, Serialize, Deserialize)]
struct RequestHead {
    /// Its fingerprint.
    task: String,
    kind: ValueKind,
}

/// A task with the output that it is for, as it is sent.
#[derive(Debug)]
pub(super) struct TaskRequest<'v> {
    task: Vec<u8>,
    key: String,
    head: Vec<u8>,
    value: Cow<'v, [u8]>,
}

#[derive(Debug, Serialize, Deserialize)]
enum TaskReply {
    /// The value has its own frame.
    Extracted(ValueKind),
    Absent {
        what: String,
        code: bool,
    },
    Broken(String),
    GivenUp(String),
    /// JSON has no `Some(null)`.
    Graded {
        grade: Box<Grade>,
        expected_null: bool,
        actual_null: bool,
    },
    /// The text has its own frame.
    Program,
    NoProgram(String),
    /// The request could not be read, or its answer not be written.
    Unreadable(String),
}

fn of_value(value: &OutputValue) -> serde_json::Result<(ValueKind, Cow<'_, [u8]>)> {
    Ok(match value {
        OutputValue::Text(text) => (ValueKind::Text, Cow::Borrowed(text.as_bytes())),
        OutputValue::Program(text) => (ValueKind::Program, Cow::Borrowed(text.as_bytes())),
        OutputValue::Json(value) => (ValueKind::Json, Cow::Owned(serde_json::to_vec(value)?)),
    })
}

fn to_value(kind: ValueKind, bytes: Vec<u8>) -> io::Result<OutputValue> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(io::Error::other);
    Ok(match kind {
        ValueKind::Text => OutputValue::Text(text(bytes)?),
        ValueKind::Program => OutputValue::Program(text(bytes)?),
        ValueKind::Json => OutputValue::Json(serde_json::from_slice(&bytes)?),
    })
}

pub(super) fn request<'v>(
    task: &GraderTask<'_>,
    value: &'v OutputValue,
) -> serde_json::Result<TaskRequest<'v>> {
    let (kind, value) = of_value(value)?;
    let task = serde_json::to_vec(task)?;
    let key = Fingerprint::of_bytes(&task).to_string();
    let head = serde_json::to_vec(&RequestHead {
        task: key.clone(),
        kind,
    })?;
    Ok(TaskRequest {
        head,
        task,
        key,
        value,
    })
}

impl TaskRequest<'_> {
    /// The frames for a process that has these tasks, and has this one from then on.
    fn frames(&self, kept: &mut KeptTasks<()>) -> [&[u8]; 3] {
        let task: &[u8] = if kept.tasks.contains_key(&self.key) {
            &[]
        } else {
            kept.insert(self.key.clone(), self.task.len(), ());
            &self.task
        };
        [&self.head, task, &self.value]
    }
}

/// The task of a request, which is kept, and its value.
pub(super) fn read_request<'k>(
    [head, task, value]: RequestFrames,
    kept: &'k mut KeptTasks<GraderTask<'static>>,
) -> io::Result<(&'k GraderTask<'static>, OutputValue)> {
    let RequestHead { task: key, kind } = serde_json::from_slice(&head)?;
    if !task.is_empty() {
        kept.insert(key.clone(), task.len(), serde_json::from_slice(&task)?);
    }
    let task = kept
        .tasks
        .get(&key)
        .ok_or_else(|| io::Error::other("a task that was not sent"))?;
    Ok((task, to_value(kind, value)?))
}

pub(super) fn reply(answer: TaskAnswer) -> io::Result<ReplyFrames> {
    let mut bytes = Vec::new();
    let reply = match answer {
        TaskAnswer::Extracted(Ok(value)) => {
            let (kind, value) = of_value(&value)?;
            bytes = value.into_owned();
            TaskReply::Extracted(kind)
        }
        TaskAnswer::Extracted(Err(Nothing::Absent { what, code })) => {
            TaskReply::Absent { what, code }
        }
        TaskAnswer::Extracted(Err(Nothing::Broken(why))) => TaskReply::Broken(why),
        TaskAnswer::Extracted(Err(Nothing::GivenUp(why))) => TaskReply::GivenUp(why),
        TaskAnswer::Extracted(Err(Nothing::Unfinished(why))) => TaskReply::Broken(why.explain().1),
        TaskAnswer::Graded(mut grade) => {
            let Grade {
                expected,
                actual,
                details,
                ..
            } = grade.as_mut();
            for value in expected
                .iter_mut()
                .chain(actual)
                .chain(details.values_mut())
            {
                if is_deeper(value, DEEPEST) {
                    *value = Value::String(value.take().to_string());
                }
            }
            let null = |value: &Option<Value>| value.as_ref().is_some_and(Value::is_null);
            let (expected_null, actual_null) = (null(&grade.expected), null(&grade.actual));
            TaskReply::Graded {
                grade,
                expected_null,
                actual_null,
            }
        }
        TaskAnswer::Program(Ok(program)) => {
            bytes = program.into_bytes();
            TaskReply::Program
        }
        TaskAnswer::Program(Err(why)) => TaskReply::NoProgram(why),
    };
    Ok([serde_json::to_vec(&reply)?, bytes])
}

/// The reply where there can be no other.
pub(super) fn unreadable(error: &io::Error) -> io::Result<ReplyFrames> {
    Ok([
        serde_json::to_vec(&TaskReply::Unreadable(error.to_string()))?,
        Vec::new(),
    ])
}

pub(super) fn read_reply([head, value]: ReplyFrames) -> io::Result<TaskAnswer> {
    Ok(match serde_json::from_slice(&head)? {
        TaskReply::Extracted(kind) => TaskAnswer::Extracted(Ok(to_value(kind, value)?)),
        TaskReply::Absent { what, code } => {
            TaskAnswer::Extracted(Err(Nothing::Absent { what, code }))
        }
        TaskReply::Broken(why) => TaskAnswer::Extracted(Err(Nothing::Broken(why))),
        TaskReply::GivenUp(why) => TaskAnswer::Extracted(Err(Nothing::GivenUp(why))),
        TaskReply::Graded {
            mut grade,
            expected_null,
            actual_null,
        } => {
            if expected_null {
                grade.expected = Some(Value::Null);
            }
            if actual_null {
                grade.actual = Some(Value::Null);
            }
            TaskAnswer::Graded(grade)
        }
        TaskReply::Program => {
            TaskAnswer::Program(Ok(String::from_utf8(value).map_err(io::Error::other)?))
        }
        TaskReply::NoProgram(why) => TaskAnswer::Program(Err(why)),
        TaskReply::Unreadable(why) => return Err(io::Error::other(why)),
    })
}

pub(super) fn write(out: &mut impl Write, frames: &[impl AsRef<[u8]>]) -> io::Result<()> {
    for frame in frames {
        let frame = frame.as_ref();
        out.write_all(&(frame.len() as u64).to_le_bytes())?;
        out.write_all(frame)?;
    }
    out.flush()
}

pub(super) fn read<const N: usize>(input: &mut impl Read) -> io::Result<[Vec<u8>; N]> {
    let mut frames = [const { Vec::new() }; N];
    for frame in &mut frames {
        let mut length = [0; 8];
        input.read_exact(&mut length)?;
        let length = checked(u64::from_le_bytes(length))?;
        input.take(length).read_to_end(frame)?;
        whole(frame, length)?;
    }
    Ok(frames)
}

/// Sends a request to a process that has these tasks.
pub(super) async fn send(
    out: &mut (impl AsyncWrite + Unpin),
    request: &TaskRequest<'_>,
    kept: &mut KeptTasks<()>,
) -> io::Result<()> {
    for frame in request.frames(kept) {
        out.write_all(&(frame.len() as u64).to_le_bytes()).await?;
        out.write_all(frame).await?;
    }
    out.flush().await
}

pub(super) async fn receive<const N: usize>(
    input: &mut (impl AsyncRead + Unpin),
) -> io::Result<[Vec<u8>; N]> {
    let mut frames = [const { Vec::new() }; N];
    for frame in &mut frames {
        let length = checked(input.read_u64_le().await?)?;
        input.take(length).read_to_end(frame).await?;
        whole(frame, length)?;
    }
    Ok(frames)
}

fn checked(length: u64) -> io::Result<u64> {
    if length <= LONGEST {
        Ok(length)
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

fn whole(frame: &[u8], length: u64) -> io::Result<()> {
    if frame.len() as u64 == length {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::graders::RegexMatch;
    use crate::model::{Cause, CodeGrader, GraderType, JsonMatch};

    fn crossed(answer: TaskAnswer) -> TaskAnswer {
        let mut bytes = Vec::new();
        write(&mut bytes, &reply(answer).unwrap()).unwrap();
        read_reply(read(&mut bytes.as_slice()).unwrap()).unwrap()
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
                TaskAnswer::Extracted(Err(Nothing::Absent {
                    what: "no code".to_owned(),
                    code: true,
                })),
                TaskAnswer::Extracted(Err(Nothing::Broken("why".to_owned()))),
                TaskAnswer::Extracted(Err(Nothing::GivenUp("why".to_owned()))),
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
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
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
            (crate::model::Outcome::Failed, Some(Cause::WrongAnswer))
        );
        assert_eq!(grade.expected, Some(nested(96)));
        assert_eq!(grade.actual, Some(nested(127).to_string().into()));
        assert_eq!(
            grade.details.get("at"),
            Some(&nested(97).to_string().into())
        );
    }

    fn regex(pattern: String) -> CodeGrader {
        CodeGrader::Regex(RegexMatch {
            patterns: vec![pattern],
            flags: crate::model::RegexFlags::default(),
            must_match: true,
            capture_groups: Vec::new(),
        })
    }

    #[test]
    fn requests_cross_and_cut_frames_are_errors() {
        let grader = CodeGrader::Json(JsonMatch {
            any_of: vec![json!({"a": 265252859812191058636308480000000u128 as f64})],
            schema: None,
        });
        let value = OutputValue::Program("x".to_owned());
        let request = request(&GraderTask::Grade(Cow::Borrowed(&grader)), &value).unwrap();
        let (mut sent, mut kept) = (KeptTasks::default(), KeptTasks::default());
        let mut bytes = Vec::new();
        write(&mut bytes, &request.frames(&mut sent)).unwrap();
        let (task, read_value) =
            read_request(read(&mut bytes.as_slice()).unwrap(), &mut kept).unwrap();
        assert!(matches!(task, GraderTask::Grade(same) if **same == grader));
        assert_eq!(read_value, value);
        for cut in [0, 7, 9, bytes.len() - 1] {
            assert!(read::<3>(&mut &bytes[..cut]).is_err(), "{cut}");
        }
        assert!(read::<3>(&mut u64::MAX.to_le_bytes().as_slice()).is_err());
    }

    #[test]
    fn task_is_sent_to_a_process_once() {
        let (mut sent, mut kept) = (KeptTasks::default(), KeptTasks::default());
        let value = OutputValue::Text("x".to_owned());
        let mut lengths = Vec::new();
        // The third task takes all the room that there is.
        for pattern in ["a", "b", "a", &"c".repeat(KEPT_BYTES), "a", "a"] {
            let grader = regex(pattern.to_owned());
            let request = request(&GraderTask::Grade(Cow::Borrowed(&grader)), &value).unwrap();
            let frames = request.frames(&mut sent).map(<[u8]>::to_vec);
            lengths.push(frames[1].len());
            let (task, _) = read_request(frames, &mut kept).unwrap();
            assert!(matches!(task, GraderTask::Grade(same) if **same == grader));
        }
        assert!(
            lengths[0] > 0 && lengths[1] > 0 && lengths[3] > KEPT_BYTES && lengths[4] > 0,
            "{lengths:?}"
        );
        assert_eq!((lengths[2], lengths[5]), (0, 0));
        assert_eq!((sent.tasks.len(), kept.tasks.len()), (1, 1));
    }

    #[test]
    fn request_without_its_task_is_unreadable() {
        let grader = regex("a".to_owned());
        let value = OutputValue::Text("x".to_owned());
        let request = request(&GraderTask::Grade(Cow::Borrowed(&grader)), &value).unwrap();
        let frames = [request.head.clone(), Vec::new(), Vec::new()];
        let error = read_request(frames, &mut KeptTasks::default()).unwrap_err();
        let error = read_reply(unreadable(&error).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "a task that was not sent");
    }
}
