use super::*;
use crate::load::source::SourceFiles;
use serde_json::json;

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Suite", "type": "object", "additionalProperties": false,
        "required": ["name", "graders"],
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "retries": {"type": ["integer", "null"], "minimum": 0, "maximum": 10},
            "verbose": {"type": "boolean", "default": false},
            "tags": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "combine": {"oneOf": [
                {"type": "string", "enum": ["all", "any"]},
                {"type": "object", "properties": {"at_least": {"type": "integer", "minimum": 1}}, "required": ["at_least"], "additionalProperties": false},
                {"type": "object", "properties": {"weighted": {"type": "number"}}, "required": ["weighted"], "additionalProperties": false}
            ]},
            "level": {"oneOf": [{"const": "low", "type": "string", "description": "l"}, {"const": "high", "x-tag-aliases": ["hi"]}]},
            "limits": {"anyOf": [{"$ref": "#/$defs/Limits"}, {"type": "null"}]},
            "expected": true,
            "graders": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Grader"}, "x-aliases": ["asserts", "checks"]},
            "ks": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "children": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Limits"}}
        },
        "$defs": {
            "Limits": {"type": "object", "properties": {"wall": {"type": "number", "exclusiveMinimum": 0, "x-aliases": ["seconds"]}, "memory": {"type": ["string", "null"], "pattern": "^[0-9]+MB$"}}, "additionalProperties": false},
            "Grader": {"oneOf": [
                {"type": "object", "properties": {"type": {"type": "string", "const": "exact"}, "expected": {"type": "string", "x-aliases": ["value"]}}, "required": ["type", "expected"], "additionalProperties": false},
                {"type": "object", "properties": {"type": {"type": "string", "const": "regex"}}, "required": ["type"], "$ref": "#/$defs/Regex", "unevaluatedProperties": false},
                {"type": "object", "properties": {"type": {"const": "all"}, "of": {"type": "array", "items": {"$ref": "#/$defs/Grader"}}}, "required": ["type", "of"], "additionalProperties": false}
            ]},
            "Regex": {"type": "object", "properties": {"pattern": {"type": "string", "x-aliases": ["regex"]}, "min": {"type": ["number", "null"]}}, "required": ["pattern"]}
        }
    })
}

fn checked(text: &str) -> (Option<Value>, Vec<String>) {
    let mut sources = SourceFiles::new();
    let file = sources.add("t.yaml", text);
    let mut problems = Problems::new();
    let mut node =
        crate::load::tree::parse(&sources, file, &mut problems).expect("the fixture is YAML");
    let value = SchemaValidator::new(&schema())
        .expect("the schema compiles")
        .check(&sources, &mut node, &mut problems);
    let shown = problems.sorted().into_iter().map(|p| {
        let at = p.span.map(|s| sources.position(s)).expect("a place");
        format!(
            "{}:{} {} {} | {}",
            at.line,
            at.column,
            p.code.slug(),
            p.message,
            p.hint.as_deref().unwrap_or("-")
        )
    });
    (value, shown.collect())
}

/// Text, the JSON of what fits (`-` for nothing), and its problems:
/// `line:column slug message | hint`.
const TABLE: &[(&str, &str, &[&str])] = &[
    (
        "name: x\ngraders:\n  - type: exact\n    value: y\n",
        "{\"graders\":[{\"expected\":\"y\",\"type\":\"exact\"}],\"name\":\"x\"}",
        &[],
    ),
    (
        "name: x\nchecks:\n  - {type: regex, regex: y}\n",
        "{\"graders\":[{\"pattern\":\"y\",\"type\":\"regex\"}],\"name\":\"x\"}",
        &[],
    ),
    (
        "nme: x\ngraders: [{type: regex, pattern: x}]\n",
        "-",
        &["1:1 unknown-key the key `nme` is not known here | did you mean `name`?"],
    ),
    (
        "name: 5\ngraders: []\n",
        "-",
        &[
            "1:7 wrong-type `name`: expected a text, found the number `5` | put quotes around it",
            "2:1 wrong-length `graders` must not be empty | -",
        ],
    ),
    (
        "name:\ngraders: x\n",
        "-",
        &[
            "1:1 wrong-type `name` is empty: expected a text | -",
            "2:10 wrong-type `graders`: expected a list of maps, found the text `x` | -",
        ],
    ),
    (
        "graders: [{type: exat, value: x}]\nname: x\n",
        "-",
        &[
            "1:18 unknown-value `exat` is not a value of `type`: it takes `exact`, `regex`, `all` | did you mean `exact`?",
        ],
    ),
    (
        "name: x\ngraders: [{value: x}]\n",
        "-",
        &[
            "2:12 missing-key element 1 of `graders` lacks the key `type` | add `type`: one of `exact`, `regex`, `all`",
        ],
    ),
    (
        "name: x\ngraders:\n  - type: regex\n    patern: x\n  - type: regex\n    min: x\n  - 5\n",
        "-",
        &[
            "4:5 unknown-key the key `patern` is not known here | did you mean `pattern`?",
            "5:5 missing-key element 2 of `graders` lacks the key `pattern` | add `pattern`: a text",
            "6:10 wrong-type `min`: expected a number, found the text `x` | -",
            "7:5 wrong-type element 3 of `graders`: expected a map, found the number `5` | -",
        ],
    ),
    (
        "name: x\nchecks: []\ngraders: [{type: exact, value: a, expected: b}]\n",
        "-",
        &[
            "3:1 both-spellings `checks` (line 2) and `graders` (line 3) are two spellings of the same key | keep one of them, best `graders`",
            "3:35 both-spellings `value` (line 3) and `expected` (line 3) are two spellings of the same key | keep one of them, best `expected`",
        ],
    ),
    (
        "name: x\ngraders: [{type: all, of: [{type: exact, vale: x}]}]\n",
        "-",
        &["2:42 unknown-key the key `vale` is not known here | did you mean `value`?"],
    ),
    (
        "- 1\n",
        "-",
        &["1:1 wrong-type the document: expected a map, found a list | -"],
    ),
    (
        "x\n",
        "-",
        &["1:1 wrong-type the document: expected a map, found the text `x` | -"],
    ),
    (
        "tags: 5\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:7 wrong-type `tags`: expected a text or a list of texts, found the number `5` | put quotes around it",
        ],
    ),
    (
        "tags: [1, a]\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:8 wrong-type element 1 of `tags`: expected a text, found the number `1` | put quotes around it",
        ],
    ),
    (
        "tags: {a: 1}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:1 wrong-type `tags`: expected a text or a list of texts, found a map | -"],
    ),
    (
        "combine: al\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:10 unknown-value `al` is not a value of `combine`: it takes `all`, `any` | did you mean `all`?",
        ],
    ),
    (
        "combine: {at_leest: 2}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:11 unknown-key the key `at_leest` is not known here | did you mean `at_least`?"],
    ),
    (
        "combine: {at_least: 0}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:21 out-of-range `at_least` must be at least 1, found `0` | -"],
    ),
    (
        "combine: 5\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:10 wrong-type `combine`: expected one of `all`, `any` or a map with `at_least` or a map with `weighted`, found the number `5` | -",
        ],
    ),
    (
        "level: hi\nname: n\ngraders: [{type: exact, value: x}]\n",
        "{\"graders\":[{\"expected\":\"x\",\"type\":\"exact\"}],\"level\":\"high\",\"name\":\"n\"}",
        &[],
    ),
    (
        "level: hgh\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:8 unknown-value `hgh` is not a value of `level`: it takes `low`, `high` | did you mean `high`?",
        ],
    ),
    (
        "level: 5\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:8 wrong-type `level`: expected one of `low`, `high`, found the number `5` | -"],
    ),
    (
        "limits: {wall: 0}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:16 out-of-range `wall` must be more than 0, found `0` | -"],
    ),
    (
        "limits: {seconds: x, memory: 5 MB}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:19 wrong-type `wall`: expected a number, found the text `x` | -",
            "1:30 bad-format `memory` does not have the form `^[0-9]+MB$`, found `5 MB` | -",
        ],
    ),
    (
        "limits: ~\nname: n\ngraders: [{type: exact, value: x}]\n",
        "{\"graders\":[{\"expected\":\"x\",\"type\":\"exact\"}],\"name\":\"n\"}",
        &[],
    ),
    (
        "retries: ~\nname: n\ngraders: [{type: exact, value: x}]\n",
        "{\"graders\":[{\"expected\":\"x\",\"type\":\"exact\"}],\"name\":\"n\"}",
        &[],
    ),
    (
        "verbose: yes\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:10 wrong-type `verbose`: expected true or false, found the text `yes` | write `true` or `false`",
        ],
    ),
    (
        "verbose: ~\nname: n\ngraders: [{type: exact, value: x}]\n",
        "{\"graders\":[{\"expected\":\"x\",\"type\":\"exact\"}],\"name\":\"n\"}",
        &[],
    ),
    (
        "retries: 11\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:10 out-of-range `retries` must be at most 10, found `11` | -"],
    ),
    (
        "retries: \"3\"\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:10 wrong-type `retries`: expected a whole number, found the text `3` | remove the quotes",
        ],
    ),
    (
        "retries: 1.5\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:10 wrong-type `retries`: expected a whole number, found the number `1.5` | -"],
    ),
    (
        "retries: 3.0\nname: n\ngraders: [{type: exact, value: x}]\n",
        "{\"graders\":[{\"expected\":\"x\",\"type\":\"exact\"}],\"name\":\"n\",\"retries\":3}",
        &[],
    ),
    (
        "expected: ~\nname: n\ngraders: [{type: exact, value: x}]\n",
        "{\"expected\":null,\"graders\":[{\"expected\":\"x\",\"type\":\"exact\"}],\"name\":\"n\"}",
        &[],
    ),
    (
        "name: \"\"\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:7 wrong-length `name` must not be empty | -"],
    ),
    (
        "ks: [0, 1]\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:6 out-of-range element 1 of `ks` must be at least 1, found `0` | -"],
    ),
    (
        "children: {a: {wal: 1}, b: 5}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:16 unknown-key the key `wal` is not known here | did you mean `wall`?",
            "1:28 wrong-type `b`: expected a map, found the number `5` | -",
        ],
    ),
    (
        "zzz: 1\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:1 unknown-key the key `zzz` is not known here | known here: `children`, `combine`, `expected`, `graders`, `ks`, `level`, `limits`, `name`, `retries`, `tags`, `verbose`",
        ],
    ),
    (
        "name: 0x10\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:7 wrong-type `name`: expected a text, found the number `16` | put quotes around it"],
    ),
    (
        "retries: 1e999999999\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:10 out-of-range `retries` must be at most 10, found `1e+999999999` | -"],
    ),
    (
        "retries: 1e-999999999\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:10 wrong-type `retries`: expected a whole number, found the number `1e-999999999` | -",
        ],
    ),
    (
        "limits: {wall: .inf}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:16 wrong-type `wall`: expected a number, found `inf`, which is not finite | -"],
    ),
    (
        "Name: x\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:1 unknown-key the key `Name` is not known here | known here: `children`, `combine`, `expected`, `graders`, `ks`, `level`, `limits`, `name`, `retries`, `tags`, `verbose`",
        ],
    ),
    (
        "retries: 3.5e0\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:10 wrong-type `retries`: expected a whole number, found the number `3.5e+0` | -"],
    ),
    (
        "combine: {at_least: 1, weighted: 2}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:24 unknown-key the key `weighted` is not known here | known here: `at_least`"],
    ),
    (
        "combine: [all]\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:1 wrong-type `combine`: expected one of `all`, `any` or a map with `at_least` or a map with `weighted`, found a list | -",
        ],
    ),
    (
        "children: {a: ~}\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:12 wrong-type `a` is empty: expected a map | -"],
    ),
    (
        "limits: [1]\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:1 wrong-type `limits`: expected a map, found a list | -"],
    ),
    (
        "tags: ~\nname: n\ngraders: [{type: exact, value: x}]\n",
        "{\"graders\":[{\"expected\":\"x\",\"type\":\"exact\"}],\"name\":\"n\"}",
        &[],
    ),
    (
        "\"a/b~c\": 1\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &[
            "1:1 unknown-key the key `a/b~c` is not known here | known here: `children`, `combine`, `expected`, `graders`, `ks`, `level`, `limits`, `name`, `retries`, `tags`, `verbose`",
        ],
    ),
    (
        "ks: 5\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:5 wrong-type `ks`: expected a list of whole numbers, found the number `5` | -"],
    ),
    (
        "ks: [1, ~]\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:9 wrong-type element 2 of `ks` is empty: expected a whole number | -"],
    ),
    (
        "level: ~\nname: n\ngraders: [{type: exact, value: x}]\n",
        "{\"graders\":[{\"expected\":\"x\",\"type\":\"exact\"}],\"name\":\"n\"}",
        &[],
    ),
    (
        "verbose: 1\nname: n\ngraders: [{type: exact, value: x}]\n",
        "-",
        &["1:10 wrong-type `verbose`: expected true or false, found the number `1` | -"],
    ),
];

#[test]
fn texts_and_what_is_said_of_them() {
    for (text, json, problems) in TABLE {
        let (value, shown) = checked(text);
        assert_eq!(
            &value.map_or("-".to_owned(), |v| v.to_string()),
            json,
            "of {text:?}"
        );
        assert_eq!(shown, *problems, "of {text:?}");
    }
}

/// The published schema and our own check agree, on every text of the table.
#[test]
fn editors_are_told_what_we_check() {
    let published = published(&schema());
    let validator = jsonschema::validator_for(&published).expect("the published schema compiles");
    for (text, json, _) in TABLE {
        let mut sources = SourceFiles::new();
        let file = sources.add("t.yaml", *text);
        let node = crate::load::tree::parse(&sources, file, &mut Problems::new())
            .expect("the fixture is YAML");
        // An explicit null for an optional key is forgiven here, not by editors.
        if *json != "-" && !text.contains('~') {
            assert!(validator.is_valid(&node.to_json()), "of {text:?}");
        }
        if *json == "-" {
            assert!(!validator.is_valid(&node.to_json()), "of {text:?}");
        }
    }
    assert!(
        !published.to_string().contains("\"x-"),
        "our own words are gone"
    );
}

/// The shapes that schemars gives to our kinds of types, so that a new version of it is noticed.
#[allow(dead_code, reason = "only the schema of it is looked at")]
mod made_by_schemars {
    use schemars::JsonSchema;

    /// A suite.
    #[derive(JsonSchema)]
    #[schemars(deny_unknown_fields)]
    pub struct Suite {
        /// Its name.
        pub name: String,
        #[schemars(extend("x-aliases" = ["asserts", "checks"]))]
        pub graders: Vec<Grader>,
        /// What runs.
        pub default: Option<Grader>,
        pub level: Option<Level>,
        #[serde(default)]
        pub limits: Option<Limits>,
        pub count: Option<u32>,
        pub combine: Option<Combine>,
        pub value: Option<serde_json::Value>,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "type", rename_all = "snake_case")]
    pub enum Grader {
        /// Equal texts.
        #[serde(rename = "exact")]
        ExactMatch(ExactMatch),
        All(All),
    }

    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct ExactMatch {
        #[schemars(extend("x-aliases" = ["value"]))]
        pub expected: String,
        pub weight: Option<f64>,
    }

    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct All {
        pub of: Vec<Grader>,
        pub limits: Option<Limits>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Level {
        /// Nearly nothing.
        Low,
        High,
        /// Everything.
        #[schemars(extend("x-tag-aliases" = ["max"]))]
        Full,
    }

    /// Bounds.
    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Limits {
        #[schemars(extend("x-aliases" = ["seconds"]))]
        pub wall: Option<f64>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Combine {
        All,
        Any,
        AtLeast(u32),
    }
}

#[test]
fn what_schemars_makes_is_understood() {
    let canonical = schemars::schema_for!(made_by_schemars::Suite).to_value();
    let validator = SchemaValidator::new(&canonical).expect("the schema compiles");
    let ok = "name: n\ngraders: []\n";
    let table = [
        (
            "name: n\nchecks: [{type: exact, value: x}]\n".to_owned(),
            "-",
        ),
        (
            format!("{ok}default: {{type: exact, valu: x}}\n"),
            "3:24 unknown-key",
        ),
        (format!("{ok}default: {{type: exact}}\n"), "3:1 missing-key"),
        (
            format!("{ok}default: ~\nlimits: ~\ncount: ~\nlevel: ~\nvalue: ~\n"),
            "-",
        ),
        (
            format!("{ok}default: {{type: all, of: [{{type: exact, value: 5}}]}}\n"),
            "3:48 wrong-type",
        ),
        (
            format!("{ok}default: {{type: all, of: [], limits: {{seconds: x}}}}\n"),
            "3:48 wrong-type",
        ),
        (format!("{ok}level: max\n"), "-"),
        (format!("{ok}level: mx\n"), "3:8 unknown-value"),
        (format!("{ok}level: high\n"), "-"),
        (format!("{ok}count: 3.0\n"), "-"),
        (format!("{ok}count: 5000000000\n"), "3:8 out-of-range"),
        (format!("{ok}count: -1\n"), "3:8 out-of-range"),
        (format!("{ok}combine: {{at_least: 2}}\n"), "-"),
        (format!("{ok}combine: {{at_last: 2}}\n"), "3:11 unknown-key"),
        (format!("{ok}combine: {{at_least: x}}\n"), "3:21 wrong-type"),
        (format!("{ok}combine: an\n"), "3:10 unknown-value"),
        (format!("{ok}limits: 5\n"), "3:9 wrong-type"),
    ];
    for (text, expected) in table {
        let mut sources = SourceFiles::new();
        let file = sources.add("t.yaml", text.as_str());
        let mut problems = Problems::new();
        let mut node =
            crate::load::tree::parse(&sources, file, &mut problems).expect("the fixture is YAML");
        let value = validator.check(&sources, &mut node, &mut problems);
        let found: Vec<String> = problems
            .sorted()
            .into_iter()
            .map(|p| {
                let at = sources.position(p.span.expect("a place"));
                format!("{}:{} {}", at.line, at.column, p.code.slug())
            })
            .collect();
        let found = if found.is_empty() {
            "-".to_owned()
        } else {
            found.join(", ")
        };
        assert_eq!(found, expected, "of {text:?}");
        assert_eq!(value.is_some(), expected == "-", "of {text:?}");
    }
}
