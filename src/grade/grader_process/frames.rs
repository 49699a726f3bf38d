//! What crosses between this program and its grader processes: frames of a length (8 bytes, little endian) and so many bytes.
//!
//! A request and an answer are two frames each: a head in JSON, and a value as it is. The value has a frame of its own, so that
//! texts are not escaped and the depth of JSON is that of the value alone.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::task::{Answer, Task};
use crate::grade::extract::Nothing;
use crate::model::{Grade, OutputValue};

/// The first frame of a process, which says that it waits for work.
pub(super) const READY: &[u8] = b"ready";

/// Bytes of a frame at most.
const LONGEST: u64 = 4 << 30;

/// Head and value.
pub(super) type Frames = (Vec<u8>, Vec<u8>);

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum ValueKind {
    Text,
    Json,
    Program,
}

#[derive(Debug, Serialize, Deserialize)]
struct Request<'a> {
    task: Task<'a>,
    kind: ValueKind,
}

#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    /// The value has its own frame.
    Extracted(ValueKind),
    Absent {
        what: String,
        code: bool,
    },
    Broken(String),
    /// JSON has no `Some(null)`.
    Graded {
        grade: Box<Grade>,
        expected_null: bool,
        actual_null: bool,
    },
    /// The text has its own frame.
    Program,
    NoProgram(String),
}

fn of_value(value: &OutputValue) -> serde_json::Result<(ValueKind, Vec<u8>)> {
    Ok(match value {
        OutputValue::Text(text) => (ValueKind::Text, text.clone().into_bytes()),
        OutputValue::Program(text) => (ValueKind::Program, text.clone().into_bytes()),
        OutputValue::Json(value) => (ValueKind::Json, serde_json::to_vec(value)?),
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

pub(super) fn request(task: &Task<'_>, value: &OutputValue) -> io::Result<Frames> {
    #[derive(Serialize)]
    struct RequestRef<'a, 't> {
        task: &'a Task<'t>,
        kind: ValueKind,
    }
    let (kind, bytes) = of_value(value)?;
    Ok((serde_json::to_vec(&RequestRef { task, kind })?, bytes))
}

pub(super) fn read_request((head, value): Frames) -> io::Result<(Task<'static>, OutputValue)> {
    let Request { task, kind } = serde_json::from_slice(&head)?;
    Ok((task, to_value(kind, value)?))
}

pub(super) fn reply(answer: Answer) -> io::Result<Frames> {
    let mut bytes = Vec::new();
    let reply = match answer {
        Answer::Extracted(Ok(value)) => {
            let (kind, value) = of_value(&value)?;
            bytes = value;
            Reply::Extracted(kind)
        }
        Answer::Extracted(Err(Nothing::Absent { what, code })) => Reply::Absent { what, code },
        Answer::Extracted(Err(Nothing::Broken(why))) => Reply::Broken(why),
        Answer::Extracted(Err(Nothing::Unfinished(why))) => Reply::Broken(why.explain().1),
        Answer::Graded(grade) => {
            let null = |value: &Option<Value>| value.as_ref().is_some_and(Value::is_null);
            let (expected_null, actual_null) = (null(&grade.expected), null(&grade.actual));
            Reply::Graded { grade, expected_null, actual_null }
        }
        Answer::Program(Ok(program)) => {
            bytes = program.into_bytes();
            Reply::Program
        }
        Answer::Program(Err(why)) => Reply::NoProgram(why),
    };
    Ok((serde_json::to_vec(&reply)?, bytes))
}

pub(super) fn read_reply((head, value): Frames) -> io::Result<Answer> {
    Ok(match serde_json::from_slice(&head)? {
        Reply::Extracted(kind) => Answer::Extracted(Ok(to_value(kind, value)?)),
        Reply::Absent { what, code } => Answer::Extracted(Err(Nothing::Absent { what, code })),
        Reply::Broken(why) => Answer::Extracted(Err(Nothing::Broken(why))),
        Reply::Graded { mut grade, expected_null, actual_null } => {
            if expected_null {
                grade.expected = Some(Value::Null);
            }
            if actual_null {
                grade.actual = Some(Value::Null);
            }
            Answer::Graded(grade)
        }
        Reply::Program => Answer::Program(Ok(String::from_utf8(value).map_err(io::Error::other)?)),
        Reply::NoProgram(why) => Answer::Program(Err(why)),
    })
}

pub(super) fn write(out: &mut impl Write, (head, value): &Frames) -> io::Result<()> {
    write_one(out, head)?;
    write_one(out, value)?;
    out.flush()
}

pub(super) fn write_one(out: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    out.write_all(&(frame.len() as u64).to_le_bytes())?;
    out.write_all(frame)?;
    out.flush()
}

pub(super) fn read(input: &mut impl Read) -> io::Result<Frames> {
    let mut one = || {
        let mut length = [0; 8];
        input.read_exact(&mut length)?;
        let length = checked(u64::from_le_bytes(length))?;
        let mut frame = Vec::new();
        input.take(length).read_to_end(&mut frame)?;
        whole(frame, length)
    };
    Ok((one()?, one()?))
}

pub(super) async fn send(out: &mut (impl AsyncWrite + Unpin), frames: &Frames) -> io::Result<()> {
    for frame in [&frames.0, &frames.1] {
        out.write_all(&(frame.len() as u64).to_le_bytes()).await?;
        out.write_all(frame).await?;
    }
    out.flush().await
}

pub(super) async fn receive(input: &mut (impl AsyncRead + Unpin)) -> io::Result<Frames> {
    Ok((receive_one(input).await?, receive_one(input).await?))
}

pub(super) async fn receive_one(input: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let length = checked(input.read_u64_le().await?)?;
    let mut frame = Vec::new();
    input.take(length).read_to_end(&mut frame).await?;
    whole(frame, length)
}

fn checked(length: u64) -> io::Result<u64> {
    if length <= LONGEST { Ok(length) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn whole(frame: Vec<u8>, length: u64) -> io::Result<Vec<u8>> {
    if frame.len() as u64 == length { Ok(frame) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;
    use crate::model::{Cause, CodeGrader, GraderType};

    fn crossed(answer: Answer) -> Answer {
        let mut bytes = Vec::new();
        write(&mut bytes, &reply(answer).unwrap()).unwrap();
        read_reply(read(&mut bytes.as_slice()).unwrap()).unwrap()
    }

    #[test]
    fn answers_cross_as_they_are() {
        let failed = Grade::failed(GraderType::Code, "json", Cause::WrongAnswer, "x").with_score(0.1 + 0.2);
        let grade = failed.with_expected(Value::Null).with_actual(json!([1.0, 1e2, "x"]));
        let answers = || {
            [
                Answer::Graded(Box::new(grade.clone())),
                Answer::Extracted(Ok(OutputValue::Text("a\n\u{0}\"".to_owned()))),
                Answer::Extracted(Ok(OutputValue::Json(json!({"a": [null, 1]})))),
                Answer::Extracted(Err(Nothing::Absent { what: "no code".to_owned(), code: true })),
                Answer::Extracted(Err(Nothing::Broken("why".to_owned()))),
                Answer::Program(Ok("print()\n".to_owned())),
                Answer::Program(Err("none".to_owned())),
            ]
        };
        for (answer, same) in answers().into_iter().zip(answers()) {
            assert_eq!(crossed(answer), same);
        }
    }

    #[test]
    fn requests_cross_and_cut_frames_are_errors() {
        let grader = CodeGrader::Json {
            any_of: vec![json!({"a": 265252859812191058636308480000000u128 as f64})],
            schema: None,
        };
        let value = OutputValue::Program("x".to_owned());
        let mut bytes = Vec::new();
        write(&mut bytes, &request(&Task::Grade(Cow::Borrowed(&grader)), &value).unwrap()).unwrap();
        let (task, read_value) = read_request(read(&mut bytes.as_slice()).unwrap()).unwrap();
        assert!(matches!(task, Task::Grade(same) if *same == grader));
        assert_eq!(read_value, value);
        for cut in [0, 7, 9, bytes.len() - 1] {
            assert!(read(&mut &bytes[..cut]).is_err(), "{cut}");
        }
        assert!(read(&mut u64::MAX.to_le_bytes().as_slice()).is_err());
    }
}
