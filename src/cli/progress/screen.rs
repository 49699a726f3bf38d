//! Where progress is written: a block of lines that is drawn over itself, or lines one after the other.

use std::fmt::Write as _;
use std::io::Write;

use console::{measure_text_width, strip_ansi_codes};

/// A stream, and what of the block stands on it.
pub struct Screen {
    out: Box<dyn Write + Send>,
    /// The lines that stand there, the cursor being at the end of the last.
    drawn: Vec<String>,
    /// Nobody reads any more: the terminal was closed, or the pipe's reader ended. That ends no run.
    gone: bool,
}

impl Screen {
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Screen { out, drawn: Vec::new(), gone: false }
    }

    /// Draws a block over the one before, in one piece and without clearing first, so that nothing flickers.
    pub fn draw(&mut self, lines: Vec<String>, columns: usize) {
        if lines == self.drawn || lines.is_empty() {
            return;
        }
        let mut bytes = self.to_top(columns);
        for (at, line) in lines.iter().enumerate() {
            let _ = write!(bytes, "{}{line}\x1b[K", if at == 0 { "" } else { "\r\n" });
        }
        // What is left of a higher block.
        bytes.push_str("\x1b[J");
        self.send(&bytes);
        self.drawn = lines;
    }

    /// Takes the block away, so that what comes next starts on a clean line.
    pub fn clear(&mut self, columns: usize) {
        if !self.drawn.is_empty() {
            let bytes = self.to_top(columns) + "\x1b[J";
            self.send(&bytes);
            self.drawn.clear();
        }
    }

    /// A line of its own; the block comes back below it when it is drawn next.
    pub fn line(&mut self, line: &str, columns: usize) {
        self.clear(columns);
        self.send(&format!("{line}\n"));
    }

    /// To the first column of the block's first row. A terminal that was made narrower has broken its lines.
    fn to_top(&self, columns: usize) -> String {
        let rows =
            |line: &String| measure_text_width(&strip_ansi_codes(line)).div_ceil(columns.max(1)).max(1);
        match self.drawn.iter().map(rows).sum::<usize>() {
            0 | 1 => "\r".to_owned(),
            rows => format!("\r\x1b[{}A", rows - 1),
        }
    }

    fn send(&mut self, bytes: &str) {
        if !self.gone {
            self.gone = self.out.write_all(bytes.as_bytes()).and_then(|()| self.out.flush()).is_err();
        }
    }
}
