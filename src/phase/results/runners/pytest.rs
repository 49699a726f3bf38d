//! pytest: `=== 3 failed, 45 passed, 1 skipped in 0.12s ===`, with `-q` the same without `=`;
//! `no tests ran in 0.00s`. Errors (of fixtures, of files that can't be imported) count as
//! failures, expected failures as skipped and unexpected passes as passed, as in pytest's own JUnit
//! files. Runs add up. With `-qq` pytest prints no summary, but names what failed.

use super::super::say_each;
use super::{TestTally, add, counted};
use eval_base::text::plural;

#[derive(Debug, Default)]
pub(super) struct Pytest {
    tally: TestTally,
    summaries: usize,
    in_names: bool,
    /// Failures that were named and that no summary has counted yet.
    named: usize,
    /// A session began and has not told its summary.
    open: bool,
    /// Such sessions before this one.
    unended: usize,
}

impl Pytest {
    pub fn hear(&mut self, line: &str) {
        if self.in_names {
            let of_subtest = || {
                line.strip_prefix("SUBFAILED")?
                    .split_once(") ")
                    .map(|(_, test)| test)
            };
            let failure = line
                .strip_prefix("FAILED ")
                .or_else(|| line.strip_prefix("ERROR "));
            if let Some(failure) = failure.or_else(of_subtest) {
                self.name(failure);
                add(&mut self.named, 1);
                return;
            }
        }
        let text = line.trim_matches(['=', ' ']);
        if text == "test session starts" && line.starts_with("==") {
            self.unended += usize::from(self.open);
            self.open = true;
        } else if text == "short test summary info" {
            self.in_names = true;
        } else if text.ends_with('s') || text.ends_with(')') {
            self.summary(text);
        }
    }

    /// `py/test_a.py::test_par[c - d] - AssertionError: ...`.
    fn name(&mut self, failure: &str) {
        let brackets_end = failure.find("] - ").map(|at| at + 1);
        let end = brackets_end
            .or_else(|| failure.find(" - "))
            .unwrap_or(failure.len());
        let (test, message) = failure.split_at(end);
        let (suite, name) = test.split_once("::").unwrap_or(("", test));
        self.tally
            .list(suite, name, message.strip_prefix(" - ").unwrap_or_default());
    }

    fn summary(&mut self, text: &str) {
        let Some((counts, time)) = text.rsplit_once(" in ") else {
            return;
        };
        // `0.12s`, `61.30s (0:01:01)`.
        let time = time.split_once(' ').map_or(time, |(seconds, _)| seconds);
        if time
            .strip_suffix('s')
            .and_then(|n| n.parse::<f64>().ok())
            .is_none()
        {
            return;
        }
        if counts == "no tests ran" {
            self.summaries += 1;
            (self.in_names, self.open) = (false, false);
            return;
        }
        let mut parts = Vec::new();
        for part in counts.split(", ") {
            let Some(part) = counted(part) else { return };
            parts.push(part);
        }
        let known = |word: &str| {
            let words = [
                "passed",
                "failed",
                "error",
                "skipped",
                "xfailed",
                "xpassed",
                "deselected",
                "warning",
            ];
            words.contains(&word.trim_end_matches('s'))
        };
        if !parts.iter().any(|(_, word)| known(word)) {
            return;
        }
        self.summaries += 1;
        (self.in_names, self.open) = (false, false);
        // A summary without failures is another run's than that in which some were named.
        let named = std::mem::take(&mut self.named);
        if !parts
            .iter()
            .any(|(n, word)| *n > 0 && (word.contains("failed") || word.contains("error")))
        {
            add(&mut self.tally.failed, named);
        }
        for (n, word) in parts {
            match word {
                "passed" | "xpassed" => add(&mut self.tally.passed, n),
                "failed" | "error" | "errors" => add(&mut self.tally.failed, n),
                "skipped" | "xfailed" => add(&mut self.tally.skipped, n),
                "rerun" => say_each(
                    &mut self.tally.notes,
                    [format!("{} run again", plural(n, "test"))],
                ),
                other if other.contains("failed") && n > 0 => {
                    say_each(
                        &mut self.tally.broken,
                        [format!("pytest says: {n} {other}")],
                    );
                }
                _ => {}
            }
        }
    }

    pub fn finish(self) -> Option<TestTally> {
        let mut tally = self.tally;
        let unended = self.unended.saturating_add(usize::from(self.open));
        add(&mut tally.failed, self.named);
        if self.named > 0 && !self.open {
            tally.notes.push(
                "pytest reported no totals; these count the tests that it named (`-qq`)".to_owned(),
            );
        }
        if self.summaries == 0 && unended == 0 && self.named == 0 {
            return None;
        }
        if unended > 0 {
            tally
                .doubts
                .push("pytest started and reported no summary".to_owned());
        }
        tally.note_sum(self.summaries, "pytest");
        Some(tally)
    }
}
