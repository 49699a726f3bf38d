//! Reports of a run as files beside its journal.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

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

/// The address of an HTML page as a page in the folder `from` links to it; `None` where there is no
/// such page.
pub fn page_address(from: &Path, page: &Path) -> Option<String> {
    let from = match from.as_os_str().is_empty() {
        true => Path::new("."),
        false => from,
    };
    let (from, page) = (from.canonicalize().ok()?, page.canonicalize().ok()?);
    page.is_file().then(|| relative_address(&from, &page))
}

/// A relative address, each part of it percent-encoded, so that a name is never read as a scheme,
/// a query or a fragment.
fn relative_address(from: &Path, to: &Path) -> String {
    let parts = |path: &Path| -> Vec<Vec<u8>> {
        let parts = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.as_encoded_bytes().to_vec()),
            _ => None,
        });
        parts.collect()
    };
    let (from, to) = (parts(from), parts(to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - shared);
    let down = to.iter().skip(shared).map(|part| percent_encoded(part));
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// A part of an address: letters, digits and `-._~` as they are.
pub(crate) fn percent_encoded(part: &[u8]) -> String {
    part.iter().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(*byte));
            }
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_relative_and_encoded() {
        for (from, to, address) in [
            ("/p/results/d", "/p/results/d/run-1.html", "run-1.html"),
            (
                "/p/results/phases",
                "/p/results/d/run-1.html",
                "../d/run-1.html",
            ),
            ("/", "/a/b.html", "a/b.html"),
            ("/p", "/p/javascript:x?#.html", "javascript%3Ax%3F%23.html"),
            ("/p/é", "/p/a b.html", "../a%20b.html"),
        ] {
            assert_eq!(relative_address(Path::new(from), Path::new(to)), address);
        }
        let folder = tempfile::tempdir().expect("a folder");
        let page = folder.path().join("x.html");
        assert_eq!(page_address(folder.path(), &page), None);
        std::fs::write(&page, "").expect("a file");
        assert_eq!(
            page_address(folder.path(), &page).as_deref(),
            Some("x.html")
        );
    }
}
