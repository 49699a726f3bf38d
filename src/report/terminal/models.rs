//! The models that were asked, on a terminal.

use std::io;

use crate::model::Summary;
use crate::report::models;
use crate::report::terminal::TerminalOptions;
use crate::report::terminal::page::{Page, Tone, pad_right, plain, span};
use eval_base::text;

/// Models that are shown unless all are asked for.
const FEW: usize = 8;

pub fn section(page: &mut Page, summary: &Summary, options: &TerminalOptions) -> io::Result<()> {
    let Some(used) = &summary.models else {
        return Ok(());
    };
    page.blank()?;
    page.line(&[span(Tone::Bold, "Models")])?;
    let all = models::told(used);
    let shown = if options.verbose {
        all.len()
    } else {
        FEW.min(all.len())
    };
    for told in all.iter().take(shown) {
        let role = told.role_words();
        let room = page.width().saturating_sub(2 + text::width(&role));
        let name = text::truncate_width_with(&text::one_line(&told.name), room, page.ellipsis())
            .into_owned();
        page.line(&[plain("  "), span(Tone::Bold, name), span(Tone::Dim, role)])?;
        let lines = [("answers", told.answers.as_str())]
            .into_iter()
            .chain(told.lines());
        for (label, words) in lines {
            page.wrapped(
                &[span(Tone::Dim, format!("    {}", pad_right(label, 9)))],
                Tone::Plain,
                words,
                4,
            )?;
        }
        for remark in &told.remarks {
            page.wrapped(&[plain("    ")], Tone::Warn, remark, 2)?;
        }
    }
    if all.len() > shown {
        let more = text::group_digits(all.len() - shown);
        let dots = page.ellipsis();
        page.line(&[span(
            Tone::Dim,
            format!("  {dots} and {more} more (--verbose, or the JSON report)"),
        )])?;
    }
    Ok(())
}
