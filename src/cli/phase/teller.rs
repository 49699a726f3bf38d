//! What stderr shows while a phase is worked off.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cli::args::{PhaseArgs, ProgressMode};
use crate::cli::console::Console;
use crate::cli::progress::RunProgress;
use crate::model::{PhaseStep, StepResult, StepStatus, StepWork};
use crate::phase::PhaseWatcher;
use crate::run::RunObserver;
use eval_base::text::{one_line, sanitize};

type LinePrinter = Box<dyn Fn(&str) + Send>;

/// Tells which step runs and how it ended; of a suite it shows the progress.
pub struct PhaseProgress<'a> {
    console: &'a Console,
    mode: ProgressMode,
    verbose: bool,
    progress: Option<RunProgress>,
    /// Says a line without a bar in its way, while there is one.
    speaker: Arc<Mutex<Option<LinePrinter>>>,
    step: (usize, usize),
}

impl<'a> PhaseProgress<'a> {
    pub fn new(console: &'a Console, args: &PhaseArgs) -> Self {
        let mode = if args.quiet {
            ProgressMode::None
        } else {
            args.progress
        };
        let speaker = Arc::default();
        PhaseProgress {
            console,
            mode,
            verbose: args.verbose,
            progress: None,
            speaker,
            step: (0, 0),
        }
    }

    /// Says a line, from any thread.
    pub fn speaker(&self) -> impl Fn(&str) + Send + 'static {
        let speaker = Arc::clone(&self.speaker);
        move |line| match &*speaker.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(speak) => speak(line),
            // That nobody reads it is no failure.
            None => drop(writeln!(io::stderr().lock(), "{}", sanitize(line))),
        }
    }

    fn speak_by(&self, speaker: Option<LinePrinter>) {
        *self.speaker.lock().unwrap_or_else(PoisonError::into_inner) = speaker;
    }

    /// Names of steps may be of several lines.
    fn note(&self, line: &str) {
        if self.mode != ProgressMode::None {
            self.console.note(&one_line(line));
        }
    }
}

impl PhaseWatcher for PhaseProgress<'_> {
    fn begins(&mut self, number: usize, of: usize, step: &PhaseStep) {
        self.step = (number, of);
        if step.work == StepWork::Unchecked {
            return;
        }
        self.note(&format!(
            "step {number} of {of}: {} ({})",
            step.name,
            step.kind.name()
        ));
        if matches!(step.work, StepWork::Eval(_)) {
            let progress = RunProgress::new(self.mode, self.console);
            self.speak_by(Some(Box::new(progress.speaker())));
            self.progress = Some(progress);
        }
    }

    fn ended(&mut self, result: &StepResult) {
        if let Some(mut progress) = self.progress.take() {
            self.speak_by(None);
            progress.finish();
        }
        let line = match result.status {
            StepStatus::NotChecked => format!("{}: not checked", result.name),
            StepStatus::NotReached => format!("{}: not reached", result.name),
            status => {
                let seconds = result.duration_seconds;
                format!("{}: {} after {seconds:.1} s", result.name, status.name())
            }
        };
        let (number, of) = self.step;
        match result.status {
            StepStatus::NotReached => self.note(&line),
            _ => self.note(&format!("step {number} of {of}: {line}")),
        }
    }

    fn heard(&mut self, bytes: &[u8]) {
        if self.verbose {
            let mut err = io::stderr().lock();
            let _ = err.write_all(bytes).and_then(|()| err.flush());
        }
    }

    fn observers(&mut self) -> Vec<&mut dyn RunObserver> {
        self.progress
            .iter_mut()
            .map(|progress| progress as &mut dyn RunObserver)
            .collect()
    }
}
