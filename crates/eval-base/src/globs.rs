//! Globs over ids, in which `*` crosses slashes, and over paths, in which it does not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;
pub use globset::GlobMatcher;

/// Whether a text is more than a name.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// A glob over ids.
///
/// # Errors
/// Why the text is not a glob.
pub fn id_glob(pattern: &str) -> Result<GlobMatcher, String> {
    matcher(pattern, false)
}

/// A glob in which `*` stays within one folder and `**` crosses folders.
///
/// # Errors
/// Why the text is not a glob.
pub fn path_glob(pattern: &str) -> Result<GlobMatcher, String> {
    matcher(pattern, true)
}

fn matcher(pattern: &str, within_folders: bool) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(within_folders)
        .backslash_escape(true)
        .build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

/// A text that is not a glob.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct GlobError {
    pub pattern: String,
    pub reason: String,
}

/// Patterns over ids, of which any may fit. A pattern that is exactly an id means that id.
#[derive(Debug, Clone, Default)]
pub struct IdGlobs(Vec<(String, GlobMatcher)>);

impl IdGlobs {
    /// # Errors
    /// The first pattern that is not a glob.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<IdGlobs, GlobError> {
        let glob = |pattern: &S| {
            let pattern = pattern.as_ref().to_owned();
            match id_glob(&pattern) {
                Ok(glob) => Ok((pattern, glob)),
                Err(reason) => Err(GlobError { pattern, reason }),
            }
        };
        let globs: Result<_, GlobError> = patterns.iter().map(glob).collect();
        globs.map(IdGlobs)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn fit(&self, id: &str) -> bool {
        self.0.iter().any(|glob| fits(glob, id))
    }

    /// As [`IdGlobs::fit`]; without a pattern every id fits.
    pub fn fit_or_empty(&self, id: &str) -> bool {
        self.is_empty() || self.fit(id)
    }

    /// The patterns that none of the ids fits.
    pub fn unmatched<'a>(&'a self, ids: &[&str]) -> Vec<&'a str> {
        let fits_none = |glob: &&(String, GlobMatcher)| !ids.iter().any(|id| fits(glob, id));
        let unmatched = self.0.iter().filter(fits_none);
        unmatched.map(|(text, _)| text.as_str()).collect()
    }
}

fn fits((text, glob): &(String, GlobMatcher), id: &str) -> bool {
    text == id || glob.is_match(id)
}

/// The files below `base` whose relative path matches, sorted, when `pattern` is the text of
/// `glob`; `None` when more than `most` entries would be looked at. Linked folders are not entered.
pub fn files_below(
    base: &Path,
    pattern: &str,
    glob: &GlobMatcher,
    most: usize,
) -> Option<BTreeSet<PathBuf>> {
    // Braces may hold folders.
    let deep = if pattern.contains("**") || pattern.contains('{') {
        usize::MAX
    } else {
        pattern.split('/').count()
    };
    let mut walk = GlobWalk {
        base,
        glob,
        found: BTreeSet::new(),
        left: most,
    };
    walk.enter(base, deep);
    (walk.left > 0).then_some(walk.found)
}

struct GlobWalk<'w> {
    base: &'w Path,
    glob: &'w GlobMatcher,
    found: BTreeSet<PathBuf>,
    left: usize,
}

impl GlobWalk<'_> {
    fn enter(&mut self, dir: &Path, deep: usize) {
        let Ok(entries) = dir.read_dir() else { return };
        for entry in entries.flatten() {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                return;
            }
            let path = entry.path();
            // A linked folder could lead in circles; `file_type` does not follow links.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if deep > 1 && entry.file_name() != ".git" {
                    self.enter(&path, deep.saturating_sub(1));
                }
            } else if path
                .strip_prefix(self.base)
                .is_ok_and(|path| self.glob.is_match(path))
                && path.is_file()
            {
                self.found.insert(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_match_across_slashes_and_unmatched_patterns_are_listed() {
        let globs = IdGlobs::new(&["reg-*", "a\\[b", "x"]).unwrap();
        assert!(globs.fit("reg-a/b") && globs.fit("a[b") && !globs.fit("y"));
        assert_eq!(globs.unmatched(&["reg-1", "a[b"]), ["x"]);
        assert!(IdGlobs::default().fit_or_empty("anything"));
        let error = IdGlobs::new(&["x", "{a"]).unwrap_err();
        assert_eq!(error.pattern, "{a");
    }
}
