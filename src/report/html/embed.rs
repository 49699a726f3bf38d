//! Data within a page: JSON in a block that nothing in it can end.

use std::io::{self, Write};

use serde::Serialize;

use crate::report::ReportError;

/// Bytes that go through unescaped at once.
const PIECE: usize = 64 * 1024;

/// Writes `<script type="application/json" id="...">` with the value as JSON. `id` is one of ours.
///
/// A parser of HTML looks for `</script` and `<!--` within; every `<`, `>` and `&` is therefore written as JSON's own escape,
/// as are the line separators that older scripts took for line ends. Outside of texts JSON has none of these characters.
pub fn block(id: &str, value: &impl Serialize, out: &mut dyn Write) -> Result<(), ReportError> {
    write!(out, "<script type=\"application/json\" id=\"{id}\">")?;
    let written = serde_json::to_writer(Escaped { out }, value);
    written.map_err(
        |error| if error.is_io() { ReportError::Io(error.into()) } else { ReportError::Json(error) },
    )?;
    out.write_all(b"</script>\n")?;
    Ok(())
}

/// Writes a block that is a list, of items that are JSON already.
pub fn list(id: &str, items: &[Vec<u8>], out: &mut dyn Write) -> Result<(), ReportError> {
    write!(out, "<script type=\"application/json\" id=\"{id}\">[")?;
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        Escaped { out }.write_all(item)?;
    }
    out.write_all(b"]</script>\n")?;
    Ok(())
}

/// Bytes of JSON within a block, where some characters take more.
pub fn length(json: &[u8]) -> usize {
    let markup = json.iter().filter(|byte| matches!(byte, b'<' | b'>' | b'&')).count();
    let separators = json.windows(3).filter(|bytes| matches!(bytes, [0xE2, 0x80, 0xA8 | 0xA9])).count();
    json.len() + 5 * markup + 3 * separators
}

/// Passes JSON on with what could end its block escaped.
struct Escaped<'a> {
    out: &'a mut dyn Write,
}

impl Write for Escaped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A separator of three bytes may be cut in two between calls only if the writer above cut a character, and it does not.
        let piece = bytes.get(..PIECE.min(bytes.len())).unwrap_or(bytes);
        let piece = match std::str::from_utf8(piece) {
            Ok(_) => piece,
            Err(error) if error.valid_up_to() > 0 => piece.get(..error.valid_up_to()).unwrap_or(piece),
            Err(_) => piece,
        };
        let mut from = 0;
        for (at, byte) in piece.iter().enumerate() {
            let (escape, length): (&[u8], usize) = match byte {
                b'<' => (b"\\u003c", 1),
                b'>' => (b"\\u003e", 1),
                b'&' => (b"\\u0026", 1),
                0xE2 if piece.get(at..at + 3) == Some(&[0xE2, 0x80, 0xA8]) => (b"\\u2028", 3),
                0xE2 if piece.get(at..at + 3) == Some(&[0xE2, 0x80, 0xA9]) => (b"\\u2029", 3),
                _ => continue,
            };
            self.out.write_all(piece.get(from..at).unwrap_or_default())?;
            self.out.write_all(escape)?;
            from = at + length;
        }
        self.out.write_all(piece.get(from..).unwrap_or_default())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A text between tags or within a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
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
        let hostile =
            ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "&lt;", "a\u{2028}b\u{2029}c"];
        insta::assert_snapshot!(written(&hostile), @r#"<script type="application/json" id="x">["\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e","\u003c!--\u003cscript\u003e","]]\u003e","\u0026lt;","a\u2028b\u2029c"]</script>"#);
    }

    proptest! {
        /// What a page reads is what was there, and no character of markup is within, whatever the text and wherever it is cut.
        #[test]
        fn texts_come_back_as_they_were(text in "(?s).{0,40}([<>&\u{2028}\u{2029}€]|.){0,60}", times in 1usize..3000) {
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
