//! One call of git, bounded in time and size.

use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::GitError;

/// The longest that git may take. A status of a very large checkout takes seconds.
const LONGEST: Duration = Duration::from_secs(60);

/// The most that an answer other than the content of files may hold.
const MAX_ANSWER: u64 = 64 << 20;

/// Variables by which a hook's git names its own repository; they would win over `-C`.
const ELSEWHERE: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// What a call that succeeded said.
#[derive(Debug)]
pub(super) struct GitOutput {
    pub stdout: Vec<u8>,
    pub stderr: String,
}

pub(super) fn call(dir: &Path, args: &[&str]) -> Result<GitOutput, GitError> {
    call_with(dir, args, None, MAX_ANSWER)
}

pub(super) fn call_with(
    dir: &Path,
    args: &[&str],
    input: Option<Vec<u8>>,
    most: u64,
) -> Result<GitOutput, GitError> {
    bounded("git", dir, args, input, most, LONGEST)
}

/// A call that writes to an index of its own in place of the repository's.
pub(super) fn call_with_index(
    dir: &Path,
    args: &[&str],
    index: &Path,
) -> Result<GitOutput, GitError> {
    bounded_with("git", dir, args, None, (MAX_ANSWER, LONGEST), Some(index))
}

/// A call of a program that is git, or stands in for it in a test.
pub(super) fn bounded(
    program: &str,
    dir: &Path,
    args: &[&str],
    input: Option<Vec<u8>>,
    most: u64,
    longest: Duration,
) -> Result<GitOutput, GitError> {
    bounded_with(program, dir, args, input, (most, longest), None)
}

fn bounded_with(
    program: &str,
    dir: &Path,
    args: &[&str],
    input: Option<Vec<u8>>,
    (most, longest): (u64, Duration),
    index: Option<&Path>,
) -> Result<GitOutput, GitError> {
    let what = || {
        let words = args
            .iter()
            .skip_while(|word| **word == "-c" || word.contains('='));
        words.take(2).copied().collect::<Vec<_>>().join(" ")
    };
    let mut command = Command::new(program);
    command.arg("-C").arg(dir).arg("--no-pager").args(args);
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    command.envs(index.map(|path| ("GIT_INDEX_FILE", path)));
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        // Paths are paths, whatever characters they hold.
        .env("GIT_LITERAL_PATHSPECS", "1")
        .stdin(input.as_ref().map_or_else(Stdio::null, |_| Stdio::piped()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => GitError::NotInstalled,
        _ => GitError::Failed {
            what: what(),
            said: error.to_string(),
        },
    })?;
    let until = Instant::now() + longest;
    if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
        // A git that ended early does not read on; its own words tell why.
        std::thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let (stdout, stderr) = (
        gather(child.stdout.take(), most),
        gather(child.stderr.take(), 1 << 20),
    );
    let late = || GitError::TimedOut {
        what: what(),
        seconds: longest.as_secs(),
    };
    let ended = |from: Receiver<(Vec<u8>, bool)>| {
        let left = until.saturating_duration_since(Instant::now());
        from.recv_timeout(left).map_err(|_| late())
    };
    let wait = |child: &mut Child| {
        let ((stdout, cut), (said, _)) = (ended(stdout)?, ended(stderr)?);
        if cut {
            return Err(GitError::TooMuch {
                what: what(),
                bytes: most,
            });
        }
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok((status, stdout, said)),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
                _ => return Err(late()),
            }
        }
    };
    let (status, stdout, said) = wait(&mut child).inspect_err(|_| {
        let _ = child.kill();
        let _ = child.wait();
    })?;
    let stderr = String::from_utf8_lossy(&said).trim().to_owned();
    if status.success() {
        Ok(GitOutput { stdout, stderr })
    } else {
        Err(failure(dir, what(), stderr))
    }
}

/// Reads a pipe to its end in a thread of its own; `true` when there was more than `most`.
fn gather(pipe: Option<impl Read + Send + 'static>, most: u64) -> Receiver<(Vec<u8>, bool)> {
    let (give, take) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(most.saturating_add(1)).read_to_end(&mut bytes);
        }
        let cut = bytes.len() as u64 > most;
        let _ = give.send((bytes, cut));
    });
    take
}

/// What a call that failed means, by git's own words (which `LC_ALL=C` keeps English).
fn failure(dir: &Path, what: String, said: String) -> GitError {
    let dir = dir.to_owned();
    if said.contains("dubious ownership") || said.contains("safe.directory") {
        return GitError::Ownership { dir, said };
    }
    if said.contains("not a git repository") {
        return GitError::NotARepository { dir };
    }
    let said = match said.trim_start_matches("fatal: ") {
        "" => "git gave no reason",
        said => said,
    };
    GitError::Failed {
        what,
        said: said.to_owned(),
    }
}
