//! What a judge sees of a workspace besides the output.

use super::prompt::ShownText;
use crate::grade::NO_WORKSPACE;
use crate::model::{Cause, ShownWorkspace};
use crate::workspace::{FinishedWorkspace, WorkspaceFault};
use eval_workspace::{EntryNow, WorkspacePath};

/// Bytes of a file that are read: no question is longer.
const FILE_BYTES: u64 = 16 << 20;

/// The parts in the order that judges see, unquoted.
///
/// # Errors
/// No workspace, or one that can't be shown in full: a part that is missing could belie the rest.
pub(super) async fn texts(
    shown: &ShownWorkspace,
    workspace: Option<&FinishedWorkspace>,
) -> Result<Vec<ShownText>, WorkspaceFault> {
    if shown.is_empty() {
        return Ok(Vec::new());
    }
    let Some(workspace) = workspace else {
        return Err(WorkspaceFault::new(Cause::MissingOutput, NO_WORKSPACE));
    };
    let mut parts = Vec::new();
    if shown.diff {
        let diff = &workspace.output().diff;
        if diff.truncated {
            let why =
                "the diff of the workspace is longer than the limit, so it can't be judged in full";
            return Err(WorkspaceFault::new(Cause::MissingOutput, why));
        }
        let (title, text) = if diff.text.is_empty() {
            ("It changed no file of its workspace.", None)
        } else {
            (
                "What it changed in its workspace, in git's unified format:",
                Some(diff.text.clone()),
            )
        };
        parts.push(ShownText {
            name: "DIFF".to_owned(),
            title: title.to_owned(),
            text,
        });
    }
    for (at, path) in shown.files.iter().enumerate() {
        let (what, text) = entry(path, workspace.file(path, FILE_BYTES).await?)?;
        parts.push(ShownText {
            name: format!("FILE {}", at + 1),
            title: format!("The file {path} of its workspace{what}"),
            text,
        });
    }
    Ok(parts)
}

/// What follows the name of a path, and its content.
fn entry(
    path: &WorkspacePath,
    entry: EntryNow,
) -> Result<(&'static str, Option<String>), WorkspaceFault> {
    Ok(match entry {
        EntryNow::Absent => (" does not exist.", None),
        EntryNow::Folder => (" is a folder.", None),
        EntryNow::Link { .. } => (" is a symbolic link, which is not followed.", None),
        EntryNow::Special => (" is a pipe, a socket or a device.", None),
        EntryNow::File { bytes, .. } if bytes > FILE_BYTES => {
            let why = format!(
                "{path} is larger than {} MiB, so it can't be judged in full",
                FILE_BYTES >> 20
            );
            return Err(WorkspaceFault::new(Cause::MissingOutput, why));
        }
        EntryNow::File { content, .. } => match String::from_utf8(content) {
            Ok(text) => (", as it was left:", Some(text)),
            Err(_) => (" is not UTF-8 text.", None),
        },
    })
}
