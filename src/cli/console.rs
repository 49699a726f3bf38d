//! stdout for results, stderr for everything else.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use console::Term;

use super::args::ColorMode;
use super::signals;
use crate::report::TerminalOptions;
use crate::report::annotations::without_commands;
use crate::report::page::{Page, terminal};
use eval_base::text::sanitize;

/// The two streams and what is known of them.
pub struct Console {
    color: ColorMode,
    /// `NO_COLOR` was set to something.
    no_color: bool,
    unicode: bool,
    /// GitHub's runner reads this program's log, and what looks like a command there is one.
    workflow: bool,
}

/// stderr as the log of a workflow: whole lines come in, and none of them leaves as a command.
struct WorkflowLog;

impl Write for WorkflowLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let lines = String::from_utf8_lossy(bytes);
        io::stderr()
            .lock()
            .write_all(without_commands(&lines).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl Console {
    /// `NO_COLOR` is set to something.
    pub fn no_color() -> bool {
        std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
    }

    pub fn new(color: ColorMode) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
            .unwrap_or_default();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        // Without any locale a modern terminal is likelier than an old one; with `C` the user asked
        // for ASCII.
        let unicode = !dumb && locale != "C" && locale != "POSIX";
        let workflow = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        Console {
            color,
            no_color: Console::no_color() || dumb,
            unicode,
            workflow,
        }
    }

    fn colored(&self, terminal: bool) -> bool {
        match self.color {
            ColorMode::Always => true,
            ColorMode::Never => false,
            ColorMode::Auto => terminal && !self.no_color,
        }
    }

    /// stderr for those who write whole lines to it.
    pub fn stderr(&self) -> Box<dyn Write + Send> {
        if self.workflow {
            Box::new(WorkflowLog)
        } else {
            Box::new(io::stderr())
        }
    }

    pub fn stderr_is_terminal(&self) -> bool {
        io::stderr().is_terminal()
    }

    pub fn stderr_color(&self) -> bool {
        self.colored(self.stderr_is_terminal())
    }

    /// Columns of stderr, 80 in a pipe.
    pub fn stderr_width(&self) -> usize {
        width(&Term::stderr())
    }

    pub fn unicode(&self) -> bool {
        self.unicode
    }

    pub fn terminal_options(&self, verbose: bool) -> TerminalOptions {
        let terminal = io::stdout().is_terminal();
        TerminalOptions {
            width: width(&Term::stdout()),
            color: self.colored(terminal),
            verbose,
            unicode: self.unicode,
        }
    }

    /// A file as people are shown it: seen from the current folder; a page for a browser, at a
    /// terminal, as an address to open, where that is short.
    pub fn path(&self, cwd: &Path, path: &Path) -> String {
        let address = if io::stdout().is_terminal() {
            address(path)
        } else {
            None
        };
        address.unwrap_or_else(|| path.strip_prefix(cwd).unwrap_or(path).display().to_string())
    }

    /// Writes a whole result to stdout. That nobody reads on is no failure, and no success either:
    /// what was decided before stays decided, so that `run | head` does not open a gate.
    pub fn result(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Writes a page to stdout, through `$PAGER` (else `less`) where a terminal has too few rows.
    pub fn paged(&self, page: &[u8], no_pager: bool) -> io::Result<()> {
        let rows = Term::stdout()
            .size_checked()
            .map(|(rows, _)| usize::from(rows));
        let lines = page.iter().filter(|byte| **byte == b'\n').count();
        let fits = no_pager || !io::stdout().is_terminal() || rows.is_none_or(|rows| lines < rows);
        let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        let mut words = pager.split_whitespace();
        let Some(program) = words.next().filter(|_| !fits) else {
            return self.result(page);
        };
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // Colours are kept, a short page ends by itself, and the page stays on the screen.
            command.env("LESS", "FRX");
        }
        // Without it, the terminal would be left to two programs: as git, it waits for the pager.
        let _ = signals::ignore_interrupts();
        let Ok(mut child) = command.spawn() else {
            return self.result(page);
        };
        if let Some(mut stdin) = child.stdin.take() {
            // The reader may have read enough.
            let _ = stdin.write_all(page);
        }
        // A shell's codes for a program that it did not find or could not start.
        match child.wait()?.code() {
            Some(126 | 127) => self.result(page),
            _ => Ok(()),
        }
    }

    /// A result for people: a page as the terminal shows it.
    pub fn page(&self, page: &Page) -> io::Result<()> {
        let mut out = Vec::new();
        terminal::write(page, &self.terminal_options(false), &mut out)?;
        self.result(&out)
    }

    pub fn error(&self, message: &str, hint: Option<&str>) {
        self.say("error", "\x1b[1;31m", message);
        self.hint(hint);
    }

    pub fn warn(&self, message: &str) {
        self.say("warning", "\x1b[1;33m", message);
    }

    /// What to do about the line before.
    pub fn hint(&self, hint: Option<&str>) {
        if let Some(hint) = hint {
            self.say("hint", "\x1b[36m", hint);
        }
    }

    pub fn note(&self, message: &str) {
        self.log(&sanitize(message));
    }

    /// Lines for the program that reads this one's log, as they are.
    pub fn commands(&self, lines: &str) {
        let _ = io::stderr().lock().write_all(lines.as_bytes());
    }

    fn say(&self, word: &str, style: &str, message: &str) {
        let message = sanitize(message);
        if self.stderr_color() {
            self.log(&format!("{style}{word}:\x1b[0m {message}"));
        } else {
            self.log(&format!("{word}: {message}"));
        }
    }

    /// A line on stderr. That nobody reads it is no failure.
    fn log(&self, line: &str) {
        let _ = self.stderr().write_all(format!("{line}\n").as_bytes());
    }
}

/// Rows and columns of the terminal on stderr, just now; `None` when there is none.
pub fn stderr_size() -> Option<(usize, usize)> {
    let (rows, columns) = Term::stderr().size_checked()?;
    (rows > 0 && columns > 0).then(|| (usize::from(rows), usize::from(columns)))
}

/// What fits beside the margin of a terminal of 80 columns.
const LONGEST_ADDRESS: usize = 70;

/// The address of a page, if it is short and needs no encoding.
fn address(path: &Path) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    let text = path
        .to_str()
        .filter(|text| text.ends_with(".html") && text.starts_with('/'))?;
    let address = format!("file://{text}");
    (text.chars().all(plain) && address.len() <= LONGEST_ADDRESS).then_some(address)
}

fn width(term: &Term) -> usize {
    term.size_checked()
        .map_or(80, |(_, columns)| usize::from(columns).clamp(40, 160))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_an_address_where_it_is_short_and_plain() {
        let told = |path: &str| address(Path::new(path));
        let page = "/p/results/2026-03-04/run-101500.html";
        assert_eq!(told(page), Some(format!("file://{page}")));
        let long = format!("/{}/run-101500.html", "x".repeat(LONGEST_ADDRESS));
        for none in [
            "/p/run-101500.json",
            "results/run-101500.html",
            "/p q/run-101500.html",
            &long,
        ] {
            assert_eq!(told(none), None, "{none}");
        }
    }
}
