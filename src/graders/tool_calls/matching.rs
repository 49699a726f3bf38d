//! Precision, recall and F1 of tool calls.

use std::collections::BTreeSet;

use super::{ExpectedCall, OutputCall};
use crate::graders::show::in_reason;
use crate::graders::trajectory::ArgumentsVerdict;

/// How many calls agree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallScore {
    pub matched: usize,
    pub expected: usize,
    pub actual: usize,
    /// Expected calls that were not made, in words.
    pub missing: Vec<String>,
    /// Calls that were not expected.
    pub unexpected: Vec<String>,
}

impl CallScore {
    /// Share of the calls that are expected ones; 0 without calls, as in promptfoo.
    pub fn precision(&self) -> f64 {
        ratio(self.matched, self.actual)
    }

    /// Share of the expected calls that were made.
    pub fn recall(&self) -> f64 {
        ratio(self.matched, self.expected)
    }

    /// 2PR / (P + R), which is this quotient of counts: 1 exactly where all calls agree.
    pub fn f1(&self) -> f64 {
        ratio(2 * self.matched, self.expected + self.actual)
    }

    pub fn reason(&self, threshold: f64) -> String {
        let mut parts = vec![format!(
            "F1 is {:.3}, which is below {threshold}",
            self.f1()
        )];
        for (words, list) in [("missing", &self.missing), ("unexpected", &self.unexpected)] {
            if let Some(first) = list.first() {
                let more = match list.len() {
                    1 => String::new(),
                    n => format!(" and {} more", n - 1),
                };
                parts.push(format!("{words}: {}{more}", in_reason(first)));
            }
        }
        parts.join("; ")
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}

/// By sets of names.
pub(super) fn score_names(expected: &[ExpectedCall], calls: &[OutputCall]) -> CallScore {
    let wanted: BTreeSet<&str> = expected.iter().map(|call| call.name.as_str()).collect();
    let made: BTreeSet<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    let quoted = |name: &&str| format!("`{name}`");
    CallScore {
        matched: wanted.intersection(&made).count(),
        expected: wanted.len(),
        actual: made.len(),
        missing: wanted.difference(&made).map(quoted).collect(),
        unexpected: made.difference(&wanted).map(quoted).collect(),
    }
}

/// Each call is used for one expected call at most, so that as many as possible agree.
///
/// # Errors
/// Why it can't be known whether a call agrees.
pub(super) fn score_arguments(
    expected: &[ExpectedCall],
    calls: &[OutputCall],
) -> Result<CallScore, String> {
    let mut fits = Vec::new();
    for wanted in expected {
        let mut fitting = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            if agrees(wanted, call)? {
                fitting.push(at);
            }
        }
        fits.push(fitting);
    }
    let taken = maximum_matching(&fits, calls.len());
    let is_taken = |at: &usize| taken.iter().flatten().any(|wanted| wanted == at);
    let missing = expected.iter().enumerate().filter(|(at, _)| !is_taken(at));
    let unexpected = calls
        .iter()
        .zip(&taken)
        .filter(|(_, wanted)| wanted.is_none());
    Ok(CallScore {
        matched: taken.iter().flatten().count(),
        expected: expected.len(),
        actual: calls.len(),
        missing: missing
            .map(|(_, wanted)| wanted.shown().to_string())
            .collect(),
        unexpected: unexpected
            .map(|(call, _)| call.shown().to_string())
            .collect(),
    })
}

fn agrees(wanted: &ExpectedCall, call: &OutputCall) -> Result<bool, String> {
    if wanted.name != call.name {
        return Ok(false);
    }
    let Some(rule) = &wanted.arguments else {
        return Ok(true);
    };
    match rule.compare(call.arguments.as_ref().ok()) {
        ArgumentsVerdict::Equal => Ok(true),
        ArgumentsVerdict::Different(..) => Ok(false),
        ArgumentsVerdict::Undecided(why) => Err(why),
    }
}

/// For each of `count` things, which of the wishes it fulfils, if any: as many as possible are
/// fulfilled. `fits` are the things that fulfil each wish. By augmenting paths (Kuhn).
pub(super) fn maximum_matching(fits: &[Vec<usize>], count: usize) -> Vec<Option<usize>> {
    let mut taken = vec![None; count];
    for wish in 0..fits.len() {
        augment(wish, fits, &mut taken, &mut vec![false; count]);
    }
    taken
}

/// Gives a wish a thing, moving others if need be. Its depth is bounded by the number of wishes.
fn augment(
    wish: usize,
    fits: &[Vec<usize>],
    taken: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for &thing in fits.get(wish).into_iter().flatten() {
        let is_new = tried
            .get_mut(thing)
            .is_some_and(|tried| !std::mem::replace(tried, true));
        if !is_new {
            continue;
        }
        let holder = taken.get(thing).copied().flatten();
        let is_free = match holder {
            None => true,
            Some(holder) => augment(holder, fits, taken, tried),
        };
        if is_free && let Some(place) = taken.get_mut(thing) {
            *place = Some(wish);
            return true;
        }
    }
    false
}
