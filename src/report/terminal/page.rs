//! Lines of a terminal: bounded in width, clean of control sequences, coloured when asked.
//!
//! Everything that reaches the terminal goes through [`Page::line`], so nothing hostile can slip
//! past it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use crate::report::TerminalOptions;
use eval_base::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Warn,
    Wait,
    /// What is right, where it counts most.
    GoodMark,
    /// What is wrong, where it counts most.
    BadMark,
    /// White on red.
    Alarm,
}

impl Tone {
    /// The tone of what is marked in a text of this tone.
    fn marked(self) -> Tone {
        match self {
            Tone::Good => Tone::GoodMark,
            Tone::Bad => Tone::BadMark,
            tone => tone,
        }
    }

    /// Select-graphic-rendition parameters (ECMA-48 8.3.117).
    fn sgr(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Bold => Some("1"),
            Tone::Dim => Some("2"),
            Tone::Good => Some("32"),
            Tone::Bad => Some("31"),
            Tone::Warn => Some("33"),
            Tone::Wait => Some("36"),
            Tone::GoodMark => Some("1;7;32"),
            Tone::BadMark => Some("1;7;31"),
            Tone::Alarm => Some("1;97;41"),
        }
    }
}

/// A piece of a line.
#[derive(Debug, Clone)]
pub struct Span<'a> {
    tone: Tone,
    text: Cow<'a, str>,
}

impl Span<'_> {
    /// Columns that it takes.
    pub fn width(&self) -> usize {
        text::width(&clean(&self.text))
    }
}

pub fn span<'a>(tone: Tone, text: impl Into<Cow<'a, str>>) -> Span<'a> {
    Span {
        tone,
        text: text.into(),
    }
}

pub fn plain<'a>(text: impl Into<Cow<'a, str>>) -> Span<'a> {
    span(Tone::Plain, text)
}

pub struct Page<'a> {
    out: &'a mut dyn Write,
    options: &'a TerminalOptions,
}

impl<'a> Page<'a> {
    pub fn new(out: &'a mut dyn Write, options: &'a TerminalOptions) -> Self {
        Page { out, options }
    }

    pub fn width(&self) -> usize {
        self.options.width
    }

    pub fn ellipsis(&self) -> &'static str {
        if self.options.unicode {
            text::ELLIPSIS
        } else {
            "..."
        }
    }

    /// `fancy` where the terminal shows Unicode, else `simple`.
    pub fn pick<T>(&self, fancy: T, simple: T) -> T {
        if self.options.unicode { fancy } else { simple }
    }

    pub fn blank(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")
    }

    /// One line, cut at the width, without blanks at its end.
    pub fn line(&mut self, spans: &[Span]) -> io::Result<()> {
        let mut spans: Vec<(Tone, String)> = spans
            .iter()
            .map(|span| (span.tone, clean(&span.text)))
            .collect();
        let end = spans
            .iter()
            .rposition(|(_, text)| !text.trim_end().is_empty())
            .map_or(0, |at| at + 1);
        // Blanks that are not shown must not make a line too long, either.
        if let Some((_, last)) = spans[..end].last_mut() {
            last.truncate(last.trim_end().len());
        }
        let whole: usize = spans[..end].iter().map(|(_, text)| text::width(text)).sum();
        let mut room = self.options.width;
        let cut = whole > room;
        for (tone, text) in &spans[..end] {
            let shown = match cut {
                // The line is too long: the span that meets the edge ends it, with the mark.
                true if text::width(text) + text::width(self.ellipsis()) > room => {
                    let marked = format!("{text}{}", " ".repeat(room + 1));
                    text::truncate_width_with(&marked, room, self.ellipsis()).into_owned()
                }
                _ => text.to_owned(),
            };
            room = room.saturating_sub(text::width(&shown));
            let ended = shown != *text;
            match tone
                .sgr()
                .filter(|_| self.options.color && !shown.is_empty())
            {
                Some(sgr) => write!(self.out, "\x1b[{sgr}m{shown}\x1b[0m")?,
                None => self.out.write_all(shown.as_bytes())?,
            }
            if ended {
                break;
            }
        }
        self.out.write_all(b"\n")
    }

    /// A text in words over at most `max_lines` lines, the first after `first`, the others indented
    /// as far as it.
    pub fn wrapped(
        &mut self,
        first: &[Span],
        tone: Tone,
        text: &str,
        max_lines: usize,
    ) -> io::Result<()> {
        self.wrapped_marked(first, tone, text, &[], max_lines)
    }

    /// [`Page::wrapped`] with ranges of the text that are marked.
    pub fn wrapped_marked(
        &mut self,
        first: &[Span],
        tone: Tone,
        text: &str,
        marks: &[Range<usize>],
        max_lines: usize,
    ) -> io::Result<()> {
        let indent: usize = first
            .iter()
            .map(|span| text::width(&clean(&span.text)))
            .sum();
        let room = self.options.width.saturating_sub(indent).max(8);
        let lines = wrap(&text::one_line(text), room, max_lines, self.ellipsis());
        let of_lines = marks_of_lines(text, marks, &lines);
        let margin = " ".repeat(indent);
        for (at, (line, marks)) in lines.iter().zip(of_lines).enumerate() {
            let mut spans = if at == 0 {
                first.to_vec()
            } else {
                vec![plain(margin.as_str())]
            };
            spans.extend(marked(tone, line, &marks));
            self.line(&spans)?;
        }
        Ok(())
    }

    /// A name and cells beside it, each in a column of so many; what is too long for its column is
    /// cut. `cell.1` are the blanks at the end of a cell, at least.
    pub fn columns(
        &mut self,
        name: (&str, usize),
        cell: (usize, usize),
        cells: impl Iterator<Item = (Tone, String)>,
    ) -> io::Result<()> {
        let ((name, name_width), (width, gap)) = (name, cell);
        let ellipsis = self.ellipsis();
        let fit = |text: &str, width: usize, gap: usize| {
            pad_right(
                &text::truncate_width_with(text, width.saturating_sub(gap), ellipsis),
                width,
            )
        };
        let mut spans: Vec<Span<'_>> = vec![plain(fit(name, name_width, 2))];
        spans.extend(cells.map(|(tone, cell)| span(tone, fit(&cell, width, gap))));
        self.line(&spans)
    }

    /// A line that is never cut, for paths that people copy.
    pub fn uncut(&mut self, label: &str, path: &str) -> io::Result<()> {
        writeln!(self.out, "{}{}", clean(label), clean(path))
    }
}

/// A text cut where its marks begin and end.
pub fn marked<'a>(tone: Tone, text: &'a str, marks: &[Range<usize>]) -> Vec<Span<'a>> {
    let mut spans = Vec::new();
    let mut end = 0;
    for mark in marks {
        let (Some(before), Some(within)) = (text.get(end..mark.start), text.get(mark.clone()))
        else {
            continue;
        };
        spans.push(span(tone, before));
        spans.push(span(tone.marked(), within));
        end = mark.end;
    }
    spans.push(span(tone, text.get(end..).unwrap_or_default()));
    spans
}

/// The marks of a text in each of the lines into which it was broken: the same characters but for
/// blanks.
fn marks_of_lines(text: &str, marks: &[Range<usize>], lines: &[String]) -> Vec<Vec<Range<usize>>> {
    let mut rest = text.char_indices().peekable();
    let mut of_lines = Vec::new();
    for line in lines {
        let mut own: Vec<Range<usize>> = Vec::new();
        for (at, c) in line.char_indices() {
            while c != ' ' && rest.next_if(|(_, source)| *source == ' ').is_some() {}
            let Some((source, _)) = rest.next_if(|(_, source)| *source == c) else {
                continue;
            };
            if !marks.iter().any(|mark| mark.contains(&source)) {
                continue;
            }
            match own.last_mut() {
                Some(last) if last.end == at => last.end = at + c.len_utf8(),
                _ => own.push(at..at + c.len_utf8()),
            }
        }
        of_lines.push(own);
    }
    of_lines
}

/// Safe to print as part of a line: a tab is four blanks, a line break one.
fn clean(text: &str) -> String {
    text::sanitize(text)
        .replace('\t', "    ")
        .replace('\n', " ")
}

/// Breaks a text between words; a word that is longer than a line is broken within.
fn wrap(text: &str, room: usize, max_lines: usize, ellipsis: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    // What won't be shown need not be laid out.
    let bounded = text::truncate_bytes(text, room.saturating_mul(max_lines + 1).saturating_mul(4));
    for word in bounded.split(' ') {
        let mut word = word;
        loop {
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
        if let Some(last) = lines.last_mut() {
            let cut = text::truncate_width_with(last, room - text::width(ellipsis), "");
            *last = format!("{}{ellipsis}", cut.trim_end());
        }
    }
    lines
}

/// `text` with blanks up to a number of columns, behind it or before it.
pub fn pad_right(text: &str, columns: usize) -> String {
    format!(
        "{text}{}",
        " ".repeat(columns.saturating_sub(text::width(text)))
    )
}

pub fn pad_left(text: &str, columns: usize) -> String {
    format!(
        "{}{text}",
        " ".repeat(columns.saturating_sub(text::width(text)))
    )
}
