//! `check`: right answers pass, null answers and cheats fail, and weak tests are named.

use serde_json::Value;

use crate::support::Project;

/// A suite of one file of cases.
fn project(cases: &str) -> Project {
    let suite = "eval_suite:\n  name: Proved\n  evals: [{$ref: cases.yaml}]\n";
    let head = "schema_version: \"1.0\"\neval_type: capability\n\
                metadata: {id: code, name: Code}\ntest_cases:\n";
    Project::with(&[
        ("suite.yaml", suite),
        ("cases.yaml", &format!("{head}{cases}")),
    ])
}

const ADD: &str = r#"
  - id: add
    input: Write add(a, b) in Python.
    solution: "def add(a, b):\n    return a + b\n"
    grader: {type: code, config: {method: code_execution, asserts: ["assert add(1, 2) == 3", "assert add(2, 2) == 4"]}}
"#;

const CAPITAL: &str = r#"
  - id: capital
    input: What is the capital of France?
    solution: Paris
    expected: {type: exact, value: Paris}
"#;

fn check(project: &Project, code: i32, more: &[&str]) -> Value {
    let args = [
        &["check", "--suite", "suite.yaml", "--format", "json"],
        more,
    ]
    .concat();
    let call = project.call(&args).expect(code);
    serde_json::from_str(&call.stdout).expect("JSON")
}

/// Kind and case of each finding.
fn findings(report: &Value) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let all = report["findings"].as_array().expect("a list").iter();
    all.map(|finding| (text(finding, "kind"), text(finding, "case")))
        .collect()
}

fn found(kind: &str, case: &str) -> (String, String) {
    (kind.to_owned(), case.to_owned())
}

#[test]
fn sound_suite_holds_and_may_then_run_checked() {
    let hungry = ADD.replace("return a + b", "b'x' * (200 << 20)\\n    return a + b");
    let project = project(&format!("{hungry}{CAPITAL}"));
    project.write(
        "outputs.jsonl",
        "{\"case\": \"add\", \"output\": \"def add(a, b): return a + b\"}\n\
         {\"case\": \"capital\", \"output\": \"Paris\"}\n",
    );
    let run = [
        "run",
        "--suite",
        "suite.yaml",
        "--outputs",
        "outputs.jsonl",
        "--checked",
    ];
    let refused = project.call(&run).expect(2);
    assert!(
        refused
            .stderr
            .contains("no check of this content of the suite held"),
        "{}",
        refused.stderr
    );
    assert!(
        refused
            .stderr
            .contains("eval-harness check --suite suite.yaml"),
        "{}",
        refused.stderr
    );
    let report = check(&project, 0, &[]);
    assert_eq!(report["decision"], "holds");
    assert_eq!(
        (&report["cases"], &report["reference_cases"]),
        (&2.into(), &2.into())
    );
    assert_eq!(findings(&report), []);
    let probes = report["probes"].as_array().expect("a list");
    let of = |kind: &str| probes.iter().filter(|row| row["kind"] == kind).count();
    assert!(of("null") >= 5 && of("cheat") >= 15, "{probes:#?}");
    let time = &report["reference_time"];
    let number = |key: &str| time[key].as_f64().expect("a number");
    assert_eq!(time["case"], "add");
    assert!(number("share") > 0.0 && number("share") <= 1.0, "{time}");
    assert_eq!(number("share"), number("used") / number("limit"));
    assert_eq!(number("mean_share"), number("share"));
    let memory = |key: &str| report["reference_memory"][key].as_f64().expect("a number");
    // The reference holds 200 MB for a moment.
    assert!(
        (200.0..300.0).contains(&memory("used")),
        "{}",
        memory("used")
    );
    assert_eq!(memory("share"), memory("used") / memory("limit"));
    let stamp = report["stamp"].as_str().expect("a stamp");
    assert!(project.path().join(stamp).is_file(), "{stamp}");
    project.call(&run).expect(0);
    // One case is a part of what was checked.
    project
        .call(&[&run[..], &["--case", "add"]].concat())
        .expect(0);
    let changed = std::fs::read_to_string(project.path().join("cases.yaml")).expect("a file");
    project.write(
        "cases.yaml",
        &changed.replace("add(2, 2) == 4", "add(2, 3) == 5"),
    );
    project.call(&run).expect(2);
}

#[test]
fn failing_reference_is_named_with_its_reason() {
    let project = project(&ADD.replace("a + b", "a - b"));
    let report = check(&project, 1, &[]);
    assert_eq!(report["decision"], "fails");
    assert_eq!(findings(&report), [found("reference_fails", "add")]);
    assert_eq!(report["stamp"], Value::Null);
    // A right answer of a file takes its place.
    project.write(
        "right.jsonl",
        "{\"case\": \"add\", \"output\": \"def add(a, b): return a + b\"}\n",
    );
    check(&project, 0, &["--oracle", "right.jsonl"]);
    let missing = project
        .call(&["check", "--suite", "suite.yaml", "--oracle", "none.jsonl"])
        .expect(2);
    assert!(missing.stderr.contains("none.jsonl"), "{}", missing.stderr);
}

#[test]
fn weak_tests_are_told_apart() {
    let case = |id: &str, asserts: &str| {
        format!(
            "  - id: {id}\n    input: Write f(n) in Python.\n    solution: \"def f(n):\\n    return 1\\n\"\n    \
             grader: {{type: code, config: {{method: code_execution, asserts: {asserts}}}}}\n"
        )
    };
    let project = project(
        &[
            case("nothing", r#"["f(1); assert True"]"#),
            case("constant", r#"["assert f(1) == 1", "assert f(2) == 1"]"#),
            case("single", r#"["assert f(1) == 1"]"#),
            case("none", r#"["assert f(1) != 2"]"#),
        ]
        .concat(),
    );
    let report = check(&project, 1, &[]);
    let all = findings(&report);
    assert!(all.contains(&found("proves_nothing", "nothing")), "{all:?}");
    assert!(all.contains(&found("cheat_passes", "constant")), "{all:?}");
    assert!(all.contains(&found("single_test", "single")), "{all:?}");
    assert!(
        all.iter()
            .any(|(kind, case)| case == "none" && kind != "single_test"),
        "{all:?}"
    );
    // Only a note.
    check(&project, 0, &["--case", "single"]);
}

#[test]
fn suite_without_references_is_not_proved() {
    let project = project(
        &CAPITAL
            .replace("    solution: Paris\n", "")
            .replace("exact", "contains"),
    );
    let report = check(&project, 3, &[]);
    assert_eq!(report["without_reference"]["first"][0], "code/capital");
    let report = check(&project, 1, &["--require-references"]);
    assert_eq!(findings(&report), [found("no_reference", "capital")]);
}

#[test]
fn page_says_what_must_pass_and_what_must_fail() {
    let project = project(CAPITAL);
    let call = project.call(&["check", "--suite", "suite.yaml"]).expect(0);
    for text in ["Null answers", "Cheats", "CHECK HOLDS"] {
        assert!(call.stdout.contains(text), "{}", call.stdout);
    }
    assert!(
        call.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        call.stdout
    );
    let call = project
        .call(&["check", "--suite", "suite.yaml", "--format", "markdown"])
        .expect(0);
    assert!(call.stdout.starts_with("# Proved"), "{}", call.stdout);
}

#[test]
fn page_is_shown_without_a_place_for_the_stamp() {
    let project = project(CAPITAL);
    project.write("results", "a file, so that there can be no folder");
    let call = project.call(&["check", "--suite", "suite.yaml"]).expect(3);
    assert!(call.stdout.contains("CHECK HOLDS"), "{}", call.stdout);
    assert!(
        call.stderr.contains("the stamp results/") && call.stderr.contains("could not be written"),
        "{}",
        call.stderr
    );
}

#[test]
fn lines_of_an_oracle_that_are_of_no_case_are_named() {
    let project = project(CAPITAL);
    project.write(
        "oracle.jsonl",
        "{\"case\": \"capital\", \"output\": \"Paris\"}\n{\"case\": \"capitol\", \"output\": \"Rome\"}\n",
    );
    let check = ["check", "--suite", "suite.yaml", "--oracle", "oracle.jsonl"];
    let call = project.call(&check).expect(0);
    assert!(call.stderr.contains("capitol"), "{}", call.stderr);
    assert!(
        call.stdout
            .contains("a reference passed in the 1 checked case"),
        "{}",
        call.stdout
    );
}

/// A text that may be empty.
const SILENT: &str = r#"
  - id: silent
    input: Say nothing, or a dot.
    solution: "."
    grader: {type: code, config: {method: regex, pattern: '^\.?$'}}
"#;

/// The suite of [`project`] with excuses.
fn excusing(cases: &str, excuses: &str) -> Project {
    let project = project(cases);
    let suite = "eval_suite:\n  name: Proved\n  evals: [{$ref: cases.yaml}]\n";
    project.write(
        "suite.yaml",
        &format!("{suite}  check:\n    excused:\n{excuses}"),
    );
    project
}

#[test]
fn excused_probe_is_shown_and_does_not_fail_the_check() {
    let report = check(&project(SILENT), 1, &[]);
    assert_eq!(findings(&report), [found("null_passes", "silent")]);
    let project = excusing(
        SILENT,
        "      - {eval: code, case: silent, probes: [empty output], reason: silence is right}\n",
    );
    let report = check(&project, 0, &[]);
    assert_eq!(report["findings"][0]["excused"], "silence is right");
    assert_eq!(
        report["findings"][0]["probes"],
        serde_json::json!(["empty output"])
    );
    for format in ["human", "markdown"] {
        let args = ["check", "--suite", "suite.yaml", "--format", format];
        let call = project.call(&args).expect(0);
        for text in ["Excused (1)", "silent", "silence is right"] {
            assert!(call.stdout.contains(text), "{}", call.stdout);
        }
    }
    let stamp = report["stamp"].as_str().expect("a stamp");
    let stamp = std::fs::read_to_string(project.path().join(stamp)).expect("a file");
    assert!(stamp.contains("code/silent: silence is right"), "{stamp}");
    // Without the excuse it is another content.
    let run = [
        "run",
        "--suite",
        "suite.yaml",
        "--outputs",
        "o.jsonl",
        "--checked",
    ];
    project.write("o.jsonl", "{\"case\": \"silent\", \"output\": \".\"}\n");
    project.call(&run).expect(0);
    let suite = "eval_suite:\n  name: Proved\n  evals: [{$ref: cases.yaml}]\n";
    project.write("suite.yaml", suite);
    project.call(&run).expect(2);
}

#[test]
fn excuse_covers_its_probes_only_and_is_named_if_unused() {
    let project = excusing(
        &format!("{SILENT}{CAPITAL}"),
        "      - {eval: code, probes: [no answer in words], reason: words}\n\
         \x20     - {eval: code, case: none, probes: [empty output], reason: gone}\n",
    );
    let report = check(&project, 1, &[]);
    let all = findings(&report);
    assert!(all.contains(&found("null_passes", "silent")), "{all:?}");
    assert!(all.contains(&found("unused_excuse", "none")), "{all:?}");
    assert!(all.contains(&found("unused_excuse", "")), "{all:?}");
    // In a part of the eval, its excuse may be of use for other cases.
    let report = check(&project, 0, &["--case", "capital"]);
    assert_eq!(findings(&report), [found("unused_excuse", "none")]);
    let broken = excusing(
        SILENT,
        "      - {eval: code, probes: [empty output], reason: ' '}\n",
    );
    let call = broken.call(&["check", "--suite", "suite.yaml"]).expect(2);
    assert!(call.stderr.contains("reason"), "{}", call.stderr);
}

#[test]
fn expected_value_is_the_reference_of_a_case_without_one() {
    let bare = CAPITAL.replace("    solution: Paris\n", "");
    let project = project(&bare);
    let report = check(&project, 0, &["--require-references"]);
    let number = |key: &str| report[key].as_u64().expect("a number");
    assert_eq!(
        ["reference_cases", "expected_references", "proved_cases"].map(number),
        [1, 1, 1]
    );
    // Behind a marker, the value alone is no output that a target would give.
    let marked = bare.replace(
        "    expected:",
        "    extract: [{after_last: 'Answer:'}]\n    expected:",
    );
    let project = self::project(&marked);
    let report = check(&project, 3, &[]);
    assert_eq!(report["reference_cases"], 0);
}

#[test]
fn stamp_says_how_much_was_proved_and_a_run_may_require_references() {
    let unproved = "  - id: title\n    input: Write a title.\n    \
                    grader: {type: code, config: {method: regex, pattern: '^# Harbor'}}\n";
    let project = project(&format!("{CAPITAL}{unproved}"));
    let call = project.call(&["check", "--suite", "suite.yaml"]).expect(0);
    let proved = "a reference passed in 1 of 2 checked cases";
    assert!(call.stdout.contains(proved), "{}", call.stdout);
    project.write(
        "o.jsonl",
        "{\"case\": \"capital\", \"output\": \"Paris\"}\n{\"case\": \"title\", \"output\": \"# Harbor\"}\n",
    );
    let run = [
        "run",
        "--suite",
        "suite.yaml",
        "--outputs",
        "o.jsonl",
        "--checked",
    ];
    let call = project.call(&run).expect(0);
    assert!(call.stderr.contains(proved), "{}", call.stderr);
    let call = project
        .call(&[&run[..], &["--require-references"]].concat())
        .expect(2);
    assert!(call.stderr.contains(proved), "{}", call.stderr);
}

#[test]
fn wrong_guess_of_a_function_is_not_a_failed_cheat() {
    // The function is named by the setup only; the asserts call a helper.
    let case = r#"
  - id: helped
    input: Write f(n) in Python.
    grader:
      type: code
      config:
        method: code_execution
        setup: "def helper(n):\n    return f(n)\n"
        asserts: ["assert helper(1) == 1", "assert helper(2) == 2"]
    solution: "def f(n):\n    return n\n"
"#;
    let project = project(case);
    let report = check(&project, 0, &["--verbose"]);
    assert_eq!(findings(&report), [found("not_tried", "helped")]);
    let probes = report["probes"].as_array().expect("a list");
    let of = |name: &str| {
        probes
            .iter()
            .find(|row| row["name"] == name)
            .expect("a row")
    };
    assert_eq!(of("sys.exit(0) in the function")["inconclusive"], 1);
    assert_eq!(of("sys.exit(0) at import")["failed"], 1);
}

#[test]
fn cheats_among_compiled_tests_are_functions() {
    let has_compiler = std::process::Command::new("g++").arg("--version").output();
    if has_compiler.is_err() {
        println!("SKIPPED: no g++");
        return;
    }
    let record = serde_json::json!({
        "name": "Twice_0", "language": "cpp", "stop_tokens": ["\n}"],
        "prompt": "#include<assert.h>\n#include<stdlib.h>\n// Doubles a number.\nlong twice(long n) {\n",
        "tests": "}\nint main() {\n    auto candidate = twice;\n    assert(candidate((2)) == (4));\n    \
                  assert(candidate((-1)) == (-2));\n}\n",
    });
    let head = "schema_version: \"1.0\"\neval_type: capability\nmetadata: {id: code, name: Code}\n";
    let dataset = "dataset: {format: multipl_e, path: d.jsonl}\n";
    let project = Project::with(&[
        (
            "suite.yaml",
            "eval_suite:\n  name: Proved\n  evals: [{$ref: cases.yaml}]\n",
        ),
        ("cases.yaml", &format!("{head}{dataset}")),
        ("d.jsonl", &format!("{record}\n")),
        (
            "right.jsonl",
            "{\"case\": \"Twice_0\", \"output\": \"    return 2 * n;\\n}\\n\"}\n",
        ),
    ]);
    let report = check(&project, 0, &["--oracle", "right.jsonl"]);
    assert_eq!(findings(&report), []);
    let probes = report["probes"].as_array().expect("a list");
    let exit = probes
        .iter()
        .find(|row| row["name"] == "exit with 0 in the function")
        .expect("a row");
    assert_eq!(
        (&exit["failed"], &exit["inconclusive"]),
        (&1.into(), &0.into()),
        "{exit}"
    );
}

#[test]
fn graders_of_trajectories_are_left_out_and_the_check_says_so() {
    let trajectory = "{type: code, config: {method: trajectory, max_steps: 9}}";
    let exact = "{type: code, config: {method: exact_match, value: Paris}}";
    let cases = format!(
        "  - {{id: only, input: x, grader: {trajectory}}}\n  \
         - {{id: both, input: x, solution: Paris, graders: [{trajectory}, {exact}]}}\n  \
         - {{id: two, input: x, solution: Paris, combine: {{at_least: 2}}, graders: [{trajectory}, {exact}, {exact}]}}\n"
    );
    let project = project(&cases);
    let report = check(&project, 0, &[]);
    assert_eq!(report["decision"], "holds", "{report}");
    assert_eq!(
        (&report["checked_cases"], &report["proved_cases"]),
        (&2.into(), &2.into())
    );
    assert_eq!(
        report["without_trajectories"]["first"],
        serde_json::json!(["code/both", "code/two"])
    );
    assert_eq!(report["left_out"][0]["reason"], "trajectories", "{report}");
    assert_eq!(
        report["left_out"][0]["cases"]["first"],
        serde_json::json!(["code/only"])
    );
    let page = project
        .call(&["check", "--suite", "suite.yaml"])
        .expect(0)
        .stdout;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "Not checked trajectory graders, because probes have no trajectory; the other graders of these cases were checked; 2 cases: code/both, code/two",
        "Left out only trajectories are graded, and probes have none; 1 case: code/only",
    ] {
        assert!(page.contains(said), "{said} is not in {page}");
    }
}
