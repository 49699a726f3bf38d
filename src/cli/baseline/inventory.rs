//! The regressions of a suite beside what its store holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::{failure, overview};
use crate::baseline::capture::takes_a_baseline;
use crate::baseline::status::{BaselineState, RegressionEval, StoreFileState, states};
use crate::baseline::{BaselineEntry, BaselineStore, BrokenFile, KeptBaseline};
use crate::cli::args::OfSuiteArgs;
use crate::cli::console::Console;
use crate::cli::{CliFailure, suite};
use crate::load::{LoadOverrides, PlanPurpose};
use crate::model::{Case, Criticality, EvalType, OutputValue, Plan};

/// One eval id: of the suite, of the store, or of both.
pub(super) struct InventoryRow {
    pub id: String,
    pub name: Option<String>,
    pub criticality: Option<Criticality>,
    /// At least one.
    pub states: Vec<BaselineState>,
    pub accepted: Option<Result<KeptBaseline, BrokenFile>>,
    pub pending: Option<Result<KeptBaseline, BrokenFile>>,
    /// Of a baseline beside the eval.
    inline_at: Option<String>,
}

impl InventoryRow {
    /// When what counts was captured.
    pub fn accepted_at(&self) -> Option<String> {
        match &self.accepted {
            Some(Ok(kept)) => kept.file.captured_at.clone(),
            Some(Err(_)) => None,
            None => self.inline_at.clone(),
        }
    }
}

pub(super) struct BaselineInventory {
    pub suite: String,
    pub dir: PathBuf,
    /// Evals in the suite's order, then those that it does not have.
    pub rows: Vec<InventoryRow>,
    /// Baselines that say to be of other suites.
    pub of_others: usize,
    pub results_dir: PathBuf,
    /// Output files that baselines of any suite name; `None` when a baseline can't be read, so that
    /// nobody knows.
    pub named_outputs: Option<BTreeSet<String>>,
}

impl BaselineInventory {
    /// The files that can't be read.
    pub fn broken(&self) -> impl Iterator<Item = &BrokenFile> {
        let files = self
            .rows
            .iter()
            .flat_map(|row| [&row.accepted, &row.pending]);
        files.flatten().filter_map(|read| read.as_ref().err())
    }
}

/// The whole suite, and its store. A broken baseline is no reason not to look at the others.
pub(super) fn inventory(
    console: &Console,
    of: &OfSuiteArgs,
) -> Result<BaselineInventory, CliFailure> {
    let about = overview(console, of)?;
    let store = BaselineStore::new(about.baselines.dir.clone());
    let entries = store.entries().map_err(failure)?;
    let plan = plan_beside(console, of, &entries)?;
    let named_outputs = named_outputs(&entries);
    let mut entries: BTreeMap<String, BaselineEntry> = entries
        .into_iter()
        .map(|entry| (entry.id.clone(), entry))
        .collect();
    let mut rows = Vec::new();
    for eval in plan
        .evals
        .iter()
        .filter(|eval| eval.info.kind == EvalType::Regression)
    {
        let entry = entries.remove(&eval.info.id);
        let case = match eval.cases.get(0) {
            Some(case) if eval.cases.len() == 1 => case.map_err(CliFailure::wrong)?,
            _ => continue,
        };
        if entry.is_none() && !takes_a_baseline(&case.grading, case.baseline.is_some()) {
            continue;
        }
        let mut row = row(eval.info.id.clone(), Some(&case), entry);
        row.name = Some(eval.info.name.clone());
        row.criticality = eval.info.criticality;
        rows.push(row);
    }
    let mut of_others = 0;
    for (id, entry) in entries {
        if is_of_another(&entry, &plan.suite.name) {
            of_others += 1;
        } else {
            rows.push(row(id, None, Some(entry)));
        }
    }
    let results_dir = plan.reporting.output_dir.clone();
    Ok(BaselineInventory {
        suite: plan.suite.name,
        dir: about.baselines.dir,
        rows,
        of_others,
        results_dir,
        named_outputs,
    })
}

/// The suite as it is with every baseline that can be read.
fn plan_beside(
    console: &Console,
    of: &OfSuiteArgs,
    entries: &[BaselineEntry],
) -> Result<Plan, CliFailure> {
    let unusable: BTreeSet<String> = broken_ids(entries);
    let known = unusable
        .into_iter()
        .map(|id| (id, OutputValue::Json(serde_json::json!({}))))
        .collect();
    let more = LoadOverrides {
        gateless: true,
        known_good: Arc::new(known),
        ..LoadOverrides::default()
    };
    let selected = suite::load(&of.whole(), PlanPurpose::List, more)?;
    suite::plan_or_problems(console, selected.loaded)
}

/// The evals whose accepted baseline can't be read.
pub(super) fn broken_ids(entries: &[BaselineEntry]) -> BTreeSet<String> {
    let broken = entries
        .iter()
        .filter(|entry| matches!(entry.accepted, Some(Err(_))));
    broken.map(|entry| entry.id.clone()).collect()
}

fn named_outputs(entries: &[BaselineEntry]) -> Option<BTreeSet<String>> {
    let files = entries
        .iter()
        .flat_map(|entry| [&entry.accepted, &entry.pending])
        .flatten();
    let named = files.map(|read| {
        read.as_ref()
            .ok()
            .map(|kept| kept.file.output_file.as_ref())
    });
    Some(
        named
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .flatten()
            .map(|beside| beside.name.clone())
            .collect(),
    )
}

/// Whether what can be read of an entry says to be of another suite.
fn is_of_another(entry: &BaselineEntry, suite: &str) -> bool {
    let files = [&entry.accepted, &entry.pending];
    let mut said = files
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|kept| kept.file.suite.as_deref());
    said.next().is_some_and(|first| first != suite)
}

fn row(id: String, case: Option<&Case>, entry: Option<BaselineEntry>) -> InventoryRow {
    let BaselineEntry {
        accepted, pending, ..
    } = entry.unwrap_or_default();
    let unusable = matches!(accepted, Some(Err(_)));
    let origin = case
        .and_then(|case| case.baseline.as_deref())
        .filter(|_| !unusable);
    let regression = case.map(|case| RegressionEval {
        origin,
        input_hash: case.input_hash,
    });
    let states = states(regression, file(&accepted), file(&pending));
    let inline_at = origin.and_then(|origin| origin.captured_at.clone());
    InventoryRow {
        id,
        name: None,
        criticality: None,
        states,
        accepted,
        pending,
        inline_at,
    }
}

fn file(read: &Option<Result<KeptBaseline, BrokenFile>>) -> StoreFileState<'_> {
    match read {
        None => StoreFileState::Absent,
        Some(Err(_)) => StoreFileState::Broken,
        Some(Ok(kept)) => StoreFileState::There {
            fingerprint: kept.fingerprint,
            input_hash: kept.file.input_hash.as_deref(),
        },
    }
}
