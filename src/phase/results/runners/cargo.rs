//! `cargo test`: a line `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 5 filtered out; finished in 0.00s` for
//! each binary and for the doc tests, which add up. Without one (code that does not compile) there is no summary.

use super::panics::Panics;
use super::{Tally, add, counted};

#[derive(Debug, Default)]
pub(super) struct CargoTest {
    tally: Tally,
    summaries: usize,
    /// A summary says `FAILED`.
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
        let Some((verdict, counts)) = result.split_once(". ") else { return };
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

    pub fn finish(self, panics: &Panics) -> Option<Tally> {
        let mut tally = self.tally;
        if self.summaries == 0 {
            return None;
        }
        for name in &self.names {
            tally.list("", name, panics.of(name));
        }
        tally.omitted_failures += self.more_names;
        if self.failed && tally.failed == 0 {
            tally.broken.push("a summary of cargo test says FAILED".to_owned());
        }
        Some(tally)
    }
}
