//! Evals: capability definitions, and files with test cases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OneOrMany;
use super::dataset::DatasetSpec;
use super::expected::ExpectedRef;
use super::grader::GraderRef;
use super::input::InputRef;
use super::steps::{CombineSpec, ExtractSpec};
use super::words::{Criticality, Difficulty, EvalType};

/// One capability with one case: an entry of a list, or what stands under `capability_eval:`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilityDefinition {
    /// Unique in the suite; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    pub name: Option<String>,
    /// What this eval tests.
    pub description: Option<String>,
    /// Grouping for reports and `--category`.
    pub category: Option<String>,
    pub input: InputRef,
    #[schemars(extend("x-aliases" = ["expected_output"]))]
    pub expected: Option<ExpectedRef>,
    pub grader: Option<GraderRef>,
    /// Several graders, with `combine`.
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    pub combine: Option<CombineSpec>,
    /// Steps before grading.
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    /// A slower answer fails.
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    #[serde(default)]
    pub config: EvalConfig,
    #[serde(default)]
    pub metadata: DefinitionMetadata,
}

/// What is known of a definition besides its case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefinitionMetadata {
    pub difficulty: Option<Difficulty>,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Importance in `weighted_score`. Default 1.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// How bad a failed regression is.
    pub criticality: Option<Criticality>,
    pub author: Option<String>,
    pub created: Option<String>,
    /// Another place for `config.timeout_seconds`.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Another place for `config.retries`.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Kept by other tools; not used.
    pub last_passed: Option<String>,
    /// Kept by other tools; not used.
    pub failure_count: Option<u64>,
}

/// How an eval is run and when it passes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalConfig {
    /// Seconds for one call of the target. Default 60.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Further attempts after a failed grade.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// `false`: samples run one after the other.
    pub parallel: Option<bool>,
    /// Independent samples of each case.
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    /// Share of a case's samples that must pass. Default 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pass_rate_threshold: Option<f64>,
    /// Mean score of the cases at which the eval passes even though cases failed.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score_threshold: Option<f64>,
}

/// A file with `metadata` and `test_cases` (or a `dataset`): one eval of many cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalFile {
    pub schema_version: Option<String>,
    pub eval_type: Option<EvalType>,
    pub metadata: EvalMetadata,
    #[serde(default)]
    pub config: EvalConfig,
    /// The grader of cases that have none.
    pub grader: Option<GraderRef>,
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    pub combine: Option<CombineSpec>,
    /// Steps before grading, for cases that have none.
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    #[serde(default)]
    pub test_cases: Vec<CaseSpec>,
    /// Cases from a data file.
    pub dataset: Option<DatasetSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalMetadata {
    /// Unique in the suite; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub category: Option<String>,
    pub difficulty: Option<Difficulty>,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Importance in `weighted_score`. Default 1.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    pub criticality: Option<Criticality>,
    pub author: Option<String>,
    pub created: Option<String>,
    /// Another place for `config.timeout_seconds`.
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    /// Another place for `config.retries`.
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    /// Kept by other tools; not used.
    pub last_passed: Option<String>,
    /// Kept by other tools; not used.
    pub failure_count: Option<u64>,
}

/// One input with its expectation and its graders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseSpec {
    /// Unique in its eval; any text.
    #[schemars(length(min = 1))]
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub input: InputRef,
    #[schemars(extend("x-aliases" = ["expected_output"]))]
    pub expected: Option<ExpectedRef>,
    pub grader: Option<GraderRef>,
    #[serde(default)]
    pub graders: Vec<GraderRef>,
    pub combine: Option<CombineSpec>,
    #[serde(default)]
    pub extract: OneOrMany<ExtractSpec>,
    #[schemars(range(min = 0.001))]
    pub max_latency_ms: Option<f64>,
    #[schemars(range(min = 0.001, max = 604800.0))]
    pub timeout_seconds: Option<f64>,
    #[schemars(range(max = 100))]
    pub retries: Option<u32>,
    #[schemars(range(min = 1, max = 1000000))]
    pub samples: Option<u32>,
    pub difficulty: Option<Difficulty>,
    #[serde(default)]
    pub tags: Vec<String>,
}
