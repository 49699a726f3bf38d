//! Schemas and places in the words of messages.

use serde_json::{Map, Value};

use super::derive::{branches, flatten};

/// How many levels of unions and lists a description follows.
const TOP: usize = 3;

/// What a schema takes: "a text", "a list of numbers", "a text or a map".
pub(super) fn describe(root: &Value, schema: &Value) -> String {
    describe_flat(root, &flatten(root, schema), TOP)
}

fn describe_flat(root: &Value, flat: &Map<String, Value>, depth: usize) -> String {
    if let Some(options) = flat.get("enum").and_then(Value::as_array) {
        return match options.as_slice() {
            [one] => quoted(one),
            many => format!("one of {}", listed(many.iter().map(quoted))),
        };
    }
    if let Some(only) = flat.get("const") {
        return quoted(only);
    }
    if let (Some(branches), Some(depth)) = (branches(flat), depth.checked_sub(1)) {
        let mut each: Vec<String> = branches
            .iter()
            .map(|b| describe_flat(root, &flatten(root, b), depth))
            .collect();
        each.dedup();
        return each.join(" or ");
    }
    let types: Vec<&str> = match flat.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ if flat.contains_key("properties") => vec!["object"],
        _ => return "any value".to_owned(),
    };
    let named = types
        .iter()
        .filter(|t| types.len() == 1 || **t != "null")
        .map(|t| match *t {
            "array" => list(root, flat, depth),
            "object" if depth < TOP => match flat
                .get("required")
                .and_then(Value::as_array)
                .map(Vec::as_slice)
            {
                // Inside of a union, the key that a branch demands is what tells it from the
                // others.
                Some([only]) => format!("a map with {}", quoted(only)),
                _ => "a map".to_owned(),
            },
            other => type_words(other).to_owned(),
        });
    named.collect::<Vec<_>>().join(" or ")
}

fn list(root: &Value, flat: &Map<String, Value>, depth: usize) -> String {
    let Some((items, depth)) = flat.get("items").zip(depth.checked_sub(1)) else {
        return "a list".to_owned();
    };
    match describe_flat(root, &flatten(root, items), depth).as_str() {
        "a text" => "a list of texts".to_owned(),
        "a number" => "a list of numbers".to_owned(),
        "a whole number" => "a list of whole numbers".to_owned(),
        "a map" => "a list of maps".to_owned(),
        one if one.starts_with("a map with ") => "a list of maps".to_owned(),
        one if one.starts_with("one of ") => format!("a list, each element {one}"),
        _ => "a list".to_owned(),
    }
}

fn type_words(name: &str) -> &str {
    match name {
        "string" => "a text",
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a map",
        "null" => "nothing",
        other => other,
    }
}

/// A value in backticks, cut when it is long.
pub(super) fn quoted(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let flat = text.replace(['\n', '\r', '\t'], " ");
    let mut chars = flat.chars();
    let head: String = chars.by_ref().take(60).collect();
    if chars.next().is_some() {
        format!("`{head}...`")
    } else {
        format!("`{head}`")
    }
}

/// `a, b, c`: all of them, since one that is left out may be the one that is meant.
pub(super) fn listed(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// The name of the place that a JSON pointer leads to.
pub(super) fn subject(pointer: &str) -> String {
    let unescape = |step: &str| step.replace("~1", "/").replace("~0", "~");
    let mut steps = pointer.rsplit('/');
    let last = steps.next().map(unescape).unwrap_or_default();
    if pointer.is_empty() {
        return "the document".to_owned();
    }
    let Ok(index) = last.parse::<usize>() else {
        return format!("`{last}`");
    };
    match steps
        .next()
        .map(unescape)
        .filter(|owner| !owner.is_empty() && owner.parse::<usize>().is_err())
    {
        Some(owner) => format!("element {} of `{owner}`", index + 1),
        None => format!("element {}", index + 1),
    }
}
