use std::process::Command;
use std::time::Duration;

use super::call::bounded;
use super::*;

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(args)
        .output()
        .expect("git");
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    git(dir.path(), &["init", "-q"]);
    std::fs::create_dir_all(dir.path().join("sub/baselines/scores")).expect("folders");
    for (path, text) in [
        ("sub/baselines/a.yaml", "a: 1\n"),
        ("sub/baselines/é b.yaml", ""),
        ("sub/baselines/scores/s.json", "{}"),
    ] {
        std::fs::write(dir.path().join(path), text).expect("a file");
    }
    git(dir.path(), &["add", "-A"]);
    git(dir.path(), &["commit", "-q", "-m", "one"]);
    dir
}

fn told(error: GitError) -> String {
    match error.hint() {
        Some(hint) => format!("{error} | {hint}"),
        None => error.to_string(),
    }
}

#[test]
fn files_are_read_as_they_were() {
    let repo = repository();
    let baselines = repo.path().join("sub/baselines");
    let first = commit_of(repo.path(), "HEAD").expect("a commit");
    assert_eq!(first.len(), 40);
    std::os::unix::fs::symlink("a.yaml", baselines.join("link.yaml")).expect("a link");
    std::fs::write(baselines.join("a.yaml"), "a: 2\n").expect("a file");
    git(repo.path(), &["add", "-A"]);
    git(repo.path(), &["commit", "-q", "-m", "two"]);
    std::fs::remove_dir_all(repo.path().join("sub")).expect("removed");

    let names = |commit: &str| {
        folder(&baselines, commit)
            .expect("files")
            .into_keys()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&first),
        ["a.yaml", "é b.yaml"],
        "folders below and later files are left out"
    );
    assert_eq!(names("HEAD"), ["a.yaml", "link.yaml", "é b.yaml"]);
    assert_eq!(
        folder(&baselines, &first).expect("files")["a.yaml"],
        CommittedFile::File(b"a: 1\n".to_vec())
    );
    assert_eq!(
        folder(&baselines, &first).expect("files")["é b.yaml"],
        CommittedFile::File(Vec::new())
    );
    assert_eq!(
        folder(&baselines, "HEAD").expect("files")["link.yaml"],
        CommittedFile::Link
    );
    assert_eq!(
        folder(&repo.path().join("nowhere"), &first)
            .expect("none")
            .len(),
        0
    );
    assert_eq!(
        file(&baselines.join("a.yaml"), "HEAD"),
        Ok(Some(b"a: 2\n".to_vec()))
    );
    assert_eq!(
        file(&baselines.join("scores/s.json"), &first),
        Ok(Some(b"{}".to_vec()))
    );
    assert_eq!(file(&baselines.join("b.yaml"), "HEAD"), Ok(None));
    assert_eq!(file(&baselines, "HEAD"), Ok(None), "a folder is no file");
    assert_eq!(checkout(repo.path()).map(|c| c.dirty), Ok(true));
}

#[test]
fn a_revision_that_is_not_there_is_told_with_what_may_bring_it() {
    let repo = repository();
    git(repo.path(), &["branch", "release"]);
    git(
        repo.path(),
        &["update-ref", "refs/remotes/origin/feature", "HEAD"],
    );
    let why = |rev: &str| told(commit_of(repo.path(), rev).expect_err("no such revision"));
    insta::assert_snapshot!(why("v9.9"), @"`v9.9` is no revision of this repository | `git fetch` may bring it");
    insta::assert_snapshot!(why("feature"), @"`feature` is no revision of this repository | did you mean `origin/feature`?");
    insta::assert_snapshot!(why("relase"), @"`relase` is no revision of this repository | did you mean `release`?");
    insta::assert_snapshot!(why("--help"), @"`--help` cannot name a revision: it begins with `-`, as an option does");
    insta::assert_snapshot!(why(" "), @"` ` cannot name a revision: it is empty");
    insta::assert_snapshot!(why("HEAD:sub"), @"`HEAD:sub` is no revision of this repository | `git fetch` may bring it");
    git(repo.path(), &["tag", "release"]);
    insta::assert_snapshot!(why("release"), @"the revision `release` is ambiguous: refname 'release' is ambiguous | write more of it, such as refs/heads/release or refs/tags/release, or more digits");
    assert!(commit_of(repo.path(), "refs/tags/release").is_ok());
}

#[test]
fn a_shallow_clone_says_so() {
    let repo = repository();
    git(repo.path(), &["commit", "-q", "--allow-empty", "-m", "two"]);
    let first = commit_of(repo.path(), "HEAD~1").expect("a commit");
    let clones = tempfile::tempdir().expect("a folder");
    let url = format!("file://{}", repo.path().display());
    git(
        clones.path(),
        &["clone", "-q", "--depth", "1", &url, "clone"],
    );
    let clone = clones.path().join("clone");
    for rev in ["HEAD~1", &first] {
        let why = told(commit_of(&clone, rev).expect_err("not there")).replace(&first, "FIRST");
        assert!(
            why.contains("this is a shallow clone") && why.contains("git fetch --unshallow"),
            "{why}"
        );
    }
    git(&clone, &["fetch", "-q", "--unshallow"]);
    assert_eq!(commit_of(&clone, "HEAD~1"), Ok(first));
}

#[test]
fn no_repository_and_no_commit_are_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = dir.path().display().to_string();
    let why =
        told(commit_of(dir.path(), "HEAD").expect_err("no repository")).replace(&place, "DIR");
    insta::assert_snapshot!(why, @"DIR is in no git repository | only files of a git repository can be read at a revision");
    assert!(!holds(&dir.path().join("x")));
    git(dir.path(), &["init", "-q"]);
    assert!(holds(&dir.path().join("x/y")));
    assert!(checkout(dir.path()).is_err());
    let why = told(commit_of(dir.path(), "HEAD").expect_err("no commit"));
    insta::assert_snapshot!(why, @"`HEAD` is no revision of this repository | `git fetch` may bring it");
}

#[test]
fn worktrees_and_submodules_are_repositories() {
    let repo = repository();
    let other = tempfile::tempdir().expect("a folder");
    let tree = other.path().join("tree");
    git(
        repo.path(),
        &["worktree", "add", "-q", &tree.display().to_string()],
    );
    assert_eq!(
        folder(&tree.join("sub/baselines"), "HEAD")
            .expect("files")
            .len(),
        2
    );
    let outer = repository();
    git(
        outer.path(),
        &[
            "submodule",
            "--quiet",
            "add",
            &repo.path().display().to_string(),
            "inner",
        ],
    );
    git(outer.path(), &["commit", "-q", "-m", "two"]);
    let inner = outer.path().join("inner");
    assert_eq!(commit_of(&inner, "HEAD"), commit_of(repo.path(), "HEAD"));
    assert_eq!(
        folder(&inner.join("sub/baselines"), "HEAD")
            .expect("files")
            .len(),
        2
    );
}

#[test]
fn a_git_that_hangs_says_too_much_or_is_missing_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let script = dir.path().join("git");
    let stand_in = |text: &str, most: u64| {
        std::fs::write(&script, format!("#!/bin/sh\n{text}\n")).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, mode).expect("executable");
        let program = script.display().to_string();
        let longest = Duration::from_secs(if text.contains("sleep") { 1 } else { 30 });
        bounded(
            &program,
            dir.path(),
            &["status", "--porcelain"],
            None,
            most,
            longest,
        )
        .expect_err("no answer")
    };
    insta::assert_snapshot!(told(stand_in("exec sleep 600", 9)), @"`git status --porcelain` did not end within 1 s | is its disk or its network reachable?");
    insta::assert_snapshot!(told(stand_in("echo 0123456789", 9)), @"`git status --porcelain` answered with more than 0 MiB");
    insta::assert_snapshot!(told(stand_in("echo \"fatal: detected dubious ownership in repository at '/x'\" >&2; exit 128", 9)).replace(&dir.path().display().to_string(), "DIR"), @"git does not trust the repository of DIR, which belongs to another user | git says: fatal: detected dubious ownership in repository at '/x'");
    std::fs::remove_file(&script).expect("removed");
    let program = script.display().to_string();
    let gone = bounded(
        &program,
        dir.path(),
        &["status"],
        None,
        9,
        Duration::from_secs(1),
    )
    .expect_err("none");
    insta::assert_snapshot!(told(gone), @"git is not installed, or not on the PATH | install git");
}
