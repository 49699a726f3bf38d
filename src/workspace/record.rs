//! All that is different in a workspace, in a file beside the journal: where the diff does not have it,
//! the workspace is made again from this. JSON lines, compressed by gzip.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::model::limits::WORKSPACE_RECORD;
use eval_base::files::open_file;
use eval_base::redact::Redactor;
use eval_base::whole_file::write_whole;
use eval_workspace::{LeftEntry, TreeError, WorkspaceEdits, WorkspacePath};

/// Bytes of the lines of a record: contents in base64, and paths.
const MOST_TEXT: u64 = 2 * WORKSPACE_RECORD + (256 << 20);

#[derive(Serialize, Deserialize)]
struct RecordLine {
    path: WorkspacePath,
    left: LeftEntry,
}

/// Writes a record; false, and no file, where there is too much to record, a secret, or a device.
pub(super) fn write(
    edits: &WorkspaceEdits<'_>,
    to: &Path,
    redactor: &Redactor,
) -> io::Result<bool> {
    if edits.bytes() > WORKSPACE_RECORD {
        return Ok(false);
    }
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

/// Puts what is in a record on a copy of the template.
pub(super) fn put(from: &Path, top: &Path, owner: Option<(u32, u32)>) -> Result<(), String> {
    let file = open_file(from).map_err(|error| error.to_string())?;
    let lines = BufReader::new(GzDecoder::new(BufReader::new(file)).take(MOST_TEXT));
    for line in lines.split(b'\n') {
        let line = line.map_err(|error| error.to_string())?;
        let RecordLine { path, left } =
            serde_json::from_slice(&line).map_err(|error| error.to_string())?;
        left.put(top, &path, owner)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}
