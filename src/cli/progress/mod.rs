//! What is shown while a run goes on, on stderr.
//!
//! The run only counts (a lock, a hash and an addition for each sample); a thread of its own looks
//! ten times a second and draws. It holds no lock of the counts while it writes, so that a terminal
//! that stands still (Ctrl-S) does not hold up the run.

mod asking;
mod lines;
mod screen;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::screen::ProgressScreen;
use self::state::ProgressState;
use super::args::ProgressMode;
use super::console::Console;
use crate::model::{Event, Outcome};
use crate::report::TerminalOptions;
use crate::run::{EndedCase, RunObserver};
use eval_base::text;
use eval_models::TrafficNow;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Pause between plain lines while samples end.
const PLAIN_PAUSE: Duration = Duration::from_secs(5);
/// Pause between plain lines while none does.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// How long the end of the run waits for a stream that stands still.
const PATIENCE: Duration = Duration::from_secs(2);

/// An observer that shows how far a run is.
pub struct RunProgress {
    shared: Arc<SharedProgress>,
    /// `None` when nothing is shown, and after the end.
    drawing: Option<DrawingThread>,
}

struct SharedProgress {
    state: Mutex<ProgressState>,
    screen: Mutex<ProgressScreen>,
    /// How cases are shown as they end; `None`: they are not.
    cases: Option<CaseLines>,
    /// Lines of cases that were not written yet.
    ended: Mutex<Vec<String>>,
    began: Instant,
    /// Milliseconds since `began` at the last look: cheaper to read than the clock.
    now: AtomicU64,
    silent: bool,
}

/// The thread that draws. It ends when `stop` is dropped, and drops its end of `ended`.
struct DrawingThread {
    stop: Sender<()>,
    ended: Receiver<()>,
}

/// How lines of cases are written.
pub struct CaseLines {
    options: TerminalOptions,
    /// The target, in a command that runs several.
    target: Option<String>,
}

impl RunProgress {
    pub fn new(mode: ProgressMode, console: &Console) -> Self {
        RunProgress::with_cases(mode, console, false, None)
    }

    /// With a line for each case as it ends, if `verbose`; each names the target if there is one.
    pub fn with_cases(
        mode: ProgressMode,
        console: &Console,
        verbose: bool,
        target: Option<&str>,
    ) -> Self {
        let bar = match mode {
            ProgressMode::None | ProgressMode::Plain => false,
            ProgressMode::Bar => true,
            ProgressMode::Auto => console.stderr_is_terminal(),
        };
        let manner = match (mode, bar) {
            (ProgressMode::None, _) => None,
            (_, true) => Some(ProgressStyle::Bar {
                unicode: console.unicode(),
                color: console.stderr_color(),
            }),
            (_, false) => Some(ProgressStyle::Plain(PlainProgress::default())),
        };
        let cases = verbose.then(|| CaseLines {
            options: TerminalOptions {
                // Lines of a log are not cut.
                width: if bar {
                    size().1.saturating_sub(1)
                } else {
                    usize::MAX
                },
                unicode: console.unicode(),
                color: console.stderr_color(),
                ..TerminalOptions::default()
            },
            target: target.map(text::one_line),
        });
        RunProgress::start(manner, cases, console.stderr())
    }

    /// For the probes of a check, most of which must fail.
    pub fn of_probes(mode: ProgressMode, console: &Console) -> Self {
        let progress = RunProgress::new(mode, console);
        lock(&progress.shared.state).of_probes = true;
        progress
    }

    fn start(
        manner: Option<ProgressStyle>,
        cases: Option<CaseLines>,
        out: Box<dyn Write + Send>,
    ) -> Self {
        let shared = Arc::new(SharedProgress {
            state: Mutex::new(ProgressState::default()),
            screen: Mutex::new(ProgressScreen::new(out)),
            cases,
            ended: Mutex::new(Vec::new()),
            began: Instant::now(),
            now: AtomicU64::new(0),
            silent: manner.is_none(),
        });
        let drawing = manner.and_then(|manner| {
            let (stop, stopped) = mpsc::channel();
            let (end, ended) = mpsc::channel();
            let its = Arc::clone(&shared);
            let spawned = thread::Builder::new()
                .name("progress".to_owned())
                .spawn(move || {
                    draw(&its, manner, &stopped);
                    drop(end);
                });
            // Without a thread there is no progress to see; that is no reason not to run.
            spawned.ok().map(|_| DrawingThread { stop, ended })
        });
        RunProgress { shared, drawing }
    }

    /// Says a line without a bar in its way, from any thread.
    pub fn speaker(&self) -> impl Fn(&str) + Send + 'static {
        let shared = Arc::clone(&self.shared);
        // On a terminal a `^C` stands where the cursor is.
        let lead = if std::io::stderr().is_terminal() {
            "\r"
        } else {
            ""
        };
        move |line| lock(&shared.screen).line(&format!("{lead}{line}"), columns())
    }

    /// Removes a bar, so that the summary starts on a clean line, or says the last plain line.
    pub fn finish(&mut self) {
        if let Some(DrawingThread { stop, ended }) = self.drawing.take() {
            drop(stop);
            let _ = ended.recv_timeout(PATIENCE);
        }
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl RunObserver for RunProgress {
    fn event(&mut self, event: &Event) {
        if !self.shared.silent {
            lock(&self.shared.state).event(event);
        }
    }

    fn started(&mut self, eval: &str, case: &str, sample: u32) {
        if !self.shared.silent {
            let now = self.shared.now();
            lock(&self.shared.state).started(eval, case, sample, now);
        }
    }

    fn resumed(&mut self, total: usize, kept: &BTreeMap<Outcome, usize>) {
        if !self.shared.silent {
            lock(&self.shared.state).resumed(total, kept);
        }
    }

    fn traffic(&mut self, now: &TrafficNow) {
        if !self.shared.silent {
            lock(&self.shared.state).traffic = Some(now.clone());
        }
    }

    fn wants_cases(&self) -> bool {
        !self.shared.silent && self.shared.cases.is_some()
    }

    fn case_ended(&mut self, ended: &EndedCase<'_>) {
        if let Some(cases) = &self.shared.cases {
            lock(&self.shared.ended).push(lines::case(ended, cases));
        }
    }

    fn warned(&mut self, warning: &str) {
        lock(&self.shared.screen).line(&format!("warning: {}", text::one_line(warning)), columns());
    }
}

impl SharedProgress {
    /// Writes the lines of cases that have ended.
    fn tell_cases(&self) {
        let ended = std::mem::take(&mut *lock(&self.ended));
        if !ended.is_empty() {
            lock(&self.screen).line(&ended.join("\n"), columns());
        }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.now.load(Ordering::Relaxed))
    }
}

/// How it is shown.
enum ProgressStyle {
    Bar { unicode: bool, color: bool },
    Plain(PlainProgress),
}

/// Looks until it is told to stop, then leaves a clean stream.
fn draw(shared: &SharedProgress, mut manner: ProgressStyle, stopped: &Receiver<()>) {
    loop {
        let stop = stopped.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout);
        let elapsed = u64::try_from(shared.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        shared.now.store(elapsed, Ordering::Relaxed);
        let now = shared.now();
        if let ProgressStyle::Bar { .. } = manner {
            shared.tell_cases();
        }
        match &mut manner {
            ProgressStyle::Bar { .. } if stop => lock(&shared.screen).clear(columns()),
            ProgressStyle::Bar { unicode, color } => {
                let (rows, columns) = size();
                // A line that fills the last column leaves some terminals in doubt where the cursor
                // is.
                let options = TerminalOptions {
                    width: columns.saturating_sub(1).max(1),
                    unicode: *unicode,
                    color: *color,
                    ..TerminalOptions::default()
                };
                let mut block = {
                    let mut state = lock(&shared.state);
                    state.tick(now);
                    lines::bar(&state, &options, now)
                };
                block.truncate(rows.saturating_sub(1).max(1));
                lock(&shared.screen).draw(block, columns);
            }
            ProgressStyle::Plain(plain) => {
                let (first, said) = {
                    let mut state = lock(&shared.state);
                    state.tick(now);
                    let first = plain.first(&state, now);
                    let said = match stop {
                        true => plain.end(&state, now),
                        false => plain.look(&state, now),
                    };
                    (first, said)
                };
                if let Some(line) = first {
                    lock(&shared.screen).line(&line, columns());
                }
                shared.tell_cases();
                for line in said {
                    lock(&shared.screen).line(&line, columns());
                }
            }
        }
        if stop {
            return;
        }
    }
}

/// When a plain line is due.
#[derive(Debug, Default)]
struct PlainProgress {
    begun: bool,
    said_at: Duration,
    said_done: u64,
}

impl PlainProgress {
    /// The line of the start, once.
    fn first(&mut self, state: &ProgressState, now: Duration) -> Option<String> {
        if self.begun || !state.has_begun() {
            return None;
        }
        *self = PlainProgress {
            begun: true,
            said_at: now,
            said_done: state.done(),
        };
        Some(lines::first(state))
    }

    /// The line that is due now.
    fn look(&mut self, state: &ProgressState, now: Duration) -> Vec<String> {
        if !self.begun {
            return Vec::new();
        }
        let (silence, moved) = (
            now.saturating_sub(self.said_at),
            state.done() != self.said_done,
        );
        let line = match moved {
            true if silence >= PLAIN_PAUSE => lines::plain_line(state, now),
            false if silence >= HEARTBEAT => lines::heartbeat(state, now),
            _ => return Vec::new(),
        };
        (self.said_at, self.said_done) = (now, state.done());
        vec![line]
    }

    /// The lines of the end; none when nothing ever began.
    fn end(&mut self, state: &ProgressState, now: Duration) -> Vec<String> {
        let begun = std::mem::replace(&mut self.begun, true);
        let first = (!begun).then(|| lines::first(state));
        let said = first.into_iter().chain([lines::last(state, now)]);
        if state.done() > 0 || begun {
            said.collect()
        } else {
            Vec::new()
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts and a screen are as good as they were when another thread fell.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rows and columns of stderr.
fn size() -> (usize, usize) {
    super::console::stderr_size().unwrap_or((24, 80))
}

fn columns() -> usize {
    size().1
}
