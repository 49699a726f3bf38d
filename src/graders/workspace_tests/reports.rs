//! What a run of tests reported, read from files that the runner wrote, from its stdout, or from its
//! exit code.

use std::collections::BTreeSet;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::job::{TestNonce, uses_junit_runner};
use super::{TestsFormat, WorkspaceTests, cargo, go, tap};
use crate::model::Cause;
use crate::test_results::junit::{self, JunitVerdict};
use crate::workspace::WorkspaceTestRun;
use eval_base::text::{hex, one_line, truncate_bytes};
use eval_sandbox::ProgramEnding;
use eval_workspace::{PathGlobs, WorkspacePath};

/// Bytes of an id and of a message.
const ID: usize = 4 << 10;
const MESSAGE: usize = 500;

/// The end of a test; a worse one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestStatus {
    Passed,
    Skipped,
    Failed,
    /// It is not among the results.
    Missing,
}

impl TestStatus {
    pub fn name(self) -> &'static str {
        match self {
            TestStatus::Passed => "passed",
            TestStatus::Skipped => "skipped",
            TestStatus::Failed => "failed",
            TestStatus::Missing => "missing",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportedTest {
    pub id: String,
    pub status: TestStatus,
    /// One line, empty if there is nothing to say.
    pub message: String,
}

impl ReportedTest {
    pub fn new(id: &str, status: TestStatus, message: &str) -> ReportedTest {
        ReportedTest {
            id: one_line(truncate_bytes(id, ID)),
            status,
            message: one_line(truncate_bytes(message.trim(), MESSAGE)),
        }
    }
}

/// Where results were read from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ResultsSource {
    #[default]
    Files,
    Stdout,
    ExitCode,
}

impl ResultsSource {
    pub fn name(self) -> &'static str {
        match self {
            ResultsSource::Files => "files",
            ResultsSource::Stdout => "stdout",
            ResultsSource::ExitCode => "exit_code",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReportedTests {
    pub tests: Vec<ReportedTest>,
    /// Failures of what is not a test: a file that can't be loaded, a package that does not build.
    /// With what failed, and a message.
    pub broken: Vec<(String, String)>,
    /// Why the results are not whole.
    pub doubts: Vec<(Cause, String)>,
    /// Evidence that results were forged.
    pub forged: Option<String>,
    /// A program that is not installed.
    pub missing: Option<String>,
    pub source: ResultsSource,
    /// The runner with its version, where it says so.
    pub framework: Option<String>,
}

/// A line of the launcher, or of the reporter for node.
#[derive(Debug, Deserialize)]
struct ReportLine {
    kind: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    framework: String,
    #[serde(default)]
    what: String,
}

impl ReportedTests {
    pub fn read(
        tests: &WorkspaceTests,
        nonce: &TestNonce,
        run: &WorkspaceTestRun,
    ) -> ReportedTests {
        let mut reported = match tests.results {
            TestsFormat::Pytest | TestsFormat::Unittest => {
                let mut reported = ReportedTests::lines(nonce, run);
                // Of pytest, a function and a method of unittest each.
                let kinds = if tests.results == TestsFormat::Pytest {
                    2
                } else {
                    1
                };
                reported.take_canaries(nonce, kinds);
                reported
            }
            TestsFormat::Node => ReportedTests::lines(nonce, run),
            TestsFormat::Junit if uses_junit_runner(&tests.command) => {
                let mut reported = ReportedTests::lines(nonce, run);
                reported.take_canaries(nonce, 1);
                reported
            }
            TestsFormat::Junit => junit_files(tests.results_path.as_deref(), run),
            TestsFormat::Tap => tap_results(tests.results_path.as_deref(), run),
            TestsFormat::Go => of_stdout(go::read, run),
            TestsFormat::Cargo => {
                let stderr = String::from_utf8_lossy(&run.stderr);
                of_stdout(|stdout| cargo::read(stdout, &stderr), run)
            }
            TestsFormat::ExitCode => exit_code(run),
        };
        if reported.source == ResultsSource::Stdout && run.output_truncated {
            let why = "the command wrote more than is kept, so its results are not known";
            reported.doubts.push((Cause::OutputLimit, why.to_owned()));
        }
        if reported.source == ResultsSource::Files && run.results_cut {
            let why = "the command wrote more files of results than are read, or one whose name is not UTF-8";
            reported.doubts.push((Cause::OutputLimit, why.to_owned()));
        }
        reported
    }

    /// Lines of JSON, each behind a digest over the key, its number and its text.
    fn lines(nonce: &TestNonce, run: &WorkspaceTestRun) -> ReportedTests {
        let mut reported = ReportedTests::default();
        let name = nonce.file();
        let Some((_, content)) = run.results.iter().find(|(path, _)| *path == name) else {
            let why = "the command ended before its tests reported anything";
            reported.doubts.push((Cause::Exited, why.to_owned()));
            return reported;
        };
        let mut announced = BTreeSet::new();
        let mut ended = false;
        let mut lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
        // What follows the last line break was cut off.
        let rest = lines.pop().unwrap_or_default();
        for (number, line) in lines.into_iter().enumerate() {
            let Some(line) = proven(line, number, &nonce.key) else {
                let why = "a line of the results was not written by the test runner";
                reported.forged.get_or_insert(why.to_owned());
                return reported;
            };
            match line.kind.as_str() {
                "begin" => reported.framework = Some(one_line(&line.framework)),
                "collected" => drop(announced.insert(one_line(truncate_bytes(&line.id, ID)))),
                "broken" => {
                    let test = ReportedTest::new(&line.id, TestStatus::Failed, &line.message);
                    reported.broken.push((test.id, test.message));
                }
                "missing" => reported.missing = Some(one_line(&line.what)),
                "test" => {
                    let status = match line.status.as_str() {
                        "passed" => TestStatus::Passed,
                        "skipped" => TestStatus::Skipped,
                        _ => TestStatus::Failed,
                    };
                    let test = ReportedTest::new(&line.id, status, &line.message);
                    announced.remove(&test.id);
                    reported.tests.push(test);
                }
                "end" => ended = true,
                _ => {}
            }
        }
        if !rest.is_empty() || (!ended && reported.missing.is_none()) {
            let why = "the command ended before all of its tests did";
            reported.doubts.push((Cause::Exited, why.to_owned()));
        }
        // Tests that were announced, and of which nothing more was heard.
        for id in announced {
            let test = ReportedTest::new(&id, TestStatus::Failed, "it did not end");
            reported.tests.push(test);
        }
        reported
    }

    /// Takes out the tests of the harness: of each kind, one must pass and one must fail.
    fn take_canaries(&mut self, nonce: &TestNonce, kinds: usize) {
        let (mut passing, mut failing) = (Vec::new(), Vec::new());
        let is_of = |id: &str, name: &str| id.ends_with(&format!("test_{name}"));
        self.tests.retain(|test| {
            if is_of(&test.id, &nonce.passing) {
                passing.push(test.status);
            } else if is_of(&test.id, &nonce.failing) {
                failing.push(test.status);
            } else {
                return true;
            }
            false
        });
        if passing.is_empty() && failing.is_empty() {
            if self.missing.is_none() && self.forged.is_none() && self.doubts.is_empty() {
                let why = "the tests were ended before the last one ran";
                self.doubts.push((Cause::Exited, why.to_owned()));
            }
        } else if passing != vec![TestStatus::Passed; kinds]
            || failing != vec![TestStatus::Failed; kinds]
        {
            let why = "a test of the harness that must fail did not fail, or one that must pass did not pass";
            self.forged.get_or_insert(why.to_owned());
        }
    }
}

/// What a line says, if it has the digest.
fn proven(line: &[u8], number: usize, key: &str) -> Option<ReportLine> {
    let line = std::str::from_utf8(line).ok()?;
    let (digest, text) = line.split_once(' ')?;
    let own = Sha256::digest(format!("{key}{number}{text}{key}").as_bytes());
    if hex(&own) != digest {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// The files below the folder for results that fit, by path.
fn result_files<'r>(
    glob: &str,
    run: &'r WorkspaceTestRun,
) -> impl Iterator<Item = (&'r String, &'r Vec<u8>)> {
    let globs = PathGlobs::new(&[glob]).unwrap_or_default();
    let fits = move |path: &str| {
        let path = path.parse::<WorkspacePath>();
        path.is_ok_and(|path| globs.fit(&path))
    };
    let mut files: Vec<_> = run
        .results
        .iter()
        .filter(|(path, _)| fits(path))
        .map(|(path, content)| (path, content))
        .collect();
    files.sort();
    files.into_iter()
}

fn junit_files(glob: Option<&str>, run: &WorkspaceTestRun) -> ReportedTests {
    let mut reported = ReportedTests::default();
    let glob = glob.unwrap_or("**/*.xml");
    let mut found = false;
    for (path, content) in result_files(glob, run) {
        found = true;
        let path = one_line(path);
        let tests = &mut reported.tests;
        let (tally, error) = junit::read_each(content.as_slice(), &mut |test| {
            let id = match test.suite.is_empty() {
                true => test.name,
                false => format!("{}.{}", test.suite, test.name),
            };
            let (status, message) = match test.verdict {
                JunitVerdict::Passed => (TestStatus::Passed, String::new()),
                JunitVerdict::Skipped => (TestStatus::Skipped, String::new()),
                JunitVerdict::Failed(message) => (TestStatus::Failed, message),
            };
            tests.push(ReportedTest::new(&id, status, &message));
        });
        let broken = tally.broken.into_iter();
        reported
            .broken
            .extend(broken.map(|why| (path.clone(), why)));
        let doubts = tally.doubts.into_iter().chain(error.map(|error| error.why));
        let doubts = doubts.map(|why| (Cause::Exited, format!("`{path}`: {why}")));
        reported.doubts.extend(doubts);
    }
    if !found {
        let why = format!("the command wrote no file of results that matches `{glob}`");
        reported.doubts.push((Cause::Exited, why));
    }
    reported
}

fn tap_results(glob: Option<&str>, run: &WorkspaceTestRun) -> ReportedTests {
    let Some(glob) = glob else {
        return of_stdout(tap::read, run);
    };
    let mut reported = ReportedTests::default();
    let mut found = false;
    for (_, content) in result_files(glob, run) {
        found = true;
        let file = tap::read(&String::from_utf8_lossy(content));
        reported.tests.extend(file.tests);
        reported.broken.extend(file.broken);
        reported.doubts.extend(file.doubts);
    }
    if !found {
        let why = format!("the command wrote no file of results that matches `{glob}`");
        reported.doubts.push((Cause::Exited, why));
    }
    reported
}

fn of_stdout(read: impl Fn(&str) -> ReportedTests, run: &WorkspaceTestRun) -> ReportedTests {
    ReportedTests {
        source: ResultsSource::Stdout,
        ..read(&String::from_utf8_lossy(&run.stdout))
    }
}

fn exit_code(run: &WorkspaceTestRun) -> ReportedTests {
    let (status, message) = match &run.ending {
        ProgramEnding::Exited(0) => (TestStatus::Passed, String::new()),
        other => (TestStatus::Failed, other.to_string()),
    };
    ReportedTests {
        tests: vec![ReportedTest::new("the command", status, &message)],
        source: ResultsSource::ExitCode,
        ..ReportedTests::default()
    }
}
