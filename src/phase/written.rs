//! Where the report of a phase lies, and how it gets there.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::report;
use crate::base::text::escape_path_component;
use crate::base::whole_file::{WholeFile, write_whole};
use crate::model::{Phase, PhaseReport};
use crate::report::ReportError;

/// The two files of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFiles {
    pub markdown: PathBuf,
    pub json: PathBuf,
}

/// A report that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report of the phase to {}: {error}", .path.display())]
pub struct Unwritten {
    pub path: PathBuf,
    pub error: ReportError,
}

impl ReportFiles {
    /// Where the phase says, else below the results.
    pub fn of(phase: &Phase, results: &Path) -> ReportFiles {
        match &phase.report_path {
            Some(path) => ReportFiles::beside(path),
            None => {
                let name = format!("phase-{}.md", escape_path_component(&phase.id));
                ReportFiles::beside(&results.join("phases").join(name))
            }
        }
    }

    /// A path that ends in `.json` is that of the JSON report; the other one lies beside it.
    fn beside(path: &Path) -> ReportFiles {
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        if is_json {
            return ReportFiles { markdown: path.with_extension("md"), json: path.to_owned() };
        }
        // A dot in an id is no extension.
        let json = match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("md") => path.with_extension("json"),
            Some(extension) if extension.eq_ignore_ascii_case("markdown") => path.with_extension("json"),
            _ => {
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(".json");
                path.with_file_name(name)
            }
        };
        ReportFiles { markdown: path.to_owned(), json }
    }

    /// Makes the folder and tries it, so that nobody learns after an hour of tests that nothing can be written there.
    pub fn try_place(&self) -> Result<(), Unwritten> {
        let tried = (|| {
            if let Some(folder) = self.markdown.parent() {
                std::fs::create_dir_all(folder)?;
            }
            if self.markdown.is_dir() || self.json.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            WholeFile::create(&self.markdown).map(drop)
        })();
        tried.map_err(|error| Unwritten { path: self.markdown.clone(), error: error.into() })
    }

    /// Writes both, each whole.
    pub fn write(&self, report: &PhaseReport) -> Result<(), Unwritten> {
        if let Some(folder) = self.markdown.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Unwritten { path: self.markdown.clone(), error: error.into() })?;
        }
        self.write_markdown(report)?;
        self.write_json(report)
    }

    fn write_markdown(&self, report: &PhaseReport) -> Result<(), Unwritten> {
        one(&self.markdown, |file| report::markdown(report, file))
    }

    /// Writes the JSON report, of one that has got more notes again.
    pub fn write_json(&self, report: &PhaseReport) -> Result<(), Unwritten> {
        one(&self.json, |file| report::json(report, file))
    }
}

fn one(path: &Path, write: impl FnOnce(&mut WholeFile) -> Result<(), ReportError>) -> Result<(), Unwritten> {
    let done = write_whole(path, |file| {
        write(file)?;
        Ok::<(), ReportError>(file.flush()?)
    });
    done.map_err(|error| Unwritten { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_reports_lie_side_by_side_and_are_two() {
        let table = [
            ("r/phase-1.md", "r/phase-1.md", "r/phase-1.json"),
            ("r/phase-1.json", "r/phase-1.md", "r/phase-1.json"),
            ("r/phase-1.2", "r/phase-1.2", "r/phase-1.2.json"),
            ("r/report", "r/report", "r/report.json"),
            ("r/x.MARKDOWN", "r/x.MARKDOWN", "r/x.json"),
        ];
        for (path, markdown, json) in table {
            let files = ReportFiles::beside(Path::new(path));
            assert_eq!(files, ReportFiles { markdown: markdown.into(), json: json.into() }, "{path}");
        }
    }
}
