//! Whether and where answers of models are kept.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::words::CacheMode;

/// The use and the folder of the cache for model answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// Use of the cache. Default `use`; `--cache` overrides it.
    pub mode: Option<CacheMode>,
    /// The cache folder, relative to this file. Default: a folder of the user, shared by all
    /// projects.
    #[schemars(length(min = 1))]
    pub dir: Option<String>,
}

/// The mode only, or the mode and the folder.
#[derive(Debug, Clone, PartialEq)]
pub enum SuiteCache {
    Mode(CacheMode),
    Whole(CacheSpec),
}

impl SuiteCache {
    pub fn mode(&self) -> Option<CacheMode> {
        match self {
            SuiteCache::Mode(mode) => Some(*mode),
            SuiteCache::Whole(spec) => spec.mode,
        }
    }

    pub fn dir(&self) -> Option<&str> {
        match self {
            SuiteCache::Mode(_) => None,
            SuiteCache::Whole(spec) => spec.dir.as_deref(),
        }
    }
}

impl Serialize for SuiteCache {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SuiteCache::Mode(mode) => mode.serialize(serializer),
            SuiteCache::Whole(spec) => spec.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SuiteCache {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            map @ Value::Object(_) => serde_json::from_value(map).map(SuiteCache::Whole),
            word => serde_json::from_value(word).map(SuiteCache::Mode),
        }
        .map_err(D::Error::custom)
    }
}

impl JsonSchema for SuiteCache {
    fn schema_name() -> Cow<'static, str> {
        "SuiteCache".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mode, whole) = (
            generator.subschema_for::<CacheMode>(),
            generator.subschema_for::<CacheSpec>(),
        );
        json_schema!({ "if": { "type": "object" }, "then": whole, "else": mode })
    }

    fn inline_schema() -> bool {
        true
    }
}
