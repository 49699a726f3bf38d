//! Outputs that are written to hang, fill or deceive what judges them, through the program itself.
//!
//! Each class has honest neighbours in the same run: they pass, whatever is graded beside them.
//! Nothing here measures time: a grader that never ends is `errored: grader_timeout`, and a run
//! that waits for it never ends.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Call, Project, eventually};
use serde_json::{Value, json};

/// A case: its definition without id and input, and the output that is recorded for it.
struct Hostile {
    id: &'static str,
    case: Value,
    output: Value,
    /// Outcome, cause, and what the reason contains.
    ends: (&'static str, &'static str, &'static str),
}

fn passes(id: &'static str, case: Value, output: impl Into<Value>) -> Hostile {
    Hostile {
        id,
        case,
        output: output.into(),
        ends: ("passed", "", ""),
    }
}

fn fails(id: &'static str, case: Value, output: impl Into<Value>, reason: &'static str) -> Hostile {
    Hostile {
        id,
        case,
        output: output.into(),
        ends: ("failed", "wrong_answer", reason),
    }
}

fn hangs(id: &'static str, case: Value, output: impl Into<Value>) -> Hostile {
    let reason = "the grader did not end within 1 s (`grade_timeout_seconds`)";
    Hostile {
        id,
        case,
        output: output.into(),
        ends: ("errored", "grader_timeout", reason),
    }
}

fn gives_up(id: &'static str, case: Value, output: impl Into<Value>) -> Hostile {
    let reason = "the search for JSON in the output was aborted after reading ";
    Hostile {
        id,
        case,
        output: output.into(),
        ends: ("errored", "grader_timeout", reason),
    }
}

fn broken(
    id: &'static str,
    case: Value,
    output: impl Into<Value>,
    reason: &'static str,
) -> Hostile {
    Hostile {
        id,
        case,
        output: output.into(),
        ends: ("errored", "harness", reason),
    }
}

fn code(config: Value) -> Value {
    json!({"type": "code", "config": config})
}

fn graded(config: Value) -> Value {
    json!({"grader": code(config)})
}

fn regex(pattern: &str) -> Value {
    graded(json!({"method": "regex", "pattern": pattern}))
}

fn json_equal(value: Value, extract: Option<Value>) -> Value {
    let mut case = json!({"grader": code(json!({"method": "json"})), "expected": {"type": "json", "value": value}});
    if let Some(extract) = extract {
        case["extract"] = extract;
    }
    case
}

fn project(cases: &[Hostile], seconds: f64) -> Project {
    let mut evals = Vec::new();
    let mut lines = String::new();
    for hostile in cases {
        let mut eval = hostile.case.clone();
        eval["id"] = hostile.id.into();
        eval["input"] = "x".into();
        evals.push(eval);
        lines.push_str(&format!(
            "{}\n",
            json!({"case": hostile.id, "output": hostile.output})
        ));
    }
    let suite = json!({"eval_suite": {
        "name": "Hostile outputs",
        "config": {"max_workers": 2, "grade_timeout_seconds": seconds},
        "target": {"type": "recorded", "path": "outputs.jsonl"},
        "evals": evals,
    }});
    Project::with(&[
        ("suite.yaml", &suite.to_string()),
        ("outputs.jsonl", &lines),
    ])
}

/// How each case ended.
fn endings(project: &Project) -> BTreeMap<String, (String, String, String)> {
    let report = project.report();
    let mut endings = BTreeMap::new();
    for eval in report["evals"].as_array().expect("evals") {
        for case in eval["cases"].as_array().expect("cases") {
            let sample = &case["samples"][0];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let grade = &sample["grades"][0];
            let reason = [&sample["reason"], &grade["reason"]].map(text).join(" | ");
            endings.insert(
                text(&case["id"]),
                (text(&sample["outcome"]), text(&sample["cause"]), reason),
            );
        }
    }
    endings
}

fn check(project: &Project, cases: &[Hostile]) {
    let endings = endings(project);
    let mut wrong = Vec::new();
    for Hostile {
        id,
        ends: (outcome, cause, reason),
        ..
    } in cases
    {
        let got = endings.get(*id).cloned().unwrap_or_default();
        if (got.0.as_str(), got.1.as_str()) != (*outcome, *cause) || !got.2.contains(reason) {
            wrong.push(format!(
                "{id}: expected {outcome} {cause} {reason:?}, got {got:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const RUN: [&str; 5] = ["run", "--suite", "suite.yaml", "--progress", "none"];

const LOOK_AHEAD: &str = "(?=x)x.*y";

fn xs() -> String {
    "x".repeat(200_000)
}

#[test]
fn searches_that_do_not_end_are_errored() {
    let negated = |case: Value| {
        let mut case = case;
        case["grader"]["negate"] = true.into();
        case
    };
    let beside = |combine: &str, other: Value| json!({"graders": [regex(LOOK_AHEAD)["grader"], other], "combine": combine});
    let contains = |part: &str| code(json!({"method": "contains", "must_include": [part]}));
    let schema = |pattern: &str| {
        graded(json!({"method": "json", "schema": {"type": "string", "pattern": pattern}}))
    };
    let extract = |which: &str| {
        json!({
            "extract": [{"regex": {"pattern": LOOK_AHEAD, "group": "0", "which": which}}],
            "expected": {"type": "exact", "value": "x"},
        })
    };
    let structural =
        json!({"expected": {"type": "structural", "value": [r#"{{any_regex(".*?(?=x.*y).*")}}"#]}});
    let cases = [
        hangs("look-ahead", regex(LOOK_AHEAD), xs()),
        hangs(
            "negative look-ahead",
            regex(r"(?!.*bad)good\b.*\.$"),
            "good ".repeat(80_000),
        ),
        hangs(
            "look-behind",
            regex(r"(?<=a)(\w+\s?)+$"),
            format!("{}!", "a".repeat(2_000_000)),
        ),
        hangs("back-reference", regex(r"(x)\1.*y"), xs()),
        hangs("negated", negated(regex(LOOK_AHEAD)), xs()),
        hangs(
            "must not match",
            graded(json!({"method": "regex", "pattern": LOOK_AHEAD, "must_match": false})),
            xs(),
        ),
        hangs("all", beside("all", contains("x")), xs()),
        hangs("any", beside("any", contains("y")), xs()),
        hangs("schema", schema(LOOK_AHEAD), format!("\"{}\"", xs())),
        hangs("json output", regex(LOOK_AHEAD), json!([xs()])),
        hangs("extract first", extract("first"), xs()),
        hangs("extract last", extract("last"), xs()),
        hangs("matcher", structural, json!([xs()]).to_string()),
        // A verdict that is certain whatever the search would have found.
        passes("any, decided", beside("any", contains("x")), xs()),
        fails(
            "all, decided",
            beside("all", contains("y")),
            xs(),
            "missing \"y\"",
        ),
        passes("honest look-ahead", regex(LOOK_AHEAD), "xxxy"),
        passes("honest schema", schema("^(?=a)a+$"), "\"aaa\""),
        passes("honest linear", regex("x+$"), xs()),
        passes(
            "honest text",
            json!({"expected": {"type": "exact", "value": "yes"}}),
            "yes",
        ),
        fails("honest failure", regex("(?=z)z"), "xxxy", "does not match"),
    ];
    let project = project(&cases, 1.0);
    project.call(&RUN).expect(1);
    check(&project, &cases);
    // Grading again is bounded in the same way.
    project
        .call(&["regrade", "--run", "latest", "--progress", "none"])
        .expect(1);
    check(&project, &cases);
}

#[test]
fn a_search_for_json_that_is_given_up_is_not_no_json() {
    let extract = |mode: Value| json_equal(json!([1]), Some(json!([mode])));
    let any = || extract(json!("json"));
    let levels = |count: usize, bytes: usize| {
        format!("{}{}x ]", "[1,".repeat(count), "1,".repeat(bytes / 2))
    };
    let cases = [
        gives_up(
            "brackets",
            any(),
            format!("{}{}x ]", "[[],".repeat(100), "[],".repeat(1 << 16)),
        ),
        gives_up(
            "embedded",
            extract(json!({"json": "embedded"})),
            levels(120, 1 << 18),
        ),
        fails(
            "few levels",
            any(),
            levels(20, 1 << 10),
            "no JSON in the output",
        ),
        fails(
            "depth",
            any(),
            format!("{}1{}", "[".repeat(3_000), "]".repeat(3_000)),
            "JSON that is nested more than 100 deep in the output",
        ),
        fails(
            "no JSON",
            any(),
            "[note] ".repeat(10_000),
            "no JSON in the output",
        ),
        passes("honest", any(), "The answer is [1]."),
        passes(
            "honest, long",
            any(),
            format!("{}[1]", "[note] {x} ".repeat(10_000)),
        ),
    ];
    let project = project(&cases, 60.0);
    project.call(&RUN).expect(1);
    check(&project, &cases);
}

#[test]
fn repeated_keys_never_pass_for_one_of_them() {
    let one = || json_equal(json!({"a": 1}), None);
    let twice = r#"{"a": 2, "a": 1}"#;
    let why = "duplicate key `a`";
    let structural = json!({"expected": {"type": "structural", "value": {"a": "{{any_number}}"}}});
    let schema = graded(json!({"method": "json", "schema": {"required": ["a"]}}));
    let path =
        json!({"extract": [{"json_path": "$.a"}], "expected": {"type": "exact", "value": "1"}});
    let exact = json!({"grader": code(json!({"method": "exact_match"})), "expected": {"type": "exact", "value": {"a": 1}}});
    let cases = [
        fails("whole", one(), twice, why),
        fails(
            "nested",
            json_equal(json!({"b": {"a": 1}}), None),
            r#"{"b": {"a": 2, "a": 1}}"#,
            why,
        ),
        fails("escaped", one(), r#"{"a": 2, "\u0061": 1}"#, why),
        fails("the same value", one(), r#"{"a": 1, "a": 1}"#, why),
        fails(
            "extracted",
            json_equal(json!({"a": 1}), Some(json!(["json"]))),
            format!("It is {twice}."),
            why,
        ),
        fails(
            "fenced",
            json_equal(json!({"a": 1}), Some(json!(["json"]))),
            format!("```json\n{twice}\n```"),
            why,
        ),
        fails("structure", structural.clone(), twice, why),
        fails("schema", schema.clone(), twice, why),
        fails("path", path.clone(), twice, why),
        fails("exact", exact.clone(), twice, ""),
        passes("honest", one(), r#"{"a": 1}"#),
        passes("honest structure", structural, r#"{"a": 1}"#),
        passes("honest schema", schema, r#"{"a": {"a": 1}}"#),
        passes("honest path", path, r#"{"a": 1, "b": {"a": 2}}"#),
        passes("honest exact", exact, "{ \"a\" : 1 }"),
    ];
    let project = project(&cases, 60.0);
    project.call(&RUN).expect(1);
    check(&project, &cases);
}

#[test]
fn bytes_that_are_no_text_equal_no_replacement_character() {
    let stdio = |stdout: &str, compare: &str| {
        graded(
            json!({"method": "code_execution", "executor": "python", "stdio": [{"stdout": stdout}], "compare": compare}),
        )
    };
    let prints =
        |bytes: &str| format!("```python\nimport sys\nsys.stdout.buffer.write({bytes})\n```");
    let rows = |cell: Value| {
        graded(json!({"method": "code_execution", "executor": "sql", "rows": [[cell]]}))
    };
    let why = "the program's stdout is not UTF-8 (byte ";
    let cases = [
        fails("text", stdio("\u{fffd}", "text"), prints(r"b'\xff'"), why),
        fails(
            "lines",
            stdio("a\n\u{fffd}\n", "lines"),
            prints(r"b'a\n\xfe\n'"),
            why,
        ),
        fails(
            "tokens",
            stdio("1 \u{fffd}", "tokens"),
            prints(r"b'1 \x80'"),
            why,
        ),
        fails(
            "surrogate",
            stdio("\u{fffd}\u{fffd}\u{fffd}", "text"),
            prints(r"b'\xed\xa0\x80'"),
            why,
        ),
        fails(
            "cut character",
            stdio("a\u{fffd}", "text"),
            prints(r"b'a\xe2\x82'"),
            why,
        ),
        fails(
            "sql",
            rows(json!("a\u{fffd}")),
            "SELECT CAST(x'61ff' AS TEXT)",
            "is missing",
        ),
        passes(
            "honest",
            stdio("\u{fffd}", "text"),
            prints("'\\ufffd'.encode()"),
        ),
        passes("honest text", stdio("é", "text"), prints("'é'.encode()")),
        passes("honest sql", rows(json!("\u{fffd}")), "SELECT '\u{fffd}'"),
    ];
    let project = project(&cases, 60.0);
    project
        .call(&[&RUN[..], &["--allow-unsandboxed"]].concat())
        .expect(1);
    check(&project, &cases);
}

#[test]
fn wide_values_are_judged_by_their_width() {
    let calls = |expected: Value, comparator: &str| {
        graded(
            json!({"method": "function_output", "function_name": "f", "test_cases": [
                {"args": [1], "expected": expected, "comparator": comparator},
            ]}),
        )
    };
    let equals = |expected: Value| calls(expected, "equals");
    let returns = |value: &str| {
        format!(
            "```python\nfrom decimal import Decimal\nfrom fractions import Fraction\ndef f(x):\n    return {value}\n```"
        )
    };
    let wide = "the bounds of a range have more than 20000 bits";
    let cases = [
        fails(
            "range",
            equals(json!([1])),
            returns("range(0, 1 << 14000000)"),
            wide,
        ),
        fails(
            "range with a wide step",
            equals(json!([1])),
            returns("range(0, 1 << 200000, (1 << 100000) + 12345)"),
            wide,
        ),
        fails(
            "range with a wide start",
            equals(json!([1])),
            returns("range(-(1 << 14000000), 1)"),
            wide,
        ),
        fails(
            "range in a list",
            equals(json!([1])),
            returns("[range(1 << 14000000)]"),
            wide,
        ),
        fails(
            "integer",
            equals(json!([1])),
            returns("(1 << 24000000) + 1"),
            "<int of 24000001 bits>",
        ),
        fails(
            "nested integers",
            equals(json!([1])),
            returns("[1 << 12000000, 1 << 12000000]"),
            "<int of 12000001 bits>",
        ),
        fails(
            "approx",
            calls(json!(1.5), "approx"),
            returns("1 << 14000000"),
            "<int of 14000001 bits>",
        ),
        fails(
            "decimal",
            equals(json!([1])),
            returns("Decimal('1E+999999999999999')"),
            "1E+999999999999999",
        ),
        fails(
            "decimals",
            equals(json!([1])),
            returns("[Decimal('1E+19999')] * 20000"),
            "1E+19999",
        ),
        fails(
            "long decimal",
            equals(json!([1])),
            returns("Decimal('1' * 3000000)"),
            "111111",
        ),
        fails(
            "fraction",
            equals(json!([1])),
            returns("Fraction((1 << 14000000) + 1, 2)"),
            "<int of 14000001 bits>",
        ),
        broken(
            "pattern",
            calls(json!(LOOK_AHEAD), "regex"),
            returns("'x' * 200000"),
            "the pattern needs backtracking, so it can only search texts of up to 16384 bytes here",
        ),
        passes(
            "honest range",
            calls(json!(3), "contains"),
            returns("range(1 << 10000)"),
        ),
        passes("honest integer", equals(json!(1024)), returns("1 << 10")),
        passes(
            "honest decimal",
            equals(json!(1.5)),
            returns("Decimal('1.50')"),
        ),
        passes(
            "honest pattern",
            calls(json!(LOOK_AHEAD), "regex"),
            returns("'xxy'"),
        ),
    ];
    let project = project(&cases, 60.0);
    project
        .call(&[&RUN[..], &["--allow-unsandboxed"]].concat())
        .expect(1);
    check(&project, &cases);
}

/// A run whose graders never end.
fn endless() -> Project {
    let cases: Vec<Hostile> = ["a", "b", "c", "d"]
        .into_iter()
        .map(|id| hangs(id, regex(LOOK_AHEAD), "x".repeat(4_000_000)))
        .collect();
    project(&cases, 86_400.0)
}

/// Processes that this one started and that run as graders.
fn grader_processes(parent: u32) -> Vec<u32> {
    let Ok(all) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = all
        .flatten()
        .filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    pids.filter(|pid| {
        let read =
            |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let status = read("status");
        read("cmdline").contains("__grader")
            && status
                .lines()
                .any(|line| line == format!("PPid:\t{parent}"))
    })
    .collect()
}

/// A run under way, which does not outlive its test.
struct Running(Option<Child>);

impl Running {
    fn id(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    fn end(mut self) -> Call {
        Call::of(
            self.0
                .take()
                .expect("a child")
                .wait_with_output()
                .expect("it ends"),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn started(project: &Project, args: &[&str]) -> (Running, Vec<u32>) {
    let mut command = project.command(args);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let child = Running(Some(child));
    eventually("a grader works", || {
        !grader_processes(child.id()).is_empty()
    });
    let graders = grader_processes(child.id());
    (child, graders)
}

fn are_gone(pids: &[u32]) {
    eventually("the grader processes end", || {
        pids.iter()
            .all(|pid| !Path::new(&format!("/proc/{pid}/exe")).exists())
    });
}

fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status()
        .expect("kill");
    assert!(sent.success());
}

#[test]
fn one_interrupt_ends_a_run_whose_graders_never_end() {
    let project = endless();
    let (child, graders) = started(&project, &RUN);
    signal(child.id(), "-INT");
    let call = child.end().expect(130);
    assert!(call.stderr.contains("--resume"), "{}", call.stderr);
    are_gone(&graders);
    let report = project.report();
    assert_eq!(report["summary"]["cases"]["passed"], 0);
    assert_eq!(report["summary"]["cases"]["failed"], 0);
    assert_eq!(report["summary"]["by_cause"]["grader_timeout"], Value::Null);
    // The journal is whole: the run goes on, and is interrupted again.
    let (child, graders) = started(
        &project,
        &["run", "--resume", "latest", "--progress", "none"],
    );
    signal(child.id(), "-TERM");
    child.end().expect(130);
    are_gone(&graders);
}

#[test]
fn an_interrupt_during_the_last_sample_of_a_regrade_is_recorded() {
    let output = "x".repeat(4_000_000);
    let quick = project(&[passes("a", regex("x"), output.clone())], 86_400.0);
    quick.call(&RUN).expect(0);
    // One sample for two workers: nothing is left to start when the signal comes.
    let endless = project(&[hangs("a", regex(LOOK_AHEAD), output)], 86_400.0);
    std::fs::copy(
        endless.path().join("suite.yaml"),
        quick.path().join("suite.yaml"),
    )
    .unwrap();
    let regrade = [
        "regrade",
        "--run",
        "latest",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
    ];
    let (child, graders) = started(&quick, &regrade);
    signal(child.id(), "-INT");
    child.end().expect(130);
    are_gone(&graders);
    assert_eq!(quick.report()["metadata"]["interrupted"], true);
}

#[test]
fn grader_processes_end_with_a_killed_run() {
    let project = endless();
    let (child, graders) = started(&project, &RUN);
    signal(child.id(), "-KILL");
    assert_eq!(child.end().code, None);
    are_gone(&graders);
}

#[test]
fn a_killed_grader_process_is_started_again_once() {
    let project = endless();
    let (child, first) = started(&project, &RUN);
    first.iter().for_each(|pid| signal(*pid, "-KILL"));
    eventually("others take their place", || {
        let now = grader_processes(child.id());
        !now.is_empty() && now.iter().all(|pid| !first.contains(pid))
    });
    signal(child.id(), "-INT");
    child.end().expect(130);
}
