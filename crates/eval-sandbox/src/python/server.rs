//! A fork server: an interpreter that stays, warm, in a cell and forks a process per job.
//!
//! What is said between it and us stands at the head of `server.py`. It holds nothing of any job:
//! what a job is about travels by descriptor to the fork. So it may serve many, and a job that ends
//! badly says nothing about it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use serde_json::{Map, Value};

use super::{PythonJob, PythonRuntime, RunnerKind, START_SERVER};
use crate::capture::{ChannelLine, ChannelLines};
use crate::channel::{CellLink, message_pair, pipe, sealed_file, send};
use crate::error::SandboxError;
use crate::filter;
use crate::host::{PipeEnds, SandboxCell, TMP_INODES, TMP_MB, input};
use crate::launch::{ProcessLaunch, process_limits};
use crate::memory::{MemoryMeasure, held_kib, process_of, processes};
use crate::running::{StartedJob, begin};
use crate::same_core::SameCore;
use crate::syscalls::kill_by_pidfd;
use crate::types::ProgramLimits;

/// How long an interpreter may take to get warm.
const WARM_UP: Duration = Duration::from_secs(30);
/// How often, in jobs, the memory of a server is looked at, and how much it may hold.
const LOOK_EVERY: u32 = 100;
const MOST_KIB: u64 = 128 << 10;

/// A running fork server. Dropping it ends it, but not what it forked.
pub(crate) struct ForkServer {
    pub link: CellLink,
    /// `None` when it can't be found out.
    process: Option<u32>,
    /// The core that it and its next jobs are bound to.
    core: Option<usize>,
    jobs: u32,
    python: PythonRuntime,
    /// Kept open: its end would be a signal to the server when it writes.
    _output: PipeEnds,
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        self.link.process.iter().for_each(kill_by_pidfd);
    }
}

impl ForkServer {
    /// Starts one in a cell and waits until it is warm.
    pub fn open(cell: &SandboxCell, python: &PythonRuntime) -> io::Result<ForkServer> {
        let (ours, theirs) = message_pair()?;
        let code = python.compiled("server");
        let mut program = format!("{}\n", code.len()).into_bytes();
        program.extend(code);
        program.extend(serde_json::to_vec(&settings(python, &cell.below_tmp))?);
        // The limits are those of its jobs, which set them themselves.
        let limits = process_limits(&ProgramLimits::default());
        let mut launch = ProcessLaunch::new(python.argv(START_SERVER, &[]), &[], limits);
        launch.extra = vec![theirs, sealed_file(&program)?];
        let (pidfd, mut output) = cell.start_server(launch)?;
        let status = output.status.take();
        let link = CellLink {
            process: Some(pidfd),
            cgroup: cell.link.cgroup.clone(),
            grace: cell.link.grace,
            listener: cell.link.listener.clone(),
            ..CellLink::new(ours)
        };
        let process = link.process.as_ref().and_then(process_of);
        let server = ForkServer {
            link,
            process,
            core: None,
            jobs: 0,
            python: python.clone(),
            _output: output,
        };
        let mut buffer = [0u8; 16];
        match server.link.wait(&mut buffer, WARM_UP)? {
            (1, _) if buffer.first() == Some(&b'R') => Ok(server),
            _ => Err(io::Error::other(server.last_words(status))),
        }
    }

    /// Why it did not get warm.
    fn last_words(&self, status: Option<OwnedFd>) -> String {
        let streams = [status, self._output.stderr.try_clone().ok()];
        let mut said = String::new();
        for stream in streams.into_iter().flatten() {
            let Ok(mut lines) = ChannelLines::new(stream) else {
                continue;
            };
            while let ChannelLine::Whole(line) = lines.next() {
                said = String::from_utf8_lossy(&line).into_owned();
            }
        }
        format!("the fork server did not start: {said}")
    }

    /// Whether it is a server of that interpreter.
    pub fn serves(&self, python: &PythonRuntime) -> bool {
        self.python.is_same(python)
    }

    /// Whether it has done enough: a new one takes over now and then, so that nothing grows without
    /// end.
    pub fn is_spent(&self, most_jobs: u32) -> bool {
        let look = self.jobs > 0 && self.jobs.is_multiple_of(LOOK_EVERY);
        let held = || {
            held_kib(
                &processes(self.link.process.as_slice()),
                MemoryMeasure::Resident,
            )
        };
        self.jobs >= most_jobs || look && held() > MOST_KIB
    }

    /// Lets the server, and what it forks from now on, run where the calling thread runs.
    pub fn follow(&mut self, same_core: &SameCore) {
        let core = same_core.core();
        if let Some(process) = self.process.filter(|_| core != self.core) {
            same_core.apply(process);
            self.core = core;
        }
    }

    /// Forks the processes of a job and waits until all of them run.
    pub fn begin(
        &mut self,
        jobs: Vec<PythonJob>,
        limits: &ProgramLimits,
    ) -> Result<StartedJob, SandboxError> {
        self.jobs += 1;
        begin(&mut self.link, limits, |link| request(link, jobs, limits))
    }
}

fn request(
    link: &CellLink,
    jobs: Vec<PythonJob>,
    limits: &ProgramLimits,
) -> io::Result<Vec<PipeEnds>> {
    let most = |value: u64| value.min(i64::MAX as u64 - 1);
    let limits = process_limits(limits);
    let mut message = format!(
        "J {} {} {} {} {} {}",
        most(limits.cpu_seconds),
        most(limits.data_bytes),
        most(limits.file_bytes),
        most(limits.processes),
        most(limits.open_files),
        most(limits.address_bytes),
    );
    let mut theirs: Vec<OwnedFd> = Vec::new();
    let mut ours = Vec::new();
    for job in jobs {
        let before = theirs.len();
        theirs.push(sealed_file(&job.request)?);
        if job.runner == RunnerKind::Script {
            theirs.push(input(&job.stdin)?);
        }
        let (out_read, out_write) = pipe()?;
        let (err_read, err_write) = pipe()?;
        theirs.extend([out_write, err_write]);
        theirs.extend(job.extra);
        ours.push(PipeEnds {
            stdout: out_read,
            stderr: err_read,
            status: None,
        });
        message.push_str(&format!(" {} {}", job.runner.name(), theirs.len() - before));
    }
    let fds: Vec<_> = theirs.iter().map(|fd| fd.as_fd()).collect();
    send(link.socket.as_fd(), message.as_bytes(), &fds)?;
    Ok(ours)
}

/// What `server.py` finds in `SETTINGS`: read there as Python, so without `true`, `false` and
/// `null`.
fn settings(python: &PythonRuntime, below_tmp: &[(String, String)]) -> Value {
    let runners: Map<String, Value> = python
        .runners
        .iter()
        .filter(|(name, _)| *name != "server")
        .map(|(name, code)| (name.clone(), Value::from(code.as_str())))
        .collect();
    let filter = filter::to_bytes(&filter::job_extra());
    let filter = eval_base::text::hex(&filter);
    serde_json::json!({
        "namespaces": 1,
        "folder": format!("size={TMP_MB}m,nr_inodes={TMP_INODES},mode=700"),
        "filter": filter,
        "below_tmp": below_tmp,
        "site": python.site,
        "runners": runners,
    })
}
