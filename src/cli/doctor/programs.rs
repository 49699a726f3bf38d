//! Interpreters, compilers and tools: which are there, and how to get those that are not.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Check, Group, State};
use crate::sandbox::Interpreter;

/// Longer than this no program takes to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// From this version on a warm interpreter forks for each program.
const WARM_PYTHON: (u32, u32) = (3, 9);

/// A language that graders can run, with the programs that can run it, the best first.
struct Language {
    name: &'static str,
    programs: &'static [&'static str],
    hint: &'static str,
}

const LANGUAGES: [Language; 4] = [
    Language { name: "javascript", programs: &["node"], hint: "`apt install nodejs`, or https://nodejs.org" },
    Language {
        name: "typescript",
        programs: &["tsc", "tsx", "deno", "bun"],
        hint: "`npm install -g typescript`, or https://deno.com",
    },
    Language { name: "bash", programs: &["bash"], hint: "`apt install bash`" },
    Language { name: "c", programs: &["gcc", "cc", "clang"], hint: "`apt install gcc libc6-dev`" },
];

/// The interpreter that the sandbox found; `None`: nobody looked, because no tier works.
pub fn python(found: Option<Result<Interpreter, String>>) -> Check {
    let name = "python";
    let called = ["python3", "python"].iter().find_map(|program| in_path(program));
    match found {
        Some(Ok(python)) => {
            let warm = is_warm(&python.version);
            let value = match warm {
                true => format!("{}, warm: a fork for each program", python.version),
                false => format!("{}, started anew for each program", python.version),
            };
            let state = if warm { State::Ok } else { State::Limited };
            let mut check = Check::new(Group::Languages, name, state, value);
            let real = python.path.display().to_string();
            let called = called.map(|path| path.display().to_string());
            check.real_path = called.as_ref().filter(|called| **called != real).map(|_| real.clone());
            check.path = Some(called.unwrap_or(real));
            check.version = Some(python.version);
            if warm { check } else { check.fix("Python 3.9 or newer is several times as fast") }
        }
        Some(Err(reason)) => Check::new(Group::Languages, name, State::Missing, reason)
            .fix("`apt install python3`, or a Python 3.8 or newer in PATH"),
        None => match called {
            Some(path) => with_path(name, State::Limited, &path, "not tried, since no tier works"),
            None => Check::new(Group::Languages, name, State::Missing, "no python3 or python in PATH")
                .fix("`apt install python3`"),
        },
    }
}

fn is_warm(version: &str) -> bool {
    let mut numbers = version.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= WARM_PYTHON
}

/// The other languages.
pub fn languages() -> Vec<Check> {
    LANGUAGES.iter().map(|language| find(Group::Languages, language, State::Missing)).collect()
}

pub fn git() -> Check {
    let git = Language { name: "git", programs: &["git"], hint: "`apt install git`" };
    let check = find(Group::Tools, &git, State::Limited);
    if check.version.is_none() && check.state == State::Limited {
        return Check { value: format!("{}: reports can't name the commit", check.value), ..check };
    }
    check
}

fn find(group: Group, language: &Language, without: State) -> Check {
    let found = language.programs.iter().find_map(|name| in_path(name).map(|path| (*name, path)));
    let Some((program, path)) = found else {
        let value = format!("no {} in PATH", language.programs.join(", "));
        return Check::new(group, language.name, without, value).fix(language.hint);
    };
    let version = version_of(&path, if program == "deno" { "-V" } else { "--version" });
    let shown = version.clone().unwrap_or_else(|| "does not tell its version".to_owned());
    let value = if program == language.name { shown } else { format!("{program} {shown}") };
    let state = if version.is_some() { State::Ok } else { State::Limited };
    Check { group, version, ..with_path(language.name, state, &path, &value) }
}

fn with_path(name: &str, state: State, path: &Path, value: &str) -> Check {
    let mut check = Check::new(Group::Languages, name, state, value);
    let real = path.canonicalize().ok().filter(|real| real != path);
    check.real_path = real.map(|real| real.display().to_string());
    check.path = Some(path.display().to_string());
    check
}

fn in_path(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| {
        file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    })
}

fn version_of(program: &Path, flag: &str) -> Option<String> {
    let mut child = Command::new(program)
        .arg(flag)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdout = child.stdout.take()?;
    // A reader of its own: what the program leaves behind may hold the pipe open.
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.by_ref().take(4096).read_to_end(&mut text);
        let _ = said.send(String::from_utf8_lossy(&text).into_owned());
    });
    let text = heard.recv_timeout(PATIENCE);
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if text.is_err() || start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    version_in(&text.ok()?)
}

/// The first word with a digit at its start and a dot within, without a leading `v` and what stands around it.
fn version_in(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let word = word.strip_prefix('v').unwrap_or(word);
        let number = word.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?.trim_end_matches('.');
        (number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.')).then(|| number.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (text, version) in [
            ("v20.11.1\n", "20.11.1"),
            ("GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)", "5.2.15"),
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022", "12.2.0"),
            ("Version 5.4.5", "5.4.5"),
            ("deno 2.0.1 (stable, release)", "2.0.1"),
            ("git version 2.39.5", "2.39.5"),
        ] {
            assert_eq!(version_in(text).as_deref(), Some(version), "{text}");
        }
        assert_eq!(version_in("nothing of 12 the kind v."), None);
    }

    #[test]
    fn the_fork_server_needs_3_9() {
        assert!(is_warm("3.9.18") && is_warm("3.13.0") && is_warm("4.0"));
        assert!(!is_warm("3.8.18") && !is_warm("2.7") && !is_warm(""));
    }

    #[test]
    fn what_is_missing_tells_how_to_get_it() {
        let nothing =
            Language { name: "x", programs: &["no-such-program-1", "no-such-program-2"], hint: "`get x`" };
        let check = find(Group::Languages, &nothing, State::Missing);
        assert_eq!(check.value, "no no-such-program-1, no-such-program-2 in PATH");
        assert_eq!((check.state, check.fix.as_deref()), (State::Missing, Some("`get x`")));
    }
}
