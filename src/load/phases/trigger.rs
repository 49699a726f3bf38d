//! `eval_trigger:`.

use std::path::PathBuf;

use super::asked;
use super::report_path::{self, PLACEHOLDER};
use super::step::absolute_glob;
use super::{AFTER_TESTS_PASS, PhaseDesk, PhaseReading, PhaseRequest, PlacedPhase};
use crate::load::problem::{Code, Problem};
use crate::load::tree::Node;
use crate::model::{Phase, PhaseStep, StepWork};
use crate::spec::{FailureAction, StepConfig, StepType, TriggerFile};
use eval_base::globs::path_glob;

/// How reports call the step of `--junit`.
const TESTS: &str = "Tests";
/// How reports call the step of the suite.
const EVALS: &str = "Evals";

/// The trigger as a phase, or that it waits for another moment.
pub(super) fn read(
    desk: &mut PhaseDesk,
    file: TriggerFile,
    node: &Node,
    request: &PhaseRequest,
) -> Option<PhaseReading> {
    let moment = &file.eval_trigger.when;
    if request
        .when
        .as_deref()
        .is_some_and(|now| now.trim().is_empty())
    {
        // A variable that is not set, most likely: a gate must not be skipped by that.
        let problem = Problem::general(Code::SuspiciousValue, "`--when` is empty");
        desk.problem(problem.hint(format!(
            "the trigger's moment is `{moment}`; without `--when`, the trigger always runs"
        )));
        return None;
    }
    if let Some(now) = request
        .when
        .as_deref()
        .filter(|now| !same_moment(now, moment))
    {
        if is_slip(now, moment) {
            let at = node.locate("/eval_trigger/when");
            let message =
                format!("`--when {now}` looks like a typing error for this trigger's `{moment}`");
            let hint = format!("did you mean `--when {moment}`?");
            desk.problem(Problem::error(Code::SuspiciousValue, at, message).hint(hint));
            return None;
        }
        return Some(PhaseReading::Waits(moment.clone()));
    }
    let asks_for_id = file
        .eval_trigger
        .on_failure
        .as_ref()
        .and_then(|f| f.report_path.as_deref());
    if request.phase_id.is_none() && asks_for_id.is_some_and(|path| path.contains(PLACEHOLDER)) {
        let at = node.locate("/eval_trigger/on_failure/report_path");
        let message = format!("the report path contains `{PLACEHOLDER}`, but no phase id is set");
        desk.problem(Problem::error(Code::UnknownPhase, at, message).hint("pass `--phase-id ID`"));
        return None;
    }
    let id = match &request.phase_id {
        Some(id) if id.trim().is_empty() => {
            desk.problem(Problem::general(
                Code::UnknownPhase,
                "`--phase-id` is empty",
            ));
            return None;
        }
        Some(id) => id.clone(),
        None => desk
            .path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
    };
    let mut globs = Vec::new();
    for text in &request.junit {
        match path_glob(text) {
            Ok(_) if !text.trim().is_empty() => globs.push(absolute_glob(&request.cwd, text)),
            Ok(_) => desk.problem(Problem::general(Code::BadGlob, "`--junit` is empty")),
            Err(reason) => {
                let message = format!("`--junit {text}` is not a glob: {reason}");
                desk.problem(Problem::general(Code::BadGlob, message));
            }
        }
    }
    let mut placed = phase(desk, file, node, &id, &globs)?;
    placed.phase.base = request.base.clone();
    Some(PhaseReading::Phase(Box::new(placed)))
}

/// The phase of a trigger: test results that others wrote, if there are any, then the suite.
pub(super) fn phase(
    desk: &mut PhaseDesk,
    file: TriggerFile,
    node: &Node,
    id: &str,
    junit: &[String],
) -> Option<PlacedPhase> {
    let spec = file.eval_trigger;
    let at = node.get("eval_trigger")?;
    if is_slip(&spec.when, AFTER_TESTS_PASS) {
        let message = format!("unknown moment `{}`", spec.when);
        let problem = Problem::warning(Code::SuspiciousValue, at.locate("/when"), message);
        desk.problem(problem.hint(format!("did you mean `{AFTER_TESTS_PASS}`?")));
    }
    let failure = spec.on_failure.unwrap_or_default();
    let success = spec.on_success.unwrap_or_default();
    let told = at
        .at_pointer("/on_failure/notification")
        .map(|node| node.span);
    let path_at = at.locate("/on_failure/report_path");
    let report_path: Option<PathBuf> = failure
        .report_path
        .as_deref()
        .and_then(|text| report_path::resolve(desk, text, id, path_at));
    let config = StepConfig {
        suite: Some(spec.suite),
        metrics: spec.metrics,
        thresholds: spec.thresholds,
        preset: spec.preset,
        filters: spec.filters,
        target: spec.target,
        prompt: spec.prompt,
        samples: spec.samples,
        vars: spec.vars,
        ..StepConfig::default()
    };
    let told = told.filter(|_| failure.notification == Some(true));
    let (eval, place) = asked::eval_step(desk, config, at, told, None)?;
    let tests = (!junit.is_empty()).then(|| PhaseStep {
        kind: StepType::Test,
        name: TESTS.to_owned(),
        action: FailureAction::Block,
        work: StepWork::Junit(junit.to_vec()),
    });
    let evals = PhaseStep {
        kind: StepType::Eval,
        name: EVALS.to_owned(),
        action: failure.action,
        work: eval,
    };
    let phase = Phase {
        id: id.to_owned(),
        name: id.to_owned(),
        description: None,
        path: desk.given.clone(),
        dir: desk.dir.clone(),
        root: desk.root.clone(),
        steps: tests.into_iter().chain([evals]).collect(),
        base: None,
        report_path,
        notification: failure.notification.unwrap_or(false),
        archive: success.archive_results.unwrap_or(false),
        when: Some(normal(&spec.when)),
    };
    Some(PlacedPhase {
        phase,
        places: vec![place],
    })
}

fn same_moment(one: &str, other: &str) -> bool {
    normal(one) == normal(other)
}

/// Moments differ neither by case nor by `-` and `_`.
fn normal(moment: &str) -> String {
    moment.trim().to_lowercase().replace(['-', ' '], "_")
}

/// Whether one is probably a typing error of the other. Those that differ by a number alone are two
/// moments, and of short ones a letter makes another word.
fn is_slip(one: &str, other: &str) -> bool {
    let (one, other) = (normal(one), normal(other));
    let digitless = |text: &str| {
        text.chars()
            .filter(|c| !c.is_ascii_digit())
            .collect::<String>()
    };
    one != other
        && one.chars().count().min(other.chars().count()) >= 6
        && digitless(&one) != digitless(&other)
        && strsim::damerau_levenshtein(&one, &other) <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_moments_are_told_from_other_moments() {
        for slip in [
            "after_test_pass",
            "after_tests_pas",
            "afer-tests-pass",
            "after_tests_passed",
        ] {
            assert!(is_slip(slip, AFTER_TESTS_PASS), "{slip}");
        }
        for other in [
            "after_tests_fail",
            "before_merge",
            "after-tests-pass",
            "After Tests Pass",
            "after_tests",
        ] {
            assert!(!is_slip(other, AFTER_TESTS_PASS), "{other}");
        }
        assert!(!is_slip("after_phase_1", "after_phase_2") && !is_slip("on_a", "on_b"));
        assert!(same_moment("After-Tests-Pass", AFTER_TESTS_PASS));
    }
}
