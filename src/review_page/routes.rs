//! The routes of the page and of its API.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;

use super::desk::ReviewDesk;
use super::page;
use crate::review::{Decision, ReviewError};
use crate::server::{CallerName, json_error};

/// The page, which needs no token: it has nothing of a review within.
pub fn page_routes() -> Router {
    Router::new()
        .route("/", get(|| async { page::response() }))
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
}

/// The API. Each request has a [`CallerName`], who is the reviewer.
pub fn api_routes(desk: Arc<ReviewDesk>) -> Router {
    Router::new()
        .route("/api/session", get(session))
        .route("/api/items/{index}", get(item))
        .route("/api/items/{index}/rating", post(rate))
        .route("/api/undo", post(undo))
        .with_state(desk)
}

type Desk = State<Arc<ReviewDesk>>;
type Caller = Extension<CallerName>;

async fn session(State(desk): Desk, Extension(caller): Caller) -> Response {
    answer(move || desk.overview(&caller.0)).await
}

async fn item(State(desk): Desk, Extension(caller): Caller, Path(index): Path<usize>) -> Response {
    answer(move || desk.screen(&caller.0, index)).await
}

async fn rate(
    State(desk): Desk,
    Extension(caller): Caller,
    Path(index): Path<usize>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return json_error(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "send the decision with `Content-Type: application/json`",
        );
    }
    let decision = match serde_json::from_slice::<Decision>(&body) {
        Ok(decision) if decision.seconds >= 0.0 => decision,
        Ok(_) => return invalid("`seconds` is negative"),
        Err(error) => return invalid(&error.to_string()),
    };
    answer(move || desk.decide(&caller.0, index, decision)).await
}

async fn undo(State(desk): Desk, Extension(caller): Caller) -> Response {
    answer(move || desk.undo(&caller.0)).await
}

fn invalid(why: &str) -> Response {
    let words = format!("the body is not a decision: {why}");
    json_error(StatusCode::BAD_REQUEST, "invalid_decision", &words)
}

/// Answers where files may be read and written.
async fn answer<T: Serialize + Send + 'static>(
    make: impl FnOnce() -> Result<T, ReviewError> + Send + 'static,
) -> Response {
    let made = tokio::task::spawn_blocking(make).await;
    match made {
        Ok(Ok(value)) => match serde_json::to_vec(&value) {
            Ok(body) => {
                let kind = HeaderValue::from_static("application/json");
                ([(header::CONTENT_TYPE, kind)], body).into_response()
            }
            Err(error) => internal(&error.to_string()),
        },
        Ok(Err(error)) => refusal(&error),
        Err(_) => internal("this is a defect of eval-harness"),
    }
}

fn internal(why: &str) -> Response {
    let words = format!("internal error: {why}");
    json_error(StatusCode::INTERNAL_SERVER_ERROR, "internal", &words)
}

fn refusal(error: &ReviewError) -> Response {
    let (status, word) = match error {
        ReviewError::NoItem { .. } => (StatusCode::NOT_FOUND, "no_item"),
        ReviewError::Unfit(_) => (StatusCode::UNPROCESSABLE_ENTITY, "unfitting_rating"),
        ReviewError::Gone { .. } => (StatusCode::GONE, "output_gone"),
        ReviewError::Ratings(_) | ReviewError::Random(_) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "not_recorded")
        }
        ReviewError::Journal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "unreadable_run"),
        _ => (StatusCode::CONFLICT, "nothing_to_review"),
    };
    let hint = error.hint().map(|hint| format!(" ({hint})"));
    let words = format!("{error}{}", hint.unwrap_or_default());
    json_error(status, word, &words)
}
