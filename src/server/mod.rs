//! Pages and APIs that the program serves: [`LocalServer`] on 127.0.0.1 for the person who started
//! the program, [`ApiServer`] for several people, each with a token.
//!
//! This module owns the listener, the access checks, the headers of every response and the end of
//! the server; what the pages show is the [`Router`] of the caller. Every request needs a token
//! (see [`access`] and [`bearer`]), and no response may be cached, framed, or loaded by another site.

mod access;
mod bearer;
mod connections;
mod events;
mod query;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::net::Ipv4Addr;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;

use access::AccessRules;

pub use access::random_token;
pub use bearer::{ApiServer, CallerName, CertificateFiles, json_error};
pub use events::{EventSender, event_stream};
pub use query::QueryFields;

/// Bytes of the body of a request.
const BODY: usize = 1 << 20;

/// The policy of a response that sets none: nothing may load, run or be sent.
const NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'";

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct LocalServer {
    listener: TcpListener,
    access: AccessRules,
    stop: watch::Sender<bool>,
}

/// Ends what goes on for as long as the server does.
#[derive(Debug, Clone)]
pub struct ServerStop(watch::Receiver<bool>);

impl ServerStop {
    /// Waits until the server stops.
    pub async fn stopped(&mut self) {
        // The server is gone: that is the same.
        let _ = self.0.wait_for(|stops| *stops).await;
    }
}

impl LocalServer {
    /// Listens on 127.0.0.1; on any free port without one.
    ///
    /// # Errors
    /// When the port is taken, or when the system has no random bytes for the token.
    pub async fn bind(port: Option<u16>) -> io::Result<LocalServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let access = AccessRules::new(listener.local_addr()?.port())?;
        Ok(LocalServer {
            listener,
            access,
            stop: watch::Sender::new(false),
        })
    }

    /// The address of a page, which begins with `/`, with the token.
    pub fn url(&self, page: &str) -> String {
        self.access.url(page)
    }

    pub fn stop_signal(&self) -> ServerStop {
        ServerStop(self.stop.subscribe())
    }

    /// Answers until `stop` is over; then ends open responses.
    pub async fn serve(self, pages: Router, stop: impl Future<Output = ()>) -> io::Result<()> {
        let guarded = bounded(pages).layer(from_fn_with_state(self.access, access::guard));
        connections::accept(self.listener, None, headed(guarded), self.stop, stop).await
    }
}

/// The same pages, which read no body that is too long.
fn bounded(pages: Router) -> Router {
    pages
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(DefaultBodyLimit::max(BODY))
}

/// The same pages with the headers that every response has.
fn headed(pages: Router) -> Router {
    pages.layer(from_fn(|request, next: axum::middleware::Next| async {
        with_headers(next.run(request).await)
    }))
}

/// A page with its security policy, as [`crate::report::html::page`] makes both.
pub fn html_page(status: StatusCode, policy: &str, body: Vec<u8>) -> Response {
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
    // Frames can only be forbidden by a header, not within the page.
    let policy = HeaderValue::from_str(&format!("{policy}; frame-ancestors 'none'"));
    let policy = policy.unwrap_or(HeaderValue::from_static(NOTHING));
    let name = header::CONTENT_SECURITY_POLICY;
    response.headers_mut().insert(name, policy);
    response
}

/// What every response has, also one that refuses.
fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(NOTHING));
    response
}
