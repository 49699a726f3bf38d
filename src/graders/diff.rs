//! The code grader `diff`: which files of its workspace a target changed, how much, and whether it
//! weakened tests.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::programs::BoxedFuture;
use super::settings::{CaseExpectation, incomplete};
use super::show::in_reason;
use super::weakened::weakening;
use super::{
    CodeGrader, CodeMethod, MethodSettings, ResolvedGraders, WorkspaceBench, WorkspaceCheck,
};
use crate::load::{Code, Node, Problem, SuiteDesk};
use crate::model::limits;
use crate::model::{Cause, Grade, GraderType, NumberKind};
use crate::spec::OneOrMany;
use crate::workspace::{FinishedWorkspace, WorkspaceFault};
use eval_base::text::{self, plural};
use eval_workspace::{
    ChangeKind, ChangedContent, EntryNow, PathGlobs, WorkspaceChanges, WorkspacePath,
};

const METHOD: &str = "diff";

/// Changed files, a rename as one.
const FILES_CHANGED: &str = "files_changed";
/// Lines added and removed.
const LINES_CHANGED: &str = "lines_changed";

/// Bytes of a file of tests that are compared.
const TEST_BYTES: u64 = 8 << 20;

/// Files of tests, by the customs of common test runners.
pub(super) const TEST_GLOBS: [&str; 12] = [
    "**/test_*.py",
    "**/*_test.py",
    "**/tests/**",
    "**/test/**",
    "**/__tests__/**",
    "**/*.{test,spec}.{js,mjs,cjs,jsx,ts,mts,cts,tsx}",
    "**/*_test.go",
    "**/*_test.rs",
    "**/*_{test,spec}.rb",
    "**/*{Test,Tests}.{java,kt,cs}",
    "**/test_*.sh",
    "**/*.bats",
];

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffSpec {
    /// Globs that must each match at least one changed file. `*` stays in one folder, `**` crosses
    /// folders.
    #[serde(default)]
    pub must_touch: OneOrMany<String>,
    /// Globs of files that may change: a changed file that matches neither these nor `must_touch`
    /// fails the grade.
    #[serde(default)]
    pub may_touch: OneOrMany<String>,
    /// Globs of files that must not change.
    #[serde(default)]
    pub must_not_touch: OneOrMany<String>,
    /// Most files that may change. A renamed file counts once.
    pub max_files: Option<u64>,
    /// Most lines that may be added and removed in total. Files whose lines can't be counted (binary
    /// or very large files) fail the grade.
    pub max_lines: Option<u64>,
    /// `true` fails the grade if a test file is deleted, or if it has fewer tests, fewer assertions
    /// or more skips than before. Default false.
    #[serde(default)]
    pub no_weakened_tests: bool,
    /// Globs of test files, for `no_weakened_tests`. Default: the names that common test runners
    /// use.
    #[serde(default)]
    pub tests: OneOrMany<String>,
}

/// The changes of a workspace follow these rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceDiff {
    pub must_touch: Vec<String>,
    pub may_touch: Vec<String>,
    pub must_not_touch: Vec<String>,
    pub max_files: Option<u64>,
    pub max_lines: Option<u64>,
    /// Globs of files of tests that may not be weakened; empty: none are looked at.
    pub tests: Vec<String>,
}

impl MethodSettings for DiffSpec {
    const OWN_KEYS: &'static [&'static str] = &[
        "must_touch",
        "may_touch",
        "must_not_touch",
        "max_files",
        "max_lines",
        "no_weakened_tests",
    ];

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        case.require_workspace(desk, METHOD, node.span)?;
        let lists = [
            ("must_touch", &self.must_touch.0),
            ("may_touch", &self.may_touch.0),
            ("must_not_touch", &self.must_not_touch.0),
            ("tests", &self.tests.0),
        ];
        for (key, globs) in lists {
            for (place, glob) in globs.iter().enumerate() {
                check_glob(desk, node, key, place, glob)?;
            }
        }
        if !self.tests.0.is_empty() && !self.no_weakened_tests {
            let at = node.key_span("/tests");
            let message = "`tests` has no effect without `no_weakened_tests: true`";
            return desk.refuse(incomplete(at, message, "add `no_weakened_tests: true`"));
        }
        let grader = WorkspaceDiff {
            must_touch: self.must_touch.0.clone(),
            may_touch: self.may_touch.0.clone(),
            must_not_touch: self.must_not_touch.0.clone(),
            max_files: self.max_files,
            max_lines: self.max_lines,
            tests: match (self.no_weakened_tests, self.tests.0.is_empty()) {
                (false, _) => Vec::new(),
                (true, false) => self.tests.0.clone(),
                (true, true) => TEST_GLOBS.map(str::to_owned).to_vec(),
            },
        };
        if grader.demands_nothing() {
            return desk.refuse(incomplete(
                node.span,
                "`diff` has no rule, so every change would pass",
                "add `must_touch:`, `may_touch:`, `must_not_touch:`, `max_files:`, `max_lines:` or `no_weakened_tests: true`",
            ));
        }
        Some(vec![CodeGrader::Diff(grader)])
    }
}

/// Reports a text that is not a glob of paths, or an empty one.
pub(super) fn check_glob(
    desk: &mut SuiteDesk,
    node: &Node,
    key: &str,
    place: usize,
    glob: &str,
) -> Option<()> {
    let why = match PathGlobs::new(&[glob]) {
        _ if glob.trim().is_empty() => "it is empty".to_owned(),
        _ if glob.starts_with(['/', '!']) || glob.starts_with("./") || glob.contains("../") => {
            "paths of a workspace are relative to its top folder, without `./` and `../`".to_owned()
        }
        Ok(_) => return Some(()),
        Err(error) => error.to_string(),
    };
    let listed = node.locate(&format!("/{key}/{place}"));
    let message = format!("`{glob}` is not a glob: {why}");
    desk.refuse(Problem::error(Code::BadGlob, listed, message))
}

impl CodeMethod for WorkspaceDiff {
    fn workspace_check(&self) -> Option<&dyn WorkspaceCheck> {
        Some(self)
    }

    fn further_numbers(&self) -> Vec<(&str, NumberKind)> {
        vec![
            (FILES_CHANGED, NumberKind::Number),
            (LINES_CHANGED, NumberKind::Number),
        ]
    }
}

impl WorkspaceCheck for WorkspaceDiff {
    fn grade<'g>(&'g self, bench: &'g WorkspaceBench<'g>) -> BoxedFuture<'g, Grade> {
        Box::pin(async move {
            let changes = bench.workspace.changes();
            let weakened = match weakened_tests(&self.tests, bench.workspace, &[]).await {
                Ok(weakened) => weakened,
                Err(fault) => return fault_grade(METHOD, fault),
            };
            self.judge(changes, weakened)
        })
    }
}

/// The grade of a workspace that can't be looked at.
pub(super) fn fault_grade(method: &str, fault: WorkspaceFault) -> Grade {
    Grade::errored(GraderType::Code, method, fault.cause, fault.reason)
}

/// Every path that was added, changed, deleted, or renamed from or to.
pub(super) fn touched(changes: &WorkspaceChanges) -> BTreeSet<&WorkspacePath> {
    let lists = [
        &changes.added,
        &changes.modified,
        &changes.deleted,
        &changes.special,
    ];
    let renamed = changes.files.iter().filter_map(|file| match &file.kind {
        ChangeKind::Renamed { from } => Some(from),
        _ => None,
    });
    let files = changes.files.iter().map(|file| &file.path);
    lists
        .into_iter()
        .flatten()
        .chain(renamed)
        .chain(files)
        .collect()
}

fn globs(patterns: &[String]) -> PathGlobs {
    // Patterns were checked when they were loaded; one that is not a glob fits nothing.
    PathGlobs::new(patterns).unwrap_or_default()
}

/// The files that fit `tests` and are weaker than before, each with a few words; `restored` are put
/// back before tests run, and therefore not looked at.
pub(super) async fn weakened_tests(
    tests: &[String],
    workspace: &FinishedWorkspace,
    restored: &[WorkspacePath],
) -> Result<Vec<String>, WorkspaceFault> {
    let mut found = Vec::new();
    if tests.is_empty() {
        return Ok(found);
    }
    let tests = globs(tests);
    for (old, new) in changed_tests(workspace.changes(), &tests) {
        if restored.contains(old) {
            continue;
        }
        let EntryNow::File { content, bytes, .. } = workspace.file_before(old, TEST_BYTES).await?
        else {
            continue;
        };
        let now = match new {
            Some(path) => workspace.file(path, TEST_BYTES).await?,
            None => EntryNow::Absent,
        };
        let why = match now {
            _ if bytes > TEST_BYTES => Some("it is too large to be compared".to_owned()),
            EntryNow::Absent => Some("deleted".to_owned()),
            EntryNow::File { bytes, .. } if bytes > TEST_BYTES => {
                Some("it is too large to be compared".to_owned())
            }
            EntryNow::File { content: now, .. } => weakening(
                &old.to_string(),
                &String::from_utf8_lossy(&content),
                &String::from_utf8_lossy(&now),
            ),
            EntryNow::Folder | EntryNow::Link { .. } | EntryNow::Special => {
                Some("it is no longer a file".to_owned())
            }
        };
        found.extend(why.map(|why| format!("{old}: {why}")));
    }
    Ok(found)
}

/// The files of tests that were there before, with where they are now; `None` when they are gone, or
/// are no longer where tests are.
fn changed_tests<'c>(
    changes: &'c WorkspaceChanges,
    tests: &PathGlobs,
) -> Vec<(&'c WorkspacePath, Option<&'c WorkspacePath>)> {
    let is_cache = |path: &WorkspacePath| path.parts().any(|part| part == b"__pycache__");
    let is_test = |path: &&WorkspacePath| tests.fit(path) && !is_cache(path);
    let renamed = changes.files.iter().filter_map(|file| match &file.kind {
        ChangeKind::Renamed { from } => Some((from, &file.path)),
        _ => None,
    });
    let renamed: Vec<_> = renamed.filter(|(from, _)| is_test(from)).collect();
    let modified = changes.modified.iter().filter(is_test);
    let deleted = changes.deleted.iter().filter(is_test);
    let gone = deleted.filter(|path| !renamed.iter().any(|(from, _)| from == path));
    modified
        .map(|path| (path, Some(path)))
        .chain(gone.map(|path| (path, None)))
        .chain(
            renamed
                .iter()
                .map(|(from, to)| (*from, Some(*to).filter(is_test))),
        )
        .collect()
}

/// What the rules find in the changes.
#[derive(Debug, Default)]
struct DiffFindings {
    /// Sentences, the first of which is the reason.
    broken: Vec<String>,
    details: Vec<(&'static str, Vec<String>)>,
}

impl DiffFindings {
    fn add(&mut self, sentence: String, detail: Option<(&'static str, Vec<String>)>) {
        self.broken.push(sentence);
        self.details.extend(detail);
    }
}

impl WorkspaceDiff {
    fn demands_nothing(&self) -> bool {
        let lists = [
            &self.must_touch,
            &self.may_touch,
            &self.must_not_touch,
            &self.tests,
        ];
        lists.iter().all(|list| list.is_empty())
            && self.max_files.is_none()
            && self.max_lines.is_none()
    }

    fn judge(&self, changes: &WorkspaceChanges, weakened: Vec<String>) -> Grade {
        let touched = touched(changes);
        let mut findings = DiffFindings::default();
        self.paths(&touched, &mut findings);
        let files = (changes.files.len() + changes.special.len()) as u64;
        if let Some(most) = self.max_files.filter(|most| files > *most) {
            findings.add(
                format!(
                    "{} changed, but at most {most} may",
                    plural(files as usize, "file")
                ),
                None,
            );
        }
        let lines = counted_lines(changes);
        self.lines(&lines, &mut findings);
        if !weakened.is_empty() {
            let sentence = format!("tests were weakened: {}", listed(&weakened));
            findings.add(sentence, Some(("weakened_tests", weakened)));
        }
        let is_whole = !changes.truncated && lines.is_complete;
        let mut grade = match findings.broken.as_slice() {
            [] if !is_whole => {
                let why =
                    "more files changed than are listed, so the changes can't be judged in full";
                Grade::failed(GraderType::Code, METHOD, Cause::OutputLimit, why)
            }
            [] => Grade::passed(GraderType::Code, METHOD),
            all => {
                let reason = all.join("; ");
                Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, reason)
            }
        };
        if is_whole {
            grade.metrics.insert(FILES_CHANGED.to_owned(), files as f64);
            if lines.uncounted.is_empty() {
                let lines = lines.count as f64;
                grade.metrics.insert(LINES_CHANGED.to_owned(), lines);
            }
        }
        for (key, list) in findings.details {
            let list: Vec<Value> = list
                .iter()
                .take(limits::GRADE_ENTRIES)
                .map(|entry| Value::from(in_reason(entry)))
                .collect();
            grade = grade.with_detail(key, list);
        }
        let shown: Vec<String> = touched
            .iter()
            .take(limits::GRADE_ENTRIES)
            .map(|path| in_reason(&path.to_string()))
            .collect();
        grade.with_actual(json!({ "changed": shown, "count": touched.len() }))
    }

    fn paths(&self, touched: &BTreeSet<&WorkspacePath>, findings: &mut DiffFindings) {
        let names = |paths: Vec<&&WorkspacePath>| -> Vec<String> {
            paths.iter().map(|path| path.to_string()).collect()
        };
        let missing: Vec<String> = self
            .must_touch
            .iter()
            .filter(|glob| {
                let glob = globs(std::slice::from_ref(*glob));
                !touched.iter().any(|path| glob.fit(path))
            })
            .cloned()
            .collect();
        if !missing.is_empty() {
            let what = listed(&missing);
            findings.add(
                format!("no changed file matches {what}"),
                Some(("not_touched", missing)),
            );
        }
        if !self.may_touch.is_empty() {
            let allowed = [globs(&self.may_touch), globs(&self.must_touch)];
            let beyond = touched.iter();
            let beyond = names(
                beyond
                    .filter(|path| !allowed.iter().any(|g| g.fit(path)))
                    .collect(),
            );
            if !beyond.is_empty() {
                findings.add(
                    format!(
                        "changed files that `may_touch` does not allow: {}",
                        listed(&beyond)
                    ),
                    Some(("not_allowed", beyond)),
                );
            }
        }
        let forbidden = globs(&self.must_not_touch);
        let hit = names(touched.iter().filter(|path| forbidden.fit(path)).collect());
        if !hit.is_empty() {
            findings.add(
                format!("changed files that must not change: {}", listed(&hit)),
                Some(("forbidden", hit)),
            );
        }
    }

    fn lines(&self, lines: &CountedLines, findings: &mut DiffFindings) {
        let Some(most) = self.max_lines else { return };
        if lines.count > most {
            let count = plural(lines.count as usize, "line");
            findings.add(format!("{count} changed, but at most {most} may"), None);
        } else if !lines.uncounted.is_empty() {
            findings.add(
                format!(
                    "the lines of {} can't be counted (binary, or too large): {}",
                    plural(lines.uncounted.len(), "changed file"),
                    listed(&lines.uncounted)
                ),
                Some(("uncounted", lines.uncounted.clone())),
            );
        }
    }
}

/// Lines that were added and removed.
struct CountedLines {
    count: u64,
    /// Files whose lines can't be counted.
    uncounted: Vec<String>,
    /// Whether every changed file is among those that were compared.
    is_complete: bool,
}

fn counted_lines(changes: &WorkspaceChanges) -> CountedLines {
    let mut lines = CountedLines {
        count: 0,
        uncounted: Vec::new(),
        is_complete: true,
    };
    let mut compared = BTreeSet::new();
    for file in &changes.files {
        compared.insert(&file.path);
        if let ChangeKind::Renamed { from } = &file.kind {
            compared.insert(from);
        }
        match file.content {
            ChangedContent::Unchanged => {}
            ChangedContent::Text { added, removed } => {
                lines.count = lines.count.saturating_add(added).saturating_add(removed);
            }
            ChangedContent::Binary | ChangedContent::TooLarge => {
                lines.uncounted.push(file.path.to_string());
            }
        }
    }
    let lists = [&changes.added, &changes.modified, &changes.deleted];
    let mut paths = lists.into_iter().flatten();
    lines.is_complete = paths.all(|path| compared.contains(path));
    lines
}

/// The first of a list, for a sentence.
pub(super) fn listed(all: &[String]) -> String {
    let shown = all.iter().map(|one| format!("`{}`", in_reason(one)));
    text::listed(shown, 5, all.len(), ", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Outcome;
    use eval_workspace::{FileChange, FileMode};

    fn path(text: &str) -> WorkspacePath {
        text.parse().unwrap()
    }

    fn change(name: &str, kind: ChangeKind, content: ChangedContent) -> FileChange {
        FileChange {
            path: path(name),
            kind,
            old_mode: Some(FileMode::Regular),
            new_mode: Some(FileMode::Regular),
            content,
            bytes: 1,
        }
    }

    fn changes(modified: &[(&str, u64, u64)]) -> WorkspaceChanges {
        WorkspaceChanges {
            modified: modified.iter().map(|(name, ..)| path(name)).collect(),
            files: modified
                .iter()
                .map(|(name, added, removed)| {
                    let content = ChangedContent::Text {
                        added: *added,
                        removed: *removed,
                    };
                    change(name, ChangeKind::Modified, content)
                })
                .collect(),
            ..WorkspaceChanges::default()
        }
    }

    fn rules(text: &str) -> WorkspaceDiff {
        let spec: DiffSpec = serde_json::from_str(text).unwrap();
        WorkspaceDiff {
            must_touch: spec.must_touch.0,
            may_touch: spec.may_touch.0,
            must_not_touch: spec.must_not_touch.0,
            max_files: spec.max_files,
            max_lines: spec.max_lines,
            tests: Vec::new(),
        }
    }

    fn shown(rule: &str, changes: &WorkspaceChanges) -> String {
        let grade = rules(rule).judge(changes, Vec::new());
        match grade.outcome {
            Outcome::Passed => "passed".to_owned(),
            _ => grade.reason,
        }
    }

    #[test]
    fn each_rule_passes_and_fails() {
        let two = changes(&[("src/a.py", 3, 1), ("src/deep/b.py", 0, 2)]);
        let table = [
            (r#"{"must_touch": "src/*.py"}"#, "passed"),
            (
                r#"{"must_touch": ["src/**", "docs/**"]}"#,
                "no changed file matches `docs/**`",
            ),
            (r#"{"may_touch": "src/**"}"#, "passed"),
            (
                r#"{"may_touch": "src/*.py", "must_touch": "src/deep/*"}"#,
                "passed",
            ),
            (
                r#"{"may_touch": "src/*.py"}"#,
                "changed files that `may_touch` does not allow: `src/deep/b.py`",
            ),
            (r#"{"must_not_touch": "tests/**"}"#, "passed"),
            (
                r#"{"must_not_touch": "src/deep"}"#,
                "changed files that must not change: `src/deep/b.py`",
            ),
            (r#"{"max_files": 2, "max_lines": 6}"#, "passed"),
            (
                r#"{"max_files": 1, "max_lines": 5}"#,
                "2 files changed, but at most 1 may; 6 lines changed, but at most 5 may",
            ),
        ];
        for (rule, expected) in table {
            assert_eq!(shown(rule, &two), expected, "{rule}");
        }
        let grade = rules(r#"{"max_files": 9}"#).judge(&two, Vec::new());
        assert_eq!(
            (grade.metrics[FILES_CHANGED], grade.metrics[LINES_CHANGED]),
            (2.0, 6.0)
        );
    }

    #[test]
    fn rename_touches_both_paths_and_counts_once() {
        let renamed = WorkspaceChanges {
            added: vec![path("new/a.py")],
            deleted: vec![path("old/a.py")],
            files: vec![change(
                "new/a.py",
                ChangeKind::Renamed {
                    from: path("old/a.py"),
                },
                ChangedContent::Unchanged,
            )],
            ..WorkspaceChanges::default()
        };
        assert_eq!(
            shown(
                r#"{"must_touch": ["old/*", "new/*"], "max_files": 1, "max_lines": 0}"#,
                &renamed
            ),
            "passed"
        );
        assert_eq!(
            shown(r#"{"must_not_touch": "old/**"}"#, &renamed),
            "changed files that must not change: `old/a.py`"
        );
    }

    #[test]
    fn what_is_not_known_never_passes() {
        let mut cut = changes(&[("a", 1, 0)]);
        cut.truncated = true;
        let grade = rules(r#"{"must_touch": "a"}"#).judge(&cut, Vec::new());
        assert_eq!(grade.cause, Some(Cause::OutputLimit));
        assert!(grade.metrics.is_empty());
        let mut uncompared = changes(&[("a", 1, 0)]);
        uncompared.added.push(path("b"));
        let grade = rules(r#"{"max_lines": 5}"#).judge(&uncompared, Vec::new());
        assert_eq!(grade.cause, Some(Cause::OutputLimit));
        for content in [ChangedContent::Binary, ChangedContent::TooLarge] {
            let mut binary = changes(&[("a", 1, 0)]);
            binary.files[0].content = content;
            assert_eq!(
                shown(r#"{"max_lines": 5}"#, &binary),
                "the lines of 1 changed file can't be counted (binary, or too large): `a`"
            );
            let grade = rules(r#"{"max_files": 5}"#).judge(&binary, Vec::new());
            assert_eq!(grade.outcome, Outcome::Passed);
            assert!(!grade.metrics.contains_key(LINES_CHANGED));
        }
    }

    #[test]
    fn special_files_are_changes() {
        let special = WorkspaceChanges {
            special: vec![path("src/pipe")],
            ..WorkspaceChanges::default()
        };
        assert_eq!(
            shown(r#"{"must_not_touch": "src/**", "max_files": 0}"#, &special),
            "changed files that must not change: `src/pipe`; 1 file changed, but at most 0 may"
        );
    }

    #[test]
    fn tests_that_left_the_places_of_tests_are_gone() {
        let tests = globs(&TEST_GLOBS.map(str::to_owned));
        let moved = WorkspaceChanges {
            added: vec![path("old/a.py"), path("tests/c.py")],
            modified: vec![path("pkg/a_test.go"), path("src/a.go")],
            deleted: vec![
                path("tests/a.py"),
                path("tests/b.py"),
                path("test_c.py"),
                path("tests/__pycache__/a.pyc"),
            ],
            files: vec![
                change(
                    "old/a.py",
                    ChangeKind::Renamed {
                        from: path("tests/a.py"),
                    },
                    ChangedContent::Unchanged,
                ),
                change(
                    "tests/c.py",
                    ChangeKind::Renamed {
                        from: path("test_c.py"),
                    },
                    ChangedContent::Unchanged,
                ),
            ],
            ..WorkspaceChanges::default()
        };
        let found: Vec<String> = changed_tests(&moved, &tests)
            .iter()
            .map(|(old, new)| format!("{old} {}", new.map_or("-".to_owned(), ToString::to_string)))
            .collect();
        assert_eq!(
            found,
            [
                "pkg/a_test.go pkg/a_test.go",
                "tests/b.py -",
                "tests/a.py -",
                "test_c.py tests/c.py"
            ]
        );
    }
}
