//! Defaults of arguments from `.eval-harness.yaml`: found once, when the program starts, and applied
//! wherever a command line is parsed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::builder::ArgPredicate;
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use serde_json::Value;

use super::args::Cli;
use super::console::Console;
use super::{CliFailure, suite};
use crate::load::{self, LoadedDefaults, lexical, render};
use crate::spec::DefaultsFile;
use eval_base::text::plural;

/// The verbs that write reports in the formats of `--format`.
const WRITING_VERBS: [&str; 2] = ["run", "regrade"];
/// The verb that, with its own verbs, lists and removes the runs of one folder.
const RUNS_VERB: &str = "runs";

/// `None` where there is no file.
static FOUND: OnceLock<Option<FoundDefaults>> = OnceLock::new();

/// The file of defaults of this process.
pub struct FoundDefaults {
    pub loaded: LoadedDefaults,
    values: Vec<DefaultValue>,
}

/// The default of an argument.
pub struct DefaultValue {
    /// The key in the file.
    pub key: String,
    /// As they would be typed.
    pub texts: Vec<String>,
}

impl FoundDefaults {
    fn of(loaded: LoadedDefaults) -> FoundDefaults {
        let values = loaded.file.as_ref().map(|file| values(file, &loaded.path));
        FoundDefaults {
            values: values.unwrap_or_default(),
            loaded,
        }
    }

    pub fn values(&self) -> impl Iterator<Item = &DefaultValue> {
        self.values.iter()
    }
}

/// What a file sets, its paths absolute.
fn values(file: &DefaultsFile, path: &Path) -> Vec<DefaultValue> {
    let Ok(Value::Object(fields)) = serde_json::to_value(file) else {
        return Vec::new();
    };
    let folder = path.parent().unwrap_or(path);
    let text = |key: &str, value: &Value| match (key, value) {
        ("suite" | "output_dir", Value::String(path)) => {
            lexical(&folder.join(path)).display().to_string()
        }
        (_, Value::String(word)) => word.clone(),
        (_, other) => other.to_string(),
    };
    let fields = fields.into_iter().map(|(key, value)| DefaultValue {
        texts: match &value {
            Value::Null => Vec::new(),
            Value::Array(all) => all.iter().map(|one| text(&key, one)).collect(),
            one => vec![text(&key, one)],
        },
        key,
    });
    fields.filter(|value| !value.texts.is_empty()).collect()
}

/// Finds the file of defaults for this process.
pub fn find() {
    let loaded = suite::cwd().ok().and_then(|cwd| load::defaults(&cwd));
    let _ = FOUND.set(loaded.map(FoundDefaults::of));
}

/// The file of defaults, if there is one.
pub fn found() -> Option<&'static FoundDefaults> {
    FOUND.get().and_then(Option::as_ref)
}

/// The value of a key that takes one.
pub fn value(key: &str) -> Option<&'static str> {
    let value = found()?.values().find(|value| value.key == key)?;
    value.texts.first().map(String::as_str)
}

/// Parses a command line, with defaults in place of the arguments that it lacks.
///
/// # Errors
/// Those of clap.
pub fn parse(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Cli, clap::Error> {
    let command = match found() {
        Some(found) => with_defaults(Cli::command(), &found.values, false),
        None => Cli::command(),
    };
    let matches = command.try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
}

fn with_defaults(command: Command, values: &'static [DefaultValue], is_of_runs: bool) -> Command {
    let verb = command.get_name().to_owned();
    let is_of_runs = is_of_runs || verb == RUNS_VERB;
    // The suite is looked for where it is used, since some verbs do without one.
    let of = |arg: &Arg| {
        let flag = arg.get_long()?;
        values
            .iter()
            .filter(|value| value.key != "suite" && value.key.replace('_', "-") == flag)
            .find(|value| value.key != "format" || WRITING_VERBS.contains(&verb.as_str()))
    };
    // A variable of the environment overrides the file.
    let no_color = Console::no_color();
    let command = command.mut_args(|arg| match of(&arg) {
        Some(value) if !(no_color && value.key == "color") => {
            let arg = arg.default_values(value.texts.iter().map(String::as_str));
            // In a different folder, the suite would not protect the runs that its files name.
            match is_of_runs && value.key == "output_dir" {
                true => arg.default_value_if("suite", ArgPredicate::IsPresent, None::<&str>),
                false => arg,
            }
        }
        _ => arg,
    });
    command.mut_subcommands(|verb| with_defaults(verb, values, is_of_runs))
}

/// Refuses to go on with a file of defaults that is wrong.
///
/// # Errors
/// After every problem was shown.
pub fn check(console: &Console) -> Result<(), CliFailure> {
    let Some(found) = found().filter(|found| !found.loaded.problems.is_empty()) else {
        return Ok(());
    };
    let LoadedDefaults {
        problems, sources, ..
    } = &found.loaded;
    console.note(render::human(problems, sources, suite::human_options(console)).trim_end());
    match problems.error_count() {
        0 => Ok(()),
        errors => Err(CliFailure::wrong(format!(
            "{} in {}; nothing ran",
            plural(errors, "problem"),
            load::DEFAULTS_FILE_NAME
        ))),
    }
}

/// The suite that the file sets, as seen from a folder.
pub fn suite_from(folder: &Path) -> Option<PathBuf> {
    Some(suite::way(folder, Path::new(value("suite")?)))
}
