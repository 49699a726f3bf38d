//! The proof of a suite: right answers pass, null answers and cheats fail.
//!
//! Probes are answers with a known verdict. They are written as recorded outputs, one sample a
//! probe, and graded by an ordinary run in a temporary folder, so that nothing here grades. [`fold`]
//! turns the events of that run into findings; [`languages`] and [`judges`] hold the probes.

mod case;
mod excuses;
mod expected;
mod findings;
mod fold;
mod judges;
mod known;
mod languages;
mod probe;
mod references;
mod tests_read;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _};

use crate::model::{
    Case, CaseFault, CaseNames, CheckDecision, CheckFinding, CheckReport, Combine, Eval, EvalCases,
    FindingKind, FindingLevel, GateSpec, Grader, GraderType, LeftOutCases, LeftOutReason, Plan,
    ProbeTally, Target,
};
use crate::run::{
    CancelLevel, CancelSwitch, GradingTools, RunError, RunInvocation, RunObserver, RunRequest,
    prepare, run,
};
use eval_base::clock::Clock;
use eval_models::ModelSpending;
use excuses::ExcuseBook;
use fold::{CheckFold, CheckedCase, CheckedPart, counts};
use references::{Reference, References};
use write::ProbeFile;

/// The name of the file of probes in the folder of a check.
pub const PROBES: &str = "probes.jsonl";

/// Everything that a check needs from outside.
pub struct CheckRequest<'a> {
    /// The suite, whose target is not called.
    pub plan: Plan,
    /// The filters in words.
    pub filters: Vec<String>,
    /// References that take the place of those of the suite.
    pub oracle: Option<PathBuf>,
    /// Judges are called.
    pub judges: bool,
    pub require_references: bool,
    /// A folder for what the run writes, which nobody else uses.
    pub folder: PathBuf,
    /// The program that builds sandbox cells: this one.
    pub helper: PathBuf,
    pub clock: &'a dyn Clock,
    pub cancel: CancelSwitch,
    pub observers: Vec<&'a mut dyn RunObserver>,
}

/// Why a suite could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Case(#[from] CaseFault),
    #[error("cannot write the probes {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A record of the file of references.
    #[error("--oracle: {0}")]
    Oracle(String),
    #[error("the file of known faults that this program ships is broken: {0}")]
    KnownFaults(#[from] serde_json::Error),
}

/// A check that came to its end.
#[derive(Debug)]
pub struct FinishedCheck {
    /// Its `stamp` is `None`: the caller writes the stamp.
    pub report: CheckReport,
    /// What graded the probes.
    pub tools: GradingTools,
    /// Lines of the oracle that are of no case: a sentence each.
    pub warnings: Vec<String>,
}

/// Checks a suite.
///
/// # Errors
/// When a definition is wrong, a case can't be built, or nothing can be run here.
pub async fn check(request: CheckRequest<'_>) -> Result<FinishedCheck, CheckError> {
    let CheckRequest {
        plan,
        filters,
        oracle,
        judges,
        require_references,
        folder,
        helper,
        clock,
        cancel,
        mut observers,
    } = request;
    let timer = Instant::now();
    let references = References::open(&plan, oracle.as_deref(), &folder, &helper, cancel.clone())?;
    let warnings = references.warnings();
    let mut excuses = ExcuseBook::new(&plan.excuses)?;
    let chosen = ChosenCases::of(&plan, &references, &folder, judges).await;
    references.close().await;
    let mut chosen = chosen?;
    let mut part = CheckedPart::default();
    let mut tools = GradingTools::default();
    let (evals, cases) = (
        plan.evals.len(),
        plan.evals.iter().map(|eval| eval.cases.len()).sum(),
    );
    let suite = plan.suite.name.clone();
    // One budget for all runs of probes.
    let mut spent = ModelSpending::default();
    for probes in std::mem::take(&mut chosen.runs) {
        if probes.cases.is_empty() || cancel.level() > CancelLevel::Run {
            continue;
        }
        let mut fold = ProbeObserver(CheckFold::new(probes.cases));
        let mut all: Vec<&mut dyn RunObserver> = vec![&mut fold];
        all.extend(
            observers
                .iter_mut()
                .map(|one| &mut **one as &mut dyn RunObserver),
        );
        let prepared = prepare(as_probes(&plan, probes.evals, &probes.path, &folder))?;
        let models = Arc::clone(prepared.targets.models());
        models.spent_before(spent);
        let request = RunRequest {
            prepared,
            helper: helper.clone(),
            clock,
            git: None,
            said: RunInvocation::default(),
            cancel: cancel.clone(),
            observers: all,
            resume: None,
            changed: None,
        };
        tools.join(run(request).await?.tools);
        spent = models.spent();
        join(&mut part, fold.0.finish(&mut excuses));
    }
    for (eval, case, reason) in &chosen.not_made {
        part.unproved.insert((eval.clone(), case.clone()));
        part.findings.push(CheckFinding {
            probes: vec!["reference".to_owned()],
            ..finding(FindingKind::Unknown, eval, case, reason)
        });
    }
    let interrupted = part.interrupted || cancel.level() > CancelLevel::Run;
    if require_references {
        part.findings
            .extend(chosen.missing.iter().map(no_reference));
    }
    if !interrupted {
        let is_part = !plan.whole.is_empty();
        let whole = if is_part { &plan.whole } else { &plan.evals };
        part.findings.extend(excuses.unused(whole, is_part));
    }
    let proved_cases = chosen.reference_cases.saturating_sub(part.unproved.len());
    let unproved = |case: &&(String, String)| part.unproved.contains(*case);
    let unproved_expected = chosen.by_expected.iter().filter(unproved).count();
    let report = CheckReport {
        format_version: 1,
        suite,
        filters,
        oracle: oracle.map(|path| path.display().to_string()),
        decision: decide(&part, interrupted, proved_cases),
        interrupted,
        evals,
        cases,
        checked_cases: chosen.checked_cases,
        reference_cases: chosen.reference_cases,
        expected_references: chosen.by_expected.len() - unproved_expected,
        proved_cases,
        references_required: require_references,
        probes: part.tallies,
        findings: part.findings,
        without_reference: chosen.without_reference(),
        without_trajectories: chosen.without_trajectories.clone(),
        left_out: chosen.left_out(),
        reference_time: part.reference_time,
        reference_memory: part.reference_memory,
        interpreters: tools.interpreters.clone(),
        duration_seconds: timer.elapsed().as_secs_f64(),
        stamp: None,
    };
    let private = plan.evals.iter().filter(|eval| eval.info.is_private());
    let private: Vec<&str> = private.map(|eval| eval.info.id.as_str()).collect();
    let report = report.without_cases(|eval| private.contains(&eval));
    Ok(FinishedCheck {
        report,
        tools,
        warnings,
    })
}

fn no_reference((eval, case): &(String, String)) -> CheckFinding {
    finding(
        FindingKind::NoReference,
        eval,
        case,
        "there is no reference",
    )
}

fn finding(kind: FindingKind, eval: &str, case: &str, reason: &str) -> CheckFinding {
    CheckFinding {
        kind,
        level: kind.level(),
        eval: eval.to_owned(),
        case: case.to_owned(),
        probes: Vec::new(),
        reason: reason.to_owned(),
        excused: None,
    }
}

/// What all findings amount to. Without a reference that passed, nothing shows that a right answer
/// passes.
fn decide(part: &CheckedPart, interrupted: bool, proved_cases: usize) -> CheckDecision {
    let has = |level| part.findings.iter().any(|finding| counts(finding, level));
    if has(FindingLevel::Fails) {
        CheckDecision::Fails
    } else if has(FindingLevel::Unknown) || interrupted || proved_cases == 0 {
        CheckDecision::Unknown
    } else {
        CheckDecision::Holds
    }
}

/// Adds what another run of probes found. A case whose judges are called alone may be in several.
fn join(part: &mut CheckedPart, more: CheckedPart) {
    part.findings.extend(more.findings);
    part.unproved.extend(more.unproved);
    part.interrupted |= more.interrupted;
    for row in more.tallies {
        let same = |old: &&mut ProbeTally| old.kind == row.kind && old.name == row.name;
        match part.tallies.iter_mut().find(same) {
            Some(old) => {
                old.passed += row.passed;
                old.failed += row.failed;
                old.errored += row.errored;
                old.inconclusive += row.inconclusive;
            }
            None => part.tallies.push(row),
        }
    }
    part.reference_time = part.reference_time.take().or(more.reference_time);
    part.reference_memory = part.reference_memory.take().or(more.reference_memory);
}

/// The events of a run of probes.
struct ProbeObserver(CheckFold);

impl RunObserver for ProbeObserver {
    fn event(&mut self, event: &crate::model::Event) {
        self.0.push(event);
    }
}

fn recorded(path: &Path) -> Target {
    Target::Recorded {
        path: path.to_owned(),
        separate_thoughts: false,
    }
}

/// The cases of one run of probes.
struct ProbeRun {
    evals: Vec<Arc<Eval>>,
    cases: Vec<CheckedCase>,
    path: PathBuf,
}

/// What is checked, and what is not.
#[derive(Default)]
struct ChosenCases {
    runs: Vec<ProbeRun>,
    checked_cases: usize,
    reference_cases: usize,
    by_expected: Vec<(String, String)>,
    /// Checked cases without a reference, by eval and case.
    missing: Vec<(String, String)>,
    /// Those whose reference could not be made, with the reason.
    not_made: Vec<(String, String, String)>,
    /// Checked cases without their graders of trajectories.
    without_trajectories: CaseNames,
    left_out: BTreeMap<LeftOutReason, CaseNames>,
}

impl ChosenCases {
    /// Writes the probes of all cases, in their order. As many references are made at once as samples
    /// run; of cases with a judge copies are held.
    async fn of(
        plan: &Plan,
        references: &References,
        folder: &Path,
        judges: bool,
    ) -> Result<ChosenCases, CheckError> {
        let mut chosen = ChosenCases::default();
        let mut whole = ProbeFile::create(folder.join(PROBES))?;
        // One run for each place of a judge in its case: every judge is called alone.
        let mut alone: Vec<JudgeProbes> = Vec::new();
        let mut evals = Vec::new();
        for eval in &plan.evals {
            let mut kept = vec![0; eval.cases.len()];
            let has_more = has_unchecked_graders(eval);
            let mut without_more = Vec::new();
            let id = &eval.info.id;
            let cases = stream::iter(eval.cases.stream(|_| true));
            let cases = cases.map(|streamed| async move {
                let case = streamed.case?;
                let checked = without_unchecked(&case);
                let left_out = left_out_reason(&case, judges);
                let reference = match left_out {
                    Some(_) => None,
                    None => references
                        .of(id, &checked)
                        .await
                        .map_err(|error| match error {
                            CheckError::Oracle(_) if eval.info.is_private() => {
                                let why =
                                    format!("a reference of the private eval `{id}` can't be used");
                                CheckError::Oracle(why)
                            }
                            error => error,
                        })?,
                };
                Ok::<_, CheckError>((streamed.at, (case, checked), left_out, reference))
            });
            let mut cases = pin!(cases.buffered(plan.settings.max_workers.max(1)));
            while let Some(read) = cases.next().await {
                let (at, (whole_case, case), left_out, reference) = read?;
                if let Some(reason) = left_out {
                    chosen.leave_out(reason, id, &case);
                    continue;
                }
                let has_trajectories = graders_of(&whole_case).any(is_of_trajectories);
                let reference = reference.as_ref();
                let mut is_checked = false;
                if case.grading.graders.iter().any(decides_by_code) {
                    let count = whole.write(id, &case, case::probes(&case, reference), None)?;
                    is_checked = true;
                    if has_more {
                        without_more.push(Arc::new(Case {
                            samples: Some(count),
                            ..case.clone()
                        }));
                    } else if let Some(place) = kept.get_mut(at) {
                        *place = count;
                    }
                }
                for (place, judged) in with_one_judge(&case).into_iter().enumerate() {
                    let probes = case::judge_probes(reference, judged.negated);
                    if probes.probes.is_empty() {
                        continue;
                    }
                    is_checked = true;
                    while alone.len() <= place {
                        alone.push(JudgeProbes::create(folder, alone.len())?);
                    }
                    if let Some(file) = alone.get_mut(place) {
                        file.write(eval, judged, probes)?;
                    }
                }
                if is_checked {
                    chosen.count(id, &case, reference);
                    if has_trajectories {
                        chosen.without_trajectories.add(id, &case.id);
                    }
                } else {
                    chosen.leave_out(LeftOutReason::NegatedJudges, id, &case);
                }
            }
            evals.extend(with_samples(eval, &kept));
            if !without_more.is_empty() {
                evals.push(copied(eval, EvalCases::written(without_more)));
            }
            for probes in &mut alone {
                probes.end_eval(eval);
            }
        }
        let run = |evals, (path, cases)| ProbeRun { evals, cases, path };
        chosen.runs.push(run(evals, whole.finish()?));
        for probes in alone {
            chosen.runs.push(run(probes.evals, probes.file.finish()?));
        }
        Ok(chosen)
    }

    fn count(&mut self, eval: &str, case: &Case, reference: Option<&Reference>) {
        self.checked_cases += 1;
        match reference {
            Some(reference) => {
                self.reference_cases += 1;
                if let Some(why) = &reference.not_made {
                    let (eval, case) = (eval.to_owned(), case.id.clone());
                    self.not_made.push((eval, case, why.clone()));
                }
                if reference.is_expected {
                    self.by_expected.push((eval.to_owned(), case.id.clone()));
                }
            }
            None => self.missing.push((eval.to_owned(), case.id.clone())),
        }
    }

    fn leave_out(&mut self, reason: LeftOutReason, eval: &str, case: &Case) {
        self.left_out.entry(reason).or_default().add(eval, &case.id);
    }

    fn without_reference(&self) -> CaseNames {
        let mut names = CaseNames::default();
        for (eval, case) in &self.missing {
            names.add(eval, case);
        }
        names
    }

    fn left_out(self) -> Vec<LeftOutCases> {
        let all = self.left_out.into_iter();
        all.map(|(reason, cases)| LeftOutCases { reason, cases })
            .collect()
    }
}

/// Those that decide.
fn graders_of(case: &Case) -> impl Iterator<Item = &Grader> {
    let graders = case.grading.graders.iter();
    graders.filter(|grader| !grader.informative)
}

/// Why a case is not checked.
fn left_out_reason(case: &Case, judges: bool) -> Option<LeftOutReason> {
    let graders = || graders_of(case);
    let has = |of: GraderType| graders().any(|grader| grader.kind.grader_type() == of);
    if graders().next().is_none() {
        return Some(LeftOutReason::NoGrader);
    }
    if has(GraderType::Human) {
        return Some(LeftOutReason::People);
    }
    if has(GraderType::Model) && !judges {
        return Some(LeftOutReason::Judges);
    }
    if graders().all(is_of_trajectories) {
        return Some(LeftOutReason::Trajectories);
    }
    let has_no_baseline =
        |grader: &crate::model::Grader| grader.kind.method() == crate::graders::NO_BASELINE;
    graders()
        .any(has_no_baseline)
        .then_some(LeftOutReason::NoBaseline)
}

fn decides_by_code(grader: &Grader) -> bool {
    !grader.informative && grader.kind.grader_type() == GraderType::Code
}

/// A judge whose verdict decides nothing.
fn is_advising_judge(grader: &Grader) -> bool {
    grader.informative && grader.kind.judge().is_some()
}

/// No probe has a trajectory, so it can't be graded.
fn is_of_trajectories(grader: &Grader) -> bool {
    grader.kind.method() == crate::graders::TRAJECTORY
}

/// Whether cases have graders that a check leaves out.
fn has_unchecked_graders(eval: &Eval) -> bool {
    let profiles = eval.cases.profiles();
    let mut graders = profiles.iter().flat_map(|profile| &profile.graders);
    graders.any(|grader| {
        let advises = grader.informative && grader.panel.is_some();
        advises || grader.method == crate::graders::TRAJECTORY
    })
}

/// The case as its verdict needs it: what decides nothing costs nothing, and what would grade a
/// trajectory counts as passed.
fn without_unchecked(case: &Case) -> Case {
    let mut case = case.clone();
    let graders = &mut case.grading.graders;
    graders.retain(|grader| !is_advising_judge(grader));
    let decide = |graders: &[Grader]| graders.iter().filter(|grader| !grader.informative).count();
    let before = decide(graders.as_slice());
    graders.retain(|grader| !is_of_trajectories(grader));
    let left_out = before - decide(graders.as_slice());
    if let Combine::AtLeast { n } = &mut case.grading.combine {
        *n = n.saturating_sub(left_out).max(1);
    }
    case
}

/// A case with one of its judges alone.
struct JudgedCase {
    /// The judge's name.
    judge: String,
    case: Case,
    negated: bool,
}

fn with_one_judge(case: &Case) -> Vec<JudgedCase> {
    let judges = case.grading.graders.iter().filter_map(|grader| {
        let judge = grader.kind.judge()?;
        let models = judge.models.iter().map(|model| model.endpoint.name());
        let name = grader.name.clone();
        let name = name.unwrap_or_else(|| models.collect::<Vec<_>>().join(", "));
        (!grader.informative).then_some((name, grader))
    });
    judges
        .map(|(judge, grader)| {
            let mut only = case.clone();
            only.grading.graders = vec![grader.clone()];
            only.grading.combine = Combine::All;
            JudgedCase {
                judge,
                case: only,
                negated: grader.negate,
            }
        })
        .collect()
}

/// The probes of judges at one place of their cases.
struct JudgeProbes {
    file: ProbeFile,
    evals: Vec<Arc<Eval>>,
    /// Of the eval that is read.
    cases: Vec<Arc<Case>>,
}

impl JudgeProbes {
    fn create(folder: &Path, place: usize) -> Result<JudgeProbes, CheckError> {
        Ok(JudgeProbes {
            file: ProbeFile::create(folder.join(format!("judge-probes-{place}.jsonl")))?,
            evals: Vec::new(),
            cases: Vec::new(),
        })
    }

    fn write(
        &mut self,
        eval: &Eval,
        judged: JudgedCase,
        probes: case::CaseProbes,
    ) -> Result<(), CheckError> {
        let JudgedCase { judge, case, .. } = judged;
        let count = self.file.write(&eval.info.id, &case, probes, Some(judge))?;
        self.cases.push(Arc::new(Case {
            samples: Some(count),
            ..case
        }));
        Ok(())
    }

    fn end_eval(&mut self, eval: &Eval) {
        if !self.cases.is_empty() {
            let cases = std::mem::take(&mut self.cases);
            self.evals.push(copied(eval, EvalCases::written(cases)));
        }
    }
}

/// The eval with the cases that have probes.
fn with_samples(eval: &Eval, probes: &[u32]) -> Option<Arc<Eval>> {
    let mut at = 0;
    let mut cases = eval.cases.select(|_| {
        at += 1;
        probes.get(at - 1).is_some_and(|count| *count > 0)
    });
    if cases.is_empty() {
        return None;
    }
    let mut counts = probes.iter().copied().filter(|count| *count > 0);
    cases.set_samples(|_| counts.next().unwrap_or(1));
    Some(copied(eval, cases))
}

fn copied(eval: &Eval, cases: EvalCases) -> Arc<Eval> {
    Arc::new(Eval {
        info: eval.info.clone(),
        parallel: true,
        prompts: Arc::default(),
        cases,
    })
}

/// The plan that grades probes: without a gate, limits of a whole run, or reports.
fn as_probes(plan: &Plan, evals: Vec<Arc<Eval>>, path: &Path, folder: &Path) -> Plan {
    let mut probes = Plan {
        evals,
        target: Some(recorded(path)),
        target_name: "probes".to_owned(),
        dependencies: Default::default(),
        whole: Vec::new(),
        prompt: None,
        gate: GateSpec::default(),
        composites: Vec::new(),
        ..plan.clone()
    };
    probes.settings.ks = vec![1];
    probes.settings.timeout_global = None;
    probes.settings.max_fail = None;
    probes.settings.retry_failed = 0;
    probes.reporting.output_dir = folder.join("results");
    probes.reporting.formats = Vec::new();
    probes.reporting.include_details = false;
    probes
}
