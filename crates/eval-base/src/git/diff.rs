//! What differs between a commit and the files as they lie there.

use std::collections::BTreeMap;
use std::path::Path;

use super::call::{call, call_with};
use super::{GitError, line};

/// The most that a list of files may hold, in bytes: some millions of them.
const MAX_LIST: u64 = 256 << 20;

/// A tracked file that differs. The path is relative to the folder that was asked about, as git has
/// it: any bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: Vec<u8>,
    /// Lines added and removed; `None` of files that have no lines: binary ones and submodules.
    pub lines: Option<(usize, usize)>,
}

/// The files at or below `dir` that git tracks and that differ from the commit, staged or not, by
/// path. A renamed file is one that was removed and one that was added. What is not committed
/// within a submodule is not looked at.
pub fn differing(dir: &Path, commit: &str) -> Result<Vec<ChangedFile>, GitError> {
    let args = [
        "-c",
        "diff.autoRefreshIndex=true",
        "diff",
        "-O/dev/null",
        "--raw",
        "--numstat",
        "-z",
        "--relative",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--diff-algorithm=myers",
        "--ignore-submodules=dirty",
        "--submodule=short",
        commit,
        "--",
    ];
    Ok(parsed(&call_with(dir, &args, None, MAX_LIST)?.stdout))
}

/// `:100644 100644 <hash> <hash> M␀path␀` for each file, then `12␉3␉path␀` for each, with `-` for
/// both numbers of a binary one. A path in conflict comes more than once.
fn parsed(answer: &[u8]) -> Vec<ChangedFile> {
    const SUBMODULE: &[u8] = b"160000";
    let mut files: BTreeMap<&[u8], Option<(usize, usize)>> = BTreeMap::new();
    let mut submodules = Vec::new();
    let mut rows = answer.split(|byte| *byte == 0);
    while let Some(row) = rows.next() {
        if let Some(modes) = row.strip_prefix(b":") {
            let Some(path) = rows.next() else { break };
            if modes
                .split(|byte| *byte == b' ')
                .take(2)
                .any(|mode| mode == SUBMODULE)
            {
                submodules.push(path);
            }
            files.entry(path).or_insert(Some((0, 0)));
            continue;
        }
        let mut parts = row.splitn(3, |byte| *byte == b'\t');
        let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<usize>().ok();
        let lines = number(added).zip(number(removed));
        let known = files.entry(path).or_insert(Some((0, 0)));
        *known = match (*known, lines) {
            (Some(known), Some(lines)) => Some(known.max(lines)),
            _ => None,
        };
    }
    for path in submodules {
        files.insert(path, None);
    }
    files
        .into_iter()
        .map(|(path, lines)| ChangedFile {
            path: path.to_vec(),
            lines,
        })
        .collect()
}

/// Paths at or below `dir` that git neither tracks nor ignores, relative to `dir`. One that ends
/// with `/` is a repository of its own.
pub fn untracked(dir: &Path) -> Result<Vec<Vec<u8>>, GitError> {
    let listing = call_with(
        dir,
        &["ls-files", "--others", "--exclude-standard", "-z"],
        None,
        MAX_LIST,
    )?;
    Ok(listing
        .stdout
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(<[u8]>::to_vec)
        .collect())
}

/// The commit at which the history of `HEAD` and that of another commit part; `None` when they have
/// none in common, or there is no `HEAD` yet.
pub fn merge_base(dir: &Path, commit: &str) -> Result<Option<String>, GitError> {
    match call(dir, &["merge-base", commit, "HEAD"]) {
        Ok(answer) => Ok(Some(line(answer.stdout)).filter(|commit| !commit.is_empty())),
        Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// True for a clone that lacks older commits.
pub fn is_shallow(dir: &Path) -> bool {
    call(dir, &["rev-parse", "--is-shallow-repository"])
        .is_ok_and(|answer| line(answer.stdout) == "true")
}
