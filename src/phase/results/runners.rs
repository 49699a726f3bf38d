//! The summaries that test runners print, recognised by their own words in any output.
//!
//! A summary is a claim by whoever wrote to the output, so it can take a pass away and never give
//! one: a step passes by its exit code, too. All summaries of one runner in one output add up,
//! whatever the runner: `cargo test` prints one for each binary, and a script that calls a runner
//! twice means both. A second try after a failure therefore stays a failure. A runner that began
//! and told no end (it crashed, and a pipe took its exit code away) is no pass.

mod cargo;
mod go;
mod javascript;
mod nextest;
mod panics;
mod pytest;
mod unittest;

use super::TestTally;
use super::lines::LineAssembler;

/// Reads output as it comes and remembers what runners said in it, in bounded memory.
#[derive(Debug, Default)]
pub struct SummaryReader {
    lines: LineAssembler,
    runners: RunnerSet,
}

#[derive(Debug, Default)]
struct RunnerSet {
    panics: panics::PanicMessages,
    nextest: nextest::Nextest,
    cargo: cargo::CargoTest,
    /// What stands within a run of nextest, which calls the same binaries.
    within: cargo::CargoTest,
    pytest: pytest::Pytest,
    unittest: unittest::Unittest,
    go: go::GoTest,
    vitest: javascript::Vitest,
    jest: javascript::Jest,
}

/// What the output said: the runners' names, and their numbers together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunnerResults {
    /// As in `TestResults.source`; several are joined by ` + `.
    pub source: String,
    pub tally: TestTally,
    /// A runner's exit code for "there was no test to run", of the runners that spoke.
    pub no_tests_codes: Vec<i32>,
}

impl SummaryReader {
    pub fn hear(&mut self, bytes: &[u8]) {
        let SummaryReader { lines, runners } = self;
        lines.take(bytes, |line| runners.hear(line));
    }

    /// `None` when no runner printed a summary.
    pub fn finish(mut self) -> Option<RunnerResults> {
        self.lines.end(|line| self.runners.hear(line));
        let RunnerSet {
            panics,
            nextest,
            cargo,
            within,
            pytest,
            unittest,
            go,
            vitest,
            jest,
        } = self.runners;
        // Within a run of nextest: a claim of its own unless that run's summary tells of it.
        let mut cargo = cargo;
        if within.is_failing() && !nextest.tells_of_failures() {
            cargo.join(within);
        }
        let cargo = cargo.finish(&panics);
        let told = [
            ("cargo-nextest", nextest.finish(&panics), Some(4)),
            ("cargo-test", cargo, None),
            ("pytest", pytest.finish(), Some(5)),
            ("unittest", unittest.finish(), Some(5)),
            ("go-test", go.finish(), None),
            ("vitest", vitest.finish(), Some(1)),
            ("jest", jest.finish(), Some(1)),
        ];
        let mut said: Option<RunnerResults> = None;
        for (name, tally, no_tests) in told {
            let Some(tally) = tally else { continue };
            let said = said.get_or_insert_default();
            said.source = if said.source.is_empty() {
                name.to_owned()
            } else {
                format!("{} + {name}", said.source)
            };
            said.tally.add(tally);
            said.no_tests_codes.extend(no_tests);
        }
        said
    }
}

impl RunnerSet {
    fn hear(&mut self, line: &str) {
        if line.is_empty() {
            self.cargo.hear(line);
            self.within.hear(line);
            return;
        }
        self.panics.hear(line);
        self.nextest.hear(line);
        if self.nextest.is_running() {
            self.within.hear(line);
        } else {
            self.cargo.hear(line);
        }
        self.pytest.hear(line);
        self.unittest.hear(line);
        self.go.hear(line);
        self.vitest.hear(line);
        self.jest.hear(line);
    }
}

/// `12 passed` in its two parts, the number of bounded size.
fn counted(text: &str) -> Option<(usize, &str)> {
    let (number, word) = text.trim().split_once(' ')?;
    if number.len() > 12 {
        return None;
    }
    Some((number.parse().ok()?, word.trim()))
}

/// Adds a number to another; no output makes it overflow.
fn add(to: &mut usize, n: usize) {
    *to = to.saturating_add(n);
}

#[cfg(test)]
mod tests;
