//! For whom a page is built: which medium, and how much of each list it shows.

use super::{Text, dim, own};
use crate::report::TerminalOptions;
use eval_base::text::plural;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
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
pub struct View {
    pub medium: Medium,
    pub limits: Limits,
    /// The lists are as long as the medium allows.
    pub verbose: bool,
}

/// How much of each list a medium shows.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
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
    pub evidence: Shown,
}

/// How much of expected and actual values is shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
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

const TERMINAL: Limits = Limits {
    evals: 40,
    failures: 10,
    named: 0,
    cases: 10,
    eval_cases: 1,
    groups: 12,
    metrics: usize::MAX,
    notes: 8,
    verdict: 12,
    judged: 0,
    evidence: Shown {
        lines: 12,
        bytes: 4_000,
        context: 1,
        places: 12,
        columns: 72,
        unicode: true,
    },
};

const VERBOSE: Limits = Limits {
    evals: usize::MAX,
    failures: 1_000,
    named: 0,
    cases: usize::MAX,
    eval_cases: 3,
    groups: usize::MAX,
    metrics: usize::MAX,
    notes: usize::MAX,
    verdict: 200,
    judged: 200,
    evidence: Shown {
        lines: 60,
        bytes: 20_000,
        context: 3,
        places: 60,
        columns: 72,
        unicode: true,
    },
};

const MARKDOWN: Limits = Limits {
    evals: 100,
    failures: 50,
    named: 200,
    cases: 100,
    eval_cases: 3,
    groups: 50,
    metrics: 100,
    notes: 50,
    verdict: 50,
    judged: 50,
    evidence: Shown {
        lines: 40,
        bytes: 3_000,
        context: 3,
        places: 40,
        columns: 120,
        unicode: true,
    },
};

const COMMENT: Limits = Limits {
    evals: 0,
    failures: 1_000,
    named: 0,
    cases: 20,
    eval_cases: 3,
    groups: 10,
    metrics: 30,
    notes: 10,
    verdict: 0,
    judged: 0,
    evidence: Shown {
        places: 20,
        ..MARKDOWN.evidence
    },
};

const HTML: Limits = Limits {
    evals: 10_000,
    eval_cases: 10,
    evidence: Shown {
        lines: 60,
        bytes: 6_000,
        context: 3,
        places: 40,
        columns: 200,
        unicode: true,
    },
    ..VERBOSE
};

impl View {
    pub fn terminal(options: &TerminalOptions) -> View {
        let mut limits = if options.verbose { VERBOSE } else { TERMINAL };
        limits.evidence.columns = options.width.saturating_sub(8);
        limits.evidence.unicode = options.unicode;
        View {
            medium: Medium::Terminal,
            limits,
            verbose: options.verbose,
        }
    }

    pub fn markdown() -> View {
        View {
            medium: Medium::Markdown,
            limits: MARKDOWN,
            verbose: false,
        }
    }

    pub fn comment() -> View {
        View {
            medium: Medium::Comment,
            limits: COMMENT,
            verbose: false,
        }
    }

    pub fn html() -> View {
        View {
            medium: Medium::Html,
            limits: HTML,
            verbose: true,
        }
    }

    /// How much of each side is shown below an item of a list.
    pub fn brief_evidence(&self) -> Shown {
        let whole = self.limits.evidence;
        match self.medium {
            Medium::Html => whole,
            _ => Shown {
                lines: whole.lines.min(16),
                bytes: whole.bytes.min(1_200),
                context: whole.context.min(2),
                places: whole.places.min(12),
                ..whole
            },
        }
    }

    pub fn is_html(&self) -> bool {
        self.medium == Medium::Html
    }

    pub fn is_terminal(&self) -> bool {
        self.medium == Medium::Terminal
    }

    /// Where what a list leaves out is.
    pub fn rest(&self) -> &'static str {
        match (self.medium, self.verbose) {
            (Medium::Terminal, false) => "--verbose shows more",
            (Medium::Terminal, true) | (Medium::Markdown | Medium::Html, _) => {
                "the JSON report has all"
            }
            (Medium::Comment, _) => "the report has all",
        }
    }

    /// How many more there are than a list shows, and where they are.
    pub fn more(&self, hidden: usize, noun: &str) -> Text {
        let more = plural(hidden, &format!("more {noun}"));
        dim(own(format!("... and {more}; {}", self.rest())))
    }
}
