//! Ctrl-C and friends: once to finish what runs, twice to stop it, three times to leave at once.

use tokio::signal::unix::{SignalKind, signal};

use crate::gate::ExitCode;
use crate::run::{Cancel, Level};

/// Listens until the runtime ends.
pub fn listen(cancel: Cancel, say: impl Fn(&str) + Send + 'static) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                received = interrupt.recv() => if received.is_none() { return },
                received = terminate.recv() => if received.is_none() { return },
                received = hangup.recv() => if received.is_none() { return },
            }
            if cancel.level() == Level::Stop {
                std::process::exit(i32::from(ExitCode::Interrupted.code()));
            }
            match cancel.escalate() {
                Level::Stop => say("stopping"),
                _ => say("finishing what runs; once more to stop it"),
            }
        }
    });
    Ok(())
}
