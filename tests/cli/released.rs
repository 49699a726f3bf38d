//! pass@1 of the tasks that were released before and after the training cut-off of a model.

use serde_json::{Value, json};

use crate::benchmarks::{contest, lines, stdin};
use crate::server::{Reply, Server};
use crate::support::Project;

/// The reports of a run, from a model that solves the tasks of 2024.
struct Reports {
    json: Value,
    /// Those of a terminal, Markdown and HTML.
    texts: [String; 3],
}

fn reports(cutoff: &str) -> Reports {
    let server = Server::start(|request| {
        let right = request.text().contains("2024");
        let code = if right { "print(input())" } else { "print(0)" };
        Reply::json(&json!({
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": code}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1}, "model": "m",
        }))
    });
    let target = format!(
        "{{type: model, model: \"openai:m\", base_url: \"http://{}/v1\", api_key_env: RELEASED_TEST_KEY{cutoff}}}",
        server.address
    );
    let suite = format!(
        "eval_suite:\n  name: B\n  evals:\n    - metadata: {{id: b}}\n      dataset: {{format: livecodebench, path: lcb.jsonl, tests: public, prompt: \"{{{{ row.contest_date }}}}\"}}\n  target: {target}\n"
    );
    let days = ["2023-12-31", "2024-03-02", "2024-03-03"];
    let records: Vec<Value> = days
        .iter()
        .map(|day| {
            let tests = json!([stdin("1", "1")]);
            contest(
                day,
                &format!("{day}T00:00:00"),
                tests,
                "[]".to_owned(),
                json!({}),
            )
        })
        .collect();
    let project = Project::with(&[("suite.yaml", &suite), ("lcb.jsonl", &lines(&records))]);
    let mut run = project.command(&[
        "run",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--format",
        "json,markdown,html",
    ]);
    let output = run.env("RELEASED_TEST_KEY", "k").output().unwrap();
    let read = |ending: &str| std::fs::read_to_string(project.result(ending)).unwrap();
    let terminal = String::from_utf8_lossy(&output.stdout).into_owned();
    Reports {
        json: serde_json::from_str(&read(".json")).unwrap(),
        texts: [terminal, read(".md"), read(".html")],
    }
}

#[test]
fn pass_at_1_before_and_after_the_training_cutoff_is_reported() {
    // The day of the cut-off counts as before, and so does the whole of its month.
    for (cutoff, day, [until, after]) in [
        ("2024-03-02", "2024-03-02", [Some(0.5), Some(1.0)]),
        ("2024-03", "2024-03-31", [Some(2.0 / 3.0), None]),
    ] {
        let reports = reports(&format!(", training_cutoff: \"{cutoff}\""));
        let metrics = &reports.json["eval_report"]["metrics"];
        let value = |word: &str| metrics[format!("pass_at_1[released={word} {day}]")].as_f64();
        assert_eq!(
            [value("until"), value("after")],
            [until, after],
            "{metrics}"
        );
        for text in &reports.texts {
            assert!(text.contains(&format!("[released=until {day}")), "{text}");
            assert!(text.contains(&format!("[released=after {day}")), "{text}");
        }
    }
}

#[test]
fn without_a_date_as_cutoff_nothing_is_split() {
    for cutoff in ["", ", training_cutoff: spring of 2024"] {
        let reports = reports(cutoff);
        assert!(!reports.json.to_string().contains("[released="), "{cutoff}");
        for text in &reports.texts {
            assert!(!text.contains("[released="), "{text}");
        }
    }
}
