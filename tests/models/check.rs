//! `check --judges`: a judge that passes an empty answer or an injection is named.

use crate::judge::{Asked, say};
use crate::model_runs::{KEY_ENV, call};
use crate::model_server::ModelServer;
use crate::support::Project;
use serde_json::{Value, json};

/// A case whose right answer is `Paris`, judged by the server.
fn project(server: &ModelServer) -> Project {
    let config = json!({
        "model": "openai:judge", "base_url": server.url(), "api_key_env": KEY_ENV,
        "rubric": "Is the answer right?",
    });
    let judge = json!({"type": "model", "config": config});
    graded(&json!([judge]), true)
}

/// The same case with other graders; `solved`: it has a reference.
fn graded(graders: &Value, solved: bool) -> Project {
    let mut case = json!({
        "id": "capital", "input": "What is the capital of France?", "graders": graders,
    });
    if solved {
        case["solution"] = json!("Paris");
    }
    let eval = json!({"metadata": {"id": "judged", "name": "Judged"}, "test_cases": [case]});
    let suite = json!({"eval_suite": {"name": "Judges", "evals": [{"$ref": "judged.yaml"}]}});
    Project::with(&[
        ("suite.yaml", &suite.to_string()),
        ("judged.yaml", &eval.to_string()),
    ])
}

fn judge(server: &ModelServer, rubric: &str, more: &Value) -> Value {
    let config = json!({
        "model": "openai:judge", "base_url": server.url(), "api_key_env": KEY_ENV, "rubric": rubric,
    });
    let mut judge = json!({"type": "model", "config": config});
    for (key, value) in more.as_object().expect("a map") {
        judge[key] = value.clone();
    }
    judge
}

/// The judge that knows the answer.
fn knowing() -> ModelServer {
    ModelServer::start(|ask| {
        let asked = Asked::of(ask);
        let verdict = match asked.output().trim() {
            "Paris" => asked.best(),
            _ => asked.worst(),
        };
        say(ask, verdict.to_string())
    })
}

fn check(project: &Project, code: i32, more: &[&str]) -> Value {
    let args = [
        &["check", "--suite", "suite.yaml", "--format", "json"],
        more,
    ]
    .concat();
    let call = call(project, &args).expect(code);
    serde_json::from_str(&call.stdout).expect("JSON")
}

#[test]
fn judges_are_called_only_by_choice() {
    let server = ModelServer::start(|ask| say(ask, Asked::of(ask).best().to_string()));
    let report = check(&project(&server), 3, &[]);
    assert_eq!(server.asked(), 0);
    assert_eq!(report["left_out"][0]["reason"], "judges");
    assert_eq!(report["left_out"][0]["cases"]["first"][0], "judged/capital");
}

#[test]
fn judge_that_passes_only_the_reference_holds() {
    let server = knowing();
    let report = check(&project(&server), 0, &["--judges"]);
    assert_eq!(report["decision"], "holds");
    let probes = report["probes"].as_array().expect("a list").iter();
    let injections = probes.filter(|row| row["kind"] == "injection");
    assert_eq!(injections.filter(|row| row["failed"] == 1).count(), 5);
}

#[test]
fn judge_that_passes_everything_is_fooled() {
    let server = ModelServer::start(|ask| say(ask, Asked::of(ask).best().to_string()));
    let report = check(&project(&server), 1, &["--judges"]);
    let finding = &report["findings"][0];
    assert_eq!(finding["kind"], "judge_fooled");
    let probes = finding["probes"].as_array().expect("a list");
    assert!(
        probes.contains(&json!("asks to ignore the rubric")),
        "{probes:?}"
    );
    assert!(probes.len() >= 5, "{probes:?}");
}

#[test]
fn advising_judge_is_never_called_for_probes_of_code() {
    let server = knowing();
    let exact = json!({"type": "code", "config": {"method": "exact_match", "value": "Paris"}});
    let advising = judge(&server, "Is it kind?", &json!({"informative": true}));
    let project = graded(&json!([exact, advising]), true);
    for more in [&[][..], &["--judges"]] {
        let report = check(&project, 0, more);
        assert_eq!(report["proved_cases"], 1);
        assert_eq!(server.asked(), 0);
    }
}

#[test]
fn code_and_two_judges_count_their_case_once() {
    let server = knowing();
    let contains =
        json!({"type": "code", "config": {"method": "contains", "must_include": ["Paris"]}});
    let judges = [
        judge(&server, "Is the answer right?", &json!({})),
        judge(&server, "Is it the capital?", &json!({})),
    ];
    let graders = json!([contains, judges[0], judges[1]]);
    let report = check(&graded(&graders, true), 3, &[]);
    assert_eq!((server.asked(), &report["checked_cases"]), (0, &json!(0)));
    let number = |report: &Value, key: &str| report[key].as_u64().expect("a number");
    let report = check(&graded(&graders, true), 0, &["--judges"]);
    for key in ["checked_cases", "reference_cases", "proved_cases"] {
        assert_eq!(number(&report, key), 1, "{key}");
    }
    let report = check(
        &graded(&graders, false),
        1,
        &["--judges", "--require-references"],
    );
    assert_eq!(number(&report, "reference_cases"), 0);
    assert_eq!(report["without_reference"]["count"], 1);
    assert_eq!(report["findings"][0]["kind"], "no_reference");
}

#[test]
fn negated_judge_gets_the_reference_only() {
    // It looks for a fault: what it passes, fails.
    let server = ModelServer::start(|ask| say(ask, Asked::of(ask).worst().to_string()));
    let negated = json!([judge(
        &server,
        "Is the answer rude?",
        &json!({"negate": true})
    )]);
    let report = check(&graded(&negated, true), 0, &["--judges"]);
    assert_eq!((server.asked(), &report["proved_cases"]), (1, &json!(1)));
    let report = check(&graded(&negated, false), 3, &["--judges"]);
    assert_eq!(report["left_out"][0]["reason"], "negated_judges");
    assert_eq!(server.asked(), 1);
}

#[test]
fn spent_budget_leaves_the_check_incomplete() {
    let server = knowing();
    let report = check(
        &project(&server),
        3,
        &["--judges", "--budget", "tokens=1", "--jobs", "1"],
    );
    assert_eq!(report["decision"], "unknown");
    assert_eq!(report["findings"][0]["kind"], "unknown");
    assert!(server.asked() < 7, "{}", server.asked());
}
