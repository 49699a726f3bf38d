//! Whole runs against a model server: who stops asking, who keeps a secret, and who needs no
//! network at all.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use crate::model_runs::{Asking, Journal, KEY, KEY_ENV, RESUME, RUN};
use crate::model_server::{Act, After, ModelServer, Said, Step};
use crate::support::{Call, Project};

fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], args].concat()
}

#[test]
fn a_refused_key_and_an_unknown_model_stop_the_asking() {
    for (status, label) in [
        (401, "unauthorized"),
        (403, "unauthorized"),
        (404, "unknown_model"),
        (402, "no_credit"),
    ] {
        let server =
            ModelServer::start(move |_| Step::after(5, Act::Status(status, After::Unsaid)));
        let project = Asking {
            rows: 300,
            ..Asking::default()
        }
        .project(&server);
        let call = crate::model_runs::call(&project, &RUN).expect(3);
        let journal = Journal::latest(&project);
        assert!(
            (3..=8 + 3).contains(&server.asked()),
            "{status}: {} questions",
            server.asked()
        );
        let met = journal.count(|sample| sample.faults.get(label) == Some(&1));
        assert_eq!(
            (met, journal.requests()),
            (server.asked(), server.asked() as u64),
            "{status}"
        );
        assert_eq!(
            journal.count(|sample| sample.cause.as_deref() == Some("target_unreachable")),
            300
        );
        // Also those that were never asked say why.
        let reason = format!("scripted {status}");
        assert_eq!(
            journal.count(|sample| sample.reason.contains(&reason)),
            300,
            "{call_err}",
            call_err = call.stderr
        );
    }
}

#[test]
fn same_400_for_every_question_stops_the_asking() {
    let server = ModelServer::start(move |_| Step::after(5, Act::Status(400, After::Unsaid)));
    let project = Asking {
        rows: 300,
        ..Asking::default()
    }
    .project(&server);
    crate::model_runs::call(&project, &RUN).expect(3);
    assert!(
        (10..=10 + 8).contains(&server.asked()),
        "{} questions",
        server.asked()
    );
    let journal = Journal::latest(&project);
    let reason = "not called, because 10 calls in a row failed like this: ";
    assert_eq!(
        journal
            .count(|sample| sample.reason.starts_with(reason)
                && sample.reason.contains("scripted 400")),
        300 - server.asked()
    );
}

#[test]
fn a_server_that_is_not_there_is_unreachable() {
    let server = ModelServer::kind(0);
    server.down();
    let project = Asking {
        rows: 4,
        target: "retries: 1",
        ..Asking::default()
    }
    .project(&server);
    crate::model_runs::call(&project, &RUN).expect(3);
    let journal = Journal::latest(&project);
    assert_eq!(
        journal.count(|sample| sample.faults.get("unreachable") == Some(&2)),
        4
    );
    assert_eq!(
        journal.count(|sample| sample.cause.as_deref() == Some("target_unreachable")),
        4
    );
    assert_eq!(journal.requests(), 0, "nothing was sent");
    server.up();
    crate::model_runs::call(&project, &RESUME).expect(0);
    assert_eq!((server.asked(), server.answers()), (4, 4));
}

#[test]
fn no_more_questions_are_in_flight_than_the_suite_allows_and_all_that_it_allows() {
    let server = ModelServer::kind(60);
    let project = Asking {
        rows: 120,
        target: "max_concurrency: 24",
        ..Asking::default()
    }
    .project(&server);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.peak(), 24);
    assert!(
        server.connections() <= 30,
        "{} connections",
        server.connections()
    );
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.symlink_metadata().expect("metadata").is_dir() {
            true => files_below(&path, found),
            false if path.is_file() => found.push(path),
            false => {}
        }
    }
}

/// Panics where a text stands in any file of the project or was printed.
fn assert_nowhere(project: &Project, call: &Call, secret: &str) {
    let mut files = Vec::new();
    files_below(project.path(), &mut files);
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("a file")).into_owned();
        assert!(
            !text.contains(secret),
            "the key stands in {}:\n{text}",
            file.display()
        );
    }
    for text in [&call.stdout, &call.stderr] {
        assert!(!text.contains(secret), "{text}");
    }
}

/// A server that says the key wherever a server can.
fn indiscreet(ask: &crate::model_server::Ask) -> Act {
    let key = ask.key.clone().unwrap_or_default();
    let error = serde_json::json!({"error": {"type": "authentication_error", "message": format!("bad key: {key}")}});
    match ask.prompt.as_str() {
        "case 1" => Act::Body(400, error.to_string()),
        "case 2" => Act::Body(
            500,
            format!("<html><head><title>{key}</title></head>{key}</html>"),
        ),
        "case 3" => Act::Body(200, error.to_string()),
        "case 4" => Act::Body(200, format!("{key} is no JSON")),
        "case 5" => Act::Redirect(format!("http://127.0.0.1:1/{key}?key={key}")),
        "case 6" => Act::Body(
            200,
            format!("{{\"choices\": [{{\"message\": {{\"{key}\": 1}}}}]}}"),
        ),
        "case 7" => Act::Body(
            200,
            format!(
                "{{\"model\": \"{key}\", \"choices\": [{{\"message\": {{\"content\": \"right case 7 #\"}}, \"finish_reason\": \"{key}\"}}]}}"
            ),
        ),
        "case 8" => Act::Say(Said::new(format!("right case 8 # for {key}"), (3, 4))),
        "case 9" => Act::Body(
            429,
            error
                .to_string()
                .replace("bad key", "try again in 5ms, bad key"),
        ),
        _ => Act::Say(Said::right(ask)),
    }
}

#[test]
fn the_key_is_sent_and_stands_nowhere_whatever_the_server_says_of_it() {
    for model in ["openai:m-1", "anthropic:m-1"] {
        let server = ModelServer::start(indiscreet);
        let project = Asking {
            rows: 12,
            model,
            target: "retries: 1",
            ..Asking::default()
        }
        .project(&server);
        let call = crate::model_runs::call(&project, &with(&["--record", "kept", "-vv"]));
        assert!(
            matches!(call.code, Some(1 | 3)),
            "{}\n{}",
            call.stdout,
            call.stderr
        );
        let log = server.settled();
        assert!(
            log.iter()
                .all(|entry| entry.ask.key.as_deref() == Some(KEY)),
            "the key is sent"
        );
        let own = if model.starts_with("openai") {
            "authorization"
        } else {
            "x-api-key"
        };
        assert!(log.iter().all(|entry| entry.ask.header(own).is_some()));
        assert!(log.len() >= 14);
        assert!(project.path().join("kept").is_dir());
        assert_nowhere(&project, &call, KEY);
        let again = crate::model_runs::call(
            &project,
            &["report", "--run", "latest", "--format", "markdown"],
        )
        .expect(call.code.unwrap_or(0));
        assert_nowhere(&project, &again, KEY);
    }
}

#[test]
fn a_redirect_to_another_host_does_not_take_the_key_along() {
    for model in ["openai:m-1", "anthropic:m-1"] {
        let stranger = ModelServer::kind(0);
        let path = if model.starts_with("openai") {
            "chat/completions"
        } else {
            "messages"
        };
        let there = format!("{}/{path}", stranger.url());
        let server = ModelServer::start(move |_| Act::Redirect(there.clone()));
        let project = Asking {
            rows: 3,
            model,
            target: "retries: 0",
            ..Asking::default()
        }
        .project(&server);
        let call = crate::model_runs::call(&project, &RUN);
        assert_eq!(server.asked(), 3, "{}", call.stderr);
        assert!(
            server
                .settled()
                .iter()
                .all(|entry| entry.ask.key.as_deref() == Some(KEY))
        );
        for entry in stranger.settled() {
            let all = format!("{:?}{}", entry.ask.headers, entry.ask.body);
            assert!(!all.contains(KEY), "{all}");
        }
    }
}

#[test]
fn a_run_without_a_key_asks_nobody() {
    let server = ModelServer::kind(0);
    let project = Asking::default().project(&server);
    let output = crate::model_runs::command(&project, &RUN)
        .env_remove(KEY_ENV)
        .output()
        .expect("the program starts");
    let call = Call::of(output).expect(2);
    assert!(call.stderr.contains(KEY_ENV), "{}", call.stderr);
    assert_eq!(server.asked(), 0);
    assert!(!project.path().join("results").exists());
}

/// Case, sample, output, outcome, and tokens of question and answer.
type Row = (String, u64, Option<String>, String, Option<(u64, u64)>);

fn results(project: &Project) -> Vec<Row> {
    let journal = Journal::latest(project);
    let rows = journal.samples.into_values();
    rows.map(|s| (s.case, s.sample, s.output, s.outcome, s.usage))
        .collect()
}

#[test]
fn the_cache_answers_what_was_asked_and_nothing_else() {
    let server = ModelServer::kind(1);
    let asking = Asking {
        rows: 10,
        samples: 4,
        ..Asking::default()
    };
    let project = asking.project(&server);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.asked(), 40, "samples are independent");
    let first = results(&project);
    let texts: BTreeSet<_> = first.iter().map(|row| row.2.clone()).collect();
    assert_eq!(texts.len(), 40);

    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!((server.asked(), results(&project)), (40, first.clone()));
    let journal = Journal::latest(&project);
    assert_eq!(
        journal.count(|sample| sample.source == "cache" && sample.latency_ms.is_none()),
        40
    );
    assert_eq!(journal.requests(), 0);
    // The same answers cost the same, wherever they came from.
    let tokens: u64 = first
        .iter()
        .filter_map(|row| row.4)
        .map(|(input, output)| input + output)
        .sum();
    assert_eq!(
        project.report()["metrics"]["tokens"].as_f64(),
        Some(tokens as f64)
    );

    // Another question is another key: more samples, another setting.
    Asking {
        samples: 5,
        ..asking
    }
    .write(&project, &server.url());
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.asked(), 50);
    Asking {
        samples: 5,
        target: "temperature: 0.5",
        ..asking
    }
    .write(&project, &server.url());
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(server.asked(), 100);

    for mode in ["off", "refresh"] {
        let before = server.asked();
        crate::model_runs::call(&project, &with(&["--cache", mode])).expect(0);
        assert_eq!(server.asked(), before + 50, "--cache {mode}");
    }
    let fresh = results(&project);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!(results(&project), fresh, "`refresh` keeps what it was told");

    // Offline: everything is there, or it is missing by name.
    server.down();
    crate::model_runs::call(&project, &with(&["--cache", "only"])).expect(0);
    assert_eq!(results(&project), fresh);
    Asking {
        rows: 12,
        samples: 5,
        target: "temperature: 0.5",
        ..asking
    }
    .write(&project, &server.url());
    let output = crate::model_runs::command(&project, &with(&["--cache", "only"]))
        .env_remove(KEY_ENV)
        .output();
    Call::of(output.expect("the program starts")).expect(3);
    let journal = Journal::latest(&project);
    assert_eq!(journal.count(|sample| sample.outcome == "passed"), 50);
    assert_eq!(
        journal.count(|sample| sample.cause.as_deref() == Some("missing_output")),
        10
    );
}

#[test]
fn a_recording_gives_the_same_results_without_server_key_or_cache() {
    let server = ModelServer::start(|ask| {
        let right = Said::right(ask);
        match ask.prompt.as_str() {
            "case 2" => Act::Say(Said {
                end: crate::model_server::End::Length,
                text: "cut".into(),
                ..right
            }),
            "case 3" => Act::Say(Said {
                end: crate::model_server::End::Refused,
                ..right
            }),
            "case 4" => Act::Say(Said {
                tokens: None,
                ..right
            }),
            "case 5" => Act::Say(Said {
                text: "wröng \u{1f980} \"\\\n\u{7}".into(),
                ..right
            }),
            _ => Act::Say(right),
        }
    });
    let asking = Asking {
        rows: 12,
        samples: 3,
        ..Asking::default()
    };
    let project = asking.project(&server);
    crate::model_runs::call(&project, &with(&["--record", "kept"])).expect(1);
    let first = results(&project);
    server.down();
    std::fs::remove_dir_all(project.path().join("answers")).expect("a cache");
    let output = crate::model_runs::command(&project, &with(&["--replay", "kept"]))
        .env_remove(KEY_ENV)
        .output();
    Call::of(output.expect("the program starts")).expect(1);
    assert_eq!(results(&project), first);
    assert_eq!(
        Journal::latest(&project).count(|sample| sample.source == "recording"),
        36
    );
    assert_eq!(server.asked(), 36);
    // A question that was not recorded is missing, and the rest is as it was.
    Asking { rows: 13, ..asking }.write(&project, &server.url());
    crate::model_runs::call(&project, &with(&["--replay", "kept"])).expect(1);
    let journal = Journal::latest(&project);
    assert_eq!(
        journal.count(|sample| sample.cause.as_deref() == Some("missing_output")),
        3
    );
    assert_eq!(
        journal.count(|sample| sample.source == "recording" && sample.output.is_some()),
        36
    );
}

#[test]
fn two_runs_at_once_share_a_cache() {
    let server = ModelServer::kind(5);
    let asking = Asking {
        rows: 150,
        samples: 2,
        target: "max_concurrency: 16",
        ..Asking::default()
    };
    let (one, other) = (asking.project(&server), asking.project(&server));
    let cache = one.path().join("answers");
    let start = |project: &Project| {
        let mut command = crate::model_runs::command(project, &RUN);
        let command = command.env("EVAL_HARNESS_CACHE_DIR", &cache);
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the program starts")
    };
    let children = [start(&one), start(&other)];
    for child in children {
        Call::of(child.wait_with_output().expect("a child of ours")).expect(0);
    }
    assert!((300..=600).contains(&server.asked()), "{}", server.asked());
    let asked = server.asked() as u64;
    assert_eq!(
        Journal::latest(&one).requests() + Journal::latest(&other).requests(),
        asked
    );
    // From now on both are told the same.
    for project in [&one, &other] {
        let mut command = crate::model_runs::command(project, &RUN);
        Call::of(
            command
                .env("EVAL_HARNESS_CACHE_DIR", &cache)
                .output()
                .expect("the program starts"),
        )
        .expect(0);
    }
    assert_eq!(server.asked() as u64, asked);
    assert_eq!(results(&one), results(&other));
}

#[test]
fn a_budget_ends_the_asking_and_a_raised_one_goes_on() {
    let server = ModelServer::start(|ask| {
        Step::after(
            5,
            Act::Say(Said::new(format!("right {} #", ask.prompt), (30, 20))),
        )
    });
    let asking = Asking {
        rows: 200,
        target: "max_concurrency: 4",
        config: "budget: {tokens: 1000}",
        ..Asking::default()
    };
    let project = asking.project(&server);
    crate::model_runs::call(&project, &RUN).expect(3);
    // Twenty answers are paid for; those in flight when the last one came may come, too.
    let asked = server.asked();
    assert!((20..=20 + 4).contains(&asked), "{asked}");
    let journal = Journal::latest(&project);
    assert_eq!(journal.count(|sample| sample.outcome == "passed"), asked);
    let budget = journal
        .skipped
        .values()
        .filter(|cause| *cause == "budget")
        .count();
    assert_eq!(budget, 200 - asked, "{:?}", journal.skipped);
    let report = project.report();
    assert_eq!(
        report["metrics"]["tokens"].as_f64(),
        Some((asked * 50) as f64)
    );
    assert_eq!(report["gate"]["decision"], "incomplete");
    // What earlier sessions spent counts.
    crate::model_runs::call(&project, &RESUME).expect(3);
    assert!(
        server.asked() <= asked + 4,
        "{} and then {}",
        asked,
        server.asked()
    );
    crate::model_runs::call(
        &project,
        &[&RESUME[..], &["--budget", "tokens=1000000"]].concat(),
    )
    .expect(0);
    assert_eq!(server.asked(), 200);
}

#[test]
fn targets_of_one_command_share_its_budget() {
    let server = ModelServer::start(|ask| {
        Step::after(
            5,
            Act::Say(Said::new(format!("right {} #", ask.prompt), (30, 20))),
        )
    });
    let asking = Asking {
        rows: 20,
        ..Asking::default()
    };
    let project = asking.project(&server);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let target = suite
        .lines()
        .find_map(|line| line.trim().strip_prefix("target: "))
        .expect("a target");
    let large = target.replace("openai:m-1", "openai:m-2");
    assert_ne!(large, target);
    let both = suite.replace(
        &format!("target: {target}"),
        &format!("targets: {{small: {target}, large: {large}}}"),
    );
    project.write("suite.yaml", &both);
    let args = [
        &RUN[..],
        &[
            "--target",
            "small",
            "--target",
            "large",
            "--budget",
            "tokens=1500",
        ],
    ]
    .concat();
    let call = crate::model_runs::call(&project, &args).expect(3);
    // Thirty answers are paid for: twenty of the first, ten of the second.
    let asked = server.asked();
    assert!((30..=30 + 8).contains(&asked), "{asked}: {}", call.stderr);
    assert!(
        call.stdout.contains("PASS") && call.stdout.contains("INCOMPLETE"),
        "{}",
        call.stdout
    );
}

#[test]
fn a_user_without_rights_and_without_a_home_runs_it() {
    let server = ModelServer::kind(0);
    let project = Asking {
        rows: 20,
        ..Asking::default()
    }
    .project(&server);
    let mut command = crate::model_runs::command(&project, &RUN);
    command
        .env_remove("EVAL_HARNESS_CACHE_DIR")
        .env_remove("XDG_CACHE_HOME")
        .env("HOME", "/nonexistent");
    if std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
    {
        let mut files = vec![project.path().to_owned(), project.path().join(".git")];
        files_below(project.path(), &mut files);
        for file in files {
            std::os::unix::fs::chown(file, Some(65534), Some(65534)).expect("we are root");
        }
        command.uid(65534).gid(65534);
    }
    let call = Call::of(command.output().expect("the program starts")).expect(0);
    assert_eq!(
        (server.asked(), server.answers()),
        (20, 20),
        "{}",
        call.stderr
    );
    assert_eq!(
        Journal::latest(&project).count(|sample| sample.outcome == "passed"),
        20
    );
}

/// A suite of one question, whose answer must hold `Rome`.
fn rome(url: &str, target: &str) -> Project {
    let project = Project::new();
    let suite = format!(
        "eval_suite:\n  name: Rome\n  target: {{type: model, model: \"openai:m-1\", base_url: \"{url}\", api_key_env: {KEY_ENV}{target}}}\n  \
         evals: [{{id: e, input: \"Capital of France?\", expected: {{type: contains, value: Rome}}}}]\n  reporting: {{format: [json, html]}}\n"
    );
    project.write("suite.yaml", &suite);
    project
}

fn samples_of(project: &Project) -> serde_json::Value {
    project.report()["evals"][0]["cases"][0]["samples"][0].clone()
}

#[test]
fn reasoning_that_opens_an_answer_is_not_graded() {
    let server =
        ModelServer::start(|_| Act::Say(Said::new("<think>Rome? no</think> Paris", (5, 9))));
    let project = rome(&server.url(), "");
    crate::model_runs::call(&project, &RUN).expect(1);
    let sample = samples_of(&project);
    assert_eq!(
        (&sample["output"], &sample["thoughts"]),
        (&"Paris".into(), &"Rome? no".into())
    );
    let page = std::fs::read_to_string(project.result(".html")).expect("a page");
    assert!(
        page.contains("Rome? no"),
        "the page does not show the reasoning"
    );
    let kept = rome(&server.url(), ", thoughts: keep");
    crate::model_runs::call(&kept, &RUN).expect(0);
    assert_eq!(samples_of(&kept)["output"], "<think>Rome? no</think> Paris");
}

#[test]
fn reasoning_without_an_answer_is_errored_and_paid_for_once() {
    type Script = fn(&crate::model_server::Ask) -> Act;
    let unclosed: Script = |_| Act::Say(Said::new("<think>Rome, or is it", (5, 9)));
    let apart: Script = |_| {
        let message = serde_json::json!({"role": "assistant", "content": "", "reasoning_content": "Rome, or is it"});
        let body = serde_json::json!({
            "choices": [{"message": message, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 9},
        });
        Act::Body(200, body.to_string())
    };
    let scripts = [
        (unclosed, "the output ends during the reasoning"),
        (
            apart,
            "answered with reasoning (9 output tokens) and no text; raise `max_tokens`",
        ),
    ];
    for (script, reason) in scripts {
        let server = ModelServer::start(script);
        let project = rome(&server.url(), "");
        crate::model_runs::call(&project, &RUN).expect(3);
        let sample = samples_of(&project);
        assert_eq!(
            (&sample["outcome"], &sample["cause"]),
            (&"errored".into(), &"target_failed".into())
        );
        let said = sample["reason"].as_str().unwrap_or_default();
        assert!(said.contains(reason), "{said}");
        assert_eq!(server.asked(), 1, "{said}");
        // It is not kept: the next run asks again.
        crate::model_runs::call(&project, &RUN).expect(3);
        assert_eq!(server.asked(), 2, "{said}");
    }
}

#[test]
fn schema_keys_reach_the_server_in_their_order_and_the_query_of_a_base_url_too() {
    let bodies = std::sync::Arc::new(std::sync::Mutex::new(Vec::<(String, String)>::new()));
    let seen = std::sync::Arc::clone(&bodies);
    let server = crate::server::Server::start(move |request| {
        seen.lock()
            .expect("bodies")
            .push((request.target.clone(), request.text()));
        crate::server::Reply::json(&serde_json::json!({
            "choices": [{"message": {"content": "Rome"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 9},
        }))
    });
    let schema = "{type: object, properties: {reasoning: {type: string}, answer: {type: string}}}";
    let url = format!(
        "{}/openai/deployments/m?api-version=2024-06-01&x",
        server.url()
    );
    let project = rome(
        &url,
        &format!(", json_schema: {schema}, options: {{tools: [{{name: f, input: {schema}}}]}}"),
    );
    crate::model_runs::call(&project, &RUN).expect(0);
    let bodies = bodies.lock().expect("bodies");
    let (path, body) = bodies.first().expect("a question");
    assert_eq!(
        path,
        "/openai/deployments/m/chat/completions?api-version=2024-06-01&x"
    );
    let written = r#"{"type":"object","properties":{"reasoning":{"type":"string"},"answer":{"type":"string"}}}"#;
    assert!(
        body.contains(&format!(r#""schema":{written},"strict":true"#)),
        "{body}"
    );
    assert!(
        body.contains(&format!(r#""tools":[{{"name":"f","input":{written}}}]"#)),
        "{body}"
    );
}

/// Suites whose maps are not written in the order of the alphabet.
const UNSORTED: &str = r#"eval_suite:
  name: hashes
  targets:
    a: {type: model, model: "openai:m", base_url: "http://127.0.0.1:9/v1"}
    b: {type: model, model: "openai:m", base_url: "http://127.0.0.1:9/v1", json_schema: {type: object, properties: {reasoning: {type: string}, answer: {type: string}}, required: [reasoning, answer]}}
    c: {type: model, model: "openai:m", base_url: "http://127.0.0.1:9/v1", options: {tools: [{type: function, function: {name: f, parameters: {z: 1, a: 1.50}}}], seed: null}}
    d: {type: model, model: "http:m", base_url: "http://127.0.0.1:9", request: {body: {z: {q: "{{ prompt }}", b: 1}, a: "{{ json_schema }}"}, answer: $.a}}
    e: {type: model, model: "anthropic:m", base_url: "http://127.0.0.1:9/v1", system: s, temperature: 0, show_context: false}
  evals:
    - id: e1
      input: hello
      expected: hello
    - id: e2
      input: {type: prompt, content: q, context: {z: 1, a: [1, {y: 1, b: 2}]}}
      expected: x
      grader: {type: model, config: {model: "openai:judge", base_url: "http://127.0.0.1:9/v1", rubric: "Judge:\n1. **Style** (weight: 0.5)\n2. **Accuracy** (weight: 0.5)", options: {z: 1, a: 2}}}
    - id: e3
      input: {type: prompt, content: q}
      expected: {type: exact, value: {z: 1, a: 2}}
    - id: r1
      baseline: {output: {z: 1, a: 2}}
      current: {input: {z: 1, a: {y: 2, x: 1}}}
"#;

/// Digests of targets, inputs and gradings as version 0.1.0 has them in its journals: baselines and
/// resumed runs rest on them. They don't depend on the order of keys that requests keep.
#[test]
fn digests_are_those_of_earlier_versions() {
    let project = Project::new();
    project.write("suite.yaml", UNSORTED);
    std::fs::create_dir(project.path().join("kept")).expect("a folder");
    let mut found = BTreeSet::new();
    for target in ["a", "b", "c", "d", "e"] {
        let args = with(&["--replay", "kept", "--target", target]);
        crate::model_runs::call(&project, &args).expect(3);
        let journal = std::fs::read_to_string(project.result(".journal.jsonl")).expect("a journal");
        for name in ["target_hash", "input_hash", "grading_hash"] {
            let mark = format!("\"{name}\":\"");
            found.extend(
                journal
                    .split(&mark)
                    .skip(1)
                    .map(|rest| format!("{name} {}", &rest[..32])),
            );
        }
    }
    insta::assert_snapshot!(Vec::from_iter(found).join("\n"), @r"
    grading_hash 3667f0b96cd75096f69829f40a0bc6a2
    grading_hash 58413ddf870236e6203d02932390b133
    grading_hash 867a62e20776d9753d69ae32ff3ddb52
    grading_hash c0f17c3036c3e1b17774ca055fe4608e
    input_hash 206e5fb5fb0ec8926a3c41449b049042
    input_hash 85102bc8627dd35865da527254c6dd5f
    input_hash 9fe9aa94a807ec07957493029f6fb05d
    input_hash d95ad81dbe7027e9c539056c7a70a778
    target_hash 0b3105856eaf74cdd09cbc4295881434
    target_hash 0ff5f53684cdcf063df8e0a22924f73d
    target_hash 6c75d44fa82ffa1d6f64ee26d4074991
    target_hash 9ff0d44279bc819f473814524b0de94a
    target_hash f41ed26ed958265f6e2362f4c0e06d17
    ");
}

/// A key that is written into a header, as some providers want it, is needed where the model is
/// called, and nowhere else.
#[test]
fn a_key_in_a_header_is_not_needed_for_a_replay() {
    let server = ModelServer::kind(0);
    let asking = Asking {
        rows: 3,
        samples: 1,
        target: "headers: {api-key: \"{{ env.AZ }}\"}",
        ..Asking::default()
    };
    let project = asking.project(&server);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).expect("a suite");
    project.write(
        "suite.yaml",
        &suite.replace("  name: Proof\n", "  name: Proof\n  env: [AZ]\n"),
    );
    let run = |args: &[&str], key: Option<&str>| {
        let mut command = crate::model_runs::command(&project, &with(args));
        command.env_remove("AZ").envs(key.map(|key| ("AZ", key)));
        Call::of(command.output().expect("the program starts"))
    };
    run(&["--record", "kept"], Some("secret-of-azure")).expect(0);
    server.down();
    std::fs::remove_dir_all(project.path().join("answers")).expect("a cache");
    assert_eq!(
        run(&["--replay", "kept"], None)
            .expect(0)
            .stderr
            .matches("AZ")
            .count(),
        0
    );
    assert_eq!(
        Journal::latest(&project).count(|sample| sample.source == "recording"),
        3
    );
    let call = run(&["--cache", "off"], None).expect(2);
    assert!(
        call.stderr
            .contains("the environment variable `AZ` is not set"),
        "{}",
        call.stderr
    );
}
