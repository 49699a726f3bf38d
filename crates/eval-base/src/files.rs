//! Files that users name are opened here, so that a named pipe or a device is an error at once and
//! never a wait.

use std::fs::{File, FileType, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Opens a regular file (or a link to one) to read it.
///
/// # Errors
/// Also when it is a folder, a named pipe, a device or a socket.
pub fn open_file(path: &Path) -> io::Result<File> {
    // Before it is opened, which for some devices is an action; and after, since it may have been
    // replaced.
    check(path.metadata()?.file_type())?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// As [`open_file`], or the pipe that this process was started with, named as `/dev/stdin` or
/// `/dev/fd/N` (which is what `<(command)` of a shell gives). It can be read once.
///
/// # Errors
/// Also for a named pipe that is named by its descriptor: opening it waits for another writer.
pub fn open_stream(path: &Path) -> io::Result<File> {
    let Some(number) = inherited(path).filter(|_| is_pipe(path)) else {
        return open_file(path);
    };
    if number == 0 {
        return Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    }
    // Opening a pipe that has a name waits until it has a writer; one without a name is open at
    // both ends.
    let is_named = !std::fs::read_link(path)?
        .as_os_str()
        .as_encoded_bytes()
        .starts_with(b"pipe:[");
    if is_named {
        let why = "it is a named pipe; redirect it to standard input, and pass /dev/stdin instead";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    File::open(path)
}

/// Whether [`open_stream`] can open it; of a pipe nothing is read.
pub fn check_stream(path: &Path) -> io::Result<()> {
    open_stream(path).map(drop)
}

/// Reads a regular file of UTF-8 whole.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_file(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a regular file whole.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What became of the wish to lock a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    /// Until the file is closed, also by the end of the process.
    Held,
    /// The file system has no locks: two writers are not kept apart.
    Unsupported,
    /// Another process holds the lock.
    Busy,
}

/// Locks a file or a folder for one writer, trying again after each pause until `longest` is over.
/// The lock is advisory: whoever only reads needs none.
pub fn lock(file: &File, longest: Duration, pause: Duration) -> io::Result<LockState> {
    locked(longest, pause, || file.try_lock())
}

/// As [`lock`], beside others that lock it in this way.
pub fn lock_shared(file: &File, longest: Duration, pause: Duration) -> io::Result<LockState> {
    locked(longest, pause, || file.try_lock_shared())
}

fn locked(
    longest: Duration,
    pause: Duration,
    try_lock: impl Fn() -> Result<(), TryLockError>,
) -> io::Result<LockState> {
    let until = Instant::now() + longest;
    loop {
        match try_lock() {
            Ok(()) => return Ok(LockState::Held),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(pause),
            Err(TryLockError::WouldBlock) => return Ok(LockState::Busy),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                return Ok(LockState::Unsupported);
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The number of the descriptor of this process that a path names.
fn inherited(path: &Path) -> Option<u32> {
    if path == Path::new("/dev/stdin") {
        return Some(0);
    }
    let name = ["/dev/fd", "/proc/self/fd"]
        .iter()
        .find_map(|dir| path.strip_prefix(dir).ok())?
        .to_str()?;
    name.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| name.parse().ok())?
}

fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|of| of.file_type().is_fifo())
}

fn check(kind: FileType) -> io::Result<()> {
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(io::Error::new(
        ErrorKind::InvalidInput,
        format!("it is {what}, not a regular file"),
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    fn refusal(path: &Path) -> String {
        let refused =
            [open_file(path), open_stream(path)].map(|opened| opened.unwrap_err().to_string());
        assert_eq!(refused[0], refused[1]);
        refused[0].clone()
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        assert_eq!(read_text(&path("link")).unwrap(), "text");
        assert_eq!(read_bytes(&path("file")).unwrap(), b"text");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(path("pipe"))
                .status()
                .unwrap()
                .success()
        );
        std::os::unix::fs::symlink(path("pipe"), path("link to pipe")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        assert_eq!(
            refusal(&path("pipe")),
            "it is a named pipe, not a regular file"
        );
        assert_eq!(
            refusal(&path("link to pipe")),
            "it is a named pipe, not a regular file"
        );
        assert_eq!(
            refusal(&path("socket")),
            "it is a socket, not a regular file"
        );
        assert_eq!(
            refusal(Path::new("/dev/zero")),
            "it is a device, not a regular file"
        );
        assert_eq!(
            open_file(folder.path()).unwrap_err().kind(),
            ErrorKind::IsADirectory
        );
        assert_eq!(
            open_file(&path("none")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn a_named_pipe_is_not_opened_again_by_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let held = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        let path = Path::new("/dev/fd").join(held.as_raw_fd().to_string());
        for _ in 0..2 {
            let why = open_stream(&path).unwrap_err().to_string();
            assert!(why.contains("pass /dev/stdin"), "{why}");
            // Nor where the name is gone.
            let _ = std::fs::remove_file(&pipe);
        }
    }

    #[test]
    fn a_pipe_that_was_inherited_is_a_stream_and_not_a_file() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"text").unwrap();
        drop(writer);
        for dir in ["/dev/fd", "/proc/self/fd"] {
            let path = Path::new(dir).join(reader.as_raw_fd().to_string());
            assert!(
                open_file(&path)
                    .unwrap_err()
                    .to_string()
                    .contains("a named pipe")
            );
            open_stream(&path).unwrap();
        }
        let mut text = String::new();
        let path = Path::new("/dev/fd").join(reader.as_raw_fd().to_string());
        open_stream(&path)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "text");
    }
}
