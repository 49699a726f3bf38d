//! What runs a candidate's program.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A language, or a way to run programs that the suite describes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    #[default]
    Python,
    Javascript,
    Typescript,
    Bash,
    Sql,
    Configured(Box<ConfiguredExecutor>),
}

impl Executor {
    /// The names of the built-in ones, other spellings behind them.
    pub const NAMES: [(&str, &[&str], Executor); 5] = [
        ("python", &["python3", "py"], Executor::Python),
        ("javascript", &["js", "node"], Executor::Javascript),
        ("typescript", &["ts"], Executor::Typescript),
        ("bash", &["sh", "shell"], Executor::Bash),
        ("sql", &["sqlite"], Executor::Sql),
    ];

    /// The built-in one of that name.
    pub fn built_in(name: &str) -> Option<Executor> {
        Executor::NAMES
            .into_iter()
            .find(|(word, others, _)| *word == name || others.contains(&name))
            .map(|(_, _, executor)| executor)
    }

    /// As `executor:` says it.
    pub fn name(&self) -> &str {
        match self {
            Executor::Python => "python",
            Executor::Javascript => "javascript",
            Executor::Typescript => "typescript",
            Executor::Bash => "bash",
            Executor::Sql => "sql",
            Executor::Configured(own) => &own.name,
        }
    }

    /// As people write the language.
    pub fn language(&self) -> &str {
        match self {
            Executor::Python => "Python",
            Executor::Javascript => "JavaScript",
            Executor::Typescript => "TypeScript",
            Executor::Bash => "bash",
            Executor::Sql => "SQL",
            Executor::Configured(own) => &own.name,
        }
    }

    /// The languages of code fences that are meant, in the canonical spelling of fences, the
    /// fittest first.
    pub fn fences(&self) -> Vec<&str> {
        match self {
            Executor::Python => vec!["python"],
            Executor::Javascript => vec!["javascript", "typescript"],
            Executor::Typescript => vec!["typescript", "javascript"],
            Executor::Bash => vec!["bash"],
            Executor::Sql => vec!["sql", "sqlite"],
            Executor::Configured(own) => own.languages.iter().map(String::as_str).collect(),
        }
    }

    /// Whether programs of it run in node.
    pub fn is_node(&self) -> bool {
        matches!(self, Executor::Javascript | Executor::Typescript)
    }
}

/// A language of the suite's `executors:`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConfiguredExecutor {
    pub name: String,
    /// A bare file name.
    pub file: String,
    /// Empty when nothing is compiled.
    pub compile: Vec<String>,
    /// At least one.
    pub run: Vec<String>,
    /// At least one.
    pub languages: Vec<String>,
    pub compile_timeout: Duration,
    pub compile_memory_mb: u64,
    pub env: BTreeMap<String, String>,
    /// What its compiler makes depends on nothing but the program's files and the compiler.
    #[serde(skip)]
    pub compiles_alone: bool,
    /// Absolute. Where a language lies on a machine tells no gradings apart, nor does how to get
    /// it.
    #[serde(skip)]
    pub readable: Vec<PathBuf>,
    #[serde(skip)]
    pub probe: Option<String>,
    #[serde(skip)]
    pub hint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_executors_are_known_by_every_spelling() {
        for (name, others, executor) in Executor::NAMES {
            assert_eq!(executor.name(), name);
            for spelling in others.iter().chain([&name]) {
                assert_eq!(
                    Executor::built_in(spelling),
                    Some(executor.clone()),
                    "{spelling}"
                );
            }
        }
        assert_eq!(Executor::built_in("Python"), None);
        assert_eq!(
            serde_json::to_string(&Executor::Python).unwrap(),
            r#""python""#
        );
    }
}
