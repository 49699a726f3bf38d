use std::fs;
use std::path::PathBuf;

use super::SHOWN;
use crate::load::{LoadRequest, Loaded, Purpose, load};
use crate::model::{CodeGrader, GraderKind, Input, Tests};

/// An eval file with a dataset, loaded as a suite of one.
fn loaded(dataset: &str, files: &[(&str, &str)]) -> Loaded {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd: PathBuf = dir.path().canonicalize().expect("a path");
    for (name, text) in files {
        fs::write(cwd.join(name), text).expect("written");
    }
    fs::write(cwd.join("eval.yaml"), format!("metadata: {{id: e}}\ndataset:\n{dataset}")).expect("written");
    load(&LoadRequest {
        suite: "eval.yaml".into(),
        purpose: Purpose::Validate,
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    })
}

fn errors(loaded: &Loaded) -> Vec<String> {
    let error = |p: &&crate::load::Problem| p.severity == crate::load::Severity::Error;
    loaded.problems.iter().filter(error).map(|p| p.message.clone()).collect()
}

const CASE: &str = "  case:\n    id: \"{{ row.id }}\"\n    input: \"Say {{ row.q }}\"\n    expected: {type: exact, value: \"{{ row.a }}\"}\n";

#[test]
fn a_lone_expression_takes_the_row_s_value_as_it_is() {
    let big = "265252859812191058636308480000000";
    let rows = format!(
        "{{\"id\": 7, \"q\": 1.5, \"a\": {big}}}\n\n{{\"id\": \"x\", \"q\": \"b\", \"a\": [1, null]}}\n"
    );
    let loaded = loaded(&format!("  path: r.jsonl\n  format: jsonl\n{CASE}"), &[("r.jsonl", &rows)]);
    assert_eq!(errors(&loaded), [""; 0]);
    let plan = loaded.plan.expect("a plan");
    let cases = plan.evals[0].cases.all().expect("cases");
    assert_eq!(cases[0].id, "7");
    assert_eq!(cases[0].input, Input::Prompt { text: "Say 1.5".into(), context: None });
    assert_eq!(cases[0].expected.as_ref().map(ToString::to_string), Some(big.to_owned()));
    assert_eq!(cases[1].expected, Some(serde_json::json!([1, null])));
    assert_eq!(cases[1].origin, "r.jsonl:3:1");
    assert!(cases[0].grading.graders[0].inferred);
    assert_eq!(cases[0].grading.graders[0].kind.method(), "exact_match");
}

#[test]
fn a_row_is_never_a_template() {
    let rows = "{\"id\": 1, \"q\": \"{{ env.HOME }} {% if %}\", \"a\": \"{{ x }}\"}\n";
    let loaded = loaded(&format!("  path: r.jsonl\n  format: jsonl\n{CASE}"), &[("r.jsonl", rows)]);
    let plan = loaded.plan.expect("a plan");
    let case = plan.evals[0].cases.get(0).expect("a case").expect("whole");
    assert_eq!(case.input, Input::Prompt { text: "Say {{ env.HOME }} {% if %}".into(), context: None });
    assert_eq!(case.expected, Some("{{ x }}".into()));
}

#[test]
fn the_first_bad_rows_are_told_and_the_rest_is_counted() {
    let rows = "nope\n".repeat(SHOWN + 5);
    let loaded = loaded(&format!("  path: r.jsonl\n  format: jsonl\n{CASE}"), &[("r.jsonl", &rows)]);
    let errors = errors(&loaded);
    assert_eq!(errors.len(), SHOWN + 1);
    assert_eq!(errors[1], "r.jsonl:2: not JSON: expected ident (column 2)");
    assert_eq!(errors[SHOWN], "r.jsonl: 5 more rows do not fit");
}

#[test]
fn json_arrays_and_tables_are_read_with_their_lines() {
    let array = "[\n  {\"id\": 1, \"q\": \"a\", \"a\": true},\n\n  7,\n  {\"id\": 2}\n]\n";
    let found = loaded(&format!("  path: r.json\n  format: json\n{CASE}"), &[("r.json", array)]);
    assert_eq!(
        errors(&found),
        ["r.json:4: not a JSON object", "r.json:5: `row.q` of the template is not in the row"]
    );
    let table = "id,q,a\n1,\"two\nlines\",x\n2,b\n";
    let found = loaded(&format!("  path: r.csv\n  format: csv\n{CASE}"), &[("r.csv", table)]);
    assert_eq!(errors(&found), ["r.csv:4: 2 fields, but the header names 3"]);
    let twice = loaded(&format!("  path: r.csv\n  format: csv\n{CASE}"), &[("r.csv", "id,id\n1,2\n")]);
    assert_eq!(errors(&twice), ["`r.csv` line 1: the header names `id` twice"]);
    let empty = loaded(&format!("  path: r.jsonl\n  format: jsonl\n{CASE}"), &[("r.jsonl", "\n")]);
    assert_eq!(errors(&empty), ["`r.jsonl` holds no rows, so the eval would pass without a test"]);
}

#[test]
fn a_humaneval_record_becomes_a_program_that_is_judged_by_check() {
    let record = serde_json::json!({
        "task_id": "HumanEval/0", "prompt": "def f(x):\n    \"\"\"Doubles.\"\"\"\n", "entry_point": "f",
        "canonical_solution": "    return 2 * x\n", "test": "def check(candidate):\n    assert candidate(1) == 2\n"
    });
    let idle =
        serde_json::json!({ "task_id": "1", "context": "x", "entry_point": "f", "test": "assert True" });
    let rows = format!("{record}\n{idle}\n");
    let dataset = "  path: r.jsonl\n  format: humaneval\n  timeout_seconds: 3\n";
    let found = loaded(dataset, &[("r.jsonl", &rows)]);
    assert_eq!(errors(&found), ["r.jsonl:2: `test` does not define `check`, so nothing would be tested"]);
    let found = loaded(dataset, &[("r.jsonl", &format!("{record}\n"))]);
    let plan = found.plan.expect("a plan");
    let case = plan.evals[0].cases.get(0).expect("a case").expect("whole");
    assert_eq!(case.id, "HumanEval/0");
    let GraderKind::Code(CodeGrader::CodeExecution(code)) = &case.grading.graders[0].kind else {
        panic!("another grader")
    };
    assert_eq!(code.prefix, "def f(x):\n    \"\"\"Doubles.\"\"\"\n");
    assert_eq!(code.entry_point.as_deref(), Some("f"));
    assert_eq!(code.limits.wall.as_secs(), 3);
    assert!(matches!(&code.tests, Tests::Check { code } if code.starts_with("def check")));
}

#[test]
fn mbpp_is_read_in_both_layouts() {
    let line = "{\"text\": \"Add.\", \"code\": \"x\\r\\n\", \"task_id\": 11, \"test_setup_code\": \"import a\", \"test_list\": [\"assert f() == 1\"]}\n";
    let array = "[{\"prompt\": \"Add.\", \"task_id\": 11, \"test_imports\": [\"import a\", \"import b\"], \"test_list\": [\"assert f() == 1\"]}]";
    let mut setups = Vec::new();
    for (name, text) in [("r.jsonl", line), ("r.json", array)] {
        let found = loaded(
            &format!("  path: {name}\n  format: mbpp\n  prompt: \"{{{{ row.task_id }}}}!\"\n"),
            &[(name, text)],
        );
        assert_eq!(errors(&found), [""; 0]);
        let plan = found.plan.expect("a plan");
        let case = plan.evals[0].cases.get(0).expect("a case").expect("whole");
        assert_eq!(case.id, "11");
        assert!(matches!(&case.input, Input::Prompt { text, .. } if text == "11!"));
        let GraderKind::Code(CodeGrader::CodeExecution(code)) = &case.grading.graders[0].kind else {
            panic!("another grader")
        };
        assert_eq!(code.tests, Tests::Asserts { asserts: vec!["assert f() == 1".into()] });
        setups.push(code.setup.clone());
    }
    assert_eq!(setups, ["import a", "import a\nimport b"]);
}
