//! `eval-harness runs`: which runs there are.

mod page;

use jiff::Timestamp;

use super::args::{CiMode, ListFormat, RunsArgs};
use super::ci::{self, GithubStep};
use super::console::Console;
use super::report::results_dir;
use super::{CliResult, suite};
use crate::gate::ExitCode;
use crate::run::history::stored_runs;

pub fn runs(console: &Console, args: &RunsArgs) -> CliResult {
    let results = results_dir(args.suite.as_deref(), args.output_dir.as_deref())?;
    let last = (!args.all).then_some(args.last);
    let listed = stored_runs(&results, last, suite::cpus());
    listed
        .warnings
        .iter()
        .for_each(|warning| console.warn(warning));
    let mut out = Vec::new();
    match args.format {
        ListFormat::Json => page::json(&listed.runs, &mut out)?,
        ListFormat::Human => {
            if listed.runs.is_empty() {
                console.note(&format!("no runs in {}", results.display()));
            }
            let options = console.terminal_options(false);
            page::write(&listed, Timestamp::now(), &options, &mut out)?;
            out = ci::for_log(GithubStep::of(CiMode::Auto).as_ref(), out);
        }
    }
    console.result(&out)?;
    Ok(ExitCode::Pass)
}
