//! Services in workspaces: a program listens on a port of 127.0.0.1, gets one request, and is ended.

use std::collections::BTreeSet;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use eval_sandbox::CellPorts;
use eval_sandbox::process_tree::{StartError, TreeEnd, TreeOutput};

use super::sample::{SampleWorkspace, WorkspaceProgram};

/// Between two looks whether the service listens.
const LOOK: Duration = Duration::from_millis(10);

/// How long an answer may take to arrive whose service has ended, and how long the end of a service
/// may take to be seen that broke a connection off.
const ARRIVAL: Duration = Duration::from_secs(1);

/// Ports of this process' services: two that use the network of the host never get the same.
static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A port to try on the host's network, where it is free until the service takes it: below 32,768,
/// from where Linux takes those of outgoing connections, and in another order in each process.
fn next_host_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let begin = std::process::id().wrapping_mul(61) % 12_000;
    let next = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
    u16::try_from(20_000 + (begin + next) % 12_000).unwrap_or(0)
}

/// A port for a service, until it is dropped.
#[derive(Debug)]
pub struct ServicePort {
    pub number: u16,
    route: PortRoute,
}

impl Drop for ServicePort {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.number);
    }
}

/// How a service's port is reached.
#[derive(Debug)]
enum PortRoute {
    Host,
    /// The service has a network of its own: a listener of the host takes connections for it, under
    /// the same number.
    Cell(TcpListener, Arc<CellPorts>),
}

/// What comes of a request.
#[derive(Debug)]
pub enum ServiceAnswer<T> {
    Whole(T),
    /// Whether it is whole can't be told, or it is not.
    Doubtful(T),
}

/// Why a service has not answered.
#[derive(Debug)]
pub enum ServiceFault {
    /// Programs in the sandbox can't listen here.
    NoNetwork,
    /// The workspace sets PORT.
    PortVariable,
    /// The port can't be reserved, or not be reached.
    Port(io::Error),
    NotStarted(StartError),
    /// It ended before it had answered.
    Ended(TreeOutput),
    /// It did not listen in time.
    Silent(TreeOutput),
}

impl SampleWorkspace {
    /// A free port for a service of this workspace.
    ///
    /// # Errors
    /// Where there can be no service.
    pub async fn service_port(&self) -> Result<ServicePort, ServiceFault> {
        if let Some(hindrance) = self.service_hindrance() {
            return Err(hindrance);
        }
        let is_on_host = self.is_on_host_network();
        let mut tries = 0;
        loop {
            tries += 1;
            let wanted = match is_on_host && tries < 100 {
                true => next_host_port(),
                false => 0,
            };
            let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await {
                Err(_) if wanted != 0 => continue,
                listener => listener.map_err(ServiceFault::Port)?,
            };
            let number = listener.local_addr().map_err(ServiceFault::Port)?.port();
            let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            if taken.insert(number) {
                let route = match is_on_host {
                    true => PortRoute::Host,
                    false => PortRoute::Cell(listener, Arc::default()),
                };
                return Ok(ServicePort { number, route });
            }
        }
    }

    /// Starts a service, awaits `request` once it listens on its port, and kills it with whatever it
    /// started.
    ///
    /// # Errors
    /// Also a service that fails before it has answered.
    pub async fn serve<T>(
        &self,
        program: WorkspaceProgram<'_>,
        port: &ServicePort,
        ready_within: Duration,
        request: impl Future<Output = ServiceAnswer<T>>,
    ) -> Result<T, ServiceFault> {
        let (needed, unneeded) = oneshot::channel::<()>();
        let unneeded = async {
            let _ = unneeded.await;
        };
        let ports = match &port.route {
            PortRoute::Host => None,
            PortRoute::Cell(_, ports) => Some(Arc::clone(ports)),
        };
        let service = self.run_until(unneeded, program, ports);
        let answered = async {
            let asked = async {
                match port.listens(ready_within).await {
                    Ok(true) => Ok(Some(request.await)),
                    Ok(false) => Ok(None),
                    Err(error) => Err(error),
                }
            };
            tokio::select! {
                answer = asked => answer,
                () = port.forward() => Ok(None),
            }
        };
        tokio::pin!(service, answered);
        tokio::select! {
            biased;
            answer = &mut answered => {
                if let Ok(Some(ServiceAnswer::Doubtful(_))) = answer
                    && let Ok(ended) = timeout(ARRIVAL, &mut service).await
                {
                    return port.last_words(answer, ended);
                }
                drop(needed);
                let ended = service.await.map_err(ServiceFault::NotStarted)?;
                match answer.map_err(ServiceFault::Port)? {
                    Some(ServiceAnswer::Whole(answer) | ServiceAnswer::Doubtful(answer)) => Ok(answer),
                    None => Err(ServiceFault::Silent(ended)),
                }
            }
            ended = &mut service => {
                if let PortRoute::Cell(_, ports) = &port.route {
                    ports.close();
                }
                let answer = timeout(ARRIVAL, answered).await.unwrap_or(Ok(None));
                port.last_words(answer, ended)
            }
        }
    }
}

impl ServicePort {
    /// The answer of a service that has ended by itself. On the host's network a service that failed
    /// may have found another program on its port, which answered.
    fn last_words<T>(
        &self,
        answer: io::Result<Option<ServiceAnswer<T>>>,
        ended: Result<TreeOutput, StartError>,
    ) -> Result<T, ServiceFault> {
        let ended = ended.map_err(ServiceFault::NotStarted)?;
        let has_failed = ended.end != TreeEnd::Exited(0);
        let is_own = matches!(self.route, PortRoute::Cell(..));
        match answer {
            Ok(Some(ServiceAnswer::Whole(answer))) if is_own || !has_failed => Ok(answer),
            Ok(Some(ServiceAnswer::Doubtful(answer))) if !has_failed => Ok(answer),
            _ => Err(ServiceFault::Ended(ended)),
        }
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let stream = match &self.route {
            PortRoute::Host => TcpStream::connect((Ipv4Addr::LOCALHOST, self.number)).await?,
            PortRoute::Cell(_, ports) => connect_inside(Arc::clone(ports), self.number).await?,
        };
        // Where nobody listens, a connection may meet itself.
        match stream.local_addr()? == stream.peer_addr()? {
            true => Err(io::ErrorKind::ConnectionRefused.into()),
            false => Ok(stream),
        }
    }

    /// Whether the service listens within that time, from its start.
    async fn listens(&self, within: Duration) -> io::Result<bool> {
        let mut begin = None;
        loop {
            match self.connect().await {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                // On the host's network a program that had the port for a moment resets connections.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionRefused
                            | io::ErrorKind::ConnectionReset
                            | io::ErrorKind::ConnectionAborted
                    ) =>
                {
                    if begin.get_or_insert_with(Instant::now).elapsed() >= within {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
            sleep(LOOK).await;
        }
    }

    /// Passes connections on to the service, for ever.
    async fn forward(&self) {
        let PortRoute::Cell(listener, ports) = &self.route else {
            return std::future::pending().await;
        };
        let mut connections = JoinSet::new();
        loop {
            let Ok((mut outer, _)) = listener.accept().await else {
                sleep(LOOK).await;
                continue;
            };
            let (ports, number) = (Arc::clone(ports), self.number);
            connections.spawn(async move {
                if let Ok(mut inner) = connect_inside(ports, number).await
                    && tokio::io::copy_bidirectional(&mut outer, &mut inner)
                        .await
                        .is_err()
                {
                    // A reset stays one: the end of an answer must not look like its whole.
                    let _ = outer.set_zero_linger();
                }
            });
        }
    }
}

async fn connect_inside(ports: Arc<CellPorts>, number: u16) -> io::Result<TcpStream> {
    let connected = spawn_blocking(move || ports.connect(number)).await;
    let stream = connected.map_err(io::Error::other)??;
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}
