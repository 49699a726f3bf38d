//! How a process of a job ended, from what its minder or its server, the limits that we keep and
//! its streams tell.

use std::time::Duration;

use super::capture::{ChannelLine, ChannelLines, StreamCapture};
use super::launch::cpu_seconds;
use super::types::{ProgramEnding, ProgramLimits, ProgramStreams};

/// Why we ended a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StopReason {
    TimedOut,
    /// It used up its processor time.
    Cpu,
    Memory,
    Output,
    /// What it wrote to disk.
    Disk,
    /// It started more processes than it may, where no limit of the kernel's counts a job's alone.
    Processes,
    /// We have what we wanted, or nobody wants it any more.
    NotNeeded,
}

/// What is said of an ended process. `status` is the minder's where there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessExit {
    pub status: i32,
    pub cpu: Duration,
    /// Most resident memory of one process; 0 if unknown.
    pub peak_kib: u64,
}

/// A process of a running job.
pub(super) struct RunningProcess {
    pub stdout: StreamCapture,
    pub stderr: StreamCapture,
    /// From its minder, if it has one.
    pub status: Option<ChannelLines>,
    pub reaped: Option<ProcessExit>,
    /// Processor time of its tree when it was killed: what the cell tells leaves out whoever is not
    /// waited for.
    pub seen: Duration,
}

/// A process of a finished job.
#[derive(Debug)]
pub(super) struct EndedProcess {
    /// `Err`: it could not be started, in words.
    pub ending: Result<ProgramEnding, String>,
    /// The true wait status was told, so nobody but itself ended it.
    pub by_itself: bool,
    /// Why what it printed could not be written to its file.
    pub unwritten: Option<String>,
    pub streams: ProgramStreams,
    pub cpu: Duration,
}

/// What is known of a process once everything that belongs to it ended.
pub(super) fn conclude(
    mut process: RunningProcess,
    stop: Option<StopReason>,
    limits: &ProgramLimits,
) -> EndedProcess {
    process.stdout.drain();
    process.stderr.drain();
    let over = process.stdout.is_over() || process.stderr.is_over();
    let has_minder = process.status.is_some();
    // A failure to start is told twice: by the child why, then by the minder that it ended.
    let told = match process.status.as_mut().map(ChannelLines::next) {
        Some(ChannelLine::Whole(line)) => Some(String::from_utf8_lossy(&line).into_owned()),
        _ => None,
    };
    let cpu = process
        .reaped
        .map_or(Duration::ZERO, |r| r.cpu)
        .max(process.seen);
    let status = match process.status {
        Some(_) => told
            .as_deref()
            .and_then(|t| t.strip_prefix('S'))
            .and_then(|t| t.parse::<i32>().ok()),
        // A kill that we sent is no ending of its own.
        None => process
            .reaped
            .map(|r| r.status)
            .filter(|s| stop.is_none() || !was_killed(*s)),
    };
    let failure = told.as_deref().and_then(|t| t.strip_prefix('F'));
    let unwritten = process.stdout.fault.take();
    let ending = match (failure.map(str::to_owned), status, stop) {
        (Some(reason), _, _) => Err(reason),
        (_, _, Some(StopReason::Output)) if over => Ok(ProgramEnding::OutputLimit),
        (_, Some(status), _) => Ok(from_status(status, cpu, limits)),
        (_, None, Some(StopReason::TimedOut | StopReason::Cpu)) => Ok(ProgramEnding::TimedOut),
        (_, None, Some(StopReason::Memory)) => Ok(ProgramEnding::MemoryLimit),
        (_, None, Some(StopReason::Output)) => Ok(ProgramEnding::OutputLimit),
        (_, None, Some(StopReason::Disk)) => Ok(ProgramEnding::DiskLimit),
        (_, None, Some(StopReason::Processes)) => Ok(ProgramEnding::Violation(
            "more processes than the limit".to_owned(),
        )),
        (_, None, Some(StopReason::NotNeeded) | None) => Ok(ProgramEnding::Signaled(libc::SIGKILL)),
    };
    let streams = ProgramStreams {
        stdout_truncated: process.stdout.truncated(),
        stderr_truncated: process.stderr.truncated(),
        stdout: process.stdout.kept,
        stderr: process.stderr.kept,
        refused_call: None,
        // A minder that was killed knows nothing of its program.
        peak_kib: process
            .reaped
            .map(|exit| exit.peak_kib)
            .filter(|peak| *peak > 0 && (status.is_some() || !has_minder)),
    };
    EndedProcess {
        ending,
        by_itself: status.is_some(),
        unwritten: unwritten.map(|error| error.to_string()),
        streams,
        cpu,
    }
}

fn was_killed(status: i32) -> bool {
    libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL
}

fn from_status(status: i32, cpu: Duration, limits: &ProgramLimits) -> ProgramEnding {
    if !libc::WIFSIGNALED(status) {
        return ProgramEnding::Exited(libc::WEXITSTATUS(status));
    }
    match libc::WTERMSIG(status) {
        libc::SIGSYS => ProgramEnding::Violation("a forbidden system call".to_owned()),
        libc::SIGXCPU => ProgramEnding::TimedOut,
        // The hard limit of CPU time.
        libc::SIGKILL if cpu >= Duration::from_secs(cpu_seconds(limits)) => ProgramEnding::TimedOut,
        signal => ProgramEnding::Signaled(signal),
    }
}
