//! Values that may be written in more than one way.
//!
//! Their schemas use `if`/`else` on the JSON type instead of `anyOf`, so that a validator's errors
//! speak of the one way that the author took.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, de::Error as _,
};
use serde_json::Value;

/// A name of something defined elsewhere, or the definition itself.
#[derive(Debug, Clone, PartialEq)]
pub enum NameOr<T> {
    Name(String),
    Inline(T),
}

impl<T: Serialize> Serialize for NameOr<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NameOr::Name(name) => name.serialize(serializer),
            NameOr::Inline(inline) => inline.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for NameOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(NameOr::Name(name)),
            other => serde_json::from_value(other)
                .map(NameOr::Inline)
                .map_err(D::Error::custom),
        }
    }
}

impl<T: JsonSchema> JsonSchema for NameOr<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("NameOr{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let inline = generator.subschema_for::<T>();
        json_schema!({ "if": { "type": "string" }, "else": inline })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// `x` or `[x, y]`.
#[derive(Debug, Clone, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            list @ Value::Array(_) => serde_json::from_value(list)
                .map(OneOrMany)
                .map_err(D::Error::custom),
            one => serde_json::from_value(one)
                .map(|one| OneOrMany(vec![one]))
                .map_err(D::Error::custom),
        }
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "if": { "type": "array" }, "then": { "items": one }, "else": one })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// `{$ref: path}`, or the value itself.
#[derive(Debug, Clone, PartialEq)]
pub enum RefOr<T> {
    Ref(String),
    Inline(T),
}

impl<T: Serialize> Serialize for RefOr<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RefOr::Ref(path) => serde_json::json!({ "$ref": path }).serialize(serializer),
            RefOr::Inline(inline) => inline.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for RefOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.get("$ref") {
            Some(Value::String(path)) => Ok(RefOr::Ref(path.clone())),
            Some(_) => Err(D::Error::custom("`$ref` must be a text")),
            None => serde_json::from_value(value)
                .map(RefOr::Inline)
                .map_err(D::Error::custom),
        }
    }
}

impl<T: JsonSchema> JsonSchema for RefOr<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("RefOr{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let inline = generator.subschema_for::<T>();
        json_schema!({
            "if": { "type": "object", "required": ["$ref"] },
            "then": {
                "type": "object",
                "properties": { "$ref": {
                    "type": "string",
                    "description": "A path relative to this file, a glob, or `path#id`.",
                    "minLength": 1
                } },
                "required": ["$ref"],
                "additionalProperties": false
            },
            "else": inline
        })
    }

    fn inline_schema() -> bool {
        true
    }
}
