//! From Python's pattern syntax to that of the `regex` crates, where the two give one spelling
//! different meanings.
//!
//! What is left alone means the same in both. Every piece of the result remembers where it came
//! from, so that an error points into the author's pattern.

/// A pattern in the crates' syntax.
#[derive(Debug, Default)]
pub struct TranslatedPattern {
    pub pattern: String,
    /// Byte offsets: (in the result, in the source), ascending.
    origins: Vec<(usize, usize)>,
    /// The pattern has possessive quantifiers, which `regex` would take for nested ones.
    pub possessive: bool,
}

impl TranslatedPattern {
    /// Where in the source a byte of the result came from.
    pub fn origin(&self, offset: usize) -> usize {
        let after = self
            .origins
            .partition_point(|(result, _)| *result <= offset);
        after
            .checked_sub(1)
            .and_then(|i| self.origins.get(i))
            .map_or(0, |(_, source)| *source)
    }

    fn emit(&mut self, at: usize, text: &str) {
        self.origins.push((self.pattern.len(), at));
        self.pattern.push_str(text);
    }

    fn emit_char(&mut self, at: usize, c: char) {
        self.emit(at, c.encode_utf8(&mut [0; 4]));
    }
}

/// Translates; `verbose` is the flag's state at the start.
pub fn translate(source: &str, verbose: bool) -> TranslatedPattern {
    let verbose = verbose || starts_verbose(source);
    let mut out = TranslatedPattern::default();
    let mut rest = source;
    // Whether the last piece was a quantifier: a `+` after it makes it possessive.
    let mut quantified = false;
    while let Some(c) = rest.chars().next() {
        let at = source.len() - rest.len();
        let mut used = c.len_utf8();
        let mut quantifier = false;
        match c {
            '\\' => used = escape(rest, at, false, &mut out),
            '[' => used = class(rest, at, &mut out),
            '(' if rest.starts_with("(?#") => {
                used = rest.find(')').map_or(rest.len(), |end| end + 1)
            }
            '{' => match counted(rest) {
                Some((length, counts)) => {
                    used = length;
                    quantifier = true;
                    out.emit(at, &counts);
                }
                // Python takes a brace that counts nothing for itself: `{"a": \d+}`.
                None => out.emit(at, "\\{"),
            },
            '}' => out.emit(at, "\\}"),
            '#' if verbose => {
                // A comment may hold brackets; it is dropped whole.
                used = rest.find('\n').unwrap_or(rest.len());
            }
            '*' | '+' | '?' => {
                out.possessive |= quantified && c == '+';
                quantifier = !quantified;
                out.emit_char(at, c);
            }
            c => out.emit_char(at, c),
        }
        // In verbose patterns whitespace may stand before a quantifier without changing anything.
        quantified = quantifier || (quantified && verbose && c.is_whitespace());
        // `(?...)`: this question mark is no quantifier.
        if c == '(' && rest[used..].starts_with('?') {
            out.emit(at + used, "?");
            used += 1;
        }
        rest = &rest[used..];
    }
    out
}

/// True for patterns that begin with a flag group that has `x`.
fn starts_verbose(source: &str) -> bool {
    source
        .strip_prefix("(?")
        .and_then(|rest| rest.split_once(')'))
        .is_some_and(|(flags, _)| {
            flags.bytes().all(|b| b.is_ascii_lowercase()) && flags.contains('x')
        })
}

/// A counted quantifier at the start, and how the crates spell it; Python also has `{,n}`, meaning
/// from 0.
fn counted(rest: &str) -> Option<(usize, String)> {
    let end = rest.find('}')?;
    let inner = &rest[1..end];
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let spelled = match inner.split_once(',') {
        None if !inner.is_empty() && digits(inner) => inner.to_owned(),
        Some((low, high)) if digits(low) && digits(high) => {
            format!("{},{high}", if low.is_empty() { "0" } else { low })
        }
        _ => return None,
    };
    Some((end + 1, format!("{{{spelled}}}")))
}

/// An escape at the start; returns how many bytes of it were read.
fn escape(rest: &str, at: usize, in_class: bool, out: &mut TranslatedPattern) -> usize {
    let Some(c) = rest[1..].chars().next() else {
        out.emit(at, "\\");
        return 1;
    };
    match c {
        // The very end, which other dialects call \z.
        'Z' if !in_class => out.emit(at, "\\z"),
        'b' if in_class => out.emit(at, "\\x08"),
        // Word boundaries in `regex`, plain characters in Python.
        '<' | '>' => out.emit_char(at, c),
        c if c.is_whitespace() || c == '#' => out.emit(at, &format!("\\x{{{:x}}}", u32::from(c))),
        // Braces that belong to the escape; Python has none, but a class such as \p{Greek} is worth
        // passing on.
        'p' | 'P' | 'x' | 'u' if rest[2..].starts_with('{') && rest.contains('}') => {
            let end = rest.find('}').map_or(rest.len(), |end| end + 1);
            out.emit(at, &rest[..end]);
            return end;
        }
        c if c.is_ascii() => out.emit(at, &rest[..2]),
        c => out.emit_char(at, c),
    }
    1 + c.len_utf8()
}

/// A character class at the start; returns how many bytes of it were read. Python knows no nested
/// classes and no set operations, and whitespace in a class counts even in verbose patterns.
fn class(rest: &str, start: usize, out: &mut TranslatedPattern) -> usize {
    let mut used = 1;
    out.emit(start, "[");
    if rest[used..].starts_with('^') {
        out.emit(start + used, "^");
        used += 1;
    }
    if rest[used..].starts_with(']') {
        out.emit(start + used, "\\]");
        used += 1;
    }
    let mut previous = None;
    while let Some(c) = rest[used..].chars().next() {
        let at = start + used;
        match c {
            ']' => {
                out.emit(at, "]");
                return used + 1;
            }
            '\\' => {
                used += escape(&rest[used..], at, true, out);
                previous = None;
                continue;
            }
            '[' | '&' | '~' => out.emit(at, &format!("\\{c}")),
            '-' if previous == Some('-') => out.emit(at, "\\-"),
            c if c.is_whitespace() || c == '#' => {
                out.emit(at, &format!("\\x{{{:x}}}", u32::from(c)))
            }
            c => out.emit_char(at, c),
        }
        previous = Some(c);
        used += c.len_utf8();
    }
    used
}
