//! `thresholds:` and the file that holds presets of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::words::Figure;

/// Demands by metric name: `pass_at_1: 0.9`, or an object with `min`, `max` and what they are held against.
///
/// Metric names take `pass@1` for `pass_at_1` and `pass^3` for `pass_hat_3`.
pub type Thresholds = BTreeMap<String, ThresholdSpec>;

/// One demand. A bare number is a minimum (for latencies, costs and counts of what went wrong: a maximum).
#[derive(Debug, Clone, PartialEq)]
pub enum ThresholdSpec {
    Number(f64),
    Bounds(ThresholdBounds),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdBounds {
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// `ci_lower`: the lower end of the 95 % interval must reach it.
    #[serde(default)]
    pub on: Figure,
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
            Value::Number(n) => n
                .as_f64()
                .filter(|n| n.is_finite())
                .map(ThresholdSpec::Number)
                .ok_or_else(|| D::Error::custom("a threshold must be a finite number")),
            other => serde_json::from_value(other).map(ThresholdSpec::Bounds).map_err(D::Error::custom),
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
            "description": "A number (a minimum; for latencies, costs and failures a maximum) or an object with bounds.",
            "if": { "type": "number" },
            "else": bounds
        })
    }
}

/// `config/thresholds.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdsFile {
    /// Named sets, chosen with `--preset`.
    #[serde(default)]
    pub presets: BTreeMap<String, Thresholds>,
    /// The set that holds when no preset is chosen.
    #[serde(default)]
    pub thresholds: Thresholds,
}
