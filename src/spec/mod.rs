//! What people write: the source of every JSON Schema under `schemas/`.
//!
//! The types here define shapes, not semantics: a lint of `load` may still refuse a file that fits
//! them. Rules for these types, because numbers keep their digits (see `serde_json`'s
//! `arbitrary_precision`): no untagged, internally tagged or flattened deserialisation by derive;
//! [`tagged!`] writes the dispatch by hand. The loader reads other spellings of a key from
//! `x-aliases`; they never reach serde.

pub mod words;

mod agent;
mod baseline;
mod cache;
mod calibration;
mod check;
mod dataset;
mod defaults;
mod eval;
mod executor;
mod expected;
mod grader;
mod grader_unions;
mod input;
mod judged;
mod notify;
mod phase;
mod prices;
mod providers;
mod recorded;
mod regression;
pub(crate) mod rules;
mod sandbox;
mod schemas;
mod scores;
mod shape;
mod short;
mod steps;
mod suite;
mod target;
mod thresholds;
mod unions;
mod workspace;

pub use agent::*;
pub use baseline::*;
pub use cache::*;
pub use calibration::*;
pub use check::*;
pub use dataset::*;
pub use defaults::*;
pub use eval::*;
pub use executor::*;
pub use expected::*;
pub use grader::*;
pub use input::*;
pub use judged::*;
pub use notify::*;
pub use phase::*;
pub use prices::*;
pub use providers::*;
pub use recorded::*;
pub use regression::*;
pub use sandbox::*;
pub use schemas::{SchemaKind, canonical, schema_of, with_joined_lines, written_schema_of};
pub use scores::*;
pub use shape::*;
pub(crate) use short::EXPECTATION_KEYS;
pub use steps::*;
pub use suite::*;
pub use target::*;
pub use thresholds::*;
pub use unions::*;
pub use workspace::*;

/// Implements `Deserialize` for an enum whose branch is named by a key beside the branch's own
/// keys.
///
/// The enum derives `Serialize` and `JsonSchema` with `#[serde(tag = ...)]`, so that all three
/// agree.
macro_rules! tagged {
    ($name:ident by $tag:literal { $($variant:ident = $word:literal),* $(,)? }) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::Error as _;
                let mut map = serde_json::Map::<String, serde_json::Value>::deserialize(deserializer)?;
                let word = map.remove($tag).ok_or_else(|| D::Error::missing_field($tag))?;
                let word = word.as_str().ok_or_else(|| D::Error::custom(concat!("`", $tag, "` must be a text")))?;
                match word {
                    $($word => serde_json::from_value(serde_json::Value::Object(map))
                        .map($name::$variant)
                        .map_err(D::Error::custom),)*
                    other => Err(D::Error::unknown_variant(other, &[$($word),*])),
                }
            }
        }
    };
}
pub(crate) use tagged;
