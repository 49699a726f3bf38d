//! Arguments, one file per verb, exit codes: the only module that prints or exits.

mod accept;
mod args;
mod baseline;
mod cache;
mod calibrate;
mod changed;
mod check;
mod ci;
mod compare;
mod compared;
mod completions;
mod console;
mod defaults;
mod doctor;
mod estimate;
mod export;
mod history;
mod list;
mod new;
mod new_regression;
mod notify;
mod phase;
mod power;
mod progress;
mod pull_request;
mod reference;
mod regrade;
mod report;
mod resume;
mod review;
mod run;
mod runs;
mod scaffold;
mod schema;
mod scores;
mod show;
mod sides;
mod signals;
mod suite;
mod validate;
mod view;
mod watch;

use std::process;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use self::args::{Cli, CliCommand};
use self::console::Console;
use crate::gate::ExitCode;
use crate::grade;
use crate::journal::JournalError;
use crate::run::RunError;

/// What a verb ended with.
type CliResult = Result<ExitCode, CliFailure>;

/// Why a verb ended early, with the exit code that it means. The message goes to stderr.
#[derive(Debug)]
pub(crate) struct CliFailure {
    code: ExitCode,
    message: String,
    hint: Option<String>,
}

impl CliFailure {
    /// The command line, a definition or a setting is wrong; nothing ran.
    fn wrong(message: impl std::fmt::Display) -> Self {
        CliFailure {
            code: ExitCode::Wrong,
            message: message.to_string(),
            hint: None,
        }
    }

    /// Something broke while it ran, so that nothing is decided.
    fn incomplete(message: impl std::fmt::Display) -> Self {
        CliFailure {
            code: ExitCode::Incomplete,
            message: message.to_string(),
            hint: None,
        }
    }

    /// The journal of a run can't be read as one.
    fn unreadable(error: RunError) -> Self {
        let failure = CliFailure::wrong(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// There is nothing to do, and nothing is wrong.
    fn nothing_to_do(message: impl std::fmt::Display) -> Self {
        CliFailure {
            code: ExitCode::Pass,
            message: message.to_string(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A run that can't be found or read: nothing ran.
impl From<JournalError> for CliFailure {
    fn from(error: JournalError) -> Self {
        let failure = CliFailure::wrong(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<std::io::Error> for CliFailure {
    fn from(error: std::io::Error) -> Self {
        CliFailure::incomplete(format!("cannot write: {error}"))
    }
}

/// Runs the command line of this process.
pub fn main() -> process::ExitCode {
    // A cell of the sandbox is this program again; it must not do anything before it is shut in.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|arg| arg == eval_sandbox::CELL_ARGUMENT)
    {
        eval_sandbox::cell_main();
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|arg| arg == grade::GRADER_ARGUMENT)
    {
        grade::grader_process_main();
    }
    defaults::find();
    if completions::answered() {
        return exit(ExitCode::Pass);
    }
    let cli = match defaults::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            let error = with_suite_tip(error);
            // Nobody reads on: that is not an error.
            let _ = error.print();
            let shown = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            return exit(if shown {
                ExitCode::Pass
            } else {
                ExitCode::Wrong
            });
        }
    };
    let console = Console::new(cli.color);
    // Verbs that show or describe the program itself run without defaults.
    let needs_defaults = !matches!(
        cli.command,
        CliCommand::Schema(_) | CliCommand::Doctor(_) | CliCommand::Completions(_)
    ) && !matches!(&cli.command, CliCommand::Validate(args) if !args.files.is_empty());
    if needs_defaults && let Err(failure) = defaults::check(&console) {
        console.error(&failure.message, failure.hint.as_deref());
        return exit(failure.code);
    }
    show_found_suite(&console, &cli.command);
    let result = match cli.command {
        CliCommand::Init(args) => new::init(&console, &args),
        CliCommand::New(args) => new::new(&console, &args),
        CliCommand::Validate(args) => validate::validate(&console, &args),
        CliCommand::List(args) => list::list(&console, &args),
        CliCommand::Check(args) => check::check(&console, &args),
        CliCommand::Run(args) => run::run(&console, &args),
        CliCommand::Ci(args) => pull_request::ci(&console, *args),
        CliCommand::Regrade(args) => regrade::regrade(&console, &args),
        CliCommand::Review(args) => review::review(&console, &args),
        CliCommand::Report(args) => report::report(&console, &args),
        CliCommand::Show(args) => show::show(&console, &args),
        CliCommand::Runs(args) => runs::runs(&console, &args),
        CliCommand::View(args) => view::view(&console, &args),
        CliCommand::Compare(args) => compare::compare(&console, &args),
        CliCommand::Power(args) => power::power(&console, &args),
        CliCommand::Calibrate(args) => calibrate::calibrate(&console, &args),
        CliCommand::History(args) => history::history(&console, &args),
        CliCommand::Phase(args) => phase::phase(&console, &args),
        CliCommand::Export(args) => export::export(&console, &args),
        CliCommand::Accept(args) => accept::accept(&console, &args),
        CliCommand::Baseline(args) => baseline::baseline(&console, &args.verb),
        CliCommand::Cache(args) => cache::cache(&console, &args.verb),
        CliCommand::Schema(args) => schema::schema(&console, &args),
        CliCommand::Doctor(args) => doctor::doctor(&console, &args),
        CliCommand::Completions(args) => completions::completions(&console, &args),
    };
    match result {
        Ok(code) => exit(code),
        Err(end) if end.code == ExitCode::Pass => {
            console.note(&end.message);
            exit(end.code)
        }
        Err(failure) => {
            console.error(&failure.message, failure.hint.as_deref());
            exit(failure.code)
        }
    }
}

/// Says which suite a verb uses that names none, where that is not in the working folder.
fn show_found_suite(console: &Console, command: &CliCommand) {
    let (named, is_quiet) = match command {
        CliCommand::Run(args) => (
            &args.suite.suite,
            args.session.quiet || args.resume.is_some(),
        ),
        CliCommand::Ci(args) => (&args.run.suite.suite, args.run.session.quiet),
        CliCommand::List(args) => (&args.suite.suite, false),
        CliCommand::Power(args) => (&args.suite, false),
        CliCommand::Check(args) => (&args.suite, false),
        CliCommand::Validate(args) => (&args.suite, !args.files.is_empty()),
        _ => return,
    };
    if named.is_none()
        && !is_quiet
        && let Some(path) = suite::unusual_suite()
    {
        console.note(&format!("suite: {}", path.display()));
    }
}

/// A file where a verb takes its suite by `--suite`: the error shows how to write it.
fn with_suite_tip(mut error: clap::Error) -> clap::Error {
    let verb = std::env::args().nth(1).unwrap_or_default();
    let command = Cli::command();
    let takes_suite = command
        .find_subcommand(verb)
        .is_some_and(|verb| verb.get_arguments().any(|arg| arg.get_id() == "suite"));
    if let (ErrorKind::UnknownArgument, true, Some(ContextValue::String(word))) = (
        error.kind(),
        takes_suite,
        error.get(ContextKind::InvalidArg),
    ) && [".yaml", ".yml", ".json"]
        .iter()
        .any(|end| word.ends_with(end))
    {
        let tip = format!("to use the suite '{word}', write '--suite {word}'");
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    error
}

fn exit(code: ExitCode) -> process::ExitCode {
    process::ExitCode::from(code.code())
}
