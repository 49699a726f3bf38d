//! Reports of a run as files beside its journal.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{ReportError, extension, render};
use crate::journal::RunPaths;
use crate::model::{ReportFormat, Summary};
use eval_base::whole_file::write_whole;

/// Writes one report; nobody sees half of one.
pub fn write_report(
    path: &Path,
    format: ReportFormat,
    summary: &Summary,
) -> Result<(), ReportError> {
    write_file(path, |file| render(format, summary, file))
}

/// Writes what `write` writes, whole or not at all.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    write_whole(path, |file| {
        write(file)?;
        Ok(file.flush()?)
    })
}

/// Writes each report beside the journal. Returns what was written, and why the others were not.
pub fn write_reports(
    paths: &RunPaths,
    summary: &Summary,
    formats: &[ReportFormat],
) -> (Vec<PathBuf>, Vec<String>) {
    let (mut written, mut failed) = (Vec::new(), Vec::new());
    for format in formats {
        let Some(extension) = extension(*format) else {
            continue;
        };
        let path = paths.report(extension);
        match write_report(&path, *format, summary) {
            Ok(()) => written.push(path),
            Err(error) => failed.push(format!("{}: {error}", path.display())),
        }
    }
    (written, failed)
}
