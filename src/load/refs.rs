//! `$ref`s and other paths that files name: resolving, globs, and the fence around the project.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::problem::{Code, Problem};
use super::source::Span;
use eval_base::globs::{GlobMatcher, files_below, is_glob, path_glob};
use eval_base::nearest::did_you_mean;

/// Files that one glob may look at.
const MAX_WALK: usize = 200_000;

/// The folders that files may name paths in, with symbolic links resolved.
#[derive(Debug, Clone, Default)]
pub(super) struct PathFence {
    folders: Vec<PathBuf>,
    /// What was looked for, inside or not.
    read: Arc<Mutex<ReadFiles>>,
}

/// Files that a suite is made of, whether they exist or not, and globs over further ones.
#[derive(Debug, Clone, Default)]
pub struct ReadFiles {
    /// Absolute.
    pub files: BTreeSet<PathBuf>,
    /// Each with the folder in which it starts.
    pub globs: Vec<(PathBuf, GlobMatcher)>,
}

impl ReadFiles {
    /// True when one of the globs matches the path.
    pub fn matches(&self, path: &Path) -> bool {
        self.globs.iter().any(|(folder, glob)| {
            path.strip_prefix(folder)
                .is_ok_and(|below| glob.is_match(below))
        })
    }
}

impl PathFence {
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> PathFence {
        PathFence::default().around(folders)
    }

    /// Another fence that notes what is read in the same place.
    pub fn around<'a>(&self, folders: impl IntoIterator<Item = &'a Path>) -> PathFence {
        let folders = folders
            .into_iter()
            .map(|f| f.canonicalize().unwrap_or_else(|_| f.to_owned()))
            .collect();
        PathFence {
            folders,
            read: Arc::clone(&self.read),
        }
    }

    pub fn note(&self, file: &Path) {
        self.noted().files.insert(file.to_owned());
    }

    fn note_glob(&self, folder: &Path, glob: &GlobMatcher) {
        self.noted().globs.push((folder.to_owned(), glob.clone()));
    }

    /// Notes everything below a folder.
    pub fn note_below(&self, folder: &Path) {
        if let Ok(glob) = path_glob("**") {
            self.note_glob(folder, &glob);
        }
    }

    /// Everything that was looked for so far.
    pub fn read_files(&self) -> ReadFiles {
        self.noted().clone()
    }

    fn noted(&self) -> MutexGuard<'_, ReadFiles> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn holds(&self, real: &Path) -> bool {
        self.folders.is_empty() || self.folders.iter().any(|f| real.starts_with(f))
    }
}

/// A `$ref` taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileReference {
    /// Files in a fixed order; more than one only of a glob.
    pub files: Vec<PathBuf>,
    /// The eval id after `#`.
    pub fragment: Option<String>,
    pub is_glob: bool,
}

/// `path`, `glob` or `path#id`, relative to `dir`.
pub(super) fn resolve(
    dir: &Path,
    text: &str,
    fence: &PathFence,
    at: Span,
) -> Result<FileReference, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::error(Code::BadPath, at, "the path is empty"));
    }
    let (path, fragment) = split_fragment(dir, text);
    if is_glob(path) && !dir.join(path).is_file() {
        let files = expand(dir, path, fence, at)?;
        return Ok(FileReference {
            files,
            fragment,
            is_glob: true,
        });
    }
    let file = existing_file(dir, path, fence, at)?;
    Ok(FileReference {
        files: vec![file],
        fragment,
        is_glob: false,
    })
}

/// A file that must exist inside the fence: its absolute path, without `.` and `..`.
pub(super) fn existing_file(
    dir: &Path,
    text: &str,
    fence: &PathFence,
    at: Span,
) -> Result<PathBuf, Problem> {
    let (path, real) = existing(dir, text, fence, at)?;
    if real.is_dir() {
        let message = format!("`{text}` is a folder, not a file");
        let hint = format!(
            "name the files in it: `{}/*.yaml`",
            text.trim_end_matches('/')
        );
        return Err(Problem::error(Code::BadPath, at, message).hint(hint));
    }
    Ok(path)
}

/// A folder that must exist inside the fence: its real path.
pub(super) fn existing_folder(
    dir: &Path,
    text: &str,
    fence: &PathFence,
    at: Span,
) -> Result<PathBuf, Problem> {
    let (_, real) = existing(dir, text, fence, at)?;
    if real.is_dir() {
        return Ok(real);
    }
    Err(Problem::error(
        Code::BadPath,
        at,
        format!("`{text}` is a file, not a folder"),
    ))
}

/// What exists inside the fence: its absolute path without `.` and `..`, and its real one.
pub(super) fn existing(
    dir: &Path,
    text: &str,
    fence: &PathFence,
    at: Span,
) -> Result<(PathBuf, PathBuf), Problem> {
    existing_as("file", dir, text, fence, at)
}

/// The same of what is to be a folder.
pub(super) fn existing_tree(
    dir: &Path,
    text: &str,
    fence: &PathFence,
    at: Span,
) -> Result<(PathBuf, PathBuf), Problem> {
    existing_as("folder", dir, text, fence, at)
}

fn existing_as(
    noun: &str,
    dir: &Path,
    text: &str,
    fence: &PathFence,
    at: Span,
) -> Result<(PathBuf, PathBuf), Problem> {
    if text.trim().is_empty() || text.contains('\0') {
        return Err(Problem::error(
            Code::BadPath,
            at,
            "the path is empty or contains a NUL character",
        ));
    }
    let path = lexical(&dir.join(text));
    fence.note(&path);
    let Ok(real) = path.canonicalize() else {
        // Of a path that is not there only the words tell whether it would lie outside.
        return Err(
            if fence.holds(&path) || nearest_real(&path).is_some_and(|r| fence.holds(&r)) {
                missing(noun, &path, text, at)
            } else {
                escaping(text, at)
            },
        );
    };
    if !fence.holds(&real) {
        return Err(escaping(text, at));
    }
    Ok((path, real))
}

/// The real path of the deepest ancestor that exists.
fn nearest_real(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|a| a.canonicalize().ok())
}

fn missing(noun: &str, path: &Path, text: &str, at: Span) -> Problem {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let siblings: Vec<String> = path
        .parent()
        .and_then(|dir| dir.read_dir().ok())
        .map(|entries| {
            entries
                .flatten()
                .map(|e| e.file_name().to_string_lossy().into_owned())
                .collect()
        })
        .unwrap_or_default();
    let slashes = text.replace('\\', "/");
    let slashes = (slashes != text).then(|| format!("separate folders with `/`: `{slashes}`"));
    let near =
        did_you_mean(&name, siblings.iter().map(String::as_str)).filter(|_| slashes.is_none());
    let hint = near.map(|near| {
        let folder = text
            .rsplit_once('/')
            .map_or(String::new(), |(folder, _)| format!("{folder}/"));
        format!("did you mean `{folder}{near}`?")
    });
    Problem::error(
        Code::MissingRef,
        at,
        format!("the {noun} `{text}` does not exist"),
    )
    .maybe_hint(
        slashes
            .or(hint)
            .or_else(|| Some("paths are relative to the file that contains them".to_owned())),
    )
}

fn escaping(text: &str, at: Span) -> Problem {
    Problem::error(
        Code::EscapingRef,
        at,
        format!("`{text}` is outside the project"),
    )
    .hint("if that is intended, list the folder under `allow_paths:` in the suite")
}

/// Cuts `path#id`; a `#` that belongs to an existing file's name stays.
fn split_fragment<'a>(dir: &Path, text: &'a str) -> (&'a str, Option<String>) {
    if !text.contains('#') || dir.join(text).is_file() {
        return (text, None);
    }
    let cuts = || {
        text.match_indices('#')
            .map(|(at, _)| (&text[..at], &text[at + 1..]))
    };
    let cut = cuts()
        .find(|(path, _)| dir.join(path).is_file())
        .or_else(|| cuts().next());
    cut.map_or((text, None), |(path, id)| (path, Some(id.to_owned())))
}

/// The files that a glob matches, sorted.
pub(super) fn expand(
    dir: &Path,
    pattern: &str,
    fence: &PathFence,
    at: Span,
) -> Result<Vec<PathBuf>, Problem> {
    let mut base = dir.to_path_buf();
    let mut rest: Vec<&str> = pattern.split('/').collect();
    if pattern.starts_with('/') {
        base = PathBuf::from("/");
    }
    while rest.len() > 1 && rest.first().is_some_and(|part| !is_glob(part)) {
        base.push(rest.remove(0));
    }
    let base = lexical(&base);
    let rest = rest.join("/");
    let matcher = path_glob(&rest).map_err(|reason| {
        Problem::error(
            Code::BadGlob,
            at,
            format!("`{pattern}` is not a glob: {reason}"),
        )
    })?;
    fence.note_glob(&base, &matcher);
    if nearest_real(&base).is_some_and(|real| !fence.holds(&real)) {
        return Err(escaping(pattern, at));
    }
    let Some(found) = files_below(&base, &rest, &matcher, MAX_WALK) else {
        let message = format!("`{pattern}` searches more than {MAX_WALK} files");
        return Err(Problem::error(Code::BadGlob, at, message)
            .hint("begin the glob with a narrower folder"));
    };
    let inside: Vec<PathBuf> = found
        .into_iter()
        .filter(|f| f.canonicalize().is_ok_and(|real| fence.holds(&real)))
        .collect();
    inside.iter().for_each(|file| fence.note(file));
    if inside.is_empty() {
        return Err(
            Problem::error(Code::EmptyGlob, at, format!("`{pattern}` matches no file"))
                .hint("paths are relative to the file that contains them; `**` crosses folders"),
        );
    }
    Ok(inside)
}

/// A path without `.` and `..`, by its words alone.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    out.push("..");
                }
            }
            other => out.push(other),
        }
    }
    out
}

/// The nearest ancestor of a folder (itself included) with a `.git`, else the folder.
pub(crate) fn project_root(dir: &Path) -> PathBuf {
    dir.ancestors()
        .find(|a| a.join(".git").exists())
        .unwrap_or(dir)
        .to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::source::SourceFiles;

    #[test]
    fn backslashes_are_answered_with_slashes() {
        let at = Span::new(SourceFiles::new().add("suite.yaml", ""), 0, 0);
        let problem = missing("file", Path::new("/none/a\\b.yaml"), "a\\b.yaml", at);
        let hint = problem.hint.as_deref();
        assert_eq!(hint, Some("separate folders with `/`: `a/b.yaml`"));
    }
}
