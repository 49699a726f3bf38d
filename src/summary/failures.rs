//! Failures as people want to read them, and what to do about them.

use crate::model::{Cause, EvalInfo, EvalResult, Failure, Grade, Outcome, SampleResult, Totals};

/// Whose failure it is.
pub(super) struct Listed<'a> {
    pub eval: &'a EvalInfo,
    pub case_id: &'a str,
    pub case_name: Option<&'a str>,
}

/// The failure that `sample` tells of, the first of `samples` of its case that ended so.
pub(super) fn failure(listed: Listed<'_>, sample: &SampleResult, samples: usize) -> Failure {
    let Listed { eval, case_id, case_name } = listed;
    let grade = telling_grade(&sample.grades, sample.outcome);
    let name = match case_name {
        Some(name) if name != eval.name => format!("{}: {name}", eval.name),
        _ => eval.name.clone(),
    };
    Failure {
        eval_id: eval.id.clone(),
        case_id: case_id.to_owned(),
        name,
        outcome: sample.outcome,
        cause: sample.cause,
        reason: sample.reason.clone(),
        expected: grade.and_then(|grade| grade.expected.clone()),
        actual: grade
            .and_then(|grade| grade.actual.clone())
            .or_else(|| sample.extracted.clone())
            .or_else(|| sample.output.clone()),
        details: grade.map(|grade| grade.details.clone()).unwrap_or_default(),
        samples,
    }
}

/// The first grade that ended as the sample did; one that decided nothing tells nothing of it.
fn telling_grade(grades: &[Grade], outcome: Outcome) -> Option<&Grade> {
    let mut deciding = grades.iter().filter(|grade| !grade.informative);
    deciding.clone().find(|grade| grade.outcome == outcome).or_else(|| deciding.next())
}

/// The same without what the target said, for `include_details: false`.
pub(super) fn without_output(failure: Failure) -> Failure {
    Failure { actual: None, details: serde_json::Map::new(), ..failure }
}

/// What to look at first, from the causes; most frequent first.
pub(super) fn recommend(evals: &[EvalResult], totals: &Totals) -> Vec<String> {
    let mut causes: Vec<(&Cause, usize)> = Cause::ALL
        .iter()
        .filter_map(|cause| totals.by_cause.get(cause.name()).map(|n| (cause, *n)))
        .collect();
    causes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let mut advice: Vec<String> = causes
        .into_iter()
        .filter_map(|(cause, n)| Some(format!("{} {}", count(n, cause), advice_for(*cause)?)))
        .collect();
    if totals.flaky > 0 {
        advice.push(format!(
            "{} passed only on a later attempt: pass@k and pass^k count first attempts, so look at them before you raise retries.",
            samples(totals.flaky)
        ));
    }
    let thin = evals.iter().filter(|eval| eval.outcome.is_graded()).count();
    if thin > 0 && thin < 10 && totals.samples.total < 30 {
        advice.push(format!(
            "{} graded: the intervals are wide, so don't read small differences into these figures.",
            samples(totals.samples.passed + totals.samples.failed)
        ));
    }
    advice
}

fn samples(n: usize) -> String {
    format!("{n} sample{}", if n == 1 { "" } else { "s" })
}

fn count(n: usize, cause: &Cause) -> String {
    format!("{} ({}):", samples(n), cause.name())
}

fn advice_for(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Exception => "the code raised; the failures name the exception and its line.",
        Cause::SyntaxError => "the code does not parse; look for prose around it, or set `extract: code`.",
        Cause::Timeout => "the program ran out of time; look for endless loops, or raise `timeout_seconds`.",
        Cause::MemoryLimit => "the program ran out of memory; `memory_mb` sets the limit.",
        Cause::OutputLimit => "the program wrote without end.",
        Cause::Crashed => "the program was ended by a signal, which the failure names.",
        Cause::SandboxViolation => {
            "the program tried what the sandbox forbids; read it before you trust its author."
        }
        Cause::Exited => "the program ended before its tests did; leave out `sys.exit` and the like.",
        Cause::Forged => "the program tampered with its verdict; read it before you trust its author.",
        Cause::NoCode => "there was nothing to run in the output; look at the prompt, or at `extract`.",
        Cause::TargetUnreachable => "the target could not be reached, so nothing was found out.",
        Cause::TargetFailed => {
            "the target's command failed, so nothing was found out; its stderr is in the report."
        }
        Cause::TargetTimeout => "the target did not answer in time; `timeout_seconds` sets the limit.",
        Cause::MissingOutput => "the recording holds no output for them.",
        Cause::JudgeUnreachable => "the judge could not be reached, so nothing was found out.",
        Cause::JudgeUnparseable => "the judge's answer could not be read, so nothing was found out.",
        Cause::ExecutorMissing => "an interpreter is not on this machine; `eval-harness doctor` tells which.",
        Cause::SandboxUnavailable => "the sandbox could not be built; `eval-harness doctor` tells why.",
        Cause::NoBaseline => "there is no baseline to compare with.",
        Cause::Harness => "the eval's own tests or settings are at fault, not the output.",
        Cause::GlobalTimeout => "the run's `timeout_global` came first.",
        Cause::MaxFail => "`--max-fail` was reached.",
        Cause::Interrupted => "the run was interrupted before they ran.",
        Cause::WrongAnswer | Cause::Refused | Cause::Threshold | Cause::Budget | Cause::Filtered => {
            return None;
        }
    })
}
