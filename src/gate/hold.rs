//! What a comparison demands of a gate.

use super::decide::people_decide;
use super::{ExitCode, doubted_decision};
use crate::model::{
    CaseChanges, Comparison, ComparisonVerdict, Comparisons, Decision, FailOn, Gate, GateTallies,
    MetricDifference, RunWarning,
};
use eval_base::text::plural;

/// Holds comparisons against the word that says which difference fails: `pass`, `fail` or
/// `incomplete`, and why it is no pass.
///
/// `significant` fails where the verdict is `regression` under all three readings, and is
/// incomplete where it is under some of them. `any` and `critical` fail where a case that passed
/// fails now, and are incomplete where one may have, for want of a grade. With nothing to compare
/// only `never` passes; `critical` neither where no critical case of the reference was compared.
pub fn hold(fail_on: FailOn, comparisons: &[&Comparison]) -> (Decision, Vec<String>) {
    if fail_on == FailOn::Never {
        return (Decision::Pass, Vec::new());
    }
    let several = comparisons.len() > 1;
    let (mut fails, mut open) = (Vec::new(), Vec::new());
    for comparison in comparisons {
        let (decision, reason) = one(fail_on, comparison);
        let of = if several {
            format!("{}: ", comparison.candidate.label)
        } else {
            String::new()
        };
        match decision {
            Decision::Fail => fails.push(format!("{of}{reason}")),
            Decision::Pass => {}
            _ => open.push(format!("{of}{reason}")),
        }
    }
    if comparisons.is_empty() {
        open.push("nothing could be compared, so a regression can't be ruled out".to_owned());
    }
    let decision = match (fails.is_empty(), open.is_empty()) {
        (false, _) => Decision::Fail,
        (true, false) => Decision::Incomplete,
        (true, true) => Decision::Pass,
    };
    fails.append(&mut open);
    (decision, fails)
}

/// The version of the form of `compare --format json`.
const FORMAT_VERSION: u32 = 1;

/// Decides over comparisons, by what fails and by the warnings of the sides, as the gate of each
/// side's own report does.
pub fn decided_comparisons(
    fail_on: FailOn,
    candidates: Vec<Comparison>,
    warnings: &[RunWarning],
) -> Comparisons {
    let held = hold(fail_on, &candidates.iter().collect::<Vec<_>>());
    let (decision, reasons) = doubted_decision(held, warnings);
    let verdicts = candidates.iter().map(|one| one.verdict);
    Comparisons {
        format_version: FORMAT_VERSION,
        verdict: verdicts.min().unwrap_or(ComparisonVerdict::None),
        fail_on,
        decision,
        exit_code: ExitCode::of(decision, false).code(),
        reasons,
        candidates,
    }
}

fn one(fail_on: FailOn, comparison: &Comparison) -> (Decision, String) {
    let CaseChanges {
        compared,
        ungraded,
        changed,
        ..
    } = &comparison.cases;
    match fail_on {
        FailOn::Never => (Decision::Pass, String::new()),
        _ if compared + ungraded.count + changed.count == 0 => {
            let why =
                "no case is the same on both sides, so a regression can't be ruled out".to_owned();
            (Decision::Incomplete, why)
        }
        FailOn::Significant => significant(comparison),
        FailOn::Any => {
            let CaseChanges {
                broken,
                may_be_broken,
                ..
            } = &comparison.cases;
            flips("case", broken.count, *may_be_broken, comparison)
        }
        FailOn::Critical => {
            let CaseChanges {
                broken_critical,
                may_be_broken_critical,
                ..
            } = comparison.cases;
            match flips(
                "case of a critical eval",
                broken_critical,
                may_be_broken_critical,
                comparison,
            ) {
                (Decision::Pass, _) => no_critical(&comparison.cases),
                decided => decided,
            }
        }
    }
}

fn significant(comparison: &Comparison) -> (Decision, String) {
    let verdicts = [
        comparison.verdict,
        comparison.verdict_worst,
        comparison.verdict_best,
    ];
    let said = || comparison.sentences.first().cloned().unwrap_or_default();
    // A metric that was to decide and could not be tested has not passed.
    let decides = |name: &String| {
        let named = |metric: &&MetricDifference| metric.name == *name;
        let test = comparison
            .metrics
            .iter()
            .find(named)
            .and_then(|metric| metric.test.as_ref());
        test.is_some_and(|test| test.decides)
    };
    let untested: Vec<&String> = comparison
        .settings
        .metrics
        .iter()
        .filter(|name| !decides(name))
        .collect();
    let undecided = || match untested.as_slice() {
        [name] if comparison.settings.metrics.len() > 1 => (
            Decision::Incomplete,
            format!("{name} could not be compared, so a regression of it can't be ruled out"),
        ),
        _ => (
            Decision::Incomplete,
            format!("{}, so a regression can't be ruled out", said()),
        ),
    };
    let worse = verdicts
        .iter()
        .filter(|verdict| **verdict == ComparisonVerdict::Regression)
        .count();
    match worse {
        3 => (Decision::Fail, said()),
        0 if untested.is_empty() => (Decision::Pass, String::new()),
        0 => undecided(),
        _ if comparison.verdict == ComparisonVerdict::Regression => (
            Decision::Incomplete,
            format!("{}; samples without a grade could change that", said()),
        ),
        _ if !untested.is_empty() => undecided(),
        _ => {
            let why =
                "samples without a grade leave open whether the candidate is worse".to_owned();
            (Decision::Incomplete, why)
        }
    }
}

fn flips(what: &str, broken: usize, open: usize, comparison: &Comparison) -> (Decision, String) {
    let cases = |n: usize| match what.split_once(' ') {
        Some((noun, rest)) => format!("{} {rest}", plural(n, noun)),
        None => plural(n, what),
    };
    if broken > 0 {
        let fail = if broken == 1 { "fails" } else { "fail" };
        return (
            Decision::Fail,
            format!("{} that passed in the reference {fail} now", cases(broken)),
        );
    }
    if open > 0 {
        let have = if open == 1 { "has" } else { "have" };
        let why = format!(
            "{} may have broken, but {have} no outcome in the reference or in the candidate",
            cases(open)
        );
        return (Decision::Incomplete, why);
    }
    if comparison.cases.compared == 0 {
        return (
            Decision::Incomplete,
            "no case was graded on both sides, so any of them may be worse now".to_owned(),
        );
    }
    (Decision::Pass, String::new())
}

/// Critical cases of the reference that were all written anew, renamed, removed or left out are
/// none that are well. A suite that has none has none to lose.
fn no_critical(cases: &CaseChanges) -> (Decision, String) {
    if cases.reference_critical == 0 || cases.compared_critical > 0 {
        return (Decision::Pass, String::new());
    }
    let there = match cases.reference_critical {
        1 => "the only case of a critical eval".to_owned(),
        n => format!("none of the {n} cases of critical evals"),
    };
    let (verb, known) = match cases.reference_critical {
        1 => ("was not", "it may be worse now"),
        _ => ("was", "any of them may be worse now"),
    };
    (
        Decision::Incomplete,
        format!("{there} in the reference {verb} compared, so {known}"),
    )
}

/// The gate of a run that is held against a reference, too: one more demand beside its own.
/// `comparison` is `None` when it could not be made. A gate that decides nothing, of shards, is
/// left alone. Where only human grades of this run are missing people decide.
pub fn add_comparison(
    gate: Gate,
    fail_on: FailOn,
    comparison: Option<&Comparison>,
    tallies: &GateTallies,
    interrupted: bool,
) -> Gate {
    if gate.decision == Decision::Undecided {
        return gate;
    }
    let comparisons: Vec<&Comparison> = comparison.into_iter().collect();
    let waits = |comparison: &Comparison| {
        let CaseChanges {
            ungraded_samples_reference,
            ungraded_samples_candidate,
            ..
        } = comparison.cases;
        ungraded_samples_candidate > 0 && ungraded_samples_reference == 0 && people_decide(tallies)
    };
    let (demand, reasons) = match hold(fail_on, &comparisons) {
        (Decision::Incomplete, reasons) if comparison.is_some_and(waits) => {
            (Decision::Pending, reasons)
        }
        demand => demand,
    };
    let order = [Decision::Fail, Decision::Incomplete, Decision::Pending];
    let both = [gate.decision, demand];
    let decision = order
        .into_iter()
        .find(|word| both.contains(word))
        .unwrap_or(Decision::Pass);
    let Gate {
        thresholds,
        reasons: mut all,
        ..
    } = gate;
    all.extend(
        reasons
            .into_iter()
            .map(|reason| format!("compared with the reference: {reason}")),
    );
    Gate {
        decision,
        exit_code: ExitCode::of(decision, interrupted).code(),
        thresholds,
        reasons: all,
    }
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
