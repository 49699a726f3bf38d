//! Keeps secrets out of everything that is written.

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Secrets shorter than this are not looked for: they would match by chance.
pub const SHORTEST_SECRET: usize = 6;

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
    fn a_secret_that_holds_another_goes_whole() {
        let redactor = Redactor::new(["secret".to_owned(), "my-secret-key".to_owned()]);
        assert_eq!(redactor.redact("my-secret-key").unwrap(), "[redacted]");
    }
}
