//! Which endpoints take a schema of the answer. Found out by one call of each while others wait;
//! whoever refuses is asked without.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::ask::VoteCalls;
use crate::model::{Endpoint, JudgeCall};
use eval_base::ordered::OrderedValue;
use eval_models::{Completion, FaultKind, ModelAnswer, ModelFault, ModelRequest, RunModels};

/// How long others wait for the call that finds out: an endpoint may take minutes for its first
/// answer, or never give one.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a run knows of its endpoints.
#[derive(Debug, Default)]
pub(in crate::grade) struct SchemaEndpoints {
    endpoints: Mutex<HashMap<String, Arc<EndpointSupport>>>,
}

#[derive(Debug, Default)]
struct EndpointSupport {
    takes: Mutex<SchemaSupport>,
    /// Held by the call that finds out.
    probe: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SchemaSupport {
    /// Nobody asked yet.
    #[default]
    Unknown,
    /// Each call sees for itself: it takes one, or it could not be found out in a way that others
    /// should wait for.
    Try,
    /// It refused one and answered without.
    Not,
}

impl EndpointSupport {
    fn get(&self) -> SchemaSupport {
        *self.takes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, takes: SchemaSupport) {
        *self.takes.lock().unwrap_or_else(PoisonError::into_inner) = takes;
    }

    /// A call that was under way when another one found out does not undo that.
    fn set_unless_refused(&self) {
        let mut takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        if *takes == SchemaSupport::Unknown {
            *takes = SchemaSupport::Try;
        }
    }
}

impl SchemaEndpoints {
    fn known(&self, endpoint: &Endpoint) -> Arc<EndpointSupport> {
        let key = format!(
            "{} {} {}",
            endpoint.api.name(),
            endpoint.base_url,
            endpoint.model
        );
        let mut endpoints = self
            .endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(endpoints.entry(key).or_default())
    }

    /// Asks with the form, and where that is refused (or was not recorded so) without it. Every
    /// call is in `asked`.
    pub(super) async fn ask(
        &self,
        endpoint: &Endpoint,
        call: &mut ModelRequest,
        schema: OrderedValue,
        models: &RunModels,
        asked: &mut VoteCalls,
    ) -> Result<Completion, ModelFault> {
        let known = self.known(endpoint);
        let probing = match known.get() {
            SchemaSupport::Unknown => tokio::time::timeout(PATIENCE, known.probe.lock())
                .await
                .ok(),
            _ => None,
        };
        // Another may have found out while this one waited.
        if known.get() == SchemaSupport::Not {
            drop(probing);
            return ask(models, endpoint, call, asked).await;
        }
        let probing = probing.filter(|_| known.get() == SchemaSupport::Unknown);
        let own = call.sampling.json_schema.replace(schema);
        let fault = match ask(models, endpoint, call, asked).await {
            Err(fault) if matches!(fault.kind, FaultKind::BadRequest | FaultKind::NotRecorded) => {
                fault
            }
            other => {
                // Also after a fault of another kind: that others wait would not help them.
                known.set_unless_refused();
                return other;
            }
        };
        if fault.kind == FaultKind::NotRecorded {
            // Nobody was asked.
            asked.calls.pop();
        }
        call.sampling.json_schema = own;
        let result = ask(models, endpoint, call, asked).await;
        match (&result, fault.kind) {
            (Ok(_), FaultKind::BadRequest) => known.set(SchemaSupport::Not),
            _ => known.set_unless_refused(),
        }
        drop(probing);
        // Where nothing is recorded either way, what is missing is the question as it is asked
        // first.
        result.map_err(|without| {
            if without.kind == fault.kind {
                fault
            } else {
                without
            }
        })
    }
}

/// One question, which is in `asked` whether or not an answer came.
pub(super) async fn ask(
    models: &RunModels,
    endpoint: &Endpoint,
    call: &ModelRequest,
    asked: &mut VoteCalls,
) -> Result<Completion, ModelFault> {
    let ModelAnswer {
        result,
        usage,
        call: made,
        latency,
        key,
    } = models.ask(endpoint, call).await;
    asked.keys.extend(key);
    asked.calls.push(JudgeCall {
        call: made,
        usage,
        answered: result.is_ok(),
        finish: result.as_ref().ok().map(|completion| completion.finish),
        latency_ms: latency.map(|time| time.as_secs_f64() * 1e3),
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelSettings, testing};
    use eval_base::clock::SystemClock;
    use eval_base::redact::Redactor;
    use eval_models::{CallIndex, ChatMessage, ModelSpending, ModelsConfig};

    #[tokio::test(start_paused = true)]
    async fn a_call_that_finds_out_and_never_ends_holds_nobody_for_long() {
        let dir = tempfile::tempdir().unwrap();
        let models = RunModels::new(ModelsConfig {
            settings: ModelSettings {
                replay: Some(dir.path().to_owned()),
                ..ModelSettings::default()
            },
            spent: ModelSpending::default(),
            clock: Arc::new(SystemClock),
            redactor: Redactor::default(),
        });
        let judge = testing::judge();
        let (structured, endpoint) = (SchemaEndpoints::default(), &judge.models[0].endpoint);
        let mut call = ModelRequest {
            system: None,
            messages: vec![ChatMessage::user("x")],
            sampling: judge.models[0].sampling.clone(),
            index: CallIndex::default(),
            timeout: Duration::from_secs(1),
        };
        let known = structured.known(endpoint);
        let _never_ends = known.probe.lock().await;
        let began = tokio::time::Instant::now();
        let mut calls = VoteCalls::default();
        let schema = crate::grade::judge::form::schema(&judge);
        let result = structured
            .ask(endpoint, &mut call, schema, &models, &mut calls)
            .await;
        assert!(result.is_err() && call.sampling.json_schema.is_none());
        assert!(began.elapsed() >= PATIENCE, "{:?}", began.elapsed());
        assert_eq!(known.get(), SchemaSupport::Try);
    }
}
