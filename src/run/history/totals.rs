//! A run without its evals, as an index keeps it.

use serde::{Deserialize, Serialize};

use super::PastRun;
use crate::model::{Counts, Decision, RunIdentity};

/// What a list of runs shows of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunTotals {
    pub identity: RunIdentity,
    pub interrupted: bool,
    /// Baselines were captured: it is not part of the history.
    pub capture: bool,
    /// Evals by outcome.
    pub counts: Counts,
    pub cases: Counts,
    pub gate: Option<Decision>,
    pub duration_seconds: f64,
}

impl RunTotals {
    pub fn of(run: &PastRun, capture: bool) -> RunTotals {
        RunTotals {
            identity: run.identity.clone(),
            interrupted: run.interrupted,
            capture,
            counts: run.counts,
            cases: run.cases,
            gate: run.gate,
            duration_seconds: run.duration_seconds,
        }
    }

    /// A run that began and of which nothing else is known yet.
    pub fn begun(identity: RunIdentity) -> RunTotals {
        RunTotals {
            identity,
            interrupted: false,
            capture: false,
            counts: Counts::default(),
            cases: Counts::default(),
            gate: None,
            duration_seconds: 0.0,
        }
    }

    /// The run as lists and trends take it: without evals, so that it proves nothing about a case.
    pub fn into_run(self) -> PastRun {
        PastRun {
            identity: self.identity,
            interrupted: self.interrupted,
            joined: Vec::new(),
            regraded_by: Vec::new(),
            counts: self.counts,
            cases: self.cases,
            gate: self.gate,
            duration_seconds: self.duration_seconds,
            evals: Vec::new(),
            one_checkout: false,
            conditions: 0,
        }
    }
}
