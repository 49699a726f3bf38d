//! What cases are, as short fingerprints: whether the case of one run is that of another, and what
//! changed in it.

use crate::model::{CasePlanned, Fingerprint};
use crate::spec::{CaseContent, ShortPrint};

/// In place of a fingerprint that is not known.
pub(super) const NO_CONTENT: u64 = 0;

/// Input, data, grading, and the case's own target or [`NO_CONTENT`]; `None` in journals that do
/// not record the data.
pub(super) fn parts_of(case: &CasePlanned) -> Option<[u64; 4]> {
    let data = case.data_hash.as_deref()?;
    let target = case.target_hash.as_deref().map_or(NO_CONTENT, leading);
    Some([
        leading(&case.input_hash),
        leading(data),
        leading(&case.grading_hash),
        target,
    ])
}

/// The parts of a case with the share of samples that must pass.
pub(super) fn content_of(
    [input, data, grading, target]: [u64; 4],
    pass_rate_threshold: f64,
) -> CaseContent {
    CaseContent {
        input: ShortPrint(input),
        data: ShortPrint(data),
        grading: ShortPrint(short(&format!("{grading:016x} {pass_rate_threshold}"))),
        target: (target != NO_CONTENT).then_some(ShortPrint(target)),
    }
}

/// The beginning of a fingerprint over what a case gives the target and how its output is graded.
pub(super) fn content(case: &CasePlanned) -> u64 {
    short(&format!("{} {}", case.input_hash, case.grading_hash))
}

pub(super) fn short(text: &str) -> u64 {
    leading(&Fingerprint::of_bytes(text.as_bytes()).to_string())
}

/// The first 64 bits of a fingerprint's digits.
fn leading(digits: &str) -> u64 {
    digits
        .get(..16)
        .and_then(|hex| u64::from_str_radix(hex, 16).ok())
        .unwrap_or(NO_CONTENT)
}
