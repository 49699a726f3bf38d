//! Services in workspaces: a program listens on a port of 127.0.0.1, is asked there, and is ended.

use std::collections::BTreeSet;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, spawn_blocking};

use eval_sandbox::CellPorts;
use eval_sandbox::process_tree::{StartError, TreeEnd, TreeOutput};

use super::sample::{SampleWorkspace, WorkspaceProgram};

/// Between two looks whether the service listens.
const LOOK: Duration = Duration::from_millis(10);

/// How long an answer may take to arrive whose service has ended by itself, and how long the end of a
/// service may take to be seen that broke a connection off.
const ARRIVAL: Duration = Duration::from_secs(1);

/// Ports of this process' services: two that use the network of the host never get the same.
static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A port for a service, until it is dropped.
#[derive(Debug)]
pub struct ServicePort {
    pub number: u16,
    /// Where the service has a network of its own: takes connections for it, under the same number.
    listener: Option<TcpListener>,
}

impl Drop for ServicePort {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.number);
    }
}

/// Why a service could not be asked.
#[derive(Debug)]
pub enum ServiceFault {
    NotStarted(StartError),
    /// It ended before it had answered.
    Ended(TreeOutput),
    /// It listened to nobody within its time.
    Silent(TreeOutput),
}

impl SampleWorkspace {
    /// A free port for a service of this workspace.
    ///
    /// # Errors
    /// When there is none.
    pub async fn service_port(&self) -> io::Result<ServicePort> {
        loop {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let number = listener.local_addr()?.port();
            let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            if taken.insert(number) {
                let listener = (!self.is_on_host_network()).then_some(listener);
                return Ok(ServicePort { number, listener });
            }
        }
    }

    /// Starts a service, awaits `request` once it listens on its port, and ends it with whatever it
    /// started.
    ///
    /// # Errors
    /// Also a service that ends by itself before `request` is answered, unless with exit code 0.
    pub async fn serve<T, E>(
        &self,
        program: WorkspaceProgram<'_>,
        port: &ServicePort,
        ready_within: Duration,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<Result<T, E>, ServiceFault> {
        let ports = Arc::new(CellPorts::default());
        let (needed, unneeded) = oneshot::channel::<()>();
        let unneeded = async {
            let _ = unneeded.await;
        };
        let service = self.run_until(unneeded, program, Arc::clone(&ports));
        let way = match port.listener {
            Some(_) => PortWay::Cell(ports),
            None => PortWay::Host,
        };
        let asked = async {
            match listens(&way, port.number, ready_within).await {
                true => Some(request.await),
                false => None,
            }
        };
        let answered = async {
            tokio::select! {
                answer = asked => answer,
                () = forward(port, &way) => None,
            }
        };
        tokio::pin!(service, answered);
        tokio::select! {
            answer = &mut answered => {
                if matches!(answer, Some(Err(_)))
                    && let Ok(Ok(ended)) = tokio::time::timeout(ARRIVAL, &mut service).await
                {
                    return Err(ServiceFault::Ended(ended));
                }
                drop(needed);
                let ended = service.await.map_err(ServiceFault::NotStarted)?;
                answer.ok_or(ServiceFault::Silent(ended))
            }
            ended = &mut service => {
                let ended = ended.map_err(ServiceFault::NotStarted)?;
                let answer = match ended.end {
                    TreeEnd::Exited(0) => tokio::time::timeout(ARRIVAL, answered).await.ok().flatten(),
                    _ => None,
                };
                answer.ok_or(ServiceFault::Ended(ended))
            }
        }
    }
}

/// How a service's port is reached.
enum PortWay {
    Host,
    Cell(Arc<CellPorts>),
}

impl PortWay {
    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let PortWay::Cell(ports) = self else {
            return TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
        };
        let ports = Arc::clone(ports);
        let connected = spawn_blocking(move || ports.connect(port)).await;
        let stream = connected.map_err(io::Error::other)??;
        stream.set_nonblocking(true)?;
        TcpStream::from_std(stream)
    }
}

/// Whether somebody listens on the port within that time.
async fn listens(way: &PortWay, port: u16, within: Duration) -> bool {
    let begin = Instant::now();
    loop {
        if way.connect(port).await.is_ok() {
            return true;
        }
        if begin.elapsed() >= within {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Passes connections on to the service, for ever.
async fn forward(port: &ServicePort, way: &PortWay) {
    let Some(listener) = &port.listener else {
        return std::future::pending().await;
    };
    let mut connections = JoinSet::new();
    while let Ok((mut outer, _)) = listener.accept().await {
        if let Ok(mut inner) = way.connect(port.number).await {
            connections.spawn(async move {
                let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
            });
        }
    }
    std::future::pending().await
}
