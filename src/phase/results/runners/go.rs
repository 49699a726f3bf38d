//! `go test`, in its three voices. With `-json` and with `-v` each test is told, and each test and
//! subtest counts, as in gotestsum. Otherwise go tells only which packages are `ok` and which tests
//! failed: then the numbers are of packages, and a note says so. A package that failed without a
//! failing test (it did not build, it crashed) is told apart from the numbers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{TestTally, add};
use eval_base::text::plural;

/// Packages and tests that are remembered by name.
const MOST: usize = 10_000;

/// How a package is called that nobody named.
const PROGRAM: &str = "(a test program)";

#[derive(Debug, Default)]
pub(super) struct GoTest {
    /// Of tests.
    tests: TestTally,
    /// Tests that began.
    begun: usize,
    packages_ok: usize,
    /// Packages that failed, with what go says of them, such as `[build failed]`.
    packages_failed: BTreeMap<String, String>,
    /// Packages of which a test failed.
    with_failed_tests: BTreeSet<String>,
    /// Packages without tests to run.
    empty: usize,
    /// A line of go's was there that nobody else writes.
    spoke: bool,
    /// A `FAIL` was there that does not name its package: it comes before the line that does, or
    /// from a test program that was built by `go test -c`.
    lone: bool,
    json: bool,
    /// A failed test whose message may stand on the next line, and how far that test is indented.
    awaiting: Option<(String, usize)>,
    /// Failed tests of the package that is not closed yet.
    open: Vec<(String, String)>,
    /// The test that speaks, with `-v`.
    current: String,
    /// What a test of `-json` or `-v` wrote first, by package (empty with `-v`) and name.
    outputs: BTreeMap<(String, String), String>,
}

/// An event of `go test -json`; fields of newer versions are of no interest.
#[derive(Deserialize)]
struct GoTestEvent {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Package", default)]
    package: String,
    #[serde(rename = "Test", default)]
    test: String,
    #[serde(rename = "Output", default)]
    output: String,
    #[serde(rename = "FailedBuild", default)]
    failed_build: String,
}

impl GoTest {
    pub fn hear(&mut self, line: &str) {
        if line.starts_with('{') && line.contains("\"Action\":") {
            if let Ok(event) = serde_json::from_str(line) {
                self.event(event);
            }
            return;
        }
        self.message(line);
        let text = line.trim_start_matches(' ');
        if let Some(result) = text.strip_prefix("--- ") {
            self.test(result, line.len() - text.len());
        } else if let Some(rest) = line.strip_prefix("=== ") {
            // `=== RUN   TestSub/bad`; CONT, PAUSE and NAME tell who speaks, too.
            self.begun += usize::from(rest.starts_with("RUN "));
            self.current = rest
                .split_once(' ')
                .map_or(String::new(), |(_, name)| name.trim().to_owned());
        } else if line.starts_with("    ") && !self.current.is_empty() {
            if self.outputs.len() < MOST {
                let key = (String::new(), self.current.clone());
                self.outputs.entry(key).or_insert_with(|| text.to_owned());
            }
        } else if let Some(rest) = line.strip_prefix("ok  \t") {
            self.spoke = true;
            self.program_failed();
            if rest.contains("[no tests to run]") {
                self.empty += 1;
            } else {
                add(&mut self.packages_ok, 1);
            }
            self.close("");
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            (self.spoke, self.lone) = (true, false);
            let (package, why) = rest.split_once(['\t', ' ']).unwrap_or((rest, ""));
            let why = if why.starts_with('[') { why } else { "" };
            self.package_failed(package, why);
            self.close(package);
        } else if line == "FAIL" && !self.open.is_empty() {
            self.lone = true;
        } else if line.starts_with("?   \t") && line.ends_with("[no test files]") {
            self.spoke = true;
            self.empty += 1;
        }
    }

    fn message(&mut self, line: &str) {
        let Some((test, indent)) = self.awaiting.take() else {
            return;
        };
        let text = line.trim_start();
        if (line.len() - text.len() > indent || text.starts_with("panic: "))
            && !text.starts_with("--- ")
            && let Some(failure) = self
                .open
                .last_mut()
                .filter(|(name, said)| *name == test && said.is_empty())
        {
            failure.1 = text.to_owned();
        }
    }

    /// `FAIL: TestSub/bad (0.00s)`.
    fn test(&mut self, result: &str, indent: usize) {
        let Some((verdict, rest)) = result.split_once(": ") else {
            return;
        };
        let Some((name, time)) = rest.rsplit_once(" (") else {
            return;
        };
        if !time.ends_with("s)") {
            return;
        }
        let said = self
            .outputs
            .remove(&(String::new(), name.to_owned()))
            .unwrap_or_default();
        match verdict {
            "PASS" => add(&mut self.tests.passed, 1),
            "SKIP" => add(&mut self.tests.skipped, 1),
            "FAIL" => {
                add(&mut self.tests.failed, 1);
                if self.open.len() < MOST {
                    self.open.push((name.to_owned(), said));
                }
                self.awaiting = Some((name.to_owned(), indent));
            }
            _ => {}
        }
    }

    /// The package of the tests that were told last is known now.
    fn close(&mut self, package: &str) {
        if !self.open.is_empty() && self.with_failed_tests.len() < MOST {
            self.with_failed_tests.insert(package.to_owned());
        }
        for (name, message) in std::mem::take(&mut self.open) {
            self.tests.list(package, &name, &message);
        }
    }

    fn package_failed(&mut self, package: &str, why: &str) {
        if self.packages_failed.len() < MOST {
            let known = self.packages_failed.entry(package.to_owned()).or_default();
            if !why.is_empty() {
                *known = why.to_owned();
            }
        }
    }

    fn event(&mut self, event: GoTestEvent) {
        let GoTestEvent {
            action,
            package,
            test,
            output,
            failed_build,
        } = event;
        if !matches!(
            action.as_str(),
            "run" | "pass" | "fail" | "skip" | "output" | "start"
        ) {
            return;
        }
        (self.spoke, self.json) = (true, true);
        let key = (package, test);
        match (action.as_str(), key.1.as_str()) {
            ("output", test) if !test.is_empty() => {
                let text = output.trim();
                let of_go = text.is_empty() || text.starts_with("=== ") || text.starts_with("--- ");
                if !of_go && self.outputs.len() < MOST {
                    self.outputs.entry(key).or_insert_with(|| text.to_owned());
                }
            }
            ("run", _) => self.begun += 1,
            ("pass", "") => add(&mut self.packages_ok, 1),
            ("skip", "") => self.empty += 1,
            ("fail", "") => {
                let why = if failed_build.is_empty() {
                    ""
                } else {
                    "[build failed]"
                };
                self.package_failed(&key.0, why);
            }
            ("pass", _) => {
                add(&mut self.tests.passed, 1);
                self.outputs.remove(&key);
            }
            ("skip", _) => {
                add(&mut self.tests.skipped, 1);
                self.outputs.remove(&key);
            }
            ("fail", _) => {
                add(&mut self.tests.failed, 1);
                let message = self.outputs.remove(&key).unwrap_or_default();
                self.tests.list(&key.0, &key.1, &message);
                if self.with_failed_tests.len() < MOST {
                    self.with_failed_tests.insert(key.0);
                }
            }
            _ => {}
        }
    }

    fn program_failed(&mut self) {
        if std::mem::take(&mut self.lone) {
            self.spoke = true;
            self.package_failed(PROGRAM, "");
            self.close(PROGRAM);
        }
    }

    pub fn finish(mut self) -> Option<TestTally> {
        self.program_failed();
        if !self.spoke {
            return None;
        }
        self.close("");
        let mut tally = self.tests;
        let told = self.json || self.begun > 0;
        for (package, why) in &self.packages_failed {
            if !self.with_failed_tests.contains(package) {
                let why = if why.is_empty() {
                    String::new()
                } else {
                    format!(" {why}")
                };
                tally
                    .broken
                    .push(format!("the package {package} failed{why}"));
            }
        }
        let over = tally
            .passed
            .saturating_add(tally.failed)
            .saturating_add(tally.skipped);
        if self.begun > over {
            let n = plural(self.begun - over, "test");
            tally
                .doubts
                .push(format!("{n} of go test began and did not end"));
        }
        if !told {
            tally.of_packages = true;
            (tally.passed, tally.failed, tally.skipped) =
                (self.packages_ok, self.packages_failed.len(), 0);
            tally.notes.push(
                "the numbers are of packages: without -v or -json, go test does not tell how many tests ran"
                    .to_owned(),
            );
        }
        let broken = std::mem::take(&mut tally.broken);
        super::super::say_each(&mut tally.broken, broken);
        Some(tally)
    }
}
