//! The whole way of a question.

use std::sync::Arc;

use super::budget::{Purse, Spent};
use super::traffic::TrafficNow;
use super::{Answer, Call, providers};
use crate::base::clock::Clock;
use crate::model::{Endpoint, ModelCall, ModelSettings};
use crate::net::Clients;

/// What all calls of a run need.
pub struct ModelsConfig {
    pub settings: ModelSettings,
    /// What earlier sessions of the run spent.
    pub spent: Spent,
    pub clock: Arc<dyn Clock>,
}

/// The models of a run, with their connections, limits, cache, recordings and budget.
pub struct Models {
    clients: Clients,
    purse: Purse,
    clock: Arc<dyn Clock>,
}

impl Models {
    pub fn new(config: ModelsConfig) -> Models {
        Models {
            clients: Clients::default(),
            purse: Purse::new(config.settings.budget, config.spent),
            clock: config.clock,
        }
    }

    /// Asks, as often as it takes and is allowed. Dropping the future ends the call.
    pub async fn ask(&self, endpoint: &Endpoint, call: &Call) -> Answer {
        let tried = providers::once(&self.clients, endpoint, call, &*self.clock).await;
        let told = ModelCall { model: endpoint.name(), requests: tried.sent.into(), ..ModelCall::default() };
        Answer { result: tried.result, usage: None, told, latency: tried.sent.then_some(tried.latency) }
    }

    /// True when the run may spend no more.
    pub fn is_budget_spent(&self) -> bool {
        self.purse.is_spent()
    }

    pub fn now(&self) -> TrafficNow {
        TrafficNow::default()
    }
}
