//! Paths that are put back as the template has them before a grader's command runs, although nobody
//! protects them: caches that a program loads instead of sources, the script that the command starts,
//! and what replaces files that the grader writes to the workspace.

use std::collections::{BTreeMap, BTreeSet};

use super::job::is_python;
use super::restore::{joined, workspace_path};
use super::{GivenFile, TestsFormat, WorkspaceTests};
use crate::graders::diff::touched;
use crate::graders::show::in_reason;
use crate::workspace::CODE_ENDINGS;
use crate::workspace::{FinishedWorkspace, WorkspaceFault};
use eval_workspace::{
    ChangeKind, ChangedContent, EntryNow, FileMode, PathGlobs, WorkspaceChanges, WorkspacePath,
};

/// Caches that are loaded instead of the files that they were made of.
const CACHES: [&str; 9] = [
    // Also a link in the place of the folder.
    "**/__pycache__",
    "**/__pycache__/**",
    "**/node_modules/.cache/**",
    "**/node_modules/.vite/**",
    "**/node_modules/.vitest/**",
    "**/.gradle/**",
    "**/.mypy_cache/**",
    "**/.pytest_cache/**",
    "**/*.tsbuildinfo",
];

/// Programs that run the script that they are given.
const INTERPRETERS: [&str; 12] = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "node", "bun", "ruby", "perl", "php", "lua",
];

/// Programs that run the command that follows their options.
const WRAPPERS: [&str; 7] = [
    "env", "timeout", "nice", "nohup", "stdbuf", "time", "xvfb-run",
];

/// A command of a grader, with the files that it writes to the workspace.
pub(in crate::graders) struct GraderCommand<'g> {
    pub argv: &'g [String],
    /// Where it runs, relative to the workspace; empty: there.
    pub cwd: &'g str,
    pub files: &'g [GivenFile],
    /// With the settings of tests, whose script is not the target's.
    pub tests: Option<&'g WorkspaceTests>,
}

#[derive(Debug, Clone, Default)]
pub(in crate::graders) struct PutBackPaths {
    pub paths: BTreeSet<WorkspacePath>,
    /// The script that the command starts, if it is among them.
    pub script: Option<WorkspacePath>,
    /// Those that are not caches, as text.
    pub shown: Vec<String>,
    /// In words, programs of the grader in a folder that the target added files to.
    pub not_defended: Vec<String>,
}

impl<'g> GraderCommand<'g> {
    pub fn of_tests(tests: &'g WorkspaceTests) -> GraderCommand<'g> {
        GraderCommand {
            argv: &tests.command,
            cwd: &tests.cwd,
            files: &tests.files,
            tests: Some(tests),
        }
    }

    /// # Errors
    /// Files that can't be read.
    pub async fn put_back(
        &self,
        workspace: &FinishedWorkspace,
    ) -> Result<PutBackPaths, WorkspaceFault> {
        let mut found = PutBackPaths::default();
        let touched = touched(workspace.changes());
        let caches = PathGlobs::new(&CACHES).unwrap_or_default();
        let cached = touched.iter().filter(|path| caches.fit(path));
        found.paths.extend(cached.map(|path| (*path).clone()));
        self.builds(&touched, workspace, &mut found).await?;
        let mut shown = BTreeSet::new();
        for path in self.scripts() {
            if touched.contains(&path)
                && !is_of_rights(workspace.changes(), &path)
                && workspace.file_before(&path, 0).await? != EntryNow::Absent
            {
                shown.insert(path.clone());
                found.script = Some(path);
            }
        }
        let given = self.files.iter().filter_map(|file| file.path.parse().ok());
        let hidden = workspace.hidden_files().iter().cloned();
        let given: BTreeSet<WorkspacePath> = given.chain(hidden).collect();
        let added = touched.iter().filter(|path| !given.contains(**path));
        let added: Vec<&WorkspacePath> = added.copied().collect();
        for file in &given {
            for path in &added {
                if let Some(top) = replaced_by(file, path)
                    && workspace.file_before(&top, 0).await? == EntryNow::Absent
                {
                    shown.insert(top);
                }
            }
            if !self.names(file) {
                continue;
            }
            let folder = file.parent();
            let is_beside = |path: &&&WorkspacePath| match &folder {
                Some(folder) => path.is_below(folder),
                None => path.parent().is_none(),
            };
            let mut beside = added.iter().filter(is_beside).peekable();
            match &folder {
                Some(folder) if workspace.file_before(folder, 0).await? == EntryNow::Absent => {
                    shown.extend(beside.map(|path| (*path).clone()));
                }
                _ if beside.peek().is_some() => found.not_defended.push(format!(
                    "files that the target left beside `{file}`, which it may load"
                )),
                _ => {}
            }
        }
        found.shown = shown
            .iter()
            .map(|path| in_reason(&path.to_string()))
            .collect();
        found.paths.extend(shown);
        Ok(found)
    }

    fn names(&self, file: &WorkspacePath) -> bool {
        self.argv
            .iter()
            .any(|word| path_of(self.cwd, word).as_ref() == Some(file))
    }

    /// What a build tool would take for up to date.
    async fn builds(
        &self,
        touched: &BTreeSet<&WorkspacePath>,
        workspace: &FinishedWorkspace,
        found: &mut PutBackPaths,
    ) -> Result<(), WorkspaceFault> {
        let Some(tests) = self.tests else {
            // A command may look at what the target built.
            return Ok(());
        };
        let (folder, manifests): (&[u8], &[&str]) = match (tests.results, program(self.argv)) {
            (TestsFormat::Cargo, _) | (_, "cargo") => (b"target", &["Cargo.toml"]),
            (_, "mvn" | "mvnw") => (b"target", &["pom.xml"]),
            (_, "gradle" | "gradlew") => (b"build", &["build.gradle", "build.gradle.kts"]),
            _ => return Ok(()),
        };
        let mut known = BTreeMap::<WorkspacePath, bool>::new();
        for path in touched {
            let own = [(*path).clone()];
            for place in path.parents().chain(own) {
                if place.name() != folder {
                    continue;
                }
                if !known.contains_key(&place) {
                    let is_build = is_beside_any(&place, manifests, workspace).await?;
                    known.insert(place.clone(), is_build);
                }
                if known.get(&place) == Some(&true) {
                    found.paths.insert((*path).clone());
                }
            }
        }
        Ok(())
    }

    /// Files of the workspace that the command runs: its program, and the script of an interpreter.
    pub fn scripts(&self) -> Vec<WorkspacePath> {
        let loads_tests = |tests: &WorkspaceTests| {
            matches!(
                tests.results,
                TestsFormat::Pytest | TestsFormat::Unittest | TestsFormat::Node
            )
        };
        if self
            .tests
            .is_none_or(|tests| loads_tests(tests) || tests.allow_weakened_tests)
        {
            return Vec::new();
        }
        let argv = unwrapped(self.argv);
        let Some((first, words)) = argv.split_first() else {
            return Vec::new();
        };
        let operand = match program(argv) {
            "make" | "gmake" => {
                let is_file =
                    |word: &&String| matches!(word.as_str(), "-f" | "--file" | "--makefile");
                let mut words = words.iter().skip_while(|word| !is_file(word)).skip(1);
                words.next()
            }
            name if INTERPRETERS.contains(&name) || is_python(name) => operand_of(name, words),
            _ => None,
        };
        let own = workspace_path(self.cwd, first).into_iter();
        own.chain(operand.and_then(|word| path_of(self.cwd, word)))
            .collect()
    }
}

/// Whether only the rights of a file changed: an executable bit decides nothing.
fn is_of_rights(changes: &WorkspaceChanges, path: &WorkspacePath) -> bool {
    let is_file = |mode| matches!(mode, Some(FileMode::Regular | FileMode::Executable));
    let mut files = changes.files.iter();
    files.any(|change| {
        change.path == *path
            && change.kind == ChangeKind::Modified
            && change.content == ChangedContent::Unchanged
            && is_file(change.old_mode)
            && is_file(change.new_mode)
    })
}

/// The script that an interpreter runs; `None` if it runs code of its arguments, or tests.
fn operand_of<'w>(name: &str, words: &'w [String]) -> Option<&'w String> {
    let operand = words.iter().position(|word| !word.starts_with('-'))?;
    let runs_code = |word: &String| {
        let is_shell_code = name.ends_with("sh") && !word.starts_with("--") && word.ends_with('c');
        is_shell_code
            || matches!(
                word.as_str(),
                "-c" | "-m" | "-e" | "-p" | "--eval" | "--test"
            )
    };
    let options = words.get(..operand)?;
    words
        .get(operand)
        .filter(|_| !options.iter().any(runs_code))
}

fn program(argv: &[String]) -> &str {
    let program = argv.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program)
}

fn path_of(cwd: &str, word: &str) -> Option<WorkspacePath> {
    workspace_path(cwd, word).or_else(|| {
        let is_outside = word.starts_with('/');
        joined(cwd, word).parse().ok().filter(|_| !is_outside)
    })
}

/// The command that wrappers run.
fn unwrapped(argv: &[String]) -> &[String] {
    let mut rest = argv;
    while WRAPPERS.contains(&program(rest)) {
        let is_option = |word: &String| {
            word.starts_with('-')
                || word.contains('=')
                || word.starts_with(|first: char| first.is_ascii_digit())
        };
        let options = rest.iter().skip(1).take_while(|word| is_option(word));
        let next = 1 + options.count();
        rest = rest.get(next..).unwrap_or_default();
    }
    rest
}

async fn is_beside_any(
    folder: &WorkspacePath,
    names: &[&str],
    workspace: &FinishedWorkspace,
) -> Result<bool, WorkspaceFault> {
    let parent = folder.parent();
    for name in names {
        let beside = match &parent {
            Some(parent) => [parent.as_bytes(), b"/", name.as_bytes()].concat(),
            None => name.as_bytes().to_vec(),
        };
        let Ok(beside) = WorkspacePath::new(&beside) else {
            continue;
        };
        if workspace.file(&beside, 0).await? != EntryNow::Absent
            || workspace.file_before(&beside, 0).await? != EntryNow::Absent
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The file or folder with which `path` is loaded in the place of the module `file`: `x/` or `x.so`
/// for `x.py`.
fn replaced_by(file: &WorkspacePath, path: &WorkspacePath) -> Option<WorkspacePath> {
    let dot = file.name().iter().rposition(|byte| *byte == b'.')?;
    let (stem, ending) = file.name().split_at_checked(dot)?;
    let ending = std::str::from_utf8(ending.get(1..)?).ok()?;
    if stem.is_empty() || !CODE_ENDINGS.contains(&ending) {
        return None;
    }
    let own = [path.clone()];
    path.parents().chain(own).find(|top| {
        let rest = top.name().strip_prefix(stem);
        top.parent() == file.parent()
            && top != file
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_replaced_by_folders_and_other_endings() {
        let of = |file: &str, path: &str| {
            let (file, path) = (file.parse().unwrap(), path.parse().unwrap());
            replaced_by(&file, &path).map(|top| top.to_string())
        };
        let table = [
            ("t/help.py", "t/help/__init__.py", Some("t/help")),
            ("t/help.py", "t/help.abi3.so", Some("t/help.abi3.so")),
            ("help.js", "help.json", Some("help.json")),
            ("t/help.py", "t/help.py", None),
            ("t/help.py", "t/helper.py", None),
            ("t/help.py", "help/__init__.py", None),
            ("t/help.py", "t/a/help/x.py", None),
            ("t/data.csv", "t/data.json", None),
        ];
        for (file, path, top) in table {
            assert_eq!(of(file, path).as_deref(), top, "{file} {path}");
        }
    }

    #[test]
    fn scripts_of_interpreters_are_their_first_operand() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            operand_of(program(&words), &words[1..]).cloned()
        };
        let table = [
            ("sh -eu run.sh a", Some("run.sh")),
            ("python3 -B run.py", Some("run.py")),
            ("bash -ec code run.sh", None),
            ("python3 -m unittest a.py", None),
            ("node --test a.js", None),
        ];
        for (line, script) in table {
            assert_eq!(of(line).as_deref(), script, "{line}");
        }
    }

    #[test]
    fn commands_run_behind_wrappers() {
        let table = [
            ("sh run.sh", "sh run.sh"),
            ("env -i A=1 timeout -k 5 10 sh run.sh", "sh run.sh"),
            ("timeout 10s ./run.sh a", "./run.sh a"),
            ("env", ""),
        ];
        for (line, inner) in table {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(unwrapped(&argv).join(" "), inner, "{line}");
        }
    }
}
