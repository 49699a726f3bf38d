//! The run beside accepted scores.

use std::io::Write;

use super::escape::inline;
use super::{sentence, table};
use crate::base::text;
use crate::model::{CaseList, Summary};
use crate::report::{ReportError, beside};

/// Cases of each kind that are shown.
const FEW: usize = 30;

pub fn section(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let Some(comparison) = &summary.baseline else { return Ok(()) };
    writeln!(out, "## Beside the accepted scores\n")?;
    writeln!(
        out,
        "Accepted scores {} ({}).\n",
        inline(&beside::origin(comparison)),
        inline(&comparison.path)
    )?;
    let rows: Vec<Vec<String>> = beside::rows(comparison)
        .into_iter()
        .map(|row| vec![inline(&row.name), row.before, row.now, row.change])
        .collect();
    if !rows.is_empty() {
        table(out, &["Metric", "Accepted", "Now", "Change"], &[false, true, true, true], &rows)?;
    }
    for words in beside::sentences(comparison) {
        writeln!(out, "- {}", sentence(&words))?;
    }
    writeln!(out)?;
    cases(out, &comparison.broken, "Broken")?;
    cases(out, &comparison.fixed, "Fixed")?;
    writeln!(out, "{}\n", beside::INFORMS)?;
    Ok(())
}

fn cases(out: &mut dyn Write, list: &CaseList, word: &str) -> Result<(), ReportError> {
    if list.count == 0 {
        return Ok(());
    }
    writeln!(out, "{word}:\n")?;
    for case in list.cases.iter().take(FEW) {
        writeln!(out, "- {}", inline(&beside::case_name(case)))?;
    }
    let shown = list.cases.len().min(FEW);
    if list.count > shown {
        writeln!(out, "- ... and {}", text::plural(list.count - shown, "more case"))?;
    }
    writeln!(out)?;
    Ok(())
}
