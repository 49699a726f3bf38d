//! `eval-harness baseline accept`.

use super::pending::{PendingList, gather};
use super::{failure, overview, refuse_in_ci, relative};
use crate::baseline::{BaselineStore, StoreError};
use crate::cli::args::AcceptArgs;
use crate::cli::console::Console;
use crate::cli::{CliFailure, CliResult};
use crate::gate::ExitCode;
use eval_base::text::{one_line, plural};

pub fn accept(console: &Console, args: &AcceptArgs) -> CliResult {
    refuse_in_ci("accept")?;
    let (store, gathered) = chosen(console, "accept", &args.evals, args.all, &args.of)?;
    if gathered.pending.is_empty() && gathered.broken.is_empty() {
        console.result(b"nothing is pending\n")?;
        return Ok(ExitCode::Pass);
    }
    let done = all(console, &store, &gathered, args.force)?;
    Ok(done.exit())
}

/// What a verb that needs to be told what it is about is about.
pub(super) fn chosen(
    console: &Console,
    verb: &str,
    named: &[String],
    all: bool,
    of: &crate::cli::args::OfSuiteArgs,
) -> Result<(BaselineStore, PendingList), CliFailure> {
    if named.is_empty() && !all {
        return Err(
            CliFailure::wrong(format!("`baseline {verb}` needs eval ids, or --all"))
                .hint("`eval-harness baseline diff` shows what is pending"),
        );
    }
    let suite = overview(console, of)?;
    let store = BaselineStore::new(suite.baselines.dir);
    let gathered = gather(&store, &suite.name, named)?;
    gathered.refuse_strangers(&store, named)?;
    gathered.tell_others(console);
    Ok((store, gathered))
}

/// How many went which way.
#[derive(Debug, Default)]
pub(super) struct AcceptCounts {
    pub accepted: usize,
    pub failed: usize,
}

impl AcceptCounts {
    pub fn exit(&self) -> ExitCode {
        if self.failed > 0 {
            ExitCode::Wrong
        } else {
            ExitCode::Pass
        }
    }
}

/// Accepts everything that was gathered; what can't be accepted is told, and costs the others
/// nothing.
pub(super) fn all(
    console: &Console,
    store: &BaselineStore,
    gathered: &PendingList,
    force: bool,
) -> Result<AcceptCounts, CliFailure> {
    let locked = store.lock().map_err(failure)?;
    let mut done = AcceptCounts::default();
    let mut page = String::new();
    for pending in &gathered.pending {
        match locked.accept_shown(&pending.pending, force) {
            Ok(accepted) => {
                done.accepted += 1;
                page.push_str(&format!(
                    "accepted  {}  {}\n",
                    one_line(&pending.id),
                    relative(&accepted.path)
                ));
            }
            // Whoever was faster.
            Err(StoreError::NoPending { id }) => {
                console.warn(&format!("`{id}` is no longer pending"))
            }
            Err(error) => {
                done.failed += 1;
                console.error(&error.to_string(), error.hint().as_deref());
            }
        }
    }
    drop(locked);
    gathered.tell_broken(console);
    done.failed += gathered.broken.len();
    page.push_str(&format!("\n{} accepted", plural(done.accepted, "baseline")));
    if done.failed > 0 {
        page.push_str(&format!(", {} not", done.failed));
    }
    page.push('\n');
    console.result(page.as_bytes())?;
    if done.accepted > 0 {
        console.note("commit them with git, so that everybody's runs compare with them");
    }
    Ok(done)
}
