//! What models, judges, servers, data sets and suites say is on the page as text, whatever it is:
//! it runs nothing, asks for nothing, opens nothing, hides nothing. With a real browser, under the
//! page's own policy.

use std::fmt::Write as _;

use crate::browser::{Visit, look_well};
use crate::judge::{Asked, say};
use crate::model_runs::KEY_ENV;
use crate::model_server::{Act, Ask, ModelServer, Said};
use crate::support::Project;
use serde_json::{Value, json};

/// Stands before a prompt whose answer is to be an error that holds the rest.
const ERROR: &str = "refuse: ";

/// Answers with what it was asked, as target, as judge and as a server that refuses.
fn parrot() -> ModelServer {
    ModelServer::start(|ask: &Ask| {
        if ask.prompt.contains("<<<OUTPUT") {
            let asked = Asked::of(ask);
            let mut verdict = asked.worst();
            verdict["justification"] = json!(asked.output());
            verdict["specific_feedback"] = json!([asked.output()]);
            return say(ask, verdict.to_string());
        }
        match ask.prompt.strip_prefix(ERROR) {
            Some(text) => Act::Body(
                400,
                json!({"error": {"type": text, "message": text}}).to_string(),
            ),
            None => Act::Say(Said::new(ask.prompt.as_str(), (3, 3))),
        }
    })
}

/// Ids are bounded, and so are some names.
fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

/// JSON whose control characters, C1 and noncharacters are escaped: files may not hold them as they
/// are.
pub fn escaped(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match u32::from(c) {
            code @ (0x7f..=0x9f | 0x2028..=0x2029 | 0xfeff | 0xfffe..=0xffff) => {
                let _ = write!(text, "\\u{code:04x}");
            }
            _ => text.push(c),
        }
    }
    text
}

/// As a suite writes a text that is no template.
fn raw(text: &str) -> String {
    match ["{{", "{%", "{#"].iter().any(|open| text.contains(open)) {
        true => format!("{{% raw %}}{text}{{% endraw %}}"),
        false => text.to_owned(),
    }
}

/// An eval that says a payload wherever it can.
fn eval(at: usize, payload: &str, server: &ModelServer) -> Value {
    let id = short(payload);
    let payload = raw(payload);
    let graders = json!([
        {"type": "code", "config": {"method": "exact_match"}},
        {"type": "model", "config": {
            "model": "openai:judge", "base_url": server.url(), "api_key_env": KEY_ENV, "max_chars": 3_000_000,
            "criteria": [{"name": raw(&id.chars().take(80).collect::<String>()), "description": payload.clone(), "weight": 1}],
        }},
    ]);
    let case = |case: String, prompt: String| {
        json!({
            "id": case, "name": raw(&id), "input": {"type": "prompt", "content": prompt, "context": {id.clone(): payload}},
            "expected": {"type": "exact", "value": format!("{payload} and more")}, "graders": graders,
            "tags": [id],
        })
    };
    // Hidden marks alone don't make ids differ for people; the number keeps two payloads that begin
    // alike apart.
    json!({
        "metadata": {"id": format!("{at} {id}"), "name": id, "category": id, "tags": [id], "description": payload},
        "test_cases": [case(id.clone(), payload.to_owned()), case(format!("{id} refused"), format!("{ERROR}{payload}"))],
    })
}

fn project(server: &ModelServer, payloads: &[(&str, String)]) -> Project {
    let project = Project::new();
    for (at, (_, payload)) in payloads.iter().enumerate() {
        project.write(
            &format!("evals/{at:03}.json"),
            &escaped(&eval(at, payload, server)),
        );
    }
    let every: String = payloads.iter().map(|(_, payload)| short(payload)).collect();
    let target = json!({"type": "model", "model": "openai:parrot", "base_url": server.url(), "api_key_env": KEY_ENV,
        "max_tokens": 100, "retries": 0});
    let suite = json!({"eval_suite": {
        "name": every, "version": short(&payloads[0].1), "description": every, "target": target,
        "evals": [{"$ref": "evals/*.json"}], "reporting": {"format": ["json"]},
    }});
    project.write("suite.yaml", &escaped(&suite));
    project
}

#[test]
fn every_payload_is_text_wherever_it_stands() {
    let payloads = crate::payloads::all();
    assert!(payloads.len() >= 60, "{}", payloads.len());
    let server = parrot();
    let project = project(&server, &payloads);
    let call = crate::model_runs::call(
        &project,
        &["run", "--suite", "suite.yaml", "--progress", "none", "-q"],
    );
    assert!(
        matches!(call.code, Some(1 | 3)),
        "{:?}\n{}\n{}",
        call.code,
        call.stdout,
        call.stderr
    );
    let page = project.path().join("page.html");
    project.call(&[
        "report",
        "--format",
        "html",
        "--output",
        "page.html",
        "--suite",
        "suite.yaml",
    ]);

    // Rows of a comparison open into the same texts.
    let journal = std::fs::read(project.result(".journal.jsonl")).expect("a journal");
    std::fs::write(project.path().join("copy.journal.jsonl"), journal).expect("a copy");
    project.call(&[
        "compare",
        "copy.journal.jsonl",
        "latest",
        "--format",
        "html",
        "--output",
        "comparison.html",
        "--suite",
        "suite.yaml",
    ]);
    let all: Vec<String> = payloads
        .iter()
        .map(|(_, payload)| payload.chars().take(150).collect())
        .collect();
    let comparison = Visit::to(&project.path().join("comparison.html"))
        .ask("evaluate", "(document.querySelectorAll('button.more').forEach((more) => { while (!more.hidden) more.click(); }), \
            dispatchEvent(new Event('beforeprint')), document.querySelectorAll('.flip .opened .run').length)")
        .ask("shows", json!(["#main", all]))
        .step("strangers");
    if let Some(seen) = look_well(&[comparison]) {
        let results = seen[0].results();
        assert!(
            results[0].as_u64() >= Some(payloads.len() as u64),
            "{}",
            results[0]
        );
        let shown = results[1].as_array().expect("counts");
        assert!(
            shown.iter().all(|times| times.as_u64() >= Some(4)),
            "{shown:?}"
        );
        assert_eq!(*results[2], json!([]));
    }

    let mut visit = Visit::to(&page)
        .step("strangers")
        .ask("go", "#view=cases")
        .step("strangers");
    for (at, (_, payload)) in payloads.iter().enumerate() {
        let (eval, case) = (format!("{at} {}", short(payload)), short(payload));
        let beginning: String = payload.chars().take(150).collect();
        for case in [case.clone(), format!("{case} refused")] {
            visit = visit
                .ask("open", json!([eval, case]))
                .ask("shows", json!(["#main", [beginning]]))
                .step("strangers");
        }
    }
    let Some(seen) = look_well(&[visit.clone(), visit.size(400, 800).theme("dark")]) else {
        return;
    };
    for seen in seen {
        let results = seen.results();
        let (views, cases) = results.split_at(2);
        assert!(views.iter().all(|found| **found == json!([])), "{views:?}");
        for (at, [shows, strangers]) in cases.as_chunks::<2>().0.iter().enumerate() {
            let (name, _) = payloads[at / 2];
            assert_eq!(**strangers, json!([]), "{name}");
            let times = shows[0].as_u64().expect("a count");
            assert!(
                times >= if at % 2 == 0 { 4 } else { 3 },
                "{name} is shown {times} times"
            );
        }
    }
}
