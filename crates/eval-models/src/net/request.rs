//! What is sent.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use super::error::NetError;

/// One call. Nothing of it is ever part of an error but the host.
#[derive(Clone)]
pub struct NetworkRequest {
    pub method: String,
    pub url: Url,
    /// By name, in any case; of two that differ only in case the last counts.
    pub headers: Vec<(String, String)>,
    pub body: Option<Bytes>,
    /// For the whole call, from the connection to the last byte, redirects included.
    pub timeout: Duration,
    /// Until the head of the answer, the way to it included; `None`: as long as the whole call.
    pub first_byte: Option<Duration>,
    /// Redirects that are followed; with 0 a redirect is the answer.
    pub redirects: u32,
}

/// What is wrong with a header; the value is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    #[error("`{0}` is not a header name; use letters, digits and `-`")]
    Name(String),
    #[error("the value of the header `{0}` contains a line break or another control character")]
    Value(String),
    #[error("the header `{0}` is computed from the request and can't be set")]
    Own(String),
}

/// Headers that say how a message is framed.
const OWN: [&str; 6] = [
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
];

/// Checks a header that somebody wrote.
pub fn check_header(name: &str, value: &str) -> Result<(), HeaderFault> {
    read_header(name, value).map(drop)
}

fn read_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HeaderFault> {
    let known =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| HeaderFault::Name(name.to_owned()))?;
    if OWN.contains(&known.as_str()) {
        return Err(HeaderFault::Own(name.to_owned()));
    }
    match HeaderValue::from_bytes(value.as_bytes()) {
        Ok(value) => Ok((known, value)),
        Err(_) => Err(HeaderFault::Value(name.to_owned())),
    }
}

/// Checks a method: any token (RFC 9110, section 9.1) but `CONNECT`, which asks for a tunnel and no
/// answer.
pub fn check_method(method: &str) -> Result<(), String> {
    read_method(method).map(drop)
}

fn read_method(method: &str) -> Result<Method, String> {
    match Method::from_bytes(method.as_bytes()) {
        Ok(Method::CONNECT) => {
            Err("`CONNECT` is not allowed: it opens a tunnel and returns no response".to_owned())
        }
        Ok(method) => Ok(method),
        Err(_) => Err(format!(
            "`{method}` is not a method; write one word, such as GET or POST"
        )),
    }
}

/// A request in the form that is sent, and changed by redirects.
pub(super) struct PreparedRequest {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
}

impl PreparedRequest {
    pub fn new(request: &NetworkRequest) -> Result<PreparedRequest, NetError> {
        let method = read_method(&request.method).map_err(NetError::Unsendable)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let (name, value) = read_header(name, value)
                .map_err(|fault| NetError::Unsendable(fault.to_string()))?;
            headers.insert(name, value);
        }
        Ok(PreparedRequest {
            method,
            url: request.url.clone(),
            headers,
            body: request.body.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_methods_that_cannot_be_sent_are_named_without_their_values() {
        let mut told = String::new();
        for (name, value) in [
            ("X-A", "fine, ü\tand more"),
            ("x y", "v"),
            ("", "v"),
            ("X-Töken", "v"),
            ("X-Token", "secret\r\nHost: evil"),
            ("X-Token", "secret\0"),
            ("Content-Length", "3"),
        ] {
            told.push_str(&format!(
                "{name:?}: {:?}\n",
                check_header(name, value).map_err(|e| e.to_string())
            ));
        }
        for method in ["GET", "purge", "GE T", "", "CONNECT", "M-SEARCH", "GET\r\n"] {
            told.push_str(&format!("{method:?}: {:?}\n", check_method(method)));
        }
        assert!(!told.contains("secret"));
        insta::assert_snapshot!(told, @r##"
        "X-A": Ok(())
        "x y": Err("`x y` is not a header name; use letters, digits and `-`")
        "": Err("`` is not a header name; use letters, digits and `-`")
        "X-Töken": Err("`X-Töken` is not a header name; use letters, digits and `-`")
        "X-Token": Err("the value of the header `X-Token` contains a line break or another control character")
        "X-Token": Err("the value of the header `X-Token` contains a line break or another control character")
        "Content-Length": Err("the header `Content-Length` is computed from the request and can't be set")
        "GET": Ok(())
        "purge": Ok(())
        "GE T": Err("`GE T` is not a method; write one word, such as GET or POST")
        "": Err("`` is not a method; write one word, such as GET or POST")
        "CONNECT": Err("`CONNECT` is not allowed: it opens a tunnel and returns no response")
        "M-SEARCH": Ok(())
        "GET\r\n": Err("`GET\r\n` is not a method; write one word, such as GET or POST")
        "##);
    }
}
