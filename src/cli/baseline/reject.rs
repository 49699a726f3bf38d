//! `eval-harness baseline reject`.

use super::accept::chosen;
use super::{NOTHING, decisions, failure, refuse_in_ci};
use crate::cli::CliResult;
use crate::cli::args::RejectArgs;
use crate::cli::console::Console;
use crate::gate::ExitCode;
use crate::report::page::{Page, PageBlock, StyledText, outside, own};
use eval_base::text::plural;

pub fn reject(console: &Console, args: &RejectArgs) -> CliResult {
    refuse_in_ci("reject")?;
    let (store, gathered) = chosen(console, "reject", &args.evals, args.all, &args.of)?;
    // One that can't be read is rejected, too, by who names it: else it may be another suite's.
    let broken = gathered.broken.iter().map(|(id, _)| id.as_str());
    let (named, left): (Vec<&str>, Vec<&str>) = broken.partition(|_| !args.all);
    for id in &left {
        console.error(
            &format!(
                "the pending baseline of `{id}` can't be read and may belong to another suite: skipped"
            ),
            Some("`eval-harness baseline reject ID` removes it"),
        );
    }
    let pending = gathered.pending.iter().map(|pending| pending.id.as_str());
    let ids: Vec<&str> = pending.chain(named).collect();
    let exit = if left.is_empty() {
        ExitCode::Pass
    } else {
        ExitCode::Wrong
    };
    if ids.is_empty() && !left.is_empty() {
        return Ok(exit);
    }
    if ids.is_empty() {
        console.result(format!("{NOTHING}\n").as_bytes())?;
        return Ok(ExitCode::Pass);
    }
    let locked = store.lock().map_err(failure)?;
    let mut table = decisions();
    for id in ids {
        if locked.reject(id).map_err(failure)? {
            table.row(["rejected".into(), outside(id), StyledText::default()]);
        } else {
            console.warn(&format!("`{id}` is no longer pending"));
        }
    }
    let gone = plural(table.rows.len(), "pending baseline");
    let mut page = Page::default();
    page.table(table);
    page.push(PageBlock::Gap);
    page.lead(own(format!(
        "{gone} rejected; accepted baselines are unchanged"
    )));
    console.page(&page)?;
    Ok(exit)
}
