//! Where the report of a phase lies, and how it gets there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::report;
use crate::journal::RunPaths;
use crate::model::{Phase, PhaseReport};
use crate::report::{ReportError, page_address, write_file};
use eval_base::text::escape_path_component;
use eval_base::whole_file::WholeFile;

/// The files of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFiles {
    pub markdown: PathBuf,
    pub json: PathBuf,
    pub html: PathBuf,
    /// The project root, from which reports name the journals of their runs.
    pub root: PathBuf,
}

/// A report that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the phase report to {}: {}", .path.display(), cause(.error))]
pub struct ReportWriteError {
    pub path: PathBuf,
    pub error: ReportError,
}

/// Why, without saying again that a report can't be written.
fn cause(error: &ReportError) -> String {
    match error {
        ReportError::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

impl ReportFiles {
    /// Where the phase says, else below the results.
    pub fn of(phase: &Phase, results: &Path) -> ReportFiles {
        match &phase.report_path {
            Some(path) => ReportFiles::beside(path, &phase.root),
            None => {
                let name = format!("phase-{}.md", escape_path_component(&phase.id));
                ReportFiles::beside(&results.join("phases").join(name), &phase.root)
            }
        }
    }

    /// A path that ends in `.json` or `.html` is that of this report; the others lie beside it.
    fn beside(path: &Path, root: &Path) -> ReportFiles {
        let ends_in = |end: &str| {
            path.extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case(end))
        };
        // A dot in an id is no extension.
        let with = |end: &str| match ["md", "markdown", "json", "html"].into_iter().any(ends_in) {
            true => path.with_extension(end),
            false => {
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(".");
                name.push(end);
                path.with_file_name(name)
            }
        };
        let written = |end: &str| {
            if ends_in(end) {
                path.to_owned()
            } else {
                with(end)
            }
        };
        let markdown = match ends_in("json") || ends_in("html") {
            true => with("md"),
            false => path.to_owned(),
        };
        ReportFiles {
            markdown,
            json: written("json"),
            html: written("html"),
            root: root.to_owned(),
        }
    }

    /// Each of them, in the order to show them.
    pub fn all(&self) -> [&PathBuf; 3] {
        [&self.markdown, &self.json, &self.html]
    }

    /// Makes the folder and tries it, so that nobody learns after an hour of tests that nothing can
    /// be written there, or that a file of theirs is gone.
    pub fn try_place(&self) -> Result<(), ReportWriteError> {
        let folder = self
            .markdown
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all);
        folder.map_err(|error| ReportWriteError {
            path: self.markdown.clone(),
            error: error.into(),
        })?;
        try_file(&self.markdown, MARKDOWN_BEGINS)?;
        try_file(&self.json, JSON_BEGINS)?;
        try_file(&self.html, HTML_BEGINS)
    }

    /// Tries the place of the comment, likewise.
    pub fn try_comment(&self, comment: &Path) -> Result<(), ReportWriteError> {
        let full = std::path::absolute(comment).unwrap_or_else(|_| comment.to_owned());
        if self.all().contains(&&full) {
            let error = io::Error::other("this is the path of the report itself");
            return Err(ReportWriteError {
                path: comment.to_owned(),
                error: error.into(),
            });
        }
        try_file(comment, COMMENT_BEGINS)
    }

    /// Writes all of them, each whole.
    pub fn write(&self, report: &PhaseReport) -> Result<(), ReportWriteError> {
        if let Some(folder) = self.markdown.parent() {
            std::fs::create_dir_all(folder).map_err(|error| ReportWriteError {
                path: self.markdown.clone(),
                error: error.into(),
            })?;
        }
        one(&self.markdown, |file| report::markdown(report, file))?;
        self.write_notes(report)
    }

    /// Writes those that tell the notes, of a report that has got more of them again.
    pub fn write_notes(&self, report: &PhaseReport) -> Result<(), ReportWriteError> {
        one(&self.json, |file| report::json(report, file))?;
        let page_of = |journal: &str| self.page_of(journal);
        one(&self.html, |file| report::html(report, &page_of, file))
    }

    /// The HTML page of a run, as the page of the phase links to it.
    fn page_of(&self, journal: &str) -> Option<String> {
        let page = RunPaths::of_journal(&self.root.join(journal))?.report("html");
        page_address(self.html.parent()?, &page)
    }
}

/// How each of the four begins, white space left out: what begins otherwise is somebody's own.
const MARKDOWN_BEGINS: &str = "##PhaseCompletionReport";
const JSON_BEGINS: &str = "{\"phase_report\":";
const HTML_BEGINS: &str = "<!doctypehtml><htmllang=\"en\"><head><metacharset=\"utf-8\"><metaname=\"generator\"content=\"eval-harness\">";
const COMMENT_BEGINS: &str = "<!--eval-harness";

/// Whether a file can be written there that takes the place of nothing, of an empty file, or of one
/// that begins so.
fn try_file(path: &Path, begins: &str) -> Result<(), ReportWriteError> {
    let tried = WholeFile::create(path).and_then(|_| {
        let mut start = Vec::new();
        match File::open(path) {
            Ok(file) => file.take(256).read_to_end(&mut start)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        start.retain(|byte| !byte.is_ascii_whitespace());
        if start.is_empty() || start.starts_with(begins.as_bytes()) {
            return Ok(());
        }
        Err(io::Error::other(
            "the file there is not an earlier report, and would be overwritten",
        ))
    });
    tried.map_err(|error| ReportWriteError {
        path: path.to_owned(),
        error: error.into(),
    })
}

fn one(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ReportError>,
) -> Result<(), ReportWriteError> {
    write_file(path, write).map_err(|error| ReportWriteError {
        path: path.to_owned(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Decision, PhaseGate, PhaseMetadata};

    #[test]
    fn a_report_takes_the_place_of_a_report_and_of_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ReportFiles::beside(&folder.path().join("r/x.md"), folder.path());
        let said = || {
            files.try_place().err().map(|error| {
                error
                    .to_string()
                    .replace(&*folder.path().to_string_lossy(), "")
            })
        };
        assert_eq!(said(), None);
        let table = [
            (&files.markdown, "", true),
            (&files.markdown, "# My notes\n", false),
            (&files.markdown, "## Phase Completion Report\r\n", true),
            (&files.json, "{\n\t\"phase_report\": {}}", true),
            (&files.json, "{\"name\": \"a package\"}", false),
            (&files.json, "", true),
            (
                &files.html,
                "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Mine</title>",
                false,
            ),
        ];
        for (path, text, fine) in table {
            std::fs::write(path, text).expect("a file");
            assert_eq!(said().is_none(), fine, "{text}");
            assert_eq!(std::fs::read_to_string(path).expect("there"), text);
        }
        insta::assert_snapshot!(said().unwrap_or_default(), @"cannot write the phase report to /r/x.html: the file there is not an earlier report, and would be overwritten");
        let comment = folder.path().join("c.md");
        assert!(files.try_comment(&comment).is_ok() && files.try_comment(&files.markdown).is_err());
        std::fs::write(&comment, "<!-- eval-harness: p -->\n## ...").expect("a file");
        assert!(files.try_comment(&comment).is_ok());
        std::fs::write(&comment, "eval_suite: {}").expect("a file");
        assert!(files.try_comment(&comment).is_err());
    }

    /// What tells reports apart from other files must be what they begin with.
    #[test]
    fn reports_begin_as_they_are_known_by() {
        let report = PhaseReport {
            metadata: PhaseMetadata {
                phase_id: "p".to_owned(),
                name: "P".to_owned(),
                description: None,
                file: "plan.yaml".to_owned(),
                when: None,
                timestamp: String::new(),
                duration_seconds: 0.0,
                harness_version: String::new(),
                git: None,
            },
            gate: PhaseGate {
                decision: Decision::Pass,
                exit_code: 0,
                reasons: Vec::new(),
                interrupted: false,
            },
            implementation: None,
            steps: Vec::new(),
            recommendations: Vec::new(),
            notes: Vec::new(),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let files = ReportFiles::beside(&folder.path().join("x.md"), folder.path());
        files.write(&report).expect("written");
        assert!(files.try_place().is_ok());
        let mut page = Vec::new();
        report::comment(&report, &mut page).expect("a page");
        let comment = folder.path().join("c.md");
        std::fs::write(&comment, page).expect("a file");
        assert!(files.try_comment(&comment).is_ok());
    }

    #[test]
    fn the_reports_lie_side_by_side_and_are_three() {
        let table = [
            (
                "r/phase-1.md",
                "r/phase-1.md",
                "r/phase-1.json",
                "r/phase-1.html",
            ),
            (
                "r/phase-1.json",
                "r/phase-1.md",
                "r/phase-1.json",
                "r/phase-1.html",
            ),
            (
                "r/phase-1.html",
                "r/phase-1.md",
                "r/phase-1.json",
                "r/phase-1.html",
            ),
            (
                "r/phase-1.2",
                "r/phase-1.2",
                "r/phase-1.2.json",
                "r/phase-1.2.html",
            ),
            ("r/report", "r/report", "r/report.json", "r/report.html"),
            ("r/x.MARKDOWN", "r/x.MARKDOWN", "r/x.json", "r/x.html"),
        ];
        for (path, markdown, json, html) in table {
            let files = ReportFiles::beside(Path::new(path), Path::new("/"));
            let expected = ReportFiles {
                markdown: markdown.into(),
                json: json.into(),
                html: html.into(),
                root: "/".into(),
            };
            assert_eq!(files, expected, "{path}");
        }
    }
}
