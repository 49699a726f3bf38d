//! Texts with tones and signs, before a writer gives them the form of its medium.

use std::ops::Range;

use crate::model::{Decision, Outcome};

/// How a piece of text is meant. Terminals and HTML pages colour it; Markdown sets [`Tone::Bold`].
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
    pub fn of(outcome: Outcome) -> Tone {
        match outcome {
            Outcome::Passed => Tone::Good,
            Outcome::Failed => Tone::Bad,
            Outcome::Errored => Tone::Warn,
            Outcome::Skipped => Tone::Dim,
            Outcome::Pending => Tone::Wait,
        }
    }

    pub fn of_decision(decision: Decision) -> Tone {
        match decision {
            Decision::Pass => Tone::Good,
            Decision::Fail => Tone::Bad,
            Decision::Incomplete => Tone::Warn,
            Decision::Pending | Decision::Undecided => Tone::Wait,
        }
    }

    /// The tone of what is marked in a text of this tone.
    pub fn marked(self) -> Tone {
        match self {
            Tone::Good => Tone::GoodMark,
            Tone::Bad => Tone::BadMark,
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
pub enum Content {
    /// Words and figures of the program, which need no escaping.
    Own(String),
    /// A text from outside: writers put it on one line and escape it.
    Outside(String),
    /// What people copy, or an identifier.
    Code(String),
    Symbol(Symbol),
    /// A line break within a cell of a table.
    Break,
    /// Drawn by pages in the browser alone; words beside it have its figures.
    Interval(Interval),
}

/// A share with its interval and what is required of it, all in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub value: f64,
    pub ends: Option<[f64; 2]>,
    pub limit: Option<f64>,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub tone: Tone,
    pub content: Content,
}

impl Span {
    pub fn untoned(&self) -> Span {
        Span {
            tone: Tone::Plain,
            content: self.content.clone(),
        }
    }
}

/// A line, or a paragraph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text(pub Vec<Span>);

impl Text {
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|span| match &span.content {
            Content::Own(text) => text.is_empty(),
            Content::Outside(text) | Content::Code(text) => text.trim().is_empty(),
            Content::Symbol(_) | Content::Interval(_) => false,
            Content::Break => true,
        })
    }

    /// The same with a tone where it has none yet.
    pub fn toned(mut self, tone: Tone) -> Text {
        for span in self.0.iter_mut().filter(|span| span.tone == Tone::Plain) {
            span.tone = tone;
        }
        self
    }

    pub fn push(&mut self, text: impl Into<Text>) {
        self.0.extend(text.into().0);
    }

    /// Texts with something between them.
    pub fn joined(texts: impl IntoIterator<Item = Text>, between: impl Into<Text>) -> Text {
        let between = between.into();
        let mut all = Text::default();
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                all.push(between.clone());
            }
            all.push(text);
        }
        all
    }

    /// The head of a column within a sentence.
    pub fn uncapital(mut self) -> Text {
        if let Some(Content::Own(text)) = self.0.first_mut().map(|span| &mut span.content) {
            let mut letters = text.chars();
            if let Some(first) = letters.next() {
                *text = first.to_lowercase().chain(letters).collect();
            }
        }
        self
    }

    pub fn line_break() -> Text {
        Content::Break.into()
    }

    /// A text of one tone with ranges of it that are marked. It is clean, and its blanks count.
    pub fn marked(tone: Tone, text: &str, marks: &[Range<usize>]) -> Text {
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
        Text(spans)
    }
}

/// Joins what can be made a text into one.
macro_rules! text {
    ($($part:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut text = $crate::report::page::Text::default();
        $(text.push($part);)*
        text
    }};
}
pub(crate) use text;

impl From<Content> for Text {
    fn from(content: Content) -> Text {
        let tone = Tone::Plain;
        Text(vec![Span { tone, content }])
    }
}

impl From<&'static str> for Text {
    /// What is written in the source is the program's own.
    fn from(own: &'static str) -> Text {
        Text(vec![span(Tone::Plain, own)])
    }
}

impl From<String> for Text {
    fn from(outside: String) -> Text {
        Content::Outside(outside).into()
    }
}

impl From<&String> for Text {
    fn from(outside: &String) -> Text {
        Text::from(outside.clone())
    }
}

impl From<Span> for Text {
    fn from(span: Span) -> Text {
        Text(vec![span])
    }
}

impl From<Symbol> for Text {
    fn from(symbol: Symbol) -> Text {
        Content::Symbol(symbol).into()
    }
}

/// A piece of the program's own words, or of a text that is clean already.
pub fn span(tone: Tone, text: impl Into<String>) -> Span {
    Span {
        tone,
        content: Content::Own(text.into()),
    }
}

pub fn plain(text: impl Into<String>) -> Span {
    span(Tone::Plain, text)
}

/// Figures and words of the program.
pub fn own(text: impl Into<String>) -> Text {
    Text(vec![plain(text)])
}

/// Words of the program with signs among them, which not every terminal shows.
pub fn signed(text: &str) -> Text {
    let mut all = Text::default();
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
pub fn outside(text: &str) -> Text {
    Text::from(text.to_owned())
}

pub fn code(text: &str) -> Text {
    Content::Code(text.to_owned()).into()
}

pub fn bold(text: impl Into<Text>) -> Text {
    text.into().toned(Tone::Bold)
}

pub fn dim(text: impl Into<Text>) -> Text {
    text.into().toned(Tone::Dim)
}

/// The sign of an outcome, in its colour.
pub fn mark(outcome: Outcome) -> Text {
    Text::from(Symbol::of(outcome)).toned(Tone::of(outcome))
}

/// `eval › case`, or the one name of both.
pub fn place(eval: &str, case: &str) -> Text {
    if eval == case {
        outside(eval)
    } else {
        text![outside(eval), WITHIN, outside(case)]
    }
}
