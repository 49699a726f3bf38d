//! The changes of a store: a baseline is captured, accepted, rejected, removed.

use std::path::PathBuf;

use serde_json::Value;

use super::{BaselineStore, LockedStore, StoreError};
use crate::baseline::emit::emit;
use crate::baseline::replace;
use crate::load::source::MAX_AUTHORING_BYTES;
use crate::load::stored::KeptBaseline;
use crate::load::tree::parse;
use crate::load::{Problems, SourceFiles};
use crate::model::{BaselineStage, Fingerprint, baseline_file_name, output_file_name};
use crate::spec::{BaselineFile, OutputFile};

/// In `replaces`: there was no accepted baseline.
const NOTHING: &str = "none";
/// In `replaces`: the accepted baseline could not be read.
const UNREADABLE: &str = "unreadable";

/// What an accept did.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptResult {
    /// Of the accepted file.
    pub path: PathBuf,
    /// False when this output was accepted already.
    pub changed: bool,
}

impl LockedStore<'_> {
    pub fn store(&self) -> &BaselineStore {
        self.store
    }

    /// Writes a captured baseline as pending, in the place of an earlier pending one. An output of
    /// more than `inline_bytes` (as JSON) goes into a file beside, and so does one that YAML could
    /// not hold. `replaces` is set here.
    ///
    /// # Errors
    /// When the file has no `output`, or one that nests deeper than JSON is read; when it can't be
    /// written.
    pub fn write_pending(
        &self,
        file: &BaselineFile,
        inline_bytes: u64,
    ) -> Result<PathBuf, StoreError> {
        let id = file.eval_id.as_str();
        let unfit = |why: &str| StoreError::Unfit {
            id: id.to_owned(),
            why: why.to_owned(),
        };
        let json = file
            .output
            .as_ref()
            .and_then(|output| serde_json::to_vec(output).ok());
        let json = json.ok_or_else(|| unfit("it is not there"))?;
        // As a reader will see it, numbers in the spelling of the JSON reader.
        let output: Value =
            serde_json::from_slice(&json).map_err(|error| unfit(&error.to_string()))?;
        let replaces = match self.store.of_eval(id, BaselineStage::Accepted) {
            None => NOTHING.to_owned(),
            Some(Ok(kept)) => kept.fingerprint.to_string(),
            Some(Err(_)) => UNREADABLE.to_owned(),
        };
        let header = BaselineFile {
            replaces: Some(replaces),
            output: None,
            output_file: None,
            ..file.clone()
        };
        let inline = BaselineFile {
            output: Some(output),
            ..header.clone()
        };
        let text = emit(&inline);
        let fits = json.len() as u64 <= inline_bytes
            && text.len() as u64 <= MAX_AUTHORING_BYTES
            && is_read_back(&text, inline.output.as_ref());
        if fits {
            let path = self.put(
                &baseline_file_name(id, BaselineStage::Pending),
                text.as_bytes(),
            )?;
            self.take(&output_file_name(id, BaselineStage::Pending))?;
            return Ok(path);
        }
        let output = inline.output.unwrap_or_default();
        self.put_with_output(header, &output, BaselineStage::Pending)
    }

    /// Makes the pending baseline of an eval the accepted one.
    ///
    /// # Errors
    /// When there is none, when it or the accepted one is broken, when the accepted output is
    /// another than the one that was there at capture. The last two don't matter with `force`, as
    /// long as the pending one is whole.
    pub fn accept(&self, id: &str, force: bool) -> Result<AcceptResult, StoreError> {
        let pending = self
            .store
            .pending(id)?
            .ok_or_else(|| StoreError::NoPending { id: id.to_owned() })?;
        let accepted = self.store.of_eval(id, BaselineStage::Accepted);
        let same = matches!(&accepted, Some(Ok(kept)) if kept.fingerprint == pending.fingerprint);
        if !force && !same {
            let expected = pending.file.replaces.as_deref();
            match accepted {
                None if expected
                    .is_none_or(|replaced| replaced == NOTHING || replaced == UNREADABLE) => {}
                Some(Ok(kept)) if expected == Some(kept.fingerprint.to_string().as_str()) => {}
                // An accept was cut off between the output file and the file that names it.
                Some(Err(_)) if self.holds_output(&pending) => {}
                Some(Err(broken)) => {
                    return Err(StoreError::Broken {
                        id: id.to_owned(),
                        broken: Box::new(broken),
                    });
                }
                None | Some(Ok(_)) => return Err(StoreError::AtOdds { id: id.to_owned() }),
            }
        }
        let header = BaselineFile {
            replaces: None,
            output: None,
            output_file: None,
            ..pending.file.clone()
        };
        let path = if pending.file.output_file.is_some() {
            self.put_with_output(header, &pending.output, BaselineStage::Accepted)?
        } else {
            let text = emit(&BaselineFile {
                output: Some(pending.output),
                ..header
            });
            let path = self.put(
                &baseline_file_name(id, BaselineStage::Accepted),
                text.as_bytes(),
            )?;
            self.take(&output_file_name(id, BaselineStage::Accepted))?;
            path
        };
        self.drop_pending(id)?;
        Ok(AcceptResult {
            path,
            changed: !same,
        })
    }

    /// [`LockedStore::accept`] of a pending baseline that somebody has seen, and of no other.
    ///
    /// # Errors
    /// Also when another one is pending by now.
    pub fn accept_shown(
        &self,
        shown: &KeptBaseline,
        force: bool,
    ) -> Result<AcceptResult, StoreError> {
        self.is_still(shown)?;
        self.accept(&shown.file.eval_id, force)
    }

    /// [`LockedStore::reject`] of a pending baseline that somebody has seen, and of no other.
    ///
    /// # Errors
    /// Also when another one is pending by now, or none.
    pub fn reject_shown(&self, shown: &KeptBaseline) -> Result<(), StoreError> {
        self.is_still(shown)?;
        self.reject(&shown.file.eval_id).map(drop)
    }

    fn is_still(&self, shown: &KeptBaseline) -> Result<(), StoreError> {
        let id = shown.file.eval_id.clone();
        match self.store.of_eval(&id, BaselineStage::Pending) {
            Some(Ok(now)) if now == *shown => Ok(()),
            Some(_) => Err(StoreError::Replaced { id }),
            None => Err(StoreError::NoPending { id }),
        }
    }

    /// Removes the pending baseline of an eval, whole or broken; false when there was none.
    ///
    /// # Errors
    /// When a file can't be removed.
    pub fn reject(&self, id: &str) -> Result<bool, StoreError> {
        self.drop_pending(id)
    }

    /// Puts a whole file into the store, in the place of another; for what is kept beside the
    /// baselines of evals. `name` may hold folders, which are made.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.store.dir.join(name);
        let failed = |source| StoreError::Io {
            what: "write",
            path: path.clone(),
            source,
        };
        let (dir, file) = match name.rsplit_once('/') {
            Some((below, file)) => (self.store.dir.join(below), file),
            None => (self.store.dir.clone(), name),
        };
        if dir != self.store.dir {
            std::fs::create_dir_all(&dir).map_err(failed)?;
        }
        replace::replace(&dir, file, bytes).map_err(failed)?;
        Ok(path)
    }

    /// The output first: a baseline never names a file that is not there.
    fn put_with_output(
        &self,
        header: BaselineFile,
        output: &Value,
        standing: BaselineStage,
    ) -> Result<PathBuf, StoreError> {
        let id = header.eval_id.clone();
        let name = output_file_name(&id, standing);
        let unfit = |error: serde_json::Error| StoreError::Unfit {
            id: id.clone(),
            why: error.to_string(),
        };
        let mut bytes = serde_json::to_vec_pretty(output).map_err(unfit)?;
        bytes.push(b'\n');
        self.put(&name, &bytes)?;
        let fingerprint = Fingerprint::of(output).to_string();
        let text = emit(&BaselineFile {
            output_file: Some(OutputFile { name, fingerprint }),
            ..header
        });
        self.put(&baseline_file_name(&id, standing), text.as_bytes())
    }

    /// True when the accepted output file holds the output of a pending baseline already.
    fn holds_output(&self, pending: &KeptBaseline) -> bool {
        let path = self.store.dir.join(output_file_name(
            &pending.file.eval_id,
            BaselineStage::Accepted,
        ));
        // A link or a pipe is not what an accept left.
        if !path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
            return false;
        }
        let Ok(bytes) = eval_base::files::read_bytes(&path) else {
            return false;
        };
        pending.file.output_file.is_some()
            && serde_json::from_slice::<Value>(&bytes)
                .is_ok_and(|value| Fingerprint::of(&value) == pending.fingerprint)
    }

    fn drop_pending(&self, id: &str) -> Result<bool, StoreError> {
        let there = self.take(&baseline_file_name(id, BaselineStage::Pending))?;
        let output = self.take(&output_file_name(id, BaselineStage::Pending))?;
        Ok(there || output)
    }

    fn take(&self, name: &str) -> Result<bool, StoreError> {
        replace::remove(&self.store.dir, name).map_err(|source| StoreError::Io {
            what: "remove",
            path: self.store.dir.join(name),
            source,
        })
    }
}

/// Our own reader has the last word on whether YAML can hold a value: what nests too deeply is one
/// it can't.
fn is_read_back(text: &str, output: Option<&Value>) -> bool {
    let (mut sources, mut problems) = (SourceFiles::new(), Problems::new());
    let file = sources.add("", text);
    let node = parse(&sources, file, &mut problems).filter(|_| problems.is_empty());
    node.and_then(|node| node.get("output").map(|output| output.to_json()))
        .as_ref()
        == output
}
