//! JSON whose maps keep the order in which somebody wrote their keys: models write the fields of a
//! schema in its order.

use std::fmt;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A JSON value that knows the order of its keys. Equality, and what it is serialised as, don't
/// depend on that order: digests, journals and recordings have keys sorted, and requests are
/// written with [`OrderedValue::as_written`].
#[derive(Debug, Clone)]
pub enum OrderedValue {
    /// Neither a list nor a map.
    Plain(Value),
    List(Vec<OrderedValue>),
    Map(Vec<(String, OrderedValue)>),
}

impl OrderedValue {
    /// A map of these entries, no two of the same name.
    pub fn map<N: Into<String>>(
        entries: impl IntoIterator<Item = (N, OrderedValue)>,
    ) -> OrderedValue {
        OrderedValue::Map(
            entries
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        )
    }

    /// The value alone.
    pub fn to_value(&self) -> Value {
        match self {
            OrderedValue::Plain(value) => value.clone(),
            OrderedValue::List(items) => items.iter().map(OrderedValue::to_value).collect(),
            OrderedValue::Map(entries) => entries
                .iter()
                .map(|(name, value)| (name.clone(), value.to_value()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, OrderedValue::Plain(Value::Null))
    }

    /// Serialises with keys in their order.
    pub fn as_written(&self) -> AsWritten<'_> {
        AsWritten(self)
    }
}

impl From<&str> for OrderedValue {
    fn from(text: &str) -> OrderedValue {
        OrderedValue::Plain(text.into())
    }
}

impl From<Value> for OrderedValue {
    /// Keys in the order of the map, which is sorted.
    fn from(value: Value) -> OrderedValue {
        match value {
            Value::Array(items) => {
                OrderedValue::List(items.into_iter().map(OrderedValue::from).collect())
            }
            Value::Object(fields) => OrderedValue::map(
                fields
                    .into_iter()
                    .map(|(name, value)| (name, OrderedValue::from(value))),
            ),
            plain => OrderedValue::Plain(plain),
        }
    }
}

impl PartialEq for OrderedValue {
    fn eq(&self, other: &OrderedValue) -> bool {
        self.to_value() == other.to_value()
    }
}

impl Serialize for OrderedValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OrderedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OrderedValue, D::Error> {
        Value::deserialize(deserializer).map(OrderedValue::from)
    }
}

/// As JSON, with keys in their order.
impl fmt::Display for OrderedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.as_written()).map_err(|_| fmt::Error)?)
    }
}

/// A value that is serialised with keys in their order.
#[derive(Debug, Clone, Copy)]
pub struct AsWritten<'a>(&'a OrderedValue);

impl Serialize for AsWritten<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            OrderedValue::Plain(value) => value.serialize(serializer),
            OrderedValue::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items
                    .iter()
                    .try_for_each(|item| list.serialize_element(&item.as_written()))?;
                list.end()
            }
            OrderedValue::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries
                    .iter()
                    .try_for_each(|(name, value)| map.serialize_entry(name, &value.as_written()))?;
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }

    #[test]
    fn order_is_written_and_nothing_else_depends_on_it() {
        let number: Value = serde_json::from_str("1.50").unwrap();
        let inner = OrderedValue::map([("z", json!(1).into()), ("a", number.into())]);
        let value = OrderedValue::map([
            ("q", OrderedValue::List(vec![inner])),
            ("b", json!({"d": 1, "c": 2}).into()),
        ]);
        assert_eq!(
            value.to_string(),
            r#"{"q":[{"z":1,"a":1.50}],"b":{"c":2,"d":1}}"#
        );
        assert_eq!(
            text(&value),
            r#"{"b":{"c":2,"d":1},"q":[{"a":1.50,"z":1}]}"#
        );
        let read: OrderedValue = serde_json::from_str(&text(&value.as_written())).unwrap();
        assert_eq!(read, value);
        assert_ne!(text(&read.as_written()), text(&value.as_written()));
    }
}
