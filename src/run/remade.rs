//! Workspaces of an earlier run, made again from what its journal has of them.

use std::path::{Component, Path, PathBuf};

use super::regrade::RegradeContext;
use crate::model::{Case, Cause, Output, RecordedTree};
use crate::workspace::{FinishedWorkspace, RecordedWork, WorkspaceFault};

/// What a journal names, which may come from anywhere: only below the results folder, whose folder of
/// a day is `day`.
fn place_of(day: &Path, name: &str) -> Option<PathBuf> {
    let below = name.strip_prefix("../").unwrap_or(name);
    let is_plain = |part| matches!(part, Component::Normal(_));
    if !Path::new(below).components().all(is_plain) {
        return None;
    }
    let day = day.canonicalize().ok()?;
    let results = day.parent()?;
    let path = day.join(name).canonicalize().ok()?;
    path.starts_with(results).then_some(path)
}

/// The workspace that a target left, made again from what is recorded of it.
pub(super) async fn remade(
    bench: &RegradeContext,
    case: &Case,
    output: &Output,
) -> Result<Option<FinishedWorkspace>, WorkspaceFault> {
    let (Some(definition), Some(left)) = (&case.workspace, &output.workspace) else {
        return Ok(None);
    };
    if left.left.is_empty() {
        let why = "the run was made by an earlier version of eval-harness, which did not record a digest of all that the \
                   target left in the workspace, so it can't be checked that it is made again: run it again";
        return Err(WorkspaceFault::new(Cause::PatchRejected, why));
    }
    let workspaces = bench.graders.workspaces().await;
    if workspaces.digest(definition).await? != left.template {
        let why = "the workspace begins with other files than when the target worked in it";
        return Err(WorkspaceFault::new(Cause::PatchRejected, why));
    }
    let at = |name: &String| place_of(&bench.source.dir, name);
    let record = left.record.as_ref().and_then(at).map(RecordedWork::Record);
    let whole = !left.diff.truncated;
    let diff = whole.then(|| RecordedWork::Patch(left.diff.text.clone()));
    let kept = left.kept.as_ref().and_then(|name| {
        let (name, path) = (name.clone(), at(name)?);
        Some(RecordedWork::Kept(RecordedTree { name, path }))
    });
    let mut failed = None;
    for work in [record, diff, kept].into_iter().flatten() {
        match workspaces.recorded(definition, work).await {
            Ok(made) if made.output().left == left.left => return Ok(Some(made)),
            Ok(_) => {}
            Err(fault) => failed = failed.or(Some(fault)),
        }
    }
    let why = "the run did not record all that the target left in the workspace, so it can't be made again: \
               set `keep: always` and run it again";
    Err(failed.unwrap_or_else(|| WorkspaceFault::new(Cause::PatchRejected, why)))
}
