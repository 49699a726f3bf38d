//! The suite that comes with the program, and what `init` and `new` write, as their first users
//! meet them.

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn harness(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eval-harness"));
    command
        .current_dir(dir)
        .args(arguments)
        .env_remove("GITHUB_ACTIONS")
        .env_remove("CI");
    command
        .timeout(std::time::Duration::from_secs(300))
        .output()
        .unwrap()
}

/// Runs and demands an exit code; returns stdout.
fn expect(code: i32, dir: &Path, arguments: &[&str]) -> String {
    let output = harness(dir, arguments);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{stdout}\n{stderr}"
    );
    stdout
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The bundled suite in a project of its own.
fn project() -> tempfile::TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    for folder in ["evals", "baselines", "schemas"] {
        copy(&root.join(folder), &dir.path().join(folder));
    }
    std::fs::create_dir(dir.path().join(".git")).unwrap();
    dir
}

/// The newest file with this ending.
fn latest(dir: &Path, ending: &str) -> PathBuf {
    let files = std::fs::read_dir(dir.join("results/latest"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    // Of two runs in one second the later is `run-HHMMSS-2`, which its ending would put first.
    let stem = |path: &PathBuf| Some(path.to_str()?.strip_suffix(ending)?.to_owned());
    let found = files.filter(|path| stem(path).is_some());
    found.max_by_key(stem).unwrap()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[key].as_str().unwrap())
        .collect()
}

const SUITE: [&str; 2] = ["--suite", "evals/eval-suite.yaml"];

#[test]
fn the_example_suite_passes_its_gate_with_the_hard_case_among_the_failures() {
    let project = project();
    let dir = project.path();
    let shown = expect(0, dir, &["run", SUITE[0], SUITE[1], "--progress", "none"]);
    assert!(shown.contains("GATE PASS"), "{shown}");

    let file = latest(dir, ".json");
    let report = read_json(&file);
    let schema = read_json(&dir.join("schemas/report.schema.json"));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&report)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));

    let report = &report["eval_report"];
    assert_eq!(report["gate"]["decision"], "pass");
    assert_eq!(report["summary"]["errored"].to_string(), "0");
    let evals = texts(&report["evals"], "id");
    assert!(evals.len() >= 12, "{evals:?}");
    let kinds = texts(&report["evals"], "type");
    assert!(
        kinds.contains(&"capability") && kinds.contains(&"regression"),
        "{kinds:?}"
    );
    assert!(texts(&report["failures"], "eval_id").contains(&"cap-code-semver-precedence"));

    let again = expect(
        0,
        dir,
        &[
            "report", "--run", "latest", "--format", "json", SUITE[0], SUITE[1],
        ],
    );
    assert_eq!(
        again,
        std::fs::read_to_string(&file).unwrap(),
        "a report is made from the journal alone"
    );
    let markdown = expect(
        0,
        dir,
        &[
            "report", "--run", "latest", "--format", "markdown", SUITE[0], SUITE[1],
        ],
    );
    assert_eq!(
        markdown,
        std::fs::read_to_string(latest(dir, ".md")).unwrap()
    );
    let junit = expect(
        0,
        dir,
        &[
            "report", "--run", "latest", "--format", "junit", SUITE[0], SUITE[1],
        ],
    );
    assert_eq!(
        junit,
        std::fs::read_to_string(latest(dir, ".junit.xml")).unwrap()
    );
}

#[test]
fn the_example_suite_and_what_init_writes_pass_their_own_check() {
    let check = |dir: &Path| {
        let shown = expect(0, dir, &["check", SUITE[0], SUITE[1], "--format", "json"]);
        let report: Value = serde_json::from_str(&shown).unwrap();
        let counts = |finding: &&Value| finding["level"] != "note";
        let found: Vec<&Value> = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(counts)
            .collect();
        assert!(found.is_empty(), "{found:#?}");
        assert_eq!(report["decision"], "holds");
        report
    };
    let report = check(project().path());
    assert!(report["proved_cases"].as_u64().unwrap() >= 20, "{report:#}");
    let empty = tempfile::tempdir().unwrap();
    expect(0, empty.path(), &["init"]);
    let report = check(empty.path());
    assert!(report["stamp"].is_string(), "{report:#}");
}

/// Every method that graded a sample, leaves of combined grades included.
#[test]
fn the_next_version_of_the_example_is_a_regression() {
    let dir = project();
    let run = ["run", "-q", "--progress", "none"];
    expect(0, dir.path(), &run);
    expect(
        1,
        dir.path(),
        &[&run[..], &["--var", "assistant=assistant-next"]].concat(),
    );
    let said = expect(1, dir.path(), &["compare", "previous", "--format", "json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    let one = &said["candidates"][0];
    assert_eq!(
        (
            &said["verdict"],
            &one["cases"]["broken"]["count"].to_string()
        ),
        (&"regression".into(), &"8".to_owned())
    );
    assert_eq!(
        one["cases"]["ungraded"]["count"].to_string(),
        "0",
        "everything is answered offline"
    );
    let page = expect(1, dir.path(), &["compare", "previous"]);
    assert!(
        page.contains("REGRESSION")
            && page.contains("GATE FAIL (--fail-on significant: a regression fails the gate)"),
        "{page}"
    );
}

fn methods(value: &Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| methods(item, found)),
        Value::Object(map) => {
            if let (Some(Value::String(method)), true) =
                (map.get("method"), map.contains_key("outcome"))
            {
                found.insert(method.clone());
            }
            map.values().for_each(|item| methods(item, found));
        }
        _ => {}
    }
}

#[test]
fn the_example_suite_uses_every_code_grader() {
    let project = project();
    expect(
        0,
        project.path(),
        &["run", SUITE[0], SUITE[1], "--progress", "none"],
    );
    let report = read_json(&latest(project.path(), ".json"));
    let mut found = std::collections::BTreeSet::new();
    methods(&report["eval_report"]["evals"], &mut found);
    for method in [
        "exact_match",
        "contains",
        "regex",
        "numeric",
        "json",
        "structural_match",
        "function_output",
        "code_execution",
        "similarity",
        "command",
    ] {
        assert!(found.contains(method), "{method} is not among {found:?}");
    }
}

/// The example service, ended with its value.
struct Service(std::process::Child, String);

impl Service {
    fn start(dir: &Path) -> Service {
        use std::io::BufRead as _;
        let mut child = std::process::Command::new("python3")
            .arg(dir.join("evals/tools/release_api.py"))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut address)
            .unwrap();
        Service(child, address.trim().to_owned())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_example_service_is_asked_and_a_changed_answer_fails() {
    let project = project();
    let dir = project.path();
    let run = |code, service: &Service| {
        let address = format!("api_base_url={}", service.1);
        let suite = [
            "run",
            "--suite",
            "evals/api-suite.yaml",
            "--progress",
            "none",
            "--var",
            address.as_str(),
        ];
        expect(code, dir, &suite)
    };
    let service = Service::start(dir);
    let shown = run(0, &service);
    assert!(shown.contains("GATE PASS"), "{shown}");
    drop(service);
    let tool = dir.join("evals/tools/release_api.py");
    let changed = std::fs::read_to_string(&tool)
        .unwrap()
        .replace("\"stable\": True", "\"stable\": 1");
    std::fs::write(&tool, changed).unwrap();
    let service = Service::start(dir);
    let shown = run(1, &service);
    assert!(
        shown.contains("api-latest") && shown.contains("body.stable"),
        "{shown}"
    );
    drop(service);
    // Nobody answers: that is no failure of the service's answers.
    let gone = [
        "run",
        "--suite",
        "evals/api-suite.yaml",
        "--progress",
        "none",
        "--quiet",
    ];
    let shown = expect(
        3,
        dir,
        &[&gone[..], &["--var", "api_base_url=http://127.0.0.1:1"]].concat(),
    );
    assert!(shown.starts_with("incomplete"), "{shown}");
}

#[test]
fn the_model_of_the_example_suite_answers_from_recordings_in_git() {
    let project = project();
    let dir = project.path();
    let run = |code: i32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_eval-harness"));
        let fixed = [
            "run",
            SUITE[0],
            SUITE[1],
            "--progress",
            "none",
            "--eval",
            "reg-commit-sorting",
        ];
        command
            .current_dir(dir)
            .args(fixed)
            .env_remove("OPENAI_API_KEY")
            .env_remove("GITHUB_ACTIONS");
        // Whoever would ask over the network would end here.
        let nowhere = "http://127.0.0.1:1";
        command
            .env("HTTPS_PROXY", nowhere)
            .env("EVAL_HARNESS_CACHE_DIR", dir.join("answers"));
        let output = command.output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    run(0);
    let report = read_json(&latest(dir, ".json"));
    let samples = report["eval_report"]["evals"][0]["cases"][0]["samples"]
        .as_array()
        .unwrap();
    assert_eq!(samples.len(), 3);
    assert!(samples.iter().all(|sample| sample["outcome"] == "passed"));
    // A question that was not recorded is no failure of the model.
    let eval = dir.join("evals/regression/commit-sorting.yaml");
    let text = std::fs::read_to_string(&eval).unwrap();
    std::fs::write(
        &eval,
        text.replace("Sort these commits", "Please sort these commits"),
    )
    .unwrap();
    let shown = run(3);
    assert!(shown.contains("missing_output"), "{shown}");
}

/// Acceptance of the judges: the blocks of the seeds, offline.
#[test]
fn the_judges_of_the_example_suite_answer_from_recordings_in_git() {
    let project = project();
    let dir = project.path();
    let run = |verb: &str, code: i32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_eval-harness"));
        let fixed = [
            verb,
            SUITE[0],
            SUITE[1],
            "--progress",
            "none",
            "--tag",
            "judged",
            "--format",
            "json",
        ];
        command
            .current_dir(dir)
            .args(fixed)
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("GITHUB_ACTIONS");
        command
            .env("HTTPS_PROXY", "http://127.0.0.1:1")
            .env("EVAL_HARNESS_CACHE_DIR", dir.join("answers"));
        let output = command.output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let shown = String::from_utf8(output.stdout).unwrap();
        std::fs::read_dir(dir.join("results/latest"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
            .map(|path| read_json(&path)["eval_report"].take())
            .unwrap_or_else(|| panic!("{shown}"))
    };
    let report = run("run", 0);
    let mut told = Vec::new();
    for eval in report["evals"].as_array().unwrap() {
        for case in eval["cases"].as_array().unwrap() {
            for sample in case["samples"].as_array().unwrap() {
                let grades = sample["grades"].as_array().unwrap();
                let judged = &grades
                    .iter()
                    .find(|grade| grade["judged"].is_object())
                    .unwrap()["judged"];
                let criteria = judged["criteria"].as_array().unwrap().iter();
                let criteria: Vec<String> = criteria
                    .map(|c| format!("{} {}", c["name"].as_str().unwrap(), c["score"]))
                    .collect();
                let score = sample["score"].as_f64().unwrap();
                let outcome = sample["outcome"].as_str().unwrap();
                let case = case["id"].as_str().unwrap();
                told.push(format!(
                    "{case} {outcome} {score:.3}: {}",
                    criteria.join(", ")
                ));
            }
        }
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    cap-semantic-001 passed 1.000: Completeness 5, Accuracy 5, Relevance 5
    cap-semantic-001 passed 1.000: Completeness 5, Accuracy 5, Relevance 5
    cap-semantic-001 passed 0.933: Completeness 4, Accuracy 5, Relevance 5
    cap-judged-code-quality passed 0.950: Correctness 5, Readability 5, Efficiency 5, Best Practices 4
    cap-judged-code-quality passed 0.850: Correctness 4, Readability 4, Efficiency 5, Best Practices 5
    cap-judged-code-quality passed 0.700: Correctness 4, Readability 4, Efficiency 4, Best Practices 3
    cap-judged-documentation passed 0.925: Completeness 5, Accuracy 4, Clarity 5, Organization 5
    cap-judged-documentation passed 0.825: Completeness 4, Accuracy 5, Clarity 4, Organization 4
    cap-judged-documentation passed 0.825: Completeness 4, Accuracy 5, Clarity 4, Organization 4
    retry-loop passed 1.000: overall 5
    retry-loop passed 0.750: overall 4
    retry-loop failed 0.000: overall 1
    swallowed-error passed 1.000: overall 5
    swallowed-error passed 1.000: overall 5
    swallowed-error passed 0.750: overall 4
    ");
    // The same outputs, judged again by the same answers.
    let again = run("regrade", 0);
    assert_eq!(again["summary"]["cases"], report["summary"]["cases"]);
    // What was not recorded is no failure of the output.
    let eval = dir.join("evals/capability/judged-review-comments.yaml");
    let text = std::fs::read_to_string(&eval).unwrap();
    std::fs::write(&eval, text.replace("is it specific", "is it short")).unwrap();
    let changed = run("run", 3);
    assert_eq!(
        changed["summary"]["by_cause"]["judge_unreachable"].to_string(),
        "6",
        "{}",
        changed["summary"]
    );
}

#[test]
fn the_example_suites_show_every_execution_and_comparison() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals");
    let mut text = std::fs::read_to_string(root.join("eval-suite.yaml")).unwrap();
    for folder in ["regression", "api"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            text += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
        }
    }
    for kind in [
        "recorded",
        "command",
        "skill",
        "http",
        "model",
        "exact",
        "structural",
        "numeric",
        "semantic",
    ] {
        assert!(
            text.contains(&format!("type: {kind}")),
            "no example has `type: {kind}`"
        );
    }
}

#[test]
fn filters_choose_evals_and_nothing_chosen_is_an_error() {
    let project = project();
    let dir = project.path();
    let run = |filter: &[&str], code| {
        let fixed = ["run", SUITE[0], SUITE[1], "--progress", "none", "--quiet"];
        expect(code, dir, &[&fixed[..], filter].concat())
    };
    run(&["--category", "regression", "--threshold", "pass@1=1"], 0);
    let report = read_json(&latest(dir, ".json"));
    let kinds = texts(&report["eval_report"]["evals"], "type");
    assert_eq!(kinds, ["regression"; 6]);
    run(&["--eval", "no-such-eval"], 2);
    run(&["--threshold", "pass@4=0.5", "--samples", "3"], 2);
}

#[test]
fn what_init_writes_is_valid_and_passes() {
    let dir = tempfile::tempdir().unwrap();
    expect(0, dir.path(), &["init"]);
    expect(0, dir.path(), &["validate", SUITE[0], SUITE[1]]);
    let shown = expect(
        0,
        dir.path(),
        &["run", SUITE[0], SUITE[1], "--progress", "none"],
    );
    assert!(shown.contains("GATE PASS"), "{shown}");
    // The target that its comment offers is one.
    let suite = dir.path().join(SUITE[1]);
    let written = std::fs::read_to_string(&suite).unwrap();
    let offered = written
        .lines()
        .find_map(|line| line.trim().strip_prefix("#   target: {type: model"))
        .unwrap();
    let recorded = "  target:\n    type: recorded\n    path: recordings/assistant.jsonl\n";
    assert!(written.contains(recorded));
    std::fs::write(
        &suite,
        written.replace(recorded, &format!("  target: {{type: model{offered}\n")),
    )
    .unwrap();
    expect(0, dir.path(), &["validate", SUITE[0], SUITE[1]]);
    std::fs::write(&suite, written).unwrap();
    // Identical files do not count as existing; a changed one is not overwritten.
    expect(0, dir.path(), &["init"]);
    let suite = dir.path().join(SUITE[1]);
    std::fs::write(&suite, "mine").unwrap();
    expect(2, dir.path(), &["init"]);
    assert_eq!(std::fs::read_to_string(&suite).unwrap(), "mine");
}

#[test]
fn init_template_workspace_is_valid_passes_and_is_proved() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".git")).unwrap();
    let said = expect(0, dir.path(), &["init", "--template", "workspace"]);
    assert!(
        said.contains("check --suite ./evals/eval-suite.yaml"),
        "{said}"
    );
    expect(0, dir.path(), &["validate", SUITE[0], SUITE[1], "--strict"]);
    let shown = expect(0, dir.path(), &["run", "--progress", "none"]);
    assert!(shown.contains("GATE PASS"), "{shown}");
    let report = read_json(&latest(dir.path(), ".json"));
    let case = &report["eval_report"]["evals"][0]["cases"][0];
    let changes = &case["samples"][0]["workspace"]["changes"];
    assert_eq!(
        changes["modified"],
        serde_json::json!(["slug.py"]),
        "{case:#}"
    );
    let said = expect(0, dir.path(), &["check", "--format", "json"]);
    let checked: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(checked["decision"], "holds", "{checked:#}");
    assert_eq!(checked["proved_cases"], 1, "{checked:#}");
    // An agent that only satisfies the visible test does not pass.
    let agent = "import pathlib\ncode = pathlib.Path('slug.py')\n\
                 code.write_text(code.read_text().replace('.replace(\" \", \"-\")',                  '.replace(\"   \", \"-\").replace(\" \", \"-\")'))\n";
    std::fs::write(dir.path().join("evals/agent.py"), agent).unwrap();
    expect(1, dir.path(), &["run", "--progress", "none"]);
    expect(
        2,
        dir.path(),
        &["init", "--template", "workspace", "--skill"],
    );
}

#[test]
fn init_template_agent_is_valid_passes_and_is_proved() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".git")).unwrap();
    expect(0, dir.path(), &["init", "--template", "agent"]);
    expect(0, dir.path(), &["validate", SUITE[0], SUITE[1], "--strict"]);
    let shown = expect(0, dir.path(), &["run", "--progress", "none"]);
    assert!(shown.contains("GATE PASS"), "{shown}");
    let report = read_json(&latest(dir.path(), ".json"));
    let sample = &report["eval_report"]["evals"][0]["cases"][0]["samples"][0];
    assert_eq!(sample["call"]["source"], "recording", "{sample:#}");
    assert_eq!(sample["trajectory"]["tool_calls"], 3, "{sample:#}");
    // The trajectory is not proved, and the check says so.
    let said = expect(0, dir.path(), &["check", "--format", "json"]);
    let checked: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(checked["decision"], "holds", "{checked:#}");
    assert_eq!(checked["proved_cases"], 1, "{checked:#}");
    assert_eq!(checked["without_trajectories"]["count"], 1, "{checked:#}");
    // Another prompt has no recording.
    let tasks = dir.path().join("evals/tasks.yaml");
    let text = std::fs::read_to_string(&tasks).unwrap();
    std::fs::write(&tasks, text.replace("Run the tests.", "Run them.")).unwrap();
    expect(3, dir.path(), &["run", "--progress", "none"]);
}

#[test]
fn what_new_writes_is_valid_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    for (kind, id) in [
        ("capability", "cap-new-001"),
        ("regression", "reg/new 001"),
        ("capability", "say \"x\": #1"),
        ("code", "code \"c\""),
        ("judge", "judge"),
        ("dataset", "data/__ID__ 1"),
    ] {
        let shown = expect(0, dir.path(), &["new", kind, id]);
        let path = shown
            .lines()
            .next()
            .unwrap()
            .strip_prefix("wrote ")
            .unwrap();
        let text = std::fs::read_to_string(dir.path().join(path)).unwrap();
        assert!(
            text.starts_with("# yaml-language-server: $schema=../../schemas/eval.schema.json\n"),
            "{text}"
        );
        expect(0, dir.path(), &["validate", path]);
    }
    expect(2, dir.path(), &["new", "capability", "cap-new-001"]);
    // Neither of the two files of a dataset is written over.
    std::fs::remove_file(dir.path().join("evals/capability/data%2F__ID__%201.yaml")).unwrap();
    expect(2, dir.path(), &["new", "dataset", "data/__ID__ 1"]);
}

#[test]
fn templates_of_new_grade_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".git")).unwrap();
    expect(0, dir.path(), &["init"]);
    expect(0, dir.path(), &["new", "code", "slugs"]);
    expect(0, dir.path(), &["new", "dataset", "capitals"]);
    expect(0, dir.path(), &["validate", SUITE[0], SUITE[1], "--strict"]);
    let code =
        "import re\ndef slugify(text):\n    return '-'.join(re.findall('[a-z]+', text.lower()))\n";
    let lines = |code: &str, capital: &str| {
        [
            serde_json::json!({"case": "slugs", "output": code}),
            serde_json::json!({"case": "france", "output": "paris"}),
            serde_json::json!({"case": "japan", "output": capital}),
        ]
        .map(|line| format!("{line}\n"))
        .concat()
    };
    let run = |code: i32, lines: String| {
        std::fs::write(dir.path().join("outputs.jsonl"), lines).unwrap();
        let args = "--outputs outputs.jsonl --eval slugs --eval capitals --progress none";
        let args: Vec<&str> = args.split(' ').collect();
        expect(
            code,
            dir.path(),
            &[&["run", SUITE[0], SUITE[1]], &args[..]].concat(),
        )
    };
    run(0, lines(code, "Tokyo"));
    run(1, lines("def slugify(text): return text", "Kyoto"));
    let report = read_json(&latest(dir.path(), ".json"));
    assert_eq!(
        texts(&report["eval_report"]["evals"], "outcome"),
        ["failed"; 2]
    );
}

#[test]
fn init_in_a_repository_makes_git_ignore_the_results() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("service");
    std::fs::create_dir_all(dir.path().join(".git")).unwrap();
    std::fs::create_dir_all(&inner).unwrap();
    let ignored = || std::fs::read_to_string(dir.path().join(".gitignore")).unwrap();
    std::fs::write(dir.path().join(".gitignore"), "target\r\n").unwrap();
    let init = harness(dir.path(), &["init", "service"]);
    let note = String::from_utf8_lossy(&init.stderr);
    assert!(note.contains("added `/results/` to .gitignore"), "{note}");
    assert_eq!(ignored(), "target\r\n/results/\r\n");
    expect(0, dir.path(), &["init", "service"]);
    assert_eq!(ignored(), "target\r\n/results/\r\n");
    expect(0, &inner, &["run", "--quiet"]);
    assert!(dir.path().join("results/latest").exists());
    // The repository that holds the folder, not the one that its path begins with.
    let beside = tempfile::tempdir().unwrap();
    let outside = format!(
        "../../{}",
        beside.path().file_name().unwrap().to_str().unwrap()
    );
    std::fs::remove_file(dir.path().join(".gitignore")).unwrap();
    expect(0, &inner, &["init", &outside]);
    assert!(beside.path().join("evals").exists() && !dir.path().join(".gitignore").exists());
    // Without a repository nothing is ignored.
    let lone = tempfile::tempdir().unwrap();
    expect(0, lone.path(), &["init"]);
    assert!(!lone.path().join(".gitignore").exists());
}

/// Pages of this repository's `docs/` are generated here only: what a project keeps there is its
/// own.
#[test]
fn schemas_are_all_that_is_written_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("docs/formats.md", "MY OWN DOC");
    write("docs/validation-codes.md", "MY OWN CODES");
    // A project that looks like this one, too.
    write("Cargo.toml", "[package]\nname = \"eval-harness\"\n");
    write("src/cli/schema.rs", "//! `eval-harness schema`\n");
    expect(0, dir.path(), &["schema"]);
    expect(0, dir.path(), &["schema", "--output", "deep/er"]);
    let text = |path: &str| std::fs::read_to_string(dir.path().join(path)).unwrap();
    assert_eq!(
        (text("docs/formats.md"), text("docs/validation-codes.md")),
        ("MY OWN DOC".into(), "MY OWN CODES".into())
    );
    assert_eq!(
        text("schemas/suite.schema.json"),
        text("deep/er/suite.schema.json")
    );
    let names = |path: &str| dir.path().join(path).read_dir().unwrap().count();
    assert_eq!((names("docs"), names(".")), (2, 5));
    expect(0, dir.path(), &["schema", "--check"]);
    write("schemas/suite.schema.json", "{}");
    expect(1, dir.path(), &["schema", "--check"]);
}

#[test]
fn generated_files_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    expect(0, root, &["schema", "--check"]);
}

/// Every file that a text links to or a schema line names exists.
/// The plan and the trigger over the example suite, as their first lines say.
#[test]
fn the_example_phases_pass_offline() {
    let project = project();
    let dir = project.path();
    expect(
        0,
        dir,
        &[
            "phase",
            "--plan",
            "evals/phases/plan.yaml",
            "--progress",
            "none",
        ],
    );
    let report = read_json(&dir.join("results/phases/phase-semver-precedence.json"));
    let statuses = texts(&report["phase_report"]["steps"], "status");
    assert_eq!(
        statuses,
        ["not_checked", "passed", "passed", "passed", "failed"],
        "the hard case does not block"
    );
    let trigger = [
        "phase",
        "--trigger",
        "evals/phases/trigger.yaml",
        "--phase-id",
        "semver",
    ];
    expect(
        0,
        dir,
        &[
            &trigger[..],
            &["--when", "after_tests_pass", "--progress", "none"],
        ]
        .concat(),
    );
    assert!(
        dir.join("results/phase-semver.md").is_file()
            && dir.join("results/archive/semver").is_dir()
    );
    for file in ["evals/phases/plan.yaml", "evals/phases/trigger.yaml"] {
        assert_eq!(expect(0, dir, &["validate", file]), "1 file: valid\n");
    }
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    pages.extend(
        std::fs::read_dir(root.join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    let mut links = 0;
    for page in pages
        .iter()
        .filter(|page| page.extension().is_some_and(|e| e == "md"))
    {
        let text = std::fs::read_to_string(page).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .map(|rest| rest.split(')').next().unwrap())
        {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") {
                continue;
            }
            links += 1;
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(file)
            };
            assert!(target.exists(), "{}: {link}", page.display());
            let there =
                anchor.is_empty() || headings(&target).iter().any(|heading| heading == anchor);
            assert!(there, "{}: {link} names no heading", page.display());
        }
    }
    assert!(links > 50, "{links}");
}

/// Editors check a file against the schema that its first line names.
#[test]
fn every_yaml_file_of_the_example_names_its_schema() {
    let evals = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals");
    let mut folders = vec![evals];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml") {
                let text = std::fs::read_to_string(&path).unwrap();
                let first = text.lines().next().unwrap();
                let schema = first
                    .strip_prefix("# yaml-language-server: $schema=")
                    .expect(first);
                assert!(
                    folder.join(schema).is_file(),
                    "{}: {schema}",
                    path.display()
                );
                files += 1;
            }
        }
    }
    assert!(files >= 10, "{files}");
}

fn headings(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let titles = text.lines().filter_map(|line| {
        line.trim_start_matches('#')
            .strip_prefix(' ')
            .filter(|_| line.starts_with('#'))
    });
    let anchor = |title: &str| {
        let kept = title.to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>()
            .replace(' ', "-")
    };
    titles.map(anchor).collect()
}

#[test]
fn what_the_scripted_agent_did_decides_and_not_what_it_says() {
    let project = project();
    let is_there = |program: &str| {
        let found = Command::new("which").arg(program).output();
        found.is_ok_and(|output| output.status.success())
    };
    let tools = [("javascript", "node"), ("go", "go"), ("rust", "cargo")];
    let missing: Vec<&str> = tools
        .iter()
        .filter(|(_, program)| !is_there(program))
        .map(|(tag, _)| *tag)
        .collect();
    if !missing.is_empty() {
        println!("SKIPPED: {missing:?}: the program is not installed");
    }
    let suite = ["run", "--suite", "evals/workspaces/eval-suite.yaml"];
    let output = harness(project.path(), &[&suite[..], &["--quiet"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if missing.is_empty() {
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    let json = expect(
        output.status.code().unwrap(),
        project.path(),
        &["report", "--run", "latest", "--format", "json"],
    );
    let report: Value = serde_json::from_str(&json).unwrap();
    let cases = report["eval_report"]["evals"][0]["cases"]
        .as_array()
        .unwrap();
    assert_eq!(cases.len(), 6);
    for case in cases {
        let (id, sample) = (case["id"].as_str().unwrap(), &case["samples"][0]);
        if missing.iter().any(|tag| id.starts_with(tag)) {
            continue;
        }
        let is_wrong = id.ends_with("half-fixed") || id.ends_with("cheat");
        let outcome = if is_wrong { "failed" } else { "passed" };
        assert_eq!(sample["outcome"], outcome, "{id}: {sample}");
    }
    // Right patches pass, unchanged workspaces and files that steer test runners fail.
    if missing.is_empty() {
        let suite = ["check", "--suite", "evals/workspaces/eval-suite.yaml"];
        let page = expect(0, project.path(), &suite);
        assert!(page.contains("in all 6 checked cases"), "{page}");
    }
}
