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
    insta::assert_snapshot!(shown, @r#"
    ✗ capital  wrong_answer
      Input
      │ What is the capital of France? Answer in one word.
      Output
      │ It is Paris.
      ✗ exact_match: expected "Paris", got "It is Paris."
        expected  Paris
        actual    It is Paris.
      If the output is right: eval-harness accept capital --suite
      evals/assistant.yaml

    ✗ add-function  wrong_answer
      Input
      │ Write a Python function add(a, b).
      Output
      │ def add(a, b):
      │     return abs(a) + b
      ✗ code_execution: test 2 of 2 does not hold: assert add(-1, 1) == 0; the
        call returned 2

    ✗ poem  threshold
      Input
      │ Write a short poem about the sea.
      Output
      │ The trees are green.
      ✗ model: scored 1 of 1-5 (needs 3.8): overall 1
      Judged by model: failed; 1 of 1-5, needs 3.8

      Criterion  Weight  Score  Scale  Share
      overall     100 %      1    1-5  0.000
      Why       of 20 characters
      Feedback  as scripted

    ✗ greeting  wrong_answer
      Input
      │ Say hello
      Output
      │ Hi!
      ✗ structural_match: expected "Hello!", got "Hi!"
        expected  Hello!
        actual    Hi!
      If the output is right: eval-harness accept greeting --suite
      evals/assistant.yaml

    ✗ user  wrong_answer
      Input
      │ Give me the user as JSON
      Output
      │ {"id":8,"name":"Ann"}
      ✗ structural_match 0.500: id: expected 7, got 8
        - expected  + actual
        id
          - 7
          + 8
      If the output is right: eval-harness accept user --suite
      evals/assistant.yaml
    "#);
    let listed = project
        .call(&["list", "--suite", FILE, "--verbose"])
        .expect(0)
        .stdout;
    insta::assert_snapshot!(listed, @"
      Eval          Type        Cases  Graders           Baseline
      capital       capability      1  exact_match
      add-function  capability      1  code_execution
      poem          capability      1  model
      greeting      regression      1  structural_match  inline
      user          regression      1  structural_match  inline

    capital
      - exact_match (inferred) · evals/assistant.yaml:6:7 · asks openai:gpt-4o-mini

    add-function
      - code_execution · evals/assistant.yaml:9:7 · asks openai:gpt-4o-mini

    poem
      - model · evals/assistant.yaml:12:7 · asks openai:gpt-4o-mini
        judged by openai:gpt-4o: overall, from 1 to 5; passes at 70%

    greeting
      - structural_match (inferred) · evals/assistant.yaml:15:7 · asks
        openai:gpt-4o-mini

    user
      - structural_match (inferred) · evals/assistant.yaml:16:7 · asks
        openai:gpt-4o-mini

    5 evals, 5 cases
    ");
}
