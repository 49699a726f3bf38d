//! Where a key belongs that is not valid where it is: under a key beside it, one level higher, or
//! under the name that this program has for it.

use serde_json::{Map, Value};

use super::derive::{aliases, flatten, resolve};

/// How many levels of unions and conditions are looked through.
const DEPTH: usize = 8;

/// What other tools call a key of ours, or what a newcomer writes for it.
struct OtherName {
    /// Keys that are valid where the hint applies.
    beside: &'static [&'static str],
    names: &'static [&'static str],
    /// The key that is meant, which is then not missing.
    meant: &'static str,
    hint: &'static str,
}

const OTHER_NAMES: &[OtherName] = &[
    OtherName {
        beside: &["evals"],
        names: &["model", "models", "provider", "llm"],
        meant: "target",
        hint: "the model under test is the target: `target: {type: model, model: \"openai:gpt-4o-mini\"}`",
    },
    OtherName {
        beside: &["evals"],
        names: &[
            "tests",
            "test_cases",
            "cases",
            "scenarios",
            "regressions",
            "regression_evals",
            "capabilities",
            "capability_evals",
        ],
        meant: "evals",
        hint: "evals of every kind are elements of `evals:`; one with a `baseline` is a regression",
    },
    OtherName {
        beside: &["evals"],
        names: &["prompts", "prompt", "input"],
        meant: "",
        hint: "each element of `evals:` has its own `prompt:` (or `input:`)",
    },
    OtherName {
        beside: &["asserts", "extract"],
        names: &["test_cases", "cases", "dataset"],
        meant: "input",
        hint: "an eval of several cases has its `id` and `name` under `metadata:`, beside `test_cases:` or `dataset:`",
    },
    OtherName {
        beside: &["asserts", "extract"],
        names: &[
            "tests",
            "test",
            "assert",
            "assertions",
            "value",
            "code",
            "unit_tests",
            "test_code",
        ],
        meant: "",
        hint: "to test code, write `asserts: [\"assert add(1, 2) == 3\"]` beside the input; for a literal output, `expected: VALUE`; for \
               a judge, `grader: {judge: MODEL, rubric: TEXT}`",
    },
    OtherName {
        beside: &["asserts", "extract"],
        names: &[
            "judge",
            "rubric",
            "criteria",
            "model",
            "llm_rubric",
            "llm-rubric",
        ],
        meant: "",
        hint: "a judge is a grader: `grader: {judge: MODEL, rubric: TEXT}`",
    },
    OtherName {
        beside: &["asserts", "extract"],
        names: &[
            "answer",
            "answers",
            "output",
            "outputs",
            "expect",
            "expects",
            "ideal",
            "reference",
            "result",
            "target_output",
            "equals",
        ],
        meant: "expected",
        hint: "the expected output is `expected:`",
    },
    OtherName {
        beside: &["asserts", "extract"],
        names: &["messages", "conversation"],
        meant: "input",
        hint: "a conversation is `input: {type: messages, messages: [...]}`",
    },
    OtherName {
        beside: &["asserts", "extract"],
        names: &["question", "query", "vars", "user", "text"],
        meant: "input",
        hint: "the input is `prompt: TEXT` (or `input: ...`); `vars:` belongs beside `evals:` in the suite",
    },
    OtherName {
        beside: &["baseline"],
        names: &["expected", "expected_output", "answer", "reference"],
        meant: "",
        hint: "the known-good output of a regression is `baseline:`; without `baseline` and `current`, the eval is a capability with \
               `expected:`",
    },
    OtherName {
        beside: &["baseline"],
        names: &["asserts", "tests", "test", "assert"],
        meant: "",
        hint: "a regression compares with its `baseline`; to test code as well, add `{type: code, config: {asserts: [...]}}` under \
               `graders:`",
    },
    OtherName {
        beside: &["baseline"],
        names: &["target"],
        meant: "",
        hint: "the target of one regression is `execution:` under `current:`",
    },
    OtherName {
        beside: &["agent", "provider_tools"],
        names: &["timeout_seconds", "timeout"],
        meant: "",
        hint: "the time limit of an agent is `limits: {wall_seconds: SECONDS}`",
    },
    OtherName {
        beside: &["judge"],
        names: &["model", "models"],
        meant: "",
        hint: "the model is `judge:`",
    },
    OtherName {
        beside: &["judge"],
        names: &["config"],
        meant: "",
        hint: "beside `judge`, settings are written without `config:`",
    },
    OtherName {
        beside: &["negate"],
        names: &["model", "rubric", "criteria"],
        meant: "config",
        hint: "it belongs under `config:`; or write `grader: {judge: MODEL, rubric: TEXT}`",
    },
];

/// The hint of a misplaced key, and the key beside it that is then not missing.
#[derive(Debug, Clone)]
pub(super) struct Placement {
    pub hint: String,
    pub meant: Option<String>,
}

/// Where `key` belongs; `schemas` are those of its map, and `path` is the evaluation path of the
/// error. `at` is the map's place in the document. `is_near`: it may be a misspelt key.
pub(super) fn placement(
    derived: &Value,
    schemas: &[&Map<String, Value>],
    (at, path): (&str, &str),
    (key, is_near): (&str, bool),
) -> Option<Placement> {
    let is_known = |key: &str| schemas.iter().any(|schema| has(schema, key));
    if !is_near && at.ends_with("/baseline") && is_known("output") {
        return Some(Placement {
            hint: "a known-good map is written as `baseline: {output: {...}}`".to_owned(),
            meant: None,
        });
    }
    let other = OTHER_NAMES
        .iter()
        .find(|other| other.names.contains(&key) && other.beside.iter().all(|key| is_known(key)));
    if let Some(other) = other {
        return Some(Placement {
            hint: other.hint.to_owned(),
            meant: Some(other.meant.to_owned()).filter(|meant| !meant.is_empty()),
        });
    }
    let below = below(derived, schemas, key);
    let meant = match below.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    };
    // Every kind of grader has a `weight` and the like, which may be meant for what it grades.
    let is_weak = below.iter().all(|place| place.starts_with("grader"));
    let mut places: Vec<String> = below
        .iter()
        .map(|place| format!("under `{place}:`"))
        .collect();
    if is_weak {
        places.extend(above(derived, at, path, key));
    }
    let form = match below.as_slice() {
        [only] if only == "grader.config" => {
            format!(": `grader: {{type: ..., config: {{{key}: ...}}}}`")
        }
        _ => String::new(),
    };
    (!places.is_empty()).then(|| Placement {
        hint: format!("`{key}` belongs {}{form}", places.join(", or ")),
        meant,
    })
}

/// The keys beside it under which the key is valid; without any, the paths of two keys.
fn below(derived: &Value, schemas: &[&Map<String, Value>], key: &str) -> Vec<String> {
    let children = || {
        schemas
            .iter()
            .flat_map(|schema| properties(schema))
            .map(|(name, property)| (name, branches_of(derived, property)))
    };
    let takes = |branches: &[Map<String, Value>]| branches.iter().any(|schema| has(schema, key));
    let mut places: Vec<String> = children()
        .filter(|(_, branches)| takes(branches))
        .map(|(name, _)| name.clone())
        .collect();
    if places.is_empty() {
        for (name, branches) in children() {
            let inner = branches.iter().flat_map(properties);
            places.extend(
                inner
                    .filter(|(_, property)| takes(&branches_of(derived, property)))
                    .map(|(inner, _)| format!("{name}.{inner}")),
            );
        }
    }
    places.sort();
    places.dedup();
    places
}

/// The place in the nearest enclosing map where the key is valid, or where it is under `metadata` or
/// `config`.
fn above(derived: &Value, at: &str, path: &str, key: &str) -> Option<String> {
    let levels = levels(derived, path);
    let steps: Vec<&str> = at.split('/').skip(1).collect();
    // The level of the map itself is that of the last step.
    let enclosing = levels.get(..steps.len())?;
    enclosing
        .iter()
        .zip(&steps)
        .rev()
        .find_map(|(schemas, step)| {
            let beside = step.replace("~1", "/").replace("~0", "~");
            let mut branches = schemas.iter().map(|schema| flatten(derived, schema));
            branches.find_map(|schema| {
                if has(&schema, key) {
                    return Some(format!("outside of `{beside}:`, beside it"));
                }
                let mut heads = properties(&schema)
                    .filter(|(name, _)| ["metadata", "config"].contains(&name.as_str()));
                let (head, _) = heads.find(|(name, property)| {
                    **name != beside && branches_of(derived, property).iter().any(|s| has(s, key))
                })?;
                Some(format!("under `{head}:`, which is beside `{beside}:`"))
            })
        })
}

/// The schemas that an evaluation path leads through, for each level of the document.
pub(super) fn levels<'d>(derived: &'d Value, path: &str) -> Vec<Vec<&'d Value>> {
    let mut levels = vec![vec![derived]];
    let mut here = derived;
    let mut steps = path.split('/').skip(1);
    while let Some(step) = steps.next() {
        let next = match (step, here) {
            ("$ref", _) => here
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|reference| resolve(derived, reference)),
            ("properties", _) => steps.next().and_then(|name| {
                let name = name.replace("~1", "/").replace("~0", "~");
                here.get("properties")?.get(name)
            }),
            (index, Value::Array(list)) => index.parse().ok().and_then(|at: usize| list.get(at)),
            (word, _) => here.get(word),
        };
        let Some(next) = next else { break };
        here = next;
        if ["properties", "items", "additionalProperties"].contains(&step) {
            levels.push(vec![here]);
        } else if let Some(level) = levels.last_mut() {
            level.push(here);
        }
    }
    levels
}

/// A schema, and every branch of its unions and conditions, flattened.
fn branches_of(derived: &Value, schema: &Value) -> Vec<Map<String, Value>> {
    let mut found = Vec::new();
    collect(derived, schema, DEPTH, &mut found);
    found
}

fn collect(derived: &Value, schema: &Value, depth: usize, found: &mut Vec<Map<String, Value>>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let flat = flatten(derived, schema);
    let resolved = flat_parts(derived, schema);
    for part in &resolved {
        for word in ["then", "else"] {
            if let Some(branch) = part.get(word) {
                collect(derived, branch, depth, found);
            }
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            let list = part.get(word).and_then(Value::as_array);
            for branch in list.into_iter().flatten() {
                collect(derived, branch, depth, found);
            }
        }
    }
    found.push(flat);
}

/// A schema and those that its `$ref`s lead to.
fn flat_parts<'d>(derived: &'d Value, schema: &'d Value) -> Vec<&'d Value> {
    let mut parts = vec![schema];
    let mut here = schema;
    while let Some(next) = here
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| resolve(derived, reference))
        .filter(|_| parts.len() < DEPTH)
    {
        parts.push(next);
        here = next;
    }
    parts
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// Whether the schema has the key, or another spelling of it.
fn has(schema: &Map<String, Value>, key: &str) -> bool {
    properties(schema)
        .any(|(name, property)| name == key || aliases(property, "x-aliases").any(|a| a == key))
}
