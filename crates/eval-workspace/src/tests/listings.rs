//! What is foreseen of a tree against the tree that is made.

use proptest::prelude::*;

use super::random::{path, tree};
use super::*;

const GLOBS: [&str; 7] = ["a", "**/a", "tests/**", "b", "b/**", "**/c", "**"];

proptest! {
    #[test]
    fn a_list_changes_as_its_tree_does(
        tree in tree(),
        steps in proptest::collection::vec((path(), any::<bool>(), proptest::option::of(any::<u8>())), 0..6),
        globs in proptest::collection::vec(proptest::sample::select(GLOBS.to_vec()), 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let [source, copy, moved] = ["source", "copy", "moved"].map(|name| folder.path().join(name));
        for folder in [&source, &moved] {
            fs::create_dir(folder).unwrap();
        }
        for (path, node) in &tree {
            write_node(&source, path, node);
        }
        let rules = CopyRules::default();
        let mut foreseen = list_source(&source, &rules).unwrap();
        prop_assert_eq!(&copy_tree(&source, &copy, &rules).unwrap(), &foreseen);
        for (path, executable, content) in steps {
            let path = WorkspacePath::new(&path).unwrap();
            match content {
                Some(byte) => {
                    write_file(&copy, &path, &[byte], executable, None).unwrap();
                    foreseen.put(path, &[byte], executable);
                }
                None => {
                    // With a file or a link in the way it fails, and nothing changes.
                    if remove_below(&copy, &path).is_ok() {
                        foreseen.remove(&path);
                    }
                }
            }
        }
        prop_assert_eq!(&list_tree(&copy).unwrap(), &foreseen);
        let globs = PathGlobs::new(&globs.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        move_files(&copy, &moved, &globs, None).unwrap();
        let (shown, hidden) = foreseen.split(&globs);
        prop_assert_eq!(&list_tree(&copy).unwrap(), &shown);
        prop_assert_eq!(&list_tree(&moved).unwrap(), &hidden);
    }
}
