//! The cycle of baselines by the program: capture, diff, review, accept, reject, list, prune.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Call, Project};
use serde_json::{Value, json};

const SUITE: &str = "\
eval_suite:
  name: shop
  config: {parallel_execution: false}
  target: {type: recorded, path: outputs.jsonl}
  evals:
    - $ref: regressions.yaml
";

const REGRESSIONS: &str = r#"
- id: reg-users
  name: The list of users
  current: {input: "users"}
  comparison:
    type: structural
    ignore_fields: [at]
  metadata: {criticality: critical}
- id: reg-notes
  name: Release notes
  current: {input: "notes"}
  comparison: {type: exact}
- id: reg-total
  name: The total
  baseline: {output: {total: 3}}
  current: {input: "total"}
"#;

fn recorded(users: &Value, notes: &str, total: u32) -> String {
    let line = |case: &str, output: Value| json!({"case": case, "output": output}).to_string();
    [
        line("reg-users", users.clone()),
        line("reg-notes", json!(notes)),
        line("reg-total", json!({"total": total})),
    ]
    .join("\n")
}

fn users(role: &str) -> Value {
    json!({"at": "2026-01-02", "users": [{"name": "Ada", "role": role}, {"name": "Bob", "role": "user"}]})
}

fn project() -> Project {
    Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        ("evals/regressions.yaml", REGRESSIONS),
        (
            "evals/outputs.jsonl",
            &recorded(&users("admin"), "# Notes\n\n- one\n- two\n", 3),
        ),
    ])
}

fn baseline(project: &Project, args: &[&str]) -> Call {
    let mut command = project.command(&[&["baseline"], args].concat());
    Call::of(
        command
            .env_remove("CI")
            .output()
            .expect("the program starts"),
    )
}

fn piped(project: &Project, args: &[&str], input: &str) -> Call {
    let mut command = project.command(&[&["baseline"], args].concat());
    let mut child = command
        .env_remove("CI")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes())
        .expect("it reads");
    Call::of(child.wait_with_output().expect("it ends"))
}

/// Names in the folder of baselines, with a run's id and times left out of nothing.
fn names(project: &Project) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(project.path().join("baselines")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A text without what differs from run to run.
fn scrubbed(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, word) in [
        (r"eval-\d{8}-\d{6}(-\d+)?", "RUN"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
        (r"input_hash: [0-9a-f]{32}", "input_hash: HASH"),
        (r"(?m)^([\s+]*)arch: .*$", "${1}arch: ARCH"),
        (r"(?m)^([\s+]*)os: .*$", "${1}os: OS"),
        (
            r"(?m)^([\s+]*)harness_version: .*$",
            "${1}harness_version: VERSION",
        ),
    ] {
        text = regex::Regex::new(pattern)
            .unwrap()
            .replace_all(&text, word)
            .into_owned();
    }
    text
}

#[test]
fn from_a_capture_to_a_regression_that_is_caught() {
    let project = project();
    let run = |code| project.call(&["run", "--progress", "none"]).expect(code);
    // Nothing to compare with yet: nobody knows.
    let before = run(3);
    assert!(before.stdout.contains("no_baseline"), "{}", before.stdout);

    let captured = baseline(&project, &["capture", "--progress", "none"]).expect(0);
    insta::assert_snapshot!(scrubbed(&captured.stdout), @"
      new        reg-users  baselines/reg-users.pending.yaml
      new        reg-notes  baselines/reg-notes.pending.yaml
      unchanged  reg-total

    RUN of 3 regressions: 2 new, 1 unchanged
    ");
    assert_eq!(
        names(&project),
        ["reg-notes.pending.yaml", "reg-users.pending.yaml"]
    );
    // Nothing accepted has changed.
    run(3);

    let shown = baseline(&project, &["diff"]).expect(0);
    insta::assert_snapshot!(scrubbed(&shown.stdout), @"
    reg-notes: new
      + format_version: 1
      + eval_id: reg-notes
      + captured_at: TIME
      + suite: shop
      + target:
      +   type: recorded
      + harness_version: VERSION
      + environment:
      +   arch: ARCH
      +   os: OS
      + input_hash: HASH
      + replaces: none
      + output: |
      +   # Notes
      + 
      +   - one
      +   - two

    reg-users: new
      + format_version: 1
      + eval_id: reg-users
      + captured_at: TIME
      + suite: shop
      + target:
      +   type: recorded
      + harness_version: VERSION
      + environment:
      +   arch: ARCH
      +   os: OS
      + input_hash: HASH
      + replaces: none
      + output:
      +   at: 2026-01-02
      +   users:
      +     - name: Ada
      +       role: admin
      +     - name: Bob
      +       role: user

    pending: 2 new
    ");
    baseline(&project, &["diff", "--exit-code"]).expect(1);
    let accepted = baseline(&project, &["accept", "--all"]).expect(0);
    insta::assert_snapshot!(accepted.stdout, @"
      accepted  reg-notes  baselines/reg-notes.yaml
      accepted  reg-users  baselines/reg-users.yaml

    2 baselines accepted
    ");
    assert_eq!(names(&project), ["reg-notes.yaml", "reg-users.yaml"]);
    run(0);

    // One field changed for the worse, one that does not count, one text.
    let mut worse = users("guest");
    worse["at"] = json!("2027-01-01");
    project.write(
        "evals/outputs.jsonl",
        &recorded(&worse, "# Notes\n\n- one\n- 2\n", 3),
    );
    let caught = run(1);
    assert!(caught.stdout.contains("users[0].role"), "{}", caught.stdout);
    baseline(&project, &["capture", "--progress", "none"]).expect(0);
    let shown = baseline(&project, &["diff"]).expect(0);
    insta::assert_snapshot!(scrubbed(&shown.stdout), @r#"
    reg-notes: changed in 1 place
        # Notes
        
        - one
      - - two
      + - 2

    reg-users: changed in 1 place
      users[0].role
      - "admin"
      + "guest"

    pending: 2 changed
    "#);
    let shown = baseline(&project, &["diff", "reg-users", "--format", "markdown"]).expect(0);
    insta::assert_snapshot!(scrubbed(&shown.stdout), @r#"
    # Baselines

    pending: 1 changed

    ## `reg-users`: changed in 1 place

    ```diff
      users[0].role
    - "admin"
    + "guest"
    ```
    "#);
    let json: Value = serde_json::from_str(
        &baseline(&project, &["diff", "--format", "json"])
            .expect(0)
            .stdout,
    )
    .unwrap();
    assert_eq!(json["changed"], 2);
    assert_eq!(
        json["baselines"][1]["differences"][0]["path"],
        "users[0].role"
    );

    let rejected = baseline(&project, &["reject", "reg-users"]).expect(0);
    insta::assert_snapshot!(rejected.stdout, @"
      rejected  reg-users

    1 pending baseline rejected; accepted baselines are unchanged
    ");
    baseline(&project, &["accept", "reg-n*"]).expect(0);
    let again = run(1);
    assert!(again.stdout.contains("users[0].role") && !again.stdout.contains("reg-notes failed"));
    // What is back as it was is unchanged, and nothing is pending.
    project.write(
        "evals/outputs.jsonl",
        &recorded(&users("admin"), "# Notes\n\n- one\n- 2\n", 3),
    );
    let same = baseline(&project, &["capture", "--progress", "none"]).expect(0);
    assert!(same.stdout.contains("3 unchanged"), "{}", same.stdout);
    assert_eq!(names(&project), ["reg-notes.yaml", "reg-users.yaml"]);
    run(0);
}

#[test]
fn a_baseline_says_what_it_is_of() {
    let project = project();
    baseline(
        &project,
        &[
            "capture",
            "reg-users",
            "--baseline-version",
            "v1.2.0",
            "--progress",
            "none",
        ],
    )
    .expect(0);
    let text =
        std::fs::read_to_string(project.path().join("baselines/reg-users.pending.yaml")).unwrap();
    insta::assert_snapshot!(scrubbed(&text), @"
    format_version: 1
    eval_id: reg-users
    baseline_version: v1.2.0
    captured_at: TIME
    suite: shop
    target:
      type: recorded
    harness_version: VERSION
    environment:
      arch: ARCH
      os: OS
    input_hash: HASH
    replaces: none
    output:
      at: 2026-01-02
      users:
        - name: Ada
          role: admin
        - name: Bob
          role: user
    ");
    assert_eq!(names(&project).len(), 1);
}

#[test]
fn nothing_is_written_in_ci() {
    let project = project();
    for args in [
        &["capture"][..],
        &["accept", "--all"],
        &["reject", "--all"],
        &["review"],
        &["prune"],
    ] {
        for value in ["true", "1", "TRUE"] {
            let mut command = project.command(&[&["baseline"], args].concat());
            let call = Call::of(command.env("CI", value).output().unwrap()).expect(2);
            assert!(
                call.stderr.contains("which is not allowed in CI"),
                "{}",
                call.stderr
            );
        }
    }
    assert!(!project.path().join("results").exists() && names(&project).is_empty());
    // Looking is fine.
    let mut command = project.command(&["baseline", "diff"]);
    Call::of(command.env("CI", "true").output().unwrap()).expect(0);
    let mut command = project.command(&["baseline", "prune", "--dry-run"]);
    Call::of(command.env("CI", "true").output().unwrap()).expect(0);
}

#[test]
fn a_review_through_a_pipe_takes_an_answer_a_line() {
    let project = project();
    baseline(&project, &["capture", "--progress", "none"]).expect(0);
    let review = piped(&project, &["review"], "what?\nr\na\n").expect(0);
    insta::assert_snapshot!(scrubbed(&review.stdout), @"
    1 of 2  reg-notes  Release notes
      new · captured TIME · recorded
      + format_version: 1
      + eval_id: reg-notes
      + captured_at: TIME
      + suite: shop
      + target:
      +   type: recorded
      + harness_version: VERSION
      + environment:
      +   arch: ARCH
      +   os: OS
      + input_hash: HASH
      + replaces: none
      + output: |
      +   # Notes
      + 
      +   - one
      +   - two
    accept (a), reject (r), skip (s), back (b), quit (q)? answer a, r, s, b or q
    accept (a), reject (r), skip (s), back (b), quit (q)? rejected

    2 of 2  reg-users  The list of users
      critical · new · captured TIME · recorded
      + format_version: 1
      + eval_id: reg-users
      + captured_at: TIME
      + suite: shop
      + target:
      +   type: recorded
      + harness_version: VERSION
      + environment:
      +   arch: ARCH
      +   os: OS
      + input_hash: HASH
      + replaces: none
      + output:
      +   at: 2026-01-02
      +   users:
      +     - name: Ada
      +       role: admin
      +     - name: Bob
      +       role: user
    accept (a), reject (r), skip (s), back (b), quit (q)? accepted

    1 baseline accepted, 1 rejected, 0 still pending
    ");
    assert_eq!(names(&project), ["reg-users.yaml"]);
    let nothing = piped(&project, &["review"], "").expect(0);
    assert_eq!(nothing.stdout, "nothing is pending\n");
    // The end of the input is the end of the review, and decides nothing.
    baseline(&project, &["capture", "--force", "--progress", "none"]).expect(0);
    let ended = piped(&project, &["review"], "").expect(0);
    assert!(
        ended
            .stdout
            .ends_with("0 baselines accepted, 0 rejected, 3 still pending\n"),
        "{}",
        ended.stdout
    );
    let all = piped(&project, &["review", "--accept-all"], "").expect(0);
    assert!(
        all.stdout.contains("3 baselines accepted"),
        "{}",
        all.stdout
    );
}

/// Types answers in a terminal of its own and prints what the program wrote and its exit code.
const KEYS: &str = r#"
import os, pty, select, sys, time, fcntl, struct, termios
program, keys = sys.argv[1], sys.argv[2]
pid, fd = pty.fork()
if pid == 0:
    os.execv(program, [program, "baseline", "review"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
seen = b""
def read_until(mark):
    global seen
    fresh = b""
    while True:
        ready, _, _ = select.select([fd], [], [], 20)
        if not ready:
            sys.exit("nothing came: " + repr(seen[-300:]))
        try:
            data = os.read(fd, 65536)
        except OSError:
            return False
        if not data:
            return False
        fresh += data
        seen += data
        if mark in fresh:
            return True
for key in keys.split(","):
    if not read_until(b"quit (q)? "):
        break
    time.sleep(0.05)
    if key == "INT":
        os.kill(pid, 2)
    else:
        os.write(fd, key.encode().decode("unicode_escape").encode())
while read_until(b"\0never"):
    pass
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
print("\nexit", os.waitstatus_to_exitcode(status))
"#;

fn keys(project: &Project, keys: &str) -> String {
    let script = project.write("keys.py", KEYS);
    let output = std::process::Command::new("python3")
        .args([
            script.as_os_str(),
            crate::support::PROGRAM.as_ref(),
            keys.as_ref(),
        ])
        .current_dir(project.path())
        .env_remove("CI")
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("NO_COLOR")
        .output()
        .expect("python3");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_review_on_a_terminal_takes_an_answer_a_line() {
    let project = project();
    baseline(&project, &["capture", "--progress", "none"]).expect(0);
    // Skip the first, go back to it, accept it; reject the second.
    let seen = keys(&project, r"s\n,b\n,a\n,r\n");
    assert!(
        seen.contains("reg-notes") && seen.contains("1 of 2") && seen.contains("2 of 2"),
        "{seen}"
    );
    assert!(
        seen.contains("1 baseline accepted, 1 rejected, 0 still pending"),
        "{seen}"
    );
    assert!(seen.contains("exit 0"), "{seen}");
    assert_eq!(names(&project), ["reg-notes.yaml"]);

    baseline(&project, &["capture", "--progress", "none"]).expect(0);
    for (key, code) in [(r"q\n", 0), (r"\x03", -2), ("INT", -2)] {
        let seen = keys(&project, key);
        assert!(seen.contains(&format!("exit {code}")), "{key}: {seen}");
        assert_eq!(
            names(&project),
            ["reg-notes.yaml", "reg-users.pending.yaml"]
        );
    }
}

#[test]
fn what_is_not_there_is_told() {
    let project = project();
    let told = |args: &[&str], code: i32| {
        let call = baseline(&project, args).expect(code);
        scrubbed(&format!("{}{}", call.stdout, call.stderr))
    };
    insta::assert_snapshot!(told(&["accept"], 2), @"
    error: `baseline accept` needs eval ids or --all
    hint: `eval-harness baseline diff` shows what is pending
    ");
    insta::assert_snapshot!(told(&["accept", "--all"], 0), @"nothing is pending");
    insta::assert_snapshot!(told(&["reject", "reg-users"], 2), @"
    error: no pending baseline matches `reg-users`
    hint: there are no pending baselines: `eval-harness baseline capture` captures them
    ");
    insta::assert_snapshot!(told(&["capture", "reg-user"], 2), @"
    error[EH0421]: `--eval reg-user` matches nothing in this suite
     |
     = help: did you mean `reg-users`?

    1 error
    error: 1 problem in the suite; nothing ran
    ");
    insta::assert_snapshot!(told(&["capture", "--category", "capability"], 2), @"
    error[EH0421]: no case matches the filters: category capability
     |
     = help: filters of different kinds must all match; `eval-harness list --verbose` shows what exists

    1 error
    error: 1 problem in the suite; nothing ran
    ");
    insta::assert_snapshot!(told(&["diff", "x*"], 2), @"
    error: no pending baseline matches `x*`
    hint: there are no pending baselines: `eval-harness baseline capture` captures them
    ");
    baseline(&project, &["capture", "reg-users", "--progress", "none"]).expect(0);
    insta::assert_snapshot!(told(&["accept", "reg-user"], 2), @"
    error: no pending baseline matches `reg-user`
    hint: did you mean reg-users?
    ");
    insta::assert_snapshot!(told(&["accept", "["], 2), @"error: `[` is not a glob: unclosed character class; missing ']'");
    insta::assert_snapshot!(told(&["capture", "--run", "latest", "--outputs", "x"], 2).lines().next().unwrap(), @"error: the argument '--run <RUN>' cannot be used with '--outputs <FILE>'");
}

#[test]
fn a_finished_run_is_captured_without_asking_again() {
    let project = project();
    project.call(&["run", "--progress", "none"]).expect(3);
    std::fs::remove_file(project.path().join("evals/outputs.jsonl")).unwrap();
    let captured = baseline(&project, &["capture", "--run", "latest"]).expect(0);
    assert!(
        captured.stdout.contains("2 new, 1 unchanged"),
        "{}",
        captured.stdout
    );
    // Another input: what was answered then is no answer to it.
    project.write(
        "evals/regressions.yaml",
        &REGRESSIONS.replace("\"users\"", "\"all users\""),
    );
    let refused = baseline(&project, &["capture", "--run", "latest", "--force"]).expect(3);
    assert!(
        refused
            .stdout
            .contains("refused  reg-users  its input has changed since eval-"),
        "{}",
        refused.stdout
    );
    let alone = baseline(&project, &["capture", "reg-users", "--run", "latest"]).expect(2);
    assert!(alone.stdout.contains("1 refused"), "{}", alone.stdout);
}

#[test]
fn an_answer_that_does_not_come_costs_only_its_own_baseline() {
    let project = project();
    let lines = recorded(&users("admin"), "x", 3);
    let lines: Vec<&str> = lines
        .lines()
        .filter(|line| !line.contains("reg-notes"))
        .collect();
    project.write("evals/outputs.jsonl", &lines.join("\n"));
    let captured = baseline(&project, &["capture", "--progress", "none"]).expect(3);
    insta::assert_snapshot!(scrubbed(&captured.stdout), @"
      new        reg-users  baselines/reg-users.pending.yaml
      refused    reg-notes  missing_output: outputs.jsonl has no output for this
                            case
      unchanged  reg-total

    RUN of 3 regressions: 1 new, 1 unchanged, 1 refused
    ");
    assert_eq!(names(&project), ["reg-users.pending.yaml"]);
}

#[test]
fn a_baseline_that_its_own_output_does_not_match_is_not_written() {
    let project = project();
    project.write(
        "evals/regressions.yaml",
        "
- id: reg-a
  current: {input: a}
  comparison: {type: structural, require_keys: [meta.total]}
- id: reg-b
  current: {input: b}
  comparison: {type: numeric}
- id: reg-c
  current: {input: c}
",
    );
    project.write(
        "evals/eval-suite.yaml",
        &SUITE.replace(
            "  evals:",
            "  baselines: {redact: [{pattern: 'v[0-9]+', placeholder: '{{any_uuid}}'}]}\n  evals:",
        ),
    );
    let line = |case: &str, output: Value| json!({"case": case, "output": output}).to_string();
    let lines = [
        line("reg-a", json!({"x": 1})),
        line("reg-b", json!({"x": "no number"})),
        line("reg-c", json!({"v": "v12"})),
    ];
    project.write("evals/outputs.jsonl", &lines.join("\n"));
    let captured = baseline(&project, &["capture", "--progress", "none"]).expect(3);
    insta::assert_snapshot!(scrubbed(&captured.stdout), @"
      refused  reg-a  the new baseline would not match its own output: meta is
                      missing (expected a required key)
      refused  reg-b  `comparison: numeric` compares numbers, but the baseline has
                      none to compare
      refused  reg-c  v: `v[0-9]+` writes {{any_uuid}} here, but that matcher does
                      not accept the text

    RUN of 3 regressions: 3 refused
    ");
    assert!(names(&project).is_empty());
}

#[test]
fn samples_that_differ_among_themselves_are_warned_of() {
    let project = project();
    let mut lines = recorded(&users("admin"), "x", 3);
    let mut other = users("guest");
    other["at"] = json!("another day");
    lines.push_str(&format!(
        "\n{}",
        json!({"case": "reg-users", "output": other})
    ));
    project.write("evals/outputs.jsonl", &lines);
    let captured = baseline(
        &project,
        &[
            "capture",
            "reg-users",
            "--samples",
            "2",
            "--progress",
            "none",
        ],
    )
    .expect(0);
    insta::assert_snapshot!(captured.stderr.lines().next().unwrap(), @"warning: `reg-users`: its samples differ in users[0].role; the first one is captured. List what varies in `ignore_fields` or `ignore_values`, or write a matcher such as {{any_string}} there; otherwise the eval will fail by chance");
}

#[test]
fn list_tells_how_every_baseline_stands_and_prune_removes_what_nobody_needs() {
    let project = project();
    baseline(
        &project,
        &[
            "capture",
            "--force",
            "--baseline-version",
            "v1",
            "--progress",
            "none",
        ],
    )
    .expect(0);
    baseline(&project, &["accept", "reg-users", "reg-total"]).expect(0);
    project.write(
        "baselines/reg-gone.yaml",
        "format_version: 1\neval_id: reg-gone\nsuite: shop\noutput: 1\n",
    );
    project.write(
        "baselines/reg-other.yaml",
        "format_version: 1\neval_id: reg-other\nsuite: other\noutput: 1\n",
    );
    project.write(
        "baselines/reg-mine.yaml",
        "format_version: 1\neval_id: reg-mine\noutput: 1\n",
    );
    project.write("baselines/lost.output.json", "1\n");
    project.write("baselines/.eval-harness-1-1.tmp", "half");
    project.write(
        "evals/regressions.yaml",
        &REGRESSIONS.replace("\"users\"", "\"all users\""),
    );
    let listed = baseline(&project, &["list"]).expect(0);
    insta::assert_snapshot!(scrubbed(&listed.stdout).replace(&today(), "TODAY"), @"
      Eval       Baseline  Captured    From
      reg-users  stale     TODAY  version v1,
                                       target recorded
      reg-notes  new                   pending TODAY
      reg-total  ok        TODAY  overrides inline,
                                       version v1,
                                       target recorded
      reg-gone   orphaned
      reg-mine   orphaned

    5 baselines: 1 ok, 1 new, 1 stale, 2 orphaned
    1 file of other suites in the same folder
    ");
    assert!(
        listed.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        listed.stdout
    );
    let json: Value = serde_json::from_str(
        &baseline(&project, &["list", "--format", "json"])
            .expect(0)
            .stdout,
    )
    .unwrap();
    let states: Vec<String> = json["baselines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["eval"].as_str().unwrap(), one["states"]))
        .collect();
    insta::assert_snapshot!(states.join("\n"), @r#"
    reg-users ["stale"]
    reg-notes ["new"]
    reg-total ["ok","overrides_inline"]
    reg-gone ["orphaned"]
    reg-mine ["orphaned"]
    "#);

    let would = baseline(&project, &["prune", "--dry-run"]).expect(0);
    insta::assert_snapshot!(would.stdout, @"
      - baselines/.eval-harness-1-1.tmp
      - baselines/lost.output.json
      - baselines/reg-gone.yaml

    would remove 3 files
    ");
    assert!(project.path().join("baselines/reg-gone.yaml").exists());
    let pruned = baseline(&project, &["prune"]).expect(0);
    assert!(
        pruned.stdout.contains("removed 3 files"),
        "{}",
        pruned.stdout
    );
    assert_eq!(
        names(&project),
        [
            "reg-mine.yaml",
            "reg-notes.pending.yaml",
            "reg-other.yaml",
            "reg-total.yaml",
            "reg-users.yaml"
        ]
    );
    // A suite that does not load tells nothing of what is needed.
    project.write("evals/regressions.yaml", "- id: [\n");
    baseline(&project, &["prune"]).expect(2);
    assert_eq!(names(&project).len(), 5);
}

/// The day of now, as captures have it.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

#[test]
fn a_broken_baseline_is_told_everywhere_and_hides_no_other() {
    let project = project();
    baseline(&project, &["capture", "--progress", "none"]).expect(0);
    baseline(&project, &["accept", "--all"]).expect(0);
    let path = project.path().join("baselines/reg-users.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        format!("<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n"),
    )
    .unwrap();
    let listed = baseline(&project, &["list"]).expect(2);
    assert!(
        listed.stdout.contains("broken") && listed.stdout.contains("reg-notes"),
        "{}",
        listed.stdout
    );
    assert!(
        listed.stderr.contains("reg-users.yaml"),
        "{}",
        listed.stderr
    );
    // An ordinary capture would not know what was accepted; with --force it does not want to.
    baseline(&project, &["capture", "--progress", "none"]).expect(2);
    baseline(
        &project,
        &["capture", "reg-users", "--force", "--progress", "none"],
    )
    .expect(0);
    let diff = baseline(&project, &["diff"]).expect(0);
    assert!(
        diff.stdout
            .contains("instead of an accepted file that can't be read"),
        "{}",
        diff.stdout
    );
    baseline(&project, &["accept", "reg-users"]).expect(2);
    baseline(&project, &["accept", "reg-users", "--force"]).expect(0);
    project.call(&["run", "--progress", "none"]).expect(0);
}

#[test]
fn pending_and_accepted_at_odds_need_force() {
    let project = project();
    baseline(&project, &["capture", "reg-users", "--progress", "none"]).expect(0);
    baseline(&project, &["accept", "reg-users"]).expect(0);
    project.write("evals/outputs.jsonl", &recorded(&users("guest"), "x", 3));
    baseline(&project, &["capture", "reg-users", "--progress", "none"]).expect(0);
    // Somebody else's accept came in with a pull.
    let path = project.path().join("baselines/reg-users.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("role: admin", "role: owner")).unwrap();
    let refused = baseline(&project, &["accept", "reg-users"]).expect(2);
    assert!(
        refused
            .stderr
            .contains("changed after the pending baseline was captured"),
        "{}",
        refused.stderr
    );
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .contains("role: owner")
    );
    baseline(&project, &["accept", "reg-users", "--force"]).expect(0);
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .contains("role: guest")
    );
}

#[test]
fn whatever_was_captured_and_accepted_passes() {
    let outputs = [
        json!("{{any_uuid}}"),
        json!("plain"),
        json!("a\nb\n"),
        json!("[1, 2"),
        json!("{\"a\": [\"{{any_string}}\"]}"),
        json!("[1,  2]"),
        json!(["{{any_number}}"]),
        json!([["x"]]),
        json!({"status": 200, "headers": {"date": "x", "content-type": "y"}, "body": {"a": "{{literal(\"b\")}}"}}),
        json!({"status": null, "body": []}),
        json!({"a.b": {"": [null, true, -0.0, 1e300]}}),
        json!(7),
        json!(true),
        json!(""),
        json!("  spaced  "),
        json!("\u{feff}mark"),
        json!("---\nkey: value\n"),
    ];
    let mut evals = String::new();
    let mut lines = Vec::new();
    for (n, output) in outputs.iter().enumerate() {
        for how in ["structural", "exact"] {
            let id = format!("reg-{how}-{n}");
            evals.push_str(&format!(
                "- {{id: {id}, current: {{input: x}}, comparison: {{type: {how}}}}}\n"
            ));
            lines.push(json!({"case": id, "output": output}).to_string());
        }
    }
    let project = Project::with(&[
        ("evals/eval-suite.yaml", SUITE),
        ("evals/regressions.yaml", &evals),
        ("evals/outputs.jsonl", &lines.join("\n")),
    ]);
    baseline(&project, &["capture", "--progress", "none"]).expect(0);
    baseline(&project, &["accept", "--all"]).expect(0);
    project.call(&["run", "--progress", "none"]).expect(0);
    let again = baseline(&project, &["capture", "--progress", "none"]).expect(0);
    assert!(
        again.stdout.contains(&format!("{} unchanged", lines.len())),
        "{}",
        again.stdout
    );
}

#[test]
fn a_writer_waits_for_another_one() {
    let project = project();
    std::fs::create_dir(project.path().join("baselines")).unwrap();
    let folder = std::fs::File::open(project.path().join("baselines")).unwrap();
    folder.lock().unwrap();
    let mut command = project.command(&["baseline", "capture", "--progress", "none"]);
    let child = command
        .env_remove("CI")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It has its outputs and waits: nothing is written while the folder is ours.
    crate::support::eventually("the run of the capture is over", || {
        let journals = std::fs::read_dir(project.path().join("results/latest"))
            .into_iter()
            .flatten()
            .flatten();
        journals.into_iter().any(|entry| {
            std::fs::read_to_string(entry.path())
                .is_ok_and(|text| text.contains("\"run_finished\""))
        })
    });
    assert!(names(&project).is_empty());
    drop(folder);
    Call::of(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(names(&project).len(), 2);
}

#[test]
fn list_of_the_suite_says_where_baselines_come_from() {
    let project = project();
    baseline(
        &project,
        &[
            "capture",
            "--force",
            "reg-users",
            "reg-total",
            "--progress",
            "none",
        ],
    )
    .expect(0);
    baseline(&project, &["accept", "--all"]).expect(0);
    insta::assert_snapshot!(project.call(&["list"]).expect(0).stdout, @"
      Eval       Type        Cases  Graders           Baseline
      reg-users  regression      1  structural_match  stored
      reg-notes  regression      1  no_baseline       none
      reg-total  regression      1  structural_match  stored over inline
      Baseline none: `eval-harness baseline capture` captures one.

    3 evals, 3 cases
    ");
    let json: Value =
        serde_json::from_str(&project.call(&["list", "--format", "json"]).expect(0).stdout)
            .unwrap();
    assert_eq!(json["evals"][2]["baseline"]["from"], "store");
    assert_eq!(json["evals"][2]["baseline"]["overrides_inline"], true);
    assert_eq!(json["evals"][1]["baseline"], Value::Null);
}

#[test]
fn a_secret_in_an_output_is_kept_out_and_may_change() {
    let suite = r#"
eval_suite:
  name: shop
  env: [SHOP_TOKEN]
  target:
    type: command
    command: [/bin/sh, -c, 'printf "{\"greeting\": \"key %s, welcome\", \"n\": 1}" "$SHOP_TOKEN"']
    env: [SHOP_TOKEN]
    output: json
  evals:
    - {id: reg-key, current: {input: x}, comparison: {type: structural, options: {strict: true}}}
"#;
    let project = Project::with(&[("evals/eval-suite.yaml", suite)]);
    let with = |token: &str, args: &[&str]| {
        let mut command = project.command(args);
        Call::of(
            command
                .env_remove("CI")
                .env("SHOP_TOKEN", token)
                .output()
                .unwrap(),
        )
    };
    with(
        "first-secret",
        &["baseline", "capture", "--progress", "none"],
    )
    .expect(0);
    let text =
        std::fs::read_to_string(project.path().join("baselines/reg-key.pending.yaml")).unwrap();
    assert!(!text.contains("first-secret"), "{text}");
    let output = text.split("output:").nth(1).unwrap();
    insta::assert_snapshot!(output, @r#"

    greeting: '{{any_regex("key (?:[\s\S]+), welcome")}}'
    "n": 1
    "#);
    with("x", &["baseline", "accept", "reg-key"]).expect(0);
    with("first-secret", &["run", "--progress", "none"]).expect(0);
    with("quite-another-one", &["run", "--progress", "none"]).expect(0);
}

#[test]
fn what_people_wrote_into_an_accepted_baseline_stays() {
    let project = project();
    baseline(&project, &["capture", "reg-users", "--progress", "none"]).expect(0);
    baseline(&project, &["accept", "--all"]).expect(0);
    let path = project.path().join("baselines/reg-users.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once("  users:").unwrap();
    let edited = format!(
        "{head}  users:\n    - name: \"{{{{any_string}}}}\"\n      role: \"{{{{any_string}}}}\"\n"
    );
    std::fs::write(&path, edited).unwrap();
    // Every user fits, and the day is not compared: nothing would change.
    let mut other = users("guest");
    other["at"] = json!("2030-01-01");
    project.write("evals/outputs.jsonl", &recorded(&other, "x", 3));
    let same = baseline(&project, &["capture", "reg-users", "--progress", "none"]).expect(0);
    assert!(
        same.stdout.contains("unchanged  reg-users"),
        "{}",
        same.stdout
    );
    // One field more is all that a diff shows.
    other["pages"] = json!(1);
    project.write("evals/outputs.jsonl", &recorded(&other, "x", 3));
    baseline(&project, &["capture", "reg-users", "--progress", "none"]).expect(0);
    insta::assert_snapshot!(baseline(&project, &["diff"]).expect(0).stdout, @"
    reg-users: changed in 1 place
      pages (added)
      + 1

    pending: 1 changed
    ");
    // Starting anew leaves nothing of it.
    baseline(
        &project,
        &["capture", "reg-users", "--force", "--progress", "none"],
    )
    .expect(0);
    let fresh =
        std::fs::read_to_string(project.path().join("baselines/reg-users.pending.yaml")).unwrap();
    assert!(
        !fresh.contains("any_string") && fresh.contains("2030-01-01"),
        "{fresh}"
    );
}

#[test]
fn init_ignores_what_is_pending_and_leaves_a_list_of_ones_own_alone() {
    let project = Project::new();
    project.call(&["init"]).expect(0);
    let ignored = std::fs::read_to_string(project.path().join("baselines/.gitignore")).unwrap();
    insta::assert_snapshot!(ignored, @"
    *.pending.yaml
    *.pending.json
    *.pending.output.json
    .eval-harness-*.tmp
    ");
    let other = Project::with(&[("baselines/.gitignore", "mine\n")]);
    other.call(&["init"]).expect(0);
    assert_eq!(
        std::fs::read_to_string(other.path().join("baselines/.gitignore")).unwrap(),
        "mine\n"
    );
}

#[test]
fn two_suites_in_one_folder_leave_each_other_alone() {
    let project = project();
    let file = |id: &str, suite: &str, rest: &str| {
        format!("format_version: 1\neval_id: {id}\nsuite: {suite}\n{rest}\n")
    };
    let fingerprint = "0000000000000000000000000000000a";
    // An orphan of this suite with a part of the other one's.
    project.write(
        "baselines/reg-gone.yaml",
        &file("reg-gone", "shop", "output: 1"),
    );
    project.write(
        "baselines/reg-gone.pending.yaml",
        &file("reg-gone", "other", "output: 2"),
    );
    // A pending one of the other suite, of an eval that both have.
    project.write(
        "baselines/reg-total.pending.yaml",
        &file("reg-total", "other", "output: 7"),
    );
    // An output under a name of its own.
    project.write("baselines/kept.output.json", "{\"a\": 1}\n");
    let beside =
        |print: &str| format!("output_file:\n  name: kept.output.json\n  fingerprint: {print}");
    project.write(
        "baselines/reg-far.yaml",
        &file("reg-far", "other", &beside(fingerprint)),
    );
    let told = baseline(&project, &["prune"]).expect(0);
    assert_eq!(
        told.stdout, "nothing to prune\n",
        "a broken file may name any output"
    );
    assert!(
        told.stderr
            .contains("`reg-gone` is orphaned, but it also contains data of another suite"),
        "{}",
        told.stderr
    );
    let said = baseline(&project, &["list"]).expect(2);
    assert!(
        said.stderr.contains("does not match the fingerprint"),
        "{}",
        said.stderr
    );
    let print = eval_harness::internals::Fingerprint::of(&json!({"a": 1})).to_string();
    project.write(
        "baselines/reg-far.yaml",
        &file("reg-far", "other", &beside(&print)),
    );
    baseline(&project, &["list"]).expect(0);
    assert_eq!(
        baseline(&project, &["prune"]).expect(0).stdout,
        "nothing to prune\n"
    );

    let refused = baseline(
        &project,
        &[
            "capture",
            "reg-total",
            "--baseline-version",
            "v",
            "--progress",
            "none",
        ],
    )
    .expect(3);
    assert!(
        refused.stdout.contains("refused  reg-total"),
        "{}",
        refused.stdout
    );
    project.write("evals/outputs.jsonl", &recorded(&users("admin"), "x", 4));
    let refused = baseline(&project, &["capture", "reg-total", "--progress", "none"]).expect(3);
    assert!(
        refused
            .stdout
            .contains("the pending baseline belongs to suite `other`"),
        "{}",
        refused.stdout
    );
    assert!(
        std::fs::read_to_string(project.path().join("baselines/reg-total.pending.yaml"))
            .unwrap()
            .contains("output: 7")
    );

    // Whose a file is that can't be read, nobody knows: who means it names it.
    project.write("baselines/reg-odd.pending.yaml", "format_version: 1\n");
    let left = baseline(&project, &["reject", "--all"]).expect(2);
    assert!(
        left.stderr.contains("`reg-odd` can't be read"),
        "{}",
        left.stderr
    );
    assert!(names(&project).contains(&"reg-odd.pending.yaml".to_owned()));
    baseline(&project, &["reject", "reg-odd"]).expect(0);
    assert_eq!(
        names(&project),
        [
            "kept.output.json",
            "reg-far.yaml",
            "reg-gone.pending.yaml",
            "reg-gone.yaml",
            "reg-total.pending.yaml"
        ]
    );
}

const COMMAND_SUITE: &str = r#"
eval_suite:
  name: shop
  vars: {role: admin}
  target: {type: echo}
  evals:
    - id: reg-role
      name: The role
      current:
        input: "role"
        execution: {type: command, command: [sh, "-c", "test ! -f ../next || cp ../next ../baselines/reg-role.yaml; echo {{ vars.role }}"]}
      comparison: {type: exact}
"#;

#[test]
fn a_capture_is_of_what_was_asked_and_against_what_was_there() {
    let project = Project::with(&[("evals/eval-suite.yaml", COMMAND_SUITE)]);
    let capture = |args: &[&str]| {
        baseline(
            &project,
            &[&["capture", "--progress", "none"], args].concat(),
        )
    };
    capture(&[]).expect(0);
    baseline(&project, &["accept", "--all"]).expect(0);
    // While the target is asked, somebody accepts something else.
    let path = project.path().join("baselines/reg-role.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    project.write("next", &text.replace("admin", "owner"));
    let late = capture(&["--var", "role=guest"]).expect(3);
    assert!(
        late.stdout
            .contains("the accepted baseline changed during the capture"),
        "{}",
        late.stdout
    );
    assert_eq!(names(&project), ["reg-role.yaml"]);
    std::fs::remove_file(project.path().join("next")).unwrap();

    // A finished run that asked something else, or was of another suite.
    project
        .call(&["run", "--var", "role=guest", "--progress", "none"])
        .expect(1);
    let other = capture(&["--run", "latest"]).expect(2);
    assert!(
        other.stdout.contains("its request differs from"),
        "{}",
        other.stdout
    );
    capture(&["--run", "latest", "--var", "role=guest"]).expect(0);
    project.write(
        "evals/eval-suite.yaml",
        &COMMAND_SUITE.replace("name: shop", "name: desk"),
    );
    let stranger = capture(&["--run", "latest"]).expect(2);
    assert!(
        stranger
            .stderr
            .contains("belongs to suite `shop`, not `desk`"),
        "{}",
        stranger.stderr
    );
}
