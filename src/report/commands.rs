//! Commands that a reader may copy: what to run next.

use crate::base::text;
use crate::model::Summary;

/// Runs the cases that did not pass once more; `None` when there are none, or no one run has them.
pub fn run_failed_again(summary: &Summary) -> Option<String> {
    let metadata = &summary.metadata;
    // Of joined shards no single run knows all that failed.
    if summary.failures.is_empty() || !metadata.joined.is_empty() {
        return None;
    }
    let mut words = vec!["eval-harness", "run"];
    if let Some(suite) = &metadata.suite_path {
        words.extend(["--suite", suite]);
    }
    words.extend(metadata.rerun_arguments.iter().map(String::as_str));
    words.extend(["--failed-in", &metadata.run_id]);
    line(&words)
}

/// Goes on with a run that was ended early; `None` for one that came to its end.
pub fn resume(summary: &Summary) -> Option<String> {
    let metadata = &summary.metadata;
    metadata.interrupted.then(|| line(&["eval-harness", "run", "--resume", &metadata.run_id])).flatten()
}

/// Words as a POSIX shell reads them back; `None` when one of them holds what can't be shown as it is.
fn line(words: &[&str]) -> Option<String> {
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
    }
}
