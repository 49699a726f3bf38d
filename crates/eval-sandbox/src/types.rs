//! What is asked of the sandbox and what it answers: plain data.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::process_tree::known_signal;

/// A way of isolating programs, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// User, mount, pid, network, IPC and UTS namespaces, a root of its own, seccomp. Needs no
    /// privilege.
    Userns,
    /// The same without a user namespace. Needs CAP_SYS_ADMIN.
    Rootns,
    /// Landlock and seccomp on the caller's own file system: files can't be read or written, but
    /// what exists can be seen.
    Landlock,
    /// Limits and a clean environment only: the program can read the caller's files and reach the
    /// network.
    None,
}

impl Tier {
    pub fn name(self) -> &'static str {
        match self {
            Tier::Userns => "userns",
            Tier::Rootns => "rootns",
            Tier::Landlock => "landlock",
            Tier::None => "none",
        }
    }

    /// Jobs share the host's file system and processes, so that what they leave behind has to be
    /// cleared away.
    #[cfg(target_os = "linux")]
    pub(super) fn on_the_host(self) -> bool {
        matches!(self, Tier::Landlock | Tier::None)
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// What a program may use. The defaults are those of the product: 10 s, 256 MB, 1 MiB of each
/// stream kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Wall time of a program, from its start.
    pub wall: Duration,
    /// Processor time of each process, in whole seconds rounded up, and of the whole tree (by the
    /// watchdog); `None`: two seconds more than `wall` for each process, so that only several
    /// threads at once can use it up.
    pub cpu: Option<Duration>,
    /// Private memory, in MiB, of each process (by the kernel) and of the whole tree (by a
    /// watchdog, a little later).
    pub memory_mb: u64,
    /// Bytes kept of each stream; the rest is thrown away.
    pub output_bytes: u64,
    /// Bytes of one stream at which the job is killed: 16 MiB.
    pub output_end: u64,
    /// Bytes that what one call returns may take as text; where the harness compares it, also about
    /// as memory (64 MiB at least).
    pub return_bytes: u64,
    /// Keep the end of stderr instead of its beginning.
    pub stderr_tail: bool,
    /// Processes and threads.
    pub processes: u64,
    pub open_files: u64,
    /// Size of one file, in MiB. Everything in the private folder together may take 64 MiB in 4,096
    /// files.
    pub file_mb: u64,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        ProgramLimits {
            wall: Duration::from_secs(10),
            cpu: None,
            memory_mb: 256,
            output_bytes: 1 << 20,
            output_end: 16 << 20,
            return_bytes: 16 << 20,
            stderr_tail: false,
            processes: 32,
            // R does not start with fewer than 167.
            open_files: 256,
            file_mb: 16,
        }
    }
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramEnding {
    Exited(i32),
    /// By a signal that we did not send, for example SIGSEGV (11).
    Signaled(i32),
    TimedOut,
    MemoryLimit,
    OutputLimit,
    /// Its workspace exceeds [`WorkspaceJob::disk_mb`].
    DiskLimit,
    /// It tried what the sandbox forbids; in words.
    Violation(String),
}

impl std::fmt::Display for ProgramEnding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProgramEnding::Exited(code) => write!(f, "exited with code {code}"),
            ProgramEnding::Signaled(signal) => write!(f, "ended by {}", signal_name(*signal)),
            ProgramEnding::TimedOut => f.write_str("timed out"),
            ProgramEnding::MemoryLimit => f.write_str("ran out of memory"),
            ProgramEnding::OutputLimit => f.write_str("exceeded the output limit"),
            ProgramEnding::DiskLimit => f.write_str("exceeded the disk limit"),
            ProgramEnding::Violation(what) => write!(f, "sandbox violation: {what}"),
        }
    }
}

/// `SIGSEGV` for 11; numbers without a common name as `SIG<number>`.
pub fn signal_name(signal: i32) -> String {
    known_signal(signal).map_or_else(|| format!("SIG{signal}"), str::to_owned)
}

/// What was seen of a program: what it wrote, what it was refused, and the memory that it took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramStreams {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// More was written than is kept.
    pub stdout_truncated: bool,
    pub stderr_truncated: bool,
    /// The first system call that the sandbox refused its job, where that is noticed.
    pub refused_call: Option<&'static str>,
    /// Most resident memory of one of its processes, in KiB, where that is known. Pages of files
    /// count, which the limit leaves out.
    pub peak_kib: Option<u64>,
}

/// A program to run as it is.
#[derive(Debug, Clone, Default)]
pub struct ProgramJob {
    /// The program, looked up in PATH (`/usr/local/bin:/usr/bin:/bin`) when it holds no slash, and
    /// its arguments.
    pub argv: Vec<String>,
    /// Empty: the program reads the end at once.
    pub stdin: Vec<u8>,
    /// Added to the clean environment.
    pub env: Vec<(String, String)>,
    /// `env` is the whole environment.
    pub whole_env: bool,
    /// Files in the working folder: relative path, content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Those of `files` that may be executed.
    pub executables: Vec<String>,
    /// Where it runs; it must be a folder that can be seen inside. `None`: the private folder.
    pub dir: Option<PathBuf>,
    /// Never try it a second time, not even when it ran out of time for lack of a processor.
    pub once: bool,
    pub limits: ProgramLimits,
}

/// Where a workspace is inside.
pub const WORKSPACE_FOLDER: &str = "/workspace";
/// The empty home folder of a program in a workspace, in memory.
pub const WORKSPACE_HOME: &str = "/home/agent";
/// Where a program in a workspace leaves files for the caller, in memory.
pub const RESULTS_FOLDER: &str = "/results";

/// What a workspace is made of. Every folder is in [`super::WorkspaceSettings::store`], and belongs
/// to the user that programs run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceRoot {
    /// Layers that stay as they are, and one that takes what is written.
    Overlay(WorkspaceMount),
    /// A folder that is written to in place.
    Folder(PathBuf),
}

/// Folders of an overlay mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceMount {
    /// At least one, the topmost first. The upper folder of an earlier job is one once that job has
    /// ended.
    pub lowers: Vec<PathBuf>,
    /// On a file system that overlays may write to, which another overlay isn't.
    pub upper: PathBuf,
    /// On the same file system; each job makes a folder in it. Of no use afterwards.
    pub work: PathBuf,
}

/// A file or folder that a program in a workspace can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOnlyBind {
    /// In the store or in one of [`super::WorkspaceSettings::sources`].
    pub from: PathBuf,
    /// Absolute: in the workspace, in its home, in `/tmp`, or in one of the sources. In a workspace
    /// a missing place is made in what takes the writes; a place behind a symbolic link is an error.
    pub at: PathBuf,
}

/// A program to run in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceJob {
    /// The program, looked up in the PATH of its environment when it contains no slash, and its
    /// arguments. In the tiers that share the host's file system a word or a value of `env` that
    /// begins with [`WORKSPACE_FOLDER`], [`WORKSPACE_HOME`], [`RESULTS_FOLDER`] or a place of
    /// `read_only` is changed to where that is.
    pub argv: Vec<String>,
    /// Empty: the program reads the end at once.
    pub stdin: Vec<u8>,
    /// Added to the clean environment, where HOME is [`WORKSPACE_HOME`] and TMPDIR is `/tmp`.
    pub env: Vec<(String, String)>,
    /// Where it runs, relative to the workspace; empty: there.
    pub cwd: PathBuf,
    pub root: WorkspaceRoot,
    pub read_only: Vec<ReadOnlyBind>,
    pub limits: ProgramLimits,
    /// A file for stdout, instead of memory, and how many bytes of it are kept.
    pub stdout_file: Option<(PathBuf, u64)>,
    /// MiB on disk that the upper folder, or the folder in its place, may take. Looked at several
    /// times a second: a program exceeds it by what it writes between two looks.
    pub disk_mb: u64,
    /// MiB in memory for `/tmp`, and as much for the home folder. In the tiers that share the host's
    /// file system both together may take 512 MiB on disk.
    pub tmp_mb: u64,
}

impl WorkspaceJob {
    /// A job with the usual limits: 2 GiB of memory, of disk and of each file half, 512 processes,
    /// 4,096 open files, 512 MiB in `/tmp`.
    pub fn new(argv: Vec<String>, root: WorkspaceRoot) -> WorkspaceJob {
        WorkspaceJob {
            argv,
            stdin: Vec::new(),
            env: Vec::new(),
            cwd: PathBuf::new(),
            root,
            read_only: Vec::new(),
            limits: ProgramLimits {
                memory_mb: 2048,
                processes: 512,
                open_files: 4096,
                file_mb: 1024,
                ..ProgramLimits::default()
            },
            stdout_file: None,
            disk_mb: 2048,
            tmp_mb: 512,
        }
    }
}

/// What became of a program in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceResult {
    pub result: ProgramResult,
    /// Below [`RESULTS_FOLDER`], read after every process of the job had ended; nothing when a limit
    /// ended the program.
    pub results: Vec<(String, Vec<u8>)>,
    /// Whether files were left out: too many, too large, too deep, or names that are not UTF-8.
    pub results_cut: bool,
}

/// How workspaces can be made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountAbility {
    /// `renames`: `rename(2)` of a folder from a lower layer works; else it is EXDEV.
    Overlay { renames: bool },
    /// Only [`WorkspaceRoot::Folder`] works.
    Copy { why: String },
}

/// How often a program made a system call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ObservedCall {
    /// A number with `#` in front where the call is newer than this program.
    pub name: String,
    pub count: u64,
    /// How many of these the sandbox refused.
    pub refused: u64,
    /// A job would be ended by it.
    pub ends_program: bool,
}

/// What became of a program whose system calls were counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallObservation {
    pub result: ProgramResult,
    /// The most frequent first.
    pub calls: Vec<ObservedCall>,
}

/// What became of a program that makes files, such as a compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildResult {
    pub result: ProgramResult,
    /// What lies in its folder, when it ended with exit code 0: at most 256 files and 64 MiB.
    pub files: Vec<(String, Vec<u8>)>,
    /// Those of `files` that may be executed.
    pub executables: Vec<String>,
}

/// SQL for a new SQLite database.
#[derive(Debug, Clone, Default)]
pub struct QueryJob {
    /// The author's: runs first and without restrictions.
    pub setup: String,
    /// Must not reach anything beside the database.
    pub sql: String,
    /// A query whose rows are wanted in place of those of `sql`.
    pub check: Option<String>,
    /// `output_bytes` bounds the rows.
    pub limits: ProgramLimits,
}

/// The rows of the last statement that has columns; cells are tagged JSON.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryTable {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryStep {
    Setup,
    Statements,
    Check,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryFailure {
    /// In SQLite's words.
    Error {
        step: QueryStep,
        syntax: bool,
        message: String,
    },
    /// It tried what is forbidden.
    Denied {
        step: QueryStep,
        message: String,
    },
    Ended(ProgramEnding),
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryReport {
    pub outcome: Result<QueryTable, QueryFailure>,
    pub wall: Duration,
    pub cpu: Duration,
    /// It ran out of time for lack of a processor and was tried once more, alone.
    pub adjudicated: bool,
}

/// A program of Python or JavaScript for tests by stdin and stdout.
#[derive(Debug, Clone, Default)]
pub struct ScriptJob {
    pub code: String,
    pub stdin: Vec<u8>,
    pub args: Vec<String>,
    pub limits: ProgramLimits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramResult {
    pub ending: ProgramEnding,
    pub streams: ProgramStreams,
    pub wall: Duration,
    /// User and system time of the whole tree.
    pub cpu: Duration,
    /// It ran out of time on a busy machine and was tried once more alone; this is the result of
    /// that.
    pub adjudicated: bool,
}

/// One call of a function. Arguments and results are *tagged JSON*: plain JSON where that says
/// exactly what the value is, and an object with one `$` key where it doesn't: `{"$int": "0x..."}`
/// beyond 2^53, `{"$float": "nan|inf|-inf"}`, `{"$tuple": [...]}`, `{"$set": [...]}`,
/// `{"$frozenset": [...]}`, `{"$dict": [[key, value], ...]}` for keys that are not plain text,
/// `{"$counter"|"$odict": [[key, value], ...]}`, `{"$defaultdict": [[key, value], ...]}`,
/// `{"$deque": [[...], maxlen]}`, `{"$bytes": hex}`, `{"$bytearray": hex}`,
/// `{"$complex": [re, im]}`, `{"$range": [start, stop, step]}`, `{"$wtf8": hex}` for text with lone
/// surrogates, `{"$decimal": text}`, `{"$fraction": [n, d]}`, `{"$ellipsis": true}`,
/// `{"$type": builtin}`, `{"$iter": [...]}` for a generator or iterator,
/// `{"$dict_keys"|"$dict_values"|"$dict_items": [...]}`,
/// `{"$date"|"$datetime"|"$time"|"$uuid": text}`, `{"$timedelta": [days, seconds, microseconds]}`,
/// and in results `{"$opaque": type name, "truth": bool?}` for anything else, with its package
/// before the name (`pandas.DataFrame`) (`only_truth` for types that define equality).
#[derive(Debug, Clone, Default)]
pub struct FunctionCall {
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
}

/// Which values arrive as `{"$digest": hex, "floats": bool}` in place of tagged JSON. Equal digests
/// mean values of equal types and content; different ones mean nothing (sets have no order).
/// `floats`: a list or a tuple of floats only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BriefValues {
    /// Plain values of more bytes than this, as Python's `marshal` writes them.
    pub above: usize,
    /// Only values that equal a copy of themselves: none with NaN.
    pub only_equal: bool,
}

/// A function to call with each of `calls`, in order. What is expected stays with the caller, and
/// so does each call until the one before it is answered.
#[derive(Debug, Clone, Default)]
pub struct FunctionJob {
    pub code: String,
    /// A name, or a dotted path from one (`Solution.solve` is called on an instance, unless it is
    /// static).
    pub entry_point: String,
    pub calls: Vec<FunctionCall>,
    /// Time of each call, by our clock; `None`: only `limits.wall` counts.
    pub per_call: Option<Duration>,
    /// Time of single calls, by index, in place of `per_call`.
    pub each_call: Vec<Duration>,
    /// Large values of Python arrive as digests.
    pub brief: Option<BriefValues>,
    /// `Some`: no call is made after one that returned nothing, nor after the caller has set this
    /// while it read a value.
    pub enough: Option<Arc<AtomicBool>>,
    /// `wall` bounds each process; a call that is stuck or ends its process is followed by a new
    /// process for the calls that remain. All of them together get at most three times `wall`.
    pub limits: ProgramLimits,
}

/// An exception of the candidate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaisedException {
    pub type_name: String,
    /// Names of the type and its bases, from the type up.
    pub mro: Vec<String>,
    pub message: String,
    /// The last frames, as text.
    #[serde(default)]
    pub traceback: String,
}

/// Why nothing, or nothing more, could be had from the candidate. Every one is the candidate's
/// fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunFailure {
    SyntaxError {
        message: String,
        line: Option<u64>,
    },
    /// The program raised before its functions could be called.
    LoadRaised(RaisedException),
    /// The program ended before its tests did; `None`: not by an ordinary exit code.
    Exited {
        code: Option<i32>,
    },
    Ended(ProgramEnding),
    /// What a call returned is larger than [`ProgramLimits::return_bytes`].
    ReturnLimit,
    /// All calls together returned more than the harness reads of one job.
    ReturnTotal {
        most_mb: u64,
    },
    /// Tampering with the channel of results, in words.
    Forged {
        evidence: String,
    },
}

/// What became of a call. `T`: what the caller read from the tagged JSON that it returned.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome<T = Value> {
    Value(T),
    Raised(RaisedException),
    Failed(RunFailure),
    /// The time or the number of processes for the whole job was used up.
    NotRun,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallReport<T = Value> {
    pub outcome: CallOutcome<T>,
    /// From the request to the answer, by our clock.
    pub wall: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FunctionReport<T = Value> {
    /// Set when the program never came to its first call; then every call says the same.
    pub load_failure: Option<RunFailure>,
    /// One per call, in order.
    pub calls: Vec<CallReport<T>>,
    /// Of the first process.
    pub streams: ProgramStreams,
    pub wall: Duration,
    pub cpu: Duration,
    /// How many processes it took.
    pub processes: u32,
    /// As in [`ProgramResult`].
    pub adjudicated: bool,
}

/// Where tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestMode {
    /// Nowhere: the tests only compare results with plain values, so that the calls are made and
    /// the harness compares.
    Compared,
    /// In a process that never loads the candidate's code and calls it through plain data.
    Split,
    /// In the candidate's interpreter: a determined program can forge the verdict.
    InProcess,
}

/// Which mode a test gets and why, by the test alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeChoice {
    pub mode: TestMode,
    /// Names that the tests take from the candidate.
    pub names: Vec<String>,
    /// Why the tests need the candidate's interpreter; empty for `Split`.
    pub why: String,
}

/// Tests written in Python, against one candidate.
#[derive(Debug, Clone, Default)]
pub struct TestJob {
    pub code: String,
    /// Runs after the candidate's code and before the tests. Its import statements are run on the
    /// candidate's side too, as in one program they would be.
    pub setup: String,
    /// Run one after the other; the verdict names the one that failed by its index.
    pub tests: Vec<String>,
    /// The function handed to `check`, and the one that a job is about.
    pub entry_point: Option<String>,
    /// After the tests were run, call this function of theirs with the entry point (HumanEval's
    /// `check`).
    pub check: Option<String>,
    /// `None`: decided from the tests.
    pub mode: Option<TestMode>,
    pub limits: ProgramLimits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestVerdict {
    Passed,
    /// An assertion of the tests does not hold.
    AssertionFailed {
        /// Which of `tests`.
        index: usize,
        /// The line in it, from 1, and its text.
        line: u64,
        source: String,
        message: String,
        /// What the calls in it returned, as tagged JSON; empty where that is not known or too
        /// large.
        returned: Vec<Value>,
    },
    CandidateRaised(RaisedException),
    /// The tests raised while they looked at what the candidate returned.
    TestRaised(RaisedException),
    /// The test itself is broken: not the candidate's fault.
    TestError(RaisedException),
    /// The test used a value that can't cross between processes.
    Opaque {
        type_name: String,
    },
    /// The tests failed in a process of their own, and share more with the code than plain data:
    /// the failure may be theirs.
    Uncertain {
        why: String,
    },
    /// In split mode a test wanted to hand the candidate what can't cross. Run it in process.
    NeedsInProcess {
        why: String,
    },
    /// The code changed what tests in its process compare by, so that they prove nothing.
    Unsound {
        why: String,
    },
    Failed(RunFailure),
}

#[derive(Debug, Clone, PartialEq)]
pub struct TestReport {
    pub verdict: TestVerdict,
    pub mode: TestMode,
    /// Why the mode is `InProcess`; else empty.
    pub mode_reason: String,
    /// Calls of the candidate that were answered (0 in process, where nobody counts).
    pub calls: u64,
    /// What the candidate wrote.
    pub streams: ProgramStreams,
    pub wall: Duration,
    pub cpu: Duration,
    /// As in [`ProgramResult`].
    pub adjudicated: bool,
}
