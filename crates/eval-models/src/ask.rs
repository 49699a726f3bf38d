//! The models of a run, and the whole way of a question to one.

use std::sync::Arc;

use jiff::Timestamp;

use super::budget::{BudgetLedger, ModelSpending};
use super::kept::{AnswerLookup, KeptAnswers, KeptError};
use super::providers::{self, TryOutcome};
use super::traffic::{Jitter, Traffic, TrafficNow, TrySender, fetch};
use super::{ModelAnswer, ModelRequest, QuestionKey};
use crate::net::HttpClients;
use crate::{Endpoint, ModelCall, ModelSettings};
use eval_base::clock::Clock;
use eval_base::redact::Redactor;

/// What all calls of a run need.
pub struct ModelsConfig {
    pub settings: ModelSettings,
    /// What earlier sessions of the run spent.
    pub spent: ModelSpending,
    pub clock: Arc<dyn Clock>,
    /// Its secrets don't get into recordings.
    pub redactor: Redactor,
}

/// The models of a run, with their connections, limits, cache, recordings and budget.
pub struct RunModels {
    network: NetworkCaller,
    traffic: Traffic,
    purse: BudgetLedger,
    kept: KeptAnswers,
}

/// Tries over the network.
struct NetworkCaller {
    clients: HttpClients,
    clock: Arc<dyn Clock>,
}

impl TrySender for NetworkCaller {
    async fn once(&self, endpoint: &Endpoint, call: &ModelRequest) -> TryOutcome {
        providers::once(&self.clients, endpoint, call, self.clock.as_ref()).await
    }
}

impl std::fmt::Debug for RunModels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Models")
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}

impl RunModels {
    pub fn new(config: ModelsConfig) -> RunModels {
        let ModelsConfig {
            settings,
            spent,
            clock,
            redactor,
        } = config;
        RunModels {
            traffic: Traffic::new(Jitter::unlike_others()),
            purse: BudgetLedger::new(settings.budget, spent),
            kept: KeptAnswers::new(settings, redactor, Arc::clone(&clock)),
            network: NetworkCaller {
                clients: HttpClients::default(),
                clock,
            },
        }
    }

    /// The run goes on that began then: what was answered since counts as fresh. Called before any
    /// model is.
    pub fn resumes(&self, began: Timestamp) {
        self.kept.resumes(began);
    }

    /// Opens what a model's answers come from and go to. Called before a run for each of its
    /// models, it finds what would stop the run.
    ///
    /// # Errors
    /// When all answers are to come from a place that can't be read, or all are to be recorded
    /// where nothing can be.
    pub fn prepare(&self, endpoint: &Endpoint) -> Result<(), KeptError> {
        self.kept.prepare(endpoint)
    }

    /// What people should know and were not yet told.
    pub fn take_warnings(&self) -> Vec<String> {
        self.kept.take_warnings()
    }

    /// Asks, as often as it takes and is allowed, unless the answer is known. It is kept before it
    /// is given back, so that a run that is killed finds it again. Dropping the future ends the
    /// call.
    pub async fn ask(&self, endpoint: &Endpoint, call: &ModelRequest) -> ModelAnswer {
        self.answer(endpoint, call, true).await
    }

    /// As [`RunModels::ask`], for an answer whose time is judged: that of a cache has none, and would
    /// always be fast enough. So the model is called, unless the run's settings forbid all calls.
    pub async fn ask_timed(&self, endpoint: &Endpoint, call: &ModelRequest) -> ModelAnswer {
        self.answer(endpoint, call, false).await
    }

    async fn answer(
        &self,
        endpoint: &Endpoint,
        call: &ModelRequest,
        from_cache: bool,
    ) -> ModelAnswer {
        let asked = match self.kept.look(endpoint, call, from_cache).await {
            Ok(AnswerLookup::Found(found, source, key)) => {
                self.traffic.count(|now| now.kept += 1);
                let made = ModelCall {
                    source,
                    // Who writes a recording by hand may not know when.
                    answered_at: Some(found.answered_at).filter(|at| !at.is_empty()),
                    ..ModelCall::of(endpoint)
                };
                return ModelAnswer {
                    key,
                    ..ModelAnswer::new(endpoint, Ok(found.completion), made, None)
                };
            }
            Err(fault) => {
                return ModelAnswer::new(endpoint, Err(fault), ModelCall::of(endpoint), None);
            }
            Ok(AnswerLookup::Ask(asked)) => asked,
        };
        let answer = fetch(&self.traffic, &self.purse, &self.network, endpoint, call).await;
        let Ok(completion) = &answer.result else {
            return answer;
        };
        self.kept.keep(&asked, endpoint, completion).await;
        ModelAnswer {
            key: Some(asked.key).filter(|_| self.kept.is_kept()),
            ..answer
        }
    }

    /// Removes answers from the cache that whoever asked can't use, so that the model is asked
    /// again instead of giving them for ever.
    pub async fn forget(&self, keys: &[QuestionKey]) {
        for key in keys {
            self.kept.remove(key).await;
        }
    }

    /// Counts what was spent before: in earlier sessions of the run, or on targets that share its
    /// budget.
    pub fn spent_before(&self, before: ModelSpending) {
        self.purse.spent_before(before);
    }

    /// What was spent so far, what was spent before included.
    pub fn spent(&self) -> ModelSpending {
        self.purse.spent()
    }

    /// True when the run may spend no more: nothing is asked then, and only what is known is
    /// answered.
    pub fn is_spent(&self) -> bool {
        self.purse.is_spent()
    }

    pub fn now(&self) -> TrafficNow {
        let spent = self.purse.spent();
        TrafficNow {
            tokens: spent.tokens,
            usd: spent.usd,
            ..self.traffic.now()
        }
    }
}
