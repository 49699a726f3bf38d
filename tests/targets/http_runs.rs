//! Whole runs against HTTP services: secrets, retries, proxies, certificates, and what is refused
//! before anything runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::server::{Reply, Server};
use crate::support::Project;
use serde_json::{Value, json};

const RUN: [&str; 5] = ["run", "--suite", "suite.yaml", "--progress", "none"];

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

/// Panics where any of the texts stands below `results/` or was printed.
fn assert_nowhere(project: &Project, printed: &str, secrets: &[&str]) {
    let mut files = Vec::new();
    files_below(&project.path().join("results"), &mut files);
    assert!(files.len() >= 4, "{files:?}");
    let mut texts: Vec<(String, String)> = vec![("the output".to_owned(), printed.to_owned())];
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("a file")).into_owned();
        texts.push((file.display().to_string(), text));
    }
    for (place, text) in texts {
        for secret in secrets {
            assert!(
                !text.contains(secret),
                "{secret} stands in {place}:\n{text}"
            );
        }
    }
}

const SECRETS: &str = r#"
eval_suite:
  name: s
  vars: {token: none-given, key: none-given, url: ''}
  target: {type: http, base_url: "{{ url }}/api", headers: {Authorization: "Bearer {{ token }}"}}
  reporting: {format: [json, markdown, junit]}
  evals:
    - id: passes
      input: {type: api_call, endpoint: /a}
      expected: {type: contains, value: "/api/a"}
    - id: fails
      input: {type: api_call, method: POST, endpoint: /b, headers: {X-Api-Key: "{{ key }}", Cookie: "sid={{ key }}2; a=b"}, body: {a: 1}}
      expected: {type: exact, value: "something else"}
    - id: regression
      baseline: {output: {status: 200, body: {method: GET, headers: {authorization: "Basic dXNlcjpodW50ZXItMjIyMg=="}}}}
      current:
        input: {method: GET, endpoint: /c, headers: {authorization: "Basic dXNlcjpodW50ZXItMjIyMg=="}}
        execution: {type: http, headers: {X-Session-Token: "{{ key }}3"}}
    - id: userinfo
      baseline: {output: {status: 404}}
      current:
        input: {method: GET, endpoint: /c}
        execution: {type: http, base_url: "{{ url | replace('http://', 'http://me:password-4444@') }}"}
    - id: query
      input: {type: api_call, endpoint: "/e?api_key={{ key }}4&page_token=next-page-1", query: {access_token: "tok/query+7777"}}
      expected: {type: contains, value: "next-page-1"}
    - metadata: {id: rows, name: rows}
      dataset:
        path: rows.jsonl
        format: jsonl
        case:
          id: "{{ row.id }}"
          input: {type: api_call, endpoint: /d, headers: {X-Access-Token: "{{ row.t }}"}}
          expected: {type: contains, value: "/api/d"}
"#;

#[test]
fn a_token_is_written_nowhere_also_when_it_comes_back() {
    let server = Server::start(|request| {
        let plain = request
            .header("authorization")
            .unwrap_or_default()
            .replace("Bearer ", "seen: ");
        Reply::json(&request.echo()).with("x-token-was", &plain)
    });
    let project = Project::with(&[
        ("suite.yaml", SECRETS),
        (
            "rows.jsonl",
            "{\"id\": \"r1\", \"t\": \"row-token-1\"}\n{\"id\": \"r2\", \"t\": \"row-token-2\"}\n",
        ),
    ]);
    let url = format!("url={}", server.url());
    let vars = [
        "--var",
        &url,
        "--var",
        "token=tok-secret-1111",
        "--var",
        "key=key-secret-5555",
    ];
    let call = project.call(&[&RUN[..], &vars].concat()).expect(1);
    let secrets = [
        "tok-secret-1111",
        "key-secret-5555",
        "hunter-2222",
        "dXNlcjpodW50ZXItMjIyMg",
        "password-4444",
        "bWU6cGFzc3dvcmQtNDQ0NA",
        "tok/query+7777",
        "tok%2Fquery%2B7777",
        "row-token-1",
        "row-token-2",
    ];
    assert_nowhere(
        &project,
        &format!("{}{}", call.stdout, call.stderr),
        &secrets,
    );
    let report = project.report();
    let outcomes: Vec<&str> = report["evals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|eval| eval["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        ["passed", "failed", "passed", "failed", "passed", "passed"]
    );
    let journal = std::fs::read_to_string(project.result(".journal.jsonl")).unwrap();
    assert_eq!(journal.matches("\"redacted\":true").count(), 7, "{journal}");
    assert!(journal.contains("[redacted]") && journal.contains("page_token=next-page-1"));
    // They were sent, every one.
    let sent = format!("{:?}", server.received());
    for secret in [
        "tok-secret-1111",
        "key-secret-55553",
        "sid=key-secret-55552",
        "row-token-2",
        "bWU6cGFzc3dvcmQtNDQ0NA",
        "access_token=tok%2Fquery%2B7777",
    ] {
        assert!(sent.contains(secret), "{secret}: {sent}");
    }
}

#[test]
fn a_secret_at_the_wrong_place_is_not_repeated() {
    for (target, message) in [
        (
            "{type: http, base_url: '{{ env.TOKEN }}'}",
            "`[redacted]` is not an HTTP address",
        ),
        (
            "{type: command, command: ['{{ env.TOKEN }}']}",
            "the program `[redacted]` cannot be found",
        ),
    ] {
        let suite = format!(
            "eval_suite:\n  name: s\n  env: [TOKEN]\n  target: {target}\n  evals: [{{id: e, input: x, expected: {{type: exact, value: x}}}}]\n"
        );
        let project = Project::with(&[("suite.yaml", &suite)]);
        let output = project
            .command(&RUN)
            .env("TOKEN", "tok-secret-1111")
            .output()
            .unwrap();
        let call = crate::support::Call::of(output).expect(2);
        assert!(
            call.stderr.contains(message) && !call.stderr.contains("tok-secret"),
            "{}",
            call.stderr
        );
    }
}

#[test]
fn another_token_is_the_same_input_and_the_same_target() {
    let server = Server::start(|request| Reply::json(&request.echo()));
    let suite = "eval_suite:\n  name: s\n  vars: {token: x, url: '', plain: p}\n  target: {type: http, base_url: '{{ url }}', headers: \
                 {Authorization: 'Bearer {{ token }}'}}\n  evals:\n    - id: e\n      input: {type: api_call, endpoint: '/a?key={{ token }}', headers: \
                 {X-Api-Key: '{{ token }}', X-Plain: '{{ plain }}'}}\n      expected: {type: contains, value: '/a'}\n";
    let project = Project::with(&[("suite.yaml", suite)]);
    let url = format!("url={}", server.url());
    let first = [&RUN[..], &["--var", &url, "--var", "token=first-token"]].concat();
    project.call(&first).expect(0);
    let run = project.report()["metadata"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let lost = project
        .call(&[
            "run",
            "--resume",
            &run,
            "--progress",
            "none",
            "--samples",
            "2",
        ])
        .expect(2);
    assert!(
        lost.stderr.contains("pass them again: `--var token=...`"),
        "{}",
        lost.stderr
    );
    project
        .call(&["regrade", "--run", "latest", "--progress", "none"])
        .expect(3);
    let again = [
        "run",
        "--resume",
        &run,
        "--progress",
        "none",
        "--samples",
        "2",
        "--var",
    ];
    project
        .call(&[&again[..], &["token=second-token"]].concat())
        .expect(0);
    let sent: Vec<Option<String>> = server
        .received()
        .iter()
        .map(|request| request.header("x-api-key").map(str::to_owned))
        .collect();
    assert_eq!(
        sent,
        [
            Some("first-token".to_owned()),
            Some("second-token".to_owned())
        ]
    );
    let again = [
        "run",
        "--resume",
        &run,
        "--progress",
        "none",
        "--samples",
        "3",
        "--var",
    ];
    let refused = project
        .call(&[&again[..], &["plain=q", "--var", "token=second-token"]].concat())
        .expect(2);
    assert!(
        refused.stderr.contains("the input of"),
        "{}",
        refused.stderr
    );
}

fn one(target: &str) -> String {
    format!(
        "eval_suite:\n  name: s\n  target: {target}\n  evals:\n    - {{id: e, input: {{type: api_call, endpoint: /a}}, \
         expected: {{type: contains, value: fine}}}}\n"
    )
}

fn sample(project: &Project) -> Value {
    project.report()["evals"][0]["cases"][0]["samples"][0].clone()
}

#[test]
fn what_did_not_get_through_is_tried_again_as_often_as_was_said() {
    let calls = std::sync::Arc::new(AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&calls);
    let shaky = Server::raw(move |_, wire| {
        if count.fetch_add(1, Ordering::SeqCst) >= 2 {
            let _ = wire.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine");
        }
    });
    let target = |more: &str| format!("{{type: http, base_url: '{}'{more}}}", shaky.url());
    let project = Project::with(&[("suite.yaml", &one(&target("")))]);
    project.call(&RUN).expect(0);
    let journal = std::fs::read_to_string(project.result(".journal.jsonl")).unwrap();
    assert!(
        journal.contains("\"infrastructure_retries\":2"),
        "{journal}"
    );
    calls.store(0, Ordering::SeqCst);
    project.write("suite.yaml", &one(&target(", retries: 1")));
    project.call(&RUN).expect(3);
    assert_eq!(sample(&project)["cause"], "target_unreachable");
    assert_eq!(calls.load(Ordering::SeqCst), 2);

    // A server that is there and busy is an answer, once.
    let busy = Server::start(|_| Reply::status(503).with("retry-after", "0"));
    project.write(
        "suite.yaml",
        &one(&format!("{{type: http, base_url: '{}'}}", busy.url())),
    );
    project.call(&RUN).expect(1);
    assert_eq!(busy.received().len(), 1);
}

#[test]
fn a_body_above_the_bound_fails_and_a_post_without_an_answer_is_not_sent_again() {
    let large = Server::start(|_| Reply::new(200, "text/plain", vec![b'x'; 2000]));
    let project = Project::with(&[(
        "suite.yaml",
        &one(&format!(
            "{{type: http, base_url: '{}', max_body_bytes: 1000}}",
            large.url()
        )),
    )]);
    project.call(&RUN).expect(1);
    assert_eq!(sample(&project)["cause"], "output_limit");
    let silent = Server::raw(|_, _| {});
    let suite = one(&format!("{{type: http, base_url: '{}'}}", silent.url()));
    project.write(
        "suite.yaml",
        &suite.replace("api_call,", "api_call, method: POST,"),
    );
    project.call(&RUN).expect(3);
    let sample = sample(&project);
    assert_eq!(
        (&sample["cause"], silent.received().len()),
        (&json!("target_failed"), 1)
    );
}

#[test]
fn proxies_of_the_environment_are_used_but_not_for_this_machine() {
    let proxy = Server::start(|request| {
        Reply::new(
            200,
            "text/plain",
            format!("fine by proxy: {}", request.target),
        )
    });
    let direct = Server::start(|_| Reply::new(200, "text/plain", "fine"));
    let project = Project::new();
    for (url, proxied) in [
        ("http://service.invalid/base", true),
        (direct.url().as_str(), false),
    ] {
        project.write(
            "suite.yaml",
            &one(&format!("{{type: http, base_url: '{url}'}}")),
        );
        let output = project
            .command(&RUN)
            .env("HTTP_PROXY", proxy.url())
            .env("http_proxy", proxy.url())
            .env_remove("NO_PROXY")
            .env_remove("no_proxy")
            .output()
            .unwrap();
        crate::support::Call::of(output).expect(0);
        assert_eq!(sample(&project)["output"]["body"] == "fine", !proxied);
    }
    let seen: Vec<String> = proxy
        .received()
        .iter()
        .map(|request| request.target.clone())
        .collect();
    assert_eq!(seen, ["http://service.invalid/base/a"]);
}

#[test]
fn without_certificates_of_authorities_only_tls_is_impossible() {
    let plain = Server::start(|_| Reply::new(200, "text/plain", "fine"));
    let project = Project::new();
    let run = |url: &str, code: i32| {
        project.write(
            "suite.yaml",
            &one(&format!("{{type: http, base_url: '{url}'}}")),
        );
        let nowhere = project.path().join("nowhere.pem");
        let output = project
            .command(&RUN)
            .env("SSL_CERT_FILE", &nowhere)
            .env("SSL_CERT_DIR", project.path().join("nowhere"))
            .output()
            .unwrap();
        crate::support::Call::of(output).expect(code);
        sample(&project)["reason"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    run(&plain.url(), 0);
    let told = run(&plain.url().replace("http://", "https://"), 3);
    insta::assert_snapshot!(told.replace(&plain.port().to_string(), "PORT"), @"this machine has no CA certificates to verify 127.0.0.1:PORT with; install them (often the package `ca-certificates`), or set `ca_file` or SSL_CERT_FILE to a file of certificates");
}

#[test]
fn recorded_outputs_take_the_place_of_executions_too() {
    let suite = "- id: e\n  baseline: {output: {status: 200}}\n  current: {input: {method: GET, endpoint: /a}, execution: {type: http}}\n";
    let project = Project::with(&[
        ("suite.yaml", suite),
        (
            "out.jsonl",
            "{\"case\": \"e\", \"output\": {\"status\": 200}}\n",
        ),
    ]);
    project
        .call(&[&RUN[..], &["--outputs", "out.jsonl"]].concat())
        .expect(0);
    project.call(&["validate", "suite.yaml"]).expect(0);
}

#[test]
fn a_service_is_given_prompts_as_its_target_says() {
    let server = Server::start(|request| Reply::json(&request.echo()));
    let suite = format!(
        "eval_suite:\n  name: s\n  vars: {{m: small}}\n  target: {{type: http, base_url: '{}', endpoint: '/chat?q={{{{ prompt }}}}', \
         body: {{model: '{{{{ vars.m }}}}', text: '<{{{{ prompt }}}}>', facts: '{{{{ context }}}}'}}}}\n  evals:\n    - id: e\n      \
         input: {{type: prompt, content: 'a b&\"{{% raw %}}{{{{ input }}}}{{% endraw %}}', context: {{k: [1]}}}}\n      \
         expected: {{type: exact, value: x}}\n      extract: {{json_path: $.body.method}}\n",
        server.url()
    );
    let project = Project::with(&[("suite.yaml", &suite)]);
    project.call(&RUN).expect(1);
    let request = &server.received()[0];
    assert_eq!(request.target, "/chat?q=a%20b%26%22%7B%7B%20input%20%7D%7D");
    assert_eq!(
        request.text(),
        r#"{"model":"small","text":"<a b&\"{{ input }}>","facts":{"k":[1]}}"#
    );
    assert_eq!(sample(&project)["output"]["body"]["method"], "POST");
}

#[test]
fn bodies_of_api_calls_keep_the_order_of_their_keys() {
    let server = Server::start(|request| Reply::json(&request.echo()));
    let suite = format!(
        "eval_suite:\n  name: s\n  target: {{type: http, base_url: '{}'}}\n  evals:\n    - id: e\n      \
         input: {{type: api_call, method: POST, endpoint: /a, body: {{z: [{{y: 1, b: 2}}], a: 3}}}}\n      \
         expected: {{type: contains, value: x}}\n",
        server.url()
    );
    let project = Project::with(&[("suite.yaml", &suite)]);
    project.call(&RUN).expect(1);
    assert_eq!(
        server.received()[0].text(),
        r#"{"z":[{"y":1,"b":2}],"a":3}"#
    );
}

#[test]
fn what_is_wrong_with_a_request_is_said_before_anything_runs() {
    let mut told = String::new();
    let http = "{type: http, base_url: 'http://127.0.0.1:1/api'";
    for (target, call) in [
        ("{type: http, base_url: 'localhost:8080'}", "endpoint: /a"),
        ("{type: http, base_url: 'http://h/#x=1'}", "endpoint: /a"),
        ("{type: http}", "endpoint: /a"),
        (&format!("{http}, headers: {{'X Y': v}}}}"), "endpoint: /a"),
        (&format!("{http}, ca_file: gone.pem}}"), "endpoint: /a"),
        (&format!("{http}, ca_file: suite.yaml}}"), "endpoint: /a"),
        (
            &format!("{http}, body: '{{{{ prompt }}}}'}}"),
            "endpoint: /a",
        ),
        (
            &format!("{http}, endpoint: /a, body: '{{{{ prompt | upper }}}}'}}"),
            "endpoint: /a",
        ),
        (&format!("{http}}}"), "endpoint: 'http://other/api/a'"),
        (&format!("{http}}}"), "endpoint: ../admin"),
        (&format!("{http}}}"), "method: 'GE T', endpoint: /a"),
        (
            &format!("{http}}}"),
            "endpoint: /a, headers: {X-Token: \"secret-123\\nHost: evil\"}",
        ),
        (
            &format!("{http}}}"),
            "endpoint: /a, headers: {Content-Length: '3'}",
        ),
        (&format!("{http}}}"), "endpoint: /a, query: {a: {b: 1}}"),
        (&format!("{http}}}"), ""),
    ] {
        let suite = match call {
            "" => one(target).replace("{type: api_call, endpoint: /a}", "a prompt"),
            call => one(target).replace("endpoint: /a}, ex", &format!("{call}}}, ex")),
        };
        let project = Project::with(&[("suite.yaml", &suite)]);
        let call = project
            .call(&[&RUN[..], &["--color", "never"]].concat())
            .expect(2);
        told.push_str(&format!("{}\n", call.stderr.trim()));
    }
    insta::assert_snapshot!(told, @r#"
    error[EH0427]: `localhost:8080` is not an HTTP address
     --> suite.yaml:3:34
      |
    2 |   name: s
    3 |   target: {type: http, base_url: 'localhost:8080'}
      |                                  ^^^^^^^^^^^^^^^^
      |
      = help: an HTTP address begins with `http://` or `https://` and a host, such as `http://127.0.0.1:8080/api`

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: the address has a fragment (`#...`), which is never sent to a server; remove it
     --> suite.yaml:3:34
      |
    2 |   name: s
    3 |   target: {type: http, base_url: 'http://h/#x=1'}
      |                                  ^^^^^^^^^^^^^^^
      |
      = help: an HTTP address begins with `http://` or `https://` and a host, such as `http://127.0.0.1:8080/api`

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: the HTTP target has no `base_url`
     --> suite.yaml:3:11
      |
    2 |   name: s
    3 |   target: {type: http}
      |           ^^^^^^^^^^^^
      |
      = help: add `base_url: "http://..."`, or add a target of type `http` to the suite; executions without an address use it

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: `X Y` is not a header name; use letters, digits and `-`
     --> suite.yaml:3:70
      |
    3 | ...p://127.0.0.1:1/api', headers: {'X Y': v}}
      |                                    ^^^^^

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0302]: the file `gone.pem` does not exist
     --> suite.yaml:3:69
      |
    3 | ...p://127.0.0.1:1/api', ca_file: gone.pem}
      |                                   ^^^^^^^^
      |
      = help: the path is relative to the file that contains it

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: no certificate can be read from `suite.yaml`
     --> suite.yaml:3:69
      |
    3 | ...://127.0.0.1:1/api', ca_file: suite.yaml}
      |                                  ^^^^^^^^^^
      |
      = help: certificates in PEM begin with `-----BEGIN CERTIFICATE-----`

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: `body` requires an `endpoint`, which is missing
     --> suite.yaml:3:60
      |
    3 |   target: {type: http, base_url: 'http://127.0.0.1:1/api', body: '{{ prom...
      |                                                            ^^^^
      |
      = help: an `api_call` input has its own method, endpoint and body

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0403]: `{{ PROMPT }}` can't be filled in when the request is made
     --> suite.yaml:3:80
      |
    3 | ...i', endpoint: /a, body: '{{ prompt | upper }}'}
      |                            ^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: use only `{{ prompt }}`, `{{ messages }}`, `{{ context }}`, `{{ input }}`, without filters

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: the endpoint is not below the base address http://127.0.0.1:1/api
     --> suite.yaml:5:49
      |
    5 |     - {id: e, input: {type: api_call, endpoint: 'http://other/api/a'}, ex...
      |                                                 ^^^^^^^^^^^^^^^^^^^^
      |
      = help: write only the path; it is appended to http://127.0.0.1:1/api

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: the endpoint is not below the base address http://127.0.0.1:1/api
     --> suite.yaml:5:49
      |
    5 |     - {id: e, input: {type: api_call, endpoint: ../admin}, expected: {typ...
      |                                                 ^^^^^^^^
      |
      = help: write only the path; it is appended to http://127.0.0.1:1/api

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: `GE T` is not a method; write one word, such as GET or POST
     --> suite.yaml:5:47
      |
    5 |     - {id: e, input: {type: api_call, method: 'GE T', endpoint: /a}, expe...
      |                                               ^^^^^^

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: the value of the header `X-Token` contains a line break or another control character
    --> suite.yaml:5:72
     = help: does a variable or a file end with a line break?

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: the header `Content-Length` is computed from the request and can't be set
     --> suite.yaml:5:63
      |
    5 | ...ll, endpoint: /a, headers: {Content-Length: '3'}}, expected: {type: co...
      |                                ^^^^^^^^^^^^^^
      |
      = help: remove it

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: `a` must be a text, a number, true or false, or a list of these
     --> suite.yaml:5:64
      |
    5 |     - {id: e, input: {type: api_call, endpoint: /a, query: {a: {b: 1}}}, ...
      |                                                                ^^^^^^

    1 error
    error: 1 problem in the suite; nothing ran
    error[EH0427]: the target is an HTTP service, but this input is not an API call
     --> suite.yaml:5:22
      |
    4 |   evals:
    5 |     - {id: e, input: a prompt, expected: {type: contains, value: fine}}
      |                      ^^^^^^^^
      |
      = help: write `{method: GET, endpoint: /...}` (with `type: api_call` if the input has a `type`), or set the target's `endpoint`, and a `body` with `{{ prompt }}` or `{{ input }}`

    1 error
    error: 1 problem in the suite; nothing ran
    "#);
}
