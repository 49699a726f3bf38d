//! Requests of one conversation: which they are, and what of a request is new.
//!
//! An agent sends its whole history with every request. Only digests of it are kept: enough to
//! recognise what a later request repeats.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
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
        BodyShape::with(body, |part| Some(digest_of_value(part.value)))
    }

    fn with(
        body: &Value,
        mut digest: impl FnMut(BodyPart<'_>) -> Option<ShortDigest>,
    ) -> BodyShape {
        let mut shapes = BTreeMap::new();
        let Value::Object(fields) = body else {
            if let Some(whole) = digest(BodyPart::field("", body)) {
                shapes.insert(String::new(), FieldShape::Whole(whole));
            }
            return BodyShape(shapes);
        };
        for (name, value) in fields {
            let shape = match value {
                Value::Array(items) if items.len() <= MOST_ITEMS => {
                    // An ignored list is not compared, like any other field.
                    digest(BodyPart::field(name, &Value::Null)).map(|_| {
                        let items = items.iter().map(|value| BodyPart {
                            name,
                            value,
                            is_item: true,
                        });
                        FieldShape::List(items.filter_map(&mut digest).collect())
                    })
                }
                value => digest(BodyPart::field(name, value)).map(FieldShape::Whole),
            };
            if let Some(shape) = shape {
                shapes.insert(name.clone(), shape);
            }
        }
        BodyShape(shapes)
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

    pub fn digest(&self) -> ShortDigest {
        let mut bytes = Vec::new();
        for (name, shape) in &self.0 {
            bytes.extend(digest_of(name.as_bytes()));
            match shape {
                FieldShape::Whole(digest) => bytes.extend(digest),
                FieldShape::List(items) => {
                    bytes.extend((items.len() as u64).to_le_bytes());
                    bytes.extend(items.iter().flatten());
                }
            }
        }
        digest_of(&bytes)
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

/// A top-level field of a body, or an item of a list there.
#[derive(Debug, Clone, Copy)]
struct BodyPart<'b> {
    /// Of the field.
    name: &'b str,
    value: &'b Value,
    is_item: bool,
}

impl<'b> BodyPart<'b> {
    fn field(name: &'b str, value: &'b Value) -> BodyPart<'b> {
        BodyPart {
            name,
            value,
            is_item: false,
        }
    }
}

/// Parts whose digests are remembered.
const MOST_KNOWN: usize = 1 << 15;

/// Digests of the parts of requests without what varies between runs. An agent repeats its history
/// with every request: what was seen is known by its content.
#[derive(Debug, Default)]
pub(crate) struct NormalizedParts(HashMap<ShortDigest, Option<ShortDigest>>);

impl NormalizedParts {
    fn digest(
        &mut self,
        part: BodyPart<'_>,
        rules: &Normalization,
        redact: &dyn Fn(&mut Value),
    ) -> Option<ShortDigest> {
        let kind = if part.is_item { "*" } else { "" };
        let mut bytes = format!("{}\n{kind}\n", part.name).into_bytes();
        // Values of JSON are always written.
        let _ = serde_json::to_writer(&mut bytes, part.value);
        let content = digest_of(&bytes);
        if let Some(known) = self.0.get(&content) {
            return *known;
        }
        let mut value = part.value.clone();
        redact(&mut value);
        let normalized = match part.is_item {
            true => Some(rules.item(part.name, &value)),
            false => rules.field(part.name, &value),
        };
        let digest = normalized.as_ref().map(digest_of_value);
        if self.0.len() >= MOST_KNOWN {
            self.0.clear();
        }
        self.0.insert(content, digest);
        digest
    }

    /// A body without what varies between runs. `redact` takes out its secrets.
    pub fn shape(
        &mut self,
        body: &Value,
        rules: &Normalization,
        redact: &dyn Fn(&mut Value),
    ) -> BodyShape {
        BodyShape::with(body, |part| self.digest(part, rules, redact))
    }

    /// What requests of one conversation have in common: the system prompt and everything before the
    /// model's first answer, without what varies.
    pub fn conversation(
        &mut self,
        protocol: ApiProtocol,
        body: &Value,
        rules: &Normalization,
        redact: &dyn Fn(&mut Value),
    ) -> ShortDigest {
        let (system, list) = match protocol {
            ApiProtocol::AnthropicMessages => ("system", "messages"),
            ApiProtocol::OpenaiChat => ("", "messages"),
            ApiProtocol::OpenaiResponses => ("instructions", "input"),
            ApiProtocol::Gemini => ("systemInstruction", "contents"),
        };
        let mut start = protocol.name().as_bytes().to_vec();
        let mut add = |name, value, is_item| {
            let part = BodyPart {
                name,
                value,
                is_item,
            };
            if let Some(digest) = self.digest(part, rules, redact) {
                start.extend(digest);
            }
        };
        if let Some(value) = body.get(system) {
            add(system, value, false);
        }
        match body.get(list) {
            Some(Value::Array(items)) => {
                let first = items.iter().take_while(|item| is_question(item));
                first.for_each(|item| add(list, item, true));
            }
            Some(text) => add(list, text, false),
            None => {}
        }
        digest_of(&start)
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

/// A message that is not from the model, and not a result of what it called.
fn is_question(item: &Value) -> bool {
    match item.get("role").and_then(Value::as_str) {
        Some(role) => matches!(role, "system" | "developer" | "user"),
        None => item.get("type").and_then(Value::as_str).is_none() && item.get("parts").is_some(),
    }
}
