//! The harness's end of a cell's listener (seccomp_unotify(2)): names the first system call that a
//! job was refused, allows locks on files of the job's folder, and changes their modes where the
//! job itself may not.
//!
//! The kernel holds the calling thread until it is answered, and never runs a call that was refused
//! here; once the harness is gone, such a call returns ENOSYS. A call that goes on (a lock) was
//! looked at before: a program with several threads may put another file behind the same descriptor
//! in between, which docs/sandbox.md says.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::filter::{self, FilterEmulator, SyscallResponse, SyscallVerdict};
use super::memory::process_of;
use super::syscalls as sys;
use super::types::ObservedCall;

/// A lock takes about 200 bytes of kernel memory that no limit counts: all of a job's together stay
/// below 40 MB.
const MOST_LOCKS: u32 = 200_000;
/// A job that holds more when its locks are counted gets no further lock.
const MOST_LOCKS_HELD: u32 = MOST_LOCKS / 2;
/// The longest path that the kernel takes.
const LONGEST_PATH: usize = 4096;
const PAGE: u64 = 4096;

const PERMISSIONS: u32 = 0o777;

/// A call that waits for its answer.
struct CallNotice {
    id: u64,
    /// The thread that calls, as the harness sees it.
    pid: u32,
    number: i32,
    args: [u64; 6],
}

/// What is answered: the call goes on, or returns an error (0: success) without running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NoticeReply {
    Continue,
    Errno(i32),
}

/// The listener of one cell.
pub(super) struct CallListener {
    /// `None`: everything in the cell has ended.
    fd: Option<OwnedFd>,
    /// Where jobs have their folders; `None`: each has a private `/tmp`.
    scratch: Option<PathBuf>,
    /// For jobs in workspaces: where they may lock files, besides `scratch`.
    pub lockable: Option<Vec<PathBuf>>,
    first: Option<&'static str>,
    /// An upper bound of the locks that the job holds: those of the last count and every call
    /// since.
    locks: u32,
    /// Changes of modes that came before it was known which processes the job has.
    early: Vec<CallNotice>,
    /// Notified of every call of one job, not only of what is refused.
    observer: Option<CallObserver>,
}

/// Counts the calls of a job.
struct CallObserver {
    verdicts: FilterEmulator,
    /// The program has started: what comes before is the sandbox's.
    started: bool,
    calls: BTreeMap<String, ObservedCall>,
}

impl CallObserver {
    fn count(&mut self, name: String, reply: NoticeReply, killed: bool) {
        if !self.started {
            self.started = name == "execve";
            return;
        }
        let call = self
            .calls
            .entry(name.clone())
            .or_insert_with(|| ObservedCall {
                name,
                ..ObservedCall::default()
            });
        call.count += 1;
        call.refused += u64::from(!matches!(
            reply,
            NoticeReply::Continue | NoticeReply::Errno(0)
        ));
        call.ends_program |= killed;
    }
}

impl CallListener {
    pub fn new(fd: OwnedFd, scratch: Option<PathBuf>) -> Self {
        CallListener {
            fd: Some(fd),
            scratch,
            lockable: None,
            first: None,
            locks: 0,
            early: Vec::new(),
            observer: None,
        }
    }

    /// One that is notified of every call of one job.
    pub fn observing(fd: OwnedFd, scratch: Option<PathBuf>, verdicts: FilterEmulator) -> Self {
        let observer = Some(CallObserver {
            verdicts,
            started: false,
            calls: BTreeMap::new(),
        });
        CallListener {
            observer,
            ..CallListener::new(fd, scratch)
        }
    }

    /// For poll; -1 once it is closed.
    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_ref().map_or(-1, |fd| fd.as_raw_fd())
    }

    /// A new job begins.
    pub fn begin(&mut self) {
        (self.first, self.locks) = (None, 0);
        self.early.clear();
    }

    /// The first call that the job was refused.
    pub fn first(&self) -> Option<&'static str> {
        self.first
    }

    /// Answers one call after poll reported `events`. `roots`: the first processes of the job, if
    /// they are known.
    pub fn answer(&mut self, events: libc::c_short, roots: Option<&[OwnedFd]>) {
        if events & libc::POLLIN == 0 {
            // Everything that the program applied to has ended. A signal may cause POLLERR, which
            // passes.
            if events & libc::POLLHUP != 0 {
                self.fd = None;
            }
            return;
        }
        let Some(notice) = self.receive() else { return };
        self.decide(notice, roots);
    }

    /// Answers what came before the processes of the job were known.
    pub fn answer_early(&mut self, roots: &[OwnedFd]) {
        for notice in std::mem::take(&mut self.early) {
            self.decide(notice, Some(roots));
        }
    }

    /// What was called, the most frequent first.
    pub fn observed(&mut self) -> Vec<ObservedCall> {
        let mut calls: Vec<_> = self
            .observer
            .iter_mut()
            .flat_map(|observer| std::mem::take(&mut observer.calls))
            .collect();
        calls.sort_by_key(|(_, call)| std::cmp::Reverse(call.count));
        calls.into_iter().map(|(_, call)| call).collect()
    }

    fn decide(&mut self, notice: CallNotice, roots: Option<&[OwnedFd]>) {
        let verdict = self
            .observer
            .as_ref()
            .map(|observer| observer.verdicts.of(notice.number, &notice.args));
        let known = filter::answer(notice.number);
        let name = known.map_or("?", |(name, _)| name);
        let answer = known.map_or(SyscallResponse::Refuse(libc::ENOSYS), |(_, answer)| answer);
        // Without an observer only what the listener decides arrives.
        let reply = match (verdict.unwrap_or(SyscallVerdict::Notify), answer) {
            (SyscallVerdict::Allow, _) => NoticeReply::Continue,
            (SyscallVerdict::Errno(errno), _)
            | (SyscallVerdict::Notify, SyscallResponse::Refuse(errno)) => NoticeReply::Errno(errno),
            (SyscallVerdict::Kill, _) => NoticeReply::Errno(libc::EPERM),
            (SyscallVerdict::Notify, SyscallResponse::Lock) => self.lock(&notice, name),
            // The cell and its minders look after the folders. An observed process is never one of
            // them.
            (SyscallVerdict::Notify, SyscallResponse::Mode)
                if verdict.is_none() && is_ours(notice.pid) =>
            {
                NoticeReply::Continue
            }
            (SyscallVerdict::Notify, SyscallResponse::Mode) => match roots {
                Some(roots) => {
                    NoticeReply::Errno(self.change_mode(&notice, name, roots).err().unwrap_or(0))
                }
                None => return self.early.push(notice),
            },
        };
        if let Some(observer) = &mut self.observer {
            let name = known.map_or_else(
                || format!("#{}", notice.number),
                |(name, _)| name.to_owned(),
            );
            observer.count(name, reply, verdict == Some(SyscallVerdict::Kill));
        } else if !matches!(reply, NoticeReply::Continue | NoticeReply::Errno(0)) {
            self.first.get_or_insert(name);
        }
        self.send(&notice, reply);
    }

    fn receive(&self) -> Option<CallNotice> {
        // Its thread may have ended meanwhile.
        let raw = sys::receive_notice(self.raw_fd()).ok()?;
        Some(CallNotice {
            id: raw.id,
            pid: raw.pid,
            number: raw.data.nr,
            args: raw.data.args,
        })
    }

    fn send(&self, notice: &CallNotice, reply: NoticeReply) {
        let (error, flags) = match reply {
            NoticeReply::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            NoticeReply::Errno(errno) => (-errno, 0),
        };
        let answer = libc::seccomp_notif_resp {
            id: notice.id,
            val: 0,
            error,
            flags,
        };
        // An error means that the thread is gone.
        let _ = sys::answer_notice(self.raw_fd(), &answer);
    }

    fn lock(&mut self, notice: &CallNotice, name: &str) -> NoticeReply {
        let [fd, operation, ..] = notice.args;
        let is_flock = name == "flock";
        if is_flock && operation as i32 & !libc::LOCK_NB == libc::LOCK_UN {
            return NoticeReply::Continue;
        }
        if !self.is_private(notice.pid, fd as i32) {
            return NoticeReply::Errno(libc::ENOLCK);
        }
        // An open file has one such lock at most, so that the limit of open files bounds them.
        if is_flock {
            return NoticeReply::Continue;
        }
        // The struct that says whether `fcntl` locks or unlocks is not read: another thread may
        // change it after that.
        if self.locks >= MOST_LOCKS {
            self.locks = match self.held_locks(notice.pid) {
                Some(held) if held <= MOST_LOCKS_HELD => held,
                _ => u32::MAX,
            };
        }
        self.locks = self.locks.saturating_add(1);
        if self.locks <= MOST_LOCKS {
            NoticeReply::Continue
        } else {
            NoticeReply::Errno(libc::ENOLCK)
        }
    }

    /// Counts the locks on files of the job: those of its `/tmp`, or where it has none all of the
    /// machine, which are at least as many. Stops above [`MOST_LOCKS_HELD`]. `None`: they can't be
    /// counted.
    fn held_locks(&self, pid: u32) -> Option<u32> {
        let place = match (&self.scratch, &self.lockable) {
            (Some(_), _) | (_, Some(_)) => String::new(),
            (None, None) => {
                let device = fs::metadata(format!("/proc/{pid}/root/tmp")).ok()?.dev();
                format!(" {:02x}:{:02x}:", libc::major(device), libc::minor(device))
            }
        };
        let mut held = 0;
        for line in BufReader::new(File::open("/proc/locks").ok()?).lines() {
            held += u32::from(line.ok()?.contains(&place));
            if held > MOST_LOCKS_HELD {
                break;
            }
        }
        Some(held)
    }

    /// Whether a descriptor of a job is a file of the job's folder.
    fn is_private(&self, pid: u32, fd: i32) -> bool {
        let path = format!("/proc/{pid}/fd/{fd}");
        if let Some(places) = &self.lockable {
            return fs::read_link(path).is_ok_and(|file| {
                let mut places = places.iter().chain(&self.scratch);
                places.any(|place| file.starts_with(place))
            });
        }
        match &self.scratch {
            Some(scratch) => fs::read_link(path).is_ok_and(|file| file.starts_with(scratch)),
            None => {
                let device = |path: String| fs::metadata(path).map(|meta| meta.dev()).ok();
                let own = device(format!("/proc/{pid}/root/tmp"));
                own.is_some() && own == device(path)
            }
        }
    }

    /// Changes the mode of a file in the job's folder. The harness may hold rights that the job
    /// lacks, so it resolves no path outside that folder: its errors would show which files exist,
    /// and a dead mount would block it. `Err`: the error that the call returns.
    fn change_mode(&self, notice: &CallNotice, name: &str, roots: &[OwnedFd]) -> Result<(), i32> {
        let args = &notice.args;
        let (place, path, mode, flags) = match name {
            "chmod" => (libc::AT_FDCWD, Some(args[0]), args[1], 0),
            "fchmod" => (args[0] as i32, None, args[1], 0),
            "fchmodat" => (args[0] as i32, Some(args[1]), args[2], 0),
            _ => (args[0] as i32, Some(args[1]), args[2], args[3] as i32),
        };
        if flags & !(libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW) != 0 {
            return Err(libc::EINVAL);
        }
        let path = path
            .map(|address| read_path(notice.pid, address))
            .transpose()?;
        let folder = self.folder_of(notice.pid, roots).ok_or(libc::EPERM)?;
        let file = match path {
            Some(path) if !path.is_empty() => {
                let no_follow = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
                open_named(notice.pid, place, &path, &folder, no_follow)?
            }
            Some(_) if flags & libc::AT_EMPTY_PATH == 0 => return Err(libc::ENOENT),
            _ => open_descriptor(notice.pid, place, &folder)?,
        };
        // Only then is what was read of `/proc/PID` the thread's own.
        if !sys::notice_waits(self.raw_fd(), notice.id) {
            return Err(libc::EPERM);
        }
        if file.metadata().map_err(number)?.is_symlink() {
            return Err(libc::EOPNOTSUPP);
        }
        let real = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mode = Permissions::from_mode(mode as u32 & PERMISSIONS);
        fs::set_permissions(real, mode).map_err(number)
    }

    /// The folder of the process of the job that `pid` descends from. They are made in the order of
    /// the processes.
    fn folder_of(&self, pid: u32, roots: &[OwnedFd]) -> Option<PathBuf> {
        let roots: Vec<Option<u32>> = roots.iter().map(process_of).collect();
        let mut at = pid;
        let index = loop {
            if let Some(index) = roots.iter().position(|root| *root == Some(at)) {
                break index;
            }
            at = status_field(at, "PPid:").filter(|parent| *parent > 1)?;
        };
        let mut folders: Vec<u64> = fs::read_dir(self.scratch.as_ref()?)
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        folders.sort_unstable();
        let serial = folders
            .get(index)
            .filter(|_| folders.len() == roots.len())?;
        Some(self.scratch.as_ref()?.join(serial.to_string()))
    }
}

fn number(error: io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EPERM)
}

/// Whether it is a process of the cell: under the listener's program and whatever the harness is
/// under. A job has one more, which it can't take off.
fn is_ours(pid: u32) -> bool {
    let filters = |pid| status_field(pid, "Seccomp_filters:");
    let around = filters(std::process::id()).unwrap_or(0);
    filters(pid).is_some_and(|filters| filters <= around + 1)
}

fn status_field(pid: u32, name: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))?
        .trim()
        .parse()
        .ok()
}

/// The text at an address of another process, up to its NUL.
fn read_path(pid: u32, address: u64) -> Result<Vec<u8>, i32> {
    let memory = File::open(format!("/proc/{pid}/mem")).map_err(number)?;
    let mut path = Vec::new();
    let mut at = address;
    while path.len() < LONGEST_PATH {
        // What follows its page may not be there.
        let mut buffer = [0u8; PAGE as usize];
        let room = (PAGE - at % PAGE) as usize;
        let part = buffer.get_mut(..room).unwrap_or_default();
        memory.read_exact_at(part, at).map_err(|_| libc::EFAULT)?;
        match part.iter().position(|byte| *byte == 0) {
            Some(end) => {
                path.extend(part.get(..end).unwrap_or_default());
                return Ok(path);
            }
            None => path.extend_from_slice(part),
        }
        at = at.checked_add(room as u64).ok_or(libc::EFAULT)?;
    }
    Err(libc::ENAMETOOLONG)
}

/// What `/proc/PID/cwd` or a descriptor of a process names. Reads the link only and opens nothing.
fn place_of(pid: u32, place: i32) -> (String, Option<PathBuf>) {
    let link = match place {
        libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
        fd => format!("/proc/{pid}/fd/{fd}"),
    };
    let target = fs::read_link(&link).ok();
    (link, target)
}

/// Opens with `O_PATH` what a process names by a path, if the path leads to a file in `folder` and
/// never leaves it.
fn open_named(
    pid: u32,
    place: i32,
    path: &[u8],
    folder: &Path,
    no_follow: bool,
) -> Result<File, i32> {
    let given = Path::new(OsStr::from_bytes(path));
    let in_folder = |path: &Path| -> Result<Vec<u8>, i32> {
        let below = path.strip_prefix(folder).map_err(|_| libc::EPERM)?;
        Ok(below.as_os_str().as_bytes().to_vec())
    };
    let mut below = if given.is_absolute() {
        in_folder(given)?
    } else {
        // The link ends in the name of the folder, so that what follows it is the path from there.
        let mut below = in_folder(&place_of(pid, place).1.ok_or(libc::EBADF)?)?;
        if !below.is_empty() {
            below.push(b'/');
        }
        below.extend(path);
        below
    };
    if below.is_empty() {
        below.push(b'.');
    }
    let path_only = OFlags::PATH | OFlags::CLOEXEC;
    let flags = path_only | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let folder = rustix::fs::open(folder, flags, Mode::empty()).map_err(Errno::raw_os_error)?;
    let mut flags = path_only;
    flags.set(OFlags::NOFOLLOW, no_follow);
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    match rustix::fs::openat2(folder, below, flags, Mode::empty(), resolve) {
        Ok(file) => Ok(file.into()),
        // It leaves the folder, or a folder on the way was renamed.
        Err(Errno::XDEV | Errno::AGAIN) => Err(libc::EPERM),
        Err(other) => Err(other.raw_os_error()),
    }
}

/// Opens with `O_PATH` the file of a descriptor, if it is in `folder`.
fn open_descriptor(pid: u32, place: i32, folder: &Path) -> Result<File, i32> {
    let (link, target) = place_of(pid, place);
    if !target.ok_or(libc::EBADF)?.starts_with(folder) {
        return Err(libc::EPERM);
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = rustix::fs::open(link, flags, Mode::empty()).map_err(Errno::raw_os_error)?;
    let file = File::from(file);
    // The process may have put another file there meanwhile.
    let opened = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    if opened.is_ok_and(|path| path.starts_with(folder)) {
        Ok(file)
    } else {
        Err(libc::EPERM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_another_process_ends_at_its_nul() {
        let mut page = vec![b'x'; 3 * PAGE as usize];
        let end = page.len() - 1;
        page[end] = 0;
        let me = std::process::id();
        let at = |offset: usize| page.as_ptr() as u64 + offset as u64;
        assert_eq!(read_path(me, at(end - 3)), Ok(b"xxx".to_vec()));
        assert_eq!(read_path(me, at(end)), Ok(Vec::new()));
        assert_eq!(read_path(me, at(0)), Err(libc::ENAMETOOLONG));
        assert_eq!(read_path(me, 16), Err(libc::EFAULT));
    }

    /// The real path of what a process opens by `path` below `folder`.
    fn named(place: i32, path: &[u8], folder: &Path, no_follow: bool) -> Result<PathBuf, i32> {
        let file = open_named(std::process::id(), place, path, folder, no_follow)?;
        Ok(fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap())
    }

    #[test]
    fn file_in_the_folder_opens_by_path_and_by_descriptor() {
        let outer = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(outer.path()).unwrap();
        let path = folder.join("sub/file");
        fs::create_dir(folder.join("sub")).unwrap();
        fs::write(&path, "x").unwrap();
        std::os::unix::fs::symlink("sub/file", folder.join("link")).unwrap();
        let (open, sub) = (
            File::open(&folder).unwrap(),
            File::open(folder.join("sub")).unwrap(),
        );
        let (fd, sub) = (open.as_raw_fd(), sub.as_raw_fd());
        assert_eq!(named(fd, b"sub/file", &folder, false), Ok(path.clone()));
        assert_eq!(named(fd, b"link", &folder, false), Ok(path.clone()));
        assert_eq!(named(fd, b"link", &folder, true), Ok(folder.join("link")));
        assert_eq!(named(sub, b"../sub/file", &folder, false), Ok(path.clone()));
        assert_eq!(named(sub, b"..", &folder, false), Ok(folder.clone()));
        assert_eq!(
            named(-1, path.as_os_str().as_bytes(), &folder, false),
            Ok(path.clone())
        );
        assert_eq!(
            named(-1, folder.as_os_str().as_bytes(), &folder, false),
            Ok(folder.clone())
        );
        assert_eq!(named(fd, b"missing", &folder, false), Err(libc::ENOENT));
        assert_eq!(named(-1, b"file", &folder, false), Err(libc::EBADF));
        let me = std::process::id();
        assert!(open_descriptor(me, fd, &folder).is_ok());
        assert_eq!(open_descriptor(me, -1, &folder).map(drop), Err(libc::EBADF));
    }

    /// The error is the same whether the file exists or not, so that a job learns nothing of what
    /// the harness may look up.
    #[test]
    fn path_out_of_the_folder_is_refused_without_a_look() {
        let outer = tempfile::tempdir().unwrap();
        let outer = fs::canonicalize(outer.path()).unwrap();
        let folder = outer.join("job");
        fs::create_dir(&folder).unwrap();
        fs::write(outer.join("there"), "x").unwrap();
        for (name, target) in [
            ("link", "../there"),
            ("dangling", "../missing"),
            ("own", "/proc/self/exe"),
        ] {
            std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
        }
        let (open, other) = (File::open(&folder).unwrap(), File::open(&outer).unwrap());
        let (fd, other) = (open.as_raw_fd(), other.as_raw_fd());
        let absolute = |name: &str| outer.join(name).to_str().unwrap().to_owned();
        for path in [
            "../there",
            "../missing",
            "link",
            "dangling",
            "own",
            "/proc/self/cwd",
            "/proc/self/missing",
            &absolute("there"),
            &absolute("missing"),
            &absolute("job/../there"),
            &absolute("job/../missing"),
            &absolute("job-2"),
        ] {
            assert_eq!(
                named(fd, path.as_bytes(), &folder, false),
                Err(libc::EPERM),
                "{path}"
            );
        }
        assert_eq!(named(other, b"there", &folder, false), Err(libc::EPERM));
        assert_eq!(named(other, b"missing", &folder, false), Err(libc::EPERM));
        assert_eq!(
            open_descriptor(std::process::id(), other, &folder).map(drop),
            Err(libc::EPERM)
        );
    }

    #[test]
    fn process_that_ended_is_not_the_cells() {
        assert!(!is_ours(u32::MAX));
    }
}
