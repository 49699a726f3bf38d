//! Connections from outside of a cell to the ports of its 127.0.0.1, which no other process has where
//! the cell has a network namespace.
//!
//! A fork of the cell, which is in the cell's network and in none of its jobs, is sent a port (two
//! bytes, the higher one first) and answers with a connected socket, or with an error number (four
//! bytes).

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};

use super::channel::{message_pair, receive, send};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the cell may take to answer.
const ANSWER: Duration = Duration::from_secs(7);

/// The ports of one job, see [`super::Sandbox::serve_in_workspace`].
#[derive(Debug, Default)]
pub struct CellPorts {
    state: Mutex<PortsState>,
}

#[derive(Debug, Default)]
enum PortsState {
    /// The job has not begun.
    #[default]
    Waiting,
    Open(OwnedFd),
    /// Another job may be in the cell.
    Closed,
}

impl CellPorts {
    /// Connects to a port of 127.0.0.1 as the job's programs see it. Blocks for as long as that
    /// takes, which is seconds at most.
    ///
    /// # Errors
    /// `NotConnected` while the job has not begun, `ConnectionRefused` while no program listens.
    pub fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &*state {
            PortsState::Waiting => return Err(io::ErrorKind::NotConnected.into()),
            PortsState::Closed => return Err(io::Error::other("the program has ended")),
            PortsState::Open(socket) => connected(socket, port),
        };
        match result {
            Ok(answer) => answer,
            Err(error) => {
                // A late answer would be taken for that to another question.
                *state = PortsState::Closed;
                Err(error)
            }
        }
    }

    /// No connection is made any more.
    pub fn close(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = PortsState::Closed;
    }

    /// The end for [`serve`].
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = message_pair()?;
        set_socket_timeout(&ours, Timeout::Recv, Some(ANSWER))?;
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = PortsState::Open(ours);
        Ok(theirs)
    }
}

/// The outer error is one of the cell.
fn connected(socket: &OwnedFd, port: u16) -> io::Result<io::Result<TcpStream>> {
    send(socket.as_fd(), &port.to_be_bytes(), &[])?;
    let mut answer = [0; 4];
    let (length, fds) = receive(socket.as_fd(), &mut answer)?;
    match (length, fds.into_iter().next()) {
        (0, _) => Err(io::Error::other("the cell ended")),
        (_, Some(fd)) => Ok(Ok(TcpStream::from(fd))),
        (4, None) => Ok(Err(io::Error::from_raw_os_error(i32::from_be_bytes(
            answer,
        )))),
        _ => Ok(Err(io::Error::other(
            "a socket was lost: too many files are open",
        ))),
    }
}

/// Answers until the other side is gone.
pub(super) fn serve(socket: &OwnedFd) -> io::Result<()> {
    let mut port = [0; 2];
    loop {
        if receive(socket.as_fd(), &mut port)?.0 != port.len() {
            return Ok(());
        }
        let place = SocketAddrV4::new(Ipv4Addr::LOCALHOST, u16::from_be_bytes(port));
        match TcpStream::connect_timeout(&place.into(), PATIENCE) {
            Ok(stream) => send(socket.as_fd(), b"C", &[stream.as_fd()])?,
            Err(error) => {
                let number = error.raw_os_error().unwrap_or(libc::ETIMEDOUT);
                send(socket.as_fd(), &number.to_be_bytes(), &[])?;
            }
        }
    }
}
