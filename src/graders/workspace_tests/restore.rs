//! Files of a workspace that steer a test runner: where the target changed them, the tests run with
//! what was there before. Files that tests are about are not among them.

use serde_json::Value;

use super::put_back::{GraderCommand, PutBackPaths};
use super::{TestsFormat, WorkspaceTests};
use crate::graders::diff::{TEST_GLOBS, touched};
use crate::graders::show::in_reason;
use crate::model::{Grade, Outcome};
use crate::workspace::{FinishedWorkspace, WorkspaceFault};
use eval_base::globs::is_glob;
use eval_sandbox::WORKSPACE_FOLDER;
use eval_workspace::{EntryNow, PathGlobs, WorkspacePath};

/// Bytes of a file that is restored.
const MOST_BYTES: u64 = 8 << 20;

/// Keys of a `package.json` that say how tests are run.
const PACKAGE_KEYS: [&str; 8] = [
    "scripts", "jest", "vitest", "mocha", "ava", "babel", "c8", "nyc",
];

/// The path in the workspace that a word of a command means; `None` if it is the name of a program in
/// PATH, or is elsewhere.
pub(super) fn workspace_path(cwd: &str, name: &str) -> Option<WorkspacePath> {
    if let Some(inside) = name.strip_prefix(WORKSPACE_FOLDER) {
        return joined("", inside).parse().ok();
    }
    if !name.contains('/') || name.starts_with('/') {
        return None;
    }
    joined(cwd, name).parse().ok()
}

/// A path relative to `cwd`, without `.` and with `..` resolved.
pub(in crate::graders) fn joined(cwd: &str, path: &str) -> String {
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

/// In words, files that a command names and the target changed.
pub(in crate::graders) fn changed_words(
    command: &[String],
    cwd: &str,
    workspace: &FinishedWorkspace,
) -> Vec<String> {
    let changed = touched(workspace.changes());
    let put_back = workspace.protected_edits();
    let is_changed = |path: &WorkspacePath| changed.contains(path) && !put_back.contains(path);
    let named = command.iter().filter_map(|word| {
        let path = workspace_path(cwd, word);
        path.or_else(|| joined(cwd, word).parse().ok())
    });
    let named = named.filter(is_changed);
    named
        .map(|path| format!("the target changed `{path}`, which the command names"))
        .collect()
}

/// Whether a program was in the workspace before the target ran, and the target changed or deleted
/// it.
pub(in crate::graders) async fn is_changed_program(
    cwd: &str,
    program: &str,
    workspace: &FinishedWorkspace,
) -> Result<bool, WorkspaceFault> {
    let Some(path) = workspace_path(cwd, program) else {
        return Ok(false);
    };
    let is_touched = touched(workspace.changes()).contains(&path)
        && !workspace.protected_edits().contains(&path);
    Ok(is_touched && workspace.file_before(&path, 0).await? != EntryNow::Absent)
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
    let program = workspace_path(&tests.cwd, tests.command.first()?)?;
    let environment = program.parent()?.parent();
    let protected = workspace.protected_edits();
    let is_below = |path: &WorkspacePath| match &environment {
        Some(environment) => path.is_below(environment),
        // At the top, where the project is, too.
        None => {
            let (first, second) = (path.parts().next(), path.parts().nth(1));
            let is_python = second.is_some_and(|name| name.starts_with(b"python"));
            match first {
                Some(b"bin") => is_python || *path == program,
                Some(b"lib" | b"lib64") => is_python || second.is_none(),
                first => first == Some(b"pyvenv.cfg"),
            }
        }
    };
    let is_part = |path: &&WorkspacePath| {
        is_below(path)
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
    /// The file as it was before, if the target changed it.
    pub before: Option<Vec<u8>>,
}

impl PytestConfig {
    pub async fn find(
        tests: &WorkspaceTests,
        workspace: &FinishedWorkspace,
    ) -> Result<PytestConfig, WorkspaceFault> {
        let names: [(&str, &str); 6] = [
            ("pytest.toml", ""),
            ("pytest.ini", ""),
            (".pytest.ini", ""),
            ("pyproject.toml", "[tool.pytest.ini_options]"),
            ("tox.ini", "[pytest]"),
            ("setup.cfg", "[tool:pytest]"),
        ];
        let changed = touched(workspace.changes());
        let depth = tests.cwd.split('/').filter(|part| !part.is_empty()).count();
        for up in 0..=depth {
            let root = "../".repeat(up);
            for (name, section) in names {
                let own = format!("{root}{name}");
                let Ok(at) = joined(&tests.cwd, &own).parse() else {
                    continue;
                };
                if let EntryNow::File { content, .. } =
                    workspace.file_before(&at, MOST_BYTES).await?
                    && String::from_utf8_lossy(&content).contains(section)
                {
                    return Ok(PytestConfig {
                        path: Some(own),
                        root: if up == 0 { ".".to_owned() } else { root },
                        before: changed.contains(&at).then_some(content),
                    });
                }
            }
        }
        Ok(PytestConfig {
            root: ".".to_owned(),
            ..PytestConfig::default()
        })
    }

    /// Where the tests find the file, relative to where the command runs. A changed one that also has
    /// other settings stays as the target left it: its old content is in a file of the same folder,
    /// because pytest resolves paths from there. `name`: of that file, without its ending.
    pub fn place(&self, name: &str) -> Option<String> {
        let path = self.path.as_ref()?;
        let (folder, file) = match path.rsplit_once('/') {
            Some((folder, file)) => (format!("{folder}/"), file),
            None => (String::new(), path.as_str()),
        };
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_shared = matches!(file, "pyproject.toml" | "tox.ini" | "setup.cfg");
        Some(match is_shared && self.before.is_some() {
            true => format!("{folder}.{name}.{ending}"),
            false => path.clone(),
        })
    }
}

/// What the target changed or added among the tests, besides what is restored anyway.
pub(super) fn tests_of_target(
    tests: &WorkspaceTests,
    workspace: &FinishedWorkspace,
    restored: &RestoredFiles,
) -> Vec<WorkspacePath> {
    let globs = PathGlobs::new(&TEST_GLOBS).unwrap_or_default();
    let protected = workspace.protected_edits();
    let given = tests.files.iter().map(|file| &file.path);
    let given = given.chain(restored.files.iter().map(|(path, _)| path));
    let given: Vec<WorkspacePath> = given.filter_map(|path| path.parse().ok()).collect();
    let is_own = |path: &&WorkspacePath| {
        globs.fit(path)
            && !protected.contains(path)
            && !given.contains(path)
            && !restored.paths.paths.contains(path)
    };
    let own = touched(workspace.changes()).into_iter().filter(is_own);
    own.cloned().collect()
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

/// Globs of the files that decide how the tests run.
fn steering_globs(tests: &WorkspaceTests) -> Vec<(&'static str, FileSteering)> {
    use FileSteering::{PackageScripts, Restored, RestoredIfKnown};
    let program = tests.command.first().map_or("", String::as_str);
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut globs = Vec::new();
    if uses_pytest(tests) {
        globs.push(("**/conftest.py", Restored));
        // With `results: pytest`, the one that counts is named to pytest.
        if tests.results != TestsFormat::Pytest {
            let names = "**/{pytest.ini,.pytest.ini,pytest.toml,tox.ini,setup.cfg}";
            globs.push((names, RestoredIfKnown));
        }
    }
    match (tests.results, program) {
        (TestsFormat::Cargo, _) | (_, "cargo") => globs.extend([
            ("**/.cargo/{config,config.toml}", Restored),
            ("**/{rust-toolchain,rust-toolchain.toml}", RestoredIfKnown),
        ]),
        (_, "make" | "gmake") => globs.extend([
            ("**/{Makefile,makefile,GNUmakefile}", RestoredIfKnown),
            ("**/*.mk", Restored),
        ]),
        (_, "npm" | "npx" | "yarn" | "pnpm" | "jest" | "vitest" | "mocha") => globs.extend([
            ("**/package.json", PackageScripts),
            ("**/{.npmrc,.yarnrc,.yarnrc.yml}", Restored),
            ("**/{.mocharc.*,vitest.workspace*}", RestoredIfKnown),
            ("**/{jest,vitest,vite,babel}.*config*", RestoredIfKnown),
        ]),
        _ => {}
    }
    globs
}

/// The globs alone, of files that must not change while the tests run.
pub(super) fn steering_files(tests: &WorkspaceTests) -> Vec<String> {
    let globs = steering_globs(tests).into_iter();
    let globs = globs.map(|(glob, _)| glob.to_owned());
    // A shell reads its script while it runs.
    let scripts = GraderCommand::of_tests(tests).scripts().into_iter();
    let scripts = scripts.map(|path| path.to_string());
    globs.chain(scripts.filter(|path| !is_glob(path))).collect()
}

/// How files steer tests, by path.
struct SteeringRules(Vec<(PathGlobs, FileSteering)>);

impl SteeringRules {
    fn of(tests: &WorkspaceTests) -> SteeringRules {
        let globs = steering_globs(tests).into_iter();
        let rules =
            globs.map(|(glob, steering)| (PathGlobs::new(&[glob]).unwrap_or_default(), steering));
        SteeringRules(rules.collect())
    }

    fn steering(&self, path: &WorkspacePath) -> Option<FileSteering> {
        let mut rules = self.0.iter();
        let rule = rules.find(|(globs, _)| globs.fit(path));
        rule.map(|(_, steering)| *steering)
    }
}

/// Whether a word of the command is pytest.
fn uses_pytest(tests: &WorkspaceTests) -> bool {
    let is_pytest = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or(word);
        matches!(name, "pytest" | "py.test" | "-mpytest")
    };
    tests.results == TestsFormat::Pytest || tests.command.iter().any(is_pytest)
}

/// Why the tests can't be believed: a file that decides how they run and that can't be put back.
/// `None` if there is none.
pub(super) async fn steered(
    tests: &WorkspaceTests,
    workspace: &FinishedWorkspace,
) -> Result<Option<String>, WorkspaceFault> {
    let program = tests.command.first().map_or("", String::as_str);
    let program = program.rsplit('/').next().unwrap_or(program);
    let is_script = matches!(
        program,
        "npm" | "npx" | "yarn" | "pnpm" | "jest" | "vitest" | "mocha" | "node"
    );
    let protected = workspace.protected_edits();
    let rules = SteeringRules::of(tests);
    for at in touched(workspace.changes()) {
        let path = at.as_path().to_string_lossy().into_owned();
        let given = tests.files.iter().any(|file| file.path == path);
        if given || protected.contains(at) {
            continue;
        }
        let shown = in_reason(&path);
        let is_config = rules.steering(at) == Some(FileSteering::RestoredIfKnown);
        if is_config && workspace.file_before(at, 0).await? == EntryNow::Absent {
            return Ok(Some(format!(
                "the target added `{shown}`, which decides how the tests run"
            )));
        }
        let parts: Vec<&[u8]> = at.parts().collect();
        let is_package = parts.contains(&&b"node_modules"[..]) && !parts.contains(&&b".cache"[..]);
        if is_script && is_package {
            return Ok(Some(format!(
                "the target changed `{shown}`, which the tests may load"
            )));
        }
        let is_cargo = tests.results == TestsFormat::Cargo || program == "cargo";
        if is_cargo && path.rsplit('/').next() == Some("Cargo.toml") {
            let before = targets_of(workspace.file_before(at, MOST_BYTES).await?);
            let now = targets_of(workspace.file(at, MOST_BYTES).await?);
            // A new package brings tests of its own.
            if before
                .as_ref()
                .is_some_and(|before| now.as_ref() != Some(before))
            {
                return Ok(Some(format!(
                    "the target changed the tests that `{shown}` names"
                )));
            }
        }
    }
    Ok(None)
}

/// The lines of a `Cargo.toml` that say which tests there are; `None` if it is no file.
fn targets_of(entry: EntryNow) -> Option<Vec<String>> {
    let EntryNow::File { content, .. } = entry else {
        return None;
    };
    Some(target_lines(&String::from_utf8_lossy(&content)))
}

fn target_lines(text: &str) -> Vec<String> {
    let tables = [
        "[[test]]",
        "[lib]",
        "[[bin]]",
        "[[example]]",
        "[[bench]]",
        "[workspace",
        "[patch",
    ];
    let keys = [
        "autotests",
        "autobins",
        "harness",
        "test",
        "path",
        "members",
        "exclude",
        "doctest",
    ];
    // A key may be quoted, or have its table before it.
    let is_key = |line: &str| {
        let key = line.split('=').next().unwrap_or_default();
        let key = key.replace(['"', '\''], "");
        match key.split_once('.') {
            Some(("package" | "lib" | "workspace", key)) => keys.contains(&key),
            _ => keys.contains(&key.as_str()),
        }
    };
    text.lines()
        .map(|line| line.split_whitespace().collect::<String>())
        .filter(|line| tables.iter().any(|table| line.starts_with(table)) || is_key(line))
        .collect()
}

/// The files that are laid on the workspace because the target changed them.
#[derive(Debug, Clone, Default)]
pub(super) struct RestoredFiles {
    pub files: Vec<(String, Vec<u8>)>,
    /// Those that are as the template has them, or gone if it does not.
    pub paths: PutBackPaths,
}

impl RestoredFiles {
    pub async fn of(
        tests: &WorkspaceTests,
        workspace: &FinishedWorkspace,
    ) -> Result<RestoredFiles, WorkspaceFault> {
        let protected = workspace.protected_edits();
        let mut restored = RestoredFiles {
            files: Vec::new(),
            paths: GraderCommand::of_tests(tests).put_back(workspace).await?,
        };
        let rules = SteeringRules::of(tests);
        for at in touched(workspace.changes()) {
            let path = at.as_path().to_string_lossy().into_owned();
            let given = tests.files.iter().any(|file| file.path == path);
            let Some(steering) = rules
                .steering(at)
                .filter(|_| !given && !protected.contains(at))
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
                    with_scripts_of(&before, &now)
                }
            };
            restored
                .files
                .extend(content.map(|content| (path, content)));
        }
        Ok(restored)
    }

    /// With more paths that are as the template has them.
    pub fn and_put_back(&self, more: &[WorkspacePath]) -> RestoredFiles {
        let mut restored = self.clone();
        restored.paths.paths.extend(more.iter().cloned());
        restored
    }

    pub fn explain(&self, mut grade: Grade) -> Grade {
        if let (Some(script), Outcome::Failed) = (&self.paths.script, grade.outcome) {
            let script = in_reason(&script.to_string());
            grade.reason += &format!(
                "; `{script}`, which the command runs, was restored: if the target may change it, set \
                 `allow_weakened_tests: true`"
            );
        }
        let files = self.files.iter().map(|(path, _)| in_reason(path));
        let paths: Vec<String> = files.chain(self.paths.shown.iter().cloned()).collect();
        if paths.is_empty() {
            return grade;
        }
        grade.with_detail("restored", paths)
    }
}

/// The `package.json` of now with what says how tests are run as before; that of before where one
/// of the two is not JSON. `None` if that is not different.
fn with_scripts_of(before: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let read = |bytes| serde_json::from_slice::<Value>(bytes).ok();
    let (Some(Value::Object(old)), Some(Value::Object(mut new))) = (read(before), read(now)) else {
        return Some(before.to_vec());
    };
    if PACKAGE_KEYS
        .iter()
        .all(|key| old.get(*key) == new.get(*key))
    {
        return None;
    }
    for key in PACKAGE_KEYS {
        match old.get(key) {
            Some(value) => drop(new.insert(key.to_owned(), value.clone())),
            None => drop(new.remove(key)),
        }
    }
    Some(Value::Object(new).to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_with_similar_names_are_not_targets() {
        let text = "[package]\nname = 'x'\n[dependencies]\n";
        let more = "pathdiff = { path = 'pathdiff' }\ntest-case = '3'\nmembers_only = '1'\nharness2.path = 'h'\n";
        assert_eq!(target_lines(text), target_lines(&format!("{text}{more}")));
        for line in [
            "[[test]]",
            "[workspace.package]",
            " test = false",
            "'harness' = false",
            "lib.\"test\" = false",
            "package . autotests=false",
            "path = 'evil'",
        ] {
            assert_eq!(target_lines(&format!("{text}{line}\n")).len(), 1, "{line}");
        }
    }

    #[test]
    fn scripts_of_a_package_are_those_of_before() {
        let now =
            br#"{"name": "x", "type": "module", "scripts": {"test": "true"}, "jest": {"bail": 1}}"#;
        let shown = |before: &[u8], now: &[u8]| {
            String::from_utf8(with_scripts_of(before, now).unwrap()).unwrap()
        };
        assert_eq!(
            shown(br#"{"name": "x", "scripts": {"test": "node --test"}}"#, now),
            r#"{"name":"x","scripts":{"test":"node --test"},"type":"module"}"#
        );
        assert_eq!(shown(b"{}", b"no JSON"), "{}");
    }

    #[test]
    fn programs_with_a_slash_are_files_of_the_workspace() {
        let shown = |cwd: &str, name: &str| workspace_path(cwd, name).map(|path| path.to_string());
        assert_eq!(shown("", "./run.sh").as_deref(), Some("run.sh"));
        assert_eq!(shown("pkg/a", "../bin/run").as_deref(), Some("pkg/bin/run"));
        assert_eq!(shown("pkg", "pytest"), None);
        assert_eq!(shown("pkg", "/usr/bin/pytest"), None);
    }
}
