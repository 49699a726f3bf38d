//! `runs`: the runs of a folder.

use crate::support::Project;
use serde_json::Value;

const SUITE: &str = r#"
eval_suite:
  name: Runs
  evals: [{$ref: one.yaml}]
  targets:
    good: {type: recorded, path: good.jsonl}
    bad: {type: recorded, path: bad.jsonl}
"#;

const ONE: &str = r#"
schema_version: "1.0"
eval_type: capability
metadata: {id: cap-one, name: One}
test_cases:
  - {id: a, input: a, expected: {type: exact, value: a}}
  - {id: b, input: b, expected: {type: exact, value: b}}
"#;

fn project() -> Project {
    Project::with(&[
        ("suite.yaml", SUITE),
        ("one.yaml", ONE),
        (
            "good.jsonl",
            "{\"case\": \"a\", \"output\": \"a\"}\n{\"case\": \"b\", \"output\": \"b\"}\n",
        ),
        (
            "bad.jsonl",
            "{\"case\": \"a\", \"output\": \"x\"}\n{\"case\": \"b\", \"output\": \"b\"}\n",
        ),
    ])
}

fn call(project: &Project, args: &[&str]) -> crate::support::Call {
    project.call(&[args, &["--suite", "suite.yaml"]].concat())
}

fn run(project: &Project, args: &[&str]) -> String {
    call(project, &[&["run"], args].concat());
    listed(project)[0]["run_id"].as_str().unwrap().to_owned()
}

fn listed(project: &Project) -> Vec<Value> {
    let call = call(project, &["runs", "--all", "--format", "json"]).expect(0);
    assert_eq!(call.stderr, "");
    serde_json::from_str(&call.stdout).unwrap()
}

#[test]
fn runs_list_gates_and_sizes_newest_first() {
    let project = project();
    assert!(listed(&project).is_empty());
    run(&project, &["--target", "good"]);
    let bad = run(&project, &["--target", "bad", "--case", "a"]);
    let all = listed(&project);
    let of = |key: &str| -> Vec<String> { all.iter().map(|run| run[key].to_string()).collect() };
    assert_eq!(of("gate"), [r#""fail""#, r#""pass""#]);
    assert_eq!(all[0]["cases"]["failed"], 1);
    assert_eq!(all[1]["identity"]["environment"]["target"], "good");
    let folder = project
        .result(".journal.jsonl")
        .parent()
        .unwrap()
        .to_owned();
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    let told: u64 = all.iter().map(|run| run["bytes"].as_u64().unwrap()).sum();
    assert_eq!(told, bytes);
    let page = call(&project, &["runs", "--last", "1"]).expect(0).stdout;
    assert!(page.contains(&bad) && page.lines().count() == 3, "{page}");
    assert!(
        page.contains("✗ FAIL") && page.contains("1 older run"),
        "{page}"
    );
    assert!(
        page.lines().all(|line| line.chars().count() <= 80),
        "{page}"
    );
}

#[test]
fn a_gate_that_a_comparison_failed_is_listed_as_failed() {
    let project = project();
    let good = run(&project, &["--target", "good"]);
    std::fs::copy(
        project.path().join("bad.jsonl"),
        project.path().join("good.jsonl"),
    )
    .unwrap();
    let args = [
        "--target",
        "good",
        "--compare-to",
        &good,
        "--fail-on",
        "any",
        "--threshold",
        "pass_rate=0",
    ];
    run(&project, &args);
    assert_eq!(listed(&project)[0]["gate"], "fail");
    let history = call(&project, &["history", "--format", "json"])
        .expect(0)
        .stdout;
    assert!(history.contains(r#""fail""#), "{history}");
}

fn ids(project: &Project) -> Vec<String> {
    let id = |run: &Value| run["run_id"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = listed(project).iter().map(id).collect();
    ids.reverse();
    ids
}

fn refused(project: &Project, args: &[&str], words: &str) {
    let before = ids(project);
    let said = call(project, &[&["runs"], args].concat()).expect(2);
    assert!(said.stderr.contains(words), "{args:?}: {}", said.stderr);
    assert_eq!(ids(project), before, "{args:?}");
}

#[test]
fn runs_rm_removes_whole_runs_and_keeps_what_is_needed() {
    let project = project();
    let good = ["--target", "good"];
    let [first, second, third] = [0; 3].map(|_| run(&project, &good));
    refused(&project, &["rm", &third], "it is the latest run");
    refused(&project, &["rm", &first, "latest"], "it is the latest run");
    refused(
        &project,
        &["rm", "eval-20000101-000000"],
        "no run `eval-20000101",
    );
    let scores = project.write(
        "baselines/scores/mine.json",
        &format!("{{\"run_id\": \"{first}\"}}"),
    );
    refused(&project, &["rm", &first], "mine.json refers to it");
    std::fs::write(&scores, "not JSON, and names no run").unwrap();
    let day = project
        .result(".journal.jsonl")
        .parent()
        .unwrap()
        .to_owned();
    let journal = |id: &str| {
        let stem = id.splitn(3, '-').nth(2).unwrap();
        day.join(format!("run-{stem}.journal.jsonl"))
    };
    let copy = project.path().join("copy.journal.jsonl");
    std::fs::copy(journal(&first), &copy).unwrap();
    refused(
        &project,
        &["rm", copy.to_str().unwrap()],
        "is not the journal of a run in",
    );
    call(
        &project,
        &[&["regrade", "--run", &first], &good[..]].concat(),
    )
    .expect(0);
    let regrade = ids(&project).pop().unwrap();
    refused(
        &project,
        &["rm", &first],
        &format!("{regrade} graded its outputs again"),
    );
    let index = project.write("results/.index/view.sqlite", "texts of runs");
    let dry = call(&project, &["runs", "rm", &second, "--dry-run"]).expect(0);
    assert!(index.exists());
    assert!(dry.stdout.starts_with(&second) && dry.stderr.contains("would remove 1 run"));
    assert!(journal(&second).exists());
    // By its id and by its path: one run.
    let path = journal(&second);
    let relative = path
        .strip_prefix(project.path())
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let said = call(&project, &["runs", "rm", &second, &relative]).expect(0);
    assert!(!index.parent().unwrap().exists());
    assert!(
        said.stdout.starts_with(&format!("{second}  ")),
        "{}",
        said.stdout
    );
    assert!(said.stderr.contains("removed 1 run ("), "{}", said.stderr);
    assert_eq!(ids(&project), [first, third, regrade]);
    let stem = path
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .replace("journal.jsonl", "");
    let left = std::fs::read_dir(&day)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    assert!(
        left.into_iter()
            .all(|name| !name.to_str().unwrap().starts_with(&stem))
    );
}

#[test]
fn runs_prune_keeps_new_runs_links_and_shards() {
    let project = project();
    let good = ["--target", "good"];
    let shard = |part: &'static str| [&good[..], &["--shard", part]].concat();
    let old = run(&project, &good);
    let shards = [run(&project, &shard("1/2")), run(&project, &shard("2/2"))];
    let latest = run(&project, &good);
    refused(&project, &["rm", &shards[0]], "is a shard of the same run");
    let prune = |args: &[&str]| call(&project, &[&["runs", "prune"], args].concat());
    prune(&[]).expect(2);
    let young = prune(&["--keep", "1", "--older-than", "1h"]).expect(0);
    assert!(young.stderr.contains("removed 0 runs"), "{}", young.stderr);
    // A folder by another name holds the same runs.
    let day = project
        .result(".journal.jsonl")
        .parent()
        .unwrap()
        .to_owned();
    let link = day.with_file_name("2020-01-01");
    std::os::unix::fs::symlink(&day, &link).unwrap();
    let linked = prune(&["--keep", "1"]).expect(0);
    assert!(
        linked.stderr.contains("removed 0 runs"),
        "{}",
        linked.stderr
    );
    assert!(
        linked
            .stderr
            .contains("a link in the results folder leads to it")
    );
    std::fs::remove_file(&link).unwrap();
    let dry = prune(&["--keep", "2", "--dry-run"]).expect(0);
    assert!(
        dry.stdout.starts_with(&old) && dry.stdout.lines().count() == 1,
        "{}",
        dry.stdout
    );
    assert!(
        prune(&["--keep", "2"])
            .expect(0)
            .stderr
            .contains("removed 1 run ")
    );
    assert_eq!(
        ids(&project),
        [shards[0].clone(), shards[1].clone(), latest.clone()]
    );
    let both = prune(&["--keep", "1"]).expect(0);
    assert!(both.stderr.contains("removed 2 runs "), "{}", both.stderr);
    assert_eq!(ids(&project), [latest]);
}

#[test]
fn runs_are_not_removed_beside_a_run_in_progress_or_a_broken_suite() {
    let project = project();
    let first = run(&project, &["--target", "good"]);
    run(&project, &["--target", "good"]);
    let day = project
        .result(".journal.jsonl")
        .parent()
        .unwrap()
        .to_owned();
    let results = std::fs::File::open(day.parent().unwrap()).unwrap();
    results.lock_shared().unwrap();
    let busy = call(&project, &["runs", "rm", &first]).expect(3);
    assert!(
        busy.stderr.contains("is in progress; wait"),
        "{}",
        busy.stderr
    );
    results.unlock().unwrap();
    project.write("suite.yaml", "eval_suite: [");
    let broken = call(&project, &["runs", "prune", "--keep", "1"]).expect(2);
    assert!(broken.stderr.contains("does not load"), "{}", broken.stderr);
    let stem = first.splitn(3, '-').nth(2).unwrap();
    assert!(day.join(format!("run-{stem}.journal.jsonl")).exists());
}
