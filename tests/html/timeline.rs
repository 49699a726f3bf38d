//! The timeline of a trajectory in a real browser: it opens, shows its steps, says what it omits,
//! and what an agent did is text.

use serde_json::{Value, json};

use crate::browser::{Visit, look_well};
use crate::support::Project;

const HOSTILE: &str = "</script><img src=x onerror=\"window.__hit='timeline'\"><script>window.__hit='timeline'</script>";

/// A step of an agent that calls a tool.
fn step(number: usize, texts: [&str; 4]) -> Value {
    let [message, tool, argument, result] = texts;
    let id = format!("call-{number}");
    json!({
        "step_id": number, "source": "agent", "message": message,
        "tool_calls": [{"tool_call_id": id, "function_name": tool, "arguments": {"command": argument}}],
        "observation": {"results": [{"source_call_id": id, "content": result, "extra": {"is_error": number == 2}}]},
        "metrics": {"prompt_tokens": 1300, "completion_tokens": 50, "cost_usd": 0.5},
    })
}

fn trajectory(agent: &str, steps: Vec<Value>) -> Value {
    let extra = json!({"denied": ["evil.example:443", HOSTILE], "incomplete": [HOSTILE]});
    json!({
        "schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": agent, "version": "1.0"},
        "steps": steps, "extra": extra,
    })
}

#[test]
fn timeline_opens_and_what_an_agent_did_is_text() {
    let hostile = vec![
        json!({"step_id": 1, "source": "user", "message": HOSTILE}),
        step(2, [HOSTILE; 4]),
        step(3, ["done", "Bash", &"x".repeat(300), "a result"]),
    ];
    let many = (1..400).map(|number| step(number, ["next", "Bash", "ls", "a"]));
    let lines = [
        json!({"case": "hostile", "output": "done", "trajectory": trajectory(HOSTILE, hostile)}),
        json!({"case": "many", "output": "done", "trajectory": trajectory("agent", many.collect())}),
    ];
    let expected = "expected: {type: contains, value: done}";
    let project = Project::with(&[
        (
            "suite.yaml",
            "eval_suite:\n  name: Timeline\n  evals: [{$ref: cases.yaml}]\n  target: {type: recorded, path: outputs.jsonl}\n",
        ),
        (
            "cases.yaml",
            &format!(
                "metadata: {{id: work, name: Work}}\ntest_cases:\n  - {{id: hostile, input: x, {expected}}}\n  - {{id: many, input: x, {expected}}}\n"
            ),
        ),
        (
            "outputs.jsonl",
            &lines.map(|line| format!("{line}\n")).concat(),
        ),
    ]);
    let suite = ["--suite", "suite.yaml", "--quiet"];
    project.call(&[&["run"][..], &suite].concat()).expect(0);
    let page = project.path().join("page.html");
    let render = [
        "report",
        "--run",
        "latest",
        "--format",
        "html",
        "--output",
        "page.html",
    ];
    project.call(&render).expect(0);
    let mut visits = Vec::new();
    for (theme, width) in [
        ("light", 1280),
        ("dark", 1280),
        ("light", 400),
        ("dark", 400),
    ] {
        let mut visit = Visit::to(&page).theme(theme).size(width, 900);
        for case in ["#case=work/hostile", "#case=work/many"] {
            visit = visit
                .ask("go", case)
                .ask("count", "#main .timeline")
                .click("#main .folded > summary")
                .ask("wait", "#main .timeline > .turn")
                .ask("count", "#main .timeline > .turn")
                .ask("text", "#main")
                .step("overflow")
                .ask("axe", json!(["serious", "critical"]))
                .step("strangers");
        }
        visits.push(visit);
    }
    let Some(seen) = look_well(&visits) else {
        return;
    };
    for (seen, visit) in seen.iter().zip(&visits) {
        let results = seen.results();
        let cases: &[[&Value; 6]] = results.as_chunks().0;
        for (case, steps, shown) in [
            (
                cases[0],
                3,
                ["failed", "1,300 tokens in, 50 out, $0.5000", "a result"],
            ),
            (
                cases[1],
                120,
                [
                    "279 steps of the middle are not shown.",
                    "399 steps, 399 tool calls, incomplete",
                    "next",
                ],
            ),
        ] {
            let [folded, opened, text, overflow, axe, strangers] = case;
            assert_eq!((folded, opened), (&json!(0), &json!(steps)), "{visit:?}");
            let text = text.as_str().unwrap();
            for part in shown.iter().chain(&[
                "The proxy of the agent refused evil.example:443, </script>",
                "Incomplete: </script>",
            ]) {
                assert!(text.contains(part), "{part} is not in {text}");
            }
            assert_eq!(overflow["wide"], 0, "{visit:?}: {overflow}");
            assert_eq!((axe, strangers), (&json!([]), &json!([])), "{visit:?}");
        }
    }
}
