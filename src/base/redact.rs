//! Keeps secrets out of everything that is written.

use super::base64;

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Secrets shorter than this are not looked for: they would match by chance.
pub const SHORTEST_SECRET: usize = 6;

/// Headers whose values are secrets.
const SENSITIVE: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key"];

/// True when the value of a header of this name (in any case) is a secret: it authorises, or its name says so. The key of
/// `Idempotency-Key` opens nothing.
pub fn is_sensitive_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let tells = ["token", "secret", "key", "password", "passwd", "credential"];
    let authorises =
        || name.split(['-', '_']).any(|word| matches!(word, "auth" | "authorization" | "session"));
    name != "idempotency-key"
        && (SENSITIVE.contains(&name.as_str())
            || tells.iter().any(|word| name.contains(word))
            || authorises())
}

/// What must not be written of a request's header, when it is sensitive: its value, the value without the word of its
/// scheme (`Bearer x`), the user and password of `Basic`, and the values of cookies.
pub fn secrets_of_header(name: &str, value: &str) -> Vec<String> {
    if !is_sensitive_header(name) {
        return Vec::new();
    }
    let value = value.trim();
    let mut found = vec![value.to_owned()];
    let cookies = name.to_ascii_lowercase().ends_with("cookie");
    if let Some((scheme, rest)) = value.split_once(' ').filter(|_| !cookies) {
        let rest = rest.trim_start();
        found.push(rest.to_owned());
        if scheme.eq_ignore_ascii_case("basic")
            && let Some(pair) = base64::decode(rest).and_then(|bytes| String::from_utf8(bytes).ok())
        {
            found.extend(pair.split_once(':').map(|(_, password)| password.to_owned()));
            found.push(pair);
        }
    }
    if cookies {
        let pairs = value.split(';').filter_map(|pair| pair.split_once('='));
        found.extend(pairs.map(|(_, value)| value.trim().to_owned()));
    }
    found.retain(|secret| secret.chars().count() >= SHORTEST_SECRET);
    found
}

/// An address without the user and the password that it may hold.
pub fn without_userinfo(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = rest.get(..authority).and_then(|authority| authority.rfind('@'));
    match at.and_then(|at| rest.get(at + 1..)) {
        Some(rest) => format!("{scheme}://{rest}"),
        None => text.to_owned(),
    }
}

/// Replaces known secrets in texts.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// Each secret as it is and, where that differs, as it looks quoted once, twice and three times: a report quotes what an
    /// output quoted. Longest first, so that a secret that holds another is replaced whole.
    needles: Vec<String>,
}

impl Redactor {
    /// Values of fewer than [`SHORTEST_SECRET`] characters are left out.
    pub fn new<I: IntoIterator<Item = String>>(secrets: I) -> Self {
        let mut needles = Vec::new();
        for secret in secrets.into_iter().filter(|s| s.chars().count() >= SHORTEST_SECRET) {
            let mut needle = secret;
            for _ in 0..4 {
                let quoted = serde_json::Value::String(needle.clone()).to_string();
                let escaped = quoted[1..quoted.len() - 1].to_owned();
                let plain = escaped == needle;
                needles.push(std::mem::replace(&mut needle, escaped));
                if plain {
                    break;
                }
            }
        }
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        needles.dedup();
        Redactor { needles }
    }

    /// True when there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// The text without secrets, or `None` when it holds none.
    pub fn redact(&self, text: &str) -> Option<String> {
        let mut redacted: Option<String> = None;
        for needle in &self.needles {
            let current = redacted.as_deref().unwrap_or(text);
            if current.contains(needle.as_str()) {
                redacted = Some(current.replace(needle.as_str(), REDACTED));
            }
        }
        redacted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_as_it_is_and_inside_json() {
        let redactor = Redactor::new(["pa\"ss\\word".to_owned(), "abc".to_owned(), "tok-123456".to_owned()]);
        let json = serde_json::json!({ "k": "pa\"ss\\word and tok-123456, abc" }).to_string();
        assert_eq!(redactor.redact(&json).unwrap(), r#"{"k":"[redacted] and [redacted], abc"}"#);
        assert_eq!(redactor.redact("pa\"ss\\word").unwrap(), "[redacted]");
        assert_eq!(redactor.redact("abc"), None);
        let twice = serde_json::json!({ "reason": format!("got {:?}", "pa\"ss\\word") }).to_string();
        assert_eq!(redactor.redact(&twice).unwrap(), r#"{"reason":"got \"[redacted]\""}"#);
    }

    #[test]
    fn headers_that_authorise_are_known_by_their_names() {
        for yes in
            ["Authorization", "X-API-Key", "cookie", "X-Access-Token", "x-auth", "my_password", "X-Session"]
        {
            assert!(is_sensitive_header(yes), "{yes}");
        }
        for no in ["Accept", "X-Author", "Idempotency-Key", "content-type", "X-Request-Id", "sessions-total"]
        {
            assert!(!is_sensitive_header(no), "{no}");
        }
        assert_eq!(
            secrets_of_header("authorization", "Bearer tok-123456"),
            ["Bearer tok-123456", "tok-123456"]
        );
        assert_eq!(
            secrets_of_header("Authorization", "Basic dXNlcjpodW50ZXIyMg=="),
            ["Basic dXNlcjpodW50ZXIyMg==", "dXNlcjpodW50ZXIyMg==", "hunter22", "user:hunter22"]
        );
        assert_eq!(
            secrets_of_header("Cookie", "sid=abcdef123; lang=en"),
            ["sid=abcdef123; lang=en", "abcdef123"]
        );
        assert!(secrets_of_header("Accept", "application/json").is_empty());
        assert!(secrets_of_header("X-Token", "short").is_empty());
    }

    #[test]
    fn a_secret_that_holds_another_goes_whole() {
        let redactor = Redactor::new(["secret".to_owned(), "my-secret-key".to_owned()]);
        assert_eq!(redactor.redact("my-secret-key").unwrap(), "[redacted]");
    }
}
