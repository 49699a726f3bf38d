//! vitest: `Tests  1 failed | 44 passed | 2 skipped (47)`; jest:
//! `Tests:       1 failed, 45 passed, 46 total`. A file that could not be loaded fails in the line
//! of files only (`Test Files  1 failed`, `Test Suites: 1 failed`), which counts as broken. Tests
//! that are still to be written (`todo`) count as skipped. Runs add up.

use super::{TestTally, add, counted};
use eval_base::text::plural;

#[derive(Debug, Default)]
pub(super) struct Vitest {
    summary: JavascriptSummary,
    /// A failure was named, and its message stands on the next line.
    named: Option<(String, String)>,
    /// Runs that began.
    begun: usize,
}

#[derive(Debug, Default)]
pub(super) struct Jest {
    summary: JavascriptSummary,
    /// The file that failed last.
    file: String,
    named: Option<String>,
    seen: Vec<(String, String)>,
}

/// What the closing lines of either say.
#[derive(Debug, Default)]
struct JavascriptSummary {
    tally: TestTally,
    summaries: usize,
    /// Files with a failure in them or about them.
    failed_files: usize,
    /// Files that failed by themselves, by name.
    broken_files: Vec<String>,
    errors: usize,
}

impl JavascriptSummary {
    /// Counts the tests of a closing line. `false` when it is none.
    fn tests<'a>(&mut self, parts: impl Iterator<Item = &'a str>) -> bool {
        let (mut any, mut counts) = (false, [0usize; 3]);
        for part in parts {
            let Some((n, word)) = counted(part) else {
                return false;
            };
            let [passed, failed, skipped] = &mut counts;
            match word {
                "passed" => add(passed, n),
                "failed" => add(failed, n),
                "skipped" | "todo" | "pending" | "disabled" => add(skipped, n),
                "total" => {}
                _ => continue,
            }
            any = true;
        }
        if any {
            self.summaries += 1;
            add(&mut self.tally.passed, counts[0]);
            add(&mut self.tally.failed, counts[1]);
            add(&mut self.tally.skipped, counts[2]);
        }
        any
    }

    fn files<'a>(&mut self, mut parts: impl Iterator<Item = &'a str>) {
        if let Some((n, "failed")) = parts.next().and_then(counted) {
            add(&mut self.failed_files, n);
        }
    }

    fn breaks(&mut self, file: &str) {
        if self.broken_files.len() < super::super::MAX_FAILURES
            && !self.broken_files.iter().any(|f| f == file)
        {
            self.broken_files.push(file.to_owned());
        }
    }

    fn finish(self, name: &str) -> Option<TestTally> {
        let mut tally = self.tally;
        if self.summaries == 0 {
            return None;
        }
        for file in &self.broken_files {
            tally.broken.push(format!("{file} could not be run"));
        }
        if tally.broken.is_empty() && tally.failed == 0 && self.failed_files > 0 {
            tally.broken.push(format!(
                "{name} says that {} failed",
                plural(self.failed_files, "file")
            ));
        }
        if self.errors > 0 {
            tally.broken.push(format!(
                "{name} met {} outside of tests",
                plural(self.errors, "error")
            ));
        }
        tally.omitted_failures = tally.failed.saturating_sub(tally.failures.len());
        tally.note_sum(self.summaries, name);
        Some(tally)
    }
}

impl Vitest {
    pub fn hear(&mut self, line: &str) {
        if let Some((suite, name)) = self.named.take() {
            self.summary.tally.list(&suite, &name, line);
        }
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if indent == 1
            && let Some(failure) = text.strip_prefix("FAIL  ")
        {
            self.failure(failure.trim());
        } else if indent == 1 && text.starts_with("RUN  v") {
            self.begun += 1;
        } else if let Some(counts) = text.strip_prefix("Tests  ").filter(|_| indent == 6) {
            if counts.trim() == "no tests" {
                self.summary.summaries += 1;
            } else {
                self.summary.tests(parts(counts));
            }
        } else if let Some(counts) = text.strip_prefix("Test Files  ").filter(|_| indent == 1) {
            self.summary.files(parts(counts));
        } else if line.starts_with("No test files found, exiting with code ") {
            self.summary.summaries += 1;
        } else if let Some((n, "error" | "errors")) =
            text.strip_prefix("Errors  ").and_then(counted)
        {
            add(&mut self.summary.errors, n);
        }
    }

    /// `v/a.spec.js > group > fails here`; `v/c.spec.js [ v/c.spec.js ]` of a file that could not
    /// be loaded.
    fn failure(&mut self, failure: &str) {
        match failure.split_once(" > ") {
            Some((file, name)) => self.named = Some((file.to_owned(), name.to_owned())),
            None => {
                let file = failure.split(" [ ").next().unwrap_or(failure);
                self.summary.breaks(file);
            }
        }
    }

    pub fn finish(self) -> Option<TestTally> {
        let is_cut = self.begun > self.summary.summaries;
        let tally = self.summary.finish("vitest");
        if !is_cut {
            return tally;
        }
        let mut tally = tally.unwrap_or_default();
        tally
            .doubts
            .push("vitest started and reported no summary".to_owned());
        Some(tally)
    }
}

/// `1 failed | 44 passed (45)` without the sum.
fn parts(counts: &str) -> impl Iterator<Item = &str> {
    counts
        .rsplit_once(" (")
        .map_or(counts, |(counts, _)| counts)
        .split(" | ")
}

impl Jest {
    pub fn hear(&mut self, line: &str) {
        if let Some(name) = &self.named
            && !line.trim().is_empty()
        {
            let failure = (self.file.clone(), name.clone());
            // jest names the failures of many files again at its end.
            if self.seen.len() <= super::super::MAX_FAILURES && !self.seen.contains(&failure) {
                self.summary.tally.list(&failure.0, &failure.1, line);
                self.seen.push(failure);
            }
            self.named = None;
        }
        if let Some(counts) = line.strip_prefix("Tests: ") {
            if counts.trim_end().ends_with(" total") {
                self.summary.tests(counts.split(','));
            }
        } else if let Some(counts) = line.strip_prefix("Test Suites: ") {
            self.summary.files(counts.split(','));
        } else if line.starts_with("No tests found, exiting with code ") {
            self.summary.summaries += 1;
        } else if let Some(file) = line.trim_start().strip_prefix("FAIL ") {
            self.file = file.split(" (").next().unwrap_or(file).trim().to_owned();
        } else if let Some(name) = line.strip_prefix("  ● ") {
            match name.trim() {
                "Test suite failed to run" => {
                    let file = self.file.clone();
                    self.summary.breaks(&file);
                }
                "Console" => {}
                name => self.named = Some(name.to_owned()),
            }
        }
    }

    pub fn finish(self) -> Option<TestTally> {
        self.summary.finish("jest")
    }
}
