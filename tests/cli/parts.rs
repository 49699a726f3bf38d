//! Thresholds on parts of a run through the built program: exit codes, reports, resumed, regraded,
//! joined and repeated runs.

use crate::support::Project;
use serde_json::Value;

const SUITE: &str = r#"
eval_suite:
  name: Parts
  target: {type: recorded, path: outputs.jsonl}
  thresholds:
    pass_rate: {min: 0.3, by_tag: {critical: 1}}
    case_pass_rate: {min: 0.3, by_eval: {"cap-m*": {min: 0.5}}}
  evals:
    - {id: cap-auth, category: auth, metadata: {tags: [critical]}, input: x, expected: y}
    - metadata: {id: cap-mixed, category: math}
      test_cases:
        - {id: a, input: x, expected: y, tags: [critical, "odd | tag `x`"]}
        - {id: b, input: x, expected: y}
        - {id: c, input: x, expected: y}
    - {id: cap-other, category: math, input: x, expected: y}
"#;

/// The outputs of cap-auth, a, b, c and cap-other; `-` is one that is missing.
fn outputs(of: [&str; 5]) -> String {
    let cases = ["cap-auth", "a", "b", "c", "cap-other"];
    let said = cases.iter().zip(of).filter(|(_, output)| *output != "-");
    said.map(|(case, output)| format!("{{\"case\": \"{case}\", \"output\": \"{output}\"}}\n"))
        .collect()
}

fn project(of: [&str; 5]) -> Project {
    Project::with(&[("suite.yaml", SUITE), ("outputs.jsonl", &outputs(of))])
}

fn run(project: &Project, more: &[&str], code: i32) -> Value {
    let call = project.call(
        &[
            &[
                "run",
                "--suite",
                "suite.yaml",
                "--format",
                "json,markdown,junit",
            ],
            more,
        ]
        .concat(),
    );
    call.expect(code);
    if code == 2 {
        Value::Null
    } else {
        project.report()
    }
}

/// What was said, without the lines that it was laid out in.
fn words(text: &str) -> String {
    let words = text
        .split(|c: char| c.is_whitespace() || c == '│')
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_part_decides_from_its_own_samples() {
    // What else fails or errors does not touch the part.
    for (of, code) in [
        (["y", "y", "y", "y", "y"], 0),
        (["y", "y", "n", "y", "n"], 0),
        (["y", "y", "-", "y", "y"], 0),
        (["n", "y", "y", "y", "y"], 1),
        (["y", "n", "y", "y", "y"], 1),
        (["y", "-", "y", "y", "y"], 3),
        (["n", "-", "y", "y", "y"], 1),
        (["-", "y", "y", "y", "n"], 3),
    ] {
        let project = project(of);
        let report = run(&project, &[], code);
        let decision = report["gate"]["decision"].as_str().unwrap();
        assert_eq!(
            decision,
            ["pass", "fail", "", "incomplete"][code as usize],
            "{of:?}"
        );
    }
}

#[test]
fn reports_name_the_part_and_what_is_lacking() {
    let project = project(["n", "y", "n", "n", "y"]);
    let more = [
        "--threshold",
        "case_pass_rate[tag=odd | tag `x`]=1",
        "--threshold",
        "pass@1[category=math]>=0.6",
    ];
    let report = run(&project, &more, 1);
    let rate = &report["estimates"]["pass_rate[tag=critical]"];
    // cap-mixed counts with its case `a` alone.
    assert_eq!(
        (rate["value"].as_f64(), rate["n_cases"].as_u64()),
        (Some(0.5), Some(2))
    );
    assert_eq!(
        report["metrics"]["pass_rate[tag=critical]"].as_f64(),
        Some(0.5)
    );
    let reasons: Vec<&str> = report["gate"]["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        reasons,
        [
            "case pass rate [eval=cap-m*] is 0.333, but at least 0.5 is required: 1 of 3 cases passed; 1 more would have met it",
            "pass rate [tag=critical] is 0.500, but at least 1 is required: 1 of 2 evals passed; 1 more would have met it",
            "pass@1 [category=math] is 0.500, but at least 0.6 is required: 2 of 4 first attempts passed; 1 more would have met it",
        ]
    );
    let markdown = std::fs::read_to_string(project.result(".md")).unwrap();
    let row = markdown
        .lines()
        .find(|line| line.contains("odd") && line.contains(">="))
        .unwrap();
    let cells = row.replace("\\|", "").matches('|').count();
    assert_eq!(cells, 6, "{row}");
    let terminal = project
        .call(&["report", "--run", "latest", "--format", "terminal"])
        .expect(1)
        .stdout;
    let line = terminal
        .lines()
        .find(|line| line.contains("pass rate [tag=critical]") && line.contains(">="))
        .unwrap();
    assert!(
        line.contains("0.500  [") && line.contains(">= 1.000") && line.ends_with("FAIL"),
        "{line}"
    );
    // Commands may be longer, since they are to be copied.
    let is_command = |line: &str| line.starts_with("rerun") || line.starts_with("more");
    let wide = terminal
        .lines()
        .find(|line| line.chars().count() > 80 && !is_command(line));
    assert_eq!(wide, None, "{terminal}");
    let junit = std::fs::read_to_string(project.result(".junit.xml")).unwrap();
    assert!(
        junit.contains("threshold.pass_rate[tag=critical]"),
        "{junit}"
    );
    // The journal alone gives the same bytes.
    let again = project
        .call(&["report", "--run", "latest", "--format", "markdown"])
        .expect(1)
        .stdout;
    assert_eq!(markdown, again);
}

#[test]
fn what_no_part_has_is_exit_2_and_nothing_runs() {
    let project = project(["y", "y", "y", "y", "y"]);
    for (threshold, said) in [
        ("pass_rate[tag=critcal]=1", "did you mean `critical`?"),
        ("pass_rate[eval=x*]=1", "has an id that matches `x*`"),
        ("pass_rate[type=regression]=1", "has the type `regression`"),
        (
            "capability_pass_rate[type=capability]=1",
            "already limited to evals of one type",
        ),
        (
            "pass_hat_2[tag=critical]=1",
            "pass_hat_2[tag=critical] needs 2 samples of every case of that part",
        ),
        ("pass_rate[tag=critical", "is not METRIC=VALUE"),
    ] {
        let call = project
            .call(&["run", "--suite", "suite.yaml", "--threshold", threshold])
            .expect(2);
        let stderr = words(&call.stderr);
        assert!(stderr.contains(said), "{threshold}: {stderr}");
    }
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--eval", "cap-other"])
        .expect(2);
    assert!(
        words(&call.stderr).contains("has the tag `critical`"),
        "{}",
        call.stderr
    );
    assert!(!project.path().join("results").exists());
}

#[test]
fn resumed_regraded_repeated_and_joined_runs_have_parts() {
    let project = project(["y", "n", "y", "y", "n"]);
    let first = run(&project, &["--max-fail", "1", "--jobs", "1"], 1);
    assert_eq!(first["summary"]["cases"]["skipped"], 3);
    // The demand on the part is met no more, whatever the rest comes to; the rest is run all the
    // same.
    project
        .call(&["run", "--suite", "suite.yaml", "--resume", "latest"])
        .expect(1);
    let whole = project.report();
    assert_eq!(
        whole["metrics"]["pass_rate[tag=critical]"].as_f64(),
        Some(0.5)
    );
    project.call(&["regrade", "--run", "latest"]).expect(1);
    assert_eq!(
        project.report()["gate"]["reasons"],
        whole["gate"]["reasons"]
    );

    // Of what did not pass, one case is of the part; it is asked for alone, and nothing is of the
    // eval `cap-auth`.
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--failed-in", "latest"])
        .expect(1);
    assert!(
        !words(&call.stderr).contains("covers nothing"),
        "{}",
        call.stderr
    );
    let more = [
        "--failed-in",
        "latest",
        "--threshold",
        "pass_rate[eval=cap-auth]=1",
        "--threshold",
        "pass_rate[tag=critical]=0",
    ];
    let call = project.call(&[&["run", "--suite", "suite.yaml"], more.as_slice()].concat());
    let warned = words(&call.stderr);
    assert!(
        warned.contains("no eval that is selected has an id that matches `cap-auth`"),
        "{warned}"
    );
    assert_ne!(
        project.report()["gate"]["decision"],
        "pass",
        "nothing is known of it"
    );

    let mut runs = Vec::new();
    for index in 1..=3 {
        project
            .call(&[
                "run",
                "--suite",
                "suite.yaml",
                "--shard",
                &format!("{index}/3"),
            ])
            .expect(0);
        let report = project.report();
        runs.push(report["metadata"]["run_id"].as_str().unwrap().to_owned());
    }
    let mut args = vec!["report", "--format", "json"];
    runs.iter().for_each(|run| args.extend(["--run", run]));
    let joined: Value = serde_json::from_str(&project.call(&args).expect(1).stdout).unwrap();
    let joined = &joined["eval_report"];
    assert_eq!(joined["estimates"], whole["estimates"]);
    assert_eq!(joined["gate"], whole["gate"]);
}

#[test]
fn presets_hold_beside_parts() {
    let suite = SUITE.replace("  thresholds:\n", "  preset: staging\n  unused:\n");
    let suite: String = suite
        .lines()
        .filter(|line| {
            !["unused", "pass_rate:", "case_pass_rate:"]
                .iter()
                .any(|word| line.contains(word))
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let three: String = (0..3).map(|_| outputs(["y", "y", "y", "y", "y"])).collect();
    let project = Project::with(&[("suite.yaml", &suite), ("outputs.jsonl", &three)]);
    let report = run(&project, &["--threshold", "pass^3[tag=critical]=1"], 0);
    let names: Vec<&str> = report["gate"]["thresholds"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|t| t["metric"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "pass_at_1",
            "pass_at_3",
            "pass_hat_3",
            "pass_hat_3[tag=critical]"
        ]
    );
    let one = outputs(["y", "y", "y", "y", "y"]);
    project.write("outputs.jsonl", &one);
    run(&project, &[], 2);
}

#[test]
fn shards_join_when_only_the_place_of_their_evals_moved() {
    let project = project(["y", "y", "y", "y", "y"]);
    let mut args = vec![
        "report".to_owned(),
        "--format".to_owned(),
        "json".to_owned(),
    ];
    for index in 1..=2 {
        project
            .call(&[
                "run",
                "--suite",
                "suite.yaml",
                "--shard",
                &format!("{index}/2"),
            ])
            .expect(0);
        let run = project.report()["metadata"]["run_id"]
            .as_str()
            .unwrap()
            .to_owned();
        args.extend(["--run".to_owned(), run]);
        project.write("suite.yaml", &format!("# one line more\n{SUITE}"));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    project.call(&args).expect(0);
}
