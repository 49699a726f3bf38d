//! The suites that may refer to a file: beside it, and upwards to the project root.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::refs::project_root;
use eval_base::files::open_stream;

/// Bytes of a file that are searched for the key of a suite.
const MAX_HEAD: u64 = 64 << 10;
/// Files of a folder that are searched.
const MAX_FILES: usize = 500;
/// The name of a suite that is looked at before its neighbours.
const USUAL: &str = "eval-suite";

/// Suites by folder, each folder read once.
#[derive(Debug, Default)]
pub(super) struct EnclosingSuites {
    by_folder: HashMap<PathBuf, Vec<PathBuf>>,
}

impl EnclosingSuites {
    /// Suites that may refer to `file`, the nearest first: in its folder and those above it, each
    /// with its `evals/`, as far as the project root (without one, the working folder).
    pub fn of(&mut self, file: &Path, cwd: &Path) -> Vec<PathBuf> {
        let Some(dir) = file.parent() else {
            return Vec::new();
        };
        let root = project_root(dir);
        let top = match root == dir && !dir.join(".git").exists() && dir.starts_with(cwd) {
            true => cwd,
            false => &root,
        };
        let mut suites: Vec<PathBuf> = Vec::new();
        for folder in dir.ancestors().take_while(|dir| dir.starts_with(top)) {
            for folder in [folder.to_owned(), folder.join("evals")] {
                let found = self
                    .by_folder
                    .entry(folder)
                    .or_insert_with_key(|folder| suites_in(folder));
                suites.extend(found.iter().cloned());
            }
        }
        suites
    }
}

/// The files of a folder that look like suites, the usual name first.
fn suites_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|e| e == "yaml" || e == "yml" || e == "json")
        })
        .collect();
    files.sort_by_key(|path| {
        (
            path.file_stem().is_none_or(|stem| stem != USUAL),
            path.clone(),
        )
    });
    files.truncate(MAX_FILES);
    files.retain(|path| holds_suite(path));
    files
}

fn holds_suite(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = open_stream(path).and_then(|file| file.take(MAX_HEAD).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains("eval_suite")
}
