//! The output of a run as the accepted baseline of one regression, without a pending one between.

use super::capture::{CaptureResult, captured};
use super::keep::in_the_way;
use super::pending::PendingBaseline;
use super::shown::change;
use super::{failure, relative};
use crate::baseline::{BaselineStore, KeptBaseline, StoreError};
use crate::cli::CliFailure;
use crate::cli::accept::AcceptPlan;
use crate::cli::args::CaptureArgs;
use crate::cli::console::Console;
use crate::model::Fingerprint;
use crate::report::differences::DifferenceLimits;
use crate::report::limits;
use crate::report::page::Page;
use crate::spec::BaselineFile;

/// What accepting the output of a run would do; `args` name one regression and the run. `None` when
/// the output is accepted already.
pub fn accept_output(
    console: &Console,
    args: &CaptureArgs,
    sample: Option<u32>,
) -> Result<Option<AcceptPlan>, CliFailure> {
    let Some(mut captured) = captured(console, args, sample)? else {
        return Ok(None);
    };
    let result = captured.results.pop();
    let (Some(subject), Some(result), []) = (
        captured.subjects.first(),
        result,
        captured.results.as_slice(),
    ) else {
        return Err(CliFailure::wrong("more than one regression is selected"));
    };
    let id = subject.id().to_owned();
    let (written, finished_at) = match result {
        CaptureResult::Refused { why, .. } => {
            return Err(CliFailure::wrong(format!("`{id}`: {why}")));
        }
        CaptureResult::Written { varying, .. } if !varying.is_empty() && sample.is_none() => {
            let paths = varying.join(", ");
            let message = format!("`{id}`: its samples differ in {paths}");
            return Err(CliFailure::wrong(message).hint("select one with --sample N"));
        }
        CaptureResult::Written {
            written,
            finished_at,
            ..
        } => (written, finished_at),
    };
    let file = captured
        .report(console)
        .file(subject, written.clone(), finished_at);
    let store = BaselineStore::new(captured.settings.dir.clone());
    let accepted = store.accepted(&id).map_err(failure)?;
    // Until one is accepted, the baseline in the eval applies.
    let inline = || {
        let known = subject.case.expected.clone();
        let known = known.filter(|_| subject.case.baseline.is_some())?;
        Some(kept(&file, known, &store))
    };
    let pending = PendingBaseline {
        pending: kept(&file, written, &store),
        accepted: accepted.or_else(inline).map(Ok),
        id,
    };
    if pending.is_same() {
        return Ok(None);
    }
    let options = console.terminal_options(false);
    let limits = DifferenceLimits {
        rows: limits::terminal::BASELINE_REVIEW,
        columns: options.width.saturating_sub(6).max(20),
        unicode: options.unicode,
    };
    let mut page = Page::default();
    page.push(change(&pending, limits));
    let inline_bytes = captured.settings.inline_bytes;
    let subject = subject.clone();
    Ok(Some(AcceptPlan {
        page,
        write: Box::new(move || {
            let locked = store.lock().map_err(failure)?;
            let id = &pending.id;
            let suite = file.suite.as_deref().unwrap_or_default();
            if let Some(why) = in_the_way(&store, &subject, suite)? {
                return Err(CliFailure::wrong(format!("`{id}`: {why}")));
            }
            // A broken one is replaced.
            if let Ok(Some(other)) = store.pending(id)
                && other.fingerprint != pending.pending.fingerprint
            {
                return Err(
                    CliFailure::wrong(format!("another output of `{id}` is pending")).hint(format!(
                        "`eval-harness baseline review` shows it; `eval-harness baseline reject {id}` removes it"
                    )),
                );
            }
            locked.write_pending(&file, inline_bytes).map_err(failure)?;
            let written = store.pending(id).map_err(failure)?;
            let shown = written.ok_or_else(|| CliFailure::incomplete("nothing is pending"))?;
            match locked.accept_shown(&shown, false) {
                Ok(accepted) => Ok(relative(&accepted.path)),
                Err(error) => {
                    // A write that failed may have to be finished with the pending baseline.
                    if !matches!(error, StoreError::Io { .. }) {
                        locked.reject(id).map_err(failure)?;
                    }
                    Err(failure(error))
                }
            }
        }),
    }))
}

/// A baseline with this output, as the store would keep it.
fn kept(file: &BaselineFile, output: serde_json::Value, store: &BaselineStore) -> KeptBaseline {
    KeptBaseline {
        file: BaselineFile {
            output: None,
            ..file.clone()
        },
        fingerprint: Fingerprint::of(&output),
        output,
        path: store.dir().to_owned(),
    }
}
