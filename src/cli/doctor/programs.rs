//! Interpreters, compilers and tools: which are there, and how to get those that are not.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{CheckGroup, CheckState, DoctorCheck};
use eval_sandbox::Interpreter;
use eval_sandbox::languages::{BuiltinLanguage, LanguageRuntime, MissingLanguage, find};

/// Longer than this no program takes to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);
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
                    format!("{version}, warm: a fork for each program"),
                ),
                Some(why) => (
                    CheckState::Limited,
                    format!("{version}, started again for each program: {why}"),
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
                .fix("`apt install python3`, or a Python 3.6 or newer in PATH")
        }
        None => match called {
            Some(path) => {
                let mut check = DoctorCheck::new(
                    CheckGroup::Languages,
                    name,
                    CheckState::Limited,
                    "not tried, since no tier works",
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
        BuiltinLanguage::Typescript => format!("node {version}, which reads TypeScript itself"),
        BuiltinLanguage::Sql => format!("SQLite {version}, part of this program"),
        BuiltinLanguage::Python | BuiltinLanguage::Bash => version.clone(),
    };
    let shown = |path: &Path| Some(path.display().to_string()).filter(|path| !path.is_empty());
    let mut made = check(CheckState::Ok, value);
    made.path = shown(&found.called);
    made.real_path = shown(&found.path).filter(|real| Some(real) != made.path.as_ref());
    made.version = Some(found.version);
    made
}

pub fn tools() -> Vec<DoctorCheck> {
    let git = tool("git").unwrap_or_else(|| {
        DoctorCheck::new(
            CheckGroup::Tools,
            "git",
            CheckState::Limited,
            "not in PATH: reports can't name the commit",
        )
        .fix("`apt install git`")
    });
    let gcc = tool("gcc").unwrap_or_else(|| {
        DoctorCheck::new(
            CheckGroup::Tools,
            "gcc",
            CheckState::Unused,
            "not in PATH: for `executors:` of C, say",
        )
    });
    vec![git, gcc]
}

fn tool(name: &str) -> Option<DoctorCheck> {
    let path = in_path(name)?;
    let version = version_of(&path);
    let state = if version.is_some() {
        CheckState::Ok
    } else {
        CheckState::Limited
    };
    let value = version
        .clone()
        .unwrap_or_else(|| "it does not tell its version".to_owned());
    let mut check = DoctorCheck::new(CheckGroup::Tools, name, state, value);
    check.real_path = path
        .canonicalize()
        .ok()
        .filter(|real| *real != path)
        .map(|real| real.display().to_string());
    check.path = Some(path.display().to_string());
    check.version = version;
    Some(check)
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

fn version_of(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdout = child.stdout.take()?;
    // A reader of its own: what the program leaves behind may hold the pipe open.
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.by_ref().take(4096).read_to_end(&mut text);
        let _ = said.send(String::from_utf8_lossy(&text).into_owned());
    });
    let text = heard.recv_timeout(PATIENCE);
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if text.is_err() || start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    version_in(&text.ok()?)
}

/// The first word with a digit at its start and a dot within, without a leading `v` and what stands
/// around it.
fn version_in(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let word = word.strip_prefix('v').unwrap_or(word);
        let number = word
            .split(|c: char| !(c.is_ascii_digit() || c == '.'))
            .next()?
            .trim_end_matches('.');
        (number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.'))
            .then(|| number.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (text, version) in [
            ("v20.11.1\n", "20.11.1"),
            (
                "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)",
                "5.2.15",
            ),
            (
                "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022",
                "12.2.0",
            ),
            ("Version 5.4.5", "5.4.5"),
            ("deno 2.0.1 (stable, release)", "2.0.1"),
            ("git version 2.39.5", "2.39.5"),
        ] {
            assert_eq!(version_in(text).as_deref(), Some(version), "{text}");
        }
        assert_eq!(version_in("nothing of 12 the kind v."), None);
    }

    #[test]
    fn python_says_how_it_is_run() {
        let found = |cold: Option<&str>| {
            let interpreter = Interpreter {
                path: "/opt/python3.8".into(),
                version: "3.8.18".into(),
            };
            let check = python(Some(Ok(FoundPython {
                interpreter,
                cold: cold.map(Into::into),
            })));
            format!("{:?} {}", check.state, check.value)
        };
        assert_eq!(found(None), "Ok 3.8.18, warm: a fork for each program");
        assert_eq!(
            found(Some("it is too old")),
            "Limited 3.8.18, started again for each program: it is too old"
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
        Ok SQLite VERSION, part of this program None None None
        "#);
    }
}
