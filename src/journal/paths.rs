//! Where runs lie: `<output dir>/<YYYY-MM-DD>/run-<HHMMSS>.*`.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::JournalError;
use crate::model::Fingerprint;
use eval_base::clock::calendar;
use eval_base::files::{LockState, lock, lock_shared};
use eval_base::percent::encode;

const JOURNAL: &str = ".journal.jsonl";

/// How long a run waits for the end of a removal.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(60);
const REMOVAL_PAUSE: Duration = Duration::from_millis(100);

/// The files of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPaths {
    /// `eval-<YYYYMMDD>-<HHMMSS>`, with `-2`, `-3`, ... for further runs in the same second.
    pub run_id: String,
    /// The day's folder.
    pub dir: PathBuf,
    /// `run-<HHMMSS>` (with the same suffix), the stem of all files of the run.
    pub stem: String,
}

impl RunPaths {
    /// Takes the first free name of this second by creating the (empty) journal, and points
    /// `latest` at the day.
    pub fn create(output_dir: &Path, at: Timestamp) -> Result<RunPaths, JournalError> {
        let (day, date, time) = calendar(at);
        let dir = output_dir.join(&day);
        let fail = |path: &Path, source| JournalError::Create {
            path: path.to_owned(),
            source,
        };
        std::fs::create_dir_all(&dir).map_err(|e| fail(&dir, e))?;
        for n in 1..10_000 {
            let suffix = if n == 1 {
                String::new()
            } else {
                format!("-{n}")
            };
            let paths = RunPaths {
                run_id: format!("eval-{date}-{time}{suffix}"),
                dir: dir.clone(),
                stem: format!("run-{time}{suffix}"),
            };
            match OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(paths.journal())
            {
                Ok(_) => {
                    point_latest(output_dir, &day);
                    return Ok(paths);
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(fail(&paths.journal(), e)),
            }
        }
        Err(fail(
            &dir,
            std::io::Error::other("too many runs in one second"),
        ))
    }

    /// The paths of the run whose journal this is.
    pub fn of_journal(journal: &Path) -> Option<RunPaths> {
        let stem = journal
            .file_name()?
            .to_str()?
            .strip_suffix(JOURNAL)?
            .to_owned();
        let dir = journal.parent()?.to_owned();
        let day = dir.file_name()?.to_str()?;
        let run_id = format!(
            "eval-{}-{}",
            day.replace('-', ""),
            stem.strip_prefix("run-")?
        );
        Some(RunPaths { run_id, dir, stem })
    }

    pub fn journal(&self) -> PathBuf {
        self.dir.join(format!("{}{JOURNAL}", self.stem))
    }

    /// The file of a report with this extension (`json`, `junit.xml`, ...).
    pub fn report(&self, extension: &str) -> PathBuf {
        self.dir.join(format!("{}.{extension}", self.stem))
    }
}

/// The folder of large outputs beside a journal.
pub(super) fn outputs_of(journal: &Path) -> PathBuf {
    let name = journal.file_name().unwrap_or_default().to_string_lossy();
    journal.with_file_name(format!(
        "{}.outputs",
        name.strip_suffix(JOURNAL).unwrap_or(&name)
    ))
}

/// The journal that a file belongs to: itself, or that of one of its large outputs.
pub(super) fn journal_of(file: &Path) -> Option<PathBuf> {
    if RunPaths::of_journal(file).is_some() {
        return Some(file.to_owned());
    }
    let outputs = file.parent()?;
    let stem = outputs.to_str()?.strip_suffix(".outputs")?;
    let journal = PathBuf::from(format!("{stem}{JOURNAL}"));
    RunPaths::of_journal(&journal).is_some().then_some(journal)
}

/// Makes `latest` a link to the day's folder. Best effort: a file system without links has no
/// `latest`.
fn point_latest(output_dir: &Path, day: &str) {
    let link = output_dir.join("latest");
    let fresh = output_dir.join(format!(".latest-{}", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    #[cfg(unix)]
    if std::os::unix::fs::symlink(day, &fresh).is_ok() && std::fs::rename(&fresh, &link).is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
}

/// All runs below an output folder, oldest first.
pub fn list_runs(output_dir: &Path) -> Vec<RunPaths> {
    scan_runs(output_dir).0
}

/// All runs below an output folder, oldest first, and what of the folder can't be read. A folder
/// that is not there has none.
pub fn scan_runs(output_dir: &Path) -> (Vec<RunPaths>, Vec<JournalError>) {
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for day in days(output_dir, &mut unreadable) {
        runs.extend(
            entries(&day, &mut unreadable)
                .iter()
                .filter_map(|file| RunPaths::of_journal(file)),
        );
    }
    runs.sort_by_key(sort_key);
    (runs, unreadable)
}

/// The folders of the days, and what can't be read.
pub fn days(output_dir: &Path, unreadable: &mut Vec<JournalError>) -> Vec<PathBuf> {
    let is_day = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.len() == 10 && name.as_bytes().get(4) == Some(&b'-'))
            && path.is_dir()
    };
    let mut days = entries(output_dir, unreadable);
    days.retain(is_day);
    days
}

fn entries(dir: &Path, unreadable: &mut Vec<JournalError>) -> Vec<PathBuf> {
    let mut fail = |source: std::io::Error| {
        if source.kind() != std::io::ErrorKind::NotFound {
            unreadable.push(JournalError::Read {
                path: dir.to_owned(),
                source,
            });
        }
    };
    match std::fs::read_dir(dir) {
        Ok(entries) => entries
            .filter_map(|entry| entry.map_err(&mut fail).ok())
            .map(|e| e.path())
            .collect(),
        Err(error) => {
            fail(error);
            Vec::new()
        }
    }
}

/// Day, time, then the number within the second (so that `-10` comes after `-9`).
fn sort_key(run: &RunPaths) -> (PathBuf, String, u32) {
    let rest = run.stem.strip_prefix("run-").unwrap_or(&run.stem);
    let (time, n) = rest.split_once('-').unwrap_or((rest, "1"));
    (run.dir.clone(), time.to_owned(), n.parse().unwrap_or(0))
}

/// Keeps the runs of a results folder from being removed as long as the file is open; waits while
/// others are. `None` where that can't be, such as on file systems without locks.
pub fn hold_results(output_dir: &Path) -> Result<Option<File>, JournalError> {
    let held = File::open(output_dir).and_then(|folder| {
        let state = lock_shared(&folder, REMOVAL_PATIENCE, REMOVAL_PAUSE)?;
        Ok((folder, state))
    });
    match held {
        Ok((folder, LockState::Held)) => Ok(Some(folder)),
        Ok((_, LockState::Busy)) => Err(JournalError::Removing {
            dir: output_dir.to_owned(),
        }),
        Ok((_, LockState::Unsupported)) | Err(_) => Ok(None),
    }
}

/// Locks a results folder, in which then no run is written or graded again: to remove runs.
pub fn lock_results(output_dir: &Path) -> Result<File, JournalError> {
    let fail = |source| JournalError::Read {
        path: output_dir.to_owned(),
        source,
    };
    let folder = File::open(output_dir).map_err(fail)?;
    match lock(&folder, REMOVAL_PAUSE, REMOVAL_PAUSE).map_err(fail)? {
        LockState::Held => Ok(folder),
        LockState::Busy => Err(JournalError::InUse {
            dir: output_dir.to_owned(),
        }),
        LockState::Unsupported => Err(fail(std::io::ErrorKind::Unsupported.into())),
    }
}

/// Finds a run by id, by `latest`, or by the path of its journal, which may have been copied to
/// anywhere under any name that ends in `.journal.jsonl`; the run id is then the file's stem, where
/// the place does not tell it.
pub fn find_run(output_dir: &Path, run: &str) -> Result<RunPaths, JournalError> {
    let given = Path::new(run);
    if given.is_file()
        && let Some(stem) = given
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(JOURNAL))
    {
        let dir = given.parent().unwrap_or(Path::new("")).to_owned();
        let copied = || RunPaths {
            run_id: stem.to_owned(),
            dir,
            stem: stem.to_owned(),
        };
        return Ok(RunPaths::of_journal(given).unwrap_or_else(copied));
    }
    let runs = list_runs(output_dir);
    let found = if run == "latest" {
        runs.last()
    } else {
        runs.iter().find(|paths| paths.run_id == run)
    };
    let dir = || output_dir.to_owned();
    found.cloned().ok_or_else(|| match runs.last() {
        None if run == "latest" => JournalError::NoRuns { dir: dir() },
        last => {
            let latest = last.map(|last| last.run_id.clone());
            JournalError::NoRun {
                run: run.to_owned(),
                dir: dir(),
                latest,
            }
        }
    })
}

/// An id as the name of a folder.
pub fn folder_name(id: &str) -> String {
    const LONGEST: usize = 120;
    let name = encode(id);
    if name.bytes().all(|byte| byte == b'.') {
        return name.replace('.', "%2E");
    }
    match name.get(..LONGEST) {
        Some(begin) if name.len() > LONGEST => format!("{begin}-{}", Fingerprint::of(&id)),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_second_get_numbers_and_sort_by_them() {
        let dir = tempfile::tempdir().unwrap();
        let at: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        let ids: Vec<String> = (0..11)
            .map(|_| RunPaths::create(dir.path(), at).unwrap().run_id)
            .collect();
        assert_eq!(ids[0], "eval-20260304-050607");
        assert_eq!(ids[1], "eval-20260304-050607-2");
        let listed: Vec<String> = list_runs(dir.path())
            .into_iter()
            .map(|r| r.run_id)
            .collect();
        assert_eq!(listed, ids);
        assert_eq!(
            find_run(dir.path(), "latest").unwrap().run_id,
            "eval-20260304-050607-11"
        );
        assert_eq!(
            std::fs::read_link(dir.path().join("latest")).unwrap(),
            Path::new("2026-03-04")
        );
    }

    #[test]
    fn a_journal_is_found_by_its_path_wherever_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunPaths::create(dir.path(), "2026-03-04T05:06:07Z".parse().unwrap()).unwrap();
        let found = |path: &Path| find_run(dir.path(), path.to_str().unwrap()).unwrap();
        assert_eq!(found(&run.journal()), run);
        let copy = dir.path().join("mine.journal.jsonl");
        std::fs::copy(run.journal(), &copy).unwrap();
        assert_eq!(found(&copy).journal(), copy);
    }

    #[test]
    fn a_run_that_is_not_there_is_named_with_the_latest() {
        let dir = tempfile::tempdir().unwrap();
        RunPaths::create(dir.path(), "2026-03-04T05:06:07Z".parse().unwrap()).unwrap();
        let error = find_run(dir.path(), "eval-1").unwrap_err();
        assert!(
            error.to_string().starts_with("no run `eval-1` in "),
            "{error}"
        );
        assert_eq!(error.hint().unwrap(), "the latest is eval-20260304-050607");
        let error = find_run(&dir.path().join("empty"), "latest").unwrap_err();
        assert!(
            error.to_string().starts_with("there are no runs in "),
            "{error}"
        );
        assert!(error.hint().unwrap().contains("--output-dir"));
    }
}
