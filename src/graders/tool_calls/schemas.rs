//! The tools that may be called, with the JSON Schemas of their arguments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::OutputCall;
use crate::graders::patterns::PatternCache;
use crate::graders::show::in_reason;

/// JSON Schemas of arguments by the tools' names; not empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolSchemas(BTreeMap<String, Value>);

impl ToolSchemas {
    /// Reads tools as they are in requests to models, or schemas by name.
    ///
    /// # Errors
    /// What is not a tool, in words.
    pub fn read(written: &Value) -> Result<ToolSchemas, String> {
        let mut tools = BTreeMap::new();
        let mut add = |name: &str, schema: Value| {
            if let Err(error) = jsonschema::validator_for(&schema) {
                return Err(format!(
                    "the schema of `{name}` is not a valid JSON Schema: {error}"
                ));
            }
            match tools.insert(name.to_owned(), schema) {
                None => Ok(()),
                Some(_) => Err(format!("there are two tools `{name}`")),
            }
        };
        match written {
            Value::Object(by_name) => {
                for (name, schema) in by_name {
                    add(name, schema.clone())?;
                }
            }
            Value::Array(items) => {
                for item in items {
                    for tool in declarations(item) {
                        let (name, schema) = named_schema(tool)?;
                        add(name, schema)?;
                    }
                }
            }
            _ => {
                return Err(
                    "`tools` is a list of tools, or an object of schemas by name".to_owned(),
                );
            }
        }
        if tools.is_empty() {
            return Err("`tools` is empty, so no call could be valid".to_owned());
        }
        Ok(ToolSchemas(tools))
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// What is wrong with calls, a sentence for each that is not valid.
    pub(super) fn invalid(
        &self,
        calls: &[OutputCall],
        patterns: &PatternCache,
    ) -> Result<Vec<String>, String> {
        let mut invalid = Vec::new();
        for call in calls {
            let name = in_reason(&call.name);
            let Some(schema) = self.get(&call.name) else {
                invalid.push(format!("`{name}` is not one of the tools"));
                continue;
            };
            let arguments = match &call.arguments {
                Ok(arguments) => Value::Object(arguments.clone()),
                Err(raw) => {
                    let raw = in_reason(&raw.to_string());
                    invalid.push(format!(
                        "the arguments of `{name}` are not a JSON object: {raw}"
                    ));
                    continue;
                }
            };
            let validator = patterns.schema(schema)?;
            if let Some(error) = validator.iter_errors(&arguments).next() {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() { "(root)" } else { &place };
                let why = in_reason(&error.to_string());
                invalid.push(format!(
                    "the arguments of `{name}` do not match its schema: {place}: {why}"
                ));
            }
        }
        Ok(invalid)
    }
}

/// The tools in an entry: Gemini's has several.
fn declarations(item: &Value) -> Vec<&Value> {
    let keys = ["functionDeclarations", "function_declarations"];
    match keys.iter().find_map(|key| item.get(*key)?.as_array()) {
        Some(several) => several.iter().collect(),
        None => vec![item],
    }
}

fn named_schema(tool: &Value) -> Result<(&str, Value), String> {
    let tool = tool
        .get("function")
        .filter(|inner| inner.is_object())
        .unwrap_or(tool);
    let Some(name) = tool.get("name").and_then(Value::as_str) else {
        return Err(format!(
            "this tool has no `name`: {}",
            in_reason(&tool.to_string())
        ));
    };
    let keys = [
        "parameters",
        "input_schema",
        "inputSchema",
        "parametersJsonSchema",
    ];
    let schema = keys.iter().find_map(|key| tool.get(*key));
    // A tool without parameters takes none.
    let none = || json!({"type": "object", "additionalProperties": false});
    Ok((name, schema.map_or_else(none, with_lower_types)))
}

/// Gemini's types are written in capitals.
fn with_lower_types(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => Value::Object(
            object
                .iter()
                .map(|(key, value)| match value {
                    Value::String(kind)
                        if key == "type" && kind.chars().all(|c| c.is_ascii_uppercase()) =>
                    {
                        (key.clone(), Value::from(kind.to_lowercase()))
                    }
                    // These hold values, not schemas.
                    _ if ["enum", "const", "default", "examples", "example"]
                        .contains(&key.as_str()) =>
                    {
                        (key.clone(), value.clone())
                    }
                    _ => (key.clone(), with_lower_types(value)),
                })
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(with_lower_types).collect()),
        other => other.clone(),
    }
}
