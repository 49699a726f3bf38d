//! Interpreters, compilers and tools: which are there, and how to get those that are not.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{CheckGroup, CheckState, DoctorCheck};
use crate::load::{DescribedLanguage, described_languages};
use eval_sandbox::Interpreter;
use eval_sandbox::languages::{
    BuiltinLanguage, LanguageRuntime, MissingLanguage, find, locate, version_of,
};

/// How the sandbox runs Python.
pub struct FoundPython {
    pub interpreter: Interpreter,
    /// Why each program gets an interpreter of its own; `None`: it is a fork of a warm one.
    pub cold: Option<String>,
}

/// The interpreter that the sandbox found; `None`: nobody looked, because no tier works.
pub fn python(found: Option<Result<FoundPython, String>>) -> DoctorCheck {
    let name = "python";
    let called = ["python3", "python"]
        .iter()
        .find_map(|program| in_path(program));
    match found {
        Some(Ok(FoundPython { interpreter, cold })) => {
            let version = &interpreter.version;
            let (state, value) = match cold {
                None => (
                    CheckState::Ok,
                    format!("{version}, warm (each program runs in a fork)"),
                ),
                Some(why) => (
                    CheckState::Limited,
                    format!("{version}, cold (a new interpreter for each program): {why}"),
                ),
            };
            let mut check = DoctorCheck::new(CheckGroup::Languages, name, state, value);
            let real = interpreter.path.display().to_string();
            let called = called.map(|path| path.display().to_string());
            check.real_path = called
                .as_ref()
                .filter(|called| **called != real)
                .map(|_| real.clone());
            check.path = Some(called.unwrap_or(real));
            check.version = Some(interpreter.version);
            check
        }
        Some(Err(reason)) => {
            DoctorCheck::new(CheckGroup::Languages, name, CheckState::Missing, reason)
                .fix("`apt install python3`, or add Python 3.6 or newer to PATH")
        }
        None => match called {
            Some(path) => {
                let mut check = DoctorCheck::new(
                    CheckGroup::Languages,
                    name,
                    CheckState::Limited,
                    "not tested, because no tier works",
                );
                check.path = Some(path.display().to_string());
                check
            }
            None => DoctorCheck::new(
                CheckGroup::Languages,
                name,
                CheckState::Missing,
                "no python3 or python in PATH",
            )
            .fix("`apt install python3`"),
        },
    }
}

/// The other languages that are built in, as graders find them for a suite in the working folder.
pub fn languages() -> Vec<DoctorCheck> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let base = std::env::current_dir().unwrap_or_default();
    let others = BuiltinLanguage::ALL
        .into_iter()
        .filter(|language| *language != BuiltinLanguage::Python);
    others
        .map(|language| of_language(language, find(language, &search, &base)))
        .collect()
}

fn of_language(
    language: BuiltinLanguage,
    found: Result<LanguageRuntime, MissingLanguage>,
) -> DoctorCheck {
    let check = |state, value: String| {
        DoctorCheck::new(CheckGroup::Languages, language.name(), state, value)
    };
    let found = match found {
        Ok(found) => found,
        Err(MissingLanguage { reason, hint, .. }) => {
            return check(CheckState::Missing, reason).fix(hint);
        }
    };
    let version = &found.version;
    let value = match language {
        BuiltinLanguage::Javascript => format!("node {version}"),
        BuiltinLanguage::Typescript if found.library.is_some() => {
            format!("node {version} with the typescript package")
        }
        BuiltinLanguage::Typescript => format!("node {version}, which runs TypeScript"),
        BuiltinLanguage::Sql => format!("SQLite {version}, built in"),
        BuiltinLanguage::Python | BuiltinLanguage::Bash => version.clone(),
    };
    let shown = |path: &Path| Some(path.display().to_string()).filter(|path| !path.is_empty());
    let mut made = check(CheckState::Ok, value);
    made.path = shown(&found.called);
    made.real_path = shown(&found.path).filter(|real| Some(real) != made.path.as_ref());
    made.version = Some(found.version);
    made
}

/// The languages whose programs are run by compilers and interpreters of the machine.
pub fn described() -> Vec<DoctorCheck> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let search = search.as_os_str();
    std::thread::scope(|scope| {
        let checks: Vec<_> = described_languages()
            .iter()
            .map(|(name, language)| scope.spawn(move || of_described(name, language, search)))
            .collect();
        let checks = checks.into_iter();
        checks.filter_map(|check| check.join().ok()).collect()
    })
}

fn of_described(name: &str, language: &DescribedLanguage, search: &OsStr) -> DoctorCheck {
    let check = |state, value| DoctorCheck::new(CheckGroup::Languages, name, state, value);
    let missing = language
        .programs()
        .find(|program| locate(program, search, Path::new("/")).is_none());
    if let Some(program) = missing {
        let value = format!("{program} is not in PATH");
        return check(CheckState::Unused, value).fix(language.hint());
    }
    let version = language.version.split_first().and_then(|(program, words)| {
        let path = locate(program, search, Path::new("/"))?.path;
        version_of(&path, words)
    });
    let program = language.programs().next().unwrap_or_default();
    let said = match &version {
        Some(version) => format!("{program} {version}"),
        None => format!("{program}, which does not report its version"),
    };
    let made = check(CheckState::Ok, said);
    match locate(program, search, Path::new("/")) {
        Some(found) => at(made, &found.path, version),
        None => made,
    }
}

pub fn tools() -> Vec<DoctorCheck> {
    let git = tool("git").unwrap_or_else(|| {
        DoctorCheck::new(
            CheckGroup::Tools,
            "git",
            CheckState::Limited,
            "not in PATH: reports can't show the commit",
        )
        .fix("`apt install git`")
    });
    vec![git]
}

fn tool(name: &str) -> Option<DoctorCheck> {
    let path = in_path(name)?;
    let version = version_of(&path, &["--version".to_owned()]);
    let state = if version.is_some() {
        CheckState::Ok
    } else {
        CheckState::Limited
    };
    let value = version
        .clone()
        .unwrap_or_else(|| "it does not report its version".to_owned());
    let check = DoctorCheck::new(CheckGroup::Tools, name, state, value);
    Some(at(check, &path, version))
}

/// With where the program is, and its version.
fn at(mut check: DoctorCheck, path: &Path, version: Option<String>) -> DoctorCheck {
    check.real_path = path
        .canonicalize()
        .ok()
        .filter(|real| *real != path)
        .map(|real| real.display().to_string());
    check.path = Some(path.display().to_string());
    check.version = version;
    check
}

fn in_path(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| {
            file.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_says_how_it_is_run() {
        let found = |cold: Option<&str>| {
            let interpreter = Interpreter {
                path: "/opt/python3.8".into(),
                version: "3.8.18".into(),
                site: Vec::new(),
            };
            let check = python(Some(Ok(FoundPython {
                interpreter,
                cold: cold.map(Into::into),
            })));
            format!("{:?} {}", check.state, check.value)
        };
        assert_eq!(found(None), "Ok 3.8.18, warm (each program runs in a fork)");
        assert_eq!(
            found(Some("it is too old")),
            "Limited 3.8.18, cold (a new interpreter for each program): it is too old"
        );
    }

    #[test]
    fn languages_are_told_as_graders_find_them() {
        let told = |language, found| {
            let check = of_language(language, found);
            format!(
                "{:?} {} {:?} {:?} {:?}",
                check.state, check.value, check.path, check.real_path, check.fix
            )
        };
        let found = |language, library: Option<&str>| LanguageRuntime {
            language,
            called: "/home/u/shims/node".into(),
            path: "/opt/node".into(),
            version: "20.1.0".into(),
            library: library.map(Into::into),
        };
        let missing = MissingLanguage {
            language: BuiltinLanguage::Bash,
            reason: "no bash".into(),
            hint: "get bash".into(),
        };
        let sql = find(BuiltinLanguage::Sql, "".as_ref(), Path::new("/"));
        let version = sql.as_ref().unwrap().version.clone();
        let lines = [
            told(
                BuiltinLanguage::Javascript,
                Ok(found(BuiltinLanguage::Javascript, None)),
            ),
            told(
                BuiltinLanguage::Typescript,
                Ok(found(BuiltinLanguage::Typescript, Some("/p/typescript.js"))),
            ),
            told(BuiltinLanguage::Bash, Err(missing)),
            told(BuiltinLanguage::Sql, sql).replace(&version, "VERSION"),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        Ok node 20.1.0 Some("/home/u/shims/node") Some("/opt/node") None
        Ok node 20.1.0 with the typescript package Some("/home/u/shims/node") Some("/opt/node") None
        Missing no bash None None Some("get bash")
        Ok SQLite VERSION, built in None None None
        "#);
    }
}
