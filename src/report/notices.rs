//! What every report must say beside the numbers, so that no format forgets it.

use crate::model::{Summary, Trust};

/// A remark on the run as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// True for what must not be missed: the numbers can't be trusted as usual.
    pub loud: bool,
    pub headline: String,
    /// Further sentences.
    pub notes: Vec<String>,
}

/// The headline of a run whose code was not isolated.
pub const NOT_SANDBOXED: &str = "SANDBOX NOT ENFORCED";

/// True when code ran, or may have run, without isolation.
pub fn is_unsandboxed(summary: &Summary) -> bool {
    let declared = summary.metadata.environment.sandbox.as_ref().is_some_and(|sandbox| !sandbox.enforced);
    declared || any_trust(summary, Trust::Unsandboxed)
}

/// Remarks on a summary, the loud ones first.
pub fn notices(summary: &Summary) -> Vec<Notice> {
    let mut all = Vec::new();
    let metadata = &summary.metadata;
    if is_unsandboxed(summary) {
        let sandbox = metadata.environment.sandbox.as_ref();
        let tier = sandbox.map(|s| format!(" (tier: {})", s.tier)).unwrap_or_default();
        all.push(Notice {
            loud: true,
            headline: format!("{NOT_SANDBOXED}: code ran, or may have run, without isolation{tier}"),
            notes: sandbox.map(|s| s.notes.clone()).unwrap_or_default(),
        });
    }
    if metadata.interrupted {
        all.push(Notice {
            loud: true,
            headline: "INTERRUPTED: the run was ended early; what it left out is skipped, not failed"
                .to_owned(),
            notes: Vec::new(),
        });
    }
    if !metadata.filters.is_empty() {
        all.push(Notice {
            loud: false,
            headline: format!("Not the whole suite: {}", metadata.filters.join(", ")),
            notes: Vec::new(),
        });
    }
    if any_trust(summary, Trust::InProcess) {
        all.push(Notice {
            loud: false,
            headline: "Some tests shared an interpreter with the candidate's code (trust: in_process); \
                       a determined program could forge their verdict"
                .to_owned(),
            notes: Vec::new(),
        });
    }
    if summary.truncated {
        all.push(Notice {
            loud: false,
            headline: "Only samples that did not pass are listed; the journal has all".to_owned(),
            notes: Vec::new(),
        });
    }
    all
}

fn any_trust(summary: &Summary, trust: Trust) -> bool {
    let samples = summary.evals.iter().flat_map(|eval| &eval.cases).flat_map(|case| &case.samples);
    samples.flat_map(|sample| &sample.grades).any(|grade| grade.trust == trust)
}
