//! Server-sent events: a response that goes on, to which its task sends.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde::Serialize;
use tokio::sync::mpsc;

/// Events that wait for a browser that reads slowly.
const WAITING: usize = 8;

/// Where events are sent; the response ends when it is dropped.
#[derive(Debug)]
pub struct EventSender(mpsc::Sender<Bytes>);

impl EventSender {
    /// Sends an event. False when the browser is gone.
    pub async fn send(&self, name: &str, data: &impl Serialize) -> bool {
        // JSON has no line breaks, which would end the field.
        let Ok(data) = serde_json::to_string(data) else {
            return true;
        };
        self.write(format!("event: {name}\ndata: {data}\n\n")).await
    }

    /// Sends a comment, by which an end of the connection is noticed.
    pub async fn ping(&self) -> bool {
        self.write(":\n\n".to_owned()).await
    }

    async fn write(&self, text: String) -> bool {
        self.0.send(text.into()).await.is_ok()
    }
}

/// The response and where its events are sent.
pub fn event_stream() -> (EventSender, Response) {
    let (sender, receiver) = mpsc::channel(WAITING);
    let kind = HeaderValue::from_static("text/event-stream");
    let body = Body::new(EventBody(receiver));
    let response = ([(header::CONTENT_TYPE, kind)], body).into_response();
    (EventSender(sender), response)
}

struct EventBody(mpsc::Receiver<Bytes>);

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.poll_recv(context);
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
