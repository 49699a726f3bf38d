use std::path::Path;

use super::*;
use crate::load::Severity;
use crate::load::render::{HumanOptions, human};

const WHOLE: &str = "format_version: 1\neval_id: e\noutput: {a: 1}\n";

/// What reading the accepted baseline of `e` says, one line a problem: place, severity, code,
/// message, hint.
fn read(dir: &Path) -> (BaselineLookup, String) {
    let (mut sources, mut problems) = (SourceFiles::new(), Problems::new());
    let folder = BaselineFolder::Disk(dir.to_owned());
    let mut reader = BaselineReader {
        folder: &folder,
        sources: &mut sources,
        problems: &mut problems,
        cwd: dir,
    };
    let found = reader.of_eval("e", BaselineStage::Accepted);
    // Nothing of it panics, and all of it can be shown.
    human(
        &problems,
        &sources,
        HumanOptions {
            width: 100,
            colour: false,
            limit: 20,
            ..HumanOptions::default()
        },
    );
    let lines = problems.sorted().into_iter().map(|problem| {
        let place = problem
            .span
            .map_or_else(|| "-".to_owned(), |span| sources.place(span));
        let severity = if problem.severity == Severity::Error {
            ""
        } else {
            " (warning)"
        };
        let hint = problem
            .hint
            .as_deref()
            .map_or_else(String::new, |hint| format!(" | {hint}"));
        format!(
            "{place} {}{severity}: {}{hint}",
            problem.code.slug(),
            problem.message
        )
    });
    let told = lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace(&dir.display().to_string(), "DIR");
    (found, told)
}

fn told(files: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    let (found, told) = read(dir.path());
    assert_eq!(
        matches!(found, BaselineLookup::Broken),
        told.lines().any(|line| !line.contains("(warning)")),
        "{told}"
    );
    told
}

#[test]
fn what_is_wrong_with_a_baseline_is_told_at_its_place() {
    let cases: &[(&str, String)] = &[
        ("nothing at all", String::new()),
        ("a comment", "# nothing\n".to_owned()),
        ("not YAML", "format_version: 1\neval_id: [\n".to_owned()),
        ("a list", "- 1\n".to_owned()),
        ("a newer format", WHOLE.replace(": 1\neval", ": 2\nthings: x\neval")),
        ("a huge version", WHOLE.replace(": 1\neval", ": 99999999999\neval")),
        ("version zero", WHOLE.replace(": 1\neval", ": 0\neval")),
        ("a version in words", WHOLE.replace(": 1\neval", ": one\neval")),
        ("no version", "eval_id: e\noutput: 1\n".to_owned()),
        ("an unknown key", format!("{WHOLE}capturedat: x\n")),
        ("no output", "format_version: 1\neval_id: e\n".to_owned()),
        ("two outputs", format!("{WHOLE}output_file: {{name: e.output.json, fingerprint: x}}\n")),
        ("another eval", WHOLE.replace("eval_id: e", "eval_id: other")),
        ("another case", WHOLE.replace("eval_id: e", "eval_id: E")),
        ("no time", format!("{WHOLE}captured_at: yesterday\n")),
        ("replaces", format!("{WHOLE}replaces: none\n")),
        ("an unknown matcher", WHOLE.replace("{a: 1}", "{a: [\"{{any_uid}}\"]}")),
        ("a part of a matcher", WHOLE.replace("{a: 1}", "{a: \"x {{any_uuid}}\"}")),
        (
            "a merge",
            "format_version: 1\neval_id: e\noutput:\n<<<<<<< HEAD\n  a: 1\n=======\n  a: 2\n>>>>>>> topic\n"
                .to_owned(),
        ),
        ("a merge's end", "format_version: 1\r\neval_id: e\r\noutput: 1\r\n>>>>>>> topic\r\n".to_owned()),
        ("a pointer of LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n".to_owned()),
        (
            "an output elsewhere",
            "format_version: 1\neval_id: e\noutput_file: {name: ../x.json, fingerprint: x}\n".to_owned(),
        ),
        (
            "a pending output",
            "format_version: 1\neval_id: e\noutput_file: {name: e.pending.output.json, fingerprint: x}\n"
                .to_owned(),
        ),
    ];
    let all: Vec<String> = cases
        .iter()
        .map(|(name, text)| format!("## {name}\n{}", told(&[("e.yaml", text)])))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    ## nothing at all
    - empty-file: `e.yaml` is empty | restore it: `git checkout HEAD -- e.yaml`
    ## a comment
    e.yaml:1:1 empty-file: the file contains nothing but comments
    ## not YAML
    e.yaml:2:10 syntax: this `[` is not closed | add the `]`
    ## a list
    e.yaml:1:1 wrong-type: the document: expected a map, found a list
    ## a newer format
    e.yaml:1:17 newer-baseline: this baseline was written by a newer eval-harness: its format version is 2, but this program supports versions up to 1 | update eval-harness
    ## a huge version
    e.yaml:1:17 newer-baseline: this baseline was written by a newer eval-harness: its format version is 99999999999, but this program supports versions up to 1 | update eval-harness
    ## version zero
    e.yaml:1:17 bad-baseline: the format of baselines has no version 0 | write `format_version: 1`
    ## a version in words
    e.yaml:1:17 wrong-type: `format_version`: expected a whole number, found the text `one`
    ## no version
    e.yaml:1:1 missing-key: the document lacks the key `format_version` | add `format_version`: a whole number
    ## an unknown key
    e.yaml:4:1 unknown-key: unknown key `capturedat` | did you mean `captured_at`?
    ## no output
    e.yaml:1:1 missing-key: the baseline has no output to compare with | write `output: ...`, or capture it again with `eval-harness baseline capture`
    ## two outputs
    e.yaml:4:1 both-spellings: use `output` or `output_file`, not both | keep one of them
    ## another eval
    e.yaml:2:10 other-baseline: this is the baseline of `other`, not of `e` | its file would be `other.yaml`
    ## another case
    e.yaml:2:10 other-baseline: this is the baseline of `E`, not of `e` | ids that differ only in case share a file on file systems that ignore case: rename one of them
    ## no time
    e.yaml:4:14 bad-format: `yesterday` is not a time such as 2026-01-31T12:00:00Z
    ## replaces
    e.yaml:4:1 suspicious-value (warning): `replaces` is for pending baselines; here it has no effect | `eval-harness baseline accept` removes it
    ## an unknown matcher
    e.yaml:3:14 bad-matcher: unknown matcher any_uid; did you mean any_uuid?
    ## a part of a matcher
    e.yaml:3:13 bad-matcher: a matcher must be the whole text | use `{{any_regex("...")}}` for a text with a variable part, and `{{literal("...")}}` for exactly this text
    ## a merge
    e.yaml:4:1 merge-conflict: this file contains the conflict markers of an unfinished merge | edit the file, or take one side: `git checkout --ours -- e.yaml` or `git checkout --theirs -- e.yaml`, then `git add`
    ## a merge's end
    e.yaml:4:1 merge-conflict: this file contains the conflict markers of an unfinished merge | edit the file, or take one side: `git checkout --ours -- e.yaml` or `git checkout --theirs -- e.yaml`, then `git add`
    ## a pointer of LFS
    e.yaml:1:1 bad-baseline: this is a Git LFS pointer, not the baseline | run `git lfs pull` to fetch the file; better, keep baselines out of LFS
    ## an output elsewhere
    e.yaml:3:21 bad-path: `../x.json` is not the name of a file in the same folder
    ## a pending output
    e.yaml:3:21 output-file: `e.pending.output.json` belongs to a pending baseline, which git ignores | run `eval-harness baseline accept` to accept it
    "#);
}

#[test]
fn what_looks_like_a_merge_and_is_none_is_read() {
    for text in ["<<<<<<< HEAD\n=======\n>>>>>>> x\n", "Title\n=======\n"] {
        let indented = text.replace('\n', "\n  ");
        let file = format!(
            "format_version: 1\neval_id: e\noutput: |\n  {}",
            indented.trim_end_matches(' ')
        );
        assert_eq!(told(&[("e.yaml", &file)]), "");
    }
}

#[test]
fn an_output_in_a_file_beside_is_checked() {
    let value = serde_json::json!({"a": [1.50, "x"]});
    let print = Fingerprint::of(&value).to_string();
    let file = format!(
        "format_version: 1\neval_id: e\noutput_file:\n  name: e.output.json\n  fingerprint: {print}\n"
    );
    let with = |output: &str| told(&[("e.yaml", &file), ("e.output.json", output)]);
    for same in [
        "{\"a\": [1.5, \"x\"]}",
        "\u{feff}{\r\n  \"a\": [1.5, \"x\"]\r\n}\r\n",
    ] {
        assert_eq!(with(same), "");
    }
    let matcher = serde_json::json!(["{{any_uid}}"]);
    let wrong = file.replace(&print, &Fingerprint::of(&matcher).to_string());
    let all = [
        ("missing", told(&[("e.yaml", &file)])),
        ("another", with("{\"a\": [1.6, \"x\"]}")),
        ("cut off", with("{\"a\": [1.5")),
        ("empty", with("")),
        (
            "a merge",
            with("{\n<<<<<<< HEAD\n\"a\": 1\n=======\n\"a\": 2\n>>>>>>> x\n}\n"),
        ),
        (
            "a matcher that is none",
            told(&[("e.yaml", &wrong), ("e.output.json", &matcher.to_string())]),
        ),
    ];
    let all: Vec<String> = all
        .iter()
        .map(|(name, told)| format!("## {name}\n{told}"))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    ## missing
    e.yaml:4:9 output-file: the output of this baseline is missing: `e.output.json` does not exist | if an accept was interrupted, accept again; otherwise restore the file: `git checkout HEAD -- e.output.json`
    ## another
    e.yaml:5:16 output-file: `e.output.json` does not match the fingerprint in this baseline | if an accept was interrupted, accept again; otherwise restore the file: `git checkout HEAD -- e.output.json`
    ## cut off
    e.yaml:4:9 output-file: the output of this baseline is not JSON: `e.output.json`: EOF while parsing a list at line 1 column 10 | if an accept was interrupted, accept again; otherwise restore the file: `git checkout HEAD -- e.output.json`
    ## empty
    e.yaml:4:9 output-file: the output of this baseline is not JSON: `e.output.json`: EOF while parsing a value at line 1 column 0 | if an accept was interrupted, accept again; otherwise restore the file: `git checkout HEAD -- e.output.json`
    ## a merge
    e.output.json:2:1 merge-conflict: this file contains the conflict markers of an unfinished merge | edit the file, or take one side: `git checkout --ours -- e.output.json` or `git checkout --theirs -- e.output.json`, then `git add`
    ## a matcher that is none
    e.output.json:1:2 bad-matcher: unknown matcher any_uid; did you mean any_uuid?
    "#);
}

#[test]
fn what_is_no_ordinary_file_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let outside = tempfile::tempdir().expect("a folder");
    let (path, far) = (dir.path().join("e.yaml"), outside.path().join("far.yaml"));
    std::fs::write(&far, WHOLE).expect("a file");
    let mut all = Vec::new();
    let mut look = |name: &str| {
        let (found, told) = read(dir.path());
        assert_eq!(found == BaselineLookup::Nothing, told.is_empty());
        all.push(format!(
            "## {name}\n{}",
            told.replace(&outside.path().display().to_string(), "OUTSIDE")
        ));
    };
    look("nothing");
    std::fs::create_dir(&path).expect("a folder");
    look("a folder");
    std::fs::remove_dir(&path).expect("removed");
    std::os::unix::fs::symlink(&far, &path).expect("a link");
    look("a link out of the folder");
    std::fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("nowhere.yaml", &path).expect("a link");
    look("a link to nothing");
    std::fs::remove_file(&path).expect("removed");
    let fifo = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .expect("mkfifo");
    assert!(fifo.success());
    look("a pipe");
    std::fs::remove_file(&path).expect("removed");
    insta::assert_snapshot!(all.join("\n"), @r#"
    ## nothing

    ## a folder
    - unreadable: cannot read the baseline `e.yaml`: it is a folder, not a file
    ## a link out of the folder
    - unreadable: cannot read the baseline `e.yaml`: it is a symbolic link to a file outside the folder
    ## a link to nothing
    - unreadable: cannot read the baseline `e.yaml`: it is a symbolic link: its target does not exist
    ## a pipe
    - unreadable: cannot read the baseline `e.yaml`: it is not a regular file
    "#);

    std::fs::write(dir.path().join("real.yaml"), WHOLE).expect("a file");
    std::os::unix::fs::symlink("real.yaml", &path).expect("a link");
    assert!(
        matches!(read(dir.path()), (BaselineLookup::Kept(_), told) if told.is_empty()),
        "a link inside is followed"
    );
}

#[test]
fn a_file_that_git_gave_the_line_ends_of_windows_reads_the_same() {
    let text = "format_version: 1\neval_id: e\noutput:\n  text: |\n    one\n\n    two\n  folded: \"a\\r\\nb\"\n";
    let dir = tempfile::tempdir().expect("a folder");
    let mut prints = Vec::new();
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        std::fs::write(dir.path().join("e.yaml"), text).expect("a file");
        let (BaselineLookup::Kept(kept), _) = read(dir.path()) else {
            panic!("it is fine")
        };
        prints.push(kept.fingerprint);
    }
    assert_eq!(prints[0], prints[1]);
}

#[test]
fn texts_are_kept_only_for_problems() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("e.yaml"), WHOLE).expect("a file");
    std::fs::write(dir.path().join("f.yaml"), "x").expect("a file");
    let (mut sources, mut problems) = (SourceFiles::new(), Problems::new());
    let folder = BaselineFolder::Disk(dir.path().to_owned());
    let mut reader = BaselineReader {
        folder: &folder,
        sources: &mut sources,
        problems: &mut problems,
        cwd: dir.path(),
    };
    assert!(matches!(reader.of_file("e.yaml"), BaselineLookup::Kept(_)));
    assert_eq!(reader.of_file("f.yaml"), BaselineLookup::Broken);
    let places: Vec<_> = problems
        .iter()
        .filter_map(|p| p.span)
        .map(|span| sources.place(span))
        .collect();
    assert!(
        places.iter().all(|place| place.starts_with("f.yaml:1:")),
        "{places:?}"
    );
}
