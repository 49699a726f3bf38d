//! A run's own arguments, with which it goes on: what was typed then, and what is typed now on top.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::args::{Cli, CliCommand, RunArgs};
use super::{CliFailure, defaults, suite};
use crate::journal::{self, RunPaths};
use crate::model::RunStarted;
use eval_base::redact::REDACTED;

/// The words after the verb of this process, without an option that only names the run.
pub fn typed(verb: &str, naming: &str) -> Vec<String> {
    let words = std::env::args_os()
        .skip(1)
        .skip_while(|word| word != verb)
        .skip(1);
    let words: Option<Vec<String>> = words
        .map(|word: OsString| word.into_string().ok())
        .collect();
    // Words that are no UTF-8 can't be journalled; then a resumed run needs all of its arguments
    // again.
    without(words.unwrap_or_default(), naming)
}

/// The words without `--NAME VALUE` and `--NAME=VALUE`.
pub fn without(words: Vec<String>, name: &str) -> Vec<String> {
    let with_value = format!("{name}=");
    let mut kept = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == name {
            words.next();
        } else if !word.starts_with(&with_value) {
            kept.push(word);
        }
    }
    kept
}

/// The words without `--events`, `--progress`, `--quiet` and `--verbose`: what is shown is not part
/// of a run.
fn without_display(words: Vec<String>) -> Vec<String> {
    let words = without(words, "--progress").into_iter();
    let words = words.filter(|word| !matches!(word.as_str(), "--events" | "--quiet" | "--verbose"));
    // Short ones may be joined with others: `-qj4`.
    let shorts = |word: String| match word
        .strip_prefix('-')
        .filter(|rest| rest.starts_with(['q', 'v']))
    {
        Some(rest) => Some(rest.trim_start_matches(['q', 'v']))
            .filter(|rest| !rest.is_empty())
            .map(|rest| format!("-{rest}")),
        None => Some(word),
    };
    words.filter_map(shorts).collect()
}

/// What is journalled of the arguments: `--failed-in latest` must mean the same run when this one
/// goes on.
pub fn recorded(words: Vec<String>, failed_in: Option<&str>) -> Vec<String> {
    let Some(run) = failed_in else { return words };
    let mut words = without(words, "--failed-in");
    words.extend(["--failed-in".to_owned(), run.to_owned()]);
    words
}

/// A run that is there, and the arguments with which it is looked at again.
pub struct ResumeRequest {
    pub run: ResumedRun,
    /// As if all of it had been typed now and here.
    pub args: RunArgs,
    pub words: Vec<String>,
}

/// A run that goes on.
pub struct ResumedRun {
    pub paths: RunPaths,
    /// The words typed now name something to compare with.
    pub compares_anew: bool,
}

/// Finds a run in a results folder, and merges its arguments with the words typed now.
pub fn again(results: &Path, run: &str, typed: Vec<String>) -> Result<ResumeRequest, CliFailure> {
    let paths = journal::find_run(results, run)?;
    let session = journal::sessions(&paths.journal())?.pop();
    let session = session.ok_or_else(|| CliFailure::wrong("the journal contains no run"))?;
    let (args, words, compares_anew) = merged(&session, typed, &suite::cwd()?)?;
    Ok(ResumeRequest {
        run: ResumedRun {
            paths,
            compares_anew,
        },
        args,
        words,
    })
}

/// Refuses arguments of which the journal does not hold all: a request with `[redacted]` for its
/// token would be answered, and the answer judged.
pub fn secrets_are_given(args: &RunArgs) -> Result<(), CliFailure> {
    let given: BTreeMap<&String, &String> = args
        .suite
        .vars
        .iter()
        .map(|(name, text)| (name, text))
        .collect();
    let lost: Vec<String> = given
        .iter()
        .filter(|(_, text)| text.contains(REDACTED))
        .map(|(name, _)| format!("--var {name}=..."))
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    let failure = CliFailure::wrong("the run used secrets, which its journal does not contain");
    Err(failure.hint(format!("pass them again: `{}`", lost.join(" "))))
}

/// The arguments of a run, with defaults where the words lack one.
pub fn parse(words: &[String]) -> Result<RunArgs, clap::Error> {
    run_args(defaults::parse(run_words(words))?)
}

/// The words as a whole command line.
fn run_words(words: &[String]) -> impl Iterator<Item = &str> {
    let program = ["eval-harness", "run"].into_iter();
    program.chain(words.iter().map(String::as_str))
}

fn run_args(cli: Cli) -> Result<RunArgs, clap::Error> {
    match cli.command {
        CliCommand::Run(args) => Ok(*args),
        _ => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
    }
}

/// The arguments of a session with those typed now on top. Relative paths of the session start in
/// its own folder. True beside them when the words typed now name something to compare with.
fn merged(
    session: &RunStarted,
    typed: Vec<String>,
    here: &Path,
) -> Result<(RunArgs, Vec<String>, bool), CliFailure> {
    let unreadable = |error: clap::Error| {
        let message = error.to_string();
        CliFailure::wrong(format!(
            "the arguments of run {} can't be parsed: {message}",
            session.run.run_id
        ))
    };
    // What is typed, without defaults.
    let own = Cli::try_parse_from(run_words(&typed)).and_then(run_args);
    let own = own.map_err(unreadable)?;
    // Of most options the last one counts; targets would add up.
    let mut words = without_display(session.arguments.clone());
    // Its journal has what it took from an earlier run.
    words = without(words, "--since");
    words.retain(|word| word != "--changed");
    if !own.suite.target.is_empty() {
        words = without(words, "--target");
    }
    if !own.suite.prompt.is_empty() {
        words = without(words, "--prompt");
    }
    // Answers come from recordings, or in one of the other ways: in the one that is said now.
    if own.models.replay.is_some() {
        words = without(words, "--record");
    }
    if own.models.record.is_some() || own.models.cache.is_some() {
        words = without(words, "--replay");
    }
    // One thing is compared with, the one that is named last.
    let compares_anew = own.compared.name_a_side();
    if compares_anew {
        words = without(words, "--compare-to");
        words.retain(|word| word != "--baseline" && !word.starts_with("--baseline="));
    }
    words.extend(typed);
    // Defaults are added at the end: they are not recorded as if they were typed.
    let given = Cli::try_parse_from(run_words(&words)).and_then(run_args);
    let mut given = given.map_err(unreadable)?;
    // A project that was moved or copied goes on from here.
    let there = session
        .cwd
        .as_deref()
        .filter(|dir| dir.is_dir())
        .unwrap_or(here);
    if given.suite.suite.is_none() {
        let path = Some(&session.suite_path).filter(|path| there.join(path).is_file());
        if let Some(path) = path.filter(|_| there == here) {
            words.extend(["--suite".to_owned(), path.display().to_string()]);
        }
        given.suite.suite = path.cloned().or_else(|| suite::default_suite(there));
    }
    if there != here {
        let mut from_there = |flag: &str, value: Option<PathBuf>, typed_now: bool| {
            if let Some(path) = value.filter(|_| !typed_now) {
                let path = there.join(path).display().to_string();
                words.extend([flag.to_owned(), path]);
            }
        };
        from_there("--suite", given.suite.suite, own.suite.suite.is_some());
        from_there(
            "--outputs",
            given.suite.outputs,
            own.suite.outputs.is_some(),
        );
        from_there("--record", given.models.record, own.models.record.is_some());
        from_there("--replay", given.models.replay, own.models.replay.is_some());
        from_there(
            "--output-dir",
            given.session.output_dir,
            own.session.output_dir.is_some(),
        );
    }
    let args = parse(&words).map_err(unreadable)?;
    Ok((args, words, compares_anew))
}
