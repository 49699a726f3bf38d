//! `thresholds:` and the file that contains presets of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value, json};

use super::words::{Figure, GateRequirement};

/// Required values by metric name: `pass_at_1: 0.9`, or an object with `min`, `max` and the bound
/// to compare.
///
/// Metric names may be written `pass@1` for `pass_at_1` and `pass^3` for `pass_hat_3`.
/// `pass_rate[tag=critical]` is a metric of a part of the run. Two keys are not metrics: `require`
/// sets what the gate requires of evals, and `max_regressions` how many regressions may fail.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thresholds {
    pub require: Option<GateRequirement>,
    pub by_metric: BTreeMap<String, ThresholdSpec>,
}

const REQUIRE: &str = "require";

impl Serialize for Thresholds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let require = self.require.map(|word| (REQUIRE.to_owned(), json!(word)));
        let demands = self
            .by_metric
            .iter()
            .map(|(name, spec)| (name.clone(), json!(spec)));
        require
            .into_iter()
            .chain(demands)
            .collect::<Map<String, Value>>()
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Thresholds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut set = Thresholds::default();
        for (key, value) in Map::<String, Value>::deserialize(deserializer)? {
            if key == REQUIRE {
                set.require = Some(serde_json::from_value(value).map_err(D::Error::custom)?);
            } else {
                set.by_metric.insert(
                    key,
                    serde_json::from_value(value).map_err(D::Error::custom)?,
                );
            }
        }
        Ok(set)
    }
}

impl JsonSchema for Thresholds {
    fn schema_name() -> Cow<'static, str> {
        "Thresholds".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut require = generator.subschema_for::<GateRequirement>();
        require.insert(
            "description".to_owned(),
            json!("Requirement of the gate for evals. `all_evals`: every eval passes, and the thresholds are met. `thresholds` (the default): the thresholds are met, and no regression fails."),
        );
        let mut demand = generator.subschema_for::<ThresholdSpec>();
        demand.insert(
            "description".to_owned(),
            json!("Threshold for the metric of that name, such as `pass@1`; for `max_regressions`, the number of regressions that may fail."),
        );
        json_schema!({
            "type": "object",
            "properties": { (REQUIRE): require },
            "additionalProperties": demand,
            "x-editor": super::rules::thresholds(),
            "description": "Required values by metric name, and the requirement of the gate for evals."
        })
    }
}

/// A threshold. A plain number is a minimum (for latencies, costs and failure counts: a maximum).
#[derive(Debug, Clone, PartialEq)]
pub enum ThresholdSpec {
    Number(f64),
    Bounds(ThresholdBounds),
}

/// Bounds of a metric, for the whole run and for parts of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::bounds()))]
pub struct ThresholdBounds {
    /// Lowest accepted value.
    pub min: Option<f64>,
    /// Highest accepted value.
    pub max: Option<f64>,
    /// The figure to compare with `min` and `max`: the value itself (`point`, the default), or an
    /// end of its 95 % interval. With `lower`, a minimum is met only if the whole interval is above
    /// it.
    pub bound: Option<IntervalBound>,
    /// Another spelling of `bound`: `value`, `ci_lower` or `ci_upper`.
    pub on: Option<Figure>,
    /// True to compare the rate that people would give, by the calibrations of the judges; for
    /// `pass_rate`, `case_pass_rate` and `pass@1`.
    pub corrected: Option<bool>,
    /// Thresholds for the same metric over the evals of a type: `capability` or `regression`.
    #[serde(default)]
    pub by_type: BTreeMap<String, PartThreshold>,
    /// Thresholds for the same metric over the evals of a category.
    #[serde(default)]
    pub by_category: BTreeMap<String, PartThreshold>,
    /// Thresholds for the same metric over the cases that have a tag, or whose eval has it.
    #[serde(default)]
    pub by_tag: BTreeMap<String, PartThreshold>,
    /// Thresholds for the same metric over the evals whose id matches a glob.
    #[serde(default)]
    pub by_eval: BTreeMap<String, PartThreshold>,
}

impl ThresholdBounds {
    /// Whether parts of the run have their own thresholds.
    pub fn has_parts(&self) -> bool {
        let parts = [
            &self.by_type,
            &self.by_category,
            &self.by_tag,
            &self.by_eval,
        ];
        parts.into_iter().any(|parts| !parts.is_empty())
    }
}

/// A threshold for a part of the run: like the one for the whole run, whose `bound` applies unless
/// it is set here.
#[derive(Debug, Clone, PartialEq)]
pub enum PartThreshold {
    Number(f64),
    Bounds(PartBounds),
}

/// Bounds of a metric, for a part of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-editor" = super::rules::part_bounds()))]
pub struct PartBounds {
    /// Lowest accepted value.
    pub min: Option<f64>,
    /// Highest accepted value.
    pub max: Option<f64>,
    /// The figure to compare with `min` and `max`. Default: as for the whole run.
    pub bound: Option<IntervalBound>,
    /// Another spelling of `bound`: `value`, `ci_lower` or `ci_upper`.
    pub on: Option<Figure>,
}

/// The figure of an estimate that is compared with a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalBound {
    /// The value itself.
    Point,
    /// The lower end of the interval.
    Lower,
    /// The upper end of the interval.
    Upper,
}

impl From<IntervalBound> for Figure {
    fn from(bound: IntervalBound) -> Figure {
        match bound {
            IntervalBound::Point => Figure::Value,
            IntervalBound::Lower => Figure::CiLower,
            IntervalBound::Upper => Figure::CiUpper,
        }
    }
}

impl Serialize for ThresholdSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ThresholdSpec::Number(n) => n.serialize(serializer),
            ThresholdSpec::Bounds(b) => b.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ThresholdSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(n) => finite(&n)
                .map(ThresholdSpec::Number)
                .map_err(D::Error::custom),
            other => serde_json::from_value(other)
                .map(ThresholdSpec::Bounds)
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for ThresholdSpec {
    fn schema_name() -> Cow<'static, str> {
        "Threshold".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let bounds = generator.subschema_for::<ThresholdBounds>();
        json_schema!({
            "description": "A number (a minimum; for latencies, costs and failures a maximum), or an object with bounds.",
            "if": { "type": "number" },
            "else": bounds
        })
    }
}

impl Serialize for PartThreshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            PartThreshold::Number(n) => n.serialize(serializer),
            PartThreshold::Bounds(b) => b.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PartThreshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(n) => finite(&n)
                .map(PartThreshold::Number)
                .map_err(D::Error::custom),
            other => serde_json::from_value(other)
                .map(PartThreshold::Bounds)
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for PartThreshold {
    fn schema_name() -> Cow<'static, str> {
        "PartThreshold".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let bounds = generator.subschema_for::<PartBounds>();
        json_schema!({
            "description": "A number, as in a threshold for the whole run, or an object with bounds.",
            "if": { "type": "number" },
            "else": bounds
        })
    }
}

fn finite(n: &serde_json::Number) -> Result<f64, &'static str> {
    n.as_f64()
        .filter(|n| n.is_finite())
        .ok_or("a threshold must be a finite number")
}

/// `config/thresholds.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdsFile {
    /// Named sets, selected with `--preset`.
    #[serde(default)]
    pub presets: BTreeMap<String, Thresholds>,
    /// The set to use if no preset is selected.
    #[serde(default)]
    pub thresholds: Thresholds,
}
