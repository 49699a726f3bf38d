//! Runs of one suite on several targets, side by side.

use serde::Serialize;
use serde_json::json;

use crate::report::sides::Sides;

/// The block `report` of a page of several runs.
pub(super) fn of(_sides: &Sides<'_>) -> impl Serialize {
    json!({ "kind": "sides" })
}
