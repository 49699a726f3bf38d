//! Graders of trajectories and tool calls over recorded outputs.

use std::fs;

use serde_json::{Value, json};

use crate::support::Project;

const SUITE: &str = "eval_suite:
  name: Agents
  target: {type: recorded, path: outputs.jsonl}
  evals: [{$ref: cases.yaml}]
  reporting: {format: [json]}
";

const RULES: &str = "{used: [Read, {name: Bash, max: 2}], order: [Read, Bash], arguments: {name: Read, args: {file_path: \
                     '{{any_regex(\"src/.*\")}}'}}, max_steps: 3, denied_commands: [rm, git push], recovers_from_errors: \
                     true, skill_not_used: '*'}";

const CALLS: &str = "{tools: {weather: {type: object, properties: {city: {type: string}}, required: [city]}}, expected: \
                     [{name: weather, args: {city: Paris}}, {name: weather, args: {city: Rome}}], threshold: 0.6}";

fn cases() -> String {
    let graders = [
        ("careful", format!("config: {RULES}")),
        ("careless", format!("config: {RULES}")),
        ("unknown", format!("config: {RULES}")),
        ("cut", format!("config: {RULES}")),
        (
            "negated",
            "negate: true, config: {not_used: Bash}".to_owned(),
        ),
        (
            "negated-unknown",
            "negate: true, config: {not_used: Bash}".to_owned(),
        ),
        ("calls", format!("config: {CALLS}")),
        ("invalid-calls", format!("config: {CALLS}")),
    ];
    let cases = graders.iter().map(|(id, grader)| {
        format!("  - {{id: {id}, input: Do it., grader: {{type: code, {grader}}}}}\n")
    });
    let cases: String = cases.collect();
    format!("metadata: {{id: agents, name: Agents}}\ntest_cases:\n{cases}")
}

fn trajectory(commands: &[(&str, bool)]) -> Value {
    let mut steps = vec![
        json!({"step_id": 1, "source": "user", "message": "Fix it."}),
        json!({"step_id": 2, "source": "agent", "message": "", "tool_calls": [
            {"tool_call_id": "r", "function_name": "Read", "arguments": {"file_path": "src/a.rs"}}],
            "observation": {"results": [{"source_call_id": "r", "content": "x", "extra": {"is_error": false}}]}}),
    ];
    for (command, failed) in commands {
        let step = steps.len() + 1;
        steps.push(json!({"step_id": step, "source": "agent", "message": "", "tool_calls": [
            {"tool_call_id": "b", "function_name": "Bash", "arguments": {"command": command}}],
            "observation": {"results": [{"source_call_id": "b", "content": "x", "extra": {"is_error": failed}}]}}));
    }
    json!({"schema_version": "ATIF-v1.8", "agent": {"name": "claude-code", "version": "2"}, "steps": steps})
}

fn project() -> Project {
    let careful = trajectory(&[("cargo test", true), ("cargo test", false)]);
    let careless = trajectory(&[("cd / && sudo /bin/rm -rf x", false)]);
    let mut cut = careful.clone();
    cut["extra"] = json!({"incomplete": ["the stream ends without its final event"]});
    let calls = |cities: &[Value]| {
        let calls = cities.iter().map(|city| {
            let arguments = json!({"city": city}).to_string();
            json!({"id": "c", "type": "function", "function": {"name": "weather", "arguments": arguments}})
        });
        json!({"text": "", "tool_calls": calls.collect::<Vec<_>>()})
    };
    let lines = [
        json!({"case": "careful", "output": "Done.", "trajectory": careful}),
        json!({"case": "careless", "output": "Done.", "trajectory": "careless.json"}),
        json!({"case": "unknown", "output": "Done."}),
        json!({"case": "cut", "output": "Done.", "trajectory": cut}),
        json!({"case": "negated", "output": "Done.", "trajectory": careful}),
        json!({"case": "negated-unknown", "output": "Done."}),
        json!({"case": "calls", "output": calls(&[json!("Rome"), json!("Oslo"), json!("Paris")])}),
        json!({"case": "invalid-calls", "output": calls(&[json!("Paris"), json!(7)])}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let project = Project::with(&[
        ("suite.yaml", SUITE),
        ("cases.yaml", &cases()),
        ("outputs.jsonl", &lines),
    ]);
    project.write("careless.json", &careless.to_string());
    project
}

fn outcomes(report: &Value) -> String {
    let evals = report["evals"].as_array().unwrap().iter();
    let cases = evals.flat_map(|eval| eval["cases"].as_array().unwrap());
    let lines = cases.map(|case| {
        let sample = &case["samples"][0];
        let word = |key: &str| sample[key].as_str().unwrap_or("-").to_owned();
        format!(
            "{}: {} {} {}",
            case["id"].as_str().unwrap(),
            word("outcome"),
            word("cause"),
            word("reason")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn trajectories_are_graded_in_runs_and_again_by_regrade() {
    let project = project();
    project
        .call(&["run", "--suite", "suite.yaml", "--quiet"])
        .expect(1);
    let report = outcomes(&project.report());
    insta::assert_snapshot!(report);
    // From what the journal keeps.
    fs::remove_file(project.path().join("careless.json")).unwrap();
    project
        .call(&["regrade", "--run", "latest", "--quiet"])
        .expect(1);
    assert_eq!(outcomes(&project.report()), report);
}
