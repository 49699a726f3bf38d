use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::spec::{BASELINE_VERSION, BaselineFile};

fn captured(id: &str, output: Value) -> BaselineFile {
    BaselineFile {
        format_version: BASELINE_VERSION,
        eval_id: id.to_owned(),
        baseline_version: None,
        captured_at: Some("2026-01-31T12:00:00Z".to_owned()),
        suite: None,
        target: None,
        commit: None,
        dirty: false,
        harness_version: None,
        environment: Default::default(),
        input_hash: None,
        replaces: None,
        output: Some(output),
        output_file: None,
    }
}

fn capture(store: &BaselineStore, id: &str, output: Value, inline: u64) {
    store
        .lock()
        .expect("a lock")
        .write_pending(&captured(id, output), inline)
        .expect("pending");
}

fn names(dir: &Path) -> String {
    let mut names: Vec<_> = dir
        .read_dir()
        .expect("a folder")
        .map(|e| e.expect("a file").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names.join(" ")
}

fn output(kept: Result<Option<KeptBaseline>, StoreError>) -> Option<Value> {
    kept.expect("whole").map(|kept| kept.output)
}

fn why<T>(result: Result<T, StoreError>) -> String {
    let Err(error) = result else {
        panic!("it should fail")
    };
    match error.hint() {
        Some(hint) => format!("{error} | {hint}"),
        None => error.to_string(),
    }
}

#[test]
fn a_baseline_is_captured_accepted_and_removed() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().join("deep/baselines"));
    assert_eq!(store.entries().expect("none").len(), 0);
    assert_eq!(output(store.pending("a/b")), None);
    assert!(!store.dir().exists(), "looking makes nothing");
    capture(&store, "a/b", json!({"x": 1}), 100);
    assert_eq!(names(store.dir()), "a%2Fb.pending.yaml");
    let pending = store.pending("a/b").expect("whole").expect("there");
    assert_eq!(pending.file.replaces.as_deref(), Some("none"));
    assert_eq!(
        output(store.accepted("a/b")),
        None,
        "what is pending does not count"
    );

    let done = store
        .lock()
        .expect("a lock")
        .accept("a/b", false)
        .expect("accepted");
    assert_eq!(
        (done.path.clone(), done.changed),
        (store.dir().join("a%2Fb.yaml"), true)
    );
    assert_eq!(names(store.dir()), "a%2Fb.yaml");
    insta::assert_snapshot!(std::fs::read_to_string(done.path).expect("a file"), @r#"
    format_version: 1
    eval_id: a/b
    captured_at: 2026-01-31T12:00:00Z
    output:
      x: 1
    "#);
    let accepted = store.accepted("a/b").expect("whole").expect("there");
    capture(&store, "a/b", json!({"x": 1}), 100);
    let pending = store.pending("a/b").expect("whole").expect("there");
    assert_eq!(
        pending.file.replaces,
        Some(accepted.fingerprint.to_string())
    );
    assert!(
        !store
            .lock()
            .expect("a lock")
            .accept("a/b", false)
            .expect("accepted")
            .changed
    );
    capture(&store, "a/b", json!({"x": 2}), 100);
    assert!(
        store
            .lock()
            .expect("a lock")
            .reject("a/b")
            .expect("rejected")
    );
    assert!(
        !store
            .lock()
            .expect("a lock")
            .reject("a/b")
            .expect("nothing to reject")
    );
    assert_eq!(output(store.accepted("a/b")), Some(json!({"x": 1})));
    assert_eq!(names(store.dir()), "a%2Fb.yaml");
    insta::assert_snapshot!(why(store.lock().expect("a lock").accept("a/b", true)), @"there is no pending baseline of `a/b` | `eval-harness baseline capture` makes one");
}

/// Between a look and a decision another capture may come in.
#[test]
fn only_what_was_shown_is_decided_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().to_owned());
    capture(&store, "e", json!(1), 100);
    let shown = store.pending("e").expect("fine").expect("there");
    capture(&store, "e", json!(2), 100);
    let lock = store.lock().expect("a lock");
    insta::assert_snapshot!(why(lock.accept_shown(&shown, true)), @"`e` was captured again meanwhile: what is pending now is not what was shown | look at it again; nothing was changed");
    assert!(matches!(
        lock.reject_shown(&shown),
        Err(StoreError::Replaced { .. })
    ));
    assert_eq!(output(store.pending("e")), Some(json!(2)));
    let shown = store.pending("e").expect("fine").expect("there");
    lock.accept_shown(&shown, false).expect("accepted");
    assert!(matches!(
        lock.accept_shown(&shown, false),
        Err(StoreError::NoPending { .. })
    ));
}

#[test]
fn a_large_output_lies_beside_and_goes_with_its_baseline() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().to_owned());
    let (large, larger) = (
        json!({"text": "x".repeat(300)}),
        json!({"text": "y".repeat(400)}),
    );
    capture(&store, "e", large.clone(), 300);
    assert_eq!(names(dir.path()), "e.pending.output.json e.pending.yaml");
    store
        .lock()
        .expect("a lock")
        .accept("e", false)
        .expect("accepted");
    assert_eq!(names(dir.path()), "e.output.json e.yaml");
    assert_eq!(output(store.accepted("e")), Some(large.clone()));
    capture(&store, "e", larger.clone(), 300);
    assert_eq!(
        output(store.accepted("e")),
        Some(large),
        "the accepted output stays until accepted"
    );
    assert_eq!(output(store.pending("e")), Some(larger.clone()));
    store
        .lock()
        .expect("a lock")
        .accept("e", false)
        .expect("accepted");
    assert_eq!(output(store.accepted("e")), Some(larger));
    capture(&store, "e", json!("small"), 300);
    store
        .lock()
        .expect("a lock")
        .accept("e", false)
        .expect("accepted");
    assert_eq!(
        names(dir.path()),
        "e.yaml",
        "an output that nobody names is gone"
    );
    capture(&store, "e", json!("z".repeat(500)), 300);
    capture(&store, "e", json!("s"), 300);
    assert_eq!(names(dir.path()), "e.pending.yaml e.yaml");
}

#[test]
fn what_nobody_could_read_is_not_kept() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().to_owned());
    capture(&store, "e", nested(127), 1 << 20);
    assert_eq!(output(store.pending("e")), Some(nested(127)));
    let refused = store
        .lock()
        .expect("a lock")
        .write_pending(&captured("e", nested(128)), 1 << 20);
    insta::assert_snapshot!(why(refused), @"the output of `e` cannot be kept: recursion limit exceeded at line 1 column 128");
    assert_eq!(
        output(store.pending("e")),
        Some(nested(127)),
        "nothing was overwritten"
    );
}

#[test]
fn what_was_accepted_in_the_meantime_is_not_overwritten() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().join("b"));
    capture(&store, "e", json!(1), 100);
    std::fs::write(
        dir.path().join("b/e.yaml"),
        "format_version: 1\neval_id: e\noutput: 7\n",
    )
    .expect("a file");
    let lock = store.lock().expect("a lock");
    insta::assert_snapshot!(why(lock.accept("e", false)), @"the pending baseline of `e` was captured against another accepted output than the one that is there now | capture again and look at the difference, or accept with --force");
    assert_eq!(output(store.accepted("e")), Some(json!(7)));
    std::fs::write(dir.path().join("b/e.yaml"), "<<<<<<< HEAD\n").expect("a file");
    assert!(
        why(lock.accept("e", false))
            .contains("a merge that is not finished left its marks here | edit the file")
    );
    lock.accept("e", true).expect("forced");
    assert_eq!(output(store.accepted("e")), Some(json!(1)));
    drop(lock);
    // Removed in the meantime, which may be a deletion on another branch.
    capture(&store, "e", json!(2), 100);
    std::fs::remove_file(dir.path().join("b/e.yaml")).expect("removed");
    let lock = store.lock().expect("a lock");
    assert!(matches!(
        lock.accept("e", false),
        Err(StoreError::AtOdds { .. })
    ));
    lock.accept("e", true).expect("forced");
    // A broken pending one is never accepted.
    std::fs::write(
        dir.path().join("b/e.pending.yaml"),
        "format_version: 1\neval_id: e\n",
    )
    .expect("a file");
    insta::assert_snapshot!(why(lock.accept("e", true)).replace(&dir.path().display().to_string(), "DIR"), @"the baseline of `e` cannot be read: b/e.pending.yaml:1:1: the baseline has no output to compare with | write `output: ...`, or capture it anew with `eval-harness baseline capture`");
    assert_eq!(output(store.accepted("e")), Some(json!(2)));
}

#[test]
fn every_state_that_a_killed_accept_leaves_is_finished_by_the_next() {
    let small = (json!("old"), json!("new"));
    let large = (json!("old".repeat(200)), json!("new".repeat(200)));
    let mixed = [
        small.clone(),
        large.clone(),
        (small.0.clone(), large.1.clone()),
        (large.0, small.1),
    ];
    for (old, new) in mixed {
        // The files before and after an accept, and every order in which they may have changed.
        let dir = tempfile::tempdir().expect("a folder");
        let store = BaselineStore::new(dir.path().join("b"));
        capture(&store, "e", old.clone(), 100);
        store
            .lock()
            .expect("a lock")
            .accept("e", false)
            .expect("accepted");
        capture(&store, "e", new.clone(), 100);
        let before = snapshot(store.dir());
        store
            .lock()
            .expect("a lock")
            .accept("e", false)
            .expect("accepted");
        let after = snapshot(store.dir());
        let order = [
            "e.output.json",
            "e.yaml",
            "e.output.json",
            "e.pending.yaml",
            "e.pending.output.json",
        ];
        // An output file that is written comes first; one that is dropped goes after the file that
        // named it.
        let written = after.contains_key("e.output.json");
        let steps: Vec<&str> = order
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != usize::from(written) * 2)
            .map(|(_, n)| *n)
            .collect();
        for done in 0..=steps.len() {
            let mut state = before.clone();
            for name in &steps[..done] {
                match after.get(*name) {
                    Some(bytes) => drop(state.insert((*name).to_owned(), bytes.clone())),
                    None => drop(state.remove(*name)),
                }
            }
            state.insert(".eval-harness-1-0.tmp".to_owned(), b"half".to_vec());
            std::fs::remove_dir_all(store.dir()).expect("removed");
            std::fs::create_dir(store.dir()).expect("a folder");
            for (name, bytes) in &state {
                std::fs::write(store.dir().join(name), bytes).expect("a file");
            }
            // Whoever reads sees the old output, the new one, or is told to accept again: never
            // anything else.
            match store.accepted("e") {
                Ok(Some(kept)) => assert!(kept.output == old || kept.output == new),
                Ok(None) => panic!("the accepted baseline is gone after {done} steps"),
                Err(StoreError::Broken { broken, .. }) => {
                    let hint = broken
                        .first()
                        .and_then(|p| p.hint.clone())
                        .unwrap_or_default();
                    assert!(
                        hint.starts_with(
                            "an accept that was cut off is finished by accepting again"
                        ),
                        "{hint}"
                    );
                }
                Err(error) => panic!("{error}"),
            }
            let lock = store.lock().expect("a lock");
            match lock.accept("e", false) {
                Ok(_) | Err(StoreError::NoPending { .. }) => {}
                Err(error) => panic!("after {done} steps: {error}"),
            }
            lock.reject("e").expect("leftovers");
            assert_eq!(snapshot(store.dir()), after, "after {done} steps");
        }
    }
}

fn snapshot(dir: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let entries = dir
        .read_dir()
        .expect("a folder")
        .map(|entry| entry.expect("a file"));
    entries
        .map(|entry| {
            (
                entry.file_name().into_string().expect("text"),
                std::fs::read(entry.path()).expect("a file"),
            )
        })
        .collect()
}

#[test]
fn one_writer_at_a_time_and_the_other_is_told_who() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().to_owned());
    let held = store.lock().expect("a lock");
    let told = why(store.lock_within(Duration::from_millis(50)));
    let me = format!(" (number {})", std::process::id());
    let told = told
        .replace(&me, "")
        .replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!(told, @"another process is writing in DIR | it still was after 10 s: wait for it, or end it");
    drop(held);
    assert!(store.lock_within(Duration::ZERO).is_ok());
}

#[test]
fn a_broken_file_is_an_entry_that_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().to_owned());
    capture(&store, "é", json!(1), 100);
    capture(&store, "b", json!(2), 100);
    store
        .lock()
        .expect("a lock")
        .accept("b", false)
        .expect("accepted");
    for (name, text) in [
        ("c%20d.yaml", "a: ["),
        ("x.yaml", "format_version: 1\neval_id: y\noutput: 1\n"),
        ("old.json", "{}"),
        (".hidden.yaml", "x"),
        ("README.md", "x"),
    ] {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    let side = |side: &Option<Result<KeptBaseline, BrokenFile>>| match side {
        None => "-".to_owned(),
        Some(Ok(kept)) => kept.output.to_string(),
        Some(Err(broken)) => broken
            .to_string()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    let entries = store.entries().expect("entries");
    let lines: Vec<String> = entries
        .iter()
        .map(|e| format!("{}: {} / {}", e.id, side(&e.accepted), side(&e.pending)))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    b: 2 / -
    c d: c%20d.yaml:1:4: this `[` is not closed / -
    x: x.yaml:2:10: this file is not read: the baseline of `y` lies in `y.yaml` / -
    é: - / 1
    "#);
}

#[test]
fn what_stands_in_the_way_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let told = |text: String| text.replace(&dir.path().display().to_string(), "DIR");
    std::fs::write(dir.path().join("file"), "").expect("a file");
    insta::assert_snapshot!(told(why(BaselineStore::new(dir.path().join("file")).lock())), @"cannot make the folder DIR/file: File exists (os error 17) | a file stands where the folder should be");
    insta::assert_snapshot!(told(why(BaselineStore::new(dir.path().join("file/below")).lock())), @"cannot make the folder DIR/file/below: Not a directory (os error 20) | a file stands where the folder should be");
    let store = BaselineStore::new(dir.path().join("b"));
    std::fs::create_dir_all(store.dir().join("e.pending.yaml")).expect("a folder");
    let lock = store.lock().expect("a lock");
    insta::assert_snapshot!(told(why(lock.write_pending(&captured("e", json!(1)), 100))), @"cannot write DIR/b/e.pending.yaml: Is a directory (os error 21)");
    insta::assert_snapshot!(told(why(lock.accept("e", true))), @"the baseline of `e` cannot be read: cannot read the baseline `b/e.pending.yaml`: it is a folder, not a file");
    assert_eq!(
        names(store.dir()),
        "e.pending.yaml",
        "no unfinished file stays"
    );
}

#[test]
fn a_file_beside_the_baselines_of_evals_is_replaced_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = BaselineStore::new(dir.path().to_owned());
    let lock = store.lock().expect("a lock");
    lock.put("scores/s.json", b"1").expect("written");
    lock.put("scores/s.json", b"2").expect("written");
    assert_eq!(
        std::fs::read(dir.path().join("scores/s.json")).expect("a file"),
        b"2"
    );
    assert_eq!(names(&dir.path().join("scores")), "s.json");
    assert_eq!(store.entries().expect("entries").len(), 0);
}
