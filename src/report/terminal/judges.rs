//! How the judges did, on a terminal.

use std::io;

use crate::model::Summary;
use crate::report::judges::{self, Told};
use crate::report::terminal::TerminalOptions;
use crate::report::terminal::page::{Page, Tone, pad_right, plain, span};
use eval_base::text;

/// Judges that are shown unless all are asked for.
const FEW: usize = 8;

pub fn section(page: &mut Page, summary: &Summary, options: &TerminalOptions) -> io::Result<()> {
    let Some(health) = &summary.judges else {
        return Ok(());
    };
    page.blank()?;
    page.line(&[span(Tone::Bold, "Judges")])?;
    told(page, "  ", &judges::of_all(health))?;
    let shown = if options.verbose {
        health.by_model.len()
    } else {
        FEW
    };
    for (name, votes) in health.by_model.iter().take(shown) {
        let room = page.width().saturating_sub(2);
        let name =
            text::truncate_width_with(&text::one_line(name), room, page.ellipsis()).into_owned();
        page.line(&[plain("  "), span(Tone::Bold, name)])?;
        told(page, "    ", &judges::of_judge(votes))?;
    }
    let more = health.by_model.len().saturating_sub(shown);
    if more > 0 {
        let more = text::group_digits(more);
        let dots = page.ellipsis();
        page.line(&[span(
            Tone::Dim,
            format!("  {dots} and {more} more (--verbose, or the JSON report)"),
        )])?;
    }
    Ok(())
}

fn told(page: &mut Page, indent: &str, told: &Told) -> io::Result<()> {
    for (label, words) in &told.lines {
        page.wrapped(
            &[span(Tone::Dim, format!("{indent}{}", pad_right(label, 10)))],
            Tone::Plain,
            words,
            4,
        )?;
    }
    for remark in &told.remarks {
        page.wrapped(&[plain(indent.to_owned())], Tone::Warn, remark, 3)?;
    }
    Ok(())
}
