//! git, asked as a program: the commit of a checkout, files as they were at a revision, and what
//! differs from one.
//!
//! Every call names its folder (`-C`), reads nothing from the terminal, takes no locks, ends within
//! a time and gives bounded output. What git says is passed on where we have no better words.

mod call;
mod diff;
#[cfg(test)]
mod tests;

use crate::nearest::did_you_mean;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use call::{call, call_with, call_with_index};
pub use diff::{ChangedFile, differing, is_shallow, merge_base, untracked};

/// The most that the files of one folder at a revision may hold together, in bytes.
const MAX_FILES: u64 = 1 << 30;

/// Why git gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed, or is not on the PATH")]
    NotInstalled,
    #[error("{} is not in a git repository", .dir.display())]
    NotARepository { dir: PathBuf },
    /// `safe.directory`: the repository belongs to somebody else.
    #[error("git does not trust the repository of {}, which belongs to another user", .dir.display())]
    Ownership { dir: PathBuf, said: String },
    #[error("`{rev}` is not a revision of this repository")]
    NoRevision { rev: String, hint: Option<String> },
    #[error("the revision `{rev}` is ambiguous: {said}")]
    Ambiguous { rev: String, said: String },
    #[error("`{rev}` cannot name a revision: {why}")]
    BadRevision { rev: String, why: &'static str },
    #[error("`git {what}` did not end within {seconds} s")]
    TimedOut { what: String, seconds: u64 },
    #[error("`git {what}` printed more than {} MiB", .bytes >> 20)]
    TooMuch { what: String, bytes: u64 },
    #[error("`git {what}` failed: {said}")]
    Failed { what: String, said: String },
}

impl GitError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            GitError::NotInstalled => Some("install git".to_owned()),
            GitError::NotARepository { .. } => {
                Some("only files of a git repository can be read at a revision".to_owned())
            }
            GitError::Ownership { said, .. } => Some(format!("git reports: {said}")),
            GitError::NoRevision { hint, .. } => hint.clone(),
            GitError::Ambiguous { rev, .. } => Some(format!(
                "write a full name, such as refs/heads/{rev} or refs/tags/{rev}, or more digits of the hash"
            )),
            GitError::TimedOut { .. } => {
                Some("check that the disk or the network of the repository is reachable".to_owned())
            }
            GitError::BadRevision { .. } | GitError::TooMuch { .. } | GitError::Failed { .. } => {
                None
            }
        }
    }
}

/// Where a checkout stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The full hash of `HEAD`.
    pub commit: String,
    /// True when tracked files differ from it.
    pub dirty: bool,
}

/// Commit and cleanliness of the checkout that holds `dir`.
///
/// # Errors
/// Also when the repository has no commit yet.
pub fn checkout(dir: &Path) -> Result<Checkout, GitError> {
    let commit = line(call(dir, &["rev-parse", "--verify", "HEAD"])?.stdout);
    let changes = call(dir, &["status", "--porcelain", "--untracked-files=no"])?.stdout;
    Ok(Checkout {
        commit,
        dirty: !changes.is_empty(),
    })
}

/// What people call the commit that is checked out: its tag, or the nearest one and the way from
/// it, or its short hash; with `-dirty` when tracked files differ from it.
///
/// # Errors
/// Also when the repository has no commit yet.
pub fn describe(dir: &Path) -> Result<String, GitError> {
    Ok(line(
        call(dir, &["describe", "--tags", "--always", "--dirty"])?.stdout,
    ))
}

/// The full hash of the commit that a revision names.
///
/// # Errors
/// With words for a revision that is not there (and what may bring it), that is ambiguous, or that
/// begins with `-`.
pub fn commit_of(dir: &Path, rev: &str) -> Result<String, GitError> {
    let bad = |why| GitError::BadRevision {
        rev: rev.to_owned(),
        why,
    };
    if rev.trim().is_empty() {
        return Err(bad("it is empty"));
    }
    if rev.starts_with('-') {
        return Err(bad("it begins with `-`, like an option"));
    }
    if rev.chars().any(|c| c.is_control()) {
        return Err(bad("it contains a control character"));
    }
    let wanted = format!("{rev}^{{commit}}");
    let args = [
        "-c",
        "core.warnAmbiguousRefs=true",
        "rev-parse",
        "--verify",
        &wanted,
    ];
    match call(dir, &args) {
        Ok(answer) => match ambiguity(&answer.stderr) {
            Some(said) => Err(GitError::Ambiguous {
                rev: rev.to_owned(),
                said,
            }),
            None => Ok(line(answer.stdout)),
        },
        Err(GitError::Failed { said, .. }) => Err(match ambiguity(&said) {
            Some(said) => GitError::Ambiguous {
                rev: rev.to_owned(),
                said,
            },
            None => GitError::NoRevision {
                rev: rev.to_owned(),
                hint: Some(what_may_bring(dir, rev)),
            },
        }),
        Err(error) => Err(error),
    }
}

fn ambiguity(said: &str) -> Option<String> {
    let line = said
        .lines()
        .find(|line| line.contains("ambiguous") && !line.contains("unknown revision"))?;
    let line = line
        .trim_start_matches("warning: ")
        .trim_start_matches("error: ");
    Some(line.trim_end_matches('.').to_owned())
}

/// What to do about a revision that is not there.
fn what_may_bring(dir: &Path, rev: &str) -> String {
    let shallow = is_shallow(dir);
    let names = call(dir, &["for-each-ref", "--format=%(refname:short)"])
        .map(|a| a.stdout)
        .unwrap_or_default();
    let names = String::from_utf8_lossy(&names).into_owned();
    let remote = names
        .lines()
        .find(|name| name.split_once('/').is_some_and(|(_, rest)| rest == rev));
    if let Some(remote) = remote {
        return format!("did you mean `{remote}`?");
    }
    if shallow {
        return "this is a shallow clone, which lacks older commits: `git fetch --unshallow` (in GitHub Actions: \
                `fetch-depth: 0` of actions/checkout)"
            .to_owned();
    }
    match did_you_mean(rev, names.lines()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`git fetch` may add it".to_owned(),
    }
}

/// Writes every file of a commit into `to`, a new folder in `place`, which is writable. The checkout
/// of the repository stays as it is, and no hook runs; filters that the user's configuration names
/// do (such as that of large files).
///
/// # Errors
/// As for [`commit_of`], and when the folder can't be written.
pub fn check_out(dir: &Path, rev: &str, to: &Path, place: &Path) -> Result<(), GitError> {
    let failed = |said: String| GitError::Failed {
        what: "checkout-index".to_owned(),
        said,
    };
    let commit = commit_of(dir, rev)?;
    std::fs::create_dir(to).map_err(|error| failed(error.to_string()))?;
    let path = to.to_str();
    let path = path.ok_or_else(|| failed("its path is not UTF-8".to_owned()))?;
    let index = place.join("index");
    let safe = [
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.autocrlf=false",
    ];
    let call = |args: &[&str]| call_with_index(dir, &[&safe, args].concat(), &index);
    call(&["read-tree", &commit])?;
    call(&["checkout-index", "--all", &format!("--prefix={path}/")])?;
    Ok(())
}

/// A file of a folder at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommittedFile {
    File(Vec<u8>),
    /// A symbolic link: what it leads to is not looked up.
    Link,
}

/// The files that lie in a folder at a commit, by name; those of folders below are left out. Empty
/// when the folder was not there. One `git ls-tree` and one `git cat-file`, however many files.
///
/// `dir` is absolute and need not exist any more.
pub fn folder(dir: &Path, commit: &str) -> Result<BTreeMap<String, CommittedFile>, GitError> {
    let (there, inside) = place(dir)?;
    let inside = (!inside.is_empty()).then(|| format!("{inside}/"));
    let rows = listed(&there, commit, inside.as_deref())?;
    let name = |row: &TreeRow| row.path.rsplit('/').next().unwrap_or_default().to_owned();
    let (links, rest): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.mode == "120000");
    let blobs: Vec<&TreeRow> = rest.into_iter().filter(|row| row.kind == "blob").collect();
    let contents = contents(&there, &blobs)?
        .into_iter()
        .map(CommittedFile::File);
    let files = blobs.into_iter().map(name).zip(contents);
    let links = links
        .into_iter()
        .map(|row| (name(row), CommittedFile::Link));
    Ok(links.chain(files).collect())
}

/// A file as it was at a commit; `None` when it was not there. `path` is absolute and need not
/// exist any more.
pub fn file(path: &Path, commit: &str) -> Result<Option<Vec<u8>>, GitError> {
    let (there, inside) = place(path)?;
    let rows = listed(&there, commit, Some(&inside))?;
    let is_file = |row: &&TreeRow| matches!(row.mode.as_str(), "100644" | "100755");
    let file: Vec<&TreeRow> = rows.iter().take(1).filter(is_file).collect();
    Ok(contents(&there, &file)?.pop())
}

/// An entry of a folder at a commit, as git lists it.
struct TreeRow {
    mode: String,
    kind: String,
    object: String,
    path: String,
}

/// What lies at a path of a commit, or at its top.
fn listed(dir: &Path, commit: &str, path: Option<&str>) -> Result<Vec<TreeRow>, GitError> {
    let mut args = vec!["ls-tree", "-z", "--full-tree", commit];
    args.extend(path.iter().flat_map(|path| ["--", path]));
    let listing = call(dir, &args)?.stdout;
    let row = |row: &[u8]| {
        let row = String::from_utf8_lossy(row);
        let (about, path) = row.split_once('\t')?;
        let mut about = about.split(' ').map(str::to_owned);
        Some(TreeRow {
            mode: about.next()?,
            kind: about.next()?,
            object: about.next()?,
            path: path.to_owned(),
        })
    };
    Ok(listing.split(|byte| *byte == 0).filter_map(row).collect())
}

/// True when the path lies in a git repository; it need not exist.
pub fn holds(path: &Path) -> bool {
    place(path).is_ok()
}

/// An existing folder of the repository, and the path relative to the repository's top with `/`
/// between its parts.
fn place(path: &Path) -> Result<(PathBuf, String), GitError> {
    let there = path
        .ancestors()
        .find(|dir| dir.is_dir())
        .unwrap_or(Path::new("/"));
    let below = path.strip_prefix(there).unwrap_or(Path::new(""));
    let mut inside = line(call(there, &["rev-parse", "--show-prefix"])?.stdout);
    for part in below.components() {
        if let Component::Normal(part) = part {
            if !inside.is_empty() && !inside.ends_with('/') {
                inside.push('/');
            }
            inside.push_str(&part.to_string_lossy());
        }
    }
    Ok((there.to_owned(), inside.trim_end_matches('/').to_owned()))
}

/// The contents of files, in their order.
fn contents(dir: &Path, rows: &[&TreeRow]) -> Result<Vec<Vec<u8>>, GitError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let asked: String = rows.iter().map(|row| format!("{}\n", row.object)).collect();
    let asked = asked.into_bytes();
    let answer = call_with(dir, &["cat-file", "--batch"], Some(asked), MAX_FILES)?.stdout;
    let broken = |said: String| GitError::Failed {
        what: "cat-file".to_owned(),
        said,
    };
    let mut rest = answer.as_slice();
    let mut contents = Vec::with_capacity(rows.len());
    for TreeRow { object, .. } in rows {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| broken(format!("the object {object} is missing")))?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size = head
            .rsplit(' ')
            .next()
            .and_then(|size| size.parse::<usize>().ok());
        // `<object> missing`: of a partial clone that can't reach its remote.
        let size = size.ok_or_else(|| broken(head.clone()))?;
        let content = rest
            .get(end + 1..end + 1 + size)
            .ok_or_else(|| broken("the output of git is truncated".to_owned()))?;
        contents.push(content.to_vec());
        rest = rest.get(end + 2 + size..).unwrap_or_default();
    }
    Ok(contents)
}

fn line(output: Vec<u8>) -> String {
    String::from_utf8_lossy(&output)
        .trim_end_matches(['\n', '\r'])
        .to_owned()
}
