//! A stream of bytes as lines of text, however long a line is.

use std::borrow::Cow;

use eval_base::text::sanitize;

/// Bytes of a line that are looked at. No summary is longer.
const LONGEST: usize = 8 * 1024;

/// Puts lines together from pieces. Holds at most [`LONGEST`] bytes.
#[derive(Debug, Default)]
pub(super) struct LineAssembler {
    begun: Vec<u8>,
    /// What comes next stands at the line's beginning again.
    returned: bool,
}

impl LineAssembler {
    /// Calls `each` with every line that has come to its end, without escape sequences and its line
    /// break.
    pub fn take(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            if self.begun.is_empty() {
                each(&plain(line));
            } else {
                self.keep(line);
                each(&plain(&std::mem::take(&mut self.begun)));
            }
            self.returned = false;
            rest = after.get(1..).unwrap_or_default();
        }
        self.keep(rest);
    }

    /// Calls `each` with the last line when no line break ended it.
    pub fn end(&mut self, mut each: impl FnMut(&str)) {
        if !self.begun.is_empty() {
            each(&plain(&std::mem::take(&mut self.begun)));
        }
    }

    /// A progress bar may draw itself thousands of times in one line: only what it is drawn over
    /// with is kept.
    fn keep(&mut self, bytes: &[u8]) {
        let shown = shown(bytes);
        let is_over = shown.len() < without_returns(bytes).len();
        if is_over || (self.returned && !shown.is_empty()) {
            self.begun.clear();
        }
        if !bytes.is_empty() {
            self.returned = bytes.ends_with(b"\r") || (self.returned && shown.is_empty());
        }
        let bytes = shown;
        let room = LONGEST.saturating_sub(self.begun.len());
        self.begun
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

fn without_returns(line: &[u8]) -> &[u8] {
    let end = line
        .iter()
        .rposition(|byte| *byte != b'\r')
        .map_or(0, |at| at + 1);
    line.get(..end).unwrap_or(line)
}

/// What stands after the last return to the line's beginning that something follows: a terminal of
/// a terminal ends lines with several returns.
fn shown(line: &[u8]) -> &[u8] {
    without_returns(line)
        .rsplit(|byte| *byte == b'\r')
        .next()
        .unwrap_or(line)
}

/// What a terminal would show of a line, without colours.
fn plain(line: &[u8]) -> Cow<'_, str> {
    let line = shown(line);
    let line = line.get(..LONGEST).unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    if !line.contains(&0x1b) {
        return text;
    }
    Cow::Owned(sanitize(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut read) = (LineAssembler::default(), Vec::new());
        for piece in pieces {
            lines.take(piece, |line| read.push(line.to_owned()));
        }
        lines.end(|line| read.push(line.to_owned()));
        read
    }

    #[test]
    fn colours_and_returns_are_taken_out() {
        assert_eq!(
            read(&[
                b"\x1b[32;1m  ok\x1b[0m\r\n",
                b"10%\r50%\rdo",
                b"ne\n\n\xffx"
            ]),
            ["  ok", "done", "", "\u{fffd}x"]
        );
    }

    #[test]
    fn a_line_that_is_drawn_again_and_again_is_its_last_drawing() {
        let mut bar: Vec<u8> = (0..9000)
            .flat_map(|n| format!("{n} of 9000\r").into_bytes())
            .collect();
        bar.extend(b"1 failed\r\r\n");
        for size in [1, 7, 977, bar.len()] {
            assert_eq!(
                read(&bar.chunks(size).collect::<Vec<_>>()),
                ["1 failed"],
                "{size}"
            );
        }
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let mut lines = LineAssembler::default();
        for _ in 0..1000 {
            lines.take(&[b'x'; 4096], |_| panic!("no line has ended"));
        }
        assert!(
            lines.begun.capacity() <= 2 * LONGEST,
            "{}",
            lines.begun.capacity()
        );
        let mut after = Vec::new();
        lines.take(b"\nnext\n", |line| after.push(line.len()));
        assert_eq!(after, [LONGEST, 4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn pieces_make_no_difference(text in "[a-c\n\r]{0,60}", cut in 0usize..60) {
            let cut = cut.min(text.len());
            let (a, b) = text.as_bytes().split_at(cut);
            prop_assert_eq!(read(&[a, b]), read(&[text.as_bytes()]));
            if !text.contains('\r') {
                prop_assert_eq!(read(&[a, b]), text.lines().map(str::to_owned).collect::<Vec<_>>());
            }
        }
    }
}
