//! What the first view of a run shows.

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::Summary;
use crate::report::{figures, notices};

/// The block `report` of a run.
pub(super) fn of(summary: &Summary) -> impl Serialize {
    let metadata = &summary.metadata;
    let gate = &summary.gate;
    let notices: Vec<Value> = notices::notices(summary)
        .into_iter()
        .map(|notice| {
            json!({
                "loud": notice.loud, "headline": notice.headline, "notes": notice.notes, "command": notice.command,
            })
        })
        .collect();
    json!({
        "kind": "run",
        "suite": { "name": metadata.suite_name, "version": metadata.suite_version },
        "run_id": metadata.run_id,
        "timestamp": metadata.timestamp,
        "duration": figures::duration_seconds(metadata.duration_seconds),
        "harness_version": metadata.harness_version,
        "decision": { "name": gate.decision.name(), "label": figures::decision_label(gate.decision), "exit_code": gate.exit_code },
        "reasons": gate.reasons,
        "notices": notices,
    })
}
