//! HTTP for who needs it: one client with its settings of TLS, redirects, proxies and bounds, and
//! what went wrong in words.
//!
//! Nothing here knows what a target is, what an answer means, or whether a call may be made again:
//! a status is never an error, and a call is made once. Errors name the host and the port, never
//! the rest of an address, which may hold secrets.

mod address;
mod client;
mod error;
mod request;
mod trust;

pub use address::{JoinError, host_of, join, lone_user, read_base, read_url, secrets_of_address};
pub use client::{ClientSettings, HttpClients, HttpResponse};
pub use error::{NetError, TimeoutStage};
pub use request::{HeaderFault, NetworkRequest, check_header, check_method};
pub use trust::certificates;
