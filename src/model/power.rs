//! What a suite could find, before it is run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::words::{Bound, Figure};

/// The drops that comparisons of two runs of a suite can detect, and the gate's chances: the root
/// of `power --format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerReport {
    /// The version of this format: 1.
    pub format_version: u32,
    pub suite: String,
    /// The filters in words, if only a part of the suite is analysed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    pub evals: usize,
    pub cases: usize,
    /// Planned samples per case: the lowest number of any case.
    pub samples: u32,
    /// The compared metric: `pass_at_1`.
    pub metric: String,
    /// The drop to detect, as a share.
    pub effect: f64,
    /// The required chance of detecting it.
    pub power: f64,
    /// Share of comparisons of equal sides that may be reported as a regression.
    pub alpha: f64,
    pub basis: PowerBasis,
    /// By number of samples, ascending: the planned number, or the requested ones.
    pub plans: Vec<PlannedPower>,
    /// Number of samples per case with which the planned cases detect the effect; `null` if there
    /// is none.
    pub samples_needed: Option<u32>,
    /// Thresholds on an end of an interval, which need data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdPower>,
    /// Assumptions and limits, in sentences.
    pub sentences: Vec<String>,
}

/// The variation of samples, on which all figures are based.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerBasis {
    /// The run in which it was measured; `null` if it is assumed.
    pub run: Option<String>,
    /// The share of samples that pass.
    pub rate: f64,
    /// The mean over cases of `p (1 - p)`, where `p` is the share of a case's samples that pass.
    pub within: f64,
    /// True if `within` was measured, not assumed from `rate`.
    pub measured: bool,
}

/// Detectable drops with a number of samples per case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedPower {
    pub samples: u32,
    /// The smallest true drop that is detected with the required chance; `null` if not even the
    /// loss of all passes is.
    pub detectable: Option<f64>,
    /// The chance of detecting the effect.
    pub chance: f64,
    /// Number of cases that would detect the effect with the required chance; `null` if it is more
    /// than 10 million or there is none.
    pub cases_needed: Option<u64>,
}

/// A threshold on an end of an interval, and the chance that it is met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdPower {
    pub metric: String,
    pub bound: Bound,
    pub on: Figure,
    pub value: f64,
    /// Number of cases (for rates over evals: evals) that it is measured over.
    pub n: usize,
    /// The chance that it is met if the true rate is that of the basis; `null` if unknown.
    pub chance: Option<f64>,
    /// Number of cases (or evals) with which the chance is the required one; `null` if there is
    /// none or it is unknown.
    pub needed: Option<u64>,
}
