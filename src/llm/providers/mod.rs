//! The languages of APIs: a call becomes a request, an answer becomes a completion or a fault.

use super::{Call, Completion, Fault, FaultKind};
use crate::model::Endpoint;
use crate::net::Clients;

/// Asks once.
pub(super) async fn once(_clients: &Clients, endpoint: &Endpoint, _call: &Call) -> Result<Completion, Fault> {
    Err(Fault::new(FaultKind::Settings, format!("{} was not asked", endpoint.name())))
}
