use serde_json::{Value, json};

use super::*;

fn format() -> Evalplus {
    Evalplus {
        limits: CodeLimits::default(),
        per_call: Duration::from_secs(4),
        time_factor: 4.0,
    }
}

fn task(record: &Value) -> Result<BenchmarkTask, String> {
    format().task(record.as_object().unwrap(), 1)
}

fn by_inputs() -> Value {
    json!({
        "task_id": "Mbpp/2", "prompt": "\"\"\"\nShared.\n\"\"\"\n", "entry_point": "similar_elements",
        "canonical_solution": "def similar_elements(a, b):\n    return tuple(set(a) & set(b))\n",
        "base_input": [[[1], [1]]], "plus_input": [[[], []], [[2], [2]]], "atol": 0,
        "contract": "", "assertion": ""
    })
}

#[test]
fn inputs_become_calls_with_base_and_plus_apart() {
    let made = task(&by_inputs()).unwrap();
    assert_eq!(made.id, "Mbpp/2");
    let [CodeGrader::FunctionOutput(calls)] = made.graders.as_slice() else {
        panic!("another grader")
    };
    let own = calls.evalplus.as_ref().unwrap();
    assert_eq!((own.base, calls.cases.len()), (1, 3));
    assert_eq!(own.oracle.rule, EvalplusRule::SameElements);
    assert_eq!(
        calls.cases[0].args,
        [json!({"$tuple": [1]}), json!({"$tuple": [1]})]
    );
    let solution =
        "\"\"\"\nShared.\n\"\"\"\ndef similar_elements(a, b):\n    return tuple(set(a) & set(b))\n";
    assert_eq!(calls.expected_by.as_ref().unwrap().code, solution);
    assert_eq!(
        made.solution,
        Some(OutputValue::Program(solution.to_owned()))
    );
}

#[test]
fn records_that_do_not_fit_say_what_is_expected() {
    let without = |key: &str| {
        let mut record = by_inputs();
        record.as_object_mut().unwrap().remove(key);
        task(&record).err().unwrap()
    };
    let with = |key: &str, value: Value| {
        let mut record = by_inputs();
        record[key] = value;
        task(&record).err().unwrap()
    };
    let found = [
        without("entry_point"),
        without("canonical_solution"),
        without("plus_input"),
        without("atol"),
        with("task_id", json!("Other/1")),
        with("base_input", json!([])),
        with("base_input", json!([1])),
        with("plus_input", json!([[1, 2]])),
        with("atol", json!(-1)),
        task(&json!({"task_id": "x"})).err().unwrap(),
    ];
    insta::assert_snapshot!(found.join("\n"), @r"
    the record has no `entry_point`
    the record has no `canonical_solution`
    the record has no `plus_input`
    the record has no `atol`
    the record's `task_id` is `Other/1`, not one as `HumanEval/0` or `Mbpp/2`
    `base_input` is empty, so nothing would be tested
    input 1 of `base_input` can't be used: it is not a list of arguments
    input 1 of `plus_input` can't be used: an argument is int, not list
    `atol` is not a number of at least 0
    the record has no tests: records of HumanEval+ and MBPP+ have `base_input` and `plus_input`, or `test`
    ");
}

#[test]
fn tests_as_text_call_the_candidate() {
    let test = "inputs = [[1]]\nresults = [2]\nfor i, (inp, exp) in enumerate(zip(inputs, results)):\n    assertion(sum(*inp), exp, 0)\n";
    let (check, name) = check_of(test).unwrap();
    assert_eq!(name, "sum");
    assert!(check.ends_with(
        "def check(candidate):\n    for i, (inp, exp) in enumerate(zip(inputs, results)):\n        assertion(candidate(*inp), exp, 0)\n"
    ));
    assert_eq!(check_of("assert f() == 1"), None);
    let record = json!({
        "task_id": 126, "prompt": "Sum.", "code": "def sum(x): return x", "test_imports": [],
        "test_list": ["assert sum(1) == 1"], "test": test
    });
    let made = task(&record).unwrap();
    assert_eq!(made.metrics, ["pass_at_1_base", "pass_at_1_plus"]);
    assert_eq!(made.graders.len(), 2);
}
