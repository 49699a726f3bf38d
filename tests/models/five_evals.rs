//! The suite of `docs/getting-started.md`: at most 18 lines for five kinds of evals, run with good
//! and with bad answers.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::judge::{Asked, say};
use crate::model_server::{Ask, ModelServer, Step};
use crate::support::Project;

const FILE: &str = "evals/assistant.yaml";

/// The block of the page that is the suite.
fn suite() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/getting-started.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let (_, rest) = page
        .split_once(&format!("<!-- file: {FILE} -->\n```yaml\n"))
        .expect("the suite");
    let (suite, _) = rest.split_once("```\n").expect("its end");
    suite.to_owned()
}

fn outputs(answers: &[(&str, Value)]) -> String {
    let mut lines = String::new();
    for (case, output) in answers {
        writeln!(lines, "{}", json!({"case": case, "output": output})).expect("written");
    }
    lines
}

#[test]
fn five_kinds_of_evals_take_18_lines_and_tell_good_from_bad() {
    let suite = suite();
    assert!(suite.lines().count() <= 18, "{suite}");
    let judge = ModelServer::start(|ask: &Ask| {
        let asked = Asked::of(ask);
        let verdict = if asked.output().contains("waves") {
            asked.best()
        } else {
            asked.worst()
        };
        Step::from(say(ask, verdict.to_string()))
    });
    // The same suite, with the judge at hand in place of OpenAI's.
    let at_hand = format!(
        "  name: My assistant\n  providers: {{openai: {{base_url: \"{}\"}}}}\n",
        judge.url()
    );
    let project = Project::with(&[
        (FILE, &suite.replace("  name: My assistant\n", &at_hand)),
        (
            "good.jsonl",
            &outputs(&[
                ("capital", "Paris\n".into()),
                (
                    "add-function",
                    "```python\ndef add(a, b):\n    return a + b\n```".into(),
                ),
                ("poem", "The waves come in, the waves go out.".into()),
                ("greeting", "Hello!".into()),
                ("user", "{\"id\": 7, \"name\": \"Ann\"}".into()),
            ]),
        ),
        (
            "bad.jsonl",
            &outputs(&[
                ("capital", "It is Paris.".into()),
                (
                    "add-function",
                    "def add(a, b):\n    return abs(a) + b".into(),
                ),
                ("poem", "The trees are green.".into()),
                ("greeting", "Hi!".into()),
                ("user", json!({"name": "Ann", "id": 8})),
            ]),
        ),
    ]);
    let run = |outputs: &str| {
        project.call(&[
            "run",
            "--suite",
            FILE,
            "--outputs",
            outputs,
            "--progress",
            "none",
        ])
    };
    run("good.jsonl").expect(0);
    run("bad.jsonl").expect(1);
    let shown = project.call(&["show", "--suite", FILE]).stdout;
    insta::assert_snapshot!(shown, @"");
    let listed = project
        .call(&["list", "--suite", FILE, "--verbose"])
        .expect(0)
        .stdout;
    insta::assert_snapshot!(listed, @"");
}
