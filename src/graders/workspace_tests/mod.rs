//! The code grader `workspace_tests`: a command that tests the workspace that a target left. Which
//! tests passed is read from what the test runner wrote outside of the workspace (`reports`), never
//! from what the target said.
//!
//! `job` makes the command, with everything of a runner's configuration pinned that a target could
//! have changed; `restore` puts files back that steer a runner; `verdict` has the rules.

mod cargo;
mod given_files;
mod go;
mod job;
pub(super) mod put_back;
mod reports;
pub(super) mod restore;
mod selection;
mod tap;
mod verdict;
#[cfg(test)]
mod verdict_tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::code_execution::random;
use super::diff::{TEST_GLOBS, fault_grade, listed, weakened_tests};
use super::programs::{BoxedFuture, allows_in_process};
use super::settings::{CaseExpectation, incomplete};
use super::{
    CodeGrader, CodeMethod, MethodSettings, ResolvedGraders, WorkspaceBench, WorkspaceCheck,
};
use crate::load::{Code, Node, Problem, SuiteDesk, seconds};
use crate::model::{Cause, Grade, GraderType, Outcome, Trust};
use crate::spec::OneOrMany;
use crate::workspace::{FinishedWorkspace, WorkspaceFault, WorkspaceTestRun};
use eval_base::globs::id_glob;
use eval_sandbox::ProgramEnding;
use eval_workspace::{PathGlobs, WorkspacePath};

pub use given_files::{GivenFile, TestFilesSpec};
use job::{JobMaker, TestNonce};
pub(super) use job::{PYTHON_CACHE, bytecode_folder};
use reports::ReportedTests;
use restore::RestoredFiles;

const METHOD: &str = "workspace_tests";

/// What the results of tests are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsFormat {
    /// JUnit files that the command writes.
    Junit,
    /// Tests of pytest.
    Pytest,
    /// TAP, in files that the command writes, else on its stdout.
    Tap,
    /// Tests of `go test`.
    Go,
    /// Tests of `cargo test`.
    Cargo,
    /// Tests of `node --test`.
    Node,
    /// Tests of Python's unittest.
    Unittest,
    /// The exit code of the command: 0 passes.
    ExitCode,
}

impl TestsFormat {
    /// The name as it is written.
    fn name(self) -> &'static str {
        match self {
            TestsFormat::Junit => "junit",
            TestsFormat::Pytest => "pytest",
            TestsFormat::Tap => "tap",
            TestsFormat::Go => "go",
            TestsFormat::Cargo => "cargo",
            TestsFormat::Node => "node",
            TestsFormat::Unittest => "unittest",
            TestsFormat::ExitCode => "exit_code",
        }
    }
}

/// What the score of tests is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestsScore {
    /// The share of the selected tests that passed.
    Share,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceTestsSpec {
    /// Program and arguments. `{{ results }}` is a folder outside of the workspace for files of
    /// results, which the environment variable `EVAL_RESULTS_DIR` also names. `{{ junit }}` is the
    /// path of a Java program that runs the JUnit 4 classes that its arguments name.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// What the results are read from. Default: by the command, for pytest, unittest, `go test`,
    /// `cargo test`, `node --test` and `{{ junit }}`; otherwise `exit_code`.
    pub results: Option<TestsFormat>,
    /// Glob of the files of results below `{{ results }}`, for `junit` and `tap`. Default for
    /// `junit`: all `.xml` files.
    pub results_path: Option<String>,
    /// Files that are written to the workspace before the tests run, and that the target never
    /// sees: `{dir: FOLDER}` for the files of a folder, or a text or `{file: FILE}` by path.
    #[serde(default)]
    pub files: TestFilesSpec,
    /// Ids or globs of tests that must pass, and that must not pass before the target runs.
    #[serde(default)]
    pub fail_to_pass: OneOrMany<String>,
    /// Ids or globs of tests that must pass, and that must pass before the target runs, too.
    #[serde(default)]
    pub pass_to_pass: OneOrMany<String>,
    /// Whether all tests must pass, whatever is listed. Default true if no test is listed.
    pub all_pass: Option<bool>,
    /// `share`: the score is the share of the selected tests that passed. Default: 1 if the grade
    /// passes, else 0.
    pub score: Option<TestsScore>,
    /// The score from which the grade passes, in (0, 1], with `score: share`. Default 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_threshold: Option<f64>,
    /// `true` accepts that the target deleted tests of the workspace, or removed assertions or added
    /// skips in them. Protected and hidden files are restored, so they are never weakened. Default
    /// false.
    #[serde(default)]
    pub allow_weakened_tests: bool,
    /// Globs of files that the tests write themselves, such as generated code. Others of the tests'
    /// files must not change while the tests run.
    #[serde(default)]
    pub written_by_tests: OneOrMany<String>,
    /// Time limit in seconds for the command. Default 120.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub timeout_seconds: Option<f64>,
    /// Memory limit in megabytes for the command and its children together. Default: that of the
    /// workspace.
    #[schemars(range(min = 16, max = 1048576))]
    pub memory_mb: Option<u64>,
    /// Environment variables of the command, added to those of the workspace.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Tests of the workspace pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceTests {
    pub command: Vec<String>,
    pub results: TestsFormat,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results_path: Option<String>,
    /// Laid on the workspace for the tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<GivenFile>,
    pub fail_to_pass: Vec<String>,
    pub pass_to_pass: Vec<String>,
    /// Whether tests that are not listed must pass, too.
    pub all_pass: bool,
    /// The share that passes, where the score is a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_share: Option<f64>,
    pub allow_weakened_tests: bool,
    /// Globs of files that may change while the tests run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written_by_tests: Vec<String>,
    pub timeout: Duration,
    pub memory_mb: u64,
    pub env: BTreeMap<String, String>,
    /// Where the command runs, relative to the workspace; empty: there.
    pub cwd: String,
}

impl MethodSettings for WorkspaceTestsSpec {
    const OWN_KEYS: &'static [&'static str] =
        &["fail_to_pass", "pass_to_pass", "results", "results_path"];

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        case.require_workspace(desk, METHOD, node.span)?;
        let results = self.format(desk, node)?;
        self.check_selection(desk, node, results)?;
        let pass_share = self.pass_share(desk, node)?;
        if !allows_in_process(desk, node.span, "a grader `workspace_tests`") {
            return None;
        }
        if let Some(name) = self
            .env
            .keys()
            .find(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            let at = node.locate("/env");
            let message = format!("`{name}` is not the name of an environment variable");
            return desk.refuse(Problem::error(Code::BadFormat, at, message));
        }
        for (place, glob) in self.written_by_tests.0.iter().enumerate() {
            if let Err(why) = PathGlobs::new(&[glob]) {
                let at = node.locate(&format!("/written_by_tests/{place}"));
                let message = format!("`{glob}` is not a glob: {why}");
                return desk.refuse(Problem::error(Code::BadFormat, at, message));
            }
        }
        let files = self.files.read(desk, node)?;
        let listed = !self.fail_to_pass.0.is_empty() || !self.pass_to_pass.0.is_empty();
        Some(vec![CodeGrader::WorkspaceTests(WorkspaceTests {
            command: self.command.clone(),
            results,
            results_path: self.results_path.clone(),
            files,
            fail_to_pass: self.fail_to_pass.0.clone(),
            pass_to_pass: self.pass_to_pass.0.clone(),
            all_pass: self.all_pass.unwrap_or(!listed),
            pass_share,
            allow_weakened_tests: self.allow_weakened_tests,
            written_by_tests: self.written_by_tests.0.clone(),
            timeout: seconds(self.timeout_seconds.unwrap_or(120.0)),
            memory_mb: self.memory_mb.unwrap_or_else(|| {
                let limits = case.workspace.map(|workspace| workspace.limits);
                limits.unwrap_or_default().memory_mb
            }),
            env: self.env.clone(),
            cwd: case.workspace.map(|w| w.cwd.clone()).unwrap_or_default(),
        })])
    }
}

impl WorkspaceTestsSpec {
    /// The format as written, or by the command.
    fn format(&self, desk: &mut SuiteDesk, node: &Node) -> Option<TestsFormat> {
        let at = node.locate("/command");
        let is_broken = |argv: &[String]| {
            argv.first().is_none_or(|program| program.trim().is_empty())
                || argv.iter().any(|part| part.contains('\0'))
        };
        if is_broken(&self.command) {
            let message = "the command has no program, or contains a NUL character";
            return desk.refuse(Problem::error(Code::BadCommand, at, message));
        }
        let known = job::runner_of(&self.command);
        let with_runner = job::uses_junit_runner(&self.command);
        let known = known.or(with_runner.then_some(TestsFormat::Junit));
        let format = self.results.or(known).unwrap_or(TestsFormat::ExitCode);
        if with_runner && format != TestsFormat::Junit {
            let message = "`{{ junit }}` is the runner of `results: junit`";
            return desk.refuse(Problem::error(Code::GraderConflict, at, message));
        }
        let needs_runner = matches!(
            format,
            TestsFormat::Pytest
                | TestsFormat::Unittest
                | TestsFormat::Go
                | TestsFormat::Cargo
                | TestsFormat::Node
        );
        if needs_runner && known != Some(format) {
            let message = format!(
                "`results: {}` needs a command that starts this runner itself",
                format.name()
            );
            let problem = Problem::error(Code::GraderConflict, node.key_span("/results"), message);
            return desk.refuse(problem.hint(
                "have the command write a JUnit file below `{{ results }}`, and set `results: junit`",
            ));
        }
        let takes_files = matches!(format, TestsFormat::Junit | TestsFormat::Tap) && !with_runner;
        if let Some(glob) = &self.results_path {
            let at = node.key_span("/results_path");
            if !takes_files {
                let message = match with_runner {
                    true => "`results_path` has no effect with `{{ junit }}`",
                    false => "`results_path` applies only to `results: junit` and `results: tap`",
                };
                return desk.refuse(Problem::error(Code::GraderConflict, at, message));
            }
            if glob.starts_with('/') || glob.contains("..") || PathGlobs::new(&[glob]).is_err() {
                let message = "`results_path` must be a glob of files below `{{ results }}`";
                return desk.refuse(Problem::error(Code::BadFormat, at, message));
            }
        }
        Some(format)
    }

    fn check_selection(
        &self,
        desk: &mut SuiteDesk,
        node: &Node,
        format: TestsFormat,
    ) -> Option<()> {
        let lists = [
            ("fail_to_pass", &self.fail_to_pass.0),
            ("pass_to_pass", &self.pass_to_pass.0),
        ];
        for (key, list) in lists {
            if format == TestsFormat::ExitCode && !list.is_empty() {
                let message = format!(
                    "`{key}` needs results of single tests, but the exit code is all there is"
                );
                let problem = Problem::error(
                    Code::GraderConflict,
                    node.key_span(&format!("/{key}")),
                    message,
                );
                return desk.refuse(problem.hint("set `results:`"));
            }
            for (place, pattern) in list.iter().enumerate() {
                let at = node.locate(&format!("/{key}/{place}"));
                if pattern.trim().is_empty() {
                    return desk.refuse(incomplete(
                        at,
                        "the id of a test is empty",
                        "write an id or a glob",
                    ));
                }
                if selection::is_pattern(pattern)
                    && let Err(why) = id_glob(&selection::plain_brackets(pattern))
                {
                    let message = format!("`{pattern}` is not a glob: {why}");
                    return desk.refuse(Problem::error(Code::BadFormat, at, message));
                }
            }
        }
        let both = |id: &&String| self.pass_to_pass.0.contains(id);
        if let Some(id) = self.fail_to_pass.0.iter().find(both) {
            let at = node.key_span("/pass_to_pass");
            let message = format!("`{id}` is in `fail_to_pass` and in `pass_to_pass`");
            return desk.refuse(Problem::error(Code::GraderConflict, at, message));
        }
        let is_listed = lists.iter().any(|(_, list)| !list.is_empty());
        if self.all_pass == Some(false) && !is_listed && self.score.is_none() {
            let at = node.key_span("/all_pass");
            return desk.refuse(incomplete(
                at,
                "no test has to pass",
                "list tests in `fail_to_pass` or `pass_to_pass`, or set `score: share` with a `pass_threshold`",
            ));
        }
        Some(())
    }

    fn pass_share(&self, desk: &mut SuiteDesk, node: &Node) -> Option<Option<f64>> {
        let at = node.key_span("/pass_threshold");
        match (self.score, self.pass_threshold) {
            (None, None) => Some(None),
            (None, Some(_)) => desk.refuse(incomplete(
                at,
                "`pass_threshold` is used only by `score: share`",
                "add `score: share`",
            )),
            (Some(TestsScore::Share), Some(share)) if share <= 0.0 => desk.refuse(Problem::error(
                Code::OutOfRange,
                at,
                "`pass_threshold: 0` passes every workspace",
            )),
            (Some(TestsScore::Share), share) => Some(Some(share.unwrap_or(1.0))),
        }
    }
}

impl CodeMethod for WorkspaceTests {
    fn workspace_check(&self) -> Option<&dyn WorkspaceCheck> {
        Some(self)
    }
}

impl WorkspaceCheck for WorkspaceTests {
    fn grade<'g>(&'g self, bench: &'g WorkspaceBench<'g>) -> BoxedFuture<'g, Grade> {
        Box::pin(async move {
            let graded = self.graded(bench.workspace).await;
            graded.unwrap_or_else(|fault| fault_grade(METHOD, fault))
        })
    }
}

/// What a test command showed where no target has been.
struct TestedTemplate {
    ending: ProgramEnding,
    rewritten: Vec<WorkspacePath>,
    reported: ReportedTests,
}

/// What became of tests over what a target left.
enum TestsJudged {
    Ran(Box<Grade>, WorkspaceTestRun),
    DidNotRun(Box<Grade>),
}

impl WorkspaceTests {
    async fn graded(&self, workspace: &FinishedWorkspace) -> Result<Grade, WorkspaceFault> {
        if let Some(grade) = self.grade_without_tests(workspace).await? {
            return Ok(grade.with_trust(Trust::InProcess));
        }
        let maker = JobMaker::new(self, workspace).await?;
        let before = if self.results != TestsFormat::ExitCode {
            let before = self.tested_before(&maker, workspace).await?;
            if let Some(broken) = verdict::broken_task(self, &before.reported, &before.ending) {
                return Ok(broken);
            }
            Some(before)
        } else {
            None
        };
        let restored = RestoredFiles::of(self, workspace).await?;
        let (mut grade, run) = match self
            .judged(&maker, workspace, &restored, before.as_deref())
            .await?
        {
            TestsJudged::Ran(grade, run) => (*grade, run),
            TestsJudged::DidNotRun(grade) => return Ok(*grade),
        };
        if grade.outcome == Outcome::Passed
            && let Some(why) = self
                .needs_its_own_tests(&maker, workspace, &restored, before.as_deref())
                .await?
        {
            // Of no cause that `negate` turns into a pass, and no accusation.
            let failed = Grade::failed(GraderType::Code, METHOD, Cause::Exited, why);
            grade = Grade {
                details: grade.details,
                ..failed
            };
        }
        if grade.outcome == Outcome::Passed
            && let Some(why) = self.needs_no_target(&maker, workspace, &restored).await?
        {
            grade = Grade {
                details: grade.details,
                ..Grade::failed(GraderType::Code, METHOD, Cause::Forged, why)
            };
            grade = grade.with_trust(Trust::InProcess);
        }
        Ok(maker.explain(restored.explain(grade), &restored, &run))
    }

    /// Runs the tests over what the target left.
    async fn judged(
        &self,
        maker: &JobMaker<'_>,
        workspace: &FinishedWorkspace,
        restored: &RestoredFiles,
        before: Option<&TestedTemplate>,
    ) -> Result<TestsJudged, WorkspaceFault> {
        let did_not_run = |grade| Ok(TestsJudged::DidNotRun(Box::new(grade)));
        let nonce = TestNonce::new([random(), random(), random(), random()]);
        let job = maker.job(&nonce, restored);
        let run = match workspace.test(job).await {
            Err(fault) if fault.cause == Cause::ExecutorMissing => {
                return did_not_run(self.missing_program(workspace, fault).await?);
            }
            run => run?,
        };
        let reported = ReportedTests::read(self, &nonce, &run);
        if let Some(what) = &reported.missing {
            // What the candidate could claim only counts where no candidate was.
            let is_missing = match before {
                Some(before) => before.reported.missing.is_some(),
                None => {
                    let untouched = self.tested_before(maker, workspace).await?;
                    untouched.reported.missing.is_some()
                }
            };
            if is_missing {
                let why = format!("`{what}` is not installed where the tests run");
                let cause = Cause::ExecutorMissing;
                return did_not_run(Grade::errored(GraderType::Code, METHOD, cause, why));
            }
            let why =
                format!("`{what}` could not be loaded, but can be without the target's changes");
            let grade = Grade::failed(GraderType::Code, METHOD, Cause::Forged, why);
            return did_not_run(grade.with_trust(Trust::InProcess));
        }
        let rewritten = self.rewritten(maker, workspace, &run, before).await?;
        let mut grade = verdict::grade(self, &reported, &run, before.map(|b| &b.reported));
        if !rewritten.is_empty() && grade.outcome != Outcome::Errored {
            let why = format!(
                "files of the tests were opened for writing, replaced or deleted while the tests ran: {}; if the tests \
                 write them, list them under `written_by_tests`",
                listed(&rewritten)
            );
            grade = Grade {
                details: grade.details,
                ..Grade::failed(GraderType::Code, METHOD, Cause::Forged, why)
            };
            grade = grade.with_trust(Trust::InProcess);
        }
        Ok(TestsJudged::Ran(Box::new(grade), run))
    }

    /// Why tests that pass show nothing: without what the target changed and added among them, those
    /// that were there do not. They share a process, and a test can replace what others test.
    async fn needs_its_own_tests(
        &self,
        maker: &JobMaker<'_>,
        workspace: &FinishedWorkspace,
        restored: &RestoredFiles,
        before: Option<&TestedTemplate>,
    ) -> Result<Option<String>, WorkspaceFault> {
        if self.allow_weakened_tests {
            return Ok(None);
        }
        let own = restore::tests_of_target(self, workspace, restored);
        if own.is_empty() {
            return Ok(None);
        }
        let known = before.map(|before| &before.reported);
        let Some(narrowed) = verdict::without_new_tests(self, known) else {
            return Ok(None);
        };
        let restored = restored.and_put_back(&own);
        let judged = narrowed.judged(maker, workspace, &restored, before);
        let (TestsJudged::Ran(grade, _) | TestsJudged::DidNotRun(grade)) = judged.await?;
        let own: Vec<String> = own.iter().map(WorkspacePath::to_string).collect();
        Ok((grade.outcome != Outcome::Passed).then(|| {
            format!(
                "the tests pass only with what the target changed in {} (with these files as they were: {}); if the task \
                 is to change these tests, set `allow_weakened_tests: true` in the grader",
                listed(&own),
                grade.reason
            )
        }))
    }

    /// Why an exit code says nothing: the script that was put back also passes where no target has
    /// been, so what the target wrote in its place was not looked at.
    async fn needs_no_target(
        &self,
        maker: &JobMaker<'_>,
        workspace: &FinishedWorkspace,
        restored: &RestoredFiles,
    ) -> Result<Option<String>, WorkspaceFault> {
        let Some(script) = &restored.paths.script else {
            return Ok(None);
        };
        if self.results != TestsFormat::ExitCode {
            return Ok(None);
        }
        let before = self.tested_before(maker, workspace).await?;
        let passes = before.ending == ProgramEnding::Exited(0);
        Ok(passes.then(|| {
            format!(
                "the target changed `{script}`, which the command runs and which passes without the target's changes"
            )
        }))
    }

    /// Files of tests that the tests, or what they ran, changed, apart from those that they also
    /// change where no target has been, and from those that the author excepts.
    async fn rewritten(
        &self,
        maker: &JobMaker<'_>,
        workspace: &FinishedWorkspace,
        run: &WorkspaceTestRun,
        before: Option<&TestedTemplate>,
    ) -> Result<Vec<String>, WorkspaceFault> {
        if run.rewritten.is_empty() {
            return Ok(Vec::new());
        }
        let without_target = match before {
            Some(before) => before.rewritten.clone(),
            None => self
                .tested_before(maker, workspace)
                .await?
                .rewritten
                .clone(),
        };
        let written = PathGlobs::new(&self.written_by_tests).unwrap_or_default();
        let is_other = |path: &&WorkspacePath| !without_target.contains(path) && !written.fit(path);
        let others = run.rewritten.iter().filter(is_other);
        Ok(others.map(WorkspacePath::to_string).collect())
    }

    /// The grade of a workspace whose tests need not run.
    async fn grade_without_tests(
        &self,
        workspace: &FinishedWorkspace,
    ) -> Result<Option<Grade>, WorkspaceFault> {
        let changes = workspace.changes();
        if changes.truncated {
            let why = "more files changed than are listed, so the files that tests depend on can't be checked";
            let grade = Grade::failed(GraderType::Code, METHOD, Cause::OutputLimit, why);
            return Ok(Some(grade));
        }
        if let Some(path) = restore::changed_interpreter(self, workspace) {
            let why = format!(
                "the tests did not run: the target changed `{path}` in the virtual environment that runs them; protect \
                 the environment, or run the tests with an interpreter outside of the workspace"
            );
            // Of no cause that `negate` turns into a pass, and no accusation: it may be an installed
            // package.
            let grade = Grade::failed(GraderType::Code, METHOD, Cause::Exited, why);
            return Ok(Some(grade));
        }
        if self.allow_weakened_tests {
            return Ok(None);
        }
        if let Some(why) = restore::steered(self, workspace).await? {
            let grade = Grade::failed(GraderType::Code, METHOD, Cause::Forged, why);
            return Ok(Some(grade));
        }
        let mut restored = workspace.protected_edits().to_vec();
        restored.extend(self.files.iter().filter_map(|file| file.path.parse().ok()));
        let tests = TEST_GLOBS.map(str::to_owned);
        let weakened = weakened_tests(&tests, workspace, &restored).await?;
        if weakened.is_empty() {
            return Ok(None);
        }
        let why = format!("the target weakened tests: {}", listed(&weakened));
        let grade = Grade::failed(GraderType::Code, METHOD, Cause::Forged, why);
        Ok(Some(grade.with_detail("weakened_tests", weakened)))
    }

    async fn tested_before(
        &self,
        maker: &JobMaker<'_>,
        workspace: &FinishedWorkspace,
    ) -> Result<Arc<TestedTemplate>, WorkspaceFault> {
        // The same job for all samples, so that it runs once. Nothing of a target is there.
        let nonce = TestNonce::new([0; 4]);
        let job = maker.job(&nonce, &RestoredFiles::default());
        let reading = (self.results, &self.results_path);
        let read = |run: WorkspaceTestRun| TestedTemplate {
            reported: ReportedTests::read(self, &nonce, &run),
            ending: run.ending,
            rewritten: run.rewritten,
        };
        workspace.test_before(job, reading, read).await
    }

    /// A program of the workspace that the target changed or deleted is its failure; any other is
    /// missing here.
    async fn missing_program(
        &self,
        workspace: &FinishedWorkspace,
        fault: WorkspaceFault,
    ) -> Result<Grade, WorkspaceFault> {
        let program = self.command.first().map_or("", String::as_str);
        if restore::is_changed_program(&self.cwd, program, workspace).await? {
            let why =
                format!("`{program}`, which runs the tests, can no longer be started: {fault}");
            let grade = Grade::failed(GraderType::Code, METHOD, Cause::NoCode, why);
            return Ok(grade.with_trust(Trust::InProcess));
        }
        Err(fault)
    }
}
