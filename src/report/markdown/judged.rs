//! What judges said: criteria as a table, checks, why, and the votes.

use std::io::Write;

use super::escape::{fence, inline, sentence};
use super::{outcome_sign, table};
use crate::model::{JudgeReply, JudgeVote, Outcome, SampleResult, Summary};
use crate::report::ReportError;
use crate::report::judged::{self, Row, Told};
use eval_base::text;

/// Judged cases that did not fail and are told in full.
const CASES: usize = 50;
/// Criteria, checks, pieces of advice and votes of one verdict.
const MANY: usize = 50;
/// Replies of one vote, and bytes of each.
const REPLIES: usize = 3;
const REPLY: usize = 2_000;

/// Every verdict on a sample.
pub fn verdicts(sample: &SampleResult, out: &mut dyn Write) -> Result<(), ReportError> {
    for told in judged::told(sample) {
        verdict(&told, out)?;
    }
    Ok(())
}

/// What judges said of cases that did not fail, folded.
pub fn section(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let total = judged::not_failed(summary).count();
    if total == 0 {
        return Ok(());
    }
    let cases = text::plural(total, "case");
    writeln!(
        out,
        "## Judged\n\n<details><summary>What judges said of {cases} that did not fail</summary>\n"
    )?;
    for (eval, case, sample) in judged::not_failed(summary).take(CASES) {
        let place = match case.id == eval {
            true => inline(eval),
            false => format!("{} › {}", inline(eval), inline(&case.id)),
        };
        writeln!(out, "### {} {place}\n", outcome_sign(sample.outcome))?;
        verdicts(sample, out)?;
    }
    if total > CASES {
        writeln!(
            out,
            "... and {} more (see the JSON report)\n",
            text::group_digits(total - CASES)
        )?;
    }
    writeln!(out, "</details>\n")?;
    Ok(())
}

fn verdict(told: &Told, out: &mut dyn Write) -> Result<(), ReportError> {
    let judged = told.judged;
    let mut words = vec![told.outcome.name().to_owned()];
    words.extend(
        [told.score.as_str(), judged.panel.as_str()]
            .iter()
            .filter(|w| !w.is_empty())
            .map(|w| sentence(w)),
    );
    writeln!(out, "Judged by {}: {}\n", inline(told.by), words.join("; "))?;
    criteria(told, out)?;
    let mut items = Vec::new();
    for (met, words) in told.checks.iter().take(MANY) {
        let sign = outcome_sign(if *met {
            Outcome::Passed
        } else {
            Outcome::Failed
        });
        items.push(format!("- {sign} {}", sentence(words)));
    }
    if !judged.justification.trim().is_empty() {
        items.push(format!("- Why: {}", sentence(&judged.justification)));
    }
    items.extend(
        judged
            .feedback
            .iter()
            .take(MANY)
            .map(|feedback| format!("- Advice: {}", sentence(feedback))),
    );
    items.extend(
        judged
            .notices
            .iter()
            .take(MANY)
            .map(|notice| format!("- Note: {}", sentence(notice))),
    );
    if !items.is_empty() {
        writeln!(out, "{}\n", items.join("\n"))?;
    }
    if told.has_telling_votes() {
        votes(told, out)?;
    }
    for (at, vote) in judged
        .votes
        .iter()
        .enumerate()
        .filter(|(_, vote)| vote.outcome == Outcome::Errored)
    {
        exchange(at, vote, out)?;
    }
    Ok(())
}

fn criteria(told: &Told, out: &mut dyn Write) -> Result<(), ReportError> {
    if told.rows.is_empty() {
        return Ok(());
    }
    let (scales, spreads) = told.columns();
    let mut head = vec!["Criterion", "Weight", "Score"];
    head.extend(scales.then_some("Scale"));
    head.push("Share");
    head.extend(spreads.then_some("Votes"));
    let right: Vec<bool> = (0..head.len()).map(|at| at > 0).collect();
    let cells = |row: &Row| {
        let mut cells = vec![inline(row.name), row.weight.clone(), inline(&row.score)];
        cells.extend(scales.then(|| row.scale.clone()));
        cells.push(inline(&row.share));
        cells.extend(spreads.then(|| inline(&row.spread)));
        cells
    };
    let rows: Vec<Vec<String>> = told.rows.iter().take(MANY).map(cells).collect();
    table(out, &head, &right, &rows)?;
    more(told.rows.len(), "criterion", "criteria", out)
}

fn more(total: usize, one: &str, many: &str, out: &mut dyn Write) -> Result<(), ReportError> {
    if total > MANY {
        let n = total - MANY;
        writeln!(
            out,
            "... and {} more {}\n",
            text::group_digits(n),
            if n == 1 { one } else { many }
        )?;
    }
    Ok(())
}

fn votes(told: &Told, out: &mut dyn Write) -> Result<(), ReportError> {
    let rows: Vec<Vec<String>> = told
        .votes
        .iter()
        .take(MANY)
        .map(|vote| {
            let outcome = format!("{} {}", outcome_sign(vote.outcome), vote.outcome.name());
            vec![
                inline(vote.model),
                outcome,
                inline(&vote.score),
                inline(&vote.words),
            ]
        })
        .collect();
    table(
        out,
        &["Vote", "Outcome", "Share", "Remark"],
        &[false, false, true, false],
        &rows,
    )?;
    more(told.votes.len(), "vote", "votes", out)
}

/// What a judge answered whose answers could not be used.
fn exchange(at: usize, vote: &JudgeVote, out: &mut dyn Write) -> Result<(), ReportError> {
    let total = vote.replies.len();
    for (
        turn,
        JudgeReply {
            text: said,
            fault,
            why,
            ..
        },
    ) in vote.replies.iter().take(REPLIES).enumerate()
    {
        let fault = fault.map_or("no fault", |fault| fault.name());
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(": {}", sentence(why))
        };
        let clean = text::sanitize(text::truncate_bytes(said, REPLY)).into_owned();
        let cut = if said.len() > REPLY {
            text::ELLIPSIS
        } else {
            ""
        };
        let block = fence("text", &format!("{clean}{cut}"));
        writeln!(
            out,
            "Reply {} of {total}, vote {} ({fault}){why}\n\n{block}",
            turn + 1,
            at + 1
        )?;
    }
    Ok(())
}
