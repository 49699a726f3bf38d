//! `eval-harness completions`, and the answers that its scripts ask for: what may follow the words
//! that were typed.
//!
//! Options and verbs come from the arguments' one definition. Names of evals, cases, tags, targets
//! and presets are read from the suite that the words name, run ids from the results. Nothing is
//! checked, rendered or run, and what can't be read has no names.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use super::args::{Cli, CompletionsArgs};
use super::console::Console;
use super::suite::suite_path;
use super::{CliFailure, CliResult};
use crate::gate::ExitCode;
use crate::journal;
use crate::load::{SuiteNames, suite_names};

const PROGRAM: &str = "eval-harness";
/// A script sets it to the name of its shell when it asks.
const ASKED_BY: &str = "EVAL_HARNESS_COMPLETE";
/// The script of `clap_complete` offers nothing for `--eval=id`, of which bash makes three words.
const BASH_SCRIPT: &str = include_str!("complete.bash");
/// Names that are offered at most: more are no help.
const MOST: usize = 2_000;

pub fn completions(console: &Console, args: &CompletionsArgs) -> CliResult {
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let shell = shells
        .completer(&name)
        .ok_or_else(|| CliFailure::wrong(format!("completions for `{name}` are not supported")))?;
    let mut script = Vec::new();
    match shell.name() {
        "bash" => script.extend_from_slice(BASH_SCRIPT.as_bytes()),
        _ => shell.write_registration(ASKED_BY, PROGRAM, PROGRAM, PROGRAM, &mut script)?,
    }
    console.result(&script)?;
    Ok(ExitCode::Pass)
}

/// Answers a completion script, which puts `--` before the words of its line; the variable alone,
/// in an environment, never stands in for a command. A shell shows what comes on stderr in the
/// middle of the line that is being typed, so that failing is silent.
pub fn answered() -> bool {
    let by_script = std::env::args_os().nth(1).is_some_and(|word| word == "--");
    if !by_script || std::env::var_os(ASKED_BY).is_none_or(|shell| shell.is_empty()) {
        return false;
    }
    let here = std::env::current_dir().ok();
    let asked = clap_complete::CompleteEnv::with_factory(Cli::command)
        .var(ASKED_BY)
        .bin(PROGRAM);
    asked
        .try_complete(std::env::args_os(), here.as_deref())
        .unwrap_or(true)
}

/// Which names an argument takes.
#[derive(Debug, Clone, Copy)]
pub enum NameKind {
    Evals,
    Cases,
    Tags,
    Categories,
    Targets,
    Prompts,
    Presets,
    /// `NAME=` of the suite's variables.
    Vars,
    /// Ids, the newest first, and `latest`.
    Runs,
    /// Runs, `previous` and `accepted`.
    Sides,
}

/// Completes an argument with names of the suite and of its results.
pub fn by(names: NameKind) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let Some(typed) = typed.to_str() else {
            return Vec::new();
        };
        let found = candidates(names, &TypedWords::of(std::env::args_os()));
        let fitting = found.into_iter().filter(|name| name.starts_with(typed));
        fitting.take(MOST).map(CompletionCandidate::new).collect()
    })
}

/// Completes an argument with the words of a closed list.
pub fn words(list: &'static [&'static str]) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_string_lossy();
        let fitting = list.iter().filter(|word| word.starts_with(&*typed));
        fitting.map(CompletionCandidate::new).collect()
    })
}

fn candidates(names: NameKind, words: &TypedWords) -> Vec<String> {
    let Ok(cwd) = std::env::current_dir() else {
        return Vec::new();
    };
    let of = match suite_path(words.suite.as_deref()) {
        Ok(suite) => suite_names(&suite, &cwd),
        Err(_) => SuiteNames {
            results: nearest_results(&cwd),
            ..SuiteNames::default()
        },
    };
    let results = words
        .output_dir
        .clone()
        .unwrap_or_else(|| of.results.clone());
    let runs = |more: &[&str]| {
        let ids = journal::list_runs(&results)
            .into_iter()
            .rev()
            .map(|run| run.run_id);
        more.iter()
            .map(|word| (*word).to_owned())
            .chain(ids)
            .collect()
    };
    match names {
        NameKind::Evals => of.evals.into_iter().collect(),
        NameKind::Cases => of.cases.into_iter().collect(),
        NameKind::Tags => of.tags.into_iter().collect(),
        NameKind::Categories => of.categories.into_iter().collect(),
        NameKind::Targets => of.targets.into_iter().collect(),
        NameKind::Prompts => of.prompts.into_iter().collect(),
        NameKind::Presets => of.presets.into_iter().collect(),
        NameKind::Vars => of.vars.into_iter().map(|name| format!("{name}=")).collect(),
        NameKind::Runs => runs(&["latest"]),
        NameKind::Sides => runs(&["latest", "previous", "accepted"]),
    }
}

fn nearest_results(cwd: &Path) -> PathBuf {
    cwd.ancestors()
        .find(|dir| dir.join(".git").exists())
        .unwrap_or(cwd)
        .join("results")
}

/// What the words that were typed so far say of where names are.
#[derive(Debug, Default, PartialEq, Eq)]
struct TypedWords {
    suite: Option<PathBuf>,
    output_dir: Option<PathBuf>,
}

impl TypedWords {
    /// The words of a script stand behind `--`. A shell that breaks words at `=` gives it as a
    /// word.
    fn of(words: impl Iterator<Item = OsString>) -> TypedWords {
        let words: Vec<String> = words
            .skip_while(|word| word != "--")
            .filter_map(|word| word.into_string().ok())
            .collect();
        let value = |name: &str| {
            let with_value = format!("{name}=");
            words.iter().enumerate().rev().find_map(|(at, word)| {
                match word.strip_prefix(&with_value) {
                    Some(value) => Some(PathBuf::from(value)),
                    None if word == name => words
                        .iter()
                        .skip(at + 1)
                        .find(|word| *word != "=")
                        .map(PathBuf::from),
                    None => None,
                }
            })
        };
        TypedWords {
            suite: value("--suite"),
            output_dir: value("--output-dir"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_which_suite_and_results_are_meant() {
        let of = |words: &str| TypedWords::of(words.split(' ').map(OsString::from));
        let both = |suite: Option<&str>, results: Option<&str>| TypedWords {
            suite: suite.map(PathBuf::from),
            output_dir: results.map(PathBuf::from),
        };
        assert_eq!(
            of("p -- eval-harness run --suite a.yaml --eval"),
            both(Some("a.yaml"), None)
        );
        assert_eq!(
            of("p -- eval-harness run --suite=a.yaml --output-dir = r --eval"),
            both(Some("a.yaml"), Some("r"))
        );
        assert_eq!(
            of("p -- eval-harness run --suite a --suite b"),
            both(Some("b"), None)
        );
        assert_eq!(of("p --suite before -- eval-harness run"), both(None, None));
    }
}
