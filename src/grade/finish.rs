//! What it means for a verdict how a model ended its answer.

use crate::model::{Cause, FinishReason, Outcome, Verdict};

/// A failed verdict says that the answer was cut, or that the model declined. What passed has
/// passed, however it ended.
pub fn apply_finish(mut verdict: Verdict, finish: Option<FinishReason>) -> Verdict {
    if verdict.outcome != Outcome::Failed {
        return verdict;
    }
    let detail = match finish {
        Some(FinishReason::Length) => "the answer was cut at its limit of tokens",
        Some(FinishReason::Refused) => {
            verdict.cause = Some(Cause::Refused);
            "the model declined to answer"
        }
        _ => return verdict,
    };
    verdict.reason = match verdict.reason.as_str() {
        "" => detail.to_owned(),
        reason => format!("{detail}: {reason}"),
    };
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_that_the_answer_was_cut_or_declined() {
        let failed = || Verdict::without_grades(Cause::WrongAnswer, "expected `4`");
        let detail = |finish| {
            let verdict = apply_finish(failed(), finish);
            format!(
                "{} {}",
                verdict.cause.map_or("", Cause::name),
                verdict.reason
            )
        };
        let all = [
            None,
            Some(FinishReason::Stop),
            Some(FinishReason::Length),
            Some(FinishReason::Refused),
        ]
        .map(detail)
        .join("\n");
        insta::assert_snapshot!(all, @r"
        wrong_answer expected `4`
        wrong_answer expected `4`
        wrong_answer the answer was cut at its limit of tokens: expected `4`
        refused the model declined to answer: expected `4`
        ");
        let nothing = apply_finish(
            Verdict {
                reason: String::new(),
                ..failed()
            },
            Some(FinishReason::Length),
        );
        assert_eq!(nothing.reason, "the answer was cut at its limit of tokens");
        for outcome in [Outcome::Passed, Outcome::Errored, Outcome::Pending] {
            let verdict = Verdict {
                outcome,
                ..failed()
            };
            assert_eq!(
                apply_finish(verdict.clone(), Some(FinishReason::Refused)),
                verdict
            );
        }
    }
}
