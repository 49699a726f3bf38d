//! `eval-harness completions`.

use clap::CommandFactory;

use super::Exit;
use super::args::{Cli, CompletionsArgs};
use super::console::Console;
use crate::gate::ExitCode;

pub fn completions(console: &Console, args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "eval-harness", &mut script);
    console.result(&script)?;
    Ok(ExitCode::Pass)
}
