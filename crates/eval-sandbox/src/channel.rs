//! Descriptors between the harness and a cell: pipes, socket pairs, sealed memory files, and
//! messages that carry descriptors.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType,
};

use super::adjudicate::CpuShortage;
use super::cgroup::CellGroup;
use super::host::DiskWatch;
use super::listener::CallListener;
use super::syscalls::poll;

/// More than a message of ours ever carries (two processes of eight descriptors each).
const MAX_FDS: usize = 32;
const CONTROL_SPACE: usize = rustix::cmsg_space!(ScmRights(MAX_FDS));

/// What a cell and the fork server in it have in common. The worker's thread is the only one that
/// ever asks for it.
#[derive(Debug)]
pub(super) struct SharedValue<T>(Arc<Mutex<T>>);

impl<T> Clone for SharedValue<T> {
    fn clone(&self) -> Self {
        SharedValue(Arc::clone(&self.0))
    }
}

impl<T> SharedValue<T> {
    pub fn new(value: T) -> Self {
        SharedValue(Arc::new(Mutex::new(value)))
    }

    pub fn get(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection to a cell or a fork server.
pub(super) struct CellLink {
    pub socket: OwnedFd,
    /// Set when the state of the other side is not known any more; it must not get another job.
    pub broken: bool,
    /// The pidfd of the other side, where others may hold its end of the socket too.
    pub process: Option<OwnedFd>,
    /// The size of its jobs' folders, where no kernel limits it.
    pub disk: Option<DiskWatch>,
    /// The processes of its jobs are counted, where the kernel's limit counts those of others too.
    pub counts_processes: bool,
    /// What bounds the memory of everything in the cell.
    pub cgroup: Option<SharedValue<CellGroup>>,
    /// Where the cell's refused system calls are answered; `None`: they are refused without notice.
    pub listener: Option<SharedValue<CallListener>>,
    /// Of time-outs: what the processes had of the processor. Emptied by who asks.
    pub late: Vec<CpuShortage>,
    /// How long a program that has nothing more to do may take to end.
    pub grace: Duration,
    /// Grace periods that expired. Emptied by the pool.
    pub expired_graces: u64,
}

impl CellLink {
    pub fn new(socket: OwnedFd) -> Self {
        CellLink {
            socket,
            broken: false,
            process: None,
            disk: None,
            counts_processes: false,
            cgroup: None,
            listener: None,
            late: Vec::new(),
            grace: super::settings::GRACE,
            expired_graces: 0,
        }
    }

    /// What to poll: a message, the end of the other side, and a system call to answer.
    pub fn poll_entries(&self) -> [libc::pollfd; 3] {
        let process = self.process.as_ref().map_or(-1, |fd| fd.as_raw_fd());
        let calls = self
            .listener
            .as_ref()
            .map_or(-1, |listener| listener.get().raw_fd());
        [self.socket.as_raw_fd(), process, calls].map(|fd| poll_entry(fd, libc::POLLIN))
    }

    /// The next message, waited for at most so long. An empty one: the other side is gone.
    pub fn wait(&self, buffer: &mut [u8], patience: Duration) -> io::Result<(usize, Vec<OwnedFd>)> {
        let mut entries = self.poll_entries();
        let start = Instant::now();
        // A signal of the harness' own may interrupt the wait.
        while entries[0].revents == 0 {
            if entries[1].revents != 0 {
                return Ok((0, Vec::new()));
            }
            if let Some(listener) = self.listener.as_ref().filter(|_| entries[2].revents != 0) {
                listener.get().answer(entries[2].revents, None);
                entries[2].fd = listener.get().raw_fd();
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer came"));
            }
            poll(
                &mut entries,
                i32::try_from(left.as_millis()).unwrap_or(i32::MAX).max(1),
            )?;
        }
        receive(self.socket.as_fd(), buffer)
    }
}

/// (read end, write end)
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = io::pipe()?;
    Ok((read.into(), write.into()))
}

fn socket_pair(kind: SocketType) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(net::socketpair(AddressFamily::UNIX, kind, flags, None)?)
}

/// A connection that keeps the borders of messages and may carry descriptors.
pub(super) fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    socket_pair(SocketType::SEQPACKET)
}

/// A two-way stream of bytes.
pub(super) fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    socket_pair(SocketType::STREAM)
}

/// A file in memory that holds `data` and that nobody can change, positioned at its start.
pub(super) fn sealed_file(data: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(rustix::fs::memfd_create(c"input", flags)?);
    file.write_all_at(data, 0)?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// An empty file in memory.
pub(super) fn memory_file() -> io::Result<OwnedFd> {
    Ok(rustix::fs::memfd_create(c"files", MemfdFlags::CLOEXEC)?)
}

pub(super) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// Sends one message with descriptors, which the other side gets copies of.
pub(super) fn send(socket: BorrowedFd<'_>, data: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); CONTROL_SPACE];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if fds.len() > MAX_FDS || !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds))
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "too many descriptors in a message",
        ));
    }
    let data = [io::IoSlice::new(data)];
    net::sendmsg(socket, &data, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Lets the other side know that nothing will come any more, also where somebody else still holds
/// our end.
pub(super) fn hang_up(socket: BorrowedFd<'_>) {
    let _ = net::shutdown(socket, Shutdown::Both);
}

/// Receives one message: its length in `buffer` (0: the other side is gone) and its descriptors.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); CONTROL_SPACE];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let length = rustix::io::retry_on_intr(|| {
        let mut buffers = [io::IoSliceMut::new(buffer)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        net::recvmsg(socket, &mut buffers, &mut control, flags).map(|received| received.bytes)
    })?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    Ok((length, fds))
}

/// What was transferred; `None` when nothing can be now.
fn transferred(result: rustix::io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(n) => Ok(Some(n)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Reads what is there; `None` when nothing is there yet, `Some(0)` at the end.
pub(super) fn read_some(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    transferred(rustix::io::read(fd, buffer))
}

/// Writes what fits to a socket; `None` when nothing fits now.
pub(super) fn write_some(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    transferred(net::send(fd, bytes, SendFlags::NOSIGNAL))
}

/// What is still to be written to a socket.
#[derive(Default)]
pub(super) struct Outbox {
    pub bytes: Vec<u8>,
    /// Of which are written.
    written: usize,
    /// Nothing follows, and the other side shall know.
    pub then_close: bool,
}

impl Outbox {
    /// Writes what fits now. True when something was there and all of it is written. Without effect
    /// once the other side is gone.
    pub fn flush(&mut self, socket: Option<BorrowedFd<'_>>) -> bool {
        let Some(socket) = socket else { return false };
        let before = self.bytes.len();
        while let Some(rest) = self
            .bytes
            .get(self.written..)
            .filter(|rest| !rest.is_empty())
        {
            match write_some(socket, rest) {
                Ok(Some(n)) => self.written += n,
                Ok(None) => return false,
                Err(_) => break,
            }
        }
        self.bytes.clear();
        self.written = 0;
        if std::mem::take(&mut self.then_close) {
            let _ = net::shutdown(socket, Shutdown::Write);
        }
        before > 0
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

pub(super) fn poll_entry(fd: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd {
        fd,
        events,
        revents: 0,
    }
}
