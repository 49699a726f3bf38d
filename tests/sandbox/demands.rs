//! What a suite demands of the sandbox, and commands that run inside it: through the built program.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use crate::support::{Call, PROGRAM, Project};

/// A project that others than its owner may read: root's sandboxed programs are `nobody`'s.
fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::with(files);
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path(), open).unwrap();
    project
}

fn executable(project: &Project, path: &str, text: &str) {
    let path = project.write(path, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether code can be isolated here; says so where it can't.
pub(super) fn isolates() -> bool {
    let output = Command::new(PROGRAM)
        .args(["doctor", "--format", "json"])
        .output()
        .unwrap();
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    let isolates =
        doctor["sandbox"]["tier"].is_string() && doctor["languages"]["python"]["path"].is_string();
    if !isolates {
        eprintln!("skipped: no isolation here: {doctor}");
    }
    isolates
}

/// The sample of the first case of each eval: outcome, cause, reason, and its first grade's trust.
fn samples(report: &Value) -> Vec<(String, String)> {
    let evals = report["evals"].as_array().unwrap();
    evals
        .iter()
        .map(|eval| {
            let sample = &eval["cases"][0]["samples"][0];
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let told = [
                &eval["id"],
                &sample["outcome"],
                &sample["cause"],
                &sample["grades"][0]["trust"],
            ]
            .map(text);
            (told.join(" "), text(&sample["reason"]))
        })
        .collect()
}

const TESTS: &str = r#"
    - id: compared
      input: Write double
      grader: {type: code, config: {function_name: double, test_cases: [{args: [2], expected: 4}]}}
    - id: asked
      input: Write double
      grader:
        type: code
        config:
          method: code_execution
          entry_point: double
          test: |
            def check(candidate):
                total = 0
                for i in range(5):
                    total += candidate(i)
                assert total == 20
    - id: shared
      input: Write Box
      grader:
        type: code
        config: {method: code_execution, asserts: ["assert issubclass(type('Larger', (Box,), {}), Box)"]}
"#;

const OUTPUTS: &str = concat!(
    "{\"case\": \"compared\", \"output\": \"def double(x):\\n    return 2 * x\\n\"}\n",
    "{\"case\": \"asked\", \"output\": \"def double(x):\\n    return 2 * x\\n\"}\n",
    "{\"case\": \"shared\", \"output\": \"class Box:\\n    pass\\n\"}\n",
);

fn suite(sandbox: &str, evals: &str) -> String {
    let evals = evals.trim_start_matches('\n');
    format!(
        "eval_suite:\n  name: Code\n  {sandbox}\n  evals:\n{evals}  target: {{type: recorded, path: outputs.jsonl}}\n"
    )
}

#[test]
fn verdicts_say_what_they_rest_on_and_reports_total_them() {
    if !isolates() {
        return;
    }
    let project = project(&[
        ("suite.yaml", &suite("description: d", TESTS)),
        ("outputs.jsonl", OUTPUTS),
    ]);
    let call = project
        .call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--format",
            "json,markdown,junit",
            "--verbose",
        ])
        .expect(0);
    let report = project.report();
    let totals = &report["summary"]["by_trust"];
    let levels: Vec<&String> = totals.as_object().unwrap().keys().collect();
    assert!(
        levels.contains(&&"harness".to_owned()) && levels.contains(&&"in_process".to_owned()),
        "{totals}"
    );
    let total: u64 = totals
        .as_object()
        .unwrap()
        .values()
        .map(|n| n["samples"].as_u64().unwrap())
        .sum();
    assert_eq!(total, 3, "{totals}");
    assert!(call.stdout.contains("  Trust  harness "), "{}", call.stdout);
    assert!(call.stdout.contains("in_process 1"), "{}", call.stdout);
    let markdown = std::fs::read_to_string(project.result(".md")).unwrap();
    assert!(markdown.contains("| in_process | 1 | 1 | "), "{markdown}");
    let junit = std::fs::read_to_string(project.result(".junit.xml")).unwrap();
    assert!(
        junit.contains("<property name=\"trust.in_process\" value=\"1\"/>"),
        "{junit}"
    );
}

#[test]
fn a_test_that_needs_less_than_is_demanded_never_passes() {
    if !isolates() {
        return;
    }
    let strict = suite("sandbox: {trust: split}", TESTS);
    let project = project(&[("suite.yaml", &strict), ("outputs.jsonl", OUTPUTS)]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(3);
    let told = samples(&project.report());
    assert_eq!(told[0].0, "compared passed - harness");
    assert!(told[1].0.starts_with("asked passed - "), "{told:?}");
    assert_eq!(told[2].0, "shared errored harness -");
    let reason = &told[2].1;
    assert!(
        reason.contains("requires `trust: split`") && reason.contains("trust: in_process"),
        "{reason}"
    );

    // A wrong candidate is told the same: nobody looked at it.
    project.write(
        "outputs.jsonl",
        &OUTPUTS.replace("class Box", "class Other"),
    );
    project.call(&["run", "--suite", "suite.yaml"]).expect(3);
    assert_eq!(samples(&project.report())[2], told[2]);

    // What is demanded belongs to the grading: such a run does not go on with less.
    project.write("suite.yaml", &suite("sandbox: {trust: in_process}", TESTS));
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--resume", "latest"])
        .expect(2);
    assert!(call.stderr.contains("the grader of "), "{}", call.stderr);
}

/// Calls the program where no namespace can be made.
fn forbidden(project: &Project, args: &str) -> Call {
    let script = format!("echo 0 > /proc/sys/user/max_user_namespaces && exec {PROGRAM} {args}");
    let output = Command::new("unshare")
        .args(["-Ur", "sh", "-c", &script])
        .current_dir(project.path())
        .env("NO_COLOR", "1")
        .output()
        .expect("unshare starts");
    Call::of(output)
}

#[test]
fn too_weak_a_machine_runs_nothing_whatever_the_command_line_says() {
    let of = |sandbox: &str| suite(sandbox, TESTS.split("    - id: asked").next().unwrap());
    let outputs = OUTPUTS.lines().next().unwrap();
    let project = project(&[
        ("suite.yaml", &of("sandbox: {minimum: userns}")),
        ("outputs.jsonl", outputs),
    ]);
    for args in [
        "run --suite suite.yaml",
        "run --suite suite.yaml --allow-unsandboxed",
    ] {
        let call = forbidden(&project, args).expect(2);
        assert!(
            call.stderr
                .contains("the suite requires `minimum: userns` for the sandbox"),
            "{}",
            call.stderr
        );
        assert!(
            call.stderr
                .contains("require less under `sandbox:` in the suite"),
            "{}",
            call.stderr
        );
    }
    assert!(!project.path().join("results").exists());
    // What asks for no isolation still takes the user's word.
    project.write("suite.yaml", &of("sandbox: {minimum: none}"));
    let call = forbidden(
        &project,
        "run --suite suite.yaml --allow-unsandboxed --format json --verbose",
    )
    .expect(0);
    assert!(call.stdout.contains("Trust "), "{}", call.stdout);
}

#[test]
fn what_ran_in_a_weaker_sandbox_never_counts_as_more() {
    if !isolates() {
        return;
    }
    let of = |demand: &str, samples: u32| {
        let first = TESTS.split("    - id: asked").next().unwrap();
        suite(
            &format!("config: {{samples: {samples}}}\n  {demand}"),
            first,
        )
    };
    let line = "{\"case\": \"compared\", \"output\": \"def double(x):\\n    return 2 * x\\n\"}\n";
    let project = project(&[
        ("suite.yaml", &of("sandbox: {}", 1)),
        ("outputs.jsonl", &line.repeat(2)),
    ]);
    forbidden(&project, "run --suite suite.yaml --allow-unsandboxed").expect(0);
    let weak = project.report()["metadata"]["environment"]["sandbox"]["tier"].clone();
    assert!(weak == "landlock" || weak == "none", "{weak}");

    // What is kept would count under a demand that it does not meet.
    for samples in [1, 2] {
        project.write("suite.yaml", &of("sandbox: {minimum: userns}", samples));
        let call = project
            .call(&["run", "--suite", "suite.yaml", "--resume", "latest"])
            .expect(2);
        assert!(
            call.stderr.contains("its programs ran ")
                && call.stderr.contains("now requires `minimum: userns`")
        );
        assert!(
            call.stderr.contains("eval-harness regrade --run"),
            "{}",
            call.stderr
        );
    }
    // Without a demand it goes on, and the run is what its weakest session was.
    project.write("suite.yaml", &of("sandbox: {}", 2));
    project
        .call(&["run", "--suite", "suite.yaml", "--resume", "latest"])
        .expect(0);
    let report = project.report();
    assert_eq!(report["summary"]["samples"]["total"], 2);
    assert_eq!(report["metadata"]["environment"]["sandbox"]["tier"], weak);
    assert_eq!(
        report["metadata"]["environment"]["sandbox"]["enforced"],
        weak == "landlock"
    );
}

#[test]
fn each_run_of_a_program_is_held_against_the_slowest_of_the_reference() {
    if !isolates() {
        return;
    }
    let runs: String = (0..16)
        .map(|n| format!("{{input: \"{n}\", output: \"{n}\"}}, "))
        .collect();
    let evals = format!(
        "    - id: slow\n      input: x\n      grader:\n        type: code\n        config:\n          method: code_execution\n          \
         timeout_seconds: 600\n          timeout_factor: 3\n          stdio: [{runs}]\n          \
         reference_solution: |\n            import time\n            time.sleep(0.2)\n            print(input())\n"
    );
    let code = "n = input()\nwhile n == '5': pass\nprint(n)\n";
    let output = serde_json::json!({"case": "slow", "output": code}).to_string();
    let project = project(&[
        ("suite.yaml", &suite("description: d", &evals)),
        ("outputs.jsonl", &output),
    ]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let told = samples(&project.report());
    assert_eq!(told[0].0, "slow failed timeout harness");
    // Three times one run, not three times all of them, which take 3.2 s at least.
    let limit = told[0]
        .1
        .split("within ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .unwrap();
    let limit: f64 = limit.parse().unwrap();
    assert!((0.6..9.6).contains(&limit), "{}", told[0].1);
    assert!(
        project.report()["evals"][0]["cases"][0]["samples"][0]["grades"][0]["details"]["slowest_ms"]
            .is_number()
    );
}

#[test]
fn demands_are_checked_with_their_place() {
    let broken = "sandbox: {minimum: docker, python: bin/py, readable: [\"../outside\", outputs.jsonl, /proc]}";
    let project = project(&[
        ("suite.yaml", &suite(broken, TESTS)),
        ("outputs.jsonl", OUTPUTS),
    ]);
    let call = project.call(&["validate", "suite.yaml"]).expect(2);
    assert!(call.stderr.contains("suite.yaml:3:"), "{}", call.stderr);
    assert!(call.stderr.contains("userns"), "{}", call.stderr);
    let paths = broken.replace("docker", "userns");
    project.write("suite.yaml", &suite(&paths, TESTS));
    let call = project.call(&["run", "--suite", "suite.yaml"]).expect(2);
    for told in [
        "the Python `bin/py` cannot be found",
        "`../outside` is outside the project",
        "`outputs.jsonl` is a file, not a folder",
        "`/proc` is outside the project",
    ] {
        assert!(call.stderr.contains(told), "{told}\n{}", call.stderr);
    }
    let open = TESTS.replace(
        "function_name: double,",
        "function_name: double, sandbox: false,",
    );
    project.write("suite.yaml", &suite("sandbox: {minimum: landlock}", &open));
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--allow-unsandboxed"])
        .expect(2);
    assert!(
        call.stderr
            .contains("contradicts the requirements that the suite sets"),
        "{}",
        call.stderr
    );
}

#[test]
fn python_is_found_behind_an_empty_entry_of_the_path() {
    let suite = suite("sandbox: {python: python3}", TESTS);
    let project = project(&[
        ("suite.yaml", &suite),
        ("outputs.jsonl", OUTPUTS),
        ("python3", "not an interpreter"),
    ]);
    let path = std::env::var("PATH").unwrap();
    let mut command = project.command(&["validate", "suite.yaml"]);
    command.env("PATH", format!(":{path}"));
    let call = Call::of(command.output().unwrap()).expect(0);
    assert!(!call.stderr.contains("cannot be found"), "{}", call.stderr);
}

#[test]
fn another_python_and_further_folders_are_seen_inside() {
    if !isolates() {
        return;
    }
    let evals = r#"
    - id: reads
      input: Read
      grader:
        type: code
        config: {function_name: read, test_cases: [{args: [PATH], expected: "42\n"}]}
"#;
    let project = project(&[("data/answer.txt", "42\n")]);
    let real = project.path().canonicalize().unwrap();
    let evals = evals.replace("PATH", &format!("\"{}/data/answer.txt\"", real.display()));
    project.write(
        "outputs.jsonl",
        "{\"case\": \"reads\", \"output\": \"def read(path):\\n    return open(path).read()\\n\"}\n",
    );
    project.write("suite.yaml", &suite("sandbox: {readable: [data]}", &evals));
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    project.write("suite.yaml", &suite("sandbox: {}", &evals));
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);

    // A virtualenv's python is a link to the interpreter that it was made of.
    std::fs::create_dir_all(real.join("venv/bin")).unwrap();
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    let python = String::from_utf8(output.stdout).unwrap();
    std::os::unix::fs::symlink(python.trim(), real.join("venv/bin/python")).unwrap();
    project.write(
        "suite.yaml",
        &suite(
            "sandbox: {python: venv/bin/python, readable: [data]}",
            &evals,
        ),
    );
    project.call(&["run", "--suite", "suite.yaml"]).expect(0);
    executable(
        &project,
        "venv/bin/broken",
        "#!/bin/sh\necho no good >&2\nexit 3\n",
    );
    project.write(
        "suite.yaml",
        &suite("sandbox: {python: venv/bin/broken}", &evals),
    );
    let call = project.call(&["run", "--suite", "suite.yaml"]).expect(2);
    assert!(
        call.stderr.contains("the suite requires the Python ") && call.stderr.contains("no good"),
        "{}",
        call.stderr
    );
}

/// What a program finds around it, as lines.
const LOOK: &str = r#"#!/bin/sh
read -r said
echo "said $said"
echo "here $(basename "$PWD")"
test -r rubric.txt && echo "sees the suite"
touch made 2>/dev/null && echo "writes to the suite"
touch "$TMPDIR/made" && echo "writes to $TMPDIR"
test -e "$OUTSIDE" && echo "sees what lies outside"
echo "listed ${LISTED-none}, not listed ${HIDDEN-none}"
env | grep -c . | sed 's/^/variables: /' >/dev/null
exit "${CODE:-0}"
"#;

fn looking(sandbox: bool) -> String {
    let evals = r#"
    - id: looks
      input: hello
      grader: {type: code, config: {method: contains, must_include: ["said hello"]}}
"#;
    format!(
        "eval_suite:\n  name: Commands\n  evals:\n{}  target: {{type: command, command: [./look, \"{{{{ input_file }}}}\"], \
         sandbox: {sandbox}, env: [LISTED, OUTSIDE]}}\n",
        evals.trim_start_matches('\n')
    )
}

#[test]
fn a_sandboxed_target_sees_the_suite_and_nothing_else() {
    if !isolates() {
        return;
    }
    let project = project(&[("evals/rubric.txt", "r"), ("secret.txt", "s")]);
    executable(
        &project,
        "evals/look",
        &LOOK.replace(
            "exit ",
            "grep -q hello \"$1\" && echo reads the input file\nexit ",
        ),
    );
    std::fs::set_permissions(
        project.path().join("evals"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let run = |sandbox: bool| {
        project.write("evals/suite.yaml", &looking(sandbox));
        let _ = std::fs::remove_file(project.path().join("evals/made"));
        let mut command = project.command(&["run", "--suite", "evals/suite.yaml"]);
        command
            .env("LISTED", "yes")
            .env("HIDDEN", "secret")
            .env("OUTSIDE", project.path().join("secret.txt"));
        Call::of(command.output().unwrap()).expect(0);
        let report = project.report();
        let output = report["evals"][0]["cases"][0]["samples"][0]["output"]
            .as_str()
            .unwrap()
            .to_owned();
        (
            output,
            report["metadata"]["environment"]["sandbox"]["enforced"].clone(),
        )
    };
    let (inside, enforced) = run(true);
    assert_eq!(
        inside,
        "said hello\nhere evals\nsees the suite\nwrites to /tmp\nlisted yes, not listed none\nreads the input file\n"
    );
    assert_eq!(enforced, true);
    let (outside, enforced) = run(false);
    assert!(
        outside.contains("sees what lies outside\n") && outside.contains("writes to the suite\n"),
        "{outside}"
    );
    assert_eq!(enforced, Value::Null);
}

#[test]
fn sandboxed_graders_judge_as_the_others_do() {
    if !isolates() {
        return;
    }
    let ways = [
        ("passes", "cat >/dev/null; exit 0", "exit_code"),
        ("fails", "cat; exit 1", "exit_code"),
        ("breaks", "echo oh no >&2; exit 7", "exit_code"),
        (
            "raises",
            "echo 'Traceback (most recent call last):' >&2; echo 'ValueError: x' >&2; exit 1",
            "exit_code",
        ),
        (
            "says",
            "echo '{\"passed\": false, \"score\": 0.25, \"reason\": \"quarter\"}'",
            "json",
        ),
        ("floods", "head -c 20000000 /dev/zero; exit 0", "exit_code"),
        ("floods-json", "head -c 20000000 /dev/zero; exit 0", "json"),
        ("sleeps", "sleep 600 & sleep 600", "exit_code"),
        ("dies", "kill -SEGV $$", "exit_code"),
        ("leaves", "sleep 600 & exit 0", "exit_code"),
        (
            "expects",
            "test \"$EVAL_CASE\" = expects && test \"$(cat)\" = text",
            "exit_code",
        ),
    ];
    let told = |sandbox: bool| {
        let project = project(&[]);
        let (mut evals, mut outputs) = (String::new(), String::new());
        for (id, script, verdict) in ways {
            let script = serde_json::to_string(script).unwrap();
            evals.push_str(&format!(
                "    - id: {id}\n      input: x\n      grader: {{type: code, config: {{method: command, command: [sh, -c, {script}], \
                 verdict: {verdict}, timeout_seconds: 2, sandbox: {sandbox}}}}}\n"
            ));
            outputs.push_str(&format!("{{\"case\": \"{id}\", \"output\": \"text\"}}\n"));
        }
        project.write("outputs.jsonl", &outputs);
        project.write("suite.yaml", &suite("description: d", &evals));
        project.call(&["run", "--suite", "suite.yaml"]);
        samples(&project.report())
    };
    let (inside, outside) = (told(true), told(false));
    assert_eq!(inside, outside);
    let causes: Vec<&str> = inside.iter().map(|(told, _)| told.as_str()).collect();
    assert_eq!(causes[0], "passes passed - -");
    assert_eq!(causes[1], "fails failed wrong_answer -");
    assert_eq!(causes[7], "sleeps errored grader_timeout -");
}

#[test]
fn a_program_that_can_not_be_seen_inside_says_so() {
    if !isolates() {
        return;
    }
    let project = project(&[("evals/x", "")]);
    executable(&project, "bin/judge", "#!/bin/sh\nexit 0\n");
    let evals = "    - id: hidden\n      input: x\n      grader: {type: code, config: {method: command, command: [judge], sandbox: true}}\n";
    project.write(
        "evals/outputs.jsonl",
        "{\"case\": \"hidden\", \"output\": \"text\"}\n",
    );
    project.write("evals/suite.yaml", &suite("description: d", evals));
    let path = format!("{}:/usr/bin:/bin", project.path().join("bin").display());
    let run = || {
        let mut command = project.command(&["run", "--suite", "evals/suite.yaml"]);
        Call::of(command.env("PATH", &path).output().unwrap())
    };
    run().expect(3);
    let told = samples(&project.report());
    assert_eq!(told[0].0, "hidden errored executor_missing -");
    assert!(
        told[0]
            .1
            .contains("bin/judge, which is not visible inside the sandbox"),
        "{}",
        told[0].1
    );
    project.write(
        "evals/suite.yaml",
        &suite("sandbox: {readable: [../bin]}", evals),
    );
    run().expect(0);
}

#[test]
fn a_reference_solution_sets_the_limit_of_time_and_must_pass() {
    if !isolates() {
        return;
    }
    let evals = r#"
    - id: endless
      input: Write double
      grader: &fast
        type: code
        config:
          function_name: double
          test_cases: [{args: [2], expected: 4}]
          timeout_per_case: 600
          timeout_seconds: 600
          timeout_factor: 3
          reference_solution: "def double(x): return x + x"
    - {id: right, input: Write double, grader: *fast}
    - id: asserted
      input: Write double
      grader:
        type: code
        config:
          asserts: ["assert double(2) == 4"]
          timeout_factor: 3
          reference_solution: "def double(x): return x ** 2 + 1"
"#;
    let outputs = concat!(
        "{\"case\": \"endless\", \"output\": \"def double(x):\\n    while True: pass\\n\"}\n",
        "{\"case\": \"right\", \"output\": \"def double(x): return 2 * x\"}\n",
        "{\"case\": \"asserted\", \"output\": \"def double(x): return 2 * x\"}\n",
    );
    let project = project(&[
        ("suite.yaml", &suite("description: d", evals)),
        ("outputs.jsonl", outputs),
    ]);
    project.call(&["run", "--suite", "suite.yaml"]).expect(1);
    let told = samples(&project.report());
    assert_eq!(told[0].0, "endless failed timeout harness");
    let limit = told[0]
        .1
        .split("within ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .unwrap();
    let limit: f64 = limit.parse().unwrap();
    assert!((0.5..600.0).contains(&limit), "{}", told[0].1);
    assert_eq!(told[1].0, "right passed - harness");
    assert_eq!(told[2].0, "asserted errored harness -");
    assert!(
        told[2]
            .1
            .starts_with("the reference solution fails its tests: "),
        "{}",
        told[2].1
    );
}

#[test]
fn a_benchmarks_own_solutions_set_its_limits() {
    if !isolates() {
        return;
    }
    let record = |id: &str, solution: &str| {
        let solution = serde_json::to_string(solution).unwrap();
        format!(
            "{{\"task_id\": \"{id}\", \"prompt\": \"def double(x):\\n\", \"entry_point\": \"double\", \
             \"canonical_solution\": {solution}, \"test\": \"def check(candidate):\\n    assert candidate(2) == 4\\n\"}}\n"
        )
    };
    let data = record("T/0", "    return 2 * x\n") + &record("T/1", "    return 3 * x\n");
    let eval = "schema_version: \"1.0\"\neval_type: capability\nmetadata: {id: bench, name: Bench}\n\
                dataset: {path: data.jsonl, format: humaneval, timeout_factor: 4}\n";
    let outputs = "{\"task_id\": \"T/0\", \"completion\": \"    return x + x\\n\"}\n{\"task_id\": \"T/1\", \"completion\": \"    return x + x\\n\"}\n";
    let project = project(&[
        ("data.jsonl", &data),
        ("bench.yaml", eval),
        ("outputs.jsonl", outputs),
    ]);
    project
        .call(&["run", "--suite", "bench.yaml", "--outputs", "outputs.jsonl"])
        .expect(3);
    let report = project.report();
    let cases = report["evals"][0]["cases"].as_array().unwrap();
    assert_eq!(cases[0]["outcome"], "passed", "{report:#}");
    assert_eq!(cases[1]["outcome"], "errored");
    let reason = cases[1]["samples"][0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the reference solution fails its tests: "),
        "{reason}"
    );
    // A record without a solution can't be limited by it.
    project.write("data.jsonl", &data.replace("canonical_solution", "other"));
    let call = project
        .call(&["run", "--suite", "bench.yaml", "--outputs", "outputs.jsonl"])
        .expect(2);
    assert!(
        call.stderr
            .contains("the record has no `canonical_solution`"),
        "{}",
        call.stderr
    );
}
