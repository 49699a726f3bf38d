//! Expected against actual: path by path where a grader listed differences, else whole values or
//! the lines in which they differ.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::view::EvidenceLimits;
use crate::model::Failure;
use crate::report::differences::{self, DifferenceTable};
use crate::report::values::{self, LineKind, ShownValues};
use eval_base::text::{self, plural};

#[derive(Debug, Clone, PartialEq)]
pub enum FailureEvidence {
    ByPath(DifferenceTable),
    Values(ShownValues),
}

impl FailureEvidence {
    /// `None` when a failure has neither side.
    pub fn of(failure: &Failure, shown: EvidenceLimits) -> Option<FailureEvidence> {
        let (expected, actual) = (failure.expected.as_ref(), failure.actual.as_ref());
        FailureEvidence::between(&failure.details, expected, actual, shown)
    }

    /// The same of what a grader reported.
    pub fn between(
        details: &Map<String, Value>,
        expected: Option<&Value>,
        actual: Option<&Value>,
        shown: EvidenceLimits,
    ) -> Option<FailureEvidence> {
        if let Some(rows) = differences::of_details(details, shown.places()) {
            return Some(FailureEvidence::ByPath(rows));
        }
        match values::compare(expected, actual, shown) {
            ShownValues::Nothing => None,
            values => Some(FailureEvidence::Values(values)),
        }
    }

    /// Both sides as the body of a diff, and what it leaves out; `None` where they are not lines
    /// that can be held against each other.
    pub fn as_diff(&self, columns: usize) -> Option<(String, Option<String>)> {
        let body = match self {
            FailureEvidence::ByPath(rows) => differences::as_diff(rows, columns),
            FailureEvidence::Values(ShownValues::Diff { lines, .. }) => {
                let mut body = String::new();
                for line in lines {
                    let _ = match line.kind {
                        LineKind::Gap => writeln!(body, "@@ {} @@", line.text),
                        kind => writeln!(body, "{}{}", kind.sign(), line.text),
                    };
                }
                body
            }
            FailureEvidence::Values(_) => return None,
        };
        Some((body, self.more()))
    }

    /// What a list of differences leaves out.
    pub fn more(&self) -> Option<String> {
        let (more, noun) = match self {
            FailureEvidence::ByPath(rows) => (rows.more, "more difference"),
            FailureEvidence::Values(ShownValues::Diff { more, .. }) => (*more, "more line"),
            FailureEvidence::Values(_) => return None,
        };
        (more > 0).then(|| plural(more, noun))
    }
}

impl EvidenceLimits {
    pub fn ellipsis(self) -> &'static str {
        if self.unicode { text::ELLIPSIS } else { "..." }
    }

    fn places(self) -> differences::DifferenceLimits {
        differences::DifferenceLimits {
            rows: self.places,
            columns: self.columns,
            unicode: self.unicode,
        }
    }
}
