//! Outputs that lie beside the journal, in files named by their content.
//!
//! `<day>/<stem>.outputs/<sha256>`: a text and a program as they are, a JSON value as JSON. A file
//! that is not there or doesn't hold what its name says is an error, never another output.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eval_agents::trajectory::Trajectory;
use flate2::bufread::GzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::paths::outputs_of;
use super::{JournalError, RunPaths};
use crate::model::{Attempt, Output, OutputValue, Stored, StoredKind, TrajectoryRecord};
use eval_base::files::open_file;
use eval_base::text::hex;

impl RunPaths {
    /// The folder of the outputs that are too large for the journal; absent when there is none.
    pub fn outputs_dir(&self) -> PathBuf {
        outputs_of(&self.journal())
    }

    /// The folder of the workspaces that are kept; absent when there is none.
    pub fn workspaces_dir(&self) -> PathBuf {
        self.dir.join(format!("{}.workspaces", self.stem))
    }
}

/// The output of an attempt, from the journal or from its file; `None` when the target gave none.
pub fn output_of(paths: &RunPaths, attempt: &Attempt) -> Result<Option<Output>, JournalError> {
    match (&attempt.output, &attempt.stored) {
        (Some(output), _) => Ok(Some(output.clone())),
        (None, None) => Ok(None),
        (None, Some(stored)) => read_stored(&paths.outputs_dir(), stored).map(Some),
    }
}

/// Bytes of one trajectory that are unpacked, whatever the journal says.
const UNPACKED_BYTES: u64 = 256 << 20;

/// The name of a trajectory's file among the outputs.
pub(super) fn trajectory_file(sha256: &str) -> String {
    format!("{sha256}.trajectory.json.gz")
}

/// Reads the trajectory of an output from its file, if it has one and is without its content.
pub fn load_trajectory(paths: &RunPaths, output: &mut Output) -> Result<(), JournalError> {
    if let Some(record) = &mut output.trajectory
        && record.content.is_none()
    {
        record.content = Some(Arc::new(read_trajectory(paths, record)?));
    }
    Ok(())
}

/// The trajectory that a record is of.
pub fn read_trajectory(
    paths: &RunPaths,
    record: &TrajectoryRecord,
) -> Result<Trajectory, JournalError> {
    let dir = paths.outputs_dir();
    let damaged = |path: PathBuf, message: String| JournalError::Trajectory { path, message };
    // The name becomes a path, and a journal may come from anywhere.
    if !is_digest(&record.sha256) {
        let message = "the journal refers to it by a name that is not a SHA-256";
        return Err(damaged(dir, message.to_owned()));
    }
    let path = dir.join(trajectory_file(&record.sha256));
    let failed = |error: std::io::Error| damaged(path.clone(), error.to_string());
    let file = open_file(&path).map_err(failed)?;
    let mut json = Vec::new();
    let most = record.bytes.min(UNPACKED_BYTES).saturating_add(1);
    let mut content = GzDecoder::new(BufReader::new(file)).take(most);
    content.read_to_end(&mut json).map_err(failed)?;
    if !hex(&Sha256::digest(&json)).eq_ignore_ascii_case(&record.sha256) {
        let message = "its content differs from what was stored (SHA-256)";
        return Err(damaged(path, message.to_owned()));
    }
    serde_json::from_slice(&json)
        .map_err(|error| damaged(path.clone(), format!("it is not a trajectory: {error}")))
}

fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

fn read_stored(dir: &Path, stored: &Stored) -> Result<Output, JournalError> {
    let damaged = |path: PathBuf, message: &str| JournalError::Stored {
        path,
        message: message.to_owned(),
    };
    // The name becomes a path, and a journal may come from anywhere.
    if !is_digest(&stored.sha256) {
        return Err(damaged(
            dir.to_owned(),
            "the journal refers to a stored output by a name that is not a SHA-256",
        ));
    }
    let path = dir.join(&stored.sha256);
    let failed = |source: std::io::Error| damaged(path.clone(), &source.to_string());
    let file = open_file(&path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length != stored.bytes {
        let message = format!("it has {length} bytes, but {} were stored", stored.bytes);
        return Err(damaged(path, &message));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // No further than it should go, should it grow now.
    file.take(length.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if !hex(&Sha256::digest(&bytes)).eq_ignore_ascii_case(&stored.sha256) {
        return Err(damaged(
            path,
            "its content differs from what was stored (SHA-256)",
        ));
    }
    let value = match stored.kind {
        StoredKind::Json => OutputValue::Json(
            serde_json::from_slice(&bytes)
                .map_err(|error| damaged(path.clone(), &format!("it is not JSON: {error}")))?,
        ),
        StoredKind::Text | StoredKind::Program => {
            let text = String::from_utf8(bytes)
                .map_err(|_| damaged(path.clone(), "it is not UTF-8 text"))?;
            if stored.kind == StoredKind::Program {
                OutputValue::Program(text)
            } else {
                OutputValue::Text(text)
            }
        }
    };
    Ok(Output {
        value,
        truncated: stored.truncated,
        usage: stored.usage,
        model: stored.model.clone(),
        finish: stored.finish,
        thoughts: stored.thoughts.clone(),
        workspace: stored.workspace.clone(),
        trajectory: stored.trajectory.clone(),
    })
}

/// The value that graders saw.
pub fn graded_value(
    paths: &RunPaths,
    attempt: &Attempt,
) -> Result<Option<OutputValue>, JournalError> {
    if let Some(extracted) = &attempt.extracted {
        return Ok(Some(match extracted {
            Value::String(text) => OutputValue::Text(text.clone()),
            other => OutputValue::Json(other.clone()),
        }));
    }
    Ok(output_of(paths, attempt)?.map(|output| output.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cause, Usage, Verdict, testing};

    fn run(dir: &Path) -> RunPaths {
        RunPaths {
            run_id: "eval-1".into(),
            dir: dir.to_owned(),
            stem: "run-050607".into(),
        }
    }

    fn attempt(content: &[u8], kind: StoredKind) -> Attempt {
        Attempt {
            stored: Some(Stored {
                sha256: hex(&Sha256::digest(content)),
                bytes: content.len() as u64,
                kind,
                head: String::new(),
                truncated: true,
                finish: None,
                thoughts: None,
                workspace: None,
                trajectory: None,
                usage: Some(Usage {
                    input_tokens: 1,
                    output_tokens: 2,
                    cost_usd: None,
                }),
                model: Some("m".into()),
            }),
            ..testing::attempt(Verdict::without_grades(Cause::WrongAnswer, ""))
        }
    }

    fn store(paths: &RunPaths, attempt: &Attempt, content: &[u8]) -> PathBuf {
        std::fs::create_dir_all(paths.outputs_dir()).unwrap();
        let path = paths
            .outputs_dir()
            .join(&attempt.stored.as_ref().unwrap().sha256);
        std::fs::write(&path, content).unwrap();
        path
    }

    #[test]
    fn an_output_comes_back_from_its_file_or_from_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let paths = run(dir.path());
        for (content, kind, expected) in [
            ("texté", StoredKind::Text, OutputValue::Text("texté".into())),
            (
                "def f(): pass",
                StoredKind::Program,
                OutputValue::Program("def f(): pass".into()),
            ),
            (
                "{\"n\":1.50}",
                StoredKind::Json,
                OutputValue::Json(serde_json::from_str("{\"n\":1.50}").unwrap()),
            ),
        ] {
            let attempt = attempt(content.as_bytes(), kind);
            store(&paths, &attempt, content.as_bytes());
            let output = output_of(&paths, &attempt).unwrap().unwrap();
            assert_eq!(output.value, expected);
            let stored = attempt.stored.unwrap();
            assert_eq!(
                (output.truncated, output.usage, output.model),
                (true, stored.usage, stored.model)
            );
        }
        let mut inline = attempt(b"", StoredKind::Text);
        inline.stored = None;
        assert_eq!(output_of(&paths, &inline).unwrap(), None);
        inline.output = Some(Output::text("x"));
        assert_eq!(output_of(&paths, &inline).unwrap(), Some(Output::text("x")));
    }

    #[test]
    fn a_file_that_is_gone_cut_or_changed_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let paths = run(dir.path());
        let content = b"the output";
        let attempt = attempt(content, StoredKind::Json);
        let told = |attempt: &Attempt| {
            let error = output_of(&paths, attempt).unwrap_err().to_string();
            let name = &attempt.stored.as_ref().unwrap().sha256;
            error
                .replace(&dir.path().display().to_string(), "DIR")
                .replace(name.as_str(), "SHA")
        };
        let mut said = vec![told(&attempt)];
        store(&paths, &attempt, b"the outpu");
        said.push(told(&attempt));
        store(&paths, &attempt, b"the 0utput");
        said.push(told(&attempt));
        store(&paths, &attempt, content);
        said.push(told(&attempt));
        let mut outside = attempt.clone();
        outside.stored.as_mut().unwrap().sha256 = "../../../etc/passwd".into();
        said.push(told(&outside));
        insta::assert_snapshot!(said.join("\n"), @r"
        the stored output DIR/run-050607.outputs/SHA can't be used: No such file or directory (os error 2)
        the stored output DIR/run-050607.outputs/SHA can't be used: it has 9 bytes, but 10 were stored
        the stored output DIR/run-050607.outputs/SHA can't be used: its content differs from what was stored (SHA-256)
        the stored output DIR/run-050607.outputs/SHA can't be used: it is not JSON: expected ident at line 1 column 2
        the stored output DIR/run-050607.outputs can't be used: the journal refers to a stored output by a name that is not a SHA-256
        ");
    }
}
