//! From what the steps came to, to one gate. Pure.

use crate::gate::ExitCode;
use crate::model::{Decision, PhaseGate, StepResult, StepStatus};
use crate::spec::FailureAction;

/// The gate over all steps.
///
/// Only steps whose action is `block` count: the worst of them decides, where `fail` comes before
/// `incomplete` before `pending`. `wrong`: a definition was found to be wrong after steps had run.
/// That and an interruption come before everything, whatever the action.
pub fn gate(steps: &[StepResult], interrupted: bool, wrong: bool) -> PhaseGate {
    let blocking = |step: &&StepResult| step.action == FailureAction::Block;
    let worst = steps
        .iter()
        .filter(blocking)
        .filter_map(|step| stands(step.status))
        .min_by_key(rank);
    let decision = match worst {
        Some(Decision::Fail) => Decision::Fail,
        // What was not reached, or could not be understood, has not passed.
        _ if interrupted || wrong => Decision::Incomplete,
        Some(decision) => decision,
        None => Decision::Pass,
    };
    let exit = if wrong {
        ExitCode::Wrong
    } else {
        ExitCode::of(decision, interrupted)
    };
    PhaseGate {
        decision,
        exit_code: exit.code(),
        reasons: reasons(steps, interrupted),
        interrupted,
    }
}

/// What nobody could keep has not passed: a gate that would have passed, or waits for people, is
/// incomplete for this reason.
pub fn not_kept(gate: &mut PhaseGate, reason: &str) {
    if matches!(gate.decision, Decision::Pass | Decision::Pending) {
        gate.decision = Decision::Incomplete;
        gate.exit_code = ExitCode::Incomplete.code();
    }
    gate.reasons.push(reason.to_owned());
}

/// What a step that did not pass stands for.
fn stands(status: StepStatus) -> Option<Decision> {
    match status {
        StepStatus::Failed => Some(Decision::Fail),
        StepStatus::Incomplete => Some(Decision::Incomplete),
        StepStatus::Pending => Some(Decision::Pending),
        StepStatus::Passed | StepStatus::NotChecked | StepStatus::NotReached => None,
    }
}

fn rank(decision: &Decision) -> u8 {
    match decision {
        Decision::Fail => 0,
        Decision::Incomplete | Decision::Undecided => 1,
        Decision::Pending => 2,
        Decision::Pass => 3,
    }
}

/// A sentence for each step that did not pass: first those that block.
fn reasons(steps: &[StepResult], interrupted: bool) -> Vec<String> {
    let of = |action: fn(FailureAction) -> bool, tail: &'static str| {
        let those = steps
            .iter()
            .filter(move |step| action(step.action) && stands(step.status).is_some());
        those.map(move |step| {
            let word = match step.status {
                StepStatus::Failed => "failed",
                StepStatus::Pending => "waits for human grades",
                _ => "is incomplete",
            };
            let why = if step.reason.is_empty() {
                String::new()
            } else {
                format!(": {}", step.reason)
            };
            format!("{} {word}{tail}{why}", step.name)
        })
    };
    let stopped = interrupted.then(|| "the phase was interrupted".to_owned());
    let blocking = of(|action| action == FailureAction::Block, "");
    stopped
        .into_iter()
        .chain(blocking)
        .chain(of(
            |action| action != FailureAction::Block,
            " (this does not block)",
        ))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::StepType;

    fn step(name: &str, status: StepStatus, action: FailureAction) -> StepResult {
        StepResult {
            kind: StepType::Eval,
            name: name.to_owned(),
            action,
            status,
            reason: "why".to_owned(),
            duration_seconds: 0.0,
            copy_of: None,
            exit_code: None,
            output_tail: String::new(),
            tests: None,
            eval: None,
        }
    }

    #[test]
    fn the_exit_code_of_each_status_under_each_action() {
        use FailureAction::{Block, Continue, Warn};
        use StepStatus::*;
        let table = [
            (Passed, [0, 0, 0]),
            (Failed, [1, 0, 0]),
            (Incomplete, [3, 0, 0]),
            (Pending, [4, 0, 0]),
            (NotChecked, [0, 0, 0]),
            (NotReached, [0, 0, 0]),
        ];
        for (status, codes) in table {
            for (action, code) in [Block, Warn, Continue].into_iter().zip(codes) {
                let steps = [step("Evals", status, action)];
                let plain = gate(&steps, false, false);
                assert_eq!(plain.exit_code, code, "{status:?} {action:?}");
                assert_eq!(plain.decision == Decision::Pass, code == 0);
                // Neither is ever softened.
                assert_eq!(gate(&steps, true, false).exit_code, 130);
                assert_eq!(gate(&steps, false, true).exit_code, 2);
                assert_eq!(gate(&steps, true, true).exit_code, 2);
                assert_ne!(gate(&steps, true, false).decision, Decision::Pass);
                assert_ne!(gate(&steps, false, true).decision, Decision::Pass);
            }
        }
    }

    /// The order of DESIGN section 4, over every pair of steps, against a table of ranks.
    #[test]
    fn of_two_steps_the_worse_one_that_blocks_decides() {
        let all = [
            StepStatus::Passed,
            StepStatus::Failed,
            StepStatus::Incomplete,
            StepStatus::Pending,
            StepStatus::NotChecked,
            StepStatus::NotReached,
        ];
        let actions = [
            FailureAction::Block,
            FailureAction::Warn,
            FailureAction::Continue,
        ];
        let order = [1, 3, 4, 0];
        let alone = |status, action| match (status, action) {
            (StepStatus::Failed, FailureAction::Block) => 1,
            (StepStatus::Incomplete, FailureAction::Block) => 3,
            (StepStatus::Pending, FailureAction::Block) => 4,
            _ => 0,
        };
        for (one, other) in all
            .into_iter()
            .flat_map(|one| all.map(|other| (one, other)))
        {
            for (a, b) in actions.into_iter().flat_map(|a| actions.map(|b| (a, b))) {
                let codes = [alone(one, a), alone(other, b)];
                let expected = order.into_iter().find(|code| codes.contains(code));
                let gate = gate(&[step("A", one, a), step("B", other, b)], false, false);
                assert_eq!(
                    Some(gate.exit_code),
                    expected,
                    "{one:?} {a:?}, {other:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn what_nobody_could_keep_has_not_passed_and_a_failure_stays_one() {
        let table = [
            (StepStatus::Passed, 3),
            (StepStatus::Pending, 3),
            (StepStatus::Incomplete, 3),
            (StepStatus::Failed, 1),
        ];
        for (status, code) in table {
            for (interrupted, wrong, code) in
                [(false, false, code), (true, false, 130), (false, true, 2)]
            {
                let mut gate = gate(
                    &[step("A", status, FailureAction::Block)],
                    interrupted,
                    wrong,
                );
                not_kept(&mut gate, "a full disk");
                assert_eq!(gate.exit_code, code, "{status:?}");
                assert_ne!(gate.decision, Decision::Pass);
                assert_eq!(gate.reasons.last().map(String::as_str), Some("a full disk"));
            }
        }
    }

    #[test]
    fn reasons_say_what_blocks_first() {
        let steps = [
            step("Lint", StepStatus::Failed, FailureAction::Warn),
            step("Unit tests", StepStatus::Failed, FailureAction::Block),
            step("Review", StepStatus::NotChecked, FailureAction::Block),
            step("Evals", StepStatus::Pending, FailureAction::Block),
        ];
        let gate = gate(&steps, true, false);
        insta::assert_snapshot!(gate.reasons.join("\n"), @r"
        the phase was interrupted
        Unit tests failed: why
        Evals waits for human grades: why
        Lint failed (this does not block): why
        ");
    }
}
