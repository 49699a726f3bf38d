//! Who may ask: the token, and the headers `Host`, `Origin` and `Sec-Fetch-Site`.
//!
//! The first visit has the token in its address. It gets a cookie that scripts can't read and other
//! sites can't send, and is sent on to the same address without the token, so that neither links nor
//! the history of the browser keep it. A name that resolves to 127.0.0.1 is refused by its `Host`
//! (DNS rebinding), a page of another site or port by its `Origin` or `Sec-Fetch-Site`.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::QueryFields;
use eval_base::text::hex;

/// Bytes of the token: 256 bits.
const TOKEN: usize = 32;
/// Names of this machine. Their port is not compared: it differs where a port is forwarded.
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];
/// The answer to a request that is not allowed.
pub(super) const REFUSAL: &str = "Refused: open the address that was printed when this server started, with its token. \
Requests of other sites and other host names are not answered.\n";

/// A new token, as hexadecimal digits.
///
/// # Errors
/// When the system has no random bytes.
pub fn random_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// What a request must have.
#[derive(Debug, Clone)]
pub(super) struct AccessRules {
    port: u16,
    token: Arc<str>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
enum Admission {
    Allowed,
    /// The token was in the address: a cookie with it, and the address without it.
    Enters(String),
    Refused,
}

impl AccessRules {
    pub fn new(port: u16) -> io::Result<AccessRules> {
        let token = random_token()?.into();
        Ok(AccessRules { port, token })
    }

    pub fn url(&self, page: &str) -> String {
        let (port, token) = (self.port, &self.token);
        let sign = if page.contains('?') { '&' } else { '?' };
        format!("http://127.0.0.1:{port}{page}{sign}token={token}")
    }

    #[cfg(test)]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cookies of one host are shared by all its ports.
    fn cookie_name(&self) -> String {
        format!("eval-harness-{}", self.port)
    }

    fn is_token(&self, text: &str) -> bool {
        // Digests, so that the time of the comparison says nothing about the token.
        Sha256::digest(text) == Sha256::digest(&*self.token)
    }

    fn has_cookie(&self, request: &Request) -> bool {
        let name = self.cookie_name();
        let cookies = request.headers().get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|value| value.split(';'));
        let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(of, value)| of == name && self.is_token(value))
    }

    fn admission(&self, request: &Request) -> Admission {
        if !is_own_host(request) || !is_own_origin(request) {
            return Admission::Refused;
        }
        let query = QueryFields::of(request.uri());
        if let Some(token) = query.get("token") {
            return match self.is_token(token) && request.method() == Method::GET {
                true => Admission::Enters(without_token(request.uri(), &query)),
                false => Admission::Refused,
            };
        }
        match self.has_cookie(request) {
            true => Admission::Allowed,
            false => Admission::Refused,
        }
    }
}

pub(super) async fn guard(
    State(rules): State<AccessRules>,
    request: Request,
    next: Next,
) -> Response {
    match rules.admission(&request) {
        Admission::Allowed => next.run(request).await,
        Admission::Enters(address) => {
            let (name, token) = (rules.cookie_name(), &rules.token);
            let cookie = format!("{name}={token}; HttpOnly; SameSite=Strict; Path=/");
            let headers = [(header::LOCATION, address), (header::SET_COOKIE, cookie)];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Admission::Refused => (StatusCode::FORBIDDEN, REFUSAL).into_response(),
    }
}

/// The one value of a header; `Err` when there are several, or one that is not text.
pub(super) fn only<'a>(request: &'a Request, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = request.headers().get_all(name).iter();
    let first = values.next().map(HeaderValue::to_str).transpose();
    match (first, values.next()) {
        (Ok(first), None) => Ok(first),
        _ => Err(()),
    }
}

pub(super) fn is_own_host(request: &Request) -> bool {
    let Ok(Some(host)) = only(request, &header::HOST) else {
        return false;
    };
    let (name, port) = host.split_once(':').unwrap_or((host, "80"));
    HOSTS.contains(&name) && port.parse::<u16>().is_ok()
}

/// Whether a page of this server sent the request, or the person who uses the browser.
fn is_own_origin(request: &Request) -> bool {
    match has_own_origin(request, "http://") {
        Some(is_own) => is_own,
        // Browsers send it with whatever may change something.
        None => [Method::GET, Method::HEAD].contains(request.method()),
    }
}

/// Whether what a browser says about the sender of a request is this server; `None` where there is
/// no origin, as of programs that are not browsers.
pub(super) fn has_own_origin(request: &Request, scheme: &str) -> Option<bool> {
    let site = HeaderName::from_static("sec-fetch-site");
    match only(request, &site) {
        Ok(None | Some("same-origin" | "none")) => {}
        _ => return Some(false),
    }
    let host = only(request, &header::HOST).ok().flatten();
    match only(request, &header::ORIGIN) {
        Ok(Some(origin)) => Some(host.is_some() && origin.strip_prefix(scheme) == host),
        Ok(None) => None,
        Err(()) => Some(false),
    }
}

fn without_token(uri: &Uri, query: &QueryFields) -> String {
    // One slash: two would begin the name of a host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    query.without("token").address(&path)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn admitted(rules: &AccessRules, target: &str, headers: &[(&str, &str)]) -> Admission {
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        rules.admission(&request.body(Body::empty()).unwrap())
    }

    #[test]
    fn requests_need_own_host_own_origin_and_the_token() {
        let rules = AccessRules::new(4173).unwrap();
        assert_eq!(rules.token.len(), 64);
        assert_ne!(rules.token, AccessRules::new(4173).unwrap().token);
        let cookie = format!("a=b; eval-harness-4173={}", rules.token);
        let host = ("host", "127.0.0.1:4173");
        let with = |more: &[(&str, &str)]| {
            admitted(
                &rules,
                "/",
                &[&[("cookie", cookie.as_str())], more].concat(),
            )
        };
        let allowed: [&[(&str, &str)]; 5] = [
            &[host],
            &[("host", "localhost:9000")],
            &[host, ("origin", "http://127.0.0.1:4173")],
            &[host, ("sec-fetch-site", "same-origin")],
            &[host, ("sec-fetch-site", "none")],
        ];
        for headers in allowed {
            assert_eq!(with(headers), Admission::Allowed, "{headers:?}");
        }
        let refused: [&[(&str, &str)]; 11] = [
            &[],
            &[("host", "evil.example:4173")],
            &[("host", "127.0.0.1.evil.example")],
            &[("host", "127.0.0.1:4173"), ("host", "evil.example")],
            &[("host", "127.0.0.1:4173@evil.example")],
            &[host, ("origin", "http://127.0.0.1:3000")],
            &[host, ("origin", "https://127.0.0.1:4173")],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://evil.example")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ];
        for headers in refused {
            assert_eq!(with(headers), Admission::Refused, "{headers:?}");
        }
        assert_eq!(admitted(&rules, "/", &[host]), Admission::Refused);
        let other = format!("eval-harness-4173={}", "0".repeat(64));
        let other = admitted(&rules, "/", &[host, ("cookie", &other)]);
        assert_eq!(other, Admission::Refused);
    }

    #[test]
    fn token_in_the_address_leaves_it() {
        let rules = AccessRules::new(4173).unwrap();
        let token = &rules.token;
        let host = [("host", "127.0.0.1:4173")];
        for (target, address) in [
            (format!("/?token={token}"), "/"),
            (
                format!("/runs/a%2Fb?q=x+y&token={token}&z=%26"),
                "/runs/a%2Fb?q=x+y&z=%26",
            ),
            (format!("//evil.example/?token={token}"), "/evil.example/"),
        ] {
            let expected = Admission::Enters(address.to_owned());
            assert_eq!(admitted(&rules, &target, &host), expected, "{target}");
        }
        let wrong = ["/?token=".to_owned(), format!("/?token={token}0")];
        for target in wrong {
            assert_eq!(admitted(&rules, &target, &host), Admission::Refused);
        }
        let page = rules.url("/runs/x?outcome=failed");
        assert!(page.ends_with(&format!("failed&token={token}")), "{page}");
    }
}
