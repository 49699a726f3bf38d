//! All that is different in a workspace, in a file beside the journal: where the diff does not have it,
//! the workspace is made again from this. JSON lines, compressed by gzip.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::model::limits::WORKSPACE_RECORD;
use eval_base::files::open_file;
use eval_base::redact::Redactor;
use eval_base::whole_file::write_whole;
use eval_workspace::{LeftEntry, TreeError, WorkspaceEdits, WorkspacePath};

/// How the name of such a file ends.
pub const CHANGES_FILE: &str = ".changes.jsonl.gz";

/// Bytes of the lines of a record: contents in base64, and paths.
const MOST_TEXT: u64 = 2 * WORKSPACE_RECORD + (256 << 20);

#[derive(Serialize, Deserialize)]
struct RecordLine {
    path: WorkspacePath,
    left: LeftEntry,
}

/// Takes the bytes of a record from those that are left for the run; false where they are fewer.
pub(super) fn reserve(left: &Mutex<u64>, bytes: u64) -> bool {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    let rest = left.checked_sub(bytes);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// Writes a record; false, and no file, where there is a secret or a device.
pub(super) fn write(
    edits: &WorkspaceEdits<'_>,
    to: &Path,
    redactor: &Redactor,
) -> io::Result<bool> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let refused = Cell::new(false);
    let written = write_whole(to, |file| {
        let mut out = GzEncoder::new(BufWriter::new(file), Compression::fast());
        for left in edits.left() {
            let (path, left) = match left {
                Ok(left) => left,
                Err(error) => {
                    refused.set(matches!(error, TreeError::Special { .. }));
                    return Err(io::Error::other(error.to_string()));
                }
            };
            if holds_secret(redactor, &path, &left) {
                refused.set(true);
                return Err(io::Error::other("it holds a secret"));
            }
            serde_json::to_writer(&mut out, &RecordLine { path, left })?;
            out.write_all(b"\n")?;
        }
        out.finish()?.flush()
    });
    match written {
        Err(_) if refused.get() => Ok(false),
        written => written.map(|()| true),
    }
}

fn holds_secret(redactor: &Redactor, path: &WorkspacePath, left: &LeftEntry) -> bool {
    let holds = |bytes: &[u8]| redactor.redact(&String::from_utf8_lossy(bytes)).is_some();
    let content = match left {
        LeftEntry::File { content, .. } => content,
        LeftEntry::Link { target } => target,
        _ => return !redactor.is_empty() && holds(path.as_bytes()),
    };
    !redactor.is_empty() && (holds(path.as_bytes()) || holds(content))
}

/// Reads a record: `put` makes a path what it holds of it.
pub(super) fn read(
    from: &Path,
    put: impl Fn(&WorkspacePath, &LeftEntry) -> Result<(), TreeError>,
) -> Result<(), String> {
    let file = open_file(from).map_err(|error| error.to_string())?;
    let lines = BufReader::new(GzDecoder::new(BufReader::new(file)).take(MOST_TEXT));
    for line in lines.split(b'\n') {
        let line = line.map_err(|error| error.to_string())?;
        let RecordLine { path, left } =
            serde_json::from_slice(&line).map_err(|error| error.to_string())?;
        put(&path, &left).map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_a_run_have_a_bound() {
        let left = Mutex::new(10);
        let taken = [6, 6, 4, 1, 0].map(|bytes| reserve(&left, bytes));
        assert_eq!(taken, [true, false, true, false, true]);
    }
}
