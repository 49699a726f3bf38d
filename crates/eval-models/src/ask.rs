//! The whole way of a question.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use super::budget::{Purse, Spent, usage_of};
use super::kept::{KeptAnswers, KeptError, Look};
use super::providers::{self, Tried};
use super::traffic::{Fetched, Jitter, Once, Traffic, TrafficNow, fetch};
use super::{Answer, Call, Completion, Fault, Key};
use crate::net::Clients;
use crate::{Endpoint, ModelCall, ModelSettings};
use eval_base::clock::Clock;
use eval_base::redact::Redactor;

/// What all calls of a run need.
pub struct ModelsConfig {
    pub settings: ModelSettings,
    /// What earlier sessions of the run spent.
    pub spent: Spent,
    pub clock: Arc<dyn Clock>,
    /// Its secrets don't get into recordings.
    pub redactor: Redactor,
}

/// The models of a run, with their connections, limits, cache, recordings and budget.
pub struct Models {
    network: Network,
    traffic: Traffic,
    purse: Purse,
    settings: ModelSettings,
    redactor: Redactor,
    began: OnceLock<Timestamp>,
    kept: OnceLock<KeptAnswers>,
    /// Answers that nobody was asked for.
    known: AtomicU64,
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
        f.debug_struct("Models")
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}

impl Models {
    pub fn new(config: ModelsConfig) -> Models {
        Models {
            network: Network {
                clients: Clients::default(),
                clock: config.clock,
            },
            traffic: Traffic::new(Jitter::unlike_others()),
            purse: Purse::new(config.settings.budget, config.spent),
            settings: config.settings,
            redactor: config.redactor,
            began: OnceLock::new(),
            kept: OnceLock::new(),
            known: AtomicU64::new(0),
        }
    }

    /// The run goes on that began then: what was answered since counts as fresh. To be said before
    /// anything is asked.
    pub fn resumes(&self, began: Timestamp) {
        // Whoever says it later says the same.
        _ = self.began.set(began);
    }

    /// Opens what a model's answers come from and go to. Called before a run for each of its
    /// models, it finds what would stop the run.
    ///
    /// # Errors
    /// When all answers are to come from a place that can't be read, or all are to be recorded
    /// where nothing can be.
    pub fn prepare(&self, endpoint: &Endpoint) -> Result<(), KeptError> {
        self.kept().prepare(endpoint)
    }

    /// What people should know and were not yet told.
    pub fn take_warnings(&self) -> Vec<String> {
        self.kept
            .get()
            .map(KeptAnswers::take_warnings)
            .unwrap_or_default()
    }

    fn kept(&self) -> &KeptAnswers {
        self.kept.get_or_init(|| {
            let clock = Arc::clone(&self.network.clock);
            let began = self.began.get().copied().unwrap_or_else(|| clock.now());
            KeptAnswers::new(self.settings.clone(), self.redactor.clone(), clock, began)
        })
    }

    /// Asks, as often as it takes and is allowed, unless the answer is known. It is kept before it
    /// is given back, so that a run that is killed finds it again. Dropping the future ends the
    /// call.
    pub async fn ask(&self, endpoint: &Endpoint, call: &Call) -> Answer {
        let look = self.kept().look(endpoint, call).await;
        self.ask_unless(look, endpoint, call).await
    }

    /// As [`Models::ask`], for an answer whose time is judged: that of a cache has none, and would
    /// always be fast enough. So the model is asked, unless the run's settings forbid to ask
    /// anybody.
    pub async fn ask_timed(&self, endpoint: &Endpoint, call: &Call) -> Answer {
        let look = self.kept().look_timed(endpoint, call).await;
        self.ask_unless(look, endpoint, call).await
    }

    async fn ask_unless(&self, look: Look, endpoint: &Endpoint, call: &Call) -> Answer {
        let asked = match look {
            Look::Found(found, source, key) => {
                self.known.fetch_add(1, Ordering::Relaxed);
                // Who writes a recording by hand may not know when.
                let answered_at = Some(found.answered_at).filter(|at| !at.is_empty());
                let told = ModelCall {
                    source,
                    answered_at,
                    ..nothing_sent(endpoint)
                };
                return Answer {
                    key,
                    ..answer(
                        endpoint,
                        Fetched {
                            result: Ok(found.completion),
                            told,
                            latency: None,
                        },
                    )
                };
            }
            Look::Refused(fault) => return unasked(endpoint, fault),
            Look::Ask(asked) => asked,
        };
        let fetched = fetch(&self.traffic, &self.purse, &self.network, endpoint, call).await;
        if let Ok(completion) = &fetched.result {
            self.kept().keep(&asked, endpoint, completion).await;
        }
        let key = Some(asked.key).filter(|_| fetched.result.is_ok() && self.kept().is_kept());
        Answer {
            key,
            ..answer(endpoint, fetched)
        }
    }

    /// Removes answers from the cache that whoever asked can't use, so that the model is asked
    /// again instead of giving them for ever.
    pub async fn forget(&self, keys: &[Key]) {
        for key in keys {
            self.kept().remove(key).await;
        }
    }

    /// Counts what was spent before: in earlier sessions of the run, or on targets that share its
    /// budget.
    pub fn spent_before(&self, before: Spent) {
        self.purse.spent_before(before);
    }

    /// What was spent so far, what was spent before included.
    pub fn spent(&self) -> Spent {
        self.purse.spent()
    }

    /// True when the run may spend no more: nothing is asked then, and only what is known is
    /// answered.
    pub fn is_spent(&self) -> bool {
        self.purse.is_spent()
    }

    pub fn now(&self) -> TrafficNow {
        let spent = self.purse.spent();
        let kept = self.known.load(Ordering::Relaxed);
        TrafficNow {
            kept,
            tokens: spent.tokens,
            usd: spent.usd,
            ..self.traffic.now()
        }
    }
}

fn nothing_sent(endpoint: &Endpoint) -> ModelCall {
    ModelCall {
        model: endpoint.name(),
        ..ModelCall::default()
    }
}

fn unasked(endpoint: &Endpoint, fault: Fault) -> Answer {
    Answer {
        result: Err(fault),
        usage: None,
        told: nothing_sent(endpoint),
        latency: None,
        key: None,
    }
}

fn answer(endpoint: &Endpoint, fetched: Fetched) -> Answer {
    let Fetched {
        result,
        told,
        latency,
    } = fetched;
    let tokens = |completion: &Completion| completion.tokens;
    let usage = result
        .as_ref()
        .ok()
        .and_then(tokens)
        .map(|tokens| usage_of(endpoint, tokens));
    Answer {
        result,
        usage,
        told,
        latency,
        key: None,
    }
}
