//! Which endpoints take a schema of the answer. Found out by one call of each while others wait; whoever refuses is asked
//! without.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::form;
use crate::llm::{Answer, Call, Completion, Fault, FaultKind, Models};
use crate::model::{Endpoint, Judge, JudgeCall};

/// How long others wait for the call that finds out.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a run knows of its endpoints.
#[derive(Debug, Default)]
pub(in crate::grade) struct Structured {
    endpoints: Mutex<HashMap<String, Arc<Known>>>,
}

#[derive(Debug, Default)]
struct Known {
    takes: Mutex<Takes>,
    /// Held by the call that finds out.
    probe: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Takes {
    /// Nobody asked yet.
    #[default]
    Unknown,
    /// Each call sees for itself: it takes one, or it could not be found out in a way that others should wait for.
    Try,
    /// It refused one and answered without.
    Not,
}

impl Known {
    fn get(&self) -> Takes {
        *self.takes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, takes: Takes) {
        *self.takes.lock().unwrap_or_else(PoisonError::into_inner) = takes;
    }
}

impl Structured {
    /// The schema of a judge's answers.
    pub fn schema(&self, judge: &Judge) -> serde_json::Value {
        form::schema(judge)
    }

    fn known(&self, endpoint: &Endpoint) -> Arc<Known> {
        let key = format!("{} {} {}", endpoint.api.name(), endpoint.base_url, endpoint.model);
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(endpoints.entry(key).or_default())
    }

    /// Asks with the form, and where that is refused (or was not recorded so) without it. Every call is told in `calls`.
    pub async fn ask(
        &self,
        endpoint: &Endpoint,
        formed: &Call,
        plain: &Call,
        models: &Models,
        calls: &mut Vec<JudgeCall>,
    ) -> Result<Completion, Fault> {
        let known = self.known(endpoint);
        let probing = match known.get() {
            // One that stalls must not hold up all the others until it gives up.
            Takes::Unknown => tokio::time::timeout(PATIENCE, known.probe.lock()).await.ok(),
            _ => None,
        };
        // Another may have found out while this one waited.
        if known.get() == Takes::Not {
            drop(probing);
            return ask(models, endpoint, plain, calls).await;
        }
        let probing = probing.filter(|_| known.get() == Takes::Unknown);
        let fault = match ask(models, endpoint, formed, calls).await {
            Err(fault) if matches!(fault.kind, FaultKind::BadRequest | FaultKind::NotRecorded) => fault,
            other => {
                // Also after a fault of another kind: that others wait would not help them.
                known.set(Takes::Try);
                return other;
            }
        };
        if fault.kind == FaultKind::NotRecorded {
            // Nobody was asked.
            calls.pop();
        }
        let result = ask(models, endpoint, plain, calls).await;
        known.set(match (&result, fault.kind) {
            (Ok(_), FaultKind::BadRequest) => Takes::Not,
            _ => Takes::Try,
        });
        drop(probing);
        // Where nothing is recorded either way, what is missing is the question as it is asked first.
        result.map_err(|without| if without.kind == fault.kind { fault } else { without })
    }
}

/// One question, told in `calls` whether or not an answer came.
pub(super) async fn ask(
    models: &Models,
    endpoint: &Endpoint,
    call: &Call,
    calls: &mut Vec<JudgeCall>,
) -> Result<Completion, Fault> {
    let Answer { result, usage, told, latency } = models.ask(endpoint, call).await;
    calls.push(JudgeCall {
        call: told,
        usage,
        answered: result.is_ok(),
        finish: result.as_ref().ok().map(|completion| completion.finish),
        latency_ms: latency.map(|time| time.as_secs_f64() * 1e3),
    });
    result
}
