//! What a careless author or a hostile program leaves, one by one.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mkdirat, mkfifoat, mknodat};

use super::*;
use crate::folder::{DEEPEST, Folder};

fn fifo(path: &Path) {
    mkfifoat(CWD, path, Mode::RWXU).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn deep(at: &Path, depth: usize) {
    let mut folder = Folder::open(at).unwrap();
    for _ in 0..depth {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = folder.folder(b"d").unwrap();
    }
}

fn copy(place: &Place, rules: &CopyRules) -> Result<Listing, String> {
    let to = tempfile::tempdir().unwrap();
    copy_tree(&place.path("template"), &to.path().join("copy"), rules)
        .map_err(|error| error.to_string())
}

#[test]
fn what_no_workspace_can_hold_is_not_copied() {
    type MakeEntry = fn(&Path);
    let cases: [(&str, MakeEntry); 7] = [
        (
            "`d/x` is a FIFO; a workspace holds files, folders and symbolic links",
            fifo,
        ),
        (
            "`d/x` is a socket; a workspace holds files, folders and symbolic links",
            |path| {
                UnixListener::bind(path).unwrap();
            },
        ),
        (
            "`d/x` is a link to `/etc/passwd`, outside of the folder",
            |path| symlink("/etc/passwd", path).unwrap(),
        ),
        (
            "`d/x` is a link to `../../out`, outside of the folder",
            |path| symlink("../../out", path).unwrap(),
        ),
        (
            "`d/x` is a link to `up/../../out`, outside of the folder",
            |path| symlink("up/../../out", path).unwrap(),
        ),
        ("more than 64 bytes", |path| {
            fs::write(path, [b'x'; 65]).unwrap()
        }),
        ("more than 9 files", |path| {
            fs::create_dir(path).unwrap();
            for name in 0..9 {
                fs::write(path.join(name.to_string()), "").unwrap();
            }
        }),
    ];
    for (message, make) in cases {
        let place = Place::new(&[("d/a", "a")]);
        make(&place.path("template/d/x"));
        let rules = CopyRules {
            max_bytes: 64,
            max_files: 9,
            ..CopyRules::default()
        };
        assert_eq!(copy(&place, &rules), Err(message.to_owned()));
    }
    let place = Place::new(&[]);
    deep(&place.path("template"), DEEPEST + 1);
    assert!(
        copy(&place, &CopyRules::default())
            .unwrap_err()
            .ends_with("is nested too deep")
    );
    let message = copy_tree(
        &place.path("missing"),
        &place.path("to"),
        &CopyRules::default(),
    )
    .unwrap_err();
    assert_eq!(
        message.to_string(),
        "`.`: No such file or directory (os error 2)"
    );
}

#[test]
fn devices_are_not_copied() {
    let place = Place::new(&[]);
    let made = mknodat(
        CWD,
        place.path("template/null"),
        FileType::CharacterDevice,
        Mode::RWXU,
        rustix::fs::makedev(1, 3),
    );
    if made.is_err() {
        eprintln!("skipped: devices need root");
        return;
    }
    let message = "`null` is a device; a workspace holds files, folders and symbolic links";
    assert_eq!(copy(&place, &CopyRules::default()), Err(message.to_owned()));
}

#[test]
fn modes_are_normalised_and_what_is_left_out_is_not_read() {
    let place = Place::new(&[
        ("d/program*", "x"),
        ("d/secret", "y"),
        (".git/config", ""),
        ("tests/hidden", ""),
    ]);
    let template = place.path("template");
    set_mode(&template.join("d/program"), 0o6700);
    set_mode(&template.join("d/secret"), 0o600);
    set_mode(&template.join("d"), 0o1777);
    symlink("program", template.join("d/link")).unwrap();
    symlink("../d/missing", template.join("d/dangling")).unwrap();
    fifo(&template.join(".git/fifo"));
    let is_root = rustix::process::geteuid().is_root();
    let rules = CopyRules {
        leave_out: PathGlobs::new(&[".git", "tests/hidden"]).unwrap(),
        owner: is_root.then_some((65534, 65534)),
        ..CopyRules::default()
    };
    let listing = copy_tree(&template, &place.path("copy"), &rules).unwrap();
    let names: Vec<String> = listing
        .entries()
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(
        names,
        [
            "d",
            "d/dangling",
            "d/link",
            "d/program",
            "d/secret",
            "tests"
        ]
    );
    assert_eq!((listing.files(), listing.bytes()), (4, 2));
    for (name, mode) in [
        ("", 0o755),
        ("d", 0o755),
        ("d/program", 0o755),
        ("d/secret", 0o644),
    ] {
        let status = place.path("copy").join(name).symlink_metadata().unwrap();
        if !name.is_empty() {
            assert_eq!(status.permissions().mode() & 0o7777, mode, "{name}");
        }
        use std::os::unix::fs::MetadataExt;
        assert!(
            !is_root || (status.uid(), status.gid()) == (65534, 65534),
            "{name}"
        );
    }
    assert_eq!(list_tree(&place.path("copy")).unwrap(), listing);
    // The digest is over contents, modes and kinds.
    let digest = listing.digest();
    set_mode(&place.path("copy/d/secret"), 0o755);
    assert_ne!(list_tree(&place.path("copy")).unwrap().digest(), digest);
}

#[test]
fn file_that_grows_while_it_is_copied_is_an_error() {
    let place = Place::new(&[("log", "")]);
    let path = place.path("template/log");
    fs::write(&path, vec![b'x'; 16 << 20]).unwrap();
    let (begun, ended) = (Barrier::new(2), AtomicBool::new(false));
    let copied = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(b"x").unwrap();
            begun.wait();
            while !ended.load(Ordering::Relaxed) {
                file.write_all(b"x").unwrap();
            }
        });
        begun.wait();
        let copied = copy(&place, &CopyRules::default());
        ended.store(true, Ordering::Relaxed);
        copied
    });
    assert_eq!(copied, Err("`log` changed while it was read".to_owned()));
}

#[test]
fn special_files_are_named_and_not_opened() {
    let place = Place::new(&[("a", "1"), ("b", "2"), ("tests/t", "3")]);
    fifo(&place.work("pipe"));
    fs::remove_file(place.work("a")).unwrap();
    fifo(&place.work("a"));
    UnixListener::bind(place.work("tests/socket")).unwrap();
    let changes = place.changes();
    assert_eq!(texts(&changes.special), ["a", "pipe", "tests/socket"]);
    assert_eq!(texts(&changes.deleted), ["a"]);
    assert!(changes.added.is_empty() && changes.modified.is_empty() && !changes.truncated);
    // A FIFO at a protected path goes away, and makes room.
    let (template, root) = (place.template(), place.path("work"));
    let edits = WorkspaceEdits::read(
        &template,
        &AfterView::Tree {
            root: &root,
            copied_at: None,
        },
    )
    .unwrap();
    let plan = edits
        .restore_plan(&PathGlobs::new(&["a", "tests"]).unwrap())
        .unwrap();
    assert_eq!(
        (texts(&plan.deleted), texts(&plan.added)),
        (vec!["a".to_owned()], vec!["tests/socket".to_owned()])
    );
    plan.restore_tree(&root, None).unwrap();
    assert_eq!(texts(&place.changes().special), ["pipe"]);
    assert_eq!(fs::read(place.work("a")).unwrap(), b"1");
}

#[test]
fn links_are_never_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("t"), "outside").unwrap();
    let place = Place::new(&[("tests/t", "1"), ("a", "2"), ("sub/x", "3")]);
    fs::remove_dir_all(place.work("tests")).unwrap();
    symlink(outside.path(), place.work("tests")).unwrap();
    fs::remove_file(place.work("a")).unwrap();
    symlink(outside.path().join("t"), place.work("a")).unwrap();
    symlink("../sub/x", place.work("sub/inside")).unwrap();
    let changes = place.changes();
    assert_eq!(texts(&changes.added), ["sub/inside", "tests"]);
    assert_eq!(texts(&changes.deleted), ["tests/t"]);
    assert_eq!(texts(&changes.outside_links), ["a", "tests"]);
    assert!(!place.diff().contains("+outside"));

    let (template, root) = (place.template(), place.path("work"));
    let edits = WorkspaceEdits::read(
        &template,
        &AfterView::Tree {
            root: &root,
            copied_at: None,
        },
    )
    .unwrap();
    let plan = edits
        .restore_plan(&PathGlobs::new(&["tests/**"]).unwrap())
        .unwrap();
    assert_eq!(
        (texts(&plan.edited), texts(&plan.deleted)),
        (vec!["tests".to_owned()], vec!["tests/t".to_owned()])
    );
    plan.restore_tree(&root, None).unwrap();
    assert!(place.work("tests").symlink_metadata().unwrap().is_dir());
    assert_eq!(fs::read(place.work("tests/t")).unwrap(), b"1");
    assert_eq!(fs::read(outside.path().join("t")).unwrap(), b"outside");
}

#[test]
fn link_at_a_protected_folder_that_the_template_lacks_is_removed() {
    let place = Place::new(&[("src/evil_tests/t", "1")]);
    symlink("src/evil_tests", place.work("tests")).unwrap();
    let (template, root) = (place.template(), place.path("work"));
    let edits = WorkspaceEdits::read(
        &template,
        &AfterView::Tree {
            root: &root,
            copied_at: None,
        },
    )
    .unwrap();
    let plan = edits
        .restore_plan(&PathGlobs::new(&["tests/unit/**"]).unwrap())
        .unwrap();
    assert_eq!(texts(&plan.added), ["tests"]);
    plan.restore_tree(&root, None).unwrap();
    assert!(place.work("tests").symlink_metadata().is_err());
}

#[test]
fn files_and_folders_without_rights_are_read() {
    let place = Place::new(&[
        ("a", "1\n"),
        ("d/b", "2\n"),
        ("d/e/c", "3\n"),
        ("same", "4\n"),
    ]);
    fs::write(place.work("a"), "one\n").unwrap();
    fs::write(place.work("d/e/c"), "three\n").unwrap();
    for (path, mode) in [
        ("a", 0),
        ("same", 0o200),
        ("d/b", 0),
        ("d/e/c", 0),
        ("d/e", 0o300),
        ("d", 0o400),
    ] {
        set_mode(&place.work(path), mode);
    }
    let changes = place.changes();
    assert_eq!(texts(&changes.modified), ["a", "d/e/c"]);
    assert_eq!((changes.added.len(), changes.deleted.len()), (0, 0));
    assert_eq!(
        changes.files[0].content,
        ChangedContent::Text {
            added: 1,
            removed: 1
        }
    );
}

#[test]
fn very_deep_folders_are_said_to_be_unread() {
    let place = Place::new(&[("a", "1")]);
    deep(&place.path("work"), 3000);
    fs::remove_file(place.work("a")).unwrap();
    let changes = place.changes();
    assert!(changes.truncated);
    assert_eq!(texts(&changes.deleted), ["a"]);
    let (template, root) = (place.template(), place.path("work"));
    let edits = WorkspaceEdits::read(
        &template,
        &AfterView::Tree {
            root: &root,
            copied_at: None,
        },
    )
    .unwrap();
    let plan = edits.restore_plan(&PathGlobs::default());
    assert!(
        plan.unwrap_err()
            .to_string()
            .ends_with("/d` is nested too deep")
    );
    // What removes temporary folders stops at such a depth.
    assert!(
        Command::new("rm")
            .arg("-rf")
            .arg(place.work("d"))
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn huge_sparse_files_are_not_read() {
    let place = Place::new(&[("a", "1"), ("gone", "2")]);
    for name in ["a", "new"] {
        fs::File::create(place.work(name))
            .unwrap()
            .set_len(10 << 30)
            .unwrap();
    }
    fs::remove_file(place.work("gone")).unwrap();
    let (changes, diff) = place.compare(
        &[],
        &CompareBounds {
            read_bytes: 1 << 20,
            ..CompareBounds::default()
        },
    );
    let contents: Vec<_> = changes
        .files
        .iter()
        .map(|file| (file.bytes, file.content))
        .collect();
    let removed = ChangedContent::Text {
        added: 0,
        removed: 1,
    };
    assert_eq!(
        contents,
        [
            (10 << 30, ChangedContent::TooLarge),
            (0, removed),
            (10 << 30, ChangedContent::TooLarge)
        ]
    );
    assert!(diff.truncated && !changes.truncated);
    assert!(diff.text.starts_with(
        "diff --git a/a b/a\nBinary files a/a and b/a differ\ndiff --git a/gone b/gone\n"
    ));
    assert!(own_apply(&read_tree(&place.path("template")), &diff.text).is_err());
}

#[test]
fn bounds_are_kept_and_said() {
    let place = Place::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    fs::write(place.work("a"), "2\n".repeat(100)).unwrap();
    fs::write(place.work("b"), "2\n").unwrap();
    fs::write(place.work("c"), [0; 100]).unwrap();
    let all = CompareBounds::default;
    let kinds = |bounds: CompareBounds| {
        let (changes, diff) = place.compare(&[], &bounds);
        assert!(diff.truncated && diff.text.len() <= bounds.diff_bytes);
        let contents = changes.files.iter().map(|file| match file.content {
            ChangedContent::Text { .. } => 't',
            ChangedContent::Binary => 'b',
            ChangedContent::TooLarge => 'l',
            ChangedContent::Unchanged => 'u',
        });
        let sections = diff.text.matches("diff --git").count();
        (
            contents.collect::<String>(),
            sections,
            changes.truncated,
            changes.modified.len(),
        )
    };
    let expected = |contents: &str, sections, truncated, paths| {
        (contents.to_owned(), sections, truncated, paths)
    };
    assert_eq!(
        kinds(CompareBounds {
            text_lines: 99,
            ..all()
        }),
        expected("ltb", 3, false, 3)
    );
    assert_eq!(
        kinds(CompareBounds {
            text_bytes: 199,
            ..all()
        }),
        expected("ltb", 3, false, 3)
    );
    assert_eq!(
        kinds(CompareBounds {
            binary_bytes: 99,
            ..all()
        }),
        expected("ttb", 3, false, 3)
    );
    assert_eq!(
        kinds(CompareBounds {
            read_bytes: 210,
            ..all()
        }),
        expected("ttl", 3, false, 3)
    );
    // What is too long is left out, and not what follows.
    assert_eq!(
        kinds(CompareBounds {
            diff_bytes: 400,
            ..all()
        }),
        expected("ttb", 2, false, 3)
    );
    assert_eq!(
        kinds(CompareBounds { files: 2, ..all() }),
        expected("tt", 2, false, 3)
    );
    assert_eq!(
        kinds(CompareBounds { paths: 2, ..all() }),
        expected("ttb", 3, true, 2)
    );
}

#[test]
fn diff_without_time_still_applies() {
    let (old, new): (String, String) = (0..3000)
        .map(|number| {
            (
                format!("{}\n", number * 7 % 100),
                format!("{}\n", number * 3 % 101),
            )
        })
        .unzip();
    let place = Place::new(&[("a", &old), ("b", "1\n")]);
    fs::write(place.work("a"), new).unwrap();
    fs::write(place.work("b"), "2\n").unwrap();
    let (_, diff) = place.compare(
        &[],
        &CompareBounds {
            time: Duration::ZERO,
            ..CompareBounds::default()
        },
    );
    assert!(!diff.truncated);
    let before = read_tree(&place.path("template"));
    let after = Ok(read_tree(&place.path("work")));
    assert_eq!(git_apply(&before, &diff.text), after);
    assert_eq!(own_apply(&before, &diff.text), after);
}

#[test]
fn ignored_paths_are_left_out_and_still_put_back() {
    let place = Place::new(&[("build/lib", "1"), ("a", "2")]);
    fs::write(place.work("build/lib"), "changed").unwrap();
    fs::write(place.work("build/new"), "").unwrap();
    fifo(&place.work("build/pipe"));
    let (changes, diff) = place.compare(&["build"], &CompareBounds::default());
    assert_eq!(
        (changes, diff),
        (WorkspaceChanges::default(), DiffText::default())
    );
    let (template, root) = (place.template(), place.path("work"));
    let edits = WorkspaceEdits::read(
        &template,
        &AfterView::Tree {
            root: &root,
            copied_at: None,
        },
    )
    .unwrap();
    let plan = edits
        .restore_plan(&PathGlobs::new(&["build/**"]).unwrap())
        .unwrap();
    assert_eq!(
        (texts(&plan.edited), plan.added.len()),
        (vec!["build/lib".to_owned()], 2)
    );
}

#[test]
fn marks_of_an_overlay_count_only_where_the_mount_makes_them() {
    let place = Place::new(&[("d/a", "1"), ("e/b", "2")]);
    for folder in ["d", "e"] {
        fs::create_dir_all(place.path("upper").join(folder)).unwrap();
    }
    let mark =
        |path: &Path| rustix::fs::setxattr(path, "user.overlay.opaque", b"y", XattrFlags::empty());
    if mark(&place.path("upper/d")).is_err() {
        eprintln!("skipped: no extended attributes of users here");
        return;
    }
    mark(&place.work("d")).unwrap();
    let (template, upper) = (place.template(), place.path("upper"));
    let deleted = |attributes| {
        let after = AfterView::Overlay {
            upper: &upper,
            attributes,
        };
        let edits = WorkspaceEdits::read(&template, &after).unwrap();
        texts(
            &edits
                .compare(&PathGlobs::default(), &CompareBounds::default())
                .unwrap()
                .0
                .deleted,
        )
    };
    assert_eq!(deleted(OverlayAttributes::User), ["d/a"]);
    assert_eq!(deleted(OverlayAttributes::Trusted), [""; 0]);
    assert_eq!(place.changes(), WorkspaceChanges::default());
}

#[test]
fn files_older_than_the_copy_are_not_read() {
    let place = Place::new(&[("a", "1"), ("b", "22")]);
    fs::write(place.work("a"), "2").unwrap();
    fs::write(place.work("b"), "1").unwrap();
    let (template, root) = (place.template(), place.path("work"));
    let modified = |copied_at| {
        let after = AfterView::Tree {
            root: &root,
            copied_at: Some(copied_at),
        };
        let edits = WorkspaceEdits::read(&template, &after).unwrap();
        texts(
            &edits
                .compare(&PathGlobs::default(), &CompareBounds::default())
                .unwrap()
                .0
                .modified,
        )
    };
    let hour = Duration::from_secs(3600);
    assert_eq!(modified(SystemTime::now() - hour), ["a", "b"]);
    // Of the same size, and not changed since an hour from now.
    assert_eq!(modified(SystemTime::now() + hour), ["b"]);
}
