//! A gate over a run with lost records or with verdicts that contradict their grades.

use super::ExitCode;
use crate::model::{Decision, Gate, RunWarning};

/// The gate with the warnings of its run: one that would pass is incomplete, since a sample may be
/// missing or a verdict is not what its grades say. A gate that fails, or is open for another
/// reason, stays what it is.
pub fn doubted(gate: Gate, warnings: &[RunWarning], interrupted: bool) -> Gate {
    if warnings.is_empty() || gate.decision != Decision::Pass {
        return gate;
    }
    let (decision, reasons) = doubted_decision((gate.decision, gate.reasons), warnings);
    Gate {
        decision,
        exit_code: ExitCode::of(decision, interrupted).code(),
        reasons,
        ..gate
    }
}

/// A decision and its reasons with the warnings of every run that was read for it, by the rule of
/// [`doubted`].
pub fn doubted_decision(
    (decision, mut reasons): (Decision, Vec<String>),
    warnings: &[RunWarning],
) -> (Decision, Vec<String>) {
    if warnings.is_empty() || decision != Decision::Pass {
        return (decision, reasons);
    }
    reasons.extend(warnings.iter().map(|warning| warning.message.clone()));
    (Decision::Incomplete, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RunWarningKind;

    #[test]
    fn only_a_pass_is_taken_back() {
        let message = "1 record can't be read".to_owned();
        let warnings = [RunWarning {
            kind: RunWarningKind::LostRecords,
            count: 1,
            message,
        }];
        let gate = |decision, exit_code| Gate {
            decision,
            exit_code,
            thresholds: vec![],
            reasons: vec![],
        };
        let of = |decision, code, interrupted| {
            let gate = doubted(gate(decision, code), &warnings, interrupted);
            (gate.decision, gate.exit_code, gate.reasons.len())
        };
        assert_eq!(of(Decision::Pass, 0, false), (Decision::Incomplete, 3, 1));
        assert_eq!(
            of(Decision::Pass, 130, true),
            (Decision::Incomplete, 130, 1)
        );
        assert_eq!(of(Decision::Fail, 1, false), (Decision::Fail, 1, 0));
        assert_eq!(of(Decision::Pending, 4, false), (Decision::Pending, 4, 0));
        assert_eq!(
            of(Decision::Undecided, 0, false),
            (Decision::Undecided, 0, 0)
        );
        assert_eq!(doubted(gate(Decision::Pass, 0), &[], false).exit_code, 0);
    }
}
