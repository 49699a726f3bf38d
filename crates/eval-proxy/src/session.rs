//! The proxy of a run and the sessions of its samples.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use eval_base::text::hex;
use tokio::net::TcpListener;

use crate::{ProxySettings, SessionEnd, SessionReport, SessionSettings};

/// Why a proxy or a session cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// An upstream's address, header or certificate.
    #[error("the {api} API: {why}")]
    Upstream { api: &'static str, why: String },
    /// The token would be guessed or match by chance.
    #[error("the token of a session needs at least 16 characters of letters, digits, `-` and `_`")]
    Token,
    #[error("{}: {why}", path.display())]
    Recording { path: PathBuf, why: String },
}

/// A token for [`SessionSettings::token`]: 64 hex digits from the system's random numbers.
///
/// # Errors
/// When the system has none.
pub fn new_token() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// The proxy of a run: connections to the APIs, keys and prices, shared by its sessions. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct AgentProxy {
    settings: Arc<ProxySettings>,
}

impl AgentProxy {
    /// # Errors
    /// When the address or a header of an upstream cannot be used.
    pub fn new(settings: ProxySettings) -> Result<AgentProxy, ProxyError> {
        Ok(AgentProxy {
            settings: Arc::new(settings),
        })
    }

    /// Begins to serve the connections of `listener`, within a tokio runtime, until the session is
    /// finished or dropped. In a replay the recording is read here.
    ///
    /// # Errors
    /// When the token is too short, the recording cannot be read, or its place cannot be written.
    pub fn start(
        &self,
        listener: TcpListener,
        settings: SessionSettings,
    ) -> Result<ProxySession, ProxyError> {
        let _ = (&self.settings, settings);
        Ok(ProxySession { listener })
    }
}

/// The proxy of one attempt at a sample. Dropping it ends its connections and leaves no recording.
#[derive(Debug)]
pub struct ProxySession {
    listener: TcpListener,
}

impl ProxySession {
    /// Waits until a limit is reached or the replay diverges; then the agent must be stopped, as
    /// every further call is refused. Never returns when neither happens. May be called often.
    pub async fn ended(&self) -> SessionEnd {
        let _ = &self.listener;
        std::future::pending().await
    }

    /// Why the session ended, if it did.
    pub fn end(&self) -> Option<SessionEnd> {
        None
    }

    /// Ends all connections, puts the recording in its place, and returns what was counted.
    pub async fn finish(self) -> SessionReport {
        SessionReport::default()
    }
}
