//! `eval-harness baseline capture`: outputs of a run become pending baselines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::candidates::with_baselines;
use super::inventory::broken_ids;
use super::keep::{CaptureMetadata, CaptureReport};
use super::outputs::{self, CaseAnswers, OF_ONE_CASE, RunOutputs};
use super::{id_globs, overview, refuse_in_ci};
use eval_base::nearest::did_you_mean;

use crate::baseline::BaselineStore;
use crate::baseline::capture::{CaptureContext, structural, takes_a_baseline, trial};
use crate::baseline::redact::RedactionRules;
use crate::cli::args::CaptureArgs;
use crate::cli::console::Console;
use crate::cli::{CliFailure, CliResult, run as run_verb, suite};
use crate::gate::ExitCode;
use crate::grade::{GradersConfig, RunGraders, SampleAttempt};
use crate::journal;
use crate::load::{LoadOverrides, LoadRequest, PlanPurpose};
use crate::model::{
    BaselineSettings, Case, Eval, EvalType, Fingerprint, GateSpec, Outcome, Output, OutputValue,
    Plan, Target,
};

/// One regression whose baseline is to be captured, as the suite has it now.
#[derive(Clone)]
pub(super) struct CaptureSubject {
    pub eval: Arc<Eval>,
    pub case: Arc<Case>,
}

impl CaptureSubject {
    pub fn id(&self) -> &str {
        &self.eval.info.id
    }
}

pub fn capture(console: &Console, args: &CaptureArgs) -> CliResult {
    refuse_in_ci("capture")?;
    let Some(mut captured) = captured(console, args, None)? else {
        return Ok(ExitCode::Interrupted);
    };
    let store = BaselineStore::new(captured.settings.dir.clone());
    let results = std::mem::take(&mut captured.results);
    captured
        .report(console)
        .keep(&store, &captured.subjects, results)
}

/// What came of a capture, before anything is written.
pub(super) struct CapturedOutputs {
    about: CaptureMetadata,
    source: RunOutputs,
    fresh: bool,
    pub settings: BaselineSettings,
    pub subjects: Vec<CaptureSubject>,
    /// One for each subject.
    pub results: Vec<CaptureResult>,
}

impl CapturedOutputs {
    pub fn report<'a>(&'a self, console: &'a Console) -> CaptureReport<'a> {
        CaptureReport {
            console,
            about: &self.about,
            source: &self.source,
            fresh: self.fresh,
            inline_bytes: self.settings.inline_bytes,
        }
    }
}

/// Captures the outputs of a run, of one sample (from 0) or of all; `None` when it was interrupted.
pub(super) fn captured(
    console: &Console,
    args: &CaptureArgs,
    sample: Option<u32>,
) -> Result<Option<CapturedOutputs>, CliFailure> {
    let as_run = args.as_run();
    let purpose = if args.run.is_some() {
        PlanPurpose::List
    } else {
        PlanPurpose::Run
    };
    let unreadable = if args.force {
        unreadable(console, args)?
    } else {
        BTreeMap::new()
    };
    let more = LoadOverrides {
        gateless: true,
        known_good: Arc::new(unreadable),
        ..run_verb::overrides(&as_run)
    };
    let selected = suite::load(&as_run.suite, purpose, more)?;
    let mut request = selected.request;
    // What is missing for a run is no fault of a capture from one that is over.
    request.purpose = PlanPurpose::List;
    let plan = suite::plan_or_problems(console, selected.loaded)?;
    let rules = RedactionRules::new(&plan.baselines.redact).map_err(CliFailure::wrong)?;
    let subjects = subjects(&plan, &args.evals, console)?;
    let about = CaptureMetadata::of(&plan, args.baseline_version.clone());
    let settings = plan.baselines.clone();
    let graders = looking_graders(&plan)?;
    let mut source = match &args.run {
        Some(run) => {
            let paths = journal::find_run(&plan.reporting.output_dir, run)?;
            outputs::of_run(console, &plan, &paths, OF_ONE_CASE)?
        }
        None => match outputs::by_run(
            console,
            &as_run,
            narrowed(plan, &subjects),
            selected.filters,
        )? {
            Some(source) => source,
            None => return Ok(None),
        },
    };
    if let Some(sample) = sample {
        source.keep_sample(sample);
    }
    let mut work = BaselineBuilder {
        request,
        rules,
        graders,
        keep_headers: settings.keep_headers.clone(),
        fresh: args.force,
    };
    let results = block_on(work.results(&subjects, &source))?;
    Ok(Some(CapturedOutputs {
        about,
        source,
        fresh: args.force,
        settings,
        subjects,
        results,
    }))
}

/// Waits for work that needs no other threads.
pub(in crate::cli) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, CliFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliFailure::incomplete(format!("cannot start: {error}")))?;
    Ok(runtime.block_on(work))
}

/// Who starts anew is not stopped by accepted baselines that can't be read: anything may stand in
/// their place.
fn unreadable(
    console: &Console,
    args: &CaptureArgs,
) -> Result<BTreeMap<String, OutputValue>, CliFailure> {
    let about = overview(console, &args.of)?;
    let entries = BaselineStore::new(about.baselines.dir)
        .entries()
        .map_err(super::failure)?;
    Ok(broken_ids(&entries)
        .into_iter()
        .map(|id| (id, OutputValue::Json(json!({}))))
        .collect())
}

/// The regressions that compare with a known-good output.
fn subjects(
    plan: &Plan,
    named: &[String],
    console: &Console,
) -> Result<Vec<CaptureSubject>, CliFailure> {
    let mut subjects = Vec::new();
    let ids: Vec<&str> = plan
        .evals
        .iter()
        .map(|eval| eval.info.id.as_str())
        .collect();
    if let Some(stranger) = id_globs(named)?.unmatched(&ids).first() {
        let failure = CliFailure::wrong(format!("no selected eval matches `{stranger}`"));
        return Err(match did_you_mean(stranger, ids.iter().copied()) {
            Some(id) => failure.hint(format!("did you mean {id}?")),
            None => failure.hint("`eval-harness baseline list` shows the regressions"),
        });
    }
    for eval in plan
        .evals
        .iter()
        .filter(|eval| eval.info.kind == EvalType::Regression)
    {
        let case = match eval.cases.get(0) {
            Some(case) if eval.cases.len() == 1 => case.map_err(CliFailure::wrong)?,
            _ => continue,
        };
        if takes_a_baseline(&case.grading, case.baseline.is_some()) {
            subjects.push(CaptureSubject {
                eval: Arc::clone(eval),
                case,
            });
        } else if named.contains(&eval.info.id) {
            console.warn(&format!(
                "`{}` compares with no baseline, so it is skipped",
                eval.info.id
            ));
        }
    }
    if subjects.is_empty() {
        return Err(
            CliFailure::wrong("no regression that compares with a baseline is selected")
                .hint("`eval-harness baseline list` shows the regressions of the suite"),
        );
    }
    Ok(subjects)
}

/// The plan of nothing but these; its gate decides nothing.
fn narrowed(mut plan: Plan, subjects: &[CaptureSubject]) -> Plan {
    let wanted: BTreeSet<&str> = subjects.iter().map(CaptureSubject::id).collect();
    let kept: Vec<Arc<Eval>> = plan
        .evals
        .iter()
        .filter(|eval| wanted.contains(eval.info.id.as_str()))
        .cloned()
        .collect();
    if kept.len() < plan.evals.len() && plan.whole.is_empty() {
        plan.whole = std::mem::take(&mut plan.evals);
    }
    plan.evals = kept;
    plan.gate = GateSpec::default();
    plan.composites.clear();
    plan.reporting.formats.clear();
    plan
}

/// Graders that will only look: they start nothing.
pub(in crate::cli) fn looking_graders(plan: &Plan) -> Result<RunGraders, CliFailure> {
    let helper = std::env::current_exe().map_err(|error| {
        CliFailure::incomplete(format!(
            "cannot find the executable of eval-harness: {error}"
        ))
    })?;
    Ok(RunGraders::new(GradersConfig {
        allow_unsandboxed: false,
        helper,
        workers: 1,
        grade_timeout: plan.settings.grade_timeout,
        demand: plan.settings.sandbox.clone(),
        dir: plan.suite.dir.clone(),
        readable: Vec::new(),
        agents: Vec::new(),
        models: None,
        redactor: eval_base::redact::Redactor::default(),
    }))
}

/// What came of one eval.
pub(super) enum CaptureResult {
    /// The output as a baseline, with the paths that other samples have otherwise.
    Written {
        written: Value,
        finished_at: String,
        varying: Vec<String>,
    },
    /// Why it is not captured.
    Refused { why: String, stale: bool },
}

/// From answers to baselines that their own outputs match.
struct BaselineBuilder {
    request: LoadRequest,
    rules: RedactionRules,
    graders: RunGraders,
    keep_headers: Vec<String>,
    fresh: bool,
}

/// An answer, and the others of the same case.
struct PickedAnswer {
    output: OutputValue,
    redacted: bool,
    finished_at: String,
    others: Vec<OutputValue>,
}

impl BaselineBuilder {
    async fn results(
        &mut self,
        subjects: &[CaptureSubject],
        source: &RunOutputs,
    ) -> Vec<CaptureResult> {
        let mut taken = BTreeMap::new();
        let mut refused: BTreeMap<String, (String, bool)> = BTreeMap::new();
        for subject in subjects {
            match self.take(subject, source).await {
                Ok(one) => drop(taken.insert(subject.id().to_owned(), one)),
                Err(why) => drop(refused.insert(subject.id().to_owned(), why)),
            }
        }
        let written = self.written(subjects, &taken, &mut refused);
        let known = written
            .iter()
            .map(|(id, value)| (id.clone(), OutputValue::Json(value.clone())))
            .collect();
        let mut tried = with_baselines(&self.request, &known);
        let mut results = Vec::with_capacity(subjects.len());
        for subject in subjects {
            let id = subject.id();
            let result = match (taken.remove(id), written.get(id), tried.remove(id)) {
                (Some(taken), Some(written), Some(Ok(case))) => {
                    self.tried(&case, taken, written).await
                }
                (_, _, Some(Err(why))) => Err(why),
                _ => {
                    let (why, stale) = refused
                        .remove(id)
                        .unwrap_or_else(|| ("the suite changed in the meantime".to_owned(), false));
                    results.push(CaptureResult::Refused { why, stale });
                    continue;
                }
            };
            results.push(result.unwrap_or_else(|why| CaptureResult::Refused { why, stale: false }));
        }
        results
    }

    /// What is accepted now and leaves its traces.
    fn accepted<'s>(&self, subject: &'s CaptureSubject) -> Option<&'s Value> {
        subject
            .case
            .expected
            .as_ref()
            .filter(|_| subject.case.baseline.is_some() && !self.fresh)
    }

    /// The first answer of a case, as its graders would see it.
    async fn take(
        &self,
        subject: &CaptureSubject,
        source: &RunOutputs,
    ) -> Result<PickedAnswer, (String, bool)> {
        let answers = match source.of(subject.id(), subject.id()) {
            None => {
                return Err((
                    format!("{} has no sample of this eval", source.run_id),
                    false,
                ));
            }
            Some(CaseAnswers {
                input_hash: Some(hash),
                ..
            }) if *hash != subject.case.input_hash.to_string() => {
                let why = format!(
                    "its input has changed since {}; capture it without --run",
                    source.run_id
                );
                return Err((why, true));
            }
            Some(answers) if source.is_over && asked_otherwise(&subject.case, answers) => {
                let why = format!(
                    "its request differs from {} (its execution or a variable); capture it without --run",
                    source.run_id
                );
                return Err((why, true));
            }
            Some(answers) => answers,
        };
        let mut whys = Vec::new();
        let mut all = Vec::new();
        for (_, answer) in &answers.samples {
            let seen = match answer {
                Ok(answer) => {
                    let output = Output {
                        value: answer.output.clone(),
                        ..Output::text("")
                    };
                    self.graders
                        .extracted(&subject.case, &output)
                        .await
                        .map(|output| (answer, output))
                }
                Err(why) => Err(why.clone()),
            };
            match seen {
                Ok(seen) => all.push(seen),
                Err(why) => whys.push(why),
            }
        }
        let mut all = all.into_iter();
        let Some((first, output)) = all.next() else {
            let why = whys
                .into_iter()
                .next()
                .unwrap_or_else(|| "it was not run".to_owned());
            return Err((why, false));
        };
        let others = all.map(|(_, output)| output).collect();
        Ok(PickedAnswer {
            output,
            redacted: first.redacted,
            finished_at: first.finished_at.clone(),
            others,
        })
    }

    /// The outputs as they would be written.
    fn written(
        &self,
        subjects: &[CaptureSubject],
        taken: &BTreeMap<String, PickedAnswer>,
        refused: &mut BTreeMap<String, (String, bool)>,
    ) -> BTreeMap<String, Value> {
        let raw = taken
            .iter()
            .map(|(id, taken)| (id.clone(), taken.output.clone()))
            .collect();
        let cases = with_baselines(&self.request, &raw);
        let mut written = BTreeMap::new();
        for subject in subjects {
            let id = subject.id();
            let (Some(taken), Some(case)) = (taken.get(id), cases.get(id)) else {
                continue;
            };
            let accepted = self.accepted(subject);
            let value = case.as_ref().map_err(Clone::clone).and_then(|case| {
                let capture = CaptureContext {
                    rules: &self.rules,
                    keep_headers: &self.keep_headers,
                    accepted,
                    structural: structural(&case.grading),
                };
                let output = case.expected.clone().unwrap_or_default();
                capture
                    .written(&output, taken.redacted)
                    .map_err(|error| error.to_string())
            });
            match value {
                Ok(value) => drop(written.insert(id.to_owned(), value)),
                Err(why) => drop(refused.insert(id.to_owned(), (why, false))),
            }
        }
        written
    }

    /// Compares a new baseline with the output that it is of, and with those of the other samples.
    async fn tried(
        &self,
        case: &Case,
        taken: PickedAnswer,
        written: &Value,
    ) -> Result<CaptureResult, String> {
        let mut varying = Vec::new();
        if let Some(grading) = trial(&case.grading) {
            let case = Case {
                grading,
                extract: Vec::new(),
                ..case.clone()
            };
            let grade = async |value: &OutputValue| {
                let output = Output {
                    value: value.clone(),
                    ..Output::text("")
                };
                self.graders
                    .grade(&case, &output, SampleAttempt::default(), None)
                    .await
                    .verdict
            };
            let verdict = grade(&taken.output).await;
            if verdict.outcome != Outcome::Passed {
                let why = format!(
                    "the new baseline would not match its own output: {}",
                    verdict.reason
                );
                return Err(why);
            }
            for other in &taken.others {
                let verdict = grade(other).await;
                if verdict.outcome != Outcome::Passed {
                    varying.extend(outputs::paths(&verdict));
                }
            }
        }
        varying.sort();
        varying.dedup();
        Ok(CaptureResult::Written {
            written: written.clone(),
            finished_at: taken.finished_at,
            varying,
        })
    }
}

/// Whether a case has a target of its own that is not the one of a run, or that a run did not ask.
fn asked_otherwise(case: &Case, answers: &CaseAnswers) -> bool {
    let now = case
        .target
        .as_ref()
        .filter(|target| !matches!(target, Target::Recorded { .. }));
    now.is_some_and(|target| answers.target_hash != Some(Fingerprint::of(target).to_string()))
}
