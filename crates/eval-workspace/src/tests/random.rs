//! Random changes of random trees, in a copy and through real overlays, against a comparison of two
//! whole trees; every diff is applied by git and by this crate.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Change {
    Write(Vec<u8>, Node),
    Delete(Vec<u8>),
    Move(Vec<u8>, Vec<u8>),
    SwitchMode(Vec<u8>),
    Append(Vec<u8>),
    /// Written with the content that it has.
    Touch(Vec<u8>),
}

pub(super) fn path() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![
        6 => proptest::sample::select(vec!["a", "b", "c", "tests"]).prop_map(|name| name.as_bytes().to_vec()),
        1 => proptest::sample::select(vec![&b"c d"[..], "é".as_bytes(), b"\"q\"\\", b"n\nl", b"\xff", b"a.b"])
            .prop_map(<[u8]>::to_vec),
    ];
    proptest::collection::vec(name, 1..4).prop_map(|names| names.join(&b'/'))
}

fn node() -> impl Strategy<Value = Node> {
    let line = proptest::sample::select(vec![
        "one\n",
        "two\n",
        "three\n",
        "\n",
        "-- four\n",
        "\\ five\n",
        "se\rven\n",
    ]);
    let text = (
        proptest::collection::vec(line, 0..40),
        proptest::sample::select(vec!["", "end", "é"]),
    )
        .prop_map(|(lines, end)| (lines.concat() + end).into_bytes());
    let bytes = prop_oneof![
        6 => text,
        1 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => Just(b"zero\0\n".to_vec()),
    ];
    let target = proptest::sample::select(vec!["a", "b/c", "../a", "/nowhere", "n\nl"]);
    prop_oneof![
        6 => (any::<bool>(), bytes).prop_map(|(executable, bytes)| Node::File { executable, bytes }),
        1 => target.prop_map(|target| Node::Link(target.as_bytes().to_vec())),
    ]
}

/// A tree in which later files make room for themselves.
pub(super) fn tree() -> impl Strategy<Value = MemoryTree> {
    proptest::collection::vec((path(), node()), 0..12).prop_map(|files| {
        let mut tree = MemoryTree::new();
        for (path, node) in files {
            let below = |outer: &[u8], inner: &[u8]| inner.starts_with(&[outer, b"/"].concat());
            tree.retain(|other, _| !below(&path, other) && !below(other, &path));
            // A template has no links that lead out.
            if !matches!(&node, Node::Link(target) if target.starts_with(b".") || target.starts_with(b"/")) {
                tree.insert(path, node);
            }
        }
        tree
    })
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        4 => (path(), node()).prop_map(|(path, node)| Change::Write(path, node)),
        3 => path().prop_map(Change::Delete),
        3 => (path(), path()).prop_map(|(from, to)| Change::Move(from, to)),
        1 => path().prop_map(Change::SwitchMode),
        2 => path().prop_map(Change::Append),
        1 => path().prop_map(Change::Touch),
    ];
    proptest::collection::vec(change, 0..10)
}

fn quoted_for_shell(path: &Path) -> Vec<u8> {
    let text = path
        .as_os_str()
        .as_bytes()
        .split(|byte| *byte == b'\'')
        .collect::<Vec<_>>();
    [b"'", &text.join(&b"'\\''"[..])[..], b"'"].concat()
}

/// A shell script that makes the changes below `$1`. What does not work out (a file in the way) is
/// left as the shell leaves it.
fn script(changes: &[Change], contents: &Path) -> Vec<u8> {
    fs::create_dir_all(contents).unwrap();
    let mut script = b"cd \"$1\" || exit 9\nexec 2>/dev/null\n".to_vec();
    let at = |path: &[u8]| quoted_for_shell(&Path::new(".").join(OsStr::from_bytes(path)));
    let parent = |path: &[u8]| {
        at(Path::new(OsStr::from_bytes(path))
            .parent()
            .unwrap()
            .as_os_str()
            .as_bytes())
    };
    for (number, change) in changes.iter().enumerate() {
        let mut line = |parts: &[&[u8]]| script.extend([&parts.concat()[..], b"\n"].concat());
        match change {
            Change::Write(path, node) => {
                line(&[b"rm -rf ", &at(path), b"; mkdir -p ", &parent(path)]);
                match node {
                    Node::Link(target) => {
                        line(&[
                            b"ln -sn ",
                            &quoted_for_shell(Path::new(OsStr::from_bytes(target))),
                            b" ",
                            &at(path),
                        ]);
                    }
                    Node::File { executable, bytes } => {
                        let content = contents.join(number.to_string());
                        fs::write(&content, bytes).unwrap();
                        line(&[b"cp -n ", &quoted_for_shell(&content), b" ", &at(path)]);
                        let mode: &[u8] = if *executable { b"755 " } else { b"644 " };
                        line(&[b"[ -L ", &at(path), b" ] || chmod ", mode, &at(path)]);
                    }
                }
            }
            Change::Delete(path) => line(&[b"rm -rf ", &at(path)]),
            Change::Move(from, to) => {
                line(&[
                    b"mkdir -p ",
                    &parent(to),
                    b"; mv -T ",
                    &at(from),
                    b" ",
                    &at(to),
                ]);
            }
            Change::SwitchMode(path) => {
                let path = at(path);
                line(&[
                    b"[ -f ",
                    &path,
                    b" ] && { [ -x ",
                    &path,
                    b" ] && chmod 644 ",
                    &path,
                    b" || chmod 755 ",
                    &path,
                    b"; }",
                ]);
            }
            Change::Append(path) => line(&[b"[ -f ", &at(path), b" ] && echo more >> ", &at(path)]),
            Change::Touch(path) => line(&[
                b"[ -f ",
                &at(path),
                b" ] && { cp ",
                &at(path),
                b" /proc/self/fd/1 > \"$2\"; cat \"$2\" > ",
                &at(path),
                b"; }",
            ]),
        }
    }
    script.extend(b"exit 0\n");
    script
}

/// How a test mounts an overlay: in a user namespace, or as root with renames of folders.
#[derive(Debug, Clone, Copy)]
enum Mount {
    User,
    Root,
}

impl Mount {
    /// Runs `script TOP` where TOP is an overlay.
    fn run(
        self,
        lowers: &[&Path],
        upper: Option<(&Path, &Path)>,
        top: &Path,
        script: &Path,
        other: &Path,
    ) -> bool {
        let (namespaces, mut options) = match self {
            Mount::User => ("-Urm", "userxattr".to_owned()),
            Mount::Root => ("-m", "redirect_dir=on,metacopy=on".to_owned()),
        };
        let lowers: Vec<&str> = lowers.iter().map(|path| path.to_str().unwrap()).collect();
        write!(options, ",lowerdir={}", lowers.join(":")).unwrap();
        if let Some((upper, work)) = upper {
            write!(
                options,
                ",upperdir={},workdir={}",
                upper.display(),
                work.display()
            )
            .unwrap();
        }
        fs::create_dir_all(top).unwrap();
        let inner = "mount -t overlay overlay -o \"$1\" \"$2\" && exec sh \"$3\" \"$2\" \"$4\"";
        let mut command = Command::new("unshare");
        command
            .args([namespaces, "sh", "-c", inner, "sh", &options])
            .args([top, script, other]);
        command.output().is_ok_and(|output| output.status.success())
    }

    fn attributes(self) -> OverlayAttributes {
        match self {
            Mount::User => OverlayAttributes::User,
            Mount::Root => OverlayAttributes::Trusted,
        }
    }

    /// Whether this machine can do it; says so once where not.
    fn works(self) -> bool {
        static WORKS: [OnceLock<bool>; 2] = [OnceLock::new(), OnceLock::new()];
        *WORKS[self as usize].get_or_init(|| {
            let place = tempfile::tempdir().unwrap();
            let at = |name: &str| place.path().join(name);
            for name in ["lower", "upper", "work"] {
                fs::create_dir(at(name)).unwrap();
            }
            fs::write(at("script"), "mkdir \"$1/a\"").unwrap();
            let works = self.run(
                &[&at("lower")],
                Some((&at("upper"), &at("work"))),
                &at("top"),
                &at("script"),
                &at("x"),
            );
            let _ = fs::set_permissions(at("work/work"), fs::Permissions::from_mode(0o700));
            if !works {
                eprintln!("skipped: no overlay can be mounted here ({self:?})");
            }
            works
        })
    }
}

/// Files and links that are only in one of the trees, or different.
fn naive_changes(before: &MemoryTree, after: &MemoryTree) -> [Vec<Vec<u8>>; 3] {
    let paths: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
    let mut lists = [const { Vec::new() }; 3];
    for path in paths {
        match (before.get(path), after.get(path)) {
            (None, _) => lists[0].push(path.clone()),
            (_, None) => lists[2].push(path.clone()),
            (old, new) if old != new => lists[1].push(path.clone()),
            _ => {}
        }
    }
    lists
}

fn check_edits(edits: &WorkspaceEdits, before: &MemoryTree, after: &MemoryTree) {
    let (changes, diff) = edits
        .compare(&PathGlobs::default(), &CompareBounds::default())
        .unwrap();
    let bytes = |paths: &[WorkspacePath]| {
        paths
            .iter()
            .map(|path| path.as_bytes().to_vec())
            .collect::<Vec<_>>()
    };
    let lists = [
        bytes(&changes.added),
        bytes(&changes.modified),
        bytes(&changes.deleted),
    ];
    assert_eq!(lists, naive_changes(before, after));
    assert!(!changes.truncated && !diff.truncated);
    let lines = |node: Option<&Node>| match node {
        Some(Node::File { bytes, .. }) => {
            bytes.split_inclusive(|byte| *byte == b'\n').count() as u64
        }
        Some(Node::Link(target)) => target.split_inclusive(|byte| *byte == b'\n').count() as u64,
        None => 0,
    };
    for file in &changes.files {
        let from = match &file.kind {
            ChangeKind::Renamed { from } => from,
            _ => &file.path,
        };
        let (old, new) = (before.get(from.as_bytes()), after.get(file.path.as_bytes()));
        let content = |node: Option<&Node>| match node {
            Some(Node::File { bytes, .. } | Node::Link(bytes)) => bytes.clone(),
            None => Vec::new(),
        };
        match file.content {
            ChangedContent::Text { added, removed } => {
                assert_eq!(lines(old) + added, lines(new) + removed, "{}", file.path);
            }
            ChangedContent::Unchanged => assert_eq!(content(old), content(new)),
            ChangedContent::Binary => {
                let binary = |bytes: Vec<u8>| {
                    String::from_utf8(bytes).map_or(true, |text| text.contains('\0'))
                };
                assert!(
                    binary(content(old)) || binary(content(new)),
                    "{}",
                    file.path
                );
            }
            ChangedContent::TooLarge => panic!("{} is small", file.path),
        }
    }
    let json = serde_json::to_string(&changes).unwrap();
    assert_eq!(
        serde_json::from_str::<WorkspaceChanges>(&json).unwrap(),
        changes
    );
    for (program, applied) in [
        ("git", git_apply(before, &diff.text)),
        ("own", own_apply(before, &diff.text)),
    ] {
        // Git looks for attributes behind a link that a folder replaces, and gives up where such links
        // lead in a circle.
        let is_circle = |error: &String| error.contains("Too many levels of symbolic links");
        if program == "git" && applied.as_ref().is_err_and(is_circle) {
            continue;
        }
        assert_eq!(applied.as_ref(), Ok(after), "{program}:\n{}", diff.text);
    }
}

/// What was left makes the workspace again, and so does the diff, where it says so.
fn check_left(edits: &WorkspaceEdits, template: &TemplateView, source: &Path) {
    let place = tempfile::tempdir().unwrap();
    let digest = |tree: &Path| {
        let view = AfterView::Tree {
            root: tree,
            copied_at: None,
        };
        let edits = WorkspaceEdits::read(template, &view).unwrap();
        edits.digest().unwrap()
    };
    let left = edits.digest().unwrap();
    let again = place.path().join("again");
    copy_tree(source, &again, &CopyRules::default()).unwrap();
    for entry in edits.left() {
        let (path, entry) = entry.unwrap();
        let json = serde_json::to_string(&entry).unwrap();
        let read: LeftEntry = serde_json::from_str(&json).unwrap();
        assert_eq!(read, entry);
        read.put(&again, &path, None).unwrap();
    }
    assert_eq!(digest(&again), left);
    let copied = place.path().join("copied");
    copy_tree(source, &copied, &CopyRules::default()).unwrap();
    edits.put_on(&copied, &PathGlobs::default(), None).unwrap();
    assert_eq!(digest(&copied), left);
    check_layers(edits, template, &copied);
    if edits.fit_in_a_diff(&PathGlobs::default()) {
        let (_, diff) = edits
            .compare(&PathGlobs::default(), &CompareBounds::default())
            .unwrap();
        let patched = place.path().join("patched");
        copy_tree(source, &patched, &CopyRules::default()).unwrap();
        apply_patch(&patched, &diff.text).unwrap();
        assert_eq!(digest(&patched), left, "{}", diff.text);
    }
}

/// As layers above the template, what was left is the same: made of the entries, and of a whole copy,
/// which is used up.
fn check_layers(edits: &WorkspaceEdits, template: &TemplateView, copy: &Path) {
    let left = edits.digest().unwrap();
    let place = tempfile::tempdir().unwrap();
    let digest = |layer: &Path| {
        let view = AfterView::Overlay {
            upper: layer,
            attributes: OverlayAttributes::User,
        };
        let edits = WorkspaceEdits::read(template, &view).unwrap();
        edits.digest().unwrap()
    };
    let made = place.path().join("made");
    fs::create_dir(&made).unwrap();
    for entry in edits.left() {
        let (path, entry) = entry.unwrap();
        entry.put_in_layer(template, &made, &path, None).unwrap();
    }
    assert_eq!(digest(&made), left);
    let moved = place.path().join("moved");
    fs::create_dir(&moved).unwrap();
    let view = AfterView::Tree {
        root: copy,
        copied_at: None,
    };
    let of_copy = WorkspaceEdits::read(template, &view).unwrap();
    of_copy.move_to_layer(&moved, None).unwrap();
    assert_eq!(digest(&moved), left);
}

/// Protected files are those of the template, and others stay unless a protected one needs the place.
fn check_restored(
    protected: &PathGlobs,
    before: &MemoryTree,
    after: &MemoryTree,
    restored: &MemoryTree,
) {
    let fits = |path: &[u8]| protected.fit(&WorkspacePath::new(path).unwrap());
    for (path, node) in before.iter().filter(|(path, _)| fits(path)) {
        assert_eq!(restored.get(path), Some(node), "{path:?}");
    }
    // A link where a protected folder would be goes away.
    let undone = |path: &[u8]| {
        let link = matches!(after.get(path), Some(Node::Link(_)));
        fits(path) || link && protected.begin_at_or_below(&WorkspacePath::new(path).unwrap())
    };
    for (path, node) in restored {
        let expected = if undone(path) { before } else { after };
        assert_eq!(expected.get(path), Some(node), "{path:?}");
    }
    for path in after
        .keys()
        .filter(|path| !undone(path) && !restored.contains_key(*path))
    {
        let below = |outer: &[u8], inner: &[u8]| inner.starts_with(&[outer, b"/"].concat());
        let needed = |other: &Vec<u8>| undone(other) && (below(path, other) || below(other, path));
        assert!(before.keys().any(needed), "{path:?}");
    }
}

const PROTECTED: [&str; 3] = ["tests/**", "**/b", "c/a"];

fn check(tree: &MemoryTree, changes: &[Change], mount: Option<Mount>) {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for name in ["source", "upper", "work", "layer", "out"] {
        fs::create_dir(at(name)).unwrap();
    }
    for (path, node) in tree {
        write_node(&at("source"), path, node);
    }
    // Folders without files.
    for name in ["c/hollow", "a/hollow/deep"] {
        let _ = fs::create_dir_all(at("source").join(name));
    }
    let listing = copy_tree(&at("source"), &at("template"), &CopyRules::default()).unwrap();
    assert_eq!(
        listing.digest(),
        list_tree(&at("template")).unwrap().digest()
    );
    assert_eq!(read_tree(&at("template")), *tree);
    let template = TemplateView::new(&at("template"), listing).unwrap();
    fs::write(at("script"), script(changes, &at("contents"))).unwrap();
    let protected = PathGlobs::new(&PROTECTED).unwrap();

    let Some(mount) = mount else {
        copy_tree(&at("template"), &at("tree"), &CopyRules::default()).unwrap();
        let mut shell = Command::new("sh");
        assert!(
            shell
                .args([at("script"), at("tree"), at("other")])
                .status()
                .unwrap()
                .success()
        );
        let root = at("tree");
        let view = AfterView::Tree {
            root: &root,
            copied_at: None,
        };
        let after = read_tree(&root);
        let edits = WorkspaceEdits::read(&template, &view).unwrap();
        check_edits(&edits, tree, &after);
        check_left(&edits, &template, &at("template"));
        edits
            .restore_plan(&protected)
            .unwrap()
            .restore_tree(&root, None)
            .unwrap();
        check_restored(&protected, tree, &after, &read_tree(&root));
        return;
    };
    // The changes, and what they lead to as the kernel shows it.
    let mut all = fs::read(at("script")).unwrap();
    let end = all.len() - b"exit 0\n".len();
    all.truncate(end);
    all.extend(format!("cp -a . '{}'\nexit 0\n", at("out").display()).bytes());
    fs::write(at("script"), all).unwrap();
    assert!(mount.run(
        &[&at("template")],
        Some((&at("upper"), &at("work"))),
        &at("top"),
        &at("script"),
        &at("other")
    ));
    // The kernel leaves a folder without rights, which an ordinary user could not remove.
    fs::set_permissions(at("work/work"), fs::Permissions::from_mode(0o700)).unwrap();
    let after = read_tree(&at("out"));
    let upper = at("upper");
    let view = AfterView::Overlay {
        upper: &upper,
        attributes: mount.attributes(),
    };
    let edits = WorkspaceEdits::read(&template, &view).unwrap();
    check_edits(&edits, tree, &after);
    check_left(&edits, &template, &at("template"));

    let stacked = template.with_layer(&upper, mount.attributes()).unwrap();
    let whole = at("out");
    let same = WorkspaceEdits::read(
        &stacked,
        &AfterView::Tree {
            root: &whole,
            copied_at: None,
        },
    )
    .unwrap();
    let (none, diff) = same
        .compare(&PathGlobs::default(), &CompareBounds::default())
        .unwrap();
    assert_eq!(
        (none, diff),
        (WorkspaceChanges::default(), DiffText::default())
    );

    let plan = edits.restore_plan(&protected).unwrap();
    plan.write_layer(&at("layer"), None).unwrap();
    fs::write(
        at("script"),
        format!("cp -a \"$1/.\" '{}'", at("restored").display()),
    )
    .unwrap();
    let (layer, lowest) = (at("layer"), at("template"));
    let lowers = [&layer, &upper, &lowest].map(PathBuf::as_path);
    fs::create_dir(at("restored")).unwrap();
    assert!(mount.run(&lowers, None, &at("top"), &at("script"), &at("other")));
    let restored = read_tree(&at("restored"));
    check_restored(&protected, tree, &after, &restored);
    plan.restore_tree(&whole, None).unwrap();
    assert_eq!(read_tree(&whole), restored);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
    ))]

    #[test]
    fn changes_of_a_copy_are_those_of_two_trees(tree in tree(), changes in changes()) {
        check(&tree, &changes, None);
    }

    #[test]
    fn changes_in_an_overlay_are_those_of_two_trees(tree in tree(), changes in changes()) {
        if Mount::User.works() {
            check(&tree, &changes, Some(Mount::User));
        }
    }

    #[test]
    fn changes_in_an_overlay_of_root_are_those_of_two_trees(tree in tree(), changes in changes()) {
        if Mount::Root.works() {
            check(&tree, &changes, Some(Mount::Root));
        }
    }
}

/// Moved folders and files whose mode alone changed have no content in the upper folder of root's
/// overlay; random changes seldom move what they changed before.
#[test]
fn moved_folders_of_root_are_found_where_they_were() {
    if !Mount::Root.works() {
        return;
    }
    let file = |text: &str| Node::File {
        executable: false,
        bytes: text.as_bytes().to_vec(),
    };
    let tree: MemoryTree = [
        ("a/x/f", "1"),
        ("a/x/g", "2"),
        ("a/h", "3"),
        ("b/i", "4"),
        ("j", "5"),
        ("tests/t", "6"),
    ]
    .map(|(path, text)| (path.as_bytes().to_vec(), file(text)))
    .into();
    let path = |text: &str| text.as_bytes().to_vec();
    let changes = [
        Change::SwitchMode(path("a/h")),
        Change::Move(path("a"), path("c")),
        Change::Delete(path("c/x/f")),
        Change::Move(path("c/x"), path("c/y")),
        Change::Append(path("c/y/g")),
        Change::Move(path("c/h"), path("h")),
        Change::Move(path("b"), path("a")),
        Change::SwitchMode(path("j")),
        Change::Move(path("tests"), path("b")),
        Change::Write(path("b/t/new"), file("7")),
    ];
    check(&tree, &changes, Some(Mount::Root));
}
