//! Agents as targets: what they see, what they leave, and what ends them.

use serde_json::Value;

use crate::support::{Call, Project, eventually};

/// Runs its prompt as a script.
const AGENT: &str = "sh -c \"$(cat)\"\n";

/// A suite whose agent is a shell script; `settings` are more keys of the target.
fn suite(settings: &str, cases: &[(&str, &str)]) -> Project {
    let suite = format!(
        "eval_suite:\n  name: Agents\n  evals: [{{$ref: cases.yaml}}]\n  \
         target: {{type: agent, agent: command, command: [sh, agent.sh]{settings}}}\n"
    );
    let cases: Vec<String> = cases
        .iter()
        .map(|(id, script)| {
            format!(
                "  - {{id: {id}, input: {script:?}, expected: {{type: contains, value: done}}}}\n"
            )
        })
        .collect();
    let cases = format!(
        "metadata: {{id: work, name: Work}}\ntest_cases:\n{}",
        cases.concat()
    );
    Project::with(&[
        ("suite.yaml", &suite),
        ("cases.yaml", &cases),
        ("agent.sh", AGENT),
    ])
}

fn run(project: &Project, variables: &[(&str, &str)]) -> Call {
    let mut command = project.command(&["run", "--suite", "suite.yaml", "--quiet"]);
    Call::of(command.envs(variables.iter().copied()).output().unwrap())
}

/// The first sample of a case in the latest run.
fn sample(project: &Project, id: &str) -> Value {
    let report = project.report();
    let cases = report["evals"][0]["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["id"] == id);
    case.unwrap_or_else(|| panic!("no case {id}"))["samples"][0].clone()
}

#[test]
fn agent_without_workspace_key_gets_an_empty_one_and_its_own_home() {
    let look = "echo $HOME; pwd; ls -A; find $HOME -type f | sort; cat $HOME/.conf/a; env | cut -d= -f1 | sort | tr '\\n' ' '; echo $SHOWN; \
                echo more >> $HOME/.conf/a && echo new > made.txt && echo done";
    let home = ", env: [SHOWN], home: {files: {.conf/a: text, skills: {file: skills}}}";
    let project = suite(home, &[("look", look)]);
    project.write("skills/b/SKILL.md", "a skill\n");
    run(&project, &[("SHOWN", "yes"), ("HIDDEN_KEY", "no")]).expect(0);
    let said = sample(&project, "look")["output"]
        .as_str()
        .unwrap()
        .to_owned();
    insta::assert_snapshot!(said, @"");
    assert_eq!(
        sample(&project, "look")["workspace"]["changes"]["added"][0],
        "made.txt"
    );
}

#[test]
fn runaway_agents_end_within_their_limits_and_leave_nothing() {
    let daemon = "(setsid sh -c 'while :; do sleep 1; : eval-agent-daemon; done' &) ; echo done";
    let cases = [
        ("loop", "while :; do :; done"),
        ("fork", "b() { b | b & }; b; sleep 60"),
        ("output", "head -c 10G /dev/zero; echo done"),
        ("daemon", daemon),
        (
            "git",
            "mkdir -p .git; printf '[core]\\n\\tfsmonitor = touch /tmp/run-by-git\\n' > .git/config; echo done",
        ),
        (
            "plant",
            "echo 'echo planted' > $HOME/.profile; cat $HOME/.bashrc 2>&1; echo done",
        ),
        (
            "after",
            "ls -A $HOME; cat .git/config 2>/dev/null; echo done",
        ),
    ];
    let project = suite(", limits: {wall_seconds: 4}", &cases);
    run(&project, &[]).expect(1);
    for id in ["loop", "fork"] {
        let ended = sample(&project, id);
        assert_eq!(
            (&ended["outcome"], &ended["cause"]),
            (&"failed".into(), &"timeout".into()),
            "{ended}"
        );
    }
    for id in ["daemon", "git", "plant", "after"] {
        assert_eq!(sample(&project, id)["outcome"], "passed", "{id}");
    }
    assert_eq!(sample(&project, "after")["output"], "done\n");
    eventually("no process is left", || !is_running("eval-agent-daemon"));
}

fn is_running(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    })
}

#[test]
fn wrong_settings_of_agents_are_reported() {
    for (target, message) in [
        ("{type: agent, agent: codex}", "`codex` has no `model`"),
        (
            "{type: agent, agent: command}",
            "`agent: command` has no `command`",
        ),
        (
            "{type: agent, agent: claude-code, model: 'openai:gpt-5', api_key_env: K}",
            "`claude-code` cannot call the API of `openai:gpt-5`",
        ),
        (
            "{type: agent, agent: command, command: [sh], isolation: none}",
            "an agent cannot run outside of its workspace",
        ),
        (
            "{type: agent, agent: command, command: [sh], env: [HOME]}",
            "`env` of an agent cannot contain HOME",
        ),
        (
            "{type: agent, agent: command, command: [sh], network: {allow: ['a b']}}",
            "`a b` is not a host",
        ),
        (
            "{type: agent, agent: codex, model: gpt-5, base_url: 'http://127.0.0.1:1/v1'}",
            "command not found: codex",
        ),
    ] {
        let suite = format!(
            "eval_suite:\n  name: A\n  target: {target}\n  evals: [{{$ref: cases.yaml}}]\n"
        );
        let cases = "metadata: {id: work, name: Work}\ntest_cases:\n  - {id: a, input: x, expected: {type: contains, value: x}}\n";
        let project = Project::with(&[("suite.yaml", &suite), ("cases.yaml", cases)]);
        let call = run(&project, &[("PATH", "/usr/bin:/bin")]).expect(2);
        assert!(
            call.stderr.contains(message),
            "{message} is not in {}",
            call.stderr
        );
    }
}
