//! What our schemas mean, and the copy that errors are drawn from. `publish` makes the one that
//! editors read.
//!
//! Our own words in a canonical schema:
//! - `x-aliases: [name, ..]` on a property: other accepted spellings of its key;
//! - `x-tag-aliases: [name, ..]` on a branch of a `oneOf` of plain values: other spellings of its
//!   value;
//! - `x-optional: [name, ..]` on an object: keys that authors may leave out because the loader
//!   completes them;
//! - `x-optional-tag: true` on a union: the same for its discriminator; with a key in place of
//!   `true`, in the branches that require this key;
//! - `x-instead-of: [key, ..]` on a property: a short form that takes the place of these keys, so
//!   that the loader turns it into one of them;
//! - `x-editor: [schema, ..]`: rules for editors only (see `spec::rules`): a lint of the loader
//!   checks them and reports more than a schema can.

use serde_json::{Map, Value, json};

/// Keywords under which a map of schemas lies.
const SCHEMA_MAPS: [&str; 5] = [
    "properties",
    "$defs",
    "definitions",
    "patternProperties",
    "dependentSchemas",
];
/// Keywords under which a list of schemas lies.
const SCHEMA_LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords under which one schema lies.
const SCHEMA_SINGLES: [&str; 10] = [
    "items",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "additionalItems",
];
/// Discriminators by preference, where several properties would do.
const USUAL_TAGS: [&str; 4] = ["type", "method", "format", "when"];
/// How many `$ref`s in a row are followed.
const MAX_REFS: usize = 32;

/// A tagged union: the key that tells the branches apart, and each branch's tags (the canonical one
/// first).
pub(in crate::load) struct BranchTags {
    pub key: String,
    pub tags: Vec<Vec<String>>,
}

/// A schema with its `$ref` and `allOf` merged into it. Its own words win; properties and demands
/// add up.
pub(in crate::load) fn flatten(root: &Value, schema: &Value) -> Map<String, Value> {
    let mut flat = Map::new();
    flatten_into(root, schema, &mut flat, MAX_REFS);
    flat
}

fn flatten_into(root: &Value, schema: &Value, flat: &mut Map<String, Value>, depth: usize) {
    let (Some(object), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else {
        return;
    };
    for (word, value) in object {
        match (word.as_str(), flat.get_mut(word)) {
            ("$ref" | "allOf" | "$defs" | "definitions", _) => {}
            ("properties", Some(Value::Object(there))) => {
                for (name, property) in value.as_object().into_iter().flatten() {
                    there
                        .entry(name.clone())
                        .or_insert_with(|| property.clone());
                }
            }
            ("required", Some(Value::Array(there))) => {
                there.extend(value.as_array().into_iter().flatten().cloned());
            }
            (_, Some(_)) => {}
            (_, None) => drop(flat.insert(word.clone(), value.clone())),
        }
    }
    if let Some(target) = object
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|r| resolve(root, r))
    {
        flatten_into(root, target, flat, depth);
    }
    for part in object
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if part.get("if").is_none() {
            flatten_into(root, part, flat, depth);
        }
    }
}

/// The target of a `$ref` into the same document.
pub(in crate::load) fn resolve<'v>(root: &'v Value, reference: &str) -> Option<&'v Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// The texts that a schema names by `const` or `enum`; `None` when it takes anything else too.
pub(in crate::load) fn fixed_texts(root: &Value, schema: &Value) -> Option<Vec<String>> {
    let flat = flatten(root, schema);
    if let Some(text) = flat.get("const") {
        return Some(vec![text.as_str()?.to_owned()]);
    }
    let options = flat.get("enum")?.as_array()?;
    options
        .iter()
        .map(|v| v.as_str().map(str::to_owned))
        .collect()
}

/// The branches of a `oneOf` or `anyOf`, without a branch that only says null.
pub(in crate::load) fn branches(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    let list = schema
        .get("oneOf")
        .or_else(|| schema.get("anyOf"))?
        .as_array()?;
    Some(
        list.iter()
            .filter(|b| b.get("type").and_then(Value::as_str) != Some("null"))
            .collect(),
    )
}

/// Other spellings of a property or of a branch's tag.
pub(in crate::load) fn aliases<'v>(schema: &'v Value, word: &str) -> impl Iterator<Item = &'v str> {
    schema
        .get(word)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// What tells these branches apart: a property that each of them fixes to texts.
pub(in crate::load) fn discriminator(root: &Value, branches: &[&Value]) -> Option<BranchTags> {
    let flat: Vec<_> = branches.iter().map(|b| flatten(root, b)).collect();
    let tags_of = |key: &str, branch: &Map<String, Value>| {
        let property = branch.get("properties")?.get(key)?;
        fixed_texts(root, property).filter(|tags| !tags.is_empty())
    };
    let first = flat.first()?.get("properties")?.as_object()?;
    let usual = USUAL_TAGS
        .iter()
        .copied()
        .filter(|t| first.contains_key(*t));
    usual
        .chain(first.keys().map(String::as_str))
        .find_map(|key| {
            let tags: Option<Vec<_>> = flat.iter().map(|branch| tags_of(key, branch)).collect();
            tags.map(|tags| BranchTags {
                key: key.to_owned(),
                tags,
            })
        })
}

/// Every value of a union of plain texts, branch by branch; `None` when a branch is anything else.
pub(in crate::load) fn plain_values(root: &Value, branches: &[&Value]) -> Option<Vec<Vec<String>>> {
    branches
        .iter()
        .map(|branch| fixed_texts(root, branch))
        .collect()
}

/// Whether an optional property's explicit null is the same as its absence.
pub(in crate::load) fn null_is_absent(
    root: &Value,
    owner: &Map<String, Value>,
    name: &str,
    property: &Value,
) -> bool {
    let required = owner.get("required").and_then(Value::as_array);
    if required.is_some_and(|r| r.iter().any(|n| n == name)) {
        return false;
    }
    let flat = flatten(root, property);
    ["type", "enum", "const", "anyOf", "oneOf"]
        .iter()
        .any(|word| flat.contains_key(*word))
}

/// Applies `f` to every schema directly inside of this one.
pub(super) fn each_subschema(schema: &mut Map<String, Value>, f: &mut dyn FnMut(&mut Value)) {
    for (word, value) in schema.iter_mut() {
        let word = word.as_str();
        match value {
            Value::Object(map) if SCHEMA_MAPS.contains(&word) => map.values_mut().for_each(&mut *f),
            Value::Array(list) if SCHEMA_LISTS.contains(&word) => list.iter_mut().for_each(&mut *f),
            Value::Object(_) if SCHEMA_SINGLES.contains(&word) => f(value),
            _ => {}
        }
    }
}

/// The copy that is compiled: a tagged union becomes if/then on its discriminator, so that an error
/// speaks of one branch; a union of plain texts becomes an enum; the null of an optional key, which
/// normalising drops, is gone.
pub(in crate::load) fn for_errors(root: &Value) -> Value {
    let mut copy = root.clone();
    rewrite(root, &mut copy);
    copy
}

fn rewrite(root: &Value, schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let owner = object.clone();
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, property) in properties {
            if null_is_absent(root, &owner, name, property) {
                strip_null(property);
            }
        }
    }
    bound_integer(object);
    if let Some(word) = ["oneOf", "anyOf"]
        .into_iter()
        .find(|w| object.contains_key(*w))
    {
        rewrite_union(root, object, word);
    }
    each_subschema(object, &mut |inner| rewrite(root, inner));
}

fn rewrite_union(root: &Value, object: &mut Map<String, Value>, word: &str) {
    let list: Vec<Value> = object
        .get(word)
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let refs: Vec<&Value> = list.iter().collect();
    if let Some(values) = plain_values(root, &refs) {
        let spellings = list.iter().flat_map(|b| aliases(b, "x-tag-aliases"));
        let spellings: Vec<&str> = spellings.collect();
        object.remove(word);
        object.insert("x-tag-aliases".into(), json!(spellings));
        object.insert("enum".into(), json!(values.concat()));
        object.insert("type".into(), json!("string"));
        return;
    }
    let Some(BranchTags { key, tags }) = discriminator(root, &refs) else {
        return;
    };
    object.remove(word);
    let conditions = list.iter().zip(&tags).map(|(branch, tags)| {
        let condition = json!({"properties": {(key.as_str()): {"enum": tags}}, "required": [key]});
        json!({"if": condition, "then": branch})
    });
    let conditions: Vec<Value> = conditions.collect();
    match object.entry("allOf").or_insert_with(|| json!([])) {
        Value::Array(all) => all.extend(conditions),
        other => *other = json!(conditions),
    }
    object.entry("type").or_insert_with(|| json!("object"));
    match object.entry("required").or_insert_with(|| json!([])) {
        Value::Array(required) if !required.iter().any(|r| *r == key.as_str()) => {
            required.push(json!(key))
        }
        _ => {}
    }
    if let Value::Object(properties) = object.entry("properties").or_insert_with(|| json!({})) {
        properties.insert(key, json!({"enum": tags.concat()}));
    }
}

/// The bounds that a Rust integer type has and that schemars tells by `format` only.
pub(super) fn bound_integer(object: &mut Map<String, Value>) {
    let Some(format) = object.get("format").and_then(Value::as_str) else {
        return;
    };
    let (min, max) = match format {
        "uint8" => (json!(0), json!(u8::MAX)),
        "uint16" => (json!(0), json!(u16::MAX)),
        "uint32" => (json!(0), json!(u32::MAX)),
        "uint64" | "uint" => (json!(0), json!(u64::MAX)),
        "int32" => (json!(i32::MIN), json!(i32::MAX)),
        "int64" | "int" => (json!(i64::MIN), json!(i64::MAX)),
        _ => return,
    };
    if !object.contains_key("exclusiveMinimum") {
        object.entry("minimum").or_insert(min);
    }
    if !object.contains_key("exclusiveMaximum") {
        object.entry("maximum").or_insert(max);
    }
}

/// Takes the null out of a schema's types and branches; a branch that is left alone takes the
/// union's place.
pub(super) fn strip_null(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("enum") {
        options.retain(|o| !o.is_null());
    }
    for word in ["anyOf", "oneOf"] {
        let Some(Value::Array(list)) = object.get_mut(word) else {
            continue;
        };
        list.retain(|b| b.get("type").and_then(Value::as_str) != Some("null"));
        if let [Value::Object(only)] = list.as_slice() {
            let only = only.clone();
            object.remove(word);
            for (word, value) in only {
                object.entry(word).or_insert(value);
            }
        }
    }
}
