//! Faults of the surroundings, and what is promised for each (docs/running.md has the table): a
//! clear error or recovery, the right exit code, nothing lost that was shown.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::support::{Call, PROGRAM, Project, eventually};
use serde_json::Value;

/// A suite of `cases` recorded samples, each with an output of `bytes` and a grader that looks for
/// its number.
fn recorded(cases: usize, bytes: usize) -> Project {
    let (mut rows, mut outputs) = (String::new(), String::new());
    let filler = "x".repeat(bytes);
    for n in 0..cases {
        let _ = writeln!(rows, r#"{{"id": "c{n}", "a": "[{n}]"}}"#);
        let _ = writeln!(outputs, r#"{{"case": "c{n}", "output": "[{n}] {filler}"}}"#);
    }
    let eval = "metadata: {id: e}\ndataset:\n  path: rows.jsonl\n  format: jsonl\n  case: {id: \"{{ row.id }}\", input: x, \
                expected: {type: contains, value: [\"{{ row.a }}\"]}}\n";
    Project::with(&[
        (
            "suite.yaml",
            "eval_suite:\n  name: Faults\n  target: {type: recorded, path: outputs.jsonl}\n  evals:\n    - $ref: eval.yaml\n  reporting: {format: [json]}\n",
        ),
        ("eval.yaml", eval),
        ("rows.jsonl", &rows),
        ("outputs.jsonl", &outputs),
    ])
}

/// Twenty cases whose command waits for the file `go` before it answers from the second case on.
fn waiting() -> Project {
    let mut eval = "metadata: {id: e}\ntest_cases:\n".to_owned();
    for n in 0..20 {
        let _ = writeln!(
            eval,
            "  - {{id: c{n}, input: \"{n}\", expected: {{type: exact, value: \"{n}\"}}}}"
        );
    }
    let script = "read -r n; echo \"$n\" >> asked.log\nif [ \"$n\" != 0 ]; then while [ ! -e go ]; do sleep 0.05; done; fi\necho \"$n\"\n";
    Project::with(&[
        (
            "suite.yaml",
            "eval_suite:\n  name: Faults\n  config: {max_workers: 2}\n  target: {type: command, command: [sh, answer.sh]}\n  evals:\n    - $ref: eval.yaml\n  reporting: {format: [json]}\n",
        ),
        ("eval.yaml", &eval),
        ("answer.sh", script),
    ])
}

const RUN: [&str; 5] = ["run", "--suite", "suite.yaml", "--progress", "none"];

/// Runs a shell script as root of a new user namespace, with a file system of its own at
/// `results/`. `$HARNESS` is the program.
fn with_small_results(project: &Project, size: &str, script: &str) -> Call {
    std::fs::create_dir_all(project.path().join("results")).expect("a folder");
    let script = format!("mount -t tmpfs -o size={size} tmpfs results && {script}");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .current_dir(project.path())
        .env("HARNESS", PROGRAM)
        .env("NO_COLOR", "1")
        .output()
        .expect("unshare");
    Call::of(output)
}

#[test]
fn rows_are_judged_where_no_thread_can_be_started() {
    let project = recorded(3, 1);
    without_threads(&project, &["validate", "suite.yaml"]);
}

#[test]
fn runs_are_compared_where_no_thread_can_be_started() {
    let project = recorded(30, 1);
    let run = || {
        project.call(&RUN).expect(0);
        let report = project.report();
        report["metadata"]["run_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (run(), run());
    without_threads(&project, &["compare", &first, &second]);
    without_threads(
        &project,
        &["power", "--suite", "suite.yaml", "--run", &first],
    );
}

/// Expects that a call passes that may start no thread.
fn without_threads(project: &Project, args: &[&str]) {
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path(), open).unwrap();
    let program = project.command(args);
    let mut limited = Command::new("prlimit");
    limited
        .arg("--nproc=1")
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(project.path());
    if project.path().metadata().unwrap().uid() == 0 {
        // The limit is none for root.
        limited.uid(65_534).gid(65_534);
    }
    let Ok(output) = limited.output() else {
        eprintln!("skipped: there is no prlimit");
        return;
    };
    if output.status.code() == Some(126) {
        eprintln!("skipped: the program is in a folder that others do not see");
        return;
    }
    Call::of(output).expect(0);
}

#[test]
fn a_full_disk_stops_the_run_and_resuming_with_room_ends_it() {
    let project = recorded(400, 2000);
    project.call(&RUN).expect(0);
    let whole = project.report()["summary"].clone();
    std::fs::remove_dir_all(project.path().join("results")).expect("results");
    let script = "\"$HARNESS\" run --suite suite.yaml --progress none; code=$?
        mount -o remount,size=50m results
        \"$HARNESS\" report --run latest --format json > part.json
        \"$HARNESS\" run --resume latest --progress none > second.txt 2>&1; echo $? > second.code
        \"$HARNESS\" report --run latest --format json > whole.json
        exit $code";
    let call = with_small_results(&project, "400k", script).expect(3);
    assert!(
        call.stderr.contains("cannot write the journal") && call.stderr.contains("--resume"),
        "{}",
        call.stderr
    );
    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).expect("a file");
    let part: Value = serde_json::from_str(&read("part.json")).expect("a report of the part");
    assert_eq!(part["eval_report"]["gate"]["decision"], "incomplete");
    assert_eq!(read("second.code").trim(), "0", "{}", read("second.txt"));
    let resumed: Value = serde_json::from_str(&read("whole.json")).expect("a report");
    assert_eq!(resumed["eval_report"]["summary"], whole);
}

#[test]
fn results_that_cannot_be_written_are_told_before_anything_runs() {
    let project = waiting();
    let call = with_small_results(
        &project,
        "100k",
        "mount -o remount,ro results; exec \"$HARNESS\" run --suite suite.yaml --progress none",
    )
    .expect(2);
    assert!(
        call.stderr.contains("cannot create") && call.stderr.contains("results"),
        "{}",
        call.stderr
    );
    assert!(
        !project.path().join("asked.log").exists(),
        "the target was asked"
    );
}

#[test]
fn a_results_folder_that_vanishes_is_told_and_nothing_passes() {
    let project = waiting();
    let mut child = project
        .command(&RUN)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    eventually("a first sample", || {
        project.path().join("asked.log").exists()
    });
    std::fs::remove_dir_all(project.path().join("results")).expect("results");
    project.write("go", "");
    let output = Call::of(child_output(&mut child));
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert!(output.stderr.contains("results"), "{}", output.stderr);
}

fn child_output(child: &mut std::process::Child) -> std::process::Output {
    let mut stderr = Vec::new();
    if let Some(mut pipe) = child.stderr.take() {
        std::io::Read::read_to_end(&mut pipe, &mut stderr).expect("stderr");
    }
    std::process::Output {
        status: child.wait().expect("it ends"),
        stdout: Vec::new(),
        stderr,
    }
}

/// The first lines of the latest journal, changed; the report of what is then there.
fn report_of_changed_journal(change: impl Fn(String) -> String) -> Call {
    let project = recorded(5, 10);
    project.call(&RUN).expect(0);
    let journal = project.result(".journal.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    std::fs::write(&journal, change(text)).expect("a journal");
    project.call(&["report", "--run", "latest"])
}

#[test]
fn a_journal_of_a_later_version_is_refused_in_words() {
    let later = |text: String| {
        let (before, after) = text.split_once("\"journal_version\":").expect("a version");
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{before}\"journal_version\":99{rest}")
    };
    let call = report_of_changed_journal(later).expect(2);
    assert!(
        call.stderr.contains("later version of eval-harness"),
        "{}",
        call.stderr
    );
}

#[test]
fn garbage_in_the_middle_is_named_by_its_line_and_garbage_at_the_end_is_a_torn_tail() {
    let middle = |text: String| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines[3] = "}{ garbage";
        lines.join("\n") + "\n"
    };
    let call = report_of_changed_journal(middle).expect(2);
    assert!(call.stderr.contains(".journal.jsonl:4:"), "{}", call.stderr);
    for tail in ["\0\0\0\0\0\0", "{\"sample_fini", "\0\0\0\n"] {
        let torn = |text: String| {
            let cut = text.trim_end().rfind('\n').expect("lines") + 1;
            format!("{}{tail}", &text[..cut])
        };
        let call = report_of_changed_journal(torn).expect(130);
        assert!(
            call.stdout.contains("INTERRUPTED"),
            "{tail:?}: {}",
            call.stdout
        );
    }
}

#[test]
fn signals_end_a_run_with_130_and_resuming_goes_on() {
    for signal in ["INT", "TERM", "HUP"] {
        let project = waiting();
        let mut child = project
            .command(&RUN)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let asked = || {
            std::fs::read_to_string(project.path().join("asked.log"))
                .unwrap_or_default()
                .lines()
                .count()
        };
        eventually("samples in flight", || asked() >= 3);
        let kill = |signal: &str| {
            let pid = child.id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-s", signal, &pid])
                    .status()
                    .expect("kill")
                    .success()
            );
        };
        kill(signal);
        std::thread::sleep(std::time::Duration::from_millis(200));
        kill(signal);
        assert_eq!(
            child.wait().expect("it ends").code(),
            Some(130),
            "SIG{signal}"
        );
        let before = asked();
        project.write("go", "");
        project
            .call(&["run", "--resume", "latest", "--progress", "none"])
            .expect(0);
        assert_eq!(project.report()["summary"]["cases"]["passed"], 20);
        // The first case was answered; what was in flight is asked again.
        assert_eq!(asked(), before + 19, "SIG{signal}");
    }
}

#[test]
fn nobody_reading_on_changes_nothing() {
    let project = recorded(2000, 10);
    let mut child = project
        .command(&[
            "run",
            "--suite",
            "suite.yaml",
            "--events",
            "--progress",
            "none",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
    reader.read_line(&mut first).expect("a line");
    drop(reader);
    assert!(first.starts_with("{\"run_started\""), "{first}");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(project.report()["summary"]["cases"]["passed"], 2000);

    // Neither stream is there at all.
    let mut command = Command::new("sh");
    command
        .args(["-c", "\"$HARNESS\" run --suite suite.yaml >&- 2>&-"])
        .env("HARNESS", PROGRAM)
        .current_dir(project.path());
    let code = command.status().expect("sh").code();
    // A result that nobody could be told is not a passed gate.
    assert!(matches!(code, Some(0 | 3)), "{code:?}");
    assert_eq!(project.report()["summary"]["cases"]["passed"], 2000);
}

#[test]
fn few_file_descriptors_and_many_evals_are_enough() {
    let mut inline = "eval_suite:\n  name: Many\n  target: {type: recorded, path: outputs.jsonl}\n  config: {max_workers: 8}\n  reporting: {format: [json]}\n  evals:\n".to_owned();
    let mut outputs = String::new();
    for n in 0..10_000 {
        let _ = writeln!(
            inline,
            "    - {{id: e{n}, input: \"{n}\", expected: {{type: exact, value: \"{n}\"}}}}"
        );
        let _ = writeln!(outputs, r#"{{"case": "e{n}", "output": "{n}"}}"#);
    }
    let project = Project::with(&[("suite.yaml", &inline), ("outputs.jsonl", &outputs)]);
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -n 64; exec \"$HARNESS\" run --suite suite.yaml --progress none",
    ]);
    let output = command
        .env("HARNESS", PROGRAM)
        .current_dir(project.path())
        .output()
        .expect("sh");
    Call::of(output).expect(0);
    assert_eq!(project.report()["summary"]["passed"], 10_000);
}

#[test]
fn a_huge_output_lies_beside_the_journal_and_is_graded_whole() {
    let bytes = 100 << 20;
    let project = recorded(2, bytes);
    project.call(&RUN).expect(0);
    let journal = project.result(".journal.jsonl");
    let size = std::fs::metadata(&journal).expect("a journal").len();
    assert!(size < 1 << 20, "the journal has {size} bytes");
    let outputs = journal
        .to_string_lossy()
        .replace(".journal.jsonl", ".outputs");
    let stored: u64 = std::fs::read_dir(outputs)
        .expect("stored outputs")
        .map(|entry| {
            entry
                .and_then(|entry| entry.metadata())
                .expect("a file")
                .len()
        })
        .sum();
    assert_eq!(stored as usize, 2 * (bytes + "[0] ".len()));
    let regraded = project
        .call(&["regrade", "--run", "latest", "--progress", "none"])
        .expect(0);
    assert!(regraded.stdout.contains("GATE PASS"), "{}", regraded.stdout);
}

#[test]
fn a_broken_line_of_a_recording_is_named_and_leaves_the_run_incomplete() {
    let project = recorded(1000, 10);
    let path = project.path().join("outputs.jsonl");
    let text = std::fs::read_to_string(&path).expect("outputs").replacen(
        "\"case\": \"c777\",",
        "\"case\": \"c777\"",
        1,
    );
    std::fs::write(&path, text).expect("outputs");
    let call = project.call(&RUN).expect(3);
    assert!(
        call.stdout.contains("(number\n   778)") && call.stdout.contains("     999        1"),
        "{}",
        call.stdout
    );
}

#[test]
fn reports_do_not_depend_on_the_number_of_jobs() {
    let project = recorded(500, 20);
    let reports: Vec<String> = ["1", "2", "8"]
        .iter()
        .map(|jobs| {
            project
                .call(&[
                    "run",
                    "--suite",
                    "suite.yaml",
                    "--progress",
                    "none",
                    "--jobs",
                    jobs,
                ])
                .expect(0);
            let text = project.call(&["report", "--format", "json"]).stdout;
            let timeless = text.lines().filter(|line| {
                ![
                    "\"run_id\"",
                    "\"timestamp\"",
                    "\"duration_",
                    "\"arguments\"",
                ]
                .iter()
                .any(|key| line.contains(key))
            });
            timeless.collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert!(reports.iter().all(|report| *report == reports[0]));
}
