//! Connections from outside of a cell to the ports of its 127.0.0.1, which no other process has where
//! the cell has a network namespace, and a port of it on which the harness listens.
//!
//! A fork of the cell, which is in the cell's network and in none of its jobs, is sent a letter (`C`
//! to connect, `L` to listen) and a port (two bytes, the higher one first). It answers with a socket,
//! or with an error number (four bytes). A socket belongs to the network in which it was made,
//! whichever process has it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use tokio::sync::oneshot;

use super::channel::{message_pair, receive, send};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two attempts to listen.
const AGAIN: Duration = Duration::from_millis(5);
/// How long the cell may take to answer.
const ANSWER: Duration = Duration::from_secs(7);

/// The ports of one job, see [`super::Sandbox::serve_in_workspace`].
#[derive(Debug, Default)]
pub struct CellPorts {
    state: Mutex<PortsState>,
    /// The port on which the harness listens, and who gets the listener.
    listened: Mutex<Option<(u16, oneshot::Sender<TcpListener>)>>,
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

const CONNECT: u8 = b'C';
const LISTEN: u8 = b'L';

impl CellPorts {
    /// With a port of 127.0.0.1 on which the harness listens, before the job's first program starts.
    /// The listener does not come where the job does not begin.
    pub fn listening(port: u16) -> (CellPorts, oneshot::Receiver<TcpListener>) {
        let (to, listener) = oneshot::channel();
        let ports = CellPorts {
            listened: Mutex::new(Some((port, to))),
            ..CellPorts::default()
        };
        (ports, listener)
    }

    /// Connects to a port of 127.0.0.1 as the job's programs see it. Blocks for as long as that
    /// takes, which is seconds at most.
    ///
    /// # Errors
    /// `NotConnected` while the job has not begun, `ConnectionRefused` while no program listens.
    pub fn connect(&self, port: u16) -> io::Result<TcpStream> {
        self.socket(CONNECT, port).map(TcpStream::from)
    }

    fn socket(&self, letter: u8, port: u16) -> io::Result<OwnedFd> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &*state {
            PortsState::Waiting => return Err(io::ErrorKind::NotConnected.into()),
            PortsState::Closed => return Err(io::Error::other("the program has ended")),
            PortsState::Open(socket) => made(socket, letter, port),
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

    /// Listens, if the harness does, once the other end is served.
    pub(super) fn listen(&self) -> io::Result<()> {
        let mut listened = self.listened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((port, to)) = listened.take() {
            // Who waited for it may have been dropped.
            let _ = to.send(self.socket(LISTEN, port)?.into());
        }
        Ok(())
    }
}

/// The outer error is one of the cell.
fn made(socket: &OwnedFd, letter: u8, port: u16) -> io::Result<io::Result<OwnedFd>> {
    let [high, low] = port.to_be_bytes();
    send(socket.as_fd(), &[letter, high, low], &[])?;
    let mut answer = [0; 4];
    let (length, fds) = receive(socket.as_fd(), &mut answer)?;
    match (length, fds.into_iter().next()) {
        (0, _) => Err(io::Error::other("the cell ended")),
        (_, Some(fd)) => Ok(Ok(fd)),
        (4, None) => Ok(Err(io::Error::from_raw_os_error(i32::from_be_bytes(
            answer,
        )))),
        _ => Ok(Err(io::Error::other(
            "a socket was lost: too many files are open",
        ))),
    }
}

/// Listens. The listener of the job before may not be closed yet.
fn bound(place: SocketAddr) -> io::Result<TcpListener> {
    let begin = Instant::now();
    loop {
        match TcpListener::bind(place) {
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse && begin.elapsed() < PATIENCE =>
            {
                sleep(AGAIN);
            }
            made => return made,
        }
    }
}

/// Answers until the other side is gone.
pub(super) fn serve(socket: &OwnedFd) -> io::Result<()> {
    let mut asked = [0; 3];
    loop {
        if receive(socket.as_fd(), &mut asked)?.0 != asked.len() {
            return Ok(());
        }
        let [letter, high, low] = asked;
        let port = u16::from_be_bytes([high, low]);
        let place = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into();
        let made: io::Result<OwnedFd> = match letter {
            LISTEN => bound(place).map(OwnedFd::from),
            _ => TcpStream::connect_timeout(&place, PATIENCE).map(OwnedFd::from),
        };
        match made {
            Ok(made) => send(socket.as_fd(), b"S", &[made.as_fd()])?,
            Err(error) => {
                let number = error.raw_os_error().unwrap_or(libc::ETIMEDOUT);
                send(socket.as_fd(), &number.to_be_bytes(), &[])?;
            }
        }
    }
}
