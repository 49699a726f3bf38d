//! The models that were asked.

use std::io::Write;

use super::escape::{inline, sentence};
use super::table;
use crate::model::Summary;
use crate::report::{ReportError, models};

/// Models in the table.
const MANY: usize = 50;

pub fn section(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let Some(used) = &summary.models else {
        return Ok(());
    };
    writeln!(out, "## Models\n")?;
    let all = models::told(used);
    let rows: Vec<Vec<String>> = all
        .iter()
        .take(MANY)
        .map(|told| {
            let words = [
                &told.answers,
                &told.retries,
                &told.waited,
                &told.latency,
                &told.tokens,
                &told.cost,
                &told.spent,
            ];
            let name = format!("{}{}", inline(&told.name), told.role_words());
            std::iter::once(name)
                .chain(words.into_iter().map(|words| inline(words)))
                .collect()
        })
        .collect();
    let head = [
        "Model", "Answers", "Retries", "Waited", "Latency", "Tokens", "Cost", "Spent",
    ];
    table(out, &head, &[false; 8], &rows)?;
    let mut remarks = Vec::new();
    for told in all.iter().take(MANY) {
        remarks.extend(told.remarks.iter().map(|words| {
            format!(
                "- {}{}: {}",
                inline(&told.name),
                told.role_words(),
                sentence(words)
            )
        }));
    }
    if all.len() > MANY {
        remarks.push(format!(
            "- ... and {} more models (see the JSON report)",
            all.len() - MANY
        ));
    }
    if !remarks.is_empty() {
        writeln!(out, "{}\n", remarks.join("\n"))?;
    }
    Ok(())
}
