//! Text from outside made safe to show: control sequences, widths, lengths and file names.
//!
//! What a model, a target or a data set says is hostile until it has been through [`sanitize`].
//! Escaping for a format (Markdown, XML) is that format's matter and comes after.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use sha2::{Digest, Sha256};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The mark that ends a text which was cut.
pub const ELLIPSIS: &str = "…";

/// The longest name that [`escape_path_component`] gives, in bytes. File systems allow 255; callers
/// add suffixes.
pub const MAX_PATH_COMPONENT: usize = 120;

/// Bytes that a column of text may take. More is a pile of combining marks, not a text.
const BYTES_PER_COLUMN: usize = 32;

/// A control string (OSC, DCS, ...) longer than this is taken for text with a stray introducer.
const MAX_CONTROL_STRING: usize = 4096;

/// Makes a text safe to print.
///
/// Escape sequences and control characters are removed, except for `\n` and `\t`; a `\r` becomes
/// the line break that it stands for. Characters that are invisible or turn the direction of
/// writing are shown by their code point (`⟨U+202E⟩`), since a reader must be able to see why two
/// texts differ. Joiners and variation selectors stay where they shape an emoji or a letter.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\n' | '\t' => {
                out.push(c);
                after
            }
            '\r' => {
                out.push('\n');
                after.strip_prefix('\n').unwrap_or(after)
            }
            '\u{1b}' | '\u{80}'..='\u{9f}' => after_sequence(c, after),
            _ if c.is_control() => after,
            _ => {
                if is_visible(c) || shapes_its_neighbour(&out, c, after) {
                    out.push(c);
                } else {
                    let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
                }
                after
            }
        };
    }
    Cow::Owned(out)
}

/// True for a character that a reader sees: neither a control character (but `\n` and `\t`) nor one
/// that hides or turns the direction of writing.
pub fn is_visible(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        _ => !c.is_control() && !is_hidden(c),
    }
}

/// Characters of no width of their own, those that turn the direction, other line ends, and
/// non-characters.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    ) || u32::from(c) & 0xfffe == 0xfffe
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// True for a joiner between two characters that it can join, and for a lone variation selector
/// after one that it can vary. `before` is what was written so far.
fn shapes_its_neighbour(before: &str, c: char, after: &str) -> bool {
    let Some(last) = before.chars().next_back() else {
        return false;
    };
    let takes_shape =
        |c: char| !c.is_ascii() && !c.is_control() && !c.is_whitespace() && !is_hidden(c);
    match c {
        '\u{200c}' | '\u{200d}' => {
            (takes_shape(last) || is_variation_selector(last))
                && after.chars().next().is_some_and(takes_shape)
        }
        _ if is_variation_selector(c) => takes_shape(last) || matches!(last, '0'..='9' | '#' | '*'),
        _ => false,
    }
}

/// What follows the escape sequence that `introducer` began, `after` being what follows the
/// introducer itself.
fn after_sequence(introducer: char, after: &str) -> &str {
    let (kind, body) = match introducer {
        '\u{1b}' => match after.chars().next() {
            Some(kind @ ('[' | ']' | 'P' | 'X' | '^' | '_')) => (kind, &after[1..]),
            _ => {
                return skip_final(after.trim_start_matches(is_intermediate), '0'..='~')
                    .unwrap_or(after);
            }
        },
        '\u{9b}' => ('[', after),
        '\u{9d}' => (']', after),
        '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => ('P', after),
        _ => return after,
    };
    if kind == '[' {
        let end = body
            .trim_start_matches(|c| matches!(c, '0'..='?'))
            .trim_start_matches(is_intermediate);
        return skip_final(end, '@'..='~').unwrap_or(end);
    }
    after_control_string(body).unwrap_or(body)
}

fn is_intermediate(c: char) -> bool {
    matches!(c, ' '..='/')
}

fn skip_final(text: &str, finals: std::ops::RangeInclusive<char>) -> Option<&str> {
    let c = text.chars().next()?;
    finals.contains(&c).then(|| &text[c.len_utf8()..])
}

/// What follows the terminator of a control string, or `None` when it has none on its line: then an
/// attacker wants the rest of the text to vanish, and only the introducer is dropped.
fn after_control_string(body: &str) -> Option<&str> {
    for (at, c) in body.char_indices() {
        if at > MAX_CONTROL_STRING {
            return None;
        }
        match c {
            '\u{07}' | '\u{9c}' => return Some(&body[at + c.len_utf8()..]),
            '\u{1b}' => return body[at + 1..].strip_prefix('\\'),
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// The text sanitised, on one line, with each run of white space as one blank and none at the ends.
pub fn one_line(text: &str) -> String {
    let clean = sanitize(text);
    let mut out = String::with_capacity(clean.len());
    for word in clean.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The text on one line with nothing left out: blanks as they are, a tab as `⇥`, and every other
/// character that nobody sees by its code point (`⟨U+001B⟩`). For texts in which a reader decides
/// on what there is.
pub fn exact_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let after = text.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            ' ' => out.push(c),
            '\t' => out.push('⇥'),
            _ if !(c.is_control() || c.is_whitespace())
                && (is_visible(c) || shapes_its_neighbour(&out, c, after)) =>
            {
                out.push(c);
            }
            _ => {
                let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
            }
        }
    }
    out
}

/// The text in double quotes on one line, every character visible: for texts that differ in what
/// can't be seen.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if is_visible(c) => out.push(c),
            _ => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// Columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Cuts a text to a number of columns; a text that was cut ends with `…`.
pub fn truncate_width(text: &str, columns: usize) -> Cow<'_, str> {
    truncate_width_with(text, columns, ELLIPSIS)
}

/// [`truncate_width`] with a mark of one's own for a text that was cut.
pub fn truncate_width_with<'a>(text: &'a str, columns: usize, mark: &str) -> Cow<'a, str> {
    let bounded = truncate_bytes(text, columns.saturating_mul(BYTES_PER_COLUMN));
    if bounded.len() == text.len() && width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mark = prefix_of_width(mark, columns);
    let mut out = prefix_of_width(bounded, columns - width(mark)).to_owned();
    // A joiner at the cut would join the mark.
    while out.ends_with(['\u{200c}', '\u{200d}']) {
        out.pop();
    }
    out.push_str(mark);
    Cow::Owned(out)
}

/// The longest prefix, roughly, that takes no more than so many columns.
pub fn prefix_of_width(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        // A variation selector may make its character wide.
        used += if is_variation_selector(c) {
            1
        } else {
            c.width().unwrap_or(1)
        };
        if used > columns {
            break;
        }
        end = at + c.len_utf8();
    }
    let mut prefix = &text[..end];
    // The width of a text is not quite the sum of its characters' widths, so the whole has the last
    // word.
    while width(prefix) > columns {
        let mut chars = prefix.chars();
        chars.next_back();
        prefix = chars.as_str();
    }
    prefix
}

/// The longest prefix of at most `max` bytes that ends at a character's end.
pub fn truncate_bytes(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// A text of at most `max` bytes, or its beginning and a mark that there is more.
pub fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    let kept = truncate_bytes(text, max);
    if kept.len() < text.len() {
        Cow::Owned(format!("{kept}{ELLIPSIS}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The hash of a commit as people are shown it: its first 12 digits.
pub fn short_commit(hash: &str) -> &str {
    truncate_bytes(hash, 12)
}

/// An id as the name of a file: one component, portable, and different for different ids.
///
/// ASCII letters, digits, `_`, `-` and `.` stand for themselves, all else as `%XX` of its UTF-8
/// bytes; so do a dot or hyphen in front, a dot at the end, and the first letter of a name that
/// Windows keeps for itself. The empty id is `%`. A name above [`MAX_PATH_COMPONENT`] bytes is cut
/// and ends with `~` and 128 bits of the id's SHA-256. Case is kept, so ids that differ in nothing
/// else collide on a file system that ignores it.
pub fn escape_path_component(id: &str) -> String {
    if id.is_empty() {
        return "%".to_owned();
    }
    let reserved = is_reserved(id);
    let last = id.len() - 1;
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        let literal = match byte {
            b'-' => at != 0,
            b'.' => at != 0 && at != last,
            _ => byte == b'_' || byte.is_ascii_alphanumeric() && !(reserved && at == 0),
        };
        if literal {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if name.len() <= MAX_PATH_COMPONENT {
        return name;
    }
    let mut keep = MAX_PATH_COMPONENT - 33;
    if let Some(percent) = name[keep - 2..keep].find('%') {
        keep = keep - 2 + percent;
    }
    name.truncate(keep);
    name.push('~');
    name.push_str(&hex(&Sha256::digest(id.as_bytes())[..16]));
    name
}

/// Bytes in hexadecimal digits, lowercase.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(digit).collect()
}

/// The bytes of hexadecimal digits in either case; `None` when the text isn't that.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| Some((digit(*high)? * 16 + digit(*low)?) as u8))
        .collect()
}

/// The id behind a name from [`escape_path_component`]; `None` for a name that was cut or that it
/// never gives.
pub fn unescape_path_component(name: &str) -> Option<String> {
    if name == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            &tail[2..]
        } else {
            bytes.push(first);
            tail
        };
    }
    let id = String::from_utf8(bytes).ok()?;
    (escape_path_component(&id) == name).then_some(id)
}

/// Device names of Windows, which no extension makes usable.
fn is_reserved(id: &str) -> bool {
    let stem = id.split('.').next().unwrap_or(id).to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" => true,
        _ => {
            (stem.starts_with("com") || stem.starts_with("lpt"))
                && stem.len() == 4
                && stem.ends_with(|c: char| c.is_ascii_digit())
        }
    }
}

/// `999 B`, `1.2 MB`: three digits, powers of 1000.
pub fn byte_size(n: u64) -> String {
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64;
    for unit in ["kB", "MB", "GB", "TB"] {
        value /= 1000.0;
        if value < 9.95 {
            return format!("{value:.1} {unit}");
        }
        if value < 999.5 {
            return format!("{value:.0} {unit}");
        }
    }
    format!("{:.0} PB", value / 1000.0)
}

/// A count with its noun: `1 case`, `2 cases`, `12,000 entries`.
pub fn plural(n: usize, noun: &str) -> String {
    let digits = group_digits(n);
    if n == 1 {
        return format!("{digits} {noun}");
    }
    let after_consonant = |stem: &str| !stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match noun.strip_suffix('y') {
        Some(stem) if after_consonant(stem) => format!("{digits} {stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"]
            .iter()
            .any(|end| noun.ends_with(end)) =>
        {
            format!("{digits} {noun}es")
        }
        _ => format!("{digits} {noun}s"),
    }
}

/// The first `most` items in a sentence, with how many more of the `count` there are: `a, b and 3
/// more`. The separator is `, ` or `; `.
pub fn listed<T: Display>(
    items: impl IntoIterator<Item = T>,
    most: usize,
    count: usize,
    separator: &str,
) -> String {
    let shown: Vec<String> = items
        .into_iter()
        .take(most)
        .map(|item| item.to_string())
        .collect();
    let list = shown.join(separator);
    match count.saturating_sub(shown.len()) {
        0 => list,
        more => {
            let end = separator.trim().trim_matches(',');
            format!("{list}{end} and {} more", group_digits(more))
        }
    }
}

/// Two digits that count, upwards: more would claim what an estimate doesn't know.
pub fn two_digits(n: u64) -> u64 {
    let step = 10u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(1));
    n.div_ceil(step) * step
}

/// A number with commas between thousands.
pub fn group_digits(n: usize) -> String {
    let digits = n.to_string();
    if digits.len() < 4 {
        return digits;
    }
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_list_counts_what_it_leaves_out() {
        let of = |most, count, separator| listed(["a", "b", "c"], most, count, separator);
        assert_eq!(of(3, 3, ", "), "a, b, c");
        assert_eq!(of(2, 3, ", "), "a, b and 1 more");
        assert_eq!(of(9, 1_003, ", "), "a, b, c and 1,000 more");
        assert_eq!(of(2, 3, "; "), "a; b; and 1 more");
    }

    #[test]
    fn no_more_is_said_than_is_known() {
        assert_eq!(
            [0, 1, 9, 10, 99, 100, 101, 110, 111, 4637, 10_000_000].map(two_digits),
            [0, 1, 9, 10, 99, 100, 110, 110, 120, 4700, 10_000_000]
        );
    }

    #[test]
    fn escape_sequences_vanish_and_their_text_stays() {
        for (raw, clean) in [
            ("\x1b[2Jgone", "gone"),
            ("\x1b[38;5;196mred\x1b[0m", "red"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\u{9b}31mred", "red"),
            ("\u{9d}0;title\u{9c}text", "text"),
            ("\x1bPq#0\x1b\\sixel", "sixel"),
            ("\x1b(Bascii", "ascii"),
            ("\x1bcreset", "reset"),
            ("bell\x07 nul\0 back\x08", "bell nul back"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
            ("tab\tstays", "tab\tstays"),
            ("\x1b", ""),
            ("\x1b[", ""),
            ("\x1b[12", ""),
        ] {
            assert_eq!(sanitize(raw), clean, "{raw:?}");
        }
    }

    #[test]
    fn an_unterminated_control_string_hides_nothing() {
        assert_eq!(sanitize("\x1b]0;evil\nthe rest"), "0;evil\nthe rest");
        assert_eq!(sanitize("\x1b]0;evil"), "0;evil");
        assert_eq!(sanitize("\x1b]0;a\x1b[31mb\x07"), "0;ab");
    }

    #[test]
    fn characters_that_hide_are_shown() {
        assert_eq!(sanitize("a\u{202e}b"), "a⟨U+202E⟩b");
        assert_eq!(sanitize("a\u{200b}b"), "a⟨U+200B⟩b");
        assert_eq!(sanitize("\u{feff}x"), "⟨U+FEFF⟩x");
        assert_eq!(sanitize("a\u{200d}b"), "a⟨U+200D⟩b");
        assert_eq!(sanitize("x\u{e0041}"), "x⟨U+E0041⟩");
        assert_eq!(sanitize("a\u{2028}b"), "a⟨U+2028⟩b");
        assert_eq!(sanitize("❤\u{fe0f}\u{fe0f}"), "❤\u{fe0f}⟨U+FE0F⟩");
    }

    #[test]
    fn emoji_and_scripts_keep_their_shape() {
        for text in [
            "👩\u{200d}💻",
            "❤\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "🏳\u{fe0f}\u{200d}🌈",
            "می\u{200c}خواهم",
        ] {
            assert_eq!(sanitize(text), text);
        }
    }

    #[test]
    fn one_line_joins_words() {
        assert_eq!(one_line("  a\n\n b\t\x1b[1mc\r\n"), "a b c");
        assert_eq!(one_line(" \n "), "");
    }

    #[test]
    fn quoted_shows_every_character() {
        assert_eq!(
            quoted("a\"\\\n\r\t\x1b\u{200b}é"),
            r#""a\"\\\n\r\t\u{1b}\u{200b}é""#
        );
    }

    #[test]
    fn truncation_counts_columns() {
        assert_eq!(truncate_width("hello", 5), "hello");
        assert_eq!(truncate_width("hello!", 5), "hell…");
        assert_eq!(truncate_width("日本語", 6), "日本語");
        assert_eq!(truncate_width("日本語", 5), "日本…");
        assert_eq!(truncate_width("日本語", 4), "日…");
        assert_eq!(truncate_width("日本語", 0), "");
        assert_eq!(truncate_width_with("hello!", 2, "..."), "..");
        assert_eq!(truncate_bytes("日本語", 5), "日");
        let zalgo = "a".to_owned() + &"\u{301}".repeat(10_000);
        assert!(truncate_width(&zalgo, 10).len() <= 10 * BYTES_PER_COLUMN + ELLIPSIS.len());
    }

    #[test]
    fn file_names_are_safe_and_readable() {
        for (id, name) in [
            ("cap-codegen-001", "cap-codegen-001"),
            ("HumanEval/0", "HumanEval%2F0"),
            ("../etc", "%2E.%2Fetc"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("a.b.", "a.b%2E"),
            ("-rf", "%2Drf"),
            ("", "%"),
            ("%", "%25"),
            ("nul.txt", "%6Eul.txt"),
            ("COM1", "%43OM1"),
            ("command", "command"),
            ("é", "%C3%A9"),
        ] {
            assert_eq!(escape_path_component(id), name);
            assert_eq!(unescape_path_component(name).as_deref(), Some(id));
        }
        let long = "x/".repeat(200);
        let name = escape_path_component(&long);
        assert!(
            name.len() <= MAX_PATH_COMPONENT && name.contains('~'),
            "{name}"
        );
        assert_eq!(unescape_path_component(&name), None);
        assert_ne!(name, escape_path_component(&"x/".repeat(201)));
    }

    #[test]
    fn counts_have_their_nouns() {
        assert_eq!(plural(0, "case"), "0 cases");
        assert_eq!(plural(1, "case"), "1 case");
        assert_eq!(plural(2, "entry"), "2 entries");
        assert_eq!(plural(2, "day"), "2 days");
        assert_eq!(plural(1234567, "pass"), "1,234,567 passes");
        assert_eq!([999, 1000].map(group_digits), ["999", "1,000"]);
        assert_eq!(group_digits(10000), "10,000");
    }

    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(|c| c.to_string()),
            prop::sample::select(vec![
                "\x1b[", "\x1b]", "\x1b\\", "\x07", "\u{9b}", "\u{9d}", "\u{9c}", "\r", "\n",
                "\u{202e}", "\u{200d}", "\u{fe0f}", "👩", "日", "a", "1", "\u{301}", "/", ".", "%",
                "~",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn sanitised_text_has_no_control_characters(text in hostile()) {
            let clean = sanitize(&text);
            prop_assert!(clean.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{clean:?}");
            let tricks = ['\u{202e}', '\u{200b}', '\u{feff}', '\u{2066}'];
            prop_assert!(!clean.contains(tricks));
            prop_assert_eq!(sanitize(&clean), clean.as_ref());
            prop_assert!(!one_line(&text).contains(['\n', '\t']));
            prop_assert!(quoted(&text).chars().all(|c| !c.is_control()));
        }

        #[test]
        fn truncated_text_fits(text in hostile(), columns in 0usize..30) {
            let clean = one_line(&text);
            let cut = truncate_width(&clean, columns);
            prop_assert!(width(&cut) <= columns, "{cut:?}");
            prop_assert!(cut == clean || cut.ends_with(ELLIPSIS) || columns == 0);
        }

        #[test]
        fn path_components_are_injective_and_reversible(a in hostile(), b in hostile()) {
            let name = escape_path_component(&a);
            prop_assert!(!name.is_empty() && name.len() <= MAX_PATH_COMPONENT);
            prop_assert!(!name.starts_with(['.', '-']) && !name.ends_with('.'));
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.%~".contains(&b)));
            prop_assert_eq!(a == b, name == escape_path_component(&b));
            if !name.contains('~') {
                prop_assert_eq!(unescape_path_component(&name), Some(a));
            }
        }
    }
}
