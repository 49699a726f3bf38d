//! The languages of APIs: a call becomes a request, an answer becomes a completion or a fault.

mod limits;

pub(super) use limits::{Told, ToldLimits};

use std::time::Duration;

use super::{Call, Completion, Fault, FaultKind};
use crate::base::clock::Clock;
use crate::model::Endpoint;
use crate::net::Clients;

/// What came of one try.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tried {
    pub result: Result<Completion, Fault>,
    /// Wall time from the connection to the last byte that was read, however it ended.
    pub latency: Duration,
    /// False when no server can have got the request: there was no connection, or it could not be made.
    pub sent: bool,
    /// Of answers with any status.
    pub limits: ToldLimits,
}

/// Asks once. `clock` reads dates that servers name as a time to come again.
pub(super) async fn once(_: &Clients, endpoint: &Endpoint, _call: &Call, _clock: &dyn Clock) -> Tried {
    let fault = Fault::new(FaultKind::Settings, format!("{} was not asked", endpoint.name()));
    Tried { result: Err(fault), latency: Duration::ZERO, sent: false, limits: ToldLimits::default() }
}
