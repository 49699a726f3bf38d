//! Signs and colours of pages that are still written line by line.

pub mod page;

use crate::model::{Decision, Outcome};
use page::{Page, Tone};

/// The sign of an outcome.
pub fn glyph(outcome: Outcome, page: &Page) -> &'static str {
    match outcome {
        Outcome::Passed => page.pick("✓", "+"),
        Outcome::Failed => page.pick("✗", "x"),
        Outcome::Errored => "!",
        Outcome::Skipped => page.pick("–", "-"),
        Outcome::Pending => "?",
    }
}

/// The colour of an outcome.
pub fn tone_of(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Passed => Tone::Good,
        Outcome::Failed => Tone::Bad,
        Outcome::Errored => Tone::Warn,
        Outcome::Skipped => Tone::Dim,
        Outcome::Pending => Tone::Wait,
    }
}

/// The colour of a gate.
pub fn tone_of_decision(decision: Decision) -> Tone {
    match decision {
        Decision::Pass => Tone::Good,
        Decision::Fail => Tone::Bad,
        Decision::Incomplete => Tone::Warn,
        Decision::Pending | Decision::Undecided => Tone::Wait,
    }
}
