//! Paths inside of a workspace, and globs over them.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::str::FromStr;

use eval_base::globs::{GlobError, GlobMatcher, is_glob, path_glob};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path below the top of a workspace: names separated by `/`, of any bytes, none of them empty,
/// `.` or `..`.
///
/// Ordered by bytes, as git orders paths. As text (`Display`, serde) it is in git's quotes when it
/// holds quotation marks, backslashes, control characters or bytes that are not UTF-8:
/// `"a\nb"`, `"\377"`. Text parses back to the same path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
pub struct WorkspacePath(#[schemars(with = "String")] Box<[u8]>);

/// A text that is not a path inside of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("an empty path")]
    Empty,
    #[error("`{0}` is absolute; a path inside of a workspace is relative")]
    Absolute(String),
    #[error("`{0}` has an empty part, `.` or `..`")]
    Part(String),
    #[error("`{0}` contains a zero byte")]
    Zero(String),
    #[error("`{0}` is not a path as git quotes it")]
    Quotes(String),
}

impl WorkspacePath {
    /// # Errors
    /// Empty and absolute paths, zero bytes, and parts that are empty, `.` or `..`.
    pub fn new(bytes: &[u8]) -> Result<WorkspacePath, PathError> {
        let shown = || quoted(bytes);
        if bytes.is_empty() {
            return Err(PathError::Empty);
        }
        if bytes[0] == b'/' {
            return Err(PathError::Absolute(shown()));
        }
        if bytes.contains(&0) {
            return Err(PathError::Zero(shown()));
        }
        let odd = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        if bytes.split(|byte| *byte == b'/').any(odd) {
            return Err(PathError::Part(shown()));
        }
        Ok(WorkspacePath(bytes.into()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The names from the top down.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    pub fn name(&self) -> &[u8] {
        self.parts().next_back().unwrap_or_default()
    }

    /// The folder that it is in; `None` at the top.
    pub fn parent(&self) -> Option<WorkspacePath> {
        let end = self.0.iter().rposition(|byte| *byte == b'/')?;
        Some(WorkspacePath(self.0[..end].into()))
    }

    /// The folders that it is in, innermost first.
    pub fn parents(&self) -> impl Iterator<Item = WorkspacePath> {
        std::iter::successors(self.parent(), WorkspacePath::parent)
    }

    /// Whether it is somewhere below `folder`.
    pub fn is_below(&self, folder: &WorkspacePath) -> bool {
        let rest = self.0.strip_prefix(&*folder.0);
        rest.is_some_and(|rest| rest.first() == Some(&b'/'))
    }

    /// `name` in this folder; `None` is the top.
    pub(crate) fn child(folder: Option<&WorkspacePath>, name: &[u8]) -> WorkspacePath {
        let Some(folder) = folder else {
            return WorkspacePath(name.into());
        };
        WorkspacePath([&folder.0, &b"/"[..], name].concat().into())
    }

    /// The bounds of everything below it, in the order of bytes: `0` follows `/`.
    pub(crate) fn range_below(&self) -> std::ops::Range<WorkspacePath> {
        let bound = |byte: &[u8]| WorkspacePath([&self.0, byte].concat().into());
        bound(b"/")..bound(b"0")
    }

    /// The path at `from` moved to the same place below `to`.
    pub(crate) fn moved(&self, from: Option<&WorkspacePath>, to: &WorkspacePath) -> WorkspacePath {
        let rest = match from {
            None => &self.0[..],
            Some(from) => &self.0[from.0.len() + 1..],
        };
        WorkspacePath::child(Some(to), rest)
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.0))
    }
}

impl fmt::Debug for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for WorkspacePath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        WorkspacePath::new(&unquoted(text)?)
    }
}

impl Serialize for WorkspacePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WorkspacePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Escapes of one letter, as git writes them.
const ESCAPES: [(u8, u8); 9] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (7, b'a'),
    (8, b'b'),
    (9, b't'),
    (10, b'n'),
    (11, b'v'),
    (12, b'f'),
    (13, b'r'),
];

/// A name as git prints it with `core.quotePath=false`; control characters beyond ASCII are escaped,
/// too.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let odd = |letter: char| letter.is_control() || letter == '"' || letter == '\\';
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains(odd)
    {
        return text.to_owned();
    }
    let mut text = String::from("\"");
    let escape = |byte: u8, text: &mut String| match ESCAPES.iter().find(|(of, _)| *of == byte) {
        Some((_, letter)) => text.extend(['\\', char::from(*letter)]),
        None => text.push_str(&format!("\\{byte:03o}")),
    };
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if odd(letter) {
                let mut buffer = [0; 4];
                for byte in letter.encode_utf8(&mut buffer).bytes() {
                    escape(byte, &mut text);
                }
            } else {
                text.push(letter);
            }
        }
        for byte in chunk.invalid() {
            escape(*byte, &mut text);
        }
    }
    text.push('"');
    text
}

/// The bytes of a name that may be in quotes.
pub(crate) fn unquoted(text: &str) -> Result<Vec<u8>, PathError> {
    match quoted_prefix(text) {
        None if text.starts_with('"') => Err(PathError::Quotes(text.to_owned())),
        None => Ok(text.as_bytes().to_vec()),
        Some((bytes, "")) => Ok(bytes),
        Some(_) => Err(PathError::Quotes(text.to_owned())),
    }
}

/// A name in quotes at the beginning of `text`, and the rest of the text.
pub(crate) fn quoted_prefix(text: &str) -> Option<(Vec<u8>, &str)> {
    let mut bytes = text.strip_prefix('"')?.bytes().enumerate();
    let mut name = Vec::new();
    loop {
        let (at, byte) = bytes.next()?;
        match byte {
            b'"' => return Some((name, &text[at + 2..])),
            b'\\' => {
                let (_, letter) = bytes.next()?;
                if let Some((of, _)) = ESCAPES.iter().find(|(_, escape)| *escape == letter) {
                    name.push(*of);
                    continue;
                }
                let mut value = 0u32;
                let rest = [bytes.next()?.1, bytes.next()?.1];
                for digit in [letter, rest[0], rest[1]] {
                    value = value * 8 + char::from(digit).to_digit(8)?;
                }
                name.push(u8::try_from(value).ok()?);
            }
            _ => name.push(byte),
        }
    }
}

/// Globs over paths of a workspace, of which any may fit. `*` stays within one folder, `**` crosses
/// folders. What fits a folder fits everything below it: `target` and `target/**` leave out the same
/// files.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs {
    globs: Vec<PathGlob>,
    /// Paths as they are.
    paths: std::collections::BTreeSet<WorkspacePath>,
}

#[derive(Debug, Clone)]
struct PathGlob {
    text: String,
    matcher: GlobMatcher,
}

impl PathGlobs {
    /// # Errors
    /// The first pattern that is not a glob.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<PathGlobs, GlobError> {
        let glob = |pattern: &S| {
            let text = pattern.as_ref().trim_end_matches('/').to_owned();
            match path_glob(&text) {
                Ok(matcher) => Ok(PathGlob { text, matcher }),
                Err(reason) => Err(GlobError {
                    pattern: text,
                    reason,
                }),
            }
        };
        patterns
            .iter()
            .map(glob)
            .collect::<Result<_, _>>()
            .map(|globs| PathGlobs {
                globs,
                ..PathGlobs::default()
            })
    }

    /// Globs that fit these paths alone, with what is below them.
    pub fn of_paths<'p>(paths: impl IntoIterator<Item = &'p WorkspacePath>) -> PathGlobs {
        let paths = paths.into_iter().cloned().collect();
        PathGlobs {
            paths,
            ..PathGlobs::default()
        }
    }

    /// The same, which also fit these paths and what is below them.
    pub fn with_paths(mut self, paths: impl IntoIterator<Item = WorkspacePath>) -> PathGlobs {
        self.paths.extend(paths);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.globs.is_empty() && self.paths.is_empty()
    }

    pub fn fit(&self, path: &WorkspacePath) -> bool {
        !self.is_empty()
            && (self.fit_exactly(path) || path.parents().any(|path| self.fit_exactly(&path)))
    }

    fn fit_exactly(&self, path: &WorkspacePath) -> bool {
        let is_match = |glob: &PathGlob| glob.matcher.is_match(path.as_path());
        self.paths.contains(path) || self.globs.iter().any(is_match)
    }

    /// Whether a link at `path` could bring other files to where a glob fits: it is at, or above, the
    /// folder that a glob begins with (`tests/unit` of `tests/unit/**`).
    pub(crate) fn begin_at_or_below(&self, path: &WorkspacePath) -> bool {
        let begins = |glob: &PathGlob| {
            let mut fixed = glob.text.split('/').take_while(|part| !is_glob(part));
            path.parts()
                .all(|part| fixed.next().map(str::as_bytes) == Some(part))
        };
        self.globs.iter().any(begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::new(text.as_bytes()).unwrap()
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        for (bytes, message) in [
            (&b""[..], "an empty path"),
            (
                b"/etc/passwd",
                "`/etc/passwd` is absolute; a path inside of a workspace is relative",
            ),
            (b"a/../b", "`a/../b` has an empty part, `.` or `..`"),
            (b"..", "`..` has an empty part, `.` or `..`"),
            (b"./a", "`./a` has an empty part, `.` or `..`"),
            (b"a//b", "`a//b` has an empty part, `.` or `..`"),
            (b"a/", "`a/` has an empty part, `.` or `..`"),
            (b"a\0b", "`\"a\\000b\"` contains a zero byte"),
        ] {
            assert_eq!(WorkspacePath::new(bytes).unwrap_err().to_string(), message);
        }
        assert_eq!(
            "\"a".parse::<WorkspacePath>().unwrap_err().to_string(),
            "`\"a` is not a path as git quotes it"
        );
    }

    #[test]
    fn odd_names_are_quoted_as_git_does() {
        for (bytes, text) in [
            (&b"a b/c.d"[..], "a b/c.d"),
            ("grün/日本".as_bytes(), "grün/日本"),
            (b"a\nb\t\"c\"\\", r#""a\nb\t\"c\"\\""#),
            (b"\xff\x01z", r#""\377\001z""#),
            ("é\u{9b}31m".as_bytes(), r#""é\302\23331m""#),
        ] {
            let path = WorkspacePath::new(bytes).unwrap();
            assert_eq!(path.to_string(), text);
            assert_eq!(text.parse::<WorkspacePath>().unwrap(), path);
        }
    }

    #[test]
    fn globs_fit_what_is_below_a_folder() {
        let globs =
            PathGlobs::new(&["tests/**", "*.lock", "**/conftest.py", "node_modules/"]).unwrap();
        for fits in [
            "tests/a",
            "tests/a/b",
            "x.lock",
            "a/b/conftest.py",
            "conftest.py",
            "node_modules",
            "node_modules/a/b",
        ] {
            assert!(globs.fit(&path(fits)), "{fits}");
        }
        for differs in ["tests", "a/x.lock", "test", "a/node_modules", "testsx/a"] {
            assert!(!globs.fit(&path(differs)), "{differs}");
        }
        assert!(
            globs.begin_at_or_below(&path("tests")) && !globs.begin_at_or_below(&path("tests/a"))
        );
        assert!(!globs.begin_at_or_below(&path("a")));
        assert!(!PathGlobs::default().fit(&path("a")));
        assert_eq!(PathGlobs::new(&["{a"]).unwrap_err().pattern, "{a");
    }

    proptest! {
        #[test]
        fn any_path_survives_as_text(bytes in proptest::collection::vec(any::<u8>(), 1..20)) {
            if let Ok(path) = WorkspacePath::new(&bytes) {
                let text = path.to_string();
                prop_assert_eq!(&text.parse::<WorkspacePath>().unwrap(), &path);
                let json = serde_json::to_string(&path).unwrap();
                prop_assert_eq!(serde_json::from_str::<WorkspacePath>(&json).unwrap(), path);
            }
        }
    }
}
