//! Bodies: requests that are read within bounds, and answers that are sent.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::AgentApi;
use crate::passing::PassingAnswer;
use crate::routes::error_body;
use crate::serve::ReplayUse;

/// Bytes of a request's body.
pub(crate) const LONGEST_BODY: usize = 32 << 20;
/// Bodies up to this size take of the session's own memory, longer ones of the run's.
const SMALL_BODY: usize = 1 << 20;
/// Memory is given out in pieces of this size.
const PIECE: usize = 16 << 10;
/// Memory for the bodies of one session.
const OWN_MEMORY: usize = 4 << 20;
/// Memory for small bodies of all sessions.
const SMALL_MEMORY: usize = 64 << 20;
/// Memory for long bodies of all sessions.
const LONG_MEMORY: usize = 2 * LONGEST_BODY;
/// How long a body may wait for memory.
const MEMORY_PATIENCE: Duration = Duration::from_secs(120);
/// How long an agent may take for a body. It is on the same machine.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Memory for bodies of requests.
#[derive(Debug, Clone)]
pub(crate) struct BodyMemory(Arc<Semaphore>);

impl BodyMemory {
    fn of(bytes: usize) -> BodyMemory {
        BodyMemory(Arc::new(Semaphore::new(bytes / PIECE)))
    }

    async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, BodyFault> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).map_err(|_| BodyFault::TooLong)?;
        let taken = Arc::clone(&self.0).acquire_many_owned(pieces);
        match tokio::time::timeout(MEMORY_PATIENCE, taken).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(BodyFault::Busy),
        }
    }
}

/// Memory for bodies of all sessions of a run.
#[derive(Debug)]
pub(crate) struct RunBodies {
    small: BodyMemory,
    long: BodyMemory,
}

impl Default for RunBodies {
    fn default() -> RunBodies {
        RunBodies {
            small: BodyMemory::of(SMALL_MEMORY),
            long: BodyMemory::of(LONG_MEMORY),
        }
    }
}

/// Memory for bodies of one session.
#[derive(Debug)]
pub(crate) struct SessionBodies {
    small: BodyMemory,
    /// The place of the one long body, so that a session does not take the memory of others.
    long: BodyMemory,
}

impl Default for SessionBodies {
    fn default() -> SessionBodies {
        SessionBodies {
            small: BodyMemory::of(OWN_MEMORY),
            long: BodyMemory::of(PIECE),
        }
    }
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFault {
    TooLong,
    TooSlow,
    Busy,
    CutOff,
}

impl BodyFault {
    pub fn status(self) -> StatusCode {
        match self {
            BodyFault::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            BodyFault::TooSlow => StatusCode::REQUEST_TIMEOUT,
            BodyFault::Busy => StatusCode::SERVICE_UNAVAILABLE,
            BodyFault::CutOff => StatusCode::BAD_REQUEST,
        }
    }

    pub fn message(self) -> &'static str {
        match self {
            BodyFault::TooLong => "the request body exceeds 32 MiB",
            BodyFault::TooSlow => "the request body took longer than 30 seconds",
            BodyFault::Busy => "too many large requests are in progress",
            BodyFault::CutOff => "the request body is incomplete",
        }
    }
}

/// A body, and the memory that it has.
#[derive(Debug)]
pub(crate) struct ReadBody {
    pub bytes: Bytes,
    _memory: Vec<OwnedSemaphorePermit>,
}

/// Reads the body of a request.
pub(crate) async fn read_body(
    mut body: Incoming,
    own: &SessionBodies,
    run: &RunBodies,
) -> Result<ReadBody, BodyFault> {
    let hint = body.size_hint();
    let exact = hint.exact().map(usize::try_from).transpose();
    let exact = exact.map_err(|_| BodyFault::TooLong)?;
    if exact.is_some_and(|length| length > LONGEST_BODY) {
        return Err(BodyFault::TooLong);
    }
    let mut memory = Vec::new();
    // One of unknown length is expected to be small. When it is not, it waits with what it has; who
    // has memory of the run for a long one waits for no more, so that this ends.
    let mut room = match exact {
        Some(length) if length > SMALL_BODY => {
            memory.push(own.long.take(1).await?);
            memory.push(run.long.take(length).await?);
            length
        }
        Some(length) => {
            memory.push(own.small.take(length).await?);
            memory.push(run.small.take(length).await?);
            length
        }
        None => {
            memory.push(own.small.take(SMALL_BODY).await?);
            memory.push(run.small.take(SMALL_BODY).await?);
            SMALL_BODY
        }
    };
    let mut bytes = Vec::with_capacity(exact.unwrap_or(0));
    let deadline = tokio::time::Instant::now() + BODY_PATIENCE;
    loop {
        let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let frame = match tokio::time::timeout_at(deadline, next).await {
            Err(_) => return Err(BodyFault::TooSlow),
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(BodyFault::CutOff),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > LONGEST_BODY {
            return Err(BodyFault::TooLong);
        }
        if bytes.len() + data.len() > room {
            memory.push(own.long.take(1).await?);
            memory.push(run.long.take(LONGEST_BODY).await?);
            room = LONGEST_BODY;
        }
        bytes.extend_from_slice(&data);
    }
    // One of unknown length took more.
    if let Some(taken) = memory.last_mut() {
        let spare = (room - bytes.len()) / PIECE;
        drop(taken.split(spare));
    }
    Ok(ReadBody {
        bytes: bytes.into(),
        _memory: memory,
    })
}

type NextPiece = Pin<Box<dyn Future<Output = (PassingAnswer, PassedPiece)> + Send>>;

/// How a recorded answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayedEnd {
    Whole,
    /// The connection breaks.
    Broken,
    BrokenOff,
    Never,
}

/// What an answer goes on with.
pub(crate) type PassedPiece = Option<io::Result<Bytes>>;

/// The body of an answer to an agent.
pub(crate) enum ReplyBody {
    Whole(Option<Bytes>),
    /// Of a recording: used up once it was read to its end.
    Replayed(Option<Bytes>, ReplayUse, ReplayedEnd),
    /// From a model API, as it arrives.
    Passing(Option<NextPiece>),
    /// From an allowed host, with the connection that it is from.
    Other(Incoming, tokio::task::JoinHandle<()>),
}

impl ReplyBody {
    pub fn passing(answer: PassingAnswer) -> ReplyBody {
        ReplyBody::Passing(Some(Box::pin(answer.next())))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            ReplyBody::Whole(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            ReplyBody::Replayed(bytes, replay, end) => match (bytes.take(), *end) {
                (Some(bytes), _) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                (None, ReplayedEnd::Whole) => {
                    replay.deliver();
                    Poll::Ready(None)
                }
                (None, ReplayedEnd::Broken) => {
                    // What was sent goes out first.
                    *end = ReplayedEnd::BrokenOff;
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                (None, ReplayedEnd::BrokenOff) => {
                    let cut = io::Error::other("the recorded answer ends here");
                    Poll::Ready(Some(Err(cut)))
                }
                // Until the agent closes the connection, as it did then.
                (None, ReplayedEnd::Never) => Poll::Pending,
            },
            ReplyBody::Passing(next) => {
                let Some(future) = next else {
                    return Poll::Ready(None);
                };
                let (answer, piece) = std::task::ready!(future.as_mut().poll(cx));
                *next = matches!(piece, Some(Ok(_))).then(|| Box::pin(answer.next()) as NextPiece);
                Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
            }
            ReplyBody::Other(incoming, _) => {
                let frame = std::task::ready!(Pin::new(incoming).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            // One of a known length is not read to its end.
            ReplyBody::Replayed(..) | ReplyBody::Passing(_) => SizeHint::default(),
            ReplyBody::Other(incoming, _) => incoming.size_hint(),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ReplyBody::Whole(None) | ReplyBody::Passing(None))
    }
}

impl Drop for ReplyBody {
    fn drop(&mut self) {
        if let ReplyBody::Other(_, connection) = self {
            connection.abort();
        }
    }
}

/// An answer of the proxy itself: an error in the form of the API.
pub(crate) fn refusal(
    api: Option<AgentApi>,
    status: StatusCode,
    message: &str,
) -> Response<ReplyBody> {
    json_reply(status, &error_body(api, status, message))
}

pub(crate) fn json_reply(status: StatusCode, body: &Value) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(Some(body.to_string().into())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
