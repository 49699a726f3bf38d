//! The text of diffs, and patches that are refused.

use super::*;

fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let node = |text: &str| Node::File {
        executable: false,
        bytes: text.as_bytes().to_vec(),
    };
    files
        .iter()
        .map(|(path, text)| (path.as_bytes().to_vec(), node(text)))
        .collect()
}

fn git_diff(before: &MemoryTree, after: &MemoryTree) -> String {
    let place = tempfile::tempdir().unwrap();
    let script = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]).current_dir(place.path());
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ] {
            shell.env(name, value);
        }
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (path, node) in before {
        write_node(place.path(), path, node);
    }
    script("git init -q . && git add -A && git write-tree > .git/before && git rm -qrf .");
    for (path, node) in after {
        write_node(place.path(), path, node);
    }
    script("git add -A && git diff --cached --full-index --find-renames=100% $(cat .git/before)")
}

#[test]
fn diff_has_the_form_of_git() {
    let lines = |range: std::ops::Range<u32>| {
        range
            .map(|number| format!("{number}\n"))
            .collect::<String>()
    };
    let long = lines(0..30);
    let place = Place::new(&[
        ("a b.txt", &long),
        ("empty", ""),
        ("gone", "1\n2"),
        ("mode*", "x\n"),
        ("old/name", "moved\n"),
        ("typed", "text\n"),
    ]);
    fs::write(
        place.work("a b.txt"),
        long.replace("\n10\n", "\nten\n").replace("\n25\n", "\n"),
    )
    .unwrap();
    fs::remove_file(place.work("gone")).unwrap();
    fs::set_permissions(place.work("mode"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir(place.work("new")).unwrap();
    fs::rename(place.work("old/name"), place.work("new/name")).unwrap();
    fs::remove_file(place.work("typed")).unwrap();
    symlink("empty", place.work("typed")).unwrap();
    fs::write(place.work("void"), "").unwrap();
    let expected = git_diff(
        &read_tree(&place.path("template")),
        &read_tree(&place.path("work")),
    );
    assert_eq!(place.diff(), expected);
    let changes = place.changes();
    assert_eq!(texts(&changes.added), ["new/name", "void"]);
    assert_eq!(texts(&changes.modified), ["a b.txt", "mode", "typed"]);
    assert_eq!(texts(&changes.deleted), ["gone", "old/name"]);
}

const FILE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

#[test]
fn hunks_apply_elsewhere_and_only_with_equal_context() {
    let shifted = format!("new\nnew\n{FILE}");
    let patch = |hunk: &str| format!("--- a/f\n+++ b/f\n{hunk}");
    let hunk = "@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n";
    let expected = shifted.replace("5\n", "five\n");
    let applied = own_apply(&tree(&[("f", &shifted)]), &patch(hunk));
    assert_eq!(applied, Ok(tree(&[("f", &expected)])));
    assert_eq!(applied, git_apply(&tree(&[("f", &shifted)]), &patch(hunk)));
    // The nearest of several places.
    let twice = "x\ny\nx\ny\nx\ny\nz\n";
    let hunk = "@@ -5,2 +5,3 @@\n x\n+new\n y\n";
    let applied = own_apply(&tree(&[("f", twice)]), &patch(hunk));
    assert_eq!(applied, Ok(tree(&[("f", "x\ny\nx\ny\nx\nnew\ny\nz\n")])));
    // The last line without its end.
    assert_eq!(
        own_apply(
            &tree(&[("f", "a\n")]),
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b"
        ),
        Ok(tree(&[("f", "b\n")]))
    );
    for (hunk, message) in [
        (
            "@@ -4,3 +4,3 @@\n 4\n-five\n+5\n 6\n",
            "`f`, hunk 1, line 3 of the patch: the lines before the change are not in the file",
        ),
        // The first line has to be first, and what ends a hunk last.
        (
            "@@ -1,2 +1,3 @@\n 4\n+new\n 5\n",
            "`f`, hunk 1, line 3 of the patch: the lines before the change are not in the file",
        ),
        (
            "@@ -4,2 +4,3 @@\n 4\n 5\n+new\n",
            "`f`, hunk 1, line 3 of the patch: the lines before the change are not in the file",
        ),
        // The second cannot use what the first wrote.
        (
            "@@ -4,3 +4,4 @@\n 4\n+4.5\n 5\n 6\n@@ -5,3 +6,3 @@\n 5\n-6\n+six\n 7\n",
            "`f`, hunk 2, line 8 of the patch: the lines before the change are not in the file",
        ),
    ] {
        let patch = patch(hunk);
        let applied = own_apply(&tree(&[("f", FILE)]), &patch);
        assert_eq!(applied, Err(message.to_owned()), "{patch}");
        assert!(git_apply(&tree(&[("f", FILE)]), &patch).is_err(), "{patch}");
    }
}

#[test]
fn what_leads_out_or_is_not_clear_is_refused() {
    let mut before = tree(&[("f", "a\n"), ("folder/g", "b\n")]);
    before.insert(b"link".to_vec(), Node::Link(b"folder".to_vec()));
    let create = |name: &str| {
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
        )
    };
    let cases = [
        (
            create("../out"),
            "line 1 of the patch: `../out` has an empty part, `.` or `..`",
        ),
        (
            create("/etc/out"),
            "line 1 of the patch: `/etc/out` is absolute; a path inside of a workspace is relative",
        ),
        (
            create(".git/hooks/pre-commit"),
            "line 1 of the patch: `.git/hooks/pre-commit` is inside of `.git`",
        ),
        (
            create("sub/.GIT/config"),
            "line 1 of the patch: `sub/.GIT/config` is inside of `.git`",
        ),
        (
            create("link/new"),
            "`link/new`, line 1 of the patch: `link` is a link",
        ),
        (
            create("f/new"),
            "`f/new`, line 1 of the patch: `f` is not a folder",
        ),
        (create("f"), "`f`, line 1 of the patch: exists already"),
        (
            "--- a/link/g\n+++ b/link/g\n@@ -1 +1 @@\n-b\n+c\n".to_owned(),
            "`link/g`, line 1 of the patch: `link` is a link",
        ),
        (
            "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-folder\n\\ No newline at end of file\n+x\n"
                .to_owned(),
            "`link`, line 1 of the patch: `link` is a link",
        ),
        (
            format!(
                "diff --git a/out b/out\nnew file mode 120000\n--- /dev/null\n+++ b/out\n@@ -0,0 +1 @@\n+/tmp\n\\ No newline at end of file\n{}",
                create("out/new")
            ),
            "`out/new`: `out` is not a folder",
        ),
        (
            "--- a/missing\n+++ b/missing\n@@ -1 +1 @@\n-b\n+c\n".to_owned(),
            "`missing`, line 1 of the patch: `missing` does not exist",
        ),
        (
            "diff --git a/f b/f\ndeleted file mode 100644\n".to_owned(),
            "`f`, line 1 of the patch: the patch deletes the file but does not remove all of its lines",
        ),
        (
            "diff --git a/m b/m\nnew file mode 160000\n".to_owned(),
            "line 2 of the patch: the mode `160000` is not the mode of a file or a link",
        ),
        (
            "diff --git a/f b/f\nBinary files a/f and b/f differ\n".to_owned(),
            "line 2 of the patch: a binary file without its content (`git diff --binary` includes it)",
        ),
        (
            "diff --git a/f b/f\nGIT binary patch\ndelta 5\nMcmZ\n".to_owned(),
            "line 3 of the patch: a binary delta, which is not supported; only whole contents (`literal`) are",
        ),
        (
            "diff --git a/f b/f\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n".to_owned(),
            "`f`, line 1 of the patch: a binary change requires full object ids in its `index` line",
        ),
        (
            "nothing of a patch\n".to_owned(),
            "line 1 of the patch: no file change in git's format",
        ),
        (
            format!("{}rubbish\n", create("new")),
            "line 7 of the patch: a line that is not part of a file's change",
        ),
        (
            "diff --git a/x b/y\nold mode 100644\nnew mode 100755\n".to_owned(),
            "line 1 of the patch: the file name is ambiguous",
        ),
        (
            "--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n".to_owned(),
            "hunk 1, line 4 of the patch: the hunk ends too early",
        ),
        (
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n-b\n".to_owned(),
            "hunk 1, line 5 of the patch: the number of lines in the hunk differs from its header",
        ),
        (
            "--- a/f\n+++ b/f\n@@ -1 +x @@\n-a\n".to_owned(),
            "hunk 1, line 3 of the patch: not the first line of a hunk",
        ),
    ];
    for (patch, message) in cases {
        // A good change before it: nothing of the patch is written.
        let both = format!("{}{patch}", create("good"));
        assert!(own_apply(&before, &both).is_err(), "{both}");
        assert_eq!(
            own_apply(&before, &patch),
            Err(message.to_owned()),
            "{patch}"
        );
    }
    assert_eq!(own_apply(&before, ""), Ok(before.clone()));
}

#[test]
fn file_that_leaves_makes_room_for_a_folder() {
    let before = tree(&[("c", "x\n"), ("d/e", "y\n")]);
    let patch = "diff --git a/c/a b/c/a\nnew file mode 100644\ndiff --git a/d b/d\nnew file mode 100644\n\
        diff --git a/d/e b/d/e\ndeleted file mode 100644\n--- a/d/e\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n\
        diff --git a/c b/f\nsimilarity index 100%\nrename from c\nrename to f\n";
    let after = tree(&[("c/a", ""), ("d", ""), ("f", "x\n")]);
    assert_eq!(own_apply(&before, patch), Ok(after.clone()));
    assert_eq!(git_apply(&before, patch), Ok(after));
}

#[test]
fn patches_of_other_programs_apply() {
    let before = tree(&[("f", "a\n\nb\n"), ("g", "1\n"), ("old name", "x\n")]);
    let patch = "From 0123 Mon Sep 17 00:00:00 2001\nSubject: a change\n\n---\n f | 2 +-\n\n\
        diff --git a/f b/f\nindex 1234567..89abcde 100644\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@ fn main\n-a\n+A\n\n b\n\
        diff --git a/g b/copy\nsimilarity index 100%\ncopy from g\ncopy to copy\n\
        diff --git a/old name b/new name\nsimilarity index 50%\nrename from old name\nrename to new name\n\
        --- a/old name\t\n+++ b/new name\t\n@@ -1 +1,2 @@\n x\n+y\n-- \n2.47.3\n\n";
    let after = tree(&[
        ("f", "A\n\nb\n"),
        ("g", "1\n"),
        ("copy", "1\n"),
        ("new name", "x\ny\n"),
    ]);
    assert_eq!(own_apply(&before, patch), Ok(after.clone()));
    assert_eq!(git_apply(&before, patch), Ok(after));
}

#[test]
fn patches_of_git_with_both_ways_apply() {
    let place = tempfile::tempdir().unwrap();
    let script = "git init -q . && printf '\\0one' > bin && printf 'one\\n' > text && git add -A &&
        git -c user.name=n -c user.email=e commit -qm m && printf '\\0another' > bin && printf 'two\\n' > text &&
        chmod +x text && git diff --binary --no-ext-diff";
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(place.path())
        .output()
        .unwrap();
    assert!(output.status.success());
    let patch = String::from_utf8(output.stdout).unwrap();
    let mut before = tree(&[("text", "one\n")]);
    let bytes = |bytes: &[u8]| Node::File {
        executable: false,
        bytes: bytes.to_vec(),
    };
    before.insert(b"bin".to_vec(), bytes(b"\0one"));
    let after = own_apply(&before, &patch).unwrap();
    assert_eq!(after, read_tree(place.path()));
    before.insert(b"bin".to_vec(), bytes(b"\0two"));
    let message =
        "`bin`, line 1 of the patch: the file differs from the one that the patch was made from";
    assert_eq!(own_apply(&before, &patch), Err(message.to_owned()));
}

proptest::proptest! {
    #[test]
    fn any_text_is_applied_or_refused(lines in proptest::collection::vec(proptest::sample::select(vec![
        "diff --git a/f b/f\n", "diff --git \"a/f", "--- a/f\n", "+++ b/f\n", "@@ -1 +1 @@\n", "@@ -1,9 +1 @@\n",
        "-a\n", "+é\n", " a\n", "\\ No newline\n", "\n", "GIT binary patch\n", "literal 9\n", "Acmé\n",
        "index 1..2 100644\n", "rename from f\n", "rename to \"g\\\n", "--- /dev/null\n", "-", "é",
    ]), 0..12)) {
        let _ = own_apply(&tree(&[("f", "a\n")]), &lines.concat());
    }
}
