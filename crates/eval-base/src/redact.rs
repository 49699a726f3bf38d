//! Keeps secrets out of everything that is written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::Regex;
use serde::Serializer;
use serde_json::Value;

use super::{json, percent};

/// Base64 with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Secrets shorter than this are not looked for: they would match by chance.
pub const SHORTEST_SECRET: usize = 6;

/// True when the value of a header of this name (in any case) is a secret: it authorises, or its
/// name says so. The key of `Idempotency-Key` opens nothing.
pub fn is_sensitive_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let tells = ["token", "secret", "key", "password", "passwd", "credential"];
    let authorises = || {
        name.split(['-', '_'])
            .any(|word| matches!(word, "auth" | "authorization" | "session"))
    };
    name != "idempotency-key"
        && (matches!(name.as_str(), "cookie" | "set-cookie")
            || tells.iter().any(|word| name.contains(word))
            || authorises())
}

/// What must not be written of a request's header, when it is sensitive: its value, the value
/// without the word of its scheme (`Bearer x`), the user and password of `Basic`, and the values of
/// cookies.
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
            && let Some(pair) = BASE64
                .decode(rest)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
        {
            found.extend(
                pair.split_once(':')
                    .map(|(_, password)| password.to_owned()),
            );
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

/// True when the value of a query's parameter of this name is a secret. Only whole words tell: the
/// value of `page_token` or `sort_key` is part of the question.
pub fn is_sensitive_parameter(name: &str) -> bool {
    let name: String = percent::decode(name)
        .to_lowercase()
        .replace(['-', '_', '.', '+'], "");
    let whole = [
        "token",
        "key",
        "auth",
        "authorization",
        "jwt",
        "sig",
        "sid",
        "sessionid",
    ];
    let ends = [
        "secret",
        "password",
        "passwd",
        "signature",
        "credential",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "subscriptionkey",
        "accesstoken",
        "refreshtoken",
        "authtoken",
        "apitoken",
        "bearertoken",
        "idtoken",
        "sessiontoken",
        "securitytoken",
    ];
    whole.contains(&name.as_str()) || ends.iter().any(|end| name.ends_with(end))
}

/// The values of the sensitive parameters of an endpoint's query, as written and as they are read.
pub fn secrets_of_query(endpoint: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in parameters(endpoint).filter_map(|pair| pair.split_once('=')) {
        if is_sensitive_parameter(name) {
            found.extend([
                value.to_owned(),
                percent::decode(value),
                percent::decode(&value.replace('+', " ")),
            ]);
        }
    }
    found.retain(|secret| secret.chars().count() >= SHORTEST_SECRET);
    found.dedup();
    found
}

/// An endpoint without the values of its query's sensitive parameters.
pub fn without_secret_parameters(endpoint: &str) -> String {
    let Some((path, rest)) = endpoint.split_once('?') else {
        return endpoint.to_owned();
    };
    let (query, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let kept = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_sensitive_parameter(name) => format!("{name}="),
        _ => pair.to_owned(),
    });
    format!("{path}?{}{fragment}", kept.collect::<Vec<_>>().join("&"))
}

fn parameters(endpoint: &str) -> impl Iterator<Item = &str> {
    let query = endpoint.split_once('?').map_or("", |(_, query)| query);
    query.split('#').next().unwrap_or_default().split('&')
}

/// An address without the user and the password that it may hold.
pub fn without_userinfo(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = rest
        .get(..authority)
        .and_then(|authority| authority.rfind('@'));
    match at.and_then(|at| rest.get(at + 1..)) {
        Some(rest) => format!("{scheme}://{rest}"),
        None => text.to_owned(),
    }
}

/// A text in which asterisks replace the users and passwords of addresses and the values of secret
/// parameters. Every other character keeps its column. A password that contains a blank or a quote
/// is replaced only in part.
pub fn masked_addresses(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || ['"', '\'', '`', '<', '>'].contains(&c);
    text.split_inclusive(is_end).map(masked_address).collect()
}

/// A line of a settings file in which asterisks replace the values that are secrets by their key:
/// tokens, passwords, addresses of webhooks, and what is no name under `api_key_env`. Templates and
/// names of variables are kept, and every other character keeps its column. `is_in_notify` is true
/// when the line belongs to `notify`, where each `url` is a secret.
pub fn masked_settings(line: &str, is_in_notify: bool) -> Cow<'_, str> {
    let (mut out, mut done) = (String::new(), 0);
    for (colon, _) in line.match_indices(':') {
        if colon < done {
            continue;
        }
        let Some((name, value)) = setting_at(line, colon) else {
            continue;
        };
        let content = &line[value.clone()];
        let is_secret = match name.to_ascii_lowercase().as_str() {
            "url" => is_in_notify || content.to_ascii_lowercase().contains("hooks.slack.com"),
            "api_key_env" => content.starts_with("sk-") || !is_variable_name(content),
            "api_key_file" => !content.contains(['/', '.', '\\']),
            name => is_sensitive_setting(name),
        };
        if is_secret && !is_variable_reference(content) {
            out.push_str(&line[done..value.start]);
            out.push_str(&masked_value(content));
            done = value.end;
        }
    }
    if done == 0 {
        return Cow::Borrowed(line);
    }
    out.push_str(&line[done..]);
    Cow::Owned(out)
}

/// The name before a colon of a line, and where its value is, without quotes; `None` where the
/// colon ends no key, or where the value is not a text on the same line.
fn setting_at(line: &str, colon: usize) -> Option<(&str, std::ops::Range<usize>)> {
    let quotes = ['"', '\''];
    let before = &line[..colon];
    let bare = before.strip_suffix(quotes).unwrap_or(before);
    let is_quoted = bare.len() < before.len();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = &bare[bare.trim_end_matches(is_part).len()..];
    let lead = &bare[..bare.len() - name.len()];
    // A quote that opens before the name and is still open contains the value too.
    let open = lead.chars().last().filter(|c| quotes.contains(c));
    let lead = lead.strip_suffix(quotes).unwrap_or(lead).trim_end();
    let is_key = lead.is_empty() || lead.ends_with(['{', ',', '[', '-', '?', '#']);
    let after = &line[colon + 1..];
    let is_apart = is_quoted || open.is_some() || after.starts_with(char::is_whitespace);
    if name.is_empty() || !is_key || !is_apart {
        return None;
    }
    let value = after.trim();
    let start = colon + 1 + (after.len() - after.trim_start().len());
    let (start, len) = match (value.chars().next()?, open) {
        (_, Some(quote)) if !is_quoted => (start, value.find(quote)),
        (quote, _) if quotes.contains(&quote) => (start + 1, quoted_len(&value[1..], quote)),
        ('{' | '[' | '|' | '>', _) => return None,
        _ if lead.ends_with(['{', ',', '[']) => (start, value.find([',', '}', ']'])),
        _ => (start, value.find(" #")),
    };
    let end = len.map_or(line.trim_end().len(), |len| start + len);
    let content = line[start..end].trim_end();
    (!content.is_empty()).then(|| (name, start..start + content.len()))
}

/// Bytes before the quote that closes a text.
fn quoted_len(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            let is_doubled = quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote);
            if !is_doubled {
                return Some(at);
            }
            chars.next();
        } else if c == '\\' && quote == '"' {
            chars.next();
        }
    }
    None
}

/// Whether the value of a setting of this name, in lower case, is a secret.
fn is_sensitive_setting(name: &str) -> bool {
    let name = name.replace('_', "-");
    let is_kept = name.ends_with("-env")
        || name.ends_with("-file")
        || name.contains("tokens")
        || name.contains("tokeniz");
    let words = [
        "apikey",
        "authorization",
        "cookie",
        "credential",
        "token",
        "secret",
        "password",
        "passwd",
    ];
    !is_kept
        && (words.iter().any(|word| name.contains(word))
            || name.contains('-') && is_sensitive_parameter(&name))
}

fn is_variable_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `$NAME`, `${NAME}`, or a name such as `MY_TOKEN`.
fn is_variable_reference(text: &str) -> bool {
    let braced = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    let name = braced.or_else(|| text.strip_prefix('$'));
    let is_upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (name.is_some() || text.contains('_')) && name.unwrap_or(text).chars().all(is_upper)
}

/// A value as asterisks, except its templates and the word of its scheme (`Bearer x`).
fn masked_value(value: &str) -> String {
    let schemes = ["bearer", "basic", "token"];
    let scheme = value.find(' ').filter(|at| {
        let word = value[..*at].to_ascii_lowercase();
        schemes.contains(&word.as_str())
    });
    let (scheme, mut rest) = value.split_at(scheme.map_or(0, |at| at + 1));
    let mut out = scheme.to_owned();
    while let Some(from) = rest.find("{{") {
        let Some(len) = rest[from..].find("}}") else {
            break;
        };
        let end = from + len + 2;
        out.push_str(&stars(&rest[..from]));
        out.push_str(&rest[from..end]);
        rest = &rest[end..];
    }
    out.push_str(&stars(rest));
    out
}

/// As many asterisks as a secret has characters.
fn stars(secret: &str) -> String {
    "*".repeat(secret.chars().count())
}

/// [`masked_addresses`] of one word.
fn masked_address(word: &str) -> String {
    let (address, query) = word.split_at(word.find('?').unwrap_or(word.len()));
    let start = address.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = address.split_at(start);
    // A wrong address may have a `/` in its password, or no scheme.
    let at = rest.rfind('@').filter(|at| {
        let user = &rest[..*at];
        user.contains(':') || start > 0 && !user.contains('/')
    });
    let (user, rest) = rest.split_at(at.unwrap_or(0));
    let mut out = format!("{scheme}{}{rest}", stars(user));
    for part in query.split_inclusive(['?', '&', '#']) {
        let (pair, end) = part.split_at(part.find(['?', '&', '#']).unwrap_or(part.len()));
        match pair.split_once('=') {
            Some((name, value)) if is_sensitive_parameter(name) => {
                let secret = value
                    .trim_end_matches(['"', '\'', '`', '<', '>'])
                    .trim_end();
                let rest = &value[secret.len()..];
                out.push_str(&format!("{name}={}{rest}{end}", stars(secret)));
            }
            _ => out.push_str(part),
        }
    }
    out
}

/// Serialises headers without the values that are secrets: another token is the same target, and
/// the same input.
pub fn serialize_headers<S: Serializer>(
    headers: &BTreeMap<String, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(headers.iter().map(|(name, value)| {
        let value = if is_sensitive_header(name) { "" } else { value };
        (name, value)
    }))
}

/// Serialises an address without its user, its password and the values of secret parameters.
pub fn serialize_url<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&without_secret_parameters(&without_userinfo(url)))
}

/// Replaces known secrets in texts.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// Each secret as it is, in an address and in base64; each of these, where that differs, also
    /// as it looks quoted once, twice and three times: a report quotes what an output quoted.
    /// Beside each quoted form is the one of [`json`], which escapes more characters. Longest
    /// first, so that a secret that holds another is replaced whole.
    needles: Vec<String>,
    /// Finds any of them: most texts have none.
    any: Option<Regex>,
}

/// A secret as services send it back: in an address, in either way of writing it, and in base64,
/// with and without padding.
fn forms(secret: &str) -> Vec<String> {
    let encoded = percent::encode(secret);
    let lower =
        encoded
            .split('%')
            .enumerate()
            .map(|(at, part)| match (at, part.get(..2), part.get(2..)) {
                (0, ..) | (_, None, _) | (_, _, None) => part.to_owned(),
                (_, Some(code), Some(rest)) => format!("%{}{rest}", code.to_lowercase()),
            });
    let lower: String = lower.collect();
    let mut all = vec![secret.to_owned(), lower.clone()];
    for known in [secret, &encoded] {
        all.push(known.replace("%20", "+"));
        all.push(known.trim_end_matches('=').to_owned());
    }
    // Python's `quote` leaves the slash; a reader of forms takes `+` for a blank.
    for known in [&encoded, &lower] {
        all.push(known.replace("%2F", "/").replace("%2f", "/"));
    }
    all.push(secret.replace('+', " "));
    all.push(encoded);
    all.push(BASE64.encode(secret).trim_end_matches('=').to_owned());
    all.retain(|form| form.chars().count() >= SHORTEST_SECRET);
    all.sort();
    all.dedup();
    all
}

impl Redactor {
    /// Values of fewer than [`SHORTEST_SECRET`] characters are left out.
    pub fn new<I: IntoIterator<Item = String>>(secrets: I) -> Self {
        let mut needles = Vec::new();
        let secrets = secrets
            .into_iter()
            .filter(|s| s.chars().count() >= SHORTEST_SECRET);
        for mut needle in secrets.flat_map(|secret| forms(&secret)) {
            for _ in 0..4 {
                let quoted = Value::String(needle.clone()).to_string();
                let escaped = quoted[1..quoted.len() - 1].to_owned();
                let plain = escaped == needle;
                if let Cow::Owned(hidden) = json::escaped(&escaped) {
                    needles.push(hidden);
                }
                needles.push(std::mem::replace(&mut needle, escaped));
                if plain {
                    break;
                }
            }
        }
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        let words: Vec<String> = needles.iter().map(|needle| regex::escape(needle)).collect();
        let any = (!words.is_empty()).then(|| Regex::new(&words.join("|")).ok());
        Redactor {
            any: any.flatten(),
            needles,
        }
    }

    /// Finds the values of variables whose names say that they are secret: a program that has the
    /// user's whole environment may print of it what must not get into a report.
    pub fn of_environment(env: &[(OsString, OsString)]) -> Redactor {
        let is_secret = |name: &str| {
            let name = name.to_ascii_uppercase();
            // Beside what names of parameters end with.
            let ends = [
                "TOKEN",
                "PASSPHRASE",
                "CREDENTIALS",
                "WEBHOOK",
                "WEBHOOK_URL",
            ];
            is_sensitive_parameter(&name) || ends.iter().any(|end| name.ends_with(end))
        };
        // A shorter value (`true`, `github`) is a word that would be missed in the text.
        let values = env
            .iter()
            .filter(|(name, _)| name.to_str().is_some_and(is_secret));
        let values = values
            .filter_map(|(_, value)| value.to_str())
            .filter(|value| value.len() >= 8);
        Redactor::new(values.map(str::to_owned))
    }

    /// True when there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// The text without secrets, or `None` when it holds none.
    pub fn redact(&self, text: &str) -> Option<String> {
        if self.any.as_ref().is_some_and(|any| !any.is_match(text)) {
            return None;
        }
        let mut redacted: Option<String> = None;
        for needle in &self.needles {
            let current = redacted.as_deref().unwrap_or(text);
            if current.contains(needle.as_str()) {
                redacted = Some(current.replace(needle.as_str(), REDACTED));
            }
        }
        redacted
    }

    /// Replaces secrets within data, keys and numbers included.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(clean) = self.redact(text) {
                    *text = clean;
                }
            }
            Value::Number(number) => {
                if self.redact(&number.to_string()).is_some() {
                    *value = Value::String(REDACTED.to_owned());
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, mut field)| {
                        self.redact_value(&mut field);
                        (self.redact(&name).unwrap_or(name), field)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// A text that was cut off, without the beginning of a secret at its end: nobody could tell it
    /// from any other text there.
    pub fn without_begun<'a>(&self, text: &'a str) -> &'a str {
        let begun = |needle: &String| {
            let such = |n: &usize| needle.get(..*n).is_some_and(|begun| text.ends_with(begun));
            (1..needle.len()).rev().find(such)
        };
        let longest = self.needles.iter().filter_map(begun).max().unwrap_or(0);
        text.get(..text.len() - longest).unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_as_it_is_and_inside_json() {
        let redactor = Redactor::new([
            "pa\"ss\\word".to_owned(),
            "abc".to_owned(),
            "tok-123456".to_owned(),
        ]);
        let json = serde_json::json!({ "k": "pa\"ss\\word and tok-123456, abc" }).to_string();
        assert_eq!(
            redactor.redact(&json).unwrap(),
            r#"{"k":"[redacted] and [redacted], abc"}"#
        );
        assert_eq!(redactor.redact("pa\"ss\\word").unwrap(), "[redacted]");
        assert_eq!(redactor.redact("abc"), None);
        let twice =
            serde_json::json!({ "reason": format!("got {:?}", "pa\"ss\\word") }).to_string();
        assert_eq!(
            redactor.redact(&twice).unwrap(),
            r#"{"reason":"got \"[redacted]\""}"#
        );
    }

    #[test]
    fn a_secret_is_found_in_json_that_hides_nothing() {
        for secret in [
            "se##[cret",
            "##vso[secret",
            "sec\u{7f}ret",
            "sec\u{9b}ret",
            "se\u{202e}c\"ret",
        ] {
            let redactor = Redactor::new([secret.to_owned()]);
            let plain = serde_json::json!({ "k": format!("a {secret} b") }).to_string();
            let escaped = json::escaped(&plain);
            assert_ne!(escaped, plain);
            assert_eq!(
                redactor.redact(&escaped).unwrap(),
                r#"{"k":"a [redacted] b"}"#,
                "{secret:?}"
            );
            assert_eq!(
                redactor.redact(&plain).unwrap(),
                r#"{"k":"a [redacted] b"}"#,
                "{secret:?}"
            );
        }
    }

    #[test]
    fn headers_that_authorise_are_known_by_their_names() {
        for yes in [
            "Authorization",
            "X-API-Key",
            "cookie",
            "X-Access-Token",
            "x-auth",
            "my_password",
            "X-Session",
        ] {
            assert!(is_sensitive_header(yes), "{yes}");
        }
        for no in [
            "Accept",
            "X-Author",
            "Idempotency-Key",
            "content-type",
            "X-Request-Id",
            "sessions-total",
        ] {
            assert!(!is_sensitive_header(no), "{no}");
        }
        assert_eq!(
            secrets_of_header("authorization", "Bearer tok-123456"),
            ["Bearer tok-123456", "tok-123456"]
        );
        assert_eq!(
            secrets_of_header("Authorization", "Basic dXNlcjpodW50ZXIyMg=="),
            [
                "Basic dXNlcjpodW50ZXIyMg==",
                "dXNlcjpodW50ZXIyMg==",
                "hunter22",
                "user:hunter22"
            ]
        );
        assert_eq!(
            secrets_of_header("Cookie", "sid=abcdef123; lang=en"),
            ["sid=abcdef123; lang=en", "abcdef123"]
        );
        assert!(secrets_of_header("Accept", "application/json").is_empty());
        assert!(secrets_of_header("X-Token", "short").is_empty());
    }

    #[test]
    fn parameters_that_authorise_are_known_by_their_names() {
        for yes in [
            "api_key",
            "apiKey",
            "key",
            "access_token",
            "TOKEN",
            "X-Amz-Signature",
            "sig",
            "client%5Fsecret",
        ] {
            assert!(is_sensitive_parameter(yes), "{yes}");
        }
        for no in [
            "page_token",
            "next_token",
            "sort_key",
            "keyword",
            "q",
            "author",
            "design",
            "",
        ] {
            assert!(!is_sensitive_parameter(no), "{no}");
        }
        let endpoint = "/a?x=1&api_key=s3cr%2Ft+v&token=short&key#token=fragment1";
        assert_eq!(
            secrets_of_query(endpoint),
            ["s3cr%2Ft+v", "s3cr/t+v", "s3cr/t v"]
        );
        assert_eq!(
            without_secret_parameters(endpoint),
            "/a?x=1&api_key=&token=&key#token=fragment1"
        );
        for untouched in [
            "/a",
            "/a?",
            "/a?x=1#y?token=zzzzzz",
            "?page_token=abcdef",
            "",
        ] {
            assert_eq!(without_secret_parameters(untouched), untouched);
            assert!(secrets_of_query(untouched).is_empty());
        }
    }

    #[test]
    fn settings_that_are_secrets_are_masked_in_place() {
        for (line, masked) in [
            (
                "  url: https://hooks.slack.com/T0/B0\n",
                "  url: *****************************\n",
            ),
            (
                "{\"url\":\"hooks.slack.com/é\", a: b}",
                "{\"url\":\"*****************\", a: b}",
            ),
            (
                "Authorization: Bearer sk-é # x",
                "Authorization: Bearer **** # x",
            ),
            (
                "[curl, -H, \"X-Api-Key: abc\", x]",
                "[curl, -H, \"X-Api-Key: ***\", x]",
            ),
            (
                "- {my_token: 'a''b', password: c, d: e}",
                "- {my_token: '****', password: *, d: e}",
            ),
            (
                "{Cookie: a=b, Ocp-Apim-Subscription-Key: abc}",
                "{Cookie: ***, Ocp-Apim-Subscription-Key: ***}",
            ),
            ("token: x{{ env.A }}y", "token: *{{ env.A }}*"),
            ("api_key_env: sk-abc", "api_key_env: ******"),
            (
                "{api_key_env: a-b, api_key_file: word}",
                "{api_key_env: ***, api_key_file: ****}",
            ),
        ] {
            assert_eq!(masked_settings(line, false), masked);
        }
        for kept in [
            "url: https://h/a",
            "max_tokens: 10",
            "{sort_key: name, key: id}",
            "api_key_env: MY_KEY",
            "api_key_file: keys/model",
            "token_env: x",
            "token: $NAME",
            "secret: {{ env.A }}",
            "headers_env: {Authorization: MY_TOKEN}",
            "prompt: What is the secret: x?",
            "token:",
        ] {
            assert_eq!(masked_settings(kept, false), kept);
        }
        assert_eq!(masked_settings("url: h/a", true), "url: ***");
    }

    #[test]
    fn addresses_are_masked_in_place() {
        for (text, masked) in [
            (
                "base_url: \"http://h/v1?api_key=sk-1&x=2#a\" # http://u:p@h/",
                "base_url: \"http://h/v1?api_key=****&x=2#a\" # http://***@h/",
            ),
            ("http://u:p/w@h?token=é\n", "http://*****@h?token=*\n"),
            ("u:p@h/v1?q=1&key=abc", "***@h/v1?q=1&key=***"),
            ("https://tok@h/a", "https://***@h/a"),
        ] {
            assert_eq!(masked_addresses(text), masked);
        }
        for kept in [
            "prompt: Write to a@example.com? Or not: a=b&c.",
            "https://h/@scope/v1?page_token=abc",
            "git@github.com:a/b",
            "",
        ] {
            assert_eq!(masked_addresses(kept), kept);
        }
    }

    #[test]
    fn a_secret_is_found_as_services_send_it_back() {
        let redactor = Redactor::new([
            "s3cr/t v@lue".to_owned(),
            "dXNlcjpwdw==".to_owned(),
            "sk/a+b==c".to_owned(),
        ]);
        for told in [
            "s3cr%2Ft%20v%40lue",
            "s3cr%2ft%20v%40lue",
            "s3cr%2Ft+v%40lue",
            "czNjci90IHZAbHVl",
            "dXNlcjpwdw",
            "dXNlcjpwdw%3D%3D",
            // `urllib.parse.quote`, and a form that is decoded.
            "sk/a%2Bb%3D%3Dc",
            "sk/a%2bb%3d%3dc",
            "sk/a b==c",
            "s3cr/t%20v%40lue",
        ] {
            let text = format!("<{told}>");
            assert_eq!(
                redactor.redact(&text).as_deref(),
                Some("<[redacted]>"),
                "{told}"
            );
        }
        assert_eq!(redactor.redact("s3cr, t v@lue"), None);
    }

    #[test]
    fn a_secret_that_was_cut_off_goes_too() {
        let redactor = Redactor::new(["hunter2-hunter9".to_owned(), "pässword".to_owned()]);
        for (text, kept) in [
            ("my hunter2-hunt", "my "),
            ("my pä", "my "),
            ("hunter2-hunter9", "hunter2-hunter9"),
            ("else", "else"),
        ] {
            assert_eq!(redactor.without_begun(text), kept);
        }
    }

    #[test]
    fn a_secret_that_holds_another_goes_whole() {
        let redactor = Redactor::new(["secret".to_owned(), "my-secret-key".to_owned()]);
        assert_eq!(redactor.redact("my-secret-key").unwrap(), "[redacted]");
    }
}
