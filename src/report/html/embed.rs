//! Data within a page: JSON in a block that nothing in it can end.

use std::io::{self, Write};

use serde::Serialize;

use crate::report::ReportError;

/// Bytes that are passed on at once, about.
const PIECE: usize = 64 * 1024;

/// Writes `<script type="application/json" id="...">` with the value as JSON. `id` is one of ours.
///
/// A parser of HTML looks for `</script` and `<!--` within; every `<`, `>` and `&` is therefore
/// written as JSON's own escape, as are the line separators that older scripts took for line ends.
/// Outside of texts JSON has none of these characters.
pub fn block(id: &str, value: &impl Serialize, out: &mut dyn Write) -> Result<(), ReportError> {
    write!(out, "<script type=\"application/json\" id=\"{id}\">")?;
    let mut escaped = JsonEscaper::to(out);
    let written = serde_json::to_writer(&mut escaped, value);
    written.map_err(|error| {
        if error.is_io() {
            ReportError::Io(error.into())
        } else {
            ReportError::Json(error)
        }
    })?;
    escaped.finish()?;
    out.write_all(b"</script>\n")?;
    Ok(())
}

/// Writes a block that is a list, of items that are JSON already.
pub fn list(id: &str, items: &[Vec<u8>], out: &mut dyn Write) -> Result<(), ReportError> {
    write!(out, "<script type=\"application/json\" id=\"{id}\">[")?;
    let mut escaped = JsonEscaper::to(out);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            escaped.write_all(b",")?;
        }
        escaped.write_all(item)?;
    }
    escaped.finish()?;
    out.write_all(b"]</script>\n")?;
    Ok(())
}

/// Bytes of JSON within a block, where some characters take more.
pub fn length(json: &[u8]) -> usize {
    let (mut markup, mut separators) = (0, 0);
    for (at, byte) in json.iter().enumerate() {
        match byte {
            b'<' | b'>' | b'&' => markup += 1,
            0xE2 if matches!(json.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])) => {
                separators += 1
            }
            _ => {}
        }
    }
    json.len() + 5 * markup + 3 * separators
}

/// Passes JSON on with what could end its block escaped, wherever a writer cuts it.
struct JsonEscaper<'a> {
    out: &'a mut dyn Write,
    ready: Vec<u8>,
    /// How many bytes of a separator have come; they are not in `ready`.
    begun: usize,
}

/// What both separators begin with.
const SEPARATOR: [u8; 2] = [0xE2, 0x80];

impl<'a> JsonEscaper<'a> {
    fn to(out: &'a mut dyn Write) -> Self {
        JsonEscaper {
            out,
            ready: Vec::new(),
            begun: 0,
        }
    }

    fn take(&mut self, byte: u8) {
        let escape: &[u8] = match (self.begun, byte) {
            (2, 0xA8) => b"\\u2028",
            (2, 0xA9) => b"\\u2029",
            (1, 0x80) => {
                self.begun = 2;
                return;
            }
            (begun, byte) => {
                // It was another character.
                self.ready.extend(SEPARATOR.iter().take(begun));
                match byte {
                    0xE2 => {
                        self.begun = 1;
                        return;
                    }
                    b'<' => b"\\u003c",
                    b'>' => b"\\u003e",
                    b'&' => b"\\u0026",
                    _ => &[byte],
                }
            }
        };
        self.ready.extend_from_slice(escape);
        self.begun = 0;
    }

    /// Passes on what is left; nothing is whole without it.
    fn finish(mut self) -> io::Result<()> {
        self.ready.extend(SEPARATOR.iter().take(self.begun));
        self.out.write_all(&self.ready)
    }
}

impl Write for JsonEscaper<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            let is_odd = |byte: &u8| matches!(byte, b'<' | b'>' | b'&' | 0xE2);
            let plain = if self.begun > 0 {
                0
            } else {
                rest.iter().position(is_odd).unwrap_or(rest.len())
            };
            if plain == 0 {
                self.take(*first);
            }
            let (now, later) = rest.split_at(plain);
            self.ready.extend_from_slice(now);
            rest = if plain == 0 {
                rest.get(1..).unwrap_or_default()
            } else {
                later
            };
        }
        if self.ready.len() >= PIECE {
            self.out.write_all(&self.ready)?;
            self.ready.clear();
        }
        Ok(bytes.len())
    }

    /// Nothing: a separator that has begun must not be passed on in two.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(value: &impl Serialize) -> String {
        let mut out = Vec::new();
        block("x", value, &mut out).expect("written");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn nothing_within_ends_the_block_or_begins_a_comment() {
        let hostile = [
            "</script><script>alert(1)</script>",
            "<!--<script>",
            "]]>",
            "&lt;",
            "a\u{2028}b\u{2029}c",
        ];
        insta::assert_snapshot!(written(&hostile), @r#"<script type="application/json" id="x">["\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e","\u003c!--\u003cscript\u003e","]]\u003e","\u0026lt;","a\u2028b\u2029c"]</script>"#);
    }

    proptest! {
        /// However a writer cuts what it writes, within a character too.
        #[test]
        fn cuts_change_nothing(text in "[<>&a\u{2028}\u{2029}\u{2027}€é\u{e080}]{0,30}", cuts in prop::collection::vec(0usize..4, 0..90)) {
            let mut out = Vec::new();
            let mut escaped = JsonEscaper::to(&mut out);
            let mut rest = text.as_bytes();
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                escaped.write_all(now).expect("written");
                rest = later;
            }
            escaped.write_all(rest).expect("written");
            escaped.finish().expect("written");
            let told = [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
            let expected = told.into_iter().fold(text.clone(), |text, (c, escape)| text.replace(c, escape));
            prop_assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
        }

        /// What a page reads is what was there, and no character of markup is within, whatever the
        /// text and wherever it is cut.
        #[test]
        fn texts_come_back_as_they_were(text in "(?s).{0,40}([<>&\u{2028}\u{2029}€]|.){0,60}", times in 1usize..600) {
            let long = text.repeat(times);
            let bare = serde_json::to_vec(&long).expect("JSON");
            let mut listed = Vec::new();
            list("x", &[bare.clone(), b"1".to_vec()], &mut listed).expect("written");
            let page = written(&long);
            let json = page.strip_prefix("<script type=\"application/json\" id=\"x\">").expect("begin");
            let json = json.strip_suffix("</script>\n").expect("end");
            let markup = json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(!markup);
            prop_assert_eq!(json.len(), length(&bare));
            prop_assert_eq!(String::from_utf8(listed).expect("UTF-8"), page.replace(json, &format!("[{json},1]")));
            prop_assert_eq!(serde_json::from_str::<String>(json).expect("JSON"), long);
        }
    }
}
