//! Agents that run away or plant something, and what of the suite they get.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agents::{ScriptedModel, contents, run, sample, small_agent, suite};
use crate::support::{Call, Project, eventually};

/// The outcome and the cause of a sample.
fn ending(project: &Project, id: &str) -> (String, String, Value) {
    let ended = sample(project, id);
    let word = |key: &str| ended[key].as_str().unwrap_or_default().to_owned();
    (word("outcome"), word("cause"), ended.clone())
}

fn is_running(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    })
}

/// Files below a folder, without what git of the project or the program itself keeps.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    contents(folder, &mut found);
    found.into_iter().map(|(path, _)| path).collect()
}

/// The cases of agents that run away, with the outcome and cause of each.
fn runaways(marker: &str) -> Vec<(&'static str, String, [&'static str; 2])> {
    let git = format!(
        "mkdir -p .git/hooks; printf '[core]\\n\\tfsmonitor = touch {marker}\\n\\tpager = touch {marker}\\n' > .git/config; \
         printf '#!/bin/sh\\ntouch {marker}\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; echo done"
    );
    // It would read what the next agent and the user type.
    let plant = format!(
        "for file in .profile .bashrc .bash_profile .zshrc .config/autostart/k.desktop .local/bin/git; do \
         mkdir -p $(dirname $HOME/$file); printf '#!/bin/sh\\ncat > {marker}\\n' > $HOME/$file; chmod +x $HOME/$file; done; echo done"
    );
    let daemon = "(setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; : eval-agent-daemon; done' >/dev/null 2>&1 &) ; echo done";
    vec![
        (
            "loop",
            "while :; do :; done".to_owned(),
            ["failed", "timeout"],
        ),
        (
            "deaf",
            "trap '' TERM INT HUP; while :; do sleep 1; : eval-agent-deaf; done".to_owned(),
            ["failed", "timeout"],
        ),
        (
            "fork",
            "b() { b | b & }; b; sleep 60".to_owned(),
            ["failed", "timeout"],
        ),
        (
            "output",
            "head -c 10G /dev/zero; echo done".to_owned(),
            ["failed", "output_limit"],
        ),
        ("daemon", daemon.to_owned(), ["passed", ""]),
        ("git", git, ["passed", ""]),
        ("plant", plant, ["passed", ""]),
        (
            "after",
            "ls -A $HOME; cat .git/config 2>/dev/null; echo done".to_owned(),
            ["passed", ""],
        ),
    ]
}

#[test]
fn runaway_agents_end_within_their_limits_and_leave_nothing() {
    let marker = tempfile::tempdir().unwrap();
    let marker = marker.path().join("was-run");
    let all = runaways(marker.to_str().unwrap());
    let cases: Vec<(&str, &str)> = all
        .iter()
        .map(|(id, script, _)| (*id, script.as_str()))
        .collect();
    let project = suite(", limits: {wall_seconds: 4}", &cases);
    let own = tempfile::tempdir().unwrap();
    let (home, temporary) = (own.path().join("home"), own.path().join("tmp"));
    std::fs::create_dir(&home).unwrap();
    std::fs::create_dir(&temporary).unwrap();
    let places = [
        ("HOME", home.to_str().unwrap()),
        ("TMPDIR", temporary.to_str().unwrap()),
    ];
    run(&project, &places).expect(1);
    for (id, _, expected) in &all {
        let (outcome, cause, ended) = ending(&project, id);
        // How fast 10 GB are written decides which limit is reached first.
        if (*id, cause.as_str()) != ("output", "timeout") {
            let reason = &ended["reason"];
            assert_eq!([&outcome, &cause], *expected, "{id}: {reason}");
        }
    }
    assert_eq!(sample(&project, "after")["output"], "done\n");
    eventually("no process is left", || !is_running("eval-agent-d"));
    assert_eq!(files_below(&home), Vec::<PathBuf>::new());
    assert_eq!(files_below(&temporary), Vec::<PathBuf>::new());
    assert!(!marker.exists(), "a program outside of the sandbox ran it");
}

#[test]
fn processes_of_an_agent_outside_of_the_sandbox_end_with_it() {
    let marker = "unused";
    let all: Vec<_> = runaways(marker)
        .into_iter()
        .filter(|(id, ..)| ["loop", "deaf", "daemon"].contains(id))
        .collect();
    let cases: Vec<(&str, &str)> = all
        .iter()
        .map(|(id, script, _)| (*id, script.as_str()))
        .collect();
    let project = suite(", isolation: workspace, limits: {wall_seconds: 3}", &cases);
    run(&project, &[]).expect(1);
    for (id, _, expected) in &all {
        let (outcome, cause, ended) = ending(&project, id);
        assert_eq!([outcome.as_str(), cause.as_str()], *expected, "{ended}");
    }
    eventually("no process is left", || !is_running("eval-agent-d"));
}

#[test]
fn agent_with_100_000_tool_calls_is_read_in_part() {
    let agent = "import json, sys\n\
        sys.stdin.read()\n\
        def show(**event): print(json.dumps(event))\n\
        for n in range(100000):\n    \
            call = {'type': 'tool_use', 'id': f't{n}', 'name': 'Bash', 'input': {'command': 'ls'}}\n    \
            show(type='assistant', message={'id': f'm{n}', 'content': [call]})\n    \
            result = {'type': 'tool_result', 'tool_use_id': f't{n}', 'content': 'a'}\n    \
            show(type='user', message={'content': [result]})\n\
        show(type='result', subtype='success', is_error=False, result='done')\n";
    let budget = "{type: code, config: {method: trajectory, max_tool_calls: 1000}}";
    let project = Project::with(&[
        (
            "suite.yaml",
            "eval_suite:\n  name: Agents\n  evals: [{$ref: cases.yaml}]\n  target: {type: agent, agent: command, \
             command: [python3, agent.py], stream: claude-code, limits: {wall_seconds: 60}}\n",
        ),
        (
            "cases.yaml",
            &format!(
                "metadata: {{id: work, name: Work}}\ntest_cases:\n  - {{id: calls, input: x, grader: {budget}}}\n"
            ),
        ),
        ("agent.py", agent),
    ]);
    run(&project, &[]).expect(1);
    let (outcome, cause, ended) = ending(&project, "calls");
    assert_eq!(
        (outcome.as_str(), cause.as_str()),
        ("failed", "wrong_answer"),
        "{}",
        ended["reason"]
    );
    // What is read of a stream has a bound, and graders know that there is more.
    let calls = ended["trajectory"]["tool_calls"].as_u64().unwrap();
    assert!((1_001..100_000).contains(&calls), "{calls}");
    let incomplete = ended["trajectory"]["incomplete"].as_array().unwrap();
    assert!(!incomplete.is_empty());
    let shown = ended["trajectory"]["timeline"].as_array().unwrap().len();
    assert_eq!(shown, 120);
    let journal: u64 = files_below(&project.path().join("results"))
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| std::fs::metadata(path).unwrap().len())
        .sum();
    assert!((1_000..1_000_000).contains(&journal), "{journal} bytes");
}

#[test]
fn key_that_the_model_answers_with_is_in_no_file() {
    const KEY: &str = "sk-the-real-key-9876543210";
    let script = json!([{
        "if": "look",
        "do": [format!("echo {KEY} > made.txt; echo made >> made.txt; cat made.txt")],
        "end": format!("Your key is {KEY}."),
    }]);
    let project = small_agent("", "look around");
    let model = ScriptedModel::start(&project, script);
    let with = format!(
        "'anthropic:m', api_key_env: REAL_KEY, base_url: '{}'",
        model.url
    );
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write("suite.yaml", &suite.replace("'anthropic:m'", &with));
    let mut command = project.command(&[
        "run",
        "--suite",
        "suite.yaml",
        "--quiet",
        "--record",
        "exchanges",
    ]);
    let call = Call::of(command.env("REAL_KEY", KEY).output().unwrap());
    assert!(!format!("{}{}", call.stdout, call.stderr).contains(KEY));
    let ended = sample(&project, "a");
    assert_eq!(ended["output"], "Your key is [redacted].", "{ended}");
    let page = [
        "report",
        "--run",
        "latest",
        "--format",
        "html",
        "--output",
        "page.html",
    ];
    let mut command = project.command(&page);
    Call::of(command.env("REAL_KEY", KEY).output().unwrap()).expect(0);
    let mut all = Vec::new();
    contents(project.path(), &mut all);
    for end in ["page.html", ".trajectory.json.gz", ".jsonl.gz", ".json"] {
        let is = |(path, _): &(PathBuf, Vec<u8>)| path.to_string_lossy().ends_with(end);
        assert!(all.iter().any(is), "no {end}");
    }
    for (path, bytes) in all {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(KEY), "the key is in {}", path.display());
    }
}

#[test]
fn files_of_the_home_folder_keep_their_executable_bit() {
    let look = "$HOME/bin/tool; test ! -x $HOME/bin/text && echo done";
    let project = suite(", home: {files: {bin: {file: tools}}}", &[("look", look)]);
    let tool = project.write("tools/tool", "#!/bin/sh\necho I ran\n");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.write("tools/text", "text\n");
    run(&project, &[]).expect(0);
    assert_eq!(sample(&project, "look")["output"], "I ran\ndone\n");
}

/// A suite whose program of `agent` is this shell script.
fn program(agent: &str, script: &str) -> Project {
    let project = suite("", &[("look", "x")]);
    let path = project.path().join("suite.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let target = format!(
        "agent: {agent}, model: 'openai:m', base_url: 'http://127.0.0.1:9/v1', args: [notes.txt, absent.txt], command: [sh, agent.sh]"
    );
    let text = text.replace("agent: command, command: [sh, agent.sh]", &target);
    project.write("suite.yaml", &text);
    project.write("agent.sh", script);
    project
}

#[test]
fn only_words_of_the_suite_are_files_of_the_suite() {
    let project = program("opencode", "echo \"$*\" >&2; cat \"$6\" >&2; exit 3\n");
    // Words that opencode gets in any case.
    for name in ["run", "json", "notes.txt"] {
        project.write(name, "a note\n");
    }
    run(&project, &[]).expect(3);
    let ended = sample(&project, "look");
    assert_eq!(
        ended["reason"],
        "opencode exited with code 3: run --format json -m harness/m /tmp/suite/notes.txt absent.txt\na note"
    );
}

#[test]
fn agent_behind_a_wrapper_that_is_killed_has_crashed() {
    let project = program("mini-swe-agent", "kill -9 $$\n");
    run(&project, &[]).expect(1);
    let (outcome, cause, ended) = ending(&project, "look");
    assert_eq!(
        (outcome.as_str(), cause.as_str()),
        ("failed", "crashed"),
        "{ended}"
    );
    let project = program("mini-swe-agent", "exit 3\n");
    run(&project, &[]).expect(3);
    assert_eq!(sample(&project, "look")["cause"], "target_failed");
}

#[test]
fn recordings_that_are_not_there_stop_the_run_before_it_begins() {
    let project = small_agent(", base_url: 'http://127.0.0.1:9/v1'", "go on");
    let run = |more: &[&str]| {
        project.call(&[&["run", "--suite", "suite.yaml", "--quiet"][..], more].concat())
    };
    let call = run(&["--replay", "nowhere"]).expect(2);
    assert!(
        call.stderr
            .contains("nowhere/agents has no recordings of agents"),
        "{}",
        call.stderr
    );
    project.write("a-file", "text");
    run(&["--record", "a-file"]).expect(2);
    std::fs::create_dir_all(project.path().join("nowhere/agents")).unwrap();
    run(&["--replay", "nowhere"]).expect(3);
    let (_, cause, ended) = ending(&project, "a");
    assert_eq!(cause, "missing_output", "{ended}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the sample has no recording: "),
        "{reason}"
    );
}
