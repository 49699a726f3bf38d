//! A suite on several targets: a run on each, and what puts them side by side.

use crate::support::{Call, Project};
use serde_json::Value;

const SUITE: &str = r#"
eval_suite:
  name: Words
  evals: [{$ref: cases.yaml}]
  targets:
    good: {type: command, command: [sh, -c, "cat"]}
    bad: {type: command, command: [sh, -c, "sed s/two/2/"]}
    broken: {type: command, command: [sh, -c, "exit 9"]}
"#;

const CASES: &str = "
metadata: {id: words, name: Words}
test_cases:
  - {id: a, input: one, expected: {type: exact, value: one}}
  - {id: b, input: two, expected: {type: exact, value: two}}
";

fn project() -> Project {
    Project::with(&[("suite.yaml", SUITE), ("cases.yaml", CASES)])
}

fn run(project: &Project, more: &[&str]) -> Call {
    let mut args = vec!["run", "--suite", "suite.yaml", "--progress", "none"];
    args.extend(more);
    project.call(&args)
}

fn journals(project: &Project) -> Vec<String> {
    let Ok(days) = std::fs::read_dir(project.path().join("results/latest")) else {
        return Vec::new();
    };
    let names = days.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut found: Vec<String> = names
        .filter(|name| name.ends_with(".journal.jsonl"))
        .collect();
    found.sort();
    found
}

fn run_ids(project: &Project) -> Vec<String> {
    let path = project.result("side-by-side.json");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let runs = report["side_by_side"]["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["run_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_target_has_a_run_of_its_own_and_the_gravest_code_counts() {
    let project = project();
    let call = run(&project, &["--target", "good", "--target", "bad"]);
    assert_eq!(call.code, Some(1), "{}{}", call.stdout, call.stderr);
    let (report, paths) = call.stdout.split_once("\nreports").unwrap();
    let shown: String = report
        .lines()
        .filter(|line| !line.contains("latency"))
        .collect::<Vec<_>>()
        .join("\n");
    let command = format!(
        "\ncompare  eval-harness compare {}",
        run_ids(&project).join(" ")
    );
    assert!(shown.contains(&command), "{shown}");
    let shown = shown.replace(&command, "");
    let shown = shown.replace(&run_ids(&project)[1], "RUN");
    insta::assert_snapshot!(shown, @"
    Words: 2 targets side by side

                      good            bad
      gate            ✓ PASS          ✗ FAIL
      cases passed    2 of 2          1 of 2
      case pass rate  1.000           0.500
                      [0.210, 1.000]  [0.028, 0.972]
      pass@1          1.000           0.500
                      [0.210, 1.000]  [0.028, 0.972]
      score           1.000           0.500
                      [0.210, 1.000]  [0.028, 0.972]
      failed samples  0               1
      In brackets: the 95 % interval of each run.

    Differences
      From  To         pass@1  95 % CI            p  n  Broke  Fixed  Verdict
      good  bad  -50.0 points  [-90.5, +48.6]  0.50  2      1      0  no evidence
      p: two-sided. n: compared cases; broke, fixed: those that only the first run,
      or only the second, passed.

    Evals that differ  good   bad
      words            ✓ 2/2  ✗ 1/2

    Cases that differ  good      bad
      words › b        ✓ passed  ✗ wrong_answer


    bad: ✗ FAIL
      - 1 eval (words) failed
    show     eval-harness show --suite suite.yaml --run RUN
    rerun    eval-harness run --suite suite.yaml --target bad --failed-in RUN
    ");
    assert!(
        paths.contains(".side-by-side.md") && paths.contains(".side-by-side.json"),
        "{paths}"
    );
    assert_eq!(journals(&project).len(), 2);
    assert_eq!(run_ids(&project).len(), 2);

    // The same from the journals, and each run alone.
    let ids = run_ids(&project);
    let again = project.call(&[
        "report",
        "--run",
        &ids[0],
        "--run",
        &ids[1],
        "--suite",
        "suite.yaml",
    ]);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert_eq!(again.stdout.trim_end(), report.trim_end());
    let alone = project.call(&["report", "--run", &ids[0], "--suite", "suite.yaml"]);
    assert_eq!(alone.code, Some(0), "{}", alone.stderr);
}

#[test]
fn a_target_that_could_not_answer_leaves_the_gate_open() {
    let project = project();
    let call = run(&project, &["--target", "broken", "--target", "good", "-q"]);
    assert_eq!(
        (call.code, call.stdout.as_str()),
        (Some(3), "broken: incomplete\ngood: pass\n")
    );
}

#[test]
fn a_wrong_name_stops_every_run_before_it_starts() {
    let project = project();
    let call = run(&project, &["--target", "good", "--target", "god"]);
    assert_eq!(call.code, Some(2));
    assert!(
        call.stderr.contains("did you mean `good`?"),
        "{}",
        call.stderr
    );
    assert_eq!(journals(&project), Vec::<String>::new());
}

#[test]
fn a_name_given_twice_is_one_run() {
    let project = project();
    let call = run(&project, &["--target", "good", "--target", "good"]);
    assert_eq!(call.code, Some(0), "{}", call.stderr);
    assert_eq!(journals(&project).len(), 1);
}

#[test]
fn each_run_goes_on_with_its_own_target() {
    let project = project();
    assert_eq!(
        run(&project, &["--target", "bad", "--target", "good"]).code,
        Some(1)
    );
    let ids = run_ids(&project);
    let args = [
        "run",
        "--suite",
        "suite.yaml",
        "--resume",
        &ids[0],
        "--samples",
        "2",
        "--progress",
        "none",
        "-q",
    ];
    let call = project.call(&args);
    assert_eq!(call.code, Some(1), "{}", call.stderr);
    let call = project.call(&[
        "report",
        "--suite",
        "suite.yaml",
        "--run",
        &ids[0],
        "--format",
        "json",
    ]);
    let report: Value = serde_json::from_str(&call.stdout).unwrap();
    let report = &report["eval_report"];
    assert_eq!(report["metadata"]["environment"]["target"], "bad");
    assert_eq!(report["summary"]["samples"]["total"], 4);
    // Another target is another run; and there is no going on with two.
    let mut changed = args.to_vec();
    changed.extend(["--target", "good"]);
    let call = project.call(&changed);
    assert_eq!(call.code, Some(2), "{}", call.stdout);
    changed.extend(["--target", "bad"]);
    let call = project.call(&changed);
    assert!(
        call.stderr.contains("a run has one target"),
        "{}",
        call.stderr
    );
}

#[test]
fn a_dry_run_shows_each_plan_and_runs_none() {
    let project = project();
    let call = run(
        &project,
        &["--target", "good", "--target", "bad", "--dry-run"],
    );
    assert_eq!(call.code, Some(0), "{}", call.stderr);
    assert!(
        call.stdout.contains("Run on good ") && call.stdout.contains("Run on bad "),
        "{}",
        call.stdout
    );
    assert_eq!(journals(&project), Vec::<String>::new());
}

#[test]
fn other_verbs_take_one_target() {
    let project = project();
    let call = project.call(&[
        "list",
        "--suite",
        "suite.yaml",
        "--target",
        "good",
        "--target",
        "bad",
    ]);
    assert_eq!(call.code, Some(2));
    assert!(
        call.stderr
            .contains("only `run` accepts several targets; pass one"),
        "{}",
        call.stderr
    );
}

/// The last of several runs passed, but the command that made it failed.
#[test]
fn latest_of_several_runs_hides_no_failure() {
    let project = project();
    run(&project, &["--target", "bad", "--target", "good"]).expect(1);
    let [failed, _] = run_ids(&project).try_into().expect("two runs");
    let again = run(&project, &["--failed-in", "latest", "--target", "good"]).expect(2);
    let expected = format!(
        "error: `latest` is one of several runs of one command: 1 case of {failed} (target bad) did not pass\n\
         hint: name one, such as `--failed-in {failed}`\n"
    );
    assert_eq!(again.stderr, expected);
    let shown = project.call(&["show", "--suite", "suite.yaml"]).expect(0);
    let hint = format!("`eval-harness show --run {failed}`");
    assert!(shown.stderr.contains(&hint), "{}", shown.stderr);
    let named = project
        .call(&["show", "--suite", "suite.yaml", "--run", &failed])
        .expect(0);
    assert!(
        named.stdout.contains("words \u{203a} b"),
        "{}",
        named.stdout
    );
    // A run that can't be read may have failed; one that was removed is not missed.
    let name = &journals(&project)[0];
    let journal = project.path().join("results/latest").join(name);
    let line = std::fs::read_to_string(&journal).expect("a journal");
    std::fs::write(&journal, line.replace("sample_finished", "sample_odd")).expect("written");
    let show = ["show", "--suite", "suite.yaml"];
    let unreadable = project.call(&show).expect(2).stderr;
    assert!(
        unreadable.contains("not a journal line: unknown variant `sample_odd`"),
        "{unreadable}"
    );
    std::fs::remove_file(&journal).expect("removed");
    assert!(!project.call(&show).expect(0).stderr.contains(&failed));
}

/// Every case passed at the second attempt, and the threshold counts first attempts.
#[test]
fn latest_of_several_runs_hides_no_missed_threshold() {
    let suite = r#"
eval_suite:
  name: Words
  config: {retry_failed: true}
  evals: [{$ref: cases.yaml}]
  targets:
    good: {type: command, command: [sh, -c, "cat"]}
    late: {type: command, command: [sh, -c, "read w; if [ -e seen-$w ]; then echo $w; fi; touch seen-$w"]}
"#;
    let project = Project::with(&[("suite.yaml", suite), ("cases.yaml", CASES)]);
    let both = ["--target", "late", "--target", "good"];
    run(
        &project,
        &[&both[..], &["--threshold", "pass@1=0.9"]].concat(),
    )
    .expect(1);
    let [failed, _] = run_ids(&project).try_into().expect("two runs");
    let again = run(&project, &["--failed-in", "latest", "--target", "good"]).expect(2);
    let expected = format!(
        "one command: the gate of {failed} (target late) did not pass
"
    );
    assert!(again.stderr.contains(&expected), "{}", again.stderr);
}
