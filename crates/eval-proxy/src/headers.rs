//! Which headers are passed on.

use eval_base::redact::is_sensitive_header;
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

/// What goes to the real server: the agent's headers without connection, cookies and secrets, those
/// of the upstream, and the real key.
pub(crate) fn upstream_headers(
    headers: &HeaderMap,
    upstream: &ApiUpstream,
    token: &[u8; 32],
) -> Vec<(String, String)> {
    let named = connection_names(headers);
    let is_about_the_way = |name: &str| {
        name.starts_with("x-forwarded-")
            || name.starts_with("proxy-")
            || matches!(name, "forwarded" | "via" | "accept-encoding" | "x-real-ip")
    };
    let kept = headers.iter().filter_map(|(name, value)| {
        let value = value.to_str().ok()?;
        let fits = !is_hop_by_hop(name, &named)
            && !is_about_the_way(name.as_str())
            && !is_sensitive_header(name.as_str())
            && digest(value.as_bytes()) != *token
            && check_header(name.as_str(), value).is_ok();
        fits.then(|| (name.as_str().to_owned(), value.to_owned()))
    });
    let mut all: Vec<(String, String)> = kept.collect();
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
