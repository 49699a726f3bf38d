//! Where answers of models may come from besides the models, and where they are kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::load::refs::lexical;
use crate::load::request::LoadRequest;
use crate::model::{CACHE_FILE_NAME, ModelSettings};
use crate::spec::SuiteConfig;
use crate::spec::words::CacheMode;

/// What the suite says, with the command line on top. `dir` is the suite's folder.
pub(in crate::load) fn settings(
    config: &SuiteConfig,
    request: &LoadRequest,
    dir: &Path,
) -> ModelSettings {
    let (typed, written) = (&request.overrides.models, config.cache.as_ref());
    let folder = match written.and_then(|cache| cache.dir()) {
        Some(folder) => Some(lexical(&dir.join(folder))),
        None => cache_folder(&request.env).map(|folder| lexical(&request.cwd.join(folder))),
    };
    let typed_folder =
        |folder: &Option<PathBuf>| folder.as_ref().map(|dir| lexical(&request.cwd.join(dir)));
    ModelSettings {
        cache: typed
            .cache
            .or(written.and_then(|cache| cache.mode()))
            .unwrap_or_default(),
        cache_file: folder.map(|folder| folder.join(CACHE_FILE_NAME)),
        record: typed_folder(&typed.record),
        replay: typed_folder(&typed.replay),
        ..ModelSettings::default()
    }
}

/// True when no model is asked, so that no key is needed.
pub(in crate::load) fn is_offline(settings: &ModelSettings) -> bool {
    settings.replay.is_some() || settings.cache == CacheMode::Only
}

/// The folder that all projects of a user share; `None` without a home.
pub fn cache_folder(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let given = |name: &str| {
        env.get(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    // A relative path there is to be ignored (XDG Base Directory Specification).
    let shared = || given("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let folder = || shared().or_else(|| given("HOME").map(|home| home.join(".cache")));
    given("EVAL_HARNESS_CACHE_DIR").or_else(|| folder().map(|folder| folder.join("eval-harness")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::request::{LoadOverrides, ModelOverrides};
    use crate::spec::SuiteCache;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn the_cache_is_the_users_unless_somebody_says_otherwise() {
        let folder = |pairs: &[(&str, &str)]| {
            cache_folder(&env(pairs))
                .map_or_else(|| "none".to_owned(), |path| path.display().to_string())
        };
        let (home, shared) = (("HOME", "/home/u"), ("XDG_CACHE_HOME", "/var/cache/u"));
        assert_eq!(
            folder(&[("EVAL_HARNESS_CACHE_DIR", "c"), home, shared]),
            "c"
        );
        assert_eq!(folder(&[home, shared]), "/var/cache/u/eval-harness");
        assert_eq!(
            folder(&[home, ("XDG_CACHE_HOME", "relative")]),
            "/home/u/.cache/eval-harness"
        );
        assert_eq!(
            folder(&[home, ("EVAL_HARNESS_CACHE_DIR", "")]),
            "/home/u/.cache/eval-harness"
        );
        assert_eq!(folder(&[]), "none");
    }

    #[test]
    fn the_command_line_wins_over_the_suite() {
        let cache = |text: &str| serde_json::from_str::<SuiteCache>(text).ok();
        let config = |text: &str| SuiteConfig {
            cache: cache(text),
            ..SuiteConfig::default()
        };
        let request = |models| LoadRequest {
            cwd: "/project".into(),
            env: env(&[("EVAL_HARNESS_CACHE_DIR", "mine")]),
            overrides: LoadOverrides {
                models,
                ..LoadOverrides::default()
            },
            ..LoadRequest::default()
        };
        let said = |text: &str, typed: ModelOverrides| {
            let settings = settings(&config(text), &request(typed), Path::new("/project/evals"));
            let path = |path: Option<PathBuf>| {
                path.map_or("-".to_owned(), |path| path.display().to_string())
            };
            format!(
                "{:?} {} {} {}",
                settings.cache,
                path(settings.cache_file),
                path(settings.record),
                path(settings.replay)
            )
        };
        let none = ModelOverrides::default;
        insta::assert_snapshot!(said("null", none()), @"Use /project/mine/answers.sqlite - -");
        insta::assert_snapshot!(said("\"only\"", none()), @"Only /project/mine/answers.sqlite - -");
        insta::assert_snapshot!(said(r#"{"dir": "../cache"}"#, none()), @"Use /project/cache/answers.sqlite - -");
        let typed = ModelOverrides {
            cache: Some(CacheMode::Refresh),
            record: Some("rec".into()),
            replay: Some("/elsewhere".into()),
        };
        insta::assert_snapshot!(said(r#"{"mode": "off", "dir": "/c"}"#, typed), @"Refresh /c/answers.sqlite /project/rec /elsewhere");
    }
}
