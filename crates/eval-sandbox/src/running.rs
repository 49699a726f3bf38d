//! A job while it runs: one loop that listens to everything at once and keeps the limits.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use super::adjudicate::CpuShortage;
use super::capture::{ChannelLine, ChannelLines, StreamCapture};
use super::cgroup::MemoryKills;
use super::channel::{CellLink, Outbox, poll_entry, receive};
use super::ending::{EndedProcess, ProcessExit, RunningProcess, StopReason, conclude};
use super::error::SandboxError;
use super::host::{DiskWatch, PipeEnds};
use super::memory::{self, MemoryMeasure};
use super::protocol::{CellMessage, told};
use super::same_core::{PATIENCE, SameCore};
use super::syscalls::{kill_by_pidfd, poll};
use super::types::{ProgramEnding, ProgramLimits};

/// How often the memory of the tree is looked at.
const LOOK_AT_MEMORY: Duration = Duration::from_millis(25);
/// The same for a job that has run for long, where the kernel bounds what all of it holds: many such
/// jobs, such as agents that wait for their models, would else keep a processor busy. Not while the
/// disk fills.
const LOOK_AT_LONG_JOB: Duration = Duration::from_millis(200);
/// A job that has run for this long is a long one.
const LONG_JOB: Duration = Duration::from_secs(2);
/// What a hypervisor takes away is dear to ask for, and does not matter to a job that is over
/// sooner.
const LONG_ENOUGH: Duration = Duration::from_millis(100);
/// Looking takes at most one part in this many of a worker's time, however large the tree is.
const LOOKS_SHARE: u32 = 20;
/// What an interpreter may hold beyond the limit of its data: the limit itself is kept by the
/// kernel.
const MEMORY_SLACK_MB: u64 = 64;
/// How long a cell may take to start or to end processes before it is given up.
const CELL_PATIENCE: Duration = Duration::from_secs(30);

/// Longer than this nothing runs; points in time beyond could not be computed.
const FOREVER: Duration = Duration::from_secs(30 * 24 * 3600);

/// A time that a user wrote, as one that can be added to now.
pub(super) fn bounded(time: Duration) -> Duration {
    time.min(FOREVER)
}

/// What was heard on a job's channel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChannelEvent {
    Line(Vec<u8>),
    /// It closed, or its process ended; true when the last line was cut off.
    End(bool),
    TooLong,
    /// `until` passed.
    Late,
    /// A limit was hit and the job was killed.
    Stopped,
}

pub(super) struct RunningJob<'c> {
    link: &'c mut CellLink,
    cancel: BorrowedFd<'c>,
    processes: Vec<RunningProcess>,
    pidfds: Vec<OwnedFd>,
    limits: ProgramLimits,
    /// When the processes ran.
    pub started: Instant,
    deadline: Instant,
    stop: Option<(StopReason, Instant)>,
    next_look: Instant,
    finished: bool,
    /// The cell ended because its group was out of memory: its processes ended with it.
    cell_lost: bool,
    /// When the answer that we wait for was asked for.
    asked: Instant,
    /// What the cell's control group had counted before.
    kills: MemoryKills,
    /// How long this thread had waited for a processor before, and what a hypervisor had taken.
    own_delay: Duration,
    stolen: Option<Duration>,
    same_core: SameCore,
    /// When the job gave the last sign, or was asked for one.
    awake: Instant,
    /// The size of what a job writes to outside of its own folder.
    pub disk: Option<DiskWatch>,
}

/// A job whose processes run, and that nobody watches yet.
pub(super) struct StartedJob {
    ends: Vec<PipeEnds>,
    pidfds: Vec<OwnedFd>,
    /// Those that ended before the last one started.
    ended: Vec<(usize, ProcessExit)>,
    /// What the cell's control group had counted before.
    kills: MemoryKills,
}

/// Sends a job off and waits until all its processes run. An error says nothing about them: none
/// has run anything that is not ours. Whatever went wrong leaves the other side in a state that we
/// don't know.
pub(super) fn begin(
    link: &mut CellLink,
    limits: &ProgramLimits,
    request: impl FnOnce(&CellLink) -> std::io::Result<Vec<PipeEnds>>,
) -> Result<StartedJob, SandboxError> {
    link.broken = true;
    let kills = match &link.cgroup {
        Some(group) => {
            let mut group = group.get();
            group.hold(limits)?;
            group.kills()
        }
        None => MemoryKills::default(),
    };
    link.listener
        .iter()
        .for_each(|listener| listener.get().begin());
    let ends = request(link)?;
    let mut started = StartedJob {
        ends,
        pidfds: Vec::new(),
        ended: Vec::new(),
        kills,
    };
    let mut buffer = [0u8; 128];
    let mut left = started.ends.len();
    while left > 0 {
        let (length, fds) = link.wait(&mut buffer, CELL_PATIENCE)?;
        match told(buffer.get(..length).unwrap_or_default(), fds) {
            CellMessage::Started { pidfds, all } => {
                started.pidfds.extend(pidfds);
                left = if all { 0 } else { left - 1 };
            }
            CellMessage::Ended { index, exit } => started.ended.push((index, exit)),
            CellMessage::Failed(reason) => return Err(SandboxError::lost(reason)),
            CellMessage::Gone => return Err(SandboxError::lost("the cell ended")),
        }
    }
    Ok(started)
}

impl<'c> RunningJob<'c> {
    /// Watches a job. `cancel` becomes readable (closed) when nobody wants the result any more.
    pub fn new(
        link: &'c mut CellLink,
        cancel: BorrowedFd<'c>,
        started: StartedJob,
        limits: &ProgramLimits,
        same_core: SameCore,
    ) -> Result<RunningJob<'c>, SandboxError> {
        let mut processes = Vec::new();
        for end in started.ends {
            processes.push(RunningProcess {
                stdout: StreamCapture::new(
                    end.stdout,
                    limits.output_bytes,
                    limits.output_end,
                    false,
                )?,
                stderr: StreamCapture::new(
                    end.stderr,
                    limits.output_bytes,
                    limits.output_end,
                    limits.stderr_tail,
                )?,
                status: end.status.map(ChannelLines::new).transpose()?,
                reaped: None,
                seen: Duration::ZERO,
            });
        }
        let now = Instant::now();
        let mut running = RunningJob {
            link,
            cancel,
            processes,
            pidfds: started.pidfds,
            limits: limits.clone(),
            started: now,
            deadline: now + bounded(limits.wall),
            stop: None,
            next_look: now + LOOK_AT_MEMORY,
            finished: false,
            cell_lost: false,
            asked: now,
            kills: started.kills,
            own_delay: memory::own_delay(),
            stolen: None,
            same_core,
            awake: now,
            disk: None,
        };
        for (index, reaped) in started.ended {
            running.reaped(index, reaped);
        }
        if let Some(listener) = &running.link.listener {
            listener.get().answer_early(&running.pidfds);
        }
        Ok(running)
    }

    /// Writes up to `keep` bytes of the first process' stdout to a file. Call it at once.
    pub fn write_stdout(&mut self, file: std::fs::File, keep: u64) {
        if let Some(process) = self.processes.first_mut() {
            process.stdout.write_to(file, keep);
        }
    }

    /// The next line of a channel, at most until `until` and never beyond the job's own time.
    pub fn hear(
        &mut self,
        lines: &mut ChannelLines,
        until: Instant,
    ) -> Result<ChannelEvent, SandboxError> {
        self.converse(lines, &mut Outbox::default(), until)
    }

    /// The same, while what is in the outbox is written to the channel as it takes it.
    pub fn converse(
        &mut self,
        lines: &mut ChannelLines,
        outbox: &mut Outbox,
        until: Instant,
    ) -> Result<ChannelEvent, SandboxError> {
        self.asked = Instant::now();
        self.awake = self.asked;
        loop {
            let all_ended = self.all_ended();
            // The answer to what was just sent is not there yet: a look would be in vain.
            let vain = outbox.flush(lines.fd()) && !all_ended && !lines.holds_more();
            match if vain {
                ChannelLine::Waiting
            } else {
                lines.next()
            } {
                ChannelLine::Whole(line) => {
                    self.same_core
                        .answered(self.asked.elapsed(), || memory::processes(&self.pidfds));
                    return Ok(ChannelEvent::Line(line));
                }
                ChannelLine::TooLong => return Ok(ChannelEvent::TooLong),
                ChannelLine::End(cut) => return Ok(ChannelEvent::End(cut)),
                // Nobody is left to say more, although an unrelated process may still hold the
                // descriptor.
                ChannelLine::Waiting if all_ended => return Ok(ChannelEvent::End(false)),
                ChannelLine::Waiting => {}
            }
            if self.stop.is_some() {
                return Ok(ChannelEvent::Stopped);
            }
            if Instant::now() >= until {
                return Ok(ChannelEvent::Late);
            }
            let events = if outbox.is_empty() {
                libc::POLLIN
            } else {
                libc::POLLIN | libc::POLLOUT
            };
            self.step(until, Some((lines.raw_fd(), events)))?;
        }
    }

    /// How long a program that has nothing more to do may take to end. An honest one never needs
    /// it: periods that expire are counted
    /// ([`ServerReport::expired_graces`](super::settings::ServerReport)).
    pub fn grace(&self) -> Duration {
        self.link.grace
    }

    /// Adds time that was not the job's.
    pub fn extend(&mut self, time: Duration) {
        self.deadline += time;
    }

    /// Waits until the processes ended by themselves, at most for [`RunningJob::grace`] and never
    /// beyond the job's own time.
    pub fn let_end(&mut self) -> Result<(), SandboxError> {
        let until = Instant::now() + self.grace();
        while !self.all_ended() && self.stop.is_none() && Instant::now() < until {
            self.step(until, None)?;
        }
        if !self.all_ended() {
            self.count_expired_grace();
        }
        Ok(())
    }

    /// A program did not end within [`RunningJob::grace`].
    pub fn count_expired_grace(&mut self) {
        self.link.expired_graces += 1;
    }

    fn all_ended(&self) -> bool {
        self.processes.iter().all(|p| p.reaped.is_some())
    }

    /// Waits for the end, which the limits bring about.
    pub fn finish(mut self) -> Result<Vec<EndedProcess>, SandboxError> {
        while !self.all_ended() {
            if self
                .stop
                .is_some_and(|(_, at)| at.elapsed() > CELL_PATIENCE)
            {
                return Err(SandboxError::lost("a killed job did not end"));
            }
            self.step(self.deadline, None)?;
        }
        self.finished = true;
        self.link.broken = self.cell_lost;
        let refused_call = self
            .link
            .listener
            .as_ref()
            .and_then(|listener| listener.get().first());
        let stop = self.stop.map(|(stop, _)| stop);
        let limits = self.limits.clone();
        let mut ended: Vec<EndedProcess> = self
            .processes
            .drain(..)
            .map(|p| conclude(p, stop, &limits))
            .collect();
        ended
            .iter_mut()
            .for_each(|e| e.streams.refused_call = refused_call);
        let killed = |e: &EndedProcess| {
            e.ending == Ok(ProgramEnding::Signaled(libc::SIGKILL))
                && (e.by_itself || matches!(stop, None | Some(StopReason::NotNeeded)))
        };
        if ended.iter().any(killed) {
            let kills = self.counted_kills();
            if kills.of_machine_since(self.kills) {
                return Err(SandboxError::lost("the machine ran out of memory"));
            }
            if kills.of_limit_since(self.kills) {
                ended
                    .iter_mut()
                    .filter(|e| killed(e))
                    .for_each(|e| e.ending = Ok(ProgramEnding::MemoryLimit));
            }
        }
        Ok(ended)
    }

    fn counted_kills(&self) -> MemoryKills {
        self.link
            .cgroup
            .as_ref()
            .map(|group| group.get().kills())
            .unwrap_or_default()
    }

    /// Ends the job now; how it ends is of no interest.
    pub fn end(mut self) -> Result<Vec<EndedProcess>, SandboxError> {
        self.kill(StopReason::NotNeeded);
        self.finish()
    }

    /// Ends the job because it took too long.
    pub fn end_late(mut self) -> Result<Vec<EndedProcess>, SandboxError> {
        self.kill(StopReason::TimedOut);
        self.finish()
    }

    fn kill(&mut self, why: StopReason) {
        if self.stop.is_none() {
            // Measuring a fork bomb would give it time.
            if !matches!(why, StopReason::NotNeeded | StopReason::Processes) {
                // A fork server tells two for each process: its own, and the first of its
                // namespace.
                let each = self.pidfds.len() / self.processes.len().max(1);
                for (process, pidfds) in self
                    .processes
                    .iter_mut()
                    .zip(self.pidfds.chunks(each.max(1)))
                {
                    process.seen = memory::cpu(&memory::processes(pidfds));
                }
            }
            if why == StopReason::TimedOut {
                let shortage = self.shortage();
                self.link.late.push(shortage);
            }
            self.stop = Some((why, Instant::now()));
        }
        self.pidfds.iter().for_each(kill_by_pidfd);
    }

    /// What the job has had of the processors until now.
    fn shortage(&self) -> CpuShortage {
        let processes = memory::processes(&self.pidfds);
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let stolen = self.stolen.map_or(Duration::ZERO, |before| {
            memory::stolen().saturating_sub(before)
        });
        let living = memory::scheduled(&processes);
        let cpu: Duration = self.processes.iter().map(|process| process.seen).sum();
        // Either the time of the whole job is up, or that of the answer that is waited for.
        let since = if Instant::now() >= self.deadline {
            self.started
        } else {
            self.asked
        };
        CpuShortage {
            age: self.started.elapsed(),
            window: since.elapsed(),
            cpu: cpu.max(living.map_or(Duration::ZERO, |l| l.cpu)),
            living,
            ours: memory::own_delay().saturating_sub(self.own_delay),
            stolen: stolen / processors,
        }
    }

    /// Waits once, at most until `until`, and deals with what happened.
    fn step(
        &mut self,
        until: Instant,
        channel: Option<(RawFd, libc::c_short)>,
    ) -> Result<(), SandboxError> {
        let now = Instant::now();
        let running = self.stop.is_none();
        if running && now >= self.deadline {
            self.kill(StopReason::TimedOut);
        } else if running && now >= self.next_look {
            self.look();
            let is_long = self.link.cgroup.is_some() && self.started.elapsed() > LONG_JOB;
            let fills = self.disk.as_mut().is_some_and(DiskWatch::is_filling);
            let pause = if is_long && !fills {
                LOOK_AT_LONG_JOB
            } else {
                LOOK_AT_MEMORY
            };
            self.next_look = Instant::now() + pause.max(now.elapsed() * LOOKS_SHARE);
        }
        if self.same_core.core().is_some() && now >= self.awake + PATIENCE {
            self.same_core.free(|| memory::processes(&self.pidfds));
        }
        let mut wake = until
            .min(self.deadline)
            .min(self.next_look)
            .saturating_duration_since(now);
        if self.same_core.core().is_some() {
            wake = wake.min((self.awake + PATIENCE).saturating_duration_since(now));
        }
        if self.stop.is_some() {
            wake = LOOK_AT_MEMORY;
        }
        let [message, process, calls] = self.link.poll_entries();
        let mut entries = vec![
            message,
            process,
            calls,
            poll_entry(
                if self.stop.is_none() {
                    self.cancel.as_raw_fd()
                } else {
                    -1
                },
                libc::POLLIN,
            ),
            channel.map_or(poll_entry(-1, 0), |(fd, events)| poll_entry(fd, events)),
        ];
        for process in &self.processes {
            entries.push(poll_entry(process.stdout.raw_fd(), libc::POLLIN));
            entries.push(poll_entry(process.stderr.raw_fd(), libc::POLLIN));
        }
        let wake_ms = i32::try_from(wake.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        poll(&mut entries, wake_ms)?;
        let happened = |i: usize| entries.get(i).is_some_and(|e| e.revents != 0);
        let mut over = false;
        for (i, process) in self.processes.iter_mut().enumerate() {
            for (k, capture) in [&mut process.stdout, &mut process.stderr]
                .into_iter()
                .enumerate()
            {
                if happened(5 + 2 * i + k) {
                    capture.pump();
                    over |= capture.is_over();
                }
            }
        }
        if over {
            self.kill(StopReason::Output);
        }
        if happened(3) {
            self.kill(StopReason::NotNeeded);
        }
        if let (Some(listener), Some(calls)) = (&self.link.listener, entries.get(2))
            && calls.revents != 0
        {
            listener.get().answer(calls.revents, Some(&self.pidfds));
        }
        if happened(0) {
            self.listen_to_cell()?;
        } else if happened(1) {
            return self.lose_cell();
        }
        Ok(())
    }

    /// Memory and processor time of the whole tree.
    fn look(&mut self) {
        if self.stolen.is_none() && self.started.elapsed() >= LONG_ENOUGH {
            self.stolen = Some(memory::stolen());
        }
        let most_kib = self
            .limits
            .memory_mb
            .saturating_add(MEMORY_SLACK_MB)
            .saturating_mul(1 << 10);
        // The group holds more than the job: when that is little, nobody need be asked.
        let held = self
            .link
            .cgroup
            .as_ref()
            .and_then(|group| group.get().held_kib());
        let is_little = held.is_some_and(|kib| kib <= most_kib);
        // The kernel was first: what it ended made room, and the rest may wait for ever.
        if self.counted_kills().of_limit_since(self.kills) {
            self.kill(StopReason::Memory);
            return;
        }
        if self
            .link
            .disk
            .as_mut()
            .is_some_and(|disk| disk.is_over(|| 0))
        {
            self.kill(StopReason::Output);
            return;
        }
        let pidfds = &self.pidfds;
        let unlinked = || memory::unlinked_bytes(&memory::processes(pidfds));
        let disk = self.disk.as_mut();
        if disk.is_some_and(|disk| disk.is_over(unlinked)) {
            self.kill(StopReason::Disk);
            return;
        }
        if is_little && self.limits.cpu.is_none() && !self.link.counts_processes {
            return;
        }
        let processes = memory::processes(&self.pidfds);
        if self.link.counts_processes && memory::threads(&processes) > self.most_threads() {
            self.kill(StopReason::Processes);
            return;
        }
        if self
            .limits
            .cpu
            .is_some_and(|most| memory::cpu(&processes) > most)
        {
            self.kill(StopReason::Cpu);
            return;
        }
        let exceeds = |measure| memory::held_kib(&processes, measure) > most_kib;
        if !is_little && exceeds(MemoryMeasure::Resident) && exceeds(MemoryMeasure::Proportional) {
            self.kill(StopReason::Memory);
        }
    }

    /// Of all processes of the job: each may have what a namespace would let it have, and its
    /// minder comes on top.
    fn most_threads(&self) -> u64 {
        self.limits
            .processes
            .saturating_add(1)
            .saturating_mul(self.processes.len() as u64)
    }

    fn listen_to_cell(&mut self) -> Result<(), SandboxError> {
        let mut buffer = [0u8; 128];
        let (length, fds) = receive(self.link.socket.as_fd(), &mut buffer)?;
        match told(buffer.get(..length).unwrap_or_default(), fds) {
            CellMessage::Ended { index, exit } => {
                self.reaped(index, exit);
                Ok(())
            }
            CellMessage::Failed(reason) => Err(SandboxError::lost(reason)),
            CellMessage::Started { .. } | CellMessage::Gone => self.lose_cell(),
        }
    }

    fn reaped(&mut self, index: usize, reaped: ProcessExit) {
        if let Some(process) = self.processes.get_mut(index) {
            process.reaped = Some(reaped);
        }
    }
}

impl RunningJob<'_> {
    /// The cell is gone. When the kernel took it to make room in its group, the job is to blame: it
    /// filled the group with so many processes that each was smaller than the cell.
    fn lose_cell(&mut self) -> Result<(), SandboxError> {
        if !self.counted_kills().of_limit_since(self.kills) {
            return Err(SandboxError::lost("the cell ended"));
        }
        self.cell_lost = true;
        self.kill(StopReason::Memory);
        self.processes.iter_mut().for_each(|p| {
            p.reaped = Some(ProcessExit {
                status: libc::SIGKILL,
                cpu: Duration::ZERO,
                peak_kib: 0,
            })
        });
        Ok(())
    }
}

impl Drop for RunningJob<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The link stays marked as broken, so its owner drops it; until then nothing of the job
            // may go on.
            self.pidfds.iter().for_each(kill_by_pidfd);
        }
    }
}
