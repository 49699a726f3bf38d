//! Agents in workspaces: a program with a home folder of the sample's own, whose only way out is a
//! port that this program listens on.

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

use eval_sandbox::process_tree::{StartError, TreeOutput};
use eval_sandbox::{CellPorts, WORKSPACE_FOLDER, WORKSPACE_HOME};

use super::sample::{SampleFiles, SampleWorkspace, WorkspaceProgram};

/// The port of the proxy in the network of a cell, where the programs of the sample alone are.
const CELL_PORT: u16 = 41_417;

/// A port that only programs of the sample reach, unless they use the network of the host.
#[derive(Debug)]
pub struct AgentPort {
    pub number: u16,
    route: AgentRoute,
}

#[derive(Debug)]
enum AgentRoute {
    Host(TcpListener),
    /// The listener comes once the program's job begins.
    Cell(Arc<CellPorts>, oneshot::Receiver<std::net::TcpListener>),
}

/// Listens on the port of an agent, once its program starts.
#[derive(Debug)]
pub struct AgentListener(AgentListenerState);

#[derive(Debug)]
enum AgentListenerState {
    Ready(TcpListener),
    Coming(oneshot::Receiver<std::net::TcpListener>),
}

impl AgentListener {
    /// # Errors
    /// Also when the program does not start.
    pub async fn open(self) -> io::Result<TcpListener> {
        match self.0 {
            AgentListenerState::Ready(listener) => Ok(listener),
            AgentListenerState::Coming(listener) => {
                let listener = listener.await.map_err(io::Error::other)?;
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener)
            }
        }
    }
}

/// Folders as an agent sees them.
#[derive(Debug, Clone)]
pub struct AgentFolders {
    pub workspace: String,
    pub home: String,
    /// Files for it, which it can't change.
    pub own: String,
}

impl SampleWorkspace {
    /// A port for the proxy of an agent; `None` where programs in the sandbox can't have one.
    ///
    /// # Errors
    /// When a port of the host can't be used.
    pub async fn agent_port(&self) -> io::Result<Option<AgentPort>> {
        if self.is_on_host_network() {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            return Ok(Some(AgentPort {
                number: listener.local_addr()?.port(),
                route: AgentRoute::Host(listener),
            }));
        }
        if self.open.shares_files() {
            return Ok(None);
        }
        let (ports, listener) = CellPorts::listening(CELL_PORT);
        Ok(Some(AgentPort {
            number: CELL_PORT,
            route: AgentRoute::Cell(Arc::new(ports), listener),
        }))
    }

    /// Where an agent finds its folders. On the host its home folder is made.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn agent_folders(&self) -> io::Result<AgentFolders> {
        let shown = |name: &str| self.place.path().join(name).to_string_lossy().into_owned();
        Ok(match &self.files {
            SampleFiles::Folder { path, .. } if self.is_on_host() => {
                self.open.store.folder(self.place.path().join("home"))?;
                AgentFolders {
                    workspace: path.to_string_lossy().into_owned(),
                    home: shown("home"),
                    own: shown("private"),
                }
            }
            _ => AgentFolders {
                workspace: WORKSPACE_FOLDER.to_owned(),
                home: WORKSPACE_HOME.to_owned(),
                own: super::sample::PRIVATE.to_owned(),
            },
        })
    }

    /// A file for what an agent prints, which goes with the workspace.
    pub fn output_file(&self) -> PathBuf {
        self.place.path().join("stdout")
    }

    /// Runs an agent until it is not needed any more.
    pub fn run_agent<'s>(
        &'s self,
        unneeded: impl Future<Output = ()> + 's,
        program: WorkspaceProgram<'s>,
        port: AgentPort,
    ) -> (
        AgentListener,
        impl Future<Output = Result<TreeOutput, StartError>> + 's,
    ) {
        let (ports, listener) = match port.route {
            AgentRoute::Host(listener) => (None, AgentListenerState::Ready(listener)),
            AgentRoute::Cell(ports, listener) => {
                (Some(ports), AgentListenerState::Coming(listener))
            }
        };
        (
            AgentListener(listener),
            self.run_until(unneeded, program, ports),
        )
    }
}
