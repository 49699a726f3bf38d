//! Files checked alone, each by what it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::baselines;
use super::calibrations;
use super::defaults::DEFAULTS_FILE_NAME;
use super::enclosing::EnclosingSuites;
use super::env_file::SuiteEnvironment;
use super::executors::ExecutorShelf;
use super::kinds::{detect, unknown_kind};
use super::phases;
use super::prices::PriceShelf;
use super::problem::{Code, Problem, Severity};
use super::refs::{self, PathFence, lexical, project_root};
use super::request::{CheckRequest, CheckedFiles, LoadOverrides, LoadRequest, PlanPurpose};
use super::scope::SuiteScope;
use super::scores;
use super::session::LoadSession;
use super::stored::{self, BaselineFolder};
use super::suite::{self, check_vars, eval_document, graders_file, sets, shelf};
use super::template::TemplateScope;
use super::thresholds::{WrittenSet, read_set, warn_of_slips};
use super::tree::Node;
use crate::spec::{SchemaKind, ThresholdsFile};
use eval_base::globs::is_glob;

/// Folders whose files are nobody's evals.
const SKIPPED_FOLDERS: [&str; 4] = [".git", "node_modules", "target", "results"];

/// How the files end that hold large outputs beside their baselines.
const OUTPUT_FILE: &str = ".output.json";

/// Checks files of any kind by their content: suites with everything that they refer to, other
/// files in the suite that refers to them, and files of no suite alone.
pub fn check_files(request: &CheckRequest) -> CheckedFiles {
    let mut session = LoadSession {
        cwd: request.cwd.clone(),
        purpose: PlanPurpose::Validate,
        ..LoadSession::default()
    };
    let mut files = BTreeSet::new();
    for path in &request.paths {
        collect(request, path, &mut files, &mut session);
    }
    let mut checked = CheckedFiles {
        files: files.len(),
        ..CheckedFiles::default()
    };
    // What the suites among the files refer to is checked with them.
    let mut covered = BTreeSet::new();
    let (suites, others): (Vec<_>, Vec<_>) = files
        .iter()
        .partition(|(file, _)| kind_of(&mut session, file) == Some(SchemaKind::Suite));
    for (suite, _) in suites {
        check_suite(request, suite, &mut session);
        covered.extend(session.sources.paths(&session.files));
    }
    let requested: BTreeSet<&Path> = files.iter().map(|(file, _)| file.as_path()).collect();
    let mut enclosing = EnclosingSuites::default();
    let mut tried = BTreeSet::new();
    for (file, named) in others {
        for suite in enclosing.of(file, &request.cwd) {
            if !covered.contains(file)
                && !requested.contains(&*suite)
                && tried.insert(suite.clone())
            {
                covered.extend(check_in(request, &suite, &requested, &mut session));
            }
        }
        if !covered.contains(file) {
            one_file(request, file, *named, &mut session);
        } else if kind_of(&mut session, file) == Some(SchemaKind::Graders) {
            unused_graders(request, file, &mut session);
        }
    }
    check_vars(&request.vars, &mut session, Severity::Error);
    checked.problems = session.problems;
    checked.sources = session.sources;
    checked
}

/// The files that a path of the command line means; `true` for those that it names itself.
fn collect(
    request: &CheckRequest,
    path: &Path,
    files: &mut BTreeSet<(PathBuf, bool)>,
    session: &mut LoadSession,
) {
    let full = lexical(&request.cwd.join(path));
    let text = path.to_string_lossy();
    if full.is_dir() {
        let before = files.len();
        walk(&full, files);
        if files.len() == before {
            let message = format!("`{text}` contains no YAML or JSON file");
            session
                .problems
                .push(Problem::general(Code::EmptyGlob, message));
        }
    } else if full.exists() || !is_glob(&text) {
        files.insert((full, true));
    } else {
        let nowhere = session.sources.add(text.clone().into_owned(), "");
        let at = super::source::Span::new(nowhere, 0, 0);
        match refs::expand(&request.cwd, &text, &PathFence::default(), at) {
            Ok(found) => files.extend(found.into_iter().map(|f| (f, true))),
            Err(problem) => session.problems.push(Problem {
                span: None,
                path: Some(text.into_owned().into_boxed_str()),
                ..problem
            }),
        }
    }
}

fn walk(dir: &Path, files: &mut BTreeSet<(PathBuf, bool)>) {
    let Ok(entries) = dir.read_dir() else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            if !SKIPPED_FOLDERS.iter().any(|s| name == *s) {
                walk(&path, files);
            }
        } else if name.to_string_lossy().ends_with(OUTPUT_FILE) {
            // Any JSON at all, which may look like a file of ours.
        } else if path
            .extension()
            .is_some_and(|e| e == "yaml" || e == "yml" || e == "json")
        {
            files.insert((path, false));
        }
    }
}

/// Judges one file. A file that a folder brought in and that is none of ours is passed over.
fn one_file(request: &CheckRequest, file: &Path, named: bool, session: &mut LoadSession) {
    let Some(mut node) = session.parse(file, None) else {
        return;
    };
    let dir = file
        .parent()
        .map_or_else(|| request.cwd.clone(), Path::to_path_buf);
    let root = project_root(&dir);
    session.fence = PathFence::new([root.as_path(), dir.as_path()]);
    let scope = lone_scope(request, session, &dir, &root);
    let is_defaults = file
        .file_name()
        .is_some_and(|name| name == DEFAULTS_FILE_NAME);
    let kind = match is_defaults {
        true => Some(SchemaKind::Defaults),
        false => detect(&node),
    };
    match kind {
        Some(SchemaKind::Suite) => check_suite(request, file, session),
        Some(SchemaKind::Eval) => drop(eval_document(session, node, &scope, &dir)),
        Some(SchemaKind::Graders) => {
            if let Some(graders) = graders_file(session, &mut node, &scope.templates, None) {
                let shelf = shelf(graders, &node, &dir, &mut session.problems);
                super::graders::check_named(session, &scope, &dir, shelf);
            }
        }
        Some(SchemaKind::Executors) => {
            drop(ExecutorShelf::of_document(session, &mut node, &dir));
        }
        Some(SchemaKind::Prices) => drop(PriceShelf::of_document(session, &mut node)),
        Some(SchemaKind::Baseline) => {
            let LoadSession {
                sources,
                problems,
                cwd,
                ..
            } = session;
            stored::check(file, cwd, sources, problems);
        }
        Some(SchemaKind::Scores) => {
            scores::judge(&node, &mut session.problems);
        }
        Some(SchemaKind::Calibration) => {
            calibrations::read(&node, &mut session.problems);
        }
        Some(SchemaKind::Thresholds) => check_thresholds(&mut node, session),
        Some(SchemaKind::Phase | SchemaKind::Trigger) => {
            phases::check(session, node, file, named, &request.vars, &request.env);
        }
        Some(kind) => _ = session.check(kind, &mut node),
        None if named => session.problems.push(unknown_kind(&node)),
        None => {}
    }
}

/// What a file may use that is checked without its suite: anything, so that only warnings come of
/// it.
fn lone_scope(
    request: &CheckRequest,
    session: &LoadSession,
    dir: &Path,
    root: &Path,
) -> SuiteScope {
    let vars = request
        .vars
        .iter()
        .map(|(name, text)| (name.clone(), serde_json::Value::from(text.as_str())));
    let mut scope = SuiteScope {
        templates: TemplateScope {
            vars: vars.collect(),
            open: true,
            ..TemplateScope::default()
        },
        dir: dir.to_owned(),
        root: root.to_owned(),
        cwd: session.cwd.clone(),
        store: BaselineFolder::Disk(root.join("baselines")),
        baselines: baselines::settings(None, root, root),
        fence: session.fence.clone(),
        search_path: request.env.get("PATH").cloned(),
        environment: SuiteEnvironment {
            process: Arc::new(request.env.clone()),
            ..SuiteEnvironment::default()
        },
        lenient: true,
        ..SuiteScope::default()
    };
    scope.shelf.open = true;
    scope.executors.open = true;
    scope
}

fn kind_of(session: &mut LoadSession, file: &Path) -> Option<SchemaKind> {
    let node = session.parse(file, None);
    node.and_then(|node| detect(&node))
}

/// Checks a file of graders, of which its suite reads only those that it uses. Undefined names are
/// checked with the suite.
fn unused_graders(request: &CheckRequest, file: &Path, session: &mut LoadSession) {
    let others = std::mem::take(&mut session.problems);
    one_file(request, file, true, session);
    let found = std::mem::replace(&mut session.problems, others);
    let of_suite = [
        Code::UndefinedVariable,
        Code::UnknownProvider,
        Code::UnknownExecutor,
    ];
    let own = found
        .into_iter()
        .filter(|problem| !of_suite.contains(&problem.code));
    session.problems.extend(own);
}

/// Checks a suite that may refer to the requested files, and returns the files that it refers to. Of
/// its problems, those in or related to the requested files are kept.
fn check_in(
    request: &CheckRequest,
    suite: &Path,
    requested: &BTreeSet<&Path>,
    session: &mut LoadSession,
) -> BTreeSet<PathBuf> {
    let others = std::mem::take(&mut session.problems);
    check_suite(request, suite, session);
    let found = std::mem::replace(&mut session.problems, others);
    let read = session.sources.paths(&session.files);
    let is_requested = |problem: &Problem| {
        let related = problem.related.iter().map(|place| place.span);
        problem.span.into_iter().chain(related).any(|span| {
            let path = session.sources.paths(&BTreeSet::from([span.file]));
            path.iter().any(|path| requested.contains(path.as_path()))
        })
    };
    let kept: Vec<Problem> = found.into_iter().filter(is_requested).collect();
    session.problems.extend(kept);
    read
}

/// A suite is checked with everything that it refers to, in the same texts as the other files.
fn check_suite(request: &CheckRequest, file: &Path, session: &mut LoadSession) {
    let load = LoadRequest {
        suite: file.to_owned(),
        purpose: PlanPurpose::Validate,
        overrides: LoadOverrides {
            vars: request.vars.clone(),
            ..LoadOverrides::default()
        },
        env: request.env.clone(),
        cwd: request.cwd.clone(),
        cpus: 1,
        ..LoadRequest::default()
    };
    suite::load_into(&load, session);
}

fn check_thresholds(node: &mut Node, session: &mut LoadSession) {
    let Some(file) = session.read::<ThresholdsFile>(SchemaKind::Thresholds, node) else {
        return;
    };
    let own: WrittenSet = (file.thresholds, node.get("thresholds").cloned());
    let presets = sets(file.presets, node.get("presets")).map(|(_, set)| set);
    for set in std::iter::once(own).chain(presets) {
        read_set(&set, &mut session.problems);
        warn_of_slips(&set, &mut session.problems);
    }
}
