//! Copies of what a phase that passed left behind: the journals and reports of its runs, and its
//! own report.
//!
//! They lie in `<results>/archive/<escaped phase id>/`, named by run, so that those of earlier runs
//! stay. They are copies, to which the page of the phase links: the runs themselves stay where they
//! are and are counted there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::drive::FinishedPhase;
use super::report::html;
use super::steps::StepRun;
use crate::report::{page_address, write_file};
use eval_base::text::escape_path_component;
use eval_base::whole_file::WholeFile;

const ARCHIVE: &str = "archive";

/// An archive that is not whole.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot archive to {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    /// It would lead to where nobody asked for.
    #[error("cannot archive to {}: it is a link or a file, not a folder", .path.display())]
    NotAFolder { path: PathBuf },
}

/// Copies the files of the phase; returns the folder.
///
/// # Errors
/// The first file that could not be copied. What was copied before is whole, and stays.
pub fn archive(worked: &FinishedPhase) -> Result<PathBuf, ArchiveError> {
    let mut dir = worked.results.clone();
    fs::create_dir_all(&dir).map_err(|source| ArchiveError::Write {
        path: dir.clone(),
        source,
    })?;
    for name in [ARCHIVE, &escape_path_component(&worked.phase.id)] {
        dir.push(name);
        folder(&dir)?;
    }
    for run in &worked.runs {
        copy_run(run, &dir)?;
    }
    for file in worked.files.all() {
        let Some(name) = file.file_name() else {
            continue;
        };
        match *file == worked.files.html {
            true => write_page(worked, &dir, &dir.join(name))?,
            false => copy(file, &dir.join(name))?,
        }
    }
    Ok(dir)
}

/// Writes the page of the phase, which links to the copies of its runs beside it.
fn write_page(worked: &FinishedPhase, dir: &Path, page: &Path) -> Result<(), ArchiveError> {
    let root = &worked.files.root;
    let page_of = |journal: &str| {
        let mut runs = worked.runs.iter();
        let run = runs.find(|run| run.paths.journal() == root.join(journal))?;
        page_address(dir, &dir.join(format!("{}.html", run.paths.run_id)))
    };
    let written = write_file(page, |file| html(&worked.report, &page_of, file));
    written.map_err(|error| ArchiveError::Write {
        path: page.to_owned(),
        source: io::Error::other(error),
    })
}

/// A folder of our own: made, or there and no link.
fn folder(dir: &Path) -> Result<(), ArchiveError> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let real = fs::symlink_metadata(dir).is_ok_and(|data| data.is_dir());
            if real {
                Ok(())
            } else {
                Err(ArchiveError::NotAFolder {
                    path: dir.to_owned(),
                })
            }
        }
        made => made.map_err(|source| ArchiveError::Write {
            path: dir.to_owned(),
            source,
        }),
    }
}

fn copy_run(run: &StepRun, dir: &Path) -> Result<(), ArchiveError> {
    let (id, stem) = (&run.paths.run_id, &run.paths.stem);
    let journal = run.paths.journal();
    for file in std::iter::once(&journal).chain(&run.reports) {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        copy(
            file,
            &dir.join(format!(
                "{id}{}",
                name.strip_prefix(stem.as_str()).unwrap_or(&name)
            )),
        )?;
    }
    // Outputs that are too large for the journal.
    let outputs = run.paths.dir.join(format!("{stem}.outputs"));
    let Ok(entries) = fs::read_dir(&outputs) else {
        return Ok(());
    };
    let kept = dir.join(format!("{id}.outputs"));
    folder(&kept)?;
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            copy(&entry.path(), &kept.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// One file, whole and kept by the device. A link in its place is replaced, and not followed.
fn copy(from: &Path, to: &Path) -> Result<(), ArchiveError> {
    let done = (|| {
        let mut file = WholeFile::create(to)?;
        io::copy(&mut File::open(from)?, &mut file)?;
        file.keep_durably()
    })();
    done.map_err(|source| ArchiveError::Write {
        path: to.to_owned(),
        source,
    })
}
