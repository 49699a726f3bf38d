//! What of an earlier run can be reused: for each sample of a plan, whether its output and grade
//! stay, whether its output is graded again, or whether it runs. A comparison of data, without side
//! effects; in doubt a sample runs.
//!
//! No decision depends on whether a sample passed: else failed samples alone would get another
//! chance.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::RunError;
use super::earlier::{EarlierCase, EarlierEval, EarlierRun, HashPrefix};
use super::environment::harness_version;
use super::prepare::PreparedRun;
use super::recordings::recordings;
use crate::journal::{RunPaths, SampleEnding, SampleIndex, index_samples};
use crate::model::{
    CaseOutline, Dependencies, Dependency, Environment, Eval, Executor, Fingerprint, GraderOutline,
    Outcome, RecordingRead, RunStarted, Target, UnseenDependencies,
};
use crate::summary::SummaryFold;

/// A run whose samples may be reused.
#[derive(Debug)]
pub struct ChangeSource {
    pub(super) paths: RunPaths,
    pub(super) index: SampleIndex,
    earlier: EarlierRun,
}

impl ChangeSource {
    pub fn read(paths: RunPaths) -> Result<ChangeSource, RunError> {
        let mut fold = SummaryFold::counting();
        Ok(ChangeSource {
            earlier: EarlierRun::read(&paths.journal(), &mut fold, |_| ())?,
            index: index_samples(&paths.journal(), |_, _| true)?,
            paths,
        })
    }

    pub fn run_id(&self) -> &str {
        &self.earlier.started.run.run_id
    }

    /// The run that called the target: a regrade has the outputs of another run.
    pub(super) fn called_in(&self) -> &str {
        let run = &self.earlier.started.run;
        run.regrade_of.as_deref().unwrap_or(&run.run_id)
    }

    pub fn suite(&self) -> &str {
        &self.earlier.started.run.suite_name
    }
}

/// What is done with a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleAction {
    /// Output and grade are those of the earlier run.
    Reuse,
    /// The output of the earlier run is graded.
    GradeAgain,
    Run,
}

/// Why, in words that follow a number of samples and a colon.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeCause {
    Unchanged,
    NewCase,
    NotFinished,
    Errored,
    Input,
    Target,
    CallSettings,
    RecordedOutputs,
    /// A file, a glob, a program or variables.
    Dependency(Arc<str>),
    ChangedDuringRun(Arc<str>),
    UnknownDependencies,
    EarlierVersion,
    Replayed,
    Redacted,
    Retried,
    Grader,
    GradedByVersion(Arc<str>),
    CommandGrader,
    ConfiguredExecutor,
    ReadableFolders,
    Surroundings,
    Pending,
    NoVerdict,
}

impl fmt::Display for ChangeCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChangeCause::Unchanged => "nothing changed",
            ChangeCause::NewCase => "the case is new",
            ChangeCause::NotFinished => "not finished",
            ChangeCause::Errored => "errored",
            ChangeCause::Input => "the input changed",
            ChangeCause::Target => "the target changed",
            ChangeCause::CallSettings => {
                "the time limit, the retries, or the use of the context in the prompt changed"
            }
            ChangeCause::RecordedOutputs => "the recorded outputs changed",
            ChangeCause::Dependency(name) => {
                return match name.strip_prefix("env ") {
                    Some(names) => write!(f, "an environment variable changed ({names})"),
                    None => write!(f, "{name} changed"),
                };
            }
            ChangeCause::ChangedDuringRun(name) => {
                return write!(f, "{name} changed during the earlier run");
            }
            ChangeCause::UnknownDependencies => {
                "what the target depends on is unknown; list its files under `depends_on`"
            }
            ChangeCause::EarlierVersion => "the run does not record what its outputs depend on",
            ChangeCause::Replayed => "the answers come from recordings",
            ChangeCause::Redacted => "a secret was redacted in the stored output",
            ChangeCause::Retried => {
                "failed grades are retried, so a change of grading can change which attempts are made"
            }
            ChangeCause::Grader => "the grader or the expectation changed",
            ChangeCause::GradedByVersion(version) => {
                return write!(f, "graded by eval-harness {version}");
            }
            ChangeCause::CommandGrader => "a command grades them, and its files are unknown",
            ChangeCause::ConfiguredExecutor => {
                "a configured executor runs them, and its files are unknown"
            }
            ChangeCause::ReadableFolders => "programs may read the folders of `sandbox.readable`",
            ChangeCause::Surroundings => "the sandbox or an interpreter changed",
            ChangeCause::Pending => "human grades are missing",
            ChangeCause::NoVerdict => "the grader gave no verdict",
        })
    }
}

/// What is done with the samples of a case that finished, as far as the case decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaseChange {
    action: SampleAction,
    cause: ChangeCause,
    /// Attempts after failed grades: a change of grading may then change outputs.
    retries: u32,
}

impl CaseChange {
    /// What is done with one sample that ended so.
    pub fn sample(&self, ending: Option<SampleEnding>) -> (SampleAction, ChangeCause) {
        use SampleAction::{GradeAgain, Reuse, Run};
        if self.action == Run {
            return (Run, self.cause.clone());
        }
        let Some(ending) = ending else {
            return (Run, ChangeCause::NotFinished);
        };
        let [target_replayed, judge_replayed] = ending.replayed;
        if target_replayed {
            return (Run, ChangeCause::Replayed);
        }
        let (action, cause) = match (self.action, ending.outcome) {
            (_, Outcome::Errored | Outcome::Skipped) if !ending.answered => {
                return (Run, ChangeCause::Errored);
            }
            (GradeAgain, _) => (GradeAgain, self.cause.clone()),
            (_, Outcome::Errored | Outcome::Skipped) => (GradeAgain, ChangeCause::NoVerdict),
            // People would be shown the redacted output.
            (_, Outcome::Pending) if ending.redacted => return (Run, ChangeCause::Redacted),
            (_, Outcome::Pending) => return (GradeAgain, ChangeCause::Pending),
            (action, _) if judge_replayed => (action.max(GradeAgain), ChangeCause::Replayed),
            (action, _) => (action, self.cause.clone()),
        };
        match action {
            GradeAgain if self.retries > 0 => (Run, ChangeCause::Retried),
            GradeAgain if ending.redacted => (Run, ChangeCause::Redacted),
            Reuse | GradeAgain | Run => (action, cause),
        }
    }
}

/// Compares cases of a plan with those of an earlier run.
pub(super) struct ChangePlanner<'a> {
    prepared: &'a PreparedRun,
    source: &'a ChangeSource,
    recordings: Vec<RecordingRead>,
    /// Sandbox and interpreters of this run; `None` where they are not known yet.
    now: Option<&'a Environment>,
    /// Of the suite's target.
    target: Option<ChangeCause>,
}

impl<'a> ChangePlanner<'a> {
    pub fn new(
        prepared: &'a PreparedRun,
        source: &'a ChangeSource,
        now: Option<&'a Environment>,
    ) -> ChangePlanner<'a> {
        let mut planner = ChangePlanner {
            prepared,
            source,
            recordings: recordings(prepared),
            now,
            target: None,
        };
        planner.target = planner.target_change();
        planner
    }

    /// What changed about the suite's target, in any session of the run.
    fn target_change(&self) -> Option<ChangeCause> {
        let plan = &self.prepared.plan;
        self.sessions().find_map(|session| {
            if !HashPrefix::of(&session.target_hash).is(HashPrefix::of(&plan.target_hash)) {
                return Some(ChangeCause::Target);
            }
            match &session.dependencies {
                None => Some(ChangeCause::EarlierVersion),
                Some(then) => changed_dependency(&then.found, &plan.dependencies.found),
            }
        })
    }

    pub fn case(&self, eval: &Eval, case: CaseOutline<'_>) -> CaseChange {
        let plan = &self.prepared.plan;
        let target = case.profile.target.as_ref().or(plan.target.as_ref());
        let retries = case.profile.call.retries;
        let retries = match target {
            Some(Target::Recorded { .. }) => 0,
            _ => retries.unwrap_or(plan.settings.retry_failed),
        };
        let known = self.source.earlier.evals.get(&eval.info.id);
        let earlier = known.and_then(|known| Some((known, known.case(case.id)?)));
        let to_run = match earlier {
            None => Some(ChangeCause::NewCase),
            Some((known, earlier)) => self.output_change(eval, case, target, (known, earlier)),
        };
        let (action, cause) = match (to_run, earlier) {
            (Some(cause), _) => (SampleAction::Run, cause),
            (None, Some((_, earlier))) => match self.grading_change(case, earlier) {
                Some(cause) => (SampleAction::GradeAgain, cause),
                None => (SampleAction::Reuse, ChangeCause::Unchanged),
            },
            (None, None) => (SampleAction::Run, ChangeCause::NewCase),
        };
        CaseChange {
            action,
            cause,
            retries,
        }
    }

    /// Why outputs of then are not those of now.
    fn output_change(
        &self,
        eval: &Eval,
        case: CaseOutline<'_>,
        target: Option<&Target>,
        (known, earlier): (&EarlierEval, &EarlierCase),
    ) -> Option<ChangeCause> {
        let is = |then: HashPrefix, now: Fingerprint| then.is(HashPrefix::of(&now.to_string()));
        if !is(earlier.input, case.input_hash) {
            return Some(ChangeCause::Input);
        }
        match (earlier.target, case.profile.target_hash) {
            (None, None) => {
                if let Some(cause) = &self.target {
                    return Some(cause.clone());
                }
            }
            (Some(then), Some(now)) if is(then, now) && !self.prompt_differs(eval, target) => {}
            _ => return Some(ChangeCause::Target),
        }
        let plan = &self.prepared.plan;
        let retry_failed = plan.settings.retry_failed;
        let same_retries = case.profile.call.retries.is_some()
            || self
                .sessions()
                .all(|session| session.retry_failed == retry_failed);
        let call = Fingerprint::of(&case.profile.call);
        if !same_retries || !is(earlier.call, call) {
            return Some(match earlier.call.is_known() {
                true => ChangeCause::CallSettings,
                false => ChangeCause::EarlierVersion,
            });
        }
        if let Some(file) = self.source.earlier.changed_files.first() {
            return Some(ChangeCause::ChangedDuringRun(file.as_str().into()));
        }
        let own = eval.info.dependencies.as_deref();
        let then = known.info.dependencies.as_deref();
        if let Some(cause) = changed_dependency(found(then), found(own)) {
            return Some(cause);
        }
        if known.dependencies_differ {
            return Some(ChangeCause::EarlierVersion);
        }
        let of_target = match case.profile.target {
            Some(_) => own,
            None => Some(&plan.dependencies),
        };
        let is_declared = own.is_some_and(|own| own.declared);
        let unseen = of_target.map_or(UnseenDependencies::Nothing, |all| all.unseen);
        if unseen == UnseenDependencies::Everything && !is_declared {
            return Some(ChangeCause::UnknownDependencies);
        }
        match target {
            Some(Target::Recorded { path, .. }) if !self.same_recording(path) => {
                Some(ChangeCause::RecordedOutputs)
            }
            Some(asked)
                if asked.endpoint().is_some_and(|endpoint| {
                    endpoint.replay.is_some() || plan.settings.models.replay.is_some()
                }) =>
            {
                Some(ChangeCause::Replayed)
            }
            Some(Target::Command(command)) if command.sandbox && self.surroundings_differ() => {
                Some(ChangeCause::Surroundings)
            }
            _ => None,
        }
    }

    /// Why grades of then are not those of now.
    fn grading_change(&self, case: CaseOutline<'_>, earlier: &EarlierCase) -> Option<ChangeCause> {
        let settings = &self.prepared.plan.settings;
        if !earlier
            .grading
            .is(HashPrefix::of(&case.grading_hash.to_string()))
        {
            return Some(ChangeCause::Grader);
        }
        let other = |session: &RunStarted| {
            let version = session.run.harness_version.as_str();
            (version != harness_version()).then(|| version.into())
        };
        if let Some(version) = self.sessions().find_map(other) {
            return Some(ChangeCause::GradedByVersion(version));
        }
        let graders = || case.profile.graders.iter();
        let is_replayed = |grader: &GraderOutline| {
            let mut models = grader.panel.iter().flat_map(|panel| &panel.models);
            grader.panel.is_some() && settings.models.replay.is_some()
                || models.any(|model| model.endpoint.replay.is_some())
        };
        if graders().any(|g| !g.only_looks && g.panel.is_none() && g.executor.is_none()) {
            return Some(ChangeCause::CommandGrader);
        }
        if graders().any(|g| matches!(g.executor, Some(Executor::Configured(_)))) {
            return Some(ChangeCause::ConfiguredExecutor);
        }
        if graders().any(is_replayed) {
            return Some(ChangeCause::Replayed);
        }
        if graders().any(|grader| grader.executor.is_some()) {
            if !settings.sandbox.readable.is_empty() {
                return Some(ChangeCause::ReadableFolders);
            }
            if self.surroundings_differ() {
                return Some(ChangeCause::Surroundings);
            }
        }
        None
    }

    /// True when a target of a case may have another prompt than then: only the hash of the suite's
    /// target says which prompt it was.
    fn prompt_differs(&self, eval: &Eval, target: Option<&Target>) -> bool {
        let plan = &self.prepared.plan;
        let has_prompts = !eval.prompts.is_empty()
            || self
                .sessions()
                .any(|session| session.run.environment.prompt.is_some());
        let is_prompted = has_prompts && !matches!(target, Some(Target::Recorded { .. }));
        is_prompted
            && self.sessions().any(|session| {
                !HashPrefix::of(&session.target_hash).is(HashPrefix::of(&plan.target_hash))
            })
    }

    fn same_recording(&self, path: &std::path::Path) -> bool {
        let root = &self.prepared.plan.suite.root;
        let path = path.strip_prefix(root).unwrap_or(path);
        let now = self.recordings.iter().find(|read| read.path == path);
        now.is_some()
            && self
                .sessions()
                .all(|session| session.recordings.iter().find(|read| read.path == path) == now)
    }

    /// True when code ran, or runs now, with another isolation or interpreter.
    fn surroundings_differ(&self) -> bool {
        let Some(now) = self.now else { return false };
        let sandbox = |environment: &Environment| {
            environment
                .sandbox
                .as_ref()
                .map(|state| (state.tier.clone(), state.enforced))
        };
        self.sessions().any(|session| {
            let then = &session.run.environment;
            let same = |(name, version)| then.interpreters.get(name) == Some(version);
            sandbox(then) != sandbox(now) || !now.interpreters.iter().all(same)
        })
    }

    fn sessions(&self) -> impl Iterator<Item = &RunStarted> {
        self.source.earlier.sessions.iter()
    }
}

fn found(dependencies: Option<&Dependencies>) -> &[Dependency] {
    dependencies.map_or(&[], |dependencies| &dependencies.found)
}

/// The first thing of which the content changed, or that only one of them has.
fn changed_dependency(then: &[Dependency], now: &[Dependency]) -> Option<ChangeCause> {
    let same = |a: &Dependency, others: &[Dependency]| {
        let is = |b: &Dependency| HashPrefix::of(&a.hash).is(HashPrefix::of(&b.hash));
        others.iter().any(|b| a.name == b.name && is(b))
    };
    let gone = then.iter().find(|dependency| !same(dependency, now));
    let changed = now
        .iter()
        .find(|dependency| !same(dependency, then))
        .or(gone);
    changed.map(|dependency| ChangeCause::Dependency(dependency.name.as_str().into()))
}

/// What a run would do with each sample, before it begins.
#[derive(Debug, Default)]
pub struct ChangeOutline {
    pub run_id: String,
    /// Samples by what is done with them and why.
    pub counts: BTreeMap<(SampleAction, ChangeCause), ChangedSamples>,
    /// By eval and case of the plan.
    cases: Vec<Vec<SamplesToDo>>,
    /// Reused outputs of commands that may read files that are not listed.
    pub unlisted_files: usize,
    /// Samples whose grade or output also needs the same sandbox and interpreters.
    pub needs_surroundings: bool,
}

/// Samples of which the same is done for the same reason.
#[derive(Debug, Default)]
pub struct ChangedSamples {
    pub samples: usize,
    /// Eval and case of the first cases that have such samples.
    pub first: Vec<(String, String)>,
    /// Number of cases that have such samples.
    pub cases: usize,
}

/// Cases that a [`ChangedSamples`] names.
const NAMED_CASES: usize = 3;

/// Samples of a case that are not reused.
#[derive(Debug, Clone, Copy, Default)]
pub struct SamplesToDo {
    pub run: u32,
    pub graded_again: u32,
}

impl ChangeOutline {
    pub fn of(prepared: &PreparedRun, source: &ChangeSource) -> ChangeOutline {
        let planner = ChangePlanner::new(prepared, source, None);
        let mut outline = ChangeOutline {
            run_id: source.run_id().to_owned(),
            ..ChangeOutline::default()
        };
        for eval in &prepared.plan.evals {
            let mut cases = Vec::with_capacity(eval.cases.len());
            for case in eval.cases.outlines() {
                let change = planner.case(eval, case);
                let mut todo = SamplesToDo::default();
                let mut counted = BTreeSet::new();
                for sample in 0..PreparedRun::samples(case) {
                    let ending = source.index.ending(&eval.info.id, case.id, sample);
                    let planned = change.sample(ending);
                    match planned.0 {
                        SampleAction::Run => todo.run += 1,
                        SampleAction::GradeAgain => todo.graded_again += 1,
                        SampleAction::Reuse => {}
                    }
                    if planned.0 != SampleAction::Run {
                        let unlisted = has_unlisted_files(prepared, eval, case);
                        outline.unlisted_files += usize::from(unlisted);
                        let mut graders = case.profile.graders.iter();
                        outline.needs_surroundings |= graders.any(|g| g.executor.is_some());
                    }
                    let is_first = counted.insert(planned.clone());
                    let of_kind = outline.counts.entry(planned).or_default();
                    of_kind.samples += 1;
                    if is_first {
                        of_kind.cases += 1;
                        if of_kind.first.len() < NAMED_CASES && !eval.info.is_private() {
                            let ids = (eval.info.id.clone(), case.id.to_owned());
                            of_kind.first.push(ids);
                        }
                    }
                }
                cases.push(todo);
            }
            outline.cases.push(cases);
        }
        outline
    }

    /// What is left to do of a case of the plan.
    pub fn case(&self, eval: usize, case: usize) -> SamplesToDo {
        let cases = self.cases.get(eval);
        cases
            .and_then(|cases| cases.get(case))
            .copied()
            .unwrap_or_default()
    }
}

/// True when the case's command may read files that neither it nor `depends_on` names.
pub(super) fn has_unlisted_files(
    prepared: &PreparedRun,
    eval: &Eval,
    case: CaseOutline<'_>,
) -> bool {
    let own = eval.info.dependencies.as_deref();
    let of_target = match case.profile.target {
        Some(_) => own,
        None => Some(&prepared.plan.dependencies),
    };
    !own.is_some_and(|own| own.declared)
        && of_target.is_some_and(|all| all.unseen == UnseenDependencies::MoreFiles)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change(action: SampleAction, retries: u32) -> CaseChange {
        let cause = match action {
            SampleAction::Reuse => ChangeCause::Unchanged,
            SampleAction::GradeAgain => ChangeCause::Grader,
            SampleAction::Run => ChangeCause::Input,
        };
        CaseChange {
            action,
            cause,
            retries,
        }
    }

    fn ending(outcome: Outcome) -> SampleEnding {
        SampleEnding {
            outcome,
            answered: outcome != Outcome::Errored,
            redacted: false,
            replayed: [false; 2],
        }
    }

    fn endings() -> impl Strategy<Value = SampleEnding> {
        let outcome = prop::sample::select(Outcome::ALL.to_vec());
        (outcome, any::<(bool, bool, [bool; 2])>()).prop_map(
            |(outcome, (answered, redacted, replayed))| SampleEnding {
                answered,
                redacted,
                replayed,
                ..ending(outcome)
            },
        )
    }

    proptest! {
        /// Otherwise failed samples alone would run again, and passed ones would stay.
        #[test]
        fn decision_is_the_same_for_passed_and_failed(
            at in 0..3usize, retries in 0..3u32, ending in endings())
        {
            use SampleAction::{GradeAgain, Reuse, Run};
            let change = change([Reuse, GradeAgain, Run][at], retries);
            let of = |outcome| change.sample(Some(SampleEnding { outcome, ..ending }));
            prop_assert_eq!(of(Outcome::Passed), of(Outcome::Failed));
        }

        #[test]
        fn decision_is_never_less_than_the_case_demands(
            at in 0..3usize, retries in 0..3u32, ending in endings())
        {
            use SampleAction::{GradeAgain, Reuse, Run};
            let action = [Reuse, GradeAgain, Run][at];
            let planned = change(action, retries).sample(Some(ending)).0;
            prop_assert!(planned >= action, "{:?}", planned);
            if planned == Reuse {
                prop_assert!(ending.outcome != Outcome::Errored && ending.replayed == [false; 2]);
            }
            if planned == GradeAgain && ending.outcome != Outcome::Pending {
                prop_assert!(retries == 0 && !ending.redacted);
            }
            prop_assert_eq!(change(action, retries).sample(None).0, Run);
        }
    }

    #[test]
    fn sample_decisions_by_case_and_outcome() {
        use Outcome::{Errored, Failed, Passed, Pending};
        use SampleAction::{GradeAgain, Reuse, Run};
        let mut lines = Vec::new();
        for action in [Reuse, GradeAgain, Run] {
            for retries in [0, 1] {
                let unjudged = SampleEnding {
                    answered: true,
                    ..ending(Errored)
                };
                let all = [
                    ending(Passed),
                    ending(Failed),
                    ending(Errored),
                    unjudged,
                    ending(Pending),
                ];
                let redacted = SampleEnding {
                    redacted: true,
                    ..ending(Pending)
                };
                let (run, _) = change(action, retries).sample(Some(redacted));
                assert_eq!(run, Run);
                let said = all.map(|ending| {
                    let (action, cause) = change(action, retries).sample(Some(ending));
                    format!("{action:?} ({cause})")
                });
                lines.push(format!(
                    "{action:?}, {retries} retries: {}",
                    said.join("; ")
                ));
            }
        }
        insta::assert_snapshot!(lines.join("\n"), @"
        Reuse, 0 retries: Reuse (nothing changed); Reuse (nothing changed); Run (errored); GradeAgain (the grader gave no verdict); GradeAgain (human grades are missing)
        Reuse, 1 retries: Reuse (nothing changed); Reuse (nothing changed); Run (errored); Run (failed grades are retried, so a change of grading can change which attempts are made); GradeAgain (human grades are missing)
        GradeAgain, 0 retries: GradeAgain (the grader or the expectation changed); GradeAgain (the grader or the expectation changed); Run (errored); GradeAgain (the grader or the expectation changed); GradeAgain (the grader or the expectation changed)
        GradeAgain, 1 retries: Run (failed grades are retried, so a change of grading can change which attempts are made); Run (failed grades are retried, so a change of grading can change which attempts are made); Run (errored); Run (failed grades are retried, so a change of grading can change which attempts are made); Run (failed grades are retried, so a change of grading can change which attempts are made)
        Run, 0 retries: Run (the input changed); Run (the input changed); Run (the input changed); Run (the input changed); Run (the input changed)
        Run, 1 retries: Run (the input changed); Run (the input changed); Run (the input changed); Run (the input changed); Run (the input changed)
        ");
    }

    #[test]
    fn dependency_that_changed_is_named() {
        let of = |entries: &[(&str, &str)]| -> Vec<Dependency> {
            let entry = |(name, hash): &(&str, &str)| Dependency {
                name: (*name).to_owned(),
                hash: Fingerprint::of(hash).to_string(),
                workspace: false,
            };
            entries.iter().map(entry).collect()
        };
        let then = of(&[("a", "1"), ("b", "1")]);
        assert_eq!(
            changed_dependency(&then, &of(&[("b", "1"), ("a", "1")])),
            None
        );
        let name = |now: &[Dependency]| changed_dependency(&then, now).unwrap().to_string();
        assert_eq!(name(&of(&[("a", "1"), ("b", "2")])), "b changed");
        assert_eq!(name(&of(&[("a", "1")])), "b changed");
        assert_eq!(
            name(&of(&[("a", "1"), ("b", "1"), ("env X", "1")])),
            "an environment variable changed (X)"
        );
        let unreadable = vec![Dependency {
            name: "a".into(),
            hash: String::new(),
            workspace: false,
        }];
        assert!(changed_dependency(&unreadable, &unreadable).is_some());
    }
}
