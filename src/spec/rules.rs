//! Rules between keys, for the schemas that editors read (`x-editor`).
//!
//! The loader checks each of them in a lint that knows the rest of the suite, so a rule here may
//! accept more than its lint does, and never less; `load::agreement_tests` holds them together.

use serde_json::{Map, Value, json};

/// Keys of a case that say how it is graded, with their other spellings.
const GRADING: [&str; 5] = [
    "expected",
    "expected_output",
    "grader",
    "graders",
    "asserts",
];
/// Those of them with which a grader may bring what the expectation lacks.
const GRADERS: [&str; 3] = ["grader", "graders", "asserts"];

/// Built-in metrics whose values are in [0, 1], as a pattern that a `[..]` or the end follows.
const SHARES: &str = "^(pass(@|_at_)[1-9][0-9]*|pass(\\^|_hat_)[1-9][0-9]*(_unbiased)?|(capability_|regression_|case_)?pass_rate|(weighted_)?score|judge_(errored_rate|parse_failure_rate|disagreement_rate|consistency|sensitivity|specificity)|corrected_(pass_at_1|(case_)?pass_rate))(\\[|$)";
/// Built-in metrics whose values are at least 0.
const AMOUNTS: &str = "^(latency_(mean|p50|p95)_ms|tokens(_input|_output)?|cost_usd|(failed|errored|flaky)_samples|judge_repair_rate)(\\[|$)";
/// The names of all metrics, those of authors included.
const METRICS: &str = "^(pass(@|_at_)[1-9][0-9]*|pass(\\^|_hat_)[1-9][0-9]*(_unbiased)?|(?!pass_at_|pass_hat_)[a-z][a-z0-9_]{0,63})(\\[|$)";

/// The key is there, and neither null nor an empty list, which are the same as its absence.
fn present(key: &str) -> Value {
    json!({
        "type": "object", "required": [key],
        "properties": { (key): { "not": { "enum": [null, []] } } }
    })
}

fn any_present(keys: &[&str]) -> Value {
    json!({ "anyOf": keys.iter().map(|key| present(key)).collect::<Vec<_>>() })
}

fn has(key: &str) -> Value {
    json!({ "type": "object", "required": [key] })
}

fn rule(when: Value, mut then: Value, message: &str) -> Value {
    then["errorMessage"] = json!(message);
    json!({ "if": when, "then": then })
}

/// One of these keys must be there; the first is the one to suggest.
fn needs_one(keys: &[&str], message: &str) -> Value {
    let without = json!({ "type": "object", "not": any_present(keys) });
    rule(without, json!({ "required": [keys.first()] }), message)
}

/// These keys exclude each other.
fn not_both(one: &str, other: &str) -> Value {
    rule(
        json!({ "allOf": [present(one), present(other)] }),
        json!({ "properties": { (other): false } }),
        &format!("use `{one}` or `{other}`, not both"),
    )
}

/// Keys that something excludes.
fn without(when: Value, keys: &[&str], message: &str) -> Value {
    // Null is the same as absence.
    let absent = hidden(json!({ "type": "null", "errorMessage": message }));
    let keys = keys.iter().map(|key| ((*key).to_owned(), absent.clone()));
    let properties: Map<String, Value> = keys.collect();
    json!({ "if": when, "then": { "properties": properties } })
}

/// A case with its own graders, or the defaults of a file.
pub fn graders() -> Value {
    json!([not_both("grader", "graders")])
}

/// A capability with one case, which inherits no grader.
pub fn capability() -> Value {
    json!([
        not_both("grader", "graders"),
        ungraded(),
        lone_expectation()
    ])
}

/// A file of cases: without graders of its own, each case needs what a capability needs.
pub fn eval_file() -> Value {
    let inherits = any_present(&["grader", "graders"]);
    let case = json!({ "allOf": [ungraded(), lone_expectation()] });
    json!([not_both("grader", "graders"), {
        "if": { "type": "object", "not": inherits },
        "then": { "properties": {
            "test_cases": hidden(json!({ "items": case })),
            "dataset": hidden(json!({ "properties": { "case": hidden(ungraded()) } }))
        } }
    }])
}

/// A rule for a property that another schema describes: editors do not offer the key for it.
fn hidden(mut rule: Value) -> Value {
    rule["doNotSuggest"] = json!(true);
    rule
}

fn ungraded() -> Value {
    needs_one(
        &GRADING,
        "nothing grades the output: add `expected`, `grader` or `graders`",
    )
}

/// What an expectation needs where no grader could bring it.
fn lone_expectation() -> Value {
    let of_type = |name: &str, rules: Value| {
        json!({
            "if": { "type": "object", "required": ["type"], "properties": { "type": { "const": name } } },
            "then": rules
        })
    };
    let function = rule(
        json!({ "type": "object", "not": has("function_name") }),
        json!({ "required": ["function_name"] }),
        "add `function_name`: the function to call",
    );
    let number = needs_one(
        &["value", "min", "max"],
        "add `value`: the expected number, or `min` and `max`",
    );
    let expected = hidden(json!({ "allOf": [
        of_type("functional", json!({ "properties": { "value": hidden(function) } })),
        of_type("numeric", number)
    ] }));
    json!({
        "if": { "type": "object", "not": any_present(&GRADERS) },
        "then": { "properties": { "expected": expected, "expected_output": expected } }
    })
}

/// A call of a function.
pub fn call() -> Value {
    let result = json!({ "anyOf": [has("expected"), has("output")] });
    let raises = present("raises");
    json!([
        without(
            json!({ "allOf": [result, raises] }),
            &["raises"],
            "a call has a result (`expected`) or an exception (`raises`), not both"
        ),
        rule(
            json!({ "type": "object", "not": { "anyOf": [result, raises] } }),
            json!({ "required": ["expected"] }),
            "add `expected`: the value that the call must return (or `raises`)"
        ),
        rule(
            present("tolerance"),
            json!({ "required": ["comparator"], "properties": { "comparator": hidden(json!({ "const": "approx" })) } }),
            "`tolerance` applies only with `comparator: approx`"
        )
    ])
}

/// The settings of a judge.
pub fn judge() -> Value {
    let model = needs_one(
        &["model", "models"],
        "add `model`, such as \"openai:gpt-4o-mini\", or several `models`",
    );
    let mut rules = vec![model, not_both("model", "models")];
    rules.extend(key_source_rules());
    json!(rules)
}

/// Where the key of a model is read from.
pub fn key_source() -> Value {
    json!(key_source_rules())
}

fn key_source_rules() -> [Value; 3] {
    [
        not_both("api_key_env", "api_key_file"),
        not_both("api_key_env", "api_key_command"),
        not_both("api_key_file", "api_key_command"),
    ]
}

/// What a workspace is a copy of.
pub fn workspace_from() -> Value {
    json!([
        needs_one(&["dir", "git", "archive"], "add `dir`, `git` or `archive`"),
        not_both("dir", "git"),
        not_both("dir", "archive"),
        not_both("git", "archive"),
    ])
}

/// A threshold with bounds.
pub fn bounds() -> Value {
    json!([needs_one(
        &["min", "max", "by_type", "by_category", "by_tag", "by_eval"],
        "add `min` or `max`"
    )])
}

/// A threshold with bounds, for a part of a run.
pub fn part_bounds() -> Value {
    json!([needs_one(&["min", "max"], "add `min` or `max`")])
}

/// Thresholds by metric.
pub fn thresholds() -> Value {
    let within = |limits: Value, message: &str| {
        let mut number = hidden(limits);
        number["errorMessage"] = json!(message);
        let part = json!({ "if": { "type": "number" }, "then": number, "else": {
            "properties": { "min": number, "max": number }
        } });
        let parts = hidden(json!({ "additionalProperties": part }));
        json!({ "if": { "type": "number" }, "then": number, "else": { "properties": {
            "min": number, "max": number,
            "by_type": parts, "by_category": parts, "by_tag": parts, "by_eval": parts
        } } })
    };
    let share = within(
        json!({ "minimum": 0, "maximum": 1 }),
        "a threshold on this metric is between 0 and 1",
    );
    let amount = within(
        json!({ "minimum": 0 }),
        "a threshold on this metric is at least 0",
    );
    let count = json!({
        "type": "integer", "minimum": 0,
        "errorMessage": "a whole number: how many failed regressions the gate allows"
    });
    json!([
        {
            "propertyNames": {
                "pattern": METRICS,
                "errorMessage": "not the name of a metric, such as `pass@1`, `pass_rate` or `pass_rate[tag=critical]`"
            },
            "patternProperties": { (SHARES): share, (AMOUNTS): amount }
        },
        { "properties": { "max_regressions": {
            "if": { "type": "object" },
            "then": { "required": ["max"], "properties": { "max": count } },
            "else": count
        } } }
    ])
}

/// A step of a phase: which keys its type has.
pub fn step() -> Value {
    let of_type = |name: &str| json!({ "type": "object", "required": ["type"], "properties": { "type": { "const": name } } });
    let other =
        |name: &str| json!({ "type": "object", "required": ["type"], "not": of_type(name) });
    let config = |when: Value, inner: Value| json!({ "if": when, "then": { "properties": { "config": hidden(inner) } } });
    let always = || json!({ "type": "object" });
    json!([
        rule(
            of_type("eval"),
            json!({ "required": ["config"] }),
            "a step of type `eval` needs `config.suite`"
        ),
        config(
            of_type("eval"),
            rule(
                always(),
                json!({ "required": ["suite"] }),
                "a step of type `eval` needs `config.suite`"
            )
        ),
        without(
            of_type("eval"),
            &["command", "dir", "timeout_seconds"],
            "an eval step runs its suite; put a command into a separate step before it"
        ),
        rule(
            json!({ "allOf": [other("eval"), present("timeout_seconds")] }),
            json!({ "required": ["command"] }),
            "`timeout_seconds` has no effect without a `command`"
        ),
        config(
            other("eval"),
            without(
                always(),
                &[
                    "suite",
                    "required_pass_rate",
                    "metrics",
                    "thresholds",
                    "preset",
                    "filters",
                    "target",
                    "samples",
                    "vars"
                ],
                "only steps of type `eval` have this key"
            )
        ),
        config(
            other("test"),
            without(
                always(),
                &["junit"],
                "only steps of type `test` have this key"
            )
        )
    ])
}
