//! `workspace:` of suites, evals and cases: each level is resolved where it is written, and then
//! merged with the level above. Nothing of what a workspace is made of is read here, except by
//! `inputs`, for a run.

mod inputs;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::depends::shown_path;
use super::problem::{Code, Problem};
use super::refs::{existing_file, existing_tree};
use super::schema::as_command;
use super::scope::{SuiteDesk, seconds};
use super::source::Span;
use super::tree::{Node, NodeValue};
use crate::model::{
    CaseWorkspace, KeepWorkspace, NetworkAccess, OutputFormat, RecordedTree, SolutionWork, Target,
    WorkspaceFile, WorkspaceLimits, WorkspaceSource,
};
use crate::spec::{
    WorkspaceFileSpec, WorkspaceFrom, WorkspaceGit, WorkspaceSetting, WorkspaceSpec,
};
use eval_base::nearest::did_you_mean;
use eval_workspace::{PathGlobs, WorkspacePath};

pub(super) use inputs::{WorkspaceHashes, WorkspaceInputs};

/// Time limit of a command of `setup` without `setup_timeout_seconds`.
const SETUP_TIMEOUT: Duration = Duration::from_secs(600);

/// The workspace of a level, merged with the levels above.
#[derive(Debug, Clone)]
pub(super) struct LevelWorkspace {
    layer: WorkspaceLayer,
    /// What a case has that says no more.
    pub settled: Arc<CaseWorkspace>,
    /// The innermost `workspace` key.
    pub at: Span,
}

/// The workspace of a phase's step, apart from the file that it is written in.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseWorkspace(WorkspaceLayer);

impl LevelWorkspace {
    pub fn for_suites(&self) -> PhaseWorkspace {
        PhaseWorkspace(self.layer.clone())
    }
}

/// The workspace in which a command of a step runs, in `cwd` where the step sets that. It tests what is
/// there, so it sees hidden files, too.
pub(super) fn of_command(level: &LevelWorkspace, cwd: Option<String>) -> CaseWorkspace {
    let settled = (*level.settled).clone();
    CaseWorkspace {
        hidden: Vec::new(),
        protected: Vec::new(),
        keep: KeepWorkspace::Never,
        cwd: cwd.unwrap_or(settled.cwd),
        ..settled
    }
}

/// What levels say of a workspace, without defaults.
#[derive(Debug, Clone, Default, PartialEq)]
struct WorkspaceLayer {
    source: Option<WorkspaceSource>,
    /// Of the source.
    exclude: Vec<String>,
    files: BTreeMap<String, WorkspaceFile>,
    setup: Vec<Vec<String>>,
    teardown: Vec<Vec<String>>,
    setup_timeout: Option<Duration>,
    hidden: Vec<String>,
    protected: Vec<String>,
    keep: Option<KeepWorkspace>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    network: Option<NetworkAccess>,
    memory_mb: Option<u64>,
    disk_mb: Option<u64>,
    processes: Option<u64>,
}

/// The workspace of a level: `holder` is the map that may have the key `workspace`, `outer` the
/// workspace of the level above. What is wrong is reported, and left out.
pub(super) fn of_level(
    desk: &mut SuiteDesk,
    setting: &WorkspaceSetting,
    holder: &Node,
    outer: Option<&Arc<LevelWorkspace>>,
) -> Option<Arc<LevelWorkspace>> {
    let spec = match setting {
        WorkspaceSetting::Inherited => return outer.cloned(),
        WorkspaceSetting::Ended => return None,
        WorkspaceSetting::Own(spec) => spec,
    };
    let at = holder.key_span("/workspace");
    let own = resolve(desk, spec, holder.get("workspace").unwrap_or(holder));
    let layer = match outer {
        Some(outer) => own.above(&outer.layer),
        None => own,
    };
    check_folders(desk, &layer.files, at);
    Some(Arc::new(LevelWorkspace {
        settled: Arc::new(layer.settle(vec![desk.suite.output_dir.clone()])),
        layer,
        at,
    }))
}

/// An empty workspace, for a target that needs one.
pub(super) fn empty(desk: &SuiteDesk, at: Span) -> Arc<LevelWorkspace> {
    let layer = WorkspaceLayer::default();
    Arc::new(LevelWorkspace {
        settled: Arc::new(layer.settle(vec![desk.suite.output_dir.clone()])),
        layer,
        at,
    })
}

/// The workspace of a phase's step as that of the level above a suite, which begins at `at`.
pub(super) fn above_suite(outer: &PhaseWorkspace, results: &Path, at: Span) -> Arc<LevelWorkspace> {
    let layer = outer.0.clone();
    Arc::new(LevelWorkspace {
        settled: Arc::new(layer.settle(vec![results.to_owned()])),
        layer,
        at,
    })
}

/// Refuses a copy of a phase that contains the suite: targets would find what is expected of them.
pub(super) fn check_suite_is_left_out(
    desk: &mut SuiteDesk,
    above: &LevelWorkspace,
    own: &LevelWorkspace,
    suite: &Path,
    at: Span,
) {
    let (own, above) = (&own.settled, &above.settled);
    let Some(WorkspaceSource::Dir { path, .. }) = &own.source else {
        return;
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (suite, path) = (real(suite), real(path));
    let Ok(below) = suite.strip_prefix(path) else {
        return;
    };
    let left_out = globs_of(&[&own.exclude[..], &own.hidden].concat());
    let mut parts = below
        .ancestors()
        .filter_map(|part| WorkspacePath::new(part.as_os_str().as_bytes()).ok());
    if own.source == above.source && !parts.any(|part| left_out.fit(&part)) {
        let message = "the copy of the phase contains this suite, so a target could read what is expected of it";
        let problem = Problem::error(Code::WorkspaceSetting, at, message);
        desk.push(problem.hint(
            "leave the folder of the suite out: `exclude: [evals]` in `from` of the phase's `workspace`",
        ));
    }
}

/// Refuses a target that cannot work in a workspace: the suite's, or `own` with its place.
/// `workspace` is the place of the workspace, if there is one, `case` that of the case.
pub(super) fn check_target(
    desk: &mut SuiteDesk,
    workspace: Option<Span>,
    own: Option<(&Target, Span)>,
    case: Span,
) -> Option<()> {
    let target = own.map(|(target, _)| target).or(desk.suite.asks.as_ref());
    let Some(target) = target else {
        return Some(());
    };
    let is_served = matches!(target, Target::Http(http) if http.serve.is_some());
    let is_agent = matches!(target, Target::Agent(_));
    let Some(at) = workspace else {
        return if is_served || is_agent {
            let message = match is_agent {
                true => "an agent needs a workspace",
                false => "a target with `serve` needs a workspace for its program",
            };
            let at = own.map_or(case, |(_, span)| span);
            let problem = Problem::error(Code::WorkspaceSetting, at, message);
            desk.refuse(problem.hint("add `workspace: {}` to the suite, the eval or the case"))
        } else {
            Some(())
        };
    };
    match target {
        Target::Command(_) | Target::Skill(_) | Target::Agent(_) | Target::Recorded { .. } => {
            Some(())
        }
        _ if is_served => Some(()),
        Target::Model(_) | Target::Echo | Target::Http(_) => {
            let kind = target.kind();
            let message = format!("a target of type `{kind}` cannot work in a workspace");
            let problem = Problem::error(Code::WorkspaceSetting, at, message).hint(
                "use a target of type `agent`, `command`, `skill` or `recorded`, or of type `http` with `serve`; `workspace: null` in an eval or a case ends the \
                 workspace that it inherits",
            );
            desk.refuse(problem.related(own.map(|(_, span)| span), "the target"))
        }
    }
}

impl WorkspaceLayer {
    /// This level on top of the level above.
    fn above(self, outer: &WorkspaceLayer) -> WorkspaceLayer {
        let (source, exclude) = match self.source {
            None => (outer.source.clone(), outer.exclude.clone()),
            source => (source, self.exclude),
        };
        WorkspaceLayer {
            source,
            exclude,
            files: merged(&outer.files, self.files),
            setup: chained(&outer.setup, self.setup),
            teardown: chained(&outer.teardown, self.teardown),
            setup_timeout: self.setup_timeout.or(outer.setup_timeout),
            hidden: chained(&outer.hidden, self.hidden),
            protected: chained(&outer.protected, self.protected),
            keep: self.keep.or(outer.keep),
            env: merged(&outer.env, self.env),
            cwd: self.cwd.or_else(|| outer.cwd.clone()),
            network: self.network.or(outer.network),
            memory_mb: self.memory_mb.or(outer.memory_mb),
            disk_mb: self.disk_mb.or(outer.disk_mb),
            processes: self.processes.or(outer.processes),
        }
    }

    /// With the defaults of what no level says.
    fn settle(&self, results: Vec<PathBuf>) -> CaseWorkspace {
        let usual = WorkspaceLimits::default();
        CaseWorkspace {
            source: self.source.clone(),
            exclude: self.exclude.clone(),
            files: self.files.clone(),
            setup: self.setup.clone(),
            teardown: self.teardown.clone(),
            setup_timeout: self.setup_timeout.unwrap_or(SETUP_TIMEOUT),
            hidden: self.hidden.clone(),
            protected: self.protected.clone(),
            keep: self.keep.unwrap_or_default(),
            env: self.env.clone(),
            cwd: self.cwd.clone().unwrap_or_default(),
            network: self.network.unwrap_or_default(),
            limits: WorkspaceLimits {
                memory_mb: self.memory_mb.unwrap_or(usual.memory_mb),
                disk_mb: self.disk_mb.unwrap_or(usual.disk_mb),
                processes: self.processes.unwrap_or(usual.processes),
            },
            results,
        }
    }
}

fn merged<T: Clone>(outer: &BTreeMap<String, T>, own: BTreeMap<String, T>) -> BTreeMap<String, T> {
    let mut all = outer.clone();
    all.extend(own);
    all
}

fn chained<T: Clone>(outer: &[T], own: Vec<T>) -> Vec<T> {
    outer.iter().cloned().chain(own).collect()
}

/// One level, as far as nothing is wrong with it. `node` is the map under `workspace`; paths start in
/// the folder of the file that is being read.
fn resolve(desk: &mut SuiteDesk, spec: &WorkspaceSpec, node: &Node) -> WorkspaceLayer {
    WorkspaceLayer {
        source: spec.from.as_ref().and_then(|from| {
            let at = node.get("from").unwrap_or(node);
            source(desk, from, at, node.key_span("/from"))
        }),
        exclude: spec.from.as_ref().map_or_else(Vec::new, |from| {
            let at = node.get("from").unwrap_or(node);
            globs(desk, &from.exclude, at, "exclude")
        }),
        files: files(desk, &spec.files, node.get("files").unwrap_or(node)),
        setup: commands(desk, &spec.setup, node, "setup"),
        teardown: commands(desk, &spec.teardown, node, "teardown"),
        setup_timeout: spec.setup_timeout_seconds.map(seconds),
        hidden: globs(desk, &spec.hidden, node, "hidden"),
        protected: globs(desk, &spec.protected, node, "protected"),
        keep: spec.keep,
        env: environment(desk, &spec.env, node.get("env").unwrap_or(node)),
        cwd: spec
            .cwd
            .as_ref()
            .and_then(|cwd| inner_folder(desk, cwd, node.locate("/cwd"))),
        network: spec.network,
        memory_mb: spec.memory_mb,
        disk_mb: spec.disk_mb,
        processes: spec.processes,
    }
}

/// `at` is the key `from`.
fn source(
    desk: &mut SuiteDesk,
    from: &WorkspaceFrom,
    node: &Node,
    at: Span,
) -> Option<WorkspaceSource> {
    match (&from.dir, &from.git, &from.archive) {
        (Some(dir), None, None) => folder(desk, dir, node.locate("/dir")),
        (None, Some(git), None) => commit(desk, git, node.get("git").unwrap_or(node)),
        (None, None, Some(archive)) => {
            let at = node.locate("/archive");
            let path = existing_file(desk.dir, archive, &desk.suite.fence, at);
            let path = desk.problems.take(path)?;
            let name = shown_path(&desk.suite.root, &path);
            Some(WorkspaceSource::Archive { name, path })
        }
        (None, None, None) => {
            let message = "`from` is empty";
            desk.refuse(Problem::error(Code::WorkspaceSetting, at, message).hint(
                "write one of `dir`, `git` and `archive`, or remove `from` for an empty folder",
            ))
        }
        _ => {
            let message = "`from` has more than one of `dir`, `git` and `archive`";
            desk.refuse(
                Problem::error(Code::WorkspaceSetting, at, message)
                    .hint("keep one of them, and write more files under `files:`"),
            )
        }
    }
}

fn folder(desk: &mut SuiteDesk, text: &str, at: Span) -> Option<WorkspaceSource> {
    let found = existing_tree(desk.dir, text, &desk.suite.fence, at);
    let (path, real) = desk.problems.take(found)?;
    if !real.is_dir() {
        let message = format!("`{text}` is a file, not a folder");
        return desk.refuse(
            Problem::error(Code::BadPath, at, message)
                .hint("write `archive:` for a tar file, and `files:` for single files"),
        );
    }
    desk.suite.fence.note_below(&path);
    let name = shown_path(&desk.suite.root, &path);
    Some(WorkspaceSource::Dir { name, path: real })
}

/// The work that the `solution` of a case with a workspace describes: `{dir: FOLDER}` or
/// `{command: [...]}`. `Some(None)`: an output; `None` after reporting what is wrong. `is_judged_alone`:
/// only the workspace decides the verdict.
pub(super) fn solution(
    desk: &mut SuiteDesk,
    case: &Node,
    is_judged_alone: bool,
) -> Option<Option<SolutionWork>> {
    const KEYS: [&str; 2] = ["dir", "command"];
    let node = match case.get("solution") {
        Some(node) if node.as_text().is_none() => node,
        _ => return Some(None),
    };
    let names = || {
        node.as_map()
            .into_iter()
            .flatten()
            .map(|(key, _)| &*key.name)
    };
    // Unknown where recorded outputs take the place of the target.
    let (is_text, is_json) = match &desk.suite.asks {
        Some(Target::Command(command)) => {
            let is_text = command.output == OutputFormat::Text;
            (is_text, !is_text)
        }
        Some(Target::Skill(_) | Target::Agent(_)) => (true, false),
        Some(Target::Http(_)) => (false, true),
        _ => (false, false),
    };
    let means = |name: &str| KEYS.contains(&name) || !is_json && did_you_mean(name, KEYS).is_some();
    if !names().any(means) {
        return match (is_text || is_judged_alone) && !node.is_null() {
            false => Some(None),
            true => {
                let expected = match is_judged_alone {
                    true => "a patch, `{dir: FOLDER}` or `{command: [PROGRAM, ...]}`",
                    false => "a text, `{dir: FOLDER}` or `{command: [PROGRAM, ...]}`",
                };
                let problem = wrong_solution(case, "solution", expected);
                desk.refuse(match is_text {
                    true => problem,
                    false => problem.hint("the graders of this case look at the workspace only"),
                })
            }
        };
    }
    if let Some(wrong) = names().find(|name| !KEYS.contains(name)) {
        let at = node.key_place(wrong).unwrap_or(node.span);
        let problem = Problem::error(Code::UnknownKey, at, format!("unknown key `{wrong}`"));
        return desk.refuse(
            problem
                .hint("valid keys: `command`, `dir`")
                .near(wrong, KEYS),
        );
    }
    match (node.get("dir"), node.get("command")) {
        (Some(_), Some(_)) => {
            let message = "`solution` has both `dir` and `command`";
            let at = node.key_span("/command");
            desk.refuse(
                Problem::error(Code::WorkspaceSetting, at, message).hint("keep one of them"),
            )
        }
        (Some(dir), None) => {
            let Some(text) = dir.as_text() else {
                return desk.refuse(wrong_solution(node, "dir", "a text"));
            };
            match folder(desk, text, dir.span)? {
                WorkspaceSource::Dir { name, path } => {
                    Some(Some(SolutionWork::Files(RecordedTree { name, path })))
                }
                WorkspaceSource::Git { .. } | WorkspaceSource::Archive { .. } => Some(None),
            }
        }
        (None, command) => {
            let Some(words) = command.and_then(Node::as_seq) else {
                let problem = wrong_solution(node, "command", "a list of texts");
                return desk.refuse(match command.and_then(Node::as_text) {
                    Some(text) => problem.hint(format!(
                        "write the program and its arguments as a list: `command: {}`",
                        as_command(text)
                    )),
                    None => problem.hint(COMMAND),
                });
            };
            let mut argv = Vec::with_capacity(words.len());
            for word in words {
                // A row gives numbers, too.
                argv.push(match &word.value {
                    NodeValue::Text(text) => text.to_string(),
                    NodeValue::Number(number) => number.to_string(),
                    NodeValue::Bool(truth) => truth.to_string(),
                    _ => {
                        let message = format!(
                            "element {} of `command`: expected a text, found {}",
                            argv.len() + 1,
                            word.kind()
                        );
                        let at = node.key_span("/command");
                        let problem = Problem::error(Code::WrongType, at, message);
                        return desk.refuse(problem.hint(COMMAND));
                    }
                });
            }
            let is_wrong = argv.iter().any(|word| word.contains('\0'))
                || argv.first().is_none_or(|program| program.trim().is_empty());
            if is_wrong {
                let message = "the command has no program, or contains a NUL character";
                let at = node.locate("/command");
                return desk.refuse(Problem::error(Code::BadCommand, at, message).hint(COMMAND));
            }
            let dir = desk.suite.dir.clone();
            Some(Some(SolutionWork::Command { argv, dir }))
        }
    }
}

/// How the command of a solution is written.
const COMMAND: &str = "write the command as a list, such as `[sh, solve.sh]`";

fn wrong_solution(holder: &Node, key: &str, expected: &str) -> Problem {
    let found = holder.get(key).map_or("nothing", Node::kind);
    let message = format!("`{key}`: expected {expected}, found {found}");
    Problem::error(
        Code::WrongType,
        holder.key_span(&format!("/{key}")),
        message,
    )
}

fn commit(desk: &mut SuiteDesk, git: &WorkspaceGit, node: &Node) -> Option<WorkspaceSource> {
    let WorkspaceGit { repo, commit } = git;
    let (repo_at, commit_at) = (node.locate("/repo"), node.locate("/commit"));
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    let wrong = if commit.trim().is_empty() {
        Some("`commit` is empty".to_owned())
    } else if commit.starts_with('-') {
        Some(format!("the commit `{commit}` begins with `-`"))
    } else if commit.contains(is_odd) {
        Some(format!(
            "the commit `{}` contains a space",
            commit.escape_debug()
        ))
    } else {
        None
    };
    let is_named = wrong.is_none();
    if let Some(message) = wrong {
        let problem = Problem::error(Code::WorkspaceSetting, commit_at, message);
        desk.push(problem.hint("write the full hash of the commit"));
    }
    if is_url(repo) {
        let message = format!("`{repo}` is a URL, but `repo` is a folder on this machine");
        return desk.refuse(
            Problem::error(Code::BadPath, repo_at, message)
                .hint("clone the repository into the project, and write the path of the clone"),
        );
    }
    let found = existing_tree(desk.dir, repo, &desk.suite.fence, repo_at);
    let (path, real) = desk.problems.take(found)?;
    let is_bare = real.join("HEAD").is_file() && real.join("objects").is_dir();
    if !is_bare && !real.join(".git").exists() {
        let message = format!("`{repo}` is not a git repository");
        return desk
            .refuse(Problem::error(Code::BadPath, repo_at, message).hint(
                "write the path of the folder that contains `.git`, or of a bare repository",
            ));
    }
    is_named.then(|| WorkspaceSource::Git {
        name: shown_path(&desk.suite.root, &path),
        path: real,
        commit: commit.clone(),
    })
}

/// `https://host/path` and `git@host:path`.
fn is_url(repo: &str) -> bool {
    let is_host = |host: &str| host.contains('@') && !host.contains('/');
    repo.contains("://") || repo.split_once(':').is_some_and(|(host, _)| is_host(host))
}

fn files(
    desk: &mut SuiteDesk,
    files: &BTreeMap<String, WorkspaceFileSpec>,
    node: &Node,
) -> BTreeMap<String, WorkspaceFile> {
    let mut resolved = BTreeMap::new();
    for (path, file) in files {
        let key = node.key_place(path).unwrap_or(node.span);
        let Some(path) = inner_path(desk, path, key) else {
            continue;
        };
        let file = match file {
            WorkspaceFileSpec::Absent => Some(WorkspaceFile::Absent),
            WorkspaceFileSpec::Text(text) => Some(WorkspaceFile::Text(text.clone())),
            WorkspaceFileSpec::Copy(copy) => {
                let at = node.get(&path).map_or(key, |node| node.locate("/file"));
                let found = existing_file(desk.dir, &copy.file, &desk.suite.fence, at);
                desk.problems.take(found).map(|found| WorkspaceFile::File {
                    name: shown_path(&desk.suite.root, &found),
                    path: found,
                })
            }
        };
        resolved.extend(file.map(|file| (path, file)));
    }
    resolved
}

/// A folder in the workspace, empty for its top; `None` after reporting that it is not one.
pub(super) fn inner_folder(desk: &mut SuiteDesk, text: &str, at: Span) -> Option<String> {
    match text {
        "" | "." => Some(String::new()),
        text => inner_path(desk, text, at),
    }
}

/// A path in the workspace; `None` after reporting that it is not one.
fn inner_path(desk: &mut SuiteDesk, text: &str, at: Span) -> Option<String> {
    let hint = "write a path relative to the top of the workspace, such as `src/app.py`";
    let path = match WorkspacePath::new(text.as_bytes()) {
        Ok(path) => path,
        Err(error) => {
            let problem = Problem::error(Code::BadPath, at, error.to_string());
            return desk.refuse(problem.hint(hint));
        }
    };
    if path.parts().any(|part| part.eq_ignore_ascii_case(b".git")) {
        let message = format!("`{text}` is in `.git`, which a workspace does not have");
        return desk.refuse(Problem::error(Code::BadPath, at, message).hint(hint));
    }
    Some(text.to_owned())
}

/// Refuses a file below another file.
fn check_folders(desk: &mut SuiteDesk, files: &BTreeMap<String, WorkspaceFile>, at: Span) {
    let is_file = |path: &str| {
        let file = files.get(path);
        file.is_some_and(|file| *file != WorkspaceFile::Absent)
    };
    for path in files.keys().filter(|path| is_file(path)) {
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        if let Some(file) = folders.into_iter().find(|folder| is_file(folder)) {
            let message = format!("`files` has a file `{file}`, so `{path}` cannot be below it");
            desk.push(
                Problem::error(Code::WorkspaceSetting, at, message)
                    .hint("change one of the two paths; `files` of all levels are merged"),
            );
        }
    }
}

fn commands(
    desk: &mut SuiteDesk,
    commands: &[Vec<String>],
    node: &Node,
    key: &str,
) -> Vec<Vec<String>> {
    for (at, argv) in commands.iter().enumerate() {
        let is_empty = argv.first().is_none_or(|program| program.trim().is_empty());
        let message = match argv.iter().any(|part| part.contains('\0')) {
            true => "the command contains a NUL character",
            false if is_empty => "the command has no program",
            false => continue,
        };
        let span = node.locate(&format!("/{key}/{at}"));
        desk.push(
            Problem::error(Code::BadCommand, span, message)
                .hint("write each command as a list, such as `[npm, ci]`"),
        );
    }
    commands.to_vec()
}

/// A glob that can match no path would protect nothing, without anybody noticing.
fn globs(desk: &mut SuiteDesk, globs: &[String], node: &Node, key: &str) -> Vec<String> {
    for (at, glob) in globs.iter().enumerate() {
        let mut parts = glob.trim_end_matches('/').split('/');
        let message = match PathGlobs::new(&[glob]) {
            Err(error) => format!("`{glob}` is not a glob: {error}"),
            Ok(_) if glob.starts_with('/') => {
                format!("`{glob}` matches nothing: it begins with `/`")
            }
            Ok(_) if parts.any(|part| matches!(part, "" | "." | "..")) => {
                format!("`{glob}` matches nothing: it has an empty part, `.` or `..`")
            }
            Ok(_) => continue,
        };
        let span = node.locate(&format!("/{key}/{at}"));
        desk.push(
            Problem::error(Code::BadGlob, span, message)
                .hint("write it relative to the top of the workspace, such as `tests/**`"),
        );
    }
    globs.to_vec()
}

/// Globs that were found right; none where one is not.
fn globs_of(globs: &[String]) -> PathGlobs {
    PathGlobs::new(globs).unwrap_or_default()
}

fn environment(
    desk: &mut SuiteDesk,
    env: &BTreeMap<String, String>,
    node: &Node,
) -> BTreeMap<String, String> {
    for (name, value) in env {
        let is_odd_name = name.is_empty() || name.contains(['=', '\0']);
        let message = match value.contains('\0') {
            true => format!("the value of `{name}` contains a NUL character"),
            false if is_odd_name => {
                format!(
                    "`{}` is not the name of an environment variable",
                    name.escape_debug()
                )
            }
            false => continue,
        };
        let at = node.key_place(name).unwrap_or(node.span);
        let problem = Problem::error(Code::WorkspaceSetting, at, message);
        desk.push(problem.hint("write `env: {NAME: VALUE}`"));
    }
    env.clone()
}
