//! One hostile answer, recorded or live, is an error of its own sample: its honest neighbours are
//! graded as ever.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::server::{Reply, Server};
use crate::support::{Call, Project};
use serde_json::{Value, json};

const RUN: [&str; 5] = ["run", "--suite", "suite.yaml", "--progress", "none"];

/// A suite of evals, one for each id, whose output must hold `good`.
fn suite(target: &Value, ids: &[String]) -> String {
    let evals: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "input": id, "expected": {"type": "contains", "value": "good"}}))
        .collect();
    json!({"eval_suite": {"name": "s", "target": target, "evals": evals}}).to_string()
}

fn recorded() -> Value {
    json!({"type": "recorded", "path": "o.jsonl"})
}

/// Outcome, cause and reason by case, from the report of the latest run.
fn outcomes(report: &Value) -> BTreeMap<String, (String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = BTreeMap::new();
    for case in report["evals"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|e| e["cases"].as_array().unwrap())
    {
        for sample in case["samples"].as_array().unwrap() {
            let key = match sample["index"].as_u64() {
                Some(0) | None => text(&case["id"]),
                Some(n) => format!("{}#{n}", text(&case["id"])),
            };
            let failures = report["failures"].as_array().unwrap().iter();
            let failure = failures
                .into_iter()
                .find(|failure| failure["case_id"] == case["id"]);
            let reason = failure.map_or_else(String::new, |failure| text(&failure["reason"]));
            all.insert(
                key,
                (text(&sample["outcome"]), text(&sample["cause"]), reason),
            );
        }
    }
    all
}

/// Lines whose output can't be read, each of the case that is named, and what is said of them.
fn unreadable_lines(id: impl Fn(usize) -> String) -> Vec<(Vec<u8>, &'static str)> {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies: Vec<(Vec<u8>, &str)> = vec![
        (br#""\ud83d""#.to_vec(), "unexpected end of hex escape"),
        (
            br#""good \udc00 good""#.to_vec(),
            "lone leading surrogate in hex escape",
        ),
        (
            br#"{"\ud83d": "good"}"#.to_vec(),
            "unexpected end of hex escape",
        ),
        (deep.into_bytes(), "recursion limit exceeded"),
        (b"NaN".to_vec(), "expected value"),
        (br#"["good", -Infinity]"#.to_vec(), "invalid number"),
        (b"\"good \xff\xfe\"".to_vec(), "not UTF-8"),
        (b"\"good \0\"".to_vec(), "control character"),
        (b"\"good \x1b[2J\"".to_vec(), "control character"),
        (
            br#"{"ok": "good", "in": [{"ok": 1, "ok": 2}]}"#.to_vec(),
            "duplicate key `ok`",
        ),
        (
            br#""good", "output": "good""#.to_vec(),
            "duplicate field `output`",
        ),
        (
            br#""good", "usage": {"input_tokens": -5}"#.to_vec(),
            "`usage` must contain",
        ),
        (
            br#""good", "completion": "good""#.to_vec(),
            "has both `output` and `completion`",
        ),
        (br#""good" good"#.to_vec(), "expected `,` or `}`"),
    ];
    let line = |(at, (body, why)): (usize, (Vec<u8>, &'static str))| {
        let mut line = format!("{{\"case\": \"{}\", \"output\": ", id(at)).into_bytes();
        line.extend(body);
        line.push(b'}');
        (line, why)
    };
    bodies.into_iter().enumerate().map(line).collect()
}

#[test]
fn unreadable_lines_error_their_own_samples_alone() {
    let lines = unreadable_lines(|at| format!("hostile-{at}"));
    let (mut file, mut ids) = (Vec::new(), Vec::new());
    for (at, (line, _)) in lines.iter().enumerate() {
        file.extend_from_slice(line);
        file.extend(format!("\n{{\"case\": \"honest-{at}\", \"output\": \"good\"}}\n").bytes());
        ids.extend([format!("hostile-{at}"), format!("honest-{at}")]);
    }
    file.extend(b"{\"output\": 1, \"case\": \"cut\", \"output\": \"good");
    ids.push("cut".to_owned());
    let project = Project::with(&[("suite.yaml", &suite(&recorded(), &ids))]);
    std::fs::write(project.path().join("o.jsonl"), &file).unwrap();
    let call = project.call(&RUN).expect(3);
    assert!(
        call.stderr.contains("records that cannot be read"),
        "{}",
        call.stderr
    );
    assert!(call.stderr.contains("line 1, column"), "{}", call.stderr);
    let outcomes = outcomes(&project.report());
    for (at, (_, why)) in lines.iter().enumerate() {
        let (outcome, cause, reason) = &outcomes[&format!("hostile-{at}")];
        assert_eq!(
            (outcome.as_str(), cause.as_str()),
            ("errored", "missing_output"),
            "{why}: {reason}"
        );
        let place = format!("line {} of o.jsonl cannot be read", 2 * at + 1);
        assert!(
            reason.starts_with(&place) && reason.contains(why),
            "{why}: {reason}"
        );
        assert_eq!(
            outcomes[&format!("honest-{at}")].0,
            "passed",
            "beside {why}"
        );
    }
    let (outcome, _, reason) = &outcomes["cut"];
    let cut = format!("line {} of o.jsonl", 2 * lines.len() + 1);
    assert!(outcome == "errored" && reason.contains(&cut), "{reason}");
    // Graded again, and reported again, it is the same.
    project.call(&["report", "--run", "latest"]).expect(3);
    project
        .call(&["regrade", "--run", "latest", "--suite", "suite.yaml"])
        .expect(3);
    project.call(&["export", "--output", "x.jsonl"]).expect(0);
}

#[test]
fn an_unreadable_line_keeps_its_place_among_the_samples_of_its_case() {
    let said = "{\"case\":\"a\",\"sample\":0,\"output\":\"good\"}\n{\"case\":\"a\",\"sample\":1,\"output\":NaN}\n\
                {\"case\":\"a\",\"sample\":3,\"output\":\"good\"}\n{\"case\":\"a\",\"output\":\"\\ud800\"}\n";
    let counted = "{\"case\":\"a\",\"output\":\"good\"}\n{\"case\":\"a\",\"sample\":7,\"output\":NaN}\n\
                   {\"case\":\"a\",\"output\":\"bad\"}\n{\"case\":\"a\",\"output\":\"\\ud800\"}\n";
    for (file, expected) in [
        (
            said,
            [
                ("a", "passed"),
                ("a#1", "errored"),
                ("a#2", "errored"),
                ("a#3", "passed"),
            ],
        ),
        (
            counted,
            [
                ("a", "passed"),
                ("a#1", "errored"),
                ("a#2", "failed"),
                ("a#3", "errored"),
            ],
        ),
    ] {
        let project = Project::with(&[
            ("suite.yaml", &suite(&recorded(), &["a".into()])),
            ("o.jsonl", file),
        ]);
        let call = project.call(&RUN);
        assert!(matches!(call.code, Some(1 | 3)), "{}", call.stderr);
        let found = outcomes(&project.report());
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(key, (outcome, ..))| (key.as_str(), outcome.as_str()))
            .collect();
        assert_eq!(found, expected, "{file}");
    }
}

/// Lines that can't be read, and that name no case, or maybe more than one.
const LOST: [&str; 8] = [
    "Traceback (most recent call last):",
    "{\"output\": \"good\", \"case\": \"b",
    "{\"output\": \"good\", \"case\": \"\\ud800\"}",
    "{\"case\": \"b\", \"case\": \"b\", \"output\": \"good\"}",
    "{\"case\": \"b\", \"output\": \"good\"}{\"case\": \"c\", \"output\": \"good\"}",
    "{\"case\": \"b\", \"output\": \"cut{\"case\": \"c\", \"output\": \"good\"}",
    "[\"case\", \"b\"]",
    "{\"case\": {\"id\": \"b\"}, \"output\": NaN}",
];

#[test]
fn a_gate_never_passes_by_losing_a_sample() {
    for line in LOST {
        // Every case has a line, and what the lost one was is not known.
        let good = |case: &str| format!("{{\"case\": \"{case}\", \"output\": \"good\"}}\n");
        let file = format!("{}{line}\n{}{}", good("a"), good("b"), good("b"));
        let ids = ["a".to_owned(), "b".to_owned()];
        let mut suite: Value = serde_json::from_str(&suite(&recorded(), &ids)).unwrap();
        suite["eval_suite"]["thresholds"] = json!({"pass_at_1": 0.1});
        suite["eval_suite"]["reporting"] =
            json!({"format": ["json", "markdown", "junit", "comment"]});
        let project = Project::with(&[("suite.yaml", &suite.to_string()), ("o.jsonl", &file)]);
        let call = project.call(&RUN).expect(3);
        assert!(call.stderr.contains("line 2"), "{line}: {}", call.stderr);
        let words = "1 record in o.jsonl can't be read, and its case is unknown (number 2)";
        let report = project.report();
        assert_eq!(report["gate"]["decision"], "incomplete", "{line}");
        assert_eq!(report["warnings"][0]["kind"], "lost_records", "{line}");
        assert_eq!(outcomes(&report)["a"].0, "passed", "{line}");
        let pages = [".md", ".junit.xml", ".json"];
        for page in pages.map(|ending| std::fs::read_to_string(project.result(ending)).unwrap()) {
            let page = page.replace("&apos;", "'").replace("\\_", "_");
            assert!(
                page.contains("its case is unknown (number 2)"),
                "{line}: {page}"
            );
        }
        let shown = call.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(words), "{line}: {shown}");
        project.call(&["report", "--run", "latest"]).expect(3);
        project
            .call(&["regrade", "--run", "latest", "--suite", "suite.yaml"])
            .expect(3);
    }
}

#[test]
fn a_case_without_a_line_names_the_lines_that_were_lost() {
    for line in LOST {
        let file = format!("{{\"case\": \"a\", \"output\": \"good\"}}\n{line}\n");
        let ids = ["a".to_owned(), "missing".to_owned()];
        let project = Project::with(&[
            ("suite.yaml", &suite(&recorded(), &ids)),
            ("o.jsonl", &file),
        ]);
        project.call(&RUN).expect(3);
        let outcomes = outcomes(&project.report());
        assert_eq!(outcomes["a"].0, "passed");
        let (_, cause, reason) = &outcomes["missing"];
        assert_eq!(cause, "missing_output");
        assert!(
            reason.ends_with("its line 2 cannot be read and may contain it"),
            "{line}: {reason}"
        );
    }
}

#[test]
fn what_is_no_recording_is_still_refused_before_anything_runs() {
    let ids = ["a".to_owned(), "b".to_owned()];
    let good = "{\"case\": \"a\", \"output\": \"good\"}\n";
    for (file, why) in [
        (
            "{\"case\": \"a\", \"output\": NaN}\n".to_owned(),
            "o.jsonl:1:25: not JSON",
        ),
        ("\u{0}\u{1}\u{2}\nxyz\n".to_owned(), "o.jsonl:1:1: not JSON"),
        (
            format!("{good}{{\"output\": \"x\"}}\n"),
            "o.jsonl:2: has no case",
        ),
        (
            format!("{good}{{\"case\": \"b\", \"sample\": -1, \"output\": \"x\"}}\n"),
            "o.jsonl:2: `sample` must be",
        ),
        (
            format!("{good}{{\"case\": \"a\", \"sample\": 0, \"output\": \"x\"}}\n"),
            "o.jsonl:2: line 1 of case",
        ),
    ] {
        let project = Project::with(&[
            ("suite.yaml", &suite(&recorded(), &ids)),
            ("o.jsonl", &file),
        ]);
        let call = project.call(&RUN).expect(2);
        assert!(call.stderr.contains(why), "{file}: {}", call.stderr);
        assert!(!project.path().join("results").exists());
    }
    let eval = |id: &str| {
        json!({"metadata": {"id": id, "name": id}, "test_cases": [
            {"id": "same", "input": "x", "expected": {"type": "contains", "value": "good"}},
        ]})
    };
    let two =
        json!({"eval_suite": {"name": "s", "target": recorded(), "evals": [eval("e"), eval("f")]}});
    let file = format!("{{\"case\": \"same\", \"output\": \"good\"}}\n{good}");
    let project = Project::with(&[("suite.yaml", &two.to_string()), ("o.jsonl", &file)]);
    let call = project.call(&RUN).expect(2);
    assert!(call.stderr.contains("is in the evals"), "{}", call.stderr);
}

#[test]
fn unreadable_elements_of_an_array_error_their_own_samples_alone() {
    let lines = unreadable_lines(|at| format!("hostile-{at}"));
    let mut ids = vec!["honest".to_owned()];
    let mut file = b" [".to_vec();
    for (at, (line, _)) in lines.iter().enumerate() {
        file.extend_from_slice(line);
        file.extend_from_slice(b" ,\n");
        ids.push(format!("hostile-{at}"));
    }
    file.extend_from_slice(b"7, {\"case\": \"honest\", \"output\": \"good ]}\"}]\n");
    let project = Project::with(&[("suite.yaml", &suite(&recorded(), &ids))]);
    std::fs::write(project.path().join("o.jsonl"), &file).unwrap();
    project.call(&RUN).expect(3);
    let report = project.report();
    let outcomes = outcomes(&report);
    assert_eq!(outcomes["honest"].0, "passed");
    for (at, (_, why)) in lines.iter().enumerate() {
        let (outcome, _, reason) = &outcomes[&format!("hostile-{at}")];
        let place = format!("record {} of o.jsonl cannot be read", at + 1);
        assert!(
            outcome == "errored" && reason.starts_with(&place) && reason.contains(why),
            "{why}: {reason}"
        );
    }
    assert_eq!(
        report["warnings"][0]["count"], 2,
        "the number and the surplus after a record are lost"
    );
}

#[test]
fn an_array_that_is_cut_or_ends_with_a_comma_lost_a_record() {
    let record = "{\"case\": \"a\", \"output\": \"good\"}";
    let project = Project::with(&[("suite.yaml", &suite(&recorded(), &["a".to_owned()]))]);
    project.write("o.jsonl", &format!("[{record}]"));
    project.call(&RUN).expect(0);
    // How the array ends, and the outcome of the record before.
    for (end, outcome) in [
        (",", "passed"),
        (", \n", "passed"),
        (",]", "passed"),
        (", ]\n", "passed"),
        ("", "errored"),
        (", {\"case\": \"a", "passed"),
    ] {
        let project = Project::with(&[("suite.yaml", &suite(&recorded(), &["a".to_owned()]))]);
        project.write("o.jsonl", &format!("[{record}{end}"));
        // A file without any readable record is not a recording.
        let code = if outcome == "passed" { 3 } else { 2 };
        project.call(&RUN).expect(code);
        if code == 3 {
            let report = project.report();
            assert_eq!(outcomes(&report)["a"].0, outcome, "{end:?}");
            assert_eq!(report["warnings"][0]["kind"], "lost_records", "{end:?}");
            assert_eq!(report["warnings"][0]["count"], 1, "{end:?}");
        }
    }
}

/// Answers of a service or a program: the content, and how the sample ends when it must hold
/// `good`.
fn answers() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let nested = |levels: usize| {
        format!("{}\"good\"{}", "[".repeat(levels), "]".repeat(levels)).into_bytes()
    };
    vec![
        ("surrogate", br#"{"a": "\ud83d"}"#.to_vec(), "errored"),
        ("deep", nested(100_000), "errored"),
        ("levels-90", nested(90), "passed"),
        ("levels-110", nested(110), "passed"),
        ("levels-126", nested(126), "passed"),
        ("levels-127", nested(127), "passed"),
        ("nan", br#"{"a": NaN}"#.to_vec(), "errored"),
        ("bytes", b"\"\xff\xfe good\"".to_vec(), "errored"),
        ("control", b"\"a \0 b\"".to_vec(), "errored"),
        ("empty", Vec::new(), "errored"),
        ("cut", br#"{"a": "go"#.to_vec(), "errored"),
        (
            "flood",
            [b"\"".to_vec(), vec![b'x'; 3 << 20], b"\"".to_vec()].concat(),
            "errored",
        ),
        ("honest-1", br#"{"a": "good"}"#.to_vec(), "passed"),
        (
            "honest-2",
            br#"["good", 1e400, 12345678901234567890123]"#.to_vec(),
            "passed",
        ),
    ]
}

fn check_answers(project: &Project, expected: impl Fn(&str, &'static str) -> Vec<&'static str>) {
    let code = project.call(&RUN).code;
    assert!(matches!(code, Some(1 | 3)), "{code:?}");
    let report = project.report();
    let found = outcomes(&report);
    for (id, _, outcome) in answers() {
        let (was, _, reason) = &found[id];
        assert!(
            expected(id, outcome).contains(&was.as_str()),
            "{id} is {was}: {reason}"
        );
    }
    // The journal can be read again, whatever is in it.
    let again = project.call(&["report", "--run", "latest"]);
    assert_eq!(again.code, code, "{}", again.stderr);
    let again = project.call(&["regrade", "--run", "latest", "--suite", "suite.yaml"]);
    assert_eq!(again.code, code, "{}", again.stderr);
}

#[test]
fn hostile_output_of_a_command_ends_no_run() {
    let ids: Vec<String> = answers().iter().map(|(id, ..)| (*id).to_owned()).collect();
    let target = json!({"type": "command", "command": ["sh", "-c", "cat \"answers/$(cat)\""], "output": "json"});
    let project = Project::with(&[("suite.yaml", &suite(&target, &ids))]);
    for (id, content, _) in answers() {
        std::fs::create_dir_all(project.path().join("answers")).unwrap();
        std::fs::write(project.path().join("answers").join(id), content).unwrap();
    }
    check_answers(&project, |_, outcome| vec![outcome]);
}

#[test]
fn hostile_answers_of_a_service_end_no_run() {
    let ids: Vec<String> = answers().iter().map(|(id, ..)| (*id).to_owned()).collect();
    let all = answers();
    let server = Server::start(move |request| {
        let found = all.iter().find(|(id, ..)| request.text() == **id);
        Reply::new(
            200,
            "application/json",
            found
                .map(|(_, content, _)| content.clone())
                .unwrap_or_default(),
        )
    });
    let target = json!({
        "type": "http", "base_url": server.url(), "endpoint": "/x", "method": "POST", "body": "{{ prompt }}",
        "max_body_bytes": 1 << 20,
    });
    let project = Project::with(&[("suite.yaml", &suite(&target, &ids))]);
    // What is not JSON is judged as the text or the bytes that it is.
    check_answers(&project, |id, outcome| match (id, outcome) {
        ("deep", _) => vec!["passed"],
        ("flood", _) => vec!["failed", "errored"],
        (_, "errored") => vec!["failed"],
        (_, other) => vec![other],
    });
}

#[test]
fn hostile_answers_of_a_model_end_no_run() {
    let chat = |content: &str| {
        format!(
            r#"{{"id":"1","object":"chat.completion","model":"m","choices":[{{"index":0,"finish_reason":"stop","message":{{"role":"assistant","content":{content}}}}}],"usage":{{"prompt_tokens":1,"completion_tokens":1}}}}"#
        )
    };
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let answers: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "surrogate",
            chat(r#""\ud83d good""#).into_bytes(),
            "errored",
        ),
        ("deep", chat(&nested(100_000)).into_bytes(), "errored"),
        (
            "deep-beside",
            chat(&format!("\"good\",\"extra\":{}", nested(100_000))).into_bytes(),
            "errored",
        ),
        ("nan", chat("NaN").into_bytes(), "errored"),
        (
            "bytes",
            [&b"\xff\xfe"[..], chat("\"good\"").as_bytes()].concat(),
            "errored",
        ),
        ("control", chat("\"good \0\"").into_bytes(), "errored"),
        ("nul", chat(r#""good \u0000""#).into_bytes(), "passed"),
        ("honest", chat(r#""good""#).into_bytes(), "passed"),
    ];
    let ids: Vec<String> = answers.iter().map(|(id, ..)| (*id).to_owned()).collect();
    let served = answers.clone();
    let server = Server::start(move |request| {
        let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let prompt = asked["messages"]
            .as_array()
            .and_then(|all| all.last())
            .map(|last| last["content"].clone());
        let found = served
            .iter()
            .find(|(id, ..)| prompt == Some(Value::from(*id)));
        Reply::new(
            200,
            "application/json",
            found.map(|(_, body, _)| body.clone()).unwrap_or_default(),
        )
    });
    let target =
        json!({"type": "model", "model": "openai:m", "base_url": server.url(), "retries": 0});
    let project = Project::with(&[("suite.yaml", &suite(&target, &ids))]);
    project.call(&RUN).expect(3);
    let found = outcomes(&project.report());
    for (id, _, outcome) in answers {
        let (was, _, reason) = &found[id];
        assert_eq!(was, outcome, "{id}: {reason}");
    }
}

#[test]
fn deep_values_are_graded_and_the_journal_stays_readable() {
    let levels = [1, 90, 96, 97, 110, 120, 126];
    let nested = |levels: usize| format!("{}\"good\"{}", "[".repeat(levels), "]".repeat(levels));
    let mut file = String::new();
    let mut evals = Vec::new();
    for levels in levels {
        let value = nested(levels);
        // As data, and as a text from which data is taken; the expectation is as deep.
        file.push_str(&format!(
            "{{\"case\":\"data-{levels}\",\"output\":{value}}}\n"
        ));
        file.push_str(&format!(
            "{{\"case\":\"text-{levels}\",\"output\":{}}}\n",
            Value::from(value.as_str())
        ));
        file.push_str(&format!(
            "{{\"case\":\"fail-{levels}\",\"output\":{}}}\n",
            Value::from(value.as_str())
        ));
        let expected = json!({"type": "contains", "value": "good"});
        evals.push(json!({"id": format!("data-{levels}"), "input": "x", "expected": expected}));
        evals.push(
            json!({"id": format!("text-{levels}"), "input": "x", "extract": "json", "expected": expected}),
        );
        let grader = json!({"type": "code", "config": {"method": "json", "value": [["other"]]}});
        evals.push(json!({"id": format!("fail-{levels}"), "input": "x", "grader": grader}));
    }
    let suite =
        json!({"eval_suite": {"name": "s", "target": recorded(), "evals": evals}}).to_string();
    let project = Project::with(&[("suite.yaml", &suite), ("o.jsonl", &file)]);
    project.call(&RUN).expect(1);
    project.call(&["report", "--run", "latest"]).expect(1);
    let found = outcomes(&project.report());
    for levels in levels {
        assert_eq!(found[&format!("data-{levels}")].0, "passed", "{levels}");
        // `extract` gives no JSON that comparisons don't read.
        let extracted = if levels > 100 { "failed" } else { "passed" };
        assert_eq!(found[&format!("text-{levels}")].0, extracted, "{levels}");
        assert_eq!(found[&format!("fail-{levels}")].0, "failed", "{levels}");
    }
    project
        .call(&["regrade", "--run", "latest", "--suite", "suite.yaml"])
        .expect(1);
    assert_ne!(project.call(&["compare", "latest", "latest"]).code, None);
}

/// Runs it to its end, or fails the test where it hangs.
fn finish(project: &Project, args: &[&str], stdin: Option<&str>) -> Call {
    let mut command = project.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if stdin.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().expect("the program starts");
    if let (Some(text), Some(mut pipe)) = (stdin, child.stdin.take()) {
        std::io::Write::write_all(&mut pipe, text.as_bytes()).expect("written");
    }
    ended(child, &format!("{args:?}"))
}

fn ended(mut child: std::process::Child, what: &str) -> Call {
    let begun = Instant::now();
    while child.try_wait().expect("waited").is_none() {
        if begun.elapsed() > Duration::from_secs(120) {
            child.kill().expect("killed");
            panic!("{what} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Call::of(child.wait_with_output().expect("its output"))
}

#[test]
fn named_pipes_are_errors_at_once_wherever_a_file_is_named() {
    let good = suite(&recorded(), &["a".into()]);
    let line = "{\"case\": \"a\", \"output\": \"good\"}\n";
    let with = |evals: Value, target: &str| {
        json!({"eval_suite": {"name": "s", "target": {"type": "recorded", "path": target}, "evals": evals}})
            .to_string()
    };
    let project = Project::with(&[
        ("good.yaml", &good),
        ("o.jsonl", line),
        ("ref.yaml", &with(json!([{"$ref": "pipe"}]), "o.jsonl")),
        (
            "recorded.yaml",
            &with(
                json!([{"id": "a", "input": "x", "expected": {"type": "exact", "value": "x"}}]),
                "pipe",
            ),
        ),
        (
            "dataset.yaml",
            &with(
                json!([{"metadata": {"id": "d", "name": "d"}, "dataset": {"path": "pipe", "format": "humaneval"}}]),
                "o.jsonl",
            ),
        ),
        (
            "trigger.yaml",
            "eval_trigger: {when: after_tests_pass, suite: pipe}\n",
        ),
    ]);
    let made = std::process::Command::new("mkfifo")
        .arg(project.path().join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    for args in [
        &["run", "--suite", "pipe"][..],
        &["validate", "--suite", "pipe"],
        &["list", "--suite", "pipe"],
        &["run", "--suite", "ref.yaml"],
        &["run", "--suite", "recorded.yaml"],
        &["run", "--suite", "dataset.yaml"],
        &["run", "--suite", "good.yaml", "--outputs", "pipe"],
        &["phase", "--trigger", "pipe"],
        &["phase", "--trigger", "trigger.yaml"],
        &["phase", "--plan", "pipe"],
    ] {
        let call = finish(&project, args, None);
        assert_eq!(call.code, Some(2), "{args:?}: {}", call.stderr);
        let shown = call.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.contains("named pipe") || shown.contains("not a regular file"),
            "{args:?}: {shown}"
        );
    }
}

#[test]
fn devices_are_errors_and_a_pipe_of_the_command_line_is_read() {
    let good = suite(&recorded(), &["a".into()]);
    let project = Project::with(&[("suite.yaml", &good)]);
    for device in ["/dev/zero", "/dev/null"] {
        let call = finish(
            &project,
            &["run", "--suite", "suite.yaml", "--outputs", device],
            None,
        )
        .expect(2);
        assert!(
            call.stderr.contains("it is a device, not a regular file"),
            "{}",
            call.stderr
        );
    }
    let line = "{\"case\": \"a\", \"output\": \"good\"}\n";
    finish(
        &project,
        &["run", "--suite", "suite.yaml", "--outputs", "/dev/stdin"],
        Some(line),
    )
    .expect(0);
    let hostile = format!("{line}{{\"case\": \"a\", \"output\": NaN}}\n");
    finish(
        &project,
        &["run", "--suite", "suite.yaml", "--outputs", "/dev/stdin"],
        Some(&hostile),
    )
    .expect(3);
}

#[test]
fn a_named_pipe_as_standard_input_is_read_and_not_opened_again() {
    let project = Project::with(&[("suite.yaml", &suite(&recorded(), &["a".into()]))]);
    let made = std::process::Command::new("mkfifo")
        .arg(project.path().join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    // The only writer is gone before the program starts: a second opening would wait for another
    // one.
    let script = "exec 3<>pipe; echo '{\"case\": \"a\", \"output\": \"good\"}' > pipe; exec 0<pipe 3>&-; exec \"$0\" \"$@\"";
    let run = project.command(&["run", "--suite", "suite.yaml", "--outputs", "/dev/stdin"]);
    let mut shell = std::process::Command::new("sh");
    shell
        .arg("-c")
        .arg(script)
        .arg(run.get_program())
        .args(run.get_args());
    shell
        .current_dir(project.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    ended(shell.spawn().expect("the shell starts"), "the run").expect(0);
}

#[test]
fn an_input_file_that_is_a_pipe_errors_its_sample_alone() {
    let eval = |id: &str, input: Value| json!({"id": id, "input": input, "expected": {"type": "contains", "value": "good"}});
    let evals = [
        eval("pipe", json!({"type": "file", "path": "pipe"})),
        eval("honest", json!("good")),
    ];
    let suite = json!({"eval_suite": {"name": "s", "target": {"type": "echo"}, "evals": evals}})
        .to_string();
    let project = Project::with(&[("suite.yaml", &suite)]);
    let made = std::process::Command::new("mkfifo")
        .arg(project.path().join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let call = finish(&project, &RUN, None);
    if call.code == Some(2) {
        // Refused when the suite is loaded.
        assert!(call.stderr.contains("pipe"), "{}", call.stderr);
        return;
    }
    assert_eq!(call.code, Some(3), "{}", call.stderr);
    let found = outcomes(&project.report());
    assert_eq!(found["honest"].0, "passed");
    assert!(
        found["pipe"].2.contains("named pipe"),
        "{}",
        found["pipe"].2
    );
}

/// The journal of a run in which one of two samples failed, changed by `change`.
fn changed_journal(grader: &Value, change: impl Fn(String) -> String) -> (Project, Call) {
    let eval = |id: &str| json!({"id": id, "input": "x", "graders": grader["graders"], "combine": grader["combine"]});
    let suite = json!({"eval_suite": {"name": "s", "target": recorded(), "evals": [eval("honest"), eval("wrong")]}});
    let lines = "{\"case\": \"honest\", \"output\": \"good and right\"}\n{\"case\": \"wrong\", \"output\": \"bad\"}\n";
    let project = Project::with(&[("suite.yaml", &suite.to_string()), ("o.jsonl", lines)]);
    project.call(&RUN).expect(1);
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, change(text)).unwrap();
    let call = project.call(&["report", "--run", "latest", "--format", "markdown"]);
    (project, call)
}

#[test]
fn a_verdict_that_contradicts_its_grades_never_passes_the_gate() {
    let contains = |text: &str| json!({"type": "code", "config": {"method": "contains", "must_include": [text]}});
    let both = json!({"graders": [contains("good"), contains("right")], "combine": "all"});
    let any = json!({"graders": [contains("good"), contains("right")], "combine": "any"});
    let two = json!({"graders": [contains("good"), contains("right")], "combine": {"at_least": 2}});
    let passed = |text: String| text.replace("\"outcome\":\"failed\"", "\"outcome\":\"passed\"");
    let no_cause = |text: String| {
        text.replace("\"cause\":\"wrong_answer\",", "")
            .replace("\"score\":0.0,", "")
    };
    let verdict = |text: String| {
        text.replace(
            "\"verdict\":{\"outcome\":\"failed\",\"score\":0.0,\"cause\":\"wrong_answer\"",
            "\"verdict\":{\"outcome\":\"passed\",\"score\":1.0",
        )
    };
    for (grader, name) in [(&both, "all"), (&any, "any"), (&two, "at_least")] {
        let changes: [(&str, &dyn Fn(String) -> String); 4] = [
            ("everything", &|text| passed(text)),
            ("the verdict", &|text| verdict(text)),
            ("the verdict and its cause", &|text| no_cause(verdict(text))),
            ("everything but one grade's cause", &|text| {
                passed(verdict(text))
            }),
        ];
        for (what, change) in changes {
            let (project, call) = changed_journal(grader, change);
            assert_eq!(call.code, Some(3), "{name}, {what}: {}", call.stdout);
            let words = "the record contradicts itself: wrong › wrong (sample 1)";
            assert!(
                call.stdout.replace('\\', "").contains(words),
                "{name}, {what}: {}",
                call.stdout
            );
            let report = project.report();
            assert_eq!(
                report["warnings"][0]["kind"], "contradiction",
                "{name}, {what}"
            );
            assert_eq!(
                (&report["gate"]["decision"], &report["gate"]["exit_code"]),
                (&json!("incomplete"), &json!(3))
            );
            for format in ["terminal", "comment", "junit", "json", "html"] {
                let page = project.call(&[
                    "report", "--run", "latest", "--format", format, "--output", "page",
                ]);
                let text = match page.stdout.is_empty() {
                    true => {
                        std::fs::read_to_string(project.path().join("page")).unwrap_or_default()
                    }
                    false => page.stdout,
                };
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(
                    text.contains("contradicts itself"),
                    "{name}, {what}, {format}: {} {text}",
                    page.stderr
                );
            }
            let changed = project.path().join("changed.journal.jsonl");
            std::fs::copy(project.result(".journal.jsonl"), &changed).unwrap();
            project.call(&RUN).expect(1);
            for sides in [
                ["latest", "changed.journal.jsonl"],
                ["changed.journal.jsonl", "latest"],
            ] {
                let compare = [
                    "compare",
                    sides[0],
                    sides[1],
                    "--fail-on",
                    "never",
                    "--format",
                    "json",
                ];
                let compared = project.call(&compare).expect(3);
                assert!(
                    compared.stderr.contains("contradicts itself"),
                    "{name}, {what}: {}",
                    compared.stderr
                );
                let page: Value = serde_json::from_str(&compared.stdout).unwrap();
                assert_eq!(page["decision"], "incomplete", "{name}, {what}");
                let reason = page["reasons"][0].as_str().unwrap_or_default();
                assert!(
                    reason.contains("contradicts itself"),
                    "{name}, {what}: {reason}"
                );
            }
        }
        let (_, honest) = changed_journal(grader, |text| text);
        assert_eq!(honest.code, Some(1), "{name}: {}", honest.stdout);
        assert!(!honest.stdout.contains("contradicts"), "{name}");
    }
}

#[test]
fn an_older_journal_is_refused_with_the_version_that_reads_it() {
    let suite = json!({"eval_suite": {"name": "s", "target": recorded(), "evals": [{"id": "a", "input": "x", "expected": "x"}]}});
    let lines = format!("{}\n", json!({"case": "a", "output": "x"}));
    let project = Project::with(&[("suite.yaml", &suite.to_string()), ("o.jsonl", &lines)]);
    project.call(&RUN).expect(0);
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    let first = json!({"run_started": {"journal_version": 2, "run_id": "eval-1", "harness_version": "0.0.9", "suite_name": "s"}});
    std::fs::write(&journal, format!("{first}\n{rest}")).unwrap();
    for verb in ["report", "regrade"] {
        let call = project.call(&[verb, "--run", "latest"]).expect(2);
        let said =
            "was written by eval-harness 0.0.9 in journal version 2; this version reads version 3";
        assert!(call.stderr.contains(said), "{}", call.stderr);
        assert!(
            call.stderr.contains("eval-harness 0.0.9 reads it"),
            "{}",
            call.stderr
        );
    }
}

/// What a runner of a build service would take for commands: GitHub's and Azure's rules.
fn commands(page: &str) -> Vec<&str> {
    let lines = page.split(['\n', '\r']);
    lines
        .filter(|line| {
            let body = line.trim();
            body.strip_prefix("::")
                .is_some_and(|rest| rest.contains("::"))
                || line.contains("##[")
                || line.contains("##vso[")
        })
        .collect()
}

const COMMANDS: [&str; 9] = [
    "::error file=a.rs,line=1::forged",
    "  ::set-output name=decision::pass",
    "\t::add-mask::secret",
    "::stop-commands::token",
    "\u{85}\u{a0}::warning::after strange blanks",
    "##[error]forged",
    "text ##[add-path]/tmp",
    "##vso[task.complete result=Succeeded;]DONE",
    " ##vso[task.setvariable variable=x]y",
];

#[test]
fn no_report_holds_a_command_to_a_runner() {
    let text = format!("{}\nend", COMMANDS.join("\n"));
    let hidden = "\u{202e}\u{2066}\u{9b}31m\u{61c}\u{200f}";
    let ids = ["a".to_owned(), "b".to_owned()];
    let mut suite: Value = serde_json::from_str(&suite(&recorded(), &ids)).unwrap();
    suite["eval_suite"]["evals"][0]["expected"] =
        json!({"type": "exact", "value": COMMANDS.join("\r\n")});
    suite["eval_suite"]["reporting"] =
        json!({"format": ["json", "markdown", "junit", "comment"], "include_details": true});
    let lines = format!(
        "{}\n{}\n",
        json!({"case": "a", "output": text}),
        json!({"case": "b", "output": format!("{hidden}{text}")})
    );
    let project = Project::with(&[("suite.yaml", &suite.to_string()), ("o.jsonl", &lines)]);
    let summary = project.path().join("summary.md");
    let call = Call::of(
        project
            .command(&RUN)
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", &summary)
            .env("GITHUB_OUTPUT", project.path().join("output"))
            .output()
            .unwrap(),
    )
    .expect(1);
    let mut pages = vec![("stdout".to_owned(), call.stdout)];
    pages.push(("summary".into(), std::fs::read_to_string(&summary).unwrap()));
    for ending in [".md", ".comment.md", ".junit.xml", ".json"] {
        pages.push((
            ending.into(),
            std::fs::read_to_string(project.result(ending)).unwrap(),
        ));
    }
    for (name, page) in &pages {
        assert_eq!(commands(page), Vec::<&str>::new(), "{name}");
        let hidden: Vec<char> = page
            .chars()
            .filter(|c| "\u{202e}\u{2066}\u{9b}\u{61c}\u{200f}".contains(*c))
            .collect();
        assert_eq!(hidden, Vec::<char>::new(), "{name}");
    }
    // They are still there to be read.
    let all: String = pages.iter().map(|(_, page)| page.as_str()).collect();
    assert!(
        all.contains(": :stop-commands::token") && all.contains("# #[error]forged"),
        "{all}"
    );
    // The harness's own annotations are commands, as they should be.
    assert!(
        call.stderr.lines().any(|line| line.starts_with("::error ")),
        "{}",
        call.stderr
    );
    let json: Value = serde_json::from_str(&pages.last().unwrap().1).unwrap();
    let output = &json["eval_report"]["evals"][1]["cases"][0]["samples"][0]["output"];
    assert!(output.to_string().contains("task.complete"), "{output}");
    let output = output
        .as_str()
        .or(output["value"]["text"].as_str())
        .or(output["text"].as_str())
        .unwrap_or_default();
    assert_eq!(output, format!("{hidden}{text}"));
}

#[test]
fn machine_readable_output_hides_nothing() {
    let hidden = "\u{202e}\u{2066}\u{9b}31m\u{61c}\u{200f}\u{7f}";
    let ids = ["a".to_owned()];
    let lines = format!(
        "{}\n",
        json!({"case": "a", "output": format!("good {hidden} ##[error]x")})
    );
    let project = Project::with(&[
        ("suite.yaml", &suite(&recorded(), &ids)),
        ("o.jsonl", &lines),
    ]);
    let events = project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--progress",
            "none",
            "--events",
        ])
        .expect(0)
        .stdout;
    let journal = std::fs::read_to_string(project.result(".journal.jsonl")).unwrap();
    let report = project
        .call(&["report", "--run", "latest", "--format", "json"])
        .expect(0)
        .stdout;
    let exported = project.call(&["export"]).expect(0).stdout;
    let observe = [
        "doctor",
        "--format",
        "json",
        "--observe",
        "/usr/bin/true",
        hidden,
    ];
    let observed = project.call(&observe).expect(0).stdout;
    for (name, page) in [
        ("doctor", observed),
        ("events", events),
        ("journal", journal),
        ("report", report),
        ("export", exported),
    ] {
        assert!(
            !page.contains(|c: char| hidden.contains(c) && !c.is_ascii_graphic()),
            "{name}: {page}"
        );
        assert_eq!(commands(&page), Vec::<&str>::new(), "{name}");
        assert!(
            page.contains("\\u202e\\u2066\\u009b31m\\u061c\\u200f\\u007f"),
            "{name}: {page}"
        );
    }
    let again = project.call(&["regrade", "--run", "latest", "--suite", "suite.yaml"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(Path::new(&project.result(".journal.jsonl")).is_file());
}
