//! The suites of a phase: loaded before anything runs, with what their steps ask of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{PhaseRequest, PlacedPhase, StepPlace, StepSuite};
use crate::load::problem::{Code, Problem, Problems};
use crate::load::refs::lexical;
use crate::load::request::{CaseFilters, LoadOverrides, LoadRequest};
use crate::load::session::LoadSession;
use crate::load::source::Span;
use crate::load::suite::load_into;
use crate::load::thresholds::unknown_metric;
use crate::load::tree::Node;
use crate::model::{EvalStep, Metric, Phase, Plan, PlannedSamples, StepWork};
use crate::spec::FilterSpec;

/// Loads the suite of each eval step. All problems of all of them are noted; those that have no
/// place of their own stand where the step says what is wrong.
pub(super) fn load_all(
    session: &mut LoadSession,
    request: &PhaseRequest,
    placed: &PlacedPhase,
) -> Vec<StepSuite> {
    let mut suites = Vec::new();
    let mut places = placed.places.iter();
    for step in &placed.phase.steps {
        let StepWork::Eval(eval) = &step.work else {
            continue;
        };
        let Some(place) = places.next() else { break };
        let load = load_request(session, request, eval, place);
        let others = std::mem::take(&mut session.problems);
        let (plan, _, _) = load_into(&load, session);
        if let Some(plan) = &plan {
            judge(plan, place, &mut session.problems);
        }
        let broken = session.problems.has_errors();
        let found = std::mem::replace(&mut session.problems, others);
        for problem in found {
            session.problems.push(located(problem, place, request));
        }
        suites.extend(plan.filter(|_| !broken).map(|plan| StepSuite {
            plan,
            request: load,
        }));
    }
    suites
}

/// What a step asks, with the command line on top.
fn load_request(
    session: &LoadSession,
    request: &PhaseRequest,
    eval: &EvalStep,
    place: &StepPlace,
) -> LoadRequest {
    let line = &request.overrides;
    let mut vars = eval.vars.clone();
    vars.extend(line.vars.iter().cloned());
    LoadRequest {
        // As it is seen from where the user stands, so that commands that name it can be typed.
        suite: eval
            .suite
            .strip_prefix(&session.cwd)
            .unwrap_or(&eval.suite)
            .to_owned(),
        purpose: session.purpose,
        overrides: LoadOverrides {
            target: line.target.clone().or_else(|| eval.target.clone()),
            prompt: eval.prompt.clone(),
            workspace: place.workspace.clone(),
            vars,
            // `phase --var` is for the suites of all steps, and is checked over all of them.
            shared_vars: true,
            samples: line.samples.or(eval.samples),
            preset: eval.preset.clone(),
            asked: eval.demands.clone(),
            metrics: eval.metrics.clone(),
            max_regressions: eval.max_regressions,
            require: eval.require,
            filters: filters(&eval.filters),
            ..line.clone()
        },
        env: request.env.clone(),
        cwd: session.cwd.clone(),
        cpus: request.cpus,
        ..LoadRequest::default()
    }
}

fn filters(spec: &FilterSpec) -> CaseFilters {
    CaseFilters {
        category: spec.categories.clone(),
        tag: spec.tags.clone(),
        eval: spec.evals.clone(),
        case: spec.cases.clone(),
        difficulty: spec.difficulty.clone(),
        criticality: spec.criticality.clone(),
        only: None,
    }
}

/// What only the whole suite tells: metrics that nobody measures, and those that its samples can't
/// give.
fn judge(plan: &Plan, place: &StepPlace, problems: &mut Problems) {
    let mut measured: BTreeSet<&str> = plan.composites.iter().map(|c| c.name.as_str()).collect();
    let evals = if plan.whole.is_empty() {
        &plan.evals
    } else {
        &plan.whole
    };
    let graders = evals
        .iter()
        .flat_map(|eval| eval.cases.profiles())
        .flat_map(|profile| &profile.graders);
    measured.extend(
        graders
            .flat_map(|grader| &grader.measures)
            .map(|(name, _)| name.as_str()),
    );
    let measured: Vec<&str> = measured.into_iter().collect();
    for (name, at) in &place.metrics {
        let Ok(metric) = name.parse::<Metric>() else {
            continue;
        };
        if let Metric::Named(name) = &metric
            && !measured.contains(&name.as_str())
        {
            problems.push(unknown_metric(name, Some(*at), &measured));
        }
        let fewer = |k: u32| PlannedSamples::of(&plan.evals, |_, case| case.samples).fewer_than(k);
        if let Some((k, short)) = metric.k().and_then(|k| Some((k, fewer(k)?))) {
            let message =
                format!("`{name}` has no value: it needs {k} samples per case, but {short}");
            problems.push(Problem::warning(Code::KAboveSamples, *at, message));
        }
    }
    if let Some(at) = place.notification {
        notified(plan, at, problems);
    }
}

/// Who asks to be told needs somebody who tells.
fn notified(plan: &Plan, at: Span, problems: &mut Problems) {
    if plan.reporting.channels.is_empty() {
        let message = format!(
            "`notification` has no effect: the suite `{}` has no notification channel",
            plan.suite.name
        );
        let hint = "add `notify:` to the suite, such as `notify: [{type: webhook, url_env: SLACK_WEBHOOK_URL}]`";
        problems.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
    }
}

/// A problem that speaks of the command line, in the words of the file and at the place that is
/// meant.
fn located(mut problem: Problem, place: &StepPlace, request: &PhaseRequest) -> Problem {
    if problem.span.is_some() || problem.path.is_some() {
        return problem;
    }
    let mut at = place.node.locate("/suite");
    for (flag, key) in [
        ("category", "categories"),
        ("tag", "tags"),
        ("eval", "evals"),
        ("case", "cases"),
    ] {
        if let Some(rest) = problem.message.strip_prefix(&format!("`--{flag} ")) {
            let words = place.node.at_pointer(&format!("/filters/{key}"));
            let word = rest.split('`').next();
            let is_meant = |node: &&Node| node.as_text() == word;
            let own = words.and_then(|words| words.as_seq()?.iter().find(is_meant));
            let span = own.or(words).map(|node| node.span);
            at = span.or_else(|| place.of("filters")).unwrap_or(at);
            problem.message = format!("`{key}`: `{rest}");
        }
    }
    if let Some(rest) = problem
        .message
        .strip_prefix("the thresholds of the phase: ")
    {
        problem.message = rest.to_owned();
        at = place.of("thresholds").unwrap_or(at);
    }
    if request.overrides.target.is_none()
        && let Some(rest) = problem.message.strip_prefix("`--target`: ")
    {
        problem.message = rest.to_owned();
    }
    match problem.code {
        Code::UnknownPreset => at = place.of("preset").unwrap_or(at),
        Code::UnknownTarget if request.overrides.target.is_none() => {
            at = place.of("target").unwrap_or(at)
        }
        Code::KAboveSamples => at = place.of("samples").unwrap_or(at),
        Code::EmptyCases if problem.message.starts_with("no case matches") => {
            at = place.of("filters").unwrap_or(at)
        }
        Code::RecordedOutputs | Code::UnknownTarget => return problem,
        _ => {}
    }
    problem.at(at)
}

/// The folder of results of the whole phase.
pub(super) fn results(request: &PhaseRequest, phase: &Phase, suites: &[StepSuite]) -> PathBuf {
    match (&request.overrides.output_dir, suites.first()) {
        (Some(dir), _) => lexical(&request.cwd.join(dir)),
        (None, Some(suite)) => suite.plan.reporting.output_dir.clone(),
        (None, None) => phase.root.join("results"),
    }
}
