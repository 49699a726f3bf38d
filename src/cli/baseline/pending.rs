//! What is pending in a suite's store, and changes of it one by one.

use super::{failure, id_globs, relative};
use crate::baseline::{BaselineEntry, BaselineStore, BrokenFile, KeptBaseline};
use crate::cli::console::Console;
use crate::cli::{CliFailure, suite};
use crate::load::render;
use eval_base::nearest::did_you_mean;
use eval_base::text::plural;

/// A pending baseline, with the accepted one that it would replace.
pub(super) struct PendingBaseline {
    pub id: String,
    pub pending: KeptBaseline,
    pub accepted: Option<Result<KeptBaseline, BrokenFile>>,
}

impl PendingBaseline {
    /// Nothing but what is said about the capture would change.
    pub fn is_same(&self) -> bool {
        matches!(&self.accepted, Some(Ok(accepted)) if accepted.fingerprint == self.pending.fingerprint)
    }
}

/// What is pending, ascending by id.
#[derive(Default)]
pub(super) struct PendingList {
    pub pending: Vec<PendingBaseline>,
    /// Pending files that can't be used, and to which ids they belong.
    pub broken: Vec<(String, BrokenFile)>,
    /// Pending baselines of other suites, which are not looked at.
    pub of_others: usize,
}

/// What is pending for the suite of this name and fits the globs.
pub(super) fn gather(
    store: &BaselineStore,
    suite: &str,
    named: &[String],
) -> Result<PendingList, CliFailure> {
    let globs = id_globs(named)?;
    let mut gathered = PendingList::default();
    for entry in store
        .pending_entries(|id| globs.fit_or_empty(id))
        .map_err(failure)?
    {
        let BaselineEntry {
            id,
            accepted,
            pending,
        } = entry;
        match pending {
            None => {}
            Some(Ok(kept)) if kept.file.suite.as_deref().is_some_and(|of| of != suite) => {
                gathered.of_others += 1;
            }
            Some(Ok(pending)) => gathered.pending.push(PendingBaseline {
                id,
                pending,
                accepted,
            }),
            Some(Err(broken)) => gathered.broken.push((id, broken)),
        }
    }
    Ok(gathered)
}

impl PendingList {
    /// Fails for a glob that fits nothing that is pending.
    pub fn refuse_strangers(
        &self,
        store: &BaselineStore,
        named: &[String],
    ) -> Result<(), CliFailure> {
        let mut ids: Vec<&str> = self
            .pending
            .iter()
            .map(|pending| pending.id.as_str())
            .collect();
        ids.extend(self.broken.iter().map(|(id, _)| id.as_str()));
        let globs = id_globs(named)?;
        let Some(stranger) = globs.unmatched(&ids).first().copied() else {
            return Ok(());
        };
        let failure = CliFailure::wrong(format!("nothing is pending for `{stranger}`"));
        let all = store.pending_entries(|_| true).unwrap_or_default();
        let all: Vec<&str> = all.iter().map(|entry| entry.id.as_str()).collect();
        Err(match did_you_mean(stranger, all.iter().copied()) {
            Some(id) if id != stranger => failure.hint(format!("did you mean {id}?")),
            _ if all.is_empty() => {
                failure.hint("nothing at all is pending: `eval-harness baseline capture` captures")
            }
            _ => failure.hint("`eval-harness baseline diff` shows what is pending"),
        })
    }

    /// Tells of the files that can't be used.
    pub fn tell_broken(&self, console: &Console) {
        self.broken
            .iter()
            .for_each(|(_, broken)| tell(console, broken));
    }

    pub fn tell_others(&self, console: &Console) {
        if self.of_others > 0 {
            let n = plural(self.of_others, "pending baseline");
            console.note(&format!(
                "{n} of other suites in the same folder: left alone"
            ));
        }
    }
}

/// Everything that is wrong with a file, with places.
pub(super) fn tell(console: &Console, broken: &BrokenFile) {
    if broken.problems.is_empty() {
        return console.error(&format!("{} cannot be used", relative(&broken.path)), None);
    }
    console.note(
        render::human(
            &broken.problems,
            &broken.sources,
            suite::human_options(console),
        )
        .trim_end(),
    );
}
