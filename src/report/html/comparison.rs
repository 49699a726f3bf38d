//! Runs held against a reference, as a page and as a part of a run's page.

use serde::Serialize;
use serde_json::json;

use crate::model::Comparisons;
use crate::report::figures;

/// The block `report` of a page of comparisons.
pub(super) fn of(comparisons: &Comparisons) -> impl Serialize {
    let decision = comparisons.decision;
    json!({
        "kind": "comparison",
        "decision": { "name": decision.name(), "label": figures::decision_label(decision), "exit_code": comparisons.exit_code },
        "reasons": comparisons.reasons,
    })
}
