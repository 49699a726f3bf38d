//! Command lines that people may copy into a POSIX shell.

use super::text;

/// Words as a POSIX shell reads them back; `None` when one of them holds what can't be shown as it
/// is.
pub fn line(words: &[&str]) -> Option<String> {
    let words: Option<Vec<String>> = words.iter().map(|word| quoted(word)).collect();
    words.map(|words| words.join(" "))
}

fn quoted(word: &str) -> Option<String> {
    if text::sanitize(word) != word || word.contains(['\n', '\t']) {
        return None;
    }
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        return Some(word.to_owned());
    }
    Some(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_when_a_shell_would_read_them_otherwise() {
        for (word, shown) in [
            ("evals/eval-suite.yaml", Some("evals/eval-suite.yaml")),
            ("my suite.yaml", Some("'my suite.yaml'")),
            ("it's", Some(r"'it'\''s'")),
            ("", Some("''")),
            ("$(rm -rf ~)", Some("'$(rm -rf ~)'")),
            ("~/x", Some("'~/x'")),
            ("日本.yaml", Some("'日本.yaml'")),
            ("a\nb", None),
            ("a\tb", None),
            ("\x1b[2J", None),
            ("a\u{202e}b", None),
        ] {
            assert_eq!(quoted(word).as_deref(), shown, "{word:?}");
        }
        assert_eq!(line(&["a", "b c"]).as_deref(), Some("a 'b c'"));
        assert_eq!(line(&["a", "\n"]), None);
    }
}
