//! The languages that are built in as descriptions: how their programs are compiled and run is
//! written as a suite writes its `executors:`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;

use super::executors::{ChosenExecutor, chosen};
use crate::model::{ConfiguredExecutor, Executor};
use crate::spec::ExecutorSpec;

const TABLE: &str = include_str!("languages.json");

/// A language of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribedLanguage {
    /// Other spellings of its name.
    #[serde(default)]
    pub others: Vec<String>,
    executor: ExecutorSpec,
    /// Folders outside `/usr` whose files its programs read; a `*` at the end stands for any rest
    /// of the name.
    #[serde(default)]
    settings: Vec<String>,
    /// The statement that prints what only a program that ran to the end of its tests prints.
    pub end_of_tests: String,
    /// What that statement needs before the tests.
    #[serde(default)]
    pub end_needs: String,
    /// Lines of an answer that are left out before tests, as a regular expression.
    #[serde(default)]
    pub once: String,
    /// An assertion that does nothing when it fails.
    #[serde(default)]
    pub never_fails: Option<String>,
    /// The command that prints its version.
    pub version: Vec<String>,
}

/// The languages, by name.
pub(crate) fn described_languages() -> &'static BTreeMap<String, DescribedLanguage> {
    static LANGUAGES: OnceLock<BTreeMap<String, DescribedLanguage>> = OnceLock::new();
    // A test reads the same text; an empty table would know no such language.
    LANGUAGES.get_or_init(|| serde_json::from_str(TABLE).unwrap_or_default())
}

/// The language of an executor that was made of the table.
pub(crate) fn language_of_executor(own: &ConfiguredExecutor) -> Option<&'static DescribedLanguage> {
    // A suite may describe a language of the same name.
    described_languages()
        .get(&own.name)
        .filter(|_| own.compiles_alone)
}

/// The language of that name or spelling, as an executor.
pub(super) fn described(name: &str) -> Option<ChosenExecutor> {
    let (name, language) = described_languages()
        .iter()
        .find(|(known, language)| *known == name || language.others.iter().any(|o| o == name))?;
    Some(language.executor(name))
}

impl DescribedLanguage {
    /// With the folders that are on this machine. Its executor is always a configured one.
    pub fn executor(&self, name: &str) -> ChosenExecutor {
        let mut spec = self.executor.clone();
        spec.languages = vec![name.to_owned()];
        spec.languages.extend(self.others.iter().cloned());
        spec.readable = self
            .settings_folders()
            .into_iter()
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect();
        let mut chosen = chosen(name.to_owned(), spec, Path::new("/"));
        if let Executor::Configured(own) = &mut chosen.executor {
            own.compiles_alone = true;
        }
        chosen
    }

    /// The folders of this machine outside `/usr` whose files its programs read.
    pub fn settings_folders(&self) -> Vec<PathBuf> {
        let settings = self.settings.iter();
        settings.flat_map(|folder| folders(folder)).collect()
    }

    /// What its programs get of memory where nothing else is written, in MiB.
    pub fn memory_mb(&self) -> Option<u64> {
        self.executor.memory_mb
    }

    /// How to get it.
    pub fn hint(&self) -> &str {
        self.executor.hint.as_deref().unwrap_or_default()
    }

    /// The programs that its programs are compiled and run by, without what the compiler makes.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let commands = [&self.executor.compile, &self.executor.run];
        let programs = commands.into_iter().filter_map(|words| words.first());
        programs
            .map(String::as_str)
            .filter(|program| !program.starts_with("./"))
    }
}

fn folders(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    let Some(start) = pattern.strip_suffix('*') else {
        return path.is_dir().then(|| path.to_owned()).into_iter().collect();
    };
    let start = Path::new(start);
    let (Some(folder), Some(start)) = (start.parent(), start.file_name()) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let start = start.to_string_lossy();
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&*start))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_the_table_is_whole() {
        let table: BTreeMap<String, DescribedLanguage> = serde_json::from_str(TABLE).unwrap();
        assert_eq!(table.len(), 13);
        let mut names: Vec<&str> = Vec::new();
        for (name, language) in &table {
            assert!(Executor::built_in(name).is_none(), "{name}");
            names.push(name);
            names.extend(language.others.iter().map(String::as_str));
            let Executor::Configured(own) = language.executor(name).executor else {
                panic!("{name}");
            };
            assert!(own.probe.is_some() && own.hint.is_some(), "{name}");
            assert!(!language.version.is_empty(), "{name}");
            assert!(language.programs().next().is_some(), "{name}");
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "a spelling is written twice");
    }
}
