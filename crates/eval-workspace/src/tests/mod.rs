//! Trees for tests: written, changed by a shell, and read back without anything of this crate.

mod hostile;
mod listings;
mod patches;
mod random;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::*;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File { executable: bool, bytes: Vec<u8> },
    Link(Vec<u8>),
}

/// Files and links by path.
type MemoryTree = BTreeMap<Vec<u8>, Node>;

fn read_tree(top: &Path) -> MemoryTree {
    let mut tree = MemoryTree::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let status = path.symlink_metadata().unwrap();
            let name = path
                .strip_prefix(top)
                .unwrap()
                .as_os_str()
                .as_bytes()
                .to_vec();
            if status.is_dir() {
                if name != b".git" {
                    folders.push(path);
                }
            } else if status.is_symlink() {
                let target = fs::read_link(path).unwrap().into_os_string().into_vec();
                tree.insert(name, Node::Link(target));
            } else if status.is_file() {
                let executable = status.permissions().mode() & 0o100 != 0;
                let bytes = fs::read(path).unwrap();
                tree.insert(name, Node::File { executable, bytes });
            }
        }
    }
    tree
}

fn write_node(top: &Path, path: &[u8], node: &Node) {
    let path = top.join(OsStr::from_bytes(path));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match node {
        Node::Link(target) => symlink(OsStr::from_bytes(target), path).unwrap(),
        Node::File { executable, bytes } => {
            fs::write(&path, bytes).unwrap();
            let mode = if *executable { 0o755 } else { 0o644 };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

/// A template and a copy of it, in which a test makes its changes.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// With the text of some files; a name that ends with `*` is executable.
    fn new(files: &[(&str, &str)]) -> Place {
        let place = Place {
            folder: tempfile::tempdir().unwrap(),
        };
        for name in ["template", "work"] {
            fs::create_dir(place.path(name)).unwrap();
            for (path, text) in files {
                let node = Node::File {
                    executable: path.ends_with('*'),
                    bytes: text.as_bytes().to_vec(),
                };
                write_node(
                    &place.path(name),
                    path.trim_end_matches('*').as_bytes(),
                    &node,
                );
            }
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn work(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    fn template(&self) -> TemplateView {
        let template = self.path("template");
        TemplateView::new(&template, list_tree(&template).unwrap()).unwrap()
    }

    fn compare(&self, ignore: &[&str], bounds: &CompareBounds) -> (WorkspaceChanges, DiffText) {
        let (template, root) = (self.template(), self.path("work"));
        let after = AfterView::Tree {
            root: &root,
            copied_at: None,
        };
        let edits = WorkspaceEdits::read(&template, &after).unwrap();
        edits
            .compare(&PathGlobs::new(ignore).unwrap(), bounds)
            .unwrap()
    }

    fn changes(&self) -> WorkspaceChanges {
        self.compare(&[], &CompareBounds::default()).0
    }

    fn diff(&self) -> String {
        let (_, diff) = self.compare(&[], &CompareBounds::default());
        assert!(!diff.truncated);
        diff.text
    }
}

fn texts(paths: &[WorkspacePath]) -> Vec<String> {
    paths.iter().map(WorkspacePath::to_string).collect()
}

/// What `git apply` makes of a tree; the message where it refuses.
fn git_apply(tree: &MemoryTree, patch: &str) -> Result<MemoryTree, String> {
    let place = tempfile::tempdir().unwrap();
    for (path, node) in tree {
        write_node(place.path(), path, node);
    }
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(place.path());
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ] {
            git.env(name, value);
        }
        let output = git.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(())
        } else {
            Err(message)
        }
    };
    git(&["init", "-q", "."])?;
    git(&["add", "-A"])?;
    if !patch.is_empty() {
        fs::write(place.path().join(".git/patch"), patch).unwrap();
        git(&["apply", "--index", "--whitespace=nowarn", ".git/patch"])?;
    }
    Ok(read_tree(place.path()))
}

/// What [`apply_patch`] makes of a tree.
fn own_apply(tree: &MemoryTree, patch: &str) -> Result<MemoryTree, String> {
    let place = tempfile::tempdir().unwrap();
    for (path, node) in tree {
        write_node(place.path(), path, node);
    }
    let of_template = apply_above(place.path(), patch);
    let applied = apply_patch(place.path(), patch);
    let after = read_tree(place.path());
    if let Some(of_template) = of_template {
        let applied = applied.clone().map(|()| after.clone());
        assert_eq!(of_template, applied.map_err(|error| error.to_string()));
    }
    match applied {
        Ok(()) => Ok(after),
        Err(error) => {
            assert_eq!(after, *tree, "a refused patch was half applied");
            Err(error.to_string())
        }
    }
}

/// What [`patch_template`] makes of a tree, on a copy and as a layer above it; `None` of a tree that can't
/// be a template.
fn apply_above(tree: &Path, patch: &str) -> Option<Result<MemoryTree, String>> {
    let place = tempfile::tempdir().unwrap();
    let [copy, layer] = ["copy", "layer"].map(|name| place.path().join(name));
    fs::create_dir(&layer).unwrap();
    let template = TemplateView::new(tree, list_tree(tree).ok()?).unwrap();
    copy_tree(tree, &copy, &CopyRules::default()).unwrap();
    let changes = match patch_template(&template, patch) {
        Ok(changes) => changes,
        Err(error) => return Some(Err(error.to_string())),
    };
    for (path, entry) in changes {
        entry.put(&copy, &path, None).unwrap();
        entry.put_in_layer(&template, &layer, &path, None).unwrap();
    }
    let digest = |after: AfterView| {
        let edits = WorkspaceEdits::read(&template, &after).unwrap();
        edits.digest().unwrap()
    };
    let upper = AfterView::Overlay {
        upper: &layer,
        attributes: OverlayAttributes::User,
    };
    let whole = AfterView::Tree {
        root: &copy,
        copied_at: None,
    };
    assert_eq!(digest(upper), digest(whole));
    Some(Ok(read_tree(&copy)))
}
