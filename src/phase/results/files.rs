//! The JUnit files that globs find, and what they say together.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{TestTally, junit, say_each};
use eval_base::files::open_file;
use eval_base::globs::{files_below, is_glob, path_glob};
use eval_base::text::plural;

/// Files and folders that one glob may look at.
const MAX_WALK: usize = 1_000_000;

/// How far the times of a file system may lie behind the clock.
const COARSE: Duration = Duration::from_secs(3);

/// What is read of the files.
#[derive(Debug, Default)]
pub struct FileTally {
    pub tally: TestTally,
    /// The files that were read, relative to the project root, ascending.
    pub files: Vec<String>,
}

/// The files that globs found before a command ran: what has not changed since is not its result.
#[derive(Debug)]
pub struct EarlierFiles {
    started: SystemTime,
    files: BTreeSet<ResultFileStamp>,
}

/// What tells that a file was written again, whatever its name is by then.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ResultFileStamp {
    device: u64,
    inode: u64,
    modified: Option<SystemTime>,
    length: u64,
}

impl ResultFileStamp {
    fn of(meta: &Metadata) -> ResultFileStamp {
        ResultFileStamp {
            device: meta.dev(),
            inode: meta.ino(),
            modified: meta.modified().ok(),
            length: meta.len(),
        }
    }
}

impl EarlierFiles {
    /// Looks at what is there. `now` is the time at which the command starts.
    pub fn look(globs: &[String], now: SystemTime) -> EarlierFiles {
        let files = globs
            .iter()
            .flat_map(|glob| expand(glob).unwrap_or_default());
        let files = files.filter_map(|file| Some(ResultFileStamp::of(&file.metadata().ok()?)));
        EarlierFiles {
            started: now,
            files: files.collect(),
        }
    }

    fn is_stale(&self, meta: &Metadata) -> bool {
        let stamp = ResultFileStamp::of(meta);
        let old = stamp.modified.is_some_and(|at| at + COARSE < self.started);
        old || self.files.contains(&stamp)
    }
}

/// Reads all files that the globs find, each once, in the order of their paths. A glob that finds
/// nothing, a file that can't be read to its end, and one that is older than the command forbid a
/// pass, the last only if nothing else is there.
///
/// `globs` are absolute; paths are shown relative to `root`.
pub fn read(globs: &[String], root: &Path, before: Option<&EarlierFiles>) -> FileTally {
    let mut reading = FileTally::default();
    let mut files = BTreeSet::new();
    let mut stale = BTreeSet::new();
    for glob in globs {
        let shown = shown(Path::new(glob), root);
        let found = match expand(glob) {
            Ok(found) => found,
            Err(why) => {
                say_each(&mut reading.tally.doubts, [format!("`{shown}`: {why}")]);
                continue;
            }
        };
        let is_stale = |file: &PathBuf| {
            before
                .zip(file.metadata().ok())
                .is_some_and(|(before, meta)| before.is_stale(&meta))
        };
        let (old, fresh): (Vec<_>, Vec<_>) = found.into_iter().partition(is_stale);
        if fresh.is_empty() {
            let why = match old.len() {
                0 => format!("no file matches `{shown}`"),
                n => format!(
                    "`{shown}` matches only {} from before the command started",
                    plural(n, "file")
                ),
            };
            say_each(&mut reading.tally.doubts, [why]);
        } else {
            stale.extend(old);
        }
        files.extend(fresh);
    }
    if !stale.is_empty() {
        let n = plural(stale.len(), "file");
        reading
            .tally
            .notes
            .push(format!("ignored {n} written before the command started"));
    }
    let mut read = BTreeSet::new();
    for file in files {
        // Two names of one file hold the same tests.
        if read.insert(
            file.metadata()
                .map(|meta| (meta.dev(), meta.ino()))
                .map_err(|_| file.clone()),
        ) {
            let shown = self::shown(&file, root);
            reading.tally.add(one(&file, &shown));
            reading.files.push(shown);
        }
    }
    reading
}

fn one(file: &Path, shown: &str) -> TestTally {
    let (mut tally, broken) = match open_file(file) {
        Ok(open) => junit::read(open),
        Err(error) => {
            let why = format!("it can't be read: {error}");
            (
                TestTally::default(),
                Some(junit::JunitError { line: 0, why }),
            )
        }
    };
    for sentence in tally.broken.iter_mut().chain(&mut tally.doubts) {
        *sentence = format!("{shown}: {sentence}");
    }
    match broken {
        Some(junit::JunitError { line: 0, why }) => tally.doubts.push(format!("{shown}: {why}")),
        Some(junit::JunitError { line, why }) => {
            tally.doubts.push(format!("{shown}:{line}: {why}"))
        }
        None => {}
    }
    tally
}

fn shown(path: &Path, root: &Path) -> String {
    eval_base::text::one_line(&path.strip_prefix(root).unwrap_or(path).to_string_lossy())
}

/// The files that a glob matches, sorted: `*` stays within a folder, `**` crosses folders, folders
/// that are linked are not entered.
fn expand(glob: &str) -> Result<BTreeSet<PathBuf>, String> {
    let whole = Path::new(glob);
    if whole.is_file() {
        return Ok(BTreeSet::from([whole.to_owned()]));
    }
    let mut base = PathBuf::from("/");
    let mut rest: Vec<&str> = glob
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    // A folder may be called `[a]`: what is there by that name is meant.
    while rest.len() > 1
        && rest
            .first()
            .is_some_and(|part| !is_glob(part) || base.join(part).is_dir())
    {
        let part = rest.remove(0);
        if part == ".." {
            base.pop();
        } else {
            base.push(part);
        }
    }
    let rest = rest.join("/");
    let matcher = path_glob(&rest).map_err(|reason| format!("it is not a glob: {reason}"))?;
    files_below(&base, &rest, &matcher, MAX_WALK).ok_or_else(|| {
        format!("it searches more than {MAX_WALK} files; start it with a narrower folder")
    })
}

#[cfg(test)]
mod tests;
