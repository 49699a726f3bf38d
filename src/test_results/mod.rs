//! Results of tests: the numbers of a source with what forbids to call them a pass, and JUnit files.
//! Phases and graders of workspaces read them.

pub mod junit;

use crate::model::limits;
use crate::model::{TestFailure, TestResults};
use eval_base::text::{one_line, plural, truncate_bytes};

/// What a source of test results says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestTally {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    pub failures: Vec<TestFailure>,
    pub omitted_failures: usize,
    /// The numbers are of packages, since nobody told those of tests.
    pub of_packages: bool,
    /// What failed though it is no test: a package that did not compile, a suite that could not be
    /// set up. In sentences.
    pub broken: Vec<String>,
    /// Why it is no pass even if nothing failed: a cut file, tests that were not run. In sentences.
    pub doubts: Vec<String>,
    /// What is to be known of the numbers. In sentences.
    pub notes: Vec<String>,
}

impl TestTally {
    pub fn total(&self) -> usize {
        self.ran().saturating_add(self.skipped)
    }

    /// Tests that ran to an end.
    pub fn ran(&self) -> usize {
        self.passed.saturating_add(self.failed)
    }

    /// True when something failed.
    pub fn is_failing(&self) -> bool {
        self.failed > 0 || !self.broken.is_empty()
    }

    /// Lists a failure; the numbers are the caller's.
    pub fn list(&mut self, suite: &str, name: &str, message: &str) {
        if self.failures.len() >= limits::TEST_FAILURES {
            self.omitted_failures += 1;
            return;
        }
        self.failures.push(TestFailure {
            suite: short(suite),
            name: short(name),
            message: short(message),
        });
    }

    /// Notes that there was more than one summary of a runner.
    pub fn note_sum(&mut self, summaries: usize, runner: &str) {
        if summaries > 1 {
            let summaries = plural(summaries, "summary");
            self.notes
                .push(format!("{summaries} of {runner} were added up"));
        }
    }

    /// Adds what another source says.
    pub fn add(&mut self, other: TestTally) {
        let numbers = [
            (&mut self.passed, other.passed),
            (&mut self.failed, other.failed),
            (&mut self.skipped, other.skipped),
            (&mut self.omitted_failures, other.omitted_failures),
        ];
        for (sum, n) in numbers {
            *sum = sum.saturating_add(n);
        }
        self.of_packages |= other.of_packages;
        for failure in other.failures {
            if self.failures.len() < limits::TEST_FAILURES {
                self.failures.push(failure);
            } else {
                self.omitted_failures = self.omitted_failures.saturating_add(1);
            }
        }
        let joined = [
            (&mut self.broken, other.broken),
            (&mut self.doubts, other.doubts),
            (&mut self.notes, other.notes),
        ];
        for (all, more) in joined {
            say_each(all, more);
        }
    }

    /// As reports show it. `files` are the ones that were read, relative to the project root,
    /// ascending.
    pub fn into_results(self, source: &str, mut files: Vec<String>) -> TestResults {
        let total = self.total();
        let mut notes = self.notes;
        if files.len() > limits::TEST_FILES {
            notes.push(format!(
                "{} were read; the first {} are listed",
                plural(files.len(), "file"),
                limits::TEST_FILES
            ));
            files.truncate(limits::TEST_FILES);
        }
        TestResults {
            total,
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
            source: source.to_owned(),
            files,
            failures: self.failures,
            omitted_failures: self.omitted_failures,
            notes,
        }
    }
}

/// Adds sentences, but no more than a reader would read.
pub fn say_each(all: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    const MOST: usize = 20;
    for sentence in more {
        if all.len() < MOST && !all.contains(&sentence) {
            all.push(sentence);
        } else if all.len() == MOST {
            all.push("and more".to_owned());
        }
    }
}

/// One line of bounded length that is safe to show.
pub fn short(text: &str) -> String {
    let line = one_line(truncate_bytes(text, 16 * limits::TEST_MESSAGE));
    match line.char_indices().nth(limits::TEST_MESSAGE) {
        None => line,
        Some(_) => line
            .chars()
            .take(limits::TEST_MESSAGE - 1)
            .chain(['…'])
            .collect(),
    }
}
