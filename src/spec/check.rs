//! What a suite says of its own check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `eval-harness check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Null answers and cheats that may pass in some cases, each with a reason.
    #[serde(default)]
    pub excused: Vec<ProbeExcuse>,
}

/// Probes that may pass in a case, as an empty output where it is the right answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeExcuse {
    /// Id of the eval.
    #[schemars(length(min = 1))]
    pub eval: String,
    /// Id of the case. Default: every case of the eval.
    #[schemars(length(min = 1))]
    pub case: Option<String>,
    /// Names of the probes, as a finding of `check` lists them, such as `empty output`.
    #[schemars(length(min = 1))]
    pub probes: Vec<String>,
    /// Why the probes may pass; every report shows it.
    #[schemars(regex(pattern = r"\S"))]
    pub reason: String,
}

impl ProbeExcuse {
    pub fn is_of(&self, eval: &str, case: &str) -> bool {
        self.eval == eval && self.case.as_ref().is_none_or(|own| own == case)
    }
}
