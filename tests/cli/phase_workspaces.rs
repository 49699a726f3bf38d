//! Steps of a phase in workspaces: they judge a copy of the working tree, in the real sandbox.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Call, Project, eventually};

const SLUG: &str = "def slug(title):\n    return title.strip().lower().replace(' ', '-')\n";

/// Passes, writes JUnit files, and does to its folder what a step must not do to the user's.
const TESTS: &str = "\
set -e
test ! -e results
test ! -e target
test ! -e .git
test \"$(cat slug.py | wc -l)\" = 2
mkdir -p reports
echo '<testsuite tests=\"2\"><testcase name=\"a\"/><testcase name=\"b\"/></testsuite>' > reports/r.xml
echo 'no code' > slug.py
echo new > new.py
rm -rf lib
chmod +x plan.yaml
ln -s / root
";

/// Every path of a project with its kind, rights and content, without what eval-harness writes.
fn tree(top: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(top).expect("below").display().to_string();
            // Of eval-harness: results, and the cache of these tests.
            if name == "results" || name == "answers" {
                continue;
            }
            let meta = path.symlink_metadata().expect("metadata");
            let content = if meta.is_dir() {
                open.push(path);
                Vec::new()
            } else if meta.is_symlink() {
                path.read_link()
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                std::fs::read(&path).expect("a file")
            };
            found.insert(name, (meta.permissions().mode(), content));
        }
    }
    found
}

fn project(plan: &str) -> Project {
    Project::with(&[
        ("plan.yaml", plan),
        ("slug.py", SLUG),
        ("lib/a.py", "A = 1\n"),
        ("tests.sh", TESTS),
        ("target/large.bin", "large"),
        ("results/old.json", "{}"),
        (
            "reports/r.xml",
            "<testsuite><testcase name=\"old\"><failure/></testcase></testsuite>",
        ),
    ])
}

fn phase(project: &Project, code: i32) -> (Value, Call) {
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(code);
    let path = project.path().join("results/phases/phase-p.json");
    let text = std::fs::read_to_string(path).expect("a report");
    let mut report: Value = serde_json::from_str(&text).expect("JSON");
    (report["phase_report"].take(), call)
}

/// Whether a process has this word among its arguments.
fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("processes");
    processes.filter_map(Result::ok).any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|part| part == word.as_bytes())
    })
}

const COPY: &str = "workspace: {from: {dir: ., exclude: [target]}}";

#[test]
fn a_test_step_in_a_copy_leaves_the_tree_as_it_is() {
    let project = project(&format!(
        "phase:\n  id: p\n  name: P\n  {COPY}\n  steps:\n    - type: test\n      name: Tests\n      \
         command: [sh, tests.sh]\n      config: {{junit: 'reports/r*.xml'}}\n    - type: check\n      \
         name: Lint\n      command: [sh, -c, 'test -e lib/a.py; pwd; exit 3']\n      \
         config: {{blocking: false}}\n"
    ));
    let before = tree(project.path());
    let (report, call) = phase(&project, 0);
    assert_eq!(tree(project.path()), before);
    let step = &report["steps"][0];
    assert_eq!(
        (&step["status"], &step["copy_of"]),
        (&"passed".into(), &".".into()),
        "{step:#}"
    );
    assert_eq!(step["tests"]["passed"], 2, "{step:#}");
    assert_eq!(step["tests"]["files"], serde_json::json!(["reports/r.xml"]));
    // Each step has a fresh copy.
    let lint = &report["steps"][1];
    assert_eq!(lint["exit_code"], 3, "{lint:#}");
    assert!(call.stdout.contains("in a copy of"), "{}", call.stdout);
    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).expect("a report");
    let markdown = read("results/phases/phase-p.md");
    assert!(markdown.contains("in a copy of `.`"), "{markdown}");
    assert!(read("results/phases/phase-p.html").contains("in a copy of"));
}

#[test]
fn junit_files_that_the_command_did_not_write_are_not_its_results() {
    for glob in ["reports/r.xml", "reports/*.xml"] {
        let project = project(&format!(
            "phase:\n  id: p\n  name: P\n  {COPY}\n  steps:\n    - type: test\n      \
             command: ['true']\n      config: {{junit: '{glob}'}}\n"
        ));
        let (report, _) = phase(&project, 3);
        let step = &report["steps"][0];
        assert_eq!(
            step["reason"],
            format!("no file matches `{glob}`"),
            "{step:#}"
        );
    }
}

#[test]
fn a_link_in_the_place_of_a_junit_file_is_not_followed() {
    let project = project(&format!(
        "phase:\n  id: p\n  name: P\n  {COPY}\n  steps:\n    - type: test\n      \
         command: [sh, -c, 'mkdir out; ln -s \"$0\" out/r.xml', '{{}}']\n      config: {{junit: 'out/*.xml'}}\n"
    ));
    let target = project.write(
        "outside.xml",
        "<testsuite><testcase name=\"a\"/></testsuite>",
    );
    let plan = std::fs::read_to_string(project.path().join("plan.yaml")).expect("a plan");
    project.write(
        "plan.yaml",
        &plan.replace("'{}'", &format!("'{}'", target.display())),
    );
    let (report, _) = phase(&project, 3);
    assert_eq!(
        report["steps"][0]["reason"],
        "no file matches `out/*.xml`; `out/r.xml` is a link, which is not followed"
    );
}

#[test]
fn a_copy_has_what_earlier_steps_wrote_in_place() {
    let look = "{type: check, command: [sh, -c, 'ls lib; test $MARK = seen; exit 3'], config: {blocking: false}}";
    let project = project(&format!(
        "phase:\n  id: p\n  name: P\n  workspace: {{from: {{dir: .}}, env: {{MARK: seen}}}}\n  steps:\n    \
         - {look}\n    \
         - type: implement\n      command: [sh, -c, 'echo made > lib/made.txt; test -z \"$MARK\"']\n    \
         - {look}\n    \
         - {{type: check, dir: lib, command: [sh, -c, 'cat made.txt; test $MARK = seen']}}\n    \
         - {{type: check, workspace: null, command: [sh, -c, 'test -e .git && echo x > kept']}}\n"
    ));
    let (report, _) = phase(&project, 0);
    let steps = report["steps"].as_array().expect("steps");
    // The same definition, and another tree.
    assert_eq!(steps[0]["output_tail"], "a.py");
    assert_eq!(steps[2]["output_tail"], "a.py\nmade.txt");
    assert_eq!(steps[3]["status"], "passed");
    let copies: Vec<&Value> = steps.iter().map(|step| &step["copy_of"]).collect();
    let copy = &Value::from(".");
    assert_eq!(copies, [copy, &Value::Null, copy, copy, &Value::Null]);
    assert!(project.path().join("kept").exists());
}

#[test]
fn targets_of_an_eval_step_work_in_copies() {
    let project = project(
        "phase:\n  id: p\n  name: P\n  workspace: {from: {dir: app}, hidden: [secret.txt]}\n  steps:\n    \
         - {type: check, command: [cat, secret.txt]}\n    \
         - {type: eval, name: Evals, config: {suite: suite.yaml}}\n",
    );
    project.write("app/a.txt", "old");
    project.write("app/secret.txt", "s");
    project.write(
        "suite.yaml",
        "eval_suite:\n  name: S\n  target: {type: command, command: [sh, -c, 'test ! -e secret.txt && echo new > a.txt']}\n  \
         evals:\n    - id: e\n      name: E\n      category: c\n      input: go\n      graders: [{type: code, config: {method: files, files: {a.txt: {contains: new}}}}]\n",
    );
    let before = tree(project.path());
    let (report, call) = phase(&project, 0);
    assert_eq!(tree(project.path()), before);
    assert_eq!(report["steps"][1]["copy_of"], "app");
    assert!(
        call.stdout.contains("targets in a copy of"),
        "{}",
        call.stdout
    );
    // The suite's own setting wins.
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).expect("a suite");
    project.write(
        "suite.yaml",
        &suite.replace("evals:", "workspace: null\n  evals:"),
    );
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    assert!(call.stderr.contains("workspace"), "{}", call.stderr);
    // A copy that has the suite.
    project.write("app/suite.yaml", &suite);
    let plan = std::fs::read_to_string(project.path().join("plan.yaml")).expect("a plan");
    project.write(
        "plan.yaml",
        &plan.replace("suite: suite.yaml", "suite: app/suite.yaml"),
    );
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    assert!(
        call.stderr.contains("contains this suite"),
        "{}",
        call.stderr
    );
    project.write(
        "plan.yaml",
        &plan
            .replace("suite: suite.yaml", "suite: app/suite.yaml")
            .replace("{dir: app}", "{dir: app, exclude: [suite.yaml]}"),
    );
    project.call(&["phase", "--plan", "plan.yaml"]).expect(0);
    project.write("plan.yaml", &plan);
    // A target that can't work in one.
    project.write(
        "suite.yaml",
        &suite.replace(
            "{type: command, command: [sh, -c, 'test ! -e secret.txt && echo new > a.txt']}",
            "{type: echo}",
        ),
    );
    let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
    assert!(
        call.stderr
            .contains("a target of type `echo` cannot work in a workspace"),
        "{}",
        call.stderr
    );
}

#[test]
fn a_step_whose_setup_or_teardown_fails_is_incomplete() {
    for (key, reason) in [
        (
            "setup",
            "setup[0] (`sh -c echo broken; exit 4`) exited with code 4: broken",
        ),
        (
            "teardown",
            "teardown[0] (`sh -c echo broken; exit 4`) exited with code 4: broken",
        ),
    ] {
        let project = project(&format!(
            "phase:\n  id: p\n  name: P\n  steps:\n    - type: check\n      command: ['true']\n      \
             workspace: {{from: {{dir: .}}, {key}: [[sh, -c, 'echo broken; exit 4']]}}\n"
        ));
        let (report, _) = phase(&project, 3);
        let step = &report["steps"][0];
        assert_eq!(
            (&step["status"], &step["reason"]),
            (&"incomplete".into(), &reason.into())
        );
    }
}

#[test]
fn limits_of_a_step_in_a_copy_hold_and_end_what_it_started() {
    let mark = format!("9{}.5", std::process::id());
    let project = project(&format!(
        "phase:\n  id: p\n  name: P\n  workspace: {{from: {{dir: .}}, disk_mb: 4}}\n  steps:\n    \
         - {{type: check, command: [sh, -c, 'sleep {mark} & echo begun'], config: {{blocking: false}}}}\n    \
         - {{type: check, command: [sh, -c, 'sleep {mark} & echo begun; wait'], timeout_seconds: 1, config: {{blocking: false}}}}\n    \
         - {{type: check, command: [sh, -c, 'head -c 64M /dev/zero > big; sleep 60'], config: {{blocking: false}}}}\n    \
         - {{type: check, command: [no-such-program], config: {{blocking: false}}}}\n"
    ));
    let (report, _) = phase(&project, 0);
    let told: Vec<String> = report["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .take(4)
        .map(|step| {
            format!(
                "{} {}",
                step["status"].as_str().unwrap_or_default(),
                step["reason"].as_str().unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(told[0], "passed ");
    assert_eq!(
        told[1],
        "failed did not end within 1 s; it was stopped with all processes it had started"
    );
    assert_eq!(told[2], "failed it was stopped: it exceeded the disk limit");
    assert!(told[3].starts_with("incomplete "), "{}", told[3]);
    assert!(told[3].contains("no-such-program"), "{}", told[3]);
    eventually("every process has ended", || !runs(&mark));
}

#[test]
fn junit_files_that_are_not_read_allow_no_pass() {
    let passes =
        "echo '<testsuite tests=\\\"1\\\"><testcase name=\\\"a\\\"/></testsuite>' > r/a.xml";
    let step = |script: &str| {
        format!(
            "    - {{type: test, command: [sh, -c, \"mkdir r; {script}\"], config: {{junit: 'r/*.xml'}}}}\n"
        )
    };
    let steps = [
        step(passes),
        step(&format!(
            "{passes}; mv r/a.xml x; ln -s ../x r/a.xml; {passes}2; cp r/a.xml2 r/b.xml"
        )),
        step(&format!("{passes}; truncate -s 300M r/b.xml")),
        step("truncate -s 300M r/b.xml; exit 1"),
    ];
    for (number, (status, reason)) in [
        ("passed", ""),
        ("incomplete", "`r/a.xml` is a link"),
        ("incomplete", "`r/b.xml` is larger than 256 MiB"),
        ("failed", "code 1"),
    ]
    .into_iter()
    .enumerate()
    {
        let project = project(&format!(
            "phase:\n  id: p\n  name: P\n  {COPY}\n  steps:\n{}    - {{type: check, command: ['true']}}\n",
            steps[number]
        ));
        project.call(&["phase", "--plan", "plan.yaml"]);
        let text = std::fs::read_to_string(project.path().join("results/phases/phase-p.json"));
        let report: Value = serde_json::from_str(&text.expect("a report")).expect("JSON");
        let step = &report["phase_report"]["steps"][0];
        assert_eq!(step["status"], status, "{step:#}");
        let told = step["reason"].as_str().unwrap_or_default();
        assert!(told.contains(reason), "{told}");
    }
}

#[test]
fn an_interrupted_step_in_a_copy_ends_what_it_started() {
    let mark = format!("8{}.5", std::process::id());
    let project = project(&format!(
        "phase:\n  id: p\n  name: P\n  {COPY}\n  steps:\n    \
         - {{type: check, command: [sh, -c, 'sleep {mark} & sleep {mark}']}}\n    \
         - {{type: check, command: ['true']}}\n"
    ));
    let before = tree(project.path());
    let child = project
        .command(&["phase", "--plan", "plan.yaml"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    eventually("the command runs", || runs(&mark));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
    Call::of(child.wait_with_output().expect("an end")).expect(130);
    eventually("every process has ended", || !runs(&mark));
    assert_eq!(tree(project.path()), before);
    let text = std::fs::read_to_string(project.path().join("results/phases/phase-p.json"));
    let report: Value = serde_json::from_str(&text.expect("a report")).expect("JSON");
    let steps = &report["phase_report"]["steps"];
    assert_eq!(steps[0]["status"], "incomplete");
    assert_eq!(steps[1]["status"], "not_reached");
    assert_eq!(steps[1]["copy_of"], Value::Null);
}

#[test]
fn a_workspace_that_does_not_fit_its_step_is_an_error() {
    for (step, message) in [
        (
            "{type: implement, command: ['true'], workspace: {from: {dir: .}}}",
            "a step of type `implement` has no `workspace`: it changes the working tree",
        ),
        (
            "{type: code-review, workspace: {}}",
            "`workspace` has no effect without a `command`",
        ),
        (
            "{type: check, command: ['true'], workspace: {protected: [a]}}",
            "`protected` is for steps of type `eval`, but this step has the type `check`",
        ),
        (
            "{type: check, command: ['true'], dir: ../x, workspace: {}}",
            "..",
        ),
        (
            "{type: test, command: ['true'], workspace: {}, config: {junit: /tmp/x.xml}}",
            "`/tmp/x.xml` is not a path in the workspace of the step",
        ),
        (
            "{type: check, command: ['true'], workspace: {from: {dir: ., exclude: [/target]}}}",
            "`/target` matches nothing: it begins with `/`",
        ),
        (
            "{type: check, command: ['true'], workspace: {from: {dir: ..}}}",
            "outside",
        ),
    ] {
        let project = project(&format!(
            "phase:\n  id: p\n  name: P\n  steps:\n    - {step}\n    - {{type: check, command: ['true']}}\n"
        ));
        let call = project.call(&["phase", "--plan", "plan.yaml"]).expect(2);
        assert!(call.stderr.contains(message), "{step}: {}", call.stderr);
    }
}
