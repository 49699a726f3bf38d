//! Samples in workspaces: what a target sees, what it leaves, and what is left of it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Call, Project, eventually};

/// A suite of one eval whose target is a shell script; `workspace` and `cases` are YAML.
fn suite(workspace: &str, target: &str, cases: &str) -> Project {
    let suite = format!(
        "eval_suite:\n  name: Work\n  evals: [{{$ref: cases.yaml}}]\n  target: {target}\n  workspace: {workspace}\n  \
         reporting: {{format: [json, markdown]}}\n"
    );
    let cases = format!("metadata: {{id: work, name: Work}}\ntest_cases:\n{cases}");
    Project::with(&[
        ("suite.yaml", &suite),
        ("cases.yaml", &cases),
        ("agent.sh", AGENT),
        ("app/add.py", "def add(a, b):\n    return a - b\n"),
        ("app/README", "an app\n"),
        (
            "app/tests/test_add.py",
            "from add import add\nassert add(1, 2) == 3\n",
        ),
        ("app/tests/hidden/secret.py", "answer = 42\n"),
        ("app/.git/config", "history\n"),
    ])
}

/// Runs its input as a script.
const AGENT: &str = "sh -eu -c \"$(cat)\"\n";
const TARGET: &str = "{type: command, command: [sh, agent.sh]}";
const WORKSPACE: &str = "{from: {dir: app}, hidden: ['tests/hidden/**'], protected: ['tests/**']}";

fn case(id: &str, script: &str, expected: &str) -> String {
    format!(
        "  - {{id: {id}, input: {script:?}, expected: {{type: contains, value: {expected:?}}}}}\n"
    )
}

fn run(project: &Project, args: &[&str]) -> Call {
    project.call(&[&["run", "--suite", "suite.yaml", "--quiet"], args].concat())
}

/// The first sample of a case in the latest run.
fn sample(project: &Project, id: &str) -> Value {
    let report = project.report();
    let evals = report["evals"].as_array().unwrap();
    let cases = evals
        .iter()
        .flat_map(|eval| eval["cases"].as_array().unwrap());
    let case = cases.into_iter().find(|case| case["id"] == id);
    case.unwrap_or_else(|| panic!("no case {id}"))["samples"][0].clone()
}

fn paths<'v>(sample: &'v Value, list: &str) -> Vec<&'v str> {
    let list = sample["workspace"]["changes"][list].as_array().unwrap();
    list.iter().map(|path| path.as_str().unwrap()).collect()
}

/// The store of workspaces: that of root is apart.
fn store(project: &Project) -> PathBuf {
    let workspaces = project.path().join("answers/workspaces");
    let root = workspaces.join("v1-root");
    if root.exists() {
        root
    } else {
        workspaces.join("v1")
    }
}

/// What is left of the folders of a process.
fn live(project: &Project) -> usize {
    std::fs::read_dir(store(project).join("live"))
        .unwrap()
        .count()
}

#[test]
fn each_sample_works_in_a_folder_of_its_own_and_its_changes_are_recorded() {
    let change = "sed -i s/-/+/ add.py; echo new > new.txt; rm README; chmod +x add.py; echo done";
    let cases = [
        case("change", change, "done"),
        case("again", "cat add.py; ls", "a - b"),
        case(
            "nothing",
            "echo x > README; printf 'an app\\n' > README; echo same",
            "same",
        ),
    ];
    let project = suite(WORKSPACE, TARGET, &cases.concat());
    run(&project, &["--samples", "2"]).expect(0);
    let changed = sample(&project, "change");
    assert_eq!(paths(&changed, "added"), ["new.txt"]);
    assert_eq!(paths(&changed, "modified"), ["add.py"]);
    assert_eq!(paths(&changed, "deleted"), ["README"]);
    assert_eq!(changed["workspace"]["exit_code"], 0);
    let diff = changed["workspace"]["diff"]["text"].as_str().unwrap();
    for line in [
        "old mode 100644\nnew mode 100755",
        "-    return a - b\n+    return a + b\n",
        "+new\n",
        "-an app\n",
    ] {
        assert!(diff.contains(line), "{line} is not in\n{diff}");
    }
    for id in ["again", "nothing"] {
        let untouched = sample(&project, id);
        assert_eq!(untouched["workspace"]["diff"]["text"], "", "{untouched}");
    }
    let template = std::fs::read_to_string(project.path().join("app/add.py")).unwrap();
    assert_eq!(template, "def add(a, b):\n    return a - b\n");
    assert_eq!(live(&project), 0);
}

#[test]
fn reports_say_that_folders_cannot_be_renamed_where_it_is_so() {
    let script = "python3 -c 'import os\ntry:\n os.rename(\"tests\", \"moved\")\n print(\"moved\")\nexcept OSError as e:\n \
                  print(os.strerror(e.errno))'";
    // A report of cases that passed leaves it out.
    let suite = suite(
        WORKSPACE,
        TARGET,
        &(case("a", script, "e") + &case("b", "echo x", "y")),
    );
    let call = suite.call(&["run", "--suite", "suite.yaml"]);
    let report = suite.report();
    let output = sample(&suite, "a")["output"].as_str().unwrap().to_owned();
    let note = "can't rename folders of the template in one step (EXDEV)";
    let in_report = report["metadata"]["environment"]["sandbox"]["workspaces"].to_string();
    let is_refused = match output.trim() {
        "Invalid cross-device link" => true,
        "moved" => false,
        other => panic!("{other}"),
    };
    assert_eq!(in_report.contains(note), is_refused, "{in_report}");
    let shown = call.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(shown.contains(note), is_refused, "{shown}");
}

#[test]
fn no_target_sees_hidden_files_the_history_or_the_suite() {
    let root = |project: &Project| project.path().to_str().unwrap().to_owned();
    let look = "ls -a; ls tests; cat tests/hidden/secret.py 2>&1 || echo no secret; pwd; ls $HOME /results";
    let project = suite(WORKSPACE, TARGET, &case("look", look, "no secret"));
    run(&project, &[]).expect(0);
    let said = sample(&project, "look")["output"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        !said.contains(".git") && !said.contains("hidden\n"),
        "{said}"
    );
    assert!(said.contains("/workspace"), "{said}");
    let outside = format!(
        "cat {0}/app/tests/hidden/secret.py {0}/cases.yaml 2>&1 || echo none",
        root(&project)
    );
    project.write(
        "cases.yaml",
        &format!(
            "metadata: {{id: work, name: Work}}\ntest_cases:\n{}",
            case("outside", &outside, "none")
        ),
    );
    run(&project, &[]).expect(0);
    let said = sample(&project, "outside")["output"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(!said.contains("42") && !said.contains("metadata"), "{said}");
}

#[test]
fn setup_runs_once_is_no_change_and_its_failure_is_named() {
    let workspace = "{from: {dir: app}, files: {data.txt: one}, setup: [[sh, -c, 'echo $RANDOM_ID $(cat data.txt) > made; head -c 9 \
                     /dev/urandom | od -An -tx1 >> made']], env: {RANDOM_ID: seven}, cwd: tests}";
    let cases = [
        case("a", "cat ../tests/made", "seven one"),
        case("b", "pwd; cat made", "/workspace/tests"),
    ];
    let workspace = workspace.replace("cat data.txt", "cat ../data.txt");
    let project = suite(&workspace, TARGET, &cases.concat());
    run(&project, &[]).expect(0);
    let [a, b] = ["a", "b"].map(|id| sample(&project, id));
    assert_eq!(a["workspace"]["diff"]["text"], "");
    let made = |sample: &Value| {
        sample["output"]
            .as_str()
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .to_owned()
    };
    assert_eq!(made(&a), made(&b));
    // Another run takes the same layer.
    run(&project, &[]).expect(0);
    assert_eq!(made(&sample(&project, "a")), made(&a));

    let broken = suite(
        "{from: {dir: app}, setup: [[sh, -c, 'echo no such luck >&2; exit 3']]}",
        TARGET,
        &case("a", "echo a", "a"),
    );
    run(&broken, &[]).expect(3);
    let failed = sample(&broken, "a");
    assert_eq!(failed["cause"], "setup_failed");
    let reason = failed["reason"].as_str().unwrap();
    assert!(
        reason.contains("setup[0]") && reason.contains("exited with code 3: no such luck"),
        "{reason}"
    );
    assert_eq!(live(&broken), 0);
}

#[test]
fn teardown_runs_after_the_grade_and_its_failure_is_an_error() {
    let workspace = "{from: {dir: app}, teardown: [[sh, -c, 'test -e new || exit 4']]}";
    let cases = [
        case("new", "touch new; echo ok", "ok"),
        case("old", "echo ok", "ok"),
    ];
    let project = suite(workspace, TARGET, &cases.concat());
    run(&project, &[]).expect(3);
    assert_eq!(sample(&project, "new")["outcome"], "passed");
    let old = sample(&project, "old");
    assert_eq!(old["cause"], "setup_failed");
    assert!(
        old["reason"].as_str().unwrap().contains("teardown[0]"),
        "{old}"
    );
}

#[test]
fn workspaces_are_kept_where_the_case_asks_for_it() {
    let cases = [
        case("good", "echo b > new; echo ok", "ok"),
        case("bad/../name", "echo c > new; echo no", "ok"),
    ];
    for (keep, kept) in [("never", 0), ("failed", 1), ("always", 2)] {
        let workspace = format!("{{from: {{dir: app}}, keep: {keep}}}");
        let project = suite(&workspace, TARGET, &cases.concat());
        run(&project, &[]).expect(1);
        let folder = project.path().join("results/latest");
        let found: Vec<String> = ["good", "bad/../name"]
            .iter()
            .filter_map(|id| {
                Some(
                    sample(&project, id)["workspace"]["kept"]
                        .as_str()?
                        .to_owned(),
                )
            })
            .collect();
        assert_eq!(found.len(), kept, "{keep}");
        for name in &found {
            let at = folder.join(name);
            assert!(
                at.join("new").is_file() && at.join("add.py").is_file(),
                "{}",
                at.display()
            );
        }
    }
}

#[test]
fn commits_and_archives_are_sources() {
    let project = suite(
        "{from: {git: {repo: repo, commit: v1}}}",
        TARGET,
        &case("a", "cat version; test ! -e .git; echo ok", "one\nok"),
    );
    let repo = project.path().join("repo");
    std::fs::create_dir(&repo).unwrap();
    let git = |args: &[&str]| {
        let identity = [
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "-c",
            "commit.gpgsign=false",
        ];
        let done = std::process::Command::new("git")
            .arg("-C")
            .arg(&repo)
            .args(identity)
            .args(args)
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}");
    };
    git(&["init", "-q"]);
    for (version, tag) in [("one", "v1"), ("two", "v2")] {
        std::fs::write(repo.join("version"), format!("{version}\n")).unwrap();
        git(&["add", "."]);
        git(&["commit", "-qm", version]);
        git(&["tag", tag]);
    }
    run(&project, &[]).expect(0);
    let text = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write("suite.yaml", &text.replace("commit: v1", "commit: v3"));
    run(&project, &[]).expect(3);
    let reason = sample(&project, "a")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("v3"), "{reason}");

    for (flag, name) in [("-cf", "app.tar"), ("-czf", "app.tar.gz")] {
        let project = suite(
            &format!("{{from: {{archive: {name}}}}}"),
            TARGET,
            &case("a", "cat add.py; ls -l run.sh", "a - b"),
        );
        std::fs::write(project.path().join("app/run.sh"), "exit\n").unwrap();
        let done = std::process::Command::new("tar")
            .current_dir(project.path().join("app"))
            .args([flag, &format!("../{name}"), "."])
            .status();
        assert!(done.unwrap().success());
        run(&project, &[]).expect(0);
    }
}

#[test]
fn archives_that_lead_out_or_hold_devices_are_refused() {
    let tar = |script: &str| {
        let project = suite(
            "{from: {archive: bad.tar}}",
            TARGET,
            &case("a", "echo a", "a"),
        );
        let made = std::process::Command::new("python3")
            .current_dir(project.path())
            .args(["-c", &format!("import io, tarfile\nout = tarfile.open('bad.tar', 'w')\ndef put(name, **of):\n  info = tarfile.TarInfo(name)\n  data = of.pop('data', b'')\n  info.size = len(data)\n  for key, value in of.items(): setattr(info, key, value)\n  out.addfile(info, io.BytesIO(data))\n{script}\nout.close()")])
            .status();
        assert!(made.unwrap().success());
        run(&project, &[]).expect(3);
        let sample = sample(&project, "a");
        assert_eq!(sample["cause"], "setup_failed", "{sample}");
        assert!(!project.path().join("../escaped").exists());
        sample["reason"].as_str().unwrap().to_owned()
    };
    let escaped = tar("put('../escaped', data=b'x')");
    assert!(escaped.contains("points outside"), "{escaped}");
    let device = tar("put('null', type=tarfile.CHRTYPE, devmajor=1, devminor=3)");
    assert!(device.contains("is a device or a pipe"), "{device}");
    let link = tar("put('out', type=tarfile.SYMTYPE, linkname='/etc')\nput('out/x', data=b'x')");
    assert!(link.contains("out"), "{link}");
    let outside = tar("put('out', type=tarfile.SYMTYPE, linkname='/etc/passwd')");
    assert!(outside.contains("outside of the folder"), "{outside}");
}

#[test]
fn limits_end_a_target_and_whatever_it_started() {
    let workspace = "{from: {dir: app}, disk_mb: 8, memory_mb: 64, processes: 20}";
    let cases = [
        case(
            "disk",
            "head -c 50000000 /dev/zero > big; sleep 5; echo late",
            "x",
        ),
        case(
            "memory",
            "python3 -c 'x = bytearray(400 << 20); print(len(x))'",
            "x",
        ),
        case("time", "sleep 600 & sleep 600", "x"),
        case("left", "(sleep 600; echo > later) & echo ok", "ok"),
    ];
    let project = suite(workspace, TARGET, &cases.concat());
    let text = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    project.write(
        "suite.yaml",
        &text.replace("  reporting", "  config: {timeout_seconds: 3}\n  reporting"),
    );
    let begun = Instant::now();
    run(&project, &[]).expect(1);
    assert!(begun.elapsed() < Duration::from_secs(120));
    let disk = sample(&project, "disk");
    assert_eq!(
        (&disk["outcome"], &disk["cause"]),
        (&"failed".into(), &"output_limit".into()),
        "{disk}"
    );
    assert!(
        disk["reason"].as_str().unwrap().contains("(`disk_mb`)"),
        "{disk}"
    );
    assert_eq!(sample(&project, "time")["cause"], "target_timeout");
    assert_ne!(sample(&project, "memory")["outcome"], "passed");
    assert_eq!(sample(&project, "left")["outcome"], "passed");
}

#[test]
fn a_target_outside_of_the_sandbox_works_in_the_folder_alone() {
    let target = "{type: command, command: [sh, agent.sh], isolation: workspace}";
    let project = suite(
        WORKSPACE,
        target,
        &case("a", "echo x > new; pwd; ls tests", "workspace"),
    );
    run(&project, &[]).expect(0);
    let a = sample(&project, "a");
    assert_eq!(paths(&a, "added"), ["new"]);
    assert!(!a["output"].as_str().unwrap().contains("hidden"), "{a}");
    assert!(!project.path().join("new").exists());
    // And one that works where the suite is leaves no workspace.
    let target = "{type: command, command: [sh, agent.sh], isolation: none}";
    let project = suite(WORKSPACE, target, &case("a", "ls; echo ok", "suite.yaml"));
    run(&project, &[]).expect(0);
    assert_eq!(sample(&project, "a")["workspace"], Value::Null);
}

#[test]
fn recorded_patches_are_applied_and_graded_again() {
    let project = suite(
        WORKSPACE,
        TARGET,
        &case(
            "a",
            "sed -i s/-/+/ add.py; mkdir d; echo 1 > d/n; echo ok",
            "ok",
        ),
    );
    run(&project, &[]).expect(0);
    let made = sample(&project, "a");
    project
        .call(&[
            "regrade",
            "--run",
            "latest",
            "--suite",
            "suite.yaml",
            "--quiet",
        ])
        .expect(0);
    assert_eq!(
        sample(&project, "a")["workspace"]["diff"],
        made["workspace"]["diff"]
    );

    let line =
        |patch: &str| serde_json::json!({"case": "a", "output": "ok", "patch": patch}).to_string();
    let patch = made["workspace"]["diff"]["text"].as_str().unwrap();
    project.write("outputs.jsonl", &line(patch));
    run(&project, &["--outputs", "outputs.jsonl"]).expect(0);
    let recorded = sample(&project, "a");
    assert_eq!(recorded["workspace"]["diff"], made["workspace"]["diff"]);
    assert_eq!(paths(&recorded, "modified"), ["add.py"]);
    assert_eq!(paths(&recorded, "added"), ["d/n"]);

    project.write(
        "outputs.jsonl",
        &line(&patch.replace("return a - b", "return a * b")),
    );
    run(&project, &["--outputs", "outputs.jsonl"]).expect(3);
    let refused = sample(&project, "a");
    assert_eq!(refused["cause"], "patch_rejected");
    assert!(
        refused["reason"].as_str().unwrap().contains("add.py"),
        "{refused}"
    );
    project.write(
        "outputs.jsonl",
        &line("--- a/../out\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n"),
    );
    run(&project, &["--outputs", "outputs.jsonl"]).expect(3);
    assert_eq!(sample(&project, "a")["cause"], "patch_rejected");
    // What the target began with has changed.
    run(&project, &[]).expect(0);
    project.write(
        "app/add.py",
        "def add(a, b):\n    # why\n    return a - b\n",
    );
    project
        .call(&[
            "regrade",
            "--run",
            "latest",
            "--suite",
            "suite.yaml",
            "--quiet",
        ])
        .expect(3);
    assert_eq!(sample(&project, "a")["cause"], "patch_rejected");
}

#[test]
fn a_killed_run_leaves_what_the_next_one_removes() {
    let project = suite(WORKSPACE, TARGET, &case("a", "echo x > new; sleep 60", "x"));
    let mut child = project
        .command(&["run", "--suite", "suite.yaml", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let holds_new = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .flat_map(|entry| {
                std::fs::read_dir(entry.path())
                    .into_iter()
                    .flatten()
                    .flatten()
            })
            .any(|entry| {
                entry.path().join("upper/new").exists()
                    || entry.path().join("workspace/new").exists()
            })
    };
    let until = Instant::now() + Duration::from_secs(60);
    while !holds_new(&store(&project).join("live")) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(holds_new(&store(&project).join("live")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(live(&project) > 0);
    project.write(
        "cases.yaml",
        &format!(
            "metadata: {{id: work, name: Work}}\ntest_cases:\n{}",
            case("a", "echo x", "x")
        ),
    );
    // The cells of the killed run end on their own, and let go of the folder.
    run(&project, &[]).expect(0);
    assert_eq!(live(&project), 0);
}

#[test]
fn hostile_files_are_told_and_harm_nobody() {
    let script = "ln -s /etc/passwd out; mkfifo pipe; ln -s ../../.. up; mkdir -p deep/closed; echo x > deep/closed/f; chmod 000 deep/closed; \
                  touch \"$(printf 'bad\\nname')\" \"$(printf 'raw\\377')\"; echo ok";
    let project = suite(WORKSPACE, TARGET, &case("a", script, "ok"));
    run(&project, &[]).expect(0);
    let a = sample(&project, "a");
    assert_eq!(paths(&a, "special"), ["pipe"]);
    assert_eq!(paths(&a, "outside_links"), ["out", "up"]);
    assert_eq!(
        paths(&a, "added"),
        [
            "\"bad\\nname\"",
            "deep/closed/f",
            "out",
            "\"raw\\377\"",
            "up"
        ]
    );
    assert_eq!(live(&project), 0);
}

#[test]
fn results_and_stores_are_no_part_of_a_source() {
    let project = suite(
        "{from: {dir: .}}",
        TARGET,
        &case("a", "ls -aR; echo x > new", "suite.yaml"),
    );
    // Of a suite with another `output_dir`; a folder of that name without runs is the project's.
    let foreign = |day: &str| {
        for name in [
            "run-050607.journal.jsonl",
            "run-050607.workspaces/e/foreign",
        ] {
            project.write(&format!("other/out/{day}/{name}"), "foreign");
        }
    };
    foreign("2026-03-04");
    project.write("other/out/phases/foreign", "");
    project.write("other/out/notes.md", "");
    project.write("days/2026-03-04/own.md", "");
    std::os::unix::fs::symlink("2026-03-04", project.path().join("other/out/latest")).unwrap();
    run(&project, &[]).expect(0);
    let first = sample(&project, "a");
    foreign("2026-03-05");
    let call = run(&project, &["--changed", "--dry-run"]).expect(0);
    assert!(!call.stdout.contains("other"), "{}", call.stdout);
    run(&project, &[]).expect(0);
    let second = sample(&project, "a");
    for sample in [&first, &second] {
        let said = sample["output"].as_str().unwrap();
        assert!(!said.contains("results") && !said.contains("v1"), "{said}");
        assert!(
            !said.contains("foreign") && !said.contains("2026-03-05"),
            "{said}"
        );
        assert!(
            said.contains("notes.md") && said.contains("own.md"),
            "{said}"
        );
    }
    assert_eq!(
        first["workspace"]["template"],
        second["workspace"]["template"]
    );
}

#[test]
fn what_the_setup_makes_is_not_hidden_so_it_must_not_be_meant_to_be() {
    let workspace = "{from: {dir: app}, hidden: [expected/**], setup: [[sh, -c, 'mkdir expected; echo 1 > expected/x']]}";
    let project = suite(workspace, TARGET, &case("a", "cat expected/x", "1"));
    run(&project, &[]).expect(3);
    let reason = sample(&project, "a")["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("`expected") && reason.contains("hidden"),
        "{reason}"
    );
}

#[test]
fn files_that_a_command_depends_on_stay_and_are_not_shown() {
    let target =
        "{type: command, command: [sh, agent.sh], depends_on: ['app/**', ../lib/prompt.md]}";
    let look = "ls -R /tmp; cat /tmp/suite/app/tests/hidden/secret.py 2>&1 || echo none";
    let project = suite(WORKSPACE, target, &case("a", look, "none"));
    let suites = project.path().join("suites");
    std::fs::create_dir(&suites).unwrap();
    for name in ["suite.yaml", "cases.yaml", "agent.sh", "app"] {
        std::fs::rename(project.path().join(name), suites.join(name)).unwrap();
    }
    project.write("lib/prompt.md", "a prompt");
    project
        .call(&["run", "--suite", "suites/suite.yaml", "--quiet"])
        .expect(0);
    let said = sample(&project, "a")["output"].as_str().unwrap().to_owned();
    assert!(
        said.contains("agent.sh") && !said.contains("answer"),
        "{said}"
    );
    let prompt = std::fs::read_to_string(project.path().join("lib/prompt.md")).unwrap();
    assert_eq!(prompt, "a prompt");
}

#[test]
fn patches_run_nothing_outside_of_the_sandbox() {
    let workspace = "{from: {dir: app}, files: {stop.sh: 'true'}, teardown: [[sh, stop.sh]]}";
    let target = "{type: recorded, path: outputs.jsonl}";
    let project = suite(workspace, target, &case("a", "x", "ok"));
    let escaped = project.path().join("escaped");
    let patch = format!(
        "--- a/stop.sh\n+++ b/stop.sh\n@@ -1 +1 @@\n-true\n\\ No newline at end of file\n+touch {} || true\n",
        escaped.display()
    );
    let line = serde_json::json!({"case": "a", "output": "ok", "patch": patch}).to_string();
    project.write("outputs.jsonl", &line);
    run(&project, &[]).expect(0);
    assert!(!escaped.exists());
    // A patch without a workspace is no output.
    let text = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let without: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().starts_with("workspace:"))
        .collect();
    project.write("suite.yaml", &without.join("\n"));
    run(&project, &[]).expect(3);
    assert_eq!(sample(&project, "a")["cause"], "missing_output");
}

#[test]
fn files_that_take_no_room_count_with_their_size() {
    let workspace = "{from: {dir: app}, disk_mb: 64, keep: always}";
    let script = "for n in 1 2 3; do truncate -s 30M hole$n; done; echo ok";
    let project = suite(workspace, TARGET, &case("a", script, "ok"));
    run(&project, &[]).expect(1);
    let a = sample(&project, "a");
    assert_eq!(
        (&a["outcome"], &a["cause"]),
        (&"failed".into(), &"output_limit".into()),
        "{a}"
    );
}

#[test]
fn a_stored_layer_that_was_changed_is_made_again() {
    let project = suite(WORKSPACE, TARGET, &case("a", "cat add.py", "a - b"));
    run(&project, &[]).expect(0);
    let layers = std::fs::read_dir(store(&project).join("layers"))
        .unwrap()
        .flatten();
    let layer = layers
        .map(|entry| entry.path())
        .find(|path| path.is_dir())
        .unwrap();
    std::fs::write(layer.join("hidden/tests/hidden/secret.py"), "answer = 0\n").unwrap();
    run(&project, &[]).expect(0);
    let secret = std::fs::read_to_string(layer.join("hidden/tests/hidden/secret.py")).unwrap();
    assert_eq!(secret, "answer = 42\n");
    std::fs::remove_dir_all(layer.join("tree")).unwrap();
    run(&project, &[]).expect(0);
}

/// Writes what it is sent to a file of its workspace, and answers with what it sees there.
const SERVICE: &str = r#"
import http.server, json, os, subprocess, sys
class Answers(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass
    def do_POST(self):
        sent = self.rfile.read(int(self.headers["content-length"])).decode()
        if sent == "die":
            os._exit(3)
        if sent == "moved" and self.path == "/":
            self.send_response(307)
            self.send_header("location", f"http://127.0.0.1:{sys.argv[1]}/there")
            self.end_headers()
            return
        if sent == "elsewhere":
            self.send_response(302)
            self.send_header("location", f"http://127.0.0.1:{os.environ['OTHER']}/")
            self.end_headers()
            return
        if sent == "cut":
            self.wfile.write(b"HTTP/1.0 200 OK\\r\\n\\r\\nhalf of the ")
            self.wfile.flush()
            os._exit(3)
        if sent == "leave":
            subprocess.Popen(["sh", "-c", "sleep 600; echo > late"], start_new_session=True)
        with open("said", "a") as said:
            said.write(sent + "\n")
        body = json.dumps({"said": open("said").read(), "files": sorted(os.listdir(".")), "at": self.path}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
assert sys.argv[1] == os.environ["PORT"]
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"#;

fn service(extra: &str) -> String {
    format!(
        "{{type: http, serve: {{command: [python3, service.py, '{{{{ port }}}}']{extra}}}, endpoint: /, body: '{{{{ prompt }}}}'}}"
    )
}

#[test]
fn a_service_runs_in_the_workspace_of_each_sample() {
    for extra in ["", ", isolation: workspace"] {
        let cases = [
            case("first", "hello", "hello"),
            case("second", "again", "again"),
            case("moved", "moved", "/there"),
            case("left", "leave", "leave"),
        ];
        let project = suite(WORKSPACE, &service(extra), &cases.concat());
        project.write("service.py", SERVICE);
        run(&project, &["--samples", "3"]).expect(0);
        for (id, sent) in [("first", "hello"), ("second", "again")] {
            let sample = sample(&project, id);
            // Each has seen its own files and nobody else's, and no hidden one.
            assert_eq!(
                sample["output"]["body"]["said"],
                format!("{sent}\n"),
                "{sample}"
            );
            assert_eq!(paths(&sample, "added"), ["said"], "{sample}");
            let files = sample["output"]["body"]["files"].to_string();
            assert_eq!(files, r#"["README","add.py","said","tests"]"#);
        }
        assert_eq!(live(&project), 0);
        assert!(!project.path().join("said").exists());
    }
}

#[test]
fn a_service_that_fails_says_why() {
    let project = suite(
        "{}",
        &service(", ready_seconds: 2"),
        &[case("dies", "die", "x"), case("works", "hello", "hello")].concat(),
    );
    project.write("service.py", SERVICE);
    run(&project, &[]).expect(3);
    let dead = sample(&project, "dies");
    assert_eq!(dead["cause"], "target_failed");
    let reason = dead["reason"].as_str().unwrap();
    assert!(
        reason.contains("did not answer and exited with code 3"),
        "{reason}"
    );
    assert_eq!(sample(&project, "works")["outcome"], "passed");

    for (program, expected) in [
        (
            "import sys; sys.exit('no settings')",
            "did not answer and exited with code 1: no settings",
        ),
        (
            "import sys, time\nprint('waits', file=sys.stderr, flush=True)\ntime.sleep(600)",
            "did not listen on its PORT within 2 s: waits",
        ),
    ] {
        project.write("service.py", program);
        run(&project, &["--case", "works"]).expect(3);
        let reason = sample(&project, "works")["reason"].to_string();
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn a_service_sends_nobody_elsewhere_and_its_answers_are_whole() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let number = other.local_addr().unwrap().port();
    let workspace = format!("{{env: {{OTHER: '{number}'}}}}");
    for extra in ["", ", isolation: workspace"] {
        let cases = [
            case("elsewhere", "elsewhere", "x"),
            case("cut", "cut", "half"),
        ];
        let project = suite(&workspace, &service(extra), &cases.concat());
        project.write("service.py", SERVICE);
        run(&project, &[]).expect(3);
        let elsewhere = sample(&project, "elsewhere");
        assert_eq!(elsewhere["cause"], "target_failed", "{elsewhere}");
        let reason = elsewhere["reason"].as_str().unwrap();
        assert!(
            reason.contains("redirects to another host, port or scheme"),
            "{reason}"
        );
        assert!(other.accept().is_err());
        let cut = sample(&project, "cut");
        assert_eq!(cut["cause"], "target_failed", "{cut}");
        let reason = cut["reason"].as_str().unwrap();
        assert!(reason.contains("exited with code 3"), "{reason}");
    }
}

#[test]
fn a_service_needs_a_workspace_and_has_no_other_address() {
    for (workspace, target, expected) in [
        (
            "null",
            service(""),
            "a target with `serve` needs a workspace for its program",
        ),
        (
            "{}",
            service("").replace("endpoint", "base_url: 'http://127.0.0.1:1', endpoint"),
            "`base_url` and `serve` contradict each other",
        ),
        (
            "{}",
            service(", env: [PORT]"),
            "`env` of `serve` cannot contain PORT",
        ),
        (
            "{}",
            service(", isolation: none"),
            "a service cannot run outside of its workspace",
        ),
        (
            "{}",
            service("").replace("endpoint: /", "endpoint: 'http://127.0.0.1/x'"),
            "write only the path: the service has another port in each sample",
        ),
        (
            "{}",
            service("").replace("endpoint", "insecure: true, endpoint"),
            "`insecure` has no effect with `serve`",
        ),
        (
            "{}",
            service("").replace("endpoint", "retries: 2, endpoint"),
            "`retries` has no effect with `serve`",
        ),
        (
            "{}",
            "{type: http, base_url: 'http://127.0.0.1:1', endpoint: /}".to_owned(),
            "a target of type `http` cannot work in a workspace",
        ),
    ] {
        let project = suite(workspace, &target, &case("a", "x", "x"));
        project.write("service.py", SERVICE);
        let call = run(&project, &[]);
        assert_eq!(call.code, Some(2), "{}", call.stderr);
        assert!(call.stderr.contains(expected), "{}", call.stderr);
    }
}

#[test]
fn interrupted_run_grades_what_a_running_target_leaves() {
    let target = "{type: command, command: [sh, agent.sh], isolation: workspace}";
    let project = suite(WORKSPACE, target, "");
    let place = project.path().display();
    let script = format!(
        "touch {place}/started; while [ ! -e {place}/go ]; do sleep 0.05; done; echo new > left"
    );
    // Graders of the workspace, and a command, which would be ended if they were at work.
    let cases = format!(
        "metadata: {{id: work, name: Work}}\ntest_cases:\n  - id: a\n    input: {script:?}\n    graders:\n      \
         - {{type: code, config: {{method: files, files: {{left: {{contains: new}}}}}}}}\n      \
         - {{type: code, config: {{method: workspace_tests, command: [sh, -c, sleep 1; cat left]}}}}\n"
    );
    project.write("cases.yaml", &cases);
    let mut child = project
        .command(&["run", "--suite", "suite.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the target works", || {
        project.path().join("started").exists()
    });
    let sent = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    // Longer than graders that are at work have.
    std::thread::sleep(Duration::from_millis(800));
    project.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let a = sample(&project, "a");
    assert_eq!(a["outcome"], "passed", "{a}");
    assert_eq!(a["grades"].as_array().unwrap().len(), 2, "{a}");
}

#[test]
fn missing_cwd_is_a_fault_of_the_workspace() {
    for workspace in [
        "{from: {dir: app}, cwd: nope}",
        "{from: {dir: app}, cwd: README}",
    ] {
        let project = suite(workspace, TARGET, &case("a", "echo ok", "ok"));
        run(&project, &[]).expect(3);
        let a = sample(&project, "a");
        assert_eq!(a["cause"], "setup_failed", "{a}");
        let reason = a["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("`cwd`: the workspace has no folder"),
            "{reason}"
        );
    }
    let workspace = "{from: {dir: app}, cwd: tests}";
    let project = suite(workspace, TARGET, &case("a", "pwd", "/tests"));
    run(&project, &[]).expect(0);
}
