//! Runs beside each other: the page that `compare --format html` writes.

use axum::http::StatusCode;
use axum::response::Response;

use super::{message, missing, run_address};
use crate::gate;
use crate::model::{RunScores, RunWarning};
use crate::report::html::page::policy;
use crate::report::html::{self, ComparedRun, ComparedRuns, flipped_cases};
use crate::report::limits::view as limits;
use crate::run;
use crate::server::{QueryFields, html_page};
use crate::spec::words::FailOn;
use crate::summary::compare::{CompareSettings, ComparisonError, compare, compare_anyway};
use crate::view::folder::{ListedRun, RunFolder};
use crate::view::shell::around;

pub fn page(folder: &RunFolder, query: &QueryFields) -> Response {
    let list = folder.list();
    let named: Vec<&str> = match (query.get("base"), query.get("new")) {
        (Some(base), Some(_)) => std::iter::once(base).chain(query.all("new")).collect(),
        // Of boxes that were ticked the oldest run is the reference: the list begins with the newest.
        _ => {
            let ticked: Vec<&str> = query.all("run").collect();
            let ids = list.runs.iter().rev().map(|run| run.paths.run_id.as_str());
            ids.filter(|id| ticked.contains(id)).collect()
        }
    };
    let runs: Option<Vec<&ListedRun>> = named.iter().map(|id| list.find(id)).collect();
    match runs.as_deref() {
        None => missing("There is no such run. It may have been removed."),
        Some([base, candidates @ ..]) if (1..=limits::CANDIDATES).contains(&candidates.len()) => {
            compared(base, candidates)
                .unwrap_or_else(|why| message(StatusCode::OK, "These runs can't be compared", why))
        }
        Some(_) => {
            let most = limits::CANDIDATES + 1;
            let words =
                format!("Select 2 to {most} runs of the list; the oldest is the reference.");
            message(StatusCode::OK, "Select runs to compare", words)
        }
    }
}

fn compared(base: &ListedRun, candidates: &[&ListedRun]) -> Result<Response, String> {
    let mut warnings = Vec::new();
    let reference = scores(base, &mut warnings)?;
    let sides: Result<Vec<RunScores>, String> = candidates
        .iter()
        .map(|run| scores(run, &mut warnings))
        .collect();
    let sides = sides?;
    let sides: Vec<&RunScores> = sides.iter().collect();
    let mut settings = CompareSettings {
        listed: usize::MAX,
        ..CompareSettings::default()
    };
    let runs = candidates.iter().chain([&base]);
    if let Some(seed) = run::recorded_seed(runs.map(|run| run.paths.journal())) {
        settings.seed = seed;
    }
    let compared = match compare(&reference, &sides, &settings) {
        // Shown all the same, as by `compare`.
        Err(ComparisonError::NoSharedCase { .. }) => compare_anyway(&reference, &sides, &settings),
        compared => compared,
    };
    let compared = compared.map_err(|error| error.to_string())?;
    let comparisons = gate::decided_comparisons(FailOn::Significant, compared, &warnings);
    let listed = flipped_cases(&comparisons);
    let read = |run: &ListedRun| ComparedRun {
        // The scores were read: what can't be read now costs the page its details.
        evals: run::reported_cases(&run.paths.journal(), |eval, case| {
            listed.contains(&(eval, case))
        })
        .unwrap_or_default(),
        page: None,
    };
    let runs = ComparedRuns {
        reference: read(base),
        candidates: candidates.iter().map(|run| read(run)).collect(),
    };
    let mut links = vec![("Reference", run_address(&base.paths.run_id))];
    links.extend(
        candidates
            .iter()
            .map(|run| ("Candidate", run_address(&run.paths.run_id))),
    );
    let mut body = Vec::new();
    html::comparison_within(&comparisons, &runs, &around(&links), &mut body)
        .map_err(|error| error.to_string())?;
    Ok(html_page(StatusCode::OK, policy(), body))
}

fn scores(run: &ListedRun, warnings: &mut Vec<RunWarning>) -> Result<RunScores, String> {
    let (journal, id) = (run.paths.journal(), run.paths.run_id.clone());
    let shown = vec![journal.display().to_string()];
    let read = run::run_scores(&[journal], id, shown).map_err(|error| error.to_string())?;
    warnings.extend(read.1);
    Ok(read.0)
}
