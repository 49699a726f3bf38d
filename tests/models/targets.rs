//! What is put to a model, and what becomes of its answers: inputs, contexts, benchmarks,
//! regressions, endings.

use crate::model_server::{Act, Ask, End, ModelServer, Said};
use crate::support::{Call, Project};
use serde_json::Value;

const RUN: [&str; 5] = ["run", "--suite", "suite.yaml", "--progress", "none"];

fn call(project: &Project, args: &[&str]) -> Call {
    let mut command = project.command(args);
    command
        .env("EVAL_HARNESS_CACHE_DIR", project.path().join("answers"))
        .env("MODEL_KEY", "sk-targets-123456");
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "OPENAI_API_KEY",
    ] {
        command.env_remove(name);
    }
    Call::of(command.output().expect("the program starts"))
}

fn say(text: &str) -> Act {
    Act::Say(Said::new(text, (10, 5)))
}

fn end(text: &str, end: End) -> Act {
    Act::Say(Said {
        end,
        ..Said::new(text, (10, 5))
    })
}

/// A suite with this target's settings beside its address, and these evals (each line indented by
/// four).
fn project(server: &ModelServer, target: &str, evals: &str) -> Project {
    let suite = format!(
        "eval_suite:\n  name: s\n  providers: {{local: {{base_url: \"{}\", api_key_env: MODEL_KEY, retries: 0}}}}\n  \
         target: {{type: model, model: \"local:m-1\"{target}}}\n  evals:\n{evals}",
        server.url()
    );
    Project::with(&[("suite.yaml", &suite)])
}

/// `case outcome cause: reason` of each case.
fn outcomes(report: &Value, server: &ModelServer) -> String {
    let mut told = String::new();
    for eval in report["evals"].as_array().expect("evals") {
        for case in eval["cases"].as_array().expect("cases") {
            let sample = &case["samples"][0];
            told.push_str(&format!(
                "{} {} {} {}.\n",
                case["id"].as_str().unwrap_or_default(),
                sample["outcome"].as_str().unwrap_or_default(),
                sample["cause"].as_str().unwrap_or("-"),
                sample["reason"].as_str().unwrap_or_default(),
            ));
        }
    }
    let host = server.url().replace("http://", "").replace("/v1", "");
    told.replace(&host, "HOST")
}

fn contents(body: &Value) -> String {
    let said = body["messages"].as_array().expect("messages").iter();
    let lines = said.map(|m| {
        format!(
            "[{}] {}",
            m["role"].as_str().unwrap_or("?"),
            m["content"].as_str().unwrap_or("?")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn inputs_are_put_as_messages_and_what_is_in_them_is_never_rendered() {
    let server = ModelServer::start(|_: &Ask| say("yes"));
    let evals = r#"    - metadata: {id: e}
      test_cases:
        - {id: prompt, input: "plain", expected: {type: contains, value: "yes"}}
        - {id: told, input: {type: prompt, content: "in {{ context.lang }}", context: {lang: Rust}}, expected: {type: contains, value: "yes"}}
        - {id: shown, input: {type: prompt, content: "sort", context: {lang: Rust}}, expected: {type: contains, value: "yes"}}
        - {id: file, input: {type: file, content: notes.md, context: "Be brief."}, expected: {type: contains, value: "yes"}}
        - id: talk
          input: {type: messages, messages: [{role: user, content: a}, {role: assistant, content: b}, {role: user, content: c}]}
          expected: {type: contains, value: "yes"}
"#;
    let project = project(
        &server,
        ", system: \"You are {{ who }}.\", temperature: 0, options: {top_k: 4}",
        evals,
    );
    project.write("notes.md", "{{ untouched }}\n");
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write(
        "suite.yaml",
        &suite.replace(
            "  evals:\n",
            "  vars: {who: terse}\n  config: {parallel_execution: false}\n  evals:\n",
        ),
    );
    call(&project, &RUN).expect(0);
    let log = server.settled();
    assert_eq!(log.len(), 5);
    assert!(
        log.iter()
            .all(|entry| entry.ask.key.as_deref() == Some("sk-targets-123456"))
    );
    assert!(log.iter().all(
        |entry| entry.ask.body["model"] == "m-1" && entry.ask.body["top_k"].as_u64() == Some(4)
    ));
    let asked = log
        .iter()
        .map(|entry| contents(&entry.ask.body))
        .collect::<Vec<_>>()
        .join("\n--\n");
    insta::assert_snapshot!(asked, @r#"
    [system] You are terse.
    [user] plain
    --
    [system] You are terse.
    [user] in Rust
    --
    [system] You are terse.
    [user] Context:

    ```json
    {
      "lang": "Rust"
    }
    ```

    sort
    --
    [system] You are terse.
    [user] Context:

    Be brief.

    {{ untouched }}

    --
    [system] You are terse.
    [user] a
    [assistant] b
    [user] c
    "#);
    let everything = call(&project, &["report", "--run", "latest", "--format", "json"]).stdout;
    assert!(!everything.contains("sk-targets"), "{everything}");
}

#[test]
fn how_an_answer_ends_is_part_of_what_it_is_worth() {
    let server = ModelServer::start(|ask: &Ask| match ask.prompt.as_str() {
        "cut" => end("the beginn", End::Length),
        "cut but right" => end("right", End::Length),
        "cut at once" => end("", End::Length),
        "declined" => end("I can't help with that.", End::Refused),
        "declined rightly" => end("right: I can't help with that.", End::Refused),
        "declined silently" => end("", End::Refused),
        "empty" => Act::Empty,
        _ => say("wrong"),
    });
    let ids = [
        "cut",
        "cut but right",
        "cut at once",
        "declined",
        "declined rightly",
        "declined silently",
        "empty",
        "other",
    ];
    let cases: String = ids
        .iter()
        .map(|id| {
            format!(
                "        - {{id: {id}, input: {id}, expected: {{type: contains, value: right}}}}\n"
            )
        })
        .collect();
    let project = project(
        &server,
        "",
        &format!("    - metadata: {{id: e}}\n      test_cases:\n{cases}"),
    );
    call(&project, &RUN).expect(1);
    insta::assert_snapshot!(outcomes(&project.report(), &server), @r#"
    cut failed wrong_answer the answer was truncated at the token limit: missing "right".
    cut but right passed - .
    cut at once errored target_failed HOST reached the token limit before the answer had any text; raise `max_tokens`.
    declined failed refused the model declined to answer: missing "right".
    declined rightly passed - .
    declined silently failed refused the model declined to answer, and gave no text.
    empty errored target_failed HOST answered with an empty text.
    other failed wrong_answer missing "right".
    "#);
    // What must not be there is not there, either, where nothing was said: that is no pass.
    let negative = project_without_words(&server);
    call(&negative, &RUN).expect(3);
    insta::assert_snapshot!(outcomes(&negative.report(), &server), @r"
    empty errored target_failed HOST answered with an empty text.
    cut errored target_failed HOST reached the token limit before the answer had any text; raise `max_tokens`.
    ");
}

fn project_without_words(server: &ModelServer) -> Project {
    let grader = "grader: {type: code, config: {method: contains, must_not_include: [secret]}}";
    let evals = format!(
        "    - metadata: {{id: e}}\n      test_cases:\n        - {{id: empty, input: empty, {grader}}}\n        - {{id: cut, input: cut at once, {grader}}}\n"
    );
    project(server, "", &evals)
}

const HUMANEVAL: &str = concat!(
    r#"{"task_id": "HumanEval/0", "prompt": "from typing import List\n\n\ndef has_close_elements(numbers: List[float], threshold: float) -> bool:\n"#,
    r#"    \"\"\" Check if in given list of numbers, are any two numbers closer to each other than given threshold.\n    \"\"\"\n", "#,
    r#""entry_point": "has_close_elements", "canonical_solution": "    return any(abs(a - b) < threshold for i, a in enumerate(numbers) for b in numbers[i + 1:])\n", "#,
    r#""test": "def check(candidate):\n    assert candidate([1.0, 2.0, 3.9], 0.3) == False\n    assert candidate([1.0, 1.1, 3.9], 0.3) == True\n"}"#,
    "\n"
);

const MBPP: &str = concat!(
    r#"{"task_id": 11, "text": "Write a python function to double a number.", "code": "def double(n):\n    return 2 * n", "#,
    r#""test_list": ["assert double(2) == 4", "assert double(-1) == -2"], "test_setup_code": "", "challenge_test_list": []}"#,
    "\n"
);

#[test]
fn benchmarks_ask_for_code_and_find_it_in_what_the_model_says() {
    let body = "    for i, a in enumerate(numbers):\n        for b in numbers[i + 1:]:\n            if abs(a - b) < threshold:\n                \
                return True\n    return False\n";
    let head = "from typing import List\n\ndef has_close_elements(numbers: List[float], threshold: float) -> bool:\n";
    let whole = format!("Here it is:\n\n```python\n{head}{body}```\nIt compares all pairs.");
    let rest = format!("The rest of it:\n\n```python\n{body}```\n");
    let bare = format!("{head}{body}");
    let wrong =
        "```python\ndef has_close_elements(numbers, threshold):\n    return False\n```".to_owned();
    let answers = [whole, rest, bare, wrong];
    let server = ModelServer::start(move |ask: &Ask| match ask.prompt.contains("double") {
        true => say("```python\ndef double(n):\n    return n + n\n```"),
        false => say(&answers[ask.nth % answers.len()]),
    });
    let evals = "    - {metadata: {id: he}, dataset: {path: he.jsonl, format: humaneval}, config: {samples: 4, parallel: false}}\n    \
                 - {metadata: {id: mbpp}, dataset: {path: mbpp.jsonl, format: mbpp}}\n    \
                 - {metadata: {id: own}, dataset: {path: mbpp.jsonl, format: mbpp, prompt: \"Do: {{ row.text }}\"}}\n";
    let project = project(&server, "", evals);
    project.write("he.jsonl", HUMANEVAL);
    project.write("mbpp.jsonl", MBPP);
    call(
        &project,
        &[&RUN[..], &["--jobs", "1", "--allow-unsandboxed"]].concat(),
    )
    .expect(1);
    let report = project.report();
    let samples = report["evals"][0]["cases"][0]["samples"]
        .as_array()
        .expect("samples");
    let outcomes: Vec<&str> = samples
        .iter()
        .map(|sample| sample["outcome"].as_str().unwrap_or("?"))
        .collect();
    assert_eq!(outcomes, ["passed", "passed", "passed", "failed"]);
    for eval in [1, 2] {
        assert_eq!(report["evals"][eval]["outcome"], "passed");
    }
    let log = server.settled();
    let prompts: Vec<&str> = log.iter().map(|entry| entry.ask.prompt.as_str()).collect();
    insta::assert_snapshot!(prompts[0], @r#"
    Complete this Python function. Answer with the whole function in one fenced code block.

    ```python
    from typing import List


    def has_close_elements(numbers: List[float], threshold: float) -> bool:
        """ Check if in given list of numbers, are any two numbers closer to each other than given threshold.
        """
    ```
    "#);
    insta::assert_snapshot!(prompts[4], @r"
    Write a python function to double a number.

    The code must pass these tests:

    ```python
    assert double(2) == 4
    assert double(-1) == -2
    ```

    Answer with the code in one fenced code block.
    ");
    assert_eq!(
        prompts[5],
        "Do: Write a python function to double a number."
    );
}

#[test]
fn a_regression_asks_a_model_and_its_answer_can_be_captured() {
    let server = ModelServer::start(|_: &Ask| say("{\"state\": \"sent\"}"));
    let evals = "    - {id: e, input: x, expected: {type: contains, value: sent}}\n    - id: reg\n      extract: json\n      current: {input: {order: 7}, execution: {type: model, seed: 3}}\n      \
                 comparison: {type: structural}\n";
    let project = project(&server, ", temperature: 0", evals);
    // Nothing to compare with yet.
    call(&project, &RUN).expect(3);
    call(
        &project,
        &[
            "baseline",
            "capture",
            "--suite",
            "suite.yaml",
            "--progress",
            "none",
        ],
    )
    .expect(0);
    call(
        &project,
        &["baseline", "accept", "--suite", "suite.yaml", "--all"],
    )
    .expect(0);
    call(&project, &RUN).expect(0);
    let own = server
        .settled()
        .into_iter()
        .find(|entry| entry.ask.body["seed"].is_number())
        .expect("an ask");
    assert_eq!(own.ask.body["temperature"].as_f64(), Some(0.0));
    assert_eq!(own.ask.prompt, "{\n  \"order\": 7\n}");
    let changed = ModelServer::start(|_: &Ask| say("{\"state\": \"lost\"}"));
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write("suite.yaml", &suite.replace(&server.url(), &changed.url()));
    call(&project, &[&RUN[..], &["--eval", "reg"]].concat()).expect(1);
}

#[test]
fn a_key_that_is_missing_ends_the_run_before_it_begins() {
    let server = ModelServer::start(|_: &Ask| say("yes"));
    let project = project(
        &server,
        ", api_key_env: NO_SUCH_KEY",
        "    - {id: e, input: x, expected: {type: contains, value: \"yes\"}}\n",
    );
    let told = call(&project, &RUN).expect(2);
    assert!(
        told.stderr.contains("EH0431") && told.stderr.contains("`NO_SUCH_KEY`"),
        "{}",
        told.stderr
    );
    call(&project, &["validate", "--suite", "suite.yaml"]).expect(0);
    call(&project, &["list", "--suite", "suite.yaml"]).expect(0);
    call(&project, &[&RUN[..], &["--dry-run"]].concat()).expect(0);
    assert!(!project.path().join("results").exists());
    assert_eq!(server.asked(), 0);
}

#[test]
fn a_dry_run_tells_how_many_calls_there_would_be_and_how_many_at_once() {
    let server = ModelServer::start(|_: &Ask| say("yes"));
    let evals = "    - {id: e, input: x, expected: {type: contains, value: \"yes\"}}\n";
    let project = project(&server, ", max_concurrency: 20", evals);
    let told = |more: &[&str]| {
        let shown = call(
            &project,
            &[&RUN[..], &["--dry-run", "--samples", "50"], more].concat(),
        )
        .expect(0)
        .stdout;
        let lines = shown.lines().map(str::trim_start).filter(|line| {
            ["samples ", "model ", "cost "]
                .iter()
                .any(|word| line.starts_with(word))
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(told(&[]), @"
    samples  50 (50 calls of the target, at most 20 at once)
    model    local:m-1, 50 calls, about 50 tokens of questions, no limit of
    cost     unknown: there is no price for local:m-1
    ");
    assert!(told(&["--jobs", "3"]).contains("at most 3 at once"));
    insta::assert_snapshot!(told(&["--cache", "only"]), @"
    samples  50 (no calls of the target)
    cost     none is known: no model is called
    ");
    assert_eq!(server.asked(), 0);
}

#[test]
fn a_latency_of_few_answers_does_not_pass_for_those_that_the_cache_gave() {
    let server = ModelServer::start(|_: &Ask| say("yes"));
    let grader = "expected: {type: contains, value: \"yes\"}";
    let project = project(
        &server,
        "",
        &format!("    - {{id: a, input: x, {grader}}}\n"),
    );
    let gate = [
        &RUN[..],
        &["--threshold", "latency_p95_ms=60000", "--verbose"],
    ]
    .concat();
    call(&project, &gate).expect(0);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write(
        "suite.yaml",
        &format!("{suite}    - {{id: b, input: other, {grader}}}\n"),
    );
    let told = words(&call(&project, &gate).expect(3).stdout);
    assert!(told.contains("1 of 2 samples have no latency"), "{told}");
    // Then all come from there.
    let told = words(&call(&project, &gate).expect(3).stdout);
    assert!(told.contains("2 of 2 samples have no latency"), "{told}");
    call(&project, &[&gate[..], &["--cache", "refresh"]].concat()).expect(0);
}

#[test]
fn who_only_grades_again_needs_no_price() {
    let server = ModelServer::start(|_: &Ask| say("yes"));
    let evals = "    - {id: a, input: x, expected: {type: contains, value: \"yes\"}}\n  config: {budget: {usd: 1}}\n";
    let price = ", price: {input_per_million: 1, output_per_million: 1}";
    let project = project(&server, price, evals);
    call(&project, &RUN).expect(0);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write("suite.yaml", &suite.replace(price, ""));
    call(&project, &RUN).expect(2);
    call(
        &project,
        &["regrade", "--run", "latest", "--progress", "none"],
    )
    .expect(0);
}

/// A page on one line.
fn words(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}
