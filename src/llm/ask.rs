//! The whole way of a question.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::budget::{Purse, Spent, usage_of};
use super::providers::{self, Tried};
use super::traffic::{Fetched, Jitter, Once, Traffic, TrafficNow, fetch};
use super::{Answer, Call};
use crate::base::clock::Clock;
use crate::model::{Endpoint, ModelSettings};
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
    network: Network,
    traffic: Traffic,
    purse: Purse,
    /// Answers that nobody was asked for.
    kept: AtomicU64,
}

/// Tries over the network.
struct Network {
    clients: Clients,
    clock: Arc<dyn Clock>,
}

impl Once for Network {
    async fn once(&self, endpoint: &Endpoint, call: &Call) -> Tried {
        providers::once(&self.clients, endpoint, call, self.clock.as_ref()).await
    }
}

impl std::fmt::Debug for Models {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Models").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl Models {
    pub fn new(config: ModelsConfig) -> Models {
        Models {
            network: Network { clients: Clients::default(), clock: config.clock },
            traffic: Traffic::new(Jitter::unlike_others()),
            purse: Purse::new(config.settings.budget, config.spent),
            kept: AtomicU64::new(0),
        }
    }

    /// Asks, as often as it takes and is allowed. Dropping the future ends the call.
    pub async fn ask(&self, endpoint: &Endpoint, call: &Call) -> Answer {
        let Fetched { result, told, latency } =
            fetch(&self.traffic, &self.purse, &self.network, endpoint, call).await;
        let usage = result
            .as_ref()
            .ok()
            .and_then(|completion| completion.tokens)
            .map(|tokens| usage_of(endpoint, tokens));
        Answer { result, usage, told, latency }
    }

    /// Counts what earlier sessions of the run spent.
    pub fn spent_before(&self, before: Spent) {
        self.purse.spent_before(before);
    }

    /// True when the run may spend no more.
    pub fn is_budget_spent(&self) -> bool {
        self.purse.is_spent()
    }

    pub fn now(&self) -> TrafficNow {
        let spent = self.purse.spent();
        let kept = self.kept.load(Ordering::Relaxed);
        TrafficNow { kept, tokens: spent.tokens, usd: spent.usd, ..self.traffic.now() }
    }
}
