//! The grader processes of a run: started when they are needed, used again, ended when they take
//! too long.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::task::{self, GraderTask, READY, SentTasks, TaskAnswer};
use super::{GRADER_ARGUMENT, MEMORY_MIB, TaskFailure};
use crate::grade::interrupt::GraderInterrupt;
use crate::model::OutputValue;
use eval_sandbox::process_tree::{printable, signal_name};

/// What a process may take to start, on a busy machine.
const START: Duration = Duration::from_secs(30);

/// What a process that closed its streams may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// How the standard library begins its last words when memory is refused.
const OUT_OF_MEMORY: &str = "memory allocation of ";

/// Bytes of a reply at most.
const LONGEST: u64 = 4 << 30;

/// Bytes of last words that are read.
const LAST_WORDS: u64 = 4 << 10;

/// How grader processes are made and what they may take.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// This program, which becomes a grader process by its first argument.
    pub helper: PathBuf,
    /// Processes at once, at least 1.
    pub workers: usize,
    /// Wall time of one piece of work.
    pub limit: Duration,
}

#[derive(Debug)]
pub(super) struct GraderPool {
    config: PoolConfig,
    places: Semaphore,
    idle: Mutex<Vec<GraderProcess>>,
    pub interrupt: GraderInterrupt,
}

impl GraderPool {
    pub fn new(config: PoolConfig) -> GraderPool {
        let places = Semaphore::new(config.workers.clamp(1, Semaphore::MAX_PERMITS));
        GraderPool {
            config,
            places,
            idle: Mutex::default(),
            interrupt: GraderInterrupt::default(),
        }
    }

    /// Has a task performed. When this future is dropped, the process that performs it is ended.
    pub async fn call(
        &self,
        task: &GraderTask<'_>,
        value: &OutputValue,
    ) -> Result<TaskAnswer, TaskFailure> {
        self.interrupt.bound(self.answer(task, value)).await?
    }

    /// When a process ends without an answer, a new one gets the request as well.
    async fn answer(
        &self,
        task: &GraderTask<'_>,
        value: &OutputValue,
    ) -> Result<TaskAnswer, TaskFailure> {
        // It is never closed.
        let _place = self.places.acquire().await;
        let request = task::request(task, value)
            .map_err(|error| TaskFailure::Unreadable(error.to_string()))?;
        let mut left = self.config.limit;
        let mut why = String::new();
        for first in [true, false] {
            let idle = || {
                self.idle
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .pop()
            };
            let mut process = match first.then(idle).flatten() {
                Some(process) => process,
                // Another idle process may have ended as well.
                None => GraderProcess::start(&self.config.helper)
                    .await
                    .map_err(TaskFailure::NotStarted)?,
            };
            let started = Instant::now();
            match timeout(left, process.ask(&request)).await {
                Ok(Ok(Ok(answer))) => {
                    self.idle
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(process);
                    return Ok(answer);
                }
                Ok(Ok(Err(why))) => return Err(TaskFailure::Unreadable(why)),
                Ok(Err(error)) => why = process.last_words(&error).await,
                // The process ends with its value.
                Err(_) => return Err(TaskFailure::TimedOut(self.config.limit)),
            }
            left = left.saturating_sub(started.elapsed());
        }
        Err(TaskFailure::Ended(why))
    }
}

/// A process that waits for work, or works. It is killed when it is dropped.
#[derive(Debug)]
struct GraderProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    sent: SentTasks,
}

impl GraderProcess {
    /// The error says why there is none.
    async fn start(helper: &Path) -> Result<GraderProcess, String> {
        let cannot = |error: io::Error| format!("{} can't be started: {error}", helper.display());
        let mut child = Command::new(helper)
            .arg(GRADER_ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for this process alone.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(cannot)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(cannot(io::ErrorKind::BrokenPipe.into()));
        };
        let mut process = GraderProcess {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            sent: SentTasks::default(),
        };
        match timeout(START, read_line(&mut process.stdout, LONGEST)).await {
            Ok(Ok(said)) if said.trim_end() == READY => Ok(process),
            Ok(Ok(_)) => Err(cannot(io::ErrorKind::InvalidData.into())),
            Ok(Err(error)) => Err(process.last_words(&error).await),
            Err(_) => Err(cannot(io::ErrorKind::TimedOut.into())),
        }
    }

    /// The error says that it ended, the inner one that its answer can't be read.
    async fn ask(&mut self, [task, value]: &[String; 2]) -> io::Result<Result<TaskAnswer, String>> {
        let task = self.sent.line(task);
        self.stdin.write_all(task.as_bytes()).await?;
        self.stdin.write_all(value.as_bytes()).await?;
        self.stdin.flush().await?;
        let reply = read_line(&mut self.stdout, LONGEST).await?;
        Ok(task::read_reply(&reply))
    }

    /// Why a process ended that did not answer.
    async fn last_words(mut self, error: &io::Error) -> String {
        drop(self.stdin);
        let mut said = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            let _ = timeout(ENDING, stderr.take(LAST_WORDS).read_to_end(&mut said)).await;
        }
        let said = printable(&said);
        if said.contains(OUT_OF_MEMORY) {
            return format!("it needed more than {MEMORY_MIB} MiB of memory");
        }
        let end = match timeout(ENDING, self.child.wait()).await {
            Ok(Ok(status)) => {
                use std::os::unix::process::ExitStatusExt as _;
                match (status.signal(), status.code()) {
                    (Some(signal), _) => format!("it was ended by {}", signal_name(signal)),
                    (None, code) => format!("it exited with code {}", code.unwrap_or(-1)),
                }
            }
            _ => format!("it closed its streams ({error})"),
        };
        match said.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("{end}: {line}"),
            None => end,
        }
    }
}

/// A line of at most `longest` bytes.
async fn read_line(input: impl AsyncBufRead + Unpin, longest: u64) -> io::Result<String> {
    let mut line = String::new();
    input.take(longest).read_line(&mut line).await?;
    match line.ends_with('\n') {
        true => Ok(line),
        false if line.len() as u64 == longest => Err(io::ErrorKind::InvalidData.into()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::graders::RegexMatch;
    use crate::model::{Cause, CodeGrader, RegexFlags};

    /// A helper that says that it is ready, notes it, and continues with a script.
    struct Helper(tempfile::TempDir);

    impl Helper {
        fn new(then: &str) -> Helper {
            let dir = tempfile::tempdir().unwrap();
            let helper = Helper(dir);
            let ready = "echo ready";
            let script = format!(
                "#!/bin/sh\necho x >> {}\n{ready}\n{then}\n",
                helper.0.path().join("starts").display()
            );
            std::fs::write(helper.path(), script).unwrap();
            std::fs::set_permissions(helper.path(), std::fs::Permissions::from_mode(0o755))
                .unwrap();
            helper
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("helper")
        }

        fn starts(&self) -> usize {
            std::fs::read_to_string(self.0.path().join("starts"))
                .unwrap_or_default()
                .lines()
                .count()
        }

        fn pool(&self, limit: Duration) -> GraderPool {
            GraderPool::new(PoolConfig {
                helper: self.path(),
                workers: 1,
                limit,
            })
        }
    }

    async fn called(pool: &GraderPool) -> Result<TaskAnswer, TaskFailure> {
        let grader = CodeGrader::Regex(RegexMatch {
            patterns: vec!["x".to_owned()],
            flags: RegexFlags::default(),
            must_match: true,
            capture_groups: Vec::new(),
        });
        pool.call(
            &GraderTask::Grade(Cow::Borrowed(&grader)),
            &OutputValue::Text("x".to_owned()),
        )
        .await
    }

    fn ended(why: &str) -> Result<TaskAnswer, TaskFailure> {
        Err(TaskFailure::Ended(why.to_owned()))
    }

    #[tokio::test]
    async fn line_without_its_end_is_an_error() {
        for (line, read) in [
            ("12345\nx", Ok("12345\n".to_owned())),
            ("123456\n", Err(io::ErrorKind::InvalidData)),
            ("12345", Err(io::ErrorKind::UnexpectedEof)),
        ] {
            let line = read_line(line.as_bytes(), 6).await;
            assert_eq!(line.map_err(|error| error.kind()), read);
        }
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn process_that_ends_is_started_once_more() {
        for (then, why) in [
            ("echo boom >&2; exit 3", "it exited with code 3: boom"),
            ("kill -9 $$", "it was ended by SIGKILL"),
            (
                "echo 'memory allocation of 64 bytes failed' >&2; kill -6 $$",
                "it needed more than 2048 MiB of memory",
            ),
        ] {
            let helper = Helper::new(then);
            assert_eq!(called(&helper.pool(LONG)).await, ended(why));
            assert_eq!(helper.starts(), 2, "{then}");
        }
    }

    #[tokio::test]
    async fn helper_that_cannot_start_is_named() {
        let pool = GraderPool::new(PoolConfig {
            helper: "/no/helper".into(),
            workers: 1,
            limit: LONG,
        });
        let failure = called(&pool).await.unwrap_err();
        let (cause, why) = failure.explain();
        assert_eq!(cause, Cause::Harness);
        assert!(
            why.starts_with("no grader process can be started: /no/helper can't be started: "),
            "{why}"
        );
        assert!(
            why.contains("the executable was replaced or deleted"),
            "{why}"
        );
        let pool = GraderPool::new(PoolConfig {
            helper: "/bin/false".into(),
            workers: 1,
            limit: LONG,
        });
        let why = "it exited with code 1".to_owned();
        assert_eq!(called(&pool).await, Err(TaskFailure::NotStarted(why)));
    }

    #[tokio::test]
    async fn second_try_starts_a_process_whatever_is_idle() {
        let helper = Helper::new("exit 3");
        let pool = helper.pool(LONG);
        for _ in 0..3 {
            let process = GraderProcess::start(&helper.path()).await.unwrap();
            pool.idle.lock().unwrap().push(process);
        }
        assert_eq!(called(&pool).await, ended("it exited with code 3"));
        assert_eq!(helper.starts(), 4);
        assert_eq!(pool.idle.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn reply_that_does_not_parse_is_no_end_of_the_process() {
        let reply = "echo '{'; cat >/dev/null";
        let helper = Helper::new(reply);
        let Err(failure @ TaskFailure::Unreadable(_)) = called(&helper.pool(LONG)).await else {
            panic!("a reply")
        };
        let (cause, why) = failure.explain();
        assert_eq!(cause, Cause::Harness);
        assert_eq!(
            why,
            "the output or its grade can't be passed to or from a grader process: EOF while parsing an object at line 1 column 1"
        );
        assert_eq!(helper.starts(), 1);
    }

    #[tokio::test]
    async fn silent_process_is_ended_at_the_limit_or_the_interrupt() {
        let helper = Helper::new("while :; do read -r line; done");
        let pool = helper.pool(Duration::from_millis(20));
        assert_eq!(
            called(&pool).await,
            Err(TaskFailure::TimedOut(Duration::from_millis(20)))
        );
        // It is not used again.
        assert_eq!(
            called(&pool).await,
            Err(TaskFailure::TimedOut(Duration::from_millis(20)))
        );
        assert_eq!(helper.starts(), 2);
        let pool = helper.pool(LONG);
        pool.interrupt.interrupt();
        assert_eq!(called(&pool).await, Err(TaskFailure::Interrupted));
    }
}
