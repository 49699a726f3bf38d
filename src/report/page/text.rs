//! Texts with tones and signs, before a writer gives them the form of its medium.

use std::ops::Range;

use crate::model::{Decision, Outcome};
use eval_base::text::plural;

/// How a piece of text is meant. Terminals and HTML pages colour it; Markdown sets [`TextTone::Bold`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextTone {
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

impl TextTone {
    pub fn of(outcome: Outcome) -> TextTone {
        match outcome {
            Outcome::Passed => TextTone::Good,
            Outcome::Failed => TextTone::Bad,
            Outcome::Errored => TextTone::Warn,
            Outcome::Skipped => TextTone::Dim,
            Outcome::Pending => TextTone::Wait,
        }
    }

    pub fn of_decision(decision: Decision) -> TextTone {
        match decision {
            Decision::Pass => TextTone::Good,
            Decision::Fail => TextTone::Bad,
            Decision::Incomplete => TextTone::Warn,
            Decision::Pending | Decision::Undecided => TextTone::Wait,
        }
    }

    /// The tone of what is marked in a text of this tone.
    pub fn marked(self) -> TextTone {
        match self {
            TextTone::Good => TextTone::GoodMark,
            TextTone::Bad => TextTone::BadMark,
            tone => tone,
        }
    }
}

/// A sign in its forms: on terminals with and without Unicode, and in Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    pub unicode: &'static str,
    pub ascii: &'static str,
    pub emoji: &'static str,
}

const fn symbol(unicode: &'static str, ascii: &'static str, emoji: &'static str) -> Symbol {
    Symbol {
        unicode,
        ascii,
        emoji,
    }
}

pub const PASSED: Symbol = symbol("✓", "+", "✅");
pub const FAILED: Symbol = symbol("✗", "x", "❌");
pub const ERRORED: Symbol = symbol("!", "!", "⚠️");
pub const SKIPPED: Symbol = symbol("–", "-", "➖");
pub const PENDING: Symbol = symbol("?", "?", "⏳");
pub const UNDECIDED: Symbol = symbol("?", "?", "➗");
pub const UNKNOWN: Symbol = symbol("○", "o", "⚪");
pub const WORSE: Symbol = symbol("▼", "v", "▼");
pub const BETTER: Symbol = symbol("▲", "^", "▲");
pub const ARROW: Symbol = symbol(" → ", " -> ", " → ");
/// Between an eval and its case.
pub const WITHIN: Symbol = symbol(" › ", " > ", " › ");
/// Between facts on a line.
pub const DOT: Symbol = symbol(" · ", ", ", " · ");

impl Symbol {
    pub fn of(outcome: Outcome) -> Symbol {
        match outcome {
            Outcome::Passed => PASSED,
            Outcome::Failed => FAILED,
            Outcome::Errored => ERRORED,
            Outcome::Skipped => SKIPPED,
            Outcome::Pending => PENDING,
        }
    }

    pub fn of_decision(decision: Decision) -> Symbol {
        match decision {
            Decision::Pass => PASSED,
            Decision::Fail => FAILED,
            Decision::Incomplete => ERRORED,
            Decision::Pending => PENDING,
            Decision::Undecided => UNDECIDED,
        }
    }

    pub fn on_terminal(self, unicode: bool) -> &'static str {
        if unicode { self.unicode } else { self.ascii }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum SpanContent {
    /// Words and figures of the program, which need no escaping.
    Own(String),
    /// A text from outside: writers put it on one line and escape it.
    Outside(String),
    /// What people copy, or an identifier.
    Code(String),
    Symbol(Symbol),
    /// A text from outside that pages in the browser link to an address; other media show the text.
    Link {
        text: String,
        /// Relative, percent-encoded: see [`crate::report::page_address`].
        address: String,
    },
    /// A line break within a paragraph or a cell of a table.
    Break,
    /// Drawn by pages in the browser alone; its figures are also shown as text.
    Interval(DrawnInterval),
    /// A box to tick, on pages in the browser that have a form of this id.
    Choice(ChoiceBox),
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiceBox {
    pub form: &'static str,
    pub name: &'static str,
    pub value: String,
    /// For those who can't see what it is beside.
    pub label: String,
}

/// A share with its interval and what is required of it, all in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawnInterval {
    pub value: f64,
    pub ends: Option<[f64; 2]>,
    pub limit: Option<f64>,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct StyledSpan {
    pub tone: TextTone,
    pub content: SpanContent,
}

/// A line, or a paragraph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StyledText(pub Vec<StyledSpan>);

impl StyledText {
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|span| match &span.content {
            SpanContent::Own(text) => text.is_empty(),
            SpanContent::Outside(text)
            | SpanContent::Code(text)
            | SpanContent::Link { text, .. } => text.trim().is_empty(),
            SpanContent::Symbol(_) | SpanContent::Interval(_) | SpanContent::Choice(_) => false,
            SpanContent::Break => true,
        })
    }

    /// The same with a tone where it has none yet.
    pub fn toned(mut self, tone: TextTone) -> StyledText {
        for span in self
            .0
            .iter_mut()
            .filter(|span| span.tone == TextTone::Plain)
        {
            span.tone = tone;
        }
        self
    }

    pub fn push(&mut self, text: impl Into<StyledText>) {
        self.0.extend(text.into().0);
    }

    /// Texts with something between them.
    pub fn joined(
        texts: impl IntoIterator<Item = StyledText>,
        between: impl Into<StyledText>,
    ) -> StyledText {
        let between = between.into();
        let mut all = StyledText::default();
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                all.push(between.clone());
            }
            all.push(text);
        }
        all
    }

    /// The head of a column within a sentence.
    pub fn uncapital(mut self) -> StyledText {
        if let Some(SpanContent::Own(text)) = self.0.first_mut().map(|span| &mut span.content) {
            let mut letters = text.chars();
            if let Some(first) = letters.next() {
                *text = first.to_lowercase().chain(letters).collect();
            }
        }
        self
    }

    pub fn line_break() -> StyledText {
        SpanContent::Break.into()
    }

    /// A text of one tone with ranges of it that are marked. It is clean, and its blanks count.
    pub fn marked(tone: TextTone, text: &str, marks: &[Range<usize>]) -> StyledText {
        let mut spans = Vec::new();
        let mut end = 0;
        for mark in marks {
            let (Some(before), Some(within)) = (text.get(end..mark.start), text.get(mark.clone()))
            else {
                continue;
            };
            spans.extend([span(tone, before), span(tone.marked(), within)]);
            end = mark.end;
        }
        spans.push(span(tone, text.get(end..).unwrap_or_default()));
        StyledText(spans)
    }
}

/// Joins what can be made a text into one.
macro_rules! text {
    ($($part:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut text = $crate::report::page::StyledText::default();
        $(text.push($part);)*
        text
    }};
}
pub(crate) use text;

impl From<SpanContent> for StyledText {
    fn from(content: SpanContent) -> StyledText {
        let tone = TextTone::Plain;
        StyledText(vec![StyledSpan { tone, content }])
    }
}

impl From<&'static str> for StyledText {
    /// What is written in the source is the program's own.
    fn from(own: &'static str) -> StyledText {
        StyledText(vec![span(TextTone::Plain, own)])
    }
}

impl From<String> for StyledText {
    fn from(outside: String) -> StyledText {
        SpanContent::Outside(outside).into()
    }
}

impl From<&String> for StyledText {
    fn from(outside: &String) -> StyledText {
        StyledText::from(outside.clone())
    }
}

impl From<StyledSpan> for StyledText {
    fn from(span: StyledSpan) -> StyledText {
        StyledText(vec![span])
    }
}

impl From<Symbol> for StyledText {
    fn from(symbol: Symbol) -> StyledText {
        SpanContent::Symbol(symbol).into()
    }
}

/// A piece of the program's own words, or of a text that is clean already.
pub fn span(tone: TextTone, text: impl Into<String>) -> StyledSpan {
    StyledSpan {
        tone,
        content: SpanContent::Own(text.into()),
    }
}

pub fn plain(text: impl Into<String>) -> StyledSpan {
    span(TextTone::Plain, text)
}

/// Figures and words of the program.
pub fn own(text: impl Into<String>) -> StyledText {
    StyledText(vec![plain(text)])
}

/// Words of the program with signs among them, which not every terminal shows.
pub fn signed(text: &str) -> StyledText {
    let mut all = StyledText::default();
    let mut rest = text;
    let next = |rest: &str| {
        let signs = [WORSE, BETTER, ARROW];
        let found = signs.map(|sign| Some((rest.find(sign.unicode)?, sign)));
        found.into_iter().flatten().min_by_key(|(at, _)| *at)
    };
    while let Some((at, sign)) = next(rest) {
        all.push(plain(&rest[..at]));
        all.push(sign);
        rest = &rest[at + sign.unicode.len()..];
    }
    all.push(plain(rest));
    all
}

/// A text from outside.
pub fn outside(text: &str) -> StyledText {
    StyledText::from(text.to_owned())
}

pub fn code(text: &str) -> StyledText {
    SpanContent::Code(text.to_owned()).into()
}

/// A text from outside of which each line stays one; of many the first.
pub fn outside_lines(text: &str, most: usize) -> StyledText {
    let lines: Vec<&str> = text.trim().lines().collect();
    let shown = lines.iter().take(most).map(|line| outside(line));
    let more = lines.len().saturating_sub(most);
    let more = (more > 0).then(|| dim(own(format!("... and {}", plural(more, "more line")))));
    StyledText::joined(shown.chain(more), StyledText::line_break())
}

/// A text from outside that leads somewhere, where there is an address.
pub fn linked(text: &str, address: Option<String>) -> StyledText {
    match address {
        Some(address) => SpanContent::Link {
            text: text.to_owned(),
            address,
        }
        .into(),
        None => outside(text),
    }
}

pub fn bold(text: impl Into<StyledText>) -> StyledText {
    text.into().toned(TextTone::Bold)
}

pub fn dim(text: impl Into<StyledText>) -> StyledText {
    text.into().toned(TextTone::Dim)
}

/// The sign of an outcome, in its colour.
pub fn mark(outcome: Outcome) -> StyledText {
    StyledText::from(Symbol::of(outcome)).toned(TextTone::of(outcome))
}

/// `eval › case`, or the one name of both.
pub fn place(eval: &str, case: &str) -> StyledText {
    if eval == case {
        outside(eval)
    } else {
        text![outside(eval), WITHIN, outside(case)]
    }
}
