//! Files of a workspace that steer a test runner: where the target changed them, the tests run with
//! what was there before. Files that tests are about are not among them.

use serde_json::Value;

use super::{TestsFormat, WorkspaceTests};
use crate::graders::diff::touched;
use crate::graders::show::in_reason;
use crate::model::Grade;
use crate::workspace::{FinishedWorkspace, WorkspaceFault};
use eval_workspace::{EntryNow, WorkspacePath};

/// Bytes of a file that is restored.
const MOST_BYTES: u64 = 8 << 20;

/// Keys of a `package.json` that say how tests are run.
const PACKAGE_KEYS: [&str; 7] = ["scripts", "jest", "vitest", "mocha", "ava", "c8", "nyc"];

/// The path in the workspace that a program's name means, if it is a path.
pub(super) fn in_workspace(cwd: &str, name: &str) -> Option<WorkspacePath> {
    if !name.contains('/') || name.starts_with('/') {
        return None;
    }
    joined(cwd, name).parse().ok()
}

/// A path relative to `cwd`, without `.` and with `..` resolved.
fn joined(cwd: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in cwd.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A file of the virtual environment with the interpreter of the tests, if that is in the workspace,
/// that the target changed. Bytecode is never read.
pub(super) fn changed_interpreter(
    tests: &WorkspaceTests,
    workspace: &FinishedWorkspace,
) -> Option<WorkspacePath> {
    if !matches!(tests.results, TestsFormat::Pytest | TestsFormat::Unittest) {
        return None;
    }
    let program = in_workspace(&tests.cwd, tests.command.first()?)?;
    let environment = program.parent()?.parent()?;
    let protected = workspace.protected_edits();
    let is_part = |path: &&WorkspacePath| {
        path.is_below(&environment)
            && !path.parts().any(|part| part == b"__pycache__")
            && !protected.contains(path)
    };
    touched(workspace.changes())
        .into_iter()
        .find(is_part)
        .cloned()
}

/// Where pytest reads its configuration from: the file that it would have found before the target
/// ran.
#[derive(Debug, Default)]
pub(super) struct PytestConfig {
    /// Relative to where the command runs.
    pub path: Option<String>,
    /// The folder that ids of tests are relative to, as `path`.
    pub root: String,
    /// The file as it was before.
    pub files: Vec<(String, Vec<u8>)>,
}

impl PytestConfig {
    pub async fn find(
        tests: &WorkspaceTests,
        workspace: &FinishedWorkspace,
    ) -> Result<PytestConfig, WorkspaceFault> {
        let names: [(&str, &str); 5] = [
            ("pytest.ini", ""),
            (".pytest.ini", ""),
            ("pyproject.toml", "[tool.pytest.ini_options]"),
            ("tox.ini", "[pytest]"),
            ("setup.cfg", "[tool:pytest]"),
        ];
        let depth = tests.cwd.split('/').filter(|part| !part.is_empty()).count();
        for up in 0..=depth {
            let root = "../".repeat(up);
            for (name, section) in names {
                let own = format!("{root}{name}");
                let path = joined(&tests.cwd, &own);
                let Ok(at) = path.parse() else { continue };
                if let EntryNow::File { content, .. } =
                    workspace.file_before(&at, MOST_BYTES).await?
                    && String::from_utf8_lossy(&content).contains(section)
                {
                    return Ok(PytestConfig {
                        path: Some(own),
                        root: if up == 0 { ".".to_owned() } else { root },
                        files: vec![(path, content)],
                    });
                }
            }
        }
        Ok(PytestConfig {
            root: ".".to_owned(),
            ..PytestConfig::default()
        })
    }
}

/// What becomes of a file that the target changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileSteering {
    /// It is as before, or empty if it was not there.
    Restored,
    /// It is as before, if it was there.
    RestoredIfKnown,
    /// Only how tests are run is as before.
    PackageScripts,
}

fn steering(tests: &WorkspaceTests, path: &str) -> Option<FileSteering> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let program = tests.command.first().map_or("", String::as_str);
    let program = program.rsplit('/').next().unwrap_or(program);
    let is_config = |start: &str| name.starts_with(start) && name.contains("config");
    match (tests.results, program) {
        (TestsFormat::Pytest, _) if name == "conftest.py" => Some(FileSteering::Restored),
        (_, "pytest" | "py.test") if name == "conftest.py" => Some(FileSteering::Restored),
        (TestsFormat::Cargo, _) | (_, "cargo") => {
            let is_config = path.ends_with(".cargo/config.toml") || path.ends_with(".cargo/config");
            is_config.then_some(FileSteering::Restored)
        }
        (_, "make" | "gmake") => {
            let is_makefile = matches!(name, "Makefile" | "makefile" | "GNUmakefile");
            is_makefile.then_some(FileSteering::RestoredIfKnown)
        }
        (_, "npm" | "npx" | "yarn" | "pnpm" | "jest" | "vitest" | "mocha") => match name {
            "package.json" => Some(FileSteering::PackageScripts),
            ".npmrc" | ".yarnrc" | ".yarnrc.yml" | ".mocharc.json" => Some(FileSteering::Restored),
            _ if is_config("jest.") || is_config("vitest.") || is_config("vite.") => {
                Some(FileSteering::RestoredIfKnown)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The files that are laid on the workspace because the target changed them.
#[derive(Debug, Default)]
pub(super) struct RestoredFiles {
    pub files: Vec<(String, Vec<u8>)>,
}

impl RestoredFiles {
    pub async fn of(
        tests: &WorkspaceTests,
        workspace: &FinishedWorkspace,
    ) -> Result<RestoredFiles, WorkspaceFault> {
        let protected = workspace.protected_edits();
        let mut restored = RestoredFiles::default();
        for at in touched(workspace.changes()) {
            let path = at.as_path().to_string_lossy().into_owned();
            let given = tests.files.iter().any(|file| file.path == path);
            let Some(steering) =
                steering(tests, &path).filter(|_| !given && !protected.contains(at))
            else {
                continue;
            };
            let before = match workspace.file_before(at, MOST_BYTES).await? {
                EntryNow::File { content, .. } => Some(content),
                _ => None,
            };
            let content = match (steering, before) {
                (FileSteering::Restored, before) => Some(before.unwrap_or_default()),
                (FileSteering::RestoredIfKnown, before) => before,
                (FileSteering::PackageScripts, None) => None,
                (FileSteering::PackageScripts, Some(before)) => {
                    let now = match workspace.file(at, MOST_BYTES).await? {
                        EntryNow::File { content, .. } => content,
                        _ => Vec::new(),
                    };
                    Some(with_scripts_of(&before, &now))
                }
            };
            restored
                .files
                .extend(content.map(|content| (path, content)));
        }
        Ok(restored)
    }

    pub fn explain(&self, grade: Grade) -> Grade {
        if self.files.is_empty() {
            return grade;
        }
        let paths: Vec<String> = self.files.iter().map(|(path, _)| in_reason(path)).collect();
        grade.with_detail("restored", paths)
    }
}

/// The `package.json` of now with what says how tests are run as before; that of before where one
/// of the two is not JSON.
fn with_scripts_of(before: &[u8], now: &[u8]) -> Vec<u8> {
    let read = |bytes| serde_json::from_slice::<Value>(bytes).ok();
    let (Some(Value::Object(old)), Some(Value::Object(mut new))) = (read(before), read(now)) else {
        return before.to_vec();
    };
    for key in PACKAGE_KEYS {
        match old.get(key) {
            Some(value) => drop(new.insert(key.to_owned(), value.clone())),
            None => drop(new.remove(key)),
        }
    }
    Value::Object(new).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_a_package_are_those_of_before() {
        let now =
            br#"{"name": "x", "type": "module", "scripts": {"test": "true"}, "jest": {"bail": 1}}"#;
        let shown =
            |before: &[u8], now: &[u8]| String::from_utf8(with_scripts_of(before, now)).unwrap();
        assert_eq!(
            shown(br#"{"name": "x", "scripts": {"test": "node --test"}}"#, now),
            r#"{"name":"x","scripts":{"test":"node --test"},"type":"module"}"#
        );
        assert_eq!(shown(b"{}", b"no JSON"), "{}");
    }

    #[test]
    fn programs_with_a_slash_are_files_of_the_workspace() {
        let shown = |cwd: &str, name: &str| in_workspace(cwd, name).map(|path| path.to_string());
        assert_eq!(shown("", "./run.sh").as_deref(), Some("run.sh"));
        assert_eq!(shown("pkg/a", "../bin/run").as_deref(), Some("pkg/bin/run"));
        assert_eq!(shown("pkg", "pytest"), None);
        assert_eq!(shown("pkg", "/usr/bin/pytest"), None);
    }
}
