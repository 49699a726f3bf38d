//! The regressions of the seeds against a real service that answers twenty users, and a skill: they
//! pass, and each change of one field that they should mind fails with its path.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::support::Project;
use serde_json::{Value, json};

/// Answers every request with what it is told to, until the test ends.
struct Service {
    url: String,
    answer: Arc<Mutex<Value>>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Service {
    fn start() -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new(right()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (told, heard) = (Arc::clone(&answer), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut request = String::new();
                while reader.read_line(&mut request).is_ok_and(|read| read > 2) {}
                heard.lock().unwrap().push(request);
                let answer = told.lock().unwrap().clone();
                let body = answer["body"].to_string();
                let mut head = format!("HTTP/1.1 {} Whatever\r\n", answer["status"]);
                for (name, value) in answer["headers"].as_object().unwrap() {
                    head.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap()));
                }
                let mut stream = stream;
                let _ = write!(
                    stream,
                    "{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Service { url, answer, seen }
    }
}

/// What both regressions of the users' endpoint call right: the seeds' two shapes in one body.
fn right() -> Value {
    let users: Vec<Value> = (0..20)
        .map(|n| {
            json!({
                "id": format!("00000000-0000-4000-8000-0000000000{n:02}"),
                "name": format!("User {n}"),
                "email": format!("user{n}@example.com"),
                "created_at": format!("2024-02-{:02}T10:30:00Z", n + 1),
                "locale": "en",
            })
        })
        .collect();
    json!({
        "status": 200,
        "headers": {"Content-Type": "application/json", "X-Request-Id": "7f"},
        "body": {
            "users": users,
            "pagination": {"page": 1, "per_page": 20, "total": 20},
            "data": [{"id": 1}, {"id": 2}],
            "meta": {"page": 1, "per_page": 20, "total": 20},
        },
    })
}

fn project(service: &Service) -> Project {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/seeds/evals/regression");
    let read = |name: &str| std::fs::read_to_string(seeds.join(name)).unwrap();
    let suite = format!(
        r#"
eval_suite:
  name: The regressions of the seeds
  target: {{type: http, base_url: "{{{{ api_base_url }}}}"}}
  skill:
    command: [python3, skill.py, "{{{{ skill_name }}}}", "{{{{ parameters | tojson }}}}"]
    output: json
  vars: {{api_base_url: "{}", test_token: first-token, TEST_TOKEN: second-token}}
  evals:
    - $ref: regressions.yaml#reg-api-001
    - $ref: regressions.yaml#reg-quality-001
    - $ref: users-endpoint.json
"#,
        service.url
    );
    Project::with(&[
        ("evals/eval-suite.yaml", &suite),
        ("evals/regressions.yaml", &read("regressions.yaml")),
        ("evals/users-endpoint.json", &read("users-endpoint.json")),
        ("evals/skill.py", SKILL),
        ("evals/scores.json", &scores().to_string()),
    ])
}

/// Answers the code review skill from a file, after looking at what it was given.
const SKILL: &str = r#"
import json, sys
name, parameters = sys.argv[1], json.loads(sys.argv[2])
given = json.load(sys.stdin)
assert (name, parameters) == ("code-review", {"depth": "thorough"}), sys.argv
assert given["context"] == "React component refactoring", given
print(open("scores.json").read())
"#;

fn scores() -> Value {
    json!({
        "quality_scores": {"specificity": 4.2, "actionability": 4.5, "correctness": 4.8, "tone": 4.6},
        "sample_comments": ["another", "one"],
    })
}

fn run(project: &Project, eval: &str) -> (Option<i32>, Value) {
    let call = project.call(&[
        "run",
        "--eval",
        eval,
        "--progress",
        "none",
        "--format",
        "json",
    ]);
    assert!(
        matches!(call.code, Some(0 | 1)),
        "{}\n{}",
        call.stdout,
        call.stderr
    );
    (call.code, project.report())
}

/// The paths of the differences that a report names.
fn paths(report: &Value) -> Vec<String> {
    let differences = report["failures"][0]["details"]["differences"].as_array();
    differences
        .into_iter()
        .flatten()
        .map(|d| d["path"].as_str().unwrap().to_owned())
        .collect()
}

/// One field of the answer, by its pointer, as something else; `None` takes it away.
fn changed(pointer: &str, value: Option<Value>) -> Value {
    let mut answer = right();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = if parent.is_empty() {
        &mut answer
    } else {
        answer.pointer_mut(parent).unwrap()
    };
    match (parent, value) {
        (Value::Object(map), Some(value)) => _ = map.insert(field.to_owned(), value),
        (Value::Object(map), None) => _ = map.remove(field).unwrap(),
        (Value::Array(items), Some(value)) => items[field.parse::<usize>().unwrap()] = value,
        other => panic!("{other:?}"),
    }
    answer
}

#[test]
fn all_three_pass_and_the_service_is_asked_as_written() {
    let service = Service::start();
    let project = project(&service);
    let call = project.call(&["run", "--progress", "none"]).expect(0);
    assert!(call.stdout.contains("GATE PASS"), "{}", call.stdout);
    let seen = service.seen.lock().unwrap().join("\n");
    assert_eq!(
        seen.matches("GET /api/v1/users HTTP/1.1").count(),
        2,
        "{seen}"
    );
    let lower = seen.to_lowercase();
    assert!(
        lower.contains("authorization: bearer first-token\r\n"),
        "{seen}"
    );
    assert!(
        lower.contains("authorization: bearer second-token\r\n"),
        "{seen}"
    );
    // The tokens are nowhere among what the run left behind.
    let mut found = Vec::new();
    let mut folders = vec![project.path().join("results")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
                found.extend(text.contains("first-token").then(|| entry.path()));
            }
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn each_change_that_the_first_one_minds_is_named() {
    let service = Service::start();
    let project = project(&service);
    let mut minded = vec![
        ("/status", Some(json!(500)), "status"),
        ("/body", Some(json!([])), "body"),
        ("/body/users", None, "body.users"),
        ("/body/users", Some(json!([])), "body.users[0]"),
        ("/body/users", Some(json!({"0": {}})), "body.users"),
        ("/body/users/3", Some(json!(null)), "body.users[3]"),
        ("/body/pagination", None, "body.pagination"),
        (
            "/body/pagination/page",
            Some(json!(2)),
            "body.pagination.page",
        ),
        (
            "/body/pagination/page",
            Some(json!("1")),
            "body.pagination.page",
        ),
        (
            "/body/pagination/per_page",
            Some(json!(19)),
            "body.pagination.per_page",
        ),
        (
            "/body/pagination/per_page",
            None,
            "body.pagination.per_page",
        ),
    ];
    for (pointer, path) in [
        ("/body/users/0/name", "body.users[0].name"),
        ("/body/users/19/name", "body.users[19].name"),
        ("/body/users/7/email", "body.users[7].email"),
    ] {
        minded.push((pointer, None, path));
        minded.push((pointer, Some(json!(null)), path));
        minded.push((pointer, Some(json!(7)), path));
    }
    minded.push((
        "/body/users/7/email",
        Some(json!("nobody")),
        "body.users[7].email",
    ));
    for (pointer, value, path) in minded {
        *service.answer.lock().unwrap() = changed(pointer, value.clone());
        let (code, report) = run(&project, "reg-api-001");
        assert_eq!(code, Some(1), "{pointer} {value:?}");
        assert_eq!(paths(&report), [path], "{pointer} {value:?}");
    }
    for (pointer, value) in [
        ("/body/users/0/id", Some(json!(17))),
        ("/body/users/0/id", None),
        ("/body/users/19/created_at", Some(json!("yesterday"))),
        ("/body/pagination/total", None),
        ("/body/pagination/total", Some(json!("many"))),
        ("/body/users/3/nickname", Some(json!("Bo"))),
        ("/body/extra", Some(json!(true))),
        ("/headers/X-Request-Id", Some(json!("80"))),
        (
            "/headers/Content-Type",
            Some(json!("application/json; charset=utf-8")),
        ),
    ] {
        *service.answer.lock().unwrap() = changed(pointer, value.clone());
        let (code, report) = run(&project, "reg-api-001");
        assert_eq!(code, Some(0), "{pointer} {value:?}: {}", report["failures"]);
    }
}

#[test]
fn each_change_that_the_json_document_minds_is_named() {
    let service = Service::start();
    let project = project(&service);
    for (pointer, value, path) in [
        ("/status", Some(json!(404)), "status"),
        (
            "/headers/Content-Type",
            Some(json!("text/json")),
            "headers.content-type",
        ),
        ("/body/data", None, "body.data"),
        ("/body/data", Some(json!({})), "body.data"),
        ("/body/meta", Some(json!(1)), "body.meta"),
        ("/body/meta/page", None, "body.meta.page"),
        ("/body/meta/page", Some(json!(2)), "body.meta.page"),
        (
            "/body/meta/per_page",
            Some(json!(null)),
            "body.meta.per_page",
        ),
        ("/body/meta/total", None, "body.meta.total"),
    ] {
        *service.answer.lock().unwrap() = changed(pointer, value.clone());
        let (code, report) = run(&project, "reg-api-users-001");
        assert_eq!(code, Some(1), "{pointer} {value:?}");
        let found = paths(&report);
        let inside = |p: &String| p == path || p.starts_with(&format!("{path}."));
        assert!(
            found.iter().any(|p| p == path) && found.iter().all(inside),
            "{pointer} {value:?}: {found:?}"
        );
    }
    // A body that no longer says that it is JSON is a text, in which there are no keys.
    *service.answer.lock().unwrap() = changed("/headers/Content-Type", None);
    let (code, report) = run(&project, "reg-api-users-001");
    let mut found = paths(&report);
    found.sort();
    assert_eq!(code, Some(1));
    assert_eq!(
        found,
        ["body", "body.data", "body.meta", "headers.content-type"]
    );
    for (pointer, value) in [
        ("/body/data", Some(json!([]))),
        ("/body/data/0", Some(json!("anything"))),
        ("/body/meta/total", Some(json!("any"))),
    ] {
        *service.answer.lock().unwrap() = changed(pointer, value.clone());
        let (code, report) = run(&project, "reg-api-users-001");
        assert_eq!(code, Some(0), "{pointer} {value:?}: {}", report["failures"]);
    }
}

#[test]
fn a_score_of_the_second_one_may_rise_and_not_fall() {
    let service = Service::start();
    let project = project(&service);
    let with = |name: &str, score: Value| {
        let mut scores = scores();
        scores["quality_scores"][name] = score;
        project.write("evals/scores.json", &scores.to_string());
        run(&project, "reg-quality-001")
    };
    for (name, score) in [
        ("tone", json!(4.3)),
        ("tone", json!(5)),
        ("correctness", json!(4.5)),
        ("tone", json!(999)),
    ] {
        let (code, report) = with(name, score.clone());
        assert_eq!(code, Some(0), "{name} {score}: {}", report["failures"]);
    }
    for (name, score) in [
        ("tone", json!(4.29)),
        ("specificity", json!(0)),
        ("actionability", json!("4.5")),
        ("correctness", json!(null)),
    ] {
        let (code, report) = with(name, score.clone());
        assert_eq!(code, Some(1), "{name} {score}");
        assert_eq!(
            paths(&report),
            [format!("quality_scores.{name}")],
            "{score}"
        );
    }
    let mut lacking = scores();
    lacking["quality_scores"]
        .as_object_mut()
        .unwrap()
        .remove("tone");
    project.write("evals/scores.json", &lacking.to_string());
    let (code, report) = run(&project, "reg-quality-001");
    assert_eq!(
        (code, paths(&report)),
        (Some(1), vec!["quality_scores.tone".to_owned()])
    );
}
