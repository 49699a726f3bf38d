//! `grader:` blocks, code graders, and `config/graders.yaml`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judged::{HumanGraderSpec, ModelGraderSpec};
use super::words::GraderType;
use super::{NameOr, RefOr, short, tagged};
pub use crate::graders::{CodeConfig, ContainsSpec, FunctionCaseSpec, RegexFlag, StructuralSpec};

/// A grader of outputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // read once, one at a time
pub enum GraderSpec {
    Code(CodeGraderSpec),
    Model(ModelGraderSpec),
    Human(HumanGraderSpec),
}

impl JsonSchema for GraderSpec {
    fn schema_name() -> Cow<'static, str> {
        "GraderSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        short::grader(generator)
    }
}

/// The schema of a [`GraderSpec`] with `type`.
#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(inline)]
#[allow(dead_code, clippy::large_enum_variant)] // never made
pub(super) enum GraderBranches {
    /// Code decides.
    Code(CodeGraderSpec),
    /// A model decides, by a rubric.
    Model(ModelGraderSpec),
    /// People decide; the case is pending until they have graded it.
    Human(HumanGraderSpec),
}

tagged!(GraderSpec by "type" { Code = "code", Model = "model", Human = "human" });

impl GraderSpec {
    pub fn grader_type(&self) -> GraderType {
        match self {
            GraderSpec::Code(_) => GraderType::Code,
            GraderSpec::Model(_) => GraderType::Model,
            GraderSpec::Human(_) => GraderType::Human,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-optional" = ["config"]))]
pub struct CodeGraderSpec {
    /// Method and settings. If `method` is missing, it is inferred from `expected.type` and the
    /// settings.
    pub config: CodeConfig,
    /// Inverts the verdict: a wrong answer passes, and a correct one fails.
    #[serde(default)]
    pub negate: bool,
    /// Weight under `combine: weighted`.
    #[schemars(range(min = 0.0))]
    pub weight: Option<f64>,
    /// Name of a metric that records the grader's score, for thresholds and composite metrics; with
    /// `similarity`, the name of its number.
    #[schemars(length(min = 1, max = 64))]
    pub metric: Option<String>,
    /// `true`: the verdict is shown but does not affect the outcome. Default false.
    #[serde(default)]
    pub informative: bool,
}

/// Allowed deviation of a number; a plain number is an absolute tolerance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ToleranceSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absolute: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_delta: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delta: Option<f64>,
}

/// `config/graders.yaml`: named graders, the default grader of each type, and named rubrics.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GradersFile {
    /// Graders, by the name to use in `grader:` and `graders:`.
    #[serde(default)]
    pub graders: BTreeMap<String, GraderSpec>,
    /// Default graders by type: the grader that `--grader-type` uses for cases without a grader of
    /// that type.
    #[serde(default)]
    pub defaults: GraderDefaults,
    /// Rubrics for judges and people, by the name to use in `rubric:`.
    #[serde(default)]
    pub rubrics: BTreeMap<String, String>,
    /// Prompts for judges, by the name to use in `prompt:`.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
}

/// Names of the default graders, by type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraderDefaults {
    /// Name of the default code grader.
    pub code: Option<String>,
    /// Name of the default model grader.
    pub model: Option<String>,
    /// Name of the default human grader.
    pub human: Option<String>,
}

/// `graders:` of a suite: the file's content, or a reference to it.
pub type SuiteGraders = RefOr<GradersFile>;

/// A grader of a case: its name, or the grader itself.
pub type GraderRef = NameOr<GraderSpec>;

/// Keeps an explicit `null` apart from an absent key: `expected: null` is an expectation.
pub(crate) fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
