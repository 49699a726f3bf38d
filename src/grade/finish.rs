//! What it means for a verdict how an answer ended, and how long it took.

use std::time::Duration;

use crate::model::{Cause, FinishReason, Outcome, Verdict};

/// A failed verdict says that the answer was cut, or that the model declined. What passed has
/// passed, however it ended.
pub fn apply_finish(mut verdict: Verdict, finish: Option<FinishReason>) -> Verdict {
    if verdict.outcome != Outcome::Failed {
        return verdict;
    }
    let detail = match finish {
        Some(FinishReason::Length) => "the answer was truncated at the token limit",
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

/// A verdict under a latency limit: an answer that came too late fails, whatever the graders say of
/// it. Errored and pending stay what they are.
pub fn apply_latency(
    verdict: Verdict,
    latency: Option<Duration>,
    limit: Option<Duration>,
) -> Verdict {
    let (Some(latency), Some(limit)) = (latency, limit) else {
        return verdict;
    };
    if latency <= limit || verdict.outcome != Outcome::Passed {
        return verdict;
    }
    let ms = |time: Duration| (time.as_secs_f64() * 1e3).round();
    Verdict {
        outcome: Outcome::Failed,
        score: Some(0.0),
        cause: Some(Cause::Threshold),
        reason: format!(
            "the answer took {} ms, {} ms are allowed",
            ms(latency).max(ms(limit) + 1.0),
            ms(limit)
        ),
        ..verdict
    }
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
        wrong_answer the answer was truncated at the token limit: expected `4`
        refused the model declined to answer: expected `4`
        ");
        let nothing = apply_finish(
            Verdict {
                reason: String::new(),
                ..failed()
            },
            Some(FinishReason::Length),
        );
        assert_eq!(
            nothing.reason,
            "the answer was truncated at the token limit"
        );
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
