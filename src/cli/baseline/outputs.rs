//! The outputs that a capture takes: of a run that it makes, or of one that is over.

use std::collections::BTreeMap;

use crate::cli::args::RunArgs;
use crate::cli::console::Console;
use crate::cli::{CliFailure, run as run_verb, suite};
use crate::journal::{self, RunPaths};
use crate::model::{Attempt, Environment, Event, OutputValue, Plan, SampleFinished, Verdict};
use crate::run::{self, RunInvocation, RunRequest};
use eval_base::clock::SystemClock;

/// The outputs of one run.
pub(super) struct RunOutputs {
    pub run_id: String,
    /// The name of the suite that was run.
    suite: String,
    /// Over the suite's target.
    target_hash: String,
    /// It was not made for this capture.
    pub is_over: bool,
    pub environment: Environment,
    /// By eval id; of evals of one case.
    pub answers: BTreeMap<String, EvalAnswers>,
}

#[derive(Default)]
pub(super) struct EvalAnswers {
    /// What the target was given, as the journal has it.
    pub input_hash: Option<String>,
    /// Over the case's own target, as the journal has it.
    pub target_hash: Option<String>,
    /// In the order of the samples: the answer, or why there is none.
    pub samples: Vec<Result<CapturedAnswer, String>>,
}

pub(super) struct CapturedAnswer {
    pub output: OutputValue,
    /// A secret was cut out of it.
    pub redacted: bool,
    pub finished_at: String,
}

/// Runs a plan to capture its outputs; `None` when somebody ended the run.
pub(super) fn by_run(
    console: &Console,
    args: &RunArgs,
    plan: Plan,
    filters: Vec<String>,
) -> Result<Option<RunOutputs>, CliFailure> {
    let prepared = run::prepare(plan).map_err(run_verb::failure)?;
    prepared
        .warnings
        .iter()
        .for_each(|warning| console.warn(warning));
    let mut arguments = Vec::new();
    if let Some(path) = &args.suite.suite {
        arguments.extend(["--suite".to_owned(), path.display().to_string()]);
    }
    let said = RunInvocation {
        capture: true,
        filters,
        arguments,
        cwd: suite::cwd().ok(),
        ..RunInvocation::default()
    };
    let finished = run_verb::drive(console, args, async |helper, cancel, observers| {
        let git = run::git_state(&prepared.plan.suite.dir);
        let request = RunRequest {
            prepared,
            helper,
            clock: &SystemClock,
            git,
            said,
            cancel,
            observers,
            resume: None,
            changed: None,
        };
        run::run(request).await
    })?;
    if finished.summary.metadata.interrupted {
        let id = &finished.paths.run_id;
        console.note(&format!(
            "interrupted: nothing was captured; `eval-harness baseline capture --run {id}` captures the finished \
                 samples"
        ));
        return Ok(None);
    }
    read(&finished.paths).map(Some)
}

/// The outputs of a finished run of the suite.
pub(super) fn of_run(console: &Console, plan: &Plan, run: &str) -> Result<RunOutputs, CliFailure> {
    let paths = journal::find_run(&plan.reporting.output_dir, run)?;
    let source = read(&paths)?;
    if source.suite != plan.suite.name {
        let message = format!(
            "{} is a run of suite `{}`, not `{}`",
            source.run_id, source.suite, plan.suite.name
        );
        return Err(
            CliFailure::wrong(message).hint("select the run with --run, or the suite with --suite")
        );
    }
    if source.environment.target == plan.target_name
        && source.target_hash != plan.target_hash
        && !plan.target_hash.is_empty()
    {
        console.warn(&format!(
            "the definition of target `{}` changed after {}: the outputs are from the earlier definition",
            plan.target_name, source.run_id
        ));
    }
    Ok(RunOutputs {
        is_over: true,
        ..source
    })
}

fn read(paths: &RunPaths) -> Result<RunOutputs, CliFailure> {
    let mut source = RunOutputs {
        run_id: paths.run_id.clone(),
        suite: String::new(),
        target_hash: String::new(),
        is_over: false,
        environment: Environment::default(),
        answers: BTreeMap::new(),
    };
    for event in journal::read(&paths.journal())? {
        match event? {
            Event::RunStarted(started) | Event::RunResumed(started) => {
                source.run_id = started.run.run_id;
                source.suite = started.run.suite_name;
                source.target_hash = started.target_hash;
                source.environment = started.run.environment;
            }
            Event::CasesPlanned(planned) => {
                for case in planned.cases.iter().filter(|case| case.id == planned.eval) {
                    let answers = source.answers.entry(planned.eval.clone()).or_default();
                    answers.input_hash = Some(case.input_hash.clone());
                    answers.target_hash = case.target_hash.clone();
                }
            }
            Event::SampleSkipped(skipped) => {
                if let Some(answers) = source.answers.get_mut(&skipped.eval) {
                    answers
                        .samples
                        .push(Err(format!("it was skipped ({})", skipped.cause.name())));
                }
            }
            _ => {}
        }
    }
    let wanted = |eval: &str, case: &str| eval == case;
    // What was skipped in one session may have been finished in a later one.
    let mut finished: BTreeMap<String, Vec<Result<CapturedAnswer, String>>> = BTreeMap::new();
    for sample in journal::index_samples(&paths.journal(), wanted)?.iter() {
        let sample = sample?;
        finished
            .entry(sample.eval.clone())
            .or_default()
            .push(answer(paths, &sample));
    }
    for (eval, samples) in finished {
        source.answers.entry(eval).or_default().samples = samples;
    }
    Ok(source)
}

/// The answer that counts for the case: that of the last attempt.
fn answer(paths: &RunPaths, sample: &SampleFinished) -> Result<CapturedAnswer, String> {
    let attempt = sample.attempts.last().ok_or("it has no attempt")?;
    if !attempt.is_answer() {
        return Err(no_answer(attempt));
    }
    let output = journal::output_of(paths, attempt).map_err(|error| error.to_string())?;
    let output = output.ok_or_else(|| no_answer(attempt))?;
    if output.truncated {
        return Err("the stored output is truncated, so it can't be a baseline".to_owned());
    }
    Ok(CapturedAnswer {
        output: output.value,
        redacted: attempt.redacted,
        finished_at: sample.finished_at.clone(),
    })
}

fn no_answer(attempt: &Attempt) -> String {
    let cause = attempt
        .verdict
        .cause
        .map_or("no output", |cause| cause.name());
    match attempt.verdict.reason.as_str() {
        "" => cause.to_owned(),
        reason => format!("{cause}: {reason}"),
    }
}

/// The places where an output differs from its baseline, by what its graders say.
pub(super) fn paths(verdict: &Verdict) -> Vec<String> {
    let listed = verdict
        .grades
        .iter()
        .filter_map(|grade| grade.details.get("differences")?.as_array());
    let path = |entry: &serde_json::Value| entry.get("path")?.as_str().map(str::to_owned);
    let paths: Vec<String> = listed.flatten().filter_map(path).collect();
    if paths.is_empty() {
        vec!["the output".to_owned()]
    } else {
        paths
    }
}
