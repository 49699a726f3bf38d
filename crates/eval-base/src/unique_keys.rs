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

/// Reads any JSON, keeps nothing of it, and fails at a key that its object has twice.
#[derive(Debug)]
pub struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<UniqueKeys, A::Error> {
        while let Some(UniqueKeys) = seq.next_element()? {}
        Ok(UniqueKeys)
    }

    /// Numbers come here, too: as an object of one key, which is how their digits are kept.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueKeys, A::Error> {
        let mut keys = UniqueKeySet::default();
        while let Some(key) = map.next_key::<String>()? {
            let UniqueKeys = map.next_value()?;
            keys.insert(key)?;
        }
        Ok(UniqueKeys)
    }
}

/// The keys of one object, for a reader that must see each of them once.
#[derive(Debug, Default)]
pub struct UniqueKeySet(BTreeSet<String>);

impl UniqueKeySet {
    /// Fails with the error of a deserializer when the key is already in the object.
    pub fn insert<E: Error>(&mut self, key: String) -> Result<(), E> {
        match self.0.replace(key) {
            None => Ok(()),
            Some(again) => Err(E::custom(format!(
                "the key `{}` is there twice",
                shortened(&again, SHOWN)
            ))),
        }
    }
}

/// Reads a JSON text in which every object has each of its keys once.
pub fn from_str(text: &str) -> serde_json::Result<Value> {
    let value = serde_json::from_str(text)?;
    let UniqueKeys = serde_json::from_str(text)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_looked_at() {
        let why = |text: &str| {
            serde_json::from_str::<UniqueKeys>(text)
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
                why(twice).is_some_and(|why| why.starts_with("the key `a` is there twice")),
                "{twice}"
            );
        }
    }
}
