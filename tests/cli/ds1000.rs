//! DS-1000: the program of a record runs the text of the answer.

use serde_json::{Value, json};

use crate::benchmarks::{graded, lines, run, suite};
use crate::support::Project;

const DATASET: &str = "{format: ds1000, path: d.jsonl}";

/// The sum of a list, without a loop; the library is one that is always there.
fn record() -> Value {
    let context = r#"
exec_context = r"""
import json
numbers = json.loads(test_input)
[insert]
"""

def test_execution(solution: str):
    code = exec_context.replace("[insert]", solution)
    for given, wanted in [("[1, 2]", 3), ("[]", 0)]:
        scope = {"test_input": given}
        exec(code, scope)
        assert scope["result"] == wanted

def test_string(solution: str):
    assert "for" not in solution.split()
"#;
    json!({
        "prompt": "Sum up `numbers`.\n\n<code>\nresult = ... # put the solution here\nBEGIN SOLUTION\n<code>\n",
        "reference_code": "result = sum(numbers)",
        "code_context": context,
        "metadata": {"problem_id": 7, "library": "Json", "library_problem_id": 0},
    })
}

#[test]
fn ds1000_runs_the_text_of_the_answer_in_the_records_program() {
    let answers = [
        ("7", "result = sum(numbers)"),
        (
            "7",
            "BEGIN SOLUTION\n<code>\nresult = sum(numbers)\n</code>\nEND SOLUTION\nas numbers = 1 says",
        ),
        (
            "7",
            "So:\n```python\nimport math\nresult = math.fsum(numbers)\n```\nDone.",
        ),
        (
            "7",
            "text = '''\"\"\"\\n\u{e9}'''\nresult = sum(numbers) + len(text) - 5",
        ),
        // Only the second function refuses a loop.
        (
            "7",
            "result = 0\nfor number in numbers:\n    result += number",
        ),
        ("7", "result = 3"),
        ("7", "pass"),
        ("7", "import sys\nsys.exit(0)"),
        ("7", "import os\nos._exit(0)"),
        (
            "7",
            "class Equal:\n    def __eq__(self, other):\n        return True\nresult = Equal()",
        ),
        ("7", "import no_such_module"),
        ("7", "result = sum(numbers"),
    ];
    let found = graded(DATASET, ("d.jsonl", &lines(&[record()])), &answers);
    let passed: Vec<usize> = (0..found.len())
        .filter(|at| found[*at] == "7 passed")
        .collect();
    assert_eq!(passed, [0, 1, 2, 3], "{found:?}");
    assert!(
        found[4..].iter().all(|said| said.starts_with("7 failed ")),
        "{found:?}"
    );
    for at in [4, 5, 9, 10] {
        assert_eq!(found[at], "7 failed wrong_answer", "{at}");
    }
}

#[test]
fn ds1000_names_a_library_that_a_record_lacks() {
    let mut record = record();
    let context = record["code_context"].as_str().unwrap();
    record["code_context"] = json!(context.replace("import json", "import json, no_such_module"));
    let answers = [("7", "result = sum(numbers)")];
    let found = graded(DATASET, ("d.jsonl", &lines(&[record])), &answers);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("7 errored "), "{found:?}");
}

#[test]
fn ds1000_proves_its_references_and_refuses_what_is_not_in_its_layout() {
    let project = |dataset: &str, record: Value| {
        Project::with(&[
            ("suite.yaml", &suite(dataset)),
            ("d.jsonl", &lines(&[record])),
            ("out.jsonl", ""),
        ])
    };
    let checked = project(DATASET, record()).call(&[
        "check",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--format",
        "json",
    ]);
    let report: Value = serde_json::from_str(&checked.expect(0).stdout).unwrap();
    assert_eq!(
        (&report["decision"], &report["reference_cases"]),
        (&json!("holds"), &json!(1)),
        "{report}"
    );
    let without = |key: &str| {
        let mut record = record();
        record.as_object_mut().unwrap().remove(key);
        record
    };
    let mut untested = record();
    untested["code_context"] = json!("print(1)");
    for (record, why) in [
        (without("metadata"), "the record has no `metadata`"),
        (without("code_context"), "the record has no `code_context`"),
        (without("prompt"), "the record has no `prompt`"),
        (untested, "`code_context` does not define `test_execution`"),
    ] {
        let refused = run(&project(DATASET, record)).expect(2);
        assert!(
            refused.stderr.contains(why) && refused.stderr.contains("d.jsonl"),
            "{}",
            refused.stderr
        );
    }
    let strict = project(DATASET, record());
    strict.write(
        "suite.yaml",
        &suite(DATASET).replace("  evals:", "  sandbox: {trust: split}\n  evals:"),
    );
    let refused = run(&strict).expect(2);
    assert!(
        refused.stderr.contains("contradicts the suite's"),
        "{}",
        refused.stderr
    );
}
