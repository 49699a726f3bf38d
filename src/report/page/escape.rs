//! Hostile text made harmless in GitHub-flavoured Markdown.
//!
//! Escaped text stays on its line and in its table cell, is no markup, HTML or link, and mentions
//! no one.

use crate::report::limits::markdown as limits;
use eval_base::text;

/// A text from outside, cut to so many columns; where it begins a line it begins no block.
pub fn outside(raw: &str, columns: usize, begins: bool) -> String {
    let line = text::one_line(text::truncate_bytes(raw, 64 * 1024));
    let mut columns = columns;
    loop {
        let escaped = escape(&text::truncate_width(&line, columns), begins);
        if escaped.len() <= limits::ESCAPED || columns < 8 {
            return escaped;
        }
        columns /= 2;
    }
}

fn escape(line: &str, begins: bool) -> String {
    let mut out = String::with_capacity(line.len() + 16);
    let mut before: Option<char> = None;
    // A number with a dot or a parenthesis would begin a list.
    let after_digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let mut rest = line;
    let mut delimiter = after_digits.chars();
    let begins_list = begins
        && after_digits.len() < line.len()
        && matches!(delimiter.next(), Some('.' | ')'))
        && matches!(delimiter.next(), None | Some(' '));
    if begins_list {
        out.push_str(&line[..line.len() - after_digits.len()]);
        out.push('\\');
        out.push_str(&after_digits[..1]);
        rest = &after_digits[1..];
    } else if begins && line.starts_with(['#', '-', '+', '=']) {
        out.push('\\');
    }
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let next = after.chars().next();
        let word_before = before.is_some_and(char::is_alphanumeric);
        let word_after = next.is_some_and(char::is_alphanumeric);
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // An entity, because a backslash before a pipe is itself subject to escaping in tables.
            '|' => out.push_str("&#124;"),
            '_' if word_before && word_after => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            ':' if after.starts_with("//") => out.push_str("&#58;"),
            '.' if ends_with(line, rest, "www") => out.push_str("&#46;"),
            // An empty comment parts what GitHub would link after Markdown is done.
            '@' if word_after && (!word_before || is_domain(after)) => out.push_str("@<!-- -->"),
            // GitHub reads `GH-12` as an issue, too.
            '-' if next.is_some_and(|c| c.is_ascii_digit()) && ends_with(line, rest, "gh") => {
                out.push_str("-<!-- -->");
            }
            '#' if next.is_some_and(|c| c.is_ascii_digit()) => out.push_str("#<!-- -->"),
            _ => out.push(c),
        }
        before = Some(c);
        rest = after;
    }
    out
}

/// True when `rest` of `line` follows this word, in any case.
fn ends_with(line: &str, rest: &str, word: &str) -> bool {
    let before = line
        .as_bytes()
        .get(..line.len() - rest.len())
        .unwrap_or_default();
    before.len() >= word.len()
        && before[before.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
}

fn is_domain(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.trim_end_matches(|c: char| !c.is_alphanumeric())
        .contains('.')
}

/// A code span; not for table cells, where no backslash can keep a pipe.
pub fn code(raw: &str) -> String {
    let line = text::one_line(text::truncate_bytes(raw, 64 * 1024));
    let line = text::truncate_width(&line, limits::CELL);
    if line.is_empty() {
        "(empty)".to_owned()
    } else {
        code_whole(&line)
    }
}

/// [`code`] for what people copy: never cut.
pub fn code_whole(raw: &str) -> String {
    let line = text::one_line(raw);
    let ticks = "`".repeat(longest_run(&line) + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{line}{pad}{ticks}")
}

/// A fenced block, with its line ends, around sanitised text. The fence is longer than any run of
/// backticks in it.
pub fn fence(language: &str, clean: &str) -> String {
    let ticks = "`".repeat((longest_run(clean) + 1).max(3));
    format!(
        "{ticks}{language}\n{}\n{ticks}\n",
        clean.trim_end_matches('\n')
    )
}

fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_hostile_survives_in_a_line() {
        for (raw, escaped) in [
            (
                "plain wrong_answer, pass@1 and pass^3",
                "plain wrong_answer, pass@1 and pass^3",
            ),
            ("a|b\\|c", "a&#124;b\\\\&#124;c"),
            ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
            (
                "[x](http://evil) ![y](z)",
                "\\[x\\](http&#58;//evil) !\\[y\\](z)",
            ),
            ("www.evil.com", "www&#46;evil.com"),
            (
                "ping @admin a@b.com fixes #12",
                "ping @<!-- -->admin a@<!-- -->b.com fixes #<!-- -->12",
            ),
            (
                "GH-7, gh-08 and right-4",
                "GH-<!-- -->7, gh-<!-- -->08 and right-4",
            ),
            (
                "`code` *b* _i_ ~s~ $x$",
                "\\`code\\` \\*b\\* \\_i\\_ \\~s\\~ \\$x\\$",
            ),
            ("one\n# two\u{1b}[2J", "one # two"),
            ("# two", "\\# two"),
            ("- [x] done", "\\- \\[x\\] done"),
            ("12) list 3. no", "12\\) list 3. no"),
            ("1.5 s", "1.5 s"),
            ("7.", "7\\."),
        ] {
            assert_eq!(outside(raw, limits::CELL, true), escaped);
        }
    }

    #[test]
    fn code_outlasts_its_backticks() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("``a"), "``` ``a ```");
        assert_eq!(code(""), "(empty)");
        assert_eq!(
            fence("text", "a\n````\nb\n"),
            "`````text\na\n````\nb\n`````\n"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_stays_in_its_cell(raw in "(?s)[\\\\|`<>@#a:/ \n\r\u{85}\u{2028}.w_*-]{0,60}") {
            let escaped = outside(&raw, limits::CELL, true);
            prop_assert!(!escaped.contains(['|', '\n', '\r']) && !escaped.contains("://"), "{}", escaped);
            prop_assert!(!escaped.replace("<!-- -->", "").contains(['<', '>']));
            // Each backtick has an odd number of backslashes before it, and the end has none left
            // over.
            prop_assert!(!escaped.starts_with(['#', '-', '+', '=', '>', '~', '*', '<']));
            let mut slashes = 0;
            for c in escaped.chars() {
                prop_assert!(c != '`' || slashes % 2 == 1);
                slashes = if c == '\\' { slashes + 1 } else { 0 };
            }
            prop_assert_eq!(slashes % 2, 0);
        }
    }
}
