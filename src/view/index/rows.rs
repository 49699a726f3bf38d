//! Evals and cases of a run in the index.

use rusqlite::{Connection, params};

use super::search::TextMatcher;
use super::{IndexedContent, RunIndex};
use crate::model::{Counts, Outcome};

/// The order in which cases are listed, failures first. The index keeps places in it.
pub(super) const ORDER: [Outcome; 5] = [
    Outcome::Failed,
    Outcome::Errored,
    Outcome::Pending,
    Outcome::Skipped,
    Outcome::Passed,
];

fn place_of(outcome: Outcome) -> i64 {
    let at = ORDER.iter().position(|one| *one == outcome);
    at.and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
}

fn outcome_at(place: i64) -> Outcome {
    let at = usize::try_from(place).ok().and_then(|at| ORDER.get(at));
    at.copied().unwrap_or(Outcome::Failed)
}

/// An eval of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalRow {
    pub id: String,
    pub name: String,
    pub outcome: Outcome,
    pub score: Option<f64>,
    /// Its cases.
    pub counts: Counts,
}

/// A case of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseRow {
    /// Its place in the plan, from 1.
    pub at: u32,
    pub eval: String,
    pub id: String,
    /// Empty when it has none of its own.
    pub name: String,
    pub outcome: Outcome,
    /// Its samples or attempts disagree.
    pub flaky: bool,
    pub score: Option<f64>,
    /// The name of its commonest cause.
    pub cause: Option<String>,
    /// The beginning of the reason, and of the output, of a sample that did not pass, or else of
    /// the first.
    pub reason: String,
    pub output: String,
}

/// Which cases of a run are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaseSet {
    #[default]
    All,
    Of(Outcome),
    NotPassed,
    Flaky,
}

#[derive(Debug, Default)]
pub struct CaseFilter {
    pub set: CaseSet,
    /// Only cases of this eval.
    pub eval: Option<String>,
    pub text: TextMatcher,
}

/// Behind which case a page of a list begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaseCursor {
    outcome: i64,
    at: u32,
}

impl CaseCursor {
    pub(super) fn of(row: &CaseRow) -> CaseCursor {
        CaseCursor {
            outcome: place_of(row.outcome),
            at: row.at,
        }
    }

    /// As [`CaseCursor::to_string`] writes it.
    pub fn parse(text: &str) -> Option<CaseCursor> {
        let (outcome, at) = text.split_once('-')?;
        Some(CaseCursor {
            outcome: outcome.parse().ok()?,
            at: at.parse().ok()?,
        })
    }
}

impl std::fmt::Display for CaseCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.outcome, self.at)
    }
}

/// Some cases of a list.
#[derive(Debug, Default, PartialEq)]
pub struct CasePage {
    pub rows: Vec<CaseRow>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<CaseCursor>,
}

impl RunIndex {
    /// The evals of a run; `None` when the index does not have it.
    pub fn evals(&self, key: &str) -> rusqlite::Result<Option<Vec<EvalRow>>> {
        let query = "SELECT id, name, outcome, score, counts FROM evals WHERE run = ? ORDER BY at";
        self.database.with(|connection| {
            let Some(run) = run_number(connection, key)? else {
                return Ok(None);
            };
            let mut statement = connection.prepare(query)?;
            let rows = statement.query_map([run], |row| {
                let counts: String = row.get(4)?;
                Ok(EvalRow {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    outcome: outcome_at(row.get(2)?),
                    score: row.get(3)?,
                    counts: serde_json::from_str(&counts).unwrap_or_default(),
                })
            })?;
            rows.collect::<Result<_, _>>().map(Some)
        })
    }

    /// The case at a place in the plan of a run.
    pub fn case(&self, key: &str, at: u32) -> rusqlite::Result<Option<CaseRow>> {
        let query = format!("{SELECT} WHERE key = ? AND cases.at = ?");
        self.database.with(|connection| {
            let mut statement = connection.prepare(&query)?;
            let mut rows = statement.query(params![key, at])?;
            rows.next()?.map(case_of).transpose()
        })
    }

    /// At most `most` cases of a run, failures first; `None` when the index does not have it.
    pub fn cases(
        &self,
        key: &str,
        filter: &CaseFilter,
        after: CaseCursor,
        most: usize,
    ) -> rusqlite::Result<Option<CasePage>> {
        self.database.with(|connection| {
            let mut page = CasePage::default();
            let Some(run) = run_number(connection, key)? else {
                return Ok(None);
            };
            each_case(connection, run, filter, after, |row| {
                if page.rows.len() == most {
                    page.next = page.rows.last().map(CaseCursor::of);
                    return Ok(false);
                }
                page.rows.push(case_of(row)?);
                Ok(true)
            })?;
            Ok(Some(page))
        })
    }
}

const SELECT: &str = "SELECT cases.at, eval, cases.id, name, outcome, flaky, score, cause, reason, \
                      output FROM cases JOIN runs ON runs.id = run";
/// The same without the run, which is known by its number.
const OF_RUN: &str =
    "SELECT at, eval, id, name, outcome, flaky, score, cause, reason, output FROM cases";

/// `None` when the index does not have it.
pub(super) fn run_number(connection: &Connection, key: &str) -> rusqlite::Result<Option<i64>> {
    let query = "SELECT id FROM runs WHERE key = ?";
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([key])?;
    rows.next()?.map(|row| row.get(0)).transpose()
}

/// Gives the cases of a run that fit to `see`, in order, until it returns false. Returns how many
/// were looked at.
pub(super) fn each_case(
    connection: &Connection,
    run: i64,
    filter: &CaseFilter,
    after: CaseCursor,
    mut see: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<bool>,
) -> rusqlite::Result<usize> {
    let passed = place_of(Outcome::Passed);
    let (least, most) = match filter.set {
        CaseSet::Of(outcome) => (place_of(outcome), place_of(outcome)),
        CaseSet::NotPassed => (0, passed - 1),
        CaseSet::All | CaseSet::Flaky => (0, passed),
    };
    let query = format!(
        "{OF_RUN} WHERE run = ?1 AND outcome BETWEEN ?2 AND ?3 AND (outcome, at) > (?4, ?5) \
         AND (?6 IS NULL OR eval = ?6) ORDER BY outcome, at"
    );
    let mut statement = connection.prepare(&query)?;
    let CaseCursor { outcome, at } = after;
    let mut rows = statement.query(params![run, least, most, outcome, at, filter.eval])?;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        seen += 1;
        // Not in the query: a search counts what it looks at.
        if filter.set == CaseSet::Flaky && !row.get::<_, bool>(5)? {
            continue;
        }
        let fields = [1, 2, 3, 8, 9].map(|at| row.get_ref(at).ok());
        let texts = fields.map(|field| field.and_then(|field| field.as_str().ok()).unwrap_or(""));
        if filter.text.fits(&texts) && !see(row)? {
            break;
        }
    }
    Ok(seen)
}

pub(super) fn case_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<CaseRow> {
    Ok(CaseRow {
        at: row.get(0)?,
        eval: row.get(1)?,
        id: row.get(2)?,
        name: row.get(3)?,
        outcome: outcome_at(row.get(4)?),
        flaky: row.get(5)?,
        score: row.get(6)?,
        cause: row.get(7)?,
        reason: row.get(8)?,
        output: row.get(9)?,
    })
}

/// Adds the evals and cases of a run that has none.
pub(super) fn put(
    connection: &Connection,
    run: i64,
    content: &IndexedContent,
) -> rusqlite::Result<()> {
    let mut evals = connection.prepare("INSERT INTO evals VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    for (at, eval) in (0i64..).zip(&content.evals) {
        let counts = serde_json::to_string(&eval.counts).unwrap_or_default();
        let outcome = place_of(eval.outcome);
        let values = params![run, at, eval.id, eval.name, outcome, eval.score, counts];
        evals.execute(values)?;
    }
    let query = "INSERT OR REPLACE INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let mut cases = connection.prepare(query)?;
    for case in &content.cases {
        cases.execute(params![
            run,
            place_of(case.outcome),
            case.at,
            case.eval,
            case.id,
            case.name,
            case.flaky,
            case.score,
            case.cause,
            case.reason,
            case.output
        ])?;
    }
    Ok(())
}
