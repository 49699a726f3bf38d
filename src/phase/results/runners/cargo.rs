//! `cargo test`: a line
//! `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 5 filtered out; finished in 0.00s`
//! for each binary and for the doc tests, which add up. `running 2 tests` without one is a binary
//! that crashed. Code that does not compile has no summary, but cargo says so.

use super::panics::PanicMessages;
use super::{TestTally, add, counted};
use eval_base::text::plural;

#[derive(Debug, Default)]
pub(super) struct CargoTest {
    tally: TestTally,
    summaries: usize,
    /// Binaries that began.
    begun: usize,
    /// Cargo says that code did not compile.
    uncompiled: bool,
    /// A summary, or cargo itself, says that something failed.
    failed: bool,
    /// Below `failures:`, where names of failed tests stand.
    in_list: bool,
    names: Vec<String>,
    more_names: usize,
}

impl CargoTest {
    pub fn hear(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.in_list = false;
            self.summary(result);
        } else if is_start(line) {
            self.begun += 1;
        } else if line.starts_with("error: test failed, to rerun pass ") {
            self.failed = true;
        } else if line.starts_with("error: could not compile `") && self.begun <= self.summaries {
            // Not in a test, which may show what a compiler says.
            self.uncompiled = true;
        } else if line == "failures:" {
            self.in_list = true;
        } else if self.in_list {
            match line.strip_prefix("    ") {
                Some(name) if self.names.len() < super::super::MAX_FAILURES => {
                    self.names.push(name.to_owned())
                }
                Some(_) => self.more_names += 1,
                None => self.in_list = false,
            }
        }
    }

    fn summary(&mut self, result: &str) {
        let Some((verdict, counts)) = result.split_once(". ") else {
            return;
        };
        if !matches!(verdict, "ok" | "FAILED") || !counts.contains(" passed; ") {
            return;
        }
        self.summaries += 1;
        self.failed |= verdict == "FAILED";
        for (n, word) in counts.split(';').filter_map(counted) {
            match word {
                "passed" | "measured" => add(&mut self.tally.passed, n),
                "failed" => add(&mut self.tally.failed, n),
                "ignored" => add(&mut self.tally.skipped, n),
                _ => {}
            }
        }
    }

    pub fn is_failing(&self) -> bool {
        self.failed || self.tally.failed > 0
    }

    /// Adds what another place of the output says.
    pub fn join(&mut self, other: CargoTest) {
        self.tally.add(other.tally);
        add(&mut self.summaries, other.summaries);
        add(&mut self.begun, other.begun);
        add(&mut self.more_names, other.more_names);
        self.failed |= other.failed;
        self.names.extend(other.names);
    }

    pub fn finish(self, panics: &PanicMessages) -> Option<TestTally> {
        let mut tally = self.tally;
        if self.summaries == 0 && self.begun == 0 && !self.failed && !self.uncompiled {
            return None;
        }
        for name in &self.names {
            tally.list("", name, panics.of(name));
        }
        tally.omitted_failures += self.more_names;
        if self.failed && tally.failed == 0 {
            tally
                .broken
                .push("cargo test says that a test failed".to_owned());
        }
        if self.uncompiled {
            tally
                .broken
                .push("cargo says that code did not compile".to_owned());
        }
        if self.begun > self.summaries {
            let n = plural(self.begun - self.summaries, "binary");
            tally
                .doubts
                .push(format!("{n} of cargo test started and reported no result"));
        }
        Some(tally)
    }
}

/// `running 2 tests`.
fn is_start(line: &str) -> bool {
    let count = line.strip_prefix("running ").and_then(counted);
    matches!(count, Some((_, "test" | "tests")))
}
