//! Runs that files of a project name, such as accepted scores: by id, or by the path of the journal.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::bytes::Regex;

/// Folders in which no definitions are.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];
const CHUNK: usize = 1 << 20;
/// Bytes of the longest name of a run, about, which may lie across two chunks.
const OVERLAP: usize = 64;

static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let id = r"eval-(?<date>[0-9]{8})-(?<at>[0-9]{6}(?:-[0-9]+)?)";
    let path = r"(?<day>[0-9]{4}-[0-9]{2}-[0-9]{2})/run-(?<time>[0-9]{6}(?:-[0-9]+)?)";
    Regex::new(&format!("{id}|{path}")).ok()
});

/// The ids of runs that YAML and JSON files below `roots` name, each with the first such file. What
/// is below `results` is left out, and so are links to folders.
///
/// # Errors
/// The folder or file that can't be read: it may name any run.
pub fn named_runs(
    roots: &[PathBuf],
    results: &Path,
) -> Result<BTreeMap<String, PathBuf>, (PathBuf, io::Error)> {
    let mut named = BTreeMap::new();
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let results = real(results);
    let mut folders: Vec<PathBuf> = roots.iter().map(|root| real(root)).collect();
    folders.sort();
    folders.dedup();
    while let Some(folder) = folders.pop() {
        let fail = |error| (folder.clone(), error);
        for entry in fs::read_dir(&folder).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(fail)?);
            if kind.is_dir() {
                let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
                if !skipped && path != results {
                    folders.push(path);
                }
            } else if is_definition(&path) && path.is_file() {
                let found = names_in(&path).map_err(|error| (path.clone(), error))?;
                for id in found {
                    named.entry(id).or_insert_with(|| path.clone());
                }
            }
        }
    }
    Ok(named)
}

fn is_definition(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ["yaml", "yml", "json"].contains(&ending))
}

fn names_in(path: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let (mut found, mut text) = (Vec::new(), Vec::new());
    loop {
        text.drain(..text.len().saturating_sub(OVERLAP));
        let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut text)?;
        if read == 0 {
            return Ok(found);
        }
        for captures in NAMES.iter().flat_map(|names| names.captures_iter(&text)) {
            let part = |name: &str| {
                let part = captures.name(name)?;
                Some(String::from_utf8_lossy(part.as_bytes()).into_owned())
            };
            let date = part("date").or_else(|| Some(part("day")?.replace('-', "")));
            if let Some((date, at)) = date.zip(part("at").or_else(|| part("time"))) {
                found.push(format!("eval-{date}-{at}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_across_chunks_and_not_in_results() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let id = "eval-20260304-101500-2";
        for shift in [0, 1, 11, 21, 30] {
            let text = format!("{}\n{id}\n", "x".repeat(CHUNK - 1 - shift));
            write("deep/er/scores.json", &text);
            let named = named_runs(&[dir.path().to_owned()], &dir.path().join("results"));
            assert!(named.expect("read").contains_key(id), "{shift}");
        }
        write("deep/er/scores.json", "{}");
        write("a.yml", "path: results/2026-03-05/run-101501.journal.jsonl");
        write("results/2026-03-06/run-1.json", "eval-20260306-000001");
        write(".git/x.json", "eval-20260306-000002");
        write("notes.txt", "eval-20260306-000003");
        let named = named_runs(&[dir.path().to_owned()], &dir.path().join("results"));
        let named = named.expect("read");
        assert_eq!(named.keys().collect::<Vec<_>>(), ["eval-20260305-101501"]);
        let gone = dir.path().join("gone");
        assert!(named_runs(&[gone], dir.path()).is_err());
    }
}
