//! Where keys and addresses of models come from: the environment, `.env`, files and commands,
//! against a server that sees what is sent.

use std::path::Path;

use crate::model_server::{Act, ModelServer, Said};
use crate::support::{Call, Project};

const KEY: &str = "sk-keys-0123456789";
const RUN: [&str; 5] = ["run", "--suite", "evals/suite.yaml", "--progress", "none"];

fn server() -> ModelServer {
    ModelServer::start(|_| Act::Say(Said::new("The answer is 42", (10, 5))))
}

/// A suite in `evals/` with this target and these further settings.
fn suite(target: &str, more: &str) -> String {
    format!(
        "eval_suite:\n  name: s\n{more}  target: {{type: model, {target}}}\n  evals:\n    \
         - {{id: e, prompt: What is it?, expected: {{type: contains, value: \"42\"}}}}\n  \
         reporting: {{format: [json, markdown, html]}}\n"
    )
}

fn project(target: &str, more: &str) -> Project {
    Project::with(&[("evals/suite.yaml", &suite(target, more))])
}

fn call(project: &Project, args: &[&str], env: &[(&str, &str)]) -> Call {
    let mut command = project.command(args);
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
    ] {
        command.env_remove(name);
    }
    command.envs(env.iter().copied());
    Call::of(command.output().expect("the program starts"))
}

/// The keys that the server got, in order.
fn keys(server: &ModelServer) -> Vec<String> {
    let log = server.settled();
    let keys = log.into_iter().map(|entry| entry.ask.key);
    keys.map(|key| key.unwrap_or_else(|| "-".to_owned()))
        .collect()
}

/// Fails when a file below a folder contains a text.
fn assert_nowhere(folder: &Path, secret: &str) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            assert_nowhere(&path, secret);
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(secret), "{} has it", path.display());
        }
    }
}

/// The message of the first error, without the folder of the project.
fn error(project: &Project, call: Call) -> String {
    let call = call.expect(2);
    let line = call.stderr.lines().find(|line| line.starts_with("error"));
    let root = project.path().canonicalize().expect("a path");
    line.unwrap_or(&call.stderr)
        .replace(&root.display().to_string(), "ROOT")
        .replace(&project.path().display().to_string(), "ROOT")
}

#[test]
fn env_file_beside_the_suite_gives_a_key() {
    let server = server();
    let target = format!(
        "model: 'openai:m', base_url: '{}', api_key_env: MODEL_KEY",
        server.url()
    );
    let project = project(&target, "");
    call(&project, &RUN, &[]).expect(2);
    project.write(
        "evals/.env",
        &format!("# keys\nexport MODEL_KEY='{KEY}'\nOTHER=x\n"),
    );
    // One of the working folder is not the suite's.
    project.write(".env", "MODEL_KEY=sk-of-another-folder\n");
    call(&project, &RUN, &[]).expect(0);
    let process = "sk-process-0123456789";
    let args = [&RUN[..], &["--cache", "refresh"]].concat();
    call(&project, &args, &[("MODEL_KEY", process)]).expect(0);
    assert_eq!(keys(&server), [KEY, process]);
    for secret in [KEY, process] {
        assert_nowhere(&project.path().join("results"), secret);
        assert_nowhere(&project.path().join("answers"), secret);
    }
}

#[test]
fn env_file_reaches_templates_and_commands_by_listed_names() {
    let command = "[sh, -c, 'printf \"%s/%s/%s\" \"$LISTED\" \"$UNLISTED\" \"$SET\"']";
    let suite = format!(
        "eval_suite:\n  name: s\n  env: [IN_TEXT]\n  target: {{type: command, command: {command}, env: [LISTED, SET]}}\n  evals:\n    \
         - {{id: e, prompt: x, expected: '{{{{ env.IN_TEXT }}}}/-/set'}}\n"
    );
    let suite = suite.replace("/-/", "//");
    let project = Project::with(&[
        ("evals/suite.yaml", &suite),
        (
            "evals/.env",
            "IN_TEXT=secret-word\nLISTED=secret-word\nUNLISTED=no\nSET=no\n",
        ),
    ]);
    call(&project, &RUN, &[("SET", "set")]).expect(0);
    // The value is listed by the suite, so it is a secret.
    assert_nowhere(&project.path().join("results"), "secret-word");
}

#[test]
fn changed_value_of_env_file_runs_the_sample_again() {
    let suite = "eval_suite:\n  name: s\n  target: {type: command, command: [sh, -c, 'echo $WORD; echo x >> $CALLS'], env: [WORD, CALLS], depends_on: []}\n  \
                 evals:\n    - {id: e, prompt: x, expected: {type: contains, value: o}}\n";
    let project = Project::with(&[("evals/suite.yaml", suite), ("evals/.env", "WORD=one\n")]);
    let calls = || {
        let text = std::fs::read_to_string(project.path().join("calls")).expect("calls");
        text.lines().count()
    };
    // A name of the file in the command would make it a dependency.
    let path = project.path().join("calls").display().to_string();
    let env = [("CALLS", path.as_str())];
    call(&project, &RUN, &env).expect(0);
    let again = [&RUN[..], &["--changed"]].concat();
    call(&project, &again, &env).expect(0);
    assert_eq!(calls(), 1, "nothing changed");
    project.write("evals/.env", "WORD=two\n");
    call(&project, &again, &env).expect(0);
    assert_eq!(calls(), 2, "the variable changed");
}

#[test]
fn faulty_env_file_is_refused_without_its_values() {
    let project = project("model: 'openai:m'", "");
    project.write(
        "evals/.env",
        "OPENAI_API_KEY=\"sk-open-0123456789\nNAME = x\n",
    );
    let refused = call(&project, &["validate", "--suite", "evals/suite.yaml"], &[]).expect(2);
    assert!(!refused.stderr.contains("sk-open"), "{}", refused.stderr);
    insta::assert_snapshot!(refused.stderr, @"
    error[EH0117]: the quote is not closed
     --> evals/.env:1:16
      |
    1 | OPENAI_API_KEY=…
      |                ^
      |
      = help: write `NAME=value`; quote a value that contains `#`, spaces at its ends or line breaks

    1 error
    ");
}

#[test]
fn address_of_the_environment_is_used_and_recorded() {
    let (server, other) = (server(), server());
    let project = project("model: 'openai:m'", "");
    let at = |server: &ModelServer| {
        [
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("OPENAI_BASE_URL", server.url()),
        ]
    };
    let run = |server: &ModelServer| {
        let env = at(server);
        let env: Vec<(&str, &str)> = env
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        call(&project, &RUN, &env).expect(0)
    };
    run(&server);
    assert_eq!(
        project.report()["metadata"]["environment"]["model_address"],
        server.url()
    );
    run(&server);
    assert_eq!(server.asked(), 1, "the second answer is from the cache");
    run(&other);
    assert_eq!(keys(&server), [KEY]);
    assert_eq!(keys(&other), [KEY], "another address has other answers");
    let markdown = std::fs::read_to_string(project.result(".md")).expect("a report");
    assert!(
        markdown.contains(&format!("model `openai:m` at `{}`", other.url())),
        "{markdown}"
    );
}

#[test]
fn address_of_anthropic_is_that_of_its_own_clients() {
    let server = server();
    let project = project("model: 'anthropic:m'", "");
    let address = server.url().trim_end_matches("/v1").to_owned();
    let env = [
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", address.as_str()),
    ];
    call(&project, &RUN, &env).expect(0);
    let log = server.settled();
    assert_eq!(log[0].ask.path, "/v1/messages");
    assert_eq!(keys(&server), [KEY]);
}

#[test]
fn written_address_is_not_replaced_and_gets_no_key() {
    let (server, other) = (server(), server());
    let project = project(
        &format!("model: 'openai:m', base_url: '{}'", server.url()),
        "",
    );
    let address = other.url();
    let env = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", address.as_str()),
    ];
    call(&project, &RUN, &env).expect(0);
    assert_eq!((keys(&server), other.asked()), (vec!["-".to_owned()], 0));
}

#[test]
fn set_address_keeps_the_key_of_a_written_address() {
    let project = project(
        "model: 'openai:m', base_url: 'https://api.openai.com/v1'",
        "  providers: {openai: {api_key_env: TEAM_KEY}}\n",
    );
    for env in [&[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")][..], &[]] {
        let error = error(&project, call(&project, &RUN, env));
        assert!(error.contains("`TEAM_KEY` is not set"), "{error}");
    }
}

#[test]
fn malformed_address_names_its_variable() {
    let project = project("model: 'openai:m'", "");
    let told = |address: &str| {
        let env = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", address)];
        error(&project, call(&project, &RUN, &env))
    };
    let all = ["localhost:8000", "http://h/v1/chat/completions", "ftp://h"];
    insta::assert_snapshot!(all.map(told).join("\n"), @"
    error[EH0427]: `OPENAI_BASE_URL` is not an address of the API: `localhost:8000` is not an HTTP address
    error[EH0427]: `OPENAI_BASE_URL` is not an address of the API: it must not include the API's path `/chat/completions`
    error[EH0427]: `OPENAI_BASE_URL` is not an address of the API: `ftp://h` is not an HTTP address
    ");
    project.write("evals/suite.yaml", &suite("model: 'anthropic:m'", ""));
    let env = [
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", "https://h/v1/messages"),
    ];
    insta::assert_snapshot!(error(&project, call(&project, &RUN, &env)), @"error[EH0427]: `ANTHROPIC_BASE_URL` is not an address of the API: it must not include the API's path `/messages`");
}

#[test]
fn key_file_is_read_when_the_model_is_called() {
    let server = server();
    let target = format!(
        "model: 'openai:m', base_url: '{}', api_key_file: ../keys/model",
        server.url()
    );
    let project = project(&target, "");
    call(&project, &["validate", "--suite", "evals/suite.yaml"], &[]).expect(0);
    call(&project, &[&RUN[..], &["--dry-run"]].concat(), &[]).expect(0);
    let mut told = vec![error(&project, call(&project, &RUN, &[]))];
    for text in ["\n", "two\nlines", &"k".repeat(70_000)] {
        project.write("keys/model", text);
        told.push(error(&project, call(&project, &RUN, &[])));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    error[EH0431]: openai:m needs a key, and the file `ROOT/keys/model` cannot be read: No such file or directory (os error 2)
    error[EH0431]: openai:m needs a key, and the file `ROOT/keys/model` is empty
    error[EH0431]: openai:m needs a key, and the file `ROOT/keys/model` is not a key: it contains a line break, or a character that is not allowed in a key
    error[EH0431]: openai:m needs a key, and the file `ROOT/keys/model` has more than 64 KiB
    ");
    project.write("keys/model", &format!("{KEY}\n"));
    call(&project, &[&RUN[..], &["--record", "rec"]].concat(), &[]).expect(0);
    assert_eq!(keys(&server), [KEY]);
    std::fs::remove_file(project.path().join("keys/model")).expect("removed");
    call(&project, &[&RUN[..], &["--replay", "rec"]].concat(), &[]).expect(0);
    assert_nowhere(&project.path().join("results"), KEY);
    assert_nowhere(&project.path().join("rec"), KEY);
}

#[test]
fn variable_may_name_the_file_of_a_key() {
    let server = server();
    let address = server.url();
    let project = project("model: 'openai:m'", "");
    project.write("home.key", KEY);
    project.write("evals/suite.key", "sk-suite-0123456789");
    let env = [
        ("OPENAI_BASE_URL", address.as_str()),
        ("OPENAI_API_KEY_FILE", "home.key"),
    ];
    call(&project, &RUN, &env).expect(0);
    // In `.env` the path starts in its folder.
    project.write(
        "evals/.env",
        &format!("OPENAI_API_KEY_FILE=suite.key\nOPENAI_BASE_URL={address}\n"),
    );
    let args = [&RUN[..], &["--cache", "refresh"]].concat();
    call(&project, &args, &[]).expect(0);
    // The key itself comes first.
    let direct = "sk-direct-0123456789";
    call(&project, &args, &[("OPENAI_API_KEY", direct)]).expect(0);
    assert_eq!(keys(&server), [KEY, "sk-suite-0123456789", direct]);
    // A file that the environment names comes before a key in `.env`.
    project.write(
        "evals/.env",
        "OPENAI_API_KEY=sk-dotenv-0123456789\nOPENAI_API_KEY_FILE=suite.key\n",
    );
    call(&project, &args, &env).expect(0);
    call(&project, &args, &env[..1]).expect(0);
    let of_env_file = "sk-dotenv-0123456789";
    assert_eq!(keys(&server)[3..], [KEY, of_env_file]);
}

#[test]
fn key_command_runs_once_a_run_and_only_for_calls() {
    let server = server();
    let command = format!("[sh, -c, 'echo x >> ../calls; echo {KEY}']");
    let providers = format!(
        "  providers: {{house: {{base_url: '{}', api_key_command: {command}}}}}\n",
        server.url()
    );
    let project = project("model: 'house:m'", &providers);
    let judged = suite("model: 'house:m'", &providers).replace(
        "  reporting:",
        "    - {id: j, prompt: Why?, grader: {judge: 'house:judge', rubric: Is it?}}\n  reporting:",
    );
    project.write("evals/suite.yaml", &judged);
    let calls = || {
        let text = std::fs::read_to_string(project.path().join("calls")).unwrap_or_default();
        text.lines().count()
    };
    call(&project, &["validate", "--suite", "evals/suite.yaml"], &[]).expect(0);
    call(&project, &["list", "--suite", "evals/suite.yaml"], &[]).expect(0);
    call(&project, &[&RUN[..], &["--dry-run"]].concat(), &[]).expect(0);
    assert_eq!(calls(), 0);
    // The judge's answers are no verdicts; what counts is the key.
    call(&project, &RUN, &[]).expect(3);
    assert_eq!(calls(), 1);
    let keys = keys(&server);
    assert!(
        keys.len() > 2 && keys.iter().all(|key| key == KEY),
        "{keys:?}"
    );
    assert_nowhere(&project.path().join("results"), KEY);
}

#[test]
fn failed_key_command_shows_its_stderr_without_secrets() {
    let told = |command: &str| {
        let target = format!("model: 'openai:m', api_key_command: {command}");
        let project = project(&target, "");
        let env = [("VAULT_TOKEN", "hunter2-hunter2")];
        error(&project, call(&project, &RUN, &env))
    };
    let all = [
        "[sh, -c, 'echo sk-abc-123456; echo \"locked: sk-abc-123456 $VAULT_TOKEN\" >&2; exit 7']",
        "[sh, -c, 'exit 1']",
        "[sh, -c, 'true']",
        "[no-such-vault, get]",
        "[sh, -c, 'echo one; echo two']",
    ];
    insta::assert_snapshot!(all.map(told).join("\n"), @"
    error[EH0431]: openai:m needs a key, and the command `sh` exited with code 7: locked: [redacted] [redacted]
    error[EH0431]: openai:m needs a key, and the command `sh` exited with code 1, and printed nothing to stderr
    error[EH0431]: openai:m needs a key, and the output of the command `sh` is empty
    error[EH0431]: openai:m needs a key, and the command for it cannot run: `no-such-vault` was not found in PATH; for a file of the suite write `./no-such-vault`
    error[EH0431]: openai:m needs a key, and the output of the command `sh` is not a key: it contains a line break, or a character that is not allowed in a key
    ");
}

#[test]
fn failed_key_command_shows_no_argument_and_no_cut_word() {
    let long = "locked ".repeat(200);
    let target = format!(
        "model: 'openai:m', api_key_command: [sh, -c, 'echo \"{KEY}x{long}$1 $2\" >&2; exit 7', sh, hunter2-hunter2, --pin=12345678]"
    );
    let project = project(&target, "");
    let message = error(&project, call(&project, &RUN, &[]));
    assert!(
        message.ends_with(" locked [redacted] [redacted]"),
        "{message}"
    );
    let from = message.split("code 7: ").nth(1).expect("its stderr");
    assert!(from.starts_with("locked "), "{message}");
}

#[test]
fn key_in_place_of_its_source_is_not_shown() {
    let refused = |target: &str, args: &[&str]| {
        let project = project(&format!("model: 'openai:m', {target}"), "");
        call(&project, args, &[]).expect(2).stderr
    };
    let shown = refused(
        &format!("api_key_env: {KEY}"),
        &["validate", "--suite", "evals/suite.yaml"],
    );
    assert!(
        shown.contains("not a valid name") && !shown.contains(KEY),
        "{shown}"
    );
    let shown = refused(&format!("api_key_file: {KEY}"), &RUN);
    let message = "the file that `api_key_file` names does not exist";
    assert!(shown.contains(message) && !shown.contains(KEY), "{shown}");
}

#[test]
fn two_sources_of_a_key_are_refused() {
    let told = |target: &str, more: &str| {
        let project = project(target, more);
        let call = call(&project, &["validate", "--suite", "evals/suite.yaml"], &[]);
        error(&project, call)
    };
    let all = [
        told("model: 'openai:m', api_key_env: A, api_key_file: b", ""),
        told(
            "model: 'openai:m', api_key_file: b, api_key_command: [c]",
            "",
        ),
        told(
            "model: 'openai:m'",
            "  providers: {p: {base_url: 'http://h', api_key_env: A, api_key_command: [c]}}\n",
        ),
        told("model: 'openai:m', api_key_command: []", ""),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    error[EH0208]: use `api_key_env` or `api_key_file`, not both
    error[EH0208]: use `api_key_file` or `api_key_command`, not both
    error[EH0208]: use `api_key_env` or `api_key_command`, not both
    error[EH0206]: `api_key_command` must not be empty
    ");
}

#[test]
fn own_source_replaces_that_of_the_provider() {
    let server = server();
    let providers = format!(
        "  providers: {{p: {{base_url: '{}', api_key_env: UNSET_KEY}}}}\n",
        server.url()
    );
    let project = project("model: 'p:m', api_key_file: own.key", &providers);
    project.write("evals/own.key", KEY);
    call(&project, &RUN, &[]).expect(0);
    assert_eq!(keys(&server), [KEY]);
}
