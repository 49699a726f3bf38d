//! What runs each language here: looked for once a run, when it is first needed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::model::{Cause, Executor, Grade, GraderType};
use eval_sandbox::languages::{BuiltinLanguage, LanguageRuntime, MissingLanguage, find};

/// The languages that were looked for so far.
#[derive(Default)]
pub(crate) struct LanguageLookup {
    /// Where TypeScript's compiler is looked for.
    base: PathBuf,
    search: OsString,
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
        found
            .map(|found| (name(found.language).to_owned(), found.version.clone()))
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

/// The grade of a sample whose language is not installed.
pub(crate) fn missing(method: &str, missing: &MissingLanguage) -> Grade {
    let why = format!("{} can't be run here: {missing}", missing.language.name());
    Grade::errored(GraderType::Code, method, Cause::ExecutorMissing, why)
}
