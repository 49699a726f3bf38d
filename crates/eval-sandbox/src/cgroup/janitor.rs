//! The janitor: a process that outlives a killed harness for a moment, to end what is left in its
//! groups and to remove them.
//!
//! It is this program again, outside of every namespace. It holds nothing of the harness but the
//! reading end of a pipe; when that ends, however the harness ended, it cleans up and ends as well.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::removal;
use crate::CELL_ARGUMENT;
use crate::channel::pipe;
use crate::own_limits::end_helper;
use crate::syscalls as sys;

/// Follows [`CELL_ARGUMENT`] when the helper shall be a janitor.
pub(crate) const ARGUMENT: &str = "janitor";
/// Stands between the folders to remove and those to leave.
const LEAVES: &str = "--leave";

/// The harness' end.
#[derive(Debug)]
pub(super) struct Janitor {
    child: Child,
    lifeline: Option<OwnedFd>,
}

impl Janitor {
    pub fn start(helper: &Path, folders: &[&Path], leaves: &[&Path]) -> io::Result<Janitor> {
        let (ends, lifeline) = pipe()?;
        let child = Command::new(helper)
            .args([CELL_ARGUMENT, ARGUMENT])
            .args(folders)
            .arg(LEAVES)
            .args(leaves)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(ends))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", helper.display())))?;
        Ok(Janitor {
            child,
            lifeline: Some(lifeline),
        })
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        self.lifeline = None;
        let _ = self.child.wait();
    }
}

/// What the helper does instead of being a cell when the next argument is [`ARGUMENT`].
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ! {
    // A session of its own and deafness keep what is meant for the harness (Ctrl-C, a closed
    // terminal) away.
    let _ = rustix::process::setsid();
    let terminal = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGTSTP,
    ];
    sys::set_signals(&terminal, libc::SIG_IGN);
    // Whatever the harness was given without close-on-exec: nothing here has opened anything yet.
    let _ = sys::close_range(3, i32::MAX);
    wait_for_end(&mut io::stdin());
    let (mut folders, mut leaves) = (Vec::new(), Vec::new());
    let mut list = &mut folders;
    for argument in arguments {
        if argument == LEAVES {
            list = &mut leaves;
        } else {
            list.push(PathBuf::from(argument));
        }
    }
    folders
        .iter()
        .for_each(|folder| removal::remove(folder, removal::GRACE));
    leaves.iter().for_each(|leaf| removal::leave(leaf));
    end_helper(0)
}

fn wait_for_end(lifeline: &mut impl Read) {
    let mut byte = [0u8; 1];
    loop {
        match lifeline.read(&mut byte) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}
