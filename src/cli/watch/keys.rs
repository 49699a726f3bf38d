//! Keys at a terminal, without Enter behind them.

use std::io::{self, IsTerminal, Read};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchKey {
    All,
    NotPassed,
    Changed,
    Quit,
}

impl WatchKey {
    fn of(byte: u8) -> Option<WatchKey> {
        match byte {
            b'a' | b'A' => Some(WatchKey::All),
            b'f' | b'F' => Some(WatchKey::NotPassed),
            b'r' | b'R' | b'\r' | b'\n' => Some(WatchKey::Changed),
            b'q' | b'Q' => Some(WatchKey::Quit),
            _ => None,
        }
    }
}

/// Reads keys until the process ends. While runs go on the terminal is as it was.
pub(super) struct KeyReader {
    before: Termios,
}

impl KeyReader {
    /// Calls `report` with every key until it returns false; `None` if stdin is not a terminal.
    pub fn start(report: impl Fn(WatchKey) -> bool + Send + 'static) -> Option<KeyReader> {
        let before = io::stdin()
            .is_terminal()
            .then(|| tcgetattr(io::stdin()).ok())
            .flatten()?;
        std::thread::spawn(move || {
            let mut byte = [0];
            while matches!(io::stdin().lock().read(&mut byte), Ok(1)) {
                let [byte] = byte;
                if WatchKey::of(byte).is_some_and(|key| !report(key)) {
                    return;
                }
            }
        });
        Some(KeyReader { before })
    }

    /// Until the guard is dropped, keys arrive without Enter and are not echoed. Ctrl-C stays a
    /// signal.
    pub fn raw(&self) -> RawTerminal {
        let mut raw = self.before.clone();
        raw.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        // A terminal that refuses still has Enter.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &raw);
        RawTerminal {
            before: self.before.clone(),
        }
    }
}

pub(super) struct RawTerminal {
    before: Termios,
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
