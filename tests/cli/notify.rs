//! Channels that are told of a run, against servers and programs that misbehave. Whatever they do,
//! the gate's exit code stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::server::{Reply, Server, hang};
use crate::support::{Call, Project, eventually};
use serde_json::{Value, json};

/// A suite of one eval whose cases answer with their own input, with these channels.
fn project(expected: &str, notify: &str) -> Project {
    let suite = format!(
        "eval_suite:
  name: support
  target: {{type: echo}}
  reporting: {{notify_on_failure: true, format: [markdown]}}
  notify:
{notify}
  evals:
    - id: greets
      input: {{type: prompt, content: hello}}
      expected: {{type: exact, value: {expected}}}
      grader: {{type: code, config: {{method: exact_match}}}}
"
    );
    Project::with(&[("suite.yaml", &suite)])
}

fn run(project: &Project, env: &[(&str, &str)]) -> Call {
    let mut command = project.command(&["run", "--suite", "suite.yaml", "--quiet"]);
    Call::of(
        command
            .envs(env.iter().copied())
            .output()
            .expect("the program starts"),
    )
}

/// What stderr says of channels.
fn warned(call: &Call) -> String {
    call.stderr
        .lines()
        .filter(|line| line.contains("notify:"))
        .collect::<Vec<_>>()
        .join("\n")
}

const HOOK: &str = "    - {type: webhook, url_env: HOOK, timeout_seconds: 5}";
const PATH: &str = "/services/T0SECRET/B0SECRET?key=s3cr3t";

#[test]
fn a_webhook_is_told_of_what_failed_and_not_of_a_pass() {
    let server = Server::start(|_| Reply::new(200, "text/plain", "ok"));
    let url = format!("{}{PATH}", server.url());
    run(&project("hello", HOOK), &[("HOOK", &url)]).expect(0);
    assert_eq!(server.received().len(), 0);
    let call = run(&project("bye", HOOK), &[("HOOK", &url)]).expect(1);
    assert_eq!(warned(&call), "");
    let received = server.received();
    assert_eq!(received.len(), 1);
    assert_eq!(
        (received[0].method.as_str(), received[0].target.as_str()),
        ("POST", PATH)
    );
    assert_eq!(received[0].header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_slice(&received[0].body).expect("JSON");
    let text = body["text"].as_str().expect("a text");
    let steady: String = text
        .lines()
        .filter(|line| !line.starts_with("Run") && !line.starts_with("Report"))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!(steady, @"
    ❌ *FAIL* suite `support` (exit code 1)
    • `1 eval (greets) failed`
    • failed case `greets`
    ");
    assert!(
        text.contains("\nReport `results/") && text.contains(".md`"),
        "{text}"
    );
}

#[test]
fn always_is_told_of_passes_too_with_headers_and_a_body_of_its_own() {
    let server = Server::start(|_| Reply::status(204));
    let hook = "    - type: webhook
      url_env: HOOK
      on: always
      format: json
      headers: {X-Team: evals}
      headers_env: {Authorization: TOKEN}
      body: {say: \"{{ suite }} is {{ decision }}\", code: \"{{ exit_code }}\"}";
    let call = run(
        &project("hello", hook),
        &[("HOOK", &server.url()), ("TOKEN", "Bearer abcdef")],
    )
    .expect(0);
    assert_eq!(warned(&call), "");
    let received = server.received();
    assert_eq!(received[0].header("authorization"), Some("Bearer abcdef"));
    assert_eq!(received[0].header("x-team"), Some("evals"));
    let body: Value = serde_json::from_slice(&received[0].body).expect("JSON");
    assert_eq!(body, json!({"say": "support is pass", "code": 0}));
}

/// Calls a server with the webhook of a failed run; what was warned of, and how often it was asked.
fn told_by(server: &Server, hook: &str) -> (String, usize) {
    let url = format!("{}{PATH}", server.url());
    let call = run(&project("bye", hook), &[("HOOK", &url)]).expect(1);
    for secret in ["T0SECRET", "B0SECRET", "s3cr3t"] {
        assert!(
            !call.stderr.contains(secret) && !call.stdout.contains(secret),
            "{}",
            call.stderr
        );
    }
    let port = server.port().to_string();
    (
        warned(&call).replace(&port, "PORT"),
        server.received().len(),
    )
}

#[test]
fn a_server_that_comes_back_is_told() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::status(500),
        1 => Reply::status(429).with("retry-after", "1"),
        _ => Reply::status(200),
    });
    assert_eq!(told_by(&server, HOOK), (String::new(), 3));
}

#[test]
fn a_connection_that_is_lost_is_made_again_and_given_up_in_the_end() {
    let server = Server::raw(|_, _| {});
    let hook = "    - {type: webhook, name: team, url_env: HOOK, retries: 1}";
    let (warned, calls) = told_by(&server, hook);
    assert_eq!(calls, 2);
    insta::assert_snapshot!(warned, @"warning: notify: team: 127.0.0.1:PORT closed the connection without an answer (tried 2 times)");
}

#[test]
fn who_asks_to_wait_too_long_is_not_waited_for() {
    let server = Server::start(|_| Reply::status(429).with("retry-after", "86400"));
    let (warned, calls) = told_by(&server, HOOK);
    assert_eq!(calls, 1);
    insta::assert_snapshot!(warned, @"warning: notify: webhook 1: the server answers 429 and requests a wait of 86400 s, but the longest wait is 30 s");
}

#[test]
fn a_refusal_is_not_repeated_and_its_words_are_shown_without_secrets() {
    let server = Server::start(|request| {
        Reply::new(
            404,
            "text/plain",
            format!(
                "no_service\n{} \u{1b}[2J{}",
                request.target,
                "x".repeat(9000)
            ),
        )
    });
    let (warned, calls) = told_by(&server, HOOK);
    assert_eq!(calls, 1);
    insta::assert_snapshot!(warned, @"warning: notify: webhook 1: the server answers 404: no_service [redacted] xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…");
}

#[test]
fn redirects_are_not_followed() {
    let other = Server::start(|_| Reply::status(200));
    let target = format!("{}/elsewhere", other.url());
    let server = Server::start(move |_| Reply::redirect(307, &target));
    let (warned, calls) = told_by(&server, HOOK);
    assert_eq!((calls, other.received().len()), (1, 0));
    insta::assert_snapshot!(warned, @"warning: notify: webhook 1: the server answers 307; redirects are not followed");
}

#[test]
fn a_server_that_hangs_does_not_hold_the_gate() {
    let server = Server::raw(|_, wire| hang(wire));
    let (warned, calls) = told_by(
        &server,
        "    - {type: webhook, url_env: HOOK, timeout_seconds: 0.3}",
    );
    assert_eq!(calls, 1, "who may have got the message is not told again");
    insta::assert_snapshot!(warned, @"warning: notify: webhook 1: 127.0.0.1:PORT did not answer within 0.3 s");
}

#[test]
fn an_answer_without_end_is_not_read() {
    let server = Server::raw(|_, wire| {
        let _ = wire.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        let block = [b'x'; 65536];
        while wire.write_all(&block).is_ok() {}
    });
    assert_eq!(told_by(&server, HOOK), (String::new(), 1));
    let server = Server::raw(|_, wire| {
        let _ = wire.write_all(b"HTTP/1.1 403 No\r\nconnection: close\r\n\r\n");
        let block = [b'x'; 65536];
        while wire.write_all(&block).is_ok() {}
    });
    let (warned, calls) = told_by(&server, HOOK);
    assert_eq!(calls, 1);
    assert!(
        warned.starts_with("warning: notify: webhook 1: the server answers 403: xxx"),
        "{warned}"
    );
    assert!(warned.len() < 400);
}

#[test]
fn no_tls_no_host_no_variable() {
    let plain = Server::unread(|wire| _ = wire.write_all(b"HTTP/1.1 400 Bad\r\n\r\n"));
    let url = format!("https://{}/hook-secret", plain.address);
    let call = run(
        &project("bye", "    - {type: webhook, url_env: HOOK, retries: 0}"),
        &[("HOOK", &url)],
    )
    .expect(1);
    insta::assert_snapshot!(warned(&call).replace(&plain.port().to_string(), "PORT"), @"warning: notify: webhook 1: no TLS connection to 127.0.0.1:PORT: it does not use TLS; if it speaks plain HTTP, write `http://`");
    assert!(!call.stderr.contains("hook-secret"));
    for (hook, expected) in [
        ("", "the environment variable HOOK is not set"),
        (
            "not an address: secret",
            "its address is not valid: write `http://` or `https://` and a host",
        ),
    ] {
        let call = run(&project("bye", HOOK), &[("HOOK", hook)]).expect(1);
        assert_eq!(
            warned(&call),
            format!("warning: notify: webhook 1: {expected}")
        );
    }
}

#[test]
fn a_command_reads_the_message_as_json() {
    let notify = "    - {type: command, command: [sh, -c, 'cat > told.json; echo noise']}";
    let project = project("bye", notify);
    let call = run(&project, &[]).expect(1);
    assert_eq!(warned(&call), "");
    assert!(!call.stdout.contains("noise"));
    let told = std::fs::read_to_string(project.path().join("told.json")).expect("it was told");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(
        told["failures"][0],
        json!({"kind": "case", "id": "greets", "name": "greets", "outcome": "failed"})
    );
    assert_eq!(
        (&told["decision"], &told["exit_code"]),
        (&json!("fail"), &json!(1))
    );
    assert_eq!(told["metrics"]["pass_at_1"], json!(0.0));
}

#[test]
fn commands_that_fail_or_hang_are_ended_with_all_that_they_started() {
    let notify = "    - {type: command, name: broken, command: [sh, -c, 'echo first >&2; echo no such room >&2; exit 3']}
    - {type: command, name: endless, command: [sh, -c, 'sleep 1000 & echo $! > pid; wait'], timeout_seconds: 0.5}
    - {type: command, name: last, command: [sh, -c, 'exec cat > last.json']}";
    let project = project("bye", notify);
    let call = run(&project, &[]).expect(1);
    insta::assert_snapshot!(warned(&call), @"
    warning: notify: broken: it exited with code 3: no such room
    warning: notify: endless: it did not end within 0.5 s; it and all processes that it started were stopped
    ");
    let pid = std::fs::read_to_string(project.path().join("pid")).expect("it started");
    let proc = format!("/proc/{}", pid.trim());
    eventually("the child of the command ends", || {
        !std::path::Path::new(&proc).exists()
    });
    assert!(
        project.path().join("last.json").exists(),
        "the next channel is told"
    );
}

#[test]
fn what_a_command_says_of_a_secret_is_not_told() {
    let notify = "    - {type: command, command: [sh, -c, 'echo refused: $PAGER_TOKEN $TEAM_WEBHOOK_URL >&2; exit 1']}";
    let hook = "https://hooks.example.org/services/T0/B0";
    let call = run(
        &project("bye", notify),
        &[("PAGER_TOKEN", "pt-0123456789"), ("TEAM_WEBHOOK_URL", hook)],
    );
    insta::assert_snapshot!(warned(&call.expect(1)), @"warning: notify: command 1: it exited with code 1: refused: [redacted] [redacted]");
}

#[test]
fn what_is_wrong_with_channels_is_found_before_anything_runs() {
    let notify = "    - {type: webhook}
    - {type: webhook, url: 'http://127.0.0.1/x', url_env: HOOK}
    - {type: webhook, url: 'ftp://secret-host/x'}
    - {type: webhook, url: 'http://127.0.0.1/{{ vars.x }}'}
    - {type: webhook, url_env: HOOK, headers: {'X Y': v}}
    - {type: webhook, url_env: HOOK, body: {text: '{{ reason }}'}}
    - {type: webhook, url_env: HOOK, body: {text: '{{ reasons '}}
    - {type: command, command: [no-such-program-anywhere]}";
    let call = run(&project("bye", notify), &[]).expect(2);
    let heads: Vec<&str> = call
        .stderr
        .lines()
        .filter(|line| {
            ["error", "warning", " = help"]
                .iter()
                .any(|word| line.contains(word))
        })
        .collect();
    insta::assert_snapshot!(heads.join("\n"), @"
    error[EH0427]: the webhook has no address
      = help: add `url_env:` with the name of an environment variable that contains it
    error[EH0208]: use `url` or `url_env`, not both
      = help: keep one
    error[EH0427]: this is not an HTTP address
     = help: an HTTP address begins with `http://` or `https://` and a host
    error[EH0427]: `url` can't be a template
     = help: put an address that varies into an environment variable, and set `url_env: NAME`
    error[EH0427]: `X Y` is not a header name; use letters, digits and `-`
    error[EH0404]: `reason` is not available in a message
       = help: did you mean `reasons`? a message can use suite, phase, decision, exit_code, reasons, failures, more_failures, metrics, run_id, report
    error[EH0403]: the template cannot be rendered: syntax error: unexpected end of input, expected end of variable block
       = help: write `{% raw %}...{% endraw %}` around braces that are not a template
    error[EH0415]: the program `no-such-program-anywhere` cannot be found
       = help: install it, or give its path
    8 errors
    error: 8 problems in the suite; nothing ran
    ");
    let call = run(&project("bye", "    - {type: pigeon}"), &[]).expect(2);
    assert!(
        call.stderr.contains(
            "`pigeon` is not a valid value of `type`: expected one of `webhook`, `command`"
        ),
        "{}",
        call.stderr
    );
}

#[test]
fn a_flag_without_channels_and_channels_without_a_flag_are_warned_of() {
    let with = |lines: &str| {
        let suite = format!(
            "eval_suite:
  name: s
  target: {{type: echo}}
{lines}
  evals: [{{id: a, input: {{type: prompt, content: x}}, expected: {{type: exact, value: x}}, grader: {{type: code, config: {{method: exact_match}}}}}}]
"
        );
        let project = Project::with(&[("suite.yaml", &suite)]);
        let call = project
            .call(&["validate", "--suite", "suite.yaml"])
            .expect(0);
        let told = call.stderr + &call.stdout;
        told.split_whitespace()
            .filter(|word| *word != "│")
            .collect::<Vec<_>>()
            .join(" ")
    };
    let told = with("  reporting: {notify_on_failure: true}");
    assert!(
        told.contains("`notify_on_failure` has no channel: only the terminal bell will ring"),
        "{told}"
    );
    let told = with("  notify: [{type: webhook, url_env: HOOK}]");
    assert!(
        told.contains(
            "no run will notify these channels: `reporting.notify_on_failure` is not set"
        ),
        "{told}"
    );
    let told =
        with("  notify: [{type: webhook, url_env: HOOK}]\n  reporting: {notify_on_failure: false}");
    assert!(!told.contains("channel"), "{told}");
}
