//! Ctrl-C and friends: once to finish what runs, twice to stop it, three times to leave at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::gate::ExitCode;
use crate::run::{CancelLevel, CancelSwitch};

/// Listens until the runtime ends.
pub fn listen(cancel: CancelSwitch, say: impl Fn(&str) + Send + 'static) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // Who started this with `nohup` wants it to outlive its terminal.
    let mut hangup = if is_ignored(SignalKind::hangup()) {
        None
    } else {
        Some(signal(SignalKind::hangup())?)
    };
    tokio::spawn(async move {
        loop {
            tokio::select! {
                received = interrupt.recv() => if received.is_none() { return },
                received = terminate.recv() => if received.is_none() { return },
                received = next(&mut hangup) => if received.is_none() { return },
            }
            if cancel.level() == CancelLevel::Stop {
                std::process::exit(i32::from(ExitCode::Interrupted.code()));
            }
            match cancel.escalate() {
                CancelLevel::Stop => say("stopping"),
                _ => say("finishing running samples; interrupt again to stop them"),
            }
        }
    });
    Ok(())
}

/// Keeps Ctrl-C from ending this program from now on: a pager that it waits for handles it. The
/// pager itself starts without this.
pub fn ignore_interrupts() -> std::io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let _within = runtime.enter();
    // The handler stays when the runtime and what it delivers to are gone.
    signal(SignalKind::interrupt()).map(drop)
}

/// The signals that end waiting.
pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl StopSignals {
    /// To be called within a runtime.
    pub fn new() -> std::io::Result<StopSignals> {
        let hangup = SignalKind::hangup();
        Ok(StopSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!is_ignored(hangup)).then(|| signal(hangup)).transpose()?,
        })
    }

    pub async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = next(&mut self.hangup) => {}
        }
    }
}

async fn next(signal: &mut Option<Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether this process was started with a signal ignored; `false` where the system does not tell.
fn is_ignored(signal: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0);
    let bit = u32::try_from(signal.as_raw_value() - 1).unwrap_or(u32::MAX);
    mask.checked_shr(bit).unwrap_or(0) & 1 == 1
}
