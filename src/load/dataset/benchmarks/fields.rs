//! The fields of a benchmark's record; what is wrong with one is a sentence for the user.

use serde_json::{Map, Value};

pub(super) type Record = Map<String, Value>;

/// The text of the first of these keys that the record has.
pub(super) fn text<'r>(record: &'r Record, keys: &[&str]) -> Result<&'r str, String> {
    let found = keys
        .iter()
        .find_map(|key| record.get(*key).map(|value| (key, value)));
    match found {
        Some((_, Value::String(text))) => Ok(text),
        Some((key, _)) => Err(format!("`{key}` is not a text")),
        None => Err(format!(
            "the record has no `{}`",
            keys.first().unwrap_or(&"?")
        )),
    }
}

/// The same, `None` if the record has none of the keys.
pub(super) fn text_if_any<'r>(
    record: &'r Record,
    keys: &[&str],
) -> Result<Option<&'r str>, String> {
    if keys.iter().any(|key| record.contains_key(*key)) {
        text(record, keys).map(Some)
    } else {
        Ok(None)
    }
}

/// A list of texts, empty if the record does not have the key.
pub(super) fn texts(record: &Record, key: &str) -> Result<Vec<String>, String> {
    let Some(value) = record.get(key) else {
        return Ok(Vec::new());
    };
    let items = value
        .as_array()
        .ok_or_else(|| format!("`{key}` is not a list"))?;
    items
        .iter()
        .map(|item| {
            item.as_str()
                .map(str::to_owned)
                .ok_or_else(|| format!("`{key}` contains an element that is not a text"))
        })
        .collect()
}

/// `task_id` as a text.
pub(super) fn task_id(record: &Record) -> Result<String, String> {
    match record.get("task_id") {
        Some(Value::String(id)) if !id.is_empty() => Ok(id.clone()),
        Some(Value::Number(n)) => Ok(n.to_string()),
        Some(_) => Err("`task_id` is neither a text nor a number".to_owned()),
        None => Err("the record has no `task_id`".to_owned()),
    }
}

/// `task_id`, `problem_id` or `id` as a text, else the place of the record in its file, from 0.
pub(super) fn record_id(record: &Record, index: usize) -> String {
    let keys = ["task_id", "problem_id", "id"];
    match keys.iter().find_map(|key| record.get(*key)) {
        Some(Value::String(id)) if !id.is_empty() => id.clone(),
        Some(Value::Number(n)) => n.to_string(),
        _ => index.to_string(),
    }
}
