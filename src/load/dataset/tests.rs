use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::intake::SHOWN;
use crate::load::{LoadRequest, LoadedPlan, load};
use crate::model::{Case, CaseInput, CodeGrader, CodeTests, EvalCases, GraderKind};

/// A suite of one eval file with a dataset, in a folder that stays as long as its data may be read.
struct Kept {
    dir: tempfile::TempDir,
    loaded: LoadedPlan,
}

impl Deref for Kept {
    type Target = LoadedPlan;

    fn deref(&self) -> &LoadedPlan {
        &self.loaded
    }
}

fn of_file(eval: &str, files: &[(&str, &str)]) -> Kept {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd: PathBuf = dir.path().canonicalize().expect("a path");
    for (name, text) in files {
        fs::write(cwd.join(name), text).expect("written");
    }
    fs::write(
        cwd.join("eval.yaml"),
        format!("metadata: {{id: e}}\n{eval}"),
    )
    .expect("written");
    let request = LoadRequest {
        suite: "eval.yaml".into(),
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    };
    Kept {
        loaded: load(&request),
        dir,
    }
}

fn loaded(dataset: &str, files: &[(&str, &str)]) -> Kept {
    of_file(&format!("dataset:\n{dataset}"), files)
}

fn kept(eval: &str, rows: &str) -> Kept {
    of_file(eval, &[("r.jsonl", rows)])
}

fn errors(loaded: &LoadedPlan) -> Vec<String> {
    let error = |p: &&crate::load::Problem| p.severity == crate::load::Severity::Error;
    loaded
        .problems
        .iter()
        .filter(error)
        .map(|p| p.message.clone())
        .collect()
}

const CASE: &str = "  case:\n    id: \"{{ row.id }}\"\n    input: \"Say {{ row.q }}\"\n    expected: {type: exact, value: \"{{ row.a }}\"}\n";

#[test]
fn a_lone_expression_takes_the_row_s_value_as_it_is() {
    let big = "265252859812191058636308480000000";
    let rows = format!(
        "{{\"id\": 7, \"q\": 1.5, \"a\": {big}}}\n\n{{\"id\": \"x\", \"q\": \"b\", \"a\": [1, null]}}\n"
    );
    let loaded = loaded(
        &format!("  path: r.jsonl\n  format: jsonl\n{CASE}"),
        &[("r.jsonl", &rows)],
    );
    assert_eq!(errors(&loaded), [""; 0]);
    let plan = loaded.plan.as_ref().expect("a plan");
    let cases = plan.evals[0].cases.all().expect("cases");
    assert_eq!(cases[0].id, "7");
    assert_eq!(
        cases[0].input,
        CaseInput::Prompt {
            text: "Say 1.5".into(),
            context: None
        }
    );
    assert_eq!(
        cases[0].expected.as_ref().map(ToString::to_string),
        Some(big.to_owned())
    );
    assert_eq!(cases[1].expected, Some(serde_json::json!([1, null])));
    assert_eq!(cases[1].origin, "r.jsonl:3:1");
    assert!(cases[0].grading.graders[0].inferred);
    assert_eq!(cases[0].grading.graders[0].kind.method(), "exact_match");
}

#[test]
fn a_row_is_never_a_template() {
    let rows = "{\"id\": 1, \"q\": \"{{ env.HOME }} {% if %}\", \"a\": \"{{ x }}\"}\n";
    let loaded = loaded(
        &format!("  path: r.jsonl\n  format: jsonl\n{CASE}"),
        &[("r.jsonl", rows)],
    );
    let plan = loaded.plan.as_ref().expect("a plan");
    let case = plan.evals[0].cases.get(0).expect("a case").expect("whole");
    assert_eq!(
        case.input,
        CaseInput::Prompt {
            text: "Say {{ env.HOME }} {% if %}".into(),
            context: None
        }
    );
    assert_eq!(case.expected, Some("{{ x }}".into()));
}

#[test]
fn the_first_bad_rows_are_told_and_the_rest_is_counted() {
    let rows = "nope\n".repeat(SHOWN + 5);
    let loaded = loaded(
        &format!("  path: r.jsonl\n  format: jsonl\n{CASE}"),
        &[("r.jsonl", &rows)],
    );
    let errors = errors(&loaded);
    assert_eq!(errors.len(), SHOWN + 1);
    assert_eq!(errors[1], "r.jsonl:2: not JSON: expected ident (column 2)");
    assert_eq!(errors[SHOWN], "r.jsonl: 5 more rows have errors");
}

#[test]
fn json_arrays_and_tables_are_read_with_their_lines() {
    let array = "[\n  {\"id\": 1, \"q\": \"a\", \"a\": true},\n\n  7,\n  {\"id\": 2}\n]\n";
    let found = loaded(
        &format!("  path: r.json\n  format: json\n{CASE}"),
        &[("r.json", array)],
    );
    assert_eq!(
        errors(&found),
        [
            "r.json:4: not a JSON object",
            "r.json:5: the row has no value for `row.q` in the template"
        ]
    );
    let broken = "[\n  {\"id\": 1,\n   \"q\": \"\\ud800\", \"a\": 1}\n]\n";
    let found = loaded(
        &format!("  path: r.json\n  format: json\n{CASE}"),
        &[("r.json", broken)],
    );
    assert_eq!(
        errors(&found),
        ["r.json:2: not JSON: unexpected end of hex escape (line 2 of the row, column 16)"]
    );
    let table = "id,q,a\n1,\"two\nlines\",x\n2,b\n";
    let found = loaded(
        &format!("  path: r.csv\n  format: csv\n{CASE}"),
        &[("r.csv", table)],
    );
    assert_eq!(errors(&found), ["r.csv:4: 2 fields, but the header has 3"]);
    let twice = loaded(
        &format!("  path: r.csv\n  format: csv\n{CASE}"),
        &[("r.csv", "id,id\n1,2\n")],
    );
    assert_eq!(
        errors(&twice),
        ["`r.csv` line 1: the header contains `id` twice"]
    );
    let empty = loaded(
        &format!("  path: r.jsonl\n  format: jsonl\n{CASE}"),
        &[("r.jsonl", "\n")],
    );
    assert_eq!(
        errors(&empty),
        ["`r.jsonl` contains no rows, so the eval would pass without a test"]
    );
}

#[test]
fn file_without_rows_says_what_it_is() {
    let reason = |bytes: &[u8], format: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        let cwd = dir.path().canonicalize().expect("a path");
        fs::write(cwd.join("d"), bytes).expect("written");
        let eval = format!("metadata: {{id: e}}\ndataset:\n  path: d\n  format: {format}\n");
        fs::write(cwd.join("eval.yaml"), eval).expect("written");
        let request = LoadRequest {
            suite: "eval.yaml".into(),
            cwd,
            cpus: 1,
            ..LoadRequest::default()
        };
        errors(&load(&request)).join("\n")
    };
    let found = [
        reason(b"\x1f\x8b\x08\x00\n\n\n", "evalplus"),
        reason(b"PK\x03\x04\n\n", "humaneval"),
        reason(b"PAR1\x15\n\n", "livecodebench"),
        reason(
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "apps",
        ),
        reason(b"\n<!DOCTYPE html>\n<html>\n", "gsm8k"),
    ];
    insta::assert_snapshot!(found.join("\n"), @r"
    `d` line 1: the file is compressed with gzip; unpack it first (`gunzip`)
    `d` line 1: the file is a zip archive; unpack it first (`unzip`)
    `d` line 1: the file is in the Parquet format; export it as JSON lines first
    `d` line 1: the file is a pointer of Git LFS, not the data; fetch the data first (`git lfs pull`)
    `d` line 1: the file is an HTML page, not data; check the address that it was downloaded from
    ");
}

#[test]
fn record_of_another_benchmark_names_its_format() {
    let of_mbpp = r#"{"task_id": 2, "prompt": "Add.", "test_list": ["assert f() == 1"], "test": "assert f() == 1"}"#;
    let found = loaded(
        "  path: r.jsonl\n  format: bigcodebench\n",
        &[("r.jsonl", of_mbpp)],
    );
    let first = found.problems.iter().next().expect("a problem");
    insta::assert_snapshot!(
        format!("{}\n{}", first.message, first.hint.as_deref().unwrap_or("no hint")),
        @r"
    r.jsonl:1: `test` has no class `TestCases`, so nothing would be tested
    the record has `test_list`, as those of `format: mbpp` have; set that format
    "
    );
    let plus = loaded("  path: r.jsonl\n  format: mbpp\n", &[("r.jsonl", of_mbpp)]);
    assert_eq!(
        errors(&plus),
        [
            "r.jsonl:1: the record has more tests in `test`, as those of MBPP+ have, and this format would not run \
             them; set `format: evalplus`"
        ]
    );
}

#[test]
fn multipl_e_is_read_as_an_array_too() {
    let record = r#"{"name": "HumanEval_23_strlen", "language": "lua", "prompt": "local function strlen(s)\n", "tests": "lu = require('luaunit')\n\nfunction test_humaneval()\nlocal candidate = strlen\n    lu.assertEquals(candidate(''), 0)\nend\n\nos.exit(lu.LuaUnit.run())", "stop_tokens": ["\n--"]}"#;
    for (name, text) in [
        ("r.jsonl", record.to_owned()),
        ("r.json", format!("[\n  {record}\n]\n")),
    ] {
        let found = loaded(
            &format!("  path: {name}\n  format: multipl_e\n"),
            &[(name, &text)],
        );
        assert_eq!(errors(&found), [""; 0]);
        let case = found.cases().get(0).expect("a case").expect("whole");
        assert_eq!(case.id, "HumanEval_23_strlen");
    }
}

#[test]
fn a_row_may_be_long_but_not_of_more_values_than_memory_holds() {
    let long = format!(
        "{{\"id\": 1, \"q\": \"{}\", \"a\": 2}}\n",
        "x".repeat(65 << 20)
    );
    let case = CASE.replace("Say {{ row.q }}", "Say it");
    let found = loaded(
        &format!("  path: r.jsonl\n  format: jsonl\n{case}"),
        &[("r.jsonl", &long)],
    );
    assert_eq!(errors(&found), [""; 0]);

    // 5 MB of text that would be more than a gigabyte of values.
    let heavy = format!(
        "{{\"id\": 2, \"q\": [{}{{}}], \"a\": 2}}",
        "{},".repeat(1_700_000)
    );
    let small = "{\"id\": 1, \"q\": 1, \"a\": 2}";
    for (name, text) in [
        ("jsonl", format!("{small}\n{heavy}\n")),
        ("json", format!("[{small},\n{heavy}]")),
    ] {
        let file = format!("r.{name}");
        let found = loaded(
            &format!("  path: {file}\n  format: {name}\n{case}"),
            &[(&file, &text)],
        );
        assert_eq!(
            errors(&found),
            [format!(
                "`{file}` line 2: the values of this row would take more than 1 GiB of memory (640 bytes per object, 64 per \
                 other value); split the row"
            )]
        );
    }
}

#[test]
fn a_table_whose_quotation_marks_hide_rows_is_refused() {
    let told = |table: &str| {
        let found = loaded(
            &format!("  path: r.csv\n  format: csv\n{CASE}"),
            &[("r.csv", table)],
        );
        let ids = found.plan.as_ref().map(|plan| {
            plan.evals[0]
                .cases
                .outlines()
                .map(|o| o.id.to_owned())
                .collect()
        });
        (errors(&found), ids.unwrap_or_default())
    };
    let wrong = |reason: &str| (vec![format!("`r.csv` {reason}")], Vec::<String>::new());
    // The three fields of the second row would be whole, and two rows gone.
    let unclosed = "the quoted field that begins here is never closed";
    assert_eq!(
        told("id,q,a\n1,x,x\n2,y,\"y\n3,z,z\n4,w,w\n"),
        wrong(&format!("line 3: {unclosed}"))
    );
    assert_eq!(
        told("id,\"q,a\n1,x,x\n"),
        wrong(&format!("line 1: {unclosed}"))
    );
    let after =
        "expected a comma or the end of the line; inside a field, write a quotation mark twice";
    assert_eq!(
        told("id,q,a\r\n2,y,\"y\r\n3,\"z,z\r\n"),
        wrong(&format!(
            "line 3: after the closing quotation mark of the field that begins on line 2, {after}"
        ))
    );
    let good =
        "\u{feff}\"id\",q,a\r\n\r\n\"1\",\"x\"\"\r\n,\"\"\",5\" long\r\n2,\"\",y\"\"\r\n3,z,\"z\"";
    assert_eq!(
        told(good),
        (vec![], ["1", "2", "3"].map(str::to_owned).to_vec())
    );
}

#[test]
fn numbers_of_a_row_stay_numbers_in_what_is_compared() {
    let case = "  case:\n    id: \"{{ row.id }}\"\n    input: {type: prompt, content: \"{{ row.n }}\", context: {id: \"{{ row.n }}\"}}\n    \
                expected: {type: json, value: {id: \"{{ row.n }}\", of: [{name: \"{{ row.t }}\", input: \"{{ row.n }}\"}]}}\n";
    let rows = "{\"id\": 1, \"n\": 50, \"t\": true}\n";
    let found = loaded(
        &format!("  path: r.jsonl\n  format: jsonl\n{case}"),
        &[("r.jsonl", rows)],
    );
    assert_eq!(errors(&found), [""; 0]);
    let case = found.plan.as_ref().unwrap().evals[0]
        .cases
        .get(0)
        .unwrap()
        .unwrap();
    assert_eq!(case.id, "1");
    assert_eq!(
        case.expected.as_ref().map(ToString::to_string).as_deref(),
        Some(r#"{"id":50,"of":[{"input":50,"name":true}]}"#)
    );
    let CaseInput::Prompt { text, context } = &case.input else {
        panic!("{case:?}")
    };
    assert_eq!(
        (
            text.as_str(),
            context.as_ref().unwrap().to_string().as_str()
        ),
        ("50", r#"{"id":50}"#)
    );
}

#[test]
fn a_humaneval_record_becomes_a_program_that_is_judged_by_check() {
    let record = serde_json::json!({
        "task_id": "HumanEval/0", "prompt": "def f(x):\n    \"\"\"Doubles.\"\"\"\n", "entry_point": "f",
        "canonical_solution": "    return 2 * x\n", "test": "def check(candidate):\n    assert candidate(1) == 2\n"
    });
    let idle = serde_json::json!({ "task_id": "1", "context": "x", "entry_point": "f", "test": "assert True" });
    let rows = format!("{record}\n{idle}\n");
    let dataset = "  path: r.jsonl\n  format: humaneval\n  timeout_seconds: 3\n";
    let found = loaded(dataset, &[("r.jsonl", &rows)]);
    assert_eq!(
        errors(&found),
        ["r.jsonl:2: `test` does not define `check`, so nothing would be tested"]
    );
    let found = loaded(dataset, &[("r.jsonl", &format!("{record}\n"))]);
    let plan = found.plan.as_ref().expect("a plan");
    let case = plan.evals[0].cases.get(0).expect("a case").expect("whole");
    assert_eq!(case.id, "HumanEval/0");
    let GraderKind::Code(CodeGrader::CodeExecution(code)) = &case.grading.graders[0].kind else {
        panic!("another grader")
    };
    assert_eq!(code.prefix, "def f(x):\n    \"\"\"Doubles.\"\"\"\n");
    assert_eq!(code.entry_point.as_deref(), Some("f"));
    assert_eq!(code.limits.wall.as_secs(), 3);
    assert!(matches!(&code.tests, CodeTests::Check { code } if code.starts_with("def check")));
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
        let plan = found.plan.as_ref().expect("a plan");
        let case = plan.evals[0].cases.get(0).expect("a case").expect("whole");
        assert_eq!(case.id, "11");
        assert!(matches!(&case.input, CaseInput::Prompt { text, .. } if text == "11!"));
        let GraderKind::Code(CodeGrader::CodeExecution(code)) = &case.grading.graders[0].kind
        else {
            panic!("another grader")
        };
        assert_eq!(
            code.tests,
            CodeTests::Asserts {
                asserts: vec!["assert f() == 1".into()]
            }
        );
        setups.push(code.setup.clone());
    }
    assert_eq!(setups, ["import a", "import a\nimport b"]);
}

impl Kept {
    fn cases(&self) -> &EvalCases {
        &self.loaded.plan.as_ref().expect("a plan").evals[0].cases
    }

    fn told(&self) -> Vec<String> {
        let told = |case: Result<Arc<Case>, _>| {
            case.map_or_else(|fault| format!("{fault}"), |case| case.id.clone())
        };
        self.cases()
            .stream(|_| true)
            .map(|streamed| told(streamed.case))
            .collect()
    }
}

const ROWS: &str = "{\"id\": \"a\", \"q\": \"x\", \"a\": 1}\n{\"id\": \"b\", \"q\": \"y\", \"a\": 2}\n{\"id\": \"c\", \"q\": \"z\", \"a\": 3}\n";

#[test]
fn a_file_that_changes_after_loading_gives_faults_for_the_rows_that_changed() {
    let lazy = kept(
        &format!("dataset:\n  path: r.jsonl\n  format: jsonl\n{CASE}"),
        ROWS,
    );
    assert_eq!(lazy.told(), ["a", "b", "c"]);
    let path = lazy.dir.path().join("r.jsonl");
    let changed = "r.jsonl changed during the run:";
    let with = |from: &str, to: &str| fs::write(&path, ROWS.replace(from, to)).expect("written");

    with("\"y\"", "\"other\"");
    assert_eq!(
        lazy.told(),
        [
            "a",
            &format!("{changed} r.jsonl:2:1 now contains a different case"),
            "c"
        ]
    );
    with("\"a\": 3", "\"a\": 4");
    assert_eq!(
        lazy.told(),
        [
            "a",
            "b",
            &format!("{changed} r.jsonl:3:1 now contains a different case")
        ]
    );
    with("{\"id\": \"b\"", "{\"id\"; \"b\"");
    assert_eq!(
        lazy.told(),
        [
            "a",
            &format!("{changed} line 2: not JSON: expected `:` (column 6)"),
            "c"
        ]
    );
    with("\"q\": \"y\", ", "");
    assert_eq!(
        lazy.told(),
        [
            "a",
            &format!("{changed} line 2: the row has no value for `row.q` in the template"),
            "c"
        ]
    );
    fs::write(&path, "{\"id\": \"a\", \"q\": \"x\", \"a\": 1}\n").expect("written");
    let shorter = format!("{changed} it has become shorter");
    assert_eq!(lazy.told(), ["a", &shorter, &shorter]);
    fs::remove_file(&path).expect("removed");
    let gone = "r.jsonl could be read before the run, but not now: cannot be read: No such file or directory (os error 2)";
    assert_eq!(lazy.told(), [gone, gone, gone]);
}

#[test]
fn rows_that_come_later_are_no_part_of_the_run() {
    let lazy = kept(
        &format!("dataset:\n  path: r.jsonl\n  format: jsonl\n{CASE}"),
        ROWS,
    );
    fs::write(
        lazy.dir.path().join("r.jsonl"),
        format!("{ROWS}{{\"id\": \"d\"}}\n"),
    )
    .expect("written");
    assert_eq!(lazy.told(), ["a", "b", "c"]);
}

#[test]
fn a_file_may_have_written_cases_and_a_dataset() {
    let written = "test_cases:\n  - {id: w, input: i, expected: o}\n";
    let both = kept(
        &format!("{written}dataset:\n  path: r.jsonl\n  format: jsonl\n  limit: 2\n{CASE}"),
        ROWS,
    );
    assert_eq!(both.told(), ["w", "a", "b"]);
    assert_eq!(
        both.cases()
            .select(|case| case.id != "a")
            .all()
            .map(|all| all.len()),
        Ok(2)
    );
    let twice = ROWS.replace("\"c\"", "\"w\"").replace("\"b\"", "\"a\"");
    let both = kept(
        &format!("{written}dataset:\n  path: r.jsonl\n  format: jsonl\n{CASE}"),
        &twice,
    );
    assert_eq!(
        errors(&both.loaded),
        [
            "r.jsonl:2: the id `a` is already used on line 1",
            "r.jsonl:3: the id `w` is already used by the case on line 3"
        ]
    );
}

#[test]
fn large_files_are_judged_by_several_threads_in_the_order_of_the_file() {
    let row = |at: usize| match at {
        1_700 | 2_900 => format!(
            "{{\"id\": \"case-{}\", \"q\": \"x\", \"a\": 1}}\n",
            at - 1_500
        ),
        2_100 => "nope\n".to_owned(),
        2_500 => "{\"id\": \"case-2500\", \"q\": \"x\"}\n".to_owned(),
        _ => format!("{{\"id\": \"case-{at}\", \"q\": \"x{at}\", \"a\": {at}}}\n"),
    };
    let rows = |broken: bool| {
        (0..3_000)
            .filter(move |at| broken || ![1_700, 2_100, 2_500, 2_900].contains(at))
            .map(row)
    };
    let dataset = format!("dataset:\n  path: r.jsonl\n  format: jsonl\n{CASE}");
    let bad = kept(&dataset, &rows(true).collect::<String>());
    assert_eq!(
        errors(&bad.loaded),
        [
            "r.jsonl:1701: the id `case-200` is already used on line 201",
            "r.jsonl:2101: not JSON: expected ident (column 2)",
            "r.jsonl:2501: the row has no `row.a`",
            "r.jsonl:2901: the id `case-1400` is already used on line 1401",
        ]
    );
    let good = kept(&dataset, &rows(false).collect::<String>());
    assert_eq!(errors(&good.loaded), [""; 0]);
    let told = good.told();
    assert_eq!(
        (told.len(), told[0].as_str(), told[2_995].as_str()),
        (2_996, "case-0", "case-2999")
    );
    assert!(
        told.iter()
            .zip(good.cases().outlines())
            .all(|(told, outline)| told == outline.id)
    );
}

/// The same template with a key that changes no case, and that the short way does not know.
fn the_long_way(template: &str) -> String {
    format!("{template}    description: \"{{{{ row.id }}}}\"\n")
}

fn cells() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        4 => "[a-c{}% ]{0,4}".prop_map(|text| serde_json::Value::from(text).to_string()),
        2 => prop_oneof![Just("prompt"), Just("exact"), Just("trim"), Just("code"), Just("7"), Just("é\u{2028}\\n"), Just("   "), Just(""),
                Just("{{ row.id }}"), Just("{{any_string}}"), Just("\u{0}\u{1b}[2J")]
            .prop_map(|text| serde_json::Value::from(text).to_string()),
        2 => prop_oneof![Just("1"), Just("1.0"), Just("1e3"), Just("-0.5"), Just("123456789012345678901234567890"), Just("-0"), Just("1e400"), Just("0.10")]
            .prop_map(str::to_owned),
        1 => prop_oneof![Just("true"), Just("null"), Just("[1, \"x\"]"), Just("{\"type\": \"exact\", \"value\": 1}"), Just("{}")]
            .prop_map(str::to_owned),
    ];
    (value.clone(), value.clone(), value)
        .prop_map(|(q, a, n)| format!("\"q\": {q}, \"a\": {a}, \"n\": {n}"))
}

fn templates() -> impl Strategy<Value = String> {
    let input = prop_oneof![
        Just("\"{{ row.q }}\""),
        Just("\"Say {{ row.q }}, {{row.n}}!\""),
        Just("\"{{ row.q | upper }}\""),
        Just("{type: prompt, content: \"{{ row.q }}\", context: {lang: en}}"),
        Just("{type: prompt, content: \"{{ context.lang }}: {{ row.q }}\", context: {lang: en}}"),
        Just("{type: prompt, content: \"{% if row.q %}yes{% endif %} {{ row.q }}\"}"),
        Just("{type: prompt, content: c, context: {n: \"{{ row.n }}\"}}"),
        Just("fixed"),
    ];
    let expected = prop_oneof![
        Just("{type: exact, value: \"{{ row.a }}\"}"),
        Just("{type: exact, value: \"{{ row.a }}\", alternatives: [none, 1]}"),
        Just("\"{{ row.a }}\""),
        Just("{type: contains, value: \"{{ row.a }}\"}"),
        Just("{type: numeric, value: \"{{ row.a }}\"}"),
        Just("{type: json, value: \"{{ row.a }}\"}"),
        Just("{type: pattern, value: x+}"),
        Just("{type: exact, value: 7}"),
    ];
    let more = prop_oneof![
        4 => Just(""),
        1 => Just("    grader: {type: code, config: {method: exact_match, case_sensitive: false}}\n"),
        1 => Just("    grader: {type: code, config: {method: exact_match, value: a}}\n"),
        1 => Just("    grader: {type: code, config: {method: json}}\n"),
        1 => Just("    grader: {type: code, config: {method: regex, pattern: a}}\n"),
        1 => Just("    graders: [{type: human, config: {}}, {type: code, config: {method: exact_match}}]\n"),
        1 => Just("    max_latency_ms: 1500\n    tags: [t]\n    difficulty: easy\n"),
        1 => Just("    name: \"{{ row.n }}\"\n"),
        1 => Just("    tags: [\"{{ row.n }}\"]\n"),
    ];
    (input, expected, more).prop_map(|(input, expected, more)| {
        format!("  case:\n    id: \"{{{{ row.id }}}}\"\n    input: {input}\n    expected: {expected}\n{more}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// Whether a row goes the short way or the long one, and whether its case is built at once or
    /// when it is wanted, its case (or what is wrong with it) is the same.
    #[test]
    fn cases_are_the_same_whichever_way_they_go(template in templates(), rows in prop::collection::vec(cells(), 1..7)) {
        let line = |(at, cells): (usize, &String)| format!("{{\"id\": \"{at}\", {cells}}}\n");
        let text: String = rows.iter().enumerate().map(line).collect();
        let dataset = |template: &str| format!("dataset:\n  path: r.jsonl\n  format: jsonl\n{template}");
        let (short, long) = (kept(&dataset(&template), &text), kept(&dataset(&the_long_way(&template)), &text));
        prop_assert_eq!(errors(&short.loaded), errors(&long.loaded));
        if short.loaded.plan.is_some() {
            let (short, long) = (short.cases(), long.cases());
            prop_assert_eq!(short.all(), long.all());
            for (outline, case) in short.outlines().zip(long.all().unwrap()) {
                prop_assert_eq!((outline.id, outline.name), (case.id.as_str(), case.name.as_deref().filter(|n| !n.is_empty())));
                prop_assert_eq!((outline.input_hash, outline.grading_hash), (case.input_hash, case.grading_hash));
                prop_assert_eq!((&outline.profile.tags, outline.samples), (&case.tags, case.samples));
            }
        }
    }
}

/// A row is hostile: what it gives is compared as it is, and what the author wrote stays a matcher.
#[test]
fn a_row_gives_no_matcher() {
    let case = "  case:\n    id: \"{{ row.id }}\"\n    input: x\n    expected: {type: structural, value: {id: \"{{any_number}}\", name: \"{{ row.name }}\", all: \"{{ row.all }}\", said: \"I am {{ row.name }}\"}}\n";
    let rows = "{\"id\": \"a\", \"name\": \"{{any_string}}\", \"all\": [\"{{any_uid}}\", {\"k\": \"{{literal(\\\"x\\\")}}\"}]}\n{\"id\": \"b\", \"name\": \"Ann\", \"all\": 1}\n";
    let loaded = loaded(
        &format!("  path: r.jsonl\n  format: jsonl\n{case}"),
        &[("r.jsonl", rows)],
    );
    assert_eq!(errors(&loaded), [""; 0]);
    let plan = loaded.plan.as_ref().expect("a plan");
    let expected = |at: usize| match &plan.evals[0]
        .cases
        .get(at)
        .unwrap()
        .unwrap()
        .grading
        .graders[0]
        .kind
    {
        GraderKind::Code(CodeGrader::StructuralMatch(s)) => s.clone(),
        other => panic!("another grader: {other:?}"),
    };
    let matches = |at: usize, value: serde_json::Value| {
        eval_match::structural::compare(&expected(at), &value).matched
    };
    let all = serde_json::json!(["{{any_uid}}", {"k": "{{literal(\"x\")}}"}]);
    assert!(matches(
        0,
        serde_json::json!({"id": 7, "name": "{{any_string}}", "all": all, "said": "I am {{any_string}}"})
    ));
    assert!(!matches(
        0,
        serde_json::json!({"id": 7, "name": "Ann", "all": all, "said": "I am {{any_string}}"})
    ));
    assert!(!matches(
        0,
        serde_json::json!({"id": "7", "name": "{{any_string}}", "all": all, "said": "I am {{any_string}}"})
    ));
    assert!(matches(
        1,
        serde_json::json!({"id": 8, "name": "Ann", "all": 1, "said": "I am Ann"})
    ));
}

/// What a request says beside the row is data, on the short way, too; what a prompt says is not.
#[test]
fn request_around_a_row_is_data_and_a_prompt_is_not() {
    let rows = "{\"id\": 1, \"q\": \"a\"}\n{\"id\": 2, \"q\": \"b\"}\n{\"id\": 3, \"q\": \"c\"}\n";
    let data = |input: &str| {
        let eval = format!(
            "dataset:\n  path: r.jsonl\n  format: jsonl\n  case: {{id: \"{{{{ row.id }}}}\", input: {input}, expected: x}}\n"
        );
        let loaded = kept(&eval, rows);
        assert_eq!(errors(&loaded), [""; 0]);
        let cases = loaded.plan.as_ref().expect("a plan").evals[0]
            .cases
            .all()
            .expect("cases");
        cases.iter().map(|case| case.data_hash).collect::<Vec<_>>()
    };
    let request =
        |path: &str, q: &str| format!("{{type: api_call, method: GET, endpoint: \"/{path}{q}\"}}");
    for q in ["", "?q={{ row.q }}"] {
        let (of_a, of_b) = (data(&request("a", q)), data(&request("b", q)));
        assert!(
            of_a.iter().zip(&of_b).all(|(a, b)| a != b),
            "{q}: {of_a:?} {of_b:?}"
        );
        assert_eq!(of_a, data(&request("a", q)));
    }
    assert_eq!(data("\"Say {{ row.q }}\""), data("\"Tell {{ row.q }}\""));
}

const ROW: &str = "{\"a\": \"1\"}\n";

fn sha256(text: &str) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn dataset_with_another_hash_is_an_error_with_both_hashes() {
    let (right, wrong) = (sha256(ROW), sha256("other"));
    let dataset = |hash: &str| {
        format!(
            "  path: r.jsonl\n  sha256: {hash}\n  version: v1\n  case: {{id: '{{{{ row.a }}}}', input: x, expected: y}}"
        )
    };
    let of = |hash: &str| loaded(&dataset(hash), &[("r.jsonl", ROW)]);
    assert_eq!(
        errors(&of(&wrong).loaded),
        [format!(
            "`r.jsonl` has the SHA-256 {right}, but `sha256` is {wrong}"
        )]
    );
    assert_eq!(errors(&of("abc").loaded).len(), 1);
    for hash in [right.clone(), right.to_uppercase()] {
        let kept = of(&hash);
        assert_eq!(errors(&kept.loaded), [""; 0]);
        let plan = kept.loaded.plan.as_ref().expect("a plan");
        let read = plan.evals[0].info.dataset.as_deref().expect("a dataset");
        assert_eq!(read.sha256.as_deref(), Some(&*right));
        assert_eq!(read.version.as_deref(), Some("v1"));
        assert_eq!((read.records_read, read.records_selected), (1, 1));
        assert_eq!(
            (read.file.as_str(), read.format.as_str()),
            ("r.jsonl", "jsonl")
        );
    }
}
