//! What a suite could find, before it is run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::words::{Bound, Figure};

/// What comparisons of two runs of a suite could find, and the gate's chances: the root of
/// `power --format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerReport {
    /// The version of this form: 1.
    pub format_version: u32,
    pub suite: String,
    /// The filters in words, when not the whole suite is looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    pub evals: usize,
    pub cases: usize,
    /// Samples of a case that the suite plans: the fewest of any.
    pub samples: u32,
    /// What is compared: `pass_at_1`.
    pub metric: String,
    /// The drop that is to be found, as a share.
    pub effect: f64,
    /// The chance with which it is to be found.
    pub power: f64,
    /// Share of comparisons of equals that may be called a regression.
    pub alpha: f64,
    pub basis: PowerBasis,
    /// By number of samples, ascending: the planned one, or those that were asked for.
    pub plans: Vec<PlannedPower>,
    /// Samples of each case with which the planned cases find the effect; `null` when no number
    /// would.
    pub samples_needed: Option<u32>,
    /// Demands on an interval's end, which need data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdPower>,
    /// What it rests on and can't tell, in sentences.
    pub sentences: Vec<String>,
}

/// How much samples differ, which is what all figures rest on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerBasis {
    /// The run that it was measured in; `null` when it is assumed.
    pub run: Option<String>,
    /// The share of samples that pass.
    pub rate: f64,
    /// The mean over cases of `p (1 - p)`, where `p` is the share of a case's samples that pass.
    pub within: f64,
    /// True when `within` was measured, and not assumed from `rate`.
    pub measured: bool,
}

/// What can be found with some number of samples of each case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedPower {
    pub samples: u32,
    /// The smallest true drop that is found with the required chance; `null` when not even the loss
    /// of all passes is.
    pub detectable: Option<f64>,
    /// The chance of finding the effect.
    pub chance: f64,
    /// Cases that would find the effect with the required chance; `null` beyond 10 million, or when
    /// no number would.
    pub cases_needed: Option<u64>,
}

/// A demand on an interval's end, and the chance that it is met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdPower {
    pub metric: String,
    pub bound: Bound,
    pub on: Figure,
    pub value: f64,
    /// Cases (of rates over evals: evals) that it is measured over.
    pub n: usize,
    /// The chance that it is met if the true rate is that of the basis; `null` where nothing is
    /// known of it.
    pub chance: Option<f64>,
    /// Cases (or evals) with which the chance is the wanted one; `null` when no number would do, or
    /// none is known.
    pub needed: Option<u64>,
}
