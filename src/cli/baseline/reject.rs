//! `eval-harness baseline reject`.

use super::accept::chosen;
use super::{failure, refuse_in_ci};
use crate::base::text::{one_line, plural};
use crate::cli::Exit;
use crate::cli::args::RejectArgs;
use crate::cli::console::Console;
use crate::gate::ExitCode;

pub fn reject(console: &Console, args: &RejectArgs) -> Exit {
    refuse_in_ci("reject")?;
    let (store, gathered) = chosen(console, "reject", &args.evals, args.all, &args.of)?;
    // One that can't be read is rejected, too.
    let pending = gathered.pending.iter().map(|pending| pending.id.as_str());
    let ids: Vec<&str> = pending.chain(gathered.broken.iter().map(|(id, _)| id.as_str())).collect();
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
    Ok(ExitCode::Pass)
}
