//! What did not pass, in the Markdown report: cause, reason, and both sides in fences.

use std::fmt::Write as _;
use std::io::Write;

use serde_json::{Map, Value};

use crate::model::{Failure, Outcome, SampleResult, Summary};
use crate::report::ReportError;
use crate::report::differences::{self, Rows};
use crate::report::markdown::escape::{fence, inline, sentence};
use crate::report::markdown::judged as of_judges;
use crate::report::markdown::table;
use crate::report::values::{self, Comparison, Excerpt, Limits, LineKind};
use crate::report::{commands, flaky, judged, notices};
use eval_base::text;

/// Failures that are told in full: a report that is too long is not shown by those who host it.
const SHOWN: usize = 50;
/// Further ones that are named in a table.
const NAMED: usize = 200;
const FLAKY: usize = 50;
/// Places of one failure that are shown, and columns of a side that are shown whole.
const PLACES: usize = 40;
const COLUMNS: usize = 120;
/// Details that are shown path by path.
const DIFFERENCES: [&str; 2] = [differences::LISTED, differences::COUNTED];
const LIMITS: Limits = Limits {
    lines: 40,
    bytes: 3_000,
    context: 3,
    unicode: true,
};

pub fn section(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    if summary.failures.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Not passed\n")?;
    if let Some(command) = commands::run_failed_again(summary) {
        writeln!(out, "Run these again:\n\n{}", fence("sh", &command))?;
    }
    for failure in summary.failures.iter().take(SHOWN) {
        one(failure, judged::of_failure(summary, failure), out)?;
    }
    let named: Vec<Vec<String>> = summary
        .failures
        .iter()
        .skip(SHOWN)
        .take(NAMED)
        .map(|failure| {
            let cause = failure
                .cause
                .map_or(failure.outcome.name(), |cause| cause.name());
            vec![
                inline(&failure.eval_id),
                inline(&failure.case_id),
                cause.to_owned(),
            ]
        })
        .collect();
    if !named.is_empty() {
        writeln!(out, "### Further ones\n")?;
        table(out, &["Eval", "Case", "Cause"], &[false; 3], &named)?;
    }
    let more =
        summary.failures.len().saturating_sub(SHOWN + NAMED) + notices::unlisted_failures(summary);
    if more > 0 {
        writeln!(
            out,
            "... and {} more (see the JSON report, or the journal)\n",
            text::group_digits(more)
        )?;
    }
    Ok(())
}

/// Samples that passed on a later attempt only.
pub fn flaky(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let mut all = flaky::flaky(summary);
    let rows: Vec<Vec<String>> = all
        .by_ref()
        .take(FLAKY)
        .map(|flaky| {
            let (index, attempts) = flaky
                .sample
                .map_or((String::new(), String::new()), |(index, n)| {
                    (index.to_string(), n.to_string())
                });
            let first = flaky
                .first
                .map(|first| inline(&first.reason))
                .unwrap_or_default();
            vec![
                inline(flaky.eval),
                inline(flaky.case),
                index,
                attempts,
                first,
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "## Flaky\n\nThese passed on a later attempt only; pass@k and pass^k count first attempts.\n"
    )?;
    table(
        out,
        &["Eval", "Case", "Sample", "Attempts", "First attempt"],
        &[false, false, true, true, false],
        &rows,
    )?;
    let more = all.count();
    if more > 0 {
        writeln!(
            out,
            "... and {} more (see the JSON report)\n",
            text::group_digits(more)
        )?;
    }
    Ok(())
}

fn one(
    failure: &Failure,
    judged: Option<&SampleResult>,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let sign = if failure.outcome == Outcome::Errored {
        "⚠️"
    } else {
        "❌"
    };
    let place = if failure.case_id == failure.eval_id {
        inline(&failure.eval_id)
    } else {
        format!(
            "{} › {}",
            inline(&failure.eval_id),
            inline(&failure.case_id)
        )
    };
    writeln!(out, "### {sign} {place}\n")?;
    if !failure.name.trim().is_empty()
        && failure.name != failure.eval_id
        && failure.name != failure.case_id
    {
        writeln!(out, "- Name: {}", inline(&failure.name))?;
    }
    writeln!(out, "- Outcome: {}", failure.outcome)?;
    if let Some(cause) = failure.cause {
        writeln!(out, "- Cause: `{cause}`")?;
    }
    if failure.samples > 1 {
        writeln!(out, "- Samples: {}", text::group_digits(failure.samples))?;
    }
    if !failure.reason.trim().is_empty() {
        writeln!(out, "- Reason: {}", sentence(&failure.reason))?;
    }
    writeln!(out)?;
    if let Some(sample) = judged {
        of_judges::verdicts(sample, out)?;
    }
    let limits = differences::Limits {
        rows: PLACES,
        columns: COLUMNS,
        unicode: true,
    };
    let rows = differences::of_details(&failure.details, limits);
    match &rows {
        Some(rows) => places(rows, out)?,
        None => whole(failure, out)?,
    }
    // What was shown path by path need not be read again as JSON.
    let shown =
        |key: &str| rows.as_ref().is_some_and(|rows| rows.more == 0) && DIFFERENCES.contains(&key);
    let details: Map<String, Value> = failure
        .details
        .iter()
        .filter(|(key, _)| !shown(key))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    if !details.is_empty() {
        let pretty = serde_json::to_string_pretty(&details).map_err(ReportError::Json)?;
        let clean = text::sanitize(text::truncate_bytes(&pretty, LIMITS.bytes)).into_owned();
        let cut = if pretty.len() > LIMITS.bytes {
            text::ELLIPSIS
        } else {
            ""
        };
        let block = fence("json", &format!("{clean}{cut}"));
        writeln!(
            out,
            "<details><summary>Details</summary>\n\n{block}\n</details>\n"
        )?;
    }
    Ok(())
}

/// One place after the other: its path, then both sides.
pub fn places(rows: &Rows, out: &mut dyn Write) -> Result<(), ReportError> {
    let body = differences::as_diff(rows, 2 * COLUMNS);
    writeln!(
        out,
        "Differences by path (`-` expected, `+` actual):\n\n{}",
        fence("diff", &body)
    )?;
    if rows.more > 0 {
        writeln!(
            out,
            "... and {}\n",
            text::plural(rows.more, "more difference")
        )?;
    }
    Ok(())
}

/// Both sides whole, or the lines in which they differ.
pub fn whole(failure: &Failure, out: &mut dyn Write) -> Result<(), ReportError> {
    match values::compare(failure.expected.as_ref(), failure.actual.as_ref(), LIMITS) {
        Comparison::Nothing => {}
        Comparison::Sides { expected, actual } => {
            side("Expected", expected, out)?;
            side("Actual", actual, out)?;
        }
        Comparison::Diff { lines, more } => {
            let mut body = String::new();
            for line in lines {
                let _ = match line.kind {
                    LineKind::Gap => writeln!(body, "@@ {} @@", line.text),
                    kind => writeln!(body, "{}{}", kind.sign(), line.text),
                };
            }
            writeln!(
                out,
                "Difference (`-` expected, `+` actual):\n\n{}",
                fence("diff", &body)
            )?;
            left_out(more, out)?;
        }
    }
    Ok(())
}

fn side(label: &str, side: Option<Excerpt>, out: &mut dyn Write) -> Result<(), ReportError> {
    if let Some(side) = side {
        writeln!(out, "{label}:\n\n{}", fence("text", &side.text))?;
        left_out(side.more, out)?;
    }
    Ok(())
}

fn left_out(more: usize, out: &mut dyn Write) -> Result<(), ReportError> {
    if more > 0 {
        writeln!(out, "... {}\n", text::plural(more, "more line"))?;
    }
    Ok(())
}
