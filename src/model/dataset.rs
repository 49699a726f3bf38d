//! What is known of the data file of an eval, and what a report discloses of a benchmark.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use eval_base::text::plural;
use eval_models::RunBudget;

use super::fingerprint::Fingerprint;

/// A data file of which cases were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetRead {
    /// Path, as in the eval file.
    pub file: String,
    /// `dataset.format`.
    pub format: String,
    /// `dataset.version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 (hex) of the whole file; absent if no run needed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Number of records that were read: those of the file, up to `limit`.
    pub records_read: usize,
    /// Number of records of which cases were made.
    pub records_selected: usize,
    /// `dataset.private`: reports show only aggregates of the eval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Other settings of the dataset, such as `limit` and `released`, as in the eval file without
    /// its templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Value>,
    /// Time limit in seconds for one call of the target, of the first case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_seconds: Option<f64>,
    /// Limits of programs, of the first case; absent if its graders run none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramLimits>,
}

/// In place of the id of a case of a private dataset: the same in every run, so that runs can be
/// compared. Anyone who guesses an id can confirm it.
pub fn private_case_id(eval: &str, case: &str) -> String {
    let mut id = Fingerprint::of(&(eval, case)).to_string();
    id.truncate(16);
    id
}

/// `3 cases of a private dataset`.
pub fn private_cases(count: usize) -> String {
    format!("{} of a private dataset", plural(count, "case"))
}

/// `2 cases of a private dataset did not pass and are not shown`.
pub fn private_unpassed(count: usize) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} did not pass and {verb} not shown", private_cases(count))
}

/// Limits of one program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramLimits {
    pub seconds: f64,
    pub memory_mb: u64,
}

/// Settings of the model under test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SamplingRead {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Maximum number of tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Additional fields of requests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, Value>,
    /// `training_cutoff` of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_cutoff: Option<String>,
}

/// What a reader needs to judge and repeat the result of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Disclosure {
    /// The program that ran the benchmark.
    pub harness: String,
    pub harness_version: String,
    /// The model, or the target if it is not a model.
    pub model: String,
    /// Settings of the model; `null` if the target is not a model. What is absent is the default of
    /// its API.
    pub sampling: Option<SamplingRead>,
    /// Training cut-off of the model; `null` if it was not given.
    pub training_cutoff: Option<String>,
    /// Budget of the run for models; `null` if there is none.
    pub budget: Option<RunBudget>,
    /// Known faults of the datasets that were left out: none.
    pub known_faults_left_out: Vec<String>,
    pub datasets: Vec<DisclosedDataset>,
}

/// The dataset of an eval.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DisclosedDataset {
    pub eval: String,
    pub dataset: DatasetRead,
    /// Number of cases in the run.
    pub cases: usize,
    /// Lowest and highest number of samples per case.
    pub samples_per_case: [usize; 2],
}
