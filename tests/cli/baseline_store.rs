//! The folder of baselines under kills, crowds, full disks and git: what was accepted stays whole,
//! and what is wrong is told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Call, Project};
use eval_harness::internals::{BASELINE_VERSION, BaselineFile, BaselineStore, StoreError};
use serde_json::{Value, json};

/// Names the folder for a process that is started to write in it. The test that starts it is also
/// what it runs.
const WORKER: &str = "EVAL_HARNESS_TEST_STORE";

fn captured(id: &str, output: Value) -> BaselineFile {
    let file = json!({"format_version": BASELINE_VERSION, "eval_id": id});
    let mut file: BaselineFile = serde_json::from_value(file).expect("a header");
    file.output = Some(output);
    file
}

/// An output of the kind that lies beside when `n` is odd.
fn output(id: &str, n: u64) -> Value {
    json!({"id": id, "n": n, "text": "line\n".repeat(if n.is_multiple_of(2) { 2 } else { 200 })})
}

fn capture_and_accept(store: &BaselineStore, id: &str, n: u64) -> Result<(), StoreError> {
    let lock = store.lock()?;
    lock.write_pending(&captured(id, output(id, n)), 200)?;
    lock.accept(id, false).map(drop)
}

/// This test binary again, running the one test as a worker.
fn worker(test: &str, dir: &Path, label: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            &crate::support::full_name(module_path!(), test),
            "--nocapture",
            "--test-threads",
            "1",
        ])
        .env(WORKER, format!("{label}={}", dir.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a worker")
}

fn as_worker() -> Option<(String, BaselineStore)> {
    let said = std::env::var(WORKER).ok()?;
    let (label, dir) = said.split_once('=').expect("a label");
    Some((label.to_owned(), BaselineStore::new(PathBuf::from(dir))))
}

/// What stands there and is none of the files of these evals.
fn leftovers(store: &BaselineStore, ids: &[&str]) -> Vec<String> {
    let names = store
        .dir()
        .read_dir()
        .expect("a folder")
        .map(|e| e.expect("a file").file_name());
    let names: Vec<String> = names
        .map(|name| name.into_string().expect("text"))
        .collect();
    let known = |name: &String| ids.iter().any(|id| name.starts_with(&format!("{id}.")));
    names.into_iter().filter(|name| !known(name)).collect()
}

#[test]
fn what_is_accepted_survives_writers_that_are_killed() {
    if let Some((_, store)) = as_worker() {
        for n in 2.. {
            capture_and_accept(&store, "e", n).expect("accepted");
        }
    }
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().join("baselines"));
    capture_and_accept(&store, "e", 1).expect("accepted");
    let mut last = 1;
    for round in 0..25_u64 {
        let mut child = worker(
            "what_is_accepted_survives_writers_that_are_killed",
            store.dir(),
            "forever",
        );
        // Long enough that it has begun; then some instant of its work.
        crate::support::eventually("the worker writes", || number(&store) != Some(last));
        std::thread::sleep(Duration::from_micros(137 * round));
        child.kill().expect("killed");
        child.wait().expect("gone");
        let finished = match store.accepted("e") {
            Ok(kept) => {
                let kept = kept.expect("it was accepted once and nobody removed it");
                let n = kept.output["n"].as_u64().expect("a number");
                assert_eq!(
                    kept.output,
                    output("e", n),
                    "an output that was written in one piece"
                );
                None
            }
            // The one state that is not whole says how it is made so.
            Err(error) => Some(error),
        };
        let lock = store.lock().expect("the lock went with its holder");
        let pending = store.pending("e");
        if let Some(error) = finished {
            let hint = error.hint().unwrap_or_default();
            assert!(
                hint.starts_with("if an accept was interrupted"),
                "{error}: {hint}"
            );
            assert!(matches!(pending, Ok(Some(_))), "what finishes it is there");
        }
        if let Ok(Some(_)) = pending {
            lock.accept("e", false).expect("finished");
        }
        lock.reject("e").expect("leftovers");
        drop(lock);
        let kept = store.accepted("e").expect("whole").expect("there");
        last = kept.output["n"].as_u64().expect("a number");
        assert_eq!(kept.output, output("e", last));
        assert_eq!(leftovers(&store, &["e"]), Vec::<String>::new());
        // The worker starts at 2 again, so that the next round waits for another number.
        capture_and_accept(&store, "e", 1).expect("accepted");
        last = 1;
    }
    assert_eq!(number(&store), Some(last));
}

fn number(store: &BaselineStore) -> Option<u64> {
    store.accepted("e").ok()??.output["n"].as_u64()
}

#[test]
fn concurrent_writers_wait_for_each_other() {
    const EACH: u64 = 12;
    if let Some((label, store)) = as_worker() {
        for n in 0..EACH {
            capture_and_accept(&store, "shared", n).expect("accepted");
            capture_and_accept(&store, &label, n).expect("accepted");
        }
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().join("baselines"));
    let labels = ["one", "two", "three"];
    let children: Vec<Child> = labels
        .iter()
        .map(|label| worker("concurrent_writers_wait_for_each_other", store.dir(), label))
        .collect();
    let mut seen = BTreeSet::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..EACH {
                    capture_and_accept(&store.clone(), "shared", n).expect("accepted");
                }
            });
        }
        for mut child in children {
            // Readers take no lock, and never see half of a file that stands alone.
            while child.try_wait().expect("a child").is_none() {
                if let Ok(Some(kept)) = store.accepted("shared") {
                    let n = kept.output["n"].as_u64().expect("a number");
                    assert_eq!(kept.output, output("shared", n));
                    seen.insert(n);
                }
            }
            assert!(child.wait().expect("a child").success());
        }
    });
    assert!(!seen.is_empty());
    let entries = store.entries().expect("entries");
    let ids: Vec<_> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["one", "shared", "three", "two"]);
    for entry in &entries {
        assert!(
            entry.pending.is_none() && matches!(entry.accepted, Some(Ok(_))),
            "{entry:?}"
        );
    }
    for label in labels {
        let kept = store.accepted(label).expect("whole").expect("there");
        assert_eq!(kept.output, output(label, EACH - 1));
    }
    assert_eq!(
        leftovers(&store, &["one", "two", "three", "shared"]),
        Vec::<String>::new()
    );
}

/// Runs a shell script in a new user namespace, with a small file system at `dir`; `$WORK` runs
/// this test as a worker.
fn on_small_disk(test: &str, dir: &Path, script: &str) -> Call {
    let program = std::env::current_exe().expect("this program");
    let test = crate::support::full_name(module_path!(), test);
    let script = format!("mount -t tmpfs -o size=64k tmpfs . && {script}");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .current_dir(dir)
        .env(
            "WORK",
            format!(
                "{} --exact {test} --nocapture --test-threads 1",
                program.display()
            ),
        )
        .env(WORKER, format!("worker={}", dir.display()))
        .output()
        .expect("unshare");
    Call::of(output)
}

#[test]
fn a_full_or_read_only_disk_changes_nothing_that_was_accepted() {
    if let Some((_, store)) = as_worker() {
        let told = |error: StoreError| format!("{error} | {}", error.hint().unwrap_or_default());
        if number(&store).is_none() {
            capture_and_accept(&store, "e", 1).expect("accepted");
            let large = json!({"n": 2, "text": "x".repeat(200_000)});
            let lock = store.lock().expect("a lock");
            println!(
                "\nTOLD {}",
                told(
                    lock.write_pending(&captured("e", large), 1 << 20)
                        .expect_err("no room")
                )
            );
            // A little room for the pending file, none for accepting it.
            lock.write_pending(&captured("e", output("e", 3)), 100)
                .expect("pending");
            let full = vec![0_u8; 48 << 10];
            let mut at = 0;
            while std::fs::write(store.dir().join(format!("fill{at}")), &full[..4 << 10]).is_ok() {
                at += 1;
            }
            println!(
                "\nTOLD {}",
                told(lock.accept("e", false).expect_err("no room"))
            );
            assert_eq!(
                leftovers(&store, &["e"]).len(),
                at + 1,
                "no unfinished file stays"
            );
        } else {
            let lock = store.lock().expect("a lock");
            println!(
                "\nTOLD {}",
                told(
                    lock.write_pending(&captured("e", json!(1)), 100)
                        .expect_err("read-only")
                )
            );
            println!(
                "\nTOLD {}",
                told(lock.accept("e", false).expect_err("read-only"))
            );
            println!("\nTOLD {}", told(lock.reject("e").expect_err("read-only")));
        }
        println!(
            "\nTOLD {} {:?}",
            number(&store).expect("accepted"),
            store
                .pending("e")
                .expect("whole")
                .map(|k| k.output["n"].clone())
        );
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let test = "a_full_or_read_only_disk_changes_nothing_that_was_accepted";
    let call = on_small_disk(test, dir.path(), "$WORK && mount -o remount,ro . && $WORK");
    assert_eq!(call.code, Some(0), "{}{}", call.stdout, call.stderr);
    let told: Vec<&str> = call
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("TOLD "))
        .collect();
    let told = told
        .join("\n")
        .replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!(told, @r#"
    cannot write DIR/e.pending.yaml: No space left on device (os error 28) | the disk is full; nothing that was accepted has changed
    cannot write DIR/e.output.json: No space left on device (os error 28) | the disk is full; nothing that was accepted has changed
    1 Some(Number(3))
    cannot write DIR/e.pending.yaml: Read-only file system (os error 30) | check that you may write to the folder
    cannot write DIR/e.output.json: Read-only file system (os error 30) | check that you may write to the folder
    cannot remove DIR/e.pending.yaml: Read-only file system (os error 30) | check that you may write to the folder
    1 Some(Number(3))
    "#);
}

const SUITE: &str = "\
eval_suite:
  name: Kept
  target: {type: recorded, path: outputs.jsonl}
  baselines: {path: kept}
  evals:
    - id: e
      current: {input: {x: 1}}
      baseline: {output: {a: inline}}
      comparison: {type: exact}
    - id: f
      current: {input: {x: 1}}
      comparison: {type: structural}
";

fn kept(id: &str, value: &str) -> String {
    format!("format_version: 1\neval_id: {id}\noutput:\n  a: {value}\n")
}

fn project() -> Project {
    let project = Project::with(&[
        ("suite.yaml", SUITE),
        (
            "outputs.jsonl",
            "{\"case\": \"e\", \"output\": {\"a\": \"stored\"}}\n{\"case\": \"f\", \"output\": {\"a\": 1}}\n",
        ),
    ]);
    std::fs::remove_dir(project.path().join(".git")).expect("the mark of a root");
    git(&project, &["init", "-q", "-b", "main"]);
    project
}

fn git(project: &Project, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(project.path())
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(args)
        .output()
        .expect("git");
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn commit(project: &Project, what: &str) -> String {
    git(project, &["add", "-A"]);
    git(project, &["commit", "-q", "-m", what]);
    git(project, &["rev-parse", "HEAD"])
}

/// A message as one line: a terminal breaks lines where it likes.
fn flat(text: &str) -> String {
    text.split_whitespace()
        .filter(|word| *word != "│")
        .collect::<Vec<_>>()
        .join(" ")
}

const RUN: [&str; 5] = ["run", "--suite", "suite.yaml", "--progress", "none"];

fn outcomes(project: &Project) -> Vec<String> {
    let report = project.report();
    let evals = report["evals"].as_array().expect("evals");
    evals
        .iter()
        .map(|eval| {
            format!(
                "{} {}",
                eval["id"].as_str().unwrap(),
                eval["outcome"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn the_store_counts_before_what_is_written_inline() {
    let project = project();
    project.call(&RUN).expect(1);
    assert_eq!(outcomes(&project), ["e failed", "f errored"]);
    project.write("kept/e.yaml", &kept("e", "stored"));
    project.write("kept/f.yaml", &kept("f", "\"{{any_number}}\""));
    project.write("kept/f.pending.yaml", "half a file: [");
    project.call(&RUN).expect(0);
    assert_eq!(outcomes(&project), ["e passed", "f passed"]);
}

#[test]
fn baselines_of_a_revision_are_compared_with() {
    let project = project();
    project.write(".gitignore", "results/\n");
    project.write("kept/e.yaml", &kept("e", "old"));
    project.write("kept/f.yaml", &kept("f", "2"));
    let first = commit(&project, "one");
    project.write("kept/e.yaml", &kept("e", "stored"));
    std::fs::remove_file(project.path().join("kept/f.yaml")).expect("removed");
    commit(&project, "two");
    project.write("kept/f.yaml", &kept("f", "1"));
    let against = |rev: &str, code: i32| {
        let mut args = RUN.to_vec();
        args.extend(["--against", rev]);
        project.call(&args).expect(code)
    };
    project.call(&RUN).expect(0);
    let call = against(&first, 1);
    assert_eq!(outcomes(&project), ["e failed", "f failed"]);
    let short = &first[..12];
    let notice = format!("Compared with the baselines of {short}, not with those on disk");
    assert!(flat(&call.stdout).contains(&notice), "{}", call.stdout);
    assert_eq!(
        project.report()["metadata"]["against"],
        json!({"rev": first, "commit": first})
    );
    // What was not there then: inline, else none.
    let call = against("HEAD", 3);
    assert_eq!(outcomes(&project), ["e passed", "f errored"]);
    assert!(
        flat(&call.stdout).contains("Compared with the baselines of HEAD ("),
        "{}",
        call.stdout
    );
    let markdown = project
        .call(&["report", "--format", "markdown"])
        .expect(3)
        .stdout;
    assert!(
        markdown.contains("Compared with the baselines of HEAD ("),
        "{markdown}"
    );

    let call = against("v9", 2);
    assert!(
        flat(&call.stderr).contains(
            "cannot read the baselines of `v9`: `v9` is not a revision of this repository"
        ),
        "{}",
        call.stderr
    );
    let call = project
        .call(&["run", "--suite", "suite.yaml", "--against=--all"])
        .expect(2);
    assert!(
        flat(&call.stderr).contains("it begins with `-`"),
        "{}",
        call.stderr
    );
}

#[test]
fn a_run_goes_on_only_against_the_same_baselines() {
    let project = project();
    project.write(".gitignore", "results/\n");
    project.write("kept/e.yaml", &kept("e", "stored"));
    let first = commit(&project, "one");
    let mut args = RUN.to_vec();
    args.extend(["--against", "main"]);
    project.call(&args).expect(3);
    // Nothing changed: the errored sample is asked again, still against `main`.
    let resume = ["run", "--resume", "latest", "--progress", "none"];
    let call = project.call(&resume).expect(3);
    assert!(
        flat(&call.stdout).contains("Compared with the baselines of main ("),
        "{}",
        call.stdout
    );
    project.write("kept/f.yaml", &kept("f", "1"));
    let second = commit(&project, "two");
    let call = project.call(&resume).expect(2);
    let told = call
        .stderr
        .replace(&first[..12], "FIRST")
        .replace(&second[..12], "SECOND");
    assert!(
        told.contains(
            "the baselines were those of main (FIRST), but are those of main (SECOND) now"
        ),
        "{told}"
    );
}

#[test]
fn files_of_the_folder_are_checked() {
    let project = project();
    project.write("kept/e.yaml", &kept("e", "[stored"));
    project.write("kept/f.json", "{}");
    project.write("kept/f.yml", &kept("f", "1"));
    project.write("kept/f.output.json", "{}");
    let told = |call: Call| {
        let lines = call.stdout.lines().chain(call.stderr.lines());
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.join("\n")
    };
    let call = told(
        project
            .call(&["validate", "--suite", "suite.yaml"])
            .expect(2),
    );
    for words in [
        "this `[` is not closed",
        "kept/e.yaml:4:6",
        "`kept/f.json` is not read: baselines are `.yaml` files",
        "`kept/f.yml` is not read",
        "rename it to `f.yaml`, or remove it",
    ] {
        assert!(call.contains(words), "{words}: {call}");
    }
    assert!(!call.contains("f.output.json` is not read"), "{call}");
    project.write(
        "kept/e.yaml",
        &kept("other", "1").replace("format_version: 1", "format_version: 7"),
    );
    let call = told(project.call(&["validate", "kept/e.yaml"]).expect(2));
    assert!(
        call.contains("written by a newer eval-harness") && call.contains("kept/e.yaml:1:17"),
        "{call}"
    );
    project.write("kept/e.yaml", &kept("other", "1"));
    let call = told(project.call(&["validate", "kept"]).expect(2));
    assert!(
        call.contains("this file is not read: the baseline of `other` must be named `other.yaml`"),
        "{call}"
    );
}

#[test]
fn the_settings_of_baselines_are_judged_where_they_stand() {
    let project = project();
    let settings = "{path: kept, redact: [{pattern: \"(\"}, {pattern: \"x*\"}, {pattern: a, placeholder: \"{{any_uid}}\"}, {pattern: b, placeholder: now}], keep_headers: [\"a b\", etag]}";
    project.write("suite.yaml", &SUITE.replace("{path: kept}", settings));
    let call = project
        .call(&["validate", "--suite", "suite.yaml", "--format", "json"])
        .expect(2);
    let report: Value = serde_json::from_str(&call.stdout).expect("JSON");
    let problems = report["problems"].as_array().expect("problems");
    let lines: Vec<String> = problems
        .iter()
        .filter(|problem| problem["severity"] == "error")
        .map(|p| {
            format!(
                "{}:{} {} {}",
                p["range"]["line"],
                p["range"]["column"],
                p["slug"].as_str().unwrap_or("?"),
                p["message"].as_str().unwrap_or("?")
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    4:46 bad-regex unclosed group
    4:62 suspicious-value this pattern also matches the empty text, so it would match everywhere
    4:95 bad-matcher unknown matcher any_uid; did you mean any_uuid?
    4:137 bad-matcher `now` is not a matcher such as `{{any_uuid}}`
    4:159 bad-format `a b` is not a valid HTTP header name
    "#);
}

#[test]
fn a_baseline_of_another_target_is_told() {
    let project = project();
    project.write(
        "kept/e.yaml",
        &format!(
            "{}target:\n  name: staging\n  type: http\n",
            kept("e", "stored")
        ),
    );
    project.write(
        "kept/f.yaml",
        &format!("{}target:\n  type: recorded\n", kept("f", "1")),
    );
    let call = project.call(&RUN).expect(0);
    assert!(
        flat(&call.stderr).contains(
            "the baseline was captured from the target `staging` (http), not from a target of type `recorded`"
        ),
        "{}",
        call.stderr
    );
    assert_eq!(
        flat(&call.stderr).matches("captured from").count(),
        1,
        "{}",
        call.stderr
    );
    let mut args = RUN.to_vec();
    args.extend(["--outputs", "outputs.jsonl"]);
    let call = project.call(&args).expect(0);
    assert!(
        !flat(&call.stderr).contains("captured from"),
        "recordings stand for whatever gave them: {}",
        call.stderr
    );
}

/// An edit of the baseline in the suite would otherwise have no effect, without a word.
#[test]
fn a_written_baseline_that_is_not_used_is_a_warning() {
    let project = project();
    project.write("kept/e.yaml", &kept("e", "stored"));
    let call = project
        .call(&["validate", "--suite", "suite.yaml"])
        .expect(0);
    let warning = call.stderr + &call.stdout;
    assert!(
        warning.contains("this baseline is not used: `kept/e.yaml` overrides it")
            && warning.contains("suite.yaml:8:26"),
        "{warning}"
    );
    project.write("kept/e.yaml", &kept("e", "inline"));
    let call = project
        .call(&["validate", "--suite", "suite.yaml"])
        .expect(0);
    assert!(!(call.stderr + &call.stdout).contains("not used"));
}
