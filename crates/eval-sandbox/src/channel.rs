//! Descriptors between the harness and a cell: pipes, socket pairs, sealed memory files, and
//! messages that carry descriptors.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use super::adjudicate::Shortage;
use super::cgroup::SharedGroup;
use super::host::DiskWatch;
use super::listener::SharedListener;
use super::syscalls::{c_string, check};

/// More than a message of ours ever carries (two processes of eight descriptors each).
const MAX_FDS: usize = 32;
/// Room for `MAX_FDS` descriptors and the header, in words so that it is aligned as the header
/// needs.
const CONTROL_WORDS: usize = 32;

/// A connection to a cell or a fork server.
pub(super) struct Link {
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
    pub cgroup: Option<SharedGroup>,
    /// Where the cell's refused system calls are answered; `None`: they are refused without notice.
    pub listener: Option<SharedListener>,
    /// Of time-outs: what the processes had of the processor. Emptied by who asks.
    pub late: Vec<Shortage>,
    /// How long a program that has nothing more to do may take to end.
    pub grace: Duration,
    /// Grace periods that expired. Emptied by the pool.
    pub expired_graces: u64,
}

impl Link {
    pub fn new(socket: OwnedFd) -> Self {
        Link {
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
    let mut fds = [0 as RawFd; 2];
    // SAFETY: the kernel writes two descriptors into the array, which nobody else owns.
    unsafe {
        check(libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) as libc::c_long)?;
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

fn socket_pair(kind: libc::c_int) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0 as RawFd; 2];
    // SAFETY: the kernel writes two descriptors into the array, which nobody else owns.
    unsafe {
        let r = libc::socketpair(
            libc::AF_UNIX,
            kind | libc::SOCK_CLOEXEC,
            0,
            fds.as_mut_ptr(),
        );
        check(r as libc::c_long)?;
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// A connection that keeps the borders of messages and may carry descriptors.
pub(super) fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    socket_pair(libc::SOCK_SEQPACKET)
}

/// A two-way stream of bytes.
pub(super) fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    socket_pair(libc::SOCK_STREAM)
}

/// A file in memory that holds `data` and that nobody can change, positioned at its start.
pub(super) fn sealed_file(data: &[u8]) -> io::Result<OwnedFd> {
    let name = c_string("input")?;
    // SAFETY: the name outlives the call; the descriptor is new and ours.
    let fd = unsafe {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        OwnedFd::from_raw_fd(
            check(libc::memfd_create(name.as_ptr(), flags) as libc::c_long)? as RawFd,
        )
    };
    let mut written = 0;
    while let Some(rest) = data.get(written..).filter(|rest| !rest.is_empty()) {
        // SAFETY: `rest` is a live slice of that length.
        let n = unsafe {
            libc::pwrite(
                fd.as_raw_fd(),
                rest.as_ptr().cast(),
                rest.len(),
                written as libc::off_t,
            )
        };
        written += check(n as libc::c_long)? as usize;
    }
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: integer arguments only.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } as libc::c_long)?;
    Ok(fd)
}

/// An empty file in memory.
pub(super) fn memory_file() -> io::Result<OwnedFd> {
    let name = c_string("files")?;
    // SAFETY: the name outlives the call; the descriptor is new and ours.
    unsafe {
        let fd = check(libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) as libc::c_long)?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

pub(super) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: integer arguments only.
    unsafe {
        let flags =
            check(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) as libc::c_long)? as libc::c_int;
        check(
            libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) as libc::c_long,
        )?;
    }
    Ok(())
}

/// Sends one message with descriptors, which the other side gets copies of.
pub(super) fn send(socket: BorrowedFd<'_>, data: &[u8], fds: &[RawFd]) -> io::Result<()> {
    if fds.len() > MAX_FDS {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "too many descriptors in a message",
        ));
    }
    let mut iov = libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: data.len(),
    };
    let mut control = [0u64; CONTROL_WORDS];
    // SAFETY: an all-zero msghdr is valid; every pointer set below is to a live local, the control
    // buffer is large enough for MAX_FDS descriptors and aligned for its header, and `sendmsg` only
    // reads.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut iov;
        message.msg_iovlen = 1;
        if !fds.is_empty() {
            let bytes = std::mem::size_of_val(fds) as libc::c_uint;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(bytes) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(bytes) as _;
            std::ptr::copy_nonoverlapping(
                fds.as_ptr(),
                libc::CMSG_DATA(header).cast::<RawFd>(),
                fds.len(),
            );
        }
        check(libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL) as libc::c_long)
            .map(drop)
    }
}

/// Lets the other side know that nothing will come any more, also where somebody else still holds
/// our end.
pub(super) fn hang_up(socket: BorrowedFd<'_>) {
    // SAFETY: integer arguments only.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
}

/// Receives one message: its length in `buffer` (0: the other side is gone) and its descriptors.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut iov = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = [0u64; CONTROL_WORDS];
    let mut fds = Vec::new();
    // SAFETY: as in `send`; the kernel writes at most the lengths given, and each descriptor in an
    // SCM_RIGHTS record is new and owned by us alone.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut iov;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = std::mem::size_of_val(&control) as _;
        let length = loop {
            let r = libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC);
            match check(r as libc::c_long) {
                Ok(n) => break n as usize,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        };
        let mut header = libc::CMSG_FIRSTHDR(&message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                for i in 0..bytes / std::mem::size_of::<RawFd>() {
                    fds.push(OwnedFd::from_raw_fd(data.add(i).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(&message, header);
        }
        Ok((length, fds))
    }
}

/// Reads what is there; `None` when nothing is there yet, `Some(0)` at the end.
pub(super) fn read_some(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the buffer is live and of that length.
    let n = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    match check(n as libc::c_long) {
        Ok(n) => Ok(Some(n as usize)),
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Writes what fits to a socket; `None` when nothing fits now.
pub(super) fn write_some(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    // SAFETY: the slice is live and of that length; MSG_NOSIGNAL keeps SIGPIPE away.
    let n = unsafe {
        libc::send(
            fd.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    match check(n as libc::c_long) {
        Ok(n) => Ok(Some(n as usize)),
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
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
    pub fn flush(&mut self, socket: RawFd) -> bool {
        if socket < 0 {
            return false;
        }
        let before = self.bytes.len();
        // SAFETY: the caller's descriptor stays open during this call.
        let socket = unsafe { BorrowedFd::borrow_raw(socket) };
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
            // SAFETY: integer arguments only.
            unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) };
        }
        before > 0
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Waits until one of `fds` has something to say, at most `timeout_ms`; descriptors of -1 are
/// passed over.
pub(super) fn poll(fds: &mut [libc::pollfd], timeout_ms: i32) -> io::Result<()> {
    // SAFETY: the slice is live and of that length.
    let r = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout_ms) };
    match check(r as libc::c_long) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

pub(super) fn poll_entry(fd: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd {
        fd,
        events,
        revents: 0,
    }
}
