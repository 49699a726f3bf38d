//! The schema that editors read, made from a canonical one (whose own words `derive` describes).
//!
//! Editors show the message of the rule that is broken and complete the keys of the branch that
//! fits, so unions become `if`/`then` on their tag. `errorMessage` is a word of
//! yaml-language-server; other validators ignore it.

use serde_json::{Map, Value, json};

use super::derive::{
    BranchTags, aliases, bound_integer, branches, discriminator, each_subschema, flatten,
    null_is_absent, plain_values, strip_null,
};

/// See [`super::published`].
pub(super) fn for_editors(root: &Value) -> Value {
    let mut copy = root.clone();
    let mut branches = Map::new();
    publish(root, &mut copy, &mut branches);
    if let Some(root) = copy.as_object_mut() {
        if let Some(Value::String(title)) = root.get_mut("title") {
            *title = words(title);
        }
        if !branches.is_empty()
            && let Value::Object(defs) = root.entry("$defs").or_insert_with(|| json!({}))
        {
            defs.extend(branches);
        }
    }
    for (name, schema) in copy
        .get_mut("$defs")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        if let Some(object) = schema.as_object_mut()
            && object.get("type").is_some_and(|t| t == "object")
        {
            object.entry("title").or_insert_with(|| json!(words(name)));
        }
    }
    copy
}

/// `CapabilityDefinition` as `capability definition`: editors offer an object by its title.
fn words(name: &str) -> String {
    let mut words = String::new();
    for c in name.strip_suffix("Spec").unwrap_or(name).chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

/// `branches` receives what several places of the schema refer to.
fn publish(root: &Value, schema: &mut Value, branches: &mut Map<String, Value>) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let owner = object.clone();
    each_subschema(object, &mut |inner| publish(root, inner, branches));
    bound_integer(object);
    if object
        .get("type")
        .is_some_and(|t| has_type(t, "integer") || has_type(t, "number"))
    {
        object.remove("format");
    }
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if owner
            .get("properties")
            .and_then(|p| p.get(name))
            .is_some_and(|p| null_is_absent(root, &owner, name, p))
        {
            // A null that is dropped may leave too few keys.
            if owner.contains_key("minProperties") {
                strip_null(property);
            } else {
                accept_null(root, property);
            }
        }
    }
    for name in aliases(&Value::Object(owner), "x-optional") {
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.retain(|r| *r != name);
        }
    }
    if let Some(Value::Array(spellings)) = object.remove("x-tag-aliases") {
        let mut options = match (object.remove("const"), object.remove("enum")) {
            (_, Some(Value::Array(many))) => many,
            (one, _) => one.into_iter().collect(),
        };
        options.extend(spellings);
        object.insert("enum".into(), Value::Array(options));
    }
    let optional_tag = object.remove("x-optional-tag");
    publish_union(root, object, optional_tag.as_ref(), branches);
    object.remove("x-optional");
    // `x-aliases` of a property is still there: its owner expands it.
    publish_properties(object);
    if let Some(Value::Array(rules)) = object.remove("x-editor") {
        demand(object, rules);
    }
    name_object(object);
}

fn has_type(types: &Value, name: &str) -> bool {
    match types {
        Value::Array(types) => types.iter().any(|t| t == name),
        one => one == name,
    }
}

/// Adds schemas to `allOf`.
fn demand(object: &mut Map<String, Value>, schemas: Vec<Value>) {
    if schemas.is_empty() {
        return;
    }
    match object.entry("allOf").or_insert_with(|| json!([])) {
        Value::Array(all) => all.extend(schemas),
        other => *other = json!(schemas),
    }
}

/// An object that is known by its one key, such as `{$ref: ..}`, is named after it.
fn name_object(object: &mut Map<String, Value>) {
    let only = match object.get("required").and_then(Value::as_array) {
        // A union has its tag as its one key.
        Some(required) if !object.contains_key("allOf") => required.first().cloned(),
        _ => None,
    };
    if let Some(only) = only.filter(|_| {
        object
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|p| p.len() == 1)
    }) {
        object.entry("title").or_insert(only);
    }
}

/// A tagged union as `if`/`then` on its tag. Where the tag may be left out, any branch that fits
/// will do: of all branches, or of those that require the key that `optional_tag` names.
fn publish_union(
    root: &Value,
    object: &mut Map<String, Value>,
    optional_tag: Option<&Value>,
    shared: &mut Map<String, Value>,
) {
    let Some(Value::Array(list)) = object.get("oneOf").cloned() else {
        return;
    };
    let refs: Vec<&Value> = list.iter().collect();
    if object.contains_key("properties") || plain_values(root, &refs).is_some() {
        return;
    }
    let Some(BranchTags { key, tags }) = discriminator(root, &refs) else {
        return;
    };
    object.remove("oneOf");
    let descriptions: Vec<&str> = list
        .iter()
        .map(|branch| branch["description"].as_str().unwrap_or_default())
        .collect();
    let mut tag = json!({"enum": tags.concat()});
    if tags.iter().all(|tags| tags.len() == 1) && descriptions.iter().any(|d| !d.is_empty()) {
        tag["enumDescriptions"] = json!(descriptions);
    }
    let mut rules = Vec::new();
    let mut any = Vec::new();
    for (branch, tags) in list.iter().zip(&tags) {
        let mut branch = branch.clone();
        if let (Some(branch), Some(name)) = (branch.as_object_mut(), tags.first()) {
            branch.insert("title".to_owned(), json!(name));
        }
        let requires = |key: &str| {
            let required = branch.get("required").and_then(Value::as_array);
            required.is_some_and(|required| required.iter().any(|name| name == key))
        };
        if optional_tag.is_some_and(|of| of.as_str().is_none_or(requires)) {
            if let Some(Value::Array(required)) = branch.get_mut("required") {
                required.retain(|name| *name != key.as_str());
            }
            let name = format!("{key}.{}", tags.concat());
            let reference = json!({"$ref": format!("#/$defs/{name}")});
            shared.insert(name, std::mem::replace(&mut branch, reference));
            any.push(branch.clone());
        }
        let fits = json!({
            "type": "object", "properties": {(key.as_str()): {"enum": tags}}, "required": [key]
        });
        rules.push(json!({"if": fits, "then": branch}));
    }
    match optional_tag.map(Value::as_str) {
        Some(None) => {
            let without = json!({"type": "object", "not": {"required": [key]}});
            rules.push(json!({"if": without, "then": {"anyOf": any}}));
        }
        Some(Some(of)) => {
            let without = json!({"type": "object", "not": {"required": [key]}});
            rules.push(json!({"if": without, "then": {
                "if": {"required": [of]}, "then": {"anyOf": any}, "else": {"required": [key]}
            }}));
        }
        None => drop(object.insert("required".to_owned(), json!([key]))),
    }
    object.insert("type".to_owned(), json!("object"));
    object.insert("properties".to_owned(), json!({ key: tag }));
    demand(object, rules);
}

/// The null of an optional key is the same as its absence. A union with it stays one only where
/// its words are to be completed: an error in the other branch is then the error of the union.
fn accept_null(root: &Value, property: &mut Value) {
    let Some(object) = property.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(words)) = object.get_mut("enum")
        && !words.iter().any(Value::is_null)
    {
        words.push(Value::Null);
    }
    let has_words = object.contains_key("enum");
    match object.get_mut("type") {
        Some(Value::Array(types)) => {
            if !types.iter().any(|t| t == "null") {
                types.push(json!("null"));
            }
        }
        Some(one) => *one = json!([one.clone(), "null"]),
        None if has_words => {}
        None => {
            let has_null = |branch: &Value| branch.get("type").is_some_and(|t| t == "null");
            let union = object
                .get("anyOf")
                .or_else(|| object.get("oneOf"))
                .and_then(Value::as_array);
            let other = match union.map(Vec::as_slice) {
                Some([other, null]) if has_null(null) => {
                    let flat = flatten(root, other);
                    let refs = branches(&flat);
                    if flat.contains_key("enum")
                        || refs.is_some_and(|refs| plain_values(root, &refs).is_some())
                    {
                        return;
                    }
                    let other = other.clone();
                    object.remove("anyOf");
                    object.remove("oneOf");
                    other
                }
                Some(union) if union.iter().any(has_null) => return,
                _ => {
                    let outer = ["x-aliases", "x-instead-of", "description"];
                    let (outer, inner) = std::mem::take(object)
                        .into_iter()
                        .partition(|(word, _)| outer.contains(&word.as_str()));
                    *object = outer;
                    Value::Object(inner)
                }
            };
            object.insert("if".to_owned(), json!({ "type": "null" }));
            object.insert("else".to_owned(), other);
        }
    }
}

fn publish_properties(object: &mut Map<String, Value>) {
    let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    let mut short_forms: Vec<(String, String)> = Vec::new();
    for (short, property) in properties.iter_mut() {
        let places = property
            .as_object_mut()
            .and_then(|p| p.remove("x-instead-of"));
        let places = places.as_ref().and_then(Value::as_array);
        for place in places.into_iter().flatten().filter_map(Value::as_str) {
            short_forms.push((place.to_owned(), short.clone()));
        }
    }
    // A key, its other spellings, and its short forms, of which one at most may be there.
    let mut spelled: Vec<Vec<String>> = Vec::new();
    let mut copied: Vec<(String, Vec<String>)> = Vec::new();
    for (name, property) in properties.iter_mut() {
        let others = property.as_object_mut().and_then(|p| p.remove("x-aliases"));
        let others: Vec<String> = match others {
            Some(Value::Array(others)) => {
                let texts = others.iter().filter_map(Value::as_str);
                texts.map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let own = short_forms.iter().filter(|(place, _)| place == name);
        let mut names = vec![name.clone()];
        names.extend(others.iter().cloned());
        names.extend(own.map(|(_, short)| short.clone()));
        if names.len() > 1 {
            spelled.push(names);
        }
        if !others.is_empty() {
            copied.push((name.clone(), others));
        }
    }
    for (name, others) in &copied {
        let mut other = properties.get(name).cloned().unwrap_or_default();
        if let Some(other) = other.as_object_mut() {
            other.insert("deprecated".into(), json!(true));
            let description = format!("Another spelling of `{name}`.");
            other.insert("description".into(), json!(description));
        }
        properties.extend(others.iter().map(|alias| (alias.clone(), other.clone())));
    }
    let mut rules = Vec::new();
    for names in spelled {
        let Some(name) = names.first() else { continue };
        let mut was_required = false;
        if let Some(Value::Array(required)) = object.get_mut("required") {
            let before = required.len();
            required.retain(|key| *key != name.as_str());
            was_required = before != required.len();
        }
        if was_required {
            let any: Vec<Value> = names.iter().map(|n| json!({"required": [n]})).collect();
            rules.push(json!({"if": {"not": {"anyOf": any}}, "then": {"required": [name]}}));
        }
        for (i, one) in names.iter().enumerate() {
            for other in names.iter().skip(i + 1) {
                rules.push(json!({
                    "if": {"required": [one, other]},
                    "then": {
                        "properties": {(other.as_str()): false},
                        "errorMessage": format!("use `{one}` or `{other}`, not both")
                    }
                }));
            }
        }
    }
    demand(object, rules);
}
