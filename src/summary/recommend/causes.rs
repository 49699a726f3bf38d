//! Advice by cause: what could not be found out, and failures of one kind.

use std::collections::HashSet;

use super::words::{FailurePlaces, reason, samples};
use super::{Advice, AdviceRank, RunFindings, advice};
use crate::model::{Cause, EvalResult, Outcome, ReplyFault, SampleResult};
use eval_base::{shell, text};

/// Sentences about one cause whose reasons differ.
const REASONS: usize = 2;
/// Evals whose baselines one command captures.
const CAPTURED: usize = 5;
/// Faults of judges' replies that are named.
const FAULTS: usize = 3;

/// The commonest cause first.
pub fn all(known: &RunFindings<'_>) -> Vec<Advice> {
    let counted = |cause: &Cause| {
        known
            .totals
            .by_cause
            .get(cause.name())
            .map(|n| (*cause, *n))
    };
    let mut causes: Vec<(Cause, usize)> = Cause::ALL
        .iter()
        .filter_map(counted)
        .filter(|(_, n)| *n > 0)
        .collect();
    causes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    causes
        .into_iter()
        .flat_map(|(cause, n)| of_cause(known, cause, n))
        .collect()
}

fn of_cause(known: &RunFindings<'_>, cause: Cause, n: usize) -> Vec<Advice> {
    let places = FailurePlaces::of_cause(known, cause, n);
    let at = format!("{}{}", samples(n), places.of());
    let why = first_reason(known, cause);
    let detail = if why.is_empty() {
        String::new()
    } else {
        format!(": {why}")
    };
    let (rank, text) = match cause {
        Cause::Forged => {
            let why = if why.is_empty() {
                "they tampered with their verdict"
            } else {
                &why
            };
            (
                AdviceRank::Tampering,
                format!("Read the programs of {at} before you trust their author: {why}"),
            )
        }
        Cause::SandboxViolation => {
            let why = if why.is_empty() {
                "they tried operations that the sandbox forbids"
            } else {
                &why
            };
            (
                AdviceRank::Tampering,
                format!("Read the programs of {at} before you trust their author: {why}"),
            )
        }
        Cause::Timeout | Cause::TargetTimeout => {
            return vec![time_out(known, cause, &at, &places, &why)];
        }
        Cause::NoBaseline => return vec![no_baseline(known, n, &places)],
        Cause::ExecutorMissing => return missing(known, n, &at),
        Cause::SandboxUnavailable => (
            AdviceRank::Unknown,
            format!("Run `eval-harness doctor` to see why there was no sandbox for {at}{detail}"),
        ),
        Cause::TargetUnreachable => (
            AdviceRank::Unknown,
            format!(
                "Start the target, or correct its address: it could not be reached for {at}{detail}"
            ),
        ),
        Cause::TargetFailed => (
            AdviceRank::Unknown,
            format!("Repair the target, which failed on {at}{detail}"),
        ),
        Cause::Limit => (
            AdviceRank::Kind,
            format!("Raise the `limits` of the agent, or look at what it did in {at}{detail}"),
        ),
        Cause::ReplayDiverged => (
            AdviceRank::Unknown,
            format!("Record the agent's model again for {at}{detail}"),
        ),
        Cause::MissingOutput => (
            AdviceRank::Unknown,
            format!("Record outputs for {at}, or exclude them with a filter{detail}"),
        ),
        Cause::JudgeUnreachable => (
            AdviceRank::Unknown,
            format!("Check the judge, which gave no answer for {at}{detail}"),
        ),
        Cause::JudgeUnparseable => (AdviceRank::Unknown, unparseable(known, &at)),
        Cause::GraderTimeout if why.starts_with("extract: the search for JSON") => (
            AdviceRank::Unknown,
            format!("Look at the output and the `extract` of {at}{detail}"),
        ),
        Cause::GraderTimeout => (
            AdviceRank::Unknown,
            format!(
                "Simplify the graders of {at}, or give them more time (`config.grade_timeout_seconds`; for a command grader, \
                 `timeout_seconds`){detail}"
            ),
        ),
        Cause::Harness => (
            AdviceRank::Unknown,
            format!("Correct the tests or settings of {at}, not the output{detail}"),
        ),
        Cause::SetupFailed => (
            AdviceRank::Unknown,
            format!("Correct the workspace of {at}{detail}"),
        ),
        Cause::BrokenTask => (
            AdviceRank::Unknown,
            format!("Correct `fail_to_pass` or `pass_to_pass` of {at}{detail}"),
        ),
        Cause::PatchRejected => (
            AdviceRank::Unknown,
            format!("Record patches that apply to the workspace of {at}{detail}"),
        ),
        Cause::SyntaxError => (
            AdviceRank::Kind,
            format!("Look for prose around the code of {at}, or set `extract: code`{detail}"),
        ),
        Cause::NoCode => (
            AdviceRank::Kind,
            format!(
                "Look at the prompt of {at}, or at `extract`, which found nothing to run{detail}"
            ),
        ),
        Cause::MemoryLimit => (
            AdviceRank::Kind,
            format!("Find what uses the memory in {at}, or raise `memory_mb`{detail}"),
        ),
        Cause::OutputLimit => (
            AdviceRank::Kind,
            format!("Find what writes endlessly in {at}{detail}"),
        ),
        Cause::Crashed => (AdviceRank::Kind, format!("Find what crashed {at}{detail}")),
        Cause::Exited if why.contains("the tests pass only with what the target changed") => (
            AdviceRank::Kind,
            format!(
                "Look at the tests that the target changed in {at}; where the task is to change them, set \
                 `allow_weakened_tests: true` in the grader{detail}"
            ),
        ),
        Cause::Exited => (
            AdviceRank::Kind,
            format!(
                "Find why a program of {at} ended with an error, or before its tests did{detail}"
            ),
        ),
        Cause::MaxFail => (
            AdviceRank::Skipped,
            format!(
                "{} did not run because of `--max-fail`: raise it to see them",
                samples(n)
            ),
        ),
        Cause::GlobalTimeout => (
            AdviceRank::Skipped,
            format!(
                "{} did not run because `timeout_global` was reached: raise it, or run more in parallel with `--jobs`",
                samples(n)
            ),
        ),
        Cause::Interrupted => (
            AdviceRank::Skipped,
            format!(
                "{} did not run because the run was interrupted: {}",
                samples(n),
                match known.regrade_of.and_then(|run| shell::line(&[
                    "eval-harness",
                    "regrade",
                    "--run",
                    run
                ])) {
                    None => "`eval-harness run --resume latest` continues it".to_owned(),
                    Some(command) => format!("`{command}` restarts it"),
                }
            ),
        ),
        // Fixed eval by eval, or chosen.
        Cause::WrongAnswer
        | Cause::Exception
        | Cause::Refused
        | Cause::Threshold
        | Cause::Budget
        | Cause::Filtered => return Vec::new(),
    };
    vec![advice(rank, text)]
}

/// What was mostly wrong with the first replies of judges, and what helps against it.
fn unparseable(known: &RunFindings<'_>, at: &str) -> String {
    let faults = known.judges.map(|judges| &judges.total.faults);
    let of = |fault: &ReplyFault| {
        faults
            .and_then(|faults| faults.get(fault.name()))
            .copied()
            .unwrap_or(0)
    };
    let mut counted: Vec<(ReplyFault, u64)> = ReplyFault::ALL
        .iter()
        .map(|fault| (*fault, of(fault)))
        .filter(|(_, n)| *n > 0)
        .collect();
    counted.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let help = match counted.first() {
        Some((ReplyFault::Cut, _)) => "raise the judge's `max_tokens`",
        Some((ReplyFault::Refused, _)) => {
            "the judge refused: reword the rubric, or use a different judge"
        }
        Some((ReplyFault::WrongToken | ReplyFault::Copied, _)) => {
            "check whether the outputs try to steer the judge; if not, use a different judge"
        }
        _ if known.judges.is_some_and(|judges| judges.total.repairs > 0) => {
            "resume the run to call the judge again, describe the format more clearly, or use a judge that follows it"
        }
        _ => "allow `repairs`, describe the format more clearly, or use a judge that follows it",
    };
    let words = |(fault, n): &(ReplyFault, u64)| {
        format!("{} {}", fault.name(), text::group_digits(*n as usize))
    };
    let named: Vec<String> = counted.iter().take(FAULTS).map(words).collect();
    let named = if named.is_empty() {
        String::new()
    } else {
        format!(" ({})", named.join(", "))
    };
    format!("Look at the judge's answers for {at}, which could not be parsed{named}: {help}")
}

fn first_reason(known: &RunFindings<'_>, cause: Cause) -> String {
    let mut reasons = known
        .failures
        .iter()
        .filter(|f| f.cause == Some(cause))
        .map(|f| reason(&f.reason));
    reasons
        .find(|reason| !reason.is_empty())
        .unwrap_or_default()
}

/// A sentence for each thing that is missing: its reason names it, and mostly what installs it.
fn missing(known: &RunFindings<'_>, n: usize, at: &str) -> Vec<Advice> {
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for failure in known
        .failures
        .iter()
        .filter(|f| f.cause == Some(Cause::ExecutorMissing))
    {
        let why = reason(&failure.reason);
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, samples)) => *samples += failure.samples,
            None => reasons.push((why, failure.samples)),
        }
    }
    const DOCTOR: &str = "`eval-harness doctor` shows what is installed";
    if reasons.len() < 2 {
        let detail = reasons
            .first()
            .map(|(why, _)| format!(": {why}"))
            .unwrap_or_default();
        return vec![advice(
            AdviceRank::Unknown,
            format!("Install what {at} {}{detail}; {DOCTOR}", need(n)),
        )];
    }
    reasons.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    let sentence = |(why, of): &(String, usize)| {
        let text = format!(
            "Install what {} of {} {}: {why}; {DOCTOR}",
            text::group_digits(*of),
            samples(n),
            need(*of)
        );
        advice(AdviceRank::Unknown, text)
    };
    reasons.iter().take(REASONS).map(sentence).collect()
}

fn need(n: usize) -> &'static str {
    if n == 1 { "needs" } else { "need" }
}

fn no_baseline(known: &RunFindings<'_>, n: usize, places: &FailurePlaces<'_>) -> Advice {
    let ids: Vec<&str> = places.evals().collect();
    let mut words = vec!["eval-harness", "baseline", "capture"];
    if let Some(suite) = known.suite {
        words.extend(["--suite", suite]);
    }
    // Without ids it captures those of all regressions.
    let few =
        ids.len() <= CAPTURED && places.are_all() && !ids.iter().any(|id| id.starts_with('-'));
    let with_ids: Vec<&str> = words
        .iter()
        .copied()
        .chain(ids.iter().copied().filter(|_| few))
        .collect();
    let command = shell::line(&with_ids).or_else(|| shell::line(&words));
    let command = command.unwrap_or_else(|| "eval-harness baseline capture".to_owned());
    let (noun, them) = if ids.len() == 1 && n == 1 {
        ("baseline", "it")
    } else {
        ("baselines", "them")
    };
    let text = format!(
        "Capture the missing {noun}{}: `{command}`, then review and accept {them}",
        places.of()
    );
    advice(AdviceRank::Unknown, text)
}

/// Which ran out of time, the limit, and how near to it those of the same evals came that passed.
fn time_out(
    known: &RunFindings<'_>,
    cause: Cause,
    at: &str,
    places: &FailurePlaces<'_>,
    why: &str,
) -> Advice {
    // Only agents are stopped with what they started, and fail.
    let is_agent = cause == Cause::Timeout && why.contains("all processes that it started");
    let setting = match is_agent {
        true => "`limits.wall_seconds`",
        false => "`timeout_seconds`",
    };
    let (rank, whose, took, look) = match cause {
        Cause::Timeout if is_agent => (
            AdviceRank::Kind,
            "agent",
            latency_ms as fn(&SampleResult) -> Option<f64>,
            "look for commands that do not end",
        ),
        Cause::Timeout => (
            AdviceRank::Kind,
            "program",
            program_ms as fn(&SampleResult) -> Option<f64>,
            "look for endless loops",
        ),
        _ => (
            AdviceRank::Unknown,
            "target",
            latency_ms as fn(&SampleResult) -> Option<f64>,
            "find out why the target hangs",
        ),
    };
    // Where limits differ none of them is that of all.
    let limit = limit_seconds(why).filter(|limit| {
        let of_cause = known
            .failures
            .iter()
            .filter(|failure| failure.cause == Some(cause));
        of_cause
            .map(|failure| limit_seconds(&failure.reason))
            .all(|other| other == Some(*limit))
    });
    let limit_told = limit
        .map(|seconds| format!(" (limit {seconds} s)"))
        .unwrap_or_default();
    let lead = format!("{at} timed out{limit_told}");
    let at_evals: HashSet<&str> = places.evals().collect();
    let of_evals = known
        .evals
        .iter()
        .filter(|eval| at_evals.contains(eval.id.as_str()));
    let slowest = slowest(of_evals, took)
        .zip(limit)
        .map(|(ms, seconds)| ms / 1000.0 / seconds);
    // Of samples that are not listed nobody knows that they were quick.
    let all_listed = known.omitted.cases == 0 && known.omitted.samples == 0;
    let slowest = slowest.filter(|share| all_listed || *share >= 0.5);
    let text = match slowest {
        Some(share) if share >= 0.8 => format!(
            "{lead}, and the slowest {whose} that passed took over four fifths of the limit: raise {setting}, or make \
             them faster"
        ),
        Some(share) if share >= 0.5 => format!(
            "{lead}, and the slowest {whose} that passed took over half of the limit: raise {setting}, or make them \
             faster"
        ),
        Some(share) => {
            let part = if share < 0.1 { "a tenth" } else { "half" };
            format!("{lead}, but no {whose} that passed took {part} of the limit: {look}")
        }
        None => format!("{lead}: {look}, or raise {setting}"),
    };
    advice(rank, text)
}

/// The limit that a reason of ours names, as `... within 10 s`.
fn limit_seconds(why: &str) -> Option<f64> {
    let (_, after) = why.rsplit_once(" within ")?;
    let (number, unit) = after.split_once(' ')?;
    let unit = unit.split([' ', ';', ',', ':']).next()?;
    number
        .parse()
        .ok()
        .filter(|seconds: &f64| unit == "s" && seconds.is_finite() && *seconds > 0.0)
}

fn slowest<'a>(
    evals: impl Iterator<Item = &'a EvalResult>,
    took: fn(&SampleResult) -> Option<f64>,
) -> Option<f64> {
    let samples = evals
        .flat_map(|eval| &eval.cases)
        .flat_map(|case| &case.samples);
    samples
        .filter(|sample| sample.outcome == Outcome::Passed)
        .filter_map(took)
        .reduce(f64::max)
}

fn latency_ms(sample: &SampleResult) -> Option<f64> {
    sample.latency_ms
}

/// The longest that a program of a sample ran, as its graders tell.
fn program_ms(sample: &SampleResult) -> Option<f64> {
    let number = |value: &serde_json::Value| value.as_f64().filter(|ms| ms.is_finite());
    let times = sample.grades.iter().flat_map(|grade| {
        let own = ["slowest_ms", "ms"]
            .iter()
            .filter_map(|key| grade.details.get(*key));
        let calls = grade
            .details
            .get("calls")
            .and_then(|calls| calls.as_array());
        own.chain(
            calls
                .into_iter()
                .flatten()
                .filter_map(|call| call.get("ms")),
        )
        .filter_map(number)
    });
    times.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_only_where_a_reason_names_one() {
        for (why, limit) in [
            ("the program did not end within 10 s", Some(10.0)),
            (
                "./solve.sh did not end within 1.5 s; it and all processes that it started were stopped",
                Some(1.5),
            ),
            (
                "solve(' within 3 s'): the program did not end within 2 s",
                Some(2.0),
            ),
            ("the answer lies within reason", None),
            ("within 10 s", None),
            ("it did not end within 10 min", None),
            ("it did not end within -1 s", None),
            ("it did not end within inf s", None),
            ("", None),
        ] {
            assert_eq!(limit_seconds(why), limit, "{why}");
        }
    }
}
