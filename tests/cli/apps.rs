//! Data files in the layout of APPS: programs that read stdin, and calls.

use serde_json::{Value, json};

use crate::benchmarks::{graded, lines, run, suite};
use crate::support::Project;

const DATASET: &str = "{format: apps, path: apps.jsonl}";

fn record(id: u64, tests: Value, starter: &str, solution: &str) -> Value {
    json!({
        "problem_id": id, "question": "Solve it.", "difficulty": "introductory",
        "input_output": tests.to_string(), "starter_code": starter,
        "solutions": json!([solution]).to_string(), "url": "",
    })
}

/// Outcomes of answers to one record.
fn outcomes(record: &Value, answers: &[&str]) -> Vec<String> {
    let answers: Vec<(&str, &str)> = answers.iter().map(|answer| ("7", *answer)).collect();
    let file = lines(std::slice::from_ref(record));
    let found = graded(DATASET, ("apps.jsonl", &file), &answers);
    let outcome = |line: &String| line.split(' ').nth(1).map(str::to_owned);
    found.iter().filter_map(outcome).collect()
}

#[test]
fn apps_programs_read_stdin_and_print_all_tokens() {
    let tests = json!({"inputs": ["1 2\n", ["3", "4"]], "outputs": ["3\n", ["7"]]});
    let sum = record(
        7,
        tests,
        "",
        "print(sum(map(int, sys.stdin.read().split())))",
    );
    let found = outcomes(
        &sum,
        &[
            "print(sum(map(int, sys.stdin.read().split())))",
            "```python\nimport sys\nif __name__ == '__main__':\n    print(fabs(sum(map(int, sys.stdin.read().split()))))\n```",
            "print(3)",
            "print(sum(map(int, sys.stdin.read().split())) + 1e-6)",
            "exit(0)",
        ],
    );
    assert_eq!(found, ["passed", "passed", "failed", "failed", "failed"]);
    let tests = json!({"inputs": ["3"], "outputs": ["0.333333333\n2"]});
    let third = record(7, tests, "", "print(1 / int(input()), 2)");
    let found = outcomes(
        &third,
        &["print(0.333334, 2)", "print(0.3334, 2)", "print(0.333333)"],
    );
    assert_eq!(found, ["passed", "failed", "failed"]);
}

#[test]
fn apps_calls_take_functions_or_methods_and_wrapped_values() {
    let tests = json!({
        "fn_name": "firsts", "inputs": [[[1, 2], 1], [[3], 1], [[], 1]], "outputs": [[1], [[3]], []],
    });
    let starter = "class Solution:\n    def firsts(self, items: List[int], n: int):\n        ";
    let solution =
        "class Solution:\n    def firsts(self, items, n):\n        return tuple(items[:n])";
    let method = record(7, tests.clone(), starter, solution);
    let found = outcomes(
        &method,
        &[
            solution,
            "class Solution:\n    def firsts(self, items, n):\n        return items",
            "class Solution:\n    def firsts(self, items, n):\n        class E(list):\n            __eq__ = lambda a, b: True\n        return E()",
            "def firsts(items, n):\n    return items[:n]",
            "import os\nos._exit(0)",
        ],
    );
    assert_eq!(found, ["passed", "failed", "failed", "failed", "failed"]);
    let plain = record(
        7,
        tests,
        "def firsts(items, n):",
        "def firsts(a, n): return a[:n]",
    );
    let found = outcomes(
        &plain,
        &["def firsts(items, n):\n    return items[:n]", solution],
    );
    assert_eq!(found, ["passed", "failed"]);
}

#[test]
fn apps_first_argument_has_integer_keys() {
    let tests = json!({
        "fn_name": "total", "inputs": [[{"1": 2, "30": 4}]], "outputs": [[{"31": 6}]],
    });
    let solution = "def total(d): return {sum(d): sum(d.values())}";
    let dict = record(7, tests, "", solution);
    assert_eq!(outcomes(&dict, &[solution]), ["passed"]);
}

#[test]
fn apps_solutions_pass_their_check() {
    let sum = json!({"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]});
    let twice = json!({"fn_name": "twice", "inputs": [[2], [5]], "outputs": [4, [10]]});
    let file = lines(&[
        record(1, sum, "", "print(sum(map(int, input().split())))"),
        record(2, twice, "", "def twice(n): return 2 * n"),
    ]);
    let project = Project::with(&[
        ("suite.yaml", &suite(DATASET)),
        ("apps.jsonl", &file),
        ("out.jsonl", ""),
    ]);
    let args = [
        "check",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--format",
        "json",
    ];
    let report: Value = serde_json::from_str(&project.call(&args).expect(0).stdout).unwrap();
    assert_eq!(
        (&report["decision"], &report["reference_cases"]),
        (&json!("holds"), &json!(2))
    );
}

#[test]
fn apps_records_that_do_not_fit_are_named_by_line() {
    let table = [
        (json!({"question": "?"}), "the record has no `input_output`"),
        (
            json!({"question": "?", "input_output": ""}),
            "the record has no tests",
        ),
        (
            json!({"question": "?", "input_output": "{'inputs': []}"}),
            "`input_output` is not JSON",
        ),
        (
            record(3, json!({"inputs": ["1"], "outputs": []}), "", ""),
            "1 inputs and 0 outputs",
        ),
        (
            record(4, json!({"inputs": [1], "outputs": ["1"]}), "", ""),
            "neither a text nor a list",
        ),
        (
            record(
                5,
                json!({"fn_name": "f", "inputs": [1], "outputs": [1]}),
                "",
                "",
            ),
            "not a list of arguments",
        ),
    ];
    for (record, message) in table {
        let project = Project::with(&[
            ("suite.yaml", &suite(DATASET)),
            ("apps.jsonl", &lines(&[record])),
            ("out.jsonl", ""),
        ]);
        let refused = run(&project).expect(2);
        let said = refused.stderr.replace("\n  ", " ");
        assert!(
            said.contains("apps.jsonl:1: ") && said.contains(message),
            "{said}"
        );
    }
}
