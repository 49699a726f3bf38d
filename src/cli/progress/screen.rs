//! Where progress is written: a block of lines that is drawn over itself, or lines one after the
//! other.

use std::fmt::Write as _;
use std::io::Write;

use console::measure_text_width;

/// A stream, and what of the block stands on it.
pub struct ProgressScreen {
    out: Box<dyn Write + Send>,
    /// The lines that stand there, the cursor being at the end of the last.
    drawn: Vec<String>,
    /// Nobody reads any more: the terminal was closed, or the pipe's reader ended. That ends no
    /// run.
    gone: bool,
}

impl ProgressScreen {
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        ProgressScreen {
            out,
            drawn: Vec::new(),
            gone: false,
        }
    }

    /// Draws a block over the one before, in one piece and without clearing first, so that nothing
    /// flickers.
    pub fn draw(&mut self, lines: Vec<String>, columns: usize) {
        if lines == self.drawn || lines.is_empty() {
            return;
        }
        let mut bytes = to_top(self.rows(columns));
        for (at, line) in lines.iter().enumerate() {
            let _ = write!(bytes, "{}{line}\x1b[K", if at == 0 { "" } else { "\r\n" });
        }
        // What is left of a higher block.
        bytes.push_str("\x1b[J");
        self.send(&bytes);
        self.drawn = lines;
    }

    /// Takes the block away, so that what comes next starts on a clean line. Row by row: to clear
    /// all from the top row on makes some terminals keep what was there as history.
    pub fn clear(&mut self, columns: usize) {
        if self.drawn.is_empty() {
            return;
        }
        let rows = self.rows(columns);
        let down = "\x1b[2K\x1b[1B".repeat(rows - 1);
        let bytes = format!("{}{down}\x1b[2K{}", to_top(rows), to_top(rows));
        self.send(&bytes);
        self.drawn.clear();
    }

    /// A line of its own; the block comes back below it when it is drawn next.
    pub fn line(&mut self, line: &str, columns: usize) {
        self.clear(columns);
        self.send(&format!("{line}\n"));
    }

    /// Rows that the block takes, at least 1. A terminal that was made narrower has broken its
    /// lines.
    fn rows(&self, columns: usize) -> usize {
        let rows = |line: &String| measure_text_width(line).div_ceil(columns.max(1)).max(1);
        self.drawn.iter().map(rows).sum::<usize>().max(1)
    }

    fn send(&mut self, bytes: &str) {
        if !self.gone {
            self.gone = self
                .out
                .write_all(bytes.as_bytes())
                .and_then(|()| self.out.flush())
                .is_err();
        }
    }
}

/// From the last row of a block to its first column of the first.
fn to_top(rows: usize) -> String {
    if rows > 1 {
        format!("\r\x1b[{}A", rows - 1)
    } else {
        "\r".to_owned()
    }
}
