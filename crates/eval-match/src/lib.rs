//! Pure comparers: text, likeness of texts, patterns, numbers, values, structures.
//!
//! They take values and return verdicts with reasons; they know no grader, no file and no process.
//! JSON numbers are compared by value here and nowhere else (`==` on `serde_json::Value` compares
//! their spelling).
//!
//! ```
//! use eval_match::{Comparator, Datum, compare};
//! use serde_json::json;
//!
//! let (expected, actual) = (Datum::from_json(&json!([1, 2.0])).unwrap(), Datum::from_json(&json!([1.0, 3])).unwrap());
//! let comparison = compare(Comparator::Equals, &actual, &expected, None).unwrap();
//! assert!(!comparison.matched);
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

mod bleu;
mod compare;
mod decimal;
pub mod diff;
mod differences;
mod distance;
mod equality;
mod matcher;
pub mod numeric;
mod options;
pub mod paths;
pub mod pattern;
#[cfg(test)]
mod pattern_tests;
pub mod printed;
pub mod python;
pub mod rows;
pub mod similarity;
pub mod structural;
mod tagged;
pub mod text;
mod tokens;
mod translate;
mod value;
#[cfg(test)]
mod value_tests;

pub use bleu::bleu;
pub use compare::{compare, compare_pattern, expected_pattern};
pub use differences::{Difference, DifferenceKind, counted_differences, differences};
pub use distance::{DistanceBudget, TooLong};
pub use equality::{equals, python_equals};
pub use matcher::{
    MATCHERS, each_once, fits, holds_a_matcher_within, holds_matcher, is_matcher, literal,
    literal_text, makes_template, validate_matcher, without_literals,
};
pub use options::{
    Comparator, EditUnit, RegexFlags, SimilarityBound, SimilarityMetric, StructuralOptions,
    Tokenizer, Tolerance,
};
pub use pattern::{CompiledPattern, PatternError};
pub use tagged::TaggedError;
pub use tokens::tokenizer_for;
pub use value::{Datum, MAX_DEPTH};

/// The answer of a comparer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchResult {
    pub matched: bool,
    /// One short sentence why not; empty when matched.
    pub reason: String,
}

impl MatchResult {
    pub fn matched() -> Self {
        MatchResult {
            matched: true,
            reason: String::new(),
        }
    }

    pub fn differs(reason: impl Into<String>) -> Self {
        MatchResult {
            matched: false,
            reason: reason.into(),
        }
    }
}

/// At most `limit` characters of `text`, with an ellipsis when something was cut.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
