//! A machine that allows no isolation: nothing runs without the user's word, and every report then
//! says so.
//!
//! Namespaces are forbidden inside a user namespace of the test's own, and Landlock is hidden by a
//! filter on its calls, as a container's may be, so that the machine stays as it is. With Landlock
//! left, that is what code runs under.

use std::process::Command;

use crate::support::{Call, PROGRAM, Project};

const SUITE: &str = r#"
eval_suite:
  name: Code
  evals:
    - id: double
      input: Write double
      grader:
        type: code
        config: {function_name: double, test_cases: [{args: [2], expected: 4}]}
  target: {type: recorded, path: outputs.jsonl}
"#;

const OUTPUTS: &str =
    "{\"case\": \"double\", \"output\": \"def double(x):\\n    return 2 * x\\n\"}\n";

/// Answers `landlock_create_ruleset` (444 on every architecture) with ENOSYS in what it then
/// becomes.
const HIDE_LANDLOCK: &str = "import ctypes, os, struct, sys; libc = ctypes.CDLL(None); \
    code = ctypes.create_string_buffer(struct.pack('HBBI' * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 444, 6, 0, 0, 0x50026, 6, 0, 0, 0x7fff0000)); \
    program = struct.pack('HxxxxxxQ', 4, ctypes.addressof(code)); \
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0; os.execv(sys.argv[1], sys.argv[1:])";

/// Calls the program where neither a namespace nor Landlock can be had.
fn forbidden(project: &Project, args: &str) -> Call {
    without_namespaces(
        project,
        &format!("python3 -c \"{HIDE_LANDLOCK}\" {PROGRAM} {args}"),
    )
}

/// Calls a shell command where no further namespace can be made.
fn without_namespaces(project: &Project, command: &str) -> Call {
    let script = format!("echo 0 > /proc/sys/user/max_user_namespaces && exec {command}");
    let output = Command::new("unshare")
        .args(["-Ur", "sh", "-c", &script])
        .current_dir(project.path())
        .env("NO_COLOR", "1")
        .output()
        .expect("unshare starts");
    Call::of(output)
}

#[test]
fn without_isolation_nothing_runs_and_the_remedy_is_told() {
    let project = Project::with(&[("suite.yaml", SUITE), ("outputs.jsonl", OUTPUTS)]);
    let call = forbidden(&project, "run --suite suite.yaml").expect(2);
    assert!(
        call.stderr.contains("no isolation is available: "),
        "{}",
        call.stderr
    );
    for tier in [
        "userns: ",
        "rootns: ",
        "landlock: the kernel has no Landlock, or a container's filter hides it",
    ] {
        assert!(
            call.stderr
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(tier),
            "{tier}: {}",
            call.stderr
        );
    }
    assert!(call.stderr.contains("hint: "), "{}", call.stderr);
    assert!(
        call.stderr.contains("--allow-unsandboxed"),
        "{}",
        call.stderr
    );
    assert!(!project.path().join("results").exists());
}

#[test]
fn what_ran_without_isolation_says_so_in_every_report() {
    let project = Project::with(&[("suite.yaml", SUITE), ("outputs.jsonl", OUTPUTS)]);
    let args = "run --suite suite.yaml --allow-unsandboxed --format json,markdown,junit";
    let call = forbidden(&project, args).expect(0);
    assert!(call.stdout.contains("!! "), "{}", call.stdout);
    let report = project.report();
    assert_eq!(
        report["metadata"]["environment"]["sandbox"]["enforced"],
        false
    );
    assert_eq!(
        report["evals"][0]["cases"][0]["samples"][0]["grades"][0]["trust"],
        "unsandboxed"
    );
    for ending in [".md", ".junit.xml"] {
        let text = std::fs::read_to_string(project.result(ending))
            .unwrap()
            .to_lowercase();
        assert!(
            text.contains("without isolation") || text.contains("unsandboxed"),
            "{ending}: {text}"
        );
    }
}

#[test]
fn landlock_is_what_is_left_without_namespaces_and_says_what_is_weaker() {
    let abi = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    let project = Project::with(&[("suite.yaml", SUITE), ("outputs.jsonl", OUTPUTS)]);
    let call = without_namespaces(
        &project,
        &format!("{PROGRAM} run --suite suite.yaml --format json"),
    );
    if call.stderr.contains("landlock: ") {
        assert!(!abi.contains("landlock"), "{}", call.stderr);
        return println!("SKIPPED: {}", call.stderr);
    }
    call.expect(0);
    let report = project.report();
    let sandbox = &report["metadata"]["environment"]["sandbox"];
    assert_eq!(
        (&sandbox["tier"], &sandbox["enforced"]),
        (&"landlock".into(), &true.into()),
        "{sandbox}"
    );
    assert!(
        sandbox["landlock_abi"].as_u64().is_some_and(|abi| abi >= 3),
        "{sandbox}"
    );
    let notes: Vec<&str> = sandbox["notes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|n| n.as_str())
        .collect();
    assert!(
        notes.iter().any(|n| n.starts_with("userns: unshare: ")),
        "{notes:?}"
    );
    assert!(
        notes.iter().any(
            |n| n.starts_with("Landlock ABI ") && n.contains("which paths and processes exist")
        ),
        "{notes:?}"
    );
    let grade = &report["evals"][0]["cases"][0]["samples"][0]["grades"][0];
    assert_eq!(
        (&grade["outcome"], &grade["trust"]),
        (&"passed".into(), &"harness".into()),
        "{grade}"
    );
}
