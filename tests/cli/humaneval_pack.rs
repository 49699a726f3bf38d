//! HumanEvalPack's records: what stands around an answer, and packages that are not there.

use serde_json::{Value, json};

use super::benchmarks::{graded, lines};
use super::languages::has;

fn record(values: &Value) -> Value {
    let mut record = json!({"import": "", "test_setup": "", "buggy_solution": ""});
    let (Some(all), Some(own)) = (record.as_object_mut(), values.as_object()) else {
        unreachable!("both are objects");
    };
    all.extend(own.clone());
    record
}

fn outcome(record: &Value, answer: &str) -> String {
    let id = record["task_id"].as_str().expect("an id");
    let outcomes = graded(
        "{format: humaneval_pack, path: d.jsonl}",
        ("d.jsonl", &lines(std::slice::from_ref(record))),
        &[(id, answer)],
    );
    let [only] = outcomes.as_slice() else {
        panic!("one sample: {outcomes:?}");
    };
    only.replace(&format!("{id} "), "")
}

/// The prompts of some tasks define a function that the answer calls; their declarations don't.
#[test]
fn go_answer_may_call_functions_of_the_prompt() {
    if !has("go") {
        return eprintln!("skipped: go is missing here");
    }
    let imports = "import (\n    \"strings\"\n)";
    let helper = "func Twice(s string) string {\n    return strings.Repeat(s, 2)\n}";
    let declaration = "func Quadruple(s string) string {\n";
    let record = record(&json!({
        "task_id": "Go/1", "entry_point": "Quadruple", "import": imports,
        "prompt": format!("{imports}\n\n// Twice a text.\n{helper}\n// Four times a text.\n{declaration}"),
        "declaration": format!("\n{declaration}"),
        "canonical_solution": "    return Twice(Twice(s))\n}\n\n",
        "test_setup": "package main\n\nimport (\n    \"testing\"\n    \"github.com/stretchr/testify/assert\"\n)\n",
        "test": "func TestQuadruple(t *testing.T) {\n    assert := assert.New(t)\n    assert.Equal(\"abababab\", Quadruple(\"ab\"))\n}\n",
    }));
    for (answer, expected) in [
        ("    return Twice(Twice(s))\n}\n", "passed"),
        (
            "```go\nfunc Quadruple(s string) string {\n    return Twice(Twice(s))\n}\n```\n",
            "passed",
        ),
        ("    return Twice(s)\n}\n", "failed exception"),
    ] {
        assert_eq!(outcome(&record, answer), expected, "{answer}");
    }
}

/// In JavaScript/162 only the right answer names the package.
#[test]
fn javascript_package_of_the_solution_is_named_as_missing() {
    let record = record(&json!({
        "task_id": "JavaScript/162", "entry_point": "md5",
        "prompt": "// The MD5 of a text.\nconst md5 = (text) => {\n",
        "declaration": "\nconst md5 = (text) => {\n",
        "canonical_solution": "  return require('js-md5')(text)\n}\n\n",
        "test": "const testMd5 = () => {\n  console.assert(md5('') === 'd41d8cd98f00b204e9800998ecf8427e')\n}\n\ntestMd5()\n",
    }));
    let answer = "  return require('js-md5')(text)\n}\n";
    assert_eq!(outcome(&record, answer), "errored executor_missing");
}

/// The declaration of CPP/38 goes on into the body.
#[test]
fn cpp_declaration_ends_with_the_signature() {
    if !has("g++") {
        return eprintln!("skipped: g++ is missing here");
    }
    let record = record(&json!({
        "task_id": "CPP/38", "entry_point": "twice",
        "prompt": "int twice(int n){\n    // Twice a number.\n",
        "declaration": "#include<math.h>\nint twice(int n){\n    int twofold=0;\n    for (int i=0;i<2;i++)\n    {\n",
        "canonical_solution": "    int twofold=2*n;\n    return twofold;\n}\n",
        "test": "#undef NDEBUG\n#include<assert.h>\nint main(){\n    assert (twice(4) == 8);\n}\n",
    }));
    assert_eq!(
        outcome(&record, "    int twofold=2*n;\n    return twofold;\n}\n"),
        "passed"
    );
    assert_eq!(outcome(&record, "    return n;\n}\n"), "failed crashed",);
}

/// Its tests compare texts that `JSON.stringify` makes.
#[test]
fn javascript_answer_cannot_replace_what_tests_compare_by() {
    let record = record(&json!({
        "task_id": "JavaScript/1", "entry_point": "twice",
        "prompt": "// Each number twice.\nconst twice = (list) => {\n",
        "declaration": "\nconst twice = (list) => {\n",
        "canonical_solution": "  return list.map(n => 2 * n)\n}\n\n",
        "test": "const testTwice = () => {\n  console.assert(JSON.stringify(twice([1, 2])) === JSON.stringify([2, 4]))\n}\n\ntestTwice()\n",
    }));
    let wrong = "const twice = (list) => list\n";
    for patch in [
        "JSON.stringify = () => ''",
        "globalThis.JSON = { stringify: () => '' }",
        "console.assert = () => {}",
        "globalThis.console = { assert: () => {}, log: console.log }",
    ] {
        let answer = format!("```js\n{patch}\n{wrong}```\n");
        assert_eq!(outcome(&record, &answer), "failed exception", "{patch}");
    }
    let right = "```js\nconst twice = (list) => list.map(n => 2 * n)\n```\n";
    assert_eq!(outcome(&record, right), "passed");
}
