//! The earlier runs beside which a run's report shows it: as many as a small chart has room for,
//! read within bounds.

use std::path::Path;
use std::thread::JoinHandle;

use super::{HistoryRequest, LeftOut, PastRun, entries, read};
use crate::journal;
use crate::model::{PastRate, Plan, ReportFormat, RunIdentity, RunStarted};

/// The most runs that are told.
const RUNS: usize = 30;
/// The most journals whose beginnings are read, the latest.
const JOURNALS: usize = 1_000;
/// The largest journal that is read, and the most of all together, in bytes.
const JOURNAL_BYTES: u64 = 8 << 20;
const ALL_BYTES: u64 = 64 << 20;

/// Earlier runs that are read while a run goes on.
pub(in crate::run) struct PastRatesReader(Option<JoinHandle<Vec<PastRate>>>);

impl PastRatesReader {
    /// Begins to read, when the reports of the run show what is found. The run's first session
    /// began at `began`.
    pub fn of(plan: &Plan, started: &RunStarted, began: &str) -> PastRatesReader {
        if !plan.reporting.formats.contains(&ReportFormat::Html) {
            return PastRatesReader(None);
        }
        let results = plan.reporting.output_dir.clone();
        let (run, began) = (started.run.clone(), began.to_owned());
        let read = move || past_rates(&results, &run, &began);
        // Without the thread the report goes without.
        PastRatesReader(
            std::thread::Builder::new()
                .name("history".to_owned())
                .spawn(read)
                .ok(),
        )
    }

    pub fn done(self) -> Vec<PastRate> {
        self.0
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

/// The runs of the same suite and target that began before this one, oldest first: whole ones, as
/// the history of their folder counts them. What can't be read, or is too large to be read for
/// that, is left out.
pub(super) fn past_rates(results: &Path, this: &RunIdentity, began: &str) -> Vec<PastRate> {
    // The run itself, and the run whose outputs it grades again: it takes the place of that.
    let is_own = |id: &String| *id == this.run_id || Some(id) == this.regrade_of.as_ref();
    let (mut runs, _) = journal::scan_runs(results);
    runs.retain(|run| !is_own(&run.run_id));
    let runs = runs.split_off(runs.len().saturating_sub(JOURNALS));
    let mut heads = entries::heads(runs, 1, &mut Vec::new());
    heads.retain(|head| {
        let run = &head.started.run;
        run.timestamp.as_str() <= began && !is_own(&run.run_id)
    });
    let entries = entries::entries(heads, &mut LeftOut::default());
    let request = HistoryRequest {
        suite: Some(&this.suite_name),
        target: Some(&this.environment.target),
        ..HistoryRequest::default()
    };
    let mut chosen = entries::choose(entries, &request, &mut LeftOut::default());
    chosen.retain(|entry| {
        let started = entry.first();
        started.run.environment.target_type == this.environment.target_type
            && started.run.filters.is_empty()
    });
    let mut room = ReadBudget {
        runs: RUNS,
        bytes: ALL_BYTES,
    };
    let mut kept: Vec<entries::HistoryEntry> = chosen
        .into_iter()
        .rev()
        .filter(|entry| room.takes(entry))
        .collect();
    kept.reverse();
    let groups = read::read(kept, 1, &mut Vec::new());
    let runs = groups.iter().flat_map(|group| &group.runs);
    runs.filter(|run| run.is_whole()).map(rate).collect()
}

fn rate(run: &PastRun) -> PastRate {
    PastRate {
        run_id: run.run_id.clone(),
        timestamp: run.timestamp.clone(),
        commit: run.clean_commit().map(str::to_owned),
        decision: run.gate,
        passed: run.cases.passed,
        graded: run.cases.passed + run.cases.failed,
    }
}

/// What may still be read.
struct ReadBudget {
    runs: usize,
    bytes: u64,
}

impl ReadBudget {
    fn takes(&mut self, entry: &entries::HistoryEntry) -> bool {
        let heads = entry.heads.iter().chain(entry.regrades.iter().flatten());
        let sizes = heads.map(|head| head.journal.metadata().map_or(u64::MAX, |file| file.len()));
        let sum = sizes.map(|size| if size > JOURNAL_BYTES { u64::MAX } else { size });
        let bytes = sum.fold(0, u64::saturating_add);
        let fits = self.runs > 0 && bytes <= self.bytes;
        if fits {
            self.runs -= 1;
            self.bytes -= bytes;
        }
        fits
    }
}
