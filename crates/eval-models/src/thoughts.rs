//! What a model thought aloud before it answered, apart from the answer.

use eval_base::text::truncate_bytes;

/// Tags that models think between.
const TAGS: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
];

/// Bytes of thoughts that are kept.
const KEPT_BYTES: usize = 64 << 10;

/// A text in its two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitAnswer<'t> {
    /// Without their tags; `None` when the text does not open with thoughts.
    pub thoughts: Option<String>,
    /// `None` when the thoughts never end.
    pub answer: Option<&'t str>,
}

impl<'t> SplitAnswer<'t> {
    /// Thoughts count where they open the text, behind white space at most. Templates of some
    /// models write the opening tag into the question, so that the text begins with thoughts and
    /// has the closing tag alone, on a line of its own.
    pub fn of(text: &'t str) -> SplitAnswer<'t> {
        let (mut thoughts, mut rest) = (Vec::new(), text);
        loop {
            let begin = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            let opened = TAGS
                .iter()
                .find_map(|(open, close)| Some((begin.strip_prefix(open)?, *close)));
            let found = match opened {
                Some((inside, close)) => Some(inside.split_once(close).ok_or(inside)),
                None if thoughts.is_empty() => closed_alone(rest).map(Ok),
                None => None,
            };
            match found {
                Some(Ok((thought, behind))) => {
                    thoughts.push(thought.trim());
                    rest = behind;
                }
                Some(Err(thought)) => {
                    thoughts.push(thought.trim());
                    return SplitAnswer {
                        thoughts: Some(kept(&thoughts.join("\n\n"))),
                        answer: None,
                    };
                }
                None if thoughts.is_empty() => {
                    return SplitAnswer {
                        thoughts: None,
                        answer: Some(text),
                    };
                }
                None => break,
            }
        }
        SplitAnswer {
            thoughts: Some(kept(&thoughts.join("\n\n"))),
            answer: Some(without_blank_lines(rest)),
        }
    }
}

/// Around a closing tag on a line of its own whose opening tag is not there.
fn closed_alone(text: &str) -> Option<(&str, &str)> {
    TAGS.iter().find_map(|(open, close)| {
        let (before, behind) = text.split_once(close)?;
        let line_begins = before
            .rsplit('\n')
            .next()
            .is_none_or(|line| line.trim().is_empty());
        let line_ends = behind
            .split('\n')
            .next()
            .is_none_or(|line| line.trim().is_empty());
        (line_begins && line_ends && !before.contains(open)).then_some((before, behind))
    })
}

/// An answer on the line of the tag begins with its first character; one on a later line keeps its
/// indentation.
fn without_blank_lines(text: &str) -> &str {
    let Some(first) = text.find(|c: char| !c.is_whitespace()) else {
        return "";
    };
    let line = text
        .get(..first)
        .and_then(|blank| blank.rfind('\n'))
        .map_or(first, |at| at + 1);
    text.get(line..).unwrap_or_default()
}

/// As much of thoughts as is kept.
pub fn kept(thoughts: &str) -> String {
    let cut = truncate_bytes(thoughts, KEPT_BYTES);
    match thoughts.len() - cut.len() {
        0 => thoughts.to_owned(),
        more => format!("{cut}\n[... {more} bytes more ...]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_that_open_a_text_are_taken_off() {
        let mut shown = String::new();
        for text in [
            "<think>Rome? no</think> Paris",
            "\u{feff}\n <think>\na\n</think>\n\n<think>b</think>\n    return x\n",
            "<thinking>a</thinking>Paris",
            "[THINK]a[/THINK]\nParis",
            "<think>\n\n</think>\n\nParis",
            "Okay, Rome.\n</think>\n\nParis",
            "<think>Rome? n",
            "<think>Rome</think> \n",
            "<think>a</think><think>b",
            "",
            // No thoughts, or not at the beginning.
            "Paris",
            "Paris <think>Rome</think>",
            "Write `</think>` at the end",
            "{\"justification\": \"a </think> in it\"}",
            "See <think>\n</think>\nthere",
            "<thinker>a</thinker>",
        ] {
            shown.push_str(&format!("{text:?}: {:?}\n", SplitAnswer::of(text)));
        }
        insta::assert_snapshot!(shown, @r#"
        "<think>Rome? no</think> Paris": SplitAnswer { thoughts: Some("Rome? no"), answer: Some("Paris") }
        "\u{feff}\n <think>\na\n</think>\n\n<think>b</think>\n    return x\n": SplitAnswer { thoughts: Some("a\n\nb"), answer: Some("    return x\n") }
        "<thinking>a</thinking>Paris": SplitAnswer { thoughts: Some("a"), answer: Some("Paris") }
        "[THINK]a[/THINK]\nParis": SplitAnswer { thoughts: Some("a"), answer: Some("Paris") }
        "<think>\n\n</think>\n\nParis": SplitAnswer { thoughts: Some(""), answer: Some("Paris") }
        "Okay, Rome.\n</think>\n\nParis": SplitAnswer { thoughts: Some("Okay, Rome."), answer: Some("Paris") }
        "<think>Rome? n": SplitAnswer { thoughts: Some("Rome? n"), answer: None }
        "<think>Rome</think> \n": SplitAnswer { thoughts: Some("Rome"), answer: Some("") }
        "<think>a</think><think>b": SplitAnswer { thoughts: Some("a\n\nb"), answer: None }
        "": SplitAnswer { thoughts: None, answer: Some("") }
        "Paris": SplitAnswer { thoughts: None, answer: Some("Paris") }
        "Paris <think>Rome</think>": SplitAnswer { thoughts: None, answer: Some("Paris <think>Rome</think>") }
        "Write `</think>` at the end": SplitAnswer { thoughts: None, answer: Some("Write `</think>` at the end") }
        "{\"justification\": \"a </think> in it\"}": SplitAnswer { thoughts: None, answer: Some("{\"justification\": \"a </think> in it\"}") }
        "See <think>\n</think>\nthere": SplitAnswer { thoughts: None, answer: Some("See <think>\n</think>\nthere") }
        "<thinker>a</thinker>": SplitAnswer { thoughts: None, answer: Some("<thinker>a</thinker>") }
        "#);
    }

    #[test]
    fn long_thoughts_are_cut() {
        let text = format!("<think>{}</think>x", "é".repeat(KEPT_BYTES));
        let split = SplitAnswer::of(&text);
        assert_eq!(split.answer, Some("x"));
        assert!(
            split
                .thoughts
                .unwrap()
                .ends_with("\n[... 65536 bytes more ...]")
        );
    }
}
