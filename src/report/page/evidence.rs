//! Expected against actual: path by path where a grader listed differences, else whole values or
//! the lines in which they differ.

use std::fmt::Write as _;

use super::view::Shown;
use crate::model::Failure;
use crate::report::differences::{self, Rows};
use crate::report::values::{self, Comparison, LineKind};
use eval_base::text::{self, plural};

#[derive(Debug, Clone, PartialEq)]
pub enum Evidence {
    ByPath(Rows),
    Values(Comparison),
}

impl Evidence {
    /// `None` when a failure has neither side.
    pub fn of(failure: &Failure, shown: Shown) -> Option<Evidence> {
        if let Some(rows) = differences::of_details(&failure.details, shown.places()) {
            return Some(Evidence::ByPath(rows));
        }
        let (expected, actual) = (failure.expected.as_ref(), failure.actual.as_ref());
        match values::compare(expected, actual, shown) {
            Comparison::Nothing => None,
            values => Some(Evidence::Values(values)),
        }
    }

    /// Both sides as the body of a diff, and what it leaves out; `None` where they are not lines
    /// that can be held against each other.
    pub fn as_diff(&self, columns: usize) -> Option<(String, Option<String>)> {
        let body = match self {
            Evidence::ByPath(rows) => differences::as_diff(rows, columns),
            Evidence::Values(Comparison::Diff { lines, .. }) => {
                let mut body = String::new();
                for line in lines {
                    let _ = match line.kind {
                        LineKind::Gap => writeln!(body, "@@ {} @@", line.text),
                        kind => writeln!(body, "{}{}", kind.sign(), line.text),
                    };
                }
                body
            }
            Evidence::Values(_) => return None,
        };
        Some((body, self.more()))
    }

    /// What a list of differences leaves out.
    pub fn more(&self) -> Option<String> {
        let (more, noun) = match self {
            Evidence::ByPath(rows) => (rows.more, "more difference"),
            Evidence::Values(Comparison::Diff { more, .. }) => (*more, "more line"),
            Evidence::Values(_) => return None,
        };
        (more > 0).then(|| plural(more, noun))
    }
}

impl Shown {
    pub fn ellipsis(self) -> &'static str {
        if self.unicode { text::ELLIPSIS } else { "..." }
    }

    fn places(self) -> differences::Limits {
        differences::Limits {
            rows: self.places,
            columns: self.columns,
            unicode: self.unicode,
        }
    }
}
