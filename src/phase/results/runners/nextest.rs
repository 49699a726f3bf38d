//! cargo-nextest: `Summary [   0.108s] 5 tests run: 4 passed (1 flaky), 1 failed, 1 skipped`,
//! `3/5 tests run` when it stopped early. What ran and did not pass has failed, by whatever words
//! (failed, timed out, exec failed). Runs add up.

use super::panics::PanicMessages;
use super::{TestTally, add, counted};
use eval_base::text::plural;

#[derive(Debug, Default)]
pub(super) struct Nextest {
    tally: TestTally,
    summaries: usize,
    /// Between its first line and its summary, where tests may write what they like.
    running: bool,
    /// Runs before this one that told no summary.
    unended: usize,
    not_run: usize,
    flaky: usize,
    /// Binary and test.
    failed: Vec<(String, String)>,
}

impl Nextest {
    pub fn hear(&mut self, line: &str) {
        let text = line.trim_start();
        // What a test wrote is indented by four more.
        if line.len() - text.len() <= 5
            && let Some(rest) = text.strip_prefix("Summary [")
            && let Some((_, counts)) = rest.split_once("] ")
        {
            self.running = false;
            self.summary(counts);
        } else if line.len() - text.len() <= 5 && is_start(text) {
            self.unended += usize::from(self.running);
            self.running = true;
        } else if self.summaries > 0 && line.starts_with("  ") && text.contains("s] ") {
            self.failure(text);
        }
    }

    /// True while what looks like a summary of `cargo test` comes from a binary that nextest has
    /// called.
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// True when a summary says that something failed, now or before it was run again.
    pub fn tells_of_failures(&self) -> bool {
        self.tally.failed > 0 || self.flaky > 0
    }

    fn summary(&mut self, counts: &str) {
        let Some((run, rest)) = counts.split_once(" run: ") else {
            return;
        };
        let Some((run, _)) = run.split_once(' ') else {
            return;
        };
        let (run, all) = run.split_once('/').unwrap_or((run, run));
        let (Some((run, _)), Some((all, _))) = (
            counted(&format!("{run} run")),
            counted(&format!("{all} all")),
        ) else {
            return;
        };
        let (mut passed, mut skipped) = (0, 0);
        for part in rest.split(',') {
            let (part, aside) = part.split_once('(').unwrap_or((part, ""));
            match counted(part) {
                Some((n, "passed")) => passed = n,
                Some((n, "skipped")) => skipped = n,
                _ => {}
            }
            // `(1 slow, 1 flaky)`: the comma within has cut it, so that a word may also stand in a
            // part of its own.
            for aside in [aside, part] {
                if let Some((n, "flaky")) = counted(aside.trim_end().trim_end_matches(')')) {
                    add(&mut self.flaky, n);
                }
            }
        }
        self.summaries += 1;
        add(&mut self.tally.passed, passed);
        add(&mut self.tally.failed, run.saturating_sub(passed));
        add(&mut self.tally.skipped, skipped);
        add(&mut self.not_run, all.saturating_sub(run));
    }

    /// `TRY 2 FAIL [   0.091s] (5/5) sample tests::bad`.
    fn failure(&mut self, text: &str) {
        let Some((status, rest)) = text.split_once('[') else {
            return;
        };
        let fine = [
            "PASS", "FLAKY", "SLOW", "LEAK", "SKIP", "START", "SETUP", "TRMNTG",
        ];
        if status.len() > 30 || status.split(' ').any(|word| fine.contains(&word)) {
            return;
        }
        let Some((_, rest)) = rest.split_once("s] ") else {
            return;
        };
        let rest = match rest
            .trim_start()
            .strip_prefix('(')
            .and_then(|r| r.split_once(") "))
        {
            Some((_, rest)) => rest,
            None => rest,
        };
        let Some((binary, test)) = rest.trim().split_once(' ') else {
            return;
        };
        let failure = (binary.to_owned(), test.trim().to_owned());
        if self.failed.len() <= super::super::MAX_FAILURES && !self.failed.contains(&failure) {
            self.failed.push(failure);
        }
    }

    pub fn finish(self, panics: &PanicMessages) -> Option<TestTally> {
        let mut tally = self.tally;
        let unended = self.unended.saturating_add(usize::from(self.running));
        if self.summaries == 0 && unended == 0 {
            return None;
        }
        if unended > 0 {
            tally
                .doubts
                .push("cargo-nextest started and reported no summary".to_owned());
        }
        for (binary, test) in &self.failed {
            tally.list(binary, test, panics.of(test));
        }
        tally.omitted_failures = tally.failed.saturating_sub(tally.failures.len());
        if self.not_run > 0 {
            tally.doubts.push(format!(
                "cargo-nextest stopped before {} ran",
                plural(self.not_run, "test")
            ));
        }
        if self.flaky > 0 {
            let n = plural(self.flaky, "test");
            tally.notes.push(format!("{n} passed only when run again"));
        }
        tally.note_sum(self.summaries, "cargo-nextest");
        Some(tally)
    }
}

/// `Starting 5 tests across 1 binary (1 test skipped)`.
fn is_start(text: &str) -> bool {
    let count = text
        .strip_prefix("Starting ")
        .and_then(|rest| rest.split_once(" across "));
    let tests = count.and_then(|(tests, _)| counted(tests));
    let binaries = count.and_then(|(_, binaries)| counted(binaries));
    matches!((tests, binaries), (Some((_, "test" | "tests")), Some((_, word))) if word.starts_with("binar"))
}
