//! The generated pages of `docs/`: the reference of formats from the schemas, and the table of
//! validation codes.
//!
//! Pure: schemas and codes in, Markdown out. `eval-harness schema` writes the pages and `--check`
//! compares them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

const NOTE: &str =
    "<!-- Written by `eval-harness schema`. Change the types in src/, not this page. -->\n\n";

/// One validation code: id, slug, explanation.
pub type CodeRow = (&'static str, &'static str, &'static str);

/// Titles of the kinds of files, by schema name, in the order of the page.
const KINDS: [(&str, &str, &str); 11] = [
    (
        "suite",
        "Suites",
        "The file that `run --suite` reads. `eval_suite:` is its only key.",
    ),
    (
        "eval",
        "Eval files",
        "An eval file has one of these shapes, distinguished by their keys; a suite may also contain any of them inline.\n\n\
         | Shape | Meaning |\n| --- | --- |\n\
         | a list | several [CapabilityDefinition](#capabilitydefinition) or \
         [RegressionDefinition](#regressiondefinition), each an eval with one case |\n\
         | `capability_eval:` | one capability definition, or a list of them |\n\
         | `regression_eval:` | one regression definition, or a list of them |\n\
         | `id:` at the top | one definition; a regression if it has a `baseline`, `current` or `comparison` |\n\
         | `metadata:` with `test_cases:` or `dataset:` | an [EvalFile](#evalfile): one eval of many cases |\n\
         | `metadata:` with `baseline:` and `test_case:` | a [RegressionDocument](#regressiondocument) |",
    ),
    (
        "graders",
        "Graders files",
        "The file that `graders: {$ref: ...}` in a suite refers to.",
    ),
    (
        "thresholds",
        "Thresholds files",
        "The file that `thresholds: {$ref: ...}` in a suite refers to.",
    ),
    (
        "recorded",
        "Recorded outputs",
        "JSON lines that a `recorded` target and `--outputs` read: one object per line.",
    ),
    (
        "baseline",
        "Baseline files",
        "YAML files in the suite's `baselines` folder; see baselines.md.",
    ),
    (
        "scores",
        "Score baselines",
        "JSON files in the folder `scores/` of the suite's `baselines` folder, each with the scores of a whole run; see baselines.md.",
    ),
    (
        "calibration",
        "Calibrations",
        "YAML files in the folder `judges/` of the project, each of one judge; `eval-harness calibrate` writes them. See calibration.md.",
    ),
    (
        "phase",
        "Phase plans",
        "Evals as a step of an implementation plan: `eval-harness phase --plan FILE`; see phases.md.",
    ),
    (
        "trigger",
        "Triggers",
        "A suite to run at a given moment: `eval-harness phase --trigger FILE`; see phases.md.",
    ),
    (
        "defaults",
        "Defaults",
        "The file `.eval-harness.yaml`, in the current folder or above it; see configuration.md.",
    ),
];

/// `docs/formats.md`: every key of every kind of file. Schemas come by name, with other spellings
/// as `x-aliases`.
pub fn formats_markdown(schemas: &BTreeMap<&str, Value>) -> String {
    let mut page = ReferencePage {
        out: format!("{NOTE}# Formats\n\n{INTRODUCTION}"),
        types: SchemaTypes::default(),
    };
    for (name, title, text) in KINDS {
        let Some(schema) = schemas.get(name) else {
            continue;
        };
        page.types.add(schema);
        let _ = write!(
            page.out,
            "\n## {title}\n\nSchema: `schemas/{name}.schema.json`. {text}\n"
        );
        page.body(schema, None);
    }
    page.out.push_str(
        "\n## Types\n\nThe types that the tables above and below refer to, in alphabetical order.\n",
    );
    let types: Vec<(String, Value)> = page.types.listed();
    for (name, schema) in types {
        let _ = write!(page.out, "\n### {name}\n");
        if let Some(text) = describe(&schema) {
            let _ = write!(page.out, "\n{text}\n");
        }
        page.body(&schema, None);
    }
    page.out
}

const INTRODUCTION: &str = "\
Files are YAML or JSON, distinguished by their content. In the tables, keys in **bold** are required. A key that is not listed is
an error; the message suggests a similar key if there is one. See [yaml.md](yaml.md) for the YAML that is supported, and
[graders.md](graders.md) for what each grader does. Editors check and complete these files if their first line names a schema,
as in the files that `init` and `new` write:

```yaml
# yaml-language-server: $schema=../schemas/suite.schema.json
```
";

/// `docs/validation-codes.md`: every code that `validate` may show.
pub fn codes_markdown(codes: &[CodeRow]) -> String {
    let mut page = format!("{NOTE}# Validation codes\n\n{CODES}");
    let mut group = "";
    for (id, slug, explanation) in codes {
        let own = id.get(..4).unwrap_or(id);
        if own != group {
            group = own;
            let title = GROUPS
                .iter()
                .find(|(prefix, _)| *prefix == own)
                .map_or(own, |(_, title)| *title);
            let _ = write!(
                page,
                "\n## {title}\n\n| Code | Name | Meaning |\n| --- | --- | --- |\n"
            );
        }
        let _ = writeln!(page, "| {id} | `{slug}` | {} |", cell(explanation));
    }
    page
}

const CODES: &str = "\
`eval-harness validate` (and `run`, before anything runs) reports every problem of every file at
once. Each has a name, and a code that stays the same between versions. Errors end with exit code 2;
some problems are only warnings.

`validate FILE...` checks each file in the suite that refers to it: a suite in the same folder or in
a folder above (or in its `evals/`), up to the project root. Files to which no suite refers are
checked alone; variables and graders that a suite may define then only cause warnings.

`validate --format json` prints the problems for editors, scripts and coding agents, as
`schemas/problems.schema.json` describes. Each has its code, severity, file, range, message and
help. If the change that mends it is certain (a misspelt name with a single near match, missing or
wrong quotes), `fix` has the range and the text to put there:

```json
{
  \"code\": \"EH0201\",
  \"slug\": \"unknown-key\",
  \"severity\": \"error\",
  \"file\": \"evals/capability/greeting.yaml\",
  \"range\": { \"line\": 3, \"column\": 3, \"end_line\": 3, \"end_column\": 10 },
  \"message\": \"unknown key `expcted`\",
  \"help\": \"did you mean `expected`?\",
  \"fix\": {
    \"range\": { \"line\": 3, \"column\": 3, \"end_line\": 3, \"end_column\": 10 },
    \"replacement\": \"expected\"
  },
  \"related\": []
}
```

Lines and columns begin at 1, and columns count characters. Apply the fixes of a file from its end
to its beginning, so that the ranges stay valid. Editors that use the JSON Schemas
([formats.md](formats.md)) report most of the problems while you type.
";

const GROUPS: [(&str, &str); 5] = [
    ("EH01", "Reading files"),
    ("EH02", "Shape"),
    ("EH03", "References"),
    ("EH04", "Meaning"),
    ("EH05", "Data"),
];

/// The named types of all schemas.
#[derive(Default)]
struct SchemaTypes(BTreeMap<String, Value>);

impl SchemaTypes {
    fn add(&mut self, schema: &Value) {
        for (name, definition) in schema
            .get("$defs")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            self.0.insert(name.clone(), definition.clone());
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The types that get a section; lists of words are shown where they are used.
    fn listed(&self) -> Vec<(String, Value)> {
        let sections = self
            .0
            .iter()
            .filter(|(name, schema)| words(schema).is_none() && *name != "Eval");
        let mut listed: Vec<_> = sections
            .map(|(name, schema)| (self.title(name), schema.clone()))
            .collect();
        listed.sort_by_key(|(title, _)| title.to_lowercase());
        listed
    }

    /// A type's name for people: without the `Spec` of our types' names, where that is no other
    /// type's name.
    fn title(&self, name: &str) -> String {
        match name.strip_suffix("Spec") {
            Some(short) if !short.is_empty() && !self.0.contains_key(short) => short.to_owned(),
            _ => name.to_owned(),
        }
    }
}

struct ReferencePage {
    out: String,
    types: SchemaTypes,
}

impl ReferencePage {
    /// Tables of a schema: its own keys, those of its branches, and those of objects without a
    /// name.
    fn body(&mut self, schema: &Value, tag: Option<&str>) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            self.table(schema, properties, tag);
        }
        let branches: Vec<&Value> = schema
            .get("oneOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .collect();
        for branch in branches
            .iter()
            .filter(|branch| branch.get("properties").is_some())
        {
            self.branch(branch);
        }
        let described: Vec<&&Value> = branches
            .iter()
            .filter(|branch| branch.get("const").is_some())
            .collect();
        if !described.is_empty() {
            self.out.push('\n');
        }
        for branch in described {
            let _ = writeln!(
                self.out,
                "- {}: {}",
                words(branch).unwrap_or_default(),
                describe(branch).unwrap_or_default()
            );
        }
        if let Some(condition) = schema.get("if") {
            self.either(condition, schema);
        }
    }

    fn branch(&mut self, branch: &Value) {
        let Some(properties) = branch.get("properties").and_then(Value::as_object) else {
            return;
        };
        let tag = properties
            .iter()
            .find(|(_, value)| value.get("const").is_some());
        if let Some((key, value)) = tag {
            let word = value
                .get("const")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let _ = write!(self.out, "\n#### `{key}: {word}`\n");
        }
        if let Some(text) = describe(branch) {
            let _ = write!(self.out, "\n{text}\n");
        }
        self.table(branch, properties, tag.map(|(key, _)| key.as_str()));
    }

    /// A value that may be written in two ways: both in words, and the keys of an object without a
    /// name.
    fn either(&mut self, condition: &Value, schema: &Value) {
        if let Some(key) = marked_by(condition, schema) {
            let then = schema.get("then").map(|then| self.shape(then));
            let _ = write!(
                self.out,
                "\nWith `{key}`, {}; otherwise:\n",
                then.unwrap_or_default()
            );
            return schema
                .get("else")
                .map_or((), |other| self.body(other, None));
        }
        if !is_eval(schema) {
            let _ = write!(
                self.out,
                "\nValue: {}.\n",
                self.conditional(condition, schema)
            );
        }
        for branch in ["then", "else"] {
            let inline = schema.get(branch).filter(|b| b.get("properties").is_some());
            if let Some(inline) = inline.filter(|_| !is_eval(schema)) {
                self.body(inline, None);
            }
        }
    }

    fn table(&mut self, owner: &Value, properties: &Map<String, Value>, tag: Option<&str>) {
        if properties.keys().all(|key| Some(key.as_str()) == tag) {
            return;
        }
        let is_bold = |key: &str| is_required(owner, key) && instead_of(properties, key).is_empty();
        self.out
            .push_str("\n| Key | Value | Meaning |\n| --- | --- | --- |\n");
        let (first, rest): (Vec<_>, Vec<_>) = properties
            .iter()
            .filter(|(key, _)| Some(key.as_str()) != tag)
            .partition(|(key, _)| is_bold(key));
        for (key, value) in first.iter().chain(&rest) {
            let bold = if is_bold(key) { "**" } else { "" };
            let others = instead_of(properties, key);
            let or = match others.is_empty() || !is_required(owner, key) {
                true => String::new(),
                false => format!(" Required without {}.", others.join(" or ")),
            };
            let line = format!(
                "| {bold}`{key}`{bold} | {} | {} |",
                cell(&self.shape(value)),
                cell(&(meaning(value) + &or))
            );
            let _ = writeln!(self.out, "{line}");
        }
        if let Some(value) = owner
            .get("additionalProperties")
            .filter(|value| value.is_object())
        {
            let _ = writeln!(
                self.out,
                "| any other | {} | {} |",
                cell(&self.shape(value)),
                cell(&meaning(value))
            );
        }
    }

    /// The possible values, in words.
    fn shape(&self, schema: &Value) -> String {
        if let Some(name) = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|path| path.rsplit('/').next())
        {
            return match self.types.get(name).and_then(words) {
                Some(words) => words,
                None if name == "Eval" => "[eval](#eval-files)".to_owned(),
                None => {
                    let title = self.types.title(name);
                    format!("[{title}](#{})", title.to_lowercase())
                }
            };
        }
        if let Some(words) = words(schema) {
            return words;
        }
        if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
            let shapes: Vec<String> = options
                .iter()
                .filter(|option| option.get("type") != Some(&Value::from("null")))
                .map(|option| self.shape(option))
                .collect();
            return shapes.join(" or ");
        }
        if let Some(condition) = schema.get("if") {
            return self.conditional(condition, schema);
        }
        self.plain(schema)
    }

    fn conditional(&self, condition: &Value, schema: &Value) -> String {
        let other = schema
            .get("else")
            .map_or_else(|| "any value".to_owned(), |s| self.shape(s));
        if is_reference(condition) {
            return format!("`$ref`, or {other}");
        }
        let kind = condition.get("type").and_then(Value::as_str);
        match (kind, schema.get("then")) {
            (Some("array"), Some(then)) if then.get("items") == schema.get("else") => {
                format!("{other}, or a list of them")
            }
            (Some("null"), None) => format!("{other} or `null`"),
            (Some(kind), None) => format!("{} or {other}", type_word(kind)),
            (_, Some(then)) if then.get("$ref").is_some() || words(then).is_some() => {
                format!("{} or {other}", self.shape(then))
            }
            (Some(kind), _) => format!("{} or {other}", type_word(kind)),
            (None, _) => other,
        }
    }

    fn plain(&self, schema: &Value) -> String {
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return "any value".to_owned(),
        };
        let shapes: Vec<String> = kinds
            .iter()
            .filter(|kind| **kind != "null")
            .map(|kind| {
                match (
                    *kind,
                    schema.get("items"),
                    schema.get("additionalProperties"),
                ) {
                    ("array", Some(items), _) => match self.shape(items) {
                        shape if shape.contains(" or ") => format!("list, each {shape}"),
                        shape => format!("list of {shape}"),
                    },
                    ("object", _, Some(values @ Value::Object(_))) => {
                        format!("map of {}", self.shape(values))
                    }
                    ("integer" | "number", ..) => format!("{}{}", type_word(kind), range(schema)),
                    _ => type_word(kind).to_owned(),
                }
            })
            .collect();
        shapes.join(" or ")
    }
}

/// The list of allowed words, if the schema is only such a list.
fn words(schema: &Value) -> Option<String> {
    let quoted = |value: &Value| value.as_str().map(|word| format!("`{word}`"));
    if let Some(word) = schema.get("const") {
        return quoted(word);
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        return list
            .iter()
            .map(quoted)
            .collect::<Option<Vec<_>>>()
            .map(|words| words.join(", "));
    }
    let branches = schema.get("oneOf")?.as_array()?;
    branches
        .iter()
        .map(words)
        .collect::<Option<Vec<_>>>()
        .map(|words| words.join(", "))
}

fn is_reference(condition: &Value) -> bool {
    condition
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|keys| keys.contains(&Value::from("$ref")))
}

/// The key that a branch of named type is told by, where the other branch has branches of its own.
fn marked_by<'s>(condition: &'s Value, schema: &Value) -> Option<&'s str> {
    schema.get("then")?.get("$ref")?;
    schema.get("else")?.get("oneOf")?;
    condition.get("required")?.as_array()?.first()?.as_str()
}

/// The chain of shapes of an eval, which the page shows in a separate table.
fn is_eval(schema: &Value) -> bool {
    schema.get("title").and_then(Value::as_str) == Some("Eval")
}

fn type_word(kind: &str) -> &'static str {
    match kind {
        "string" => "text",
        "integer" => "integer",
        "number" => "number",
        "boolean" => "`true` or `false`",
        "array" => "list",
        "object" => "map",
        _ => "nothing",
    }
}

fn range(schema: &Value) -> String {
    let bound = |key: &str| {
        schema
            .get(key)
            .and_then(Value::as_f64)
            .map(|n| n.to_string())
    };
    match (bound("minimum"), bound("maximum")) {
        (Some(low), Some(high)) => format!(", {low} to {high}"),
        (Some(low), None) if low != "0" || schema.get("format").is_none_or(|f| f == "double") => {
            format!(", at least {low}")
        }
        (None, Some(high)) => format!(", at most {high}"),
        _ => String::new(),
    }
}

fn describe(schema: &Value) -> Option<String> {
    schema
        .get("description")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

/// The short forms that take the place of a key.
fn instead_of(properties: &Map<String, Value>, key: &str) -> Vec<String> {
    let replaces = |property: &Value| {
        let keys = property.get("x-instead-of").and_then(Value::as_array);
        keys.is_some_and(|keys| keys.iter().any(|one| one == key))
    };
    let forms = properties.iter().filter(|(_, property)| replaces(property));
    forms.map(|(name, _)| format!("`{name}`")).collect()
}

fn is_required(owner: &Value, key: &str) -> bool {
    let required = owner.get("required").and_then(Value::as_array);
    required.is_some_and(|keys| keys.iter().any(|one| one == key))
}

/// The description, the default that it does not name, and other spellings.
fn meaning(schema: &Value) -> String {
    let mut parts: Vec<String> = describe(schema).into_iter().collect();
    let told = parts.first().is_some_and(|text| text.contains("Default"));
    match schema.get("default") {
        Some(Value::String(word)) if !told && !word.is_empty() => {
            parts.push(format!("Default `{word}`."))
        }
        Some(Value::Bool(flag)) if !told => parts.push(format!("Default {flag}.")),
        _ => {}
    }
    let aliases: Vec<String> = schema
        .get("x-aliases")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|alias| alias.as_str().map(|alias| format!("`{alias}`")))
        .collect();
    if !aliases.is_empty() {
        parts.push(format!("Also written {}.", aliases.join(", ")));
    }
    parts.join(" ")
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_types_and_words_become_tables() {
        let suite = json!({
            "title": "SuiteFile",
            "properties": {
                "name": { "type": "string", "description": "Its name | title." },
                "size": { "type": ["integer", "null"], "minimum": 1, "maximum": 9 },
                "level": { "$ref": "#/$defs/Level", "default": "low", "x-aliases": ["grade"] },
                "input": { "anyOf": [{ "if": { "type": "string" }, "else": { "$ref": "#/$defs/InputSpec" } }, { "type": "null" }] },
            },
            "required": ["name"],
            "$defs": {
                "Level": { "enum": ["low", "high"] },
                "InputSpec": { "description": "What is given.", "oneOf": [
                    { "description": "A text.", "properties": {
                        "type": { "const": "prompt" },
                        "content": { "type": "array", "items": { "type": "string" } },
                    }, "required": ["type", "content"] },
                ] },
            },
        });
        let page = formats_markdown(&BTreeMap::from([("suite", suite)]));
        insta::assert_snapshot!(page.split_once("\n## Suites").unwrap().1, @r##"
        Schema: `schemas/suite.schema.json`. The file that `run --suite` reads. `eval_suite:` is its only key.

        | Key | Value | Meaning |
        | --- | --- | --- |
        | **`name`** | text | Its name \| title. |
        | `input` | text or [Input](#input) |  |
        | `level` | `low`, `high` | Default `low`. Also written `grade`. |
        | `size` | integer, 1 to 9 |  |

        ## Types

        The types that the tables above and below refer to, in alphabetical order.

        ### Input

        What is given.

        #### `type: prompt`

        A text.

        | Key | Value | Meaning |
        | --- | --- | --- |
        | **`content`** | list of text |  |
        "##);
    }

    #[test]
    fn codes_stand_in_groups() {
        let page = codes_markdown(&[
            ("EH0101", "unreadable", "Not there."),
            ("EH0201", "unknown-key", "A | B."),
        ]);
        insta::assert_snapshot!(page.split_once("only warnings.\n").unwrap().1, @r#"
        `validate FILE...` checks each file in the suite that refers to it: a suite in the same folder or in
        a folder above (or in its `evals/`), up to the project root. Files to which no suite refers are
        checked alone; variables and graders that a suite may define then only cause warnings.

        `validate --format json` prints the problems for editors, scripts and coding agents, as
        `schemas/problems.schema.json` describes. Each has its code, severity, file, range, message and
        help. If the change that mends it is certain (a misspelt name with a single near match, missing or
        wrong quotes), `fix` has the range and the text to put there:

        ```json
        {
          "code": "EH0201",
          "slug": "unknown-key",
          "severity": "error",
          "file": "evals/capability/greeting.yaml",
          "range": { "line": 3, "column": 3, "end_line": 3, "end_column": 10 },
          "message": "unknown key `expcted`",
          "help": "did you mean `expected`?",
          "fix": {
            "range": { "line": 3, "column": 3, "end_line": 3, "end_column": 10 },
            "replacement": "expected"
          },
          "related": []
        }
        ```

        Lines and columns begin at 1, and columns count characters. Apply the fixes of a file from its end
        to its beginning, so that the ranges stay valid. Editors that use the JSON Schemas
        ([formats.md](formats.md)) report most of the problems while you type.

        ## Reading files

        | Code | Name | Meaning |
        | --- | --- | --- |
        | EH0101 | `unreadable` | Not there. |

        ## Shape

        | Code | Name | Meaning |
        | --- | --- | --- |
        | EH0201 | `unknown-key` | A \| B. |
        "#);
    }
}
