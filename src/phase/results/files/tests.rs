use super::*;

fn put(dir: &Path, path: &str, cases: usize) -> PathBuf {
    let file = dir.join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
    let cases: String = (0..cases)
        .map(|n| format!("<testcase name=\"{n}\"/>"))
        .collect();
    std::fs::write(
        &file,
        format!("<testsuite name=\"{path}\">{cases}</testsuite>"),
    )
    .expect("a file");
    file
}

fn told(reading: &FileTally) -> String {
    let FileTally { tally, files } = reading;
    let sentences: Vec<String> = [
        ("!", &tally.broken),
        ("?", &tally.doubts),
        ("i", &tally.notes),
    ]
    .iter()
    .flat_map(|(mark, all)| {
        all.iter()
            .map(move |sentence| format!("\n{mark} {sentence}"))
    })
    .collect();
    format!(
        "{}+ {}- of {}{}",
        tally.passed,
        tally.failed,
        files.join(" "),
        sentences.concat()
    )
}

fn globs(dir: &Path, all: &[&str]) -> Vec<String> {
    all.iter()
        .map(|glob| dir.join(glob).display().to_string())
        .collect()
}

#[test]
fn globs_find_files_sorted_and_each_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().join("[odd] {name}");
    put(&root, "b/deep/er/TEST-2.xml", 2);
    put(&root, "b/TEST-1.xml", 1);
    put(&root, "a.xml", 4);
    put(&root, ".git/TEST-9.xml", 100);
    put(&root, "b/other.txt", 100);
    std::os::unix::fs::symlink(&root, root.join("b/loop")).expect("a link");
    std::os::unix::fs::symlink(root.join("a.xml"), root.join("z.xml")).expect("a link");
    let read = |all: &[&str]| told(&read(&globs(&root, all), &root, None));
    insta::assert_snapshot!(read(&["**/TEST-*.xml"]), @"3+ 0- of b/TEST-1.xml b/deep/er/TEST-2.xml");
    insta::assert_snapshot!(read(&["*.xml", "a.xml", "b/../a.xml", "./**/*.xml"]), @"7+ 0- of a.xml b/TEST-1.xml b/deep/er/TEST-2.xml");
    insta::assert_snapshot!(read(&["b/*.xml"]), @"1+ 0- of b/TEST-1.xml");
    insta::assert_snapshot!(read(&["{a,b/TEST-1}.xml"]), @"5+ 0- of a.xml b/TEST-1.xml");
    insta::assert_snapshot!(read(&["a.xml", "no/*.xml", "b"]), @r"
    4+ 0- of a.xml
    ? no file matches `no/*.xml`
    ? no file matches `b`
    ");
    insta::assert_snapshot!(read(&["a.xml/**/["]), @r"
    0+ 0- of 
    ? `a.xml/**/[`: it is not a glob: unclosed character class; missing ']'
    ");
}

#[test]
fn files_that_cannot_be_read_are_told_with_their_lines() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(
        dir.path().join("cut.xml"),
        "<testsuite>\n<testcase name=\"a\"/>\n<testcase",
    )
    .expect("a file");
    std::fs::write(dir.path().join("empty.xml"), "").expect("a file");
    std::fs::write(dir.path().join("gz.xml"), b"\x1f\x8b\x08").expect("a file");
    insta::assert_snapshot!(told(&read(&globs(dir.path(), &["*.xml"]), dir.path(), None)), @r##"
    1+ 0- of cut.xml empty.xml gz.xml
    ? cut.xml:3: it is not well-formed XML: syntax error: tag not closed: `>` not found before end of input
    ? empty.xml:1: it contains no XML element
    ? gz.xml: it is compressed with gzip
    "##);
}

#[test]
fn what_was_there_before_is_no_result() {
    let dir = tempfile::tempdir().expect("a folder");
    put(dir.path(), "old.xml", 1);
    put(dir.path(), "again.xml", 2);
    let all = globs(dir.path(), &["*.xml"]);
    let before = EarlierFiles::look(&all, SystemTime::now());
    insta::assert_snapshot!(told(&read(&all, dir.path(), Some(&before))), @r"
    0+ 0- of 
    ? `*.xml` matches only 2 files from before the command started
    ");
    put(dir.path(), "again.xml", 3);
    put(dir.path(), "new.xml", 4);
    insta::assert_snapshot!(told(&read(&all, dir.path(), Some(&before))), @"
    7+ 0- of again.xml new.xml
    i ignored 1 file written before the command started
    ");
    // A file that was put there with a time of long ago was not written by the command either.
    let moved = put(dir.path(), "moved.xml", 100);
    let then = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::options()
        .write(true)
        .open(moved)
        .and_then(|file| file.set_modified(then))
        .expect("a time");
    insta::assert_snapshot!(told(&read(&all, dir.path(), Some(&before))), @"
    7+ 0- of again.xml new.xml
    i ignored 2 files written before the command started
    ");
}

/// Another name makes no new results, however near or far the time of the file.
#[test]
fn a_new_name_makes_no_new_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let future = SystemTime::now() + Duration::from_secs(3600);
    let linked = put(dir.path(), "linked.xml", 2);
    let file = std::fs::File::options()
        .write(true)
        .open(&linked)
        .expect("a file");
    file.set_modified(future).expect("a time");
    let moved = put(dir.path(), "moved.xml", 3);
    let all = globs(dir.path(), &["*.xml"]);
    let before = EarlierFiles::look(&all, SystemTime::now());
    std::fs::hard_link(&linked, dir.path().join("new.xml")).expect("a link");
    std::fs::rename(&moved, dir.path().join("other.xml")).expect("a name");
    insta::assert_snapshot!(told(&read(&all, dir.path(), Some(&before))), @r"
    0+ 0- of 
    ? `*.xml` matches only 3 files from before the command started
    ");
    put(dir.path(), "now.xml", 5);
    std::fs::hard_link(dir.path().join("now.xml"), dir.path().join("now-2.xml")).expect("a link");
    insta::assert_snapshot!(told(&read(&all, dir.path(), Some(&before))), @"
    5+ 0- of now-2.xml
    i ignored 3 files written before the command started
    ");
}
