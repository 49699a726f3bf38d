//! For whom a page is built: which medium, and how much of each list it shows.

use super::{StyledText, dim, own};
use crate::report::{TerminalOptions, limits};
use eval_base::text::plural;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMedium {
    /// What is most important comes last.
    Terminal,
    /// What is most important comes first.
    Markdown,
    /// A short page, in a bounded number of bytes.
    Comment,
    /// A page for the browser, with folds instead of short lists.
    Html,
}

#[derive(Debug, Clone, Copy)]
pub struct PageView {
    pub medium: PageMedium,
    pub limits: PageLimits,
    /// The lists are as long as the medium allows.
    pub verbose: bool,
}

/// How much of each list a medium shows.
#[derive(Debug, Clone, Copy)]
pub struct PageLimits {
    /// Evals that are listed when there are more of them.
    pub evals: usize,
    /// Failures in full, and further ones by name.
    pub failures: usize,
    pub named: usize,
    /// Cases of a kind: flaky, slow, broken, ...
    pub cases: usize,
    /// Cases below an eval.
    pub eval_cases: usize,
    pub groups: usize,
    pub metrics: usize,
    /// Reasons, notes, models, judges.
    pub notes: usize,
    /// Criteria, checks and votes of a verdict.
    pub verdict: usize,
    /// Cases that did not fail and whose verdicts are shown.
    pub judged: usize,
    pub evidence: EvidenceLimits,
}

/// How much of expected and actual values is shown.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceLimits {
    pub lines: usize,
    /// Bytes of one side, or of the diff.
    pub bytes: usize,
    /// Unchanged lines around a change.
    pub context: usize,
    /// Places that differ.
    pub places: usize,
    /// Columns of one side of a place.
    pub columns: usize,
    /// False where only ASCII can be shown; it changes our own marks, never a text.
    pub unicode: bool,
}

impl PageView {
    pub fn terminal(options: &TerminalOptions) -> PageView {
        let mut limits = if options.verbose {
            limits::terminal::VERBOSE
        } else {
            limits::terminal::LISTS
        };
        limits.evidence.columns = options.width.saturating_sub(8);
        limits.evidence.unicode = options.unicode;
        PageView {
            medium: PageMedium::Terminal,
            limits,
            verbose: options.verbose,
        }
    }

    /// For the cases that somebody looks at one by one: as much as `--verbose` shows.
    pub fn in_full(options: &TerminalOptions) -> PageView {
        let verbose = TerminalOptions {
            verbose: true,
            ..*options
        };
        PageView {
            verbose: options.verbose,
            ..PageView::terminal(&verbose)
        }
    }

    pub fn markdown() -> PageView {
        PageView {
            medium: PageMedium::Markdown,
            limits: limits::markdown::LISTS,
            verbose: false,
        }
    }

    pub fn comment() -> PageView {
        PageView {
            medium: PageMedium::Comment,
            limits: limits::comment::LISTS,
            verbose: false,
        }
    }

    pub fn html() -> PageView {
        PageView {
            medium: PageMedium::Html,
            limits: limits::phase::HTML,
            verbose: true,
        }
    }

    /// How much of each side is shown below an item of a list.
    pub fn brief_evidence(&self) -> EvidenceLimits {
        let whole = self.limits.evidence;
        match self.medium {
            PageMedium::Html => whole,
            _ => EvidenceLimits {
                lines: whole.lines.min(16),
                bytes: whole.bytes.min(1_200),
                context: whole.context.min(2),
                places: whole.places.min(12),
                ..whole
            },
        }
    }

    pub fn is_html(&self) -> bool {
        self.medium == PageMedium::Html
    }

    pub fn is_terminal(&self) -> bool {
        self.medium == PageMedium::Terminal
    }

    /// Where what a list leaves out is.
    pub fn rest(&self) -> &'static str {
        match (self.medium, self.verbose) {
            (PageMedium::Terminal, false) => "--verbose shows more",
            (PageMedium::Terminal, true) | (PageMedium::Markdown | PageMedium::Html, _) => {
                "the JSON report lists all"
            }
            (PageMedium::Comment, _) => "the report lists all",
        }
    }

    /// How many more there are than a list shows, and where they are.
    pub fn more(&self, hidden: usize, noun: &str) -> StyledText {
        let more = plural(hidden, &format!("more {noun}"));
        dim(own(format!("... and {more}; {}", self.rest())))
    }
}
