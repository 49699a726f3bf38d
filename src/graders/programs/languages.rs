//! What runs each language here: looked for once a run, when it is first needed.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::OnceCell;

use crate::load::{DescribedLanguage, described_languages, language_of_executor};
use crate::model::{Cause, ConfiguredExecutor, Executor, Grade, GraderType};
use eval_sandbox::languages::{
    BuiltinLanguage, HostProgram, LanguageRuntime, MissingLanguage, find, locate, version_of,
};

/// A program of each toolchain that tests and builds of a workspace may need.
const TOOLCHAINS: [&str; 9] = [
    "node", "cargo", "go", "javac", "ruby", "php", "dotnet", "deno", "bun",
];

/// The languages that were looked for so far.
#[derive(Default)]
pub(crate) struct LanguageLookup {
    /// The suite's folder, where TypeScript's compiler is searched.
    base: PathBuf,
    search: OsString,
    /// Programs of executors, by name.
    programs: Mutex<HashMap<String, Option<HostProgram>>>,
    /// Versions of the table's languages that the run needs, by name.
    described: OnceLock<BTreeMap<String, String>>,
    found: [OnceCell<Result<Arc<LanguageRuntime>, MissingLanguage>>; BuiltinLanguage::ALL.len()],
}

impl LanguageLookup {
    pub fn new(base: PathBuf) -> LanguageLookup {
        LanguageLookup {
            base,
            search: std::env::var_os("PATH").unwrap_or_default(),
            ..LanguageLookup::default()
        }
    }

    pub async fn get(
        &self,
        language: BuiltinLanguage,
    ) -> Result<Arc<LanguageRuntime>, MissingLanguage> {
        let at = BuiltinLanguage::ALL
            .iter()
            .position(|l| *l == language)
            .unwrap_or(0);
        let Some(cell) = self.found.get(at) else {
            return Err(lost(language));
        };
        let look = || async {
            let (search, base) = (self.search.clone(), self.base.clone());
            // Asking a program for its version blocks.
            let found = tokio::task::spawn_blocking(move || find(language, &search, &base)).await;
            found.unwrap_or_else(|_| Err(lost(language))).map(Arc::new)
        };
        cell.get_or_init(look).await.clone()
    }

    /// Host folders that the languages need to be visible in the sandbox.
    pub async fn readable(&self, executors: &[BuiltinLanguage]) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for language in executors {
            if let Ok(found) = self.get(*language).await {
                all.extend(found.readable());
            }
        }
        all
    }

    /// A command with the path of its program, if that is in none of the folders that are searched
    /// inside the sandbox.
    pub fn argv(&self, words: &[String]) -> Vec<String> {
        let mut words = words.to_vec();
        if let Some(first) = words.first_mut()
            && let Some(found) = self.program(first)
            && found.readable.is_some()
        {
            *first = found.path.to_string_lossy().into_owned();
        }
        words
    }

    /// Host folders that an executor's programs need to be visible in the sandbox.
    pub fn folders(&self, own: &ConfiguredExecutor) -> Vec<PathBuf> {
        let programs = [own.compile.first(), own.run.first()];
        let found = programs
            .into_iter()
            .flatten()
            .filter_map(|name| self.program(name)?.readable);
        found.chain(own.readable.iter().cloned()).collect()
    }

    /// Host folders of installed toolchains: those of settings of languages, and those whose
    /// programs are in none of the folders that are searched inside the sandbox.
    pub fn toolchains(&self) -> Vec<PathBuf> {
        let programs = TOOLCHAINS.iter().filter_map(|name| self.program(name));
        let folders = programs.filter_map(|program| program.readable);
        // A JVM without its settings can't compute a digest.
        let settings = described_languages()
            .values()
            .flat_map(DescribedLanguage::settings_folders);
        let mut readable: Vec<PathBuf> = folders.chain(settings).collect();
        readable.sort();
        readable.dedup();
        readable
    }

    fn program(&self, name: &str) -> Option<HostProgram> {
        let mut known = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || locate(name, &self.search, &self.base);
        known.entry(name.to_owned()).or_insert_with(look).clone()
    }

    /// Asks the compilers and interpreters of executors for their versions, all at once.
    pub async fn look_up_versions(&self, executors: &[&ConfiguredExecutor]) {
        let commands: BTreeMap<String, Vec<String>> = executors
            .iter()
            .filter_map(|own| Some((own.name.clone(), &language_of_executor(own)?.version)))
            .map(|(name, words)| (name, self.argv(words)))
            .collect();
        let tasks: Vec<_> = commands
            .into_iter()
            .map(|(name, words)| {
                tokio::task::spawn_blocking(move || {
                    let (program, words) = words.split_first()?;
                    Some((name, version_of(&usual_place(program), words)?))
                })
            })
            .collect();
        let mut versions = BTreeMap::new();
        for task in tasks {
            versions.extend(task.await.ok().flatten());
        }
        let _ = self.described.set(versions);
    }

    /// Versions of those that were found, by what they are versions of.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let found = self
            .found
            .iter()
            .filter_map(|cell| cell.get()?.as_ref().ok());
        let name = |language| match language {
            BuiltinLanguage::Javascript | BuiltinLanguage::Typescript => "node",
            BuiltinLanguage::Sql => "sqlite",
            other => other.name(),
        };
        let described = self.described.get().into_iter().flatten();
        found
            .map(|found| (name(found.language).to_owned(), found.version.clone()))
            .chain(described.map(|(name, version)| (name.clone(), version.clone())))
            .collect()
    }
}

fn lost(language: BuiltinLanguage) -> MissingLanguage {
    MissingLanguage {
        language,
        reason: "looking for it failed".to_owned(),
        hint: "try again".to_owned(),
    }
}

/// The language whose interpreter runs programs of an executor; `None` for Python, which the
/// sandbox finds, and for those that the suite describes.
pub(crate) fn language_of(executor: &Executor) -> Option<BuiltinLanguage> {
    match executor {
        Executor::Javascript => Some(BuiltinLanguage::Javascript),
        Executor::Typescript => Some(BuiltinLanguage::Typescript),
        Executor::Bash => Some(BuiltinLanguage::Bash),
        Executor::Sql => Some(BuiltinLanguage::Sql),
        Executor::Python | Executor::Configured(_) => None,
    }
}

/// Where the sandbox finds a program: a path as it is, a name in the folders that it searches.
pub(crate) fn usual_place(program: &str) -> PathBuf {
    locate(program, OsStr::new(""), Path::new("/"))
        .map_or_else(|| PathBuf::from(program), |found| found.path)
}

/// The grade of a sample whose language is not installed.
pub(crate) fn missing(method: &str, missing: &MissingLanguage) -> Grade {
    let why = format!("{} can't be run here: {missing}", missing.language.name());
    Grade::errored(GraderType::Code, method, Cause::ExecutorMissing, why)
}
