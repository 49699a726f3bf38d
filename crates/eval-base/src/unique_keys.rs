//! JSON in which every object has each of its keys once. `serde_json` keeps the last value of a
//! repeated key, silently.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::text::shortened;

/// Characters of a key in a message.
const SHOWN: usize = 80;

/// What kind of value a JSON text holds, which is read and dropped. Not `IgnoredAny`, which accepts
/// what can't be read later: lone surrogates, and nesting without bound. A key that its object has
/// twice is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonShape {
    Null,
    Text,
    Other,
}

impl<'de> Deserialize<'de> for JsonShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = JsonShape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<JsonShape, E> {
        Ok(JsonShape::Null)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<JsonShape, E> {
        Ok(JsonShape::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<JsonShape, E> {
        Ok(JsonShape::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<JsonShape, E> {
        Ok(JsonShape::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<JsonShape, E> {
        Ok(JsonShape::Other)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<JsonShape, E> {
        Ok(JsonShape::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonShape, A::Error> {
        while seq.next_element::<JsonShape>()?.is_some() {}
        Ok(JsonShape::Other)
    }

    /// Numbers come here, too: as an object of one key, which is how their digits are kept.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonShape, A::Error> {
        let mut keys = BTreeSet::<String>::new();
        while let Some(key) = map.next_key()? {
            map.next_value::<JsonShape>()?;
            if let Some(again) = keys.replace(key) {
                let again = shortened(&again, SHOWN);
                return Err(A::Error::custom(format!("duplicate key `{again}`")));
            }
        }
        Ok(JsonShape::Other)
    }
}

/// Reads a JSON text in which every object has each of its keys once.
pub fn from_str(text: &str) -> serde_json::Result<Value> {
    let value = serde_json::from_str(text)?;
    serde_json::from_str::<JsonShape>(text)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_looked_at() {
        let why = |text: &str| {
            serde_json::from_str::<JsonShape>(text)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            why(
                r#"{"a": [1, -2, 3.5, 1e999, "x", null, true, {"a": 12345678901234567890123}], "b": {}}"#
            ),
            None
        );
        for twice in [r#"{"a": 1, "a": 1}"#, r#"[{"b": {"a": 1, "\u0061": 2}}]"#] {
            assert!(
                why(twice).is_some_and(|why| why.starts_with("duplicate key `a`")),
                "{twice}"
            );
        }
    }
}
