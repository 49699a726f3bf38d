//! Command graders that run in the workspace that a target left, over real suites: with a real
//! interpreter in a real sandbox. The target runs each case's input as a script in the workspace.

use std::net::TcpListener;

use serde_json::Value;

use crate::support::{Call, Project};
use crate::tier::refuse_namespaces;
use crate::workspace_graders::{
    Attempt, FIX, PLAIN, UNITTEST, attempt, check, grade_of, graded, project,
};

/// Judges the sum, after it has looked at all that the harness promises. The text with which it ends
/// is the reason of a failure.
const CHECK: &str = r#"
import json, os, pathlib, socket, sys

def need(holds, what):
    if not holds:
        sys.exit("broken promise: " + what)

need(sys.argv[1:] == ["--out=/tmp/tests2"], "arguments")
path = os.environ["EVAL_CONTEXT"]
sample = json.load(open(path))
need(sample["case"] == os.environ["EVAL_CASE"], "case")
need(sample["input"]["type"] == "prompt" and "add.py" in sample["input"]["content"], "input")
need(sample["output"] == "done\n" == sys.stdin.read(), "output")
need("expected" not in sample and "EVAL_EXPECTED" not in os.environ, "what every process can read")
need(open(int(os.environ["EVAL_EXPECTED_FD"]), closefd=False).read() == "done" != os.read(3, 1), "expected")
need(sample["metadata"] == {"name": "Sum", "tags": []}, "metadata")
need(sample["latency_ms"] > 0 and "usage" not in sample, "latency")
left = sample["workspace"]
need(left["exit_code"] == 0 and left["changes"]["modified"][:1] == ["add.py"], "changes")
need("+    return a + b" in left["diff"]["text"] and not left["diff"]["truncated"], "diff")
need(pathlib.Path("hidden/expected.txt").read_text() == "3\n", "hidden files")
need(pathlib.Path("kept.txt").read_text() == "kept\n", "protected files")
need(pathlib.Path("laid/more.txt").read_text() == "more", "files of the grader")
need(os.environ["FLAVOUR"] == "plain" and "LISTED" not in os.environ, "environment")
for file in [path, __file__]:
    try:
        open(file, "a")
        need(False, file + " can be written")
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", PORT), 5)
    need(False, "there is a network")
except OSError:
    pass
sys.path.insert(0, os.getcwd())
from add import add
if add(1, 2) != int(open("hidden/expected.txt").read()):
    sys.exit(f"1 + 2 is {add(1, 2)}")
"#;

const SUITE: &str = "eval_suite:
  name: Work
  evals: [{$ref: cases.yaml}]
  target: {type: command, command: [sh, agent.sh]}
  workspace:
    from: {dir: app}
    hidden: ['hidden/**']
    protected: [kept.txt]
    env: {FLAVOUR: plain}
  reporting: {format: [json]}
";

fn suite_of_promises(port: u16) -> Project {
    let case = |id: &str, script: &str| {
        format!(
            "  - {{id: {id}, name: Sum, input: {script:?}, expected: {{type: exact, value: done}}}}\n"
        )
    };
    let cases = [
        case("honest", "sed -i s/-/+/ add.py; echo done"),
        case(
            "wrong",
            "printf 'def add(a, b):\\n    return a + b if a else 0\\n\\n\\ndef add(a, b):\\n    return 4\\n' > add.py; echo done",
        ),
        // The target sees neither what is hidden nor the grader; what it changes is put back.
        case(
            "pries",
            "sed -i s/-/+/ add.py; test ! -e hidden; test ! -e /tmp/suite/graders; echo 4 > kept.txt; \
             mkdir hidden; echo 3 > hidden/more.txt; echo 4 > hidden/expected.txt; echo done",
        ),
    ];
    let cases = format!(
        "metadata: {{id: work, name: Work}}\ngrader: {{type: code, config: {{command: [python3, graders/check.py, --out=/tmp/tests2], workspace: true, \
         env: [LISTED], files: {{laid/more.txt: more}}}}}}\ntest_cases:\n{}",
        cases.concat()
    );
    Project::with(&[
        ("suite.yaml", SUITE),
        ("cases.yaml", &cases),
        ("agent.sh", "sh -eu -c \"$(cat)\"\n"),
        (
            "graders/check.py",
            &CHECK.replace("PORT", &port.to_string()),
        ),
        ("app/add.py", "def add(a, b):\n    return a - b\n"),
        ("app/kept.txt", "kept\n"),
        ("app/hidden/expected.txt", "3\n"),
    ])
}

fn hold_promises(report: &Value) {
    let table = [
        ("honest", "passed", ""),
        ("wrong", "failed", "1 + 2 is 4"),
        ("pries", "passed", ""),
    ];
    for (id, outcome, reason) in table {
        let sample = grade_of(report, id);
        let said = sample["reason"].as_str().unwrap_or_default();
        assert_eq!(sample["outcome"], outcome, "{id}: {sample:#}");
        assert!(said.contains(reason), "{id}: {said}");
        let grade = &sample["grades"][0];
        assert_eq!(grade["trust"], "in_process");
        assert!(
            grade["details"]["not_defended"][0]
                .as_str()
                .unwrap()
                .contains("exit code 0")
        );
    }
}

/// Runs the candidate as a process of its own, and gives its verdict in a file.
const STARTS: &str = r#"
import json, os, subprocess, sys, time
ran = subprocess.run([sys.executable, "add.py", "1", "2"], stdout=subprocess.PIPE, text=True, timeout=60)
passed = ran.stdout.strip() == "3"
with open(os.environ["EVAL_VERDICT"], "w") as file:
    json.dump({"passed": passed, "reason": "it printed " + ran.stdout.strip()}, file)
if os.path.exists("slow"):
    time.sleep(1)
"#;

/// Leaves a process that finds the file for the verdict and replaces what the grader writes to it.
const REPLACES: &str = r#"
import os, sys, time
if os.fork():
    print(1)
    sys.exit()
os.setsid()
null = os.open(os.devnull, os.O_RDWR)
os.dup2(null, 0), os.dup2(null, 1)
verdict = os.environ["EVAL_VERDICT"]
passed = b'{"passed": true}'
how = open("how").read().strip()
early = os.open(verdict, os.O_RDWR) if how == "early" else None
while os.path.getsize(verdict) == 0:
    time.sleep(0.001)
if how == "late":
    open(verdict, "wb").write(passed)
elif how == "early":
    os.ftruncate(early, 0)
    os.pwrite(early, passed, 0)
elif how == "moved":
    open(verdict + "x", "wb").write(passed)
    os.rename(verdict + "x", verdict)
"#;

/// Whatever process is left behind, it can't replace the verdict of the grader.
#[test]
fn verdict_in_a_file_is_only_that_of_the_grader() {
    let replaces = format!("cat > add.py <<'END'{}END\ntouch slow; echo", REPLACES);
    let honest = "printf 'import sys\nprint(int(sys.argv[1]) + int(sys.argv[2]))\n' > add.py";
    let left = |how: &str| Box::leak(format!("{replaces} {how} > how").into_boxed_str()) as &str;
    let doubted = "errored harness";
    let reason = "was opened several times, replaced or moved";
    let attempts = [
        attempt("honest", honest, "passed", ""),
        attempt("waits", left("none"), "failed wrong_answer", "it printed 1"),
        attempt("late", left("late"), doubted, reason),
        attempt("early", left("early"), doubted, reason),
        attempt("moved", left("moved"), doubted, reason),
    ];
    let files = [("graders/starts.py", STARTS)];
    let grader = "{command: [python3, graders/starts.py], workspace: true, verdict: json_file}";
    graded(PLAIN, grader, &files, &attempts);
    let made = project(PLAIN, grader, &files, &attempts);
    let mut command = made.command(&["run", "--suite", "suite.yaml", "--quiet"]);
    refuse_namespaces(
        &mut command,
        (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as u32,
    );
    let call = Call::of(command.output().expect("the program starts"));
    if call.code == Some(2) && call.stderr.contains("sandbox") {
        println!("SKIPPED: {}", call.stderr);
        return;
    }
    let report = made.report();
    assert!(report.to_string().contains("\"tier\":\"landlock\""));
    for one in &attempts {
        let sample = grade_of(&report, one.id);
        let found = format!(
            "{} {}",
            sample["outcome"].as_str().unwrap(),
            sample["cause"].as_str().unwrap_or_default()
        );
        assert_eq!(found.trim(), one.expected.0, "{}: {sample:#}", one.id);
    }
}

/// A process of the workspace can't write to the memory of the grader, nor read what is expected.
#[test]
fn grader_in_another_process_is_out_of_reach() {
    let script = r#"
import os, subprocess, sys
expected = open(3).read()
ran = subprocess.run([sys.executable, "add.py", str(os.getpid())], stdout=subprocess.PIPE, text=True)
sys.exit(0 if ran.stdout == expected else "it printed " + (ran.stdout or "nothing"))
"#;
    let pries = "cat > add.py <<'END'
import os, sys
grader = '/proc/' + sys.argv[1]
try:
    os.close(os.open(grader + '/mem', os.O_RDWR))
    print('writes to the memory')
except OSError:
    pass
for file in [grader + '/environ', os.environ['EVAL_CONTEXT'], grader + '/fd/3']:
    try:
        data = os.read(os.open(file, os.O_RDONLY | os.O_NONBLOCK), 1 << 20)
        if bytes.fromhex('733363723374') in data:
            print('found in', file)
    except OSError:
        pass
END";
    let grader = "{command: [python3, graders/look.py], workspace: true}";
    let cases = format!(
        "metadata: {{id: work, name: Work}}\ngrader: {{type: code, config: {grader}}}\ntest_cases:\n  - {{id: pries, \
         input: {pries:?}, expected: {{type: exact, value: s3cr3t}}}}\n"
    );
    let reason = "it printed nothing";
    let attempts = [attempt("pries", pries, "failed wrong_answer", reason)];
    let project = project(PLAIN, grader, &[("graders/look.py", script)], &attempts);
    project.write("cases.yaml", &cases);
    check(&project, &attempts);
}

#[test]
fn program_in_workspace_finds_what_is_promised() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let project = suite_of_promises(listener.local_addr().unwrap().port());
    project
        .call(&["run", "--suite", "suite.yaml", "--quiet"])
        .expect(1);
    hold_promises(&project.report());
    project
        .call(&[
            "regrade",
            "--run",
            "latest",
            "--suite",
            "suite.yaml",
            "--quiet",
        ])
        .expect(1);
    hold_promises(&project.report());
}

#[test]
fn promises_hold_in_the_landlock_tier() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let project = suite_of_promises(listener.local_addr().unwrap().port());
    let mut command = project.command(&["run", "--suite", "suite.yaml", "--quiet"]);
    let all = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as u32;
    refuse_namespaces(&mut command, all);
    let call = Call::of(command.output().expect("the program starts"));
    if call.code == Some(2) && call.stderr.contains("sandbox") {
        println!("SKIPPED: {}", call.stderr);
        return;
    }
    let report = project.report();
    assert!(report.to_string().contains("\"tier\":\"landlock\""));
    hold_promises(&report);
}

#[test]
fn each_ending_of_the_program_has_its_cause() {
    let script = r"
import os, signal, sys, time
do = open('do').read().strip() if os.path.exists('do') else ''
if do == 'traceback': raise KeyError(do)
if do == 'two': sys.exit(2)
if do == 'signal': os.kill(os.getpid(), signal.SIGKILL)
if do == 'sleep': time.sleep(3600)
if do == 'memory': held = b'x' * (1 << 30)
if do == 'noise': sys.stderr.write('x' * 300000 + '\n'); raise KeyError(do)
sys.exit(0 if do == 'pass' else 'not enough')
";
    let file = [("graders/check.py", script)];
    let grader = "{command: [python3, graders/check.py], workspace: true, timeout_seconds: 20}";
    let attempts = [
        attempt("pass", "echo pass > do", "passed", ""),
        attempt("fail", "true", "failed wrong_answer", "not enough"),
        attempt(
            "two",
            "echo two > do",
            "failed exited",
            "the grader python3 exited with code 2",
        ),
        attempt(
            "traceback",
            "echo traceback > do",
            "failed exited",
            "KeyError: 'traceback'",
        ),
        attempt(
            "noise",
            "echo noise > do",
            "failed exited",
            "KeyError: 'noise'",
        ),
        attempt("signal", "echo signal > do", "failed crashed", "SIGKILL"),
    ];
    graded(PLAIN, grader, &file, &attempts);
    let negated = format!("{grader}, negate: true");
    let attempts = [
        attempt("fail", "true", "passed", "negated"),
        attempt("two", "echo two > do", "failed exited", "code 2"),
        attempt(
            "traceback",
            "echo traceback > do",
            "failed exited",
            "KeyError",
        ),
    ];
    graded(PLAIN, &negated, &file, &attempts);
    let limited = "{command: [python3, graders/check.py], workspace: true, timeout_seconds: 2}";
    let attempts = [attempt(
        "sleep",
        "echo sleep > do",
        "failed timeout",
        "the grader python3 did not end within 2 s",
    )];
    graded(PLAIN, limited, &file, &attempts);
    let workspace = "{from: {dir: app}, memory_mb: 128}";
    let attempts = [attempt("memory", "echo memory > do", "failed", "")];
    graded(workspace, grader, &file, &attempts);
}

#[test]
fn missing_programs_are_errors_and_deleted_ones_failures() {
    let build = ("app/build.sh", "#!/bin/sh\ngrep -q + add.py\n");
    let grader = "{command: [/workspace/build.sh], workspace: true}";
    let attempts = [
        attempt("honest", FIX, "passed", ""),
        attempt(
            "deleted",
            "rm build.sh",
            "failed no_code",
            "`/workspace/build.sh` can no longer be started",
        ),
    ];
    let judged = |grader: &str, attempts: &[Attempt]| {
        let project = project(PLAIN, grader, &[build], attempts);
        make_executable(&project, "app/build.sh");
        check(&project, attempts);
    };
    judged(grader, &attempts);
    let negated = "{command: [/workspace/build.sh], workspace: true}, negate: true";
    let attempts = [
        attempt("bug", "true", "passed", ""),
        attempt("deleted", "rm build.sh", "failed no_code", ""),
    ];
    judged(negated, &attempts);
    let none = "{command: [/workspace/none.sh], workspace: true}";
    let attempts = [attempt(
        "made",
        "true",
        "errored executor_missing",
        "/workspace/none.sh",
    )];
    graded(PLAIN, none, &[], &attempts);
    // It could not be started before the target ran, either.
    let plain = ("app/plain.sh", "#!/bin/sh\nexit 0\n");
    for grader in [
        "{command: [/workspace/plain.sh], workspace: true}",
        "{method: workspace_tests, command: [./plain.sh]}",
    ] {
        let attempts = [attempt("fix", FIX, "errored executor_missing", "plain.sh")];
        graded(PLAIN, grader, &[plain], &attempts);
    }
    let odd = ("graders/odd", "#!/no/such/interpreter\n");
    let lost = "{command: [./graders/odd], workspace: true}";
    let attempts = [attempt("odd", FIX, "errored executor_missing", "")];
    graded(PLAIN, lost, &[odd], &attempts);
    let shell = "{command: [sh, -c, no_such_program], workspace: true}";
    let attempts = [attempt("shell", FIX, "errored harness", "code 127")];
    graded(PLAIN, shell, &[], &attempts);
}

fn make_executable(project: &Project, path: &str) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path().join(path), mode).unwrap();
}

#[test]
fn what_a_program_writes_is_thrown_away() {
    let script = r"
import os, pathlib, sys
places = ['left', '/tmp/left', '/results/left', os.environ['HOME'] + '/left', 'add.py']
seen = [place for place in places[:4] if os.path.exists(place)]
for place in places:
    pathlib.Path(place).write_text('left')
sys.exit('found ' + ' '.join(seen) if seen else 0)
";
    let grader = "{command: [python3, graders/leave.py], workspace: true}}, {type: code, config: {command: [python3, graders/leave.py], \
                  workspace: true}}, {type: code, config: {method: diff, may_touch: [add.py], must_touch: [add.py], max_files: 1}";
    let cases = format!(
        "metadata: {{id: work, name: Work}}\ngraders: [{{type: code, config: {grader}}}]\ntest_cases:\n  - {{id: a, input: {FIX:?}}}\n"
    );
    let attempts = [attempt("a", FIX, "passed", "")];
    let project = project(PLAIN, "{}", &[("graders/leave.py", script)], &attempts);
    project.write("cases.yaml", &cases);
    let report = check(&project, &attempts);
    assert_eq!(
        grade_of(&report, "a")["grades"].as_array().unwrap().len(),
        3
    );
}

/// Imports the candidate and then gives its verdict, as a simple grader does.
const IMPORTS: &str = r#"
import json, os, sys
sys.path.insert(0, os.getcwd())
from add import add
passed = add(1, 2) == 3
verdict = {"passed": passed, "score": 0.75 if passed else 0.25, "reason": f"sum {add(1, 2)}", "metrics": {"sums": add(1, 2)}}
text = json.dumps(verdict)
if "EVAL_VERDICT" in os.environ:
    open(os.environ["EVAL_VERDICT"], "w").write(text)
elif "exit" in sys.argv:
    sys.exit(0 if passed else "sum")
else:
    print(text)
"#;

/// What a module prints when it is imported, with what it does then.
fn cheat(id: &'static str, then: &str, outcome: &'static str, reason: &'static str) -> Attempt {
    let line = r#"printf 'import os\nprint("{\\"passed\\": true, \\"metrics\\": {\\"sums\\": 3}}", flush=True)\n'"#;
    let script = format!(
        "{line} > add.py; printf '{then}' >> add.py; echo 'def add(a, b): return 9' >> add.py"
    );
    attempt(id, Box::leak(script.into_boxed_str()), outcome, reason)
}

#[test]
fn verdict_on_stdout_is_spoilt_but_can_be_forged() {
    let grader =
        "{command: [python3, graders/imports.py], workspace: true, verdict: json, metrics: [sums]}";
    let attempts = [
        attempt("honest", FIX, "passed", ""),
        attempt("nothing", "true", "failed wrong_answer", "sum -1"),
        // Two verdicts are none.
        cheat("prints", "", "errored harness", "gave no verdict"),
        // Not defended: the grade's `not_defended` says it.
        cheat("prints_and_exits", "os._exit(0)\\n", "passed", ""),
    ];
    let report = graded(PLAIN, grader, &[("graders/imports.py", IMPORTS)], &attempts);
    let honest = &grade_of(&report, "honest")["grades"][0];
    assert_eq!(honest["score"].as_f64(), Some(0.75));
    assert_eq!(honest["metrics"]["sums"].as_f64(), Some(3.0));
    for id in ["honest", "prints_and_exits"] {
        let grade = &grade_of(&report, id)["grades"][0];
        assert_eq!(grade["trust"], "in_process");
        let warned = grade["details"]["not_defended"][0].as_str().unwrap();
        assert!(warned.contains("prints a verdict"), "{warned}");
    }
}

#[test]
fn verdict_in_a_file_is_not_read_from_stdout() {
    let grader = "{command: [python3, graders/imports.py], workspace: true, verdict: json_file, metrics: [sums]}";
    let attempts = [
        attempt("honest", FIX, "passed", ""),
        attempt("nothing", "true", "failed wrong_answer", "sum -1"),
        cheat("prints", "", "failed wrong_answer", "sum 9"),
        cheat(
            "prints_and_exits",
            "os._exit(0)\\n",
            "errored harness",
            "it did not write the file that EVAL_VERDICT names",
        ),
        cheat(
            "link",
            "v = os.environ[\"EVAL_VERDICT\"]; os.unlink(v); os.symlink(\"/etc/hostname\", v); os._exit(0)\\n",
            "errored harness",
            "was opened several times, replaced or moved",
        ),
        cheat(
            "other_name",
            "open(\"/results/verdict.json\", \"w\").write(\"{}\"); os._exit(0)\\n",
            "errored harness",
            "it did not write the file",
        ),
        cheat(
            "long",
            "open(os.environ[\"EVAL_VERDICT\"], \"w\").write(\" \" * 70000 + \"{\\\\\"passed\\\\\": true}\"); os._exit(0)\\n",
            "errored harness",
            "more than 65536 bytes",
        ),
        // Not defended: it reads the name of the file in the environment that it shares, and the grader
        // does not get to write.
        cheat(
            "writes_the_file",
            "open(os.environ[\"EVAL_VERDICT\"], \"w\").write(\"{\\\\\"passed\\\\\": true, \\\\\"metrics\\\\\": {\\\\\"sums\\\\\": 3}}\"); os._exit(0)\\n",
            "passed",
            "",
        ),
    ];
    let report = graded(PLAIN, grader, &[("graders/imports.py", IMPORTS)], &attempts);
    let grade = &grade_of(&report, "writes_the_file")["grades"][0];
    let warned = grade["details"]["not_defended"][0].as_str().unwrap();
    assert!(warned.contains("writes the file"), "{warned}");
}

#[test]
fn cut_stdout_is_no_verdict() {
    let script = "print('{\"passed\": true}' + ' ' * 70000)\n";
    let grader = "{command: [python3, graders/long.py], workspace: true, verdict: json}";
    let attempts = [attempt(
        "long",
        FIX,
        "errored harness",
        "more than 65536 bytes",
    )];
    graded(PLAIN, grader, &[("graders/long.py", script)], &attempts);
}

#[test]
fn word_for_two_files_is_an_error() {
    // A reference solution beside the suite, and a command that means the target's file.
    let grader = "{command: [python3, -m, py_compile, add.py], workspace: true}";
    let attempts = [attempt(
        "a",
        "echo 'def (' > add.py",
        "errored harness",
        "`add.py` in the command is a file of the suite's folder and of the workspace",
    )];
    graded(PLAIN, grader, &[("add.py", "x = 1\n")], &attempts);
    let own = ("checks/look.py", "import sys\n");
    let script = "{command: [python3, checks/look.py], workspace: true}";
    let attempts = [
        attempt("honest", FIX, "passed", ""),
        attempt(
            "made",
            "mkdir checks; touch checks/look.py",
            "errored harness",
            "`checks/look.py` in the command is a file of the suite's folder and of the workspace",
        ),
    ];
    graded(PLAIN, script, &[own], &attempts);
    // What the target can't change is no danger; the suite's file runs.
    let kept = ("app/checks/look.py", "raise KeyError\n");
    let workspace = "{from: {dir: app}, protected: ['checks/**']}";
    let attempts = [attempt("kept", "rm -r checks", "passed", "")];
    graded(workspace, script, &[own, kept], &attempts);
    let plain = "{command: [python3, -m, py_compile, /workspace/add.py], workspace: true}";
    let attempts = [
        attempt("broken", "echo 'def (' > add.py", "failed", "add.py"),
        attempt("fixed", FIX, "passed", ""),
    ];
    graded(PLAIN, plain, &[("add.py", "x = 1\n")], &attempts);
}

#[test]
fn changed_script_of_a_grader_is_a_changed_grader() {
    let grader = "{command: [sh, graders/look.sh], workspace: true}";
    let attempts = [attempt("a", FIX, "passed", "")];
    let files = [("graders/look.sh", "grep -q + add.py\n")];
    let project = project(PLAIN, grader, &files, &attempts);
    check(&project, &attempts);
    let plan = ["run", "--suite", "suite.yaml", "--changed", "--dry-run"];
    let planned = || {
        let words = project.call(&plan).stdout;
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let before = planned();
    assert!(before.contains("its files are unknown"), "{before}");
    project.write("graders/look.sh", "grep -q '[*]' add.py\n");
    let after = planned();
    assert!(
        after.contains("the grader or the expectation changed"),
        "{after}"
    );
    project
        .call(&["run", "--suite", "suite.yaml", "--changed", "--quiet"])
        .expect(1);
    let report = project.report();
    assert_eq!(grade_of(&report, "a")["outcome"], "failed");
    assert_eq!(report["metadata"]["reused"]["graded_again"], 1);
}

/// What programs are given of a sample is the same when it is graded again.
#[test]
fn context_is_the_same_when_graded_again() {
    let script = "import hashlib, json, os\ntext = open(os.environ['EVAL_CONTEXT'], 'rb').read()\n\
                  digest = hashlib.sha256(text).hexdigest()\nprint(json.dumps({'passed': True, 'reason': digest}))\n";
    let grader = "{command: [python3, graders/digest.py], workspace: true, verdict: json}}, {type: code, config: {command: [python3, \
                  graders/digest.py], verdict: json}";
    let script_of_target = "sed -i s/-/+/ add.py; mkfifo pipe; ln -s /etc/passwd out; rm README; mkdir d; printf '\\0\\1' > d/b";
    let cases = format!(
        "metadata: {{id: work, name: Work}}\ngraders: [{{type: code, config: {grader}}}]\ntest_cases:\n  - {{id: a, input: {script_of_target:?}}}\n"
    );
    let attempts = [attempt("a", script_of_target, "passed", "")];
    let project = project(
        "{from: {dir: app}, keep: always}",
        "{}",
        &[("graders/digest.py", script)],
        &attempts,
    );
    project.write("cases.yaml", &cases);
    let reasons = |report: &Value| {
        let grades = grade_of(report, "a")["grades"].as_array().unwrap().clone();
        let reasons = grades.iter().map(|grade| grade["reason"].to_string());
        reasons.collect::<Vec<_>>()
    };
    let first = reasons(&check(&project, &attempts));
    // Both kinds of graders have the same file.
    assert_eq!(first[0], first[1]);
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
    assert_eq!(reasons(&project.report()), first);
}

#[test]
fn long_diff_is_whole_in_the_context() {
    let script = "import json, os, sys\nleft = json.load(open(os.environ['EVAL_CONTEXT']))['workspace']['diff']\n\
                  sys.exit(0 if len(left['text']) > 600000 and not left['truncated'] else str(len(left['text'])))\n";
    let grader = "{command: [python3, graders/long.py], workspace: true}";
    let attempts = [attempt("a", "seq 100000 > numbers", "passed", "")];
    graded(PLAIN, grader, &[("graders/long.py", script)], &attempts);
}

/// The composite score of code that is built, linted, tested and small.
#[test]
fn build_and_lint_rates_make_a_composite() {
    let suite = "eval_suite:
  name: Work
  evals: [{$ref: cases.yaml}]
  target: {type: command, command: [sh, agent.sh]}
  workspace: {from: {dir: app}, hidden: ['tests/**']}
  reporting: {format: [json]}
  metrics:
    code_quality:
      composite:
        - {metric: tests_rate, weight: 4}
        - {metric: build_rate, weight: 3}
        - {metric: lint_rate, weight: 2}
        - {metric: lines_changed, weight: 1, range: [0, 20], invert: true}
  thresholds: {code_quality: 0.9, build_rate: 1.0}
";
    let cases = "metadata: {id: work, name: Work}
graders:
  - {type: code, metric: tests_rate, config: {method: workspace_tests, command: [python3, -m, unittest, tests.test_add], score: share}}
  - {type: code, metric: build_rate, config: {command: [python3, -m, py_compile, /workspace/add.py], workspace: true}}
  - {type: code, metric: lint_rate, informative: true, config: {command: [sh, graders/lint.sh], workspace: true}}
  - {type: code, informative: true, config: {method: diff, max_lines: 20}}
test_cases:
  - {id: good, input: 'sed -i s/-/+/ add.py'}
  - {id: half, input: \"printf 'def add(a, b):\\\\n\\\\treturn 1\\\\n' > add.py\"}
  - {id: broken, input: 'echo \"def add(\" > add.py'}
";
    let project = Project::with(&[
        ("suite.yaml", suite),
        ("cases.yaml", cases),
        ("agent.sh", "sh -eu -c \"$(cat)\"\n"),
        ("graders/lint.sh", "! grep -q \"$(printf '\\t')\" add.py\n"),
        ("app/add.py", "def add(a, b):\n    return a - b\n"),
        ("app/tests/test_add.py", UNITTEST),
    ]);
    project
        .call(&["run", "--suite", "suite.yaml", "--quiet"])
        .expect(1);
    let report = project.report();
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
    // Tests: 1, 1/2 and 0; built: 2 of 3; without tabs: 2 of 3; lines changed: 2, 2 and 3.
    let near = |name: &str, value: f64| {
        assert!(
            (metric(name) - value).abs() < 1e-9,
            "{name}: {}",
            metric(name)
        );
    };
    near("tests_rate", 0.5);
    near("build_rate", 2.0 / 3.0);
    near("lint_rate", 2.0 / 3.0);
    near("lines_changed", 7.0 / 3.0);
    let expected = (4.0 * 0.5 + 3.0 * 2.0 / 3.0 + 2.0 * 2.0 / 3.0 + (1.0 - 7.0 / 60.0)) / 10.0;
    near("code_quality", expected);
}

#[test]
fn build_rate_counts_every_exit_code_and_says_what_it_leaves_out() {
    let cases = "metadata: {id: work, name: Work}
graders:
  - {type: code, metric: build_rate, informative: true, config: {command: [sh, /workspace/build.sh], workspace: true}}
  - {type: code, config: {method: diff, max_lines: 200}}
test_cases:
  - {id: good, input: 'true'}
  - {id: make, input: 'echo exit 2 > build.sh'}
  - {id: cargo, input: 'echo exit 101 > build.sh'}
  - {id: missing, input: 'echo exit 127 > build.sh'}
";
    let attempts = [attempt("good", "true", "passed", "")];
    let build = ("app/build.sh", "exit 0\n");
    let project = project(PLAIN, "{}", &[build], &attempts);
    project.write("cases.yaml", cases);
    project
        .call(&["run", "--suite", "suite.yaml", "--quiet"])
        .expect(0);
    let report = project.report();
    let rate = report["metrics"]["build_rate"].as_f64().unwrap();
    assert!((rate - 1.0 / 3.0).abs() < 1e-9, "{rate}");
    let note = report["estimates"]["build_rate"]["note"].as_str().unwrap();
    let left_out = "`build_rate` leaves out 1 of 4 samples, in which it could not be measured";
    assert!(note.contains(left_out), "{note}");
}

#[test]
fn commands_outside_of_workspaces_have_the_context_too() {
    let script = "import json, os, sys\nsample = json.load(open(os.environ['EVAL_CONTEXT']))\n\
                  want = {'case': 'a', 'metadata': {'tags': []}, 'input': {'type': 'prompt', 'content': 'ping'}, 'output': {'n': 1}, 'expected': 'y'}\n\
                  got = {key: sample[key] for key in sample if key != 'latency_ms'}\nsys.exit(0 if got == want and sample['latency_ms'] > 0 else str(sample))\n";
    let suite = "eval_suite:
  name: Plain
  target: {type: command, command: [echo, '{\"n\": 1}'], output: json}
  reporting: {format: [json]}
  evals:
    - id: a
      input: ping
      expected: y
      graders:
        - {type: code, config: {command: [python3, context.py]}}
        - {type: code, config: {command: [python3, context.py], sandbox: true}}
";
    let project = Project::with(&[("suite.yaml", suite), ("context.py", script)]);
    let run = ["run", "--suite", "suite.yaml", "--quiet"];
    let call = project.call(&run);
    assert_eq!(call.code, Some(0), "{:#}", project.report()["failures"]);
    let mut command = project.command(&run);
    let all = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as u32;
    refuse_namespaces(&mut command, all);
    let call = Call::of(command.output().expect("the program starts"));
    if call.code == Some(2) && call.stderr.contains("sandbox") {
        println!("SKIPPED: {}", call.stderr);
        return;
    }
    assert_eq!(call.code, Some(0), "{:#}", project.report()["failures"]);
}

#[test]
fn graders_in_workspaces_are_refused_when_the_suite_is_loaded() {
    let attempts = [attempt("a", FIX, "passed", "")];
    let grader = "{command: [python3, graders/check.py], workspace: true}";
    let project = project("null", grader, &[("graders/check.py", "")], &attempts);
    let refused = project.call(&["run", "--suite", "suite.yaml"]).expect(2);
    let why = "`workspace: true` needs a workspace, but the case has none";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let suite = std::fs::read_to_string(project.path().join("suite.yaml")).unwrap();
    let strict = suite.replace(
        "workspace: null",
        "workspace: {}\n  sandbox: {trust: split}",
    );
    project.write("suite.yaml", &strict);
    let refused = project.call(&["run", "--suite", "suite.yaml"]).expect(2);
    let why = "a `command` grader with `workspace: true` contradicts the suite's `sandbox: {trust: split}`";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
}
