//! The table of cases: a column for each of their facts, and what the page of a case shows.

use std::io::Write;

use serde::Serialize;
use serde_json::json;

use super::details;
use crate::model::{CaseResult, EvalResult, Summary};
use crate::report::ReportError;

/// The cases of a run that its page holds.
pub(super) struct Cases<'a> {
    cases: Vec<(&'a EvalResult, &'a CaseResult)>,
}

pub(super) fn of(summary: &Summary) -> Cases<'_> {
    let cases = summary.evals.iter().flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)));
    Cases { cases: cases.collect() }
}

impl Cases<'_> {
    /// The block `cases`.
    pub fn columns(&self) -> impl Serialize {
        json!({
            "eval": self.cases.iter().map(|(eval, _)| &eval.id).collect::<Vec<_>>(),
            "id": self.cases.iter().map(|(_, case)| &case.id).collect::<Vec<_>>(),
            "outcome": self.cases.iter().map(|(_, case)| case.outcome.name()).collect::<Vec<_>>(),
        })
    }

    /// The blocks `details-0`, `details-1`, ...
    pub fn write_details(&self, out: &mut dyn Write) -> Result<(), ReportError> {
        details::write(&self.cases, out)
    }
}
