//! Agents as targets: what they see, what they leave, and what ends them.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Call, Project};

/// Runs its prompt as a script.
const AGENT: &str = "sh -c \"$(cat)\"\n";

/// A suite whose agent is a shell script; `settings` are more keys of the target.
pub fn suite(settings: &str, cases: &[(&str, &str)]) -> Project {
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

pub fn run(project: &Project, variables: &[(&str, &str)]) -> Call {
    let mut command = project.command(&["run", "--suite", "suite.yaml", "--quiet"]);
    Call::of(command.envs(variables.iter().copied()).output().unwrap())
}

/// The first sample of a case in the latest run.
pub fn sample(project: &Project, id: &str) -> Value {
    let report = project.report();
    let cases = report["evals"][0]["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["id"] == id);
    case.unwrap_or_else(|| panic!("no case {id}"))["samples"][0].clone()
}

#[test]
fn agent_without_workspace_key_gets_an_empty_one_and_its_own_home() {
    let look = "echo $HOME; pwd; ls -A; find $HOME -type f | sort; cat $HOME/.conf/a; echo; env | cut -d= -f1 | sort | tr '\\n' ' '; echo $SHOWN; \
                echo more >> $HOME/.conf/a && echo new > made.txt && echo done";
    let home = ", env: [SHOWN], home: {files: {.conf/a: text, skills: {file: skills}}}";
    let project = suite(home, &[("look", look)]);
    project.write("skills/b/SKILL.md", "a skill\n");
    run(&project, &[("SHOWN", "yes"), ("HIDDEN_KEY", "no")]).expect(0);
    let said = sample(&project, "look")["output"]
        .as_str()
        .unwrap()
        .to_owned();
    insta::assert_snapshot!(said, @r"
    /home/agent
    /workspace
    /home/agent/.conf/a
    /home/agent/skills/b/SKILL.md
    text
    HOME LANG LC_ALL OPENBLAS_NUM_THREADS PATH PWD PYTHONDONTWRITEBYTECODE PYTHONHASHSEED SHOWN TERM TMPDIR TZ yes
    done
    ");
    assert_eq!(
        sample(&project, "look")["workspace"]["changes"]["added"][0],
        "made.txt"
    );
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
            "{type: agent, agent: command, command: [sh], replay: recordings}",
            "`replay` needs a `model`",
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
            "{type: agent, agent: command, command: [sh], model: 'anthropic:m', base_url: 'http://127.0.0.1:9/v1', env: [ANTHROPIC_API_KEY]}",
            "`env` of an agent cannot contain ANTHROPIC_API_KEY",
        ),
        (
            "{type: agent, agent: command, command: [sh], model: 'anthropic:m', base_url: 'http://127.0.0.1:9/v1', api_key_env: MY_KEY, env: [MY_KEY]}",
            "`env` of an agent cannot contain MY_KEY",
        ),
        (
            "{type: agent, agent: command, command: [sh], network: {allow: ['a b']}}",
            "`a b` is not a host",
        ),
        (
            "{type: agent, agent: command, command: [sh], model: 'anthropic:m', base_url: 'http://127.0.0.1:9/v1', limits: {cost_usd: 1}}",
            "`cost_usd` limits nothing without a price",
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

/// A scripted model on 127.0.0.1, and the requests that it got.
pub struct ScriptedModel {
    server: Child,
    pub url: String,
    log: PathBuf,
}

impl ScriptedModel {
    pub fn start(project: &Project, script: Value) -> ScriptedModel {
        let own = tempfile::tempdir().unwrap().keep();
        let (file, log) = (own.join("script.json"), own.join("log"));
        std::fs::write(&file, script.to_string()).unwrap();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/agents/model.py");
        let mut server = Command::new("python3")
            .arg(program)
            .arg("0")
            .args([Path::new("--script"), &file, Path::new("--log"), &log])
            .stdout(Stdio::piped())
            .current_dir(project.path())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let said = server.stdout.take().unwrap();
        BufReader::new(said).read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/v1", port.trim());
        ScriptedModel { server, url, log }
    }

    fn requests(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(self.log.parent().unwrap());
    }
}

/// A suite with the small agent of `evals/agents`; `settings` are more keys of its target.
pub fn small_agent(settings: &str, input: &str) -> Project {
    let target = format!(
        "{{type: agent, agent: command, command: [python3, agent.py], stream: claude-code, model: 'anthropic:m'{settings}}}"
    );
    let suite = format!(
        "eval_suite:\n  name: Agents\n  evals: [{{$ref: cases.yaml}}]\n  target: {target}\n"
    );
    let cases = format!(
        "metadata: {{id: work, name: Work}}\ntest_cases:\n  - id: a\n    input: {input:?}\n    \
         grader: {{type: code, config: {{method: files, files: {{made.txt: {{contains: made}}}}}}}}\n"
    );
    let agent = include_str!("../../evals/agents/agent.py");
    Project::with(&[
        ("suite.yaml", &suite),
        ("cases.yaml", &cases),
        ("agent.py", agent),
    ])
}

/// Every file below, unpacked.
pub fn contents(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            contents(&path, found);
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        if path.extension().is_some_and(|end| end == "gz") {
            let mut plain = Vec::new();
            flate2::read::MultiGzDecoder::new(&bytes[..])
                .read_to_end(&mut plain)
                .unwrap();
            bytes = plain;
        }
        found.push((path, bytes));
    }
}

#[test]
fn key_stays_with_the_proxy_and_a_recording_replays_without_it() {
    const KEY: &str = "sk-the-real-key-0123456789";
    let script = json!([{
        "if": "look",
        "do": ["env; cat /proc/*/environ | tr '\\0' '\\n' | sort -u", "echo made > made.txt"],
        "end": "I looked around.",
    }]);
    let project = small_agent("", "look around");
    let model = ScriptedModel::start(&project, script);
    let with = format!(", api_key_env: REAL_KEY, base_url: '{}'", model.url);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let suite = suite.replace("'anthropic:m'", &format!("'anthropic:m'{with}"));
    project.write("suite.yaml", &suite);
    let record = [
        "run",
        "--suite",
        "suite.yaml",
        "--quiet",
        "--record",
        "exchanges",
    ];
    let mut command = project.command(&record);
    Call::of(command.env("REAL_KEY", KEY).output().unwrap()).expect(0);
    let recorded = sample(&project, "a");
    assert_eq!(recorded["output"], "I looked around.");
    assert_eq!(recorded["usage"]["output_tokens"], 150, "{recorded}");
    assert_eq!(recorded["call"]["requests"], 3);
    assert_eq!(recorded["call"]["agent"]["answers"], 3, "{recorded}");
    assert_eq!(recorded["trajectory"]["tool_calls"], 2, "{recorded}");
    let used = project.report()["models"]["total"].clone();
    assert_eq!(used["answers"]["network"], 3, "{used}");
    assert_eq!([&used["requests"], &used["retries"]], [3, 0], "{used}");
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let has_key = |request: &Value| {
        let headers = request["headers"].as_object().unwrap();
        headers.values().any(|value| value == KEY)
    };
    assert!(requests.iter().all(has_key), "{requests:?}");
    // The agent printed what it could see.
    let said = requests[2]["body"]["messages"].to_string();
    assert!(
        said.contains("ANTHROPIC_API_KEY") && !said.contains(KEY),
        "{said}"
    );
    let mut all = Vec::new();
    contents(project.path(), &mut all);
    assert!(all.iter().any(|(path, _)| path.ends_with("0-0.jsonl.gz")));
    for (path, bytes) in all {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(KEY), "the key is in {}", path.display());
    }
    drop(model);
    let replay = [
        "run",
        "--suite",
        "suite.yaml",
        "--quiet",
        "--replay",
        "exchanges",
    ];
    project.call(&replay).expect(0);
    let replayed = sample(&project, "a");
    assert_eq!(replayed["output"], recorded["output"]);
    assert_eq!(replayed["workspace"]["diff"], recorded["workspace"]["diff"]);
    assert_eq!(replayed["call"]["source"], "recording");
    let used = project.report()["models"]["total"].clone();
    assert_eq!(used["answers"]["recording"], 3, "{used}");
    assert_eq!(used["requests"], 0, "{used}");
    let page = project.call(&["report", "--run", "latest", "--format", "markdown"]);
    let kept = "All 3 model answers came from recordings";
    assert!(page.stdout.contains(kept), "{}", page.stdout);
    project.write(
        "cases.yaml",
        &std::fs::read_to_string(project.path().join("cases.yaml"))
            .unwrap()
            .replace("look around", "look elsewhere"),
    );
    project.call(&replay).expect(3);
    let diverged = sample(&project, "a");
    assert_eq!(diverged["cause"], "replay_diverged", "{diverged}");
    let why = diverged["reason"].as_str().unwrap();
    assert!(
        why.contains("look elsewhere") && why.contains("look around"),
        "{why}"
    );
}

#[test]
fn variables_of_a_workspace_do_not_replace_those_of_its_agent() {
    let look = "echo home $HOME lang $LANG own $OWN; echo done";
    let project = suite("", &[("look", look)]);
    let cases = std::fs::read_to_string(project.path().join("cases.yaml")).unwrap();
    let env = "workspace: {env: {HOME: /tmp/other, LANG: xx, OWN: yes}}\ntest_cases:";
    project.write("cases.yaml", &cases.replace("test_cases:", env));
    run(&project, &[]).expect(0);
    let said = sample(&project, "look")["output"].clone();
    assert_eq!(said, "home /home/agent lang C.UTF-8 own yes\ndone\n");
}

#[test]
fn agents_with_other_arguments_or_addresses_have_recordings_of_their_own() {
    let project = small_agent("", "look around");
    let script = json!([{ "if": "look", "do": ["echo made > made.txt"], "end": "done" }]);
    let models = [0, 1].map(|_| ScriptedModel::start(&project, script.clone()));
    for (model, args) in [
        (&models[0], "[]"),
        (&models[0], "[--again]"),
        (&models[1], "[]"),
    ] {
        let settings = format!(", base_url: '{}', args: {args}", model.url);
        let other = small_agent(&settings, "look around");
        let suite = std::fs::read_to_string(other.path().join("suite.yaml")).unwrap();
        project.write("suite.yaml", &suite);
        let record = [
            "run",
            "--suite",
            "suite.yaml",
            "--quiet",
            "--record",
            "exchanges",
        ];
        project.call(&record).expect(0);
    }
    let mut all = Vec::new();
    contents(&project.path().join("exchanges"), &mut all);
    assert_eq!(all.len(), 3);
}

#[test]
fn recorded_answers_that_a_replay_does_not_request_are_reported() {
    let end = "show(type='result', subtype='success', is_error=False, result='done')\n";
    let more = "ask(system='further')\nask(system='and further')\n";
    let whole = format!("ask()\n{more}{end}");
    let task = json!({ "if": "", "do": [], "end": "ok" });
    let (project, _) = printing_project(("", &whole), task.clone());
    let model = ScriptedModel::start(&project, json!([task]));
    let with = format!("model: 'anthropic:m', base_url: '{}'}}", model.url);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let (head, _) = suite.split_once("model: 'anthropic:m'").unwrap();
    project.write("suite.yaml", &format!("{head}{with}\n"));
    let call = |how: &str| {
        let run = ["run", "--suite", "suite.yaml", "--quiet", how, "exchanges"];
        project.call(&run).expect(0);
        let page = ["report", "--run", "latest", "--format", "markdown"];
        project.call(&page).stdout
    };
    call("--record");
    let agent = std::fs::read_to_string(project.path().join("agent.py")).unwrap();
    for (agent, unused, notice) in [
        (agent.clone(), 0, None),
        (
            agent.replace(more, ""),
            2,
            Some("2 recorded answers were not requested in 1 sample"),
        ),
    ] {
        project.write("agent.py", &agent);
        let page = call("--replay");
        let calls = sample(&project, "a")["call"]["agent"].clone();
        assert_eq!(calls["not_requested"].as_u64().unwrap_or(0), unused);
        let found = notice.unwrap_or("not requested");
        assert_eq!(page.contains(found), notice.is_some(), "{page}");
    }
}

#[test]
fn models_other_than_that_of_the_target_are_reported() {
    let rest = "ask()\nask(model='m-mini')\nask(model='m-2026-01-01')\n\
                show(type='result', subtype='success', is_error=False, result='done')\n";
    let task = json!({ "if": "", "do": [], "end": "ok" });
    let (project, _) = printing_project(("", rest), task.clone());
    let page = project.call(&["report", "--run", "latest", "--format", "markdown"]);
    let notice = "Other models than that of the target answered in 1 sample: m-mini";
    let page = page.stdout.replace('\\', "");
    assert!(page.contains(notice), "{page}");
    let dated = rest.replace("m-mini", "m");
    let (project, _) = printing_project(("", &dated), task);
    let page = project.call(&["report", "--run", "latest", "--format", "markdown"]);
    assert!(!page.stdout.contains("Other models"), "{}", page.stdout);
}

#[test]
fn agent_that_calls_tools_for_ever_fails_at_its_limits() {
    let script = json!([{ "if": "", "do": ["echo made > made.txt"], "end": "", "repeat": true }]);
    for (limits, why) in [
        (
            "{turns: 6, wall_seconds: 60}",
            "the limit of 6 turns is reached",
        ),
        // 1,350 tokens each.
        (
            "{tokens: 5000, wall_seconds: 60}",
            "the limit of 5000 tokens is reached",
        ),
        (
            "{cost_usd: 0.01, wall_seconds: 60}",
            "the limit of $0.01 is reached",
        ),
    ] {
        let project = small_agent("", "go on");
        let model = ScriptedModel::start(&project, script.clone());
        let with = format!(
            ", base_url: '{}', price: {{input_per_million: 1, output_per_million: 10}}, limits: {limits}",
            model.url
        );
        let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
        let suite = suite.replace("'anthropic:m'", &format!("'anthropic:m'{with}"));
        project.write("suite.yaml", &suite);
        run(&project, &[]).expect(1);
        let ended = sample(&project, "a");
        assert_eq!(ended["cause"], "limit", "{ended}");
        let reason = ended["reason"].as_str().unwrap();
        assert!(reason.ends_with(why), "{reason}");
        let calls = model.requests().len();
        assert!((3..=8).contains(&calls), "{limits}: {calls} calls");
        assert!(
            ended["usage"]["cost_usd"]
                .as_f64()
                .is_some_and(|usd| usd > 0.0),
            "{ended}"
        );
    }
}

#[test]
fn model_that_gives_no_answer_makes_the_sample_errored() {
    let project = small_agent(", base_url: 'http://127.0.0.1:9/v1'", "go on");
    run(&project, &[]).expect(3);
    let ended = sample(&project, "a");
    assert_eq!(ended["cause"], "target_unreachable", "{ended}");
}

/// The first sample of an agent that calls its model once and then runs this Python, on a model with
/// these faults.
fn printing_agent(settings: &str, rest: &str) -> (Value, Vec<Value>) {
    let task = json!({ "if": "", "do": [], "end": "ok" });
    let (project, requests) = printing_project((settings, rest), task);
    (sample(&project, "a"), requests)
}

fn printing_project((settings, rest): (&str, &str), task: Value) -> (Project, Vec<Value>) {
    let agent = format!(
        "import json, os, sys, urllib.request\n\
         def ask(**more):\n    \
             body = {{'model': 'm', 'max_tokens': 9, 'messages': [{{'role': 'user', 'content': 'x'}}], **more}}\n    \
             to = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'\n    \
             head = {{'content-type': 'application/json', 'x-api-key': os.environ['ANTHROPIC_API_KEY'], 'anthropic-version': '2023-06-01'}}\n    \
             return urllib.request.urlopen(urllib.request.Request(to, json.dumps(body).encode(), head)).read()\n\
         def show(**event): print(json.dumps(event))\n\
         def say(text): show(type='assistant', message={{'id': 'm1', 'content': [{{'type': 'text', 'text': text}}]}})\n\
         open('made.txt', 'w').write('made')\n{rest}"
    );
    let project = small_agent("", "x");
    project.write("agent.py", &agent);
    let model = ScriptedModel::start(&project, json!([task]));
    let with = format!("'anthropic:m', base_url: '{}'{settings}", model.url);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write("suite.yaml", &suite.replace("'anthropic:m'", &with));
    run(&project, &[]);
    (project, model.requests())
}

#[test]
fn work_that_an_agent_did_not_end_well_does_not_pass() {
    let end = "show(type='result', subtype='success', is_error=False, result='done')\n";
    let (whole, _) = printing_agent("", &format!("ask()\nsay('done')\n{end}"));
    assert_eq!(whole["outcome"], "passed", "{whole}");
    for (rest, cause, reason) in [
        (
            "ask()\nshow(type='result', subtype='success', is_error=True, result='lost my way')\n",
            "target_failed",
            "reported an error: lost my way",
        ),
        (
            "ask()\nsay('done')\n",
            "target_failed",
            "exited without the end of its output",
        ),
    ] {
        let (ended, _) = printing_agent("", rest);
        assert_eq!(ended["outcome"], "errored", "{ended}");
        assert_eq!(ended["cause"], cause);
        let said = ended["reason"].as_str().unwrap();
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn much_output_of_an_agent_is_read_to_its_end() {
    let noise = "ask()\nfor n in range(3): say('x' * 1000000)\n";
    let end = "show(type='result', subtype='success', is_error=False, result='done')\n";
    let (ended, _) = printing_agent("", &format!("{noise}{end}"));
    assert_eq!(ended["outcome"], "passed", "{ended}");
    assert_eq!(ended["output"], "done");
    let long = end.replace("'done'", "'x' * 1100000");
    let (ended, _) = printing_agent("", &format!("ask()\n{long}"));
    assert_eq!(ended["cause"], "output_limit", "{ended}");
}

#[test]
fn reports_show_what_the_proxy_refused_and_which_sums_are_lower_bounds() {
    let rest = "import http.client\nask()\n\
                for host in ('evil.example', 'other.example'):\n    \
                    link = http.client.HTTPConnection(os.environ['HTTP_PROXY'].split('/')[2])\n    \
                    link.request('CONNECT', host + ':443', headers={'host': host + ':443'})\n    \
                    print(link.getresponse().status, file=sys.stderr)\n\
                show(type='result', subtype='success', is_error=False, result='done')\n";
    let settings =
        ", network: {allow: [good.example]}, price: {input_per_million: 1, output_per_million: 10}";
    let searched = json!({ "server_tool_use": { "web_search_requests": 1 } });
    let task = json!({ "if": "", "do": [], "end": "ok", "usage": searched });
    let (project, _) = printing_project((settings, rest), task);
    let ended = sample(&project, "a");
    assert_eq!(ended["outcome"], "passed", "{ended}");
    let denied = json!(["evil.example:443", "other.example:443"]);
    assert_eq!(ended["trajectory"]["denied"], denied, "{ended}");
    assert_eq!(ended["call"]["usage_is_lower_bound"], true, "{ended}");
    let report = project.report();
    assert_eq!(report["models"]["total"]["lower_bounds"], 1, "{report}");
    let refused =
        "Requests of agents were refused in 1 sample: evil.example:443, other.example:443";
    let bound = "the usage of 1 sample is known only in part";
    for form in ["terminal", "markdown", "html"] {
        let page = project.call(&["report", "--run", "latest", "--format", form, "--verbose"]);
        let page = page.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let page = page.replace('\\', "");
        assert!(page.contains(refused), "{form}: {page}");
        assert!(
            page.contains(bound) && page.contains("at least $"),
            "{form}: {page}"
        );
    }
    let shown = project.call(&["show", "a"]).expect(0).stdout;
    let refused = "The proxy of the agent refused evil.example:443, other.example:443";
    assert!(shown.contains(refused), "{shown}");
    let shown = project.call(&["show", "a", "--verbose"]).expect(0).stdout;
    assert!(shown.contains("at least 1,300 in, 50 out"), "{shown}");
}

#[test]
fn tools_of_the_provider_reach_it_only_if_they_are_allowed() {
    let rest = "ask(tools=[{'name': 'f', 'input_schema': {}}, {'type': 'web_search_20250305', 'name': 'web_search'}])\n\
                show(type='result', subtype='success', is_error=False, result='done')\n";
    for (settings, names) in [
        ("", &["f"][..]),
        (", provider_tools: false", &["f"]),
        (", provider_tools: true", &["f", "web_search"]),
    ] {
        let (ended, requests) = printing_agent(settings, rest);
        assert_eq!(ended["outcome"], "passed", "{ended}");
        let tools = requests[0]["body"]["tools"].as_array().unwrap();
        let got: Vec<&str> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(got, names, "{settings}");
    }
}

#[test]
fn bundled_suite_of_agents_runs_without_a_key() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/agents/eval-suite.yaml");
    let project = Project::new();
    let suite = suite.to_str().unwrap();
    let results = project.path().join("results");
    let call = project.call(&[
        "run",
        "--suite",
        suite,
        "--quiet",
        "--output-dir",
        results.to_str().unwrap(),
    ]);
    call.expect(0);
    let report = project.report();
    let cases = report["evals"][0]["cases"].as_array().unwrap();
    let outcomes: Vec<&str> = cases
        .iter()
        .map(|case| case["samples"][0]["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["passed", "failed"]);
}
