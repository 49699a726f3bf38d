//! How the judges did.

use std::io::Write;

use super::escape::{inline, sentence};
use crate::model::Summary;
use crate::report::ReportError;
use crate::report::judges::{self, Told};

/// Judges that are listed.
const MANY: usize = 50;

pub fn section(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let Some(health) = &summary.judges else {
        return Ok(());
    };
    writeln!(out, "## Judges\n")?;
    list("", &judges::of_all(health), out)?;
    for (name, votes) in health.by_model.iter().take(MANY) {
        writeln!(out, "- {}", inline(name))?;
        list("  ", &judges::of_judge(votes), out)?;
    }
    if health.by_model.len() > MANY {
        writeln!(
            out,
            "- ... and {} more judges (see the JSON report)",
            health.by_model.len() - MANY
        )?;
    }
    writeln!(out)?;
    Ok(())
}

fn list(indent: &str, told: &Told, out: &mut dyn Write) -> Result<(), ReportError> {
    for (label, words) in &told.lines {
        writeln!(out, "{indent}- {label}: {}", sentence(words))?;
    }
    for remark in &told.remarks {
        writeln!(out, "{indent}- **{}**", sentence(remark))?;
    }
    Ok(())
}
