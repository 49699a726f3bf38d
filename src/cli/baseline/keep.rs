//! What came of a capture: pending baselines are written, and every eval is told of.

use std::collections::BTreeMap;

use serde_json::Value;

use super::capture::{CaptureResult, CaptureSubject};
use super::outputs::RunOutputs;
use super::{decision, decisions};

use crate::baseline::{BaselineStore, LockedStore, StoreError};
use crate::cli::console::Console;
use crate::cli::{CliFailure, CliResult};
use crate::gate::ExitCode;
use crate::model::{BaselinePlace, Fingerprint, Plan, Target};
use crate::report::page::{Page, PageBlock, PageTable, StyledText, TableRow, outside, own};
use crate::run::harness_version;
use crate::spec::{BASELINE_VERSION, BaselineFile, BaselineTarget};
use eval_base::git;
use eval_base::text::plural;

/// What a baseline file says of its capture.
pub(super) struct CaptureMetadata {
    suite: String,
    version: Option<String>,
}

impl CaptureMetadata {
    pub fn of(plan: &Plan, version: Option<String>) -> CaptureMetadata {
        let version = version.or_else(|| git::describe(&plan.suite.dir).ok());
        CaptureMetadata {
            suite: plan.suite.name.clone(),
            version,
        }
    }
}

pub(super) struct CaptureReport<'a> {
    pub console: &'a Console,
    pub about: &'a CaptureMetadata,
    pub source: &'a RunOutputs,
    pub fresh: bool,
    pub inline_bytes: u64,
}

#[derive(Default)]
struct CaptureCounts {
    new: usize,
    changed: usize,
    unchanged: usize,
    refused: usize,
    stale: usize,
}

fn refused(
    subject: &CaptureSubject,
    why: &str,
    stale: bool,
    counts: &mut CaptureCounts,
) -> TableRow {
    counts.refused += 1;
    counts.stale += usize::from(stale);
    decision("refused", subject.id(), "", outside(why))
}

/// Why a baseline can't be written now: the accepted one changed since this capture began, or the
/// pending one belongs to another suite.
pub(super) fn in_the_way(
    store: &BaselineStore,
    subject: &CaptureSubject,
    suite: &str,
) -> Result<Option<String>, CliFailure> {
    let then = subject.case.baseline.as_deref();
    let then = then.filter(|origin| matches!(origin.place, BaselinePlace::Store { .. }));
    let now = match store.accepted(subject.id()) {
        Ok(now) => now,
        Err(error @ StoreError::Broken { .. }) => return Ok(Some(error.to_string())),
        Err(error) => return Err(super::failure(error)),
    };
    if now.map(|kept| kept.fingerprint) != then.map(|origin| origin.fingerprint) {
        let why = "the accepted baseline changed during the capture; capture it again";
        return Ok(Some(why.to_owned()));
    }
    let other = match store.pending(subject.id()) {
        Ok(Some(kept)) => kept.file.suite.filter(|of| of != suite),
        // A broken one is replaced.
        Ok(None) | Err(_) => None,
    };
    Ok(other.map(|suite| {
        format!("the pending baseline belongs to suite `{suite}`; accept or reject it there")
    }))
}

impl CaptureReport<'_> {
    /// Writes what is to be written, tells what came of every eval, and what to do next.
    pub fn keep(
        &self,
        store: &BaselineStore,
        subjects: &[CaptureSubject],
        results: Vec<CaptureResult>,
    ) -> CliResult {
        let mut counts = CaptureCounts::default();
        let mut table = decisions();
        let locked = store.lock().map_err(super::failure)?;
        for (subject, result) in subjects.iter().zip(results) {
            table.rows.push(match result {
                CaptureResult::Written {
                    written,
                    finished_at,
                    varying,
                } => {
                    self.warn_of_variation(subject, &varying);
                    let in_the_way = match self.fresh {
                        true => None,
                        false => in_the_way(locked.store(), subject, &self.about.suite)?,
                    };
                    match in_the_way {
                        None => self.write(&locked, subject, written, finished_at, &mut counts)?,
                        Some(why) => {
                            let why = format!("{why}, or use --force");
                            refused(subject, &why, false, &mut counts)
                        }
                    }
                }
                CaptureResult::Refused { why, stale } => refused(subject, &why, stale, &mut counts),
            });
        }
        drop(locked);
        self.tell(table, &counts, subjects.len())
    }

    fn write(
        &self,
        locked: &LockedStore,
        subject: &CaptureSubject,
        written: Value,
        finished_at: String,
        counts: &mut CaptureCounts,
    ) -> Result<TableRow, CliFailure> {
        let id = subject.id();
        let known = subject.case.baseline.as_deref();
        let hash = subject.case.input_hash.to_string();
        let same_input =
            known.is_none_or(|known| known.input_hash.as_ref().is_none_or(|of| *of == hash));
        let same_output = known.is_some_and(|known| known.fingerprint == Fingerprint::of(&written));
        if same_output && same_input && !self.fresh {
            counts.unchanged += 1;
            let gone = locked.reject(id).map_err(super::failure)?;
            let note = if gone {
                "the pending baseline was removed"
            } else {
                ""
            };
            return Ok(decision("unchanged", id, "", note.into()));
        }
        let file = self.file(subject, written, finished_at);
        let path = match locked.write_pending(&file, self.inline_bytes) {
            Ok(path) => path,
            Err(error @ StoreError::Unfit { .. }) => {
                return Ok(refused(subject, &error.to_string(), false, counts));
            }
            Err(error) => return Err(super::failure(error)),
        };
        let word = match (known, same_output) {
            (None, _) => "new",
            (Some(_), true) if !same_input => "new input",
            (Some(_), _) => "changed",
        };
        *(if known.is_none() {
            &mut counts.new
        } else {
            &mut counts.changed
        }) += 1;
        let path = super::relative(&path);
        Ok(decision(word, id, &path, StyledText::default()))
    }

    /// The baseline as a file.
    pub fn file(
        &self,
        subject: &CaptureSubject,
        output: Value,
        captured_at: String,
    ) -> BaselineFile {
        let environment = &self.source.environment;
        let target = match &subject.case.target {
            Some(own) => BaselineTarget {
                name: None,
                kind: own.kind().to_owned(),
            },
            None => {
                let kind = environment.target_type.clone();
                // A lone `target:` has its kind for a name.
                let name = Some(environment.target_alone().to_owned())
                    .filter(|name| !name.is_empty() && *name != kind);
                BaselineTarget { name, kind }
            }
        };
        let mut about = BTreeMap::from([
            ("arch".to_owned(), environment.arch.clone().into()),
            ("os".to_owned(), environment.os.clone().into()),
        ]);
        if let Some(model) = &environment.model {
            about.insert("model".to_owned(), model.clone().into());
        }
        let own = subject.case.target.as_ref();
        if let Some(endpoint) = own.and_then(Target::endpoint) {
            about.insert("model".to_owned(), endpoint.name().into());
        }
        BaselineFile {
            format_version: BASELINE_VERSION,
            eval_id: subject.id().to_owned(),
            baseline_version: self.about.version.clone(),
            captured_at: Some(captured_at),
            suite: Some(self.about.suite.clone()),
            target: Some(target),
            commit: environment.git.as_ref().map(|git| git.commit.clone()),
            dirty: environment.git.as_ref().is_some_and(|git| git.dirty),
            harness_version: Some(harness_version().to_owned()),
            environment: about,
            input_hash: Some(subject.case.input_hash.to_string()),
            replaces: None,
            output: Some(output),
            output_file: None,
        }
    }

    fn warn_of_variation(&self, subject: &CaptureSubject, varying: &[String]) {
        let Some((last, front)) = varying.split_last() else {
            return;
        };
        const SHOWN: usize = 6;
        let mut words = front.iter().take(SHOWN).cloned().collect::<Vec<_>>();
        words.push(if front.len() > SHOWN {
            format!("and {}", plural(varying.len() - SHOWN, "other"))
        } else {
            last.clone()
        });
        let words = words.join(", ");
        self.console.warn(&format!(
            "`{}`: its samples differ in {words}; the first one is captured. List what varies in `ignore_fields` \
                 or `ignore_values`, or write a matcher such as {{{{any_string}}}} there; otherwise the eval will \
                 fail by chance",
            subject.id()
        ));
    }

    fn tell(&self, table: PageTable, counts: &CaptureCounts, all: usize) -> CliResult {
        let told: Vec<String> = [
            (counts.new, "new"),
            (counts.changed, "changed"),
            (counts.unchanged, "unchanged"),
            (counts.refused, "refused"),
        ]
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
        let (run, all_of) = (&self.source.run_id, plural(all, "regression"));
        let mut page = Page::default();
        page.table(table);
        page.push(PageBlock::Gap);
        page.lead(own(format!("{run} of {all_of}: {}", told.join(", "))));
        self.console.page(&page)?;
        if self
            .source
            .environment
            .git
            .as_ref()
            .is_some_and(|git| git.dirty)
            && counts.new + counts.changed > 0
        {
            self.console
                .note("the checkout has uncommitted changes: the baselines record `dirty: true`");
        }
        if counts.new + counts.changed > 0 {
            self.console.note(
                "accepted baselines are unchanged: `eval-harness baseline review` shows and accepts the pending \
                     ones",
            );
        }
        if counts.refused == all && counts.stale == all {
            return Ok(ExitCode::Wrong);
        }
        Ok(if counts.refused > 0 {
            ExitCode::Incomplete
        } else {
            ExitCode::Pass
        })
    }
}
