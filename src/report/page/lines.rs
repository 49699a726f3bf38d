//! Lines of a terminal: bounded in width, clean of control sequences, coloured on request.
//!
//! Everything that reaches the terminal goes through [`TerminalLines`], so nothing hostile can slip past.

use std::io::{self, Write};

use super::{SpanContent, StyledSpan, StyledText, TextTone};
use eval_base::text;

/// How a terminal wants its text; the caller asks the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns; no line is longer, save commands and the paths of reports.
    pub width: usize,
    pub color: bool,
    /// Every eval, every failure and more of each.
    pub verbose: bool,
    /// False where only ASCII can be shown; texts from outside are not changed by it.
    pub unicode: bool,
}

impl Default for TerminalOptions {
    /// 80 columns, no colour, Unicode.
    fn default() -> Self {
        TerminalOptions {
            width: 80,
            color: false,
            verbose: false,
            unicode: true,
        }
    }
}

/// Select-graphic-rendition parameters (ECMA-48 8.3.117).
fn sgr(tone: TextTone) -> Option<&'static str> {
    match tone {
        TextTone::Plain => None,
        TextTone::Bold => Some("1"),
        TextTone::Dim => Some("2"),
        TextTone::Good => Some("32"),
        TextTone::Bad => Some("31"),
        TextTone::Warn => Some("33"),
        TextTone::Wait => Some("36"),
        TextTone::GoodMark => Some("1;7;32"),
        TextTone::BadMark => Some("1;7;31"),
        TextTone::Alarm => Some("1;97;41"),
    }
}

/// Clean text of one tone each.
pub type TonedPieces = Vec<(TextTone, String)>;

pub fn width_of(pieces: &TonedPieces) -> usize {
    pieces.iter().map(|(_, text)| text::width(text)).sum()
}

pub struct TerminalLines<'a> {
    out: &'a mut dyn Write,
    options: &'a TerminalOptions,
}

impl<'a> TerminalLines<'a> {
    pub fn new(out: &'a mut dyn Write, options: &'a TerminalOptions) -> Self {
        TerminalLines { out, options }
    }

    pub fn width(&self) -> usize {
        self.options.width
    }

    pub fn verbose(&self) -> bool {
        self.options.verbose
    }

    /// Where what a list leaves out is.
    pub fn rest(&self) -> &'static str {
        match self.options.verbose {
            true => "the JSON report lists all",
            false => "--verbose shows more",
        }
    }

    /// How many lines `write` writes.
    pub fn height(
        &self,
        write: impl FnOnce(TerminalLines<'_>) -> io::Result<()>,
    ) -> io::Result<usize> {
        let mut written = Vec::new();
        write(TerminalLines::new(&mut written, self.options))?;
        Ok(written.iter().filter(|byte| **byte == b'\n').count())
    }

    pub fn ellipsis(&self) -> &'static str {
        self.pick(text::ELLIPSIS, "...")
    }

    /// `fancy` where the terminal shows Unicode, else `simple`.
    pub fn pick<T>(&self, fancy: T, simple: T) -> T {
        if self.options.unicode { fancy } else { simple }
    }

    pub fn blank(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")
    }

    /// A text as this terminal shows it, cut into the lines of a cell.
    pub fn cell(&self, text: &StyledText) -> Vec<TonedPieces> {
        let lines = text.0.split(|span| span.content == SpanContent::Break);
        lines.map(|spans| self.pieces(spans)).collect()
    }

    pub fn pieces(&self, spans: &[StyledSpan]) -> TonedPieces {
        let piece = |span: &StyledSpan| {
            let shown = match &span.content {
                SpanContent::Own(text) => clean(text),
                SpanContent::Outside(text)
                | SpanContent::Code(text)
                | SpanContent::Link { text, .. } => text::one_line(text),
                SpanContent::Symbol(symbol) => symbol.on_terminal(self.options.unicode).to_owned(),
                SpanContent::Break => " ".to_owned(),
                SpanContent::Interval(_) | SpanContent::Choice(_) => String::new(),
            };
            (span.tone, shown)
        };
        spans.iter().map(piece).collect()
    }

    /// The pieces, or as much of their beginning as fits, with a mark that they were cut.
    pub fn cut(&self, pieces: TonedPieces, mut room: usize) -> TonedPieces {
        if width_of(&pieces) <= room {
            return pieces;
        }
        let mut kept = Vec::new();
        for (tone, text) in pieces {
            if text::width(&text) + text::width(self.ellipsis()) > room {
                // Longer than there is room, so that the mark is set.
                let long = format!("{text}{}", " ".repeat(room + 1));
                let shown = text::truncate_width_with(&long, room, self.ellipsis()).into_owned();
                kept.push((tone, shown));
                break;
            }
            room -= text::width(&text);
            kept.push((tone, text));
        }
        kept
    }

    /// One line, cut at the width, without blanks at its end.
    pub fn line(&mut self, spans: &[StyledSpan]) -> io::Result<()> {
        self.write(self.pieces(spans))
    }

    pub fn write(&mut self, mut pieces: TonedPieces) -> io::Result<()> {
        while let Some((_, last)) = pieces.last_mut() {
            // Blanks that are not shown must not make a line too long, either.
            last.truncate(last.trim_end().len());
            if !last.is_empty() {
                break;
            }
            pieces.pop();
        }
        let mut merged: TonedPieces = Vec::new();
        for (tone, text) in pieces {
            match merged.last_mut() {
                Some((last, before)) if *last == tone => before.push_str(&text),
                _ => merged.push((tone, text)),
            }
        }
        self.uncut(self.cut(merged, self.options.width))
    }

    /// A line as it is, however long.
    pub fn uncut(&mut self, pieces: TonedPieces) -> io::Result<()> {
        for (tone, shown) in pieces {
            match sgr(tone).filter(|_| self.options.color && !shown.is_empty()) {
                Some(sgr) => write!(self.out, "\x1b[{sgr}m{shown}\x1b[0m")?,
                None => self.out.write_all(shown.as_bytes())?,
            }
        }
        self.out.write_all(b"\n")
    }

    /// A text in words over at most `most` lines, the first after `first`, the others indented as
    /// far as it.
    pub fn wrapped(
        &mut self,
        first: TonedPieces,
        text: &StyledText,
        most: usize,
    ) -> io::Result<()> {
        let indent = width_of(&first);
        self.hanging(first, indent, text, most)
    }

    /// [`TerminalLines::wrapped`] with a margin for the lines after the first.
    pub fn hanging(
        &mut self,
        first: TonedPieces,
        indent: usize,
        text: &StyledText,
        most: usize,
    ) -> io::Result<()> {
        let pieces = self.pieces(&text.0);
        let whole: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
        let mut tones = pieces
            .iter()
            .flat_map(|(tone, text)| text.chars().map(move |c| (*tone, c)))
            .peekable();
        let room = |taken: usize| self.options.width.saturating_sub(taken).max(8);
        let rooms = [room(width_of(&first)), room(indent)];
        let mut lead = first;
        for line in wrap(&whole, rooms, most, self.ellipsis()) {
            // The same characters but for blanks, and for the mark at the end.
            let mut last = TextTone::Plain;
            for c in line.chars() {
                while c != ' ' && tones.next_if(|(_, source)| *source == ' ').is_some() {}
                if let Some((tone, _)) = tones.next_if(|(_, source)| *source == c) {
                    last = tone;
                }
                match lead.last_mut() {
                    Some((tone, text)) if *tone == last => text.push(c),
                    _ => lead.push((last, c.to_string())),
                }
            }
            self.write(std::mem::replace(
                &mut lead,
                vec![(TextTone::Plain, " ".repeat(indent))],
            ))?;
        }
        Ok(())
    }
}

/// Safe to print as part of a line: a tab is four blanks, a line break one.
fn clean(text: &str) -> String {
    text::sanitize(text)
        .replace('\t', "    ")
        .replace('\n', " ")
}

/// Breaks a text between words; a word that is longer than a line is broken within. `rooms` are the
/// columns of the first line and of the others.
fn wrap(text: &str, rooms: [usize; 2], max_lines: usize, ellipsis: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    // What won't be shown need not be laid out.
    let most = rooms[0].max(rooms[1]).saturating_mul(max_lines + 1);
    let bounded = text::truncate_bytes(text, most.saturating_mul(4));
    for word in bounded.split(' ') {
        let mut word = word;
        loop {
            let room = rooms[usize::from(lines.len() > 1)];
            let used = lines.last().map_or(0, |line| text::width(line));
            let lead = usize::from(used > 0);
            if used + lead + text::width(word) <= room {
                if let Some(line) = lines.last_mut() {
                    line.push_str(&" ".repeat(lead));
                    line.push_str(word);
                }
                break;
            }
            if used > 0 {
                lines.push(String::new());
                continue;
            }
            let head = text::prefix_of_width(word, room);
            if head.is_empty() {
                break;
            }
            if let Some(line) = lines.last_mut() {
                line.push_str(head);
            }
            word = &word[head.len()..];
            lines.push(String::new());
        }
        if lines.len() > max_lines {
            break;
        }
    }
    if lines.len() > max_lines || bounded.len() < text.len() {
        lines.truncate(max_lines);
        let room = rooms[usize::from(lines.len() > 1)];
        if let Some(last) = lines.last_mut() {
            let cut = text::truncate_width_with(last, room - text::width(ellipsis), "");
            *last = format!("{}{ellipsis}", cut.trim_end());
        }
    }
    lines
}

/// `text` with blanks behind it, up to a number of columns.
pub fn pad_right(text: &str, columns: usize) -> String {
    format!(
        "{text}{}",
        " ".repeat(columns.saturating_sub(text::width(text)))
    )
}
