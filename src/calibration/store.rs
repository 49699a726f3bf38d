//! `judges/`: one file a judge, kept in git.

use std::io;
use std::path::{Path, PathBuf};

use crate::load::{BrokenDocument, parse_calibration, write_calibration};
use crate::spec::CalibrationFile;
use eval_base::files::read_text;
use eval_base::text::escape_path_component;
use eval_base::whole_file::write_whole;

/// The folder of calibrations of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationStore {
    dir: PathBuf,
}

/// A calibration that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot read {path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Broken(Box<BrokenDocument>),
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            StoreError::Io { .. } => None,
            StoreError::Broken(broken) => broken.hint(),
        }
    }
}

impl CalibrationStore {
    /// The store of the project whose root this is.
    pub fn of_project(root: &Path) -> CalibrationStore {
        CalibrationStore {
            dir: root.join("judges"),
        }
    }

    /// Where the calibration of a judge is kept.
    pub fn path(&self, judge: &str) -> PathBuf {
        self.dir
            .join(format!("{}.yaml", escape_path_component(judge)))
    }

    /// All calibrations, by the names of their files; none without the folder.
    ///
    /// # Errors
    /// For the first file that can't be read: a calibration that counts must not be missed.
    pub fn read(&self) -> Result<Vec<CalibrationFile>, StoreError> {
        let entries = match self.dir.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                let path = self.dir.clone();
                return Err(StoreError::Io { path, source });
            }
        };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
            .collect();
        paths.sort();
        let read = |path: PathBuf| {
            let text = match read_text(&path) {
                Ok(text) => text,
                Err(source) => return Err(StoreError::Io { path, source }),
            };
            parse_calibration(&path, &text).map_err(StoreError::Broken)
        };
        paths.into_iter().map(read).collect()
    }

    /// Writes the calibration of a judge, instead of an earlier one.
    ///
    /// # Errors
    /// What the system says; the earlier file is then unchanged.
    pub fn write(&self, file: &CalibrationFile) -> io::Result<PathBuf> {
        std::fs::create_dir_all(&self.dir)?;
        let path = self.path(&file.judge);
        write_whole(&path, |out| {
            io::Write::write_all(out, write_calibration(file).as_bytes())
        })?;
        Ok(path)
    }
}
