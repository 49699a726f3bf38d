//! Connections from outside of a cell to the ports of its 127.0.0.1, which is one of its own where
//! the cell has a network namespace.
//!
//! A fork of the cell, which is in the cell's network and in none of its jobs, is asked for a port
//! (two bytes, the higher one first) and answers with a connected socket, or with an error number
//! (four bytes).

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::channel::{message_pair, receive, send};

const PATIENCE: Duration = Duration::from_secs(5);

/// The ports of the job that got it, see [`super::Sandbox::serve_in_workspace`].
#[derive(Debug)]
pub struct CellPorts {
    place: Mutex<PortsPlace>,
}

#[derive(Debug)]
enum PortsPlace {
    /// The job has not begun.
    Unknown,
    /// The job uses the network of this process.
    Host,
    Cell(OwnedFd),
}

impl Default for CellPorts {
    fn default() -> Self {
        CellPorts {
            place: Mutex::new(PortsPlace::Unknown),
        }
    }
}

impl CellPorts {
    /// Connects to a port of 127.0.0.1 as the job's programs see it. Blocks for as long as that
    /// takes, which is seconds at most.
    ///
    /// # Errors
    /// `NotConnected` while the job has not begun, `ConnectionRefused` while nobody listens.
    pub fn connect(&self, port: u16) -> io::Result<TcpStream> {
        match &*self.place.lock().unwrap_or_else(PoisonError::into_inner) {
            PortsPlace::Unknown => Err(io::ErrorKind::NotConnected.into()),
            PortsPlace::Host => TcpStream::connect_timeout(
                &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into(),
                PATIENCE,
            ),
            PortsPlace::Cell(socket) => {
                send(socket.as_fd(), &port.to_be_bytes(), &[])?;
                let mut answer = [0; 4];
                let (length, fds) = receive(socket.as_fd(), &mut answer)?;
                match (length, fds.into_iter().next()) {
                    (0, _) => Err(io::Error::other("the cell ended")),
                    (_, Some(fd)) => Ok(TcpStream::from(fd)),
                    (_, None) => Err(io::Error::from_raw_os_error(i32::from_be_bytes(answer))),
                }
            }
        }
    }

    pub(super) fn are_of_the_host(&self) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = PortsPlace::Host;
    }

    /// The end for [`serve`].
    pub(super) fn are_of_a_cell(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = message_pair()?;
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = PortsPlace::Cell(ours);
        Ok(theirs)
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
                let number = error.raw_os_error().unwrap_or(libc::EIO);
                send(socket.as_fd(), &number.to_be_bytes(), &[])?;
            }
        }
    }
}
