//! What is shown while a run goes on, on stderr.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::ProgressMode;
use super::console::Console;
use crate::base::text::one_line;
use crate::model::{Event, Outcome};
use crate::run::Observer;

/// Pause between plain lines.
const PLAIN_PAUSE: Duration = Duration::from_secs(5);

pub enum Progress {
    None,
    Bar(ProgressBar, Tally),
    Plain(Tally, Instant),
}

#[derive(Default)]
pub struct Tally {
    total: u64,
    passed: u64,
    failed: u64,
    errored: u64,
    other: u64,
}

impl Tally {
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Errored => self.errored += 1,
            Outcome::Skipped | Outcome::Pending => self.other += 1,
        }
    }

    fn done(&self) -> u64 {
        self.passed + self.failed + self.errored + self.other
    }

    fn line(&self) -> String {
        let mut parts = vec![format!("{} passed", self.passed)];
        for (n, word) in
            [(self.failed, "failed"), (self.errored, "errored"), (self.other, "pending or skipped")]
        {
            if n > 0 {
                parts.push(format!("{n} {word}"));
            }
        }
        parts.join(", ")
    }
}

impl Progress {
    pub fn new(mode: ProgressMode, console: &Console) -> Self {
        let bar = match mode {
            ProgressMode::None => return Progress::None,
            ProgressMode::Plain => false,
            ProgressMode::Bar => true,
            ProgressMode::Auto => console.stderr_is_terminal(),
        };
        if !bar {
            return Progress::Plain(Tally::default(), Instant::now());
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(12));
        let template = "{spinner} {bar:24} {pos}/{len} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            let style = if console.unicode() {
                style.progress_chars("━━╌")
            } else {
                style.progress_chars("=>-")
            };
            bar.set_style(style.tick_chars(if console.unicode() { "⠋⠙⠸⠴⠦⠇ " } else { "-\\|/ " }));
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress::Bar(bar, Tally::default())
    }

    /// Removes a bar, so that the summary starts on a clean line.
    pub fn finish(&mut self) {
        if let Progress::Bar(bar, _) = self {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn resumed(&mut self, total: usize, kept: &BTreeMap<Outcome, usize>) {
        if let Progress::Bar(_, tally) | Progress::Plain(tally, _) = self {
            tally.total = total as u64;
            for (outcome, n) in kept {
                (0..*n).for_each(|_| tally.count(*outcome));
            }
        }
    }

    fn event(&mut self, event: &Event) {
        let (tally, outcome) = match (&mut *self, event) {
            (Progress::None, _) => return,
            (Progress::Bar(_, tally) | Progress::Plain(tally, _), Event::CasesPlanned(planned)) => {
                tally.total += planned.cases.iter().map(|case| u64::from(case.samples)).sum::<u64>();
                (tally, None)
            }
            (Progress::Bar(_, tally) | Progress::Plain(tally, _), Event::SampleFinished(sample)) => {
                (tally, sample.attempts.last().map(|attempt| attempt.verdict.outcome))
            }
            (Progress::Bar(_, tally) | Progress::Plain(tally, _), Event::SampleSkipped(_)) => {
                (tally, Some(Outcome::Skipped))
            }
            _ => return,
        };
        if let Some(outcome) = outcome {
            tally.count(outcome);
        }
        match self {
            Progress::Bar(bar, tally) => {
                bar.set_length(tally.total);
                bar.set_position(tally.done());
                bar.set_message(one_line(&tally.line()));
            }
            Progress::Plain(tally, last) if last.elapsed() >= PLAIN_PAUSE => {
                *last = Instant::now();
                let _ = writeln!(std::io::stderr(), "{}/{}: {}", tally.done(), tally.total, tally.line());
            }
            Progress::Plain(..) | Progress::None => {}
        }
    }
}
