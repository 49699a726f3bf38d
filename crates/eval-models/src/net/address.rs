//! Addresses: a base and what is below it, and how a host is named in messages.

use reqwest::Url;

use eval_base::percent;
use eval_base::redact::{REDACTED, secrets_of_query, without_secret_parameters, without_userinfo};

/// Why an endpoint can't be put below a base address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    #[error("`{0}` is not an HTTP address")]
    NotHttp(String),
    #[error("the address {0}")]
    BadBase(&'static str),
    #[error("the endpoint is not below the base address {0}")]
    Elsewhere(String),
    #[error("the endpoint contains a control character")]
    Control,
    #[error("the endpoint does not form a valid address: {0}")]
    Unreadable(String),
}

/// Reads a whole address: `http` or `https`, and a host; it may have a query. Errors don't repeat
/// it.
pub fn read_url(text: &str) -> Result<Url, JoinError> {
    let base = text.split(['?', '#']).next().unwrap_or_default();
    read_base(base)?;
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(JoinError::BadBase(
            "contains a space or a control character",
        ));
    }
    Url::parse(text).map_err(|error| JoinError::Unreadable(error.to_string()))
}

/// Reads a base address: `http` or `https`, a host, and no fragment. Endpoints are put below its
/// path; its query is part of each.
pub fn read_base(text: &str) -> Result<Url, JoinError> {
    let start = JoinError::BadBase("does not begin with `http://` or `https://` and a host");
    // Behind a slash an `@` may be part of a path or of a password: such an address is not shown.
    let shown = || {
        let address = without_secret_parameters(text);
        match address.rsplit_once('@') {
            Some((user, _))
                if user
                    .split("://")
                    .last()
                    .is_some_and(|user| user.contains('/')) =>
            {
                start.clone()
            }
            Some((_, rest)) => JoinError::NotHttp(format!("{REDACTED}@{rest}")),
            None => JoinError::NotHttp(address),
        }
    };
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(JoinError::BadBase(
            "contains a space or a control character",
        ));
    }
    // What browsers forgive, such as `http:user:password@host`, would show the user: one who leaves
    // it out looks behind `://`.
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    let authority = text.split_once("://").map(|(_, rest)| rest);
    if lower.starts_with("http") && authority.is_none_or(|rest| rest.starts_with(['/', '\\'])) {
        return Err(start);
    }
    let url = Url::parse(text).map_err(|_| shown())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(shown());
    }
    if url.fragment().is_some() {
        return Err(JoinError::BadBase(
            "has a fragment (`#...`), which is never sent to a server; remove it",
        ));
    }
    Ok(url)
}

/// The address of an endpoint: a path below the base, with or without a slash at its beginning, its
/// query as written behind that of the base; or a whole address that lies below the base.
pub fn join(base: &str, endpoint: &str) -> Result<Url, JoinError> {
    let root = read_base(base)?;
    if endpoint.chars().any(char::is_control) {
        return Err(JoinError::Control);
    }
    let lower = endpoint.get(..8).unwrap_or(endpoint).to_ascii_lowercase();
    let absolute = lower.starts_with("http://") || lower.starts_with("https://");
    let below = base.split('?').next().unwrap_or(base).trim_end_matches('/');
    let text = match endpoint.strip_prefix('/').unwrap_or(endpoint) {
        _ if absolute => endpoint.to_owned(),
        "" if endpoint.is_empty() => below.to_owned(),
        rest if rest.starts_with(['?', '#']) && !endpoint.starts_with('/') => {
            format!("{below}{rest}")
        }
        rest => format!("{below}/{rest}"),
    };
    let mut url = Url::parse(&text).map_err(|error| JoinError::Unreadable(error.to_string()))?;
    if let Some(query) = root.query() {
        let own = url.query().map_or(String::new(), |own| format!("&{own}"));
        url.set_query(Some(&format!("{query}{own}")));
    }
    // Also `..` leads nowhere else.
    let inside = url.path().strip_prefix(root.path().trim_end_matches('/'));
    let inside = inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let stranger = absolute && (!url.username().is_empty() || url.password().is_some());
    match url.origin() == root.origin() && inside && !stranger {
        true => Ok(with_userinfo_of(url, &root)),
        false => Err(JoinError::Elsewhere(without_userinfo(
            base.split('?').next().unwrap_or(base),
        ))),
    }
}

/// The address with the user and the password of another.
pub(super) fn with_userinfo_of(mut url: Url, root: &Url) -> Url {
    // Only addresses without a host have no place for these, and an HTTP address has one.
    let _ = url.set_username(root.username());
    let _ = url.set_password(root.password());
    url
}

/// What of an address is secret wherever it appears: sensitive parameters of its query, and its
/// password. A user without a password is often an ordinary word; [`lone_user`] has it.
pub fn secrets_of_address(text: &str) -> Vec<String> {
    let mut secrets = secrets_of_query(text);
    let (user, password) = decoded_userinfo(text);
    if !password.is_empty() {
        secrets.extend([format!("{user}:{password}"), password]);
    }
    secrets
}

/// The user of an address without a password, which may be a token; empty where it has none.
pub fn lone_user(text: &str) -> String {
    let (user, password) = decoded_userinfo(text);
    if password.is_empty() {
        user
    } else {
        String::new()
    }
}

/// The user and the password of an address, decoded; empty where it has none.
fn decoded_userinfo(text: &str) -> (String, String) {
    let Ok(url) = Url::parse(text) else {
        return Default::default();
    };
    (
        percent::decode(url.username()),
        percent::decode(url.password().unwrap_or_default()),
    )
}

/// `host:port` for messages.
pub fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the host");
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// True for this machine itself, which no proxy is asked for.
pub(super) fn is_local(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    match plain.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => {
            host.eq_ignore_ascii_case("localhost")
                || host.to_ascii_lowercase().ends_with(".localhost")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_join_as_people_expect() {
        let mut told = String::new();
        for (base, endpoint) in [
            ("http://h/api", "/v1/users"),
            ("http://h/api/", "/v1/users"),
            ("http://h/api", "v1/users"),
            ("http://h/api/", "v1/users?page=1&q=a%2Fb+c&q=&r"),
            ("http://h", "/"),
            ("http://h:8080", ""),
            ("http://h/api", ""),
            ("http://h/api", "?x=1"),
            ("http://h/api", "/?x=1"),
            ("http://h", "//evil.example/x"),
            ("http://h", "@evil.example/x"),
            ("http://h/api", "http://h/api/users?x=1"),
            ("http://h/api", "HTTP://H:80/api"),
            ("http://h/api", "http://h/apiary"),
            ("http://h/api", "http://h/api/../admin"),
            ("http://h/api", "../admin"),
            ("http://h/api", "/a/%2e%2E/../../admin"),
            ("http://h/api", "/a/../b"),
            ("http://h/api", "http://other/api/users"),
            ("http://h/api", "http://u:p@h/api/users"),
            ("http://u:p@h/api", "http://h/api/users"),
            ("http://h", "/a b/ü?q=ü\u{20}x"),
            ("http://h", "/a\r\nHost: x"),
            ("http://h?x=1", "/a"),
            ("http://h/api/?v=1&w", "chat/completions"),
            ("http://h/api?v=1", "/a?x=2#f"),
            ("http://h/api?v=1", "http://h/api/a"),
            ("http://h/api?v=1", "?x=2"),
            ("http://h/api?key=secret", "http://other/"),
            ("http://h/api#f", "/a"),
            ("ftp://u:p@h", "/a"),
            ("u:p@h/v1?api-key=k", "/a"),
            ("http://u:p/w@h", "/a"),
            ("h:8080", "/a"),
            ("h:8080/@scope/v1", "/a"),
            ("http://", "/a"),
            ("http://h /x", "/a"),
            ("http:u:p@h", "/a"),
            ("http:///u:p@h", "/a"),
            ("http://\\\\u:p@h", "/a"),
        ] {
            let said = match join(base, endpoint) {
                Ok(url) => url.to_string(),
                Err(error) => format!("error: {error}"),
            };
            told.push_str(&format!("{base} + {endpoint:?}: {said}\n"));
        }
        insta::assert_snapshot!(told, @r##"
        http://h/api + "/v1/users": http://h/api/v1/users
        http://h/api/ + "/v1/users": http://h/api/v1/users
        http://h/api + "v1/users": http://h/api/v1/users
        http://h/api/ + "v1/users?page=1&q=a%2Fb+c&q=&r": http://h/api/v1/users?page=1&q=a%2Fb+c&q=&r
        http://h + "/": http://h/
        http://h:8080 + "": http://h:8080/
        http://h/api + "": http://h/api
        http://h/api + "?x=1": http://h/api?x=1
        http://h/api + "/?x=1": http://h/api/?x=1
        http://h + "//evil.example/x": http://h//evil.example/x
        http://h + "@evil.example/x": http://h/@evil.example/x
        http://h/api + "http://h/api/users?x=1": http://h/api/users?x=1
        http://h/api + "HTTP://H:80/api": http://h/api
        http://h/api + "http://h/apiary": error: the endpoint is not below the base address http://h/api
        http://h/api + "http://h/api/../admin": error: the endpoint is not below the base address http://h/api
        http://h/api + "../admin": error: the endpoint is not below the base address http://h/api
        http://h/api + "/a/%2e%2E/../../admin": error: the endpoint is not below the base address http://h/api
        http://h/api + "/a/../b": http://h/api/b
        http://h/api + "http://other/api/users": error: the endpoint is not below the base address http://h/api
        http://h/api + "http://u:p@h/api/users": error: the endpoint is not below the base address http://h/api
        http://u:p@h/api + "http://h/api/users": http://u:p@h/api/users
        http://h + "/a b/ü?q=ü x": http://h/a%20b/%C3%BC?q=%C3%BC%20x
        http://h + "/a\r\nHost: x": error: the endpoint contains a control character
        http://h?x=1 + "/a": http://h/a?x=1
        http://h/api/?v=1&w + "chat/completions": http://h/api/chat/completions?v=1&w
        http://h/api?v=1 + "/a?x=2#f": http://h/api/a?v=1&x=2#f
        http://h/api?v=1 + "http://h/api/a": http://h/api/a?v=1
        http://h/api?v=1 + "?x=2": http://h/api?v=1&x=2
        http://h/api?key=secret + "http://other/": error: the endpoint is not below the base address http://h/api
        http://h/api#f + "/a": error: the address has a fragment (`#...`), which is never sent to a server; remove it
        ftp://u:p@h + "/a": error: `[redacted]@h` is not an HTTP address
        u:p@h/v1?api-key=k + "/a": error: `[redacted]@h/v1?api-key=` is not an HTTP address
        http://u:p/w@h + "/a": error: the address does not begin with `http://` or `https://` and a host
        h:8080 + "/a": error: `h:8080` is not an HTTP address
        h:8080/@scope/v1 + "/a": error: the address does not begin with `http://` or `https://` and a host
        http:// + "/a": error: `http://` is not an HTTP address
        http://h /x + "/a": error: the address contains a space or a control character
        http:u:p@h + "/a": error: the address does not begin with `http://` or `https://` and a host
        http:///u:p@h + "/a": error: the address does not begin with `http://` or `https://` and a host
        http://\\u:p@h + "/a": error: the address does not begin with `http://` or `https://` and a host
        "##);
    }

    #[test]
    fn a_user_and_a_password_are_left_out_of_what_is_shown_and_found_for_what_is_hidden() {
        assert_eq!(without_userinfo("http://u:p@h/x@y"), "http://h/x@y");
        assert_eq!(without_userinfo("http://u:p@a@h:1?x=@"), "http://h:1?x=@");
        assert_eq!(without_userinfo("http://h/x@y"), "http://h/x@y");
        assert_eq!(
            decoded_userinfo("http://us%40er:p%C3%BC%@h/"),
            ("us@er".into(), "pü%".into())
        );
        assert_eq!(decoded_userinfo("nothing"), (String::new(), String::new()));
        assert_eq!(
            secrets_of_address("http://u:p@h?v=1&key=0123456"),
            ["0123456", "u:p", "p"]
        );
        assert!(secrets_of_address("http://token@h").is_empty());
        assert_eq!(
            (lone_user("http://token@h"), lone_user("http://u:p@h")),
            ("token".into(), String::new())
        );
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        let local = |text: &str| is_local(&Url::parse(text).unwrap());
        for yes in [
            "http://localhost",
            "http://LOCALHOST:1",
            "http://x.localhost",
            "http://127.0.0.1",
            "http://127.9.9.9",
            "http://[::1]:1",
        ] {
            assert!(local(yes), "{yes}");
        }
        for no in [
            "http://localhost.example",
            "http://128.0.0.1",
            "http://[::2]",
            "http://10.0.0.1",
        ] {
            assert!(!local(no), "{no}");
        }
    }
}
