//! The outputs that are captured or accepted: of a run made for it, or of one that is over.

use std::collections::BTreeMap;

use crate::cli::args::RunArgs;
use crate::cli::console::Console;
use crate::cli::{CliFailure, run as run_verb, suite};
use crate::journal::{self, RunPaths};
use crate::model::{
    Attempt, Environment, Event, Outcome, OutputValue, Plan, SampleFinished, Verdict,
};
use crate::run::{self, RunInvocation, RunRequest};
use eval_base::clock::SystemClock;

/// The outputs of one run.
pub(in crate::cli) struct RunOutputs {
    pub run_id: String,
    /// The name of the suite that was run.
    suite: String,
    /// Over the suite's target.
    target_hash: String,
    /// It was not made for this capture.
    pub is_over: bool,
    pub environment: Environment,
    /// By eval and case.
    answers: BTreeMap<(String, String), CaseAnswers>,
}

impl RunOutputs {
    pub fn of(&self, eval: &str, case: &str) -> Option<&CaseAnswers> {
        self.answers.get(&(eval.to_owned(), case.to_owned()))
    }

    /// Leaves only one sample of each case, by its number from 0.
    pub fn keep_sample(&mut self, sample: u32) {
        for answers in self.answers.values_mut() {
            answers.samples.retain(|(number, _)| *number == sample);
        }
    }
}

/// Which cases are read.
pub(in crate::cli) type CaseChoice<'a> = &'a dyn Fn(&str, &str) -> bool;

/// Evals of one case, which has their id: what a baseline can be captured of.
pub(in crate::cli) const OF_ONE_CASE: CaseChoice<'static> = &|eval, case| eval == case;

#[derive(Default)]
pub(in crate::cli) struct CaseAnswers {
    /// What the target was given, as the journal has it.
    pub input_hash: Option<String>,
    pub grading_hash: Option<String>,
    /// Over the case's own target, as the journal has it.
    pub target_hash: Option<String>,
    /// In the order of the samples: the number of each, from 0, and its answer, or why there is
    /// none.
    pub samples: Vec<(u32, Result<CapturedAnswer, String>)>,
}

pub(in crate::cli) struct CapturedAnswer {
    pub output: OutputValue,
    pub outcome: Outcome,
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
    let finished = run_verb::drive(console, args, None, async |helper, cancel, observers| {
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
    read(&finished.paths, OF_ONE_CASE).map(Some)
}

/// The outputs of a finished run of the suite.
pub(in crate::cli) fn of_run(
    console: &Console,
    plan: &Plan,
    paths: &RunPaths,
    chosen: CaseChoice<'_>,
) -> Result<RunOutputs, CliFailure> {
    let source = read(paths, chosen)?;
    if source.suite != plan.suite.name {
        let message = format!(
            "{} belongs to suite `{}`, not `{}`",
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

fn read(paths: &RunPaths, chosen: CaseChoice<'_>) -> Result<RunOutputs, CliFailure> {
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
                for case in planned.cases {
                    if chosen(&planned.eval, &case.id) {
                        let key = (planned.eval.clone(), case.id);
                        let answers = source.answers.entry(key).or_default();
                        answers.input_hash = Some(case.input_hash);
                        answers.grading_hash = Some(case.grading_hash);
                        answers.target_hash = case.target_hash;
                    }
                }
            }
            Event::SampleSkipped(skipped) => {
                let why = format!("it was skipped ({})", skipped.cause.name());
                if let Some(answers) = source.answers.get_mut(&(skipped.eval, skipped.case)) {
                    answers.samples.push((skipped.sample, Err(why)));
                }
            }
            _ => {}
        }
    }
    // What was skipped in one session may have been finished in a later one.
    let mut finished: BTreeMap<(String, String), Vec<_>> = BTreeMap::new();
    for sample in journal::index_samples(&paths.journal(), chosen)?.iter() {
        let sample = sample?;
        let answer = (sample.sample, answer(paths, &sample));
        let key = (sample.eval, sample.case);
        finished.entry(key).or_default().push(answer);
    }
    for (case, samples) in finished {
        source.answers.entry(case).or_default().samples = samples;
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
        outcome: attempt.verdict.outcome,
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
