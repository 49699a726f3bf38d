use std::fmt::Write as _;
use std::process::Command;

use super::*;

fn git(dir: &Path, args: &[&str]) -> String {
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
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn put(dir: &Path, path: &str, text: &str) {
    let file = dir.join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
    std::fs::write(file, text).expect("a file");
}

fn commit(dir: &Path, message: &str) {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "--allow-empty", "-m", message]);
}

/// A repository with one commit.
fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    git(dir.path(), &["init", "-q"]);
    put(dir.path(), "kept.txt", "a\nb\nc\n");
    put(dir.path(), "gone.txt", "x\ny\n");
    put(dir.path(), ".gitignore", "*.log\n");
    commit(dir.path(), "one");
    dir
}

fn changed(root: &Path, base: Option<&str>, leave_out: &[PathBuf]) -> Implementation {
    since(root, base.unwrap_or("HEAD"), leave_out).expect("an answer")
}

fn told(implementation: &Implementation) -> String {
    let Implementation {
        base,
        files_modified,
        lines_added,
        lines_removed,
        files,
        ..
    } = implementation;
    let mut told = format!("{base}: {files_modified} files +{lines_added} -{lines_removed}\n");
    for FileChange {
        path,
        added,
        removed,
    } in files
    {
        let number = |n: &Option<usize>| n.map_or("?".to_owned(), |n| n.to_string());
        let _ = writeln!(told, "  {path:?} +{} -{}", number(added), number(removed));
    }
    told
}

#[test]
fn what_is_not_committed_counts_whether_git_knows_it_or_not() {
    let repo = repository();
    let dir = repo.path();
    insta::assert_snapshot!(told(&changed(dir, None, &[])), @"HEAD: 0 files +0 -0");
    put(dir, "kept.txt", "a\nB\nc\nd\n");
    std::fs::remove_file(dir.join("gone.txt")).expect("removed");
    put(dir, "sub/new.txt", "1\n2\nno line break");
    put(dir, "empty.txt", "");
    put(dir, "noise.log", "ignored\n");
    put(dir, "staged.txt", "1\n");
    git(dir, &["add", "staged.txt"]);
    std::fs::write(dir.join("picture.bin"), b"\x89PNG\0\n\n").expect("a file");
    std::os::unix::fs::symlink("kept.txt", dir.join("link")).expect("a link");
    insta::assert_snapshot!(told(&changed(dir, None, &[])), @r#"
    HEAD: 7 files +7 -3
      "empty.txt" +0 -0
      "gone.txt" +0 -2
      "kept.txt" +2 -1
      "link" +1 -0
      "picture.bin" +? -?
      "staged.txt" +1 -0
      "sub/new.txt" +3 -0
    "#);
    // The same once all of it is committed.
    let before = git(dir, &["rev-parse", "HEAD"]);
    let uncommitted = changed(dir, None, &[]);
    commit(dir, "two");
    let committed = changed(dir, Some(&before), &[]);
    assert_eq!(
        (&uncommitted.files, &uncommitted.base_commit),
        (&committed.files, &committed.base_commit)
    );
}

#[test]
fn a_branch_is_measured_from_where_it_left_its_base() {
    let repo = repository();
    let dir = repo.path();
    git(dir, &["checkout", "-q", "-b", "feature"]);
    put(dir, "mine.txt", "1\n2\n");
    commit(dir, "mine");
    git(dir, &["checkout", "-q", "main"]);
    put(dir, "theirs.txt", "1\n");
    commit(dir, "theirs");
    git(dir, &["checkout", "-q", "feature"]);
    put(dir, "open.txt", "1\n");
    let since_main = changed(dir, Some("main"), &[]);
    insta::assert_snapshot!(told(&since_main), @r#"
    main: 2 files +3 -0
      "mine.txt" +2 -0
      "open.txt" +1 -0
    "#);
    assert_eq!(
        since_main.base_commit,
        git(dir, &["merge-base", "main", "HEAD"])
    );
    // Histories with nothing in common, and none at all yet.
    git(dir, &["checkout", "-q", "--orphan", "alone"]);
    assert_eq!(
        changed(dir, Some("main"), &[]).base_commit,
        git(dir, &["rev-parse", "main"])
    );
    commit(dir, "alone");
    assert_eq!(
        changed(dir, Some("main"), &[]).base_commit,
        git(dir, &["rev-parse", "main"])
    );
}

#[test]
fn renames_are_a_file_less_and_a_file_more() {
    let repo = repository();
    git(repo.path(), &["config", "diff.renames", "copies"]);
    git(repo.path(), &["mv", "gone.txt", "moved.txt"]);
    insta::assert_snapshot!(told(&changed(repo.path(), None, &[])), @r#"
    HEAD: 2 files +2 -2
      "gone.txt" +0 -2
      "moved.txt" +2 -0
    "#);
    // Taken out of the index only, it is still there.
    git(repo.path(), &["mv", "moved.txt", "gone.txt"]);
    git(repo.path(), &["rm", "-q", "--cached", "gone.txt"]);
    insta::assert_snapshot!(told(&changed(repo.path(), None, &[])), @r#"
    HEAD: 1 files +2 -2
      "gone.txt" +2 -2
    "#);
}

#[test]
fn settings_of_the_user_do_not_change_the_numbers() {
    let repo = repository();
    let dir = repo.path();
    for (name, value) in [
        ("core.autocrlf", "true"),
        ("core.quotePath", "true"),
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("diff.ignoreSubmodules", "all"),
        ("diff.relative", "false"),
        ("color.ui", "always"),
        ("core.pager", "false"),
        ("diff.autoRefreshIndex", "false"),
    ] {
        git(dir, &["config", name, value]);
    }
    put(dir, "kept.txt", "a\r\nb\r\nc\r\n");
    put(dir, "gone.txt", "x\r\ny\r\nz\r\n");
    // Written again with the same bytes.
    put(dir, ".gitignore", "*.log\n");
    insta::assert_snapshot!(told(&changed(dir, None, &[])), @r#"
    HEAD: 1 files +1 -0
      "gone.txt" +1 -0
    "#);
}

#[test]
fn the_algorithm_of_the_user_does_not_change_the_numbers() {
    let repo = repository();
    let lines = |mut state: u32| {
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ["a\n", "b\n", "{\n", "}\n", "\n"][(state >> 16) as usize % 5]
        };
        (0..400).map(|_| next()).collect::<String>()
    };
    put(repo.path(), "many.txt", &lines(1));
    commit(repo.path(), "many");
    put(repo.path(), "many.txt", &lines(2));
    let mut seen = std::collections::BTreeSet::new();
    for algorithm in ["myers", "patience", "histogram"] {
        git(repo.path(), &["config", "diff.algorithm", algorithm]);
        seen.insert(told(&changed(repo.path(), None, &[])));
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}

#[test]
fn paths_may_hold_anything() {
    let repo = repository();
    let dir = repo.path();
    for name in [
        "two\nlines",
        "\"quoted\"",
        "tab\tbed",
        "é",
        ":100644 x",
        "-",
        "1\t2\tthree",
        "*",
    ] {
        put(dir, name, "1\n");
    }
    std::fs::write(dir.join(OsStr::from_bytes(b"\xff\xfe")), "1\n").expect("a file");
    let open = changed(dir, None, &[]);
    let head = git(dir, &["rev-parse", "HEAD"]);
    commit(dir, "odd");
    let committed = changed(dir, Some(&head), &[]);
    assert_eq!(open.files, committed.files);
    assert_eq!((open.files_modified, open.lines_added), (9, 9));
    let paths: Vec<&str> = open.files.iter().map(|file| file.path.as_str()).collect();
    assert!(
        paths.contains(&"two\nlines")
            && paths.contains(&"1\t2\tthree")
            && paths.contains(&"\u{fffd}\u{fffd}")
    );
}

#[test]
fn what_this_program_writes_does_not_count() {
    let repo = repository();
    let dir = repo.path();
    put(dir, "results/2026-01-01/run.json", "{}\n");
    put(dir, "report.md", "1\n");
    put(dir, "report.mdx", "1\n");
    let leave_out = [
        dir.join("results"),
        dir.join("report.md"),
        dir.join("phases/not/there.md"),
        PathBuf::from("/elsewhere"),
    ];
    insta::assert_snapshot!(told(&changed(dir, None, &leave_out)), @r#"
    HEAD: 1 files +1 -0
      "report.mdx" +1 -0
    "#);
    // Also where it is kept in git, and by another name of the same folder.
    let other = tempfile::tempdir().expect("a folder");
    let alias = other.path().join("alias");
    std::os::unix::fs::symlink(dir, &alias).expect("a link");
    let head = git(dir, &["rev-parse", "HEAD"]);
    commit(dir, "reports");
    let leave_out = [
        alias.join("results"),
        alias.join("report.md"),
        alias.join("report.mdx"),
    ];
    assert_eq!(changed(dir, Some(&head), &leave_out).files_modified, 0);
}

#[test]
fn submodules_are_files_without_lines() {
    let (inner, outer) = (repository(), repository());
    let dir = outer.path();
    git(
        dir,
        &[
            "submodule",
            "--quiet",
            "add",
            &inner.path().display().to_string(),
            "inner",
        ],
    );
    commit(dir, "with a submodule");
    put(&dir.join("inner"), "new.txt", "1\n");
    assert_eq!(
        changed(dir, None, &[]).files_modified,
        0,
        "what is not committed within is its own matter"
    );
    commit(&dir.join("inner"), "more");
    insta::assert_snapshot!(told(&changed(dir, None, &[])), @r#"
    HEAD: 1 files +0 -0
      "inner" +? -?
    "#);
    // A repository that is no submodule, and a worktree, whose `.git` is a file.
    put(dir, "nested/x.txt", "1\n");
    git(&dir.join("nested"), &["init", "-q"]);
    commit(&dir.join("nested"), "x");
    assert_eq!(
        changed(dir, None, &[])
            .files
            .last()
            .map(|f| (f.path.as_str(), f.added)),
        Some(("nested/", None))
    );
    let other = tempfile::tempdir().expect("a folder");
    let tree = other.path().join("tree");
    git(
        inner.path(),
        &["worktree", "add", "-q", &tree.display().to_string()],
    );
    put(&tree, "new.txt", "1\n2\n");
    assert_eq!(changed(&tree, None, &[]).lines_added, 2);
}

#[test]
fn conflicts_count_once() {
    let repo = repository();
    let dir = repo.path();
    git(dir, &["checkout", "-q", "-b", "other"]);
    put(dir, "kept.txt", "other\n");
    commit(dir, "other");
    git(dir, &["checkout", "-q", "main"]);
    put(dir, "kept.txt", "main\n");
    commit(dir, "main");
    let merged = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["merge", "-q", "other"])
        .output()
        .expect("git");
    assert!(!merged.status.success());
    let changed = changed(dir, None, &[]);
    assert_eq!(
        changed
            .files
            .iter()
            .map(|f| f.path.as_str())
            .collect::<Vec<_>>(),
        ["kept.txt"]
    );
}

#[test]
fn a_base_that_is_not_there_says_why() {
    let dir = tempfile::tempdir().expect("a folder");
    let why = |root: &Path, base: &str| {
        let error = since(root, base, &[]).expect_err("no base");
        error
            .to_string()
            .replace(&dir.path().display().to_string(), "DIR")
    };
    insta::assert_snapshot!(why(dir.path(), "main"), @"cannot determine what changed since `main`: DIR is not in a git repository");
    let repo = repository();
    git(repo.path(), &["branch", "release"]);
    insta::assert_snapshot!(why(repo.path(), "relase"), @"cannot determine what changed since `relase`: `relase` is not a revision of this repository");
    insta::assert_snapshot!(why(repo.path(), "--output=x"), @"cannot determine what changed since `--output=x`: `--output=x` cannot name a revision: it begins with `-`, like an option");
}

#[test]
fn a_shallow_clone_that_lacks_the_common_commit_says_so() {
    let repo = repository();
    git(repo.path(), &["checkout", "-q", "-b", "feature"]);
    commit(repo.path(), "two");
    git(repo.path(), &["checkout", "-q", "main"]);
    commit(repo.path(), "three");
    let clones = tempfile::tempdir().expect("a folder");
    let url = format!("file://{}", repo.path().display());
    git(
        clones.path(),
        &[
            "clone",
            "-q",
            "--depth",
            "1",
            "--no-single-branch",
            &url,
            "clone",
        ],
    );
    let error = since(&clones.path().join("clone"), "origin/feature", &[]).expect_err("shallow");
    insta::assert_snapshot!(error, @"cannot determine what changed since `origin/feature`: it has no commit in common with HEAD in this shallow clone");
}

#[test]
fn many_files_are_counted_and_few_are_listed() {
    let repo = repository();
    for n in 0..450 {
        put(repo.path(), &format!("many/{n:03}.txt"), "1\n2\n");
    }
    let changed = changed(repo.path(), None, &[]);
    assert_eq!((changed.files_modified, changed.lines_added), (450, 900));
    assert_eq!((changed.files.len(), changed.omitted_files), (200, 250));
    assert_eq!(changed.files[199].path, "many/199.txt");
}

#[test]
fn long_files_have_no_lines() {
    let repo = repository();
    let long = std::fs::File::create(repo.path().join("long.txt")).expect("a file");
    long.set_len(LONGEST + 1).expect("a length");
    assert_eq!(
        lines_of(&repo.path().join("long.txt"), &mut MAX_READ.clone()),
        None
    );
    let mut left = 5;
    assert_eq!(
        lines_of(&repo.path().join("kept.txt"), &mut left),
        None,
        "there is no room left"
    );
    assert_eq!(lines_of(&repo.path().join("gone.txt"), &mut left), Some(2));
    assert_eq!(left, 1);
}
