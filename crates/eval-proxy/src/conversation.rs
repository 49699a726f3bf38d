//! Requests of one conversation: which they are, and what of a request is new.
//!
//! An agent sends its whole history with every request. Only digests of it are kept: enough to
//! recognise what a later request repeats.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::ApiProtocol;
use crate::normalize::Normalization;
use crate::report::ContinuedRequest;

/// Items of a list beyond which a list is one value.
const MOST_ITEMS: usize = 20_000;

/// 128 bits of SHA-256.
pub(crate) type ShortDigest = [u8; 16];

pub(crate) fn digest_of(bytes: &[u8]) -> ShortDigest {
    let mut short = ShortDigest::default();
    for (to, from) in short.iter_mut().zip(Sha256::digest(bytes)) {
        *to = from;
    }
    short
}

fn digest_of_value(value: &Value) -> ShortDigest {
    // Values of JSON are always written, with their keys sorted.
    digest_of(&serde_json::to_vec(value).unwrap_or_default())
}

/// A top-level field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldShape {
    Whole(ShortDigest),
    List(Vec<ShortDigest>),
}

/// A request's body as digests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BodyShape(BTreeMap<String, FieldShape>);

impl BodyShape {
    /// As it is sent.
    pub fn of(body: &Value) -> BodyShape {
        BodyShape::with(body, |_, value| Some(value.clone()), |_, item| item.clone())
    }

    /// Without what varies between runs.
    pub fn normalized(body: &Value, rules: &Normalization) -> BodyShape {
        BodyShape::with(
            body,
            |name, value| rules.field(name, value),
            |name, item| rules.item(name, item),
        )
    }

    fn with(
        body: &Value,
        field: impl Fn(&str, &Value) -> Option<Value>,
        item: impl Fn(&str, &Value) -> Value,
    ) -> BodyShape {
        let Value::Object(fields) = body else {
            let whole = field("", body).as_ref().map(digest_of_value);
            let whole = whole.map(|whole| (String::new(), FieldShape::Whole(whole)));
            return BodyShape(whole.into_iter().collect());
        };
        let shapes = fields.iter().filter_map(|(name, value)| {
            let shape = match value {
                Value::Array(items) if items.len() <= MOST_ITEMS => {
                    // An ignored list is not compared, like any other field.
                    field(name, &Value::Null)?;
                    let items = items
                        .iter()
                        .map(|value| digest_of_value(&item(name, value)));
                    FieldShape::List(items.collect())
                }
                value => FieldShape::Whole(digest_of_value(&field(name, value)?)),
            };
            Some((name.clone(), shape))
        });
        BodyShape(shapes.collect())
    }

    /// The shape of a request that is written as its difference from an earlier one, whose shape
    /// `earlier` is. `difference` is the shape of what was written.
    pub fn continued(
        earlier: &BodyShape,
        difference: BodyShape,
        continues: &ContinuedRequest,
    ) -> Option<BodyShape> {
        let mut whole = difference.0;
        for name in &continues.same {
            // A field that is not compared has no shape.
            if let Some(shape) = earlier.0.get(name) {
                whole.insert(name.clone(), shape.clone());
            }
        }
        for (name, count) in &continues.items {
            match (earlier.0.get(name), whole.get_mut(name)) {
                (Some(FieldShape::List(shared)), Some(FieldShape::List(rest))) => {
                    rest.splice(..0, shared.get(..*count)?.iter().copied());
                }
                (None, None) => {}
                _ => return None,
            }
        }
        Some(BodyShape(whole))
    }

    /// What of a body is the same in the request with this shape.
    pub fn shared_with(&self, earlier: &BodyShape) -> (Vec<String>, BTreeMap<String, usize>) {
        let (mut same, mut items) = (Vec::new(), BTreeMap::new());
        for (name, shape) in &self.0 {
            match (shape, earlier.0.get(name)) {
                (_, None) => {}
                (shape, Some(other)) if shape == other => same.push(name.clone()),
                (FieldShape::List(list), Some(FieldShape::List(other))) => {
                    let common = list.iter().zip(other).take_while(|(a, b)| a == b).count();
                    if common > 0 {
                        items.insert(name.clone(), common);
                    }
                }
                _ => {}
            }
        }
        (same, items)
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        let sizes = self.0.values().map(|shape| match shape {
            FieldShape::Whole(_) => 96,
            FieldShape::List(items) => 96 + items.len() * 16,
        });
        sizes.sum()
    }
}

/// Cuts from a body what an earlier request has, whose shape is `earlier`.
pub(crate) fn difference(
    body: Value,
    shape: &BodyShape,
    earlier: &BodyShape,
    exchange: usize,
) -> (Value, Option<ContinuedRequest>) {
    let Value::Object(mut fields) = body else {
        return (body, None);
    };
    let (same, items) = shape.shared_with(earlier);
    for name in &same {
        fields.remove(name);
    }
    for (name, count) in &items {
        if let Some(Value::Array(list)) = fields.get_mut(name) {
            list.drain(..(*count).min(list.len()));
        }
    }
    let continues = ContinuedRequest {
        exchange,
        same,
        items,
    };
    (Value::Object(fields), Some(continues))
}

/// What requests of one conversation have in common: the system prompt and everything before the
/// model's first answer, without what varies.
pub(crate) fn conversation_key(
    protocol: ApiProtocol,
    body: &Value,
    rules: &Normalization,
) -> ShortDigest {
    let (system, list) = match protocol {
        ApiProtocol::AnthropicMessages => ("system", "messages"),
        ApiProtocol::OpenaiChat => ("", "messages"),
        ApiProtocol::OpenaiResponses => ("instructions", "input"),
        ApiProtocol::Gemini => ("systemInstruction", "contents"),
    };
    let mut start = Map::new();
    start.insert("protocol".to_owned(), protocol.name().into());
    if let Some(system) = body
        .get(system)
        .and_then(|value| rules.field(system, value))
    {
        start.insert("system".to_owned(), system);
    }
    let items: Vec<Value> = match body.get(list) {
        Some(Value::Array(items)) => items
            .iter()
            .take_while(|item| is_question(item))
            .map(|item| rules.item(list, item))
            .collect(),
        Some(text) => rules.field(list, text).into_iter().collect(),
        None => Vec::new(),
    };
    start.insert("items".to_owned(), Value::Array(items));
    digest_of_value(&Value::Object(start))
}

/// A message that is not from the model, and not a result of what it called.
fn is_question(item: &Value) -> bool {
    match item.get("role").and_then(Value::as_str) {
        Some(role) => matches!(role, "system" | "developer" | "user"),
        None => item.get("type").and_then(Value::as_str).is_none() && item.get("parts").is_some(),
    }
}
