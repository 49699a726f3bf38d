//! The proxy of coding agents: the only way out of the cell that an agent runs in.
//!
//! An agent is given a base URL on its own 127.0.0.1 and a token that only the proxy accepts. The
//! proxy passes calls of model APIs to the real servers with the real key, counts tokens and dollars,
//! ends the sample at its limits, records every exchange, and can answer from such a recording
//! without key or network. Other hosts are reached only when they are allowed, as an HTTP proxy
//! (`CONNECT`, or a request with a whole address).
//!
//! There is one [`AgentProxy`] for a run and one [`ProxySession`] for each attempt at a sample. Where
//! the listener is, who starts the agent and how the agent learns its base URL is the caller's part;
//! what an exchange means as steps of an agent is `eval-agents`' part.
//!
//! ```no_run
//! # async fn example() -> Result<(), eval_proxy::ProxyError> {
//! use eval_proxy::{AgentApi, AgentProxy, ApiUpstream, ProxySettings, SessionSettings};
//!
//! let mut settings = ProxySettings::default();
//! settings.upstreams.push(ApiUpstream {
//!     key: Some("a-real-key".to_owned().into()),
//!     ..ApiUpstream::new(AgentApi::Anthropic)
//! });
//! let proxy = AgentProxy::new(settings)?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let base_url = format!("http://{}/anthropic", listener.local_addr()?);
//! let session = proxy.start(listener, SessionSettings::new(eval_proxy::new_token()?))?;
//! // Start the agent with `base_url` and the token, then:
//! # let agent_ended = std::future::ready(());
//! tokio::select! {
//!     end = session.ended() => println!("stop the agent: {end}"),
//!     () = agent_ended => {}
//! }
//! let report = session.finish().await;
//! # let _ = (base_url, report);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::exit,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing
    )
)]

mod answer_reading;
mod assemble;
mod bodies;
mod client_hello;
mod conversation;
mod headers;
mod hosts;
mod keeper;
mod ledger;
mod normalize;
mod passing;
mod provider_tools;
mod recording;
mod replay;
mod report;
mod routes;
mod serve;
mod session;
mod settings;
mod sse;
mod tunnel;

pub use hosts::{AllowedHosts, HostPatternError};
pub use report::{
    ContinuedRequest, Exchange, ReachedLimit, ReplayDivergence, SessionEnd, SessionReport,
};
pub use routes::ApiProtocol;
pub use session::{AgentProxy, ProxyError, ProxySession, new_token};
pub use settings::{
    AgentApi, ApiUpstream, ProxyLimits, ProxySettings, RecordingPlan, SessionSettings,
};
