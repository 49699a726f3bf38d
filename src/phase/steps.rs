//! An eval step: the run of its suite, its reports, and what it stands for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::ready::ReadySuite;
use super::redefined::redefined;
use crate::journal::RunPaths;
use crate::load::{self, LoadRequest, Severity};
use crate::model::{
    Bound, EvalStep, EvalStepResult, Figure, PhaseStep, Plan, StepResult, StepStatus, Summary,
};
use crate::report::json::word;
use crate::report::write_reports;
use crate::run::{
    self, CancelSwitch, FinishedRun, PreparedRun, RunError, RunInvocation, RunObserver, RunRequest,
};
use eval_base::clock::Clock;
use eval_base::text::plural;

/// What an eval step needs from outside.
pub(super) struct StepContext<'a> {
    pub helper: PathBuf,
    pub clock: &'a dyn Clock,
    pub cancel: CancelSwitch,
    pub observers: Vec<&'a mut dyn RunObserver>,
    pub root: &'a Path,
}

/// A run that a step made, with the reports that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRun {
    pub paths: RunPaths,
    pub reports: Vec<PathBuf>,
}

pub(super) struct EvalEnd {
    pub result: StepResult,
    pub run: Option<StepRun>,
    /// A definition is wrong, which was found out only now.
    pub wrong: bool,
    /// What the suite no longer demands, in a sentence.
    pub note: Option<String>,
}

/// Runs the suite of a step. `again`: a command has run since the suite was loaded, and may have
/// changed it.
pub(super) async fn eval_step(
    step: &PhaseStep,
    eval: &EvalStep,
    suite: ReadySuite,
    again: bool,
    outside: StepContext<'_>,
) -> EvalEnd {
    let timer = Instant::now();
    let request = suite.request;
    let mut note = None;
    let prepared = if again {
        let prepared = loaded_again(&request);
        if let Ok(now) = &prepared {
            note = redefined(&eval.shown, &suite.prepared.plan, &now.plan);
        }
        prepared
    } else {
        Ok(suite.prepared)
    };
    let mut end = match prepared {
        Err(reason) => not_run(step, reason, true),
        Ok(prepared) => run_suite(step, eval, prepared, &request, outside).await,
    };
    end.result.duration_seconds = timer.elapsed().as_secs_f64();
    end.note = note;
    end
}

fn not_run(step: &PhaseStep, reason: String, wrong: bool) -> EvalEnd {
    EvalEnd {
        result: StepResult {
            reason,
            ..StepResult::plain(step, StepStatus::Incomplete)
        },
        run: None,
        wrong,
        note: None,
    }
}

fn loaded_again(request: &LoadRequest) -> Result<PreparedRun, String> {
    let loaded = load::load(request);
    let errors = loaded.problems.error_count();
    let Some(plan) = loaded.plan.filter(|_| errors == 0) else {
        let first = loaded
            .problems
            .sorted()
            .into_iter()
            .find(|p| p.severity == Severity::Error);
        let first = first.map_or(String::new(), |problem| {
            let place = problem.span.map_or(String::new(), |span| {
                format!("{}: ", loaded.sources.place(span))
            });
            format!(", such as {place}{}", problem.message)
        });
        let problems = plural(errors.max(1), "problem");
        return Err(format!(
            "the suite changed since the phase began, and now has {problems}{first}"
        ));
    };
    run::prepare(plan).map_err(|error| error.to_string())
}

async fn run_suite(
    step: &PhaseStep,
    eval: &EvalStep,
    prepared: PreparedRun,
    request: &LoadRequest,
    outside: StepContext<'_>,
) -> EvalEnd {
    let formats = prepared.plan.reporting.formats.clone();
    let StepContext {
        helper,
        clock,
        cancel,
        observers,
        root,
    } = outside;
    let said = RunInvocation {
        filters: request.overrides.filters.describe(),
        arguments: arguments(request, &prepared.plan.unread_vars),
        cwd: Some(request.cwd.clone()),
        ..RunInvocation::default()
    };
    let copy_of = copied_from(&prepared.plan);
    let git = run::git_state(&prepared.plan.suite.dir);
    let asked = RunRequest {
        prepared,
        helper,
        clock,
        git,
        said,
        cancel,
        observers,
        resume: None,
        changed: None,
    };
    let FinishedRun { paths, summary, .. } = match run::run(asked).await {
        Ok(finished) => finished,
        Err(error) => return not_run(step, told(&error), error.is_definition()),
    };
    let (reports, unwritten) = write_reports(&paths, &summary, &formats);
    let mut status = StepStatus::of(summary.gate.decision);
    let mut reasons = summary.gate.reasons.clone();
    if !unwritten.is_empty() {
        // What nobody could read has not passed.
        if matches!(status, StepStatus::Passed | StepStatus::Pending) {
            status = StepStatus::Incomplete;
        }
        reasons.extend(
            unwritten
                .into_iter()
                .map(|why| format!("a report could not be written: {why}")),
        );
    }
    let journal = paths.journal();
    let shown = journal
        .strip_prefix(root)
        .unwrap_or(&journal)
        .display()
        .to_string();
    let result = StepResult {
        reason: reasons.join("; "),
        copy_of,
        eval: Some(Box::new(EvalStepResult {
            suite: eval.shown.clone(),
            journal: shown,
            metrics: eval.metrics.clone(),
            eval_report: without_samples(summary),
        })),
        ..StepResult::plain(step, status)
    };
    EvalEnd {
        result,
        run: Some(StepRun { paths, reports }),
        wrong: false,
        note: None,
    }
}

/// What the workspaces of all cases are copied from; `None` unless all have one of the same.
fn copied_from(plan: &Plan) -> Option<String> {
    let mut found = BTreeSet::new();
    for eval in &plan.evals {
        if !eval
            .cases
            .profiles()
            .iter()
            .all(|profile| profile.has_workspace)
        {
            return None;
        }
        for case in eval.cases.all().ok()? {
            found.insert(case.workspace.as_ref()?.copied_from().to_owned());
        }
    }
    found.pop_first().filter(|_| found.is_empty())
}

fn told(error: &RunError) -> String {
    match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}

/// The journal has the samples and the inputs.
fn without_samples(mut summary: Summary) -> Summary {
    for case in summary.evals.iter_mut().flat_map(|eval| &mut eval.cases) {
        (case.samples, case.input) = (Vec::new(), None);
    }
    summary
}

/// What `run` would be given to do the same, for commands that reports name and for `run --resume`.
fn arguments(request: &LoadRequest, unread_vars: &BTreeSet<String>) -> Vec<String> {
    let mut words = vec!["--suite".to_owned(), request.suite.display().to_string()];
    let overrides = &request.overrides;
    let filters = &overrides.filters;
    let mut say = |flag: &str, values: Vec<String>| {
        for value in values {
            words.extend([flag.to_owned(), value]);
        }
    };
    say("--category", filters.category.clone());
    say("--tag", filters.tag.clone());
    say("--eval", filters.eval.clone());
    say("--case", filters.case.clone());
    say(
        "--difficulty",
        filters.difficulty.iter().map(word).collect(),
    );
    say(
        "--criticality",
        filters.criticality.iter().map(word).collect(),
    );
    say("--target", overrides.target.iter().cloned().collect());
    say("--prompt", overrides.prompt.iter().cloned().collect());
    let outputs = overrides.outputs.iter();
    say(
        "--outputs",
        outputs.map(|path| path.display().to_string()).collect(),
    );
    let read = overrides.vars.iter();
    let read = read.filter(|(name, _)| !unread_vars.contains(name));
    say(
        "--var",
        read.map(|(name, value)| format!("{name}={value}"))
            .collect(),
    );
    say(
        "--samples",
        overrides.samples.iter().map(ToString::to_string).collect(),
    );
    say("--preset", overrides.preset.iter().cloned().collect());
    let mut thresholds = Vec::new();
    for demand in &overrides.asked {
        let threshold = &demand.threshold;
        let sign = match threshold.bound {
            // Only the metric knows its direction.
            _ if demand.bare => "=",
            Bound::Min => ">=",
            Bound::Max => "<=",
        };
        let on = match threshold.on {
            Figure::Value => "",
            Figure::CiLower => "@lower",
            Figure::CiUpper => "@upper",
        };
        thresholds.push(format!("{}{sign}{}{on}", threshold.metric, threshold.value));
    }
    let regressions = overrides.max_regressions.iter();
    thresholds.extend(regressions.map(|n| format!("max_regressions={n}")));
    let required = overrides.require.iter();
    thresholds.extend(required.map(|one| format!("require={}", word(one))));
    say("--threshold", thresholds);
    let dirs = overrides.output_dir.iter();
    say(
        "--output-dir",
        dirs.map(|dir| dir.display().to_string()).collect(),
    );
    if overrides.allow_unsandboxed {
        words.push("--allow-unsandboxed".to_owned());
    }
    words
}
