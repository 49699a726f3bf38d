//! Python's unittest: `Ran 12 tests in 0.003s`, then `OK (skipped=3)` or
//! `FAILED (failures=1, errors=2)`. Errors and unexpected successes count as failures, expected
//! failures as skipped. `Ran` counts skipped tests, too, but not classes that could not be set up.
//! Twisted's trial (`PASSED (successes=3)`) and Django's runner speak the same. Runs add up.

use super::{TestTally, add};

#[derive(Debug, Default)]
pub(super) struct Unittest {
    tally: TestTally,
    summaries: usize,
    /// The tests of a run whose verdict is still to come.
    ran: Option<usize>,
    named: UnittestFailure,
    /// Failures of this run that `Ran` doesn't count: of classes and modules, and further ones of
    /// subtests of one test.
    aside: usize,
    /// The test that was named last, without its subtest.
    last: String,
}

/// How much is known of a failure that is being told.
#[derive(Debug, Default)]
enum UnittestFailure {
    #[default]
    Nothing,
    /// A line of `=` was there.
    Rule,
    /// Suite and test; their message is not there yet.
    Test { suite: String, name: String },
    /// The same, below `Traceback`.
    Traceback { suite: String, name: String },
}

impl Unittest {
    pub fn hear(&mut self, line: &str) {
        self.failure(line);
        if let Some(ran) = ran(line) {
            self.ran = Some(ran);
        } else if let Some(counts) = verdict(line) {
            self.summary(counts, line.starts_with("FAILED"));
        }
    }

    /// ```text
    /// ======================================================================
    /// FAIL: test_bad (test_mixed.T.test_bad)
    /// ```
    fn failure(&mut self, line: &str) {
        self.named = match std::mem::take(&mut self.named) {
            _ if line.len() >= 70 && line.bytes().all(|byte| byte == b'=') => UnittestFailure::Rule,
            UnittestFailure::Rule => match line
                .strip_prefix("FAIL: ")
                .or_else(|| line.strip_prefix("ERROR: "))
            {
                Some(test) => {
                    let whole = test.split_inclusive(')').next().unwrap_or(test);
                    let of_class = [
                        "setUpClass",
                        "tearDownClass",
                        "setUpModule",
                        "tearDownModule",
                    ];
                    if whole == self.last || of_class.iter().any(|of| whole.starts_with(of)) {
                        self.aside += 1;
                    }
                    self.last = whole.to_owned();
                    let (name, rest) = test.split_once(" (").unwrap_or((test, ""));
                    let (suite, part) = rest.split_once(')').unwrap_or((rest, ""));
                    let suite = suite
                        .strip_suffix(name)
                        .map_or(suite, |suite| suite.trim_end_matches('.'));
                    UnittestFailure::Test {
                        suite: suite.to_owned(),
                        name: format!("{name}{part}"),
                    }
                }
                None => UnittestFailure::Nothing,
            },
            UnittestFailure::Test { suite, name } if line.starts_with("Traceback (") => {
                UnittestFailure::Traceback { suite, name }
            }
            UnittestFailure::Traceback { suite, name } if !line.starts_with(' ') => {
                self.tally.list(&suite, &name, line);
                UnittestFailure::Nothing
            }
            other => other,
        };
    }

    fn summary(&mut self, counts: UnittestCounts, failed: bool) {
        let ran = self.ran.take();
        // A passing verdict without a run is a word like any other.
        if ran.is_none() && !failed {
            return;
        }
        self.summaries += 1;
        self.named = UnittestFailure::Nothing;
        self.last.clear();
        let aside = std::mem::take(&mut self.aside).min(counts.failed);
        let other = (counts.failed - aside).saturating_add(counts.skipped);
        add(
            &mut self.tally.passed,
            ran.unwrap_or(0).saturating_sub(other),
        );
        add(&mut self.tally.failed, counts.failed);
        add(&mut self.tally.skipped, counts.skipped);
        if failed && counts.failed == 0 {
            super::super::say_each(&mut self.tally.broken, ["unittest says FAILED".to_owned()]);
        }
    }

    pub fn finish(self) -> Option<TestTally> {
        let mut tally = self.tally;
        if self.summaries == 0 {
            return None;
        }
        tally.omitted_failures = tally.failed.saturating_sub(tally.failures.len());
        tally.note_sum(self.summaries, "unittest");
        Some(tally)
    }
}

/// 12 of `Ran 12 tests in 0.003s`.
fn ran(line: &str) -> Option<usize> {
    let (tests, time) = line.strip_prefix("Ran ")?.split_once(" in ")?;
    let (ran, "test" | "tests") = super::counted(tests)? else {
        return None;
    };
    time.strip_suffix('s')?.parse::<f64>().ok()?;
    Some(ran)
}

#[derive(Debug, Default)]
struct UnittestCounts {
    failed: usize,
    skipped: usize,
}

/// What stands in the brackets of `FAILED (failures=1, errors=2, skipped=3)`; `None` of a line that
/// is no verdict.
fn verdict(line: &str) -> Option<UnittestCounts> {
    let line = line.trim_end();
    if matches!(line, "OK" | "NO TESTS RAN") {
        return Some(UnittestCounts::default());
    }
    let (word, brackets) = line.split_once(" (")?;
    if !matches!(word, "OK" | "PASSED" | "FAILED" | "NO TESTS RAN") {
        return None;
    }
    let mut counts = UnittestCounts::default();
    for part in brackets.strip_suffix(')')?.split(", ") {
        let (what, number) = part.split_once('=')?;
        let number = number.parse().ok().filter(|_| number.len() <= 12)?;
        match what {
            "failures" | "errors" | "unexpected successes" | "unexpectedSuccesses" => {
                add(&mut counts.failed, number);
            }
            "skipped" | "skips" | "expected failures" | "expectedFailures" | "todos" => {
                add(&mut counts.skipped, number);
            }
            _ => {}
        }
    }
    Some(counts)
}
