//! Which headers are passed on.

use eval_models::net::check_header;
use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue};

use crate::routes::digest;
use crate::{AgentApi, ApiUpstream};

/// Of one connection (RFC 9110, section 7.6.1), or about the way to the proxy.
const HOP_BY_HOP: [&str; 12] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "host",
    "expect",
];

/// Of an answer, what an agent may need.
const ANSWER_HEADERS: [&str; 7] = [
    "content-type",
    "content-encoding",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "request-id",
    "x-request-id",
];

/// Beginnings of further ones.
const ANSWER_PREFIXES: [&str; 2] = ["anthropic-ratelimit-", "x-ratelimit-"];

/// Whether a header is of one connection alone; `named` are those that `Connection` names.
pub(crate) fn is_hop_by_hop(name: &HeaderName, named: &[String]) -> bool {
    HOP_BY_HOP.contains(&name.as_str()) || named.iter().any(|other| other == name.as_str())
}

/// The headers that `Connection` names.
pub(crate) fn connection_names(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(CONNECTION).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let names = texts.flat_map(|text| text.split(','));
    names.map(|name| name.trim().to_ascii_lowercase()).collect()
}

/// Of a request, what an API may need. Others could choose another server or form of the answer at a
/// gateway.
const REQUEST_HEADERS: [&str; 10] = [
    "accept",
    "content-type",
    "user-agent",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "originator",
    "x-app",
    "x-goog-api-client",
    "idempotency-key",
];

/// What goes to the real server: headers of the agent that are known to be harmless, those of the
/// upstream, and the real key.
pub(crate) fn upstream_headers(
    headers: &HeaderMap,
    upstream: &ApiUpstream,
    token: &[u8; 32],
) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, value) in headers {
        let name = name.as_str();
        let Ok(value) = value.to_str() else {
            continue;
        };
        let is_kept = REQUEST_HEADERS.contains(&name) || name.starts_with("x-stainless-");
        if !is_kept || digest(value.as_bytes()) == *token || check_header(name, value).is_err() {
            continue;
        }
        // One that is repeated is a list.
        match all.iter_mut().find(|(other, _)| other == name) {
            Some((_, known)) => {
                known.push_str(", ");
                known.push_str(value);
            }
            None => all.push((name.to_owned(), value.to_owned())),
        }
    }
    // What is compressed cannot be counted.
    all.push(("accept-encoding".to_owned(), "identity".to_owned()));
    if let Some(key) = upstream.key.as_ref().and_then(|key| key.get()) {
        all.push(match upstream.api {
            AgentApi::Anthropic => ("x-api-key".to_owned(), key.to_owned()),
            AgentApi::Openai => ("authorization".to_owned(), format!("Bearer {key}")),
            AgentApi::Gemini => ("x-goog-api-key".to_owned(), key.to_owned()),
        });
    }
    for (name, value) in &upstream.headers {
        all.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        all.push((name.clone(), value.clone()));
    }
    all
}

/// What an agent gets of the headers of an answer.
pub(crate) fn answer_headers<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        let is_kept = ANSWER_HEADERS.contains(&name)
            || ANSWER_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix));
        if let (true, Ok(name), Ok(value)) = (
            is_kept,
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_bytes(value),
        ) {
            kept.append(name, value);
        }
    }
    kept
}
