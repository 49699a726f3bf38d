//! `eval-harness baseline reject`.

use super::accept::chosen;
use super::{failure, refuse_in_ci};
use crate::cli::CliResult;
use crate::cli::args::RejectArgs;
use crate::cli::console::Console;
use crate::gate::ExitCode;
use eval_base::text::{one_line, plural};

pub fn reject(console: &Console, args: &RejectArgs) -> CliResult {
    refuse_in_ci("reject")?;
    let (store, gathered) = chosen(console, "reject", &args.evals, args.all, &args.of)?;
    // One that can't be read is rejected, too, by who names it: else it may be another suite's.
    let broken = gathered.broken.iter().map(|(id, _)| id.as_str());
    let (named, left): (Vec<&str>, Vec<&str>) = broken.partition(|_| !args.all);
    for id in &left {
        console.error(
            &format!(
                "what is pending for `{id}` can't be read, so it may be another suite's: left alone"
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
        console.result(b"nothing is pending\n")?;
        return Ok(ExitCode::Pass);
    }
    let locked = store.lock().map_err(failure)?;
    let mut page = String::new();
    let mut gone = 0;
    for id in ids {
        if locked.reject(id).map_err(failure)? {
            gone += 1;
            page.push_str(&format!("rejected  {}\n", one_line(id)));
        } else {
            console.warn(&format!("`{id}` is no longer pending"));
        }
    }
    page.push_str(&format!(
        "\n{} rejected; what is accepted has not changed\n",
        plural(gone, "pending baseline")
    ));
    console.result(page.as_bytes())?;
    Ok(exit)
}
